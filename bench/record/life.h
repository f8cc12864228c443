// `berth replay --live`: a recorded cluster that lives on with berth's own decisions.
//
// A simulated cluster (living/living.h) starts with the first state. What the recording shows to have come from outside
// happens to it at the recorded time: jobs registered, stopped and purged, nodes that join, leave, change, drain, fall
// silent and return, allocations stopped and canaries promoted by an operator, scheduler configurations. What followed
// from decisions, evaluations, placements, deployments, ends of drains, is berth's own.
//
//   batch tasks    run as long as the recorded allocation of the same name; without one, as long as the median of the
//                  job, else of all jobs; without any, they do not end
//   other tasks    run until they are stopped: failures of tasks are not repeated
//   periodic jobs  are launched by the simulated leader, not by the recording
//   after a gap    what the next state shows differently happens at once
//
// The recording is read twice: first for run times and its length, then to play it. Memory: both clusters' tables, and
// about 100 bytes per finished batch allocation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/replay.h"

namespace berth::record {

/// How full a cluster is. Shares are of all nodes that are up.
struct Fill {
  std::uint64_t nodes = 0, used_nodes = 0, allocs = 0, blocked = 0;  ///< blocked: evaluations
  double cpu = 0, memory = 0;                                        ///< used shares, 0 to 1
};

/// Both clusters at one moment, and the places of their live allocations, matched by job and name.
struct Moment {
  double after_s = 0;         ///< since the first state
  std::optional<Fill> nomad;  ///< nullopt: in a gap
  Fill berth;
  std::uint64_t same = 0, elsewhere = 0, only_nomad = 0, only_berth = 0;
};

struct Decided {
  std::uint64_t placed = 0, evicted = 0;
};

struct LifeReport {
  std::string address;
  std::uint64_t first_index = 0, last_index = 0, frames = 0, gaps = 0, skipped = 0, left_out = 0;
  std::int64_t first_ns = 0, last_ns = 0;         ///< on the agent's clock
  std::map<std::string, std::uint64_t> happened;  ///< events from outside, by kind
  std::uint64_t refused = 0;                      ///< of these, events without effect in berth's cluster
  std::vector<std::string> refusals;              ///< the first kRefusalsShown
  Decided nomad, berth;
  std::vector<Moment> moments;  ///< ascending; the last one is the end
  std::vector<std::string> notes;
};
inline constexpr std::size_t kMoments = 12, kRefusalsShown = 5;

/// Error: the recording is damaged, lacks topics, has no state or lasts over kDaysMost, or `settings` are wrong.
[[nodiscard]] Result<LifeReport> live_on(Recording& recording, const OtherSettings& settings);
inline constexpr std::int64_t kDaysMost = 400;  ///< bounds the simulated heartbeats

}  // namespace berth::record
