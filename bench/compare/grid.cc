#include "compare/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>

#include "base/sha256.h"
#include "compare/kept_runs.h"
#include "compare/parallel.h"
#include "compare/tables.h"
#include "run/interrupt.h"
#include "run/measured_run.h"
#include "run/runner.h"

namespace berth::compare {
namespace {

/// Numbers of a list; nullopt if it is not a list.
std::optional<std::vector<double>> numbers_of(const json::Value& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<double> out;
  for (const json::Value& one : list.items()) {
    if (!one.is_number()) return std::nullopt;
    out.push_back(one.as_double());
  }
  return out;
}
json::Value list_of(const std::vector<double>& numbers) { return json::Array(numbers.begin(), numbers.end()); }
constexpr const char* kArrived = "arrived_percent";

json::Value run_json(const GridRun& run, const MetricSet& set) {
  json::Value out = json::Value::object();
  out.set("digest", run.measured.digest);
  json::Value values = json::Value::object();
  for (std::size_t m = 0; m < set.all.size(); ++m) values.set(set.all[m].name, run.measured.values[m]);
  out.set("metrics", std::move(values));
  if (set.curves.empty()) return out;
  json::Value curves = json::Value::object();
  curves.set(kArrived, list_of(run.measured.arrived_percent));
  for (std::size_t c = 0; c < set.curves.size(); ++c) curves.set(set.curves[c].name, list_of(run.measured.curves[c]));
  out.set("curves", std::move(curves));
  return out;
}

/// A stored run of an earlier command, if it has all present metrics.
std::optional<GridRun> kept_run(const json::Value& value, const MetricSet& set) {
  GridRun out{.done = true, .resumed = true, .measured = {}};
  out.measured.digest = value["digest"].as_string();
  for (const Metric& metric : set.all) {
    const json::Value* one = value["metrics"].find(metric.name);
    if (!one || !(one->is_number() || one->is_null())) return std::nullopt;
    out.measured.values.push_back(one->is_null() ? std::nan("") : one->as_double());
  }
  if (set.curves.empty()) return out;
  const json::Value& curves = value["curves"];
  auto arrived = numbers_of(curves[kArrived]);
  if (!arrived) return std::nullopt;
  out.measured.arrived_percent = std::move(*arrived);
  for (const Curve& curve : set.curves) {
    auto numbers = numbers_of(curves[curve.name]);
    if (!numbers || numbers->size() != out.measured.arrived_percent.size()) return std::nullopt;
    out.measured.curves.push_back(std::move(*numbers));
  }
  return out;
}

bool anything(const GridResult& result, std::size_t metric) {
  for (std::size_t s = 0; s < result.strategies.size(); ++s)
    for (const double v : result.values(s, metric))
      if (v != 0 && !std::isnan(v)) return true;
  return false;
}

/// Over the runs to which the metric applies.
Summary summary_of(const GridResult& result, std::size_t strategy, std::size_t metric) {
  return summarise(without_nan(result.values(strategy, metric)));
}

/// Per strategy: true if no other is at least as good in all metrics of the front and better in one.
std::vector<bool> front_of(const GridResult& result) {
  std::vector<std::vector<double>> points;
  for (std::size_t s = 0; s < result.strategies.size(); ++s) {
    auto& point = points.emplace_back();
    for (const std::size_t m : result.set->front)
      point.push_back(result.set->all[m].direction * summary_of(result, s, m).mean);
  }
  return pareto_front(points);
}

std::vector<std::vector<std::string>> summary_rows(const GridResult& result, bool interval) {
  std::vector<std::size_t> shown;
  for (const std::size_t metric : result.set->shown)
    if (anything(result, metric) || metric == result.set->shown.front()) shown.push_back(metric);
  std::vector<std::vector<std::string>> rows(1, {"strategy"});
  for (const std::size_t metric : shown) rows[0].push_back(result.set->all[metric].title);
  rows[0].push_back("front");
  const auto front = front_of(result);
  for (std::size_t s = 0; s < result.strategies.size(); ++s) {
    auto& row = rows.emplace_back(1, result.strategies[s]);
    for (const std::size_t metric : shown)
      row.push_back(plus_minus(summary_of(result, s, metric), result.set->all[metric].digits, interval));
    row.push_back(front[s] ? "*" : "");
  }
  return rows;
}

struct Difference {
  std::size_t strategy, metric;
  PairedTest test;
};
/// Every strategy against the first, with all p adjusted together.
std::vector<Difference> differences_of(const GridResult& result) {
  std::vector<PairedTest> tests;
  std::vector<Difference> out;
  if (result.seeds.size() < 2) return out;
  for (std::size_t s = 1; s < result.strategies.size(); ++s)
    for (const std::size_t metric : result.set->tested)
      if (anything(result, metric)) {
        out.push_back({s, metric, {}});
        tests.push_back(paired_test(result.values(s, metric), result.values(0, metric)));
      }
  adjust_for_many(tests);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].test = tests[i];
  return out;
}

std::vector<std::vector<std::string>> difference_rows(const GridResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const Difference& d : differences_of(result)) {
    if (rows.empty())
      rows.push_back({fmt::format("against {}", result.strategies[0]), "metric", "difference", "95 % interval", "p",
                      "ranks p", "effect", "verdict"});
    const PairedTest& t = d.test;
    const Metric& m = result.set->all[d.metric];
    const int digits = m.digits + 1;
    rows.push_back({result.strategies[d.strategy], m.title, fmt::format("{:+.{}f}", t.difference, digits),
                    fmt::format("{:+.{}f} to {:+.{}f}", t.low, digits, t.high, digits), p_words(t.p_adjusted),
                    p_words(t.p_ranks), t.shown ? effect_words(t.effect) : "-", verdict_of(t, m.direction)});
  }
  return rows;
}

}  // namespace

