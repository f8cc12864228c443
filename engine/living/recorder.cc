#include "living/recorder.h"

#include "base/json.h"
#include "server/lane.h"

#include <algorithm>

namespace berth::living {

using tables::AllocRow;
using tables::NodeRow;
using tables::Snapshot;

void Recorder::written(const WrittenEntry& entry) {
  digest.entry(entry.kind, entry.index, entry.at);
  if (listener_) listener_->entry_written(entry);
}

void Recorder::applied(server::Lane& lane) {
  const plan::ApplyResult& applied = lane.applied;
  const Snapshot& state = log_->store().current();
  digest.begin_evaluation(++evaluations_);
  if (applied.error.empty()) {
    const std::vector<NodeRow>& rejected = applied.rejected_nodes;
    const auto refused = [&](NodeRow node) {
      return std::find(rejected.begin(), rejected.end(), node) != rejected.end();
    };
    for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs)
      if (!applied.placements_refused && !refused(alloc.node))
        digest.placement(state.nodes.id(alloc.node), alloc.name_index, alloc.score);
    for (const plan::PlannedStop& stop : lane.result.plan.stops)
      if (!stop.dropped && !refused(state.allocs.node[stop.alloc])) digest.stopped(state.allocs.id[stop.alloc]);
  }
  if (applied.index != 0) written({clock_.now_ns(), applied.index, "plan", applied.error});
  if (check) check(lane);
  if (listener_) listener_->applied(lane);
}

void Recorder::settled(server::Lane& lane) {
  if (lane.plans == 0) digest.begin_evaluation(++evaluations_);
  for (const sched::GroupResult& group : lane.result.groups)
    if (group.failed)
      digest.failure(log_->store().current().text(group.name), 1 + static_cast<std::uint64_t>(group.failure.coalesced));
  if (!listener_) return;
  listener_->settled(lane);
  const server::EvalRecord& record = *lane.record;
  listener_->evaluation_decided({lane, log_->store().current().symbols->text(record.trigger),
                                 std::max<std::int64_t>(0, clock_.now_ns() - record.due_ns)});
}

// ---------------------------------------------------------------- rows that changed

void Recorder::loaded() {
  if (!listener_) return;
  const Snapshot& state = log_->store().current();
  for (AllocRow row = 0; row < state.allocs.size(); ++row) alloc_changed(row);
  for (NodeRow row = 0; row < state.nodes.size(); ++row) node_changed(row);
  for (std::uint32_t row = 0; row < state.deployments.size(); ++row) deployment_changed(row);
}

void Recorder::changed(const tables::Changes& changes) {
  if (!listener_) return;
  for (const tables::JobKeyRow job : changes.jobs) listener_->job_changed(job);
  for (const NodeRow row : changes.nodes) node_changed(row);
  for (const AllocRow row : changes.allocs) alloc_changed(row);
  for (const std::uint32_t row : changes.deployments) deployment_changed(row);
}

void Recorder::expected(AllocRow row) const {
  if (!listener_) return;
  if (row < allocs_.size()) base::prefetch(&allocs_[row]);
  listener_->alloc_expected(row);
}

void Recorder::alloc_changed(AllocRow row) {
  const tables::AllocTable& allocs = log_->store().current().allocs;
  if (row >= allocs_.size()) allocs_.resize(allocs.size());
  const std::uint8_t before = allocs_[row];
  const std::uint8_t after = !allocs.exists(row) ? 0
                                                 : kThere | static_cast<std::uint8_t>(allocs.desired[row]) << 3 |
                                                       static_cast<std::uint8_t>(allocs.client[row]);
  if (before == after) return;
  allocs_[row] = after;
  listener_->alloc_changed({row, before == 0, after == 0, static_cast<tables::Desired>(before >> 3 & 3),
                            static_cast<tables::Client>(before & 7)});
}

void Recorder::node_changed(NodeRow row) {
  const tables::NodeTable& nodes = log_->store().current().nodes;
  if (row >= nodes_.size()) nodes_.resize(nodes.size());
  const std::uint8_t before = nodes_[row];
  const std::uint8_t after = nodes.exists(row) ? kThere | nodes.state[row] : 0;
  if (before == after) return;
  nodes_[row] = after;
  listener_->node_changed({row, before == 0, after == 0, static_cast<tables::NodeStatus>(before & tables::kStatusMask),
                           (before & tables::kEligible) != 0, (before & tables::kDraining) != 0});
  if ((before & tables::kDraining) == (after & tables::kDraining)) return;
  if ((after & tables::kDraining) != 0) {
    drains_[row] = clock_.now_ns();
    return;
  }
  DrainEnd end{row, drains_[row], false};
  drains_.erase(row);
  if (const auto node = log_->node(base::to_text(nodes.id(row))))
    end.completed = node->last_drain["Status"].as_string() == "complete";
  listener_->drain_ended(end);
}

void Recorder::deployment_changed(std::uint32_t row) {
  const tables::DeploymentTable& deployments = log_->store().current().deployments;
  const auto& object = deployments.object[row];
  const bool active = object && deployments.active[row] != 0;
  const auto known = deployments_.find(row);
  if (active) {
    deployments_[row] = object;
  } else if (known != deployments_.end()) {
    deployments_.erase(known);
    if (object) listener_->deployment_ended(*object);
  }
}

}  // namespace berth::living
