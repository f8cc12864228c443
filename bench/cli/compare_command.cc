#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "berth/queue.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/html_output.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "cli/workload_arguments.h"
#include "compare/choices.h"
#include "compare/experiment.h"
#include "compare/grid.h"
#include "compare/seeds.h"
#include "compare/sizing.h"
#include "compare/tables.h"
#include "io/files.h"
#include "run/interrupt.h"
#include "sim/datasets.h"
#include "sim/named_strategy.h"
#include "strategy/expression.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string workload, label = "full", resume, experiment, seeds, pods, nodes, json, html, csv, markdown, task,
                        packing_order = "arrival";
  std::vector<std::string> strategies, lists, preemption, rebalance, queue;
  double ratio = 0.1;
  std::string eligible = "nomad", budget = "none";
  std::size_t threads = 0;
  double tune = 1.3;
  bool placements_digest = false, capacity = false, minimum_nodes = false, list_strategies = false, quiet = false,
       wide = false;
  [[nodiscard]] std::size_t width() const { return wide ? 0 : terminal_width(); }
};

constexpr const char* kSymbols =
    "Symbols in formulas; sums, means and maxima are over the resources:\n"
    "  a  the task's request        F  free on the node before the placement\n"
    "  C  the node's capacity       U  in use on the node before the placement\n"
    "  w  weight (:w-RESOURCE)      R  requested on the node, with the task\n"
    "  N  what amounts are divided by (:norm)\n"
    "  n  number of nodes           I  idle GPU of the node, in thousandths\n\n";

int list_strategies() {
  const auto list = [](const auto& info) {
    print("{}\n  {}\n  source: {}; cost: {}\n", info.name, info.formula, info.source, info.cost);
  };
  const auto list_parameters = [](const std::vector<strategy::ParameterInfo>& parameters) {
    for (const strategy::ParameterInfo& p : parameters) {
      std::string values;
      for (const std::string& choice : p.choices) values += (values.empty() ? "" : "|") + choice;
      print("  :{}={}  {}{}\n", p.name, p.fallback, p.meaning, values.empty() ? "" : fmt::format(" ({})", values));
    }
  };
  print("{}", kSymbols);
  for (const strategy::StrategyInfo* info : strategy::registry().all()) list(*info), list_parameters(info->parameters);
  print("\nColumns of a formula (expr):\n");
  for (const strategy::ExpressionName& column : strategy::expression_columns())
    print("  {}  {}\n", column.name, column.meaning);
  print("\nFunctions of a formula:\n");
  for (const strategy::ExpressionName& function : strategy::expression_functions())
    print("  {}  {}\n", function.name, function.meaning);
  print("\nFor --rebalance:\n");
  for (const packing::RebalanceInfo& info : packing::rebalance_rules()) list(info);
  print("\nFor --queue:\n");
  for (const strategy::QueueInfo* info : strategy::queue_registry().all()) {
    list(*info), list_parameters(info->parameters);
    if (info->by_namespace) print("  :NAMESPACE=1  weight of a namespace, above 0\n");
  }
  print("\nFor --preemption:\n");
  for (const strategy::PreemptionInfo* info : strategy::preemption_registry().all())
    list(*info), list_parameters(info->parameters);
  return 0;
}

/// Names separated by commas. Commas inside parentheses belong to a formula: "fgd,expr:min(left_cpu,left_gpu)".
std::vector<std::string> split_names(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    std::string name;
    int open = 0;
    for (const char c : text) {
      open += c == '(' ? 1 : c == ')' && open > 0 ? -1 : 0;
      if (c != ',' || open > 0) {
        name += c;
      } else if (!name.empty()) {
        out.push_back(std::move(name)), name.clear();
      }
    }
    if (!name.empty()) out.push_back(std::move(name));
  }
  return out;
}

Result<std::vector<strategy::StrategySpec>> parse_strategies(const std::vector<std::string>& texts) {
  std::vector<strategy::StrategySpec> out;
  for (const std::string& text : texts) {
    auto spec = strategy::registry().parse(compare::from_published_name(text));
    if (!spec) return tl::unexpected(spec.error());
    for (const auto& other : out)
      if (other.text() == spec->text())
        return tl::unexpected(InputError{"--strategies", "", fmt::format("'{}' is named twice", text), "remove one"});
    out.push_back(std::move(*spec));
  }
  return out;
}