std::vector<double> GridResult::values(std::size_t strategy, std::size_t metric) const {
  std::vector<double> out;
  for (std::size_t seed = 0; seed < seeds.size(); ++seed) {
    bool all = true;
    for (std::size_t s = 0; s < strategies.size(); ++s) all &= run(s, seed).done;
    if (all) out.push_back(run(strategy, seed).measured.values[metric]);
  }
  return out;
}

std::string GridResult::digest() const {
  base::Sha256 all;
  for (std::size_t s = 0; s < strategies.size(); ++s)
    for (std::size_t seed = 0; seed < seeds.size(); ++seed)
      all.add(fmt::format("{} {} {}\n", strategies[s], seeds[seed], run(s, seed).measured.digest));
  return all.hex().substr(0, 16);
}

Result<void> refuse_grid(const sim::Workload& workload) {
  if (workload.cluster.source != sim::Source::nomad_grid) return {};
  return tl::unexpected(InputError{workload.path, "", "nomad-grid's cells are evaluations of their own",
                                   "compare strategies on another workload"});
}

namespace {

/// One seed's inputs.
struct SeedInputs {
  const sim::PackingProblem& problem;
  const strategy::Context& context;
  const std::vector<std::uint32_t>& order;
  std::int64_t seed;
};
/// Kind of comparison: ranking strategies, preemption rules, rebalancing rules, or simulations.
struct Kind {
  const MetricSet* set;
  std::string how;
  std::function<std::string(const NamedStrategy&)> what;  ///< distinguishes this run from others of the same seed
  std::function<Result<Measured>(const SeedInputs&, const NamedStrategy&)> run;
};

template <class Run>
Result<Measured> measured_or_error(const Result<Run>& run) {
  if (!run) return tl::unexpected(run.error());
  return measured(*run);
}

Kind preemption_kind(const sim::Workload& workload, const GridOptions& options) {
  std::string how =
      fmt::format("preemption: placed by {}; victims are {}", options.strategies.front().spec.text(),
                  options.eligible == packing::Eligibility::nomad ? "at least 10 lower in priority and of other jobs"
                                                                  : "lower in priority");
  if (options.budgets.of_each) how += fmt::format("; at most {} of a group away at a time", *options.budgets.of_each);
  if (options.budgets.by_migrate) how += "; as many of a group away at a time as its migrate block says";
  return {&preemption_metrics(), how,
          [how](const NamedStrategy& one) { return fmt::format("{} {}", one.rule->text(), how); },
          [&workload, &options](const SeedInputs& in, const NamedStrategy& one) {
            return measured_or_error(packing::replay_preemption(in.problem, in.context, in.order,
                                                                {.seed = in.seed,
                                                                 .departures = workload.departures,
                                                                 .eligible = options.eligible,
                                                                 .budgets = options.budgets},
                                                                strategy::registry(), one.spec,
                                                                strategy::preemption_registry(), *one.rule));
          }};
}
Kind rebalance_kind(const GridOptions& options) {
  const std::string how = fmt::format("rebalancing: placed by {}; at most {} of the placed tasks are moved, once",
                                      options.strategies.front().spec.text(), options.ratio);
  return {&rebalance_metrics(), how,
          [how](const NamedStrategy& one) { return fmt::format("{} {}", one.rebalance->name, how); },
          [&options](const SeedInputs& in, const NamedStrategy& one) {
            return measured_or_error(packing::replay_rebalance(in.problem, in.context, in.order,
                                                               {.seed = in.seed, .ratio = options.ratio},
                                                               strategy::registry(), one.spec, one.rebalance->rule));
          }};
}
Kind packing_kind(const sim::Workload& workload) {
  const unsigned given = given_by(workload);
  return {&packing_metrics(given), "", [](const NamedStrategy& one) { return one.spec.text(); },
          [&workload, given](const SeedInputs& in, const NamedStrategy& one) -> Result<Measured> {
            const auto run = packing::replay_packing(
                in.problem, in.context, in.order,
                {.seed = in.seed, .departures = workload.departures, .moments = true, .run_times = true},
                strategy::registry(), one.spec);
            if (!run) return tl::unexpected(run.error());
            return measured(*run, given);
          }};
}
/// Complete replays: how long jobs wait under each queue policy.
Kind queue_kind(const sim::Workload& workload) {
  return {&queue_metrics(),
          fmt::format("queue policies: wait, completion and slowdown per job on the workload's clock; ranked by {}",
                      workload.strategy),
          [&workload](const NamedStrategy& one) {
            return fmt::format("queue {} {}", one.queue->text(), workload.strategy);
          },
          [&workload](const SeedInputs& in, const NamedStrategy& one) -> Result<Measured> {
            sim::Workload queued = workload;
            queued.seed = static_cast<std::uint64_t>(in.seed);
            queued.queue = one.queue->text();
            queued.limits = {};
            const auto run = run::run_workload(queued, {.quiet = true});
            if (!run) return tl::unexpected(run.error());
            return measured_queue(*run);
          }};
}
/// Complete simulations: how strategies recover from faults.
Kind life_kind(const sim::Workload& workload) {
  return {&life_metrics(), "lives: what is missing, and how long it takes to recover from each fault",
          [](const NamedStrategy& one) { return "life " + one.spec.text(); },
          [&workload](const SeedInputs& in, const NamedStrategy& one) -> Result<Measured> {
            sim::Workload lived = workload;
            lived.seed = static_cast<std::uint64_t>(in.seed);
            lived.strategy = one.spec.text();
            lived.limits = {};
            return measured_or_error(run::run_workload(lived, {.quiet = true}));
          }};
}
Kind kind_of(const sim::Workload& workload, const GridOptions& options) {
  if (workload.life) return life_kind(workload);
  if (!options.strategies.empty() && options.strategies.front().queue) return queue_kind(workload);
  if (options.strategies.empty() || (!options.strategies.front().rule && !options.strategies.front().rebalance))
    return packing_kind(workload);
  return options.strategies.front().rule ? preemption_kind(workload, options) : rebalance_kind(options);
}

}  // namespace

