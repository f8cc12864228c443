// Runs one repetition of a case: a command's process and its report.
#pragma once

#include "gate/failure.h"
#include "gate/samples.h"
#include "run/programs.h"

namespace berth::gate {

/// The command of a side. A program with optional options of `berth run` becomes `PROGRAM run WORKLOAD --label L
/// [--seed S] OPTIONS --quiet --json FILE`, with `stages` also `--stages`. A command that contains {json} is only
/// changed by replacing {workload}, {label}, {seed} and {json}.
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
  bool pin = true;  ///< to as many cores as the workload has workers, if available
};

/// Runs a case once. Errors (kOwnFailure unless the program does not exist): it crashed, took too long, or wrote no
/// valid JSON report. Exit code 3 (decisions differ from Nomad's) is accepted, because the report includes it. `cores`:
/// 0 = not pinned.
[[nodiscard]] Outcome<json::Value> measure_once(const Command& command, const Case& what, const MeasureOptions& options,
                                                std::size_t cores);

}  // namespace berth::gate
