#include "conform/life/life_server.h"

#include <fmt/format.h>

#include <utility>

#include "conform/life/life.h"
#include "conform/life/life_queue.h"
#include "model/job.h"

namespace berth::conform {

namespace {

constexpr std::int64_t kStart = 1'700'000'000 * base::kSecond;
constexpr int kEvaluationsMax = 400;  // in a row; more would be an endless chain

server::Config config_of(const LifeOptions& options) {
  server::Config out;
  out.options = options.decisions;
  out.sources = options.sources;
  out.seed = options.seed;
  out.retain = true;
  out.plans_max = 20;
  out.broker.evals = 1U << 12;  // each check of the queue reads every row
  out.broker.jobs = 64;
  return out;
}

}  // namespace

LifeServer::LifeServer(const model::ClusterState& state, const LifeOptions& options, LifeWatch& watch)
    : watch_(watch),
      server_((clock_.set(kStart), config_of(options)), clock_, this),
      nodes_(server_.log(), [this] { return base::to_text(server_.draw_id()); }) {
  server_.load(state);
  log().set_table_index(fsm::Table::nodes, 5);
}

void LifeServer::set_configuration(const model::SchedulerConfiguration& configuration) {
  const std::uint64_t index = log().next_index();
  tables::Commit commit = store().begin_commit(index);
  commit.set_scheduler_config(configuration);
  commit.raise_index();
  log().seen(index);
}

void LifeServer::ask(const model::Job& job, std::string_view trigger, base::Uuid id) {
  model::Evaluation eval;
  eval.id = base::to_text(id);
  eval.namespace_ = job.namespace_;
  eval.job_id = job.id;
  eval.type = job.type;
  eval.priority = job.priority;
  eval.triggered_by = trigger;
  eval.status = "pending";
  eval.create_time = eval.modify_time = now();
  write(std::vector<model::Evaluation>{std::move(eval)});
}

void LifeServer::evaluate_all() {
  server_.advance();
  std::uint64_t errors = server_.stats().errors;
  for (int left = kEvaluationsMax; !watch_.has_problems() && server_.step();) {
    if (std::exchange(errors, server_.stats().errors) != errors) {
      // R-CTRL-707: a plan of a system job made before its deployment's promotion; and plans that are always refused.
      const std::string& why = server_.lane().result.description;
      if (why == "deployment promotion cannot be undone" || why.ends_with(server::kPlansMaxReached))
        watch_.tell("  given back: " + why);
      else
        watch_.problem("an evaluation ended with: " + why);
    }
    Problems problems;
    living::check_queue(server_, problems);
    for (std::string& problem : problems) watch_.problem(std::move(problem));
    if (--left == 0) watch_.problem("evaluations continue for ever");
  }
}

// ---------------------------------------------------------------- listener

/// Checks that the views of other workers equal the state on which this one decides.
void LifeServer::compare_views() {
  ++attempts_;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (attempts_ % (std::uint64_t{1} << 2 * i) != 0) continue;
    static_cast<void>(store().bring_up(views_[i]));
    for (std::string& problem : tables::view_differences(views_[i].state(), state()))
      watch_.problem(std::move(problem));
    views_[i].release();
  }
}

void LifeServer::attempt(server::Lane& lane) {
  compare_views();
  if (lane.attempts > 1) return;
  const server::EvalRecord& eval = *lane.record;
  if (eval.wait_until_ns > now()) watch_.problem("R-CTRL-1735: " + base::to_text(eval.id) + " came before its time");
  watch_.evaluating(state(), lane.facts, stored_eval(state(), eval));
}

void LifeServer::decided(server::Lane& lane) {
  if (lane.plans > 0) watch_.planned(lane.result);
}

void LifeServer::applying(server::Lane&) {
  before_ = store().snapshot();
  index_ = log().next_index();
}

void LifeServer::applied(server::Lane& lane) {
  watch_.committed({*before_, state(), lane.result, stored_eval(state(), *lane.record), index_, lane.applied});
  before_.reset();
}

void LifeServer::failed(const server::EvalRecord& eval, std::string_view) {
  const model::Evaluation stored = stored_eval(state(), eval);
  watch_.tell(fmt::format("  gave up {} of {}", stored.triggered_by, stored.job_id));
}

}  // namespace berth::conform
