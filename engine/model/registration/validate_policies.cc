// Restart, reschedule, update and migrate blocks (R-MODEL-251, 253).
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "model/job.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

using base::duration_text;
using base::kSecond;

Duration saturating_add(Duration a, Duration b) {
  Duration sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<Duration>::max() : sum;
}
Duration saturating_mul(Duration a, Duration b) {
  Duration product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<Duration>::max() : product;
}

/// Number of attempts that fit into the interval, and the interval that all of them need (R-MODEL-253).
struct AttemptFit {
  bool fits = true;
  std::int64_t possible = 0;
  Duration recommended = 0;
};

/// Adds slots from index `from` on that rise by `step` each, after a slot at `last`: counts those of at most `limit`
/// without visiting them, since a job may request any number of attempts.
void add_steady_slots(const ReschedulePolicy& policy, Duration limit, std::int64_t from, Duration last, Duration step,
                      AttemptFit& out) {
  const std::int64_t count = policy.attempts - from;
  if (count <= 0) return;
  out.recommended = saturating_add(last, saturating_mul(count, step));
  if (limit > last) out.possible += std::min(count, (limit - last) / step);
}

AttemptFit attempts_that_fit(const ReschedulePolicy& policy) {
  AttemptFit out;
  if (policy.delay_function == "constant") {
    out.recommended = saturating_mul(policy.attempts, policy.delay);
    out.possible = std::max<std::int64_t>(policy.interval / policy.delay, 0);
    out.fits = policy.interval >= out.recommended;
  } else if (policy.delay_function == "exponential") {
    std::int64_t i = 0;
    for (Duration next = policy.delay; i < policy.attempts && next <= policy.max_delay;
         ++i, next = saturating_mul(next, 2)) {
      out.recommended = next;
      if (next < policy.interval) ++out.possible;
      if (next == std::numeric_limits<Duration>::max()) break;
    }
    add_steady_slots(policy, policy.interval - 1, i, out.recommended, policy.max_delay, out);
    out.fits = out.possible >= policy.attempts;
  } else if (policy.delay_function == "fibonacci") {
    Duration before = policy.delay, last = policy.delay;
    out.possible = last <= policy.interval ? std::min<std::int64_t>(policy.attempts, 2) : 0;
    std::int64_t i = 2;
    for (bool ceiling = false; i < policy.attempts && !ceiling; ++i) {
      // A sum that does not fit is the ceiling as well: it would stay the same for all further attempts.
      Duration next = saturating_add(before, last);
      ceiling = next > policy.max_delay || next == std::numeric_limits<Duration>::max();
      next = std::min(next, policy.max_delay);
      before = last;
      last = next;
      if (last <= policy.interval) ++out.possible;
    }
    out.recommended = last;
    add_steady_slots(policy, policy.interval, i, last, policy.max_delay, out);
    out.fits = policy.interval >= out.recommended;
  }
  return out;
}

}  // namespace

ErrorList validate_restart(const RestartPolicy& policy) {
  ErrorList errors;
  if (policy.mode != "delay" && policy.mode != "fail")
    errors.add("Unsupported restart mode: " + base::go_quote(policy.mode));
  if (policy.attempts == 0 && policy.mode != "fail")
    errors.add("Restart policy " + base::go_quote(policy.mode) + " with " + std::to_string(policy.attempts) +
               " attempts is ambiguous");
  if (policy.interval < 5 * kSecond)
    errors.add("Interval can not be less than 5s (got " + duration_text(policy.interval) + ")");
  if (saturating_mul(policy.attempts, policy.delay) > policy.interval)
    errors.add("Nomad can't restart the TaskGroup " + std::to_string(policy.attempts) + " times in an interval of " +
               duration_text(policy.interval) + " with a delay of " + duration_text(policy.delay));
  return errors;
}

