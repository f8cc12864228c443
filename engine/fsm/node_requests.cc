#include "fsm/node_requests.h"

#include <algorithm>
#include <set>

#include "base/assert.h"
#include "base/json.h"
#include "base/later.h"
#include "base/text.h"
#include "fsm/volume_users.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

namespace {

NodeAnswer refused_on_node(std::string why) {
  NodeAnswer answer;
  answer.error = std::move(why);
  return answer;
}

bool is_node_status(std::string_view status) {
  return status == "initializing" || status == "ready" || status == "down" || status == "disconnected";
}

NodeEvent cluster_event(std::string message, std::int64_t now) { return {std::move(message), "Cluster", now, {}}; }

bool has_event(const model::Node& node, std::string_view message) {
  const json::Array& events = node.events.items();
  return std::any_of(events.begin(), events.end(),
                     [&](const json::Value& event) { return event["Message"].as_string() == message; });
}

constexpr const char* kWaitsForPool = "Node registered but waiting for node pool to be created";

/// True if a registration changes the basis of scheduling (R-CTRL-908); resources and the pool are not compared.
bool changes_evaluations(const model::Node& before, const model::Node& after) {
  const auto devices = [](const model::Node& node) {
    return node.node_resources ? node.node_resources->devices : std::vector<model::NodeDevice>{};
  };
  return before.id != after.id || before.datacenter != after.datacenter || before.name != after.name ||
         before.node_class != after.node_class || before.attributes != after.attributes || before.meta != after.meta ||
         before.drivers != after.drivers || before.host_volumes != after.host_volumes ||
         devices(before) != devices(after);
}

/// True if the allocation causes no evaluation of its job when its node changes (R-CTRL-951). System jobs are evaluated
/// without allocations (R-CTRL-952), sysbatch jobs never.
bool is_skipped(std::string_view job_type, tables::Desired desired, tables::Client client) {
  if (job_type == "service") return tables::server_terminal(desired) && tables::client_terminal(client);
  if (job_type == "batch") return tables::client_terminal(client);
  return true;
}

/// The node's allocations in the order of R-CTRL-104: non-terminal ones by ID, then terminal ones by ID.
std::vector<AllocRow> allocs_of_node(const tables::Snapshot& state, NodeRow node) {
  std::vector<AllocRow> rows;
  if (node == kNoRow) return rows;
  const tables::AllocTable& allocs = state.allocs;
  for (const AllocRow head : {state.nodes.use[node].alloc_head, state.nodes.use[node].ended_head})
    for (AllocRow row = head; row != kNoRow; row = allocs.next_on_node[row]) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](AllocRow a, AllocRow b) {
    const bool a_ended = allocs.terminal(a), b_ended = allocs.terminal(b);
    return a_ended != b_ended ? b_ended : allocs.id[a] < allocs.id[b];
  });
  return rows;
}

}  // namespace

bool NodeRequests::pool_exists(const std::string& name) const {
  if (name == "default" || name == "all") return true;
  const auto& pools = log_.store().current().cold->node_pools;
  return std::any_of(pools.begin(), pools.end(), [&](const model::NodePool& pool) { return pool.name == name; });
}

// ---------------------------------------------------------------- evaluations

void NodeRequests::evaluate_node(NodeAnswer& answer, const model::Node& node, std::uint64_t node_modify_index,
                                 std::int64_t now) {
  const tables::Snapshot& state = log_.store().current();
  const std::vector<AllocRow> allocs = allocs_of_node(state, log_.store().find_node(node.id));
  std::vector<const model::Job*> system_jobs;  // R-CTRL-952
  for (const auto& [name, job] : log_.system_jobs())
    if (!job->stop && (job->node_pool == "all" || model::is_in_pool(node, *job->node_pool)) &&
        model::is_in_datacenters(node, job->datacenters))
      system_jobs.push_back(job.get());
  if (allocs.empty() && system_jobs.empty()) return;  // R-CTRL-955
  std::vector<model::Evaluation> evals;
  std::set<std::pair<std::string_view, std::string_view>> known;
  const auto add = [&](std::string_view name_space, std::string_view job_id, const std::string& type,
                       std::int64_t priority) {
    if (!known.emplace(name_space, job_id).second) return;
    model::Evaluation& eval = evals.emplace_back();
    eval.id = next_id_();
    eval.namespace_ = name_space, eval.job_id = job_id;
    eval.type = type, eval.priority = priority;
    eval.triggered_by = "node-update";  // R-CTRL-216
    eval.node_id = node.id, eval.node_modify_index = node_modify_index;
    eval.status = "pending";
    eval.create_time = eval.modify_time = now;
  };
  for (const AllocRow row : allocs) {
    const tables::VersionRow version = state.allocs.job[row];
    if (version == kNoRow) continue;
    const model::Job& job = *state.jobs.versions[version]->spec;
    if (is_skipped(job.type, state.allocs.desired[row], state.allocs.client[row])) continue;
    const tables::JobKey& key = state.jobs.keys[state.allocs.job_key[row]];
    add(state.text(key.job_namespace), state.text(key.job_id), job.type, job.priority);
  }
  for (const model::Job* job : system_jobs) add(job->namespace_, job->id, job->type, job->priority);
  for (const model::Evaluation& eval : evals) answer.eval_ids.push_back(eval.id);
  NodeAnswer written;
  write(written, "eval_update", evals);
  answer.eval_create_index = written.index;
  answer.entries.push_back(std::move(written.entries.front()));
  answer.hooks.insert(answer.hooks.end(), written.hooks.begin(), written.hooks.end());
}

