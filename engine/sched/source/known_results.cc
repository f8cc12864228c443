#include "sched/source/known_results.h"

#include <array>
#include <bit>
#include <utility>

#include "tables/state.h"

namespace berth::sched {

using rank::Known;
using tables::NodeRow;

namespace {

constexpr int kUnknownMost = 8;  // nodes of a block without a cached result that are decided one by one
/// A visit with a cached result saves as much as clearing this many results in sequence costs.
constexpr std::size_t kClearedPerVisit = 32;

}  // namespace

void KnownResults::begin(const GroupView& v) { table_ = find_table(v); }

bool KnownResults::apply(const GroupView& v) const {
  return table_ && !block_checks_.resumed() && table_->key == key_of(v);  // it may have been replaced
}

/// Returns the cached results of earlier evaluations for nodes that no plan touches, if amounts and kind decide them;
/// otherwise null.
AskTable* KnownResults::find_table(const GroupView& v) {
  if (!attempt_.enabled.has(Switch::scores) || !tables::serves(kServes, parts_.needs)) return nullptr;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  AskTable* const table = scratch_.by_state.ask_tables.find_or_note(key_of(v), nodes.size());
  if (!table || table->follow(scratch_.by_state.feed, nodes, *v.group, false, AskTable::changes_most(nodes)))
    return table;
  if (nodes.size() > kClearedPerVisit * candidates_.expected) return nullptr;
  table->fill(nodes, Known::kUnknown);
  return table;
}

bool KnownResults::append(std::uint32_t end, GroupView& v) {
  static_assert(kBlock <= 64);
  std::array<const ReadyNodes::Candidate*, kBlock> of;
  std::array<std::uint64_t, kBlock> known;
  const std::uint32_t first = nodes_.order.prepared, size = end - first;
  // Bit i is node first + i. tagged: no component is cached; failing: fails a check; fresh: of these, perhaps the first
  // of its class; unknown: no result.
  std::uint64_t tagged = look_up(first, size, of.data(), known.data());
  std::uint64_t failing = 0, fresh = 0, unknown = 0;
  const auto sort_tag = [&](int i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (Known::fails(known[i])) {
      failing |= bit;
      if (!block_checks_.fails(of[i]->computed_class)) fresh |= bit;
    } else if (!Known::is_short(known[i])) {
      unknown |= bit;
    }
  };
  for (std::uint64_t rest = tagged; rest != 0; rest &= rest - 1) sort_tag(std::countr_zero(rest));
  if (std::popcount(unknown) > kUnknownMost) return false;
  for (std::uint64_t rest = std::exchange(unknown, 0); rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const NodeRow row = of[i]->row;
    if (!nodes_.untouched && scratch_.overlay(row)) return false;
    compute(*of[i], v);
    known[i] = table_->of_row[row];
    if (!attempt_.error.empty() || known[i] >= Known::kPasses) return false;
    if (Known::is_component(known[i])) tagged &= ~(std::uint64_t{1} << i);
    sort_tag(i);
  }
  for (std::uint64_t rest = fresh; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    block_checks_.note_failing(first + static_cast<std::uint32_t>(i), *of[i], v);
  }
  const std::uint32_t first_entry = nodes_.count;
  scratch_.source_counts.known += size;
  append_passing(first, size, failing, of.data(), known.data());
  for (std::uint64_t rest = tagged & ~failing; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest), failing_before = std::popcount(failing << (63 - i));
    nodes_.exhaust(first_entry + static_cast<std::uint32_t>(i - failing_before), table_->why(known[i]).why);
  }
  if (!nodes_.untouched)
    for (std::uint32_t entry = first_entry; entry < nodes_.count; ++entry)
      if (scratch_.overlay(nodes_.row[entry])) block_fit_.decide(entry, v);
  return true;
}