ErrorList validate_reschedule(const ReschedulePolicy& policy) {
  ErrorList errors;
  if (!policy.enabled()) return errors;
  if (policy.attempts > 0) {
    if (policy.interval <= 0) errors.add("Interval must be a non zero value if Attempts > 0");
    if (policy.unlimited) {
      errors.add("Reschedule Policy with Attempts = " + std::to_string(policy.attempts) +
                 ", Interval = " + duration_text(policy.interval) + ", and Unlimited = true is ambiguous");
      errors.add("If Attempts >0, Unlimited cannot also be set to true");
    }
  }
  bool delays_good = true;
  if (policy.delay < 5 * kSecond) {
    errors.add("Delay cannot be less than 5s (got " + duration_text(policy.delay) + ")");
    delays_good = false;
  }
  const bool known = policy.delay_function == "constant" || policy.delay_function == "exponential" ||
                     policy.delay_function == "fibonacci";
  if (!known) {
    errors.add("Invalid delay function " + base::go_quote(policy.delay_function) +
               ", must be one of [\"constant\" \"exponential\" \"fibonacci\"]");
    delays_good = false;
  }
  if (policy.delay_function != "constant") {
    if (policy.max_delay < 5 * kSecond) {
      // Nomad prints the delay here, not the ceiling.
      errors.add("Max Delay cannot be less than 5s (got " + duration_text(policy.delay) + ")");
      delays_good = false;
    }
    if (policy.max_delay < policy.delay) {
      errors.add("Max Delay cannot be less than Delay " + duration_text(policy.delay) + " (got " +
                 duration_text(policy.max_delay) + ")");
      delays_good = false;
    }
  }
  if (policy.unlimited) return errors;
  if (policy.interval < 15 * kSecond)
    errors.add("Interval cannot be less than 15s (got " + duration_text(policy.interval) + ")");
  if (!delays_good) return errors;
  const AttemptFit fit = attempts_that_fit(policy);
  if (fit.fits) return errors;
  std::string text = "Nomad can only make " + std::to_string(fit.possible) + " attempts in " +
                     duration_text(policy.interval) + " with initial delay " + duration_text(policy.delay);
  if (policy.delay_function == "constant")
    text += " and delay function " + base::go_quote(policy.delay_function);
  else
    text += ", delay function " + base::go_quote(policy.delay_function) + ", and delay ceiling " +
            duration_text(policy.max_delay);
  errors.add(std::move(text));
  // Rounded to whole seconds, half of one up; the largest duration stays.
  const Duration half = kSecond / 2, spare = std::numeric_limits<Duration>::max() - half;
  const Duration rounded = fit.recommended > spare ? fit.recommended : (fit.recommended + half) / kSecond * kSecond;
  errors.add("Set the interval to at least " + duration_text(rounded) + " to accommodate " +
             std::to_string(policy.attempts) + " attempts");
  return errors;
}

ErrorList validate_update_strategy(const UpdateStrategy& u) {
  ErrorList errors;
  if (u.health_check != "checks" && u.health_check != "task_states" && u.health_check != "manual")
    errors.add("Invalid health check given: " + base::go_quote(u.health_check));
  if (u.max_parallel < 0)
    errors.add("Max parallel can not be less than zero: " + std::to_string(u.max_parallel) + " < 0");
  if (u.canary < 0) errors.add("Canary count can not be less than zero: " + std::to_string(u.canary) + " < 0");
  if (u.canary == 0 && u.auto_promote) errors.add("Auto Promote requires a Canary count greater than zero");
  if (u.min_healthy_time < 0)
    errors.add("Minimum healthy time may not be less than zero: " + duration_text(u.min_healthy_time));
  if (u.healthy_deadline <= 0)
    errors.add("Healthy deadline must be greater than zero: " + duration_text(u.healthy_deadline));
  if (u.progress_deadline < 0)
    errors.add("Progress deadline must be zero or greater: " + duration_text(u.progress_deadline));
  if (u.min_healthy_time >= u.healthy_deadline)
    errors.add("Minimum healthy time must be less than healthy deadline: " + duration_text(u.min_healthy_time) + " > " +
               duration_text(u.healthy_deadline));
  if (u.progress_deadline != 0 && u.healthy_deadline >= u.progress_deadline)
    errors.add("Healthy deadline must be less than progress deadline: " + duration_text(u.healthy_deadline) + " > " +
               duration_text(u.progress_deadline));
  if (u.stagger <= 0) errors.add("Stagger must be greater than zero: " + duration_text(u.stagger));
  return errors;
}

ErrorList validate_migrate(const MigrateStrategy& m) {
  ErrorList errors;
  if (m.max_parallel < 0) errors.add("MaxParallel must be >= 0 but found " + std::to_string(m.max_parallel));
  if (m.health_check.empty()) {
    if (m.max_parallel > 0) errors.add("Missing HealthCheck");
  } else if (m.health_check != "checks" && m.health_check != "task_states") {
    errors.add("Invalid HealthCheck: " + base::go_quote(m.health_check));
  }
  if (m.min_healthy_time < 0)
    errors.add("MinHealthyTime is " + duration_text(m.min_healthy_time) + " and must be >= 0");
  if (m.healthy_deadline < 0)
    errors.add("HealthyDeadline is " + duration_text(m.healthy_deadline) + " and must be >= 0");
  if (m.min_healthy_time > m.healthy_deadline) errors.add("MinHealthyTime must be less than HealthyDeadline");
  return errors;
}

}  // namespace berth::model
