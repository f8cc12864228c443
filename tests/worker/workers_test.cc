// Workers with optimistic concurrency and deciding ahead, with a scheduler that fits on a page: first fit from a node
// that the evaluation's number says. Small enough for the thread sanitizer.
#include "worker/workers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "support/sanitized.h"
#include "tables/check.h"
#include "worker/speculation.h"

namespace berth::worker {
namespace {

using tables::NodeRow;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kRoom = 10;  // allocations that fit on a node by cpu

struct FirstFitLane final : Lane {
  plan::PlanRows plan;
  std::uint32_t looked_at = 0;  // nodes
};

class Cluster {
 public:
  Cluster(std::uint32_t nodes, std::uint32_t jobs) {
    for (std::uint32_t i = 1; i <= nodes; ++i) {
      model::Node node;
      node.id = base::to_text({i, 1});
      node.name = "node-" + std::to_string(i);
      node.status = "ready";
      node.scheduling_eligibility = "eligible";
      node.node_resources.emplace();
      node.node_resources->memory.memory_mb = 10'000;
      node.node_resources->disk.disk_mb = 100'000;
      model::Topology& topology = node.node_resources->processors.emplace().topology.emplace();
      topology.cores.push_back({.id = 0, .base_speed = 100 * kRoom});
      store.upsert_node(node);
    }
    for (std::uint32_t i = 0; i < jobs; ++i) {
      auto job = std::make_shared<model::Job>();
      job->id = job->name = "job-" + std::to_string(i);
      job->namespace_ = "default";
      job->type = "batch";
      model::TaskGroup& group = job->task_groups.emplace_back();
      group.name = "g";
      model::Task& task = group.tasks.emplace_back();
      task.name = "t";
      task.resources.emplace();
      task.resources->cpu = 100;
      task.resources->memory_mb = 100;
      versions.push_back(store.upsert_job(job, true));
    }
    store.set_index(10);
  }

  /// Plans `count` allocations of `job`: first fit, from the node that `start` says.
  void first_fit(const tables::Snapshot& state, std::uint32_t job, std::uint32_t count, std::uint64_t start,
                 FirstFitLane& lane) const {
    const auto nodes = static_cast<std::uint32_t>(state.nodes.size());
    lane.plan.clear();
    lane.plan.job = versions[job];
    lane.looked_at = 0;
    for (std::uint32_t step = 0; step < nodes && count > 0; ++step, ++lane.looked_at) {
      const auto node = static_cast<NodeRow>((start + step) % nodes);
      const std::int64_t room = (100 * kRoom - state.nodes.use[node].cpu_mhz) / 100;
      for (std::int64_t i = 0; i < room && count > 0; ++i, --count) {
        const auto at = static_cast<std::uint32_t>(lane.plan.allocs.size());
        plan::PlannedAlloc& alloc = lane.plan.allocs.emplace_back();
        alloc.id = {(std::uint64_t{job} + 1) << 32 | at, state.index << 8 | lane.attempts};
        alloc.node = node;
        alloc.held = state.jobs.versions[versions[job]]->groups[0].shape.get();
        alloc.first_on_node = i == 0;
        if (i > 0) lane.plan.allocs[at - 1].next_on_node = at;
      }
    }
  }

  void expect_sound() const {
    for (const std::string& problem : tables::check_tables(store.current())) ADD_FAILURE() << problem;
    for (NodeRow row = 0; row < store.current().nodes.size(); ++row)
      EXPECT_LE(store.current().nodes.use[row].cpu_mhz, 100 * kRoom) << "node " << row;
  }

  tables::StateStore store;
  std::vector<tables::JobRow> versions;
};

class Host : public WorkerHost {
 public:
  Host(std::uint32_t nodes, std::uint32_t jobs, std::uint32_t count) : cluster(nodes, jobs), ask(count) {}

