#include "reconcile/cluster.h"

#include <numeric>

#include "base/assert.h"
#include "base/json.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "reconcile/group_run.h"

namespace berth::reconcile {
namespace {

bool is_multiregion(const model::Job& job) { return !job.multiregion->is_null(); }

/// Order K (R-RECON-7).
bool before(const AllocFacts& a, const AllocFacts& b) {
  return a.name_index != b.name_index ? a.name_index < b.name_index : a.alloc.id_before(b.alloc);
}

/// Sorts the rows into order K. Most have their own name index, so numbers are sorted first, and IDs only of those with
/// an equal one. `keys` is scratch. Returns false if the rows were in order.
bool sort_rows(std::span<const AllocFacts> allocs, std::span<std::uint32_t> rows, std::vector<std::uint64_t>& keys) {
  const auto in_order = [&](std::uint32_t a, std::uint32_t b) { return before(allocs[a], allocs[b]); };
  if (std::is_sorted(rows.begin(), rows.end(), in_order)) return false;
  keys.clear();
  for (const std::uint32_t row : rows) keys.push_back(std::uint64_t{allocs[row].name_index} << 32 | row);
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(keys[i]);
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && keys[end] >> 32 == keys[begin] >> 32) ++end;
    if (end - begin > 1) std::sort(rows.data() + begin, rows.data() + end, in_order);
  }
  return true;
}

/// True if the rows have the name indexes 0, 1, 2, ... in this order, which then is order K, and all run undisturbed on
/// untainted nodes. One branch-free pass over the slots, about as fast as reading them.
bool is_settled(std::span<const std::uint32_t> slots, std::span<const std::uint32_t> rows) {
  if (rows.empty() || rows.size() > NameIndex::kMaxIndex) return false;
  constexpr std::size_t kLook = 1024;  // rows between two checks for an early exit
  for (std::size_t begin = 0; begin < rows.size(); begin += kLook) {
    const std::size_t end = std::min(begin + kLook, rows.size());
    std::uint32_t unsettled = 0;
    for (std::size_t i = begin; i < end; ++i) unsettled |= slots[rows[i]] ^ static_cast<std::uint32_t>(i);
    if (unsettled != 0) return false;
  }
  return true;
}

void add_canaries(const model::Deployment& deployment, bool only_unpromoted, std::vector<std::string_view>& out) {
  for (const auto& [name, state] : deployment.task_groups)
    if (state && !(only_unpromoted && state->promoted))
      out.insert(out.end(), state->placed_canaries.begin(), state->placed_canaries.end());
}

}  // namespace

std::string place_name(const ClusterInput& input, const ClusterResult& result, const ClusterResult::Place& place) {
  if (place.previous != kNoRow) return input.allocs[place.previous].alloc->name;
  return model::alloc_name(input.job_id, result.groups[place.group].name, place.name_index);
}

model::Allocation with_followup(const ClusterInput& input, const ClusterResult& result,
                                const ClusterResult::Update& update) {
  model::Allocation out = *input.allocs[update.row].alloc;
  BERTH_ASSERT(update.followup != kNoFollowup);
  out.followup_eval_id = result.followups[static_cast<std::size_t>(update.followup)].eval.id;
  return out;
}

model::Allocation disconnected(const ClusterInput& input, const ClusterResult& result,
                               const ClusterResult::Update& update) {
  model::Allocation out = with_followup(input, result, update);
  model::become_unknown(out, input.now);
  return out;
}

namespace {

/// Section 5.1: determines the current and the old deployment, and cancels an active outdated one.
const model::Deployment* sort_out_deployments(Run& run) {
  const ClusterInput& input = run.input;
  const model::Deployment* latest = input.deployment;
  const auto cancel = [&](const char* description) {
    if (latest && model::is_active_deployment(latest->status))
      run.result.deployment_updates.push_back({latest->id, "cancelled", description, 0});
  };
  if (model::is_stopped(input.job)) {
    cancel("Cancelled because job is stopped");
    return latest;
  }
  if (!latest) return nullptr;
  if (latest->job_create_index != input.job->create_index || latest->job_version != input.job->version) {
    cancel("Cancelled due to newer version of job");
    return latest;
  }
  if (latest->status == "successful") return latest;
  run.current = *latest;
  run.current_is_input = true;
  return nullptr;
}

void conclude(Run& run, bool complete) {  // section 5.4
  if (run.current && complete) {
    const model::Deployment& current = *run.current;
    if (!is_multiregion(*run.input.job))
      run.result.deployment_updates.push_back({current.id, "successful", "Deployment completed successfully", 0});
    else if (current.status != "unblocking")  // a successful one is not current (R-RECON-72)
      run.result.deployment_updates.push_back(
          {current.id, "blocked", "Deployment is complete but waiting for peer region", 0});
  }
  if (!run.current) return;
  if (run.current->status == "initializing")
    run.result.deployment_updates.push_back(
        {run.current->id, "pending", "Deployment is pending, waiting for peer region", 0});
  if (!run.returned) return;
  model::Deployment& deployment = run.result.deployment.emplace(*run.current);
  if (model::requires_promotion(deployment))  // R-RECON-86
    deployment.status_description = model::has_auto_promote(deployment)
                                        ? "Deployment is running pending automatic promotion"
                                        : "Deployment is running but requires manual promotion";
}

}  // namespace

