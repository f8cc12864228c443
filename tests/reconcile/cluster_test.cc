// Whole runs of the reconciler: the worked examples of section 12 of part 05, invariants on random inputs, and that the
// order of the allocations does not matter.
#include "reconcile/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/json.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "reconcile/group_world.h"
#include "support/sanitized.h"

namespace berth::reconcile {
namespace {

using base::kSecond;
using World = GroupWorld;
constexpr std::int64_t kNow = kWorldNow;

World stopped_by_hand(std::int64_t modified_ago_s) {  // example 3
  World w("batch", 5);
  w.reschedules("constant", 240, 3, 900);
  for (std::uint64_t i = 0; i < 5; ++i) w.add(i);
  w.allocs[0].modify_time = kNow - modified_ago_s * kSecond;
  w.allocs[0].desired_transition.migrate = true;
  w.allocs[0].desired_transition.reschedule = true;
  return w;
}

TEST(ClusterReconciler, AManuallyStoppedBatchAllocIsRescheduledByPolicy) {  // example 3, R-RECON-154
  World w = stopped_by_hand(10);
  EXPECT_EQ(w.run(),
            "stop [0] migrates; mark [0] f0; f0 alloc-reschedule +3m50s; Ignore 4; Migrate 1; RescheduleLater 1");
  w.allocs[0].desired_status = "stop", w.allocs[0].client_status = "complete";
  EXPECT_EQ(w.run(), "place [0]; Ignore 4; Place 1");
  EXPECT_EQ(stopped_by_hand(3600).run(),
            "stop [0] migrates; place [0] again min 2 previous; Ignore 4; Place 1; Migrate 1");
}

TEST(ClusterReconciler, DrainedBatchAllocsAreNotReplaced) {  // example 4
  World w("batch", 5);
  for (std::uint64_t i = 0; i < 5; ++i) w.add(i, "running", i < 2 ? NodeTaint::ready : NodeTaint::none);
  for (std::size_t i = 0; i < 2; ++i) {
    w.allocs[i].desired_transition.migrate = true;
    w.allocs[i].desired_transition.migrate_disable_placement = true;
  }
  EXPECT_EQ(w.run(), "stop [0] migrates; stop [1] migrates; Ignore 3; Migrate 2");
  for (std::size_t i = 0; i < 2; ++i) w.allocs[i].desired_status = "stop";
  EXPECT_EQ(w.run(), "Ignore 5");
}

TEST(ClusterReconciler, FollowupsAreBatchedWithinFiveSeconds) {  // example 5, R-RECON-150, 153
  World w("batch", 4);
  w.reschedules("constant", 30, 10, 3600);
  const std::int64_t due[] = {15 * kSecond, 17 * kSecond, 20 * kSecond - 1, 20 * kSecond};
  for (std::uint64_t i = 0; i < 4; ++i) w.add(i, "failed").modify_time = kNow + due[i] - 30 * kSecond;
  EXPECT_EQ(w.run(),
            "annotate [0] f0; annotate [1] f0; annotate [2] f0; annotate [3] f1; f0 alloc-reschedule +15s; "
            "f1 alloc-failure +20s silent; Ignore 4; RescheduleLater 4");
}

TEST(ClusterReconciler, RollingUpdateFollowsTheHealthOfTheDeployment) {  // example 7
  World w("service", 10);
  w.updates(4);
  for (std::uint64_t i = 0; i < 10; ++i) w.add(i, "running", NodeTaint::none, w.old_job);
  EXPECT_EQ(w.run(),
            "destroy [0]; destroy [1]; destroy [2]; destroy [3]; deploy total 10 canaries 0; Ignore 6; Destructive 4");
  w.deployment = w.result.deployment;
  for (std::size_t i = 0; i < 4; ++i) {
    w.allocs[i].job = w.job;
    w.allocs[i].deployment_id = "d-new";
    if (i < 2) w.allocs[i].deployment_status.emplace().healthy = true;
  }
  EXPECT_EQ(w.run(), "destroy [4]; destroy [5]; Ignore 8; Destructive 2");
  w.allocs[3].deployment_status.emplace().healthy = false;
  EXPECT_EQ(w.run(), "Ignore 10");
}

TEST(ClusterReconciler, NewPlacementsUseUpTheUpdateLimit) {  // example 8
  World w("service", 6);
  w.updates(3);
  for (std::uint64_t i = 0; i < 4; ++i) w.add(i, "running", NodeTaint::none, w.old_job);
  EXPECT_EQ(w.run(), "place [4]; place [5]; destroy [0]; deploy total 6 canaries 0; Ignore 3; Place 2; Destructive 1");
}

TEST(ClusterReconciler, CanariesComeFirstAndPromotionTakesTheirNames) {  // example 9
  World w("service", 3);
  w.updates(1, 2);
  for (std::uint64_t i = 0; i < 3; ++i) w.add(i, "running", NodeTaint::none, w.old_job);
  EXPECT_EQ(w.run(), "place [0] canary; place [1] canary; deploy total 3 canaries 2 promotion; Ignore 3; Canary 2");
  const auto created = w.result.deployment;
  w.updates(1, 5);
  EXPECT_EQ(w.run(),
            "place [0] canary; place [1] canary; place [2] canary; deploy total 3 canaries 5 promotion; Ignore 3; "
            "Place 3; Canary 5");
  w.updates(1, 2);
  w.deployment = created;
  auto& state = *w.deployment->task_groups["web"];
  state.promoted = true;
  for (std::uint64_t i = 0; i < 2; ++i) {
    model::Allocation& canary = w.add(i);
    canary.deployment_id = "d-new";
    canary.deployment_status.emplace().healthy = true;
    state.placed_canaries.push_back(canary.id);
  }
  EXPECT_EQ(w.run(), "stop [1] unneeded; stop [0] unneeded; destroy [2]; Ignore 2; Stop 2; Destructive 1");
}

TEST(ClusterReconciler, WhileCanariesAreOutARescheduleIsPlacedTwice) {  // example 10, R-RECON-195
  World w("service", 4);
  w.updates(1, 1);
  w.reschedules("constant", 30);
  for (std::uint64_t i = 0; i < 4; ++i) w.add(i, "running", NodeTaint::none, w.old_job);
  w.allocs[2].client_status = "failed", w.allocs[2].modify_time = kNow - 60 * kSecond;
  w.taints[3] = NodeTaint::down;
  model::Allocation& canary = w.add(0);
  canary.deployment_id = "d", canary.deployment_status.emplace().canary = true;
  w.deployment.emplace();
  w.deployment->id = "d", w.deployment->job_version = 2, w.deployment->status = "running";
  auto& state = w.deployment->task_groups["web"].emplace();
  state.desired_canaries = 1, state.desired_total = 4, state.placed_canaries = {canary.id};
  EXPECT_EQ(w.run(),
            "stop [3] lost; stop [2] failed; place [2] again downgrade min 1 previous; place [2] again downgrade min 1 "
            "previous; Ignore 3; Place 2; Stop 2");
}

TEST(ClusterReconciler, ADisconnectedAllocIsReplacedByItsFollowup) {  // example 11
  World w("service", 2);
  w.reschedules("exponential", 30);
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 300 * kSecond; });
  w.add(0, "running", NodeTaint::disconnected);
  w.add(1);
  EXPECT_EQ(w.run(),
            "disconnect [0] f1; f0 max-disconnect-timeout +5m0s; f1 alloc-reschedule +30s; Ignore 2; Disconnect 1; "
            "RescheduleLater 1");
  w.allocs[0] = disconnected(w.input, w.result, w.result.disconnect_updates[0]);
  w.eval_id = w.allocs[0].followup_eval_id;
  w.now += 30 * kSecond;
  EXPECT_EQ(w.run(), "place [0] again min 2 previous; Ignore 1; Place 1");
}

