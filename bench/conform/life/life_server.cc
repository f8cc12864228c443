#include "conform/life/life_server.h"

#include <fmt/format.h>

#include <utility>

#include "model/predicates.h"
#include "sched/to_model.h"

namespace berth::conform {

using base::kSecond;
using tables::AllocRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

constexpr std::int64_t kStart = 1'700'000'000 * kSecond;
constexpr int kEvaluationsMax = 400;  // in a row; more would be a chain that feeds itself

/// R-SCHED-10: a plan that is refused in part for the same reason every time, yet counts as progress, is made anew
/// without end. A worker's evaluation would time out then.
constexpr int kSubmissionsMax = 20;
constexpr const char* kGivesUp = "refused again and again";

base::Uuid uuid_of(const std::string& id) { return base::parse_uuid(id).value_or(base::Uuid{}); }

}  // namespace

LifeServer::LifeServer(const model::ClusterState& state, const model::Options& options, std::uint64_t seed,
                       std::function<std::string()> next_id, LifeWatch& watch)
    : watch_(watch),
      next_id_(std::move(next_id)),
      draw_(seed, "server"),
      now_(kStart),
      log_(store_, options.quirks),
      requests_(log_, next_id_, options.strict_ready_updates),
      applier_(store_, options.quirks),
      ids_(seed),
      queue_(store_, options.quirks) {
  scratch_.options = options;
  store_.load(state);
  log_.load(state);
  applier_.keep_records(log_);
  log_.set_table_index(fsm::Table::nodes, 5);
}

// ---------------------------------------------------------------- writing

void LifeServer::upsert_node(const model::Node& node) {
  const std::uint64_t index = log_.next_index();
  model::Node stored = node;
  stored.modify_index = index;
  store_.begin_commit(index).upsert_node(stored);
  log_.seen(index);
  if (stored.status == "ready" && stored.scheduling_eligibility == "eligible")
    take({{fsm::HookKind::unblock, nullptr, {}, stored.computed_class, index}});
}

void LifeServer::remove_node(NodeRow node) {
  const std::string id = base::to_text(state().nodes.id(node));
  const std::uint64_t index = log_.next_index();
  store_.begin_commit(index).remove_node(node);
  log_.seen(index);
  ask_for_node(id, "node-update");
}

void LifeServer::set_configuration(const model::SchedulerConfiguration& configuration) {
  const std::uint64_t index = log_.next_index();
  tables::Commit commit = store_.begin_commit(index);
  commit.set_scheduler_config(configuration);
  commit.raise_index();
  log_.seen(index);
}

void LifeServer::ask(const model::Job& job, std::string_view trigger, const std::string& node) {
  model::Evaluation eval;
  eval.id = next_id_();
  eval.namespace_ = job.namespace_;
  eval.job_id = job.id;
  eval.type = job.type;
  eval.priority = job.priority;
  eval.triggered_by = trigger;
  eval.node_id = node;
  eval.status = "pending";
  eval.create_time = eval.modify_time = now_;
  write(std::vector<model::Evaluation>{eval});
}

void LifeServer::ask_for_node(const std::string& node_id, std::string_view trigger) {
  const NodeRow row = store_.find_node(node_id);
  const tables::JobTable& jobs = state().jobs;
  const tables::AllocTable& allocs = state().allocs;
  for (tables::JobKeyRow key = 0; key < jobs.keys.size(); ++key) {
    const auto job = jobs.objects[key];
    if (!job) continue;
    bool concerned = job->type == "system" || job->type == "sysbatch";
    for (AllocRow a = jobs.keys[key].alloc_head; a != tables::kNoRow && !concerned; a = allocs.next_of_job[a])
      concerned = allocs.node[a] == row;
    if (concerned) ask(*job, trigger, node_id);
  }
}

// ---------------------------------------------------------------- evaluations

void LifeServer::evaluate_all() {
  queue_.advance(now_);
  int left = kEvaluationsMax;
  const auto cancel_duplicates = [&] {
    for (const std::string& id : queue_.take_cancelled()) cancel(id);
  };
  for (cancel_duplicates(); !watch_.has_problems();) {
    const auto delivery = queue_.next(now_);
    if (!delivery) break;
    queue_.set_token(delivery->row, delivery->token);
    const auto eval = log_.eval(delivery->eval_id);
    if (!eval || model::is_terminal_evaluation(eval->status)) {
      queue_.ack(*delivery, now_);
      continue;
    }
    if (eval->wait_until.ns > now_) watch_.problem("R-CTRL-1735: " + eval->id + " came before its time");
    bool done = true;
    if (delivery->failed)
      give_up(*eval);
    else
      done = evaluate(*eval);
    if (done)
      queue_.ack(*delivery, now_);
    else
      queue_.nack(*delivery, now_);
    for (const std::string& node : std::exchange(nodes_to_evaluate_, {})) ask_for_node(node, "node-update");
    cancel_duplicates();
    Problems problems;
    queue_.check(state(), problems);
    for (std::string& problem : problems) watch_.problem(std::move(problem));
    if (--left == 0) watch_.problem("evaluations go on for ever");
  }
}

