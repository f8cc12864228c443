#include "report/page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/build_info.h"
#include "io/files.h"
#include "page_sources.h"

namespace berth::report {
namespace {

constexpr const char* kDebian = "/usr/share/javascript/chart.js/chart.min.js";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// JSON for a script element. `<` occurs only within strings; escaped as \u003c it cannot end the element.
std::string data_text(const Document& document) { return replaced(json::to_text(to_json(document)), "<", "\\u003c"); }

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

Result<std::string> read_chart_js() {
  const char* named = std::getenv("BERTH_CHART_JS");
  const std::string path = named && *named ? named : kDebian;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return tl::unexpected(InputError{path, "", "Chart.js is not there, which draws the charts of --html",
                                     "apt-get install libjs-chart.js, or set BERTH_CHART_JS to the file chart.min.js"});
  auto text = io::read_file(path);
  if (!text) return text;
  const std::size_t at = text->substr(0, 400).find("Chart.js v");
  const char major = at == std::string::npos || at + 10 >= text->size() ? '0' : (*text)[at + 10];
  if (major != '3' && major != '4')
    return tl::unexpected(InputError{path, "", "is not version 3 or 4 of Chart.js",
                                     "install Debian's libjs-chart.js, or name a chart.min.js of version 3 or 4"});
  return text;
}

std::string to_html(const Document& document, const std::string& chart_js) {
  const base::BuildInfo& build = base::build_info();
  const std::string made =
      fmt::format("Made {:%Y-%m-%d %H:%M} UTC by berth {}.", fmt::gmtime(std::time(nullptr)), build.version);
  // Scans only the page template, so that filled-in text is not searched for placeholders.
  std::string out;
  std::string_view rest = kPageHtml;
  while (true) {
    const std::size_t open = rest.find("{{"), close = rest.find("}}");
    out += rest.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::string_view name = rest.substr(open + 2, close - open - 2);
    if (name == "TITLE") out += escaped(document.title + " - berth");
    if (name == "CSS") out += kPageCss;
    if (name == "MADE") out += escaped(made);
    if (name == "DATA") out += data_text(document);
    if (name == "CHART") out += replaced(chart_js, "</script", "<\\/script");
    if (name == "PAGE") out += kPageJs;
    rest = rest.substr(close + 2);
  }
}

}  // namespace berth::report
