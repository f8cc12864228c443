#include "http/snapshot.h"

#include <algorithm>

#include "http/addresses.h"
#include "http/simulation.h"
#include "http/stores/stores.h"
#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/snapshot/snapshot_export.h"
#include "model/job.h"
#include "tables/export.h"

namespace berth::http {

namespace {

constexpr const char* kSnapshotFormat = "berth-serve-snapshot";
constexpr std::int64_t kSnapshotVersion = 1;

json::Value summary_json(const fsm::JobSummary& summary) {
  json::Value out = json::Value::object(), groups = json::Value::object();
  for (auto [name, counts] : summary.groups) {
    json::Value group = json::Value::object();
    for (std::size_t bin = 0; bin < fsm::kBins; ++bin) group.set(fsm::kBinNames[bin], counts.counts[bin]);
    groups.members().push_back({std::string(name), std::move(group)});
  }
  out.set("Groups", std::move(groups));
  out.set("Pending", summary.children_pending), out.set("Running", summary.children_running);
  out.set("Dead", summary.children_dead);
  out.set("CreateIndex", summary.create_index), out.set("ModifyIndex", summary.modify_index);
  return out;
}

fsm::JobSummary summary_from(const json::Value& value) {
  fsm::JobSummary out;
  for (const json::Member& group : value["Groups"].members())
    for (std::size_t bin = 0; bin < fsm::kBins; ++bin)
      out.groups[group.key].counts[bin] = group.value[fsm::kBinNames[bin]].as_int();
  out.children_pending = value["Pending"].as_int(), out.children_running = value["Running"].as_int();
  out.children_dead = value["Dead"].as_int();
  out.create_index = value["CreateIndex"].as_uint(), out.modify_index = value["ModifyIndex"].as_uint();
  return out;
}

json::Value submission_json(const fsm::Submission& submission) {
  json::Value out = json::Value::object();
  out.set("Source", submission.source), out.set("Format", submission.format);
  out.set("VariableFlags", submission.variable_flags), out.set("Variables", submission.variables);
  out.set("Version", submission.version), out.set("JobModifyIndex", submission.job_modify_index);
  return out;
}

fsm::Submission read_submission(const json::Value& value) {
  return {value["Source"].as_string(),    value["Format"].as_string(), value["VariableFlags"],
          value["Variables"].as_string(), value["Version"].as_uint(),  value["JobModifyIndex"].as_uint()};
}

json::Value scaling_event_json(const fsm::ScalingEvent& event) {
  json::Value out = json::Value::object();
  out.set("Time", event.at), out.set("Count", event.count ? json::Value(*event.count) : json::Value());
  out.set("PreviousCount", event.previous_count), out.set("Message", event.message);
  out.set("Error", event.error), out.set("Meta", event.meta), out.set("EvalID", event.eval_id);
  out.set("CreateIndex", event.create_index);
  return out;
}

fsm::ScalingEvent read_event(const json::Value& value) {
  fsm::ScalingEvent out;
  out.at = value["Time"].as_int();
  if (!value["Count"].is_null()) out.count = value["Count"].as_int();
  out.previous_count = value["PreviousCount"].as_int(), out.message = value["Message"].as_string();
  out.error = value["Error"].as_bool(), out.meta = value["Meta"], out.eval_id = value["EvalID"].as_string();
  out.create_index = value["CreateIndex"].as_uint();
  return out;
}

json::Value policy_json(const fsm::ScalingPolicy& policy) {
  json::Value out = json::Value::object();
  out.set("ID", policy.id), out.set("Type", policy.type), out.set("Group", policy.group), out.set("Task", policy.task);
  out.set("Min", policy.min), out.set("Max", policy.max), out.set("Enabled", policy.enabled);
  out.set("Policy", policy.policy), out.set("CreateIndex", policy.create_index);
  out.set("ModifyIndex", policy.modify_index);
  return out;
}

fsm::ScalingPolicy read_policy(const json::Value& value) {
  return {value["ID"].as_string(),       value["Type"].as_string(), value["Group"].as_string(),
          value["Task"].as_string(),     value["Min"].as_int(),     value["Max"].as_int(),
          value["Enabled"].as_bool(),    value["Policy"],           value["CreateIndex"].as_uint(),
          value["ModifyIndex"].as_uint()};
}

json::Value record_json(const fsm::JobRecord& record) {
  json::Value out = json::Value::object(), submissions = json::Value::array(), scaling = json::Value::object();
  json::Value policies = json::Value::array();
  for (const fsm::ScalingPolicy& policy : record.policies) policies.push(policy_json(policy));
  out.set("Namespace", record.current->namespace_), out.set("ID", record.current->id);
  out.set("Summary", record.summary ? summary_json(*record.summary) : json::Value());
  for (const auto& submission : record.submissions) submissions.push(submission_json(*submission));
  for (const auto& [group, events] : record.scaling) {
    json::Value list = json::Value::array();
    for (const fsm::ScalingEvent& event : events) list.push(scaling_event_json(event));
    scaling.set(group, std::move(list));
  }
  out.set("Submissions", std::move(submissions)), out.set("Scaling", std::move(scaling));
  out.set("ScalingPolicies", std::move(policies));
  return out;
}

}  // namespace

SnapshotParts take_parts(Simulation& simulation) {
  SnapshotParts out;
  out.state = simulation.store().snapshot();
  for (tables::NodeRow row = 0; row < out.state->nodes.size(); ++row)
    if (out.state->nodes.exists(row)) out.nodes.push_back(*simulation.log().node(tables::node_id(*out.state, row)));
  for (tables::JobKeyRow key = 0; key < out.state->jobs.keys.size(); ++key)
    if (const fsm::JobRecord* record = simulation.log().record(key); record && record->current)
      out.jobs.push_back(*record);
  for (std::size_t table = 0; table < fsm::kTables; ++table)
    out.tables[table] = simulation.log().table_index(static_cast<fsm::Table>(table));
  out.stores = simulation.stores().copy();
  out.log_index = simulation.log().next_index() - 1;
  out.now_ns = simulation.now();
  return out;
}

model::ClusterState cluster_of(const SnapshotParts& parts) {
  model::ClusterState state = tables::to_cluster(*parts.state);
  state.nodes = parts.nodes;
  state.jobs.clear(), state.job_versions.clear();
  for (const fsm::JobRecord& record : parts.jobs) {
    state.jobs.push_back(record.current);
    state.job_versions.insert(state.job_versions.end(), record.versions.begin(), record.versions.end());
  }
  return state;
}

json::Value snapshot_json(const SnapshotParts& parts) {
  json::Value jobs = json::Value::array(), tables = json::Value::object();
  for (const fsm::JobRecord& record : parts.jobs) jobs.push(record_json(record));
  for (std::size_t table = 0; table < fsm::kTables; ++table) tables.set(fsm::kTableNames[table], parts.tables[table]);
  json::Value out = json::Value::object();
  out.set("Format", kSnapshotFormat), out.set("Version", kSnapshotVersion), out.set("Now", parts.now_ns);
  out.set("Tables", std::move(tables)), out.set("Jobs", std::move(jobs)), out.set("Stores", parts.stores());
  out.set("Cluster", io::cluster_to_json(cluster_of(parts)));
  return out;
}

std::string nomad_snapshot(const SnapshotParts& parts) {
  io::SnapshotHead head;
  head.applied_index = parts.log_index, head.now_ns = parts.now_ns;
  for (std::size_t table = 0; table < fsm::kTables; ++table)
    if (parts.tables[table] > 0) head.indexes.emplace_back(fsm::kTableNames[table], parts.tables[table]);
  return io::snapshot_file(cluster_of(parts), head);
}

Result<Restored> read_snapshot(const std::string& path) {
  const auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto document = io::parse_json(*text, path);
  if (!document) return tl::unexpected(document.error());
  if ((*document)["Format"].as_string() != kSnapshotFormat || (*document)["Version"].as_int() != kSnapshotVersion)
    return tl::unexpected(InputError{path, "/Format", "is no snapshot of version 1 of berth serve",
                                     "name a file that POST /v1/berth/snapshot wrote"});
  auto cluster = io::import_cluster_json((*document)["Cluster"], path);
  if (!cluster) return tl::unexpected(cluster.error());
  Restored out;
  out.state = std::move(cluster->state);
  out.now_ns = (*document)["Now"].as_int();
  document->erase("Cluster");
  out.rest = std::move(*document);
  return out;
}

void restore(Simulation& simulation, Restored restored) {
  living::Config config = simulation.config();
  config.start_ns = restored.now_ns;
  replace_addresses(restored.state, simulation.options().keep_addresses);  // an older version may have written it
  simulation.replace(config, restored.state);
  fsm::StateLog& log = simulation.log();
  for (const json::Value& job : restored.rest["Jobs"].items()) {
    const std::string &space = job["Namespace"].as_string(), &id = job["ID"].as_string();
    if (!log.job(space, id)) continue;
    fsm::Kept kept;
    for (const json::Value& submission : job["Submissions"].items())
      kept.submissions.push_back(std::make_shared<const fsm::Submission>(read_submission(submission)));
    for (const json::Member& group : job["Scaling"].members())
      for (const json::Value& event : group.value.items()) kept.scaling[group.key].push_back(read_event(event));
    for (const json::Value& policy : job["ScalingPolicies"].items()) kept.policies.push_back(read_policy(policy));
    log.set_kept(space, id, std::move(kept));
    if (!job["Summary"].is_null()) log.set_summary(space, id, summary_from(job["Summary"]));
  }
  for (std::size_t table = 0; table < fsm::kTables; ++table)
    log.set_table_index(static_cast<fsm::Table>(table), restored.rest["Tables"][fsm::kTableNames[table]].as_uint());
  simulation.stores().restore(restored.rest["Stores"], simulation.now());
}

}  // namespace berth::http
