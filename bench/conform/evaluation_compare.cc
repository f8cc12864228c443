#include "conform/evaluation_compare.h"

#include <algorithm>
#include <array>
#include <map>

#include "conform/compare.h"
#include "model/job.h"

namespace berth::conform {
namespace {

/// True for maps from names or IDs, where an entry with a zero value still counts.
bool is_name_map(std::string_view key) {
  static constexpr std::array kMaps = {"NodesAvailable", "ClassFiltered",      "ConstraintFiltered",
                                       "ClassExhausted", "DimensionExhausted", "ResourcesExhausted",
                                       "Scores",         "QueuedAllocations",  "ClassEligibility",
                                       "FailedTGAllocs", "DesiredTGUpdates",   "TaskGroups",
                                       "Tasks",          "TaskStates"};
  return std::find(kMaps.begin(), kMaps.end(), key) != kMaps.end();
}

/// Drops fields that are not compared and fields of zero value, from the leaves up.
json::Value simplified(const json::Value& v, bool name_map) {
  if (v.is_array()) {
    json::Array items;
    for (const json::Value& item : v.items()) items.push_back(simplified(item, false));
    return json::Value(std::move(items));
  }
  if (!v.is_object()) return v;
  json::Object members;
  for (const json::Member& m : v.members()) {
    if (m.key == "AllocationTime" || m.key == "TaskResources" || m.key == "SharedResources") continue;
    json::Value inner = simplified(m.value, is_name_map(m.key));
    if (m.key == "TaskLifecycles") {
      std::erase_if(inner.members(), [](const json::Member& l) { return l.value.is_null(); });
    }
    if (!name_map && is_zero(inner)) continue;
    if (inner.is_number() && inner.as_double() == 0) inner = json::Value(std::int64_t{0});
    members.push_back({m.key, std::move(inner)});
  }
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return json::Value(std::move(members));
}

constexpr char kMark = '\x01';  // a fresh ID is written as \x01 token \x01 on both sides

/// Marks every fresh ID inside texts (and map keys), with its new name if in `renamed`.
std::string mark_ids(const std::string& text, const std::set<std::string>& ids,
                     const std::map<std::string, std::string>& renamed = {}) {
  if (ids.empty() || text.size() < 36) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::string id = i + 36 <= text.size() ? text.substr(i, 36) : std::string(); ids.contains(id)) {
      const auto other = renamed.find(id);
      out += kMark + (other == renamed.end() ? id : other->second) + kMark;
      i += 36;
    } else {
      out += text[i++];
    }
  }
  return out;
}

/// Marks every token new-alloc-N, new-eval-N, new-deployment-N, new-other-N of the recorded side.
std::string mark_tokens(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    bool marked = false;
    for (const std::string_view kind : {"new-alloc-", "new-eval-", "new-deployment-", "new-other-"}) {
      if (text.compare(i, kind.size(), kind) != 0) continue;
      std::size_t end = i + kind.size();
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      out += kMark + text.substr(i, end - i) + kMark;
      i = end;
      marked = true;
      break;
    }
    if (!marked) out += text[i++];
  }
  return out;
}

template <class Mark>
json::Value marked(const json::Value& v, const Mark& mark) {
  if (v.is_string()) return mark(v.as_string());
  if (v.is_array()) {
    json::Array items;
    for (const json::Value& item : v.items()) items.push_back(marked(item, mark));
    return json::Value(std::move(items));
  }
  if (v.is_object()) {
    json::Object members;
    for (const json::Member& m : v.members()) members.push_back({mark(m.key), marked(m.value, mark)});
    return json::Value(std::move(members));
  }
  return v;
}

std::string blanked(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != kMark) continue;
    i = text.find(kMark, i + 1);
    if (i == std::string::npos) break;
  }
  return out;
}

/// Sorts the lists whose order does not matter, by their text with fresh IDs blanked.
void sort_lists(json::Value& v) {
  static constexpr std::array kUnordered = {"NodeUpdate", "NodeAllocation", "NodePreemptions", "DeploymentUpdates",
                                            "CreatedEvals"};
  if (v.is_array()) {
    for (json::Value& item : v.items()) sort_lists(item);
  } else if (v.is_object()) {
    for (json::Member& m : v.members()) {
      sort_lists(m.value);
      if (!m.value.is_array() || std::find(kUnordered.begin(), kUnordered.end(), m.key) == kUnordered.end()) continue;
      std::vector<std::pair<std::string, json::Value>> keyed;
      for (json::Value& item : m.value.items()) {
        // By name first, so that if one entry differs the others still match.
        std::string key = blanked(item["Name"].as_string()) + ' ' + json::to_text(marked(item, blanked));
        keyed.emplace_back(std::move(key), std::move(item));
      }
      std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      json::Array items;
      for (auto& [key, item] : keyed) items.push_back(std::move(item));
      m.value = json::Value(std::move(items));
    }
  }
}

