#include "study/benchstat.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string_view>
#include <tuple>

#include "run/measures.h"

namespace berth::study {
namespace {

/// A part of a benchmark's name: white space and '/', which separate parts and fields, become '_'.
std::string name_part(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) <= ' ' || c == '/') c = '_';
  return out;
}

/// "placement_p50-ns", "throughput/s", "failed". benchstat shows ns as s, and B with binary prefixes.
std::string unit_of(const run::Measure& measure) {
  const std::string_view unit = measure.unit;
  const std::string title = name_part(measure.title);
  if (unit.empty() || unit.front() == '/') return title + std::string(unit);
  return title + "-" + std::string(unit == "bytes" ? "B" : unit == "s" ? "sec" : unit);
}

std::string name_of_run(const Record& record) {
  std::string out =
      fmt::format("BenchmarkRun/workload={}/label={}", name_part(record.workload), name_part(record.label));
  for (const sim::Change& change : record.changes)
    out += fmt::format("/{}={}", name_part(change.key), name_part(change.value));
  return out;
}

}  // namespace

std::string to_benchstat(std::span<const Record> records) {
  std::string lines;
  std::set<std::string_view> used;
  std::tuple<std::string, std::string, std::string> source;
  for (const Record& record : records) {
    if (!record.counts()) continue;
    std::tuple here(record.commit, record.build, record.machine);
    if (here != source) {
      lines += fmt::format("commit: {}\nbuild: {}\nmachine: {}\n", record.commit, record.build, record.machine);
      source = std::move(here);
    }
    lines += name_of_run(record) + " 1";
    for (const run::Measure& measure : run::measures())
      if (const double value = record.value(run::name_of(measure)); !std::isnan(value)) {
        lines += fmt::format(" {} {}", value * measure.scale(), unit_of(measure));
        used.insert(measure.path);
      }
    lines += '\n';
  }
  std::string units;
  for (const run::Measure& measure : run::measures())
    if (measure.direction != 0 && used.contains(measure.path))
      units += fmt::format("Unit {} better={}\n", unit_of(measure), measure.direction > 0 ? "higher" : "lower");
  return units + lines;
}

}  // namespace berth::study
