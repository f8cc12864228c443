// The job summary: per task group, the number of allocations per client status (R-CTRL-721 to 726).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::fsm {

enum class Bin : std::uint8_t { queued, starting, running, failed, complete, lost, unknown };
inline constexpr const char* kBinNames[] = {"Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"};
inline constexpr std::size_t kBins = 7;

struct GroupSummary {
  std::array<std::int64_t, kBins> counts{};
  std::int64_t& operator[](Bin bin) { return counts[static_cast<std::size_t>(bin)]; }
};

/// By the group's name, ascending. All are in one block, because most jobs have one group.
class GroupSummaries {
 public:
  using value_type = std::pair<std::string, GroupSummary>;

  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.end(); }
  /// Returns null if there is none.
  [[nodiscard]] GroupSummary* find(std::string_view name) {
    const auto at = place(name);
    return at != list_.end() && at->first == name ? &at->second : nullptr;
  }
  [[nodiscard]] const GroupSummary* find(std::string_view name) const {
    return const_cast<GroupSummaries*>(this)->find(name);
  }
  /// Returns whether the group is new.
  bool add(std::string_view name) {
    const auto at = place(name);
    if (at != list_.end() && at->first == name) return false;
    list_.emplace(at, name, GroupSummary{});
    return true;
  }
  /// The group's summary, added if missing.
  GroupSummary& operator[](std::string_view name) {
    add(name);
    return *find(name);
  }

 private:
  [[nodiscard]] std::vector<value_type>::iterator place(std::string_view name) {
    return std::lower_bound(list_.begin(), list_.end(), name,
                            [](const value_type& one, std::string_view than) { return one.first < than; });
  }

  std::vector<value_type> list_;
};

struct JobSummary {
  GroupSummaries groups;  ///< groups are never removed during the job's life
  std::uint64_t create_index = 0, modify_index = 0;
  std::int64_t children_pending = 0, children_running = 0,
               children_dead = 0;  ///< of a periodic or parameterized parent
};

}  // namespace berth::fsm
