// Compiles formulas: a recursive descent that numbers values as it reads, then gives them registers.
#include "strategy/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/edit_distance.h"
#include "base/text.h"

namespace berth::strategy {
namespace {

using Code = ExpressionCode;

struct NamedColumn {
  const char* name;
  std::uint8_t column;
  const char* meaning;
};
constexpr std::array<const char*, kDimensions> kDimensionNames = {"cpu", "memory", "disk", "gpu"};
/// One column per dimension: free_cpu, free_memory, ...
constexpr NamedColumn kAmountColumns[] = {
    {"free", kFreeColumn, "free on the node before the placement"},
    {"total", kTotalColumn, "the node's capacity"},
    {"used", kUsedColumn, "total less free"},
    {"left", kLeftColumn, "free after the placement: free minus request"},
    {"ask", kAskColumn, "the task's request"},
};
constexpr NamedColumn kSingleColumns[] = {
    {"tasks", kTasksColumn, "tasks on the node"},
    {"gpu_tasks", kGpuTasksColumn, "of these, with GPUs"},
    {"same_tasks", kSameTasksColumn, "of these, with a GPU request of the task's kind: a part, one, two, ... devices"},
    {"devices", kDevicesColumn, "GPUs of the node"},
    {"unused_devices", kUnusedDevicesColumn, "of these, unused"},
    {"device_free", kDeviceFreeColumn, "free thousandths of the GPU that a task with part of one takes"},
    {"ask_devices", kAskDevicesColumn, "GPUs that the task requests"},
    {"ask_device", kAskDeviceColumn, "thousandths that it requests of each"},
    {"priority", kPriorityColumn, "the task's priority, 0 to 100"},
    {"run_time", kRunTimeColumn, "the task's predicted run time; s, infinite if it does not end"},
    {"node_exit", kNodeExitColumn, "predicted time until the last task of the node ends; s, 0 on an empty node"},
    {"node_power", kNodePowerColumn, "watts of the node before the placement; needs a workload that gives power"},
    {"power_added", kPowerAddedColumn, "watts that the placement adds"},
};
constexpr std::pair<const char*, const char*> kConstants[] = {
    {"max", "largest capacity of any node"},
    {"mean", "mean request of the workload's tasks"},
};

struct Function {
  const char* name;
  Code code;
  std::size_t arguments;  ///< the smallest number; min and max take more
  const char* usage;
  const char* meaning;
};
constexpr Function kFunctions[] = {
    {"min", Code::minimum, 2, "min(a, b, ...)", "the smallest"},
    {"max", Code::maximum, 2, "max(a, b, ...)", "the largest"},
    {"if", Code::choose, 3, "if(c, a, b)", "a where c is not 0, else b"},
    {"abs", Code::absolute, 1, "abs(a)", "without its sign"},
    {"floor", Code::floor, 1, "floor(a)", "rounded down"},
    {"trunc", Code::trunc, 1, "trunc(a)", "rounded towards 0"},
    {"sqrt", Code::sqrt, 1, "sqrt(a)", "square root"},
    {"exp2", Code::exp2, 1, "exp2(a)", "2 to the power of a"},
    {"log2", Code::log2, 1, "log2(a)", "logarithm to base 2"},
    {"pow", Code::pow, 2, "pow(a, b)", "a to the power of b"},
};
bool takes_more(const Function& function) { return function.code == Code::minimum || function.code == Code::maximum; }

std::size_t operands_of(Code code) {
  switch (code) {
    case Code::constant:
    case Code::column:
      return 0;
    case Code::negate:
    case Code::absolute:
    case Code::floor:
    case Code::trunc:
    case Code::sqrt:
    case Code::exp2:
    case Code::log2:
      return 1;
    case Code::choose:
      return 3;
    default:
      return 2;
  }
}

/// A value: an operation whose operands are values before it.
struct Value {
  Code code = Code::constant;
  std::uint8_t column = 0;
  double number = 0;
  std::array<std::uint16_t, 3> of{};

