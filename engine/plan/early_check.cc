#include "plan/early_check.h"

#include <algorithm>

#include "base/assert.h"
#include "tables/state.h"

namespace berth::plan {

namespace {

/// Reading and sorting more changes than this, per node of the plan, costs more than checking the node again.
constexpr std::uint64_t kChangesPerNode = 64;

}  // namespace

void EarlyCheck::run(const tables::Snapshot& state, const PlanRows& plan) {
  checked_ = &state.nodes;
  fits_.assign(plan.allocs.size(), 0);
  if (!plan.given.empty() || !plan.updates.empty()) return;
  for (std::uint32_t i = 0; i < plan.allocs.size(); ++i)
    if (plan.allocs[i].first_on_node) fits_[i] = columns_.fits(state, plan, i);
}

void EarlyCheck::renew(const tables::NodeTable& now, const PlanRows& plan) {
  if (fits_.empty()) return;
  BERTH_ASSERT(fits_.size() == plan.allocs.size());  // of the same plan as in run()
  // `now` is not older than the state of run(): the numbers of changes only grow.
  BERTH_ASSERT(now.use_changes >= checked_->use_changes && now.ready_changes >= checked_->ready_changes);
  const std::uint64_t changes =
      (now.use_changes - checked_->use_changes) + (now.ready_changes - checked_->ready_changes);
  if (changes > kChangesPerNode * fits_.size()) return fits_.clear();
  changed_.clear();
  const auto read = [this](const tables::RowLog& before, const tables::RowLog& log, std::uint64_t from,
                           std::uint64_t to) { return &before == &log && log.read(from, to, changed_); };
  if (!read(*checked_->fixed->use_log, *now.fixed->use_log, checked_->use_changes, now.use_changes) ||
      !read(*checked_->fixed->ready_log, *now.fixed->ready_log, checked_->ready_changes, now.ready_changes))
    return fits_.clear();
  std::sort(changed_.begin(), changed_.end());
  BERTH_ASSERT(changed_.empty() || changed_.back() < now.size());
  if (changed_.empty()) return;
  for (std::uint32_t i = 0; i < fits_.size(); ++i)
    if (fits_[i] != 0 && std::binary_search(changed_.begin(), changed_.end(), plan.allocs[i].node)) fits_[i] = 0;
}

}  // namespace berth::plan
