#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/duration.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/files.h"
#include "run/progress.h"
#include "whatif/text.h"

namespace berth::cli {
namespace {

/// Of the JSON; a change of meaning raises it.
constexpr int kWhatIfVersion = 1;
constexpr int kNoPlace = 3;

struct WhatIfArguments {
  std::string cluster, steps_file, deadline = "1h", start_delay = "1s", step_time = "4h", prices, json;
  std::map<const CLI::Option*, whatif::Change> changes;
  std::map<const CLI::Option*, std::vector<std::string>> values;  // of step options, each word by itself
  const CLI::Option *like = nullptr, *shape = nullptr;
  std::int64_t at_once = 1;
  std::uint64_t seed = 1;
  bool verbose = false;
};

int bad(const std::string& place, const std::string& problem, const std::string& remedy = "") {
  return report_error({"berth whatif", place, problem, remedy}, 2);
}

/// The steps on the command line, in its order.
Result<std::vector<whatif::Step>> steps_of(const WhatIfArguments& arguments, const CLI::App& command) {
  std::vector<whatif::Step> out;
  std::map<const CLI::Option*, std::size_t> taken;
  std::vector<std::string> words;
  const auto fail = [](const CLI::Option* option, const std::string& problem, const std::string& remedy = "") {
    return tl::unexpected(InputError{"berth whatif", option->get_name(), problem, remedy});
  };
  const CLI::Option* open = nullptr;  // an --add without its model
  for (const CLI::Option* option : command.parse_order()) {
    const auto found = arguments.values.find(option);
    if (found == arguments.values.end()) continue;
    words.push_back(found->second.at(taken[option]++));
    if (option == arguments.like || option == arguments.shape) {
      if (!open) return fail(option, "has no --add before it", "write --add N --like NODE");
      auto done = option == arguments.like ? whatif::with_like(out.back(), words.front())
                                           : whatif::with_shape(out.back(), words.front());
      if (!done) return fail(option, done.error());
      open = nullptr, words.clear();
      continue;
    }
    if (open) break;
    const whatif::Change change = arguments.changes.at(option);
    if (words.size() < static_cast<std::size_t>(option->get_type_size())) continue;
    auto step = whatif::make_step(change, words);
    if (!step) return fail(option, step.error());
    out.push_back(std::move(*step)), words.clear();
    if (change == whatif::Change::add) open = option;
  }
  if (open)
    return fail(open, "does not say which nodes", "write --like NODE or --shape cpu=8000,memory=16384 behind it");
  return out;
}

/// Lines "SELECTOR PRICE".
Result<std::vector<std::pair<whatif::Selector, double>>> read_prices(const std::string& path) {
  const auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  std::vector<std::pair<whatif::Selector, double>> out;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::string line(base::trim_space(std::string_view(*text).substr(begin, end - begin)));
    begin = end + 1, ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find_last_of(" \t");
    const auto price = space == std::string::npos ? std::nullopt : base::parse_double(line.substr(space + 1));
    auto nodes = whatif::Selector::parse(base::trim_space(std::string_view(line).substr(0, space)));
    if (!price || !(*price >= 0) || !nodes)
      return tl::unexpected(InputError{path, std::to_string(number), "is no selector of nodes and a price an hour",
                                       "write for example: class=large 0.38"});
    out.emplace_back(std::move(*nodes), *price);
  }
  return out;
}

std::optional<std::int64_t> time_of(const std::string& text, std::int64_t least) {
  const auto ns = base::parse_duration(text);
  return ns && *ns >= least ? ns : std::nullopt;
}

int run_whatif(const WhatIfArguments& arguments, const CLI::App& command) {
  whatif::Settings settings;
  const auto deadline = arguments.deadline == "none"    ? std::optional<std::int64_t>(0)
                        : arguments.deadline == "force" ? std::optional<std::int64_t>(-1)
                                                        : time_of(arguments.deadline, 1);
  if (!deadline)
    return bad("--deadline", "'" + base::shown(arguments.deadline) + "' is no duration", "write 30m, none or force");
  const auto delay = time_of(arguments.start_delay, 0), most = time_of(arguments.step_time, base::kSecond);
  if (!delay)
    return bad("--start-delay", "'" + base::shown(arguments.start_delay) + "' is no duration", "write for example 10s");
  if (!most)
    return bad("--step-time", "'" + base::shown(arguments.step_time) + "' is no duration of 1s or more",
               "write for example 4h");
  settings.drain_deadline_ns = *deadline, settings.start_delay_ns = *delay, settings.step_most_ns = *most;
  settings.at_once = arguments.at_once;
  auto steps = steps_of(arguments, command);
  if (!steps) return report_error(steps.error(), 2);
  if (!arguments.steps_file.empty()) {
    auto more = whatif::read_steps(arguments.steps_file);
    if (!more) return report_error(more.error(), 2);
    for (whatif::Step& step : *more) steps->push_back(std::move(step));
  }
  if (steps->empty()) return bad("", "has no step", "write for example --drain meta.rack=r7");
  if (!arguments.prices.empty()) {
    auto prices = read_prices(arguments.prices);
    if (!prices) return report_error(prices.error(), 2);
    settings.prices = std::move(*prices);
  }
  Outputs outputs;
  for (const std::string& file : {arguments.cluster, arguments.steps_file, arguments.prices}) outputs.input(file);
  outputs.output("--json", arguments.json);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  serve::StartOptions options;
  options.source = arguments.cluster, options.seed = arguments.seed, options.now_ns = clock_ns();
  auto start = serve::prepare(options);
  if (!start) return report_error(start.error(), 2);
  print_warnings(start->warnings);

  whatif::WhatIf cluster(std::move(*start), settings);
  print("{}: {}\n", arguments.cluster, whatif::to_text(cluster.packing()));
  json::Value document = json::Value::object();
  document.set("format", "berth-whatif"), document.set("version", kWhatIfVersion);
  document.set("cluster", arguments.cluster), document.set("start", whatif::to_json(cluster.packing()));
  json::Value& reports = document.set("steps", json::Value::array());
  bool no_place = false;
  run::Progress progress("steps", steps->size(), false);
  for (std::size_t at = 0; at < steps->size(); ++at) {
    const whatif::Step& step = (*steps)[at];
    progress.update(at, true);
    const auto report = cluster.take(step);
    if (!report)
      return bad(fmt::format("step {}", at + 1), fmt::format("'{}': {}", base::shown(step.words), report.error()));
    for (const whatif::Waiting& one : report->waiting) no_place = no_place || !one.before;
    print("\n{}", whatif::to_text(*report, at + 1, arguments.verbose));
    reports.push(whatif::to_json(*report));
  }
  if (Outputs::write(arguments.json, json::to_text(document, 2) + "\n") != 0) return 1;
  return no_place ? kNoPlace : 0;
}

}  // namespace

