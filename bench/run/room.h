// Room: for how many allocations of each of a job's groups the nodes have cpu, memory and disk, in a trial
// (forecast.h). A bound: with constraints, ports, devices and cores there may be room for fewer, never for more.
//
//   free_     24 bytes per node: what is free there, 0 if the node is not ready
//   on_node   8 bytes per node and group: allocations for which that suffices, at most the group's count
// Threads: the run's.
#pragma once

#include <span>
#include <vector>

#include "tables/state.h"

namespace berth::run {

class Room {
 public:
  /// What an allocation holds of a node.
  struct Use {
    tables::NodeRow node;
    std::int64_t cpu_mhz, memory_mb, disk_mb;
  };

  /// Counts the room for the job. The compiled job must live as long as this.
  void watch(const tables::NodeTable& nodes, const tables::CompiledJob& job);
  void forget() { groups_.clear(), free_.clear(); }
  /// The use of the node has changed.
  void update(const tables::NodeTable& nodes, tables::NodeRow node);
  /// `sign` 1: these allocations take room; -1: they give it back.
  void take(std::span<const Use> uses, std::int64_t sign = 1);
  /// False: there is not enough room for the job.
  [[nodiscard]] bool suffices() const;

 private:
  struct Free {
    std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  };
  struct Group {
    const tables::CompiledGroup* spec;
    std::vector<std::int64_t> on_node;
    std::int64_t sum = 0;
  };
  void count(Group& group, tables::NodeRow node);

  std::vector<Free> free_;  // empty: no job is watched
  std::vector<Group> groups_;
};

}  // namespace berth::run
