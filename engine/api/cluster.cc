#include "berth/cluster.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <system_error>

#include "api/impl.h"
#include "base/text.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "model/update/spec_changed.h"
#include "sched/to_model.h"
#include "server/lane.h"
#include "server/team.h"
#include "tables/export.h"

namespace berth {

using tables::kNoRow;

namespace {

rank::OrderProvider provider_of(Order order) {
  switch (order) {
    case Order::nomad:
      return rank::OrderProvider::nomad;
    case Order::mix:
      return rank::OrderProvider::mix;
    case Order::lazy:
      return rank::OrderProvider::lazy;
    case Order::identity:
      return rank::OrderProvider::identity;
  }
  return rank::OrderProvider::nomad;
}

server::Config config_of(const Config& config) {
  server::Config out;
  out.order = provider_of(config.order);
  out.seed = config.seed;
  out.exhaustive = config.mode == Mode::exhaustive;
  if (config.compat == Compat::fixed) out.options.quirks = model::Quirks::none();
  out.broker.evals = out.broker.jobs = 1;  // nothing is ever queued
  return out;
}

constexpr std::uint32_t kWorkersMost = 1024;

Error unknown(std::string text) { return {Errc::unknown_object, 0, std::move(text)}; }

Stop to_stop(const tables::Snapshot& state, const plan::PlannedStop& planned) {
  const tables::AllocTable& allocs = state.allocs;
  const tables::AllocRow row = planned.alloc;
  Stop out;
  out.alloc_id = base::to_text(allocs.id[row]);
  out.alloc_name = tables::alloc_name(state, row);
  if (allocs.job[row] != kNoRow) out.job_id = state.jobs.versions[allocs.job[row]]->spec->id;
  out.task_group = state.text(allocs.group[row]);
  if (allocs.node[row] != kNoRow) out.node_id = base::to_text(state.nodes.id(allocs.node[row]));
  out.preempted = planned.evict;
  out.reason = tables::to_text(planned.description);
  return out;
}

Metrics to_metrics(const tables::Snapshot& state, const model::AllocMetric& metric) {
  Metrics out;
  out.nodes_evaluated = metric.nodes_evaluated;
  out.nodes_filtered = metric.nodes_filtered;
  out.nodes_exhausted = metric.nodes_exhausted;
  out.nodes_in_pool = metric.nodes_in_pool;
  out.nodes_available = metric.nodes_available;
  out.filtered_by = metric.constraint_filtered;
  out.exhausted_by = metric.dimension_exhausted;
  for (const model::ScoreMeta& meta : metric.score_meta_data) {
    ScoredNode& node = out.best.emplace_back();
    node.node_id = meta.node_id;
    node.score = meta.norm_score;
    node.components = meta.scores;
    if (const tables::NodeRow row = sched::find_node(state, meta.node_id); row != kNoRow)
      if (const std::string* name = state.value_text(tables::kNameColumn, row)) node.node_name = *name;
  }
  return out;
}

std::vector<std::string> reasons_of(const Metrics& metrics) {
  if (metrics.nodes_in_pool == 0) return {"no ready node in the job's datacenters and node pool"};
  std::vector<std::pair<std::int64_t, std::string>> counted;
  for (const auto& [reason, count] : metrics.filtered_by) counted.emplace_back(count, "filtered: " + reason);
  for (const auto& [dimension, count] : metrics.exhausted_by) counted.emplace_back(count, "exhausted: " + dimension);
  std::stable_sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> out;
  for (const auto& [count, text] : counted)
    out.push_back(text + " on " + std::to_string(count) + (count == 1 ? " node" : " nodes"));
  return out;
}

}  // namespace

Cluster::Impl::Impl(const Config& options) : config(options), server(config_of(options), clock) {}

void Cluster::Impl::load(const model::ClusterState& state) {
  server.load(state);
  const Preemption wanted[] = {config.service_preemption, config.batch_preemption, config.system_preemption,
                               config.sysbatch_preemption};
  const bool as_it_is =
      std::all_of(std::begin(wanted), std::end(wanted), [](Preemption one) { return one == Preemption::from_cluster; });
  if (config.algorithm == Algorithm::from_cluster && as_it_is) return;
  auto record = state.scheduler_config;
  if (!record) {
    // Without a record preemption is on for all job types (R-PREEMPT-103); the new record keeps that.
    record.emplace();
    record->preemption_config = {true, true, true, true};
  }
  if (config.algorithm != Algorithm::from_cluster)
    record->scheduler_algorithm = config.algorithm == Algorithm::binpack ? "binpack" : "spread";
  model::PreemptionConfig& preemption = record->preemption_config;
  bool* const enabled[] = {&preemption.service_scheduler_enabled, &preemption.batch_scheduler_enabled,
                           &preemption.system_scheduler_enabled, &preemption.sysbatch_scheduler_enabled};
  for (std::size_t i = 0; i < std::size(wanted); ++i)
    if (wanted[i] != Preemption::from_cluster) *enabled[i] = wanted[i] == Preemption::on;
  store().set_scheduler_config(std::move(record));
}

tables::JobKeyRow Cluster::Impl::find_job(std::string_view job_namespace, std::string_view job_id) {
  const tables::JobKeyRow key = store().find_job_key(job_namespace, job_id);
  return key != kNoRow && store().current().jobs.keys[key].current != kNoRow ? key : kNoRow;
}

Cluster::Cluster(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;
Cluster::~Cluster() = default;

Cluster::Cluster(const Config& config) : impl_(std::make_shared<Impl>(config)) { impl_->load(empty_state()); }

Result<Cluster> Cluster::from_file(const std::string& path, const Config& config) {
  auto imported = io::import_cluster(path);
  if (!imported) return tl::unexpected(imported.error());
  Cluster out(config);
  out.impl_->warnings = std::move(imported->warnings);
  out.impl_->load(imported->state);
  return out;
}

Result<Cluster> Cluster::from_workload(const std::string& name, const std::string& label, std::uint64_t seed,
                                       const Config& config) {
  const auto state = workload_state(name, label, seed);
  if (!state) return tl::unexpected(state.error());
  Cluster out(config);
  out.impl_->load(*state);
  return out;
}

Result<Cluster> Cluster::from_json(std::string_view text, const Config& config) {
  auto value = io::parse_json(text);
  if (!value) return tl::unexpected(value.error());
  auto imported = io::import_cluster_json(*value, "-");
  if (!imported) return tl::unexpected(imported.error());
  Cluster out(config);
  out.impl_->warnings = std::move(imported->warnings);
  out.impl_->load(imported->state);
  return out;
}

const std::vector<std::string>& Cluster::load_warnings() const { return impl_->warnings; }

Result<void> Cluster::add_node(std::string_view json) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  const auto node = read_node(json);
  if (!node) return tl::unexpected(node.error());
  impl_->store().begin_commit(impl_->next_index()).upsert_node(*node);
  return {};
}

Result<void, Error> Cluster::set_node(std::string_view node_id, std::string_view status, bool eligible, bool draining) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.error());
  const auto id = base::parse_uuid(node_id);
  const tables::NodeRow row = id ? impl_->store().find_node(*id) : kNoRow;
  if (row == kNoRow || !impl_->store().current().nodes.exists(row))
    return tl::unexpected(unknown("no node " + std::string(node_id)));
  const auto parsed = tables::parse_node_status(status);
  if (!parsed) return tl::unexpected(unknown("no node status " + std::string(status)));
  impl_->store().set_node_state(row, *parsed, eligible, draining, impl_->next_index());
  return {};
}

