// Cache by state: an index of the candidates of a base set, which outlives evaluations. It finds the best node without
// visiting most of them (rank/fit_index.h). From one state to the next, only nodes whose use changed are updated.
//
// Everything is by *position* in the ascending list of candidates (ReadyNodes), which is the visiting order `identity`:
// ties go to the lowest position. A kind is a set of computed classes for which all jobs so far had the same verdict.
// There is nearly always one kind, or one per set of constraints.
//
//   free              12 B   cpu MHz, memory MiB, disk MiB; a position that was left out has -1 MHz
//   fit               32 B   use and capacity as the exact score reads them
//   class, kind        8 B   index of the node's class in ReadyNodes::of_class; kind of that class
//   row -> position    4 B
// With the index itself, 75 B per node and 128 B per distinct (shape, free cpu, free memory).
// sync() is O(changed nodes). It rebuilds the index, O(n log n), when the set of ready nodes changed or the changes
// exceed the log of the node table. Threads: one worker.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rank/fit_index.h"
#include "sched/source/node_feed.h"
#include "tables/job_table.h"
#include "tables/ready_nodes.h"

namespace berth::sched {

using tables::ReadyNodes;

class NodeIndex {
 public:
  using Best = rank::FitIndex::Best;  ///< `row` is a position

  /// Updates the index to `snapshot`, with all candidates in it. False if the index cannot serve the nodes because of
  /// one without cpu or memory capacity (R-RANK-104), with a limit of allocations, with ports that do not parse, or
  /// whose capacity for the score differs from that for the fit.
  /// `base_set`: BaseSet::number of the set that `ready` lists.
  bool sync(const tables::Snapshot& snapshot, const ReadyNodes& ready, std::uint64_t base_set, NodeFeed& feed);

  /// Position of a node row, or tables::kNoRow if it is no candidate.
  [[nodiscard]] std::uint32_t position(tables::NodeRow row) const { return position_[row]; }
  /// `asked` identifies the class checks of a group: constraints, drivers and so on. True: the last call had the same,
  /// and its verdicts are still valid. False: call take() with the verdicts.
  [[nodiscard]] bool is_asked_again(std::span<const std::uint64_t> asked);
  /// Sets the class verdicts, by index in ReadyNodes::of_class, for best() until the next is_asked_again(). False: jobs
  /// distinguish more kinds than the index can hold.
  bool take(std::span<const std::uint8_t> class_passes);
  [[nodiscard]] bool passes(std::uint32_t position) const { return kind_passes_[kind_[position]] != 0; }
  /// Leaves a position out of best() until the next sync().
  void leave_out(std::uint32_t position);

  /// Returns the candidate with the highest fit score; ties go to the lowest position.
  [[nodiscard]] std::optional<Best> best(rank::FitAlgorithm algorithm, const rank::AskedAmounts& ask) {
    return index_.best(algorithm, columns(), ask, {}, {}, kind_passes_);
  }
  [[nodiscard]] std::uint64_t visits() const { return index_.visits(); }  ///< rank::FitIndex::visits()

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
  std::vector<std::uint64_t> asked_;  // the class checks of kind_passes_
  bool is_answered_ = false;
  std::vector<std::uint8_t> kind_passes_;
  std::size_t capacities_ = 0;  // number of distinct capacities, which is the number of shapes of a kind

  bool served_ = false;
  std::uint64_t epoch_ = ~0ULL;  // of the node table
  std::uint64_t base_set_ = 0;
  NodePlace place_;
};

}  // namespace berth::sched
