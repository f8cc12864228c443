#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "rebalance/text.h"

namespace berth::cli {
namespace {

/// Version of the JSON format; raised when the meaning of a member changes.
constexpr int kRebalanceVersion = 1;

struct RebalanceArguments {
  agent::SourceOptions sources;
  std::string cluster, json, script;
  rebalance::Settings settings;
  std::uint64_t seed = 1;
  bool verbose = false;
};

int run_rebalance(const RebalanceArguments& arguments) {
  Outputs outputs;
  outputs.input(arguments.cluster);
  outputs.output("--json", arguments.json), outputs.output("--script", arguments.script);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  auto start = serve::prepare(
      {.source = arguments.cluster, .source_options = arguments.sources, .seed = arguments.seed, .now_ns = clock_ns()});
  if (!start) return report_error(start.error(), 2);
  print_warnings(start->warnings);
  print_notes(start->notes);
  rebalance::Settings settings = arguments.settings;
  if (settings.fragmentation) *settings.fragmentation /= 100;
  const rebalance::Plan plan = rebalance::make_plan(std::move(*start), settings);
  print("{}", rebalance::to_text(plan, arguments.verbose));
  json::Value document = json::Value::object();
  document.set("format", "berth-rebalance"), document.set("version", kRebalanceVersion);
  document.set("cluster", arguments.cluster), document.set("plan", rebalance::to_json(plan));
  if (Outputs::write(arguments.script, rebalance::script(plan, arguments.cluster)) != 0) return 1;
  return Outputs::write(arguments.json, json::to_text(document, 2) + "\n");
}

}  // namespace

void add_rebalance(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RebalanceArguments>();
  CLI::App* command = app.add_subcommand("rebalance", "find moves that empty nodes, with a bound on occupied nodes");
  command
      ->add_option("cluster", arguments->cluster,
                   "a cluster as `berth import` reads it, or a workload; it is read, never written")
      ->required();
  add_source_options(*command, arguments->sources);
  command->add_option("--moves", arguments->settings.limits.moves, "move at most K allocations")
      ->type_name("INT K")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  command->add_option("--empty", arguments->settings.limits.nodes, "stop when N nodes are emptied")
      ->type_name("INT N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command
      ->add_option("--fragmentation", arguments->settings.fragmentation,
                   "stop as soon as the fragmentation of free capacity is at most this much")
      ->type_name("FLOAT PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  command->add_flag("--batch", arguments->settings.move_batch,
                    "also move allocations of batch jobs; they restart from the beginning");
  command->add_option("--seed", arguments->seed, "seed of the order in which the scheduler visits nodes");
  command->add_flag("--verbose", arguments->verbose, "show all rows of the tables");
  command->add_option("--script", arguments->script, "write the moves as a shell script of nomad commands to this file")
      ->type_name("FILE");
  command->add_option("--json", arguments->json, "write the plan to this file")->type_name("FILE");
  command->footer("Exit code: 0 fine, 1 berth failed, 2 usage or bad input.");
  add_examples(*command, {"berth rebalance cluster.json --script moves.sh"});
  command->callback([arguments, &exit_code] { exit_code = run_rebalance(*arguments); });
}

}  // namespace berth::cli