Result<void> Cluster::register_job(const Job& job) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  const tables::Snapshot& state = impl_->store().current();
  const tables::JobKeyRow key = impl_->find_job(job.job_namespace(), job.id());
  const model::Job* stored = key == kNoRow ? nullptr : state.jobs.versions[state.jobs.keys[key].current]->spec.get();
  auto registered = register_against(job.impl_->input, job.impl_->path, state, stored);
  if (!registered) return tl::unexpected(registered.error());
  const std::uint64_t index = impl_->next_index();
  model::Job& added = **registered;
  if (stored && !model::spec_changed(*stored, added)) return {};
  added.create_index = stored ? stored->create_index : index;
  added.modify_index = added.job_modify_index = index;
  added.version = stored ? stored->version + 1 : 0;
  impl_->store().begin_commit(index).upsert_job(*registered, true);
  return {};
}

Result<std::uint32_t, Error> Cluster::remove_job(std::string_view job_namespace, std::string_view job_id) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.error());
  const tables::JobKeyRow key = impl_->find_job(job_namespace, job_id);
  if (key == kNoRow) return tl::unexpected(unknown("no job " + std::string(job_id)));
  tables::Commit commit = impl_->store().begin_commit(impl_->next_index());
  commit.stop_job(key);
  commit.purge_job(key);
  return commit.end_job(key);
}

Result<void, Error> Cluster::remove_node(std::string_view node_id) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.error());
  const auto id = base::parse_uuid(node_id);
  const tables::NodeRow row = id ? impl_->store().find_node(*id) : kNoRow;
  if (row == kNoRow || !impl_->store().current().nodes.exists(row))
    return tl::unexpected(unknown("no node " + std::string(node_id)));
  impl_->store().begin_commit(impl_->next_index()).remove_node(row);
  return {};
}

