// Device attributes: literals with units, comparison, and the operands on them (R-FEAS-912, 921 to 935).
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/result.h"
#include "match/operand.h"
#include "model/node.h"

namespace berth::match {

/// A literal of a device constraint as a typed attribute: int or double with an optional unit, bool, else text
/// (R-FEAS-921 to 925).
[[nodiscard]] model::Attribute parse_device_literal(std::string_view text);

enum class DeviceOrder : std::uint8_t {
  less,
  equal,
  greater,  ///< also bools that differ, either way round
  incomparable,
  not_a_number,  ///< comparable, but one side is NaN: the evaluation fails (R-FEAS-933)
};

/// Order of `left` relative to `right` (R-FEAS-931, 932). Two ints wrap around in int64 when scaled to their base
/// unit; any other pair of numbers is compared exactly. A unit name outside the table counts as no unit (R-FEAS-926).
[[nodiscard]] DeviceOrder compare(const model::Attribute& left, const model::Attribute& right);

/// Error: a NaN was compared, so the evaluation fails (R-FEAS-933). Nomad reports `failed to process
/// eval: ...`.
struct NotANumber {};

/// The operand table for devices (R-FEAS-934). A null side means "not found".
[[nodiscard]] Result<bool, NotANumber> evaluate_device(Operand operand, const model::Attribute* left,
                                                       const model::Attribute* right, Patterns& patterns);

}  // namespace berth::match
