// Requests that clients answer in a real cluster: usage of machines and tasks, metadata, identities, sessions
// (R-API-315, 700 to 707, R-STORE-300 to 302, 370 to 375). Tasks use what they request. Files are in alloc_files.cc.
#include <algorithm>
#include <map>
#include <optional>

#include "base/random.h"
#include "base/text.h"
#include "base/wrap.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "io/json_parse.h"
#include "model/job.h"

namespace berth::http {

namespace {

constexpr const char* kSimulated = "not available: allocations of this cluster are simulated";
constexpr std::uint64_t kMiB = 1 << 20;

/// Error texts of client endpoints for no local node and for an unknown node (R-STORE-300, 301).
struct Unknown {
  const char* local = "No local Node and node_id not provided";
  int status = 500;
};
constexpr Unknown kOfStats{.status = 404}, kOfGarbage{}, kOfMetadata{.local = "no local Node and node_id not provided"};

/// The row of a node whose client can be reached; kNoRow: the reply contains the error.
tables::NodeRow asked_client(Simulation& simulation, const std::string& id, const Unknown& unknown, Reply& reply) {
  if (id.empty()) return reply.fail(400, unknown.local), tables::kNoRow;
  if (!is_whole_id(id, "node lookup failed: ", reply)) return tables::kNoRow;
  const tables::NodeRow row = simulation.store().find_node(id);
  if (row == tables::kNoRow || !simulation.state().nodes.exists(row))
    return reply.fail(unknown.status, "Unknown node " + id), tables::kNoRow;
  if (simulation.state().nodes.status(row) != tables::NodeStatus::down) return row;
  return reply.fail(404, "No path to node"), tables::kNoRow;
}

/// The node of a request: the one it names, else the agent's own.
std::string node_parameter(Simulation& simulation, const Request& request) {
  const std::string* id = request.find("node_id");
  return id && !id->empty() ? *id : simulation.agent().local_node;
}

/// Resources used on a node.
struct NodeUsage {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
};
NodeUsage usage_of(const tables::Snapshot& state, tables::NodeRow node) {
  NodeUsage out;
  for (tables::AllocRow row = state.nodes.use[node].alloc_head; row != tables::kNoRow;
       row = state.allocs.next_on_node[row]) {
    const tables::ResourceShape& shape = state.allocs.shape_of(row);
    out.cpu_mhz += shape.cpu_mhz, out.memory_mb += shape.memory_mb, out.disk_mb += shape.disk_mb;
  }
  return out;
}

json::Value disk_json(const std::string& device, std::int64_t size_mb, std::int64_t used_mb) {
  json::Value out = json::Value::object();
  const std::int64_t used = std::clamp<std::int64_t>(used_mb, 0, std::max<std::int64_t>(size_mb, 0));
  out.set("Device", device), out.set("Mountpoint", "");
  out.set("Size", static_cast<std::uint64_t>(size_mb) * kMiB), out.set("Used", static_cast<std::uint64_t>(used) * kMiB);
  out.set("Available", static_cast<std::uint64_t>(size_mb - used) * kMiB);
  out.set("UsedPercent", size_mb > 0 ? 100.0 * static_cast<double>(used) / static_cast<double>(size_mb) : 0.0);
  out.set("InodesUsedPercent", 0.0);
  return out;
}

void read_host_stats(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-701
  const std::string id = node_parameter(simulation, request);
  const tables::NodeRow row = asked_client(simulation, id, kOfStats, reply);
  if (row == tables::kNoRow) return;
  const model::Node node = *simulation.log().node(id);
  const NodeUsage usage = usage_of(simulation.state(), row);
  std::int64_t memory = 0, disk = 0, reserved_memory = 0, reserved_disk = 0;
  if (node.node_resources) memory = node.node_resources->memory.memory_mb, disk = node.node_resources->disk.disk_mb;
  if (node.reserved_resources)
    reserved_memory = node.reserved_resources->memory.memory_mb, reserved_disk = node.reserved_resources->disk.disk_mb;
  const auto used =
      static_cast<std::uint64_t>(std::min(memory, base::wrap_add(reserved_memory, usage.memory_mb))) * kMiB;
  const std::uint64_t total = static_cast<std::uint64_t>(memory) * kMiB;
  json::Value out = json::Value::object(), has = json::Value::object(), cpu = json::Value::object();
  has.set("Total", total), has.set("Available", total - used), has.set("Used", used), has.set("Free", total - used);
  const double ticks = static_cast<double>(usage.cpu_mhz);
  const double has_ticks =
      static_cast<double>(std::max<std::int64_t>(1, simulation.state().nodes.capacity(row).cpu_mhz));
  const double percent = std::min(100.0, 100 * ticks / has_ticks);
  cpu.set("CPU", "cpu0"), cpu.set("User", percent), cpu.set("System", 0.0), cpu.set("Idle", 100 - percent);
  cpu.set("TotalPercent", percent), cpu.set("TotalTicks", ticks);
  const auto volume = node.attributes.find("unique.storage.volume");
  const std::string device = volume == node.attributes.end() ? "" : volume->second;
  out.set("Memory", std::move(has)), out.set("CPU", json::Array{std::move(cpu)});
  out.set("DiskStats", json::Array{disk_json(device, disk, base::wrap_add(reserved_disk, usage.disk_mb))});
  out.set("AllocDirStats", disk_json("", disk, base::wrap_add(reserved_disk, usage.disk_mb))),
      out.set("DeviceStats", nullptr);
  const std::int64_t since_s = simulation.log().status_updated_at(row);
  out.set("Uptime", since_s < 0 ? 0 : std::max<std::int64_t>(0, simulation.now() / base::kSecond - since_s));
  out.set("Timestamp", simulation.now()), out.set("CPUTicksConsumed", ticks);
  reply.json(out);
}

// ---------------------------------------------------------------- metadata

/// Metadata set by requests, by node ID; nullopt: the key is removed (R-STORE-374).
using OwnMeta = std::map<std::string, std::optional<std::string>>;
using Dynamic = std::map<std::string, OwnMeta>;

/// The machine's original metadata, without changes by requests.
std::map<std::string, std::string> fixed_meta(Simulation& simulation, const std::string& id) {
  const auto stored = simulation.agent().static_meta.find(id);
  if (stored != simulation.agent().static_meta.end()) return stored->second;
  if (const auto machine = simulation.cluster().machine(id)) return {machine->meta.begin(), machine->meta.end()};
  const auto node = simulation.log().node(id);
  return node ? std::map<std::string, std::string>(node->meta.begin(), node->meta.end())
              : std::map<std::string, std::string>();
}

json::Value metadata_json(const std::map<std::string, std::string>& fixed, const OwnMeta& own) {
  json::Value out = json::Value::object();
  json::Object all, of_machine, dynamic;  // appended to: set() would search for each of many keys
  for (const auto& [key, value] : fixed) {
    of_machine.push_back({key, value});
    if (!own.contains(key)) all.push_back({key, value});
  }
  for (const auto& [key, value] : own) {
    dynamic.push_back({key, value ? json::Value(*value) : json::Value()});
    if (value) all.push_back({key, *value});
  }
  out.set("Meta", std::move(all)), out.set("Dynamic", std::move(dynamic)), out.set("Static", std::move(of_machine));
  return out;
}

void read_metadata(Simulation& simulation, const Request& request, Reply& reply, const Dynamic& dynamic) {
  const std::string id = node_parameter(simulation, request);
  if (asked_client(simulation, id, kOfMetadata, reply) == tables::kNoRow) return;
  const auto own = dynamic.find(id);
  reply.json(metadata_json(fixed_meta(simulation, id), own == dynamic.end() ? OwnMeta() : own->second));
}

/// True for dot-separated parts of letters, digits, `_` and `-` that begin with a letter or `_`.
bool is_dotted_identifier(std::string_view key) {
  for (const std::string_view part : base::split(key, '.')) {
    if (part.empty()) return false;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const char c = part[i];
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
      if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-'))) return false;
    }
  }
  return true;
}

/// The client replies at once and registers again a little later (R-CTRL-1543).
void write_metadata(Simulation& simulation, const Request& request, Reply& reply, Dynamic& dynamic) {  // R-STORE-374
  const auto body = object_body(request, "NodeMetaApplyRequest", reply);
  if (!body) return;
  const Expected expected{*body, "NodeMetaApplyRequest", reply};
  const auto given = expected.text("NodeID");
  const auto meta = expected.object("Meta");
  if (!given || !meta) return;
  if (meta->size() == 0) return reply.fail(400, "missing required Meta object");
  for (const json::Member& entry : meta->members()) {
    if (entry.key.empty()) return reply.fail(400, "metadata keys must not be empty");
    if (!is_dotted_identifier(entry.key))
      return reply.fail(400,
                        base::go_quote(entry.key) + " is invalid; metadata keys must be valid dotted hcl identifiers");
  }
  const std::string id = given->empty() ? node_parameter(simulation, request) : *given;
  if (asked_client(simulation, id, kOfMetadata, reply) == tables::kNoRow) return;
  const auto machine = simulation.cluster().machine(id);
  if (!machine) return reply.fail(404, "No path to node");
  const std::map<std::string, std::string> fixed = fixed_meta(simulation, id);
  simulation.agent().static_meta.emplace(id, fixed);
  OwnMeta& own = dynamic[id];
  for (const json::Member& entry : meta->members()) {
    if (!entry.value.is_null())
      own[entry.key] = entry.value.as_string();
    else if (fixed.contains(entry.key))
      own[entry.key] = std::nullopt;
    else
      own.erase(entry.key);
  }
  model::Node node = *machine;
  node.meta.clear();
  for (const auto& [key, value] : fixed)
    if (!own.contains(key)) node.meta[key] = value;
  for (const auto& [key, value] : own)
    if (value) node.meta[key] = *value;
  const fsm::Answer answer = simulation.apply(living::NodeRegister{std::move(node)});
  if (!answer.error.empty()) return reply.fail(answer.error);
  reply.json(metadata_json(fixed, own));
}

// ---------------------------------------------------------------- identities

/// The claims of a node's identity (R-STORE-187, 190): since it registered, or since the last renewal.
void read_identity(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string id = node_parameter(simulation, request);
  const tables::NodeRow row = asked_client(simulation, id, kOfMetadata, reply);
  if (row == tables::kNoRow) return;
  const model::Node node = *simulation.log().node(id);
  const auto renewed = simulation.agent().renewed.find(id);
  const std::int64_t since = renewed != simulation.agent().renewed.end() ? renewed->second / base::kSecond
                                                                         : simulation.log().status_updated_at(row);
  std::int64_t ttl_ns = 24 * 3600 * base::kSecond;
  for (const model::NodePool& pool : simulation.state().cold->node_pools)
    if (const json::Value& ttl = pool.extra["NodeIdentityTTL"]; pool.name == node.node_pool && ttl.is_int64())
      ttl_ns = ttl.as_int();
  json::Value claims = json::Value::object(), out = json::Value::object();
  claims.set("aud", json::Array{"nomadproject.io"});
  claims.set("exp", since + ttl_ns / base::kSecond), claims.set("iat", since), claims.set("nbf", since);
  claims.set("jti", base::to_text(base::generated_id(13, static_cast<std::uint32_t>(row),
                                                     base::mix64(static_cast<std::uint64_t>(since)))));
  if (!node.node_class.empty()) claims.set("nomad_node_class", node.node_class);
  claims.set("nomad_node_datacenter", node.datacenter), claims.set("nomad_node_id", id);
  claims.set("nomad_node_pool", node.node_pool);
  claims.set("sub", "node:global:" + node.node_pool + ":" + id + ":default");
  out.set("Claims", std::move(claims));
  reply.json(out);
}

/// The new identity exists at once, not with the next heartbeat.
void renew_identity(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-188
  const auto body = optional_body(request, "NodeIdentityRenewRequest", reply);
  if (!body) return;
  const auto given = Expected{*body, "NodeIdentityRenewRequest", reply}.text("NodeID");
  if (!given) return;
  const std::string id = given->empty() ? node_parameter(simulation, request) : *given;
  if (asked_client(simulation, id, kOfMetadata, reply) == tables::kNoRow) return;
  simulation.agent().renewed[id] = simulation.now();
  reply.json(json::Value::object());
}

void collect_client_garbage(Simulation& simulation, const Request& request, Reply& reply) {
  (void)asked_client(simulation, node_parameter(simulation, request), kOfGarbage,
                     reply);  // nothing to collect
}

// ---------------------------------------------------------------- allocations

json::Value usage_json(double ticks, std::uint64_t bytes, bool measured) {
  json::Value out = json::Value::object(), cpu = json::Value::object(), memory = json::Value::object();
  for (const char* zero : {"SystemMode", "UserMode"}) cpu.set(zero, 0.0);
  cpu.set("TotalTicks", ticks), cpu.set("ThrottledPeriods", 0), cpu.set("ThrottledTime", 0);
  cpu.set("Percent", 0.0), cpu.set("Measured", nullptr);
  memory.set("RSS", bytes);
  for (const char* zero : {"Cache", "Swap", "MappedFile"}) memory.set(zero, 0);
  memory.set("Usage", bytes);
  for (const char* zero : {"MaxUsage", "KernelUsage", "KernelMaxUsage"}) memory.set(zero, 0);
  memory.set("Measured", measured ? json::Value(json::Array{"RSS"}) : json::Value());
  out.set("CpuStats", std::move(cpu)), out.set("MemoryStats", std::move(memory));
  out.set("DeviceStats", json::Value::array());
  return out;
}

void read_alloc_stats(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-704
  const tables::AllocRow row = asked_alloc(simulation, request.captures[0], reply);
  if (row == tables::kNoRow) return;
  json::Value out = json::Value::object(), tasks = json::Value::object();
  double ticks = 0;
  std::uint64_t bytes = 0;
  const std::string* only = request.find("task");  // an unknown one has no numbers (R-STORE-373)
  const model::Allocation alloc = simulation.log().stored_alloc(row);
  if (simulation.state().allocs.client[row] == tables::Client::running && alloc.allocated_resources)
    for (const auto& [name, has] : alloc.allocated_resources->tasks) {
      if (only && !only->empty() && *only != name) continue;
      const auto state = alloc.task_states.find(name);
      if (state == alloc.task_states.end() || !state->second || state->second->state != "running") continue;
      const auto task_ticks = static_cast<double>(has.cpu.cpu_shares);
      const std::uint64_t task_bytes = static_cast<std::uint64_t>(has.memory.memory_mb) * kMiB;
      json::Value one = json::Value::object();
      one.set("ResourceUsage", usage_json(task_ticks, task_bytes, true));
      one.set("Timestamp", simulation.now()), one.set("Pids", nullptr);
      tasks.members().push_back({name, std::move(one)});
      ticks += task_ticks, bytes += task_bytes;
    }
  const bool any = tasks.size() > 0;
  out.set("ResourceUsage", usage_json(ticks, bytes, any)), out.set("Tasks", std::move(tasks));
  out.set("Timestamp", any ? simulation.now() : 0);
  reply.json(out);
}

void read_client_checks(Simulation& simulation, const Request& request, Reply& reply) {
  if (asked_alloc(simulation, request.captures[0], reply) != tables::kNoRow) reply.json({});
}

void collect_alloc_garbage(Simulation& simulation, const Request& request, Reply& reply) {
  if (asked_alloc(simulation, request.captures[0], reply) != tables::kNoRow)
    reply.fail(500, "No such allocation on client, or allocation not eligible for GC");
}

void refuse_snapshot(Simulation& simulation, const Request& request, Reply& reply) {
  if (asked_alloc(simulation, request.captures[0], reply) != tables::kNoRow) reply.fail(501, kSimulated);
}

// ---------------------------------------------------------------- sessions: refused in a websocket (R-STORE-370, 372)

constexpr std::uint16_t kInternal = 1011, kPolicy = 1008;  // close codes of websockets

std::string text_parameter(const Request& request, std::string_view name) {
  const std::string* value = request.find(name);
  return value ? *value : "";
}

/// Why no command can run in the allocation's task: code and reason.
std::pair<std::uint16_t, std::string> no_session(Simulation& simulation, const Request& request,
                                                 const std::string& alloc, std::string_view task) {
  const std::string tty = text_parameter(request, "tty"), command = text_parameter(request, "command");
  if (!tty.empty() && !base::parse_bool(tty))
    return {kInternal,
            "tty value is not a boolean: strconv.ParseBool: parsing " + base::go_quote(tty) + ": invalid syntax"};
  const auto words = io::parse_json(command.empty() ? "[]" : command, "command");
  if (!words || !words->is_array())
    return {kInternal, "failed to marshal command into json: " +
                           (words ? "json: cannot unmarshal " + command + " into Go value of type []string"
                                  : words.error().problem)};
  Reply why;
  const tables::AllocRow row = asked_alloc(simulation, alloc, why);
  if (row == tables::kNoRow) return {why.status() == 500 ? kInternal : kPolicy, why.failure()};
  const model::Allocation found = simulation.log().stored_alloc(row);
  const model::TaskGroup* group = found.job ? found.job->group(found.task_group) : nullptr;
  const auto has_task = [&](std::string_view name) {
    return group && std::any_of(group->tasks.begin(), group->tasks.end(),
                                [&](const model::Task& one) { return one.name == name; });
  };
  if (words->size() == 0 && request.path.ends_with("/exec")) return {kPolicy, "command is not present"};
  if (!has_task(task)) return {kInternal, "task not found"};
  return {kPolicy, kSimulated};
}

void close_session(const std::pair<std::uint16_t, std::string>& why, const Request& request, Reply& reply) {
  if (request.wants_websocket) return reply.close_websocket(why.first, why.second);
  reply.fail(500, "websocket connection not found in context");
}

void refuse_exec(Simulation& simulation, const Request& request, Reply& reply) {
  close_session(no_session(simulation, request, request.captures[0], text_parameter(request, "task")), request, reply);
}

/// An action of a job is a command in the task of one of its allocations.
void refuse_action(Simulation& simulation, const Request& request, Reply& reply) {
  close_session(no_session(simulation, request, text_parameter(request, "allocID"), text_parameter(request, "task")),
                request, reply);
}

// ---------------------------------------------------------------- checks: there are none; actions

void read_alloc_checks(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-361
  if (!is_whole_id(request.captures[0], "alloc lookup failed: ", reply)) return;
  if (simulation.store().find_alloc(request.captures[0]) == tables::kNoRow)
    return reply.fail(404, "allocation not found");
  reply.json({});
}

void read_job_actions(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-250
  const auto job = simulation.log().job(request.name_space, request.captures[0]);
  if (!job) return reply.fail(500, "Unknown job \"" + request.captures[0] + "\"");
  json::Value out = json::Value::array();
  for (const model::TaskGroup& group : job->task_groups)
    for (const model::Task& task : group.tasks)
      for (const json::Value& action : task.actions.items()) {
        json::Value one = json::Value::object();
        one.set("Name", action["Name"]), one.set("Command", action["Command"]), one.set("Args", action["Args"]);
        one.set("TaskName", task.name), one.set("TaskGroupName", group.name);
        out.push(std::move(one));
      }
  reply.known_leader(false), reply.index(0);
  reply.json(out);
}

}  // namespace

