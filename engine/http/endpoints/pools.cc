// Reading and writing node pools and namespaces (R-API-460 to 465).
#include <algorithm>
#include <map>

#include "base/base64.h"
#include "base/blake2b.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/time.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"
#include "http/stores/stores.h"
#include "model/job.h"
#include "model/predicates.h"
#include "model/registration/error_list.h"

namespace berth::http {

namespace {

using fsm::Table;

constexpr std::int64_t kIdentityTtl = 24 * 3600 * base::kSecond;

std::string hash_of(const std::string& text) {
  const auto digest = base::blake2b_256(text);
  return base::to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

/// True for 1 to 128 letters, digits, hyphens and, for pools, underscores.
bool is_name(std::string_view name, bool underscores) {
  if (name.empty() || name.size() > 128) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           (underscores && c == '_');
  });
}

bool is_built_in(std::string_view pool) { return pool == "all" || pool == "default"; }

std::uint64_t pools_index(Simulation& simulation, const Request&) {
  return std::max<std::uint64_t>(simulation.log().table_index(Table::node_pools), 1);
}
std::uint64_t namespaces_index(Simulation& simulation, const Request&) {
  return std::max<std::uint64_t>(simulation.log().table_index(Table::namespaces), 1);
}

/// Writes an entry; the reply has no body (R-API-11).
template <class Entry>
void write_entry(Simulation& simulation, Entry entry, Reply& reply) {
  fsm::Hooks hooks;
  const std::uint64_t index = simulation.log().next_index();
  if (std::string error = simulation.log().apply(index, entry, hooks); !error.empty())
    return reply.fail(std::move(error));
  simulation.server().take(hooks);
  reply.index(index);
}

// ---------------------------------------------------------------- pools

std::vector<model::NodePool> pools_of(const tables::Snapshot& state) {
  std::vector<model::NodePool> out = state.cold->node_pools;
  const auto add = [&](const char* name, const char* description) {
    if (std::any_of(out.begin(), out.end(), [&](const auto& pool) { return pool.name == name; })) return;
    model::NodePool& pool = out.emplace_back();
    pool.name = name, pool.description = description, pool.create_index = pool.modify_index = 1;
  };
  add("all", "Node pool with all nodes in the cluster.");
  add("default", "Default node pool.");
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::optional<model::NodePool> pool_named(const tables::Snapshot& state, std::string_view name) {
  for (model::NodePool& pool : pools_of(state))
    if (pool.name == name) return std::move(pool);
  return std::nullopt;
}

void list_pools(Simulation& simulation, const Request& request, Reply& reply) {
  auto pools = std::make_shared<const std::vector<model::NodePool>>(pools_of(simulation.state()));
  send_list(simulation, request, reply, Where::readers, [pools, request] {
    ListRows list;
    for (std::uint32_t row = 0; row < pools->size(); ++row)
      if (const std::string& name = (*pools)[row].name;
          name.starts_with(request.prefix) &&
          request.may([&](const Rights& has) { return has.node_pool(name, node_pool_capability("read")); }))
        list.rows.push_back(row);
    if (request.reverse) std::reverse(list.rows.begin(), list.rows.end());
    list.write = [pools](std::uint32_t row, std::string& out) {
      json::append_text(out, node_pool_json((*pools)[row]));
    };
    list.token = [pools](std::uint32_t row) { return (*pools)[row].name; };
    list.passes = [pools](std::uint32_t row, const Filter& filter) { return filter.matches((*pools)[row]); };
    return list;
  });
}

std::uint64_t pool_index(Simulation& simulation, const Request& request) {
  const auto pool = pool_named(simulation.state(), request.captures[0]);
  return pool ? std::max<std::uint64_t>(pool->modify_index, 1) : pools_index(simulation, request);
}

void read_pool(Simulation& simulation, const Request& request, Reply& reply) {
  const auto pool = pool_named(simulation.state(), request.captures[0]);
  if (!pool) return reply.fail(404, "node pool not found");
  reply.json(node_pool_json(*pool));
}

/// A duration as text or in ns; 0: absent (R-API-461); nullopt: the reply contains the error.
std::optional<std::int64_t> identity_ttl(const json::Value& value, Reply& reply) {
  if (value.is_null() || (value.is_string() && value.as_string().empty())) return 0;
  if (value.is_int64()) return value.as_int();
  const auto ns = value.is_string() ? base::parse_duration(value.as_string()) : std::nullopt;
  if (!ns)
    reply.fail(
        400, "time: invalid duration " + base::go_quote(value.is_string() ? value.as_string() : json::to_text(value)));
  return ns;
}

/// Metadata of a body: texts by key; nullopt: the reply contains the error.
std::optional<std::map<std::string, std::string>> meta_of(const Expected& expected) {
  const auto given = expected.object("Meta");
  if (!given) return std::nullopt;
  std::map<std::string, std::string> out;
  for (const json::Member& member : given->members()) out[member.key] = member.value.as_string();
  return out;
}

void write_pool(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-510
  const auto body = object_body(request, "NodePool", reply);
  if (!body) return;
  const Expected expected{*body, "NodePool", reply};
  const auto name = expected.text("Name"), description = expected.text("Description");
  const auto meta = name && description ? meta_of(expected) : std::nullopt;
  if (!meta) return;
  const auto ttl = identity_ttl(body_member(*body, "NodeIdentityTTL"), reply);
  if (!ttl) return;
  if (!request.captures.empty() && request.captures[0] != *name)
    return reply.fail(400, "Node pool name does not match request path");
  if (!body_member(*body, "SchedulerConfiguration").is_null())
    return reply.fail("Feature \"Node Pools Governance\" is unlicensed");
  model::ErrorList errors;
  if (!is_name(*name, true)) errors.add("invalid name \"" + *name + "\", must match regex ^[a-zA-Z0-9-_]{1,128}$");
  if (description->size() > kDescriptionMost) errors.add("description longer than 256");
  if (!errors.empty()) return reply.fail(400, "invalid node pool \"" + *name + "\": " + errors.text());
  if (is_built_in(*name)) return reply.fail(400, "modifying node pool \"" + *name + "\" is not allowed");
  model::NodePool pool;
  pool.name = *name, pool.description = *description, pool.meta = *meta;
  const std::int64_t kept = *ttl != 0 ? *ttl : kIdentityTtl;
  std::string hashed = pool.name + pool.description + base::duration_text(kept);
  for (const auto& [key, value] : pool.meta) hashed += key + value;
  pool.extra.set("NodeIdentityTTL", kept), pool.extra.set("Hash", hash_of(hashed));
  write_entry(simulation, fsm::NodePoolUpsertEntry{{std::move(pool)}}, reply);
}

void delete_pool(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-512
  const std::string& name = request.captures[0];
  const tables::Snapshot& state = simulation.state();
  bool jobs = false, nodes = false;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key)
    if (const auto& job = state.jobs.objects[key]) jobs |= job->node_pool == name && job->status != "dead";
  for (tables::NodeRow row = 0; row < state.nodes.size(); ++row)
    nodes |= state.nodes.exists(row) && is_in_pool(state, row, name);
  model::ErrorList errors;
  if (jobs) errors.add("node pool \"" + name + "\" has non-terminal jobs in regions: [global]");
  if (nodes) errors.add("node pool \"" + name + "\" has nodes in regions: [global]");
  if (!errors.empty()) return reply.fail(errors.text());
  if (!pool_named(state, name)) return reply.fail("node pool " + name + " not found");
  if (is_built_in(name)) return reply.fail("deleting node pool \"" + name + "\" is not allowed");
  write_entry(simulation, fsm::NodePoolDeleteEntry{{name}}, reply);
}

/// Lists of a pool's nodes and jobs refuse a prefix (R-API-463). True if there is one: the reply contains the error.
bool refuse_prefix(const Request& request, Reply& reply) {
  if (request.prefix.empty()) return false;
  reply.fail(400, "prefix argument not allowed");
  return true;
}

std::uint64_t pool_nodes_index(Simulation& simulation, const Request& request) {
  return pool_named(simulation.state(), request.captures[0]) ? simulation.log().table_index(Table::nodes) : 0;
}

void list_pool_nodes(Simulation& simulation, const Request& request, Reply& reply) {
  if (refuse_prefix(request, reply)) return;
  if (!pool_named(simulation.state(), request.captures[0])) return reply.json(json::Value::array());
  list_nodes(simulation, request, reply, request.captures[0] == "all" ? "" : request.captures[0]);
}

std::uint64_t pool_jobs_index(Simulation& simulation, const Request& request) {
  if (!pool_named(simulation.state(), request.captures[0])) return 0;
  return std::max(simulation.log().table_index(Table::jobs), simulation.log().table_index(Table::job_summary));
}

void list_pool_jobs(Simulation& simulation, const Request& request, Reply& reply) {
  if (refuse_prefix(request, reply)) return;
  if (!pool_named(simulation.state(), request.captures[0])) return reply.json(json::Value::array());
  list_jobs(simulation, request, reply, request.captures[0]);
}

// ---------------------------------------------------------------- namespaces

/// With all keys (R-API-464).
json::Value namespace_json(const model::Namespace& name_space) {
  json::Value out = json::Value::object();
  const json::Value& extra = name_space.extra;
  out.set("Name", name_space.name), out.set("Description", extra["Description"].as_string());
  out.set("Quota", extra["Quota"].as_string()), out.set("Capabilities", name_space.capabilities);
  for (const char* key : {"NodePoolConfiguration", "VaultConfiguration", "ConsulConfiguration", "Meta",
                          "RequiredExtraClaims", "OptionalExtraClaims", "Hash"})
    out.set(key, extra[key]);
  out.set("CreateIndex", extra["CreateIndex"].as_uint()), out.set("ModifyIndex", extra["ModifyIndex"].as_uint());
  return out;
}

/// Hash of name, description, quota, drivers and networks in that order, and of further members.
std::string namespace_hash(const model::Namespace& name_space) {
  std::string text =
      name_space.name + name_space.extra["Description"].as_string() + name_space.extra["Quota"].as_string();
  for (const char* list : {"EnabledTaskDrivers", "DisabledTaskDrivers", "EnabledNetworkModes", "DisabledNetworkModes"})
    for (const json::Value& item : name_space.capabilities[list].items()) text += item.as_string();
  std::vector<std::pair<std::string, std::string>> meta;
  for (const json::Member& member : name_space.extra["Meta"].members())
    meta.emplace_back(member.key, member.value.as_string());
  std::sort(meta.begin(), meta.end());
  for (const auto& [key, value] : meta) text += key + value;
  return hash_of(text);
}

std::vector<model::Namespace> namespaces_of(const tables::Snapshot& state) {
  std::vector<model::Namespace> out = state.cold->namespaces;
  auto own = std::find_if(out.begin(), out.end(), [](const auto& n) { return n.name == "default"; });
  if (own == out.end()) {
    own = out.insert(out.end(), model::Namespace{});
    own->name = "default";
  }
  if (own->extra["Description"].is_null() && own->extra["ModifyIndex"].as_uint() <= 1)
    own->extra.set("Description", "Default shared namespace");
  if (own->extra["CreateIndex"].as_uint() == 0) own->extra.set("CreateIndex", 1);
  if (own->extra["ModifyIndex"].as_uint() == 0) own->extra.set("ModifyIndex", 1);
  for (model::Namespace& name_space : out)
    if (name_space.extra["Hash"].is_null()) name_space.extra.set("Hash", namespace_hash(name_space));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::optional<model::Namespace> namespace_named(const tables::Snapshot& state, std::string_view name) {
  for (model::Namespace& name_space : namespaces_of(state))
    if (name_space.name == name) return std::move(name_space);
  return std::nullopt;
}

void list_namespaces(Simulation& simulation, const Request& request, Reply& reply) {
  json::Value out = json::Value::array();
  for (const model::Namespace& name_space : namespaces_of(simulation.state()))
    if (name_space.name.starts_with(request.prefix) &&
        request.may([&](const Rights& has) { return has.sees_namespace(name_space.name); }))
      out.push(namespace_json(name_space));
  reply.json(out);
}

std::uint64_t namespace_index(Simulation& simulation, const Request& request) {
  const auto name_space = namespace_named(simulation.state(), request.captures[0]);
  return name_space ? name_space->extra["ModifyIndex"].as_uint() : namespaces_index(simulation, request);
}

void read_namespace(Simulation& simulation, const Request& request, Reply& reply) {
  if (request.captures[0].empty()) return reply.fail(400, "Missing Namespace Name");
  const auto name_space = namespace_named(simulation.state(), request.captures[0]);
  if (!name_space) return reply.fail(404, "Namespace not found");
  reply.json(namespace_json(*name_space));
}

/// The four lists of a namespace's capabilities; null if the body has none; nullopt: the reply contains the error.
std::optional<json::Value> capabilities_of(const Expected& expected, Reply& reply) {
  const auto given = expected.object("Capabilities");
  if (!given) return std::nullopt;
  if (given->is_null()) return json::Value();
  const Expected of{*given, "NamespaceCapabilities", reply};
  json::Value out = json::Value::object();
  for (const char* key : {"EnabledTaskDrivers", "DisabledTaskDrivers", "EnabledNetworkModes", "DisabledNetworkModes"}) {
    const auto names = of.texts(key);
    if (!names) return std::nullopt;
    json::Value list;
    for (const std::string& name : *names) list.push(name);
    out.set(key, std::move(list));
  }
  return out;
}

/// A namespace is replaced completely (R-STORE-501).
void write_namespace(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-500 to 502
  const auto body = object_body(request, "Namespace", reply);
  if (!body) return;
  const Expected expected{*body, "Namespace", reply};
  const auto name = expected.text("Name"), description = expected.text("Description"), quota = expected.text("Quota");
  if (!name || !description || !quota) return;
  const auto meta = meta_of(expected);
  auto capabilities = meta ? capabilities_of(expected, reply) : std::optional<json::Value>();
  if (!capabilities) return;
  if (!request.captures.empty() && request.captures[0] != *name)
    return reply.fail(400, "Namespace name does not match request path");
  model::ErrorList errors;
  if (!is_name(*name, false)) errors.add("invalid name \"" + *name + "\". Must match regex ^[a-zA-Z0-9-]{1,128}$");
  if (description->size() > kDescriptionMost) errors.add("description longer than 256");
  for (const auto& [key, text] :
       {std::pair("NodePoolConfiguration", "invalid node pool configuration: Node Pools Governance is unlicensed."),
        std::pair("VaultConfiguration", "invalid vault configuration: Multi-Cluster Vault is unlicensed."),
        std::pair("ConsulConfiguration", "invalid consul configuration: Multi-Cluster Consul is unlicensed.")})
    if (!body_member(*body, key).is_null()) errors.add(text);
  if (!errors.empty()) return reply.fail("Invalid namespace \"" + *name + "\": " + errors.text());
  if (!quota->empty()) return reply.fail("namespace \"" + *name + "\" using non-existent quota \"" + *quota + "\"");
  model::Namespace name_space;
  name_space.name = *name;
  name_space.capabilities = std::move(*capabilities);
  name_space.extra.set("Description", *description);
  if (!meta->empty()) {
    json::Object kept;
    for (const auto& [key, value] : *meta) kept.push_back({key, value});
    name_space.extra.set("Meta", std::move(kept));
  }
  name_space.extra.set("Hash", namespace_hash(name_space));
  write_entry(simulation, fsm::NamespaceUpsertEntry{{std::move(name_space)}}, reply);
}

void delete_namespace(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string& name = request.captures[0];
  if (name.empty()) return reply.fail(400, "Missing Namespace Name");
  if (name == "default") return reply.fail("can not delete default namespace");
  const tables::Snapshot& state = simulation.state();
  if (!namespace_named(state, name)) return reply.fail("namespace not found");
  bool jobs = false, allocs = false, volumes = false;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key) {
    const auto& job = state.jobs.objects[key];
    const tables::JobKey& names = state.jobs.keys[key];
    if (names.alloc_head == tables::kNoRow && !job) continue;
    if (state.text(names.job_namespace) != name) continue;
    jobs |= job && job->status != "dead";
    for (auto row = names.alloc_head; row != tables::kNoRow; row = state.allocs.next_of_job[row])
      allocs |= !state.allocs.terminal(row);
  }
  for (const model::CsiVolume& volume : state.cold->csi_volumes) volumes |= volume.namespace_ == name;
  model::ErrorList errors;
  if (jobs) errors.add("namespace \"" + name + "\" has non-terminal jobs in regions: [global]");
  if (allocs) errors.add("namespace \"" + name + "\" has non-terminal allocations in regions: [global]");
  if (volumes) errors.add("namespace \"" + name + "\" has volumes associated with it in regions: [global]");
  if (simulation.stores().variables().any_in(name))
    errors.add("namespace \"" + name + "\" has variables associated with it in regions: [global]");
  if (!errors.empty()) return reply.fail(errors.text());
  write_entry(simulation, fsm::NamespaceDeleteEntry{{name}}, reply);
}

}  // namespace