  [[nodiscard]] bool same(const Value& other) const {
    return code == other.code && column == other.column && of == other.of &&
           std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(other.number);
  }
};
using Id = std::uint16_t;

bool is_letter(char c) { return (base::ascii_lower(c) >= 'a' && base::ascii_lower(c) <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Compiler {
 public:
  Compiler(std::string_view text, const Context& context) : text_(text), context_(context) {}

  /// The number of the whole formula's value; nullopt: error() says why.
  std::optional<Id> whole() {
    if (text_.size() > kExpressionBytesMax)
      return fail(0, 0, fmt::format("is longer than {} characters", kExpressionBytesMax), "shorten it");
    skip_spaces();
    if (at_ == text_.size())
      return fail(0, 0, "has no formula", "write e.g. expr:-(left_cpu/total_cpu+left_memory/total_memory)");
    const auto value = expression();
    if (value && at_ < text_.size()) return unexpected("an operator");
    return value;
  }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }
  [[nodiscard]] const InputError& error() const { return *error_; }

  /// Only the first error counts.
  std::nullopt_t fail(std::size_t begin, std::size_t end, std::string problem, std::string remedy) {
    constexpr std::size_t kAround = 32;
    const auto shown = [&](std::size_t from, std::size_t to) {
      std::string out(text_.substr(from, to - from));
      for (char& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
      return out;
    };
    const std::size_t from = begin > kAround ? begin - kAround : 0, to = std::min(text_.size(), end + kAround);
    if (!error_)
      error_ = {"strategy 'expr'", fmt::format("character {}", begin + 1),
                text_.empty() ? std::move(problem)
                              : fmt::format("{}: {}{}{{{}}}{}{}", problem, from > 0 ? "..." : "", shown(from, begin),
                                            shown(begin, end), shown(end, to), to < text_.size() ? "..." : ""),
                std::move(remedy)};
    return std::nullopt;
  }

 private:
  class Nested {
   public:
    explicit Nested(Compiler& compiler) : compiler_(compiler) { ++compiler_.depth_; }
    ~Nested() { --compiler_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Compiler& compiler_;
  };

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool accept(std::string_view sign) {
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    skip_spaces();
    return true;
  }
  std::nullopt_t unexpected(const char* wanted) {
    const std::size_t end = std::min(text_.size(), at_ + 1);
    const char* remedy = at_ == text_.size()                      ? "complete the formula"
                         : text_[at_] == '^' || text_[at_] == '*' ? "write pow(a, b) for a power"
                         : text_[at_] == '&'                      ? "write a * b for 'a and b'"
                         : text_[at_] == '|'                      ? "write max(a, b) for 'a or b'"
                         : text_[at_] == '?'                      ? "write if(condition, a, b)"
                         : text_[at_] == '='                      ? "write == to compare"
                         : text_[at_] == '<' || text_[at_] == '>' ? "write (a < b) * (b < c)"
                                                                  : "change it";
    return fail(at_, end, fmt::format("{} is wanted here", wanted), remedy);
  }

  /// The value of an operation: an equal one before it, a constant, or a new one.
  std::optional<Id> number(Value value) {
    const std::size_t operands = operands_of(value.code);
    bool constant = operands > 0;
    for (std::size_t i = 0; i < operands; ++i) constant &= values_[value.of[i]].code == Code::constant;
    if (constant) {
      std::array<double, 3> numbers{};
      for (std::size_t i = 0; i < operands; ++i) numbers[i] = values_[value.of[i]].number;
      value = {.number = expression_apply(value.code, numbers[0], numbers[1], numbers[2])};
    }
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (values_[i].same(value)) return static_cast<Id>(i);
    if (values_.size() == Expression::kValuesMax)
      return fail(0, at_, fmt::format("has more than {} numbers, columns and operations", Expression::kValuesMax),
                  "shorten it");
    values_.push_back(value);
    return static_cast<Id>(values_.size() - 1);
  }
  std::optional<Id> apply(Code code, Id a, Id b = 0, Id c = 0) { return number({.code = code, .of = {a, b, c}}); }

  std::optional<Id> expression() {
    const auto left = sum();
    if (!left) return left;
    struct Sign {
      const char* text;
      Code code;
      bool swapped;
    };
    for (const Sign& sign :
         {Sign{"<=", Code::less_equal, false}, Sign{">=", Code::less_equal, true}, Sign{"==", Code::equal, false},
          Sign{"!=", Code::not_equal, false}, Sign{"<", Code::less, false}, Sign{">", Code::less, true}}) {
      if (!accept(sign.text)) continue;
      const auto right = sum();
      if (!right) return right;
      return sign.swapped ? apply(sign.code, *right, *left) : apply(sign.code, *left, *right);
    }
    return left;
  }

  std::optional<Id> sum() {
    auto left = product();
    while (left) {
      const bool add = accept("+");
      if (!add && !accept("-")) break;
      const auto right = product();
      left = right ? apply(add ? Code::add : Code::subtract, *left, *right) : right;
    }
    return left;
  }

  std::optional<Id> product() {
    auto left = factor();
    while (left) {
      const bool multiply = accept("*");
      if (!multiply && !accept("/")) break;
      const auto right = factor();
      left = right ? apply(multiply ? Code::multiply : Code::divide, *left, *right) : right;
    }
    return left;
  }

  std::optional<Id> factor() {
    const Nested nested(*this);
    if (depth_ > Expression::kDepthMax)
      return fail(at_, std::min(text_.size(), at_ + 1), fmt::format("is nested deeper than {}", Expression::kDepthMax),
                  "flatten it");
    if (accept("-")) {
      const auto value = factor();
      return value ? apply(Code::negate, *value) : value;
    }
    if (accept("(")) {
      const auto value = expression();
      if (value && !accept(")")) return unexpected("')'");
      return value;
    }
    if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) return literal();
    if (at_ < text_.size() && is_letter(text_[at_])) return named();
    return unexpected("a number, a column or a function");
  }

  std::optional<Id> literal() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    digits();
    if (at_ < text_.size() && text_[at_] == '.') ++at_, digits();
    if (at_ < text_.size() && base::ascii_lower(text_[at_]) == 'e') {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      digits();
    }
    const auto value = base::parse_double(text_.substr(begin, at_ - begin));
    if (!value || !std::isfinite(*value)) return fail(begin, at_, "this is no number", "write e.g. 0.5 or 2e6");
    skip_spaces();
    return number({.number = *value});
  }

  std::optional<Id> named() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::size_t end = at_;
    const std::string_view name = text_.substr(begin, end - begin);
    skip_spaces();
    if (accept("(")) return call(begin, end, name);
    for (const Function& function : kFunctions)
      if (name == function.name)
        return fail(begin, end, fmt::format("'{}' is a function", name), fmt::format("write {}", function.usage));
    return column(begin, end, name);
  }

  std::optional<Id> column(std::size_t begin, std::size_t end, std::string_view name) {
    for (const NamedColumn& c : kSingleColumns)
      if (name == c.name) {
        if (c.column >= kRunTimeColumn && !context_.run_times)
          return fail(begin, end, "run times are not predicted here", "use the formula in berth compare --strategies");
        return number({.code = Code::column, .column = c.column});
      }
    const std::size_t line = name.find('_');
    for (std::size_t d = 0; line != std::string_view::npos && d < kDimensions; ++d) {
      if (name.substr(line + 1) != kDimensionNames[d]) continue;
      const std::string_view of = name.substr(0, line);
      for (const NamedColumn& c : kAmountColumns)
        if (of == c.name) return number({.code = Code::column, .column = static_cast<std::uint8_t>(c.column + d)});
      if (of == "max") return number({.number = static_cast<double>(context_.capacity_max[d])});
      if (of == "mean") return number({.number = context_.demand_mean[d]});
    }
    std::vector<std::string> names;
    for (const ExpressionName& known : expression_columns()) names.push_back(known.name);
    return fail(
        begin, end, "there is no such column",
        base::did_you_mean(name, names) +
            "columns: free_, total_, used_, left_, ask_, max_ or mean_ with cpu, memory, disk or gpu; tasks, "
            "gpu_tasks, same_tasks, devices, unused_devices, device_free, ask_devices, ask_device, priority, run_time, "
            "node_exit, node_power, power_added");
  }

  std::optional<Id> call(std::size_t begin, std::size_t end, std::string_view name) {
    const auto* const function =
        std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) { return name == f.name; });
    if (function == std::end(kFunctions)) {
      std::vector<std::string> names;
      for (const Function& known : kFunctions) names.emplace_back(known.name);
      return fail(begin, end, "there is no such function", nearest_and_valid(name, names));
    }
    std::array<Id, 3> of{};
    std::size_t count = 0;
    do {
      const auto value = expression();
      if (!value) return value;
      if (count == function->arguments && !takes_more(*function)) {
        ++count;
        break;
      }
      if (count < function->arguments) {
        of[count] = *value;
      } else {
        const auto folded = apply(function->code, of[0], of[1]);
        if (!folded) return folded;
        of = {*folded, *value, 0};
      }
      ++count;
    } while (accept(","));
    if (count < function->arguments || (count > function->arguments && !takes_more(*function)))
      return fail(begin, end, "the number of arguments is wrong", fmt::format("write {}", function->usage));
    if (!accept(")")) return unexpected("',' or ')'");
    return apply(function->code, of[0], of[1], of[2]);
  }

