// `berth replay`: decides the evaluations of a recording again, each on the tables as they were, and compares the
// result with what Nomad did.
//
// An evaluation is comparable if its SnapshotIndex is an index that the tables went through, and if Nomad decided it in
// one attempt: the tables then are the state that Nomad's worker saw, and the visiting order, which ID and index seed
// (R-RANK-302), is the same. Everything else is counted by its reason.
//
// The recording is read twice: outline.h gathers what came of each evaluation, then the tables go through the indexes.
// Memory: the tables, the longest line, and a few hundred bytes for each evaluation and placement.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/recording.h"

namespace berth::record {

/// What an evaluation came to. Allocations by name and node where they are new, by ID where they exist.
struct Outcome {
  std::vector<std::pair<std::string, std::string>> placed;  ///< name, node ID; ascending
  std::vector<std::string> stopped, evicted, updated;       ///< IDs of allocations; ascending
  std::map<std::string, std::uint64_t> failed;              ///< allocations without a node, by group
  bool blocked = false;                                     ///< it left a blocked evaluation
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Settings that differ from the recorded cluster's; empty: none.
struct OtherSettings {
  std::string algorithm;                ///< binpack or spread
  std::vector<std::string> preemption;  ///< KIND=on or KIND=off
  std::string strategy;                 ///< NAME or NAME:KEY=VALUE
  [[nodiscard]] bool empty() const { return algorithm.empty() && preemption.empty() && strategy.empty(); }
};

struct Totals {
  std::uint64_t placed = 0, stopped = 0, evicted = 0, updated = 0, failed = 0, blocked = 0;
  std::uint64_t opened = 0;  ///< placements on a node that held no live allocation
  void add(const Outcome& outcome);
};

/// A node in the explanation of a difference.
struct ScoredNode {
  std::string name, reason;            ///< reason: why berth cannot place there; "" if it can
  std::optional<double> nomad, berth;  ///< final scores; nullopt: not among those recorded
};
struct Explanation {
  std::string alloc;
  std::vector<ScoredNode> nodes;
};

struct DifferentEval {
  std::string id, job, trigger;          ///< job with "@namespace" unless it is `default`
  std::uint64_t index = 0;               ///< that it was decided at
  std::vector<std::string> differences;  ///< one line each
};

struct Report {
  std::string address;
  std::uint64_t first_index = 0, last_index = 0, frames = 0, states = 0, gaps = 0, skipped = 0, left_out = 0;
  std::int64_t first_ns = 0, last_ns = 0;
  std::uint64_t finished = 0, compared = 0, equal = 0;
  std::map<std::string, std::uint64_t> not_comparable;  ///< by reason
  Totals nomad, berth;                                  ///< of the compared evaluations
  std::uint64_t elsewhere = 0;                          ///< of the placements that both made: on another node
  std::vector<DifferentEval> different;
  std::optional<Explanation> first;  ///< of the first difference in a placement
  std::vector<std::string> notes;
};

/// Error: the recording is damaged, lacks topics that decisions need, or `settings` name something unknown.
[[nodiscard]] Result<Report> replay(Recording& recording, const OtherSettings& settings);

}  // namespace berth::record
