// Plays the life of a workload on a living cluster: its arrivals, joins, events and faults, at their times. `berth run`
// measures what comes of it (life_run.h), `berth serve` shows it.
//
//   at one instant  nodes join, then jobs arrive, then events and faults in the order of the file
// Everything that is drawn comes from the seed. Threads: the cluster's.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "living/living.h"
#include "run/life_tasks.h"
#include "sim/life_plan.h"

namespace berth::run {

/// How the cluster of a workload's life is set up, but for what its tasks do.
[[nodiscard]] living::Config life_config(const sim::Workload& workload, const sim::Inputs& inputs);
/// The cluster as the life begins: without the nodes that join later.
[[nodiscard]] model::ClusterState life_start(const sim::Workload& workload, const sim::Inputs& inputs);

class LifePlayer {
 public:
  /// Told of what was played. Hits of an event are counted in happened(), before anything changes.
  class Watch {
   public:
    virtual ~Watch() = default;
    virtual void joined() = 0;
    virtual void arrived(const fsm::Answer& answer) = 0;
    virtual void happened(const sim::Happening& what, const std::vector<tables::NodeRow>& nodes,
                          const std::string& words) = 0;
    virtual void refused(const std::string& words, const std::string& error) = 0;
  };

  /// Refers to all three.
  LifePlayer(const sim::Workload& workload, const sim::Inputs& inputs, const sim::LifePlan& plan);
  LifePlayer(const LifePlayer&) = delete;
  LifePlayer& operator=(const LifePlayer&) = delete;
  /// `watch`: may be null.
  void bind(living::Cluster& cluster, Watch* watch);
  /// What tasks do; refers to this.
  [[nodiscard]] client::TaskModel model() const { return tasks_.model(); }
  [[nodiscard]] bool has_job(const model::Job& job) const { return tasks_.has_job(job); }

  /// What nodes that join get before they do; null: nothing.
  std::function<void(model::Node&)> complete;

  /// When there is something to play next, counted from the life's start; client::kNever: nothing any more.
  [[nodiscard]] std::int64_t next_ns() const;
  /// What is due at this time, which is also the cluster's.
  void play(std::int64_t at_ns);

 private:
  void happen(const sim::Happening& happening);
  [[nodiscard]] std::string to_nodes(const sim::Happening& happening, std::span<const tables::NodeRow> nodes);
  [[nodiscard]] std::string to_jobs(const sim::Happening& happening);
  [[nodiscard]] std::string to_cluster(const sim::Happening& happening);
  [[nodiscard]] std::vector<tables::NodeRow> nodes_of(const sim::Happening& happening);
  [[nodiscard]] tables::AllocRow alloc_of(const std::string& job, const std::string& group, std::int64_t index);
  [[nodiscard]] std::shared_ptr<const model::Job> current(const std::string& id);
  [[nodiscard]] std::shared_ptr<const model::Job> updated(const model::Job& form, const sim::LifeStep& step);
  [[nodiscard]] fsm::Answer to_deployment(const std::string& job, sim::Deed deed);
  [[nodiscard]] std::string words_of(const sim::Happening& happening, std::span<const tables::NodeRow> nodes) const;

  const sim::Workload& workload_;
  const sim::LifeSpec& life_;
  const sim::Inputs& inputs_;
  const sim::LifePlan& plan_;
  LifeTasks tasks_;
  living::Cluster* cluster_ = nullptr;
  Watch* watch_ = nullptr;
  std::size_t arrival_ = 0, happening_ = 0;
  std::int64_t join_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace berth::run