/// Decides a job in `lane`. Writes no shared state, so lanes may decide in parallel.
Result<Plan, Error> Cluster::Impl::decide(const Asked& asked, server::Lane& lane, std::int64_t now_ns) {
  Impl& impl = *this;
  const tables::Snapshot& state = impl.store().current();  // not written meanwhile: one thread owns the cluster
  const auto job = state.jobs.versions[state.jobs.keys[asked.job].current];
  sched::NoPlanner planner;  // the caller calls commit()
  impl.server.decide({.id = asked.id, .job = asked.job, .tag = asked.tag}, state, lane, planner);
  const sched::EvalResult& result = lane.result;
  if (result.status != sched::EvalStatus::complete)
    return tl::unexpected(Error{Errc::processing_failed, 0, result.description});

  const sched::Naming naming{state, lane.scratch};
  const std::string& pool = job->spec->node_pool;
  Plan out;
  out.eval_id = base::to_text(asked.id);
  out.job_id = job->spec->id;
  out.job_namespace = job->spec->namespace_;
  for (const plan::PlannedAlloc& alloc : result.plan.allocs) {
    Placement& p = out.placements.emplace_back();
    const std::string& group = job->groups[alloc.group].spec->name;
    p.alloc_id = base::to_text(alloc.id);
    p.name = job->spec->id + "." + group + "[" + std::to_string(alloc.name_index) + "]";
    p.task_group = group;
    p.node_id = base::to_text(state.nodes.id(alloc.node));
    if (const std::string* name = state.value_text(tables::kNameColumn, alloc.node)) p.node_name = *name;
    p.score = alloc.score;
    p.metrics = to_metrics(state, sched::to_model(naming, alloc.metrics, pool));
  }
  for (std::size_t g = 0; g < result.groups.size(); ++g) {
    if (!result.groups[g].failed) continue;
    Failure& f = out.failures.emplace_back();
    f.task_group = state.text(result.groups[g].name);
    f.count = result.groups[g].failure.coalesced + 1;
    f.metrics = to_metrics(state, sched::to_model(naming, result.groups[g].failure, pool));
    f.reasons = reasons_of(f.metrics);
  }
  for (const plan::PlannedStop& stop : result.plan.stops)
    if (!stop.dropped) out.stops.push_back(to_stop(state, stop));
  for (const plan::PlannedUpdate& update : result.plan.updates)
    out.updated_in_place += !update.dropped && update.kind == plan::PlannedUpdate::Kind::in_place;
  out.rows = std::make_shared<Plan::Rows>();
  out.rows->owner = &impl;
  out.rows->all_at_once = job->spec->all_at_once || job->gang;
  out.rows->plan = result.plan;
  for (plan::PlannedAlloc& alloc : out.rows->plan.allocs) alloc.metrics = {};
  if (result.plan.has_deployment)
    if (auto deployment = sched::planned_deployment(naming, result, job->priority, now_ns))
      out.rows->plan.deployment = std::make_shared<const model::Deployment>(std::move(*deployment));
  return out;
}

void Cluster::Impl::count(const Plan& plan) {
  ++stats.evaluations;
  stats.placements += plan.placements.size();
  for (const Failure& failure : plan.failures) stats.failures += static_cast<std::uint64_t>(failure.count);
}

Result<Plan, Error> Cluster::schedule(std::string_view job_namespace, std::string_view job_id, std::int64_t now_ns) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.error());
  Impl& impl = *impl_;
  const tables::JobKeyRow key = impl.find_job(job_namespace, job_id);
  if (key == kNoRow) return tl::unexpected(unknown("no job " + std::string(job_id)));
  impl.clock.set(now_ns);
  auto plan = impl.decide({impl.server.draw_id(), key, ++impl.schedules}, impl.server.lane(), now_ns);
  if (plan) impl.count(*plan);
  return plan;
}

