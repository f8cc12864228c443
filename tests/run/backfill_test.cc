// Backfill in whole replays, against the algorithms of the literature on counts of free nodes: EASY with its shadow
// time and extra nodes, conservative backfilling with a profile that is read at every moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "berth/queue.h"
#include "model/job.h"
#include "run/measured_run.h"
#include "run/runner.h"
#include "run/waits.h"
#include "server/lane.h"
#include "server/server.h"
#include "sim/inputs.h"
#include "starts.h"

namespace berth::run::backfill {
namespace {

// Every allocation needs more than half of a node's cpu, so a node runs one. Two kinds of nodes, two kinds of jobs for
// each, which fit on no other.
std::string text_of(const std::string& queue, int jobs) {
  std::string out = "name = \"backfill\"\nseed = 9\ndepartures = true\nqueue = \"" + queue +
                    "\"\n[cluster]\nnodes = 11\n[jobs]\ncount = " + std::to_string(jobs) + "\n";
  for (const char* node : {"big", "small"})
    out += std::string("[[cluster.shapes]]\nname = \"") + node +
           "\"\ncores = 1\nmhz_per_core = 1000\nmemory_mb = 10000\ndisk_mb = 100000\n";
  for (const char* node : {"big", "small"})
    for (const bool wide : {false, true})
      out += std::string("[[jobs.mix]]\nname = \"") + (wide ? "wide-" : "one-") + node +
             "\"\ntype = \"batch\"\ncpu_mhz = 600\nconstraints = [{ attribute = \"${node.class}\", value = \"" + node +
             "\" }]\nrun_time_s = " + (wide ? "[20, 90]\ncount = [2, 4]\n" : "[5, 120]\nweight = 2\n");
  return out;
}

struct Job {
  std::size_t arrival = 0;
  std::int64_t due_ns = 0, run_ns = 0, predicted_ns = 0;
  std::int64_t nodes = 0;
  std::size_t kind = 0;  // of node
};
struct Running {
  std::int64_t start_ns, end_ns;
  Job job;
};
struct World {
  std::array<std::int64_t, 2> nodes{};
  std::vector<Job> waiting;
  std::vector<Running> running;
  std::int64_t now_ns = 0;
  std::vector<Start> started;

