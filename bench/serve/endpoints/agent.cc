// Who the server is: status, members, the agent's own settings, what operators ask of a Raft cluster (R-API-503 to
// 517).
#include <unistd.h>

#include "base/text.h"
#include "io/json_parse.h"
#include "serve/endpoints/agent_settings.h"
#include "serve/endpoints/endpoints.h"
#include "serve/endpoints/objects.h"

namespace berth::serve {

namespace {

constexpr const char *kRpcAddress = "127.0.0.1:4647", *kName = "server-1", *kVersion = "2.0.6",
                     *kServerId = "e5f0b1a2-0000-4000-8000-000000000001";
constexpr const char* kNoSuchServer = "not available: this cluster is simulated";

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

json::Value member() {  // R-API-511; its address and port are those of the leader (R-API-512)
  json::Value out = object_of({{"Name", std::string(kName) + ".global"}, {"Addr", "127.0.0.1"}, {"Port", 4648}});
  out.set("Tags", object_of({{"role", "nomad"},
                             {"region", "global"},
                             {"dc", "dc1"},
                             {"build", std::string(kVersion) + "-dev"},
                             {"vsn", "1"},
                             {"raft_vsn", "3"},
                             {"id", kServerId},
                             {"port", "4647"},
                             {"rpc_addr", "127.0.0.1"},
                             {"bootstrap", "1"},
                             {"expect", "1"},
                             {"revision", ""}}));
  out.set("Status", "alive"), out.set("ProtocolMin", 1), out.set("ProtocolMax", 5), out.set("ProtocolCur", 2);
  out.set("DelegateMin", 2), out.set("DelegateMax", 5), out.set("DelegateCur", 4);
  return out;
}

void members(Simulation&, const Request&, Reply& reply) {
  json::Value out = object_of({{"ServerName", kName}, {"ServerRegion", "global"}, {"ServerDC", "dc1"}});
  out.set("Members", json::Array{member()});
  reply.json(out);
}

/// `more` over `out`, object by object.
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
  const auto enabled = [](bool on) { return object_of({{"Enabled", on}}); };
  const auto addresses = [](json::Value http, json::Value rpc, json::Value serf) {
    return object_of({{"HTTP", std::move(http)}, {"RPC", std::move(rpc)}, {"Serf", std::move(serf)}});
  };
  const std::string& http = simulation.options().http_address;  // not that of an agent that runs here as well
  const std::int64_t http_port = base::parse_int64(http.substr(http.rfind(':') + 1)).value_or(4646);
  json::Value ui = enabled(true);
  ui.set("ShowCLIHints", true);  // the status page is what the hints lead to
  json::Value server = enabled(true);
  server.set("BootstrapExpect", 1), server.set("NumSchedulers", 1), server.set("EnableEventBroker", true);
  server.set("EventBufferSize", 100), server.set("JobTrackedVersions", 6), server.set("JobMaxSourceSize", "1M");
  server.set("RaftProtocol", 3), server.set("DataDir", "");
  server.set("Search",
             object_of({{"FuzzyEnabled", true}, {"LimitQuery", 20}, {"LimitResults", 100}, {"MinTermLength", 2}}));
  server.set("HeartbeatGrace", config.watchers.heartbeats.grace_ns);
  server.set("MinHeartbeatTTL", config.watchers.heartbeats.min_ttl_ns);
  static const json::Value kRest = io::parse_json(kAgentSettings).value_or(json::Value::object());
  json::Value out = kRest;
  merge(out, object_of({{"Region", "global"},
                        {"Datacenter", "dc1"},
                        {"NodeName", kName},
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
                        {"Client", enabled(false)},
                        {"DataDir", ""},
                        {"DevMode", false},
                        {"LogLevel", "INFO"},
                        {"LogJson", false},
                        {"EnableDebug", false},
                        {"DisableUpdateCheck", true},
                        {"TLSConfig", object_of({{"EnableHTTP", false}, {"EnableRPC", false}})},
                        {"Telemetry", object_of({{"PrometheusMetrics", true}})},
                        {"Simulation", object_of({{"Seed", config.seed}, {"Speed", simulation.speed().text()}})}}));
  return out;
}

json::Value statistics(Simulation& simulation) {
  const std::string index = std::to_string(simulation.log().next_index() - 1);
  return object_of(
      {{"nomad", object_of({{"server", "true"},
                            {"leader", simulation.cluster().has_leader() ? "true" : "false"},
                            {"leader_addr", kRpcAddress},
                            {"bootstrap", "true"},
                            {"known_regions", "1"}})},
       {"raft", object_of({{"applied_index", index},
                           {"commit_index", index},
                           {"last_log_index", index},
                           {"last_log_term", "2"},
                           {"term", "2"},
                           {"num_peers", "0"},
                           {"fsm_pending", "0"},
                           {"last_contact", "0"},
                           {"last_snapshot_index", "0"},
                           {"last_snapshot_term", "0"},
                           {"protocol_version", "3"},
                           {"state", simulation.cluster().has_leader() ? "Leader" : "Follower"}})},
       {"serf",
        object_of({{"members", "1"}, {"failed", "0"}, {"left", "0"}, {"encrypted", "false"}, {"health_score", "0"}})},
       {"runtime", object_of({{"kernel.name", "linux"}, {"arch", "amd64"}, {"version", "berth"}})}});
}

void self(Simulation& simulation, const Request&, Reply& reply) {
  json::Value out = json::Value::object();
  out.set("config", settings(simulation)), out.set("member", member()), out.set("stats", statistics(simulation));
  reply.json(out);
}

void health(Simulation&, const Request& request, Reply& reply) {  // R-API-515
  json::Value out = json::Value::object();
  bool asked = false, server = false, client = false;
  for (const auto& [key, value] : request.query)
    if (key == "type") asked = true, server |= value == "server", client |= value == "client";
  if (!asked || server) out.set("server", object_of({{"ok", true}, {"message", "ok"}}));
  if (client) out.set("client", object_of({{"ok", false}, {"message", "client not enabled"}}));
  if (client) return reply.fail(500, json::to_text(out));
  reply.json(out);
}

json::Value schedulers_of() { return json::Array{"service", "batch", "system", "sysbatch", "_core"}; }

void schedulers(Simulation& simulation, const Request&, Reply& reply) {  // R-API-516
  json::Value one = object_of({{"id", kServerId}, {"enabled_schedulers", schedulers_of()}, {"started", ""}});
  one.set("status", simulation.server().queues_enabled() ? "Started" : "Paused");
  one.set("workload_status", simulation.server().idle() ? "WaitingToDequeue" : "Scheduling");
  reply.json(object_of({{"server_id", std::string(kName) + ".global"}, {"schedulers", json::Array{std::move(one)}}}));
}

void scheduler_settings(Simulation&, const Request&, Reply& reply) {
  reply.json(object_of(
      {{"server_id", std::string(kName) + ".global"}, {"num_schedulers", 1}, {"enabled_schedulers", schedulers_of()}}));
}

void raft_configuration(Simulation& simulation, const Request&, Reply& reply) {  // R-API-503
  json::Value server = object_of({{"ID", kServerId},
                                  {"Node", std::string(kName) + ".global"},
                                  {"Address", kRpcAddress},
                                  {"Leader", simulation.cluster().has_leader()},
                                  {"Voter", true},
                                  {"RaftProtocol", "3"}});
  reply.json(object_of({{"Servers", json::Array{std::move(server)}}, {"Index", 0}}));
}

void autopilot_health(Simulation& simulation, const Request&, Reply& reply) {  // R-API-504
  const std::uint64_t index = simulation.log().next_index() - 1;
  json::Value server = object_of({{"ID", kServerId},
                                  {"Name", std::string(kName) + ".global"},
                                  {"Address", kRpcAddress},
                                  {"SerfStatus", "alive"},
                                  {"Version", std::string(kVersion) + "-dev"},
                                  {"Leader", true},
                                  {"LastContact", "0s"},
                                  {"LastTerm", 2},
                                  {"LastIndex", index},
                                  {"Healthy", true},
                                  {"Voter", true}});
  server.set("StableSince", base::to_rfc3339(base::Time{simulation.config().start_ns / base::kSecond * base::kSecond}));
  json::Value out = object_of({{"Healthy", true}, {"FailureTolerance", 0}, {"Leader", kServerId}});
  out.set("Voters", json::Array{kServerId}), out.set("Servers", json::Array{std::move(server)});
  reply.json(out);
}

void autopilot_settings(Simulation&, const Request& request, Reply& reply) {
  if (request.method == "PUT") return reply.json(true);
  reply.json(object_of({{"LastContactThreshold", "200ms"},
                        {"ServerStabilizationTime", "10s"},
                        {"CleanupDeadServers", true},
                        {"MaxTrailingLogs", 250},
                        {"MinQuorum", 0},
                        {"EnableRedundancyZones", false},
                        {"DisableUpgradeMigration", false},
                        {"EnableCustomUpgrades", false},
                        {"CreateIndex", 1},
                        {"ModifyIndex", 1}}));
}

void remove_peer(Simulation&, const Request& request, Reply& reply) {
  const std::string *id = request.find("id"), *address = request.find("address");
  if (!(id && !id->empty()) && !(address && !address->empty()))
    return reply.fail(400, "Must specify the peer's ID to remove");
  reply.fail(501, kNoSuchServer);
}

void monitor(Simulation&, const Request& request, Reply& reply) {  // R-API-517
  const std::string* level = request.find("log_level");
  if (level && !level->empty()) {
    constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error", "off"};
    std::string lower = *level;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (std::find(std::begin(kLevels), std::end(kLevels), lower) == std::end(kLevels))
      return reply.fail(400, "Unknown log level: " + *level);
  }
  reply.fail(501, kNoSuchServer);
}

}  // namespace

