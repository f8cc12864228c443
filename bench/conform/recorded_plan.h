// Recorded plans, which come as API objects, as rows: what is put through plan::Applier.
#pragma once

#include <deque>
#include <string>

#include "plan/apply.h"

namespace berth::conform {

/// The rows of one recorded plan. Stops become plain ones where no word of theirs is lost; everything else is carried
/// as the object that it is (PlanRows::given).
class RecordedPlan {
 public:
  /// `plan` has been normalised and carries the job as it is stored now, which entries without one get unless they have
  /// ended (R-CTRL-710). Nodes and allocations that `store` does not know become rows of it that are gone: that is how
  /// a plan names what was removed meanwhile.
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
