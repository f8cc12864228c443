// Score expressions: random formulas compared with a recursive interpreter, berth's own strategies written as formulas,
// berth's own functions compared with the C library, and the errors of invalid formulas.
#include "strategy/expression.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "builders.h"

namespace berth::strategy {
namespace {

using namespace testing;  // builders.h

/// A formula as a tree, printed for the compiler and evaluated by simple recursion.
struct Tree {
  std::string sign;  ///< an operator, a function, or "" for a leaf
  std::string leaf;
  std::vector<std::unique_ptr<Tree>> of;
};

std::unique_ptr<Tree> random_tree(std::mt19937_64& random, int depth) {
  static const std::vector<ExpressionName> kColumns = expression_columns();
  static const char* const kBinary[] = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "pow"};
  static const char* const kUnary[] = {"-", "abs", "floor", "trunc", "sqrt", "exp2", "log2"};
  auto out = std::make_unique<Tree>();
  const auto kind = depth == 0 ? 0 : random() % 6;
  const auto add = [&] { out->of.push_back(random_tree(random, depth - 1)); };
  if (kind == 0) {
    const bool number = random() % 3 == 0;
    out->leaf = number ? fmt::format("{}", static_cast<double>(random() % 2000) / 8)
                       : kColumns[random() % kColumns.size()].name;
  } else if (kind == 1) {
    out->sign = kUnary[random() % std::size(kUnary)], add();
  } else if (kind == 2) {
    out->sign = random() % 2 == 0 ? "min" : "max";
    for (auto n = 2 + random() % 3; n > 0; --n) add();
  } else if (kind == 3) {
    out->sign = "if", add(), add(), add();
  } else {
    out->sign = kBinary[random() % std::size(kBinary)], add(), add();
  }
  return out;
}

std::string text_of(const Tree& tree) {
  if (tree.of.empty()) return tree.leaf;
  const bool word = std::isalpha(static_cast<unsigned char>(tree.sign[0])) != 0;
  if (!word && tree.of.size() == 1) return "-(" + text_of(*tree.of[0]) + ")";
  std::string out = word ? tree.sign + "(" : "(";
  for (std::size_t i = 0; i < tree.of.size(); ++i)
    out += (i == 0 ? "" : word ? " , " : " " + tree.sign + " ") + text_of(*tree.of[i]);
  return out + ")";
}

/// Power from scratch: all packages, of which those that the used cpu reaches into are busy, and all devices.
double slow_watts(const NodeState& state, std::span<const std::int16_t> devices, const RateTable& rates) {
  const NodeRates& r = rates.kinds[state.kind];
  std::int64_t mw = 0;
  for (std::int64_t begin = 0; begin < state.capacity[kCpu]; begin += r.package_cpu) mw += r.package_idle_mw;
  for (std::int64_t begin = 0; begin < state.capacity[kCpu] - state.free[kCpu]; begin += r.package_cpu)
    mw += r.package_max_mw - r.package_idle_mw;  // also where the task does not fit
  for (const std::int16_t free : devices) mw += free < 1000 ? r.device_max_mw : r.device_idle_mw;
  return static_cast<double>(mw) / 1000;
}
/// The same with the task on the device that the default rule takes.
double watts_after(const Node& node, const TaskClass& task, const RateTable& rates) {
  NodeState state = node.state;
  std::vector<std::int16_t> devices(node.devices.begin(), node.devices.end());
  state.free[kCpu] -= task.ask[kCpu];
  for (DeviceMask rest = choose_devices(node, task, DeviceRule::best); rest != 0; rest &= rest - 1)
    devices[static_cast<std::size_t>(std::countr_zero(rest))] -= static_cast<std::int16_t>(task.gpu_milli);
  return slow_watts(state, devices, rates);
}

double column_value(const std::string& name, const Node& node, const TaskClass& task, const Context& context) {
  static const char* const kNames[] = {"cpu", "memory", "disk", "gpu"};
  for (std::size_t d = 0; d < kDimensions; ++d) {
    const double free = node.state.free[d], total = node.state.capacity[d], ask = task.ask[d];
    const std::pair<const char*, double> values[] = {{"free_", free},
                                                     {"total_", total},
                                                     {"used_", total - free},
                                                     {"left_", free - ask},
                                                     {"ask_", ask},
                                                     {"max_", context.capacity_max[d]},
                                                     {"mean_", context.demand_mean[d]}};
    for (const auto& [prefix, value] : values)
      if (name == std::string(prefix) + kNames[d]) return value;
  }
  if (name == "tasks") return node.state.tasks;
  if (name == "gpu_tasks") return node.state.gpu_tasks;
  if (name == "same_tasks")
    return task.tag() == 0 || task.tag() >= node.tag_tasks.size() ? 0 : node.tag_tasks[task.tag()];
  if (name == "devices") return static_cast<double>(node.devices.size());
  if (name == "unused_devices") {
    double count = 0;
    for (const std::int16_t free : node.devices) count += free == 1000;
    return count;
  }
  if (name == "device_free") {
    if (task.gpu_milli == 0 || task.gpu_milli == 1000) return task.gpu_milli;
    double best = 0;
    for (const std::int16_t free : node.devices)
      if (free >= task.gpu_milli && (best == 0 || free < best)) best = free;
    return best;
  }
  if (name == "ask_devices") return task.gpus;
  if (name == "ask_device") return task.gpu_milli;
  if (name == "priority") return task.priority;
  if (name == "run_time") return task.run_time_s;
  if (name == "node_exit") return node.exit_s;
  if (name == "node_power") return slow_watts(node.state, node.devices, *context.rates);
  if (name == "power_added")
    return watts_after(node, task, *context.rates) - column_value("node_power", node, task, context);
  return std::stod(name);
}

double interpret(const Tree& tree, const Node& node, const TaskClass& task, const Context& context) {
  if (tree.of.empty()) return column_value(tree.leaf, node, task, context);
  std::vector<double> v;
  for (const auto& part : tree.of) v.push_back(interpret(*part, node, task, context));
  const std::string& s = tree.sign;
  if (s == "-" && v.size() == 1) return -v[0];
  if (s == "+") return v[0] + v[1];
  if (s == "-") return v[0] - v[1];
  if (s == "*") return v[0] * v[1];
  if (s == "/") return v[0] / v[1];
  if (s == "<") return v[0] < v[1];
  if (s == "<=") return v[0] <= v[1];
  if (s == ">") return v[0] > v[1];
  if (s == ">=") return v[0] >= v[1];
  if (s == "==") return v[0] == v[1];
  if (s == "!=") return v[0] != v[1];
  if (s == "abs") return std::abs(v[0]);
  if (s == "floor") return std::floor(v[0]);
  if (s == "trunc") return std::trunc(v[0]);
  if (s == "sqrt") return std::sqrt(v[0]);
  if (s == "exp2") return expression_exp2(v[0]);
  if (s == "log2") return expression_log2(v[0]);
  if (s == "pow") return expression_pow(v[0], v[1]);
  if (s == "if") return v[0] != 0 ? v[1] : v[2];
  double out = v[0];
  for (std::size_t i = 1; i < v.size(); ++i) out = s == "min" ? (out < v[i] ? out : v[i]) : (out > v[i] ? out : v[i]);
  return out;
}

/// A fleet in use, with its nodes as a strategy sees them.
struct Used {
  explicit Used(std::uint64_t seed, std::size_t nodes)
      : fleet(random_fleet(seed, nodes, 12)), context(context_of(fleet)) {
    std::mt19937_64 random(seed);
    fleet.predict_run_times();
    for (std::size_t i = 0; i < 3 * nodes; ++i) {
      const auto row = static_cast<Row>(random() % nodes);
      const auto id = static_cast<ClassId>(random() % fleet.class_count());
      fleet.arrive(id, static_cast<std::int64_t>(i) * 1'000'000'000,
                   1 + static_cast<std::int64_t>(random() % 1'000'000'000'000));
      if (!fleet.feasible(row, fleet.task_class(id))) continue;
      fleet.lifetimes()->place(row);
      fleet.place(row, id, choose_devices(fleet.node(row), fleet.task_class(id), DeviceRule::best));
    }
    for (Row row = 0; row < fleet.size(); ++row) all.push_back(fleet.node(row));
  }
  Fleet fleet;
  Context context;
  std::vector<Node> all;
};

std::vector<double> scores_of(const Expression& expression, const Used& used, ClassId id) {
  std::vector<double> out(used.all.size(), -12345);
  expression.scores(used.all, used.fleet.task_class(id), out);
  return out;
}

TEST(Expression, RandomFormulasAgreeWithTheInterpreter) {
  std::mt19937_64 random(7);
  std::size_t compiled = 0, numbers = 0;
  for (const std::size_t nodes : {1U, 7U, 8U, 9U, 63U, 64U, 65U, 200U}) {
    const Used used(nodes, nodes);
    for (int i = 0; i < 150; ++i) {
      const auto tree = random_tree(random, 1 + static_cast<int>(random() % 6));
      const std::string text = text_of(*tree);
      const auto expression = Expression::compile(text, used.context);
      if (!expression) {  // too large
        ASSERT_NE(expression.error().problem.find("more than"), std::string::npos) << expression.error().line();
        continue;
      }
      ++compiled;
      const auto id = static_cast<ClassId>(random() % used.fleet.class_count());
      const std::vector<double> scores = scores_of(*expression, used, id);
      for (std::size_t row = 0; row < nodes; ++row) {
        const double expected = interpret(*tree, used.all[row], used.fleet.task_class(id), used.context);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(scores[row])) << text << " row " << row << ": " << scores[row];
        } else {
          ASSERT_EQ(scores[row], expected) << text << " row " << row;
          ++numbers;
        }
      }
    }
  }
  EXPECT_GT(compiled, 1000U);
  EXPECT_GT(numbers, 20'000U);
}

