// Counts the cache lines in which two states differ: what a commit wrote that other threads may have to fetch again.
#pragma once

#include <cstdint>

#include "tables/state.h"

namespace berth::tables {

struct WrittenLines {
  std::uint64_t lines = 0;  ///< of 64 B with such bytes
  std::uint64_t bytes = 0;  ///< that differ, and all of appended rows
  void operator+=(const WrittenLines& other) { lines += other.lines, bytes += other.bytes; }
};

struct WrittenTables {
  WrittenLines nodes, allocs, jobs, evals, deployments;
  void operator+=(const WrittenTables& other);
  [[nodiscard]] WrittenLines all() const;
};

/// `before`: a snapshot of the same store, older than `now`. Counts columns and the logs of changed nodes. Not counted:
/// sparse columns, indexes by ID, columns of the writer alone, and heap memory that elements point to. Compares all
/// chunks that the states do not share.
[[nodiscard]] WrittenTables written_lines(const Snapshot& before, const Snapshot& now);

}  // namespace berth::tables
