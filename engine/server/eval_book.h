// The book of evaluations that are under way: a row each from its creation to its end, numbers only.
//
//   EvalRecord   about 160 bytes; its row is the broker's and the tracker's row of the evaluation
//   chunks       of 1,024 records, made when they are first needed; records never move
//
// A row is used again once its evaluation is over and the broker has let go of it.
// Threads: add() the writer's; a record belongs to whoever holds the evaluation's delivery, its `queued`, `status` (but
// for status_now()) and `cause` to the writer; release() from any thread.
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

/// What let a blocked evaluation run again.
enum class Cause : std::uint8_t {
  none,           ///< it was never blocked
  node_class,     ///< R-CTRL-814
  node,           ///< its own node, of a system job (R-CTRL-816)
  quota,          ///< R-CTRL-815
  volume,         ///< R-CTRL-817
  missed,         ///< it was decided on a state from before an unblock (R-CTRL-810)
  plan_attempts,  ///< every 60 s those whose plans were refused (R-CTRL-819)
};
inline constexpr std::size_t kCauses = 7;
inline constexpr const char* kCauseNames[kCauses] = {"none",   "class",          "node",         "quota",
                                                     "volume", "missed_unblock", "plan_attempts"};

struct EvalRecord {
  base::Uuid id;
  base::Uuid previous;                                 ///< that created it; nil: none
  std::uint64_t tag = 0;                               ///< the driver's; what an evaluation creates inherits it
  std::uint64_t create_index = 0, snapshot_index = 0;  ///< R-CTRL-235
  std::int64_t due_ns = 0;                             ///< since when it could have run
  std::int64_t wait_ns = 0, wait_until_ns = 0;         ///< R-CTRL-317
  tables::JobKeyRow job = tables::kNoRow;
  tables::Symbol trigger = 0;
  tables::NodeRow node = tables::kNoRow;  ///< of a blocked one of a system job
  std::int32_t priority = 0;
  std::uint32_t round = 0;  ///< how often it, or what it comes from, was unblocked
  broker::EvalRow row{};
  broker::Queue type = broker::Queue::service;
  EvalState status = EvalState::pending;
  Cause cause = Cause::none;
  bool was_blocked = false;  ///< its status when the scheduler got it (R-SCHED-18)
  bool annotate = false;
  bool queued = false;                            ///< the broker has it
  tables::StoredEvalRow stored = tables::kNoRow;  ///< its row in the state; none: it is expected
  tables::Symbol id_text = tables::kEmptySymbol;  ///< text of its ID if it is not as base::to_text() writes it

  /// For whoever was handed it, without the Turn: it may be cancelled meanwhile.
  [[nodiscard]] EvalState status_now() { return std::atomic_ref(status).load(std::memory_order_acquire); }
};

class EvalBook {
 public:
  explicit EvalBook(std::uint32_t capacity) : capacity_(capacity), chunks_(capacity / kChunk + 1) {}

  /// A row for another evaluation; none when the book is full.
  [[nodiscard]] std::optional<broker::EvalRow> add();
  [[nodiscard]] bool full();
  void release(broker::EvalRow row);
  [[nodiscard]] EvalRecord& operator[](broker::EvalRow row) {
    const auto at = static_cast<std::uint32_t>(row);
    return chunks_[at / kChunk][at % kChunk];
  }

 private:
  static constexpr std::uint32_t kChunk = 1024;

  const std::uint32_t capacity_;
  std::vector<std::unique_ptr<EvalRecord[]>> chunks_;  // never resized
  std::uint32_t used_ = 0;
  std::mutex mutex_;
  std::vector<broker::EvalRow> free_;
};

}  // namespace berth::server
