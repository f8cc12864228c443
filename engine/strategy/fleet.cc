#include "berth/fleet.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::strategy {

Fleet::Fleet(std::span<const NodeSpec> nodes, std::int32_t tasks_max) : tasks_max_(tasks_max) {
  for (const NodeSpec& node : nodes) device_stride_ = std::max<std::size_t>(device_stride_, node.devices);
  BERTH_ASSERT(device_stride_ <= kDevicesMax);
  tag_stride_ = device_stride_ == 0 ? 0 : device_stride_ + 2;
  states_.reserve(nodes.size());
  devices_.assign(nodes.size() * device_stride_, 0);
  tag_tasks_.assign(nodes.size() * tag_stride_, 0);
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    const NodeSpec& from = nodes[row];
    NodeState state{.free = from.capacity,
                    .capacity = from.capacity,
                    .tasks = 0,
                    .gpu_tasks = 0,
                    .model = from.model,
                    .device_count = from.devices,
                    .kind = from.kind};
    state.free[kGpu] = state.capacity[kGpu] = kWholeDevice * from.devices;
    states_.push_back(state);
    std::fill_n(devices_.begin() + static_cast<std::ptrdiff_t>(row * device_stride_), from.devices, kWholeDevice);
  }
}

ClassId Fleet::add_class(TaskClass task) {
  if (task.gpus == 0) task.gpu_milli = 0;
  task.ask[kGpu] = task.gpus * task.gpu_milli;
  BERTH_ASSERT(task.eligible.empty() || task.eligible.size() == (size() + 63) / 64);
  classes_.push_back(std::move(task));
  return static_cast<ClassId>(classes_.size() - 1);
}

void Fleet::change(Row row, ClassId id, DeviceMask devices, std::int32_t sign) {
  const TaskClass& task = classes_[id];
  NodeState& state = states_[row];
  for (std::size_t d = 0; d < kDimensions; ++d) state.free[d] -= sign * task.ask[d];
  state.tasks += sign;
  if (task.gpu_milli > 0) {
    BERTH_ASSERT(std::popcount(devices) == task.gpus);
    state.gpu_tasks += sign;
    tag_tasks_[row * tag_stride_ + task.tag()] += static_cast<std::uint32_t>(sign);
    for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
      std::int16_t& free = devices_[row * device_stride_ + static_cast<std::size_t>(std::countr_zero(rest))];
      free = static_cast<std::int16_t>(free - sign * task.gpu_milli);
      BERTH_ASSERT(free >= 0 && free <= kWholeDevice);
    }
  }
  changes_.push_back(row);
}

void Fleet::place(Row row, ClassId id, DeviceMask devices) { change(row, id, devices, 1); }
void Fleet::remove(Row row, ClassId id, DeviceMask devices) { change(row, id, devices, -1); }

void Fleet::predict_run_times() {
  lifetimes_.emplace(size());
  for (Row row = 0; row < size(); ++row)
    if (states_[row].tasks > 0) lifetimes_->place(row);
}

void Fleet::arrive(ClassId id, std::int64_t now_ns, std::int64_t run_ns) {
  lifetimes_->arrive(now_ns, run_ns);
  classes_[id].run_time_s = lifetime_seconds(run_ns);
}

std::array<std::int64_t, kDimensions> Fleet::capacity_total() const {
  std::array<std::int64_t, kDimensions> sum{};
  for (const NodeState& state : states_)
    for (std::size_t d = 0; d < kDimensions; ++d) sum[d] += state.capacity[d];
  return sum;
}

std::array<std::int64_t, kDimensions> Fleet::free_total() const {
  std::array<std::int64_t, kDimensions> sum{};
  for (const NodeState& state : states_)
    for (std::size_t d = 0; d < kDimensions; ++d) sum[d] += state.free[d];
  return sum;
}

}  // namespace berth::strategy
