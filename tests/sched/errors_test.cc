// Evaluations that end with a processing error, and planners that refuse.
#include <gtest/gtest.h>

#include "base/json.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "sched/small_world.h"
#include "tables/commit.h"

namespace berth::sched {
namespace {

constexpr const char* kSchedulers[] = {"service", "batch", "system", "sysbatch"};

/// `nodes` nodes with a device whose attribute `speed` is 1.5, and a job that requests it. All checks depend on the
/// node's class alone.
SmallWorld device_world(const char* type, int nodes = 1) {
  SmallWorld w;
  w.state.nodes.reserve(static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i) {
    model::Node& node = w.add_node();
    node.computed_class = "v1:same";
    model::NodeDevice& device = node.node_resources->devices.emplace_back();
    device.vendor = "nvidia", device.type = "gpu", device.name = "a";
    for (int k = 0; k < 8; ++k) device.instances.push_back({"gpu" + std::to_string(k), true, "", std::nullopt});
    device.attributes["speed"].emplace().float_value = 1.5;
  }
  const auto job = SmallWorld::job(type, std::string_view(type).starts_with("sys") ? 1 : 3);
  job->task_groups[0].tasks[0].resources->devices = {{"gpu", 1, {}, {}}};
  w.store(job);
  return w;
}
model::RequestedDevice& device_of(SmallWorld& w) {
  auto job = std::make_shared<model::Job>(*w.state.jobs[0]);
  w.state.jobs[0] = w.state.job_versions[0] = job;
  return job->task_groups[0].tasks[0].resources->devices[0];
}

TEST(ProcessingErrors, NanInAComparisonOfDevices) {  // R-FEAS-933, 936, R-SCHED-5
  for (const char* type : kSchedulers)
    for (const char* sources : {"all", "none", "mixed:3", "no-columns", "no-table,no-index,no-bounds"})
      for (const int nodes : {1, 40}) {
        SCOPED_TRACE(std::string(type) + " " + sources + " " + std::to_string(nodes));
        SmallWorld w = device_world(type, nodes);
        w.sources = *EnabledSources::parse(sources);
        w.run();
        EXPECT_EQ(w.error, "");
        EXPECT_FALSE(w.placed().empty());
        device_of(w).constraints = {{"${device.attr.speed}", "nan", "<"}};
        w.run();
        EXPECT_EQ(w.error, "failed to process eval: a device attribute is not a number");
        EXPECT_TRUE(w.plans.empty());
        device_of(w).constraints.clear();
        device_of(w).affinities = {{"${device.attr.speed}", "nan", "<", 50}};
        w.run();
        EXPECT_EQ(w.error, "failed to process eval: a device attribute is not a number");
        EXPECT_TRUE(w.plans.empty());
        w.state.scheduler_config->preemption_config.service_scheduler_enabled = true;
        w.run();
        EXPECT_EQ(w.error, "failed to process eval: a device attribute is not a number");
      }
}

TEST(ProcessingErrors, AHostNetworkWithoutAddress) {  // R-RANK-618
  for (const char* type : {"service", "system"})
    for (const bool update : {false, true}) {
      SCOPED_TRACE(std::string(type) + (update ? ", updated in place" : ""));
      SmallWorld w;
      model::NodeResources& host = *w.add_node().node_resources;
      host.node_networks.emplace().emplace_back().mode = "host";
      const auto version = [&](std::uint64_t number) {
        const auto job = SmallWorld::job(type, 1, number);
        job->priority = 50 + static_cast<std::int64_t>(number);
        job->task_groups[0].networks.emplace_back().mode = "host";  // without ports
        return job;
      };
      const auto before = version(0), after = version(1);
      w.store(before), w.store(after);
      if (update) w.add(before, 0, 0);
      w.run();
      EXPECT_TRUE(w.error.starts_with("failed to process eval: ")) << w.error;
      EXPECT_TRUE(w.plans.empty());
      host.node_networks->front().addresses.emplace_back().address = "10.0.0.1";
      w.run();
      EXPECT_EQ(w.error, "");
      EXPECT_EQ(w.placed().size(), 1U);
    }
}

TEST(ProcessingErrors, AHostNetworkWithoutAddressBelowAnUpdateThatWaits) {  // R-RANK-618, R-SCHED-116, 150
  SmallWorld w;
  w.add_node();
  model::NodeResources& host = *w.add_node().node_resources;
  host.node_networks.emplace().emplace_back().mode = "host";
  const auto version = [&](std::uint64_t number) {
    const auto job = SmallWorld::job("system", 1, number);
    job->priority = 50 + static_cast<std::int64_t>(number);
    job->task_groups[0].networks.emplace_back().mode = "host";
    job->task_groups[0].update.emplace().max_parallel = 1;
    return job;
  };
  const auto before = version(0), after = version(1);
  w.store(before), w.store(after);
  w.add_deployment(after, "running").task_groups["web"].emplace().desired_total = 2;
  w.add(after, 0, 0).deployment_id = w.state.deployments[0].id;  // not healthy yet, so no other one is replaced
  w.add(before, 1, 0);
  w.run();
  EXPECT_TRUE(w.error.starts_with("failed to process eval: ")) << w.error;
  EXPECT_TRUE(w.plans.empty());
}

TEST(ProcessingErrors, AShuffleNeedsEightBytesOfTheID) {  // R-RANK-306
  const auto error = [](SmallWorld& w) {
    w.order = rank::OrderProvider::nomad;
    w.eval.id = "short";
    w.run();
    EXPECT_TRUE(w.plans.empty());
    return w.error;
  };
  SmallWorld fresh;
  fresh.add_node();
  fresh.store(SmallWorld::job("service", 1));
  EXPECT_EQ(error(fresh), "evaluation ID short has fewer than 8 bytes");
  SmallWorld old;
  old.add_node();
  const auto job = SmallWorld::job("service", 2);
  old.store(job);
  old.add(job, 0, 0);
  EXPECT_EQ(error(old), "evaluation ID short has fewer than 8 bytes");
}

TEST(ProcessingErrors, AnEvaluationThatCannotBeCreated) {  // R-SCHED-17, 51, 54, 163
  SmallWorld full;
  full.add_node();
  full.store(SmallWorld::job("service", 1));
  full.state.jobs[0] = full.state.job_versions[0] = [] {
    auto job = SmallWorld::job("service", 1);
    job->task_groups[0].tasks[0].resources->memory_mb = 100'000;
    return job;
  }();
  full.create_errors = {"no leader"};
  full.run();  // the blocked evaluation
  EXPECT_EQ(full.error, "no leader");
  EXPECT_TRUE(full.plans.empty());
  full.create_errors.clear();
  full.run();
  EXPECT_EQ(full.error, "");

  SmallWorld later;
  later.add_node();
  const auto job = SmallWorld::job("service", 1);
  model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
  policy.unlimited = true, policy.delay = 7200 * base::kSecond, policy.delay_function = "constant";
  later.store(job);
  later.add(job, 0, 0, "failed");
  later.create_errors = {"no leader"};
  later.run();  // the follow-up
  EXPECT_EQ(later.error, "no leader");
  EXPECT_TRUE(later.plans.empty());

  SmallWorld refused;
  refused.add_node();
  refused.store(SmallWorld::job("service", 1));
  refused.create_errors = {"no leader"};
  refused.run("NNNNN");  // the one after the last attempt
  EXPECT_EQ(refused.error, "no leader");
  EXPECT_EQ(refused.plans.size(), 5U);

  SmallWorld system;  // ignored
  system.add_node();
  system.store(SmallWorld::job("system", 1));
  system.state.nodes[0].node_resources->memory.memory_mb = 32;
  system.create_errors = {"no leader"};
  system.run();
  EXPECT_EQ(system.created.size(), 1U);
  EXPECT_EQ(system.error, "");
}

TEST(ProcessingErrors, AContinuationThatCannotBeCreated) {  // R-SEED-34, 35
  for (const bool rolling : {true, false}) {
    SmallWorld w;
    w.options.staggered_system_updates = true;
    const auto before = SmallWorld::job("system", 1, 0), after = SmallWorld::job("system", 1, 1);
    for (const auto& job : {before, after})
      job->update.own().max_parallel = 1, job->update.own().stagger = rolling ? 30 * base::kSecond : 0;
    after->task_groups[0].tasks[0].user = "other";
    w.store(before), w.store(after);
    for (std::size_t i = 0; i < 3; ++i) w.add_node(), w.add(before, i, 0);
    w.run();
    EXPECT_EQ(w.error, "");
    EXPECT_EQ(w.stops().size(), rolling ? 1U : 3U);
    EXPECT_EQ(w.created.size(), rolling ? 1U : 0U);
    w.create_errors = {"no leader"};
    w.run();
    EXPECT_EQ(w.error, rolling ? "no leader" : "");
    EXPECT_EQ(w.plans.size(), rolling ? 0U : 1U);
  }
}

TEST(Planner, ReportsErrorsAndPartialCommits) {  // R-SCHED-41 to 45
  for (const char* type : {"service", "system"}) {
    SCOPED_TRACE(type);
    SmallWorld w;
    w.add_node(), w.add_node();
    w.store(SmallWorld::job(type, 1));
    w.run("E");
    EXPECT_EQ(w.error, "no leader");
    EXPECT_EQ(w.plans.size(), 1U);
    w.run("R");  // a newer state: another attempt
    EXPECT_EQ(w.error, "");
    EXPECT_EQ(w.plans.size(), 2U);
    EXPECT_EQ(w.updated.status, "complete");
    w.run("r");
    if (w.eval.type == "service") {
      EXPECT_EQ(w.error, "missing state refresh after partial commit");
      EXPECT_EQ(w.plans.size(), 1U);
    } else {
      EXPECT_EQ(w.error, "");
      EXPECT_EQ(w.plans.size(), 2U);
    }
    w.run("EE");
    EXPECT_EQ(w.plans.size(), 1U);
  }
}

TEST(Planner, UpdatesOnARefusedNodeAreNotCommitted) {  // R-SCHED-42 to 44
  SmallWorld w;
  w.add_node(), w.add_node();
  const auto before = SmallWorld::job("service", 2, 0), after = SmallWorld::job("service", 2, 1);
  after->priority = 60;
  w.store(before), w.store(after);
  w.add(before, 0, 0);
  w.state.nodes[1].node_resources->memory.memory_mb = 32;  // the placement, too, goes to n0
  w.run("r");
  EXPECT_EQ(w.error, "missing state refresh after partial commit");
  w.run("RRRRR");  // no progress
  EXPECT_EQ(w.plans.size(), 5U);
  EXPECT_EQ(w.updated.status, "failed");
}

TEST(Deployments, RemovedOnesAreNotTheLatest) {
  for (const bool removed : {false, true}) {
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job("service", 1);
    w.store(job);
    w.add_deployment(job, "running"), w.add_deployment(job, "running");
    w.after_loading = [&](tables::StateStore& store) {
      if (removed) store.begin_commit(1001).remove_deployment(1);
    };
    w.run();
    EXPECT_EQ(w.updated.deployment_id, w.state.deployments[removed ? 0 : 1].id);
  }
}

TEST(Stages, MeasuringThemChangesNoDecision) {
  for (const char* type : kSchedulers) {
    SCOPED_TRACE(type);
    SmallWorld w = device_world(type, 3);
    w.state.nodes[1].attributes.erase("driver.exec");
    const auto decided = [&] {
      w.run();
      std::string out = json::to_text(model::to_json(w.updated));
      for (const model::Allocation& alloc : w.placed()) out += "\n" + json::to_text(model::to_json(alloc));
      return out;
    };
    const std::string expected = decided();
    w.detailed = true;
    EXPECT_EQ(decided(), expected);
  }
}

TEST(Reschedules, AreMarkedOnNodesThatAreGone) {  // R-SCHED-96: the last stop of the former node is taken back
  struct Case {
    std::vector<std::uint64_t> nodes;  // of the failed allocations, none of which exists
    std::size_t stops;
    bool last_only;
  };
  for (const Case& c : {Case{{7}, 0, true}, Case{{7, 8}, 1, true}, Case{{7, 7}, 2, true}, Case{{7, 8, 7}, 3, true},
                        Case{{7, 7}, 1, false}}) {
    SCOPED_TRACE(c.nodes.size());
    SmallWorld w;
    w.options.quirks.coalesced_failure_unmarked = c.last_only;
    const auto job = SmallWorld::job("service", static_cast<std::int64_t>(c.nodes.size()));
    model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
    policy.unlimited = true, policy.delay = 30 * base::kSecond, policy.delay_function = "constant";
    w.store(job);
    for (std::size_t i = 0; i < c.nodes.size(); ++i)
      w.add(job, 99, i, "failed").node_id = SmallWorld::id(1, c.nodes[i]);
    w.run();
    ASSERT_EQ(w.plans.size(), 1U);
    EXPECT_EQ(w.stops().size(), c.last_only ? c.stops : 0U);
    ASSERT_EQ(w.placed().size(), c.last_only ? 1U : c.nodes.size());
    for (const model::Allocation& alloc : w.placed())
      EXPECT_EQ(alloc.reschedule_tracker->last_reschedule, "no placement");
  }
}

TEST(InPlaceUpdates, OldRecordsKeepTheNetworksOfTheirTasks) {  // R-SCHED-114: without AllocatedResources
  struct Case {
    const char* name;
    const char* task_resources;
    std::vector<std::string> devices;  // of the networks of the task
  };
  for (const Case& c :
       {Case{"two networks", R"({"t": {"Networks": [{"Device": "eth7"}, {"Device": "eth8"}]}})", {"eth7", "eth8"}},
        Case{"no network", R"({"t": {"Networks": null}})", {}},
        Case{"one is malformed", R"({"t": {"Networks": [5, {"Device": "eth8"}]}})", {"eth8"}},
        Case{"another task", R"({"u": {"Networks": [{"Device": "eth7"}]}})", {}}, Case{"none", "", {}}}) {
    SCOPED_TRACE(c.name);
    SmallWorld w;
    w.add_node();
    const auto before = SmallWorld::job("service", 1, 0), after = SmallWorld::job("service", 1, 1);
    after->priority = 60;
    w.store(before), w.store(after);
    model::Allocation& alloc = w.add(before, 0, 0);
    alloc.allocated_resources.reset();
    if (*c.task_resources) alloc.task_resources = io::parse_json(c.task_resources).value();
    w.run();
    const std::vector<model::Allocation> placed = w.placed();
    ASSERT_EQ(placed.size(), 1U);
    EXPECT_EQ(placed[0].id, alloc.id);
    const model::AllocatedResources& held = *placed[0].allocated_resources;
    std::vector<std::string> devices;
    for (const model::NetworkResource& network : held.tasks.at("t").networks) devices.push_back(network.device);
    EXPECT_EQ(devices, c.devices);
    EXPECT_EQ(held.tasks.at("t").memory.memory_mb, 64);
    EXPECT_TRUE(held.shared.networks.empty());
    EXPECT_TRUE(held.shared.ports.empty());
  }
}

}  // namespace
}  // namespace berth::sched
