// Quirks of the reconcilers.
#include <gtest/gtest.h>

#include "model/job.h"
#include "quirks/quirk_test.h"
#include "reconcile/group_world.h"
#include "reconcile/node.h"
#include "support/cluster_objects.h"

namespace berth::reconcile {
namespace {

constexpr std::int64_t kNow = kWorldNow;

/// Decides one world as Nomad does, and without the quirk.
void expect_run(GroupWorld& w, const model::Quirks& quirks, bool off, const char* nomad, const char* without) {
  w.quirks = quirks;
  EXPECT_EQ(w.run(), off ? without : nomad);
}

QUIRK_TEST(missing_events_ineligible, ATrackerWithoutAListEqualsAnEmptyOne) {  // R-RECON-62, R-MODEL-347
  GroupWorld w("service", 1);
  w.reschedules("constant", 30, 2, 600);
  model::Allocation& alloc = w.add(0, "failed");
  alloc.modify_time = kNow - 60 * base::kSecond;
  alloc.reschedule_tracker.emplace().last_reschedule = "no placement";
  expect_run(w, quirks, off, "Ignore 1", "stop [0] failed; place [0] again min 2 previous; Place 1; Stop 1");
  alloc.reschedule_tracker->events.emplace();  // an empty one: the same
  const char* const again = "stop [0] failed; place [0] again min 2 previous; Place 1; Stop 1";
  expect_run(w, quirks, off, again, again);
}

QUIRK_TEST(followups_lose_cause, LaterBatchesOfFollowupsKeepTriggerAndDescription) {  // R-RECON-153
  GroupWorld w("service", 2);
  w.reschedules("constant", 30);
  w.add(0, "failed").modify_time = kNow - 20 * base::kSecond;
  w.add(1, "failed").modify_time = kNow - 10 * base::kSecond;
  expect_run(w, quirks, off,
             "annotate [0] f0; annotate [1] f1; f0 alloc-reschedule +10s; f1 alloc-failure +20s silent; Ignore 2; "
             "RescheduleLater 2",
             "annotate [0] f0; annotate [1] f1; f0 alloc-reschedule +10s; f1 alloc-reschedule +20s; Ignore 2; "
             "RescheduleLater 2");
}

/// web[0] reconnects; web[1] replaced it, and web[2] replaced web[1].
GroupWorld reconnecting(std::int64_t count) {
  GroupWorld w("service", count);
  w.each_group([](model::TaskGroup& g) {
    g.disconnect.emplace().lost_after = 300 * base::kSecond;
    g.disconnect->reconcile = "keep_original";
  });
  for (std::uint64_t i = 0; i < 3; ++i) w.add(i);
  w.allocs[0].alloc_states = {{0, "unknown", base::Time{kNow - 1}}};
  w.allocs[0].next_allocation = w.allocs[1].id;
  w.allocs[1].next_allocation = w.allocs[2].id;
  return w;
}

QUIRK_TEST(replacement_chain_breaks, ChainsOfReplacementsContinueThroughStoppedAllocations) {  // R-RECON-122
  GroupWorld w = reconnecting(1);
  w.allocs[1].desired_status = "stop", w.allocs[1].client_status = "failed";
  expect_run(w, quirks, off, "stop [2] unneeded; reconnect [0]; Ignore 1; Stop 1; Reconnect 1",
             "stop [2] superfluous; reconnect [0]; Ignore 1; Stop 1; Reconnect 1");
}

QUIRK_TEST(replacement_chain_breaks, ALostCanaryIsNoReplacement) {  // R-RECON-103, 122: it is not in ALL
  GroupWorld w = reconnecting(1);
  w.allocs.pop_back(), w.taints.pop_back();
  w.taints[1] = NodeTaint::down;
  w.deployment.emplace();
  w.deployment->id = "d", w.deployment->job_version = 2, w.deployment->status = "running";
  w.deployment->task_groups["web"].emplace().placed_canaries = {w.allocs[1].id};
  const char* const done = "stop [1] lost; reconnect [0]; Ignore 1; Reconnect 1";
  expect_run(w, quirks, off, done, done);
}

QUIRK_TEST(replacement_chain_breaks, OnlyARunningOriginalIsComparedWithItsReplacement) {  // R-RECON-126
  GroupWorld w = reconnecting(1);
  w.allocs.pop_back(), w.taints.pop_back();
  w.allocs[0].client_status = "unknown";  // the node is back, but its client has not reported yet
  expect_run(w, quirks, off, "stop [1] superfluous; Ignore 1; Stop 1", "Ignore 2");
}

QUIRK_TEST(double_stops, AnAllocHasOneStopEntry) {  // R-RECON-123, 124, 216
  GroupWorld w = reconnecting(3);
  w.allocs[0].next_allocation = w.allocs[2].id;
  w.allocs[2].client_status = "failed", w.allocs[2].modify_time = kNow - 3600 * base::kSecond;
  w.reschedules("constant", 30);
  expect_run(w, quirks, off,
             "stop [2] superfluous; stop [2] failed; place [2] again min 2 previous; reconnect [0]; Ignore 2; Place 1; "
             "Stop 2; Reconnect 1",
             "stop [2] superfluous; place [2] again min 2 previous; reconnect [0]; Ignore 2; Place 1; Stop 1; "
             "Reconnect 1");
}

QUIRK_TEST(double_stops, AnAllocThatTheSchedulerStoppedIsNotStoppedAgain) {  // R-RECON-23
  struct Case {
    const char* client;
    NodeTaint taint;
    bool finished;  // stopped as lost before the reconciler runs
  };
  for (const Case& c : {Case{"running", NodeTaint::down, true}, Case{"running", NodeTaint::gone, true},
                        Case{"unknown", NodeTaint::down, false}}) {
    GroupWorld w("batch", 1);
    w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 300 * base::kSecond; });
    model::Allocation& alloc = w.add(0, c.client, c.taint);
    alloc.desired_status = "stop";
    alloc.alloc_states = {{0, "unknown", base::Time{kNow - 1}}};
    expect_run(w, quirks, off, "stop [0] lost; place [0] lost min 2 previous; Place 1; Stop 1",
               c.finished ? "place [0] lost min 2 previous; Place 1"
                          : "stop [0] lost; place [0] lost min 2 previous; Place 1; Stop 1");
  }
}

