// The checks of one node that the wrapper of R-FEAS-410 asks for: drivers, constraints, devices, network, secrets,
// volumes.
#include "base/text.h"
#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;

namespace {

/// R-FEAS-801, 802: the driver map decides when it knows the driver, else the attribute `driver.<D>`.
bool has_driver(const model::Node& node, const std::string& driver) {
  if (const auto found = node.drivers.find(driver); found != node.drivers.end())
    return found->second && found->second->detected && found->second->healthy;
  const auto attribute = node.attributes.find("driver." + driver);
  return attribute != node.attributes.end() && base::parse_bool(attribute->second).value_or(false);
}

}  // namespace

bool GenericStack::group_checks(const Position& position, GroupView& v, Cell& cell) {  // R-FEAS-304
  const CompiledGroup& group = *v.group;
  const model::Node& node = snapshot_->nodes.spec(position.row).node;
  cell.group_checks = kFail;
  for (const std::string& driver : group.drivers)
    if (!has_driver(node, driver)) {
      filter(position, kReasonDrivers);
      return false;
    }
  for (const tables::ConstraintId id : group.constraints)
    if (!scratch_.verdicts.holds(*snapshot_, id, position.row)) {
      filter(position, scratch_.reason_of(*snapshot_, id));
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

bool GenericStack::available(const Position&, const GroupView&) { return true; }

void GenericStack::decide_fit_special(const Position&, const GroupView&, Cell& cell) {
  cell.fit = kFail;
  cell.dimension = kReasonNone;
}

}  // namespace berth::sched
