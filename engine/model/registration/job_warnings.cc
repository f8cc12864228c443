// What a registration accepts but remarks on (R-MODEL-257, 258). Texts follow the recorded registrations.
#include <algorithm>

#include "base/text.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

ErrorList group_remarks(const TaskGroup& group) {
  ErrorList out;
  if (group.update && group.count > 1 && group.update->max_parallel > group.count)
    out.add("Update max parallel count is greater than task group count (" +
            std::to_string(group.update->max_parallel) + " > " + std::to_string(group.count) +
            "). A destructive change would result in the simultaneous replacement of all allocations.");
  return out;
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void add_service_remarks(const TaskGroup& group, std::vector<std::string>& out) {
  bool delayed = group.shutdown_delay.value_or(0) > 0;
  for (const Task& task : group.tasks) delayed = delayed || task.shutdown_delay > 0;
  for (const Task& task : group.tasks)
    if (task.services.size() > 0 && task.shutdown_delay == 0 && group.shutdown_delay.value_or(0) == 0)
      out.push_back("task " + base::go_quote(task.name) + " in group " + base::go_quote(group.name) +
                    " defines services, but has no shutdown_delay set");
  if (group.services.size() > 0 && !delayed)
    out.push_back("group " + base::go_quote(group.name) +
                  " defines services, but neither the group nor any of its tasks have shutdown_delay set");
}

}  // namespace

std::vector<std::string> job_warnings(const Job& job, const RegistrationLimits& limits) {
  std::vector<std::string> out;
  for (const TaskGroup& group : job.task_groups)
    if (const ErrorList remarks = group_remarks(group); !remarks.empty())
      out.push_back("Group " + base::go_quote(group.name) + " has warnings: " + trimmed(remarks.text()));
  for (const TaskGroup& group : job.task_groups) add_service_remarks(group, out);
  const auto promotes = std::count_if(job.task_groups.begin(), job.task_groups.end(), [](const TaskGroup& group) {
    return group.update && group.update->auto_promote;
  });
  if (promotes > 0 && static_cast<std::size_t>(promotes) < job.task_groups.size())
    out.push_back("auto_promote is not set for all groups");
  if (job.periodic && !job.periodic->spec.empty())
    out.push_back("cron is deprecated and may be removed in a future release. Use crons instead");
  if (!limits.memory_oversubscription)
    for (const TaskGroup& group : job.task_groups)
      for (const Task& task : group.tasks)
        if (task.resources && task.resources->memory_max_mb != 0)
          out.push_back("Memory oversubscription is not enabled; Task \"" + group.name + "." + task.name +
                        "\" memory_max value will be ignored. Update the Scheduler Configuration to allow "
                        "oversubscription.");
  return out;
}

std::string warnings_text(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return "";
  std::string out = std::to_string(warnings.size()) + (warnings.size() == 1 ? " warning:\n" : " warnings:\n");
  for (const std::string& warning : warnings) out += "\n* " + warning;
  return out;
}

}  // namespace berth::model
