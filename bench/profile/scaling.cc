#include "profile/scaling.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "run/interrupt.h"
#include "run/report.h"
#include "run/runner.h"

namespace berth::profile {

using base::Locks;
using base::Stage;

namespace {

constexpr int kScalingRounds = 3;        // runs per number of workers, in turn
constexpr double kScalingSeconds = 1;    // approximate length of each
constexpr std::uint64_t kCounted = 200;  // plans whose written lines are counted
const std::vector<int> kPredicted = {16, 64};

std::size_t place_of(Stage stage) { return static_cast<std::size_t>(stage); }
std::size_t place_of(Locks locks) { return static_cast<std::size_t>(locks); }

/// Continues the line through the values at one and two workers.
double at_workers(double one, double two, int workers) { return std::max(one, one + (two - one) * (workers - 1)); }

struct FreeRun {
  SharedTimes times;
  run::RunResult run;
};

Result<FreeRun> run_once(const sim::Workload& workload, int workers, std::size_t arrivals_max,
                         const Calibration& calibration) {
  sim::Workload free = workload;
  free.workers = workers;
  free.commits = sim::CommitOrder::free;
  RecorderOptions recording;
  recording.detail_every = 0x7fff'ffff;  // marks in Selects would lengthen the work
  Recorder recorder(calibration, recording);
  run::RunOptions running;
  running.quiet = true;
  running.observer = &recorder;
  running.arrivals_max = arrivals_max;
  auto result = run::run_workload(free, running);
  if (!result) return tl::unexpected(result.error());
  recorder.finish();
  return FreeRun{shared_times(recorder, workers, result->busy_s), std::move(*result)};
}

SharedTimes median_run(std::vector<SharedTimes> runs) {
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.per_s < b.per_s; });
  return runs[runs.size() / 2];
}

}  // namespace

QueueRate closed_queue(double work_ns, double serial_ns, int workers) {
  QueueRate out;
  double queued = 0;  // mean number of customers at the server
  for (int n = 1; n <= workers; ++n) {
    const double response = serial_ns * (1 + queued);  // an arriving customer finds the queue of n - 1 customers
    out.per_ns = n / (work_ns + response);
    out.wait_ns = response - serial_ns;
    queued = out.per_ns * response;
  }
  out.busy = out.per_ns * serial_ns;
  return out;
}

double SharedTimes::with(Locks locks) const {
  double sum = 0;
  for (std::size_t s = 0; s < base::kStages; ++s)
    if (locks != Locks::none || static_cast<Stage>(s) != Stage::wait) sum += ns[place_of(locks)][s];
  return sum;
}

double SharedTimes::answer_wait_ns() const { return ns[place_of(Locks::none)][place_of(Stage::wait)]; }

SharedTimes shared_times(const Recorder& recorder, int workers, double busy_s) {
  SharedTimes out;
  out.workers = workers;
  out.evaluations = recorder.sums().evaluations;
  const double evaluations = std::max(1.0, static_cast<double>(out.evaluations));
  out.attempts = static_cast<double>(recorder.sums().attempts) / evaluations;
  out.per_s = busy_s <= 0 ? 0 : static_cast<double>(out.evaluations) / busy_s;
  for (std::size_t clock = 0; clock < recorder.clocks(); ++clock) {
    const auto by_locks = recorder.by_locks(clock);
    for (std::size_t l = 0; l < base::kLocks; ++l)
      for (std::size_t s = 0; s < base::kStages; ++s) {
        const double ns = by_locks[l][s] / evaluations;
        if (clock > 0 && static_cast<Stage>(s) != Stage::idle) out.ns[l][s] += ns;
        // The first clock is that of the run's own thread.
        if (clock == 0 && static_cast<Locks>(l) == Locks::turn) out.arrival_turn_ns += ns;
      }
  }
  return out;
}

std::vector<ModelRow> model_rows(const SharedTimes& one, const SharedTimes& two, const std::vector<int>& more) {
  std::vector<ModelRow> out;
  const auto add = [&](int workers, double work_ns, double serial_ns, double measured) {
    const QueueRate rate = closed_queue(work_ns, serial_ns, workers);
    out.push_back({workers, work_ns, serial_ns, rate.per_ns * 1e9, rate.busy, measured});
  };
  for (const SharedTimes* run : {&one, &two}) add(run->workers, run->work_ns(), run->serial_ns(), run->per_s);
  for (const int workers : more) {
    const double again = at_workers(one.attempts, two.attempts, workers) / two.attempts;
    // Each change is copied once into every view, however often the view is brought up to date in between.
    const double views = at_workers(one.view_ns(), two.view_ns(), workers);
    add(workers, two.work_ns() * again, two.turn_ns() * again + views + two.arrival_turn_ns, 0);
  }
  return out;
}

void LineCounter::committing(const tables::StateStore& store) {
  if (counts_rest_) by_others_ += tables::written_lines(*before_, store.current());
  counts_rest_ = false;
  before_.reset();
  if (seen_++ % every_ == 0) before_ = store.snapshot();
}

