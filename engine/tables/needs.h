// The requirements of a Select, as a set of bits. A source of candidates lists the needs that it serves, and may answer
// only Selects without others. A source that predates a feature does not list its bit, so a forgotten feature costs
// time but never correctness. The needs of a group and its job are computed once, when a job version is compiled.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>

namespace berth::tables {

enum class Need : std::uint8_t {
  // Of the group and its job.
  network,                ///< a group network, with any ports
  dynamic_ports,          ///< of a host network that the job names, or of none
  several_host_networks,  ///< dynamic ports of more than one
  static_ports,           ///< by number
  odd_ports,              ///< on a host network that the node names; a number out of range, or that may collide
  task_network,
  devices,
  device_ids,  ///< constraints on device IDs, or requests of 0 devices
  cores,
  host_volumes,
  own_volumes,  ///< per allocation, or sticky
  csi_volumes,
  distinct_hosts,
  distinct_property,
  affinity,
  spread,
  escapes,  ///< constraints that no computed class decides (R-FEAS-405, 406)
  secrets,
  several_groups,
  wide_amounts,   ///< below 0 or above 32 bits
  no_ask_number,  ///< see CompiledGroup::ask
  // Needs of the Select.
  evict,
  evict_follows,  ///< an evicting Select follows if this one finds nothing
  penalties,
  odd_spread,  ///< its scores by value are not in a table
  // Needs of the attempt, its mode and its state.
  inherited_network,    ///< network of an earlier group, other than none (R-FEAS-309)
  host_networks,        ///< the effective network parameters name some
  several_versions,     ///< several versions of the job are placed
  plan_stops,           ///< the plan stops or evicts allocations
  plan_updates,         ///< the plan updates allocations
  exhaustive,           ///< the best of all nodes
  metrics,              ///< they may not be deferred
  shuffled_order,       ///< the visiting order is not that of node IDs
  strategy_score,       ///< a ranking strategy scores the fit
  stale_classes,        ///< nodes of one computed class may differ in what constraints read
  mixed_profiles,       ///< nodes of one computed class differ in drivers or network modes
  mixed_kinds,          ///< nodes of one computed class are of different kinds
  registered_volumes,   ///< host volumes of the state
  ports_or_cores_held,  ///< by some allocation (NodeTable::port_or_core_allocs)
  invalid_nodes,        ///< the reserved ports of some node cannot be parsed
  classes_by_node,      ///< without the quirk verdicts_per_class
  domain,               ///< nodes must have one of certain values of a gang's target
};

class Needs {
 public:
  constexpr Needs() = default;
  constexpr Needs(std::initializer_list<Need> list) {
    for (const Need need : list) add(need);
  }
  /// The need with this bit alone, named or not: lets a test add a feature that no source supports.
  [[nodiscard]] static constexpr Needs of_bit(std::uint32_t bit) {
    Needs out;
    out.bits_ = std::uint64_t{1} << bit;
    return out;
  }

  constexpr void add(Need need, bool present = true) {
    bits_ |= std::uint64_t{present} << static_cast<std::uint32_t>(need);
  }
  [[nodiscard]] constexpr bool has(Need need) const { return (bits_ >> static_cast<std::uint32_t>(need) & 1) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend constexpr Needs operator|(Needs a, Needs b) {
    a.bits_ |= b.bits_;
    return a;
  }
  /// The needs of the first set that are missing in the second one.
  friend constexpr Needs operator-(Needs a, Needs b) {
    a.bits_ &= ~b.bits_;
    return a;
  }
  friend constexpr bool operator==(Needs, Needs) = default;

  static constexpr std::uint32_t kBits = 64;
  /// Calls visit(number of the bit) for each need.
  template <class Visit>
  constexpr void each(Visit visit) const {
    for (std::uint64_t rest = bits_; rest != 0; rest &= rest - 1)
      visit(static_cast<std::uint32_t>(std::countr_zero(rest)));
  }

 private:
  std::uint64_t bits_ = 0;
};

/// True if a source that lists `served` may answer a Select with these needs.
[[nodiscard]] constexpr bool serves(Needs served, Needs needs) { return (needs - served).empty(); }

/// Name of each need in output, by its number.
inline constexpr std::array<const char*, static_cast<std::size_t>(Need::domain) + 1> kNeedNames = {
    "group network",
    "dynamic ports",
    "ports of several host networks",
    "static ports",
    "ports that the node decides",
    "task network",
    "devices",
    "device IDs",
    "reserved cores",
    "host volumes",
    "volumes of one allocation",
    "CSI volumes",
    "distinct_hosts",
    "distinct_property",
    "affinities",
    "spreads",
    "constraint unique to a node",
    "secrets",
    "several groups",
    "amounts beyond 32 bits",
    "checks without a number",
    "whom to evict",
    "an evicting pass may follow",
    "nodes with a penalty",
    "values of a spread",
    "inherited network",
    "host networks",
    "several versions",
    "planned stops",
    "planned updates",
    "exhaustive",
    "metrics",
    "shuffled order",
    "strategy",
    "stale computed classes",
    "classes of several profiles",
    "classes of several kinds",
    "registered host volumes",
    "allocations with ports or cores",
    "nodes with invalid ports",
    "classes by node",
    "topology of a gang",
};

}  // namespace berth::tables
