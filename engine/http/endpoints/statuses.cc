// Jobs for the web interface (R-API-203): each with its allocations and its latest deployment.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "http/endpoints/endpoints.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"
#include "http/stores/rights.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::kNoRow;

json::Value alloc_status(const tables::Snapshot& state, tables::AllocRow row) {
  const tables::AllocTable& allocs = state.allocs;
  json::Value out = json::Value::object(), deployment = json::Value::object();
  const auto& object = allocs.cold[row];
  deployment.set("Canary", state.is_canary(row));
  deployment.set("Healthy", state.has_health(row) ? json::Value(state.is_healthy(row)) : json::Value());
  out.set("ID", base::to_text(allocs.id[row])), out.set("Group", state.text(allocs.group[row]));
  out.set("ClientStatus", tables::to_text(allocs.client[row]));
  out.set("NodeID", tables::node_id_of(state, row));
  out.set("DeploymentStatus", std::move(deployment));
  out.set("JobVersion", allocs.job[row] == kNoRow ? 0 : state.jobs.versions[allocs.job[row]]->spec->version);
  out.set("FollowupEvalID", object ? object->followup_eval_id : ""), out.set("HasPausedTask", false);
  return out;
}

json::Value deployment_status(const model::Deployment* latest) {
  if (!latest) return {};
  json::Value out = json::Value::object();
  bool all_auto_promote = false;
  for (const auto& [name, group] : latest->task_groups) {
    if (!group || group->desired_canaries == 0) continue;
    all_auto_promote = group->auto_promote;
    if (!all_auto_promote) break;
  }
  out.set("ID", latest->id), out.set("IsActive", model::is_active_deployment(latest->status));
  out.set("JobVersion", latest->job_version), out.set("Status", latest->status);
  out.set("StatusDescription", latest->status_description), out.set("AllAutoPromote", all_auto_promote);
  out.set("RequiresPromotion", model::requires_promotion(*latest));
  return out;
}

/// Statuses of all children, by the namespace and ID of their parent.
using ChildStatuses = std::map<std::pair<std::string, std::string>, json::Value>;
ChildStatuses child_statuses(const tables::Snapshot& state) {
  ChildStatuses out;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key) {
    const auto& job = state.jobs.objects[key];
    if (job && !job->parent_id.empty()) out[{job->namespace_, job->parent_id}].push(job->status);
  }
  return out;
}

json::Value job_status(Simulation& simulation, const ChildStatuses& children, tables::JobKeyRow key,
                       const model::Job& job) {
  const tables::Snapshot& state = simulation.state();
  json::Value out = json::Value::object(), datacenters = json::Value::array(), allocs = json::Value::array();
  std::vector<tables::AllocRow> rows;
  for (auto row = state.jobs.keys[key].alloc_head; row != kNoRow; row = state.allocs.next_of_job[row])
    rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](auto a, auto b) { return state.allocs.id[a] < state.allocs.id[b]; });
  for (const tables::AllocRow row : rows) allocs.push(alloc_status(state, row));
  for (const std::string& datacenter : job.datacenters) datacenters.push(datacenter);
  std::int64_t count = 0;
  for (const model::TaskGroup& group : job.task_groups) count += group.count;
  out.set("ID", job.id), out.set("Namespace", job.namespace_), out.set("Name", job.name), out.set("Type", job.type);
  out.set("NodePool", *job.node_pool), out.set("Datacenters", std::move(datacenters));
  out.set("Priority", job.priority), out.set("Version", job.version), out.set("SubmitTime", job.submit_time);
  out.set("ModifyIndex", job.modify_index), out.set("Allocs", std::move(allocs)), out.set("GroupCountSum", count);
  const bool is_parent = job.periodic || job.parameterized_job;
  const auto statuses = is_parent ? children.find({job.namespace_, job.id}) : children.end();
  out.set("ChildStatuses", statuses == children.end() ? json::Value() : statuses->second),
      out.set("ParentID", *job.parent_id);
  out.set("LatestDeployment", deployment_status(simulation.log().latest_deployment(job.namespace_, job.id).get()));
  out.set("Stop", job.stop), out.set("IsPack", false), out.set("Status", job.status);
  return out;
}

