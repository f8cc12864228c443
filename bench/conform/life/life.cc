#include "conform/life/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conform/life/life_events.h"
#include "conform/life/life_part.h"
#include "conform/life/life_queue.h"
#include "conform/life/life_rest.h"
#include "conform/life/life_ways.h"
#include "living/invariants.h"
#include "sched/to_model.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

using base::kSecond;
using tables::kNoRow;

/// One simulation: draws events, lets the server work, and checks.
class Life final : public LifeWatch {
 public:
  Life(const LifeOptions& options, StepDraws draws)
      : options_(options),
        step_draws_(std::move(draws)),
        draw_(options.seed, "life"),
        server_(first_cluster(), options, *this),
        events_(draw_, server_, *this),
        ways_(options.seed, server_.server(), [this](std::string text) { problem(std::move(text)); }) {
    tell(fmt::format("{} nodes", server_.state().nodes.size()));
  }

  LifeReport run() {
    for (const int step : steps_of(options_)) {
      if (has_problems() || !step_draws_.begin(step, draw_)) break;
      ++report_.steps;
      server_.wait(static_cast<std::int64_t>(1 + draw_.below(40)) * kSecond);
      events_.happen(step < 2);
      server_.evaluate_all();
      if (!has_problems()) report_.at_rest += check_rest(server_, ledger_, events_.any_job(), *this);
    }
    report_.twice = ways_.twice();
    report_.simulated_ns = server_.now() - start_;
    return std::move(report_);
  }

  /// After run().
  [[nodiscard]] const StepDraws& step_draws() const { return step_draws_; }

  void tell(std::string event) override { report_.events.push_back(std::move(event)); }
  void problem(std::string text) override { report_.problems.push_back(std::move(text)); }
  [[nodiscard]] bool has_problems() const override { return !report_.problems.empty(); }

  void evaluating(const tables::Snapshot& snapshot, const sched::EvalFacts& facts,
                  const model::Evaluation& eval) override {
    ++report_.evaluations;
    if (options_.before_evaluation) options_.before_evaluation(server_.server());
    ways_.check(snapshot, facts, eval);
  }

  void planned(const sched::EvalResult& result) override {
    ++report_.plans;
    if (options_.on_commit) {  // exported while the state is the one of the decision
      const server::Lane& lane = server_.server().lane();
      plan_ = sched::to_model({*result.state, lane.scratch}, result, stored_eval(server_.state(), *lane.record),
                              server_.now());
    }
    events_.interfere(result);
    if (options_.on_commit) before_ = server_.log().state();
  }

  void committed(const Committed& c) override;

  void evaluated(const server::EvalRecord& eval) override { ledger_.settle(eval); }

 private:
  model::ClusterState first_cluster() {
    model::ClusterState state = draw_cluster(draw_);
    report_.nodes = state.nodes.size();
    leave_out_nodes(options_, state.nodes);
    return state;
  }

  LifeOptions options_;
  StepDraws step_draws_;
  LifeReport report_;
  LifeLedger ledger_;
  model::ClusterState before_;  // state before the present commit; only for on_commit
  model::Plan plan_;
  Draw draw_;
  LifeServer server_;
  std::int64_t start_ = server_.now();
  LifeEvents events_;
  LifeWays ways_;
};

void Life::committed(const Committed& c) {
  const plan::PlanRows& rows = c.result.plan;
  const tables::JobKeyRow key = server_.store().job_key(c.eval.namespace_, c.eval.job_id);
  report_.count(rows, c.applied);
  ledger_.note(key, c.eval.type, rows, c.applied, c.after);
  tell(fmt::format("  plan of {} ({}): {} new, {} updated, {} stopped{}{}", c.eval.job_id, c.eval.triggered_by,
                   rows.allocs.size(), rows.updates.size(), rows.stops.size(),
                   rows.has_deployment ? ", deployment" : "",
                   c.applied.rejected_nodes.empty() ? "" : ", partly refused"));
  for (const std::string& reason : c.applied.reasons) tell("    refused: " + reason);

  living::Problems& problems = report_.problems;
  living::check_commit(c.after, rows, c.applied, server_.store(), problems);
  living::check_change(c.before, c.after, problems);
  living::check_state(c.after, c.before.index, ledger_.exceptions, problems);
  living::check_summaries(c.after, server_.log(), ledger_.exceptions, problems);
  if (options_.on_commit && problems.empty())
    problems = options_.on_commit(
        {before_, plan_, c.eval, c.index, server_.now(), c.applied, c.after, server_.log(), options_.decisions.quirks});
}

}  // namespace

void LifeReport::count(const plan::PlanRows& plan, const plan::ApplyResult& applied) {
  for (const plan::PlannedStop& stop : plan.stops) ++(stop.evict ? preemptions : stops);
  allocations += plan.allocs.size();
  updates += plan.updates.size();
  deployments += plan.has_deployment;
  refused_plans += !applied.rejected_nodes.empty();
}

LifeReport run_life(const LifeOptions& options) {
  return run_or_part(options, [](const LifeOptions& of, StepDraws draws) { return Life(of, std::move(draws)); });
}

}  // namespace berth::conform
