// Adapters from recorded vectors to berth: changes of the state by log entries.
#include <algorithm>
#include <set>

#include "conform/control/control_state.h"
#include "conform/recorded_plan.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

using json::Value;

Outcome replay_state_effects(const Vector& vector) {
  auto state = ScriptState::read(vector.whole);
  if (!state) return Outcome::failed(state.error());
  return (*state)->replay(vector,
                          [&](const Field& step, const Value&, Value& got) { return (*state)->carry_out(step, got); });
}

// ---------------------------------------------------------------- the plan applier

using NodeAllocs = std::map<std::string, std::vector<model::Allocation>>;

tl::expected<model::Plan, std::string> read_plan(const Field& value, const model::ReadOptions& options) {
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
    for (const auto& node : value[list.key].members())
      for (const Field& item : node.value.items())
        if (auto done = from_json(item, (*list.to)[node.key].emplace_back(), options); !done)
          return tl::unexpected(done.error().line());
  if (value.has("Deployment"))
    if (auto done = from_json(value["Deployment"], plan.deployment.emplace()); !done)
      return tl::unexpected(done.error().line());
  for (const Field& item : value["DeploymentUpdates"].items())
    if (auto done = from_json(item, plan.deployment_updates.emplace_back()); !done)
      return tl::unexpected(done.error().line());
  return plan;
}

