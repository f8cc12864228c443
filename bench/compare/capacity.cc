// Measures how many more tasks fit after the workload, per strategy.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <mutex>
#include <set>

#include "base/text.h"
#include "compare/kept_runs.h"
#include "compare/parallel.h"
#include "compare/sizing.h"

namespace berth::compare {
namespace {

using strategy::kCpu;
using strategy::kDimensions;
using strategy::kDisk;
using strategy::kGpu;
using strategy::kMemory;

/// Number of tasks of request `ask` that would fit into `free` as one node. `ask` must not be zero.
std::uint64_t fits_pooled(const std::array<std::int64_t, kDimensions>& free,
                          const std::array<double, kDimensions>& ask) {
  constexpr double kNothingAsked = 1e18;
  double least = kNothingAsked;
  for (std::size_t d = 0; d < kDimensions; ++d)
    if (ask[d] > 0) least = std::min(least, std::floor(static_cast<double>(free[d]) / ask[d]));
  return static_cast<std::uint64_t>(std::max(0.0, least));
}

std::array<double, kDimensions> amounts_of(const strategy::TaskClass& task) {
  std::array<double, kDimensions> out{};
  for (std::size_t d = 0; d < kDimensions; ++d) out[d] = task.ask[d];
  out[kGpu] = double(task.gpus) * task.gpu_milli;
  return out;
}

/// One value per seed, NaN if missing, so that pairs stay pairs.
template <class Value>
std::vector<double> values_of(const CapacityResult& r, std::size_t strategy, Value value) {
  std::vector<double> out;
  for (std::size_t i = 0; i < r.seeds.size(); ++i) {
    const CapacityCell& cell = r.cell(strategy, i);
    out.push_back(cell.done ? value(cell) : std::nan(""));
  }
  return out;
}
double more_of(const CapacityCell& c) { return double(c.more.fitted); }

/// Tests of each strategy against the first.
std::vector<PairedTest> tests_of(const CapacityResult& r) {
  std::vector<PairedTest> out;
  for (std::size_t s = 1; s < r.strategies.size(); ++s)
    out.push_back(paired_test(values_of(r, s, more_of), values_of(r, 0, more_of)));
  adjust_for_many(out);
  return out;
}

json::Value cell_json(const CapacityCell& c) {
  return json::Object{{"asked", c.asked},
                      {"placed", c.placed},
                      {"more", c.more.fitted},
                      {"until_first_miss", c.more.until_first_miss},
                      {"pooled", c.pooled}};
}
bool read_cell(const json::Value& from, CapacityCell& out) {
  const auto asked = count_in(from, "asked"), placed = count_in(from, "placed"), more = count_in(from, "more"),
             first_miss = count_in(from, "until_first_miss"), pooled = count_in(from, "pooled");
  if (!asked || !placed || !more || !first_miss || !pooled) return false;
  out = {.done = true, .asked = *asked, .placed = *placed, .more = {*more, *first_miss}, .pooled = *pooled};
  return true;
}

}  // namespace

Result<strategy::TaskClass> parse_task(const std::string& text) {
  static const char* const kKeys[] = {"cpu", "memory", "disk", "gpus", "gpu-milli"};
  const auto bad = [&](const std::string& problem) {
    return tl::unexpected(InputError{"--task", "", problem,
                                     "write e.g. cpu=1000,memory=512,gpus=1,gpu-milli=500; valid: cpu, memory, disk, "
                                     "gpus, gpu-milli"});
  };
  strategy::TaskClass out;
  std::set<std::string_view> given;
  for (const std::string_view part : base::split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = base::trim_space(part.substr(0, equals));
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      return bad(fmt::format("'{}' is no amount", key.substr(0, 40)));
    const auto value =
        equals == std::string_view::npos ? std::nullopt : base::parse_int64(base::trim_space(part.substr(equals + 1)));
    if (!value || *value < 0 || *value > 1'000'000'000)
      return bad(fmt::format("'{}' has no whole number from 0 on", key));
    if (!given.insert(key).second) return bad(fmt::format("'{}' is given twice", key));
    const auto amount = static_cast<std::int32_t>(*value);
    if (key == "cpu") out.ask[kCpu] = amount;
    if (key == "memory") out.ask[kMemory] = amount;
    if (key == "disk") out.ask[kDisk] = amount;
    if (key == "gpus") out.gpus = amount;
    if (key == "gpu-milli") out.gpu_milli = amount;
  }
  if (out.gpus > 0 && !given.contains("gpu-milli")) out.gpu_milli = 1000;
  if (out.gpus > static_cast<std::int32_t>(strategy::kDevicesMax)) return bad("more GPUs than a node can have");
  if (out.gpus == 0 && out.gpu_milli > 0) return bad("'gpu-milli' without 'gpus'");
  if (out.gpus > 0 && (out.gpu_milli == 0 || out.gpu_milli > 1000)) return bad("'gpu-milli' is not in 1 to 1000");
  if (out.gpus > 1 && out.gpu_milli < 1000) return bad("parts of several GPUs cannot be requested");
  if (out.ask == strategy::Amounts{} && out.gpus == 0) return bad("nothing is requested, so it fits without end");
  return out;
}

Result<CapacityResult> measure_capacities(const sim::Workload& workload, const SizingOptions& options) {
  if (auto fine = refuse_grid(workload); !fine) return tl::unexpected(fine.error());
  CapacityResult out;
  out.workload = workload.name, out.label = workload.label, out.task = options.task_words, out.drawn = !options.task,
  out.seeds = options.seeds;
  for (const NamedStrategy& s : options.strategies) out.strategies.push_back(s.name);
  const std::size_t strategies = out.strategies.size(), total = strategies * out.seeds.size();
  out.cells.resize(total);
  struct Seed {
    std::once_flag once;
    Result<sim::PackingProblem> problem;
    strategy::Context context;
    std::vector<std::uint32_t> order;
  };
  std::vector<Seed> seeds(out.seeds.size());
  const auto kept = KeptRuns::open(workload, options.workload_text, options.resume);
  if (!kept) return tl::unexpected(kept.error());
  std::atomic<std::size_t> resumed{0};
  const auto done = run_all(total, options.threads, "runs", options.quiet, [&](std::size_t i) -> Result<void> {
    const std::size_t at = i / strategies, s = i % strategies;
    const strategy::StrategySpec& spec = options.strategies[s].spec;
    CapacityCell& cell = out.cells[s * out.seeds.size() + at];
    const std::string what = fmt::format("capacity {} of {}", spec.text(), out.task);
    const auto before = kept->find(what, out.seeds[at]);
    const bool finished = before && read_cell(*before, cell);
    resumed += finished;
    if (finished && i > 0) return {};  // the first one determines the number of nodes
    Seed& seed = seeds[at];
    std::call_once(seed.once, [&] {
      seed.problem = sim::packing_problem(workload, out.seeds[at]);
      if (!seed.problem) return;
      seed.context = seed.problem->context();
      seed.order = sim::visiting_order(seed.problem->nodes.size(), out.seeds[at]);
    });
    if (!seed.problem) return tl::unexpected(seed.problem.error());
    const sim::PackingProblem& problem = *seed.problem;
    if (i == 0) out.nodes = problem.nodes.size();
    if (finished) return {};
    strategy::Fleet fleet{std::span<const strategy::Fleet::NodeSpec>{}};
    const auto run = packing::replay_packing(problem, seed.context, seed.order,
                                             {.seed = out.seeds[at], .after = &fleet}, strategy::registry(), spec);
    if (!run) return tl::unexpected(run.error());
    cell.asked = run->asked, cell.placed = run->placed;
    if (options.task) cell.pooled = fits_pooled(fleet.free_total(), amounts_of(*options.task));
    const auto more =
        packing::measure_capacity(problem, seed.context, std::move(fleet), options.task ? &*options.task : nullptr,
                                  out.seeds[at], strategy::registry(), spec);
    if (!more) return tl::unexpected(more.error());
    cell.more = *more, cell.done = true;
    return kept->keep(what, out.seeds[at], cell_json(cell));
  });
  if (!done) return tl::unexpected(done.error());
  out.partial = *done != total, out.resumed = resumed;
  return out;
}

TableRows capacity_rows(const CapacityResult& r, bool interval) {
  TableRows rows(1, {"strategy", "placed %", "more tasks"});
  if (r.drawn)
    rows[0].push_back("until the first miss");
  else
    rows[0].insert(rows[0].end(), {"upper bound", "% of bound"});
  rows[0].push_back(r.strategies.empty() ? "" : fmt::format("against {}", r.strategies[0]));
  const auto tests = tests_of(r);
  for (std::size_t s = 0; s < r.strategies.size(); ++s) {
    const auto of = [&](int digits, auto value) {
      return plus_minus(summarise(without_nan(values_of(r, s, value))), digits, interval);
    };
    auto& row = rows.emplace_back(1, r.strategies[s]);
    row.push_back(
        of(2, [](const CapacityCell& c) { return c.asked == 0 ? 100 : 100.0 * double(c.placed) / double(c.asked); }));
    row.push_back(of(1, more_of));
    if (r.drawn) {
      row.push_back(of(1, [](const CapacityCell& c) { return double(c.more.until_first_miss); }));
    } else {
      row.push_back(of(1, [](const CapacityCell& c) { return double(c.pooled); }));
      row.push_back(of(1, [](const CapacityCell& c) {
        return c.pooled == 0 ? std::nan("") : 100 * double(c.more.fitted) / double(c.pooled);
      }));
    }
    row.push_back(s == 0 ? "" : test_words(tests[s - 1], 1, 1));
  }
  return rows;
}

std::string headline(const CapacityResult& r) {
  return fmt::format("{} ({}): how many more of {} fit after it{}, {} nodes, {} seeds{}\n", r.workload, r.label, r.task,
                     r.drawn ? ", drawn until 100 of them found no room" : "", r.nodes, r.seeds.size(),
                     r.partial ? "; PARTIAL: interrupted" : "") +
         resumed_words(r.resumed, r.cells.size());
}

std::string capacity_csv(const CapacityResult& r) {
  std::string out = "workload,label,strategy,seed,asked,placed,more,until_first_miss,pooled\n";
  for (std::size_t s = 0; s < r.strategies.size(); ++s)
    for (std::size_t i = 0; i < r.seeds.size(); ++i) {
      const CapacityCell& c = r.cell(s, i);
      if (!c.done) continue;
      out += fmt::format("{},{},{},{},{},{},{},{},{}\n", r.workload, r.label, csv_cell(r.strategies[s]), r.seeds[i],
                         c.asked, c.placed, c.more.fitted, c.more.until_first_miss, c.pooled);
    }
  return out;
}

json::Value capacity_json(const CapacityResult& r) {
  json::Value out = report_head("berth-compare-capacity", r.workload);
  out.set("label", r.label);
  out.set("task", r.task);
  out.set("nodes", r.nodes);
  out.set("partial", r.partial);
  const auto tests = tests_of(r);
  json::Value strategies = json::Value::array();
  for (std::size_t s = 0; s < r.strategies.size(); ++s) {
    json::Value one = json::Value::object();
    one.set("strategy", r.strategies[s]);
    json::Value more = summary_json(summarise(without_nan(values_of(r, s, more_of))));
    if (s > 0) more.set("against_first", test_json(tests[s - 1], 1));
    one.set("more", std::move(more));
    json::Value runs = json::Value::array();
    for (std::size_t i = 0; i < r.seeds.size(); ++i) {
      const CapacityCell& c = r.cell(s, i);
      if (!c.done) continue;
      json::Value run = cell_json(c);
      run.set("seed", r.seeds[i]);
      runs.push(std::move(run));
    }
    one.set("runs", std::move(runs));
    strategies.push(std::move(one));
  }
  out.set("strategies", std::move(strategies));
  return out;
}

}  // namespace berth::compare