  std::int64_t free_of(std::size_t kind) const {
    std::int64_t out = nodes[kind];
    for (const Running& one : running)
      if (one.job.kind == kind) out -= one.job.nodes;
    return out;
  }
  /// The least of start + predicted, 2 predicted, 4 predicted, ... that is yet to come.
  std::int64_t expected(const Running& one) const {
    std::int64_t run_ns = one.job.predicted_ns;
    while (one.start_ns + run_ns <= now_ns) run_ns *= 2;
    return one.start_ns + run_ns;
  }
  void start(std::size_t at) {
    const Job job = waiting[at];
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
    running.push_back({now_ns, now_ns + job.run_ns, job});
    started.emplace_back(now_ns, job.arrival);
  }
};

/// Every job that fits starts, in the order of arrival.
void first_fit(World& world) {
  for (std::size_t i = 0; i < world.waiting.size();)
    world.waiting[i].nodes <= world.free_of(world.waiting[i].kind) ? world.start(i) : void(++i);
}

/// The first job that cannot start has a shadow time, at which enough nodes are free, and then so many nodes to spare.
/// Others start if they end by the shadow time, or need only nodes to spare.
void easy(World& world) {
  while (!world.waiting.empty() && world.waiting[0].nodes <= world.free_of(world.waiting[0].kind)) world.start(0);
  if (world.waiting.empty()) return;
  const Job head = world.waiting[0];
  std::vector<Running> ends = world.running;
  std::sort(ends.begin(), ends.end(),
            [&](const Running& a, const Running& b) { return world.expected(a) < world.expected(b); });
  std::int64_t free = world.free_of(head.kind), shadow_ns = -1;
  for (const Running& one : ends) {
    if (shadow_ns >= 0 && world.expected(one) > shadow_ns) break;
    if (one.job.kind == head.kind) free += one.job.nodes;
    if (shadow_ns < 0 && free >= head.nodes) shadow_ns = world.expected(one);
  }
  ASSERT_GE(shadow_ns, 0);
  std::int64_t extra = free - head.nodes;
  for (std::size_t i = 1; i < world.waiting.size();) {
    const Job job = world.waiting[i];
    const bool in_the_way = job.kind == head.kind && world.now_ns + job.predicted_ns > shadow_ns;
    if (job.nodes > world.free_of(job.kind) || (in_the_way && job.nodes > extra)) {
      ++i;
      continue;
    }
    if (in_the_way) extra -= job.nodes;
    world.start(i);
  }
}

/// Every waiting job has the earliest time at which its nodes are free for as long as it runs, given what runs and the
/// jobs before it.
void conservative(World& world) {
  struct Use {
    std::int64_t from_ns, to_ns;
    std::size_t kind;
    std::int64_t nodes;
  };
  std::vector<Use> uses;
  for (const Running& one : world.running) uses.push_back({0, world.expected(one), one.job.kind, one.job.nodes});
  for (std::size_t i = 0; i < world.waiting.size();) {
    const Job job = world.waiting[i];
    std::set<std::int64_t> moments = {world.now_ns};
    for (const Use& use : uses) moments.insert(use.from_ns), moments.insert(use.to_ns);
    for (const std::int64_t from_ns : moments) {
      if (from_ns < world.now_ns) continue;
      const std::int64_t to_ns = from_ns + job.predicted_ns;
      const bool fits = std::all_of(moments.begin(), moments.end(), [&](std::int64_t at_ns) {
        if (at_ns < from_ns || at_ns >= to_ns) return true;
        std::int64_t used = job.nodes;
        for (const Use& use : uses)
          if (use.kind == job.kind && use.from_ns <= at_ns && at_ns < use.to_ns) used += use.nodes;
        return used <= world.nodes[job.kind];
      });
      if (!fits) continue;
      uses.push_back({from_ns, to_ns, job.kind, job.nodes});
      from_ns == world.now_ns ? world.start(i) : void(++i);
      break;
    }
  }
}

/// Events in the order that the replay documents: at one time ends, then arrivals, each followed by a pass.
std::vector<Start> simulate(const sim::Workload& workload, void (*pass)(World&)) {
  const sim::Inputs inputs = sim::generate_inputs(workload);
  const auto spec = strategy::queue_registry().parse(workload.queue);
  const auto policy = std::move(*strategy::queue_registry().make(*spec, workload.seed));
  World world;
  for (const sim::NodeRecord& node : inputs.cluster.nodes) ++world.nodes[node.shape];
  std::vector<Job> jobs;
  for (const sim::JobArrival& arrival : inputs.jobs.arrivals) {
    const model::Job& form = *inputs.jobs.templates[arrival.template_index];
    Job job{jobs.size(),
            arrival.due_ns,
            arrival.run_time_ns,
            0,
            form.task_groups[0].count,
            form.constraints.at(0).rtarget == "big" ? 0U : 1U};
    job.predicted_ns =
        policy->predicted_ns({.number = jobs.size(), .arrived_ns = arrival.due_ns, .run_time_ns = arrival.run_time_ns});
    EXPECT_LE(job.nodes, world.nodes[job.kind]);
    jobs.push_back(job);
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
      for (; arrived < jobs.size() && jobs[arrived].due_ns == world.now_ns; ++arrived)
        world.waiting.push_back(jobs[arrived]);
    pass(world);
  }
  return world.started;
}

sim::Workload parsed(const std::string& text) {
  auto workload = sim::parse_workload(text, "backfill.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  return *workload;
}

struct Case {
  const char* queue;
  void (*pass)(World&);
};

TEST(Backfill, StartsJobsLikeTheAlgorithmsOfTheLiterature) {
  const std::string poisson = "[arrivals]\nprocess = \"poisson\"\nrate_per_s = 0.11\n";
  std::set<std::string> digests;
  for (const Case& one :
       {Case{"backfill:reservations=0", first_fit}, Case{"backfill", easy}, Case{"backfill:error=0.7", easy},
        Case{"backfill:reservations=1000", conservative}, Case{"backfill:reservations=1000:error=0.7", conservative}}) {
    const sim::Workload workload = parsed(text_of(one.queue, 220) + poisson);
    Starts starts;
    const auto result = run_workload(workload, {.quiet = true, .extra_listener = &starts});
    ASSERT_TRUE(result) << result.error().line();
    EXPECT_EQ(result->ended, "complete");
    EXPECT_EQ(result->waits->never_placed, 0U);
    EXPECT_EQ(result->retries, 0U) << "a job starts whole, so no evaluation blocks";
    const std::vector<Start> wanted = simulate(workload, one.pass);
    ASSERT_EQ(starts.started.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(starts.started[i], wanted[i]) << one.queue << ", start " << i;
    EXPECT_TRUE(std::any_of(wanted.begin() + 1, wanted.end(), [](const Start& start) {
      return (&start)[-1].second > start.second;
    })) << "a later job starts earlier";
    digests.insert(result->decisions_digest);
  }
  EXPECT_EQ(digests.size(), 5U) << "all cases decide differently";
}

/// Policies of a user whose key changes when a waiting job gets a new version with another run time.
struct LongestReserved {
  std::optional<std::uint32_t> reservations = 1;
  [[nodiscard]] double key(const strategy::WaitingJob& job) const { return -static_cast<double>(job.run_time_ns); }
};
struct LongestInQuota {
  strategy::NamespaceWeights weights;
  strategy::Quotas quotas;
  [[nodiscard]] double key(const strategy::WaitingJob& job) const { return -static_cast<double>(job.run_time_ns); }
};

/// Counts evaluations of jobs that had been started already: they change nothing.
struct Idle final : server::Listener {
  std::uint64_t count = 0;
  void settled(server::Lane& lane) override { count += lane.placed == 0 && !lane.result.any_failed(); }
};

TEST(Backfill, AJobWhoseKeyChangesWithANewVersionWaitsOnce) {
  strategy::queue_registry().add("longest-reserved", "descending run time", LongestReserved{});
  strategy::queue_registry().add("longest-in-quota", "descending run time", LongestInQuota{});
  for (const char* queue : {"longest-reserved", "longest-in-quota"}) {
    std::string text = text_of(queue, 150) + "[arrivals]\nprocess = \"poisson\"\nrate_per_s = 0.2\n";
    for (std::size_t at = 0; (at = text.find("run_time_s", at)) != std::string::npos; at += 40)
      text.insert(at, "update_percent = 40\n");
    Idle idle;
    const auto result = run_workload(parsed(text), {.quiet = true, .extra_listener = &idle});
    ASSERT_TRUE(result) << result.error().line();
    EXPECT_EQ(result->ended, "complete");
    EXPECT_EQ(result->waits->never_placed, 0U) << queue;
    EXPECT_EQ(idle.count, 0U) << queue;
  }
}

TEST(Backfill, AJobThatFitsAtNoTimeDelaysNoOther) {
  std::string text = text_of("backfill:reservations=1000", 60);
  text.replace(text.find("count = [2, 4]"), 14, "count = [40, 50]");
  const auto result = run_workload(parsed(text), {.quiet = true});
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(result->ended, "complete");
  EXPECT_GT(result->waits->never_placed, 5U);
  EXPECT_EQ(result->waits->completed + result->waits->never_placed, 60U);
}

}  // namespace
}  // namespace berth::run::backfill