void add_client_side_routes(Router& router) {
  const auto any = [&](const char* pattern, Handler handler) {
    router.add({pattern, kAnyMethod, RouteKind::plain, std::move(handler), {}});
  };
  const auto dynamic = std::make_shared<Dynamic>();
  any("/v1/client/stats", read_host_stats);
  any("/v1/client/gc", collect_client_garbage);
  router.plain("/v1/client/metadata", [dynamic](Simulation& simulation, const Request& request, Reply& reply) {
    read_metadata(simulation, request, reply, *dynamic);
  });
  router.add({"/v1/client/metadata",
              kPost,
              RouteKind::plain,
              [dynamic](Simulation& simulation, const Request& request, Reply& reply) {
                write_metadata(simulation, request, reply, *dynamic);
              },
              {}});
  router.plain("/v1/client/identity", read_identity);
  router.add({"/v1/client/identity/renew", kPut | kPost, RouteKind::plain, renew_identity, {}});
  any("/v1/client/allocation/*/stats", read_alloc_stats);
  any("/v1/client/allocation/*/gc", collect_alloc_garbage);
  router.plain("/v1/client/allocation/*/checks", read_client_checks);
  any("/v1/client/allocation/*/exec", refuse_exec);
  any("/v1/client/allocation/*/snapshot", refuse_snapshot);
  any("/v1/client/allocation/*", refusal(404, "resource not found"));
  any("/v1/job/*/action", refuse_action);
  any("/v1/allocation/*/checks", read_alloc_checks);
  router.read("/v1/job/*/actions", read_job_actions);
}

}  // namespace berth::http
