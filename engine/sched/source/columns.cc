// What the columns hold and how they are filled.
#include "sched/source/columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/prefetch.h"
#include "rank/score_fit.h"

namespace berth::sched {

using rank::Known;
using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr std::uint32_t kBlock = 64, kExpensiveBlock = 4;
constexpr std::uint32_t kFirstBlock = 20, kFurtherBlock = 16;  // the first block; blocks beyond the computed order
constexpr int kUnknownMost = 8;  // nodes of a block without a cached result that are decided one by one
/// A visit with a cached result saves as much as clearing this many results in sequence costs.
constexpr std::size_t kClearedPerVisit = 32;

AskKey key_of(const GroupView& v, const Candidates& candidates, const Attempt& attempt) {
  return {v.group->ask->number, candidates.base_set, attempt.config.algorithm};
}

}  // namespace

void Columns::start() {
  active_ = taken_ = false;
  entries_.count = 0;
}

/// Allocates the columns once per attempt, and those for the needs of later groups on demand.
void Columns::take_columns() {
  Arena& arena = scratch_.arena;
  const std::uint32_t size = candidates_.size;
  if (!std::exchange(taken_, true)) {
    for (auto* column : {&entries_.position, &entries_.dimension, &entries_.capacity, &class_of_})
      *column = arena.take<std::uint32_t>(size);
    entries_.row = arena.take<NodeRow>(size);
    for (auto* column : {&entries_.sum, &entries_.appended, &entries_.value}) *column = arena.take<double>(size);
    entries_.score = arena.take<rank::ScoreRow>(size);
    passes_ = arena.take<std::uint8_t>(size);
    entries_.spread = {};
    entries_.codes.clear(), entries_.property_codes.clear();
  }
  while (entries_.property_codes.size() < asks_.properties.size())
    entries_.property_codes.push_back(arena.take<std::uint32_t>(size));
  while (entries_.codes.size() < asks_.spread_sets) entries_.codes.push_back(arena.take<std::uint32_t>(size));
  if (asks_.spread_sets > 0 && entries_.spread.empty()) entries_.spread = arena.take<double>(size);
}

void Columns::begin(GroupView& v) {
  view_ = &v;
  active_ = true;
  extent_.base = candidates_.offset;
  extent_.prepared = entries_.count = extent_.cursor = extent_.visited = 0;
  extent_.looked = extent_.wanted = 0;
  failing_.first_reasons.clear();
  failing_.node_reasons.clear();
  failing_.next_reason = 0;
  stale_.entries.assign(candidates_.size / 64 + 1, 0);
  stale_.last = 0;
  resumed_ = checks_.class_verdicts().knows_any();
  class_state_.assign(attempt_.snapshot->nodes.column(tables::kComputedClassColumn).values.size() + 1, kClassUnknown);
  untouched_ = scratch_.by_attempt.overlays.empty();
  asks_.distinct_hosts = checks_.distinct.asks_hosts(v);
  asks_.volumes = v.group->has_host_volumes;
  failing_.one_class = failing_.one_dimension = true;
  failing_.any_exhausted = false;
  best_of_all_.indexed = Indexed::not_yet;
  const rank::SpreadGroup* const spread = fit_.scorer.spread_group();
  asks_.spread_sets = spread ? spread->sets().size() : 0;
  asks_.notes_boosts =
      spread && attempt_.job->groups.size() > 1 &&
      std::any_of(spread->sets().begin(), spread->sets().end(), [](const auto& set) { return !set.is_even(); });
  checks_.distinct.properties(v, asks_.properties);
  asks_.is_settled = asks_.spread_sets == 0 && asks_.properties.empty();
  fit_.scorer.begin_affinities(*v.group);
  take_columns();
  asks_.table = find_table(v);
}

