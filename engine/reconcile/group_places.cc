#include <unordered_set>

#include "base/assert.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "reconcile/group_run.h"

namespace berth::reconcile {
namespace {

/// Clamps a count to what the name index can hold.
std::uint32_t index_count(std::int64_t count) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, NameIndex::kMaxIndex));
}

}  // namespace

void GroupRun::index_names() {  // 6.11
  collect_indexes(kUntainted | kMigrate | kNow | kLost, scratch_.indexes_);
  run_.result.groups[group_].names.emplace(scratch_.indexes_, index_count(wanted()));
}

void GroupRun::select_stops() {  // 6.12
  canarying1_ = canarying();
  each(kLost, [&](std::uint32_t position) {
    stop(position, kLostNode, ClientStatus::lost, scratch_.followup_of_[position]);
    add(position, kStopped);
  });
  std::int64_t surplus = count(kMigrate) - wanted();
  each(kUntainted, [&](std::uint32_t position) {
    if (canarying1_ && in(position, kCanary)) return;
    const bool unknown = facts(position).client == ClientStatus::unknown;
    if (!unknown) ++surplus;
    if (!facts(position).server_terminal() && (quirks_.unknown_chosen_to_stop || !unknown)) add(position, kWorking);
  });
  if (surplus > 0) stop_surplus(surplus);
  counters().stop += static_cast<std::uint64_t>(count(kStopped));
  each(kStopped, [&](std::uint32_t position) { remove(position, kUntainted); });
}

/// The four loops (R-RECON-169 to 173), each in reverse K, until nothing is left to remove.
void GroupRun::stop_surplus(std::int64_t surplus) {
  const auto each_reversed = [&](std::uint16_t set, auto visit) {
    for (std::uint32_t position = size(); position > 0 && surplus > 0; --position)
      if (in(position - 1, set)) visit(position - 1);
  };
  const auto take = [&](std::uint32_t position) {
    stop(position, kNotNeeded);
    add(position, kStopped);
    remove(position, kWorking);
    --surplus;
  };
  NameIndex& names = *run_.result.groups[group_].names;

  if (!canarying1_ && count(kCanary) > 0) {
    std::unordered_set<std::string_view> canary_names;
    each(kCanary, [&](std::uint32_t position) { canary_names.insert(facts(position).alloc->name); });
    each_reversed(kWorking, [&](std::uint32_t position) {
      if (!in(position, kCanary) && canary_names.contains(facts(position).alloc->name)) take(position);
    });
    if (surplus == 0) return;
  }
  const auto is_among = [&](std::vector<std::uint32_t>& highest) {  // true if its name is one of those
    std::sort(highest.begin(), highest.end());
    return [&](std::uint32_t position) {
      return std::binary_search(highest.begin(), highest.end(), facts(position).name_index) &&
             has_standard_name(position);
    };
  };
  if (count(kMigrate) > 0) {
    collect_indexes(kMigrate, scratch_.other_indexes_);
    NameIndex migrating(scratch_.other_indexes_, index_count(wanted()));
    auto highest = migrating.highest(static_cast<std::size_t>(surplus));
    const auto chosen = is_among(highest);
    each_reversed(kMigrate, [&](std::uint32_t position) {
      if (!chosen(position)) return;
      take(position);
      remove(position, kMigrate);
      names.unset(facts(position).name_index, quirks_);
    });
    if (surplus == 0) return;
  }
  auto highest = names.highest(static_cast<std::size_t>(surplus));
  const auto chosen = is_among(highest);
  each_reversed(kWorking, [&](std::uint32_t position) {
    if (chosen(position)) take(position);
  });
  each_reversed(kWorking, take);
}

void GroupRun::update() {  // 6.13
  auto& rows = scratch_.asked_;
  auto& answers = scratch_.answers_;
  if (!asked_) {
    rows.clear();
    rows.reserve(size());
    each(kUntainted, [&](std::uint32_t position) { rows.push_back(rows_[position]); });
    answers.assign(rows.size(), UpdateKind::ignore);
    if (!rows.empty()) run_.updates.judge(rows, answers);
  }
  const auto ignored = std::count(answers.begin(), answers.end(), UpdateKind::ignore);
  counters().ignore += static_cast<std::uint64_t>(ignored);
  if (static_cast<std::size_t>(ignored) < answers.size()) {
    std::size_t i = 0;
    each(kUntainted, [&](std::uint32_t position) {
      const UpdateKind answer = answers[i++];
      if (answer == UpdateKind::inplace) {
        add(position, kInplace);
        run_.result.inplace_update.push_back(rows_[position]);
        ++counters().in_place_update;
      } else if (answer == UpdateKind::destructive) {
        add(position, kDestructive);
      }
    });
  }
  if (!existing_) dst_->desired_total += count(kDestructive | kInplace);
  if (canarying1_) each(kCanary, [&](std::uint32_t position) { remove(position, kUntainted); });
}

