// Imported allocations as rows: nothing of them is lost, and a client's report replaces what it said before.
#include "tables/whole_row.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "io/export_import.h"
#include "model/codec/codec.h"
#include "support/cluster_objects.h"
#include "support/shared_data.h"
#include "tables/check.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::tables {
namespace {

constexpr std::uint64_t kIndex = 90;

std::string text_of(const model::Allocation& alloc) {
  return json::to_text(model::to_json(alloc, model::WriteMode::sparse));
}

std::shared_ptr<const model::Job> a_job() {
  return testing::make_job(
      {.id = "web", .version = 3, .groups = {{.name = "front", .count = 2, .task = "server", .memory_mb = 0}}});
}

/// A state with one node, one job, and allocations as the clients of a real cluster report them.
struct Small {
  model::ClusterState state;
  Small() {
    state.nodes.push_back(testing::make_node({.id = base::to_text({1, 1})}));
    state.jobs.push_back(a_job());
    state.job_versions = state.jobs;
    model::Evaluation& eval = state.evals.emplace_back();
    eval.id = base::to_text({2, 1}), eval.namespace_ = "default", eval.job_id = "web", eval.status = "complete";
    model::Deployment& deployment = state.deployments.emplace_back();
    deployment.id = base::to_text({3, 1}), deployment.namespace_ = "default", deployment.job_id = "web";
    deployment.status = "successful";
    state.index = kIndex;
    add(), add();
  }
  model::Allocation& add() {
    const std::size_t number = state.allocs.size();
    model::Allocation& alloc = state.allocs.emplace_back(testing::make_alloc(
        {.id = base::to_text({4, number + 1}), .job = state.jobs[0], .node_id = state.nodes[0].id, .index = number}));
    alloc.eval_id = state.evals[0].id, alloc.deployment_id = state.deployments[0].id;
    alloc.node_name = "n1", alloc.client_description = "Tasks are running";
    alloc.allocated_resources->task_lifecycles["server"];
    model::AllocMetric& metrics = alloc.metrics.emplace();
    metrics.nodes_evaluated = 7, metrics.node_pool = "default";
    model::TaskState& task = alloc.task_states["server"].emplace();
    task.state = "running", task.started_at.ns = 50;
    for (const char* type : {"Received", "Started"}) {
      json::Value event = json::Value::object();
      event.set("Type", type), event.set("Time", 50), event.set("DisplayMessage", "shown");
      task.events.push(std::move(event));
    }
    alloc.deployment_status.emplace().healthy = true;
    alloc.deployment_status->timestamp.ns = 60, alloc.deployment_status->modify_index = 8;
    alloc.network_status.set("Address", "10.0.0.1");
    alloc.resources.set("CPU", 100), alloc.extra.set("SigningKeyID", "k");
    alloc.create_index = 5, alloc.modify_index = 9, alloc.alloc_modify_index = 6;
    alloc.create_time = 40, alloc.modify_time = 70;
    return alloc;
  }
};

void load(StateStore& store, const model::ClusterState& state) {
  store.keep_history();
  store.load(state);
  EXPECT_TRUE(check_alloc_table(store.current()).empty());
  EXPECT_TRUE(store.check_history().empty());
}

std::size_t rows_without_object(const StateStore& store) {
  std::size_t out = 0;
  for (AllocRow row = 0; row < store.current().allocs.size(); ++row) out += !store.current().allocs.cold[row];
  return out;
}

TEST(AllocationRow, KeepsWhatAClientReported) {
  const Small small;
  StateStore store;
  load(store, small.state);
  EXPECT_EQ(rows_without_object(store), 2u);
  for (AllocRow row = 0; row < 2; ++row)
    EXPECT_EQ(text_of(to_alloc(store.current(), row)), text_of(small.state.allocs[row]));
}

struct Change {
  const char* name;
  bool is_row;  ///< the columns can hold it
  void (*make)(model::Allocation&);
};

class ChangedAllocation : public ::testing::TestWithParam<Change> {};

TEST_P(ChangedAllocation, RoundTrips) {
  Small small;
  GetParam().make(small.state.allocs[0]);
  StateStore store;
  load(store, small.state);
  EXPECT_EQ(store.current().allocs.cold[0] == nullptr, GetParam().is_row);
  EXPECT_EQ(text_of(to_alloc(store.current(), 0)), text_of(small.state.allocs[0]));
}

INSTANTIATE_TEST_SUITE_P(
    Parts, ChangedAllocation,
    ::testing::Values(Change{"NoMetrics", true, [](auto& a) { a.metrics.reset(); }},
                      Change{"NoTask", true, [](auto& a) { a.task_states.clear(); }},
                      Change{"NoEvents", true, [](auto& a) { a.task_states["server"]->events = {}; }},
                      Change{"EmptyEvents", true,
                             [](auto& a) { a.task_states["server"]->events = json::Value::array(); }},
                      Change{"OldEvaluation", false,
                             [](auto& a) {
                               a.eval_id = base::to_text({2, 9});
                             }},
                      Change{"OldDeployment", false,
                             [](auto& a) {
                               a.deployment_id = base::to_text({3, 9});
                             }},
                      Change{"NoEvaluation", true, [](auto& a) { a.eval_id.clear(); }},
                      Change{"OtherName", false, [](auto& a) { a.name = "web.front[007]"; }},
                      Change{"OtherNodeName", false, [](auto& a) { a.node_name = "n0"; }},
                      Change{"OtherDescription", false, [](auto& a) { a.desired_description = "by hand"; }},
                      Change{"OtherClientDescription", false, [](auto& a) { a.client_description = "by hand"; }},
                      Change{"Stopped", true, [](auto& a) { a.desired_status = "stop", a.client_status = "complete"; }},
                      Change{"OtherStatus", false, [](auto& a) { a.client_status = "paused"; }},
                      Change{"TwoTasks", false, [](auto& a) { a.task_states["log"].emplace().state = "running"; }},
                      Change{"PausedTask", false, [](auto& a) { a.task_states["server"]->paused = "scheduled"; }},
                      Change{"EarlySuccess", false, [](auto& a) { a.task_states["server"]->state = "dead"; }},
                      Change{"OtherTaskState", false, [](auto& a) { a.task_states["server"]->state = "odd"; }},
                      Change{"ManyRestarts", false, [](auto& a) { a.task_states["server"]->restarts = 1U << 16; }},
                      Change{"Unjudged", true, [](auto& a) { a.deployment_status.emplace().canary = true; }},
                      Change{"UnjudgedAtIndex", false, [](auto& a) { a.deployment_status.emplace().modify_index = 4; }},
                      Change{"Unhealthy", true, [](auto& a) { a.deployment_status->healthy = false; }},
                      Change{"Migrates", false, [](auto& a) { a.desired_transition.migrate = true; }},
                      Change{"Replaced", true,
                             [](auto& a) {
                               a.next_allocation = base::to_text({4, 2});
                             }},
                      Change{"ReplacedCollected", false,
                             [](auto& a) {
                               a.previous_allocation = base::to_text({4, 9});
                             }},
                      Change{"Evicted", false, [](auto& a) { a.preempted_by_allocation = base::to_text({4, 2}); }},
                      Change{"Tracked", false, [](auto& a) { a.reschedule_tracker.emplace().last_reschedule = "ok"; }},
                      Change{"MoreHeld", true, [](auto& a) { a.allocated_resources->shared.disk_mb = 7; }},
                      Change{"NothingHeld", false, [](auto& a) { a.allocated_resources.reset(); }},
                      Change{"NoJob", false, [](auto& a) { a.job.reset(); }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(AllocationRow, AReportReplacesTheEarlierReport) {
  const Small small;
  StateStore store;
  load(store, small.state);
  {
    Commit commit = store.begin_commit(kIndex + 1);
    Reported said;
    said.description = ClientDescription::completed;
    said.task = store.symbols().intern("server"), said.state = TaskState::dead;
    commit.write_report(0, Client::complete, said, store.current().allocs.links[0].health, 99);
  }
  const model::Allocation alloc = to_alloc(store.current(), 0);
  EXPECT_EQ(alloc.client_description, "All tasks have completed");
  EXPECT_TRUE(alloc.task_states.at("server")->events.is_null());
  EXPECT_TRUE(alloc.network_status.is_null());
  EXPECT_EQ(alloc.resources["CPU"].as_int(), 100);
  EXPECT_EQ(alloc.extra["SigningKeyID"].as_string(), "k");
  EXPECT_EQ(alloc.metrics->nodes_evaluated, 7);
}

TEST(AllocationRow, AnObjectReplacesTheWholeRow) {
  const Small small;
  StateStore store;
  load(store, small.state);
  auto object = std::make_shared<model::Allocation>(to_alloc(store.current(), 1));
  object->followup_eval_id = base::to_text({2, 2});
  const std::string text = text_of(*object);
  store.begin_commit(kIndex + 1).replace_alloc(1, std::move(object));
  EXPECT_EQ(text_of(to_alloc(store.current(), 1)), text);
  EXPECT_FALSE(store.current().allocs.rest[1]);
  EXPECT_TRUE(check_alloc_table(store.current()).empty());
}

TEST(AllocationRow, RealClustersRoundTrip) {
  for (const char* file : {"stage-01.snap", "stage-02.snap", "stage-02.json.gz"}) {
    const std::string path = (testing::source_dir() / "tests" / "dryrun" / "recorded" / file).string();
    auto imported = io::import_cluster(path);
    ASSERT_TRUE(imported) << imported.error().line();
    StateStore store;
    load(store, imported->state);
    ASSERT_EQ(store.current().allocs.size(), imported->state.allocs.size());
    for (AllocRow row = 0; row < store.current().allocs.size(); ++row)
      EXPECT_EQ(text_of(to_alloc(store.current(), row)), text_of(imported->state.allocs[row])) << file;
    EXPECT_GE(2 * rows_without_object(store), imported->state.allocs.size()) << file;
  }
}

}  // namespace
}  // namespace berth::tables
