#include "sched/generic.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/stages.h"
#include "base/text.h"
#include "model/job.h"
#include "model/names.h"
#include "model/predicates.h"
#include "sched/check_memory.h"
#include "sched/in_place.h"
#include "sched/stream_ids.h"

namespace berth::sched {

using reconcile::ClusterResult;
using tables::CompiledGroup;
using tables::CompiledJob;
using tables::Description;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

/// Triggers that service and batch jobs accept (R-SCHED-3).
bool accepts(std::string_view trigger) {
  static constexpr std::string_view kAccepted[] = {"job-register",
                                                   "job-deregister",
                                                   "node-drain",
                                                   "node-update",
                                                   "alloc-stop",
                                                   "rolling-update",
                                                   "queued-allocs",
                                                   "deployment-watcher",
                                                   "failed-follow-up",
                                                   "preemption",
                                                   "job-scaling",
                                                   "reconnect",
                                                   "periodic-job",
                                                   "alloc-reschedule",
                                                   "alloc-failure",
                                                   "max-plan-attempts",
                                                   "max-disconnect-timeout"};
  return std::find(std::begin(kAccepted), std::end(kAccepted), trigger) != std::end(kAccepted);
}

constexpr std::uint32_t kServiceAttempts = 5, kBatchAttempts = 2;  // R-SCHED-6

Description description_of(std::string_view text) {
  static constexpr Description kAll[] = {Description::not_needed, Description::reconnected, Description::migrating,
                                         Description::updating,   Description::lost,        Description::rescheduled};
  const auto* const at =
      std::find_if(std::begin(kAll), std::end(kAll), [&](Description d) { return to_text(d) == text; });
  BERTH_ASSERT(at != std::end(kAll));
  return *at;
}

/// The texts of the reconciler's updates of deployments (R-RECON-69 to 85), with static lifetime.
std::string_view status_text(const std::string& text) {
  static constexpr std::string_view kAll[] = {"cancelled",
                                              "successful",
                                              "blocked",
                                              "pending",
                                              "Cancelled because job is stopped",
                                              "Cancelled due to newer version of job",
                                              "Deployment completed successfully",
                                              "Deployment is complete but waiting for peer region",
                                              "Deployment is pending, waiting for peer region"};
  const auto* const at = std::find(std::begin(kAll), std::end(kAll), text);
  BERTH_ASSERT(at != std::end(kAll));
  return *at;
}

base::Uuid uuid(const std::string& text) { return base::parse_uuid(text).value_or(base::Uuid{}); }

}  // namespace

/// Decides between in-place and destructive update (R-SCHED-108 to 114).
class GenericScheduler::Updates final : public reconcile::UpdateJudge {
 public:
  explicit Updates(GenericScheduler& scheduler)
      : scheduler_(scheduler),
        check_(*scheduler.given_.state, *scheduler.job_, scheduler.quirks(), scheduler.scratch_.shapes) {}

  void judge(std::span<const std::uint32_t> positions, std::span<reconcile::UpdateKind> kinds) override {
    using reconcile::UpdateKind;
    const auto rows = scheduler_.allocs_.rows();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const tables::AllocRow row = rows[positions[i]];
      InPlaceCheck::Answer answer = InPlaceCheck::Answer::ignore;
      if (!check_.same_spec(row)) answer = check_.judge(row, scheduler_.stack_, scheduler_.given_.result->plan);
      kinds[i] = answer == InPlaceCheck::Answer::ignore     ? UpdateKind::ignore
                 : answer == InPlaceCheck::Answer::in_place ? UpdateKind::inplace
                                                            : UpdateKind::destructive;
      if (kinds[i] == UpdateKind::inplace) scheduler_.in_place_.emplace_back(check_.held(), check_.take_shape());
    }
  }

 private:
  GenericScheduler& scheduler_;
  InPlaceCheck check_;
};

// ---------------------------------------------------------------- the evaluation

void GenericScheduler::process(const Snapshot& snapshot, const EvalFacts& eval, rank::OrderProvider provider,
                               IdStream& ids, EvalResult& result) {
  NoPlanner planner;
  process(snapshot, eval, provider, ids, planner, result);
}

