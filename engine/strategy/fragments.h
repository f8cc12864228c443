// The typical workload and the fragment measure (R-STRAT-201 to 217): how much idle GPU a typical task cannot use.
//
//   exact()      F of a node with the seven accumulators of R-STRAT-215, in their order of additions. Used for reports
//                and if a score is near a step. O(classes + devices * sizes)
//   gain()       F before - F after a hypothetical placement, by tables, exact to about 1e-9. O(devices):
//                  a class of one device that fits uses every device with enough left, so
//                  F = I - sum over devices of g * W(cpu, g) - V(cpu, free devices)
//                  W   popularity of the one-device classes whose cpu fits and whose share is at most g
//                  V   the same for the classes of several devices, times what they can use
//
// Values are thousandths of a GPU. Built once per run, then read only, from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/fleet.h"

namespace berth::strategy {

/// A task shape for the measure, which ignores memory (R-STRAT-105). `spec` is the raw text.
struct ShapeCount {
  std::int32_t cpu = 0, gpus = 0, gpu_milli = 0;
  std::string spec;
  std::uint64_t count = 0;
};
struct TypicalClass {
  std::int32_t cpu = 0, gpus = 0, gpu_milli = 0;
  std::string spec;
  std::uint64_t count = 0;
  double popularity = 0;
};
struct TypicalOptions {
  double threshold_percent = 95;
  std::size_t step = 1;         ///< classes taken at a time
  bool cpu_only = true;         ///< count tasks without GPU
  double whole_gpu_weight = 0;  ///< a task of k whole devices counts 1 + weight * k
};

/// R-STRAT-201 to 205. Merges equal shapes first. Empty if there are no tasks.
[[nodiscard]] std::vector<TypicalClass> typical_workload(std::vector<ShapeCount> shapes,
                                                         const TypicalOptions& options = {});

/// R-STRAT-104: true if `model` is one of the '|'-separated parts of `spec`, or `spec` has no part.
[[nodiscard]] bool spec_accepts(std::string_view spec, std::string_view model);

enum FragmentCase : std::uint8_t { kQ1, kQ2, kQ3, kQ4, kXL, kXR, kNA };
using FragmentCases = std::array<double, 7>;

class FragmentTables {
 public:
  /// `models`: names, indexed by NodeState::model.
  FragmentTables(std::vector<TypicalClass> typical, std::vector<std::string> models);

  /// R-STRAT-215: the accumulators of one node; F = Q1 + Q2 + Q4 + XL + XR + NA in this order.
  [[nodiscard]] FragmentCases cases(std::uint16_t model, std::int32_t cpu, std::span<const std::int16_t> devices) const;
  [[nodiscard]] static double amount(const FragmentCases& cases) {
    return 0.0 + cases[kQ1] + cases[kQ2] + cases[kQ4] + cases[kXL] + cases[kXR] + cases[kNA];
  }
  [[nodiscard]] double exact(std::uint16_t model, std::int32_t cpu, std::span<const std::int16_t> devices) const {
    return amount(cases(model, cpu, devices));
  }

  /// R-STRAT-315 for one hypothetical placement: trunc(100 / (1 + e^(-(F - F') / 1000))). `devices` loses `milli` on
  /// each device of `taken` and the node `cpu_asked` of `cpu`.
  [[nodiscard]] std::int32_t score(std::uint16_t model, std::int32_t cpu, std::int32_t cpu_asked,
                                   std::span<const std::int16_t> devices, DeviceMask taken, std::int32_t milli) const;

 private:
  [[nodiscard]] std::size_t cpu_step(std::int32_t cpu) const;  ///< number of distinct cpu requests that `cpu` covers
  [[nodiscard]] std::int32_t exact_score(std::uint16_t model, std::int32_t cpu, std::int32_t cpu_asked,
                                         std::span<const std::int16_t> devices, DeviceMask taken,
                                         std::int32_t milli) const;
  /// trunc(100 * sigmoid(gain / 1000)), or -1 if `gain` is so near a step that exact values must decide.
  [[nodiscard]] std::int32_t step_of(double gain) const;
  [[nodiscard]] double device_worth(const double* row, std::int16_t g) const {
    return static_cast<double>(g) * row[size_step_[static_cast<std::size_t>(g)]];
  }

  struct Row {  // the parts of typical_ that the hot loop reads
    double popularity;
    std::int32_t cpu, gpus, size;  // size: index into sizes_, -1 without GPU
  };
  std::vector<TypicalClass> typical_;
  std::vector<Row> rows_;
  std::vector<std::uint8_t> accepts_;                       // model x class
  std::vector<std::int32_t> cpus_;                          // distinct requests, ascending
  std::vector<std::int32_t> sizes_;                         // distinct gpu_milli, ascending
  std::array<std::uint8_t, kWholeDevice + 1> size_step_{};  // g -> number of sizes_ that are at most g
  std::vector<double> one_device_;                          // W: model x cpu step x size step
  std::vector<double> many_devices_;                        // V: model x cpu step x free devices
  std::size_t size_stride_ = 0;
  double popularity_sum_ = 0;
  std::array<double, 102> edges_{};  // edges_[s] = least gain with score s; -inf for 0, +inf for 100 and above
  static constexpr double kCellWidth = 32, kCellsFrom = -4'800;
  std::array<std::uint8_t, 300> cells_{};  // score at the lower end of a cell; a cell holds at most one edge
};

}  // namespace berth::strategy
