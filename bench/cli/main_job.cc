// The program berth_main_job only replays the workload quickstart, like `berth run quickstart`. It is built in a
// fraction of the time; bench/quickstart.sh runs the main job with it before the whole program is built.
#include "base/json.h"
#include "cli/count_allocations.h"
#include "cli/outputs.h"
#include "cli/whole_program.h"
#include "run/interrupt.h"
#include "run/measured_run.h"
#include "run/report.h"
#include "sim/datasets.h"

namespace berth::cli {
namespace {

Result<void> not_here(const sim::Workload&, const std::string& name) {
  return tl::unexpected(InputError{name, "", "is not in this program", "use build/release/berth"});
}

int run_main_job(const std::string& label, const std::string& json, const std::string& csv) {
  const auto path = sim::find_workload("quickstart");
  if (!path) return report_error(path.error(), 2);
  const auto workload = sim::read_workload(*path, label, {}, {not_here, not_here});
  if (!workload) return report_error(workload.error(), 2);
  Outputs outputs;
  outputs.output("the second argument", json);
  outputs.output("the third", csv);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  const run::InterruptGuard guard;
  const auto result = run::measured_run(*workload, {.allocations = count_allocations}, {});
  run::stopped();
  if (!result) return report_error(result.error(), 2);
  print("{}", run::to_table(*result));
  if (const int code = Outputs::write(json, json::to_text(run::to_json(*result), 2) + "\n"); code != 0) return code;
  if (const int code = Outputs::write(csv, run::to_csv(*result)); code != 0) return code;
  if (!result->unsupported_reasons.empty() || result->parallel.lost != 0) return 1;
  return run::interrupted() ? run::kInterrupted : 0;
}

}  // namespace
}  // namespace berth::cli

int main(int argc, char** argv) {
  berth::cli::begin_program();
  if (argc != 4)
    return berth::cli::report_error({"berth_main_job", "", "its arguments are a label and files for JSON and CSV",
                                     "build/release/berth has all commands and options"},
                                    2);
  int exit_code = 0;
  try {
    exit_code = berth::cli::run_main_job(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    exit_code = berth::cli::failed(error);
  }
  return berth::cli::end_text(exit_code);
}
