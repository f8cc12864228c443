// Services of the provider `nomad`, registered by groups and tasks of running allocations (R-API-249, 466). No program
// answers at the addresses, because tasks are simulated. Cost: the allocations of the requested jobs.
#include <algorithm>
#include <map>
#include <set>

#include "http/addresses.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "tables/export.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::AllocRow;
using tables::kNoRow;

/// One registration of a service.
struct Registration {
  std::string id, name, address;
  std::int64_t port = 0;
  json::Value tags;
};

/// Address and port of a label among the ports of an allocation; a number is used directly.
void find_port(const model::Allocation& alloc, const std::string& label, Registration& out) {
  if (!alloc.allocated_resources) return;
  const json::Value shared = model::to_json(*alloc.allocated_resources)["Shared"];
  if (const json::Value& networks = shared["Networks"]; networks.is_array() && networks.size() > 0)
    out.address = networks.items().front()["IP"].as_string();
  if (const json::Value& ports = shared["Ports"]; ports.is_array())
    for (const json::Value& port : ports.items())
      if (port["Label"].as_string() == label) {
        out.port = port["Value"].as_int();
        out.address = port["HostIP"].as_string();
        return;
      }
  if (!label.empty() && std::all_of(label.begin(), label.end(), [](char c) { return c >= '0' && c <= '9'; }))
    out.port = base::parse_int64(label).value_or(0);
}

/// Adds the registrations of a group's or task's `services`.
void add_services(const model::Allocation& alloc, const json::Value& services, const std::string& owner,
                  bool keep_addresses, std::vector<Registration>& out) {
  if (!services.is_array()) return;
  for (const json::Value& service : services.items()) {
    if (service["Provider"].as_string() != "nomad") continue;
    Registration one;
    one.name = service["Name"].as_string();
    const std::string& label = service["PortLabel"].as_string();
    one.id = "_nomad-task-" + alloc.id + "-" + owner + "-" + one.name + "-" + label;
    const bool canary = alloc.deployment_status && alloc.deployment_status->canary;
    const json::Value& own = service["CanaryTags"];
    one.tags = canary && own.size() > 0 ? own : service["Tags"];
    if (one.tags.is_null()) one.tags = json::Value::array();
    find_port(alloc, label, one);
    if (const std::string& named = service["Address"].as_string(); !named.empty())
      one.address = keep_addresses ? named : replaced_address(named);  // from the job, which may be of a real cluster
    out.push_back(std::move(one));
  }
}

bool has_services(const model::TaskGroup& group) {
  const auto any = [](const json::Value& services) { return services.is_array() && services.size() > 0; };
  return any(group.services) ||
         std::any_of(group.tasks.begin(), group.tasks.end(), [&](const auto& task) { return any(task.services); });
}

/// Registrations of an allocation: of its group, and of its running tasks.
std::vector<Registration> registrations_of(const Simulation& simulation, AllocRow row) {
  const tables::Snapshot& state = simulation.state();
  const bool keep = simulation.options().keep_addresses;
  std::vector<Registration> out;
  const tables::AllocTable& allocs = state.allocs;
  if (!allocs.exists(row) || allocs.job[row] == kNoRow || allocs.client[row] != tables::Client::running ||
      tables::server_terminal(allocs.desired[row]))
    return out;
  const model::TaskGroup* group = state.jobs.versions[allocs.job[row]]->spec->group(state.text(allocs.group[row]));
  if (!group || !has_services(*group)) return out;
  const model::Allocation alloc = tables::to_alloc(state, row);
  add_services(alloc, group->services, "group-" + group->name, keep, out);
  for (const model::Task& task : group->tasks) {
    const auto told = alloc.task_states.find(task.name);
    if (told != alloc.task_states.end() && told->second && told->second->state == "running")
      add_services(alloc, task.services, task.name, keep, out);
  }
  return out;
}