QUIRK_TEST(stop_erases_states, AStoppedAllocThatReconnectsIsStoppedOnce) {  // R-RECON-121
  GroupWorld w("batch", 1);
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 300 * base::kSecond; });
  model::Allocation& alloc = w.add(0);
  alloc.alloc_states = {{0, "unknown", base::Time{kNow - 1}}};
  alloc.desired_status = "stop";
  expect_run(w, quirks, off, "stop [0] unneeded; place [0]; Place 1; Stop 1", "place [0]; Place 1; Stop 1");
}

QUIRK_TEST(double_stops, TheStopCounterCountsEntries) {  // R-RECON-94
  GroupWorld w("batch", 3);
  w.add(0, "complete");
  w.add(1, "complete").desired_status = "stop";
  w.add(2);
  w.job->task_groups.clear();
  expect_run(w, quirks, off, "stop [0] unneeded; stop [2] unneeded; Stop 3",
             "stop [0] unneeded; stop [2] unneeded; Stop 2");
}

QUIRK_TEST(delayed_stop_holds_group, ADelayedStopHoldsItsOwnSlotOnly) {  // R-RECON-148
  GroupWorld w("service", 4);
  w.reschedules("constant", 30);
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().stop_on_client_after = 60 * base::kSecond; });
  w.add(0, "running", NodeTaint::down);
  w.add(1, "failed").modify_time = kNow - 60 * base::kSecond;
  w.add(2, "running", NodeTaint::down).alloc_states = {{0, "lost", base::Time{1}}};  // its time limit is over
  expect_run(w, quirks, off, "stop [0] lost f0; stop [2] lost; stop [1] failed; f0 alloc-failure +1m5s; Stop 3",
             "stop [0] lost f0; stop [2] lost; stop [1] failed; place [1] again min 2 previous; place [2] lost min 2 "
             "previous; place [3]; f0 alloc-failure +1m5s; Place 3; Stop 3");
}

QUIRK_TEST(unknown_chosen_to_stop, UnknownAllocsAreNotChosen) {  // R-RECON-167, 168
  GroupWorld w("service", 2);
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 300 * base::kSecond; });
  for (std::uint64_t i = 0; i < 4; ++i) w.add(i);
  w.taints[3] = NodeTaint::disconnected;
  w.allocs[3].client_status = "unknown";
  w.allocs[3].alloc_states = {{0, "unknown", base::Time{kNow - 1}}};
  expect_run(w, quirks, off, "stop [3] unneeded; Ignore 3; Stop 1", "stop [2] unneeded; Ignore 3; Stop 1");
}

QUIRK_TEST(duplicate_count_kept, TheCountOfDuplicateNamesIsStored) {  // R-RECON-162, R-SCHED-83
  NameIndex index(std::vector<std::uint32_t>{0, 1, 3, 3, 3}, 5);
  index.unset(3, quirks);
  EXPECT_EQ(index.duplicates().at(3), off ? 1U : 2U);
  index.unset(3, quirks);
  EXPECT_EQ(index.is_duplicate(3), !off);
}

