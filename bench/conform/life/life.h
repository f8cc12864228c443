// Random simulations ("lives") of only the server: a small cluster and a few jobs with registrations, scalings,
// updates, failures, drains, disconnects, promotions and stops. Nodes join, change and leave, the configuration
// changes. One seed determines everything, including client reports. The engine's server processes the evaluations.
// Before each, it is also decided in other ways, e.g. on freshly loaded tables; after each plan the invariants are
// checked.
//   life.cc         one simulation, and the checks after each plan
//   life_draw.h     nodes, jobs and their changes, as values
//   life_events.h   events
//   life_server.h   the server and its driver; life_queue.h: contents of its queues
//   life_ways.h     the same evaluation in other ways
//   life_rest.h     checks at rest; invariants are in living/invariants.h
//   life_part.h     a simulation without some of its nodes and steps; the smallest part that breaks an invariant
//   cluster_life.h  the other kind: with clients, drainer and deployment watcher
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/options.h"
#include "plan/apply.h"
#include "sched/source/sources.h"

namespace berth::server {
class Server;
}

namespace berth::conform {

/// A committed plan, for observers.
struct CommittedPlan {
  const model::ClusterState& before;  ///< the whole state
  const model::Plan& plan;
  const model::Evaluation& eval;
  std::uint64_t index;  ///< of the commit
  std::int64_t now_ns;
  const plan::ApplyResult& answer;
  const tables::Snapshot& after;
  const fsm::StateLog& log;  ///< after the commit
  const model::Quirks& quirks;
};

struct LifeOptions {
  std::uint64_t seed = 1;
  int steps = 12;
  /// Numbers of the steps and of the first nodes that are kept, ascending; the rest is left out. Unset: all.
  std::optional<std::vector<int>> only_steps, only_nodes;
  /// A simulation of a whole cluster ends early after that many evaluations, because a system job whose tasks fail at
  /// once is replaced at every report, ten thousands of times.
  std::uint64_t max_evaluations = 2'000;
  model::Options decisions;       ///< deviations from present Nomad's decisions
  sched::EnabledSources sources;  ///< of the server; compared with only the general source
  /// Called before each evaluation is decided and compared; for tests.
  std::function<void(server::Server&)> before_evaluation;
  /// Called after each commit; returns problems. Costs an export of the state per plan.
  std::function<std::vector<std::string>(const CommittedPlan&)> on_commit;
};

struct LifeReport {
  std::uint64_t evaluations = 0, plans = 0, refused_plans = 0, allocations = 0, updates = 0, stops = 0, preemptions = 0,
                deployments = 0;
  std::int64_t simulated_ns = 0;      ///< on the cluster's clock
  std::uint64_t at_rest = 0;          ///< jobs found at rest with complete counts
  std::uint64_t twice = 0;            ///< evaluations also decided on freshly loaded tables
  std::uint64_t steps = 0;            ///< begun
  std::uint64_t nodes = 0;            ///< of the first cluster, with those left out
  bool cut = false;                   ///< ended early, by LifeOptions::max_evaluations
  std::vector<std::string> events;    ///< one line each
  std::vector<std::string> problems;  ///< the simulation ends at the first step with problems

  /// Counts a plan that was committed as far as it fit.
  void count(const plan::PlanRows& plan, const plan::ApplyResult& applied);
};

[[nodiscard]] LifeReport run_life(const LifeOptions& options);

}  // namespace berth::conform
