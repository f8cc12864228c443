// What the tasks of a workload do in a simulation (R-CTRL-E18): as in [[tasks]], else as their kind of job, drawn from
// (seed, job, allocation's index, task, run), so that the order of clients' calls does not matter. During a
// `task-failures` fault the time matters too.
#pragma once

#include <functional>
#include <unordered_map>

#include "client/task_model.h"
#include "sim/inputs.h"

namespace berth::run {

/// Key in a job version's Meta that determines its health: "never" or "unhealthy".
inline constexpr const char* kHealthMeta = "life.health";

class LifeTasks {
 public:
  LifeTasks(const sim::Workload& workload, const sim::Inputs& inputs);
  LifeTasks(const LifeTasks&) = delete;
  void bind(std::function<std::int64_t()> now) { now_ = std::move(now); }
  /// `percent` of the task runs of these jobs (arrivals) that start before `until_ns` fail after `after_ns`.
  void fail(const std::vector<std::uint32_t>& jobs, std::int64_t until_ns, double percent, std::int64_t after_ns);
  /// Refers to this object.
  [[nodiscard]] client::TaskModel model() const;
  /// True for a job of the workload, or a child of one.
  [[nodiscard]] bool has_job(const model::Job& job) const {
    return natures_.contains(job.id) || natures_.contains(job.parent_id);
  }

 private:
  struct Failures {
    std::int64_t until_ns = 0, after_ns = 0;
    double percent = 0;
  };
  struct JobNature {
    const sim::JobKindSpec* kind = nullptr;  ///< null: not from a mix
    const sim::JobArrival* arrival = nullptr;
    std::vector<const sim::TaskTrace*> traces;
    Failures failures;
  };
  [[nodiscard]] client::Outcome of(const client::TaskStart& start) const;

  const sim::Workload& workload_;
  std::function<std::int64_t()> now_;
  std::unordered_map<std::string, JobNature> natures_;  // by job ID
  std::vector<std::string> ids_;                        // by arrival
};

}  // namespace berth::run
