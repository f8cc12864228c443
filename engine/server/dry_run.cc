#include "server/dry_run.h"

#include <algorithm>

#include "base/json.h"
#include "fsm/scaling_policies.h"
#include "model/job.h"
#include "model/periodic/cron.h"
#include "model/update/diff_annotations.h"
#include "model/update/job_diff.h"
#include "model/update/spec_changed.h"
#include "sched/to_model.h"
#include "server/lane.h"
#include "tables/export.h"

namespace berth::server {

using tables::kNoRow;

namespace {

constexpr std::uint64_t kNewJobIndex = 100;  // R-SCHED-194

std::shared_ptr<const model::Job> find_job(const model::ClusterState& state, const model::Job& job) {
  for (const auto& stored : state.jobs)
    if (stored->id == job.id && stored->namespace_ == job.namespace_) return stored;
  return nullptr;
}

std::string node_name(const tables::Snapshot& tables, tables::NodeRow row) {
  if (row == kNoRow) return "";
  const std::string* name = tables.value_text(tables::kNameColumn, row);
  return name ? *name : "";
}

Refusal refusal_of(const tables::Snapshot& state, tables::NodeRow row, const std::string& reason) {
  // No row: a plan updates an allocation whose node the cluster does not have.
  return {row == kNoRow ? "" : base::to_text(state.nodes.id(row)), node_name(state, row), reason};
}

Config config_of(const model::Options& options) {
  Config out;
  out.options = options;
  out.broker.evals = out.broker.jobs = 1;  // nothing is ever queued
  return out;
}

/// Records the outcome of a served evaluation.
class Rehearsing final : public Listener {
 public:
  Rehearsing(std::uint64_t order, Rehearsal& out) : order_(order), out_(out) {}
  void attempt(Lane& lane) override { lane.facts.node_order = order_; }
  void applied(Lane& lane) override {
    const plan::ApplyResult& applied = lane.applied;
    out_.plans = lane.plans;
    if (!applied.error.empty()) return;
    out_.placed += lane.alloc_count;
    if (applied.rejected_nodes.empty()) return;
    ++out_.refused;
    out_.refusals.clear();
    for (std::size_t i = 0; i < applied.rejected_nodes.size(); ++i)
      out_.refusals.push_back(refusal_of(*lane.result.state, applied.rejected_nodes[i], applied.reasons[i]));
  }

 private:
  const std::uint64_t order_;
  Rehearsal& out_;
};

}  // namespace

bool DryRunAnswer::changes_allocs() const {
  if (diff["Type"].as_string() == "None") return false;
  return std::any_of(annotations.desired_tg_updates.begin(), annotations.desired_tg_updates.end(), [](const auto& of) {
    const model::DesiredUpdates& u = of.second;
    return u.stop + u.place + u.migrate + u.destructive_update + u.canary > 0;
  });
}

/// Records the plan and commits nothing (R-SCHED-45).
class DryRun::Recorder final : public sched::Planner {
 public:
  Recorder(Server& server, const model::Evaluation& eval, std::int64_t now, DryRunAnswer& answer)
      : server_(server), eval_(eval), now_(now), answer_(answer) {}
  sched::Submission submit(const sched::EvalResult& result) override {
    ++plans_;
    answer_.plan = sched::to_model(naming(result), result, eval_, now_);
    answer_.refusals.clear();
    for (const plan::NodeRefusal& refused : server_.applier().check_nodes(*result.state, result.plan))
      answer_.refusals.push_back(
          refusal_of(*result.state, refused.node, refused.error.empty() ? refused.reason : refused.error));
    sched::Submission out;
    out.stored = false;
    return out;
  }
  std::string create(const sched::EvalResult& result, const sched::CreatedEval& created) override {
    answer_.created.push_back(sched::created_eval(naming(result), result, created, eval_, now_));
    return {};
  }
  [[nodiscard]] std::uint32_t plans() const { return plans_; }
  [[nodiscard]] sched::Naming naming(const sched::EvalResult& result) const {
    return {*result.state, server_.lane().scratch};
  }

