#include "sched/source/block_fit.h"

#include <array>
#include <bit>

#include "base/prefetch.h"
#include "model/job.h"
#include "rank/score_fit.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::NodeRow;

void BlockFit::begin(GroupView& v) {
  distinct_hosts_ = checks_.distinct.asks_hosts(v);
  fit_.scorer.begin_affinities(*v.group);
}

void BlockFit::begin_block(std::uint32_t first, GroupView& v, bool by_amounts) {
  const CompiledGroup& group = *v.group;
  ports_ = by_amounts ? fit_.ports_by_profile(group) : PortFit::ByProfile{};
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  // Otherwise NodeUse::irregular says whether held cores matter.
  const bool asks_cores = !nodes.cores.empty() && (group.has_cores || !ports_.known);
  for (std::uint32_t entry = first; entry < nodes_.count; ++entry) {
    const NodeRow row = nodes_.row[entry];
    nodes.use.prefetch(row);
    if (by_amounts) ports_.prefetch(row);
    if (asks_cores) nodes.cores.prefetch(row), nodes.fixed->spec.prefetch(row);
    if (!nodes_.untouched) base::prefetch(&scratch_.by_attempt.marks[row]);
  }
  if (asks_cores && group.has_cores) prefetch_core_tables(first);
}

void BlockFit::decide_block(std::uint32_t first, GroupView& v, bool by_amounts) {
  if (scratch_.strategy_fit)
    score_by_strategy(first, v, by_amounts && v.group->affinities.empty());
  else
    score_block(first, v, by_amounts);
}

void BlockFit::prefetch(std::uint32_t entry) const {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const NodeRow row = nodes_.row[entry];
  nodes.use.prefetch(row);
  nodes.fixed->capacity.prefetch(row);
  base::prefetch(&scratch_.by_attempt.marks[row]);
}

/// Prefetches the core tables of a block. They are behind two pointers; each is followed for the whole block at once.
void BlockFit::prefetch_core_tables(std::uint32_t first) const {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  for (std::uint32_t entry = first; entry < nodes_.count; ++entry)
    base::prefetch_all(nodes.spec(nodes_.row[entry]).core_table);
  for (std::uint32_t entry = first; entry < nodes_.count; ++entry)
    base::prefetch(nodes.spec(nodes_.row[entry]).core_table.mhz.data());
}

/// Writes the use of the entry's node with the group to `use`, if amounts decide the fit there. `by_amounts`: they do
/// on most nodes. False: the entry is already decided. `of_devices`: devices count as well.
inline bool BlockFit::use_by_amounts(std::uint32_t entry, GroupView& v, bool by_amounts, bool of_devices, FitUse& use) {
  const NodeRow row = nodes_.row[entry];
  if (!by_amounts || (!nodes_.untouched && scratch_.overlay(row))) {
    decide(entry, v);
    return false;
  }
  const CompiledGroup& group = *v.group;
  const tables::NodeUse& held = attempt_.snapshot->nodes.use[row];
  const tables::NodeCapacity& capacity = candidates_.nodes->capacities[nodes_.capacity[entry]];
  const bool no_devices = !of_devices || held.device_allocs == 0;
  const bool ports_do = capacity.network_invalid == 0 &&
                        (ports_.known ? ports_.free_on(row, held) : held.port_allocs == 0 && !group.has_network);
  if (ports_do && no_devices && !group.has_cores && (ports_.known || held.core_allocs == 0)) [[likely]] {
    const PlainFit fit = plain_fit(capacity, held, kUntouched, group);
    use = fit.use;
    if (fit.dimension == kReasonNone) [[likely]]
      return true;
    nodes_.exhaust(entry, fit.dimension);
    return false;
  }
  return use_of_special(entry, v, no_devices, ports_do, use);
}

