#include "dryrun/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "dryrun/text.h"
#include "model/flatten.h"
#include "model/predicates.h"

namespace berth::dryrun {
namespace {

constexpr std::size_t kNearest = 3;    ///< nodes shown
constexpr std::size_t kLookedAt = 16;  ///< nodes that the scheduler is asked about one by one

bool in_datacenters(const model::Job& job, const model::Node& node) {
  return (job.node_pool == "all" || job.node_pool == node.node_pool) &&
         std::any_of(job.datacenters.begin(), job.datacenters.end(),
                     [&](const std::string& pattern) { return base::glob_match(pattern, node.datacenter); });
}

/// What the allocations of a node hold, and would hold after the plan.
class PlannedUse {
 public:
  PlannedUse(const model::ClusterState& state, const model::Plan& plan) : plan_(plan) {
    for (const model::Allocation& alloc : state.allocs)
      if (!model::is_client_terminal(alloc)) on_node_[alloc.node_id].push_back(&alloc);
  }

  [[nodiscard]] model::FlatResources on(const std::string& node_id) const {
    std::map<std::string_view, const model::Allocation*> allocs;
    if (const auto list = on_node_.find(node_id); list != on_node_.end())
      for (const model::Allocation* alloc : list->second) allocs[alloc->id] = alloc;
    const auto planned = [&](const std::map<std::string, std::vector<model::Allocation>>& lists, bool stays) {
      const auto list = lists.find(node_id);
      if (list == lists.end()) return;
      for (const model::Allocation& alloc : list->second) {
        if (stays)
          allocs[alloc.id] = &alloc;  // an update in place takes the place of what is there
        else
          allocs.erase(alloc.id);
      }
    };
    planned(plan_.node_update, false);
    planned(plan_.node_preemptions, false);
    planned(plan_.node_allocation, true);
    model::FlatResources out;
    for (const auto& [id, alloc] : allocs)
      if (alloc->allocated_resources) out.add(model::flatten(*alloc->allocated_resources));
    return out;
  }

