// Queue policies in whole replays, against a simulation that examines all waiting jobs for every decision, and the
// measures of waiting by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "model/job.h"
#include "run/measured_run.h"
#include "run/report.h"
#include "run/runner.h"
#include "run/waits.h"
#include "server/lane.h"
#include "server/server.h"
#include "sim/inputs.h"
#include "starts.h"

namespace berth::run {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kBatchNs = 50'000'000;

// Every allocation needs more than half of a node's cpu, so a node runs one, and which node it is does not matter.
std::string text_of(const std::string& queue, const std::string& arrivals) {
  return "name = \"waits\"\nseed = 4\ndepartures = true\nqueue = \"" + queue + R"("
[cluster]
nodes = 6
[[cluster.shapes]]
name = "std"
cores = 1
mhz_per_core = 1000
memory_mb = 10000
disk_mb = 100000
[jobs]
count = 250
[[jobs.mix]]
name = "web"
type = "batch"
namespace = "prod"
weight = 2
deadline_s = [20, 600]
cpu_mhz = 600
memory_mb = [100, 2000]
priority = [1, 100]
run_time_s = [5, 60]
[[jobs.mix]]
name = "train"
type = "batch"
namespace = "research"
cpu_mhz = 600
memory_mb = [5000, 9000]
priority = [1, 100]
run_time_s = [20, 300]
[[jobs.mix]]
name = "try"
namespace = "dev"
cpu_mhz = [510, 700]
memory_mb = 500
priority = [1, 100]
run_time_s = [1, 40]
)" + arrivals;
}
const std::string kPoisson = "[arrivals]\nprocess = \"poisson\"\nrate_per_s = 0.15\n";
const std::string kBacklog = "";

sim::Workload parsed(const std::string& text) {
  auto workload = sim::parse_workload(text, "waits.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  return *workload;
}

/// A job of the slow simulation.
struct Job {
  std::size_t arrival;
  std::uint32_t
      number;  ///< in the order of creation, which is that of the arrivals, and regardless of priority at one time
  std::int64_t due_ns, run_ns;
  std::int64_t priority, cpu, memory, disk;
  std::string space;
  std::int64_t deadline_ns;
};
struct Running {
  std::int64_t start_ns, end_ns;
  Job job;
  bool ended = false;
};
/// The waiting job that is served next, by the definition of the policy.
using Next =
    std::function<std::size_t(const std::vector<Job>& ready, const std::vector<Running>& all, std::int64_t now_ns)>;

template <class Rank>
Next least(Rank rank) {
  return [rank](const std::vector<Job>& ready, const std::vector<Running>& running, std::int64_t now_ns) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < ready.size(); ++i)
      if (rank(ready[i], running, now_ns) < rank(ready[best], running, now_ns)) best = i;
    return best;
  };
}

/// Weight of a job's use in the mean at `now_ns` (the integral of its decay); without a half-life 1 while it lasts.
double weight_of(const Running& one, std::int64_t now_ns, double half_life_s) {
  if (half_life_s == 0) return one.ended ? 0 : 1;
  const auto left = [&](std::int64_t at_ns) {
    return std::exp2(static_cast<double>(at_ns - now_ns) / 1e9 / half_life_s);
  };
  return left(std::min(one.end_ns, now_ns)) - left(one.start_ns);
}

