// Cache by attempt: the candidates that pass the checks of a group, in visiting order, with their fit and score.
//
//   by entry (a passing node):
//   position   4 B   in the visiting order, counted from `order.base`; ascending
//   row        4 B   node row
//   sum        8 B   of the appended components before spread (ScoreRow::sum)
//   appended   8 B   number of these components, as double; 0 while the node is exhausted
//   dimension  4 B   reason id of a node that is exhausted, or filtered until the plan changes there (distinct_hosts)
//   capacity   4 B   number of its capacity; there are few distinct ones
//   value      8 B   without spreads: the final score; NaN while the node is exhausted
//   score     64 B   the components of a node that has several
//   codes      4 B   per spread set and per distinct_property: value code
//   by position (a candidate):
//   class_of   4 B   node class
//   passes     1 B   Passes
//
// A block of candidates passes the stages block_checks.h and block_fit.h, or is read from a table by
// known_results.h. columns.h visits the entries.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "feasible/distinct.h"
#include "sched/source/candidates.h"

namespace berth::sched {

/// Candidates of one block at most.
inline constexpr std::uint32_t kBlock = 64;

struct PassingNodes {
  explicit PassingNodes(Candidates& of) : candidates(of) {}

  enum Passes : std::uint8_t { kFails, kPasses, kLacksVolumes };  ///< checks of job and group; then host volumes

  std::span<std::uint32_t> position;
  std::span<tables::NodeRow> row;
  std::span<double> sum, appended, spread, value;
  std::span<std::uint32_t> dimension, capacity;
  std::span<rank::ScoreRow> score;
  std::vector<std::span<std::uint32_t>> codes;           ///< by spread set
  std::vector<std::span<std::uint32_t>> property_codes;  ///< by property
  std::vector<const feasible::PropertySet*> properties;  ///< distinct_property sets that the nodes have to pass
  std::uint32_t count = 0;
  /// Candidates by position.
  struct {
    std::uint32_t base = 0;      ///< place of position 0 in the visiting order
    std::uint32_t prepared = 0;  ///< candidates from this position on were not examined
    std::span<std::uint32_t> class_of;
    std::span<std::uint8_t> passes;
    bool one_class = true;  ///< all are of the node class of the first one
  } order;
  /// Dimensions of the entries that are or were exhausted.
  struct {
    bool any = false, one_dimension = true;
    std::uint32_t dimension = kReasonNone;  ///< of the last one
  } shortage;
  bool untouched = true;  ///< only nodes of entries have an overlay (changes of the plan, the job's allocations)
  bool taken = false;     ///< this attempt has memory for the columns
  Candidates& candidates;

  void start() { taken = false, count = 0; }
  /// Empties the list for a group whose properties are set; position 0 is where the cursor is.
  void begin(Scratch& scratch, std::size_t spread_sets) {
    order.base = candidates.offset;
    order.prepared = count = 0;
    order.one_class = true;
    shortage = {};
    untouched = scratch.by_attempt.overlays.empty();
    take(scratch.arena, spread_sets);
  }

  /// Place in the visiting order.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t at) const {
    const std::uint32_t place = order.base + at;
    return place < candidates.size ? place : place - candidates.size;
  }
  /// The place after `place`.
  [[nodiscard]] std::uint32_t next(std::uint32_t place) const { return ++place == candidates.size ? 0 : place; }
  [[nodiscard]] const ReadyNodes::Candidate& at_place(std::uint32_t place) const {
    return candidates.nodes->candidates[candidates.order.at(place)];
  }
  /// The first entry at or after position `from`.
  [[nodiscard]] std::uint32_t entry_at(std::uint32_t from) const {
    return static_cast<std::uint32_t>(std::lower_bound(position.begin(), position.begin() + count, from) -
                                      position.begin());
  }
  [[nodiscard]] std::uint32_t class_of(std::uint32_t entry) const { return order.class_of[position[entry]]; }
  /// The first property set that the node fails (R-FEAS-1410), with the current plan; null: it passes all.
  [[nodiscard]] const feasible::PropertySet* failing_property(std::uint32_t entry) const {
    for (std::size_t p = 0; p < properties.size(); ++p)
      if (!properties[p]->passes(property_codes[p][entry])) return properties[p];
    return nullptr;
  }

  /// Sets the fit as the only component, so it is also the sum.
  void set_component(std::uint32_t entry, double component) {
    sum[entry] = value[entry] = component;
    appended[entry] = 1.0;
  }
  void set_score(std::uint32_t entry, const rank::ScoreRow& row_of_scores) {
    sum[entry] = row_of_scores.sum();
    appended[entry] = static_cast<double>(row_of_scores.count());
    value[entry] = sum[entry] / appended[entry];
    if (row_of_scores.count() > 1) score[entry] = row_of_scores;
  }
  void exhaust(std::uint32_t entry, std::uint32_t why) {
    sum[entry] = 0;
    appended[entry] = 0;
    value[entry] = std::numeric_limits<double>::quiet_NaN();
    dimension[entry] = why;
    if (shortage.any && why != shortage.dimension) shortage.one_dimension = false;
    shortage.any = true;
    shortage.dimension = why;
    if (why == kReasonNone || why == kDimensionInvalidNode || why == kDimensionPortCollision ||
        why == kReasonDistinctHosts)
      shortage.one_dimension = false;  // counted one by one
  }

 private:
  /// Allocates the columns once per attempt, and those for the needs of later groups on demand.
  void take(Arena& arena, std::size_t spread_sets);
};

}  // namespace berth::sched
