// Kept by state: the candidates of a base set in an index that outlives evaluations. The best node of all is found
// without a visit of most of them (rank/fit_index.h), and from one state to the next only the nodes whose use changed
// are moved.
//
// Everything is by *position* in the ascending list of candidates (ReadyNodes), which is the visiting order `identity`:
// ties go to the least position. A kind is a set of computed classes that no job so far told apart: nearly always one
// for all, or as many as there are sets of constraints.
//
//   free      12 B   cpu MHz, memory MiB, disk MiB; a position that was left out has -1 MHz
//   fit       32 B   use and capacity as the exact score reads them
//   class, kind   4 B each   place of its class in ReadyNodes::of_class; kind of it
//   row -> position   4 B
// Together with the index itself 75 B per node and 128 B per distinct (shape, free cpu, free memory).
// Made anew, O(n log n), when the set of ready nodes changed or this worker fell behind by more than the table's log of
// changed rows holds; else sync() costs what changed. One worker's own, like all scratch.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rank/fit_index.h"
#include "sched/source/node_feed.h"
#include "tables/state.h"

namespace berth::sched {

using tables::ReadyNodes;

class NodeIndex {
 public:
  using Best = rank::FitIndex::Best;  ///< `row` is a position

  /// Brings the index to `snapshot`, all candidates in. False when the nodes cannot be served: one without cpu or
  /// memory capacity (R-RANK-104), with a limit of allocations, with ports that do not parse, or whose capacity scores
  /// otherwise than it fits.
  bool sync(const tables::Snapshot& snapshot, const ReadyNodes& ready, NodeFeed& feed);

  /// Position of a node row, or tables::kNoRow if it is no candidate.
  [[nodiscard]] std::uint32_t position(tables::NodeRow row) const { return position_[row]; }
  /// What the classes of candidates are asked, as numbers: constraints, drivers and so on. True: the last ask was the
  /// same since the ready nodes changed, and its answer holds; else take() says it.
  [[nodiscard]] bool is_asked_again(std::span<const std::uint32_t> asked);
  /// Says which classes are feasible for the calls of best() until the next is_asked_again(); by place in
  /// ReadyNodes::of_class. False when jobs told more kinds apart than an index is good for.
  bool take(std::span<const std::uint8_t> class_passes);
  [[nodiscard]] bool passes(std::uint32_t position) const { return kind_passes_[kind_[position]] != 0; }
  /// Leaves a position out of best() until the next sync().
  void leave_out(std::uint32_t position);

  /// The candidate with the highest fit score, ties to the least position.
  [[nodiscard]] std::optional<Best> best(rank::FitAlgorithm algorithm, const rank::IndexAsk& ask) {
    return index_.best(algorithm, columns(), ask, {}, {}, kind_passes_);
  }
  [[nodiscard]] std::uint64_t looks() const { return index_.looks(); }  ///< rank::FitIndex::looks()

 private:
  friend struct MemoryAccess;
  void build(const tables::Snapshot& snapshot, const ReadyNodes& ready);
  void read_use(const tables::Snapshot& snapshot, std::uint32_t position, tables::NodeRow row);
  [[nodiscard]] rank::IndexColumns columns() const;

  rank::FitIndex index_;
  struct {
    std::vector<std::int32_t> cpu_free, memory_free, disk_free;
    std::vector<std::int64_t> cpu_used, memory_used;
    std::vector<double> cpu_capacity, memory_capacity;
  } amounts_;  // by position
  std::vector<std::uint32_t> class_, kind_, position_;
  std::vector<std::uint32_t> left_out_;  // positions
  std::vector<std::uint32_t> kind_of_class_;
  std::vector<std::uint32_t> asked_;  // for whom kind_passes_ stands
  bool is_answered_ = false;
  std::vector<std::uint8_t> kind_passes_;
  std::size_t capacities_ = 0;  // distinct ones: shapes of one kind

  bool served_ = false;
  std::uint64_t epoch_ = ~0ULL;  // of the node table
  NodePlace place_;
};

}  // namespace berth::sched
