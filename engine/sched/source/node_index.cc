#include "sched/source/node_index.h"

#include <algorithm>
#include <limits>

#include "sched/scratch.h"
#include "tables/state.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeCapacity;
using tables::NodeRow;
using tables::Snapshot;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

/// True if free cpu, memory and disk alone decide fit and score on nodes of this capacity.
bool is_plain(const NodeCapacity& capacity) {
  const auto fine = [](std::int64_t fits, double scores) {
    return fits > 0 && fits <= kMost && static_cast<double>(fits) == scores;
  };
  return fine(capacity.cpu_mhz, capacity.cpu_score) && fine(capacity.memory_mb, capacity.memory_score) &&
         capacity.disk_mb <= kMost && capacity.max_allocs == 0 && capacity.network_invalid == 0;
}

/// Returns the free amount; -1 if more is used than there is.
std::int32_t free_of(std::int64_t capacity, std::int64_t used) {
  return std::max(-1, tables::FreeBlock::of(capacity, used));
}

}  // namespace

rank::IndexColumns NodeIndex::columns() const {
  rank::IndexColumns out;
  out.cpu_free_mhz = amounts_.cpu_free, out.memory_free_mb = amounts_.memory_free,
  out.disk_free_mb = amounts_.disk_free;
  out.fit = {amounts_.cpu_used, amounts_.memory_used, amounts_.cpu_capacity, amounts_.memory_capacity};
  return out;
}

bool NodeIndex::sync(const Snapshot& snapshot, const ReadyNodes& ready, std::uint64_t base_set, NodeFeed& feed) {
  const tables::NodeTable& nodes = snapshot.nodes;
  const std::optional<NodeFeed::Rows> changed = feed.advance(place_, nodes);
  if (epoch_ != nodes.epoch || base_set_ != base_set || !changed) {
    base_set_ = base_set;
    build(snapshot, ready);
    return served_;
  }
  if (!served_) return false;
  const auto bring = [&](std::uint32_t position, NodeRow row) {
    read_use(snapshot, position, row);
    index_.update(columns(), position);
  };
  for (const std::uint32_t position : left_out_) bring(position, ready.candidates[position].row);
  left_out_.clear();
  for (const NodeRow row : *changed)
    if (position_[row] != kNoRow) bring(position_[row], row);
  return true;
}

void NodeIndex::build(const Snapshot& snapshot, const ReadyNodes& ready) {
  epoch_ = snapshot.nodes.epoch;
  left_out_.clear();
  is_answered_ = false;
  served_ = std::all_of(ready.capacities.begin(), ready.capacities.end(), is_plain);
  if (!served_) return;
  const std::size_t n = ready.candidates.size();
  for (auto* column : {&amounts_.cpu_free, &amounts_.memory_free, &amounts_.disk_free}) column->resize(n);
  for (auto* column : {&amounts_.cpu_used, &amounts_.memory_used}) column->resize(n);
  for (auto* column : {&amounts_.cpu_capacity, &amounts_.memory_capacity}) column->resize(n);
  class_.resize(n);
  kind_.assign(n, 0);
  kind_of_class_.assign(ready.of_class.size(), 0);
  kind_passes_.assign(1, 1);
  capacities_ = ready.capacities.size();
  position_.assign(snapshot.nodes.size(), kNoRow);
  std::vector<std::uint32_t> place(snapshot.nodes.column(tables::kComputedClassColumn).values.size() + 1);
  for (std::uint32_t i = 0; i < ready.of_class.size(); ++i) place[ready.of_class[i].computed_class] = i;
  for (std::uint32_t position = 0; position < n; ++position) {
    const ReadyNodes::Candidate& candidate = ready.candidates[position];
    const NodeCapacity& capacity = ready.capacities[candidate.capacity];
    amounts_.cpu_capacity[position] = capacity.cpu_score, amounts_.memory_capacity[position] = capacity.memory_score;
    class_[position] = place[candidate.computed_class];
    position_[candidate.row] = position;
    read_use(snapshot, position, candidate.row);
  }
  index_.build(columns(), kind_);
}

bool NodeIndex::is_asked_again(std::span<const std::uint64_t> asked) {
  if (is_answered_ && std::equal(asked.begin(), asked.end(), asked_.begin(), asked_.end())) return true;
  asked_.assign(asked.begin(), asked.end());
  is_answered_ = false;
  return false;
}

bool NodeIndex::take(std::span<const std::uint8_t> class_passes) {
  const std::size_t kinds = kind_passes_.size();
  enum : std::uint8_t { kUndecided, kFails, kPasses };
  std::vector<std::uint8_t> verdict(kinds, kUndecided);  // of the first class of each kind
  std::vector<std::uint32_t> other(kinds, 0);            // new kind for its classes with the other verdict; 0: none yet
  auto count = static_cast<std::uint32_t>(kinds);
  is_answered_ = true;
  kind_passes_.assign(kinds, 0);
  for (std::size_t c = 0; c < class_passes.size(); ++c) {
    const std::uint32_t kind = kind_of_class_[c];
    const std::uint8_t mine = class_passes[c] != 0 ? kPasses : kFails;
    if (verdict[kind] == kUndecided) verdict[kind] = mine, kind_passes_[kind] = class_passes[c];
    if (verdict[kind] == mine) continue;
    if (other[kind] == 0) {
      other[kind] = count++;
      kind_passes_.push_back(class_passes[c]);
    }
    kind_of_class_[c] = other[kind];
  }
  if (count == kinds) return true;
  if (count * capacities_ > rank::FitIndex::kShapes) {
    served_ = false;  // until the ready nodes change
    return false;
  }
  for (std::size_t i = 0; i < kind_.size(); ++i) kind_[i] = kind_of_class_[class_[i]];
  index_.build(columns(), kind_);
  return true;
}

void NodeIndex::read_use(const Snapshot& snapshot, std::uint32_t position, NodeRow row) {
  const tables::NodeUse& use = snapshot.nodes.use[row];
  const NodeCapacity& capacity = snapshot.nodes.capacity(row);
  amounts_.cpu_used[position] = use.cpu_mhz, amounts_.memory_used[position] = use.memory_mb;
  amounts_.cpu_free[position] = free_of(capacity.cpu_mhz, use.cpu_mhz);
  amounts_.memory_free[position] = free_of(capacity.memory_mb, use.memory_mb);
  amounts_.disk_free[position] = free_of(capacity.disk_mb, use.disk_mb);
}

void NodeIndex::leave_out(std::uint32_t position) {
  left_out_.push_back(position);
  amounts_.cpu_free[position] = -1;
  index_.update(columns(), position);
}

}  // namespace berth::sched
