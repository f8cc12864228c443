#include "tables/ready_nodes.h"

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace berth::tables {
namespace {

/// If more than 1 in 16 nodes changed, visiting all nodes costs less than finding each.
constexpr std::size_t kNodesPerChange = 16;
constexpr std::size_t kAhead = 8;  ///< nodes to prefetch ahead

}  // namespace

std::size_t ReadyNodes::CapacityHash::operator()(const CapacityKey& key) const noexcept {
  std::uint64_t out = 0;
  for (const std::int64_t figure : key)
    out = std::rotl((out ^ static_cast<std::uint64_t>(figure)) * 0x9e3779b97f4a7c15ULL, 29);
  return static_cast<std::size_t>(out);
}

void ReadyNodes::follow(const NodeTable& nodes, const SymbolTable& symbols, const BaseSetKey& key) {
  if (is_of(nodes)) return;
  match_codes(nodes, symbols, key);
  if (log_ != nodes.fixed->ready_log || !edit(nodes, *log_)) make(nodes);
  log_ = nodes.fixed->ready_log;
  changes_ = nodes.ready_changes;
  epoch_ = nodes.epoch;
  count_available();
}

/// Matches each distinct datacenter and pool once, so that nodes are looked up by code.
void ReadyNodes::match_codes(const NodeTable& nodes, const SymbolTable& symbols, const BaseSetKey& key) {
  const KeyedColumn& datacenters = nodes.column(kDatacenterColumn);
  if (in_datacenter_.empty()) in_datacenter_.push_back(-1);
  for (auto code = static_cast<std::uint32_t>(in_datacenter_.size()); code <= datacenters.values.size(); ++code)
    in_datacenter_.push_back(std::any_of(key.datacenters.begin(), key.datacenters.end(),
                                         [&](const std::string& pattern) {
                                           return base::glob_match(pattern, symbols.text(datacenters.value(code)));
                                         })
                                 ? 0
                                 : -1);
  every_pool_ = key.pool == "all" || key.pool.empty();
  const KeyedColumn& pools = nodes.column(kPoolColumn);
  for (; pools_seen_ < pools.values.size(); ++pools_seen_)
    if (symbols.text(pools.value(pools_seen_ + 1)) == key.pool) pool_ = pools_seen_ + 1;
}

bool ReadyNodes::is_wanted(const NodeTable& nodes, NodeRow row) const {
  return nodes.ready(row) && (every_pool_ || (pool_ != 0 && nodes.code(kPoolColumn, row) == pool_)) &&
         in_datacenter_[nodes.code(kDatacenterColumn, row)] >= 0;
}

std::uint32_t ReadyNodes::capacity_of(const NodeCapacity& capacity) {
  const CapacityKey key{capacity.cpu_mhz,        capacity.memory_mb,
                        capacity.disk_mb,        std::bit_cast<std::int64_t>(capacity.cpu_score),
                        capacity.max_allocs,     std::bit_cast<std::int64_t>(capacity.memory_score),
                        capacity.network_invalid};
  const auto [known, added] = capacity_ids_.try_emplace(key, static_cast<std::uint32_t>(capacities.size()));
  if (added) capacities.push_back(capacity);
  return known->second;
}

/// Makes the node a member; the caller puts it into the list.
ReadyNodes::Candidate ReadyNodes::enter(const NodeTable& nodes, NodeRow row) {
  members_[row / 64] |= std::uint64_t{1} << row % 64;
  datacenter_[row] = nodes.code(kDatacenterColumn, row);
  ++in_datacenter_[datacenter_[row]];
  const NodeCapacity& capacity = nodes.capacity(row);
  const Candidate out{row, capacity.computed_class_code, capacity.class_code, capacity_of(capacity)};
  if (class_place_.size() <= out.computed_class) class_place_.resize(out.computed_class + 1, 0);
  std::uint32_t& place = class_place_[out.computed_class];
  if (place == 0) {
    of_class.push_back(out);
    class_count_.push_back(0);
    place = static_cast<std::uint32_t>(of_class.size());
  }
  ++class_count_[place - 1];
  return out;
}

void ReadyNodes::leave(NodeRow row, std::uint32_t position) {
  const Candidate candidate = candidates[position];
  BERTH_ASSERT(candidate.row == row);
  members_[row / 64] &= ~(std::uint64_t{1} << row % 64);
  --in_datacenter_[datacenter_[row]];
  const std::uint32_t place = class_place_[candidate.computed_class] - 1;
  if (--class_count_[place] == 0) {  // move the last one to its place
    class_place_[of_class.back().computed_class] = place + 1;
    of_class[place] = of_class.back(), class_count_[place] = class_count_.back();
    of_class.pop_back(), class_count_.pop_back();
    class_place_[candidate.computed_class] = 0;
  } else if (of_class[place].row == row) {
    of_class[place] = *std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& other) {
      return other.computed_class == candidate.computed_class && has(other.row);
    });
  }
}

