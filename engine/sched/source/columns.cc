// How the columns are begun, prepared and kept current.
#include "sched/source/columns.h"

#include <algorithm>
#include <bit>

namespace berth::sched {

using tables::NodeRow;

namespace {

constexpr std::uint32_t kExpensiveBlock = 4;
constexpr std::uint32_t kFirstBlock = 20, kFurtherBlock = 16;  // the first block; blocks beyond the computed order

}  // namespace

void Columns::begin(GroupView& v) {
  view_ = &v;
  active_ = true;
  cursor_ = {};
  stale_.entries.assign(candidates_.size / 64 + 1, 0);
  stale_.last = 0;
  best_of_all_.indexed = BestOfAll::not_yet;
  const rank::SpreadGroup* const spread = fit_.scorer.spread_group();
  spread_.sets = spread ? spread->sets().size() : 0;
  spread_.notes_boosts =
      spread && attempt_.job->groups.size() > 1 &&
      std::any_of(spread->sets().begin(), spread->sets().end(), [](const auto& set) { return !set.is_even(); });
  checks_.distinct.properties(v, nodes_.properties);
  is_settled_ = spread_.sets == 0 && nodes_.properties.empty();
  nodes_.begin(scratch_, spread_.sets);
  block_checks_.begin(v);
  block_fit_.begin(v);
  known_.begin(v);
}

/// Returns a block size within the part of the order that is computed: further entries of the order cost more.
std::uint32_t Columns::cheap_block() const {
  const std::size_t known = candidates_.order.fix_expected(), place = nodes_.order.base + nodes_.order.prepared;
  const std::uint32_t most = nodes_.order.prepared == 0 ? kFirstBlock : kBlock;
  if (known == candidates_.size) return most;
  return known <= place ? kFurtherBlock : static_cast<std::uint32_t>(std::min<std::size_t>(known - place, most));
}

void Columns::prepare_block(GroupView& v) {
  // If the fit needs more than amounts, prepare only as far as a Select is likely to go: a few nodes that pass.
  const bool by_amounts = !fit_.is_expensive(*v.group);
  const std::uint32_t expensive_block =
      std::clamp(2 * nodes_.order.prepared / std::max(1U, nodes_.count), kExpensiveBlock, kBlock);
  const std::uint32_t block = by_amounts ? cheap_block() : expensive_block;
  const std::uint32_t first = nodes_.order.prepared, end = std::min(candidates_.size, first + block);
  const std::uint32_t first_entry = nodes_.count;
  if (parts_.detail) parts_.detail->enter(base::Stage::filter);
  const bool may_be_known = known_.apply(v);
  if (may_be_known && known_.append(end, v)) {
    nodes_.order.prepared = end;
    return read_codes(first_entry);
  }
  block_checks_.check(end, v);
  nodes_.order.prepared = end;
  if (parts_.detail) parts_.detail->enter(base::Stage::rank);
  block_fit_.begin_block(first_entry, v, by_amounts);
  read_codes(first_entry);
  block_fit_.decide_block(first_entry, v, by_amounts);
  if (may_be_known && attempt_.error.empty()) known_.store(first, end, first_entry);
}

/// Fills the value codes of properties and spreads.
void Columns::read_codes(std::uint32_t first_entry) {
  for (std::size_t p = 0; p < nodes_.properties.size(); ++p)
    for (std::uint32_t entry = first_entry; entry < nodes_.count; ++entry)
      nodes_.property_codes[p][entry] = checks_.distinct.code_of(*nodes_.properties[p], nodes_.row[entry]);
  for (std::size_t s = 0; s < spread_.sets; ++s)
    for (std::uint32_t entry = first_entry; entry < nodes_.count; ++entry)
      nodes_.codes[s][entry] = std::min(fit_.scorer.spread_group()->sets()[s].code_of_row(nodes_.row[entry]),
                                        static_cast<std::uint32_t>(spread_.tables[s].size() - 1));
}

void Columns::placed(NodeRow node) {
  BERTH_ASSERT(active_ && nodes_.row[cursor_.chosen] == node);
  has_changed(cursor_.chosen);
}

void Columns::touched(NodeRow node) {
  nodes_.untouched = false;
  if (!active_) return;
  const std::span<NodeRow> rows = nodes_.row.first(nodes_.count);
  const auto entry = static_cast<std::uint32_t>(std::find(rows.begin(), rows.end(), node) - rows.begin());
  if (entry != nodes_.count) has_changed(entry);  // else not prepared yet; preparing includes the plan's changes
}

/// The index needs the new score at once; otherwise the entry is decided when a Select comes to it.
void Columns::has_changed(std::uint32_t entry) {
  if (best_of_all_.indexed == BestOfAll::yes) {
    block_fit_.decide(entry, *view_);
    return reindex(entry);
  }
  stale_.entries[entry / 64] |= std::uint64_t{1} << entry % 64;
  stale_.last = std::max(stale_.last, entry);
}

void Columns::decide_stale(std::uint32_t first, std::uint32_t last) {
  last = std::min(last, stale_.last + 1);
  while (first < last) {
    const std::uint32_t word = first / 64, end = std::min(last, 64 * (word + 1));
    const std::uint64_t asked = (~0ULL >> (64 - (end - first))) << first % 64;
    std::uint64_t rest = stale_.entries[word] & asked;
    stale_.entries[word] &= ~asked;
    for (; rest != 0; rest &= rest - 1)
      block_fit_.decide(64 * word + static_cast<std::uint32_t>(std::countr_zero(rest)), *view_);
    first = end;
  }
  // Prefetch for the stale entries of the next Select: their rows are scattered over the tables.
  const std::uint32_t word = last / 64, skipped = last % 64;
  std::uint64_t ahead = stale_.entries[word] >> skipped;
  if (skipped != 0 && word + 1 < stale_.entries.size()) ahead |= stale_.entries[word + 1] << (64 - skipped);
  for (ahead &= (1U << kStaleAhead) - 1; ahead != 0; ahead &= ahead - 1)
    block_fit_.prefetch(last + static_cast<std::uint32_t>(std::countr_zero(ahead)));
}

}  // namespace berth::sched
