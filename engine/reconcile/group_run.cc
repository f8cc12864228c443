#include "reconcile/group_run.h"

#include <limits>
#include <numeric>
#include <unordered_set>

#include "base/assert.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "reconcile/reconnect.h"
#include "reconcile/reschedule.h"

namespace berth::reconcile {
namespace {

std::uint16_t bit_of(AllocClass alloc_class) {
  static constexpr std::uint16_t kBits[] = {kUntainted,    kMigrate, kLost,    kDisconnecting,
                                            kReconnecting, kIgnored, kExpiring};
  return kBits[static_cast<std::size_t>(alloc_class)];
}

}  // namespace

void GroupRun::classify_all() {
  const std::int64_t now = run_.input.now;
  each(kAll, [&](std::uint32_t position) {
    add(position,
        in(position, kCalm) ? kUntainted : bit_of(classify(facts(position), now, run_.input.disconnect_support)));
  });
}

void GroupRun::stop_classified() {  // R-RECON-76, 77
  for (const std::uint16_t set : {kUntainted, kMigrate, kLost, kDisconnecting, kReconnecting, kIgnored, kExpiring})
    each(set, [&](std::uint32_t position) {
      if (set == kLost)
        stop(position, kLostNode, ClientStatus::lost);
      else if ((set != kIgnored && set != kExpiring) || facts(position).client == ClientStatus::unknown)
        stop(position, kNotNeeded);
    });
}

void GroupRun::stop_for_stopped_job() {
  begin_sets();
  for (std::uint32_t position = 0; position < size(); ++position)
    if (!facts(position).terminal()) add(position, kAll);
  classify_all();
  stop_classified();
  counters().stop = static_cast<std::uint64_t>(count(kAll));
}

/// The Stop counter without double_stops: stop entries minus migrations.
void GroupRun::count_stops(std::size_t migrating) {
  counters().stop = run_.result.stop.size() - stop_begin_ - migrating;
}

/// The usual case: every index once, all running undisturbed, nothing changed. Writes the result without building sets.
/// If false, answers_ holds the update function's answers, since it is called only once.
bool GroupRun::is_steady() {
  if (!settled_ || size() != wanted() || !run_.stale_canaries.empty() || !run_.canaries.empty()) return false;
  scratch_.answers_.assign(size(), UpdateKind::ignore);
  run_.updates.judge(rows_, scratch_.answers_);
  asked_ = true;
  if (std::count(scratch_.answers_.begin(), scratch_.answers_.end(), UpdateKind::ignore) != size()) return false;
  run_.result.groups[group_].names = NameIndex::first(size());
  counters().ignore += size();
  return true;
}

void GroupRun::find_deployment_state() {  // 6.3
  strategy_ = task_group_->update ? &*task_group_->update : nullptr;
  strategy_is_empty_ = !strategy_ || strategy_->empty();
  if (run_.current) {
    const auto entry = run_.current->task_groups.find(name());
    if (entry != run_.current->task_groups.end()) {
      existing_ = true;
      if (!entry->second) entry->second.emplace();
      dst_ = &*entry->second;
    }
  }
  if (!existing_) {
    dst_ = &fresh_;
    if (!strategy_is_empty_) {
      fresh_.auto_revert = strategy_->auto_revert;
      fresh_.auto_promote = strategy_->auto_promote;
      fresh_.progress_deadline = strategy_->progress_deadline;
    }
  }
}

bool GroupRun::run() {
  const ClusterInput& input = run_.input;
  const model::Job& job = *input.job;
  place_begin_ = run_.result.place.size();
  disconnect_begin_ = run_.result.disconnect_updates.size();
  const bool wanted_any = task_group_ && task_group_->count != 0;
  if (wanted_any) {
    find_deployment_state();
    if (is_steady()) {
      attach_deployment();
      return is_complete();
    }
  }

  begin_sets();
  // 6.1: allocations stopped by the server are ignored, but finished allocations of batch jobs count as done.
  for (std::uint32_t position = 0; position < size(); ++position) {
    const AllocFacts& f = facts(position);
    if (f.taint == NodeTaint::none && f.is_calm())
      add(position, kAll | kCalm);
    else if (!f.server_terminal() || (f.has(AllocFacts::kBatchJob) && !f.wants(AllocFacts::kReschedule)))
      add(position, kAll);
  }
  if (!wanted_any) {  // 6.2
    classify_all();
    stop_classified();
    counters().stop += static_cast<std::uint64_t>(count(kAll));
    if (!quirks_.double_stops) count_stops(0);
    return true;
  }

  if (input.is_batch)
    each(kAll, [&](std::uint32_t position) {
      const AllocFacts& f = facts(position);
      if (!f.terminal() || (f.job_version >= job.version && f.job_create_index >= job.create_index)) return;
      remove(position, kAll);
      ++counters().ignore;
    });

  take_canaries();
  classify_all();
  counters().ignore += static_cast<std::uint64_t>(count(kIgnored));

  // 6.6
  judge(kUntainted, false, true);
  judge(kMigrate, false, false);
  if (count(kReconnecting) > 0) reconnect();
  each(kExpiring, [&](std::uint32_t position) { add(position, kLost); });
  if (count(kDisconnecting) > 0) disconnect();
  if (count(kLost) > 0) wait_for_clients();
  if (!later_.empty()) annotate_later();

  index_names();
  select_stops();
  update();
  place_canaries();
  place_missing();
  update_destructively();
  migrate();
  attach_deployment();
  cut_places();
  return is_complete();
}

void GroupRun::cut_places() {  // R-RECON-212
  auto& place = run_.result.place;
  const auto most = static_cast<std::size_t>(wanted());
  if (place.size() - place_begin_ <= most) return;
  if (quirks_.migrations_cut) {
    place.resize(place_begin_ + most);
    counters().place = most;
    return;
  }
  // Places with a predecessor stay, because the predecessor is stopped. Canaries and new places are removed, the last
  // first.
  const auto is_new = [](const ClusterResult::Place& p) { return p.previous == kNoRow; };
  std::size_t excess = place.size() - place_begin_ - most, begin = place.size();
  while (begin > place_begin_ && excess > 0) excess -= is_new(place[--begin]);
  const auto end = std::remove_if(place.begin() + static_cast<std::ptrdiff_t>(begin), place.end(), is_new);
  if (end == place.end()) return;
  place.erase(end, place.end());
  counters().place = place.size() - place_begin_;
}

void GroupRun::take_canaries() {  // 6.4
  std::string scratch;
  const auto listed = [&](const std::vector<std::string_view>& ids, std::uint32_t position) {
    return std::binary_search(ids.begin(), ids.end(), std::string_view(facts(position).alloc.id(scratch)));
  };
  if (!run_.stale_canaries.empty())
    each(kAll, [&](std::uint32_t position) {
      if (!listed(run_.stale_canaries, position)) return;
      stop(position, kNotNeeded);
      remove(position, kAll);
      ++counters().stop;
    });
  if (!run_.current || run_.canaries.empty()) return;
  each(kAll, [&](std::uint32_t position) {
    if (!listed(run_.canaries, position)) return;
    add(position, kCanary);
    add(position, bit_of(classify(facts(position), run_.input.now, run_.input.disconnect_support)));
  });
  each(kCanary, [&](std::uint32_t position) {
    if (in(position, kMigrate)) stop(position, kMigrating);
  });
  each(kCanary, [&](std::uint32_t position) {
    if (in(position, kLost)) stop(position, kLostNode, ClientStatus::lost);
  });
  each(kCanary, [&](std::uint32_t position) {
    if (in(position, kMigrate | kLost)) remove(position, kAll);
    remove(position, in(position, kUntainted) ? kClasses : kClasses | kCanary);
  });
}

/// The reschedule filter of R-RECON-112. Adds to kNow the allocations of `set` that are replaced now, and to later_
/// those that are replaced later. With `keeps`, kUntainted then has those that stay or are replaced later, and not
/// those that are replaced now or dropped.
void GroupRun::judge(std::uint16_t set, bool disconnecting, bool keeps) {
  const ClusterInput& input = run_.input;
  const RescheduleContext context{
      input.now, input.eval_id, input.is_batch,
      run_.current && run_.current_is_input && model::is_active_deployment(run_.current->status), input.quirks};
  using When = RescheduleAnswer::When;
  each(set, [&](std::uint32_t position) {
    if (in(position, kCalm)) return;  // kept, and already in kUntainted
    const RescheduleAnswer answer = judge_reschedule(facts(position), context, disconnecting);
    if (keeps) {
      if (answer.when == When::kept || answer.when == When::later)
        add(position, kUntainted);
      else
        remove(position, kUntainted);
    }
    if (answer.when == When::now) add(position, kNow);
    if (answer.when == When::later) later_.push_back({answer.at, position});
  });
}

std::vector<std::uint32_t> GroupRun::replacements(std::uint32_t position) {  // R-RECON-122
  // Nomad never makes a cyclic chain, but input may contain one. The loop ends there, so an allocation never replaces
  // itself: `mark` pauses for doubling step counts, and every cycle meets it again (Brent).
  std::vector<std::uint32_t> out;
  std::uint32_t at = position, mark = position;
  for (std::size_t steps = 0, stands = 1; !facts(at).alloc->next_allocation.empty(); ++steps) {
    const auto next = by_id_.find(facts(at).alloc->next_allocation);
    if (next == by_id_.end()) break;
    at = next->second;
    if (at == mark || at == position) break;
    if (steps == stands) mark = at, stands *= 2, steps = 0;
    if (!facts(at).server_terminal() && (quirks_.replacement_chain_breaks || in(at, kAll))) out.push_back(at);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void GroupRun::reconnect() {  // 6.7
  const model::Job& job = *run_.input.job;
  bool any_replaced = false;
  each(kReconnecting, [&](std::uint32_t at) { any_replaced |= !facts(at).alloc->next_allocation.empty(); });
  for (std::uint32_t position = 0; any_replaced && position < size(); ++position)
    if (!quirks_.replacement_chain_breaks || in(position, kAll))  // a chain ends at server-stopped ones
      by_id_.emplace(facts(position).alloc->id, position);
  const std::string strategy = task_group_->disconnect ? task_group_->disconnect->reconcile : std::string();
  each(kReconnecting, [&](std::uint32_t position) {
    const AllocFacts& r = facts(position);
    if (!r.server_terminal() && r.client == ClientStatus::failed) {
      stop(position, kRescheduled, ClientStatus::failed);
      return add(position, kReconnectStop);
    }
    if (r.desired != model::DesiredStatus::run ||
        r.wants(AllocFacts::kMigrate | AllocFacts::kReschedule | AllocFacts::kForceReschedule) ||
        r.job_version < job.version || r.job_create_index < job.create_index) {
      // Where stops keep the states, a stopped allocation is reported as reconnecting at every evaluation.
      if (quirks_.stop_erases_states || !r.server_terminal()) stop(position, kNotNeeded);
      return add(position, kReconnectStop);
    }
    if (!quirks_.replacement_chain_breaks && r.client != ClientStatus::running) return;  // not reported yet
    for (const std::uint32_t replacement : replacements(position)) {
      const bool replaced = prefers_replacement(*r.alloc, *facts(replacement).alloc, strategy, run_.input.now);
      const std::uint32_t loser = replaced ? position : replacement;
      if (in(loser, kReconnectStop)) continue;
      stop(loser, replaced ? kNotNeeded : kReconnected);
      add(loser, kReconnectStop);
    }
  });
  counters().stop += static_cast<std::uint64_t>(count(kReconnectStop));
  each(kReconnectStop,
       [&](std::uint32_t position) { remove(position, kUntainted | kMigrate | kLost | kDisconnecting); });
  each(kReconnecting, [&](std::uint32_t position) {
    if (in(position, kReconnectStop)) return;
    add(position, kUntainted);
    if (facts(position).client != ClientStatus::running) return;
    run_.result.reconnect_updates.push_back({rows_[position]});
    ++counters().reconnect;
  });
}

/// Creates one evaluation per batch of times less than 5 s apart (R-RECON-150 to 153). Returns the follow-up of each
/// entry of `timed`, which is sorted by time.
std::vector<std::int32_t> GroupRun::make_followups(std::vector<Timed>& timed, std::string_view trigger,
                                                   std::string_view later_trigger, std::string_view description,
                                                   std::string_view later_description) {
  static constexpr std::uint64_t kWindow = 5 * base::kSecond;
  std::stable_sort(timed.begin(), timed.end(),
                   [](const Timed& a, const Timed& b) { return a.at != b.at ? a.at < b.at : a.position < b.position; });
  const model::Job& job = *run_.input.job;
  std::vector<std::int32_t> out;
  base::Time batch;
  for (const Timed& entry : timed) {
    const bool first = out.empty() || !quirks_.followups_lose_cause;
    // Times ascend; their difference may exceed a signed integer.
    const auto since_batch = static_cast<std::uint64_t>(entry.at.ns) - static_cast<std::uint64_t>(batch.ns);
    if (out.empty() || since_batch >= kWindow) {
      batch = entry.at;
      model::Evaluation eval;
      eval.id = run_.ids.next_eval_id();
      eval.namespace_ = job.namespace_;
      eval.priority = run_.input.eval_priority;
      eval.type = job.type;
      eval.triggered_by = first ? trigger : later_trigger;
      eval.job_id = job.id;
      eval.job_modify_index = job.modify_index;
      eval.status = "pending";
      eval.status_description = first ? description : later_description;
      eval.wait_until = batch;
      run_.result.followups.push_back({group_, std::move(eval)});
    }
    out.push_back(static_cast<std::int32_t>(run_.result.followups.size()) - 1);
  }
  return out;
}

void GroupRun::disconnect() {  // 6.8
  std::vector<Timed> timed;
  each(kDisconnecting, [&](std::uint32_t position) {
    timed.push_back({base::Time{model::disconnect_timeout(*facts(position).alloc, run_.input.now)}, position});
  });
  judge(kDisconnecting, true, true);
  static constexpr std::string_view kTrigger = "max-disconnect-timeout";
  static constexpr std::string_view kDescription = "created for delayed disconnect timeout";
  const auto followups = make_followups(timed, kTrigger, kTrigger, kDescription, kDescription);
  for (std::size_t i = 0; i < timed.size(); ++i) scratch_.followup_of_[timed[i].position] = followups[i];
  each(kDisconnecting, [&](std::uint32_t position) {
    run_.result.disconnect_updates.push_back({rows_[position], scratch_.followup_of_[position]});
    scratch_.followup_of_[position] = kNoFollowup;
  });
  counters().disconnect = static_cast<std::uint64_t>(count(kDisconnecting));
  counters().reschedule_now = static_cast<std::uint64_t>(count(kNow));
  counters().reschedule_later = later_.size();
}

void GroupRun::wait_for_clients() {  // 6.9
  std::vector<Timed> timed;
  each(kLost, [&](std::uint32_t position) {
    const model::Allocation& alloc = *facts(position).alloc;
    if (!model::should_client_stop(alloc)) return;
    const base::Time at = model::wait_client_stop(alloc, run_.input.now);
    if (at > base::Time{run_.input.now}) timed.push_back({at, position});
  });
  if (timed.empty()) return;
  clients_stop_later_ = true;
  const auto followups =
      make_followups(timed, "alloc-failure", "alloc-failure", "created for delayed rescheduling", "");
  for (std::size_t i = 0; i < timed.size(); ++i) scratch_.followup_of_[timed[i].position] = followups[i];
}

void GroupRun::annotate_later() {  // 6.10
  const auto followups =
      make_followups(later_, "alloc-reschedule", "alloc-failure", "created for delayed rescheduling", "");
  std::vector<std::pair<std::uint32_t, std::int32_t>> by_position;
  for (std::size_t i = 0; i < later_.size(); ++i) by_position.emplace_back(later_[i].position, followups[i]);
  std::sort(by_position.begin(), by_position.end());
  std::size_t update = disconnect_begin_;
  for (const auto& [position, followup] : by_position) {
    const std::uint32_t row = rows_[position];
    auto& disconnects = run_.result.disconnect_updates;
    if (in(position, kDisconnecting)) {
      while (disconnects[update].row != row) ++update;  // both in order K
      disconnects[update].followup = followup;
    } else if (in(position, kMigrate)) {
      run_.result.followups_in_alloc.push_back({row, followup});
    } else {
      run_.result.attribute_updates.push_back({row, followup});
    }
  }
  counters().reschedule_later = later_.size();
}

}  // namespace berth::reconcile
