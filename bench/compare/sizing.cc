#include "compare/sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "base/text.h"
#include "compare/kept_runs.h"
#include "compare/parallel.h"
#include "run/interrupt.h"

namespace berth::compare {
namespace {

using strategy::kCpu;
using strategy::kDimensions;
using strategy::kDisk;
using strategy::kGpu;
using strategy::kMemory;

constexpr std::uint64_t kClusterMax = 8'000'000;  ///< nodes of a probe
constexpr std::uint64_t kBelow = 4;               ///< sizes looked at below the one that was found

Result<void> refuse_grid(const sim::Workload& workload) {
  if (workload.cluster.source != sim::Source::nomad_grid) return {};
  return tl::unexpected(InputError{workload.path, "", "nomad-grid's cells are evaluations of their own",
                                   "compare strategies on another workload"});
}

/// How many tasks of `ask` fit into `free` if it were one node. Something is asked.
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

/// One value per seed, NaN where there is none, so that pairs stay pairs.
std::vector<double> as_doubles(std::size_t n, const std::function<double(std::size_t)>& at) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(at(i));
  return out;
}
std::vector<double> without_nan(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  return values;
}

std::vector<double> more_of(const CapacityResult& r, std::size_t s) {
  return as_doubles(r.seeds.size(), [&](std::size_t i) {
    const CapacityCell& cell = r.cells[s * r.seeds.size() + i];
    return cell.done ? double(cell.more.fitted) : std::nan("");
  });
}
std::vector<double> nodes_of(const MinimumResult& r, std::size_t c, std::size_t s) {
  std::vector<double> out;
  for (std::size_t i = 0; i < r.seeds.size(); ++i) {
    const MinimumCell& cell = r.cell(c, s, i);
    out.push_back(cell.done && cell.found.impossible.empty() ? double(cell.found.nodes) : std::nan(""));
  }
  return out;
}

std::vector<PairedTest> capacity_tests(const CapacityResult& r) {
  std::vector<PairedTest> out;
  for (std::size_t s = 1; s < r.strategies.size(); ++s) out.push_back(paired_test(more_of(r, s), more_of(r, 0)));
  adjust_for_many(out);
  return out;
}
/// classes x (strategies - 1)
std::vector<PairedTest> minimum_tests(const MinimumResult& r) {
  std::vector<PairedTest> out, made;
  for (std::size_t c = 0; c < r.classes.size(); ++c)
    for (std::size_t s = 1; s < r.strategies.size(); ++s)
      out.push_back(paired_test(nodes_of(r, c, s), nodes_of(r, c, 0)));
  // Where there is nothing to test no test is paid for.
  const auto tested = [](const PairedTest& test) { return test.pairs >= 2; };
  std::copy_if(out.begin(), out.end(), std::back_inserter(made), tested);
  adjust_for_many(made);
  std::size_t next = 0;
  for (PairedTest& test : out)
    if (tested(test)) test = made[next++];
  return out;
}

std::string test_words(const PairedTest& test, int direction, int digits) {
  if (test.pairs < 2) return "-";
  if (!test.shown) return verdict_of(test, direction);
  return fmt::format("{} by {:.{}f}, p {}", verdict_of(test, direction), std::abs(test.difference), digits,
                     p_words(test.p_adjusted));
}

json::Value cell_json(const CapacityCell& c) {
  json::Value out = json::Value::object();
  out.set("asked", c.asked);
  out.set("placed", c.placed);
  out.set("more", c.more.fitted);
  out.set("until_first_miss", c.more.until_first_miss);
  out.set("pooled", c.pooled);
  return out;
}
bool read_cell(const json::Value& from, CapacityCell& out) {
  const auto asked = count_in(from, "asked"), placed = count_in(from, "placed"), more = count_in(from, "more"),
             first_miss = count_in(from, "until_first_miss"), pooled = count_in(from, "pooled");
  if (!asked || !placed || !more || !first_miss || !pooled) return false;
  out = {.done = true, .asked = *asked, .placed = *placed, .more = {*more, *first_miss}, .pooled = *pooled};
  return true;
}

json::Value cell_json(const MinimumCell& c) {
  json::Value out = json::Value::object();
  if (!c.found.impossible.empty()) {
    out.set("impossible", c.found.impossible);
    return out;
  }
  out.set("nodes", c.found.nodes);
  out.set("bound", c.found.bound);
  out.set("bound_by", c.bound_by);
  json::Value which = json::Value::object();
  for (const auto& [name, count] : c.of_which) which.set(name, count);
  out.set("of_which", std::move(which));
  return out;
}
/// `from` has "probes" as well.
bool read_cell(const json::Value& from, MinimumCell& out) {
  MinimumCell read{.done = true, .found = {}, .bound_by = from["bound_by"].as_string(), .of_which = {}};
  read.found.impossible = from["impossible"].as_string();
  if (read.found.impossible.empty()) {
    const auto nodes = count_in(from, "nodes"), bound = count_in(from, "bound"), probes = count_in(from, "probes");
    const json::Value* const which = from.find("of_which");
    if (!nodes || !bound || !probes || !which || !which->is_object()) return false;
    read.found.nodes = *nodes, read.found.bound = *bound, read.found.probes = *probes;
    for (const auto& [name, count] : which->members())
      read.of_which.emplace_back(name, static_cast<std::uint64_t>(count.as_double()));
  }
  out = std::move(read);
  return true;
}

const char* class_words(const std::string& name) { return name.empty() ? "all classes" : name.c_str(); }

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
  if (out.gpus > 1 && out.gpu_milli < 1000) return bad("parts of several GPUs cannot be asked");
  if (out.ask == strategy::Amounts{} && out.gpus == 0) return bad("nothing is asked, so it fits without end");
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
    if (finished && i > 0) return {};  // the first one says how many nodes there are
    Seed& seed = seeds[at];
    std::call_once(seed.once, [&] {
      seed.problem = problem_of(workload, out.seeds[at]);
      if (!seed.problem) return;
      seed.context = seed.problem->context();
      seed.order = sim::visiting_order(seed.problem->nodes.size(), out.seeds[at]);
    });
    if (!seed.problem) return tl::unexpected(seed.problem.error());
    const sim::PackingProblem& problem = *seed.problem;
    if (i == 0) out.nodes = problem.nodes.size();
    if (finished) return {};
    strategy::Fleet fleet{std::span<const strategy::Fleet::NodeSpec>{}};
    const auto run = sim::replay_packing(problem, seed.context, seed.order, {.seed = out.seeds[at], .after = &fleet},
                                         strategy::registry(), spec);
    if (!run) return tl::unexpected(run.error());
    cell.asked = run->asked, cell.placed = run->placed;
    if (options.task) cell.pooled = fits_pooled(fleet.free_total(), amounts_of(*options.task));
    const auto more =
        sim::measure_capacity(problem, seed.context, std::move(fleet), options.task ? &*options.task : nullptr,
                              out.seeds[at], strategy::registry(), spec);
    if (!more) return tl::unexpected(more.error());
    cell.more = *more, cell.done = true;
    return kept->keep(what, out.seeds[at], cell_json(cell));
  });
  if (!done) return tl::unexpected(done.error());
  out.partial = *done != total, out.resumed = resumed;
  return out;
}

