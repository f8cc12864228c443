#include "strategy/mask_columns.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace berth::strategy {

constexpr std::int32_t kNothing = std::numeric_limits<std::int32_t>::min();

MaskColumns::MaskColumns(const Fleet& fleet, std::size_t copies)
    : fleet_(&fleet),
      nodes_(fleet.size() / copies),
      stride_((nodes_ + kLanes - 1) / kLanes * kLanes),
      eligible_(fleet.class_count()) {
  BERTH_ASSERT(nodes_ * copies == fleet.size());
  for (auto& column : columns_) column.assign(stride_ * copies, kNothing);
  for (Row row = 0; row < fleet.size(); ++row) refresh(row);
}

void MaskColumns::refresh(Row row) {
  const Node node = fleet_->node(row);
  std::int32_t most = 0, unused = 0;
  for (const std::int16_t free : node.devices) {
    most = std::max<std::int32_t>(most, free);
    unused += free == kWholeDevice;
  }
  const std::size_t at = row / nodes_ * stride_ + row % nodes_;
  for (std::size_t d = 0; d < kDimensions; ++d) columns_[d][at] = node.state.free[d];
  columns_[kDimensions][at] = most, columns_[kDimensions + 1][at] = unused;
  if (node.state.tasks >= fleet_->tasks_max()) columns_[0][at] = kNothing;
}

const std::uint8_t* MaskColumns::eligible(ClassId task) {
  std::vector<std::uint8_t>& out = eligible_[task];
  if (out.empty()) {
    out.assign(stride_, 0);
    // All copies have the same nodes.
    for (Row row = 0; row < nodes_; ++row) out[row] = fleet_->task_class(task).may_run_on(row);
  }
  return out.data();
}

bool MaskColumns::fill_by_amounts(std::size_t first, const Needs& needs, const std::uint8_t* eligible,
                                  std::span<std::uint8_t> mask) const {
  std::array<const std::int32_t*, kColumns> free{};
  for (std::size_t c = 0; c < kColumns; ++c) free[c] = columns_[c].data() + first;
  std::array<std::uint8_t, kLanes> any{};
  for (std::size_t begin = 0; begin < nodes_; begin += kLanes) {
    // A constant number of steps, without branches: the compiler makes vectors of it.
    std::array<std::uint8_t, kLanes> fits;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t r = begin + lane;
      const bool all = (free[0][r] >= needs[0]) & (free[1][r] >= needs[1]) & (free[2][r] >= needs[2]) &
                       (free[3][r] >= needs[3]) & (free[4][r] >= needs[4]) & (free[5][r] >= needs[5]);
      fits[lane] = static_cast<std::uint8_t>(all ? 1 : 0) & eligible[r];
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) any[lane] |= fits[lane];
    std::copy_n(fits.begin(), std::min(kLanes, nodes_ - begin), mask.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return std::ranges::any_of(any, [](std::uint8_t one) { return one != 0; });
}

bool MaskColumns::fill(std::size_t copy, ClassId id, Exclusion without, std::span<std::uint8_t> mask) {
  static_assert(kColumns == kDimensions + 2);
  const TaskClass& task = fleet_->task_class(id);
  Needs needs{};
  std::copy(task.ask.begin(), task.ask.end(), needs.begin());
  if (task.gpus == 1) needs[kDimensions] = task.gpu_milli;
  if (task.gpu_milli == kWholeDevice) needs[kDimensions + 1] = task.gpus;
  bool any = fill_by_amounts(copy * stride_, needs, eligible(id), mask);
  const bool parts = task.gpus > 1 && task.gpu_milli < kWholeDevice;
  if (!any || (!parts && without.empty())) return any;
  any = false;
  for (Row r = 0; r < nodes_; ++r) {
    if (mask[r] != 0 && parts) mask[r] = fleet_->holds(static_cast<Row>(copy * nodes_) + r, task);
    if (mask[r] != 0 && excluded(without, r)) mask[r] = 0;
    any = any || mask[r] != 0;
  }
  return any;
}

}  // namespace berth::strategy
