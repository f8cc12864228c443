#include "rank/fit_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "base/assert.h"
#include "rank/numbers.h"

namespace berth::rank {
namespace {

constexpr std::uint32_t kStripes = 64;
constexpr std::uint64_t kFewVisits = 64;     // visits per query that are acceptable
constexpr std::uint64_t kBuildVisits = 100;  // about the cost of build() per node
// The bound is a product of two powers, the exact score one power of a difference. They differ by less than 1e-12.
constexpr double kMargin = 1e-9;

}  // namespace

std::size_t FitIndex::HashKey::operator()(const Key& key) const noexcept {
  const std::uint64_t free =
      std::uint64_t{static_cast<std::uint32_t>(key.cpu_free)} << 32 | static_cast<std::uint32_t>(key.memory_free);
  std::uint64_t x = (free ^ std::uint64_t{key.shape} << 58) * 0x9e3779b97f4a7c15ULL;
  x ^= x >> 32;
  return x * 0xd6e8feb86659fd93ULL >> 8;
}

void FitIndex::Axis::draw(std::vector<std::int32_t>& free, std::size_t stripes) {
  std::sort(free.begin(), free.end());
  edges.assign(1, 0);
  for (std::size_t s = 1; s < stripes; ++s)
    if (const std::int32_t edge = free[s * free.size() / stripes]; edge > edges.back()) edges.push_back(edge);
  power.clear();
  for (const std::int32_t edge : edges) power.push_back(exact_pow10(edge / capacity));
  power.push_back(10.0);
}

std::uint32_t FitIndex::Axis::stripe(std::int32_t free) const {
  return static_cast<std::uint32_t>(std::upper_bound(edges.begin() + 1, edges.end(), free) - edges.begin() - 1);
}

void FitIndex::build(const IndexColumns& nodes, std::span<const std::uint32_t> kinds) {
  const auto n = static_cast<std::uint32_t>(nodes.size());
  BERTH_ASSERT(nodes.fit.size() == n && (kinds.empty() || kinds.size() == n));
  kinds_ = kinds;
  shapes_.clear();
  shape_.assign(n, kNone);
  odd_.clear();
  group_.assign(n, kNone);
  for (Group& group : groups_) group.rows.clear(), group.live = 0;
  unused_.resize(groups_.size());
  for (std::uint32_t g = 0; g < groups_.size(); ++g) unused_[g] = g;
  known_.clear();
  excess_ = 0;
  struct Free {
    std::vector<std::int32_t> cpu, memory;
  };
  std::vector<Free> free;  // by shape: free amounts that determine the tiles' edges
  for (std::uint32_t row = 0; row < n; ++row) {
    const double cpu = nodes.fit.cpu_capacity_mhz[row], memory = nodes.fit.memory_capacity_mb[row];
    if (!(cpu > 0) || !(memory > 0)) continue;  // no score (R-RANK-104)
    std::size_t s = 0;
    const std::uint32_t of_kind = kind(row);
    while (s < shapes_.size() &&
           (shapes_[s].cpu.capacity != cpu || shapes_[s].memory.capacity != memory || shapes_[s].kind != of_kind))
      ++s;
    if (s == kShapes) {
      odd_.push_back(row);
      continue;
    }
    if (s == shapes_.size()) {
      shapes_.emplace_back();
      shapes_.back().kind = of_kind;
      shapes_.back().cpu.capacity = cpu, shapes_.back().memory.capacity = memory;
      free.emplace_back();
    }
    shape_[row] = static_cast<std::uint32_t>(s);
    free[s].cpu.push_back(nodes.cpu_free_mhz[row]);
    free[s].memory.push_back(nodes.memory_free_mb[row]);
  }
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    Shape& shape = shapes_[s];
    const double rows = static_cast<double>(free[s].cpu.size());
    const std::size_t stripes = std::clamp(static_cast<std::size_t>(std::sqrt(rows)), std::size_t{1}, std::size_t{64});
    shape.cpu.draw(free[s].cpu, stripes);
    shape.memory.draw(free[s].memory, stripes);
    shape.tiles.resize(shape.cpu.edges.size() * kStripes);
    shape.occupied.assign(shape.cpu.edges.size(), 0);
  }
  for (std::uint32_t row = 0; row < n; ++row) attach(nodes, row);
}

void FitIndex::update(const IndexColumns& nodes, std::uint32_t row) {
  if (excess_ > kBuildVisits * nodes.size() + 4096) return build(nodes, kinds_);
  detach(row);
  attach(nodes, row);
}

