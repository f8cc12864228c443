// Nomad's quirks by name: behaviour that looks like a defect and is reproduced by default. There is one field per row
// of the specification's table (README, section 5) that can be switched off; the engine checks each field where it
// matters.
#pragma once

#include <array>
#include <string_view>

namespace berth::model {

/// X(name, rules, what Nomad does, what off does). Fields, options, lists and the test of tests/quirks follow this
/// list. Rows about clients have no field.
#define BERTH_QUIRKS(X)                                                                                                \
  X(group_inherits_network, "R-FEAS-309",                                                                              \
    "a group without a network block gets mode and ports of the last group before it that has one",                    \
    "it gets mode host and no ports")                                                                                  \
  X(limit_stays_raised, "R-FEAS-217, R-RANK-404",                                                                      \
    "a limit of examined nodes that was raised for spreads or affinities stays raised for later groups",               \
    "every Select has the limit of its own group")                                                                     \
  X(verdicts_per_class, "R-FEAS-414",                                                                                  \
    "the result of the driver, device and network checks is computed on one node per computed class and reused for "   \
    "the class",                                                                                                       \
    "these three checks are made on every node")                                                                       \
  X(verdicts_outlive_version, "R-FEAS-413, R-FEAS-1403, R-FEAS-1404",                                                  \
    "results of checks per class, and distinct_property sets, stay in use when the job version changes",               \
    "each job version has its own")                                                                                    \
  X(system_escapes_lost, "R-FEAS-412",                                                                                 \
    "blocked evaluations of system jobs do not record that a group's constraints go beyond node classes",              \
    "they record it")                                                                                                  \
  X(looks_use_up_claims, "R-FEAS-1112",                                                                                \
    "checking a node uses up its sticky volume claims, even if another node is chosen",                                \
    "checking a node uses up no claims")                                                                               \
  X(single_writer_too_strict, "R-FEAS-1109",                                                                           \
    "a single-writer volume counts as in use even if the holder's job is gone or the new job only reads",              \
    "it counts as free in both cases")                                                                                 \
  X(property_counts_skewed, "R-FEAS-1407, R-FEAS-1408, R-FEAS-1409, R-RANK-817, R-RANK-818, R-RANK-819",               \
    "in property and spread counts, in-place updates count twice, some stops are not subtracted, and stops of ended "  \
    "allocations are",                                                                                                 \
    "each allocation that lives after the plan counts once")                                                           \
  X(reasons_of_evicting_pass, "R-FEAS-1605, R-SCHED-100",                                                              \
    "the filter reasons of a failed placement are those of the second pass, which may evict",                          \
    "they are those of the first pass")                                                                                \
  X(anti_affinity_ignores_namespace, "R-RANK-711",                                                                     \
    "anti-affinity also counts allocations of jobs with the same ID in other namespaces",                              \
    "it counts the job's own allocations")                                                                             \
  X(spread_state_grows, "R-RANK-823, R-RANK-832",                                                                      \
    "the sum of spread weights and the lowest boost carry over to later groups and Selects",                           \
    "the sum is the group's own, and the boost starts at -1 in each Select")                                           \
  X(even_spread_unweighted, "R-RANK-831, R-RANK-835",                                                                  \
    "even spreads ignore their weight, and with counts of zero the minimum depends on the order of values",            \
    "they are weighted, and counts of zero are left out")                                                              \
  X(fit_counts_victims, "R-RANK-532, R-RANK-647, R-PREEMPT-705",                                                       \
    "the fit score after an eviction includes the victims, or counts nothing if the node has too many allocations",    \
    "it counts the allocations that remain")                                                                           \
  X(own_use_ignored, "R-PREEMPT-403", "preemption ignores what the job's own allocations use on the node",             \
    "their use is subtracted first")                                                                                   \
  X(needless_victim, "R-PREEMPT-406",                                                                                  \
    "one allocation is evicted even if none has to be, and none more because of the node's allocation limit",          \
    "none is evicted if all fits, and enough to meet the limit")                                                       \
  X(max_parallel_ignored, "R-PREEMPT-414", "preemption ignores migrate.max_parallel of the victims' groups",           \
    "the plan's victims count against their group's migrate.max_parallel")                                             \
  X(port_holders_dropped, "R-PREEMPT-514, R-PREEMPT-516",                                                              \
    "preemption for ports may leave out the allocation that holds a requested port, or list it twice",                 \
    "each holder of a requested port is evicted once")                                                                 \
  X(eviction_forgets_option, "R-PREEMPT-515, R-PREEMPT-608",                                                           \
    "after preemption for ports or devices, those already reserved for the same new allocation are free again",        \
    "they stay reserved")                                                                                              \
  X(free_devices_ignored, "R-PREEMPT-603, R-PREEMPT-605",                                                              \
    "preemption for devices ignores free instances, and lists candidates twice",                                       \
    "free instances count, and each candidate is listed once")                                                         \
  X(probes_evict, "R-PREEMPT-807, R-SCHED-117",                                                                        \
    "the check whether a system job's allocation can be updated in place assumes evictions that are not made",         \
    "it assumes none")                                                                                                 \
  X(missing_events_ineligible, "R-RECON-62, R-MODEL-347",                                                              \
    "with limited attempts, an allocation whose reschedule tracker has no list of events is never rescheduled",        \
    "a missing list is treated as an empty one")                                                                       \
  X(followups_lose_cause, "R-RECON-153",                                                                               \
    "follow-up evaluations after the first have another trigger and no description",                                   \
    "all have trigger and description of the first")                                                                   \
  X(followups_dangle, "R-RECON-154, R-RECON-223, R-SCHED-56",                                                          \
    "allocations name follow-up evaluations that are never created, and a retry reuses those of the previous attempt", \
    "only created ones are named, and a retry starts without them")                                                    \
  X(replacement_chain_breaks, "R-RECON-122, R-RECON-126",                                                              \
    "the search for the replacements of an allocation ends at a stopped one, and an original whose client has not "    \
    "reported yet can stop its replacement",                                                                           \
    "the search goes past stopped ones, and only a running original is compared with its replacement")                 \
  X(double_stops, "R-RECON-94, R-RECON-123, R-RECON-216",                                                              \
    "an allocation may be stopped twice in a plan, and the Stop counter includes ignored allocations",                 \
    "each is stopped once, and the counter is the number of stops")                                                    \
  X(delayed_stop_holds_group, "R-RECON-148",                                                                           \
    "one allocation that is stopped after a delay prevents all placements of its group",                               \
    "it prevents only its own replacement")                                                                            \
  X(unknown_chosen_to_stop, "R-RECON-167, R-RECON-168",                                                                \
    "allocations with status unknown are chosen to be stopped, although they do not count as running",                 \
    "they are not chosen")                                                                                             \
  X(duplicate_count_kept, "R-RECON-162, R-SCHED-83",                                                                   \
    "the count of a name of three or more allocations is not lowered when one stops or is renamed", "it is lowered")   \
  X(lost_replaced_in_list_order, "R-RECON-193, R-RECON-194, R-RECON-195",                                              \
    "while the deployment is paused, failed or has canaries, lost allocations are replaced by the first placements "   \
    "of the list, whatever they are for",                                                                              \
    "a lost allocation is replaced by its own placement, and a rescheduled one once")                                  \
  X(migrations_cut, "R-RECON-212",                                                                                     \
    "if a group's list of placements is cut to its count, a migration can be cut although its stop stays",             \
    "only canaries and new placements are cut")                                                                        \
  X(downgrade_leaks_deployment, "R-SCHED-72",                                                                          \
    "placements that follow one of an older job version get that version's deployment", "each has its own deployment") \
  X(set_aside_deployment_named, "R-SCHED-49, R-SCHED-147",                                                             \
    "the ID of a deployment that no longer applies is given to in-place updates and to the evaluation",                \
    "they have no deployment ID")                                                                                      \
  X(coalesced_failure_unmarked, "R-SCHED-27, R-SCHED-63, R-SCHED-96",                                                  \
    "after a group's first failed placement, further failed reschedules stay stopped without a mark, and only a "      \
    "node's last stop is undone",                                                                                      \
    "each is marked as failed, and its own stop is undone")                                                            \
  X(reschedule_loses_description, "R-SCHED-94, R-CTRL-703",                                                            \
    "a placed reschedule clears the description of the stop, and the note in the tracker is not stored",               \
    "both are kept")                                                                                                   \
  X(max_run_skips_test, "R-SCHED-111, R-RECON-234",                                                                    \
    "groups with max_run_duration are updated in place without checking the node",                                     \
    "only if nothing but that duration differs")                                                                       \
  X(devices_compared_with_last, "R-SCHED-103",                                                                         \
    "several device requests with one name are each compared with the last one of the new version",                    \
    "they are compared as multisets")                                                                                  \
  X(second_blocked_eval, "R-SCHED-17", "after the last attempt a second blocked evaluation is created",                \
    "that of an earlier attempt is reused")                                                                            \
  X(failed_deployment_stays, "R-SCHED-138",                                                                            \
    "a failed deployment of another version stays the deployment of a system job", "it is ignored")                    \
  X(system_stop_leaves_hole, "R-SCHED-161, R-SCHED-167",                                                               \
    "a system update without room still stops the old allocation, and the desired Place can wrap below 0",             \
    "the stop is undone, and Place is at least 0")                                                                     \
  X(system_metrics_lose_pool, "R-SCHED-165, R-FEAS-116",                                                               \
    "the metrics of placed system allocations lack the node pool", "they have it")                                     \
  X(canary_trim_overshoots, "R-SCHED-175 to 181",                                                                      \
    "when surplus canaries of a system job are removed, preferred ones are subtracted twice and in all groups, marks " \
    "of running canaries are lost, and counts are not corrected",                                                      \
    "they are subtracted once and per group, and marks and counts are correct")                                        \
  X(deployment_resubmitted, "R-SCHED-187, R-SCHED-188, R-SCHED-189",                                                   \
    "system evaluations submit an unchanged deployment again, and overwrite the description of a promotion",           \
    "they do neither")                                                                                                 \
  X(one_blocked_per_group, "R-SCHED-164, R-CTRL-803, R-CTRL-808, R-CTRL-821",                                          \
    "a system job has one blocked evaluation per group, and those of different nodes replace each other",              \
    "it has one per node, and each is tracked by itself")                                                              \
  X(deregistration_is_service, "R-CTRL-211, R-CTRL-1106",                                                              \
    "the deregistration of any job is evaluated by the service scheduler",                                             \
    "it is evaluated by the scheduler of the job's type")                                                              \
  X(ready_order_skewed, "R-CTRL-311, R-CTRL-314",                                                                      \
    "the order of ready evaluations ignores namespaces, and the last leaf of the heap decides which type comes next",  \
    "namespaces count, and the root decides")                                                                          \
  X(dropped_eval_fires, "R-CTRL-321", "the delayed evaluation that is due next still runs when it is withdrawn",       \
    "it does not run")                                                                                                 \
  X(cancelled_evals_linger, "R-CTRL-105, R-CTRL-335, R-CTRL-742",                                                      \
    "cancelled evaluations stay known to the broker, job IDs are compared without case, and evaluations of purged "    \
    "jobs stay queued",                                                                                                \
    "they are forgotten, compared exactly, and removed")                                                               \
  X(stop_erases_states, "R-CTRL-702, R-CTRL-1554",                                                                     \
    "a stop erases the allocation's states, so that a delay after stopping counts from now", "the states are stored")  \
  X(placement_of_stopped_vanishes, "R-CTRL-712", "a placement of a stopped job is dropped but counts as accepted",     \
    "it is refused")                                                                                                   \
  X(unblock_keys_shared, "R-CTRL-811",                                                                                 \
    "volumes and node classes share one map of unblock keys, so an unknown volume unblocks evaluations at once",       \
    "each has its own map")                                                                                            \
  X(finished_allocs_hold_node, "R-CTRL-919",                                                                           \
    "ended allocations keep a node whose heartbeats stopped in status disconnected",                                   \
    "only allocations that may still run do")                                                                          \
  X(bad_health_moves_drains, "R-CTRL-1023", "unhealthy allocations let a drain continue as healthy ones do",           \
    "only healthy ones do")                                                                                            \
  X(deadline_text_sticks, "R-CTRL-1210",                                                                               \
    "after a deadline at which nothing failed, any later failure of the deployment is described as a missed deadline", \
    "it is described by its own cause")                                                                                \
  X(promotion_without_time, "R-CTRL-1214", "automatic promotions set the deployment's ModifyTime to 0",                \
    "they set it to the time of the promotion")                                                                        \
  X(queue_counts_drift, "R-CTRL-347, R-CTRL-831",                                                                      \
    "the counters of the broker and of the blocked evaluations become inexact", "they are exact")                      \
  X(secrets_constrain_all_groups, "R-MODEL-245", "the secret providers of all groups constrain every group",           \
    "each group is constrained by its own")

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