/// Returns the cached results of earlier evaluations for nodes that no plan touches, if amounts and kind decide them;
/// otherwise null.
AskTable* Columns::find_table(const GroupView& v) {
  if (!attempt_.enabled.has(Switch::scores) || !tables::serves(kScoresServe, parts_.needs)) return nullptr;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  AskTable* const table = scratch_.by_state.ask_tables.find_or_note(key_of(v, candidates_, attempt_), nodes.size());
  if (!table || table->follow(scratch_.by_state.feed, nodes, *v.group, false, AskTable::changes_most(nodes)))
    return table;
  if (nodes.size() > kClearedPerVisit * candidates_.expected) return nullptr;
  table->fill(nodes, Known::kUnknown);
  return table;
}

/// Decides the checks without the quirk verdicts_per_class, like NodeChecks::group_checks(), once per node.
bool Columns::passes_by_node(std::uint32_t index, NodeRow row, std::uint32_t computed_class, GroupView& v) {
  ClassState& state = class_state_[computed_class];
  if (resumed_ && state == kClassUnknown) state = known_state(computed_class, v.number);
  if (state == kClassFails) return false;
  bool of_node = false;
  const std::uint32_t reason = state == kClassUnknown ? checks_.first_failing(row, v, &of_node)
                                                      : checks_.first_failing_of_group(row, v, true, &of_node);
  if (reason == kReasonNone) {
    state = kClassPasses;
    return true;
  }
  if (of_node) {
    failing_.node_reasons.push_back({index, reason, computed_class});
  } else {
    state = kClassFails;
    failing_.first_reasons.push_back({index, reason});
  }
  return false;
}

/// Returns the class verdict of earlier Selects of the attempt, of any group (R-FEAS-410).
Columns::ClassState Columns::known_state(std::uint32_t class_id, std::uint32_t group) const {
  const feasible::ClassCache& classes = checks_.ledger().classes;
  const feasible::ClassStatus of_group = classes.group_status(group, class_id);
  if (of_group == feasible::ClassStatus::ineligible ||
      classes.job_status(class_id) == feasible::ClassStatus::ineligible)
    return kClassFails;
  return of_group == feasible::ClassStatus::eligible ? kClassPasses : kClassUnknown;
}

/// Checks the nodes from `extent_.prepared` to `end` by class and appends those that pass.
template <bool kPerClass>
void Columns::find_entries(std::uint32_t end, GroupView& v) {
  const std::vector<ReadyNodes::Candidate>& candidates = candidates_.nodes->candidates;
  const std::uint32_t size = candidates_.size;
  const std::span<const std::uint32_t> order = candidates_.order.first(std::min(extent_.base + end, size));
  // Prefetch the candidates of the next block, as far as the order is computed; at the start, also those of this one.
  const std::span<const std::uint32_t> ahead = candidates_.order.first(candidates_.order.fixed());
  for (std::uint32_t index = extent_.prepared == 0 ? 0 : end, last = std::min(2 * end - extent_.prepared, size);
       index < last; ++index)
    if (const std::uint32_t place = place_of(index); place < ahead.size()) base::prefetch(&candidates[ahead[place]]);
  std::span<const std::uint32_t> known = checks_.known_of_classes(v);
  for (std::uint32_t index = extent_.prepared, place = place_of(index); index < end; ++index, place = next(place)) {
    const ReadyNodes::Candidate& candidate = candidates[order[place]];
    const NodeRow row = candidate.row;
    const std::uint32_t node_class = candidate.node_class;
    class_of_[index] = node_class;
    failing_.one_class = failing_.one_class && node_class == class_of_[0];
    bool passes;
    if constexpr (kPerClass) {
      ClassState& state = class_state_[candidate.computed_class];
      std::uint32_t reason =
          candidate.computed_class < known.size() ? known[candidate.computed_class] : KindVerdicts::kUnknown;
      if (resumed_) {
        if (state == kClassUnknown) state = known_state(candidate.computed_class, v.number);
        if (state != kClassUnknown) reason = KindVerdicts::kUnknown;
      }
      if (reason == KindVerdicts::kUnknown && state == kClassUnknown) {
        reason = checks_.first_failing_of_class(row, candidate.computed_class, v);
        known = checks_.known_of_classes(v);  // the call may have moved them
      }
      // Whether the node is the first of a passing class is irrelevant, and a branch on it would be mispredicted.
      passes = reason == kReasonNone || (reason == KindVerdicts::kUnknown && state == kClassPasses);
      if (!passes && state == kClassUnknown) failing_.first_reasons.push_back({index, reason});
      state = passes ? kClassPasses : kClassFails;
    } else {
      passes = passes_by_node(index, row, candidate.computed_class, v);
    }
    // Written always, retained only if the node passes: a branch would be mispredicted.
    passes_[index] = passes;
    entries_.position[entries_.count] = index;
    entries_.row[entries_.count] = row;
    entries_.capacity[entries_.count] = candidate.capacity;
    entries_.count += passes;
  }
}

