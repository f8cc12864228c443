#include "dryrun/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "dryrun/text.h"
#include "model/flatten.h"

namespace berth::dryrun {
namespace {

constexpr std::size_t kNearest = 3;

model::FlatResources held_by(const model::Allocation& alloc) {
  return alloc.allocated_resources ? model::flatten(*alloc.allocated_resources) : model::FlatResources{};
}

bool in_datacenters(const model::Job& job, const model::Node& node) {
  return (job.node_pool == "all" || job.node_pool == node.node_pool) &&
         std::any_of(job.datacenters.begin(), job.datacenters.end(),
                     [&](const std::string& pattern) { return base::glob_match(pattern, node.datacenter); });
}

std::vector<Shortage> shortages(const sched::DryRun& dry_run, const sched::DryRunAnswer& answer,
                                const tables::CompiledGroup& group) {
  const tables::Snapshot& tables = dry_run.tables();
  std::vector<std::pair<double, Shortage>> found;
  for (tables::NodeRow row = 0; row < tables.nodes.size(); ++row) {
    if (!tables.nodes.exists(row) || !tables.nodes.ready(row)) continue;
    const model::Node& node = tables.nodes.spec(row).node;
    if (!in_datacenters(*dry_run.job(), node)) continue;
    const std::string id = base::to_text(tables.nodes.id(row));
    const tables::NodeCapacity& capacity = tables.nodes.capacity(row);
    const tables::NodeUse& use = tables.nodes.use[row];
    std::int64_t cpu = capacity.cpu_mhz - use.cpu_mhz, memory = capacity.memory_mb - use.memory_mb,
                 disk = capacity.disk_mb - use.disk_mb;
    const auto change = [&](const std::map<std::string, std::vector<model::Allocation>>& lists, int sign) {
      const auto list = lists.find(id);
      if (list == lists.end()) return;
      for (const model::Allocation& alloc : list->second) {
        const model::FlatResources held = held_by(alloc);
        cpu += sign * held.cpu_mhz, memory += sign * held.memory_mb, disk += sign * held.disk_mb;
      }
    };
    change(answer.plan.node_allocation, -1);
    change(answer.plan.node_update, 1);
    change(answer.plan.node_preemptions, 1);
    Shortage s;
    const std::string* name = tables.value_text(tables::kNameColumn, row);
    s.node_name = name ? *name : id;
    s.cpu_mhz = std::max<std::int64_t>(0, group.cpu_mhz - cpu);
    s.memory_mb = std::max<std::int64_t>(0, group.memory_mb - memory);
    s.disk_mb = std::max<std::int64_t>(0, group.disk_mb - disk);
    const auto part = [](std::int64_t missing, std::int64_t ask) {
      return missing == 0 ? 0.0 : static_cast<double>(missing) / static_cast<double>(ask);
    };
    const double all =
        part(s.cpu_mhz, group.cpu_mhz) + part(s.memory_mb, group.memory_mb) + part(s.disk_mb, group.disk_mb);
    if (all > 0) found.emplace_back(all, std::move(s));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Shortage> out;
  for (std::size_t i = 0; i < std::min(found.size(), kNearest); ++i) out.push_back(std::move(found[i].second));
  return out;
}

/// Tries changed jobs against one state.
class Trial {
 public:
  Trial(const model::ClusterState& state, const model::Registration& registration, std::int64_t now,
        std::uint64_t order)
      : state_(state), registration_(registration), now_(now), order_(order) {}

  using Edit = std::function<void(model::Job&)>;
  /// Whether the group is placed whole once `edit` was made.
  [[nodiscard]] bool fits(const std::string& group, const Edit& edit) const { return fits_in(state_, group, edit); }

  [[nodiscard]] bool fits_in(const model::ClusterState& state, const std::string& group, const Edit& edit) const {
    model::Registration changed = registration_;
    auto job = std::make_shared<model::Job>(*registration_.job);
    edit(*job);
    changed.job = std::move(job);
    const sched::DryRunAnswer answer = sched::DryRun(state, changed, now_).answer(order_);
    return answer.error.empty() && !answer.failed.contains(group);
  }

 private:
  const model::ClusterState& state_;
  const model::Registration& registration_;
  std::int64_t now_;
  std::uint64_t order_;
};

model::TaskGroup* group_of(model::Job& job, const std::string& name) {
  for (model::TaskGroup& group : job.task_groups)
    if (group.name == name) return &group;
  return nullptr;
}

struct Dimension {
  const char *name, *unit;
  std::int64_t least;
  std::function<std::int64_t*(model::TaskGroup&, std::size_t)> field;  ///< null when the group lacks it
};

/// The largest ask of one dimension, below the present one, with which the group fits.
void try_resources(const Trial& trial, const model::TaskGroup& group, GroupAdvice& out) {
  const auto of_task = [](auto member) {
    return [member](model::TaskGroup& g, std::size_t task) -> std::int64_t* {
      return task < g.tasks.size() && g.tasks[task].resources ? &((*g.tasks[task].resources).*member) : nullptr;
    };
  };
  const Dimension dimensions[] = {{"cpu", "MHz", 1, of_task(&model::Resources::cpu)},
                                  {"memory", "MiB", 10, of_task(&model::Resources::memory_mb)},
                                  {"disk", "MiB", 10, [](model::TaskGroup& g, std::size_t) {
                                     return g.ephemeral_disk ? &g.ephemeral_disk->size_mb : nullptr;
                                   }}};
  for (const Dimension& d : dimensions) {
    model::TaskGroup copy = group;
    std::size_t largest = 0;
    for (std::size_t t = 0; t < copy.tasks.size(); ++t)
      if (const std::int64_t* value = d.field(copy, t); value && *value > *d.field(copy, largest)) largest = t;
    const std::int64_t* now = d.field(copy, largest);
    if (!now || *now <= d.least) continue;
    const std::int64_t present = *now;
    const auto fits = [&](std::int64_t value) {
      return trial.fits(group.name, [&](model::Job& job) { *d.field(*group_of(job, group.name), largest) = value; });
    };
    if (!fits(d.least)) continue;
    std::int64_t low = d.least, high = present;  // low fits, high does not
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    out.changes.push_back(std::string(d.name) == "disk"
                              ? fmt::format("disk of the group: {} instead of {} {}", low, present, d.unit)
                              : fmt::format("{} of task \"{}\": {} instead of {} {}", d.name, copy.tasks[largest].name,
                                            low, present, d.unit));
  }
}

void try_constraints(const Trial& trial, const model::Job& job, const std::string& group, GroupAdvice& out) {
  const auto without = [&](const model::Constraint& constraint) {
    return trial.fits(group, [&](model::Job& changed) {
      std::erase(changed.constraints, constraint);
      model::TaskGroup* of = group_of(changed, group);
      std::erase(of->constraints, constraint);
      for (model::Task& task : of->tasks) std::erase(task.constraints, constraint);
    });
  };
  std::vector<model::Constraint> all = job.constraints;
  const model::TaskGroup* of = job.group(group);
  all.insert(all.end(), of->constraints.begin(), of->constraints.end());
  for (const model::Task& task : of->tasks) all.insert(all.end(), task.constraints.begin(), task.constraints.end());
  for (const model::Constraint& constraint : all)
    if (without(constraint)) out.changes.push_back("without the constraint \"" + constraint.text() + "\"");
}

void try_preemption(const Trial& trial, const model::ClusterState& state, const model::Job& job,
                    const std::string& group, GroupAdvice& out) {
  model::ClusterState changed = state;
  auto& config = changed.scheduler_config ? *changed.scheduler_config : changed.scheduler_config.emplace();
  model::PreemptionConfig& p = config.preemption_config;
  bool& enabled = job.type == "batch"      ? p.batch_scheduler_enabled
                  : job.type == "system"   ? p.system_scheduler_enabled
                  : job.type == "sysbatch" ? p.sysbatch_scheduler_enabled
                                           : p.service_scheduler_enabled;
  if (enabled) return;
  enabled = true;
  if (trial.fits_in(changed, group, [](model::Job&) {}))
    out.changes.push_back("preemption switched on for " + job.type + " jobs");
}

/// The constraint that filters most. After a second look with preemption the metrics only name the class as ineligible,
/// so the group is tried alone and without preemption.
void name_filter(const model::ClusterState& state, const model::Registration& registration, std::int64_t now,
                 std::uint64_t order, GroupAdvice& out) {
  model::ClusterState plain = state;
  plain.scheduler_config = state.scheduler_config.value_or(model::SchedulerConfiguration{});
  plain.scheduler_config->preemption_config = {false, false, false, false};
  model::Registration alone = registration;
  auto job = std::make_shared<model::Job>(*registration.job);
  std::erase_if(job->task_groups, [&](const model::TaskGroup& group) { return group.name != out.group; });
  alone.job = std::move(job);
  const sched::DryRunAnswer answer = sched::DryRun(plain, alone, now).answer(order);
  const auto failed = answer.failed.find(out.group);
  if (!answer.error.empty() || failed == answer.failed.end()) return;
  std::int64_t most = 0;
  for (const auto& [constraint, count] : failed->second.constraint_filtered)
    if (count > most) out.filtered_most = constraint, out.filtered_nodes = most = count;
}

}  // namespace

std::vector<GroupAdvice> advise(const model::ClusterState& state, const model::Registration& registration,
                                const sched::DryRun& dry_run, const sched::DryRunAnswer& answer, std::int64_t now_ns,
                                std::uint64_t order) {
  std::vector<GroupAdvice> out;
  const tables::Snapshot& tables = dry_run.tables();
  const model::Job& job = *registration.job;
  const Trial trial(state, registration, now_ns, order);
  for (const auto& [name, metric] : answer.failed) {
    GroupAdvice& advice = out.emplace_back();
    advice.group = name;
    advice.failed = metric.coalesced_failures + 1;
    for (const auto& [constraint, count] : metric.constraint_filtered)
      if (count > advice.filtered_nodes) advice.filtered_most = constraint, advice.filtered_nodes = count;
    if (advice.filtered_nodes > 0) name_filter(state, registration, now_ns, order, advice);
    const model::TaskGroup* group = job.group(name);
    if (!group) continue;
    for (std::size_t row = 0; row < tables.jobs.versions.size(); ++row)
      if (tables.jobs.versions[row]->spec == dry_run.job())
        for (const tables::CompiledGroup& compiled : tables.jobs.versions[row]->groups)
          if (compiled.spec->name == name) advice.nearest = shortages(dry_run, answer, compiled);
    if (const std::int64_t count = group->count - advice.failed;
        count > 0 && job.type != "system" && job.type != "sysbatch" &&
        trial.fits(name, [&](model::Job& changed) { group_of(changed, name)->count = count; }))
      advice.changes.push_back(fmt::format("count: {} instead of {}", count, group->count));
    try_resources(trial, *group, advice);
    try_constraints(trial, job, name, advice);
    try_preemption(trial, state, job, name, advice);
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
          {"  nearest node", "cpu missing", "memory missing", "disk missing"}};
      const auto cell = [](std::int64_t missing, const char* unit) {
        return missing == 0 ? std::string("-") : fmt::format("{} {}", missing, unit);
      };
      for (const Shortage& s : a.nearest)
        rows.push_back({"  " + s.node_name, cell(s.cpu_mhz, "MHz"), cell(s.memory_mb, "MiB"), cell(s.disk_mb, "MiB")});
      out += table_text(rows);
    }
    if (a.changes.empty())
      out += "  no single change of count, cpu, memory, disk, constraints or preemption makes it fit\n";
    for (std::size_t i = 0; i < a.changes.size(); ++i)
      out += fmt::format("  {} {}\n", i == 0 ? "would fit with" : "or with       ", a.changes[i]);
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
      nearest.push(std::move(node));
    }
    json::Value& changes = entry.set("changes", json::Value::array());
    for (const std::string& change : a.changes) changes.push(change);
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
      if (m.nodes_evaluated == 0)
        out += fmt::format("    not a candidate: status {}, {}{}, pool {}, datacenter {}\n", found->status,
                           found->scheduling_eligibility, found->drain_strategy ? ", draining" : "", found->node_pool,
                           found->datacenter);
      for (const auto& [constraint, n] : m.constraint_filtered) out += fmt::format("    filtered: {}\n", constraint);
      for (const auto& [dimension, n] : m.dimension_exhausted) out += fmt::format("    exhausted: {}\n", dimension);
    }
    if (!first && failed == answer.failed.end()) {
      const bool asks = updates != answer.annotations.desired_tg_updates.end() &&
                        updates->second.place + updates->second.destructive_update + updates->second.canary > 0;
      out += fmt::format("  group \"{}\": {}\n", group.name,
                         asks ? "nothing is placed here" : "places nothing in this plan");
    }
  }
  return out;
}

}  // namespace berth::dryrun
