#include "record/outline.h"

#include <algorithm>
#include <tuple>

#include "model/predicates.h"

namespace berth::record {

void Outline::take(model::ClusterState state, std::int64_t time_ns) {
  ++states_;
  if (first_index_ == 0) first_index_ = state.index, first_ns_ = time_ns;
  last_index_ = std::max(last_index_, state.index), last_ns_ = std::max(last_ns_, time_ns);
  open_.clear();  // their results may be in the gap
  pending_.clear();
  for (const model::Evaluation& eval : state.evals)
    if (!model::is_terminal_evaluation(eval.status)) pending_[eval.id] = eval.status;
}

void Outline::take(io::EventFrame frame, std::int64_t time_ns) {
  ++frames_;
  last_index_ = std::max(last_index_, frame.index), last_ns_ = std::max(last_ns_, time_ns);
  if (frame.type == "PlanResult") take_plan(frame);
  for (const model::Evaluation& eval : frame.objects.evals) take_eval(eval, frame.index);
}

void Outline::take_plan(const io::EventFrame& frame) {
  // The entry writes the evaluation of the plan, and may create evaluations of evicted jobs.
  const auto own = std::find_if(frame.objects.evals.begin(), frame.objects.evals.end(),
                                [&](const model::Evaluation& eval) { return eval.create_index < frame.index; });
  if (own == frame.objects.evals.end()) return;
  Plan plan;
  plan.index = frame.index;
  for (const model::Allocation& alloc : frame.objects.allocs) {
    if (alloc.alloc_modify_index != frame.index) continue;  // the entry only linked it to its replacement (R-CTRL-714)
    plan.now_ns = std::max(plan.now_ns, alloc.modify_time);
    if (alloc.create_index == frame.index)
      plan.outcome.placed.emplace_back(alloc.name, alloc.node_id);
    else if (alloc.desired_status == "evict")
      plan.outcome.evicted.push_back(alloc.id);
    else
      (alloc.desired_status == "stop" ? plan.outcome.stopped : plan.outcome.updated).push_back(alloc.id);
  }
  open_[own->id].plans.push_back(std::move(plan));
}

void Outline::take_eval(const model::Evaluation& eval, std::uint64_t index) {
  if (eval.create_index == index && eval.status == "blocked" && !eval.previous_eval.empty())
    open_[eval.previous_eval].blocked = true;
  if (!model::is_terminal_evaluation(eval.status)) {
    pending_[eval.id] = eval.status;
    return;
  }
  if (pending_.erase(eval.id) == 0 && eval.create_index != index) return;  // ended before
  const auto at = open_.find(eval.id);
  Open open = at == open_.end() ? Open{} : std::move(at->second);
  if (at != open_.end()) open_.erase(at);
  if (eval.status != "complete" && eval.status != "failed") {
    ++cancelled_;
    return;
  }
  // Ended by the server itself, for example at the delivery limit.
  if (eval.snapshot_index == 0 || eval.create_index == index) {
    ++gave_up_;
    return;
  }
  Finished out;
  out.eval_id = eval.id, out.snapshot_index = eval.snapshot_index, out.done_index = index;
  out.state = states_ - 1, out.now_ns = eval.modify_time, out.ran_out = eval.status == "failed";
  for (Plan& plan : open.plans) {
    // The plan of an earlier run, after which it was blocked again (R-SCHED-18).
    if (plan.index <= eval.snapshot_index) continue;
    if (out.plans++ > 0) continue;
    out.plan_index = plan.index, out.outcome = std::move(plan.outcome);
    if (plan.now_ns > 0) out.now_ns = plan.now_ns;
  }
  for (auto* list : {&out.outcome.stopped, &out.outcome.evicted, &out.outcome.updated})
    std::sort(list->begin(), list->end());
  std::sort(out.outcome.placed.begin(), out.outcome.placed.end());
  out.outcome.blocked = open.blocked;
  for (const auto& [group, metric] : eval.failed_tg_allocs)
    out.outcome.failed[group] = static_cast<std::uint64_t>(std::max<std::int64_t>(metric.coalesced_failures, 0)) + 1;
  finished_.push_back(std::move(out));
}

std::vector<Finished> Outline::take_finished() {
  std::sort(finished_.begin(), finished_.end(), [](const Finished& a, const Finished& b) {
    return std::tie(a.state, a.snapshot_index, a.done_index) < std::tie(b.state, b.snapshot_index, b.done_index);
  });
  return std::move(finished_);
}

std::vector<model::SchedulerConfiguration> Outline::take_configs() {
  std::stable_sort(configs_.begin(), configs_.end(),
                   [](const auto& a, const auto& b) { return a.modify_index < b.modify_index; });
  return std::move(configs_);
}

std::map<std::string, std::uint64_t> Outline::others() const {
  std::map<std::string, std::uint64_t> out;
  const std::uint64_t unfinished = static_cast<std::uint64_t>(
      std::count_if(pending_.begin(), pending_.end(), [](const auto& entry) { return entry.second == "pending"; }));
  if (cancelled_ > 0) out["cancelled by a newer evaluation of the job"] = cancelled_;
  if (gave_up_ > 0) out["given up by the server"] = gave_up_;
  if (unfinished > 0) out["not finished at the end"] = unfinished;
  return out;
}

void Outline::describe(Report& report) const {
  report.first_index = first_index_, report.last_index = last_index_, report.frames = frames_;
  report.states = states_, report.gaps = gaps_, report.skipped = skipped_;
  report.first_ns = first_ns_, report.last_ns = last_ns_;
}

}  // namespace berth::record
