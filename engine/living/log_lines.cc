#include "living/log_lines.h"

namespace berth::living {

using base::LogLevel;
using base::LogLine;

bool missed_heartbeat(tables::NodeStatus status) {
  return status == tables::NodeStatus::down || status == tables::NodeStatus::disconnected;
}

std::optional<LogLine> log_line(const tables::Snapshot& state, std::int64_t now_ns, const AllocChange& change) {
  if (change.removed) return std::nullopt;
  const tables::AllocTable& allocs = state.allocs;
  const tables::Client client = allocs.client[change.row];
  const tables::Desired desired = allocs.desired[change.row];
  const char* const message = change.is_new                      ? "allocation placed"
                              : client != change.client_before   ? "allocation changed"
                              : desired != change.desired_before ? "allocation is to change"
                                                                 : nullptr;
  if (!message) return std::nullopt;
  const tables::NodeRow node = allocs.node[change.row];
  return LogLine{LogLevel::info,
                 now_ns,
                 "client.alloc_runner",
                 message,
                 {{"alloc_id", base::to_text(allocs.id[change.row])},
                  {"node_id", node == tables::kNoRow ? "" : base::to_text(state.nodes.id(node))},
                  {"desired_status", tables::to_text(desired)},
                  {"client_status", tables::to_text(client)}}};
}

std::optional<LogLine> log_line(const tables::Snapshot& state, std::int64_t now_ns, const NodeChange& change) {
  if (change.removed || change.is_new) return std::nullopt;
  const tables::NodeStatus status = state.nodes.status(change.row);
  if (status == change.status_before) return std::nullopt;
  const bool missed = missed_heartbeat(status);
  return LogLine{missed ? LogLevel::warn : LogLevel::info,
                 now_ns,
                 "nomad.heartbeat",
                 missed ? "node TTL expired" : "node status changed",
                 {{"node_id", base::to_text(state.nodes.id(change.row))}, {"status", tables::to_text(status)}}};
}

LogLine log_line(std::int64_t now_ns, const model::Deployment& ended) {
  return {LogLevel::info,
          now_ns,
          "deployments_watcher",
          "deployment ended",
          {{"deployment_id", ended.id}, {"job_id", ended.job_id}, {"status", ended.status}}};
}

LogLine log_line(const tables::Snapshot& state, std::int64_t now_ns, const DrainEnd& end) {
  return {LogLevel::info,
          now_ns,
          "nomad.drain",
          end.completed ? "node drain complete" : "node drain ended",
          {{"node_id", base::to_text(state.nodes.id(end.node))}}};
}

}  // namespace berth::living
