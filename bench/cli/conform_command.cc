#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "cli/random_lives.h"
#include "conform/run.h"

namespace berth::cli {

namespace {

constexpr std::uint64_t kLivesMost = 1'000'000;

/// Option `name`: numbers of the `what` of a simulation to keep.
CLI::Option* add_part(CLI::App& command, const char* name, std::vector<int>& numbers, const char* what) {
  return command
      .add_option(name, numbers, fmt::format("only these {} of the simulation, e.g. 0,3,4; for debugging", what))
      ->delimiter(',')
      ->type_name("N,...")
      ->check(CLI::Range(0, 99'999));
}

}  // namespace

void add_conform(CLI::App& app, int& exit_code) {
  struct Arguments {
    conform::RunOptions run;
    std::string step, json, junit;
    std::optional<std::uint64_t> seed;
    RandomLives lives;
    std::vector<int> only_steps, only_nodes;
    std::vector<std::string> options;
    std::string sources;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("conform", "compare berth's decisions with recorded ones of Nomad, bit by bit");
  CLI::Option* seed = command->add_option(
      "--seed", arguments->seed, "instead of vectors: run the random simulation of this seed, and print its events");
  command->add_option("paths", arguments->run.paths, "vector files (.jsonl, .jsonl.gz) or folders of them")
      ->excludes(seed);
  CLI::Option* many =
      command
          ->add_option(
              "--lives", arguments->lives.count,
              "number of simulations, with ascending seeds; stops at the first one that breaks an invariant, and "
              "prints the smallest part of it that breaks it")
          ->check(CLI::Range(std::uint64_t{1}, kLivesMost))
          ->needs(seed);
  command->add_option("--threads", arguments->lives.threads, "threads for --lives; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->needs(many);
  CLI::Option* kind = command
                          ->add_option("--kind", arguments->lives.kind,
                                       "only simulations of this kind: the server alone, or a whole cluster")
                          ->check(CLI::IsMember({"server", "cluster"}))
                          ->needs(seed);
  command->add_option("--steps", arguments->lives.steps, "events in a simulation")
      ->check(CLI::Range(1, 100'000))
      ->needs(seed);
  add_part(*command, "--only-steps", arguments->only_steps, "steps")->needs(kind)->excludes(many);
  add_part(*command, "--only-nodes", arguments->only_nodes, "first nodes")->needs(kind)->excludes(many);
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
                   "write the report to this file, as JUnit's XML: a test per file of vectors; --diff N adds the first "
                   "differences")
      ->type_name("FILE")
      ->excludes(seed);
  command->footer(
      "Exit code: 0 every vector is equal or every simulation kept its invariants, 1 a report could not be written, 2 "
      "usage or bad input, 3 a decision differs, a vector is not supported or a simulation broke an invariant, 4 "
      "interrupted.");
  add_examples(*command, {"berth conform vectors.jsonl", "berth conform --seed 1 --lives 20"});
  command->callback([arguments, &exit_code] {
    const auto sources = enabled_sources("berth conform", arguments->sources);
    if (!sources) {
      exit_code = report_error(sources.error(), 2);
      return;
    }
    arguments->run.sources = *sources;
    if (arguments->seed) {
      RandomLives& lives = arguments->lives;
      for (const std::string& assignment : arguments->options)
        if (auto done = model::set_option(lives.decisions, assignment); !done) {
          fmt::print(stderr, "--option: {}\n", done.error());
          exit_code = 2;
          return;
        }
      lives.first = *arguments->seed, lives.sources = *sources;
      if (!arguments->only_steps.empty()) lives.only_steps = arguments->only_steps;
      if (!arguments->only_nodes.empty()) lives.only_nodes = arguments->only_nodes;
      exit_code = run_lives(lives);
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
      fmt::print(stderr, "no vector in these paths matches --name and --step: nothing was compared\n");
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
