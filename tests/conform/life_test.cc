// Random simulations of small clusters: schedulers, applier, broker and tracker of blocked evaluations together over
// many steps (R-CTRL-1720 to 1735; the applier's ways of writing compared with each other; each evaluation on kept
// tables compared with tables loaded again). Also simulations of whole clusters with clients and watchers. `berth
// conform --seed N` prints those of a seed, event by event; `--lives 10000` runs more of them.
#include "conform/life/cluster_life.h"
#include "conform/life/life_part.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/json.h"
#include "conform/applier_check.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "server/lane.h"
#include "server/server.h"
#include "support/sanitized.h"

namespace berth::conform {
namespace {

constexpr std::uint64_t kLives = berth::testing::rounds(120);

/// Plans refused for lack of room, by their event in the log.
std::size_t over_committed(const LifeReport& life) {
  std::size_t count = 0;
  for (const std::string& event : life.events)
    for (const char* dimension : {"cpu", "cores", "memory", "disk"})
      count += event == "    refused: " + std::string(dimension);
  return count;
}

TEST(RandomClusters, HoldTheInvariants) {
  LifeReport sum;
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= kLives; ++seed) {
    const LifeReport life = run_life({.seed = seed, .on_commit = compare_ways});
    for (const std::string& problem : life.problems)
      ADD_FAILURE() << "berth conform --seed " << seed << ": " << problem;
    refused += over_committed(life);
    sum.plans += life.plans, sum.refused_plans += life.refused_plans, sum.allocations += life.allocations;
    sum.updates += life.updates, sum.stops += life.stops, sum.preemptions += life.preemptions;
    sum.deployments += life.deployments, sum.at_rest += life.at_rest, sum.twice += life.twice;
  }
  // Every kind of decision occurred; a dozen simulations may lack one of the rarer kinds.
  EXPECT_GT(sum.plans, 4 * kLives);
  EXPECT_GT(sum.allocations, 4 * kLives);
  EXPECT_GT(sum.twice, 4 * kLives);
  if (kLives < 100) return;
  for (const std::uint64_t count :
       {sum.refused_plans, sum.updates, sum.stops, sum.preemptions, sum.deployments, sum.at_rest})
    EXPECT_GT(count, 0u);
  EXPECT_GT(refused, 0u);  // because Nomad's preemption over-commits nodes
}

// Without the quirks no plan over-commits a node, as R-PREEMPT-403 and 406 may.
TEST(RandomClusters, HoldTheInvariantsWithoutNomadsQuirks) {
  for (std::uint64_t seed = 1; seed <= kLives / 3; ++seed) {
    LifeOptions options{.seed = seed, .steps = 16};
    ASSERT_TRUE(model::set_option(options.decisions, "compat=fixed"));
    const LifeReport life = run_life(options);
    for (const std::string& problem : life.problems)
      ADD_FAILURE() << "berth conform --seed " << seed << " --steps 16 --option compat=fixed: " << problem;
    EXPECT_EQ(over_committed(life), 0u) << "seed " << seed;
  }
}

TEST(RandomClusters, HoldTheInvariantsWithoutAnyOneQuirk) {
  for (std::size_t i = 0; i < std::size(model::kQuirks); i += testing::kSanitized ? 4 : 1) {
    const model::QuirkInfo& quirk = model::kQuirks[i];
    for (std::uint64_t seed = 1; seed <= std::max<std::uint64_t>(1, kLives / 100); ++seed) {
      LifeOptions options{.seed = seed, .steps = 12, .on_commit = compare_ways};
      options.decisions.quirks.*quirk.member = false;
      for (const std::string& problem : run_life(options).problems)
        ADD_FAILURE() << "berth conform --seed " << seed << " --option quirk." << quirk.name << "=off: " << problem;
    }
  }
}

#ifdef NDEBUG  // debug builds abort when an evaluation leaves a stale cache
/// Plants a verdict of a node kind that no longer holds in the worker's cache.
void plant_stale_verdicts(server::Server& server) {
  for (std::uint32_t ask = 0; ask < 6; ++ask)
    for (std::uint32_t kind = 0; kind < 12; ++kind)
      server.lane().scratch.by_content.kind_verdicts.of(ask, kind) = sched::kReasonDrivers;
}

TEST(RandomClusters, FindAStaleFactThatIsPlanted) {
  std::size_t of_servers = 0, of_clusters = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const LifeOptions options{.seed = seed, .before_evaluation = plant_stale_verdicts};
    of_servers += !run_life(options).problems.empty();
    of_clusters += !run_cluster_life(options).problems.empty();
  }
  EXPECT_GE(of_servers, 5U);
  EXPECT_GE(of_clusters, 5U);
}

