#include "run/forecast.h"

#include <algorithm>
#include <utility>

#include "model/job.h"
#include "run/server_settings.h"
#include "server/lane.h"
#include "sim/job_generator.h"
#include "sim/load_store.h"
#include "tables/commit.h"

namespace berth::run {
namespace {

constexpr std::int64_t kEndless = INT64_MAX;

server::Config settings_of(const sim::Workload& workload) {
  server::Config config = server_settings(workload);
  config.broker.evals = config.broker.jobs = 16;  // no evaluation waits here
  return config;
}

}  // namespace

Forecast::Forecast(const sim::Workload& workload, const sim::GeneratedCluster& cluster,
                   const std::optional<model::SchedulerConfiguration>& config, const sim::FitStrategy* fit)
    : server_(settings_of(workload), clock_), next_(running_.end()) {
  tables::StateStore& store = server_.store();
  sim::load_store(store, cluster);
  model::SchedulerConfiguration without = config.value_or(model::SchedulerConfiguration{});
  without.preemption_config = {};
  without.preemption_config.system_scheduler_enabled = false;
  store.set_scheduler_config(without);
  store.keep_history();  // rows of removed allocations are reused
  const auto rows = static_cast<tables::AllocRow>(store.current().allocs.size());
  start_ns_.assign(rows, 0), end_ns_.assign(rows, kEndless);
  for (tables::AllocRow row = 0; row < rows; ++row) {
    rows_.push_back(row);
    const tables::AllocTable& allocs = store.current().allocs;
    const bool runs = allocs.exists(row) && !tables::client_terminal(allocs.client[row]);
    if (runs) running_.emplace(kEndless, row);
  }
  model::Job stand_in = sim::registered_job("stand-in of all that runs", "batch", 50);
  stand_in.task_groups.push_back(sim::registered_group("batch", "running", 1, "exec", 1, 1, 1));
  stand_in_ = store.upsert_job(std::make_shared<const model::Job>(std::move(stand_in)), true);
  lane_ = server_.make_lane();
  if (fit) lane_->scratch.strategy_fit.use(fit->ranker->fit(), fit->models, fit->device_shares);
  next_ = running_.end();
}

// ---------------------------------------------------------------- follows the run

void Forecast::registered(tables::JobKeyRow job, const std::shared_ptr<const model::Job>& what) {
  rewind();
  if (job >= keys_.size()) keys_.resize(job + std::size_t{1}, tables::kNoRow);
  keys_[job] = server_.register_job(what);
}

tables::AllocRow Forecast::insert(tables::NodeRow node, const std::shared_ptr<const tables::ResourceShape>& shape) {
  const tables::AllocRow row = server_.store().insert_plain({.id = {0x666f726563617374, ++ids_},
                                                             .node = node,
                                                             .job = stand_in_,
                                                             .client = tables::Client::running,
                                                             .shape = shape},
                                                            0);
  changed(node);
  if (row >= end_ns_.size()) start_ns_.resize(row + std::size_t{1}), end_ns_.resize(row + std::size_t{1}, kEndless);
  return row;
}

void Forecast::remove(tables::AllocRow row) {
  const tables::NodeRow node = server_.store().current().allocs.node[row];
  server_.store().begin_commit().remove_alloc(row);
  changed(node);
}

void Forecast::started(const tables::Snapshot& state, tables::AllocRow alloc, std::int64_t at_ns, std::int64_t run_ns) {
  rewind();
  const tables::ShapeId id = state.allocs.shape[alloc];
  const tables::AllocRow row = insert(state.allocs.node[alloc], state.allocs.shapes[id]);
  if (alloc >= rows_.size()) rows_.resize(alloc + std::size_t{1}, tables::kNoRow);
  rows_[alloc] = row;
  start_ns_[row] = at_ns;
  end_ns_[row] = run_ns >= 0 && run_ns < kEndless - at_ns ? at_ns + run_ns : kEndless;
  running_.emplace(end_ns_[row], row);
}

void Forecast::ended(tables::AllocRow alloc) {
  rewind();
  if (alloc >= rows_.size() || rows_[alloc] == tables::kNoRow) return;
  const tables::AllocRow row = std::exchange(rows_[alloc], tables::kNoRow);
  running_.erase({end_ns_[row], row});
  remove(row);
}

void Forecast::set_ready(tables::NodeRow node, bool ready) {
  rewind();
  server_.store().set_node_state(node, ready ? tables::NodeStatus::ready : tables::NodeStatus::down, true, false);
}

void Forecast::expect_end(tables::AllocRow alloc, std::int64_t end_ns) {
  rewind();
  const tables::AllocRow row = rows_.at(alloc);
  if (running_.erase({end_ns_[row], row}) == 0) return;
  end_ns_[row] = end_ns;
  running_.emplace(end_ns, row);
}

// ---------------------------------------------------------------- a trial

void Forecast::rewind() {
  room_.forget();
  for (const auto& [end_ns, row] : placed_) remove(row);
  placed_.clear();
  for (const tables::AllocRow row : over_) server_.store().set_client_status(row, tables::Client::running, 0);
  over_.clear();
}

bool Forecast::expect_longer(std::int64_t now_ns) {
  if (running_.empty() || running_.begin()->first > now_ns) return false;
  rewind();
  while (!running_.empty() && running_.begin()->first <= now_ns) {
    const tables::AllocRow row = running_.begin()->second;
    running_.erase(running_.begin());
    const std::int64_t run_ns = std::max<std::int64_t>(end_ns_[row] - start_ns_[row], 1);
    end_ns_[row] = run_ns < (kEndless - start_ns_[row]) / 2 ? start_ns_[row] + 2 * run_ns : kEndless;
    running_.emplace(end_ns_[row], row);
  }
  return true;
}

void Forecast::begin(std::int64_t now_ns, std::uint64_t index) {
  rewind();
  next_ = running_.begin();
  clock_.set(now_ns);
  server_.store().set_index(index);
}

std::optional<std::int64_t> Forecast::next_end() const {
  std::int64_t at_ns = kEndless;
  if (next_ != running_.end()) at_ns = next_->first;
  if (!placed_.empty()) at_ns = std::min(at_ns, placed_.begin()->first);
  return at_ns == kEndless ? std::nullopt : std::optional(at_ns);
}

void Forecast::advance(std::int64_t at_ns) {
  for (; next_ != running_.end() && next_->first <= at_ns; ++next_) {
    server_.store().set_client_status(next_->second, tables::Client::complete, 0);
    over_.push_back(next_->second);
    changed(server_.store().current().allocs.node[next_->second]);
  }
  for (; !placed_.empty() && placed_.begin()->first <= at_ns; placed_.erase(placed_.begin()))
    remove(placed_.begin()->second);
}

void Forecast::end(tables::AllocRow alloc) {
  over_.push_back(rows_.at(alloc));
  server_.store().set_client_status(over_.back(), tables::Client::complete, 0);
  changed(server_.store().current().allocs.node[over_.back()]);
}

void Forecast::watch(tables::JobKeyRow job) {
  const tables::Snapshot& state = server_.store().current();
  room_.watch(state.nodes, *state.jobs.versions[state.jobs.keys[keys_.at(job)].current]);
}

void Forecast::changed(tables::NodeRow node) { room_.update(server_.store().current().nodes, node); }

bool Forecast::place(server::NewEval eval, std::int64_t end_ns) {
  eval.job = keys_.at(eval.job);
  sched::NoPlanner planner;
  const tables::Snapshot& state = server_.store().current();
  server_.decide(eval, state, *lane_, planner);
  const sched::EvalResult& result = lane_->result;
  if (result.status != sched::EvalStatus::complete || result.any_failed()) return false;
  const tables::CompiledJob& job = *state.jobs.versions[result.plan.job];
  last_placed_.clear();
  for (const plan::PlannedAlloc& alloc : result.plan.allocs) {
    const auto& shape = alloc.shape ? alloc.shape : job.groups[alloc.group].shape;
    last_placed_.push_back({alloc.node, shape->cpu_mhz, shape->memory_mb, shape->disk_mb});
    placed_.emplace(end_ns, insert(alloc.node, shape));
  }
  return true;
}

}  // namespace berth::run
