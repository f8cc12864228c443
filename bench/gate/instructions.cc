#include "gate/instructions.h"

#include <fmt/format.h>

#include "base/text.h"
#include "io/files.h"

namespace berth::gate {

Outcome<double> count_instructions(const Command& command, const Case& what, const MeasureOptions& options) {
  const TemporaryFile json, log, counts;
  std::vector<std::string> arguments = {"valgrind", "--tool=cachegrind", "--cache-sim=no",
                                        "--cachegrind-out-file=/dev/null", "--log-file=" + counts.path()};
  for (std::string& word : command.arguments(what, json.path())) arguments.push_back(std::move(word));
  if (!command.is_template() && !command.has_word("--isa")) arguments.insert(arguments.end(), {"--isa", "AVX2"});
  const auto end = run_process(
      arguments, {.folder = "", .log = log.path(), .timeout_seconds = 50 * options.timeout_seconds, .cores = 0});
  if (!end)
    return fail(kUsage, "berth gate", "valgrind is not installed",
                "apt-get install valgrind, or leave --instructions out", "--instructions");
  if (!end->fine() && end->exit_code != kRegression)
    return fail(kOwnFailure, command.text(),
                fmt::format("under valgrind it {}: {}", end->words(),
                            last_line(io::read_file(log.path()).value_or("") + "\n" +
                                      io::read_file(counts.path()).value_or(""))),
                "leave --instructions out for this case", what.name());
  // "==123== I   refs:      197,331,196"
  const std::string text = io::read_file(counts.path()).value_or("");
  const std::size_t at = text.rfind("refs:");
  std::string digits;
  for (std::size_t i = at; i < text.size() && text[i] != '\n'; ++i)
    if (text[i] >= '0' && text[i] <= '9') digits += text[i];
  const auto value = base::parse_uint64(digits);
  if (at == std::string::npos || !value)
    return fail(kOwnFailure, "valgrind", "printed no count of instructions", "check `valgrind --version` (3.19 does)",
                what.name());
  return static_cast<double>(*value);
}

}  // namespace berth::gate
