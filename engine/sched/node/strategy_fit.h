// A ranking strategy in place of the fit component (R-STRAT-007): the nodes and groups of a Select as strategies see
// them (berth/fleet.h).
//
//   amounts     cpu MHz, memory MiB, disk MiB: capacity less reserved, and what is free of it before the placement;
//               held to 1.9e9. Where a Select may evict, the use is what the fit component is given (R-RANK-647):
//               victims count, so that less may be free than is asked, or than nothing.
//   devices     of the node's first device group, in ascending order of their IDs, healthy ones only, at most 64; an
//               instance is a device of 1000, or `shares` of them are one. Other groups take no part.
//   model       of that group: its place in the list of names that use() was given, 0 if it is not there
//   task class  what the group asks, all device requests added up
//
// One call of the strategy per block of nodes where a block is prepared at once (columns.h), else per node that is
// scored. Threads: one worker's own, as all scratch.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "berth/fit.h"
#include "rank/devices.h"
#include "tables/state.h"

namespace berth::sched {

/// Use of a node, the group's own included (R-RANK-532).
struct FitUse {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
};

/// What a group asks, as strategies see it; `shares`: device instances that are one device.
[[nodiscard]] strategy::TaskClass task_class_of(const tables::CompiledGroup& group, std::int64_t priority,
                                                std::int64_t shares = 1);

class StrategyFit {
 public:
  static constexpr std::size_t kBlock = 64;

  /// `models`: names of device groups, "vendor/type/name"; [0] stands for none. `shares`: instances per device.
  void use(strategy::FitFunction function, std::vector<std::string> models = {}, std::int64_t shares = 1);
  /// As another one does.
  void use_as(const StrategyFit& other) {
    if (other.function_) use(other.function_, other.models_, other.shares_);
  }
  /// Whether a strategy is used at all.
  explicit operator bool() const { return static_cast<bool>(function_); }

  /// Another attempt: groups may be gone.
  void start() { group_ = nullptr; }
  /// The group that the next calls are about.
  void begin(const tables::CompiledGroup& group, std::int64_t priority) {
    if (&group != group_) read_group(group, priority);
  }
  /// What the group asks on the next nodes, where it asks for cores: the node says how much that is.
  void set_ask_cpu(std::int64_t cpu_mhz);
  /// How many devices strategies see on a node.
  [[nodiscard]] std::uint32_t devices(const tables::Snapshot& snapshot, tables::NodeRow row);

  /// Appends a node whose devices are all free to the block, which must not be full.
  void add(const tables::Snapshot& snapshot, tables::NodeRow row, const FitUse& use, std::int64_t allocs);
  /// As above; the devices that `held` does not hold are free.
  void add(const tables::Snapshot& snapshot, tables::NodeRow row, const FitUse& use, std::int64_t allocs,
           std::span<const tables::ResourceShape* const> held);
  /// Components of the block's nodes, in order; the block is empty then. Valid until the next call.
  [[nodiscard]] std::span<const double> take();

 private:
  struct Kind {
    std::uint16_t model = 0, devices = kUnread;
    static constexpr std::uint16_t kUnread = UINT16_MAX;
  };
  void read_group(const tables::CompiledGroup& group, std::int64_t priority);
  const Kind& kind(const tables::Snapshot& snapshot, tables::NodeRow row);

  strategy::FitFunction function_;
  std::vector<std::string> models_;
  std::int64_t shares_ = 1;

  const tables::CompiledGroup* group_ = nullptr;
  strategy::TaskClass task_;
  FitUse ask_;

  std::uint64_t epoch_ = ~0ULL;  // of the node table that `kinds_` was read from
  std::vector<Kind> kinds_;      // by row, read when first asked for

  // The block.
  std::array<strategy::NodeState, kBlock> states_;
  std::array<double, kBlock> components_;
  std::vector<strategy::Node> nodes_;
  std::vector<std::int16_t> devices_;     // kBlock x kDevicesMax
  std::vector<std::uint32_t> tag_tasks_;  // kBlock x tags_
  std::size_t tags_ = 0;
};

}  // namespace berth::sched
