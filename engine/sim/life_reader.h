// How the parts of a life are read; a part of workload.cc.
#pragma once

#include "sim/life_spec.h"
#include "sim/toml_section.h"

namespace berth::sim {

/// [life], [[events]], [[faults]] and [[tasks]] of a workload that has a [life].
[[nodiscard]] LifeSpec read_life(TomlReader& reader, TomlSection& root);
/// The keys of a kind of job that only a life knows.
[[nodiscard]] JobLife read_job_life(TomlReader& reader, TomlSection& in, const std::string& type);

}  // namespace berth::sim
