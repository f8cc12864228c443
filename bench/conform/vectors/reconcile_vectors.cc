// Adapters from recorded vectors to berth: the reconciler for service and batch jobs and its leaf functions.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "base/text.h"
#include "conform/compare.h"
#include "conform/vector.h"
#include "io/cluster_json.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/names.h"
#include "model/predicates.h"
#include "reconcile/alloc_facts.h"
#include "reconcile/cluster.h"
#include "reconcile/name_index.h"
#include "reconcile/node.h"
#include "reconcile/reconnect.h"
#include "reconcile/reschedule.h"

namespace berth::conform {
namespace {

using json::Value;

/// Reads a model value or makes the vector fail.
#define BERTH_READ(type, name, value) \
  model::type name;                   \
  if (auto done = from_json(value, name); !done) return Outcome::failed(done.error().line())

/// `not tainted`, `gone`, or the status of a tainted node.
reconcile::NodeTaint taint_of_text(const std::string& text) {
  using reconcile::NodeTaint;
  if (text == "gone") return NodeTaint::gone;
  if (text == "ready") return NodeTaint::ready;
  if (text == "initializing") return NodeTaint::initializing;
  if (text == "down") return NodeTaint::down;
  if (text == "disconnected") return NodeTaint::disconnected;
  return NodeTaint::none;
}

Outcome classify(const Vector& v) {
  BERTH_READ(Allocation, alloc, v.in["alloc"]);
  const auto facts = reconcile::read_facts(alloc, 0, taint_of_text(v.in["node"].as_string()), "");
  const auto alloc_class = reconcile::classify(facts, v.in["now"].as_int());
  if (alloc_class != reconcile::classify_unusual(facts, v.in["now"].as_int()))
    return Outcome::failed("the short way and the long way differ");
  Value out = Value::object();
  out.set("class", reconcile::to_text(alloc_class));
  return Outcome::from(compare(v.out, out, {.rule = "R-RECON-106"}));
}

Outcome reschedulable(const Vector& v) {
  BERTH_READ(Allocation, alloc, v.in["alloc"]);
  const Field& deployment = v.in["deployment"];
  const std::string& deployment_id = deployment["ID"].as_string();
  const auto facts = reconcile::read_facts(alloc, 0, reconcile::NodeTaint::none, deployment_id);
  const bool is_batch = v.in["is_batch"].as_bool(), disconnecting = v.in["is_disconnecting"].as_bool();
  const reconcile::RescheduleContext context{
      v.in["now"].as_int(), v.in["eval_id"].as_string(), is_batch,
      !deployment.is_null() && model::is_active_deployment(deployment["Status"].as_string())};
  const auto answer = reconcile::judge_reschedule(facts, context, disconnecting);
  const auto long_way = reconcile::judge_unusual(facts, context, disconnecting);
  if (answer.when != long_way.when || answer.at != long_way.at)
    return Outcome::failed("the short way and the long way differ");
  using When = reconcile::RescheduleAnswer::When;
  const auto verdict = reconcile::verdict_on(facts, is_batch);
  Value out = Value::object();
  out.set("untainted", answer.when == When::kept || answer.when == When::later);
  out.set("now", answer.when == When::now), out.set("later", answer.when == When::later);
  if (answer.when == When::later) out.set("later_time", answer.at.ns);
  out.set("filter_untainted", verdict == reconcile::Verdict::keep);
  out.set("filter_ignore", verdict == reconcile::Verdict::drop);
  return Outcome::from(compare(v.out, out, {.rule = "R-RECON-112 to 116"}));
}

Outcome name_index(const Vector& v) {
  const std::string& job = v.in["job"].as_string();
  const std::string& group = v.in["group"].as_string();
  constexpr std::size_t kIndexMost = 1'000'000;  // an index needs a bit for each lower name
  const auto indexes = [&](const Field& names) {
    std::vector<std::uint32_t> out;
    for (const Field& name : names.items())
      if (const auto index = model::alloc_index(name.as_string(), job, group); index <= kIndexMost)
        out.push_back(static_cast<std::uint32_t>(index));
      else
        name.fail("has an index of more than " + std::to_string(kIndexMost));
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto names = [&](const std::vector<std::uint32_t>& taken) {
    Value out = Value::array();
    for (const std::uint32_t index : taken) out.push(model::alloc_name(job, group, index));
    return out;
  };
  reconcile::NameIndex index(indexes(v.in["used"]), static_cast<std::uint32_t>(v.in["count"].as_count()));
  Value out = Value::object(), expected = v.out;
  out.set("bits", static_cast<std::int64_t>(index.size_bits()));
  Value& results = out.set("results", Value::array());
  std::size_t position = 0;
  for (const Field& op : v.in["operations"].items()) {
    Value result = Value::object();
    if (op.has("next")) {
      result.set("names", names(index.next(op["next"].as_count())));
    } else if (op.has("highest")) {
      auto taken = index.highest(op["highest"].as_count());
      std::sort(taken.begin(), taken.end());  // a set: both sides by index
      result.set("names", names(taken));
      const Field given = v.out["results"][position]["names"];
      if (!given.is_null()) expected.find("results")->items()[position].set("names", names(indexes(given)));
    } else if (op.has("unset")) {
      index.unset(static_cast<std::uint32_t>(op["unset"].as_count()));
    } else if (op.has("is_duplicate")) {
      result.set("duplicate", index.is_duplicate(static_cast<std::uint32_t>(op["is_duplicate"].as_count())));
    } else if (op.has("next_canaries")) {
      result.set("names", names(index.next_canaries(op["next_canaries"].as_count(), indexes(op["existing"]),
                                                    indexes(op["destructive"]))));
    } else {
      return Outcome::unsupported("name index operation " + json::to_text(op));
    }
    results.push(std::move(result));
    ++position;
  }
  return Outcome::from(compare(expected, out, {.rule = "R-RECON-157 to 164"}));
}

Outcome reconnect_pick(const Vector& v) {
  BERTH_READ(Allocation, original, v.in["original"]);
  BERTH_READ(Allocation, replacement, v.in["replacement"]);
  const auto add_scores = [&](const char* key, model::Allocation& alloc) {
    const auto scores = v.in[key].find("NormScores");
    if (!scores) return;
    alloc.metrics.emplace();
    for (const Field& score : scores->items())
      alloc.metrics->score_meta_data.emplace_back().norm_score = score.as_double();
  };
  add_scores("original", original);
  add_scores("replacement", replacement);
  const bool keeps_replacement =
      reconcile::prefers_replacement(original, replacement, v.in["strategy"].as_string(), v.in["now"].as_int());
  Value out = Value::object();
  out.set("keep", keeps_replacement ? "replacement" : "original");
  return Outcome::from(compare(v.out, out, {.rule = "R-RECON-128 to 134"}));
}

/// IDs in the form of the vectors: numbered tokens.
class TokenSource : public reconcile::IdSource {
 public:
  std::string next_eval_id() override { return "new-eval-" + std::to_string(evals_++); }
  std::string next_deployment_id() override { return "new-deployment-" + std::to_string(deployments_++); }

 private:
  int evals_ = 0, deployments_ = 0;
};

/// The recorded answers of the update function.
class RecordedUpdates : public reconcile::UpdateJudge {
 public:
  RecordedUpdates(const Field& answers, const std::vector<model::Allocation>& allocs) : allocs_(allocs) {
    for (const auto& member : answers.members()) answers_[member.key] = member.value.as_string();
  }
  void judge(std::span<const std::uint32_t> rows, std::span<reconcile::UpdateKind> kinds) override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string& answer = answers_[allocs_[rows[i]].id];
      kinds[i] = answer == "destructive" ? reconcile::UpdateKind::destructive
                 : answer == "inplace"   ? reconcile::UpdateKind::inplace
                                         : reconcile::UpdateKind::ignore;
    }
  }

