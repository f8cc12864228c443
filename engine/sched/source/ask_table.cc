#include "sched/source/ask_table.h"

#include <algorithm>
#include <utility>

#include "sched/scratch.h"

namespace berth::sched {

using rank::Known;
using tables::NodeRow;
using tables::NodeTable;

namespace {

/// Returns the group's request if amounts alone decide the fit on a node without ports, cores and devices, and the
/// exhausted dimension.
std::optional<rank::AskedAmounts> ask_for_amounts(const tables::CompiledGroup& group) {
  if (group.has_devices || group.has_cores || group.needs.has(Need::wide_amounts)) return std::nullopt;
  return rank::AskedAmounts{static_cast<std::int32_t>(group.cpu_mhz), static_cast<std::int32_t>(group.memory_mb),
                            static_cast<std::int32_t>(group.disk_mb)};
}

}  // namespace

void AskTable::fill(const NodeTable& nodes, std::uint64_t known) {
  use.move_to(nodes), ready.move_to(nodes);
  of_row.assign(nodes.size(), known);
  counts.clear();
  unlist();
  static_epoch = nodes.static_epoch;
}

bool AskTable::follow(NodeFeed& feed, const NodeTable& nodes, const tables::CompiledGroup& group, bool distinct_hosts,
                      std::size_t most) {
  if (use.is_at(nodes) && ready.is_at(nodes)) return true;
  of_row.resize(nodes.size(), Known::kFails);  // rows of nodes that joined are in the feed
  const std::optional<NodeFeed::Rows> registered = feed.since(ready, nodes);
  if (!registered) return false;
  for (const NodeRow row : *registered) forget(row, Known::kUnknown);
  // What may be evicted, and whether the job has an allocation on the node, can change while the free amounts do not.
  const auto amounts = lists_open && !key.evicts() && !distinct_hosts ? ask_for_amounts(group) : std::nullopt;
  std::optional<NodeFeed::Rows> rows;
  if (amounts && (rows = feed.crossing(use, nodes, *amounts))) {
    for (const NodeRow row : open)
      if (Known::is_component(of_row[row])) of_row[row] = Known::kPasses;
  } else if (!(rows = feed.since(use, nodes, most))) {
    return false;
  }
  for (const NodeRow row : *rows) forget_used(row);
  if (amounts) feed.gather(nodes);
  use.move_to(nodes), ready.move_to(nodes);
  if (open.size() > changes_most(nodes)) unlist();
  return true;
}

void AskTable::enter(NodeRow row, std::uint32_t node_class, std::uint32_t why, bool is_filtered) {
  if (Known::is_short(of_row[row])) return;
  std::size_t at = 0;
  while (at < counts.size() && (counts[at].node_class != node_class || counts[at].why != why)) ++at;
  if (at >= kKinds) {
    if (lists_open && !Known::may_have_room(of_row[row])) open.push_back(row);
    of_row[row] = Known::kUnknown;
    return;
  }
  if (at == counts.size()) counts.push_back({node_class, why, 0, is_filtered});
  ++counts[at].count;
  of_row[row] = Known::kShort | at;
}

/// Replaces the node's entry by `known`, updates the counts and lists the node as open.
void AskTable::forget(NodeRow row, std::uint64_t known) {
  const std::uint64_t before = std::exchange(of_row[row], known);
  if (Known::is_short(before)) --counts[Known::detail(before)].count;
  if (lists_open && !Known::may_have_room(before)) open.push_back(row);
}

void AskTable::forget_used(NodeRow row) {
  const std::uint64_t known = of_row[row];
  if (Known::fails(known) || known == Known::kUnknown) return;
  if (Known::is_short(known) && why(known).filtered && why(known).why != kReasonDistinctHosts) return;
  forget(row, Known::kPasses);
}

AskTable& AskTables::add(const AskKey& key, std::size_t nodes) {
  if (AskTable* const known = find(key)) return *known;
  constexpr std::size_t kBytes = std::size_t{64} << 20, kTablesLeast = 4, kTablesMost = 16384;
  if (tables_.size() < std::clamp(kBytes / (sizeof(std::uint64_t) * (nodes + 1)), kTablesLeast, kTablesMost)) {
    next_ = tables_.size();
    tables_.emplace_back();
  } else {
    do next_ = (next_ + 1) % tables_.size();
    while (std::exchange(tables_[next_].used, false));
  }
  AskTable& table = tables_[next_];
  of_key_.erase(table.key);
  of_key_[key] = next_;
  table.key = key;
  table.used = true;
  table.use = NodePlace{NodePlace::kUse};
  table.filtered = {};
  table.unlist();
  return table;
}

AskTable* AskTables::find_or_note(const AskKey& key, std::size_t nodes) {
  if (AskTable* const known = find(key)) return known;
  if (std::find(noted_.begin(), noted_.end(), key) != noted_.end()) return &add(key, nodes);
  noted_[next_noted_++ % noted_.size()] = key;
  return nullptr;
}

}  // namespace berth::sched
