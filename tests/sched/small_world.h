// A small state built by hand, and one evaluation on it: plans, created evaluations and the final status as API
// objects.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/stages.h"
#include "model/job.h"
#include "sched/generic.h"
#include "sched/system.h"
#include "sched/to_model.h"
#include "support/cluster_objects.h"

namespace berth::sched {

struct SmallWorld {
  static constexpr std::int64_t kNow = 1'000'000 * base::kSecond;

  model::ClusterState state;
  model::Evaluation eval;
  model::Options options;
  rank::OrderProvider order = rank::OrderProvider::identity;
  EnabledSources sources;
  std::uint64_t node_order = 0;  ///< EvalFacts::node_order
  bool exhaustive = false, defer_metrics = false;
  strategy::FitFunction fit;  ///< replaces the fit component
  std::vector<std::string> fit_models;
  std::int64_t fit_shares = 1;
  std::function<void(tables::StateStore&)> after_loading;  ///< called between loading and the evaluation
  bool detailed = false;                                   ///< measures the stages of each Select
  std::vector<std::string> create_errors;  ///< answers to the created evaluations, in order; later ones succeed

  SmallWorld() {
    state.index = 1000;
    state.scheduler_config.emplace();
    state.nodes.reserve(16), state.allocs.reserve(64), state.deployments.reserve(8);  // references stay valid
    eval.id = id(9, 1);
    eval.namespace_ = "default";
    eval.priority = 50;
    eval.job_id = "j";
    eval.triggered_by = "job-register";
    eval.status = "pending";
  }
  static std::string id(std::uint64_t kind, std::uint64_t number) { return base::to_text(base::Uuid{kind, number}); }

  /// Nodes `n0`, `n1`, ... in ascending order of their IDs, 4000 MHz and 4096 MiB each.
  model::Node& add_node(const char* datacenter = "dc1") {
    model::Node& node =
        state.nodes.emplace_back(testing::make_node({.id = id(1, state.nodes.size() + 1),
                                                     .name = "n" + std::to_string(state.nodes.size()),
                                                     .datacenter = datacenter,
                                                     .attributes = {{"driver.exec", "1"}, {"nomad.version", "2.0.5"}},
                                                     .memory_mb = 4096,
                                                     .disk_mb = 10'000,
                                                     .host_network = true}));
    node.computed_class = "v1:" + std::to_string(state.nodes.size());
    return node;
  }

  /// The job `j`, version `version` of it, changed at index 10 * version + 10; its groups request 100 MHz and 64 MiB.
  static std::shared_ptr<model::Job> job(const char* type, std::int64_t count, std::uint64_t version = 0,
                                         std::initializer_list<const char*> groups = {"web"}) {
    std::vector<testing::GroupSpec> specs;
    for (const char* name : groups) specs.push_back({.name = name, .count = count, .disk_mb = 10});
    auto out = testing::make_job({.type = type, .version = version, .groups = specs});
    out->create_index = 5;
    out->modify_index = out->job_modify_index = 10 * version + 10;
    return out;
  }
  /// Stores a version; the last one stored is the current one.
  void store(const std::shared_ptr<const model::Job>& job) {
    state.job_versions.push_back(job);
    for (auto& current : state.jobs)
      if (current->id == job->id && current->namespace_ == job->namespace_) return static_cast<void>(current = job);
    state.jobs.push_back(job);
    eval.type = job->type;
  }

  model::Allocation& add(const std::shared_ptr<const model::Job>& job, std::size_t node, std::uint64_t index,
                         const char* client = "running", const char* group = "web") {
    model::Allocation& alloc = state.allocs.emplace_back(testing::make_alloc(
        {.id = id(2, state.allocs.size() + 1), .job = job, .index = index, .client = client, .group = group}));
    if (node < state.nodes.size()) alloc.node_id = state.nodes[node].id, alloc.node_name = state.nodes[node].name;
    model::AllocatedResources& held = alloc.allocated_resources.emplace();  // whatever the job requests
    held.shared.disk_mb = 10;
    held.tasks["t"].cpu.cpu_shares = 100;
    held.tasks["t"].memory.memory_mb = 64;
    alloc.create_index = 20, alloc.modify_index = 30;
    alloc.modify_time = kNow - 3600 * base::kSecond;
    return alloc;
  }
  model::Deployment& add_deployment(const std::shared_ptr<const model::Job>& job, const char* status) {
    model::Deployment& d = state.deployments.emplace_back();
    d.id = id(3, state.deployments.size());
    d.namespace_ = "default", d.job_id = job->id;
    d.job_version = job->version, d.job_create_index = job->create_index;
    d.status = status;
    d.create_index = 100 + state.deployments.size();
    return d;
  }

  /// A service with the groups `web`, which is updated with a canary, and `db`.
  static std::shared_ptr<model::Job> canary_job(std::uint64_t version) {
    const auto out = job("service", 1, version, {"web", "db"});
    auto& update = out->task_groups[0].update.emplace();
    update.max_parallel = 1, update.canary = 1;
    return out;
  }
  /// A running deployment of `newest`, the job's current version, with its canary placed on n0.
  model::Deployment& add_canary(const std::shared_ptr<const model::Job>& newest) {
    model::Allocation& canary = add(newest, 0, 0);
    canary.deployment_status.emplace().canary = true;
    model::Deployment& d = add_deployment(newest, "running");
    canary.deployment_id = d.id;
    auto& web = d.task_groups["web"].emplace();
    web.desired_canaries = 1, web.desired_total = 1, web.placed_canaries = {canary.id};
    return d;
  }

