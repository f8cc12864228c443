#include "conform/life/life_rest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/job.h"
#include "model/predicates.h"
#include "model/status.h"
#include "sched/to_model.h"
#include "tables/export.h"

namespace berth::conform {

using tables::AllocRow;
using tables::kNoRow;
using tables::Snapshot;

namespace {

/// True for plans that every evaluation repeats: a deployment that ended otherwise is declared successful, which is
/// refused (R-RECON-83, R-CTRL-708); ended allocations of sysbatch jobs are stopped for a rerun that fits no node
/// (R-SCHED-132, 167).
bool only_repeats(LifeServer& server, const plan::PlanRows& plan) {
  if (!plan.allocs.empty() || !plan.updates.empty() || plan.has_deployment) return false;
  for (const plan::PlannedStop& stop : plan.stops)
    if (!server.state().allocs.terminal(stop.alloc)) return false;
  return std::none_of(plan.deployment_updates.begin(), plan.deployment_updates.end(), [&](const auto& update) {
    const tables::DeploymentRow row = server.store().find_deployment(update.deployment);
    return row != kNoRow && model::is_active_deployment(server.state().deployments.object[row]->status);
  });
}

/// True if, by the rules, every evaluation of the job plans something.
bool never_rests(const Snapshot& state, const model::Job& job, tables::JobKeyRow key) {
  // R-SCHED-187: with a deployment every evaluation of a system job submits a plan.
  if (job.type == "system" && sched::latest_deployment(state, key)) return true;
  // R-RECON-71, 73: an evaluation on an older version cancels the deployment of the newer one, which still is the
  // current version. Its canaries then belong to no deployment: every evaluation stops them as surplus and places them
  // again. R-RECON-112, 113, 116: the same holds for a disconnected batch allocation that is to be stopped and placed
  // again.
  for (AllocRow row = state.jobs.keys[key].alloc_head; row != kNoRow; row = state.allocs.next_of_job[row])
    if (const model::Allocation alloc = tables::to_alloc(state, row);
        !model::is_terminal(alloc) &&
        ((model::is_canary(alloc) && alloc.deployment_id.empty()) ||
         (alloc.client_status == "unknown" && model::is_set(alloc.desired_transition.reschedule))))
      return true;
  return false;
}

/// The changes of a plan as text.
std::string wishes(const Snapshot& state, const plan::PlanRows& plan) {
  std::string out = plan.has_deployment ? " a deployment" : "";
  for (const plan::PlannedStatus& update : plan.deployment_updates) out += fmt::format(" deployment {}", update.status);
  for (const plan::PlannedStop& stop : plan.stops)
    out += fmt::format(" stop {} ({})", tables::alloc_name(state, stop.alloc), to_text(stop.description));
  for (const plan::PlannedUpdate& update : plan.updates) out += " update " + tables::alloc_name(state, update.alloc);
  for (const plan::PlannedAlloc& alloc : plan.allocs) out += " place " + sched::planned_name(state, plan, alloc);
  return out;
}

/// Checks R-CTRL-1722; false if violated.
bool check_names(server::Server& server, const LifeLedger& ledger, Problems& problems) {
  const std::size_t before = problems.size();
  std::set<tables::JobKeyRow> excepted = given_back(server);
  excepted.insert(ledger.refused.begin(), ledger.refused.end());
  excepted.insert(ledger.renamed.begin(), ledger.renamed.end());
  living::check_names(server.store().current(), excepted, ledger.once_refused, problems);
  return problems.size() == before;
}

/// Evaluates the job again on the present state without committing.
const sched::EvalResult& decide_again(server::Server& server, const tables::Snapshot& state, tables::JobKeyRow key,
                                      base::Uuid id) {
  sched::NoPlanner planner;
  server::Lane& lane = server.lane();
  server.decide({.id = id, .job = key}, state, lane, planner);
  return lane.result;
}

/// Checks the counts of a job at rest; false: not applicable, because of an active deployment or duplicate names.
bool check_resting(const LifeLedger& ledger, const Snapshot& state, tables::JobKeyRow key, const model::Job& job,
                   Problems& problems) {
  const auto deployment = sched::latest_deployment(state, key);
  if (ledger.renamed.contains(key) || (deployment && deployment->status != "successful")) return false;
  living::check_counts(state, key, job, problems);
  return true;
}

}  // namespace

void LifeLedger::note(tables::JobKeyRow job, const std::string& type, const plan::PlanRows& plan,
                      const plan::ApplyResult& applied, const Snapshot& after) {
  for (const plan::PlannedAlloc& alloc : plan.allocs)
    if (alloc.previous != kNoRow && !alloc.keeps_name) renamed.insert(job);
  if (const tables::VersionRow current = after.jobs.keys[job].current;
      !plan.allocs.empty() && current != kNoRow && after.jobs.versions[current]->type != model::parse_job_type(type))
    renamed.insert(job);
  if (applied.refresh_index != 0) refused.insert(job), once_refused.insert(job);
  exceptions.note(plan, after);
}

/// A refused plan is retried until all of it was committed or the evaluation was nacked. After a nack, a replacement
/// and an allocation that was not stopped may both exist (R-CTRL-615).
void LifeLedger::settle(const server::EvalRecord& eval) {
  if (refused.erase(eval.job) > 0 && eval.status != server::EvalState::complete) renamed.insert(eval.job);
}

std::uint64_t check_settled(server::Server& server, const LifeLedger& ledger, Problems& problems) {
  if (!check_names(server, ledger, problems)) return 0;
  const tables::SnapshotRef state = server.store().snapshot();
  const std::set<tables::JobKeyRow> again = given_back(server);
  std::uint64_t count = 0;
  for (tables::JobKeyRow key = 0; key < state->jobs.keys.size(); ++key) {
    const auto job =
        server.log().job(state->text(state->jobs.keys[key].job_namespace), state->text(state->jobs.keys[key].job_id));
    if (!job || again.contains(key) || ledger.refused.contains(key) || never_rests(*state, *job, key)) continue;
    const sched::EvalResult& result = decide_again(server, *state, key, server.draw_id());
    if (result.attempts > 0 || result.any_failed() || result.gang_over || waits(server, key)) continue;
    count += check_resting(ledger, *state, key, *job, problems);
  }
  return count;
}

bool check_rest(LifeServer& server, const LifeLedger& ledger, const std::shared_ptr<const model::Job>& job,
                LifeWatch& watch) {
  const Snapshot& state = server.state();
  Problems problems;
  const auto report = [&] {
    for (std::string& problem : problems) watch.problem(std::move(problem));
    return !std::exchange(problems, {}).empty();
  };
  living::check_summaries(state, server.log(), ledger.exceptions, problems);
  check_names(server.server(), ledger, problems);
  if (report() || !job) return false;
  const tables::JobKeyRow key = server.store().job_key(job->namespace_, job->id);
  if (given_back(server.server()).contains(key) || ledger.refused.contains(key) || never_rests(state, *job, key))
    return false;
  // A deployment ends in the evaluation after the last placement (R-RECON-213); then its failed allocations are
  // rescheduled (R-RECON-116). An unknown allocation does not count as surplus but may be stopped as such, one per
  // evaluation (R-RECON-167, 168).
  int rounds = 3;
  for (AllocRow row = 0; row < state.allocs.size(); ++row)
    rounds += state.allocs.exists(row) && state.allocs.job_key[row] == key &&
              state.allocs.client[row] == tables::Client::unknown;
  bool rests = false;
  for (int round = 0; round <= rounds; ++round) {
    const base::Uuid id = server.server().draw_id();
    const tables::SnapshotRef snapshot = server.store().snapshot();
    const sched::EvalResult& result = decide_again(server.server(), *snapshot, key, id);
    if (result.attempts == 0 && !result.any_failed() && !result.gang_over && !waits(server.server(), key))
      rests |= check_resting(ledger, *snapshot, key, *job, problems);
    if (report() || result.attempts == 0 || result.any_failed() || only_repeats(server, result.plan)) return rests;
    if (round == rounds) {
      watch.problem(job->id + " is not at rest:" + wishes(*snapshot, result.plan));
      return rests;
    }
    // First does remaining work, such as rules that depend on the time.
    server.ask(*job, "job-register", id);
    server.evaluate_all();
    // A plan that the applier always refuses, such as a preemption that ignores the job's own usage (R-PREEMPT-403), is
    // retried until the evaluation fails.
    if (watch.has_problems() || given_back(server.server()).contains(key) ||
        server.log().eval(base::to_text(id))->status == "failed" || never_rests(server.state(), *job, key))
      return rests;
  }
  return rests;
}

}  // namespace berth::conform
