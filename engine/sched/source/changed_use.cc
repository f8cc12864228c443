#include "sched/source/changed_use.h"

#include <algorithm>

namespace berth::sched {

using tables::NodeRow;
using tables::NodeTable;

bool ChangedUse::since(const NodeTable& nodes, std::uint64_t from, Changes& out) {
  if (log_ != nodes.fixed->use_log || nodes.use_changes < end_ || !go_on(nodes)) begin(nodes);
  if (from < first_ || from > end_) return false;
  const std::size_t start = from - first_;
  out = {std::span(rows_).subspan(start), std::span(left_).subspan(start), std::span(figured_).subspan(start)};
  out.all_figured = unfigured_ <= from;
  if (out.rows.empty()) return true;
  out.most_cpu_mhz = cpu_.from(from), out.least_cpu_mhz = -cpu_negated_.from(from);
  out.most_memory_mb = memory_.from(from);
  return true;
}

void ChangedUse::begin(const NodeTable& nodes) {
  log_ = nodes.fixed->use_log;
  first_ = end_ = nodes.use_changes;
  epoch_ = nodes.epoch, ready_changes_ = nodes.ready_changes;
  rows_.clear(), left_.clear(), figured_.clear();
  clear_peaks();
  last_.assign(nodes.size(), 0);
}

/// False: too much changed.
bool ChangedUse::go_on(const NodeTable& nodes) {
  const std::size_t most = std::max<std::size_t>(nodes.size() / 4, 64);
  if (nodes.use_changes - end_ > most) return false;
  fresh_.clear();
  if (!log_->read(end_, nodes.use_changes, fresh_)) return false;
  end_ = nodes.use_changes;
  last_.resize(nodes.size(), 0);
  if (epoch_ != nodes.epoch || ready_changes_ != nodes.ready_changes) {
    epoch_ = nodes.epoch, ready_changes_ = nodes.ready_changes;
    clear_peaks();
    gather_from(nodes, 0);
  }
  if (rows_.size() + fresh_.size() > 2 * most) forget_oldest(rows_.size() - most);
  for (const NodeRow row : fresh_) {
    const std::uint64_t at = first_ + rows_.size();
    if (last_[row] > first_) rows_[last_[row] - 1 - first_] = tables::kNoRow;
    last_[row] = at + 1;
    rows_.push_back(row), left_.emplace_back(), figured_.push_back(0);
  }
  gather_from(nodes, rows_.size() - fresh_.size());
  return true;
}

void ChangedUse::clear_peaks() {
  for (Peaks* peaks : {&cpu_, &cpu_negated_, &memory_}) peaks->clear();
  unfigured_ = 0;
}

void ChangedUse::gather_from(const NodeTable& nodes, std::size_t first) {
  for (std::size_t at = first; at < rows_.size(); ++at) {
    if (rows_[at] == tables::kNoRow) continue;
    gather(nodes, at);
    const std::uint64_t change = first_ + at;
    cpu_.add(change, left_[at].cpu_mhz);
    cpu_negated_.add(change, -left_[at].cpu_mhz);
    memory_.add(change, left_[at].memory_mb);
    if (figured_[at] == 0) unfigured_ = change + 1;
  }
}

void ChangedUse::forget_oldest(std::size_t count) {
  const auto drop = [count](auto& column) {
    column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(count));
  };
  drop(rows_), drop(left_), drop(figured_);
  first_ += count;
  for (Peaks* peaks : {&cpu_, &cpu_negated_, &memory_}) peaks->forget_before(first_);
}

void ChangedUse::Peaks::forget_before(std::uint64_t first) {
  std::erase_if(peaks_, [first](const Peak& peak) { return peak.at < first; });
}

std::int64_t ChangedUse::Peaks::from(std::uint64_t at) const {
  return std::lower_bound(peaks_.begin(), peaks_.end(), at, [](const Peak& p, std::uint64_t a) { return p.at < a; })
      ->value;
}

void ChangedUse::gather(const NodeTable& nodes, std::size_t at) {
  const tables::NodeCapacity& capacity = nodes.capacity(rows_[at]);
  const tables::NodeUse& use = nodes.use[rows_[at]];
  left_[at] = {capacity.cpu_mhz - use.cpu_mhz, capacity.memory_mb - use.memory_mb, capacity.disk_mb - use.disk_mb};
  const bool full = capacity.max_allocs != 0 && capacity.max_allocs <= static_cast<std::int64_t>(use.alloc_count);
  figured_[at] = !full && (use.port_allocs | use.core_allocs | capacity.network_invalid) == 0;
}

}  // namespace berth::sched