/// Like use_by_amounts() for a node with ports, devices or cores; `ports_do`: the ports are known to be free.
bool BlockFit::use_of_special(std::uint32_t entry, GroupView& v, bool by_amounts, bool ports_do, FitUse& use) {
  const CompiledGroup& group = *v.group;
  const NodeRow row = nodes_.row[entry];
  const tables::NodeUse& held = attempt_.snapshot->nodes.use[row];
  const tables::NodeCapacity& capacity = candidates_.nodes->capacities[nodes_.capacity[entry]];
  std::optional<PlainFit> fit;
  if (by_amounts && group.has_cores)
    fit = ports_do ? fit_untouched_by_cores(fit_, row, capacity, group) : fit_by_cores(fit_, row, group);
  else if (by_amounts &&
           ((ports_do && (held.irregular & tables::kCoresIrregular) == 0) || fit_.amounts_decide(row, group)))
    fit = plain_fit(capacity, held, kUntouched, group);
  if (!fit) {
    decide(entry, v);
    return false;
  }
  use = fit->use;
  if (fit->dimension == kReasonNone) return true;
  nodes_.exhaust(entry, fit->dimension);
  return false;
}

/// Use, with the group, and capacity of cpu and memory, by entry of a block.
struct BlockFit::Amounts {
  alignas(64) std::array<double, kBlock> cpu_used, cpu_capacity, memory_used, memory_capacity;
  /// Pads the `count` entries to a full step of rank::fit_columns() with empty nodes.
  void fill(std::uint32_t count) {
    for (std::uint32_t i = count; i % rank::kFitStep != 0; ++i)
      cpu_used[i] = memory_used[i] = 0, cpu_capacity[i] = memory_capacity[i] = 1;
  }
};
/// Bits by entry of the block. special: decide the entry by itself; lacking: some amount is short.
struct BlockFit::AmountBits {
  std::uint64_t special = 0, lacking = 0;
};

/// Computes plain_fit() of the entries from `first` on, without branches, which would be mispredicted.
BlockFit::AmountBits BlockFit::gather_amounts(std::uint32_t first, const CompiledGroup& group, Amounts& out) const {
  const PortFit::ByProfile ports = ports_;
  const auto& use = attempt_.snapshot->nodes.use;
  const tables::NodeCapacity* const capacities = candidates_.nodes->capacities.data();
  const NodeRow* const rows = nodes_.row.data() + first;
  const std::uint32_t* const capacity_of = nodes_.capacity.data() + first;
  const std::uint32_t count = nodes_.count - first;
  const std::int64_t cpu_asked = group.cpu_mhz, memory_asked = group.memory_mb, disk_asked = group.disk_mb;
  const bool touched = !nodes_.untouched;
  AmountBits bits;
  for (std::uint32_t i = 0; i < count; ++i) {
    const NodeRow row = rows[i];
    const tables::NodeUse& held = use[row];
    const tables::NodeCapacity& capacity = capacities[capacity_of[i]];
    const std::int64_t cpu = base::wrap_add(held.cpu_mhz, cpu_asked);
    const std::int64_t memory = base::wrap_add(held.memory_mb, memory_asked);
    const bool lacks =
        (capacity.cpu_mhz < cpu) | (capacity.memory_mb < memory) |
        (capacity.disk_mb < base::wrap_add(held.disk_mb, disk_asked)) |
        ((capacity.max_allocs != 0) & (capacity.max_allocs <= static_cast<std::int64_t>(held.alloc_count)));
    const bool tell =
        ports.known ? ports.free_on(row, held) : !group.has_network && (held.port_allocs | held.core_allocs) == 0;
    const bool special = !tell || capacity.network_invalid != 0 || (touched && scratch_.overlay(row));
    bits.lacking |= std::uint64_t{lacks} << i;
    bits.special |= std::uint64_t{special} << i;
    out.cpu_used[i] = static_cast<double>(cpu), out.cpu_capacity[i] = capacity.cpu_score;
    out.memory_used[i] = static_cast<double>(memory), out.memory_capacity[i] = capacity.memory_score;
  }
  out.fill(count);
  return bits;
}

void BlockFit::gather_capacity(std::uint32_t first, Amounts& out) const {
  for (std::uint32_t entry = first; entry < nodes_.count; ++entry) {
    const tables::NodeCapacity& capacity = candidates_.nodes->capacities[nodes_.capacity[entry]];
    const std::uint32_t i = entry - first;
    out.cpu_used[i] = out.memory_used[i] = 0;
    out.cpu_capacity[i] = capacity.cpu_score, out.memory_capacity[i] = capacity.memory_score;
  }
  out.fill(nodes_.count - first);
}

