// Lifetimes: when the tasks of a fleet are predicted to end. For strategies that consider run times: nilas, lava, and
// formulas with run_time or node_exit.
//
//   exits   n x int64 ns: when the node is predicted to be empty, the latest end of its tasks; 0: it has none
//   lists   n x (first, last): the node's tasks in the order of their placement, 8 bytes
//   tasks   one record of 40 bytes per running task; slots are used again
//   due     a heap of (predicted end, task), 16 bytes each. The entry of a task that ended earlier stays until its time
//
// A task that outlives its prediction is predicted to run twice as long as before, as with the queue policy `backfill`.
// Cost: place() O(log tasks); remove() O(1), or O(tasks of the node) for the task with the node's latest end; arrive()
// O(log tasks) per outlived prediction, of which a task has at most log2(run time / prediction) + 1.
// Threads: as its Fleet, which owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace berth::strategy {

class Lifetimes {
 public:
  using Slot = std::uint32_t;
  static constexpr std::int64_t kNever = INT64_MAX;  ///< the end of a task that does not end

  struct Task {
    std::int64_t end_ns = 0;   ///< predicted
    std::int64_t run_ns = 0;   ///< predicted, from its start; kNever
    std::uint64_t number = 0;  ///< of its placement, from 1 on
    std::uint32_t row = 0;
    Slot before = 0, after = 0;  ///< in the node's list
    /// Of a task that ends.
    [[nodiscard]] std::int64_t start_ns() const noexcept { return end_ns - run_ns; }
  };
  static_assert(sizeof(Task) == 40);

  explicit Lifetimes(std::size_t nodes) : exits_(nodes, 0), lists_(nodes, {kNone, kNone}) {}

  /// Moves the clock on to `now_ns`, and predicts again what is outlived. The tasks placed from now on are predicted to
  /// run `run_ns`: above 0, or kNever. Call it after the removal of all tasks that end by `now_ns`.
  void arrive(std::int64_t now_ns, std::int64_t run_ns);
  /// A task of this arrival starts on a node. Returns its slot, for remove().
  Slot place(std::uint32_t row);
  void remove(Slot slot);

  [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }
  [[nodiscard]] std::int64_t run_ns() const noexcept { return run_ns_; }
  [[nodiscard]] std::span<const std::int64_t> exits_ns() const noexcept { return exits_; }
  /// Predicted seconds until the node is empty: 0 for an empty node, infinite if a task never ends.
  [[nodiscard]] double exit_s(std::uint32_t row) const noexcept {
    const std::int64_t exit = exits_[row];
    return exit == kNever ? std::numeric_limits<double>::infinity()
                          : static_cast<double>(std::max(exit, now_ns_) - now_ns_) / 1e9;
  }
  /// The task that was placed first, of those on the node; nullptr for an empty node. Valid until the next change.
  [[nodiscard]] const Task* oldest(std::uint32_t row) const noexcept {
    return lists_[row].first == kNone ? nullptr : &tasks_[lists_[row].first];
  }
  /// Placements so far.
  [[nodiscard]] std::uint64_t placements() const noexcept { return placements_; }

 private:
  static constexpr Slot kNone = UINT32_MAX;
  void set_end(Slot slot, std::int64_t start_ns, std::int64_t run_ns);

  std::vector<std::int64_t> exits_;
  std::vector<std::pair<Slot, Slot>> lists_;
  std::vector<Task> tasks_;
  std::vector<Slot> unused_;
  std::vector<std::pair<std::int64_t, Slot>> due_;  // a heap, the earliest end in front
  std::int64_t now_ns_ = 0, run_ns_ = kNever;
  std::uint64_t placements_ = 0;
};

/// Seconds of a predicted time in ns; kNever is infinite.
[[nodiscard]] double lifetime_seconds(std::int64_t ns) noexcept;

}  // namespace berth::strategy
