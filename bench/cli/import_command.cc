#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/export_import.h"

namespace berth::cli {

void add_import(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::vector<std::string> from;
    std::string to;
    io::ImportOptions options;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "import",
      "read a cluster from a snapshot, from answers of Nomad's API or from a debug archive, and write it as "
      "CLUSTER.json");
  command
      ->add_option(
          "source", arguments->from,
          "what `nomad operator snapshot save` or `nomad operator debug` wrote, answers of the API in files or "
          "folders, in any mixture, an object {path: answer}, or a CLUSTER.json; plain or gzip")
      ->type_name("SOURCE")
      ->required();
  command->add_option("-o,--output", arguments->to, "the CLUSTER.json to write")->type_name("FILE")->required();
  command->add_flag("--strict", arguments->options.strict, "refuse an export that contradicts itself");
  command->add_flag("--allow-partial", arguments->options.allow_partial,
                    "take a cluster whose sources lack nodes or allocations that it has");
  command->callback([arguments, &exit_code] {
    Outputs outputs;
    for (const std::string& source : arguments->from) outputs.input(source);
    outputs.output("-o", arguments->to);
    if (auto fine = outputs.check(); !fine) {
      exit_code = report_error(fine.error(), 2);
      return;
    }
    arguments->options.now_ns = clock_ns();
    auto imported = io::import_clusters(arguments->from, arguments->options);
    if (!imported) {
      exit_code = report_error(imported.error(), 2);
      return;
    }
    print_warnings(imported->warnings);
    for (const std::string& note : imported->notes) say_line("note: " + base::printable(note, false));
    if (Outputs::write(arguments->to, io::cluster_text(imported->state)) != 0) {
      exit_code = 1;
      return;
    }
    const model::ClusterState& state = imported->state;
    print("{}: {} nodes, {} jobs, {} allocations, {} evaluations, {} deployments at index {}\n", arguments->to,
          state.nodes.size(), state.jobs.size(), state.allocs.size(), state.evals.size(), state.deployments.size(),
          state.index);
    exit_code = 0;
  });
}

}  // namespace berth::cli
