#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/count_allocations.h"
#include "cli/html_output.h"
#include "cli/log_options.h"
#include "cli/outputs.h"
#include "cli/slowed_stage.h"
#include "cli/study_arguments.h"
#include "cli/workload_arguments.h"
#include "profile/recorder.h"
#include "run/export.h"
#include "run/interrupt.h"
#include "run/others_run.h"
#include "run/peers.h"
#include "run/report.h"
#include "run/runner.h"
#include "run/server_settings.h"
#include "sim/datasets.h"
#include "store/run_store.h"

namespace berth::cli {
namespace {

struct RunArguments {
  WorkloadArguments chosen;
  std::optional<std::int64_t> workers;
  std::string json, html, csv, hdr, hdr_log, prometheus, google_benchmark, data_items;
  StudyArguments study;
  bool list = false, stages = false, quiet = false;
  std::string slowdown, sources;
  std::uint64_t shadow = 0;
  LogArguments log;
};

int list_workloads() {
  const std::vector<std::string> paths = sim::workload_files();
  if (paths.empty())
    return report_error(
        InputError{"bench/macro", "", "is not there", "run berth in a checkout, or let BERTH_DATA name one"}, 2);
  int code = 0;
  for (const std::string& path : paths) {
    const auto workload = sim::read_workload(path);
    if (!workload) {
      code = report_error(workload.error(), 2);
      continue;
    }
    std::string labels;
    for (const std::string& label : workload->labels) labels += (labels.empty() ? "" : ", ") + label;
    print("{:<14} {} [{}]\n", workload->name, workload->description, labels);
  }
  print("{:<14} {}\n", "nomad-others",
        "Preemption, system jobs and one changing service job, next to Nomad's recorded times [smoke, full]");
  print("{:<14} {}\n", "peers",
        "the workloads in shapes of other schedulers' benchmarks, next to their published results");
  return code;
}

Outputs outputs_of(const RunArguments& arguments, const std::vector<std::string>& inputs) {
  Outputs out;
  for (const std::string& path : inputs) out.input(path);
  for (const auto& [option, path] :
       {std::pair("--json", arguments.json), std::pair("--html", arguments.html), std::pair("--csv", arguments.csv),
        std::pair("--hdr", arguments.hdr), std::pair("--hdr-log", arguments.hdr_log),
        std::pair("--prometheus", arguments.prometheus), std::pair("--google-benchmark", arguments.google_benchmark),
        std::pair("--data-items", arguments.data_items), std::pair("--benchstat", arguments.study.benchstat),
        std::pair("--results", arguments.study.results)})
    out.output(option, path);
  return out;
}

/// Runs the workloads that have published results of other schedulers.
int run_peers(const RunArguments& arguments) {
  const std::pair<const char*, bool> kGiven[] = {{"--option", !arguments.chosen.options.empty()},
                                                 {"--strategy", !arguments.chosen.strategy.empty()},
                                                 {"--queue", !arguments.chosen.queue.empty()},
                                                 {"--label", arguments.chosen.label != "full"},
                                                 {"--seed", arguments.chosen.seed.has_value()},
                                                 {"--order", !arguments.chosen.commits.empty()},
                                                 {"--warm-up", arguments.study.warm_ups.has_value()},
                                                 {"--slowdown", !arguments.slowdown.empty()},
                                                 {"--workers", arguments.workers.has_value()},
                                                 {"--repeat or --vary", arguments.study.many()},
                                                 {"--results", !arguments.study.results.empty()},
                                                 {"--benchstat", !arguments.study.benchstat.empty()},
                                                 {"--sources", !arguments.sources.empty()},
                                                 {"--shadow", arguments.shadow > 0},
                                                 {"--stages", arguments.stages},
                                                 {"--html", !arguments.html.empty()},
                                                 {"--csv", !arguments.csv.empty()},
                                                 {"--hdr", !arguments.hdr.empty()},
                                                 {"--hdr-log", !arguments.hdr_log.empty()},
                                                 {"--prometheus", !arguments.prometheus.empty()},
                                                 {"--google-benchmark", !arguments.google_benchmark.empty()},
                                                 {"--data-items", !arguments.data_items.empty()}};
  for (const auto& [option, given] : kGiven)
    if (given)
      return report_error({"berth run", option, "`berth run peers` runs several workloads unchanged",
                           "leave it out, or run one of the workloads"},
                          2);
  if (auto fine = outputs_of(arguments, sim::workload_files()).check(); !fine) return report_error(fine.error(), 2);
  const auto level = log_level("berth run", arguments.log);
  if (!level) return report_error(level.error(), 2);
  run::RunOptions options;
  options.quiet = arguments.quiet;
  EvaluationLog evaluation_log(arguments.log.json, false, nullptr);
  if (*level && **level <= base::LogLevel::info) options.extra_listener = &evaluation_log;
  const run::InterruptGuard guard;
  const auto cases = run::run_peers(options);
  run::stopped();
  if (!cases) return report_error(cases.error(), 2);
  print("{}", run::to_table(*cases));
  if (run::interrupted()) fmt::print(stderr, "berth: interrupted; workloads after these did not run\n");
  if (const int code = Outputs::write(arguments.json, json::to_text(run::to_json(*cases), 2) + "\n"); code != 0)
    return code;
  return run::interrupted() ? run::kInterrupted : 0;
}

/// Runs the timed cases of Nomad outside its grid. They are no workload file: each evaluation depends on the others.
int run_others(const RunArguments& arguments) {
  for (const auto& [option, given] : {std::pair("--option", !arguments.chosen.options.empty()),
                                      std::pair("--strategy", !arguments.chosen.strategy.empty()),
                                      std::pair("--queue", !arguments.chosen.queue.empty())})
    if (given)
      return report_error({"berth run", option, "nomad-others compares with what Nomad decides today", "leave it out"},
                          2);
  if (arguments.study.many() || !arguments.study.results.empty() || !arguments.study.benchstat.empty())
    return report_error(
        {"berth run", "", "nomad-others repeats by itself: no --repeat, --vary, --results or --benchstat",
         "leave them out"},
        2);
  if (!arguments.sources.empty() || arguments.shadow > 0)
    return report_error({"berth run", arguments.shadow > 0 ? "--shadow" : "--sources",
                         "nomad-others is compared with Nomad's own decisions", "leave it out"},
                        2);
  if (arguments.stages)
    return report_error({"berth run", "--stages", "nomad-others times whole evaluations", "leave it out"}, 2);
  const std::string& label = arguments.chosen.label;
  if (label != "full" && label != "smoke")
    return report_error({"berth run", "--label", "nomad-others has the labels full and smoke", "name one of them"}, 2);
  if (auto fine = outputs_of(arguments, {}).check(); !fine) return report_error(fine.error(), 2);
  const auto html = HtmlOutput::prepare(arguments.html);
  if (!html) return report_error(html.error(), 2);
  const std::vector<run::OtherCase> cases = run::run_others(label == "smoke");
  print("{}", run::to_table(cases));
  if (const int code = Outputs::write(arguments.json, json::to_text(run::to_json(cases), 2) + "\n"); code != 0)
    return code;
  if (const int code = html->write(run::to_json(cases), arguments.json); code != 0) return code;
  for (const run::OtherCase& c : cases)
    if (!c.as_nomad) return 3;  // different decision
  return 0;
}

/// Runs --repeat and --vary.
int run_many(const RunArguments& arguments) {
  const std::pair<const char*, bool> kOfOneRun[] = {{"--csv", !arguments.csv.empty()},
                                                    {"--hdr", !arguments.hdr.empty()},
                                                    {"--hdr-log", !arguments.hdr_log.empty()},
                                                    {"--prometheus", !arguments.prometheus.empty()},
                                                    {"--google-benchmark", !arguments.google_benchmark.empty()},
                                                    {"--data-items", !arguments.data_items.empty()},
                                                    {"--stages", arguments.stages},
                                                    {"--slowdown", !arguments.slowdown.empty()},
                                                    {"--sources", !arguments.sources.empty()},
                                                    {"--log-json", arguments.log.json},
                                                    {"--shadow", arguments.shadow > 0}};
  for (const auto& [option, given] : kOfOneRun)
    if (given)
      return report_error({"berth run", option, "is for a single run, and --repeat and --vary make several",
                           "leave it out; --json, --html, --results and --benchstat contain all runs"},
                          2);
  run::RunOptions options;
  options.quiet = arguments.quiet;
  options.allocations = count_allocations;
  return run_study_command(arguments.chosen, arguments.workers, arguments.study, arguments.json, arguments.html,
                           options);
}

int run(const RunArguments& arguments) {
  if (arguments.list) return list_workloads();
  if (auto fine = arguments.chosen.begin("berth run"); !fine) return report_error(fine.error(), 2);
  if (arguments.chosen.workload == "nomad-others") return run_others(arguments);
  if (arguments.chosen.workload == "peers") return run_peers(arguments);
  if (arguments.study.many()) return run_many(arguments);
  if (arguments.study.warm_ups)
    return report_error({"berth run", "--warm-up", "goes with --repeat or --vary", "add one of them"}, 2);
  auto workload = arguments.chosen.read("berth run");
  if (!workload) return report_error(workload.error(), 2);
  if (arguments.workers) workload->workers = *arguments.workers;
  const auto sources = enabled_sources("berth run", arguments.sources);
  if (!sources) return report_error(sources.error(), 2);
  workload->sources = *sources;
  const auto level = log_level("berth run", arguments.log);
  if (!level) return report_error(level.error(), 2);
  const bool logs = *level && **level <= base::LogLevel::info;
  for (const auto& [option, given] : {std::pair("--shadow", arguments.shadow > 0), std::pair("--log-level", logs)})
    if (given && workload->cluster.source == sim::Source::nomad_grid)
      return report_error({"berth run", option, "nomad-grid is compared with Nomad's own decisions", "leave it out"},
                          2);
  if (auto fine = outputs_of(arguments, sim::files_of(*workload)).check(); !fine) return report_error(fine.error(), 2);
  if (!arguments.study.results.empty())
    if (auto fine = store::RunStore::check(arguments.study.results); !fine) return report_error(fine.error(), 2);
  const auto html = HtmlOutput::prepare(arguments.html);
  if (!html) return report_error(html.error(), 2);

  run::RunOptions options;
  options.quiet = arguments.quiet;
  options.allocations = count_allocations;
  options.hdr_log = !arguments.hdr_log.empty();
  std::optional<profile::Recorder> recorder;
  if (arguments.stages) recorder.emplace(profile::calibrate(), profile::RecorderOptions{.detail_every = 1});
  if (recorder) options.observer = &*recorder;
  const auto shadow = make_shadow(run::server_settings(*workload), arguments.shadow);
  EvaluationLog evaluation_log(arguments.log.json, workload->life.has_value(), shadow.get());
  if (*level)
    options.log = [json = arguments.log.json, least = **level](const base::LogLine& line) {
      if (line.level >= least) print_log(json ? line.json() : line.text());
    };
  options.extra_listener = logs ? &evaluation_log : static_cast<server::Listener*>(shadow.get());
  const auto slowed = slowed_stage(arguments.slowdown, options.observer);
  if (slowed) options.observer = slowed.get();

  const run::InterruptGuard guard;
  const auto result = run::run_workload(*workload, options);
  run::stopped();
  if (!result) return report_error(result.error(), 2);
  print("{}", run::to_table(*result));
  if (shadow) print("  shadow      {}; the times are with its work\n", shadow_line(*shadow));
  json::Value report = run::to_json(*result);
  if (recorder) {
    recorder->finish();
    json::Value stages = json::Value::object();
    print("  stages      per evaluation:");
    for (const auto& [stage, ns] : recorder->mean_stages()) {
      stages.set(base::to_text(stage), ns);
      print(" {} {}", base::to_text(stage), run::time_words(static_cast<std::int64_t>(ns + 0.5)));
    }
    print("\n");
    report.set("stages_ns", std::move(stages));
  }
  int exit_code = 0;
  const auto write = [&](const std::string& file, const auto& content) {  // makes only what was asked for
    if (!file.empty() && Outputs::write(file, content()) != 0) exit_code = 1;
  };
  const auto text = [](const json::Value& value) { return json::to_text(value, 2) + "\n"; };
  write(arguments.json, [&] { return text(report); });
  write(arguments.csv, [&] { return run::to_csv(*result); });
  write(arguments.hdr, [&] { return run::to_hdr(*result); });
  write(arguments.hdr_log, [&] { return result->hdr_log; });
  write(arguments.prometheus, [&] { return run::to_prometheus(*result); });
  write(arguments.google_benchmark, [&] { return text(run::to_google_benchmark(*result)); });
  write(arguments.data_items, [&] { return text(run::to_data_items(*result)); });
  if (const int code = add_result(arguments.study, arguments.chosen.changes(arguments.workers), *result, report);
      code != 0)
    exit_code = code;
  if (exit_code == 0) exit_code = html->write(report, arguments.json.empty() ? workload->name : arguments.json);
  if (exit_code != 0) return exit_code;
  if (run::interrupted()) exit_code = run::kInterrupted;
  // Decisions that differ from Nomad's are a mismatch, unprocessed evaluations a failure.
  for (const run::CellResult& cell : result->cells)
    if (!cell.decisions_equal) exit_code = 3;
  if (shadow && shadow->different() > 0) exit_code = 3;
  if (!result->unsupported_reasons.empty() || result->parallel.lost != 0) exit_code = 1;
  return exit_code;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "replay a workload and measure it");
  arguments->chosen.add_to(*command);
  add_workers(*command, arguments->workers);
  arguments->study.add_to(*command);
  command->add_option("--json", arguments->json, "write the report to this file (bench/macro/README.md has the format)")
      ->type_name("FILE");
  command->add_option("--html", arguments->html, "write the report as one self-contained page to this file")
      ->type_name("FILE");
  command->add_option("--csv", arguments->csv, "write one line per run (nomad-grid: per cell) to this file")
      ->type_name("FILE");
  command->add_option("--hdr", arguments->hdr, "write the latency in HdrHistogram's percentile format to this file")
      ->type_name("FILE");
  command
      ->add_option("--hdr-log", arguments->hdr_log,
                   "write the latency second by second as HdrHistogram's log to this file")
      ->type_name("FILE");
  command->add_option("--prometheus", arguments->prometheus, "write the report in Prometheus' text format to this file")
      ->type_name("FILE");
  command
      ->add_option("--google-benchmark", arguments->google_benchmark,
                   "write the times as google-benchmark's programs do to this file, for its compare.py")
      ->type_name("FILE");
  command
      ->add_option("--data-items", arguments->data_items,
                   "write throughput and latency as Kubernetes' scheduler_perf does to this file")
      ->type_name("FILE");
  command->add_flag(
      "--stages", arguments->stages,
      "report the time of each stage per evaluation; measuring costs a few percent (`berth profile` is more "
      "detailed and costs less)");
  add_slowdown(*command, arguments->slowdown);
  add_sources(*command, arguments->sources);
  add_shadow(*command, arguments->shadow);
  add_log(*command, arguments->log,
          "a line per evaluation is at info, as are those of the allocations, nodes, deployments and drains of a "
          "simulated cluster");
  command->add_flag("--list", arguments->list, "list the workloads of bench/macro");
  command->add_flag("--quiet", arguments->quiet, "print no progress");
  command->footer(
      "Exit code: 0 fine, 1 berth failed, 2 usage or bad input, 3 decisions differ (from Nomad's, or with "
      "--shadow), 4 interrupted.");
  add_examples(*command, {"berth run quickstart --label smoke",
                          "berth run quickstart --label smoke --vary strategy=nomad,worst-fit --repeat 3",
                          "berth run recover-lost --log-level info"});
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace berth::cli
