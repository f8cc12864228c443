// `berth replay`: decides the evaluations of a recording again, each on the state that Nomad decided it on, and
// compares the results.
//
// An evaluation can be compared if its SnapshotIndex is an index of the recording, and if Nomad decided it in one
// attempt. The tables are then the state of Nomad's worker, and the visiting order, seeded by ID and index
// (R-RANK-302), is the same. All others are counted by reason.
//
// The recording is read twice: first outline.h collects the results of the evaluations, then the tables are replayed
// from index to index. Memory: the tables, the longest line, and a few hundred bytes per evaluation and placement.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/recording.h"

namespace berth::record {

/// The result of an evaluation. New allocations by name and node, existing ones by ID.
struct Outcome {
  std::vector<std::pair<std::string, std::string>> placed;  ///< name, node ID; ascending
  std::vector<std::string> stopped, evicted, updated;       ///< IDs of allocations; ascending
  std::map<std::string, std::uint64_t> failed;              ///< allocations without a node, by group
  bool blocked = false;                                     ///< a blocked evaluation was created
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
  std::uint64_t opened = 0;  ///< placements on a node without live allocations
  void add(const Outcome& outcome);
};

/// A node in the explanation of a difference.
struct ScoredNode {
  std::string name, reason;            ///< reason: why berth cannot place there; "" if it can
  std::optional<double> nomad, berth;  ///< final scores; nullopt: not recorded
};
struct Explanation {
  std::string alloc;
  std::vector<ScoredNode> nodes;
};

struct DifferentEval {
  std::string id, job, trigger;          ///< job with "@namespace" unless it is `default`
  std::uint64_t index = 0;               ///< index of the decision
  std::vector<std::string> differences;  ///< one line each
};

struct Report {
  std::string address;
  std::uint64_t first_index = 0, last_index = 0, frames = 0, states = 0, gaps = 0, skipped = 0, left_out = 0;
  std::int64_t first_ns = 0, last_ns = 0;
  std::uint64_t finished = 0, compared = 0, equal = 0;
  std::map<std::string, std::uint64_t> not_comparable;  ///< by reason
  Totals nomad, berth;                                  ///< of the compared evaluations
  std::uint64_t elsewhere = 0;                          ///< placements made by both, on different nodes
  std::vector<DifferentEval> different;
  std::optional<Explanation> first;  ///< for the first difference in a placement
  std::vector<std::string> notes;
};

/// Error: the recording lacks topics that decisions need, or `settings` contain an unknown name.
[[nodiscard]] Result<void> check_replay(const Recording& recording, const OtherSettings& settings);

/// Decides the evaluations of any source. Error: it cannot be read. `settings` must have been checked.
[[nodiscard]] Result<void> decide_again(Source& source, const OtherSettings& settings, Report& report);

/// Error: the recording is damaged or lacks topics that decisions need, or `settings` contain an unknown name.
[[nodiscard]] Result<Report> replay(Recording& recording, const OtherSettings& settings);

}  // namespace berth::record
