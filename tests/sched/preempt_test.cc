// The documented example of preemption from evaluation to commit (R-PREEMPT-1201 to 1209), and its effect on later
// placements.
#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "model/job.h"
#include "plan/apply.h"
#include "sched/generic.h"
#include "sched/to_model.h"
#include "support/cluster_objects.h"

namespace berth::sched {
namespace {

const std::map<std::string, std::int64_t> kMemory = {{"memory", 1}};
const std::string kNode = "11111111-1111-1111-1111-111111111111";

std::string alloc_id(int number) { return "aaaaaaaa-0000-0000-0000-00000000000" + std::to_string(number); }

std::shared_ptr<model::Job> job(const std::string& id, std::int64_t priority, std::int64_t cpu, std::int64_t memory,
                                std::int64_t disk) {
  return testing::make_job({.id = id,
                            .priority = priority,
                            .datacenter = "*",
                            .groups = {{.mhz = cpu, .memory_mb = memory, .disk_mb = disk}}});
}

model::Allocation alloc(int number, const std::shared_ptr<model::Job>& of) {
  return testing::make_alloc(
      {.id = alloc_id(number), .job = of, .node_id = kNode, .index = static_cast<std::uint64_t>(number)});
}

/// One node full of cache, batch-analytics and email-marketing; webapp at `priority` is to be placed.
class DocumentedExample : public ::testing::Test {
 protected:
  void load(std::int64_t priority, std::int64_t webapp_cpu, std::int64_t webapp_memory, std::int64_t count) {
    model::ClusterState state;
    state.index = 100;
    state.scheduler_config.emplace().preemption_config.service_scheduler_enabled = true;
    model::Node& node = state.nodes.emplace_back(testing::make_node({.id = kNode,
                                                                     .name = "only",
                                                                     .attributes = {{"driver.exec", "1"}},
                                                                     .mhz = 2000,
                                                                     .memory_mb = 5120,
                                                                     .disk_mb = 2500,
                                                                     .host_network = true}));
    node.computed_class = "v1:1";
    const auto email_large = job("email-marketing", 20, 0, 512, 800),
               email_small = job("email-marketing-2", 20, 0, 512, 200);
    const auto batch = job("batch-analytics", 50, 500, 1024, 500), cache = job("cache", 70, 1000, 2048, 500);
    webapp_ = job("webapp", priority, webapp_cpu, webapp_memory, 1000);
    webapp_->task_groups[0].count = count;
    for (const auto& j : {email_large, email_small, batch, cache, webapp_}) {
      state.jobs.push_back(j);
      state.job_versions.push_back(j);
    }
    state.allocs = {alloc(1, email_large), alloc(2, email_small), alloc(4, batch), alloc(5, batch), alloc(6, cache)};
    store_.load(state);
  }
  void decide() {
    EvalFacts eval;
    eval.id_text = "99999999-9999-9999-9999-999999999999";
    eval.job = store_.job_key("default", "webapp");
    eval.triggered_by = "job-register";
    GenericScheduler scheduler(scratch_);
    IdStream ids(7);
    scheduler.process(store_.snapshot(), eval, rank::OrderProvider::identity, ids, result_);
  }
  [[nodiscard]] model::AllocMetric failure() {
    const tables::Snapshot snapshot = store_.snapshot();
    return to_model({snapshot, scratch_}, result_.groups[0].failure, "default");
  }
  [[nodiscard]] model::Plan plan() {
    model::Evaluation eval;
    eval.job_id = "webapp";
    eval.namespace_ = "default";
    eval.annotate_plan = true;
    const tables::Snapshot snapshot = store_.snapshot();
    return to_model({snapshot, scratch_}, result_, eval, 0);
  }
  static std::vector<std::string> ids(std::initializer_list<int> numbers) {
    std::vector<std::string> out;
    for (const int n : numbers) out.push_back(alloc_id(n));
    return out;
  }

