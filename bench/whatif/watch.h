// Observes the allocations of a simulated cluster during a step: how far each group fell below its initial running
// count, and which allocations started and ended.
//
//   Seen    24 bytes per allocation row    its last seen state
//   Group   88 bytes per group of a job    wanted, running, integrals
// Threads: one.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "base/chunked.h"
#include "living/living.h"

namespace berth::whatif {

using tables::AllocRow;
using tables::JobKeyRow;
using tables::NodeRow;
using tables::Symbol;

struct GroupKey {
  JobKeyRow job = 0;
  Symbol name = tables::kEmptySymbol;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

/// Allocations of a group, and changes since begin_step().
struct Group {
  std::int64_t wanted = 0;     ///< count of the current version; 0: stopped, purged, or of a system job
  std::int64_t live = 0;       ///< wanted and not ended
  std::int64_t running = 0;    ///< without those on lost machines
  std::int64_t ran = 0;        ///< running at the start of the step
  std::int64_t away = 0;       ///< number of min(ran, wanted) that do not run now
  std::int64_t away_most = 0;  ///< maximum of `away`
  std::int64_t since_ns = 0;   ///< time of the last change of `away`
  std::int64_t below_ns = 0;   ///< time with some away
  double missing_s = 0;        ///< allocation-seconds
};

/// An allocation placed in this step.
struct Placed {
  AllocRow row = tables::kNoRow;       ///< kNoRow: the leader's garbage collection removed it again
  AllocRow replaced = tables::kNoRow;  ///< the allocation from before the step that it replaces, also through others
  NodeRow from = tables::kNoRow;       ///< node of `replaced`
};

/// An allocation from before the step that ended in it. A copy: in long steps garbage collection removes the row.
struct Ended {
  AllocRow row = tables::kNoRow;
  GroupKey group;
  std::uint32_t number = tables::kOddName;  ///< in its name
  NodeRow node = tables::kNoRow;
  bool evicted = false;
  JobKeyRow evictor = tables::kNoRow;  ///< kNoRow: none, or unknown
};

class Watch final : public living::Listener {
 public:
  void bind(living::Cluster& cluster) { cluster_ = &cluster; }
  /// To be called after the cluster was loaded.
  void take_state();

  void begin_step();
  /// The node's machine is lost: its allocations no longer count as running, even before the servers notice.
  void machine_gone(NodeRow node);
  /// Ends the step: updates the integrals to now.
  void end_step();

  /// Time of the last log entry; if there was none, the start of the step.
  [[nodiscard]] std::int64_t last_written_ns() const { return last_written_ns_; }
  /// Number of allocations waiting for their client to start or end them.
  [[nodiscard]] std::int64_t waiting_for_clients() const { return waiting_for_clients_; }

  [[nodiscard]] const std::map<GroupKey, Group>& groups() const { return groups_; }
  /// Number of wanted allocations that are missing; nullopt: of a system job, or the group never placed any.
  [[nodiscard]] std::optional<std::int64_t> missing(JobKeyRow job, std::string_view group) const;
  /// Placed since begin_step(), in order; some may have ended again.
  [[nodiscard]] const std::vector<Placed>& placed() const { return placed_; }
  /// Ended or stopped since begin_step(), and placed before it.
  [[nodiscard]] const std::vector<Ended>& ended() const { return ended_; }

  // --- living::Listener ---
  void entry_written(const living::WrittenEntry& entry) override { last_written_ns_ = entry.at; }
  void alloc_changed(const living::AllocChange& change) override;
  void job_changed(JobKeyRow job) override;

 private:
  struct Seen {
    GroupKey group;
    std::uint32_t placed_at = 0, ended_at = 0;  ///< steps, counted from 1
    std::uint32_t placed_index = 0;             ///< in placed_, if placed in this step
    bool there = false, live = false, running = false, waits = false;
  };
  [[nodiscard]] const tables::Snapshot& state() const { return cluster_->state(); }
  Seen& seen(AllocRow row);
  void look(AllocRow row, bool removed);
  [[nodiscard]] bool is_new(AllocRow row) const { return row < seen_.size() && seen_[row].placed_at == step_; }
  [[nodiscard]] Placed placed_of(AllocRow row) const;
  [[nodiscard]] Ended ended_of(AllocRow row) const;
  void settle(Group& group);
  [[nodiscard]] std::int64_t wanted(const GroupKey& key) const;

  living::Cluster* cluster_ = nullptr;
  base::Chunked<Seen> seen_;
  std::map<GroupKey, Group> groups_;
  std::vector<bool> gone_;  // by NodeRow
  std::vector<Placed> placed_;
  std::vector<Ended> ended_;
  std::uint32_t step_ = 0;
  std::int64_t last_written_ns_ = 0, waiting_for_clients_ = 0;
};

}  // namespace berth::whatif
