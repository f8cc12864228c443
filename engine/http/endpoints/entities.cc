#include "http/endpoints/entities.h"

#include <snappy.h>

#include "base/base64.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "http/endpoints/job_blocks.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"
#include "tables/state.h"

namespace berth::http {

namespace {

constexpr std::pair<const char*, char> kEventKeys[] = {{"Type", 's'},
                                                       {"Time", 'i'},
                                                       {"Message", 's'},
                                                       {"DisplayMessage", 's'},
                                                       {"Details", 'm'},
                                                       {"FailsTask", 'b'},
                                                       {"RestartReason", 's'},
                                                       {"SetupError", 's'},
                                                       {"DriverError", 's'},
                                                       {"ExitCode", 'i'},
                                                       {"Signal", 'i'},
                                                       {"KillTimeout", 'i'},
                                                       {"KillError", 's'},
                                                       {"KillReason", 's'},
                                                       {"StartDelay", 'i'},
                                                       {"DownloadError", 's'},
                                                       {"ValidationError", 's'},
                                                       {"DiskLimit", 'i'},
                                                       {"FailedSibling", 's'},
                                                       {"VaultError", 's'},
                                                       {"TaskSignalReason", 's'},
                                                       {"TaskSignal", 's'},
                                                       {"DriverMessage", 's'},
                                                       {"GenericSource", 's'}};

json::Value zero_of(char kind) {
  if (kind == 's') return "";
  if (kind == 'i') return 0;
  if (kind == 'b') return false;
  return json::Value::object();
}

/// A task event with all its keys and its text (R-API-355).
json::Value event_json(json::Value&& event) {
  json::Object members;
  members.reserve(std::size(kEventKeys));
  for (const auto& [key, kind] : kEventKeys) {
    json::Value* value = event.find(key);
    members.push_back({key, value && !value->is_null() ? std::move(*value) : zero_of(kind)});
  }
  json::Value out(std::move(members));
  if (out["DisplayMessage"].as_string().empty()) out.set("DisplayMessage", display_message(out));
  return out;
}

void fill_events(json::Value& task_states) {
  if (!task_states.is_object()) return;
  for (json::Member& task : task_states.members()) {
    json::Value* events = task.value.find("Events");
    if (!events || !events->is_array()) continue;
    for (json::Value& event : events->items()) event = event_json(std::move(event));
  }
}

/// Resources in the legacy form (R-API-353).
json::Value legacy_resources(std::int64_t cpu, std::int64_t cores, std::int64_t memory, std::int64_t memory_max,
                             std::int64_t disk, json::Value networks, json::Value devices) {
  json::Value out = json::Value::object();
  out.set("CPU", cpu), out.set("Cores", cores), out.set("MemoryMB", memory), out.set("MemoryMaxMB", memory_max);
  out.set("DiskMB", disk), out.set("IOPS", 0), out.set("Networks", std::move(networks));
  out.set("Devices", std::move(devices)), out.set("NUMA", nullptr), out.set("SecretsMB", 0);
  return out;
}

void set_mirrors(json::Value& out, const model::AllocatedResources& resources) {
  const json::Value whole = model::to_json(resources);
  const json::Value& shared = whole["Shared"];
  std::int64_t cpu = 0, memory = 0, memory_max = 0;
  json::Value tasks = json::Value::object();
  for (const json::Member& task : whole["Tasks"].members()) {
    const std::int64_t mhz = task.value["Cpu"]["CpuShares"].as_int(), mb = task.value["Memory"]["MemoryMB"].as_int(),
                       most = task.value["Memory"]["MemoryMaxMB"].as_int();
    cpu += mhz, memory += mb, memory_max += most > 0 ? most : mb;
    tasks.members().push_back({task.key, legacy_resources(mhz, 0, mb, most, 0, task.value["Networks"], nullptr)});
  }
  const std::int64_t disk = shared["DiskMB"].as_int();
  out.set("Resources", legacy_resources(cpu, 0, memory, memory_max, disk, shared["Networks"], nullptr));
  out.set("SharedResources", legacy_resources(0, 0, 0, 0, disk, shared["Networks"], nullptr));
  out.set("TaskResources", std::move(tasks));
}

/// ID of the key that would sign identities of tasks and nodes; none are signed.
const std::string& signing_key() {
  static const std::string id = base::to_text(base::generated_id(9, 1));
  return id;
}

void set_missing(json::Value& object, const char* key, json::Value value) {
  if (!object.has(key)) object.set(key, std::move(value));
}

/// A payload is stored compressed and shown uncompressed (R-API-240).
std::string plain_payload(const std::string& stored) {
  const auto bytes = base::from_base64(stored);
  std::string plain;
  // Before it allocates: an imported payload may state any length.
  if (!bytes || !snappy::IsValidCompressedBuffer(bytes->data(), bytes->size())) return stored;
  if (!snappy::Uncompress(bytes->data(), bytes->size(), &plain)) return stored;
  return base::to_base64(plain);
}

/// Converts members that the model stores unchanged to the form that a server prints.
void fill_job(json::Value& job) {
  if (json::Value* payload = job.find("Payload")) {
    const std::string& text = payload->as_string();
    *payload = text.empty() ? json::Value() : json::Value(plain_payload(text));
  }
  fill_job_blocks(job);
}

void fill_task_states(json::Value& task_states) {
  if (!task_states.is_object()) return;
  for (json::Member& task : task_states.members())
    if (const json::Value* handle = task.value.find("TaskHandle"); handle && handle->is_null())
      task.value.erase("TaskHandle");
  fill_events(task_states);
}

json::Value network_status() {  // of an allocation with an unknown network
  json::Value out = json::Value::object();
  out.set("InterfaceName", ""), out.set("Address", ""), out.set("AddressIPv6", ""), out.set("DNS", nullptr);
  return out;
}

}  // namespace

std::string display_message(const json::Value& event) {
  const std::string& type = event["Type"].as_string();
  const auto text = [&](const char* key) { return event[key].as_string(); };
  const auto either = [&](const char* key, const char* otherwise) {
    std::string out = text(key);
    return out.empty() ? std::string(otherwise) : out;
  };
  if (type == "Received") return "Task received by client";
  if (type == "Started") return "Task started by client";
  if (type == "Task Setup") return text("Message");
  if (type == "Terminated") {
    std::string out = "Exit Code: " + std::to_string(event["ExitCode"].as_int());
    if (event["Signal"].as_int() != 0) out += ", Signal: " + std::to_string(event["Signal"].as_int());
    if (const std::string message = text("Message"); !message.empty())
      out += ", Exit Message: " + base::go_quote(message);
    return out;
  }
  if (type == "Restarting") {
    const std::string in = "Task restarting in " + base::duration_text(event["StartDelay"].as_int());
    const std::string reason = text("RestartReason");
    return reason.empty() || reason == "Restart within policy" ? in : reason + " - " + in;
  }
  if (type == "Not Restarting") return either("RestartReason", "Task exceeded restart policy");
  if (type == "Killing") {
    if (const std::string reason = text("KillReason"); !reason.empty()) return reason;
    const std::int64_t timeout = event["KillTimeout"].as_int();
    if (timeout == 0) return "Sent interrupt";
    return "Sent interrupt. Waiting " + base::duration_text(timeout) + " before force killing";
  }
  if (type == "Killed") return either("KillError", "Task successfully killed");
  if (type == "Sibling Task Failed")
    return text("FailedSibling").empty() ? "Task's sibling failed"
                                         : "Task's sibling " + base::go_quote(text("FailedSibling")) + " failed";
  if (type == "Failed Validation") return either("ValidationError", "Validation of task failed");
  if (type == "Driver Failure") return either("DriverError", "Failed to start task");
  if (type == "Restart Signaled") return either("RestartReason", "Task signaled to restart");
  if (type == "Leader Task Dead") return "Leader Task in Group dead";
  if (type == "Main Tasks Dead") return "Main tasks in the group died";
  if (type == "Signaling") return "Task being sent a signal";
  if (type == "Reconnected") return "Client reconnected";
  return text("Message");
}

// ---------------------------------------------------------------- allocations

json::Value alloc_json(const tables::Snapshot& state, tables::AllocRow row) {
  model::Allocation alloc = tables::to_alloc(state, row);
  const auto& jobs = state.allocs.planned_jobs;
  if (row < jobs.size() && jobs[row]) alloc.job = jobs[row];
  return alloc_json(alloc);
}

json::Value alloc_json(const model::Allocation& alloc) {
  json::Value out = model::to_json(alloc);
  if (json::Value* tasks = out.find("TaskStates")) fill_task_states(*tasks);
  if (json::Value* job = out.find("Job")) fill_job(*job);
  if (alloc.desired_transition == model::DesiredTransition()) out.erase("DesiredTransition");
  if (!alloc.task_states.empty()) set_missing(out, "NetworkStatus", network_status());
  set_missing(out, "SigningKeyID", signing_key());
  if (alloc.allocated_resources) set_mirrors(out, *alloc.allocated_resources);
  if (!out.has("Metrics")) out.set("Metrics", model::to_json(model::AllocMetric()));  // R-API-354
  return out;
}

void write_plain_alloc(const tables::Snapshot& state, tables::AllocRow row, model::Allocation& out) {
  tables::write_plain(state, row, out);
  const tables::NodeRow node = state.allocs.node[row];
  const std::string* name = node == tables::kNoRow ? nullptr : state.value_text(tables::kNameColumn, node);
  out.node_name = name ? *name : "";
}

namespace {

/// The object of a row, or one made from its columns in `plain`, without metrics and resources.
const model::Allocation& object_of(const tables::Snapshot& state, tables::AllocRow row, model::Allocation& plain) {
  if (const auto& object = state.allocs.cold[row]) return *object;
  write_plain_alloc(state, row, plain);
  const auto report = state.allocs.report_of(row);
  if (report && report->task != tables::kEmptySymbol)
    plain.task_states.begin()->second->events = tables::task_events(report->event, report->event_at);
  if (const auto& rest = state.allocs.rest[row]; rest && !rest->events.is_null())
    plain.task_states.begin()->second->events = rest->events;
  return plain;
}

/// Replaces the newest task events by the complete log, if it is stored.
void set_logged_events(const tables::Snapshot& state, tables::AllocRow row, json::Value& tasks) {
  const tables::AllocTable& allocs = state.allocs;
  if (row >= allocs.logs.size() || !allocs.logs[row] || allocs.job[row] == tables::kNoRow) return;
  const model::TaskGroup* group = state.jobs.versions[allocs.job[row]]->spec->group(state.text(allocs.group[row]));
  const tables::TaskLog& log = *allocs.logs[row];
  for (std::size_t i = 0; group && i < group->tasks.size() && i < log.size(); ++i) {
    json::Value* task = tasks.find(group->tasks[i].name);
    if (!task || log[i].empty()) continue;
    json::Value& events = task->set("Events", json::Value::array());
    for (const tables::TaskLogEvent& event : log[i]) events.push(to_json(event));
  }
}

json::Value task_states_json(const tables::Snapshot& state, tables::AllocRow row, const model::Allocation& alloc) {
  if (alloc.task_states.empty()) return nullptr;
  json::Value tasks = json::Value::object();
  for (const auto& [name, task] : alloc.task_states)
    tasks.members().push_back({name, task ? model::to_json(*task) : nullptr});
  set_logged_events(state, row, tasks);
  fill_task_states(tasks);
  return tasks;
}

}  // namespace

json::Value alloc_stub(const tables::Snapshot& state, tables::AllocRow row, const AllocStubFields& fields) {
  thread_local model::Allocation plain;  // reuses its memory
  const model::Allocation& alloc = object_of(state, row, plain);
  const tables::AllocTable& allocs = state.allocs;
  json::Value out = json::Value::object();
  out.members().reserve(28);  // as many as follow
  out.set("ID", alloc.id), out.set("EvalID", alloc.eval_id), out.set("Name", alloc.name);
  out.set("Namespace", alloc.namespace_), out.set("NodeID", alloc.node_id), out.set("NodeName", alloc.node_name);
  out.set("JobID", alloc.job_id), out.set("JobType", alloc.job ? alloc.job->type : "");
  out.set("JobVersion", alloc.job ? alloc.job->version : 0), out.set("TaskGroup", alloc.task_group);
  if (fields.resources)
    if (const auto& resources = allocs.shape_of(row).resources)
      out.set("AllocatedResources", model::to_json(*resources));
  out.set("DesiredStatus", tables::to_text(allocs.desired[row]));
  out.set("DesiredDescription", alloc.desired_description);
  out.set("DesiredTransition", model::to_json(alloc.desired_transition));
  out.set("ClientStatus", tables::to_text(allocs.client[row])), out.set("ClientDescription", alloc.client_description);
  out.set("TaskStates", fields.task_states ? task_states_json(state, row, alloc) : json::Value());
  out.set("DeploymentStatus", alloc.deployment_status ? model::to_json(*alloc.deployment_status) : nullptr);
  out.set("FollowupEvalID", alloc.followup_eval_id), out.set("NextAllocation", alloc.next_allocation);
  out.set("RescheduleTracker", alloc.reschedule_tracker ? model::to_json(*alloc.reschedule_tracker) : nullptr);
  json::Value preempted;
  for (const std::string& id : alloc.preempted_allocations) preempted.push(id);
  out.set("PreemptedAllocations", std::move(preempted));
  out.set("PreemptedByAllocation", alloc.preempted_by_allocation);
  out.set("CreateIndex", allocs.create_index[row]), out.set("ModifyIndex", allocs.modify_index[row]);
  out.set("CreateTime", alloc.create_time), out.set("ModifyTime", alloc.modify_time);
  return out;
}

// ---------------------------------------------------------------- evaluations

void fill_annotations(json::Value& annotations) {
  json::Value* victims = annotations.find("PreemptedAllocs");
  if (!victims || !victims->is_array()) return;
  for (json::Value& victim : victims->items()) {
    // As it was at planning time.
    if (victim["DesiredStatus"].as_string() == "evict")
      victim.set("DesiredStatus", "run"), victim.set("DesiredDescription", ""), victim.set("PreemptedByAllocation", "");
    for (const char* key :
         {"DesiredDescription", "ClientDescription", "FollowupEvalID", "NextAllocation", "PreemptedByAllocation"})
      set_missing(victim, key, "");
    for (const char* key : {"DeploymentStatus", "RescheduleTracker", "PreemptedAllocations", "TaskStates"})
      set_missing(victim, key, nullptr);
    set_missing(victim, "DesiredTransition", model::to_json(model::DesiredTransition()));
    fill_task_states(*victim.find("TaskStates"));
  }
}

json::Value eval_json(const model::Evaluation& eval) {
  json::Value out = model::to_json(eval);
  if (const json::Value* classes = out.find("ClassEligibility"); classes && classes->size() == 0)
    out.erase("ClassEligibility");
  // Maps that are empty, not null, in Nomad.
  const auto made = [](json::Value* of, const char* key) {
    if (json::Value* map = of ? of->find(key) : nullptr; map && map->is_null()) *map = json::Value::object();
  };
  if (json::Value* annotations = out.find("PlanAnnotations")) {
    made(annotations, "DesiredTGUpdates");
    fill_annotations(*annotations);
  }
  if (const json::Value* queued = out.find("QueuedAllocations"); queued && queued->size() == 0)
    out.erase("QueuedAllocations");
  if (json::Value* failed = out.find("FailedTGAllocs"); failed && failed->is_object())
    for (json::Member& group : failed->members()) made(&group.value, "NodesAvailable");
  return out;
}

json::Value eval_stub(const model::Evaluation& eval) {
  json::Value out = json::Value::object();
  out.set("ID", eval.id), out.set("Namespace", eval.namespace_), out.set("Priority", eval.priority);
  out.set("Type", eval.type), out.set("TriggeredBy", eval.triggered_by), out.set("JobID", eval.job_id);
  out.set("NodeID", eval.node_id), out.set("DeploymentID", eval.deployment_id), out.set("Status", eval.status);
  out.set("StatusDescription", eval.status_description);
  out.set("WaitUntil", eval.wait_until.is_zero() ? json::Value() : json::Value(base::to_rfc3339(eval.wait_until)));
  out.set("NextEval", eval.next_eval), out.set("PreviousEval", eval.previous_eval);
  out.set("BlockedEval", eval.blocked_eval), out.set("CreateIndex", eval.create_index);
  out.set("ModifyIndex", eval.modify_index), out.set("CreateTime", eval.create_time);
  out.set("ModifyTime", eval.modify_time);
  return out;
}

// ---------------------------------------------------------------- jobs

json::Value job_summary_json(const model::Job& job, const fsm::JobSummary* summary) {
  static const fsm::JobSummary kNone;
  const fsm::JobSummary& of = summary ? *summary : kNone;
  json::Value out = json::Value::object(), groups = json::Value::object(), children = json::Value::object();
  for (const auto& [name, counts] : of.groups) {
    json::Value group = json::Value::object();
    for (std::size_t bin = 0; bin < fsm::kBins; ++bin) group.set(fsm::kBinNames[bin], counts.counts[bin]);
    groups.members().push_back({std::string(name), std::move(group)});
  }
  children.set("Pending", of.children_pending), children.set("Running", of.children_running);
  children.set("Dead", of.children_dead);
  out.set("JobID", job.id), out.set("Namespace", job.namespace_), out.set("Summary", std::move(groups));
  out.set("Children", std::move(children)), out.set("CreateIndex", of.create_index);
  out.set("ModifyIndex", of.modify_index);
  return out;
}

json::Value job_json(const model::Job& job) {
  json::Value out = model::to_json(job);
  fill_job(out);
  return out;
}

json::Value job_stub(const model::Job& job, const fsm::JobSummary* summary, bool with_meta) {
  json::Value out = json::Value::object(), datacenters = json::Value::array();
  for (const std::string& datacenter : job.datacenters) datacenters.push(datacenter);
  out.set("ID", job.id), out.set("ParentID", *job.parent_id), out.set("Name", job.name);
  out.set("Namespace", job.namespace_), out.set("Datacenters", std::move(datacenters));
  out.set("NodePool", *job.node_pool), out.set("Multiregion", nullptr), out.set("Type", job.type);
  out.set("Priority", job.priority), out.set("Periodic", job.periodic.has_value());
  out.set("ParameterizedJob", model::is_parameterized(job)), out.set("Stop", job.stop);
  out.set("Status", job.status), out.set("StatusDescription", *job.status_description);
  out.set("JobSummary", job_summary_json(job, summary)), out.set("CreateIndex", job.create_index);
  out.set("ModifyIndex", job.modify_index), out.set("JobModifyIndex", job.job_modify_index);
  out.set("SubmitTime", job.submit_time);
  if (with_meta && !job.meta.empty()) {
    json::Value meta = json::Value::object();
    for (const auto& [key, value] : job.meta) meta.members().push_back({key, value});
    out.set("Meta", std::move(meta));
  }
  return out;
}

// ---------------------------------------------------------------- nodes

namespace {

/// The node's last drain; without access control its AccessorID is a constant (R-API-311).
json::Value last_drain(const model::Node& node) {
  json::Value out = node.last_drain;
  if (out.is_object()) set_missing(out, "AccessorID", "token:acls-disabled");
  return out;
}

json::Value node_events(json::Value events) {
  if (!events.is_array()) return events;
  for (json::Value& event : events.items()) {
    set_missing(event, "Details", nullptr);
    set_missing(event, "CreateIndex", 0);
  }
  return events;
}

/// Host of nodes' clients: simulated clients are reached at this server.
constexpr const char* kClientHost = "127.0.0.1";

}  // namespace

json::Value node_json(const model::Node& node) {
  json::Value out = model::to_json(node);
  out.set("SecretID", "");
  out.set("Drain", node.drain_strategy.has_value());
  out.set("LastDrain", last_drain(node)), out.set("Events", node_events(node.events));
  set_missing(out, "GCVolumesOnNodeGC", false);
  set_missing(out, "IdentitySigningKeyID", signing_key());
  for (const char* key : {"CSIControllerPlugins", "CSINodePlugins", "HostVolumes", "Links"})
    if (out[key].is_null()) out.set(key, json::Value::object());
  return out;
}

bool is_in_pool(const tables::Snapshot& state, tables::NodeRow row, const std::string& pool) {
  const std::string* name = state.value_text(tables::kPoolColumn, row);
  return name && *name == pool;
}

json::Value node_stub(const model::Node& node, const NodeStubFields& fields) {
  const auto attribute = [&](const char* key) {
    const auto found = node.attributes.find(key);
    return found == node.attributes.end() ? std::string() : found->second;
  };
  json::Value out = json::Value::object();
  out.set("Address", kClientHost), out.set("ID", node.id);
  if (fields.os) {
    json::Value attributes = json::Value::object();
    attributes.set("os.name", attribute("os.name"));
    out.set("Attributes", std::move(attributes));
  }
  out.set("Datacenter", node.datacenter), out.set("Name", node.name), out.set("NodePool", node.node_pool);
  out.set("NodeClass", node.node_class), out.set("Version", attribute("nomad.version"));
  out.set("Drain", node.drain_strategy.has_value()), out.set("SchedulingEligibility", node.scheduling_eligibility);
  out.set("Status", node.status), out.set("StatusDescription", node.status_description);
  json::Value drivers = json::Value::object();
  for (const auto& [name, driver] : node.drivers)
    drivers.members().push_back({name, driver ? model::to_json(*driver) : nullptr});
  out.set("Drivers", std::move(drivers));
  out.set("HostVolumes", node.host_volumes.empty() ? json::Value::object() : model::to_json(node)["HostVolumes"]);
  out.set("LastDrain", last_drain(node));
  if (fields.resources) {
    out.set("NodeResources", node.node_resources ? model::to_json(*node.node_resources) : nullptr);
    out.set("ReservedResources", node.reserved_resources ? model::to_json(*node.reserved_resources) : nullptr);
  }
  out.set("CreateIndex", node.create_index), out.set("ModifyIndex", node.modify_index);
  return out;
}

}  // namespace berth::http
