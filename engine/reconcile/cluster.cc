#include "reconcile/cluster.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/assert.h"
#include "model/names.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "reconcile/reconnect.h"
#include "reconcile/reschedule.h"

namespace berth::reconcile {
namespace {

using model::ClientStatus;
using model::DeploymentState;

// Sets of section 6 of part 05, as bits. kCalm: runs undisturbed on a fine node, so untainted and kept without a look.
constexpr std::uint16_t kAll = 1, kUntainted = 2, kMigrate = 4, kLost = 8, kDisconnecting = 16, kReconnecting = 32,
                        kExpiring = 64, kIgnored = 128, kCanary = 256, kNow = 512, kStopped = 1024, kDestructive = 2048,
                        kInplace = 4096, kWorking = 8192, kReconnectStop = 16384, kCalm = 32768;
constexpr std::uint16_t kClasses =
    kUntainted | kMigrate | kLost | kDisconnecting | kReconnecting | kExpiring | kIgnored;

std::uint16_t bit_of(AllocClass alloc_class) {
  switch (alloc_class) {
    case AllocClass::untainted:
      return kUntainted;
    case AllocClass::migrate:
      return kMigrate;
    case AllocClass::lost:
      return kLost;
    case AllocClass::disconnecting:
      return kDisconnecting;
    case AllocClass::reconnecting:
      return kReconnecting;
    case AllocClass::ignore:
      return kIgnored;
    case AllocClass::expiring:
      return kExpiring;
  }
  return 0;
}

bool is_multiregion(const model::Job& job) { return !job.multiregion.is_null(); }

/// A count as the name index takes it; larger ones name no more allocations than it can.
std::uint32_t index_count(std::int64_t count) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, NameIndex::kMaxIndex));
}

/// Order K (R-RECON-7).
bool before(const AllocFacts& a, const AllocFacts& b) {
  return a.name_index != b.name_index ? a.name_index < b.name_index : a.alloc->id < b.alloc->id;
}

/// Whether the rows have the name indexes 0, 1, 2, ... in this order, which is order K then, and all run undisturbed on
/// fine nodes. One look at each, none of it by chance: about what reading the slots costs.
bool is_settled(std::span<const std::uint32_t> slots, std::span<const std::uint32_t> rows) {
  if (rows.empty() || rows.size() > NameIndex::kMaxIndex) return false;
  constexpr std::size_t kLook = 1024;  // rows between two questions whether to go on
  for (std::size_t begin = 0; begin < rows.size(); begin += kLook) {
    const std::size_t end = std::min(begin + kLook, rows.size());
    std::uint32_t unsettled = 0;
    for (std::size_t i = begin; i < end; ++i) unsettled |= slots[rows[i]] ^ static_cast<std::uint32_t>(i);
    if (unsettled != 0) return false;
  }
  return true;
}

struct Timed {
  base::Time at;
  std::uint32_t position;
};

/// What the groups of one run share.
struct Run {
  const ClusterInput& input;
  UpdateJudge& updates;
  IdSource& ids;
  ClusterResult& result;
  std::optional<model::Deployment> current;
  bool current_is_input = false;                 ///< the current deployment came from state
  bool returned = false;                         ///< the deployment is a result (R-RECON-208, 211)
  bool paused = false, failed = false;           // R-RECON-79, 80; fixed at the start
  std::vector<std::string_view> stale_canaries;  // R-RECON-100, sorted
  std::vector<std::string_view> canaries;        // of the current deployment, sorted
};

void add_canaries(const model::Deployment& deployment, bool only_unpromoted, std::vector<std::string_view>& out) {
  for (const auto& [name, state] : deployment.task_groups)
    if (state && !(only_unpromoted && state->promoted))
      out.insert(out.end(), state->placed_canaries.begin(), state->placed_canaries.end());
}

}  // namespace

/// The algorithm of section 6 for one group. Positions count the group's allocations in order K.
class GroupRun {
 public:
  GroupRun(ClusterReconciler& scratch, Run& run, std::span<const std::uint32_t> rows, std::uint32_t group,
           const model::TaskGroup* task_group, bool settled)
      : scratch_(scratch),
        run_(run),
        rows_(rows),
        allocs_(run.input.allocs.data()),
        group_(group),
        task_group_(task_group),
        settled_(settled) {}

  void stop_for_stopped_job();  // section 5.2
  bool run();                   // whether the group is complete

