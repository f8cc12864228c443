#include "conform/applier_check.h"

#include <fmt/format.h>

#include <map>

#include "conform/compare.h"
#include "conform/life_checks.h"
#include "model/codec.h"
#include "plan/apply_model.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

/// Everything that is compared of an allocation; its job as the number of its version.
json::Value print(model::Allocation alloc) {
  const auto version = alloc.job ? static_cast<std::int64_t>(alloc.job->version) : -1;
  alloc.job.reset();
  alloc.resources = alloc.shared_resources = alloc.task_resources = {};
  alloc.metrics.reset();
  alloc.eval_id.clear();
  alloc.create_time = alloc.modify_time = 0;
  alloc.alloc_modify_index = 0;
  if (alloc.deployment_status) alloc.deployment_status->modify_index = 0;
  json::Value out = model::to_json(alloc, model::WriteMode::sparse);
  out.set("JobVersion", version);
  return out;
}

using Table = std::map<std::string, json::Value>;

void compare_tables(const char* what, const Table& want, const Table& got, std::vector<std::string>& problems) {
  for (const auto& [id, value] : want)
    if (!got.contains(id)) problems.push_back(fmt::format("{} {} is missing", what, id));
  for (const auto& [id, value] : got) {
    const auto other = want.find(id);
    if (other == want.end()) {
      problems.push_back(fmt::format("{} {} should not exist", what, id));
      continue;
    }
    for (const Difference& d : compare(other->second, value, {}))
      problems.push_back(fmt::format("{} {} {}: {} and should be {}", what, id, d.place, d.got, d.expected));
  }
}

void compare_answers(const plan::ModelApplyResult& done, const plan::ApplyResult& reported, std::uint64_t evals,
                     const tables::Snapshot& after, std::vector<std::string>& problems) {
  std::vector<std::string> rejected;
  for (const tables::NodeRow row : reported.rejected_nodes) rejected.push_back(base::to_text(after.nodes.id(row)));
  if (rejected != done.result.rejected_nodes)
    problems.push_back(
        fmt::format("{} nodes are rejected and should be {}", rejected.size(), done.result.rejected_nodes.size()));
  if (done.placements_refused != reported.placements_refused)
    problems.push_back(fmt::format("placements are {}refused", done.placements_refused ? "not " : ""));
  if (evals != reported.preempted_jobs.size())
    problems.push_back(
        fmt::format("{} jobs are evaluated for preemptions and should be {}", reported.preempted_jobs.size(), evals));
}

}  // namespace

std::vector<std::string> compare_appliers(const model::ClusterState& before, const model::Plan& plan,
                                          std::int64_t now_ns, std::uint64_t index, const tables::Snapshot& after,
                                          const log::StateLog& lived, const plan::ApplyResult& reported,
                                          const model::Quirks& quirks) {
  std::vector<std::string> problems;
  tables::StateStore store;
  store.load(before);
  log::StateLog log(store, quirks);
  log.load(before);
  log.set_table_index(log::Table::nodes, 1);  // only whether there is one matters here (R-CTRL-617)
  log.seen(index - 1);
  std::uint64_t evals = 0;
  plan::ModelApplier applier(log, [&evals] { return base::to_text(base::Uuid{~0ULL, ++evals}); });
  const plan::ModelApplyResult done = applier.apply(plan, now_ns);
  if (done.error != reported.error)
    problems.push_back(fmt::format("error is \"{}\" and should be \"{}\"", reported.error, done.error));
  if (done.error.empty()) compare_answers(done, reported, evals, after, problems);  // else nothing more is answered
  Table want_allocs, got_allocs, want_deployments, got_deployments;
  const auto fill = [](const tables::Snapshot& state, Table& allocs, Table& deployments) {
    for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
      if (state.allocs.exists(row)) allocs[base::to_text(state.allocs.id[row])] = print(tables::to_alloc(state, row));
    for (const auto& deployment : deployments_of(state))
      deployments[deployment->id] = model::to_json(*deployment, model::WriteMode::sparse);
  };
  fill(store.current(), want_allocs, want_deployments);
  fill(after, got_allocs, got_deployments);
  compare_tables("allocation", want_allocs, got_allocs, problems);
  compare_tables("deployment", want_deployments, got_deployments, problems);
  Table want_jobs, got_jobs;
  const auto fill_jobs = [](const log::StateLog& from, Table& jobs) {
    for (const auto& job : from.state().job_versions) {
      json::Value kept = json::Value::object();
      kept.set("Status", job->status), kept.set("Stable", job->stable), kept.set("ModifyIndex", job->modify_index);
      jobs[fmt::format("{}/{} version {}", job->namespace_, job->id, job->version)] = std::move(kept);
    }
  };
  fill_jobs(log, want_jobs);
  fill_jobs(lived, got_jobs);
  compare_tables("job", want_jobs, got_jobs, problems);
  return problems;
}

}  // namespace berth::conform
