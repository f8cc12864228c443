#include "gate/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "io/files.h"

namespace berth::gate {

Profile profile_once(const Command& command, const Case& what, const MeasureOptions& options,
                     const std::string& folder) {
  constexpr int kLines = 20;
  Profile out;
  out.case_name = what.name();
  std::string name = what.name();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ' '; }, '-');
  const std::string file = folder + "/" + name + ".perf.data";
  const run::TemporaryFile json, log;
  std::vector<std::string> arguments = {"perf", "record", "-q", "-F", "999", "-g", "-o", file, "--"};
  for (std::string& word : command.arguments(what, json.path())) arguments.push_back(std::move(word));
  const auto end = run::run_program(
      arguments, {.folder = "", .log = log.path(), .timeout_seconds = 5 * options.timeout_seconds, .cores = 0});
  if (!end) {
    out.text = "no profile: perf is not installed (apt-get install linux-perf)";
    return out;
  }
  if (!end->fine() && end->exit_code != kRegression) {
    out.text = fmt::format("no profile: perf record {}: {}", end->words(),
                           run::last_line(io::read_file(log.path()).value_or("")));
    return out;
  }
  out.file = file;
  const auto report =
      run::capture({"perf", "report", "--stdio", "--no-children", "-g", "none", "--percent-limit", "1", "-i", file});
  int lines = 0;
  for (const std::string_view line : base::split(report ? report->text : "", '\n')) {
    if (line.empty() || line.starts_with('#') || lines == kLines) continue;
    out.text += std::string(line) + "\n";
    ++lines;
  }
  if (out.text.empty()) out.text = "perf report printed nothing; its data are kept";
  return out;
}

}  // namespace berth::gate
