#include "gate/baseline.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>

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

/// Reads a fingerprint. Returns the first field that is missing or not a text, if any.
std::optional<BadMember> read_fingerprint(const json::Value& value, Fingerprint& out) {
  for (const json::Member& field : value.members()) {
    if (!field.value.is_string()) return BadMember{field.key, fmt::format("is {}, not a text", field.value.kind())};
    out.fields.emplace_back(field.key, field.value.as_string());
  }
  const auto is_of_machine = [](const std::string& field) {
    return std::find(machine_fields().begin(), machine_fields().end(), field) != machine_fields().end();
  };
  // A baseline of counters has no machine fields.
  const bool machine = std::any_of(machine_fields().begin(), machine_fields().end(),
                                   [&](const std::string& field) { return value.has(field); });
  for (const std::string& field : fingerprint_fields())
    if (!value.has(field) && (machine || !is_of_machine(field))) return BadMember{field, "is missing"};
  return std::nullopt;
}

Outcome<std::pair<Case, Samples>> read_case(const json::Value& value, const std::string& path, std::size_t number) {
  const std::string place = fmt::format("cases[{}]", number);
  const auto bad = [&](const std::string& member, const std::string& problem) {
    return fail(kUsage, path, problem, "a gate judges whole samples: record it again with `berth gate record`",
                place + (member.empty() ? "" : "." + member));
  };
  Case what{value["workload"].as_string(), value["label"].as_string(), value["seed"].as_int(-1)};
  if (what.workload.empty() || what.label.empty()) return bad("", "names no workload and label");
  if (!value["seed"].is_int() || what.seed < -1)
    return bad("seed", value.has("seed") ? "is no seed: " + json::to_text(value["seed"]) : "is missing");
  Samples samples;
  if (const auto problem = read_fingerprint(value["fingerprint"], samples.fingerprint))
    return bad("fingerprint." + problem->place, problem->problem);
  for (const json::Value& digest : value["decisions_digests"].items()) {
    if (digest.as_string().empty()) return bad("decisions_digests", "holds something that is no digest");
    samples.digests.push_back(digest.as_string());
  }
  if (samples.digests.empty()) return bad("decisions_digests", "names no digest, so there is no repetition");
  for (const json::Member& member : value["samples"].members()) {
    const Metric* const metric = find_metric(member.key);
    if (!metric) continue;  // from a newer berth
    const std::string metric_place = "samples." + member.key;
    if (!member.value.is_array()) return bad(metric_place, fmt::format("is {}, not a list", member.value.kind()));
    std::vector<double>& into = samples.values[member.key];
    for (const json::Value& one : member.value.items()) {
      if (const std::string problem = value_problem(&one, *metric); !problem.empty())
        return bad(fmt::format("{}[{}]", metric_place, into.size()), problem);
      into.push_back(one.as_double());
    }
  }
  if (const auto missing = missing_in(samples)) return bad("samples." + missing->place, missing->problem);
  return std::pair(std::move(what), std::move(samples));
}

}  // namespace

std::string time_text() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string baseline_text(const Baseline& baseline) {
  // Formatted here, so that each metric is one line and two files can be compared.
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
    out.report = true;
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
                "record it again with this berth");
  out.recorded = value["recorded"].as_string(), out.command = value["command"].as_string();
  if (!value["recorded"].is_string() || !value["command"].is_string())
    return fail(kUsage, path, "does not say when and by which command it was recorded", "record it again");
  for (std::size_t i = 0; i < value["cases"].size(); ++i) {
    auto one = read_case(value["cases"][i], path, i);
    if (!one) return tl::unexpected(one.error());
    for (const auto& [other, samples] : out.cases)
      if (other == one->first)
        return fail(kUsage, path, fmt::format("has the case {} twice", other.name()), "remove one of them",
                    fmt::format("cases[{}]", i));
    out.cases.push_back(std::move(*one));
  }
  if (out.cases.empty()) return fail(kUsage, path, "has no case", "record it again with `berth gate record`");
  return out;
}

Outcome<std::vector<CasePair>> pairs_of(const Baseline& base, const Baseline& head, Pairing pairing,
                                        const std::vector<std::string>& allowed, const Names& names) {
  using OneCase = std::pair<Case, Samples>;
  // The fingerprint has the seed that ran; a report has no other.
  const auto counterpart = [](const OneCase& one, const Baseline& side) -> const OneCase* {
    for (const OneCase& other : side.cases)
      if (other.first.workload == one.first.workload && other.first.label == one.first.label &&
          other.second.fingerprint.get("seed") == one.second.fingerprint.get("seed"))
        return &other;
    return nullptr;
  };
  const auto lacks = [](const OneCase& one, const std::string& side, const std::string& other) {
    return fail(kUsage, side,
                fmt::format("lacks the case {} with seed {}, which {} has", one.first.name(),
                            one.second.fingerprint.get("seed"), other),
                "measure the same cases on both sides; `berth gate show FILE` lists those of a baseline");
  };
  if (pairing == Pairing::both)
    for (const OneCase& one : base.cases)
      if (!counterpart(one, head)) return lacks(one, names.head, names.base);
  std::vector<CasePair> out;
  for (const OneCase& one : head.cases) {
    const OneCase* const of_base = counterpart(one, base);
    if (!of_base) return lacks(one, names.base, names.head);
    if (const auto different = differences(of_base->second.fingerprint, one.second.fingerprint, false, allowed);
        !different.empty())
      return mismatch(one.first.name(), different);
    out.push_back({of_base->first, of_base->second, one.second});
  }
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
                         run::with_unit(stats::median(found->second), metric.unit),
                         run::with_unit(stats::minimum(found->second), metric.unit),
                         std::isinf(noise) ? "-" : fmt::format("{:.1f} %", 100 * noise));
    }
    out += fmt::format("  {:<26} {:>14}\n", kDigest, samples.digests.front());
  }
  return out;
}

}  // namespace berth::gate
