// Deterministic parallel runs: evaluations are decided ahead of their turn, in parallel, on whatever state there is,
// and committed in their turn. What looked at a row that changed meanwhile is decided again in its turn. So the
// decisions are those of one worker, whatever the number of threads and however they are scheduled.
//
//   post(n)    the server says which evaluation comes n-th and which state index it will see (seed of the visiting
//   order) threads    decide posted ones in order, each on the newest snapshot, and note the node rows they looked at
//   take(n)    in its turn: is the n-th decision there, and did nothing it looked at change? Else it is made anew
//
// A decision depends on the job, the nodes' static columns, the set of ready nodes, the use of the rows it looked at
// and the order index; valid() compares all of them. Decisions that look at every node are valid only while nothing
// changes. When most decisions have to be made anew, posting pauses for a while: then speculation only costs. Threads:
// everything but the decisions belongs to the server's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "server/lane.h"
#include "server/team.h"
#include "tables/state.h"

namespace berth::server {

class Ahead {
 public:
  /// What a decision looked at.
  struct Reads {
    std::vector<tables::NodeRow> rows;  ///< nodes whose use it read
    bool all = false;                   ///< it may have read any
  };
  /// Decides evaluation `eval` on `state` into `lane`, seeding its visiting order with `order_index`. Any thread; may
  /// throw.
  using Decide = std::function<void(broker::EvalRow eval, const tables::Snapshot& state, std::uint64_t order_index,
                                    Lane& lane, Reads& reads)>;

  Ahead(tables::StateStore& store, std::uint32_t threads, const std::function<std::unique_ptr<Lane>()>& make_lane,
        Decide decide);
  ~Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  /// Whether another evaluation may be posted now.
  [[nodiscard]] bool wants_more() const;
  void post(broker::EvalRow eval, std::uint64_t order_index);
  [[nodiscard]] std::uint64_t posted() const { return posted_.load(std::memory_order_relaxed) - taken_; }

  /// Where the oldest posted evaluation is decided.
  [[nodiscard]] Lane& next() { return *slots_[taken_ % slots_.size()]->lane; }
  /// The oldest posted evaluation, which is `eval`, has its turn: true when its decision is in next() and is the one
  /// that would be made now. Waits for a thread that decides it. The snapshot it was made on is gone.
  [[nodiscard]] bool take(broker::EvalRow eval, std::uint64_t order_index);
  /// next() is done with.
  void release() { ++taken_; }
  /// An evaluation was decided in its turn without having been posted.
  void skip() {
    if (pause_ > 0) --pause_;
  }

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
    broker::EvalRow eval{};
    std::uint64_t order_index = 0, change = 0, epoch = 0;
    Reads reads;
    bool failed = false;
    std::atomic<std::uint32_t> done{0};
  };
  struct alignas(64) Thread {
    std::atomic<std::int64_t> busy_ns{0};
  };

  void loop(Thread& thread);
  void run(Slot& slot);
  [[nodiscard]] bool valid(const Slot& slot, std::uint64_t order_index) const;

  tables::StateStore& store_;
  const Decide decide_;
  std::vector<std::unique_ptr<Slot>> slots_;  // a ring: the n-th posted stands in n % size
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::uint64_t> last_change_;  // by node row: number of the change
  std::uint64_t taken_ = 0;
  Stats stats_;
  std::uint32_t recent_redone_ = 0, recent_ = 0;
  std::uint64_t pause_length_ = 0;                     // the last one
  std::uint64_t pause_ = 0;                            // evaluations until posting goes on
  alignas(64) std::atomic<std::uint64_t> posted_{0};   // written by the run's thread; threads wait on it
  alignas(64) std::atomic<std::uint64_t> claimed_{0};  // next to be decided; by compare-exchange
  alignas(64) std::atomic<std::uint64_t> change_{0};   // commits so far
  std::atomic<bool> stopping_{false};
  std::optional<Team> team_;
};

}  // namespace berth::server
