// `--html`: checks before the work that the page can be made, and writes it afterwards. Outputs checks that the file
// itself can be written.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "berth/result.h"
#include "report/document.h"

namespace berth::cli {

class HtmlOutput {
 public:
  /// `path` "": no page. Error: Chart.js is missing.
  [[nodiscard]] static Result<HtmlOutput> prepare(const std::string& path);

  /// Writes the page. Returns 0, or 1 after reporting the error.
  [[nodiscard]] int write(const report::Document& document) const;
  /// Writes the page of several results, each a section.
  [[nodiscard]] int write(std::vector<json::Value> results) const;
  /// Writes the page of one result, with `name` in place of a file name.
  [[nodiscard]] int write(json::Value result, const std::string& name) const;

 private:
  std::string path_, chart_js_;
};

}  // namespace berth::cli
