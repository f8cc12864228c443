// The plan applier: the check of a node (R-CTRL-610 to 616), what is committed, and that it does not allocate memory.
#include "plan/apply.h"

#include <gtest/gtest.h>

#include <random>

#include "model/job.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "plan/plan_queue.h"
#include "support/cluster_objects.h"
#include "support/heap_count.h"
#include "tables/check.h"
#include "tables/export.h"

namespace berth::plan {
namespace {

using tables::kNoRow;
using tables::NodeStatus;

base::Uuid uuid(std::uint64_t kind, std::uint64_t number) { return {kind << 32, number * 0x9e3779b97f4a7c15ULL + 1}; }

model::Node node_of(std::uint64_t number, std::int64_t max_allocs = 0) {
  model::Node node = testing::make_node({.id = base::to_text({number, 1}),  // ascending with the number
                                         .name = "node-" + std::to_string(number),
                                         .mhz = 1000,
                                         .memory_mb = 10'000});
  node.node_max_allocs = max_allocs;
  return node;
}

/// One group of 100 MHz and 100 MiB: ten fit on a node by cpu.
std::shared_ptr<model::Job> job_of(const std::string& id) {
  return testing::make_job({.id = id, .type = "batch", .groups = {{.memory_mb = 100}}});
}

class PlanApply : public ::testing::Test {
 protected:
  void add_nodes(std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; ++i) store_.begin_commit().upsert_node(node_of(i));
    job_ = store_.upsert_job(job_of("a"), true);
    plan_.job = job_;
    store_.set_index(10);
  }
  /// Plans one allocation, linked to earlier ones on its node as the scheduler does.
  void place(tables::NodeRow node, std::shared_ptr<const tables::ResourceShape> shape = nullptr) {
    const auto index = static_cast<std::uint32_t>(plan_.allocs.size());
    PlannedAlloc& alloc = plan_.allocs.emplace_back();
    alloc.id = uuid(2, next_++);
    alloc.node = node;
    alloc.shape = shape ? std::move(shape) : store_.current().jobs.versions[job_]->groups[0].shape;
    alloc.held = alloc.shape.get();
    alloc.first_on_node = true;
    for (std::uint32_t i = index; i-- > 0;)
      if (plan_.allocs[i].node == node) {
        plan_.allocs[i].next_on_node = index;
        alloc.first_on_node = false;
        break;
      }
  }
  void commit(bool all_at_once = false) {
    applier_.apply(plan_, store_.index() + 1, all_at_once, result_);
    plan_.clear();
    plan_.job = job_;
    for (const std::string& problem : tables::check_tables(store_)) ADD_FAILURE() << problem;
  }
  std::shared_ptr<const tables::ResourceShape> with_port(std::int64_t port) {
    auto resources = std::make_shared<model::AllocatedResources>();
    resources->tasks["t"].cpu.cpu_shares = 10;
    model::AllocatedPort allocated;
    allocated.label = "p";
    allocated.value = port;
    allocated.host_ip = "10.0.0.1";
    resources->shared.ports.push_back(allocated);
    return tables::make_shape(resources);
  }

  tables::StateStore store_;
  Applier applier_{store_};
  PlanRows plan_;
  ApplyResult result_;
  tables::VersionRow job_ = kNoRow;
  std::uint64_t next_ = 0;
};

TEST_F(PlanApply, CommitsWhatFits) {
  add_nodes(2);
  for (int i = 0; i < 10; ++i) place(0);
  place(1);
  commit();
  EXPECT_TRUE(result_.full());
  EXPECT_EQ(result_.committed, 11u);
  EXPECT_EQ(result_.index, 11u);
  EXPECT_EQ(result_.refresh_index, 0u);
  EXPECT_EQ(store_.index(), 11u);
  EXPECT_EQ(store_.current().nodes.use[0].cpu_mhz, 1000);
}

using PlanApplyDeathTest = PlanApply;

TEST_F(PlanApplyDeathTest, AllocationsOutsideOfChainsAbort) {
  add_nodes(1);
  for (int i = 0; i < 11; ++i) place(0);  // one too many
  plan_.allocs[9].next_on_node = kNoRow;  // the last one is in no chain: ten fit
  EXPECT_EXIT(commit(), ::testing::KilledBySignal(SIGABRT), "are_all_in_chains");
}

TEST_F(PlanApplyDeathTest, UpdatesWithUnknownResourcesAbort) {
  add_nodes(1);
  place(0);
  commit();
  const auto shape = with_port(80);
  PlannedUpdate& update = plan_.updates.emplace_back();
  update.alloc = 0;
  update.held = shape.get();  // of no group of the job, and without an owner
  EXPECT_EXIT(commit(), ::testing::KilledBySignal(SIGABRT), "shape\\.get\\(\\) == update\\.held");
}

TEST(SubmissionDeathTest, SecondAnswersAbort) {  // a second answer would be that of the worker's next plan
  Submission plan;
  plan.answer();
  EXPECT_EXIT(plan.answer(), ::testing::KilledBySignal(SIGABRT), "answered_");
}

TEST_F(PlanApply, EmptyPlansAreFoundBeforeInvalidEntries) {  // R-CTRL-618, 621, 704, 707
  add_nodes(1);
  model::Deployment stored;
  stored.id = base::to_text(uuid(4, 1)), stored.namespace_ = "default", stored.job_id = "a", stored.status = "running";
  stored.task_groups["g"].emplace().promoted = true;
  {
    tables::Commit commit = store_.begin_commit(11);
    commit.upsert_deployment(stored);
  }
  auto undone = std::make_shared<model::Deployment>(stored);
  undone->task_groups["g"]->promoted = false;
  const auto submit = [&](bool fits, bool with_deployment, base::Uuid eval, bool all_at_once) {
    for (int i = 0; i < (fits ? 1 : 11); ++i) place(0);
    plan_.has_deployment = with_deployment;
    if (with_deployment) plan_.deployment = undone;
    CommitFacts facts;
    facts.index = store_.index() + 1, facts.eval = eval, facts.all_at_once = all_at_once;
    applier_.apply(plan_, facts, result_);
    plan_.clear();
    plan_.job = job_;
    EXPECT_EQ(result_.committed, 0u);
    return result_.error;
  };
  EXPECT_EQ(submit(true, true, {}, false), model::kPromotionUndone);
  EXPECT_EQ(submit(false, true, {}, false), model::kPromotionUndone);
  EXPECT_TRUE(result_.rejected_nodes.empty()) << "an error is all that is answered";
  EXPECT_EQ(submit(false, true, {}, true), "") << "the rejected node takes the deployment with it";
  EXPECT_EQ(result_.rejected_nodes.size(), 1u);
  EXPECT_NE(submit(true, false, uuid(9, 9), false), "") << "the evaluation is not there";
  store_.insert_plain({.id = uuid(2, 99), .node = 0, .job = job_, .shape = nullptr, .cold = nullptr}, 12);
  plan_.updates.push_back({.alloc = 0});  // with the rejected node, it goes
  plan_.stops.push_back({.alloc = 0});
  EXPECT_EQ(submit(false, false, uuid(9, 9), false), "") << "updates and stops of the rejected node are left out";
  EXPECT_EQ(submit(false, false, uuid(9, 9), false), "") << "nothing is left that an entry would be written for";
  EXPECT_EQ(result_.rejected_nodes.size(), 1u);
}

TEST_F(PlanApply, OmitsEverythingOnARejectedNode) {  // R-CTRL-615, 617
  add_nodes(3);
  place(2);
  for (int i = 0; i < 11; ++i) place(1);
  place(0);
  commit();
  EXPECT_EQ(result_.committed, 2u);
  EXPECT_EQ(result_.refused, 11u);
  EXPECT_EQ(result_.rejected_nodes, std::vector<tables::NodeRow>{1});
  EXPECT_EQ(result_.reasons, std::vector<std::string>{"cpu"});
  EXPECT_EQ(result_.refresh_index, result_.index);
  EXPECT_EQ(store_.current().nodes.use[1].alloc_count, 0u);
}

TEST_F(PlanApply, NothingIsCommittedOfAnEmptyOrRefusedPlan) {  // R-CTRL-621
  add_nodes(1);
  store_.set_node_state(0, NodeStatus::ready, false, false, 10);
  commit();
  EXPECT_EQ(result_.index, 0u);
  place(0);
  commit();
  EXPECT_EQ(result_.index, 0u);
  EXPECT_EQ(store_.index(), 10u);
  EXPECT_EQ(result_.reasons, std::vector<std::string>{"node is not eligible"});
}

TEST_F(PlanApply, AllAtOnceMeansAllOrNothing) {  // R-CTRL-618
  add_nodes(3);
  for (const tables::NodeRow node : {tables::NodeRow(2), tables::NodeRow(0), tables::NodeRow(1)}) place(node);
  for (const tables::NodeRow node : {tables::NodeRow(2), tables::NodeRow(1)})
    store_.set_node_state(node, NodeStatus::down, true, false, 10);
  commit(true);
  EXPECT_EQ(result_.committed, 0u);
  EXPECT_EQ(result_.refused, 3u);
  EXPECT_EQ(result_.index, 0u);
  EXPECT_EQ(result_.rejected_nodes, std::vector<tables::NodeRow>{1});  // the first in ID order; checking stops there
  EXPECT_EQ(result_.refresh_index, 10u);
  EXPECT_EQ(store_.current().allocs.size(), 0u);
}

TEST_F(PlanApply, ReasonsFollowTheNodesStatus) {  // R-CTRL-610, in ascending node ID (R-CTRL-608)
  add_nodes(5);
  store_.set_node_state(0, NodeStatus::disconnected, true, false, 10);
  store_.set_node_state(1, NodeStatus::down, true, false, 10);
  store_.set_node_state(2, NodeStatus::initializing, true, false, 10);
  store_.set_node_state(3, NodeStatus::ready, false, false, 10);
  store_.begin_commit(10).remove_node(4);
  for (const tables::NodeRow node :
       {tables::NodeRow(4), tables::NodeRow(2), tables::NodeRow(0), tables::NodeRow(3), tables::NodeRow(1)})
    place(node);
  commit();
  EXPECT_EQ(result_.reasons,
            (std::vector<std::string>{"node is disconnected and contains invalid updates",
                                      "node is down and contains invalid updates", "node is not ready for placements",
                                      "node is not eligible", "node does not exist"}));
  EXPECT_EQ(result_.rejected_nodes, (std::vector<tables::NodeRow>{0, 1, 2, 3, 4}));
}

TEST_F(PlanApply, TooManyAllocationsAreAnError) {  // R-CTRL-614
  add_nodes(2);
  store_.begin_commit().upsert_node(node_of(2, 3));
  for (int i = 0; i < 4; ++i) place(1);
  place(0);
  commit();
  EXPECT_EQ(result_.error, "1 error occurred:\n\t* plan exceeds max allocation\n\n");
  EXPECT_EQ(result_.committed, 0u);
  EXPECT_EQ(result_.refused, 5u);
  EXPECT_EQ(store_.current().allocs.size(), 0u);
}

TEST_F(PlanApply, StoppedAllocationsFreeTheirResources) {  // R-CTRL-612
  add_nodes(1);
  for (int i = 0; i < 10; ++i) place(0);
  commit();
  store_.begin_commit(12).set_desired_status(
      3, tables::Desired::stop);  // still running on the client: the columns count it
  place(0);
  commit();
  EXPECT_EQ(result_.committed, 1u);
  place(0);
  plan_.stops.push_back({.alloc = 4});
  commit();
  EXPECT_EQ(result_.committed, 1u);
  EXPECT_EQ(result_.stopped, 1u);
  EXPECT_EQ(store_.current().allocs.desired[4], tables::Desired::stop);
  place(0);
  commit();
  EXPECT_EQ(result_.reasons, std::vector<std::string>{"cpu"});
}

TEST_F(PlanApply, StopsOnARejectedNodeAreDropped) {  // R-CTRL-615; of a node with stops alone never (R-CTRL-609)
  add_nodes(2);
  place(0);
  place(1);
  commit();
  for (const tables::NodeRow node : {tables::NodeRow(0), tables::NodeRow(1)})
    store_.set_node_state(node, NodeStatus::down, true, false, 11);
  plan_.stops.push_back({.alloc = 0, .client = tables::Client::lost});
  plan_.stops.push_back({.alloc = 1, .client = tables::Client::lost});
  place(0);
  commit();
  EXPECT_EQ(result_.stopped, 1u);
  EXPECT_EQ(store_.current().allocs.desired[0], tables::Desired::run);
  EXPECT_EQ(store_.current().allocs.client[1], tables::Client::lost);
  EXPECT_EQ(store_.current().nodes.use[1].cpu_mhz, 0);
}

TEST_F(PlanApply, AStoppedAllocationBecomesUnknown) {  // R-CTRL-704, 713
  add_nodes(1);
  place(0);
  commit();
  store_.set_node_state(0, NodeStatus::disconnected, true, false, 12);
  plan_.updates.push_back({.alloc = 0, .kind = PlannedUpdate::Kind::unknown});
  plan_.stops.push_back({.alloc = 0});
  commit();
  const model::Allocation after = tables::to_alloc(store_.current(), 0);
  EXPECT_EQ(after.desired_status, "stop");
  EXPECT_EQ(after.client_status, "unknown");
  EXPECT_EQ(after.client_description, model::kUnknownNode);
}

TEST_F(PlanApply, AnEvictionOverridesAStop) {  // R-CTRL-606, 701, 704, 713
  add_nodes(1);
  struct Case {
    const char *before, *after;
  };
  // Both entries are made from the stored allocation; the eviction is written last. Its client status is used if it is
  // `lost` or `unknown`; otherwise that of the stop stays.
  for (const Case& c : {Case{"running", "lost"}, Case{"unknown", "unknown"}}) {
    SCOPED_TRACE(c.before);
    model::Allocation victim = testing::make_alloc({.id = base::to_text(uuid(5, next_++)),
                                                    .job = job_of("b"),
                                                    .node_id = base::to_text(store_.current().nodes.id(0)),
                                                    .client = c.before});
    victim.alloc_states.push_back({0, "unknown", base::Time{5}});
    victim.followup_eval_id = base::to_text(uuid(6, 1));
    PlannedStop& stop = plan_.stops.emplace_back();
    stop.alloc = store_.begin_commit().insert_alloc(victim);
    stop.description = tables::Description::lost, stop.client = tables::Client::lost, stop.followup = 0;
    plan_.followups = {uuid(6, 2)};
    place(0);
    PlannedStop& eviction = plan_.stops.emplace_back();
    eviction.alloc = plan_.stops.front().alloc, eviction.evict = true, eviction.by = 0;
    const std::string by = base::to_text(plan_.allocs[0].id);
    commit();
    const model::Allocation after = tables::to_alloc(store_.current(), store_.find_alloc(victim.id));
    EXPECT_EQ(after.desired_status, "evict");
    EXPECT_EQ(after.desired_description, "Preempted by alloc ID " + by);
    EXPECT_EQ(after.preempted_by_allocation, by);
    EXPECT_EQ(after.client_status, c.after);
    EXPECT_EQ(after.alloc_states.size(), 1U);
    EXPECT_EQ(after.followup_eval_id, victim.followup_eval_id);
  }
}

TEST_F(PlanApply, PortsCollide) {  // R-CTRL-613
  add_nodes(1);
  place(0, with_port(8080));
  commit();
  EXPECT_EQ(result_.committed, 1u) << (result_.reasons.empty() ? "" : result_.reasons[0]);
  place(0, with_port(8081));
  commit();
  EXPECT_EQ(result_.committed, 1u) << (result_.reasons.empty() ? "" : result_.reasons[0]);
  place(0, with_port(8080));
  commit();
  ASSERT_EQ(result_.reasons.size(), 1u);
  EXPECT_TRUE(result_.reasons[0].starts_with("reserved alloc port collision: ")) << result_.reasons[0];
}

TEST_F(PlanApply, AgreesWithASlowOracle) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlanApply::store_.~StateStore();
    new (&store_) tables::StateStore();
    std::mt19937 random(seed);
    add_nodes(6);
    struct Alloc {
      tables::NodeRow node;
      bool live = true;
    };
    std::vector<Alloc> oracle;
    for (int step = 0; step < 200; ++step) {
      if (!oracle.empty() && random() % 2) {
        const std::size_t row = random() % oracle.size();
        oracle[row].live = false;
        store_.set_client_status(static_cast<tables::AllocRow>(row), tables::Client::complete, store_.index() + 1);
      }
      std::vector<std::uint32_t> running(6), planned(6);
      for (const Alloc& alloc : oracle) running[alloc.node] += alloc.live;
      for (std::uint32_t i = random() % 8; i > 0; --i) {
        const auto node = static_cast<tables::NodeRow>(random() % 6);
        place(node);
        ++planned[node];
      }
      std::uint32_t expected = 0;
      for (const PlannedAlloc& alloc : plan_.allocs)
        if (running[alloc.node] + planned[alloc.node] <= 10) {
          oracle.push_back({alloc.node});
          ++expected;
        }
      commit();
      ASSERT_EQ(result_.committed, expected);
      ASSERT_EQ(store_.current().allocs.size(), oracle.size());
    }
  }
}

TEST_F(PlanApply, OnlyNodesChangedSinceAnEarlyCheckAreChecked) {
  add_nodes(20);
  std::mt19937 random(7);
  const auto any_node = [&] { return static_cast<tables::NodeRow>(random() % 20); };
  EarlyCheck early;
  std::uint32_t known = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 4; ++i)
      place(any_node(), i == 0 ? with_port(1 + static_cast<std::int64_t>(random() % 4)) : nullptr);
    const tables::SnapshotRef before = store_.snapshot();
    early.run(*before, plan_);
    const PlanRows planned = std::exchange(plan_, {});
    plan_.job = job_;
    for (int i = 0; i < 3; ++i) place(any_node());  // another worker's plan
    commit();
    const tables::NodeRow changed = any_node();
    store_.set_node_state(changed, NodeStatus::ready, random() % 4 != 0, false, store_.index() + 1);
    for (tables::AllocRow row = 0; row < store_.current().allocs.size(); ++row)
      if (random() % 20 == 0) store_.set_client_status(row, tables::Client::complete, store_.index() + 1);

