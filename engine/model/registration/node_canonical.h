// The stored form of a node, its capacity, and nodes that an import refuses (R-MODEL-71 to 73, 383, 430 to 442, 473).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"
#include "model/flatten.h"
#include "model/node.h"

namespace berth::model {

/// Defaults, eligibility while draining, CPU topology against its legacy mirror, addresses (R-MODEL-71, 431, 432).
void canonicalize(Node& node);

/// MHz of one core: base, else maximum, else guessed speed (R-MODEL-430).
[[nodiscard]] std::uint64_t core_speed_mhz(const Core& core);
/// The override, else the sum over all cores, disabled ones included (R-MODEL-433).
[[nodiscard]] std::uint64_t total_compute_mhz(const Topology& topology);
/// Ids of the cores that are not disabled, ascending (R-MODEL-434).
[[nodiscard]] std::vector<std::uint16_t> usable_cores(const Topology& topology);
/// Null when the node has no topology, which counts as an empty one (R-MODEL-437).
[[nodiscard]] const Topology* topology_of(const Node& node);

/// The node's resources before reservation (R-MODEL-383); `memory_max_mb` stays 0.
[[nodiscard]] FlatResources capacity(const Node& node);
/// The resources that the node reserves for itself (R-MODEL-383, R-RANK-522).
[[nodiscard]] FlatResources reservation(const Node& node);
/// Capacity minus reservation; components may be negative (R-RANK-523).
[[nodiscard]] FlatResources available(const Node& node);

/// Refuses nodes that the reference would crash on or misread (R-MODEL-9, 60, 442, 473): no NodeResources, a core list
/// that is not strictly ascending, port 65536, a dynamic port bound above 65535, a CSI node plugin without node info.
/// Port texts that do not parse are no error here: such a node is exhausted by `network: invalid node`.
[[nodiscard]] Result<void> check_node(const Node& node, const std::string& path = "-", const std::string& place = "");

}  // namespace berth::model