/// Removes the new entries whose node lacks the volumes. They are counted apart from their class (R-FEAS-305).
void Columns::drop_without_volumes(std::uint32_t first_entry) {
  std::uint32_t kept = first_entry;
  for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry) {
    if (!checks_.volumes.node_has(entries_.row[entry])) {
      passes_[entries_.position[entry]] = kLacksVolumes;
      continue;
    }
    entries_.position[kept] = entries_.position[entry];
    entries_.row[kept] = entries_.row[entry];
    entries_.capacity[kept++] = entries_.capacity[entry];
  }
  entries_.count = kept;
}

/// Returns a block size within the part of the order that is computed: further entries of the order cost more.
std::uint32_t Columns::cheap_block() const {
  const std::size_t known = candidates_.order.fix_expected(), place = extent_.base + extent_.prepared;
  const std::uint32_t most = extent_.prepared == 0 ? kFirstBlock : kBlock;
  if (known == candidates_.size) return most;
  return known <= place ? kFurtherBlock : static_cast<std::uint32_t>(std::min<std::size_t>(known - place, most));
}

void Columns::prepare_block(GroupView& v) {
  // If the fit needs more than amounts, prepare only as far as a Select is likely to go: a few nodes that pass.
  const CompiledGroup& group = *v.group;
  const bool expensive = fit_.is_expensive(group);
  const std::uint32_t expensive_block =
      std::clamp(2 * extent_.prepared / std::max(1U, entries_.count), kExpensiveBlock, kBlock);
  const std::uint32_t block = expensive ? expensive_block : cheap_block();
  const std::uint32_t first = extent_.prepared, end = std::min(candidates_.size, first + block);
  const std::uint32_t first_entry = entries_.count;
  if (parts_.detail) parts_.detail->enter(base::Stage::filter);
  const bool stores =
      asks_.table && !resumed_ && asks_.table->key == key_of(v, candidates_, attempt_);  // it may have been replaced
  if (stores && enter_known(end, v)) {
    extent_.prepared = end;
    return read_codes(first_entry);
  }
  if (attempt_.quirks.verdicts_per_class)
    find_entries<true>(end, v);
  else
    find_entries<false>(end, v);
  if (asks_.volumes) drop_without_volumes(first_entry);
  extent_.prepared = end;
  if (parts_.detail) parts_.detail->enter(base::Stage::rank);
  const bool by_amounts = !expensive;
  asks_.ports = by_amounts ? fit_.ports_by_profile(group) : PortFit::ByProfile{};
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  // Otherwise NodeUse::irregular says whether held cores matter.
  const bool asks_cores = !nodes.cores.empty() && (group.has_cores || !asks_.ports.known);
  for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry) {
    nodes.use.prefetch(entries_.row[entry]);
    if (by_amounts) asks_.ports.prefetch(entries_.row[entry]);
    if (asks_cores) nodes.cores.prefetch(entries_.row[entry]), nodes.fixed->spec.prefetch(entries_.row[entry]);
    if (!untouched_) base::prefetch(&scratch_.by_attempt.marks[entries_.row[entry]]);
  }
  if (asks_cores && group.has_cores) prefetch_core_tables(first_entry);
  read_codes(first_entry);
  if (scratch_.strategy_fit)
    score_by_strategy(first_entry, v, by_amounts && group.affinities.empty());
  else
    score_block(first_entry, v, by_amounts);
  if (stores && attempt_.error.empty()) store_results(first, end, first_entry);
}

