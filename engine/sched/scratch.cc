#include "sched/scratch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "rank/spread.h"
#include "tables/state.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

Reasons::Reasons() {
  static constexpr const char* kTexts[kFixedReasons] = {"",
                                                        "computed class ineligible",
                                                        "missing drivers",
                                                        "missing devices",
                                                        "missing network",
                                                        "missing secrets provider",
                                                        "missing compatible host volumes",
                                                        "distinct_hosts",
                                                        "cpu",
                                                        "cores",
                                                        "memory",
                                                        "disk",
                                                        "max allocation exceeded",
                                                        "network: invalid node",
                                                        "network: port collision",
                                                        "devices: no devices match request"};
  for (const char* text : kTexts) {
    ids_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    texts_.emplace_back(text);
  }
}

std::uint32_t Reasons::id(std::string_view text) {
  std::string key(text);
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(key);
  ids_.emplace(std::move(key), id);
  return id;
}

NodeRow find_node(const Snapshot& snapshot, std::string_view id) {
  const auto wanted = base::parse_uuid(id);
  if (!wanted) return kNoRow;
  const auto& by_id = *snapshot.nodes.fixed->by_id;
  const auto at = std::lower_bound(by_id.begin(), by_id.end(), *wanted,
                                   [&](NodeRow row, base::Uuid key) { return snapshot.nodes.id(row) < key; });
  return at != by_id.end() && snapshot.nodes.id(*at) == *wanted ? *at : kNoRow;
}

match::Side resolve(const Snapshot& snapshot, const match::Target& target, tables::ColumnId column, NodeRow row,
                    std::string& id_text) {
  if (column != tables::kNoColumn) {
    const std::string* text = snapshot.value_text(column, row);
    return text ? match::Side{*text, true} : match::Side{};
  }
  if (target.kind == match::TargetKind::node_id) {
    id_text = base::to_text(snapshot.nodes.id(row));
    return {id_text, true};
  }
  return match::fixed_side(target);
}

bool Verdicts::evaluate(const Snapshot& snapshot, const tables::CompiledConstraint& c, NodeRow row) {
  ++evaluations_;
  std::string left_id, right_id;
  const match::Side left = resolve(snapshot, c.test.left, c.left, row, left_id);
  const match::Side right = resolve(snapshot, c.test.right, c.right, row, right_id);
  return match::holds(c.test, left, right, patterns_);
}

tables::ColumnId Verdicts::column_of(const Snapshot& snapshot, tables::ConstraintId id) {
  const tables::CompiledConstraint& c = *snapshot.constraints[id];
  return c.test.right.is_fixed() ? c.left : tables::kNoColumn;
}

bool Verdicts::ask(const Snapshot& snapshot, tables::ConstraintId id, NodeRow row) {
  const tables::CompiledConstraint& c = *snapshot.constraints[id];
  if (column_of(snapshot, id) == tables::kNoColumn) return evaluate(snapshot, c, row);
  if (id >= entries_.size()) entries_.resize(snapshot.constraints.size());
  Entry& entry = entries_[id];
  entry.column = c.left;
  const std::uint32_t code = snapshot.nodes.code(c.left, row);
  if (code >= entry.known.size()) entry.known.resize(snapshot.nodes.column(c.left).values.size() + 1, kUnknown);
  entry.known[code] = evaluate(snapshot, c, row) ? kYes : kNo;
  return entry.known[code] == kYes;
}

bool KindVerdicts::enter(std::uint32_t ask, std::uint64_t number) {
  if (numbers_.size() <= ask) numbers_.resize(ask + 1, 0);
  const std::uint64_t before = std::exchange(numbers_[ask], number);
  if (before == number || before == 0) return false;
  for (Table* const table : {&kinds_, &classes_})
    if (ask < table->asks.size()) table->size -= table->asks[ask].size(), table->asks[ask].clear();
  return true;
}

std::uint32_t& KindVerdicts::grow(Table& table, std::uint32_t ask, std::uint32_t code) {
  constexpr std::size_t kMost = std::size_t{1} << 22;  // 16 MiB; requests come and go
  if (table.size > kMost) table = {};
  if (table.asks.size() <= ask) table.asks.resize(ask + 1);
  std::vector<std::uint32_t>& known = table.asks[ask];
  const std::size_t before = known.size();
  known.resize(std::max<std::size_t>({code + 1, 2 * before, 64}), kUnknown);
  table.size += known.size() - before;
  return known[code];
}

void Scratch::prepare(std::size_t nodes) {
  // Per node: 130 B of columns, 90 B of positions and cells, and more for further groups. A few MiB at most, because on
  // large clusters most Selects visit few nodes.
  constexpr std::size_t kPerNode = 256, kMost = std::size_t{4} << 20;
  by_attempt.marks.resize(std::max(by_attempt.marks.size(), nodes));
  by_attempt.overlays.resize(std::min(nodes, kPreparedAllocs));
  by_attempt.overlays.clear();
  if (nodes > 0) arena.prepare(std::min(nodes * kPerNode, kMost));
}

void Scratch::start_attempt(const Snapshot& snapshot) {
  if (by_attempt.marks.size() < snapshot.nodes.size()) by_attempt.marks.resize(snapshot.nodes.size());
  by_attempt.overlays.clear();
  strategy_fit.start();
  if (++by_attempt.epoch == 0) {
    std::fill(by_attempt.marks.begin(), by_attempt.marks.end(), NodeMark{});
    by_attempt.epoch = 1;
  }
}

