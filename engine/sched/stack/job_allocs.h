// The allocations of one job as the reconcilers read them.
//
// They are found through the job's chain in the allocation table, so the cost depends on the job's size, not on the
// cluster's. Memory is reused between evaluations. Threads: one worker.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "reconcile/alloc_facts.h"
#include "tables/state.h"

namespace berth::sched {

/// State of a node as the reconcilers see it (R-SCHED-33); kNoRow and nodes that left the state are gone.
[[nodiscard]] inline reconcile::NodeTaint taint_of(const tables::Snapshot& snapshot, tables::NodeRow node) {
  using reconcile::NodeTaint;
  if (node == tables::kNoRow || !snapshot.nodes.exists(node)) return NodeTaint::gone;
  const tables::NodeStatus status = snapshot.nodes.status(node);
  if (status == tables::NodeStatus::down) return NodeTaint::down;
  if (status == tables::NodeStatus::disconnected) return NodeTaint::disconnected;
  if ((snapshot.nodes.state[node] & tables::kDraining) == 0) return NodeTaint::none;
  return status == tables::NodeStatus::initializing ? NodeTaint::initializing : NodeTaint::ready;
}

/// The column's status as a status of an API object, whose list begins with `none`.
[[nodiscard]] constexpr model::DesiredStatus widened(tables::Desired desired) {
  return static_cast<model::DesiredStatus>(static_cast<unsigned>(desired) + 1);
}
[[nodiscard]] constexpr model::ClientStatus widened(tables::Client client) {
  return static_cast<model::ClientStatus>(static_cast<unsigned>(client) + 1);
}
static_assert(widened(tables::Desired::run) == model::DesiredStatus::run &&
              widened(tables::Desired::evict) == model::DesiredStatus::evict &&
              widened(tables::Client::pending) == model::ClientStatus::pending &&
              widened(tables::Client::unknown) == model::ClientStatus::unknown);

/// Reads facts from columns. The API object of a simple allocation is built only when more than its facts is needed.
class JobAllocs final : private reconcile::AllocSource {
 public:
  JobAllocs() = default;
  JobAllocs(const JobAllocs&) = delete;  // facts refer to it
  JobAllocs& operator=(const JobAllocs&) = delete;

  /// Reads all allocations of `key`. `deployment_id` is the latest deployment's, nil without one. The snapshot must
  /// outlive the results.
  void read(const tables::Snapshot& snapshot, tables::JobKeyRow key, base::Uuid deployment_id);

  /// Sets a follow-up evaluation in the facts of an allocation, as if the state had it.
  void write_followup(tables::AllocRow row, const std::string& eval_id);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  /// By position; in order of creation.
  [[nodiscard]] std::span<const tables::AllocRow> rows() const { return rows_; }
  [[nodiscard]] std::span<reconcile::AllocFacts> facts() { return facts_; }
  [[nodiscard]] std::span<const reconcile::AllocFacts> facts() const { return facts_; }
  [[nodiscard]] std::span<const std::uint32_t> slots() const { return slots_; }  ///< AllocFacts::slot() by position
  /// Indexed by AllocFacts::group: the groups of the current job version first.
  [[nodiscard]] std::span<const std::string> group_names() const { return group_names_; }
  [[nodiscard]] std::span<const tables::Symbol> groups() const { return groups_; }

 private:
  [[nodiscard]] const model::Allocation& make(tables::AllocRow row) override;
  [[nodiscard]] base::Uuid id_of(tables::AllocRow row) const override { return snapshot_->allocs.id[row]; }
  [[nodiscard]] reconcile::AllocFacts plain_facts(tables::AllocRow row, std::uint32_t group);

  const tables::Snapshot* snapshot_ = nullptr;
  base::Uuid deployment_id_;
  std::string deployment_text_;
  std::vector<tables::AllocRow> rows_;
  std::vector<reconcile::AllocFacts> facts_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::string> group_names_;
  std::vector<tables::Symbol> groups_;
  std::deque<model::Allocation> made_;   // objects that differ from the table's
  std::deque<model::Allocation> plain_;  // objects built on demand, without resources; reused for the next job
  std::size_t plain_used_ = 0;
};

}  // namespace berth::sched
