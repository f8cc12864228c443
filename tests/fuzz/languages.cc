// Filters of lists, operands of constraints, cron specifications, score formulas.
#include <bit>
#include <cmath>

#include "fuzz/harness.h"
#include "http/filter/filter.h"
#include "match/operand.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/periodic/cron.h"
#include "strategy/expression.h"

namespace berth::fuzz {
namespace {

model::Node sample_node() {
  model::Node out;
  out.id = "5b0f1d2a-0000-4000-8000-000000000001", out.name = "client-1", out.datacenter = "dc1";
  out.status = "ready", out.node_pool = "default", out.node_class = "compute", out.create_index = 7;
  out.meta = {{"rack", "r1"}, {"a-b", "dashed"}, {"empty", ""}};
  out.attributes = {{"kernel.name", "linux"}};
  return out;
}

model::Job sample_job() {
  model::Job out;
  out.id = "web", out.name = "web", out.type = "service", out.priority = 50;
  out.datacenters = {"dc1", "dc2"}, out.meta = {{"team", "a"}};
  model::TaskGroup& group = out.task_groups.emplace_back();
  group.name = "front", group.count = 3;
  group.tasks.emplace_back().name = "nginx";
  return out;
}

template <class Object>
void apply(const http::Filter& filter, const Object& object) {
  const auto first = filter.matches(object), second = filter.matches(object);
  require(first == second, "a filter gives two answers for one object");
  if (!first) require(!first.error().empty(), "a filter fails without a reason");
}

void fuzz_filter(std::string_view input) {
  static const model::Node node = sample_node();
  static const model::Job job = sample_job();
  const auto parsed = http::Filter::parse(input);
  if (!parsed) return require(!parsed.error().empty(), "a filter is refused without a reason");
  apply(*parsed, node);
  apply(*parsed, job);
}

void fuzz_operands(std::string_view input) {
  const std::vector<std::string> lines = lines_of(input);
  const std::string left = lines.empty() ? "" : lines[0], right = lines.size() < 2 ? "" : lines[1];
  static const model::Node node = sample_node();
  (void)match::resolve(match::parse_target(left), node);
  match::Patterns patterns;
  const auto holds = [&](match::Operand operand, match::Side a) {
    const match::Side b{right, true};
    match::Patterns fresh;
    const bool out = match::evaluate(operand, a, b, fresh);
    for (int i = 0; i < 2; ++i)
      require(match::evaluate(operand, a, b, patterns) == out, "operand ", std::to_string(static_cast<int>(operand)),
              " differs with a pattern that was compiled before");
    return out;
  };
  using match::Operand;
  for (const match::Side a : {match::Side{left, true}, match::Side{}}) {
    for (int i = 0; i <= static_cast<int>(Operand::unknown); ++i) (void)holds(static_cast<Operand>(i), a);
    require(holds(Operand::is_set, a) != holds(Operand::is_not_set, a), "a value is set and is not set");
    require(!a.found || holds(Operand::equal, a) != holds(Operand::not_equal, a), "two texts are equal and not equal");
    require(!holds(Operand::less, a) || (holds(Operand::less_equal, a) && !holds(Operand::greater_equal, a)),
            "a value is less and not less");
    require(!holds(Operand::greater, a) || (holds(Operand::greater_equal, a) && !holds(Operand::less_equal, a)),
            "a value is greater and not greater");
    require(!holds(Operand::set_contains_all, a) || holds(Operand::set_contains_any, a),
            "a set contains all elements and not any");
  }
  if (const auto version = match::parse_version(left))
    require(match::compare(*version, *version) == 0, "a version is not equal to itself");
}

void fuzz_periodic(std::string_view input) {
  const std::vector<std::string> lines = lines_of(input);
  model::PeriodicConfig config;
  config.enabled = true, config.spec_type = "cron";
  config.spec = lines.empty() ? "" : lines[0];
  config.time_zone = lines.size() < 2 ? "" : lines[1];
  const auto cron = model::parse_cron(config.spec);
  if (!cron) return require(!cron.error().empty(), "a specification is refused without a reason");
  (void)model::launch_problem(config);
  const auto zone = model::TimeZone::load(config.time_zone);
  if (!zone) return;
  base::Time at{.ns = 1'700'000'000'000'000'000};
  for (int i = 0; i < 3; ++i) {
    const base::Time next = model::next_match(*cron, at, *zone);
    if (next.is_zero()) return;
    require(next.ns > at.ns, "the next launch is not after the previous one");
    at = next;
  }
}

/// Two nodes, one with GPUs in use, and a task for a part of a GPU.
strategy::Fleet sample_fleet() {
  const strategy::Fleet::NodeSpec specs[] = {{{8000, 16384, 50'000, 0}, 0, 0}, {{16'000, 32'768, 100'000, 0}, 1, 2}};
  strategy::Fleet out(specs);
  strategy::TaskClass task;
  task.ask = {500, 256, 100, 0}, task.gpus = 1, task.gpu_milli = 300;
  const strategy::ClassId id = out.add_class(task);
  out.place(1, id, 1);
  return out;
}

/// A formula has scores on every node, the same for one node as for a block that ends within a vector.
void fuzz_formula(std::string_view input) {
  static const strategy::Fleet fleet = sample_fleet();
  strategy::Context context;
  context.capacity_max = {16'000, 32'768, 100'000, 2000}, context.demand_mean = {400, 512.5, 0, 100};
  const auto formula = strategy::Expression::compile(input, context);
  if (!formula) return require_line(formula.error().line());
  const strategy::TaskClass& task = fleet.task_class(0);
  std::vector<strategy::Node> nodes;
  for (std::size_t i = 0; i <= strategy::kExpressionBlock; ++i) nodes.push_back(fleet.node(i % 2));
  std::vector<double> all(nodes.size());
  formula->scores(nodes, task, all);
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    double one = 0;
    formula->scores(std::span(nodes).subspan(row, 1), task, std::span(&one, 1));
    require(std::isnan(one) ? std::isnan(all[row])
                            : std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(all[row]),
            "a node has another score alone than among others");
  }
}

const FuzzTarget kFormula("formula", fuzz_formula);
const FuzzTarget kFilter("filter", fuzz_filter);
const FuzzTarget kOperands("operands", fuzz_operands);
const FuzzTarget kPeriodic("periodic", fuzz_periodic);

}  // namespace
}  // namespace berth::fuzz
