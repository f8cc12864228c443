// Converts recorded plans from API objects to rows for plan::Applier.
#pragma once

#include <deque>
#include <string>

#include "plan/apply.h"

namespace berth::conform {

/// The rows of a recorded plan. Stops become simple rows if that loses nothing; everything else is passed as objects
/// (PlanRows::given).
class RecordedPlan {
 public:
  /// `plan` must be normalised and have the job as stored now; entries without a job get it unless they have ended
  /// (R-CTRL-710). Nodes and allocations unknown to `store` become removed rows, as a plan refers to objects that were
  /// removed meanwhile.
  RecordedPlan(tables::StateStore& store, const model::Plan& plan, const model::Quirks& quirks = {});
  [[nodiscard]] const plan::PlanRows& rows() const { return rows_; }

 private:
  using NodeAllocs = std::map<std::string, std::vector<model::Allocation>>;
  tables::NodeRow node_row(const std::string& id);
  tables::AllocRow alloc_row(const model::Allocation& alloc);
  std::uint32_t give(model::Allocation alloc);
  void add_allocs(const NodeAllocs& lists);
  void add_stops(const NodeAllocs& lists, const model::Quirks& quirks);
  void add_preemptions(const NodeAllocs& lists);

  tables::StateStore& store_;
  std::shared_ptr<const model::Job> job_;
  plan::PlanRows rows_;
  std::deque<std::string> texts_;  // of deployment updates
};

}  // namespace berth::conform
