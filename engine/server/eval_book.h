// Evaluations under way: one record each from creation to end, numbers only.
//
//   EvalRecord   about 160 bytes; its row is also the evaluation's row in the broker and the tracker
//   chunks       of 1,024 records, allocated on first use; records never move
//
// A row is reused once its evaluation is over and the broker no longer refers to it. Threads: add() is called by the
// writer. A record belongs to the thread that holds the evaluation's delivery, except `queued`, `status` (see
// status_now()) and `cause`, which belong to the writer. release() may be called on any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/uuid.h"
#include "broker/eval.h"
#include "tables/alloc_table.h"

namespace berth::server {

enum class EvalState : std::uint8_t { pending, blocked, complete, failed, canceled };
[[nodiscard]] constexpr bool is_terminal(EvalState state) { return state >= EvalState::complete; }

/// Why a blocked evaluation may run again.
enum class Cause : std::uint8_t {
  none,           ///< it was never blocked
  node_class,     ///< R-CTRL-814
  node,           ///< the node of a system job's evaluation (R-CTRL-816)
  quota,          ///< R-CTRL-815
  volume,         ///< R-CTRL-817
  missed,         ///< decided on a state from before an unblock (R-CTRL-810)
  plan_attempts,  ///< every 60 s, for evaluations whose plans were refused (R-CTRL-819)
};
inline constexpr std::size_t kCauses = 7;
inline constexpr const char* kCauseNames[kCauses] = {"none",   "class",          "node",         "quota",
                                                     "volume", "missed_unblock", "plan_attempts"};

struct EvalRecord {
  base::Uuid id;
  base::Uuid previous;                                 ///< the evaluation that created it; nil: none
  std::uint64_t tag = 0;                               ///< the driver's; evaluations that it creates inherit it
  std::uint64_t create_index = 0, snapshot_index = 0;  ///< R-CTRL-235
  std::int64_t due_ns = 0;                             ///< when it first could have run
  std::int64_t wait_ns = 0, wait_until_ns = 0;         ///< R-CTRL-317
  tables::JobKeyRow job = tables::kNoRow;
  tables::Symbol trigger = 0;
  tables::NodeRow node = tables::kNoRow;  ///< of a system job's blocked evaluation
  std::int32_t priority = 0;
  std::uint32_t round = 0;  ///< unblocks so far, those of its predecessors included
  broker::EvalRow row{};
  broker::Queue type = broker::Queue::service;
  EvalState status = EvalState::pending;
  Cause cause = Cause::none;
  bool was_blocked = false;  ///< status when the scheduler received it (R-SCHED-18)
  bool annotate = false;
  bool queued = false;                            ///< true while the broker holds it
  tables::StoredEvalRow stored = tables::kNoRow;  ///< its row in the state; none: it is only expected
  tables::Symbol id_text = tables::kEmptySymbol;  ///< its ID as text, if that differs from base::to_text()

  /// For the holder of the delivery, without the Turn: the evaluation may be cancelled meanwhile.
  [[nodiscard]] EvalState status_now() { return std::atomic_ref(status).load(std::memory_order_acquire); }
};

class EvalBook {
 public:
  explicit EvalBook(std::uint32_t capacity) : capacity_(capacity), chunks_(capacity / kChunk + 1) {}

  /// A row for another evaluation; none if the book is full.
  [[nodiscard]] std::optional<broker::EvalRow> add();
  [[nodiscard]] bool full();
  void release(broker::EvalRow row);
  [[nodiscard]] std::size_t in_use();
  [[nodiscard]] EvalRecord& operator[](broker::EvalRow row) {
    const auto at = static_cast<std::uint32_t>(row);
    return chunks_[at / kChunk][at % kChunk];
  }

 private:
  static constexpr std::uint32_t kChunk = 1024;

  const std::uint32_t capacity_;
  std::vector<std::unique_ptr<EvalRecord[]>> chunks_;  // the vector is never resized
  std::uint32_t used_ = 0;
  std::mutex mutex_;
  std::vector<broker::EvalRow> free_;
};

}  // namespace berth::server