TEST(Expression, OperatorsBindAsInArithmetic) {
  const Used used(1, 1);
  const std::pair<const char*, double> cases[] = {
      {"2+3*4", 14},       {"(2+3)*4", 20},     {"2-3-4", -5},      {"16/4/2", 2},       {"-2*-3", 6},
      {"--2", 2},          {"2*3<7", 1},        {"1+1==2", 1},      {"3>=4", 0},         {"1!=1", 0},
      {"min(3,1,2)", 1},   {"max(3,1,5,2)", 5}, {"if(0,1,2)", 2},   {"if(2<3,1,2)", 1},  {"pow(2,-3)", .125},
      {"pow(-2,3)", -8},   {"sqrt(9)", 3},      {"exp2(10)", 1024}, {"log2(0.125)", -3}, {"floor(-1.5)", -2},
      {"trunc(-1.5)", -1}, {"abs(-4)", 4},      {"1e3+.5", 1000.5}, {" 1 +\t2 ", 3},     {"1/0", HUGE_VAL}};
  for (const auto& [text, expected] : cases) {
    const auto expression = Expression::compile(text, used.context);
    ASSERT_TRUE(expression) << text << ": " << expression.error().line();
    EXPECT_EQ(expression->operations(), 1U) << text << ": constants are folded";
    EXPECT_EQ(scores_of(*expression, used, 0)[0], expected) << text;
  }
}