  tables::StateStore store_;
  Scratch scratch_;
  EvalResult result_;
  std::shared_ptr<model::Job> webapp_;
};

TEST_F(DocumentedExample, PlansScoresAndCommits) {  // R-PREEMPT-1206 to 1208, 802 to 804, 905
  load(75, 0, 2048, 1);
  decide();
  const model::Plan plan = this->plan();
  ASSERT_EQ(plan.node_allocation.at(kNode).size(), 1U);
  const model::Allocation& placed = plan.node_allocation.at(kNode)[0];
  EXPECT_EQ(placed.preempted_allocations, ids({2, 1, 4}));
  const model::ScoreMeta& meta = placed.metrics->score_meta_data.at(0);
  EXPECT_EQ(meta.scores.at("binpack"), 1);
  EXPECT_EQ(meta.scores.at("preemption"), 0.99993102931323097);
  EXPECT_EQ(meta.norm_score, 0.99996551465661554);

  const auto& victims = plan.node_preemptions.at(kNode);
  ASSERT_EQ(victims.size(), 3U);
  EXPECT_EQ(victims[0].id, alloc_id(2));
  EXPECT_EQ(victims[0].desired_status, "evict");
  EXPECT_EQ(victims[0].desired_description, "Preempted by alloc ID " + placed.id);
  EXPECT_EQ(victims[0].preempted_by_allocation, placed.id);
  EXPECT_EQ(victims[0].task_group, "");  // R-PREEMPT-414
  EXPECT_EQ(plan.annotations->desired_tg_updates.at("g").preemptions, 3U);
  EXPECT_EQ(plan.annotations->preempted_allocs[0]["ID"].as_string(), alloc_id(2));
  EXPECT_EQ(plan.annotations->preempted_allocs[0]["DesiredStatus"].as_string(), "run");
  EXPECT_EQ(plan.annotations->preempted_allocs[2]["JobID"].as_string(), "batch-analytics");

  plan::ApplyResult applied;
  plan::apply(store_, result_.plan, 101, false, applied);
  EXPECT_EQ(applied.committed, 1U);
  EXPECT_EQ(applied.stopped, 3U);
  const tables::Snapshot after = store_.snapshot();
  for (const int n : {1, 2, 4})
    EXPECT_EQ(after.allocs.desired[store_.find_alloc(*base::parse_uuid(alloc_id(n)))], tables::Desired::evict);
  for (const int n : {5, 6})
    EXPECT_EQ(after.allocs.desired[store_.find_alloc(*base::parse_uuid(alloc_id(n)))], tables::Desired::run);
}

TEST_F(DocumentedExample, NeedsAPriorityTenAbove) {  // R-PREEMPT-1209
  load(79, 0, 4096, 1);
  decide();
  EXPECT_TRUE(result_.plan.allocs.empty());
  EXPECT_TRUE(result_.groups[0].failed);
  EXPECT_EQ(failure().dimension_exhausted, kMemory);
}

TEST_F(DocumentedExample, EvictsAnEqualDistanceOfTen) {  // R-PREEMPT-1209
  load(80, 0, 4096, 1);
  decide();
  EXPECT_EQ(plan().node_allocation.at(kNode)[0].preempted_allocations, ids({2, 4, 5, 1, 6}));
}

TEST_F(DocumentedExample, LaterPlacementsCountNeitherTheVictimsNorTheirOwnJob) {  // R-PREEMPT-805, 206
  load(75, 0, 1024, 2);
  decide();
  const model::Plan plan = this->plan();
  const auto& placed = plan.node_allocation.at(kNode);
  ASSERT_EQ(placed.size(), 2U);
  std::set<std::string> all;
  std::size_t victims = 0;
  for (const model::Allocation& a : placed) {
    EXPECT_FALSE(a.preempted_allocations.empty());
    all.insert(a.preempted_allocations.begin(), a.preempted_allocations.end());
    victims += a.preempted_allocations.size();
  }
  EXPECT_EQ(all.size(), victims);  // no victim is listed twice
  EXPECT_FALSE(all.contains(alloc_id(6)));
  plan::ApplyResult applied;
  plan::apply(store_, result_.plan, 101, false, applied);
  // The second choice does not count the use of the first placement (R-PREEMPT-403), but the applier does: the node
  // loses its placements together with the victims (R-PREEMPT-902, 903).
  EXPECT_EQ(applied.refused, 2U);
  EXPECT_EQ(applied.stopped, 0U);
  EXPECT_EQ(applied.reasons, std::vector<std::string>{"disk"});
}

TEST_F(DocumentedExample, NothingIsEvictedIfSwitchedOff) {  // R-PREEMPT-105
  load(75, 0, 2048, 1);
  store_.set_scheduler_config(model::SchedulerConfiguration{});
  decide();
  EXPECT_TRUE(result_.plan.allocs.empty());
  EXPECT_TRUE(result_.plan.stops.empty());
  EXPECT_EQ(failure().dimension_exhausted, kMemory);
}

}  // namespace
}  // namespace berth::sched
