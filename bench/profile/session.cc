#include "profile/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "model/options.h"
#include "profile/flame.h"
#include "run/interrupt.h"
#include "run/report.h"

namespace berth::profile {

using base::Stage;

namespace {

/// Approximate number of evaluations of a workload; 0: depends on its data.
std::uint64_t expected_evaluations(const sim::Workload& w) {
  if (w.cluster.source == sim::Source::nomad_grid)
    return static_cast<std::uint64_t>((w.grid.last_cell - w.grid.first_cell + 1) * w.grid.repetitions);
  std::int64_t jobs = std::max<std::int64_t>(0, w.jobs.count);
  for (const sim::JobKindSpec& kind : w.jobs.kinds) jobs += kind.jobs;
  return static_cast<std::uint64_t>(jobs);
}

/// Share of detailed evaluations: larger if there are few, but limited so that marks do not distort times.
std::uint32_t detail_of(const sim::Workload& w) {
  constexpr std::uint64_t kLeast = 4, kMost = 32, kWanted = 16;
  const std::uint64_t evaluations = expected_evaluations(w);
  return static_cast<std::uint32_t>(evaluations == 0 ? kMost : std::clamp(evaluations / kWanted, kLeast, kMost));
}

/// Runs the workload again for its slowest evaluations and keeps the least time of each.
Result<void> repeat_slowest(const sim::Workload& workload, const Calibration& calibration, Profile& out) {
  RecorderOptions recording;
  recording.keep_samples = true;
  for (const Sample& s : out.recorder->slowest()) recording.among.emplace(s.number, s.round);
  sim::Workload again = workload;
  again.workers = 1;
  again.commits = sim::CommitOrder::deterministic;
  again.arrivals.clock = sim::Clock::skip;
  for (int round = 0; round < kRepeats && !run::interrupted(); ++round) {
    Recorder recorder(calibration, recording);
    run::RunOptions running;
    running.quiet = true;
    running.observer = &recorder;
    if (auto done = run::run_workload(again, running); !done) return tl::unexpected(done.error());
    recorder.finish();
    for (const Sample& s : recorder.samples()) {
      const auto [at, first] = out.repeated.try_emplace({s.number, s.round}, s);
      Sample& least = at->second;
      if (first) continue;
      for (std::size_t i = 0; i < base::kStages; ++i) least.stage_ns[i] = std::min(least.stage_ns[i], s.stage_ns[i]);
      if (s.service_ns() < least.service_ns()) least.started_ns = s.started_ns, least.done_ns = s.done_ns;
    }
  }
  return {};
}

/// Approximate length of each repeated run of the overhead measurement.
constexpr double kOverheadRunSeconds = 1;

}  // namespace

Result<Profile> profile_workload(const sim::Workload& workload, const Options& options) {
  if (options.scaling)
    if (auto fine = check_scaling(workload); !fine) return tl::unexpected(fine.error());
  Profile out;
  const Calibration calibration = calibrate();
  RecorderOptions recording;
  recording.detail_every = options.detail_every > 0 ? options.detail_every : detail_of(workload);
  recording.slowest = options.slowest;
  recording.keep_samples = options.keep_samples;
  recording.only = options.only;
  auto recorder = std::make_unique<Recorder>(calibration, recording);
  {
    const Counters counters(options.counters);
    run::RunOptions running;
    running.quiet = options.quiet;
    running.observer = recorder.get();
    std::optional<PerfSampler> perf;
    if (options.flame) perf.emplace();
    auto result = run::run_workload(workload, running);
    if (!result) return tl::unexpected(result.error());
    out.counters = counters.read();
    out.run = std::move(*result);
    if (perf) {
      out.stacks = perf->stop();
      out.stacks_unit = "samples";
      out.stacks_from = out.stacks.empty() ? "the stage sampler (" + perf->why() + ")" : "perf, 499 samples per second";
    }
  }
  recorder->finish();
  out.recorder = std::move(recorder);
  if (options.only && out.recorder->sums().evaluations == 0)
    return tl::unexpected(
        InputError{"berth profile", "--only",
                   fmt::format("the run has no evaluation {}.{}", options.only->first, options.only->second),
                   "take one of those that --slowest lists"});
  if (options.roofline) out.roofline = measure_roofline();
  out.stages = stage_table(*out.recorder, out.run.jobs, out.run.nodes, out.roofline ? &*out.roofline : nullptr);
  if (options.flame && out.stacks.empty()) out.stacks = collapse_stages(out), out.stacks_unit = "us";

  if (options.scaling && !run::interrupted()) {
    auto scaling = measure_scaling(workload);
    if (!scaling) return tl::unexpected(scaling.error());
    out.scaling = std::move(*scaling);
  }

  const bool repeatable = options.overhead_rounds > 0 && !options.only && !workload.life && !out.run.partial;
  if (repeatable && !out.recorder->slowest().empty())
    if (auto done = repeat_slowest(workload, calibration, out); !done) return tl::unexpected(done.error());
  if (options.overhead_rounds == 0 || options.only) {
    out.no_overhead = options.only ? "one evaluation is too little to tell" : "not asked for";
  } else if (workload.life) {
    out.no_overhead = "a life is lived once";
  } else if (out.run.partial) {
    out.no_overhead = "the run ended early";
  } else {
    sim::Workload again = workload;
    again.workers = 1;
    again.commits = sim::CommitOrder::deterministic;
    again.arrivals.clock = sim::Clock::skip;
    run::RunOptions running;
    running.quiet = true;
    if (out.run.busy_s > kOverheadRunSeconds && out.run.arrivals > 0)
      running.arrivals_max = std::max<std::size_t>(
          1, static_cast<std::size_t>(static_cast<double>(out.run.arrivals) * kOverheadRunSeconds / out.run.busy_s));
    recording.only.reset();
    OverheadMeter meter(calibration, recording);
    running.observer = &meter;
    for (int run = 0; run < 2 * options.overhead_rounds && !run::interrupted(); ++run) {
      meter.next_run();
      if (auto done = run::run_workload(again, running); !done) return tl::unexpected(done.error());
    }
    out.overhead = meter.result();
    if (out.overhead->events == 0) out.overhead.reset(), out.no_overhead = "interrupted";
  }
  return out;
}

base::Stage dominating(const Sample& s) {
  std::size_t most = static_cast<std::size_t>(Stage::wait);
  for (std::size_t i = 0; i < base::kStages; ++i) {
    if (of_evaluation(static_cast<Stage>(i)) && s.stage_ns[i] > s.stage_ns[most]) most = i;
  }
  return static_cast<Stage>(most);
}

const Sample* repeated(const Profile& profile, const Sample& sample) {
  const auto found = profile.repeated.find({sample.number, sample.round});
  return found == profile.repeated.end() ? nullptr : &found->second;
}

std::string slow_words(const Sample& s, const Recorder& recorder, const Sample* again) {
  const auto& sums = recorder.sums();
  const Sample& lasting = again ? *again : s;
  const Stage stage = dominating(lasting);
  double all = 0;
  for (std::size_t i = 0; i < base::kStages; ++i)
    if (of_evaluation(static_cast<Stage>(i))) all += static_cast<double>(lasting.stage_ns[i]);
  std::string out = fmt::format("{} {:.0f} %", base::to_text(stage),
                                all <= 0 ? 0.0 : 100 * static_cast<double>(lasting.ns(stage)) / all);
  const auto add = [&](const std::string& words) { out += "; " + words; };
  if (again && 2 * again->service_ns() < s.service_ns())
    add(fmt::format("{} when repeated, the rest was noise of the machine", run::time_words(again->service_ns())));
  const std::uint64_t results = s.placed + s.failed + s.refused;
  const double mean_placements = static_cast<double>(sums.placed + sums.failed) /
                                 static_cast<double>(std::max<std::uint64_t>(1, sums.evaluations));
  const double mean_nodes = static_cast<double>(sums.evaluated) /
                            static_cast<double>(std::max<std::uint64_t>(1, sums.placed + sums.failed + sums.refused));
  const double nodes = static_cast<double>(s.evaluated) / static_cast<double>(std::max<std::uint64_t>(1, results));
  if (static_cast<double>(results) > 2 * mean_placements)
    add(fmt::format("{} placements (mean {:.1f})", run::grouped(results), mean_placements));
  if (nodes > 2 * mean_nodes && s.evaluated > 0)
    add(fmt::format("{:.0f} nodes met per placement (mean {:.0f})", nodes, mean_nodes));
  if (s.filtered > 0 && 2 * s.filtered > s.evaluated)
    add(fmt::format("{:.0f} % of them filtered", 100.0 * s.filtered / s.evaluated));
  if (s.exhausted > 0 && 2 * s.exhausted > s.evaluated)
    add(fmt::format("{:.0f} % of them exhausted", 100.0 * s.exhausted / s.evaluated));
  if (s.failed > 0) add(fmt::format("{} not placed: every candidate was visited", run::grouped(s.failed)));
  if (s.evicted > 0) add(fmt::format("{} evicted", run::grouped(s.evicted)));
  if (s.attempts > 1) add(fmt::format("{} attempts", s.attempts));
  if (s.round > 0 && s.due_ns != s.started_ns) add(fmt::format("unblocked {} times", s.round));
  if (s.first_of_lane) add("the worker's first: its memory and caches were empty");
  // Time outside all stages: the thread did not run, or the run did its own work.
  const double elsewhere = static_cast<double>(s.service_ns()) - all;
  if (!again && elsewhere > 0.3 * static_cast<double>(s.service_ns()))
    add(fmt::format("{:.0f} % outside all stages: the thread was not running",
                    100 * elsewhere / static_cast<double>(s.service_ns())));
  return out;
}

std::string reproduce_words(const Sample& s, const sim::Workload& w) {
  // A shipped workload is given by its name.
  const std::filesystem::path path(w.path);
  const auto folder = path.parent_path().filename();
  const bool provided = (folder == "macro" || folder == "workloads") && path.stem() == w.name;
  std::string options;
  for (const auto& [name, value] : model::changed_options(w.options))
    options += fmt::format(" --option {}={}", name, value);
  return fmt::format("berth profile {} --label {} --seed {}{} --only {}.{}", provided ? w.name : w.path, w.label,
                     w.seed, options, s.number, s.round);
}

}  // namespace berth::profile
