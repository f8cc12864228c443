// Names of allocations and ids of child jobs (R-MODEL-591 to 596).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::model {

/// `job.group[index]`. Service and batch pass the job's ID, system and sysbatch its Name (R-MODEL-591, 592).
[[nodiscard]] std::string alloc_name(std::string_view job, std::string_view group, std::uint64_t index);

/// The index in an allocation's name, 0 when there is none; garbage for names with another prefix (R-MODEL-593).
[[nodiscard]] std::uint64_t alloc_index(std::string_view name, std::string_view job_id, std::string_view group);

/// The part from the last `[` on; "" if there is none (R-MODEL-594).
[[nodiscard]] std::string_view alloc_suffix(std::string_view name);

/// The parent's id for a periodic or dispatched child; any other id unchanged (R-MODEL-595).
[[nodiscard]] std::string_view parent_job_id(std::string_view job_id);

/// Id of a dispatched child; `prefix` may be empty, `hex` are eight hexadecimal digits (R-MODEL-596).
[[nodiscard]] std::string dispatched_job_id(std::string_view parent, std::string_view prefix, std::int64_t unix_seconds,
                                            std::string_view hex);

}  // namespace berth::model
