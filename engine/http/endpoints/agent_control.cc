// Operators' requests on an agent and on the servers' Raft cluster, which is one simulated server (R-STORE-310 to 324,
// 330 to 342).
#include <algorithm>
#include <iterator>

#include "base/duration.h"
#include "base/text.h"
#include "base/time.h"
#include "base/uuid.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "http/transport/gzip.h"

namespace berth::http {

namespace {

constexpr const char *kRaftAddress = "127.0.0.1:4647", *kEnterpriseOnly = "Nomad Enterprise only endpoint";

void answer_nothing(Simulation&, const Request&, Reply&) {}

/// True if the text is this server's name, full name, or ID.
bool is_this_server(Simulation& simulation, const std::string& text) {
  const Agent& agent = simulation.agent();
  return text == agent.name() || text == agent.server_name() || text == agent.server_id() || text == "leader";
}

// ---------------------------------------------------------------- workers

json::Value names_json(const std::vector<std::string>& names) {
  json::Value out = json::Value::array();
  for (const std::string& name : names) out.push(name);
  return out;
}

void list_workers(Simulation& simulation, const Request&, Reply& reply) {  // R-STORE-322
  const Agent& agent = simulation.agent();
  const bool rests = simulation.server().idle() || !simulation.server().queues_enabled();
  json::Value workers = json::Value::array();
  for (const Agent::Worker& worker : agent.workers()) {
    json::Value one = json::Value::object();
    one.set("id", worker.id), one.set("enabled_schedulers", names_json(agent.schedulers()));
    one.set("started", base::to_rfc3339(base::Time{worker.started_ns}));
    one.set("status", worker.paused ? "Paused" : "Started");
    one.set("workload_status", worker.paused ? "Paused" : rests ? "WaitingToDequeue" : "Scheduling");
    workers.push(std::move(one));
  }
  json::Value out = json::Value::object();
  out.set("server_id", agent.server_name()), out.set("schedulers", std::move(workers));
  reply.json(out);
}

void answer_worker_settings(Simulation& simulation, Reply& reply) {
  const Agent& agent = simulation.agent();
  json::Value out = json::Value::object();
  out.set("server_id", agent.server_name()), out.set("num_schedulers", agent.workers().size());
  out.set("enabled_schedulers", names_json(agent.schedulers()));
  reply.json(out);
}

void read_worker_settings(Simulation& simulation, const Request&, Reply& reply) {  // R-STORE-320
  answer_worker_settings(simulation, reply);
}

void write_worker_settings(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-321
  if (request.body.empty()) return reply.fail(400, "Invalid request: Request body is empty");
  const auto body = object_body(request, "agentSchedulerWorkerConfigRequest", reply);
  if (!body) return;
  const Expected expected{*body, "agentSchedulerWorkerConfigRequest", reply};
  const auto count = expected.integer("num_schedulers");
  const auto names = expected.texts("enabled_schedulers");
  if (!count || !names) return;
  const auto is_known = [](const std::string& name) { return scheduler_queue(name).has_value(); };
  if (*count < 0 || *count > simulation.agent().processors() || !std::all_of(names->begin(), names->end(), is_known) ||
      std::find(names->begin(), names->end(), "_core") == names->end())
    return reply.fail(400, "Invalid request");
  simulation.set_workers(static_cast<std::uint32_t>(*count), *names);
  answer_worker_settings(simulation, reply);
}

// ---------------------------------------------------------------- members and servers

void agent_servers(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-310, 311
  const bool writes = request.method == "PUT" || request.method == "POST";
  if (simulation.agent().local_node.empty()) return reply.fail(501, "Invalid method");
  if (request.method != "GET" && !writes) return reply.fail(405, "Invalid method");
  if (!writes) return reply.json(json::Array{kRaftAddress});
  if (request.parameter("address").empty()) reply.fail(400, "missing server address");
}

/// There is no other server to join: each address but the server's own fails as if no server listened there.
void join_servers(Simulation&, const Request& request, Reply& reply) {  // R-STORE-312
  std::vector<std::string> failures;
  std::int64_t joined = 0, given = 0;
  for (const auto& [key, address] : request.query) {
    if (key != "address") continue;
    ++given;
    const std::string host = address.substr(0, address.rfind(':'));
    if (address.empty()) continue;
    if (address == "127.0.0.1:4648" || address == "127.0.0.1")
      ++joined;
    else if (host.find_first_not_of("0123456789.") == std::string::npos)
      failures.push_back("failed to join " + address + ": dial tcp " + address + ": connect: connection refused");
    else
      failures.push_back("failed to resolve " + address + ": lookup " + host + ": no such host");
  }
  if (given == 0) return reply.fail(400, "missing address to join");
  std::string error;
  if (!failures.empty() && joined == 0) {
    error = std::to_string(failures.size()) + (failures.size() == 1 ? " error" : " errors") + " occurred:\n";
    for (const std::string& failure : failures) error += "\t* " + failure + "\n";
    error += "\n";
  }
  json::Value out = json::Value::object();
  out.set("error", error), out.set("num_joined", joined), out.set("warning", "");
  reply.json(out);
}

void force_leave(Simulation&, const Request& request, Reply& reply) {  // R-STORE-313
  if (request.parameter("node").empty()) reply.fail(400, "missing node to force leave");
}

// ---------------------------------------------------------------- the log

/// A boolean parameter of the log, absent: false; nullopt: the reply contains the error.
std::optional<bool> log_option(const Request& request, const char* name, const std::string& shown, Reply& reply) {
  const std::string text = request.parameter(name);
  if (text.empty()) return false;
  const auto value = base::parse_bool(text);
  if (!value) reply.fail(400, shown + base::go_quote(text) + ": invalid syntax");
  return value;
}

void monitor(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-323, 324
  const std::string asked = request.parameter("log_level");
  const auto level = asked.empty() ? LogLevel::info : base::parse_log_level(asked);
  if (!level) return reply.fail(400, "Unknown log level: " + asked);
  const std::string as_bool = ": strconv.ParseBool: parsing ";
  const auto as_json = log_option(request, "log_json", "Unknown option for log json" + as_bool, reply);
  const auto plain =
      as_json ? log_option(request, "plain", "Unknown option for plain" + as_bool, reply) : std::optional<bool>();
  if (!plain) return;
  const std::string node = request.parameter("node_id"), server = request.parameter("server_id");
  if (!node.empty() && !server.empty()) return reply.fail(400, "Cannot target node and server simultaneously");
  if (!server.empty() && !is_this_server(simulation, server)) return reply.fail(400, "unknown Nomad server " + server);
  if (!node.empty() && !simulation.log().node(node))
    return reply.fail(500, "RPC Error:: 404,Unknown node \"" + node + "\"");
  MonitorLog::Reader reader{*level, *plain, *as_json, node, nullptr};
  reply.push(
      *plain ? "" : "{}",
      [&simulation, reader](std::shared_ptr<Channel> channel) mutable {
        reader.channel = std::move(channel);
        simulation.monitor_log().add(std::move(reader));
      },
      *plain ? "text/plain" : "application/json", base::kSecond);
}

void export_monitor(Simulation&, const Request& request, Reply& reply) {  // R-STORE-319
  for (const auto& [key, shown] :
       {std::pair("on_disk", "on-disk"), std::pair("follow", "follow"), std::pair("plain", "plain")})
    if (const std::string text = request.parameter(key); !text.empty() && !base::parse_bool(text))
      return reply.fail(400, std::string("Unknown value for ") + shown + ": strconv.ParseBool: parsing " +
                                 base::go_quote(text) + ": invalid syntax");
  const bool on_disk = is_true(request, "on_disk"), service = !request.parameter("service_name").empty();
  if (!request.parameter("node_id").empty() && !request.parameter("server_id").empty())
    return reply.fail(400, "Cannot target node and server simultaneously");
  if (on_disk && service) return reply.fail(400, "Cannot target journald and nomad log file simultaneously");
  if (!on_disk && !service) return reply.fail(400, "Either -service-name or -on-disk must be set");
  reply.fail(501, "not available: the log of this server is not kept; use `nomad monitor`");
}

/// Profiles are empty, because the server is no Go process. Without ACLs: 403, like an agent without enable_debug.
void profile(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-317
  constexpr std::string_view kNames[] = {"profile", "trace", "heap",  "goroutine",
                                         "allocs",  "block", "mutex", "threadcreate"};
  const std::string& name = request.captures[0];
  if (name.empty()) return reply.fail(404, "Invalid method");
  if (!simulation.options().acl) return reply.fail(403, "Permission denied");
  const std::string node = request.parameter("node_id"), server = request.parameter("server_id");
  if (!server.empty() && !is_this_server(simulation, server)) return reply.fail(500, "unknown Nomad server " + server);
  if (!node.empty() && !simulation.log().node(node)) return reply.fail(404, "Unknown node \"" + node + "\"");
  const bool is_command_line = name == "cmdline";
  if (!is_command_line && std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return reply.fail(404, "Pprof profile not found profile: " + name);
  reply.header("X-Content-Type-Options", "nosniff");
  if (is_command_line || (!request.parameter("debug").empty() && request.parameter("debug") != "0"))
    return reply.text(200, is_command_line ? "berth serve" : "");
  reply.header("Content-Disposition", "attachment; filename=\"" + name + "\"");
  reply.never_compress();
  reply.text(200, transport::Gzip().pack("", true), "application/octet-stream");
}

// ---------------------------------------------------------------- Raft

void raft_configuration(Simulation& simulation, const Request&, Reply& reply) {  // R-API-503
  json::Value server = json::Value::object(), out = json::Value::object();
  server.set("ID", simulation.agent().server_id()), server.set("Node", simulation.agent().server_name());
  server.set("Address", kRaftAddress), server.set("Leader", simulation.cluster().has_leader());
  server.set("Voter", true), server.set("RaftProtocol", "3");
  out.set("Servers", json::Array{std::move(server)}), out.set("Index", 0);
  reply.json(out);
}

void remove_peer(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-330
  const std::string id = request.parameter("id");
  if (!request.parameter("address").empty())
    return reply.fail(400, "Removing a peer by address is not supported in the current raft protocol version");
  if (id.empty()) return reply.fail(400, "Must specify the peer's ID to remove");
  if (id != simulation.agent().server_id())
    return reply.fail(500, "id " + base::go_quote(id) + " was not found in the Raft configuration");
  reply.fail(500, "need at least one voter in configuration: the only server cannot be removed");
}

void transfer_leadership(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-331
  const std::string id = request.parameter("id"), address = request.parameter("address");
  if (id.empty() && address.empty()) return reply.fail(400, "must specify id or address");
  if (!id.empty() && !address.empty()) return reply.fail(400, "must specify either id or address");
  if (!id.empty() && id.size() != 36) return reply.fail(400, "id must be a uuid: uuid string is wrong length");
  if (!id.empty() && !base::parse_uuid(id)) return reply.fail(400, "id must be a uuid: uuid is improperly formatted");
  if (!address.empty() && address != kRaftAddress)
    return reply.fail(400, "address " + base::go_quote(address) + " was not found in the Raft configuration");
  if (!id.empty() && id != simulation.agent().server_id())
    return reply.fail(400, "id " + base::go_quote(id) + " was not found in the Raft configuration");
  reply.fail(500, "cannot transfer leadership to itself: there is only one server");
}

// ---------------------------------------------------------------- Autopilot

/// Autopilot's settings. The agent only stores them, because there are no servers to manage.
struct Autopilot {
  std::int64_t last_contact_ns = 200'000'000, stabilization_ns = 10 * base::kSecond;
  bool cleanup = true, zones = false, no_migration = false, custom_upgrades = false;
  std::uint64_t trailing_logs = 250, quorum = 0, create_index = 1, modify_index = 1;
};

void autopilot_health(Simulation& simulation, const Request&, Reply& reply) {  // R-API-504
  const Agent& agent = simulation.agent();
  json::Value server = json::Value::object(), out = json::Value::object();
  server.set("ID", agent.server_id()), server.set("Name", agent.server_name()), server.set("Address", kRaftAddress);
  server.set("SerfStatus", "alive"), server.set("Version", "2.0.6-dev"), server.set("Leader", true);
  server.set("LastContact", "0s"), server.set("LastTerm", 2),
      server.set("LastIndex", simulation.log().next_index() - 1);
  server.set("Healthy", true), server.set("Voter", true);
  server.set("StableSince", base::to_rfc3339(base::Time{simulation.config().start_ns / base::kSecond * base::kSecond}));
  out.set("Healthy", true), out.set("FailureTolerance", 0), out.set("Leader", agent.server_id());
  out.set("Voters", json::Array{agent.server_id()}), out.set("Servers", json::Array{std::move(server)});
  reply.json(out);
}

void read_autopilot(const Autopilot& of, Reply& reply) {
  json::Value out = json::Value::object();
  out.set("LastContactThreshold", base::duration_text(of.last_contact_ns));
  out.set("ServerStabilizationTime", base::duration_text(of.stabilization_ns));
  out.set("CleanupDeadServers", of.cleanup), out.set("MaxTrailingLogs", of.trailing_logs);
  out.set("MinQuorum", of.quorum), out.set("EnableRedundancyZones", of.zones);
  out.set("DisableUpgradeMigration", of.no_migration), out.set("EnableCustomUpgrades", of.custom_upgrades);
  out.set("CreateIndex", of.create_index), out.set("ModifyIndex", of.modify_index);
  reply.json(out);
}

void write_autopilot(Simulation& simulation, const Request& request, Reply& reply, Autopilot& stored) {  // R-STORE-334
  const auto bad = [&](const std::string& why) { reply.fail(400, "Error parsing autopilot config: " + why); };
  Reply why;  // error of reading the body, for bad()
  const auto body = object_body(request, "AutopilotConfiguration", why);
  if (!body) return bad(request.body.empty() ? "EOF" : why.failure());
  const Expected expected{*body, "AutopilotConfiguration", why};
  Autopilot given;
  const auto duration = [&](const char* key, std::int64_t& to) {
    const json::Value& value = body_member(*body, key);
    to = 0;
    if (value.is_null()) return true;
    if (value.is_int64()) return to = value.as_int(), true;
    const auto parsed = value.is_string() ? base::parse_duration(value.as_string()) : std::nullopt;
    if (parsed) return to = *parsed, true;
    bad("time: invalid duration " + base::go_quote(value.is_string() ? value.as_string() : json::to_text(value)));
    return false;
  };
  if (!duration("LastContactThreshold", given.last_contact_ns) ||
      !duration("ServerStabilizationTime", given.stabilization_ns))
    return;
  const auto cleanup = expected.boolean("CleanupDeadServers"), zones = expected.boolean("EnableRedundancyZones");
  const auto migration = expected.boolean("DisableUpgradeMigration"), custom = expected.boolean("EnableCustomUpgrades");
  const auto logs = expected.index("MaxTrailingLogs"), quorum = expected.index("MinQuorum");
  if (!cleanup || !zones || !migration || !custom || !logs || !quorum) return bad(why.failure());
  given.cleanup = *cleanup, given.zones = *zones, given.no_migration = *migration, given.custom_upgrades = *custom;
  given.trailing_logs = *logs, given.quorum = *quorum;
  if (const std::string* cas = request.find("cas"); cas && !cas->empty()) {
    const auto only_after = base::parse_uint64(*cas);
    if (!only_after)
      return reply.fail(
          400, "Error parsing cas value: strconv.ParseUint: parsing " + base::go_quote(*cas) + ": invalid syntax");
    if (*only_after != stored.modify_index) return reply.json(false);
  }
  given.create_index = stored.create_index;
  given.modify_index = simulation.log().next_index();
  simulation.log().seen(given.modify_index);
  stored = given;
  reply.json(true);
}

// ---------------------------------------------------------------- upgrades

void upgrade_check(Simulation& simulation, const Request&, Reply& reply) {  // R-STORE-336
  json::Value out = json::Value::object();
  out.set("JobsWithoutVaultIdentity", json::Value::array()), out.set("OutdatedNodes", json::Value::array());
  out.set("VaultTokens", nullptr);
  const std::uint64_t index = simulation.log().next_index() - 1;
  set_read_meta(out, index, true);
  reply.index(index);
  reply.json(out);
}

}  // namespace

void add_agent_control_routes(Router& router) {
  const auto add = [&](const char* path, std::uint8_t methods, Handler handler) {
    router.add({path, methods, RouteKind::plain, std::move(handler), {}});
  };
  constexpr std::uint8_t kWrites = kPut | kPost;
  add("/v1/agent/schedulers", kGet, list_workers);
  add("/v1/agent/schedulers/config", kGet, read_worker_settings);
  add("/v1/agent/schedulers/config", kWrites, write_worker_settings);
  add("/v1/agent/servers", kAnyMethod, agent_servers);
  add("/v1/agent/join", kWrites, join_servers);
  add("/v1/agent/force-leave", kWrites, force_leave);
  add("/v1/agent/reload", kWrites, answer_nothing);
  add("/v1/agent/keyring/*", kAnyMethod, refusal(500, "1/1 nodes reported failure"));
  add("/v1/agent/monitor", kAnyMethod, monitor);
  add("/v1/agent/monitor/export", kAnyMethod, export_monitor);
  add("/v1/agent/host", kAnyMethod, refusal(403, "Permission denied"));
  add("/v1/agent/pprof/*", kAnyMethod, profile);
  add("/v1/operator/raft/configuration", kGet, raft_configuration);
  add("/v1/operator/raft/configuration", kWrites | kDelete,
      [](Simulation&, const Request&, Reply& reply) { reply.text(405, "", ""); });
  add("/v1/operator/raft/peer", kDelete, remove_peer);
  add("/v1/operator/raft/peer", kGet | kWrites, refusal(404, "Invalid method"));
  add("/v1/operator/raft/transfer-leadership", kWrites, transfer_leadership);
  add("/v1/operator/raft/*", kAnyMethod, refusal(404, "Invalid method"));
  add("/v1/operator/autopilot/health", kGet, autopilot_health);
  add("/v1/operator/autopilot/health", kWrites | kDelete, refusal(404, "Invalid method"));
  const auto autopilot = std::make_shared<Autopilot>();
  add("/v1/operator/autopilot/configuration", kGet,
      [autopilot](Simulation&, const Request&, Reply& reply) { read_autopilot(*autopilot, reply); });
  add("/v1/operator/autopilot/configuration", kPut,
      [autopilot](Simulation& simulation, const Request& request, Reply& reply) {
        write_autopilot(simulation, request, reply, *autopilot);
      });
  add("/v1/operator/autopilot/configuration", kPost | kDelete, refusal(404, "Invalid method"));
  router.read("/v1/operator/upgrade-check/vault-workload-identity", upgrade_check);
  add("/v1/operator/utilization", kWrites, refusal(501, kEnterpriseOnly));
}

}  // namespace berth::http
