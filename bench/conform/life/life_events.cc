#include "conform/life/life_events.h"

#include <algorithm>

#include "living/invariants.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::conform {

using base::kSecond;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

/// The jobs of a simulation: one ID exists in two namespaces (R-RANK-711).
struct JobName {
  const char *name_space, *id;
};
constexpr JobName kJobs[] = {
    {"default", "job0"}, {"default", "job1"}, {"default", "job2"}, {"default", "job3"}, {"team", "job0"}};

}  // namespace

void LifeEvents::happen(bool registers) {
  const std::uint64_t kind = draw_.below(100);
  if (registers || kind < 22) return register_job();
  if (kind < 25) return deregister_job();
  if (kind < 60) {
    for (NodeRow node = 0; node < server_.state().nodes.size(); ++node)
      if (server_.state().nodes.exists(node) && draw_.chance(75)) report_from(node);
    return;
  }
  if (kind < 78) return change_node();
  if (kind < 86) return change_deployment();
  if (kind < 90) return stop_alloc();
  if (kind < 93) return change_configuration();
  let_time_pass();
}

std::shared_ptr<const model::Job> LifeEvents::any_job() {
  std::vector<std::shared_ptr<const model::Job>> jobs;
  for (const JobName& name : kJobs)
    if (auto job = server_.log().job(name.name_space, name.id)) jobs.push_back(std::move(job));
  return jobs.empty() ? nullptr : jobs[draw_.below(jobs.size())];
}

void LifeEvents::register_job() {
  const auto& [name_space, id] = kJobs[draw_.below(std::size(kJobs))];
  const auto stored = server_.log().job(name_space, id);
  if (stored && draw_.chance(30)) return ask_of_job(*stored);
  std::shared_ptr<model::Job> job;
  if (!stored) {
    job = draw_job(draw_, name_space, id, server_.state().nodes.size() >= 20);
  } else {
    job = std::make_shared<model::Job>(*stored);
    job->stop = false;
    if (!stored->stop || draw_.chance(50)) change_job(draw_, *job);
  }
  const fsm::Answer answer = server_.requests().register_job({.job = job}, server_.now());
  tell("register {}{} ({}, priority {}, group {} x {}) {}", job->namespace_ == "team" ? "team/" : "", id, job->type,
       job->priority, job->task_groups[0].name, job->task_groups[0].count, answer.error);
  server_.take(answer.hooks);
}

/// A user's request on an existing job, without its file.
void LifeEvents::ask_of_job(const model::Job& job) {
  fsm::Answer answer;
  switch (draw_.below(3)) {
    case 0: {
      const std::string& group = job.task_groups[draw_.below(job.task_groups.size())].name;
      const auto count = static_cast<std::int64_t>(draw_.below(8));
      answer = server_.requests().scale_job({job.namespace_, job.id, group, count}, server_.now());
      tell("scale {}, group {} x {} {}", job.id, group, count, answer.error);
      break;
    }
    case 1: {
      const std::uint64_t version = job.version > 2 ? job.version - 1 - draw_.below(2) : 0;
      answer = server_.requests().revert_job({job.namespace_, job.id, version, {}}, server_.now());
      tell("revert {} to version {} {}", job.id, version, answer.error);
      break;
    }
    default: {
      const bool force = draw_.chance(70);
      answer = server_.requests().evaluate_job(job.namespace_, job.id, force, server_.now());
      tell("evaluate {}{} {}", job.id, force ? ", reschedule by force" : "", answer.error);
    }
  }
  server_.take(answer.hooks);
}

void LifeEvents::deregister_job() {
  const auto job = any_job();
  if (!job) return;
  const bool purge = draw_.chance(30);
  tell("{} {}", purge ? "purge" : "stop", job->id);
  server_.take(server_.requests()
                   .deregister_job({.name_space = job->namespace_, .job_id = job->id, .purge = purge}, server_.now())
                   .hooks);
}

std::vector<AllocRow> LifeEvents::allocs_on(NodeRow node) const {
  std::vector<AllocRow> rows;
  const Snapshot& state = server_.state();
  for (AllocRow a = state.nodes.use[node].alloc_head; a != kNoRow; a = state.allocs.next_on_node[a]) rows.push_back(a);
  return rows;
}

NodeRow LifeEvents::any_node() {
  std::vector<NodeRow> rows;
  for (NodeRow row = 0; row < server_.state().nodes.size(); ++row)
    if (server_.state().nodes.exists(row)) rows.push_back(row);
  return rows.empty() ? kNoRow : rows[draw_.below(rows.size())];
}

