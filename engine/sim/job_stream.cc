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

}  // namespace berth::sim
