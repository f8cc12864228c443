#include "sim/queue_policy.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"

namespace berth::sim {

Result<std::unique_ptr<strategy::QueuePolicy>> queue_policy(const Workload& workload, const JobStream& jobs) {
  const auto spec = strategy::queue_registry().parse(workload.queue);
  if (!spec) return tl::unexpected(spec.error());
  auto policy = strategy::queue_registry().make(*spec, workload.seed);
  if (!policy || !*policy || !(*policy)->shares()) return policy;
  std::set<std::string> names;
  for (const auto& job : jobs.templates) names.insert(job->namespace_);
  for (const auto& [name, weight] : *(*policy)->shares())
    if (!names.contains(name))
      return tl::unexpected(InputError{workload.path, "queue",
                                       fmt::format("no job is in the namespace '{}'", base::shown(name.substr(0, 40))),
                                       strategy::nearest_and_valid(name, {names.begin(), names.end()})});
  return policy;
}

}  // namespace berth::sim
