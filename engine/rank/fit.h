// Does a list of allocations fit on a node? (R-MODEL-400 to 412, R-RANK-531 to 535); which cores a task gets
// (R-MODEL-440 to 443, R-RANK-641 to 643).
//
// Ranking and the plan applier share the steps but not the inputs. Ranking checks resources that are already flattened
// (FitSum); its own offers have settled ports and devices. The applier checks whole allocations, and also tests ports,
// devices and volume claims (allocs_fit). Units: MHz and MiB.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/alloc.h"
#include "model/flatten.h"
#include "model/node.h"
#include "network/network_index.h"

namespace berth::rank {

/// The resource that was too scarce; the texts are those of R-MODEL-412 and the plan applier.
enum class Dimension : std::uint8_t {
  none,
  cpu,
  cores,
  memory,
  disk,
  max_allocs,
  node_ports,   ///< `reserved node port collision: ...`
  alloc_ports,  ///< `reserved alloc port collision: ...`
  devices,      ///< `device oversubscribed`
  volumes,      ///< `conflicting claims for host volume with single-writer`
};

/// The fixed text of a dimension; for the two port dimensions the part before the detail; "" for none.
[[nodiscard]] std::string_view dimension_text(Dimension dimension);

/// The part of a node that fit checks read; computed once per version of the node.
struct NodeFit {
  model::FlatResources available;  ///< capacity minus reservation, components may be negative (R-RANK-523)
  std::int64_t max_allocs = 0;     ///< 0 = unlimited
};
[[nodiscard]] NodeFit read_node_fit(const model::Node& node);

/// Returns the first component in which `available` is less than `used`, or none. A node without any available core
/// skips the core test (R-MODEL-384, 385, R-RANK-524).
[[nodiscard]] Dimension uncovered(const model::FlatResources& available, const model::FlatResources& used);

/// Sums the use of the allocations of one node and checks it (R-RANK-531 to 535). Reusable; allocates only for cores.
class FitSum {
 public:
  void clear();
  /// Counts an entry of the list. Pass null for a client-terminal one, which uses nothing (R-RANK-532, 533).
  void add(const model::FlatResources* use);
  /// After too many entries `used` is all zero; otherwise it keeps the sum (R-MODEL-401, 410).
  [[nodiscard]] Dimension judge(const NodeFit& node);
  [[nodiscard]] const model::FlatResources& used() const { return used_; }

 private:
  model::FlatResources used_;
  std::int64_t listed_ = 0;
  bool cores_overlap_ = false;
};

/// The plan applier's result. `used` holds the sum before the failing step.
struct Fit {
  Dimension dimension = Dimension::none;
  std::string detail;  ///< of the two port dimensions: the collision or the parse error
  model::FlatResources used;
  [[nodiscard]] bool fits() const { return dimension == Dimension::none; }
  [[nodiscard]] std::string text() const { return std::string(dimension_text(dimension)) + detail; }
};

/// All steps, with a network index built from the node (R-MODEL-400 to 408). `allocs` in the order of R-CTRL-612;
/// `check_claims` switches the tests of devices and volumes. `index` is scratch.
[[nodiscard]] Fit allocs_fit(const model::Node& node, std::span<const model::Allocation* const> allocs,
                             bool check_claims, network::NetworkIndex& index);

/// One allocation as the fit check reads it, independent of where it is stored.
struct FitEntry {
  const model::AllocatedResources* resources = nullptr;  ///< null: it uses nothing, but counts for the limit
  std::string_view id;                                   ///< for collision messages
  const model::TaskGroup* group = nullptr;               ///< claims its volumes; null: none
};
/// As above, with the node's ports already parsed.
[[nodiscard]] Fit allocs_fit(const model::Node& node, const network::NodePorts& ports, std::span<const FitEntry> allocs,
                             bool check_claims, network::NetworkIndex& index);

/// Assigns `count` cores to a task: writes the smallest usable ids that are not in `consumed` (ascending) to `cores`,
/// and the sum of their speeds to `cpu_mhz`. Returns false if too few are left (R-MODEL-440 to 443).
[[nodiscard]] bool assign_cores(const model::Topology& topology, const std::vector<std::uint16_t>& consumed,
                                std::int64_t count, std::vector<std::uint16_t>& cores, std::int64_t& cpu_mhz);

}  // namespace berth::rank
