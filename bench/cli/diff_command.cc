#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "diff/text.h"
#include "dryrun/request.h"
#include "record/between.h"
#include "record/text.h"

namespace berth::cli {
namespace {

/// Version of the JSON format; raised when the meaning of a member changes.
constexpr int kDiffVersion = 1;
constexpr int kDiffers = 3;

struct DiffArguments {
  agent::SourceOptions sources;
  std::string before, after, json;
  bool verbose = false, exit_code = false, decisions = false;
};

int run_diff(const DiffArguments& arguments) {
  Outputs outputs;
  outputs.input(arguments.before), outputs.input(arguments.after);
  outputs.output("--json", arguments.json);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  agent::SourceOptions sources = arguments.sources;
  sources.import.now_ns = clock_ns();
  const auto before = dryrun::read_cluster(arguments.before, {}, {}, sources);
  if (!before) return report_error(before.error(), 2);
  const auto after = dryrun::read_cluster(arguments.after, {}, {}, sources);
  if (!after) return report_error(after.error(), 2);
  for (const auto* cluster : {&*before, &*after}) print_warnings(cluster->warnings), print_notes(cluster->notes);

  const diff::Report report = diff::compare(before->state, after->state);
  if (!report.related)
    return report_error({arguments.after, "", fmt::format("has no node, job or allocation of {}", arguments.before),
                         "name two states of one cluster"},
                        2);
  if (report.after.ns < report.before.ns && report.after.index < report.before.index)
    print_warnings(
        {fmt::format("{} is older than {}; name the earlier state first", arguments.after, arguments.before)});
  print("{}", diff::to_text(report, arguments.verbose));
  json::Value document = json::Value::object();
  document.set("format", "berth-diff"), document.set("version", kDiffVersion);
  document.set("a", arguments.before), document.set("b", arguments.after);
  document.set("differences", diff::to_json(report));
  if (arguments.decisions) {
    record::Between between(before->state, after->state);
    record::Report decided;
    if (auto done = record::decide_again(between, {}, decided); !done) return report_error(done.error(), 2);
    print("\nDecisions between A and B, made again\n{}", record::decisions_text(decided, arguments.verbose));
    record::add_decisions(decided, document.set("decisions", json::Value::object()));
  }
  if (Outputs::write(arguments.json, json::to_text(document, 2) + "\n") != 0) return 1;
  return arguments.exit_code && !report.empty() ? kDiffers : 0;
}

}  // namespace

void add_diff(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App* command = app.add_subcommand("diff", "compare two states of a cluster");
  command
      ->add_option("before", arguments->before,
                   "the earlier state: a cluster as `berth import` reads it, or a workload")
      ->type_name("CLUSTER")
      ->required();
  command->add_option("after", arguments->after, "the later state")->type_name("CLUSTER")->required();
  add_source_options(*command, arguments->sources);
  command->add_flag("--decisions", arguments->decisions,
                    "also decide the evaluations between the two states again, as far as they show the cluster at that "
                    "time, and compare");
  command->add_flag("--exit-code", arguments->exit_code, "exit with 3 if something differs");
  command->add_flag("--verbose", arguments->verbose, "show all rows of the tables");
  command->add_option("--json", arguments->json, "write the differences to this file")->type_name("FILE");
  command->footer("Exit code: 0 fine, 1 berth failed, 2 usage or bad input, 3 with --exit-code: something differs.");
  add_examples(*command,
               {"berth diff before.json after.json", "berth diff before.json after.json --decisions --exit-code"});
  command->callback([arguments, &exit_code] { exit_code = run_diff(*arguments); });
}

}  // namespace berth::cli
