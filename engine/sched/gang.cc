// Gangs (model/gang.h): attempts that place all allocations or none, within few values of a topology's target.
//
// Sets of values are tried one after the other, each as an attempt of its own on the same state, with the same IDs. An
// attempt plans what the job would get if a constraint allowed only nodes with these values.
//
//   1  the values that the job's allocations use now; a new gang uses none
//   2  those of the allocations that stay, neither stopped nor replaced, and one more, for each value, in the order of
//      the topology
//   3  these and the 2, 3, ... values in which step 2 placed most, up to the most that the rules allow
//
// The first set in which all allocations find a node is taken. If the job may preempt, all sets are tried without
// eviction first. If there is none, the plan keeps only what no placement needs, such as the stops of lost allocations.
//
// A gang of one group finds a set if there is one: a set holds at most the sum of what its values hold, and step 3
// chooses by these numbers. This is not so if `distinct_property` or volumes couple values. With several groups, too, a
// set that fits may be missed: allocations are placed group by group, and step 3 does not try all sets.
//
// Cost: an attempt per value, of 1000 at most, and per step of 3, each until its first failed placement; for the order,
// one pass over the ready nodes.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/time.h"
#include "model/job.h"
#include "sched/generic.h"

namespace berth::sched {

using feasible::PropertySet;
using tables::CompiledGang;
using tables::kNoRow;
using tables::NodeRow;

namespace {

/// Most values that an evaluation tries one by one, the first in order: each costs an attempt.
constexpr std::size_t kMostValues = 1000;

/// Resources of the nodes of one value.
struct Use {
  double cpu_used = 0, cpu = 0, memory_used = 0, memory = 0;
  [[nodiscard]] double share() const {
    return std::max(cpu > 0 ? cpu_used / cpu : 0, memory > 0 ? memory_used / memory : 0);
  }
};

std::uint32_t value_of(const tables::NodeTable& nodes, const CompiledGang& gang, NodeRow row) {
  return value_code(nodes, gang.target.target, gang.target.column, row);
}

}  // namespace

/// Clears the attempt's plan and result, as attempt() does at its beginning, so that another set can be tried.
void GenericScheduler::begin_again() {
  EvalResult& result = *given_.result;
  const tables::VersionRow version = result.plan.job;
  scratch_.arena.reset();
  result.begin_attempt(*given_.state);
  result.plan.job = version;
  reconciled_.followups.clear();
  stack_.start(*given_.state, result.plan);
  stack_.set_job(*job_, config_for(*job_));
}

/// The values of the nodes on which allocations of the job stay, ascending. `stopped`: allocations to leave out,
/// sorted. `all`: also those of nodes that drain or are not ready, which they leave sooner or later.
std::vector<std::uint32_t> GenericScheduler::values_in_use(std::span<const tables::AllocRow> stopped, bool all) const {
  const tables::Snapshot& state = *given_.state;
  std::vector<std::uint32_t> out;
  for (tables::AllocRow row = state.jobs.keys[job_->key].alloc_head; row != kNoRow;
       row = state.allocs.next_of_job[row]) {
    const NodeRow node = state.allocs.node[row];
    if (state.allocs.terminal(row) || node == kNoRow || !state.nodes.exists(node) ||
        std::binary_search(stopped.begin(), stopped.end(), row))
      continue;
    if (!all &&
        (state.nodes.status(node) != tables::NodeStatus::ready || (state.nodes.state[node] & tables::kDraining)))
      continue;
    if (const std::uint32_t value = value_of(state.nodes, *job_->gang, node); value != PropertySet::kNoValue)
      out.push_back(value);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The values of the allocations that the last attempt neither stops nor replaces, ascending.
std::vector<std::uint32_t> GenericScheduler::values_that_stay() const {
  std::vector<tables::AllocRow> stopped;
  for (const plan::PlannedStop& stop : given_.result->plan.stops)
    if (!stop.evict && !stop.dropped) stopped.push_back(stop.alloc);
  if (!was_new_)
    for (const auto& replaced : reconciled_.destructive_update) stopped.push_back(allocs_.rows()[replaced.row]);
  std::sort(stopped.begin(), stopped.end());
  return values_in_use(stopped);
}

/// The values of the nodes that the job may use, in the order of the topology; equal shares by name.
std::vector<std::uint32_t> GenericScheduler::values_in_order() {
  const tables::Snapshot& state = *given_.state;
  const CompiledGang& gang = *job_->gang;
  std::map<std::uint32_t, Use> uses;
  for (const auto& candidate : scratch_.ready_nodes(state, job_->base_set).candidates) {
    const std::uint32_t value = value_of(state.nodes, gang, candidate.row);
    if (value == PropertySet::kNoValue) continue;
    Use& use = uses[value];
    const tables::NodeCapacity& capacity = state.nodes.capacity(candidate.row);
    const tables::NodeUse& used = state.nodes.use[candidate.row];
    use.cpu += static_cast<double>(capacity.cpu_mhz), use.cpu_used += static_cast<double>(used.cpu_mhz);
    use.memory += static_cast<double>(capacity.memory_mb), use.memory_used += static_cast<double>(used.memory_mb);
  }
  std::vector<std::tuple<double, std::string, std::uint32_t>> places;
  for (const auto& entry : uses) {
    const std::uint32_t value = entry.first;
    const double share = entry.second.share();
    std::string name = state.text(state.nodes.column(gang.target.column).value(value));
    places.emplace_back(gang.rules.spread ? share : -share, std::move(name), value);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::uint32_t> out;
  for (const auto& place : places) out.push_back(std::get<2>(place));
  return out;
}

/// Plans all missing allocations of a gang, or none of them. On false, `result` holds an error.
bool GenericScheduler::place_gang(bool is_new) {
  EvalResult& result = *given_.result;
  const bool done = job_->gang->rules.target.empty() ? plan_missing(is_new) : place_within_values(is_new);
  if (!done || !result.any_failed()) return done;
  if (is_new) {
    const tables::VersionRow version = result.plan.job;
    result.plan.clear();
    result.plan.job = version;
    result.deployment_id = {};
    result.deployment_groups.clear();
  } else {
    drop_placements();
  }
  return true;
}

/// Reduces the plan to what it would be if no placement had found a node. Allocations to be replaced keep running;
/// lost, migrating and surplus ones are stopped.
void GenericScheduler::drop_placements() {
  PlanRows& plan = given_.result->plan;
  std::vector<tables::AllocRow> kept;
  const auto rows = allocs_.rows();
  for (const auto& replaced : reconciled_.destructive_update) kept.push_back(rows[replaced.row]);
  for (const auto& place : reconciled_.place)
    if (place.reschedule && place.previous != kNoRow) {
      mark_not_placed(place.previous);
      kept.push_back(rows[place.previous]);
    }
  std::sort(kept.begin(), kept.end());
  std::erase_if(plan.stops, [&](const plan::PlannedStop& stop) {
    return stop.evict || std::binary_search(kept.begin(), kept.end(), stop.alloc);
  });
  plan.allocs.clear();
  plan.trackers.clear();
  plan.task_states.clear();
}

/// Attempts of one evaluation, each with a set of values of its own.
struct GenericScheduler::Sets {
  GenericScheduler& scheduler;
  bool is_new;
  IdStream ids;           // at the first attempt
  std::size_t followups;  // at the first attempt
  std::vector<std::uint32_t> occupied = scheduler.values_in_use({}, true);
  std::vector<std::uint32_t> order = scheduler.values_in_order();
  bool again = false;

  /// Makes an attempt. On false, the result holds an error.
  bool plans(std::span<const std::uint32_t> values) {
    if (std::exchange(again, true)) {
      *scheduler.given_.ids = ids;
      scheduler.written_followups_.resize(followups);
      scheduler.begin_again();
    }
    // What is updated in place stays where it is, so only placements are kept to the set.
    scheduler.gang_.values = occupied;
    scheduler.gang_.values.insert(scheduler.gang_.values.end(), values.begin(), values.end());
    scheduler.keep_to_values();
    scheduler.gang_.values.assign(values.begin(), values.end());
    return scheduler.plan_missing(is_new);
  }
  [[nodiscard]] bool whole() const { return !scheduler.given_.result->any_failed(); }
};

/// From now on in this attempt, nodes must have one of the values.
void GenericScheduler::keep_to_values() {
  if (job_->gang && !job_->gang->rules.target.empty())
    stack_.keep_to(PropertySet(job_->gang->rules.target, job_->gang->target.column, gang_.values));
}

/// Tries sets of values until one has room for all; first without eviction, then with. On false, `result` holds an
/// error.
bool GenericScheduler::place_within_values(bool is_new) {
  Sets sets{*this, is_new, *given_.ids, written_followups_.size()};
  const bool evicts = preempts(*job_);
  gang_.keeps_others = evicts;
  const bool done = try_sets(sets);
  gang_.keeps_others = false;
  return !done || sets.whole() || !evicts ? done : try_sets(sets);
}

/// On false, `result` holds an error.
bool GenericScheduler::try_sets(Sets& sets) {
  const std::size_t most = job_->gang->rules.values;
  std::vector<std::uint32_t> used = values_in_use();
  if (!used.empty() || sets.order.empty()) {
    if (!sets.plans(used)) return false;
    const std::vector<std::uint32_t> stay = values_that_stay();
    if (sets.whole() && (used.size() <= most || stay.size() == used.size())) return true;
    if (sets.whole() && !stay.empty()) {  // fewer values than an earlier version used
      if (!sets.plans(stay)) return false;
      if (sets.whole()) return true;
    }
    used = stay;
  }
  std::vector<std::uint32_t> others = sets.order;
  std::erase_if(others, [&](std::uint32_t value) { return std::binary_search(used.begin(), used.end(), value); });
  if (used.size() >= most || others.empty()) return true;
  if (others.size() > kMostValues) others.resize(kMostValues);

  std::vector<std::uint32_t> values = used;
  values.push_back(0);
  std::vector<std::pair<std::size_t, std::uint32_t>> placed;  // allocations that found a node, value
  for (const std::uint32_t value : others) {
    values.back() = value;
    if (!sets.plans(values)) return false;
    if (sets.whole()) return true;
    placed.emplace_back(given_.result->plan.allocs.size(), value);
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  values.pop_back();
  std::size_t sum = 0;
  for (std::size_t i = 0; i < placed.size() && values.size() < most; ++i) {
    values.push_back(placed[i].second);
    sum += placed[i].first;
    const bool too_few =
        sets.is_new && job_->groups.size() == 1 && static_cast<std::int64_t>(sum) < job_->groups[0].count;
    if (i == 0 || too_few) continue;
    if (!sets.plans(values)) return false;
    if (sets.whole()) return true;
  }
  return true;
}

/// True if the time of a gang that never started is over; then the evaluation fails.
bool GenericScheduler::gang_is_over() {
  if (!job_ || !job_->gang || job_->stopped || given_.eval->now_ns < job_->gang->limit_ns ||
      given_.state->jobs.keys[given_.eval->job].alloc_head != kNoRow)
    return false;
  EvalResult& result = *given_.result;
  result.status = EvalStatus::failed;
  result.gang_over = true;
  result.description = "gang: not all allocations found a node within " +
                       base::duration_text(job_->gang->rules.timeout_ns) + " of the registration";
  return true;
}

/// Creates the evaluation that ends the wait of a gang which has not started, once per evaluation that blocks. On
/// false, `result` holds an error.
bool GenericScheduler::limit_gang(Planner& planner) {
  if (!job_ || !job_->gang || job_->gang->limit_ns == INT64_MAX || given_.eval->blocked || gang_.limited ||
      given_.state->jobs.keys[given_.eval->job].alloc_head != kNoRow)
    return true;
  gang_.limited = true;
  gang_.limit = {};
  gang_.limit.namespace_ = job_->spec->namespace_;
  gang_.limit.job_id = job_->spec->id;
  gang_.limit.priority = given_.eval->priority;
  gang_.limit.type = job_->spec->type;
  gang_.limit.triggered_by = "queued-allocs";
  gang_.limit.job_modify_index = given_.state->jobs.objects[given_.eval->job]->modify_index;  // as R-RECON-152
  gang_.limit.status = "pending";
  gang_.limit.status_description = "created to end the wait of a gang";
  gang_.limit.wait_until = base::Time{job_->gang->limit_ns};
  CreatedEval created;
  created.id = given_.ids->next();
  created.followup = &gang_.limit;
  const std::string error = planner.create(*given_.result, created);
  if (!error.empty()) given_.result->description = error;
  return error.empty();
}

}  // namespace berth::sched
