// Reading nodes (R-API-300 to 304).
#include "base/text.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/id_prefix.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::kNoRow;
using tables::NodeRow;

void list_all_nodes(Simulation& simulation, const Request& request, Reply& reply) {
  list_nodes(simulation, request, reply, "");
}
std::uint64_t node_index(Simulation& simulation, const Request& request) {
  if (request.captures[0].size() != 36) return kAnswerNow;
  const NodeRow row = simulation.store().find_node(request.captures[0]);
  const bool known = row != kNoRow && simulation.state().nodes.exists(row);
  return known ? simulation.log().node_modify_index(row) : simulation.log().table_index(Table::nodes);
}

void read_node(Simulation& simulation, const Request& request, Reply& reply) {
  if (request.captures[0].empty()) return reply.fail(500, "missing node ID");
  if (!is_whole_id(request.captures[0], "node lookup failed: ", reply)) return;
  const auto node = simulation.log().node(request.captures[0]);
  if (!node) return reply.fail(404, "node not found");
  reply.json(node_json(*node));
}

/// All allocations of the node, ended ones last (R-API-304).
std::vector<tables::AllocRow> allocs_on(const tables::Snapshot& state, NodeRow node) {
  std::vector<tables::AllocRow> rows;
  for (const tables::AllocRow head : {state.nodes.use[node].alloc_head, state.nodes.use[node].ended_head})
    for (tables::AllocRow row = head; row != kNoRow; row = state.allocs.next_on_node[row]) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](auto a, auto b) {
    return std::pair(state.allocs.terminal(a), state.allocs.id[a]) <
           std::pair(state.allocs.terminal(b), state.allocs.id[b]);
  });
  return rows;
}

std::uint64_t node_allocs_index(Simulation& simulation, const Request& request) {
  const NodeRow node = simulation.store().find_node(request.captures[0]);
  std::uint64_t index = 0;
  if (node != kNoRow)
    for (const tables::AllocRow row : allocs_on(simulation.state(), node))
      index = std::max(index, simulation.state().allocs.modify_index[row]);
  return index != 0 ? index : std::max<std::uint64_t>(simulation.log().table_index(Table::allocs), 1);
}

void read_node_allocs(Simulation& simulation, const Request& request, Reply& reply) {
  const NodeRow node = simulation.store().find_node(request.captures[0]);
  if (node == kNoRow) return reply.json(json::Value::array());
  const auto state = simulation.store().snapshot();
  send_list(simulation, whole(request), reply, Where::readers, [state, node, visible = request.visible] {
    ListRows list;
    for (const tables::AllocRow row : allocs_on(*state, node))
      if (!visible || visible->contains(state->text(state->jobs.keys[state->allocs.job_key[row]].job_namespace)))
        list.rows.push_back(row);
    list.write = [state](std::uint32_t row, std::string& out) {
      json::append_text(out, alloc_json(*state, tables::AllocRow(row)));
    };
    return list;
  });
}

/// A boolean parameter of node lists, whose errors have a different status and text (R-API-17).
std::optional<bool> node_list_field(const Request& request, std::string_view name, Reply& reply) {
  const std::string* given = request.find(name);
  if (!given || given->empty()) return false;
  if (const auto value = base::parse_bool(*given)) return *value;
  reply.fail(400, "Failed to parse node list fields: Failed to parse value of " + base::go_quote(name) + " (" + *given +
                      ") as a bool: strconv.ParseBool: parsing " + base::go_quote(*given) + ": invalid syntax");
  return std::nullopt;
}

/// Version of a node's stub: differs whenever its text in lists does.
std::uint64_t version_of(const fsm::NodeView& view, NodeRow row) {
  return view.modify_index(row) << 8U | view.state->nodes.state[row];
}

}  // namespace

void list_nodes(Simulation& simulation, const Request& request, Reply& reply, const std::string& pool) {
  const auto resources = node_list_field(request, "resources", reply);
  const auto os = resources ? node_list_field(request, "os", reply) : std::nullopt;
  if (!resources || !os) return;
  const auto prefix = IdPrefix::parse(request.prefix);
  if (!prefix) return reply.fail("node lookup failed: " + prefix.error());
  const NodeStubFields fields{*resources, *os};
  const auto view = std::make_shared<const fsm::NodeView>(simulation.log().node_view());
  const auto stubs = *resources || *os ? nullptr : simulation.node_stubs();
  send_list(simulation, request, reply, Where::readers, [view, prefix = *prefix, fields, pool, stubs] {
    ListRows list;
    const tables::NodeTable& nodes = view->state->nodes;
    for (NodeRow row = 0; row < nodes.size(); ++row)
      if (nodes.exists(row) && prefix.matches(nodes.id(row)) && (pool.empty() || is_in_pool(view->state, row, pool)))
        list.rows.push_back(row);
    list.before = [view](std::uint32_t a, std::uint32_t b) {
      return view->state->nodes.id(NodeRow(a)) < view->state->nodes.id(NodeRow(b));
    };
    list.write = [view, fields, stubs](std::uint32_t row, std::string& out) {
      const auto make = [&](std::string& to) { json::append_text(to, node_stub(view->node(NodeRow(row)), fields)); };
      stubs ? stubs->append(row, version_of(*view, NodeRow(row)), out, make) : make(out);
    };
    list.token = [view](std::uint32_t row) { return base::to_text(view->state->nodes.id(NodeRow(row))); };
    list.passes = [view](std::uint32_t row, const Filter& filter) { return filter.matches(view->node(NodeRow(row))); };
    return list;
  });
}

void add_node_routes(Router& router) {
  router.read("/v1/nodes", list_all_nodes, blocks_on<Table::nodes>());
  router.read("/v1/node/*", read_node, {node_index, tables_of(Table::nodes)});
  router.read("/v1/node/*/allocations", read_node_allocs, {node_allocs_index, tables_of(Table::allocs)});
}

}  // namespace berth::http
