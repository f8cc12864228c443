#include "tables/worker_view.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "tables/table_lock.h"

namespace berth::tables {
namespace {

/// Copying a single row costs about three times as much as its share of copying whole columns.
constexpr std::size_t kRowsOfAll = 3;
/// Rows are prefetched this far ahead: other threads wrote them, and the view has not read most of its own columns.
constexpr std::size_t kRowsAhead = 2;
/// Debug builds compare views of up to this many nodes with the state after each bring_up().
[[maybe_unused]] constexpr std::size_t kComparedMax = 4096;

/// In the order of NodeUseColumns::each_pair().
constexpr std::array kColumns = {"use", "ports", "cores", "devices", "eviction"};

void copy_free(const NodeUseColumns& from, NodeRow row, NodeUseColumns& to) {
  const FreeBlock& now = from.free[row / FreeBlock::kRows];
  FreeBlock& own = to.free.edit(row / FreeBlock::kRows);
  const std::size_t at = row % FreeBlock::kRows;
  own.cpu[at] = now.cpu[at], own.memory[at] = now.memory[at], own.disk[at] = now.disk[at];
}

/// Prefetches what copy_row() reads and writes for every row.
void prefetch_row(const NodeTable& own, const NodeTable& now, NodeRow row) {
  for (const NodeTable* const table : {&now, &own}) {
    table->use.prefetch(row);
    if (row < table->eviction.size()) base::prefetch_all(table->eviction[row]);
    const FreeBlock& block = table->free[row / FreeBlock::kRows];
    const std::size_t at = row % FreeBlock::kRows;
    base::prefetch(&block.cpu[at]), base::prefetch(&block.memory[at]), base::prefetch(&block.disk[at]);
  }
}

}  // namespace

void WorkerView::copy_row(const NodeTable& now, NodeRow row) {
  static_assert(sizeof(NodeUseColumns) == 6 * sizeof(CowVector<FreeBlock, 1>), "copies all columns");
  NodeTable& own = state_.nodes;
  NodeUse& use = own.use.edit(row);
  const NodeUse before = std::exchange(use, now.use[row]);
  const auto copy = [row](auto& mine, const auto& column) {
    if (row < column.size()) mine.edit(row) = column[row];
  };
  // A row that no allocation holds anything of has its initial value (StateStore::count_held()).
  if ((before.port_allocs | use.port_allocs) != 0) copy(own.ports, now.ports);
  if ((before.core_allocs | use.core_allocs) != 0) copy(own.cores, now.cores);
  if ((before.device_allocs | use.device_allocs) != 0) copy(own.devices, now.devices);
  copy(own.eviction, now.eviction);
  copy_free(now, row, own);
}

void WorkerView::follow(const NodeTable& now) {
  NodeTable& own = state_.nodes;
  changed_.clear(), ended_.clear();
  bool known = own.fixed && own.fixed->use_log == now.fixed->use_log && own.fixed->ended_log == now.fixed->ended_log &&
               now.fixed->use_log->read(own.use_changes, now.use_changes, changed_) &&
               now.fixed->ended_log->read(own.ended_changes, now.ended_changes, ended_) &&
               kRowsOfAll * changed_.size() <= now.size();
  const auto bring = [&](auto& view, const auto& column) {
    if (known && view.size() == column.size()) return;
    view.copy_rows(column);  // the column was just created, or nodes joined
    ++columns_copied_;
  };
  NodeUseColumns::each_pair(own, now, bring);
  bring(own.free, now.free);
  if (!known) return;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    if (i + kRowsAhead < changed_.size()) prefetch_row(own, now, changed_[i + kRowsAhead]);
    copy_row(now, changed_[i]);
  }
  for (const NodeRow row : ended_) own.use.edit(row) = now.use[row];
  rows_copied_ += changed_.size() + ended_.size();
}

