// Deterministic parallel runs. Threads decide evaluations ahead of their turn, in parallel, on the newest state they
// have. Decisions are committed in turn. If a row that a decision read has changed meanwhile, the evaluation is decided
// again in its turn. So the decisions are those of one worker, independent of the number of threads and their timing.
//
//   post(n)    announces the n-th evaluation and the state index it will see (the seed of its visiting order)
//   threads    decide posted evaluations in order, each on its view of the newest state; they record the node rows read
//   take(n)    in turn: true if the n-th decision exists and nothing it read has changed; otherwise it is made again
//   skip(n)    a different evaluation came: the decision is dropped
//
// A decision depends on the job, the nodes' static columns, the set of ready nodes, the use of the rows it visited, the
// order index and the circumstances; valid() compares all of them. A decision that visits every node is valid only
// while nothing changes. Pace stops deciding ahead where deciding in turn is faster: where most decisions have to be
// made again, or where a thread takes longer to wake up than to decide.
//
// Threads: everything except the decisions belongs to the server's thread. That thread decides in turn and is one of
// the workers: N workers are this thread and N - 1 others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "server/eval_book.h"
#include "server/team.h"
#include "tables/worker_view.h"

namespace berth::server {

struct Lane;

/// Chooses between deciding ahead and in turn by the measured time per evaluation, so that several workers are never
/// slower than one. The decisions are the same either way.
class Pace {
 public:
  [[nodiscard]] bool is_ahead() const { return is_ahead_; }
  /// Counts an evaluation that took `ns` from its turn to its end.
  void count(std::int64_t ns);

  static constexpr std::uint32_t kTrial = 128;  ///< evaluations by which each way is measured
  /// Evaluations of the first trial in turn. Also: a trial of deciding ahead ends after this many if it takes 1.5 times
  /// as long as deciding in turn.
  static constexpr std::uint32_t kFew = 32;
  static constexpr std::uint32_t kLeast = 1024, kMost = 16'384;  ///< evaluations until the next trial

 private:
  enum class Phase : std::uint8_t { in_turn, ahead, chosen };
  Phase phase_ = Phase::in_turn;
  bool is_ahead_ = false, was_better_ = false;
  std::uint32_t count_ = 0, length_ = kLeast;  // evaluations in this phase; in the next
  std::int64_t sum_ns_ = 0;                    // of this phase
  double in_turn_ns_ = 0;                      // mean time of an evaluation decided in turn, last measured
};

/// What else a decision depends on. Evaluations do not change these.
struct Circumstances {
  std::uint64_t outside = 0;  ///< log entries not written by evaluations
  std::int64_t now_ns = 0;
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

class Ahead {
 public:
  /// The rows that a decision read.
  struct Reads {
    std::vector<tables::NodeRow> rows;  ///< nodes whose use it read
    bool all = false;                   ///< it may have read any node
  };
  /// Decides the lane's evaluation on `state`, seeding its visiting order with `order_index`. Any thread; may throw.
  using Decide =
      std::function<void(const tables::Snapshot& state, std::uint64_t order_index, Lane& lane, Reads& reads)>;

  Ahead(tables::StateStore& store, std::uint32_t threads, const std::function<std::unique_ptr<Lane>()>& make_lane,
        Decide decide);
  ~Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  /// True if another evaluation may be posted now.
  [[nodiscard]] bool wants_more() const;
  /// Threads decide on a copy of the record: the server's own may change, or be reused for another evaluation. Without
  /// `circumstances` the decision depends on none; the driver then reports all changes by changed().
  void post(const EvalRecord& eval, std::uint64_t order_index, const std::optional<Circumstances>& circumstances);
  [[nodiscard]] std::uint64_t posted() const { return posted_.load(std::memory_order_relaxed) - taken_; }
  /// Number of evaluations that may be posted at a time.
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  /// The lane in which the oldest posted evaluation is decided.
  [[nodiscard]] Lane& next() { return *slots_[taken_ % slots_.size()]->lane; }
  /// Call when `eval`, the oldest posted evaluation, has its turn. True if next() holds a decision that is still valid.
  /// Otherwise decide it in next() now. Waits for a thread that is deciding it. The snapshot that the decision was made
  /// on has been released.
  [[nodiscard]] bool take(broker::EvalRow eval, std::uint64_t order_index, const Circumstances& circumstances);
  /// Frees next() for another evaluation.
  void release() { ++taken_; }
  /// Drops the oldest posted evaluation. Waits for a thread that is deciding it.
  void skip();
  /// Counts an evaluation that took `ns` from its turn to its end.
  void count(std::int64_t ns) { pace_.count(ns); }

  /// To be called when the use of a node's row or the set of ready nodes changed.
  void changed(tables::NodeRow row);

  struct Stats {
    std::uint64_t used = 0;     ///< speculative decisions that were still valid
    std::uint64_t redone = 0;   ///< decisions that were made again
    std::uint64_t inline_ = 0;  ///< decided in their turn because no thread had started
    std::vector<std::int64_t> busy_ns;
  };
  [[nodiscard]] Stats stats() const;

 private:
  struct alignas(64) Slot {
    std::unique_ptr<Lane> lane;
    EvalRecord record;  // the evaluation as it was posted
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
  std::vector<std::unique_ptr<Slot>> slots_;  // ring buffer: the n-th posted evaluation is in slot n % size
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::uint64_t> last_change_;  // by node row: number of its last change
  std::uint64_t taken_ = 0;
  Stats stats_;
  Pace pace_;
  alignas(64) std::atomic<std::uint64_t> posted_{0};   // written by the server's thread; threads wait on it
  alignas(64) std::atomic<std::uint64_t> claimed_{0};  // next slot to be decided; by compare-exchange
  alignas(64) std::atomic<std::uint64_t> change_{0};   // commits so far
  std::atomic<bool> stopping_{false};
  std::optional<Team> team_;
};

}  // namespace berth::server
