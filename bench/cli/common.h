// Shared by the commands: common options, times, warnings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "agent/sources.h"
#include "cli/outputs.h"
#include "server/shadow.h"

namespace berth::cli {

/// `--option NAME=VALUE`, stored in `options`, with `about` before the common help text; and `--list-options`, which
/// prints the options and quirks and ends the program.
void add_decision_options(CLI::App& command, std::vector<std::string>& options, const std::string& about = "");

/// `--sources LIST`: the sources that may serve Selects; for debugging.
void add_sources(CLI::App& command, std::string& sources);
/// The sources that the value of `--sources` enables; "": all. Errors name `command`.
[[nodiscard]] Result<sched::EnabledSources> enabled_sources(const std::string& command, const std::string& sources);

/// `--shadow N`: decides evaluations again and compares.
void add_shadow(CLI::App& command, std::uint64_t& every);
/// A shadow of a server, which prints the first few differences on standard error; null for `every` 0.
[[nodiscard]] std::unique_ptr<server::Shadow> make_shadow(const server::Config& config, std::uint64_t every);
/// Number of repeated decisions and of differences, in one line.
[[nodiscard]] std::string shadow_line(const server::Shadow& shadow);

/// `--allow-partial` and `--rate N`: options of reading a cluster from its sources.
void add_source_options(CLI::App& command, agent::SourceOptions& sources);

/// This machine's clock, in unix ns.
[[nodiscard]] std::int64_t clock_ns();

/// Prints the warnings of an import on standard error, one line each; if there are many, only the first and their
/// number.
void print_warnings(const std::vector<std::string>& warnings);

/// Prints the notes of an import.
void print_notes(const std::vector<std::string>& notes);

/// "500us", "10ms", "1.5s" in ns; nullopt for anything else and for values not above 0.
[[nodiscard]] std::optional<std::int64_t> duration_ns(std::string_view text);

}  // namespace berth::cli
