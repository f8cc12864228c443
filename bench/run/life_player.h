// Plays the [life] of a workload on a simulated cluster: its arrivals, joins, events and faults, at their times. `berth
// run` measures the result (life_run.h), `berth serve` shows it.
//
//   at one instant  nodes join, then jobs arrive, then events and faults in the order of the file
// All random draws come from the seed. Threads: the cluster's.
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

/// Configuration of the simulated cluster of a workload, without the behaviour of its tasks.
[[nodiscard]] living::Config life_config(const sim::Workload& workload, const sim::Inputs& inputs);
/// The cluster at the start, without nodes that join later.
[[nodiscard]] model::ClusterState life_start(const sim::Workload& workload, const sim::Inputs& inputs);

class LifePlayer {
 public:
  /// Receives the played events. Counts the hits of an event in happened(), before anything changes.
  class Watch {
   public:
    virtual ~Watch() = default;
    virtual void joined() = 0;
    virtual void arrived(const fsm::Answer& answer) = 0;
    virtual void happened(const sim::Happening& what, const std::vector<tables::NodeRow>& nodes,
                          const std::string& words) = 0;
    virtual void refused(const std::string& words, const std::string& error) = 0;
  };

  /// Keeps references to all three.
  LifePlayer(const sim::Workload& workload, const sim::Inputs& inputs, const sim::LifePlan& plan);
  LifePlayer(const LifePlayer&) = delete;
  LifePlayer& operator=(const LifePlayer&) = delete;
  /// `watch` may be null.
  void bind(living::Cluster& cluster, Watch* watch);
  /// Behaviour of the tasks. Refers to this object.
  [[nodiscard]] client::TaskModel model() const { return tasks_.model(); }
  [[nodiscard]] bool has_job(const model::Job& job) const { return tasks_.has_job(job); }

  /// Completes nodes before they join; null: no change.
  std::function<void(model::Node&)> complete;

  /// Time of the next event, from the start of the simulation; client::kNever: none.
  [[nodiscard]] std::int64_t next_ns() const;
  /// Plays everything due at this time, which must be the cluster's.
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
  [[nodiscard]] fsm::Answer to_deployment(const std::string& job, sim::LifeAction action);
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
