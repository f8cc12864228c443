// Fleet: the input of ranking strategies. Nodes with free amounts and devices, and classes of equal tasks.
//
//   NodeState     one record of 48 bytes per node, in visiting order: row 0 is visited first and wins ties
//   devices       n x device_stride int16: free thousandths per device; 1000 = unused
//   tag_tasks     n x tag_stride uint32: tasks with GPUs per affinity tag (R-STRAT-312)
//   changes       rows in the order in which placements and removals changed them; score caches read its tail
//   lifetimes     when tasks are predicted to end, if a strategy reads it (lifetimes.h)
//
// Nodes are records, not columns, because a ranking re-evaluates only the nodes that changed since its last query of a
// class (strategy.h): a few dozen records at random places, each one or two cache lines, not a pass over all nodes.
// Threads: a Fleet belongs to one thread; copies are independent. After the classes are added, only `changes` allocates
// memory.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/lifetimes.h"

namespace berth::strategy {

/// The dimensions of a task and a node. Formulas skip a dimension in which the node has no capacity.
enum Dimension : std::uint8_t { kCpu, kMemory, kDisk, kGpu };
inline constexpr std::size_t kDimensions = 4;
/// Units: MHz (or thousandths of a vCPU), MiB, MiB, thousandths of a GPU.
using Amounts = std::array<std::int32_t, kDimensions>;

inline constexpr std::int32_t kWholeDevice = 1000;  ///< thousandths
inline constexpr std::size_t kDevicesMax = 64;      ///< of one node
using DeviceMask = std::uint64_t;                   ///< bit i = device i of the node

/// A position in the visiting order.
using Row = std::uint32_t;
using ClassId = std::uint32_t;

/// A class of tasks that are equal to a strategy.
struct TaskClass {
  Amounts ask{};               ///< ask[kGpu] = gpus * gpu_milli, filled in by Fleet::add_class
  std::int32_t gpus = 0;       ///< requested devices; 0 = none
  std::int32_t gpu_milli = 0;  ///< requested thousandths of each device; 1000 = whole devices
  std::int32_t priority = 50;
  /// Predicted run time of the tasks of the present arrival. Infinite: they do not end, or run times are not predicted.
  double run_time_s = std::numeric_limits<double>::infinity();
  /// Bit r: row r passes all checks other than amounts (constraints, GPU model). Empty: all rows do.
  std::vector<std::uint64_t> eligible;

  /// GPU affinity tag (R-STRAT-312): 0 for tasks without GPU, 1 for a part of one, 1 + k for k whole ones.
  [[nodiscard]] std::uint32_t tag() const noexcept {
    return gpu_milli == 0 ? 0 : gpu_milli < kWholeDevice ? 1 : 1 + static_cast<std::uint32_t>(gpus);
  }
  [[nodiscard]] bool may_run_on(Row row) const noexcept {
    return eligible.empty() || (eligible[row / 64] >> (row % 64) & 1) != 0;
  }
};

struct NodeState {
  Amounts free{}, capacity{};  ///< capacity[kGpu] = 1000 * devices
  std::int32_t tasks = 0;      ///< number on the node
  std::int32_t gpu_tasks = 0;  ///< of these, with GPUs
  std::uint16_t model = 0;     ///< GPU model or kind of node: an index defined by the caller
  std::uint16_t device_count = 0;
  std::uint16_t kind = 0;  ///< kind of node by power and price (power.h)
};
static_assert(sizeof(NodeState) == 48);

/// A node before a placement, as passed to a strategy. Valid until the fleet changes.
struct Node {
  const NodeState& state;
  std::span<const std::int16_t> devices;     ///< free thousandths per device
  std::span<const std::uint32_t> tag_tasks;  ///< tasks with GPUs per tag
  double exit_s = 0;                         ///< predicted seconds until it is empty; 0 if no run times are predicted

  [[nodiscard]] std::int32_t free(Dimension d) const noexcept { return state.free[d]; }
  [[nodiscard]] std::int32_t capacity(Dimension d) const noexcept { return state.capacity[d]; }
  [[nodiscard]] std::int32_t used(Dimension d) const noexcept { return state.capacity[d] - state.free[d]; }
};

class Fleet {
 public:
  struct NodeSpec {
    Amounts capacity{};  ///< [kGpu] is ignored: it is always 1000 * devices
    std::uint16_t model = 0;
    std::uint16_t devices = 0;  ///< at most kDevicesMax
    std::uint16_t kind = 0;
  };

