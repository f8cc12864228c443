// check_worker_memory() finds no difference in a worker that follows a changing store, and finds each fault planted in
// a cache by state.
#include "sched/check_memory.h"

#include <gtest/gtest.h>

#include "model/job.h"
#include "plan/apply.h"
#include "sched/memory_access.h"
#include "sched/small_world.h"
#include "select_world.h"
#include "support/sanitized.h"

namespace berth::sched {
namespace {

using Access = MemoryAccess;

std::string first_of(const std::vector<std::string>& problems) { return problems.empty() ? "" : problems.front(); }

TEST(CheckMemory, FindsNothingInAnUpToDateWorker) {
  for (std::uint64_t seed = 1; seed <= testing::rounds(30, 10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    World world(random, static_cast<std::uint32_t>(pick(random, 20, 200)), 4, seed % 2 == 0);
    Scratch scratch;
    GenericScheduler scheduler(scratch);
    std::vector<std::shared_ptr<const model::Job>> jobs;
    for (int round = 0; round < 30; ++round) {
      const std::size_t allocs = world.store.current().allocs.size();
      for (std::int64_t i = allocs > 0 ? pick(random, 0, 20) : 0; i > 0; --i)
        world.store.set_client_status(tables::AllocRow(random() % allocs), tables::Client::complete,
                                      world.store.index() + 1);
      if (pick(random, 0, 4) == 0) {
        const auto number = static_cast<std::uint32_t>(random() % world.store.current().nodes.size());
        world.store.begin_commit(world.store.index() + 1).upsert_node(random_node(random, number, 4, false));
      }
      if (jobs.size() < 6) jobs.push_back(random_job(random, "job" + std::to_string(round), true, pick(random, 1, 60)));
      world.ask(random, jobs[random() % jobs.size()]);
      const tables::SnapshotRef snapshot = world.store.snapshot();
      EvalResult result;
      IdStream ids(seed);
      scheduler.set_exhaustive(round % 5 == 4);
      scheduler.process(*snapshot, world.facts, rank::OrderProvider::nomad, ids, result);
      ASSERT_EQ(first_of(check_worker_memory(*snapshot, scratch)), "") << "round " << round;
      plan::ApplyResult applied;
      plan::apply(world.store, result.plan, snapshot->index + 4, false, applied);
      // The rows that the plan changed are those that the feed lists.
      ASSERT_EQ(first_of(check_worker_memory(world.store.current(), scratch)), "") << "round " << round;
    }
  }
}

/// A worker that uses all its caches.
struct Planted {
  tables::StateStore store;
  Scratch scratch;
  GenericScheduler scheduler{scratch};

  static std::shared_ptr<model::Job> job(const std::string& id, std::int64_t count, std::int64_t cpu) {
    auto out = SmallWorld::job("service", count);
    out->id = out->name = id;
    out->task_groups[0].tasks[0].resources->cpu = cpu;
    return out;
  }
  explicit Planted(bool preempts = false) {
    SmallWorld world;
    world.state.scheduler_config->preemption_config.service_scheduler_enabled = preempts;
    for (int i = 0; i < 8; ++i) {
      model::Node& node = world.add_node();
      node.computed_class = i % 2 == 0 ? "even" : "odd";
      node.node_class = i % 2 == 0 ? "even" : "odd";
      model::NodeNetworkResource& network = node.node_resources->node_networks.emplace().emplace_back();
      network.mode = "host", network.device = "eth0";
      network.addresses.push_back({"ipv4", "default", "10.0.0." + std::to_string(i + 1), "", ""});
      node.host_volumes["data"].emplace().name = "data";
    }
    const auto placed = job("placed", 2, 100), full = job("full", 1, 5000), ports = job("ports", 2, 100);
    const auto volume = job("volume", 1, 100), large = job("large", 1, 5000), spread = job("spread", 2, 100);
    model::NetworkResource& network = ports->task_groups[0].networks.emplace_back();
    network.mode = "host";
    network.dynamic_ports.emplace_back() = {.label = "http", .host_network = "default"};
    for (const auto& one : {volume, large}) {
      model::VolumeRequest& request = one->task_groups[0].volumes["data"].emplace();
      request.name = request.source = "data", request.type = "host";
    }
    model::Spread& over = spread->spreads.emplace_back();
    over.attribute = "${node.class}", over.weight = 50;
    model::Spread& by_node = spread->spreads.emplace_back();
    by_node.attribute = "${node.unique.id}", by_node.weight = 50;
    for (const auto& one : {placed, full, ports, large, volume, spread}) world.store(one);
    store.load(world.state);
    for (int round = 0; round < 3; ++round)
      for (const char* id : {"placed", "full", "ports", "large", "volume", "spread"}) decide(id);
    EXPECT_EQ(first_of(problems()), "");
  }
  void decide(const char* id, bool commits = false) {
    EvalFacts facts;
    facts.id_text = "00000000-0000-0000-0000-000000000001";
    facts.job = store.job_key("default", id);
    facts.priority = 50;
    facts.triggered_by = "job-register";
    facts.now_ns = SmallWorld::kNow;
    EvalResult result;
    IdStream ids(1);
    const tables::SnapshotRef snapshot = store.snapshot();
    scheduler.process(*snapshot, facts, rank::OrderProvider::nomad, ids, result);
    plan::ApplyResult applied;
    if (commits) plan::apply(store, result.plan, snapshot->index + 1, false, applied);
  }
  std::vector<std::string> problems() { return check_worker_memory(*store.snapshot(), scratch); }
  std::string all() {
    std::string out;
    for (const std::string& problem : problems()) out += problem + "\n";
    return out;
  }
  bool finds(const std::string& what) { return all().find(what) != std::string::npos; }
};

TEST(CheckMemory, FindsAStaleReadyNode) {
  Planted worker;
  tables::ReadyNodes& list = *const_cast<tables::ReadyNodes*>(Access::ready(worker.scratch)[0].last);
  std::swap(list.candidates[0], list.candidates[1]);
  EXPECT_TRUE(worker.finds("ReadyNodes")) << worker.all();
  std::swap(list.candidates[0], list.candidates[1]);
}

TEST(CheckMemory, FindsAStaleMirror) {
  Planted worker;
  ASSERT_FALSE(Access::mirrors(worker.scratch).empty());
  Access::mirrors(worker.scratch).begin()->second.code_of_row[3] ^= 1;
  EXPECT_TRUE(worker.finds("ColumnMirror")) << worker.all();
}

TEST(CheckMemory, FindsAStaleClassVerdict) {
  Planted worker;
  bool planted = false;
  for (auto& verdicts : Access::by_class(worker.scratch.by_content.kind_verdicts))
    for (std::uint32_t& verdict : verdicts)
      if (verdict != KindVerdicts::kUnknown) verdict ^= 1, planted = true;
  ASSERT_TRUE(planted);
  EXPECT_TRUE(worker.finds("KindVerdicts")) << worker.all();
}

TEST(CheckMemory, FindsAStaleVolumeAnswer) {
  Planted worker;
  auto& answers = worker.scratch.by_state.volume_answers.of_row;
  const auto known = std::find(answers.begin(), answers.end(), kPass);
  ASSERT_NE(known, answers.end());
  *known = kFail;
  EXPECT_TRUE(worker.finds("VolumeAnswers")) << worker.all();
}

TEST(CheckMemory, FindsStaleAmountsOfTheFeed) {
  Planted worker;
  worker.scratch.by_state.feed.gather(worker.store.snapshot()->nodes);
  worker.decide("placed", true);
  worker.scratch.by_state.feed.gather(worker.store.snapshot()->nodes);
  EXPECT_EQ(worker.all(), "");
  for (auto& node : Access::gathered(worker.scratch.by_state.feed)) node.memory_mb ^= 1;
  EXPECT_TRUE(worker.finds("NodeFeed")) << worker.all();
}

TEST(CheckMemory, FindsAStaleAmountOfTheIndex) {
  Planted worker;
  const tables::SnapshotRef snapshot = worker.store.snapshot();
  NodeIndex& index = worker.scratch.by_state.indexes.emplace_back();
  ASSERT_TRUE(index.sync(*snapshot, worker.scratch.ready_nodes(*snapshot, 0), snapshot->base_sets[0]->number,
                         worker.scratch.by_state.feed));
  EXPECT_EQ(worker.all(), "");
  Access::cpu_used(worker.scratch.by_state.indexes[0])[5] += 100;
  EXPECT_TRUE(worker.finds("NodeIndex: node n5")) << worker.all();
}

TEST(CheckMemory, FindsAStaleScore) {
  Planted worker;
  bool planted = false;
  for (AskTable& table : Access::tables(worker.scratch.by_state.ask_tables))
    for (std::uint64_t& known : table.of_row)
      if (!planted && rank::Known::is_component(known)) known ^= 1, planted = true;  // the last bit of a score
  ASSERT_TRUE(planted);
  EXPECT_TRUE(worker.finds("AskTable: node")) << worker.all();
}

/// The table of the job that fits nowhere.
AskTable& table_of_failure(Planted& worker, bool evicts) {
  auto& tables = Access::tables(worker.scratch.by_state.ask_tables);
  const auto found = std::ranges::find_if(
      tables, [&](const AskTable& table) { return table.lists_open && table.key.evicts() == evicts; });
  EXPECT_NE(found, tables.end());
  return *found;
}

TEST(CheckMemory, FindsAStaleFailure) {
  for (const bool evicts : {false, true}) {
    Planted worker(evicts);
    AskTable& table = table_of_failure(worker, evicts);
    --table.counts[rank::Known::detail(table.of_row[4])].count;
    table.of_row[4] = rank::Known::kFails;
    const std::string name = evicts ? "AskTable, evicting" : "AskTable";
    EXPECT_TRUE(worker.finds(name + ": node n4 has no part")) << worker.all();
  }
}

TEST(CheckMemory, FindsNothingWhereANodeWithoutRoomLosesAVolume) {
  Planted worker;
  model::Node node = worker.store.current().nodes.spec(3).node;
  node.host_volumes.clear();
  worker.store.begin_commit(worker.store.index() + 1).upsert_node(node);
  worker.decide("large");
  EXPECT_EQ(worker.all(), "");
}

TEST(CheckMemory, FindsANodeThatMayHaveRoomAndIsNotListed) {
  Planted worker;
  AskTable& table = table_of_failure(worker, false);
  --table.counts[rank::Known::detail(table.of_row[4])].count;
  table.of_row[4] = rank::Known::kPasses;
  EXPECT_TRUE(worker.finds("AskTable: node n4 has no place among the open ones")) << worker.all();
}

TEST(CheckMemory, FindsAStaleCountOfFilteredNodes) {
  Planted worker;
  AskTable& table = table_of_failure(worker, false);
  ASSERT_NE(table.filtered.evaluated, 0);
  ++table.filtered.evaluated;
  EXPECT_TRUE(worker.finds("AskTable: filtered are 9, by a fresh fill 8")) << worker.all();
}

}  // namespace
}  // namespace berth::sched
