#include "run/life_order.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>

#include "base/duration.h"

namespace berth::run {
namespace {

using Meta = std::map<std::string, std::string>;

/// The time under `key` in the first meta that has the key; -1 without a usable one.
std::int64_t time_in(std::initializer_list<const Meta*> metas, const char* key) {
  for (const Meta* const meta : metas)
    if (const auto found = meta->find(key); found != meta->end()) {
      const auto time = base::parse_duration(found->second);
      return time && *time >= 0 ? *time : -1;
    }
  return -1;
}

/// The longest run time that the job file states for a task; -1 if a task has none.
std::int64_t stated_run_time(const model::Job& job) {
  std::int64_t longest_ns = -1;
  for (const model::TaskGroup& group : job.task_groups)
    for (const model::Task& task : group.tasks) {
      const std::int64_t time_ns = time_in({&task.meta, &group.meta, &job.meta}, "berth_run_time");
      if (time_ns < 0) return -1;
      longest_ns = std::max(longest_ns, time_ns);
    }
  return longest_ns;
}

}  // namespace

LifeOrder::LifeOrder(std::unique_ptr<strategy::QueuePolicy> policy, const sim::JobStream& jobs)
    : policy_(std::move(policy)) {
  for (const sim::JobArrival& arrival : jobs.arrivals) run_times_ns_[jobs.job(arrival)->id] = arrival.run_time_ns;
}

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
  strategy::WaitingJob waiting{.number = job ? 0 : numbers_++, .priority = eval.priority};
  if (job) {  // null: it was removed, and its evaluation stops what runs
    const auto [at, is_new] = versions_.try_emplace(row, Version{job->create_index, job->version, numbers_});
    Version& known = at->second;
    const bool same = !is_new && known.create_index == job->create_index && known.version == job->version;
    if (!same) known = {job->create_index, job->version, numbers_++};
    waiting.number = known.number;
    waiting.arrived_ns = job->submit_time;
    const auto known_run = run_times_ns_.find(job->id);
    const bool ends = known_run != run_times_ns_.end() && known_run->second != sim::kNeverEnds;
    waiting.run_time_ns = ends ? known_run->second : stated_run_time(*job);
    if (const std::int64_t after_ns = time_in({&job->meta}, strategy::kDeadlineKey); after_ns > 0)
      waiting.deadline_ns = after_ns > INT64_MAX - job->submit_time ? INT64_MAX : job->submit_time + after_ns;
  }
  const double key = policy_->key(waiting);
  return {.line = 0, .key = std::isnan(key) ? std::numeric_limits<double>::infinity() : key, .number = waiting.number};
}

}  // namespace berth::run
