#include "advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "advice/trial.h"
#include "base/text.h"
#include "model/flatten.h"
#include "model/predicates.h"

namespace berth::advice {
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
std::string refusal_of(const server::DryRunAnswer& answer, const std::string& group) {
  const auto failed = answer.failed.find(group);
  if (failed == answer.failed.end()) return "";
  for (const auto& [constraint, count] : failed->second.constraint_filtered) return constraint;
  for (const auto& [dimension, count] : failed->second.dimension_exhausted) return dimension;
  return "";
}

/// Nodes that a job may use, and what they hold after the plan.
struct Candidates {
  struct Node {
    tables::NodeRow row;
    model::FlatResources use;
  };
  std::vector<Node> nodes;

  Candidates(const model::ClusterState& state, const server::DryRun& dry_run, const model::Plan& plan) {
    const tables::Snapshot& tables = dry_run.tables();
    const PlannedUse uses(state, plan);
    for (tables::NodeRow row = 0; row < tables.nodes.size(); ++row)
      if (tables.nodes.exists(row) && tables.nodes.ready(row) &&
          in_datacenters(*dry_run.job(), tables.nodes.spec(row).node))
        nodes.push_back({row, uses.on(base::to_text(tables.nodes.id(row)))});
  }
};

/// A node and how much of the group's ask is missing there; a dimension that is missing whole counts 1.
struct Near {
  double missing = 0;
  tables::NodeRow row = 0;
  Shortage shortage;
};

std::int64_t missing_of(std::int64_t ask, std::int64_t all, std::int64_t used) {
  std::int64_t free = 0, out = 0;
  if (__builtin_sub_overflow(all, used, &free) || __builtin_sub_overflow(ask, free, &out)) return ask;
  return ask > 0 ? std::clamp<std::int64_t>(out, 0, std::numeric_limits<std::int64_t>::max()) : 0;
}

Near near_of(const tables::Snapshot& tables, const Candidates::Node& node, const tables::CompiledGroup& group,
             std::int64_t cores_asked) {
  const tables::NodeCapacity& capacity = tables.nodes.capacity(node.row);
  const auto part = [](std::int64_t missing, std::int64_t ask) {
    return missing == 0 ? 0.0 : static_cast<double>(missing) / static_cast<double>(ask);
  };
  Near near;
  near.row = node.row;
  Shortage& s = near.shortage;
  s.cpu_mhz = missing_of(group.cpu_mhz, capacity.cpu_mhz, node.use.cpu_mhz);
  s.memory_mb = missing_of(group.memory_mb, capacity.memory_mb, node.use.memory_mb);
  s.disk_mb = missing_of(group.disk_mb, capacity.disk_mb, node.use.disk_mb);
  if (cores_asked > 0) {
    const auto& cores = tables.nodes.spec(node.row).cores;
    const auto free_cores = std::count_if(cores.begin(), cores.end(), [&](std::uint16_t core) {
      return !std::binary_search(node.use.cores.begin(), node.use.cores.end(), core);
    });
    s.cores = missing_of(cores_asked, free_cores, 0);
  }
  near.missing = part(s.cpu_mhz, group.cpu_mhz) + part(s.memory_mb, group.memory_mb) + part(s.disk_mb, group.disk_mb) +
                 part(s.cores, cores_asked);
  return near;
}

bool less_missing(const Near& a, const Near& b) { return a.missing < b.missing; }

/// All that metrics say of a node whose class was refused before, or that is looked at once more with preemption.
constexpr const char* kClassIneligible = "computed class ineligible";

model::SchedulerConfiguration without_preemption(std::optional<model::SchedulerConfiguration> config) {
  if (!config) config.emplace();
  config->preemption_config = {false, false, false, false};
  return *config;
}

/// The job with one group only.
model::Registration only(const model::Registration& registration, const std::string& group) {
  model::Registration out = registration;
  auto job = std::make_shared<model::Job>(*registration.job);
  job->task_groups.erase_if([&](const model::TaskGroup& other) { return other.name != group; });
  out.job = std::move(job);
  return out;
}

std::vector<std::string> all_beside(const std::string& group, const model::Job& job) {
  std::vector<std::string> out;
  for (const model::TaskGroup& other : job.task_groups)
    if (other.name != group) out.push_back(other.name);
  return out;
}

/// A group and the failure that the plan reports of it.
struct Failure {
  const std::string& group;
  const model::AllocMetric& metric;
};

/// The metrics' own words for a property that is used up: looked at alone, other counts of uses may be found.
std::string as_the_metrics_say(std::string reason, const model::AllocMetric& metric) {
  if (!reason.starts_with("distinct_property: ")) return reason;
  const std::string property = reason.substr(0, reason.rfind(" used by ") + 1);
  for (const auto& [constraint, count] : metric.constraint_filtered)
    if (constraint.starts_with(property)) return constraint;
  return reason;
}

/// Why each node refuses the group when it is looked at alone, with nothing placed of the other groups and without
/// preemption; where an update in place of another group left the verdict on its class behind, without these, too.
void look_at_each(std::vector<Near>& nodes, const tables::Snapshot& tables, Loaded& loaded,
                  const model::Registration& registration, const Failure& failure) {
  const Question& question = loaded.question();
  const auto plain = without_preemption(question.state.scheduler_config);
  const auto look = [&](server::DryRun& alone, bool again) {
    for (Near& near : nodes)
      if (!again || near.shortage.reason == kClassIneligible)
        if (alone.restrict_to(base::to_text(tables.nodes.id(near.row))))
          near.shortage.reason = refusal_of(alone.decide(question.order), failure.group);
  };
  look(loaded.about(registration, all_beside(failure.group, *registration.job), plain), false);
  if (std::any_of(nodes.begin(), nodes.end(), [](const Near& n) { return n.shortage.reason == kClassIneligible; }))
    look(loaded.about(only(registration, failure.group), {}, plain), true);
  for (Near& near : nodes) near.shortage.reason = as_the_metrics_say(std::move(near.shortage.reason), failure.metric);
}

/// The nodes that lack least.
std::vector<Shortage> shortages(const Candidates& candidates, const tables::Snapshot& tables, Loaded& loaded,
                                const model::Registration& registration, const Failure& failure,
                                const tables::CompiledGroup& group) {
  std::int64_t cores_asked = 0;
  for (const tables::CompiledTask& task : group.tasks) cores_asked += task.cores;
  std::vector<Near> found;
  found.reserve(candidates.nodes.size());
  for (const Candidates::Node& node : candidates.nodes) found.push_back(near_of(tables, node, group, cores_asked));
  const std::size_t looked_at = std::min(found.size(), kLookedAt);
  std::partial_sort(
      found.begin(), found.begin() + static_cast<std::ptrdiff_t>(looked_at), found.end(),
      [](const Near& a, const Near& b) { return less_missing(a, b) || (!less_missing(b, a) && a.row < b.row); });
  found.resize(looked_at);
  look_at_each(found, tables, loaded, registration, failure);
  // What no number says, a port, a device, a constraint, counts as one whole thing missing.
  for (Near& near : found) {
    const std::string& reason = near.shortage.reason;
    const bool counted = reason == "cpu" || reason == "memory" || reason == "disk" || reason == "cores";
    if (!reason.empty() && !(counted && near.missing > 0)) near.missing += 1;
  }
  std::stable_sort(found.begin(), found.end(), less_missing);
  std::vector<Shortage> out;
  for (const Near& near : found) {
    if (out.size() == kNearest || near.missing <= 0) continue;
    const std::string* name = tables.value_text(tables::kNameColumn, near.row);
    out.push_back(near.shortage);
    out.back().node_name = name ? *name : base::to_text(tables.nodes.id(near.row));
  }
  return out;
}

/// A constraint and the nodes that it filtered.
using Filter = std::pair<std::string, std::int64_t>;

/// Takes what filters most into `most` if it is more; verdicts on classes name nothing.
void raise(Filter& most, const std::map<std::string, std::int64_t>& filtered) {
  for (const auto& [constraint, count] : filtered)
    if (count > most.second && constraint != kClassIneligible) most = {constraint, count};
}

/// Names what filtered most where metrics only tell of refused classes: the job is planned again with classes of one
/// node each and without preemption; where the job's own constraints refuse a node, whose verdict an earlier group
/// leaves behind, with nothing placed of the other groups; and where an update in place leaves it behind, without these
/// groups.
class Namer {
 public:
  Namer(const Question& question, const model::Registration& registration)
      : state_(question.state),
        order_(question.order),
        registration_(registration),
        dry_run_(named(state_), registration, question.now_ns) {}

