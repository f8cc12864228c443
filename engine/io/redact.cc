// Numbered words in place of values that may be secret.
#include "io/redact.h"

#include <memory>
#include <utility>

namespace berth::io {

using JobPtr = std::shared_ptr<const model::Job>;

void Redactor::take(json::Value& value) {
  if (value.is_string()) {
    if (value.as_string().empty()) return;
    const auto [at, fresh] = words_.try_emplace(value.as_string(), words_.size() + 1);
    value = "redacted-" + std::to_string(at->second);
  } else if (value.is_array()) {
    for (json::Value& item : value.items()) take(item);
  } else if (value.is_object()) {
    for (json::Member& member : value.members()) take(member.value);
  }
}

void Redactor::take(model::Job& job) {
  for (model::TaskGroup& group : job.task_groups)
    for (model::Task& task : group.tasks) {
      take(task.env), take(task.config);
      take_keys(task.templates, {"EmbeddedTmpl"});
      take_keys(task.artifacts, {"GetterHeaders", "GetterOptions"});
    }
}

void Redactor::take_keys(json::Value& list, std::initializer_list<const char*> keys) {
  if (!list.is_array()) return;
  for (json::Value& entry : list.items())
    for (const char* key : keys)
      if (json::Value* value = entry.find(key)) take(*value);
}

void Redactor::redact(model::ClusterState& state) {
  // Original -> (original, redacted). The entry holds the original, so that no other job gets its address.
  std::map<const model::Job*, std::pair<JobPtr, JobPtr>> done;
  const auto take_job = [&](JobPtr& job) {
    if (!job) return;
    auto& [original, redacted] = done[job.get()];
    if (!redacted) {
      original = job;
      auto copy = std::make_shared<model::Job>(*job);
      take(*copy);
      redacted = std::move(copy);
    }
    job = redacted;
  };
  for (auto* jobs : {&state.jobs, &state.job_versions})
    for (JobPtr& job : *jobs) take_job(job);
  for (model::Allocation& alloc : state.allocs) take_job(alloc.job);
}

}  // namespace berth::io