void LifeServer::cancel(const std::string& id) {
  const auto eval = log_.eval(id);
  if (!eval || model::is_terminal_evaluation(eval->status)) return;
  model::Evaluation cancelled = *eval;
  cancelled.status = "canceled";
  cancelled.status_description = "cancelled after more recent eval was processed";
  cancelled.modify_time = now_;
  write(std::vector<model::Evaluation>{cancelled});
}

/// R-SCHED-21.
void LifeServer::give_up(const model::Evaluation& eval) {
  model::Evaluation failed = eval, followup;
  failed.status = "failed";
  failed.status_description = "evaluation reached delivery limit (3)";
  failed.modify_time = now_;
  std::vector<model::Evaluation> written;
  if (log_.job(eval.namespace_, eval.job_id)) {
    followup.id = failed.next_eval = next_id_();
    followup.namespace_ = eval.namespace_, followup.job_id = eval.job_id;
    followup.type = eval.type, followup.priority = eval.priority;
    followup.job_modify_index = eval.job_modify_index;
    followup.triggered_by = "failed-follow-up";
    followup.previous_eval = eval.id;
    followup.status = "pending";
    followup.wait = 60 * kSecond + static_cast<std::int64_t>(draw_.below(300)) * kSecond;
    followup.create_time = followup.modify_time = now_;
    written.push_back(followup);
  }
  written.push_back(failed);
  watch_.tell(fmt::format("  gave up {} of {}", eval.triggered_by, eval.job_id));
  write(written);
}

sched::EvalFacts LifeServer::facts_of(const model::Evaluation& eval) {
  return sched::facts_of(eval, store_.job_key(eval.namespace_, eval.job_id), now_);
}

void LifeServer::schedule(const Snapshot& snapshot, const sched::EvalFacts& facts, const std::string& type,
                          sched::Planner& planner, sched::EvalResult& result) {
  if (type == "system" || type == "sysbatch")
    system_.process(snapshot, facts, ids_, planner, result);
  else
    generic_.process(snapshot, facts, rank::OrderProvider::nomad, ids_, planner, result);
}

bool LifeServer::evaluate(const model::Evaluation& eval) {
  submitted_ = 0;
  eval_ = eval;
  const sched::EvalFacts facts = facts_of(eval_);
  const tables::SnapshotRef snapshot = store_.snapshot();
  watch_.evaluating(*snapshot, facts, eval_);
  if (watch_.has_problems()) return false;
  sched::EvalResult result;
  schedule(*snapshot, facts, eval.type, *this, result);
  // R-CTRL-707: a plan of a system job made before its deployment's promotion; the worker gives the evaluation back.
  if (result.description == "deployment promotion cannot be undone" || result.description == kGivesUp) {
    watch_.tell("  given back: " + result.description);
    return false;
  }
  if (result.status == sched::EvalStatus::error) {
    watch_.problem("evaluation of " + eval.job_id + ": " + result.description);
    return false;
  }
  const sched::Naming naming{*result.state, scratch_};
  model::Evaluation done =
      result.reblocked ? sched::reblocked_eval(naming, result, eval_) : sched::updated_eval(naming, result, eval_);
  done.modify_time = now_;
  done.snapshot_index = result.state->index;  // R-CTRL-235
  write(std::vector<model::Evaluation>{done});
  watch_.evaluated(facts.job, done);
  refreshed_.clear();
  return true;
}

sched::Submission LifeServer::submit(const sched::EvalResult& result) {
  sched::Submission out;
  if (++submitted_ > kSubmissionsMax) {
    out.error = kGivesUp;
    return out;
  }
  watch_.planned(result);
  const sched::Naming naming{*result.state, scratch_};
  const model::Plan plan = to_model(naming, result, eval_, now_);
  const auto deployment = planned_deployment(naming, result, eval_, now_);
  const tables::SnapshotRef before = store_.snapshot();
  plan::CommitFacts facts;
  facts.index = log_.next_index();
  facts.all_at_once = plan.all_at_once;
  facts.now_ns = now_;
  facts.eval = uuid_of(eval_.id);
  facts.deployment = deployment ? &*deployment : nullptr;
  applier_.apply(result.plan, facts, applied_);
  log_.seen(facts.index);
  watch_.committed({*before, state(), result, plan, eval_, facts, applied_});

  for (const tables::JobKeyRow key : applied_.preempted_jobs) ask(*state().jobs.objects[key], "preemption");
  out.error = applied_.error;
  out.nothing_committed = facts.all_at_once && !applied_.rejected_nodes.empty();
  out.refused_nodes = applied_.rejected_nodes;
  out.placements_refused = applied_.placements_refused;
  if (applied_.refresh_index != 0) out.refreshed = &*refreshed_.emplace_back(store_.snapshot());
  return out;
}

std::string LifeServer::create(const sched::EvalResult& result, const sched::CreatedEval& created) {
  model::Evaluation eval = created_eval({*result.state, scratch_}, result, created, eval_, now_);
  eval.snapshot_index = result.state->index;  // R-CTRL-235
  write(std::vector<model::Evaluation>{eval});
  return {};
}

}  // namespace berth::conform