void GroupRun::place_canaries() {  // 6.14
  const std::int64_t placed = count(kCanary);
  needs_canaries_ = strategy_ && count(kDestructive) > 0 && placed < strategy_->canary && !dst_->promoted;
  if (needs_canaries_) dst_->desired_canaries = strategy_->canary;
  canarying2_ = canarying();
  if (!needs_canaries_ || run_.paused || run_.failed) return;
  const std::int64_t missing = strategy_->canary - placed;
  counters().canary += static_cast<std::uint64_t>(missing);
  auto& existing = scratch_.indexes_;
  existing.clear();
  each(kCanary, [&](std::uint32_t position) {
    if (has_standard_name(position)) existing.push_back(facts(position).name_index);
  });
  collect_indexes(kDestructive, scratch_.other_indexes_);
  NameIndex& names = *run_.result.groups[group_].names;
  for (const std::uint32_t index :
       names.next_canaries(static_cast<std::size_t>(missing), existing, scratch_.other_indexes_)) {
    ClusterResult::Place place{};
    place.group = group_;
    place.name_index = index;
    place.previous = kNoRow;
    place.canary = true;
    run_.result.place.push_back(place);
  }
}

std::int64_t GroupRun::destructive_limit() {  // R-RECON-183
  if (strategy_is_empty_ || count(kDestructive | kMigrate) == 0) return wanted();
  if (!run_.current) return std::max<std::int64_t>(strategy_->max_parallel, 0);
  if (run_.paused || run_.failed || canarying2_) return 0;
  std::int64_t limit = std::max<std::int64_t>(strategy_->max_parallel, 0);
  bool any_unhealthy = false;
  each(kUntainted, [&](std::uint32_t position) {
    if (!of_current_deployment(position)) return;
    if (facts(position).has(AllocFacts::kUnhealthy)) any_unhealthy = true;
    if (!facts(position).has(AllocFacts::kHealthy)) --limit;
  });
  return any_unhealthy ? 0 : std::max<std::int64_t>(limit, 0);
}

void GroupRun::place_missing() {  // 6.15
  place_limit_ = destructive_limit();
  std::vector<ClusterResult::Place> missing;
  if (!clients_stop_later_ || !quirks_.delayed_stop_holds_group) {
    each(kNow, [&](std::uint32_t position) {
      missing.push_back(replacing(position));
      missing.back().reschedule = true;
    });
    std::int64_t have = count(kUntainted) + count(kMigrate) + count(kNow);
    const auto waits = [&](std::uint32_t position) { return scratch_.followup_of_[position] != kNoFollowup; };
    if (clients_stop_later_) each(kLost, [&](std::uint32_t position) { have += waits(position); });
    each(kLost, [&](std::uint32_t position) {
      if (have >= wanted() || waits(position)) return;
      ++have;
      missing.push_back(replacing(position));
      missing.back().lost = true;
      missing.back().previous_disconnects = false;
    });
    if (have < wanted())
      for (const std::uint32_t index :
           run_.result.groups[group_].names->next(static_cast<std::size_t>(wanted() - have))) {
        ClusterResult::Place place{};
        place.group = group_;
        place.name_index = index;
        place.previous = kNoRow;
        place.downgrade = canarying2_;
        missing.push_back(place);
      }
    if (!existing_) dst_->desired_total += static_cast<std::int64_t>(missing.size());
  }
  if (run_.paused || run_.failed || canarying2_) return place_ungated(missing);
  counters().place += missing.size();
  place_limit_ -= std::min(static_cast<std::int64_t>(missing.size()), place_limit_);
  if (run_.result.place.empty())
    run_.result.place = std::move(missing);
  else
    run_.result.place.insert(run_.result.place.end(), missing.begin(), missing.end());
  each(kNow, [&](std::uint32_t position) {
    if (in(position, kDisconnecting | kMigrate) || facts(position).client == ClientStatus::unknown) return;
    stop(position, kRescheduled);
    ++counters().stop;
  });
}

