#include "gate/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/files.h"
#include "io/json_parse.h"

namespace berth::gate {
namespace {

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

Outcome<Command> Command::parse(const std::string& text, bool stages) {
  auto words = run::split_shell_words(text);
  if (!words) return failure_of(words.error());
  Command out;
  out.text_ = text;
  out.words_ = std::move(*words);
  out.stages_ = stages;
  out.template_ = text.find("{json}") != std::string::npos;
  return out;
}

bool Command::has_word(std::string_view word) const {
  return std::find(words_.begin(), words_.end(), word) != words_.end();
}

std::vector<std::string> Command::arguments(const Case& what, const std::string& json) const {
  std::vector<std::string> out;
  if (template_) {
    out = words_;
    for (std::string& word : out) {
      replace_all(word, "{workload}", what.workload);
      replace_all(word, "{label}", what.label);
      replace_all(word, "{seed}", what.seed < 0 ? "" : std::to_string(what.seed));
      replace_all(word, "{json}", json);
    }
    return out;
  }
  out = {words_.front(), "run", what.workload, "--label", what.label, "--quiet", "--json", json};
  if (stages_) out.emplace_back("--stages");
  if (what.seed >= 0) out.insert(out.end(), {"--seed", std::to_string(what.seed)});
  out.insert(out.end(), words_.begin() + 1, words_.end());
  return out;
}

Outcome<json::Value> measure_once(const Command& command, const Case& what, const MeasureOptions& options,
                                  std::size_t cores) {
  const run::TemporaryFile json, log;
  const auto end = run::run_program(
      command.arguments(what, json.path()),
      {.folder = "", .log = log.path(), .timeout_seconds = options.timeout_seconds, .cores = options.pin ? cores : 0});
  if (!end) return failure_of(end.error());
  const std::string place = what.name();
  const std::string said = run::last_line(io::read_file(log.path()).value_or(""));
  const std::string said_words = said.empty() ? "" : fmt::format(": {}", said);
  if (end->timed_out)
    return fail(kOwnFailure, command.text(), fmt::format("took more than {:.0f} s", options.timeout_seconds),
                "raise --timeout, or gate a smaller label", place);
  if (!end->fine() && end->exit_code != kRegression)
    return fail(end->exit_code == kUsage ? kUsage : kOwnFailure, command.text(), end->words() + said_words,
                "run it by hand to see all it says", place);
  const auto text = io::read_file(json.path());
  if (!text || text->find_first_not_of(" \t\r\n") == std::string::npos)
    return fail(kOwnFailure, command.text(), "wrote no report" + said_words,
                "it should write the JSON of `berth run` to the file named after --json", place);
  auto report = io::parse_json(*text, "its report");
  if (!report)
    return fail(kOwnFailure, command.text(), "wrote a report that cannot be read: " + report.error().line(),
                "it should write the JSON of `berth run`", place);
  return std::move(*report);
}

}  // namespace berth::gate
