// Reading allocations from a server's tables, and clients' reports as API objects.
#include "client/server_tables.h"
#include "base/json.h"
#include "model/job.h"

#include <gtest/gtest.h>

#include "support/cluster_objects.h"

namespace berth::client {
namespace {

using tables::Client;

constexpr const char* kNode = "11111111-1111-1111-1111-111111111111";
constexpr const char* kOld = "aaaaaaaa-0000-0000-0000-000000000001";
constexpr const char* kNew = "aaaaaaaa-0000-0000-0000-000000000002";
constexpr const char* kVictim = "aaaaaaaa-0000-0000-0000-000000000003";

struct ServerTables : ::testing::Test {
  tables::StateStore store;
  model::ClusterState state;
  model::Allocation& alloc(const char* id, const char* client) {
    model::Allocation& out = state.allocs.emplace_back(
        testing::make_alloc({.id = id, .job = state.jobs[0], .node_id = kNode, .index = 4, .client = client}));
    out.create_index = out.modify_index = out.alloc_modify_index = 7;
    out.create_time = 99;
    return out;
  }
  ServerTables() {
    state.index = 10;
    state.nodes.push_back(testing::make_node({.id = kNode}));
    const auto job = testing::make_job({.groups = {{.task = "a"}}});
    job->task_groups[0].tasks.emplace_back().name = "b";
    state.jobs.push_back(job), state.job_versions.push_back(job);
  }
  ServerAllocs read() {
    store.load(state);
    ServerAllocs out;
    read_node(store, store.find_node(kNode), out);
    return out;
  }
  const ServerAlloc* find(const ServerAllocs& all, const char* id) {
    for (const ServerAlloc& s : all.allocs)
      if (s.alloc == store.find_alloc(std::string_view(id))) return &s;
    return nullptr;
  }
};

TEST_F(ServerTables, GiveAClientWhatItNeeds) {
  const Handle handle{17, 123, -2};
  alloc(kOld, "complete");
  model::Allocation& fresh = alloc(kNew, "pending");
  fresh.previous_allocation = kOld, fresh.alloc_modify_index = 9;
  fresh.desired_transition.migrate = true;
  fresh.deployment_status.emplace().healthy = false;
  fresh.task_states["b"].emplace().task_handle = to_json(handle);
  model::Allocation& victim = alloc(kVictim, "running");
  victim.desired_status = "evict", victim.preempted_by_allocation = kNew;
  const ServerAllocs all = read();
  ASSERT_EQ(all.allocs.size(), 3u);
  EXPECT_TRUE(all.complete);
  const ServerAlloc& s = *find(all, kNew);
  EXPECT_EQ(s.alloc_modify_index, 9u);
  EXPECT_EQ(s.create_time, 99);
  EXPECT_EQ(s.name_index, 4u);
  EXPECT_TRUE(s.migrate);
  EXPECT_TRUE(s.has_health);
  EXPECT_FALSE(s.terminal());
  EXPECT_EQ((*s.spec)->task_groups[s.group].name, "g");
  ASSERT_EQ(s.upstream_count, 2u);  // the one it replaces, and the one it preempted
  EXPECT_EQ(all.upstream[s.upstream_begin].status, Client::complete);
  EXPECT_EQ(all.upstream[s.upstream_begin + 1].alloc, store.find_alloc(std::string_view(kVictim)));
  ASSERT_EQ(s.handles_count, 2u);
  EXPECT_EQ(all.handles[s.handles_begin], Handle());
  EXPECT_EQ(all.handles[s.handles_begin + 1], handle);
  EXPECT_TRUE(find(all, kVictim)->server_terminal());
  EXPECT_TRUE(find(all, kOld)->terminal());
  EXPECT_EQ(find(all, kOld)->handles_count, 0u);
}

TEST_F(ServerTables, ADeletedPredecessorIsNotListed) {
  alloc(kNew, "pending").previous_allocation = kOld;
  const ServerAllocs all = read();
  ASSERT_EQ(all.allocs[0].upstream_count, 1u);
  EXPECT_TRUE(all.upstream[0].gone);
}

TEST_F(ServerTables, AReportBecomesAnUpdate) {
  alloc(kNew, "pending");
  read();
  Outbox out;
  out.tasks.resize(2), out.handles.resize(2);
  out.tasks[0].state = TaskState::dead, out.tasks[0].failed = true, out.tasks[0].finished_at = 5;
  out.tasks[1].state = TaskState::running, out.tasks[1].event = TaskEvent::reconnected, out.tasks[1].event_at = 6;
  out.handles[1] = {3, kEndless, 0};
  AllocReport report;
  report.alloc = store.find_alloc(std::string_view(kNew));
  report.status = {Client::failed, Description::failed_tasks};
  report.health = Health::unhealthy, report.tasks_count = 2;
  const model::Allocation update = to_update(store.current(), store.find_node(std::string_view(kNode)), report, out);
  EXPECT_EQ(update.id, kNew);
  EXPECT_EQ(update.node_id, kNode);
  EXPECT_EQ(update.namespace_, "");  // R-CTRL-1534
  EXPECT_EQ(update.desired_status, "");
  EXPECT_EQ(update.client_status, "failed");
  EXPECT_EQ(update.client_description, "Failed tasks");
  EXPECT_EQ(update.deployment_status->healthy, false);
  EXPECT_TRUE(update.deployment_status->timestamp.is_zero());
  EXPECT_TRUE(update.task_states.at("a")->failed);
  EXPECT_EQ(update.task_states.at("a")->finished_at.ns, 5);
  EXPECT_TRUE(update.task_states.at("a")->started_at.is_zero());
  EXPECT_TRUE(update.task_states.at("a")->task_handle.is_null());
  EXPECT_EQ(update.task_states.at("b")->events.items()[0]["Type"].as_string(), "Reconnected");
  EXPECT_EQ(*parse_handle(update.task_states.at("b")->task_handle), out.handles[1]);
}

TEST(Handles, MalformedHandlesAreRefused) {
  EXPECT_FALSE(parse_handle(json::Value()));
  json::Value odd;
  odd.set("DriverState", "xyz");
  EXPECT_FALSE(parse_handle(odd));
  odd.set("DriverState", std::string(39, '0') + "g");
  EXPECT_FALSE(parse_handle(odd));
}

}  // namespace
}  // namespace berth::client
