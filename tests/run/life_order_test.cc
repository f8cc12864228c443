// Queue policies in simulated clusters: four jobs that are registered at one instant, on a node that runs one at a
// time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/runner.h"
#include "server/server.h"

namespace berth::run {
namespace {

struct Kind {
  const char *name, *priority, *deadline;
};
constexpr Kind kKinds[] = {{"a", "10", "3600"}, {"b", "90", "1200"}, {"c", "50", "600"}, {"d", "70", "2400"}};

std::string text_of(const std::string& queue, int workers) {
  std::string out = "name = \"order\"\nqueue = \"" + queue + "\"\nworkers = " + std::to_string(workers) +
                    "\n[life]\nduration_s = 600\n[cluster]\nnodes = 1\n[[cluster.shapes]]\nname = \"std\"\ncores = 1\n"
                    "mhz_per_core = 1000\nmemory_mb = 4096\n[jobs]\n";
  const auto add = [&](const std::string& name, int at_s, const std::string& more) {
    out += "[[jobs.mix]]\nname = \"" + name +
           "\"\nnamed = true\ntype = \"batch\"\ncpu_mhz = 600\nrun_time_s = 60\nat_s = " + std::to_string(at_s) + "\n" +
           more;
  };
  add("z", 0, "");
  int at_s = 0;
  for (const Kind& kind : kKinds)
    add(kind.name, ++at_s, std::string("priority = ") + kind.priority + "\ndeadline_s = " + kind.deadline + "\n");
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
  const auto result = run_workload(*workload, {.quiet = true, .beside = &order});
  return result ? order.names : result.error().line();
}

TEST(LifeOrders, ServeJobsByTheKeyOfThePolicy) {
  for (const int workers : {1, 3}) {
    EXPECT_EQ(order_of("priority", workers), "zbdca");
    EXPECT_EQ(order_of("fifo", workers), "zabcd");
    EXPECT_EQ(order_of("deadline", workers), "zcbda");
    EXPECT_EQ(order_of("ageing:per_minute=0", workers), "zbdca");
  }
}

TEST(LifeOrders, PoliciesThatFollowAReplayAreRefused) {
  const std::string remedy = "; choose a policy that only orders jobs: fifo, shortest, ageing, deadline; or a replay";
  EXPECT_EQ(order_of("fair-share"),
            "order.toml:queue: this policy counts what namespaces hold, which only a replay reports to it" + remedy);
  for (const char* queue : {"backfill", "quota:default=0.5"})
    EXPECT_EQ(order_of(queue),
              "order.toml:queue: this policy decides when jobs start by trials of what a replay will do next" + remedy);
}

}  // namespace
}  // namespace berth::run
