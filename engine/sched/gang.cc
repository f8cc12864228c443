// Gangs (model/gang.h): attempts that place all allocations or none, within few values of a topology's target.
//
// Sets of values are tried one after the other, each as an attempt of its own on the same state, with the same IDs:
// what it plans is what the job would get with the constraint that nodes have one of these values.
//
//   1  the values that the job's allocations use now; a new gang uses none
//   2  these and one more, for each value, in the order of the topology
//   3  these and the 2, 3, ... values in which step 2 placed most, up to the most that the rules allow
//
// The first set in which all allocations find a node is taken. For a group alone it is found if there is one: what fits
// in a set is at most the sum of what fits in each value, and that is how step 3 chooses. With several groups,
// allocations are placed group by group, as ever, and step 3 does not try all sets: a set that would do may be missed.
//
// Cost: an attempt per value, and per step of 3; for the order, one pass over the ready nodes.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/time.h"
#include "sched/generic.h"

namespace berth::sched {

using feasible::PropertySet;
using tables::CompiledGang;
using tables::kNoRow;
using tables::NodeRow;

namespace {

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

/// Begins the attempt again, as attempt() does.
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

/// The values of the nodes on which the job's allocations run, ascending.
std::vector<std::uint32_t> GenericScheduler::values_in_use() const {
  const tables::Snapshot& state = *given_.state;
  std::vector<std::uint32_t> out;
  for (tables::AllocRow row = state.jobs.keys[job_->key].alloc_head; row != kNoRow;
       row = state.allocs.next_of_job[row]) {
    const NodeRow node = state.allocs.node[row];
    if (state.allocs.terminal(row) || node == kNoRow || !state.nodes.exists(node) ||
        state.nodes.status(node) != tables::NodeStatus::ready)
      continue;
    if (const std::uint32_t value = value_of(state.nodes, *job_->gang, node); value != PropertySet::kNoValue)
      out.push_back(value);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
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
  const bool is_id = gang.target.target.kind == match::TargetKind::node_id;
  std::vector<std::tuple<double, std::string, std::uint32_t>> places;
  for (const auto& entry : uses) {
    const std::uint32_t value = entry.first;
    const double share = entry.second.share();
    std::string name = is_id ? to_text(state.nodes.id(NodeRow{value}))
                             : state.text(state.nodes.column(gang.target.column).value(value));
    places.emplace_back(gang.rules.spread ? share : -share, std::move(name), value);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::uint32_t> out;
  for (const auto& place : places) out.push_back(std::get<2>(place));
  return out;
}

/// Plans all missing allocations of a gang, or nothing. On false, `result` holds an error.
bool GenericScheduler::place_gang(bool is_new) {
  EvalResult& result = *given_.result;
  const bool done = job_->gang->rules.target.empty() ? plan_missing(is_new) : place_within_values(is_new);
  if (!done || !result.any_failed()) return done;
  const tables::VersionRow version = result.plan.job;
  result.plan.clear();
  result.plan.job = version;
  result.deployment_id = {};
  result.deployment_groups.clear();
  reconciled_.followups.clear();
  return true;
}

/// Tries sets of values until one has room for all. On false, `result` holds an error.
bool GenericScheduler::place_within_values(bool is_new) {
  const CompiledGang& gang = *job_->gang;
  const IdStream ids = *given_.ids;
  const std::size_t followups = written_followups_.size();
  bool again = false;
  const auto plans = [&](std::span<const std::uint32_t> values) {
    if (std::exchange(again, true)) {
      *given_.ids = ids;
      written_followups_.resize(followups);
      begin_again();
    }
    stack_.keep_to(PropertySet(gang.rules.target, gang.target.column, values));
    return plan_missing(is_new);
  };
  const auto is_whole = [&] { return !given_.result->any_failed(); };

  const std::vector<std::uint32_t> used = values_in_use();
  std::vector<std::uint32_t> others = values_in_order();
  std::erase_if(others, [&](std::uint32_t value) { return std::binary_search(used.begin(), used.end(), value); });
  if (!used.empty() || others.empty()) {
    if (!plans(used)) return false;
    if (is_whole() || others.empty()) return true;
  }
  if (used.size() >= gang.rules.values) return true;

  std::vector<std::uint32_t> values = used;
  values.push_back(0);
  std::vector<std::pair<std::size_t, std::uint32_t>> placed;  // allocations that found a node, value
  for (const std::uint32_t value : others) {
    values.back() = value;
    if (!plans(values)) return false;
    if (is_whole()) return true;
    placed.emplace_back(given_.result->plan.allocs.size(), value);
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  values.pop_back();
  std::size_t sum = 0;
  for (std::size_t i = 0; i < placed.size() && values.size() < gang.rules.values; ++i) {
    values.push_back(placed[i].second);
    sum += placed[i].first;
    const bool too_few = is_new && job_->groups.size() == 1 && static_cast<std::int64_t>(sum) < job_->groups[0].count;
    if (i == 0 || too_few) continue;
    if (!plans(values)) return false;
    if (is_whole()) return true;
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
  if (!job_ || !job_->gang || job_->gang->limit_ns == INT64_MAX || given_.eval->blocked || gang_limited_ ||
      given_.state->jobs.keys[given_.eval->job].alloc_head != kNoRow)
    return true;
  gang_limited_ = true;
  gang_limit_ = {};
  gang_limit_.namespace_ = job_->spec->namespace_;
  gang_limit_.job_id = job_->spec->id;
  gang_limit_.priority = given_.eval->priority;
  gang_limit_.type = job_->spec->type;
  gang_limit_.triggered_by = "queued-allocs";
  gang_limit_.job_modify_index = job_->spec->modify_index;
  gang_limit_.status = "pending";
  gang_limit_.status_description = "created to end the wait of a gang";
  gang_limit_.wait_until = base::Time{job_->gang->limit_ns};
  CreatedEval created;
  created.id = given_.ids->next();
  created.followup = &gang_limit_;
  const std::string error = planner.create(*given_.result, created);
  if (!error.empty()) given_.result->description = error;
  return error.empty();
}

}  // namespace berth::sched
