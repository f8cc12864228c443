// Payloads of log entries on an existing job: scaling events, stability, tags of versions (R-API-263 to 266); and the
// state stored for a job besides its versions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/retained_json.h"

namespace berth::fsm {

/// The text that a version was made from, as submitted (R-API-218).
struct Submission {
  std::string source, format;     ///< `hcl2`, `hcl1` or `json`
  json::Retained variable_flags;  ///< {name: text}, or null
  std::string variables;
  std::uint64_t version = 0, job_modify_index = 0;  ///< set when it is stored
};

/// An event that scaled a group, or was only recorded (R-API-248, 263).
struct ScalingEvent {
  std::int64_t at = 0;                ///< unix ns
  std::optional<std::int64_t> count;  ///< none: the group was not scaled
  std::int64_t previous_count = 0;
  std::string message;
  bool error = false;
  json::Retained meta;  ///< an object, or null
  std::string eval_id;
  std::uint64_t create_index = 0;  ///< set when it is stored
};

struct ScalingEventEntry {
  std::string name_space, job_id, group;
  ScalingEvent event;
};

struct JobStabilityEntry {
  std::string name_space, job_id;
  std::uint64_t version = 0;
  bool stable = false;
};

/// Tags a version, or removes the tag `name`.
struct VersionTagEntry {
  std::string name_space, job_id, name;
  bool remove = false;
  std::uint64_t version = 0;  ///< of the version to tag
  std::string description;
  std::int64_t tagged_at = 0;  ///< unix ns
};

}  // namespace berth::fsm
