// Nomad's quirks by name: behaviour that looks like a defect and is reproduced by default. There is one field per row
// of the specification's table (README, section 5) that can be switched off; the engine checks each field where it
// matters.
#pragma once

#include <array>
#include <string_view>

namespace berth::model {

/// X(name, rules, what Nomad does, what off does). Fields, options, lists and the test of tests/quirks follow this
/// list. Rows about clients have no field.
#define BERTH_QUIRKS(X)                                                                                               \
  X(group_inherits_network, "R-FEAS-309", "a group without network has mode and ports of the group selected before",  \
    "it has mode host and no ports")                                                                                  \
  X(limit_stays_raised, "R-FEAS-217, R-RANK-404", "a limit raised for spreads or affinities stays for later groups",  \
    "every Select has the limit of its own group")                                                                    \
  X(verdicts_per_class, "R-FEAS-414", "drivers, devices and network are checked on one node per computed class",      \
    "these three are checked on every node")                                                                          \
  X(verdicts_outlive_version, "R-FEAS-413, R-FEAS-1403, R-FEAS-1404",                                                 \
    "class verdicts and distinct_property sets survive a switch of job version", "each version has its own")          \
  X(system_escapes_lost, "R-FEAS-412",                                                                                \
    "blocked evaluations of system jobs do not record that a group escapes classes", "they record it")                \
  X(looks_use_up_claims, "R-FEAS-1112", "checking a node uses up sticky volume claims",                               \
    "only the chosen node's are used")                                                                                \
  X(single_writer_too_strict, "R-FEAS-1109",                                                                          \
    "a single-writer volume counts as in use even if the holder's job is gone or the new job only reads",             \
    "it is free for both")                                                                                            \
  X(property_counts_skewed, "R-FEAS-1407, R-FEAS-1408, R-FEAS-1409, R-RANK-817, R-RANK-818, R-RANK-819",              \
    "property and spread counts take updates in place twice, some stops not at all, and stops of ended allocations",  \
    "each allocation that lives after the plan counts once")                                                          \
  X(reasons_of_evicting_pass, "R-FEAS-1605, R-SCHED-100",                                                             \
    "the filter reasons of a failure are those of the pass that may evict", "those of the first pass")                \
  X(anti_affinity_ignores_namespace, "R-RANK-711", "anti-affinity counts jobs of the same ID in other namespaces",    \
    "it counts the job itself")                                                                                       \
  X(spread_state_grows, "R-RANK-823, R-RANK-832",                                                                     \
    "the sum of spread weights and the lowest boost grow over groups and Selects",                                    \
    "the sum is the group's, the boost starts at -1 in each Select")                                                  \
  X(even_spread_unweighted, "R-RANK-831, R-RANK-835",                                                                 \
    "even spreads ignore their weight and take counts of zero for the minimum",                                       \
    "they are weighted, and zero counts are left out")                                                                \
  X(fit_counts_victims, "R-RANK-532, R-RANK-647, R-PREEMPT-705",                                                      \
    "the fit score after an eviction counts the victims, or nothing after too many allocations",                      \
    "it counts what stays")                                                                                           \
  X(own_use_ignored, "R-PREEMPT-403", "victims are chosen as if the job's own allocations used nothing",              \
    "their use is subtracted first")                                                                                  \
  X(needless_victim, "R-PREEMPT-406",                                                                                 \
    "one allocation is evicted even if none has to be, and none more because of the node's allocation limit",         \
    "none if none is needed, enough for the limit")                                                                   \
  X(max_parallel_ignored, "R-PREEMPT-414", "a victim's migrate.max_parallel never counts against it",                 \
    "the plan's victims count under their group")                                                                     \
  X(port_holders_dropped, "R-PREEMPT-514, R-PREEMPT-516",                                                             \
    "eviction for ports may not evict the holder of a requested port, or list it twice", "each is evicted once")      \
  X(eviction_forgets_option, "R-PREEMPT-515, R-PREEMPT-608",                                                          \
    "after eviction for ports or devices those that the option itself reserved are free again", "they stay reserved") \
  X(free_devices_ignored, "R-PREEMPT-603, R-PREEMPT-605",                                                             \
    "eviction for devices ignores free instances and lists candidates twice",                                         \
    "free instances count, and each candidate is listed once")                                                        \
  X(probes_evict, "R-PREEMPT-807, R-SCHED-117",                                                                       \
    "the test of a system job's update in place assumes evictions that are not made", "it assumes none")              \
  X(missing_events_ineligible, "R-RECON-62, R-MODEL-347",                                                             \
    "a reschedule tracker without list of events is never eligible", "it is like one with an empty list")             \
  X(followups_lose_cause, "R-RECON-153", "follow-up evaluations after the first lose trigger and description",        \
    "all carry the caller's")                                                                                         \
  X(followups_dangle, "R-RECON-154, R-RECON-223, R-SCHED-56",                                                         \
    "allocations name follow-up evaluations that are never created, and a retry reuses those of the last attempt",    \
    "only created ones are named, and a retry starts without them")                                                   \
  X(replacement_chain_breaks, "R-RECON-122, R-RECON-126",                                                             \
    "the search for replacements ends at a stopped one, and a disconnected original can stop its replacement",        \
    "it visits all, and only a running original is compared")                                                         \
  X(double_stops, "R-RECON-94, R-RECON-123, R-RECON-216",                                                             \
    "an allocation may be stopped twice, and the Stop counter counts ignored ones",                                   \
    "one entry each, and the counter counts entries")                                                                 \
  X(delayed_stop_holds_group, "R-RECON-148", "one delayed stop holds up all placements of the group",                 \
    "it holds up its own slot")                                                                                       \
  X(unknown_chosen_to_stop, "R-RECON-167, R-RECON-168",                                                               \
    "unknown allocations are chosen to be stopped although they do not count", "they are not chosen")                 \
  X(duplicate_count_kept, "R-RECON-162, R-SCHED-83",                                                                  \
    "the count of a duplicate name is not lowered when one of its allocations stops", "it is lowered")                \
  X(lost_replaced_in_list_order, "R-RECON-193, R-RECON-194, R-RECON-195",                                             \
    "during canaries, the first placements of the list replace lost allocations",                                     \
    "each lost allocation has a placement of its own, and each rescheduled one a single placement")                   \
  X(migrations_cut, "R-RECON-212", "limiting placements can drop a migration and keep its stop",                      \
    "only canaries and new placements are limited")                                                                   \
  X(downgrade_leaks_deployment, "R-SCHED-72",                                                                         \
    "placements after one of an older version get the deployment of that version", "each has its own")                \
  X(set_aside_deployment_named, "R-SCHED-49, R-SCHED-147",                                                            \
    "updates in place and the evaluation get the ID of a deployment that no longer applies", "they have none")        \
  X(coalesced_failure_unmarked, "R-SCHED-27, R-SCHED-63, R-SCHED-96",                                                 \
    "a coalesced failure leaves a rescheduled allocation stopped without mark; only a node's last stop is undone",    \
    "it is marked like a failure, and its own stop is undone")                                                        \
  X(reschedule_loses_description, "R-SCHED-94, R-CTRL-703",                                                           \
    "a placed reschedule clears the stop's description and the tracker's note is not stored", "both are kept")        \
  X(max_run_skips_test, "R-SCHED-111, R-RECON-234",                                                                   \
    "groups with max_run_duration are updated in place without a check of the node",                                  \
    "only if nothing but that duration differs")                                                                      \
  X(devices_compared_with_last, "R-SCHED-103", "device requests of one name are compared with the last of them",      \
    "they are compared as multisets")                                                                                 \
  X(second_blocked_eval, "R-SCHED-17", "after the last attempt there is a second blocked evaluation",                 \
    "the one of an earlier attempt is reused")                                                                        \
  X(failed_deployment_stays, "R-SCHED-138", "a failed deployment of another version stays that of a system job",      \
    "it is replaced")                                                                                                 \
  X(system_stop_leaves_hole, "R-SCHED-161, R-SCHED-167",                                                              \
    "a system update without room stops the old allocation all the same, and the desired Place wraps below 0",        \
    "the stop is taken back, and Place stays at 0")                                                                   \
  X(system_metrics_lose_pool, "R-SCHED-165, R-FEAS-116", "metrics of placed system allocations lack the node pool",   \
    "they name it")                                                                                                   \
  X(canary_trim_overshoots, "R-SCHED-175 to 181",                                                                     \
    "limiting canaries subtracts preferred ones twice and over all groups, and loses marks and counts",               \
    "it subtracts once, per group, and keeps marks and counts")                                                       \
  X(deployment_resubmitted, "R-SCHED-187, R-SCHED-188, R-SCHED-189",                                                  \
    "system evaluations submit an unchanged deployment again and overwrite the text of a promotion",                  \
    "they do neither")                                                                                                \
  X(one_blocked_per_group, "R-SCHED-164, R-CTRL-803, R-CTRL-808, R-CTRL-821",                                         \
    "a system job has one blocked evaluation per group, and the tracker merges those of different nodes",             \
    "one per node, tracked separately")                                                                               \
  X(deregistration_is_service, "R-CTRL-211, R-CTRL-1106",                                                             \
    "the deregistration of any job is evaluated as of a service", "by the job's type")                                \
  X(ready_order_skewed, "R-CTRL-311, R-CTRL-314",                                                                     \
    "the ready order ignores namespaces and the type is chosen by the last leaf of the heap",                         \
    "namespaces count, and the root decides")                                                                         \
  X(dropped_eval_fires, "R-CTRL-321", "a delayed evaluation that was taken back still fires", "it does not")          \
  X(cancelled_evals_linger, "R-CTRL-105, R-CTRL-335, R-CTRL-742",                                                     \
    "cancelled evaluations are kept, job IDs are compared without case, and evaluations of purged jobs stay queued",  \
    "they are dropped, and IDs are compared exactly")                                                                 \
  X(stop_erases_states, "R-CTRL-702, R-CTRL-1554",                                                                    \
    "a stop erases the allocation's states, so that a stop delay counts from now", "the states are stored")           \
  X(placement_of_stopped_vanishes, "R-CTRL-712", "a placement of a stopped job vanishes but counts as accepted",      \
    "it is refused")                                                                                                  \
  X(unblock_keys_shared, "R-CTRL-811", "volumes and classes share one map of unblock keys", "each has its own")       \
  X(finished_allocs_hold_node, "R-CTRL-919",                                                                          \
    "finished allocations keep a node whose heartbeats stopped `disconnected`", "only those that may still run do")   \
  X(bad_health_moves_drains, "R-CTRL-1023", "unhealthy allocations let a drain continue like healthy ones",           \
    "only healthy ones do")                                                                                           \
  X(deadline_text_sticks, "R-CTRL-1210",                                                                              \
    "after a deadline that failed nothing, later failures are described as failures of the deadline",                 \
    "by their cause")                                                                                                 \
  X(promotion_without_time, "R-CTRL-1214", "automatic promotions set the deployment's ModifyTime to 0",               \
    "to the time of the promotion")                                                                                   \
  X(queue_counts_drift, "R-CTRL-347, R-CTRL-831", "the counts of broker and tracker drift", "they are exact")         \
  X(secrets_constrain_all_groups, "R-MODEL-245", "secret providers of all groups constrain every group",              \
    "only their own")

struct Quirks {
#define BERTH_X(name, rules, nomad, off) bool name = true; /* what Nomad does; false: what `off` of the list says */
  BERTH_QUIRKS(BERTH_X)
#undef BERTH_X

  /// All quirks off: `compat=fixed`.
  [[nodiscard]] static constexpr Quirks none() {
    Quirks out;
#define BERTH_X(name, rules, nomad, off) out.name = false;
    BERTH_QUIRKS(BERTH_X)
#undef BERTH_X
    return out;
  }
  friend bool operator==(const Quirks&, const Quirks&) = default;
};

struct QuirkInfo {
  std::string_view name, rules;
  std::string_view nomad;  ///< what Nomad does
  std::string_view off;    ///< what happens instead if the quirk is off
  bool Quirks::*member;
};

/// In the order of the specification's table.
inline constexpr auto kQuirks = std::to_array<QuirkInfo>({
#define BERTH_X(name, rules, nomad, off) {#name, rules, nomad, off, &Quirks::name},
    BERTH_QUIRKS(BERTH_X)
#undef BERTH_X
});

}  // namespace berth::model
