#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/export_import.h"
#include "io/redact.h"

namespace berth::cli {

void add_import(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::vector<std::string> from;
    std::string to;
    bool redact = false;
    agent::SourceOptions options;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("import",
                                         "read a cluster from a snapshot, a running agent, answers of its API or a "
                                         "debug archive, and write it as CLUSTER.json");
  command
      ->add_option("source", arguments->from,
                   "an agent's address (http://..., with Nomad's environment variables for token and TLS), what `nomad "
                   "operator snapshot save` or `nomad operator debug` wrote, answers of the API or the CLI in files or "
                   "folders, in any mixture, an object {path: answer}, or a CLUSTER.json; plain or gzip; default: "
                   "NOMAD_ADDR")
      ->type_name("SOURCE");
  command->add_option("-o,--output", arguments->to, "the CLUSTER.json to write")->type_name("FILE")->required();
  command->add_flag("--strict", arguments->options.import.strict, "refuse a cluster that contradicts itself");
  command->add_flag("--redact", arguments->redact,
                    "replace what tasks are given by numbered words: environment, driver configuration, templates, "
                    "headers of artifacts");
  add_source_options(*command, arguments->options);
  command->callback([arguments, &exit_code] {
    if (arguments->from.empty()) arguments->from = {agent::settings_from_environment("").address};
    Outputs outputs;
    for (const std::string& source : arguments->from) outputs.input(source);
    outputs.output("-o", arguments->to);
    if (auto fine = outputs.check(); !fine) {
      exit_code = report_error(fine.error(), 2);
      return;
    }
    arguments->options.import.now_ns = clock_ns();
    auto imported = agent::import_sources(arguments->from, arguments->options);
    if (!imported) {
      exit_code = report_error(imported.error(), 2);
      return;
    }
    print_warnings(imported->warnings);
    print_notes(imported->notes);
    if (arguments->redact) io::redact(imported->state);
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
