// What the public values hold. Not for users of the library.
#pragma once

#include "base/json.h"
#include "berth/cluster.h"
#include "berth/strategy.h"
#include "model/cluster.h"
#include "plan/apply.h"
#include "sched/scheduler.h"

namespace berth {

struct Job::Impl {
  json::Value input;  ///< registered again against each cluster's namespaces, pools and stored version
  std::string path;
  std::shared_ptr<const model::Job> job;
  std::vector<std::string> warnings;
};

struct Cluster::Impl {
  Config config;
  std::vector<std::string> warnings;
  tables::StateStore store;
  sched::Scratch scratch;
  sched::Scheduler scheduler{scratch};
  sched::IdStream ids{1};
  sched::EvalResult decided;
  plan::Applier applier{store};
  plan::ApplyResult applied;
  std::shared_ptr<const strategy::Ranker> ranker;  ///< whose fit the scratch uses; null: Nomad's
  Stats stats;

  void load(const model::ClusterState& state);
  [[nodiscard]] tables::JobKeyRow find_job(std::string_view job_namespace, std::string_view job_id) const;
};

struct Plan::Rows {
  const void* owner = nullptr;  ///< the Cluster::Impl that decided
  bool used = false;
  plan::PlanRows plan;  ///< without metrics: those live in the worker's arena
  bool all_at_once = false;
};

struct View::Impl {
  std::shared_ptr<const Cluster::Impl> owner;  ///< keeps the symbols alive
  tables::SnapshotRef state;
};

}  // namespace berth
