#include "conform/control/control_state.h"

#include <fmt/format.h>

#include <type_traits>

#include "conform/recorded_plan.h"
#include "io/cluster_json.h"
#include "model/job.h"

namespace berth::conform {

using json::Value;

namespace {

constexpr std::size_t kRecordedTables = 6;  // recordings do not contain tables from fsm::Table::node_pools on

/// from_json(), and checks that the tables can store the priorities.
template <class T>
Result<void> read(const Field& value, T& out, const model::ReadOptions& options) {
  auto done = from_json(value, out, options);
  const char* member = nullptr;
  if constexpr (std::is_same_v<T, model::Evaluation>)
    if (!io::is_priority(out.priority)) member = "/Priority";
  if constexpr (std::is_same_v<T, model::Deployment>)
    if (!io::is_priority(out.eval_priority)) member = "/EvalPriority";
  if (member) value.fail("is out of range", member);
  return done;
}

template <class T>
tl::expected<std::vector<T>, std::string> read_list(const Field& list, const model::ReadOptions& options) {
  std::vector<T> out(list.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (auto done = read(list[i], out[i], options); !done) return tl::unexpected(done.error().line());
  return out;
}

template <class T>
tl::expected<std::optional<T>, std::string> read_optional(const Field& value, const model::ReadOptions& options) {
  std::optional<T> out;
  if (value.is_null()) return out;
  if (auto done = read(value, out.emplace(), options); !done) return tl::unexpected(done.error().line());
  return out;
}

std::vector<std::string> texts(const Field& list) {
  std::vector<std::string> out;
  for (const Field& item : list.items()) out.push_back(item.as_string());
  return out;
}

Value summary_to_json(const std::string& name_space, const std::string& job_id, const fsm::JobSummary& summary) {
  Value out;
  out.set("Namespace", name_space), out.set("JobID", job_id);
  out.set("CreateIndex", summary.create_index);
  Value& children = out.set("Children", Value::object());
  children.set("Pending", summary.children_pending), children.set("Running", summary.children_running);
  children.set("Dead", summary.children_dead);
  Value& groups = out.set("Summary", Value::object());
  for (const auto& [name, group] : summary.groups) {
    Value& entry = groups.set(name, Value::object());
    for (std::size_t bin = 0; bin < fsm::kBins; ++bin) entry.set(fsm::kBinNames[bin], group.counts[bin]);
  }
  return out;
}

fsm::JobSummary read_summary(const Field& value) {
  fsm::JobSummary out;
  out.create_index = value["CreateIndex"].as_uint(), out.modify_index = value["ModifyIndex"].as_uint();
  const Field& children = value["Children"];
  out.children_pending = children["Pending"].as_int(), out.children_running = children["Running"].as_int();
  out.children_dead = children["Dead"].as_int();
  for (const auto& group : value["Summary"].members())
    for (std::size_t bin = 0; bin < fsm::kBins; ++bin)
      out.groups[group.key].counts[bin] = group.value[fsm::kBinNames[bin]].as_int();
  return out;
}

bool is_zero_of_a_field(const Field& value) {
  return value.is_null() || (value.is_bool() && !value.as_bool()) || (value.is_int() && value.as_int() == 0) ||
         (value.is_string() && value.as_string().empty()) || ((value.is_array() || value.is_object()) && !value.size());
}

/// The changed fields of an object; null if a value became zero.
Value changed_fields(const Field& before, const Field& after) {
  Value out = Value::object();
  const CompareOptions options;
  for (const auto& field : after.members())
    if (!compare(before[field.key], field.value, options).empty()) out.set(field.key, field.value);
  for (const auto& field : before.members())
    if (!after.has(field.key) && !is_zero_of_a_field(field.value)) out.set(field.key, nullptr);
  return out;
}

}  // namespace

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

// ---------------------------------------------------------------- reading

ScriptState::ScriptState()
    : server_(
          [this] {
            server::Config config;
            config.retain = true;
            config.broker.evals = config.broker.jobs = 1;  // nothing is queued
            config.draw_id = [this] { return base::parse_uuid(ids_->next()).value_or(base::Uuid{}); };
            return config;
          }(),
          clock_),
      log_(server_.log()) {}

model::ReadOptions ScriptState::read_options() const {
  model::ReadOptions options;
  options.jobs = &jobs_;
  return options;
}

std::shared_ptr<const model::Job> ScriptState::job(const Field& index) const {
  if (!index.is_int() || index.as_uint() >= jobs_.size()) return nullptr;
  return jobs_[index.as_uint()];
}

tl::expected<std::unique_ptr<ScriptState>, std::string> ScriptState::read(const Field& vector) {
  auto out = std::unique_ptr<ScriptState>(new ScriptState());
  for (const Field& job : vector["jobs"].items()) {
    auto object = std::make_shared<model::Job>();
    if (auto done = from_json(job, *object); !done) return tl::unexpected(done.error().line());
    if (const std::string problem = io::job_problem(*object); !problem.empty()) job.fail(problem);
    out->jobs_.push_back(std::move(object));
  }
  const Field& state = vector["state"];
  const model::ReadOptions options = out->read_options();
  model::ClusterState cluster;
  for (const Field& index : state["Jobs"].items())
    cluster.jobs.push_back(out->jobs_[index.as_index(out->jobs_.size())]);
  for (const Field& index : state["JobVersions"].items())
    cluster.job_versions.push_back(out->jobs_[index.as_index(out->jobs_.size())]);
  auto nodes = read_list<model::Node>(state["Nodes"], options);
  auto allocs = read_list<model::Allocation>(state["Allocs"], options);
  auto evals = read_list<model::Evaluation>(state["Evals"], options);
  auto deployments = read_list<model::Deployment>(state["Deployments"], options);
  if (!nodes) return tl::unexpected(nodes.error());
  if (!allocs) return tl::unexpected(allocs.error());
  if (!evals) return tl::unexpected(evals.error());
  if (!deployments) return tl::unexpected(deployments.error());
  cluster.nodes = std::move(*nodes), cluster.allocs = std::move(*allocs), cluster.evals = std::move(*evals);
  cluster.deployments = std::move(*deployments);
  if (!state.has("Namespaces")) cluster.namespaces.emplace_back().name = "default";
  for (const Field& name : state["Namespaces"].items()) cluster.namespaces.emplace_back().name = name.as_string();
  for (const Field& name : state["NodePools"].items()) cluster.node_pools.emplace_back().name = name.as_string();
  std::uint64_t index = 0;
  for (const Field& table : state["TableIndexes"].items()) index = std::max(index, table["Index"].as_uint());
  cluster.index = index;
  out->server_.load(cluster);
  for (const Field& table : state["TableIndexes"].items())
    for (std::size_t i = 0; i < kRecordedTables; ++i)
      if (table["Table"].as_string() == fsm::kTableNames[i])
        out->log_.set_table_index(static_cast<fsm::Table>(i), table["Index"].as_uint());
  for (const Field& summary : state["JobSummaries"].items())
    out->log_.set_summary(summary["Namespace"].as_string(), summary["JobID"].as_string(), read_summary(summary));
  // The log may have continued without writing a table; then the first entry gives the next index.
  std::uint64_t first = 0;
  for (const Field& answer : vector["out"].items())
    if (answer["entries"].size() > 0) {
      first = answer["entries"][0]["index"].as_uint();
      break;
    }
  if (first > 0) out->log_.seen(first - 1);
  out->printed_ = out->print();
  return out;
}

// ---------------------------------------------------------------- printing

Value ScriptState::job_reference(const std::shared_ptr<const model::Job>& job) const {
  if (!job) return nullptr;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i] == job) return static_cast<std::uint64_t>(i);
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (*jobs_[i] == *job) return static_cast<std::uint64_t>(i);
  Value printed = model::to_json(*job, model::WriteMode::sparse);
  for (std::size_t i = 0; i < jobs_.size(); ++i)  // blocks stored as JSON may have another member order
    if (jobs_[i]->version == job->version && jobs_[i]->modify_index == job->modify_index &&
        compare(model::to_json(*jobs_[i], model::WriteMode::sparse), printed, {}).empty())
      return static_cast<std::uint64_t>(i);
  return printed;
}

