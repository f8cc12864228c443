#include "run/work.h"

#include "base/sha256.h"
#include "io/files.h"
#include "sched/evaluation.h"

namespace berth::run {
namespace {

void add_metrics(const sched::SelectMetrics& metrics, Work& work) {
  const auto evaluated = static_cast<std::uint64_t>(metrics.evaluated);
  const auto filtered = static_cast<std::uint64_t>(metrics.filtered);
  const auto exhausted = static_cast<std::uint64_t>(metrics.exhausted);
  work.nodes_evaluated += evaluated, work.nodes_filtered += filtered, work.nodes_exhausted += exhausted;
  work.nodes_scored += evaluated - std::min(evaluated, filtered + exhausted);
}

}  // namespace

void add_nodes(const sched::EvalResult& decided, Work& work) {
  for (const sched::PlannedAlloc& alloc : decided.plan.allocs) add_metrics(alloc.metrics, work);
  for (const sched::GroupResult& group : decided.groups)
    if (group.failed) add_metrics(group.failure, work);
}

void add_work(const Work& part, Work& all) {
  all.nodes_evaluated += part.nodes_evaluated, all.nodes_filtered += part.nodes_filtered;
  all.nodes_exhausted += part.nodes_exhausted, all.nodes_scored += part.nodes_scored;
  all.constraint_evaluations += part.constraint_evaluations, all.snapshots += part.snapshots;
  all.preempted_allocs += part.preempted_allocs, all.preempted_cpu_mhz += part.preempted_cpu_mhz;
  all.preempted_memory_mb += part.preempted_memory_mb;
  all.sources += part.sources;
}

std::string sha256_of_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  base::Sha256 sum;
  for (const std::string& path : paths) {
    const auto text = io::read_file(path);
    if (!text) return "";
    sum.add(*text);
  }
  return sum.hex();
}

}  // namespace berth::run
