// Applies events from outside the cluster (R-CTRL-E1 to E19).
#include "living/living.h"
#include "model/job.h"

namespace berth::living {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

namespace {

fsm::Answer refused(std::string why) {
  fsm::Answer answer;
  answer.error = std::move(why);
  return answer;
}

fsm::Answer no_client(const std::string& node_id) { return refused("no client runs on node " + node_id); }

/// True if the event needs a leader.
bool needs_leader(const Event& event) {
  return std::visit(
      []<class E>(const E&) {
        return !std::is_same_v<E, NodeUnreachable> && !std::is_same_v<E, NodeReachable> &&
               !std::is_same_v<E, ClientRestart> && !std::is_same_v<E, TaskOutcome> && !std::is_same_v<E, ReportLag> &&
               !std::is_same_v<E, LeaderChange> && !std::is_same_v<E, AllocRestart> && !std::is_same_v<E, AllocSignal>;
      },
      event);
}

}  // namespace

fsm::Answer Cluster::apply(const Event& event) {
  if (!has_leader() && needs_leader(event)) return refused("No cluster leader");
  fsm::Answer answer = std::visit([this](const auto& what) { return happen(what); }, event);
  take(answer);
  if (answer.error.empty()) recorder_->event_applied(event);
  return answer;
}

/// The node's row if a client runs on the node; else kNoRow.
NodeRow Cluster::client_of(const std::string& node_id) const {
  const NodeRow node = server_->store().find_node(node_id);
  return node != kNoRow && clients_->has(node) ? node : kNoRow;
}

std::shared_ptr<const model::Node> Cluster::machine(const std::string& node_id) const {
  const NodeRow node = client_of(node_id);
  return node != kNoRow ? machines_[node] : nullptr;
}

// ---------------------------------------------------------------- nodes

fsm::Answer Cluster::happen(const NodeRegister& event) {
  if (const NodeRow node = client_of(event.node.id); node != kNoRow) {
    machines_[node] = std::make_shared<const model::Node>(event.node);
    clients_->change_fingerprint(node, now());
    return {};
  }
  fsm::NodeAnswer answer = watchers_->nodes().register_node(event.node, now());
  if (answer.error.empty())
    start_client(server_->store().find_node(event.node.id), std::make_shared<const model::Node>(event.node));
  return answer;
}

fsm::Answer Cluster::happen(const NodeUnreachable& event) {
  const NodeRow node = client_of(event.node_id);
  if (node == kNoRow) return no_client(event.node_id);
  clients_->set_reachable(node, false, now());
  return {};
}

fsm::Answer Cluster::happen(const NodeReachable& event) {
  const NodeRow node = client_of(event.node_id);
  if (node == kNoRow) return no_client(event.node_id);
  clients_->set_reachable(node, true, now());
  return {};
}

fsm::Answer Cluster::happen(const ClientRestart& event) {
  const NodeRow node = client_of(event.node_id);
  if (node == kNoRow) return no_client(event.node_id);
  is_restarted_[node] = true;
  clients_->restart(node, now(), event.down_ns, event.recovery);
  return {};
}

fsm::Answer Cluster::happen(const NodeDeregister& event) {
  fsm::NodeAnswer answer = watchers_->nodes().deregister(event.node_ids, now(), event.machine_gone);
  if (!answer.error.empty() || !event.machine_gone) return answer;
  for (const std::string& id : event.node_ids)
    if (const NodeRow node = client_of(id); node != kNoRow) clients_->remove(node), news_[node].clear();
  return answer;
}

fsm::Answer Cluster::happen(const NodeEligibility& event) {
  return watchers_->nodes().requests().set_eligibility(event.node_id, event.eligible ? "eligible" : "ineligible",
                                                       now());
}

fsm::Answer Cluster::happen(const NodeEvaluate& event) {
  return watchers_->nodes().requests().evaluate(event.node_id, now());
}

fsm::Answer Cluster::happen(const NodeDrain& event) { return watchers_->nodes().requests().drain(event, now()); }

fsm::Answer Cluster::happen(const ReportLag& event) {
  const NodeRow node = client_of(event.node_id);
  if (node == kNoRow) return no_client(event.node_id);
  clients_->set_report_lag(node, event.lag_ns);
  return {};
}

// ---------------------------------------------------------------- jobs

fsm::Answer Cluster::happen(const JobRegister& event) { return server_->requests().register_job(event, now()); }
fsm::Answer Cluster::happen(const JobDeregister& event) { return server_->requests().deregister_job(event, now()); }
fsm::Answer Cluster::happen(const JobScale& event) { return server_->requests().scale_job(event, now()); }
fsm::Answer Cluster::happen(const JobEvaluate& event) {
  return server_->requests().evaluate_job(event.name_space, event.job_id, event.force_reschedule, now());
}
fsm::Answer Cluster::happen(const JobRevert& event) { return server_->requests().revert_job(event, now()); }
fsm::Answer Cluster::happen(const VersionTag& event) { return server_->requests().tag_version(event, now()); }
fsm::Answer Cluster::happen(const JobStability& event) {
  return server_->requests().set_stable(event.name_space, event.job_id, event.version, event.stable);
}
fsm::Answer Cluster::happen(const JobDispatch& event) { return server_->requests().dispatch_job(event, now()); }

fsm::Answer Cluster::happen(const PeriodicForce& event) {
  watchers_->pass_on_changes(now());  // the job may have been registered at this instant
  return watchers_->periodic().force(event.name_space, event.job_id, now());
}

fsm::Answer Cluster::happen(const AllocStop& event) {
  return server_->requests().stop_alloc(event.alloc_id, event.reschedule, event.no_shutdown_delay, now());
}

fsm::Answer Cluster::happen(const AllocRestart& event) {
  const AllocRow row = server_->store().find_alloc(event.alloc_id);
  if (row == kNoRow) return refused("Unknown allocation \"" + event.alloc_id + "\"");
  return refused(clients_->restart_tasks(row, event.task, event.all, now()));
}

fsm::Answer Cluster::happen(const AllocSignal& event) {
  const AllocRow row = server_->store().find_alloc(event.alloc_id);
  if (row == kNoRow) return refused("Unknown allocation \"" + event.alloc_id + "\"");
  if (clients_->has_runner(row)) return refused(clients_->signal_tasks(row, event.task, event.signal, now()));
  std::vector<std::string> ended;  // the client no longer runs the allocation
  const model::Allocation alloc = server_->log().stored_alloc(row);
  if (const model::TaskGroup* group = alloc.job ? alloc.job->group(alloc.task_group) : nullptr)
    for (const model::Task& task : group->tasks)
      if (event.task.empty() || event.task == task.name) ended.push_back(task.name);
  return refused(client::not_running(ended));
}

/// Only while the broker is paused; otherwise it may still hold the evaluations (R-API-404).
fsm::Answer Cluster::happen(const EvalDelete& event) {
  if (server_->queues_enabled()) return refused("eval broker is enabled; eval broker must be paused to delete evals");
  return server_->requests().delete_evals(event.eval_ids);
}

fsm::Answer Cluster::happen(const DeploymentOp& event) {
  watchers_->pass_on_changes(now());
  lifecycle::DeploymentWatcher& deployments = watchers_->deployments();
  switch (event.kind) {
    case DeploymentOp::Kind::promote:
      return deployments.promote(event.deployment_id, event.groups, 0, now());  // 0: no PromotedAt given
    case DeploymentOp::Kind::fail:
      return deployments.fail(event.deployment_id, now());
    case DeploymentOp::Kind::pause:
      return deployments.pause(event.deployment_id, true, now());
    case DeploymentOp::Kind::resume:
      return deployments.pause(event.deployment_id, false, now());
    case DeploymentOp::Kind::set_health:
      return deployments.set_health(event.deployment_id, event.healthy, event.unhealthy, now());
  }
  return {};
}

fsm::Answer Cluster::happen(const TaskOutcome& event) {
  outcomes_.add(event);
  return {};
}

// ---------------------------------------------------------------- the server

/// Stops free workers first; the next step starts them again.
void Cluster::set_queues(bool enabled) {
  if (is_free()) stop_workers();
  if (enabled)
    server_->enable_queues();
  else
    server_->disable_queues();
}

/// Triggers no evaluation, but un-pausing the broker restores the waiting ones (R-CTRL-346, 1603).
fsm::Answer Cluster::happen(const SetSchedulerConfig& event) {
  fsm::StateLog& log = server_->log();
  const std::uint64_t index = log.next_index();
  const auto& stored = state().cold->scheduler_config;
  const bool current = !event.only_after || *event.only_after == (stored ? stored->modify_index : 0);
  if (current) {
    tables::Commit commit = server_->store().begin_commit(index);
    model::SchedulerConfiguration configuration = event.configuration;
    const auto& before = state().cold->scheduler_config;
    configuration.create_index = before ? before->create_index : index;
    configuration.modify_index = index;
    commit.set_scheduler_config(configuration);
    commit.raise_index();
  }
  log.seen(index);
  fsm::Answer answer;
  answer.index = index;
  answer.entries.push_back({index, "scheduler_config", ""});
  if (!current) return answer;
  if (event.configuration.pause_eval_broker == server_->queues_enabled()) set_queues(!server_->queues_enabled());
  return answer;
}

fsm::Answer Cluster::happen(const CollectGarbage& event) {
  if (event.kind)
    watchers_->garbage().run(*event.kind, now(), written_);
  else
    watchers_->garbage().force(now(), written_);
  take(written_);
  return {};
}

/// R-CTRL-1602: drops queues and heartbeat timers; client reports fail until the next leader begins.
fsm::Answer Cluster::happen(const LeaderChange& event) {
  if (server_->queues_enabled()) set_queues(false);
  watchers_->stop_leading();
  batch_ = {}, batch_due_ = lifecycle::kNever;
  answer_senders(false);
  leader_due_ = now() + event.without_leader_ns;
  has_leader_ = false;
  return {};
}

/// R-CTRL-1601.
void Cluster::begin_leading() {
  has_leader_ = true;
  leader_due_ = lifecycle::kNever;
  const auto& configuration = state().cold->scheduler_config;
  if (!configuration || !configuration->pause_eval_broker) set_queues(true);
  watchers_->become_leader(now(), written_);
  take(written_);
}

}  // namespace berth::living
