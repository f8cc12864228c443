// Requests on stored versions and evaluations (R-API-265, 266, 404).
#include <fmt/format.h>

#include <algorithm>

#include "fsm/requests.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::fsm {

namespace {

Answer refused_on_version(std::string why) {
  Answer answer;
  answer.error = std::move(why);
  return answer;
}

const model::Job* version_of(const JobRecord& record, std::uint64_t number) {
  for (const auto& version : record.versions)
    if (version->version == number) return version.get();
  return nullptr;
}

/// True if the allocation may still be replaced by its evaluation.
bool may_be_replaced(const model::Allocation& alloc, const model::Job& job) {
  const model::TaskGroup* group = job.group(alloc.task_group);
  if (!group || !group->reschedule_policy || !group->reschedule_policy->enabled()) return false;
  return alloc.next_allocation.empty() || group->reschedule_policy->unlimited || !alloc.reschedule_tracker ||
         !alloc.reschedule_tracker->events || alloc.reschedule_tracker->events->empty();
}

}  // namespace

Answer Requests::set_stable(const std::string& name_space, const std::string& job_id, std::uint64_t version,
                            bool stable) {
  const JobRecord* record = log_.record(name_space, job_id);
  if (!record || !record->current) return refused_on_version(fmt::format("job \"{}\" not found", job_id));
  if (!version_of(*record, version))
    return refused_on_version(
        fmt::format("job \"{}\" in namespace \"{}\" at version {} not found", job_id, name_space, version));
  Answer answer;
  write(answer, "job_stability", JobStabilityEntry{name_space, job_id, version, stable});
  return answer;
}

Answer Requests::tag_version(const TagVersion& request, std::int64_t now) {
  const JobRecord* record = log_.record(request.name_space, request.job_id);
  const bool known = record && record->current;
  const auto tagged = [&](const auto& version) { return version->version_tag["Name"].as_string() == request.name; };
  const model::Job* named = nullptr;
  if (known) {
    const auto found = std::find_if(record->versions.begin(), record->versions.end(), tagged);
    if (found != record->versions.end()) named = found->get();
  }
  VersionTagEntry entry{request.name_space, request.job_id, request.name, request.remove, 0, request.description, now};
  if (request.remove) {
    if (!named)
      return refused_on_version(fmt::format("tag \"{}\" not found on job \"{}\"", request.name, request.job_id));
  } else {
    const std::uint64_t number = request.version.value_or(known ? record->current->version : 0);
    const model::Job* version = known ? version_of(*record, number) : nullptr;
    if (!version) return refused_on_version(fmt::format("job \"{}\" version {} not found", request.job_id, number));
    if (named && named != version)
      return refused_on_version(
          fmt::format("tag \"{}\" already exists on a different version of job \"{}\"", request.name, request.job_id));
    entry.version = number;
  }
  Answer answer;
  write(answer, "job_version_tag", entry);
  return answer;
}

bool Requests::is_safe_to_delete(tables::StoredEvalRow eval) const {
  const tables::Snapshot& state = log_.store().current();
  const JobRecord* record = log_.record(state.evals.job_key[eval]);
  const model::Job* job = record ? record->current.get() : nullptr;
  if (!job || job->stop || job->status == "dead") return true;
  const tables::History& history = *log_.store().history();
  for (tables::AllocRow row = history.evals[eval].alloc_head; row != tables::kNoRow;
       row = history.allocs[row].next_of_eval) {
    const tables::Client client = state.allocs.client[row];
    if (client == tables::Client::running || client == tables::Client::unknown) return false;
    if (client == tables::Client::failed && may_be_replaced(tables::to_alloc(state, row), *job)) return false;
  }
  return true;
}

Answer Requests::delete_evals(const std::vector<std::string>& ids) {
  EvalDeleteEntry entry;
  for (const std::string& id : ids) {
    const tables::StoredEvalRow row = log_.store().find_eval(id);
    if (row == tables::kNoRow) return refused_on_version("eval not found");
    if (!is_safe_to_delete(row)) return refused_on_version(fmt::format("eval {} is not safe to delete", id));
    entry.evals.push_back(row);
  }
  Answer answer;
  if (!entry.evals.empty()) write(answer, "eval_delete", entry);
  return answer;
}

}  // namespace berth::fsm
