// --html of the commands: found out before the work whether the page can be made, written whole after it. That its file
// can be written is a matter of Outputs, as with all others.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "berth/result.h"
#include "report/document.h"

namespace berth::cli {

class HtmlOutput {
 public:
  /// `path` "": nothing is to be written. Errors: there is no Chart.js.
  [[nodiscard]] static Result<HtmlOutput> prepare(const std::string& path);

  /// Exit code: 0, or 1 with the error told.
  [[nodiscard]] int write(const report::Document& document) const;
  /// The page of several results, each a section.
  [[nodiscard]] int write(std::vector<json::Value> results) const;
  /// The page of one result; `name` stands where its file's name would.
  [[nodiscard]] int write(json::Value result, const std::string& name) const;

 private:
  std::string path_, chart_js_;
};

}  // namespace berth::cli
