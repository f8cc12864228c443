#include "cli/html_output.h"

#include "cli/common.h"
#include "io/files.h"
#include "report/kinds.h"
#include "report/page.h"

namespace berth::cli {

Result<HtmlOutput> HtmlOutput::prepare(const std::string& path) {
  HtmlOutput out;
  if (path.empty()) return out;
  if (auto fine = check_output(path); !fine) return tl::unexpected(fine.error());
  auto chart_js = report::read_chart_js();
  if (!chart_js) return tl::unexpected(chart_js.error());
  out.path_ = path, out.chart_js_ = std::move(*chart_js);
  return out;
}

int HtmlOutput::write(const report::Document& document) const {
  if (path_.empty()) return 0;
  if (auto done = io::write_file_atomically(path_, report::to_html(document, chart_js_)); !done)
    return report_error(done.error(), 1);
  return 0;
}

int HtmlOutput::write(json::Value result, const std::string& name) const {
  if (path_.empty()) return 0;
  std::vector<report::Input> inputs;
  auto input = report::as_input(std::move(result), name);
  if (!input) return report_error(input.error(), 1);
  inputs.push_back(std::move(*input));
  return write(report::make_document(inputs));
}

}  // namespace berth::cli