/// A pod list given by its short name or its file.
struct List {
  std::string name, path;
};

Result<std::vector<List>> lists_of(const Arguments& arguments) {
  std::vector<List> out;
  if (!arguments.pods.empty()) {
    out.push_back({fs::path(arguments.pods).stem().string(), arguments.pods});
    return out;
  }
  for (const std::string& name :
       arguments.lists.empty() ? std::vector<std::string>{"default", "cpu050"} : arguments.lists) {
    const std::vector<std::string> valid = {"default", "cpu050", "gpushare40", "gpuspec33", "multigpu20"};
    if (std::find(valid.begin(), valid.end(), name) == valid.end())
      return tl::unexpected(InputError{"--lists", "", fmt::format("there is no list '{}'", name.substr(0, 40)),
                                       strategy::nearest_and_valid(name, valid)});
    const std::string file = "openb_pod_list_" + name;
    auto path = sim::fetched_data("", "openb", file + ".csv");
    if (!path) return tl::unexpected(path.error());
    out.push_back({file, *path});
  }
  return out;
}

/// The published rows; missing files give none, invalid ones an error.
Result<std::vector<compare::PublishedRow>> published(const std::string& file) {
  const auto path = sim::fetched_data("", "openb", "expected/" + file);
  if (!path) return std::vector<compare::PublishedRow>{};
  const auto text = io::read_file(*path);
  if (!text) return tl::unexpected(text.error());
  return compare::parse_published(*text, *path);
}

int write_reports(const Arguments& arguments, const HtmlOutput& html, const json::Value& report, const std::string& csv,
                  const std::string& markdown) {
  for (const auto& [path, content] : {std::pair{arguments.json, json::to_text(report, 2) + "\n"},
                                      {arguments.csv, csv},
                                      {arguments.markdown, markdown}})
    if (const int code = Outputs::write(path, content); code != 0) return code;
  return html.write(report, arguments.json);
}

/// Checks before the work that all files can be written.
Result<HtmlOutput> prepare_outputs(const Arguments& arguments, const std::vector<std::string>& inputs) {
  Outputs outputs;
  for (const std::string& path : inputs) outputs.input(path);
  outputs.output("--json", arguments.json);
  outputs.output("--html", arguments.html);
  outputs.output("--csv", arguments.csv);
  outputs.output("--markdown", arguments.markdown);
  if (auto fine = outputs.check(); !fine) return tl::unexpected(fine.error());
  return HtmlOutput::prepare(arguments.html);
}

/// Input of the experiment.
struct Experiment {
  HtmlOutput html;
  std::vector<strategy::StrategySpec> specs;
  std::vector<std::int64_t> seeds;
  std::vector<List> lists;
  std::string nodes_path;
  std::vector<sim::OpenbNode> nodes;
  std::vector<compare::PublishedRow> allocation, ratio;
};
Result<Experiment> prepare_experiment(const Arguments& arguments) {
  if (arguments.experiment != "openb-atc23")
    return tl::unexpected(InputError{"--experiment", "",
                                     fmt::format("there is no experiment '{}'", arguments.experiment.substr(0, 40)),
                                     "valid: openb-atc23"});
  if (!arguments.workload.empty())
    return tl::unexpected(InputError{"berth compare", "", "names a workload and an experiment", "name one of them"});
  std::vector<std::string> names = arguments.strategies;
  if (names.empty()) names = {"random", "dot-product", "gpu-clustering", "gpu-packing", "gpu-best-fit", "fgd"};
  auto specs = parse_strategies(names);
  if (!specs) return tl::unexpected(specs.error());
  auto seeds = compare::parse_seeds(arguments.seeds.empty() ? "42..51" : arguments.seeds, 42);
  if (!seeds) return tl::unexpected(seeds.error());
  auto lists = lists_of(arguments);
  if (!lists) return tl::unexpected(lists.error());
  auto nodes_path = arguments.nodes.empty() ? sim::fetched_data("", "openb", "openb_node_list_gpu_node.csv")
                                            : Result<std::string>(arguments.nodes);
  if (!nodes_path) return tl::unexpected(nodes_path.error());
  std::vector<std::string> inputs = {*nodes_path};
  for (const List& list : *lists) inputs.push_back(list.path);
  auto html = prepare_outputs(arguments, inputs);
  if (!html) return tl::unexpected(html.error());
  const auto nodes_text = io::read_file(*nodes_path);
  if (!nodes_text) return tl::unexpected(nodes_text.error());
  auto nodes = sim::parse_openb_nodes(*nodes_text, *nodes_path);
  if (!nodes) return tl::unexpected(nodes.error());
  auto allocation = published("analysis_allo_discrete.csv");
  if (!allocation) return tl::unexpected(allocation.error());
  auto ratio = published("analysis_frag_ratio_discrete.csv");
  if (!ratio) return tl::unexpected(ratio.error());
  return Experiment{std::move(*html),       std::move(*specs), std::move(*seeds),      std::move(*lists),
                    std::move(*nodes_path), std::move(*nodes), std::move(*allocation), std::move(*ratio)};
}