ScriptState::Tables ScriptState::print() const {
  constexpr auto kSparse = model::WriteMode::sparse;
  Tables out;
  const model::ClusterState state = log_.state();
  for (const model::Node& node : state.nodes) {
    Value& value = out["Nodes"][node.id] = model::to_json(node, kSparse);
    value.erase("SecretID");                            // the vectors have no secrets
    if (node.drain_strategy) value.set("Drain", true);  // R-MODEL-605
  }
  for (const auto& job : state.jobs) out["Jobs"][job->namespace_ + "/" + job->id] = job_reference(job);
  for (const auto& job : state.job_versions)
    out["JobVersions"][job->namespace_ + "/" + job->id + "@" + std::to_string(job->version)] = job_reference(job);
  for (const auto& job : state.job_versions)
    if (const fsm::JobRecord* record = log_.record(job->namespace_, job->id); record && record->summary)
      out["JobSummaries"][job->namespace_ + "/" + job->id] =
          summary_to_json(job->namespace_, job->id, *record->summary);
  for (const model::Allocation& alloc : state.allocs) {
    model::Allocation printed = alloc;
    printed.job = nullptr;
    printed.metrics.reset();
    Value& value = out["Allocs"][alloc.id] = model::to_json(printed, kSparse);
    value.erase("Resources"), value.erase("SharedResources"), value.erase("TaskResources");
    if (alloc.job) value.set("Job", job_reference(alloc.job));
  }
  for (const model::Evaluation& eval : state.evals) out["Evals"][eval.id] = model::to_json(eval, kSparse);
  for (const model::Deployment& deployment : state.deployments)
    out["Deployments"][deployment.id] = model::to_json(deployment, kSparse);
  for (std::size_t i = 0; i < kRecordedTables; ++i) {
    Value& entry = out["TableIndexes"][fsm::kTableNames[i]];
    entry.set("Index", log_.table_index(static_cast<fsm::Table>(i))), entry.set("Table", fsm::kTableNames[i]);
  }
  return out;
}

