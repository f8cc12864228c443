// Quirks of checks, ranking and preemption (parts 02, 03 and 04) in one placement, and behaviour that no setting
// changes.
#include <gtest/gtest.h>

#include "model/job.h"
#include "quirks/quirk_test.h"
#include "rank/score_fit.h"
#include "sched/small_world.h"

namespace berth::sched {
namespace {

using Names = std::vector<std::string>;
using Reasons = std::map<std::string, std::int64_t>;

struct QuirkWorld : SmallWorld {
  explicit QuirkWorld(const model::Quirks& quirks) { options.quirks = quirks; }

  /// "<group>[<index>]@<node>" of the new allocations, sorted.
  [[nodiscard]] Names where() const {
    Names out;
    for (const model::Allocation& alloc : placed())
      if (alloc.client_status == "pending")
        out.push_back(alloc.name.substr(alloc.name.find('.') + 1) + "@" + alloc.node_name);
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] model::AllocMetric metrics(const std::string& group = "web") const {
    for (const model::Allocation& alloc : placed())
      if (alloc.task_group == group && alloc.client_status == "pending") return *alloc.metrics;
    ADD_FAILURE() << "no placement of " << group;
    return {};
  }
  [[nodiscard]] model::AllocMetric failure(const std::string& group = "web") const {
    const auto found = updated.failed_tg_allocs.find(group);
    return found == updated.failed_tg_allocs.end() ? model::AllocMetric() : found->second;
  }
  /// The score of node `n<number>` in the placement of a group; -99 if there is none.
  [[nodiscard]] double score(std::size_t number, const char* component, const std::string& group = "web") const {
    for (const model::ScoreMeta& meta : metrics(group).score_meta_data)
      if (meta.node_id == state.nodes[number].id)
        if (const auto found = meta.scores.find(component); found != meta.scores.end()) return found->second;
    return -99;
  }
  /// IDs, as positions in `state.allocs`, of those the plan evicts, in order.
  [[nodiscard]] std::vector<std::size_t> evicted() const {
    std::vector<std::size_t> out;
    if (plans.empty()) return out;
    for (const model::Allocation& entry : entries(plans.back().node_preemptions))
      for (std::size_t i = 0; i < state.allocs.size(); ++i)
        if (state.allocs[i].id == entry.id) out.push_back(i);
    return out;
  }
  void enable_preemption() {
    state.scheduler_config->preemption_config.service_scheduler_enabled = true;
    state.scheduler_config->preemption_config.system_scheduler_enabled = true;
  }
  /// An allocation of another job that uses `cpu` MHz and 64 MiB of a node.
  model::Allocation& add_other(const char* id, std::size_t node, std::int64_t cpu, std::int64_t priority = 20) {
    std::shared_ptr<const model::Job> of;
    for (const auto& job : state.jobs)
      if (job->id == id) of = job;
    if (!of) {
      auto other = SmallWorld::job("service", 1);
      other->id = other->name = id;
      other->priority = priority;
      of = other;
      const std::string type = eval.type;
      store(of);
      eval.type = type;
    }
    model::Allocation& alloc = add(of, node, 0);
    alloc.allocated_resources->tasks["t"].cpu.cpu_shares = cpu;
    return alloc;
  }
};

std::shared_ptr<model::Job> asking(std::int64_t count, std::int64_t cpu, std::int64_t memory) {
  auto job = SmallWorld::job("service", count);
  job->task_groups[0].tasks[0].resources->cpu = cpu;
  job->task_groups[0].tasks[0].resources->memory_mb = memory;
  return job;
}

model::Constraint constraint(const char* left, const char* operand, const char* right) {
  model::Constraint out;
  out.ltarget = left, out.operand = operand, out.rtarget = right;
  return out;
}

model::Spread spread(const char* attribute, std::int8_t weight, std::vector<model::SpreadTarget> targets = {}) {
  model::Spread out;
  out.attribute = attribute, out.weight = weight, out.targets = std::move(targets);
  return out;
}

// ---------------------------------------------------------------- part 02

QUIRK_TEST(group_inherits_network, AGroupWithoutNetworkInheritsOne) {  // R-FEAS-309
  QuirkWorld w(quirks);
  w.add_node().node_resources->networks[0].mode = "bridge";
  w.add_node();
  const auto job = SmallWorld::job("service", 1, 0, {"web", "api"});
  job->task_groups[0].networks.emplace_back().mode = "bridge";
  w.store(job);
  w.run();
  EXPECT_EQ(w.where(), !off ? (Names{"api[0]@n0", "web[0]@n0"}) : (Names{"api[0]@n1", "web[0]@n0"}));

  QuirkWorld system(quirks);
  system.add_node().node_resources->networks.emplace_back().mode = "bridge";
  system.add_node();
  const auto everywhere = SmallWorld::job("system", 1, 0, {"web", "api"});
  everywhere->task_groups[0].networks.emplace_back().mode = "bridge";
  system.store(everywhere);
  system.run();
  EXPECT_EQ(system.where(), !off ? (Names{"api[0]@n0", "web[0]@n0"}) : (Names{"api[0]@n0", "api[0]@n1", "web[0]@n0"}));
}

QUIRK_TEST(limit_stays_raised,
           ARaisedLimitStays) {  // R-FEAS-217, R-RANK-404: 8 nodes, so the limit is 3 without wishes
  QuirkWorld w(quirks);
  for (int i = 0; i < 8; ++i) w.add_node();
  const auto job = SmallWorld::job("service", 1, 0, {"web", "api"});
  job->task_groups[0].affinities.push_back({"${node.datacenter}", "dc1", "=", 50});
  w.store(job);
  w.run();
  EXPECT_EQ(w.metrics("web").nodes_evaluated, 8);
  EXPECT_EQ(w.metrics("api").nodes_evaluated, !off ? 8 : 3);
}

QUIRK_TEST(verdicts_per_class, DriversDevicesAndNetworkAreDecidedOncePerClass) {  // R-FEAS-414
  struct Case {
    const char* name;
    void (*ask)(model::TaskGroup&);
    void (*give)(model::Node&, bool);
    const char* reason;
  };
  for (const Case& c : {Case{"drivers", [](model::TaskGroup&) {},
                             [](model::Node&node, bool good) {
                               auto& driver = node.drivers["exec"].emplace();
                               driver.detected = true, driver.healthy = good;
                             },
                             "missing drivers"},
                        Case{"devices",
                             [](model::TaskGroup&group) {
                               auto& device = group.tasks[0].resources->devices.emplace_back();
                               device.name = "gpu", device.count = 1;
                             },
                             [](model::Node&node, bool good) {
                               auto& device = node.node_resources->devices.emplace_back();
                               device.vendor = "v", device.type = "gpu", device.name = "a";
                               auto& instance = device.instances.emplace_back();
                               instance.id = "0", instance.healthy = good;
                             },
                             "missing devices"},
                        Case{"network", [](model::TaskGroup&group) { group.networks.emplace_back().mode = "bridge"; },
                             [](model::Node&node, bool good) {
                               if (good) node.node_resources->networks.emplace_back().mode = "bridge";
                             },
                             "missing network"}})
    for (const bool general : {false, true}) {
      SCOPED_TRACE(std::string(c.name) + (off ? " off" : " on") + (general ? " general" : ""));
      const bool nomad = !off;
      const auto world = [&](std::initializer_list<bool> good) {
        auto w = std::make_unique<QuirkWorld>(quirks);
        for (const bool is_good : good) {
          model::Node& node = w->add_node();
          node.computed_class = "v1:one";
          c.give(node, is_good);
        }
        const auto job = SmallWorld::job("service", 2);
        c.ask(job->task_groups[0]);
        job->task_groups[0].tasks[0].resources->cpu = 3000;  // one per node
        // A constraint that all nodes meet, and that two nodes can only meet on the general path.
        if (general) job->task_groups[0].constraints.push_back(constraint("", "distinct_hosts", ""));
        w->store(job);
        w->run();
        return w;
      };
      // The first one decides for its class, in both directions.
      const auto bad_first = world({false, true, true});
      EXPECT_EQ(bad_first->where(), nomad ? Names{} : (Names{"web[0]@n1", "web[1]@n2"}));
      if (nomad) {
        EXPECT_EQ(bad_first->failure().constraint_filtered, (Reasons{{c.reason, 1}, {"computed class ineligible", 2}}));
      }
      if (std::string_view(c.name) != "devices") {  // those are also counted in ranking
        const auto good_first = world({true, false});
        EXPECT_EQ(good_first->where(), nomad ? (Names{"web[0]@n0", "web[1]@n1"}) : (Names{"web[0]@n0"}));
      }
      const auto bad = world({false, false});
      EXPECT_EQ(bad->failure().constraint_filtered,
                nomad ? (Reasons{{c.reason, 1}, {"computed class ineligible", 1}}) : (Reasons{{c.reason, 2}}));
      ASSERT_EQ(bad->created.size(), 1U);
      EXPECT_EQ(bad->created[0].class_eligibility->at("v1:one"), !nomad);
    }
}

/// Service versions 1 (promoted, its job changed by the test) and 2; an allocation of version 1 was lost next to a
/// canary of version 2, and group `db` of version 2 has room for one more. `web` is placed first, as version 1.
struct TwoVersions : QuirkWorld {
  std::shared_ptr<model::Job> older, newer;
  explicit TwoVersions(const model::Quirks& quirks) : QuirkWorld(quirks) {
    add_node();
    add_node().status = "down";
    older = canary_job(1), newer = canary_job(2);
  }
  void run_both() {
    store(older), store(newer);
    add(older, 1, 0);
    add_canary(newer).create_index = 999;
    auto& promoted = add_deployment(older, "successful").task_groups["web"].emplace();
    promoted.desired_canaries = 1, promoted.promoted = true;
    run();
  }
};

QUIRK_TEST(verdicts_outlive_version, VerdictsAndPropertySetsOutliveASwitchOfVersion) {  // R-FEAS-413, 1403, 1404
  struct Case {
    const char* name;
    void (*change)(model::Job& older, model::Job& newer);
  };
  for (const Case& c : {Case{"job verdicts",
                             [](model::Job&older, model::Job&) {
                               older.constraints.push_back(constraint("${meta.rack}", "is_set", ""));
                             }},
                        Case{"property sets", [](model::Job&older, model::Job&) {
                               older.constraints.push_back(constraint("${meta.rack}", "distinct_property", ""));
                             }}}) {
    SCOPED_TRACE(std::string(c.name) + (off ? " off" : " on"));
    TwoVersions w(quirks);
    c.change(*w.older, *w.newer);
    w.run_both();
    EXPECT_TRUE(w.updated.failed_tg_allocs.contains("web"));  // version 1 finds no node in either case
    EXPECT_EQ(w.where(), !off ? Names{} : Names{"db[0]@n0"});
  }
}

QUIRK_TEST(system_escapes_lost, TheSystemStackLosesGroupEscapes) {  // R-FEAS-412
  QuirkWorld w(quirks);
  w.add_node();
  const auto job = SmallWorld::job("system", 1);
  job->task_groups[0].constraints.push_back(constraint("${node.unique.name}", "=", "n0"));
  job->task_groups[0].tasks[0].resources->cpu = 5000;
  w.store(job);
  w.run();
  ASSERT_EQ(w.created.size(), 1U);
  EXPECT_EQ(w.created[0].escaped_computed_class, off);
  EXPECT_EQ(w.created[0].class_eligibility.has_value(), !off);
}

QUIRK_TEST(property_counts_skewed, PropertiesCountInPlaceUpdatesTwice) {  // R-FEAS-1409: two of rack r1 may be
  QuirkWorld w(quirks);
  w.add_node().meta["rack"] = "r1";
  const auto before = SmallWorld::job("service", 2, 0), after = SmallWorld::job("service", 2, 1);
  after->task_groups[0].constraints.push_back(constraint("${meta.rack}", "distinct_property", "2"));
  w.store(before), w.store(after);
  w.add(before, 0, 0);
  w.run();
  EXPECT_EQ(w.where(), !off ? Names{} : Names{"web[1]@n0"});
  if (!off) {
    EXPECT_EQ(w.failure().constraint_filtered, (Reasons{{"distinct_property: ${meta.rack}=r1 used by 2 allocs", 1}}));
  }
}

QUIRK_TEST(property_counts_skewed,
           PropertiesDiscountStopsOfTheDead) {  // R-FEAS-1405, 1408: one of rack r1 may be, and one runs there
  QuirkWorld w(quirks);
  for (int i = 0; i < 2; ++i) w.add_node().meta["rack"] = "r1";
  const auto job = SmallWorld::job("service", 2);
  job->task_groups[0].constraints.push_back(constraint("${meta.rack}", "distinct_property", ""));
  auto& policy = job->task_groups[0].reschedule_policy.emplace();
  policy.unlimited = true;
  w.store(job);
  w.add(job, 0, 0);
  w.add(job, 1, 1, "failed");
  w.run();
  EXPECT_EQ(w.where().size(), !off ? 1U : 0U);
}

QUIRK_TEST(reasons_of_evicting_pass, FailureReasonsAreThoseOfThePreemptingPass) {  // R-FEAS-1605, R-SCHED-100
  QuirkWorld w(quirks);
  w.enable_preemption();
  for (int i = 0; i < 3; ++i) w.add_node().computed_class = i < 2 ? "v1:one" : "v1:two";
  w.state.nodes[2].meta["rack"] = "r1";
  const auto job = SmallWorld::job("service", 1);
  job->task_groups[0].constraints.push_back(constraint("${meta.rack}", "=", "r1"));
  job->task_groups[0].tasks[0].resources->cpu = 5000;
  w.store(job);
  w.run();
  const model::AllocMetric failure = w.failure();
  EXPECT_EQ(failure.constraint_filtered, !off ? (Reasons{{"computed class ineligible", 2}})
                                              : (Reasons{{"${meta.rack} = r1", 1}, {"computed class ineligible", 1}}));
  EXPECT_EQ(failure.nodes_filtered, 2);
  EXPECT_EQ(failure.dimension_exhausted, (Reasons{{"cpu", 1}}));
}

// ---------------------------------------------------------------- part 03

QUIRK_TEST(anti_affinity_ignores_namespace, AntiAffinityIgnoresTheNamespace) {  // R-RANK-711
  QuirkWorld w(quirks);
  w.add_node();
  const auto job = SmallWorld::job("service", 4), elsewhere = SmallWorld::job("service", 4);
  elsewhere->namespace_ = "other";
  w.store(elsewhere), w.store(job);
  w.add(elsewhere, 0, 0).namespace_ = "other";
  w.run();
  ASSERT_EQ(w.where().size(), 4U);
  EXPECT_EQ(w.score(0, "job-anti-affinity"), !off ? -0.5 : 0);
}

QUIRK_TEST(property_counts_skewed,
           SpreadsCountInPlaceUpdatesTwice) {  // R-RANK-819, 831: two of four are wanted on rack r1
  QuirkWorld w(quirks);
  w.add_node().meta["rack"] = "r1";
  const auto before = SmallWorld::job("service", 4, 0), after = SmallWorld::job("service", 4, 1);
  after->task_groups[0].spreads.push_back(spread("${meta.rack}", 100, {{"r1", 50}}));
  w.store(before), w.store(after);
  w.add(before, 0, 0);
  w.run();
  ASSERT_EQ(w.where().size(), 3U);
  EXPECT_EQ(w.score(0, "allocation-spread"), !off ? (2.0 - 3) / 2 : -99);  // 0 is not logged
}

QUIRK_TEST(property_counts_skewed,
           SpreadsDiscountStopsOfTheDead) {  // R-RANK-814, 819: one runs on rack r1, one failed there
  QuirkWorld w(quirks);
  w.add_node().meta["rack"] = "r1";
  const auto job = SmallWorld::job("service", 2);
  job->task_groups[0].spreads.push_back(spread("${meta.rack}", 100, {{"r1", 100}}));
  job->task_groups[0].reschedule_policy.emplace().unlimited = true;
  w.store(job);
  w.add(job, 0, 0);
  w.add(job, 0, 1, "failed");
  w.run();
  ASSERT_EQ(w.where().size(), 1U);
  EXPECT_EQ(w.score(0, "allocation-spread"), !off ? 0.5 : -99);
}

QUIRK_TEST(spread_state_grows, TheSpreadWeightSumGrowsOverGroups) {  // R-RANK-823, 832, example E11
  QuirkWorld w(quirks);
  w.add_node();
  const auto job = SmallWorld::job("service", 5, 0, {"web", "api"});
  for (model::TaskGroup& group : job->task_groups)
    group.spreads.push_back(spread("${node.datacenter}", 50, {{"dc1", 100}}));
  w.store(job);
  w.run();
  EXPECT_EQ(w.score(0, "allocation-spread", "web"), 0.8);
  EXPECT_EQ(w.score(0, "allocation-spread", "api"), !off ? 0.4 : 0.8);
}

QUIRK_TEST(even_spread_unweighted, EvenSpreadIsNotWeighted) {  // R-RANK-831 step 4
  QuirkWorld w(quirks);
  w.add_node("dc1").node_class = "x", w.add_node("dc2").node_class = "x";
  const auto job = SmallWorld::job("service", 2);
  job->datacenters = {"*"};
  job->task_groups[0].spreads = {spread("${node.datacenter}", 25), spread("${node.class}", 75, {{"x", 100}})};
  w.store(job);
  w.add(job, 0, 0);
  w.run();
  ASSERT_EQ(w.where(), Names{"web[1]@n1"});
  // +1 for the datacenter not used yet, -1 for the other one; the class has one of two, which counts 0.
  EXPECT_EQ(w.score(1, "allocation-spread"), !off ? 1 : 0.25);
  EXPECT_EQ(w.score(0, "allocation-spread"), !off ? -1 : -0.25);
}

// ---------------------------------------------------------------- part 04

QUIRK_TEST(fit_counts_victims, TheFitScoreCountsTheVictims) {  // R-RANK-647, 532, R-PREEMPT-705
  for (const bool by_limit : {false, true})
    for (const bool special : {false, true}) {
      QuirkWorld w(quirks);
      w.enable_preemption();
      model::Node& node = w.add_node();
      if (by_limit) node.node_max_allocs = 1;
      w.add_other("low", 0, 3000);
      const auto job = asking(1, 2000, 2048);
      if (special) job->task_groups[0].networks.emplace_back().mode = "host";
      w.store(job);
      w.run();
      ASSERT_EQ(w.evicted().size(), 1U);
      const double with_victim = rank::fit_component(rank::FitAlgorithm::binpack, 5000, 4000, 2112, 4096);
      const double half = rank::fit_component(rank::FitAlgorithm::binpack, 2000, 4000, 2048, 4096);
      const double nomad = by_limit ? 0 : with_victim;
      EXPECT_EQ(w.score(0, "binpack"), !off ? nomad : half) << by_limit << special;
    }
}

QUIRK_TEST(own_use_ignored, OwnAllocationsAreNotSubtracted) {  // R-PREEMPT-403, example E4
  struct Case {
    std::int64_t other, own;         // MHz, two of each, on a node of 4000
    std::size_t evicted_nomad, off;  // with one of 800 gone the second node is over-committed
  };
  for (const Case& c : {Case{1000, 1500, 1, 1}, Case{800, 2000, 1, 2}})
    for (const bool planned : {false, true}) {  // the job's own allocations exist already, or the same plan places them
      SCOPED_TRACE(c.own);
      QuirkWorld w(quirks);
      w.enable_preemption();
      w.add_node();
      w.add_other("low", 0, c.other), w.add_other("lower", 0, c.other);
      const auto job = asking(2, c.own, 64);
      w.store(job);
      if (!planned) w.add(job, 0, 0).allocated_resources->tasks["t"].cpu.cpu_shares = c.own;
      w.run();
      EXPECT_EQ(w.where().size(), planned ? 2U : 1U);
      EXPECT_EQ(w.evicted().size(), !off ? c.evicted_nomad : c.off);
    }
}

/// A lost allocation of version 1, which needs a host network, is placed before one of version 2, which needs none and
/// inherits that network. No node has room for version 2. Which nodes of a class pass is then decided by the first of
/// them in visiting order, not by ID (R-FEAS-309, 414).
TEST(SelectWithoutQuirks, CachedFailuresDoNotServeAnInheritedNetwork) {
  std::size_t evicted = 0;
  for (std::uint64_t order = 0; order < 40; ++order) {
    Names decided[2];
    for (const bool plain : {false, true}) {
      QuirkWorld w({});
      w.enable_preemption();
      w.order = rank::OrderProvider::nomad;
      w.sources = plain ? sched::EnabledSources() : sched::EnabledSources::none();
      w.eval.id = SmallWorld::id(9, order << 8);
      for (std::size_t i = 0; i < 7; ++i) {
        model::Node& node = w.add_node();
        node.computed_class = i < 4 ? "v1:room" : "v1:full";
        if (i != 4)
          node.node_resources->node_networks.emplace().emplace_back().addresses = {{"ipv4", "pub", "10.0.0.1", "", ""}};
      }
      w.state.nodes[6].status = "down";
      const auto older = SmallWorld::job("service", 2, 1), newer = SmallWorld::job("service", 2, 2);
      older->task_groups[0].networks.emplace_back().dynamic_ports.push_back({"p", 0, 0, "pub", false});
      newer->task_groups[0].tasks[0].resources->cpu = 2000;
      for (const auto& job : {older, newer}) {
        auto& update = job->task_groups[0].update.emplace();
        update.max_parallel = 1, update.canary = 1;
        w.store(job);
      }
      for (std::size_t i = 0; i < 4; ++i) w.add_other("high", i, 3000, 50);
      for (std::size_t i = 4; i < 6; ++i) w.add_other("low", i, 4000);
      w.add(older, 6, 0), w.add(newer, 6, 1);
      w.add_canary(newer).create_index = 999;
      auto& promoted = w.add_deployment(older, "successful").task_groups["web"].emplace();
      promoted.desired_canaries = 1, promoted.promoted = true;
      w.run();
      decided[plain] = w.where();
      evicted += w.evicted().size();
    }
    EXPECT_EQ(decided[true], decided[false]) << order;
  }
  EXPECT_GT(evicted, 0U);
}

QUIRK_TEST(needless_victim, OneVictimMayBeTooFewForTheLimit) {  // R-PREEMPT-406
  QuirkWorld w(quirks);
  w.enable_preemption();
  w.add_node().node_max_allocs = 1;
  w.add_other("low", 0, 100), w.add_other("lower", 0, 100);
  w.store(asking(1, 100, 64));
  w.run();
  EXPECT_EQ(w.evicted().size(), !off ? 1U : 2U);
}

QUIRK_TEST(needless_victim, AtLeastOneVictimEvenWhenNoneIsNeeded) {  // R-PREEMPT-406: a core that two others hold both
  QuirkWorld w(quirks);
  w.enable_preemption();
  model::Node& node = w.add_node();
  auto& topology = *node.node_resources->processors->topology;
  for (std::uint16_t id = 0; id < 4; ++id) {
    auto& core = topology.cores.emplace_back();
    core.id = id, core.base_speed = 1000;
  }
  for (const char* id : {"low", "lower"})
    w.add_other(id, 0, 1000).allocated_resources->tasks["t"].cpu.reserved_cores = {0};
  w.store(asking(1, 100, 64));
  w.run();
  EXPECT_EQ(w.evicted().size(), !off ? 1U : 0U);
  if (off) {
    EXPECT_EQ(w.failure().dimension_exhausted, (Reasons{{"cores", 1}}));
  }
}

QUIRK_TEST(max_parallel_ignored, ThePenaltyOfMaxParallelNeverApplies) {  // R-PREEMPT-413, 414
  QuirkWorld w(quirks);
  w.enable_preemption();
  w.add_node(), w.add_node();
  auto near = SmallWorld::job("service", 2);
  near->id = near->name = "near", near->priority = 20;
  near->task_groups[0].migrate.emplace().max_parallel = 1;
  w.store(near);
  for (std::size_t node : {0, 1}) w.add(near, node, node).allocated_resources->tasks["t"].cpu.cpu_shares = 1000;
  for (std::size_t node : {0, 1}) w.add_other("far", node, 3000);
  const auto job = asking(2, 900, 64);
  job->task_groups[0].constraints.push_back(constraint("", "distinct_hosts", ""));
  w.store(job);
  w.run();
  ASSERT_EQ(w.where().size(), 2U);
  // On the first node the nearer one; on the second, one of its group was evicted before.
  EXPECT_EQ(w.evicted(), !off ? (std::vector<std::size_t>{0, 1}) : (std::vector<std::size_t>{0, 3}));
}

/// A node with one address on eth0.
model::Node& addressed(QuirkWorld& w) {
  model::Node& node = w.add_node();
  model::NetworkResource& network = node.node_resources->networks[0];
  network.ip = "10.0.0.1", network.cidr = "10.0.0.1/32", network.mbits = 1000;
  auto& host = node.node_resources->node_networks.emplace().emplace_back();
  host.mode = "host", host.device = "eth0";
  auto& address = host.addresses.emplace_back();
  address.alias = "default", address.address = "10.0.0.1";
  return node;
}

QUIRK_TEST(port_holders_dropped, HoldersOfPortsAreListedTwice) {  // R-PREEMPT-516
  QuirkWorld w(quirks);
  w.enable_preemption();
  addressed(w);
  model::Allocation& holder = w.add_other("low", 0, 100);
  for (const std::int64_t port : {80, 443}) {
    model::NetworkResource& held = holder.allocated_resources->tasks["t"].networks.empty()
                                       ? holder.allocated_resources->tasks["t"].networks.emplace_back()
                                       : holder.allocated_resources->tasks["t"].networks[0];
    held.device = "eth0", held.ip = "10.0.0.1";
    held.reserved_ports.emplace_back().value = port;
  }
  const auto job = asking(1, 100, 64);
  auto& ask = job->task_groups[0].tasks[0].resources->networks.emplace_back();
  for (const std::int64_t port : {80, 443}) {
    auto& reserved = ask.reserved_ports.emplace_back();
    reserved.label = "p" + std::to_string(port), reserved.value = port;
  }
  w.store(job);
  w.run();
  ASSERT_EQ(w.placed().size(), 1U);
  EXPECT_EQ(w.placed()[0].preempted_allocations.size(), !off ? 2U : 1U);
  EXPECT_EQ(w.evicted().size(), !off ? 2U : 1U);
}

QUIRK_TEST(eviction_forgets_option,
           APortPreemptionForgetsTheOptionsOwnPorts) {  // R-PREEMPT-515: the group and the task both want 80
  QuirkWorld w(quirks);
  w.enable_preemption();
  addressed(w);
  model::NetworkResource& held = w.add_other("low", 0, 100).allocated_resources->tasks["t"].networks.emplace_back();
  held.device = "eth0", held.ip = "10.0.0.1";
  held.reserved_ports.emplace_back().value = 443;
  const auto job = asking(1, 100, 64);
  auto& group_ask = job->task_groups[0].networks.emplace_back();
  group_ask.mode = "host";
  auto& http = group_ask.reserved_ports.emplace_back();
  http.label = "http", http.value = 80, http.host_network = "default";
  auto& task_ask = job->task_groups[0].tasks[0].resources->networks.emplace_back();
  for (const std::int64_t port : {443, 80}) {
    auto& reserved = task_ask.reserved_ports.emplace_back();
    reserved.label = "p" + std::to_string(port), reserved.value = port;
  }
  w.store(job);
  w.run();
  EXPECT_EQ(w.where().size(), !off ? 1U : 0U);
  if (off) {
    EXPECT_EQ(w.failure().dimension_exhausted, (Reasons{{"network: reserved port collision p80=80", 1}}));
  }
}

QUIRK_TEST(eviction_forgets_option, ADevicePreemptionForgetsTheOptionsOwnInstances) {  // R-PREEMPT-608
  QuirkWorld w(quirks);
  w.enable_preemption();
  model::NodeDevice& device = w.add_node().node_resources->devices.emplace_back();
  device.vendor = "v", device.type = "gpu", device.name = "a";
  for (const char* id : {"g1", "g2"}) {
    auto& instance = device.instances.emplace_back();
    instance.id = id, instance.healthy = true;
    w.add_other(id, 0, 100).allocated_resources->tasks["t"].devices.push_back({"v", "gpu", "a", {id}});
  }
  const auto job = asking(1, 100, 64);
  auto& ask = job->task_groups[0].tasks[0].resources->devices.emplace_back();
  ask.name = "gpu", ask.count = 1;
  job->task_groups[0].tasks.push_back(job->task_groups[0].tasks[0]);
  job->task_groups[0].tasks[1].name = "u";
  w.store(job);
  w.run();
  ASSERT_EQ(w.placed().size(), 1U);
  EXPECT_EQ(w.evicted().size(), 2U);
  const auto tasks = w.placed()[0].allocated_resources->tasks;
  EXPECT_EQ(tasks.at("t").devices[0].device_ids, Names{"g1"});
  EXPECT_EQ(tasks.at("u").devices[0].device_ids, !off ? Names{"g1"} : Names{"g2"});
}

/// A node with `count` GPUs.
model::Node& with_gpus(QuirkWorld& w, int count) {
  model::Node& node = w.add_node();
  model::NodeDevice& device = node.node_resources->devices.emplace_back();
  device.vendor = "v", device.type = "gpu", device.name = "a";
  for (int i = 1; i <= count; ++i) {
    auto& instance = device.instances.emplace_back();
    instance.id = "g" + std::to_string(i), instance.healthy = true;
  }
  return node;
}

QUIRK_TEST(free_devices_ignored, FreeInstancesAreCredited) {  // R-PREEMPT-605: one is free, four are wanted
  QuirkWorld w(quirks);
  w.enable_preemption();
  with_gpus(w, 5);
  w.add_other("one", 0, 100, 10).allocated_resources->tasks["t"].devices.push_back({"v", "gpu", "a", {"g1"}});
  w.add_other("three", 0, 100, 20)
      .allocated_resources->tasks["t"]
      .devices.push_back({"v", "gpu", "a", {"g2", "g3", "g4"}});
  const auto job = asking(1, 100, 64);
  auto& ask = job->task_groups[0].tasks[0].resources->devices.emplace_back();
  ask.name = "gpu", ask.count = 4;
  w.store(job);
  w.run();
  EXPECT_EQ(w.evicted(), off ? (std::vector<std::size_t>{1}) : (std::vector<std::size_t>{1, 0}));
}

QUIRK_TEST(probes_evict, ProbesOfSystemJobsAssumeEvictions) {  // R-PREEMPT-807, R-SCHED-117
  QuirkWorld w(quirks);
  w.enable_preemption();
  w.add_node();
  const auto before = SmallWorld::job("system", 1, 0), after = SmallWorld::job("system", 1, 1);
  after->priority = 60;
  w.store(before), w.store(after);
  w.add(before, 0, 0);
  w.add_other("low", 0, 4000);  // the node is already over-committed
  w.run();
  if (!off) {  // updated in place without an eviction
    EXPECT_TRUE(w.stops().empty());
    EXPECT_TRUE(w.evicted().empty());
    ASSERT_EQ(w.placed().size(), 1U);
    EXPECT_EQ(w.placed()[0].id, w.state.allocs[0].id);
  } else {  // replaced, with an eviction that is in the plan
    ASSERT_EQ(w.stops().size(), 1U);
    EXPECT_EQ(w.where(), Names{"web[0]@n0"});
    EXPECT_EQ(w.evicted(), std::vector<std::size_t>{1});
  }
}

// ---------------------------------------------------------------- the same with both settings

TEST(SelectWithoutQuirks, KeepsComparisons) {  // R-FEAS-604, 627, 932, 935
  struct Case {
    const char *left, *operand, *right;
    bool device, holds;
  };
  for (const Case& c : {Case{"${meta.missing}", "!=", "x", false, true},              // against a value, true
                        Case{"${meta.missing}", "!=", "${meta.gone}", false, false},  // both missing, false
                        Case{"${meta.version}", "version", "> 5.4-alpha.beta", false, true},
                        Case{"${device.attr.on}", ">", "true", true, true},    // bools that differ
                        Case{"${device.attr.power}", "=", "0 W", true, true},  // 500 mW are truncated to 0 W
                        Case{"${device.attr.name}", "!=", "7", true, false}})  // text and number: neither = nor !=
    for (const model::Quirks& quirks : kAllAndNone) {
      SCOPED_TRACE(std::string(c.left) + c.operand);
      QuirkWorld w(quirks);
      model::Node& node = w.add_node();
      node.meta["version"] = "5.4-alpha";
      model::NodeDevice& device = node.node_resources->devices.emplace_back();
      device.vendor = "v", device.type = "gpu", device.name = "a";
      auto& instance = device.instances.emplace_back();
      instance.id = "0", instance.healthy = true;
      device.attributes["on"].emplace().bool_value = false;
      auto& power = device.attributes["power"].emplace();
      power.int_value = 500, power.unit = "mW";
      device.attributes["name"].emplace().string_value = "x";
      const auto job = SmallWorld::job("service", 1);
      if (c.device) {
        auto& ask = job->task_groups[0].tasks[0].resources->devices.emplace_back();
        ask.name = "gpu", ask.count = 1;
        ask.constraints.push_back(constraint(c.left, c.operand, c.right));
      } else {
        job->constraints.push_back(constraint(c.left, c.operand, c.right));
      }
      w.store(job);
      w.run();
      EXPECT_EQ(w.where().size(), c.holds ? 1U : 0U);
    }
}

TEST(SelectWithoutQuirks, SystemJobsIgnoreDistinctHostsAndSysbatchIgnoresPreferences) {  // R-FEAS-302, R-RANK-202
  for (const model::Quirks& quirks : kAllAndNone)
    for (const char* type : {"system", "sysbatch"}) {
      QuirkWorld w(quirks);
      w.add_node();
      const auto job = SmallWorld::job(type, 1, 0, {"web", "api"});
      job->constraints.push_back(constraint("", "distinct_hosts", ""));
      job->affinities.push_back({"${node.datacenter}", "dc1", "=", 50});
      job->task_groups[0].spreads.push_back(spread("${node.datacenter}", 50));
      w.store(job);
      w.run();
      EXPECT_EQ(w.where(), (Names{"api[0]@n0", "web[0]@n0"}));
      EXPECT_EQ(w.metrics().score_meta_data[0].scores.size(), 1U);  // binpack alone
    }
}

TEST(SelectWithoutQuirks, KeepsTheHeuristicElimination) {  // R-PREEMPT-422: c, of the lower priority, stays, and b goes
  for (const model::Quirks& quirks : kAllAndNone) {
    QuirkWorld w(quirks);
    w.enable_preemption();
    w.add_node();
    w.add_other("c", 0, 600), w.add_other("b", 0, 1500, 30), w.add_other("rest", 0, 1900, 50);
    w.store(asking(1, 1000, 64));
    w.run();
    EXPECT_EQ(w.evicted(), std::vector<std::size_t>{1});
  }
}

}  // namespace
}  // namespace berth::sched
