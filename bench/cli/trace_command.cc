#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/files.h"
#include "run/report.h"
#include "sim/trace_file.h"

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

}  // namespace

void add_trace(CLI::App& app, int& exit_code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("trace", "own traces: jobs from a CSV file");
  CLI::App* check = command->add_subcommand("check", "check a trace and show what it consists of")->fallthrough();
  check
      ->add_option(
          "file", *path,
          "CSV with a header and one row per job: submit_s, cpu_mhz, memory_mb; and if wanted run_s (empty: it "
          "stays), count, disk_mb, type (service or batch), priority, failed (0 or 1); plain or gzip")
      ->type_name("FILE")
      ->required();
  check->footer(
      "A workload takes it as [jobs] generator = \"trace\", file = \"FILE\" (bench/macro/README.md).\n"
      "Exit code: 0 fine, 1 berth failed, 2 usage or bad input.");
  check->callback([path, &exit_code] { exit_code = check_trace(*path); });
  command->require_subcommand(1);
  command->footer("Exit code: 0 fine, 1 berth failed, 2 usage or bad input.");
}

}  // namespace berth::cli