TEST(ClusterReconciler, AnExpiredAllocIsLost) {  // example 12
  World w("service", 2);
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 60 * kSecond; });
  w.add(0, "unknown", NodeTaint::disconnected).alloc_states = {{0, "unknown", base::Time{kNow - 60 * kSecond}}};
  w.add(0);
  w.add(1);
  EXPECT_EQ(w.run(), "stop [0] lost; Ignore 2; Stop 1");
}

TEST(ClusterReconciler, NothingIsPlacedWhileClientsMayStillRun) {  // example 13, R-RECON-148
  World w("service", 2);
  w.reschedules("constant", 30);
  w.each_group([](model::TaskGroup& g) {
    g.disconnect.emplace().stop_on_client_after = 60 * kSecond;
    g.tasks[0].kill_timeout = 20 * kSecond;
  });
  w.add(0, "running", NodeTaint::down);
  w.add(1, "failed").modify_time = kNow - 60 * kSecond;
  EXPECT_EQ(w.run(), "stop [0] lost f0; stop [1] failed; f0 alloc-failure +1m20s; Stop 2");
}

TEST(ClusterReconciler, ScalingDownTakesTheHighestNames) {  // example 14
  World w("service", 2);
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 300 * kSecond; });
  for (std::uint64_t i = 0; i < 4; ++i) w.add(i);
  w.taints[3] = NodeTaint::gone;
  EXPECT_EQ(w.run(), "stop [3] lost; stop [2] unneeded; Ignore 2; Stop 2");
  w.taints[3] = NodeTaint::disconnected;
  w.allocs[3].client_status = "unknown";
  w.allocs[3].alloc_states = {{0, "unknown", base::Time{kNow - 1}}};
  EXPECT_EQ(w.run(), "stop [3] unneeded; Ignore 3; Stop 1");
}

