// Tables and JSON of the time per kind of job, also compared with the real Nomad.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "run/kind_times.h"
#include "run/nomad_times.h"

namespace berth::run {

/// The version of Nomad whose times are in datasets/.
inline constexpr const char* kNomadCommit = "aa026cc99c";

/// Nomad's times compared with berth's, or one line if Nomad's were recorded with other decisions. `paced`: berth
/// waited for the workload's arrivals in real time.
[[nodiscard]] std::string nomad_table(const NomadTimes& times, const std::string& decisions_digest, bool paced);
[[nodiscard]] json::Value nomad_json(const NomadTimes& times);

/// Times relative to the first kind; "" for fewer than two kinds.
[[nodiscard]] std::string kinds_table(const std::vector<KindTimes::Kind>& kinds);
[[nodiscard]] json::Value kinds_json(const std::vector<KindTimes::Kind>& kinds);

}  // namespace berth::run
