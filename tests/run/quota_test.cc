// Quotas in whole replays, against a simulation of the rules that examines all jobs for every decision.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "model/job.h"
#include "run/measured_run.h"
#include "run/runner.h"
#include "run/waits.h"
#include "server/server.h"
#include "sim/inputs.h"
#include "starts.h"

namespace berth::run::quota {
namespace {

constexpr std::size_t kNodes = 10;

// Every job is one allocation that needs 0.6 of a node's cpu: a node runs one, and one is 0.06 of the cluster.
std::string text_of(const std::string& queue) {
  std::string out = "name = \"quotas\"\nseed = 5\ndepartures = true\nqueue = \"" + queue +
                    "\"\n[cluster]\nnodes = 10\n[[cluster.shapes]]\nname = \"std\"\ncores = 1\nmhz_per_core = 1000\n"
                    "memory_mb = 10000\ndisk_mb = 100000\n[jobs]\ncount = 300\n"
                    "[arrivals]\nprocess = \"poisson\"\nrate_per_s = 0.22\n";
  for (const char* space : {"prod", "dev", "guest"})
    out += std::string("[[jobs.mix]]\nname = \"") + space + "\"\nnamespace = \"" + space +
           "\"\ntype = \"batch\"\ncpu_mhz = 600\npriority = [1, 100]\nrun_time_s = [5, 80]\n";
  return out;
}

struct Rules {
  std::map<std::string, double> quota;
  double borrow = 1;
  bool reclaim = true;
};
struct Job {
  std::size_t arrival = 0;
  std::int64_t due_ns = 0, run_ns = 0, priority = 0;
  std::string space;
};
struct Running {
  std::int64_t start_ns, end_ns;
  std::size_t started;  // its place in the order of starts
  Job job;
};
struct World {
  Rules rules;
  std::vector<std::string> spaces;  // in the order of their first arrival
  std::vector<Job> waiting;
  std::vector<Running> running;
  std::vector<Start> started;
  std::int64_t now_ns = 0;
  double lost_s = 0;

