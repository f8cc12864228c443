// Deterministic parallel runs: evaluations are decided ahead of their turn, in parallel, on whatever state there is,
// and committed in their turn. What looked at a row that changed meanwhile is decided again in its turn. So the
// decisions are those of one worker, whatever the number of threads and however they are scheduled.
//
//   post(n)    the server says which evaluation comes n-th and which state index it will see (seed of the visiting
//              order)
//   threads    decide posted ones in order, each on its view of the newest state, and note the node rows they visited
//   take(n)    in its turn: is the n-th decision there, and did nothing that it read change? Else it is made again
//   skip(n)    another evaluation came: the decision is dropped
//
// A decision depends on the job, the nodes' static columns, the set of ready nodes, the use of the rows it visited, the
// order index and the circumstances; valid() compares all of them. Decisions that visit every node are valid only while
// nothing changes. Where deciding ahead is slower than deciding in turn, as most decisions have to be made anew or as
// threads take longer to wake up than to decide, it pauses (Pace). Threads: everything but the decisions belongs to the
// server's thread, which decides in turn and is one of the workers: N workers are N - 1 threads beside it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "server/lane.h"
#include "server/team.h"
#include "tables/worker_view.h"

namespace berth::server {

/// Chooses between deciding ahead and in turn by the time that evaluations take either way: so several workers are not
/// slower than one. The decisions are the same.
class Pace {
 public:
  [[nodiscard]] bool is_ahead() const { return is_ahead_; }
  /// An evaluation took so long, from its turn to its end.
  void count(std::int64_t ns);

  static constexpr std::uint32_t kTrial = 128;  ///< evaluations that each way is measured for
  /// Evaluations of the first trial in turn; and those after which a trial of deciding ahead ends that takes half as
  /// long again as deciding in turn.
  static constexpr std::uint32_t kFew = 32;
  static constexpr std::uint32_t kLeast = 1024, kMost = 16'384;  ///< that the better one is used for then

 private:
  enum class Phase : std::uint8_t { in_turn, ahead, chosen };
  Phase phase_ = Phase::in_turn;
  bool is_ahead_ = false, was_better_ = false;
  std::uint32_t count_ = 0, length_ = kLeast;  // evaluations of the phase; of the next choice
  std::int64_t sum_ns_ = 0;                    // of the phase
  double in_turn_ns_ = 0;                      // mean of an evaluation in turn, when it was last measured
};

/// What else a decision depends on. Evaluations change neither.
struct Circumstances {
  std::uint64_t outside = 0;  ///< log entries that no evaluation wrote
  std::int64_t now_ns = 0;
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

class Ahead {
 public:
  /// What a decision looked at.
  struct Reads {
    std::vector<tables::NodeRow> rows;  ///< nodes whose use it read
    bool all = false;                   ///< it may have read any
  };
  /// Decides the lane's evaluation on `state`, seeding its visiting order with `order_index`. Any thread; may throw.
  using Decide =
      std::function<void(const tables::Snapshot& state, std::uint64_t order_index, Lane& lane, Reads& reads)>;

  Ahead(tables::StateStore& store, std::uint32_t threads, const std::function<std::unique_ptr<Lane>()>& make_lane,
        Decide decide);
  ~Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  /// Whether another evaluation may be posted now.
  [[nodiscard]] bool wants_more() const;
  /// Threads decide on a copy of the record: the server's own may change, or become another evaluation's.
  /// Without circumstances the decision depends on none: the driver names all that changes, see changed().
  void post(const EvalRecord& eval, std::uint64_t order_index, const std::optional<Circumstances>& circumstances);
  [[nodiscard]] std::uint64_t posted() const { return posted_.load(std::memory_order_relaxed) - taken_; }
  /// Evaluations that may be posted at a time.
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  /// Where the oldest posted evaluation is decided.
  [[nodiscard]] Lane& next() { return *slots_[taken_ % slots_.size()]->lane; }
  /// The oldest posted evaluation, which is `eval`, has its turn: true when its decision is in next() and is the one
  /// that would be made now. Else it is made there, in its turn. Waits for a thread that decides it. The snapshot
  /// it was made on is gone.
  [[nodiscard]] bool take(broker::EvalRow eval, std::uint64_t order_index, const Circumstances& circumstances);
  /// next() is done with.
  void release() { ++taken_; }
  /// Drops the oldest posted evaluation. Waits for a thread that decides it.
  void skip();
  /// An evaluation is over that took so long from its turn on.
  void count(std::int64_t ns) { pace_.count(ns); }

  /// The use of a node's row changed, or the set of ready nodes.
  void changed(tables::NodeRow row);

  struct Stats {
    std::uint64_t used = 0;     ///< speculative decisions that were still valid
    std::uint64_t redone = 0;   ///< decided again
    std::uint64_t inline_ = 0;  ///< decided in their turn, because no thread had begun
    std::vector<std::int64_t> busy_ns;
  };
  [[nodiscard]] Stats stats() const;

 private:
  struct alignas(64) Slot {
    std::unique_ptr<Lane> lane;
    EvalRecord record;  // of the evaluation, as it was posted
    std::uint64_t order_index = 0, change = 0, epoch = 0;
    std::optional<Circumstances> circumstances;
    Reads reads;
    bool failed = false;
    std::atomic<std::uint32_t> done{0};
  };
  struct alignas(64) Thread {
    std::atomic<std::int64_t> busy_ns{0};
    tables::WorkerView view;
  };

  void loop(Thread& thread);
  void run(Thread& thread, Slot& slot);
  [[nodiscard]] bool begun(Slot& slot);
  [[nodiscard]] bool valid(const Slot& slot, std::uint64_t order_index, const Circumstances& circumstances) const;

  tables::StateStore& store_;
  const Decide decide_;
  std::vector<std::unique_ptr<Slot>> slots_;  // a ring: the n-th posted stands in n % size
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::uint64_t> last_change_;  // by node row: number of the change
  std::uint64_t taken_ = 0;
  Stats stats_;
  Pace pace_;
  alignas(64) std::atomic<std::uint64_t> posted_{0};   // written by the run's thread; threads wait on it
  alignas(64) std::atomic<std::uint64_t> claimed_{0};  // next to be decided; by compare-exchange
  alignas(64) std::atomic<std::uint64_t> change_{0};   // commits so far
  std::atomic<bool> stopping_{false};
  std::optional<Team> team_;
};

}  // namespace berth::server
