// Whether an allocation is healthy, for its deployment or for a drain (R-CTRL-1570 to 1576).
//
// A tracker lives from the moment watching starts until it has an answer: a few numbers that an update of the tasks or
// a check result changes. It is asked at next_deadline() and does nothing in between: polls of checks are worked out
// from the time of the last change, not made.
#pragma once

#include <limits>

#include "client/task_status.h"

namespace berth::client {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct HealthPolicy {
  std::int64_t min_healthy_ns = 0;
  std::int64_t deadline_ns = kNever;  ///< from the start of watching
  bool checks = false;                ///< checks count, and there are some
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
  /// Whether all check results that are stored now pass; true at first (R-CTRL-1575).
  void set_checks_pass(bool pass, std::int64_t now);
  /// From now on some check fails for ever.
  void fail_checks();
  /// What the timers up to `now` decide; call it at or after next_deadline().
  Health advance(std::int64_t now);
  [[nodiscard]] std::int64_t next_deadline() const;  ///< kNever: an observation comes first
  /// When the answer was found: kNoTime before.
  [[nodiscard]] std::int64_t decided_at() const { return decided_at_; }

 private:
  Health decide(Health answer, std::int64_t at);
  [[nodiscard]] std::int64_t next_poll() const;

  HealthPolicy policy_;
  std::int64_t began_at_ = 0, deadline_ = kNever;
  std::int64_t latest_start_ = kNoTime;                       // of the counted tasks, while none is pending
  std::int64_t tasks_due_ = kNever;                           // they are healthy then
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
