#include "lifecycle/watchers.h"

#include <algorithm>

namespace berth::lifecycle {

Watchers::Watchers(fsm::StateLog& log, const std::function<std::string()>& next_id, const WatcherConfig& config)
    : log_(log),
      nodes_(log, next_id, config.heartbeats, config.heartbeat_seed),
      deployments_(log, next_id, config.deployments),
      drainer_(log, next_id, config.drains),
      periodic_(log, next_id),
      garbage_(log, next_id, config.garbage) {
  log.store().set_changes(&changes_);
}

void Watchers::become_leader(std::int64_t now, Outbox& out) {
  pass_on_changes(now);
  leads_ = true;
  nodes_.become_leader(now);
  deployments_.become_leader();
  drainer_.become_leader();
  periodic_.become_leader(now, out);
  garbage_.become_leader(now);
}

std::int64_t Watchers::next_deadline() const {
  if (!changes_.empty()) return std::numeric_limits<std::int64_t>::min();
  if (!leads_) return kNever;
  return std::min({nodes_.next_deadline(), deployments_.next_deadline(), drainer_.next_deadline(),
                   periodic_.next_deadline(), garbage_.next_deadline()});
}

void Watchers::pass_on_changes(std::int64_t now) {
  if (changes_.empty()) return;
  if (leads_) {
    deployments_.changed(changes_);
    drainer_.changed(changes_);
    periodic_.changed(changes_, now);
  }
  if (follower_) follower_(changes_);
  changes_.clear();
  log_.store().destroy_removed();  // no thread waits at this point
}

void Watchers::advance(std::int64_t now, Outbox& out) {
  for (pass_on_changes(now); next_deadline() <= now; pass_on_changes(now)) {
    if (nodes_.next_deadline() <= now)
      nodes_.advance(now, out);
    else if (deployments_.next_deadline() <= now)
      deployments_.advance(now, out);
    else if (drainer_.next_deadline() <= now)
      drainer_.advance(now, out);
    else if (periodic_.next_deadline() <= now)
      periodic_.advance(now, out);
    else
      garbage_.advance(now, out);
  }
}

}  // namespace berth::lifecycle
