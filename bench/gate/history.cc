#include "gate/history.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "base/sha256.h"
#include "gate/metrics.h"
#include "stats/change_points.h"
#include "stats/summary.h"
#include "store/run_store.h"

namespace berth::gate {
namespace {

using store::Record;
using store::RunStore;

constexpr const char* kCase = "case";  // a parameter that is no field of the fingerprint

tl::unexpected<Failure> usage(const InputError& error) { return tl::unexpected(Failure{kUsage, error}); }

const std::string& parameter(const Record& record, std::string_view name) {
  static const std::string none;
  for (const sim::Change& change : record.changes)
    if (change.key == name) return change.value;
  return none;
}

/// Digest of the fields that must agree for two records to belong to one series.
std::string environment_of(const Record& record) {
  base::Sha256 sum;
  for (const auto& [field, value] : record.changes)
    if (field != "dirty" && field != kCase) sum.add(field + "=" + value + "\n");
  return sum.hex().substr(0, 12);
}

Record record_of(const Case& what, const Samples& samples, std::size_t number) {
  Record out;
  out.kind = store::RunKind::gate, out.key = store::moment_key(number), out.status = "ok";
  out.workload = what.workload, out.label = what.label;
  out.repetition = static_cast<std::int64_t>(samples.repetitions());
  out.digest = samples.digests.empty() ? "" : samples.digests.front();
  out.commit = samples.fingerprint.get("commit"), out.build = samples.fingerprint.get("compiler");
  out.machine = samples.fingerprint.get("cpu");
  out.started = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  out.changes.push_back({kCase, what.name()});
  for (const auto& [field, value] : samples.fingerprint.fields)
    if (field != "commit") out.changes.push_back({field, value});
  for (const Metric& metric : metrics())
    if (const auto found = samples.values.find(metric.name); found != samples.values.end())
      out.results.emplace_back(run::name_of(metric), stats::median(found->second));
  return out;
}

std::string time_of(const Record& record) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(record.started)));
}

}  // namespace

Outcome<void> check_history(const std::string& path) {
  if (const auto fine = RunStore::check(path); !fine) return usage(fine.error());
  return {};
}

Outcome<void> append_history(const std::string& path, const std::vector<std::pair<Case, Samples>>& cases) {
  std::vector<Record> records;
  for (const auto& [what, samples] : cases) records.push_back(record_of(what, samples, records.size()));
  auto history = RunStore::open(path, metrics());
  if (!history) return tl::unexpected(Failure{kOwnFailure, history.error()});
  if (const auto added = history->add(records); !added) return tl::unexpected(Failure{kOwnFailure, added.error()});
  return {};
}

Outcome<std::vector<Series>> read_history(const std::string& path) {
  const auto history = RunStore::open_existing(path);
  if (!history) return usage(history.error());
  const auto records = history->records(store::RunKind::gate);
  if (!records) return usage(records.error());
  if (records->empty())
    return fail(kUsage, path, "has no runs of a gate", "add some with `berth gate --history`, or name another file");
  std::vector<Series> out;
  for (const Record& record : *records) {
    const std::string environment = environment_of(record);
    const std::string& name = parameter(record, kCase);
    auto found = std::find_if(out.begin(), out.end(), [&](const Series& one) {
      return one.case_name == name && one.environment == environment;
    });
    if (found == out.end()) found = out.insert(out.end(), Series{name, record.machine, environment, {}});
    Series::Point& point = found->points.emplace_back(Series::Point{time_of(record), record.commit, {}});
    for (const Metric& metric : metrics()) {
      const json::Value value = record.value(run::name_of(metric));
      if (std::isnan(value.as_double())) continue;
      if (const std::string problem = value_problem(&value, metric); !problem.empty())
        return fail(kUsage, path, problem, "remove the run, or start a new history",
                    fmt::format("run {}: {}", record.key, metric.name));
      point.medians.emplace(metric.name, value.as_double());
    }
  }
  return out;
}

Outcome<std::string> drift_text(const std::string& path, const DriftOptions& options) {
  const auto history = read_history(path);
  if (!history) return tl::unexpected(history.error());
  std::string out;
  std::size_t found = 0, runs = 0;
  for (const Series& series : *history) {
    runs += series.points.size();
    for (const Metric& metric : metrics()) {
      std::vector<double> values;
      std::vector<const Series::Point*> points;
      for (const Series::Point& point : series.points)
        if (const auto value = point.medians.find(metric.name); value != point.medians.end())
          values.push_back(value->second), points.push_back(&point);
      for (const stats::ChangePoint& point :
           stats::change_points(values, {.alpha = options.alpha, .least_change = options.least_change})) {
        const double change = stats::relative_difference(point.after, point.before);
        out += fmt::format("{} {}: {} -> {} ({:+.1f} %, {}) from commit {} on ({}, run {} of {}, p = {:.3f})\n",
                           series.case_name, metric.name, run::with_unit(point.before, metric.unit),
                           run::with_unit(point.after, metric.unit), 100 * change,
                           (change > 0) == is_lower_better(metric) ? "worse" : "better",
                           points[point.index]->commit.substr(0, 12), points[point.index]->time, point.index + 1,
                           points.size(), point.p);
        ++found;
      }
    }
  }
  return out + fmt::format("{} change point{} in {} run{} of {}\n", found, found == 1 ? "" : "s", runs,
                           runs == 1 ? "" : "s", path);
}

}  // namespace berth::gate