  std::string_view text_;
  const Context& context_;
  std::size_t at_ = 0, depth_ = 0;
  std::vector<Value> values_;
  std::optional<InputError> error_;
};

/// Registers for the values that `root` needs, in order; empty: more than kRegistersMax are needed at once.
std::vector<Expression::Operation> with_registers(const std::vector<Value>& values, Id root) {
  constexpr std::size_t kUnused = 0;
  std::vector<std::size_t> last_use(values.size(), kUnused);  // 1 + the position of the last value that reads this one
  last_use[root] = values.size() + 1;
  for (std::size_t i = values.size(); i-- > 0;)
    if (last_use[i] != kUnused)
      for (std::size_t k = 0; k < operands_of(values[i].code); ++k)
        last_use[values[i].of[k]] = std::max(last_use[values[i].of[k]], i + 1);
  std::vector<Expression::Operation> out;
  std::vector<std::uint8_t> register_of(values.size()), available;
  for (std::size_t r = Expression::kRegistersMax; r-- > 0;) available.push_back(static_cast<std::uint8_t>(r));
  for (std::size_t i = 0; i <= root; ++i) {
    if (last_use[i] == kUnused) continue;
    const Value& value = values[i];
    const std::size_t operands = operands_of(value.code);
    Expression::Operation operation{.number = value.number, .code = value.code};
    std::array<std::uint8_t, 3> of{};
    for (std::size_t k = 0; k < operands; ++k) of[k] = register_of[value.of[k]];
    for (std::size_t k = 0; k < operands; ++k)
      if (last_use[value.of[k]] == i + 1 &&
          std::find(value.of.begin(), value.of.begin() + static_cast<std::ptrdiff_t>(k), value.of[k]) ==
              value.of.begin() + static_cast<std::ptrdiff_t>(k))
        available.push_back(of[k]);
    if (available.empty()) return {};
    register_of[i] = operation.result = available.back();
    available.pop_back();
    operation.a = value.code == Code::column ? value.column : of[0];
    operation.b = of[1], operation.c = of[2];
    out.push_back(operation);
  }
  return out;
}

}  // namespace

