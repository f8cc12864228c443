// Node data stored outside the tables, and nodes as the API shows them.
#include <algorithm>

#include "base/json.h"
#include "fsm/change.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr std::size_t kNodeEventsMax = 10;  // R-CTRL-905

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
  hooks.push_back({.kind = HookKind::unblock, .id = node.computed_class, .index = index});
  if (node_too) hooks.push_back({.kind = HookKind::unblock_node, .index = index, .node = store_.find_node(node.id)});
}

void StateLog::mark_ineligible(tables::Commit& commit, NodeRow row, const NodeEvent& event) {
  Change change{commit, this, EntryKind::part};
  model::Node node = tables::to_node(store_.current(), row);
  show_life(row, node);
  node.scheduling_eligibility = "ineligible";
  node.modify_index = change.index;
  node.status_updated_at = event.at;  // ns, although the field is in seconds everywhere else
  add_event(change.index, node, event);
  store_life(change, node);
}

}  // namespace berth::fsm
