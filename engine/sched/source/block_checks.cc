#include "sched/source/block_checks.h"

#include <algorithm>
#include <utility>

#include "base/prefetch.h"
#include "tables/state.h"

namespace berth::sched {

using tables::NodeRow;

void BlockChecks::begin(const GroupView& v) {
  first_reasons_.clear();
  node_reasons_.clear();
  next_reason_ = 0;
  resumed_ = checks_.class_verdicts().knows_any();
  class_state_.assign(attempt_.snapshot->nodes.column(tables::kComputedClassColumn).values.size() + 1, kClassUnknown);
  volumes_ = v.group->has_host_volumes;
}

void BlockChecks::check(std::uint32_t end, GroupView& v) {
  const std::uint32_t first_entry = nodes_.count;
  if (attempt_.quirks.verdicts_per_class)
    find_passing<true>(end, v);
  else
    find_passing<false>(end, v);
  if (volumes_) drop_without_volumes(first_entry);
}

void BlockChecks::note_failing(std::uint32_t position, const ReadyNodes::Candidate& candidate, GroupView& v) {
  if (std::exchange(class_state_[candidate.computed_class], kClassFails) == kClassFails) return;
  first_reasons_.push_back({position, checks_.first_failing_of_class(candidate.row, candidate.computed_class, v)});
}

/// Decides the checks without the quirk verdicts_per_class, like NodeChecks::group_checks(), once per node.
bool BlockChecks::passes_by_node(std::uint32_t index, NodeRow row, std::uint32_t computed_class, GroupView& v) {
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
    node_reasons_.push_back({index, reason, computed_class});
  } else {
    state = kClassFails;
    first_reasons_.push_back({index, reason});
  }
  return false;
}

/// Returns the class verdict of earlier Selects of the attempt, of any group (R-FEAS-410).
BlockChecks::ClassState BlockChecks::known_state(std::uint32_t class_id, std::uint32_t group) const {
  const feasible::ClassCache& classes = checks_.ledger().classes;
  const feasible::ClassStatus of_group = classes.group_status(group, class_id);
  if (of_group == feasible::ClassStatus::ineligible ||
      classes.job_status(class_id) == feasible::ClassStatus::ineligible)
    return kClassFails;
  return of_group == feasible::ClassStatus::eligible ? kClassPasses : kClassUnknown;
}

/// Checks the nodes from `nodes_.order.prepared` to `end` by class and appends those that pass.
template <bool kPerClass>
void BlockChecks::find_passing(std::uint32_t end, GroupView& v) {
  const std::vector<ReadyNodes::Candidate>& candidates = candidates_.nodes->candidates;
  const std::uint32_t size = candidates_.size;
  const std::span<const std::uint32_t> order = candidates_.order.first(std::min(nodes_.order.base + end, size));
  // Prefetch the candidates of the next block, as far as the order is computed; at the start, also those of this one.
  const std::span<const std::uint32_t> ahead = candidates_.order.first(candidates_.order.fixed());
  for (std::uint32_t index = nodes_.order.prepared == 0 ? 0 : end,
                     last = std::min(2 * end - nodes_.order.prepared, size);
       index < last; ++index)
    if (const std::uint32_t place = nodes_.place_of(index); place < ahead.size())
      base::prefetch(&candidates[ahead[place]]);
  std::span<const std::uint32_t> known = checks_.known_of_classes(v);
  for (std::uint32_t index = nodes_.order.prepared, place = nodes_.place_of(index); index < end;
       ++index, place = nodes_.next(place)) {
    const ReadyNodes::Candidate& candidate = candidates[order[place]];
    const NodeRow row = candidate.row;
    const std::uint32_t node_class = candidate.node_class;
    nodes_.order.class_of[index] = node_class;
    nodes_.order.one_class = nodes_.order.one_class && node_class == nodes_.order.class_of[0];
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
      if (!passes && state == kClassUnknown) first_reasons_.push_back({index, reason});
      state = passes ? kClassPasses : kClassFails;
    } else {
      passes = passes_by_node(index, row, candidate.computed_class, v);
    }
    // Written always, retained only if the node passes: a branch would be mispredicted.
    nodes_.order.passes[index] = passes;
    nodes_.position[nodes_.count] = index;
    nodes_.row[nodes_.count] = row;
    nodes_.capacity[nodes_.count] = candidate.capacity;
    nodes_.count += passes;
  }
}

