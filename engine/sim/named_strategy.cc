#include "sim/named_strategy.h"

#include <utility>

#include "berth/queue.h"
#include "sim/kind_check.h"

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
  return with_valid_jobs(read_workload(path, label, changes, kChecks));
}

Result<Workload> parse_workload(std::string_view text, const std::string& path, const std::string& label,
                                const std::vector<Change>& changes) {
  return with_valid_jobs(parse_workload(text, path, label, changes, kChecks));
}

}  // namespace berth::sim