/// Prefetches the core tables of a block. They are behind two pointers; each is followed for the whole block at once.
void Columns::prefetch_core_tables(std::uint32_t first_entry) const {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry)
    base::prefetch_all(nodes.spec(entries_.row[entry]).core_table);
  for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry)
    base::prefetch(nodes.spec(entries_.row[entry]).core_table.mhz.data());
}

/// Fills the value codes of properties and spreads.
void Columns::read_codes(std::uint32_t first_entry) {
  for (std::size_t p = 0; p < asks_.properties.size(); ++p)
    for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry)
      entries_.property_codes[p][entry] = checks_.distinct.code_of(*asks_.properties[p], entries_.row[entry]);
  for (std::size_t s = 0; s < asks_.spread_sets; ++s)
    for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry)
      entries_.codes[s][entry] = std::min(fit_.scorer.spread_group()->sets()[s].code_of_row(entries_.row[entry]),
                                          static_cast<std::uint32_t>(asks_.spread_tables[s].size() - 1));
}

/// Stores the results of the nodes from position `first` to `end` in the table; the entries from `first_entry` pass.
void Columns::store_results(std::uint32_t first, std::uint32_t end, std::uint32_t first_entry) {
  AskTable& table = *asks_.table;
  for (std::uint32_t index = first, place = place_of(first); index < end; ++index, place = next(place))
    if (passes_[index] == kFails)
      table.of_row[candidates_.nodes->candidates[candidates_.order.at(place)].row] = Known::kFails;
  for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry) {
    const NodeRow row = entries_.row[entry];
    if (!untouched_ && scratch_.overlay(row)) continue;
    BERTH_DEBUG_ASSERT(entries_.appended[entry] <= 1);
    if (entries_.appended[entry] == 0)
      table.enter(row, class_of_[entries_.position[entry]], entries_.dimension[entry], false);
    else
      table.of_row[row] = std::bit_cast<std::uint64_t>(entries_.sum[entry]);
  }
}

/// Decides a node that the plan does not touch and stores the result in the table; after an error, nothing is stored.
void Columns::compute_result(const ReadyNodes::Candidate& candidate, GroupView& v) {
  std::uint64_t& known = asks_.table->of_row[candidate.row];
  if (known == Known::kUnknown &&
      checks_.first_failing_of_class(candidate.row, candidate.computed_class, v) != kReasonNone) {
    known = Known::kFails;
    return;
  }
  Cell cell;
  fit_.decide(candidate.row, v, cell);
  if (!attempt_.error.empty()) return;
  if (cell.fit == kFail)
    asks_.table->enter(candidate.row, candidate.node_class, cell.dimension, false);
  else
    known = std::bit_cast<std::uint64_t>(cell.score.sum());
}

