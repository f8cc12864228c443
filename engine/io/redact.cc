// Numbered words in place of values that may be secret.
#include "io/redact.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace berth::io {
namespace {

using JobPtr = std::shared_ptr<const model::Job>;

/// Replaces the texts of retained JSON by numbered words.
class Redactor {
 public:
  void take(json::Value& value) {
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

  void take(model::Job& job) {
    for (model::TaskGroup& group : job.task_groups)
      for (model::Task& task : group.tasks) {
        take(task.env), take(task.config);
        take_keys(task.templates, {"EmbeddedTmpl"});
        take_keys(task.artifacts, {"GetterHeaders", "GetterOptions"});
      }
  }

 private:
  void take_keys(json::Value& list, std::initializer_list<const char*> keys) {
    if (!list.is_array()) return;
    for (json::Value& entry : list.items())
      for (const char* key : keys)
        if (json::Value* value = entry.find(key)) take(*value);
  }

  std::map<std::string, std::size_t> words_;
};

}  // namespace

void redact(model::ClusterState& state) {
  Redactor redactor;
  // Original -> (original, redacted). The entry holds the original, so that no other job gets its address.
  std::map<const model::Job*, std::pair<JobPtr, JobPtr>> done;
  const auto take = [&](JobPtr& job) {
    if (!job) return;
    auto& [original, redacted] = done[job.get()];
    if (!redacted) {
      original = job;
      auto copy = std::make_shared<model::Job>(*job);
      redactor.take(*copy);
      redacted = std::move(copy);
    }
    job = redacted;
  };
  for (auto* jobs : {&state.jobs, &state.job_versions})
    for (JobPtr& job : *jobs) take(job);
  for (model::Allocation& alloc : state.allocs) take(alloc.job);
}

}  // namespace berth::io
