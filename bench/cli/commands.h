// The commands of the program. Each function adds its subcommand to the parser. Parsing then calls its callback, which
// stores the exit code in `exit_code`: 0 success, 1 berth failed, 2 usage or bad input, 3 mismatch or regression, 4
// inconclusive.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace berth::cli {

/// Adds command lines to the end of a command's help. Each one must run: tests/install/examples_test.sh.
void add_examples(CLI::App& command, const std::vector<std::string>& examples);

void add_capacity(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_conform(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_gate(CLI::App& app, int& exit_code);
void add_import(CLI::App& app, int& exit_code);
void add_load(CLI::App& app, int& exit_code);
void add_man(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_profile(CLI::App& app, int& exit_code);
void add_rebalance(CLI::App& app, int& exit_code);
void add_record(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_sweep(CLI::App& app, int& exit_code);
void add_serve(CLI::App& app, int& exit_code);
void add_trace(CLI::App& app, int& exit_code);
void add_whatif(CLI::App& app, int& exit_code);

}  // namespace berth::cli
