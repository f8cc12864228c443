// Recorded decisions, as `berth conform` reads them.
#include "conform/run.h"
#include "fuzz/harness.h"

namespace berth::fuzz {
namespace {

void fuzz_vectors(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  std::string name;
  for (const char c : input.substr(0, std::min<std::size_t>(end, 40)))
    if ((c >= 'a' && c <= 'z') || c == '_') name += c;
  conform::RunOptions options;
  options.diff_count = 2;
  options.paths = {scratch_file(name + ".jsonl", input.substr(std::min(end + 1, input.size())))};
  const auto report = conform::run(options);
  if (!report) return require_line(report.error().line());
  (void)conform::to_table(*report);
  (void)conform::to_junit(*report);
}

const FuzzTarget kVectors("vectors", fuzz_vectors);

}  // namespace
}  // namespace berth::fuzz
