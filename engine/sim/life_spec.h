// The simulation that a workload describes with [life], as plain values: its timing, events and faults. The keys of the
// file are documented in bench/macro/README.md and have the same names here.
//
//   LifeSpec    [life]                        duration, timing of clients and servers
//   LifeStep    [[events]] and [[faults]]     kind, targets, times and repetition; nothing is drawn yet
//   TaskTrace   [[tasks]]                     what one task does (R-CTRL-E18)
// life_plan.h turns the steps into events, with draws from the seed, and finds contradictions and unknown names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job_policies.h"
#include "sim/quantity.h"

namespace berth::sim {

/// What a step does. A fault consists of the events listed above it.
enum class LifeAction : std::uint8_t {
  // events: one row of R-CTRL-E2 to E19 each
  unreachable,
  reachable,
  client_restart,
  deregister,
  eligibility,
  drain,
  register_job,
  update,
  scale,
  stop,
  evaluate,
  dispatch,
  force_periodic,
  alloc_stop,
  promote,
  fail,
  pause,
  resume,
  configure,
  gc,
  leader_change,
  // events that occur only as parts of faults
  report_lag,
  task_failures,
  // faults
  loss,
  partition,
  rolling_reboot,
  flapping,
  slow_clients,
  scale_curve,
};
[[nodiscard]] const char* to_text(LifeAction);

inline constexpr std::int64_t kForGood = -1;

/// One table of [[events]] or [[faults]]. Times and lengths in ns.
struct LifeStep {
  LifeAction action = LifeAction::gc;
  bool fault = false;
  std::uint32_t line = 0;

  // When: at each of `at`, else every `every_ns` from `from_ns` to `until_ns`, else `times` times, drawn between them.
  std::vector<std::int64_t> at;
  std::int64_t every_ns = 0, from_ns = 0, until_ns = 0, times = 0;

  // Which nodes: these, those of these racks, `some` or `percent` of the nodes or racks (drawn), or the one that then
  // runs allocation `index` of the job `node_of`.
  std::vector<std::string> nodes, racks;
  std::int64_t some = 0;
  double percent = 0;
  bool whole_racks = false;  ///< `some` counts racks
  std::string node_of;

  // Which job: the named one, or `percent` of the jobs of a kind registered by then.
  std::string job, kind, group = "g0";
  std::int64_t index = 0;

  // Details.
  std::optional<Quantity> for_s;                    ///< seconds; absent: for good
  std::int64_t down_ns = 0, up_ns = 0, lag_ns = 0;  ///< client-restart, rolling-reboot, flapping; slow-clients
  std::int64_t batch = 1, pause_ns = 0;             ///< rolling-reboot: nodes at a time, time between
  std::int64_t deadline_ns = 0;                     ///< drain: 0 none, < 0 at once
  bool ignore_system_jobs = false, clear = false;   ///< drain
  bool eligible = false, recovered = true;          ///< eligibility, drain clear; client-restart
  bool purge = false, force_reschedule = false;
  std::optional<bool> reschedule;  ///< alloc-stop; absent: only for batch jobs, as Nomad's command line does
  std::int64_t count = -1, cpu_mhz = 0, memory_mb = 0, canary = -1;  ///< scale, update; < 0 or 0: unchanged
  std::string health;         ///< update: "", "never" or "unhealthy" from this version on
  double fail_percent = 100;  ///< task-failures: of the task runs that start during the fault
  std::int64_t fail_after_ns = 0;
  std::vector<std::pair<std::int64_t, double>> curve;  ///< scale-curve: time, factor of the first count
  std::string algorithm;                               ///< configure: "" = unchanged
  std::optional<bool> preempt_system, preempt_sysbatch, preempt_batch, preempt_service, pause_broker;
};

/// What a task of a named job does when it runs.
struct TaskTrace {
  std::uint32_t line = 0;
  std::string job, group = "g0";
  std::int64_t task = 0, index = -1, run = -1;                               ///< -1: every task, allocation, run
  std::int64_t start_delay_ns = 0, run_ns = -1, kill_ns = 0, exit_code = 0;  ///< run_ns < 0: run time of the job's kind
  std::string start_error, health;  ///< "", recoverable, fatal; "", never, unhealthy
  std::optional<bool> recovered;
};

struct LifeSpec {
  std::int64_t duration_ns = 0;
  std::int64_t start_unix_ns = 1'767'225'600'000'000'000;  ///< 2026-01-01 00:00 UTC; used by periodic jobs
  bool collapsed = false;                                  ///< no batching, no polling (R-CTRL-1707)
  std::int64_t min_ttl_ns = 10'000'000'000, grace_ns = 10'000'000'000;
  double heartbeats_per_s = 50;
  std::int64_t report_tick_ns = 200'000'000, ticks_per_report = 5;
  Quantity start_ms = 0, kill_ms = 0;  ///< of every task
  double recovered_percent = 100;      ///< of the tasks of a restarted client
  std::int64_t gc_interval_ns = 300'000'000'000;
  std::int64_t eval_age_ns = 3'600'000'000'000, batch_eval_age_ns = 86'400'000'000'000, job_age_ns = 14'400'000'000'000;
  std::int64_t deployment_age_ns = 3'600'000'000'000, node_age_ns = 86'400'000'000'000;
  std::vector<LifeStep> steps;  ///< in the order of the file, events first
  std::vector<TaskTrace> tasks;
};

/// Keys of a job kind that only simulations use.
struct JobLife {
  std::uint32_t line = 0, periodic_line = 0;
  bool named = false;                                 ///< one job with the name of the kind
  std::int64_t at_ns = 0;                             ///< when a named one is registered
  std::vector<std::pair<std::int64_t, double>> rate;  ///< arrival curve: time, jobs per second
  std::optional<model::UpdateStrategy> update;
  std::optional<model::RestartPolicy> restart;
  std::optional<model::ReschedulePolicy> reschedule;
  std::optional<model::MigrateStrategy> migrate;
  std::optional<model::DisconnectStrategy> disconnect;
  std::optional<model::PeriodicConfig> periodic;
  std::optional<model::ParameterizedJob> parameterized;
  std::int64_t kill_timeout_ns = -1, shutdown_delay_ns = 0, max_run_ns = 0;
};

}  // namespace berth::sim
