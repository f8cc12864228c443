// The loop of figures.py in C++: the cost of a decision without Python. Built by figures.py against an installed berth.
//   figures WORKLOAD LABEL STRATEGY DECISIONS
// Prints the processor time per decision, in microseconds.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "berth/cluster.h"

namespace {

double processor_us() {
  struct timespec now {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

std::string job(const std::string& id, int count) {
  return R"({"ID": ")" + id +
         R"(", "Type": "batch", "Datacenters": ["*"], "TaskGroups": [{"Name": "group", "Count": )" +
         std::to_string(count) +
         R"(, "Tasks": [{"Name": "task", "Driver": "exec", "Resources": {"CPU": 500, "MemoryMB": 512}}]}]})";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int decisions = std::atoi(argv[4]);
  berth::Config config;
  config.seed = 1;
  auto cluster = berth::Cluster::from_workload(argv[1], argv[2], 1, config);
  if (!cluster || !cluster->score_by(argv[3])) return 1;
  std::vector<std::string> ids;
  for (int i = -1; i < decisions; ++i) {
    const auto read = berth::Job::from_json(job("job-" + std::to_string(i), i < 0 ? 50 : 1));
    if (!read || !cluster->register_job(*read)) return 1;
    if (i >= 0) ids.push_back(read->id());
  }
  auto plan = cluster->schedule("default", "job--1", 0);
  if (!plan || !cluster->commit(*plan)) return 1;
  std::size_t placed = 0;
  const double begun = processor_us();
  for (const std::string& id : ids) {
    plan = cluster->schedule("default", id, 0);
    if (!plan) return 1;
    placed += plan->placements.size();
  }
  const double each = (processor_us() - begun) / decisions;
  if (placed != ids.size()) return 1;
  std::printf("%.4f\n", each);
  return 0;
}
