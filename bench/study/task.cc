#include "study/task.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "base/build_info.h"
#include "base/sha256.h"
#include "io/files.h"
#include "model/job.h"
#include "run/machine.h"
#include "run/measures.h"
#include "run/report.h"
#include "sim/datasets.h"
#include "study/compared.h"

namespace berth::study {
namespace {

double unix_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// Processor time of this process.
double own_processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Status of a run, and why it is not "ok".
std::pair<std::string, std::string> status_of(const run::RunResult& result) {
  if (!result.unsupported_reasons.empty())
    return {"failed", "this build lacks " + result.unsupported_reasons.begin()->first};
  if (result.parallel.lost != 0) return {"failed", fmt::format("{} evaluations were lost", result.parallel.lost)};
  if (result.ended == "interrupted") return {"partial", "interrupted"};
  for (const run::CellResult& cell : result.cells)
    if (!cell.decisions_equal) return {"differs", fmt::format("cell {}: {}", cell.cell, cell.difference)};
  return {"ok", ""};
}

Record started_record(const Task& task) {
  Record out;
  out.workload = std::filesystem::path(task.workload).stem().string(), out.label = task.label;
  out.changes = task.changes, out.repetition = task.repetition;
  const base::BuildInfo& build = base::build_info();
  const run::Machine here = run::machine();
  out.commit = build.commit, out.build = fmt::format("{} {}", build.compiler, build.build_type);
  out.machine = fmt::format("{}, {} cores, ISA path {}", here.cpu, here.cores, base::isa_path_used());
  out.started = unix_now();
  return out;
}

}  // namespace

Result<std::string> TaskKeys::content_of(const Task& task) {
  std::string cached = task.workload + "\n" + task.label;
  for (const sim::Change& change : task.changes)
    if (change.key.ends_with("file")) cached += "\n" + change.key + "=" + change.value;
  if (const auto found = contents_.find(cached); found != contents_.end()) return found->second;
  const auto workload = sim::read_workload(task.workload, task.label, split_changes(task.changes).of_workload);
  if (!workload) return tl::unexpected(workload.error());
  base::Sha256 digest;
  for (const std::string& file : sim::files_of(*workload)) {
    const auto content = io::read_file(file);
    if (!content) return tl::unexpected(content.error());
    digest.add(fmt::format("{}\n{}\n", content->size(), *content));
  }
  return contents_.emplace(cached, digest.hex()).first->second;
}

Result<std::string> TaskKeys::of(const Task& task) {
  const auto content = content_of(task);
  if (!content) return tl::unexpected(content.error());
  base::Sha256 digest;
  const auto add = [&digest](std::string_view text) { digest.add(fmt::format("{}\n{}\n", text.size(), text)); };
  add(*content), add(base::build_info().commit), add(task.label), add(std::to_string(task.repetition));
  for (const sim::Change& change : task.changes) add(change.key), add(change.value);
  return digest.hex().substr(0, 32);
}

Record record_of(const Task& task, const run::RunResult& result, const json::Value& report) {
  Record out = started_record(task);
  out.workload = result.workload.name, out.digest = result.decisions_digest;
  std::tie(out.status, out.message) = status_of(result);
  for (const run::Measure& measure : run::measures())
    if (const double value = run::value_of(report, measure); std::isfinite(value))
      out.results.emplace_back(run::name_of(measure), value);
  out.seconds = result.setup_s + result.elapsed_s;
  out.started -= out.seconds;
  return out;
}

Result<std::vector<std::string>> check_task(const Task& task) {
  const SplitChanges changes = split_changes(task.changes);
  const auto workload = sim::read_workload(task.workload, task.label, changes.of_workload);
  if (!workload) return tl::unexpected(workload.error());
  if (!changes.of_compare.empty())
    if (const auto chosen = read_choices(*workload, changes); !chosen) return tl::unexpected(chosen.error());
  return sim::files_of(*workload);
}

namespace {

/// Runs one strategy or rule with one seed.
Record run_compared(const Task& task, const SplitChanges& changes) {
  const auto workload = sim::read_workload(task.workload, task.label, changes.of_workload);
  if (!workload) return failed_record(task, workload.error().line());
  const auto chosen = read_choices(*workload, changes);
  if (!chosen) return failed_record(task, chosen.error().line());
  const double before = own_processor_seconds();
  const auto result = compare::run_grid(*workload, "", *chosen);
  const double after = own_processor_seconds();
  if (!result) return failed_record(task, result.error().line());
  Record out = started_record(task);
  out.processor_s = after - before;
  out.workload = workload->name, out.status = result->partial ? "partial" : "ok";
  if (result->partial) {
    out.message = "interrupted";
    return out;
  }
  const compare::Measured& measured = result->run(0, 0).measured;
  out.digest = measured.digest;
  for (std::size_t m = 0; m < result->set->all.size(); ++m)
    if (std::isfinite(measured.values[m])) out.results.emplace_back(result->set->all[m].name, measured.values[m]);
  out.seconds = result->elapsed_s;
  out.started -= out.seconds;
  return out;
}

}  // namespace

Record run_task(const Task& task, const run::RunOptions& options) {
  if (const SplitChanges changes = split_changes(task.changes); !changes.of_compare.empty())
    return run_compared(task, changes);
  const auto workload = sim::read_workload(task.workload, task.label, task.changes);
  if (!workload) return failed_record(task, workload.error().line());
  const double before = own_processor_seconds();
  const auto result = run::run_workload(*workload, options);
  const double after = own_processor_seconds();
  if (!result) return failed_record(task, result.error().line());
  Record out = record_of(task, *result, run::to_json(*result));
  out.processor_s = after - before;
  return out;
}

Record failed_record(const Task& task, std::string message) {
  Record out = started_record(task);
  out.message = std::move(message);
  return out;
}

}  // namespace berth::study
