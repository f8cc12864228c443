// Score expressions: a formula over numbers of a node and a task, as a ranking strategy (`expr:FORMULA`). Grammar,
// functions and columns for users: bench/guide/search.md.
//
//   expression  sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]        1 if it holds, else 0
//   sum         product {("+" | "-") product}
//   product     factor {("*" | "/") factor}
//   factor      "-" factor | number | column | function "(" expression {"," expression} ")" | "(" expression ")"
//
// A formula is compiled once, in one pass, to a flat program. Equal subexpressions become one value, those of numbers
// alone a constant. scores() then runs each operation over a whole block of nodes:
//
//   operations  count x 16 B         code, result and operands as registers, constant or column; in order
//   registers   kRegistersMax x kExpressionBlock doubles (32 KiB), on the stack of the call; a register is reused once
//               its value was used for the last time, so that a formula of 15 operations touches about 3 KiB
//   columns     read from the nodes' records when first needed; a task's amounts and constants fill a register
//
// Arithmetic is that of IEEE doubles in the order written, without fused operations; exp2, log2 and pow are computed
// here and not by the C library, so that scores have the same bits on every machine. Threads: scores() only reads.
// Bounds: kExpressionBytesMax characters, kDepthMax levels, kValuesMax values, kRegistersMax of them at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/strategy.h"

namespace berth::strategy {

inline constexpr std::size_t kExpressionBlock = 64;  ///< nodes
inline constexpr std::size_t kExpressionBytesMax = 4096;

/// 2^x, relative error below 4e-16; exact for integers. Overflow is infinite, underflow as ldexp rounds it.
[[nodiscard]] double expression_exp2(double x) noexcept;
/// Base-2 logarithm, relative error below 1e-15; exact for powers of 2. -inf for 0, NaN below.
[[nodiscard]] double expression_log2(double x) noexcept;
/// a^b: repeated multiplication for integers |b| <= 64, else 2^(b log2 a), which is NaN for a < 0.
[[nodiscard]] double expression_pow(double a, double b) noexcept;

enum class ExpressionCode : std::uint8_t {
  constant,
  column,
  add,
  subtract,
  multiply,
  divide,
  negate,
  less,
  less_equal,
  equal,
  not_equal,
  minimum,
  maximum,
  absolute,
  floor,
  trunc,
  sqrt,
  exp2,
  log2,
  pow,
  choose,
};
/// One operation on numbers; not for constant and column.
[[nodiscard]] double expression_apply(ExpressionCode code, double a, double b, double c) noexcept;

/// Columns by index: four amounts of a node and the request, each in kDimensions dimensions, then single numbers.
enum ExpressionColumn : std::uint8_t {
  kFreeColumn = 0,
  kTotalColumn = kFreeColumn + kDimensions,
  kUsedColumn = kTotalColumn + kDimensions,
  kLeftColumn = kUsedColumn + kDimensions,
  kAskColumn = kLeftColumn + kDimensions,
  kTasksColumn = kAskColumn + kDimensions,
  kGpuTasksColumn,
  kSameTasksColumn,
  kDevicesColumn,
  kUnusedDevicesColumn,
  kDeviceFreeColumn,
  kAskDevicesColumn,
  kAskDeviceColumn,
  kPriorityColumn,
  kNodePowerColumn,
  kPowerAddedColumn,
  kRunTimeColumn,
  kNodeExitColumn,
};

class Expression {
 public:
  static constexpr std::size_t kDepthMax = 64, kValuesMax = 256, kRegistersMax = 64;

  /// `context` has the constants of the fleet (max_cpu, mean_cpu). `error`: of predicted run times, if the formula has
  /// them. Errors mark the place in the formula by braces.
  [[nodiscard]] static Result<Expression> compile(std::string_view text, const Context& context,
                                                  DeviceRule rule = DeviceRule::best, double error = 0);

  /// out[i] = score of nodes[i]; any number of nodes. Cost: one pass over at most kExpressionBlock doubles per
  /// operation and block.
  void scores(std::span<const Node> nodes, const TaskClass& task, std::span<double> out) const;
  /// Device of a task with part of a GPU.
  [[nodiscard]] DeviceMask devices(const Node& node, const TaskClass& task) const {
    return choose_devices(node, task, rule_);
  }

  /// nullopt if the formula has no run times.
  [[nodiscard]] std::optional<double> prediction_error() const { return error_; }

  [[nodiscard]] std::size_t operations() const noexcept { return operations_.size(); }
  /// True if a column needs the power of nodes. Without Context::rates it is 0.
  [[nodiscard]] bool reads_power() const noexcept;

  /// result = code(a, b, c), all of them registers. A constant has `number`, a column has its index in `a`.
  struct Operation {
    double number = 0;
    ExpressionCode code{};
    std::uint8_t result = 0, a = 0, b = 0, c = 0;
  };

 private:
  Expression(std::vector<Operation> operations, DeviceRule rule, double error, std::shared_ptr<const RateTable> rates);
  void read_column(std::uint8_t column, std::span<const Node> nodes, const TaskClass& task,
                   std::array<double, kExpressionBlock>& out) const;

  std::vector<Operation> operations_;  ///< the last one's result is the score
  DeviceRule rule_;
  std::optional<double> error_;
  std::shared_ptr<const RateTable> rates_;
};

/// A name that a formula may contain, with its meaning.
struct ExpressionName {
  std::string name, meaning;
};
/// Columns, constants of the fleet included, then functions with their arguments.
[[nodiscard]] std::vector<ExpressionName> expression_columns();
[[nodiscard]] std::vector<ExpressionName> expression_functions();

}  // namespace berth::strategy
