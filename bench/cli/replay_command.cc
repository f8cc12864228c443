#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "record/text.h"

namespace berth::cli {
namespace {

/// Version of the JSON format; raised when the meaning of a member changes.
constexpr int kReplayVersion = 1;
constexpr int kReplayDiffers = 3, kNothingCompared = 4;

struct ReplayArguments {
  std::string recording, json;
  record::OtherSettings settings;
  bool verbose = false, live = false;
};

int run_replay(const ReplayArguments& arguments) {
  Outputs outputs;
  outputs.input(arguments.recording);
  outputs.output("--json", arguments.json);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  auto recording = record::Recording::open(arguments.recording);
  if (!recording) return report_error(recording.error(), 2);
  json::Value document = json::Value::object();
  document.set("format", "berth-replay"), document.set("version", kReplayVersion);
  document.set("recording_file", arguments.recording);
  json::Value& settings = document.set("settings", json::Value::object());
  settings.set("algorithm", arguments.settings.algorithm), settings.set("strategy", arguments.settings.strategy);
  json::Value& preemption = settings.set("preemption", json::Value::array());
  for (const std::string& kind : arguments.settings.preemption) preemption.push(kind);
  const auto write = [&] { return Outputs::write(arguments.json, json::to_text(document, 2) + "\n"); };
  if (arguments.live) {
    const auto report = record::live_on(*recording, arguments.settings);
    if (!report) return report_error(report.error(), 2);
    print_warnings(report->notes);
    print("{}", record::to_text(*report, arguments.settings));
    document.set("life", record::to_json(*report));
    return write() != 0 ? 1 : 0;
  }
  const auto report = record::replay(*recording, arguments.settings);
  if (!report) return report_error(report.error(), 2);
  print_warnings(report->notes);
  print("{}", record::to_text(*report, arguments.settings, arguments.verbose));
  document.set("replay", record::to_json(*report));
  if (write() != 0) return 1;
  if (report->compared == 0) return kNothingCompared;
  return arguments.settings.empty() && !report->different.empty() ? kReplayDiffers : 0;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "compare a recording's decisions with berth's, or other settings");
  command->add_option("recording", arguments->recording, "a file of `berth record`, plain or gzip")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--algorithm", arguments->settings.algorithm,
          "decide as if the cluster's scheduler algorithm were binpack or spread; a pool's own algorithm stays")
      ->type_name("NAME");
  command
      ->add_option("--preemption", arguments->settings.preemption,
                   "decide as if preemption for service, batch, system or sysbatch jobs were on or off")
      ->type_name("KIND=on|off");
  command
      ->add_option(
          "--strategy", arguments->settings.strategy,
          "ranking strategy that replaces Nomad's fit score: NAME, NAME:KEY=VALUE or expr:FORMULA (see berth compare "
          "--list-strategies)")
      ->type_name("STRATEGY");
  CLI::Option* live = command->add_flag(
      "--live", arguments->live,
      "simulate the cluster with berth's own decisions: jobs, failures and drains come from the recording, and the "
      "report compares both clusters over time");
  command->add_flag("--verbose", arguments->verbose, "show every evaluation that differs")->excludes(live);
  command->add_option("--json", arguments->json, "write the report to this file")->type_name("FILE");
  command->footer(
      "Exit code: 0 all that was compared is equal, or other settings or --live were given, 1 berth failed, 2 usage or "
      "bad input, 3 an evaluation differs, 4 nothing could be compared.");
  add_examples(*command, {"berth replay recording.jsonl", "berth replay recording.jsonl --live --algorithm spread"});
  command->callback([arguments, &exit_code] { exit_code = run_replay(*arguments); });
}

}  // namespace berth::cli
