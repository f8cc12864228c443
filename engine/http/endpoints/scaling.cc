// Scaling policies (R-API-466): the rows of the policy table, including those of stopped jobs.
#include <algorithm>

#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"
#include "model/job.h"

namespace berth::http {

namespace {

using fsm::Table;

struct Policy {
  const model::Job* job = nullptr;
  const fsm::ScalingPolicy* row = nullptr;
};

/// All policies, sorted by ID.
std::vector<Policy> policies_of(Simulation& simulation) {
  std::vector<Policy> out;
  for (tables::JobKeyRow key = 0; key < simulation.state().jobs.keys.size(); ++key) {
    const fsm::JobRecord* record = simulation.log().record(key);
    if (!record || !record->current) continue;
    for (const fsm::ScalingPolicy& row : record->policies) out.push_back({record->current.get(), &row});
  }
  std::sort(out.begin(), out.end(), [](const Policy& a, const Policy& b) { return a.row->id < b.row->id; });
  return out;
}

json::Value policy_stub(const Policy& policy) {
  json::Value out = json::Value::object(), target = json::Value::object();
  target.set("Namespace", policy.job->namespace_), target.set("Job", policy.job->id);
  target.set("Group", policy.row->group);
  if (!policy.row->task.empty()) target.set("Task", policy.row->task);
  out.set("ID", policy.row->id), out.set("Enabled", policy.row->enabled), out.set("Type", policy.row->type);
  out.set("Target", std::move(target)), out.set("CreateIndex", policy.row->create_index);
  out.set("ModifyIndex", policy.row->modify_index);
  return out;
}

std::uint64_t policies_index(Simulation& simulation, const Request&) {
  std::uint64_t index = 1;
  for (const Policy& policy : policies_of(simulation)) index = std::max(index, policy.row->modify_index);
  return index;
}

void list_policies(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string *job = request.find("job"), *type = request.find("type");
  json::Value out = json::Value::array();
  for (const Policy& policy : policies_of(simulation)) {
    if (!request.shows(policy.job->namespace_)) continue;
    if (job && !job->empty() && policy.job->id != *job) continue;
    if (type && !type->empty() && *type != policy.row->type) continue;
    if (policy.row->id.starts_with(request.prefix)) out.push(policy_stub(policy));
  }
  reply.json(out);
}

void read_policy(Simulation& simulation, const Request& request, Reply& reply) {
  for (const Policy& policy : policies_of(simulation)) {
    if (policy.row->id != request.captures[0]) continue;
    json::Value out = policy_stub(policy);
    out.set("Min", policy.row->min), out.set("Max", policy.row->max), out.set("Policy", policy.row->policy);
    return reply.json(out);
  }
  reply.fail(404, "policy not found");
}

std::uint64_t policy_index(Simulation& simulation, const Request& request) {
  for (const Policy& policy : policies_of(simulation))
    if (policy.row->id == request.captures[0]) return policy.row->modify_index;
  return policies_index(simulation, request);
}

}  // namespace

std::vector<std::string> scaling_policy_ids(const tables::Snapshot& state) {
  std::vector<std::string> out;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key)
    if (const auto& job = state.jobs.objects[key])
      for (const fsm::ScalingPolicy& policy : fsm::scaling_policies_of(*job))
        if (!policy.id.empty()) out.push_back(policy.id);
  std::sort(out.begin(), out.end());
  return out;
}

void add_scaling_routes(Router& router) {
  router.read("/v1/scaling/policies", list_policies, {policies_index, tables_of(Table::jobs)});
  router.read("/v1/scaling/policy/*", read_policy, {policy_index, tables_of(Table::jobs)});
}

}  // namespace berth::http