/// Collected reports of the lists.
struct ExperimentReports {
  json::Value results = json::Value::array();
  std::string curves, markdown;
  std::vector<compare::Agreement> agreement;
  bool partial = false;
};
Result<void> run_list(const Arguments& arguments, const Experiment& with, const List& list, ExperimentReports& out) {
  const auto text = io::read_file(list.path);
  if (!text) return tl::unexpected(text.error());
  auto tasks = sim::parse_openb_tasks(*text, list.path, false);
  if (!tasks) return tl::unexpected(tasks.error());
  const auto input = packing::openb_input(with.nodes, with.nodes_path, std::move(*tasks));
  if (!input) return tl::unexpected(input.error());
  const auto result = compare::run_experiment(*input, list.name,
                                              {.strategies = with.specs,
                                               .seeds = with.seeds,
                                               .tune_milli = static_cast<std::int64_t>(arguments.tune * 1000 + 0.5),
                                               .threads = arguments.threads,
                                               .quiet = arguments.quiet});
  if (!result) return tl::unexpected(result.error());
  out.partial |= result->partial;
  if (arguments.placements_digest)
    print("{}", compare::digest_lines(*result));
  else
    print("{}\n", compare::experiment_table(*result, arguments.width()));
  // A user's list may have the name of a published one, so only fetched lists are compared with the rows.
  std::vector<compare::Agreement> here;
  if (arguments.pods.empty() && arguments.nodes.empty() && arguments.tune == 1.3 && !result->partial)
    here = compare::check_published(*result, with.allocation, with.ratio);
  out.results.push(compare::experiment_json(*result));
  const std::string curves = compare::curves_csv(*result);
  out.curves += out.curves.empty() ? curves : curves.substr(curves.find('\n') + 1);  // only one head
  out.markdown += compare::experiment_markdown(*result, here) + "\n";
  out.agreement.insert(out.agreement.end(), here.begin(), here.end());
  return {};
}

json::Value agreement_json(const std::vector<compare::Agreement>& agreement) {
  json::Value out = json::Value::array();
  for (const compare::Agreement& a : agreement)
    out.push(json::Object{{"list", a.list},
                          {"strategy", a.strategy},
                          {"holds", a.holds()},
                          {"rows", a.rows},
                          {"rows_equal", a.rows_equal},
                          {"columns", a.columns},
                          {"columns_equal", a.columns_equal},
                          {"digests", a.digests},
                          {"digests_equal", a.digests - a.digests_wrong.size()},
                          {"allocation_percent", compare::curve_json(a.allocation_published)},
                          {"fragment_ratio_percent", compare::curve_json(a.ratio_published)}});
  return out;
}