void GenericScheduler::process(const Snapshot& snapshot, const EvalFacts& eval, rank::OrderProvider provider,
                               IdStream& ids, Planner& planner, EvalResult& result) {
  const base::StageScope planning(base::Stage::plan);  // all time that no other stage claims
  result.clear();
  was_new_ = false;
  result.state = &snapshot;
  scratch_.arena.reset();
  if (!accepts(eval.triggered_by)) return refuse_trigger(eval, result);
  given_.state = &snapshot;
  given_.eval = &eval;
  given_.provider = provider;
  given_.ids = &ids;
  given_.result = &result;
  written_followups_.clear();
  gang_.limited = false;

  const bool served = run_attempts(is_of_batch(eval.type) ? kBatchAttempts : kServiceAttempts, result,
                                   [&] { return attempt(planner); });
  assert_worker_memory(*result.state, scratch_);
  if (result.status == EvalStatus::error) return;
  if (!served && (quirks().second_blocked_eval || !result.has_blocked)) {  // R-SCHED-17; or the existing one stays
    write_eligibility();
    result.blocked_id = ids.next();
    const std::string error =
        create_blocked(planner, result, result.blocked_id, "max-plan-attempts", "created due to placement conflicts");
    result.has_blocked = true;
    if (!error.empty()) result.status = EvalStatus::error, result.description = error;
    if (error.empty() && !limit_gang(planner)) result.status = EvalStatus::error;
    return;
  }
  result.reblocked = eval.blocked && result.any_failed();  // R-SCHED-18
}

void GenericScheduler::complete_metrics(const EvalFacts& eval, rank::OrderProvider provider, EvalResult& result) {
  std::vector<PlannedAlloc>& allocs = result.plan.allocs;
  if (std::none_of(allocs.begin(), allocs.end(), [](const PlannedAlloc& a) { return a.metrics.deferred; })) return;
  EvalResult again;
  IdStream ids(0);  // IDs of a repeated attempt are discarded
  const bool deferred = std::exchange(settings_.defer_metrics, false);
  process(*result.state, eval, provider, ids, again);
  settings_.defer_metrics = deferred;
  BERTH_ASSERT(again.plan.allocs.size() == allocs.size() && again.groups.size() == result.groups.size());
  for (std::size_t i = 0; i < allocs.size(); ++i) {
    BERTH_ASSERT(again.plan.allocs[i].node == allocs[i].node);
    allocs[i].metrics = again.plan.allocs[i].metrics;
  }
  for (std::size_t g = 0; g < result.groups.size(); ++g) result.groups[g].failure = again.groups[g].failure;
}

void GenericScheduler::write_eligibility() {
  Eligibility& out = given_.result->eligibility;
  out.escaped = stack_.has_escaped();
  stack_.class_verdicts(out.classes);
  out.missing_resources = stack_.missing_resources();
  std::sort(out.missing_resources.begin(), out.missing_resources.end());
}

bool GenericScheduler::failed_to_process() {  // R-SCHED-5, R-FEAS-933
  if (stack_.error().empty()) return false;
  given_.result->description = "failed to process eval: " + stack_.error();
  return true;
}

AttemptEnd GenericScheduler::attempt(Planner& planner) {  // R-SCHED-38
  EvalResult& result = *given_.result;
  result.begin_attempt(*given_.state);
  const tables::JobKey& key = given_.state->jobs.keys[given_.eval->job];
  job_ = key.current == kNoRow ? nullptr : given_.state->jobs.versions[key.current].get();
  result.plan.job = key.current;
  reconciled_.followups.clear();
  stack_.start(*given_.state, result.plan);
  if (gang_is_over() || fails_again()) return AttemptEnd::done;
  // Also if nothing is placed: a blocked evaluation records whether the job's constraints escape (R-FEAS-408).
  if (job_ && !job_->stopped) {
    const base::StageScope ordering(base::Stage::order);
    stack_.set_job(*job_, config_for(*job_));
  }

  const bool is_new = job_ && key.alloc_head == kNoRow && key.deployment_head == kNoRow;
  was_new_ = is_new;
  const bool is_gang = job_ && job_->gang && !job_->stopped;
  const bool decided = is_gang ? place_gang(is_new) : plan_missing(is_new);
  result.port_collision_events += stack_.port_collision_events();
  if (!decided) return AttemptEnd::error;

  if (result.any_failed()) {
    write_eligibility();
    const bool may_wait = !reconciled_.followups.empty() && given_.eval->now_ns <= given_.eval->wait_until.ns;
    if (!given_.eval->blocked && !result.has_blocked && !may_wait) {  // R-SCHED-51
      result.blocked_id = given_.ids->next();
      result.description =
          create_blocked(planner, result, result.blocked_id, "queued-allocs", "created to place remaining allocations");
      if (!result.description.empty()) return AttemptEnd::error;
      result.has_blocked = true;
    }
    if (!limit_gang(planner)) return AttemptEnd::error;
  }
  result.plan.drop_taken_back();
  if (result.plan.is_no_op() && !given_.eval->annotate) {  // R-SCHED-39
    if (!is_gang || is_new) keep_failure();
    return AttemptEnd::done;
  }
  if (given_.eval->wait_until.is_zero())  // R-SCHED-54
    for (std::size_t i = 0; i < reconciled_.followups.size(); ++i) {
      CreatedEval created;
      created.id = result.plan.followups[i];
      created.followup = &reconciled_.followups[i].eval;
      result.next_eval = created.id;
      result.description = planner.create(result, created);
      if (!result.description.empty()) return AttemptEnd::error;
    }
  const AttemptEnd end = submit_plan(planner, given_.state, result, true);
  if (end != AttemptEnd::done) result.deployment_id = {};  // R-SCHED-43
  return end;
}