/// `all`: the jobs that have started.
double dominant_share(const std::string& space, const std::vector<Running>& all, std::int64_t now_ns,
                      double half_life_s) {
  double cpu = 0, memory = 0, disk = 0;
  for (const Running& one : all) {
    if (one.job.space != space) continue;
    const double weight = weight_of(one, now_ns, half_life_s);
    cpu += weight * static_cast<double>(one.job.cpu), memory += weight * static_cast<double>(one.job.memory);
    disk += weight * static_cast<double>(one.job.disk);
  }
  return std::max({cpu / 6'000, memory / 60'000, disk / 600'000});
}

Next fair(std::map<std::string, double> weights, double half_life_s = 0) {
  return [weights, half_life_s](const std::vector<Job>& ready, const std::vector<Running>& all, std::int64_t now_ns) {
    std::map<std::string, double> shares;
    for (const Job& job : ready) {
      const auto [share, is_new] = shares.emplace(job.space, 0);
      const auto weight = weights.find(job.space);
      if (is_new)
        share->second =
            dominant_share(job.space, all, now_ns, half_life_s) / (weight == weights.end() ? 1 : weight->second);
    }
    const auto rank = [&](const Job& job) { return std::tuple(shares.at(job.space), -job.priority, job.number); };
    const auto first =
        std::min_element(ready.begin(), ready.end(), [&](const Job& a, const Job& b) { return rank(a) < rank(b); });
    return static_cast<std::size_t>(first - ready.begin());
  };
}

/// Events in the order that the replay documents. Ends free their nodes at once; jobs that wait are evaluated again
/// with the batch of reports, 50 ms after the first end of it. Jobs that arrive are evaluated at once.
std::vector<std::pair<std::int64_t, std::size_t>> simulate(const sim::Workload& workload, const Next& next) {
  const sim::Inputs inputs = sim::generate_inputs(workload);
  std::vector<Job> jobs;
  for (const sim::JobArrival& arrival : inputs.jobs.arrivals) {
    const model::Job& form = *inputs.jobs.templates[arrival.template_index];
    const model::Resources& asked = *form.task_groups[0].tasks[0].resources;
    jobs.push_back({jobs.size(), arrival.number, arrival.due_ns, arrival.run_time_ns, form.priority, asked.cpu,
                    asked.memory_mb, form.task_groups[0].ephemeral_disk->size_mb, form.namespace_, INT64_MAX});
    if (const auto text = form.meta.find("berth_deadline"); text != form.meta.end())
      jobs.back().deadline_ns = arrival.due_ns + std::stoll(text->second) * kSecond;
  }
  std::vector<std::pair<std::int64_t, std::size_t>> out;
  std::vector<Job> waiting;
  std::vector<Running> running, all;
  const auto serve = [&](std::vector<Job> ready, std::int64_t now_ns) {
    while (!ready.empty()) {
      const std::size_t at = next(ready, all, now_ns);
      const Job job = ready[at];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
      if (running.size() == 6) {
        waiting.push_back(job);
        continue;
      }
      running.push_back({now_ns, now_ns + job.run_ns, job, false});
      all.push_back(running.back());
      out.emplace_back(now_ns, job.arrival);
    }
  };
  std::int64_t batch_ns = INT64_MAX;
  for (std::size_t arrived = 0;;) {
    std::int64_t end_ns = INT64_MAX;
    for (const Running& one : running) end_ns = std::min(end_ns, one.end_ns);
    const std::int64_t due_ns = arrived < jobs.size() ? jobs[arrived].due_ns : INT64_MAX;
    if (due_ns == INT64_MAX && waiting.empty()) return out;
    const std::int64_t now_ns = std::min({batch_ns, end_ns, due_ns});
    if (now_ns == INT64_MAX) return out;
    if (now_ns == batch_ns) {
      batch_ns = INT64_MAX;
      serve(std::exchange(waiting, {}), now_ns);
    } else if (now_ns == end_ns) {
      if (batch_ns == INT64_MAX) batch_ns = now_ns + kBatchNs;
      for (Running& one : all) one.ended = one.ended || one.end_ns == now_ns;
      std::erase_if(running, [&](const Running& one) { return one.end_ns == now_ns; });
    } else {
      std::vector<Job> ready;
      for (; arrived < jobs.size() && jobs[arrived].due_ns == now_ns; ++arrived) ready.push_back(jobs[arrived]);
      serve(std::move(ready), now_ns);
    }
  }
}

struct PolicyCase {
  const char* queue;
  Next next;
};
std::vector<PolicyCase> policies() {
  return {
      {"fifo", least([](const Job& job, auto&, auto) { return job.number; })},
      {"shortest", least([](const Job& job, auto&, auto) { return std::pair(job.run_ns, job.number); })},
      {"fair-share", fair({})},
      {"fair-share:prod=4:research=0.5", fair({{"prod", 4}, {"research", 0.5}})},
      {"fair-share:half_life=300:prod=2", fair({{"prod", 2}}, 300)},
      {"deadline", least([](const Job& job, auto&, auto) { return std::pair(job.deadline_ns, job.number); })},
      {"ageing:per_minute=3", least([](const Job& job, auto&, std::int64_t now_ns) {
         const double points =
             static_cast<double>(job.priority) + 3 * static_cast<double>(now_ns - job.due_ns) / (60.0 * kSecond);
         return std::pair(-points, job.number);
       })},
      {"ageing:per_minute=0", least([](const Job& job, auto&, auto) { return std::pair(-job.priority, job.number); })}};
}

TEST(QueuePolicies, AWholeReplayServesJobsLikeASlowSimulation) {
  for (const std::string& arrivals : {kPoisson, kBacklog}) {
    std::set<std::string> digests;
    std::uint64_t late = 0;
    for (const PolicyCase& policy : policies()) {
      const sim::Workload workload = parsed(text_of(policy.queue, arrivals));
      Starts starts;
      const auto result = run_workload(workload, {.quiet = true, .extra_listener = &starts});
      ASSERT_TRUE(result) << result.error().line();
      EXPECT_EQ(result->ended, "complete");
      EXPECT_EQ(result->placed, 250U);
      EXPECT_GT(result->retries, 100U) << "jobs have to wait";
      const auto wanted = simulate(workload, policy.next);
      ASSERT_EQ(starts.started.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(starts.started[i], wanted[i]) << policy.queue << ", start " << i;
      digests.insert(result->decisions_digest);
      // The measures of the run are equal to those computed here from the starts.
      std::uint64_t with_deadline = 0, met = 0;
      const sim::JobStream jobs = sim::generate_inputs(workload).jobs;
      for (const auto& [at_ns, number] : wanted) {
        const sim::JobArrival& arrival = jobs.arrivals[number];
        const auto& meta = jobs.templates[arrival.template_index]->meta;
        if (!meta.contains("berth_deadline")) continue;
        ++with_deadline;
        met += at_ns + arrival.run_time_ns <= arrival.due_ns + std::stoll(meta.at("berth_deadline")) * kSecond;
      }
      EXPECT_EQ(result->waits->with_deadline, with_deadline);
      EXPECT_EQ(result->waits->deadlines_met, met);
      late += with_deadline - met;
      std::vector<double> waits;
      for (const auto& [at_ns, number] : wanted)
        waits.push_back(static_cast<double>(at_ns - jobs.arrivals[number].due_ns) / 1e9);
      std::sort(waits.begin(), waits.end());
      EXPECT_EQ(result->waits->jobs, 250U);
      EXPECT_EQ(result->waits->never_placed, 0U);
      EXPECT_DOUBLE_EQ(result->waits->wait_s.p50, waits[124]);
      EXPECT_DOUBLE_EQ(result->waits->wait_s.p99, waits[247]);
    }
    EXPECT_GT(late, 50U) << "deadlines matter";
    // In a backlog all jobs have waited equally long, so that both rates of ageing are strict priority.
    EXPECT_EQ(digests.size(), policies().size() - (arrivals == kBacklog ? 1 : 0)) << "the policies decide differently";
  }
}

TEST(QueuePolicies, ShortestHasTheLeastMeanWaitAndErrorsIncreaseIt) {
  const auto wait = [](const std::string& queue) {
    const auto result = run_workload(parsed(text_of(queue, kPoisson)), {.quiet = true});
    EXPECT_TRUE(result) << result.error().line();
    return result->waits->wait_s.mean;
  };
  const double known = wait("shortest"), guessed = wait("shortest:error=2"), fifo = wait("fifo");
  EXPECT_LT(known, guessed);
  EXPECT_LT(guessed, fifo);
}

/// Threads decide ahead, and commit in turn: the order, and so the decisions, are those of one worker.
TEST(QueuePolicies, SeveralWorkersDecideLikeOne) {
  for (const std::string& arrivals : {kPoisson, kBacklog})
    for (const char* queue :
         {"fifo", "shortest", "fair-share:half_life=300", "deadline", "backfill", "quota:prod=0.5"}) {
      std::set<std::string> digests;
      for (const char* workers : {"", "workers = 3\n"}) {
        const auto result = run_workload(parsed(workers + text_of(queue, arrivals)), {.quiet = true});
        ASSERT_TRUE(result) << result.error().line();
        EXPECT_EQ(result->placed, 250U);
        digests.insert(result->decisions_digest);
      }
      EXPECT_EQ(digests.size(), 1U) << queue;
    }
}

TEST(QueuePolicies, MistakesAreNamedWithARemedy) {
  const auto refused_line = [](const std::string& text, auto&& change) {
    auto workload = sim::parse_workload(text, "waits.toml");
    if (!workload) return workload.error().line();
    change(*workload);
    const auto result = run_workload(*workload, {.quiet = true});
    return result ? std::string("no error") : result.error().line();
  };
  const auto unchanged = [](sim::Workload&) {};
  std::string valid;  // other tests add policies
  for (const strategy::QueueInfo* info : strategy::queue_registry().all())
    valid += (valid.empty() ? "" : ", ") + info->name;
  EXPECT_EQ(refused_line(text_of("fifoo", kPoisson), unchanged),
            "waits.toml:4: queue policy 'fifoo': there is no such queue policy; did you mean 'fifo'? valid: " + valid);
  EXPECT_EQ(refused_line(text_of("fair-share:prd=2", kPoisson), unchanged),
            "waits.toml:queue: no job is in the namespace 'prd'; did you mean 'prod'? valid: dev, prod, research");
  EXPECT_EQ(refused_line(text_of("fifo", kPoisson), [](sim::Workload& w) { w.commits = sim::CommitOrder::free; }),
            "waits.toml:queue: workers that commit in any order take evaluations as they come; leave out --order free");
}

// Three namespaces; times in seconds.
//   a   arrives 0, placed 0, runs 10:      wait 0, completion 10, slowdown 1, progress 1
//   a   arrives 10, placed 40, runs 10:    wait 30, completion 40, slowdown 4, progress 1/4
//   b   arrives 20, placed 30, runs 10:    wait 10, completion 20, slowdown 2, progress 1/2
//   b   arrives 20, never placed, runs 5:  progress 0
//   c   arrives 5, placed 8, never ends:   wait 3, no completion
//   c   arrives 5, placed 6, runs 20, evicted: wait 1, progress 0
//   c   arrives 30, placed 30, runs 0:     wait 0, completion 0, no slowdown, progress 1
TEST(WaitStatistics, AgreeWithValuesComputedByHand) {
  const auto job = [](std::int64_t arrived, std::int64_t placed, std::int64_t run, std::uint32_t space) {
    JobTimes out{.arrived_ns = arrived * kSecond, .run_time_ns = run < 0 ? -1 : run * kSecond, .space = space};
    out.placed_ns = placed < 0 ? -1 : placed * kSecond;
    if (placed >= 0 && run >= 0) out.end_ns = (placed + run) * kSecond;
    out.counts = true;
    return out;
  };
  std::vector<JobTimes> jobs = {job(0, 0, 10, 1), job(10, 40, 10, 1), job(20, 30, 10, 2), job(20, -1, 5, 2),
                                job(5, 8, -1, 3), job(5, 6, 20, 3),   job(30, 30, 0, 3),  job(0, 999, 1, 4)};
  jobs[5].evicted = true;
  jobs[7].counts = false;
  const WaitResult result = measure_waits(jobs);
  EXPECT_EQ(result.jobs, 7U);
  EXPECT_EQ(result.never_placed, 1U);
  EXPECT_EQ(result.completed, 4U);
  // Waits 0 0 1 3 10 30.
  EXPECT_DOUBLE_EQ(result.wait_s.mean, 44.0 / 6);
  EXPECT_DOUBLE_EQ(result.wait_s.p50, 1);
  EXPECT_DOUBLE_EQ(result.wait_s.p99, 30);
  EXPECT_DOUBLE_EQ(result.wait_s.max, 30);
  // Completions 0 10 20 40, slowdowns 1 2 4.
  EXPECT_DOUBLE_EQ(result.completion_s.mean, 17.5);
  EXPECT_DOUBLE_EQ(result.completion_s.p50, 10);
  EXPECT_DOUBLE_EQ(result.completion_s.p99, 40);
  EXPECT_DOUBLE_EQ(result.slowdown.mean, 7.0 / 3);
  EXPECT_DOUBLE_EQ(result.slowdown.p50, 2);
  EXPECT_DOUBLE_EQ(result.slowdown.p99, 4);
  EXPECT_DOUBLE_EQ(result.makespan_s, 50);
  // Mean progress 5/8, 1/4, 1/2: (11/8)^2 / (3 (25/64 + 4/64 + 16/64)) = 121 / 135.
  EXPECT_DOUBLE_EQ(result.fairness, 121.0 / 135);
}

// Two namespaces: half of the cluster for each alone. Times in seconds, demands in shares of the cluster.
//   a   0.5, arrives 0, runs 10, ends 10:   alone from 0 to 10
//   a   0.25, arrives 1, runs 10, ends 11:  alone from 10 to 20, since the first needs all of the half: 10 / 19
//   a   0.25, arrives 2, runs 4, ends 30:   alone from 10 to 14: 28 / 12
//   b   1, arrives 0, runs 10, ends 40:     twice as large as the half, so alone from 0 to 20: 40 / 20
//   b   0.1, arrives 3, runs 5, evicted:    no ratio
//   b   0.1, arrives 4, never ends:         does not count
TEST(WaitStatistics, FinishTimeRatiosAgreeWithValuesComputedByHand) {
  const auto job = [](double demand, std::int64_t arrived, std::int64_t run, std::int64_t end, std::uint32_t space) {
    JobTimes out{.arrived_ns = arrived * kSecond, .placed_ns = (end - run) * kSecond, .space = space};
    out.run_time_ns = run < 0 ? -1 : run * kSecond, out.end_ns = end * kSecond;
    out.demand = demand, out.counts = true;
    return out;
  };
  std::vector<JobTimes> jobs = {job(0.5, 0, 10, 10, 1), job(0.25, 1, 10, 11, 1), job(0.25, 2, 4, 30, 1),
                                job(1, 0, 10, 40, 2),   job(0.1, 3, 5, 8, 2),    job(0.1, 4, -1, 4, 2)};
  jobs[4].evicted = true;
  const WaitResult result = measure_waits(jobs);
  EXPECT_DOUBLE_EQ(result.finish_time_ratio.mean, (1 + 10.0 / 19 + 28.0 / 12 + 2) / 4);
  EXPECT_DOUBLE_EQ(result.finish_time_ratio.max, 28.0 / 12);
}

/// The allocations' cpu, start and end in a run, from the plans and the run times.
struct Allocations final : server::Listener {
  struct One {
    std::int64_t start_ns, cpu;
    std::size_t arrival;
  };
  std::vector<One> all;
  void decided(server::Lane& lane) override {
    for (const auto& alloc : lane.result.plan.allocs)
      all.push_back({lane.record->due_ns, alloc.held->cpu_mhz, lane.record->tag - 1});
  }
};

TEST(WaitStatistics, UseOverTimeIsThatOfTheAllocations) {
  const sim::Workload workload = parsed(text_of("fifo", kPoisson));
  Allocations allocations;
  const auto result = run_workload(workload, {.quiet = true, .extra_listener = &allocations});
  ASSERT_TRUE(result) << result.error().line();
  const auto arrivals = sim::generate_inputs(workload).jobs.arrivals;
  std::int64_t last_ns = 0;  // the last start: then no job waits, and the run ends
  for (const auto& one : allocations.all) last_ns = std::max(last_ns, one.start_ns);
  double used = 0;
  for (const auto& one : allocations.all) {
    const std::int64_t end_ns = std::min(one.start_ns + arrivals[one.arrival].run_time_ns, last_ns);
    used += static_cast<double>(one.cpu) * static_cast<double>(end_ns - one.start_ns);
  }
  EXPECT_NEAR(result->waits->cpu_share, used / static_cast<double>(last_ns) / 6000, 1e-9);
  EXPECT_GT(result->waits->cpu_share, 0.4);
  EXPECT_EQ(result->waits->lost_s, 0);
}

/// How long evicted allocations had run, from the plans.
struct Evictions final : server::Listener {
  std::map<tables::AllocRow, std::int64_t> start_of;
  std::int64_t lost_ns = 0;
  void settled(server::Lane& lane) override {
    if (lane.placed == 0) return;
    const std::int64_t now_ns = lane.record->due_ns;
    tables::AllocRow row = lane.first_alloc;
    for (std::uint32_t left = lane.alloc_count; left > 0; --left) start_of.emplace(row++, now_ns);
    for (const auto& stop : lane.result.plan.stops)
      if (stop.evict) lost_ns += now_ns - start_of.at(stop.alloc);
  }
};

TEST(WaitStatistics, LostWorkIsWhatEvictedAllocationsHadRun) {
  std::string text = text_of("fifo", kPoisson);
  text += "[preemption]\nbatch = true\nservice = true\n";
  Evictions evictions;
  const auto result = run_workload(parsed(text), {.quiet = true, .extra_listener = &evictions});
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_GT(evictions.lost_ns, 60 * kSecond);
  EXPECT_DOUBLE_EQ(result->waits->lost_s, static_cast<double>(evictions.lost_ns) / 1e9);
}

/// Records when nothing of a job is left to be placed, by its key.
struct WholeJobs final : server::Listener {
  std::map<tables::JobKeyRow, std::int64_t> placed_ns;
  void settled(server::Lane& lane) override {
    if (!lane.result.any_failed()) placed_ns.emplace(lane.record->job, lane.record->due_ns);
  }
};

TEST(WaitStatistics, CountFromTheFirstArrivalOfAJob) {
  std::string text = text_of("fifo", kPoisson);
  for (std::size_t at = 0; (at = text.find("run_time_s", at)) != std::string::npos; at += 30)
    text.insert(at, "update_percent = 40\n");
  const sim::Workload workload = parsed(text);
  WholeJobs whole;
  const auto result = run_workload(workload, {.quiet = true, .extra_listener = &whole});
  ASSERT_TRUE(result) << result.error().line();
  ASSERT_EQ(result->ended, "complete");
  const std::vector<sim::JobArrival> arrivals = sim::generate_inputs(workload).jobs.arrivals;
  std::vector<double> waits;
  std::uint64_t renewed_while_waiting = 0;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> jobs;  // by number: arrived, placed
  tables::JobKeyRow key = 0;                                            // keys are given in the order of first arrivals
  for (const sim::JobArrival& arrival : arrivals) {
    if (arrival.version == 0)
      jobs[arrival.number] = {arrival.due_ns, whole.placed_ns.at(key++)};
    else
      renewed_while_waiting += arrival.due_ns < jobs.at(arrival.renews).second;
  }
  for (const auto& [number, times] : jobs) waits.push_back(static_cast<double>(times.second - times.first) / 1e9);
  std::sort(waits.begin(), waits.end());
  EXPECT_GT(renewed_while_waiting, 10U);
  EXPECT_EQ(result->waits->jobs, waits.size());
  EXPECT_EQ(result->waits->never_placed, 0U);
  EXPECT_DOUBLE_EQ(result->waits->wait_s.p50, waits[(waits.size() + 1) / 2 - 1]);
  double sum = 0;
  for (const double wait : waits) sum += wait;
  EXPECT_NEAR(result->waits->wait_s.mean, sum / static_cast<double>(waits.size()), 1e-9);
}

TEST(WaitStatistics, CoverNoJobsAndJobsThatNeverRan) {
  const WaitResult none = measure_waits({});
  EXPECT_EQ(none.jobs, 0U);
  EXPECT_DOUBLE_EQ(none.fairness, 1);
  const std::vector<JobTimes> starved = {{.run_time_ns = kSecond, .counts = true}};
  const WaitResult result = measure_waits(starved);
  EXPECT_EQ(result.never_placed, 1U);
  EXPECT_EQ(result.completed, 0U);
  EXPECT_DOUBLE_EQ(result.makespan_s, 0);
}

TEST(WaitStatistics, AreReportedIfAllocationsEnd) {
  const auto result = run_workload(parsed(text_of("fifo", kPoisson)), {.quiet = true});
  ASSERT_TRUE(result) << result.error().line();
  const json::Value report = to_json(*result);
  EXPECT_EQ(report["settings"]["queue"].as_string(), "fifo");
  EXPECT_EQ(report["waiting"]["wait_s"]["p99"].as_double(), result->waits->wait_s.p99);
  EXPECT_EQ(report["waiting"]["fairness"].as_double(), result->waits->fairness);
  EXPECT_NE(to_table(*result).find("  wait        mean"), std::string::npos);
  std::string stays = text_of("fifo", kPoisson);
  stays.replace(stays.find("departures = true"), 17, "departures = false");
  const auto without = run_workload(parsed(stays), {.quiet = true});
  ASSERT_TRUE(without) << without.error().line();
  EXPECT_EQ(to_json(*without).find("waiting"), nullptr);
}

}  // namespace
}  // namespace berth::run
