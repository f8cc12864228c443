#include "cli/html_output.h"

#include "cli/common.h"
#include "cli/outputs.h"
#include "report/kinds.h"
#include "report/page.h"

namespace berth::cli {

Result<HtmlOutput> HtmlOutput::prepare(const std::string& path) {
  HtmlOutput out;
  if (path.empty()) return out;
  auto chart_js = report::read_chart_js();
  if (!chart_js) return tl::unexpected(chart_js.error());
  out.path_ = path, out.chart_js_ = std::move(*chart_js);
  return out;
}

int HtmlOutput::write(const report::Document& document) const {
  return path_.empty() ? 0 : Outputs::write(path_, report::to_html(document, chart_js_));
}

int HtmlOutput::write(json::Value result, const std::string& name) const {
  if (path_.empty()) return 0;
  std::vector<report::Input> inputs;
  auto input = report::as_input(std::move(result), name);
  if (!input) return report_error(input.error(), 1);
  inputs.push_back(std::move(*input));
  return write(report::make_document(inputs));
}

int HtmlOutput::write(std::vector<json::Value> results) const {
  if (path_.empty()) return 0;
  std::vector<report::Input> inputs;
  for (json::Value& result : results) {
    auto input = report::as_input(std::move(result), "");
    if (!input) return report_error(input.error(), 1);
    inputs.push_back(std::move(*input));
  }
  return write(report::make_document(inputs));
}

}  // namespace berth::cli
