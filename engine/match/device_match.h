// Device requests against device groups: names, targets, constraints (R-FEAS-904 to 911).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "match/device_attribute.h"

namespace berth::match {

/// Request name split into its parts; an empty part matches anything (R-FEAS-906).
struct DeviceName {
  std::string vendor, type, name;
  bool matches_nothing = false;  ///< the request name was empty
};
[[nodiscard]] DeviceName parse_device_name(std::string_view text);
[[nodiscard]] bool matches(const DeviceName& request, const model::NodeDevice& group);

enum class DeviceTargetKind : std::uint8_t { literal, ids, model, vendor, type, attribute, unresolved };

struct DeviceTarget {
  DeviceTargetKind kind = DeviceTargetKind::literal;
  std::string key;           ///< of the attribute
  model::Attribute literal;  ///< of the literal
};
[[nodiscard]] DeviceTarget parse_device_target(std::string_view text);

/// Returns the attribute that a target names on `group`, or null if not found (R-FEAS-911). `scratch` holds texts that
/// are composed here; it must outlive the use of the result.
[[nodiscard]] const model::Attribute* resolve(const DeviceTarget& target, const model::NodeDevice& group,
                                              model::Attribute& scratch);

/// A constraint or affinity of a device request, compiled.
struct DeviceConstraint {
  DeviceTarget left, right;
  Operand operand = Operand::unknown;
};
[[nodiscard]] DeviceConstraint compile_device(std::string_view ltarget, std::string_view operand,
                                              std::string_view rtarget);
[[nodiscard]] Result<bool, NotANumber> holds(const DeviceConstraint& constraint, const model::NodeDevice& group,
                                             Patterns& patterns);

struct DeviceAffinity {
  DeviceConstraint constraint;
  int weight = 0;
};

/// A device request, compiled once per job version.
struct DeviceRequest {
  DeviceName name;
  std::uint64_t count = 0;
  std::vector<DeviceConstraint> constraints;
  std::vector<DeviceAffinity> affinities;
};
[[nodiscard]] DeviceRequest compile_device(const model::RequestedDevice& request);

/// True if the name and every constraint of the request hold for the group (R-FEAS-905).
[[nodiscard]] Result<bool, NotANumber> matches(const DeviceRequest& request, const model::NodeDevice& group,
                                               Patterns& patterns);

}  // namespace berth::match