sim::PackingProblem only_class(const sim::PackingProblem& problem, const std::string& node_class) {
  sim::PackingProblem out = problem;
  out.nodes.clear(), out.node_classes.clear(), out.load.clear(), out.arrivals.clear();
  std::vector<strategy::Row> kept;
  for (strategy::Row node = 0; node < problem.nodes.size(); ++node)
    if (node_class.empty() || problem.node_classes[node] == node_class) {
      kept.push_back(node);
      out.nodes.push_back(problem.nodes[node]), out.node_classes.push_back(problem.node_classes[node]);
    }
  for (strategy::TaskClass& task : out.classes) {
    if (task.eligible.empty()) continue;
    const strategy::TaskClass before = task;
    task.eligible.assign((kept.size() + 63) / 64, 0);
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (before.may_run_on(kept[i])) task.eligible[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  for (const auto& load : problem.load) {
    if (out.arrivals.empty() || out.arrivals.back().task != load.task)
      out.arrivals.push_back({.due_ns = 0, .run_time_ns = sim::kNeverEnds, .task = load.task, .job = out.jobs});
    ++out.arrivals.back().count;
  }
  if (!out.arrivals.empty()) ++out.jobs;
  out.arrivals.insert(out.arrivals.end(), problem.arrivals.begin(), problem.arrivals.end());
  return out;
}

void sort_offline(sim::PackingProblem& problem, strategy::OfflineOrder order) {
  if (order == strategy::OfflineOrder::arrival) return;
  std::vector<std::uint32_t> all(problem.nodes.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const strategy::Fleet fleet = sim::fleet_of(problem, all, false);
  std::vector<strategy::ClassId> tasks;
  for (const sim::PackingArrival& a : problem.arrivals) tasks.insert(tasks.end(), a.count, a.task);
  const std::vector<double> size = strategy::packing_sizes(fleet, order, tasks);
  // A job with distinct hosts stays together: that rule is about neighbours in this list.
  std::vector<double> of_job(problem.jobs, 0);
  std::vector<bool> together(problem.jobs, false);
  for (const sim::PackingArrival& a : problem.arrivals) {
    of_job[a.job] = std::max(of_job[a.job], size[a.task]);
    if (a.distinct_hosts) together[a.job] = true;
  }
  const auto key = [&](const sim::PackingArrival& a) { return together[a.job] ? of_job[a.job] : size[a.task]; };
  std::stable_sort(problem.arrivals.begin(), problem.arrivals.end(),
                   [&](const auto& a, const auto& b) { return key(a) > key(b); });
}

Result<SmallestCluster> smallest_cluster(const sim::PackingProblem& problem, const strategy::Context& context,
                                         const std::vector<std::uint32_t>& nodes, const sim::NodeBound& bound,
                                         bool departures, std::int64_t seed, const strategy::Registry& strategies,
                                         const strategy::StrategySpec& spec) {
  SmallestCluster out;
  out.bound = bound.nodes();
  if (problem.asked() == 0) return out;
  // Would a task run on any of these nodes, were it empty?
  const strategy::Fleet empty = sim::fleet_of(problem, nodes, false);
  std::vector<bool> asked(problem.classes.size(), false);
  std::uint64_t homeless = 0;
  for (const sim::PackingArrival& a : problem.arrivals) {
    if (a.count == 0) continue;
    bool fits = asked[a.task];
    for (strategy::Row row = 0; row < empty.size() && !fits; ++row)
      fits = empty.feasible(row, empty.task_class(a.task));
    asked[a.task] = fits;
    if (!fits) homeless += a.count;
  }
  if (homeless > 0) {
    out.impossible = fmt::format("{} of {} tasks run on none of these nodes", homeless, problem.asked());
    return out;
  }
  std::optional<InputError> error;
  std::vector<std::uint32_t> order;
  const auto fits = [&](std::uint64_t n) {
    if (run::interrupted()) out.interrupted = true;
    if (out.interrupted) return true;
    ++out.probes;
    order.resize(n);
    for (std::uint64_t i = 0; i < n; ++i) order[i] = nodes[i % nodes.size()];
    const auto run = sim::replay_packing(
        problem, context, order, {.seed = seed, .departures = departures, .with_load = false, .stop_at_miss = true},
        strategies, spec);
    if (!run) {
      error = run.error();
      return true;
    }
    return run->placed == problem.asked();
  };
  std::uint64_t low = std::max<std::uint64_t>(1, out.bound), high = low;  // low - 1 cannot hold it
  for (std::uint64_t step = std::max<std::uint64_t>(1, low / 32); !fits(high); step *= 2) {
    low = high + 1, high += step;
    if (high > kClusterMax) {
      out.impossible = fmt::format("{} nodes do not hold it", low - 1);
      return out;
    }
  }
  while (low < high && !error) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (fits(middle))
      high = middle;
    else
      low = middle + 1;
  }
  for (std::uint64_t below = 1; below <= kBelow && high > below && high - below >= out.bound && !error; ++below)
    if (high - below > 0 && fits(high - below)) high -= below, below = 0;
  if (error) return tl::unexpected(*error);
  out.nodes = high;
  return out;
}

Result<MinimumResult> minimum_nodes(const sim::Workload& workload, const SizingOptions& options) {
  if (auto fine = refuse_grid(workload); !fine) return tl::unexpected(fine.error());
  static const char* const kOrders[] = {"arrival", "sum", "product", "max"};
  MinimumResult out;
  out.workload = workload.name, out.label = workload.label, out.seeds = options.seeds;
  out.order = kOrders[static_cast<std::size_t>(options.order)];
  for (const NamedStrategy& s : options.strategies) out.strategies.push_back(s.name);
  const bool departures = workload.departures && options.order == strategy::OfflineOrder::arrival;
  {
    const auto first = problem_of(workload, options.seeds.front());
    if (!first) return tl::unexpected(first.error());
    const std::set<std::string> names(first->node_classes.begin(), first->node_classes.end());
    out.classes.push_back("");
    if (names.size() > 1) out.classes.insert(out.classes.end(), names.begin(), names.end());
  }
  const std::size_t strategies = out.strategies.size(), classes = out.classes.size(),
                    total = classes * strategies * out.seeds.size();
  out.cells.resize(total);
  struct Cell {
    std::once_flag once;
    std::optional<InputError> error;
    std::optional<sim::PackingProblem> problem;
    strategy::Context context;
    std::vector<std::uint32_t> nodes;
    sim::NodeBound bound;
    std::atomic<std::size_t> left{0};
  };
  std::vector<Cell> cells(out.seeds.size() * classes);
  for (Cell& cell : cells) cell.left = strategies;
  const auto kept = KeptRuns::open(workload, options.workload_text, options.resume);
  if (!kept) return tl::unexpected(kept.error());
  std::atomic<std::size_t> resumed{0};
  const auto done = run_all(total, options.threads, "searches", options.quiet, [&](std::size_t i) -> Result<void> {
    const std::size_t at = i / strategies, s = i % strategies, seed = at / classes, c = at % classes;
    Cell& cell = cells[at];
    MinimumCell& mine = out.cells[(c * strategies + s) * out.seeds.size() + seed];
    const std::string what = fmt::format("minimum nodes {} of class '{}' in order of {}",
                                         options.strategies[s].spec.text(), out.classes[c], out.order);
    if (const auto before = kept->find(what, out.seeds[seed]); before && read_cell(*before, mine)) {
      ++resumed;
      if (--cell.left == 0) cell.problem.reset();
      return {};
    }
    std::call_once(cell.once, [&] {
      const auto whole = problem_of(workload, out.seeds[seed]);
      if (!whole) {
        cell.error = whole.error();
        return;
      }
      cell.problem = only_class(*whole, out.classes[c]);
      sort_offline(*cell.problem, options.order);
      cell.context = cell.problem->context();
      cell.nodes = sim::visiting_order(cell.problem->nodes.size(), out.seeds[seed]);
      cell.bound = sim::bound_nodes(*cell.problem, cell.nodes, departures);
    });
    if (cell.error) return tl::unexpected(*cell.error);
    mine.bound_by = cell.bound.by();
    if (cell.nodes.empty()) {
      mine.done = true, mine.found.impossible = "there are no such nodes";
    } else {
      auto found = smallest_cluster(*cell.problem, cell.context, cell.nodes, cell.bound, departures, out.seeds[seed],
                                    strategy::registry(), options.strategies[s].spec);
      if (!found) return tl::unexpected(found.error());
      if (found->interrupted) return {};
      std::map<std::string, std::uint64_t> counts;
      for (std::uint64_t n = 0; n < found->nodes; ++n)
        ++counts[cell.problem->node_classes[cell.nodes[n % cell.nodes.size()]]];
      mine = {.done = true,
              .found = std::move(*found),
              .bound_by = cell.bound.by(),
              .of_which = {counts.begin(), counts.end()}};
    }
    if (--cell.left == 0) cell.problem.reset();
    json::Value value = cell_json(mine);
    value.set("probes", mine.found.probes);
    return kept->keep(what, out.seeds[seed], std::move(value));
  });
  if (!done) return tl::unexpected(done.error());
  out.resumed = resumed;
  for (const MinimumCell& cell : out.cells) out.partial |= !cell.done;
  return out;
}

TableRows capacity_rows(const CapacityResult& r, bool interval) {
  TableRows rows(1, {"strategy", "placed %", "more tasks"});
  if (r.drawn)
    rows[0].push_back("until the first miss");
  else
    rows[0].insert(rows[0].end(), {"if pooled", "of pooled %"});
  rows[0].push_back(r.strategies.empty() ? "" : fmt::format("against {}", r.strategies[0]));
  const auto tests = capacity_tests(r);
  for (std::size_t s = 0; s < r.strategies.size(); ++s) {
    const auto of = [&](int digits, auto value) {
      const auto values = as_doubles(r.seeds.size(), [&](std::size_t i) -> double {
        const CapacityCell& cell = r.cells[s * r.seeds.size() + i];
        return cell.done ? value(cell) : std::nan("");
      });
      return plus_minus(summarise(without_nan(values)), digits, interval);
    };
    auto& row = rows.emplace_back(1, r.strategies[s]);
    row.push_back(
        of(2, [](const CapacityCell& c) { return c.asked == 0 ? 100 : 100.0 * double(c.placed) / double(c.asked); }));
    row.push_back(of(1, [](const CapacityCell& c) { return double(c.more.fitted); }));
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

TableRows minimum_rows(const MinimumResult& r, bool interval) {
  TableRows rows(1, {"nodes of", "strategy", "nodes", "at least", "over %", "bound by",
                     r.strategies.empty() ? "" : fmt::format("against {}", r.strategies[0])});
  const auto tests = minimum_tests(r);
  for (std::size_t c = 0; c < r.classes.size(); ++c)
    for (std::size_t s = 0; s < r.strategies.size(); ++s) {
      const MinimumCell& first = r.cell(c, s, 0);
      const auto nodes = summarise(without_nan(nodes_of(r, c, s)));
      const auto of = [&](auto value) {
        return summarise(without_nan(as_doubles(r.seeds.size(), [&](std::size_t i) -> double {
          const MinimumCell& cell = r.cell(c, s, i);
          return cell.done && cell.found.impossible.empty() ? value(cell.found) : std::nan("");
        })));
      };
      if (nodes.count == 0) {
        if (s == 0 && first.done)
          rows.push_back({class_words(r.classes[c]), "any", "-", "", "", "", first.found.impossible});
        continue;
      }
      rows.push_back({class_words(r.classes[c]), r.strategies[s], plus_minus(nodes, 1, interval),
                      plus_minus(of([](const SmallestCluster& f) { return double(f.bound); }), 1, interval),
                      plus_minus(of([](const SmallestCluster& f) {
                                   return f.bound == 0 ? 0 : 100 * (double(f.nodes) / double(f.bound) - 1);
                                 }),
                                 1, interval),
                      first.bound_by, s == 0 ? "" : test_words(tests[c * (r.strategies.size() - 1) + s - 1], -1, 1)});
    }
  return rows;
}

std::string headline(const CapacityResult& r) {
  return fmt::format("{} ({}): how many more of {} fit behind it{}, {} nodes, {} seeds{}\n", r.workload, r.label,
                     r.task, r.drawn ? ", drawn until 100 of them found no room" : "", r.nodes, r.seeds.size(),
                     r.partial ? "; PARTIAL: interrupted" : "") +
         resumed_words(r.resumed, r.cells.size());
}
std::string headline(const MinimumResult& r) {
  return fmt::format("{} ({}): fewest nodes that hold the workload, tasks in the order of {}, {} seeds{}\n", r.workload,
                     r.label, r.order, r.seeds.size(), r.partial ? "; PARTIAL: interrupted" : "") +
         resumed_words(r.resumed, r.cells.size());
}

std::string capacity_csv(const CapacityResult& r) {
  std::string out = "workload,label,strategy,seed,asked,placed,more,until_first_miss,pooled\n";
  for (std::size_t s = 0; s < r.strategies.size(); ++s)
    for (std::size_t i = 0; i < r.seeds.size(); ++i) {
      const CapacityCell& c = r.cells[s * r.seeds.size() + i];
      if (!c.done) continue;
      out += fmt::format("{},{},{},{},{},{},{},{},{}\n", r.workload, r.label, r.strategies[s], r.seeds[i], c.asked,
                         c.placed, c.more.fitted, c.more.until_first_miss, c.pooled);
    }
  return out;
}
std::string minimum_csv(const MinimumResult& r) {
  std::string out = "workload,label,class,strategy,seed,nodes,bound,bound_by,probes\n";
  for (std::size_t c = 0; c < r.classes.size(); ++c)
    for (std::size_t s = 0; s < r.strategies.size(); ++s)
      for (std::size_t i = 0; i < r.seeds.size(); ++i) {
        const MinimumCell& cell = r.cell(c, s, i);
        if (!cell.done || !cell.found.impossible.empty()) continue;
        out += fmt::format("{},{},{},{},{},{},{},\"{}\",{}\n", r.workload, r.label, r.classes[c], r.strategies[s],
                           r.seeds[i], cell.found.nodes, cell.found.bound, cell.bound_by, cell.found.probes);
      }
  return out;
}

json::Value capacity_json(const CapacityResult& r) {
  json::Value out = report_head("berth-compare-capacity", r.workload);
  out.set("label", r.label);
  out.set("task", r.task);
  out.set("nodes", r.nodes);
  out.set("partial", r.partial);
  const auto tests = capacity_tests(r);
  json::Value strategies = json::Value::array();
  for (std::size_t s = 0; s < r.strategies.size(); ++s) {
    json::Value one = json::Value::object();
    one.set("strategy", r.strategies[s]);
    json::Value more = summary_json(summarise(without_nan(more_of(r, s))));
    if (s > 0) more.set("against_first", test_json(tests[s - 1], 1));
    one.set("more", std::move(more));
    json::Value runs = json::Value::array();
    for (std::size_t i = 0; i < r.seeds.size(); ++i) {
      const CapacityCell& c = r.cells[s * r.seeds.size() + i];
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

json::Value minimum_json(const MinimumResult& r) {
  json::Value out = report_head("berth-compare-minimum-nodes", r.workload);
  out.set("label", r.label);
  out.set("order", r.order);
  out.set("partial", r.partial);
  const auto tests = minimum_tests(r);
  json::Value classes = json::Value::array();
  for (std::size_t c = 0; c < r.classes.size(); ++c) {
    json::Value one = json::Value::object();
    one.set("class", class_words(r.classes[c]));
    json::Value strategies = json::Value::array();
    for (std::size_t s = 0; s < r.strategies.size(); ++s) {
      json::Value of = json::Value::object();
      of.set("strategy", r.strategies[s]);
      json::Value nodes = summary_json(summarise(without_nan(nodes_of(r, c, s))));
      if (s > 0) nodes.set("against_first", test_json(tests[c * (r.strategies.size() - 1) + s - 1], -1));
      of.set("nodes", std::move(nodes));
      json::Value runs = json::Value::array();
      for (std::size_t i = 0; i < r.seeds.size(); ++i) {
        const MinimumCell& cell = r.cell(c, s, i);
        if (!cell.done) continue;
        json::Value run = cell_json(cell);
        run.set("seed", r.seeds[i]);
        runs.push(std::move(run));
      }
      of.set("runs", std::move(runs));
      strategies.push(std::move(of));
    }
    one.set("strategies", std::move(strategies));
    classes.push(std::move(one));
  }
  out.set("classes", std::move(classes));
  return out;
}

}  // namespace berth::compare
