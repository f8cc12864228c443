// Only for tests (the program berth_slowed, never installed): makes a stage slower by a share of its own time, to test
// that `berth gate` finds it. slowed_stage.cc is linked into that program, and not_slowed.cc, whose functions do
// nothing, into berth.
#pragma once

#include <memory>
#include <string>

#include "run/observer.h"

namespace CLI {
class App;
}

namespace berth::cli {

/// Adds the hidden option --testing-slowdown, which sets `text`; no effect in the program berth.
void add_slowdown(CLI::App& command, std::string& text);

/// "rank=0.1": measures the time of `rank` in every evaluation, and spends a tenth of it again on that stage's clock in
/// the next evaluation. For one worker. Passes all calls on to `next`, which may be null. Throws CLI::ValidationError
/// for an invalid text; returns null for an empty one.
[[nodiscard]] std::unique_ptr<run::Observer> slowed_stage(const std::string& text, run::Observer* next);

}  // namespace berth::cli
