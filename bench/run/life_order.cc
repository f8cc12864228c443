#include "run/life_order.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/duration.h"
#include "client/drivers.h"
#include "model/job.h"

namespace berth::run {
namespace {

/// The longest run time that the job file states for a task; -1 if a task has none.
std::int64_t longest_run_time(const model::Job& job) {
  std::int64_t longest_ns = -1;
  for (const model::TaskGroup& group : job.task_groups)
    for (const model::Task& task : group.tasks) {
      const auto time_ns = client::stated_run_time(job, group, task);
      if (!time_ns) return -1;
      longest_ns = std::max(longest_ns, *time_ns);
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
    waiting.run_time_ns = ends ? known_run->second : longest_run_time(*job);
    if (const auto text = job->meta.find(strategy::kDeadlineKey); text != job->meta.end())
      if (const auto after_ns = base::parse_duration(text->second); after_ns && *after_ns > 0)
        waiting.deadline_ns = sim::deadline_at(job->submit_time, *after_ns);
  }
  const double key = policy_->key(waiting);
  return {.line = 0, .key = std::isnan(key) ? std::numeric_limits<double>::infinity() : key, .number = waiting.number};
}

}  // namespace berth::run