    early.renew(store_.current().nodes, planned);
    for (std::uint32_t i = 0; i < planned.allocs.size(); ++i) known += early.fits(i);
    std::vector<std::pair<tables::NodeRow, std::string>> expected, refusals;
    for (const NodeRefusal& refusal : applier_.check_nodes(store_.current(), planned))
      expected.emplace_back(refusal.node, refusal.reason);
    for (const NodeRefusal& refusal : applier_.check_nodes(store_.current(), planned, &early))
      refusals.emplace_back(refusal.node, refusal.reason);
    ASSERT_EQ(refusals, expected) << "round " << round;
    refused += static_cast<std::uint32_t>(refusals.size());
  }
  EXPECT_GT(known, 400u);
  EXPECT_GT(refused, 50u);
}

TEST_F(PlanApply, ManyChangesInvalidateAnEarlyCheck) {
  add_nodes(2);
  place(0);
  EarlyCheck early;
  const tables::SnapshotRef state = store_.snapshot();
  early.run(*state, plan_);
  for (int i = 0; i < 5000; ++i) store_.set_node_state(1, NodeStatus::ready, i % 2 == 0, false, store_.index() + 1);
  early.renew(store_.current().nodes, plan_);
  EXPECT_FALSE(early.fits(0)) << "checking again costs less";
}

