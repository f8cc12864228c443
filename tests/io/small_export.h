// A cluster of two nodes, one job with an older version, and three allocations, in the form of an export of all
// endpoints.
#pragma once

namespace berth::testing {

inline constexpr const char *kNode1 = "10000000-0000-4000-8000-000000000001",
                            *kAlloc1 = "a0000000-0000-4000-8000-000000000001",
                            *kAlloc2 = "a0000000-0000-4000-8000-000000000002",
                            *kAlloc3 = "a0000000-0000-4000-8000-000000000003";

inline constexpr const char* kSmallExport = R"json({
"/v1/nodes": [{"ID":"10000000-0000-4000-8000-000000000001","Datacenter":"dc1","SchedulingEligibility":"eligible"}],
"/v1/node/10000000-0000-4000-8000-000000000001": {"ID":"10000000-0000-4000-8000-000000000001","Name":"one",
  "Datacenter":"dc1","NodePool":"default","NodeClass":"","Status":"ready","SchedulingEligibility":"eligible",
   "Attributes":{"kernel.name":"linux"},"Meta":{"rack":"r1"},
  "Drivers":{"exec":{"Detected":true,"Healthy":true}},
  "NodeResources":{"Cpu":{"CpuShares":4000,"TotalCpuCores":1,"ReservableCpuCores":[0]},
    "Processors":{"Topology":{"Nodes":[0],"Distances":[[10]],"Cores":[{"SocketID":0,"NodeID":0,"ID":0,"Grade":true,
      "Disable":false,"BaseSpeed":4000,"MaxSpeed":0,"GuessSpeed":0}],"OverrideTotalCompute":0,
      "OverrideWitholdCompute":0}},
    "Memory":{"MemoryMB":8192},"Disk":{"DiskMB":102400},"MinDynamicPort":20000,"MaxDynamicPort":32000,
    "NodeNetworks":[{"Mode":"host","Device":"eth0","Addresses":[{"Family":"ipv4","Alias":"default",
      "Address":"10.0.0.1"}]}]},
  "ReservedResources":{"Cpu":{"CpuShares":100},"Memory":{"MemoryMB":256},"Disk":{"DiskMB":0},
    "Networks":{"ReservedHostPorts":"22"}},"CreateIndex":7,"ModifyIndex":9},
"/v1/node/10000000-0000-4000-8000-000000000002": {"ID":"10000000-0000-4000-8000-000000000002","Name":"two",
  "Datacenter":"dc1","NodePool":"batch","Status":"ready","Drain":false,"SchedulingEligibility":"eligible",
   "Attributes":{"kernel.name":"linux"},"Meta":null,"Drivers":{},
  "NodeResources":{"Cpu":{"CpuShares":2000,"TotalCpuCores":1,"ReservableCpuCores":[0]},"Memory":{"MemoryMB":1024},
    "Disk":{"DiskMB":1000},"Networks":[{"Device":"eth0","IP":"10.0.0.2","MBits":1000}]},"ModifyIndex":10},
"/v1/node/pools": [{"Name":"batch","Description":"","NodeIdentityTTL":0,"SchedulerConfiguration":null}],
"/v1/namespaces": [{"Name":"default","Quota":"","Capabilities":null}],
"/v1/operator/scheduler/configuration": {"Index":5,"SchedulerConfig":{"SchedulerAlgorithm":"binpack",
  "PreemptionConfig":{"SystemSchedulerEnabled":true},"CreateIndex":5,"ModifyIndex":5}},
"/v1/job/web": {"ID":"web","Name":"web","Namespace":"default","Region":"global","Type":"service","Priority":50,
  "Datacenters":["dc1"],"NodePool":"default","Version":1,"CreateIndex":12,"ModifyIndex":30,"JobModifyIndex":20,
  "Status":"running","TaskGroups":[{"Name":"app","Count":2,"Tasks":[{"Name":"main","Driver":"exec",
    "Config":{"command":"b"},"Resources":{"CPU":500,"MemoryMB":256}}]}]},
"/v1/job/web/versions": {"Versions":[
  {"ID":"web","Name":"web","Namespace":"default","Region":"global","Type":"service","Priority":50,
   "Datacenters":["dc1"],"NodePool":"default","Version":0,"CreateIndex":12,"ModifyIndex":12,"JobModifyIndex":12,
   "TaskGroups":[{"Name":"app","Count":1,"Tasks":[{"Name":"main","Driver":"exec","Config":{"command":"a"},
     "Resources":{"CPU":500,"MemoryMB":256}}]}]}],"Diffs":null},
"/v1/node/10000000-0000-4000-8000-000000000001/allocations": [
  {"ID":"a0000000-0000-4000-8000-000000000001","Namespace":"default","Name":"web.app[0]",
   "NodeID":"10000000-0000-4000-8000-000000000001","JobID":"web","TaskGroup":"app",
   "EvalID":"e0000000-0000-4000-8000-000000000001","DesiredStatus":"run","ClientStatus":"running","CreateIndex":13,
   "ModifyIndex":31,
   "Job":{"ID":"web","Name":"web","Namespace":"default","Region":"global","Type":"service","Priority":50,
     "Datacenters":["dc1"],"NodePool":"default","Version":0,"CreateIndex":12,"ModifyIndex":12,"JobModifyIndex":12,
     "TaskGroups":[{"Name":"app","Count":1,"Tasks":[{"Name":"main","Driver":"exec","Config":{"command":"a"},
       "Resources":{"CPU":500,"MemoryMB":256}}]}]},
   "AllocatedResources":{"Tasks":{"main":{"Cpu":{"CpuShares":500,"ReservedCores":null},
     "Memory":{"MemoryMB":256,"MemoryMaxMB":0},"Networks":[{"Device":"eth0","IP":"10.0.0.1","MBits":10,
       "DynamicPorts":[{"Label":"http","Value":20001}]}]}},"TaskLifecycles":{"main":null},
     "Shared":{"DiskMB":300,"Networks":null,"Ports":null}},
   "Metrics":{"NodesEvaluated":1,"Scores":null},"RescheduleTracker":{"Events":[]},
   "TaskStates":{"main":{"State":"running","StartedAt":"2026-11-22T00:53:00.25Z","FinishedAt":null}}}],
"/v1/allocation/a0000000-0000-4000-8000-000000000002": {"ID":"a0000000-0000-4000-8000-000000000002",
   "Namespace":"default","Name":"web.app[1]",
   "NodeID":"10000000-0000-4000-8000-000000000001","JobID":"web",
   "TaskGroup":"app","DesiredStatus":"run","ClientStatus":"running","CreateIndex":21,"ModifyIndex":22,
   "Job":{"ID":"web","Name":"web","Namespace":"default","Region":"global","Type":"service","Priority":50,
     "Datacenters":["dc1"],"NodePool":"default","Version":1,"CreateIndex":12,"ModifyIndex":20,"JobModifyIndex":20,
     "TaskGroups":[{"Name":"app","Count":2,"Tasks":[{"Name":"main","Driver":"exec","Config":{"command":"b"},
       "Resources":{"CPU":500,"MemoryMB":256}}]}]},
   "AllocatedResources":{"Tasks":{"main":{"Cpu":{"CpuShares":500},"Memory":{"MemoryMB":256},"Networks":[
       {"Device":"eth0","IP":"10.0.0.1","DynamicPorts":[{"Label":"http","Value":20002}]}]}},"TaskLifecycles":null,
     "Shared":{"DiskMB":300,"Ports":[{"Label":"http","Value":20002,"HostIP":"10.0.0.1"}]}}},
"/v1/allocations?resources=true&namespace=*": [
  {"ID":"a0000000-0000-4000-8000-000000000003","Namespace":"default","Name":"web.app[2]",
   "NodeID":"10000000-0000-4000-8000-000000000001","JobID":"web","JobType":"service","JobVersion":0,
   "TaskGroup":"app","DesiredStatus":"stop","ClientStatus":"complete","CreateIndex":14,"ModifyIndex":15,
   "AllocatedResources":{"Tasks":{"main":{"Cpu":{"CpuShares":500},"Memory":{"MemoryMB":256}}},
     "Shared":{"DiskMB":300}}}],
"/v1/evaluations?namespace=*": [{"ID":"e0000000-0000-4000-8000-000000000001","Namespace":"default","Priority":50,
   "Type":"service",
  "TriggeredBy":"job-register","JobID":"web","Status":"complete","CreateIndex":12,"ModifyIndex":13}],
"/v1/deployments": [{"ID":"d0000000-0000-4000-8000-000000000001","Namespace":"default","JobID":"web",
   "JobVersion":1,"Status":"successful",
  "TaskGroups":{"app":{"DesiredTotal":2}},"CreateIndex":20,"ModifyIndex":32}],
"/v1/volumes/claims": [{"ID":"c1","Namespace":"default","JobID":"web","TaskGroupName":"app",
   "AllocID":"a0000000-0000-4000-8000-000000000001",
  "VolumeID":"v1","VolumeName":"data"}],
"/v1/regions": ["global"]
})json";

}  // namespace berth::testing
