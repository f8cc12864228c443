// `berth report`: results of the other commands as tables for the terminal and as one page.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/html_output.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "report/kinds.h"

namespace berth::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> files;
  std::string html;
  bool quiet = false, wide = false;
};

int report_files(const ReportArguments& arguments) {
  if (arguments.files.empty())
    return report_error({"berth report", "", "no file was named", "name results, e.g. what `berth run --json` wrote"},
                        2);
  Outputs outputs;
  for (const std::string& file : arguments.files) outputs.input(file);
  outputs.output("--html", arguments.html);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  auto html = HtmlOutput::prepare(arguments.html);
  if (!html) return report_error(html.error(), 2);
  std::vector<report::Input> inputs;
  for (const std::string& file : arguments.files) {
    if (std::count(arguments.files.begin(), arguments.files.end(), file) > 1)
      return report_error({file, "", "is named twice", "name it once"}, 2);
    auto input = report::read_input(file);
    if (!input) return report_error(input.error(), 2);
    inputs.push_back(std::move(*input));
  }
  const report::Document document = report::make_document(inputs);
  if (!arguments.quiet) print("{}", report::to_terminal(document, arguments.wide ? 0 : terminal_width()));
  return html->write(document);
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "show results side by side, as tables or as a page");
  command->add_option("files", arguments->files,
                      "files that --json of run, compare, profile, load and gate wrote, baselines, histories, "
                      "databases of --results or berth sweep; runs of one workload are compared with the first");
  command->add_option("--html", arguments->html, "write one self-contained page to this file")->type_name("FILE");
  command->add_flag("--wide", arguments->wide, "do not break tables that are wider than the terminal");
  command->add_flag("--quiet", arguments->quiet, "print no tables");
  command->footer(
      "Charts need Chart.js: Debian's package libjs-chart.js, or the file that BERTH_CHART_JS names.\n"
      "Exit code: 0 fine, 1 berth failed or the page could not be written, 2 usage or bad input.");
  add_examples(*command, {"berth report base.json head.json"});
  command->callback([arguments, &exit_code] { exit_code = report_files(*arguments); });
}

}  // namespace berth::cli