  std::unique_ptr<Lane> make_lane() override { return std::make_unique<FirstFitLane>(); }
  void decide(broker::EvalRow eval, const tables::Snapshot& state, Lane& lane) override {
    const auto row = static_cast<std::uint32_t>(eval);
    if (throws && throws(row)) throw std::runtime_error("a worker that throws");
    // All start at the same node: the most conflicts that there can be.
    cluster.first_fit(state, row % static_cast<std::uint32_t>(cluster.versions.size()), ask, 0, own(lane));
    if (stubborn)
      for (plan::PlannedAlloc& alloc : own(lane).plan.allocs) alloc.node = 0;
  }
  bool has_plan(const Lane& lane) const override { return !static_cast<const FirstFitLane&>(lane).plan.allocs.empty(); }
  void apply(broker::EvalRow eval, Lane& lane) override {
    if (vanished && vanished(static_cast<std::uint32_t>(eval))) {
      lane.applied.rejected_nodes.clear();
      lane.applied.error = "job not found";
      return;
    }
    applier_.apply(own(lane).plan, cluster.store.index() + 1, false, lane.applied);
    placed += lane.applied.committed;
  }
  void served(broker::EvalRow, Lane&) override { ++served_count; }
  void gave_up(broker::EvalRow, Lane&) override { ++gave_up_count; }
  void failed(broker::EvalRow) override { ++failed_count; }
  std::int64_t now_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  }
  static FirstFitLane& own(Lane& lane) { return static_cast<FirstFitLane&>(lane); }

  Cluster cluster;
  const std::uint32_t ask;
  std::function<bool(std::uint32_t)> throws, vanished;
  bool stubborn = false;  // plans for node 0, whatever it holds
  std::uint64_t placed = 0, served_count = 0, gave_up_count = 0, failed_count = 0;  // under the writer's lock

 private:
  plan::Applier applier_{cluster.store};
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

WorkerConfig config_of(std::uint32_t workers) {
  WorkerConfig config;
  config.workers = workers;
  config.attempts = 1'000'000;  // an unlucky worker may lose any number of races in a row
  config.broker.evals = config.broker.jobs = 512;
  config.broker.quirks = model::Quirks::none();
  config.broker.initial_nack_delay_ns = config.broker.subsequent_nack_delay_ns = kMs;
  return config;
}

std::vector<broker::Eval> evals(std::uint32_t count, std::uint32_t jobs) {
  std::vector<broker::Eval> out(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i].row = broker::EvalRow{i};
    out[i].job = broker::JobRow{i % jobs};
    out[i].job_id = i % jobs;
    out[i].priority = 50;
    out[i].create_index = out[i].modify_index = 10 + i;
  }
  return out;
}

/// Waits until everything is settled; false after ten seconds.
bool settle(Workers& workers) {
  for (int i = 0; i < 2000; ++i) {
    if (workers.wait_idle(5 * kMs)) return true;
    workers.tick();
  }
  return false;
}

class AnyWorkers : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AnyWorkers, PlaceEverythingOnceWhateverTheConflicts) {  // more workers than cores included
  // 150 evaluations of 2 allocations on 30 nodes of 10: exactly full at the end.
  Host host(30, 150, 2);
  Workers workers(host.cluster.store, host, config_of(GetParam()));
  const auto all = evals(150, 150);
  for (const broker::Eval& eval : all) ASSERT_TRUE(workers.enqueue({&eval, 1}));
  ASSERT_TRUE(settle(workers));
  workers.stop();
  const WorkerStats stats = workers.stats();
  EXPECT_EQ(host.placed, 300U);
  EXPECT_EQ(host.served_count + host.gave_up_count, 150U);
  EXPECT_EQ(host.gave_up_count, 0U);
  EXPECT_EQ(stats.gave_up, 0U);
  EXPECT_EQ(stats.retries, stats.conflicts);
  EXPECT_LE(stats.partial, stats.conflicts);
  EXPECT_EQ(stats.plans, 150 + stats.conflicts);
  EXPECT_EQ(workers.lost(), 0);
  EXPECT_EQ(workers.broker().totals().acked, 150U);
  EXPECT_EQ(stats.busy_ns.size(), GetParam());
  if (GetParam() == 1) {
    EXPECT_EQ(stats.conflicts, 0U);
  }
  host.cluster.expect_sound();
}
INSTANTIATE_TEST_SUITE_P(Workers, AnyWorkers, ::testing::Values(1U, 2U, 3U, 8U));

