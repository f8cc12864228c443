// Reading deployments (R-API-430).
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/id_prefix.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"
#include "model/codec/codec.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::kNoRow;

void list_deployments(Simulation& simulation, const Request& request, Reply& reply) {
  const auto prefix = IdPrefix::parse(request.prefix);
  if (!prefix) return reply.fail(prefix.error());
  const auto state = simulation.store().snapshot();
  send_list(simulation, request, reply, Where::readers, [state, request, prefix = *prefix] {
    ListRows list;
    const tables::DeploymentTable& table = state->deployments;
    for (tables::DeploymentRow row = 0; row < table.size(); ++row) {
      const auto& deployment = table.object[row];
      if (!deployment || !request.shows(deployment->namespace_)) continue;
      if (prefix.matches(table.id[row])) list.rows.push_back(row);
    }
    const bool by_id = !request.prefix.empty();
    list.before = [state, by_id](std::uint32_t a, std::uint32_t b) {
      const auto& of = state->deployments;
      return by_id ? of.id[a] < of.id[b]
                   : std::pair(of.create_index[a], of.id[a]) < std::pair(of.create_index[b], of.id[b]);
    };
    list.descends = request.reverse;
    list.tokens = by_id ? TokenKind::text : TokenKind::creation;
    list.write = [state](std::uint32_t row, std::string& out) {
      json::append_text(out, model::to_json(*state->deployments.object[row]));
    };
    list.token = [state, by_id](std::uint32_t row) {
      return by_id ? base::to_text(state->deployments.id[row])
                   : creation_token(state->deployments.create_index[row], state->deployments.id[row]);
    };
    list.passes = [state](std::uint32_t row, const Filter& filter) {
      return filter.matches(*state->deployments.object[row]);
    };
    return list;
  });
}

std::uint64_t deployment_index(Simulation& simulation, const Request& request) {
  if (request.captures[0].size() != 36) return kAnswerNow;
  const auto deployment = simulation.log().deployment(request.captures[0]);
  return deployment ? deployment->modify_index : simulation.log().table_index(Table::deployment);
}

void read_deployment(Simulation& simulation, const Request& request, Reply& reply) {
  if (!is_whole_id(request.captures[0], "deployment lookup failed: ", reply)) return;
  const auto deployment = simulation.log().deployment(request.captures[0]);
  if (!deployment) return reply.fail(404, "deployment not found");
  reply.json(model::to_json(*deployment));
}

void read_deployment_allocs(Simulation& simulation, const Request& request, Reply& reply) {
  const tables::DeploymentRow deployment = simulation.store().find_deployment(request.captures[0]);
  if (deployment == kNoRow) return reply.json(json::Value::array());
  const auto state = simulation.store().snapshot();
  send_list(simulation, whole(request), reply, Where::readers, [state, deployment] {
    ListRows list;
    const tables::AllocTable& allocs = state->allocs;
    const base::Uuid id = state->deployments.id[deployment];
    const tables::JobKeyRow key = state->deployments.job_key[deployment];
    if (key != kNoRow)
      for (auto row = state->jobs.keys[key].alloc_head; row != kNoRow; row = allocs.next_of_job[row])
        if (state->deployment_of(row) == id) list.rows.push_back(row);
    std::sort(list.rows.begin(), list.rows.end(), [&](auto a, auto b) { return allocs.id[a] < allocs.id[b]; });
    list.write = [state](std::uint32_t row, std::string& out) {
      json::append_text(out, alloc_stub(*state, tables::AllocRow(row)));
    };
    return list;
  });
}

}  // namespace

void add_deployment_routes(Router& router) {
  router.read("/v1/deployments", list_deployments, blocks_on<Table::deployment>());
  router.read("/v1/deployment/*", read_deployment, {deployment_index, tables_of(Table::deployment)});
  router.read("/v1/deployment/allocations/*", read_deployment_allocs, blocks_on<Table::allocs>());
}

}  // namespace berth::http
