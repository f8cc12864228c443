// The evaluations of a life between their writing and their end: broker and tracker of blocked evaluations, driven as
// the leader drives them, and their invariants (R-CTRL-1724 to 1727, 1735).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/blocked.h"
#include "broker/broker.h"
#include "conform/life/life_checks.h"
#include "fsm/hooks.h"
#include "tables/state.h"

namespace berth::conform {

class LifeQueue {
 public:
  LifeQueue(tables::StateStore& store, const model::Quirks& quirks);

  /// What a written log entry asks for, in order.
  void take(const fsm::Hooks& hooks, std::int64_t now);
  /// Time has come to `now`: waits end.
  void advance(std::int64_t now) { broker_.advance(now); }

  struct Delivery {
    std::string eval_id;
    broker::EvalRow row{};
    broker::Token token{};
    bool failed = false;  ///< it reached the delivery limit (R-CTRL-337); the leader gives it up
  };
  /// The next evaluation to process, those that failed too often last; none when nothing is ready.
  [[nodiscard]] std::optional<Delivery> next(std::int64_t now);
  /// An outstanding evaluation that is blocked again: what frees it before its ack waits for that (R-CTRL-408).
  void set_token(broker::EvalRow row, broker::Token token) { outstanding_ = {row, token}; }
  void ack(const Delivery& delivery, std::int64_t now);
  void nack(const Delivery& delivery, std::int64_t now);
  /// Evaluations that others made superfluous: to be written `canceled` (R-CTRL-336, 807).
  [[nodiscard]] std::vector<std::string> take_cancelled();

  /// Jobs of which an evaluation was given back and waits to be delivered again.
  [[nodiscard]] std::set<tables::JobKeyRow> given_back();
  /// Whether an evaluation of the job waits for capacity, for an instant, or for its turn.
  [[nodiscard]] bool waits(tables::JobKeyRow job);
  /// R-CTRL-1724 to 1727.
  void check(const tables::Snapshot& state, Problems& problems);

 private:
  [[nodiscard]] broker::Eval read(const model::Evaluation& eval);
  [[nodiscard]] std::string id_of(broker::EvalRow row) const;
  void enqueue(std::vector<broker::Eval> evals, std::int64_t now);

  tables::StateStore& store_;
  broker::Broker broker_;
  broker::BlockedTracker tracker_;
  std::pair<broker::EvalRow, broker::Token> outstanding_{};
};

}  // namespace berth::conform
