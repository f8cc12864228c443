#include "sched/dry_run.h"

#include <algorithm>
#include <set>

#include "model/periodic/cron.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "model/update/diff_annotations.h"
#include "model/update/job_diff.h"
#include "model/update/spec_changed.h"
#include "plan/apply.h"
#include "sched/scheduler.h"

namespace berth::sched {

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

}  // namespace

bool DryRunAnswer::changes_allocs() const {
  if (diff["Type"].as_string() == "None") return false;
  return std::any_of(annotations.desired_tg_updates.begin(), annotations.desired_tg_updates.end(), [](const auto& of) {
    const model::DesiredUpdates& u = of.second;
    return u.stop + u.place + u.migrate + u.destructive_update + u.canary > 0;
  });
}

/// Takes the plan down and commits nothing (R-SCHED-45).
class DryRun::Recorder final : public Planner {
 public:
  Recorder(const model::Evaluation& eval, std::int64_t now, const Scratch& scratch, tables::StateStore& store,
           DryRunAnswer& answer)
      : eval_(eval), now_(now), scratch_(scratch), applier_(store), answer_(answer) {}
  Submission submit(const EvalResult& result) override {
    ++plans_;
    answer_.plan = to_model({*result.state, scratch_}, result, eval_, now_);
    answer_.refusals.clear();
    for (const plan::NodeRefusal& refused : applier_.check_nodes(*result.state, result.plan))
      answer_.refusals.push_back({base::to_text(result.state->nodes.id(refused.node)),
                                  node_name(*result.state, refused.node),
                                  refused.error.empty() ? refused.reason : refused.error});
    Submission out;
    out.stored = false;
    return out;
  }
  std::string create(const EvalResult& result, const CreatedEval& created) override {
    answer_.created.push_back(created_eval({*result.state, scratch_}, result, created, eval_, now_));
    return {};
  }
  [[nodiscard]] std::uint32_t plans() const { return plans_; }

 private:
  const model::Evaluation& eval_;
  const std::int64_t now_;
  const Scratch& scratch_;
  plan::Applier applier_;  // asked only
  DryRunAnswer& answer_;
  std::uint32_t plans_ = 0;
};

/// Hands plans to the applier and answers with the state after it.
class DryRun::Applying final : public Planner {
 public:
  Applying(const model::Evaluation& eval, std::int64_t now, const Scratch& scratch, fsm::StateLog& log,
           std::uint32_t plans_max, Rehearsal& out)
      : eval_(eval),
        now_(now),
        scratch_(scratch),
        log_(log),
        applier_(log.store(), scratch.options.quirks),
        plans_max_(plans_max),
        out_(out) {
    applier_.keep_records(log);
  }

  Submission submit(const EvalResult& result) override {
    Submission answer;
    if (out_.plans == plans_max_) {
      out_.end = Rehearsal::End::endless;
      answer.error = "no end in sight";
      return answer;
    }
    ++out_.plans;
    const auto deployment = planned_deployment({*result.state, scratch_}, result, eval_, now_);
    plan::CommitFacts facts;
    facts.index = log_.next_index();
    facts.all_at_once = result.plan.job != kNoRow && result.state->jobs.versions[result.plan.job]->spec->all_at_once;
    facts.now_ns = now_;
    facts.eval = base::parse_uuid(eval_.id).value_or(base::Uuid{});
    facts.deployment = deployment ? &*deployment : nullptr;
    applier_.apply(result.plan, facts, applied_);
    answer.error = applied_.error;
    if (!answer.error.empty()) return answer;
    for (const PlannedAlloc& alloc : result.plan.allocs) out_.placed += log_.store().find_alloc(alloc.id) != kNoRow;
    if (applied_.rejected_nodes.empty()) return answer;  // nobody stops the job meanwhile
    ++out_.refused;
    out_.refusals.clear();
    const tables::Snapshot& now = log_.store().current();
    for (std::size_t i = 0; i < applied_.rejected_nodes.size(); ++i) {
      const tables::NodeRow row = applied_.rejected_nodes[i];
      out_.refusals.push_back({base::to_text(now.nodes.id(row)), node_name(now, row), applied_.reasons[i]});
    }
    answer.refused_nodes = applied_.rejected_nodes;
    states_.push_back(log_.store().snapshot());
    answer.refreshed = &*states_.back();
    return answer;
  }
  std::string create(const EvalResult&, const CreatedEval& created) override {
    out_.blocked += created.followup == nullptr;
    return {};
  }

 private:
  const model::Evaluation& eval_;
  const std::int64_t now_;
  const Scratch& scratch_;
  fsm::StateLog& log_;
  plan::Applier applier_;
  plan::ApplyResult applied_;
  const std::uint32_t plans_max_;
  Rehearsal& out_;
  std::vector<tables::SnapshotRef> states_;
};

DryRun::DryRun(const model::ClusterState& state, const model::Registration& registration, std::int64_t now_ns)
    : state_(state), stored_(find_job(state, *registration.job)), now_ns_(now_ns) {
  store_.load(state);
  instead(registration);
}

void DryRun::instead(const model::Registration& registration) {
  submitted_ = job_ = registration.job;
  warnings_ = model::warnings_text(registration.warnings);
  scratch_.options = registration.options;
  index_ = 0;
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
  store_.upsert_job(job_, true);
  snapshot_ = store_.snapshot();
}

