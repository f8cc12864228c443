// Gangs: jobs of which all allocations start together, or none. Three keys of a job's meta say so; they are Berth's
// own, so that job files stay Nomad's:
//
//   berth_gang           "all": an evaluation plans the missing allocations of all groups, or nothing
//   berth_gang_timeout   "10m": a gang that has not started so long after its registration is given up
//   berth_gang_topology  "same:meta.rack": all allocations run on nodes of one value of this target
//                        "at-most:3:meta.rack": of at most three values, and of as few as fit
//                        followed by ":pack", the default, or ":spread": values whose nodes are used most, or least,
//                        are tried first
//
// Where the rules hold:
//
//   scheduler   sched/gang.cc. A plan without a node for each missing allocation places none; the evaluation then
//               blocks as usual. A topology adds a check to the attempt, that a node's value is one of a set, as the
//               constraint `meta.rack = r1` in the job would; sets are tried one after the other, each in an attempt of
//               its own, until all allocations find a node
//   applier     the plan is all-at-once (R-CTRL-618): a node that refuses its part refuses all of it
//   time limit  the first evaluation that blocks creates one for the moment of the limit. From then on, evaluations of
//               a gang without any allocation fail, with the reason. Once all its allocations are garbage-collected, a
//               gang that ran counts as one that never started
//
// A job without these keys is not affected.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "berth/result.h"

namespace berth::model {

inline constexpr const char* kGangKey = "berth_gang";
inline constexpr const char* kGangTimeoutKey = "berth_gang_timeout";
inline constexpr const char* kGangTopologyKey = "berth_gang_topology";

struct Gang {
  std::int64_t timeout_ns = 0;  ///< from the registration; 0: none
  std::string target;           ///< of the topology, such as ${meta.rack}; empty: none
  std::uint32_t values = 1;     ///< most values of the target
  bool spread = false;          ///< try the least used values first, not the most used ones
  friend bool operator==(const Gang&, const Gang&) = default;
};

/// What is wrong with a job's keys: the key with its text, and the remedy.
struct GangFault {
  std::string problem, remedy;
};

/// The rules in a job's meta; none if the job is no gang. `type`: of the job.
[[nodiscard]] Result<std::optional<Gang>, GangFault> parse_gang(const std::map<std::string, std::string>& meta,
                                                                const std::string& type);

}  // namespace berth::model
