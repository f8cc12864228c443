// The metrics a gate looks at: a table of names, where each stands in a report of `berth run`, and what counts as
// worse.
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
  quality,  ///< how well the cluster is used; repeats where decisions do
  time,     ///< measured, with noise; memory too
};
enum class Better : std::uint8_t { lower, higher };
/// Which reports must have a metric.
enum class In : std::uint8_t {
  all,       ///< every report
  replays,   ///< those of workloads whose plans are committed, that is, without `cells`
  grids,     ///< those of nomad-grid, with `cells`
  stages,    ///< none: a stage that takes no time is not listed
  measured,  ///< none: what only some programs or options measure
};
enum class Unit : std::uint8_t { count, bytes, ns, seconds, share };

struct Metric {
  std::string_view name;  ///< as in limits and reports
  std::string_view path;  ///< in the report, parts separated by '.'; `cells.*.x`: geometric mean over the cells
  Kind kind;
  Better better;
  Unit unit;
  In in;
  double limit;                 ///< of kind time: how many times the asked effect; else the allowed change
  bool absolute = false;        ///< the limit is a difference (of shares), not a ratio
  std::string_view stage = "";  ///< the stage of a placement whose time this is
};

/// In the order in which they are judged and printed.
[[nodiscard]] std::span<const Metric> metrics();
[[nodiscard]] const Metric* find_metric(std::string_view name);
inline constexpr std::string_view kDigest = "decisions_digest";  ///< a text, so not in the table
inline constexpr std::string_view kInstructions = "instructions";

/// The time of one stage per evaluation, "stage.rank", which only runs with `--stages` report.
[[nodiscard]] inline bool is_stage(const Metric& metric) { return metric.name.starts_with("stage."); }

/// True if samples or reports of a grid (or of a replay) are not whole without the metric.
[[nodiscard]] bool is_required(const Metric& metric, bool grid);

/// Why a member of a report or baseline is not a value of the metric: missing, no number, negative, not finite, or a
/// share of the cluster above 1. "" if it is one. Null: there is no such member.
[[nodiscard]] std::string value_problem(const json::Value* value, const Metric& metric);

/// A member of a report that is not what it must be.
struct BadMember {
  std::string place, problem;  ///< "work.snapshots", "is missing"
};
/// The metric's value in a report; nothing if the report lacks it and may. A grid's `cells.*.x`: the geometric mean.
[[nodiscard]] tl::expected<std::optional<double>, BadMember> value_in(const json::Value& report, const Metric& metric);
/// The member at a path of names separated by '.'; null if there is none.
[[nodiscard]] const json::Value* member_at(const json::Value& report, std::string_view path);

/// Limits asked for by name: an allowed change (0.05 = 5 % for ratios, a difference for shares), or not gated.
struct Limit {
  double change = 0;
  bool off = false;
};
using Limits = std::map<std::string, Limit, std::less<>>;
/// "schedule_ns.p99=10%", "fragmentation=0.01", "decisions_digest=any". An unknown name is refused with the nearest
/// one.
[[nodiscard]] Outcome<void> parse_limit(const std::string& text, Limits& into);
/// An error (usage) naming the nearest metric when there is none of this name.
[[nodiscard]] Outcome<void> check_metric(std::string_view name, const std::string& option);
/// "5%", "5 %", "0.05": a share >= 0.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

/// With its unit: "1.23 ms", "12,345", "113.2 MiB", "35.3 %".
[[nodiscard]] std::string with_unit(double value, Unit unit);

}  // namespace berth::gate
