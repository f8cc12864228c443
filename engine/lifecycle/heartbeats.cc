#include "lifecycle/heartbeats.h"

#include <algorithm>
#include <cmath>

namespace berth::lifecycle {

std::int64_t base_ttl_ns(const HeartbeatConfig& config, std::size_t timers) {
  if (config.max_per_second <= 1.0 / 86400) return config.min_ttl_ns;
  const double raised = 1e9 * static_cast<double>(timers) / config.max_per_second;
  // Converting a value that does not fit is undefined behaviour; such a TTL never expires.
  if (raised >= static_cast<double>(kNever)) return kNever;
  return std::max(config.min_ttl_ns, static_cast<std::int64_t>(raised));
}

std::int64_t Heartbeats::reset(tables::NodeRow node, std::int64_t now) {
  // Count before this reset. Limited to an eighth of the range, so that jitter, grace and the clock can be added.
  const std::int64_t base = std::min(base_ttl_ns(config_, timers_.size()), kNever / 8);
  const std::int64_t ttl = base + (config_.jitter ? jitter_.below(base) : 0);
  timers_.set(node, now + ttl + config_.grace_ns);
  return ttl;
}

}  // namespace berth::lifecycle