void LifeEvents::report_from(NodeRow node) {
  const Snapshot& state = server_.state();
  if (state.nodes.status(node) != tables::NodeStatus::ready) return;
  std::vector<model::Allocation> reports;
  std::vector<std::pair<std::string, std::string>> watched;
  for (const AllocRow row : allocs_on(node)) {
    if (draw_.chance(30)) continue;
    const model::Allocation alloc = tables::to_alloc(state, row);
    model::Allocation out;
    out.id = alloc.id;
    out.namespace_ = alloc.namespace_;
    out.job_id = alloc.job_id;
    out.node_id = alloc.node_id;
    out.task_states = alloc.task_states;
    model::TaskState task;
    if (const auto known = alloc.task_states.find("t"); known != alloc.task_states.end() && known->second)
      task = *known->second;
    const bool batch = alloc.job && (alloc.job->type == "batch" || alloc.job->type == "sysbatch");
    if (alloc.desired_status != "run") {
      out.client_status = "complete";
    } else if (alloc.client_status == "pending" || alloc.client_status == "unknown") {
      out.client_status = draw_.chance(88) ? "running" : "failed";
    } else if (draw_.chance(batch ? 40 : 15)) {
      out.client_status = batch && draw_.chance(60) ? "complete" : "failed";
    } else {
      out.client_status = "running";
    }
    task.state = out.client_status == "running" ? "running" : "dead";
    if (out.client_status == "running" && task.started_at.is_zero()) task.started_at = base::Time{server_.now()};
    if (out.client_status != "running") task.finished_at = base::Time{server_.now()};
    task.failed = out.client_status == "failed";
    out.task_states["t"] = task;
    if (!alloc.deployment_id.empty() && !model::has_health(alloc) && out.client_status != "complete") {
      model::DeploymentStatus& health = out.deployment_status.emplace();
      if (alloc.deployment_status) health = *alloc.deployment_status;
      health.healthy = out.client_status == "running";
      health.timestamp = base::Time{server_.now()};
      watched.emplace_back(alloc.namespace_, alloc.job_id);
    }
    if (out.client_status == alloc.client_status && !out.deployment_status) continue;
    tell("  {} {} -> {}", alloc.name, alloc.client_status, out.client_status);
    reports.push_back(std::move(out));
  }
  if (reports.empty()) return;
  const fsm::Answer answer =
      server_.requests().update_allocs(std::move(reports), server_.now(), server_.now() + kSecond / 20);
  tell("report from {} {}", state.nodes.spec(node).node.name, answer.error);
  server_.take(answer.hooks);
  for (const auto& [name_space, id] : watched)
    if (const auto job = server_.log().job(name_space, id)) server_.ask(*job, "deployment-watcher");
}

void LifeEvents::change_node() {
  if (draw_.chance(12)) return join();
  const NodeRow row = any_node();
  if (row == kNoRow) return join();
  if (draw_.chance(10)) return leave(row);
  const model::Node node = *server_.log().node(base::to_text(server_.state().nodes.id(row)));
  if (node.status != "ready") return set_status(node.id, node.name, "ready");
  if (node.drain_strategy) return drain(node, false);
  switch (draw_.below(5)) {
    case 0:
      return drain(node, true);
    case 1: {
      const char* to = node.scheduling_eligibility == "eligible" ? "ineligible" : "eligible";
      tell("{} is {}", node.name, to);
      return server_.take(server_.nodes().set_eligibility(node.id, to, server_.now()).hooks);
    }
    case 2: {
      model::Node changed = node;
      conform::change_node(draw_, changed);
      tell("{} registers again: rack {}, class {}, {} MiB, {} devices", node.name, changed.meta["rack"],
           changed.node_class, changed.node_resources->memory.memory_mb, changed.node_resources->devices.size());
      return server_.take(server_.nodes().register_node(std::move(changed), server_.now()).hooks);
    }
    default:
      set_status(node.id, node.name, draw_.chance(60) ? "disconnected" : "down");
  }
}

void LifeEvents::set_status(const std::string& node_id, const std::string& name, const char* status) {
  tell("{} is {}", name, status);
  server_.write(fsm::NodeStatusEntry{node_id, status, server_.now() / kSecond});
  server_.take(server_.nodes().evaluate(node_id, server_.now()).hooks);
}

/// Adds a new node, or one that had left.
void LifeEvents::join() {
  model::Node node;
  if (!left_.empty() && draw_.chance(50)) {
    std::swap(left_[draw_.below(left_.size())], left_.back());
    node = std::move(left_.back());
    left_.pop_back();
    if (draw_.chance(50)) conform::change_node(draw_, node);
  } else {
    node = draw_node(draw_, 100 + joined_++);
  }
  tell("{} joins", node.name);
  server_.take(server_.nodes().register_node(std::move(node), server_.now()).hooks);
}

