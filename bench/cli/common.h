// What the commands share: how an error is told, options that several have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "berth/result.h"

namespace berth::cli {

/// `--option NAME=VALUE`, kept in `options`, with `about` before what all commands say of it; and `--list-options`,
/// which prints the options and quirks and ends the program.
void add_decision_options(CLI::App& command, std::vector<std::string>& options, const std::string& about = "");

/// Prints the error as one line on standard error and returns `exit_code`.
int report_error(const InputError& error, int exit_code);

/// This machine's clock, in unix ns.
[[nodiscard]] std::int64_t clock_ns();

/// Prints the warnings of an import on standard error, one line each; of many only the first and how many more.
void print_warnings(const std::vector<std::string>& warnings);

/// "500us", "10ms", "1.5s" in ns; nothing for anything else and for what is not above 0.
[[nodiscard]] std::optional<std::int64_t> duration_ns(std::string_view text);

}  // namespace berth::cli