TEST(Expression, EqualPartsAreComputedOnce) {
  const auto twice = Expression::compile("(free_cpu+1)*(free_cpu+1)", {});
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->operations(), 4U);  // column, 1, +, *
}

TEST(Expression, FunctionsHaveTheStatedAccuracy) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-1000, 1000), base(-30, 30);
  for (int i = 0; i < 100'000; ++i) {
    const double x = exponent(random), y = std::exp2(base(random)), power = exponent(random) / 40 + 0.3;
    ASSERT_NEAR(expression_exp2(x) / std::exp2(x), 1, 4e-16) << x;
    ASSERT_NEAR(expression_log2(y), std::log2(y), 1e-15 * std::abs(std::log2(y))) << y;
    ASSERT_NEAR(expression_pow(y, power) / std::pow(y, power), 1, 1e-12) << y << "^" << power;
  }
  for (int n = -1074; n <= 1023; ++n) {
    EXPECT_EQ(expression_exp2(n), std::ldexp(1.0, n));
    EXPECT_EQ(expression_log2(std::ldexp(1.0, n)), n);
  }
  EXPECT_EQ(expression_exp2(1024), HUGE_VAL);
  EXPECT_EQ(expression_exp2(-1e300), 0);
  EXPECT_EQ(expression_log2(0), -HUGE_VAL);
  EXPECT_EQ(expression_log2(HUGE_VAL), HUGE_VAL);
  EXPECT_TRUE(std::isnan(expression_log2(-1)) && std::isnan(expression_exp2(NAN)) && std::isnan(expression_log2(NAN)));
  EXPECT_TRUE(std::isnan(expression_pow(-2, 0.5)));
}

