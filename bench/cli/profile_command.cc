#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/html_output.h"
#include "cli/outputs.h"
#include "cli/workload_arguments.h"
#include "io/output.h"
#include "profile/flame.h"
#include "profile/report.h"
#include "profile/trace.h"
#include "run/interrupt.h"
#include "sim/datasets.h"

namespace berth::cli {
namespace {

struct ProfileArguments {
  WorkloadArguments chosen;
  std::optional<std::int64_t> workers;
  std::string only, json, html, trace, flame;
  std::int64_t slowest = 10, detail = 0, overhead_rounds = 3;
  bool roofline = false, scaling = false, quiet = false;
  std::vector<std::string> counters;
};

/// "12" or "12.3": number and round of an evaluation.
std::optional<std::pair<std::uint64_t, std::uint32_t>> parse_only(const std::string& text) {
  const auto words = base::split(text, '.');
  const auto number = base::parse_uint64(words.front()), round = base::parse_uint64(words.size() == 2 ? words[1] : "0");
  if (words.size() > 2 || !number || *number == 0 || !round || *round > UINT32_MAX) return std::nullopt;
  return std::pair(*number, static_cast<std::uint32_t>(*round));
}

int profile(const ProfileArguments& arguments) {
  const std::string svg =
      arguments.flame.empty() || io::is_standard_output(arguments.flame) ? "" : arguments.flame + ".svg";
  const bool machine_alone = arguments.chosen.workload.empty() && arguments.roofline;
  Outputs outputs;
  for (const auto& [option, path] :
       {std::pair("--json", arguments.json), std::pair("--html", arguments.html), std::pair("--trace", arguments.trace),
        std::pair("--flame", arguments.flame), std::pair("--flame", svg)}) {
    outputs.output(option, path);
    if (machine_alone && !path.empty())
      return report_error({"berth profile", "", "no workload was named, whose profile would be written",
                           "name one, or leave the files out: --roofline alone prints this machine's memory"},
                          2);
  }
  if (auto fine = profile::check_events(arguments.counters); !fine) return report_error(fine.error(), 2);
  const auto html = HtmlOutput::prepare(arguments.html);
  if (!html) return report_error(html.error(), 2);
  profile::Options options;
  options.quiet = arguments.quiet;
  options.slowest = static_cast<std::size_t>(arguments.slowest);
  options.detail_every = static_cast<std::uint32_t>(arguments.detail);
  options.overhead_rounds = static_cast<int>(arguments.overhead_rounds);
  options.roofline = arguments.roofline;
  options.scaling = arguments.scaling;
  options.keep_samples = !arguments.trace.empty();
  options.flame = !arguments.flame.empty();
  options.counters = arguments.counters;
  if (!arguments.only.empty()) {
    options.only = parse_only(arguments.only);
    if (!options.only)
      return report_error({"berth profile", "--only", "'" + arguments.only + "' is not an evaluation",
                           "write NUMBER or NUMBER.ROUND, as --slowest lists them"},
                          2);
  }
  if (machine_alone) {
    print("{}", profile::roofline_lines(profile::measure_roofline()));
    return 0;
  }
  auto workload = arguments.chosen.read("berth profile");
  if (!workload) return report_error(workload.error(), 2);
  if (arguments.workers) workload->workers = *arguments.workers;
  if (options.only) {  // gives the same decisions, one after the other
    workload->workers = 1;
    workload->commits = sim::CommitOrder::deterministic;
    workload->arrivals.clock = sim::Clock::skip;
  }

  for (const std::string& path : sim::files_of(*workload)) outputs.input(path);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);

  const run::InterruptGuard guard;
  const auto done = profile::profile_workload(*workload, options);
  run::stopped();
  if (!done) return report_error(done.error(), 2);
  print("{}", profile::to_table(*done));
  int exit_code = 0;
  const auto write = [&](const std::string& file, const std::string& content) {
    if (Outputs::write(file, content) != 0) exit_code = 1;
  };
  write(arguments.json, json::to_text(profile::to_json(*done), 2) + "\n");
  if (exit_code == 0)
    exit_code = html->write(profile::to_json(*done), arguments.json.empty() ? workload->name : arguments.json);
  if (!arguments.trace.empty()) write(arguments.trace, profile::to_trace(*done));
  if (!arguments.flame.empty()) {
    write(arguments.flame, profile::to_text(done->stacks));
    write(svg, profile::to_svg(done->stacks,
                               fmt::format("berth profile {} ({}), {}; from {}", done->run.workload.name,
                                           done->run.workload.label, done->stacks_unit, done->stacks_from),
                               done->stacks_unit));
  }
  if (!done->run.unsupported_reasons.empty() || done->run.parallel.lost != 0) exit_code = 1;
  return exit_code == 0 && run::interrupted() ? run::kInterrupted : exit_code;
}

}  // namespace

void add_profile(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App* command = app.add_subcommand("profile", "show where the time of a workload's evaluations goes");
  arguments->chosen.add_to(*command);
  add_workers(*command, arguments->workers);
  command->add_option("--slowest", arguments->slowest, "list the N slowest evaluations and why they were slow")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--only", arguments->only,
                   "replay up to this evaluation, NUMBER or NUMBER.ROUND as --slowest lists them, and profile it alone")
      ->type_name("NAME");
  command
      ->add_option("--detail", arguments->detail,
                   "time the stages filter, rank and plan in one of N evaluations; 1: in all, with more overhead "
                   "(default: 4 to 32)")
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--overhead-rounds", arguments->overhead_rounds,
                   "pairs of runs that measure what profiling itself costs; 0: do not measure it")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command->add_flag(
      "--roofline", arguments->roofline,
      "measure this machine's memory bandwidth and compare the stages with it; without a workload: measure it only");
  command->add_flag("--scaling", arguments->scaling,
                    "measure contention with one and two free workers, all jobs due at once, and predict 16 and 64");
  command
      ->add_option("--json", arguments->json, "write the profile to this file (bench/profile/README.md has the format)")
      ->type_name("FILE");
  command->add_option("--html", arguments->html, "write the profile as one self-contained page to this file")
      ->type_name("FILE");
  command
      ->add_option("--trace", arguments->trace,
                   "write a trace of workers, applier and queue to this file, for ui.perfetto.dev")
      ->type_name("FILE");
  command
      ->add_option("--flame", arguments->flame,
                   "write collapsed stacks to PREFIX and a flame graph to PREFIX.svg; sampled by perf if available")
      ->type_name("PREFIX");
  command
      ->add_option("--counters", arguments->counters,
                   "hardware events to count in addition to the usual ones, by libpfm's names, separated by commas")
      ->type_name("EVENT,...")
      ->delimiter(',');
  command->add_flag("--quiet", arguments->quiet, "print no progress");
  command->footer("Exit code: 0 fine, 1 berth failed, 2 usage or bad input, 4 interrupted.");
  add_examples(*command, {"berth profile quickstart --label smoke",
                          "berth profile quickstart --label smoke --flame stacks.txt --trace trace.json"});
  command->callback([arguments, &exit_code] { exit_code = profile(*arguments); });
}

}  // namespace berth::cli
