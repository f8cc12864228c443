// Cost of a cluster's day for the control plane: jobs of ten allocations are registered, placed, reported as running,
// then as complete or stopped, and collected as garbage, with every evaluation in the state. One item is one job from
// registration to collection.
//
// A job arrives each virtual second, so that the state is kept for the hours given by the rules of garbage collection.
// Four of five are batch jobs that run for a minute; every fifth is a service with a deployment that is stopped after
// ten minutes. The counters are microseconds per job by phase, and the ratio of the last quarter of the jobs to the
// second one: 1 if earlier state has no cost.
#include <ctime>

#include <deque>

#include "lifecycle/watchers.h"
#include "micro/cluster.h"
#include "micro/micro.h"
#include "model/job.h"
#include "server/lane.h"
#include "server/server.h"

namespace berth::micro {
namespace {

constexpr std::int64_t kStart = 1'700'000'000 * base::kSecond, kMinute = 60 * base::kSecond;

/// Processor time of this thread, to exclude other load of the machine.
double cpu_seconds() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

class Life final : public server::Listener {
 public:
  enum Phase { registering, serving, reporting, watching, kPhases };

  Life(std::uint64_t nodes, std::uint32_t jobs) {
    clock_.set(kStart);
    server::Config config;
    config.broker.evals = config.broker.jobs = 2 * jobs + 4096;
    config.retain = true;
    config.defer_metrics = true;
    server_.emplace(config, clock_, this);
    watchers_.emplace(server_->log(), [this] { return base::to_text(spread_uuid(5, ++evals_)); });
    const auto spec = node_spec(32'000, 128'000);
    for (std::uint64_t i = 0; i < nodes; ++i) add_node(server_->store(), spec, i, std::to_string(i % 40));
    server_->store().sort_nodes();
    server_->store().set_index(10);
    lifecycle::Outbox out;
    watchers_->garbage().become_leader(kStart);
  }

  /// Registers a job, a second after the previous one, after all work due before it.
  void live(std::uint32_t number) {
    const std::int64_t now = clock_.now_ns() + base::kSecond;
    clock_.set(now);
    const bool service = number % 5 == 0;
    std::string id = numbered(service ? "service-" : "batch-", number);
    timed(watching, [&] { watch(now); });
    timed(reporting, [&] {
      while (!ends_.empty() && ends_.front().at <= now) end_next();
    });
    timed(registering, [&] {
      const auto job = small_job(id, service ? "service" : "batch", 100, 128);
      job->task_groups[0].count = 10;
      job->submit_time = now;
      if (service) {
        model::UpdateStrategy& update = job->task_groups[0].update.emplace();
        update.max_parallel = 10, update.min_healthy_time = base::kSecond;
        update.healthy_deadline = 5 * kMinute, update.progress_deadline = 10 * kMinute;
      }
      server_->take(server_->requests().register_job({.job = job}, now).hooks);
    });
    serve();
    report("running", service);
    if (service)
      services_.push_back({now + 10 * kMinute, std::move(id)});
    else
      ends_.push_back({now + kMinute, placed_});
    while (!services_.empty() && services_.front().at <= now) {
      timed(registering, [&] {
        server_->take(server_->requests().deregister_job({"default", services_.front().job}, now).hooks);
      });
      services_.pop_front();
      serve();
      report("complete", false);
    }
    peak_allocs_ = std::max(peak_allocs_, server_->store().current().allocs.size());
  }

  void applied(server::Lane& lane) override {
    const tables::Snapshot& state = server_->store().current();
    for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs)
      placed_.push_back({base::to_text(alloc.id), base::to_text(state.nodes.id(alloc.node))});
    for (const plan::PlannedStop& stop : lane.result.plan.stops)
      placed_.push_back(
          {base::to_text(state.allocs.id[stop.alloc]), base::to_text(state.nodes.id(state.allocs.node[stop.alloc]))});
    count_ += lane.result.plan.allocs.size();
  }