Value texts_to_json(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

/// A plan, its result, and the state afterwards, in the form of the vectors.
class AppliedPlan {
 public:
  /// `view`: the state on which its nodes were checked.
  AppliedPlan(ScriptState& state, const model::Plan& plan, const plan::ApplyResult& result,
              const tables::Snapshot& view, std::int64_t now)
      : store_(state.store()), log_(state.log()), plan_(plan), result_(result), view_(view), now_(now) {
    for (const tables::NodeRow row : result.rejected_nodes) rejected_.push_back(id_of(row));
    for (const tables::NodeRow row : result.ineligible_nodes) ineligible_.push_back(id_of(row));
    emptied_ = plan.all_at_once && !rejected_.empty();
  }

  /// Verdicts in node order; checking ends at an error and at the first rejection of an all-at-once plan.
  [[nodiscard]] Value nodes() const {
    Value out = Value::array();
    std::set<std::string> listed;
    for (const NodeAllocs* lists : {&plan_.node_update, &plan_.node_allocation})
      for (const auto& [node, allocs] : *lists) listed.insert(node);
    const bool failed = !result_.error.empty();
    if (failed && rejected_.empty()) return out;
    for (const std::string& node : listed) {
      const auto at = std::find(rejected_.begin(), rejected_.end(), node);
      const bool fit = at == rejected_.end(), last = !fit && (emptied_ || (failed && at + 1 == rejected_.end()));
      Value entry;
      entry.set("node", node), entry.set("fit", fit);
      entry.set("reason", fit ? "" : result_.reasons[static_cast<std::size_t>(at - rejected_.begin())]);
      entry.set("error", last && failed ? "plan exceeds max allocation" : "");
      out.push(std::move(entry));
      if (last) break;
    }
    return out;
  }

  [[nodiscard]] Value answer() const {
    Value out = Value::object();
    out.set("NodeAllocation", by_node(plan_.node_allocation, [&](Value& list, const model::Allocation& alloc) {
              const tables::AllocRow row = store_.find_alloc(alloc.id);
              const bool known = row != tables::kNoRow && row < view_.allocs.size() && view_.allocs.exists(row);
              Value entry;
              entry.set("ID", alloc.id);
              entry.set("CreateIndex", known ? view_.allocs.create_index[row] : result_.index);
              entry.set("ModifyIndex", result_.index);
              list.push(std::move(entry));
            }));
    const auto put_id = [](Value& list, const model::Allocation& alloc) { list.push(alloc.id); };
    out.set("NodeUpdate", by_node(plan_.node_update, put_id));
    out.set("NodePreemptions", by_node(plan_.node_preemptions, [&](Value& list, const model::Allocation& alloc) {
              if (was_evicted(alloc)) list.push(alloc.id);
            }));
    out.set("RejectedNodes", texts_to_json(rejected_)), out.set("IneligibleNodes", texts_to_json(ineligible_));
    out.set("RefreshIndex", result_.refresh_index), out.set("AllocIndex", result_.index);
    out.set("DeploymentUpdates", emptied_ ? std::uint64_t{0} : plan_.deployment_updates.size());
    if (plan_.deployment && !emptied_) out.set("Deployment", plan_.deployment->id);
    return out;
  }

  /// The commit's payload (R-CTRL-625 to 627), from the present state.
  [[nodiscard]] Value commit() const {
    constexpr auto kSparse = model::WriteMode::sparse;
    Value out = Value::object();
    Value& updated = out.set("AllocsUpdated", Value::array());
    each(plan_.node_allocation, [&](const model::Allocation& alloc) {
      const auto stored = log_.alloc(alloc.id);
      const std::int64_t created = stored ? stored->create_time : alloc.create_time;  // not stored: its job is stopped
      Value item;
      item.set("ID", alloc.id), item.set("CreateTime", created == 0 ? now_ : created), item.set("ModifyTime", now_);
      updated.push(std::move(item));
    });
    Value& stopped = out.set("AllocsStopped", Value::array());
    each(plan_.node_update, [&](const model::Allocation& stop) {
      const auto stored = log_.alloc(stop.id);
      model::Allocation item;
      item.id = stop.id, item.modify_time = stored->modify_time;
      item.desired_description = stop.desired_description;
      item.client_status = stop.client_status.empty() ? stored->client_status : stop.client_status;
      item.followup_eval_id = stored->followup_eval_id;
      stopped.push(model::to_json(item, kSparse));
    });
    Value& preempted = out.set("AllocsPreempted", Value::array());
    each(plan_.node_preemptions, [&](const model::Allocation& alloc) {
      if (!was_evicted(alloc)) return;
      const auto stored = log_.alloc(alloc.id);
      model::Allocation item;
      item.id = alloc.id, item.modify_time = stored->modify_time;
      item.preempted_by_allocation = stored->preempted_by_allocation;
      preempted.push(model::to_json(item, kSparse));
    });
    Value& evals = out.set("PreemptionEvals", Value::array());
    for (const fsm::Hook& hook : result_.hooks) {
      model::Evaluation eval = *store_.current().eval(hook.eval);
      eval.create_index = eval.modify_index = 0;
      evals.push(model::to_json(eval, kSparse));
    }
    if (plan_.deployment && !emptied_) out.set("Deployment", model::to_json(committed_deployment(), kSparse));
    Value& updates = out.set("DeploymentUpdates", Value::array());
    if (!emptied_)
      for (const model::DeploymentStatusUpdate& update : plan_.deployment_updates)
        updates.push(model::to_json(update, kSparse));
    out.set("IneligibleNodes", texts_to_json(ineligible_));
    out.set("EvalID", plan_.eval_id), out.set("UpdatedAt", now_);
    return out;
  }

 private:
  [[nodiscard]] std::string id_of(tables::NodeRow row) const { return base::to_text(store_.current().nodes.id(row)); }
  [[nodiscard]] bool accepted(const std::string& node) const {
    return !emptied_ && std::find(rejected_.begin(), rejected_.end(), node) == rejected_.end();
  }
  [[nodiscard]] bool was_evicted(const model::Allocation& alloc) const {
    const auto stored = log_.alloc(alloc.id);
    return stored && stored->desired_status == "evict" && stored->modify_index == result_.index;
  }
  /// The plan's deployment, with the canaries that were kept (R-CTRL-619).
  [[nodiscard]] model::Deployment committed_deployment() const {
    model::Deployment out = *plan_.deployment;
    const auto stored = log_.deployment(out.id);
    for (auto& [name, group] : out.task_groups)
      std::erase_if(group->placed_canaries, [&, group_name = name](const std::string& id) {
        if (!stored) return true;
        const auto known = stored->task_groups.find(group_name);
        if (known == stored->task_groups.end() || !known->second) return true;
        const auto& kept = known->second->placed_canaries;
        return std::find(kept.begin(), kept.end(), id) == kept.end();
      });
    return out;
  }
  template <class Put>
  [[nodiscard]] Value by_node(const NodeAllocs& lists, Put put) const {
    Value out = Value::object();
    for (const auto& [node, allocs] : lists) {
      if (!accepted(node)) continue;
      Value list = Value::array();
      for (const model::Allocation& alloc : allocs) put(list, alloc);
      if (list.size() > 0) out.set(node, std::move(list));
    }
    return out;
  }
  template <class Put>
  void each(const NodeAllocs& lists, Put put) const {
    for (const auto& [node, allocs] : lists)
      if (accepted(node))
        for (const model::Allocation& alloc : allocs) put(alloc);
  }

  tables::StateStore& store_;
  fsm::StateLog& log_;
  const model::Plan& plan_;
  const plan::ApplyResult& result_;
  const tables::Snapshot& view_;
  const std::int64_t now_;
  std::vector<std::string> rejected_, ineligible_;
  bool emptied_ = false;  // R-CTRL-618
};

/// Submits plans one after the other, with the job as stored (R-CTRL-503). The nodes are checked on a state that is
/// renewed according to R-CTRL-601.
class PlanScript {
 public:
  explicit PlanScript(ScriptState& state) : state_(state) {}

  void submit(model::Plan plan, std::int64_t now, const Field& recorded, Value& got) {
    fsm::StateLog& log = state_.log();
    model::normalize(plan);
    plan.job = log.job(plan.job_namespace, plan.job_id);
    if (!plan.job) {
      got.set("nodes", Value::array());
      got.set("error", "job \"" + plan.job_id + "\" in namespace \"" + plan.job_namespace + "\" not found");
      return;
    }
    const RecordedPlan rows(state_.store(), plan);
    if (!view_ || view_->index < std::max(last_commit_, plan.snapshot_index)) view_ = state_.store().snapshot();
    // Evaluations of preempted jobs get the IDs recorded in the commit.
    const auto evals = recorded["commit"]["PreemptionEvals"].items();
    std::size_t drawn = 0;
    const std::function<base::Uuid()> draw_id = [&] {
      if (drawn >= evals.size()) return base::Uuid{~0ULL, ~0ULL};
      const auto id = base::parse_uuid(evals[drawn]["ID"].as_string());
      if (!id) evals[drawn].fail("is no UUID", "/ID");
      return ++drawn, *id;
    };
    plan::CommitFacts facts;
    facts.index = log.next_index();
    facts.all_at_once = plan.all_at_once;
    facts.now_ns = now;
    facts.eval = base::parse_uuid(plan.eval_id).value_or(base::Uuid{});
    facts.draw_id = &draw_id;
    facts.view = &*view_;
    plan::ApplyResult result;
    state_.server().applier().apply(rows.rows(), facts, result);
    const AppliedPlan applied(state_, plan, result, *view_, now);
    got.set("error", result.error);
    got.set("nodes", applied.nodes());
    if (result.error.empty()) got.set("result", applied.answer());
    if (result.index != 0) {
      got.set("commit", applied.commit());
      Value entry;
      entry.set("index", result.index), entry.set("kind", "plan_results");
      got.set("entries", Value::array()).push(std::move(entry));
    }
    if (!result.index_used) return;
    last_commit_ = facts.index;
    view_.reset();
  }

 private:
  ScriptState& state_;
  tables::SnapshotRef view_;
  std::uint64_t last_commit_ = 0;
};

Outcome replay_plan_apply(const Vector& vector) {
  auto state = ScriptState::read(vector.whole);
  if (!state) return Outcome::failed(state.error());
  const Field& config = vector.whole["config"];
  if (config.has("rejection_tracker")) {
    plan::RejectionLimits limits;
    limits.threshold = config["rejection_tracker"]["threshold"].as_int();
    limits.window_ns = config["rejection_tracker"]["window"].as_int();
    (*state)->server().applier().track_rejections(limits);
  }
  if (config["plan_apply_pipeline"].as_int(1) != 1) return Outcome::unsupported("several commits in flight");
  PlanScript plans(**state);
  const auto carry_out = [&](const Field& step, const Field& recorded, Value& got) -> tl::expected<void, std::string> {
    if (step["op"].as_string() != "plan") return (*state)->carry_out(step, got);
    auto plan = read_plan(step["plan"], (*state)->read_options());
    if (!plan) return tl::unexpected(plan.error());
    plans.submit(std::move(*plan), kScriptStartNs + step["at"].as_script_ns(), recorded, got);
    return {};
  };
  return (*state)->replay(vector, carry_out, {"calls"});
}

/// One node, checked in the same way.
Outcome replay_plan_nodes(const Vector& vector) {
  model::JobTable jobs;
  for (const Field& job : vector.whole["jobs"].items()) {
    auto object = std::make_shared<model::Job>();
    if (auto done = from_json(job, *object); !done) return Outcome::failed(done.error().line());
    jobs.push_back(std::move(object));
  }
  model::ReadOptions options;
  options.jobs = &jobs;
  model::ClusterState cluster;
  if (vector.in.has("node"))
    if (auto done = from_json(vector.in["node"], cluster.nodes.emplace_back()); !done)
      return Outcome::failed(done.error().line());
  for (const Field& item : vector.in["allocs"].items())
    if (auto done = from_json(item, cluster.allocs.emplace_back(), options); !done)
      return Outcome::failed(done.error().line());
  std::vector<model::Allocation> placed(vector.in["NodeAllocation"].size());
  std::vector<plan::NodeEntry> entries(placed.size());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (auto done = from_json(vector.in["NodeAllocation"][i], placed[i], options); !done)
      return Outcome::failed(done.error().line());
    entries[i] = plan::entry_of(placed[i], nullptr);
  }
  std::vector<base::Uuid> leaving;
  for (const char* key : {"NodeUpdate", "NodePreemptions"})
    for (const Field& item : vector.in[key].items())
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
