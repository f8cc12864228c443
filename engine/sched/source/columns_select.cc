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
  asks_.spread_tables.resize(sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s)
    if (!sets[s].table(asks_.spread_tables[s])) return false;
  return true;
}

std::optional<Found> Columns::select(GroupView& v) {
  if (candidates_.offset == candidates_.size) candidates_.offset = 0;
  if (!continues(v)) begin(v);
  const std::uint32_t start = candidates_.offset;
  const bool indexed = attempt_.config.exhaustive && asks_.spread_sets == 0 && asks_.properties.empty() && start == 0 &&
                       extent_.base == 0 && best_of_all_.indexed != Indexed::never && build_index(v);
  const std::optional<Found> out = indexed ? select_indexed() : select_window(v);
  checks_.note_places(v, start, static_cast<std::uint32_t>(counts_.evaluated));
  extent_.selects = checks_.ledger().selects();
  extent_.offset = candidates_.offset == candidates_.size ? 0 : candidates_.offset;
  return out;
}

/// Records exhausted entries: bit i is entry first + i. Returns their number.
inline int Columns::note_exhausted(std::uint32_t first, std::uint64_t entries) {
  const int count = std::popcount(entries);
  counts_.exhausted += count;
  failing_.exhausted.push_back({first, entries});
  return count;
}

