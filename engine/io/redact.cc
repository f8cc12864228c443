// Numbered words in place of values that may be secret.
#include "io/redact.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/base64.h"
#include "base/json.h"
#include "model/job.h"

namespace berth::io {

using JobPtr = std::shared_ptr<const model::Job>;

namespace {

/// Metadata that simulated clients read (client/drivers.h).
constexpr const char* kRunTime = "berth_run_time";

}  // namespace

std::string Redactor::word(const std::string& text) {
  if (text.empty()) return "";
  return "redacted-" + std::to_string(words_.try_emplace(text, words_.size() + 1).first->second);
}

/// `scheme://user:password@host/path?key=value` without the user information and the values; the rest is unchanged.
std::string Redactor::url(const std::string& text) {
  const std::size_t query = std::min(text.find('?'), text.size());
  std::string out = text.substr(0, query);
  if (const std::size_t scheme = out.find("://"); scheme != out.npos) {
    const std::size_t host = scheme + 3;
    const std::size_t at = out.rfind('@', std::min(out.find('/', host), out.size()));
    if (at != out.npos && at > host) out.replace(host, at - host, word(out.substr(host, at - host)));
  }
  for (std::size_t begin = query; begin < text.size();) {
    const std::size_t end = std::min(text.find('&', begin + 1), text.size());
    const std::size_t equals = std::min(text.find('=', begin), end);
    out += text.substr(begin, equals - begin);
    if (equals < end) out += "=" + word(text.substr(equals + 1, end - equals - 1));
    begin = end;
  }
  return out;
}

void Redactor::take(json::Value& value) {
  if (value.is_string()) {
    value = word(value.as_string());
  } else if (value.is_array()) {
    for (json::Value& item : value.items()) take(item);
  } else if (value.is_object()) {
    for (json::Member& member : value.members()) take(member.value);
  }
}

void Redactor::take(model::Job& job) {
  for (model::TaskGroup& group : job.task_groups)
    for (model::Task& task : group.tasks) {
      take(task.env.own()), take(task.config.own());
      take_keys(task.templates.own(), {"EmbeddedTmpl"});
      take_keys(task.artifacts.own(), {"GetterHeaders", "GetterOptions"});
      if (task.artifacts.is_array())
        for (json::Value& artifact : task.artifacts.items())
          if (json::Value* source = artifact.find("GetterSource")) *source = url(source->as_string());
      take_checks(task.services.own());
    }
  for (model::TaskGroup& group : job.task_groups) take_checks(group.services.own());
  if (!job.payload.empty()) job.payload = base::to_base64(word(job.payload));
  if (job.dispatched)
    for (auto& [key, value] : job.meta)
      if (key != kRunTime) value = word(value);
}

void Redactor::take_checks(json::Value& services) {
  if (!services.is_array()) return;
  for (json::Value& service : services.items())
    if (json::Value* checks = service.find("Checks")) take_keys(*checks, {"Header", "Body"});
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