Value ScriptState::take_diff(const Field& expected) {
  static const Value nothing;  // for rows that are not objects: an index, or null if removed
  Tables now = print();
  Value out = Value::object();
  const auto differs = [](const Field& a, const Field& b) { return !compare(a, b, {}).empty(); };
  for (const auto& [name, rows] : now) {
    Value table = Value::object();
    const auto& before = printed_[name];
    for (const auto& [key, value] : rows) {
      const auto known = before.find(key);
      if (known == before.end()) {
        table.set(key, value);
      } else if (differs(known->second, value)) {
        if (name == "TableIndexes" || !value.is_object() || !known->second.is_object()) {
          table.set(key, value);
        } else {
          Value entry;
          entry.set("changed", changed_fields(known->second, value));
          table.set(key, std::move(entry));
        }
      }
    }
    if (table.size() > 0) out.set(name, std::move(table));
  }
  for (const auto& [name, rows] : printed_)
    for (const auto& [key, value] : rows)
      if (!now[name].contains(key)) {
        Value* table = out.find(name);
        (table ? *table : out.set(name, Value::object())).set(key, nullptr);
      }
  for (const auto& table : expected.members())
    for (const auto& row : table.value.members())
      for (const auto& field : (row.value.is_object() ? row.value["changed"] : Field(nothing)).members()) {
        const auto stored = now[table.key].find(row.key);
        Value* listed = out.find(table.key);
        Value* entry = listed ? listed->find(row.key) : nullptr;
        Value* changed = entry ? entry->find("changed") : nullptr;
        if (stored != now[table.key].end() && changed && !changed->has(field.key))
          changed->set(field.key, stored->second[field.key]);
      }
  printed_ = std::move(now);
  return out;
}

std::string ScriptState::class_text(tables::NodeRow node) const {
  const std::string* text = log_.store().current().value_text(tables::kComputedClassColumn, node);
  return text ? *text : std::string();
}