/// Renames the fresh IDs in order of appearance in the sorted tree.
class Renamer {
 public:
  void walk(json::Value& v) {
    if (v.is_string()) {
      v = rename(v.as_string());
    } else if (v.is_array()) {
      for (json::Value& item : v.items()) walk(item);
    } else if (v.is_object()) {
      for (json::Member& m : v.members()) {
        m.key = rename(m.key);
        walk(m.value);
      }
    }
  }

 private:
  std::string rename(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != kMark) {
        out += text[i];
        continue;
      }
      const std::size_t end = text.find(kMark, i + 1);
      const std::string token = text.substr(i + 1, end - i - 1);
      const auto [found, added] = names_.emplace(token, names_.size());
      out += "fresh-" + std::to_string(found->second);
      i = end;
    }
    return out;
  }
  std::map<std::string, std::size_t> names_;
};

/// Replaces the values of a new allocation's dynamic ports by `dynamic` (also a To that copies the value).
void hide_dynamic_ports(json::Value& alloc) {
  std::set<std::string> labels;
  auto hide = [](json::Value& port) {
    const std::int64_t value = port["Value"].as_int();
    if (port["To"].as_int() == value && value != 0) port.set("To", "dynamic");
    port.set("Value", "dynamic");
  };
  auto network = [&](json::Value& n) {
    json::Value* ports = n.find("DynamicPorts");
    if (!ports || !ports->is_array()) return;
    for (json::Value& port : ports->items()) {
      labels.insert(port["Label"].as_string());
      hide(port);
    }
  };
  json::Value* resources = alloc.find("AllocatedResources");
  if (!resources) return;
  if (json::Value* tasks = resources->find("Tasks"); tasks && tasks->is_object())
    for (json::Member& task : tasks->members())
      if (json::Value* networks = task.value.find("Networks"); networks && networks->is_array())
        for (json::Value& n : networks->items()) network(n);
  labels.clear();
  json::Value* shared = resources->find("Shared");
  if (!shared) return;
  if (json::Value* networks = shared->find("Networks"); networks && networks->is_array())
    for (json::Value& n : networks->items()) network(n);
  if (json::Value* ports = shared->find("Ports"); ports && ports->is_array())
    for (json::Value& port : ports->items())
      if (labels.contains(port["Label"].as_string())) hide(port);
}

/// Position of a job in the vector's table; for one rewritten by a commit that of its equal. The size if there is none.
std::size_t job_index(const model::Job& job, const model::JobTable& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].get() == &job) return i;
  const json::Value text = model::to_json(job);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i]->modify_index == job.modify_index && model::to_json(*jobs[i]) == text) return i;
  return jobs.size();
}

json::Value flat(const std::map<std::string, std::vector<model::Allocation>>& by_node, const model::JobTable& jobs,
                 const std::set<std::string>& fresh, bool hides_ports) {
  json::Value out = json::Value::array();
  for (const auto& [node, allocs] : by_node)
    for (const model::Allocation& alloc : allocs) {
      json::Value v = model::to_json(alloc, model::WriteMode::sparse, &jobs);
      // A version that a commit wrote again is another object than the table's: by its position all the same.
      if (const std::size_t at = v["Job"].is_object() ? job_index(*alloc.job, jobs) : jobs.size(); at < jobs.size())
        v.set("Job", static_cast<std::uint64_t>(at));
      if (hides_ports && fresh.contains(alloc.id)) hide_dynamic_ports(v);
      out.push(std::move(v));
    }
  return out;
}

