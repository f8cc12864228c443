#include "fsm/requests.h"

#include <algorithm>

#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::fsm {

model::Evaluation Requests::new_eval(const model::Job& job, std::string_view trigger, std::int64_t now) {
  model::Evaluation eval;
  eval.id = next_id_();
  eval.namespace_ = job.namespace_;
  eval.job_id = job.id;
  eval.priority = job.priority;
  eval.type = job.type;
  eval.triggered_by = trigger;
  eval.status = "pending";
  eval.create_time = eval.modify_time = now;
  return eval;
}

Answer Requests::stop_alloc(const std::string& alloc_id, bool reschedule, bool no_shutdown_delay, std::int64_t now) {
  Answer answer;
  const auto alloc = log_.alloc(alloc_id);
  if (!alloc) {
    answer.error = "Unknown allocation \"" + alloc_id + "\"";
    return answer;
  }
  TransitionEntry entry;
  model::DesiredTransition transition;  // R-CTRL-1120
  transition.migrate = true;
  transition.reschedule = reschedule;
  transition.no_shutdown_delay = no_shutdown_delay;
  entry.allocs.emplace_back(alloc_id, transition);
  if (alloc->job) {
    model::Evaluation eval = new_eval(*alloc->job, "alloc-stop", now);  // R-CTRL-218
    eval.namespace_ = alloc->namespace_;
    eval.job_modify_index = alloc->job->modify_index;
    answer.eval_id = eval.id;
    entry.evals.push_back(std::move(eval));
  }
  write(answer, "alloc_transition", entry);
  return answer;
}

std::optional<model::Evaluation> Requests::eval_of_report(tables::AllocRow row, tables::Client status, bool terminal,
                                                          std::int64_t now) {
  if (row == tables::kNoRow) return std::nullopt;  // R-CTRL-760
  const bool failed = status == tables::Client::failed;
  const tables::Snapshot& state = log_.store().current();
  const bool was_unknown = state.allocs.client[row] == tables::Client::unknown;
  if (!terminal && !was_unknown) return std::nullopt;  // R-CTRL-761
  const bool has_job = state.jobs.keys[state.allocs.job_key[row]].current != tables::kNoRow;
  if (has_job && !failed && !was_unknown) return std::nullopt;  // no rule below requires one
  const model::Allocation stored = log_.stored_alloc(row);
  const auto job = log_.job(stored.namespace_, stored.job_id);
  model::Evaluation eval;
  eval.namespace_ = stored.namespace_;
  eval.job_id = stored.job_id;
  eval.status = "pending";
  eval.create_time = eval.modify_time = now;
  if (!job) {  // R-CTRL-762
    if (!stored.job) return std::nullopt;
    eval.type = stored.job->type;
    eval.priority = stored.job->priority;
    eval.triggered_by = "job-deregister";
    return eval;
  }
  eval.type = job->type;
  eval.priority = job->priority;
  if (failed && stored.followup_eval_id.empty()) {  // R-CTRL-763
    const model::TaskGroup* group = job->group(stored.task_group);
    if (!group) return std::nullopt;
    const model::ReschedulePolicy* policy = group->reschedule_policy ? &*group->reschedule_policy : nullptr;
    if (model::is_reschedule_eligible(stored, policy, base::Time{now})) eval.triggered_by = "alloc-failure";
  }
  if (was_unknown) eval.triggered_by = "reconnect";  // R-CTRL-764
  if (eval.triggered_by.empty()) return std::nullopt;
  return eval;
}

std::string Requests::receive_reports(std::vector<model::Allocation> reports, std::int64_t now,
                                      ClientUpdateEntry& batch) {
  if (reports.empty()) return "must update at least one allocation";  // R-CTRL-746
  const std::string& node_id = reports.front().node_id;
  if (node_id.empty()) return "missing node ID";
  const tables::NodeRow node = log_.store().find_node(node_id);
  if (node == tables::kNoRow || !log_.store().current().nodes.exists(node)) return "node " + node_id + " not found";
  if (!takes_reports(node)) return why_no_reports(node);
  for (model::Allocation& report : reports) receive(std::move(report), now, batch);
  return "";
}

bool Requests::takes_reports(tables::NodeRow node) const {
  const tables::NodeTable& nodes = log_.store().current().nodes;
  if (!nodes.exists(node)) return false;
  const tables::NodeStatus status = nodes.status(node);
  if (strict_ready_updates_) return status == tables::NodeStatus::ready;
  return status != tables::NodeStatus::down && status != tables::NodeStatus::disconnected;
}

std::string Requests::why_no_reports(tables::NodeRow node) const {
  const tables::Snapshot& state = log_.store().current();
  if (!state.nodes.exists(node)) return "node not found";
  const std::string name = "node " + tables::node_id(state, node), status = tables::to_text(state.nodes.status(node));
  if (strict_ready_updates_) return name + " is " + status + ", not ready";
  return name + " is not allowed to update allocs while in status " + status;
}

void Requests::receive(tables::ClientReport report, std::int64_t now, ClientUpdateEntry& batch) {
  report.modify_time = now;  // R-CTRL-748
  const tables::AllocTable& allocs = log_.store().current().allocs;
  const bool there = allocs.exists(report.row) && allocs.id[report.row] == report.id;
  add_eval(
      eval_of_report(there ? report.row : tables::kNoRow, report.status, tables::client_terminal(report.status), now),
      batch);
  if (there) log_.ask_for(report);
  batch.reports.push_back(report);
}

void Requests::receive(model::Allocation report, std::int64_t now, ClientUpdateEntry& batch) {
  report.modify_time = now;  // R-CTRL-748
  const auto status = tables::parse_client(report.client_status).value_or(tables::Client::pending);
  add_eval(eval_of_report(log_.store().find_alloc(report.id), status, model::is_terminal(report), now), batch);
  batch.add(std::move(report));
}

/// Adds one evaluation per job to a batch; an ID is drawn for each evaluation that a report requires.
void Requests::add_eval(std::optional<model::Evaluation> eval, ClientUpdateEntry& batch) {
  if (!eval) return;
  eval->id = next_id_();
  const bool known = std::any_of(batch.evals.begin(), batch.evals.end(), [&](const model::Evaluation& other) {
    return other.namespace_ == eval->namespace_ && other.job_id == eval->job_id;
  });
  if (!known) batch.evals.push_back(std::move(*eval));
}

void Requests::write_reports(ClientUpdateEntry& batch, std::int64_t flush, Answer& answer) {
  answer.clear();
  for (model::Evaluation& eval : batch.evals) eval.create_time = eval.modify_time = flush;  // R-CTRL-749
  write(answer, "alloc_client_update", batch);
  batch.clear();
}

Answer Requests::update_allocs(std::vector<model::Allocation> reports, std::int64_t now, std::int64_t flush) {
  ClientUpdateEntry batch;
  Answer answer;
  answer.error = receive_reports(std::move(reports), now, batch);
  if (answer.error.empty()) write_reports(batch, flush, answer);
  return answer;
}

}  // namespace berth::fsm
