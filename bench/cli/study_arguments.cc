#include "cli/study_arguments.h"

#include <fmt/format.h>

#include "cli/common.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "report/kinds.h"
#include "run/interrupt.h"
#include "sim/datasets.h"
#include "store/run_store.h"
#include "study/benchstat.h"
#include "study/measures.h"
#include "study/study_report.h"

namespace berth::cli {
namespace {

constexpr const char* kCommand = "berth run";

Result<study::StudySpec> spec_of(const WorkloadArguments& chosen, std::optional<std::int64_t> workers,
                                 const StudyArguments& arguments) {
  const auto path = sim::find_workload(chosen.workload);
  if (!path) return tl::unexpected(path.error());
  study::StudySpec out;
  out.command = kCommand, out.workload = *path, out.label = chosen.label;
  out.fixed = chosen.changes(workers);
  for (const std::string& text : arguments.varied) {
    auto factor = study::parse_factor(text, "berth run --vary");
    if (!factor) return tl::unexpected(factor.error());
    out.factors.push_back(std::move(*factor));
  }
  out.repetitions = arguments.repetitions.value_or(1);
  out.warm_ups = arguments.warm_ups.value_or(out.repetitions > 1 ? 1 : 0);
  return out;
}

}  // namespace

void StudyArguments::add_to(CLI::App& command) {
  command
      .add_option("--repeat", repetitions, "run N times, each in its own process, and report medians with intervals")
      ->check(CLI::Range(1, 100'000));
  command
      .add_option("--warm-up", warm_ups,
                  "with --repeat or --vary: unmeasured runs first (default: 1 with --repeat, else 0)")
      ->check(CLI::Range(0, 1'000));
  command.add_flag("--wide", wide, "do not break tables that are wider than the terminal");
  command
      .add_option("--vary", varied,
                  "run with every value of a key of the workload, e.g. workers=1,2,4, cluster.nodes=100..500..100 or "
                  "jobs.mix.web.count=1,5; several keys: every combination")
      ->type_name("KEY=VALUES");
  command
      .add_option("--results", results,
                  "add parameters and results of every run to this SQLite file (bench/study/README.md has its tables)")
      ->type_name("FILE");
  command
      .add_option(
          "--benchstat", benchstat,
          "write one line per run with all its measures to this file, in the format of Go's benchmarks, for benchstat")
      ->type_name("FILE");
}

int run_study_command(const WorkloadArguments& chosen, std::optional<std::int64_t> workers,
                      const StudyArguments& arguments, const std::string& json, const std::string& html_path,
                      const run::RunOptions& options) {
  const auto spec = spec_of(chosen, workers, arguments);
  if (!spec) return report_error(spec.error(), 2);
  Outputs outputs;
  outputs.input(spec->workload);
  outputs.output("--json", json);
  outputs.output("--html", html_path);
  outputs.output("--results", arguments.results);
  outputs.output("--benchstat", arguments.benchstat);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  const auto html = HtmlOutput::prepare(html_path);
  if (!html) return report_error(html.error(), 2);
  std::optional<store::RunStore> results;
  if (!arguments.results.empty()) {
    auto opened = store::RunStore::open(arguments.results, study::measures());
    if (!opened) return report_error(opened.error(), 2);
    results.emplace(std::move(*opened));
  }
  const run::InterruptGuard guard;
  const auto done = study::run_study(*spec, options);
  run::stopped();
  if (!done) return report_error(done.error(), 2);
  bool differs = false, any = false;
  for (const study::Setting& setting : done->settings)
    for (const study::Record& record : setting.records) any = true, differs = differs || record.status == "differs";
  if (!any) return report_error({kCommand, "", "interrupted before the first round was whole", "run it again"}, 4);
  int exit_code = done->interrupted ? 4 : differs ? 3 : 0;
  if (results)
    for (const study::Setting& setting : done->settings)
      if (const auto added = results->add(setting.records); !added) exit_code = report_error(added.error(), 1);
  if (!arguments.benchstat.empty()) {
    std::vector<study::Record> records;
    for (const study::Setting& setting : done->settings)
      records.insert(records.end(), setting.records.begin(), setting.records.end());
    if (Outputs::write(arguments.benchstat, study::to_benchstat(records)) != 0) exit_code = 1;
  }
  json::Value report = study::to_json(*done);
  if (Outputs::write(json, json::to_text(report, 2) + "\n") != 0) exit_code = 1;
  std::vector<report::Input> inputs;
  auto input = report::as_input(std::move(report), json.empty() ? done->workload : json);
  if (!input) return report_error(input.error(), 1);
  inputs.push_back(std::move(*input));
  const report::Document document = report::make_document(inputs);
  print("{}", report::to_terminal(document, arguments.wide ? 0 : terminal_width()));
  if (const int code = html->write(document); code != 0) exit_code = code;
  return exit_code;
}

int add_result(const StudyArguments& arguments, const std::vector<sim::Change>& changes, const run::RunResult& result,
               const json::Value& report) {
  if (arguments.results.empty() && arguments.benchstat.empty()) return 0;
  study::Record record = study::record_of({result.workload.path, result.workload.label, changes, 0}, result, report);
  if (Outputs::write(arguments.benchstat, study::to_benchstat(std::span(&record, 1))) != 0) return 1;
  if (arguments.results.empty()) return 0;
  auto results = store::RunStore::open(arguments.results, study::measures());
  if (!results) return report_error(results.error(), 1);
  record.key = store::moment_key(0);
  const auto added = results->add(std::span(&record, 1));
  return added ? 0 : report_error(added.error(), 1);
}

}  // namespace berth::cli