StackConfig GenericScheduler::config_for(const CompiledJob& job) const {
  StackConfig out = stack_config(*given_.state, job, given_.provider);
  out.exhaustive = settings_.exhaustive;
  out.defer_metrics = settings_.exhaustive && settings_.defer_metrics;
  out.sources = settings_.sources;
  return out;
}

/// Sets the stack's job version and, with `reload`, its candidates (R-SCHED-58, 70). `placements`: expected number of
/// Selects.
bool GenericScheduler::use_version(const CompiledJob& job, bool reload, std::size_t placements) {
  const base::StageScope ordering(base::Stage::order);
  stack_.set_job(job, config_for(job));
  if (!reload) return true;
  auto done = stack_.set_nodes(scratch_.ready_nodes(*given_.state, job.base_set), job.base_set, given_.eval->id_text,
                               placements);
  if (!done) given_.result->description = done.error().problem;
  return done.has_value();
}

// ---------------------------------------------------------------- a job without allocations

/// Plans what the reconciler would return for such a job, without calling it: every group's count, under a new
/// deployment if a group has an update strategy (R-RECON-205 to 208). On false, `result` holds an error.
bool GenericScheduler::place_new() {
  EvalResult& result = *given_.result;
  const CompiledJob& job = *job_;
  result.groups.reserve(job.groups.size());
  std::int64_t wanted = 0;
  for (const CompiledGroup& group : job.groups) {
    GroupResult& out = result.groups.emplace_back();
    out.name = group.name;
    out.in_job = true;
    if (!job.stopped && group.count > 0)
      out.updates.place = static_cast<std::uint64_t>(group.count), wanted += group.count;
  }
  if (!is_of_batch(given_.eval->type) && !job.stopped)
    for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
      const auto& update = job.groups[g].spec->update;
      if (job.groups[g].count <= 0 || !update || update->empty()) continue;
      if (result.deployment_id.is_nil()) result.deployment_id = given_.ids->next();
      result.deployment_groups.emplace_back(g, job.groups[g].count);
    }
  result.plan.has_deployment = !result.deployment_id.is_nil();
  result.plan.deployment_ids.front() = result.deployment_id;

  if (wanted == 0) {  // R-SCHED-50
    for (GroupResult& group : result.groups) group.has_queued = true;
    return true;
  }
  for (GroupResult& group : result.groups)
    if (group.updates.place > 0) group.has_queued = true, group.queued = static_cast<std::int64_t>(group.updates.place);

  if (!use_version(job, true, static_cast<std::size_t>(wanted))) return false;
  const base::StageScope placing(base::placing_stage());
  const bool may_evict = preempts(job);
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    GroupResult& group = result.groups[g];
    if (scratch_.passes_over(group.name)) continue;
    if (job.gang && result.any_failed()) break;
    for (std::uint32_t i = 0; i < group.updates.place; ++i) {
      if (group.failed) {  // R-SCHED-63
        group.coalesce(job.groups[g].spec, static_cast<std::int64_t>(group.updates.place) - i);
        break;
      }
      SelectOptions options;
      options.name_index = i;
      auto selected = select(g, options, kNoRow, may_evict);
      if (failed_to_process()) return false;
      if (selected) {
        stack_.placed(add_alloc(*selected, g, i));
        continue;
      }
      SelectMetrics metrics;
      stack_.take_metrics(metrics);
      group.fail(metrics, job.groups[g].spec);
    }
  }
  return true;
}

