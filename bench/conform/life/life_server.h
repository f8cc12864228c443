// Who plays the server in a life: state, log, applier, broker, tracker and schedulers, one evaluation after the other
// on one virtual clock. Draws nothing but what a server draws. What happens to it stands in life_events.h; what looks
// on (LifeWatch) stands in life.cc.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "conform/life/life_draw.h"
#include "conform/life/life_queue.h"
#include "fsm/requests.h"
#include "model/options.h"
#include "plan/apply.h"
#include "sched/generic.h"
#include "sched/system.h"

namespace berth::conform {

/// One plan and what became of it.
struct Committed {
  const tables::Snapshot &before, &after;
  const sched::EvalResult& result;
  const model::Plan& plan;  ///< result.plan in API objects
  const model::Evaluation& eval;
  const plan::CommitFacts& facts;
  const plan::ApplyResult& applied;
};

/// Looks on while a server works.
class LifeWatch {
 public:
  virtual ~LifeWatch() = default;
  virtual void tell(std::string event) = 0;
  virtual void problem(std::string text) = 0;
  [[nodiscard]] virtual bool has_problems() const = 0;
  /// An evaluation is about to be processed on `snapshot`, the newest state.
  virtual void evaluating(const tables::Snapshot& snapshot, const sched::EvalFacts& facts,
                          const model::Evaluation& eval) = 0;
  /// A plan is made and not yet committed: what happens now makes its snapshot old.
  virtual void planned(const sched::EvalResult& result) = 0;
  virtual void committed(const Committed& commit) = 0;
  /// It was processed to its end and `done` is written.
  virtual void evaluated(tables::JobKeyRow job, const model::Evaluation& done) = 0;
};

class LifeServer final : public sched::Planner {
 public:
  LifeServer(const model::ClusterState& state, const model::Options& options, std::uint64_t seed,
             std::function<std::string()> next_id, LifeWatch& watch);

  // --- time ---
  [[nodiscard]] std::int64_t now() const { return now_; }
  void wait(std::int64_t ns) { now_ += ns; }

  // --- reading ---
  [[nodiscard]] const tables::Snapshot& state() const { return store_.current(); }
  [[nodiscard]] tables::StateStore& store() { return store_; }
  [[nodiscard]] fsm::StateLog& log() { return log_; }
  [[nodiscard]] fsm::Requests& requests() { return requests_; }
  [[nodiscard]] LifeQueue& queue() { return queue_; }
  [[nodiscard]] sched::Scratch& scratch() { return scratch_; }
  [[nodiscard]] sched::GenericScheduler& generic() { return generic_; }
  [[nodiscard]] sched::SystemScheduler& system() { return system_; }

  // --- writing; each is one log entry, and what it asks for is queued ---
  template <class Entry>
  void write(const Entry& entry) {
    fsm::Hooks hooks;
    const std::string error = log_.apply(log_.next_index(), entry, hooks);
    if (!error.empty()) watch_.tell("  refused: " + error);
    take(hooks);
  }
  void take(const fsm::Hooks& hooks) { queue_.take(hooks, now_); }
  /// A node registers, or registers anew; what was blocked for its class is looked at again (R-CTRL-823).
  void upsert_node(const model::Node& node);
  void remove_node(tables::NodeRow node);  ///< R-CTRL-963
  void set_configuration(const model::SchedulerConfiguration& configuration);
  void ask(const model::Job& job, std::string_view trigger, const std::string& node = {});
  /// Every job with an allocation on the node, and every system job (R-CTRL-213).
  void ask_for_node(const std::string& node_id, std::string_view trigger);
  /// The same once the evaluation under way is done.
  void ask_for_node_later(const std::string& node_id) { nodes_to_evaluate_.push_back(node_id); }

  // --- evaluations ---
  /// All that are ready, and those that they make.
  void evaluate_all();
  [[nodiscard]] sched::EvalFacts facts_of(const model::Evaluation& eval);
  void schedule(const tables::Snapshot& snapshot, const sched::EvalFacts& facts, const std::string& type,
                sched::Planner& planner, sched::EvalResult& result);

  sched::Submission submit(const sched::EvalResult& result) override;
  std::string create(const sched::EvalResult& result, const sched::CreatedEval& created) override;

 private:
  bool evaluate(const model::Evaluation& eval);  // false: it is given back (R-SCHED-5)
  void cancel(const std::string& id);
  void give_up(const model::Evaluation& eval);

  LifeWatch& watch_;
  std::function<std::string()> next_id_;
  Draw draw_;  // jitter
  std::int64_t now_;
  tables::StateStore store_;
  fsm::StateLog log_;
  fsm::Requests requests_;
  plan::Applier applier_;
  plan::ApplyResult applied_;
  sched::Scratch scratch_;
  sched::GenericScheduler generic_{scratch_};
  sched::SystemScheduler system_{scratch_};
  sched::IdStream ids_;
  model::Evaluation eval_;  // under way
  int submitted_ = 0;       // plans of it
  std::deque<tables::SnapshotRef> refreshed_;
  LifeQueue queue_;
  std::vector<std::string> nodes_to_evaluate_;
};

}  // namespace berth::conform
