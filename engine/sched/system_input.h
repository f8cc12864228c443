// What the node reconciler reads, gathered from the tables: the nodes to visit and what the job has on them
// (R-SCHED-31, 33 to 35, 123, 128).
//
// One pass over the job's allocations, a counting sort by the nodes' place in ID order, one pass over the nodes. With
// nothing there yet it is one pass over the ready nodes. All arrays are reused from evaluation to evaluation.
// Threads: one worker.
#pragma once

#include <memory>
#include <vector>

#include "reconcile/node.h"
#include "sched/scratch.h"

namespace berth::sched {

class SystemInput {
 public:
  /// Gathers for the job `key`, whose current version is `job` (null = purged). `ready` are its candidates, null when
  /// it is stopped. The result is valid until the next call; NodeVisit::handle is a node row (kNoRow: not in state),
  /// NodeAlloc::handle an allocation row. The deployments are the caller's to fill in.
  reconcile::NodeInput& gather(const tables::Snapshot& snapshot, tables::JobKeyRow key, const tables::CompiledJob* job,
                               const ReadyNodes* ready, std::int64_t now);

  /// Allocations that were told to stop on nodes that are down or gone and whose clients never said so (R-SCHED-35),
  /// node by node.
  [[nodiscard]] std::span<const tables::AllocRow> finish_lost() const { return finish_lost_; }

  /// Whether some candidate runs a version that knows no deployments of system jobs (R-SCHED-145).
  [[nodiscard]] bool has_old_server(const tables::Snapshot& snapshot, const ReadyNodes& ready);

 private:
  struct Entry {
    std::uint32_t place;  // of its node in ID order; the number of nodes for one that is not in state
    tables::AllocRow row;
  };
  /// What an allocation's job version tells about the current one; few per job.
  struct Version {
    tables::VersionRow job;
    std::uint8_t flags;
    bool same_name;  // allocations of both begin with the same text
  };
  void rank_nodes(const tables::Snapshot& snapshot);
  void add_visit(tables::NodeRow row, bool candidate, reconcile::NodeTaint taint,
                 std::span<const tables::AllocRow> rows);
  [[nodiscard]] reconcile::NodeAlloc read(tables::AllocRow row, bool live);
  [[nodiscard]] const Version& version(tables::VersionRow job);
  [[nodiscard]] std::uint32_t required_of(tables::AllocRow row, const Version& version);

  const tables::Snapshot* snapshot_ = nullptr;
  const tables::CompiledJob* job_ = nullptr;
  std::int64_t now_ = 0;
  reconcile::NodeInput input_;
  std::vector<reconcile::RequiredName> required_;
  std::vector<std::string> required_texts_;    // beside required_, only when some name had to be compared
  std::vector<std::uint32_t> first_required_;  // by group of the job: position of its name with index 0
  std::vector<reconcile::NodeVisit> visits_;
  std::vector<reconcile::NodeAlloc> allocs_;
  std::vector<tables::AllocRow> finish_lost_;
  std::vector<Version> versions_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> starts_;                           // by place: first of its rows in rows_
  std::vector<tables::AllocRow> rows_;                          // by place, then ID
  std::shared_ptr<const std::vector<tables::NodeRow>> ranked_;  // the ID order that place_ was made of
  std::vector<std::uint32_t> place_;                            // by node row
  std::uint64_t old_epoch_ = ~0ULL;                             // static epoch of old_codes_
  std::vector<std::uint8_t> old_codes_;                         // by code of the attribute nomad.version
  tables::ColumnId version_column_ = tables::kNoColumn;
  bool some_old_ = false;
};

}  // namespace berth::sched
