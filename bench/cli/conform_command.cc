#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "conform/life/cluster_life.h"
#include "conform/run.h"
#include "run/progress.h"

namespace berth::cli {

namespace {

constexpr std::uint64_t kLivesMost = 1'000'000;

/// ", option NAME=VALUE" for each option that differs from its default.
std::string told_options(const model::Options& decisions) {
  std::string out;
  for (const auto& [name, value] : model::changed_options(decisions)) out += fmt::format(", option {}={}", name, value);
  return out;
}

/// Totals of simulations of one kind. Prints those that break an invariant, or the only one.
class Lives {
 public:
  Lives(const char* kind, bool prints) : kind_(kind), prints_(prints) {}

  void add(const conform::LifeReport& life, const std::string& name) {
    sum_.evaluations += life.evaluations, sum_.plans += life.plans, sum_.refused_plans += life.refused_plans;
    sum_.allocations += life.allocations, sum_.updates += life.updates, sum_.stops += life.stops;
    sum_.preemptions += life.preemptions, sum_.deployments += life.deployments, sum_.at_rest += life.at_rest;
    sum_.twice += life.twice;
    cut_ += life.cut;
    if (!life.problems.empty() || prints_) {
      cli::print("{}, {}\n", name, kind_);
      for (const std::string& event : life.events) cli::print("    {}\n", event);
      for (const std::string& problem : life.problems) cli::print("  broken: {}\n", problem);
    }
    ++(life.problems.empty() ? held_ : broken_);
  }
  void print() const {
    cli::print(
        "{}: {} evaluations, {} plans ({} partly refused): {} allocations, {} updates, {} stops, {} preemptions, {} "
        "deployments, {} jobs at rest, {} evaluations made again on tables loaded anew\n{} lives kept every "
        "invariant{}, {} broke one\n",
        kind_, sum_.evaluations, sum_.plans, sum_.refused_plans, sum_.allocations, sum_.updates, sum_.stops,
        sum_.preemptions, sum_.deployments, sum_.at_rest, sum_.twice, held_,
        cut_ == 0 ? "" : fmt::format(" ({} ended after {} evaluations)", cut_, conform::LifeOptions{}.max_evaluations),
        broken_);
  }
  [[nodiscard]] bool all_held() const { return broken_ == 0; }

 private:
  const char* kind_;
  bool prints_;
  conform::LifeReport sum_;
  std::uint64_t held_ = 0, broken_ = 0, cut_ = 0;
};

/// Runs simulations of both kinds with the seeds `first`, `first` + 1, ...; false if one broke an invariant, which is
/// printed.
bool run_lives(std::uint64_t first, std::uint64_t count, int steps, const model::Options& decisions,
               sched::EnabledSources sources) {
  Lives servers("on the bare server", count == 1), clusters("of a whole cluster", count == 1);
  run::Progress progress("lives", count, false);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    progress.update(seed - first, true);
    const std::string name = fmt::format("seed {}, steps {}{}", seed, steps, told_options(decisions));
    const conform::LifeOptions options{.seed = seed, .steps = steps, .decisions = decisions, .sources = sources};
    servers.add(conform::run_life(options), name);
    clusters.add(conform::run_cluster_life(options), name);
  }
  progress.finish();
  servers.print();
  clusters.print();
  print("seeds from {}, steps {}{}\n", first, steps, told_options(decisions));
  return servers.all_held() && clusters.all_held();
}

}  // namespace

void add_conform(CLI::App& app, int& exit_code) {
  struct Arguments {
    conform::RunOptions run;
    std::string step, json, junit;
    std::optional<std::uint64_t> seed;
    std::uint64_t lives = 1;
    int steps = 12;
    std::vector<std::string> options;
    std::string sources;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("conform", "replay recorded decisions and compare, to the last bit");
  CLI::Option* seed = command->add_option(
      "--seed", arguments->seed, "instead of vectors: run the random simulation of this seed and print its events");
  command->add_option("paths", arguments->run.paths, "vector files (.jsonl, .jsonl.gz) or folders of them")
      ->excludes(seed);
  command->add_option("--lives", arguments->lives, "number of simulations, with ascending seeds")
      ->check(CLI::Range(std::uint64_t{1}, kLivesMost))
      ->needs(seed);
  command->add_option("--steps", arguments->steps, "events in a life")->check(CLI::Range(1, 100'000))->needs(seed);
  add_decision_options(*command, arguments->options, "with --seed: ");
  add_sources(*command, arguments->sources);
  command->add_option("--step", arguments->step, "only vectors of this step of the specification: 1e, 2b, 3 or 4")
      ->type_name("STEP")
      ->excludes(seed);
  command->add_option("--name", arguments->run.name, "only vectors whose name contains this text")->excludes(seed);
  command->add_option("--diff", arguments->run.diff_count, "show the first N differing vectors")->excludes(seed);
  command->add_option("--json", arguments->json, "write the report to this file")->type_name("FILE")->excludes(seed);
  command
      ->add_option("--junit", arguments->junit,
                   "write it to this file, as JUnit's XML: a test per file of vectors; --diff N adds the first "
                   "differences")
      ->type_name("FILE")
      ->excludes(seed);
  command->footer(
      "Exit code: 0 every vector is equal or every life kept its invariants, 1 a report could not be written, 2 usage "
      "or bad input, 3 a decision differs, a vector is not supported or a life broke an invariant.");
  command->callback([arguments, &exit_code] {
    const auto sources = enabled_sources("berth conform", arguments->sources);
    if (!sources) {
      exit_code = report_error(sources.error(), 2);
      return;
    }
    arguments->run.sources = *sources;
    if (arguments->seed) {
      model::Options decisions;
      for (const std::string& assignment : arguments->options)
        if (auto done = model::set_option(decisions, assignment); !done) {
          fmt::print(stderr, "--option: {}\n", done.error());
          exit_code = 2;
          return;
        }
      const bool held = run_lives(*arguments->seed, arguments->lives, arguments->steps, decisions, *sources);
      exit_code = held ? 0 : 3;
      return;
    }
    if (!arguments->options.empty()) {
      fmt::print(stderr,
                 "--option: recorded decisions are made with the defaults; only simulations (--seed) take options\n");
      exit_code = 2;
      return;
    }
    if (arguments->run.paths.empty()) {
      fmt::print(stderr, "paths: name vector files or folders of them, or --seed\n");
      exit_code = 2;
      return;
    }
    Outputs outputs;
    for (const std::string& path : arguments->run.paths) outputs.input(path);
    outputs.output("--json", arguments->json);
    outputs.output("--junit", arguments->junit);
    if (auto fine = outputs.check(); !fine) {
      exit_code = report_error(fine.error(), 2);
      return;
    }
    if (!arguments->step.empty()) arguments->run.step = arguments->step;
    auto report = conform::run(arguments->run);
    if (!report) {
      exit_code = report_error(report.error(), 2);
      return;
    }
    if (report->equal + report->differ + report->unsupported == 0) {
      fmt::print(stderr, "these paths hold no vector that --name and --step ask for: nothing was compared\n");
      exit_code = 2;
      return;
    }
    print("{}", conform::to_table(*report));
    exit_code = report->differ + report->unsupported == 0 ? 0 : 3;
    if (Outputs::write(arguments->json, json::to_text(conform::to_json(*report), 2) + "\n") != 0) exit_code = 1;
    if (Outputs::write(arguments->junit, conform::to_junit(*report)) != 0) exit_code = 1;
  });
}

}  // namespace berth::cli
