// A View as columns: one array per field, for programs that compute over whole tables (statistics, plots, data frames).
//
// Made in one pass over the state and owned by the caller; independent of the cluster. Rows of `AllocColumns` refer to
// nodes and jobs by position, so that joins are lookups.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace berth {

using IdBytes = std::array<std::uint8_t, 16>;  ///< a UUID, most significant byte first

/// Dictionary of repeated texts; columns contain positions in `words`.
struct Words {
  std::vector<std::string> words;
};

/// Every node, ascending by ID. All columns have the same length.
struct NodeColumns : Words {
  static constexpr std::uint8_t kInitializing = 0, kReady = 1, kDown = 2, kDisconnected = 3;

  std::vector<IdBytes> id;
  std::vector<std::string> name;
  std::vector<std::uint32_t> datacenter, pool, node_class;     ///< positions in `words`
  std::vector<std::uint8_t> status;                            ///< kInitializing to kDisconnected
  std::vector<std::uint8_t> eligible, draining;                ///< 0 or 1
  std::vector<std::uint32_t> allocs;                           ///< number that have not ended
  std::vector<std::int64_t> cpu_usable_mhz, cpu_used_mhz;      ///< usable: without the node's reserved resources
  std::vector<std::int64_t> memory_usable_mb, memory_used_mb;  ///< MiB
  std::vector<std::int64_t> disk_usable_mb, disk_used_mb;      ///< MiB
};

/// Every allocation, oldest first, ended ones included. All columns have the same length.
struct AllocColumns : Words {
  static constexpr std::uint8_t kRun = 0, kStop = 1, kEvict = 2;  ///< desired
  static constexpr std::uint8_t kPending = 0, kRunning = 1, kComplete = 2, kFailed = 3, kLost = 4, kUnknown = 5;

  std::vector<IdBytes> id;
  std::vector<std::int32_t> node;     ///< position in NodeColumns of the same View; -1: unknown or gone
  std::vector<std::int32_t> job;      ///< position in `jobs`; -1: unknown
  std::vector<std::uint32_t> group;   ///< position in `words`
  std::vector<std::int64_t> index;    ///< i of `job.group[i]`; -1 if the name has another form
  std::vector<std::uint8_t> desired;  ///< kRun, kStop, kEvict
  std::vector<std::uint8_t> client;   ///< kPending to kUnknown
  std::vector<std::int64_t> cpu_mhz, memory_mb, disk_mb;  ///< allocated amounts
  std::vector<double> score;                              ///< final score of its node at placement; 0 = unknown
  std::vector<std::uint64_t> create_index, modify_index;
  std::vector<std::pair<std::string, std::string>> jobs;  ///< namespace and ID
};

}  // namespace berth