// ---------------------------------------------------------------- requests

NodeAnswer NodeRequests::register_node(model::Node node, std::int64_t now, bool restarted) {
  if (node.status.empty()) node.status = "initializing";  // R-CTRL-901
  if (node.scheduling_eligibility.empty()) node.scheduling_eligibility = "eligible";
  if (node.node_pool.empty()) node.node_pool = "default";
  if (!is_node_status(node.status)) return refused_on_node("invalid status for node");
  const auto stored = log_.node(node.id);
  if (stored) {  // R-CTRL-902
    if (stored->secret_id != node.secret_id)
      return refused_on_node("node secret ID does not match. Not registering node.");
    node.status = stored->status;
  }
  node.status_updated_at = now / base::kSecond;
  node.computed_class = model::computed_class(node);
  NodeAnswer answer;
  write(answer, "node_register", NodeRegisterEntry{node});
  if (!answer.error.empty()) return answer;
  answer.node_modify_index = answer.index;
  const bool joins = !stored && (node.status == "ready" || node.status == "disconnected");
  const bool changes = stored && ((restarted && !node.drivers.empty()) || changes_evaluations(*stored, node));
  if (node.status == "down" || joins || changes)  // R-CTRL-908
    evaluate_node(answer, node, answer.index, now);
  answer.resets_timer = node.status != "down";  // R-CTRL-909
  return answer;
}

NodeAnswer NodeRequests::update_status(const std::string& node_id, const std::string& status, std::int64_t now) {
  if (!is_node_status(status)) return refused_on_node("invalid status for node");
  const auto stored = log_.node(node_id);
  if (!stored) return refused_on_node("node not found");
  std::string wanted = status;
  std::optional<NodeEvent> event;
  if (status == "ready" && stored->status == "disconnected") wanted = "initializing";  // R-CTRL-924
  if (status == "ready" && stored->status == "initializing") {
    const tables::Snapshot& state = log_.store().current();
    const std::vector<AllocRow> allocs = allocs_of_node(state, log_.store().find_node(node_id));
    const bool runs_something = !allocs.empty() && !state.allocs.terminal(allocs.front());
    if (runs_something && stored->last_alloc_update_index <= stored->last_missed_heartbeat_index)
      wanted = "initializing";              // R-CTRL-922
    if (!pool_exists(stored->node_pool)) {  // R-CTRL-923
      wanted = "initializing";
      if (!has_event(*stored, kWaitsForPool)) {
        event = cluster_event(kWaitsForPool, now);
        event->details.emplace_back("node_pool", stored->node_pool);
      }
    }
  }
  return change_status(*stored, wanted, std::move(event), now);
}

NodeAnswer NodeRequests::change_status(const model::Node& stored, const std::string& status,
                                       std::optional<NodeEvent> event, std::int64_t now) {
  NodeAnswer answer;
  if (stored.status == "down" && status != "down") {  // R-CTRL-928
    BERTH_ASSERT(!event);                             // the only event of a node that is down is a missed heartbeat
    event = cluster_event("Node reregistered by heartbeat", now);
  }
  if (stored.status != status || event) {  // R-CTRL-927
    write(answer, "node_status", NodeStatusEntry{stored.id, status, now / base::kSecond, std::move(event)});
    if (!answer.error.empty()) return answer;
    answer.node_modify_index = answer.index;
  }
  const bool joins = status == "ready" && (stored.status == "initializing" || stored.status == "down");
  const bool returns = stored.status == "disconnected" && status != "disconnected";
  const bool leaves = stored.status != "disconnected" && status == "disconnected";
  if (status == "down" || joins || returns || leaves)  // R-CTRL-929
    evaluate_node(answer, stored, answer.node_modify_index, now);
  answer.resets_timer = status != "down";  // R-CTRL-930
  return answer;
}

