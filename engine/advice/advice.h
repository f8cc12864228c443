// What Nomad's plan does not say of a group that cannot be placed: what is missing on the nearest nodes, what filtered
// most, and which smallest changes would make it fit. Each change is an edit of the job file and is tried by a dry run
// of the file so edited, from its registration to the plan applier's check, so it is true for this state, not a guess.
//
//   advice.cc     what is missing, what filtered, explain()
//   obstacles.h   all that keeps the group off a node
//   needs.cc      which nodes have what no candidate has
//   changes.cc    the changes, alone and in sets
//   edits.h       how a job file is edited
//   trial.h       how edits are tried
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "advice/question.h"
#include "server/dry_run.h"

namespace berth::advice {

/// Failed groups that get advice unless the user says how many: so many, and after the first one only while the trials
/// of all groups have read fewer than kWorkMost parts of job files (Loaded::work()), since a trial may plan the whole
/// job.
inline constexpr std::size_t kAdvised = 16;
inline constexpr std::size_t kWorkMost = 1'000'000;

/// What a node lacks for one more allocation of the group, after what the plan itself does there. MHz and MiB.
struct Shortage {
  std::string node_name;
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0, cores = 0;  ///< 0: enough
  /// Why the scheduler refuses the node when it visits it alone: a constraint or a dimension, then those that it would
  /// meet next. Empty: it would not.
  std::vector<std::string> reasons;
  std::vector<std::string> details;  ///< by reason, what it leaves open: the driver, who holds the port; may be empty

  [[nodiscard]] std::string reason() const { return reasons.empty() ? "" : reasons.front(); }
};

/// One edit of the job file with which the group fits.
struct Change {
  std::string text;   ///< "cpu of task "x": 12000 instead of 16000 MHz", ...
  json::Value patch;  ///< of the file as it was given, as JSON Patch (RFC 6902); null: not an edit of the job
  std::string node;   ///< ID of the node that has to become ready; then `text` begins with its name. "": none
};

/// Something that a node must have, and that no node has which the group could use.
struct Need {
  std::string text;                ///< `driver podman`, `network mode "bridge"`, a constraint
  std::vector<std::string> nodes;  ///< names of the first nodes that have it, each with why it is no candidate
  std::int64_t node_count = 0;     ///< all that have it
  std::string values;              ///< of a constraint "=": what nodes have instead; may be empty
};

struct GroupAdvice {
  std::string group;
  std::int64_t failed = 0;          ///< allocations that found no node
  std::int64_t refused = 0;         ///< allocations on nodes whose part of the plan the applier would refuse
  std::string filtered_most;        ///< a constraint as metrics name it; "" when nothing was filtered
  std::int64_t filtered_nodes = 0;  ///< by it
  std::vector<Shortage> nearest;    ///< at most 3, least missing first; only nodes that lack something
  std::vector<Need> needs;          ///< what no candidate has
  std::string note;                 ///< what a reader may expect in vain, and what was not tried; may be empty
  std::vector<Change> changes;      ///< numbers are the nearest to the present ones that do
};

/// One entry per failed group of `answer`, and per group that has placements on nodes which would refuse them (`failed`
/// is then 0, `refused` counts these); the first `most` of them, in order of their names (default: see kAdvised).
/// `dry_run` gave the answer to `question` of the accepted `registration`. `rehearsal`, if it was made: a refused group
/// that is placed in the end needs no advice.
[[nodiscard]] std::vector<GroupAdvice> advise(const Question& question, const model::Registration& registration,
                                              const server::DryRun& dry_run, const server::DryRunAnswer& answer,
                                              std::optional<std::size_t> most = {},
                                              const server::Rehearsal* rehearsal = nullptr);

class Loaded;     // trial.h
struct Findings;  // obstacles.h

/// Changes with which all allocations of `group` that the plan wants are placed and committed. `idle`: other groups
/// that place nothing, see Trial. `findings`: which constraints and which sets of changes are tried. Of constraints,
/// and of ports, devices and volumes, 64 each are tried; `untried`, if given, then says how many are not. changes.cc.
[[nodiscard]] std::vector<Change> changes_that_fit(Loaded& loaded, const model::Registration& registration,
                                                   const std::string& group, std::int64_t failed,
                                                   const std::vector<std::string>& idle, const Findings& findings,
                                                   std::string* untried = nullptr);

/// What no candidate among the nodes of the state has, of what the obstacles name. needs.cc.
[[nodiscard]] std::vector<Need> needs_of(const model::ClusterState& state, const model::Job& job,
                                         const Findings& findings);

/// One warning per node on which the plan places something although the true sum of an amount exceeds 64 bits: Nomad's
/// sums wrap, and then anything fits (R-MODEL-3).
[[nodiscard]] std::vector<std::string> wrapped_sums(const model::ClusterState& state, const model::Plan& plan);

/// `document` after a JSON Patch of operations `add` and `remove`; null when a place is not there.
[[nodiscard]] json::Value patched(const json::Value& document, const json::Value& patch);

/// Scores, components and reasons of one node, group by group, as lines. `node`: its ID, the beginning of it, or its
/// name; an error text when there is no such node or several.
[[nodiscard]] tl::expected<std::string, std::string> explain(const model::ClusterState& state,
                                                             const model::Registration& registration,
                                                             const std::string& node, std::int64_t now_ns,
                                                             std::uint64_t order);

/// The same of every node; nodes of which the same is said are named together. Costs a decision for each node, so a
/// cluster of more than kExplainedMost nodes is an error text.
inline constexpr std::size_t kExplainedMost = 1000;
[[nodiscard]] tl::expected<std::string, std::string> explain_all(const model::ClusterState& state,
                                                                 const model::Registration& registration,
                                                                 std::int64_t now_ns, std::uint64_t order);

}  // namespace berth::advice
