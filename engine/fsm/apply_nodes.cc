// Nodes in state: registration, status, eligibility, drains, deregistration (R-CTRL-901 to 906, 926, 960 to 963, 1001
// to 1005).
#include <algorithm>

#include "fsm/change.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr std::size_t kNodeEventsMax = 10;  // R-CTRL-905

/// Times of last-drain records are whole seconds.
std::string second_text(std::int64_t ns) { return base::to_rfc3339(base::Time{ns - ns % base::kSecond}); }

bool is_eligible(const model::Node& node) { return node.scheduling_eligibility == "eligible"; }

}  // namespace

// ---------------------------------------------------------------- storing

namespace {

void lay_life_over(const std::vector<std::shared_ptr<const NodeLife>>& lives,
                   const std::vector<std::uint64_t>& last_alloc_update, NodeRow row, model::Node& node) {
  if (row < last_alloc_update.size())
    node.last_alloc_update_index = std::max(node.last_alloc_update_index, last_alloc_update[row]);
  if (row >= lives.size() || !lives[row]) return;
  const NodeLife& life = *lives[row];
  node.drain_strategy = life.drain_strategy;
  node.last_drain = life.last_drain;
  node.events = life.events;
  node.status_updated_at = life.status_updated_at;
  node.last_missed_heartbeat_index = life.last_missed_heartbeat_index;
  node.modify_index = life.modify_index;
}

}  // namespace

void StateLog::show_life(NodeRow row, model::Node& node) const {
  lay_life_over(node_lives_, last_alloc_update_, row, node);
}

model::Node NodeView::node(NodeRow row) const {
  model::Node out = tables::to_node(state, row);
  lay_life_over(lives, last_alloc_update, row, out);
  return out;
}

NodeView StateLog::node_view() const { return {store_.snapshot(), node_lives_, last_alloc_update_}; }

std::optional<model::Node> StateLog::node(std::string_view id) const {
  const NodeRow row = store_.find_node(id);
  if (row == kNoRow || !store_.current().nodes.exists(row)) return std::nullopt;
  model::Node node = tables::to_node(store_.current(), row);
  show_life(row, node);
  return node;
}

std::int64_t StateLog::status_updated_at(NodeRow row) const {
  if (row < node_lives_.size() && node_lives_[row]) return node_lives_[row]->status_updated_at;
  return store_.current().nodes.spec(row).node.status_updated_at;
}

namespace {

std::uint64_t modify_index_of(const std::vector<std::shared_ptr<const NodeLife>>& lives, const tables::Snapshot& state,
                              NodeRow row) {
  return row < lives.size() && lives[row] ? lives[row]->modify_index : state.nodes.spec(row).node.modify_index;
}

}  // namespace

std::uint64_t NodeView::modify_index(NodeRow row) const { return modify_index_of(lives, *state, row); }

std::uint64_t StateLog::node_modify_index(NodeRow row) const {
  return modify_index_of(node_lives_, store_.current(), row);
}

void StateLog::store_node(Change& change, const model::Node& node) {
  touch(change, Table::nodes);
  const NodeRow row = change.commit.upsert_node(node);
  if (row < node_lives_.size()) node_lives_[row].reset();
  change.note(&EntryRows::nodes, row);
}

void StateLog::store_life(Change& change, const model::Node& node) {
  const NodeRow row = store_.find_node(node.id);
  touch(change, Table::nodes);
  change.commit.set_node_state(row, tables::parse_node_status(node.status).value_or(tables::NodeStatus::initializing),
                               is_eligible(node), node.drain_strategy.has_value());
  if (row >= node_lives_.size()) node_lives_.resize(row + 1);
  node_lives_[row] = std::make_shared<const NodeLife>(NodeLife{node.drain_strategy, node.last_drain, node.events,
                                                               node.status_updated_at, node.last_missed_heartbeat_index,
                                                               node.modify_index});
  change.note(&EntryRows::nodes, row);
}

void StateLog::add_event(std::uint64_t index, model::Node& node, const NodeEvent& event) {
  json::Value item = json::Value::object();
  item.set("Message", event.message);
  item.set("Subsystem", event.subsystem);
  if (!event.details.empty()) {
    json::Value& details = item.set("Details", json::Value::object());
    for (const auto& [key, value] : event.details) details.set(key, value);
  }
  item.set("Timestamp", base::to_rfc3339(base::Time{event.at}));
  if (index != 0) item.set("CreateIndex", index);
  if (node.events.is_null()) node.events = json::Value::array();
  json::Array& events = node.events.items();
  events.push_back(std::move(item));
  if (events.size() > kNodeEventsMax) events.erase(events.begin());
}

void StateLog::unblock_on(const model::Node& node, std::uint64_t index, bool node_too, Hooks& hooks) const {
  hooks.push_back({HookKind::unblock, nullptr, {}, node.computed_class, index});
  if (node_too) hooks.push_back({HookKind::unblock_node, nullptr, {}, {}, index, store_.find_node(node.id)});
}

void StateLog::mark_ineligible(tables::Commit& commit, NodeRow row, const NodeEvent& event) {
  Change change{commit, this, EntryKind::part};
  model::Node node = tables::to_node(store_.current(), row);
  show_life(row, node);
  node.scheduling_eligibility = "ineligible";
  node.modify_index = change.index;
  node.status_updated_at = event.at;  // ns, though the field is in seconds everywhere else
  add_event(change.index, node, event);
  store_life(change, node);
}

// ---------------------------------------------------------------- entries

std::string StateLog::apply(std::uint64_t index, const NodeRegisterEntry& entry, Hooks& hooks) {
  seen(index);
  model::Node node = entry.node;
  node.modify_index = index;
  const std::int64_t at = node.status_updated_at * base::kSecond;
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
  store_node(change, node);                                           // R-CTRL-907
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
    // R-CTRL-1005: a drain that starts has a record of its own.
    if (update.strategy && !was_draining) {
      changed.last_drain = json::Value::object();
      changed.last_drain.set("StartedAt", second_text(entry.updated_at));
    }
    if (update.strategy || was_draining) {
      if (changed.last_drain.is_null()) changed.last_drain = json::Value::object();
      changed.last_drain.set("UpdatedAt", second_text(entry.updated_at));
      changed.last_drain.set("Status", update.strategy ? "draining" : update.complete ? "complete" : "canceled");
      if (!update.meta.is_null()) changed.last_drain.set("Meta", update.meta);
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
    if (row < node_lives_.size()) node_lives_[row].reset();
    if (row < last_alloc_update_.size()) last_alloc_update_[row] = 0;
  }
  touch(change, Table::nodes);
  return "";
}

}  // namespace berth::fsm
