// Random lives on the bare server: a small cluster and a few jobs live through registrations, scalings, updates,
// failures, drains, disconnects, promotions and stops; nodes come, change and go, the configuration changes. All is
// drawn from one seed, reports of clients included. The evaluations are served by the engine's server. Before each of
// them it is made by other ways, too, on tables loaded anew among them; after each plan the invariants are checked.
//   life.cc         one life, and what is checked after each plan
//   life_draw.h     nodes, jobs and their changes, as values
//   life_events.h   what happens
//   life_server.h   the server, driven; life_queue.h: what its queues hold
//   life_ways.h     the same evaluation by other ways
//   life_rest.h     a life at rest; invariants are living/invariants.h
//   cluster_life.h  the other kind: with clients, drainer and deployment watcher
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/options.h"
#include "plan/apply.h"
#include "sched/source/sources.h"

namespace berth::server {
class Server;
}

namespace berth::conform {

/// A plan that a life committed, for whoever looks on.
struct CommittedPlan {
  const model::ClusterState& before;  ///< the whole state
  const model::Plan& plan;
  const model::Evaluation& eval;
  std::uint64_t index;  ///< of the commit
  std::int64_t now_ns;
  const plan::ApplyResult& answer;
  const tables::Snapshot& after;
  const fsm::StateLog& log;  ///< afterwards
  const model::Quirks& quirks;
};

struct LifeOptions {
  std::uint64_t seed = 1;
  int steps = 12;
  /// A life of a whole cluster ends early after that many evaluations: a system job whose tasks fail at once is
  /// replaced at every report, ten thousands of times.
  std::uint64_t max_evaluations = 2'000;
  model::Options decisions;       ///< how they differ from Nomad's of today
  sched::EnabledSources sources;  ///< of the server; the general source alone is compared with them
  /// Called before each evaluation is decided and compared; for tests.
  std::function<void(server::Server&)> before_evaluation;
  /// Called after each commit; what it returns are problems. Costs an export of the state per plan.
  std::function<std::vector<std::string>(const CommittedPlan&)> on_commit;
};

struct LifeReport {
  std::uint64_t evaluations = 0, plans = 0, refused_plans = 0, allocations = 0, updates = 0, stops = 0, preemptions = 0,
                deployments = 0;
  std::uint64_t at_rest = 0;          ///< jobs found at rest with all they ask for
  std::uint64_t twice = 0;            ///< evaluations that were made on tables loaded anew as well
  bool cut = false;                   ///< ended early, by LifeOptions::max_evaluations
  std::vector<std::string> events;    ///< what happened, one line each
  std::vector<std::string> problems;  ///< the life ends at the first step that has some

  /// A plan was committed as far as it fit.
  void count(const plan::PlanRows& plan, const plan::ApplyResult& applied);
};

[[nodiscard]] LifeReport run_life(const LifeOptions& options);

}  // namespace berth::conform