 private:
  const std::vector<model::Allocation>& allocs_;
  std::unordered_map<std::string, std::string> answers_;
};

reconcile::NodeTaint taint_of_entry(const std::optional<Field>& entry) {
  if (!entry) return reconcile::NodeTaint::none;
  return (*entry)["Gone"].as_bool() ? reconcile::NodeTaint::gone : taint_of_text((*entry)["Status"].as_string());
}

Value names_json(const reconcile::NameIndex& index) {
  Value out = Value::object();
  out.set("count", static_cast<std::int64_t>(index.count()));
  out.set("size", static_cast<std::int64_t>(index.size_bits()));
  Value& used = out.set("used", Value::array());
  for (const std::uint32_t i : index.used()) used.push(static_cast<std::int64_t>(i));
  Value& duplicates = out.set("duplicates", Value::object());
  for (const auto& [i, n] : index.duplicates()) duplicates.set(std::to_string(i), static_cast<std::int64_t>(n));
  return out;
}

Value update_json(const model::Allocation& alloc) {
  Value out = Value::object();
  out.set("alloc", alloc.id), out.set("client_status", alloc.client_status);
  out.set("client_description", alloc.client_description), out.set("followup", alloc.followup_eval_id);
  Value& states = out.set("alloc_states", Value::array());
  for (const model::AllocState& state : alloc.alloc_states)
    states.push(model::to_json(state, model::WriteMode::sparse));
  return out;
}

/// The result in the form of FORMAT-reconcile.md, section 3.
class ClusterPrinter {
 public:
  ClusterPrinter(const reconcile::ClusterInput& input, const reconcile::ClusterResult& result)
      : input_(input), result_(result) {}

