// `berth whatif`: simulates changes of a cluster one after the other, and reports for each: moves, evictions, missing
// placements, and how far jobs fall below their running counts.
//
// The cluster is that of `berth serve`: server, leader and clients on a virtual clock. All tasks run until they are
// stopped, even batch tasks, because their run time is unknown. A step ends when no entry was written for a minute, no
// node drains and no client has pending work; at the latest after Settings::step_most_ns.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/strategy.h"
#include "dryrun/job_document.h"
#include "serve/start.h"
#include "whatif/steps.h"
#include "whatif/watch.h"

namespace berth::whatif {

struct Settings {
  std::int64_t drain_deadline_ns = 3600 * base::kSecond;  ///< 0: none; negative: at once
  std::int64_t start_delay_ns = base::kSecond;            ///< of a task: image, folders, network
  std::int64_t step_most_ns = 4 * 3600 * base::kSecond;   ///< maximum virtual time of a step
  std::int64_t at_once = 1;                               ///< nodes upgraded at a time
  std::vector<std::pair<Selector, double>> prices;        ///< per hour; the first that matches a node counts
  std::string strategy;                                   ///< scores the fit of nodes; "": Nomad's
  dryrun::JobFileOptions job_files;
};

/// An allocation placed in this step that has not ended at its end.
struct Placement {
  std::string alloc, job, node;  ///< job with "@namespace" unless it is `default`
  std::string from;              ///< node of the replaced allocation; "": none
};
struct Eviction {
  std::string alloc, job, node, by;  ///< by: the evicting job
};
/// A group with allocations waiting for a node at the end of the step.
struct Waiting {
  std::string job, group;
  std::int64_t missing = 0;
  bool before = false;  ///< it already waited before the step
  std::string reasons;  ///< "12 nodes: memory exhausted; 3: ${attr.kernel.name} = linux"
};
/// A group that fell below its running count at the start of the step.
struct Shortfall {
  std::string job, group;
  std::int64_t ran = 0, away_most = 0, away_end = 0;
  double below_s = 0, missing_s = 0;    ///< time below; allocation-seconds
  std::optional<std::int64_t> allowed;  ///< away at once, by `migrate` or `update`; nullopt: no limit in this step
};
/// How full the cluster is. Shares are of all nodes that are up.
struct Packing {
  std::int64_t nodes = 0, used_nodes = 0, eligible_nodes = 0, allocs = 0;
  std::int64_t cpu_mhz = 0, memory_mb = 0;  ///< capacity
  double cpu = 0, memory = 0;               ///< used shares, 0 to 1
  std::optional<double> price_per_hour;
};
struct StepReport {
  std::string words;
  std::int64_t nodes = 0;    ///< selected by the step
  double length_s = 0;       ///< virtual time until the last change
  bool settled = true;       ///< false: the step was cut off
  std::int64_t stopped = 0;  ///< allocations ended without replacement and eviction
  std::vector<Placement> placements;
  std::vector<Eviction> evictions;
  std::vector<Waiting> waiting;
  std::vector<Shortfall> shortfalls;
  Packing before, after;
};

struct Growth;  // capacity.h

class WhatIf {
 public:
  WhatIf(serve::Start start, Settings settings);
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  /// Makes the change and advances time until the cluster is at rest. Errors name missing objects; the cluster is then
  /// unchanged.
  [[nodiscard]] Result<StepReport, std::string> take(const Step& step);

  [[nodiscard]] Packing packing() const;
  [[nodiscard]] std::vector<Waiting> waiting() const;  ///< `before` is not set
  [[nodiscard]] const tables::Snapshot& state() const { return cluster_->state(); }
  [[nodiscard]] std::int64_t now() const { return cluster_->now(); }
  /// The value of a selector's key whose nodes have the largest share of cpu and memory: "meta.rack=r7"; "": no node
  /// has the key.
  [[nodiscard]] std::string largest(const std::string& key) const;

  // --- capacity.cc: time does not advance; the cluster is full afterwards ---
  /// A job whose groups can grow, from a file.
  [[nodiscard]] Result<std::shared_ptr<const model::Job>, std::string> read_growing(const std::string& file);
  /// How many allocations of the group at this position find a node, with the other groups as in the job.
  [[nodiscard]] Result<Growth, std::string> fill(const model::Job& job, std::size_t group);
  /// Grows all running service and batch groups by `percent`, except those of jobs that wait or are being rolled out.
  /// Stops if one finds no node for all its allocations: `ended`, with the reasons.
  [[nodiscard]] Growth grow_all(std::int64_t percent);

 private:
  [[nodiscard]] std::vector<const model::Node*> nodes_of(const Selector& selector) const;
  [[nodiscard]] Result<std::vector<const model::Node*>, std::string> nodes_of(const Step& step) const;
  [[nodiscard]] std::string job_words(tables::JobKeyRow job) const;
  [[nodiscard]] std::string node_words(tables::NodeRow node) const;
  [[nodiscard]] bool is_of_system(tables::JobKeyRow job) const;

  Result<void, std::string> make(const Step& step, StepReport& report);
  Result<void, std::string> drain(const std::vector<const model::Node*>& nodes);
  Result<void, std::string> upgrade(const std::vector<const model::Node*>& nodes);
  Result<void, std::string> add(const Step& step);
  Result<void, std::string> edit(const Step& step, const std::vector<const model::Node*>& nodes);
  Result<void, std::string> submit(const Step& step);
  Result<void, std::string> configure(const Step& step);
  Result<void, std::string> rank_by(const std::string& strategy);
  Result<void, std::string> apply(const living::Event& event);
  void settle();
  [[nodiscard]] bool at_rest() const;
  void report_allocs(StepReport& report) const;
  void report_groups(const Step& step, StepReport& report) const;
  Result<void, std::string> check_running(const JobName& job) const;
  Result<json::Value, std::string> read_document(const std::string& file) const;
  Result<std::shared_ptr<const model::Job>, std::string> read_job(const std::string& file, const json::Value& document);

  Settings settings_;
  model::ClusterState context_;                  // for reading job files: namespaces, pools, configuration
  std::map<std::string, model::Node> machines_;  // by ID: as registered
  std::map<std::string, std::string> removed_;   // names of removed machines, by ID
  std::uint64_t added_ = 0, seed_ = 1;
  Watch watch_;
  std::shared_ptr<const strategy::Ranker> ranker_;  // outlives the cluster, which calls its fit()
  std::unique_ptr<living::Cluster> cluster_;
  std::set<tables::NodeRow> silent_;  // lost machines, not yet detected by the servers
  bool settled_ = true;
};

}  // namespace berth::whatif
