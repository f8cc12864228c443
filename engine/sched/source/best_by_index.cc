#include "sched/source/best_by_index.h"

#include <algorithm>
#include <utility>

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

/// With fewer nodes per placement, one pass per evaluation is cheaper (Columns::select_indexed).
constexpr std::int64_t kNodesPerPlacement = 32;

/// Heap order: the best on top; ties go to the lower position.
constexpr auto kWorse = [](const auto& a, const auto& b) {
  return a.score < b.score || (a.score == b.score && a.position > b.position);
};

}  // namespace

bool BestByIndex::is_ready(GroupView& v) {
  const CompiledGroup& group = *v.group;
  if (candidates_.offset != 0 || static_cast<std::int64_t>(candidates_.size) < kNodesPerPlacement * group.count)
    return false;
  if (group_ != &group) {
    group_ = &group;
    nodes_ = nullptr;
    make_ready(v);
  }
  return nodes_ != nullptr;
}

void BestByIndex::make_ready(GroupView& v) {
  const CompiledGroup& group = *v.group;
  const ReadyNodes& ready = *candidates_.nodes;
  if (scratch_.by_state.indexes.size() <= candidates_.base_set)
    scratch_.by_state.indexes.resize(candidates_.base_set + 1);
  NodeIndex& index = scratch_.by_state.indexes[candidates_.base_set];
  if (!index.sync(*attempt_.snapshot, ready, candidates_.base_set_number, scratch_.by_state.feed)) return;
  ask_ = {static_cast<std::int32_t>(group.cpu_mhz), static_cast<std::int32_t>(group.memory_mb),
          static_cast<std::int32_t>(group.disk_mb)};
  // Everything that first_failing() reads of a group with needs in kServes.
  std::vector<std::uint64_t>& asked = asked_of_classes_;
  asked.clear();
  for (const auto* constraints : {&attempt_.job->constraints, &group.constraints}) {
    for (const tables::ConstraintId id : *constraints) asked.push_back(attempt_.snapshot->constraints[id]->number);
    asked.push_back(0);
  }
  asked.insert(asked.end(), group.driver_symbols.begin(), group.driver_symbols.end());
  if (!index.is_asked_again(asked)) {
    class_passes_.clear();
    for (const ReadyNodes::Candidate& candidate : ready.of_class)
      class_passes_.push_back(checks_.first_failing_of_class(candidate.row, candidate.computed_class, v) ==
                              kReasonNone);
    if (!index.take(class_passes_)) return;
  }
  nodes_ = &index;
  asked_ = false;
  touched_.clear();
  stamp_.assign(scratch_.by_attempt.overlays.size(), 0);
  changed_.clear();
  for (const NodeOverlay& overlay : scratch_.by_attempt.overlays) changed_.push_back(overlay.row);
}

void BestByIndex::decide_touched(NodeRow row, GroupView& v) {
  const std::uint32_t position = nodes_->position(row), overlay = scratch_.mark(row).overlay;
  if (position == kNoRow) return;
  if (stamp_.size() <= overlay) stamp_.resize(scratch_.by_attempt.overlays.size(), 0);
  if (stamp_[overlay]++ == 0) {
    nodes_->leave_out(position);
    if (rest_ && rest_->row == position) asked_ = false;
  }
  if (!nodes_->passes(position)) return;
  Cell cell;
  fit_.decide(row, v, cell);
  if (cell.fit == kFail) return;
  touched_.push_back({cell.score.mean(), position, overlay, stamp_[overlay]});
  std::push_heap(touched_.begin(), touched_.end(), kWorse);
}

void BestByIndex::forget() {
  group_ = nullptr;
  nodes_ = nullptr;
}

std::optional<Found> BestByIndex::select(GroupView& v) {
  BERTH_ASSERT(nodes_);
  const std::uint64_t visits_before =
      nodes_->visits() - changed_.size();  // minus the nodes about to be decided, which count too
  for (const NodeRow row : changed_) decide_touched(row, v);
  changed_.clear();
  while (!touched_.empty() && stamp_[touched_.front().overlay] != touched_.front().stamp) {
    std::pop_heap(touched_.begin(), touched_.end(), kWorse);
    touched_.pop_back();
  }
  if (!asked_) {
    rest_ = nodes_->best(attempt_.config.algorithm, ask_);
    asked_ = true;
  }
  if (!rest_ && touched_.empty()) return std::nullopt;
  counts_.evaluated = static_cast<std::int32_t>(nodes_->visits() - visits_before);
  double score = 0;
  std::uint32_t position = kNoRow;
  if (rest_) score = rest_->component, position = rest_->row;  // the mean of a single component (R-RANK-901)
  if (!touched_.empty() && (position == kNoRow || touched_.front().score > score ||
                            (touched_.front().score == score && touched_.front().position < position)))
    score = touched_.front().score, position = touched_.front().position;
  checks_.note_all(v);
  return Found{candidates_.nodes->candidates[position].row, score, {}};
}

}  // namespace berth::sched
