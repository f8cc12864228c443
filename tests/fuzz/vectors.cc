// Recorded decisions, as `berth conform` reads them.
#include <cstdio>
#include <functional>

#include "conform/run.h"
#include "fuzz/harness.h"
#include "io/json_parse.h"

namespace berth::fuzz {
namespace {

Result<conform::Report> replay(const std::string& name, std::string_view lines) {
  conform::RunOptions options;
  options.diff_count = 2;
  options.paths = {scratch_file(name + ".jsonl", lines)};
  auto report = conform::run(options);
  (void)std::remove(options.paths[0].c_str());  // each input has its own name
  return report;
}

/// Replaces the number at position `chosen` of the vector by a text. Leaves out expected values ("out") and members
/// that may have any type. Returns how many numbers there are, `passed` included.
std::size_t replace_number(json::Value& value, std::size_t chosen, std::size_t passed = 0) {
  if (value.is_number()) {
    if (passed == chosen) value = "x";
    return passed + 1;
  }
  if (value.is_array())
    for (json::Value& item : value.items()) passed = replace_number(item, chosen, passed);
  if (value.is_object())
    for (auto& [key, member] : value.members())
      if (key != "out" && key != "Config" && key != "name") passed = replace_number(member, chosen, passed);
  return passed;
}

/// True if a vector was refused instead of replayed (Outcome::failed), or if the text itself was compared: as an
/// expected value, or kept in a member that berth does not read.
bool is_noticed(const conform::KeptDifference& kept) {
  if (kept.differences.empty()) return false;
  const auto& [place, expected, got, rule] = kept.differences[0];
  return expected == "a result" || expected == "\"x\"" || got == "\"x\"";
}

/// A finding if a text in place of a number is neither refused nor without effect.
void check_types(const std::string& name, std::string_view lines, const conform::Report& report) {
  const std::string_view line = lines.substr(0, lines.find('\n'));
  const auto vector = io::parse_json(line);
  if (!vector || lines.size() > 20'000) return;
  json::Value changed = *vector;
  const std::size_t numbers = replace_number(changed, std::string::npos);
  if (numbers == 0) return;
  replace_number(changed, std::hash<std::string_view>{}(lines) % numbers);
  const auto again = replay(name, json::to_text(changed) + std::string(lines.substr(line.size())));
  if (!again) return require_line(again.error().line());
  if (!again->kept.empty() && is_noticed(again->kept[0])) return;
  require(again->equal == report.equal && again->unsupported == report.unsupported,
          "a text was read as a number: ", json::to_text(changed));
}

void fuzz_vectors(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  std::string name;
  for (const char c : input.substr(0, std::min<std::size_t>(end, 40)))
    if ((c >= 'a' && c <= 'z') || c == '_') name += c;
  const std::string_view lines = input.substr(std::min(end + 1, input.size()));
  const auto report = replay(name, lines);
  if (!report) return require_line(report.error().line());
  (void)conform::to_table(*report);
  (void)conform::to_junit(*report);
  check_types(name, lines, *report);
}

const FuzzTarget kVectors("vectors", fuzz_vectors);

}  // namespace
}  // namespace berth::fuzz
