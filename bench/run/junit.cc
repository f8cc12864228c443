#include "run/junit.h"

#include <fmt/format.h>

#include <string_view>

namespace berth::run {
namespace {

/// Escapes text for an attribute or element of XML 1.0.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string case_text(const JunitCase& one) {
  const std::string file = one.file.empty() ? "" : fmt::format(" file=\"{}\"", xml(one.file));
  std::string result;
  switch (one.outcome) {
    case JunitCase::Outcome::passed:
      result = fmt::format("<system-out>{}</system-out>", xml(one.text + "\n" + one.detail));
      break;
    case JunitCase::Outcome::skipped:
      result = fmt::format("<skipped message=\"{}\"/>", xml(one.text));
      break;
    case JunitCase::Outcome::failed:
      result = fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>", xml(one.type), xml(one.text),
                           xml(one.detail));
      break;
  }
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\"{}>{}</testcase>\n", xml(one.class_name), xml(one.name),
                     file, result);
}

}  // namespace

std::string to_junit(const std::string& name, const std::vector<JunitSuite>& suites) {
  std::size_t tests = 0, failures = 0, skips = 0;
  std::string body;
  for (const JunitSuite& suite : suites) {
    std::size_t failed = 0, skipped = 0;
    std::string cases;
    for (const JunitCase& one : suite.cases) {
      failed += one.outcome == JunitCase::Outcome::failed;
      skipped += one.outcome == JunitCase::Outcome::skipped;
      cases += case_text(one);
    }
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n{}  </testsuite>\n",
        xml(suite.name), suite.cases.size(), failed, skipped, cases);
    tests += suite.cases.size(), failures += failed, skips += skipped;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n{}</testsuites>\n",
      xml(name), tests, failures, skips, body);
}

}  // namespace berth::run