void ScriptState::put_calls(const fsm::Hooks& hooks, Value& got) const {
  Value& calls = got.set("calls", Value::array());
  const tables::Snapshot& state = log_.store().current();
  const auto eval_id = [&](const fsm::Hook& hook) { return state.eval(hook.eval)->id; };
  for (const fsm::Hook& hook : hooks) {
    Value call = Value::array();
    switch (hook.kind) {
      case fsm::HookKind::enqueue:
        call.push("enqueue"), call.push(eval_id(hook));
        break;
      case fsm::HookKind::block:
        call.push("block"), call.push(eval_id(hook));
        break;
      case fsm::HookKind::untrack:
        call.push("untrack");
        call.push(state.text(state.jobs.keys[hook.job].job_namespace));
        call.push(state.text(state.jobs.keys[hook.job].job_id));
        break;
      case fsm::HookKind::unblock:
        call.push("unblock"), call.push(hook.id), call.push(hook.index);
        break;
      case fsm::HookKind::unblock_class_and_quota:
        call.push("unblock_class_and_quota");
        call.push(class_text(hook.node)), call.push(""), call.push(hook.index);
        break;
      case fsm::HookKind::unblock_node:
        call.push("unblock_node"), call.push(tables::node_id(log_.store().current(), hook.node));
        break;
      case fsm::HookKind::drop:  // never with cancelled_evals_linger
      case fsm::HookKind::drop_waiting:
        call.push("drop_waiting"), call.push(eval_id(hook));
        break;
      case fsm::HookKind::forget_job:  // rows are berth's own
        continue;
    }
    calls.push(std::move(call));
  }
}

void ScriptState::put_entry(std::uint64_t index, const char* kind, const std::string& error, Value& got) {
  Value entry;
  entry.set("index", index), entry.set("kind", kind);
  if (!error.empty()) entry.set("error", error);
  Value* entries = got.find("entries");
  (entries ? *entries : got.set("entries", Value::array())).push(std::move(entry));
  got.set("error", error);
}

void ScriptState::put_answer(const fsm::Answer& answer, Value& got) const {
  for (const fsm::Answer::Entry& entry : answer.entries) put_entry(entry.index, entry.kind, entry.error, got);
  got.set("error", answer.error);
  put_calls(answer.hooks, got);
}

// ---------------------------------------------------------------- operations

Outcome ScriptState::replay(const Vector& vector, const Step& step, std::vector<std::string_view> ignored,
                            void (*normalise)(Value& answer)) {
  Value whole = vector.whole;
  for (const Field& answer : vector.whole["out"].items()) static_cast<void>(answer["diff"].members());
  for (Value& answer : whole.find("out")->items()) normalise(answer);
  ignored.push_back("ids");
  ScriptOptions options;
  options.ignored = ignored;
  const auto answer = [&](const Field& operation, std::size_t index) -> tl::expected<Value, std::string> {
    const Field& recorded = whole["out"][index];
    DrawnIds ids(recorded);
    ids_ = &ids;
    Value got = Value::object();
    if (auto done = step(operation, recorded, got); !done) return tl::unexpected(done.error());
    got.set("diff", take_diff(recorded["diff"]));
    normalise(got);
    return got;
  };
  return in_copy(whole, [&] {
    return replay_script({whole, whole, vector.out, vector.path, vector.name}, answer, options);
  });
}

