#include "profile/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "profile/report.h"
#include "run/interrupt.h"
#include "run/progress.h"
#include "run/report.h"

namespace berth::profile {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::int64_t kJobsLeast = 200, kJobsMost = 50'000;  // per trial: minimum for p99, maximum for memory
// a trial ends after this multiple of the time of its arrivals
constexpr double kPatience = 3;

/// Records due and done times of evaluations, without marking stages.
class Watch final : public run::Observer {
 public:
  base::StageClock* new_clock() override { return nullptr; }
  bool detailed(std::uint64_t, std::uint32_t) override { return false; }
  void evaluation(const run::EvalRecord& r) override {
    if (r.round != 0) return;
    arrivals.emplace_back(r.due_ns, r.done_ns);
    last_done_ns = std::max(last_done_ns, r.done_ns);
  }
  Arrivals arrivals;
  std::int64_t last_done_ns = 0;
};

/// The workload with another rate, for `seconds`.
sim::Workload at_rate(const sim::Workload& workload, double rate, std::int64_t workers, double seconds) {
  sim::Workload out = workload;
  out.workers = workers;
  if (out.arrivals.process != sim::Process::fixed) out.arrivals.process = sim::Process::poisson;
  out.arrivals.rate_per_s = rate;
  out.arrivals.clock = sim::Clock::skip;
  const auto jobs = static_cast<std::int64_t>(
      std::clamp(rate * seconds, static_cast<double>(kJobsLeast), static_cast<double>(kJobsMost)));
  const bool listed = out.jobs.source == sim::Source::openb || out.jobs.source == sim::Source::files ||
                      out.jobs.source == sim::Source::trace;
  out.jobs.count = listed && out.jobs.count > 0 ? std::min(out.jobs.count, jobs) : jobs;
  out.limits = {};
  out.limits.seconds = kPatience * std::max(seconds, static_cast<double>(jobs) / rate);
  return out;
}

json::Value trial_json(const LoadTrial& t) {
  return json::Object{{"workers", t.workers},
                      {"rate_per_s", t.rate},
                      {"sustained", t.why_not.empty()},
                      {"why_not", t.why_not},
                      {"evaluations", t.evaluations},
                      {"asked", t.placements.asked},
                      {"placed", t.placements.placed},
                      {"placed_share", t.placements.share()},
                      {"seconds", t.seconds},
                      {"busy_seconds", t.busy_s},
                      {"placements_per_second", t.placements_per_s()},
                      {"busy_share", t.busy_share()},
                      {"latency_ns", run::percentiles(t.latency)},
                      {"queue_ns", run::percentiles(t.queue)},
                      {"backlog_early", t.backlog.early},
                      {"backlog_late", t.backlog.late},
                      {"backlog_at_end", static_cast<std::uint64_t>(t.backlog.at_end)}};
}

json::Value or_null(const std::optional<double>& value) { return value ? json::Value(*value) : json::Value(); }

/// Trials sorted by workers, then by rate.
std::vector<const LoadTrial*> curve(const Load& load) {
  std::vector<const LoadTrial*> out;
  for (const LoadTrial& trial : load.trials) out.push_back(&trial);
  std::stable_sort(out.begin(), out.end(), [](const LoadTrial* a, const LoadTrial* b) {
    return a->workers != b->workers ? a->workers < b->workers : a->rate < b->rate;
  });
  return out;
}

}  // namespace

bool Load::complete() const {
  return !interrupted && knees.size() == options.workers.size() &&
         std::all_of(knees.begin(), knees.end(),
                     [](const LoadKnee& k) { return k.search.end != SearchEnd::out_of_time; });
}

Result<Load> run_load(const sim::Workload& workload, const LoadOptions& options) {
  if (workload.cluster.source == sim::Source::nomad_grid)
    return tl::unexpected(InputError{workload.path, "", "nomad-grid has no arrivals whose rate could be raised",
                                     "take another workload, see `berth run --list`"});
  if (workload.life)
    return tl::unexpected(InputError{workload.path, "life", "a life has its own times, which no other rate would keep",
                                     "take a workload without a life"});
  for (const sim::JobKindSpec& kind : workload.jobs.kinds)
    if (kind.jobs > 0 || kind.from_s > 0)
      return tl::unexpected(InputError{workload.path, std::to_string(kind.line),
                                       "the kind '" + kind.name + "' has a number or a start of its own",
                                       "take a workload whose kinds have a 'weight' only"});
  Load out;
  out.options = options;
  const auto start = Steady::now();
  std::optional<InputError> error;
  SearchOptions search = options.search;
  if (search.first_rate <= 0)
    search.first_rate = workload.arrivals.rate_per_s > 0 ? workload.arrivals.rate_per_s / 4 : 10;
  for (const std::int64_t workers : options.workers) {
    double longest_s = 0;
    const auto trial = [&](double rate) -> std::optional<std::string> {
      // Starts no trial that would exceed the time budget, except the very first.
      if (error || run::interrupted()) return std::nullopt;
      if (!out.trials.empty() && run::seconds_since(start) + longest_s > options.max_seconds) return std::nullopt;
      const auto began = Steady::now();
      Watch watch;
      run::RunOptions running;
      running.quiet = true;
      running.observer = &watch;
      auto result = run::run_workload(at_rate(workload, rate, workers, options.trial_seconds), running);
      if (!result) {
        error = result.error();
        return std::nullopt;
      }
      if (run::interrupted()) return std::nullopt;
      LoadTrial t;
      t.workers = workers;
      t.rate = rate;
      t.evaluations = result->evaluations, t.placements = {result->asked, result->placed};
      // Without blocked evaluations, which wait for departures.
      t.seconds = static_cast<double>(watch.last_done_ns) / 1e9, t.busy_s = result->busy_s;
      t.latency = result->latency.total, t.queue = result->latency.queue;
      t.backlog = backlog_of(std::move(watch.arrivals));
      t.why_not = judge(t.latency.percentile(99), options.limit_ns, t.backlog, !result->partial, t.placements,
                        options.least_placed);
      longest_s = std::max(longest_s, run::seconds_since(began));
      if (!options.quiet)
        fmt::print(stderr, "{} workers, {:.1f} jobs/s: p99 {}, {:.1f} % placed{}\n", workers, rate,
                   run::time_words(t.latency.percentile(99)), 100 * t.placements.share(),
                   t.why_not.empty() ? "" : ", not sustained: " + t.why_not);
      out.head = std::move(*result);
      out.trials.push_back(std::move(t));
      return out.trials.back().why_not;
    };
    LoadKnee knee;
    knee.workers = workers;
    knee.search = search_knee(trial, search);
    if (error) return tl::unexpected(*error);
    out.interrupted |= run::interrupted();
    if (knee.search.sustained && !out.interrupted) {  // again with a recorder for the stages
      auto recorder = std::make_unique<Recorder>(calibrate(), RecorderOptions{});
      run::RunOptions running;
      running.quiet = true;
      running.observer = recorder.get();
      auto result =
          run::run_workload(at_rate(workload, *knee.search.sustained, workers, options.trial_seconds), running);
      if (!result) return tl::unexpected(result.error());
      recorder->finish();
      knee.stages = stage_table(*recorder, result->jobs, result->nodes, nullptr);
      knee.recorder = std::move(recorder);
    }
    out.knees.push_back(std::move(knee));
    if (out.interrupted) break;
  }
  out.seconds = run::seconds_since(start);
  return out;
}

