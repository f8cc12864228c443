// Common parts of both kinds of volumes: lists by type, and claims of sticky volumes (R-STORE-213, 220 to 223).
#include "http/endpoints/volumes.h"

#include <algorithm>
#include <tuple>

#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "model/job.h"
#include "model/names.h"
#include "tables/export.h"

namespace berth::http {

namespace {

std::string type_of(const Request& request) {
  const std::string* type = request.find("type");
  return type ? *type : "";
}

std::uint64_t volumes_index(Simulation& simulation, const Request& request) {
  const std::string type = type_of(request);
  if (type == "host") return host_volumes_index(simulation);
  return type == "csi" ? csi_volumes_index(simulation) : kAnswerNow;
}

void list_volumes(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string type = type_of(request);
  if (type == "host") return list_host_volumes(simulation, request, reply);
  if (type == "csi") return list_csi_volumes(simulation, request, reply);
  reply.without_index();
  if (!type.empty()) return reply.fail(404, "resource not found");
  reply.json(json::Value::array());
}

void write_volumes(Simulation& simulation, const Request& request, Reply& reply) {
  if (type_of(request) == "csi") return write_csi_volumes(simulation, request, reply);
  reply.fail(405, "Invalid method");
}

// ---------------------------------------------------------------- claims

using ClaimRef = std::shared_ptr<const model::HostVolumeClaim>;

std::vector<ClaimRef> all_claims(const tables::Snapshot& state) {
  std::vector<ClaimRef> out;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key)
    for (const ClaimRef& claim : state.jobs.claims_of(key)) out.push_back(claim);
  return out;
}

std::uint64_t claims_index(Simulation& simulation, const Request&) {
  std::uint64_t index = std::max<std::uint64_t>(simulation.stores().table_index(StoreTable::volume_claims), 1);
  for (const ClaimRef& claim : all_claims(simulation.state())) index = std::max(index, claim->modify_index);
  return index;
}

json::Value claim_json(const model::HostVolumeClaim& claim) {
  json::Value out = json::Value::object();
  out.set("ID", claim.id), out.set("Namespace", claim.namespace_), out.set("JobID", claim.job_id);
  out.set("TaskGroupName", claim.task_group_name), out.set("AllocID", claim.alloc_id);
  out.set("VolumeID", claim.volume_id), out.set("VolumeName", claim.volume_name);
  out.set("CreateIndex", claim.create_index), out.set("ModifyIndex", claim.modify_index);
  return out;
}

bool sees_claims(const Request& request, const std::string& name_space) {
  return request.may(
      [&](const Rights& has) { return has.in_namespace(name_space, namespace_capability("host-volume-read")); });
}

void list_claims(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-220
  if (!request.all_namespaces() && !sees_claims(request, request.name_space))
    return reply.fail(403, "Permission denied");
  const auto matches = [&](const char* key, const std::string& value) {
    const std::string* given = request.find(key);
    return !given || given->empty() || *given == value;
  };
  std::vector<ClaimRef> rows;
  for (const ClaimRef& claim : all_claims(simulation.state()))
    if ((request.all_namespaces() ? sees_claims(request, claim->namespace_)
                                  : claim->namespace_ == request.name_space) &&
        matches("job_id", claim->job_id) && matches("task_group", claim->task_group_name) &&
        matches("volume_name", claim->volume_name) && claim->id.starts_with(request.prefix))
      rows.push_back(claim);
  std::sort(rows.begin(), rows.end(), [](const ClaimRef& a, const ClaimRef& b) {
    return std::tie(a->namespace_, a->job_id, a->task_group_name, a->volume_id) <
           std::tie(b->namespace_, b->job_id, b->task_group_name, b->volume_id);
  });
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const ClaimRef& claim : rows) {
    values.push_back(claim_json(*claim));
    tokens.push_back(claim->namespace_ + "." + claim->job_id + "." + claim->task_group_name + "." + claim->volume_id);
  }
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

void delete_claim(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-221
  const std::string& id = request.captures[0];
  if (id.empty()) return reply.fail(404, "resource not found");
  if (forbidden(request, request.name_space, {"host-volume-delete"}, reply)) return;
  const std::vector<ClaimRef> all = all_claims(simulation.state());
  if (std::none_of(all.begin(), all.end(),
                   [&](const ClaimRef& claim) { return claim->id == id && claim->namespace_ == request.name_space; }))
    return reply.fail(500, "task group volume claim does not exist");
  const std::uint64_t index = simulation.take_index();
  {
    tables::Commit commit = simulation.store().begin_commit(index);
    commit.remove_claim(id);
  }
  simulation.stores().touch(StoreTable::volume_claims, index);
  reply.index(index);
}

}  // namespace

json::Value capabilities_json(const std::vector<model::HostVolumeCapability>& capabilities) {
  json::Value out;
  for (const model::HostVolumeCapability& one : capabilities) {
    json::Value pair = json::Value::object();
    pair.set("AttachmentMode", one.attachment_mode), pair.set("AccessMode", one.access_mode);
    out.push(std::move(pair));
  }
  return out;
}

bool forbidden(const Request& request, const std::string& name_space,
               std::initializer_list<std::string_view> capabilities, Reply& reply) {
  Capabilities wanted = 0;
  for (const std::string_view name : capabilities) wanted |= namespace_capability(name);
  if (request.may([&](const Rights& has) { return has.in_namespace(name_space, wanted); })) return false;
  reply.fail(403, "Permission denied");
  return true;
}

void add_volume_routes(Router& router) {
  using fsm::Table;
  const TableSet volumes =
      tables_of(Table::nodes, Table::allocs) | tables_of(StoreTable::host_volumes) | tables_of(StoreTable::csi_volumes);
  router.read("/v1/volumes", list_volumes, {volumes_index, volumes});
  router.write("/v1/volumes", write_volumes);
  router.read("/v1/volumes/claims", list_claims,
              {claims_index, tables_of(Table::allocs, Table::jobs) | tables_of(StoreTable::volume_claims)});
  router.remove("/v1/volumes/claim/*", delete_claim);
  add_host_volume_routes(router);
  add_csi_routes(router);
  router.add({"/v1/volume/*", kAnyMethod, RouteKind::plain, refusal(404, "resource not found"), {}});
}

}  // namespace berth::http
