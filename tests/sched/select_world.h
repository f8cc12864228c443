// Random clusters and jobs, and the result of an evaluation as one text, for tests that compare fast paths with the
// general one.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>

#include "base/json.h"
#include "berth/strategy.h"
#include "model/job.h"
#include "sched/generic.h"
#include "sched/to_model.h"

namespace berth::sched {

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

/// `alike`: all checks depend on the class alone.
inline model::Node random_node(Random& random, std::uint32_t number, std::uint32_t classes, bool alike = false) {
  model::Node out;
  out.id = base::to_text(base::Uuid{random(), random()});
  out.name = "node-" + std::to_string(number);
  out.datacenter = pick(random, 0, 1) ? "dc1" : "dc2";
  out.node_pool = "default";
  const auto rack = static_cast<std::uint32_t>(pick(random, 0, classes - 1));
  out.meta["rack"] = "r" + std::to_string(rack);
  out.node_class = rack % 3 == 0 ? "" : "class-" + std::to_string(rack % 3);
  out.computed_class = "v1:" + out.datacenter + std::to_string(rack);
  out.attributes["kernel.name"] = "linux";
  out.attributes["driver.exec"] = rack % 5 == 4 ? "0" : "1";
  if (number % 7 == 3 && !alike) {  // not determined by the class
    auto& driver = out.drivers["exec"].emplace();
    driver.detected = true, driver.healthy = number % 2 == 0;
  }
  out.status = "ready";
  out.scheduling_eligibility = "eligible";
  model::NodeResources& r = out.node_resources.emplace();
  r.memory.memory_mb = 1024 * pick(random, 2, 8);
  r.disk.disk_mb = 20000;
  model::Topology& topology = r.processors.emplace().topology.emplace();
  topology.override_total_compute = static_cast<std::uint64_t>(1000 * pick(random, 2, 8));
  if (alike) {  // few sizes
    r.memory.memory_mb = number % 5 == 0 ? 8192 : 4096;
    topology.override_total_compute = number % 5 == 0 ? 8000 : 4000 + number % 2 * 2000;
  }
  model::NetworkResource network;
  network.mode = "host";
  network.device = "eth0";
  r.networks.push_back(network);
  return out;
}

inline std::shared_ptr<const model::Job> random_job(Random& random, const std::string& id, bool spread,
                                                    std::int64_t count, std::int64_t priority = 50) {
  auto out = std::make_shared<model::Job>();
  out->id = out->name = id;
  out->namespace_ = "default";
  out->type = pick(random, 0, 3) == 0 ? "batch" : "service";
  out->priority = priority;
  out->datacenters = {"*"};
  out->node_pool = "default";
  model::TaskGroup& group = out->task_groups.emplace_back();
  group.name = "g";
  group.count = count;
  group.ephemeral_disk = model::EphemeralDisk{false, false, 10};
  model::Task& task = group.tasks.emplace_back();
  task.name = "t";
  task.driver = "exec";
  model::Resources& ask = task.resources.emplace();
  ask.cpu = pick(random, 1, 8) * 100;
  ask.memory_mb = pick(random, 1, 8) * 64;
  if (pick(random, 0, 1)) {
    model::Constraint c;
    c.ltarget = "${meta.rack}", c.operand = "!=", c.rtarget = "r1";
    out->constraints.push_back(c);
  }
  if (pick(random, 0, 2) == 0) {
    model::Affinity a;
    a.ltarget = "${node.datacenter}", a.operand = "=", a.rtarget = "dc1", a.weight = 50;
    group.affinities.push_back(a);
  }
  if (spread) {
    model::Spread s;
    s.attribute = "${meta.rack}";
    s.weight = 50;
    if (pick(random, 0, 1)) s.targets = {{"r0", 50}, {"r2", 30}};
    out->spreads.push_back(s);
    if (pick(random, 0, 2) == 0) {
      s.attribute = "${node.datacenter}";
      s.targets.clear();
      group.spreads.push_back(s);
    }
  }
  return out;
}

inline std::string decisions(const Naming& naming, const EvalResult& result, const model::Evaluation& eval) {
  const model::Plan plan = to_model(naming, result, eval, 0);
  std::string out;
  for (const auto& [id, allocs] : plan.node_allocation)
    for (const model::Allocation& alloc : allocs) out += json::to_text(model::to_json(alloc)) + "\n";
  if (result.has_blocked) {
    CreatedEval created;
    created.id = result.blocked_id;
    created.triggered_by = "queued-allocs";
    created.eligibility = &result.eligibility;
    out += json::to_text(model::to_json(created_eval(naming, result, created, eval, 0))) + "\n";
  }
  return out + json::to_text(model::to_json(updated_eval(naming, result, eval)));
}

/// The class verdicts with which the evaluation is blocked again.
inline std::map<tables::Symbol, bool> waits_for(const EvalResult& result) {
  std::map<tables::Symbol, bool> out;
  for (const auto& [node_class, eligible] : result.eligibility.classes) out[node_class] = eligible;
  return out;
}

/// A second scheduler with separate memory.
struct OtherWay {
  Scratch scratch;
  GenericScheduler scheduler{scratch};
  explicit OtherWay(const model::Quirks& quirks) { scratch.options.quirks = quirks; }
};

/// Nomad's bin-packing as a user's strategy.
struct BinPack {
  double score(const strategy::Node& node, const strategy::TaskClass& task) const {
    using strategy::kCpu, strategy::kMemory;
    return rank::fit_component(rank::FitAlgorithm::binpack, node.used(kCpu) + task.ask[kCpu], node.capacity(kCpu),
                               node.used(kMemory) + task.ask[kMemory], node.capacity(kMemory));
  }
};

struct World {
  tables::StateStore store;
  model::Evaluation eval;
  EvalFacts facts;

  World(Random& random, std::uint32_t nodes, std::uint32_t classes, bool preempts = false, bool alike = false) {
    model::ClusterState state;
    state.scheduler_config.emplace().preemption_config = {false, false, preempts, preempts};
    for (std::uint32_t i = 0; i < nodes; ++i) state.nodes.push_back(random_node(random, i, classes, alike));
    state.index = random() % 100000;
    store.load(state);
  }
  void ask(Random& random, const std::shared_ptr<const model::Job>& job) {
    const tables::VersionRow row = store.upsert_job(job, true);
    eval = {};
    eval.id = base::to_text(base::Uuid{random(), random()});
    eval.namespace_ = job->namespace_;
    eval.job_id = job->id;
    eval.priority = job->priority;
    eval.triggered_by = "job-register";
    facts = {};
    facts.id_text = eval.id;
    facts.job = store.current().jobs.versions[row]->key;
    facts.priority = static_cast<std::int64_t>(job->priority);
    facts.triggered_by = "job-register";
    facts.type = model::parse_job_type(job->type);
  }
  /// Decides the last requested evaluation on a state, with IDs drawn from `seed`.
  void decide(GenericScheduler& scheduler, const tables::Snapshot& snapshot, std::uint64_t seed, EvalResult& out,
              rank::OrderProvider provider = rank::OrderProvider::nomad) const {
    IdStream ids(seed);
    scheduler.process(snapshot, facts, provider, ids, out);
  }
};

}  // namespace berth::sched
