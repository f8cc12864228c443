#include "gate/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/json.h"
#include "base/text.h"

namespace berth::gate {
namespace {

constexpr int kRunReportVersion = 1;

/// Source of a fingerprint's field: its path in a report.
struct Source {
  const char *field, *path;
  bool number = false;
};
constexpr Source kSources[] = {{"cpu", "machine/cpu"},
                               {"cores", "machine/cores", true},
                               {"isa_path", "build/isa_path"},
                               {"compiler", "build/compiler"},
                               {"flags", "build/flags"},
                               {"sanitize", "build/sanitize"},
                               {"commit", "build/commit"},
                               {"workload", "workload"},
                               {"label", "label"},
                               {"seed", "settings/seed", true},
                               {"mode", "settings/mode"},
                               {"strategy", "settings/strategy"},
                               {"algorithm", "settings/algorithm"},
                               {"order", "settings/order"},
                               {"workers", "settings/workers", true},
                               {"commits", "settings/commits"},
                               {"workload_sha256", "settings/workload_sha256"},
                               {"data_sha256", "settings/data_sha256"},
                               {"digest_version", "decisions_digest_version", true}};

tl::unexpected<Failure> not_whole(const std::string& source, const std::string& place, const std::string& problem) {
  return fail(kUsage, source, problem, "a gate judges whole reports: write it again with `berth run --json`", place);
}

/// "" if a member is a text (or, with `number`, a whole number from 0), else the problem.
std::string kind_problem(const json::Value* value, bool number) {
  if (!value) return "is missing";
  if (number ? value->is_int() : value->is_string())
    return number && value->as_double() < 0 ? "is negative: " + json::to_text(*value) : "";
  return fmt::format("is {}, not {}", value->kind(), number ? "a whole number" : "a text");
}

Outcome<Fingerprint> fingerprint_of(const json::Value& report, const std::string& source) {
  Fingerprint out;
  for (const Source& from : kSources) {
    const json::Value* const value = run::member_at(report, from.path);
    if (const std::string problem = kind_problem(value, from.number); !problem.empty())
      return not_whole(source, place_of(from.path), problem);
    std::string text = from.number ? json::to_text(*value) : value->as_string();
    constexpr std::string_view kDirty = "-dirty", kCommit = "commit";
    const bool dirty = from.field == kCommit && text.ends_with(kDirty);
    if (dirty) text.resize(text.size() - kDirty.size());
    out.fields.emplace_back(from.field, std::move(text));
    if (from.field == kCommit) out.fields.emplace_back("dirty", dirty ? "yes" : "no");
    if (from.path == std::string_view("settings/data_sha256"))
      out.fields.emplace_back("stages", report.has("stages_ns") ? "yes" : "");
  }
  if (const json::Value* const of = report.find(kInstructionsOf))
    out.fields.emplace_back(kInstructionsOf, of->as_string());
  return out;
}

}  // namespace

std::string Case::name() const {
  std::string out = workload + "/" + label;
  if (seed >= 0) out += fmt::format("/seed {}", seed);
  return out;
}

const std::string& Fingerprint::get(std::string_view field) const {
  static const std::string none;
  for (const auto& [name, value] : fields)
    if (name == field) return value;
  return none;
}

const std::vector<std::string>& fingerprint_fields() {
  static const std::vector<std::string> kFields = [] {
    std::vector<std::string> out = {"dirty", "stages"};
    for (const Source& from : kSources) out.emplace_back(from.field);
    return out;
  }();
  return kFields;
}

std::vector<Difference> differences(const Fingerprint& base, const Fingerprint& head, bool builds_may_differ,
                                    const std::vector<std::string>& allowed) {
  static const std::vector<std::string> kInput = {"workload", "label", "seed", "workload_sha256", "data_sha256"};
  const auto contains = [](const std::vector<std::string>& list, const std::string& what) {
    return std::find(list.begin(), list.end(), what) != list.end();
  };
  std::vector<Difference> out;
  for (const auto& [field, value] : base.fields) {
    if (field == "commit" || field == "dirty" || contains(allowed, field)) continue;
    if (builds_may_differ && !contains(kInput, field)) continue;
    const std::string& other = head.get(field);
    if (field == kInstructionsOf && other.empty()) continue;  // check_sides() reports that one side has no instructions
    if (value != other) out.push_back({field, value, other});
  }
  return out;
}

Outcome<void> add_report(const json::Value& report, const std::string& source, Samples& samples) {
  if (report["format"].as_string() != "berth-run")
    return fail(kOwnFailure, source, "is no report of `berth run`", "its \"format\" should be \"berth-run\"");
  if (report["version"].as_int() != kRunReportVersion)
    return fail(kOwnFailure, source,
                fmt::format("has version {} of the format, this berth reads {}", json::to_text(report["version"]),
                            kRunReportVersion),
                "use builds that write the same version");
  for (const auto& [name, fine, kind] :
       {std::tuple("partial", report["partial"].is_bool(), "true or false"),
        std::tuple("ended", report["ended"].is_string(), "a text"),
        std::tuple("decisions_digest", !report[kDigest].as_string().empty(), "the digest of the decisions")})
    if (!fine)
      return not_whole(source, name,
                       report.has(name) ? fmt::format("is {}, not {}", report[name].kind(), kind) : "is missing");
  if (report["partial"].as_bool() && report["ended"].as_string() != "limit of placements")
    return fail(kOwnFailure, source,
                fmt::format("the run ended early ({}): what it did depends on the speed of the machine",
                            base::shown(report["ended"].as_string())),
                "gate a smaller label, or raise the workload's limit");
  auto fingerprint = fingerprint_of(report, source);
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  if (samples.repetitions() == 0) {
    samples.fingerprint = std::move(*fingerprint);
  } else if (!(samples.fingerprint == *fingerprint)) {
    for (const auto& [field, value] : samples.fingerprint.fields)
      if (fingerprint->get(field) != value)
        return fail(
            kOwnFailure, source,
            fmt::format("{} changed between repetitions from '{}' to '{}'", field, value, fingerprint->get(field)),
            "leave the program and its inputs alone while the gate runs");
  }
  if (const json::Value* const cells = report.find("cells");
      cells && report["jobs"] != json::Value(static_cast<std::uint64_t>(cells->size())))
    return not_whole(source, "cells",
                     fmt::format("has {} cells, and \"jobs\" is {}", cells->size(), json::to_text(report["jobs"])));
  if (report.has("stages_ns") && !report["stages_ns"].is_object())
    return not_whole(source, "stages_ns", fmt::format("is {}, not an object", report["stages_ns"].kind()));
  for (const Metric& metric : metrics()) {
    const auto value = value_in(report, metric);
    if (!value) return not_whole(source, value.error().place, value.error().problem);
    const auto found = samples.values.find(metric.name);
    const bool before = found != samples.values.end();
    // A stage without time in this repetition has the time 0.
    if (!*value && !(before && is_stage(metric))) {
      if (before) return not_whole(source, place_of(metric.path), "is missing, unlike in the repetitions before");
      continue;
    }
    std::vector<double>& into = samples.values[std::string(metric.name)];
    if (into.size() < samples.repetitions() && !is_stage(metric))
      return not_whole(source, place_of(metric.path), "was missing in the repetitions before");
    into.resize(samples.repetitions(), 0.0);
    into.push_back(value->value_or(0));
  }
  samples.digests.push_back(report[kDigest].as_string());
  return {};
}

std::optional<BadMember> missing_in(const Samples& samples) {
  const auto has = [&](const Metric& metric) { return samples.values.find(metric.name) != samples.values.end(); };
  const auto any_of = [&](In in) {
    return std::any_of(metrics().begin(), metrics().end(),
                       [&](const Metric& metric) { return metric.gate.in == in && has(metric); });
  };
  const bool grid = any_of(In::grids) || !any_of(In::replays);
  const bool times = !samples.fingerprint.get("compiler").empty();
  for (const Metric& metric : metrics()) {
    if (!has(metric)) {
      if (is_required(metric, grid) && (times || metric.kind != Kind::time))
        return BadMember{std::string(metric.name), "is missing"};
      continue;
    }
    if (const std::size_t count = samples.values.find(metric.name)->second.size(); count != samples.repetitions())
      return BadMember{std::string(metric.name),
                       fmt::format("has {} values for {} repetitions", count, samples.repetitions())};
  }
  return std::nullopt;
}

const std::vector<std::string>& machine_fields() {
  static const std::vector<std::string> kFields = {"cpu", "cores", "isa_path", "compiler", "flags", "sanitize"};
  return kFields;
}

void keep_counters(Samples& samples) {
  std::erase_if(samples.values, [](const auto& entry) { return find_metric(entry.first)->kind == Kind::time; });
  std::erase_if(samples.fingerprint.fields, [](const auto& field) {
    return std::find(machine_fields().begin(), machine_fields().end(), field.first) != machine_fields().end();
  });
}

void append(Samples& samples, const Samples& more) {
  if (samples.repetitions() == 0) samples.fingerprint = more.fingerprint;
  for (const auto& [name, values] : more.values) {
    std::vector<double>& into = samples.values[name];
    into.resize(samples.repetitions(), 0.0);  // a stage without time so far
    into.insert(into.end(), values.begin(), values.end());
  }
  samples.digests.insert(samples.digests.end(), more.digests.begin(), more.digests.end());
  for (auto& [name, values] : samples.values) values.resize(samples.repetitions(), 0.0);
}

}  // namespace berth::gate