 private:
  void begin_sets() {
    scratch_.sets_.assign(rows_.size(), 0);
    scratch_.followup_of_.assign(rows_.size(), kNoFollowup);
    if (!quirks_.double_stops) scratch_.stopped_.assign(rows_.size(), 0);
  }
  void find_deployment_state();
  [[nodiscard]] bool is_steady();
  [[nodiscard]] const AllocFacts& facts(std::uint32_t position) const { return allocs_[rows_[position]]; }
  [[nodiscard]] std::uint16_t& sets(std::uint32_t position) { return scratch_.sets_[position]; }
  [[nodiscard]] bool in(std::uint32_t position, std::uint16_t set) const {
    return (scratch_.sets_[position] & set) != 0;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(rows_.size()); }
  /// The group's count. A negative one, which registration and import refuse, wants as little as none.
  [[nodiscard]] std::int64_t wanted() const { return std::max<std::int64_t>(task_group_->count, 0); }
  /// Size of a union of sets; sets that never had a member cost nothing.
  [[nodiscard]] std::int64_t count(std::uint16_t set) const {
    if ((ever_ & set) == 0) return 0;
    constexpr std::size_t kBlock = 32768;  // what a 16-bit lane can count, so that the loop keeps 16-bit lanes
    const std::span<const std::uint16_t> all = scratch_.sets_;
    std::int64_t out = 0;
    for (std::size_t begin = 0; begin < all.size(); begin += kBlock) {
      std::uint16_t in_block = 0;
      for (const std::uint16_t bits : all.subspan(begin, std::min(kBlock, all.size() - begin)))
        in_block = static_cast<std::uint16_t>(in_block + ((bits & set) != 0));
      out += in_block;
    }
    return out;
  }
  void add(std::uint32_t position, std::uint16_t set) {
    sets(position) = static_cast<std::uint16_t>(sets(position) | set);
    ever_ = static_cast<std::uint16_t>(ever_ | set);
  }
  void remove(std::uint32_t position, std::uint16_t set) {
    sets(position) = static_cast<std::uint16_t>(sets(position) & ~set);
  }
  /// Visits the members of a union of sets in order K; `visit` may change sets.
  template <class Visit>
  void each(std::uint16_t set, Visit visit) {
    if ((ever_ & set) == 0) return;
    const std::uint16_t* const all = scratch_.sets_.data();
    const std::uint64_t four = set * std::uint64_t{0x0001000100010001};
    for (std::uint32_t position = 0; position < size();) {
      std::uint64_t word = 0;
      if (position + 4 <= size()) {
        std::memcpy(&word, all + position, sizeof word);
        if ((word & four) == 0) {  // members are rare in most sets
          position += 4;
          continue;
        }
      }
      const std::uint32_t end = std::min(position + 4, size());
      for (; position < end; ++position)
        if ((all[position] & set) != 0) visit(position);
    }
  }
  [[nodiscard]] model::DesiredUpdates& counters() { return run_.result.groups[group_].updates; }
  [[nodiscard]] const std::string& name() const { return run_.result.groups[group_].name; }
  /// The scheduler has stopped it before the run (R-RECON-23).
  [[nodiscard]] bool was_finished(std::uint32_t position) const {
    const AllocFacts& f = facts(position);
    return f.server_terminal() && (f.taint == NodeTaint::gone || f.taint == NodeTaint::down) &&
           (f.client == ClientStatus::running || f.client == ClientStatus::pending);
  }
  /// Without double_stops an allocation gets one entry, whoever asks first.
  void stop(std::uint32_t position, std::string_view description, ClientStatus client_status = ClientStatus::none,
            std::int32_t followup = kNoFollowup) {
    if (!quirks_.double_stops && (was_finished(position) || std::exchange(scratch_.stopped_[position], 1) != 0)) return;
    run_.result.stop.push_back({rows_[position], client_status, description, followup});
  }

  void classify_all();
  void stop_classified();
  void count_stops(std::size_t migrating);
  void cut_places();
  void take_canaries();
  void judge(std::uint16_t set, bool disconnecting, bool keeps);
  void reconnect();
  [[nodiscard]] std::vector<std::uint32_t> replacements(std::uint32_t position);
  void disconnect();
  void wait_for_clients();
  void annotate_later();
  std::vector<std::int32_t> make_followups(std::vector<Timed>& timed, std::string_view trigger,
                                           std::string_view later_trigger, std::string_view description,
                                           std::string_view later_description);
  void index_names();
  void select_stops();
  void stop_surplus(std::int64_t remove);
  void update();
  void place_canaries();
  [[nodiscard]] std::int64_t destructive_limit();
  void place_missing();
  void place_ungated(const std::vector<ClusterResult::Place>& missing);
  void update_destructively();
  void migrate();
  void attach_deployment();
  [[nodiscard]] bool is_complete();

