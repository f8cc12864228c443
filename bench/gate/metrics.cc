#include "gate/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/edit_distance.h"
#include "base/json.h"
#include "base/text.h"

namespace berth::gate {
namespace {

/// "did you mean 'NAME'? " for a mistyped or abbreviated name such as "schedule"; "" if none is close.
std::string did_you_mean(std::string_view name) {
  std::vector<std::string> names = {std::string(kDigest)};
  for (const Metric& metric : metrics()) {
    if (name.size() > 2 && metric.name.find(name) != std::string_view::npos)
      return fmt::format("did you mean '{}'? ", metric.name);
    names.emplace_back(metric.name);
  }
  return base::did_you_mean(name, names);
}

}  // namespace

std::span<const Metric> metrics() {
  static const std::vector<Metric> kGated = [] {
    std::vector<Metric> out;
    for (const Metric& metric : run::measures())
      if (metric.is_gated()) out.push_back(metric);
    std::stable_sort(out.begin(), out.end(), [](const Metric& a, const Metric& b) {
      return std::pair(a.kind, is_stage(a)) < std::pair(b.kind, is_stage(b));
    });
    return out;
  }();
  return kGated;
}

const Metric* find_metric(std::string_view name) {
  const auto all = metrics();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Metric& metric) { return metric.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view stage_of(const Metric& metric) {
  constexpr std::string_view kStage = "stage.", kMean = "_ns.mean";
  if (is_stage(metric)) return metric.name.substr(kStage.size());
  return metric.name.ends_with(kMean) ? metric.name.substr(0, metric.name.size() - kMean.size()) : "";
}

bool is_required(const Metric& metric, bool grid) {
  return metric.gate.in == In::all || metric.gate.in == (grid ? In::grids : In::replays);
}

std::string value_problem(const json::Value* value, const Metric& metric) {
  if (!value) return "is missing";
  if (!value->is_number()) return fmt::format("is {}, not a number", value->kind());
  const double number = value->as_double();
  if (!std::isfinite(number)) return "is not finite";
  if (number < 0) return fmt::format("is negative: {:g}", number);
  // Commits and stages may take no time in runs that place nothing.
  if (number == 0 && metric.kind == Kind::time && metric.gate.in != In::stages && !metric.name.starts_with("commit_ns"))
    return "is 0, and no run takes that";
  return metric.is_share() && number > 1 ? fmt::format("is a share of more than 1: {:g}", number) : "";
}

std::string place_of(std::string_view path) {
  std::string out(path);
  std::replace(out.begin(), out.end(), '/', '.');
  return out;
}

tl::expected<std::optional<double>, BadMember> value_in(const json::Value& report, const Metric& metric) {
  constexpr std::string_view kCells = "cells/*/";
  const bool grid = report.has("cells");
  // Grid cells are decided but not committed or queued, so a grid has no such times, although it lists them.
  if (metric.gate.in == In::replays && grid) return std::nullopt;
  if (!metric.path.starts_with(kCells)) {
    const json::Value* const value = run::member_at(report, metric.path);
    if (!value && !is_required(metric, grid)) return std::nullopt;
    if (std::string problem = value_problem(value, metric); !problem.empty())
      return tl::unexpected(BadMember{place_of(metric.path), std::move(problem)});
    return value->as_double();
  }
  if (!grid) return std::nullopt;
  const json::Value& cells = report["cells"];
  if (cells.size() == 0 || !cells.is_array()) return tl::unexpected(BadMember{"cells", "is no list of cells"});
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view name = metric.path.substr(kCells.size());
    const json::Value* const value = cells[i].find(name);
    if (std::string problem = value_problem(value, metric); !problem.empty())
      return tl::unexpected(BadMember{fmt::format("cells.{}.{}", i, name), std::move(problem)});
  }
  return run::value_at(report, metric.path);
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

}  // namespace berth::gate
