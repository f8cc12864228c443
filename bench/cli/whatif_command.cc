#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "cli/step_options.h"
#include "run/interrupt.h"
#include "run/progress.h"
#include "whatif/text.h"

namespace berth::cli {
namespace {

/// Version of the JSON format; raised when the meaning of a member changes.
constexpr int kWhatIfVersion = 1;
constexpr int kNoPlace = 3;

struct WhatIfArguments {
  agent::SourceOptions sources;
  std::string cluster, json;
  bool verbose = false;
};

int run_whatif(const WhatIfArguments& arguments, const StepOptions& options) {
  const auto settings = options.settings();
  if (!settings) return report_error(settings.error(), 2);
  const auto steps = options.steps();
  if (!steps) return report_error(steps.error(), 2);
  if (steps->empty())
    return report_error({"berth whatif", "", "has no step", "write for example --drain meta.rack=r7"}, 2);
  Outputs outputs;
  outputs.input(arguments.cluster);
  for (const std::string& file : options.inputs()) outputs.input(file);
  outputs.output("--json", arguments.json);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  auto start = serve::prepare(
      {.source = arguments.cluster, .source_options = arguments.sources, .seed = options.seed(), .now_ns = clock_ns()});
  if (!start) return report_error(start.error(), 2);
  print_warnings(start->warnings);
  print_notes(start->notes);

  const run::InterruptGuard guard;  // finished steps are of use without the others
  whatif::WhatIf cluster(std::move(*start), *settings);
  std::string text = fmt::format("{}: {}\n", arguments.cluster, whatif::to_text(cluster.packing()));
  json::Value document = json::Value::object();
  document.set("format", "berth-whatif"), document.set("version", kWhatIfVersion);
  document.set("cluster", arguments.cluster), document.set("start", whatif::to_json(cluster.packing()));
  json::Value& reports = document.set("steps", json::Value::array());
  bool no_place = false;
  run::Progress progress("steps", steps->size(), false);
  std::size_t at = 0;
  for (; at < steps->size(); ++at) {
    const whatif::Step& step = (*steps)[at];
    progress.update(at, true);
    const auto report = cluster.take(step);
    if (!report)
      return report_error({"berth whatif", fmt::format("step {}", at + 1),
                           fmt::format("'{}': {}", base::shown(step.words), report.error()), ""},
                          2);
    if (run::interrupted()) break;  // during this step
    run::take_time_to_stop();
    for (const whatif::Waiting& one : report->waiting) no_place = no_place || !one.before;
    text += "\n" + whatif::to_text(*report, at + 1, arguments.verbose);
    reports.push(whatif::to_json(*report));
  }
  run::stopped();
  progress.finish();
  print("{}", text);  // only now: a step that cannot be made leaves nothing written
  if (at < steps->size()) {
    fmt::print(stderr, "berth: interrupted; {} of {} steps are reported{}\n", at, steps->size(),
               arguments.json.empty() ? "" : ", and none in " + arguments.json);
    return run::kInterrupted;
  }
  if (Outputs::write(arguments.json, json::to_text(document, 2) + "\n") != 0) return 1;
  return no_place ? kNoPlace : 0;
}

}  // namespace

void add_whatif(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<WhatIfArguments>();
  CLI::App* command = app.add_subcommand("whatif", "show the effect of draining, losing or adding nodes, or new jobs");
  command
      ->add_option("cluster", arguments->cluster,
                   "a cluster as `berth import` reads it, or a workload; it is read, never written")
      ->required();
  add_source_options(*command, arguments->sources);
  const auto options = std::make_shared<StepOptions>(*command, "berth whatif");
  command->add_flag("--verbose", arguments->verbose, "show all rows of the tables");
  command->add_option("--json", arguments->json, "write the reports of all steps to this file")->type_name("FILE");
  command->footer(std::string(StepOptions::kFooter) +
                  "Exit code: 0 fine, 1 berth failed, 2 usage, bad input or a step that cannot be made, 3 an "
                  "allocation that ran, or was added, is left without a node, 4 interrupted: the finished steps are "
                  "printed.");
  add_examples(*command, {"berth whatif cluster.json --drain client-1 --deadline 30m",
                          "berth whatif cluster.json --lose datacenter=dc1 --add 2 --like client-1",
                          "berth whatif cluster.json --register web.hcl"});
  command->callback([arguments, options, &exit_code] { exit_code = run_whatif(*arguments, *options); });
}

}  // namespace berth::cli
