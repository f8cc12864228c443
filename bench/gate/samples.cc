#include "gate/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "gate/metrics.h"

namespace berth::gate {
namespace {

constexpr int kRunReportVersion = 1;

std::string text_of(const json::Value& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.as_string() : json::to_text(value);
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

Fingerprint fingerprint_of(const json::Value& report) {
  const json::Value &machine = report["machine"], &build = report["build"], &settings = report["settings"];
  std::string commit = text_of(build["commit"]);
  const bool dirty = commit.ends_with("-dirty");
  if (dirty) commit.resize(commit.size() - std::string_view("-dirty").size());
  Fingerprint out;
  const auto add = [&](const char* name, std::string value) { out.fields.emplace_back(name, std::move(value)); };
  add("cpu", text_of(machine["cpu"]));
  add("cores", text_of(machine["cores"]));
  add("isa_path", text_of(build["isa_path"]));
  add("compiler", text_of(build["compiler"]));
  add("flags", text_of(build["flags"]));
  add("sanitize", text_of(build["sanitize"]));
  add("commit", std::move(commit));
  add("dirty", dirty ? "yes" : "no");
  add("workload", text_of(report["workload"]));
  add("label", text_of(report["label"]));
  add("seed", text_of(settings["seed"]));
  for (const char* setting : {"mode", "strategy", "algorithm", "order", "workers", "commits"})
    add(setting, text_of(settings[setting]));
  add("workload_sha256", text_of(settings["workload_sha256"]));
  add("data_sha256", text_of(settings["data_sha256"]));
  add("stages", report.has("stages_ns") ? "yes" : "");
  add("digest_version", text_of(report["decisions_digest_version"]));
  return out;
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
    // Builds from before the hashes were reported have none.
    if (builds_may_differ && field.ends_with("_sha256") && (value.empty() || other.empty())) continue;
    if (value != other) out.push_back({field, value, other});
  }
  return out;
}

Outcome<void> add_report(const json::Value& report, const std::string& source, Samples& samples) {
  if (report["format"].as_string() != "berth-run")
    return fail(kOwnFailure, source, "is no report of `berth run`", "its \"format\" should be \"berth-run\"");
  if (report["version"].as_int() != kRunReportVersion)
    return fail(
        kOwnFailure, source,
        fmt::format("has version {} of the format, this berth reads {}", text_of(report["version"]), kRunReportVersion),
        "use builds that write the same version");
  if (report["partial"].as_bool() && report["ended"].as_string() != "limit of placements")
    return fail(kOwnFailure, source,
                fmt::format("the run ended early ({}): what it did depends on the speed of the machine",
                            base::shown(report["ended"].as_string())),
                "gate a smaller label, or raise the workload's limit");
  Fingerprint fingerprint = fingerprint_of(report);
  if (samples.repetitions() == 0) {
    samples.fingerprint = std::move(fingerprint);
  } else if (!(samples.fingerprint == fingerprint)) {
    for (const auto& [field, value] : samples.fingerprint.fields)
      if (fingerprint.get(field) != value)
        return fail(
            kOwnFailure, source,
            fmt::format("{} changed between repetitions from '{}' to '{}'", field, value, fingerprint.get(field)),
            "leave the program and its inputs alone while the gate runs");
  }
  for (const Metric& metric : metrics()) {
    const auto value = value_in(report, metric);
    const auto known = samples.values.find(metric.name);
    const std::size_t before = known == samples.values.end() ? 0 : known->second.size();
    if (value && before == samples.repetitions()) samples.values[std::string(metric.name)].push_back(*value);
  }
  samples.digests.push_back(report[kDigest].as_string());
  return {};
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
    into.insert(into.end(), values.begin(), values.end());
  }
  samples.digests.insert(samples.digests.end(), more.digests.begin(), more.digests.end());
}

}  // namespace berth::gate
