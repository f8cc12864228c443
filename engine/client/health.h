// Decides whether an allocation is healthy, for its deployment or for a drain (R-CTRL-1570 to 1576).
//
// A tracker exists from the start of watching until it has an answer. It is a few numbers, changed by updates of the
// tasks and by check results. Call advance() at next_deadline(); nothing happens in between, because polls of checks
// are computed from the time of the last change instead of executed.
#pragma once

#include <limits>

#include "client/task_status.h"

namespace berth::client {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct HealthPolicy {
  std::int64_t min_healthy_ns = 0;
  std::int64_t deadline_ns = kNever;  ///< from the start of watching
  bool checks = false;                ///< checks count, and there is at least one
  std::int64_t check_poll_ns = 500'000'000;
};

enum class Health : std::uint8_t { unknown, healthy, unhealthy, stopped };

class HealthTracker {
 public:
  HealthTracker() = default;
  HealthTracker(const HealthPolicy& policy, std::int64_t now);

  /// The tasks or the allocation's status changed. `stopped`: the server wants it stopped (R-CTRL-1576).
  Health observe(std::span<const TaskStatus> tasks, std::span<const TaskRole> roles, bool failed, bool stopped,
                 std::int64_t now);
  /// Sets whether all stored check results pass; true at first (R-CTRL-1575).
  void set_checks_pass(bool pass, std::int64_t now);
  /// From now on one check always fails.
  void fail_checks();
  /// Applies the timers up to `now`; call it at or after next_deadline().
  Health advance(std::int64_t now);
  [[nodiscard]] std::int64_t next_deadline() const;  ///< kNever: no timer; the next observation decides
  /// Time of the decision; kNoTime before it.
  [[nodiscard]] std::int64_t decided_at() const { return decided_at_; }

 private:
  Health decide(Health answer, std::int64_t at);
  [[nodiscard]] std::int64_t next_poll() const;

  HealthPolicy policy_;
  std::int64_t began_at_ = 0, deadline_ = kNever;
  std::int64_t latest_start_ = kNoTime;                       // of the counted tasks, while none is pending
  std::int64_t tasks_due_ = kNever;                           // the tasks are healthy from then on
  std::int64_t checks_due_ = kNever, checks_changed_at_ = 0;  // as tasks_due_; last change of checks_pass_
  std::int64_t decided_at_ = kNoTime;
  bool tasks_healthy_ = false, checks_pass_ = true, polled_pass_ = false;
  Health answer_ = Health::unknown;
};

/// A check's newest result counts as passing (R-CTRL-1575).
[[nodiscard]] constexpr bool check_passes(std::string_view mode, std::string_view status) {
  return status == "success" || (status == "failure" && mode == "readiness");
}

}  // namespace berth::client
