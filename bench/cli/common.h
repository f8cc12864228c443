// What the commands share: options that several have, times, warnings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/outputs.h"

namespace berth::cli {

/// `--option NAME=VALUE`, kept in `options`, with `about` before what all commands say of it; and `--list-options`,
/// which prints the options and quirks and ends the program.
void add_decision_options(CLI::App& command, std::vector<std::string>& options, const std::string& about = "");

/// This machine's clock, in unix ns.
[[nodiscard]] std::int64_t clock_ns();

/// Prints the warnings of an import on standard error, one line each; of many only the first and how many more.
void print_warnings(const std::vector<std::string>& warnings);

/// "500us", "10ms", "1.5s" in ns; nothing for anything else and for what is not above 0.
[[nodiscard]] std::optional<std::int64_t> duration_ns(std::string_view text);

}  // namespace berth::cli