TEST_F(PlanApply, AnEarlyCheckOnAnotherTableIsIgnored) {
  add_nodes(1);
  place(0);
  EarlyCheck early;
  const tables::SnapshotRef state = store_.snapshot();
  early.run(*state, plan_);
  EXPECT_TRUE(early.fits(0));
  tables::StateStore other;
  other.begin_commit().upsert_node(node_of(1));
  early.renew(other.current().nodes, plan_);
  EXPECT_FALSE(early.fits(0));
}

/// An allocation of a random test, by its row.
struct Held {
  tables::NodeRow node;
  std::shared_ptr<const tables::ResourceShape> shape;
  bool live = true;
};

/// Updates in place: the columns decide where they can, with the same verdicts as the rules (R-CTRL-611 to 613).
TEST_F(PlanApply, AgreesWithTheRulesOnUpdates) {
  constexpr tables::NodeRow kNodes = 6;
  add_nodes(kNodes);
  std::mt19937 random(11);
  const auto shape_of = [&]() -> std::shared_ptr<const tables::ResourceShape> {
    if (random() % 4 == 0) return with_port(1 + static_cast<std::int64_t>(random() % 6));
    auto resources = std::make_shared<model::AllocatedResources>();
    resources->tasks["t"].cpu.cpu_shares = 50 + static_cast<std::int64_t>(random() % 200);
    return tables::make_shape(resources);
  };
  std::vector<Held> held;
  network::NetworkIndex index;
  std::size_t refused = 0, updated = 0;
  for (int step = 0; step < 600; ++step) {
    std::vector<std::pair<std::size_t, std::shared_ptr<const tables::ResourceShape>>> updates;  // null: unchanged
    for (std::size_t row = 0; row < held.size(); ++row) {
      if (!held[row].live) continue;
      if (random() % 12 == 0) {
        held[row].live = false;
        store_.set_client_status(static_cast<tables::AllocRow>(row), tables::Client::complete, store_.index() + 1);
      } else if (random() % 3 == 0) {
        updates.emplace_back(row, random() % 2 ? shape_of() : nullptr);
        if (random() % 8 == 0) updates.push_back(updates.back());  // listed twice, it counts twice
      }
    }
    std::vector<Held> planned;
    for (std::uint32_t i = random() % 4; i > 0; --i) {
      planned.push_back({static_cast<tables::NodeRow>(random() % kNodes), shape_of()});
      place(planned.back().node, planned.back().shape);
    }
    for (const auto& [row, shape] : updates) {
      PlannedUpdate& update = plan_.updates.emplace_back();
      update.alloc = static_cast<tables::AllocRow>(row), update.shape = shape, update.held = shape.get();
    }
    const auto has_update = [&](std::size_t row) {
      return std::any_of(updates.begin(), updates.end(), [&](const auto& update) { return update.first == row; });
    };
    std::vector<bool> fits;
    for (tables::NodeRow node = 0; node < kNodes; ++node) {
      std::vector<rank::FitEntry> entries;
      for (std::size_t row = 0; row < held.size(); ++row)
        if (held[row].node == node && held[row].live && !has_update(row))
          entries.push_back({held[row].shape->resources.get(), {}, nullptr});
      for (const auto& [row, shape] : updates)
        if (held[row].node == node)
          entries.push_back({(shape ? shape : held[row].shape)->resources.get(), {}, nullptr});
      bool places = false;
      for (const Held& one : planned)
        if (one.node == node) places = true, entries.push_back({one.shape->resources.get(), {}, nullptr});
      const model::Node& spec = store_.current().nodes.spec(node).node;
      fits.push_back(!places || rank::allocs_fit(spec, network::read_node_ports(spec), entries, true, index).fits());
    }
    std::uint32_t expected = 0;
    for (const auto& [row, shape] : updates) {
      if (!fits[held[row].node]) continue;
      ++expected, ++updated;
      if (shape) held[row].shape = shape;
    }
    for (Held& one : planned)
      if (fits[one.node])
        held.push_back(std::move(one)), ++expected;
      else
        ++refused;
    commit();
    ASSERT_EQ(result_.committed, expected) << "step " << step;
    ASSERT_EQ(store_.current().allocs.size(), held.size());
  }
  EXPECT_GT(refused, 50u);
  EXPECT_GT(updated, 500u);
}

