#include "run/life_tasks.h"

#include "model/job.h"

namespace berth::run {
namespace {

client::CheckOutcome checks_of(const std::string& health) {
  if (health == "never") return client::CheckOutcome::never;
  return health == "unhealthy" ? client::CheckOutcome::unhealthy : client::CheckOutcome::automatic;
}

bool hit(base::Random& random, double percent) { return random.unit() * 100 < percent; }

}  // namespace

LifeTasks::LifeTasks(const sim::Workload& workload, const sim::Inputs& inputs) : workload_(workload) {
  std::vector<const sim::JobKindSpec*> kinds;
  for (const sim::JobKindSpec& kind : workload.jobs.kinds)
    kinds.insert(kinds.end(), static_cast<std::size_t>(kind.templates), &kind);
  for (const sim::JobArrival& arrival : inputs.jobs.arrivals) {
    ids_.push_back(inputs.jobs.job(arrival)->id);
    natures_[ids_.back()] = {.kind = kinds.empty() ? nullptr : kinds[arrival.template_index], .arrival = &arrival};
  }
  for (const sim::TaskTrace& trace : workload.life->tasks) natures_[trace.job].traces.push_back(&trace);
}

void LifeTasks::fail(const std::vector<std::uint32_t>& jobs, std::int64_t until_ns, double percent,
                     std::int64_t after_ns) {
  for (const std::uint32_t job : jobs) natures_[ids_[job]].failures = {until_ns, after_ns, percent};
}

client::Outcome LifeTasks::of(const client::TaskStart& start) const {
  const model::Job& job = *start.spec;
  const sim::LifeSpec& life = *workload_.life;
  const bool ends = is_of_batch(start.type);
  auto found = natures_.find(job.id);
  if (found == natures_.end()) found = natures_.find(job.parent_id);
  base::Random random(workload_.seed ^ base::mix64((static_cast<std::uint64_t>(start.group) << 56) ^
                                                   (static_cast<std::uint64_t>(start.task) << 48) ^
                                                   (static_cast<std::uint64_t>(start.run) << 32) ^ start.name_index),
                      job.id);
  client::Outcome out;
  out.start_delay_ns = life.start_ms.draw(random) * 1'000'000;
  out.kill_ns = life.kill_ms.draw(random) * 1'000'000;
  out.recovered = hit(random, life.recovered_percent);
  if (const auto health = job.meta.find(kHealthMeta); health != job.meta.end()) out.checks = checks_of(health->second);
  if (found == natures_.end()) {
    if (ends) out.run_ns = 60 * base::kSecond;
    return out;
  }
  const JobNature& nature = found->second;
  if (nature.kind) {
    if (nature.kind->ends())
      out.run_ns = nature.kind->draw_run_ns(random);
    else if (ends)
      out.run_ns = 60 * base::kSecond;
    if (nature.kind->ends() && hit(random, static_cast<double>(nature.kind->fail_percent))) out.exit_code = 1;
  } else if (nature.arrival->run_time_ns != sim::kNeverEnds) {
    out.run_ns = nature.arrival->run_time_ns;
    out.exit_code = nature.arrival->fails ? 1 : 0;
  }
  if (nature.failures.until_ns > now_() && hit(random, nature.failures.percent))
    out.run_ns = nature.failures.after_ns, out.exit_code = 1;
  for (const sim::TaskTrace* trace : nature.traces) {
    if (trace->group != job.task_groups[start.group].name || trace->task != start.task) continue;
    if ((trace->index >= 0 && trace->index != start.name_index) || (trace->run >= 0 && trace->run != start.run))
      continue;
    out.start_delay_ns = trace->start_delay_ns, out.kill_ns = trace->kill_ns;
    if (trace->run_ns >= 0) out.run_ns = trace->run_ns, out.exit_code = static_cast<std::int32_t>(trace->exit_code);
    if (trace->start_error == "recoverable") out.start_error = client::StartError::recoverable;
    if (trace->start_error == "fatal") out.start_error = client::StartError::fatal;
    if (!trace->health.empty()) out.checks = checks_of(trace->health);
    if (trace->recovered) out.recovered = *trace->recovered;
  }
  return out;
}

client::TaskModel LifeTasks::model() const {
  client::TaskModel out;
  out.context = this;
  out.outcome = [](const void* self, const client::TaskStart& start) {
    return static_cast<const LifeTasks*>(self)->of(start);
  };
  return out;
}

}  // namespace berth::run
