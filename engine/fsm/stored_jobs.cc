// Updates a job's record when a version is written (R-CTRL-735 to 739).
#include <algorithm>
#include <utility>

#include "fsm/change.h"
#include "model/job.h"

namespace berth::fsm {

using tables::JobKeyRow;

namespace {

constexpr std::size_t kVersionsMax = 6;     // R-CTRL-739
constexpr std::size_t kSubmissionsMax = 6;  // R-REG-448

/// Stores the source of the current version. An existing source of this version stays (R-REG-445).
void keep_submission(JobRecord& record, Submission submission) {
  submission.version = record.current->version;
  if (submission_of(record, submission.version)) return;
  submission.job_modify_index = record.current->job_modify_index;
  record.submissions.insert(record.submissions.begin(), std::make_shared<const Submission>(std::move(submission)));
  if (record.submissions.size() > kSubmissionsMax) record.submissions.pop_back();
}

/// R-CTRL-739: removes the surplus version after a new one was put in front, and returns it.
std::shared_ptr<const model::Job> trim_versions(std::vector<std::shared_ptr<const model::Job>>& versions) {
  std::vector<std::size_t> untagged;
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (versions[i]->version_tag.is_null()) untagged.push_back(i);
  if (untagged.size() <= kVersionsMax) return nullptr;
  std::size_t dropped = untagged[kVersionsMax];
  const auto stable = std::find_if(versions.begin(), versions.end(), [](const auto& job) { return job->stable; });
  if (stable != versions.end() && static_cast<std::size_t>(stable - versions.begin()) == dropped)
    dropped = untagged[kVersionsMax - 1];
  const auto out = versions[dropped];
  versions.erase(versions.begin() + static_cast<std::ptrdiff_t>(dropped));
  return out;
}

}  // namespace

/// `source`: of the new version; null: it has none, and inherits that of the version it was made from (R-REG-447).
void StateLog::upsert_job(Change& change, model::Job job, bool keep_version, const Submission* source) {
  const JobKeyRow key = change.commit.job_key(job.namespace_, job.id);
  const auto before = record_of(key).current;
  const std::uint64_t made_from = job.version;
  const std::string status_before = before ? before->status : "";
  job.modify_index = change.index;
  if (before) {
    job.create_index = before->create_index;
    if (!keep_version) {
      job.job_modify_index = change.index;
      if (job.version <= before->version) job.version = before->version + 1;  // R-CTRL-736
    }
  } else {
    job.create_index = job.job_modify_index = change.index;
  }
  job.status = status_before;
  store_policies(change.index, job, record_of(key).policies);
  touch(change, Table::jobs);

  // Set the new object first, so that its status is derived from itself.
  const auto stored = std::make_shared<model::Job>(std::move(job));
  JobRecord& record = record_of(key);
  set_current(key, stored);
  stored->status = derive_status(key, false);
  note_current(key);
  change.note(&EntryRows::jobs, key);
  const std::shared_ptr<const model::Job> object = stored;
  const bool same_row = before && keep_version && before->version == object->version;
  if (same_row)
    change.commit.alias_job(object, store_.current().jobs.keys[key].current);
  else
    change.commit.upsert_job(object, true);
  count_child(change, *object, status_before, object->status);

  const auto at = std::find_if(record.versions.begin(), record.versions.end(),
                               [&](const auto& version) { return version->version <= object->version; });
  if (at != record.versions.end() && (*at)->version == object->version) {
    if (!same_row) change.commit.forget_version(**at);
    *at = object;
  } else {
    record.versions.insert(at, object);
  }
  if (const auto dropped = trim_versions(record.versions)) change.commit.forget_version(*dropped);
  if (!source && before && !keep_version && made_from <= before->version) source = submission_of(record, made_from);
  if (source && !keep_version) keep_submission(record, *source);

  bool changed = !record.summary.has_value();
  if (changed) record.summary.emplace().create_index = change.index;
  for (const model::TaskGroup& group : object->task_groups)  // R-CTRL-726
    changed |= record.summary->groups.add(group.name);
  if (changed) {
    record.summary->modify_index = change.index;
    touch(change, Table::job_summary);
  }
}

}  // namespace berth::fsm
