// The life of a workload: drives a living cluster through its arrivals, joins, events and faults, and measures it.
//
//   virtual time    the cluster's; nothing is waited for, and deciding takes none of it
//   at one instant  nodes join, then jobs arrive, then events and faults in the order of the file; then the cluster
// Everything that is drawn comes from the seed, so that a run can be repeated and its digest compared.
// Threads: the run's.
#pragma once

#include "run/life_tasks.h"
#include "run/life_watch.h"
#include "run/progress.h"
#include "run/runner.h"

namespace berth::run {

class LifeRun {
 public:
  LifeRun(const sim::Workload& workload, sim::Inputs inputs, sim::LifePlan plan, std::optional<sim::FitStrategy> fit,
          Observer* observer, RunResult& result, server::Listener* beside);
  void run(const RunOptions& options);

 private:
  [[nodiscard]] living::Config config() const;
  void load();
  void note_memory(std::size_t buckets);
  void arrive(const sim::JobArrival& arrival);
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
  sim::Inputs inputs_;
  const sim::LifePlan plan_;
  const std::optional<sim::FitStrategy> fit_;  // in place of Nomad's fit component
  Observer* const observer_;
  RunResult& result_;
  sim::RunClock clock_{sim::Clock::skip};
  Measuring measuring_;
  LifeWatch watch_;
  LifeTasks tasks_;
  living::Cluster cluster_;
  std::uint64_t revision_ = 0;
};

}  // namespace berth::run
