#include "lifecycle/nodes.h"

namespace berth::lifecycle {

std::int64_t Nodes::set_timer(const std::string& node_id, const fsm::NodeAnswer& answer, std::int64_t now) {
  if (!answer.error.empty() || !answer.resets_timer) return 0;
  return heartbeats_.reset(log_.store().find_node(node_id), now);
}

fsm::NodeAnswer Nodes::register_node(model::Node node, std::int64_t now, bool restarted) {
  const std::string id = node.id;
  fsm::NodeAnswer answer = requests_.register_node(std::move(node), now, restarted);
  set_timer(id, answer, now);
  return answer;
}

fsm::NodeAnswer Nodes::update_status(const std::string& node_id, const std::string& status, std::int64_t now) {
  fsm::NodeAnswer answer = requests_.update_status(node_id, status, now);
  set_timer(node_id, answer, now);
  return answer;
}

fsm::NodeAnswer Nodes::heartbeat_missed(const std::string& node_id, std::int64_t now) {
  if (const tables::NodeRow row = log_.store().find_node(node_id); row != tables::kNoRow) heartbeats_.clear(row);
  fsm::NodeAnswer answer = requests_.heartbeat_missed(node_id, now);
  set_timer(node_id, answer, now);
  return answer;
}

fsm::NodeAnswer Nodes::deregister(const std::vector<std::string>& node_ids, std::int64_t now, bool machine_gone) {
  fsm::NodeAnswer answer = requests_.deregister(node_ids, now, machine_gone);
  if (answer.clears_timers)
    for (const std::string& id : node_ids) heartbeats_.clear(log_.store().find_node(id));
  return answer;
}

std::int64_t Nodes::heartbeat(tables::NodeRow node, std::int64_t now, Outbox& out) {
  const tables::NodeTable& nodes = log_.store().current().nodes;
  if (!nodes.exists(node)) return 0;
  if (nodes.status(node) == tables::NodeStatus::ready) return heartbeats_.reset(node, now);  // R-CTRL-927
  const std::string id = base::to_text(nodes.id(node));
  const fsm::NodeAnswer answer = requests_.update_status(id, "ready", now);
  out.add(now, answer);
  return set_timer(id, answer, now);
}

void Nodes::become_leader(std::int64_t now) {
  heartbeats_.clear_all();
  const tables::NodeTable& nodes = log_.store().current().nodes;
  for (tables::NodeRow row = 0; row < nodes.size(); ++row)
    if (nodes.exists(row) && nodes.status(row) != tables::NodeStatus::down) heartbeats_.reset_for_failover(row, now);
}

void Nodes::advance(std::int64_t now, Outbox& out) {
  while (const auto row = heartbeats_.take_missed(now)) {
    const std::string id = base::to_text(log_.store().current().nodes.id(*row));
    out.add(now, heartbeat_missed(id, now));
  }
}

}  // namespace berth::lifecycle