Expression::Expression(std::vector<Operation> operations, DeviceRule rule, double error,
                       std::shared_ptr<const RateTable> rates)
    : operations_(std::move(operations)), rule_(rule), rates_(std::move(rates)) {
  for (const Operation& op : operations_)
    if (op.code == Code::column && op.a >= kRunTimeColumn) error_ = error;
}

Result<Expression> Expression::compile(std::string_view text, const Context& context, DeviceRule rule, double error) {
  Compiler compiler(text, context);
  const auto root = compiler.whole();
  if (!root) return tl::unexpected(compiler.error());
  auto operations = with_registers(compiler.values(), *root);
  if (operations.empty()) {
    compiler.fail(0, text.size(), fmt::format("needs more than {} values at once", kRegistersMax),
                  "shorten it, or use the parts of a long sum where they are computed");
    return tl::unexpected(compiler.error());
  }
  return Expression(std::move(operations), rule, error, context.rates);
}

bool Expression::reads_power() const noexcept {
  return std::any_of(operations_.begin(), operations_.end(), [](const Operation& op) {
    return op.code == ExpressionCode::column && (op.a == kNodePowerColumn || op.a == kPowerAddedColumn);
  });
}

std::vector<ExpressionName> expression_columns() {
  static constexpr std::array<const char*, kDimensions> kUnits = {"MHz, or thousandths of a core", "MiB", "MiB",
                                                                  "thousandths of a GPU"};
  std::vector<ExpressionName> out;
  const auto by_dimension = [&](const char* name, const char* meaning) {
    for (std::size_t d = 0; d < kDimensions; ++d)
      out.push_back({fmt::format("{}_{}", name, kDimensionNames[d]), fmt::format("{}; {}", meaning, kUnits[d])});
  };
  for (const NamedColumn& c : kAmountColumns) by_dimension(c.name, c.meaning);
  for (const auto& [name, meaning] : kConstants) by_dimension(name, meaning);
  for (const NamedColumn& c : kSingleColumns) out.push_back({c.name, c.meaning});
  return out;
}

std::vector<ExpressionName> expression_functions() {
  std::vector<ExpressionName> out;
  for (const Function& f : kFunctions) out.push_back({f.usage, f.meaning});
  return out;
}

}  // namespace berth::strategy