NodeOverlay& Scratch::own_overlay(NodeRow row) {
  NodeMark& m = mark(row);
  if (m.overlay == kNoRow) {
    m.overlay = static_cast<std::uint32_t>(by_attempt.overlays.size());
    by_attempt.overlays.emplace_back().row = row;
  }
  return by_attempt.overlays[m.overlay];
}

const ReadyNodes& Scratch::ready_nodes(const Snapshot& snapshot, std::uint32_t base_set) {
  if (ready_.size() < snapshot.base_sets.size()) ready_.resize(snapshot.base_sets.size());
  OfBaseSet& out = ready_[base_set];
  const std::shared_ptr<const tables::BaseSet>& shared = snapshot.base_sets[base_set];
  if (out.number != shared->number) out = {shared->number, nullptr, nullptr, nullptr};  // another set's from before
  if (out.last && out.last->is_of(snapshot.nodes)) return *out.last;
  if (shared->ready && shared->ready->is_of(snapshot.nodes)) {
    out.shared = shared;
    out.last = shared->ready.get();
    return *out.last;
  }
  if (!out.own) out.own = shared->ready ? std::make_unique<ReadyNodes>(*shared->ready) : std::make_unique<ReadyNodes>();
  out.own->follow(snapshot.nodes, *snapshot.symbols, shared->key);
  out.last = out.own.get();
  return *out.last;
}

const ColumnMirror& Scratch::mirror(const Snapshot& snapshot, const tables::ColumnTarget& target) {
  const bool by_column = target.column != tables::kNoColumn;
  // All attributes that no node has share one mirror, since jobs may name any number of them.
  const bool no_values = by_column && snapshot.nodes.column(target.column).codes.empty();
  ColumnMirror& out = mirrors_[no_values   ? MirrorKey{tables::kNoColumn, match::TargetKind::unresolved, {}}
                               : by_column ? MirrorKey{target.column, {}, {}}
                                           : MirrorKey{tables::kNoColumn, target.target.kind, target.target.key}];
  if (out.epoch == snapshot.nodes.static_epoch) return out;
  out.epoch = snapshot.nodes.static_epoch;
  const std::size_t nodes = snapshot.nodes.size();
  out.code_of_row.assign(nodes, rank::kNoValue);
  out.text.clear(), out.ascending.clear();
  if (no_values) return out;
  if (by_column) {
    const tables::KeyedColumn& column = snapshot.nodes.column(target.column);
    for (NodeRow row = 0; row < nodes; ++row)
      if (const std::uint32_t code = column.code(row); code != 0 && snapshot.nodes.exists(row))
        out.code_of_row[row] = code - 1;
    for (std::size_t code = 1; code <= column.values.size(); ++code)
      out.text.emplace_back(snapshot.text(column.value(static_cast<std::uint32_t>(code))));
  } else {
    out.own_texts.clear();
    std::string id;
    for (NodeRow row = 0; row < nodes; ++row) {
      if (!snapshot.nodes.exists(row)) continue;
      const match::Side side = resolve(snapshot, target.target, target.column, row, id);
      if (!side.found) continue;
      if (target.target.kind == match::TargetKind::node_id) {
        out.code_of_row[row] = static_cast<std::uint32_t>(out.text.size());
        out.text.emplace_back(out.own_texts.emplace_back(side.text));
      } else {
        out.code_of_row[row] = 0;
        if (out.text.empty()) out.text.emplace_back(out.own_texts.emplace_back(side.text));
      }
    }
  }
  out.ascending.resize(out.text.size());
  for (std::uint32_t i = 0; i < out.ascending.size(); ++i) out.ascending[i] = i;
  std::sort(out.ascending.begin(), out.ascending.end(),
            [&](std::uint32_t a, std::uint32_t b) { return out.text[a] < out.text[b]; });
  return out;
}

std::uint32_t Scratch::reason_of(const Snapshot& snapshot, tables::ConstraintId id) {
  if (by_content.constraint_reason.size() <= id) by_content.constraint_reason.resize(snapshot.constraints.size());
  std::uint32_t& reason = by_content.constraint_reason[id];
  if (reason == 0) reason = reasons.id(snapshot.constraints[id]->reason);
  return reason;
}

void Scratch::enter(const Snapshot& snapshot, const tables::CompiledJob& job) {
  auto& numbers = by_content.constraint_numbers;
  const auto constraint = [&](tables::ConstraintId id) {
    if (numbers.size() <= id) numbers.resize(snapshot.constraints.size(), 0);
    const std::uint64_t number = snapshot.constraints[id]->number;
    if (std::exchange(numbers[id], number) == number) return;
    by_content.verdicts.forget(id);
    if (id < by_content.constraint_reason.size()) by_content.constraint_reason[id] = 0;
  };
  for (const tables::ConstraintId id : job.constraints) constraint(id);
  for (const tables::CompiledGroup& group : job.groups) {
    for (const tables::ConstraintId id : group.constraints) constraint(id);
    for (const tables::CompiledAffinity& affinity : group.affinities) constraint(affinity.constraint);
    if (group.checks != kNoRow && by_content.kind_verdicts.enter(group.checks, group.checks_number))
      by_content.visits_per_option.forget(group.checks);
  }
}

}  // namespace berth::sched