TEST(Workers, AWorkerThatThrowsLosesNothing) {
  Host host(30, 20, 1);
  std::atomic<int> thrown{0};
  // Evaluation 3 fails once, evaluation 5 always.
  host.throws = [&](std::uint32_t row) { return (row == 3 && thrown.fetch_add(1) == 0) || row == 5; };
  Workers workers(host.cluster.store, host, config_of(3));
  ASSERT_TRUE(workers.enqueue(evals(20, 20)));
  ASSERT_TRUE(settle(workers));
  workers.stop();
  EXPECT_EQ(host.placed, 19U);
  EXPECT_EQ(host.failed_count, 1U);
  EXPECT_EQ(workers.stats().failed, 1U);
  EXPECT_EQ(workers.stats().exceptions, 1 + config_of(3).broker.delivery_limit);
  EXPECT_EQ(workers.lost(), 0);
  host.cluster.expect_sound();
}

TEST(Workers, APlanOfAVanishedJobFailsAsAWhole) {  // R-CTRL-503
  Host host(30, 10, 1);
  host.vanished = [](std::uint32_t row) { return row == 4; };
  Workers workers(host.cluster.store, host, config_of(2));
  ASSERT_TRUE(workers.enqueue(evals(10, 10)));
  ASSERT_TRUE(settle(workers));
  workers.stop();
  EXPECT_EQ(host.placed, 9U);
  EXPECT_EQ(workers.stats().plan_errors, config_of(2).broker.delivery_limit);
  EXPECT_EQ(host.failed_count, 1U);
  EXPECT_EQ(workers.lost(), 0);
}

TEST(Workers, RefusalsWithoutProgressEndAfterSomeAttempts) {  // R-SCHED-7, 17
  Host host(1, 4, 4);
  host.stubborn = true;  // 4, 4, then 4 more that do not fit on the node
  WorkerConfig config = config_of(1);
  config.attempts = 5;
  Workers workers(host.cluster.store, host, config);
  auto all = evals(4, 4);
  ASSERT_TRUE(workers.enqueue(std::span(all).first(2)));
  ASSERT_TRUE(settle(workers));
  EXPECT_EQ(host.placed, 8U);
  // Two more evaluations see 2 places left and plan 2; whoever plans for what is gone is refused.
  host.cluster.store.set_node_state(0, tables::NodeStatus::down, true, false, 50);
  ASSERT_TRUE(workers.enqueue(std::span(all).subspan(2, 1)));
  ASSERT_TRUE(settle(workers));
  workers.stop();
  EXPECT_EQ(host.placed, 8U);
  EXPECT_EQ(host.gave_up_count, 1U);
  EXPECT_EQ(workers.stats().conflicts, 5U);
  EXPECT_EQ(workers.stats().retries, 4U);
  EXPECT_EQ(workers.stats().partial, 0U);
  EXPECT_EQ(workers.lost(), 0);
}

/// A job's next evaluation runs as soon as the ack before it has let go of the job, and may be over, and the one after
/// it due, before that ack is through. Two rows in turn are enough for that.
TEST(Workers, ARowIsHandedInAgainWhileItsAckIsUnderWay) {  // R-CTRL-333
  Host host(4, 1, 0);
  Workers workers(host.cluster.store, host, config_of(3));
  const auto all = evals(2, 1);
  const std::uint64_t rounds = berth::testing::rounds(3000);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    ASSERT_TRUE(workers.enqueue(std::span(all).subspan(round % 2, 1)));
    const std::int64_t give_up_ns = host.now_ns() + 20'000 * kMs;
    for (bool served = false; !served;) {
      ASSERT_LT(host.now_ns(), give_up_ns) << "round " << round;
      const Workers::Writer writer(workers);
      served = host.served_count > round;
    }
  }
  ASSERT_TRUE(settle(workers));
  workers.stop();
  EXPECT_EQ(host.served_count, rounds);
  EXPECT_EQ(workers.lost(), 0);
}

TEST(Workers, ThousandsOfEvaluationsOfFewJobsAreMostlyCancelled) {  // R-CTRL-333, 336
  Host host(30, 3, 1);
  Workers workers(host.cluster.store, host, config_of(2));
  ASSERT_TRUE(workers.enqueue(evals(500, 3)));
  ASSERT_TRUE(settle(workers));
  workers.stop();
  const broker::Totals totals = workers.broker().totals();
  EXPECT_EQ(totals.accepted, 500U);
  EXPECT_EQ(totals.acked + totals.cancelled, 500U);
  EXPECT_EQ(workers.stats().cancelled, totals.cancelled);
  EXPECT_EQ(host.served_count, totals.acked);
  EXPECT_GE(totals.acked, 3U);
  EXPECT_EQ(workers.lost(), 0);
}