ClusterResult ClusterReconciler::run(const ClusterInput& input, UpdateJudge& updates, IdSource& ids) {
  BERTH_ASSERT(input.slots.size() == input.allocs.size());
  ClusterResult result;
  Run run{input, updates, ids, result, {}, false, false, false, false, {}, {}};
  const model::Deployment* old = sort_out_deployments(run);
  result.set_aside = old != nullptr;
  if (run.current) {
    const std::string& status = run.current->status;
    run.paused = status == "paused" || status == "pending" || status == "initializing";
    run.failed = status == "failed";
  }
  // The ids refer to the caller's deployment, which does not change during the run.
  if (old) add_canaries(*old, true, run.stale_canaries);
  if (run.failed) add_canaries(*input.deployment, true, run.stale_canaries);
  if (run.current) add_canaries(*input.deployment, false, run.canaries);
  std::sort(run.stale_canaries.begin(), run.stale_canaries.end());
  std::sort(run.canaries.begin(), run.canaries.end());

  // Rows by group, each group in order K.
  std::vector<std::uint32_t> begins(input.group_names.size() + 1);
  if (rows_.size() < input.allocs.size()) rows_.resize(input.allocs.size());
  if (input.group_names.size() == 1) {
    const auto size = static_cast<std::uint32_t>(input.allocs.size());
    begins[1] = size;
    if (counted_ < size) {
      std::iota(rows_.begin() + counted_, rows_.begin() + size, counted_);
      counted_ = size;
    }
  } else {
    counted_ = 0;
    for (const AllocFacts& f : input.allocs) {
      BERTH_DEBUG_ASSERT(f.group < input.group_names.size());
      ++begins[f.group + 1];
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<std::uint32_t> ends(begins.begin(), begins.end() - 1);
    for (std::uint32_t row = 0; row < input.allocs.size(); ++row) rows_[ends[input.allocs[row].group]++] = row;
  }
  const bool stopped = model::is_stopped(input.job);
  bool complete = true;
  const auto visit = [&](const std::string& name, const model::TaskGroup* task_group, std::size_t group) {
    result.groups.push_back({name, {}, {}});
    const auto position = static_cast<std::uint32_t>(result.groups.size() - 1);
    std::span<std::uint32_t> rows;
    if (group < input.group_names.size())
      rows = std::span(rows_).subspan(begins[group], begins[group + 1] - begins[group]);
    const bool settled = is_settled(input.slots, rows);
    if (!settled && sort_rows(input.allocs, rows, sort_keys_)) counted_ = 0;
    GroupRun group_run(*this, run, rows, position, task_group, settled);
    if (stopped)
      group_run.stop_for_stopped_job();
    else
      complete &= group_run.run();
  };
  std::vector<bool> visited(input.group_names.size());
  if (input.job)
    for (const model::TaskGroup& task_group : input.job->task_groups) {
      if (input.job->group(task_group.name) != &task_group) continue;  // a later group of that name (R-RECON-6)
      std::size_t group = 0;
      while (group < input.group_names.size() && input.group_names[group] != task_group.name) ++group;
      if (group < visited.size()) visited[group] = true;
      visit(task_group.name, &task_group, group);
    }
  std::vector<std::size_t> others;
  for (std::size_t group = 0; group < visited.size(); ++group)
    if (!visited[group] && begins[group] != begins[group + 1]) others.push_back(group);
  std::sort(others.begin(), others.end(),
            [&](std::size_t a, std::size_t b) { return input.group_names[a] < input.group_names[b]; });
  for (const std::size_t group : others) visit(input.group_names[group], nullptr, group);

  if (!stopped) conclude(run, complete);
  return result;
}

}  // namespace berth::reconcile