 private:
  Server& server_;
  const model::Evaluation& eval_;
  const std::int64_t now_;
  DryRunAnswer& answer_;
  std::uint32_t plans_ = 0;
};

DryRun::DryRun(const model::ClusterState& state, const model::Registration& registration, std::int64_t now_ns,
               const ScoringStrategy* strategy)
    : server_(config_of(registration.options), clock_), state_(state), stored_(find_job(state, *registration.job)) {
  clock_.set(now_ns);
  server_.load(state);
  if (strategy) score_by(*strategy);
  instead(registration);
}

void DryRun::instead(const model::Registration& registration) {
  submitted_ = job_ = registration.job;
  warnings_ = model::warnings_text(registration.warnings);
  server_.lane().scratch.options = registration.options;
  index_ = 0;
  if (stored_ && fsm::has_scaling(*job_)) {  // as a registration would (R-REG-430)
    auto job = std::make_shared<model::Job>(*job_);
    fsm::fill_policy_ids(
        stored_.get(), [] { return std::string(); }, *job);
    job_ = job;
  }
  changed_ = !stored_ || model::spec_changed(*stored_, *job_);
  snapshot_ = {};
  if (!changed_) {
    job_ = stored_;
  } else {  // R-SCHED-194, R-CTRL-736
    index_ = stored_ ? stored_->job_modify_index + 1 : kNewJobIndex;
    auto job = std::make_shared<model::Job>(*job_);
    job->modify_index = job->job_modify_index = index_;
    job->create_index = stored_ ? stored_->create_index : index_;
    if (stored_ && job->version <= stored_->version) job->version = stored_->version + 1;
    job_ = job;
  }
  server_.register_job(job_);
  snapshot_ = server_.store().snapshot();
}

model::Evaluation DryRun::evaluation(std::uint64_t order) const {
  model::Evaluation eval;
  sched::IdStream ids(order);
  do {  // a state that a dry run has been applied to already contains its evaluation
    eval.id = base::to_text(ids.next());
  } while (std::any_of(state_.evals.begin(), state_.evals.end(),
                       [&](const model::Evaluation& other) { return other.id == eval.id; }));
  eval.namespace_ = job_->namespace_;
  eval.priority = job_->priority;
  eval.type = job_->type;
  eval.triggered_by = "job-register";
  eval.job_id = job_->id;
  eval.job_modify_index = changed_ && stored_ ? index_ : 0;
  eval.status = "pending";
  eval.annotate_plan = true;
  eval.create_time = eval.modify_time = clock_.now_ns();
  return eval;
}

DryRunAnswer DryRun::decide(std::uint64_t order) {
  DryRunAnswer out;
  const model::Evaluation eval = evaluation(order);
  Recorder recorder(server_, eval, clock_.now_ns(), out);
  const NewEval asked{.id = *base::parse_uuid(eval.id),
                      .job = server_.store().find_job_key(job_->namespace_, job_->id),
                      .tag = order,
                      .node_order = order,
                      .annotate = true};
  server_.decide(asked, *snapshot_, server_.lane(), recorder);
  const sched::EvalResult& result = server_.lane().result;
  if (result.status == sched::EvalStatus::error)
    out.error = result.description;
  else if (recorder.plans() != 1)
    out.error = "scheduler resulted in an unexpected number of plans: " + std::to_string(recorder.plans());
  else if (result.reblocked)
    out.error = "scheduler resulted in an unexpected number of eval updates: 0";
  if (!out.error.empty()) return out;
  out.failed = sched::updated_eval(recorder.naming(result), result, eval).failed_tg_allocs;
  // A blocked evaluation reports the failures of the evaluation itself, including later ones.
  for (model::Evaluation& created : out.created)
    if (created.status == "blocked") created.failed_tg_allocs = out.failed;
  if (out.plan.annotations) out.annotations = *out.plan.annotations;
  out.job_modify_index = stored_ ? stored_->job_modify_index : 0;
  return out;
}

DryRunAnswer DryRun::answer(std::uint64_t order) {
  DryRunAnswer out = decide(order);
  if (!out.error.empty()) return out;
  out.warnings = warnings_;
  if (job_->periodic) out.next_launch = model::next_launch(*job_->periodic, base::Time{clock_.now_ns()});
  auto diff = model::job_diff(stored_.get(), submitted_.get());
  if (!diff) {
    out.error = diff.error();
    return out;
  }
  out.diff = std::move(*diff);
  if (auto done = model::write_annotations(out.diff.own(), out.annotations.desired_tg_updates); !done)
    out.error = done.error().problem;
  return out;
}

Rehearsal DryRun::rehearse(std::uint64_t order, model::ClusterState* after) const {
  Rehearsal out;
  model::ClusterState state = state_;
  if (changed_) {
    std::erase(state.jobs, stored_);
    state.jobs.push_back(job_);
    state.job_versions.push_back(job_);
    state.index = std::max(state.index, index_);
  }
  Config config;
  config.options = options();
  config.retain = true;
  config.evaluate_evicted = false;  // they would not be served
  config.plans_max = kPlansMax;
  config.broker.jobs = static_cast<std::uint32_t>(state.jobs.size() + state.job_versions.size() + state.allocs.size() +
                                                  state.evals.size() + state.deployments.size());
  Rehearsing listener(order, out);
  Server server(config, clock_, &listener);
  server.load(state);
  if (strategy_) strategy_->use_in(server.lane().scratch.strategy_fit);
  model::Evaluation eval = evaluation(order);
  eval.annotate_plan = false;
  out.description = server.write(std::vector{eval});
  if (after) *after = state;
  if (!out.description.empty() || !server.step()) {
    out.end = Rehearsal::End::failed;
    return out;
  }
  const sched::EvalResult& result = server.lane().result;
  if (server.lane().plans > kPlansMax) {
    out.end = Rehearsal::End::endless;
  } else if (result.status != sched::EvalStatus::complete) {
    out.end = Rehearsal::End::failed;
    out.description = result.description;
  }
  out.blocked = static_cast<std::uint32_t>(server.stats().blocked);
  if (const tables::StoredEvalRow row = server.store().find_eval(eval.id); row != kNoRow)
    if (const auto stored = server.store().current().eval(row))
      for (const auto& [group, metric] : stored->failed_tg_allocs) out.failed.insert(group);
  if (after) *after = tables::to_cluster(server.store().current());
  return out;
}

const model::Options& DryRun::options() const { return server_.lane().scratch.options; }

void DryRun::pass_over(const std::vector<std::string>& groups) {
  auto& passed_over = server_.lane().scratch.passed_over;
  passed_over.clear();
  for (const std::string& group : groups) passed_over.push_back(server_.store().symbols().intern(group));
  std::sort(passed_over.begin(), passed_over.end());
}

void DryRun::score_by(const ScoringStrategy& strategy) {
  strategy_ = &strategy;
  strategy.use_in(server_.lane().scratch.strategy_fit);
}

void DryRun::configure(const std::optional<model::SchedulerConfiguration>& config) {
  snapshot_.reset();
  server_.store().set_scheduler_config(config ? config : state_.scheduler_config);
  snapshot_ = server_.store().snapshot();
}

void DryRun::set_eligible(tables::NodeRow row, bool eligible) {
  const tables::NodeTable& nodes = server_.store().current().nodes;
  server_.store().set_node_state(row, nodes.status(row), eligible, (nodes.state[row] & tables::kDraining) != 0);
}

bool DryRun::restrict_to(std::string_view node_id) {
  const tables::NodeRow row = server_.store().find_node(node_id);
  if (row == kNoRow) return false;
  snapshot_.reset();
  forget_supposed();
  if (only_node_ == kNoRow) {
    for (tables::NodeRow other = 0; other < server_.store().current().nodes.size(); ++other)
      if (other != row && server_.store().current().nodes.exists(other) &&
          (server_.store().current().nodes.state[other] & tables::kEligible) != 0) {
        set_eligible(other, false);
        made_ineligible_.push_back(other);
      }
  } else if (only_node_ != row) {  // two nodes swap; the others stay unchanged
    const auto was = std::find(made_ineligible_.begin(), made_ineligible_.end(), row);
    if (was != made_ineligible_.end()) set_eligible(row, true), made_ineligible_.erase(was);
    if ((server_.store().current().nodes.state[only_node_] & tables::kEligible) != 0) {
      set_eligible(only_node_, false);
      made_ineligible_.push_back(only_node_);
    }
  }
  only_node_ = row;
  snapshot_ = server_.store().snapshot();
  return true;
}

bool DryRun::suppose_ready(std::string_view node_id) {
  const tables::NodeRow row = server_.store().find_node(node_id);
  if (row == kNoRow) return false;
  const tables::NodeTable& nodes = server_.store().current().nodes;
  if (nodes.ready(row)) return true;
  supposed_.emplace_back(row, nodes.state[row]);
  snapshot_.reset();
  server_.store().set_node_state(row, tables::NodeStatus::ready, true, false);
  snapshot_ = server_.store().snapshot();
  return true;
}

void DryRun::forget_supposed() {
  for (; !supposed_.empty(); supposed_.pop_back()) {
    const auto [row, bits] = supposed_.back();
    server_.store().set_node_state(row, static_cast<tables::NodeStatus>(bits & tables::kStatusMask),
                                   (bits & tables::kEligible) != 0, (bits & tables::kDraining) != 0);
  }
}

void DryRun::unrestrict() {
  if (only_node_ == kNoRow && supposed_.empty()) return;
  snapshot_.reset();
  forget_supposed();
  for (const tables::NodeRow other : made_ineligible_) set_eligible(other, true);
  made_ineligible_.clear();
  only_node_ = kNoRow;
  snapshot_ = server_.store().snapshot();
}

}  // namespace berth::server