/// Like find_entries() and score_block(), from the results of earlier evaluations. False, and no entry is added: too
/// many nodes have no result.
bool Columns::enter_known(std::uint32_t end, GroupView& v) {
  static_assert(kBlock <= 64);
  std::array<const ReadyNodes::Candidate*, kBlock> of;
  std::array<std::uint64_t, kBlock> known;
  const std::uint32_t first = extent_.prepared, size = end - first;
  // Bit i is node first + i. tagged: no component is cached; failing: fails a check; fresh: of these, perhaps the first
  // of its class; unknown: no result.
  std::uint64_t tagged = look_up(first, size, of.data(), known.data());
  std::uint64_t failing = 0, fresh = 0, unknown = 0;
  const ClassState* const states = class_state_.data();
  const auto sort_tag = [&](int i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (Known::fails(known[i])) {
      failing |= bit;
      if (states[of[i]->computed_class] != kClassFails) fresh |= bit;
    } else if (!Known::is_short(known[i])) {
      unknown |= bit;
    }
  };
  for (std::uint64_t rest = tagged; rest != 0; rest &= rest - 1) sort_tag(std::countr_zero(rest));
  if (std::popcount(unknown) > kUnknownMost) return false;
  for (std::uint64_t rest = std::exchange(unknown, 0); rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const NodeRow row = of[i]->row;
    if (!untouched_ && scratch_.overlay(row)) return false;
    compute_result(*of[i], v);
    known[i] = asks_.table->of_row[row];
    if (!attempt_.error.empty() || known[i] >= Known::kPasses) return false;
    if (Known::is_component(known[i])) tagged &= ~(std::uint64_t{1} << i);
    sort_tag(i);
  }
  for (std::uint64_t rest = fresh; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    if (std::exchange(class_state_[of[i]->computed_class], kClassFails) == kClassFails) continue;
    failing_.first_reasons.push_back(
        {first + static_cast<std::uint32_t>(i), checks_.first_failing_of_class(of[i]->row, of[i]->computed_class, v)});
  }
  const std::uint32_t first_entry = entries_.count;
  scratch_.source_counts.known += size;
  append_passing(first, size, failing, of.data(), known.data());
  for (std::uint64_t rest = tagged & ~failing; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest), failing_before = std::popcount(failing << (63 - i));
    exhaust_entry(first_entry + static_cast<std::uint32_t>(i - failing_before), asks_.table->why(known[i]).why);
  }
  if (!untouched_)
    for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry)
      if (scratch_.overlay(entries_.row[entry])) decide_entry(entry, v);
  return true;
}

/// Writes the candidates at `size` positions from `first` on, and their cached results. Returns as bits which results
/// are tagged: not a component.
std::uint64_t Columns::look_up(std::uint32_t first, std::uint32_t size, const ReadyNodes::Candidate** of,
                               std::uint64_t* known) {
  // Local copies of the pointers: the compiler must assume that stores to the columns change the members.
  const ReadyNodes::Candidate* const candidates = candidates_.nodes->candidates.data();
  const std::uint32_t* const order =
      candidates_.order.first(std::min(extent_.base + first + size, candidates_.size)).data();
  const std::uint64_t* const by_row = asks_.table->of_row.data();
  std::uint32_t* const class_of = class_of_.data() + first;
  const std::uint32_t a_class = first == 0 ? candidates[order[place_of(0)]].node_class : class_of_[0];
  std::uint32_t other_classes = 0;
  std::uint64_t tagged = 0;
  const auto look = [&](std::uint32_t from, std::uint32_t to, const std::uint32_t* at) {
    for (std::uint32_t i = to; i-- > from;) {  // from the last one, so that doubling builds the bits
      const ReadyNodes::Candidate& candidate = candidates[at[i - from]];
      of[i] = &candidate;
      known[i] = by_row[candidate.row];
      tagged += tagged + !Known::is_component(known[i]);
      class_of[i] = candidate.node_class;
      other_classes |= candidate.node_class ^ a_class;
    }
  };
  const std::uint32_t place = place_of(first), before_wrap = std::min(size, candidates_.size - place);
  look(before_wrap, size, order);
  look(0, before_wrap, order + place);
  failing_.one_class = failing_.one_class && other_classes == 0;
  return tagged;
}

/// Appends those of the `size` nodes from position `first` on that do not fail, with their cached component.
void Columns::append_passing(std::uint32_t first, std::uint32_t size, std::uint64_t failing,
                             const ReadyNodes::Candidate* const* of, const std::uint64_t* known) {
  std::uint32_t* position = entries_.position.data() + entries_.count;
  NodeRow* row = entries_.row.data() + entries_.count;
  double *sum = entries_.sum.data() + entries_.count, *score = entries_.value.data() + entries_.count,
         *appended = entries_.appended.data() + entries_.count;
  for (std::uint64_t rest = ~failing & (~0ULL >> (64 - size)); rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
    *position++ = first + i;
    *row++ = of[i]->row;
    *sum++ = *score++ = std::bit_cast<double>(known[i]);
    *appended++ = 1.0;
  }
  entries_.count = static_cast<std::uint32_t>(position - entries_.position.data());
  std::uint8_t* const passes = passes_.data() + first;
  for (std::uint32_t i = 0; i < size; ++i) passes[i] = (failing >> i & 1) != 0 ? kFails : kPasses;
}