void FitIndex::attach(const IndexColumns& nodes, std::uint32_t row) {
  const std::int32_t cpu_free = nodes.cpu_free_mhz[row], memory_free = nodes.memory_free_mb[row];
  if (shape_[row] == kNone || cpu_free < 0 || memory_free < 0) return;  // no request fits
  const auto [known, is_new] = known_.try_emplace(Key{shape_[row], cpu_free, memory_free}, 0);
  if (is_new) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<std::uint32_t>(groups_.size()));
      groups_.emplace_back();
    }
    known.value() = unused_.back();
    unused_.pop_back();
    Group& group = groups_[known.value()];
    group.cpu_free = cpu_free, group.memory_free = memory_free, group.shape = shape_[row];
    link(known.value());
  }
  Group& group = groups_[known.value()];
  group_[row] = known.value();
  ++group.live;
  group.rows.push_back(row);
  std::push_heap(group.rows.begin(), group.rows.end(), std::greater<>());
}

void FitIndex::detach(std::uint32_t row) {
  const std::uint32_t g = group_[row];
  if (g == kNone) return;
  group_[row] = kNone;
  Group& group = groups_[g];
  if (--group.live == 0) {
    unlink(g);
    known_.erase(Key{group.shape, group.cpu_free, group.memory_free});
    group.rows.clear();
    unused_.push_back(g);
  } else if (group.rows.size() > 2 * std::size_t{group.live} + 16) {
    std::erase_if(group.rows, [&](std::uint32_t r) { return group_[r] != g; });
    std::sort(group.rows.begin(), group.rows.end());  // ascending is a heap
    group.rows.erase(std::unique(group.rows.begin(), group.rows.end()), group.rows.end());
  }
}

void FitIndex::link(std::uint32_t g) {
  Group& group = groups_[g];
  Shape& shape = shapes_[group.shape];
  group.cpu_stripe = shape.cpu.stripe(group.cpu_free), group.memory_stripe = shape.memory.stripe(group.memory_free);
  std::vector<Entry>& tile = shape.tiles[group.cpu_stripe * kStripes + group.memory_stripe];
  group.slot = static_cast<std::uint32_t>(tile.size());
  tile.push_back({exact_pow10(group.cpu_free / shape.cpu.capacity),
                  exact_pow10(group.memory_free / shape.memory.capacity), group.cpu_free, group.memory_free, g});
  shape.occupied[group.cpu_stripe] |= std::uint64_t{1} << group.memory_stripe;
}

void FitIndex::unlink(std::uint32_t g) {
  const Group& group = groups_[g];
  Shape& shape = shapes_[group.shape];
  std::vector<Entry>& tile = shape.tiles[group.cpu_stripe * kStripes + group.memory_stripe];
  groups_[tile.back().group].slot = group.slot;
  tile[group.slot] = tile.back();
  tile.pop_back();
  if (tile.empty()) shape.occupied[group.cpu_stripe] &= ~(std::uint64_t{1} << group.memory_stripe);
}

struct FitIndex::Query {
  FitAlgorithm algorithm;
  const IndexColumns& nodes;
  const AskedAmounts& ask;
  std::span<const std::uint64_t> feasible;
  std::span<const std::uint32_t> visit_rank;
  std::span<const std::uint8_t> kind_passes;
  std::uint64_t visits = 0;
  bool found = false;
  Best best;
  std::uint32_t best_rank = 0;
  /// Totals beyond it are worse than the best so far: above for binpack, below for spread. NaN: no best yet.
  double limit = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] std::uint32_t rank(std::uint32_t row) const { return visit_rank.empty() ? row : visit_rank[row]; }
  [[nodiscard]] bool takes(std::uint32_t row) const {  // tests that differ within a group
    return (feasible.empty() || (feasible[row / 64] >> row % 64 & 1) != 0) && nodes.disk_free_mb[row] >= ask.disk_mb;
  }
  [[nodiscard]] bool passes(std::uint32_t kind) const { return kind_passes.empty() || kind_passes[kind] != 0; }
  [[nodiscard]] double component(std::uint32_t row) const {
    return fit_component(algorithm, nodes.fit.cpu_used_mhz[row] + ask.cpu_mhz, nodes.fit.cpu_capacity_mhz[row],
                         nodes.fit.memory_used_mb[row] + ask.memory_mb, nodes.fit.memory_capacity_mb[row]);
  }
  void offer(std::uint32_t row, double score) {
    if (found && !(score > best.component) && !(score == best.component && rank(row) < best_rank)) return;
    found = true;
    best = {row, score};
    best_rank = rank(row);
    limit = algorithm == FitAlgorithm::binpack ? 20.0 - 18.0 * score + kMargin : 18.0 * score + 2.0 - kMargin;
  }
  /// True if no node whose total of powers is bounded by `total` can be the best or tie with it.
  [[nodiscard]] bool hopeless(double total) const {
    return algorithm == FitAlgorithm::binpack ? total > limit : total < limit;
  }
};

void FitIndex::visit_row(Query& query, std::uint32_t row) const {
  ++query.visits;
  if (query.nodes.cpu_free_mhz[row] < query.ask.cpu_mhz || query.nodes.memory_free_mb[row] < query.ask.memory_mb ||
      !query.takes(row))
    return;
  query.offer(row, query.component(row));
}