 private:
  const model::Plan& plan_;
  std::unordered_map<std::string_view, std::vector<const model::Allocation*>> on_node_;
};

/// Why the scheduler refuses a node that it looks at alone; "" when it would take it.
std::string refusal_of(const sched::DryRunAnswer& answer, const std::string& group) {
  const auto failed = answer.failed.find(group);
  if (failed == answer.failed.end()) return "";
  for (const auto& [constraint, count] : failed->second.constraint_filtered) return constraint;
  for (const auto& [dimension, count] : failed->second.dimension_exhausted) return dimension;
  return "";
}

std::vector<Shortage> shortages(const Question& question, const sched::DryRun& dry_run,
                                const model::Registration& plain, const sched::DryRunAnswer& answer,
                                const tables::CompiledGroup& group) {
  struct Near {
    double missing;
    std::string id;
    Shortage shortage;
  };
  const tables::Snapshot& tables = dry_run.tables();
  const PlannedUse uses(question.state, answer.plan);
  std::int64_t cores_asked = 0;
  for (const tables::CompiledTask& task : group.tasks) cores_asked += task.cores;
  const auto part = [](std::int64_t missing, std::int64_t ask) {
    return missing == 0 ? 0.0 : static_cast<double>(missing) / static_cast<double>(ask);
  };
  std::vector<Near> found;
  for (tables::NodeRow row = 0; row < tables.nodes.size(); ++row) {
    if (!tables.nodes.exists(row) || !tables.nodes.ready(row)) continue;
    const tables::NodeSpec& spec = tables.nodes.spec(row);
    if (!in_datacenters(*dry_run.job(), spec.node)) continue;
    const tables::NodeCapacity& capacity = tables.nodes.capacity(row);
    Near near;
    near.id = base::to_text(tables.nodes.id(row));
    const model::FlatResources use = uses.on(near.id);
    Shortage& s = near.shortage;
    const std::string* name = tables.value_text(tables::kNameColumn, row);
    s.node_name = name ? *name : near.id;
    const auto missing = [](std::int64_t ask, std::int64_t all, std::int64_t used) {
      std::int64_t free = 0, out = 0;
      if (__builtin_sub_overflow(all, used, &free) || __builtin_sub_overflow(ask, free, &out)) return ask;
      return ask > 0 ? std::clamp<std::int64_t>(out, 0, std::numeric_limits<std::int64_t>::max()) : 0;
    };
    s.cpu_mhz = missing(group.cpu_mhz, capacity.cpu_mhz, use.cpu_mhz);
    s.memory_mb = missing(group.memory_mb, capacity.memory_mb, use.memory_mb);
    s.disk_mb = missing(group.disk_mb, capacity.disk_mb, use.disk_mb);
    const auto free_cores = std::count_if(spec.cores.begin(), spec.cores.end(), [&](std::uint16_t core) {
      return !std::binary_search(use.cores.begin(), use.cores.end(), core);
    });
    s.cores = missing(cores_asked, free_cores, 0);
    near.missing = part(s.cpu_mhz, group.cpu_mhz) + part(s.memory_mb, group.memory_mb) +
                   part(s.disk_mb, group.disk_mb) + part(s.cores, cores_asked);
    found.push_back(std::move(near));
  }
  const auto sort = [&] {
    std::stable_sort(found.begin(), found.end(), [](const Near& a, const Near& b) { return a.missing < b.missing; });
  };
  sort();
  if (found.size() > kLookedAt) found.resize(kLookedAt);
  // Each by itself: what no number says, a port, a device, a constraint, counts as one whole thing missing.
  sched::DryRun alone(question.state, plain, question.now_ns);
  for (Near& near : found) {
    if (!alone.restrict_to(near.id)) continue;
    near.shortage.reason = refusal_of(alone.answer(question.order), std::string(group.spec->name));
    const std::string& reason = near.shortage.reason;
    const bool counted = reason == "cpu" || reason == "memory" || reason == "disk" || reason == "cores";
    if (!reason.empty() && !(counted && near.missing > 0)) near.missing += 1;
  }
  sort();
  std::vector<Shortage> out;
  for (Near& near : found)
    if (out.size() < kNearest && near.missing > 0) out.push_back(std::move(near.shortage));
  return out;
}

/// The job with one group only. Of a node whose class was refused before, and in a second look with preemption, metrics
/// only say that the class is ineligible; so a group is looked at by itself, without preemption, and where the filter
/// is to be named, with classes of one node each.
model::Registration only(const model::Registration& registration, const std::string& group) {
  model::Registration out = registration;
  auto job = std::make_shared<model::Job>(*registration.job);
  std::erase_if(job->task_groups, [&](const model::TaskGroup& other) { return other.name != group; });
  out.job = std::move(job);
  return out;
}

model::ClusterState without_preemption(const model::ClusterState& state) {
  model::ClusterState out = state;
  if (!out.scheduler_config) out.scheduler_config.emplace();
  out.scheduler_config->preemption_config = {false, false, false, false};
  return out;
}

/// The constraint that filters most, and how many nodes.
void name_filter(const std::map<std::string, std::int64_t>& filtered, GroupAdvice& out) {
  out.filtered_nodes = 0;
  for (const auto& [constraint, count] : filtered)
    if (count > out.filtered_nodes) out.filtered_most = constraint, out.filtered_nodes = count;
}

std::string no_candidate(const model::Node& node) {
  return fmt::format("    not a candidate: status {}, {}{}, pool {}, datacenter {}\n", node.status,
                     node.scheduling_eligibility, node.drain_strategy ? ", draining" : "", node.node_pool,
                     node.datacenter);
}

/// Why a node gets nothing of a group that fails nowhere: a system job passes over nodes that it may not use. A service
/// job with this group alone is refused there for the same reason, and says it.
std::string reason_alone(const model::ClusterState& state, const model::Registration& registration,
                         const model::Node& node, const std::string& group, std::int64_t now_ns, std::uint64_t order) {
  model::Registration alone = only(registration, group);
  auto job = std::make_shared<model::Job>(*alone.job);
  job->id += "/alone", job->type = "service";
  job->task_groups[0].count = 1;
  alone.job = std::move(job);
  const model::ClusterState plain = without_preemption(state);
  sched::DryRun dry_run(plain, alone, now_ns);
  if (!dry_run.restrict_to(node.id)) return "";
  const sched::DryRunAnswer answer = dry_run.answer(order);
  const auto failed = answer.failed.find(group);
  if (failed == answer.failed.end()) return "";
  if (failed->second.nodes_evaluated == 0) return no_candidate(node);
  std::string out;
  for (const auto& [constraint, n] : failed->second.constraint_filtered)
    out += fmt::format("    filtered: {}\n", constraint);
  return out;
}

}  // namespace

std::vector<GroupAdvice> advise(const Question& question, const model::Registration& registration,
                                const sched::DryRun& dry_run, const sched::DryRunAnswer& answer) {
  std::vector<GroupAdvice> out;
  if (answer.failed.empty()) return out;
  const tables::Snapshot& tables = dry_run.tables();
  const model::Job& job = *registration.job;
  const model::ClusterState plain_state = without_preemption(question.state);
  Question plain = {plain_state,      question.document, question.path, question.name_space,
                    question.options, question.now_ns,   question.order};
  for (const auto& [name, metric] : answer.failed) {
    GroupAdvice& advice = out.emplace_back();
    advice.group = name;
    advice.failed = metric.coalesced_failures + 1;
    name_filter(metric.constraint_filtered, advice);
    if (!job.group(name)) continue;
    const model::Registration alone = only(registration, name);
    if (advice.filtered_nodes > 0) {
      model::ClusterState named = plain_state;
      for (model::Node& node : named.nodes) node.computed_class = node.id;
      const sched::DryRunAnswer again = sched::DryRun(named, alone, question.now_ns).answer(question.order);
      if (const auto failed = again.failed.find(name); again.error.empty() && failed != again.failed.end())
        name_filter(failed->second.constraint_filtered, advice);
    }
    for (std::size_t row = 0; row < tables.jobs.versions.size(); ++row)
      if (tables.jobs.versions[row]->spec == dry_run.job())
        for (const tables::CompiledGroup& compiled : tables.jobs.versions[row]->groups)
          if (compiled.spec->name == name) advice.nearest = shortages(plain, dry_run, alone, answer, compiled);
    advice.changes = changes_that_fit(question, job, name, advice.failed);
  }
  return out;
}

std::string to_text(const std::vector<GroupAdvice>& advice) {
  std::string out;
  for (const GroupAdvice& a : advice) {
    out += fmt::format("Why {} of group \"{}\" found no node:\n", a.failed, a.group);
    if (!a.filtered_most.empty())
      out += fmt::format("  filtered most: \"{}\", {} node{}\n", a.filtered_most, a.filtered_nodes,
                         a.filtered_nodes == 1 ? "" : "s");
    if (!a.nearest.empty()) {
      std::vector<std::vector<std::string>> rows = {
          {"  nearest node", "cpu missing", "memory missing", "disk missing", "cores missing", "refused for"}};
      const auto cell = [](std::int64_t missing, const char* unit) {
        return missing == 0 ? std::string("-") : fmt::format("{}{}", missing, unit);
      };
      for (const Shortage& s : a.nearest)
        rows.push_back({"  " + s.node_name, cell(s.cpu_mhz, " MHz"), cell(s.memory_mb, " MiB"), cell(s.disk_mb, " MiB"),
                        cell(s.cores, ""), s.reason.empty() ? "-" : s.reason});
      out += table_text(rows);
    }
    if (a.changes.empty())
      out +=
          "  no single change of count, resources, constraints, ports, volumes, datacenters, pool or preemption makes "
          "it "
          "fit\n";
    for (std::size_t i = 0; i < a.changes.size(); ++i)
      out += fmt::format("  {} {}\n", i == 0 ? "would fit with" : "or with       ", a.changes[i].text);
  }
  return out;
}

json::Value to_json(const std::vector<GroupAdvice>& advice) {
  json::Value out = json::Value::array();
  for (const GroupAdvice& a : advice) {
    json::Value entry = json::Value::object();
    entry.set("group", a.group), entry.set("failed", a.failed);
    entry.set("filtered_most", a.filtered_most), entry.set("filtered_nodes", a.filtered_nodes);
    json::Value& nearest = entry.set("nearest", json::Value::array());
    for (const Shortage& s : a.nearest) {
      json::Value node = json::Value::object();
      node.set("node", s.node_name), node.set("cpu_missing_mhz", s.cpu_mhz);
      node.set("memory_missing_mb", s.memory_mb), node.set("disk_missing_mb", s.disk_mb);
      node.set("cores_missing", s.cores), node.set("reason", s.reason);
      nearest.push(std::move(node));
    }
    json::Value& changes = entry.set("changes", json::Value::array());
    for (const Change& change : a.changes) {
      json::Value one = json::Value::object();
      one.set("text", change.text), one.set("patch", change.patch);
      changes.push(std::move(one));
    }
    out.push(std::move(entry));
  }
  return out;
}

tl::expected<std::string, std::string> explain(const model::ClusterState& state,
                                               const model::Registration& registration, const std::string& node,
                                               std::int64_t now_ns, std::uint64_t order) {
  const model::Node* found = nullptr;
  for (const model::Node& n : state.nodes) {
    if (n.name != node && !n.id.starts_with(node)) continue;
    if (found) return tl::unexpected("several nodes go by '" + node + "'; give the whole ID");
    found = &n;
  }
  if (!found || node.empty()) return tl::unexpected("there is no node '" + node + "'");
  sched::DryRun dry_run(state, registration, now_ns);
  if (!dry_run.restrict_to(found->id)) return tl::unexpected("there is no node '" + node + "'");
  const sched::DryRunAnswer answer = dry_run.answer(order);
  if (!answer.error.empty()) return tl::unexpected(answer.error);

  std::string out = fmt::format("Node \"{}\" ({}), as if it were the only one:\n", found->name, found->id);
  const auto placed = answer.plan.node_allocation.find(found->id);
  for (const model::TaskGroup& group : dry_run.job()->task_groups) {
    const auto updates = answer.annotations.desired_tg_updates.find(group.name);
    const auto failed = answer.failed.find(group.name);
    std::int64_t count = 0;
    const model::Allocation* first = nullptr;
    if (placed != answer.plan.node_allocation.end())
      for (const model::Allocation& alloc : placed->second)
        if (alloc.task_group == group.name && alloc.metrics && !alloc.metrics->score_meta_data.empty()) {
          if (!first) first = &alloc;
          ++count;
        }
    if (first) {
      out += fmt::format("  group \"{}\": takes {}\n", group.name, count);
      for (const model::ScoreMeta& meta : first->metrics->score_meta_data) {
        if (meta.node_id != found->id) continue;
        out += fmt::format("    score {}", json::double_text(meta.norm_score));
        const char* separator = " = mean of ";
        for (const auto& [component, score] : meta.scores) {
          if (component == "normalized-score") continue;
          out += fmt::format("{}{} {}", separator, component, json::double_text(score));
          separator = ", ";
        }
        out += "\n";
      }
    }
    if (failed != answer.failed.end()) {
      const model::AllocMetric& m = failed->second;
      out += fmt::format("  group \"{}\": refused{}\n", group.name, first ? " afterwards" : "");
      if (m.nodes_evaluated == 0) out += no_candidate(*found);
      // With preemption the second look at the node only knows that its class was refused.
      if (m.constraint_filtered.contains("computed class ineligible"))
        out += reason_alone(state, registration, *found, group.name, now_ns, order);
      else
        for (const auto& [constraint, n] : m.constraint_filtered) out += fmt::format("    filtered: {}\n", constraint);
      for (const auto& [dimension, n] : m.dimension_exhausted) out += fmt::format("    exhausted: {}\n", dimension);
    }
    if (!first && failed == answer.failed.end()) {
      const bool asks = updates != answer.annotations.desired_tg_updates.end() &&
                        updates->second.place + updates->second.destructive_update + updates->second.canary > 0;
      out += fmt::format("  group \"{}\": {}\n", group.name,
                         asks ? "nothing is placed here" : "places nothing in this plan");
      if (asks) out += reason_alone(state, registration, *found, group.name, now_ns, order);
    }
  }
  return out;
}

}  // namespace berth::dryrun