/// The same, but only after a node went down, left or was drained.
void plant_after_a_change_of_nodes(server::Server& server) {
  const tables::NodeTable& nodes = server.store().current().nodes;
  for (tables::NodeRow row = 0; row < nodes.size(); ++row)
    if (!nodes.exists(row) || !nodes.ready(row)) return plant_stale_verdicts(server);
}

TEST(RandomClusters, ShrinkToTheSmallestFailingPart) {
  const LifeKind kinds[] = {run_life, [](const LifeOptions& options) { return run_cluster_life(options); }};
  for (const LifeKind& run : kinds) {
    LifeOptions options{.steps = 14, .before_evaluation = plant_after_a_change_of_nodes};
    LifeReport whole;
    for (options.seed = 0; whole.problems.empty() || whole.steps < 8;) {  // one that breaks late
      ASSERT_LT(++options.seed, 50U);
      whole = run(options);
    }
    const SmallestLife smallest = smallest_life(run, options, whole);
    const std::vector<int>& steps = *smallest.options.only_steps;
    EXPECT_LE(steps.size(), 4U);
    EXPECT_LE(smallest.options.only_nodes->size(), 3U);
    EXPECT_EQ(smallest.report.problems, run(smallest.options).problems);
    EXPECT_NE(to_text(smallest, "server", whole).find("  broken: " + smallest.report.problems.front()),
              std::string::npos);
    for (std::size_t i = 0; steps.size() > 1 && i < steps.size(); ++i) {
      LifeOptions smaller = smallest.options;
      smaller.only_steps->erase(smaller.only_steps->begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_EQ(run(smaller).problems, std::vector<std::string>()) << "step " << steps[i] << " can be left out";
    }
  }
}
#endif

TEST(RandomClusters, DoNotDependOnTheSources) {
  const std::size_t step = testing::kSanitized ? 5 : 1;  // these take minutes there
  for (std::size_t off = 0; off < sched::kSwitchNames.size() + 2; off += step) {
    const std::uint64_t seed = 100 + off;
    LifeOptions options{.seed = seed};
    const std::vector<std::string> by_all = run_life(options).events;
    const std::uint64_t digest = run_cluster_life(options).digest;
    options.sources =
        *sched::EnabledSources::parse(off < sched::kSwitchNames.size() ? std::string("no-") + sched::kSwitchNames[off]
                                      : off == sched::kSwitchNames.size() ? "none"
                                                                          : "mixed:9");
    SCOPED_TRACE("seed " + std::to_string(seed) + " --sources " + options.sources.text());
    const LifeReport life = run_life(options);
    for (const std::string& problem : life.problems) ADD_FAILURE() << problem;
    EXPECT_EQ(life.events, by_all);
    EXPECT_EQ(run_cluster_life(options).digest, digest);
  }
}

TEST(RandomClusters, RemainingStepsDrawTheSameNumbersAfterShrinking) {
  for (const std::uint64_t seed : {11, 12, 13}) {
    LifeOptions options{.seed = seed};
    const std::vector<std::string> whole = run_life(options).events, of_cluster = run_cluster_life(options).events;
    options.only_steps = steps_of(options);
    EXPECT_EQ(run_life(options).events, whole);
    EXPECT_EQ(run_cluster_life(options).events, of_cluster);
    LifeOptions nodes = {.seed = seed, .only_nodes = std::vector<int>{0, 1}};
    const std::vector<std::string> of_nodes = run_life(nodes).events;
    nodes.only_steps = steps_of(options);
    EXPECT_EQ(run_life(nodes).events, of_nodes) << "nodes alone leave all steps";
    // Without the last step, all before it is the same.
    options.only_steps->pop_back();
    const std::vector<std::string> shorter = run_life(options).events;
    ASSERT_LE(shorter.size(), whole.size());
    EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), whole.begin())) << "seed " << seed;
  }
}

TEST(RandomClusters, DependOnTheSeedAlone) {
  const LifeReport one = run_life({.seed = 11}), other = run_life({.seed = 11, .on_commit = compare_ways});
  EXPECT_EQ(one.events, other.events);
  EXPECT_NE(one.events, run_life({.seed = 12}).events);
}

TEST(SimulatedClusters, HoldTheInvariants) {  // R-CTRL-E1 to E19, 1720 to 1735
  constexpr std::uint64_t kCount = berth::testing::rounds(30);
  ClusterLifeReport sum;
  for (std::uint64_t seed = 1; seed <= kCount; ++seed) {
    const ClusterLifeReport life = run_cluster_life({.seed = seed, .steps = 25});
    for (const std::string& problem : life.problems)
      ADD_FAILURE() << "berth conform --seed " << seed << " --steps 25: " << problem;
    sum.drains += life.drains, sum.ended_deployments += life.ended_deployments, sum.lost += life.lost;
    sum.refused_plans += life.refused_plans, sum.preemptions += life.preemptions, sum.at_rest += life.at_rest;
    sum.twice += life.twice;
  }
  EXPECT_GT(sum.twice, 10 * kCount);
  if (kCount < 30) return;
  for (const std::uint64_t count :
       {sum.drains, sum.ended_deployments, sum.lost, sum.refused_plans, sum.preemptions, sum.at_rest})
    EXPECT_GT(count, 0U);
}

