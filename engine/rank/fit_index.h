// Finds the best node for requests that differ from one to the next, without visiting most nodes.
//
//   shape    nodes of equal capacity and kind; at most kShapes of them. Nodes of further shapes are visited one by one.
//   tile     rectangle of free cpu x free memory of one shape, at most 64 x 64, edges at quantiles of what is free.
//            Its corner bounds the score of its nodes: the fit score is monotone in both (R-RANK-651, 652).
//   group    nodes of one shape with equal free cpu and memory: one score for all
//   entry    32 B per group, contiguous per tile: free amounts and the powers of ten that make up the score
//   rows     of a group: a heap by row; a removed row stays until it reaches the top or half of the heap is stale
//
// best() visits the tiles from the corner with the highest scores and stops when bounds are below the best so far,
// minus a margin far above any rounding error. It treats entries the same way. The rest is scored exactly, so the
// answer, ties included, equals that of visiting every node. update() moves one node between groups: O(1). Once free
// amounts have drifted away from the edges and queries visit many groups, the tiles are rebuilt. That costs a constant
// number of visits per node.
//
// For clusters whose nodes differ, or requests that differ. For requests that are all equal, use BestIndex
// (best_index.h). One thread. Memory grows to the largest n and is not released: about 16 B per node and 128 B per
// group.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rank/asked_amounts.h"
#include "rank/score_fit.h"

namespace berth::rank {

/// One row per node. Free is usable (capacity minus reservation) minus the use of proposed allocs; it may be negative.
///   column               unit  bytes
///   cpu_free_mhz         MHz       4   beyond int32: not representable, keep such nodes out
///   memory_free_mb       MiB       4
///   disk_free_mb         MiB       4
///   fit                  -        32   use *without* the ask (not negative), capacities as doubles
struct IndexColumns {
  std::span<const std::int32_t> cpu_free_mhz, memory_free_mb, disk_free_mb;
  FitColumns fit;
  [[nodiscard]] std::size_t size() const noexcept { return cpu_free_mhz.size(); }
};

class FitIndex {
 public:
  static constexpr std::size_t kShapes = 64;

  /// Replaces all rows; O(n log n). A row with negative free cpu or memory is included, but never the best.
  ///   kinds  row -> kind; nodes of one kind are feasible together; empty: all of one kind. Read until next build().
  void build(const IndexColumns& nodes, std::span<const std::uint32_t> kinds = {});

  /// Call after the columns of `row` changed: a commit placed or ended something there. Capacities must not change.
  void update(const IndexColumns& nodes, std::uint32_t row);

  struct Best {
    std::uint32_t row = 0;
    double component = 0;  ///< component `binpack` of that node including the request (R-RANK-652)
  };
  /// Returns the feasible, fitting node with the highest fit score, on a tie the one visited first; or nullopt. `nodes`
  /// must match build() and the updates since.
  ///   feasible     bit i of word i / 64 = row i, bits past n are 0; empty: all rows
  ///   visit_rank   row -> visiting index; empty: ascending rows
  ///   kind_passes  by kind, true if such nodes are feasible; empty: all are
  [[nodiscard]] std::optional<Best> best(FitAlgorithm algorithm, const IndexColumns& nodes, const AskedAmounts& ask,
                                         std::span<const std::uint64_t> feasible,
                                         std::span<const std::uint32_t> visit_rank = {},
                                         std::span<const std::uint8_t> kind_passes = {});

  /// Entries and rows that all calls of best() compared: measures its work, for tests and benchmarks.
  [[nodiscard]] std::uint64_t visits() const noexcept { return visits_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Axis {
    double capacity = 0;
    std::vector<std::int32_t> edges;  // ascending, the first 0: stripe s holds [edges[s], edges[s + 1])
    std::vector<double> power;        // 10^(edge / capacity), one more than stripes: 10 at the end
    void draw(std::vector<std::int32_t>& free, std::size_t stripes);
    [[nodiscard]] std::uint32_t stripe(std::int32_t free) const;
  };
  struct Entry {
    double cpu_power, memory_power;  // 10^(free / capacity)
    std::int32_t cpu_free, memory_free;
    std::uint32_t group;
  };
  struct Shape {
    std::uint32_t kind = 0;
    Axis cpu, memory;
    std::vector<std::vector<Entry>> tiles;  // [cpu stripe * 64 + memory stripe], unordered
    std::vector<std::uint64_t> occupied;    // [cpu stripe] bit per memory stripe
  };
  struct Group {
    std::int32_t cpu_free = 0, memory_free = 0;
    std::uint32_t shape = 0, cpu_stripe = 0, memory_stripe = 0;
    std::uint32_t slot = 0;           // its entry in the tile
    std::uint32_t live = 0;           // rows that are present
    std::vector<std::uint32_t> rows;  // heap, least row first; entries with another group_ are stale
  };
  struct Key {
    std::uint32_t shape;
    std::int32_t cpu_free, memory_free;
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    std::size_t operator()(const Key& key) const noexcept;
  };
  struct Query;

  void attach(const IndexColumns& nodes, std::uint32_t row);
  void detach(std::uint32_t row);
  void link(std::uint32_t group);
  void unlink(std::uint32_t group);
  void visit_group(Query& query, std::uint32_t group);
  void visit_row(Query& query, std::uint32_t row) const;
  void search(Query& query, const Shape& shape, double cpu_factor, double memory_factor);

  [[nodiscard]] std::uint32_t kind(std::uint32_t row) const { return kinds_.empty() ? 0 : kinds_[row]; }

  std::span<const std::uint32_t> kinds_;
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> shape_;  // by row; kNone: in `odd_`, or never the best
  std::vector<std::uint32_t> odd_;    // rows of shapes beyond kShapes
  std::vector<std::uint32_t> group_;  // by row; kNone: in no group
  std::vector<Group> groups_;
  std::vector<std::uint32_t> unused_;  // groups without rows
  tsl::robin_map<Key, std::uint32_t, HashKey> known_;
  std::vector<double> factors_;  // of one best(): 10^-(ask / capacity), per shape cpu and memory
  std::uint64_t visits_ = 0;
  std::uint64_t excess_ = 0;  // visits beyond what a query should need, since the tiles were built
};

}  // namespace berth::rank
