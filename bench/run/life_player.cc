#include "run/life_player.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/job.h"
#include "run/server_settings.h"
#include "sim/load_store.h"
#include "tables/export.h"

namespace berth::run {

using sim::Happening;
using sim::LifeAction;
using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr const char* kNamespace = "default";

std::string seconds_text(std::int64_t ns) { return fmt::format("{} s", static_cast<double>(ns) / 1e9); }

}  // namespace

living::Config life_config(const sim::Workload& workload, const sim::Inputs& inputs) {
  const sim::LifeSpec& life = *workload.life;
  living::Config out;
  out.server = server_settings(workload);
  out.server.workers = static_cast<std::uint32_t>(workload.workers);
  if (workload.workers > 1) out.server.execution = server::Execution::ahead;
  const std::size_t jobs = inputs.jobs.arrivals.size(), nodes = inputs.cluster.nodes.size();
  out.server.broker.evals = static_cast<std::uint32_t>(std::min<std::size_t>(4 * (jobs + nodes) + 65'536, 1U << 24));
  out.server.broker.jobs = static_cast<std::uint32_t>(std::min<std::size_t>(jobs + nodes + 65'536, 1U << 24));
  out.watchers.heartbeats.min_ttl_ns = life.min_ttl_ns;
  out.watchers.heartbeats.grace_ns = life.grace_ns;
  out.watchers.heartbeats.max_per_second = life.heartbeats_per_s;
  lifecycle::GcConfig& garbage = out.watchers.garbage;
  garbage.interval_ns = life.gc_interval_ns;
  garbage.evals = {life.eval_age_ns, life.batch_eval_age_ns};
  garbage.jobs.age_ns = life.job_age_ns;
  garbage.deployments.age_ns = life.deployment_age_ns;
  garbage.nodes.age_ns = life.node_age_ns;
  out.clients.report_tick_ns = life.report_tick_ns;
  out.clients.ticks_per_report = life.ticks_per_report;
  if (life.collapsed) living::collapse(out);
  out.seed = workload.seed;
  out.start_ns = life.start_unix_ns;
  return out;
}

model::ClusterState life_start(const sim::Workload& workload, const sim::Inputs& inputs) {
  tables::StateStore store;
  sim::load_store(store, inputs.cluster);
  model::ClusterState state = tables::to_cluster(store.current());
  // The last nodes of the cluster join during the simulation.
  state.nodes.resize(state.nodes.size() - static_cast<std::size_t>(workload.cluster.joins.nodes));
  state.scheduler_config = configuration_of(workload);
  state.index = std::max<std::uint64_t>(state.index, 1);
  return state;
}

LifePlayer::LifePlayer(const sim::Workload& workload, const sim::Inputs& inputs, const sim::LifePlan& plan)
    : workload_(workload), life_(*workload.life), inputs_(inputs), plan_(plan), tasks_(workload, inputs) {}

void LifePlayer::bind(living::Cluster& cluster, Watch* watch) {
  cluster_ = &cluster, watch_ = watch;
  tasks_.bind([&cluster] { return cluster.now(); });
}

std::int64_t LifePlayer::next_ns() const {
  const sim::JoinSpec& joins = workload_.cluster.joins;
  std::int64_t at = client::kNever;
  if (join_ < joins.nodes) at = std::min(at, joins.due_ns(static_cast<std::size_t>(join_)));
  if (arrival_ < inputs_.jobs.arrivals.size()) at = std::min(at, inputs_.jobs.arrivals[arrival_].due_ns);
  if (happening_ < plan_.happenings.size()) at = std::min(at, plan_.happenings[happening_].at_ns);
  return at;
}

void LifePlayer::play(std::int64_t at_ns) {
  const sim::JoinSpec& joins = workload_.cluster.joins;
  const auto& arrivals = inputs_.jobs.arrivals;
  for (; join_ < joins.nodes && joins.due_ns(static_cast<std::size_t>(join_)) == at_ns; ++join_) {
    model::Node node =
        inputs_.cluster.node(inputs_.cluster.nodes.size() - static_cast<std::size_t>(joins.nodes - join_));
    if (complete) complete(node);
    cluster_->apply(living::NodeRegister{std::move(node)});
    if (watch_) watch_->joined();
  }
  for (; arrival_ < arrivals.size() && arrivals[arrival_].due_ns == at_ns; ++arrival_) {
    const fsm::Answer answer = cluster_->apply(living::JobRegister{.job = inputs_.jobs.job(arrivals[arrival_])});
    if (watch_) watch_->arrived(answer);
  }
  for (; happening_ < plan_.happenings.size() && plan_.happenings[happening_].at_ns == at_ns; ++happening_)
    happen(plan_.happenings[happening_]);
}

// ---------------------------------------------------------------- events

std::shared_ptr<const model::Job> LifePlayer::current(const std::string& id) {
  const tables::JobKeyRow key = cluster_->server().store().find_job_key(kNamespace, id);
  return key == kNoRow ? nullptr : cluster_->state().jobs.objects[key];
}

/// The newest wanted allocation of the job with this name.
tables::AllocRow LifePlayer::alloc_of(const std::string& job, const std::string& group, std::int64_t index) {
  const tables::Snapshot& state = cluster_->state();
  const tables::JobKeyRow key = cluster_->server().store().find_job_key(kNamespace, job);
  if (key == kNoRow) return kNoRow;
  for (tables::AllocRow row = state.jobs.keys[key].alloc_head; row != kNoRow; row = state.allocs.next_of_job[row])
    if (!state.allocs.terminal(row) && state.allocs.name_index[row] == static_cast<std::uint64_t>(index) &&
        state.text(state.allocs.group[row]) == group)
      return row;
  return kNoRow;
}

std::vector<NodeRow> LifePlayer::nodes_of(const Happening& happening) {
  std::vector<NodeRow> out;
  const sim::LifeStep& step = life_.steps[happening.step];
  if (!step.node_of.empty()) {
    const tables::AllocRow alloc = alloc_of(step.node_of, step.group, step.index);
    if (alloc != kNoRow) out.push_back(cluster_->state().allocs.node[alloc]);
    return out;
  }
  for (const std::uint32_t node : happening.nodes)
    out.push_back(cluster_->server().store().find_node(inputs_.cluster.nodes[node].id));
  return out;
}

void LifePlayer::happen(const Happening& happening) {
  const std::vector<NodeRow> nodes = nodes_of(happening);
  const std::string words = words_of(happening, nodes);
  // Hits are counted before anything changes.
  std::string error;
  if (!life_.steps[happening.step].node_of.empty() && nodes.empty()) error = "it has no such allocation then";
  if (watch_) watch_->happened(happening, nodes, words);
  if (error.empty()) {
    switch (happening.action) {
      case LifeAction::gc:
      case LifeAction::leader_change:
      case LifeAction::configure:
        error = to_cluster(happening);
        break;
      default:
        error = happening.jobs.empty() ? to_nodes(happening, nodes) : to_jobs(happening);
    }
  }
  if (!error.empty() && watch_) watch_->refused(words, error);
}

std::string LifePlayer::to_cluster(const Happening& happening) {
  const sim::LifeStep& step = life_.steps[happening.step];
  if (happening.action == LifeAction::gc) return cluster_->apply(living::CollectGarbage{}).error;
  if (happening.action == LifeAction::leader_change) return cluster_->apply(living::LeaderChange{}).error;
  model::SchedulerConfiguration config = cluster_->state().cold->scheduler_config.value_or(configuration_of(workload_));
  if (!step.algorithm.empty()) config.scheduler_algorithm = step.algorithm;
  model::PreemptionConfig& preemption = config.preemption_config;
  preemption.system_scheduler_enabled = step.preempt_system.value_or(preemption.system_scheduler_enabled);
  preemption.sysbatch_scheduler_enabled = step.preempt_sysbatch.value_or(preemption.sysbatch_scheduler_enabled);
  preemption.batch_scheduler_enabled = step.preempt_batch.value_or(preemption.batch_scheduler_enabled);
  preemption.service_scheduler_enabled = step.preempt_service.value_or(preemption.service_scheduler_enabled);
  config.pause_eval_broker = step.pause_broker.value_or(config.pause_eval_broker);
  return cluster_->apply(living::SetSchedulerConfig{config}).error;
}

std::string LifePlayer::to_nodes(const Happening& happening, std::span<const NodeRow> nodes) {
  const sim::LifeStep& step = life_.steps[happening.step];
  std::string error;
  for (const NodeRow node : nodes) {
    if (node == kNoRow || !cluster_->state().nodes.exists(node)) {
      error = "the node is gone";
      continue;
    }
    const std::string id = base::to_text(cluster_->state().nodes.id(node));
    fsm::Answer answer;
    switch (happening.action) {
      case LifeAction::unreachable:
        answer = cluster_->apply(living::NodeUnreachable{id});
        break;
      case LifeAction::reachable:
        answer = cluster_->apply(living::NodeReachable{id});
        break;
      case LifeAction::client_restart:
        answer = cluster_->apply(living::ClientRestart{
            id, happening.length_ns, happening.machine_lost ? client::Recovery::none : client::Recovery::by_model});
        break;
      case LifeAction::deregister:
        answer = cluster_->apply(living::NodeDeregister{{id}});
        break;
      case LifeAction::eligibility:
        answer = cluster_->apply(living::NodeEligibility{id, step.action != LifeAction::eligibility || step.eligible});
        break;
      case LifeAction::drain:
        answer = cluster_->apply(living::NodeDrain{.node_id = id,
                                                   .clear = step.clear,
                                                   .deadline = step.deadline_ns,
                                                   .ignore_system_jobs = step.ignore_system_jobs,
                                                   .mark_eligible = step.clear && step.eligible});
        break;
      case LifeAction::report_lag:
        answer = cluster_->apply(living::ReportLag{id, happening.length_ns});
        break;
      default:
        BERTH_ASSERT(false);
    }
    if (!answer.error.empty()) error = answer.error;
  }
  return error;
}

/// The present job, or `form`, with the changes of the step.
std::shared_ptr<const model::Job> LifePlayer::updated(const model::Job& form, const sim::LifeStep& step) {
  const auto before = current(form.id);
  auto job = std::make_shared<model::Job>(before ? *before : form);
  job->stable = false, job->status = "pending", job->status_description.clear();
  ++revision_;
  for (model::TaskGroup& group : job->task_groups) {
    if (step.count >= 0) group.count = step.count;
    if (step.canary >= 0 && group.update) group.update->canary = step.canary;
    for (model::Task& task : group.tasks) {
      task.meta["revision"] = std::to_string(revision_);  // forces a replacement, not an update in place
      if (step.cpu_mhz > 0) task.resources->cpu = step.cpu_mhz;
      if (step.memory_mb > 0) task.resources->memory_mb = step.memory_mb;
    }
  }
  if (step.canary >= 0) job->update.own().canary = step.canary;
  job->meta.erase(kHealthMeta);
  if (!step.health.empty()) job->meta[kHealthMeta] = step.health;
  return job;
}

/// Applies an operation to the newest deployment of a job.
fsm::Answer LifePlayer::to_deployment(const std::string& job, LifeAction action) {
  using Kind = living::DeploymentOp::Kind;
  const tables::JobKeyRow key = cluster_->server().store().find_job_key(kNamespace, job);
  const tables::DeploymentRow deployment =
      key == kNoRow ? tables::DeploymentRow(kNoRow) : cluster_->state().jobs.keys[key].deployment_head;
  fsm::Answer none;
  none.error = "it has no deployment";
  if (deployment == kNoRow) return none;
  const Kind kind = action == LifeAction::promote ? Kind::promote
                    : action == LifeAction::fail  ? Kind::fail
                    : action == LifeAction::pause ? Kind::pause
                                                  : Kind::resume;
  return cluster_->apply(
      living::DeploymentOp{.deployment_id = base::to_text(cluster_->state().deployments.id[deployment]), .kind = kind});
}

std::string LifePlayer::to_jobs(const Happening& happening) {
  const sim::LifeStep& step = life_.steps[happening.step];
  std::string error;
  if (happening.action == LifeAction::task_failures)
    return tasks_.fail(happening.jobs, cluster_->now() + happening.length_ns, step.fail_percent, step.fail_after_ns),
           "";
  for (const std::uint32_t arrival : happening.jobs) {
    const auto form = inputs_.jobs.job(inputs_.jobs.arrivals[arrival]);
    const std::string& id = form->id;
    fsm::Answer answer;
    switch (happening.action) {
      case LifeAction::register_job:
        answer = cluster_->apply(living::JobRegister{.job = form});
        break;
      case LifeAction::update:
        answer = cluster_->apply(living::JobRegister{.job = updated(*form, step)});
        break;
      case LifeAction::scale: {
        const bool by_curve = step.action == LifeAction::scale_curve;
        const auto count = by_curve
                               ? std::llround(static_cast<double>(form->task_groups.front().count) * happening.factor)
                               : step.count;
        answer = cluster_->apply(living::JobScale{kNamespace, id, step.group, count});
        break;
      }
      case LifeAction::stop:
        answer = cluster_->apply(living::JobDeregister{.name_space = kNamespace, .job_id = id, .purge = step.purge});
        break;
      case LifeAction::evaluate:
        answer = cluster_->apply(living::JobEvaluate{kNamespace, id, step.force_reschedule});
        break;
      case LifeAction::dispatch: {
        living::JobDispatch dispatch;
        dispatch.name_space = kNamespace, dispatch.job_id = id;
        answer = cluster_->apply(dispatch);
        break;
      }
      case LifeAction::force_periodic:
        answer = cluster_->apply(living::PeriodicForce{kNamespace, id});
        break;
      case LifeAction::alloc_stop: {
        const tables::AllocRow alloc = alloc_of(id, step.group, step.index);
        if (alloc == kNoRow)
          answer.error = "it has no such allocation then";
        else
          answer = cluster_->apply(living::AllocStop{base::to_text(cluster_->state().allocs.id[alloc]),
                                                     step.reschedule.value_or(form->type == "batch"), false});
        break;
      }
      default:
        answer = to_deployment(id, happening.action);
    }
    if (!answer.error.empty()) error = id + ": " + answer.error;
  }
  return error;
}

/// "drain of node-3, deadline 60 s".
std::string LifePlayer::words_of(const Happening& happening, std::span<const NodeRow> nodes) const {
  const sim::LifeStep& step = life_.steps[happening.step];
  std::string out = sim::to_text(happening.action);
  if (step.action != happening.action) out = fmt::format("{} ({})", sim::to_text(step.action), out);
  if (happening.action == LifeAction::drain && step.clear) out += " ended";
  if (nodes.size() > 3) {
    out += fmt::format(" of {} nodes", nodes.size());
  } else {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string* name = nodes[i] == kNoRow || !cluster_->state().nodes.exists(nodes[i])
                                    ? nullptr
                                    : cluster_->state().value_text(tables::kNameColumn, nodes[i]);
      out += (i == 0 ? " of " : ", ") + (name ? *name : "a node that is gone");
    }
  }
  if (happening.jobs.size() > 1)
    out += fmt::format(" of {} jobs of kind {}", happening.jobs.size(), step.kind);
  else if (!happening.jobs.empty())
    out += " of " + inputs_.jobs.job(inputs_.jobs.arrivals[happening.jobs.front()])->id;
  switch (happening.action) {
    case LifeAction::drain:
      if (!step.clear && step.deadline_ns != 0)
        out += step.deadline_ns < 0 ? ", at once" : ", deadline " + seconds_text(step.deadline_ns);
      break;
    case LifeAction::client_restart:
      out += fmt::format(", back after {}{}", seconds_text(happening.length_ns),
                         happening.machine_lost ? " without its tasks" : "");
      break;
    case LifeAction::eligibility:
      out += step.action != LifeAction::eligibility || step.eligible ? ": eligible" : ": ineligible";
      break;
    case LifeAction::scale:
      if (step.count >= 0) out += fmt::format(" to {}", step.count);
      break;
    case LifeAction::alloc_stop:
      out += fmt::format("[{}]", step.index);
      break;
    case LifeAction::report_lag:
      out += happening.length_ns > 0 ? ", late by " + seconds_text(happening.length_ns) : ", in time again";
      break;
    default:
      break;
  }
  return out;
}

}  // namespace berth::run
