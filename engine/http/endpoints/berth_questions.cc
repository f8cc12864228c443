// Endpoints that Nomad does not have (/v1/berth/explain, counterfactual): why an allocation is not on a node, what
// would make it fit, what the applier would refuse; and the result of an evaluation under another algorithm or
// strategy. Both are dry runs on a snapshot, on another thread, while the cluster continues.
#include <fmt/format.h>

#include "advice/advice.h"
#include "advice/advice_text.h"
#include "advice/plan_text.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "server/surroundings.h"
#include "tables/export.h"

namespace berth::http {

namespace {

struct BerthQuestion {
  tables::SnapshotRef state;
  json::Value document;  ///< {"Job": ...}
  model::Options options;
  std::int64_t now_ns = 0;
  std::string name_space, job_id, node, eval_id, algorithm, strategy;
};

json::Value no_answer(const std::string& text) {
  json::Value out = json::Value::object();
  out.set("Error", text);
  return out;
}

/// Calls `answer` on another thread; an error there becomes {"Error": text}.
void answer_elsewhere(Reply& reply, std::shared_ptr<const BerthQuestion> asked,
                      json::Value (*answer)(const BerthQuestion&)) {
  reply.stream(Where::questions, [asked = std::move(asked), answer](std::string& out) {
    out += json::to_text(answer(*asked));
    return false;
  });
}

/// The common part of both requests: a stored job, or one in the body.
std::shared_ptr<BerthQuestion> read_question(Simulation& simulation, const Request& request, const json::Value& body,
                                             Reply& reply) {
  const Expected expected{body, "Question", reply};
  const auto id = expected.text("JobID"), space = expected.text("Namespace"), eval = expected.text("EvalID");
  const auto job = expected.object("Job");
  if (!id || !space || !eval || !job) return nullptr;
  auto out = std::make_shared<BerthQuestion>();
  out->name_space = space->empty() ? request.name_space : *space;
  out->job_id = *id, out->eval_id = *eval;
  out->now_ns = simulation.now();
  out->options = simulation.server().config().options;
  out->document = json::Value::object();
  if (!eval->empty()) {
    const auto stored = simulation.log().eval(*eval);
    if (!stored) return reply.fail(404, "eval not found"), nullptr;
    out->name_space = stored->namespace_, out->job_id = stored->job_id;
  }
  if (job->is_object()) {
    out->document.set("Job", *job);
    out->job_id = body_member(*job, "ID").as_string();
  } else {
    if (out->job_id.empty()) return reply.fail(400, "JobID, EvalID or Job must be specified"), nullptr;
    const auto stored = simulation.log().job(out->name_space, out->job_id);
    if (!stored) return reply.fail(404, "job not found"), nullptr;
    out->document.set("Job", model::to_json(*stored));
  }
  out->state = simulation.store().snapshot();
  return out;
}

// ---------------------------------------------------------------- explain

json::Value refusals_json(const server::DryRunAnswer& answer, const server::DryRun& dry_run) {
  json::Value out = json::Value::object(), nodes = json::Value::array();
  for (const server::Refusal& refusal : answer.refusals) {
    json::Value node = json::Value::object();
    node.set("NodeID", refusal.node_id), node.set("NodeName", refusal.node_name), node.set("Reason", refusal.reason);
    nodes.push(std::move(node));
  }
  out.set("Nodes", std::move(nodes));
  if (answer.refusals.empty()) return out;
  const server::Rehearsal rehearsal = dry_run.rehearse();
  static constexpr const char* kEnds[] = {"complete", "failed", "endless"};
  out.set("End", kEnds[static_cast<std::size_t>(rehearsal.end)]), out.set("Description", rehearsal.description);
  out.set("Plans", std::uint64_t{rehearsal.plans}), out.set("RefusedPlans", std::uint64_t{rehearsal.refused});
  out.set("Placed", std::uint64_t{rehearsal.placed});
  return out;
}

json::Value explain_answer(const BerthQuestion& asked) {
  const model::ClusterState state = tables::to_cluster(*asked.state);
  const auto registration = advice::read_job(state, asked.document, "request", asked.name_space, asked.options);
  if (!registration) return no_answer(registration.error().problem);
  if (!registration->job) return no_answer(registration->error);
  server::DryRun dry_run(state, *registration, asked.now_ns);
  const server::DryRunAnswer answer = dry_run.answer();
  if (!answer.error.empty()) return no_answer(answer.error);
  json::Value out = json::Value::object(), failed = json::Value::object();
  for (const auto& [group, metric] : answer.failed) failed.set(group, model::to_json(metric));
  out.set("JobID", dry_run.job()->id), out.set("Namespace", dry_run.job()->namespace_);
  out.set("Fits", answer.failed.empty() && answer.refusals.empty());
  out.set("FailedTGAllocs", std::move(failed));
  const advice::Question question{state, asked.document, "request", asked.name_space, asked.options, asked.now_ns, 0};
  out.set("Advice", advice::to_json(advice::advise(question, *registration, dry_run, answer)));
  out.set("Applier", refusals_json(answer, dry_run));
  if (asked.node.empty()) return out;
  const auto node = advice::explain(question, *registration, asked.node);
  if (!node) return no_answer(node.error());
  out.set("Node", *node);
  return out;
}

/// Body: {"JobID" or "Job", "Namespace", "Node": an ID, a prefix of one, or a name}
void explain(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = object_body(request, "Question", reply);
  if (!body) return;
  const auto node = Expected{*body, "Question", reply}.text("Node");
  if (!node) return;
  const auto asked = read_question(simulation, request, *body, reply);
  if (!asked) return;
  asked->node = *node;
  answer_elsewhere(reply, asked, explain_answer);
}

// ---------------------------------------------------------------- counterfactual

/// Placed allocations and their nodes.
struct WouldBe {
  std::map<std::string, std::string> node_of;  // by allocation name: node ID
  json::Value placed = json::Value::array();
  json::Value failed = json::Value::object();
  std::size_t preempted = 0;
};

WouldBe outcome_of(const server::DryRunAnswer& answer) {
  WouldBe out;
  for (const auto& [node, allocs] : answer.plan.node_allocation)
    for (const model::Allocation& alloc : allocs) {
      json::Value one = json::Value::object();
      one.set("Name", alloc.name), one.set("NodeID", node), one.set("NodeName", alloc.node_name);
      if (alloc.metrics)
        for (const model::ScoreMeta& score : alloc.metrics->score_meta_data)
          if (score.node_id == node) one.set("Score", score.norm_score);
      out.placed.push(std::move(one));
      out.node_of[alloc.name] = node;
    }
  for (const auto& [node, allocs] : answer.plan.node_preemptions) out.preempted += allocs.size();
  for (const auto& [group, metric] : answer.failed) out.failed.set(group, model::to_json(metric));
  return out;
}

json::Value would_be_json(const WouldBe& outcome, const std::string& algorithm, const std::string& strategy) {
  json::Value out = json::Value::object();
  std::set<std::string> nodes;
  for (const auto& [name, node] : outcome.node_of) nodes.insert(node);
  out.set("Algorithm", algorithm), out.set("Strategy", strategy), out.set("Placed", outcome.placed);
  out.set("Nodes", nodes.size()), out.set("Preempted", outcome.preempted), out.set("FailedTGAllocs", outcome.failed);
  return out;
}

/// The state without the evaluation's placements or, if none is named, without the job's allocations.
model::ClusterState state_before(const BerthQuestion& asked) {
  model::ClusterState state = tables::to_cluster(*asked.state);
  std::erase_if(state.allocs, [&](const model::Allocation& alloc) {
    if (alloc.namespace_ != asked.name_space || alloc.job_id != asked.job_id) return false;
    return asked.eval_id.empty() || alloc.eval_id == asked.eval_id;
  });
  return state;
}

json::Value counterfactual_answer(const BerthQuestion& asked) {
  const model::ClusterState state = state_before(asked);
  const auto registration = advice::read_job(state, asked.document, "request", asked.name_space, asked.options);
  if (!registration) return no_answer(registration.error().problem);
  if (!registration->job) return no_answer(registration->error);
  server::DryRun dry_run(state, *registration, asked.now_ns);
  const server::DryRunAnswer as_it_is = dry_run.decide();
  model::SchedulerConfiguration config = state.scheduler_config.value_or(model::SchedulerConfiguration{});
  const std::string was = config.scheduler_algorithm.empty() ? "binpack" : config.scheduler_algorithm;
  if (!asked.algorithm.empty()) config.scheduler_algorithm = asked.algorithm;
  dry_run.configure(config);
  server::ScoringStrategy ranked;  // outlives its use
  if (!asked.strategy.empty()) {
    auto made = server::scoring_strategy(asked.strategy, dry_run.tables());
    if (!made) return no_answer(made.error().reason());
    ranked = std::move(*made);
    dry_run.score_by(ranked);
  }
  const server::DryRunAnswer instead = dry_run.decide();
  if (!as_it_is.error.empty() || !instead.error.empty())
    return no_answer(as_it_is.error.empty() ? instead.error : as_it_is.error);
  const WouldBe one = outcome_of(as_it_is), other = outcome_of(instead);
  std::size_t moved = 0;
  for (const auto& [name, node] : one.node_of) {
    const auto found = other.node_of.find(name);
    moved += found == other.node_of.end() || found->second != node;
  }
  json::Value out = json::Value::object();
  out.set("JobID", asked.job_id), out.set("Namespace", asked.name_space);
  out.set("AsItIs", would_be_json(one, was, "nomad"));
  out.set("Instead", would_be_json(other, asked.algorithm.empty() ? was : asked.algorithm,
                                   asked.strategy.empty() ? "nomad" : asked.strategy));
  out.set("Moved", moved);
  return out;
}

/// Body: {"EvalID" or "JobID" with "Namespace", "Algorithm": binpack or spread, "Strategy": a name of berth compare}
void counterfactual(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = object_body(request, "Question", reply);
  if (!body) return;
  const Expected expected{*body, "Question", reply};
  const auto algorithm = expected.text("Algorithm"), strategy = expected.text("Strategy");
  if (!algorithm || !strategy) return;
  if (algorithm->empty() && strategy->empty()) return reply.fail(400, "Algorithm or Strategy must be specified");
  if (!algorithm->empty() && *algorithm != "binpack" && *algorithm != "spread")
    return reply.fail(400, "invalid scheduler algorithm: " + *algorithm + "; write binpack or spread");
  const auto asked = read_question(simulation, request, *body, reply);
  if (!asked) return;
  asked->algorithm = *algorithm, asked->strategy = *strategy;
  answer_elsewhere(reply, asked, counterfactual_answer);
}

// ---------------------------------------------------------------- metrics of the run

template <class... Members>
json::Value run_counts(Members... members) {
  json::Value out = json::Value::object();
  (out.set(members.first, static_cast<std::uint64_t>(members.second)), ...);
  return out;
}

void read_run(Simulation& simulation, const Request&, Reply& reply) {
  const server::Stats stats = simulation.server().stats();
  const living::Cluster::Counts& exchange = simulation.cluster().counts();
  const client::Clients::Counts clients = simulation.cluster().clients().counts();
  json::Value out = json::Value::object();
  out.set("Now", simulation.now()), out.set("Started", simulation.config().start_ns);
  out.set("Speed", simulation.speed().text()), out.set("Seed", simulation.config().seed);
  out.set("Index", simulation.state().index), out.set("HasLeader", simulation.cluster().has_leader());
  out.set("Digest", fmt::format("{:016x}", simulation.cluster().digest()));
  using P = std::pair<const char*, std::uint64_t>;
  out.set("Evaluations",
          run_counts(P{"Served", stats.served}, P{"Blocked", stats.blocked}, P{"Reblocked", stats.reblocked},
                     P{"Retried", stats.retried}, P{"Failed", stats.failed}, P{"Cancelled", stats.cancelled},
                     P{"GaveUp", stats.gave_up}, P{"WaitingForCapacity", simulation.server().blocked_count()}));
  json::Value workers = json::Value::object();
  const server::Config& config = simulation.server().config();
  workers.set("Number", static_cast<std::uint64_t>(config.workers));
  workers.set("Order", config.execution == server::Execution::free ? "free" : "deterministic");
  workers.set("Ahead", run_counts(P{"Used", stats.ahead_used}, P{"Redone", stats.ahead_redone},
                                  P{"InTurn", stats.ahead_inline}));
  out.set("Workers", std::move(workers));
  out.set("Plans", run_counts(P{"Submitted", stats.plans}, P{"Refused", stats.conflicts}, P{"Partial", stats.partial}));
  out.set("Clients",
          run_counts(P{"Running", clients.clients}, P{"Allocations", clients.allocs}, P{"Tasks", clients.tasks},
                     P{"Timers", clients.timers}, P{"Heartbeats", exchange.heartbeats}, P{"Pulls", exchange.pulls},
                     P{"Reports", exchange.reports}));
  out.set("LongPolls", simulation.waiting());
  reply.json(out);
}

}  // namespace

void add_berth_question_routes(Router& router) {
  router.add({"/v1/berth/explain", kPut | kPost, RouteKind::plain, explain, {}});
  router.add({"/v1/berth/counterfactual", kPut | kPost, RouteKind::plain, counterfactual, {}});
  router.plain("/v1/berth/run", read_run);
}

}  // namespace berth::http