/// While the deployment is paused, failed or has canaries out, only lost or failed allocations are replaced
/// (R-RECON-193 to 196).
void GroupRun::place_ungated(const std::vector<ClusterResult::Place>& missing) {
  const bool in_list_order = quirks_.lost_replaced_in_list_order;
  if (!in_list_order) {  // place lost allocations here; the loop below places rescheduled ones, each once
    for (const ClusterResult::Place& place : missing)
      if (place.lost) run_.result.place.push_back(place), ++counters().place;
  }
  const auto lost = in_list_order ? static_cast<std::size_t>(count(kLost)) : 0;
  const std::size_t first = std::min(lost, missing.size());  // of any kind (R-RECON-195)
  run_.result.place.insert(run_.result.place.end(), missing.begin(),
                           missing.begin() + static_cast<std::ptrdiff_t>(first));
  counters().place += first;
  std::uint32_t position = 0;
  for (const ClusterResult::Place& place : missing) {
    if (!place.reschedule) continue;
    while (rows_[position] != place.previous) ++position;  // both in order K
    if (run_.failed && of_current_deployment(position)) continue;
    run_.result.place.push_back(place);
    ++counters().place;
    if (in(position, kDisconnecting) || (!in_list_order && in(position, kMigrate))) continue;
    stop(position, kRescheduled);
    ++counters().stop;
  }
}

void GroupRun::update_destructively() {  // R-RECON-197, 198
  const std::int64_t destructive = count(kDestructive);
  const bool ready = !run_.paused && !run_.failed && !canarying2_;
  const std::int64_t n = ready ? std::min(destructive, place_limit_) : 0;
  counters().destructive_update += static_cast<std::uint64_t>(n);
  counters().ignore += static_cast<std::uint64_t>(destructive - n);
  std::int64_t taken = 0;
  each(kDestructive, [&](std::uint32_t position) {
    if (taken < n) run_.result.destructive_update.push_back({group_, rows_[position]}), ++taken;
  });
}

void GroupRun::migrate() {  // R-RECON-199 to 202
  counters().migrate += static_cast<std::uint64_t>(count(kMigrate));
  const std::size_t stops_before = run_.result.stop.size();
  each(kMigrate, [&](std::uint32_t position) {
    const AllocFacts& f = facts(position);
    stop(position, kMigrating);
    if (f.has(AllocFacts::kBatchJob) && f.wants(AllocFacts::kReschedule | AllocFacts::kMigrateDisablePlacement)) return;
    run_.result.place.push_back(replacing(position));
  });
  if (!quirks_.double_stops) count_stops(run_.result.stop.size() - stops_before);
}

void GroupRun::attach_deployment() {  // 6.16
  const model::Job& job = *run_.input.job;
  const bool wanted = !existing_ && !strategy_is_empty_ && dst_->desired_total != 0;
  const bool changes = count(kDestructive) > 0 || counters().in_place_update != 0;
  const auto had_running = [&] {  // R-RECON-206
    bool found = false;
    each(kAll, [&](std::uint32_t position) {
      const AllocFacts& f = facts(position);
      found |= f.job_version == job.version && f.job_create_index == job.create_index;
    });
    return found;
  };
  if (wanted && (changes || !had_running())) {
    if (!run_.current) {
      run_.current =
          model::new_deployment(job, run_.ids.next_deployment_id(), run_.input.eval_priority, run_.input.now);
      run_.current_is_input = false;
      run_.returned = true;
    }
    auto& state = run_.current->task_groups[name()];
    state = fresh_;
    dst_ = &*state;
  }
  if (run_.current && run_.current->status == "initializing") run_.returned = true;
}

bool GroupRun::is_complete() {  // R-RECON-213, 214
  if (count(kDestructive | kInplace | kMigrate | kNow) > 0 || run_.result.place.size() > place_begin_ ||
      !later_.empty() || !run_.current)
    return false;  // as with canaries to place, since these replace destructive updates
  const auto entry = run_.current->task_groups.find(name());
  if (entry == run_.current->task_groups.end()) return true;
  const DeploymentState& state = *entry->second;
  return state.healthy_allocs >= std::max(state.desired_total, state.desired_canaries) &&
         (state.desired_canaries <= 0 || state.promoted);
}

}  // namespace berth::reconcile
