// Dynamic host volumes (R-STORE-200 to 219): created on a node that the volume's constraints allow, or registered for a
// node. A volume becomes ready when the node's client reports it with its next fingerprint.
#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "base/uuid.h"
#include "feasible/constraints.h"
#include "fsm/volume_users.h"
#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/objects.h"
#include "http/endpoints/volumes.h"
#include "model/codec/codec.h"
#include "model/registration/validate_job.h"
#include "tables/export.h"

namespace berth::http {

namespace {

using fsm::Table;
using model::HostVolume;

constexpr const char* kAttachmentModes[] = {"file-system", "block-device"};
constexpr const char* kAccessModes[] = {"single-node-reader-only", "single-node-writer", "single-node-single-writer",
                                        "single-node-multi-writer"};
constexpr const char* kVolumeFolder = "/opt/nomad/data/host_volumes/";  // of a client's data directory

const HostVolume* find_volume(const tables::Snapshot& state, std::string_view id) {
  for (const HostVolume& volume : state.cold->host_volumes)
    if (volume.id == id) return &volume;
  return nullptr;
}

json::Value host_volume_stub(const HostVolume& volume) {
  const json::Value whole = host_volume_json(volume);
  json::Value out = json::Value::object();
  for (const char* key : {"Namespace", "ID", "Name", "PluginID", "NodePool", "NodeID", "CapacityBytes", "State",
                          "CreateIndex", "CreateTime", "ModifyIndex", "ModifyTime"})
    out.set(key, whole[key]);
  return out;
}

tables::NodeRow node_of(Simulation& simulation, const std::string& id) {
  const tables::NodeRow row = simulation.store().find_node(id);
  return row != tables::kNoRow && simulation.state().nodes.exists(row) ? row : tables::kNoRow;
}

/// True if the node's client can be called (R-STORE-209, 215).
bool is_connected(const tables::Snapshot& state, tables::NodeRow node) {
  using tables::NodeStatus;
  return node != tables::kNoRow && state.nodes.status(node) != NodeStatus::down &&
         state.nodes.status(node) != NodeStatus::disconnected;
}

/// Gives the node's client its new volumes, which it reports with its next fingerprint. A static volume of its
/// configuration keeps its name, because a node carries a name once (R-STORE-202).
void tell_client(Simulation& simulation, const std::string& node_id) {
  const auto machine = simulation.cluster().machine(node_id);
  if (!machine) return;
  model::Node node = *machine;
  std::erase_if(node.host_volumes, [](const auto& one) { return one.second && !one.second->id.empty(); });
  for (const HostVolume& volume : simulation.state().cold->host_volumes) {
    if (volume.node_id != node_id) continue;
    model::HostVolumeInfo info;
    info.name = volume.name, info.id = volume.id, info.path = volume.extra["HostPath"].as_string();
    node.host_volumes.emplace(volume.name, std::move(info));
  }
  (void)simulation.apply(living::NodeRegister{std::move(node)});
}

// ---------------------------------------------------------------- writing

/// The volume of a body.
struct GivenVolume {
  HostVolume volume;
  std::vector<model::Constraint> constraints;
  std::int64_t capacity_min = 0, capacity_max = 0, capacity = 0;
  std::string host_path;
};

std::optional<GivenVolume> given_volume(const Request& request, Reply& reply) {
  const auto body = object_body(request, "HostVolumeCreateRequest", reply);
  if (!body) return std::nullopt;
  const auto given = Expected{*body, "HostVolumeCreateRequest", reply}.object("Volume");
  if (!given) return std::nullopt;
  if (given->is_null()) return reply.fail(500, "missing volume definition"), std::nullopt;
  const Expected expected{*given, "HostVolume", reply};
  GivenVolume out;
  HostVolume& volume = out.volume;
  for (const auto& [key, to] :
       {std::pair("Namespace", &volume.namespace_), std::pair("ID", &volume.id), std::pair("Name", &volume.name),
        std::pair("PluginID", &volume.plugin_id), std::pair("NodePool", &volume.node_pool),
        std::pair("NodeID", &volume.node_id), std::pair("HostPath", &out.host_path)}) {
    const auto text = expected.text(key);
    if (!text) return std::nullopt;
    *to = *text;
  }
  for (const auto& [key, to] :
       {std::pair("RequestedCapacityMinBytes", &out.capacity_min),
        std::pair("RequestedCapacityMaxBytes", &out.capacity_max), std::pair("CapacityBytes", &out.capacity)}) {
    const auto number = expected.integer(key);
    if (!number) return std::nullopt;
    *to = *number;
  }
  const auto parameters = expected.object("Parameters");
  if (!parameters) return std::nullopt;
  if (parameters->size() != 0) volume.extra.set("Parameters", *parameters);
  for (const json::Value& item : body_member(*given, "RequestedCapabilities").items()) {
    const Expected member{item, "HostVolumeCapability", reply};
    const auto attachment = member.text("AttachmentMode"), access = member.text("AccessMode");
    if (!attachment || !access) return std::nullopt;
    volume.requested_capabilities.push_back({*attachment, *access});
  }
  for (const json::Value& item : body_member(*given, "Constraints").items()) {
    const Expected member{item, "Constraint", reply};
    const auto left = member.text("LTarget"), right = member.text("RTarget"), operand = member.text("Operand");
    if (!left || !right || !operand) return std::nullopt;
    model::Constraint& constraint = out.constraints.emplace_back();
    constraint.ltarget = *left, constraint.rtarget = *right, constraint.operand = *operand;
  }
  if (volume.namespace_.empty()) volume.namespace_ = request.name_space;
  return out;
}

/// A single error is printed without list (R-STORE-207).
std::string flat(const model::ErrorList& errors) {
  return errors.items().size() == 1 ? errors.items().front() : errors.text();
}

model::ErrorList volume_errors(const GivenVolume& given) {
  model::ErrorList errors;
  const HostVolume& volume = given.volume;
  if (!volume.id.empty() && !base::parse_uuid(volume.id)) errors.add("invalid ID \"" + volume.id + "\"");
  if (volume.name.empty()) errors.add("missing name");
  if (given.capacity_max < given.capacity_min)
    errors.add("capacity_max (" + std::to_string(given.capacity_max) + ") must be larger than capacity_min (" +
               std::to_string(given.capacity_min) + ")");
  const auto is_one_of = [](const auto& all, const std::string& mode) {
    return std::find(std::begin(all), std::end(all), mode) != std::end(all);
  };
  for (const model::HostVolumeCapability& capability : volume.requested_capabilities)
    if (!is_one_of(kAttachmentModes, capability.attachment_mode))
      errors.add("invalid attachment mode: \"" + capability.attachment_mode + "\"");
    else if (!is_one_of(kAccessModes, capability.access_mode))
      errors.add("invalid access mode: \"" + capability.access_mode + "\"");
  for (const model::Constraint& constraint : given.constraints)
    if (const model::ErrorList wrong = model::validate_constraint(constraint); !wrong.empty())
      errors.add("invalid constraint: " + wrong.text());
    else if (constraint.operand == "distinct_hosts" || constraint.operand == "distinct_property")
      errors.add("invalid constraint " + constraint.operand +
                 ": host volumes of the same name are always on distinct hosts");
  return errors;
}

/// Errors of an update that changes immutable fields (R-STORE-208).
model::ErrorList update_errors(Simulation& simulation, const GivenVolume& given, const HostVolume& before) {
  model::ErrorList errors;
  const tables::Snapshot& state = simulation.state();
  const auto users = fsm::volume_users(state, node_of(simulation, before.node_id), before);
  if (!users.empty())
    errors.add("cannot update a volume in use: claimed by allocs (" + fsm::ids_text(state, users, ", ") + ")");
  if (!given.volume.node_id.empty() && given.volume.node_id != before.node_id) errors.add("node ID cannot be updated");
  if (!given.volume.node_pool.empty() && given.volume.node_pool != before.node_pool)
    errors.add("node pool cannot be updated");
  const std::int64_t provisioned = before.extra["CapacityBytes"].as_int();
  if (given.capacity_max > 0 && given.capacity_max < provisioned)
    errors.add("capacity_max (" + std::to_string(given.capacity_max) +
               ") cannot be less than existing provisioned capacity (" + std::to_string(provisioned) + ")");
  return errors;
}

/// Why the cluster's state does not allow the volume; "" if it does.
std::string state_problem(Simulation& simulation, const HostVolume& volume) {
  const tables::NodeRow node = volume.node_id.empty() ? tables::kNoRow : node_of(simulation, volume.node_id);
  if (!volume.node_id.empty() && node == tables::kNoRow) return "node \"" + volume.node_id + "\" does not exist";
  if (volume.node_pool.empty()) return "";
  const std::vector<std::string> pools = pool_names(simulation.state());
  if (std::find(pools.begin(), pools.end(), volume.node_pool) == pools.end())
    return "node pool \"" + volume.node_pool + "\" does not exist";
  if (node != tables::kNoRow && tables::to_node(simulation.state(), node).node_pool != volume.node_pool)
    return "node ID \"" + volume.node_id + "\" is not in pool \"" + volume.node_pool + "\"";
  return "";
}

/// Checks whether a volume with this plugin and these constraints can be on a node (R-STORE-209).
class Places {
 public:
  explicit Places(const GivenVolume& given)
      : attribute_("plugins.host_volume." + given.volume.plugin_id + ".version"),
        constraints_(feasible::compile(given.constraints, patterns_)) {}
  bool fits(const model::Node& node) {
    const auto found = node.attributes.find(attribute_);
    return found != node.attributes.end() && !found->second.empty() &&
           !feasible::first_failing(constraints_, node, patterns_);
  }