void add_whatif(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<WhatIfArguments>();
  CLI::App* command = app.add_subcommand(
      "whatif", "what would happen if nodes were drained, lost or added, or jobs changed: one step after the other");
  command
      ->add_option("cluster", arguments->cluster,
                   "a cluster as `berth import` reads it, or a workload; it is read, never written")
      ->required();
  // An option of a step is told once for each of its words, so that steps can be made in the order of the command line.
  for (const whatif::StepName& name : whatif::step_names()) {
    const bool two = name.takes.find(' ') != std::string_view::npos;
    CLI::Option* option = command->add_option_function<std::vector<std::string>>(
        fmt::format("--{}", name.name), [](const std::vector<std::string>&) {}, std::string(name.about));
    option->type_name(std::string(name.takes))->type_size(two ? 2 : 1)->allow_extra_args(false);
    arguments->changes.emplace(option, name.change);
  }
  const auto model = [&](const char* name, const char* takes, const char* about) {
    CLI::Option* option = command->add_option_function<std::vector<std::string>>(
        name, [](const std::vector<std::string>&) {}, about);
    option->type_name(takes)->type_size(1)->allow_extra_args(false);
    return option;
  };
  arguments->like = model("--like", "NODE", "of the --add before it: copies of this node");
  arguments->shape =
      model("--shape", "SHAPE", "of the --add before it: for example cpu=8000,memory=16384,disk=100000 (MHz, MiB)");
  command->add_option("--steps", arguments->steps_file, "further steps, one a line, as the options without dashes")
      ->type_name("FILE");
  command->add_option("--deadline", arguments->deadline, "of drains: a duration, none or force")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--at-once", arguments->at_once, "nodes that --upgrade drains at once")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--start-delay", arguments->start_delay, "from placing an allocation until its tasks run")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--step-time", arguments->step_time, "virtual time that a step may take at most")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--prices", arguments->prices, "lines `NODES PRICE`: what nodes cost an hour; the first that fits")
      ->type_name("FILE");
  command->add_option("--seed", arguments->seed, "seed of all random draws")->capture_default_str();
  command->add_flag("--verbose", arguments->verbose, "show all rows of the tables");
  command->add_option("--json", arguments->json, "write the reports of all steps to this file")->type_name("FILE");
  command->footer(
      "NODES: a name, the beginning of an ID, KEY=VALUE terms joined by commas (name, id, datacenter, pool, class, "
      "attr.NAME, meta.NAME; a value may end in *), or all. JOB: an ID, or ID@NAMESPACE.\n"
      "Exit code: 0 fine, 1 berth failed, 2 usage, bad input or a step that cannot be made, 3 something that ran, or "
      "was added, is left without a place.");
  command->callback([arguments, command, &exit_code] {
    for (const auto& [option, change] : arguments->changes) arguments->values[option] = option->results();
    for (const CLI::Option* option : {arguments->like, arguments->shape}) arguments->values[option] = option->results();
    exit_code = run_whatif(*arguments, *command);
  });
}

}  // namespace berth::cli
