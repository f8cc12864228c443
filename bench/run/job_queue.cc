#include "run/job_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/assert.h"
#include "model/job.h"
#include "run/waits.h"
#include "sim/load_store.h"

namespace berth::run {
JobQueue::JobQueue(std::unique_ptr<strategy::QueuePolicy> policy, const sim::JobStream& jobs)
    : policy_(std::move(policy)), jobs_(jobs), number_(jobs.arrivals.size()) {
  const std::vector<sim::JobArrival>& arrivals = jobs.arrivals;
  std::vector<std::uint32_t> order(arrivals.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(arrivals[a].due_ns, arrivals[a].number) < std::tie(arrivals[b].due_ns, arrivals[b].number);
  });
  for (std::uint32_t i = 0; i < order.size(); ++i) number_[order[i]] = i;
}

void JobQueue::start(broker::Broker& broker, const tables::Snapshot& state) {
  broker_ = &broker;
  if (!policy_->shares()) return;
  capacity_ = sim::measure_packing(state, {}).usable;
  for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
    if (state.allocs.exists(row) && !tables::client_terminal(state.allocs.client[row])) count(state, row, 1);
  for (std::uint32_t line = 0; line < lines_.size(); ++line) publish(line);
}

void JobQueue::arrived(const tables::Snapshot& state, tables::JobKeyRow job, std::size_t arrival) {
  if (policy_->shares()) static_cast<void>(line_of(state, job));
  if (job >= facts_.size()) facts_.resize(job + std::size_t{1});
  Facts& facts = facts_[job];
  const sim::JobArrival& now = jobs_.arrivals[arrival];
  if (now.version == 0 || !facts.waits)
    facts = {number_[arrival], now.due_ns, now.run_time_ns, INT64_MAX, true, facts.started};
  facts.run_time_ns = now.run_time_ns;
  if (const std::int64_t after_ns = jobs_.deadline_of(now); after_ns > 0)
    facts.deadline_ns = sim::deadline_at(facts.arrived_ns, after_ns);
}

std::uint32_t JobQueue::line_of(const tables::Snapshot& state, tables::JobKeyRow job) {
  constexpr std::uint32_t kUnknown = UINT32_MAX;
  if (job >= lines_of_.size()) lines_of_.resize(job + std::size_t{1}, kUnknown);
  if (lines_of_[job] != kUnknown) return lines_of_[job];
  const tables::Symbol space = state.jobs.keys[job].job_namespace;
  const auto [at, is_new] = line_by_name_.emplace(space, static_cast<std::uint32_t>(lines_.size()));
  if (is_new) {
    lines_.push_back({.weight = policy_->quotas() ? 1 : share_of(state, space), .space = space});
    if (quotas_) quotas_->add_namespace(share_of(state, space));
  }
  return lines_of_[job] = at->second;
}

/// The weight of a namespace, or its quota.
double JobQueue::share_of(const tables::Snapshot& state, tables::Symbol space) const {
  const auto at = policy_->shares()->find(std::string(state.text(space)));
  return at != policy_->shares()->end() ? at->second : policy_->quotas() ? 0 : 1;
}

void JobQueue::use_forecast(std::unique_ptr<Forecast> forecast, const tables::Snapshot& state) {
  if (!policy_->quotas()) {
    waiting_.emplace(*policy_->reservations(), std::move(forecast));
    return;
  }
  quotas_.emplace(*policy_->quotas(), capacity_, std::move(forecast));
  for (const Line& line : lines_) quotas_->add_namespace(share_of(state, line.space));
  for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
    if (state.allocs.exists(row) && !tables::client_terminal(state.allocs.client[row]) &&
        state.allocs.node[row] != tables::kNoRow) {
      const tables::JobKeyRow job = state.allocs.job_key[row];
      quotas_->started(line_of(state, job), job, row, held_by(state, row));
    }
}

sim::Amounts JobQueue::held_by(const tables::Snapshot& state, tables::AllocRow alloc) const {
  const tables::ResourceShape& held = state.allocs.shape_of(alloc);
  return {held.cpu_mhz, held.memory_mb, held.disk_mb,
          sim::healthy_devices(held, state.nodes.spec(state.allocs.node[alloc]).devices)};
}

void JobQueue::count(const tables::Snapshot& state, tables::AllocRow alloc, std::int64_t sign) {
  if (state.allocs.node[alloc] == tables::kNoRow) return;  // an import without its node
  const sim::Amounts held = held_by(state, alloc);
  const tables::JobKeyRow job = state.allocs.job_key[alloc];
  const std::uint32_t at = line_of(state, job);
  decay(lines_[at]);
  sim::Amounts& used = lines_[at].used;
  used.cpu_mhz += sign * held.cpu_mhz, used.memory_mb += sign * held.memory_mb;
  used.disk_mb += sign * held.disk_mb, used.devices += sign * held.devices;
  if (!quotas_) return;
  if (sign > 0)
    quotas_->started(at, job, alloc, held);
  else
    quotas_->ended(at, job, alloc, held);
}

/// Brings the mean up to now: use so far counts by 2^(-time / half-life), use since then by the rest.
void JobQueue::decay(Line& line) const {
  if (policy_->half_life_s() <= 0) return;
  const double kept = std::exp2(-static_cast<double>(now_ns_ - line.at_ns) / 1e9 / policy_->half_life_s());
  const std::array<std::int64_t, 4> used = {line.used.cpu_mhz, line.used.memory_mb, line.used.disk_mb,
                                            line.used.devices};
  for (std::size_t i = 0; i < used.size(); ++i)
    line.mean[i] = line.mean[i] * kept + static_cast<double>(used[i]) * (1 - kept);
  line.at_ns = now_ns_;
}

