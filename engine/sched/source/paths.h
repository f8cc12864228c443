// Which source answered how many Selects of the generic stack, and why the general one where it did: what `berth
// profile` tells, so that what falls off the fast ways is seen.
#pragma once

#include <array>
#include <cstdint>

namespace berth::sched {

enum class Path : std::uint8_t { index, full, failed_before, failed_attempt, few, bounds, columns, general };
inline constexpr std::array<const char*, 8> kPathNames = {
    "index", "full", "failed before", "attempt failed before", "few with room", "bounds", "columns", "general"};

/// Why the columns do not serve a Select.
enum class NotByColumns : std::uint8_t {
  none,
  switched_off,
  groups,
  evicting,
  penalties,
  escaping,
  volumes,
  stale_classes,
  spread_values,     ///< of a spread that no table holds
  several_versions,  ///< of the job were given in the attempt
};
inline constexpr std::array<const char*, 10> kNotByColumnsNames = {
    "none",
    "switched off",
    "several groups",
    "whom to evict",
    "nodes with a penalty",
    "constraint unique to a node",
    "volumes",
    "stale computed classes",
    "values of a spread",
    "several versions",
};

struct PathCounts {
  std::array<std::uint64_t, kPathNames.size()> selects{};
  std::array<std::uint64_t, kNotByColumnsNames.size()> why_general{};
  std::uint64_t options = 0;  ///< looks at nodes that had to build what the group would hold there to tell if it fits
  std::uint64_t known = 0;    ///< looks at nodes of which earlier evaluations told all (ask_scores.h)

  void add(Path path) { ++selects[static_cast<std::size_t>(path)]; }
  void add_why_general(NotByColumns why) { ++why_general[static_cast<std::size_t>(why)]; }
  PathCounts& operator+=(const PathCounts& other) {
    for (std::size_t i = 0; i < selects.size(); ++i) selects[i] += other.selects[i];
    for (std::size_t i = 0; i < why_general.size(); ++i) why_general[i] += other.why_general[i];
    options += other.options;
    known += other.known;
    return *this;
  }
};

}  // namespace berth::sched
