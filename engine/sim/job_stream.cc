#include "sim/job_stream.h"

#include "base/duration.h"
#include "base/text.h"
#include "berth/queue.h"

namespace berth::sim {
namespace {

/// Extra memory of each new version, so that its allocations are replaced, not updated in place.
constexpr std::int64_t kMemoryOfUpdateMb = 8;

}  // namespace

std::shared_ptr<const model::Job> JobStream::job(const JobArrival& arrival) const {
  const auto& form = templates[arrival.template_index];
  if (single[arrival.template_index]) return form;
  auto out = std::make_shared<model::Job>(*form);
  out->id += '-';
  out->id += std::to_string(arrival.version == 0 ? arrival.number : arrival.renews);
  out->name = out->id;
  if (arrival.version == 0) return out;
  out->version = out->job_modify_index = out->modify_index = arrival.version;
  for (model::TaskGroup& group : out->task_groups)
    group.tasks.front().resources->memory_mb += kMemoryOfUpdateMb * static_cast<std::int64_t>(arrival.version);
  return out;
}

Result<void> read_deadlines(const std::string& path, JobStream& jobs) {
  for (std::size_t i = 0; i < jobs.templates.size(); ++i) {
    const model::Job& job = *jobs.templates[i];
    const auto text = job.meta.find(strategy::kDeadlineKey);
    if (text == job.meta.end()) continue;
    const auto time = base::parse_duration(text->second);
    if (!time || *time <= 0)
      return tl::unexpected(InputError{
          path, "job " + base::shown(job.id.substr(0, 60)),
          "'" + base::shown(text->second.substr(0, 40)) + "' cannot be " + strategy::kDeadlineKey + " in its meta",
          "write a time above 0, such as 90s or 1h30m"});
    jobs.deadline_ns.resize(jobs.templates.size());
    jobs.deadline_ns[i] = *time;
  }
  return {};
}

}  // namespace berth::sim