int run_experiment(const Arguments& arguments) {
  const auto with = prepare_experiment(arguments);
  if (!with) return report_error(with.error(), 2);
  const run::InterruptGuard guard;
  ExperimentReports reports;
  for (const List& list : with->lists) {
    if (const auto done = run_list(arguments, *with, list, reports); !done) return report_error(done.error(), 2);
    if (reports.partial) break;
  }
  std::size_t rows = 0;
  bool holds = true;
  for (const compare::Agreement& a : reports.agreement) rows += a.rows, holds &= a.holds();
  if (!arguments.placements_digest && !reports.agreement.empty())
    print("{}  {}\n", compare::agreement_table(reports.agreement, arguments.width()),
          rows == 0 ? "no published rows are there; run datasets/fetch.sh openb"
          : holds   ? "full agreement with the published rows"
                    : "NOT in agreement with the published rows");
  json::Value report = compare::report_head("berth-compare-experiment", arguments.experiment);
  report.set("experiment", arguments.experiment);
  report.set("results", std::move(reports.results));
  report.set("published", agreement_json(reports.agreement));
  if (const int code = write_reports(arguments, with->html, report, reports.curves, reports.markdown); code != 0)
    return code;
  if (reports.partial) return 4;
  return holds ? 0 : 3;
}

/// Sums defined in the workload file, and strategies by name.
Result<std::vector<compare::NamedStrategy>> named_strategies(const sim::Workload& workload,
                                                             const std::vector<std::string>& texts) {
  std::vector<compare::NamedStrategy> out;
  for (const std::string& text : texts) {
    auto spec = sim::named_strategy(workload, text);
    if (!spec) return tl::unexpected(spec.error());
    for (const auto& other : out)
      if (other.name == text || other.spec.text() == spec->text())
        return tl::unexpected(InputError{"--strategies", "", fmt::format("'{}' is named twice", text), "remove one"});
    out.push_back({text, std::move(*spec)});
  }
  return out;
}

/// Common input of comparisons over a workload.
struct Prepared {
  HtmlOutput html;
  std::string text;  ///< of the workload file
  sim::Workload workload;
  std::vector<compare::NamedStrategy> strategies;
  std::vector<std::int64_t> seeds;
};
Result<Prepared> prepare(const Arguments& arguments, const std::vector<std::string>& default_strategies) {
  Prepared out;
  const auto path = sim::find_workload(arguments.workload);
  if (!path) return tl::unexpected(path.error());
  auto workload = sim::read_workload(*path, arguments.label);
  if (!workload) return tl::unexpected(workload.error());
  auto html = prepare_outputs(arguments, sim::files_of(*workload));
  if (!html) return tl::unexpected(html.error());
  std::error_code error;
  auto text = std::filesystem::is_directory(*path, error) ? std::string() : io::read_file(*path);
  if (!text) return tl::unexpected(text.error());
  std::vector<std::string> names = arguments.strategies.empty() ? default_strategies : arguments.strategies;
  if (workload->life && arguments.strategies.empty())  // there a strategy scores the fit, which a random one cannot
    std::erase_if(names, [](const std::string& name) {
      const strategy::StrategyInfo* info = strategy::registry().find(name);
      return info && info->samples;
    });
  auto strategies = named_strategies(*workload, names);
  if (!strategies) return tl::unexpected(strategies.error());
  auto seeds =
      compare::parse_seeds(arguments.seeds.empty() ? "5" : arguments.seeds, static_cast<std::int64_t>(workload->seed));
  if (!seeds) return tl::unexpected(seeds.error());
  return Prepared{std::move(*html), std::move(*text), std::move(*workload), std::move(*strategies), std::move(*seeds)};
}

/// Rules to compare, with tasks placed by one strategy. `find` stores the rule of a name in a NamedStrategy, or returns
/// an error.
template <class Find>
Result<std::vector<compare::NamedStrategy>> named_rules(const char* option,
                                                        const std::vector<compare::NamedStrategy>& placed_by,
                                                        const std::vector<std::string>& names, Find find) {
  if (placed_by.size() != 1)
    return tl::unexpected(InputError{"--strategies", "",
                                     fmt::format("{} is compared with several strategies that place", option),
                                     "name one, e.g. --strategies best-fit"});
  std::vector<compare::NamedStrategy> out;
  for (const std::string& name : names) {
    compare::NamedStrategy named{name, placed_by.front().spec};
    if (const Result<void> found = find(name, named); !found) return tl::unexpected(found.error());
    for (const auto& other : out)
      if (other.name == name)
        return tl::unexpected(InputError{option, "", fmt::format("'{}' is named twice", name), "remove one"});
    out.push_back(std::move(named));
  }
  return out;
}

