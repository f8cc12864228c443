#include "conform/applier_check.h"

#include <fmt/format.h>

#include <map>

#include "conform/compare.h"
#include "conform/recorded_plan.h"
#include "living/invariants.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

/// All compared fields of an allocation, with the number of its job's version in place of the job.
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

std::vector<std::string> ids_of(const std::vector<tables::NodeRow>& rows, const tables::Snapshot& state) {
  std::vector<std::string> out;
  for (const tables::NodeRow row : rows) out.push_back(base::to_text(state.nodes.id(row)));
  return out;
}

void compare_answers(const plan::ApplyResult& want, const tables::Snapshot& state, const plan::ApplyResult& got,
                     const tables::Snapshot& after, std::vector<std::string>& problems) {
  if (ids_of(got.rejected_nodes, after) != ids_of(want.rejected_nodes, state) || got.reasons != want.reasons)
    problems.push_back(
        fmt::format("{} nodes are rejected and should be {}", got.rejected_nodes.size(), want.rejected_nodes.size()));
  if (want.placements_refused != got.placements_refused)
    problems.push_back(fmt::format("placements are {}refused", want.placements_refused ? "not " : ""));
  if (want.preempted_jobs.size() != got.preempted_jobs.size())
    problems.push_back(fmt::format("{} jobs are evaluated for preemptions and should be {}", got.preempted_jobs.size(),
                                   want.preempted_jobs.size()));
}

}  // namespace

std::vector<std::string> compare_ways(const CommittedPlan& committed) {
  std::vector<std::string> problems;
  tables::StateStore store;
  store.load(committed.before);
  model::Plan plan = committed.plan;
  model::normalize(plan, committed.quirks);
  const RecordedPlan recorded(store, plan, committed.quirks);
  plan::CommitFacts facts;
  facts.index = committed.index;
  facts.all_at_once = plan.all_at_once;
  facts.now_ns = committed.now_ns;
  facts.eval = base::parse_uuid(committed.eval.id).value_or(base::Uuid{});
  std::uint64_t drawn = 0;
  const std::function<base::Uuid()> draw_id = [&] { return base::Uuid{1, ++drawn}; };
  facts.draw_id = &draw_id;
  fsm::StateLog log(store, committed.quirks);
  log.load(committed.before);
  plan::Applier applier(store, committed.quirks);
  applier.keep_records(log);
  plan::ApplyResult want;
  applier.apply(recorded.rows(), facts, want);
  const plan::ApplyResult& got = committed.answer;
  if (want.error != got.error)
    problems.push_back(fmt::format("error is \"{}\" and should be \"{}\"", got.error, want.error));
  if (want.error.empty()) compare_answers(want, store.current(), got, committed.after, problems);
  Table want_allocs, got_allocs, want_deployments, got_deployments;
  const auto fill = [](const tables::Snapshot& state, Table& allocs, Table& deployments) {
    for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
      if (state.allocs.exists(row)) allocs[base::to_text(state.allocs.id[row])] = print(tables::to_alloc(state, row));
    for (const auto& deployment : living::deployments_of(state))
      deployments[deployment->id] = model::to_json(*deployment, model::WriteMode::sparse);
  };
  fill(store.current(), want_allocs, want_deployments);
  fill(committed.after, got_allocs, got_deployments);
  compare_tables("allocation", want_allocs, got_allocs, problems);
  compare_tables("deployment", want_deployments, got_deployments, problems);
  Table want_jobs, got_jobs;
  const auto fill_jobs = [](const fsm::StateLog& from, Table& jobs) {
    for (const auto& job : from.state().job_versions) {
      json::Value kept = json::Value::object();
      kept.set("Status", job->status), kept.set("Stable", job->stable), kept.set("ModifyIndex", job->modify_index);
      jobs[fmt::format("{}/{} version {}", job->namespace_, job->id, job->version)] = std::move(kept);
    }
  };
  fill_jobs(log, want_jobs);
  fill_jobs(committed.log, got_jobs);
  compare_tables("job", want_jobs, got_jobs, problems);
  return problems;
}

}  // namespace berth::conform
