#include "berth/plan.h"

#include <fmt/format.h>

namespace berth {

std::string Plan::explain() const {
  std::string out = fmt::format("job {} in {}: {} placed\n", job_id, job_namespace, placements.size());
  for (const Placement& p : placements) {
    out += fmt::format("  {} on {} ({}), score {:.4f}", p.name, p.node_name, p.node_id, p.score);
    const char* separator = ": ";
    for (const ScoredNode& node : p.metrics.best) {
      if (node.node_id != p.node_id) continue;
      for (const auto& [component, value] : node.components)
        if (value != 0) {
          out += fmt::format("{}{} {:.4f}", separator, component, value);
          separator = ", ";
        }
    }
    out += fmt::format("; best of {} nodes looked at\n", p.metrics.nodes_evaluated);
  }
  if (updated_in_place > 0) out += fmt::format("  {} updated in place\n", updated_in_place);
  for (const Stop& stop : stops)
    out += fmt::format("  {} on {} {}{}\n", stop.alloc_name, stop.node_id,
                       stop.preempted ? "is preempted" : "stops: ", stop.reason);
  for (const Failure& f : failures) {
    out += fmt::format("  group {}: {} without a node; {} nodes looked at, {} filtered, {} exhausted\n", f.task_group,
                       f.count, f.metrics.nodes_evaluated, f.metrics.nodes_filtered, f.metrics.nodes_exhausted);
    for (const std::string& reason : f.reasons) out += "    " + reason + "\n";
  }
  return out;
}

}  // namespace berth