// ---------------------------------------------------------------- a job with allocations

void GenericScheduler::stop(std::uint32_t position, Description description, std::optional<tables::Client> client,
                            std::uint32_t followup) {
  std::vector<plan::PlannedStop>& stops = given_.result->plan.stops;
  plan::PlannedStop& out = stops.emplace_back();
  out.alloc = allocs_.rows()[position];
  out.description = description;
  out.client = client;
  out.followup = followup;
  stack_.stopped(static_cast<std::uint32_t>(stops.size() - 1));
}

/// Compares the job with its allocations (R-SCHED-46). On false, `given_.result` holds an error.
bool GenericScheduler::reconcile_job() {
  const base::StageScope reconciling(base::Stage::reconcile);
  EvalResult& result = *given_.result;
  deployment_ = is_of_batch(given_.eval->type) ? nullptr : latest_deployment(*given_.state, given_.eval->job);
  allocs_.read(*given_.state, given_.eval->job, deployment_ ? uuid(deployment_->id) : base::Uuid{});
  if (!quirks().followups_dangle) written_followups_.clear();
  for (const auto& [row, id] : written_followups_) allocs_.write_followup(row, base::to_text(id));

  finish_lost(*given_.state, allocs_, [&](std::uint32_t position) {  // R-SCHED-35
    stop(position, Description::lost, tables::Client::lost);
  });

  const tables::JobKey& key = given_.state->jobs.keys[given_.eval->job];
  reconcile::ClusterInput input;
  input.job =
      given_.state->jobs.objects[given_.eval->job].get();  // with its current ModifyIndex (R-RECON-152, R-CTRL-720)
  input.job_id = given_.state->text(key.job_id);
  input.is_batch = is_of_batch(given_.eval->type);
  input.disconnect_support = scratch_.options.disconnect_support;
  input.quirks = quirks();
  input.deployment = deployment_.get();
  input.allocs = allocs_.facts();
  input.slots = allocs_.slots();
  input.group_names = allocs_.group_names();
  input.eval_id = given_.eval->id_text;
  input.eval_priority = given_.eval->priority;
  input.now = given_.eval->now_ns;
  in_place_.clear();
  StreamIds ids(*given_.ids);
  if (job_) {
    Updates updates(*this);
    reconciled_ = reconciler_.run(input, updates, ids);
  } else {
    struct Never final : reconcile::UpdateJudge {
      void judge(std::span<const std::uint32_t>, std::span<reconcile::UpdateKind>) override { BERTH_ASSERT(false); }
    } never;  // without a job, allocations are only stopped
    reconciled_ = reconciler_.run(input, never, ids);
  }
  if (failed_to_process()) return false;
  apply_result();

  const ClusterResult& r = reconciled_;
  if (r.place.empty() && r.destructive_update.empty()) {  // R-SCHED-50
    if (job_)
      for (GroupResult& group : result.groups) group.has_queued = group.in_job;
    return true;
  }
  const auto queue = [&](std::uint32_t group) {
    result.groups[group].has_queued = true;
    ++result.groups[group].queued;
  };
  for (const auto& destructive : r.destructive_update) queue(destructive.group);
  for (const auto& place : r.place) queue(place.group);
  return place_all();
}

/// Puts the reconciler's lists into the plan (R-SCHED-47).
void GenericScheduler::apply_result() {
  EvalResult& result = *given_.result;
  PlanRows& plan = result.plan;
  ClusterResult& r = reconciled_;
  for (const ClusterResult::Group& group : r.groups) {
    GroupResult& out = result.groups.emplace_back();
    const auto names = allocs_.group_names();
    const auto at = std::find(names.begin(), names.end(), group.name);
    out.name = allocs_.groups()[static_cast<std::size_t>(at - names.begin())];
    out.in_job = job_ && group_position(*job_, out.name) != kNoRow;
    out.updates = group.updates;
  }
  for (const ClusterResult::Followup& followup : r.followups) plan.followups.push_back(uuid(followup.eval.id));
  apply_deployment();
  if (!names_followups()) r.attribute_updates.clear(), r.followups_in_alloc.clear();
  const auto rows = allocs_.rows();
  for (const ClusterResult::Update& update : r.followups_in_alloc)
    written_followups_.emplace_back(rows[update.row], plan.followups[static_cast<std::size_t>(update.followup)]);
  apply_stops();
  apply_updates();
}

