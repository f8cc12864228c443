// Facts that a scheduler caches from evaluation to evaluation. The key of a cached answer must contain everything that
// the answer depends on, so texts from users cannot make two questions equal.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "model/job.h"
#include "sched/check_memory.h"
#include "sched/small_world.h"
#include "tables/commit.h"

namespace berth::sched {
namespace {

/// One scheduler over several evaluations of a state.
struct Lived {
  tables::StateStore store;
  Scratch scratch;
  GenericScheduler scheduler{scratch};

  explicit Lived(const SmallWorld& world) { store.load(world.state); }
  /// The nodes on which the newest version of a job is placed, by name, one per allocation.
  std::vector<std::string> place(const std::string& job) { return place(job, scheduler); }
  /// The same by another scheduler of the worker, as a worker has one for services and one for system jobs.
  std::vector<std::string> place(const std::string& job, GenericScheduler& by) {
    const tables::SnapshotRef state = store.snapshot();
    EvalFacts facts;
    facts.id_text = "00000000-0000-0000-0000-000000000001";
    facts.job = store.job_key("default", job);
    facts.priority = 50;
    facts.triggered_by = "job-register";
    facts.now_ns = SmallWorld::kNow;
    EvalResult result;
    IdStream ids(1);
    by.process(*state, facts, rank::OrderProvider::identity, ids, result);
    std::vector<std::string> out;
    for (const PlannedAlloc& alloc : result.plan.allocs) out.push_back(state->nodes.spec(alloc.node).node.name);
    std::sort(out.begin(), out.end());
    return out;
  }
};

std::shared_ptr<model::Job> named_job(const std::string& id, std::int64_t count) {
  auto out = SmallWorld::job("service", count);
  out->id = out->name = id;
  return out;
}

model::Spread spread_over(const char* attribute) {
  model::Spread out;
  out.attribute = attribute;
  out.weight = 50;
  return out;
}

using Names = std::vector<std::string>;

TEST(CachedFacts, SpreadsOverNodesAndPoolsAreDistinguished) {  // R-RANK-813
  for (const bool pool_first : {false, true}) {
    SCOPED_TRACE(pool_first);
    SmallWorld w;
    for (int i = 0; i < 4; ++i) w.add_node();
    w.state.nodes[0].node_resources->memory.memory_mb = 1024;  // the fullest node, which would get all without a spread
    const auto by_node = named_job("by-node", 4), by_pool = named_job("by-pool", 4), by_both = named_job("by-both", 4);
    by_node->spreads.push_back(spread_over("${node.unique.id}"));
    by_pool->spreads.push_back(spread_over("${node.pool}"));
    by_both->spreads.push_back(spread_over("${node.pool}"));
    by_both->task_groups[0].spreads.push_back(spread_over("${node.unique.id}"));
    for (const auto& job : {by_node, by_pool, by_both}) w.store(job);
    Lived lived(w);
    if (pool_first) lived.place("by-pool");
    EXPECT_EQ(lived.place("by-node"), (Names{"n0", "n1", "n2", "n3"}));
    EXPECT_EQ(lived.place("by-both"), (Names{"n0", "n1", "n2", "n3"}));
    Lived anew(w);
    EXPECT_EQ(lived.place("by-pool"), anew.place("by-pool"));
  }
}

TEST(CachedFacts, StaticPortsOfSeveralGroupsAreDistinguished) {  // R-RANK-613 to 616
  SmallWorld w;
  w.add_node().reserved_resources.emplace().networks.reserved_host_ports = "80";
  w.state.nodes[0].node_resources->memory.memory_mb = 1024;  // the fullest node, which gets what its ports allow
  w.add_node();
  for (model::Node& node : w.state.nodes) {
    model::NetworkResource& network = node.node_resources->networks[0];
    network.ip = "10.0.0.1", network.cidr = "10.0.0.1/32", network.mbits = 1000;
    model::NodeNetworkResource& addresses = node.node_resources->node_networks.emplace().emplace_back();
    addresses.mode = "host", addresses.device = "eth0";
    addresses.addresses.emplace_back().family = "ipv4";
    addresses.addresses[0].alias = "default", addresses.addresses[0].address = "10.0.0.1";
  }
  const auto with_ports = [](const std::string& id, std::vector<std::vector<std::int64_t>> groups) {
    auto out = named_job(id, 1);
    const model::TaskGroup plain = out->task_groups[0];
    out->task_groups.clear();
    for (const auto& ports : groups) {
      model::TaskGroup& group = out->task_groups.emplace_back();
      group = plain;
      group.name = "g" + std::to_string(out->task_groups.size());
      model::NetworkResource& network = group.networks.emplace_back();
      network.mode = "host";
      for (const std::int64_t port : ports) {
        model::Port& asked = network.reserved_ports.emplace_back();
        asked.label = "p" + std::to_string(port), asked.value = port, asked.host_network = "default";
      }
    }
    return out;
  };
  w.store(with_ports("one-each", {{80}, {443}})), w.store(with_ports("both", {{80, 443}}));
  Lived lived(w);
  EXPECT_EQ(lived.place("one-each"), (Names{"n0", "n1"}));
  GenericScheduler other(lived.scratch);  // has no ports from before
  EXPECT_EQ(lived.place("both", other), (Names{"n1"}));
}

TEST(CachedFacts, AMirrorKeepsItsTexts) {
  SmallWorld w;
  w.add_node(), w.add_node();
  Lived lived(w);
  const tables::SnapshotRef state = lived.store.snapshot();
  const auto of = [&](match::TargetKind kind, const std::string& key) -> const ColumnMirror& {
    tables::ColumnTarget target;
    target.target = {kind, key};
    return lived.scratch.mirror(*state, target);
  };
  const ColumnMirror& ids = of(match::TargetKind::node_id, "");
  tables::ColumnTarget pool;
  pool.column = tables::kPoolColumn;
  EXPECT_EQ(lived.scratch.mirror(*state, pool).text.size(), 1U);
  {
    const std::string literal = "a literal of a job that is gone when it is asked for again";
    EXPECT_EQ(of(match::TargetKind::literal, literal).text.size(), 1U);
  }
  ASSERT_EQ(ids.text.size(), 2U);  // the literal did not replace them
  EXPECT_EQ(ids.text[0], w.state.nodes[0].id);
  EXPECT_EQ(ids.text[1], w.state.nodes[1].id);
}

TEST(CachedFacts, DriversWithConfusableTextsAreDistinguished) {  // of nodes that differ in nothing else
  SmallWorld w;
  for (int i = 0; i < 2; ++i) w.add_node().computed_class = "v1:same";
  w.state.nodes[0].attributes["driver.exec"] = "1\ndriver.qemu=1";
  w.state.nodes[1].attributes["driver.qemu"] = "1";
  const auto job = named_job("qemu", 1);
  job->task_groups[0].tasks[0].driver = "qemu";
  const auto other = named_job("exec", 1);
  w.store(job), w.store(other);
  Lived lived(w);
  const tables::SnapshotRef state = lived.store.snapshot();
  EXPECT_NE(state->nodes.capacity(0).check_profile, state->nodes.capacity(1).check_profile);
  EXPECT_NE(state->nodes.capacity(0).kind, state->nodes.capacity(1).kind);
}

TEST(CachedFacts, VolumesWithConfusableTextsAreDistinguished) {  // R-FEAS-1101 to 1104
  SmallWorld w;
  for (const char* name : {"x", "y", "z"}) {
    model::Node& node = w.add_node();
    node.computed_class = "v1:same";
    for (const char* volume : {"x", "y"})
      if (*name == 'z' || *name == 'x')
        node.host_volumes[volume] = model::HostVolumeInfo{.name = volume, .path = "/srv"};
  }
  const auto asks = [](const std::string& id, std::vector<std::pair<std::string, bool>> volumes) {
    auto job = named_job(id, 1);
    for (const auto& [source, read_only] : volumes) {
      auto& request = job->task_groups[0].volumes["v" + std::to_string(job->task_groups[0].volumes.size())].emplace();
      request.name = "v", request.type = "host", request.source = source, request.read_only = read_only;
    }
    return job;
  };
  using namespace std::string_literals;
  w.store(asks("two", {{"x", false}, {"y", true}}));
  w.store(asks("one", {{"x\0y"s, true}}));
  Lived lived(w);
  EXPECT_EQ(lived.place("two").size(), 1U);
  EXPECT_EQ(lived.place("one"), Names{});
}

TEST(CachedFacts, ConstraintsWithConfusableTextsAreDistinguished) {  // R-FEAS-601
  SmallWorld w;
  w.add_node();
  using namespace std::string_literals;
  const auto asks = [](const std::string& id, const std::string& left, const std::string& operand,
                       const std::string& right) {
    auto job = named_job(id, 1);
    model::Constraint& c = job->constraints.emplace_back();
    c.ltarget = left, c.operand = operand, c.rtarget = right;
    return job;
  };
  w.store(asks("never", "a\0"s, "=", "b"));
  w.store(asks("other", "a", "", "=\0b"s));
  Lived lived(w);
  const auto ids_of = [&](const char* job) {
    const tables::Snapshot& state = lived.store.current();
    return state.jobs.versions[state.jobs.keys[lived.store.job_key("default", job)].current]->constraints;
  };
  EXPECT_NE(ids_of("never"), ids_of("other"));
}

/// A job with random datacenters, constraint, affinity and driver.
std::shared_ptr<model::Job> drawn_job(const std::string& id, std::mt19937_64& random) {
  auto job = named_job(id, 3);
  const std::string rack = "r" + std::to_string(random() % 3);
  job->datacenters = random() % 3 == 0 ? std::vector<std::string>{"dc1"} : std::vector<std::string>{"dc1", "dc2"};
  if (random() % 4 == 0) job->datacenters.push_back("x" + std::to_string(random() % 100));
  model::Constraint constraint;
  constraint.ltarget = random() % 2 ? "${meta.rack}" : "${meta.none" + std::to_string(random() % 100) + "}";
  constraint.operand = random() % 2 ? "=" : "!=", constraint.rtarget = rack;
  if (constraint.ltarget != "${meta.rack}") constraint.operand = "!=";
  if (random() % 2 == 0)
    job->constraints.push_back(constraint);
  else
    job->task_groups[0].constraints.push_back(constraint);
  if (random() % 3 == 0) {
    model::Affinity affinity;
    affinity.ltarget = "${meta.rack}", affinity.operand = "=", affinity.weight = 80;
    affinity.rtarget = "r" + std::to_string(random() % 3);
    job->affinities.push_back(affinity);
  }
  if (random() % 4 == 0) job->task_groups[0].tasks[0].driver = "raw_exec";
  return job;
}

TEST(CachedFacts, ContentsThatGetTheNumberOfOthersHaveNoneOfTheirAnswers) {  // tables/shared_slots.h
  SmallWorld w;
  for (int i = 0; i < 12; ++i) {
    model::Node& node = w.add_node(i % 2 == 0 ? "dc1" : "dc2");
    node.meta["rack"] = "r" + std::to_string(i / 2 % 3);
    if (i % 3 == 0) node.attributes["driver.raw_exec"] = "1";
  }
  Lived lived(w);
  lived.store.keep_history();
  std::mt19937_64 random(3);
  std::deque<std::shared_ptr<model::Job>> stored;
  std::uint64_t index = 2000;
  std::size_t placed = 0;
  for (int i = 0; i < 2000; ++i) {
    stored.push_back(drawn_job("job-" + std::to_string(i), random));
    lived.store.begin_commit(++index).upsert_job(stored.back(), true);
    const auto& job = stored[random() % stored.size()];
    const bool exhaustive = random() % 2 == 0;
    Scratch fresh;
    GenericScheduler other(fresh);
    for (GenericScheduler* by : {&lived.scheduler, &other}) by->set_exhaustive(exhaustive);
    const Names names = lived.place(job->id);
    placed += names.size();
    ASSERT_EQ(names, lived.place(job->id, other)) << i;
    ASSERT_EQ(check_worker_memory(lived.store.current(), lived.scratch), std::vector<std::string>()) << i;
    if (stored.size() < 4) continue;
    tables::Commit commit = lived.store.begin_commit(++index);
    commit.forget_version(*stored.front());
    commit.purge_job(lived.store.find_job_key("default", stored.front()->id));
    stored.pop_front();
  }
  EXPECT_GT(placed, 2000U);
  EXPECT_LE(lived.store.current().constraints.size(), 20U) << "numbers are used again";
  EXPECT_LE(lived.store.current().base_sets.size(), 10U);
}

}  // namespace
}  // namespace berth::sched