void LineCounter::committed(const tables::StateStore& store) {
  if (!before_) return;
  by_plans_ += tables::written_lines(*before_, store.current());
  ++commits_;
  before_.reset();
  before_ = store.snapshot();
  counts_rest_ = true;
}

Result<void> check_scaling(const sim::Workload& workload) {
  if (!workload.life && workload.cluster.source != sim::Source::nomad_grid) return {};
  return tl::unexpected(
      InputError{"berth profile", "--scaling",
                 fmt::format("'{}' has no jobs that several workers could decide at once", workload.name),
                 "use a workload whose jobs arrive, such as quickstart or mixed-real"});
}

Result<Scaling> measure_scaling(const sim::Workload& workload) {
  sim::Workload backlog = workload;
  backlog.arrivals = {};  // all jobs due at once
  backlog.workers = 1;
  backlog.commits = sim::CommitOrder::deterministic;
  const Calibration calibration = calibrate();

  // In turn, which also says how many jobs make runs of the wanted length.
  run::RunOptions running;
  running.quiet = true;
  const auto whole = run::run_workload(backlog, running);
  if (!whole) return tl::unexpected(whole.error());
  if (whole->busy_s > kScalingSeconds)
    running.arrivals_max = std::max<std::size_t>(
        1, static_cast<std::size_t>(static_cast<double>(whole->arrivals) * kScalingSeconds / whole->busy_s));
  Scaling out;
  {
    const std::uint64_t jobs = running.arrivals_max > 0 ? running.arrivals_max : whole->arrivals;
    LineCounter counter(std::max<std::uint64_t>(1, jobs / kCounted));
    running.observer = &counter;
    if (auto done = run::run_workload(backlog, running); !done) return tl::unexpected(done.error());
    out.by_plans = counter.by_plans(), out.by_others = counter.by_others(), out.counted = counter.commits();
  }
  std::vector<SharedTimes> runs[2];
  for (int round = 0; round < kScalingRounds; ++round)
    for (int workers = 1; workers <= 2; ++workers) {
      if (run::interrupted() && round > 0) continue;
      auto done = run_once(backlog, workers, running.arrivals_max, calibration);
      if (!done) return tl::unexpected(done.error());
      runs[workers - 1].push_back(done->times);
    }
  if (runs[0].front().evaluations == 0 || runs[1].front().evaluations == 0)
    return tl::unexpected(InputError{"berth profile", "--scaling", "the workload makes no evaluation to measure",
                                     "name one whose jobs arrive"});
  out.one = median_run(std::move(runs[0])), out.two = median_run(std::move(runs[1]));
  out.model = model_rows(out.one, out.two, kPredicted);
  return out;
}

// ---------------------------------------------------------------- report

namespace {

std::string micros(double ns) { return ns == 0 ? "-" : fmt::format("{:.2f}", ns / 1e3); }

constexpr Locks kLockColumns[] = {
    Locks::none, Locks::turn, Locks::tables, Locks::turn_wait, Locks::turn_table_wait, Locks::table_wait};

void add_times(const SharedTimes& times, std::string& out) {
  out += fmt::format("\n  {} free worker{}, us per evaluation\n  {:<10} {:>9} {:>9} {:>9} {:>11} {:>16} {:>13}\n",
                     times.workers, times.workers == 1 ? "" : "s", "stage", "alone", "the Turn", "views", "Turn waited",
                     "in it for tables", "tables waited");
  const auto line = [&](std::string_view name, const auto& value) {
    std::string row = fmt::format("  {:<10}", name);
    bool any = false;
    for (std::size_t i = 0; i < std::size(kLockColumns); ++i) {
      constexpr int kWidths[] = {9, 9, 9, 11, 16, 13};
      const double ns = value(kLockColumns[i]);
      any |= ns > 0;
      row += fmt::format(" {:>{}}", micros(ns), kWidths[i]);
    }
    if (any) out += row + "\n";
  };
  for (std::size_t s = 0; s < base::kStages; ++s) {
    const bool is_wait = static_cast<Stage>(s) == Stage::wait;
    line(base::to_text(static_cast<Stage>(s)),
         [&](Locks locks) { return is_wait && locks == Locks::none ? 0.0 : times.ns[place_of(locks)][s]; });
  }
  line("all", [&](Locks locks) { return times.with(locks); });
  out += fmt::format(
      "  not included: {} us waiting for the thread that applies the plan, {} us of the Turn for the next job;"
      " {:.3f} attempts\n",
      micros(times.answer_wait_ns()), micros(times.arrival_turn_ns), times.attempts);
}

struct NamedTable {
  const char* name;
  tables::WrittenLines tables::WrittenTables::*table;
};
constexpr NamedTable kWrittenTables[] = {{"nodes", &tables::WrittenTables::nodes},
                                         {"allocations", &tables::WrittenTables::allocs},
                                         {"jobs", &tables::WrittenTables::jobs},
                                         {"evaluations", &tables::WrittenTables::evals},
                                         {"deployments", &tables::WrittenTables::deployments}};

}  // namespace