  Value print() const {
    Value out = Value::object();
    if (result_.deployment) out.set("deployment", model::to_json(*result_.deployment, model::WriteMode::sparse));
    Value& updates = out.set("deployment_updates", Value::array());
    for (const auto& update : result_.deployment_updates) {
      Value item = Value::object();
      item.set("deployment", update.deployment_id), item.set("status", update.status);
      item.set("description", update.status_description);
      updates.push(std::move(item));
    }
    print_lists(out);
    Value& counters = out.set("desired_tg_updates", Value::object());
    Value& names = out.set("alloc_name_indexes", Value::object());
    for (const auto& group : result_.groups) {
      counters.set(group.name, model::to_json(group.updates, model::WriteMode::api));
      if (group.names) names.set(group.name, names_json(*group.names));
    }
    Value& evals = out.set("followup_evals", Value::array());
    for (const auto& followup : result_.followups) {
      Value item = Value::object();
      item.set("group", result_.groups[followup.group].name);
      item.set("eval", model::to_json(followup.eval, model::WriteMode::sparse));
      evals.push(std::move(item));
    }
    return out;
  }

 private:
  const model::Allocation& alloc(std::uint32_t row) const { return *input_.allocs[row].alloc; }
  std::string followup_id(std::int32_t followup) const {
    return followup == reconcile::kNoFollowup ? "" : result_.followups[static_cast<std::size_t>(followup)].eval.id;
  }

  void print_lists(Value& out) const {
    std::map<std::uint32_t, const reconcile::ClusterResult::Update*> disconnects, in_alloc;
    for (const auto& update : result_.disconnect_updates) disconnects[update.row] = &update;
    for (const auto& update : result_.followups_in_alloc) in_alloc[update.row] = &update;
    Value& place = out.set("place", Value::array());
    for (const auto& p : result_.place) {
      Value item = Value::object();
      item.set("name", reconcile::place_name(input_, result_, p)), item.set("group", result_.groups[p.group].name);
      item.set("canary", p.canary), item.set("reschedule", p.reschedule), item.set("lost", p.lost);
      item.set("downgrade", p.downgrade), item.set("min_version", p.min_job_version);
      if (p.previous != reconcile::kNoRow) {
        const model::Allocation previous = p.previous_disconnects
                                               ? reconcile::disconnected(input_, result_, *disconnects.at(p.previous))
                                               : alloc(p.previous);
        item.set("previous", previous.id), item.set("previous_client_status", previous.client_status);
        item.set("previous_followup", in_alloc.contains(p.previous) ? followup_id(in_alloc.at(p.previous)->followup)
                                                                    : previous.followup_eval_id);
      }
      place.push(std::move(item));
    }
    Value& destructive = out.set("destructive_update", Value::array());
    for (const auto& update : result_.destructive_update) {
      Value item = Value::object();
      item.set("name", alloc(update.row).name), item.set("group", result_.groups[update.group].name);
      item.set("stop", alloc(update.row).id), item.set("description", reconcile::kUpdating);
      destructive.push(std::move(item));
    }
    Value& inplace = out.set("inplace_update", Value::array());
    for (const std::uint32_t row : result_.inplace_update) inplace.push(alloc(row).id);
    Value& stop = out.set("stop", Value::array());
    for (const auto& s : result_.stop) {
      Value item = Value::object();
      item.set("alloc", alloc(s.row).id), item.set("description", s.description);
      item.set("client_status", s.client_status == model::ClientStatus::lost     ? "lost"
                                : s.client_status == model::ClientStatus::failed ? "failed"
                                                                                 : "");
      item.set("followup", followup_id(s.followup));
      item.set("alloc_followup",
               in_alloc.contains(s.row) ? followup_id(in_alloc.at(s.row)->followup) : alloc(s.row).followup_eval_id);
      stop.push(std::move(item));
    }
    Value& attributes = out.set("attribute_updates", Value::array());
    for (const auto& u : result_.attribute_updates)
      attributes.push(update_json(reconcile::with_followup(input_, result_, u)));
    Value& disconnected = out.set("disconnect_updates", Value::array());
    for (const auto& u : result_.disconnect_updates)
      disconnected.push(update_json(reconcile::disconnected(input_, result_, u)));
    Value& reconnected = out.set("reconnect_updates", Value::array());
    for (const auto& u : result_.reconnect_updates) {
      model::Allocation copy = alloc(u.row);
      copy.alloc_states.push_back({0, "running", base::Time{input_.now}});  // R-RECON-125
      reconnected.push(update_json(copy));
    }
  }

