#include "cli/log_options.h"

#include <cstdio>

#include "base/text.h"
#include "server/eval_line.h"

namespace berth::cli {

void add_log(CLI::App& command, LogArguments& arguments, const std::string& what) {
  command
      .add_option("--log-level", arguments.level,
                  "log to stderr at this level and above: trace, debug, info, warn or error; " + what +
                      " (default: $BERTH_LOG, else nothing)")
      ->type_name("LEVEL")
      ->envname("BERTH_LOG");
  command.add_flag("--log-json", arguments.json, "with --log-level: write JSON lines, as `nomad agent -log-json` does");
}

Result<std::optional<base::LogLevel>> log_level(const std::string& command, const LogArguments& arguments) {
  if (arguments.level.empty()) return std::nullopt;
  const auto level = base::parse_log_level(arguments.level);
  if (!level)
    return tl::unexpected(InputError{command, "--log-level (or BERTH_LOG)",
                                     "'" + base::shown(arguments.level) + "' is no level",
                                     "write trace, debug, info, warn or error"});
  return level;
}

void print_log(std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); }

void EvaluationLog::lane_made(server::Lane& lane) {
  if (lane.number >= began_.size()) began_.resize(lane.number + std::size_t{1});
  if (next_) next_->lane_made(lane);
}

void EvaluationLog::attempt(server::Lane& lane) {
  if (lane.attempts == 1) began_[lane.number] = std::chrono::steady_clock::now();
}

void EvaluationLog::settled(server::Lane& lane) {
  using std::chrono::duration_cast, std::chrono::nanoseconds;
  const auto took = std::chrono::steady_clock::now() - began_[lane.number];
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const base::LogLine line{base::LogLevel::info,
                           cluster_time_ ? lane.facts.now_ns : duration_cast<nanoseconds>(now).count(), "worker",
                           server::kEvalMessage,
                           server::eval_fields(lane, lane.result.state->symbols->text(lane.record->trigger),
                                               duration_cast<nanoseconds>(took).count())};
  print_log(json_ ? line.json() : line.text());
}

}  // namespace berth::cli
