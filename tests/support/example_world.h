// Names used by the examples in the comments of include/berth: a cluster of three nodes with a job, and their files in
// the current folder.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "berth/cluster.h"

namespace berth::testing {

struct ExampleWorld {
  static std::string node(int number) {
    const std::string digit = std::to_string(number);
    return R"({"ID": "0000000)" + digit + R"(-0000-4000-8000-000000000000", "Name": "node-)" + digit +
           R"(", "Datacenter": "dc1", "NodePool": "default", "Status": "ready", "SchedulingEligibility": "eligible",
      "Attributes": {"kernel.name": "linux", "driver.exec": "1"}, "Drivers": {"exec": {"Detected": true, "Healthy": true}},
      "NodeResources": {"Memory": {"MemoryMB": 4096}, "Disk": {"DiskMB": 20000},
        "Networks": [{"Mode": "host", "Device": "eth0", "IP": "10.0.0.1", "CIDR": "10.0.0.1/32", "MBits": 1000}],
        "Processors": {"Topology": {"Cores": [{"ID": 0, "BaseSpeed": 4000}]}}}})";
  }
  static constexpr const char* kJob = R"({"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["dc1"],
    "TaskGroups": [{"Name": "app", "Count": 2, "EphemeralDisk": {"SizeMB": 300}, "Tasks": [{"Name": "main",
    "Driver": "exec", "Config": {"command": "/bin/true"}, "Resources": {"CPU": 1000, "MemoryMB": 512}}]}]}})";

  ExampleWorld() {
    for (const int number : {1, 2, 3})
      if (!cluster.add_node(node(number))) std::abort();
    std::ofstream("cluster.json") << cluster.view().to_json();
    std::ofstream("job.json") << kJob;
    if (!cluster.register_job(*job)) std::abort();
    const auto plan = cluster.schedule(*job);
    if (!plan || !cluster.commit(*plan)) std::abort();
    node_id = plan->placements.front().node_id;
  }

  Cluster cluster;
  Result<Job> job = Job::from_json(kJob);
  std::string node_json = node(4), node_id;
};

/// Runs the example in a new folder.
inline void run_example(const char* name, void (*example)(ExampleWorld&)) {
  std::string folder = (std::filesystem::temp_directory_path() / "berth-example-XXXXXX").string();
  if (!mkdtemp(folder.data())) std::abort();
  std::printf("%s\n", name);
  std::filesystem::current_path(folder);
  {
    ExampleWorld world;
    example(world);
  }
  std::filesystem::current_path("/");
  std::filesystem::remove_all(folder);
}

}  // namespace berth::testing