tl::expected<void, std::string> ScriptState::carry_out(const Field& step, Value& got) {
  const std::string& op = step["op"].as_string();
  const std::int64_t at = step["at"].as_script_ns(), now = kScriptStartNs + at;
  const model::ReadOptions options = read_options();
  fsm::Requests& requests = server_.requests();
  auto eval = read_optional<model::Evaluation>(step["eval"], options);
  if (!eval) return tl::unexpected(eval.error());
  const auto read_update = [&]() -> tl::expected<std::optional<model::DeploymentStatusUpdate>, std::string> {
    return read_optional<model::DeploymentStatusUpdate>(step["update"], options);
  };
  if (op == "plan_entry") {
    return commit_plan(step, got);
  } else if (op == "eval_entry") {
    auto evals = read_list<model::Evaluation>(step["evals"], options);
    if (!evals) return tl::unexpected(evals.error());
    write_entry("eval_update", *evals, got);
  } else if (op == "transition_entry") {
    fsm::TransitionEntry entry;
    for (const auto& member : step["allocs"].members()) {
      model::DesiredTransition transition;
      if (auto done = from_json(member.value, transition); !done) return tl::unexpected(done.error().line());
      entry.allocs.emplace_back(member.key, transition);
    }
    write_entry("alloc_transition", entry, got);
  } else if (op == "deployment_status_entry") {
    auto update = read_update();
    if (!update || !*update) return tl::unexpected(std::string("a deployment update that cannot be read"));
    write_entry("deployment_status", fsm::DeploymentStatusEntry{**update, job(step["job"]), *eval}, got);
  } else if (op == "deployment_promote_entry") {
    fsm::DeploymentPromoteEntry entry;
    entry.deployment_id = step["deployment"].as_string();
    entry.all = step["all"].as_bool();
    entry.groups = texts(step["groups"]);
    entry.promoted_at = step["promoted_at"].as_int();
    entry.now = now;
    entry.eval = *eval;
    write_entry("deployment_promote", entry, got);
  } else if (op == "deployment_health_entry") {
    auto update = read_update();
    if (!update) return tl::unexpected(update.error());
    fsm::DeploymentHealthEntry entry;
    entry.deployment_id = step["deployment"].as_string();
    entry.healthy = texts(step["healthy"]), entry.unhealthy = texts(step["unhealthy"]);
    entry.timestamp = base::parse_rfc3339(step["timestamp"].as_string()).value_or(base::Time{});
    entry.update = *update;
    entry.job = job(step["job"]);
    entry.eval = *eval;
    write_entry("deployment_health", entry, got);
  } else if (op == "node_status_entry") {
    write_entry("node_status",
                fsm::NodeStatusEntry{step["node"].as_string(), step["status"].as_string(), now / base::kSecond}, got);
  } else if (op == "job_upsert_entry") {
    fsm::JobRegisterEntry entry;
    entry.job = job(step["job"]);
    if (!entry.job) return tl::unexpected(std::string("a job entry without a job"));
    // Written without the log: at its own index, and not reported as an entry.
    fsm::Hooks hooks;
    got.set("error", log_.apply(step["index"].as_uint(), entry, hooks));
  } else if (op == "client_update") {
    auto reports = read_list<model::Allocation>(step["allocs"], options);
    if (!reports) return tl::unexpected(reports.error());
    put_answer(requests.update_allocs(std::move(*reports), now, now + 50'000'000), got);
  } else if (op == "alloc_stop") {
    const fsm::Answer answer = requests.stop_alloc(step["alloc"].as_string(), step["reschedule"].as_bool(),
                                                   step["no_shutdown_delay"].as_bool(), now);
    put_answer(answer, got);
    if (answer.error.empty()) got.set("reply", Value::object()).set("EvalID", answer.eval_id);
  } else {
    return carry_out_on_job(step, got);
  }
  return {};
}

tl::expected<void, std::string> ScriptState::commit_plan(const Field& step, Value& got) {
  const model::ReadOptions options = read_options();
  auto updated = read_list<model::Allocation>(step["AllocsUpdated"], options);
  auto stopped = read_list<model::Allocation>(step["AllocsStopped"], options);
  auto preempted = read_list<model::Allocation>(step["AllocsPreempted"], options);
  auto evals = read_list<model::Evaluation>(step["PreemptionEvals"], options);
  auto deployment = read_optional<model::Deployment>(step["Deployment"], options);
  auto updates = read_list<model::DeploymentStatusUpdate>(step["DeploymentUpdates"], options);
  if (!updated || !stopped || !preempted || !evals || !deployment || !updates)
    return tl::unexpected(std::string("a plan entry that cannot be read"));
  model::Plan plan;
  plan.job = job(step["job"]);
  plan.deployment = std::move(*deployment);
  plan.deployment_updates = std::move(*updates);
  for (model::Allocation& alloc : *updated) plan.node_allocation[alloc.node_id].push_back(std::move(alloc));
  // The lists are flat here, in order.
  if (!stopped->empty()) plan.node_update[""] = std::move(*stopped);
  if (!preempted->empty()) plan.node_preemptions[""] = std::move(*preempted);
  const RecordedPlan recorded(store(), plan);

  plan::Decided decided;
  for (const Field& id : step["IneligibleNodes"].items()) {
    decided.ineligible.push_back(store().find_node(id.as_string()));
    if (decided.ineligible.back() == tables::kNoRow) id.fail("names no node of the state");
  }
  decided.evals = std::move(*evals);
  plan::CommitFacts facts;
  facts.index = log_.next_index();
  facts.now_ns = step["UpdatedAt"].as_int();
  facts.eval = base::parse_uuid(step["EvalID"].as_string()).value_or(base::Uuid{});
  facts.decided = &decided;
  plan::ApplyResult result;
  server_.applier().apply(recorded.rows(), facts, result);
  log_.seen(facts.index);
  put_entry(facts.index, "plan_results", result.error, got);
  put_calls(result.hooks, got);
  return {};
}