  std::int64_t held(const std::string& space) const {
    return std::count_if(running.begin(), running.end(), [&](const Running& one) { return one.job.space == space; });
  }
  double quota(const std::string& space) const {
    const auto at = rules.quota.find(space);
    return at == rules.quota.end() ? 0 : at->second;
  }
  bool within(const std::string& space, std::int64_t jobs, double more = 0) const {
    return static_cast<double>(600 * jobs) <= (quota(space) + more) * 10'000;
  }
  double rank(const std::string& space) const {
    const double share = static_cast<double>(600 * held(space)) / 10'000;
    if (quota(space) > 0) return share / quota(space);
    return share > 0 ? std::numeric_limits<double>::infinity() : 0;
  }
  void start(const Job& job) {
    running.push_back({now_ns, now_ns + job.run_ns, started.size(), job});
    started.emplace_back(now_ns, job.arrival);
    std::erase_if(waiting, [&](const Job& one) { return one.arrival == job.arrival; });
  }
  /// The next of these jobs, which have not been examined yet.
  const Job* next(const std::set<std::size_t>& examined) const {
    const Job* best = nullptr;
    const auto key = [&](const Job& job) {
      const auto at = std::find(spaces.begin(), spaces.end(), job.space);
      return std::tuple(rank(job.space), at, -job.priority, job.arrival);
    };
    for (const Job& job : waiting)
      if (!examined.contains(job.arrival) && (!best || key(job) < key(*best))) best = &job;
    return best;
  }
  /// Evicts the last started job of the namespace that is above its quota most.
  bool evict_for(const std::string& space) {
    const Running* victim = nullptr;
    for (const Running& one : running) {
      if (one.job.space == space || within(one.job.space, held(one.job.space))) continue;
      const auto key = [&](const Running& of) {
        const auto at = std::find(spaces.begin(), spaces.end(), of.job.space);
        return std::tuple(-rank(of.job.space), at, -static_cast<std::int64_t>(of.started));
      };
      if (!victim || key(one) < key(*victim)) victim = &one;
    }
    if (!victim) return false;
    const Running gone = *victim;
    lost_s += static_cast<double>(now_ns - gone.start_ns) / 1e9;
    std::erase_if(running, [&](const Running& one) { return one.started == gone.started; });
    waiting.push_back(gone.job);
    return true;
  }
  void pass() {
    bool again = true;
    while (again) {
      again = false;
      bool lender_waits = false;
      for (const bool borrowing : {false, true}) {
        if (borrowing && lender_waits) break;
        std::set<std::size_t> examined;
        while (const Job* at = next(examined)) {
          const Job job = *at;
          examined.insert(job.arrival);
          if (!within(job.space, held(job.space) + 1, borrowing ? rules.borrow : 0)) continue;
          if (running.size() == kNodes) {
            if (borrowing) continue;
            if (!rules.reclaim || !evict_for(job.space)) {
              lender_waits = true;
              continue;
            }
            start(job);  // what was evicted waits: all begins again
            again = true;
            break;
          }
          start(job);
        }
        if (again) break;
      }
    }
  }
};

World simulate(const sim::Workload& workload, const Rules& rules) {
  const sim::JobStream stream = sim::generate_inputs(workload).jobs;
  World world;
  world.rules = rules;
  std::vector<Job> jobs;
  for (const sim::JobArrival& arrival : stream.arrivals) {
    const model::Job& form = *stream.templates[arrival.template_index];
    jobs.push_back({jobs.size(), arrival.due_ns, arrival.run_time_ns, form.priority, form.namespace_});
  }
  for (std::size_t arrived = 0; arrived < jobs.size() || !world.waiting.empty();) {
    std::int64_t end_ns = INT64_MAX;
    for (const Running& one : world.running) end_ns = std::min(end_ns, one.end_ns);
    const std::int64_t due_ns = arrived < jobs.size() ? jobs[arrived].due_ns : INT64_MAX;
    world.now_ns = std::min(end_ns, due_ns);
    if (world.now_ns == INT64_MAX) break;
    if (end_ns == world.now_ns)
      std::erase_if(world.running, [&](const Running& one) { return one.end_ns == world.now_ns; });
    else
      for (; arrived < jobs.size() && jobs[arrived].due_ns == world.now_ns; ++arrived) {
        world.waiting.push_back(jobs[arrived]);
        if (std::find(world.spaces.begin(), world.spaces.end(), jobs[arrived].space) == world.spaces.end())
          world.spaces.push_back(jobs[arrived].space);
      }
    world.pass();
  }
  return world;
}

sim::Workload parsed(const std::string& text) {
  auto workload = sim::parse_workload(text, "quotas.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  return *workload;
}

TEST(Quotas, AWholeReplayFollowsTheRules) {
  struct Case {
    const char* queue;
    Rules rules;
    bool evicts;
  };
  const std::map<std::string, double> shares = {{"prod", 0.5}, {"dev", 0.25}};
  std::set<std::string> digests;
  for (const Case& one : {Case{"quota:prod=0.5:dev=0.25", {shares, 1, true}, true},
                          Case{"quota:prod=0.5:dev=0.25:reclaim=no", {shares, 1, false}, false},
                          Case{"quota:prod=0.5:dev=0.25:borrow=0.13", {shares, 0.13, true}, true},
                          Case{"quota:prod=0.5:dev=0.25:borrow=0", {shares, 0, true}, false}}) {
    const sim::Workload workload = parsed(text_of(one.queue));
    Starts starts;
    const auto result = run_workload(workload, {.quiet = true, .extra_listener = &starts});
    ASSERT_TRUE(result) << result.error().line();
    const World wanted = simulate(workload, one.rules);
    for (std::size_t i = 0; i < std::min(wanted.started.size(), starts.started.size()); ++i)
      ASSERT_EQ(starts.started[i], wanted.started[i]) << one.queue << ", start " << i;
    ASSERT_EQ(starts.started.size(), wanted.started.size()) << one.queue;
    EXPECT_EQ(result->waits->never_placed, wanted.waiting.size());
    EXPECT_NEAR(result->waits->lost_s, wanted.lost_s, 1e-6);
    EXPECT_EQ(wanted.lost_s > 0, one.evicts) << one.queue;
    EXPECT_EQ(result->placed + result->failed, result->asked) << "what was evicted and placed again counts once";
    digests.insert(result->decisions_digest);
  }
  EXPECT_EQ(digests.size(), 4U) << "the rules decide differently";
}

}  // namespace
}  // namespace berth::run::quota