/// The applier first tests whether devices or cores can be held twice at all; this tests the rules themselves.
TEST_F(PlanApply, AgreesWithTheRulesOnDevicesAndCores) {  // R-MODEL-384, 404, 407
  std::size_t refused = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlanApply::store_.~StateStore();
    new (&store_) tables::StateStore();
    std::mt19937 random(seed);
    std::vector<model::Node> nodes;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      model::Node& node = nodes.emplace_back(node_of(i));
      auto& cores = node.node_resources->processors->topology->cores;
      for (std::uint16_t core = 1; core < 6; ++core) cores.push_back({.id = core, .base_speed = 1'000});
      if (i % 2 == 0) node.reserved_resources.emplace().cpu.reserved_cpu_cores = {0};
      model::NodeDevice& device = node.node_resources->devices.emplace_back();
      device.vendor = "nvidia", device.type = "gpu", device.name = "1080ti";
      for (const char* id : {"a", "b", "c"}) {
        model::DeviceInstance& instance = device.instances.emplace_back();
        instance.id = id, instance.healthy = *id != 'c' || i > 2;
      }
      if (i < 4) continue;  // more instances than HeldDevices counts: the lists of the allocations decide
      model::NodeDevice& many = node.node_resources->devices.emplace_back();
      many.vendor = "nvidia", many.type = "gpu", many.name = "many";
      for (int n = 0; n < 450; ++n) {
        model::DeviceInstance& instance = many.instances.emplace_back();
        instance.id = "many-" + std::to_string(n), instance.healthy = true;
      }
    }
    for (const model::Node& node : nodes) store_.begin_commit().upsert_node(node);
    plan_.job = job_ = store_.upsert_job(job_of("a"), true);
    store_.set_index(10);
    std::vector<Held> held;
    network::NetworkIndex index;
    for (int step = 0; step < 60; ++step) {
      if (!held.empty() && random() % 2) {
        const std::size_t row = random() % held.size();
        held[row].live = false;
        store_.set_client_status(static_cast<tables::AllocRow>(row), tables::Client::complete, store_.index() + 1);
      }
      std::vector<Held> planned;
      for (std::uint32_t i = random() % 4; i > 0; --i) {
        auto resources = std::make_shared<model::AllocatedResources>();
        for (const char* name : {"t", "u"}) {
          auto& task = resources->tasks[name];
          task.cpu.cpu_shares = 10;
          if (random() % 3 == 0) task.cpu.reserved_cores = {static_cast<std::uint16_t>(random() % 7)};
          if (random() % 2) continue;
          model::AllocatedDevice& device = task.devices.emplace_back();
          device.vendor = "nvidia", device.type = "gpu", device.name = random() % 8 ? "1080ti" : "unknown";
          for (std::uint32_t n = random() % 3; n > 0; --n) device.device_ids.emplace_back(1, "abcd"[random() % 4]);
        }
        planned.push_back({static_cast<tables::NodeRow>(random() % nodes.size()), tables::make_shape(resources)});
        place(planned.back().node, planned.back().shape);
      }
      std::vector<bool> fits;
      for (tables::NodeRow node = 0; node < nodes.size(); ++node) {
        std::vector<rank::FitEntry> entries;
        for (const auto* list : {&held, &planned})
          for (const Held& one : *list)
            if (one.node == node && one.live) entries.push_back({one.shape->resources.get(), {}, nullptr});
        const model::Node& spec = store_.current().nodes.spec(node).node;
        fits.push_back(rank::allocs_fit(spec, network::read_node_ports(spec), entries, true, index).fits());
      }
      std::uint32_t expected = 0;
      for (Held& one : planned)
        if (fits[one.node])
          held.push_back(std::move(one)), ++expected;
        else
          ++refused;
      commit();
      ASSERT_EQ(result_.committed, expected) << "step " << step;
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST_F(PlanApply, AllocatesPerChunkNotPerPlacement) {
  add_nodes(1000);
  PlanRows plan;
  const auto& shape = store_.current().jobs.versions[job_]->groups[0].shape;
  ApplyResult result;
  std::uint64_t counted = 0;
  constexpr std::uint32_t kCommits = 90, kPerCommit = 100;
  for (std::uint32_t c = 0; c < kCommits; ++c) {
    plan.clear();
    plan.job = job_;
    for (std::uint32_t i = 0; i < kPerCommit; ++i) {
      PlannedAlloc& alloc = plan.allocs.emplace_back();
      alloc.id = uuid(2, c * kPerCommit + i);
      alloc.node = tables::NodeRow((c % 10) * 100 + i);
      alloc.shape = shape;
      alloc.held = alloc.shape.get();
      alloc.first_on_node = true;
    }
    const std::uint64_t before = berth::testing::heap_allocations.load();
    applier_.apply(plan, store_.index() + 1, false, result);
    counted += berth::testing::heap_allocations.load() - before;
    ASSERT_EQ(result.committed, kPerCommit);
  }
#ifdef NDEBUG  // debug builds check the tables after each plan, which allocates
  // Fifteen columns grow by a chunk (over-aligned, so not counted here) and its reference count every 1,024 rows, and
  // by a page every 65,536.
  EXPECT_LE(counted, 9'000u / 1'024 * 15 * 2 + 120) << "for 9,000 placements";
#endif
}

TEST_F(PlanApply, JobRecordsFollowEachCommit) {  // R-CTRL-715, 716, 720, 722, 723
  add_nodes(100);
  fsm::StateLog log(store_);
  log.seen(store_.index());
  fsm::Hooks hooks;
  ASSERT_EQ(log.apply(11, fsm::JobRegisterEntry{.job = job_of("b")}, hooks), "");
  EXPECT_EQ(log.job("default", "b")->status, "pending");
  applier_.keep_records(log);
  plan_.job = job_ = store_.current().jobs.keys[store_.find_job_key("default", "b")].current;
  const auto counts = [&] { return *log.record("default", "b")->summary->groups.find("g"); };
  for (tables::NodeRow node = 0; node < 100; ++node) place(node);
  commit();
  EXPECT_EQ(counts()[fsm::Bin::starting], 100);
  EXPECT_EQ(log.job("default", "b")->status, "running");
  EXPECT_EQ(log.job("default", "b")->modify_index, result_.index);
  EXPECT_EQ(log.next_index(), result_.index + 1);

  for (tables::AllocRow row = 0; row < 100; ++row)
    plan_.stops.push_back({.alloc = row, .description = tables::Description::lost, .client = tables::Client::lost});
  commit();
  EXPECT_EQ(counts()[fsm::Bin::starting], 0);
  EXPECT_EQ(counts()[fsm::Bin::lost], 100);
  EXPECT_EQ(log.job("default", "b")->status, "pending");  // no live allocation, and no evaluation was ever created

  for (tables::NodeRow node = 0; node < 100; ++node) place(node);
  commit();
  for (tables::NodeRow node = 0; node < 100; ++node) place(node);
  const std::uint64_t before = berth::testing::heap_allocations.load();
  applier_.apply(plan_, store_.index() + 1, false, result_);
  const std::uint64_t counted = berth::testing::heap_allocations.load() - before;
  ASSERT_EQ(result_.committed, 100u);
  EXPECT_EQ(counts()[fsm::Bin::starting], 200);
#ifdef NDEBUG
  EXPECT_LE(counted, 10u) << "for 100 placements whose job stays as it was";
#else
  static_cast<void>(counted);  // debug builds check the tables after each plan, which allocates
#endif
}

}  // namespace
}  // namespace berth::plan
