#include "run/life_order.h"

#include <cmath>
#include <limits>

#include "base/duration.h"

namespace berth::run {
namespace {

/// The time in a job's meta, or `other` without a usable one.
std::int64_t time_of(const model::Job& job, const char* key, std::int64_t other) {
  const auto found = job.meta.find(key);
  if (found == job.meta.end()) return other;
  const auto time = base::parse_duration(found->second);
  return time && *time >= 0 ? *time : other;
}

}  // namespace

std::optional<std::pair<const char*, const char*>> LifeOrder::refused(const strategy::QueuePolicy& policy) {
  constexpr const char* kRemedy =
      "choose a policy that only orders jobs: fifo, shortest, ageing, deadline; or a replay";
  if (policy.reservations() || policy.quotas())
    return std::pair("this policy decides when jobs start by trials of what a replay will do next", kRemedy);
  if (policy.shares())
    return std::pair("this policy counts what namespaces hold, which only a replay reports to it", kRemedy);
  return std::nullopt;
}

broker::Place LifeOrder::place(const broker::Eval& eval) {
  const auto row = static_cast<tables::JobKeyRow>(eval.job);
  const tables::JobTable& jobs = store_->current().jobs;
  const model::Job* const job = row < jobs.objects.size() ? jobs.objects[row].get() : nullptr;
  strategy::WaitingJob waiting{.number = numbers_, .priority = eval.priority};
  if (job) {  // null: it was removed, and its evaluation stops what runs
    const auto [at, is_new] = versions_.try_emplace(row, Version{job->create_index, job->version, numbers_});
    Version& known = at->second;
    const bool same = !is_new && known.create_index == job->create_index && known.version == job->version;
    if (!same) known = {job->create_index, job->version, numbers_++};
    waiting.number = known.number;
    waiting.arrived_ns = job->submit_time;
    waiting.run_time_ns = time_of(*job, "berth_run_time", -1);
    if (const std::int64_t after_ns = time_of(*job, strategy::kDeadlineKey, -1); after_ns > 0)
      waiting.deadline_ns = after_ns > INT64_MAX - job->submit_time ? INT64_MAX : job->submit_time + after_ns;
  }
  const double key = policy_->key(waiting);
  return {.line = 0, .key = std::isnan(key) ? std::numeric_limits<double>::infinity() : key, .number = waiting.number};
}

}  // namespace berth::run
