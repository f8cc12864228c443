// The metrics of a gate: the measures of a run that have a limit (bench/run/measures.h).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/retained_json.h"
#include "gate/failure.h"
#include "run/measures.h"

namespace berth::gate {

using run::In;
using Kind = run::MeasureKind;
using Metric = run::Measure;

/// In the order of judging and printing: counters, quality, times, stages.
[[nodiscard]] std::span<const Metric> metrics();
[[nodiscard]] const Metric* find_metric(std::string_view name);
inline constexpr std::string_view kDigest = "decisions_digest";  ///< a text, therefore not in the table
inline constexpr std::string_view kInstructions = "instructions";

/// True for the time of a stage per evaluation, "stage.rank", reported only with `--stages`.
[[nodiscard]] inline bool is_stage(const Metric& metric) { return metric.name.starts_with("stage."); }

/// True if a lower value is better.
[[nodiscard]] inline bool is_lower_better(const Metric& metric) { return metric.direction < 0; }
/// The stage of a placement or evaluation whose time this is: "rank" of "stage.rank", "commit" of "commit_ns.mean"; or
/// "".
[[nodiscard]] std::string_view stage_of(const Metric& metric);

/// True if samples or reports of a grid (or of a replay) must have the metric.
[[nodiscard]] bool is_required(const Metric& metric, bool grid);

/// Why a member of a report or baseline is not a value of the metric: missing (null), no number, negative, not finite,
/// or a share of the cluster above 1. "" if it is valid.
[[nodiscard]] std::string value_problem(const json::Value* value, const Metric& metric);

/// An invalid member of a report.
struct BadMember {
  std::string place, problem;  ///< "work.snapshots", "is missing"
};
/// The metric's value in a report; nullopt if it is absent and optional. A grid's `cells.*.x`: the geometric mean.
[[nodiscard]] tl::expected<std::optional<double>, BadMember> value_in(const json::Value& report, const Metric& metric);
/// A path as messages write it: "work.snapshots".
[[nodiscard]] std::string place_of(std::string_view path);

/// A limit given by the user: an allowed change (0.05 = 5 % for ratios, a difference for shares), or not gated.
struct Limit {
  double change = 0;
  bool off = false;
};
using Limits = std::map<std::string, Limit, std::less<>>;
/// Parses "schedule_ns.p99=10%", "fragmentation=0.01", "decisions_digest=any". The error for an unknown name suggests
/// the nearest one.
[[nodiscard]] Outcome<void> parse_limit(const std::string& text, Limits& into);
/// Error (kUsage) with the nearest name if there is no such metric.
[[nodiscard]] Outcome<void> check_metric(std::string_view name, const std::string& option);
/// "5%", "5 %", "0.05": a share >= 0.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

}  // namespace berth::gate
