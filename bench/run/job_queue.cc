#include "run/job_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/assert.h"
#include "sim/load_store.h"

namespace berth::run {
JobQueue::JobQueue(std::unique_ptr<strategy::QueuePolicy> policy, const std::vector<sim::JobArrival>& arrivals)
    : policy_(std::move(policy)), arrivals_(arrivals), number_(arrivals.size()) {
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
    if (state.allocs.exists(row) && !state.allocs.terminal(row)) count(state, row, 1);
  for (std::uint32_t line = 0; line < lines_.size(); ++line) publish(line);
}

void JobQueue::arrived(const tables::Snapshot& state, tables::JobKeyRow job, std::size_t arrival) {
  if (policy_->shares()) static_cast<void>(line_of(state, job));
  if (job >= facts_.size()) facts_.resize(job + std::size_t{1});
  Facts& facts = facts_[job];
  const sim::JobArrival& now = arrivals_[arrival];
  if (now.version == 0 || !facts.waits) facts = {number_[arrival], now.due_ns, now.run_time_ns, true};
  facts.run_time_ns = now.run_time_ns;
}

std::uint32_t JobQueue::line_of(const tables::Snapshot& state, tables::JobKeyRow job) {
  constexpr std::uint32_t kUnknown = UINT32_MAX;
  if (job >= lines_of_.size()) lines_of_.resize(job + std::size_t{1}, kUnknown);
  if (lines_of_[job] != kUnknown) return lines_of_[job];
  const tables::Symbol space = state.jobs.keys[job].job_namespace;
  const auto [at, is_new] = line_by_name_.emplace(space, static_cast<std::uint32_t>(lines_.size()));
  if (is_new) {
    const auto weight = policy_->shares()->find(std::string(state.text(space)));
    lines_.push_back({weight == policy_->shares()->end() ? 1 : weight->second, {}});
  }
  return lines_of_[job] = at->second;
}

void JobQueue::count(const tables::Snapshot& state, tables::AllocRow alloc, std::int64_t sign) {
  const tables::NodeRow node = state.allocs.node[alloc];
  if (node == tables::kNoRow) return;  // an import without its node
  const tables::ResourceShape& held = state.allocs.shape_of(alloc);
  sim::Amounts& used = lines_[line_of(state, state.allocs.job_key[alloc])].used;
  used.cpu_mhz += sign * held.cpu_mhz, used.memory_mb += sign * held.memory_mb;
  used.disk_mb += sign * held.disk_mb;
  used.devices += sign * sim::healthy_devices(held, state.nodes.spec(node).devices);
}

void JobQueue::publish(std::uint32_t line) {
  const Line& of = lines_[line];
  const double dominant = std::max({sim::Packing::share(of.used.cpu_mhz, capacity_.cpu_mhz),
                                    sim::Packing::share(of.used.memory_mb, capacity_.memory_mb),
                                    sim::Packing::share(of.used.disk_mb, capacity_.disk_mb),
                                    sim::Packing::share(of.used.devices, capacity_.devices)});
  broker_->set_share(line, dominant / of.weight);
}

void JobQueue::committed(const tables::Snapshot& state, const server::Lane& lane, bool whole) {
  const tables::JobKeyRow job = lane.record->job;
  if (whole && job < facts_.size()) facts_[job].waits = false;
  if (!policy_->shares() || lane.alloc_count == 0) return;
  for (tables::AllocRow row = lane.first_alloc; row < lane.first_alloc + lane.alloc_count; ++row) count(state, row, 1);
  publish(line_of(state, job));
}

void JobQueue::ends(const tables::Snapshot& state, tables::AllocRow first, std::uint32_t count_of) {
  if (!policy_->shares() || count_of == 0) return;
  for (tables::AllocRow row = first; row < first + count_of; ++row)
    if (!tables::client_terminal(state.allocs.client[row])) count(state, row, -1);
  publish(line_of(state, state.allocs.job_key[first]));
}

broker::Place JobQueue::place(const broker::Eval& eval) {
  const auto job = static_cast<tables::JobKeyRow>(eval.job);
  const Facts facts = job < facts_.size() ? facts_[job] : Facts{};
  broker::Place out{.number = facts.number};
  out.key = policy_->key({facts.number, facts.arrived_ns, facts.run_time_ns, eval.priority});
  if (std::isnan(out.key)) out.key = std::numeric_limits<double>::infinity();
  if (policy_->shares()) {
    BERTH_ASSERT(job < lines_of_.size() && lines_of_[job] != UINT32_MAX);  // it arrived
    out.line = lines_of_[job];
  }
  return out;
}

}  // namespace berth::run
