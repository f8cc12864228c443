// Decides whether a changed job may update an allocation in place or must replace it (R-SCHED-103 to 116).
//
// The answers that depend only on versions (compared fields, run duration) are computed once per version and group. An
// allocation then costs one lookup of its version, plus a Select on its node if the versions allow an update in place.
#pragma once

#include "sched/stack/job_allocs.h"
#include "sched/stack/stack.h"

namespace berth::sched {

class InPlaceCheck {
 public:
  /// `shapes`: owner of the resources of updates.
  InPlaceCheck(const tables::Snapshot& snapshot, const tables::CompiledJob& job, const model::Quirks& quirks,
               tables::ShapePool& shapes)
      : snapshot_(snapshot), job_(job), quirks_(quirks), shapes_(shapes) {}

  enum class Answer : std::uint8_t { ignore, in_place, destructive };

  /// True if the allocation was placed or updated under the same specification (R-SCHED-108).
  [[nodiscard]] bool same_spec(tables::AllocRow alloc);
  /// The other rules for service and batch jobs (R-SCHED-109 to 114). `stack` must have the job. `plan` is the
  /// attempt's plan; it is changed during the test and restored.
  [[nodiscard]] Answer judge(tables::AllocRow alloc, GenericStack& stack, PlanRows& plan);

  /// Resources of the last judged allocation after its update in place; null: unchanged.
  [[nodiscard]] const tables::ResourceShape* held() const { return held_; }
  [[nodiscard]] std::shared_ptr<const tables::ResourceShape> take_shape() { return std::move(shape_); }

  /// True if a field differs that a running allocation cannot adopt (R-SCHED-103).
  [[nodiscard]] bool must_replace(tables::AllocRow alloc) { return verdict(alloc).must_replace; }
  /// True if the node exists and is in the job's datacenters and pool (R-SCHED-110).
  [[nodiscard]] bool on_target(tables::NodeRow node);
  /// Sets the resources of an update in place: the selected ones, with what cannot move taken from the allocation
  /// (R-SCHED-114). System jobs do not keep its reserved cores (R-SCHED-118).
  void merge(tables::AllocRow alloc, std::uint32_t group, Selected selected, bool keeps_cores);

 private:
  /// Verdict that depends only on an allocation's version and group.
  struct Verdict {
    tables::VersionRow version;
    tables::Symbol group;
    bool must_replace, run_limited;
    std::uint32_t position;  // of the group in job_, or kNoRow
  };
  const Verdict& verdict(tables::AllocRow alloc);

  const tables::Snapshot& snapshot_;
  const tables::CompiledJob& job_;
  const model::Quirks quirks_;
  tables::ShapePool& shapes_;
  std::vector<Verdict> verdicts_;
  std::size_t last_verdict_ = 0;
  tables::VersionRow last_version_ = tables::kNoRow;
  bool last_same_ = false;
  std::vector<std::int8_t> datacenter_fits_, pool_fits_;  // by column code; -1 = not computed
  const tables::ResourceShape* held_ = nullptr;
  std::shared_ptr<const tables::ResourceShape> shape_;
};

/// Calls visit(position), in ascending ID, for every allocation that should stop and whose client cannot report it
/// because the node is gone or down (R-SCHED-35).
template <class Visit>
void finish_lost(const tables::Snapshot& snapshot, const JobAllocs& allocs, Visit visit) {
  using model::ClientStatus;
  std::vector<std::uint32_t> lost;
  const auto facts = allocs.facts();
  for (std::uint32_t position = 0; position < facts.size(); ++position) {
    const reconcile::AllocFacts& f = facts[position];
    if (f.taint == reconcile::NodeTaint::none || !f.server_terminal()) continue;
    if (f.taint != reconcile::NodeTaint::gone && f.taint != reconcile::NodeTaint::down) continue;
    if (f.client == ClientStatus::running || f.client == ClientStatus::pending) lost.push_back(position);
  }
  std::sort(lost.begin(), lost.end(), [&](std::uint32_t a, std::uint32_t b) {
    return snapshot.allocs.id[allocs.rows()[a]] < snapshot.allocs.id[allocs.rows()[b]];
  });
  for (const std::uint32_t position : lost) visit(position);
}

}  // namespace berth::sched
