#include "reconcile/alloc_facts.h"

#include <algorithm>
#include <limits>

#include "model/job.h"
#include "model/names.h"
#include "model/predicates.h"

namespace berth::reconcile {

using model::ClientStatus;
using model::DesiredStatus;

AllocFacts read_facts(const model::Allocation& alloc, std::uint32_t group, NodeTaint taint,
                      std::string_view latest_deployment_id) {
  AllocFacts out;
  out.alloc = &alloc;
  out.group = group;
  out.taint = taint;
  out.name_index = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      model::alloc_index(alloc.name, alloc.job_id, alloc.task_group), std::numeric_limits<std::uint32_t>::max()));
  out.desired = model::parse_desired_status(alloc.desired_status);
  out.client = model::parse_client_status(alloc.client_status);
  if (alloc.job) {
    out.job_version = alloc.job->version;
    out.job_create_index = alloc.job->create_index;
  }
  const auto bit = [](bool set, std::uint8_t value) { return set ? value : std::uint8_t{0}; };
  const model::DesiredTransition& transition = alloc.desired_transition;
  out.transition = static_cast<std::uint8_t>(
      bit(model::is_set(transition.migrate), AllocFacts::kMigrate) |
      bit(model::is_set(transition.reschedule), AllocFacts::kReschedule) |
      bit(model::is_set(transition.force_reschedule), AllocFacts::kForceReschedule) |
      bit(model::is_set(transition.migrate_disable_placement), AllocFacts::kMigrateDisablePlacement));
  out.flags = static_cast<std::uint8_t>(
      bit(!alloc.alloc_states.empty(), AllocFacts::kHasStates) | bit(model::is_canary(alloc), AllocFacts::kCanary) |
      bit(model::is_healthy(alloc), AllocFacts::kHealthy) | bit(model::is_unhealthy(alloc), AllocFacts::kUnhealthy) |
      bit(alloc.job && alloc.job->type == "batch", AllocFacts::kBatchJob) |
      bit(!alloc.followup_eval_id.empty(), AllocFacts::kHasFollowup) |
      bit(!alloc.next_allocation.empty(), AllocFacts::kHasNext) |
      bit(!latest_deployment_id.empty() && alloc.deployment_id == latest_deployment_id, AllocFacts::kOfDeployment));
  return out;
}

std::vector<std::uint32_t> slots_of(std::span<const AllocFacts> allocs) {
  std::vector<std::uint32_t> out;
  out.reserve(allocs.size());
  for (const AllocFacts& facts : allocs) out.push_back(facts.slot());
  return out;
}

std::string_view to_text(AllocClass alloc_class) {
  static constexpr std::string_view kTexts[] = {"untainted",    "migrate", "lost",    "disconnecting",
                                                "reconnecting", "ignore",  "expiring"};
  return kTexts[static_cast<std::size_t>(alloc_class)];
}

AllocClass classify_unusual(const AllocFacts& f, std::int64_t now, bool disconnect_support) {  // R-RECON-105, 106
  const bool reconnects =
      disconnect_support && f.has(AllocFacts::kHasStates) &&
      (f.client == ClientStatus::unknown || f.client == ClientStatus::running || f.client == ClientStatus::failed) &&
      model::needs_to_reconnect(*f.alloc);
  if (reconnects && f.desired == DesiredStatus::run && f.client == ClientStatus::failed)
    return AllocClass::reconnecting;
  if (!reconnects) {
    if (f.server_terminal())
      return f.wants(AllocFacts::kMigrateDisablePlacement) ? AllocClass::untainted : AllocClass::ignore;
    if (f.client_terminal())
      return f.has(AllocFacts::kCanary) && f.wants(AllocFacts::kMigrate) ? AllocClass::migrate : AllocClass::untainted;
  }
  if (f.client == ClientStatus::unknown && f.has(AllocFacts::kHasStates) && model::is_expired(*f.alloc, now))
    return AllocClass::expiring;
  if (reconnects && f.client == ClientStatus::failed && f.desired == DesiredStatus::stop) return AllocClass::ignore;
  if (f.taint == NodeTaint::disconnected) {
    if (!disconnect_support) return AllocClass::lost;
    if (f.client == ClientStatus::unknown) return AllocClass::untainted;
    if (f.client == ClientStatus::pending) return AllocClass::lost;
    return model::disconnect_timeout(*f.alloc, now) == now ? AllocClass::lost : AllocClass::disconnecting;
  }
  if (f.wants(AllocFacts::kMigrate)) return AllocClass::migrate;
  if (f.taint == NodeTaint::none || f.taint == NodeTaint::ready)
    return reconnects ? AllocClass::reconnecting : AllocClass::untainted;
  if (f.taint == NodeTaint::gone) return AllocClass::lost;
  if (f.taint == NodeTaint::down) {
    if (!model::replaces_on_disconnect(*f.alloc)) {
      if (f.client == ClientStatus::unknown) return AllocClass::untainted;
      if (f.client == ClientStatus::running) return AllocClass::disconnecting;
    }
    return AllocClass::lost;
  }
  return AllocClass::untainted;
}

}  // namespace berth::reconcile
