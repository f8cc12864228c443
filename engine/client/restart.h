// Decides whether a task that ended, or could not start, is started again, and when (R-CTRL-1520 to 1525).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "client/task_status.h"

namespace berth::client {

/// A restart policy in numbers; the defaults of job types are filled in at registration (R-CTRL-1520).
struct RestartPolicy {
  std::int64_t attempts = 0, interval_ns = 0, delay_ns = 0;
  bool delays = false;  ///< mode `delay`; else `fail`
};

/// State of one task runner; a restarted client starts from zero (R-CTRL-1524).
struct RestartCount {
  std::int64_t interval_start_ns = 0;  ///< initially the time when the runner was made
  std::int64_t count = 0;
};

enum class TaskEnd : std::uint8_t {
  succeeded,     ///< exit code 0 and no signal
  failed,        ///< any other exit; a restart because of failed checks
  not_started,   ///< a start error that may not occur again
  never_starts,  ///< a start error that is not recoverable (R-CTRL-1527)
  killed,
  asked_to_restart,  ///< by the operator
};

enum class RestartState : std::uint8_t { restarting, terminated, not_restarting, killed };
enum class RestartReason : std::uint8_t {
  none,
  no_restarts,
  unrecoverable,
  unnecessary,
  exceeded,
  exceeded_delay,
  within_policy,
};

struct RestartDecision {
  RestartState state = RestartState::restarting;
  RestartReason reason = RestartReason::none;
  std::int64_t wait_ns = 0;  ///< restarting: time until the next start
};

/// True if a task that ended successfully is started again (R-CTRL-1521).
[[nodiscard]] constexpr bool restarts_on_success(JobType type, TaskRole role) {
  if (role.hook == Hook::prestart || role.hook == Hook::poststart) return role.sidecar;
  return role.hook != Hook::poststop && (type == JobType::service || type == JobType::system);
}

/// The decision of R-CTRL-1522. `draw(bound)` returns the uniform integer in [0, bound) of R-CTRL-1523; it is called
/// only if a jitter is added.
template <class Draw>
[[nodiscard]] RestartDecision decide_restart(const RestartPolicy& policy, bool on_success, RestartCount& count,
                                             TaskEnd end, std::int64_t now, Draw&& draw) {
  using State = RestartState;
  using Reason = RestartReason;
  if (end == TaskEnd::killed) return {State::killed, Reason::none, 0};
  if (end == TaskEnd::asked_to_restart) return {State::restarting, Reason::none, 0};
  const bool done = end == TaskEnd::succeeded && !on_success;
  if (policy.attempts == 0) return {done ? State::terminated : State::not_restarting, Reason::no_restarts, 0};
  if (now - count.interval_start_ns > policy.interval_ns) count = {now, 0};
  ++count.count;
  if (end == TaskEnd::never_starts) return {State::not_restarting, Reason::unrecoverable, 0};
  if (done) return {State::terminated, Reason::unnecessary, 0};
  if (count.count > policy.attempts) {
    if (!policy.delays) return {State::not_restarting, Reason::exceeded, 0};
    return {State::restarting, Reason::exceeded_delay, count.interval_start_ns + policy.interval_ns - now};
  }
  const std::int64_t delay = std::max<std::int64_t>(policy.delay_ns, 1);
  const auto drawn = static_cast<double>(draw(delay));
  return {State::restarting, Reason::within_policy, delay + static_cast<std::int64_t>(0.25 * drawn)};
}

/// The reason in Nomad's words.
[[nodiscard]] std::string to_text(RestartReason reason, const RestartPolicy& policy);

}  // namespace berth::client
