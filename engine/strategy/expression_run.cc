// Runs a compiled formula over blocks of nodes. Each kernel goes over its registers in steps of kLanes, which the
// compiler turns into vector instructions; the lanes behind the last node are 0 at first and never read out.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "strategy/expression.h"

namespace berth::strategy {
namespace {

using Code = ExpressionCode;
constexpr std::size_t kLanes = 8;
static_assert(kExpressionBlock % kLanes == 0);
using Register = std::array<double, kExpressionBlock>;

constexpr std::int32_t kIntegerPowerMax = 64;

/// Calls f(code) with the operation as a function of three numbers.
template <class F>
void with_function(Code code, F f) {
  switch (code) {
    case Code::add:
      return f([](double a, double b, double) { return a + b; });
    case Code::subtract:
      return f([](double a, double b, double) { return a - b; });
    case Code::multiply:
      return f([](double a, double b, double) { return a * b; });
    case Code::divide:
      return f([](double a, double b, double) { return a / b; });
    case Code::negate:
      return f([](double a, double, double) { return -a; });
    case Code::less:
      return f([](double a, double b, double) { return a < b ? 1.0 : 0.0; });
    case Code::less_equal:
      return f([](double a, double b, double) { return a <= b ? 1.0 : 0.0; });
    case Code::equal:
      return f([](double a, double b, double) { return a == b ? 1.0 : 0.0; });
    case Code::not_equal:
      return f([](double a, double b, double) { return a != b ? 1.0 : 0.0; });
    case Code::minimum:
      return f([](double a, double b, double) { return a < b ? a : b; });
    case Code::maximum:
      return f([](double a, double b, double) { return a > b ? a : b; });
    case Code::absolute:
      return f([](double a, double, double) { return std::abs(a); });
    case Code::floor:
      return f([](double a, double, double) { return std::floor(a); });
    case Code::trunc:
      return f([](double a, double, double) { return std::trunc(a); });
    case Code::sqrt:
      return f([](double a, double, double) { return std::sqrt(a); });
    case Code::exp2:
      return f([](double a, double, double) { return expression_exp2(a); });
    case Code::log2:
      return f([](double a, double, double) { return expression_log2(a); });
    case Code::pow:
      return f([](double a, double b, double) { return expression_pow(a, b); });
    case Code::choose:
      return f([](double a, double b, double c) { return a != 0 ? b : c; });
    case Code::constant:
    case Code::column:
      return;
  }
}

/// Fills `out` up to the next multiple of kLanes.
template <class F>
void read_each(std::span<const Node> nodes, Register& out, F f) {
  std::size_t i = 0;
  for (; i < nodes.size(); ++i) out[i] = static_cast<double>(f(nodes[i]));
  for (; i % kLanes != 0; ++i) out[i] = 0;
}

std::int32_t device_free(const Node& node, const TaskClass& task, DeviceRule rule) {
  if (task.gpu_milli == 0) return 0;
  if (task.gpu_milli == kWholeDevice) return kWholeDevice;
  const DeviceMask device = part_device(node, task.gpu_milli, rule);
  return device == 0 ? 0 : node.devices[static_cast<std::size_t>(std::countr_zero(device))];
}

}  // namespace

double expression_exp2(double x) noexcept {
  if (!(x > -1100)) return x != x ? x : 0;
  if (x > 1100) return std::numeric_limits<double>::infinity();
  // 2^x = 2^n e^t with |t| <= ln(2) / 2: fourteen terms of the series leave 4e-18.
  const double n = std::floor(x + 0.5), t = (x - n) * 0.693147180559945309417;
  constexpr std::array<double, 14> kFactorials = {1,    1,     2,      6,       24,       120,       720,
                                                  5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800};
  double sum = 0;
  for (std::size_t k = kFactorials.size(); k-- > 0;) sum = sum * t + 1 / kFactorials[k];
  return std::ldexp(sum, static_cast<int>(n));
}

double expression_log2(double x) noexcept {
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x == std::numeric_limits<double>::infinity()) return x;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752440) m *= 2, --exponent;
  // log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: eleven terms of the series leave 2e-18 of it.
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 0;
  for (int k = 10; k >= 0; --k) sum = sum * z + 1.0 / (2 * k + 1);
  return exponent + 2 * s * sum * 1.44269504088896340736;
}

double expression_pow(double a, double b) noexcept {
  if (b == std::trunc(b) && std::abs(b) <= kIntegerPowerMax) {
    double out = 1, square = a;
    for (auto n = static_cast<std::uint32_t>(std::abs(b)); n != 0; n >>= 1, square *= square)
      if ((n & 1) != 0) out *= square;
    return b < 0 ? 1 / out : out;
  }
  return expression_exp2(b * expression_log2(a));
}

