// Reading evaluations (R-API-400 to 403).
#include <deque>
#include <set>

#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/id_prefix.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::kNoRow;

void list_evaluations(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string status = request.parameter("status"), job = request.parameter("job");
  if (!request.filter.empty() && !(status.empty() && job.empty()))
    return reply.fail("Filter expression cannot be used with other filter parameters");
  const auto prefix = IdPrefix::parse(request.prefix);
  if (!prefix) return reply.fail("eval lookup failed: " + prefix.error());
  const auto state = simulation.store().snapshot();
  send_list(simulation, request, reply, Where::readers, [state, request, prefix = *prefix, status, job] {
    ListRows list;
    const tables::EvalTable& evals = state->evals;
    for (tables::StoredEvalRow row = 0; row < evals.size(); ++row) {
      const auto eval = state->eval(row);
      if (!eval || !request.shows(eval->namespace_)) continue;
      if (!(status.empty() || eval->status == status) || !(job.empty() || eval->job_id == job)) continue;
      if (prefix.matches(evals.id[row])) list.rows.push_back(row);
    }
    const bool by_id = !request.prefix.empty();
    list.before = [state, by_id](std::uint32_t a, std::uint32_t b) {
      const auto& of = state->evals;
      return by_id ? of.id[a] < of.id[b]
                   : std::pair(of.create_index[a], of.id[a]) < std::pair(of.create_index[b], of.id[b]);
    };
    list.descends = request.reverse;
    list.tokens = by_id ? TokenKind::text : TokenKind::creation;
    list.write = [state](std::uint32_t row, std::string& out) {
      json::append_text(out, eval_json(*state->eval(tables::StoredEvalRow(row))));
    };
    list.token = [state, by_id](std::uint32_t row) {
      return by_id ? base::to_text(state->evals.id[row])
                   : creation_token(state->evals.create_index[row], state->evals.id[row]);
    };
    list.passes = [state](std::uint32_t row, const Filter& filter) {
      return filter.matches(*state->eval(tables::StoredEvalRow(row)));
    };
    return list;
  });
}

void count_evaluations(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-401
  const auto prefix = IdPrefix::parse(request.prefix);
  if (!prefix) return reply.fail("eval lookup failed: " + prefix.error());
  const auto filter = filter_of(request);
  if (!filter) return reply.fail(400, filter.error());
  const tables::EvalTable& evals = simulation.state().evals;
  std::uint64_t count = 0;
  for (tables::StoredEvalRow row = 0; row < evals.size(); ++row) {
    const auto eval = simulation.state().eval(row);
    if (!eval || !request.shows(eval->namespace_)) continue;
    if (!prefix->matches(evals.id[row])) continue;
    if (*filter) {
      const auto passes = (*filter)->matches(*eval);
      if (!passes) return reply.fail(400, filter_failure(passes.error()));
      if (!*passes) continue;
    }
    ++count;
  }
  json::Value out = json::Value::object();
  out.set("Count", count), out.set("Index", simulation.log().table_index(Table::evals)), out.set("KnownLeader", true);
  out.set("LastContact", 0), out.set("NextToken", "");
  reply.json(out);
}

std::uint64_t eval_index(Simulation& simulation, const Request& request) {
  if (request.captures[0].size() != 36) return kAnswerNow;
  const auto eval = simulation.log().eval(request.captures[0]);
  return eval ? eval->modify_index : simulation.log().table_index(Table::evals);
}

/// All other evaluations reachable from it, breadth first (R-API-402).
json::Value related_evals(Simulation& simulation, const model::Evaluation& of) {
  json::Value out;
  std::set<std::string> seen{of.id};
  std::deque<std::string> next{of.previous_eval, of.next_eval, of.blocked_eval};
  for (; !next.empty(); next.pop_front()) {
    if (next.front().empty() || !seen.insert(next.front()).second) continue;
    const auto eval = simulation.log().eval(next.front());
    if (!eval) continue;
    out.push(eval_stub(*eval));
    next.insert(next.end(), {eval->previous_eval, eval->next_eval, eval->blocked_eval});
  }
  return out;
}

void read_evaluation(Simulation& simulation, const Request& request, Reply& reply) {
  if (!is_whole_id(request.captures[0], "failed to lookup eval: eval lookup failed: ", reply)) return;
  const auto eval = simulation.log().eval(request.captures[0]);
  if (!eval) return reply.fail(404, "eval not found");
  json::Value out = eval_json(*eval);
  if (request.parameter("related") == "true")
    if (json::Value related = related_evals(simulation, *eval); !related.is_null())
      out.set("RelatedEvals", std::move(related));
  reply.json(out);
}

void read_eval_allocs(Simulation& simulation, const Request& request, Reply& reply) {
  json::Value out = json::Value::array();
  const tables::StoredEvalRow eval = simulation.store().find_eval(request.captures[0]);
  if (eval == kNoRow) return reply.json(out);
  const tables::History& history = *simulation.store().history();
  const tables::Snapshot& state = simulation.state();
  std::vector<tables::AllocRow> rows;
  for (auto row = history.evals[eval].alloc_head; row != kNoRow; row = history.allocs[row].next_of_eval)
    rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](auto a, auto b) { return state.allocs.id[a] < state.allocs.id[b]; });
  for (const tables::AllocRow row : rows) out.push(alloc_stub(state, row));
  reply.json(out);
}

}  // namespace

void add_evaluation_routes(Router& router) {
  router.read("/v1/evaluations", list_evaluations, blocks_on<Table::evals>());
  router.read("/v1/evaluations/count", count_evaluations, blocks_on<Table::evals>());
  router.read("/v1/evaluation/*", read_evaluation, {eval_index, tables_of(Table::evals)});
  router.read("/v1/evaluation/*/allocations", read_eval_allocs, blocks_on<Table::allocs>());
}

}  // namespace berth::http
