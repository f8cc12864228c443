#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/export_import.h"

namespace berth::cli {

void add_import(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::string from, to;
    io::ImportOptions options;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "import", "read a cluster from an export or from answers of Nomad's API and write it as CLUSTER.json");
  command
      ->add_option("export", arguments->from,
                   "an object {path: answer}, a folder or file of API answers, or a CLUSTER.json; plain or gzip")
      ->required();
  command->add_option("-o,--output", arguments->to, "the CLUSTER.json to write")->type_name("FILE")->required();
  command->add_flag("--strict", arguments->options.strict, "refuse an export that contradicts itself");
  command->callback([arguments, &exit_code] {
    Outputs outputs;
    outputs.input(arguments->from);
    outputs.output("-o", arguments->to);
    if (auto fine = outputs.check(); !fine) {
      exit_code = report_error(fine.error(), 2);
      return;
    }
    arguments->options.now_ns = clock_ns();
    auto imported = io::import_cluster(arguments->from, arguments->options);
    if (!imported) {
      exit_code = report_error(imported.error(), 2);
      return;
    }
    print_warnings(imported->warnings);
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
