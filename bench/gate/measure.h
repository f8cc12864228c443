// One repetition of a case by a command: its process and the report it writes.
#pragma once

#include "gate/process.h"
#include "gate/samples.h"

namespace berth::gate {

/// How a side is run. One word or a word with options of `berth run`: `PROGRAM run WORKLOAD --label L [--seed S]
/// OPTIONS --quiet --json FILE`, with `stages` also `--stages`. A command that names {json} is run as it stands, with
/// {workload}, {label}, {seed}, {json} replaced.
class Command {
 public:
  static Outcome<Command> parse(const std::string& text, bool stages = false);
  [[nodiscard]] std::vector<std::string> arguments(const Case& what, const std::string& json) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_template() const { return template_; }
  [[nodiscard]] bool has_word(std::string_view word) const;

 private:
  std::string text_;
  std::vector<std::string> words_;
  bool template_ = false, stages_ = false;
};

struct MeasureOptions {
  double timeout_seconds = 600;
  bool pin = true;  ///< to as many cores as the workload has workers, where there are so many
};

/// Runs a case once. Errors (kOwnFailure unless the program does not exist): it crashed, took too long, wrote no report
/// or one that is no JSON. Exit code 3 (decisions differ from Nomad's) is fine: the report says so. `cores`: 0 = not
/// pinned.
[[nodiscard]] Outcome<json::Value> measure_once(const Command& command, const Case& what, const MeasureOptions& options,
                                                std::size_t cores);

}  // namespace berth::gate
