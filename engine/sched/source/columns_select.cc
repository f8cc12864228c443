// A Select over the columns: from the cursor as far as the limit goes, or by the index of all entries.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sched/node/component_table.h"
#include "sched/source/columns.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr std::int64_t kSmallLimit = 16;

}  // namespace

bool Columns::fill_spread_tables() {
  const auto& sets = fit_.scorer.spread_group()->sets();
  spread_.tables.resize(sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s)
    if (!sets[s].table(spread_.tables[s])) return false;
  return true;
}

std::optional<Found> Columns::select(GroupView& v) {
  if (candidates_.offset == candidates_.size) candidates_.offset = 0;
  if (!continues(v)) begin(v);
  const std::uint32_t start = candidates_.offset;
  const bool indexed = attempt_.config.exhaustive && spread_.sets == 0 && nodes_.properties.empty() && start == 0 &&
                       nodes_.order.base == 0 && best_of_all_.indexed != BestOfAll::never && build_index(v);
  const std::optional<Found> out = indexed ? select_indexed() : select_window(v);
  checks_.note_places(v, start, static_cast<std::uint32_t>(counts_.evaluated));
  cursor_.selects = checks_.ledger().selects();
  cursor_.offset = candidates_.offset == candidates_.size ? 0 : candidates_.offset;
  return out;
}

/// Visits the entries [first, last) until the limit is reached. Returns the first entry that was not visited.
std::uint32_t Columns::visit_range(std::uint32_t first, std::uint32_t last, Best& best) {
  const std::int64_t limit = candidates_.limit;
  const bool one = spread_.sets == 1,
             by_vector = spread_.sets <= 1 && nodes_.properties.empty() && !spread_.notes_boosts;
  const rank::WindowColumns columns{nodes_.sum.data(), nodes_.appended.data(), one ? nodes_.codes[0].data() : nullptr,
                                    one ? spread_.tables[0].data() : nullptr, one ? nodes_.spread.data() : nullptr};
  // The first few entries go into the list of the best one by one; later ones seldom do. A small limit is one step.
  std::uint64_t step = limit <= kSmallLimit ? kSmallLimit : 8;
  while (first < last && best.returned < limit) {
    // An entry returns at most one option, so at least these are visited before the limit is reached.
    const auto wanted = std::min(step, static_cast<std::uint64_t>(limit - best.returned));
    const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(last, first + wanted));
    freshen(first, end);
    const rank::WindowScores scores = by_vector && end - first >= 8
                                          ? rank::score_window(columns, first, end, top_.floor(), nodes_.value.data())
                                          : score_one_by_one(first, end);
    best.returned += end - first;
    for (std::size_t word = 0; first < end; ++word, first += 64) {
      if (scores.exhausted[word] != 0) best.returned -= exhausted_.note(first, scores.exhausted[word]);
      for (std::uint64_t rest = scores.decisive[word]; rest != 0; rest &= rest - 1) {
        const std::uint32_t entry = first + static_cast<std::uint32_t>(std::countr_zero(rest));
        --best.returned;  // offer() counts it
        top_.push(entry, nodes_.value[entry]);
        best.offer(entry, nodes_.value[entry]);
      }
    }
    first = end;
    step = std::min<std::uint64_t>(2 * step, rank::kWindowMost);
  }
  return first;
}

/// Like visit_range() for few entries whose final scores do not change between Selects.
std::uint32_t Columns::visit_settled(std::uint32_t first, std::uint32_t last, Best& best) {
  const std::int64_t limit = candidates_.limit;
  const double* const values = nodes_.value.data();
  while (first < last && best.returned < limit) {
    const auto end = static_cast<std::uint32_t>(std::min<std::int64_t>(last, first + (limit - best.returned)));
    freshen(first, end);
    std::uint64_t exhausted = 0;
    double floor = top_.floor();
    for (std::uint32_t entry = first; entry < end; ++entry) {
      const double value = values[entry];
      if (value <= floor && value > 0.0) {  // neither among the best nor set aside
        ++best.returned;
      } else if (nodes_.appended[entry] == 0) {
        exhausted |= std::uint64_t{1} << (entry - first);
      } else {
        top_.push(entry, value);
        best.offer(entry, value);
        floor = top_.floor();
      }
    }
    if (exhausted != 0) exhausted_.note(first, exhausted);
    first = end;
  }
  return first;
}