/// Writes the candidates at `size` positions from `first` on, and their cached results. Returns as bits which results
/// are tagged: not a component.
std::uint64_t KnownResults::look_up(std::uint32_t first, std::uint32_t size, const ReadyNodes::Candidate** of,
                                    std::uint64_t* known) {
  // Local copies of the pointers: the compiler must assume that stores to the columns change the members.
  const ReadyNodes::Candidate* const candidates = candidates_.nodes->candidates.data();
  const std::uint32_t* const order =
      candidates_.order.first(std::min(nodes_.order.base + first + size, candidates_.size)).data();
  const std::uint64_t* const by_row = table_->of_row.data();
  std::uint32_t* const class_of = nodes_.order.class_of.data() + first;
  const std::uint32_t a_class =
      first == 0 ? candidates[order[nodes_.place_of(0)]].node_class : nodes_.order.class_of[0];
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
  const std::uint32_t place = nodes_.place_of(first), before_wrap = std::min(size, candidates_.size - place);
  look(before_wrap, size, order);
  look(0, before_wrap, order + place);
  nodes_.order.one_class = nodes_.order.one_class && other_classes == 0;
  return tagged;
}

/// Appends those of the `size` nodes from position `first` on that do not fail, with their cached component.
void KnownResults::append_passing(std::uint32_t first, std::uint32_t size, std::uint64_t failing,
                                  const ReadyNodes::Candidate* const* of, const std::uint64_t* known) {
  std::uint32_t* position = nodes_.position.data() + nodes_.count;
  NodeRow* row = nodes_.row.data() + nodes_.count;
  double *sum = nodes_.sum.data() + nodes_.count, *score = nodes_.value.data() + nodes_.count,
         *appended = nodes_.appended.data() + nodes_.count;
  for (std::uint64_t rest = ~failing & (~0ULL >> (64 - size)); rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
    *position++ = first + i;
    *row++ = of[i]->row;
    *sum++ = *score++ = std::bit_cast<double>(known[i]);
    *appended++ = 1.0;
  }
  nodes_.count = static_cast<std::uint32_t>(position - nodes_.position.data());
  std::uint8_t* const passes = nodes_.order.passes.data() + first;
  for (std::uint32_t i = 0; i < size; ++i)
    passes[i] = (failing >> i & 1) != 0 ? PassingNodes::kFails : PassingNodes::kPasses;
}

/// Decides a node that the plan does not touch and stores the result in the table; after an error, nothing is stored.
void KnownResults::compute(const ReadyNodes::Candidate& candidate, GroupView& v) {
  std::uint64_t& known = table_->of_row[candidate.row];
  if (known == Known::kUnknown &&
      checks_.first_failing_of_class(candidate.row, candidate.computed_class, v) != kReasonNone) {
    known = Known::kFails;
    return;
  }
  Cell cell;
  fit_.decide(candidate.row, v, cell);
  if (!attempt_.error.empty()) return;
  if (cell.fit == kFail)
    table_->enter(candidate.row, candidate.node_class, cell.dimension, false);
  else
    known = std::bit_cast<std::uint64_t>(cell.score.sum());
}

void KnownResults::store(std::uint32_t first, std::uint32_t end, std::uint32_t first_entry) {
  AskTable& table = *table_;
  for (std::uint32_t index = first, place = nodes_.place_of(first); index < end; ++index, place = nodes_.next(place))
    if (nodes_.order.passes[index] == PassingNodes::kFails) table.of_row[nodes_.at_place(place).row] = Known::kFails;
  for (std::uint32_t entry = first_entry; entry < nodes_.count; ++entry) {
    const NodeRow row = nodes_.row[entry];
    if (!nodes_.untouched && scratch_.overlay(row)) continue;
    BERTH_DEBUG_ASSERT(nodes_.appended[entry] <= 1);
    if (nodes_.appended[entry] == 0)
      table.enter(row, nodes_.class_of(entry), nodes_.dimension[entry], false);
    else
      table.of_row[row] = std::bit_cast<std::uint64_t>(nodes_.sum[entry]);
  }
}

}  // namespace berth::sched
