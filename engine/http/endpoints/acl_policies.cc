// Policies and roles (R-STORE-85 to 91, 106 to 110).
#include <algorithm>

#include "base/uuid.h"
#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/objects.h"
#include "http/stores/fresh.h"

namespace berth::http {

namespace {

/// Names of the sender's policies; nullopt: all policies.
std::optional<std::set<std::string>> own_policies(Simulation& simulation, const Request& request) {
  if (request.asker.is_management()) return std::nullopt;
  if (!request.asker.token) return std::set<std::string>{};
  return simulation.stores().access().policy_names(*request.asker.token);
}

// ---------------------------------------------------------------- policies

StoreEvent policy_event(const AclPolicy& policy) {
  json::Value payload = json::Value::object();
  payload.set("ACLPolicy", policy_json(policy));
  return {"ACLPolicy", policy.name, "", {}, std::move(payload)};
}

/// Errors of a policy. Also parses its rules (R-STORE-86).
model::ErrorList policy_errors(AclPolicy& policy) {
  model::ErrorList errors;
  if (!is_acl_name(policy.name)) errors.add("invalid name '" + policy.name + "'");
  if (auto rules = AclRules::parse(policy.rules))
    policy.parsed = std::move(*rules);
  else
    errors.add("failed to parse rules: " + rules.error());
  if (policy.description.size() > kDescriptionMost) errors.add("description longer than 256");
  const auto has = [&](const char* key) { return !policy.job_acl[key].as_string().empty(); };
  if (has("JobID") && !has("Namespace")) errors.add("namespace must be set to set job ID");
  if (has("Group") && !has("JobID")) errors.add("job ID must be set to set group");
  if (has("Task") && !has("Group")) errors.add("group must be set to set task");
  return errors;
}

void write_policy(Simulation& simulation, const Request& request, Reply& reply) {
  if (request.captures[0].empty()) return reply.fail(400, "Missing Policy Name");
  const auto body = object_body(request, "ACLPolicy", reply);
  if (!body) return;
  const Expected expected{*body, "ACLPolicy", reply};
  const auto name = expected.text("Name"), description = expected.text("Description"), rules = expected.text("Rules");
  const auto job = expected.object("JobACL");
  if (!name || !description || !rules || !job) return;
  if (*name != request.captures[0]) return reply.fail(400, "ACL policy name does not match request path");
  AclPolicy policy;
  policy.name = *name, policy.description = *description, policy.rules = *rules;
  if (!job->is_null())
    for (const char* key : {"Namespace", "JobID", "Group", "Task"}) {
      const auto text = Expected{*job, "JobACL", reply}.text(key);
      if (!text) return;
      policy.job_acl.set(key, *text);
    }
  if (refuse_invalid("policy 0 invalid: ", policy_errors(policy), reply)) return;
  if (refuse_full(simulation, 1024 + 10 * request.body.size(), reply)) return;
  Access& access = simulation.stores().access();
  const auto before = access.policies().find(policy.name);
  policy.modify_index = simulation.take_index();
  policy.create_index = before == access.policies().end() ? policy.modify_index : before->second->create_index;
  set_hash(policy);
  StoreEvent event = policy_event(policy);
  const std::uint64_t index = policy.modify_index;
  access.put(std::move(policy));
  acl_written(simulation, StoreTable::acl_policies, index, "ACLPolicyUpserted", std::move(event));
  reply.index(index);
}

void delete_policy(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-90
  const std::string& name = request.captures[0];
  if (name.empty()) return reply.fail(400, "Missing Policy Name");
  Access& access = simulation.stores().access();
  const std::uint64_t index = simulation.take_index();
  reply.index(index);
  const auto found = access.policies().find(name);
  if (found == access.policies().end()) return;
  StoreEvent event = policy_event(*found->second);
  access.remove_policy(name);
  acl_written(simulation, StoreTable::acl_policies, index, "ACLPolicyDeleted", std::move(event));
}

std::uint64_t acl_policy_index(Simulation& simulation, const Request& request) {
  const auto& policies = simulation.stores().access().policies();
  const auto found = policies.find(request.captures[0]);
  return found == policies.end() ? store_index<StoreTable::acl_policies>(simulation, request)
                                 : found->second->modify_index;
}

void read_acl_policy(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-87
  const std::string& name = request.captures[0];
  if (name.empty()) return reply.fail(400, "Missing Policy Name");
  const auto own = own_policies(simulation, request);
  if (own && name != "anonymous" && !own->contains(name)) return reply.fail(403, "Permission denied");
  const auto& policies = simulation.stores().access().policies();
  const auto found = policies.find(name);
  if (found == policies.end()) return reply.fail(404, "ACL policy not found");
  reply.json(policy_json(*found->second));
}

void list_acl_policies(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-88
  const auto own = own_policies(simulation, request);
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const auto& [name, policy] : simulation.stores().access().policies())
    if (name.starts_with(request.prefix) && (!own || own->contains(name)))
      values.push_back(policy_stub(*policy)), tokens.push_back(name);
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

void list_own_policies(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-89
  if (request.asker.kind == Asker::Kind::anonymous) return reply.fail(403, "Permission denied");
  const auto own = own_policies(simulation, request);
  json::Value out;
  for (const auto& [name, policy] : simulation.stores().access().policies())
    if (!own || own->contains(name)) out.push(policy_stub(*policy));
  reply.json(out);
}

// ---------------------------------------------------------------- roles

StoreEvent role_event(const AclRole& role) {
  json::Value payload = json::Value::object();
  payload.set("ACLRole", role_json(role));
  return {"ACLRole", role.id, "", {role.name}, std::move(payload)};
}

std::optional<AclRole> given_role(const Request& request, Reply& reply) {
  const auto body = object_body(request, "ACLRole", reply);
  if (!body) return std::nullopt;
  const Expected expected{*body, "ACLRole", reply};
  const auto id = expected.text("ID"), name = expected.text("Name"), description = expected.text("Description");
  if (!id || !name || !description) return std::nullopt;
  AclRole role;
  role.id = *id, role.name = *name, role.description = *description;
  std::set<std::string> seen;
  for (const json::Value& link : body_member(*body, "Policies").items())
    if (const std::string& policy = body_member(link, "Name").as_string(); seen.insert(policy).second)
      role.policies.push_back(policy);
  return role;
}

void write_role(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-106, 107
  if (!request.captures.empty() && request.captures[0].empty()) return reply.fail(400, "missing ACL role ID");
  auto role = given_role(request, reply);
  if (!role) return;
  if (!request.captures.empty() && request.captures[0] != role->id)
    return reply.fail(400, "ACL role ID does not match request path");
  model::ErrorList errors;
  if (!is_acl_name(role->name)) errors.add("invalid name '" + role->name + "'");
  if (role->description.size() > kDescriptionMost) errors.add("description longer than 256");
  if (role->policies.empty()) errors.add("at least one policy should be specified");
  if (refuse_invalid("role 0 invalid: ", errors, reply)) return;
  Access& access = simulation.stores().access();
  for (const std::string& policy : role->policies)
    if (!access.policies().contains(policy)) return reply.fail(400, "cannot find policy " + policy);
  const auto before = access.roles().find(role->id);
  if (!role->id.empty() && before == access.roles().end()) return reply.fail(400, "cannot find role " + role->id);
  if (const auto named = access.role_named(role->name); named && named->id != role->id)
    return reply.fail(400, "role with name " + role->name + " already exists");
  if (refuse_full(simulation, 1024 + 2 * request.body.size(), reply)) return;
  role->modify_index = simulation.take_index();
  role->create_index = role->id.empty() ? role->modify_index : before->second->create_index;
  if (role->id.empty()) role->id = fresh_uuid();
  set_hash(*role);
  access.put(*role);
  acl_written(simulation, StoreTable::acl_roles, role->modify_index, "ACLRoleUpserted", role_event(*role));
  reply.index(role->modify_index);
  reply.json(role_json(*role));
}

void delete_role(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-109
  const std::string& id = request.captures[0];
  if (id.empty()) return reply.fail(400, "missing ACL role ID");
  Access& access = simulation.stores().access();
  const auto found = access.roles().find(id);
  if (found == access.roles().end()) return reply.fail(500, "ACL role not found");
  const std::uint64_t index = simulation.take_index();
  StoreEvent event = role_event(*found->second);
  access.remove_role(std::string(id));
  acl_written(simulation, StoreTable::acl_roles, index, "ACLRoleDeleted", std::move(event));
  reply.index(index);
}

/// The role in the path, by ID or by name. Null if it does not exist or is hidden from the sender: the reply contains
/// the error.
Shared<AclRole> asked_role(Simulation& simulation, const Request& request, bool by_name, Reply& reply) {
  const std::string& key = request.captures[0];
  if (key.empty()) return reply.fail(400, by_name ? "missing ACL role name" : "missing ACL role ID"), nullptr;
  if (!by_name && key.find('/') != std::string::npos) return reply.fail(400, "invalid URI"), nullptr;
  const Access& access = simulation.stores().access();
  Shared<AclRole> role;
  if (by_name)
    role = access.role_named(key);
  else if (const auto found = access.roles().find(key); found != access.roles().end())
    role = found->second;
  if (!request.asker.is_management() &&
      !(role && request.asker.token && access.has_role(*request.asker.token, role->id)))
    return reply.fail(403, "Permission denied"), nullptr;
  if (!role) return reply.fail(404, "ACL role not found"), nullptr;
  return role;
}

template <bool kByName>
std::uint64_t role_index(Simulation& simulation, const Request& request) {
  const Access& access = simulation.stores().access();
  Shared<AclRole> role;
  if (kByName)
    role = access.role_named(request.captures[0]);
  else if (const auto found = access.roles().find(request.captures[0]); found != access.roles().end())
    role = found->second;
  return role ? role->modify_index : store_index<StoreTable::acl_roles>(simulation, request);
}

template <bool kByName>
void read_role(Simulation& simulation, const Request& request, Reply& reply) {
  if (const auto role = asked_role(simulation, request, kByName, reply)) reply.json(role_json(*role));
}

void list_roles(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-108
  const Access& access = simulation.stores().access();
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const auto& [id, role] : access.roles()) {
    if (!id.starts_with(request.prefix)) continue;
    if (!request.asker.is_management() && !(request.asker.token && access.has_role(*request.asker.token, id))) continue;
    values.push_back(role_json(*role)), tokens.push_back(id);
  }
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

}  // namespace

void add_acl_policy_routes(Router& router) {
  const Blocking policies = blocks_on_store<StoreTable::acl_policies>(),
                 roles = blocks_on_store<StoreTable::acl_roles>();
  router.read("/v1/acl/policies", with_acl(list_acl_policies), policies);
  router.read("/v1/acl/policy/self", with_acl(list_own_policies), policies);
  router.read("/v1/acl/policy/*", with_acl(read_acl_policy), {acl_policy_index, policies.tables});
  router.write("/v1/acl/policy/*", with_acl(write_policy));
  router.remove("/v1/acl/policy/*", with_acl(delete_policy));
  router.read("/v1/acl/roles", with_acl(list_roles), roles);
  router.write("/v1/acl/role", with_acl(write_role));
  router.read("/v1/acl/role/*", with_acl(read_role<false>), {role_index<false>, roles.tables});
  router.read("/v1/acl/role/name/*", with_acl(read_role<true>), {role_index<true>, roles.tables});
  router.write("/v1/acl/role/*", with_acl(write_role));
  router.remove("/v1/acl/role/*", with_acl(delete_role));
}

}  // namespace berth::http
