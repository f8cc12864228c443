// The kinds of results in a report: checks of their files and conversion to sections.
#pragma once

#include <string_view>

#include "report/document.h"
#include "report/input.h"

namespace berth::report {

struct Kind {
  const char* name;
  Result<void> (*check)(const Input& input);
  /// Adds the sections of all inputs of this kind in order. Comparable ones share a section.
  void (*sections)(const std::vector<const Input*>& inputs, Document& out);
  int version = 1;  ///< supported version of the format
};

/// Null if there is no such kind.
[[nodiscard]] const Kind* find_kind(std::string_view name);

[[nodiscard]] Document make_document(const std::vector<Input>& inputs);

// One file per command that writes results.
Result<void> check_run(const Input& input);
void run_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_study(const Input& input);
void study_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_results(const Input& input);
void results_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_others(const Input& input);
void others_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_profile(const Input& input);
void profile_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_load(const Input& input);
void load_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_grid(const Input& input);
void grid_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_capacity(const Input& input);
void capacity_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_minimum(const Input& input);
void minimum_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_experiment(const Input& input);
void experiment_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_plan(const Input& input);
void plan_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_gate(const Input& input);
void gate_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_history(const Input& input);
void history_sections(const std::vector<const Input*>& inputs, Document& out);
Result<void> check_baseline(const Input& input);
void baseline_sections(const std::vector<const Input*>& inputs, Document& out);

// Shared between these files.
/// The tables of `berth run` for one run: latency, kinds of jobs, workers, packing, blocked evaluations.
void add_run_tables(const json::Value& run, Section& out);
/// "Intel(R) ..., 2 cores, ISA path AVX3" of `machine` and `build`.
[[nodiscard]] std::string machine_words(const json::Value& value);
/// "1d9c2a245bcd, GNU 12.2.0 Release".
[[nodiscard]] std::string build_words(const json::Value& value);
/// "sampled mode, strategy nomad, binpack, order mix, 1 worker, free commits, compat=fixed" of a run's `settings`.
[[nodiscard]] std::string settings_words(const json::Value& settings);
/// The file's name without folder and ".json".
[[nodiscard]] std::string short_name(const std::string& path);

}  // namespace berth::report
