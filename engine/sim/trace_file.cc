#include "sim/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/edit_distance.h"
#include "model/gang.h"
#include "model/job.h"
#include "sim/csv_rows.h"
#include "sim/job_generator.h"
#include "sim/quantity.h"
#include "sim/workload_words.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000, kMaxAllocs = 1'000'000'000, kMinDiskMb = 10, kTraceGpusMost = 1'024;
// Amounts of all allocations of a trace are summed.
static_assert(kMaxAllocs <= INT64_MAX / kMaxAmount);

/// All values of a row except its times.
struct TraceShape {
  std::string type, name_space = "default";
  std::int64_t count = 1, cpu_mhz = 0, memory_mb = 0, disk_mb = 300, priority = 50, gpus = 0, distinct_hosts = 0,
               gang = 0;
  std::string gpu_model;
  auto operator<=>(const TraceShape&) const = default;
};

model::Job trace_job(const TraceShape& shape, std::size_t number) {
  model::Job job = registered_job("trace-" + std::to_string(number), shape.type, shape.priority);
  job.namespace_ = shape.name_space;
  if (shape.gang != 0) job.meta[model::kGangKey] = "all";
  model::TaskGroup group =
      registered_group(shape.type, "task", shape.count, "exec", shape.cpu_mhz, shape.memory_mb, shape.disk_mb);
  if (shape.distinct_hosts != 0) group.constraints.push_back({"", "true", "distinct_hosts"});
  if (shape.gpus > 0) {
    model::RequestedDevice ask{
        .name = "gpu", .count = static_cast<std::uint64_t>(shape.gpus), .constraints = {}, .affinities = {}};
    if (shape.gpu_model.find('|') == std::string::npos) {
      if (!shape.gpu_model.empty()) ask.constraints.push_back({"${device.model}", shape.gpu_model, "="});
    } else {
      std::string models = shape.gpu_model;
      std::replace(models.begin(), models.end(), '|', ',');
      ask.constraints.push_back({"${device.model}", models, "set_contains_any"});
    }
    group.tasks.front().resources->devices.push_back(std::move(ask));
  }
  if (shape.type == "batch") group.reschedule_policy = model::ReschedulePolicy{};  // a recorded failure is final
  job.task_groups = std::vector<model::TaskGroup>{std::move(group)};
  return job;
}

/// Error in the header: a name that no column has.
void check_columns(CsvRows& rows) {
  const std::vector<std::string> known = {"submit_s",  "run_s",          "count",    "cpu_mhz",  "memory_mb",
                                          "disk_mb",   "type",           "priority", "failed",   "gpus",
                                          "gpu_model", "distinct_hosts", "gang",     "namespace"};
  for (const std::string& name : rows.header())
    if (std::find(known.begin(), known.end(), name) == known.end())
      rows.fail(name, "is no column of a trace", base::did_you_mean(name, known) + "see `berth trace check --help`");
}

}  // namespace