/// A delayed evaluation creates no follow-ups (R-SCHED-54); Nomad still refers to them (R-SCHED-56).
bool GenericScheduler::names_followups() const {
  return given_.eval->wait_until.is_zero() || quirks().followups_dangle;
}

/// Position of a follow-up of the reconciler in the plan; kNoRow: none, or it is not created.
std::uint32_t GenericScheduler::followup_of(std::int32_t followup) const {
  return followup == reconcile::kNoFollowup || !names_followups() ? kNoRow : static_cast<std::uint32_t>(followup);
}

void GenericScheduler::apply_deployment() {
  EvalResult& result = *given_.result;
  PlanRows& plan = result.plan;
  const ClusterResult& r = reconciled_;
  // The current deployment is the reconciler's, else the stored one, in any status (R-SCHED-49).
  deployment_is_active_ = false;
  if (r.deployment) {
    plan.has_deployment = true;
    plan.deployment = std::make_shared<const model::Deployment>(*r.deployment);
    result.deployment_id = uuid(r.deployment->id);
    deployment_is_active_ = model::is_active_deployment(r.deployment->status);
  } else if (deployment_ && (quirks().set_aside_deployment_named || !r.set_aside)) {
    result.deployment_id = uuid(deployment_->id);
    deployment_is_active_ = model::is_active_deployment(deployment_->status);
  }
  plan.deployment_ids.front() = result.deployment_id;
  for (const model::DeploymentStatusUpdate& update : r.deployment_updates)
    plan.deployment_updates.push_back(
        {uuid(update.deployment_id), status_text(update.status), status_text(update.status_description)});
}

void GenericScheduler::apply_stops() {
  PlanRows& plan = given_.result->plan;
  const auto rows = allocs_.rows();
  for (const ClusterResult::Stop& s : reconciled_.stop) {
    std::optional<tables::Client> client;
    if (s.client_status == model::ClientStatus::lost) client = tables::Client::lost;
    if (s.client_status == model::ClientStatus::failed) client = tables::Client::failed;
    std::uint32_t followup = followup_of(s.followup);
    if (followup == kNoRow)
      for (const auto& [row, id] : written_followups_)
        if (row == rows[s.row]) {
          followup = static_cast<std::uint32_t>(plan.followups.size());
          plan.followups.push_back(id);
        }
    stop(s.row, description_of(s.description), client, followup);
  }
}

void GenericScheduler::apply_updates() {
  EvalResult& result = *given_.result;
  const auto is_of = [&](tables::AllocRow row, const reconcile::AllocRef& alloc, base::Uuid deployment) {
    if (given_.state->allocs.cold[row])
      return alloc->deployment_id.empty() ? deployment.is_nil() : uuid(alloc->deployment_id) == deployment;
    const tables::DeploymentRow theirs = given_.state->allocs.links[row].deployment;
    return (theirs == kNoRow ? base::Uuid{} : given_.state->deployments.id[theirs]) == deployment;
  };
  PlanRows& plan = result.plan;
  const ClusterResult& r = reconciled_;
  const auto rows = allocs_.rows();
  const auto facts = allocs_.facts();
  const auto update_row = [&](std::uint32_t position, plan::PlannedUpdate::Kind kind, std::int32_t followup) {
    plan::PlannedUpdate& out = plan.updates.emplace_back();
    out.alloc = rows[position];
    out.kind = kind;
    out.followup = followup_of(followup);
    return &out;
  };
  const auto notify_stack = [&] { stack_.updated(static_cast<std::uint32_t>(plan.updates.size() - 1)); };
  using Kind = plan::PlannedUpdate::Kind;
  for (const auto& update : r.disconnect_updates)
    update_row(update.row, Kind::unknown, update.followup), notify_stack();
  for (const auto& update : r.reconnect_updates)
    update_row(update.row, Kind::reconnects, reconcile::kNoFollowup), notify_stack();
  for (std::size_t i = 0; i < r.inplace_update.size(); ++i) {
    plan::PlannedUpdate* out = update_row(r.inplace_update[i], Kind::in_place, reconcile::kNoFollowup);
    out->held = in_place_[i].first;
    out->shape = std::move(in_place_[i].second);
    out->to_deployment = !is_of(out->alloc, facts[r.inplace_update[i]].alloc, result.deployment_id);  // R-SCHED-48
    notify_stack();
  }
  for (const auto& update : r.attribute_updates)
    update_row(update.row, Kind::annotated, update.followup), notify_stack();
}

}  // namespace berth::sched