 private:
  const std::string attribute_;
  match::Patterns patterns_;
  const feasible::ConstraintList constraints_;
};

/// Finds a node for a new volume. Returns "" or why there is none. Cost: O(nodes x constraints).
std::string place(Simulation& simulation, GivenVolume& given) {
  const tables::Snapshot& state = simulation.state();
  HostVolume& volume = given.volume;
  Places places(given);
  if (!volume.node_id.empty()) {
    const model::Node node = tables::to_node(state, node_of(simulation, volume.node_id));
    if (!places.fits(node)) return "node " + volume.node_id + " is not feasible for volume";
    volume.node_pool = node.node_pool;
    return "";
  }
  std::set<std::string_view> taken;
  for (const HostVolume& other : state.cold->host_volumes)
    if (other.name == volume.name) taken.insert(other.node_id);
  std::vector<std::pair<base::Uuid, tables::NodeRow>> nodes;
  for (tables::NodeRow row = 0; row < state.nodes.size(); ++row)
    if (state.nodes.exists(row)) nodes.emplace_back(state.nodes.id(row), row);
  std::sort(nodes.begin(), nodes.end());
  std::size_t existing = 0, infeasible = 0;
  for (const auto& [id, row] : nodes) {
    const model::Node node = tables::to_node(state, row);
    if (!volume.node_pool.empty() && volume.node_pool != "all" && node.node_pool != volume.node_pool) continue;
    if (taken.contains(node.id)) {
      ++existing;
    } else if (!places.fits(node)) {
      ++infeasible;
    } else {
      volume.node_id = node.id, volume.node_pool = node.node_pool;
      return "";
    }
  }
  return "no node meets constraints: " + std::to_string(existing) + " nodes had existing volume, 0 nodes filtered by " +
         "node pool governance, " + std::to_string(infeasible) + " nodes were infeasible";
}

/// An ID for a new volume. From the cluster's seed, so that equal runs create equal volumes.
std::string new_volume_id(Simulation& simulation) {
  for (;;)
    if (std::string id = base::to_text(simulation.server().draw_id()); !find_volume(simulation.state(), id)) return id;
}

/// Completes a new or replaced volume with values that neither body nor plugin provide (R-STORE-204, 205).
void fill(GivenVolume& given, const HostVolume* before, bool creates, std::int64_t now) {
  HostVolume& volume = given.volume;
  json::Value& extra = volume.extra.own();
  std::int64_t create_time = now;
  json::Value constraints;
  for (const model::Constraint& constraint : given.constraints) constraints.push(model::to_json(constraint));
  if (before) {
    create_time = before->extra["CreateTime"].as_int();
    constraints = before->extra["Constraints"];
    volume.node_id = before->node_id;
    if (volume.plugin_id.empty()) volume.plugin_id = before->plugin_id;
    if (volume.node_pool.empty()) volume.node_pool = before->node_pool;
    if (creates) {
      given.capacity = before->extra["CapacityBytes"].as_int();
      given.host_path = before->extra["HostPath"].as_string();
    }
  } else {
    if (volume.requested_capabilities.empty())
      volume.requested_capabilities.push_back({"file-system", "single-node-writer"});
    if (creates) given.capacity = 0, given.host_path = kVolumeFolder + volume.id;
  }
  volume.state = "pending";
  if (constraints.size() != 0) extra.set("Constraints", std::move(constraints));
  extra.set("RequestedCapacityMinBytes", given.capacity_min), extra.set("CapacityBytes", given.capacity);
  extra.set("RequestedCapacityMaxBytes", given.capacity_max), extra.set("HostPath", given.host_path);
  extra.set("CreateTime", create_time), extra.set("ModifyTime", now);
}

void store_volume(Simulation& simulation, const HostVolume& volume, std::uint64_t index) {
  {
    tables::Commit commit = simulation.store().begin_commit(index);
    commit.upsert_host_volume(volume);
  }
  json::Value payload = json::Value::object();
  payload.set("Volume", host_volume_json(volume));
  acl_written(
      simulation, StoreTable::host_volumes, index, "HostVolumeRegistered",
      {"HostVolume", volume.id, volume.namespace_, {volume.id, volume.name, volume.plugin_id}, std::move(payload)});
  tell_client(simulation, volume.node_id);
}

template <bool kCreates>
void write_volume(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-203 to 206
  auto given = given_volume(request, reply);
  if (!given) return;
  HostVolume& volume = given->volume;
  if (forbidden(request, volume.namespace_,
                {kCreates ? std::string_view("host-volume-create") : std::string_view("host-volume-register")}, reply))
    return;
  if (!kCreates && volume.node_id.empty()) return reply.fail(500, "cannot register volume: node ID is required");
  if (!kCreates && given->host_path.empty()) return reply.fail(500, "cannot register volume: host path is required");
  if (const model::ErrorList errors = volume_errors(*given); !errors.empty())
    return reply.fail(500, "volume validation failed: " + flat(errors));
  const std::vector<std::string> namespaces = namespace_names(simulation.state());
  if (std::find(namespaces.begin(), namespaces.end(), volume.namespace_) == namespaces.end())
    return reply.fail(500, "volume validation failed: no such namespace \"" + volume.namespace_ + "\"");
  std::optional<HostVolume> before;
  if (!volume.id.empty()) {
    const HostVolume* stored = find_volume(simulation.state(), volume.id);
    if (!stored || stored->namespace_ != volume.namespace_)
      return reply.fail(500, "cannot update volume \"" + volume.id + "\": volume does not exist");
    before = *stored;
    if (const model::ErrorList errors = update_errors(simulation, *given, *before); !errors.empty())
      return reply.fail(500, "validating volume \"" + volume.id + "\" update failed: " + errors.text());
  }
  if (kCreates && volume.plugin_id.empty()) volume.plugin_id = before ? before->plugin_id : "default";
  if (const std::string why = state_problem(simulation, volume); !why.empty())
    return reply.fail(
        500, "validating volume \"" + (kCreates ? volume.name : volume.id) + "\" against state failed: " + why);
  if (kCreates && !before)
    if (const std::string why = place(simulation, *given); !why.empty())
      return reply.fail(500, "could not place volume \"" + volume.name + "\": " + why);
  if (kCreates && !is_connected(simulation.state(), node_of(simulation, (before ? *before : volume).node_id)))
    return reply.fail(500, "No path to node");
  if (refuse_full(simulation, 1024 + 4 * request.body.size(), reply)) return;
  if (!before) volume.id = new_volume_id(simulation);
  fill(*given, before ? &*before : nullptr, kCreates, simulation.now());
  const std::uint64_t index = simulation.take_index();
  json::Value out = json::Value::object(), shown = host_volume_json(volume);
  shown.set("CreateIndex", 0), shown.set("ModifyIndex", 0);
  out.set("Volume", std::move(shown)), out.set("Warnings", ""), out.set("Index", index);
  const tables::NodeRow row = node_of(simulation, volume.node_id);
  const model::Node node = tables::to_node(simulation.state(), row);
  if (volume.node_pool.empty()) volume.node_pool = node.node_pool;
  volume.create_index = before ? before->create_index : index, volume.modify_index = index;
  const auto reported = node.host_volumes.find(volume.name);  // already at the write (R-STORE-211)
  const bool is_ready = simulation.state().nodes.status(row) == tables::NodeStatus::ready;
  if (reported != node.host_volumes.end() && is_ready) volume.state = "ready";
  store_volume(simulation, volume, index);
  reply.index(index);
  reply.json(out);
}

void delete_volume(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-215
  std::string id = request.captures[0];
  if (id.ends_with("/delete")) id.resize(id.size() - 7);
  if (id.empty()) return reply.fail(404, "resource not found");
  bool force = false;
  if (const std::string* given = request.find("force"); given && !given->empty()) {
    const auto value = base::parse_bool(*given);
    if (!value) return reply.fail(400, "invalid force value");
    force = *value;
  }
  if (forbidden(request, request.name_space, {"host-volume-delete"}, reply)) return;
  const HostVolume* stored = find_volume(simulation.state(), id);
  if (!stored || stored->namespace_ != request.name_space) return reply.fail(500, "no such volume: " + id);
  const HostVolume volume = *stored;
  const tables::NodeRow node = node_of(simulation, volume.node_id);
  if (const std::string why = fsm::volume_in_use(simulation.state(), node, volume); !why.empty())
    return reply.fail(500, why);
  if (!is_connected(simulation.state(), node) && !force)
    return reply.fail(500, "volume cannot be removed from unknown node without force=true");
  const std::uint64_t index = simulation.take_index();
  {
    tables::Commit commit = simulation.store().begin_commit(index);
    commit.remove_host_volume(id);
  }
  json::Value out = json::Value::object(), payload = json::Value::object();
  payload.set("Volume", host_volume_json(volume));
  acl_written(simulation, StoreTable::host_volumes, index, "HostVolumeDeleted",
              {"HostVolume", "", volume.namespace_, {volume.id, volume.name, volume.plugin_id}, std::move(payload)});
  tell_client(simulation, volume.node_id);
  out.set("Index", index);
  reply.index(index);
  reply.json(out);
}

// ---------------------------------------------------------------- reading

std::uint64_t host_volume_index(Simulation& simulation, const Request& request) {
  const HostVolume* volume = find_volume(simulation.state(), request.captures[0]);
  return volume ? volume->modify_index : host_volumes_index(simulation);
}

void read_volume(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-214
  const std::string& id = request.captures[0];
  if (id.empty()) return reply.without_index(), reply.fail(404, "resource not found");
  if (forbidden(request, request.name_space, {"host-volume-read"}, reply)) return;
  const HostVolume* volume = find_volume(simulation.state(), id);
  if (!volume || volume->namespace_ != request.name_space) return reply.fail(404, "volume not found");
  json::Value out = host_volume_json(*volume), users = json::Value::array();
  const tables::Snapshot& state = simulation.state();
  for (const tables::AllocRow row : fsm::volume_users(state, node_of(simulation, volume->node_id), *volume))
    users.push(alloc_stub(state, row));
  if (users.size() != 0) out.set("Allocations", std::move(users));
  reply.json(out);
}

}  // namespace

json::Value host_volume_json(const HostVolume& volume) {
  const json::Value& extra = volume.extra;
  json::Value out = json::Value::object();
  out.set("Namespace", volume.namespace_), out.set("ID", volume.id), out.set("Name", volume.name);
  out.set("PluginID", volume.plugin_id), out.set("NodePool", volume.node_pool), out.set("NodeID", volume.node_id);
  if (extra["Constraints"].size() != 0) out.set("Constraints", extra["Constraints"]);
  for (const char* key : {"RequestedCapacityMinBytes", "RequestedCapacityMaxBytes", "CapacityBytes"})
    out.set(key, extra[key].as_int());
  out.set("RequestedCapabilities", capabilities_json(volume.requested_capabilities));
  if (extra["Parameters"].size() != 0) out.set("Parameters", extra["Parameters"]);
  out.set("HostPath", extra["HostPath"].as_string()), out.set("State", volume.state);
  out.set("CreateIndex", volume.create_index), out.set("CreateTime", extra["CreateTime"].as_int());
  out.set("ModifyIndex", volume.modify_index), out.set("ModifyTime", extra["ModifyTime"].as_int());
  return out;
}

std::uint64_t host_volumes_index(Simulation& simulation) {
  std::uint64_t index = std::max<std::uint64_t>(simulation.stores().table_index(StoreTable::host_volumes), 1);
  for (const HostVolume& volume : simulation.state().cold->host_volumes) index = std::max(index, volume.modify_index);
  return index;
}

void list_host_volumes(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-213
  const auto matches = [&](const char* key, const std::string& value) {
    const std::string* given = request.find(key);
    return !given || given->empty() || *given == value;
  };
  const Capabilities reads = namespace_capability("host-volume-read");
  std::vector<const HostVolume*> rows;
  for (const HostVolume& volume : simulation.state().cold->host_volumes)
    if ((request.all_namespaces() || volume.namespace_ == request.name_space) &&
        request.may([&](const Rights& has) { return has.in_namespace(volume.namespace_, reads); }) &&
        (volume.name.starts_with(request.prefix) || volume.id.starts_with(request.prefix)) &&
        matches("node_id", volume.node_id) && matches("node_pool", volume.node_pool))
      rows.push_back(&volume);
  std::sort(rows.begin(), rows.end(), [](const HostVolume* a, const HostVolume* b) {
    return std::tie(a->namespace_, a->id) < std::tie(b->namespace_, b->id);
  });
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const HostVolume* volume : rows)
    values.push_back(host_volume_stub(*volume)), tokens.push_back(volume->namespace_ + "." + volume->id);
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

void add_host_volume_routes(Router& router) {
  router.write("/v1/volume/host/create", write_volume<true>);
  router.write("/v1/volume/host/register", write_volume<false>);
  router.read("/v1/volume/host/*", read_volume,
              {host_volume_index, tables_of(Table::nodes) | tables_of(StoreTable::host_volumes)});
  router.remove("/v1/volume/host/*", delete_volume);
  router.add({"/v1/volume/host/*", kPut | kPost, RouteKind::plain, refusal(404, "resource not found"), {}});
}

}  // namespace berth::http