void FitIndex::visit_group(Query& query, std::uint32_t g) {
  Group& group = groups_[g];
  while (group_[group.rows.front()] != g) {
    std::pop_heap(group.rows.begin(), group.rows.end(), std::greater<>());
    group.rows.pop_back();
  }
  const std::uint32_t first = group.rows.front();
  const double score = query.component(first);  // of every row of the group
  if (query.found && score < query.best.component) return;
  if (query.visit_rank.empty() && query.takes(first)) return query.offer(first, score);
  for (const std::uint32_t row : group.rows)
    if (group_[row] == g && query.takes(row)) query.offer(row, score);
  query.visits += group.rows.size();
}

/// The factors: 10^free including the request is 10^free before it, times these; at least 1 if the request fits.
void FitIndex::search(Query& query, const Shape& shape, double cpu_factor, double memory_factor) {
  if (query.ask.cpu_mhz > shape.cpu.capacity || query.ask.memory_mb > shape.memory.capacity) return;
  const std::uint32_t cpu_first = shape.cpu.stripe(query.ask.cpu_mhz);
  const std::uint32_t memory_first = shape.memory.stripe(query.ask.memory_mb);
  const auto cpu_end = static_cast<std::uint32_t>(shape.cpu.edges.size());
  const auto memory_last = static_cast<std::uint32_t>(shape.memory.edges.size() - 1);
  const std::uint64_t wanted = ~std::uint64_t{0} << memory_first;
  const auto visit_tile = [&](std::uint32_t x, std::uint32_t y) {
    const std::vector<Entry>& tile = shape.tiles[x * kStripes + y];
    query.visits += tile.size();
    for (const Entry& e : tile)
      if (e.cpu_free >= query.ask.cpu_mhz && e.memory_free >= query.ask.memory_mb &&
          !query.hopeless(e.cpu_power * cpu_factor + e.memory_power * memory_factor))
        visit_group(query, e.group);
  };
  if (query.algorithm == FitAlgorithm::binpack) {  // fullest first; bound: score at the smallest free amounts
    const auto cpu_bound = [&](std::uint32_t x) { return std::max(1.0, shape.cpu.power[x] * cpu_factor); };
    const auto memory_bound = [&](std::uint32_t y) { return std::max(1.0, shape.memory.power[y] * memory_factor); };
    for (std::uint32_t x = cpu_first; x < cpu_end; ++x) {
      if (query.hopeless(cpu_bound(x) + memory_bound(memory_first))) return;
      for (std::uint64_t left = shape.occupied[x] & wanted; left != 0; left &= left - 1) {
        const auto y = static_cast<std::uint32_t>(std::countr_zero(left));
        if (query.hopeless(cpu_bound(x) + memory_bound(y))) break;
        visit_tile(x, y);
      }
    }
    return;
  }
  const auto cpu_bound = [&](std::uint32_t x) { return shape.cpu.power[x + 1] * cpu_factor; };
  const auto memory_bound = [&](std::uint32_t y) { return shape.memory.power[y + 1] * memory_factor; };
  for (std::uint32_t x = cpu_end; x-- > cpu_first;) {  // emptiest first; bound: score at the largest free amounts
    if (query.hopeless(cpu_bound(x) + memory_bound(memory_last))) return;
    for (std::uint64_t left = shape.occupied[x] & wanted; left != 0;) {
      const auto y = static_cast<std::uint32_t>(63 - std::countl_zero(left));
      if (query.hopeless(cpu_bound(x) + memory_bound(y))) break;
      visit_tile(x, y);
      left &= ~(std::uint64_t{1} << y);
    }
  }
}

std::optional<FitIndex::Best> FitIndex::best(FitAlgorithm algorithm, const IndexColumns& nodes, const AskedAmounts& ask,
                                             std::span<const std::uint64_t> feasible,
                                             std::span<const std::uint32_t> visit_rank,
                                             std::span<const std::uint8_t> kind_passes) {
  BERTH_ASSERT(nodes.size() == group_.size() && (feasible.empty() || feasible.size() >= (nodes.size() + 63) / 64));
  Query query{algorithm, nodes, ask, feasible, visit_rank, kind_passes};
  factors_.clear();
  for (const Shape& shape : shapes_)
    for (const auto& [asked, capacity] :
         {std::pair(ask.cpu_mhz, shape.cpu.capacity), std::pair(ask.memory_mb, shape.memory.capacity)})
      factors_.push_back(-std::min(1.0, asked / capacity));
  exact_pow10(factors_, factors_);
  for (std::size_t s = 0; s < shapes_.size(); ++s)
    if (query.passes(shapes_[s].kind)) search(query, shapes_[s], factors_[2 * s], factors_[2 * s + 1]);
  for (const std::uint32_t row : odd_)
    if (query.passes(kind(row))) visit_row(query, row);
  visits_ += query.visits;
  if (query.visits > kFewVisits + odd_.size()) excess_ += query.visits - kFewVisits - odd_.size();
  if (!query.found) return std::nullopt;
  return query.best;
}

}  // namespace berth::rank