/// Like rank::score_window(), for the other cases: few entries, several spread sets (their totals are added),
/// properties that nodes may fail, or boosts to record. All entries with room are decisive.
rank::WindowScores Columns::score_one_by_one(std::uint32_t first, std::uint32_t last) {
  rank::WindowScores out;
  for (std::uint32_t entry = first; entry < last; ++entry) {
    double sum = nodes_.sum[entry], appended = nodes_.appended[entry], total = 0.0;
    if (appended == 0 || nodes_.failing_property(entry)) {
      out.exhausted[(entry - first) / 64] |= std::uint64_t{1} << (entry - first) % 64;
      continue;
    }
    for (std::size_t s = 0; s < spread_.sets; ++s) total += spread_.tables[s][nodes_.codes[s][entry]];
    if (spread_.notes_boosts) note_boosts(entry);
    if (spread_.sets != 0) nodes_.spread[entry] = total;
    if (total != 0.0) sum += total, appended += 1.0;
    nodes_.value[entry] = sum / appended;
    out.decisive[(entry - first) / 64] |= std::uint64_t{1} << (entry - first) % 64;
  }
  return out;
}

/// Records the boosts of spread sets with targets (R-RANK-832).
void Columns::note_boosts(std::uint32_t entry) {
  for (std::size_t s = 0; s < spread_.sets; ++s)
    if (!fit_.scorer.spread_group()->sets()[s].is_even())
      parts_.effects.spread.note_boost(spread_.tables[s][nodes_.codes[s][entry]]);
}

std::optional<Found> Columns::select_window(GroupView& v) {
  const std::uint32_t size = candidates_.size;
  const std::uint32_t start =
      candidates_.offset - nodes_.order.base + (candidates_.offset < nodes_.order.base ? size : 0);
  const std::int64_t limit = candidates_.limit;
  Best best(attempt_.config.exhaustive);
  const bool settled = is_settled_ && limit <= kSmallLimit;
  const auto visit = [&](std::uint32_t first, std::uint32_t last) {
    return settled ? visit_settled(first, last, best) : visit_range(first, last, best);
  };
  std::uint32_t entry = cursor_.entry, entries = 0;
  exhausted_.start();
  for (;;) {  // from the cursor to the end of the order
    const std::uint32_t reached = visit(entry, nodes_.count);
    entries += reached - entry;
    entry = reached;
    if (best.returned == limit || nodes_.order.prepared == size) break;
    prepare_block(v);
  }
  if (!attempt_.error.empty()) return std::nullopt;
  std::uint32_t end;  // one past the last visited position, counted from `start` on and past the wrap
  if (best.returned == limit) {
    end = nodes_.position[entry - 1] + 1;
  } else {
    entry = visit(0, nodes_.entry_at(start));
    entries += entry;
    end = size + (best.returned == limit ? nodes_.position[entry - 1] + 1 : start);
  }
  if (!attempt_.config.exhaustive) best.take_aside(limit);

  if (best.id != kNoRow) fit_.prefetch_node(nodes_.row[best.id], *v.group);
  counts_.evaluated = static_cast<std::int32_t>(end - start);
  cursor_.positions += end - start, cursor_.wanted += static_cast<std::uint64_t>(limit);
  if (!attempt_.config.exhaustive)
    scratch_.by_content.visits_per_option.note(*v.group, cursor_.positions, cursor_.wanted);
  counts_.filtered = counts_.evaluated - static_cast<std::int32_t>(entries);
  block_checks_.count_filtered(start, end, cursor_.visited);
  exhausted_.count();
  cursor_.visited = std::max(cursor_.visited, std::min(end, size));
  move_cursor(start, end, entry);
  if (best.id != kNoRow) fit_.prefetch_ports(nodes_.row[best.id], *v.group);
  return found(best.id, best.score);
}

/// Moves the cursor after a Select over positions `start` to `end`; `entry` is the first entry that it did not visit.
void Columns::move_cursor(std::uint32_t start, std::uint32_t end, std::uint32_t entry) {
  const std::uint32_t size = candidates_.size;
  // A Select that visited every node leaves the cursor where it was (R-FEAS-210).
  const std::uint32_t stop = end - start == size ? start : end > size ? end - size : end;
  cursor_.entry = stop == size ? 0 : stop == end ? entry : nodes_.entry_at(stop);
  candidates_.offset = stop == size && nodes_.order.base == 0 ? size : nodes_.place_of(stop == size ? 0 : stop);
}

