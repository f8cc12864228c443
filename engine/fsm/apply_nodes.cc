// Nodes in state: registration, status, eligibility, drains, deregistration (R-CTRL-901 to 906, 926, 960 to 963, 1001
// to 1005).
#include <algorithm>

#include "base/json.h"
#include "base/later.h"
#include "fsm/change.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::kNoRow;
using tables::NodeRow;

namespace {

/// Last-drain records have times in whole seconds.
std::string second_text(std::int64_t ns) { return base::to_rfc3339(base::Time{ns - ns % base::kSecond}); }

/// Updates the states of a node's stored volumes to what it reports (R-STORE-211). Cost: O(host volumes).
void settle_host_volumes(tables::Commit& commit, const model::Node& node) {
  std::vector<model::HostVolume> changed;
  for (const model::HostVolume& volume : commit.current().cold->host_volumes) {
    if (volume.node_id != node.id) continue;
    const bool reported = node.host_volumes.contains(volume.name);
    const char* state = nullptr;
    if (reported && node.status == "ready")
      state = "ready";
    else if ((reported && node.status == "down") || (!reported && volume.state == "ready"))
      state = "unavailable";
    if (!state || volume.state == state) continue;
    changed.push_back(volume);
    changed.back().state = state, changed.back().modify_index = commit.index();
  }
  for (const model::HostVolume& volume : changed) commit.upsert_host_volume(volume);
}

}  // namespace

std::string StateLog::apply(std::uint64_t index, const NodeRegisterEntry& entry, Hooks& hooks) {
  seen(index);
  model::Node node = entry.node;
  node.modify_index = index;
  const std::int64_t at = base::instant_ns(node.status_updated_at);
  if (const auto before = this->node(node.id)) {  // R-CTRL-903
    node.create_index = before->create_index;
    node.scheduling_eligibility = before->scheduling_eligibility;
    node.drain_strategy = before->drain_strategy;
    node.last_drain = before->last_drain;
    node.events = before->events;
    node.last_missed_heartbeat_index = std::max(node.last_missed_heartbeat_index, before->last_missed_heartbeat_index);
    node.last_alloc_update_index = std::max(node.last_alloc_update_index, before->last_alloc_update_index);
    if (before->status == "down" && node.status != "down")  // R-CTRL-904
      add_event(index, node, {"Node re-registered", "Cluster", at, {}});
  } else {
    node.create_index = index;
    node.events = {};
    add_event(0, node, {"Node registered", "Cluster", at, {}});
  }
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::node_register};
  if (node.node_pool != "default" && node.node_pool != "all" && change.commit.add_node_pool(node.node_pool)) {
    touch(change, Table::node_pools);
    change.note(&EntryRows::pools, node.node_pool);
  }
  store_node(change, node);  // R-CTRL-907
  settle_host_volumes(change.commit, node);
  if (node.status == "ready") unblock_on(node, index, false, hooks);  // R-CTRL-822
  return "";
}

std::string StateLog::apply(std::uint64_t index, const NodeStatusEntry& entry, Hooks& hooks) {
  seen(index);
  auto changed = node(entry.node_id);
  if (!changed) return "node not found";
  const auto alive = [](const std::string& status) { return status == "initializing" || status == "ready"; };
  if (alive(changed->status) && (entry.status == "down" || entry.status == "disconnected"))  // R-CTRL-926
    changed->last_missed_heartbeat_index = index;
  else if (entry.status == "ready" && changed->status != "ready")
    changed->last_missed_heartbeat_index = 0;
  changed->status = entry.status;
  changed->status_updated_at = entry.updated_at;
  changed->modify_index = index;
  if (entry.event) add_event(index, *changed, *entry.event);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::node_status};
  store_life(change, *changed);
  settle_host_volumes(change.commit, *changed);
  if (entry.status == "ready") unblock_on(*changed, index, true, hooks);  // R-CTRL-823
  return "";
}

std::string StateLog::apply(std::uint64_t index, const NodeEligibilityEntry& entry, Hooks& hooks) {
  seen(index);
  auto changed = node(entry.node_id);
  if (!changed) return "node not found";
  if (entry.eligible && changed->drain_strategy)  // R-CTRL-960
    return "can not set node's scheduling eligibility to eligible while it is draining";
  const bool became_eligible = entry.eligible && !is_eligible(*changed);
  changed->scheduling_eligibility = entry.eligible ? "eligible" : "ineligible";
  changed->status_updated_at = entry.updated_at;
  changed->modify_index = index;
  if (entry.event) add_event(index, *changed, *entry.event);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::node_eligibility};
  store_life(change, *changed);
  if (became_eligible) unblock_on(*changed, index, true, hooks);  // R-CTRL-824
  return "";
}

std::string StateLog::apply(std::uint64_t index, const NodeDrainEntry& entry, Hooks& hooks) {
  seen(index);
  for (const NodeDrainEntry::Update& update : entry.updates)
    if (!node(update.node_id)) return "node not found";
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::node_drain};
  for (const NodeDrainEntry::Update& update : entry.updates) {
    model::Node changed = *node(update.node_id);
    const bool was_draining = changed.drain_strategy.has_value(), was_eligible = is_eligible(changed);
    if (update.event) add_event(index, changed, *update.event);
    // R-CTRL-1005: a new drain gets a record of its own.
    if (update.strategy && !was_draining) {
      changed.last_drain = json::Value::object();
      changed.last_drain.set("StartedAt", second_text(entry.updated_at));
    }
    if (update.strategy || was_draining) {
      if (changed.last_drain.is_null()) changed.last_drain = json::Value::object();
      changed.last_drain.set("UpdatedAt", second_text(entry.updated_at));
      changed.last_drain.set("Status", update.strategy ? "draining" : update.complete ? "complete" : "canceled");
      const bool starts = update.strategy && !was_draining;  // R-API-311
      if (update.meta.size() != 0 || (starts && !update.meta.is_null())) changed.last_drain.set("Meta", update.meta);
    }
    changed.drain_strategy = update.strategy;
    if (update.strategy)  // R-CTRL-1003
      changed.scheduling_eligibility = "ineligible";
    else if (update.mark_eligible)
      changed.scheduling_eligibility = "eligible";
    changed.status_updated_at = entry.updated_at / base::kSecond;
    changed.modify_index = index;
    store_life(change, changed);
    if (update.mark_eligible && !was_eligible) unblock_on(changed, index, true, hooks);  // R-CTRL-825
  }
  return "";
}

std::string StateLog::apply(std::uint64_t index, const NodeDeregisterEntry& entry, Hooks&) {
  seen(index);
  for (const std::string& id : entry.node_ids)
    if (const NodeRow row = store_.find_node(id); row == kNoRow || !store_.current().nodes.exists(row))
      return "node not found";
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::node_deregister};
  for (const std::string& id : entry.node_ids) {
    const NodeRow row = store_.find_node(id);
    if (entry_listener_) change.note(&EntryRows::deleted_nodes, std::make_shared<const model::Node>(*node(id)));
    change.commit.remove_node(row);
    std::vector<std::string> volumes;  // R-STORE-216
    for (const model::HostVolume& volume : change.commit.current().cold->host_volumes)
      if (volume.node_id == id) volumes.push_back(volume.id);
    for (const std::string& volume : volumes) change.commit.remove_host_volume(volume);
    if (row < node_lives_.size()) node_lives_[row].reset();
    if (row < last_alloc_update_.size()) last_alloc_update_[row] = 0;
  }
  touch(change, Table::nodes);
  return "";
}

}  // namespace berth::fsm
