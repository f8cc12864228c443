// History of a job: versions, their sources, scaling events (R-API-242, 243, 248).
#include "base/text.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/update/job_diff.h"

namespace berth::http {

namespace {

using Versions = std::vector<std::shared_ptr<const model::Job>>;

const fsm::JobRecord* versioned_record(Simulation& simulation, const Request& request) {
  const fsm::JobRecord* record = simulation.log().record(request.name_space, request.captures[0]);
  return record && record->current ? record : nullptr;
}

// ---------------------------------------------------------------- versions

std::uint64_t versions_index(Simulation& simulation, const Request& request) {
  const fsm::JobRecord* record = versioned_record(simulation, request);
  std::uint64_t index = 0;
  if (!record) return simulation.log().table_index(fsm::Table::jobs);
  for (const auto& version : record->versions) index = std::max(index, version->modify_index);
  return index;
}

/// The version to compare all others with; null: not requested, compare each with its predecessor; nullopt: no such
/// version.
std::optional<const model::Job*> compared_with(const Versions& versions, const Request& request, Reply& reply) {
  const std::string *number = request.find("diff_version"), *tag = request.find("diff_tag");
  const bool by_number = number && !number->empty(), by_tag = tag && !tag->empty();
  std::optional<std::uint64_t> wanted;
  if (by_number) {
    wanted = base::parse_uint64(*number);
    if (!wanted) {
      reply.fail("Failed to parse value of \"diff_version\" (" + *number +
                 ") as a uint64: strconv.ParseUint: parsing " + base::go_quote(*number) + ": invalid syntax");
      return std::nullopt;
    }
  }
  for (const auto& version : versions)
    if (by_number ? version->version == *wanted : by_tag && version->version_tag["Name"].as_string() == *tag)
      return version.get();
  if (!by_number && !by_tag) return nullptr;
  reply.fail(by_number ? "version " + *number + " not found" : "tag " + base::go_quote(*tag) + " not found");
  return std::nullopt;
}

json::Value diffs_of(const Versions& versions, const model::Job* with) {
  json::Value out = json::Value::array();
  for (std::size_t i = 0; i + (with ? 0 : 1) < versions.size(); ++i) {
    const auto diff = model::job_diff(with ? with : versions[i + 1].get(), versions[i].get());
    json::Value one = diff ? *diff : json::Value();
    if (json::Value* groups = one.find("TaskGroups"); groups && groups->is_array())
      for (json::Value& group : groups->items())
        if (!group.has("Updates")) group.set("Updates", nullptr);
    out.push(std::move(one));
  }
  return out;
}

void read_versions(Simulation& simulation, const Request& request, Reply& reply) {
  const auto diffs = bool_parameter(request, "diffs", reply);
  if (!diffs) return;
  const fsm::JobRecord* record = versioned_record(simulation, request);
  if (!record) return reply.fail(404, "job versions not found");
  json::Value out = json::Value::object(), list = json::Value::array();
  for (const auto& version : record->versions) list.push(job_json(*version));
  out.set("Versions", std::move(list)), out.set("Diffs", nullptr);
  if (*diffs) {
    const auto with = compared_with(record->versions, request, reply);
    if (!with) return;
    json::Value compared = diffs_of(record->versions, *with);
    if (compared.size() > 0) out.set("Diffs", std::move(compared));
  }
  set_read_meta(out, versions_index(simulation, request), true);
  reply.json(out);
}

// ---------------------------------------------------------------- submissions

const fsm::Submission* asked_submission(Simulation& simulation, const Request& request) {
  const fsm::JobRecord* record = versioned_record(simulation, request);
  const std::string* number = request.find("version");
  const auto version = number ? base::parse_uint64(*number) : std::nullopt;
  return record && version ? fsm::submission_of(*record, *version) : nullptr;
}

std::uint64_t submission_index(Simulation& simulation, const Request& request) {
  const fsm::Submission* submission = asked_submission(simulation, request);
  return submission ? submission->job_modify_index : simulation.log().table_index(fsm::Table::jobs);
}

void read_submission(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string* number = request.find("version");
  if (!number || !base::parse_uint64(*number))
    return reply.fail(400, "Unable to parse job submission version parameter");
  const fsm::Submission* submission = asked_submission(simulation, request);
  if (!submission) return reply.fail(404, "job source not found");
  json::Value out = json::Value::object();
  out.set("Source", submission->source), out.set("Format", submission->format);
  const json::Value& flags = submission->variable_flags;
  out.set("VariableFlags", flags.size() == 0 ? json::Value() : flags), out.set("Variables", submission->variables);
  out.set("Namespace", request.name_space), out.set("JobID", request.captures[0]);
  out.set("Version", submission->version), out.set("JobModifyIndex", submission->job_modify_index);
  reply.json(out);
}

// ---------------------------------------------------------------- scaling

struct ScaleCounts {
  std::int64_t placed = 0, running = 0, healthy = 0, unhealthy = 0;
};

/// Counts of allocations that have not ended and are no canaries. Raises `index` to the newest of them.
std::map<std::string, ScaleCounts> scale_counts(Simulation& simulation, const Request& request, std::uint64_t& index) {
  std::map<std::string, ScaleCounts> out;
  const tables::Snapshot& state = simulation.state();
  const tables::JobKeyRow key = simulation.store().find_job_key(request.name_space, request.captures[0]);
  if (key == tables::kNoRow) return out;
  for (tables::AllocRow row = state.jobs.keys[key].alloc_head; row != tables::kNoRow;
       row = state.allocs.next_of_job[row]) {
    if (state.allocs.terminal(row)) continue;
    std::uint8_t health = state.allocs.links[row].health;
    if (const auto& object = state.allocs.cold[row]) {
      const auto& status = object->deployment_status;
      health = status && status->canary ? tables::AllocLinks::kCanary : 0;
      if (status && status->healthy)
        health |= *status->healthy ? tables::AllocLinks::kHealthy : tables::AllocLinks::kUnhealthy;
    }
    if (health & tables::AllocLinks::kCanary) continue;
    ScaleCounts& counts = out[state.text(state.allocs.group[row])];
    ++counts.placed;
    counts.running += state.allocs.client[row] == tables::Client::running;
    counts.healthy += (health & tables::AllocLinks::kHealthy) != 0;
    counts.unhealthy += (health & tables::AllocLinks::kUnhealthy) != 0;
    index = std::max(index, state.allocs.modify_index[row]);
  }
  return out;
}

std::uint64_t scale_index(Simulation& simulation, const Request& request) {
  const fsm::JobRecord* record = versioned_record(simulation, request);
  if (!record) return simulation.state().index;
  std::uint64_t index = record->current->modify_index;
  for (const auto& [group, events] : record->scaling)
    if (!events.empty()) index = std::max(index, events.front().create_index);
  (void)scale_counts(simulation, request, index);
  return index;
}

json::Value scaling_events_json(const fsm::JobRecord& record, const std::string& group) {
  const auto found = record.scaling.find(group);
  if (found == record.scaling.end()) return {};
  json::Value out = json::Value::array();
  for (const fsm::ScalingEvent& event : found->second) {
    json::Value one = json::Value::object();
    one.set("Time", event.at), one.set("Count", event.count ? json::Value(*event.count) : json::Value());
    one.set("PreviousCount", event.previous_count), one.set("Message", event.message);
    one.set("Error", event.error), one.set("Meta", event.meta);
    one.set("EvalID", event.eval_id.empty() ? json::Value() : json::Value(event.eval_id));
    one.set("CreateIndex", event.create_index);
    out.push(std::move(one));
  }
  return out;
}

void read_scale(Simulation& simulation, const Request& request, Reply& reply) {
  const fsm::JobRecord* record = versioned_record(simulation, request);
  if (!record) return reply.fail(404, "job not found");
  const model::Job& job = *record->current;
  std::uint64_t index = 0;
  auto counts = scale_counts(simulation, request, index);
  json::Value out = json::Value::object(), groups = json::Value::object();
  for (const model::TaskGroup& group : job.task_groups) {
    const ScaleCounts& has = counts[group.name];
    json::Value one = json::Value::object();
    one.set("Desired", group.count), one.set("Placed", has.placed), one.set("Running", has.running);
    one.set("Healthy", has.healthy), one.set("Unhealthy", has.unhealthy);
    one.set("Events", scaling_events_json(*record, group.name));
    groups.set(group.name, std::move(one));
  }
  out.set("JobID", job.id), out.set("Namespace", job.namespace_), out.set("JobCreateIndex", job.create_index);
  out.set("JobModifyIndex", job.modify_index), out.set("JobStopped", job.stop);
  out.set("TaskGroups", std::move(groups));
  reply.json(out);
}

}  // namespace

void add_job_version_routes(Router& router) {
  using fsm::Table;
  router.add({"/v1/job/*/versions",
              kAnyMethod,
              RouteKind::read,
              read_versions,  // R-API-6
              {versions_index, tables_of(Table::jobs)}});
  router.read("/v1/job/*/submission", read_submission, {submission_index, tables_of(Table::jobs)});
  router.read("/v1/job/*/scale", read_scale, {scale_index, tables_of(Table::jobs, Table::allocs)});
}

}  // namespace berth::http