void ReadyNodes::make(const NodeTable& nodes) {
  candidates.clear();
  capacities.clear();
  capacity_ids_.clear();
  of_class.clear();
  class_count_.clear();
  class_place_.assign(nodes.column(kComputedClassColumn).values.size() + 1, 0);
  members_.assign(nodes.size() / 64 + 1, 0);
  datacenter_.resize(nodes.size());
  for (std::int32_t& count : in_datacenter_) count = std::min(count, 0);
  const std::vector<NodeRow>& by_id = *nodes.fixed->by_id;
  candidates.reserve(by_id.size());
  for (std::size_t i = 0; i < by_id.size(); ++i) {
    if (i + kAhead < by_id.size()) nodes.fixed->capacity.prefetch(by_id[i + kAhead]);
    if (is_wanted(nodes, by_id[i])) candidates.push_back(enter(nodes, by_id[i]));
  }
}

/// Follows the log. False if the log does not reach back far enough, or too much changed.
bool ReadyNodes::edit(const NodeTable& nodes, const RowLog& log) {
  if (nodes.ready_changes - changes_ > candidates.size() / kNodesPerChange + 1) return false;
  changed_.clear();
  if (!log.read(changes_, nodes.ready_changes, changed_)) return false;
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  members_.resize(nodes.size() / 64 + 1);
  datacenter_.resize(nodes.size());
  edits_.clear();
  const auto place_of = [&](NodeRow row) {
    const auto at = std::lower_bound(candidates.begin(), candidates.end(), nodes.id(row),
                                     [&](const Candidate& c, base::Uuid id) { return nodes.id(c.row) < id; });
    return static_cast<std::uint32_t>(at - candidates.begin());
  };
  for (const NodeRow row : changed_) {
    if (!has(row)) continue;
    edits_.push_back({place_of(row), false, {row, 0, 0, 0}});
    leave(row, edits_.back().position);
  }
  for (const NodeRow row : changed_)
    if (is_wanted(nodes, row)) edits_.push_back({place_of(row), true, enter(nodes, row)});
  std::sort(edits_.begin(), edits_.end(), [&](const Edit& a, const Edit& b) {
    if (a.position != b.position) return a.position < b.position;
    return a.joins != b.joins ? a.joins : nodes.id(a.candidate.row) < nodes.id(b.candidate.row);
  });
  apply_edits();
  return true;
}

void ReadyNodes::apply_edits() {
  if (edits_.empty()) return;
  const std::uint32_t first = edits_.front().position;
  std::uint32_t at = first;
  tail_.assign(candidates.begin() + first, candidates.end());
  candidates.resize(at);
  const auto copy_to = [&](std::uint32_t end) {
    candidates.insert(candidates.end(), tail_.begin() + (at - first), tail_.begin() + (end - first));
    at = end;
  };
  for (const Edit& edit : edits_) {
    copy_to(edit.position);
    if (edit.joins)
      candidates.push_back(edit.candidate);
    else
      ++at;
  }
  copy_to(first + static_cast<std::uint32_t>(tail_.size()));
}

void ReadyNodes::count_available() {
  available_.clear();
  for (std::uint32_t code = 1; code < in_datacenter_.size(); ++code)
    if (in_datacenter_[code] > 0) available_.push_back({code, in_datacenter_[code]});
}

}  // namespace berth::tables
