// The checks of one node that the wrapper of R-FEAS-410 asks for: drivers, constraints, devices, network, secrets,
// volumes.
#include "feasible/drivers.h"
#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;

bool GenericStack::group_checks(const Position& position, GroupView& v, Cell& cell) {
  const std::uint32_t reason = first_failing_group_check(position.row, v);
  if (!error_.empty()) return false;
  cell.group_checks = reason == kReasonNone ? kPass : kFail;
  if (reason != kReasonNone) filter(position, reason);
  return reason == kReasonNone;
}

/// R-FEAS-410 from the group's status on, without the quirk of R-FEAS-414: drivers, devices and network are looked at
/// on every node, in the order of R-FEAS-304, and only constraints and secrets decide for the class.
bool GenericStack::group_checks_by_node(const Position& position, GroupView& v, Cell& cell,
                                        feasible::ClassStatus status) {
  using feasible::ClassStatus;
  std::uint32_t reason = kReasonNone;
  bool of_node = false;
  if (cell.group_checks != kPass)
    reason = first_failing_group_check(position.row, v, status == ClassStatus::eligible, &of_node);
  if (!error_.empty()) return false;
  cell.group_checks = reason == kReasonNone ? kPass : kFail;
  if (reason != kReasonNone) filter(position, reason);
  if (status == ClassStatus::unknown && !of_node)
    classes_.set_group(v.number, position.computed_class, reason == kReasonNone);
  return reason == kReasonNone;
}

std::uint32_t GenericStack::first_failing(tables::NodeRow row, GroupView& v, bool* of_node) {
  if (of_node) *of_node = false;
  for (const tables::ConstraintId id : job_->constraints)
    if (!scratch_.verdicts.holds(*snapshot_, id, row)) return scratch_.reason_of(*snapshot_, id);
  return first_failing_group_check(row, v, false, of_node);
}

std::uint32_t GenericStack::first_failing_group_check(tables::NodeRow row, GroupView& v, bool class_passes,
                                                      bool* of_node) {  // R-FEAS-304
  if (of_node) *of_node = true;
  const CompiledGroup& group = *v.group;
  const model::Node& node = snapshot_->nodes.spec(row).node;
  const tables::Symbol profile = snapshot_->nodes.capacity(row).check_profile;
  for (std::size_t i = 0; i < group.drivers.size(); ++i) {
    const std::uint64_t key = static_cast<std::uint64_t>(profile) << 32 | group.driver_symbols[i];
    auto known = scratch_.driver_answers.find(key);
    if (known == scratch_.driver_answers.end())
      known = scratch_.driver_answers.emplace(key, feasible::has_driver(node, group.drivers[i])).first;
    if (!known->second) return kReasonDrivers;
  }
  for (const tables::ConstraintId id : group.constraints) {
    if (class_passes || scratch_.verdicts.holds(*snapshot_, id, row)) continue;
    if (of_node) *of_node = false;
    return scratch_.reason_of(*snapshot_, id);
  }
  if (group.has_devices) {
    auto found = feasible::has_devices(node.node_resources->devices, v.devices, scratch_.patterns);
    if (!found) {
      error_ = "a device attribute is not a number";  // R-FEAS-933
      return kReasonDevices;
    }
    if (!*found) return kReasonDevices;
  }
  if (network_ask_.is_default()) {
    auto known = scratch_.host_network_answers.find(profile);
    if (known == scratch_.host_network_answers.end())
      known = scratch_.host_network_answers.emplace(profile, !feasible::network_failure(network_ask_, node).has_value())
                  .first;
    if (!known->second) return kReasonNetwork;
  } else if (const auto reason = feasible::network_failure(network_ask_, node)) {
    return scratch_.reasons.id(*reason);
  }
  if (of_node) *of_node = false;
  for (const std::string& provider : group.secrets)
    if (!class_passes && !node.attributes.contains("plugins.secrets." + provider + ".version")) return kReasonSecrets;
  return kReasonNone;
}

}  // namespace berth::sched