struct Equivalent {
  const char* name;
  const char* formula;
};
/// Berth's own strategies written as a user would, operation by operation as in classic.h and gpu_policies.h.
constexpr Equivalent kEquivalents[] = {
    {"first-fit", "0"},
    {"best-fit",
     "-(0.25*((free_cpu-ask_cpu)/total_cpu)+0.25*((free_memory-ask_memory)/total_memory)+0.25*((free_disk-ask_disk)"
     "/total_disk)+if(total_gpu>0,0.25*((free_gpu-ask_gpu)/total_gpu),0))"},
    {"worst-fit:norm=max:device=worst",
     "0.25*(left_cpu/max_cpu)+0.25*(left_memory/max_memory)+0.25*(left_disk/max_disk)"
     "+0.25*(left_gpu/max_gpu):device=worst"},
    {"least-max",
     "-max((used_cpu+ask_cpu)/total_cpu,(used_memory+ask_memory)/total_memory,(used_disk+ask_disk)/"
     "total_disk,if(total_gpu>0,(used_gpu+ask_gpu)/total_gpu,0))"},
    {"tetris",
     "0.25*(ask_cpu/total_cpu)*(free_cpu/total_cpu)+0.25*(ask_memory/total_memory)*(free_memory/total_memory)+"
     "0.25*(ask_disk/total_disk)*(free_disk/total_disk)+if(total_gpu>0,0.25*(ask_gpu/total_gpu)*(free_gpu/"
     "total_gpu),0)"},
    {"dot-product", "trunc(100*(1-(free_cpu/128000*(ask_cpu/128000)+free_gpu/8000*(ask_gpu/8000))/2))"},
    {"gpu-best-fit", "trunc(100*(1-(left_cpu/128000*0.5+left_gpu/8000*0.5)))"},
    {"gpu-clustering",
     "if(ask_device==0,0,trunc(25*(8000-free_gpu)/8000)+if(gpu_tasks==0,25,if(same_tasks==0,0,"
     "if(same_tasks==gpu_tasks,75,50))))"},
};

TEST(Expression, RepeatsTheStrategiesOfTheRegistry) {
  for (const Equivalent& e : kEquivalents) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      Fleet fleet = random_fleet(seed, 130, 12);
      const Context context = context_of(fleet);
      const auto own_spec = registry().parse(e.name), spec = registry().parse(std::string("expr:") + e.formula);
      ASSERT_TRUE(own_spec && spec) << e.name << ": " << (spec ? "" : spec.error().line());
      auto own = registry().make(*own_spec, context), formula = registry().make(*spec, context);
      ASSERT_TRUE(own && formula);
      std::mt19937_64 random(seed);
      for (int step = 0; step < 600; ++step) {
        const auto id = static_cast<ClassId>(random() % fleet.class_count());
        const auto expected = (*own)->choose(fleet, id), choice = (*formula)->choose(fleet, id);
        ASSERT_EQ(choice.has_value(), expected.has_value()) << e.name << " step " << step;
        if (!choice) continue;
        ASSERT_EQ(choice->row, expected->row) << e.name << " step " << step;
        ASSERT_EQ(choice->devices, expected->devices) << e.name << " step " << step;
        ASSERT_EQ(choice->score, expected->score) << e.name << " step " << step;
        fleet.place(choice->row, id, choice->devices);
      }
    }
  }
}

TEST(Expression, AsTheFitComponentScoresAreClampedToOne) {  // R-STRAT-007
  const Used used(5, 70);
  const auto spec = registry().parse("expr:log2(left_cpu/8000)/3");
  ASSERT_TRUE(spec);
  const auto ranker = registry().make_fit(*spec, used.context);
  ASSERT_TRUE(ranker);
  std::vector<double> fits(used.all.size());
  (*ranker)->fit()(used.all, used.fleet.task_class(0), fits);
  std::size_t inside = 0, outside = 0;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const double score = expression_log2((used.all[i].free(kCpu) - used.fleet.task_class(0).ask[kCpu]) / 8000.0) / 3;
    EXPECT_EQ(fits[i], score > 0 ? std::min(score, 1.0) : 0.0);
    (score > 0 && score < 1 ? inside : outside) += 1;
  }
  EXPECT_TRUE(inside > 0 && outside > 0);
}

