// A simulated cluster with several workers. Workers that decide ahead produce the digest of one worker. Free ones place
// everything exactly once, while the clock waits for them.
#include <atomic>
#include <random>
#include <thread>

#include "living/small_world.h"
#include "server/ahead.h"
#include "support/sanitized.h"

namespace berth::living {
namespace {

using server::Execution;

Config with_workers(Execution execution, std::uint32_t workers, bool check) {
  Config config = small_config(7);
  config.check = check;
  config.server.execution = execution, config.server.workers = workers;
  return config;
}

/// Jobs that arrive at one instant: their evaluations queue up.
void burst(SmallWorld& w, int from, int to) {
  static constexpr const char* kTypes[] = {"service", "batch", "service"};
  for (int i = from; i < to; ++i) w.run(small_job(fmt::format("job-{}", i), kTypes[i % 3], 1 + i % 5));
}

/// Bursts mixed with updates, losses, drains, a change of leader, a pause, and more jobs than there is room for.
void live(SmallWorld& w, int jobs, int nodes) {
  burst(w, 0, jobs);
  w.run(small_job("everywhere", "system", 1));
  w.run_for(30);
  for (std::uint64_t n = 1; n <= 4; ++n) w.apply(NodeUnreachable{node_id(n)});
  w.apply(NodeDrain{.node_id = node_id(5), .deadline = 30 * kSecond});
  for (int i = 0; i < jobs; i += 3) w.run(small_job(fmt::format("job-{}", i), "service", 1 + i % 4));
  w.run_for(120);
  w.apply(LeaderChange{5 * kSecond});
  w.run_for(30);
  model::SchedulerConfiguration configuration = *w.state().cold->scheduler_config;
  configuration.pause_eval_broker = true;
  w.apply(SetSchedulerConfig{configuration});
  burst(w, jobs, 2 * jobs);
  w.run_for(5);
  configuration.pause_eval_broker = false;
  w.apply(SetSchedulerConfig{configuration});
  w.run_for(60);
  w.run(small_job("large", "batch", 9 * nodes));
  w.run_for(10);
  for (int i = 1; i < jobs; i += 3) w.apply(JobDeregister{.job_id = fmt::format("job-{}", i), .purge = i % 2 == 0});
  w.run_for(300);
}

struct Lived {
  std::uint64_t digest = 0, index = 0;
  std::vector<std::string> entries;
  std::map<std::string, std::string> evaluated;
  server::Stats stats;
};

Lived lived(Execution execution, std::uint32_t workers) {
  const int nodes = berth::testing::kSanitized ? 40 : 150;
  SmallWorld w(static_cast<std::uint64_t>(nodes), with_workers(execution, workers, false));
  live(w, nodes * 2 / 5, nodes);
  w.cluster.stop_workers();
  EXPECT_EQ(w.cluster.server().lost(), 0);
  return {w.cluster.digest(),
          w.state().index,
          {w.entries.begin(), w.entries.end()},
          w.evaluated,
          w.cluster.server().stats()};
}

TEST(WorkersAhead, DecideLikeOneWorker) {
  const Lived one = lived(Execution::inline_, 1);
  EXPECT_GT(one.stats.served, 50U);
  EXPECT_GT(one.stats.retried, 0U);
  for (const std::uint32_t workers : {1U, 2U, 3U, 8U}) {
    const Lived many = lived(Execution::ahead, workers);
    EXPECT_EQ(many.digest, one.digest) << workers << " workers";
    EXPECT_EQ(many.index, one.index);
    EXPECT_EQ(many.entries, one.entries);
    EXPECT_EQ(many.evaluated, one.evaluated);
    EXPECT_EQ(many.stats.served, one.stats.served);
    EXPECT_EQ(many.stats.plans, one.stats.plans);
    EXPECT_GT(many.stats.ahead_used + many.stats.ahead_redone + many.stats.ahead_inline, 20U);
  }
}

/// Number of decisions made ahead that are used, where the driver waits at each plan until others are decided. The
/// first evaluations are decided in turn.
std::uint64_t used_ahead(std::chrono::milliseconds patience) {
  SmallWorld w(150, with_workers(Execution::ahead, 2, false));
  burst(w, 0, server::Pace::kFew);
  w.run_for(1);
  w.on_decided = [&](server::Lane&) { std::this_thread::sleep_for(patience); };
  burst(w, server::Pace::kFew, server::Pace::kFew + 30);
  w.run_for(1);
  return w.cluster.server().stats().ahead_used;
}

TEST(WorkersAhead, ResultsAreUsedIfTheirInputsDidNotChange) {
  std::uint64_t used = 0;
  // On a machine with other work the thread that decides ahead may get no processor for a while.
  for (auto patience = std::chrono::milliseconds(10); used <= 3 && patience.count() < 1000; patience *= 4)
    used = used_ahead(patience);
  EXPECT_GT(used, 3U);
}

class FreeWorkersOfACluster : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(FreeWorkersOfACluster, PlaceEverythingAndLeaveAConsistentState) {  // R-CTRL-1720 to 1735
  SmallWorld w(20, with_workers(Execution::free, GetParam(), true));
  live(w, 20, 20);
  w.cluster.stop_workers();
  const server::Server& server = w.cluster.server();
  EXPECT_EQ(w.cluster.server().lost(), 0);
  EXPECT_EQ(server.stats().errors, 0U);
  EXPECT_EQ(server.stats().busy_ns.size(), GetParam());
  for (int i = 2; i < 20; i += 3) EXPECT_EQ(w.running(fmt::format("job-{}", i)), 1U + i % 5) << i;
  EXPECT_EQ(w.running("everywhere"), 15U) << "four nodes are down, one is drained";
}

TEST_P(FreeWorkersOfACluster, TheClockWaitsForThem) {
  SmallWorld w(20, with_workers(Execution::free, GetParam(), true));
  std::atomic<std::int64_t> last_ns{0};
  w.on_decided = [&](server::Lane&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    last_ns = w.cluster.now();
  };
  // No deployment that continues later.
  for (int i = 0; i < 6; ++i) w.run(small_job(fmt::format("job-{}", i), "batch", 2));
  const std::int64_t before = w.cluster.now();
  w.run_for(30);
  EXPECT_EQ(last_ns, before) << "the evaluations of jobs took time";
}

/// Events do not wait for evaluations: jobs change and stop, nodes drain, leaders change while evaluations are decided.
TEST_P(FreeWorkersOfACluster, AcceptEventsWhileTheyDecide) {
  SmallWorld w(20, with_workers(Execution::free, GetParam(), true));
  std::atomic<int> decided{0};
  w.on_decided = [&](server::Lane&) {
    if (++decided % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(700));
  };
  std::mt19937_64 random(GetParam());
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::uint64_t overlapped = 0;
  constexpr int kEvents = berth::testing::kSanitized ? 60 : 400;
  for (int i = 0; i < kEvents; ++i) {
    const std::uint64_t number = below(12);
    const std::string job = fmt::format("job-{}", number);
    const bool is_there = w.cluster.server().log().job("default", job) != nullptr;
    switch (is_there ? below(8) : 7) {
      case 0:
        w.apply(JobDeregister{.job_id = job, .purge = below(2) == 0});
        break;
      case 1:
        w.apply(NodeDrain{.node_id = node_id(1 + below(20)), .deadline = kSecond});
        break;
      case 2:
        static_cast<void>(w.cluster.apply(NodeEligibility{node_id(1 + below(20)), true}));  // refused during a drain
        break;
      case 3:
        if (below(5) > 0) break;
        w.apply(LeaderChange{kSecond});
        w.run_for(2);  // reports are refused meanwhile
        break;
      default:
        w.run(small_job(job, number % 3 == 0 ? "batch" : "service", static_cast<int>(1 + below(9))));
    }
    overlapped += !w.cluster.server().at_rest();
    static_cast<void>(w.cluster.run_until(w.cluster.now(), [] { return true; }));
    if (i % 20 == 19) w.run_for(2);
  }
  EXPECT_GT(overlapped, kEvents / 8U);
  w.run_for(900);
  w.cluster.stop_workers();
  EXPECT_EQ(w.cluster.server().lost(), 0);
}
INSTANTIATE_TEST_SUITE_P(Workers, FreeWorkersOfACluster, ::testing::Values(1U, 2U, 4U));

}  // namespace
}  // namespace berth::living
