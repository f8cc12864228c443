#include "sched/stack/select_counts.h"

namespace berth::sched {

void SelectCounts::clear() {
  evaluated = filtered = exhausted = 0;
  for (auto* list : {&reasons, &classes_filtered, &dimensions, &classes_exhausted}) list->clear();
}

void SelectCounts::filter(std::uint32_t node_class, std::uint32_t reason, std::int32_t times) {
  filtered += times;
  add_class(classes_filtered, node_class, times);
  if (reason != kReasonNone) add(reasons, reason, times);
}

void SelectCounts::exhaust(std::uint32_t node_class, std::uint32_t dimension, std::int32_t times) {
  if (dimension == kReasonNone) return;
  if (dimension == kDimensionInvalidNode || dimension == kDimensionPortCollision)
    port_events += static_cast<std::uint32_t>(times);
  exhausted += times;
  add_class(classes_exhausted, node_class, times);
  add(dimensions, dimension, times);
}

SelectMetrics SelectCounts::metrics() const {
  SelectMetrics out;
  out.evaluated = evaluated;
  out.filtered = filtered;
  out.exhausted = exhausted;
  out.reasons = reasons;
  out.classes_filtered = classes_filtered;
  out.dimensions = dimensions;
  out.classes_exhausted = classes_exhausted;
  return out;
}

void SelectCounts::metrics(Arena& arena, SelectMetrics& out) const {
  out.evaluated = evaluated;
  out.filtered = filtered;
  out.exhausted = exhausted;
  if (filtered + exhausted == 0) return;
  // One allocation for all four lists, which are short.
  Count* to =
      arena.pack<Count>(reasons.size() + classes_filtered.size() + dimensions.size() + classes_exhausted.size()).data();
  const auto copy = [&to](const std::vector<Count>& from, std::span<const Count>& list) {
    list = {to, from.size()};
    for (const Count& count : from) *to++ = count;
  };
  copy(reasons, out.reasons);
  copy(classes_filtered, out.classes_filtered);
  copy(dimensions, out.dimensions);
  copy(classes_exhausted, out.classes_exhausted);
}

}  // namespace berth::sched