json::Value node_pool_json(const model::NodePool& pool) {
  json::Value out = json::Value::object(), meta;
  for (const auto& [key, value] : pool.meta) meta.members().push_back({key, value});
  const json::Value& ttl = pool.extra["NodeIdentityTTL"];
  out.set("Name", pool.name), out.set("Description", pool.description), out.set("Meta", std::move(meta));
  out.set("SchedulerConfiguration", nullptr),
      out.set("NodeIdentityTTL", ttl.is_null() ? json::Value(kIdentityTtl) : ttl);
  out.set("Hash", pool.extra["Hash"]);
  out.set("CreateIndex", pool.create_index), out.set("ModifyIndex", pool.modify_index);
  return out;
}

std::vector<std::string> pool_names(const tables::Snapshot& state) {
  std::vector<std::string> out;
  for (const model::NodePool& pool : pools_of(state)) out.push_back(pool.name);
  return out;
}

std::vector<std::string> namespace_names(const tables::Snapshot& state) {
  std::vector<std::string> out;
  for (const model::Namespace& name_space : namespaces_of(state)) out.push_back(name_space.name);
  return out;
}

void add_pool_routes(Router& router) {
  const Blocking of_pools{pools_index, tables_of(Table::node_pools)};
  router.read("/v1/node/pools", list_pools, of_pools);
  router.write("/v1/node/pools", write_pool);
  router.read("/v1/node/pool/*", read_pool, {pool_index, tables_of(Table::node_pools)});
  router.write("/v1/node/pool/*", write_pool);
  router.remove("/v1/node/pool/*", delete_pool);
  router.read("/v1/node/pool/*/nodes", list_pool_nodes, {pool_nodes_index, tables_of(Table::nodes)});
  router.read("/v1/node/pool/*/jobs", list_pool_jobs, {pool_jobs_index, tables_of(Table::jobs, Table::job_summary)});
  router.read("/v1/namespaces", list_namespaces, {namespaces_index, tables_of(Table::namespaces)});
  router.write("/v1/namespace", write_namespace);
  router.read("/v1/namespace/*", read_namespace, {namespace_index, tables_of(Table::namespaces)});
  router.write("/v1/namespace/*", write_namespace);
  router.remove("/v1/namespace/*", delete_namespace);
}

}  // namespace berth::http