/// Removes the new entries whose node lacks the volumes. They are counted apart from their class (R-FEAS-305).
void BlockChecks::drop_without_volumes(std::uint32_t first_entry) {
  std::uint32_t kept = first_entry;
  for (std::uint32_t entry = first_entry; entry < nodes_.count; ++entry) {
    if (!checks_.volumes.node_has(nodes_.row[entry])) {
      nodes_.order.passes[nodes_.position[entry]] = PassingNodes::kLacksVolumes;
      continue;
    }
    nodes_.position[kept] = nodes_.position[entry];
    nodes_.row[kept] = nodes_.row[entry];
    nodes_.capacity[kept++] = nodes_.capacity[entry];
  }
  nodes_.count = kept;
}

// ---------------------------------------------------------------- counts

void BlockChecks::count_filtered(std::uint32_t start, std::uint32_t end, std::uint32_t visited) {
  const std::int32_t filtered = counts_.filtered;
  if (filtered == 0) return;
  const std::uint32_t size = candidates_.size;
  // At its first visit, the first node of a failing class is counted with the reason of the check.
  std::int32_t first = 0;
  while (next_reason_ < first_reasons_.size() && first_reasons_[next_reason_].position < std::min(end, size)) {
    counts_.add(counts_.reasons, first_reasons_[next_reason_].reason);
    ++next_reason_;
    ++first;
  }
  if (!node_reasons_.empty()) first += count_node_reasons(start, end, visited);
  if (volumes_) first += count_without_volumes(start, end);
  if (filtered > first) counts_.add(counts_.reasons, kReasonClassIneligible, filtered - first);
  if (nodes_.order.one_class) return counts_.add_class(counts_.classes_filtered, nodes_.order.class_of[0], filtered);
  for (std::uint32_t i = start; i < end; ++i) {
    const std::uint32_t position = i < size ? i : i - size;
    if (nodes_.order.passes[position] == PassingNodes::kPasses) continue;
    const std::uint32_t node_class = nodes_.order.class_of[position];
    if (SelectCounts::Tally::takes(node_class))
      classes_.add(node_class);
    else
      counts_.add_class(counts_.classes_filtered, node_class);
  }
  classes_.take([&](std::uint32_t node_class, std::int32_t times) {
    counts_.add_class(counts_.classes_filtered, node_class, times);
  });
}

/// Counts nodes that fail a check by themselves: at every visit, unless their class was found to fail since the first
/// visit. No position is visited a second time before every position was visited once.
std::int32_t BlockChecks::count_node_reasons(std::uint32_t start, std::uint32_t end, std::uint32_t visited) {
  std::int32_t counted = 0;
  for (const NodeReason& node : node_reasons_) {
    if (!((node.position >= start && node.position < end) || node.position + candidates_.size < end)) continue;
    if (node.position < visited && class_state_[node.computed_class] == kClassFails) continue;
    counts_.add(counts_.reasons, node.reason);
    ++counted;
  }
  return counted;
}

/// Counts nodes without the volumes; they fail at every visit.
std::int32_t BlockChecks::count_without_volumes(std::uint32_t start, std::uint32_t end) {
  std::int32_t lacking = 0;
  for (std::uint32_t i = start; i < end; ++i) {
    const std::uint32_t position = i < candidates_.size ? i : i - candidates_.size;
    lacking += static_cast<std::int32_t>(nodes_.order.passes[position] == PassingNodes::kLacksVolumes);
  }
  if (lacking > 0) counts_.add(counts_.reasons, kReasonHostVolumes, lacking);
  return lacking;
}

}  // namespace berth::sched
