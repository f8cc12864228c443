// The input of a rebalance, read from a state: occupied nodes, their allocations, and which of these may move.
//
// A node is occupied while an allocation runs there, not counting system and sysbatch jobs, whose allocations belong to
// their node. Nodes that are not up are ignored with their allocations.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "sim/packing.h"
#include "tables/state.h"

namespace berth::rebalance {

inline constexpr std::size_t kResources = 3;
inline constexpr std::array<std::string_view, kResources> kResourceNames = {"cpu", "memory", "disk"};
using Amounts = std::array<std::int64_t, kResources>;  ///< MHz, MiB, MiB

/// Why an allocation stays on its node.
enum class Stays : std::uint8_t {
  rolls_out,  ///< its job is being rolled out, or it is of an older version
  stopped,    ///< its job is stopped or purged
  batch,      ///< it would lose its work
  volume,     ///< host volume, sticky volume or sticky ephemeral disk
  pinned,     ///< a constraint on node.unique., attr.unique. or meta.unique.
  is_new,     ///< placed by an evaluation that was pending in the state
};
inline constexpr std::array<std::string_view, 6> kStaysNames = {"being rolled out or of an older version",
                                                                "of a stopped job",
                                                                "of batch jobs",
                                                                "with a volume of their node",
                                                                "pinned by a constraint",
                                                                "placed by an evaluation that was pending"};

/// An allocation that may move.
struct Load {
  tables::AllocRow row = tables::kNoRow;
  std::uint32_t base_set = 0;  ///< datacenters and pool of its job
  Amounts asked{};             ///< amounts requested from the scheduler
  Amounts least{};             ///< least amounts on any node: reserved cores have each node's speed
};

struct Machine {
  tables::NodeRow row = 0;
  Amounts room{};  ///< capacity without the amounts of system jobs
  Amounts free{};  ///< now
  Amounts held{};  ///< least amounts of the allocations on it
  bool accepts = false;
  std::uint32_t part = 0;    ///< nodes of different parts share no job
  std::int64_t staying = 0;  ///< occupying allocations that do not move
  std::vector<Load> loads;   ///< largest first

  [[nodiscard]] bool occupied() const { return staying > 0 || !loads.empty(); }
};

struct Fleet {
  std::vector<Machine> machines;
  std::uint32_t parts = 0;
  std::map<std::uint32_t, tables::ReadyNodes> hosts;  ///< nodes that accept jobs of a base set, by base set
  std::array<std::int64_t, kStaysNames.size()> stays{};
  Amounts total{};  ///< capacity of all machines

  [[nodiscard]] std::int64_t occupied() const;
  /// Mean request of the allocations that may move, rounded up.
  [[nodiscard]] sim::Amounts mean_request() const;
};

/// The machine as fragmentation counts it, if so much of its room is free.
[[nodiscard]] sim::NodePacking packing_of(const Machine& machine, const Amounts& free);

/// `known`: rows from this one on are Stays::is_new. Cost: O(nodes x base sets + allocations).
[[nodiscard]] Fleet read_fleet(const tables::Snapshot& state, bool move_batch, tables::AllocRow known);

/// Largest share of the amounts in the totals, over resources; resources without a total do not count.
[[nodiscard]] double largest_share(const Amounts& amounts, const Amounts& totals);

}  // namespace berth::rebalance
