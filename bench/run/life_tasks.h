// What the tasks of a workload do in its life (R-CTRL-E18): by [[tasks]] where they say so, else as their kind of job
// says, drawn from (seed, job, allocation's index, task, run), so that it does not matter in which order clients ask.
// Within a fault `task-failures` it also matters when.
#pragma once

#include <functional>
#include <unordered_map>

#include "client/task_model.h"
#include "sim/inputs.h"

namespace berth::run {

/// The key in a job's Meta under which a version says what becomes of its health: "never" or "unhealthy".
inline constexpr const char* kHealthMeta = "life.health";

class LifeTasks {
 public:
  LifeTasks(const sim::Workload& workload, const sim::Inputs& inputs);
  LifeTasks(const LifeTasks&) = delete;
  void bind(std::function<std::int64_t()> now) { now_ = std::move(now); }
  /// Runs of these jobs (arrivals) that start before `until_ns` fail after `after_ns`, `percent` of them.
  void fail(const std::vector<std::uint32_t>& jobs, std::int64_t until_ns, double percent, std::int64_t after_ns);
  /// Refers to this.
  [[nodiscard]] client::TaskModel model() const;
  /// Whether it is a job of the workload, or a child of one.
  [[nodiscard]] bool has_job(const model::Job& job) const {
    return natures_.contains(job.id) || natures_.contains(job.parent_id);
  }

 private:
  struct Failures {
    std::int64_t until_ns = 0, after_ns = 0;
    double percent = 0;
  };
  struct JobNature {
    const sim::JobKindSpec* kind = nullptr;  ///< null: of another source than a mix
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