TEST(ClusterReconciler, AReconnectKeepsTheOriginalAndStopsItsReplacement) {  // example 15
  World w("service", 3);
  w.each_group([](model::TaskGroup& g) {
    g.disconnect.emplace().lost_after = 300 * kSecond;
    g.disconnect->reconcile = "keep_original";
  });
  for (std::uint64_t i = 0; i < 3; ++i) w.add(i);
  w.add(0).previous_allocation = w.allocs[0].id;
  w.allocs[0].alloc_states = {{0, "unknown", base::Time{kNow - 1}}};
  w.allocs[0].next_allocation = w.allocs[3].id;
  EXPECT_EQ(w.run(), "stop [0] superfluous; reconnect [0]; Ignore 3; Stop 1; Reconnect 1");
  w.allocs[3].desired_status = "stop", w.allocs[3].client_status = "failed";  // the chain breaks
  w.add(0).previous_allocation = w.allocs[3].id;
  w.allocs[3].next_allocation = w.allocs[4].id;
  EXPECT_EQ(w.run(), "stop [2] unneeded; reconnect [0]; Ignore 3; Stop 1; Reconnect 1");
}

TEST(ClusterReconciler, CompleteServiceAllocIsPlacedAgain) {  // example 16, R-RECON-115
  World w("service", 2);
  w.reschedules("constant", 30);
  w.add(0, "complete");
  w.add(1, "failed").modify_time = kNow - 10 * kSecond;
  EXPECT_EQ(w.run(), "place [0]; annotate [1] f0; f0 alloc-reschedule +20s; Ignore 1; Place 1; RescheduleLater 1");
}

TEST(ClusterReconciler, ARemovedBatchGroupCountsWhatItDoesNotStop) {  // example 17, R-RECON-94
  World w("batch", 3);
  w.add(0, "complete");
  w.add(1, "complete").desired_status = "stop";
  w.add(2);
  w.job->task_groups.clear();
  EXPECT_EQ(w.run(), "stop [0] unneeded; stop [2] unneeded; Stop 3");
}

