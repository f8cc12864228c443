// One group of one run of the reconciler for service and batch jobs (section 6 of part 05): its sets as bits per
// allocation, and the steps from the sets to what is placed, stopped and updated.
//   group_run.cc     the steps in order; membership of the sets; reconnects, disconnects, delayed follow-ups
//   group_places.cc  names, surplus stops, updates, placements, migrations, the deployment
#pragma once

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "model/names.h"
#include "reconcile/cluster.h"

namespace berth::reconcile {

using model::ClientStatus;
using model::DeploymentState;

// Sets of section 6 of part 05, as bits. kCalm: running undisturbed on an untainted node, so untainted and kept without
// further checks.
inline constexpr std::uint16_t kAll = 1, kUntainted = 2, kMigrate = 4, kLost = 8, kDisconnecting = 16,
                               kReconnecting = 32, kExpiring = 64, kIgnored = 128, kCanary = 256, kNow = 512,
                               kStopped = 1024, kDestructive = 2048, kInplace = 4096, kWorking = 8192,
                               kReconnectStop = 16384, kCalm = 32768;
inline constexpr std::uint16_t kClasses =
    kUntainted | kMigrate | kLost | kDisconnecting | kReconnecting | kExpiring | kIgnored;

struct Timed {
  base::Time at;
  std::uint32_t position;
};

/// State shared by the groups of one run.
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
  bool run();                   // returns whether the group is complete

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
  /// The group's count. A negative count, which registration and import refuse, is treated as 0.
  [[nodiscard]] std::int64_t wanted() const { return std::max<std::int64_t>(task_group_->count, 0); }
  /// Size of a union of sets; sets that never had a member cost nothing.
  [[nodiscard]] std::int64_t count(std::uint16_t set) const {
    if ((ever_ & set) == 0) return 0;
    constexpr std::size_t kBlock = 32768;  // fits a 16-bit count, so that the loop keeps 16-bit lanes
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
  /// True if the scheduler stopped the allocation before this run (R-RECON-23).
  [[nodiscard]] bool was_finished(std::uint32_t position) const {
    const AllocFacts& f = facts(position);
    return f.server_terminal() && (f.taint == NodeTaint::gone || f.taint == NodeTaint::down) &&
           (f.client == ClientStatus::running || f.client == ClientStatus::pending);
  }
  /// Without double_stops an allocation gets only the first stop entry.
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
  bool asked_ = false;  // the update function was called for the whole group
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
  std::unordered_map<std::string_view, std::uint32_t> by_id_;  // set ALL; filled if one that reconnects was replaced
  std::size_t place_begin_ = 0, disconnect_begin_ = 0;
  std::int64_t place_limit_ = 0;  // LIM
};

}  // namespace berth::reconcile
