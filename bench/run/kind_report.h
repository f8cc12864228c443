// Tables and JSON of what each kind of job took, also beside the real Nomad.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "run/kind_times.h"
#include "run/nomad_times.h"

namespace berth::run {

/// Nomad's times beside berth's; a line that says so where the decisions are not those that Nomad was timed with.
[[nodiscard]] std::string nomad_table(const NomadTimes& times, const std::string& decisions_digest);
[[nodiscard]] json::Value nomad_json(const NomadTimes& times);

/// Beside the first kind; "" for fewer than two.
[[nodiscard]] std::string kinds_table(const std::vector<KindTimes::Kind>& kinds);
[[nodiscard]] json::Value kinds_json(const std::vector<KindTimes::Kind>& kinds);

}  // namespace berth::run
