// Finds the smallest number of nodes that hold the workload, per class of nodes and strategy.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "compare/kept_runs.h"
#include "compare/parallel.h"
#include "compare/sizing.h"
#include "run/interrupt.h"

namespace berth::compare {
namespace {

constexpr std::uint64_t kClusterMax = 8'000'000;  ///< maximum nodes of a probe
constexpr std::uint64_t kBelow = 4;               ///< sizes tried below the one found

/// One value per seed, NaN if missing, so that pairs stay pairs.
template <class Value>
std::vector<double> values_of(const MinimumResult& r, std::size_t node_class, std::size_t strategy, Value value) {
  std::vector<double> out;
  for (std::size_t i = 0; i < r.seeds.size(); ++i) {
    const MinimumCell& cell = r.cell(node_class, strategy, i);
    out.push_back(cell.done && cell.found.impossible.empty() ? value(cell.found) : std::nan(""));
  }
  return out;
}
double nodes_of(const SmallestCluster& found) { return double(found.nodes); }

/// classes x (strategies - 1)
std::vector<PairedTest> tests_of(const MinimumResult& r) {
  std::vector<PairedTest> out, made;
  for (std::size_t c = 0; c < r.classes.size(); ++c)
    for (std::size_t s = 1; s < r.strategies.size(); ++s)
      out.push_back(paired_test(values_of(r, c, s, nodes_of), values_of(r, c, 0, nodes_of)));
  // Adjusts only over tests that can be made.
  const auto tested = [](const PairedTest& test) { return test.pairs >= 2; };
  std::copy_if(out.begin(), out.end(), std::back_inserter(made), tested);
  adjust_for_many(made);
  std::size_t next = 0;
  for (PairedTest& test : out)
    if (tested(test)) test = made[next++];
  return out;
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
/// Reads a cell stored by an earlier command, which also has "probes".
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

/// The problem of one node class and seed. Made by the first search that uses it and released by the last.
struct ClassProblem {
  std::once_flag once;
  std::optional<InputError> error;
  std::optional<sim::PackingProblem> problem;
  strategy::Context context;
  std::vector<std::uint32_t> nodes;
  packing::NodeBound bound;
  std::atomic<std::size_t> left{0};  ///< remaining searches

  void make(const sim::Workload& workload, const std::string& node_class, std::int64_t seed,
            strategy::OfflineOrder order, bool departures) {
    const auto whole = sim::packing_problem(workload, seed);
    if (!whole) {
      error = whole.error();
      return;
    }
    problem = only_class(*whole, node_class);
    sort_offline(*problem, order);
    context = problem->context();
    nodes = sim::visiting_order(problem->nodes.size(), seed);
    bound = packing::bound_nodes(*problem, nodes, departures);
  }
  void search_ended() {
    if (--left == 0) problem.reset();
  }
};

/// Runs a search. If interrupted, `out` is not marked as done.
Result<void> search(const ClassProblem& in, bool departures, std::int64_t seed, const strategy::StrategySpec& spec,
                    MinimumCell& out) {
  out.bound_by = in.bound.by();
  if (in.nodes.empty()) {
    out.done = true, out.found.impossible = "there are no such nodes";
    return {};
  }
  auto found =
      smallest_cluster(*in.problem, in.context, in.nodes, in.bound, departures, seed, strategy::registry(), spec);
  if (!found) return tl::unexpected(found.error());
  if (found->interrupted) return {};
  std::map<std::string, std::uint64_t> counts;
  for (std::uint64_t n = 0; n < found->nodes; ++n) ++counts[in.problem->node_classes[in.nodes[n % in.nodes.size()]]];
  out.done = true, out.found = std::move(*found), out.of_which = {counts.begin(), counts.end()};
  return {};
}

/// All nodes as one class, then, if there are several, each class.
Result<std::vector<std::string>> classes_of(const sim::Workload& workload, std::int64_t seed) {
  const auto problem = sim::packing_problem(workload, seed);
  if (!problem) return tl::unexpected(problem.error());
  const std::set<std::string> names(problem->node_classes.begin(), problem->node_classes.end());
  std::vector<std::string> out(1);
  if (names.size() > 1) out.insert(out.end(), names.begin(), names.end());
  return out;
}

}  // namespace

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
  // Tasks of a job with distinct hosts stay together, because that rule compares neighbours in this list.
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
                                         const std::vector<std::uint32_t>& nodes, const packing::NodeBound& bound,
                                         bool departures, std::int64_t seed, const strategy::Registry& strategies,
                                         const strategy::StrategySpec& spec) {
  SmallestCluster out;
  out.bound = bound.nodes();
  if (problem.asked() == 0) return out;
  // Finds tasks that fit on none of these nodes, even if empty.
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
    out.impossible = fmt::format("{} of {} tasks cannot run on these nodes", homeless, problem.asked());
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
    const auto run = packing::replay_packing(
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
  auto names = classes_of(workload, options.seeds.front());
  if (!names) return tl::unexpected(names.error());
  out.classes = std::move(*names);
  const std::size_t strategies = out.strategies.size(), classes = out.classes.size(),
                    total = classes * strategies * out.seeds.size();
  out.cells.resize(total);
  std::vector<ClassProblem> problems(out.seeds.size() * classes);
  for (ClassProblem& one : problems) one.left = strategies;
  const auto kept = KeptRuns::open(workload, options.workload_text, options.resume);
  if (!kept) return tl::unexpected(kept.error());
  std::atomic<std::size_t> resumed{0};
  const auto done = run_all(total, options.threads, "searches", options.quiet, [&](std::size_t i) -> Result<void> {
    const std::size_t at = i / strategies, s = i % strategies, seed = at / classes, c = at % classes;
    ClassProblem& problem = problems[at];
    MinimumCell& mine = out.cells[(c * strategies + s) * out.seeds.size() + seed];
    const strategy::StrategySpec& spec = options.strategies[s].spec;
    const std::string what =
        fmt::format("minimum nodes {} of class '{}' in order of {}", spec.text(), out.classes[c], out.order);
    if (const auto before = kept->find(what, out.seeds[seed]); before && read_cell(*before, mine)) {
      ++resumed;
      problem.search_ended();
      return {};
    }
    std::call_once(problem.once,
                   [&] { problem.make(workload, out.classes[c], out.seeds[seed], options.order, departures); });
    if (problem.error) return tl::unexpected(*problem.error);
    if (auto found = search(problem, departures, out.seeds[seed], spec, mine); !found || !mine.done) return found;
    problem.search_ended();
    json::Value value = cell_json(mine);
    value.set("probes", mine.found.probes);
    return kept->keep(what, out.seeds[seed], std::move(value));
  });
  if (!done) return tl::unexpected(done.error());
  out.resumed = resumed;
  for (const MinimumCell& cell : out.cells) out.partial |= !cell.done;
  return out;
}

TableRows minimum_rows(const MinimumResult& r, bool interval) {
  TableRows rows(1, {"nodes of", "strategy", "nodes", "at least", "over %", "bound by",
                     r.strategies.empty() ? "" : fmt::format("against {}", r.strategies[0])});
  const auto tests = tests_of(r);
  for (std::size_t c = 0; c < r.classes.size(); ++c)
    for (std::size_t s = 0; s < r.strategies.size(); ++s) {
      const MinimumCell& first = r.cell(c, s, 0);
      const auto nodes = summarise(without_nan(values_of(r, c, s, nodes_of)));
      const auto of = [&](auto value) {
        return plus_minus(summarise(without_nan(values_of(r, c, s, value))), 1, interval);
      };
      if (nodes.count == 0) {
        if (s == 0 && first.done)
          rows.push_back({class_words(r.classes[c]), "not possible", "", "", "", first.found.impossible, ""});
        continue;
      }
      rows.push_back({class_words(r.classes[c]), r.strategies[s], plus_minus(nodes, 1, interval),
                      of([](const SmallestCluster& f) { return double(f.bound); }), of([](const SmallestCluster& f) {
                        return f.bound == 0 ? 0 : 100 * (double(f.nodes) / double(f.bound) - 1);
                      }),
                      first.bound_by, s == 0 ? "" : test_words(tests[c * (r.strategies.size() - 1) + s - 1], -1, 1)});
    }
  return rows;
}

std::string headline(const MinimumResult& r) {
  return fmt::format("{} ({}): fewest nodes that hold the workload, tasks in the order of {}, {} seeds{}\n", r.workload,
                     r.label, r.order, r.seeds.size(), r.partial ? "; PARTIAL: interrupted" : "") +
         resumed_words(r.resumed, r.cells.size());
}

std::string minimum_csv(const MinimumResult& r) {
  std::string out = "workload,label,class,strategy,seed,nodes,bound,bound_by,probes\n";
  for (std::size_t c = 0; c < r.classes.size(); ++c)
    for (std::size_t s = 0; s < r.strategies.size(); ++s)
      for (std::size_t i = 0; i < r.seeds.size(); ++i) {
        const MinimumCell& cell = r.cell(c, s, i);
        if (!cell.done || !cell.found.impossible.empty()) continue;
        out += fmt::format("{},{},{},{},{},{},{},\"{}\",{}\n", r.workload, r.label, r.classes[c],
                           csv_cell(r.strategies[s]), r.seeds[i], cell.found.nodes, cell.found.bound, cell.bound_by,
                           cell.found.probes);
      }
  return out;
}

json::Value minimum_json(const MinimumResult& r) {
  json::Value out = report_head("berth-compare-minimum-nodes", r.workload);
  out.set("label", r.label);
  out.set("order", r.order);
  out.set("partial", r.partial);
  const auto tests = tests_of(r);
  json::Value classes = json::Value::array();
  for (std::size_t c = 0; c < r.classes.size(); ++c) {
    json::Value one = json::Value::object();
    one.set("class", class_words(r.classes[c]));
    json::Value strategies = json::Value::array();
    for (std::size_t s = 0; s < r.strategies.size(); ++s) {
      json::Value of = json::Value::object();
      of.set("strategy", r.strategies[s]);
      json::Value nodes = summary_json(summarise(without_nan(values_of(r, c, s, nodes_of))));
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
