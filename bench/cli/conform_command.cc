#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "conform/run.h"
#include "io/files.h"

namespace berth::cli {

void add_conform(CLI::App& app, int& exit_code) {
  struct Arguments {
    conform::RunOptions run;
    std::string step, json;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("conform", "replay recorded decisions and compare, to the last bit");
  command->add_option("paths", arguments->run.paths, "vector files (.jsonl, .jsonl.gz) or folders of them")->required();
  command->add_option("--step", arguments->step, "only vectors of this step of the specification: 1e, 2b, 3 or 4");
  command->add_option("--name", arguments->run.name, "only vectors whose name contains this text");
  command->add_option("--diff", arguments->run.diff_count, "show the first N differing vectors");
  command->add_option("--json", arguments->json, "write the report to this file");
  command->callback([arguments, &exit_code] {
    if (!arguments->step.empty()) arguments->run.step = arguments->step;
    auto report = conform::run(arguments->run);
    if (!report) {
      fmt::print(stderr, "{}\n", report.error().line());
      exit_code = 2;
      return;
    }
    if (!arguments->json.empty()) {
      if (auto done = io::write_file_atomically(arguments->json, json::to_text(conform::to_json(*report), 2) + "\n");
          !done) {
        fmt::print(stderr, "{}\n", done.error().line());
        exit_code = 1;
        return;
      }
    }
    fmt::print("{}", conform::to_table(*report));
    exit_code = report->differ + report->unsupported == 0 ? 0 : 3;
  });
}

}  // namespace berth::cli
