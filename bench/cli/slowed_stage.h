// Of the test build alone (the program berth_slowed, never installed): makes one stage slower by a share of its own
// time, so that tests can see whether `berth gate` finds it. slowed_stage.cc is linked into that program, and
// not_slowed.cc, where neither function does anything, into berth.
#pragma once

#include <memory>
#include <string>

#include "run/observer.h"

namespace CLI {
class App;
}

namespace berth::cli {

/// Adds the hidden option --testing-slowdown, which sets `text`; nothing in the program berth.
void add_slowdown(CLI::App& command, std::string& text);

/// "rank=0.1": after every evaluation the time that `rank` took in it is measured, and a tenth of it is spent once
/// more, on the clock of that stage, when the next evaluation is decided. For one worker. Passes everything on to
/// `next`, unless that is null. Throws CLI::ValidationError for a text that is no such thing; null for an empty one.
[[nodiscard]] std::unique_ptr<run::Observer> slowed_stage(const std::string& text, run::Observer* next);

}  // namespace berth::cli