  /// `most`: what the plan's own metrics name.
  void name(const std::string& group, Filter& most) {
    if (!whole_) whole_ = dry_run_.decide(order_);
    if (!take(*whole_, group, most)) return;
    dry_run_.pass_over(all_beside(group, *registration_.job));
    bool unnamed = take(dry_run_.decide(order_), group, most);
    dry_run_.pass_over({});
    if (!unnamed) return;
    dry_run_.instead(only(registration_, group));
    take(dry_run_.decide(order_), group, most);
    dry_run_.instead(registration_);
  }

 private:
  /// Whether some nodes are still told of by their classes, or nothing is told.
  static bool take(const server::DryRunAnswer& answer, const std::string& group, Filter& most) {
    const auto failed = answer.failed.find(group);
    if (!answer.error.empty() || failed == answer.failed.end()) return true;
    raise(most, failed->second.constraint_filtered);
    return failed->second.constraint_filtered.contains(kClassIneligible);
  }
  static const model::ClusterState& named(model::ClusterState& state) {
    for (model::Node& node : state.nodes) node.computed_class = node.id;
    state.scheduler_config = without_preemption(state.scheduler_config);
    return state;
  }

  model::ClusterState state_;
  const std::uint64_t order_;
  const model::Registration& registration_;
  server::DryRun dry_run_;
  std::optional<server::DryRunAnswer> whole_;
};

/// Whether a group that places nothing leaves nothing behind for the groups after it: ports that they inherit, a wider
/// look at the nodes.
bool leaves_nothing_behind(const model::TaskGroup& group) {
  return group.networks.empty() && group.affinities.empty() && group.spreads.empty() &&
         std::all_of(group.tasks.begin(), group.tasks.end(), [](const model::Task& task) {
           return task.affinities.empty() && !(task.resources && !task.resources->networks.empty());
         });
}

/// Failed groups of which the plan places nothing, but for `group` itself (Trial).
std::vector<std::string> idle_beside(const std::string& group, const model::Job& job,
                                     const server::DryRunAnswer& answer) {
  std::vector<std::string> out;
  if (job.type == "system" || job.type == "sysbatch") return out;
  for (const auto& [name, metric] : answer.failed)
    if (const model::TaskGroup* of = job.group(name); of && name != group && leaves_nothing_behind(*of))
      out.push_back(name);
  for (const auto& [node, allocs] : answer.plan.node_allocation)
    for (const model::Allocation& alloc : allocs) std::erase(out, alloc.task_group);
  return out;
}

const tables::CompiledGroup* compiled_group(const server::DryRun& dry_run, const std::string& name) {
  const tables::JobTable& jobs = dry_run.tables().jobs;
  for (std::size_t row = jobs.versions.size(); row-- > 0;)
    if (jobs.versions[row]->spec == dry_run.job())
      for (const tables::CompiledGroup& group : jobs.versions[row]->groups)
        if (group.spec->name == name) return &group;
  return nullptr;
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
  server::DryRun dry_run(state, alone, now_ns);
  dry_run.configure(without_preemption(state.scheduler_config));
  if (!dry_run.restrict_to(node.id)) return "";
  const server::DryRunAnswer answer = dry_run.answer(order);
  const auto failed = answer.failed.find(group);
  if (failed == answer.failed.end()) return "";
  if (failed->second.nodes_evaluated == 0) return no_candidate(node);
  std::string out;
  for (const auto& [constraint, n] : failed->second.constraint_filtered)
    out += fmt::format("    filtered: {}\n", constraint);
  return out;
}

std::map<std::string, std::int64_t> refused_groups(const server::DryRunAnswer& answer) {
  std::map<std::string, std::int64_t> out;
  for (const server::Refusal& refusal : answer.refusals)
    if (const auto node = answer.plan.node_allocation.find(refusal.node_id); node != answer.plan.node_allocation.end())
      for (const model::Allocation& alloc : node->second) ++out[alloc.task_group];
  return out;
}

}  // namespace

