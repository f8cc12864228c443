#include "http/observer.h"

#include <algorithm>
#include <utility>

#include "living/log_lines.h"
#include "server/eval_line.h"

namespace berth::http {

void AgentObserver::attach(Simulation& simulation) {
  const bool first = !simulation_;
  simulation_ = &simulation;
  is_first_attempt_ = true;
  if (first) simulation.listen(this);
}

std::string AgentObserver::node_text(tables::NodeRow node) const {
  if (node == tables::kNoRow) return "";  // of an allocation whose node the cluster does not have
  return base::to_text(simulation_->state().nodes.id(node));
}

void AgentObserver::log(std::optional<base::LogLine> line) const {
  if (!line || !logs(line->level)) return;
  const auto is_node = [](const auto& field) { return field.first == "node_id"; };
  const auto node = std::find_if(line->fields.begin(), line->fields.end(), is_node);
  const std::string node_id = node == line->fields.end() ? "" : node->second;
  simulation_->monitor_log().write(line->level, line->time_ns, line->module, line->message, std::move(line->fields),
                                   node_id);
}

// ---------------------------------------------------------------- evaluations and plans: times of berth's own work

void AgentObserver::attempt(server::Lane& lane) {
  if (lane.attempts == 1 && simulation_ && logs(LogLevel::info)) lane.scratch.source_counts = {};
  attempt_ = Stopwatch();
  if (std::exchange(is_first_attempt_, false)) whole_ = Stopwatch();
}

void AgentObserver::decided(server::Lane& lane) {
  if (!simulation_) return;
  simulation_->telemetry().sample(
      "nomad.nomad.worker.invoke_scheduler." + std::string(broker::queue_name(lane.record->type)),
      attempt_.milliseconds());
}

void AgentObserver::applying(server::Lane&) { plan_ = Stopwatch(); }

void AgentObserver::applied(server::Lane& lane) {
  if (!simulation_) return;
  Telemetry& telemetry = simulation_->telemetry();
  for (const char* name : {"nomad.nomad.plan.evaluate", "nomad.nomad.plan.apply", "nomad.nomad.plan.submit",
                           "nomad.nomad.worker.submit_plan", "nomad.nomad.fsm.apply_plan_results"})
    telemetry.sample(name, plan_.milliseconds());
  for (const tables::NodeRow node : lane.applied.rejected_nodes)
    telemetry.count("nomad.nomad.plan.node_rejected", {{"node_id", node_text(node)}});
}

void AgentObserver::settled(server::Lane&) { is_first_attempt_ = true; }

void AgentObserver::failed(const server::EvalRecord& record, std::string_view why) {
  if (simulation_ && logs(LogLevel::warn))
    log(LogLevel::warn, "worker", "evaluation reached the delivery limit",
        {{"eval_id", base::to_text(record.id)}, {"reason", std::string(why)}});
}

void AgentObserver::evaluation_decided(const living::DecidedEval& what) {
  if (!simulation_) return;
  const server::EvalRecord& record = *what.lane.record;
  const tables::Snapshot& state = simulation_->state();
  std::string job, name_space;
  if (record.job != tables::kNoRow) {
    const tables::JobKey& key = state.jobs.keys[record.job];
    job = state.text(key.job_id), name_space = state.text(key.job_namespace);
  }
  const double process = whole_.milliseconds(), wait = static_cast<double>(what.waited_ns) / 1e6;
  const Labels labels{{"eval_type", std::string(broker::queue_name(record.type))},
                      {"job", job},
                      {"namespace", name_space},
                      {"triggered_by", std::string(what.trigger)}};
  Telemetry& telemetry = simulation_->telemetry();
  telemetry.sample("nomad.nomad.broker.wait_time", wait, labels);
  telemetry.sample("nomad.nomad.broker.process_time", process, labels);
  telemetry.sample("nomad.nomad.broker.response_time", wait + process, labels);
  for (const char* name : {"nomad.nomad.eval.ack", "nomad.nomad.worker.send_ack"}) telemetry.sample(name, 0);
  if (logs(LogLevel::info))
    log(LogLevel::info, "worker", server::kEvalMessage,
        server::eval_fields(what.lane, what.trigger, static_cast<std::int64_t>(process * 1e6)));
}

void AgentObserver::entry_written(const living::WrittenEntry& what) {
  if (!simulation_) return;
  simulation_->telemetry().count("nomad.raft.apply");
  if (logs(LogLevel::trace))
    log(LogLevel::trace, "fsm", "entry applied",
        {{"index", std::to_string(what.index)}, {"type", what.kind}, {"error", std::string(what.error)}});
}

// ---------------------------------------------------------------- nodes, allocations

void AgentObserver::alloc_changed(const living::AllocChange& what) {
  if (!simulation_ || what.removed) return;
  const tables::Snapshot& state = simulation_->state();
  const tables::AllocTable& allocs = state.allocs;
  const tables::Client client = allocs.client[what.row];
  const bool client_changed = !what.is_new && client != what.client_before;
  if (client_changed) {
    const char* counted = client == tables::Client::running    ? "nomad.client.allocs.running"
                          : client == tables::Client::complete ? "nomad.client.allocs.complete"
                          : client == tables::Client::failed   ? "nomad.client.allocs.failed"
                                                               : nullptr;
    if (counted) {
      const tables::JobKey& key = state.jobs.keys[allocs.job_key[what.row]];
      simulation_->telemetry().count(counted, {{"alloc_id", base::to_text(allocs.id[what.row])},
                                               {"job", std::string(state.text(key.job_id))},
                                               {"namespace", std::string(state.text(key.job_namespace))},
                                               {"task_group", std::string(state.text(allocs.group[what.row]))}});
    }
  }
  if (logs(LogLevel::info)) log(living::log_line(state, simulation_->now(), what));
}

void AgentObserver::node_changed(const living::NodeChange& what) {
  if (!simulation_) return;
  const auto line = living::log_line(simulation_->state(), simulation_->now(), what);
  if (line && living::missed_heartbeat(simulation_->state().nodes.status(what.row)))
    simulation_->telemetry().count("nomad.nomad.heartbeat.invalidate");
  log(line);
}

void AgentObserver::deployment_ended(const model::Deployment& what) {
  if (simulation_) log(living::log_line(simulation_->now(), what));
}

void AgentObserver::drain_ended(const living::DrainEnd& what) {
  if (simulation_) log(living::log_line(simulation_->state(), simulation_->now(), what));
}

}  // namespace berth::http
