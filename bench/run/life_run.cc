#include "run/life_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "run/interrupt.h"
#include "run/life_order.h"
#include "run/machine.h"
#include "server/lane.h"

namespace berth::run {

LifeRun::LifeRun(const sim::Workload& workload, RunParts parts, sim::LifePlan plan, Observer* observer,
                 RunResult& result, server::Listener* extra_listener)
    : workload_(workload),
      life_(*workload.life),
      inputs_(std::move(parts.inputs)),
      plan_(std::move(plan)),
      fit_(std::move(parts.fit)),
      queue_(std::move(parts.queue)),
      observer_(observer),
      result_(result),
      measuring_(workload, inputs_, fit_ ? &*fit_ : nullptr, observer, clock_, result, extra_listener),
      watch_(workload, inputs_, plan_, measuring_, clock_, result.life.emplace()),
      player_(workload, inputs_, plan_),
      cluster_(config(), &watch_) {
  watch_.bind(cluster_);
  player_.bind(cluster_, this);
  load();
  measuring_.watch(cluster_.server().store(), result.life->cpu_s.size());
  measuring_.set_origin(life_.start_unix_ns);
  result_.nodes = inputs_.cluster.nodes.size();
  result_.load_allocs = inputs_.cluster.load.size();
  result_.templates = inputs_.jobs.templates.size();
  result_.arrivals = inputs_.jobs.arrivals.size();
}

living::Config LifeRun::config() {
  living::Config out = life_config(workload_, inputs_);
  if (queue_) out.server.queue = std::make_shared<LifeOrder>(std::move(queue_), inputs_.jobs);
  out.tasks = player_.model();
#ifndef NDEBUG
  out.check = inputs_.cluster.nodes.size() <= 60;
#endif
  return out;
}

void LifeRun::load() { cluster_.load(life_start(workload_, inputs_)); }

void LifeRun::run(const RunOptions& options) {
  LifeResult& life = *result_.life;
  watch_.log_to(options.log);
  Progress progress("simulated seconds", static_cast<std::uint64_t>(life.duration_s), options.quiet);
  if (options.hdr_log) measuring_.keep_hdr_log();
  clock_ = sim::RunClock(sim::Clock::skip);
  const auto bucket_ns = static_cast<std::int64_t>(life.bucket_s * 1e9);
  std::size_t bucket = 0;
  std::clock_t work = std::clock();
  result_.ended = "complete";
  for (std::int64_t at = 0;;) {
    {
      const base::UseStageClock marks(observer_ && observer_->begin() ? cluster_.server().lane().stages : nullptr);
      if (base::stage_clock) base::stage_clock->start(base::Stage::harness);
      cluster_.run_before(life_.start_unix_ns + at);
      if (base::stage_clock) base::stage_clock->flush();
    }
    if (observer_) observer_->end();
    if (at == static_cast<std::int64_t>(bucket + 1) * bucket_ns || at == life_.duration_ns) {
      watch_.tick();
      life.cpu_s[bucket++] = static_cast<double>(std::clock() - work) / CLOCKS_PER_SEC;
      note_memory(bucket);
      if (measuring_.look_due(bucket)) measuring_.waited(measuring_.look(bucket));
      work = std::clock();
      progress.update(static_cast<std::uint64_t>(at / 1'000'000'000), true);
    }
    if (measuring_.over_limit()) {
      result_.partial = true;
      break;
    }
    player_.play(at);
    if (at >= life_.duration_ns) break;
    at = std::min({life_.duration_ns, static_cast<std::int64_t>(bucket + 1) * bucket_ns, player_.next_ns()});
  }
  stopped();
  cluster_.run_until(cluster_.now());
#ifndef NDEBUG
  for (const std::string& problem : cluster_.problems()) std::fprintf(stderr, "%s\n", problem.c_str());
  BERTH_ASSERT(cluster_.problems().empty());  // R-CTRL-1720 to 1735
#endif
  progress.finish();
  measuring_.waited(measuring_.look(bucket));
  watch_.finish();
  measuring_.finish(cluster_.server());
  result_.virtual_s = life.reached_s;
  result_.parallel.lost = 0;  // evaluations also end by log entries, which this count does not include
  result_.departed = life.completed;
  // Requested are all placed allocations, and those still missing at the end.
  result_.failed = 0;
  for (const Outage& kind : life.kinds) result_.failed += static_cast<std::uint64_t>(kind.missing_at_end);
  result_.asked = result_.placed + result_.failed;
  result_.decisions_digest = fmt::format("{:016x}", cluster_.digest());
}

/// Measures memory for a few hundred buckets, because each is a system call; other buckets repeat the previous value.
void LifeRun::note_memory(std::size_t buckets) {
  LifeResult& life = *result_.life;
  const auto mark = [&](std::size_t bucket, double mark_s) {
    return std::floor(static_cast<double>(bucket) * life.bucket_s / mark_s);
  };
  const double apart_s = std::max(life.bucket_s, life.duration_s / 300);
  const bool due = mark(buckets, apart_s) != mark(buckets - 1, apart_s) ||
                   mark(buckets, LifeResult::kSettled) != mark(buckets - 1, LifeResult::kSettled);
  life.memory_bytes.push_back(due || life.memory_bytes.empty() ? memory_now() : life.memory_bytes.back());
}

void LifeRun::arrived(const fsm::Answer& answer) {
  ++result_.jobs;
  if (!answer.error.empty()) ++result_.unsupported_reasons["a job that can be registered: " + answer.error];
}

}  // namespace berth::run
