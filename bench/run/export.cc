#include "run/export.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <vector>

#include "base/build_info.h"
#include "run/measures.h"
#include "run/report.h"

namespace berth::run {
namespace {

constexpr std::pair<const char*, double> kQuantiles[] = {{"0.5", 50}, {"0.9", 90}, {"0.99", 99}, {"0.999", 99.9}};

/// A label value with backslash, quote and line feed escaped.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

class Exposition {
 public:
  explicit Exposition(const RunResult& r)
      : labels_(fmt::format("workload=\"{}\",label=\"{}\",seed=\"{}\",isa_path=\"{}\"", label_value(r.workload.name),
                            label_value(r.workload.label), r.workload.seed, label_value(base::isa_path_used()))) {}

  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += fmt::format("# HELP berth_{} {}\n# TYPE berth_{} {}\n", name, help, name, type);
  }
  void value(double value, const std::string& more = "", const char* suffix = "") {
    text_ += fmt::format("berth_{}{}{{{}{}{}}} {}\n", name_, suffix, labels_, more.empty() ? "" : ",", more, value);
  }
  void gauge(const char* name, const char* help, double number) {
    family(name, "gauge", help);
    value(number);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string labels_, text_;
  const char* name_ = "";
};

/// The measures that a report has and that are not part of a distribution.
std::vector<std::pair<const Measure*, double>> scalars_of(const json::Value& report) {
  std::vector<std::pair<const Measure*, double>> out;
  for (const Measure& measure : measures())
    if (const double value = value_at(report, measure.path); !is_of_distribution(measure) && std::isfinite(value))
      out.emplace_back(&measure, value);
  return out;
}

/// A gauge per measure. A series with labels is written where its first measure is, because the format wants its lines
/// together.
void add_measures(const json::Value& report, Exposition& out) {
  std::vector<std::pair<Sample, double>> samples;
  for (const auto& [measure, value] : scalars_of(report)) samples.emplace_back(sample_of(*measure), value);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& first = samples[i].first;
    const auto is_same = [&](const auto& other) { return other.first.series == first.series; };
    if (std::any_of(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(i), is_same)) continue;
    out.family(first.series.c_str(), "gauge", first.help.c_str());
    for (const auto& [sample, value] : samples)
      if (sample.series == first.series) out.value(value, sample.label);
  }
}

json::Value entry(const std::string& name, std::uint64_t iterations, double real_ns, double cpu_ns) {
  json::Value out = json::Value::object();
  out.set("name", name);
  out.set("run_name", name);
  out.set("run_type", "iteration");
  out.set("repetitions", 1);
  out.set("repetition_index", 0);
  out.set("threads", 1);
  out.set("iterations", iterations);
  out.set("real_time", real_ns);
  out.set("cpu_time", cpu_ns);
  out.set("time_unit", "ns");
  return out;
}

}  // namespace

std::string to_prometheus(const RunResult& r) {
  Exposition out(r);
  const base::BuildInfo& build = base::build_info();
  out.family("build_info", "gauge", "Always 1; the build is in the labels.");
  out.value(1, fmt::format("version=\"{}\",commit=\"{}\",compiler=\"{}\"", label_value(build.version),
                           label_value(build.commit), label_value(build.compiler)));
  out.gauge("run_partial", "1 when not everything was replayed.", r.partial ? 1 : 0);
  out.gauge("run_nodes", "Nodes of the cluster.", static_cast<double>(r.nodes));
  out.family(
      "run_latency_seconds", "summary",
      "Latency of a placement by stage; stage total counts from the due time. Stage evaluation: of evaluations.");
  for (const Distribution& one : distributions()) {
    const sim::Histogram& histogram = one.of(r);
    const std::string label = fmt::format("stage=\"{}\"", one.stage);
    for (const auto& [quantile, percent] : kQuantiles)
      out.value(static_cast<double>(histogram.percentile(percent)) / 1e9,
                fmt::format("{},quantile=\"{}\"", label, quantile));
    out.value(histogram.mean() * static_cast<double>(histogram.count()) / 1e9, label, "_sum");
    out.value(static_cast<double>(histogram.count()), label, "_count");
  }
  add_measures(to_json(r), out);
  return out.take();
}

