// What clients answer in a real cluster: machines' and tasks' usage, metadata, files (R-API-315, 700 to 707). Tasks use
// what they ask for; files there are none.
#include <map>

#include "serve/endpoints/answers.h"
#include "serve/endpoints/endpoints.h"
#include "serve/endpoints/objects.h"

namespace berth::serve {

namespace {

constexpr const char* kSimulated = "not available: allocations of this cluster are simulated";
constexpr std::uint64_t kMiB = 1 << 20;

/// The row of a node whose client can be asked; kNoRow: the reply says why not.
tables::NodeRow asked_client(Simulation& simulation, const std::string& id, Reply& reply) {
  if (id.empty()) return reply.fail(400, "No local Node and node_id not provided"), tables::kNoRow;
  if (!is_whole_id(id, "node lookup failed: ", reply)) return tables::kNoRow;
  const tables::NodeRow row = simulation.store().find_node(id);
  if (row == tables::kNoRow || !simulation.state().nodes.exists(row))
    return reply.fail(404, "Unknown node " + id), tables::kNoRow;
  if (simulation.state().nodes.status(row) != tables::NodeStatus::down) return row;
  return reply.fail(404, "No path to node"), tables::kNoRow;
}

std::string node_parameter(const Request& request) {
  const std::string* id = request.find("node_id");
  return id ? *id : "";
}

/// What runs on a node.
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
  const std::int64_t used = std::min(used_mb, size_mb);
  out.set("Device", device), out.set("Mountpoint", "");
  out.set("Size", static_cast<std::uint64_t>(size_mb) * kMiB), out.set("Used", static_cast<std::uint64_t>(used) * kMiB);
  out.set("Available", static_cast<std::uint64_t>(size_mb - used) * kMiB);
  out.set("UsedPercent", size_mb > 0 ? 100.0 * static_cast<double>(used) / static_cast<double>(size_mb) : 0.0);
  out.set("InodesUsedPercent", 0.0);
  return out;
}

void read_host_stats(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-701
  const std::string id = node_parameter(request);
  const tables::NodeRow row = asked_client(simulation, id, reply);
  if (row == tables::kNoRow) return;
  const model::Node node = *simulation.log().node(id);
  const NodeUsage usage = usage_of(simulation.state(), row);
  std::int64_t memory = 0, disk = 0, reserved_memory = 0, reserved_disk = 0;
  if (node.node_resources) memory = node.node_resources->memory.memory_mb, disk = node.node_resources->disk.disk_mb;
  if (node.reserved_resources)
    reserved_memory = node.reserved_resources->memory.memory_mb, reserved_disk = node.reserved_resources->disk.disk_mb;
  const auto used = static_cast<std::uint64_t>(std::min(memory, reserved_memory + usage.memory_mb)) * kMiB;
  const std::uint64_t total = static_cast<std::uint64_t>(memory) * kMiB;
  json::Value out = json::Value::object(), has = json::Value::object(), cpu = json::Value::object();
  has.set("Total", total), has.set("Available", total - used), has.set("Used", used), has.set("Free", total - used);
  const double ticks = static_cast<double>(usage.cpu_mhz);
  cpu.set("CPU", "cpu0"), cpu.set("User", 0.0), cpu.set("System", 0.0), cpu.set("Idle", 100.0);
  cpu.set("TotalPercent", 0.0), cpu.set("TotalTicks", ticks);
  const auto volume = node.attributes.find("unique.storage.volume");
  const std::string device = volume == node.attributes.end() ? "" : volume->second;
  out.set("Memory", std::move(has)), out.set("CPU", json::Array{std::move(cpu)});
  out.set("DiskStats", json::Array{disk_json(device, disk, reserved_disk + usage.disk_mb)});
  out.set("AllocDirStats", disk_json("", disk, reserved_disk + usage.disk_mb)), out.set("DeviceStats", nullptr);
  const std::int64_t since = simulation.log().status_updated_at(row) * base::kSecond;
  out.set("Uptime", std::max<std::int64_t>(0, simulation.now() - since) / base::kSecond);
  out.set("Timestamp", simulation.now()), out.set("CPUTicksConsumed", ticks);
  reply.json(out);
}

// ---------------------------------------------------------------- metadata

/// What requests set beside what the machines came with, by node ID.
using Dynamic = std::map<std::string, std::map<std::string, std::string>>;

json::Value metadata_json(const model::Node& node, const std::map<std::string, std::string>& dynamic) {
  json::Value out = json::Value::object();
  json::Object all, fixed, own;  // appended to: set() would look for each key, and a request brings many
  for (const auto& [key, value] : node.meta)
    if (!dynamic.contains(key)) all.push_back({key, value}), fixed.push_back({key, value});
  for (const auto& [key, value] : dynamic) all.push_back({key, value}), own.push_back({key, value});
  out.set("Meta", std::move(all)), out.set("Dynamic", std::move(own)), out.set("Static", std::move(fixed));
  return out;
}

void read_metadata(Simulation& simulation, const Request& request, Reply& reply, const Dynamic& dynamic) {
  const std::string id = node_parameter(request);
  if (asked_client(simulation, id, reply) == tables::kNoRow) return;
  const auto own = dynamic.find(id);
  reply.json(metadata_json(*simulation.log().node(id), own == dynamic.end() ? Dynamic::mapped_type() : own->second));
}

/// The client answers at once and registers anew a little later (R-CTRL-1543).
void write_metadata(Simulation& simulation, const Request& request, Reply& reply, Dynamic& dynamic) {  // R-API-703
  const auto body = object_body(request, "NodeMetaApplyRequest", reply);
  if (!body) return;
  const Expected expected{*body, "NodeMetaApplyRequest", reply};
  const auto given = expected.text("NodeID");
  const auto meta = expected.object("Meta");
  if (!given || !meta) return;
  const std::string id = given->empty() ? node_parameter(request) : *given;
  if (asked_client(simulation, id, reply) == tables::kNoRow) return;
  model::Node node = *simulation.log().node(id);
  std::map<std::string, std::string>& own = dynamic[id];
  for (const json::Member& entry : meta->members()) {
    if (entry.value.is_null()) {
      own.erase(entry.key), node.meta.erase(entry.key);
    } else {
      own[entry.key] = entry.value.as_string();
    }
  }
  json::Value out = metadata_json(node, own);
  for (const auto& [key, value] : own) node.meta[key] = value;
  const fsm::Answer answer = simulation.apply(living::NodeRegister{std::move(node)});
  if (!answer.error.empty()) return reply.fail(answer.error);
  reply.json(out);
}

void collect_client_garbage(Simulation& simulation, const Request& request, Reply& reply) {
  (void)asked_client(simulation, node_parameter(request), reply);  // nothing is kept that could go
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
  const model::Allocation alloc = simulation.log().stored_alloc(row);
  if (simulation.state().allocs.client[row] == tables::Client::running && alloc.allocated_resources)
    for (const auto& [name, has] : alloc.allocated_resources->tasks) {
      const auto state = alloc.task_states.find(name);
      if (state == alloc.task_states.end() || !state->second || state->second->state != "running") continue;
      const auto task_ticks = static_cast<double>(has.cpu.cpu_shares);
      const std::uint64_t task_bytes = static_cast<std::uint64_t>(has.memory.memory_mb) * kMiB;
      json::Value one = json::Value::object();
      one.set("ResourceUsage", usage_json(task_ticks, task_bytes, true));
      one.set("Timestamp", simulation.now()), one.set("Pids", nullptr);
      tasks.set(name, std::move(one));
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

void refuse_session(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-707
  if (asked_alloc(simulation, request.captures[0], reply) != tables::kNoRow) reply.fail(501, kSimulated);
}

void refuse_files(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-706
  if (request.path.starts_with("/v1/client/fs/logs/")) {
    const std::string *task = request.find("task"), *type = request.find("type");
    if (!task || task->empty()) return reply.fail(400, "must provide task name");
    if (!type || type->empty()) return reply.fail(400, "must provide log type (stdout/stderr)");
  }
  if (asked_alloc(simulation, request.captures[0], reply) != tables::kNoRow) reply.fail(404, kSimulated);
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
  any("/v1/client/allocation/*/stats", read_alloc_stats);
  any("/v1/client/allocation/*/gc", collect_alloc_garbage);
  router.plain("/v1/client/allocation/*/checks", read_client_checks);
  router.plain("/v1/client/allocation/*/exec", refuse_session);
  any("/v1/client/allocation/*/snapshot", refuse_session);
  any("/v1/client/allocation/*", refusal(404, "resource not found"));
  any("/v1/job/*/action", refusal(501, kSimulated));
  for (const char* files : {"ls", "stat", "cat", "readat", "stream", "logs"})
    router.plain(std::string("/v1/client/fs/") + files + "/*", refuse_files);
  any("/v1/allocation/*/checks", read_alloc_checks);
  router.read("/v1/job/*/actions", read_job_actions);
}

}  // namespace berth::serve