/// Writes the use of the entry's node with the group to `use`, if amounts decide the fit there. `by_amounts`: they do
/// on most nodes. False: the entry is already decided. `of_devices`: devices count as well.
inline bool Columns::use_by_amounts(std::uint32_t entry, GroupView& v, bool by_amounts, bool of_devices, FitUse& use) {
  const NodeRow row = entries_.row[entry];
  if (!by_amounts || (!untouched_ && scratch_.overlay(row))) {
    decide_entry(entry, v);
    return false;
  }
  const CompiledGroup& group = *v.group;
  const tables::NodeUse& held = attempt_.snapshot->nodes.use[row];
  const tables::NodeCapacity& capacity = candidates_.nodes->capacities[entries_.capacity[entry]];
  const bool no_devices = !of_devices || held.device_allocs == 0;
  const bool ports_do =
      capacity.network_invalid == 0 &&
      (asks_.ports.known ? asks_.ports.free_on(row, held) : held.port_allocs == 0 && !group.has_network);
  if (ports_do && no_devices && !group.has_cores && (asks_.ports.known || held.core_allocs == 0)) [[likely]] {
    const PlainFit fit = plain_fit(capacity, held, kUntouched, group);
    use = fit.use;
    if (fit.dimension == kReasonNone) [[likely]]
      return true;
    exhaust_entry(entry, fit.dimension);
    return false;
  }
  return use_of_special(entry, v, no_devices, ports_do, use);
}

/// Like use_by_amounts() for a node with ports, devices or cores; `ports_do`: the ports are known to be free.
bool Columns::use_of_special(std::uint32_t entry, GroupView& v, bool by_amounts, bool ports_do, FitUse& use) {
  const CompiledGroup& group = *v.group;
  const NodeRow row = entries_.row[entry];
  const tables::NodeUse& held = attempt_.snapshot->nodes.use[row];
  const tables::NodeCapacity& capacity = candidates_.nodes->capacities[entries_.capacity[entry]];
  std::optional<PlainFit> fit;
  if (by_amounts && group.has_cores)
    fit = ports_do ? fit_untouched_by_cores(fit_, row, capacity, group) : fit_by_cores(fit_, row, group);
  else if (by_amounts &&
           ((ports_do && (held.irregular & tables::kCoresIrregular) == 0) || fit_.amounts_decide(row, group)))
    fit = plain_fit(capacity, held, kUntouched, group);
  if (!fit) {
    decide_entry(entry, v);
    return false;
  }
  use = fit->use;
  if (fit->dimension == kReasonNone) return true;
  exhaust_entry(entry, fit->dimension);
  return false;
}

/// Use, with the group, and capacity of cpu and memory, by entry of a block.
struct Columns::Amounts {
  alignas(64) std::array<double, kBlock> cpu_used, cpu_capacity, memory_used, memory_capacity;
  /// Pads the `count` entries to a full step of rank::fit_columns() with empty nodes.
  void fill(std::uint32_t count) {
    for (std::uint32_t i = count; i % rank::kFitStep != 0; ++i)
      cpu_used[i] = memory_used[i] = 0, cpu_capacity[i] = memory_capacity[i] = 1;
  }
};
/// Bits by entry of the block. special: decide the entry by itself; lacking: some amount is short.
struct Columns::AmountBits {
  std::uint64_t special = 0, lacking = 0;
};

