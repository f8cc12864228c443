#include "study/sweep.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/sha256.h"
#include "model/job.h"
#include "run/interrupt.h"
#include "run/processes.h"
#include "run/progress.h"
#include "study/measures.h"

namespace berth::study {
namespace {

namespace fs = std::filesystem;

/// Memory available for new processes; very large if unknown.
std::uint64_t memory_available() {
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;)
    if (word == "MemAvailable:") {
      std::uint64_t kib = 0;
      info >> kib;
      return kib * 1024;
    }
  return UINT64_MAX;
}

/// Processor time of this process and of its ended children.
double processor_seconds() {
  double out = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage usage {};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      out += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return out;
}

std::size_t processes_of(const LocalOptions& options) {
  return options.processes > 0 ? options.processes : std::max(1U, std::thread::hardware_concurrency());
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

Result<Sweep> Sweep::open(Plan plan, const std::string& folder) {
  Sweep out;
  out.folder_ = folder;
  TaskKeys keys;
  std::set<std::string> seen;
  std::vector<Task> once;
  for (Task& task : plan.tasks) {
    auto key = keys.of(task);
    if (!key) return tl::unexpected(key.error());
    if (!seen.insert(*key).second) continue;  // in two blocks of the plan
    out.keys_.push_back(std::move(*key));
    once.push_back(std::move(task));
  }
  out.plan_ = std::move(plan);
  out.plan_.tasks = std::move(once);
  out.own_file_ = (fs::path(folder) / "runs" / (store::moment_key(0) + ".db")).string();
  return out;
}

Result<void> Sweep::make_folder() const {
  std::error_code error;
  if (fs::exists(fs::path(folder_) / "records", error))
    return tl::unexpected(InputError{folder_, "records",
                                     "are runs of an older berth, in files that this one does not read",
                                     "name another folder with --output, or remove them to run all again"});
  const fs::path runs = fs::path(folder_) / "runs";
  if (!fs::create_directories(runs, error) && !fs::is_directory(runs, error))
    return tl::unexpected(InputError{folder_, "", "cannot be a folder of results", "name another folder"});
  return {};
}

std::map<std::string, Record> Sweep::records(std::vector<std::string>& problems) const {
  const std::set<std::string> wanted(keys_.begin(), keys_.end());
  std::error_code error;
  std::set<fs::path> files;  // in the order of their names, which begin with the time
  for (const auto& entry : fs::directory_iterator(fs::path(folder_) / "runs", error))
    if (entry.path().extension() == ".db") files.insert(entry.path());
  std::map<std::string, Record> out;
  for (const fs::path& file : files) {
    const auto opened = store::RunStore::open_existing(file.string());
    auto stored = opened ? opened->records(store::RunKind::run) : tl::unexpected(opened.error());
    if (!stored) {
      problems.push_back(stored.error().line());
      continue;
    }
    for (Record& record : *stored) {
      if (!wanted.contains(record.key)) continue;
      Record& into = out[record.key];
      if (into.key.empty() || !into.counts()) into = std::move(record);
    }
  }
  return out;
}

std::vector<std::size_t> Sweep::missing(bool retry) const {
  std::vector<std::string> problems;
  const auto done = records(problems);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const auto found = done.find(keys_[i]);
    if (found == done.end() || (retry && found->second.status == "failed")) out.push_back(i);
  }
  return out;
}

Record Sweep::run(std::size_t task, const run::RunOptions& options) const {
  Record record = run_task(plan_.tasks[task], options);
  record.key = keys_[task];
  return record;
}

Result<void> Sweep::keep(std::span<const Record> records) const {
  auto file = store::RunStore::open(own_file_, measures());
  if (!file) return tl::unexpected(file.error());
  if (const auto added = file->add(records); !added) return tl::unexpected(added.error());
  return {};
}

Record Sweep::failure_of(std::size_t task, const std::string& message) const {
  Record record = failed_record(plan_.tasks[task], message);
  record.key = keys_[task];
  return record;
}

namespace {

/// The loop of run_local: starts processes while resources allow, and collects ended ones.
class LocalRun {
 public:
  LocalRun(const Sweep& sweep, const std::vector<std::size_t>& tasks, const LocalOptions& options)
      : sweep_(sweep),
        tasks_(tasks),
        options_(options),
        available_(memory_available()),
        progress_("runs", tasks.size(), options.quiet) {
    quiet_ = options.run;
    quiet_.quiet = true;
  }

  Result<SweepEnd> run() {
    const auto start = std::chrono::steady_clock::now();
    const double processor_before = processor_seconds();
    while (next_ < tasks_.size() || processes_.running() > 0) {
      while (next_ < tasks_.size() && room() && !run::interrupted() && !error_) {
        const std::size_t task = tasks_[next_];
        if (!processes_.start(task, [this, task] { return store::to_text(sweep_.run(task, quiet_)); })) break;
        ++next_;
      }
      if (processes_.running() == 0) break;
      if (auto finished = processes_.next(1)) take(*finished);
      if (run::seconds_since(stored_at_) > 1) store_pending();
      progress_.update(end_.ran + end_.failed, true);
    }
    progress_.finish();
    store_pending();
    if (error_) return tl::unexpected(*error_);
    if (next_ < tasks_.size() && !run::interrupted())
      return tl::unexpected(
          InputError{"berth sweep", "", "cannot start a process", "end others, or raise the limit (ulimit -u)"});
    end_.interrupted = run::interrupted();
    end_.seconds = run::seconds_since(start);
    end_.processor_s = processor_seconds() - processor_before;
    return end_;
  }

