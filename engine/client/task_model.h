// Behaviour of tasks when they run: the part of a simulation that no scheduler decides (R-CTRL-E18, 1704, 1710, 1711).
#pragma once

#include "client/group_spec.h"
#include "client/health.h"

namespace berth::client {

/// Identifies one start of a task. `name_index` and `run` do not depend on generated identifiers (R-CTRL-1711).
struct TaskStart {
  tables::AllocRow alloc = 0;
  tables::VersionRow job = 0;
  std::uint32_t group = 0, task = 0;  ///< positions in the job and in the group
  std::uint32_t name_index = 0;       ///< the number in `job.group[i]`
  std::uint32_t run = 0;              ///< 0 for the first start of this task
  JobType type = JobType::service;
  const model::Job* spec = nullptr;  ///< the version that the client has; the state may have another one by now
};

enum class StartError : std::uint8_t {
  none,
  recoverable,
  fatal,
  refused,  ///< fatal: the driver rejects a configuration key; the message is that key
};
enum class CheckOutcome : std::uint8_t {
  automatic,  ///< healthy by the rules: every check passes
  never,      ///< one check always fails: unhealthy at the deadline
  unhealthy,  ///< found unhealthy when it would have been found healthy
};

inline constexpr std::int64_t kEndless = kNever;

struct Outcome {
  std::int64_t start_delay_ns = 0;     ///< from the decision to start until the task runs, or fails to start
  std::int64_t run_ns = kEndless;      ///< until it exits by itself
  std::int64_t kill_ns = 0;            ///< from the kill signal until it ends, at most the kill timeout
  std::int64_t recovered_kill_ns = 0;  ///< the least of that if a restarted client found the task again
  std::int32_t exit_code = 0;
  StartError start_error = StartError::none;
  CheckOutcome checks = CheckOutcome::automatic;
  bool recovered = true;  ///< a restarted client, or a new one of a remote task, finds it again (R-CTRL-E4, R-SEED-21)
  // Content of its events; no rule reads it. The texts belong to the model and are valid until its next call.
  std::int32_t exit_signal = 0;
  std::string_view exit_message, start_message;
};

enum class AllocFailure : std::uint8_t {
  none,
  not_added,     ///< no runner can be built (R-CTRL-1505)
  setup,         ///< R-CTRL-1512
  not_restored,  ///< fails when its client restarts (R-CTRL-1566)
};

/// Plain functions with their own context. Results must depend on the arguments only.
struct TaskModel {
  const void* context = nullptr;
  Outcome (*outcome)(const void* context, const TaskStart& start) = nullptr;
  AllocFailure (*alloc_failure)(const void* context, const TaskStart& first) = nullptr;  ///< may be null: none fails
};

/// A model from a seed: every result is drawn from (seed, allocation's name, task, run), so the order of calls does not
/// matter.
struct SeededModel {
  std::uint64_t seed = 0;
  std::int64_t start_delay_ns = 0, kill_ns = 0;
  std::int64_t batch_run_ns = 60 * base::kSecond;  ///< mean of an exponential; service and system tasks are endless
  double failure_probability = 0;                  ///< that a batch run ends with exit code 1
  double crash_probability = 0;                    ///< the same for a service run, at an exponential time
  double start_failure_probability = 0;            ///< recoverable
  double loss_probability = 0;                     ///< that a task is not recovered after a restart of the client
  [[nodiscard]] TaskModel model() const;           ///< valid as long as this object
};

}  // namespace berth::client