double expression_apply(Code code, double a, double b, double c) noexcept {
  double out = 0;
  with_function(code, [&](auto f) { out = f(a, b, c); });
  return out;
}

void Expression::read_column(std::uint8_t column, std::span<const Node> nodes, const TaskClass& task,
                             Register& out) const {
  const auto fill = [&](double value) {
    std::fill_n(out.begin(), (nodes.size() + kLanes - 1) / kLanes * kLanes, value);
  };
  const auto watts = [](std::int64_t mw) { return static_cast<double>(mw) / 1000; };
  const std::size_t d = column % kDimensions;
  if (column < kTotalColumn) return read_each(nodes, out, [d](const Node& n) { return n.state.free[d]; });
  if (column < kUsedColumn) return read_each(nodes, out, [d](const Node& n) { return n.state.capacity[d]; });
  if (column < kLeftColumn)
    return read_each(nodes, out, [d](const Node& n) { return std::int64_t{n.state.capacity[d]} - n.state.free[d]; });
  if (column < kAskColumn)
    return read_each(nodes, out, [d, ask = std::int64_t{task.ask[d]}](const Node& n) { return n.state.free[d] - ask; });
  if (column < kTasksColumn) return fill(task.ask[d]);
  switch (column) {
    case kTasksColumn:
      return read_each(nodes, out, [](const Node& n) { return n.state.tasks; });
    case kGpuTasksColumn:
      return read_each(nodes, out, [](const Node& n) { return n.state.gpu_tasks; });
    case kSameTasksColumn:
      return read_each(nodes, out, [tag = task.tag()](const Node& n) {
        return tag == 0 || tag >= n.tag_tasks.size() ? 0 : n.tag_tasks[tag];
      });
    case kDevicesColumn:
      return read_each(nodes, out, [](const Node& n) { return n.devices.size(); });
    case kUnusedDevicesColumn:
      return read_each(nodes, out, [](const Node& n) {
        return std::count(n.devices.begin(), n.devices.end(), static_cast<std::int16_t>(kWholeDevice));
      });
    case kDeviceFreeColumn:
      return read_each(nodes, out, [&](const Node& n) { return device_free(n, task, rule_); });
    case kAskDevicesColumn:
      return fill(task.gpus);
    case kAskDeviceColumn:
      return fill(task.gpu_milli);
    case kRunTimeColumn:
      return fill(task.run_time_s);
    case kNodeExitColumn:
      return read_each(nodes, out, [](const Node& n) { return n.exit_s; });
    case kNodePowerColumn:
      if (!rates_) return fill(0);
      return read_each(nodes, out, [&](const Node& n) { return watts(node_power_mw(*rates_, n)); });
    case kPowerAddedColumn:
      if (!rates_) return fill(0);
      return read_each(nodes, out, [&](const Node& n) {
        return watts(added_power_mw(*rates_, n, task, choose_devices(n, task, rule_)));
      });
    default:
      return fill(task.priority);
  }
}

void Expression::scores(std::span<const Node> nodes, const TaskClass& task, std::span<double> out) const {
  alignas(64) std::array<Register, kRegistersMax> registers;
  for (std::size_t first = 0; first < nodes.size(); first += kExpressionBlock) {
    const std::span<const Node> block = nodes.subspan(first, std::min(kExpressionBlock, nodes.size() - first));
    const std::size_t lanes = (block.size() + kLanes - 1) / kLanes * kLanes;
    for (const Operation& op : operations_) {
      Register& result = registers[op.result];
      if (op.code == Code::constant) {
        std::fill_n(result.begin(), lanes, op.number);
      } else if (op.code == Code::column) {
        read_column(op.a, block, task, result);
      } else {
        const double *const a = registers[op.a].data(), *const b = registers[op.b].data(),
                            *const c = registers[op.c].data();
        with_function(op.code, [&](auto f) {
          for (std::size_t i = 0; i < lanes; i += kLanes) {
            std::array<double, kLanes> values;  // the result may lie where an operand does
            for (std::size_t lane = 0; lane < kLanes; ++lane) values[lane] = f(a[i + lane], b[i + lane], c[i + lane]);
            std::copy_n(values.begin(), kLanes, result.begin() + static_cast<std::ptrdiff_t>(i));
          }
        });
      }
    }
    std::copy_n(registers[operations_.back().result].begin(), block.size(),
                out.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace berth::strategy
