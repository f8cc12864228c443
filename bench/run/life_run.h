// Runs the simulation of a workload with [life]: a player (life_player.h) drives a simulated cluster, and the run
// measures it.
//
//   virtual time    the cluster's; the run never waits, and deciding takes no virtual time
// All random draws come from the seed, so that a run can be repeated and its digest compared.
// Threads: the run's.
#pragma once

#include "run/life_player.h"
#include "run/life_watch.h"
#include "run/measured_run.h"
#include "run/progress.h"
#include "run/runner.h"

namespace berth::run {

class LifeRun final : private LifePlayer::Watch {
 public:
  LifeRun(const sim::Workload& workload, RunParts parts, sim::LifePlan plan, Observer* observer, RunResult& result,
          server::Listener* extra_listener);
  void run(const RunOptions& options);

 private:
  [[nodiscard]] living::Config config();
  void load();
  void note_memory(std::size_t buckets);
  void joined() override { ++result_.joined; }
  void arrived(const fsm::Answer& answer) override;
  void happened(const sim::Happening& what, const std::vector<tables::NodeRow>& nodes,
                const std::string& words) override {
    watch_.happened(what, nodes, words);
  }
  void refused(const std::string& words, const std::string& error) override { watch_.refused(words, error); }

  const sim::Workload& workload_;
  const sim::LifeSpec& life_;
  sim::Inputs inputs_;
  const sim::LifePlan plan_;
  const std::optional<sim::FitStrategy> fit_;     // replaces Nomad's fit component
  std::unique_ptr<strategy::QueuePolicy> queue_;  // null: Nomad's order; else moved to the server's configuration
  Observer* const observer_;
  RunResult& result_;
  sim::RunClock clock_{sim::Clock::skip};
  Measuring measuring_;
  LifeWatch watch_;
  LifePlayer player_;
  living::Cluster cluster_;
};

}  // namespace berth::run