void push_registrations(const Simulation& simulation, AllocRow row, const std::string* name, json::Value& out) {
  const tables::Snapshot& state = simulation.state();
  for (Registration& one : registrations_of(simulation, row)) {
    if (name && one.name != *name) continue;
    const tables::AllocTable& allocs = state.allocs;
    const tables::JobKey& key = state.jobs.keys[allocs.job_key[row]];
    const tables::NodeRow node = allocs.node[row];
    json::Value service = json::Value::object();
    service.set("ID", std::move(one.id)), service.set("ServiceName", std::move(one.name));
    service.set("Namespace", state.text(key.job_namespace)), service.set("NodeID", tables::node_id(state, node));
    service.set("Datacenter", tables::to_node(state, node).datacenter), service.set("JobID", state.text(key.job_id));
    service.set("AllocID", base::to_text(allocs.id[row])), service.set("Tags", std::move(one.tags));
    service.set("Address", std::move(one.address)), service.set("Port", one.port);
    service.set("CreateIndex", allocs.create_index[row]), service.set("ModifyIndex", allocs.create_index[row]);
    out.push(std::move(service));
  }
}

/// Visits the allocations of a job, or of all jobs of a namespace.
template <class Visit>
void visit_allocs(const tables::Snapshot& state, const Request& request, const std::string* job, Visit&& visit) {
  for (tables::JobKeyRow at = 0; at < state.jobs.keys.size(); ++at) {
    const tables::JobKey& key = state.jobs.keys[at];
    if (key.current == kNoRow || (job && state.text(key.job_id) != *job)) continue;
    if (!request.shows(state.text(key.job_namespace))) continue;
    for (AllocRow row = key.alloc_head; row != kNoRow; row = state.allocs.next_of_job[row]) visit(row);
  }
}

/// The services sorted by ID.
json::Value sorted(json::Value services) {
  std::sort(services.items().begin(), services.items().end(),
            [](const json::Value& a, const json::Value& b) { return a["ID"].as_string() < b["ID"].as_string(); });
  return services;
}

void list_services(Simulation& simulation, const Request& request, Reply& reply) {
  const tables::Snapshot& state = simulation.state();
  std::map<std::string, std::map<std::string, std::set<std::string>>> found;
  visit_allocs(state, request, nullptr, [&](AllocRow row) {
    for (const Registration& one : registrations_of(simulation, row)) {
      auto& tags = found[state.text(state.jobs.keys[state.allocs.job_key[row]].job_namespace)][one.name];
      for (const json::Value& tag : one.tags.items()) tags.insert(tag.as_string());
    }
  });
  json::Value out = json::Value::array();
  for (const auto& [name_space, services] : found) {
    json::Value list = json::Value::array();
    for (const auto& [name, tags] : services) {
      json::Value stub = json::Value::object(), texts = json::Value::array();
      for (const std::string& tag : tags) texts.push(tag);
      stub.set("ServiceName", name), stub.set("Tags", std::move(texts));
      list.push(std::move(stub));
    }
    json::Value entry = json::Value::object();
    entry.set("Namespace", name_space), entry.set("Services", std::move(list));
    out.push(std::move(entry));
  }
  reply.json(out);
}

void read_service(Simulation& simulation, const Request& request, Reply& reply) {
  json::Value out = json::Value::array();
  visit_allocs(simulation.state(), request, nullptr,
               [&](AllocRow row) { push_registrations(simulation, row, &request.captures[0], out); });
  reply.json(sorted(std::move(out)));
}

void read_job_services(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-249
  if (!simulation.log().job(request.name_space, request.captures[0])) return reply.fail(404, "job not found");
  json::Value out = json::Value::array();
  visit_allocs(simulation.state(), request, &request.captures[0],
               [&](AllocRow row) { push_registrations(simulation, row, nullptr, out); });
  reply.json(sorted(std::move(out)));
}

void read_alloc_services(Simulation& simulation, const Request& request, Reply& reply) {
  if (!is_whole_id(request.captures[0], "alloc lookup failed: ", reply)) return;
  const AllocRow row = simulation.store().find_alloc(request.captures[0]);
  if (row == kNoRow) return reply.fail(404, "allocation not found");
  json::Value out = json::Value::array();
  push_registrations(simulation, row, nullptr, out);
  reply.json(sorted(std::move(out)));
}

/// Registrations change with the allocations.
std::uint64_t services_index(Simulation& simulation, const Request&) {
  return std::max<std::uint64_t>(simulation.log().table_index(Table::allocs), 1);
}

}  // namespace

void add_service_routes(Router& router) {
  const Blocking blocking{services_index, tables_of(Table::allocs)};
  router.read("/v1/services", list_services, blocking);
  router.read("/v1/service/*", read_service, blocking);
  router.read("/v1/job/*/services", read_job_services, blocking);
  router.read("/v1/allocation/*/services", read_alloc_services, blocking);
}

}  // namespace berth::http
