#include "sim/job_stream.h"

#include "base/duration.h"
#include "base/text.h"
#include "berth/queue.h"
#include "model/gang.h"
#include "model/job.h"

namespace berth::sim {
namespace {

/// Extra memory of each new version, so that its allocations are replaced, not updated in place.
constexpr std::int64_t kMemoryOfUpdateMb = 8;

}  // namespace

std::shared_ptr<const model::Job> JobStream::job(const JobArrival& arrival) const {
  const auto& form = templates[arrival.template_index];
  const bool is_single = single[arrival.template_index];
  if (is_single && !is_gang(arrival)) return form;
  auto out = std::make_shared<model::Job>(*form);
  if (is_gang(arrival)) out->submit_time = arrival.due_ns;
  if (is_single) return out;
  out->id += '-';
  out->id += std::to_string(arrival.version == 0 ? arrival.number : arrival.renews);
  out->name = out->id;
  if (arrival.version == 0) return out;
  out->version = out->job_modify_index = out->modify_index = arrival.version;
  for (model::TaskGroup& group : out->task_groups)
    group.tasks.front().resources->memory_mb += kMemoryOfUpdateMb * static_cast<std::int64_t>(arrival.version);
  return out;
}

Result<void> read_meta(const std::string& path, JobStream& jobs) {
  for (std::size_t i = 0; i < jobs.templates.size(); ++i) {
    const model::Job& job = *jobs.templates[i];
    const auto fault = [&](std::string problem, std::string remedy) {
      return tl::unexpected(
          InputError{path, "job " + base::shown(job.id.substr(0, 60)), std::move(problem), std::move(remedy)});
    };
    const auto gang = model::parse_gang(job.meta, job.type);
    if (!gang) return fault(gang.error().problem, gang.error().remedy);
    if (*gang) jobs.gangs.resize(jobs.templates.size()), jobs.gangs[i] = true;
    const auto text = job.meta.find(strategy::kDeadlineKey);
    if (text == job.meta.end()) continue;
    const auto time = base::parse_duration(text->second);
    if (!time || *time <= 0)
      return fault(
          "'" + base::shown(text->second.substr(0, 40)) + "' cannot be " + strategy::kDeadlineKey + " in its meta",
          "write a time above 0, such as 90s or 1h30m");
    jobs.deadline_ns.resize(jobs.templates.size());
    jobs.deadline_ns[i] = *time;
  }
  return {};
}

}  // namespace berth::sim