model::Evaluation DryRun::evaluation(std::uint64_t order) const {
  model::Evaluation eval;
  eval.id = base::to_text(IdStream(order).next());
  eval.namespace_ = job_->namespace_;
  eval.priority = job_->priority;
  eval.type = job_->type;
  eval.triggered_by = "job-register";
  eval.job_id = job_->id;
  eval.job_modify_index = changed_ && stored_ ? index_ : 0;
  eval.status = "pending";
  eval.annotate_plan = true;
  eval.create_time = eval.modify_time = now_ns_;
  return eval;
}

void DryRun::process(const tables::Snapshot& state, const model::Evaluation& eval, Planner& planner, std::uint64_t seed,
                     EvalResult& result) {
  EvalFacts facts = facts_of(eval, store_.find_job_key(eval.namespace_, eval.job_id), now_ns_);
  facts.node_order = seed;
  IdStream ids(~seed);
  Scheduler(scratch_).process(state, facts, rank::OrderProvider::nomad, ids, planner, result);
}

DryRunAnswer DryRun::decide(std::uint64_t order) {
  DryRunAnswer out;
  const model::Evaluation eval = evaluation(order);
  EvalResult result;
  Recorder recorder(eval, now_ns_, scratch_, store_, out);
  process(*snapshot_, eval, recorder, order, result);
  if (result.status == EvalStatus::error)
    out.error = result.description;
  else if (recorder.plans() != 1)
    out.error = "scheduler resulted in an unexpected number of plans: " + std::to_string(recorder.plans());
  else if (result.reblocked)
    out.error = "scheduler resulted in an unexpected number of eval updates: 0";
  if (!out.error.empty()) return out;
  out.failed = updated_eval({*result.state, scratch_}, result, eval).failed_tg_allocs;
  // The failures of a blocked evaluation are those of the evaluation itself, also what came after it was created.
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
  if (job_->periodic) out.next_launch = model::next_launch(*job_->periodic, base::Time{now_ns_});
  auto diff = model::job_diff(stored_.get(), submitted_.get());
  if (!diff) {
    out.error = diff.error();
    return out;
  }
  out.diff = std::move(*diff);
  if (auto done = model::write_annotations(out.diff, out.annotations.desired_tg_updates); !done)
    out.error = done.error().problem;
  return out;
}

Rehearsal DryRun::rehearse(std::uint64_t order, std::uint32_t plans_max) {
  Rehearsal out;
  snapshot_.reset();
  fsm::StateLog log(store_, scratch_.options.quirks);
  model::ClusterState state = state_;
  if (changed_) {
    std::erase(state.jobs, stored_);
    state.jobs.push_back(job_);
    state.job_versions.push_back(job_);
    state.index = std::max(state.index, index_);
  }
  log.load(state);
  model::Evaluation eval = evaluation(order);
  eval.annotate_plan = false;
  fsm::Hooks hooks;
  if (const std::string error = log.apply(log.next_index(), std::vector{eval}, hooks); !error.empty()) {
    out.end = Rehearsal::End::failed;
    out.description = error;
    return out;
  }
  EvalResult result;
  {
    Applying planner(eval, now_ns_, scratch_, log, plans_max, out);
    const tables::SnapshotRef before = store_.snapshot();
    process(*before, eval, planner, order, result);
    if (out.end != Rehearsal::End::endless && result.status != EvalStatus::complete) {
      out.end = Rehearsal::End::failed;
      out.description = result.description;
    }
  }
  snapshot_ = store_.snapshot();
  return out;
}

void DryRun::pass_over(const std::vector<std::string>& groups) {
  scratch_.passed_over.clear();
  for (const std::string& group : groups) scratch_.passed_over.push_back(store_.symbols().intern(group));
  std::sort(scratch_.passed_over.begin(), scratch_.passed_over.end());
}

void DryRun::configure(const std::optional<model::SchedulerConfiguration>& config) {
  snapshot_.reset();
  store_.set_scheduler_config(config ? config : state_.scheduler_config);
  snapshot_ = store_.snapshot();
}

void DryRun::set_eligible(tables::NodeRow row, bool eligible) {
  const tables::NodeTable& nodes = store_.current().nodes;
  store_.set_node_state(row, nodes.status(row), eligible, (nodes.state[row] & tables::kDraining) != 0);
}

bool DryRun::restrict_to(std::string_view node_id) {
  const tables::NodeRow row = store_.find_node(node_id);
  if (row == kNoRow) return false;
  snapshot_.reset();
  if (only_node_ == kNoRow) {
    for (tables::NodeRow other = 0; other < store_.current().nodes.size(); ++other)
      if (other != row && store_.current().nodes.exists(other) &&
          (store_.current().nodes.state[other] & tables::kEligible) != 0) {
        set_eligible(other, false);
        made_ineligible_.push_back(other);
      }
  } else if (only_node_ != row) {  // two nodes change places, the others stay as they are
    const auto was = std::find(made_ineligible_.begin(), made_ineligible_.end(), row);
    if (was != made_ineligible_.end()) set_eligible(row, true), made_ineligible_.erase(was);
    if ((store_.current().nodes.state[only_node_] & tables::kEligible) != 0) {
      set_eligible(only_node_, false);
      made_ineligible_.push_back(only_node_);
    }
  }
  only_node_ = row;
  snapshot_ = store_.snapshot();
  return true;
}

void DryRun::unrestrict() {
  if (only_node_ == kNoRow) return;
  snapshot_.reset();
  for (const tables::NodeRow other : made_ineligible_) set_eligible(other, true);
  made_ineligible_.clear();
  only_node_ = kNoRow;
  snapshot_ = store_.snapshot();
}

}  // namespace berth::sched
