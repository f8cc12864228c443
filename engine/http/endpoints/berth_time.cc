// Endpoints that Nomad does not have: speed of time and faults of machines (/v1/berth/advance, speed, fault).
#include <algorithm>
#include <cmath>

#include "base/uuid.h"
#include "http/addresses.h"
#include "http/endpoints/endpoints.h"
#include "io/export_import.h"
#include "model/codec/codec.h"
#include "model/computed_class.h"
#include "model/registration/node_canonical.h"

namespace berth::http {

namespace {

constexpr double kAdvanceMost = 366.0 * 86400;  // seconds per request

json::Value time_json(const Simulation& simulation) {
  json::Value out = json::Value::object();
  out.set("Now", simulation.now()), out.set("Speed", simulation.speed().text());
  return out;
}

/// Body: {"Seconds": number}. Advances virtual time at once and replies when done.
void advance(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = json_body(request, reply);
  if (!body) return;
  const double seconds = (*body)["Seconds"].is_number() ? (*body)["Seconds"].as_double(-1) : -1;
  if (!(seconds >= 0 && seconds <= kAdvanceMost))
    return reply.fail(400, "Seconds must be a number from 0 to 31622400, for example {\"Seconds\": 1.5}");
  auto answer = reply.later();
  simulation.advance(std::llround(seconds * 1e9), [&simulation, answer] {
    Reply done;
    done.json(time_json(simulation));
    answer(std::move(done));
  });
}

void read_speed(Simulation& simulation, const Request&, Reply& reply) { reply.json(time_json(simulation)); }

/// Body: {"Speed": "100"}
void write_speed(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = json_body(request, reply);
  if (!body) return;
  const json::Value& given = (*body)["Speed"];
  const auto speed = Speed::parse(given.is_string() ? given.as_string() : json::to_text(given));
  if (!speed) return reply.fail(400, "Speed must be how many times real time, for example 1 or 100, or max, or step");
  simulation.set_speed(*speed);
  reply.json(time_json(simulation));
}

/// Checks a joining node like the import of a cluster with it, and completes it. Returns the error, or "".
std::string check_joining(model::Node& node) {
  if (node.id.empty() || node.name.empty()) return "Node must be a node as GET /v1/node/:id gives it, with ID and Name";
  if (base::parse_uuid(node.id).value_or(base::Uuid{}).is_nil())
    return "Node: its ID is no UUID; write 32 hexadecimal digits as 8-4-4-4-12, not all of them 0";
  model::canonicalize(node);
  node.computed_class = model::computed_class(node);
  if (node.status.empty()) node.status = "ready";
  model::ClusterState alone;
  alone.node_pools.emplace_back().name = node.node_pool;  // a missing one is created with the node (R-CTRL-907)
  alone.nodes.push_back(std::move(node));
  auto checked = io::import_cluster_json(io::cluster_to_json(alone), "Node", {.strict = true});
  if (!checked) return "Node: " + checked.error().reason();
  node = std::move(checked->state.nodes.front());
  return "";
}

/// Events of a fault on a machine, by its kind; empty: the reply contains the error.
std::vector<living::Event> events_of(Simulation& simulation, const json::Value& body, Reply& reply) {
  const std::string& kind = body["Kind"].as_string();
  if (kind == "join") {
    living::NodeRegister event;
    model::ReadOptions options;
    options.path = "request";
    if (auto read = model::from_json(body["Node"], event.node, options); !read) {
      reply.fail(400, "Node: " + read.error().problem);
      return {};
    }
    if (const std::string problem = check_joining(event.node); !problem.empty()) {
      reply.fail(400, problem);
      return {};
    }
    if (simulation.options().keep_addresses)
      remove_client_address(event.node);
    else
      replace_addresses(event.node);
    return {event};
  }
  const std::string& id = body["NodeID"].as_string();
  if (simulation.store().find_node(id) == tables::kNoRow) {
    reply.fail(404, "node not found");
    return {};
  }
  // The client process dies and is not restarted; its tasks are recovered when it starts again.
  if (kind == "kill")
    return {living::ClientRestart{id, client::kNever, client::Recovery::all}, living::NodeUnreachable{id}};
  if (kind == "partition") return {living::NodeUnreachable{id}};
  if (kind == "heal") return {living::NodeReachable{id}};
  if (kind == "start") return {living::ClientRestart{id, 0, client::Recovery::all}, living::NodeReachable{id}};
  if (kind == "restart") {
    const double down = body["DownSeconds"].as_double();
    if (down >= 0 && down <= kAdvanceMost)
      return {living::ClientRestart{id, std::llround(down * 1e9), client::Recovery::by_model}};
    reply.fail(400, "DownSeconds must be a number from 0 to 31622400");
    return {};
  }
  if (kind == "lose") return {living::NodeDeregister{{id}, true}};
  if (kind == "slow") {
    const double lag = body["LagSeconds"].as_double(-1);
    if (lag >= 0 && lag <= kAdvanceMost) return {living::ReportLag{id, std::llround(lag * 1e9)}};
    reply.fail(400, "LagSeconds must be a number from 0 to 31622400");
    return {};
  }
  reply.fail(400, "Kind must be join, kill, start, restart, partition, heal, lose or slow");
  return {};
}

void fault(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = json_body(request, reply);
  if (!body) return;
  std::uint64_t index = 0;
  for (const living::Event& event : events_of(simulation, *body, reply)) {
    const fsm::Answer answer = simulation.apply(event);
    if (!answer.error.empty()) return reply.fail(500, answer.error);
    index = std::max(index, answer.index);
  }
  if (reply.status() != 200) return;
  json::Value out = time_json(simulation);
  out.set("Index", index);
  reply.json(out);
}

}  // namespace

void add_berth_time_routes(Router& router) {
  router.write("/v1/berth/advance", advance);
  router.read("/v1/berth/speed", read_speed);
  router.write("/v1/berth/speed", write_speed);
  router.write("/v1/berth/fault", fault);
}

}  // namespace berth::http
