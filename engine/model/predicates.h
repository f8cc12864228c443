// Yes-or-no questions and time arithmetic on nodes, jobs and allocations (R-MODEL-181, 204, 205, 280 to 308, 340 to
// 362).
//
// Pure functions of plain values; every instant is a parameter. Times are nanoseconds since 1970; `Time{}` means no
// time (R-MODEL-5). Loops over many allocations read columns instead (reconcile) and must agree with these definitions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/eval.h"
#include "model/node.h"
#include "model/quirks.h"
#include "model/status.h"

namespace berth::model {

// Nodes.
[[nodiscard]] bool is_in_pool(const Node& node, std::string_view pool);                            ///< R-MODEL-281
[[nodiscard]] bool is_in_datacenters(const Node& node, std::span<const std::string> datacenters);  ///< R-MODEL-286

struct DrainDeadline {
  bool infinite = false;
  base::Time at;  ///< zero when infinite, and when the drain is to be forced now
};
[[nodiscard]] DrainDeadline drain_deadline(const DrainStrategy* strategy);  ///< R-MODEL-285

// Jobs; an absent job is a null pointer.
[[nodiscard]] bool is_stopped(const Job* job);          ///< R-MODEL-290
[[nodiscard]] bool is_periodic(const Job& job);         ///< R-MODEL-291
[[nodiscard]] bool is_parameterized(const Job& job);    ///< R-MODEL-291
[[nodiscard]] bool is_active_periodic(const Job& job);  ///< R-MODEL-291
/// A copy that becomes a new version or another job: a tag belongs to one version (R-REG-440).
[[nodiscard]] Job untagged(const Job& job);
/// Counts and canaries above this are refused for every job: each would be a name and a placement.
inline constexpr std::int64_t kCountMax = 10'000'000;
/// Describes what is wrong with the count or the canaries of the group; "" if nothing is.
[[nodiscard]] std::string count_problem(const TaskGroup& group);
[[nodiscard]] bool has_update_strategy(const TaskGroup& group);                      ///< R-MODEL-292
[[nodiscard]] bool replaces_on_disconnect(const TaskGroup* group);                   ///< R-MODEL-294
[[nodiscard]] Duration lost_after(const TaskGroup& group);                           ///< R-MODEL-294; 0 = feature off
[[nodiscard]] std::optional<Duration> stop_on_client_after(const TaskGroup& group);  ///< R-MODEL-294

// Evaluations and deployments.
[[nodiscard]] bool is_terminal_evaluation(std::string_view status);    ///< R-MODEL-181
[[nodiscard]] bool is_active_deployment(std::string_view status);      ///< R-MODEL-204
[[nodiscard]] bool requires_promotion(const Deployment& deployment);   ///< R-MODEL-205
[[nodiscard]] bool has_auto_promote(const Deployment& deployment);     ///< R-MODEL-205
[[nodiscard]] bool has_placed_canaries(const Deployment& deployment);  ///< R-MODEL-205

// Allocations: status (R-MODEL-300 to 305).
[[nodiscard]] bool is_server_terminal(const Allocation& alloc);
[[nodiscard]] bool is_client_terminal(const Allocation& alloc);
[[nodiscard]] bool is_terminal(const Allocation& alloc);
[[nodiscard]] bool ran_successfully(const Allocation& alloc);
/// Its group in its own version of the job, or null.
[[nodiscard]] const TaskGroup* group_of(const Allocation& alloc);
[[nodiscard]] bool should_migrate_data(const Allocation& alloc);
[[nodiscard]] bool is_set(const std::optional<bool>& flag);  ///< present and true (R-MODEL-153, 303, 304)
[[nodiscard]] bool has_health(const Allocation& alloc);
[[nodiscard]] bool is_healthy(const Allocation& alloc);
[[nodiscard]] bool is_unhealthy(const Allocation& alloc);
[[nodiscard]] bool is_canary(const Allocation& alloc);
/// Absent when the client sets no limit on this allocation.
[[nodiscard]] std::optional<Duration> max_run_duration(const Allocation& alloc);
[[nodiscard]] bool max_run_expired(const Allocation& alloc, std::int64_t now);

// Rescheduling (R-MODEL-340 to 349).
[[nodiscard]] base::Time last_event_time(const Allocation& alloc);
[[nodiscard]] const ReschedulePolicy* reschedule_policy_of(const Allocation& alloc);
[[nodiscard]] Duration next_delay(const Allocation& alloc);

struct Attempts {
  std::int64_t attempted = 0, allowed = 0;
};
[[nodiscard]] Attempts count_attempts(const Allocation& alloc, const ReschedulePolicy* policy, base::Time fail_time);
[[nodiscard]] bool is_reschedule_eligible(const Allocation& alloc, const ReschedulePolicy* policy,
                                          base::Time fail_time);
[[nodiscard]] bool should_reschedule(const Allocation& alloc, const ReschedulePolicy* policy, base::Time fail_time);
[[nodiscard]] bool last_reschedule_failed(const Allocation& alloc);

struct NextReschedule {
  base::Time at;
  bool eligible = false;
};
/// R-MODEL-347. Under a limited policy a tracker without a list of events is never eligible. With the quirk
/// missing_events_ineligible switched off, the list counts as empty.
[[nodiscard]] NextReschedule next_reschedule(const Allocation& alloc, const Quirks& quirks = {});
[[nodiscard]] NextReschedule next_reschedule_by_time(const Allocation& alloc, base::Time time,
                                                     const Quirks& quirks = {});  ///< R-MODEL-349

/// The tracker of a replacement placed at `now` for `previous` (R-MODEL-350).
[[nodiscard]] RescheduleTracker replacement_tracker(const Allocation& previous, std::int64_t now);

// Disconnects (R-MODEL-355 to 362).
[[nodiscard]] bool should_client_stop(const Allocation& alloc);
[[nodiscard]] base::Time wait_client_stop(const Allocation& alloc, std::int64_t now);
[[nodiscard]] std::int64_t disconnect_timeout(const Allocation& alloc, std::int64_t now);
[[nodiscard]] base::Time last_unknown(const Allocation& alloc);
[[nodiscard]] bool is_expired(const Allocation& alloc, std::int64_t now);
[[nodiscard]] bool needs_to_reconnect(const Allocation& alloc);
[[nodiscard]] bool replaces_on_disconnect(const Allocation& alloc);
/// Follow-up evaluation to cancel when the client reports `status` again (R-MODEL-361); "" when none.
[[nodiscard]] std::string_view followup_to_cancel(const Allocation& alloc, std::string_view status);
inline constexpr std::string_view kUnknownNode = "alloc is unknown since its node is disconnected";  ///< client
/// Records `now` as the start of its current client status (R-RECON-31, 32).
void note_client_status(Allocation& alloc, std::int64_t now);
/// Marks the allocation unknown because its node is disconnected (R-RECON-31, R-SCHED-129 row 7).
void become_unknown(Allocation& alloc, std::int64_t now);
/// R-MODEL-362; `task` may have no state.
[[nodiscard]] base::Time last_start(const Allocation& alloc, const std::string& task);
/// EnforceIndex of a registration request (R-MODEL-259); "" when it holds.
[[nodiscard]] std::string check_enforced_index(const Job* stored, std::uint64_t index);

}  // namespace berth::model
