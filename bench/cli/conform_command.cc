#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/common.h"
#include "conform/life/life.h"
#include "conform/run.h"
#include "io/files.h"

namespace berth::cli {

namespace {

/// ", option NAME=VALUE" for each that is not at its default.
std::string told_options(const model::Options& decisions) {
  std::string out;
  for (const auto& [name, value] : model::changed_options(decisions)) out += fmt::format(", option {}={}", name, value);
  return out;
}

/// Lives with the seeds `first`, `first` + 1, ... ; false when one broke an invariant, which is printed.
bool run_lives(std::uint64_t first, std::uint64_t count, int steps, const model::Options& decisions) {
  conform::LifeReport sum;
  std::uint64_t broken = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = first + i;
    const conform::LifeReport life = conform::run_life({.seed = seed, .steps = steps, .decisions = decisions});
    sum.evaluations += life.evaluations, sum.plans += life.plans, sum.refused_plans += life.refused_plans;
    sum.allocations += life.allocations, sum.updates += life.updates, sum.stops += life.stops;
    sum.preemptions += life.preemptions, sum.deployments += life.deployments, sum.at_rest += life.at_rest,
        sum.twice += life.twice;
    if (!life.problems.empty() || count == 1) {
      fmt::print("seed {}, steps {}{}\n", seed, steps, told_options(decisions));
      for (const std::string& event : life.events) fmt::print("    {}\n", event);
      for (const std::string& problem : life.problems) fmt::print("  broken: {}\n", problem);
    }
    broken += !life.problems.empty();
  }
  fmt::print(
      "{} evaluations, {} plans ({} partly refused): {} allocations, {} updates, {} stops, {} preemptions, {} "
      "deployments, {} jobs at rest, {} evaluations made again on tables loaded anew\n{} lives held, {} broke; seeds "
      "from {}, steps {}{}\n",
      sum.evaluations, sum.plans, sum.refused_plans, sum.allocations, sum.updates, sum.stops, sum.preemptions,
      sum.deployments, sum.at_rest, sum.twice, count - broken, broken, first, steps, told_options(decisions));
  return broken == 0;
}

}  // namespace

void add_conform(CLI::App& app, int& exit_code) {
  struct Arguments {
    conform::RunOptions run;
    std::string step, json;
    std::optional<std::uint64_t> seed;
    std::uint64_t lives = 1;
    int steps = 12;
    std::vector<std::string> options;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("conform", "replay recorded decisions and compare, to the last bit");
  CLI::Option* seed = command->add_option("--seed", arguments->seed,
                                          "instead of vectors: the random life with this seed, with its events");
  command->add_option("paths", arguments->run.paths, "vector files (.jsonl, .jsonl.gz) or folders of them")
      ->excludes(seed);
  command->add_option("--lives", arguments->lives, "so many lives, with ascending seeds")
      ->check(CLI::Range(1, 1'000'000'000))
      ->needs(seed);
  command->add_option("--steps", arguments->steps, "events in a life")->check(CLI::Range(1, 100'000))->needs(seed);
  add_decision_options(*command, arguments->options, "with --seed: ");
  command->add_option("--step", arguments->step, "only vectors of this step of the specification: 1e, 2b, 3 or 4")
      ->excludes(seed);
  command->add_option("--name", arguments->run.name, "only vectors whose name contains this text")->excludes(seed);
  command->add_option("--diff", arguments->run.diff_count, "show the first N differing vectors")->excludes(seed);
  command->add_option("--json", arguments->json, "write the report to this file")->excludes(seed);
  command->callback([arguments, &exit_code] {
    if (arguments->seed) {
      model::Options decisions;
      for (const std::string& assignment : arguments->options)
        if (auto done = model::set_option(decisions, assignment); !done) {
          fmt::print(stderr, "--option: {}\n", done.error());
          exit_code = 2;
          return;
        }
      exit_code = run_lives(*arguments->seed, arguments->lives, arguments->steps, decisions) ? 0 : 3;
      return;
    }
    if (!arguments->options.empty()) {
      fmt::print(stderr, "--option: recorded decisions are made with the defaults; only lives (--seed) take options\n");
      exit_code = 2;
      return;
    }
    if (arguments->run.paths.empty()) {
      fmt::print(stderr, "paths: name vector files or folders of them, or --seed\n");
      exit_code = 2;
      return;
    }
    if (!arguments->step.empty()) arguments->run.step = arguments->step;
    auto report = conform::run(arguments->run);
    if (!report) {
      exit_code = report_error(report.error(), 2);
      return;
    }
    if (report->equal + report->differ + report->unsupported == 0) {
      fmt::print(stderr, "no vector in these paths is meant: nothing was compared; see --name and --step\n");
      exit_code = 2;
      return;
    }
    if (!arguments->json.empty()) {
      if (auto done = io::write_file_atomically(arguments->json, json::to_text(conform::to_json(*report), 2) + "\n");
          !done) {
        exit_code = report_error(done.error(), 1);
        return;
      }
    }
    fmt::print("{}", conform::to_table(*report));
    exit_code = report->differ + report->unsupported == 0 ? 0 : 3;
  });
}

}  // namespace berth::cli