  [[nodiscard]] std::uint64_t placed() const { return count_; }
  [[nodiscard]] std::size_t peak_allocs() const { return peak_allocs_; }
  [[nodiscard]] double spent(Phase phase) const { return spent_[phase]; }
  [[nodiscard]] const tables::Snapshot& state() const { return server_->store().current(); }

 private:
  struct Alloc {
    std::string id, node;
  };
  struct End {
    std::int64_t at;
    std::vector<Alloc> allocs;
  };
  struct Service {
    std::int64_t at;
    std::string job;
  };

  template <class Do>
  void timed(Phase phase, Do what) {
    const double begin = cpu_seconds();
    what();
    spent_[phase] += cpu_seconds() - begin;
  }
  void watch(std::int64_t now) {
    out_.clear();
    watchers_->advance(now, out_);
    server_->take(out_.hooks);
  }
  void serve() {
    placed_.clear();
    timed(serving, [&] {
      while (server_->step()) {
      }
    });
  }
  void end_next() {
    placed_ = std::move(ends_.front().allocs);
    ends_.pop_front();
    write_reports("complete", false);
  }
  void report(const char* status, bool healthy) {
    timed(reporting, [&] { write_reports(status, healthy); });
  }
  void write_reports(const char* status, bool healthy) {
    fsm::ClientUpdateEntry entry;
    for (const Alloc& alloc : placed_) {
      model::Allocation one;
      one.id = alloc.id, one.node_id = alloc.node, one.namespace_ = "default";
      one.client_status = status;
      one.modify_time = clock_.now_ns();
      if (healthy) {
        one.deployment_status.emplace().healthy = true;
        one.deployment_status->timestamp = base::Time{clock_.now_ns()};
      }
      entry.add(std::move(one));
    }
    server_->write(entry);
  }

  server::ManualClock clock_;
  std::optional<server::Server> server_;
  std::optional<lifecycle::Watchers> watchers_;
  lifecycle::Outbox out_;
  std::deque<End> ends_;
  std::deque<Service> services_;
  std::vector<Alloc> placed_;
  std::uint64_t evals_ = 0, count_ = 0;
  std::size_t peak_allocs_ = 0;
  double spent_[kPhases] = {};
};

void life(benchmark::State& state) {
  const auto nodes = static_cast<std::uint64_t>(state.range(0));
  const auto jobs = static_cast<std::uint32_t>(state.range(1));
  for (auto _ : state) {
    Life cluster(nodes, jobs);
    double quarters[4] = {}, seconds = 0;
    for (std::uint32_t i = 0; i < jobs; ++i) {
      const double begin = cpu_seconds();
      cluster.live(i);
      const double took = cpu_seconds() - begin;
      quarters[4ULL * i / jobs] += took;
      seconds += took;
    }
    if (cluster.placed() != std::uint64_t{jobs} * 10) return wrong_answer(state, "not every allocation was placed");
    state.SetIterationTime(seconds);
    const double per_job = 1e6 / jobs;
    state.counters["register_us"] = cluster.spent(Life::registering) * per_job;
    state.counters["serve_us"] = cluster.spent(Life::serving) * per_job;
    state.counters["report_us"] = cluster.spent(Life::reporting) * per_job;
    state.counters["watch_us"] = cluster.spent(Life::watching) * per_job;
    state.counters["late_to_early"] = quarters[3] / quarters[1];
    state.counters["alloc_rows"] = static_cast<double>(cluster.state().allocs.size());
    state.counters["eval_rows"] = static_cast<double>(cluster.state().evals.size());
    state.counters["job_rows"] = static_cast<double>(cluster.state().jobs.versions.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}

void lives(benchmark::internal::Benchmark* of) {
  const std::int64_t most = sizes().back();
  of->Args({std::min<std::int64_t>(most, 10'000), std::min<std::int64_t>(most, 1000)});
  if (most >= 20'000) of->Args({10'000, 20'000});
}
BENCHMARK(life)
    ->Name("Life")
    ->ArgNames({"nodes", "jobs"})
    ->Apply(lives)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::micro
