// What the commands share: options that several have, times, warnings.
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

/// `--option NAME=VALUE`, kept in `options`, with `about` before what all commands say of it; and `--list-options`,
/// which prints the options and quirks and ends the program.
void add_decision_options(CLI::App& command, std::vector<std::string>& options, const std::string& about = "");

/// `--sources LIST`: which sources may answer Selects; for finding faults.
void add_sources(CLI::App& command, std::string& sources);
/// What that list enables; "" is all. Errors name `command`.
[[nodiscard]] Result<sched::EnabledSources> enabled_sources(const std::string& command, const std::string& sources);

/// `--shadow N`: evaluations decided again, to compare.
void add_shadow(CLI::App& command, std::uint64_t& every);
/// A shadow of a server, which prints the first few differences on standard error; null for `every` 0.
[[nodiscard]] std::unique_ptr<server::Shadow> make_shadow(const server::Config& config, std::uint64_t every);
/// How many it decided again and how many differ, in one line.
[[nodiscard]] std::string shadow_line(const server::Shadow& shadow);

/// `--allow-partial` and `--rate N`: how a cluster is taken from its sources.
void add_source_options(CLI::App& command, agent::SourceOptions& sources);

/// This machine's clock, in unix ns.
[[nodiscard]] std::int64_t clock_ns();

/// Prints the warnings of an import on standard error, one line each; of many only the first and how many more.
void print_warnings(const std::vector<std::string>& warnings);

/// Prints what an import remarks on without being a warning.
void print_notes(const std::vector<std::string>& notes);

/// "500us", "10ms", "1.5s" in ns; nothing for anything else and for what is not above 0.
[[nodiscard]] std::optional<std::int64_t> duration_ns(std::string_view text);

}  // namespace berth::cli
