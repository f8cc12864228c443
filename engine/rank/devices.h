// Which device instances a task gets: accounting of a node's devices, and the offer for one request
// (R-MODEL-520 to 526, R-RANK-631 to 637).
//
// An Accounter is rebuilt per candidate node of a task group with device requests and nowhere else; it may allocate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "match/device_match.h"
#include "model/alloc.h"
#include "model/device_table.h"

namespace berth::rank {

/// Why a request cannot be served: a verbatim text (R-MODEL-526), or a compared NaN that fails the evaluation
/// (R-FEAS-933), with kNotANumberText.
inline constexpr std::string_view kNotANumberText = "a device attribute is not a number";
struct DeviceProblem {
  std::string_view text;
  bool not_a_number = false;
};

class DeviceAccounter {
 public:
  struct Instance {
    std::string_view id;
    std::uint32_t use_count = 0;
  };
  struct Group {
    const model::NodeDevice* device;
    std::span<Instance> instances;  ///< the healthy ones, ascending by ID
    [[nodiscard]] std::size_t free_count() const;
  };

  /// Starts with every healthy instance unused. A group with the (vendor, type, name) of an earlier one replaces it
  /// (R-MODEL-520). The devices must outlive the accounter.
  explicit DeviceAccounter(std::span<const model::NodeDevice> devices);
  explicit DeviceAccounter(std::shared_ptr<const model::DeviceTable> table) { start(std::move(table)); }
  DeviceAccounter(const DeviceAccounter& other) { *this = other; }
  /// Reuses this object's memory.
  DeviceAccounter& operator=(const DeviceAccounter& other);
  DeviceAccounter(DeviceAccounter&&) = default;
  DeviceAccounter& operator=(DeviceAccounter&&) = default;
  ~DeviceAccounter() = default;

  /// Does the same as the constructor, for the devices of `table`; reuses this object's memory.
  void start(std::shared_ptr<const model::DeviceTable> table);

  /// Counts the instances that the allocation's tasks hold, unless it is client-terminal. Returns true if an instance
  /// was already used: a collision (R-MODEL-522). Unknown groups and instances are ignored.
  bool add(const model::Allocation& alloc);
  /// Counts one reservation in the same way (R-MODEL-523).
  bool add(const model::AllocatedDevice& reserved);

  /// Marks an instance as used once; `number` as in a DeviceTable of the same devices.
  void mark(std::size_t number) { instances_[number].use_count = 1; }

  /// Writes the instances for one request to `out`, reusing its memory; marks nothing as used (R-RANK-633 to 635).
  /// Returns the sum of the weights of the satisfied affinities (R-RANK-636).
  [[nodiscard]] Result<double, DeviceProblem> offer(const match::DeviceRequest& request, match::Patterns& patterns,
                                                    model::AllocatedDevice& out) const;

  /// Ascending by (vendor, type, name).
  [[nodiscard]] std::span<const Group> groups() const { return groups_; }

 private:
  std::shared_ptr<const model::DeviceTable> table_;
  std::vector<Group> groups_;
  std::vector<Instance> instances_;  // by number in the table
};

/// Sum of the absolute affinity weights of a request, the W of R-RANK-636.
[[nodiscard]] double total_affinity_weight(const match::DeviceRequest& request);

/// The device group that serves a request, and the sum of its matching affinity weights.
struct DeviceChoice {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t group = kNone;
  double matched_weight = 0;
};
/// Returns the matching group with the best affinity score, the last one on a tie (R-RANK-633, 636). serves(position)
/// must return true if the group has enough instances. nullopt: a compared value is NaN.
template <class Groups, class Serves>
[[nodiscard]] std::optional<DeviceChoice> choose_devices(const match::DeviceRequest& request, const Groups& groups,
                                                         match::Patterns& patterns, Serves serves) {
  const double total_weight = total_affinity_weight(request);
  DeviceChoice best;
  double best_score = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto matches = match::matches(request, *groups[g].device, patterns);
    if (!matches) return std::nullopt;
    if (!*matches) continue;
    if (!serves(g)) continue;
    double matched_weight = 0;
    for (const match::DeviceAffinity& affinity : request.affinities) {
      const auto holds = match::holds(affinity.constraint, *groups[g].device, patterns);
      if (!holds) return std::nullopt;
      if (*holds) matched_weight += affinity.weight;
    }
    const double score = request.affinities.empty() ? 0 : matched_weight / total_weight;
    if (best.group != DeviceChoice::kNone && score < best_score) continue;
    best = {g, matched_weight};
    best_score = score;
  }
  return best;
}

}  // namespace berth::rank
