// Machine and build of a measurement, for every report.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace berth::run {

struct Machine {
  std::string cpu = "unknown", system = "unknown";
  std::int64_t cores = 0;
  std::uint64_t memory_bytes = 0;
};
[[nodiscard]] Machine machine();

/// Memory of this process now; 0 if unknown.
[[nodiscard]] std::uint64_t memory_now();

/// `machine` and `build` of a report (bench/schema/berth-run.json).
[[nodiscard]] json::Value machine_json();
[[nodiscard]] json::Value build_json();

}  // namespace berth::run
