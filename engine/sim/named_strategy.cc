#include "sim/named_strategy.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/text.h"
#include "model/job.h"
#include "sim/kind_check.h"
#include "sim/packing_problem.h"
#include "sim/scheduler_perf.h"

namespace berth::sim {
namespace {

constexpr NameChecks kChecks{[](const Workload& workload, const std::string& name) -> Result<void> {
                               if (const auto spec = named_strategy(workload, name); !spec)
                                 return tl::unexpected(spec.error());
                               return {};
                             },
                             [](const Workload&, const std::string& name) -> Result<void> {
                               if (const auto spec = strategy::queue_registry().parse(name); !spec)
                                 return tl::unexpected(spec.error());
                               return {};
                             }};

/// Reads a workload of Kubernetes' scheduler_perf. Lines of the generated text are no places of the file.
Result<Workload> read_scheduler_perf(const std::string& path, const std::string& label,
                                     const std::vector<Change>& changes) {
  const auto generated = workload_of_scheduler_perf(path, label);
  if (!generated) return tl::unexpected(generated.error());
  auto out = parse_workload(generated->text, path, generated->label, changes, kChecks);
  if (out)
    out->label = generated->name, out->templates = generated->templates;
  else if (!out.error().place.starts_with("with "))
    out.error().place.clear();
  return out;
}

/// Returns the workload, or an error if Nomad would refuse its jobs.
Result<Workload> with_valid_jobs(Result<Workload> workload) {
  if (!workload) return workload;
  if (auto problem = refused_kind(*workload)) return tl::unexpected(std::move(*problem));
  return workload;
}

}  // namespace

Result<strategy::StrategySpec> named_strategy(const Workload& workload, const std::string& text) {
  const auto sum = workload.strategies.find(text);
  auto spec = strategy::registry().parse(sum == workload.strategies.end() ? text : sum->second);
  if (!spec) {
    const char* before = "; in the workload: ";
    for (const auto& [name, unused] : workload.strategies) {
      spec.error().remedy += std::exchange(before, ", ");
      spec.error().remedy += name;
    }
  }
  return spec;
}

Result<Workload> read_workload(const std::string& path, const std::string& label, const std::vector<Change>& changes) {
  return with_valid_jobs(is_scheduler_perf(path) ? read_scheduler_perf(path, label, changes)
                                                 : read_workload(path, label, changes, kChecks));
}

Result<Workload> parse_workload(std::string_view text, const std::string& path, const std::string& label,
                                const std::vector<Change>& changes) {
  return with_valid_jobs(parse_workload(text, path, label, changes, kChecks));
}

Result<FitStrategy> fit_strategy(const Workload& workload, const GeneratedCluster& cluster, const JobStream& jobs) {
  const auto spec = named_strategy(workload, workload.strategy);
  if (!spec) return tl::unexpected(spec.error());
  auto problem = packing_problem(cluster, jobs, workload.cluster.gpu_shares, workload.path);
  if (!problem) return tl::unexpected(problem.error());
  strategy::Context context = problem->context();
  context.rates = nullptr;  // the nodes of a snapshot have no kind (sched/node/strategy_fit.h)
  auto ranker = strategy::registry().make_fit(*spec, context);
  if (!ranker) return tl::unexpected(ranker.error());
  return FitStrategy{std::move(*ranker), std::move(problem->models), workload.cluster.gpu_shares};
}

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
