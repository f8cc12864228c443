// Messages between clients and the server (R-CTRL-1501 to 1543, 746 to 749).
#include <algorithm>
#include <span>

#include "client/server_tables.h"
#include "living/living.h"

namespace berth::living {

using client::Answer;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

void Cluster::start_client(NodeRow node, std::shared_ptr<const model::Node> machine) {
  if (node >= machines_.size()) {
    machines_.resize(node + 1), news_.resize(node + 1);
    is_registered_.resize(node + 1), is_restarted_.resize(node + 1);
  }
  machines_[node] = std::move(machine);
  is_registered_[node] = true, is_restarted_[node] = false;
  clients_->start(node, now());
}

/// Handles all messages that clients send now.
void Cluster::exchange() {
  sent_.clear();
  clients_->advance(now(), sent_);
  for (const client::Expected& next : sent_.expected) {
    tables::prefetch_rows(server_->store(), next.alloc, next.node);
    recorder_->expected(next.alloc);
  }
  for (const NodeRow node : sent_.registrations) answer_registration(node);
  for (const NodeRow node : sent_.heartbeats) answer_heartbeat(node);
  for (const client::Outbox::Pull& pull : sent_.pulls) answer_pull(pull);
  for (const client::Outbox::Request& request : sent_.requests) take_reports(request);
}

void Cluster::answer_registration(NodeRow node) {
  ++counts_.registrations;
  if (!has_leader()) return clients_->registered(node, Answer::no_leader, now());
  bool ok = true;
  const bool restarted = is_restarted_[node];
  if (!is_registered_[node] || !state().nodes.exists(node)) {
    const fsm::NodeAnswer answer = watchers_->nodes().register_node(*machines_[node], now(), restarted);
    ok = answer.error.empty();
    if (ok) is_restarted_[node] = false;
    take(answer);
  }
  is_registered_[node] = false;
  clients_->registered(node, ok ? Answer::ok : Answer::failed, now());
  // Recorded clients that start again send their first heartbeat some 30 ms after they registered, not at a random time
  // of the first 10 s (R-CTRL-1540).
  if (ok && restarted) clients_->heartbeat_at(node, next_request());
}

/// When a client that was answered now sends its next request: some milliseconds later, unless intervals collapse
/// (R-CTRL-1707).
std::int64_t Cluster::next_request() const {
  constexpr std::int64_t kRequestNs = 10'000'000;
  return config_.clients.report_tick_ns == 0 ? now() : now() + kRequestNs;
}

/// Recorded nodes that return are ready 8 to 13 ms after their report, which is as long as an evaluation with five
/// attempts takes: the first evaluation after the report finds such a node not ready, and its plan is refused
/// (R-CTRL-610). Evaluations take no virtual time here, so the end of one stands for that time.
void Cluster::greet_returning() {
  for (const NodeRow node : returning_)
    if (state().nodes.exists(node) && state().nodes.status(node) == tables::NodeStatus::initializing)
      clients_->heartbeat_at(node, now());
  returning_.clear();
}

void Cluster::answer_heartbeat(NodeRow node) {
  ++counts_.heartbeats;
  if (!has_leader()) return clients_->heartbeat_answered(node, Answer::no_leader, 0, now());
  if (!state().nodes.exists(node)) return clients_->heartbeat_answered(node, Answer::not_found, 0, now());
  const std::int64_t ttl = watchers_->nodes().heartbeat(node, now(), written_);
  if (!written_.entries.empty()) take(written_);
  clients_->heartbeat_answered(node, Answer::ok, ttl, now());
}

void Cluster::answer_pull(const client::Outbox::Pull& pull) {
  ++counts_.pulls;
  pulled_.clear();
  std::vector<AllocRow>& news = news_[pull.node];
  if (pull.complete) {
    if (pull.node < resumes_.size()) pulled_.resume = resumes_[pull.node], resumes_[pull.node] = false;
    client::read_node(server_->store(), pull.node, pulled_);
  } else {
    pulled_.complete = false;
    std::sort(news.begin(), news.end());
    news.erase(std::unique(news.begin(), news.end()), news.end());
    const tables::AllocTable& allocs = state().allocs;
    for (const AllocRow row : news)  // the row may since have been reused for another node
      if (!allocs.exists(row) || allocs.node[row] == pull.node) client::read_alloc(server_->store(), row, pulled_);
  }
  news.clear();
  clients_->deliver(pull.node, pulled_, now());
}

/// Receives reports now; they are written, and answered, with the batch (R-CTRL-748, 749).
void Cluster::take_reports(const client::Outbox::Request& request) {
  ++counts_.requests;
  if (!has_leader()) return clients_->report_answered(request.node, false, now());
  const std::span<const client::AllocReport> reports(sent_.reports.data() + request.begin, request.count);
  const auto is_there = [&](const client::AllocReport& report) { return state().allocs.exists(report.alloc); };
  const auto there = std::count_if(reports.begin(), reports.end(), is_there);
  counts_.reports += static_cast<std::uint64_t>(there);
  if (there == 0) return clients_->report_answered(request.node, true, now());
  fsm::Requests& requests = server_->requests();
  if (!requests.takes_reports(request.node)) return clients_->report_answered(request.node, false, now());
  for (const client::AllocReport& report : reports) {
    if (!is_there(report)) continue;
    std::optional<tables::ClientReport> row;
    if (!config_.object_reports) row = client::to_row(server_->store(), request.node, report, sent_);
    if (row)
      requests.receive(*row, now(), batch_);
    else
      requests.receive(client::to_update(state(), request.node, report, sent_), now(), batch_);
  }
  if (senders_.empty()) batch_due_ = now() + config_.server.client_batch_ns;
  senders_.push_back(request.node);
}

void Cluster::flush_reports() {
  batch_due_ = lifecycle::kNever;
  watchers_->pass_on_changes(now());
  write_logs();
  server_->requests().write_reports(batch_, now(), flushed_);
  take(flushed_);
  by_clients_ = true;
  watchers_->pass_on_changes(now());
  by_clients_ = false;
  answer_senders(flushed_.error.empty());
}

/// Writes the task events just before the reports that contain them, so that listeners to the reports see both.
void Cluster::write_logs() {
  if (!config_.journal) return;
  logs_.clear();
  for (const NodeRow node : senders_) clients_->reported_logs(node, logs_);
  tables::Commit commit = server_->store().begin_commit();
  for (auto& [alloc, log] : logs_)
    if (state().allocs.exists(alloc)) commit.set_task_log(alloc, std::move(log));
}

void Cluster::answer_senders(bool ok) {
  for (const NodeRow node : senders_) {
    clients_->report_answered(node, ok, now());
    // A returning node waits only for this (R-CTRL-922, 931).
    if (!ok || !state().nodes.exists(node) || state().nodes.status(node) != tables::NodeStatus::initializing) continue;
    clients_->heartbeat_at(node, next_request());
    returning_.push_back(node);
  }
  senders_.clear();
}

/// Notifies clients of changed allocations, as a server's long polls do.
void Cluster::notify_clients(const tables::Changes& changes) {
  const tables::AllocTable& allocs = state().allocs;
  if (!by_clients_ && changes.allocs.size() > 1)
    for (const AllocRow row : changes.allocs)
      if (allocs.exists(row)) clients_->ask_for(allocs.node[row]);
  for (const AllocRow row : changes.allocs) {
    const bool exists = allocs.exists(row);
    clients_->upstream_changed({row, allocs.client[row], !exists}, now());
    const NodeRow node = exists ? allocs.node[row] : clients_->row_freed(row, now());
    if (by_clients_ || node == kNoRow || !clients_->has(node)) continue;  // R-CTRL-1501
    if (exists) news_[node].push_back(row);
    clients_->allocs_changed(node, now());
  }
}

}  // namespace berth::living