 private:
  /// True if one more process may start: a free core, and memory for the largest run so far. One may always run.
  bool room() const {
    const std::size_t running = processes_.running();
    if (running == 0) return true;
    return running < processes_of(options_) &&
           static_cast<double>(running + 1) * static_cast<double>(largest_) < 0.9 * static_cast<double>(available_);
  }

  void take(const run::Finished& finished) {
    largest_ = std::max(largest_, finished.peak_rss_bytes);
    const auto record = store::parse_record(finished.text, "the process of a run");
    if (!finished.failure.empty() || !record) {
      if (run::interrupted()) return;
      ++end_.failed;
      pending_.push_back(sweep_.failure_of(finished.id, finished.failure.empty()
                                                            ? record.error().problem
                                                            : "the process of the run " + finished.failure));
      return;
    }
    end_.busy_seconds += record->seconds;
    end_.runs_processor_s += record->processor_s;
    if (record->status == "partial") return;
    ++(record->status == "failed" ? end_.failed : end_.ran);
    pending_.push_back(*record);
  }

  /// Stores what has ended since the last time. Once a second, because a commit waits for the disk.
  void store_pending() {
    stored_at_ = std::chrono::steady_clock::now();
    if (pending_.empty()) return;
    if (const auto done = sweep_.keep(pending_); !done)
      error_ = InputError{done.error().line(), "", "a result could not be kept", "make room, then add --resume"};
    pending_.clear();
  }

  const Sweep& sweep_;
  const std::vector<std::size_t>& tasks_;
  const LocalOptions& options_;
  run::RunOptions quiet_;
  std::uint64_t available_, largest_ = 0;
  run::Progress progress_;
  run::Processes processes_;
  std::optional<InputError> error_;
  SweepEnd end_;
  std::size_t next_ = 0;
  std::vector<Record> pending_;  // ended, and not stored yet
  std::chrono::steady_clock::time_point stored_at_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<SweepEnd> run_local(const Sweep& sweep, const std::vector<std::size_t>& tasks, const LocalOptions& options) {
  return LocalRun(sweep, tasks, options).run();
}

Gathered gather(const Sweep& sweep) {
  Gathered out;
  auto records = sweep.records(out.problems);
  std::vector<std::string> lines;
  for (const std::string& key : sweep.keys()) {
    const auto found = records.find(key);
    if (found == records.end()) {
      ++out.missing;
      continue;
    }
    const Record& record = found->second;
    lines.push_back(fmt::format("{} {} {}", key, record.status, record.digest));
    if (record.status == "failed") out.failed.push_back(record);
    out.records.push_back(std::move(found->second));
  }
  out.digest = digest_of(lines);
  return out;
}

std::string to_csv(const std::vector<Record>& records) {
  std::vector<std::string> parameters;
  for (const Record& record : records)
    for (const sim::Change& change : record.changes)
      if (std::find(parameters.begin(), parameters.end(), change.key) == parameters.end())
        parameters.push_back(change.key);
  std::string out = "key,workload,label,repetition,status,message,decisions_digest,commit,started,seconds";
  for (const std::string& name : parameters) out += "," + quoted(name);
  std::vector<std::string> names;
  for (const run::Measure& measure : measures()) {
    const std::string name = run::name_of(measure);
    if (std::any_of(records.begin(), records.end(), [&](const Record& r) { return std::isfinite(r.value(name)); }))
      names.push_back(name), out += "," + name;
  }
  out += "\n";
  for (const Record& record : records) {
    out += fmt::format("{},{},{},{},{},{},{},{},{:.3f},{}", record.key, quoted(record.workload), quoted(record.label),
                       record.repetition, record.status, quoted(record.message), record.digest, record.commit,
                       record.started, record.seconds);
    for (const std::string& name : parameters) {
      const auto found = std::find_if(record.changes.begin(), record.changes.end(),
                                      [&](const sim::Change& c) { return c.key == name; });
      out += "," + (found == record.changes.end() ? std::string() : quoted(found->value));
    }
    for (const std::string& name : names) {
      const double value = record.value(name);
      out += std::isfinite(value) ? fmt::format(",{}", value) : ",";
    }
    out += "\n";
  }
  return out;
}

Result<Estimate> estimate(const Sweep& sweep, const LocalOptions& options) {
  constexpr std::size_t kSamples = 3;
  const std::vector<std::size_t> missing = sweep.missing(options.retry);
  Estimate out;
  out.runs = sweep.keys().size(), out.done = out.runs - missing.size();
  run::RunOptions quiet = options.run;
  quiet.quiet = true;
  const std::size_t samples = std::min(kSamples, missing.size());
  for (std::size_t i = 0; i < samples && !run::interrupted(); ++i) {
    const std::size_t task = missing[samples == 1 ? 0 : i * (missing.size() - 1) / (samples - 1)];
    run::Processes processes;
    if (!processes.start(task, [&] { return store::to_text(sweep.run(task, quiet)); })) break;
    std::optional<run::Finished> finished;
    while (!finished) finished = processes.next(60);
    const auto record = store::parse_record(finished->text, "a sample");
    if (!record || record->status == "failed") continue;
    ++out.samples;
    out.seconds_each += record->seconds;
    out.peak_bytes = std::max(out.peak_bytes, finished->peak_rss_bytes);
  }
  out.processes = processes_of(options);
  if (out.peak_bytes > 0)
    out.processes = std::clamp<std::size_t>(
        static_cast<std::size_t>(0.9 * static_cast<double>(memory_available()) / static_cast<double>(out.peak_bytes)),
        1, out.processes);
  if (out.samples == 0) return out;
  out.seconds_each /= static_cast<double>(out.samples);
  out.seconds_all = out.seconds_each * static_cast<double>(missing.size()) / static_cast<double>(out.processes);
  return out;
}

}  // namespace berth::study