bool NodeRequests::may_reconnect(const model::Node& node, std::int64_t now) const {
  if (node.status == "down" || node.status == "initializing") return false;
  const tables::Snapshot& state = log_.store().current();
  for (const AllocRow row : allocs_of_node(state, log_.store().find_node(node.id))) {
    if (tables::server_terminal(state.allocs.desired[row]) || state.allocs.job[row] == kNoRow) continue;
    if (!log_.quirks().finished_allocs_hold_node && tables::client_terminal(state.allocs.client[row])) continue;
    const model::TaskGroup* group =
        state.jobs.versions[state.allocs.job[row]]->spec->group(state.text(state.allocs.group[row]));
    if (!group || model::lost_after(*group) <= 0) continue;
    if (state.allocs.client[row] != tables::Client::unknown || !model::is_expired(tables::to_alloc(state, row), now))
      return true;
  }
  return false;
}

NodeAnswer NodeRequests::heartbeat_missed(const std::string& node_id, std::int64_t now) {
  const auto stored = log_.node(node_id);
  if (!stored) return refused_on_node("node not found");
  return change_status(*stored, may_reconnect(*stored, now) ? "disconnected" : "down",
                       cluster_event("Node heartbeat missed", now), now);
}

NodeAnswer NodeRequests::set_eligibility(const std::string& node_id, const std::string& eligibility, std::int64_t now) {
  const auto stored = log_.node(node_id);
  if (!stored) return refused_on_node("node not found");
  const bool eligible = eligibility == "eligible";
  if (!eligible && eligibility != "ineligible") return refused_on_node("invalid scheduling eligibility " + eligibility);
  if (eligible && stored->drain_strategy)  // R-CTRL-960
    return refused_on_node("can not set node's scheduling eligibility to eligible while it is draining");
  NodeAnswer answer;
  if (stored->scheduling_eligibility == eligibility) return answer;
  NodeEligibilityEntry entry{node_id, eligible, now / base::kSecond, {}};
  entry.event = cluster_event(
      eligible ? "Node marked as eligible for scheduling" : "Node marked as ineligible for scheduling", now);
  write(answer, "node_eligibility", entry);
  if (!answer.error.empty()) return answer;
  answer.node_modify_index = answer.index;
  if (eligible) evaluate_node(answer, *stored, answer.index, now);  // R-CTRL-961
  return answer;
}

NodeAnswer NodeRequests::drain(const DrainNode& request, std::int64_t now) {
  const auto stored = log_.node(request.node_id);
  if (!stored) return refused_on_node("node not found");
  NodeDrainEntry entry;
  entry.updated_at = now;
  NodeDrainEntry::Update& update = entry.updates.emplace_back();
  update.node_id = request.node_id;
  update.meta = request.meta;
  const bool was_draining = stored->drain_strategy.has_value();
  const auto drain_event = [&](const char* message) { return NodeEvent{message, "Drain", now, {}}; };
  update.mark_eligible = request.mark_eligible;
  if (request.clear) {
    if (was_draining) update.event = drain_event("Node drain disabled");  // R-CTRL-1004
  } else {
    model::DrainStrategy& strategy = update.strategy.emplace();
    strategy.deadline = request.deadline;
    strategy.ignore_system_jobs = request.ignore_system_jobs;
    strategy.started_at = was_draining ? stored->drain_strategy->started_at : base::Time{now};  // R-CTRL-1002
    if (request.deadline > 0) strategy.force_deadline = base::Time{base::later(now, request.deadline)};
    update.event = drain_event(was_draining ? "Node drain strategy updated" : "Node drain strategy set");
  }
  NodeAnswer answer;
  write(answer, "node_drain", entry);
  if (!answer.error.empty()) return answer;
  answer.node_modify_index = answer.index;
  if (request.clear && request.mark_eligible && stored->scheduling_eligibility == "ineligible")  // R-CTRL-1006
    evaluate_node(answer, *stored, answer.index, now);
  return answer;
}

NodeAnswer NodeRequests::deregister(const std::vector<std::string>& node_ids, std::int64_t now, bool machine_gone) {
  std::vector<model::Node> stored;
  for (const std::string& id : node_ids) {
    auto node = log_.node(id);
    if (!node) return refused_on_node("node not found");  // R-CTRL-963
    const tables::Snapshot& state = log_.store().current();
    if (!machine_gone)
      if (std::string why = node_volume_in_use(state, log_.store().find_node(id)); !why.empty())
        return refused_on_node(std::move(why));
    stored.push_back(std::move(*node));
  }
  NodeAnswer answer;
  write(answer, "node_deregister_batch", NodeDeregisterEntry{node_ids});
  if (!answer.error.empty()) return answer;
  answer.node_modify_index = answer.index;
  answer.clears_timers = true;
  for (const model::Node& node : stored) evaluate_node(answer, node, answer.node_modify_index, now);
  return answer;
}

NodeAnswer NodeRequests::evaluate(const std::string& node_id, std::int64_t now) {
  const auto stored = log_.node(node_id);
  if (!stored) return refused_on_node("node not found");
  NodeAnswer answer;
  evaluate_node(answer, *stored, stored->modify_index, now);
  return answer;
}

}  // namespace berth::fsm
