#include "rank/components.h"

#include <algorithm>

#include "base/assert.h"
#include "rank/numbers.h"

namespace berth::rank {

double net_priority(std::span<const std::int64_t> victim_priorities) noexcept {
  BERTH_DEBUG_ASSERT(!victim_priorities.empty());
  std::int64_t sum = 0;
  for (const std::int64_t priority : victim_priorities) sum += priority;
  const auto highest = static_cast<double>(*std::max_element(victim_priorities.begin(), victim_priorities.end()));
  return highest + static_cast<double>(sum) / highest;
}

double preemption_score(double net_priority) noexcept {
  return 1.0 / (1 + exact_exp(0.0048 * (net_priority - 2048.0)));
}

}  // namespace berth::rank
