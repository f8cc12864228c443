// Decisions repeated by a shadow: it reports nothing without a fault, and reports each stale fact planted in a cache of
// the worker or the tables.
#include "server/shadow.h"

#include <gtest/gtest.h>

#include "model/job.h"
#include "sched/scratch.h"
#include "server/lane.h"
#include "server/server.h"
#include "support/cluster_objects.h"

namespace berth::server {
namespace {

/// A server with a shadow, whose jobs fill its nodes.
struct Shadowed final : Listener {
  void lane_made(Lane& lane) override { shadow->lane_made(lane); }
  void attempt(Lane&) override {
    if (before) before();
  }
  void decided(Lane& lane) override {
    shadow->decided(lane);
    if (after) after();
  }
  std::function<void()> before, after;  // before and after a decision

  explicit Shadowed(std::uint64_t every = 1, Config config = {}) {
    config.broker.evals = config.broker.jobs = 1024;
    shadow.emplace(config, every, [this](std::string text) { problems.push_back(std::move(text)); });
    server.emplace(config, clock, this);
    for (std::uint64_t i = 1; i <= 12; ++i) add_node(i);
    server->store().set_index(10);
  }
  void add_node(std::uint64_t number) {
    model::Node node = testing::make_node({.id = base::to_text({number, 1}),
                                           .name = "node-" + std::to_string(number),
                                           .node_class = number % 2 == 0 ? "even" : "odd",
                                           .attributes = {{"driver.exec", "1"}, {"kernel.name", "linux"}},
                                           .mhz = 1000,
                                           .memory_mb = 10'000,
                                           .host_network = true});
    node.computed_class = node.node_class;
    server->store().begin_commit().upsert_node(node);
  }
  void place(const std::string& id, std::int64_t count, const char* type = "service") {
    const tables::JobKeyRow key = server->register_job(
        testing::make_job({.id = id, .type = type, .groups = {{.count = count, .memory_mb = 10}}}));
    server->store().set_index(server->store().index() + 1);
    ASSERT_TRUE(server->evaluate({.id = {++evals, 2}, .job = key, .tag = evals}));
    while (server->step()) {
    }
  }
  [[nodiscard]] std::string problem() const { return problems.empty() ? "" : problems.front(); }

  ManualClock clock;
  std::vector<std::string> problems;
  std::optional<Shadow> shadow;
  std::optional<Server> server;
  std::uint64_t evals = 0;
};

TEST(Shadow, FindsNothingWhereNothingIsStale) {
  for (const char* sources : {"all", "none", "mixed:5", "no-columns"}) {
    SCOPED_TRACE(sources);
    Config config;
    config.sources = *sched::EnabledSources::parse(sources);
    Shadowed world(1, config);
    for (int i = 0; i < 12; ++i)
      world.place("job" + std::to_string(i), i % 3 == 0 ? 20 : 5, i % 4 == 1 ? "batch" : "service");
    world.place("system", 1, "system");
    EXPECT_EQ(world.problem(), "");
    EXPECT_GE(world.shadow->checked(), 13U);
  }
}

TEST(Shadow, VisitsNodesInTheOrderOfTheStateThatWasDecidedOn) {
  Config config;
  config.retain = true;  // the blocked evaluation of the group that does not fit raises the state's index
  Shadowed world(1, config);
  for (int i = 0; i < 8; ++i) {
    const tables::JobKeyRow key = world.server->register_job(
        testing::make_job({.id = "job" + std::to_string(i),
                           .groups = {{.name = "fits", .count = 2, .memory_mb = 10},
                                      {.name = "huge", .count = 1, .memory_mb = 1'000'000}}}));
    world.server->store().set_index(world.server->store().index() + 1);
    ASSERT_TRUE(world.server->evaluate({.id = {++world.evals, 2}, .job = key, .tag = world.evals}));
    while (world.server->step()) {
    }
  }
  EXPECT_EQ(world.shadow->checked(), 8U);
  EXPECT_EQ(world.problem(), "");
}

TEST(Shadow, DecidesEveryNthEvaluationAgain) {
  Shadowed world(4);
  for (int i = 0; i < 8; ++i) world.place("job" + std::to_string(i), 1);
  EXPECT_EQ(world.shadow->checked(), 2U);
}

#ifdef NDEBUG  // debug builds abort when an evaluation leaves a stale cache
TEST(Shadow, FindsAStaleVerdictOfAWorker) {
  Shadowed world;
  world.place("one", 2);
  sched::Scratch& scratch = world.server->lane().scratch;
  for (std::uint32_t kind = 0; kind < 4; ++kind) scratch.by_content.kind_verdicts.of(0, kind) = sched::kReasonDrivers;
  const tables::NodeTable& nodes = world.server->store().current().nodes;
  for (std::uint32_t code = 0; code < 4; ++code)
    scratch.by_content.kind_verdicts.of_class(nodes, 0, code) = sched::kReasonDrivers;
  world.place("two", 3);
  EXPECT_NE(world.problem().find("two (job-register): this worker decide"), std::string::npos) << world.problem();
  EXPECT_GE(world.shadow->different(), 2U);  // the general source and the reloaded tables agree
}

TEST(Shadow, FindsAStaleScoreOfAWorker) {
  Shadowed world;
  for (const char* id : {"one", "two", "three"}) world.place(id, 4);
  EXPECT_EQ(world.problem(), "");
  sched::Scratch& scratch = world.server->lane().scratch;
  const tables::Snapshot& state = world.server->store().current();
  const tables::CompiledGroup& group = state.jobs.versions[0]->groups[0];
  const std::uint64_t base_set = state.base_sets[state.jobs.versions[0]->base_set]->number;
  sched::AskTable* const table = scratch.by_state.ask_tables.find({group.ask->number, base_set});
  ASSERT_NE(table, nullptr);
  ASSERT_TRUE(table->follow(scratch.by_state.feed, state.nodes, group, false, 1000));
  table->of_row.assign(state.nodes.size(), std::bit_cast<std::uint64_t>(0.25));
  world.place("four", 4);
  EXPECT_NE(world.problem().find("the general source"), std::string::npos) << world.problem();
}

TEST(Shadow, FindsAStaleColumnOfTheTables) {
  Shadowed world;
  world.place("one", 3);
  // Simulates a column that missed the end of an allocation. The general source reads it too.
  const tables::Snapshot& state = world.server->store().current();
  const auto add = [&state](std::int64_t cpu_mhz) {
    for (tables::NodeRow row = 0; row < state.nodes.size(); ++row)
      const_cast<tables::NodeUse&>(state.nodes.use[row]).cpu_mhz += cpu_mhz;
  };
  world.before = [&] { add(400); };
  world.after = [&] { add(-400); };  // restored, because a commit checks its tables
  world.place("two", 3);
  ASSERT_GE(world.shadow->different(), 1U) << world.problem();
  EXPECT_NE(world.problem().find("two (job-register): the living tables decide"), std::string::npos) << world.problem();
  EXPECT_NE(world.problem().find("those loaded again"), std::string::npos);
}
#endif

}  // namespace
}  // namespace berth::server
