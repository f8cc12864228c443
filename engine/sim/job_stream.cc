#include "sim/job_stream.h"

namespace berth::sim {

std::shared_ptr<const model::Job> JobStream::job(const JobArrival& arrival) const {
  const auto& form = templates[arrival.template_index];
  if (single[arrival.template_index]) return form;
  auto out = std::make_shared<model::Job>(*form);
  out->id += '-';
  out->id += std::to_string(arrival.number);
  out->name = out->id;
  return out;
}

std::uint64_t JobStream::asked_allocs() const {
  std::vector<std::uint64_t> counts;
  for (const auto& form : templates) {
    const bool per_node = form->type == "system" || form->type == "sysbatch";
    std::uint64_t count = 0;
    for (const model::TaskGroup& group : form->task_groups)
      count += per_node ? 1 : static_cast<std::uint64_t>(group.count);
    counts.push_back(count);
  }
  std::uint64_t sum = 0;
  for (const JobArrival& arrival : arrivals) sum += counts[arrival.template_index];
  return sum;
}

}  // namespace berth::sim