namespace {
/// Queue policies need a replay in which jobs wait and end.
std::optional<InputError> refused_queues(const sim::Workload& workload) {
  if (workload.life)
    return InputError{workload.path, "life", "how long jobs wait is measured in replays",
                      "compare queue policies on a workload without [life], e.g. waiting"};
  if (!workload.departures)
    return InputError{workload.path, "departures", "no allocation ends, so no job that waits is ever served",
                      "write departures = true and run_time_s, or name e.g. the workload waiting"};
  sim::Workload checked = workload;
  checked.queue = "fifo";
  return run::refused(checked);
}
}  // namespace

Result<GridResult> run_grid(const sim::Workload& workload, const std::string& text, const GridOptions& options) {
  if (auto fine = refuse_grid(workload); !fine) return tl::unexpected(fine.error());
  if (workload.life && !options.strategies.empty() &&
      (options.strategies.front().rule || options.strategies.front().rebalance))
    return tl::unexpected(InputError{workload.path, "life", "a life evicts and moves as its servers do",
                                     "leave out --preemption and --rebalance"});
  const bool queues = !options.strategies.empty() && options.strategies.front().queue.has_value();
  if (queues)
    if (auto problem = refused_queues(workload)) return tl::unexpected(std::move(*problem));
  GridResult out;
  out.workload = workload.name, out.label = workload.label, out.seeds = options.seeds;
  out.approximate = workload.approximate;
  for (const NamedStrategy& s : options.strategies) out.strategies.push_back(s.name);
  const Kind kind = kind_of(workload, options);
  out.set = kind.set, out.how = kind.how;
  const std::size_t strategies = out.strategies.size(), total = strategies * out.seeds.size();
  out.runs.resize(total);
  const auto kept = KeptRuns::open(workload, text, options.resume);
  if (!kept) return tl::unexpected(kept.error());

  struct Seed {
    std::once_flag once;
    std::optional<sim::PackingProblem> problem;
    std::optional<InputError> error;
    strategy::Context context;
    std::vector<std::uint32_t> order;
    std::atomic<std::size_t> left{0};
  };
  std::vector<Seed> seeds(out.seeds.size());
  for (Seed& seed : seeds) seed.left = strategies;
  std::mutex mutex;  // guards left_out, nodes, asked
  const auto begin = std::chrono::steady_clock::now();
  const auto one = [&](std::size_t i) -> Result<void> {
    const std::size_t at = i / strategies, s = i % strategies;
    Seed& seed = seeds[at];
    GridRun& run = out.runs[s * out.seeds.size() + at];
    const NamedStrategy& strategy = options.strategies[s];
    const std::string what = kind.what(strategy);
    if (const auto before = kept->find(what, out.seeds[at]))
      if (auto same = kept_run(*before, *out.set)) run = std::move(*same);
    if (!run.done || at == 0)
      std::call_once(seed.once, [&] {
        auto problem = sim::packing_problem(workload, out.seeds[at]);
        if (!problem) {
          seed.error = problem.error();
          return;
        }
        seed.problem = std::move(*problem);
        seed.context = seed.problem->context();
        seed.order = sim::visiting_order(seed.problem->nodes.size(), out.seeds[at]);
        if (at != 0) return;
        const std::lock_guard lock(mutex);
        out.nodes = seed.problem->nodes.size(), out.asked = seed.problem->asked();
        if (!workload.life && !queues)
          out.left_out.assign(seed.problem->left_out.begin(), seed.problem->left_out.end());
      });
    if (!run.done) {
      if (seed.error) return tl::unexpected(*seed.error);
      auto ran = kind.run({*seed.problem, seed.context, seed.order, out.seeds[at]}, strategy);
      if (!ran) return tl::unexpected(ran.error());
      if ((workload.life || queues) && run::interrupted()) return {};  // the run was cut short
      run = {.done = true, .resumed = false, .measured = std::move(*ran)};
      json::Value value = run_json(run, *out.set);
      value.set("strategy", out.strategies[s]);
      if (auto done = kept->keep(what, out.seeds[at], std::move(value)); !done) return done;
    }
    if (--seed.left == 0) seed.problem.reset();
    return {};
  };
  const auto done = run_all(total, options.threads, "runs", options.quiet, one);
  if (!done) return tl::unexpected(done.error());
  out.partial = *done != total || std::any_of(out.runs.begin(), out.runs.end(), [](const auto& r) { return !r.done; });
  out.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

namespace {
std::string headline(const GridResult& result) {
  std::size_t resumed = 0;
  for (const GridRun& run : result.runs) resumed += run.resumed;
  std::string out = fmt::format("{} ({}): {} nodes, {} tasks (first seed), {} strategies x {} seeds{}\n",
                                result.workload, result.label, result.nodes, result.asked, result.strategies.size(),
                                result.seeds.size(), result.partial ? "; PARTIAL: interrupted" : "");
  if (!result.how.empty()) out += result.how + "\n";
  out += resumed_words(resumed, result.runs.size());
  for (const std::string& difference : result.approximate) out += "approximate: " + difference + '\n';
  if (!result.left_out.empty()) out += fmt::format("ignored: {}\n", fmt::join(result.left_out, ", "));
  return out;
}
std::string front_words(const GridResult& result) {
  return fmt::format("mean ± standard deviation over seeds; front *: {}\n", result.set->front_words);
}
}  // namespace

std::string grid_table(const GridResult& result, std::size_t width) {
  std::string out = headline(result) + "\n" + text_table(summary_rows(result, false), width) + front_words(result);
  if (const auto rows = difference_rows(result); !rows.empty()) out += "\n" + text_table(rows, width) + kTestWords;
  out += fmt::format("placements digest of all runs: {}\n{} runs in {:.2f} s\n", result.digest(), result.runs.size(),
                     result.elapsed_s);
  return out;
}

std::string grid_markdown(const GridResult& result) {
  std::string out = headline(result) + "\n" + markdown_table(summary_rows(result, true)) + "\n" + front_words(result) +
                    "[ ]: 95 % confidence interval of the mean\n";
  if (const auto rows = difference_rows(result); !rows.empty()) out += "\n" + markdown_table(rows) + "\n" + kTestWords;
  return out;
}

std::string grid_csv(const GridResult& result) {
  std::string out = "workload,label,strategy,seed,digest";
  for (const Metric& metric : result.set->all) out += fmt::format(",{}", metric.name);
  out += "\n";
  for (std::size_t s = 0; s < result.strategies.size(); ++s)
    for (std::size_t seed = 0; seed < result.seeds.size(); ++seed) {
      const GridRun& run = result.run(s, seed);
      if (!run.done) continue;
      out += fmt::format("{},{},{},{},{}", result.workload, result.label, csv_cell(result.strategies[s]),
                         result.seeds[seed], run.measured.digest);
      for (const double value : run.measured.values) out += fmt::format(",{}", value);
      out += "\n";
    }
  return out;
}

json::Value grid_json(const GridResult& result) {
  json::Value out = report_head("berth-compare", result.workload);
  if (!result.how.empty()) out.set("how", result.how);
  out.set("label", result.label);
  out.set("nodes", result.nodes);
  out.set("asked", result.asked);
  out.set("partial", result.partial);
  out.set("elapsed_s", result.elapsed_s);
  out.set("left_out", json::Array(result.left_out.begin(), result.left_out.end()));
  if (!result.approximate.empty())
    out.set("approximate", json::Array(result.approximate.begin(), result.approximate.end()));
  out.set("digest", result.digest());
  out.set("test", "paired t, two-sided, Holm over all tests; ranks: Wilcoxon signed rank");
  const auto front = front_of(result);
  const auto differences = differences_of(result);
  json::Value strategies = json::Value::array();
  for (std::size_t s = 0; s < result.strategies.size(); ++s) {
    json::Value one = json::Object{{"strategy", result.strategies[s]}, {"pareto", static_cast<bool>(front[s])}};
    json::Value summary = json::Value::object();
    for (std::size_t m = 0; m < result.set->all.size(); ++m) {
      const Summary v = summary_of(result, s, m);
      json::Value cell = summary_json(v);
      for (const Difference& d : differences) {
        if (d.strategy != s || d.metric != m) continue;
        cell.set("against_first", test_json(d.test, result.set->all[m].direction));
      }
      summary.set(result.set->all[m].name, std::move(cell));
    }
    one.set("summary", std::move(summary));
    json::Value runs = json::Value::array();
    for (std::size_t seed = 0; seed < result.seeds.size(); ++seed) {
      if (!result.run(s, seed).done) continue;
      json::Value run = run_json(result.run(s, seed), *result.set);
      run.set("seed", result.seeds[seed]);
      runs.push(std::move(run));
    }
    one.set("runs", std::move(runs));
    strategies.push(std::move(one));
  }
  out.set("strategies", std::move(strategies));
  return out;
}

}  // namespace berth::compare