/// The jobs that a body requests.
struct Asked {
  bool some = false, children = false;
  std::set<std::pair<std::string, std::string>> jobs;  ///< namespace, ID
};

std::optional<Asked> read_asked(const Request& request, Reply& reply) {
  Asked out;
  const auto children = bool_parameter(request, "include_children", reply);
  if (!children) return std::nullopt;
  out.children = *children;
  if (request.body.empty()) return out;
  const auto body = json_body(request, reply);
  if (!body) return std::nullopt;
  out.children = out.children || (*body)["IncludeChildren"].as_bool();
  if ((*body)["Jobs"].size() == 0) return reply.fail(400, "no jobs in request"), std::nullopt;
  out.some = true;
  for (const json::Value& job : (*body)["Jobs"].items()) {
    const std::string& name_space = job["Namespace"].as_string();
    out.jobs.emplace(name_space.empty() ? "default" : name_space, job["ID"].as_string());
  }
  return out;
}

std::uint64_t statuses_index(Simulation& simulation, const Request&) {
  std::uint64_t index = 0;
  for (const Table table : {Table::jobs, Table::job_summary, Table::allocs, Table::deployment})
    index = std::max(index, simulation.log().table_index(table));
  return index;
}

/// True if the sender may list the jobs of a namespace; jobs requested by name may be of any.
bool may_list(const Request& request, const std::string& name_space) {
  return request.may(
      [&](const Rights& has) { return has.in_namespace(name_space, namespace_capability("list-jobs")); });
}

void read_statuses(Simulation& simulation, const Request& request, Reply& reply) {
  auto asked = read_asked(request, reply);
  if (!asked) return;
  send_list(simulation, request, reply, Where::simulation, [&simulation, request, asked = std::move(*asked)] {
    ListRows list;
    const tables::Snapshot& state = simulation.state();
    for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key) {
      const auto& job = state.jobs.objects[key];
      if (!job || !(asked.children || job->parent_id.empty()) || !job->id.starts_with(request.prefix)) continue;
      if (asked.some ? asked.jobs.contains({job->namespace_, job->id}) && may_list(request, job->namespace_)
                     : request.shows(job->namespace_))
        list.rows.push_back(key);
    }
    const auto index_of = [&state](std::uint32_t key) { return state.jobs.objects[key]->modify_index; };
    std::sort(list.rows.begin(), list.rows.end(), [&](auto a, auto b) {
      return std::pair(index_of(b), state.jobs.objects[b]->id) < std::pair(index_of(a), state.jobs.objects[a]->id);
    });
    list.descends = !request.reverse;
    if (request.reverse) std::reverse(list.rows.begin(), list.rows.end());
    list.write = [&simulation, children = child_statuses(state)](std::uint32_t row, std::string& out) {
      if (const auto& job = simulation.state().jobs.objects[row])
        json::append_text(out, job_status(simulation, children, tables::JobKeyRow(row), *job));
    };
    list.tokens = TokenKind::index;
    list.token = [&simulation](std::uint32_t row) {
      const auto& job = simulation.state().jobs.objects[row];
      return std::to_string(job ? job->modify_index : 0);
    };
    list.passes = [&simulation](std::uint32_t row, const Filter& filter) -> tl::expected<bool, std::string> {
      const auto& job = simulation.state().jobs.objects[row];
      return job ? filter.matches(*job) : tl::expected<bool, std::string>(false);
    };
    return list;
  });
}

}  // namespace

void add_status_list_routes(Router& router) {
  router.add({"/v1/jobs/statuses",
              kGet | kPost,
              RouteKind::read,
              read_statuses,
              {statuses_index, tables_of(Table::jobs, Table::job_summary, Table::allocs, Table::deployment)}});
}

}  // namespace berth::http
