#include "strategy/fragments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/assert.h"
#include "base/text.h"

namespace berth::strategy {
namespace {

/// The order of R-STRAT-202 is total, so the result does not depend on the order of input.
bool more_popular(const ShapeCount& a, const ShapeCount& b) {
  return std::tie(a.count, a.cpu, a.gpu_milli, a.gpus, a.spec) > std::tie(b.count, b.cpu, b.gpu_milli, b.gpus, b.spec);
}

}  // namespace

std::vector<TypicalClass> typical_workload(std::vector<ShapeCount> shapes, const TypicalOptions& options) {
  const auto shape = [](const ShapeCount& s) { return std::tie(s.cpu, s.gpu_milli, s.gpus, s.spec); };
  if (!options.cpu_only) std::erase_if(shapes, [](const ShapeCount& s) { return s.gpus == 0; });
  std::sort(shapes.begin(), shapes.end(), [&](const auto& a, const auto& b) { return shape(a) < shape(b); });
  std::vector<ShapeCount> classes;
  for (ShapeCount& s : shapes) {
    if (!classes.empty() && shape(classes.back()) == shape(s))
      classes.back().count += s.count;
    else
      classes.push_back(std::move(s));
  }
  const auto weight = [&](const ShapeCount& s) {
    const double each = s.gpu_milli == kWholeDevice ? 1 + options.whole_gpu_weight * s.gpus : 1;
    return each * static_cast<double>(s.count);
  };
  if (options.whole_gpu_weight == 0)
    std::sort(classes.begin(), classes.end(), more_popular);
  else
    std::sort(classes.begin(), classes.end(), [&](const auto& a, const auto& b) {
      return weight(a) != weight(b) ? weight(a) > weight(b) : more_popular(a, b);
    });
  double total = 0, covered = 0;
  for (const ShapeCount& s : classes) total += weight(s);
  std::size_t taken = 0;
  while (taken < classes.size() && covered < options.threshold_percent * total / 100)
    for (std::size_t i = 0; i < options.step && taken < classes.size(); ++i) covered += weight(classes[taken++]);
  std::vector<TypicalClass> out;
  for (std::size_t i = 0; i < taken; ++i) {
    const ShapeCount& s = classes[i];
    const double frequency = weight(s) / total;
    const double popularity = taken == classes.size() ? frequency : frequency / (covered / total);
    out.push_back({s.cpu, s.gpus, s.gpu_milli, s.spec, s.count, popularity});
  }
  return out;
}

bool spec_accepts(std::string_view spec, std::string_view model) {
  bool any_part = false;
  for (const std::string_view part : base::split(spec, '|')) {
    if (part.empty()) continue;
    if (part == model) return true;
    any_part = true;
  }
  return !any_part;
}

FragmentTables::FragmentTables(std::vector<TypicalClass> typical, std::vector<std::string> models)
    : typical_(std::move(typical)) {
  for (const TypicalClass& m : typical_) {
    cpus_.push_back(m.cpu);
    if (m.gpu_milli > 0) sizes_.push_back(m.gpu_milli);
    popularity_sum_ += m.popularity;
  }
  const auto make_set = [](std::vector<std::int32_t>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  make_set(cpus_), make_set(sizes_);
  for (std::size_t g = 0; g < size_step_.size(); ++g)
    size_step_[g] = static_cast<std::uint8_t>(
        std::upper_bound(sizes_.begin(), sizes_.end(), static_cast<std::int32_t>(g)) - sizes_.begin());
  for (const TypicalClass& m : typical_) {
    const auto size = std::find(sizes_.begin(), sizes_.end(), m.gpu_milli) - sizes_.begin();
    rows_.push_back({m.popularity, m.cpu, m.gpus, m.gpu_milli > 0 ? static_cast<std::int32_t>(size) : -1});
  }
  for (const std::string& model : models)
    for (const TypicalClass& m : typical_) accepts_.push_back(m.gpu_milli == 0 || spec_accepts(m.spec, model));

  // W and V. A class of several devices always requests whole ones, so only the number of free devices matters to it.
  size_stride_ = sizes_.size() + 1;
  const std::size_t cpu_stride = cpus_.size() + 1;
  one_device_.assign(models.size() * cpu_stride * size_stride_, 0);
  many_devices_.assign(models.size() * cpu_stride * (kDevicesMax + 1), 0);
  for (std::size_t model = 0; model < models.size(); ++model)
    for (std::size_t step = 0; step < cpu_stride; ++step)
      for (std::size_t c = 0; c < rows_.size(); ++c) {
        const Row& m = rows_[c];
        if (m.size < 0 || !accepts_[model * rows_.size() + c] || step == 0 || m.cpu > cpus_[step - 1]) continue;
        if (m.gpus == 1) {
          for (std::size_t size = static_cast<std::size_t>(m.size) + 1; size < size_stride_; ++size)
            one_device_[(model * cpu_stride + step) * size_stride_ + size] += m.popularity;
        } else {
          for (std::size_t free = static_cast<std::size_t>(m.gpus); free <= kDevicesMax; ++free)
            many_devices_[(model * cpu_stride + step) * (kDevicesMax + 1) + free] +=
                m.popularity * static_cast<double>(kWholeDevice * free);
        }
      }

  edges_[0] = -std::numeric_limits<double>::infinity();
  for (int s = 1; s < 100; ++s) edges_[static_cast<std::size_t>(s)] = 1000 * std::log(s / (100.0 - s));
  edges_[100] = edges_[101] = std::numeric_limits<double>::infinity();
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    const double lower = kCellsFrom + kCellWidth * static_cast<double>(cell);
    cells_[cell] =
        static_cast<std::uint8_t>(std::upper_bound(edges_.begin(), edges_.begin() + 100, lower) - edges_.begin() - 1);
  }
}

FragmentCases FragmentTables::cases(std::uint16_t model, std::int32_t cpu,
                                    std::span<const std::int16_t> devices) const {
  // Per size: number of devices with that much left, and total amount on devices with less.
  std::array<std::int32_t, kWholeDevice + 1> fitting, too_small;  // the first sizes_.size() are used
  std::int32_t idle = 0;
  for (const std::int16_t g : devices) idle += g;
  for (std::size_t size = 0; size < sizes_.size(); ++size) {
    std::int32_t count = 0, rest = 0;
    for (const std::int16_t g : devices) {
      const bool fits = g >= sizes_[size];
      count += fits, rest += fits ? 0 : g;
    }
    fitting[size] = count, too_small[size] = rest;
  }
  FragmentCases q{};
  const std::uint8_t* const accepts = accepts_.data() + model * rows_.size();
  for (std::size_t c = 0; c < rows_.size(); ++c) {
    const Row& m = rows_[c];
    const bool cpu_fits = cpu >= m.cpu;
    if (m.size < 0) {
      q[cpu_fits ? kXL : kXR] += m.popularity * idle;
    } else if (!accepts[c]) {
      q[kNA] += m.popularity * idle;
    } else if (fitting[static_cast<std::size_t>(m.size)] >= m.gpus) {
      if (cpu_fits) {
        const std::int32_t fragment = too_small[static_cast<std::size_t>(m.size)];
        q[kQ2] += m.popularity * fragment;
        q[kQ3] += m.popularity * (idle - fragment);
      } else {
        q[kQ4] += m.popularity * idle;
      }
    } else {
      q[cpu_fits ? kQ2 : kQ1] += m.popularity * idle;
    }
  }
  return q;
}

std::size_t FragmentTables::cpu_step(std::int32_t cpu) const {
  // Branch-free search, because the position of a node's cpu among the requests is unpredictable.
  const std::int32_t* base = cpus_.data();
  std::size_t length = cpus_.size();
  if (length == 0) return 0;
  while (length > 1) {
    const std::size_t half = length / 2;
    base += base[half - 1] <= cpu ? half : 0;
    length -= half;
  }
  return static_cast<std::size_t>(base - cpus_.data()) + (*base <= cpu);
}

std::int32_t FragmentTables::step_of(double gain) const {
  constexpr double kDoubt = 1e-6;  // far above the tables' error, far below the distance of two steps (40)
  std::int32_t score = 0;
  const double cell = (gain - kCellsFrom) / kCellWidth;
  if (cell >= 0 && cell < static_cast<double>(cells_.size()))
    score = cells_[static_cast<std::size_t>(cell)];
  else if (cell >= 0)
    return -1;  // beyond any gain of a node with 8 devices
  const auto at = static_cast<std::size_t>(score);
  score += gain >= edges_[at + 1];
  const auto now = static_cast<std::size_t>(score);
  return gain - edges_[now] < kDoubt || edges_[now + 1] - gain < kDoubt ? -1 : score;
}

std::int32_t FragmentTables::score(std::uint16_t model, std::int32_t cpu, std::int32_t cpu_asked,
                                   std::span<const std::int16_t> devices, DeviceMask taken, std::int32_t milli) const {
  const std::size_t before = cpu_step(cpu), after = cpu_step(cpu - cpu_asked);
  // Nothing that matters to any class has changed: F' is F to the last bit.
  if (before == after && taken == 0) return 50;
  const std::size_t stride = cpus_.size() + 1;
  const std::size_t row_before = model * stride + before, row_after = model * stride + after;
  const double* const worth_before = one_device_.data() + row_before * size_stride_;
  const double* const worth_after = one_device_.data() + row_after * size_stride_;
  double lost = 0;  // usable before - usable after
  std::size_t free_before = 0, free_after = 0;
  std::int32_t taken_milli = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::int16_t g = devices[i];
    const bool takes = (taken >> i & 1) != 0;
    const auto rest = static_cast<std::int16_t>(takes ? g - milli : g);
    lost += device_worth(worth_before, g) - device_worth(worth_after, rest);
    free_before += g == kWholeDevice, free_after += rest == kWholeDevice;
    taken_milli += takes ? milli : 0;
  }
  lost += many_devices_[row_before * (kDevicesMax + 1) + free_before] -
          many_devices_[row_after * (kDevicesMax + 1) + free_after];
  // F - F' = (I - usable) - (I' - usable') with I weighted by the sum of the popularities, which is 1 up to rounding.
  const std::int32_t score = step_of(static_cast<double>(taken_milli) * popularity_sum_ - lost);
  return score >= 0 ? score : exact_score(model, cpu, cpu_asked, devices, taken, milli);
}

std::int32_t FragmentTables::exact_score(std::uint16_t model, std::int32_t cpu, std::int32_t cpu_asked,
                                         std::span<const std::int16_t> devices, DeviceMask taken,
                                         std::int32_t milli) const {
  std::array<std::int16_t, kDevicesMax> left{};
  for (std::size_t i = 0; i < devices.size(); ++i)
    left[i] = static_cast<std::int16_t>((taken >> i & 1) != 0 ? devices[i] - milli : devices[i]);
  const double before = exact(model, cpu, devices);
  const double after = exact(model, cpu - cpu_asked, std::span(left).first(devices.size()));
  return static_cast<std::int32_t>(100 * (1 / (1 + std::exp(-(before - after) / 1000))));
}

}  // namespace berth::strategy
