// --log-level and --log-json: what happens, as lines on stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/log_line.h"
#include "berth/result.h"
#include "server/server.h"

namespace berth::cli {

struct LogArguments {
  std::string level;
  bool json = false;
};
/// Adds the options. `what` lists the events of each level for the help text. The default level is that of BERTH_LOG.
void add_log(CLI::App& command, LogArguments& arguments, const std::string& what);
/// The level; nullopt: no log. Error: not a level.
[[nodiscard]] Result<std::optional<base::LogLevel>> log_level(const std::string& command,
                                                              const LogArguments& arguments);

/// Writes a line to stderr.
void print_log(std::string_view line);

/// Writes a line per evaluation of a run, with the real time or that of its cluster. Calls are forwarded to `next`,
/// which may be null.
class EvaluationLog final : public server::Listener {
 public:
  EvaluationLog(bool json, bool cluster_time, server::Listener* next)
      : json_(json), cluster_time_(cluster_time), next_(next) {}
  void lane_made(server::Lane& lane) override;
  void attempt(server::Lane& lane) override;
  void decided(server::Lane& lane) override {
    if (next_) next_->decided(lane);
  }
  void settled(server::Lane& lane) override;

 private:
  const bool json_, cluster_time_;
  server::Listener* const next_;
  std::deque<std::chrono::steady_clock::time_point> began_;  // by the lane's number
};

}  // namespace berth::cli
