// What tasks do. The first source that applies decides: a declared or injected outcome (R-CTRL-E18, 1710, 1711), a
// model, the task's driver, the default. By default a service or system task runs for ever, and a task of a batch or
// sysbatch job for a given time.
#pragma once

#include <map>
#include <tuple>

#include "client/drivers.h"
#include "living/events.h"

namespace berth::living {

class Outcomes {
 public:
  Outcomes(const client::TaskModel& otherwise, std::int64_t batch_run_ns,
           const std::optional<client::DriverDefaults>& drivers)
      : otherwise_(otherwise), batch_run_ns_(batch_run_ns), drivers_(drivers) {}
  Outcomes(const Outcomes&) = delete;

  void add(const TaskOutcome& outcome);
  /// The model that clients call. It refers to this object.
  [[nodiscard]] client::TaskModel model() const;

 private:
  [[nodiscard]] client::Outcome of(const client::TaskStart& start) const;

  client::TaskModel otherwise_;
  std::int64_t batch_run_ns_;
  std::optional<client::DriverDefaults> drivers_;
  /// Rules by namespace, job and i of `job.group[i]` (kEvery: all allocations), newest last.
  static constexpr std::uint32_t kEvery = ~0u;
  struct Rule {
    std::uint64_t number = 0;
    std::string group, task;
    std::optional<std::uint32_t> run;
    client::Outcome outcome;
  };
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::vector<Rule>> rules_;
  std::uint64_t added_ = 0;
};

}  // namespace berth::living
