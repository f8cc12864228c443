// Follows the allocations of a living cluster through one step of a question: how far each group fell below what ran
// before, and which allocations came and went.
//
//   Seen    24 bytes per allocation row    what was last seen of it
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
using tables::Symbol;

struct GroupKey {
  JobKeyRow job = 0;
  Symbol name = tables::kEmptySymbol;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

/// Allocations of a group, and how they fared since begin_step().
struct Group {
  std::int64_t wanted = 0;     ///< count of the current version; 0: stopped, purged, or of a system job
  std::int64_t live = 0;       ///< wanted and not ended
  std::int64_t running = 0;    ///< as far as their machines are there
  std::int64_t ran = 0;        ///< when the step began
  std::int64_t away = 0;       ///< how many of min(ran, wanted) do not run now
  std::int64_t away_most = 0;  ///< at once
  std::int64_t since_ns = 0;   ///< of `away`
  std::int64_t below_ns = 0;   ///< time with some away
  double missing_s = 0;        ///< allocation-seconds
};

class Watch final : public living::Listener {
 public:
  void bind(living::Cluster& cluster) { cluster_ = &cluster; }
  /// After the cluster was loaded.
  void take_state();

  void begin_step();
  /// The machine of this node is gone: what runs there counts no more, whatever the servers know.
  void machine_gone(tables::NodeRow node);
  /// Time is up: integrals reach to now.
  void end_step();

  /// When the last entry of the log was written; the begin of the step where none was.
  [[nodiscard]] std::int64_t last_written_ns() const { return last_written_ns_; }
  /// Allocations that wait for their client: to start, or to end.
  [[nodiscard]] std::int64_t waiting_for_clients() const { return waiting_for_clients_; }

  [[nodiscard]] const std::map<GroupKey, Group>& groups() const { return groups_; }
  /// How many allocations the group lacks of those that are wanted; none: of a system job, or never placed anything.
  [[nodiscard]] std::optional<std::int64_t> missing(JobKeyRow job, std::string_view group) const;
  /// Placed since begin_step(), in order; some may have ended again.
  [[nodiscard]] const std::vector<AllocRow>& placed() const { return placed_; }
  /// Ended, or told to end, since begin_step(), and placed before it.
  [[nodiscard]] const std::vector<AllocRow>& ended() const { return ended_; }
  [[nodiscard]] bool is_new(AllocRow row) const { return row < seen_.size() && seen_[row].placed_at == step_; }

  // --- living::Listener ---
  void entry_written(const living::WrittenEntry& entry) override { last_written_ns_ = entry.at; }
  void alloc_changed(const living::AllocChange& change) override;
  void job_changed(JobKeyRow job) override;

 private:
  struct Seen {
    GroupKey group;
    std::uint32_t placed_at = 0, ended_at = 0;  ///< steps, counted from 1
    bool there = false, live = false, running = false, waits = false;
  };
  [[nodiscard]] const tables::Snapshot& state() const { return cluster_->state(); }
  Seen& seen(AllocRow row);
  void look(AllocRow row, bool removed);
  void settle(Group& group);
  [[nodiscard]] std::int64_t wanted(const GroupKey& key) const;

  living::Cluster* cluster_ = nullptr;
  base::Chunked<Seen> seen_;
  std::map<GroupKey, Group> groups_;
  std::vector<bool> gone_;  // by NodeRow
  std::vector<AllocRow> placed_, ended_;
  std::uint32_t step_ = 0;
  std::int64_t last_written_ns_ = 0, waiting_for_clients_ = 0;
};

}  // namespace berth::whatif