void add_agent_routes(Router& router) {
  router.immediate("/v1/status/leader", leader);
  router.immediate("/v1/status/peers", peers);
  router.immediate("/v1/regions", regions);
  router.immediate("/v1/agent/members", members);
  router.plain("/v1/agent/self", self);
  router.immediate("/v1/agent/health", health);
  router.plain("/v1/agent/schedulers", schedulers);
  router.plain("/v1/agent/schedulers/config", scheduler_settings);
  router.plain("/v1/agent/monitor", monitor);
  router.add({"/v1/agent/servers", kAnyMethod, RouteKind::plain, refusal(501, "Invalid method"), {}});
  for (const char* path : {"/v1/agent/join", "/v1/agent/force-leave", "/v1/agent/reload", "/v1/agent/keyring/*",
                           "/v1/operator/upgrade-check/*", "/v1/operator/snapshot"})
    router.add({path,
                kAnyMethod,
                RouteKind::plain,
                refusal(501, std::string_view(path).ends_with("snapshot")
                                 ? "snapshots are not supported by this server; use POST /v1/berth/snapshot"
                                 : kNoSuchServer),
                {}});
  for (const char* path : {"/v1/agent/host", "/v1/agent/pprof/*"})
    router.add({path, kAnyMethod, RouteKind::plain, refusal(403, "Permission denied"), {}});
  router.plain("/v1/operator/raft/configuration", raft_configuration);
  router.add({"/v1/operator/raft/configuration",
              kPut | kPost | kDelete,
              RouteKind::plain,
              [](Simulation&, const Request&, Reply& reply) { reply.text(405, "", ""); },
              {}});
  router.add({"/v1/operator/raft/peer", kDelete, RouteKind::plain, remove_peer, {}});
  router.add(
      {"/v1/operator/raft/transfer-leadership", kPut | kPost, RouteKind::plain, refusal(501, kNoSuchServer), {}});
  router.add({"/v1/operator/raft/*", kAnyMethod, RouteKind::plain, refusal(404, "Invalid method"), {}});
  router.plain("/v1/operator/autopilot/health", autopilot_health);
  router.add(
      {"/v1/operator/autopilot/health", kPut | kPost | kDelete, RouteKind::plain, refusal(404, "Invalid method"), {}});
  router.add({"/v1/operator/autopilot/configuration", kGet | kPut, RouteKind::plain, autopilot_settings, {}});
  router.add(
      {"/v1/operator/autopilot/configuration", kPost | kDelete, RouteKind::plain, refusal(404, "Invalid method"), {}});
}

}  // namespace berth::serve
