// Reports of a profile. The JSON follows bench/schema/berth-profile.json and is explained in bench/profile/README.md; a
// change of meaning raises kProfileVersion.
#pragma once

#include <string>

#include "base/json.h"
#include "profile/session.h"

namespace berth::profile {

inline constexpr int kProfileVersion = 1;

[[nodiscard]] std::string to_table(const Profile& profile);
[[nodiscard]] json::Value to_json(const Profile& profile);

/// The rows of a stage table, for other reports that contain one. `is_life`: a simulation, whose remaining time
/// includes clients and leader.
[[nodiscard]] std::string stage_lines(const StageTable& table, bool is_life = false);
[[nodiscard]] json::Value stages_json(const StageTable& table);
[[nodiscard]] std::string roofline_lines(const Roofline& roofline);

}  // namespace berth::profile
