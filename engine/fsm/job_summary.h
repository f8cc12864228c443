// The job summary: per task group, how many allocations are in which client status (R-CTRL-721 to 726).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace berth::fsm {

enum class Bin : std::uint8_t { queued, starting, running, failed, complete, lost, unknown };
inline constexpr const char* kBinNames[] = {"Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"};
inline constexpr std::size_t kBins = 7;

struct GroupSummary {
  std::array<std::int64_t, kBins> counts{};
  std::int64_t& operator[](Bin bin) { return counts[static_cast<std::size_t>(bin)]; }
};

struct JobSummary {
  std::map<std::string, GroupSummary> groups;  ///< never loses a group while the job lives
  std::int64_t children_pending = 0, children_running = 0,
               children_dead = 0;  ///< of a periodic or parameterized parent
  std::uint64_t create_index = 0, modify_index = 0;
};

}  // namespace berth::fsm
