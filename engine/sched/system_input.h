// Input of the node reconciler, gathered from the tables: nodes to visit and the job's allocations on them (R-SCHED-31,
// 33 to 35, 123, 128).
//
// One pass over the job's allocations, a counting sort by node in ID order, one pass over the nodes. Without
// allocations, one pass over the ready nodes. All arrays are reused between evaluations.
// Threads: one worker.
#pragma once

#include <memory>
#include <vector>

#include "reconcile/node.h"
#include "sched/scratch.h"

namespace berth::sched {

class SystemInput {
 public:
  /// Gathers for the job `key` with current version `job` (null: purged). `ready`: its candidates, null if it is
  /// stopped. The result is valid until the next call. NodeVisit::handle is a node row (kNoRow: not in the state),
  /// NodeAlloc::handle an allocation row. The caller fills in the deployments.
  reconcile::NodeInput& gather(const tables::Snapshot& snapshot, tables::JobKeyRow key, const tables::CompiledJob* job,
                               const ReadyNodes* ready, std::int64_t now);

  /// Allocations that should stop on nodes that are down or gone, and whose clients never reported it (R-SCHED-35), by
  /// node.
  [[nodiscard]] std::span<const tables::AllocRow> finish_lost() const { return finish_lost_; }

  /// True if a candidate runs a version without support for deployments of system jobs (R-SCHED-145).
  [[nodiscard]] bool has_old_server(const tables::Snapshot& snapshot, const ReadyNodes& ready);

 private:
  struct Entry {
    std::uint32_t place;  // of its node in ID order; the number of nodes if it is not in the state
    tables::AllocRow row;
  };
  /// Comparison of an allocation's job version with the current one; few per job.
  struct Version {
    tables::VersionRow job;
    std::uint8_t flags;
    bool same_name;  // allocation names of both begin with the same text
  };
  void rank_nodes(const tables::Snapshot& snapshot);
  void sort_by_node(tables::JobKeyRow key);
  [[nodiscard]] std::span<tables::AllocRow> rows_at(std::uint32_t place);
  [[nodiscard]] base::Uuid former_node(tables::AllocRow row) const;
  void visit_gone(std::span<const tables::AllocRow>& gone, const base::Uuid* before);
  void visit_nodes(const ReadyNodes* ready);
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
  std::vector<std::string> required_texts_;    // parallel to required_; filled when a name is first compared
  std::vector<std::uint32_t> first_required_;  // by group of the job: position of its name with index 0
  std::vector<reconcile::NodeVisit> visits_;
  std::vector<reconcile::NodeAlloc> allocs_;
  std::vector<tables::AllocRow> finish_lost_;
  std::vector<Version> versions_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> ends_;                             // by place: end of its rows in rows_
  std::vector<tables::AllocRow> rows_;                          // by place, then ID
  std::shared_ptr<const std::vector<tables::NodeRow>> ranked_;  // the ID order from which place_ was built
  std::vector<std::uint32_t> place_;                            // by node row
  struct {
    std::uint64_t epoch = ~0ULL;      // static epoch of the codes
    std::vector<std::uint8_t> codes;  // by code of the attribute nomad.version
    tables::ColumnId column = tables::kNoColumn;
    bool any = false;
  } old_servers_;
};

}  // namespace berth::sched