void LifeEvents::leave(NodeRow row) {
  model::Node node = *server_.log().node(base::to_text(server_.state().nodes.id(row)));
  tell("{} is deregistered", node.name);
  server_.take(server_.nodes().deregister({node.id}, server_.now()).hooks);
  node.status = "ready", node.scheduling_eligibility = "eligible", node.drain_strategy.reset();
  left_.push_back(std::move(node));
}

void LifeEvents::drain(const model::Node& node, bool on) {
  tell("{} {}", on ? "drain" : "end the drain of", node.name);
  fsm::DrainNode request;
  request.node_id = node.id;
  request.clear = request.mark_eligible = !on;
  request.deadline = 3600 * kSecond;
  server_.take(server_.nodes().drain(request, server_.now()).hooks);
  if (!on) return;
  fsm::TransitionEntry entry;
  for (const AllocRow row : allocs_on(server_.store().find_node(node.id))) {
    const model::Allocation alloc = tables::to_alloc(server_.state(), row);
    if (model::is_terminal(alloc) || !alloc.job || alloc.job->type == "batch" || alloc.job->type == "sysbatch")
      continue;
    model::DesiredTransition transition;
    transition.migrate = true;
    entry.allocs.emplace_back(alloc.id, transition);
  }
  if (!entry.allocs.empty()) server_.write(entry);
  server_.take(server_.nodes().evaluate(node.id, server_.now()).hooks);
}

void LifeEvents::change_deployment() {
  std::vector<std::shared_ptr<const model::Deployment>> active;
  for (const auto& deployment : living::deployments_of(server_.state()))
    if (model::is_active_deployment(deployment->status)) active.push_back(deployment);
  if (active.empty()) return let_time_pass();
  const model::Deployment& deployment = *active[draw_.below(active.size())];
  const auto job = server_.log().job(deployment.namespace_, deployment.job_id);
  if (draw_.chance(60)) {
    tell("promote the deployment of {}", deployment.job_id);
    fsm::DeploymentPromoteEntry entry;
    entry.deployment_id = deployment.id;
    entry.all = true;
    entry.promoted_at = entry.now = server_.now();
    server_.write(entry);
  } else {
    fsm::DeploymentStatusEntry entry;
    entry.update.deployment_id = deployment.id;
    entry.update.status = deployment.status == "paused" ? "running" : draw_.one_of<const char*>({"failed", "paused"});
    entry.update.status_description = "by hand";
    entry.update.updated_at = server_.now();
    tell("deployment of {}: {}", deployment.job_id, entry.update.status);
    server_.write(entry);
  }
  if (job) server_.ask(*job, "deployment-watcher");
}

void LifeEvents::stop_alloc() {
  const Snapshot& state = server_.state();
  if (state.allocs.size() == 0) return;
  const auto row = static_cast<AllocRow>(draw_.below(state.allocs.size()));
  if (!state.allocs.exists(row) || state.allocs.terminal(row)) return;
  tell("stop allocation {}", tables::alloc_name(state, row));
  server_.take(
      server_.requests().stop_alloc(base::to_text(state.allocs.id[row]), draw_.chance(50), false, server_.now()).hooks);
}

void LifeEvents::change_configuration() {
  const model::SchedulerConfiguration configuration = draw_configuration(draw_);
  const model::PreemptionConfig& preemption = configuration.preemption_config;
  tell("configuration: {}, preemption for{}{}{}{}", configuration.scheduler_algorithm,
       preemption.service_scheduler_enabled ? " service" : "", preemption.batch_scheduler_enabled ? " batch" : "",
       preemption.system_scheduler_enabled ? " system" : "", preemption.sysbatch_scheduler_enabled ? " sysbatch" : "");
  server_.set_configuration(configuration);
}

void LifeEvents::let_time_pass() {
  server_.wait(static_cast<std::int64_t>(30 + draw_.below(600)) * kSecond);
  tell("time passes");
}

void LifeEvents::interfere(const sched::EvalResult& result) {
  if (!draw_.chance(6) || result.plan.allocs.empty()) return;
  const NodeRow row = result.plan.allocs[draw_.below(result.plan.allocs.size())].node;
  if (!server_.state().nodes.exists(row)) return;
  tell("  meanwhile:");
  if (draw_.chance(25)) return leave(row);
  const tables::NodeTable& nodes = server_.state().nodes;
  set_status(base::to_text(nodes.id(row)), nodes.spec(row).node.name, "down");
}

}  // namespace berth::conform