/// Visits the entries [first, last) until the limit is reached. Returns the first entry that was not visited.
std::uint32_t Columns::visit_range(std::uint32_t first, std::uint32_t last, Best& best) {
  const std::int64_t limit = candidates_.limit;
  const bool one = asks_.spread_sets == 1,
             by_vector = asks_.spread_sets <= 1 && asks_.properties.empty() && !asks_.notes_boosts;
  const rank::WindowColumns columns{
      entries_.sum.data(), entries_.appended.data(), one ? entries_.codes[0].data() : nullptr,
      one ? asks_.spread_tables[0].data() : nullptr, one ? entries_.spread.data() : nullptr};
  // The first few entries go into the list of the best one by one; later ones seldom do. A small limit is one step.
  std::uint64_t step = limit <= kSmallLimit ? kSmallLimit : 8;
  while (first < last && best.returned < limit) {
    // An entry returns at most one option, so at least these are visited before the limit is reached.
    const auto wanted = std::min(step, static_cast<std::uint64_t>(limit - best.returned));
    const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(last, first + wanted));
    freshen(first, end);
    const rank::WindowScores scores = by_vector && end - first >= 8
                                          ? rank::score_window(columns, first, end, top_.floor(), entries_.value.data())
                                          : score_one_by_one(first, end);
    best.returned += end - first;
    for (std::size_t word = 0; first < end; ++word, first += 64) {
      if (scores.exhausted[word] != 0) best.returned -= note_exhausted(first, scores.exhausted[word]);
      for (std::uint64_t rest = scores.decisive[word]; rest != 0; rest &= rest - 1) {
        const std::uint32_t entry = first + static_cast<std::uint32_t>(std::countr_zero(rest));
        --best.returned;  // offer() counts it
        top_.push(entry, entries_.value[entry]);
        best.offer(entry, entries_.value[entry]);
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
  const double* const values = entries_.value.data();
  while (first < last && best.returned < limit) {
    const auto end = static_cast<std::uint32_t>(std::min<std::int64_t>(last, first + (limit - best.returned)));
    freshen(first, end);
    std::uint64_t exhausted = 0;
    double floor = top_.floor();
    for (std::uint32_t entry = first; entry < end; ++entry) {
      const double value = values[entry];
      if (value <= floor && value > 0.0) {  // neither among the best nor set aside
        ++best.returned;
      } else if (entries_.appended[entry] == 0) {
        exhausted |= std::uint64_t{1} << (entry - first);
      } else {
        top_.push(entry, value);
        best.offer(entry, value);
        floor = top_.floor();
      }
    }
    if (exhausted != 0) note_exhausted(first, exhausted);
    first = end;
  }
  return first;
}

/// Like rank::score_window(), for the other cases: few entries, several spread sets (their totals are added),
/// properties that nodes may fail, or boosts to record. All entries with room are decisive.
rank::WindowScores Columns::score_one_by_one(std::uint32_t first, std::uint32_t last) {
  rank::WindowScores out;
  for (std::uint32_t entry = first; entry < last; ++entry) {
    double sum = entries_.sum[entry], appended = entries_.appended[entry], total = 0.0;
    if (appended == 0 || failing_property(entry)) {
      out.exhausted[(entry - first) / 64] |= std::uint64_t{1} << (entry - first) % 64;
      continue;
    }
    for (std::size_t s = 0; s < asks_.spread_sets; ++s) total += asks_.spread_tables[s][entries_.codes[s][entry]];
    if (asks_.notes_boosts) note_boosts(entry);
    if (asks_.spread_sets != 0) entries_.spread[entry] = total;
    if (total != 0.0) sum += total, appended += 1.0;
    entries_.value[entry] = sum / appended;
    out.decisive[(entry - first) / 64] |= std::uint64_t{1} << (entry - first) % 64;
  }
  return out;
}

/// Records the boosts of spread sets with targets (R-RANK-832).
void Columns::note_boosts(std::uint32_t entry) {
  for (std::size_t s = 0; s < asks_.spread_sets; ++s)
    if (!fit_.scorer.spread_group()->sets()[s].is_even())
      parts_.effects.spread.note_boost(asks_.spread_tables[s][entries_.codes[s][entry]]);
}

std::optional<Found> Columns::select_window(GroupView& v) {
  const std::uint32_t size = candidates_.size;
  const std::uint32_t start = candidates_.offset - extent_.base + (candidates_.offset < extent_.base ? size : 0);
  const std::int64_t limit = candidates_.limit;
  Best best(attempt_.config.exhaustive);
  const bool settled = asks_.is_settled && limit <= kSmallLimit;
  const auto visit = [&](std::uint32_t first, std::uint32_t last) {
    return settled ? visit_settled(first, last, best) : visit_range(first, last, best);
  };
  std::uint32_t entry = extent_.cursor, entries = 0;
  failing_.exhausted.clear();
  counts_.exhausted = 0;
  for (;;) {  // from the cursor to the end of the order
    const std::uint32_t reached = visit(entry, entries_.count);
    entries += reached - entry;
    entry = reached;
    if (best.returned == limit || extent_.prepared == size) break;
    prepare_block(v);
  }
  if (!attempt_.error.empty()) return std::nullopt;
  std::uint32_t end;  // one past the last visited position, counted from `start` on and past the wrap
  if (best.returned == limit) {
    end = entries_.position[entry - 1] + 1;
  } else {
    entry = visit(0, entry_at(start));
    entries += entry;
    end = size + (best.returned == limit ? entries_.position[entry - 1] + 1 : start);
  }
  if (!attempt_.config.exhaustive) best.take_aside(limit);

  if (best.id != kNoRow) fit_.prefetch_node(entries_.row[best.id], *v.group);
  counts_.evaluated = static_cast<std::int32_t>(end - start);
  extent_.looked += end - start, extent_.wanted += static_cast<std::uint64_t>(limit);
  if (!attempt_.config.exhaustive) scratch_.by_content.looks_per_node.note(*v.group, extent_.looked, extent_.wanted);
  counts_.filtered = counts_.evaluated - static_cast<std::int32_t>(entries);
  count_window(start, end);
  if (!failing_.exhausted.empty()) count_exhausted();
  extent_.visited = std::max(extent_.visited, std::min(end, size));
  move_cursor(start, end, entry);
  if (best.id != kNoRow) fit_.prefetch_ports(entries_.row[best.id], *v.group);
  return found(best.id, best.score);
}

/// Returns the first entry at or after `position`.
std::uint32_t Columns::entry_at(std::uint32_t position) const {
  return static_cast<std::uint32_t>(
      std::lower_bound(entries_.position.begin(), entries_.position.begin() + entries_.count, position) -
      entries_.position.begin());
}

/// Moves the cursor after a Select over positions `start` to `end`; `entry` is the first entry that it did not visit.
void Columns::move_cursor(std::uint32_t start, std::uint32_t end, std::uint32_t entry) {
  const std::uint32_t size = candidates_.size;
  // A Select that visited every node leaves the cursor where it was (R-FEAS-210).
  const std::uint32_t stop = end - start == size ? start : end > size ? end - size : end;
  extent_.cursor = stop == size ? 0 : stop == end ? entry : entry_at(stop);
  candidates_.offset = stop == size && extent_.base == 0 ? size : place_of(stop == size ? 0 : stop);
}

std::optional<Found> Columns::found(std::uint32_t entry, double score) {
  if (entry == kNoRow) return std::nullopt;
  extent_.chosen = entry;
  return Found{entries_.row[entry], score, {}};
}

std::uint16_t Columns::log(std::span<const rank::ScoredNode> best, std::span<plan::ScoredNode> out,
                           double* values) const {
  std::uint16_t stored = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::uint32_t entry = best[i].id;
    plan::ScoredNode node{.node = entries_.row[entry], .first = stored, .norm = best[i].score};
    if (entries_.appended[entry] == 1 && asks_.spread_sets == 0) [[likely]] {
      node.log_one(Component::binpack, entries_.sum[entry], kLoggedAlways, values, stored);
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
  if (entries_.appended[entry] == 1) {
    score.append(Component::binpack, entries_.sum[entry]);
  } else {
    score = entries_.score[entry];
  }
  if (asks_.spread_sets != 0) score.set(Component::spread, entries_.spread[entry], entries_.spread[entry] != 0.0);
}

// ---------------------------------------------------------------- the best of all, by an index

/// Decides every entry, once per attempt, and indexes the final scores. False if a score is not finite, as on a node
/// without capacity (R-RANK-104): comparisons with it depend on the order of visits, so it cannot be indexed.
bool Columns::build_index(GroupView& v) {
  if (best_of_all_.indexed == Indexed::yes) return true;
  freshen(0, entries_.count);
  while (extent_.prepared < candidates_.size) prepare_block(v);
  best_of_all_.exhausted_count = 0;
  best_of_all_.scores.resize(entries_.count);
  best_of_all_.indexed = Indexed::never;
  for (std::uint32_t entry = 0; entry < entries_.count; ++entry) {
    best_of_all_.scores[entry] = rank::BestIndex::kAbsent;
    if (entries_.appended[entry] == 0) {
      ++best_of_all_.exhausted_count;
      continue;
    }
    best_of_all_.scores[entry] = entries_.sum[entry] / entries_.appended[entry];
    if (!std::isfinite(best_of_all_.scores[entry])) return false;
  }
  best_of_all_.index.build(best_of_all_.scores);
  best_of_all_.indexed = Indexed::yes;
  return true;
}

/// Updates the index after a placement changed an entry.
void Columns::reindex(std::uint32_t entry) {
  if (best_of_all_.indexed != Indexed::yes) return;
  if (best_of_all_.index[entry] == rank::BestIndex::kAbsent) --best_of_all_.exhausted_count;
  double score = rank::BestIndex::kAbsent;
  if (entries_.appended[entry] == 0)
    ++best_of_all_.exhausted_count;
  else if (score = entries_.sum[entry] / entries_.appended[entry]; !std::isfinite(score))
    best_of_all_.indexed = Indexed::never;
  if (best_of_all_.indexed == Indexed::yes) best_of_all_.index.set(entry, score);
}

/// Like select_window() for a Select over all nodes: same node, counts and list of the best, without visiting each.
std::optional<Found> Columns::select_indexed() {
  if (!attempt_.error.empty()) return std::nullopt;
  const std::uint32_t size = candidates_.size;
  top_ = best_of_all_.index.top();
  counts_.evaluated = static_cast<std::int32_t>(size);
  counts_.filtered = static_cast<std::int32_t>(size - entries_.count);
  counts_.exhausted = static_cast<std::int32_t>(best_of_all_.exhausted_count);
  count_window(0, size);
  if (best_of_all_.exhausted_count > 0) {
    failing_.exhausted.clear();
    for (std::uint32_t entry = 0; entry < entries_.count; ++entry)
      if (entries_.appended[entry] == 0) failing_.exhausted.push_back({entry, 1});
    count_exhausted();
  }
  extent_.visited = size;
  extent_.cursor = 0;
  const rank::BestIndex::Best best = best_of_all_.index.best();
  return found(best.i == best_of_all_.index.size() ? kNoRow : best.i, best.score);
}

// ---------------------------------------------------------------- counts of positions [start, end), past the wrap

void Columns::count_window(std::uint32_t start, std::uint32_t end) {
  const std::int32_t filtered = counts_.filtered;
  if (filtered == 0) return;
  const std::uint32_t size = candidates_.size;
  // At its first visit, the first node of a failing class is counted with the reason of the check.
  std::int32_t first = 0;
  while (failing_.next_reason < failing_.first_reasons.size() &&
         failing_.first_reasons[failing_.next_reason].position < std::min(end, size)) {
    counts_.add(counts_.reasons, failing_.first_reasons[failing_.next_reason].reason);
    ++failing_.next_reason;
    ++first;
  }
  if (!failing_.node_reasons.empty()) first += count_node_reasons(start, end);
  if (asks_.volumes) first += count_without_volumes(start, end);
  if (filtered > first) counts_.add(counts_.reasons, kReasonClassIneligible, filtered - first);
  if (failing_.one_class) return counts_.add_class(counts_.classes_filtered, class_of_[0], filtered);
  for (std::uint32_t i = start; i < end; ++i) {
    const std::uint32_t position = i < size ? i : i - size;
    if (passes_[position] == kPasses) continue;
    const std::uint32_t node_class = class_of_[position];
    if (SelectCounts::Tally::takes(node_class))
      failing_.classes.add(node_class);
    else
      counts_.add_class(counts_.classes_filtered, node_class);
  }
  failing_.classes.take([&](std::uint32_t node_class, std::int32_t times) {
    counts_.add_class(counts_.classes_filtered, node_class, times);
  });
}

/// Counts nodes that fail a check by themselves: at every visit, unless their class was found to fail since the first
/// visit. No position is visited a second time before every position was visited once.
std::int32_t Columns::count_node_reasons(std::uint32_t start, std::uint32_t end) {
  std::int32_t counted = 0;
  for (const NodeReason& node : failing_.node_reasons) {
    if (!((node.position >= start && node.position < end) || node.position + candidates_.size < end)) continue;
    if (node.position < extent_.visited && class_state_[node.computed_class] == kClassFails) continue;
    counts_.add(counts_.reasons, node.reason);
    ++counted;
  }
  return counted;
}

/// Counts nodes without the volumes; they fail at every visit.
std::int32_t Columns::count_without_volumes(std::uint32_t start, std::uint32_t end) {
  std::int32_t lacking = 0;
  for (std::uint32_t i = start; i < end; ++i) {
    const std::uint32_t position = i < candidates_.size ? i : i - candidates_.size;
    lacking += static_cast<std::int32_t>(passes_[position] == kLacksVolumes);
  }
  if (lacking > 0) counts_.add(counts_.reasons, kReasonHostVolumes, lacking);
  return lacking;
}

void Columns::count_exhausted() {
  if (failing_.one_class && failing_.one_dimension && asks_.properties.empty()) {
    counts_.add(counts_.dimensions, failing_.dimension, counts_.exhausted);
    return counts_.add_class(counts_.classes_exhausted, class_of_[0], counts_.exhausted);
  }
  counts_.exhausted = 0;
  // Usually an amount is exhausted and the class has a small code; other cases are counted one by one.
  const auto by_amounts = [](std::uint32_t dimension) {
    return dimension >= kDimensionCpu && dimension <= kDimensionMaxAllocs;
  };
  static_assert(SelectCounts::Tally::takes(kDimensionMaxAllocs));
  const bool has_properties = !asks_.properties.empty();
  std::int32_t tallied = 0;
  for (const Exhausted& window : failing_.exhausted)
    for (std::uint64_t rest = window.entries; rest != 0; rest &= rest - 1) {
      const std::uint32_t entry = window.first + static_cast<std::uint32_t>(std::countr_zero(rest));
      const std::uint32_t node_class = class_of_[entries_.position[entry]];
      if ((has_properties && failing_property(entry)) || !by_amounts(entries_.dimension[entry]) ||
          !SelectCounts::Tally::takes(node_class)) {
        count_exhausted(entry);
        continue;
      }
      failing_.classes.add(node_class);
      failing_.dimensions.add(entries_.dimension[entry]);
      ++tallied;
    }
  counts_.exhausted += tallied;
  failing_.classes.take([&](std::uint32_t node_class, std::int32_t times) {
    counts_.add_class(counts_.classes_exhausted, node_class, times);
  });
  failing_.dimensions.take(
      [&](std::uint32_t dimension, std::int32_t times) { counts_.add(counts_.dimensions, dimension, times); });
}

void Columns::count_exhausted(std::uint32_t entry) {
  const bool exhausted = entries_.appended[entry] == 0;
  const std::uint32_t node_class = class_of_[entries_.position[entry]];
  if (exhausted && entries_.dimension[entry] == kReasonDistinctHosts)
    counts_.filter(node_class, kReasonDistinctHosts);
  else if (const feasible::PropertySet* const failing = failing_property(entry))
    counts_.filter(node_class, checks_.distinct.reason_of(*failing, entries_.row[entry]));
  else if (exhausted)
    counts_.exhaust(node_class, entries_.dimension[entry]);
}

}  // namespace berth::sched
