// The GPU policies of Weng et al., USENIX ATC 2023, as defined by their artifact (R-STRAT-301 to 323): integer scores
// 0..100 on the state before the placement. Random is in sampling.h. Costs are per scored node.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "berth/strategy.h"
#include "strategy/fragments.h"

namespace berth::strategy {

inline constexpr double kCpuReference = 128'000, kGpuReference = 8'000;  // R-STRAT-301, thousandths

/// DotProd, dimension method merge, normalisation max (R-STRAT-311): trunc(100 (1 - d / 2)) with d = free . request
/// over cpu and GPU, each divided by its reference. The smaller the product the better. Cost: O(1).
struct DotProduct {
  std::int32_t score(const Node& node, const TaskClass& task) const {
    const double cpu = node.free(kCpu) / kCpuReference * (task.ask[kCpu] / kCpuReference);
    const double gpu = node.free(kGpu) / kGpuReference * (task.ask[kGpu] / kGpuReference);
    return static_cast<std::int32_t>(100 * (1 - (cpu + gpu) / 2));
  }
};

/// DotProd with the other dimension methods and normalisations (R-STRAT-321, 322). Except with merge, the winning pair
/// also chooses the device. Cost: O(devices).
class DotProductBy {
 public:
  enum class Method : std::uint8_t { merge, share, divide, extend };
  enum class Norm : std::uint8_t { max, node, pod };
  DotProductBy(Method method, Norm norm) : method_(method), norm_(norm) {}

  std::int32_t score(const Node& node, const TaskClass& task) const { return best(node, task).score; }
  DeviceMask devices(const Node& node, const TaskClass& task) const {
    const Best b = best(node, task);
    if (b.devices != 0) return b.devices;
    return choose_devices(node, task, DeviceRule::best);
  }

 private:
  struct Best {
    std::int32_t score = 0;
    DeviceMask devices = 0;  ///< 0 = the device rule decides
  };
  [[nodiscard]] Best best(const Node& node, const TaskClass& task) const;

  Method method_;
  Norm norm_;
};

/// GpuClustering (R-STRAT-312): tasks of one affinity tag together. b = 25 (8000 - I) div 8000, plus 75 on a node with
/// tasks of this tag only, 50 with this and others, 25 without GPU tasks, 0 with others only. Cost: O(1).
struct GpuClustering {
  std::int32_t score(const Node& node, const TaskClass& task) const {
    if (task.gpu_milli == 0) return 0;
    const std::int32_t base = 25 * (8'000 - node.free(kGpu)) / 8'000;
    const auto same = static_cast<std::int32_t>(node.tag_tasks[task.tag()]);
    if (node.state.gpu_tasks == 0) return base + 25;
    if (same == 0) return base;
    return base + (same == node.state.gpu_tasks ? 75 : 50);
  }
};

/// GpuPacking (R-STRAT-313): fill devices in use before free ones on nodes in use before free nodes. 0 if fewer devices
/// fit than requested, which happens only in Nomad's pipeline, where one share may come from several devices. Cost:
/// O(devices).
struct GpuPacking {
  std::int32_t score(const Node& node, const TaskClass& task) const;
};

/// BestFit (R-STRAT-314): trunc(100 (1 - r)), r = the mean of the remaining cpu and GPU divided by their references.
/// The artifact's rescaling does not change the choice; sums of policies apply it. Cost: O(1).
struct GpuBestFit {
  std::int32_t score(const Node& node, const TaskClass& task) const {
    const double cpu = (node.free(kCpu) - task.ask[kCpu]) / kCpuReference * 0.5;
    const double gpu = (node.free(kGpu) - task.ask[kGpu]) / kGpuReference * 0.5;
    return static_cast<std::int32_t>(100 * (1 - (cpu + gpu)));
  }
};

/// Fragmentation gradient descent (R-STRAT-315): the node and device on which a typical task loses least:
/// trunc(100 / (1 + e^(-(F - F') / 1000))), F the fragment amount before and F' after. A task with part of a device
/// tries each; the lowest device with the largest integer wins. Cost: O(devices) per distinct device fill, by tables;
/// the exact sums only within 1e-6 of a step (fragments.h).
class Fgd {
 public:
  explicit Fgd(std::shared_ptr<const FragmentTables> tables) : tables_(std::move(tables)) {}

  std::int32_t score(const Node& node, const TaskClass& task) const {
    if (task.gpu_milli == 0 || task.gpu_milli == kWholeDevice)
      return tables_->score(node.state.model, node.free(kCpu), task.ask[kCpu], node.devices,
                            choose_devices(node, task, DeviceRule::best), task.gpu_milli);
    return part(node, task).second;
  }
  DeviceMask devices(const Node& node, const TaskClass& task) const {
    if (task.gpu_milli == 0 || task.gpu_milli == kWholeDevice) return choose_devices(node, task, DeviceRule::best);
    return part(node, task).first;
  }

 private:
  /// The device and its score. Equally filled devices have equal scores, so only the first of them is tried.
  [[nodiscard]] std::pair<DeviceMask, std::int32_t> part(const Node& node, const TaskClass& task) const {
    std::pair<DeviceMask, std::int32_t> best{0, -1};
    for (std::size_t i = 0; i < node.devices.size(); ++i) {
      if (node.devices[i] < task.gpu_milli) continue;
      bool tried = false;
      for (std::size_t j = 0; j < i; ++j) tried |= node.devices[j] == node.devices[i];
      if (tried) continue;
      const std::int32_t score = tables_->score(node.state.model, node.free(kCpu), task.ask[kCpu], node.devices,
                                                DeviceMask{1} << i, task.gpu_milli);
      if (score > best.second) best = {DeviceMask{1} << i, score};
    }
    return best;
  }

  std::shared_ptr<const FragmentTables> tables_;
};

}  // namespace berth::strategy
