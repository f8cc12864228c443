// Advice on a group that cannot be placed, beyond Nomad's plan: what is missing on the nearest nodes, what filtered
// most, and the smallest changes that would make it fit. Each change is an edit of the job file. It is tried by a dry
// run of the edited file, from registration to the plan applier's check, so it is exact for this state, not a guess.
//
//   advice.cc     missing amounts, filters, explain()
//   obstacles.h   all obstacles for a group on a node
//   needs.cc      nodes with a feature that no candidate has
//   changes.cc    changes, alone and in sets
//   edits.h       edits of a job file
//   trial.h       trials of edits
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "advice/question.h"
#include "server/dry_run.h"

namespace berth::advice {

/// Default number of failed groups that get advice. After the first group, advice also stops once the trials of all
/// groups have read kWorkMost parts of job files (Loaded::work()), since a trial may plan the whole job.
inline constexpr std::size_t kAdvised = 16;
inline constexpr std::size_t kWorkMost = 1'000'000;

/// Amounts that a node lacks for one more allocation of the group, after the plan. MHz and MiB.
struct Shortage {
  std::string node_name;
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0, cores = 0;  ///< 0: enough
  /// Why the scheduler refuses the node if it is the only one: the first constraint or dimension, then the following
  /// ones. Empty: it is not refused.
  std::vector<std::string> reasons;
  std::vector<std::string> details;  ///< per reason, e.g. the missing driver or the holder of the port; may be empty

  [[nodiscard]] std::string reason() const { return reasons.empty() ? "" : reasons.front(); }
};

/// One edit of the job file with which the group fits.
struct Change {
  std::string text;   ///< "cpu of task "x": 12000 instead of 16000 MHz", ...
  json::Value patch;  ///< of the given file, as JSON Patch (RFC 6902); null: not an edit of the job
  std::string node;   ///< ID of a node that must become ready; `text` then begins with its name. "": none
};

/// Something that the group needs and no candidate node has.
struct Need {
  std::string text;                ///< `driver podman`, `network mode "bridge"`, a constraint
  std::vector<std::string> nodes;  ///< names of the first nodes that have it, with why they are not candidates
  std::int64_t node_count = 0;     ///< number of nodes that have it
  std::string values;              ///< for a constraint "=": the values that nodes have; may be empty
};

struct GroupAdvice {
  std::string group;
  std::int64_t failed = 0;          ///< allocations that found no node
  std::int64_t refused = 0;         ///< allocations on nodes whose part of the plan the applier would refuse
  std::string filtered_most;        ///< the constraint as in metrics; "" if none filtered
  std::int64_t filtered_nodes = 0;  ///< nodes that it filtered
  std::vector<Shortage> nearest;    ///< at most 3, least missing first; only nodes that lack something
  std::vector<Need> needs;          ///< features that no candidate has
  std::string note;                 ///< what would not help, and what was not tried; may be empty
  std::vector<Change> changes;      ///< with the numbers nearest to the present ones that suffice
};

/// Advice for each failed group of `answer`, then for each other group whose placements nodes would refuse (`failed` =
/// 0, `refused` counts them). At most `most` entries (default: see kAdvised), each part in order of names. `dry_run`
/// produced `answer` for `question` and the accepted `registration`. `rehearsal`, if given: a refused group that is
/// placed in the end gets no advice.
[[nodiscard]] std::vector<GroupAdvice> advise(const Question& question, const model::Registration& registration,
                                              const server::DryRun& dry_run, const server::DryRunAnswer& answer,
                                              std::optional<std::size_t> most = {},
                                              const server::Rehearsal* rehearsal = nullptr);

class Loaded;     // trial.h
struct Findings;  // obstacles.h

/// Changes with which all wanted allocations of `group` are placed and committed. `idle`: other groups that place
/// nothing, see Trial. `findings` decides which constraints and sets of changes are tried. At most 64 constraints, and
/// 64 ports, devices and volumes, are tried; `untried`, if given, reports how many were not. changes.cc.
[[nodiscard]] std::vector<Change> changes_that_fit(Loaded& loaded, const model::Registration& registration,
                                                   const std::string& group, std::int64_t failed,
                                                   const std::vector<std::string>& idle, const Findings& findings,
                                                   std::string* untried = nullptr);

/// The features named by obstacles that no candidate node has. needs.cc.
[[nodiscard]] std::vector<Need> needs_of(const model::ClusterState& state, const model::Job& job,
                                         const Findings& findings);

/// One warning per amount and node with placements whose true sum exceeds 64 bits: Nomad's sums wrap, and then anything
/// fits (R-MODEL-3).
[[nodiscard]] std::vector<std::string> wrapped_sums(const model::ClusterState& state, const model::Plan& plan);

/// Applies a JSON Patch with operations `add` and `remove` to `document`. Null if a path does not exist.
[[nodiscard]] json::Value patched(const json::Value& document, const json::Value& patch);

/// Scores, components and reasons of one node per group, as lines. `node`: its ID, a prefix of it, or its name. Error:
/// no such node, or several.
[[nodiscard]] tl::expected<std::string, std::string> explain(const Question& question,
                                                             const model::Registration& registration,
                                                             const std::string& node);

/// The same for every node; nodes with the same text are listed together. Costs a decision per node, so more than
/// kExplainedMost nodes are an error.
inline constexpr std::size_t kExplainedMost = 1000;
[[nodiscard]] tl::expected<std::string, std::string> explain_all(const Question& question,
                                                                 const model::Registration& registration);

}  // namespace berth::advice
