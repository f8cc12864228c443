// The measures of a run: one table. CSV, Prometheus, google-benchmark and scheduler_perf exports, the gate, studies,
// comparisons and `berth report` take from it what they show, judge, store and check. A new measure is one row here and
// its value where it is computed: a member of the report, or RunResult::further.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/retained_json.h"

namespace berth::sim {
class Histogram;
}

namespace berth::run {

struct RunResult;

enum class MeasureKind : std::uint8_t {
  counter,  ///< repeats exactly
  quality,  ///< usage of the cluster and service to its users; repeats if decisions do
  time,     ///< measured, with noise; includes memory
};
/// Which reports must have a gated measure.
enum class In : std::uint8_t {
  all,       ///< every report
  replays,   ///< those without `cells`, whose plans are committed
  grids,     ///< those of nomad-grid, with `cells`
  stages,    ///< none: stages without time are not listed
  measured,  ///< none: measured only by some programs or options
};
/// How `berth gate` judges a measure.
struct Gate {
  double limit = -1;  ///< kind time: multiple of Rules::effect; unit "%": allowed difference; else the allowed change
  In in = In::all;
};
enum Use : unsigned {
  kAlways = 1,  ///< shown even if 0 everywhere
  kTested = 2,  ///< tested between the settings of a study; more tests would reduce the power of each
};

struct Measure {
  std::string_view name;  ///< in limits and baselines
  std::string_view
      path;  ///< in the report of a run, parts separated by '/'; `cells/*/x`: geometric mean over the cells
  const char* title;
  const char* unit;   ///< "ns", "s", "bytes", "%", "/s", "x", "" (a count), or a word; a value in "%" is a share
  int direction = 0;  ///< +1: more is better, -1: less is, 0: neither
  MeasureKind kind = MeasureKind::time;
  Gate gate = {};  ///< default: not gated
  unsigned uses = 0;
  std::string_view label = "";  ///< in Prometheus' format, of a series of several measures: "kind", "resource=cpu"

  [[nodiscard]] bool is_gated() const { return gate.limit >= 0; }
  [[nodiscard]] bool is_tested() const { return (uses & kTested) != 0; }
  [[nodiscard]] bool is_always_shown() const { return (uses & kAlways) != 0; }
  [[nodiscard]] bool is_share() const { return unit == std::string_view("%"); }
  /// Factor from the value to its unit: 100 for shares.
  [[nodiscard]] double scale() const { return is_share() ? 100 : 1; }
};

[[nodiscard]] std::span<const Measure> measures();
/// Adds a row. Only before anything uses the table: a test adds one and finds it in every output.
void add_measure(const Measure& measure);

/// The value of a measure; NaN if the report has none, and for rates determined by the arrivals, not by the scheduler.
[[nodiscard]] double value_of(const json::Value& report, const Measure& measure);

/// The member at `path`; null if there is none.
[[nodiscard]] const json::Value* member_at(const json::Value& report, std::string_view path);
/// The number at `path` of a report, or the geometric mean over `cells`; NaN if there is none.
[[nodiscard]] double value_at(const json::Value& report, std::string_view path);

/// Name in records and databases: the path with '_' for '/'; of a mean over cells its name.
[[nodiscard]] std::string name_of(const Measure& measure);
/// Column of a CSV file, and name in formats without '.': "schedule_p50_ns" for "schedule_ns.p50"; of a member of the
/// report itself its path.
[[nodiscard]] std::string column_of(const Measure& measure);

/// A measure in Prometheus' format: "run_work", its help text, "kind=\"snapshots\"".
struct Sample {
  std::string series, help, label;
};
[[nodiscard]] Sample sample_of(const Measure& measure);

/// A value with its unit: "1.23 ms", "12,345", "113.2 MiB", "35.3 %".
[[nodiscard]] std::string with_unit(double value, std::string_view unit);

/// A distribution of times in ns: its percentiles in the report, in exports and as curve.
struct Distribution {
  const char* path;    ///< in the report
  const char* curve;   ///< in latency_curves_ns, and title in tables
  const char* stage;   ///< label in Prometheus
  const char* entry;   ///< in google-benchmark's names
  const char* metric;  ///< of scheduler_perf's data items
  bool is_part;        ///< of a placement's time
  bool of_placements;  ///< empty in nomad-grid, which commits none
  const sim::Histogram& (*of)(const RunResult&);
};
[[nodiscard]] std::span<const Distribution> distributions();
/// True if only nomad-grid has the measure.
[[nodiscard]] bool is_of_grid(const Measure& measure);
/// True if the measure is a percentile or the mean of a distribution, whose exports have it.
[[nodiscard]] bool is_of_distribution(const Measure& measure);

}  // namespace berth::run
