// Adapters from recorded vectors to berth: what log entries change in the state.
#include "conform/control_state.h"
#include "plan/apply_model.h"

namespace berth::conform {
namespace {

using json::Value;

constexpr std::string_view kIgnored[] = {"ids"};

/// Modify indexes of summaries may be ignored (FORMAT-control.md).
void drop_summary_indexes(Value& answer) {
  Value* diff = answer.find("diff");
  if (!diff) return;
  Value* summaries = diff->find("JobSummaries");
  if (!summaries) return;
  for (json::Member& entry : summaries->members()) {
    entry.value.erase("ModifyIndex");
    if (Value* changed = entry.value.find("changed")) changed->erase("ModifyIndex");
  }
}

Outcome replay_state_effects(const Vector& vector) {
  auto state = ScriptState::read(vector.whole);
  if (!state) return Outcome::failed(state.error());
  json::Value whole = vector.whole;
  for (Value& answer : whole.find("out")->items()) drop_summary_indexes(answer);
  const Vector stripped{whole, whole, vector.out, vector.path, vector.name};
  ScriptOptions options;
  options.ignored = kIgnored;
  const ScriptStep step = [&](const Value& operation, std::size_t index) -> tl::expected<Value, std::string> {
    DrawnIds ids(whole["out"][index]);
    Value got = Value::object();
    auto done = (*state)->carry_out(operation, ids, got);
    if (!done) return tl::unexpected(done.error());
    if (!*done) return tl::unexpected("operation " + operation["op"].as_string());
    got.set("diff", (*state)->take_diff(whole["out"][index]["diff"]));
    return got;
  };
  return replay_script(stripped, step, options);
}

// ---------------------------------------------------------------- the plan applier

using NodeAllocs = std::map<std::string, std::vector<model::Allocation>>;

tl::expected<model::Plan, std::string> read_plan(const Value& value, const model::ReadOptions& options) {
  model::Plan plan;
  plan.eval_id = value["EvalID"].as_string();
  plan.priority = value["Priority"].as_int();
  plan.all_at_once = value["AllAtOnce"].as_bool();
  plan.snapshot_index = value["SnapshotIndex"].as_uint();
  plan.job_namespace = value["Job"]["Namespace"].as_string();
  plan.job_id = value["Job"]["ID"].as_string();
  struct List {
    const char* key;
    NodeAllocs* to;
  };
  for (const List& list : {List{"NodeUpdate", &plan.node_update}, List{"NodeAllocation", &plan.node_allocation},
                           List{"NodePreemptions", &plan.node_preemptions}})
    for (const json::Member& node : value[list.key].members())
      for (const Value& item : node.value.items())
        if (auto done = model::from_json(item, (*list.to)[node.key].emplace_back(), options); !done)
          return tl::unexpected(done.error().line());
  if (value.has("Deployment"))
    if (auto done = model::from_json(value["Deployment"], plan.deployment.emplace()); !done)
      return tl::unexpected(done.error().line());
  for (const Value& item : value["DeploymentUpdates"].items())
    if (auto done = model::from_json(item, plan.deployment_updates.emplace_back()); !done)
      return tl::unexpected(done.error().line());
  return plan;
}

Value ids_by_node(const NodeAllocs& lists, bool indexes) {
  Value out = Value::object();
  for (const auto& [node_id, allocs] : lists) {
    Value& list = out.set(node_id, Value::array());
    for (const model::Allocation& alloc : allocs) {
      if (!indexes) {
        list.push(alloc.id);
        continue;
      }
      Value entry;
      entry.set("ID", alloc.id), entry.set("CreateIndex", alloc.create_index);
      entry.set("ModifyIndex", alloc.modify_index);
      list.push(std::move(entry));
    }
  }
  return out;
}

Value texts_to_json(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

/// A commit payload as the vectors print it.
Value commit_to_json(const log::PlanEntry& entry) {
  constexpr auto kSparse = model::WriteMode::sparse;
  Value out = Value::object();
  Value& updated = out.set("AllocsUpdated", Value::array());
  for (const model::Allocation& alloc : entry.updated) {
    Value item;
    item.set("ID", alloc.id), item.set("CreateTime", alloc.create_time), item.set("ModifyTime", alloc.modify_time);
    updated.push(std::move(item));
  }
  Value& stopped = out.set("AllocsStopped", Value::array());
  for (const model::Allocation& alloc : entry.stopped) stopped.push(model::to_json(alloc, kSparse));
  Value& preempted = out.set("AllocsPreempted", Value::array());
  for (const model::Allocation& alloc : entry.preempted) preempted.push(model::to_json(alloc, kSparse));
  Value& evals = out.set("PreemptionEvals", Value::array());
  for (const model::Evaluation& eval : entry.preemption_evals) evals.push(model::to_json(eval, kSparse));
  if (entry.deployment) out.set("Deployment", model::to_json(*entry.deployment, kSparse));
  Value& updates = out.set("DeploymentUpdates", Value::array());
  for (const model::DeploymentStatusUpdate& update : entry.deployment_updates)
    updates.push(model::to_json(update, kSparse));
  out.set("IneligibleNodes", texts_to_json(entry.ineligible_nodes));
  out.set("EvalID", entry.eval_id), out.set("UpdatedAt", entry.updated_at);
  return out;
}

Outcome replay_plan_apply(const Vector& vector) {
  auto state = ScriptState::read(vector.whole);
  if (!state) return Outcome::failed(state.error());
  json::Value whole = vector.whole;
  for (Value& answer : whole.find("out")->items()) drop_summary_indexes(answer);
  const Vector stripped{whole, whole, vector.out, vector.path, vector.name};
  const Value& config = whole["config"];
  std::optional<plan::RejectionLimits> limits;
  if (config.has("rejection_tracker")) {
    limits.emplace();
    limits->threshold = config["rejection_tracker"]["threshold"].as_int();
    limits->window_ns = config["rejection_tracker"]["window"].as_int();
  }
  if (config["plan_apply_pipeline"].as_int(1) != 1) return Outcome::unsupported("several commits in flight");
  // Evaluations of preempted jobs get the IDs that were recorded in the commit.
  const Value* recorded_evals = nullptr;
  std::size_t drawn = 0;
  plan::ModelApplier applier(
      (*state)->log(), [&] { return recorded_evals ? (*recorded_evals)[drawn++]["ID"].as_string() : std::string(); },
      limits);
  ScriptOptions options;
  static constexpr std::string_view kIgnoredOfPlans[] = {"ids", "calls"};
  options.ignored = kIgnoredOfPlans;
  const ScriptStep step = [&](const Value& operation, std::size_t index) -> tl::expected<Value, std::string> {
    const Value& recorded = whole["out"][index];
    Value got = Value::object();
    if (operation["op"].as_string() != "plan") {
      DrawnIds ids(recorded);
      auto done = (*state)->carry_out(operation, ids, got);
      if (!done) return tl::unexpected(done.error());
      if (!*done) return tl::unexpected("operation " + operation["op"].as_string());
      got.set("diff", (*state)->take_diff(whole["out"][index]["diff"]));
      return got;
    }
    auto plan = read_plan(operation["plan"], (*state)->read_options());
    if (!plan) return tl::unexpected(plan.error());
    recorded_evals = &recorded["commit"]["PreemptionEvals"];
    drawn = 0;
    const plan::ModelApplyResult done = applier.apply(std::move(*plan), kScriptStartNs + operation["at"].as_int());
    got.set("error", done.error);
    Value& nodes = got.set("nodes", Value::array());
    for (const plan::NamedVerdict& node : done.nodes) {
      Value entry;
      entry.set("node", node.node_id), entry.set("fit", node.verdict.fit), entry.set("reason", node.verdict.reason);
      entry.set("error", node.verdict.error);
      nodes.push(std::move(entry));
    }
    if (done.error.empty()) {
      const model::PlanResult& result = done.result;
      Value& out = got.set("result", Value::object());
      out.set("NodeAllocation", ids_by_node(result.node_allocation, true));
      out.set("NodeUpdate", ids_by_node(result.node_update, false));
      out.set("NodePreemptions", ids_by_node(result.node_preemptions, false));
      out.set("RejectedNodes", texts_to_json(result.rejected_nodes));
      out.set("IneligibleNodes", texts_to_json(result.ineligible_nodes));
      out.set("RefreshIndex", result.refresh_index), out.set("AllocIndex", result.alloc_index);
      out.set("DeploymentUpdates", static_cast<std::uint64_t>(result.deployment_updates.size()));
      if (result.deployment) out.set("Deployment", result.deployment->id);
    }
    if (done.committed) {
      got.set("commit", commit_to_json(done.entry));
      Value entry;
      entry.set("index", done.result.alloc_index), entry.set("kind", "plan_results");
      got.set("entries", Value::array()).push(std::move(entry));
    }
    got.set("diff", (*state)->take_diff(whole["out"][index]["diff"]));
    return got;
  };
  return replay_script(stripped, step, options);
}

/// One node, judged by the same check.
Outcome replay_plan_nodes(const Vector& vector) {
  model::JobTable jobs;
  for (const Value& job : vector.whole["jobs"].items()) {
    auto object = std::make_shared<model::Job>();
    if (auto done = model::from_json(job, *object); !done) return Outcome::failed(done.error().line());
    jobs.push_back(std::move(object));
  }
  model::ReadOptions options;
  options.jobs = &jobs;
  model::ClusterState cluster;
  if (vector.in.has("node"))
    if (auto done = model::from_json(vector.in["node"], cluster.nodes.emplace_back()); !done)
      return Outcome::failed(done.error().line());
  for (const Value& item : vector.in["allocs"].items())
    if (auto done = model::from_json(item, cluster.allocs.emplace_back(), options); !done)
      return Outcome::failed(done.error().line());
  std::vector<model::Allocation> placed(vector.in["NodeAllocation"].size());
  std::vector<plan::NodeEntry> entries(placed.size());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (auto done = model::from_json(vector.in["NodeAllocation"][i], placed[i], options); !done)
      return Outcome::failed(done.error().line());
    plan::NodeEntry& entry = entries[i];
    entry.id = base::parse_uuid(placed[i].id).value_or(base::Uuid{});
    entry.client = tables::parse_client(placed[i].client_status).value_or(tables::Client::pending);
    entry.consumes = !tables::client_terminal(entry.client);
    entry.resources = placed[i].allocated_resources ? &*placed[i].allocated_resources : nullptr;
    entry.group = placed[i].job ? placed[i].job->group(placed[i].task_group) : nullptr;
  }
  std::vector<base::Uuid> leaving;
  for (const char* key : {"NodeUpdate", "NodePreemptions"})
    for (const Value& item : vector.in[key].items())
      leaving.push_back(base::parse_uuid(item["ID"].as_string()).value_or(base::Uuid{}));
  tables::StateStore store;
  store.load(cluster);
  plan::NodeVerdict verdict;
  if (!entries.empty()) {
    plan::NodeCheck check;
    verdict = check.check(store.current(), store.find_node(vector.in["node_id"].as_string()), entries, leaving);
  }
  Value got;
  got.set("fit", verdict.fit), got.set("reason", verdict.reason), got.set("error", verdict.error);
  return Outcome::from(compare(vector.out, got, {.rule = "R-CTRL-609 to 613"}));
}

}  // namespace

std::span<const Component> control_log_components() {
  static constexpr Component kComponents[] = {
      {"jobs", replay_state_effects},
      {"plan_apply", replay_plan_apply},
      {"plan_nodes", replay_plan_nodes},
      {"state_effects", replay_state_effects},
  };
  return kComponents;
}

}  // namespace berth::conform
