#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/html_output.h"
#include "cli/outputs.h"
#include "cli/workload_arguments.h"
#include "profile/load.h"
#include "run/interrupt.h"
#include "sim/datasets.h"

namespace berth::cli {
namespace {

struct LoadArguments {
  WorkloadArguments chosen;
  std::string workers = "1", limit = "10ms", json, html;
  double from = 0, to = 1e6, seconds = 2, max_time = 120, resolution = 5, placed = 99;
  bool quiet = false;
};

int load(const LoadArguments& arguments) {
  const auto refuse = [](const char* option, std::string problem, std::string remedy) {
    return report_error({"berth load", option, std::move(problem), std::move(remedy)}, 2);
  };
  const auto html = HtmlOutput::prepare(arguments.html);
  if (!html) return report_error(html.error(), 2);
  profile::LoadOptions options;
  options.quiet = arguments.quiet;
  options.workers.clear();
  for (const std::string_view word : base::split(arguments.workers, ',')) {
    const auto workers = base::parse_int64(word);
    if (!workers || *workers < 1 || *workers > 1024)
      return refuse("--workers", fmt::format("'{}' is not a number of workers", word),
                    "write numbers from 1 to 1024, e.g. 1,2");
    options.workers.push_back(*workers);
  }
  const auto limit = duration_ns(arguments.limit);
  if (!limit)
    return refuse("--p99-limit", "'" + arguments.limit + "' is not a time above 0", "write e.g. 500us, 10ms or 1s");
  options.limit_ns = *limit;
  options.least_placed = arguments.placed / 100;
  if (arguments.from > arguments.to)
    return refuse("--from", "the first rate is above the highest, --to", "exchange them");
  options.search.first_rate = arguments.from;
  options.search.highest_rate = arguments.to;
  options.search.resolution = arguments.resolution / 100;
  options.trial_seconds = arguments.seconds;
  options.max_seconds = arguments.max_time;
  if (options.max_seconds < options.trial_seconds)
    return refuse("--max-time", "is shorter than one trial (--seconds)", "give it at least ten times that");
  const auto workload = arguments.chosen.read("berth load");
  if (!workload) return report_error(workload.error(), 2);
  Outputs outputs;
  for (const std::string& path : sim::files_of(*workload)) outputs.input(path);
  outputs.output("--json", arguments.json);
  outputs.output("--html", arguments.html);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);

  const run::InterruptGuard guard;
  const auto done = profile::run_load(*workload, options);
  run::stopped();
  if (!done) return report_error(done.error(), 2);
  if (done->trials.empty())
    return report_error({"berth load", "", "interrupted before the first trial was over", "let it run longer"},
                        run::kInterrupted);
  print("{}", profile::to_table(*done));
  int exit_code = done->complete() ? 0 : 4;
  if (Outputs::write(arguments.json, json::to_text(profile::to_json(*done), 2) + "\n") != 0) exit_code = 1;
  if (exit_code == 0 || exit_code == 4)
    if (const int code = html->write(profile::to_json(*done), arguments.json.empty() ? workload->name : arguments.json);
        code != 0)
      exit_code = code;
  return exit_code;
}

}  // namespace

void add_load(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LoadArguments>();
  CLI::App* command = app.add_subcommand("load", "find the highest job rate that the scheduler sustains");
  arguments->chosen.add_to(*command);
  command->add_option("--workers", arguments->workers, "worker counts to test, e.g. 1,2")
      ->type_name("N,...")
      ->capture_default_str();
  command
      ->add_option("--p99-limit", arguments->limit,
                   "limit of the p99 latency of a placement, counted from its due time")
      ->type_name("DURATION")
      ->capture_default_str();
  command
      ->add_option("--placed", arguments->placed,
                   "a rate is sustained only if this percentage of the requested placements is made")
      ->type_name("FLOAT PERCENT")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--from", arguments->from, "first rate to try (default: a quarter of the workload's)")
      ->type_name("FLOAT JOBS/S")
      ->check(CLI::PositiveNumber);
  command->add_option("--to", arguments->to, "highest rate to try")
      ->type_name("FLOAT JOBS/S")
      ->check(CLI::PositiveNumber)
      ->default_str("1000000");
  command->add_option("--seconds", arguments->seconds, "time during which jobs arrive in one trial; at least 200 jobs")
      ->type_name("FLOAT SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--resolution", arguments->resolution, "stop when the last two rates differ by at most this much")
      ->type_name("FLOAT PERCENT")
      ->check(CLI::Range(0.1, 100.0))
      ->capture_default_str();
  command->add_option("--max-time", arguments->max_time, "time limit of the whole search")
      ->type_name("FLOAT SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--json", arguments->json, "write the result to this file (bench/profile/README.md has the format)")
      ->type_name("FILE");
  command->add_option("--html", arguments->html, "write the result as one self-contained page to this file")
      ->type_name("FILE");
  command->add_flag("--quiet", arguments->quiet, "print no progress");
  command->footer(
      "A rate is sustained if the p99 latency of a placement, from its due time, is within --p99-limit, the backlog "
      "does "
      "not grow, and --placed percent of the placements are made.\n"
      "Exit code: 0 found, 1 berth failed, 2 usage or bad input, 4 not found within --max-time.");
  add_examples(*command, {"berth load quickstart --label smoke --p99-limit 10ms --max-time 30"});
  command->callback([arguments, &exit_code] { exit_code = load(*arguments); });
}

}  // namespace berth::cli