  [[nodiscard]] bool of_current_deployment(std::uint32_t position) const {
    return run_.current && run_.current_is_input && facts(position).has(AllocFacts::kOfDeployment);
  }
  [[nodiscard]] bool canarying() const { return dst_->desired_canaries != 0 && !dst_->promoted; }
  [[nodiscard]] bool has_standard_name(std::uint32_t position) const {
    return facts(position).alloc->name == model::alloc_name(run_.input.job_id, name(), facts(position).name_index);
  }
  [[nodiscard]] ClusterResult::Place replacing(std::uint32_t position) const {
    const AllocFacts& f = facts(position);
    ClusterResult::Place out{};
    out.group = group_;
    out.name_index = f.name_index;
    out.previous = rows_[position];
    out.canary = f.has(AllocFacts::kCanary);
    out.downgrade = canarying2_ && !out.canary;
    out.previous_disconnects = in(position, kDisconnecting);
    out.min_job_version = f.job_version;
    return out;
  }
  void collect_indexes(std::uint16_t set, std::vector<std::uint32_t>& out) {
    out.clear();
    out.reserve(size());
    each(set, [&](std::uint32_t position) { out.push_back(facts(position).name_index); });
  }

  ClusterReconciler& scratch_;
  Run& run_;
  std::span<const std::uint32_t> rows_;
  const AllocFacts* allocs_;
  std::uint32_t group_;
  const model::TaskGroup* task_group_;
  bool settled_;        // is_settled()
  bool asked_ = false;  // the update function, about all of the group
  const model::Quirks& quirks_ = run_.input.quirks;
  const std::size_t stop_begin_ = run_.result.stop.size();
  std::uint16_t ever_ = 0;  // sets that ever had a member

  const model::UpdateStrategy* strategy_ = nullptr;  // null when absent; it may be empty (R-RECON-98)
  bool strategy_is_empty_ = true;
  bool existing_ = false;
  DeploymentState fresh_;
  DeploymentState* dst_ = nullptr;
  bool canarying1_ = false, canarying2_ = false, needs_canaries_ = false, clients_stop_later_ = false;
  std::vector<Timed> later_;
  std::unordered_map<std::string_view, std::uint32_t> by_id_;  // ALL; filled only when something reconnects
  std::size_t place_begin_ = 0, disconnect_begin_ = 0;
  std::int64_t place_limit_ = 0;  // LIM
};

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
  if (!quirks_.double_stops) count_stops(0);
}

/// The Stop counter without double_stops: what is stopped and does not migrate, entry by entry.
void GroupRun::count_stops(std::size_t migrating) {
  counters().stop = run_.result.stop.size() - stop_begin_ - migrating;
}

/// The usual case: every index once, all running undisturbed, nothing changed. What follows from that is written down
/// without making any set; false leaves the update function's answers behind, which is asked once only.
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
  // 6.1: what the server stopped is invisible, but finished work of batch jobs is not redone.
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
  // What has a predecessor stays, as that one is stopped; canaries and new ones go, the last first.
  const auto is_new = [](const ClusterResult::Place& p) { return p.previous == kNoRow; };
  std::size_t excess = place.size() - place_begin_ - most, begin = place.size();
  while (begin > place_begin_ && excess > 0) excess -= is_new(place[--begin]);
  const auto end = std::remove_if(place.begin() + static_cast<std::ptrdiff_t>(begin), place.end(), is_new);
  if (end == place.end()) return;
  place.erase(end, place.end());
  counters().place = place.size() - place_begin_;
}