std::string to_table(const Load& load) {
  run::RunResult head = load.head;
  head.partial = !load.complete();
  head.ended = load.interrupted ? "interrupted" : "out of time (--max-time)";
  head.workload.workers = load.options.workers.back();
  std::string out = run::head_lines(head);
  out += fmt::format(
      "  load        {}, {} s of arrivals a trial\n"
      "  sustained   p99 of a placement from its due time within {}, no growing backlog, {:g} % placed\n",
      head.workload.arrivals.process == sim::Process::fixed ? "fixed rate" : "Poisson arrivals",
      load.options.trial_seconds, run::time_words(load.options.limit_ns), 100 * load.options.least_placed);
  out += fmt::format("  trials      {} in {:.0f} s\n\n", load.trials.size(), load.seconds);
  out +=
      fmt::format("  {:>7} {:>10} {:>12} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8}  {}\n", "workers",
                  "jobs/s", "placements/s", "busy", "p50", "p90", "p99", "max", "queue p99", "backlog", "placed", "");
  for (const LoadTrial* t : curve(load))
    out += fmt::format("  {:>7} {:>10.1f} {:>12} {:>4.0f} % {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>6.1f} %  {}\n",
                       t->workers, t->rate, run::grouped(static_cast<std::uint64_t>(t->placements_per_s())),
                       100 * t->busy_share(), run::time_words(t->latency.percentile(50)),
                       run::time_words(t->latency.percentile(90)), run::time_words(t->latency.percentile(99)),
                       run::time_words(t->latency.max()), run::time_words(t->queue.percentile(99)), t->backlog.at_end,
                       100 * t->placements.share(), t->why_not.empty() ? "sustained" : "NOT: " + t->why_not);
  for (const LoadKnee& k : load.knees) {
    if (k.search.sustained)
      out += fmt::format("\n  {} worker{}: {:.1f} jobs/s sustained{} ({})\n", k.workers, k.workers == 1 ? "" : "s",
                         *k.search.sustained,
                         k.search.not_sustained ? fmt::format(", {:.1f} not", *k.search.not_sustained) : "",
                         to_text(k.search.end));
    else
      out += fmt::format("\n  {} worker{}: no rate was sustained ({})\n", k.workers, k.workers == 1 ? "" : "s",
                         to_text(k.search.end));
    if (k.recorder) out += "\n" + stage_lines(k.stages);
  }
  return out;
}

json::Value to_json(const Load& load) {
  run::RunResult head = load.head;
  head.partial = !load.complete();
  head.ended = load.interrupted ? "interrupted" : head.partial ? "out of time" : "complete";
  json::Value out = run::report_head(head, "berth-load", kLoadVersion);
  out.set("limit_ns", load.options.limit_ns);
  out.set("percentile", 99);
  out.set("least_placed_share", load.options.least_placed);
  out.set("trial_seconds", load.options.trial_seconds);
  out.set("max_seconds", load.options.max_seconds);
  out.set("resolution", load.options.search.resolution);
  out.set("elapsed_seconds", load.seconds);
  json::Value trials = json::Value::array();
  for (const LoadTrial* t : curve(load)) trials.push(trial_json(*t));
  out.set("trials", std::move(trials));
  json::Value knees = json::Value::array();
  for (const LoadKnee& k : load.knees) {
    json::Value item = json::Object{{"workers", k.workers},
                                    {"ended", to_text(k.search.end)},
                                    {"sustained_rate_per_s", or_null(k.search.sustained)},
                                    {"not_sustained_rate_per_s", or_null(k.search.not_sustained)}};
    json::Value best;
    for (const LoadTrial& t : load.trials)
      if (t.workers == k.workers && k.search.sustained && t.rate == *k.search.sustained && t.why_not.empty())
        best = json::Value(t.placements_per_s());
    item.set("sustained_placements_per_s", std::move(best));
    item.set("stages", k.recorder ? stages_json(k.stages) : json::Value());
    knees.push(std::move(item));
  }
  out.set("knees", std::move(knees));
  return out;
}

}  // namespace berth::profile
