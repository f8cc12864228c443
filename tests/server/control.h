// A server on a small cluster that can be counted by hand. Nodes hold ten allocations of 100 MHz; the test sets the
// clock.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/job.h"
#include "server/lane.h"
#include "server/server.h"
#include "support/cluster_objects.h"

namespace berth::server {

constexpr std::int64_t kMs = 1'000'000, kSecond = 1000 * kMs;
struct Hooks final : Listener {
  std::function<void(Lane&)> on_attempt, on_applying, on_applied;
  void attempt(Lane& lane) override {
    if (on_attempt) on_attempt(lane);
  }
  void applying(Lane& lane) override {
    if (on_applying) on_applying(lane);
  }
  void applied(Lane& lane) override {
    if (on_applied) on_applied(lane);
    for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs) nodes.push_back(alloc.node);
  }
  void failed(const EvalRecord&, std::string_view why) override { reasons.emplace_back(why); }
  std::vector<tables::NodeRow> nodes;  // of planned allocations, in the order of the plans
  std::vector<std::string> reasons;
};

class Control {
 public:
  explicit Control(std::uint32_t nodes, Config config = {}, std::uint32_t eval_rows = 4096,
                   std::uint32_t job_rows = 4096) {
    config.broker.evals = eval_rows, config.broker.jobs = job_rows;
    server_.emplace(config, clock, &hooks);
    for (std::uint32_t i = 1; i <= nodes; ++i) add_node(i, "std");
    server().store().set_index(10);
  }
  Server& server() { return *server_; }
  tables::NodeRow add_node(std::uint64_t number, const std::string& node_class, const char* status = "ready") {
    model::Node node =
        testing::make_node({.id = base::to_text({number, 1}),
                            .name = "node-" + std::to_string(number),
                            .node_class = node_class,
                            .attributes = {{"driver.exec", "1"}, {"kernel.name", "linux"}, {"nomad.version", "2.0.5"}},
                            .mhz = 1000,
                            .memory_mb = 10'000,
                            .host_network = true});
    node.computed_class = node_class, node.status = status;
    return server().store().begin_commit().upsert_node(node);
  }
  std::shared_ptr<model::Job> job(const std::string& id, const char* type, std::int64_t count, std::int64_t cpu = 100) {
    return testing::make_job({.id = id, .type = type, .groups = {{.count = count, .mhz = cpu, .memory_mb = 10}}});
  }
  void evaluate(const std::shared_ptr<const model::Job>& job) {
    const tables::JobKeyRow key = server().register_job(job);
    server().store().set_index(server().store().index() + 1);
    ASSERT_TRUE(server().evaluate({.id = {++evals, 2}, .job = key, .tag = evals}));
  }
  void run() {
    while (server().step()) {
    }
  }
  /// Sets the clock to the next timer and fires it; false: no timer.
  bool fire() {
    const auto at = server().next_deadline();
    if (!at) return false;
    clock.set(std::max(*at, clock.now_ns()));
    server().advance();
    return true;
  }
  Stats stats() { return server().stats(); }
  std::uint64_t unblocked(Cause cause) { return stats().unblocked[static_cast<std::size_t>(cause)]; }
  std::size_t allocs() { return server().store().current().allocs.size(); }

  ManualClock clock;
  Hooks hooks;
  std::uint64_t evals = 0;

 private:
  std::optional<Server> server_;
};

}  // namespace berth::server