int run_workload_grid(const Arguments& arguments) {
  const bool preempts = !arguments.preemption.empty(), rebalances = !arguments.rebalance.empty();
  const bool queues = !arguments.queue.empty();
  auto prepared =
      prepare(arguments, preempts || rebalances || queues
                             ? std::vector<std::string>{"nomad-binpack"}
                             : std::vector<std::string>{"nomad-binpack", "best-fit", "worst-fit", "tetris", "least-max",
                                                        "kubernetes-default", "first-fit", "random"});
  if (!prepared) return report_error(prepared.error(), 2);
  if (queues && !arguments.strategies.empty()) prepared->workload.strategy = prepared->strategies.front().spec.text();
  const auto compared =
      queues       ? named_rules("--queue", prepared->strategies, arguments.queue, compare::find_queue)
      : preempts   ? named_rules("--preemption", prepared->strategies, arguments.preemption, compare::find_preemption)
      : rebalances ? named_rules("--rebalance", prepared->strategies, arguments.rebalance, compare::find_rebalance)
                   : prepared->strategies;
  if (!compared) return report_error(compared.error(), 2);
  const auto budgets = compare::parse_budget("--budget", arguments.budget);
  if (!budgets) return report_error(budgets.error(), 2);
  const auto eligible = compare::parse_eligibility("--eligible", arguments.eligible);
  if (!eligible) return report_error(eligible.error(), 2);
  const run::InterruptGuard guard;
  const auto result = compare::run_grid(prepared->workload, prepared->text,
                                        {.strategies = *compared,
                                         .seeds = prepared->seeds,
                                         .eligible = *eligible,
                                         .budgets = *budgets,
                                         .ratio = arguments.ratio,
                                         .threads = arguments.threads,
                                         .resume = arguments.resume,
                                         .quiet = arguments.quiet});
  if (!result) return report_error(result.error(), 2);
  print("{}", compare::grid_table(*result, arguments.width()));
  const int code = write_reports(arguments, prepared->html, compare::grid_json(*result), compare::grid_csv(*result),
                                 compare::grid_markdown(*result));
  return code != 0 ? code : result->partial ? 4 : 0;
}

int run_sizing(const Arguments& arguments) {
  const auto prepared = prepare(arguments, {"nomad-binpack", "best-fit", "worst-fit", "tetris", "first-fit"});
  if (!prepared) return report_error(prepared.error(), 2);
  compare::SizingOptions options{.strategies = prepared->strategies,
                                 .seeds = prepared->seeds,
                                 .threads = arguments.threads,
                                 .resume = arguments.resume,
                                 .workload_text = prepared->text,
                                 .quiet = arguments.quiet};
  if (!arguments.task.empty()) {
    const auto task = compare::parse_task(arguments.task);
    if (!task) return report_error(task.error(), 2);
    options.task = *task, options.task_words = arguments.task;
  }
  using strategy::OfflineOrder;
  options.order = arguments.packing_order == "sum"       ? OfflineOrder::sum
                  : arguments.packing_order == "product" ? OfflineOrder::product
                  : arguments.packing_order == "max"     ? OfflineOrder::max
                                                         : OfflineOrder::arrival;
  const run::InterruptGuard guard;
  const auto report = [&](const auto& result, const auto& rows, const json::Value& json, const std::string& csv) {
    print("{}\n{}", compare::headline(result), compare::text_table(rows(result, false), arguments.width()));
    const int code = write_reports(arguments, prepared->html, json, csv,
                                   compare::headline(result) + "\n" + compare::markdown_table(rows(result, true)));
    return code != 0 ? code : result.partial ? 4 : 0;
  };
  if (arguments.capacity) {
    const auto result = compare::measure_capacities(prepared->workload, options);
    if (!result) return report_error(result.error(), 2);
    return report(*result, compare::capacity_rows, compare::capacity_json(*result), compare::capacity_csv(*result));
  }
  const auto result = compare::minimum_nodes(prepared->workload, options);
  if (!result) return report_error(result.error(), 2);
  return report(*result, compare::minimum_rows, compare::minimum_json(*result), compare::minimum_csv(*result));
}