tl::expected<void, std::string> ScriptState::carry_out_on_job(const Field& step, Value& got) {
  fsm::Requests& requests = server_.requests();
  const std::string& op = step["op"].as_string();
  const std::int64_t now = kScriptStartNs + step["at"].as_int();
  fsm::Answer answer;
  // The reply of most operations; `indexes` false: a refused one, with only the evaluation's ID.
  const auto put_reply = [&](bool indexes) -> Value& {
    put_answer(answer, got);
    Value& reply = got.set("reply", Value::object());
    reply.set("EvalID", answer.eval_id);
    if (!indexes) return reply;
    reply.set("EvalCreateIndex", answer.eval_create_index), reply.set("JobModifyIndex", answer.job_modify_index);
    return reply;
  };
  if (op == "job_register") {
    fsm::RegisterJob request;
    request.job = job(step["job"]);
    if (!request.job) return tl::unexpected(std::string("a registration without a job"));
    request.eval_priority = step["eval_priority"].as_int();
    if (step.has("enforce_index")) request.enforce_index = step["enforce_index"].as_uint();
    request.preserve_counts = step["preserve_counts"].as_bool();
    request.preserve_resources = step["preserve_resources"].as_bool();
    answer = requests.register_job(request, now);
    Value& reply = put_reply(answer.error.empty());
    if (answer.error.empty()) reply.set("Index", answer.index);
    return {};
  }
  const std::string &name_space = step["namespace"].as_string(), &id = step["job"].as_string();
  if (op == "job_deregister") {
    fsm::DeregisterJob request;
    request.name_space = name_space, request.job_id = id;
    request.purge = step["purge"].as_bool(), request.no_shutdown_delay = step["no_shutdown_delay"].as_bool();
    request.eval_priority = step["eval_priority"].as_int();
    answer = requests.deregister_job(request, now);
    put_reply(true);
  } else if (op == "job_evaluate") {
    answer = requests.evaluate_job(name_space, id, step["force_reschedule"].as_bool(), now);
    put_reply(true);
  } else if (op == "job_scale") {
    answer = requests.scale_job({name_space, id, step["group"].as_string(), step["count"].as_int()}, now);
    put_reply(true);
  } else if (op == "job_revert") {
    answer = requests.revert_job({name_space, id, step["version"].as_uint(), {}}, now);
    put_reply(true);
  } else if (op == "job_dispatch") {
    fsm::DispatchJob request;
    request.name_space = name_space, request.job_id = id;
    for (const auto& entry : step["meta"].members()) request.meta[entry.key] = entry.value.as_string();
    request.payload = step["payload"].as_string();
    request.priority = step["priority"].as_int();
    request.id_prefix = step["id_prefix"].as_string();
    request.idempotency_token = step["idempotency_token"].as_string();
    answer = requests.dispatch_job(request, now);
    Value& reply = put_reply(false);
    reply.set("DispatchedJobID", answer.dispatched_job_id);
    reply.set("Index", answer.index), reply.set("JobCreateIndex", answer.job_modify_index);
  } else if (op == "periodic_force") {
    answer = requests.force_periodic(name_space, id);
    put_reply(false);
  } else {
    return tl::unexpected("operation " + op);
  }
  return {};
}

}  // namespace berth::conform
