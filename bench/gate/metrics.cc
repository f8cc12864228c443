#include "gate/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/edit_distance.h"
#include "base/text.h"

namespace berth::gate {
namespace {

constexpr Metric kMetrics[] = {
    // Work: equal in every run of one build and workload.
    {"placements", "placed", Kind::counter, Better::higher, Unit::count, In::all, 0},
    {"nodes_scored", "work.nodes_scored", Kind::counter, Better::lower, Unit::count, In::all, 0},
    {"nodes_filtered", "work.nodes_filtered", Kind::counter, Better::lower, Unit::count, In::all, 0},
    {"nodes_exhausted", "work.nodes_exhausted", Kind::counter, Better::lower, Unit::count, In::all, 0},
    {"constraint_evaluations", "work.constraint_evaluations", Kind::counter, Better::lower, Unit::count, In::all, 0},
    {"snapshots", "work.snapshots", Kind::counter, Better::lower, Unit::count, In::all, 0},
    {"conflicts", "workers.conflicts", Kind::counter, Better::lower, Unit::count, In::replays, 0},
    {"refused", "refused", Kind::counter, Better::lower, Unit::count, In::all, 0},
    {"cells_equal", "grid.cells_equal", Kind::counter, Better::higher, Unit::count, In::grids, 0},
    {"allocations", "work.allocations", Kind::counter, Better::lower, Unit::count, In::measured, 0.01},
    {"allocated_bytes", "work.allocated_bytes", Kind::counter, Better::lower, Unit::bytes, In::measured, 0.01},
    {"table_bytes", "table_bytes", Kind::counter, Better::lower, Unit::bytes, In::all, 0.01},
    {kInstructions, kInstructions, Kind::counter, Better::lower, Unit::count, In::measured, 0.02},
    // Quality.
    {"placed_share", "placed_share", Kind::quality, Better::higher, Unit::share, In::all, 0.001, true},
    {"cpu_utilisation", "packing.cpu_utilisation", Kind::quality, Better::higher, Unit::share, In::replays, 0.002,
     true},
    {"memory_utilisation", "packing.memory_utilisation", Kind::quality, Better::higher, Unit::share, In::replays, 0.002,
     true},
    {"device_utilisation", "packing.device_utilisation", Kind::quality, Better::higher, Unit::share, In::replays, 0.002,
     true},
    {"fragmentation", "packing.fragmentation", Kind::quality, Better::lower, Unit::share, In::replays, 0.005, true},
    {"preempted_allocs", "work.preempted_allocs", Kind::quality, Better::lower, Unit::count, In::all, 0.01},
    {"preempted_memory_mb", "work.preempted_memory_mb", Kind::quality, Better::lower, Unit::count, In::all, 0.01},
    // Times, and memory of the process. Tail percentiles are allowed twice the effect.
    {"busy_seconds", "busy_seconds", Kind::time, Better::lower, Unit::seconds, In::all, 1},
    {"cpu_seconds", "cpu_seconds", Kind::time, Better::lower, Unit::seconds, In::all, 1},
    {"schedule_ns.mean", "schedule_ns.mean", Kind::time, Better::lower, Unit::ns, In::replays, 1, false, "schedule"},
    {"schedule_ns.p50", "schedule_ns.p50", Kind::time, Better::lower, Unit::ns, In::replays, 1},
    {"schedule_ns.p99", "schedule_ns.p99", Kind::time, Better::lower, Unit::ns, In::replays, 2},
    {"commit_ns.mean", "commit_ns.mean", Kind::time, Better::lower, Unit::ns, In::replays, 1, false, "commit"},
    {"commit_ns.p99", "commit_ns.p99", Kind::time, Better::lower, Unit::ns, In::replays, 2},
    {"evaluation_latency_ns.p50", "evaluation_latency_ns.p50", Kind::time, Better::lower, Unit::ns, In::replays, 1},
    {"evaluation_latency_ns.p99", "evaluation_latency_ns.p99", Kind::time, Better::lower, Unit::ns, In::replays, 2},
    {"cell_ns", "cells.*.berth_ns", Kind::time, Better::lower, Unit::ns, In::grids, 1},
    {"cell_first_ns", "cells.*.berth_first_ns", Kind::time, Better::lower, Unit::ns, In::grids, 1},
    {"cell_new_worker_ns", "cells.*.berth_new_worker_ns", Kind::time, Better::lower, Unit::ns, In::grids, 1},
    {"peak_rss_bytes", "peak_rss_bytes", Kind::time, Better::lower, Unit::bytes, In::all, 1},
    // Stages (`berth run --stages`): mean time per evaluation.
    {"stage.dequeue", "stages_ns.dequeue", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "dequeue"},
    {"stage.snapshot", "stages_ns.snapshot", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "snapshot"},
    {"stage.compile", "stages_ns.compile", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "compile"},
    {"stage.reconcile", "stages_ns.reconcile", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "reconcile"},
    {"stage.order", "stages_ns.order", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "order"},
    {"stage.filter", "stages_ns.filter", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "filter"},
    {"stage.rank", "stages_ns.rank", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "rank"},
    {"stage.preempt", "stages_ns.preempt", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "preempt"},
    {"stage.plan", "stages_ns.plan", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "plan"},
    {"stage.check", "stages_ns.check", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "check"},
    {"stage.commit", "stages_ns.commit", Kind::time, Better::lower, Unit::ns, In::stages, 1, false, "commit"},
};

/// "did you mean 'NAME'? " for a mistyped or abbreviated name such as "schedule"; "" if none is close.
std::string did_you_mean(std::string_view name) {
  std::vector<std::string> names = {std::string(kDigest)};
  for (const Metric& metric : kMetrics) {
    if (name.size() > 2 && metric.name.find(name) != std::string_view::npos)
      return fmt::format("did you mean '{}'? ", metric.name);
    names.emplace_back(metric.name);
  }
  return base::did_you_mean(name, names);
}

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const Metric& metric) { return metric.name == name; });
  return found == std::end(kMetrics) ? nullptr : found;
}

