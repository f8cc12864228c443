#include "sched/generic.h"

#include <algorithm>

namespace berth::sched {

using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::Snapshot;

namespace {

/// Triggers service and batch accept (R-SCHED-3).
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

bool preemption_enabled(const Snapshot& snapshot, const CompiledJob& job) {  // R-SCHED-98, R-PREEMPT-103
  const auto& config = snapshot.cold->scheduler_config;
  if (!config) return true;
  return job.batch ? config->preemption_config.batch_scheduler_enabled
                   : config->preemption_config.service_scheduler_enabled;
}

}  // namespace

void EvalResult::clear() {
  status = EvalStatus::complete;
  description.clear();
  unsupported.clear();
  groups.clear();
  has_queued = submitted = has_blocked = reblocked = escaped = false;
  attempts = blocked_coalesced = port_collision_events = 0;
  plan.clear();
  classes.clear();
  missing_resources.clear();
  deployment_id = {};
  deployment_groups.clear();
}

void GenericScheduler::process(const Snapshot& snapshot, const EvalFacts& eval, rank::OrderProvider provider,
                               IdStream& ids, EvalResult& result) {
  result.clear();
  scratch_.arena.reset();
  if (!accepts(eval.triggered_by)) {  // R-SCHED-4
    result.status = EvalStatus::failed;
    result.description = "scheduler cannot handle '" + std::string(eval.triggered_by) + "' evaluation reason";
    return;
  }
  result.has_queued = true;
  const tables::JobKey& key = snapshot.jobs.keys[eval.job];
  if (key.alloc_head != kNoRow) {
    result.unsupported = "reconciling existing allocations";
    return;
  }
  for (std::size_t row = 0; row < snapshot.deployments.size(); ++row)
    if (snapshot.deployments.job_key[row] == eval.job) {
      result.unsupported = "reconciling existing deployments";
      return;
    }
  if (key.current == kNoRow) return;  // purged, and nothing left of it: nothing to do (R-SCHED-37)
  const CompiledJob& job = *snapshot.jobs.versions[key.current];
  result.plan.job = key.current;
  result.groups.reserve(job.groups.size());
  std::int64_t wanted = 0;
  for (const CompiledGroup& group : job.groups) {
    GroupResult& out = result.groups.emplace_back();
    out.name = group.name;
    out.in_job = true;
    if (!job.stopped && group.count > 0) out.place = static_cast<std::uint64_t>(group.count), wanted += group.count;
  }
  // R-RECON-205 to 208: a new deployment holds every group with an update strategy and something to place.
  if (!eval.batch && !job.stopped)
    for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
      const auto& update = job.groups[g].spec->update;
      if (job.groups[g].count <= 0 || !update || update->empty()) continue;
      if (result.deployment_id.is_nil()) result.deployment_id = ids.next();
      result.deployment_groups.emplace_back(g, job.groups[g].count);
    }
  result.plan.has_deployment = !result.deployment_id.is_nil();

  stack_.start(snapshot, result.plan);
  if (wanted == 0) {  // R-SCHED-50
    for (GroupResult& group : result.groups) group.has_queued = true;
    result.submitted = eval.annotate;  // R-SCHED-39: an empty plan is submitted only for its annotations
    if (result.submitted) ++result.attempts;
    return;
  }
  for (GroupResult& group : result.groups)
    if (group.place > 0) group.has_queued = true, group.queued = static_cast<std::int64_t>(group.place);

  StackConfig config = stack_config(snapshot, job, provider);
  config.exhaustive = exhaustive_;
  config.plain_path = plain_path_;
  stack_.set_job(job, config);
  if (auto done = stack_.set_nodes(scratch_.ready_nodes(snapshot, job.base_set), job.base_set, eval.id_text); !done) {
    result.status = EvalStatus::error;
    result.description = done.error().problem;
    return;
  }
  bool any_failed = false;
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    GroupResult& group = result.groups[g];
    for (std::uint32_t i = 0; i < group.place; ++i) {
      if (group.failed) {  // R-SCHED-63
        ++group.failure.coalesced;
        continue;
      }
      SelectOptions options;
      options.name_index = i;
      auto selected = stack_.select(g, options);
      if (!stack_.error().empty()) {  // R-SCHED-5, R-FEAS-933
        result.status = EvalStatus::error;
        result.description = "failed to process eval: " + stack_.error();
        return;
      }
      if (!selected) {
        if (preemption_enabled(snapshot, job)) {  // R-SCHED-97: the second pass replaces the metrics of the first
          options.evict = true;
          selected = stack_.select(g, options);
          if (!stack_.error().empty()) {
            result.status = EvalStatus::error;
            result.description = "failed to process eval: " + stack_.error();
            return;
          }
        }
      }
      if (!selected) {
        group.failed = any_failed = true;
        group.failure = stack_.take_metrics();
        continue;
      }
      stack_.preempt(*selected);
      PlannedAlloc& alloc = result.plan.allocs.emplace_back();
      alloc.id = ids.next();
      alloc.node = selected->node;
      alloc.group = g;
      alloc.name_index = i;
      alloc.score = selected->score;
      alloc.held = selected->held;
      alloc.shape = std::move(selected->shape);
      alloc.metrics = stack_.take_metrics();
      stack_.placed(alloc);
    }
  }
  result.port_collision_events = stack_.port_collision_events();
  if (any_failed && !eval.blocked) {  // R-SCHED-51, 52
    result.has_blocked = true;
    result.blocked_id = ids.next();
    result.escaped = stack_.has_escaped();
    if (!result.escaped) stack_.class_map(result.classes);
  }
  if (any_failed && eval.blocked) {  // R-SCHED-18
    result.reblocked = true;
    result.escaped = stack_.has_escaped();
    stack_.class_map(result.classes);
  }
  if (any_failed) {
    result.missing_resources = stack_.missing_resources();
    std::sort(result.missing_resources.begin(), result.missing_resources.end());
  }
  const bool no_op = result.plan.allocs.empty() && !result.plan.has_deployment;
  result.submitted = !no_op || eval.annotate;  // R-SCHED-39
  if (result.submitted) ++result.attempts;
}

}  // namespace berth::sched