std::optional<Found> Columns::found(std::uint32_t entry, double score) {
  if (entry == kNoRow) return std::nullopt;
  cursor_.chosen = entry;
  return Found{nodes_.row[entry], score, {}};
}

std::uint16_t Columns::log(std::span<const rank::ScoredNode> best, std::span<plan::ScoredNode> out,
                           double* values) const {
  std::uint16_t stored = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::uint32_t entry = best[i].id;
    plan::ScoredNode node{.node = nodes_.row[entry], .first = stored, .norm = best[i].score};
    if (nodes_.appended[entry] == 1 && spread_.sets == 0) [[likely]] {
      node.log_one(Component::binpack, nodes_.sum[entry], kLoggedAlways, values, stored);
    } else {
      rank::ScoreRow score;
      components(entry, score);
      node.log(score, kLoggedAlways, values, stored);
    }
    out[i] = node;
  }
  return stored;
}

void Columns::components(std::uint32_t entry, rank::ScoreRow& score) const {
  if (nodes_.appended[entry] == 1) {
    score.append(Component::binpack, nodes_.sum[entry]);
  } else {
    score = nodes_.score[entry];
  }
  if (spread_.sets != 0) score.set(Component::spread, nodes_.spread[entry], nodes_.spread[entry] != 0.0);
}

// ---------------------------------------------------------------- the best of all, by an index

/// Decides every entry, once per attempt, and indexes the final scores. False if a score is not finite, as on a node
/// without capacity (R-RANK-104): comparisons with it depend on the order of visits, so it cannot be indexed.
bool Columns::build_index(GroupView& v) {
  if (best_of_all_.indexed == BestOfAll::yes) return true;
  freshen(0, nodes_.count);
  while (nodes_.order.prepared < candidates_.size) prepare_block(v);
  best_of_all_.exhausted_count = 0;
  best_of_all_.scores.resize(nodes_.count);
  best_of_all_.indexed = BestOfAll::never;
  for (std::uint32_t entry = 0; entry < nodes_.count; ++entry) {
    best_of_all_.scores[entry] = rank::BestIndex::kAbsent;
    if (nodes_.appended[entry] == 0) {
      ++best_of_all_.exhausted_count;
      continue;
    }
    best_of_all_.scores[entry] = nodes_.sum[entry] / nodes_.appended[entry];
    if (!std::isfinite(best_of_all_.scores[entry])) return false;
  }
  best_of_all_.index.build(best_of_all_.scores);
  best_of_all_.indexed = BestOfAll::yes;
  return true;
}

/// Updates the index after a placement changed an entry.
void Columns::reindex(std::uint32_t entry) {
  if (best_of_all_.indexed != BestOfAll::yes) return;
  if (best_of_all_.index[entry] == rank::BestIndex::kAbsent) --best_of_all_.exhausted_count;
  double score = rank::BestIndex::kAbsent;
  if (nodes_.appended[entry] == 0)
    ++best_of_all_.exhausted_count;
  else if (score = nodes_.sum[entry] / nodes_.appended[entry]; !std::isfinite(score))
    best_of_all_.indexed = BestOfAll::never;
  if (best_of_all_.indexed == BestOfAll::yes) best_of_all_.index.set(entry, score);
}

/// Like select_window() for a Select over all nodes: same node, counts and list of the best, without visiting each.
std::optional<Found> Columns::select_indexed() {
  if (!attempt_.error.empty()) return std::nullopt;
  const std::uint32_t size = candidates_.size;
  top_ = best_of_all_.index.top();
  counts_.evaluated = static_cast<std::int32_t>(size);
  counts_.filtered = static_cast<std::int32_t>(size - nodes_.count);
  block_checks_.count_filtered(0, size, cursor_.visited);
  exhausted_.start();
  if (best_of_all_.exhausted_count > 0)
    for (std::uint32_t entry = 0; entry < nodes_.count; ++entry)
      if (nodes_.appended[entry] == 0) exhausted_.note(entry, 1);
  exhausted_.count();
  cursor_.visited = size;
  cursor_.entry = 0;
  const rank::BestIndex::Best best = best_of_all_.index.best();
  return found(best.i == best_of_all_.index.size() ? kNoRow : best.i, best.score);
}

}  // namespace berth::sched