json::Value plan_json(const model::Plan& plan, const model::JobTable& jobs, const std::set<std::string>& fresh,
                      bool hides_ports) {
  json::Value out = json::Value::object();
  out.set("EvalID", plan.eval_id);
  out.set("Priority", plan.priority);
  out.set("AllAtOnce", plan.all_at_once);
  if (plan.job) out.set("Job", static_cast<std::uint64_t>(job_index(*plan.job, jobs) + 1));  // +1: 0 counts as absent
  if (!plan.job_id.empty()) {
    json::Value info;
    info.set("ID", plan.job_id), info.set("Namespace", plan.job_namespace);
    out.set("JobInfo", std::move(info));
  }
  out.set("NodeUpdate", flat(plan.node_update, jobs, fresh, hides_ports));
  out.set("NodeAllocation", flat(plan.node_allocation, jobs, fresh, hides_ports));
  out.set("NodePreemptions", flat(plan.node_preemptions, jobs, fresh, hides_ports));
  if (plan.deployment) out.set("Deployment", model::to_json(*plan.deployment, model::WriteMode::sparse));
  json::Value& updates = out.set("DeploymentUpdates", json::Value::array());
  for (const auto& update : plan.deployment_updates) updates.push(model::to_json(update, model::WriteMode::sparse));
  if (plan.annotations) out.set("Annotations", model::to_json(*plan.annotations, model::WriteMode::sparse));
  return out;
}

json::Value evals_json(const std::vector<model::Evaluation>& evals) {
  json::Value out = json::Value::array();
  for (const model::Evaluation& eval : evals) out.push(model::to_json(eval, model::WriteMode::sparse));
  return out;
}

/// Adds 1 to indexes into the job table, because index 0 must not count as absent.
void shift_job_indexes(json::Value& v) {
  if (v.is_array()) {
    for (json::Value& item : v.items()) shift_job_indexes(item);
  } else if (v.is_object()) {
    for (json::Member& m : v.members()) {
      if (m.key == "Job" && m.value.is_int())
        m.value = json::Value(m.value.as_int() + 1);
      else
        shift_job_indexes(m.value);
    }
  }
}

}  // namespace

std::vector<Difference> compare_recording(const json::Value& expect, const Recording& r, const model::JobTable& jobs,
                                          const std::set<std::string>& recorded_fresh, bool tokens) {
  json::Value got = json::Value::object();
  json::Value& attempts = got.set("Attempts", json::Value::array());
  for (const Recording::Attempt& attempt : r.attempts) {
    json::Value a = json::Value::object();
    json::Value plan = plan_json(attempt.plan, jobs, r.fresh_ids, tokens);
    for (const char* list : {"NodeUpdate", "NodeAllocation", "NodePreemptions"})
      for (json::Value& alloc : plan.find(list)->items())
        if (json::Value* job = alloc.find("Job"); job && job->is_int()) *job = json::Value(job->as_int() + 1);
    a.set("Plan", std::move(plan));
    a.set("Full", attempt.full);
    a.set("Refused", attempt.refused);
    a.set("PlanError", attempt.error);
    json::Value& nodes = a.set("RefusedNodes", json::Value::array());
    for (const std::string& node : attempt.refused_nodes) nodes.push(node);
    attempts.push(std::move(a));
  }
  got.set("CreatedEvals", evals_json(r.created));
  got.set("UpdatedEvals", evals_json(r.updated));
  got.set("ReblockedEvals", evals_json(r.reblocked));
  json::Value& events = got.set("Events", json::Value::array());
  for (std::size_t i = 0; i < std::min<std::size_t>(r.port_collision_events, 64); ++i) {
    // The recorded entries name the call and the type; all are port collisions (R-RANK-608).
    events.push(expect["Events"][std::min(i, expect["Events"].size() ? expect["Events"].size() - 1 : 0)]);
  }
  got.set("Error", r.error);

  json::Value want = expect;
  shift_job_indexes(want);
  want = marked(simplified(want, false),
                [&](const std::string& text) { return tokens ? mark_tokens(text) : mark_ids(text, recorded_fresh); });
  std::set<std::string> fresh = r.fresh_ids;
  for (const auto& [drawn, recorded] : r.recorded_as) fresh.insert(recorded);
  got = marked(simplified(got, false), [&](const std::string& text) { return mark_ids(text, fresh, r.recorded_as); });
  sort_lists(want);
  sort_lists(got);
  Renamer want_names, got_names;
  want_names.walk(want);
  got_names.walk(got);
  CompareOptions options;
  options.absent_is_zero = false;
  return compare(want, got, options);
}

}  // namespace berth::conform
