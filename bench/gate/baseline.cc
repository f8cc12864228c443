#include "gate/baseline.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "gate/metrics.h"
#include "gate/session.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "stats/noise.h"
#include "stats/summary.h"

namespace berth::gate {
namespace {

constexpr const char* kFormat = "berth-baseline";

std::string quoted(const std::string& text) {
  std::string out;
  json::append_quoted(out, text);
  return out;
}

Outcome<std::pair<Case, Samples>> read_case(const json::Value& value, const std::string& path, std::size_t number) {
  const std::string place = fmt::format("cases[{}]", number);
  const auto bad = [&](std::string problem) {
    return fail(kUsage, path, std::move(problem), "record it anew with `berth gate record`", place);
  };
  Case what{value["workload"].as_string(), value["label"].as_string(), value["seed"].as_int(-1)};
  if (what.workload.empty() || what.label.empty()) return bad("names no workload and label");
  Samples samples;
  for (const json::Member& field : value["fingerprint"].members())
    samples.fingerprint.fields.emplace_back(field.key, field.value.as_string());
  for (const json::Value& digest : value["decisions_digests"].items()) samples.digests.push_back(digest.as_string());
  if (samples.fingerprint.fields.empty() || samples.digests.empty()) return bad("has no fingerprint or no repetition");
  for (const json::Member& metric : value["samples"].members()) {
    if (!find_metric(metric.key)) continue;  // of a newer berth
    std::vector<double>& into = samples.values[metric.key];
    for (const json::Value& one : metric.value.items()) {
      if (!one.is_number()) return bad(fmt::format("a value of {} is {}, not a number", metric.key, one.kind()));
      into.push_back(one.as_double());
    }
  }
  return std::pair(std::move(what), std::move(samples));
}

}  // namespace

std::string time_text() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string baseline_text(const Baseline& baseline) {
  // By hand, so that a metric is one line and two files can be held side by side.
  std::string out =
      fmt::format("{{\n \"format\": \"{}\",\n \"version\": {},\n \"recorded\": {},\n \"command\": {},\n \"cases\": [",
                  kFormat, kBaselineVersion, quoted(baseline.recorded), quoted(baseline.command));
  const char* separator = "";
  for (const auto& [what, samples] : baseline.cases) {
    out += fmt::format("{}\n  {{\n   \"workload\": {},\n   \"label\": {},\n   \"seed\": {},\n   \"fingerprint\": {{",
                       separator, quoted(what.workload), quoted(what.label), what.seed);
    separator = "";
    for (const auto& [field, value] : samples.fingerprint.fields) {
      out += fmt::format("{}\n    {}: {}", separator, quoted(field), quoted(value));
      separator = ",";
    }
    out += "\n   },\n   \"decisions_digests\": ";
    json::Value digests = json::Value::array();
    for (const std::string& digest : samples.digests) digests.push(digest);
    json::append_text(out, digests);
    out += ",\n   \"samples\": {";
    separator = "";
    for (const Metric& metric : metrics()) {
      const auto found = samples.values.find(metric.name);
      if (found == samples.values.end()) continue;
      json::Value values = json::Value::array();
      for (const double value : found->second)
        values.push(value == std::floor(value) && std::abs(value) < 1e15 ? json::Value(static_cast<std::int64_t>(value))
                                                                         : json::Value(value));
      out += fmt::format("{}\n    {}: ", separator, quoted(found->first));
      json::append_text(out, values);
      separator = ",";
    }
    out += "\n   }\n  }";
    separator = ",";
  }
  return out + "\n ]\n}\n";
}

Outcome<Baseline> read_baseline(const std::string& path) {
  const auto text = io::read_file(path);
  if (!text) return tl::unexpected(Failure{kUsage, text.error()});
  const auto parsed = io::parse_json(*text, path);
  if (!parsed) return tl::unexpected(Failure{kUsage, parsed.error()});
  const json::Value& value = *parsed;
  Baseline out;
  if (value["format"].as_string() == "berth-run") {
    Samples samples;
    if (auto added = add_report(value, path, samples); !added)
      return tl::unexpected(Failure{kUsage, added.error().error});
    out.cases.emplace_back(Case{value["workload"].as_string(), value["label"].as_string(), -1}, std::move(samples));
    return out;
  }
  if (value["format"].as_string() != kFormat)
    return fail(kUsage, path, "is no baseline",
                "write one with `berth gate record`, or name a report of `berth run --json`");
  if (value["version"].as_int() != kBaselineVersion)
    return fail(kUsage, path,
                fmt::format("has version {} of the baseline format, this berth reads {}",
                            json::to_text(value["version"]), kBaselineVersion),
                "record it anew with this berth");
  out.recorded = value["recorded"].as_string(), out.command = value["command"].as_string();
  for (std::size_t i = 0; i < value["cases"].size(); ++i) {
    auto one = read_case(value["cases"][i], path, i);
    if (!one) return tl::unexpected(one.error());
    out.cases.push_back(std::move(*one));
  }
  if (out.cases.empty()) return fail(kUsage, path, "has no case", "record it anew with `berth gate record`");
  return out;
}

Outcome<std::vector<CasePair>> pairs_of(const Baseline& base, const Baseline& head,
                                        const std::vector<std::string>& allowed, bool builds_may_differ) {
  std::vector<CasePair> out;
  for (const auto& [what, samples] : base.cases)
    for (const auto& [other, others] : head.cases) {
      if (other.workload != what.workload || other.label != what.label) continue;
      // The seed that ran stands in the fingerprint; a report knows no other.
      if (samples.fingerprint.get("seed") != others.fingerprint.get("seed")) continue;
      if (const auto different = differences(samples.fingerprint, others.fingerprint, builds_may_differ, allowed);
          !different.empty())
        return mismatch(what.name(), different);
      out.push_back({what, samples, others});
      break;
    }
  if (out.empty())
    return fail(kUsage, "berth gate", "the two sides have no case in common",
                "`berth gate show FILE` lists the cases of a baseline");
  return out;
}

std::string baseline_table(const Baseline& baseline) {
  std::string out;
  if (!baseline.recorded.empty()) out += fmt::format("recorded {} by {}\n", baseline.recorded, baseline.command);
  for (const auto& [what, samples] : baseline.cases) {
    out += fmt::format("\n{}: {} repetition{}\n", what.name(), samples.repetitions(),
                       samples.repetitions() == 1 ? "" : "s");
    for (const auto& [field, value] : samples.fingerprint.fields)
      if (!value.empty()) out += fmt::format("  {:<26} {}\n", field, value);
    out += fmt::format("\n  {:<26} {:>14} {:>14} {:>8}\n", "metric", "median", "least", "noise");
    for (const Metric& metric : metrics()) {
      const auto found = samples.values.find(metric.name);
      if (found == samples.values.end()) continue;
      const double noise = stats::aa_noise(found->second, found->second.size(), 1);
      out += fmt::format("  {:<26} {:>14} {:>14} {:>8}\n", metric.name,
                         with_unit(stats::median(found->second), metric.unit),
                         with_unit(stats::minimum(found->second), metric.unit),
                         std::isinf(noise) ? "-" : fmt::format("{:.1f} %", 100 * noise));
    }
    out += fmt::format("  {:<26} {:>14}\n", kDigest, samples.digests.front());
  }
  return out;
}

}  // namespace berth::gate
