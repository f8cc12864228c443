// Output of `berth whatif`: text and JSON (bench/schema/berth-whatif.json).
#pragma once

#include <string>

#include "base/json.h"
#include "whatif/whatif.h"

namespace berth::whatif {

/// "12 nodes, 9 used, cpu 45 %, memory 61 %".
[[nodiscard]] std::string to_text(const Packing& packing);
/// `number` counts the steps from 1; `all`: every row of the tables.
[[nodiscard]] std::string to_text(const StepReport& report, std::size_t number, bool all);

[[nodiscard]] json::Value to_json(const Packing& packing);
[[nodiscard]] json::Value to_json(const StepReport& report);

}  // namespace berth::whatif
