// Replays recorded evaluations (FORMAT-evals.md): state, evaluation and clock in; plans and evaluations out.
#include <span>

#include "conform/evaluation_compare.h"
#include "io/cluster_json.h"
#include "sched/to_model.h"

namespace berth::conform {
namespace {

Outcome replay_evaluation(const Vector& v) {
  const std::string& scheduler = v.whole["scheduler"].as_string();
  if (scheduler == "system" || scheduler == "sysbatch") return Outcome::unsupported(scheduler + " scheduler");
  const std::string& planner = v.whole["planner"].as_string();
  if (planner != "apply" && planner != "nosubmit") return Outcome::unsupported("refused plans");

  auto jobs = io::read_job_table(v.whole["jobs"], v.path, std::string(v.name) + "/jobs");
  if (!jobs) return Outcome::failed(jobs.error().line());
  auto state = io::read_vector_state(v.whole["state"], *jobs, v.path, std::string(v.name) + "/state");
  if (!state) return Outcome::failed(state.error().line());
  model::Evaluation eval;
  if (auto done = model::from_json(v.whole["eval"], eval, {}); !done) return Outcome::failed(done.error().line());
  const std::int64_t now = v.whole["now"].as_int();

  tables::StateStore store;
  store.load(*state);
  sched::EvalFacts facts;
  facts.id = base::parse_uuid(eval.id).value_or(base::Uuid{});
  facts.id_text = eval.id;
  facts.job = store.job_key(eval.namespace_, eval.job_id);
  facts.priority = eval.priority;
  facts.triggered_by = eval.triggered_by;
  facts.batch = scheduler == "batch";
  facts.blocked = eval.status == "blocked";
  facts.annotate = eval.annotate_plan;
  facts.wait_until = eval.wait_until;

  const tables::Snapshot snapshot = store.snapshot();
  sched::Scratch scratch;
  sched::GenericScheduler generic(scratch);
  sched::IdStream ids(1);
  sched::EvalResult result;
  generic.process(snapshot, facts, rank::OrderProvider::nomad, ids, result);
  if (!result.unsupported.empty()) return Outcome::unsupported(result.unsupported);

  const sched::Naming naming{snapshot, scratch};
  Recording recording;
  if (result.submitted) recording.attempts.push_back({sched::to_model(naming, result, eval, now), true, false, {}});
  recording.created = sched::created_evals(naming, result, eval, now);
  if (result.reblocked)
    recording.reblocked.push_back(sched::reblocked_eval(naming, result, eval));
  else if (result.status != sched::EvalStatus::error)
    recording.updated.push_back(sched::updated_eval(naming, result, eval));
  else
    recording.error = result.description;
  recording.port_collision_events = result.port_collision_events;
  for (const auto& alloc : result.plan.allocs) recording.fresh_ids.insert(base::to_text(alloc.id));
  if (result.has_blocked) recording.fresh_ids.insert(base::to_text(result.blocked_id));
  if (!result.deployment_id.is_nil()) recording.fresh_ids.insert(base::to_text(result.deployment_id));
  return Outcome::from(compare_recording(v.out, recording, *jobs));
}

}  // namespace

std::span<const Component> evaluation_components() {
  static constexpr Component kAll[] = {{"@evaluation", replay_evaluation}};
  return kAll;
}

}  // namespace berth::conform
