// CSI volumes and plugins (R-STORE-230 to 247). Plugins are those of the cluster's state, e.g. of an import. Their
// controllers are simulated and act at once. Claims follow allocations (fsm/csi_claims.h).
#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "feasible/csi_volumes.h"
#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/objects.h"
#include "http/endpoints/volumes.h"
#include "model/codec/codec.h"

namespace berth::http {

namespace {

using model::CsiPlugin;
using model::CsiVolume;

const CsiVolume* csi_volume(const tables::Snapshot& state, const std::string& name_space, const std::string& id) {
  for (const CsiVolume& volume : state.cold->csi_volumes)
    if (volume.id == id && volume.namespace_ == name_space) return &volume;
  return nullptr;
}

const CsiPlugin* csi_plugin(const tables::Snapshot& state, const std::string& id) {
  for (const CsiPlugin& plugin : state.cold->csi_plugins)
    if (plugin.id == id) return &plugin;
  return nullptr;
}

bool forbidden_csi(const Request& request, const std::string& name_space,
                   std::initializer_list<std::string_view> capabilities, Reply& reply) {
  if (forbidden(request, name_space, capabilities, reply)) return true;
  if (request.may([](const Rights& has) { return has.plugin_read(); })) return false;
  reply.fail(403, "Permission denied");
  return true;
}

// ---------------------------------------------------------------- output

json::Value or_null(const json::Value& value) { return value.size() == 0 ? json::Value() : value; }

/// Adds counts and names of a volume's plugin.
void set_plugin(json::Value& out, const tables::Snapshot& state, const CsiVolume& volume) {
  const CsiPlugin* plugin = csi_plugin(state, volume.plugin_id);
  const auto number = [&](const char* key) { return plugin ? plugin->extra[key].as_int() : 0; };
  out.set("PluginID", volume.plugin_id), out.set("Provider", plugin ? plugin->extra["Provider"].as_string() : "");
  out.set("ControllerRequired", plugin && plugin->controller_required);
  out.set("ControllersHealthy", plugin ? plugin->controllers_healthy : 0);
  out.set("ControllersExpected", number("ControllersExpected"));
  out.set("NodesHealthy", plugin ? plugin->nodes_healthy : 0), out.set("NodesExpected", number("NodesExpected"));
}

json::Value topologies_json(const CsiVolume& volume) {
  json::Value out;
  for (const auto& topology : volume.topologies) {
    json::Value shown, segments = json::Value::object();
    if (topology) {
      for (const auto& [key, value] : topology->segments) segments.members().push_back({key, value});
      shown.set("Segments", std::move(segments));
    }
    out.push(std::move(shown));
  }
  return out;
}

json::Value csi_stub(const tables::Snapshot& state, const CsiVolume& volume) {
  json::Value out = json::Value::object();
  out.set("ID", volume.id), out.set("Namespace", volume.namespace_), out.set("Name", volume.name);
  out.set("ExternalID", volume.extra["ExternalID"].as_string()), out.set("Topologies", topologies_json(volume));
  out.set("AccessMode", volume.access_mode), out.set("AttachmentMode", volume.attachment_mode);
  out.set("CurrentReaders", volume.read_allocs.size()), out.set("CurrentWriters", volume.write_allocs.size());
  out.set("Schedulable", volume.schedulable);
  set_plugin(out, state, volume);
  out.set("ResourceExhausted", base::to_rfc3339(volume.resource_exhausted));
  out.set("CreateIndex", volume.create_index), out.set("ModifyIndex", volume.modify_index);
  out.set("CreateTime", volume.extra["CreateTime"].as_int()),
      out.set("ModifyTime", volume.extra["ModifyTime"].as_int());
  return out;
}

json::Value csi_json(Simulation& simulation, const CsiVolume& volume) {  // R-STORE-243
  const tables::Snapshot& state = simulation.state();
  const json::Value& extra = volume.extra;
  json::Value out = json::Value::object(), users = json::Value::array();
  for (const char* key : {"ID", "Name", "ExternalID", "Namespace"}) out.set(key, extra[key].as_string());
  out.set("ID", volume.id), out.set("Name", volume.name), out.set("Namespace", volume.namespace_);
  out.set("RequestedTopologies", extra["RequestedTopologies"]), out.set("Topologies", topologies_json(volume));
  out.set("AccessMode", volume.access_mode), out.set("AttachmentMode", volume.attachment_mode);
  json::Value mount = extra["MountOptions"];
  if (mount["MountFlags"].size() != 0) mount.set("MountFlags", json::Array{json::Value("[REDACTED]")});
  out.set("MountOptions", std::move(mount));
  json::Value secrets = json::Value::object();
  for (const json::Member& secret : extra["Secrets"].members()) secrets.set(secret.key, "[REDACTED]");
  out.set("Secrets", std::move(secrets));
  out.set("Parameters", or_null(extra["Parameters"])), out.set("Context", or_null(extra["Context"]));
  for (const char* key : {"Capacity", "RequestedCapacityMin", "RequestedCapacityMax"})
    out.set(key, extra[key].as_int());
  out.set("RequestedCapabilities", capabilities_json(volume.requested_capabilities));
  for (const char* key : {"CloneID", "SnapshotID"}) out.set(key, extra[key].as_string());
  for (const auto& [key, allocs] :
       {std::pair("ReadAllocs", &volume.read_allocs), std::pair("WriteAllocs", &volume.write_allocs)}) {
    json::Value of = json::Value::object();
    for (const auto& [id, ignored] : *allocs) {
      const tables::AllocRow row = simulation.store().find_alloc(id);
      json::Value stub = row == tables::kNoRow ? json::Value() : alloc_stub(state, row);
      if (!stub.is_null()) users.push(stub);
      of.members().push_back({id, std::move(stub)});
    }
    out.set(key, std::move(of));
  }
  out.set("Allocations", std::move(users)), out.set("Schedulable", volume.schedulable);
  set_plugin(out, state, volume);
  const CsiPlugin* plugin = csi_plugin(state, volume.plugin_id);
  out.set("ProviderVersion", plugin ? plugin->extra["Version"].as_string() : "");
  out.set("ResourceExhausted", base::to_rfc3339(volume.resource_exhausted));
  out.set("CreateIndex", volume.create_index), out.set("ModifyIndex", volume.modify_index);
  out.set("CreateTime", extra["CreateTime"].as_int()), out.set("ModifyTime", extra["ModifyTime"].as_int());
  return out;
}

json::Value plugin_stub(const CsiPlugin& plugin) {
  json::Value out = json::Value::object();
  out.set("ID", plugin.id), out.set("Provider", plugin.extra["Provider"].as_string());
  out.set("ControllerRequired", plugin.controller_required);
  out.set("ControllersHealthy", plugin.controllers_healthy);
  out.set("ControllersExpected", plugin.extra["ControllersExpected"].as_int());
  out.set("NodesHealthy", plugin.nodes_healthy), out.set("NodesExpected", plugin.extra["NodesExpected"].as_int());
  out.set("CreateIndex", plugin.create_index), out.set("ModifyIndex", plugin.modify_index);
  return out;
}

json::Value plugin_json(const CsiPlugin& plugin) {  // R-STORE-244
  json::Value out = plugin_stub(plugin);
  out.set("Version", plugin.extra["Version"].as_string());
  for (const char* key : {"Controllers", "Nodes", "ControllerJobs", "NodeJobs"}) {
    const json::Value& stored = plugin.extra[key];
    out.set(key, stored.is_object() ? stored : json::Value::object());
  }
  out.set("Allocations", json::Value::array());
  return out;
}

// ---------------------------------------------------------------- writing

/// Errors of a submitted volume (R-STORE-242).
std::vector<std::string> csi_problems(const json::Value& given, const CsiVolume& volume) {
  std::vector<std::string> out;
  if (volume.id.empty()) out.emplace_back("missing volume id");
  if (volume.plugin_id.empty()) out.emplace_back("missing plugin id");
  if (volume.namespace_.empty()) out.emplace_back("missing namespace");
  if (!volume.extra["SnapshotID"].as_string().empty() && !volume.extra["CloneID"].as_string().empty())
    out.emplace_back("only one of snapshot_id and clone_id is allowed");
  if (!out.empty()) return out;  // as observed, the rest is then not checked
  if (volume.requested_capabilities.empty()) out.emplace_back("must include at least one capability block");
  const json::Value& topologies = body_member(given, "RequestedTopologies");
  for (const auto& [key, text] : {std::pair("Required", "required"), std::pair("Preferred", "preferred")})
    for (const json::Value& one : body_member(topologies, key).items())
      if (body_member(one, "Segments").is_null())
        out.emplace_back(std::string(text) + " topology is missing segments field");
  return out;
}

/// Error if an update changes immutable members (R-STORE-245); else "".
std::string update_problem(const CsiVolume& before, const CsiVolume& after) {
  const bool in_use = !before.read_allocs.empty() || !before.write_allocs.empty();
  model::ErrorList errors;
  const auto text_differs = [&](const char* key) {
    const std::string& given = after.extra[key].as_string();
    return !given.empty() && given != before.extra[key].as_string();
  };
  if (!after.name.empty() && after.name != before.name) errors.add("volume name cannot be updated");
  if (text_differs("ExternalID")) errors.add("volume external ID cannot be updated");
  if (after.plugin_id != before.plugin_id) errors.add("volume plugin ID cannot be updated");
  if (text_differs("CloneID")) errors.add("volume clone ID cannot be updated");
  if (text_differs("SnapshotID")) errors.add("volume snapshot ID cannot be updated");
  if (after.extra["Parameters"].size() != 0 &&
      !json::equal_ignoring_member_order(after.extra["Parameters"], before.extra["Parameters"]))
    errors.add("volume parameters cannot be updated");
  if (!errors.empty()) return "unable to update volume: " + errors.text();
  const auto keeps = [&](const model::HostVolumeCapability& one) {
    return one.access_mode == before.access_mode && one.attachment_mode == before.attachment_mode;
  };
  if (in_use && !before.access_mode.empty() &&
      std::none_of(after.requested_capabilities.begin(), after.requested_capabilities.end(), keeps))
    return "volume requested capabilities update was not compatible with existing capability in use";
  if (in_use && after.extra["MountOptions"].size() != 0 &&
      !json::equal_ignoring_member_order(after.extra["MountOptions"], before.extra["MountOptions"]))
    return "can not update mount options while volume is in use";
  return "";
}

/// The volume of a body; nullopt: the reply contains the error.
std::optional<CsiVolume> given_csi(const json::Value& given, const Request& request, Reply& reply) {
  CsiVolume volume;
  const Expected expected{given, "CSIVolume", reply};
  for (const auto& [key, to] : {std::pair("ID", &volume.id), std::pair("Name", &volume.name),
                                std::pair("Namespace", &volume.namespace_), std::pair("PluginID", &volume.plugin_id)}) {
    const auto text = expected.text(key);
    if (!text) return std::nullopt;
    *to = *text;
  }
  for (const char* key : {"ExternalID", "SnapshotID", "CloneID"}) {
    const auto text = expected.text(key);
    if (!text) return std::nullopt;
    volume.extra.set(key, *text);
  }
  for (const char* key : {"RequestedCapacityMin", "RequestedCapacityMax", "Capacity"}) {
    const auto number = expected.integer(key);
    if (!number) return std::nullopt;
    volume.extra.set(key, *number);
  }
  for (const char* key : {"Secrets", "Parameters", "Context", "MountOptions", "RequestedTopologies"}) {
    const auto object = expected.object(key);
    if (!object) return std::nullopt;
    volume.extra.set(key, *object);
  }
  for (const json::Value& item : body_member(given, "RequestedCapabilities").items()) {
    const Expected member{item, "CSIVolumeCapability", reply};
    const auto attachment = member.text("AttachmentMode"), access = member.text("AccessMode");
    if (!attachment || !access) return std::nullopt;
    volume.requested_capabilities.push_back({*attachment, *access});
  }
  if (volume.namespace_.empty()) volume.namespace_ = request.name_space;
  return volume;
}

void store_csi(Simulation& simulation, CsiVolume volume, const CsiVolume* before, bool creates) {
  const std::uint64_t index = simulation.take_index();
  if (before) {  // only these change (R-STORE-245)
    CsiVolume changed = *before;
    changed.requested_capabilities = volume.requested_capabilities;
    for (const char* key : {"MountOptions", "Secrets", "Context"})
      if (volume.extra[key].size() != 0) changed.extra.set(key, volume.extra[key]);
    volume = std::move(changed);
  } else {
    volume.create_index = index;
    volume.extra.set("CreateTime", simulation.now());
    if (volume.name.empty()) volume.name = volume.id;
    if (creates) {
      volume.extra.set("ExternalID", "simulated-" + base::to_text(simulation.server().draw_id()));
      volume.extra.set("Capacity", volume.extra["RequestedCapacityMin"].as_int());
    }
  }
  const CsiPlugin* plugin = csi_plugin(simulation.state(), volume.plugin_id);
  volume.schedulable =
      plugin && plugin->nodes_healthy > 0 && (!plugin->controller_required || plugin->controllers_healthy > 0);
  volume.modify_index = index;
  volume.extra.set("ModifyTime", simulation.now());
  {
    tables::Commit commit = simulation.store().begin_commit(index);
    commit.upsert_csi_volume(volume);
  }
  simulation.server().unblock_resource(feasible::csi_resource(volume.namespace_, volume.id), index);  // R-CTRL-827
  json::Value payload = json::Value::object();
  payload.set("Volume", csi_json(simulation, volume));
  acl_written(
      simulation, StoreTable::csi_volumes, index, "CSIVolumeRegistered",
      {"CSIVolume", volume.id, volume.namespace_, {volume.id, volume.name, volume.plugin_id}, std::move(payload)});
}

/// Registers or creates the volumes of a body; all or none.
void write_csi(Simulation& simulation, const Request& request, bool creates, Reply& reply) {
  const auto body = object_body(request, "CSIVolumeRegisterRequest", reply);
  if (!body) return;
  const json::Value& given = body_member(*body, "Volumes");
  if (given.items().empty()) return reply.fail(500, "missing volume definition");
  std::vector<CsiVolume> volumes;
  for (const json::Value& one : given.items()) {
    if (!one.is_object()) return reply.fail(500, "missing volume definition");
    auto volume = given_csi(one, request, reply);
    if (!volume || forbidden_csi(request, volume->namespace_, {"csi-write-volume"}, reply)) return;
    if (const auto problems = csi_problems(one, *volume); !problems.empty())
      return reply.fail(500, "validation: " + base::join(problems, ", "));
    if (!csi_plugin(simulation.state(), volume->plugin_id))
      return reply.fail(500, "no CSI plugin named: " + volume->plugin_id + " could be found");
    if (const CsiVolume* before = csi_volume(simulation.state(), volume->namespace_, volume->id))
      if (const std::string why = update_problem(*before, *volume); !why.empty()) return reply.fail(500, why);
    volumes.push_back(std::move(*volume));
  }
  if (refuse_full(simulation, 4 * request.body.size(), reply)) return;
  json::Value out = json::Value::object(), shown = json::Value::array();
  for (CsiVolume& volume : volumes) {
    const std::string name_space = volume.namespace_, id = volume.id;
    const CsiVolume* stored = csi_volume(simulation.state(), name_space, id);
    const std::optional<CsiVolume> before = stored ? std::optional(*stored) : std::nullopt;
    store_csi(simulation, std::move(volume), before ? &*before : nullptr, creates);
    shown.push(csi_json(simulation, *csi_volume(simulation.state(), name_space, id)));
  }
  reply.index(simulation.log().next_index() - 1);
  if (!creates) return;
  out.set("Volumes", std::move(shown)), out.set("Warnings", "");
  set_read_meta(out, simulation.log().next_index() - 1, true);
  reply.json(out);
}

bool is_forced(const Request& request) { return is_true(request, "force"); }

void remove_csi(Simulation& simulation, const Request& request, const std::string& id, Reply& reply) {  // R-STORE-247
  if (forbidden_csi(request, request.name_space, {"csi-write-volume"}, reply)) return;
  const CsiVolume* stored = csi_volume(simulation.state(), request.name_space, id);
  if (!stored) return reply.fail(500, "volume not found: " + id);
  bool lives = false, used = false;
  for (const auto* allocs : {&stored->read_allocs, &stored->write_allocs})
    for (const auto& [alloc, ignored] : *allocs) {
      used = true;
      const tables::AllocRow row = simulation.store().find_alloc(alloc);
      lives |= row != tables::kNoRow && !simulation.state().allocs.terminal(row);
    }
  if (used && (lives || !is_forced(request))) return reply.fail(500, "volume in use: " + id);
  const CsiVolume volume = *stored;
  const std::uint64_t index = simulation.take_index();
  {
    tables::Commit commit = simulation.store().begin_commit(index);
    commit.remove_csi_volume(request.name_space, id);
  }
  json::Value payload = json::Value::object();
  payload.set("Volume", csi_json(simulation, volume));
  acl_written(simulation, StoreTable::csi_volumes, index, "CSIVolumeDeregistered",
              {"CSIVolume", id, volume.namespace_, {id, volume.name, volume.plugin_id}, std::move(payload)});
  reply.index(index);
}

/// Ends the claims of a node's allocations (R-STORE-238).
void detach_csi(Simulation& simulation, const Request& request, const std::string& id, Reply& reply) {
  const std::string* node = request.find("node");
  if (!node || node->empty()) return reply.fail(400, "detach requires node ID");
  if (forbidden_csi(request, request.name_space, {"csi-mount-volume"}, reply)) return;
  const CsiVolume* stored = csi_volume(simulation.state(), request.name_space, id);
  if (!stored) return reply.fail(500, "no such volume");
  CsiVolume volume = *stored;
  for (auto* claims : {&volume.read_claims, &volume.write_claims})
    std::erase_if(*claims, [&](const auto& claim) { return claim.second["NodeID"].as_string() == *node; });
  std::erase_if(volume.read_allocs, [&](const auto& one) { return !volume.read_claims.contains(one.first); });
  std::erase_if(volume.write_allocs, [&](const auto& one) { return !volume.write_claims.contains(one.first); });
  if (volume.read_allocs.empty() && volume.write_allocs.empty())
    volume.access_mode.clear(), volume.attachment_mode.clear();
  const std::uint64_t index = simulation.take_index();
  volume.modify_index = index;
  {
    tables::Commit commit = simulation.store().begin_commit(index);
    commit.upsert_csi_volume(volume);
  }
  json::Value payload = json::Value::object();
  payload.set("Volume", csi_json(simulation, volume));
  acl_written(simulation, StoreTable::csi_volumes, index, "CSIVolumeClaim",
              {"CSIVolume", id, volume.namespace_, {id, volume.name, volume.plugin_id}, std::move(payload)});
  reply.index(index);
}

/// Splits a path into a volume's ID and, after a slash, the operation.
std::pair<std::string, std::string> id_and_verb(const Request& request) {
  const std::string& path = request.captures[0];
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {path, ""};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

void put_csi(Simulation& simulation, const Request& request, Reply& reply) {
  const auto [id, verb] = id_and_verb(request);
  if (request.method == "POST") return reply.fail(405, "Invalid method");
  if (verb.empty()) return write_csi(simulation, request, false, reply);
  if (verb == "create") return write_csi(simulation, request, true, reply);
  reply.fail(404, "resource not found");
}

void delete_csi(Simulation& simulation, const Request& request, Reply& reply) {
  const auto [id, verb] = id_and_verb(request);
  if (verb.empty() || verb == "delete") return remove_csi(simulation, request, id, reply);
  if (verb == "detach") return detach_csi(simulation, request, id, reply);
  reply.fail(404, "resource not found");
}

std::uint64_t csi_volume_index(Simulation& simulation, const Request& request) {
  const CsiVolume* volume = csi_volume(simulation.state(), request.name_space, request.captures[0]);
  return volume ? volume->modify_index : csi_volumes_index(simulation);
}

void read_csi(Simulation& simulation, const Request& request, Reply& reply) {
  const auto [id, verb] = id_and_verb(request);
  if (!verb.empty()) return reply.without_index(), reply.fail(405, "Invalid method");
  if (forbidden_csi(request, request.name_space, {"csi-read-volume", "csi-mount-volume", "read-job"}, reply)) return;
  if (id.empty()) return reply.fail(500, "missing volume ID");
  const CsiVolume* volume = csi_volume(simulation.state(), request.name_space, id);
  if (!volume) return reply.fail(404, "volume not found");
  reply.json(csi_json(simulation, *volume));
}

// ---------------------------------------------------------------- plugins, external volumes, snapshots

std::uint64_t plugins_index(Simulation& simulation, const Request&) {
  std::uint64_t index = 0;
  for (const CsiPlugin& plugin : simulation.state().cold->csi_plugins) index = std::max(index, plugin.modify_index);
  return index;
}

void list_plugins(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-232
  const std::string* type = request.find("type");
  if (!type || type->empty()) return reply.without_index(), reply.json(json::Value::array());
  if (*type != "csi") return reply.without_index();
  if (!request.may([](const Rights& has) { return has.plugin_list(); })) return reply.fail(403, "Permission denied");
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const CsiPlugin& plugin : simulation.state().cold->csi_plugins)
    if (plugin.id.starts_with(request.prefix)) values.push_back(plugin_stub(plugin)), tokens.push_back(plugin.id);
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

void read_plugin(Simulation& simulation, const Request& request, Reply& reply) {
  const CsiPlugin* plugin = csi_plugin(simulation.state(), request.captures[0]);
  if (!plugin) return reply.fail(404, "plugin not found");
  reply.json(plugin_json(*plugin));
}

/// Lists external volumes of a plugin; a simulated one has none (R-STORE-239).
void list_external(Simulation& simulation, const Request& request, Reply& reply) {
  if (forbidden(request, request.name_space, {"csi-list-volume"}, reply)) return;
  const std::string* id = request.find("plugin_id");
  if (!id || !csi_plugin(simulation.state(), *id)) return reply.fail(500, "no such plugin");
  const bool snapshots = request.path.ends_with("snapshot");
  json::Value out = json::Value::object();
  out.set(snapshots ? "Snapshots" : "Volumes", json::Value::array()), out.set("NextToken", "");
  reply.json(out);
}

void make_snapshot(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-240
  const auto body = object_body(request, "CSISnapshotCreateRequest", reply);
  if (!body || forbidden_csi(request, request.name_space, {"csi-write-volume"}, reply)) return;
  model::ErrorList errors;
  for (const json::Value& one : body_member(*body, "Snapshots").items()) {
    const std::string& id = body_member(one, "SourceVolumeID").as_string();
    if (!csi_volume(simulation.state(), request.name_space, id))
      errors.add("no such volume \"" + id + "\"");
    else
      errors.add("simulated plugins make no snapshots");
  }
  reply.fail(500, errors.empty() ? "missing snapshot definition" : errors.text());
}

void delete_snapshot(Simulation&, const Request& request, Reply& reply) {
  if (forbidden_csi(request, request.name_space, {"csi-write-volume"}, reply)) return;
  reply.fail(500, "no such plugin");
}

}  // namespace

std::uint64_t csi_volumes_index(Simulation& simulation) {
  std::uint64_t index = simulation.stores().table_index(StoreTable::csi_volumes);
  for (const CsiVolume& volume : simulation.state().cold->csi_volumes) index = std::max(index, volume.modify_index);
  return index;
}

void list_csi_volumes(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-231
  if (forbidden(request, request.name_space, {"csi-list-volume", "csi-read-volume", "csi-mount-volume", "list-jobs"},
                reply))
    return;
  const Capabilities lists = namespace_capability("csi-list-volume") | namespace_capability("csi-read-volume") |
                             namespace_capability("csi-mount-volume") | namespace_capability("list-jobs");
  const std::string *plugin = request.find("plugin_id"), *node = request.find("node_id");
  const auto on_node = [&](const CsiVolume& volume) {
    const auto is_there = [&](const auto& claim) { return claim.second["NodeID"].as_string() == *node; };
    return std::any_of(volume.read_claims.begin(), volume.read_claims.end(), is_there) ||
           std::any_of(volume.write_claims.begin(), volume.write_claims.end(), is_there);
  };
  std::vector<const CsiVolume*> rows;
  for (const CsiVolume& volume : simulation.state().cold->csi_volumes)
    if ((request.all_namespaces() || volume.namespace_ == request.name_space) &&
        request.may([&](const Rights& has) { return has.in_namespace(volume.namespace_, lists); }) &&
        volume.id.starts_with(request.prefix) && (!plugin || plugin->empty() || volume.plugin_id == *plugin) &&
        (!node || node->empty() || on_node(volume)))
      rows.push_back(&volume);
  std::sort(rows.begin(), rows.end(), [](const CsiVolume* a, const CsiVolume* b) {
    return std::tie(a->namespace_, a->id) < std::tie(b->namespace_, b->id);
  });
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const CsiVolume* volume : rows)
    values.push_back(csi_stub(simulation.state(), *volume)), tokens.push_back(volume->namespace_ + "." + volume->id);
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

void write_csi_volumes(Simulation& simulation, const Request& request, Reply& reply) {
  write_csi(simulation, request, false, reply);
}

void add_csi_routes(Router& router) {
  const TableSet volumes = tables_of(fsm::Table::allocs) | tables_of(StoreTable::csi_volumes);
  router.read("/v1/volume/csi/*", read_csi, {csi_volume_index, volumes});
  router.write("/v1/volume/csi/*", put_csi);
  router.remove("/v1/volume/csi/*", delete_csi);
  router.read("/v1/plugins", list_plugins, {plugins_index, tables_of(fsm::Table::nodes)});
  router.read("/v1/plugin/csi/*", read_plugin, {plugins_index, tables_of(fsm::Table::nodes)});
  router.add({"/v1/plugin/*", kAnyMethod, RouteKind::plain, refusal(404, "resource not found"), {}});
  router.read("/v1/volumes/external", list_external);
  router.read("/v1/volumes/snapshot", list_external);
  router.write("/v1/volumes/snapshot", make_snapshot);
  router.remove("/v1/volumes/snapshot", delete_snapshot);
}

}  // namespace berth::http
