// A ranking strategy in place of the fit component (R-STRAT-007): converts nodes and groups of a Select to the values
// that strategies use (berth/fleet.h).
//
//   amounts     cpu MHz, memory MiB, disk MiB: capacity minus reserved, and the free part before the placement;
//               limited to 1.9e9. If a Select may evict, the use is that of the fit component (R-RANK-647): victims
//               count as running, so the free part may be below the request or negative.
//   devices     of the node's first device group, ascending by ID, healthy ones only, at most 64. An instance is a
//   device
//               of 1000, or `shares` instances are one. Other groups are ignored.
//   model       of that group: position in the names passed to use(), or 0
//   task class  the group's request, all device requests summed
//
// The strategy is called once per block of nodes where a block is decided at once (block_fit.h), otherwise once per
// scored node. Threads: one worker.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "berth/fit.h"
#include "rank/devices.h"
#include "tables/job_table.h"

namespace berth::sched {

/// Use of a node including the group (R-RANK-532).
struct FitUse {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
};

/// A group's request as strategies see it; `shares`: device instances that are one device.
[[nodiscard]] strategy::TaskClass task_class_of(const tables::CompiledGroup& group, std::int64_t priority,
                                                std::int64_t shares = 1);

class StrategyFit {
 public:
  static constexpr std::size_t kBlock = 64;

  /// `models`: names of device groups, "vendor/type/name"; [0] is a placeholder for none. `shares`: instances per
  /// device.
  void use(strategy::FitFunction function, std::vector<std::string> models = {}, std::int64_t shares = 1);
  /// Uses the strategy of `other`.
  void use_as(const StrategyFit& other) {
    if (other.function_) use(other.function_, other.models_, other.shares_);
  }
  /// True if a strategy is used.
  explicit operator bool() const { return static_cast<bool>(function_); }

  /// Starts an attempt: groups of the previous one may be gone.
  void start() { group_ = nullptr; }
  /// Sets the group for the next calls.
  void begin(const tables::CompiledGroup& group, std::int64_t priority) {
    if (&group != group_) read_group(group, priority);
  }
  /// Sets the cpu request for the next nodes if the group requests cores: it depends on the node.
  void set_ask_cpu(std::int64_t cpu_mhz);
  /// Number of the node's devices that strategies see.
  [[nodiscard]] std::uint32_t devices(const tables::Snapshot& snapshot, tables::NodeRow row);

  /// Adds a node to the block, with all its devices free. The block must not be full.
  void add(const tables::Snapshot& snapshot, tables::NodeRow row, const FitUse& use, std::int64_t allocs);
  /// The same; devices in `held` are not free.
  void add(const tables::Snapshot& snapshot, tables::NodeRow row, const FitUse& use, std::int64_t allocs,
           std::span<const tables::ResourceShape* const> held);
  /// Returns the scores of the block's nodes, in order, and empties the block. Valid until the next call.
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

  std::uint64_t epoch_ = ~0ULL;  // of the node table from which `kinds_` was read
  std::vector<Kind> kinds_;      // by row, read on first use

  // The block.
  std::array<strategy::NodeState, kBlock> states_;
  std::array<double, kBlock> components_;
  std::vector<strategy::Node> nodes_;
  std::vector<std::int16_t> devices_;     // kBlock x kDevicesMax
  std::vector<std::uint32_t> tag_tasks_;  // kBlock x tags_
  std::size_t tags_ = 0;
};

}  // namespace berth::sched
