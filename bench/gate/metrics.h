// The metrics of a gate: a table of names, their place in a report of `berth run`, and the direction that is worse.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "gate/failure.h"

namespace berth::gate {

enum class Kind : std::uint8_t {
  counter,  ///< repeats exactly
  quality,  ///< usage of the cluster; repeats if decisions do
  time,     ///< measured, with noise; includes memory
};
enum class Better : std::uint8_t { lower, higher };
/// Which reports must have a metric.
enum class In : std::uint8_t {
  all,       ///< every report
  replays,   ///< those without `cells`, whose plans are committed
  grids,     ///< those of nomad-grid, with `cells`
  stages,    ///< none: stages without time are not listed
  measured,  ///< none: measured only by some programs or options
};
enum class Unit : std::uint8_t { count, bytes, ns, seconds, share };

struct Metric {
  std::string_view name;  ///< as in limits and reports
  std::string_view path;  ///< in the report, parts separated by '.'; `cells.*.x`: geometric mean over the cells
  Kind kind;
  Better better;
  Unit unit;
  In in;
  double limit;                 ///< kind time: multiple of Rules::effect; else the allowed change
  bool absolute = false;        ///< the limit is a difference (of shares), not a ratio
  std::string_view stage = "";  ///< the stage of a placement whose time this is
};

/// In the order of judging and printing.
[[nodiscard]] std::span<const Metric> metrics();
[[nodiscard]] const Metric* find_metric(std::string_view name);
inline constexpr std::string_view kDigest = "decisions_digest";  ///< a text, therefore not in the table
inline constexpr std::string_view kInstructions = "instructions";

/// True for the time of a stage per evaluation, "stage.rank", reported only with `--stages`.
[[nodiscard]] inline bool is_stage(const Metric& metric) { return metric.name.starts_with("stage."); }

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
/// The member at a path of names separated by '.'; null if there is none.
[[nodiscard]] const json::Value* member_at(const json::Value& report, std::string_view path);

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

/// A value with its unit: "1.23 ms", "12,345", "113.2 MiB", "35.3 %".
[[nodiscard]] std::string with_unit(double value, Unit unit);

}  // namespace berth::gate