TEST(Expression, ErrorsOfBadFormulasNamePlaceAndRemedy) {
  const std::pair<std::string, const char*> cases[] = {
      {"",
       "strategy 'expr':character 1: has no formula; write e.g. expr:-(left_cpu/total_cpu+left_memory/total_memory)"},
      {"2*fre_cpu+1", "strategy 'expr':character 3: there is no such column: 2*{fre_cpu}+1; did you mean 'free_cpu'? "},
      {"1+",
       "strategy 'expr':character 3: a number, a column or a function is wanted here: 1+{}; complete the formula"},
      {"free_cpu free_gpu", "character 10: an operator is wanted here: free_cpu {f}ree_gpu; change it"},
      {"min(tasks)", "character 1: the number of arguments is wrong: {min}(tasks); write min(a, b, ...)"},
      {"abs(1,2)", "character 1: the number of arguments is wrong: {abs}(1,2); write abs(a)"},
      {"if(1,2)", "the number of arguments is wrong: {if}(1,2); write if(c, a, b)"},
      {"sqr(2)", "there is no such function: {sqr}(2); did you mean 'sqrt'? valid: min, max, if"},
      {"sqrt+1", "'sqrt' is a function: {sqrt}+1; write sqrt(a)"},
      {"tasks(1)", "there is no such function: {tasks}(1)"},
      {"2^3", "an operator is wanted here: 2{^}3; write pow(a, b)"},
      {"2**3", "wanted here: 2*{*}3; write pow(a, b)"},
      {"1<tasks<3", "an operator is wanted here: 1<tasks{<}3; write (a < b) * (b < c)"},
      {"tasks=3", "an operator is wanted here: tasks{=}3; write == to compare"},
      {"(1+2", "')' is wanted here: (1+2{}; complete the formula"},
      {"1)", "an operator is wanted here: 1{)}"},
      {"1e999", "this is no number: {1e999}"},
      {"1.2.3", "an operator is wanted here: 1.2{.}3"},
      {"1\xff", "an operator is wanted here: 1{?}"},
      {std::string(5000, '1'), "is longer than 4096 characters"},
      {std::string(100, '(') + "1", "is nested deeper than 64: ..."},
      {std::string(100, '-') + "1", "is nested deeper than 64: ..."},
  };
  for (const auto& [text, expected] : cases) {
    const auto expression = Expression::compile(text, {});
    ASSERT_FALSE(expression) << text;
    EXPECT_NE(expression.error().line().find(expected), std::string::npos) << expression.error().line();
    EXPECT_EQ(expression.error().line().find('\n'), std::string::npos);
    EXPECT_LT(expression.error().line().size(), 500U);
  }
  EXPECT_FALSE(registry().parse("expr"));
  EXPECT_FALSE(registry().parse("expr:device=best:tasks"));
  EXPECT_TRUE(registry().parse("expr:tasks==3:device=worst"));
  EXPECT_EQ(registry().parse(registry().parse("expr: tasks == 3 ")->text())->text(), "expr:tasks == 3");
}

TEST(Expression, SizeIsBounded) {
  std::string sum = "tasks", distinct = "1.5*tasks";
  for (int i = 0; i < 400; ++i) sum += "+tasks";
  for (int i = 1; i < 100; ++i) distinct += fmt::format("+{}*tasks", i);
  EXPECT_FALSE(Expression::compile(sum, {}));  // tasks + tasks + ...: each sum is a different value
  const auto many = Expression::compile(distinct, {});
  EXPECT_FALSE(many);
  // All values are needed at the end: a right-leaning sum holds its left parts.
  std::string deep = "tasks";
  for (int i = 0; i < 60; ++i) deep += fmt::format("+{}*(tasks", i);
  deep += std::string(60, ')');
  EXPECT_TRUE(Expression::compile(deep, {}));
  std::string wide = "tasks";
  for (int i = 0; i < 40; ++i) wide = fmt::format("if(tasks+{},priority+{},{})", i, i, wide);
  const auto kept = Expression::compile(wide, {});
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().problem.find("needs more than 64 values at once"), std::string::npos) << kept.error().line();
}

}  // namespace
}  // namespace berth::strategy