std::vector<GroupAdvice> advise(const Question& question, const model::Registration& registration,
                                const server::DryRun& dry_run, const server::DryRunAnswer& answer, std::size_t most) {
  std::vector<GroupAdvice> out;
  std::map<std::string, std::int64_t> refused = refused_groups(answer);
  if ((answer.failed.empty() && refused.empty()) || most == 0) return out;
  const model::Job& job = *registration.job;
  const Candidates candidates(question.state, dry_run, answer.plan);
  Loaded loaded(question);
  std::optional<Namer> namer;
  for (const auto& [name, metric] : answer.failed) {
    if (out.size() == most) break;
    GroupAdvice& advice = out.emplace_back();
    advice.group = name;
    advice.failed = metric.coalesced_failures + 1;
    if (const auto found = refused.find(name); found != refused.end()) advice.refused = found->second;
    Filter filter{"", 0};
    raise(filter, metric.constraint_filtered);
    if (const tables::CompiledGroup* compiled = compiled_group(dry_run, name)) {
      if (metric.constraint_filtered.contains(kClassIneligible)) {
        if (!namer) namer.emplace(question, registration);
        namer->name(name, filter);
        if (filter.second == 0) filter = {kClassIneligible, metric.constraint_filtered.at(kClassIneligible)};
      }
      advice.nearest = shortages(candidates, dry_run.tables(), loaded, registration, {name, metric}, *compiled);
      advice.changes = changes_that_fit(loaded, registration, name, advice.failed, idle_beside(name, job, answer));
    }
    std::tie(advice.filtered_most, advice.filtered_nodes) = std::move(filter);
  }
  for (const auto& [name, count] : refused) {
    if (out.size() == most || answer.failed.contains(name)) continue;
    GroupAdvice& advice = out.emplace_back();
    advice.group = name, advice.refused = count;
    advice.changes = changes_that_fit(loaded, registration, name, count, idle_beside(name, job, answer));
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
  server::DryRun dry_run(state, registration, now_ns);
  if (!dry_run.restrict_to(found->id)) return tl::unexpected("there is no node '" + node + "'");
  const server::DryRunAnswer answer = dry_run.answer(order);
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
      if (m.constraint_filtered.contains(kClassIneligible))
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

}  // namespace berth::advice
