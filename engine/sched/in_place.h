// Whether a changed job may change an allocation where it is, or must replace it (R-SCHED-103 to 116).
//
// What depends only on the versions (the compared fields, the run duration) is decided once per version and group and
// kept; an allocation costs a look at its version, and a Select on its node where the versions let it stay.
#pragma once

#include "sched/stack/job_allocs.h"
#include "sched/stack/stack.h"

namespace berth::sched {

class InPlaceCheck {
 public:
  /// What updates hold comes from `shapes`.
  InPlaceCheck(const tables::Snapshot& snapshot, const tables::CompiledJob& job, const model::Quirks& quirks,
               tables::ShapePool& shapes)
      : snapshot_(snapshot), job_(job), quirks_(quirks), shapes_(shapes) {}

  enum class Answer : std::uint8_t { ignore, in_place, destructive };

  /// R-SCHED-108: the allocation was placed or updated under the same specification.
  [[nodiscard]] bool same_spec(tables::AllocRow alloc);
  /// The rest of the generic decision (R-SCHED-109 to 114). `stack` was given the job; `plan`, its attempt's, is
  /// changed for the length of the test only.
  [[nodiscard]] Answer judge(tables::AllocRow alloc, GenericStack& stack, PlanRows& plan);

  /// What the allocation judged last holds when updated in place; null: what it held before.
  [[nodiscard]] const tables::ResourceShape* held() const { return held_; }
  [[nodiscard]] std::shared_ptr<const tables::ResourceShape> take_shape() { return std::move(shape_); }

  /// A field differs that a running allocation cannot take over (R-SCHED-103).
  [[nodiscard]] bool must_replace(tables::AllocRow alloc) { return verdict(alloc).must_replace; }
  /// R-SCHED-110: its node is there, in the job's datacenters and pool.
  [[nodiscard]] bool on_target(tables::NodeRow node);
  /// The resources of an update in place: the option's, with what cannot move taken from the allocation (R-SCHED-114);
  /// system jobs do not take the reserved cores from it (R-SCHED-118).
  void merge(tables::AllocRow alloc, std::uint32_t group, Selected selected, bool keeps_cores);

 private:
  /// What follows from the version of an allocation and its group alone.
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
  std::vector<std::int8_t> datacenter_fits_, pool_fits_;  // by column code; -1 = not yet known
  const tables::ResourceShape* held_ = nullptr;
  std::shared_ptr<const tables::ResourceShape> shape_;
};

/// Calls visit(position) for every allocation that was told to stop and can no longer say that it did, as its node is
/// gone or down (R-SCHED-35), in ascending ID.
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