  // Results.
  std::vector<model::Plan> plans;
  std::vector<model::Evaluation> created;
  std::vector<std::string> calls;  ///< `submit` and `create`, in order
  model::Evaluation updated;
  EvalResult result;
  std::string error;  ///< of processing

  /// Processes the evaluation. Each plan has a letter of `answers`: N refuses the whole plan; P commits it and makes
  /// the scheduler refresh its state; R refuses the first placement's node, and r does so without a newer state; E
  /// fails with an error. Plans beyond the last letter are committed.
  void run(std::string_view answers = "") {
    struct Recorder final : Planner {
      SmallWorld& world;
      std::string_view answers;
      const Scratch& scratch;
      Recorder(SmallWorld& w, std::string_view a, const Scratch& s) : world(w), answers(a), scratch(s) {}
      Submission submit(const EvalResult& result) override {
        world.calls.emplace_back("submit");
        world.plans.push_back(to_model({*result.state, scratch}, result, world.eval, kNow));
        Submission out;
        if (answers.empty()) return out;
        const char answer = answers.front();
        answers.remove_prefix(1);
        out.nothing_committed = answer == 'N';
        if (answer == 'E') out.error = "no leader";
        if ((answer == 'R' || answer == 'r') && !result.plan.allocs.empty()) {
          refused = result.plan.allocs.front().node;
          out.refused_nodes = {&refused, 1};
        }
        if (answer != 'r') out.refreshed = result.state;
        return out;
      }
      std::string create(const EvalResult& result, const CreatedEval& eval) override {
        world.calls.emplace_back("create");
        world.created.push_back(created_eval({*result.state, scratch}, result, eval, world.eval, kNow));
        return world.created.size() <= world.create_errors.size() ? world.create_errors[world.created.size() - 1] : "";
      }
      tables::NodeRow refused = 0;
    };
    plans.clear(), created.clear(), calls.clear();
    snapshot_.reset();
    store_ = std::make_unique<tables::StateStore>();
    store_->load(state);
    if (after_loading) after_loading(*store_);
    EvalFacts facts;
    facts.id = base::parse_uuid(eval.id).value_or(base::Uuid{});
    facts.id_text = eval.id;
    facts.job = store_->job_key(eval.namespace_, eval.job_id);
    facts.priority = eval.priority;
    facts.triggered_by = eval.triggered_by;
    facts.type = model::parse_job_type(eval.type);
    facts.blocked = eval.status == "blocked";
    facts.annotate = eval.annotate_plan;
    facts.wait_until = eval.wait_until;
    facts.now_ns = kNow;
    facts.node_order = node_order;
    snapshot_ = store_->snapshot();
    scratch_ = std::make_unique<Scratch>();
    scratch_->options = options;
    if (fit) scratch_->strategy_fit.use(fit, fit_models, fit_shares);
    Recorder planner(*this, answers, *scratch_);
    IdStream ids(1);
    base::StageClock clock;
    clock.set_detailed(true);
    const base::UseStageClock measured(detailed ? &clock : nullptr);
    if (eval.type == "system" || eval.type == "sysbatch") {
      SystemScheduler scheduler(*scratch_);
      scheduler.process(*snapshot_, facts, ids, planner, result);
    } else {
      GenericScheduler scheduler(*scratch_);
      scheduler.set_sources(sources);
      scheduler.set_exhaustive(exhaustive);
      scheduler.set_defer_metrics(defer_metrics);
      scheduler.process(*snapshot_, facts, order, ids, planner, result);
    }
    updated = updated_eval({*result.state, *scratch_}, result, eval);
    error = result.status == EvalStatus::error ? result.description : "";
  }
  /// All entries of a plan's map, in the order of node IDs.
  static std::vector<model::Allocation> entries(const std::map<std::string, std::vector<model::Allocation>>& lists) {
    std::vector<model::Allocation> out;
    for (const auto& [node, allocs] : lists) out.insert(out.end(), allocs.begin(), allocs.end());
    return out;
  }
  [[nodiscard]] std::vector<model::Allocation> stops() const {
    return plans.empty() ? std::vector<model::Allocation>() : entries(plans.back().node_update);
  }
  [[nodiscard]] std::vector<model::Allocation> placed() const {
    return plans.empty() ? std::vector<model::Allocation>() : entries(plans.back().node_allocation);
  }
  [[nodiscard]] const tables::Snapshot& snapshot() const { return *snapshot_; }
  [[nodiscard]] const SourceCounts& paths() const { return scratch_->source_counts; }

 private:
  std::unique_ptr<tables::StateStore> store_;
  std::unique_ptr<Scratch> scratch_;
  tables::SnapshotRef snapshot_;
};

}  // namespace berth::sched