  const reconcile::ClusterInput& input_;
  const reconcile::ClusterResult& result_;
};

/// A group on only one side is a difference, even if all its counters are 0.
void compare_keys(const Field& expected, const Field& got, const char* key, std::vector<Difference>& out) {
  const auto list = [](const Field& object) {
    std::vector<std::string> keys;
    for (const auto& member : object.members()) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    return base::join(keys, ", ");
  };
  if (list(expected[key]) != list(got[key]))
    out.push_back({std::string("/") + key, list(expected[key]), list(got[key]), "R-RECON-33, 35"});
}

/// The inputs of a vector of kind `node` or `node-one` in the form of the node reconciler.
struct NodeCase {
  model::JobTable jobs;
  std::deque<model::Allocation> objects;  ///< by handle of NodeAlloc
  std::vector<std::string> node_ids;      ///< by handle of NodeVisit
  std::optional<model::Deployment> deployment, old;
  std::vector<reconcile::RequiredName> required;
  std::vector<reconcile::NodeVisit> visits;
  std::vector<reconcile::NodeAlloc> allocs;
  reconcile::NodeInput input;
};

/// Reads an allocation for the current `job` (null = purged) at `now`.
reconcile::NodeAlloc read_node_alloc(const model::Allocation& alloc, const model::Job* job,
                                     std::span<const reconcile::RequiredName> required, std::int64_t now) {
  using reconcile::NodeAlloc;
  NodeAlloc out;
  out.desired = model::parse_desired_status(alloc.desired_status);
  out.client = model::parse_client_status(alloc.client_status);
  out.flags = reconcile::flags_of(alloc, out.client, now);
  if (!job) return out;
  out.required = reconcile::required_position(*job, required, alloc.name);
  if (!alloc.job) return out;
  const model::Job& own = *alloc.job;
  if (own.job_modify_index == job->job_modify_index) out.flags |= NodeAlloc::kSameSpec;
  if (own.id == job->id && own.version == job->version && own.create_index == job->create_index)
    out.flags |= NodeAlloc::kSameVersion;
  if (own.type == "sysbatch") out.flags |= NodeAlloc::kSysbatchJob;
  return out;
}

Result<void> read_node_case(const Vector& v, NodeCase& out) {
  const Field& in = v.whole["input"];
  out.jobs = or_malformed(io::read_job_table(v.whole["jobs"], v.path, "/jobs"));
  model::ReadOptions options;
  options.jobs = &out.jobs;
  const bool one = v.whole["kind"].as_string() == "node-one";
  std::map<std::string, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> of_node;  // live, terminal
  const auto read = [&](const Field& value) -> Result<std::uint32_t> {
    if (auto done = from_json(value, out.objects.emplace_back(), options); !done) return tl::unexpected(done.error());
    return static_cast<std::uint32_t>(out.objects.size() - 1);
  };
  if (one) of_node[in["node"].as_string()];
  for (const Field& value : in["live"].items()) {
    auto alloc = read(value);
    if (!alloc) return tl::unexpected(alloc.error());
    of_node[one ? in["node"].as_string() : value["NodeID"].as_string()].first.push_back(*alloc);
  }
  std::set<std::string> ready, not_ready;
  for (const Field& node : in["ready_nodes"].items()) {
    ready.insert(node["ID"].as_string());
    if (!one) of_node[node["ID"].as_string()];
    out.input.old_servers |= reconcile::is_before_deployments(node["NomadVersion"].as_string());
  }
  for (const Field& node : in["not_ready_nodes"].items()) not_ready.insert(node.as_string());
  for (const Field& value : in["terminal"].items()) {
    const auto node = of_node.find(value["node"].as_string());
    if (node == of_node.end()) continue;
    auto alloc = read(value["alloc"]);
    if (!alloc) return tl::unexpected(alloc.error());
    out.objects[*alloc].name = value["name"].as_string();
    node->second.second.push_back(*alloc);
  }
  const std::int64_t now = v.whole["now"].as_int();
  const model::Job* job = in["job"].is_null() ? nullptr : out.jobs[in["job"].as_index(out.jobs.size())].get();
  reconcile::required_names(job, out.required);
  for (const auto& [id, rows] : of_node) {
    reconcile::NodeVisit& visit = out.visits.emplace_back();
    visit.handle = base::NodeRow(out.node_ids.size());
    out.node_ids.push_back(id);
    visit.taint = taint_of_entry(in["tainted"].find(id));
    visit.candidate = ready.contains(id);
    visit.not_ready = not_ready.contains(id);
    visit.live_begin = static_cast<std::uint32_t>(out.allocs.size());
    for (const auto* list : {&rows.first, &rows.second}) {
      for (const std::uint32_t handle : *list) {
        const model::Allocation& alloc = out.objects[handle];
        out.allocs.push_back(read_node_alloc(alloc, job, out.required, now));
        out.allocs.back().handle = base::AllocRow(handle);
      }
      (list == &rows.first ? visit.live_end : visit.terminal_end) = static_cast<std::uint32_t>(out.allocs.size());
    }
  }
  const auto deployment = [&](const char* key, std::optional<model::Deployment>& d) -> Result<void> {
    if (in[key].is_null()) return {};
    if (auto done = from_json(in[key], d.emplace()); !done) return tl::unexpected(done.error());
    return {};
  };
  if (auto done = deployment("deployment", out.deployment); !done) return done;
  if (auto done = deployment("deployment_old", out.old); !done) return done;
  out.input.job = job;
  out.input.required = out.required;
  out.input.visits = out.visits;
  out.input.allocs = out.allocs;
  out.input.deployment = out.deployment ? &*out.deployment : nullptr;
  out.input.old_deployment = out.old ? &*out.old : nullptr;
  out.input.conclude = !one;
  out.input.now = now;
  return {};
}

/// The result in the form of FORMAT-reconcile.md, section 5.
Value node_result_json(const NodeCase& c, const reconcile::NodeResult& result) {
  using reconcile::NodeTuple;
  enum class Copy { none, disconnected, reconnected };
  Value out = Value::object();
  const auto put = [&](const char* key, const std::vector<NodeTuple>& tuples, Copy copy) {
    Value& list = out.set(key, Value::array());
    for (const NodeTuple& tuple : tuples) {
      Value item = Value::object();
      item.set("node", c.node_ids[c.visits[tuple.visit].handle]);
      if (tuple.required != reconcile::kNoRow) {
        const reconcile::RequiredName& name = c.required[tuple.required];
        const std::string& group = c.input.job->task_groups[name.group].name;
        item.set("group", group), item.set("name", model::alloc_name(c.input.job->name, group, name.index));
      }
      item.set("canary", tuple.canary);
      if (tuple.alloc != reconcile::kNoRow) {
        model::Allocation alloc = c.objects[c.allocs[tuple.alloc].handle];
        if (copy == Copy::disconnected) model::become_unknown(alloc, c.input.now);
        if (copy == Copy::reconnected) model::note_client_status(alloc, c.input.now);
        const Value states = update_json(alloc);
        item.set("name", alloc.name), item.set("node", alloc.node_id);
        for (const char* copied : {"alloc", "client_status", "client_description", "alloc_states"})
          item.set(copied, states[copied]);
      }
      list.push(std::move(item));
    }
  };
  put("place", result.place, Copy::none), put("update", result.update, Copy::none);
  put("migrate", result.migrate, Copy::none), put("stop", result.stop, Copy::none);
  put("ignore", result.ignore, Copy::none), put("lost", result.lost, Copy::none);
  put("disconnecting", result.disconnecting, Copy::disconnected);
  put("reconnecting", result.reconnecting, Copy::reconnected);
  if (result.deployment) out.set("deployment", model::to_json(*result.deployment, model::WriteMode::sparse));
  out.set("deployment_old", result.old_deployment);
  Value& updates = out.set("deployment_updates", Value::array());
  for (const auto& update : result.deployment_updates) {
    Value item = Value::object();
    item.set("deployment", update.created ? result.created_id : c.deployment->id);
    item.set("status", update.status), item.set("description", update.description);
    updates.push(std::move(item));
  }
  out.set("same_version", result.same_version);
  return out;
}

Outcome reconcile_node(const Vector& v) {
  NodeCase c;
  if (auto done = read_node_case(v, c); !done) return Outcome::failed(done.error().line());
  TokenSource ids;
  reconcile::NodeReconciler reconciler;
  return Outcome::from(
      compare(v.out, node_result_json(c, reconciler.run(c.input, ids)), {.rule = "R-SCHED-127 to 147"}));
}

Outcome reconcile_cluster(const Vector& v) {
  if (v.whole["kind"].as_string() != "cluster") return reconcile_node(v);
  const model::JobTable jobs = or_malformed(io::read_job_table(v.whole["jobs"], v.path, "/jobs"));
  const Field& in = v.whole["input"];
  model::ReadOptions options;
  options.jobs = &jobs;
  // Sets are keyed by ID: of several allocations with one ID, which no state can contain, the last one counts.
  std::unordered_map<std::string_view, std::size_t> last_of;
  for (std::size_t i = 0; i < in["allocs"].size(); ++i) last_of[in["allocs"][i]["ID"].as_string()] = i;
  std::vector<model::Allocation> allocs;
  for (std::size_t i = 0; i < in["allocs"].size(); ++i)
    if (last_of[in["allocs"][i]["ID"].as_string()] == i)
      if (auto done = from_json(in["allocs"][i], allocs.emplace_back(), options); !done)
        return Outcome::failed(done.error().line());
  std::optional<model::Deployment> deployment;
  if (!in["deployment"].is_null())
    if (auto done = from_json(in["deployment"], deployment.emplace()); !done)
      return Outcome::failed(done.error().line());

  std::vector<std::string> group_names;
  std::vector<reconcile::AllocFacts> facts;
  for (const model::Allocation& alloc : allocs) {
    auto group = std::find(group_names.begin(), group_names.end(), alloc.task_group);
    if (group == group_names.end()) group = group_names.insert(group, alloc.task_group);
    facts.push_back(reconcile::read_facts(alloc, static_cast<std::uint32_t>(group - group_names.begin()),
                                          taint_of_entry(in["tainted"].find(alloc.node_id)),
                                          deployment ? deployment->id : std::string_view()));
  }
  reconcile::ClusterInput input;
  if (!in["job"].is_null()) input.job = jobs[in["job"].as_index(jobs.size())].get();
  input.job_id = in["job_id"].as_string();
  input.is_batch = in["batch"].as_bool();
  input.deployment = deployment ? &*deployment : nullptr;
  input.allocs = facts;
  const std::vector<std::uint32_t> slots = reconcile::slots_of(facts);
  input.slots = slots;
  input.group_names = group_names;
  input.eval_id = in["eval_id"].as_string();
  input.eval_priority = in["eval_priority"].as_int();
  input.now = v.whole["now"].as_int();
  RecordedUpdates updates(in["updates"], allocs);
  TokenSource ids;
  reconcile::ClusterReconciler reconciler;
  const reconcile::ClusterResult result = reconciler.run(input, updates, ids);
  const Value out = ClusterPrinter(input, result).print();
  auto differences = compare(v.out, out, {.rule = "R-RECON"});
  compare_keys(v.out, out, "desired_tg_updates", differences);
  compare_keys(v.out, out, "alloc_name_indexes", differences);
  return Outcome::from(std::move(differences));
}

#undef BERTH_READ

}  // namespace

std::span<const Component> reconcile_components() {
  static constexpr Component kComponents[] = {
      {"classify", classify},
      {"reschedulable", reschedulable},
      {"name_index", name_index},
      {"reconnect_pick", reconnect_pick},
      {"@reconcile", reconcile_cluster},
  };
  return kComponents;
}

}  // namespace berth::conform
