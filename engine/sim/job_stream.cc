#include "sim/job_stream.h"

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

}  // namespace berth::sim
