// The nodes whose use changed lately, as columns of what is left of their figures. Many jobs wait on a full cluster,
// and each is tried again after the same changes: the first one gathers them from the tables, the others stream through
// these.
//
//   rows      4 B per change: the node; kNoRow where it changed again later
//   left      24 B: usable cpu, memory and disk that nobody uses
//   figured   1 B: no allocation there holds ports or cores, and there is no limit of allocations that is reached: the
//             figures tell whether a group that asks for them alone fits (R-RANK-532, 533)
//   last      8 B per node: its last change, + 1
//   peaks     16 B per change at most: the greatest cpu and memory, and the least cpu, from a change on
//
// Who is short of the greatest is short of all: most retries end there.
//
// Follows the log of the table (tables/row_log.h); keeps as many changes as half of the nodes at most. Threads: one
// worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

class ChangedUse {
 public:
  struct Left {
    std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  };
  struct Changes {
    std::span<const tables::NodeRow> rows;
    std::span<const Left> left;
    std::span<const std::uint8_t> figured;
    bool all_figured = false;
    /// Over all of them; what a node had before it changed again may count as well.
    std::int64_t most_cpu_mhz = 0, least_cpu_mhz = 0, most_memory_mb = 0;
  };

  /// The changes from `from`, of the log, up to the state; each node once. False: they are not kept.
  [[nodiscard]] bool since(const tables::NodeTable& nodes, std::uint64_t from, Changes& out);

 private:
  void begin(const tables::NodeTable& nodes);
  bool go_on(const tables::NodeTable& nodes);
  void forget_oldest(std::size_t count);
  void clear_peaks();
  void gather_from(const tables::NodeTable& nodes, std::size_t first);
  void gather(const tables::NodeTable& nodes, std::size_t at);

  std::shared_ptr<const tables::RowLog> log_;
  std::uint64_t first_ = 0, end_ = 0;            // of the log, that are in
  std::uint64_t epoch_ = 0, ready_changes_ = 0;  // of the capacities
  std::vector<tables::NodeRow> rows_, fresh_;
  std::vector<Left> left_;
  std::vector<std::uint8_t> figured_;
  std::vector<std::uint64_t> last_;

  /// The greatest of a figure from any change on: changes after which no greater one comes.
  class Peaks {
   public:
    void clear() { peaks_.clear(); }
    void add(std::uint64_t at, std::int64_t value) {
      while (!peaks_.empty() && peaks_.back().value <= value) peaks_.pop_back();
      peaks_.push_back({at, value});
    }
    void forget_before(std::uint64_t first);
    [[nodiscard]] std::int64_t from(std::uint64_t at) const;  ///< some change is there from `at` on

   private:
    struct Peak {
      std::uint64_t at;
      std::int64_t value;
    };
    std::vector<Peak> peaks_;  // ascending by change, falling by value
  };
  Peaks cpu_, cpu_negated_, memory_;
  std::uint64_t unfigured_ = 0;  // the last change that is not figured, + 1
};

}  // namespace berth::sched