/// All objects of a state as text, by ID.
std::map<std::string, std::string> texts_of(const model::ClusterState& state) {
  std::map<std::string, std::string> out;
  for (const model::Allocation& alloc : state.allocs) out[alloc.id] = json::to_text(model::to_json(alloc));
  for (const model::Evaluation& eval : state.evals) out[eval.id] = json::to_text(model::to_json(eval));
  for (const model::Deployment& deployment : state.deployments)
    out[deployment.id] = json::to_text(model::to_json(deployment));
  for (const auto& job : state.jobs) out["job " + job->id] = json::to_text(model::to_json(*job));
  for (const model::Node& node : state.nodes) out[node.id] = json::to_text(model::to_json(node));
  return out;
}

TEST(SimulatedClusters, AreEqualWhetherClientsReportRowsOrObjects) {  // R-CTRL-766 to 768
  for (std::uint64_t seed = 1; seed <= berth::testing::rounds(40); ++seed) {
    const ClusterLifeReport rows = run_cluster_life({.seed = seed}), objects = run_cluster_life({.seed = seed}, true);
    EXPECT_EQ(rows.events, objects.events) << "seed " << seed;
    EXPECT_EQ(rows.digest, objects.digest) << "seed " << seed;
    const auto has = texts_of(rows.state);
    for (const auto& [id, text] : texts_of(objects.state)) {
      const auto at = has.find(id);
      ASSERT_EQ(at == has.end() ? "" : at->second, text) << "seed " << seed;
    }
    EXPECT_EQ(rows.state.allocs.size(), objects.state.allocs.size()) << "seed " << seed;
  }
}

/// Seeds for which a reused scheduler once decided differently from a new one.
TEST(RandomClusters, FormerlyFailingSeedsHoldTheInvariants) {
  // Nodes without the host volume of a job's second group were cached by places of another group.
  EXPECT_EQ(run_life({.seed = 2000559}).problems, std::vector<std::string>());
  // The last stop on a node is withdrawn, not one on another node that is gone.
  EXPECT_EQ(run_life({.seed = 2009625}).problems, std::vector<std::string>());
  // A node left its value of a distinct property to others (R-FEAS-1406), which were still cached as filtered.
  EXPECT_EQ(run_cluster_life({.seed = 2002457}).problems, std::vector<std::string>());
  // An unhealthy allocation that an operator sets healthy, and its client unhealthy again (R-CTRL-727).
  EXPECT_EQ(run_cluster_life({.seed = 6005839}).problems, std::vector<std::string>());
  // Nodes joined between a failure that was cached completely and one that was not: the class verdicts were the older
  // ones.
  EXPECT_EQ(run_cluster_life({.seed = 2007668}).problems, std::vector<std::string>());
  // An evaluation of a system job reached the delivery limit while the tracker still held it for a node.
  EXPECT_EQ(run_cluster_life({.seed = 2003680}).problems, std::vector<std::string>());
  // Cached scores treated groups with different numbers of reserved cores as one request.
  EXPECT_EQ(run_cluster_life({.seed = 10001668}).problems, std::vector<std::string>());
  // A queued evaluation of a purged system job placed the batch job that was registered under its ID (R-CTRL-742).
  EXPECT_EQ(run_life({.seed = 8001209}).problems, std::vector<std::string>());
  // The evaluation that ends a gang's wait had the ModifyIndex that the job's version once had, not the job's.
  EXPECT_EQ(run_cluster_life({.seed = 800170}).problems, std::vector<std::string>());
}

TEST(SimulatedClusters, EndEarlyWhenAJobIsReplacedEndlessly) {  // a system job whose tasks fail at once
  const ClusterLifeReport cut = run_cluster_life({.seed = 2000128, .max_evaluations = 300});
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.evaluations, 300U);
  EXPECT_EQ(cut.problems, std::vector<std::string>());
  EXPECT_FALSE(run_cluster_life({.seed = 1, .max_evaluations = 300}).cut);
}

TEST(SimulatedClusters, DependOnTheSeedAlone) {  // section 17.1
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const ClusterLifeReport one = run_cluster_life({.seed = seed, .steps = 25});
    EXPECT_EQ(one.digest, run_cluster_life({.seed = seed, .steps = 25}).digest) << "seed " << seed;
    digests.insert(one.digest);
  }
  EXPECT_EQ(digests.size(), 4U);
}

}  // namespace
}  // namespace berth::conform
