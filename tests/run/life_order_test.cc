// Queue policies in simulated clusters: four jobs that are registered at one instant, on a node that runs one at a
// time.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "model/job.h"
#include "run/life_order.h"
#include "run/runner.h"
#include "server/lane.h"
#include "server/server.h"
#include "sim/job_generator.h"

namespace berth::run {
namespace {

struct Kind {
  const char *name, *priority, *deadline, *run_time;
};
constexpr Kind kKinds[] = {
    {"a", "10", "3600", "60"}, {"b", "90", "1200", "80"}, {"c", "50", "600", "70"}, {"d", "70", "2400", "40"}};

std::string text_of(const std::string& queue, int workers) {
  std::string out = "name = \"order\"\nqueue = \"" + queue + "\"\nworkers = " + std::to_string(workers) +
                    "\n[life]\nduration_s = 600\n[cluster]\nnodes = 1\n[[cluster.shapes]]\nname = \"std\"\ncores = 1\n"
                    "mhz_per_core = 1000\nmemory_mb = 4096\n[jobs]\n";
  const auto add = [&](const std::string& name, int at_s, const std::string& run_time, const std::string& more) {
    out += "[[jobs.mix]]\nname = \"" + name +
           "\"\nnamed = true\ntype = \"batch\"\ncpu_mhz = 600\nrun_time_s = " + run_time +
           "\nat_s = " + std::to_string(at_s) + "\n" + more;
  };
  add("z", 0, "60", "");
  int at_s = 0;
  for (const Kind& kind : kKinds)
    add(kind.name, ++at_s, kind.run_time,
        std::string("priority = ") + kind.priority + "\ndeadline_s = " + kind.deadline + "\n");
  return out;
}

/// The jobs in the order in which they are placed.
struct Order final : server::Listener {
  std::string names;
  void settled(server::Lane& lane) override {
    const tables::Snapshot& state = *lane.result.state;
    if (lane.placed > 0) names += state.text(state.jobs.keys[lane.record->job].job_id);
  }
};

std::string order_of(const std::string& queue, int workers = 1) {
  const auto workload = sim::parse_workload(text_of(queue, workers), "order.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  Order order;
  const auto result = run_workload(*workload, {.quiet = true, .extra_listener = &order});
  return result ? order.names : result.error().line();
}

TEST(SimulationQueueOrder, ServesJobsByTheKeyOfThePolicy) {
  for (const int workers : {1, 3}) {
    EXPECT_EQ(order_of("priority", workers), "zbdca");
    EXPECT_EQ(order_of("fifo", workers), "zabcd");
    EXPECT_EQ(order_of("deadline", workers), "zcbda");
    EXPECT_EQ(order_of("shortest", workers), "zdacb");
    EXPECT_EQ(order_of("ageing:per_minute=0", workers), "zbdca");
  }
}

/// Of a job that is not the workload's, the longest of its tasks; the nearest of task, group and job counts.
TEST(SimulationQueueOrder, RunTimesOfOtherJobsAreThoseOfTheirTasks) {
  const auto spec = strategy::queue_registry().parse("shortest");
  ASSERT_TRUE(spec);
  LifeOrder order(std::move(*strategy::queue_registry().make(*spec, 1)), {});
  tables::StateStore store;
  order.attach(store);
  std::vector<double> keys;
  const auto place = [&](const std::string& id, auto set) {
    model::Job job = sim::registered_job(id, "batch", 50);
    job.task_groups.push_back(sim::registered_group("batch", "g", 1, "exec", 100, 10, 10));
    set(job);
    store.upsert_job(std::make_shared<const model::Job>(std::move(job)), true);
    broker::Eval eval{};
    eval.job = store.find_job_key("default", id);
    keys.push_back(order.place(eval).key);
    return order.place(eval).number;
  };
  place("task", [](model::Job& job) {
    job.meta["berth_run_time"] = "50s", job.task_groups[0].meta["berth_run_time"] = "40s";
    job.task_groups[0].tasks[0].meta["berth_run_time"] = "10s";
  });
  place("group",
        [](model::Job& job) { job.meta["berth_run_time"] = "5s", job.task_groups[0].meta["berth_run_time"] = "20s"; });
  place("job", [](model::Job& job) { job.meta["berth_run_time"] = "30s"; });
  place("ever", [](model::Job&) {});
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_EQ(std::set<double>(keys.begin(), keys.end()).size(), 4U);
}

/// The evaluation of a job that was removed has a number of its own.
TEST(SimulationQueueOrder, NumbersAreNotShared) {
  const auto spec = strategy::queue_registry().parse("fifo");
  LifeOrder order(std::move(*strategy::queue_registry().make(*spec, 1)), {});
  tables::StateStore store;
  order.attach(store);
  model::Job job = sim::registered_job("one", "batch", 50);
  job.task_groups.push_back(sim::registered_group("batch", "g", 1, "exec", 100, 10, 10));
  store.upsert_job(std::make_shared<const model::Job>(std::move(job)), true);
  broker::Eval removed{}, present{};
  present.job = store.find_job_key("default", "one");
  removed.job = tables::JobKeyRow{7};  // there is none
  const std::uint64_t number = order.place(removed).number;
  EXPECT_LT(number, order.place(present).number);
}

TEST(SimulationQueueOrder, PoliciesThatNeedAReplayAreRefused) {
  const std::string remedy = "; choose a policy that only orders jobs: fifo, shortest, ageing, deadline; or a replay";
  EXPECT_EQ(order_of("fair-share"),
            "order.toml:queue: this policy counts what namespaces hold, which only a replay reports to it" + remedy);
  for (const char* queue : {"backfill", "quota:default=0.5"})
    EXPECT_EQ(order_of(queue),
              "order.toml:queue: this policy decides when jobs start by trials of what a replay will do next" + remedy);
}

}  // namespace
}  // namespace berth::run