/// Scores a block. On nodes without an overlay the job holds nothing, so the only component besides binpack is that of
/// the affinities.
void BlockFit::score_block(std::uint32_t first, GroupView& v, bool by_amounts) {
  const CompiledGroup& group = *v.group;
  const std::uint32_t count = nodes_.count - first;
  if (count == 0) return;
  if (!by_amounts) {
    for (std::uint32_t entry = first; entry < nodes_.count; ++entry) decide(entry, v);
    return;
  }
  Amounts of;
  std::array<double, kBlock> components;
  std::uint64_t decided = 0;  // bits of the entries already decided
  AmountBits bits;
  if (group.has_cores)  // the speed of the cores differs from node to node
    bits.special = ~0ULL >> (64 - count), gather_capacity(first, of);
  else
    bits = gather_amounts(first, group, of);
  for (std::uint64_t rest = bits.special | bits.lacking; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const std::uint32_t entry = first + static_cast<std::uint32_t>(i);
    FitUse use;
    if (use_by_amounts(entry, v, true, false, use)) {
      of.cpu_used[i] = static_cast<double>(use.cpu_mhz);
      of.memory_used[i] = static_cast<double>(use.memory_mb);
    } else {
      decided |= std::uint64_t{1} << i;
    }
  }
  rank::fit_columns(attempt_.config.algorithm,
                    {of.cpu_used.data(), of.cpu_capacity.data(), of.memory_used.data(), of.memory_capacity.data()},
                    count, components.data());
  if (decided == 0 && group.affinities.empty()) {
    std::copy_n(components.data(), count, nodes_.sum.data() + first);
    std::copy_n(components.data(), count, nodes_.value.data() + first);
    std::fill_n(nodes_.appended.data() + first, count, 1.0);
    return;
  }
  for (std::uint64_t rest = ~decided & (~0ULL >> (64 - count)); rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    set_fit(first + static_cast<std::uint32_t>(i), group, components[static_cast<std::size_t>(i)]);
  }
}

/// Like score_block() if a strategy scores the fit: one call for all nodes of the block that are not decided one by
/// one.
void BlockFit::score_by_strategy(std::uint32_t first, GroupView& v, bool by_amounts) {
  static_assert(kBlock <= StrategyFit::kBlock);
  const CompiledGroup& group = *v.group;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  std::array<std::uint32_t, kBlock> entries;
  std::array<FitUse, kBlock> uses;
  std::size_t count = 0;
  for (std::uint32_t entry = first; entry < nodes_.count; ++entry) {
    FitUse use;
    if (!use_by_amounts(entry, v, by_amounts, true, use)) continue;
    entries[count] = entry;
    uses[count++] = use;
  }
  StrategyFit& strategy = scratch_.strategy_fit;
  strategy.begin(group, attempt_.job->priority);
  for (std::size_t i = 0; i < count; ++i) {
    const NodeRow row = nodes_.row[entries[i]];
    strategy.add(*attempt_.snapshot, row, uses[i], nodes.use[row].alloc_count);
  }
  const std::span<const double> components = strategy.take();
  for (std::size_t i = 0; i < count; ++i) nodes_.set_component(entries[i], 0.0 + components[i]);
}

/// Sets the binpack component and that of the affinities, if any.
inline void BlockFit::set_fit(std::uint32_t entry, const CompiledGroup& group, double component) {
  if (group.affinities.empty()) return nodes_.set_component(entry, component);
  rank::ScoreRow score;
  score.append(rank::Component::binpack, component);
  score.append(rank::Component::affinity, fit_.scorer.affinity_here(nodes_.row[entry], group));
  nodes_.set_score(entry, score);
}

void BlockFit::decide(std::uint32_t entry, GroupView& v) {
  if (distinct_hosts_ && checks_.distinct.shares_host(nodes_.row[entry], v))
    return nodes_.exhaust(entry, kReasonDistinctHosts);
  Cell cell;
  fit_.decide(nodes_.row[entry], v, cell);
  if (cell.fit == kFail) return nodes_.exhaust(entry, cell.dimension);
  nodes_.set_score(entry, cell.score);
}

}  // namespace berth::sched