/// Refuses options that have no effect with the chosen kind of comparison, because the user expected one.
Result<void> check_together(const CLI::App& command) {
  const auto given = [&](const char* option) { return command.get_option(option)->count() > 0; };
  const char* chosen = nullptr;
  for (const char* choice :
       {"--experiment", "--capacity", "--minimum-nodes", "--preemption", "--rebalance", "--queue"}) {
    if (!given(choice)) continue;
    if (chosen)
      return tl::unexpected(
          InputError{"berth compare", "", fmt::format("{} and {} at once", chosen, choice), "name one of them"});
    chosen = choice;
  }
  struct Belongs {
    const char* option;
    std::vector<std::string_view> with;  ///< "": with none of the choices
  };
  static const Belongs kBelongs[] = {
      {"--label", {"", "--capacity", "--minimum-nodes", "--preemption", "--rebalance", "--queue"}},
      {"--resume", {"", "--capacity", "--minimum-nodes", "--preemption", "--rebalance", "--queue"}},
      {"--eligible", {"--preemption"}},
      {"--budget", {"--preemption"}},
      {"--ratio", {"--rebalance"}},
      {"--task", {"--capacity"}},
      {"--packing-order", {"--minimum-nodes"}},
      {"--lists", {"--experiment"}},
      {"--pod-list", {"--experiment"}},
      {"--node-list", {"--experiment"}},
      {"--tune", {"--experiment"}},
      {"--placements-digest", {"--experiment"}}};
  for (const Belongs& one : kBelongs)
    if (given(one.option) && std::find(one.with.begin(), one.with.end(), chosen ? chosen : "") == one.with.end())
      return tl::unexpected(
          InputError{one.option, "",
                     fmt::format("says nothing {} {}", chosen ? "with" : "without", chosen ? chosen : one.with.front()),
                     one.with.front().empty() ? "leave it out" : fmt::format("add {}", one.with.front())});
  if (given("--pod-list") && given("--lists"))
    return tl::unexpected(InputError{"berth compare", "", "--pod-list and --lists at once", "name one of them"});
  return {};
}

int compare_command(const Arguments& arguments, const CLI::App& command) {
  if (arguments.list_strategies) return list_strategies();
  if (const auto fine = check_together(command); !fine) return report_error(fine.error(), 2);
  if (!arguments.experiment.empty()) return run_experiment(arguments);
  if (arguments.workload.empty())
    return report_error(
        {"berth compare", "", "no workload or experiment was named", "name one, e.g. --experiment openb-atc23"}, 2);
  return arguments.capacity || arguments.minimum_nodes ? run_sizing(arguments) : run_workload_grid(arguments);
}

