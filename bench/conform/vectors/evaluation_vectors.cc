// Replays recorded evaluations (FORMAT-evals.md). Input: state, evaluation and clock; output: plans and evaluations.
#include <span>

#include "conform/evaluation_compare.h"
#include "io/cluster_json.h"
#include "model/job.h"
#include "sched/to_model.h"
#include "server/lane.h"
#include "server/server.h"

namespace berth::conform {
namespace {

/// Records the planner's calls, and answers like the vector's planner.
class RecordingPlanner final : public sched::Planner {
 public:
  enum class Kind : std::uint8_t { apply, nosubmit, reject, partial };
  RecordingPlanner(Kind kind, const model::Evaluation& eval, std::int64_t now, server::Server& server,
                   Recording& recording)
      : kind_(kind), eval_(eval), now_(now), server_(server), log_(server.log()), recording_(recording) {}

  sched::Submission submit(const sched::EvalResult& result) override {
    Recording::Attempt& attempt = recording_.attempts.emplace_back();
    attempt.plan = to_model(naming(result), result, eval_, now_);
    // The commit may have changed the job's status, but the tables store the version's first object.
    if (partial_ && attempt.plan.job)
      if (const auto stored = log_.job(attempt.plan.job->namespace_, attempt.plan.job->id);
          stored && stored->version == attempt.plan.job->version)
        attempt.plan.job = stored;
    std::size_t placed = 0;
    for (const auto& [node, allocs] : attempt.plan.node_allocation) placed += allocs.size();
    for (const sched::PlannedAlloc& alloc : result.plan.allocs) add_fresh(alloc.id);
    for (const plan::DroppedAlloc& dropped : result.plan.dropped) add_fresh(dropped.id);
    for (const base::Uuid id : result.plan.followups) add_fresh(id);
    if (attempt.plan.deployment && !is_stored(*result.state, attempt.plan.deployment->id))
      recording_.fresh_ids.insert(attempt.plan.deployment->id);
    sched::Submission out;
    if (kind_ == Kind::reject) {
      attempt.full = placed == 0;
      attempt.refused = !attempt.full;
      out.nothing_committed = true;
      out.refreshed = result.state;  // the same state, unchanged
    }
    if (kind_ == Kind::partial && !partial_ && placed > 0) refuse_one(result, attempt, out);
    out.stored = kind_ != Kind::nosubmit;
    return out;
  }

  std::string create(const sched::EvalResult& result, const sched::CreatedEval& created) override {
    recording_.created.push_back(created_eval(naming(result), result, created, eval_, now_));
    add_fresh(created.id);
    return {};
  }

 private:
  [[nodiscard]] sched::Naming naming(const sched::EvalResult& result) const {
    return {*result.state, server_.lane().scratch};
  }
  /// Refuses, of the first plan, the node with the smallest ID among those that get allocations; commits the rest.
  void refuse_one(const sched::EvalResult& result, Recording::Attempt& attempt, sched::Submission& out) {
    const std::string refused = attempt.plan.node_allocation.begin()->first;
    plan::Decided decided;
    decided.without = log_.store().find_node(refused);
    plan::CommitFacts facts;
    facts.index = log_.next_index();
    facts.now_ns = now_;
    if (log_.eval(eval_.id)) facts.eval = *base::parse_uuid(eval_.id);
    facts.decided = &decided;
    plan::ApplyResult applied;
    const auto deployment = sched::planned_deployment(naming(result), result, eval_.priority, now_);
    facts.deployment = deployment ? &*deployment : nullptr;
    server_.applier().apply(result.plan, facts, applied);
    out.error = applied.error;
    partial_ = log_.store().snapshot();
    out.refreshed = &*partial_;
    refused_ = log_.store().find_node(refused);
    out.refused_nodes = {&refused_, 1};
    attempt.full = false;
    attempt.refused = true;
    attempt.refused_nodes.push_back(refused);
  }
  void add_fresh(base::Uuid id) { recording_.fresh_ids.insert(base::to_text(id)); }
  static bool is_stored(const tables::Snapshot& state, const std::string& deployment) {
    for (std::size_t row = 0; row < state.deployments.size(); ++row)
      if (state.deployments.object[row]->id == deployment) return true;
    return false;
  }

  const Kind kind_;
  const model::Evaluation& eval_;
  const std::int64_t now_;
  server::Server& server_;
  fsm::StateLog& log_;
  tables::SnapshotRef partial_;  // the state after a partial commit
  tables::NodeRow refused_ = tables::kNoRow;
  Recording& recording_;
};

Outcome replay_evaluation(const Vector& v) {
  const std::string& scheduler = v.whole["scheduler"].as_string();
  const std::string& planner_name = v.whole["planner"].as_string();
  const model::JobTable jobs = or_malformed(io::read_job_table(v.whole["jobs"], v.path, "/jobs"));
  const model::ClusterState state = or_malformed(io::read_vector_state(v.whole["state"], jobs, v.path, "/state"));
  model::Evaluation eval;
  if (auto done = from_json(v.whole["eval"], eval, {}); !done) return Outcome::failed(done.error().line());
  model::Evaluation asked = eval;
  asked.type = scheduler;  // as named in the vector

  server::ManualClock clock;
  clock.set(v.whole["now"].as_int());
  server::Config config;
  config.retain = true;
  config.broker.evals = config.broker.jobs = 1;  // nothing is queued
  config.sources = v.sources;
  server::Server server(config, clock);
  server.load(state);
  if (planner_name == "partial") server.log().seen(v.whole["next_index"].as_uint() - 1);
  Recording recording;
  RecordingPlanner planner(planner_name == "nosubmit"  ? RecordingPlanner::Kind::nosubmit
                           : planner_name == "reject"  ? RecordingPlanner::Kind::reject
                           : planner_name == "partial" ? RecordingPlanner::Kind::partial
                                                       : RecordingPlanner::Kind::apply,
                           eval, clock.now_ns(), server, recording);
  server.decide(asked, server.lane(), planner);

  const sched::EvalResult& result = server.lane().result;
  const sched::Naming naming{*result.state, server.lane().scratch};
  if (result.has_blocked) recording.fresh_ids.insert(base::to_text(result.blocked_id));
  if (result.status == sched::EvalStatus::error)
    recording.error = result.description;
  else if (result.reblocked)
    recording.reblocked.push_back(sched::reblocked_eval(naming, result, eval));
  else
    recording.updated.push_back(sched::updated_eval(naming, result, eval));
  recording.port_collision_events = result.port_collision_events;
  return Outcome::from(compare_recording(v.out, recording, jobs));
}

}  // namespace

std::span<const Component> evaluation_components() {
  static constexpr Component kAll[] = {{"@evaluation", replay_evaluation}};
  return kAll;
}

}  // namespace berth::conform
