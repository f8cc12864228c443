// Reads the parts of a workload that describe a simulation; used by workload.cc.
#pragma once

#include "sim/life_spec.h"
#include "sim/toml_section.h"

namespace berth::sim {

/// [life], [[events]], [[faults]] and [[tasks]] of a workload that has a [life].
[[nodiscard]] LifeSpec read_life(TomlReader& reader, TomlSection& root);
/// The keys of a job kind that only simulations use.
[[nodiscard]] JobLife read_job_life(TomlReader& reader, TomlSection& in, const std::string& type);

}  // namespace berth::sim
