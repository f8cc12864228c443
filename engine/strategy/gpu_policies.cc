#include "strategy/gpu_policies.h"

namespace berth::strategy {

std::int32_t GpuPacking::score(const Node& node, const TaskClass& task) const {
  if (task.gpu_milli == 0) return 0;
  const auto count = static_cast<std::int32_t>(node.devices.size());
  std::int32_t unused = 0;
  for (const std::int16_t g : node.devices) unused += g == kWholeDevice;
  if (unused == count) return count < task.gpus ? 0 : std::max(33 - unused, unused);
  std::array<std::int16_t, kDevicesMax> fitting{};
  std::size_t fitting_count = 0;
  for (const std::int16_t g : node.devices)
    if (g >= task.gpu_milli) fitting[fitting_count++] = g;
  const auto wanted = static_cast<std::size_t>(task.gpus);
  if (fitting_count < wanted) return 0;
  if (wanted == 1)
    std::iter_swap(fitting.begin(),
                   std::min_element(fitting.begin(), fitting.begin() + static_cast<std::ptrdiff_t>(fitting_count)));
  else
    std::sort(fitting.begin(), fitting.begin() + static_cast<std::ptrdiff_t>(fitting_count));
  std::int32_t opened = 0, left = 0;
  for (std::size_t i = 0; i < wanted; ++i)
    opened += fitting[i] == kWholeDevice, left += fitting[i] * 100 / kWholeDevice;
  return opened > 0 ? std::max(50 - opened, 33) : std::max(100 - left / 10, 50);
}

DotProductBy::Best DotProductBy::best(const Node& node, const TaskClass& task) const {
  const double cpu = node.free(kCpu), ask_cpu = task.ask[kCpu], ask_gpu = task.ask[kGpu];
  const auto ratio = [](double part, double whole) { return whole == 0 ? 0 : part / whole; };
  // One pair of vectors over (cpu, one GPU component); `k` components count.
  double best_value = 0;
  Best best;
  bool any = false;
  const auto norm_of = [&](std::size_t dimension) {
    switch (norm_) {
      case Norm::max:
        return dimension == kCpu ? kCpuReference : kGpuReference;
      case Norm::node:
        return static_cast<double>(dimension == kCpu ? node.capacity(kCpu) : node.capacity(kGpu));
      case Norm::pod:
        return dimension == kCpu ? ask_cpu : ask_gpu;
    }
    return 0.0;
  };
  const auto offer = [&](double product, double components, DeviceMask devices) {
    const double x = product / components;
    const double value = norm_ == Norm::pod ? 1 - std::tanh(x / 10) : 1 - x;
    if (!any || value > best_value) best_value = value, best.devices = devices;
    any = true;
  };
  const auto term = [&](std::size_t dimension, double have, double want) {
    return ratio(have, norm_of(dimension)) * ratio(want, norm_of(dimension));
  };
  DeviceMask free = 0;
  std::int32_t free_count = 0;
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    if (node.devices[i] == kWholeDevice) free |= DeviceMask{1} << i, ++free_count;
  const DeviceMask from_free = task.gpu_milli == 0              ? 0
                               : task.gpu_milli == kWholeDevice ? whole_devices(node, task.gpus)
                                                                : free & (~free + 1);
  const double idle = node.free(kGpu), free_milli = 1000.0 * free_count;
  switch (method_) {
    case Method::merge:
      offer(term(kCpu, cpu, ask_cpu) + term(kGpu, idle, ask_gpu), 2, 0);
      break;
    case Method::share:
    case Method::divide: {
      const auto pair = [&](double part, DeviceMask devices) {
        const double own_cpu = method_ == Method::divide ? ratio(cpu * part, idle) : cpu;
        offer(term(kCpu, own_cpu, ask_cpu) + term(kGpu, part, ask_gpu), 2, devices);
      };
      if (ask_gpu < kWholeDevice)
        for (std::size_t i = 0; i < node.devices.size(); ++i)
          if (const double g = node.devices[i]; g > 0 && g < kWholeDevice && g >= ask_gpu)
            pair(g, task.gpu_milli == 0 ? 0 : DeviceMask{1} << i);
      if (ask_gpu <= free_milli) pair(free_milli, from_free);
      break;
    }
    case Method::extend: {
      // One component per partly used device and one for all free ones; the request is tried on each.
      double components = 1 + (free_count > 0);
      for (const std::int16_t g : node.devices) components += g > 0 && g < kWholeDevice;
      const double base = term(kCpu, cpu, ask_cpu);
      for (std::size_t i = 0; i < node.devices.size(); ++i)
        if (const double g = node.devices[i]; g > 0 && g < kWholeDevice && g >= ask_gpu)
          offer(base + term(kGpu, g, ask_gpu), components, task.gpu_milli == 0 ? 0 : DeviceMask{1} << i);
      if (free_count > 0 && free_milli >= ask_gpu) offer(base + term(kGpu, free_milli, ask_gpu), components, from_free);
      break;
    }
  }
  best.score = any ? static_cast<std::int32_t>(100 * best_value) : 0;
  return best;
}

}  // namespace berth::strategy
