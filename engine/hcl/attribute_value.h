// Converts attributes to fields of the API (R-HCL-240 to 247), and reads the bodies of map and free-form blocks
// (R-HCL-360 to 369).
#pragma once

#include "base/json.h"
#include "hcl/body.h"
#include "hcl/job_tables.h"

namespace berth::hcl {

/// The field's value. A value that does not convert is reported, and the field stays unset.
[[nodiscard]] json::Value attribute_value(const Field& field, const Expression& expression, Diagnostics& out);
/// A map of strings from an attribute: `meta = {...}` (R-HCL-362).
[[nodiscard]] json::Value string_map_value(const Expression& expression, Diagnostics& out);

/// A map block: all its attributes as strings, or with `lists` as lists of strings.
[[nodiscard]] json::Value map_block(const Body& body, bool lists, Diagnostics& out);
/// A free-form block as JSON. Values that fail are reported to `late`, for phase e (R-HCL-366).
[[nodiscard]] json::Value free_form_block(const Body& body, Diagnostics& late);

}  // namespace berth::hcl