TEST(ClusterReconciler, AStoppedJobCancelsItsDeployment) {  // R-RECON-69, 75, 78
  World w("service", 2);
  w.add(0);
  w.add(1, "failed");
  w.deployment.emplace().id = "d";
  w.deployment->status = "running";
  w.job->stop = true;
  EXPECT_EQ(w.run(), "stop [0] unneeded; Stop 1");
  ASSERT_EQ(w.result.deployment_updates.size(), 1U);
  EXPECT_EQ(w.result.deployment_updates[0].status_description, "Cancelled because job is stopped");
}

/// A random group that may have any fault.
World random_world(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  World w(below(3) == 0 ? "batch" : "service", below(8));
  if (below(2)) w.reschedules(below(2) ? "constant" : "exponential", below(60), below(3), 100);
  w.each_group([&](model::TaskGroup& g) {
    if (below(2)) return;
    auto& disconnect = g.disconnect.emplace();
    disconnect.lost_after = below(3) * 60 * kSecond;
    disconnect.reconcile = std::array{"", "keep_original", "keep_replacement", "longest_running"}[below(4)];
    if (below(3) == 0) disconnect.replace = false;
    if (below(4) == 0) disconnect.stop_on_client_after = 60 * kSecond;
  });
  if (!w.is_batch && below(2)) w.updates(below(4), below(3));
  if (!w.is_batch && below(2)) {
    w.deployment.emplace().id = "d";
    w.deployment->job_version = 1 + below(2);
    w.deployment->status = std::array{"running", "paused", "failed", "successful", "initializing"}[below(5)];
    auto& state = w.deployment->task_groups["web"].emplace();
    state.desired_canaries = below(3), state.desired_total = below(6), state.promoted = below(2) != 0;
  }
  for (std::uint32_t n = below(14); n > 0; --n) {
    const char* client = std::array{"running", "running", "pending", "failed", "complete", "lost", "unknown"}[below(7)];
    const auto taint = below(2) ? NodeTaint::none : static_cast<NodeTaint>(below(6));
    model::Allocation& alloc = w.add(below(10), client, taint, below(2) ? w.job : w.old_job);
    if (below(6) == 0) alloc.desired_status = below(2) ? "stop" : "evict";
    if (below(5) == 0) alloc.desired_transition.migrate = true;
    if (below(5) == 0) alloc.desired_transition.reschedule = true;
    if (below(7) == 0) alloc.desired_transition.force_reschedule = true;
    if (below(7) == 0) alloc.desired_transition.migrate_disable_placement = true;
    if (below(3) == 0) alloc.alloc_states = {{0, "unknown", base::Time{kNow - below(90) * kSecond}}};
    if (below(3) == 0) alloc.followup_eval_id = below(2) ? "eval" : "other";
    if (w.allocs.size() > 1 && below(3) == 0)
      alloc.next_allocation = w.allocs[below(static_cast<std::uint32_t>(w.allocs.size()))].id;
    alloc.modify_time = kNow - below(90) * kSecond;
    if (w.deployment && below(3) == 0) {
      alloc.deployment_id = "d";
      if (below(2)) alloc.deployment_status.emplace().healthy = below(2) != 0;
      if (below(3) == 0) w.deployment->task_groups["web"]->placed_canaries.push_back(alloc.id);
    }
  }
  return w;
}