TEST(Workers, AFullBrokerTakesNothingAndStoppingKeepsTheRest) {
  Host host(30, 20, 1);
  Workers workers(host.cluster.store, host, config_of(1));
  auto beyond = evals(2, 20);
  beyond[1].row = broker::EvalRow{512};
  EXPECT_FALSE(workers.enqueue(beyond));
  EXPECT_TRUE(workers.idle());
  {
    const Workers::Writer writer(workers);  // plans wait while somebody else writes
    ASSERT_TRUE(workers.enqueue(evals(20, 20)));
    EXPECT_FALSE(workers.wait_idle(2 * kMs));
    EXPECT_EQ(host.placed, 0U);
  }
  workers.stop();  // at once: what nobody took stays
  const auto left = static_cast<std::uint64_t>(workers.broker().contents().known.size());
  EXPECT_EQ(workers.broker().totals().acked + left, 20U);
  EXPECT_EQ(workers.lost(), 0);
  EXPECT_EQ(workers.broker().totals().faults[static_cast<std::size_t>(broker::Fault::full)], 1U);
}

/// Decisions of 200 evaluations, 2 allocations each, in turn; with `threads` of them decided ahead, 0: none.
std::vector<NodeRow> decisions(std::uint32_t threads, Speculation::Stats* stats = nullptr) {
  constexpr std::uint32_t kEvals = 200;
  Cluster cluster(50, kEvals);
  plan::Applier applier(cluster.store);
  std::vector<NodeRow> out;
  const auto turn = std::this_thread::get_id();
  const auto decide = [&](std::uint32_t eval, const tables::Snapshot& state, std::uint64_t order_index, Lane& lane,
                          Speculation::Reads& reads) {
    // A fault of deciding ahead counts as a decision that has to be made anew.
    if (eval % 50 == 49 && std::this_thread::get_id() != turn) throw std::runtime_error("ahead");
    auto& mine = static_cast<FirstFitLane&>(lane);
    const std::uint64_t start = (order_index * 0x9e3779b97f4a7c15ULL) >> 40;
    cluster.first_fit(state, eval, 2, start, mine);
    for (std::uint32_t i = 0; i < mine.looked_at; ++i)
      reads.rows.push_back(static_cast<NodeRow>((start + i) % state.nodes.size()));
    reads.all = eval % 10 == 0;
  };
  std::optional<Speculation> ahead;
  if (threads > 0)
    ahead.emplace(
        cluster.store, threads, [] { return std::make_unique<FirstFitLane>(); }, decide);
  FirstFitLane own;
  std::uint32_t next = 0;
  for (std::uint32_t eval = 0; eval < kEvals; ++eval) {
    for (next = std::max(next, eval); ahead && next < kEvals && ahead->wants_more(); ++next)
      ahead->post(next, cluster.store.index() + (next - eval));
    const bool posted = ahead && ahead->posted() > 0;
    FirstFitLane* lane = &own;
    if (posted) {
      lane = static_cast<FirstFitLane*>(&ahead->take(eval, cluster.store.index()));
    } else {
      Speculation::Reads reads;
      decide(eval, *cluster.store.snapshot(), cluster.store.index(), own, reads);
      if (ahead) ahead->skip();
    }
    applier.apply(lane->plan, cluster.store.index() + 1, false, lane->applied);
    EXPECT_EQ(lane->applied.refused, 0U);
    for (const plan::PlannedAlloc& alloc : lane->plan.allocs) {
      out.push_back(alloc.node);
      if (ahead) ahead->changed(alloc.node);
    }
    if (posted) ahead->release();
  }
  cluster.expect_sound();
  if (stats) *stats = ahead->stats();
  return out;
}

TEST(Speculation, DecisionsAreThoseOfOneWorker) {
  Speculation::Stats stats;
  const std::vector<NodeRow> expected = decisions(0);
  EXPECT_EQ(expected.size(), 400U);
  for (const std::uint32_t threads : {1U, 2U, 3U, 8U}) EXPECT_EQ(decisions(threads, &stats), expected) << threads;
  EXPECT_GT(stats.used + stats.redone + stats.inline_, 0U);
}

}  // namespace
}  // namespace berth::worker
