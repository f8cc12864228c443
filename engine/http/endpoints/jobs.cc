// Reading jobs: lists and single jobs (R-API-200 to 202, 240 to 250).
#include <algorithm>

#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"
#include "model/codec/codec.h"
#include "model/job.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::kNoRow;

const fsm::JobRecord* record_of(Simulation& simulation, const Request& request) {
  const fsm::JobRecord* record = simulation.log().record(request.name_space, request.captures[0]);
  return record && record->current ? record : nullptr;
}

// ---------------------------------------------------------------- lists

std::uint64_t jobs_index(Simulation& simulation, const Request&) {
  return std::max(simulation.log().table_index(Table::jobs), simulation.log().table_index(Table::job_summary));
}

void list_all_jobs(Simulation& simulation, const Request& request, Reply& reply) {
  list_jobs(simulation, request, reply, "");
}

// ---------------------------------------------------------------- single jobs

std::uint64_t job_index(Simulation& simulation, const Request& request) {
  const auto* record = record_of(simulation, request);
  return record ? record->current->modify_index : simulation.log().table_index(Table::jobs);
}

void read_job(Simulation& simulation, const Request& request, Reply& reply) {
  const auto* record = record_of(simulation, request);
  if (!record) return reply.fail(404, "job not found");
  reply.json(job_json(*record->current));
}

std::uint64_t summary_index(Simulation& simulation, const Request& request) {
  const auto* record = record_of(simulation, request);
  return record && record->summary ? record->summary->modify_index : simulation.log().table_index(Table::job_summary);
}

void read_summary(Simulation& simulation, const Request& request, Reply& reply) {
  const auto* record = record_of(simulation, request);
  if (!record) return reply.fail(404, "job not found");
  reply.json(job_summary_json(*record->current, record->summary ? &*record->summary : nullptr));
}

// ---------------------------------------------------------------- objects of one job

tables::JobKeyRow key_of(Simulation& simulation, const Request& request) {
  return simulation.store().find_job_key(request.name_space, request.captures[0]);
}

void read_job_allocs(Simulation& simulation, const Request& request, Reply& reply) {
  const bool all = is_true(request, "all");
  const tables::JobKeyRow key = key_of(simulation, request);
  if (key == kNoRow) return reply.json(json::Value::array());
  const auto* record = record_of(simulation, request);
  const std::uint64_t created = record ? record->current->create_index : 0;
  const auto state = simulation.store().snapshot();
  send_list(simulation, whole(request), reply, Where::readers, [state, key, created, all] {
    ListRows list;
    const tables::AllocTable& allocs = state->allocs;
    for (tables::AllocRow row = state->jobs.keys[key].alloc_head; row != kNoRow; row = allocs.next_of_job[row]) {
      const auto& of = state->jobs.versions[allocs.job[row]]->spec;
      if (all || created == 0 || of->create_index == created) list.rows.push_back(row);
    }
    std::sort(list.rows.begin(), list.rows.end(), [&](auto a, auto b) { return allocs.id[a] < allocs.id[b]; });
    list.write = [state](std::uint32_t row, std::string& out) {
      json::append_text(out, alloc_stub(*state, tables::AllocRow(row)));
    };
    return list;
  });
}

void read_job_evals(Simulation& simulation, const Request& request, Reply& reply) {
  const tables::JobKeyRow key = key_of(simulation, request);
  if (key == kNoRow) return reply.json(json::Value::array());
  std::vector<std::shared_ptr<const model::Evaluation>> evals;
  for (const tables::StoredEvalRow row : simulation.log().evals_of(key)) evals.push_back(simulation.state().eval(row));
  std::sort(evals.begin(), evals.end(),
            [](const auto& a, const auto& b) { return std::tie(a->status, a->id) < std::tie(b->status, b->id); });
  json::Value out = json::Value::array();
  for (const auto& eval : evals) out.push(eval_json(*eval));
  reply.json(out);
}

void read_job_deployments(Simulation& simulation, const Request& request, Reply& reply) {
  const bool all = is_true(request, "all");
  json::Value out = json::Value::array();
  const tables::JobKeyRow key = key_of(simulation, request);
  if (key == kNoRow) return reply.json(out);
  const auto* record = record_of(simulation, request);
  const tables::DeploymentTable& table = simulation.state().deployments;
  std::vector<std::shared_ptr<const model::Deployment>> found;
  for (auto row = simulation.state().jobs.keys[key].deployment_head; row != kNoRow; row = table.next_of_job[row])
    if (table.object[row] && (all || !record || table.object[row]->job_create_index == record->current->create_index))
      found.push_back(table.object[row]);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  for (const auto& deployment : found) out.push(model::to_json(*deployment));
  reply.json(out);
}

void read_job_deployment(Simulation& simulation, const Request& request, Reply& reply) {
  const auto latest = simulation.log().latest_deployment(request.name_space, request.captures[0]);
  reply.json(latest ? model::to_json(*latest) : json::Value());  // R-API-31
}

}  // namespace

/// Rows are found in a snapshot but written on the simulation's thread, because snapshots do not contain summaries.
void list_jobs(Simulation& simulation, const Request& request, Reply& reply, const std::string& pool) {
  const auto meta = bool_parameter(request, "meta", reply);
  if (!meta) return;
  const auto state = simulation.store().snapshot();
  const auto make = [&simulation, state, request, pool, meta = *meta] {
    ListRows list;
    for (tables::JobKeyRow key = 0; key < state->jobs.keys.size(); ++key) {
      const auto& job = state->jobs.objects[key];
      if (!job || !request.shows(job->namespace_)) continue;
      if (job->id.starts_with(request.prefix) && (pool.empty() || job->node_pool == pool)) list.rows.push_back(key);
    }
    list.before = [state](std::uint32_t a, std::uint32_t b) {
      const model::Job &x = *state->jobs.objects[a], &y = *state->jobs.objects[b];
      return std::tie(x.namespace_, x.id) < std::tie(y.namespace_, y.id);
    };
    list.descends = request.reverse;
    list.write = [&simulation, state, meta](std::uint32_t row, std::string& out) {
      const fsm::JobRecord* record = simulation.log().record(tables::JobKeyRow(row));
      if (!record || !record->current) return;  // purged since
      json::append_text(out, job_stub(*record->current, record->summary ? &*record->summary : nullptr, meta));
    };
    list.token = [state](std::uint32_t row) {
      const model::Job& job = *state->jobs.objects[row];
      return job.namespace_ + "." + job.id;
    };
    list.passes = [state](std::uint32_t row, const Filter& filter) {
      return filter.matches(*state->jobs.objects[row]);
    };
    return list;
  };
  send_list(simulation, request, reply, Where::readers, Where::simulation, make);
}

void add_job_routes(Router& router) {
  router.read("/v1/jobs", list_all_jobs, {jobs_index, tables_of(Table::jobs, Table::job_summary)});
  router.read("/v1/job/*", read_job, {job_index, tables_of(Table::jobs)});
  router.add({"/v1/job/*/summary",
              kAnyMethod,
              RouteKind::read,
              read_summary,  // R-API-6
              {summary_index, tables_of(Table::job_summary)}});
  router.read("/v1/job/*/allocations", read_job_allocs, blocks_on<Table::allocs>());
  router.read("/v1/job/*/evaluations", read_job_evals, blocks_on<Table::evals>());
  router.read("/v1/job/*/deployments", read_job_deployments, blocks_on<Table::deployment>());
  router.read("/v1/job/*/deployment", read_job_deployment, blocks_on<Table::deployment>());
}

}  // namespace berth::http