bool is_required(const Metric& metric, bool grid) {
  return metric.in == In::all || metric.in == (grid ? In::grids : In::replays);
}

std::string value_problem(const json::Value* value, const Metric& metric) {
  if (!value) return "is missing";
  if (!value->is_number()) return fmt::format("is {}, not a number", value->kind());
  const double number = value->as_double();
  if (!std::isfinite(number)) return "is not finite";
  if (number < 0) return fmt::format("is negative: {:g}", number);
  // Commits and stages may take no time in runs that place nothing.
  if (number == 0 && metric.kind == Kind::time && metric.in != In::stages && !metric.name.starts_with("commit_ns"))
    return "is 0, and no run takes that";
  return metric.unit == Unit::share && number > 1 ? fmt::format("is a share of more than 1: {:g}", number) : "";
}

const json::Value* member_at(const json::Value& report, std::string_view path) {
  const json::Value* at = &report;
  for (const std::string_view part : base::split(path, '.')) {
    at = at->find(part);
    if (!at) return nullptr;
  }
  return at;
}

tl::expected<std::optional<double>, BadMember> value_in(const json::Value& report, const Metric& metric) {
  constexpr std::string_view kCells = "cells.*.";
  const bool grid = report.has("cells");
  // Grid cells are decided but not committed or queued, so a grid has no such times, although it lists them.
  if (metric.in == In::replays && grid) return std::nullopt;
  if (!metric.path.starts_with(kCells)) {
    const json::Value* const value = member_at(report, metric.path);
    if (!value && !is_required(metric, grid)) return std::nullopt;
    if (std::string problem = value_problem(value, metric); !problem.empty())
      return tl::unexpected(BadMember{std::string(metric.path), std::move(problem)});
    return value->as_double();
  }
  if (!grid) return std::nullopt;
  const json::Value& cells = report["cells"];
  if (cells.size() == 0 || !cells.is_array()) return tl::unexpected(BadMember{"cells", "is no list of cells"});
  double logs = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view name = metric.path.substr(kCells.size());
    const json::Value* const value = cells[i].find(name);
    if (std::string problem = value_problem(value, metric); !problem.empty())
      return tl::unexpected(BadMember{fmt::format("cells.{}.{}", i, name), std::move(problem)});
    logs += std::log(std::max(1.0, value->as_double()));
  }
  return std::exp(logs / static_cast<double>(cells.size()));
}

std::optional<double> parse_share(std::string_view text) {
  text = base::trim_space(text);
  const bool percent = text.ends_with('%');
  if (percent) text = base::trim_space(text.substr(0, text.size() - 1));
  const auto value = base::parse_double(text);
  if (!value || !std::isfinite(*value) || *value < 0) return std::nullopt;
  return percent ? *value / 100 : *value;
}

Outcome<void> check_metric(std::string_view name, const std::string& option) {
  if (name == kDigest || find_metric(name)) return {};
  std::vector<std::string_view> names = {kDigest};
  for (const Metric& metric : metrics()) names.push_back(metric.name);
  return fail(kUsage, "berth gate", fmt::format("there is no metric '{}'", base::shown(name)),
              fmt::format("{}valid: {}", did_you_mean(name), fmt::join(names, ", ")), option);
}

Outcome<void> parse_limit(const std::string& text, Limits& into) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos)
    return fail(kUsage, "berth gate", fmt::format("'{}' has no '='", base::shown(text)),
                "write METRIC=CHANGE, such as schedule_ns.p99=10%", "--limit");
  if (auto known = check_metric(name, "--limit"); !known) return known;
  const std::string value = text.substr(equals + 1);
  if (value == "any") {
    into[name] = {.change = 0, .off = true};
    return {};
  }
  const auto share = name == kDigest ? std::nullopt : parse_share(value);
  if (!share)
    return fail(
        kUsage, "berth gate", fmt::format("'{}' is no limit of {}", base::shown(value), name),
        name == kDigest ? "decisions_digest=any accepts other decisions" : "write a share such as 5% or 0.05, or any",
        "--limit");
  into[name] = {.change = *share, .off = false};
  return {};
}

std::string with_unit(double value, Unit unit) {
  const double size = std::abs(value);
  switch (unit) {
    case Unit::share:
      return fmt::format("{:.2f} %", 100 * value);
    case Unit::seconds:
      return with_unit(value * 1e9, Unit::ns);
    case Unit::ns:
      if (size < 1e3) return fmt::format("{:.0f} ns", value);
      if (size < 1e6) return fmt::format("{:.2f} us", value / 1e3);
      return size < 1e9 ? fmt::format("{:.2f} ms", value / 1e6) : fmt::format("{:.2f} s", value / 1e9);
    case Unit::bytes:
      if (size < 1 << 10) return fmt::format("{:.0f} B", value);
      return size < 1 << 20 ? fmt::format("{:.1f} KiB", value / (1 << 10))
                            : fmt::format("{:.2f} MiB", value / (1 << 20));
    case Unit::count: {
      if (value != std::floor(value)) return fmt::format("{:.1f}", value);
      std::string digits = fmt::format("{:.0f}", size), out;
      for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
      }
      return value < 0 ? "-" + out : out;
    }
  }
  return "";
}

}  // namespace berth::gate