std::string scaling_lines(const Scaling& scaling) {
  std::string out = "\n  what workers share, all jobs due at once\n";
  add_times(scaling.one, out);
  add_times(scaling.two, out);

  const double counted = std::max(1.0, static_cast<double>(scaling.counted));
  out += fmt::format(
      "\n  cache lines of the tables written per evaluation, mean of {}\n  {:<12} {:>10} {:>10} {:>12} {:>10}\n",
      run::grouped(scaling.counted), "table", "by plans", "bytes", "by the rest", "bytes");
  const auto line = [&](const char* name, const tables::WrittenLines& plans, const tables::WrittenLines& others) {
    if (plans.lines + others.lines == 0) return;
    out += fmt::format("  {:<12} {:>10.1f} {:>10.0f} {:>12.1f} {:>10.0f}\n", name,
                       static_cast<double>(plans.lines) / counted, static_cast<double>(plans.bytes) / counted,
                       static_cast<double>(others.lines) / counted, static_cast<double>(others.bytes) / counted);
  };
  for (const NamedTable& t : kWrittenTables) line(t.name, scaling.by_plans.*t.table, scaling.by_others.*t.table);
  line("all", scaling.by_plans.all(), scaling.by_others.all());

  out += fmt::format("\n  {:>7} {:>11} {:>11} {:>12} {:>12} {:>8} {:>9}\n", "workers", "work, us", "serial, us",
                     "model, /s", "measured, /s", "error", "in use");
  const ModelRow* const first = scaling.model.empty() ? nullptr : &scaling.model.front();
  for (const ModelRow& row : scaling.model) {
    const bool measured = row.measured_s > 0;
    out +=
        fmt::format("  {:>7} {:>11} {:>11} {:>12} {:>12} {:>8} {:>7.0f} %{}\n", row.workers, micros(row.work_ns),
                    micros(row.serial_ns), run::grouped(static_cast<std::uint64_t>(row.per_s + 0.5)),
                    measured ? run::grouped(static_cast<std::uint64_t>(row.measured_s + 0.5)) : "-",
                    measured ? fmt::format("{:+.1f} %", 100 * (row.per_s / row.measured_s - 1)) : "-", 100 * row.busy,
                    measured ? "" : fmt::format("  predicted: {:.1f} times one worker", row.per_s / first->per_s));
  }
  return out;
}

json::Value to_json(const Scaling& scaling) {
  json::Value runs = json::Value::array(), lines = json::Value::array(), model = json::Value::array();
  const auto parts = [](const auto& value) {
    return json::Object{{"work_ns", value(Locks::none)},
                        {"turn_ns", value(Locks::turn)},
                        {"views_ns", value(Locks::tables)},
                        {"turn_wait_ns", value(Locks::turn_wait)},
                        {"turn_table_wait_ns", value(Locks::turn_table_wait)},
                        {"table_wait_ns", value(Locks::table_wait)}};
  };
  for (const SharedTimes* times : {&scaling.one, &scaling.two}) {
    json::Value run = parts([&](Locks locks) { return times->with(locks); });
    run.set("workers", static_cast<std::int64_t>(times->workers));
    run.set("evaluations", times->evaluations);
    run.set("evaluations_per_second", times->per_s);
    run.set("attempts", times->attempts);
    run.set("answer_wait_ns", times->answer_wait_ns());
    run.set("arrival_turn_ns", times->arrival_turn_ns);
    json::Value stages = json::Value::array();
    for (std::size_t s = 0; s < base::kStages; ++s) {
      const bool is_wait = static_cast<Stage>(s) == Stage::wait;
      json::Value stage =
          parts([&](Locks locks) { return is_wait && locks == Locks::none ? 0.0 : times->ns[place_of(locks)][s]; });
      stage.set("stage", base::to_text(static_cast<Stage>(s)));
      stages.push(std::move(stage));
    }
    run.set("stages", std::move(stages));
    runs.push(std::move(run));
  }
  for (const NamedTable& t : kWrittenTables) {
    const tables::WrittenLines &plans = scaling.by_plans.*t.table, &others = scaling.by_others.*t.table;
    lines.push(json::Object{{"table", t.name},
                            {"plan_lines", plans.lines},
                            {"plan_bytes", plans.bytes},
                            {"other_lines", others.lines},
                            {"other_bytes", others.bytes}});
  }
  for (const ModelRow& row : scaling.model) {
    const bool measured = row.measured_s > 0;
    model.push(json::Object{{"workers", static_cast<std::int64_t>(row.workers)},
                            {"work_ns", row.work_ns},
                            {"serial_ns", row.serial_ns},
                            {"evaluations_per_second", row.per_s},
                            {"in_use", row.busy},
                            {"measured_per_second", measured ? json::Value(row.measured_s) : json::Value()},
                            {"error", measured ? json::Value(row.per_s / row.measured_s - 1) : json::Value()}});
  }
  return json::Object{{"runs", std::move(runs)},
                      {"written", json::Object{{"evaluations", scaling.counted}, {"tables", std::move(lines)}}},
                      {"model", std::move(model)}};
}

}  // namespace berth::profile
