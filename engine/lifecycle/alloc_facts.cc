#include "lifecycle/alloc_facts.h"

#include "model/predicates.h"

namespace berth::lifecycle {

using tables::AllocLinks;
using tables::AllocRow;

Health health_of(const tables::Snapshot& state, AllocRow row) {
  if (const auto& object = state.allocs.cold[row]) {
    if (!model::has_health(*object)) return Health::unknown;
    return model::is_healthy(*object) ? Health::healthy : Health::unhealthy;
  }
  const std::uint8_t bits = state.allocs.links[row].health;
  if (bits & AllocLinks::kHealthy) return Health::healthy;
  return bits & AllocLinks::kUnhealthy ? Health::unhealthy : Health::unknown;
}

std::uint64_t health_index(const tables::Snapshot& state, AllocRow row) {
  if (const auto& object = state.allocs.cold[row]) return object->deployment_status->modify_index;
  const auto report = state.allocs.report_of(row);
  return report ? report->health_index : 0;
}

bool is_marked_to_migrate(const tables::Snapshot& state, AllocRow row) {
  const auto& object = state.allocs.cold[row];
  return object && model::is_set(object->desired_transition.migrate);
}

tables::DeploymentRow deployment_of(const tables::StateStore& store, AllocRow row) {
  return store.history()->allocs[row].deployment;
}

}  // namespace berth::lifecycle