QUIRK_TEST(lost_replaced_in_list_order,
           WhileCanariesAreOutWhatIsLostIsReplacedByItsOwnPlacement) {  // R-RECON-193 to 195, example 10
  GroupWorld w("service", 4);
  w.updates(1, 1);
  w.reschedules("constant", 30);
  for (std::uint64_t i = 0; i < 3; ++i) w.add(i, "running", NodeTaint::none, w.old_job);
  w.allocs[1].client_status = "failed", w.allocs[1].modify_time = kNow - 60 * base::kSecond;
  w.taints[2] = NodeTaint::down;
  model::Allocation& canary = w.add(0);
  canary.deployment_id = "d", canary.deployment_status.emplace().canary = true;
  w.deployment.emplace();
  w.deployment->id = "d", w.deployment->job_version = 2, w.deployment->status = "running";
  auto& state = w.deployment->task_groups["web"].emplace();
  state.desired_canaries = 1, state.desired_total = 4, state.placed_canaries = {canary.id};
  expect_run(w, quirks, off,
             "stop [2] lost; stop [1] failed; place [1] again downgrade min 1 previous; place [1] again downgrade min "
             "1 previous; Ignore 2; Place 2; Stop 2",
             "stop [2] lost; stop [1] failed; place [2] lost downgrade min 1 previous; place [1] again downgrade min 1 "
             "previous; Ignore 2; Place 2; Stop 2");
}

QUIRK_TEST(migrations_cut, OnlyCanariesAndNewPlacementsAreLimited) {  // R-RECON-212
  GroupWorld w("service", 2);
  w.updates(1, 2);
  w.add(0, "running", NodeTaint::ready, w.old_job).desired_transition.migrate = true;
  w.add(1, "running", NodeTaint::none, w.old_job);
  expect_run(w, quirks, off,
             "stop [0] migrates; place [1] canary; place [2] canary; deploy total 1 canaries 2 promotion; Ignore 1; "
             "Place 2; Migrate 1; Canary 2",
             "stop [0] migrates; place [1] canary; place [0] downgrade min 1 previous; deploy total 1 canaries 2 "
             "promotion; Ignore 1; Place 2; Migrate 1; Canary 2");
}

QUIRK_TEST(migrations_cut, PlacementsWithAPredecessorStay) {  // R-RECON-212
  GroupWorld w("service", 1);
  w.reschedules("constant", 30);
  w.add(0, "failed").modify_time = kNow - 60 * base::kSecond;
  w.add(1).desired_transition.migrate = true;
  expect_run(w, quirks, off,
             "stop [0] failed; stop [1] migrates; place [0] again min 2 previous; Place 1; Migrate 1; Stop 1",
             "stop [0] failed; stop [1] migrates; place [0] again min 2 previous; place [1] min 2 previous; Place 1; "
             "Migrate 1; Stop 1");
}

QUIRK_TEST(lost_replaced_in_list_order, AMigratingAllocIsStoppedOnce) {  // R-RECON-194
  GroupWorld w("batch", 1);
  w.is_batch = false;  // a deployment in the service scheduler, and an allocation of a batch job
  w.reschedules("constant", 0);
  w.updates(1);
  w.destructive_below = 0;
  model::Allocation& alloc = w.add(0);
  alloc.desired_transition.migrate = true, alloc.desired_transition.reschedule = true;
  alloc.modify_time = kNow - 60 * base::kSecond;
  w.deployment.emplace();
  w.deployment->id = "d", w.deployment->job_version = 2, w.deployment->status = "paused";
  w.deployment->task_groups["web"].emplace().desired_total = 1;
  expect_run(w, quirks, off,
             "stop [0] failed; stop [0] migrates; place [0] again min 2 previous; Place 1; Migrate 1; Stop 1",
             "stop [0] migrates; place [0] again min 2 previous; Place 1; Migrate 1");
}

QUIRK_TEST(failed_deployment_stays, AFailedDeploymentOfAnotherVersionIsSetAside) {  // R-SCHED-138
  model::Job job = *testing::make_job({.type = "system", .version = 3});
  job.create_index = 10;
  model::TaskGroup& group = job.task_groups[0];
  group.update.emplace().max_parallel = 1;
  model::Deployment failed;
  failed.id = "given", failed.status = "failed", failed.job_version = 2, failed.job_create_index = 10;
  std::vector<RequiredName> required;
  required_names(&job, required);
  const NodeVisit node{.candidate = true};
  struct Ids final : IdSource {
    std::string next_eval_id() override { return "e"; }
    std::string next_deployment_id() override { return "made"; }
  } ids;
  NodeInput input;
  input.job = &job, input.required = required, input.visits = {&node, 1}, input.deployment = &failed;
  input.quirks = quirks;
  NodeReconciler reconciler;
  const NodeResult& result = reconciler.run(input, ids);
  ASSERT_TRUE(result.deployment);
  EXPECT_EQ(result.deployment->id, off ? "made" : "given");
  EXPECT_EQ(result.old_deployment, off ? "given" : "");
  EXPECT_EQ(result.deployment_updates.size(), off ? 1U : 0U);  // the new one runs; the old one has ended
}

}  // namespace
}  // namespace berth::reconcile
