#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/files.h"
#include "run/report.h"
#include "sim/trace_file.h"
#include "trace/convert.h"

namespace berth::cli {
namespace {

int check_trace(const std::string& path) {
  const auto text = io::read_file(path);
  if (!text) return report_error(text.error(), 2);
  const auto jobs = sim::parse_trace(*text, path);
  if (!jobs) return report_error(jobs.error(), 2);
  const sim::TraceSummary summary = sim::summary_of(*jobs);
  print("{}: {} jobs of {} kinds, {} allocations\n", path, run::grouped(summary.jobs), run::grouped(summary.templates),
        run::grouped(static_cast<std::uint64_t>(summary.allocs)));
  if (summary.span_s > 0)
    print("  arrivals    over {:.1f} s, {:.3g} jobs/s\n", summary.span_s,
          static_cast<double>(summary.jobs) / summary.span_s);
  else
    print("  arrivals    all at one time\n");
  print("  run times   {} jobs end, {} of them as failed; {} stay\n", run::grouped(summary.ending),
        run::grouped(summary.failed), run::grouped(summary.jobs - summary.ending));
  print("  at once     at most {} MHz, {} MiB, if every job gets its room when it arrives\n",
        run::grouped(static_cast<std::uint64_t>(summary.cpu_mhz_peak)),
        run::grouped(static_cast<std::uint64_t>(summary.memory_mb_peak)));
  return 0;
}

struct ConvertArguments {
  trace::Settings settings;
  std::vector<std::string> parameters;
  bool list = false;
};

int convert_trace(ConvertArguments arguments) {
  if (arguments.list) {
    for (const auto& [name, about] : trace::formats()) print("{:<20} {}\n", name, about);
    return 0;
  }
  trace::Settings& settings = arguments.settings;
  const auto refuse = [](const char* place, std::string problem, std::string remedy) {
    return report_error({"berth trace convert", place, std::move(problem), std::move(remedy)}, 2);
  };
  if (settings.format.empty()) return refuse("", "no format was named", "--list names them");
  if (settings.inputs.empty()) return refuse("", "no file was named", "write berth trace convert FORMAT FILE...");
  for (const std::string& text : arguments.parameters) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return refuse("--set", "'" + base::shown(text) + "' is not NAME=VALUE", "write e.g. --set memory_gib=256");
    settings.parameters[text.substr(0, equals)] = text.substr(equals + 1);
  }
  Outputs outputs;
  for (const std::string& input : settings.inputs) outputs.input(input.substr(input.find('=') + 1));
  outputs.output("-o", settings.jobs);
  outputs.output("--nodes", settings.nodes);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  const auto done = trace::convert(settings);
  if (!done) return report_error(done.error(), 2);
  print("{}: {} jobs, {} allocations\n", settings.jobs, run::grouped(done->jobs), run::grouped(done->allocs));
  if (!settings.nodes.empty()) print("{}: {} kinds of nodes\n", settings.nodes, run::grouped(done->nodes));
  for (const auto& [name, value] : done->parameters) print("  {:<20} {}\n", name, value);
  for (const auto& [reason, rows] : done->skipped) print("  left out             {}: {}\n", run::grouped(rows), reason);
  return 0;
}

}  // namespace

void add_trace(CLI::App& app, int& exit_code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("trace", "check a trace of jobs, or convert a public trace");
  CLI::App* check = command->add_subcommand("check", "check a trace and show its contents")->fallthrough();
  check
      ->add_option(
          "file", *path,
          "CSV with a header and one row per job: submit_s, cpu_mhz, memory_mb; optionally run_s (empty: the job "
          "runs until the end), count, disk_mb, type (service or batch), priority, failed (0 or 1), gpus, gpu_model, "
          "distinct_hosts (0 or 1), gang (0 or 1), namespace; plain or gzip")
      ->type_name("FILE")
      ->required();
  check->footer(
      "A workload takes it as [jobs] generator = \"trace\", file = \"FILE\" (bench/macro/README.md).\n"
      "Exit code: 0 fine, 1 berth failed, 2 usage or bad input.");
  add_examples(*check, {"berth trace check trace.csv"});
  check->callback([path, &exit_code] { exit_code = check_trace(*path); });
  auto arguments = std::make_shared<ConvertArguments>();
  arguments->settings.jobs = "trace.csv";
  CLI::App* convert = command->add_subcommand("convert", "convert a public trace to berth's CSV format");
  convert->add_option("format", arguments->settings.format,
                      "a format that --list names, or a file of SQL like those of datasets/formats");
  convert->add_option("files", arguments->settings.inputs,
                      "files of the trace, plain or gzip, as NAME=FILE; without NAME= the file's path must contain the "
                      "name of the input");
  convert->add_option("-o,--output", arguments->settings.jobs, "the trace to write")
      ->type_name("FILE")
      ->capture_default_str();
  convert->add_option("--nodes", arguments->settings.nodes, "the list of nodes to write (default: none)")
      ->type_name("FILE");
  convert
      ->add_option("--set", arguments->parameters,
                   "a parameter of the format, such as the memory of the largest machine")
      ->type_name("NAME=VALUE");
  convert->add_flag("--list", arguments->list, "list the formats");
  convert->footer(
      "A workload takes the files as [jobs] and [cluster] generator = \"trace\" (bench/macro/README.md).\n"
      "Exit code: 0 fine, 1 berth failed, 2 usage or bad input.");
  add_examples(*convert, {"berth trace convert --list",
                          "berth trace convert google-2019 instance_events.json.gz --set memory_gib=256"});
  convert->callback([arguments, &exit_code] { exit_code = convert_trace(*arguments); });
  command->require_subcommand(1);
  command->footer("Exit code: 0 fine, 1 berth failed, 2 usage or bad input.");
  add_examples(*command, {"berth trace check trace.csv", "berth trace convert --list"});
}

}  // namespace berth::cli
