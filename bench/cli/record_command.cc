#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/duration.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/event_frame.h"
#include "record/recorder.h"

namespace berth::cli {
namespace {

struct RecordArguments {
  record::Settings settings;
  std::string topics, length;
};

int run_record(RecordArguments& arguments) {
  record::Settings& settings = arguments.settings;
  const auto refuse = [](const char* option, std::string problem, std::string remedy) {
    return report_error({"berth record", option, std::move(problem), std::move(remedy)}, 2);
  };
  if (settings.address.empty()) settings.address = agent::settings_from_environment("").address;
  if (!agent::is_address(settings.address))
    return report_error({settings.address, "", "is no address of an agent", "write for example http://127.0.0.1:4646"},
                        2);
  if (!arguments.length.empty()) {
    const auto length = base::parse_duration(arguments.length);
    if (!length || *length <= 0)
      return refuse("--for", "'" + base::shown(arguments.length) + "' is no duration", "write for example 24h or 90m");
    settings.length_ns = *length;
  }
  for (const std::string_view topic : base::split(arguments.topics, ',')) {
    if (topic.empty()) continue;
    const auto& known = io::event_topics();
    const std::string name(topic.substr(0, topic.find(':')));
    if (std::find(known.begin(), known.end(), name) == known.end())
      return refuse("--topics", "'" + base::shown(name) + "' is no topic that decisions read",
                    "write some of " + fmt::format("{}", fmt::join(known, ", ")));
    settings.topics.emplace_back(topic);
  }
  settings.sources.import.now_ns = clock_ns();
  Outputs outputs;
  outputs.output("-o", settings.path);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);

  const auto done = record::record(settings, [](const std::string& line) { say_line(base::printable(line, false)); });
  if (!done) return report_error(done.error(), 2);
  if (!done->write_error.empty())
    return report_error(
        {settings.path, "", "cannot be written: " + done->write_error, "free some space; the lines before are whole"},
        1);
  print("{}: {} frames with {} events, index {} to {}, {} bytes; {} reconnects, {} gaps, {} objects skipped\n",
        settings.path, done->frames, done->events, done->first_index, done->last_index, done->bytes, done->reconnects,
        done->gaps, done->skipped);
  return 0;
}

}  // namespace

void add_record(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RecordArguments>();
  arguments->settings.path = "recording.jsonl";
  CLI::App* command = app.add_subcommand("record", "record a running cluster's event stream to a file (read-only)");
  command
      ->add_option("address", arguments->settings.address,
                   "the agent's address (http://..., with Nomad's environment variables for token and TLS); default: "
                   "NOMAD_ADDR")
      ->type_name("ADDRESS");
  command->add_option("-o,--output", arguments->settings.path, "the recording to write; it must not exist yet")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--for", arguments->length, "stop after this time, such as 24h (default: at Ctrl-C)")
      ->type_name("TIME");
  command
      ->add_option("--topics", arguments->topics,
                   "record only these topics of events, separated by commas, such as Node or Job:web; `berth replay` "
                   "needs all that are recorded by default")
      ->type_name("LIST");
  command->add_flag(
      "--redact", arguments->settings.redact,
      "replace task inputs that may be secret by placeholders (redacted-1), as `berth import --redact` does");
  add_source_options(*command, arguments->settings.sources);
  command->footer(
      "Exit code: 0 recorded, also until Ctrl-C, 1 berth failed, 2 usage, bad input or an agent that cannot be "
      "recorded.");
  add_examples(*command, {"berth record http://127.0.0.1:4646 --output month.jsonl --for 2s"});
  command->callback([arguments, &exit_code] { exit_code = run_record(*arguments); });
}

}  // namespace berth::cli
