// The checks of one node that the wrapper of R-FEAS-410 asks for: drivers, constraints, devices, network, secrets,
// volumes.
#include "feasible/drivers.h"
#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;

bool GenericStack::group_checks(const Position& position, GroupView& v, Cell& cell) {  // R-FEAS-304
  const CompiledGroup& group = *v.group;
  const model::Node& node = snapshot_->nodes.spec(position.row).node;
  cell.group_checks = kFail;
  for (const std::string& driver : group.drivers)
    if (!feasible::has_driver(node, driver)) {
      filter(position, kReasonDrivers);
      return false;
    }
  for (const tables::ConstraintId id : group.constraints)
    if (!scratch_.verdicts.holds(*snapshot_, id, position.row)) {
      filter(position, scratch_.reason_of(*snapshot_, id));
      return false;
    }
  if (group.has_devices) {
    const auto& devices = node.node_resources->devices;
    auto found = feasible::has_devices(devices, v.devices, scratch_.patterns);
    if (!found) {
      error_ = "a device attribute is not a number";  // R-FEAS-933
      return false;
    }
    if (!*found) {
      filter(position, kReasonDevices);
      return false;
    }
  }
  if (const auto reason = feasible::network_failure(network_ask_, node)) {
    filter(position, scratch_.reasons.id(*reason));
    return false;
  }
  for (const std::string& provider : group.secrets)
    if (!node.attributes.contains("plugins.secrets." + provider + ".version")) {
      filter(position, kReasonSecrets);
      return false;
    }
  cell.group_checks = kPass;
  return true;
}

}  // namespace berth::sched