Result<JobStream> parse_trace(std::string_view text, const std::string& path, std::int64_t count) {
  CsvRows rows(text, path, "write the trace again");
  const std::size_t submit = rows.column("submit_s"), cpu = rows.column("cpu_mhz"), memory = rows.column("memory_mb"),
                    run = rows.column("run_s", false), allocs = rows.column("count", false),
                    disk = rows.column("disk_mb", false), type = rows.column("type", false),
                    priority = rows.column("priority", false), failed = rows.column("failed", false),
                    gpus = rows.column("gpus", false), gpu_model = rows.column("gpu_model", false),
                    distinct = rows.column("distinct_hosts", false), gang = rows.column("gang", false),
                    name_space = rows.column("namespace", false);
  check_columns(rows);
  const auto given = [&](std::size_t column) { return rows.has(column) && !rows.empty(column); };
  JobStream out;
  std::map<TraceShape, std::uint32_t> shapes;
  std::int64_t total = 0;
  const std::int64_t most = count > 0 ? std::min(count, kTraceRowsMost) : kTraceRowsMost;
  while (static_cast<std::int64_t>(out.arrivals.size()) < most && rows.next()) {
    JobArrival arrival{.due_ns = rows.seconds(submit), .number = static_cast<std::uint32_t>(out.arrivals.size())};
    TraceShape shape;
    if (given(run)) arrival.run_time_ns = rows.seconds(run);
    shape.type = given(run) ? "batch" : "service";
    if (given(type)) shape.type = rows.text(type);
    if (shape.type != "batch" && shape.type != "service")
      rows.fail("type", "'" + base::shown(shape.type) + "' is not a type of a trace", "use service or batch");
    if (given(allocs)) shape.count = rows.integer(allocs, 1, kMaxCount);
    total += shape.count;
    if (total > kMaxAllocs)
      rows.fail("count", fmt::format("makes more than {} allocations in all", kMaxAllocs), "use a part of the trace");
    shape.cpu_mhz = rows.integer(cpu, 1, kMaxAmount), shape.memory_mb = rows.integer(memory, 1, kMaxAmount);
    if (given(disk)) shape.disk_mb = rows.integer(disk, kMinDiskMb, kMaxAmount);
    if (given(priority)) shape.priority = rows.integer(priority, 1, 100);
    if (given(gpus)) shape.gpus = rows.integer(gpus, 0, kTraceGpusMost);
    if (given(gpu_model) && shape.gpus > 0) shape.gpu_model = rows.text(gpu_model);
    if (given(distinct)) shape.distinct_hosts = rows.integer(distinct, 0, 1);
    if (given(gang)) shape.gang = rows.integer(gang, 0, 1);
    if (given(name_space)) shape.name_space = rows.text(name_space);
    if (!is_name(shape.name_space))
      rows.fail("namespace", "'" + base::shown(shape.name_space) + "' is not a name", kNameRule);
    if (given(failed)) arrival.fails = rows.integer(failed, 0, 1) == 1;
    if (arrival.fails && arrival.run_time_ns == kNeverEnds)
      rows.fail("failed", "is 1 in a row without a run time", "give the row its run_s");
    if (rows.error()) break;
    const auto [known, fresh] = shapes.emplace(shape, static_cast<std::uint32_t>(out.templates.size()));
    if (fresh) out.templates.push_back(std::make_shared<model::Job>(trace_job(shape, out.templates.size())));
    arrival.template_index = known->second;
    out.arrivals.push_back(arrival);
  }
  if (!rows.error() && count == 0 && rows.next())
    rows.fail("", fmt::format("has more than {} rows", kTraceRowsMost), "use a part of it");
  if (!rows.error() && out.arrivals.empty()) rows.fail("", "holds no jobs", "write one row per job below the header");
  if (rows.error()) return tl::unexpected(*rows.error());
  out.single.assign(out.templates.size(), false);
  return out;
}

TraceSummary summary_of(const JobStream& jobs) {
  TraceSummary out;
  out.jobs = jobs.arrivals.size(), out.templates = jobs.templates.size();
  struct UseChange {
    std::int64_t at_ns, cpu_mhz, memory_mb;
  };
  std::vector<UseChange> changes;
  std::int64_t first = INT64_MAX, last = 0;
  for (const JobArrival& arrival : jobs.arrivals) {
    const model::TaskGroup& group = jobs.templates[arrival.template_index]->task_groups.front();
    const model::Resources& each = *group.tasks.front().resources;
    first = std::min(first, arrival.due_ns), last = std::max(last, arrival.due_ns);
    out.allocs += group.count, out.failed += arrival.fails;
    const std::int64_t cpu = group.count * each.cpu, memory = group.count * each.memory_mb;
    changes.push_back({arrival.due_ns, cpu, memory});
    if (arrival.run_time_ns == kNeverEnds) continue;
    ++out.ending;
    changes.push_back({arrival.due_ns + arrival.run_time_ns, -cpu, -memory});
  }
  if (last > first) out.span_s = static_cast<double>(last - first) / 1e9;
  // At one time, what ends makes room first.
  std::sort(changes.begin(), changes.end(), [](const UseChange& a, const UseChange& b) {
    return std::tie(a.at_ns, a.cpu_mhz) < std::tie(b.at_ns, b.cpu_mhz);
  });
  std::int64_t cpu = 0, memory = 0;
  for (const UseChange& change : changes) {
    cpu += change.cpu_mhz, memory += change.memory_mb;
    out.cpu_mhz_peak = std::max(out.cpu_mhz_peak, cpu), out.memory_mb_peak = std::max(out.memory_mb_peak, memory);
  }
  return out;
}

}  // namespace berth::sim