/// Computes plain_fit() of the entries from `first_entry` on, without branches, which would be mispredicted.
Columns::AmountBits Columns::gather_amounts(std::uint32_t first_entry, const CompiledGroup& group, Amounts& out) const {
  const PortFit::ByProfile ports = asks_.ports;
  const auto& use = attempt_.snapshot->nodes.use;
  const tables::NodeCapacity* const capacities = candidates_.nodes->capacities.data();
  const NodeRow* const rows = entries_.row.data() + first_entry;
  const std::uint32_t* const capacity_of = entries_.capacity.data() + first_entry;
  const std::uint32_t count = entries_.count - first_entry;
  const std::int64_t cpu_asked = group.cpu_mhz, memory_asked = group.memory_mb, disk_asked = group.disk_mb;
  const bool touched = !untouched_;
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

void Columns::gather_capacity(std::uint32_t first_entry, Amounts& out) const {
  for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry) {
    const tables::NodeCapacity& capacity = candidates_.nodes->capacities[entries_.capacity[entry]];
    const std::uint32_t i = entry - first_entry;
    out.cpu_used[i] = out.memory_used[i] = 0;
    out.cpu_capacity[i] = capacity.cpu_score, out.memory_capacity[i] = capacity.memory_score;
  }
  out.fill(entries_.count - first_entry);
}

/// Scores a block. On nodes without an overlay the job holds nothing, so the only component besides binpack is that of
/// the affinities.
void Columns::score_block(std::uint32_t first_entry, GroupView& v, bool by_amounts) {
  const CompiledGroup& group = *v.group;
  const std::uint32_t count = entries_.count - first_entry;
  if (count == 0) return;
  if (!by_amounts) {
    for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry) decide_entry(entry, v);
    return;
  }
  Amounts of;
  std::array<double, kBlock> components;
  std::uint64_t decided = 0;  // bits of the entries already decided
  AmountBits bits;
  if (group.has_cores)  // the speed of the cores differs from node to node
    bits.special = ~0ULL >> (64 - count), gather_capacity(first_entry, of);
  else
    bits = gather_amounts(first_entry, group, of);
  for (std::uint64_t rest = bits.special | bits.lacking; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const std::uint32_t entry = first_entry + static_cast<std::uint32_t>(i);
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
    std::copy_n(components.data(), count, entries_.sum.data() + first_entry);
    std::copy_n(components.data(), count, entries_.value.data() + first_entry);
    std::fill_n(entries_.appended.data() + first_entry, count, 1.0);
    return;
  }
  for (std::uint64_t rest = ~decided & (~0ULL >> (64 - count)); rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    set_fit(first_entry + static_cast<std::uint32_t>(i), group, components[static_cast<std::size_t>(i)]);
  }
}

/// Like score_block() if a strategy scores the fit: one call for all nodes of the block that are not decided one by
/// one.
void Columns::score_by_strategy(std::uint32_t first_entry, GroupView& v, bool by_amounts) {
  static_assert(kBlock <= StrategyFit::kBlock);
  const CompiledGroup& group = *v.group;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  std::array<std::uint32_t, kBlock> entries;
  std::array<FitUse, kBlock> uses;
  std::size_t count = 0;
  for (std::uint32_t entry = first_entry; entry < entries_.count; ++entry) {
    FitUse use;
    if (!use_by_amounts(entry, v, by_amounts, true, use)) continue;
    entries[count] = entry;
    uses[count++] = use;
  }
  StrategyFit& strategy = scratch_.strategy_fit;
  strategy.begin(group, attempt_.job->priority);
  for (std::size_t i = 0; i < count; ++i) {
    const NodeRow row = entries_.row[entries[i]];
    strategy.add(*attempt_.snapshot, row, uses[i], nodes.use[row].alloc_count);
  }
  const std::span<const double> components = strategy.take();
  for (std::size_t i = 0; i < count; ++i) set_binpack(entries[i], 0.0 + components[i]);
}

/// Sets the binpack component and that of the affinities, if any.
inline void Columns::set_fit(std::uint32_t entry, const CompiledGroup& group, double component) {
  if (group.affinities.empty()) return set_binpack(entry, component);
  rank::ScoreRow score;
  score.append(rank::Component::binpack, component);
  score.append(rank::Component::affinity, fit_.scorer.affinity_here(entries_.row[entry], group));
  set_score(entry, score);
}

/// Sets binpack as the only component, so it is also the sum.
void Columns::set_binpack(std::uint32_t entry, double component) {
  entries_.sum[entry] = entries_.value[entry] = component;
  entries_.appended[entry] = 1.0;
}

