#include "sched/source/node_feed.h"

#include <algorithm>

namespace berth::sched {

using tables::NodeRow;
using tables::NodeTable;

namespace {

// Range of an unknown amount.
constexpr std::int32_t kAmountLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kAmountMost = std::numeric_limits<std::int32_t>::max();

}  // namespace

std::optional<NodeFeed::Rows> NodeFeed::crossing(const NodePlace& place, const NodeTable& nodes,
                                                 const rank::AskedAmounts& ask) {
  Changes changes;
  if (!amounts_since(place, nodes, changes)) return std::nullopt;
  if (crossing_.size() < changes.rows.size()) crossing_.resize(changes.rows.size());
  const std::size_t count = rank::crossings(changes.ranges, changes.rows.size(), ask, crossing_.data());
  changed_.clear();
  for (std::size_t i = 0; i < count; ++i) changed_.push_back(changes.rows[crossing_[i]]);
  return changed_;
}

bool NodeFeed::amounts_since(const NodePlace& place, const NodeTable& nodes, Changes& out) {
  gather(nodes);
  const std::uint64_t from = place.changes();
  if (!place.follows(nodes) || from < first_ || from > end_.changes()) return false;
  const std::size_t start = from - first_;
  if (start < rows_.size() && starts_[start] == 0) return false;
  out.rows = std::span(rows_).subspan(start);
  out.ranges = {least_cpu_.data() + start,   most_cpu_.data() + start,   least_memory_.data() + start,
                most_memory_.data() + start, least_disk_.data() + start, most_disk_.data() + start};
  return true;
}

void NodeFeed::gather(const NodeTable& nodes) {
  if (!go_on(nodes)) begin(nodes);
}

bool NodeFeed::holds(const NodeTable& nodes) const {
  if (!end_.is_at(nodes) || epoch_ != nodes.epoch || ready_changes_ != nodes.ready_changes) return true;
  for (std::size_t row = 0; row < known_.size(); ++row)
    if (known_[row].stamp / 2 == generation_ && known_[row] != known_of(nodes, NodeRow(row))) return false;
  return true;
}

void NodeFeed::begin(const NodeTable& nodes) {
  end_.move_to(nodes);
  epoch_ = nodes.epoch, ready_changes_ = nodes.ready_changes;
  forget_oldest(rows_.size());
  first_ = nodes.use_changes;
  ++generation_;
}

/// Appends the changes since the last call as one batch. False: too much changed.
bool NodeFeed::go_on(const NodeTable& nodes) {
  const std::size_t most = std::max<std::size_t>(nodes.size() / 4, 64);
  if (epoch_ != nodes.epoch || ready_changes_ != nodes.ready_changes) return false;
  if (end_.is_at(nodes)) return true;
  fresh_.clear();
  if (!end_.read(nodes, fresh_, most)) return false;
  end_.move_to(nodes);
  if (rows_.size() + fresh_.size() > 2 * most) forget_oldest(rows_.size() - most);
  known_.resize(nodes.size());
  const std::size_t first = rows_.size();
  for (const NodeRow row : fresh_) append(nodes, row);
  starts_.resize(rows_.size(), 0);
  starts_[first] = 1;
  return true;
}

void NodeFeed::forget_oldest(std::size_t count) {
  const auto drop = [count](auto& column) {
    column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(count));
  };
  drop(rows_), drop(starts_);
  for (auto* column : {&least_cpu_, &most_cpu_, &least_memory_, &most_memory_, &least_disk_, &most_disk_})
    drop(*column);
  first_ += count;
}

void NodeFeed::append(const NodeTable& nodes, NodeRow row) {
  Known& before = known_[row];
  const Known now = known_of(nodes, row);
  const std::uint32_t exact = 2 * generation_ + 1;
  const bool known = before.stamp == exact && now.stamp == exact;
  const auto add = [known](std::vector<std::int32_t>& least, std::vector<std::int32_t>& most, std::int32_t a,
                           std::int32_t b) {
    least.push_back(known ? std::min(a, b) : kAmountLeast);
    most.push_back(known ? std::max(a, b) : kAmountMost);
  };
  rows_.push_back(row);
  add(least_cpu_, most_cpu_, before.cpu_mhz, now.cpu_mhz);
  add(least_memory_, most_memory_, before.memory_mb, now.memory_mb);
  add(least_disk_, most_disk_, before.disk_mb, now.disk_mb);
  before = now;
}

NodeFeed::Known NodeFeed::known_of(const NodeTable& nodes, NodeRow row) const {
  using Free = tables::FreeBlock;
  const tables::NodeCapacity& capacity = nodes.capacity(row);
  const tables::NodeUse& use = nodes.use[row];
  Known out{Free::of(capacity.cpu_mhz, use.cpu_mhz), Free::of(capacity.memory_mb, use.memory_mb),
            Free::of(capacity.disk_mb, use.disk_mb), 2 * generation_};
  const bool full = capacity.max_allocs != 0 && capacity.max_allocs <= static_cast<std::int64_t>(use.alloc_count);
  const auto is_exact = [](std::int32_t amount) { return amount > kAmountLeast && amount < kAmountMost; };
  out.stamp += !full && (use.port_allocs | use.core_allocs | capacity.network_invalid) == 0 && is_exact(out.cpu_mhz) &&
               is_exact(out.memory_mb) && is_exact(out.disk_mb);
  return out;
}

}  // namespace berth::sched
