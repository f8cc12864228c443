#include "study/study_report.h"

#include <cmath>

#include "run/machine.h"
#include "run/measures.h"

namespace berth::study {
namespace {

json::Value number(double value) { return std::isfinite(value) ? json::Value(value) : json::Value(); }
json::Value number(const std::optional<double>& value) { return value ? number(*value) : json::Value(); }

json::Value parameters_json(const std::vector<sim::Change>& changes) {
  json::Value out = json::Value::object();
  for (const sim::Change& change : changes) out.set(change.key, change.value);
  return out;
}

json::Value run_json(const Record& record) {
  json::Value results = json::Value::object();
  for (const auto& [name, value] : record.results) results.set(name, value);
  return json::Object{{"repetition", record.repetition},   {"status", record.status},
                      {"decisions_digest", record.digest}, {"started", record.started},
                      {"seconds", record.seconds},         {"results", std::move(results)}};
}

json::Value cell_json(const Cell& cell) {
  return json::Object{{"median", number(cell.median.median)},  {"low", number(cell.median.low)},
                      {"high", number(cell.median.high)},      {"coverage", number(cell.median.coverage)},
                      {"minimum", number(cell.minimum)},       {"maximum", number(cell.maximum)},
                      {"ratio", number(cell.ratio)},           {"p", number(cell.p)},
                      {"p_adjusted", number(cell.p_adjusted)}, {"differs", cell.shown()}};
}

}  // namespace

json::Value to_json(const Study& study) {
  json::Value out = json::Object{{"format", "berth-study"},
                                 {"version", 1},
                                 {"workload", study.workload},
                                 {"label", study.spec.label},
                                 {"partial", study.interrupted},
                                 {"repetitions", study.spec.repetitions},
                                 {"warm_ups", study.spec.warm_ups},
                                 {"elapsed_seconds", study.seconds},
                                 {"build", run::build_json()},
                                 {"machine", run::machine_json()},
                                 {"fixed", parameters_json(study.spec.fixed)}};
  json::Array factors;
  for (const Factor& factor : study.spec.factors)
    factors.push_back(
        json::Object{{"key", factor.key}, {"values", json::Array(factor.values.begin(), factor.values.end())}});
  out.set("factors", std::move(factors));
  const Comparison comparison = compare_settings(study);
  const auto all = run::measures();
  json::Array measures;
  for (const std::size_t m : comparison.measures)
    measures.push_back(json::Object{{"name", run::name_of(all[m])},
                                    {"title", all[m].title},
                                    {"unit", all[m].unit},
                                    {"scale", all[m].scale()},
                                    {"direction", all[m].direction},
                                    {"tested", all[m].is_tested()}});
  out.set("measures", std::move(measures));
  out.set("tests", static_cast<std::uint64_t>(comparison.tests));
  out.set("smallest_p", comparison.smallest_p);
  json::Array settings;
  for (std::size_t s = 0; s < study.settings.size(); ++s) {
    const Setting& setting = study.settings[s];
    json::Value one = json::Object{{"parameters", parameters_json(setting.changes)}};
    bool same = true;
    for (const Record& record : setting.records) same = same && record.digest == setting.records[0].digest;
    one.set("decisions_digest",
            same && !setting.records.empty() ? json::Value(setting.records[0].digest) : json::Value());
    json::Value& summary = one.set("summary", json::Value::object());
    for (std::size_t i = 0; i < comparison.measures.size(); ++i)
      summary.set(run::name_of(all[comparison.measures[i]]), cell_json(comparison.cells[i][s]));
    json::Array runs;
    for (const Record& record : setting.records) runs.push_back(run_json(record));
    one.set("runs", std::move(runs));
    settings.push_back(std::move(one));
  }
  out.set("settings", std::move(settings));
  return out;
}

}  // namespace berth::study
