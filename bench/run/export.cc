#include "run/export.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/build_info.h"

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
  out.gauge("run_evaluations", "Evaluations processed, retries of blocked ones included.",
            static_cast<double>(r.evaluations));
  out.family("run_placements", "gauge", "Placements by what became of them.");
  for (const auto& [outcome, count] : {std::pair("asked", r.asked), std::pair("placed", r.placed),
                                       std::pair("failed", r.failed), std::pair("refused", r.refused)})
    out.value(static_cast<double>(count), fmt::format("outcome=\"{}\"", outcome));
  out.gauge("run_placements_per_second", "Placements per second of busy time.", r.placements_per_second());
  out.gauge("run_busy_seconds", "Time of the replay, waiting for arrivals left out.", r.busy_s);
  out.gauge("run_cpu_seconds", "Processor time of all threads during the replay.", r.cpu_s);
  out.family("run_latency_seconds", "summary",
             "Latency of a placement by stage; stage total counts from the due time.");
  const Latencies& l = r.latency;
  for (const auto& [stage, histogram] : {std::pair("total", &l.total), std::pair("queue", &l.queue),
                                         std::pair("schedule", &l.schedule), std::pair("commit", &l.commit)}) {
    const std::string label = fmt::format("stage=\"{}\"", stage);
    for (const auto& [quantile, percent] : kQuantiles)
      out.value(static_cast<double>(histogram->percentile(percent)) / 1e9,
                fmt::format("{},quantile=\"{}\"", label, quantile));
    out.value(histogram->mean() * static_cast<double>(histogram->count()) / 1e9, label, "_sum");
    out.value(static_cast<double>(histogram->count()), label, "_count");
  }
  out.family("run_work", "gauge", "Counts of work: the same on every run of one build and workload with one worker.");
  for (const auto& [kind, count] :
       {std::pair("nodes_scored", r.work.nodes_scored), std::pair("nodes_filtered", r.work.nodes_filtered),
        std::pair("nodes_exhausted", r.work.nodes_exhausted),
        std::pair("constraint_evaluations", r.work.constraint_evaluations), std::pair("snapshots", r.work.snapshots),
        std::pair("preempted_allocs", r.work.preempted_allocs), std::pair("conflicts", r.parallel.conflicts)})
    out.value(static_cast<double>(count), fmt::format("kind=\"{}\"", kind));
  if (r.cells.empty()) {
    out.family("run_utilisation", "gauge", "Used / usable over the ready nodes at the end.");
    for (const auto& [resource, share] :
         {std::pair("cpu", r.packing.cpu_utilisation()), std::pair("memory", r.packing.memory_utilisation()),
          std::pair("disk", r.packing.disk_utilisation()), std::pair("devices", r.packing.device_utilisation())})
      out.value(share, fmt::format("resource=\"{}\"", resource));
    out.gauge("run_fragmentation", "Share of the free capacity that mean asks cannot use.", r.packing.fragmentation);
    out.gauge("run_nodes_used", "Nodes with an allocation at the end.", static_cast<double>(r.packing.nodes_used));
  }
  out.gauge("run_peak_rss_bytes", "Memory of the process at its peak.", static_cast<double>(r.peak_rss_bytes));
  out.gauge("run_table_bytes", "Memory of the tables at the end.", static_cast<double>(r.table_bytes));
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
    entries.push(std::move(whole));
    const Latencies& l = r.latency;
    for (const auto& [stage, histogram] : {std::pair("queue", &l.queue), std::pair("schedule", &l.schedule),
                                           std::pair("commit", &l.commit), std::pair("latency", &l.total)}) {
      entries.push(
          entry(fmt::format("{}/{}/mean", name, stage), histogram->count(), histogram->mean(), histogram->mean()));
      for (const auto& [quantile, percent] : kQuantiles) {
        const auto ns = static_cast<double>(histogram->percentile(percent));
        entries.push(entry(fmt::format("{}/{}/q{}", name, stage, quantile), histogram->count(), ns, ns));
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
    const Latencies& l = r.latency;
    for (const auto& [metric, histogram] :
         {std::pair("placement_duration", &l.total), std::pair("placement_queue_duration", &l.queue),
          std::pair("placement_schedule_duration", &l.schedule), std::pair("placement_commit_duration", &l.commit)}) {
      json::Value data = json::Object{{"Average", histogram->mean() / 1e6}};
      for (const auto& [key, percent] :
           {std::pair("Perc50", 50), std::pair("Perc90", 90), std::pair("Perc95", 95), std::pair("Perc99", 99)})
        data.set(key, static_cast<double>(histogram->percentile(percent)) / 1e6);
      add(name, metric, "ms", std::move(data));
    }
  }
  return json::Object{{"version", "v1"}, {"dataItems", std::move(items)}};
}

}  // namespace berth::run
