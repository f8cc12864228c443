#include "run/kind_times.h"

namespace berth::run {

KindTimes::KindTimes(const sim::JobStream& jobs) : kind_of_(jobs.kind_of) {
  for (const std::string& name : jobs.kinds) {
    kinds_.push_back({.name = name});
    updates_.push_back({.name = name + ", new version"});
  }
}

void KindTimes::add(const sim::JobArrival& arrival, std::uint64_t placed, std::int64_t schedule_ns,
                    std::int64_t apply_ns) {
  if (kind_of_.empty()) return;
  const std::uint32_t number = kind_of_[arrival.template_index];
  Kind& kind = arrival.version == 0 ? kinds_[number] : updates_[number];
  kind.placed += placed;
  kind.schedule.record(schedule_ns);
  kind.apply_ns += apply_ns;
}

std::vector<KindTimes::Kind> KindTimes::kinds() const {
  std::vector<Kind> out;
  out.reserve(kinds_.size() + updates_.size());  // a histogram is large
  for (const std::vector<Kind>* list : {&kinds_, &updates_})
    for (const Kind& kind : *list)
      if (kind.schedule.count() > 0) out.push_back(kind);
  return out;
}

}  // namespace berth::run