TEST(ClusterReconciler, InvariantsHoldAndTheOrderOfTheInputDoesNotMatter) {  // R-RECON-7, 215
  constexpr std::uint32_t kSeed = 215;
  std::mt19937 random(kSeed);
  int with_stops = 0, with_places = 0;
  for (int round = 0; round < 4000; ++round) {
    World w = random_world(random);
    const std::string before = w.run();
    const auto& counters = w.result.groups[0].updates;
    const std::string where = "seed " + std::to_string(kSeed) + " round " + std::to_string(round) + ": " + before;
    const auto count = static_cast<std::uint64_t>(w.job->task_groups[0].count);
    EXPECT_LE(counters.place, count) << where;
    EXPECT_LE(w.result.place.size(), count) << where;
    EXPECT_LE(counters.ignore + counters.in_place_update + counters.destructive_update, w.allocs.size()) << where;
    if (count == 0) {
      EXPECT_TRUE(w.result.place.empty() && w.result.stop.size() <= counters.stop) << where;
    }
    for (const auto& update : w.result.destructive_update)
      for (const auto& stop : w.result.stop) EXPECT_NE(update.row, stop.row) << where;
    with_stops += !w.result.stop.empty();
    with_places += !w.result.place.empty();

    std::vector<std::size_t> order(w.allocs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    World shuffled = w;
    for (std::size_t i = 0; i < order.size(); ++i) {
      shuffled.allocs[i] = w.allocs[order[i]];
      shuffled.taints[i] = w.taints[order[i]];
    }
    EXPECT_EQ(shuffled.run(), before) << where;
  }
  EXPECT_GT(with_stops, 1000);  // the inputs reach the tested code
  EXPECT_GT(with_places, 1000);
}

/// A group that runs undisturbed is recognised in one pass if its allocations come in the order of their names. In
/// reverse order the full algorithm gives the same result.
TEST(SteadyGroup, ShortcutEqualsTheFullAlgorithm) {  // section 6 of part 05
  std::mt19937_64 random(3);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::size_t nothing = 0;
  const std::uint64_t rounds = berth::testing::rounds(3000);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::uint64_t n = 1 + below(70);
    GroupWorld w(below(3) == 0 ? "batch" : "service", static_cast<std::int64_t>(below(8) == 0 ? below(70) : n));
    w.allocs.reserve(80);
    if (below(2) != 0) w.updates(static_cast<std::int64_t>(below(3)), static_cast<std::int64_t>(below(2)));
    w.destructive_below = below(4) == 0 ? 2 : 0;
    const bool mixed = below(4) == 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      model::Allocation& alloc = w.add(i, below(5) == 0 ? "pending" : "running", NodeTaint::none,
                                       mixed && below(3) == 0 ? w.old_job : nullptr);
      if (below(3) == 0) alloc.deployment_id = "d";
      if (below(4) == 0) alloc.deployment_status.emplace().healthy = below(2) != 0;
      if (below(300) == 0) alloc.deployment_status.emplace().canary = true;
    }
    if (!w.is_batch && below(2) != 0) {
      static constexpr const char* kStatus[] = {"running", "paused", "failed", "initializing", "successful", "pending"};
      model::Deployment& d = w.deployment.emplace();
      d.id = "d", d.status = kStatus[below(6)], d.job_version = below(4) == 0 ? 1 : 2;
      if (below(3) != 0) {
        model::DeploymentState& state = d.task_groups["web"].emplace();
        state.desired_total = static_cast<std::int64_t>(below(n + 1));
        state.healthy_allocs = static_cast<std::int64_t>(below(n + 1));
        state.desired_canaries = static_cast<std::int64_t>(below(3) == 0 ? below(3) : 0);
        state.promoted = below(2) != 0;
        if (below(5) == 0) state.placed_canaries = {w.allocs[below(n)].id};
      }
    }
    const auto told = [&](const std::string& done) {
      std::string out =
          done + "; deployment " + (w.result.deployment ? json::to_text(model::to_json(*w.result.deployment)) : "none");
      for (const auto& u : w.result.deployment_updates) out += "; " + u.status + " " + u.status_description;
      const NameIndex& names = *w.result.groups[0].names;
      out += "; names " + std::to_string(names.size_bits()) + "/" + std::to_string(names.count()) + ":";
      for (const std::uint32_t index : names.used()) out += " " + std::to_string(index);
      return out + "; shared " + std::to_string(names.duplicates().size());
    };
    if (w.job->task_groups[0].count == 0) continue;  // no names in that case
    const std::string forward = told(w.run());
    nothing += forward.starts_with("Ignore");
    std::reverse(w.allocs.begin(), w.allocs.end());
    ASSERT_EQ(forward, told(w.run()));
  }
  EXPECT_GT(nothing, rounds / 6);
}

}  // namespace
}  // namespace berth::reconcile