std::vector<Result<Plan, Error>> Cluster::schedule_all(const std::vector<Job>& jobs, std::int64_t now_ns) {
  Impl& impl = *impl_;
  const InUse::Turn turn(impl.use);
  if (!turn) return std::vector<Result<Plan, Error>>(jobs.size(), tl::unexpected(impl.use.error()));
  std::vector<Result<Plan, Error>> out(jobs.size());
  std::vector<std::pair<std::size_t, Impl::Asked>> asked;  // drawn in order, so that results do not depend on threads
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const tables::JobKeyRow key = impl.find_job(jobs[i].job_namespace(), jobs[i].id());
    if (key == kNoRow)
      out[i] = tl::unexpected(unknown("no job " + jobs[i].id()));
    else
      asked.push_back({i, {impl.server.draw_id(), key, ++impl.schedules}});
  }
  impl.clock.set(now_ns);
  std::atomic<std::size_t> next{0};
  const auto work = [&](server::Lane& lane) {
    for (std::size_t i = next++; i < asked.size(); i = next++)
      out[asked[i].first] = impl.decide(asked[i].second, lane, now_ns);
  };
  const auto threads = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::clamp<std::uint32_t>(impl.config.workers, 1, kWorkersMost), asked.size()));
  if (threads <= 1) {
    work(impl.server.lane());
  } else {
    while (impl.lanes.size() < threads) impl.lanes.push_back(impl.server.make_lane());
    for (const auto& lane : impl.lanes) impl.strategy.use_in(lane->scratch.strategy_fit);
    try {
      const server::Team team(threads, [&](std::uint32_t i) { work(*impl.lanes[i]); });
    } catch (const std::system_error&) {
      work(impl.server.lane());  // no thread could be started
    }
  }
  for (const auto& plan : out)
    if (plan) impl.count(*plan);
  return out;
}

Result<Plan> Cluster::dry_run(const Job& job, std::int64_t now_ns) const {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  Cluster copy(impl_->config);
  copy.impl_->load(tables::to_cluster(impl_->store().current()));
  copy.impl_->strategy = impl_->strategy;
  copy.impl_->strategy.use_in(copy.impl_->server.lane().scratch.strategy_fit);
  if (auto done = copy.register_job(job); !done) return tl::unexpected(done.error());
  auto plan = copy.schedule(job, now_ns);
  if (!plan) return tl::unexpected(InputError{job.impl_->path, "", plan.error().text, ""});
  plan->rows.reset();  // their cluster is gone
  return std::move(*plan);
}

Result<CommitResult, Error> Cluster::commit(const Plan& plan) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.error());
  Impl& impl = *impl_;
  if (!plan.rows || plan.rows->used || plan.rows->owner != &impl)
    return tl::unexpected(
        Error{Errc::already_used, 0, "the plan was committed before or is not of this cluster; schedule again"});
  plan.rows->used = true;
  plan::PlanRows& rows = plan.rows->plan;
  const std::uint64_t index = impl.next_index();
  if (rows.deployment) {
    model::Deployment deployment = *rows.deployment;
    deployment.create_index = deployment.modify_index = index;
    rows.deployment = std::make_shared<const model::Deployment>(std::move(deployment));
  }
  plan::ApplyResult& applied = impl.server.lane().applied;
  impl.server.applier().apply(rows, index, plan.rows->all_at_once, applied);
  impl.stats.refused += applied.refused;
  if (!applied.error.empty()) return tl::unexpected(Error{Errc::processing_failed, 0, applied.error});
  impl.stats.committed += applied.committed;
  impl.stats.commits += applied.index != 0;
  CommitResult out;
  out.index = applied.index;
  out.committed = applied.committed;
  out.refused = applied.refused;
  const tables::Snapshot& state = impl.store().current();
  for (std::size_t i = 0; i < applied.rejected_nodes.size(); ++i) {
    RejectedNode& node = out.rejected.emplace_back();
    node.reason = applied.reasons[i];
    const tables::NodeRow row = applied.rejected_nodes[i];
    if (row == tables::kNoRow) continue;  // of an allocation whose node the cluster does not have
    node.node_id = base::to_text(state.nodes.id(row));
    if (const std::string* name = state.value_text(tables::kNameColumn, row)) node.node_name = *name;
  }
  return out;
}

Result<void, Error> Cluster::set_alloc_status(std::string_view alloc_id, std::string_view status) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.error());
  const auto id = base::parse_uuid(alloc_id);
  const tables::AllocRow row = id ? impl_->store().find_alloc(*id) : kNoRow;
  if (row == kNoRow) return tl::unexpected(unknown("no allocation " + std::string(alloc_id)));
  const auto parsed = tables::parse_client(status);
  if (!parsed) return tl::unexpected(unknown("no allocation status " + std::string(status)));
  impl_->store().set_client_status(row, *parsed, impl_->next_index());
  return {};
}

bool Cluster::in_use() const { return impl_->use.held(); }

View Cluster::view() const {
  auto impl = std::make_shared<View::Impl>();
  impl->owner = impl_;
  impl->state = impl_->store().snapshot();
  return View(std::move(impl));
}

const Stats& Cluster::stats() const { return impl_->stats; }

}  // namespace berth