void WorkerView::follow(const CowVector<JobKey, 32>& keys, const BasicRowLog<JobKeyRow>& log) {
  CowVector<JobKey, 32>& own = state_.jobs.keys;
  keys_.clear();
  if (log.read(key_changes_, log.end(), keys_)) {
    own.resize(keys.size());
    for (const JobKeyRow key : keys_) own.edit(key) = keys[key];
  } else {
    own.copy_rows(keys);
    ++columns_copied_;
  }
  key_changes_ = log.end();
}

bool StateStore::bring_up(WorkerView& view, std::size_t bytes_max) const {
  const auto lock = lock_tables(mutex_);
  const base::LocksScope holding(base::Locks::tables);
  const NodeTable& now = current_.nodes;
  if (view_bytes(now) > bytes_max) {
    view.state_ = {}, view.key_changes_ = 0;
    return false;
  }
  view.follow(now);
  view.follow(current_.jobs.keys, key_log_);
  static_cast<NodeSharedColumns&>(view.state_.nodes) = now;
  static_cast<JobVersions&>(view.state_.jobs) = current_.jobs;
  static_cast<StateTables&>(view.state_) = current_;
  // Of evaluations, decisions read the IDs that allocations show; without a history, allocations name none.
  EvalTable evals;
  if (history_) evals.id = current_.evals.id;
  view.state_.evals = std::move(evals);
#ifndef NDEBUG
  if (now.size() <= kComparedMax) {
    const std::vector<std::string> problems = view_differences(view.state_, current_);
    for (const std::string& problem : problems) std::fprintf(stderr, "%s\n", problem.c_str());
    BERTH_ASSERT(problems.empty());
  }
#endif
  return true;
}

std::uint64_t StateStore::use_chunks_copied() const {
  const NodeTable& nodes = current_.nodes;
  std::uint64_t copied = nodes.free.chunks_copied() + current_.jobs.keys.chunks_copied();
  NodeUseColumns::each_pair(nodes, nodes, [&](const auto& column, const auto&) { copied += column.chunks_copied(); });
  return copied;
}

std::size_t view_bytes(const NodeTable& nodes) {
  std::size_t bytes = nodes.free.bytes();
  NodeUseColumns::each_pair(nodes, nodes, [&](const auto& column, const auto&) { bytes += column.bytes(); });
  return bytes;
}

std::vector<std::string> view_differences(const Snapshot& viewed, const Snapshot& current) {
  const NodeTable &view = viewed.nodes, &now = current.nodes;
  std::vector<std::string> problems;
  if (viewed.jobs.keys.size() != current.jobs.keys.size()) {
    problems.push_back("view: too many or too few job keys");
    return problems;
  }
  for (JobKeyRow key = 0; key < current.jobs.keys.size(); ++key)
    if (!(viewed.jobs.keys[key] == current.jobs.keys[key]))
      problems.push_back(fmt::format("view: job key {} is old", key));
  std::size_t at = 0;
  NodeUseColumns::each_pair(view, now, [&](const auto& own, const auto& column) {
    const char* const name = kColumns[at++];
    if (own.size() != column.size())
      return problems.push_back(fmt::format("view: column {} has {} rows, not {}", name, own.size(), column.size()));
    for (NodeRow row = 0; row < column.size(); ++row)
      if (!(own[row] == column[row])) problems.push_back(fmt::format("view: column {}, node row {} is old", name, row));
  });
  if (view.free.size() != now.free.size()) {
    problems.push_back(fmt::format("view: column free has {} blocks, not {}", view.free.size(), now.free.size()));
    return problems;
  }
  for (NodeRow row = 0; row < now.size(); ++row) {
    const FreeBlock &own = view.free[row / FreeBlock::kRows], &block = now.free[row / FreeBlock::kRows];
    const std::size_t i = row % FreeBlock::kRows;
    if (own.cpu[i] != block.cpu[i] || own.memory[i] != block.memory[i] || own.disk[i] != block.disk[i])
      problems.push_back(fmt::format("view: column free, node row {} is old", row));
  }
  return problems;
}

}  // namespace berth::tables
