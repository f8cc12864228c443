// Peak use of an allocation: lifecycle phases folded into one set of amounts (R-MODEL-376 to 382, R-RANK-511 to 516).
//
// Units: MHz and MiB. Additions wrap (R-MODEL-3). Fit and score read the four amounts and the cores, which are cheap.
// Networks and devices are computed only on demand.
#pragma once

#include <cstdint>
#include <vector>

#include "model/resources.h"

namespace berth::model {

struct FlatResources {
  std::int64_t cpu_mhz = 0, memory_mb = 0, memory_max_mb = 0, disk_mb = 0;
  std::vector<std::uint16_t> cores;  ///< ascending, no duplicates; empty for nearly every allocation

  /// Component-wise; cores by union; a `memory_max_mb` of 0 counts as the memory (R-MODEL-376, 377).
  void add(const FlatResources& other);
  /// Component-wise; cores by difference (R-MODEL-376, 377).
  void subtract(const FlatResources& other);
  /// Back to zero; keeps the memory of `cores` allocated.
  void clear();
  friend bool operator==(const FlatResources&, const FlatResources&) = default;
};

/// Peak use of one allocation. Networks and devices are left out.
[[nodiscard]] FlatResources flatten(const AllocatedResources& resources);

/// Like flatten(), into an object whose memory is reused.
void flatten(const AllocatedResources& resources, FlatResources& out);

/// Networks of tasks, then of the group, merged by device name in order of first appearance. Tasks are in byte order of
/// their names (R-MODEL-378, 662, R-RANK-514, 515). The networks of a prestart sidecar count twice.
[[nodiscard]] std::vector<NetworkResource> flatten_networks(const AllocatedResources& resources);

/// True when the sorted lists share an element.
[[nodiscard]] bool cores_overlap(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b);
/// `into` |= `other`, both ascending.
void merge_cores(std::vector<std::uint16_t>& into, const std::vector<std::uint16_t>& other);
/// `from` without `other`, both ascending.
void remove_cores(std::vector<std::uint16_t>& from, const std::vector<std::uint16_t>& other);

}  // namespace berth::model