  /// `nodes` in visiting order. `tasks_max`: maximum number of tasks per node.
  explicit Fleet(std::span<const NodeSpec> nodes, std::int32_t tasks_max = INT32_MAX);

  /// Adds a class; IDs count up from 0.
  ClassId add_class(TaskClass task);
  [[nodiscard]] const TaskClass& task_class(ClassId id) const noexcept { return classes_[id]; }
  [[nodiscard]] std::size_t class_count() const noexcept { return classes_.size(); }

  [[nodiscard]] std::size_t size() const noexcept { return states_.size(); }
  [[nodiscard]] Node node(Row row) const noexcept {
    return {states_[row],
            {devices_.data() + row * device_stride_, states_[row].device_count},
            {tag_tasks_.data() + row * tag_stride_, tag_stride_},
            lifetimes_ ? lifetimes_->exit_s(row) : 0};
  }

  /// R-STRAT-106: checks amounts, number of tasks and, for a task with GPUs, enough devices with enough free. Ignores
  /// eligibility.
  [[nodiscard]] bool holds(Row row, const TaskClass& task) const noexcept {
    const NodeState& s = states_[row];
    const bool amounts = (s.free[kCpu] >= task.ask[kCpu]) & (s.free[kMemory] >= task.ask[kMemory]) &
                         (s.free[kDisk] >= task.ask[kDisk]) & (s.free[kGpu] >= task.ask[kGpu]) & (s.tasks < tasks_max_);
    if (!amounts || task.gpu_milli == 0) return amounts;
    const std::int16_t* const free = devices_.data() + row * device_stride_;
    std::int32_t fitting = 0;
    for (std::size_t i = 0; i < s.device_count; ++i) fitting += free[i] >= task.gpu_milli;
    return fitting >= task.gpus;
  }
  [[nodiscard]] bool feasible(Row row, const TaskClass& task) const noexcept {
    return task.may_run_on(row) && holds(row, task);
  }

  /// Takes the amounts, and gpu_milli of every device in `devices`. The caller must have checked feasible().
  void place(Row row, ClassId id, DeviceMask devices);
  /// Reverts place().
  void remove(Row row, ClassId id, DeviceMask devices);

  [[nodiscard]] const std::vector<Row>& changes() const noexcept { return changes_; }
  /// Empties changes(), for a fleet that no strategy scans: their scans remember positions in it.
  void forget_changes() noexcept { changes_.clear(); }
  /// Sums of the capacities and of the free amounts.
  [[nodiscard]] std::array<std::int64_t, kDimensions> capacity_total() const;
  [[nodiscard]] std::array<std::int64_t, kDimensions> free_total() const;
  [[nodiscard]] std::int32_t tasks_max() const noexcept { return tasks_max_; }

  /// From now on run times are predicted. The tasks that a node has already count as one task that never ends.
  void predict_run_times();
  /// nullptr if no run times are predicted.
  [[nodiscard]] Lifetimes* lifetimes() noexcept { return lifetimes_ ? &*lifetimes_ : nullptr; }
  [[nodiscard]] const Lifetimes* lifetimes() const noexcept { return lifetimes_ ? &*lifetimes_ : nullptr; }
  /// Lifetimes::arrive, for tasks of a class.
  void arrive(ClassId id, std::int64_t now_ns, std::int64_t run_ns);

 private:
  void change(Row row, ClassId id, DeviceMask devices, std::int32_t sign);

  std::vector<NodeState> states_;
  std::vector<std::int16_t> devices_;
  std::vector<std::uint32_t> tag_tasks_;
  std::vector<TaskClass> classes_;
  std::vector<Row> changes_;
  std::optional<Lifetimes> lifetimes_;
  std::size_t device_stride_ = 0, tag_stride_ = 0;
  std::int32_t tasks_max_ = INT32_MAX;
};

}  // namespace berth::strategy