template <class Catalogue>
std::string names_of(const Catalogue& catalogue) {
  std::string out;
  for (const auto* info : catalogue.all()) out += (out.empty() ? "" : ", ") + info->name;
  return out;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("compare", "compare strategies side by side, with their spread over seeds");
  command->add_option(
      "workload", arguments->workload,
      "a workload file, the name of one in bench/macro, a cluster in files, as `berth import` reads it, or a "
      "performance-config.yaml of Kubernetes' scheduler_perf");
  command->add_option("--label", arguments->label, "size of the workload: smoke, full or another that its file lists")
      ->type_name("LABEL")
      ->capture_default_str();
  command
      ->add_option("--resume", arguments->resume,
                   "file of finished runs: these are not repeated, and new runs are added to it")
      ->type_name("FILE");
  command
      ->add_option("--preemption", arguments->preemption,
                   "compare these preemption rules instead: " + names_of(strategy::preemption_registry()) +
                       "; see --list-strategies")
      ->type_name("RULE,...")
      ->delimiter(',');
  command->add_option("--eligible", arguments->eligible, "with --preemption: the tasks that a task may evict")
      ->capture_default_str()
      ->check(CLI::IsMember({"nomad", "kubernetes"}));
  command
      ->add_option("--budget", arguments->budget,
                   "with --preemption: disruption budget of a group, for the rules of Kubernetes: none, migrate (as "
                   "its migrate block says), or a number of tasks")
      ->type_name("TASKS")
      ->capture_default_str();
  command
      ->add_option("--rebalance", arguments->rebalance,
                   "compare these rules for moving tasks after all are placed: cosine, fragments-one, fragments-many")
      ->type_name("MOVES,...")
      ->delimiter(',');
  command
      ->add_option("--queue", arguments->queue,
                   fmt::format("compare these queue policies instead, the order in which waiting jobs are served: {}",
                               queue_names()))
      ->type_name("POLICY,...")
      ->delimiter(',');
  command->add_option("--ratio", arguments->ratio, "with --rebalance: share of the placed tasks that may be moved")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command->add_flag("--capacity", arguments->capacity, "show how many more tasks fit after the workload");
  command->add_option("--task", arguments->task, "with --capacity: the task to add, e.g. cpu=1000,memory=512,gpus=1")
      ->type_name("RESOURCES");
  command->add_flag(
      "--minimum-nodes", arguments->minimum_nodes,
      "find the smallest number of nodes of each class that holds the workload, with a lower bound for any strategy");
  command
      ->add_option("--packing-order", arguments->packing_order,
                   "with --minimum-nodes: order in which tasks are packed: as they arrive, or largest first by sum, "
                   "product or max")
      ->capture_default_str()
      ->check(CLI::IsMember({"arrival", "sum", "product", "max"}));
  command->add_option("--experiment", arguments->experiment, "repeat a published experiment: openb-atc23")
      ->type_name("NAME");
  command
      ->add_option("--strategies", arguments->strategies,
                   "names, with parameters such as best-fit:norm=max, and formulas, e.g. "
                   "'expr:-max(left_cpu/total_cpu,left_memory/total_memory)'; see --list-strategies. Names: " +
                       names_of(strategy::registry()))
      ->type_name("STRATEGY,...");
  command->add_option("--seeds", arguments->seeds, "a number of seeds, a range 42..51, or a list 1,5,9")
      ->type_name("SEEDS");
  command
      ->add_option("--lists", arguments->lists,
                   "with --experiment: openb lists: default, cpu050, gpushare40, gpuspec33, multigpu20")
      ->type_name("LIST,...")
      ->delimiter(',');
  command->add_option("--pod-list", arguments->pods, "with --experiment: your own task list, in openb's format")
      ->type_name("FILE");
  command->add_option("--node-list", arguments->nodes, "with --experiment: your own node list, in openb's format")
      ->type_name("FILE");
  command
      ->add_option("--tune", arguments->tune,
                   "with --experiment: GPU demand of all arrivals as a multiple of the capacity; 0: the list unchanged")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command->add_flag("--placements-digest", arguments->placements_digest,
                    "with --experiment: print only list, strategy, seed and SHA-256 (16 digits) of all placements");
  command->add_option("--threads", arguments->threads, "threads to use; 0: one per core")->check(CLI::Range(0, 1024));
  command->add_option("--json", arguments->json, "write the report to this file")->type_name("FILE");
  command->add_option("--html", arguments->html, "write the report as one self-contained page to this file")
      ->type_name("FILE");
  command->add_option("--csv", arguments->csv, "write one line per run to this file; of the experiment, its curves")
      ->type_name("FILE");
  command->add_option("--markdown", arguments->markdown, "write a table for a pull request to this file")
      ->type_name("FILE");
  command->add_flag("--list-strategies", arguments->list_strategies,
                    "list the strategies, rules and policies with formula, source and cost");
  command->add_flag("--wide", arguments->wide, "do not break tables that are wider than the terminal");
  command->add_flag("--quiet", arguments->quiet, "print no progress");
  command->footer(
      "Exit code: 0 fine, 1 berth failed, 2 usage or bad input, 3 differs from the published rows, 4 interrupted.");
  add_examples(*command,
               {"berth compare quickstart --label smoke --strategies nomad-binpack,tetris --seeds 5",
                "berth compare quickstart --label smoke --queue fifo,shortest", "berth compare --list-strategies"});
  command->callback([arguments, command, &exit_code] {
    arguments->strategies = split_names(arguments->strategies);
    exit_code = compare_command(*arguments, *command);
  });
}

}  // namespace berth::cli