void JobQueue::publish(std::uint32_t line) {
  const Line& of = lines_[line];
  const auto share = [&](std::int64_t used, double mean, std::int64_t capacity) {
    if (policy_->half_life_s() <= 0) return sim::Packing::share(used, capacity);
    return capacity <= 0 ? 0 : mean / static_cast<double>(capacity);
  };
  const double dominant = std::max(
      {share(of.used.cpu_mhz, of.mean[0], capacity_.cpu_mhz), share(of.used.memory_mb, of.mean[1], capacity_.memory_mb),
       share(of.used.disk_mb, of.mean[2], capacity_.disk_mb), share(of.used.devices, of.mean[3], capacity_.devices)});
  broker_->set_share(line, dominant / of.weight);
}

void JobQueue::advance(std::int64_t now_ns) {
  now_ns_ = now_ns;
  if (!policy_->shares() || policy_->half_life_s() <= 0) return;
  for (std::uint32_t line = 0; line < lines_.size(); ++line) decay(lines_[line]), publish(line);
}

void JobQueue::committed(const tables::Snapshot& state, const server::Lane& lane, bool whole) {
  const tables::JobKeyRow job = lane.record->job;
  if (job < facts_.size()) {
    if (whole) facts_[job].waits = false;
    facts_[job].started = facts_[job].started || lane.alloc_count > 0;
  }
  if (forecast()) {
    const Facts facts = job < facts_.size() ? facts_[job] : Facts{};
    const std::int64_t predicted_ns = policy_->predicted_ns(waiting_job(facts, lane.record->priority));
    for (tables::AllocRow row = lane.first_alloc; row < lane.first_alloc + lane.alloc_count; ++row)
      forecast()->started(state, row, lane.record->due_ns, predicted_ns);
  }
  if (!policy_->shares() || lane.alloc_count == 0) return;
  for (tables::AllocRow row = lane.first_alloc; row < lane.first_alloc + lane.alloc_count; ++row) count(state, row, 1);
  publish(line_of(state, job));
}

void JobQueue::ends(const tables::Snapshot& state, tables::AllocRow first, std::uint32_t count_of) {
  if (forecast()) {
    for (tables::AllocRow row = first; row < first + count_of; ++row) forecast()->ended(row);
    changed();
  }
  if (!policy_->shares() || count_of == 0) return;
  for (tables::AllocRow row = first; row < first + count_of; ++row)
    if (!tables::client_terminal(state.allocs.client[row])) count(state, row, -1);
  publish(line_of(state, state.allocs.job_key[first]));
}

bool JobQueue::holds_back(const tables::Snapshot& state, const server::NewEval& eval) {
  if (!forecast()) return false;
  const tables::VersionRow version = state.jobs.keys[eval.job].current;
  const tables::CompiledJob& job = *state.jobs.versions[version];
  forecast()->registered(eval.job, job.spec);
  const Facts& facts = facts_[eval.job];
  if (facts.started || job.type == model::JobType::system || job.type == model::JobType::sysbatch) return false;
  const strategy::WaitingJob waiting = waiting_job(facts, static_cast<std::int32_t>(job.priority));
  if (waiting_)
    waiting_->wait(key_of(waiting), facts.number,
                   {eval, policy_->predicted_ns(waiting), job.gang ? job.gang->limit_ns : INT64_MAX});
  else
    quotas_->wait(line_of(state, eval.job), key_of(waiting), facts.number, {eval, demand_of(job)});
  return true;
}

std::optional<Quotas::Start> JobQueue::next_to_start(std::int64_t now_ns, std::uint64_t index) {
  if (quotas_) return quotas_->next_to_start(now_ns, index);
  const auto eval = waiting_ ? waiting_->next_to_start(now_ns, index) : std::nullopt;
  return eval ? std::optional(Quotas::Start{*eval, {}}) : std::nullopt;
}

void JobQueue::evicted(tables::JobKeyRow job) { facts_.at(job).started = false, facts_.at(job).waits = true; }

bool JobQueue::gave_up(tables::JobKeyRow job) {
  facts_.at(job).waits = false;
  return waiting_ ? waiting_->forget(job) : quotas_ && quotas_->forget(job);
}

void JobQueue::set_ready(tables::NodeRow node, bool ready) {
  if (!forecast()) return;
  forecast()->set_ready(node, ready);
  changed();
}

strategy::WaitingJob JobQueue::waiting_job(const Facts& facts, std::int32_t priority) const {
  return {facts.number, facts.arrived_ns, facts.run_time_ns, priority, facts.deadline_ns};
}

double JobQueue::key_of(const strategy::WaitingJob& job) const {
  const double key = policy_->key(job);
  return std::isnan(key) ? std::numeric_limits<double>::infinity() : key;
}

broker::Place JobQueue::place(const broker::Eval& eval) {
  const auto job = static_cast<tables::JobKeyRow>(eval.job);
  const Facts facts = job < facts_.size() ? facts_[job] : Facts{};
  broker::Place out{.key = key_of(waiting_job(facts, eval.priority)), .number = facts.number};
  if (policy_->shares()) {
    BERTH_ASSERT(job < lines_of_.size() && lines_of_[job] != UINT32_MAX);  // it arrived
    out.line = lines_of_[job];
  }
  return out;
}

}  // namespace berth::run
