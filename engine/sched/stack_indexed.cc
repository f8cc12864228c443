// Exhaustive mode over many nodes for few placements: the best of all by NodeIndex, which outlives the evaluation, so
// that a Select costs neither a pass over the nodes nor their number in memory traffic.
//
// The nodes that the attempt's plan or the job's own allocations touch score otherwise than the index says (what the
// plan changes there, anti-affinity): they are left out of it and kept in a heap of exact scores. The best of all is
// the better of the two; ties go to the lower position, which the order `identity` visits first.
// Metrics are deferred, as counting who has no room would cost the pass that is spared.
#include <algorithm>
#include <limits>
#include <utility>

#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

/// With fewer nodes per placement, one pass per evaluation is cheaper (select_indexed() in stack_plain.cc).
constexpr std::int64_t kNodesPerPlacement = 32;

bool is_small(std::int64_t asked) { return asked >= 0 && asked <= std::numeric_limits<std::int32_t>::max(); }

}  // namespace

/// Whether the index can answer the Select under way. Starts it at the first one of a group.
bool GenericStack::index_serves(GroupView& v) {
  const CompiledGroup& group = *v.group;
  if (!config_.defer_metrics || fixed_ || system_ || plain_.active ||
      config_.provider != rank::OrderProvider::identity || options_.evict || !options_.penalty_nodes.empty() ||
      spread_group_ || offset_ != 0 || static_cast<std::int64_t>(size_) < kNodesPerPlacement * group.count ||
      scratch_.strategy_fit)  // it bounds Nomad's own fit
    return false;
  if (indexed_.group == &group) return indexed_.nodes != nullptr;
  indexed_.group = &group;
  indexed_.nodes = nullptr;
  if (job_->groups.size() != 1 || !group.secrets.empty() || job_->escapes || group.escapes || checks_distinct(v) ||
      !group.affinities.empty() || group.has_host_volumes || group.has_csi_volumes || !is_plain_ask(v) ||
      !is_small(group.cpu_mhz) || !is_small(group.memory_mb) || !is_small(group.disk_mb))
    return false;
  if (scratch_.indexes.size() <= base_set_) scratch_.indexes.resize(base_set_ + 1);
  NodeIndex& index = scratch_.indexes[base_set_];
  if (!index.sync(*snapshot_, *nodes_)) return false;
  indexed_.ask = {static_cast<std::int32_t>(group.cpu_mhz), static_cast<std::int32_t>(group.memory_mb),
                  static_cast<std::int32_t>(group.disk_mb)};
  // Everything that first_failing() reads of such a group.
  std::vector<std::uint32_t>& asked = indexed_.asked_of_classes;
  asked.assign(job_->constraints.begin(), job_->constraints.end());
  asked.push_back(kNoRow);
  asked.insert(asked.end(), group.constraints.begin(), group.constraints.end());
  asked.push_back(kNoRow);
  asked.insert(asked.end(), group.driver_symbols.begin(), group.driver_symbols.end());
  if (!index.is_asked_again(asked)) {
    indexed_.class_passes.clear();
    for (const ReadyNodes::Candidate& candidate : nodes_->of_class)
      indexed_.class_passes.push_back(first_failing(candidate.row, v) == kReasonNone);
    if (!index.take(indexed_.class_passes)) return false;
  }
  indexed_.nodes = &index;
  indexed_.answered = false;
  indexed_.touched.clear();
  indexed_.stamp.assign(scratch_.overlays.size(), 0);
  indexed_.asked = false;
  indexed_.changed.clear();
  for (const NodeOverlay& overlay : scratch_.overlays) indexed_.changed.push_back(overlay.row);
  return true;
}

/// Heap order: the best on top, of equal ones the lower position.
static constexpr auto kWorse = [](const auto& a, const auto& b) {
  return a.score < b.score || (a.score == b.score && a.position > b.position);
};

void GenericStack::decide_touched(NodeRow row, GroupView& v) {
  Indexed& x = indexed_;
  const std::uint32_t position = x.nodes->position(row), overlay = scratch_.mark(row).overlay;
  if (position == kNoRow) return;
  if (x.stamp.size() <= overlay) x.stamp.resize(scratch_.overlays.size(), 0);
  if (x.stamp[overlay]++ == 0) {
    x.nodes->leave_out(position);
    if (x.rest && x.rest->row == position) x.asked = false;
  }
  if (!x.nodes->passes(position)) return;
  Cell cell;
  decide_fit({row, 0, 0, kPass}, v, cell);
  if (cell.fit == kFail) return;
  x.touched.push_back({cell.prefix / static_cast<double>(cell.appended), position, overlay, x.stamp[overlay]});
  std::push_heap(x.touched.begin(), x.touched.end(), kWorse);
}

/// Another job, another list of candidates: the next Select starts it anew.
void GenericStack::forget_index() {
  indexed_.group = nullptr;
  indexed_.nodes = nullptr;
  indexed_.answered = false;
}

/// Before a Select that the index does not answer: the verdicts of classes that its own would have left behind.
void GenericStack::leave_index() {
  if (!std::exchange(indexed_.answered, false)) return;
  give_class_verdicts(*indexed_.view);
  plain_.left = true;  // the plain path knows only verdicts of its own
}

std::optional<Selected> GenericStack::select_by_index(GroupView& v) {
  Indexed& x = indexed_;
  current_ = x.view = &v;
  const std::uint64_t looks = x.nodes->looks() - x.changed.size();  // so far, those about to be decided taken off
  for (const NodeRow row : x.changed) decide_touched(row, v);
  x.changed.clear();
  while (!x.touched.empty() && x.stamp[x.touched.front().overlay] != x.touched.front().stamp) {
    std::pop_heap(x.touched.begin(), x.touched.end(), kWorse);
    x.touched.pop_back();
  }
  if (!x.asked) {
    x.rest = x.nodes->best(config_.algorithm, x.ask);
    x.asked = true;
  }
  if (!x.rest && x.touched.empty()) return std::nullopt;
  evaluated_ = static_cast<std::int32_t>(x.nodes->looks() - looks);
  double score = 0;
  std::uint32_t position = kNoRow;
  if (x.rest) score = x.rest->component, position = x.rest->row;  // one component alone: its own mean (R-RANK-901)
  if (!x.touched.empty() && (position == kNoRow || x.touched.front().score > score ||
                             (x.touched.front().score == score && x.touched.front().position < position)))
    score = x.touched.front().score, position = x.touched.front().position;
  by_index_ = true;
  x.answered = true;
  const ReadyNodes::Candidate& best = nodes_->candidates[position];
  return chosen(best.row, score, v, Position{best.row, best.computed_class, best.node_class, kPass});
}

}  // namespace berth::sched
