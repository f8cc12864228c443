#include "living/outcomes.h"

#include "model/job.h"

namespace berth::living {

void Outcomes::add(const TaskOutcome& outcome) {
  rules_[{outcome.name_space, outcome.job_id, outcome.alloc_index.value_or(kEvery)}].push_back(
      {++added_, outcome.group, outcome.task, outcome.run, outcome.outcome});
}

client::Outcome Outcomes::of(const client::TaskStart& start) const {
  const model::Job& job = *start.spec;
  const Rule* found = nullptr;
  if (!rules_.empty()) {
    const model::TaskGroup& group = job.task_groups[start.group];
    for (const std::uint32_t index : {start.name_index, kEvery}) {
      const auto rules = rules_.find({job.namespace_, job.id, index});
      if (rules == rules_.end()) continue;
      for (auto rule = rules->second.rbegin(); rule != rules->second.rend(); ++rule) {
        if (found && rule->number < found->number) break;
        if (!rule->group.empty() && rule->group != group.name) continue;
        if (!rule->task.empty() && rule->task != group.tasks[start.task].name) continue;
        if (rule->run && *rule->run != start.run) continue;
        found = &*rule;
        break;
      }
    }
  }
  if (found) return found->outcome;
  if (otherwise_.outcome) return otherwise_.outcome(otherwise_.context, start);
  if (drivers_) return client::driver_outcome(job, start, *drivers_);
  client::Outcome outcome;
  if (start.type == client::JobType::batch || start.type == client::JobType::sysbatch) outcome.run_ns = batch_run_ns_;
  return outcome;
}

client::TaskModel Outcomes::model() const {
  client::TaskModel model;
  model.context = this;
  model.outcome = [](const void* self, const client::TaskStart& start) {
    return static_cast<const Outcomes*>(self)->of(start);
  };
  if (otherwise_.alloc_failure) {
    model.alloc_failure = [](const void* self, const client::TaskStart& first) {
      const client::TaskModel& other = static_cast<const Outcomes*>(self)->otherwise_;
      return other.alloc_failure(other.context, first);
    };
  }
  return model;
}

}  // namespace berth::living