void Columns::exhaust_entry(std::uint32_t entry, std::uint32_t dimension) {
  entries_.sum[entry] = 0;
  entries_.appended[entry] = 0;
  entries_.value[entry] = std::numeric_limits<double>::quiet_NaN();
  entries_.dimension[entry] = dimension;
  if (failing_.any_exhausted && dimension != failing_.dimension) failing_.one_dimension = false;
  failing_.any_exhausted = true;
  failing_.dimension = dimension;
  if (dimension == kReasonNone || dimension == kDimensionInvalidNode || dimension == kDimensionPortCollision ||
      dimension == kReasonDistinctHosts)
    failing_.one_dimension = false;  // counted one by one
}

void Columns::decide_entry(std::uint32_t entry, GroupView& v) {
  if (asks_.distinct_hosts && checks_.distinct.shares_host(entries_.row[entry], v))
    return exhaust_entry(entry, kReasonDistinctHosts);
  Cell cell;
  fit_.decide(entries_.row[entry], v, cell);
  if (cell.fit == kFail) return exhaust_entry(entry, cell.dimension);
  set_score(entry, cell.score);
}

void Columns::set_score(std::uint32_t entry, const rank::ScoreRow& score) {
  entries_.sum[entry] = score.sum();
  entries_.appended[entry] = static_cast<double>(score.count());
  entries_.value[entry] = entries_.sum[entry] / entries_.appended[entry];
  if (score.count() > 1) entries_.score[entry] = score;
}

void Columns::placed(NodeRow node) {
  BERTH_ASSERT(active_ && entries_.row[extent_.chosen] == node);
  if (best_of_all_.indexed == Indexed::yes) {
    decide_entry(extent_.chosen, *view_);
    return reindex(extent_.chosen);
  }
  mark_stale(extent_.chosen);
}

void Columns::mark_stale(std::uint32_t entry) {
  stale_.entries[entry / 64] |= std::uint64_t{1} << entry % 64;
  stale_.last = std::max(stale_.last, entry);
}

void Columns::touched(NodeRow node) {
  untouched_ = false;
  if (!active_) return;
  const std::span<NodeRow> rows = entries_.row.first(entries_.count);
  const auto entry = static_cast<std::uint32_t>(std::find(rows.begin(), rows.end(), node) - rows.begin());
  if (entry == entries_.count) return;  // not prepared yet; preparing includes the plan's changes
  if (best_of_all_.indexed == Indexed::yes) {
    decide_entry(entry, *view_);
    return reindex(entry);
  }
  mark_stale(entry);
}

void Columns::decide_stale(std::uint32_t first, std::uint32_t last) {
  last = std::min(last, stale_.last + 1);
  while (first < last) {
    const std::uint32_t word = first / 64, end = std::min(last, 64 * (word + 1));
    const std::uint64_t asked = (~0ULL >> (64 - (end - first))) << first % 64;
    std::uint64_t rest = stale_.entries[word] & asked;
    stale_.entries[word] &= ~asked;
    for (; rest != 0; rest &= rest - 1)
      decide_entry(64 * word + static_cast<std::uint32_t>(std::countr_zero(rest)), *view_);
    first = end;
  }
  // Prefetch for the stale entries of the next Select: their rows are scattered over the tables.
  const std::uint32_t word = last / 64, skipped = last % 64;
  std::uint64_t ahead = stale_.entries[word] >> skipped;
  if (skipped != 0 && word + 1 < stale_.entries.size()) ahead |= stale_.entries[word + 1] << (64 - skipped);
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  for (ahead &= (1U << kStaleAhead) - 1; ahead != 0; ahead &= ahead - 1) {
    const NodeRow row = entries_.row[last + static_cast<std::uint32_t>(std::countr_zero(ahead))];
    nodes.use.prefetch(row);
    nodes.fixed->capacity.prefetch(row);
    base::prefetch(&scratch_.by_attempt.marks[row]);
  }
}

}  // namespace berth::sched
