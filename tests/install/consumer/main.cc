// Uses only the installed public headers and berth::berth: loads a cluster, registers a job, schedules it, prints where
// and why, commits, and repeats until the cluster is full.
#include <berth/cluster.h>

#include <cstdio>

namespace {

constexpr const char* kNode = R"({
  "ID": "%s", "Name": "%s", "Datacenter": "dc1", "NodePool": "default", "Status": "ready",
  "SchedulingEligibility": "eligible", "Attributes": {"kernel.name": "linux", "driver.exec": "1"},
  "Drivers": {"exec": {"Detected": true, "Healthy": true}},
  "NodeResources": {
    "Networks": [{"Mode": "host", "Device": "eth0", "IP": "10.0.0.1", "CIDR": "10.0.0.1/32", "MBits": 1000}],
    "Memory": {"MemoryMB": 4096}, "Disk": {"DiskMB": 20000},
    "Processors": {"Topology": {"Cores": [{"ID": 0, "BaseSpeed": 2000}, {"ID": 1, "BaseSpeed": 2000}]}}}})";

std::string node(const char* id, const char* name) {
  char text[1024];
  std::snprintf(text, sizeof text, kNode, id, name);
  return text;
}

std::string job(const char* id, int count) {
  char text[1024];
  std::snprintf(text, sizeof text, R"({"Job": {"ID": "%s", "Name": "%s", "Type": "batch", "Datacenters": ["dc1"],
    "TaskGroups": [{"Name": "work", "Count": %d, "Tasks": [{"Name": "main", "Driver": "exec",
    "Config": {"command": "/bin/true"}, "Resources": {"CPU": 1000, "MemoryMB": 1024}}]}]}})",
                id, id, count);
  return text;
}

int fail(const std::string& what) {
  std::fprintf(stderr, "consumer: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main() {
  berth::Cluster cluster;
  for (const auto& text :
       {node("11111111-0000-4000-8000-000000000001", "left"), node("11111111-0000-4000-8000-000000000002", "right")})
    if (const auto done = cluster.add_node(text); !done) return fail(done.error().line());
  if (berth::Job::from_json("{\"Job\": 3}")) return fail("a number passed for a job");

  std::uint32_t committed = 0;
  for (const char* id : {"first", "second", "third"}) {
    const auto parsed = berth::Job::from_json(job(id, 3));
    if (!parsed) return fail(parsed.error().line());
    if (const auto done = cluster.register_job(*parsed); !done) return fail(done.error().line());
    const auto plan = cluster.schedule(*parsed);
    if (!plan) return fail(plan.error().text);
    std::fputs(plan->explain().c_str(), stdout);
    const auto result = cluster.commit(*plan);
    if (!result || !result->full()) return fail("the plan was refused");
    committed += result->committed;
  }
  // Two nodes of 4,000 MHz and 4,096 MiB hold four allocations each: the ninth has no place.
  const berth::Counts counts = cluster.view().counts();
  std::printf("%llu allocations, %lld of %lld MHz used\n", static_cast<unsigned long long>(counts.allocs),
              static_cast<long long>(counts.cpu_used_mhz), static_cast<long long>(counts.cpu_usable_mhz));
  return committed == 8 && counts.live_allocs == 8 && counts.cpu_used_mhz == 8000 && cluster.stats().failures == 1 ? 0
                                                                                                                   : 1;
}
