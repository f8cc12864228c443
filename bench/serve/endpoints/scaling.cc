// Scaling policies (R-API-466): one for each group of a job that has a scaling block.
#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "serve/endpoints/endpoints.h"
#include "serve/endpoints/entities.h"
#include "serve/endpoints/lists.h"
#include "serve/endpoints/objects.h"

namespace berth::serve {

namespace {

using fsm::Table;

struct Policy {
  std::string id;
  std::shared_ptr<const model::Job> job;
  const model::TaskGroup* group = nullptr;
};

/// The same for every version of the job: what the block says of itself, else made of the names.
std::string policy_id(const model::Job& job, const model::TaskGroup& group) {
  if (const std::string& own = group.scaling->extra["ID"].as_string(); !own.empty()) return own;
  base::Sha256 names;
  names.add(job.namespace_ + '\n' + job.id + '\n' + group.name);
  const std::string digest = names.hex();
  return digest.substr(0, 8) + "-" + digest.substr(8, 4) + "-" + digest.substr(12, 4) + "-" + digest.substr(16, 4) +
         "-" + digest.substr(20, 12);
}

/// In order of their IDs.
std::vector<Policy> policies_of(const tables::Snapshot& state) {
  std::vector<Policy> out;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key) {
    const auto& job = state.jobs.objects[key];
    if (!job || job->stop) continue;
    for (const model::TaskGroup& group : job->task_groups)
      if (group.scaling) out.push_back({policy_id(*job, group), job, &group});
  }
  std::sort(out.begin(), out.end(), [](const Policy& a, const Policy& b) { return a.id < b.id; });
  return out;
}

json::Value policy_stub(const Policy& policy) {
  json::Value out = json::Value::object(), target = json::Value::object();
  target.set("Namespace", policy.job->namespace_), target.set("Job", policy.job->id);
  target.set("Group", policy.group->name);
  out.set("ID", policy.id), out.set("Enabled", policy.group->scaling->enabled), out.set("Type", "horizontal");
  out.set("Target", std::move(target)), out.set("CreateIndex", policy.job->create_index);
  out.set("ModifyIndex", policy.job->job_modify_index);
  return out;
}

std::uint64_t policies_index(Simulation& simulation, const Request&) {
  std::uint64_t index = 1;
  for (const Policy& policy : policies_of(simulation.state())) index = std::max(index, policy.job->job_modify_index);
  return index;
}

void list_policies(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string *job = request.find("job"), *type = request.find("type");
  json::Value out = json::Value::array();
  for (const Policy& policy : policies_of(simulation.state())) {
    if (!request.all_namespaces() && policy.job->namespace_ != request.name_space) continue;
    if (job && !job->empty() && policy.job->id != *job) continue;
    if (type && !type->empty() && *type != "horizontal") continue;
    if (policy.id.starts_with(request.prefix)) out.push(policy_stub(policy));
  }
  reply.json(out);
}

void read_policy(Simulation& simulation, const Request& request, Reply& reply) {
  for (const Policy& policy : policies_of(simulation.state())) {
    if (policy.id != request.captures[0]) continue;
    json::Value out = policy_stub(policy);
    const model::Scaling& scaling = *policy.group->scaling;
    out.set("Min", scaling.min), out.set("Max", scaling.max), out.set("Policy", scaling.extra["Policy"]);
    return reply.json(out);
  }
  reply.fail(404, "policy not found");
}

std::uint64_t policy_index(Simulation& simulation, const Request& request) {
  for (const Policy& policy : policies_of(simulation.state()))
    if (policy.id == request.captures[0]) return policy.job->job_modify_index;
  return policies_index(simulation, request);
}

}  // namespace

std::vector<std::string> scaling_policy_ids(const tables::Snapshot& state) {
  std::vector<std::string> out;
  for (const Policy& policy : policies_of(state)) out.push_back(policy.id);
  return out;
}

void add_scaling_routes(Router& router) {
  router.read("/v1/scaling/policies", list_policies, {policies_index, tables_of(Table::jobs)});
  router.read("/v1/scaling/policy/*", read_policy, {policy_index, tables_of(Table::jobs)});
}

}  // namespace berth::serve
