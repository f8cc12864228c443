// Entries and requests whose effect the recorded scripts (tests/golden/control) do not show.
#include <gtest/gtest.h>

#include "fsm/node_requests.h"
#include "fsm/request_world.h"

namespace berth::fsm {
namespace {

TEST(Entries, DeletedEvaluationsEndTheirJob) {  // R-CTRL-734, 716
  RequestWorld world([](model::Job& job, model::ClusterState& state) {
    job.status = "pending";
    model::Evaluation& eval = state.evals.emplace_back();
    eval.id = request_id(3, 1), eval.namespace_ = "default", eval.job_id = "j", eval.status = "complete";
    eval.type = "service";
  });
  const tables::JobKeyRow key = world.store().find_job_key("default", "j");
  const EvalDeleteEntry entry{{}, world.log().evals_of(key)};
  ASSERT_EQ(entry.evals.size(), 1u);
  EXPECT_EQ(world.log().job("default", "j")->status, "pending");
  Hooks hooks;
  const std::uint64_t index = world.log().next_index();
  ASSERT_EQ(world.log().apply(index, entry, hooks), "");
  EXPECT_EQ(world.log().job("default", "j")->status, "dead");
  EXPECT_EQ(world.log().job("default", "j")->modify_index, index);
  EXPECT_TRUE(world.log().evals_of(key).empty());
}

TEST(Entries, RecountedSummariesFollowAllocationsAndChildren) {  // R-API-502, R-CTRL-721
  RequestWorld world([](model::Job& job, model::ClusterState& state) {
    job.modify_index = 120;
    for (const char* client : {"running", "running", "failed", "pending"})
      state.allocs.push_back(testing::make_alloc({.id = request_id(2, state.allocs.size() + 1),
                                                  .job = std::make_shared<model::Job>(job),
                                                  .node_id = state.nodes[0].id,
                                                  .index = state.allocs.size(),
                                                  .client = client}));
    for (const char* status : {"pending", "running", "dead", "dead"}) {
      auto child = testing::make_job({.id = "child" + std::to_string(state.jobs.size())});
      child->parent_id = "j", child->status = status, child->create_index = child->modify_index = 90;
      state.jobs.push_back(child), state.job_versions.push_back(child);
    }
  });
  JobSummary stored;
  stored.create_index = 90;  // that of the job; allocations of an earlier job of the name do not count
  world.log().set_summary("default", "j", stored);
  world.log().recount_summaries(true);
  EXPECT_TRUE(world.log().record("default", "j")->summary->groups.empty()) << "it has a summary";
  EXPECT_TRUE(world.log().record("default", "child0")->summary);
  world.log().recount_summaries(false);
  const JobSummary& summary = *world.log().record("default", "j")->summary;
  GroupSummary web = *summary.groups.find("web"), db = *summary.groups.find("db");
  EXPECT_EQ(web[Bin::running], 2);
  EXPECT_EQ(web[Bin::failed], 1);
  EXPECT_EQ(web[Bin::starting], 1);
  EXPECT_EQ(db[Bin::running], 0);
  EXPECT_EQ(summary.children_pending, 1);
  EXPECT_EQ(summary.children_running, 1);
  EXPECT_EQ(summary.children_dead, 2);
}

/// Applies the entry at the next index, which it returns.
template <class Entry>
std::uint64_t write(RequestWorld& world, const Entry& entry) {
  Hooks hooks;
  const std::uint64_t index = world.log().next_index();
  EXPECT_EQ(world.log().apply(index, entry, hooks), "");
  return index;
}

TEST(Entries, NodePoolsKeepTheirCreateIndex) {  // R-API-461 to 463
  RequestWorld world(kAsItIs);
  model::NodePool pool;
  pool.name = "gpu", pool.description = "first";
  const std::uint64_t made = write(world, NodePoolUpsertEntry{{pool}});
  pool.description = "second";
  const std::uint64_t changed = write(world, NodePoolUpsertEntry{{pool}});
  const auto pools = [&] {
    std::vector<model::NodePool> out;
    for (const model::NodePool& one : world.store().current().cold->node_pools)
      if (one.name == "gpu") out.push_back(one);
    return out;
  };
  ASSERT_EQ(pools().size(), 1u);
  EXPECT_EQ(pools()[0].description, "second");
  EXPECT_EQ(pools()[0].create_index, made);
  EXPECT_EQ(pools()[0].modify_index, changed);
  EXPECT_EQ(world.log().table_index(Table::node_pools), changed);
  Hooks hooks;
  EXPECT_EQ(world.log().apply(changed + 1, NodePoolDeleteEntry{{"gpu", "none"}}, hooks), "node pool none not found");
  EXPECT_EQ(pools().size(), 1u) << "an entry that fails changes nothing";
  write(world, NodePoolDeleteEntry{{"gpu"}});
  EXPECT_TRUE(pools().empty());
}

TEST(Entries, NamespacesKeepTheirCreateIndex) {  // R-API-464, 465, R-STORE-500
  RequestWorld world(kAsItIs);
  model::Namespace one, standard;
  one.name = "team", standard.name = "default";
  const std::uint64_t made = write(world, NamespaceUpsertEntry{{one, standard}});
  const std::uint64_t changed = write(world, NamespaceUpsertEntry{{one}});
  const auto find = [&](const std::string& name) -> const model::Namespace* {
    for (const model::Namespace& stored : world.store().current().cold->namespaces)
      if (stored.name == name) return &stored;
    return nullptr;
  };
  ASSERT_TRUE(find("team") && find("default"));
  EXPECT_EQ(find("team")->extra["CreateIndex"].as_uint(), made);
  EXPECT_EQ(find("team")->extra["ModifyIndex"].as_uint(), changed);
  EXPECT_EQ(find("default")->extra["CreateIndex"].as_uint(), 1u) << "it exists from the start";
  Hooks hooks;
  EXPECT_EQ(world.log().apply(changed + 1, NamespaceDeleteEntry{{"team", "none"}}, hooks), "namespace not found");
  EXPECT_TRUE(find("team"));
  write(world, NamespaceDeleteEntry{{"team"}});
  EXPECT_FALSE(find("team"));
}

TEST(NodeRequests, DeregisteredNodesHaveNoTimers) {  // R-CTRL-963
  RequestWorld world(kAsItIs);
  NodeRequests requests(world.log(), [number = std::uint64_t{0}]() mutable { return request_id(7, ++number); });
  EXPECT_EQ(requests.deregister({request_id(1, 2)}, kRequestNow).error, "node not found");
  EXPECT_FALSE(requests.evaluate(request_id(1, 1), kRequestNow).clears_timers);
  const NodeAnswer answer = requests.deregister({request_id(1, 1)}, kRequestNow);
  EXPECT_EQ(answer.error, "");
  EXPECT_TRUE(answer.clears_timers);
  EXPECT_FALSE(world.log().node(request_id(1, 1)));
  EXPECT_EQ(requests.evaluate(request_id(1, 1), kRequestNow).error, "node not found");
}

}  // namespace
}  // namespace berth::fsm