json::Value to_google_benchmark(const RunResult& r) {
  const base::BuildInfo& build = base::build_info();
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  json::Value context = json::Value::object();
  context.set("date", fmt::format("{:%Y-%m-%dT%H:%M:%S+00:00}", fmt::gmtime(std::time(nullptr))));
  context.set("host_name", host.data());
  context.set("executable", "berth run");
  context.set("num_cpus", static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  context.set("library_build_type", build.build_type == "Debug" ? "debug" : "release");
  context.set("berth_commit", build.commit);
  context.set("berth_isa_path", base::isa_path_used());

  json::Value entries = json::Value::array();
  const std::string name = r.workload.name + "/" + r.workload.label;
  if (!r.cells.empty()) {
    for (const CellResult& cell : r.cells) {
      const auto ns = static_cast<double>(cell.berth_ns);
      entries.push(entry(fmt::format("{}/cell:{}/nodes:{}/racks:{}/allocs:{}/spread:{}", name, cell.cell, cell.nodes,
                                     cell.racks, cell.allocs, cell.spread ? 1 : 0),
                         1, ns, ns));
    }
  } else {
    const double placed = static_cast<double>(std::max<std::uint64_t>(1, r.placed));
    json::Value whole = entry(name + "/placement", r.placed, r.busy_s * 1e9 / placed, r.cpu_s * 1e9 / placed);
    whole.set("items_per_second", r.placements_per_second());
    for (const auto& [measure, value] : scalars_of(to_json(r))) whole.set(column_of(*measure), value);
    entries.push(std::move(whole));
    for (const Distribution& one : distributions()) {
      const sim::Histogram& histogram = one.of(r);
      const double mean = histogram.mean();
      entries.push(entry(fmt::format("{}/{}/mean", name, one.entry), histogram.count(), mean, mean));
      for (const auto& [quantile, percent] : kQuantiles) {
        const auto ns = static_cast<double>(histogram.percentile(percent));
        entries.push(entry(fmt::format("{}/{}/q{}", name, one.entry, quantile), histogram.count(), ns, ns));
      }
    }
  }
  json::Value out = json::Value::object();
  out.set("context", std::move(context));
  out.set("benchmarks", std::move(entries));
  return out;
}

json::Value to_data_items(const RunResult& r) {
  json::Value items = json::Value::array();
  const std::string name = r.workload.name + "/" + r.workload.label;
  const auto add = [&](const std::string& of, const char* metric, const char* unit, json::Value data) {
    items.push(json::Object{{"data", std::move(data)},
                            {"unit", unit},
                            {"labels", json::Object{{"Name", of},
                                                    {"Metric", metric},
                                                    {"berth_commit", base::build_info().commit},
                                                    {"berth_isa_path", base::isa_path_used()}}}});
  };
  if (!r.cells.empty()) {
    for (const CellResult& cell : r.cells)
      add(fmt::format("{}/cell:{}", name, cell.cell), "evaluation_duration", "ms",
          json::Object{{"Average", static_cast<double>(cell.berth_ns) / 1e6}});
  } else {
    if (!r.arrivals_set_rate())
      add(name, "SchedulingThroughput", "pods/s", json::Object{{"Average", r.placements_per_second()}});
    for (const Distribution& one : distributions()) {
      const sim::Histogram& histogram = one.of(r);
      json::Value data = json::Object{{"Average", histogram.mean() / 1e6}};
      for (const auto& [key, percent] :
           {std::pair("Perc50", 50), std::pair("Perc90", 90), std::pair("Perc95", 95), std::pair("Perc99", 99)})
        data.set(key, static_cast<double>(histogram.percentile(percent)) / 1e6);
      add(name, one.metric, "ms", std::move(data));
    }
    for (const auto& [measure, value] : scalars_of(to_json(r)))
      if (measure->unit != std::string_view("/s"))
        add(name, column_of(*measure).c_str(), measure->unit, json::Object{{"Average", measure->scale() * value}});
  }
  return json::Object{{"version", "v1"}, {"dataItems", std::move(items)}};
}

}  // namespace berth::run
