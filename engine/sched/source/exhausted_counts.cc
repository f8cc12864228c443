#include "sched/source/exhausted_counts.h"

namespace berth::sched {

void ExhaustedCounts::count() {
  if (windows_.empty()) return;
  if (nodes_.order.one_class && nodes_.shortage.one_dimension && nodes_.properties.empty()) {
    counts_.add(counts_.dimensions, nodes_.shortage.dimension, counts_.exhausted);
    return counts_.add_class(counts_.classes_exhausted, nodes_.order.class_of[0], counts_.exhausted);
  }
  counts_.exhausted = 0;
  // Usually an amount is exhausted and the class has a small code; other cases are counted one by one.
  const auto by_amounts = [](std::uint32_t dimension) {
    return dimension >= kDimensionCpu && dimension <= kDimensionMaxAllocs;
  };
  static_assert(SelectCounts::Tally::takes(kDimensionMaxAllocs));
  const bool has_properties = !nodes_.properties.empty();
  std::int32_t tallied = 0;
  for (const Window& window : windows_)
    for (std::uint64_t rest = window.entries; rest != 0; rest &= rest - 1) {
      const std::uint32_t entry = window.first + static_cast<std::uint32_t>(std::countr_zero(rest));
      const std::uint32_t node_class = nodes_.class_of(entry);
      if ((has_properties && nodes_.failing_property(entry)) || !by_amounts(nodes_.dimension[entry]) ||
          !SelectCounts::Tally::takes(node_class)) {
        count(entry);
        continue;
      }
      classes_.add(node_class);
      dimensions_.add(nodes_.dimension[entry]);
      ++tallied;
    }
  counts_.exhausted += tallied;
  classes_.take([&](std::uint32_t node_class, std::int32_t times) {
    counts_.add_class(counts_.classes_exhausted, node_class, times);
  });
  dimensions_.take(
      [&](std::uint32_t dimension, std::int32_t times) { counts_.add(counts_.dimensions, dimension, times); });
}

void ExhaustedCounts::count(std::uint32_t entry) {
  const bool exhausted = nodes_.appended[entry] == 0;
  const std::uint32_t node_class = nodes_.class_of(entry);
  if (exhausted && nodes_.dimension[entry] == kReasonDistinctHosts)
    counts_.filter(node_class, kReasonDistinctHosts);
  else if (const feasible::PropertySet* const failing = nodes_.failing_property(entry))
    counts_.filter(node_class, checks_.distinct.reason_of(*failing, nodes_.row[entry]));
  else if (exhausted)
    counts_.exhaust(node_class, nodes_.dimension[entry]);
}

}  // namespace berth::sched