void GroupRun::take_canaries() {  // 6.4
  const auto listed = [&](const std::vector<std::string_view>& ids, std::uint32_t position) {
    return std::binary_search(ids.begin(), ids.end(), std::string_view(facts(position).alloc->id));
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

/// RF(set, disconnecting) of R-RECON-112. Kept ones go to U if `keeps`.
void GroupRun::judge(std::uint16_t set, bool disconnecting, bool keeps) {
  const ClusterInput& input = run_.input;
  const RescheduleContext context{
      input.now, input.eval_id, input.is_batch,
      run_.current && run_.current_is_input && model::is_active_deployment(run_.current->status), input.quirks};
  using When = RescheduleAnswer::When;
  each(set, [&](std::uint32_t position) {
    if (in(position, kCalm)) return;  // kept, and in U already
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
  // A chain that runs into itself is no chain of Nomad's making. It ends where it comes round, so nobody replaces
  // itself; `mark` stands still for longer and longer and is met again in any circle (Brent).
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
  for (std::uint32_t position = 0; position < size(); ++position)  // the chain ends at what the server stopped
    if (!quirks_.replacement_chain_breaks || in(position, kAll)) by_id_.emplace(facts(position).alloc->id, position);
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
      // Where stops keep the states, what is stopped comes back at every evaluation.
      if (quirks_.stop_erases_states || !r.server_terminal()) stop(position, kNotNeeded);
      return add(position, kReconnectStop);
    }
    if (!quirks_.replacement_chain_breaks && r.client != ClientStatus::running) return;  // not heard of yet
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

/// One evaluation per batch of times less than 5 s apart (R-RECON-150 to 153); the follow-up of each entry of `timed`,
/// which is sorted by time.
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
    // Times ascend; their difference may be more than a signed number holds.
    const auto since_batch = static_cast<std::uint64_t>(entry.at.ns) - static_cast<std::uint64_t>(batch.ns);
    if (out.empty() || (entry.at != batch && (batch.is_zero() || since_batch >= kWindow))) {
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
  const auto is_among = [&](std::vector<std::uint32_t>& highest) {  // whose name is one of those indexes' names
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

/// While paused, failed or with canaries out, only what was lost or failed is replaced (R-RECON-193 to 196).
void GroupRun::place_ungated(const std::vector<ClusterResult::Place>& missing) {
  const bool in_list_order = quirks_.lost_replaced_in_list_order;
  if (!in_list_order) {  // what is lost by its own placement, what is rescheduled once
    for (const ClusterResult::Place& place : missing)
      if (place.lost) run_.result.place.push_back(place), ++counters().place;
  }
  const auto lost = in_list_order ? static_cast<std::size_t>(count(kLost)) : 0;
  const std::size_t first = std::min(lost, missing.size());  // whatever their kind (R-RECON-195)
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
      !later_.empty() || needs_canaries_ || !run_.current)
    return false;
  const auto entry = run_.current->task_groups.find(name());
  if (entry == run_.current->task_groups.end() || !entry->second) return true;
  const DeploymentState& state = *entry->second;
  return state.healthy_allocs >= std::max(state.desired_total, state.desired_canaries) &&
         (state.desired_canaries <= 0 || state.promoted);
}

std::string place_name(const ClusterInput& input, const ClusterResult& result, const ClusterResult::Place& place) {
  if (place.previous != kNoRow) return input.allocs[place.previous].alloc->name;
  return model::alloc_name(input.job_id, result.groups[place.group].name, place.name_index);
}

model::Allocation with_followup(const ClusterInput& input, const ClusterResult& result,
                                const ClusterResult::Update& update) {
  model::Allocation out = *input.allocs[update.row].alloc;
  if (update.followup != kNoFollowup)
    out.followup_eval_id = result.followups[static_cast<std::size_t>(update.followup)].eval.id;
  return out;
}

model::Allocation disconnected(const ClusterInput& input, const ClusterResult& result,
                               const ClusterResult::Update& update) {
  model::Allocation out = with_followup(input, result, update);
  out.client_status = "unknown";
  out.client_description = kUnknownNode;
  out.alloc_states.push_back({0, "unknown", base::Time{input.now}});
  return out;
}

model::Allocation reconnected(const ClusterInput& input, const ClusterResult::Update& update) {
  model::Allocation out = *input.allocs[update.row].alloc;
  out.alloc_states.push_back({0, "running", base::Time{input.now}});
  return out;
}

namespace {

/// Section 5.1: which deployment is current, which is old, and what becomes of it.
const model::Deployment* sort_out_deployments(Run& run) {
  const ClusterInput& input = run.input;
  const model::Deployment* latest = input.deployment;
  const auto cancel = [&](const char* description) {
    if (latest && model::is_active_deployment(latest->status))
      run.result.deployment_updates.push_back({latest->id, "cancelled", description, 0});
  };
  if (model::is_stopped(input.job)) {
    cancel("Cancelled because job is stopped");
    return latest;
  }
  if (!latest) return nullptr;
  if (latest->job_create_index != input.job->create_index || latest->job_version != input.job->version) {
    cancel("Cancelled due to newer version of job");
    return latest;
  }
  if (latest->status == "successful") return latest;
  run.current = *latest;
  run.current_is_input = true;
  return nullptr;
}

void conclude(Run& run, bool complete) {  // section 5.4
  if (run.current && complete) {
    const model::Deployment& current = *run.current;
    if (!is_multiregion(*run.input.job))
      run.result.deployment_updates.push_back({current.id, "successful", "Deployment completed successfully", 0});
    else if (current.status != "unblocking" && current.status != "successful")
      run.result.deployment_updates.push_back(
          {current.id, "blocked", "Deployment is complete but waiting for peer region", 0});
  }
  if (!run.current) return;
  if (run.current->status == "initializing")
    run.result.deployment_updates.push_back(
        {run.current->id, "pending", "Deployment is pending, waiting for peer region", 0});
  if (!run.returned) return;
  model::Deployment& deployment = run.result.deployment.emplace(*run.current);
  if (model::requires_promotion(deployment))  // R-RECON-86
    deployment.status_description = model::has_auto_promote(deployment)
                                        ? "Deployment is running pending automatic promotion"
                                        : "Deployment is running but requires manual promotion";
}

}  // namespace

ClusterResult ClusterReconciler::run(const ClusterInput& input, UpdateJudge& updates, IdSource& ids) {
  BERTH_ASSERT(input.slots.size() == input.allocs.size());
  ClusterResult result;
  Run run{input, updates, ids, result, {}, false, false, false, false, {}, {}};
  const model::Deployment* old = sort_out_deployments(run);
  result.set_aside = old != nullptr;
  if (run.current) {
    const std::string& status = run.current->status;
    run.paused = status == "paused" || status == "pending" || status == "initializing";
    run.failed = status == "failed";
  }
  // The ids refer to the caller's deployment, which nobody changes during the run.
  if (old) add_canaries(*old, true, run.stale_canaries);
  if (run.failed) add_canaries(*input.deployment, true, run.stale_canaries);
  if (run.current) add_canaries(*input.deployment, false, run.canaries);
  std::sort(run.stale_canaries.begin(), run.stale_canaries.end());
  std::sort(run.canaries.begin(), run.canaries.end());

  // Rows by group, each group in order K.
  std::vector<std::uint32_t> begins(input.group_names.size() + 1);
  if (rows_.size() < input.allocs.size()) rows_.resize(input.allocs.size());
  if (input.group_names.size() == 1) {
    const auto size = static_cast<std::uint32_t>(input.allocs.size());
    begins[1] = size;
    if (counted_ < size) {
      std::iota(rows_.begin() + counted_, rows_.begin() + size, counted_);
      counted_ = size;
    }
  } else {
    counted_ = 0;
    for (const AllocFacts& f : input.allocs) {
      BERTH_ASSERT(f.group < input.group_names.size());
      ++begins[f.group + 1];
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<std::uint32_t> ends(begins.begin(), begins.end() - 1);
    for (std::uint32_t row = 0; row < input.allocs.size(); ++row) rows_[ends[input.allocs[row].group]++] = row;
  }
  const auto sort = [&](std::span<std::uint32_t> rows) {
    const auto in_order = [&](std::uint32_t a, std::uint32_t b) { return before(input.allocs[a], input.allocs[b]); };
    if (std::is_sorted(rows.begin(), rows.end(), in_order)) return;
    std::sort(rows.begin(), rows.end(), in_order);
    counted_ = 0;
  };

  const bool stopped = model::is_stopped(input.job);
  bool complete = true;
  const auto visit = [&](const std::string& name, const model::TaskGroup* task_group, std::size_t group) {
    result.groups.push_back({name, {}, {}});
    const auto position = static_cast<std::uint32_t>(result.groups.size() - 1);
    std::span<std::uint32_t> rows;
    if (group < input.group_names.size())
      rows = std::span(rows_).subspan(begins[group], begins[group + 1] - begins[group]);
    const bool settled = is_settled(input.slots, rows);
    if (!settled) sort(rows);
    GroupRun group_run(*this, run, rows, position, task_group, settled);
    if (stopped)
      group_run.stop_for_stopped_job();
    else
      complete &= group_run.run();
  };
  std::vector<bool> visited(input.group_names.size());
  if (input.job)
    for (const model::TaskGroup& task_group : input.job->task_groups) {
      if (input.job->group(task_group.name) != &task_group) continue;  // a later one of that name (R-RECON-6)
      std::size_t group = 0;
      while (group < input.group_names.size() && input.group_names[group] != task_group.name) ++group;
      if (group < visited.size()) visited[group] = true;
      visit(task_group.name, &task_group, group);
    }
  std::vector<std::size_t> others;
  for (std::size_t group = 0; group < visited.size(); ++group)
    if (!visited[group] && begins[group] != begins[group + 1]) others.push_back(group);
  std::sort(others.begin(), others.end(),
            [&](std::size_t a, std::size_t b) { return input.group_names[a] < input.group_names[b]; });
  for (const std::size_t group : others) visit(input.group_names[group], nullptr, group);

  if (!stopped) conclude(run, complete);
  return result;
}

}  // namespace berth::reconcile
