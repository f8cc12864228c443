// Information about the server: status, members, the agent's settings (R-API-510 to 515, R-STORE-315, 325, 326).
#include "base/text.h"
#include "base/time.h"
#include "http/endpoints/agent_settings.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "io/json_parse.h"

namespace berth::http {

namespace {

constexpr const char *kRpcAddress = "127.0.0.1:4647", *kVersion = "2.0.6";

json::Value object_of(std::initializer_list<std::pair<const char*, json::Value>> members) {
  json::Value out = json::Value::object();
  for (const auto& [key, value] : members) out.set(key, value);
  return out;
}

void leader(Simulation& simulation, const Request&, Reply& reply) {
  reply.json(simulation.has_leader() ? kRpcAddress : "");
}
void peers(Simulation&, const Request&, Reply& reply) { reply.json(json::Array{kRpcAddress}); }
void regions(Simulation&, const Request&, Reply& reply) { reply.json(json::Array{"global"}); }

json::Value member(Simulation& simulation) {  // R-API-511; its address and port are those of the leader (R-API-512)
  json::Value out = object_of({{"Name", simulation.agent().server_name()}, {"Addr", "127.0.0.1"}, {"Port", 4648}});
  out.set("Tags", object_of({{"role", "nomad"},
                             {"region", "global"},
                             {"dc", simulation.agent().datacenter},
                             {"build", std::string(kVersion) + "-dev"},
                             {"vsn", "1"},
                             {"raft_vsn", "3"},
                             {"id", simulation.agent().server_id()},
                             {"port", "4647"},
                             {"rpc_addr", "127.0.0.1"},
                             {"bootstrap", "1"},
                             {"expect", "1"},
                             {"revision", ""}}));
  out.set("Status", "alive"), out.set("ProtocolMin", 1), out.set("ProtocolMax", 5), out.set("ProtocolCur", 2);
  out.set("DelegateMin", 2), out.set("DelegateMax", 5), out.set("DelegateCur", 4);
  return out;
}

void members(Simulation& simulation, const Request&, Reply& reply) {
  const Agent& agent = simulation.agent();
  json::Value out =
      object_of({{"ServerName", agent.name()}, {"ServerRegion", "global"}, {"ServerDC", agent.datacenter}});
  out.set("Members", json::Array{member(simulation)});
  reply.json(out);
}

/// Merges `more` into `out`, object by object.
void merge(json::Value& out, const json::Value& more) {
  for (const json::Member& member : more.members()) {
    json::Value* there = out.find(member.key);
    if (there && there->is_object() && member.value.is_object())
      merge(*there, member.value);
    else
      out.set(member.key, member.value);
  }
}

json::Value settings(Simulation& simulation) {
  const living::Config& config = simulation.config();
  const bool has_client = !simulation.agent().local_node.empty();
  const auto enabled = [](bool on) { return object_of({{"Enabled", on}}); };
  const auto addresses = [](json::Value http, json::Value rpc, json::Value serf) {
    return object_of({{"HTTP", std::move(http)}, {"RPC", std::move(rpc)}, {"Serf", std::move(serf)}});
  };
  const std::string& http = simulation.options().http_address;  // not that of another agent on this machine
  const std::int64_t http_port = base::parse_int64(http.substr(http.rfind(':') + 1)).value_or(4646);
  json::Value ui = enabled(true);
  ui.set("ShowCLIHints", true);  // the hints link to the status page
  json::Value server = enabled(true);
  server.set("BootstrapExpect", 1), server.set("NumSchedulers", simulation.agent().workers().size()),
      server.set("EnableEventBroker", true);
  server.set("EventBufferSize", 100), server.set("JobTrackedVersions", 6), server.set("JobMaxSourceSize", "1M");
  server.set("RaftProtocol", 3), server.set("DataDir", "");
  server.set("Search",
             object_of({{"FuzzyEnabled", true}, {"LimitQuery", 20}, {"LimitResults", 100}, {"MinTermLength", 2}}));
  server.set("HeartbeatGrace", config.watchers.heartbeats.grace_ns);
  server.set("MinHeartbeatTTL", config.watchers.heartbeats.min_ttl_ns);
  static const json::Value kRest = io::parse_json(kAgentSettings).value_or(json::Value::object());
  json::Value out = kRest;
  merge(out, object_of({{"Region", "global"},
                        {"Datacenter", simulation.agent().datacenter},
                        {"NodeName", simulation.agent().name()},
                        {"BindAddr", "127.0.0.1"},
                        {"Addresses", addresses("127.0.0.1", "127.0.0.1", "127.0.0.1")},
                        {"AdvertiseAddrs", addresses(http, kRpcAddress, "127.0.0.1:4648")},
                        {"Ports", addresses(http_port, 4647, 4648)},
                        {"Version", object_of({{"Version", kVersion},
                                               {"VersionPrerelease", "dev"},
                                               {"VersionMetadata", ""},
                                               {"Revision", ""},
                                               {"BuildDate", nullptr}})},
                        {"UI", std::move(ui)},
                        {"ACL", enabled(simulation.options().acl)},
                        {"Server", std::move(server)},
                        {"Client", enabled(has_client)},
                        {"DataDir", ""},
                        {"DevMode", false},
                        {"LogLevel", "INFO"},
                        {"LogJson", false},
                        {"EnableDebug", false},
                        {"DisableUpdateCheck", true},
                        {"TLSConfig", object_of({{"EnableHTTP", false}, {"EnableRPC", false}})},
                        {"Telemetry", object_of({{"PrometheusMetrics", true},
                                                 {"PublishAllocationMetrics", has_client},
                                                 {"PublishNodeMetrics", true}})},
                        {"Simulation", object_of({{"Seed", config.seed}, {"Speed", simulation.speed().text()}})}}));
  return out;
}

/// Statistics of the node whose client this agent is (R-STORE-325).
json::Value client_statistics(Simulation& simulation, const std::string& id) {
  const tables::NodeRow row = simulation.store().find_node(id);
  std::int64_t allocs = 0;
  if (row != tables::kNoRow) {
    const tables::NodeUse& use = simulation.state().nodes.use[row];
    for (const tables::AllocRow head : {use.alloc_head, use.ended_head})
      for (tables::AllocRow at = head; at != tables::kNoRow; at = simulation.state().allocs.next_on_node[at]) ++allocs;
  }
  const std::int64_t ttl = simulation.config().watchers.heartbeats.min_ttl_ns;
  return object_of({{"node_id", id},
                    {"known_servers", kRpcAddress},
                    {"num_allocations", std::to_string(allocs)},
                    {"last_heartbeat", "0s"},
                    {"heartbeat_ttl", base::duration_text(ttl)}});
}

json::Value statistics(Simulation& simulation) {
  const std::string index = std::to_string(simulation.log().next_index() - 1);
  const std::string processors = std::to_string(simulation.agent().processors());
  const std::string configuration =
      "[{Suffrage:Voter ID:" + simulation.agent().server_id() + " Address:" + kRpcAddress + "}]";
  json::Value out = object_of({{"nomad", object_of({{"server", "true"},
                                                    {"leader", simulation.cluster().has_leader() ? "true" : "false"},
                                                    {"leader_addr", kRpcAddress},
                                                    {"bootstrap", "true"},
                                                    {"known_regions", "1"}})},
                               {"raft", object_of({{"applied_index", index},
                                                   {"commit_index", index},
                                                   {"fsm_pending", "0"},
                                                   {"last_contact", "0"},
                                                   {"last_log_index", index},
                                                   {"last_log_term", "2"},
                                                   {"last_snapshot_index", "0"},
                                                   {"last_snapshot_term", "0"},
                                                   {"latest_configuration", configuration},
                                                   {"latest_configuration_index", "0"},
                                                   {"logstore_backend", "boltdb"},
                                                   {"num_peers", "0"},
                                                   {"protocol_version", "3"},
                                                   {"protocol_version_min", "0"},
                                                   {"protocol_version_max", "3"},
                                                   {"snapshot_version_min", "0"},
                                                   {"snapshot_version_max", "1"},
                                                   {"state", simulation.cluster().has_leader() ? "Leader" : "Follower"},
                                                   {"term", "2"}})},
                               {"serf", object_of({{"coordinate_resets", "0"},
                                                   {"encrypted", "false"},
                                                   {"event_queue", "0"},
                                                   {"event_time", "1"},
                                                   {"failed", "0"},
                                                   {"health_score", "0"},
                                                   {"intent_queue", "0"},
                                                   {"left", "0"},
                                                   {"member_time", "1"},
                                                   {"members", "1"},
                                                   {"query_queue", "0"},
                                                   {"query_time", "1"}})},
                               {"runtime", object_of({{"arch", "amd64"},
                                                      {"cpu_count", processors},
                                                      {"goroutines", "0"},
                                                      {"kernel.name", "linux"},
                                                      {"max_procs", processors},
                                                      {"version", "berth"}})}});
  const std::string& local = simulation.agent().local_node;
  if (!local.empty()) out.set("client", client_statistics(simulation, local));
  return out;
}

void self(Simulation& simulation, const Request&, Reply& reply) {
  json::Value out = json::Value::object();
  out.set("config", settings(simulation)), out.set("member", member(simulation)),
      out.set("stats", statistics(simulation));
  reply.json(out);
}

void health(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-515, R-STORE-315
  json::Value out = json::Value::object();
  const bool has_client = !simulation.agent().local_node.empty();
  bool asked = false, server = false, client = false;
  for (const auto& [key, value] : request.query)
    if (key == "type") asked = true, server |= value == "server", client |= value == "client";
  if (!asked || server) out.set("server", object_of({{"ok", true}, {"message", "ok"}}));
  if (has_client ? !asked || client : client)
    out.set("client", object_of({{"ok", has_client}, {"message", has_client ? "ok" : "client not enabled"}}));
  if (client && !has_client) return reply.fail(500, json::to_text(out));
  reply.json(out);
}

}  // namespace

void add_agent_routes(Router& router) {
  router.immediate("/v1/status/leader", leader);
  router.immediate("/v1/status/peers", peers);
  router.immediate("/v1/regions", regions);
  router.immediate("/v1/agent/members", members);
  router.plain("/v1/agent/self", self);
  router.immediate("/v1/agent/health", health);
}

}  // namespace berth::http
