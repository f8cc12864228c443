#include "advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "advice/obstacles.h"
#include "advice/trial.h"
#include "base/text.h"
#include "model/flatten.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::advice {
namespace {

constexpr std::size_t kNearest = 3;         ///< nodes shown
constexpr std::size_t kLookedAt = 16;       ///< candidates tried one by one in the scheduler
constexpr std::size_t kOthersVisited = 12;  ///< tried nodes that are not candidates

/// True for nodes in the job's pool and datacenters. Matches each datacenter once.
class Membership {
 public:
  explicit Membership(const model::Job& job) : job_(job) {}
  [[nodiscard]] bool operator()(const model::Node& node) {
    if (!model::is_in_pool(node, *job_.node_pool)) return false;
    const auto [at, fresh] = known_.try_emplace(node.datacenter, false);
    if (fresh) at->second = model::is_in_datacenters(node, job_.datacenters.list());
    return at->second;
  }

 private:
  const model::Job& job_;
  std::unordered_map<std::string, bool> known_;
};

/// Amounts used on a node after the plan.
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
          allocs[alloc.id] = &alloc;  // an update in place replaces the present one
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

/// Nodes that a job may use, other nodes, and their usage after the plan.
struct Candidates {
  struct Node {
    tables::NodeRow row;
    model::FlatResources use;
  };
  std::vector<Node> nodes, others;

  Candidates(const model::ClusterState& state, const server::DryRun& dry_run, const model::Plan& plan) {
    const tables::Snapshot& tables = dry_run.tables();
    const PlannedUse uses(state, plan);
    Membership member(*dry_run.job());
    for (tables::NodeRow row = 0; row < tables.nodes.size(); ++row) {
      if (!tables.nodes.exists(row)) continue;
      const bool usable = tables.nodes.ready(row) && member(tables.nodes.spec(row).node);
      if (!usable && others.size() >= kOthersMost) continue;
      (usable ? nodes : others).push_back({row, uses.on(base::to_text(tables.nodes.id(row)))});
    }
  }
  static constexpr std::size_t kOthersMost = 10'000;
};

/// A node with the missing share of the group's request, summed over dimensions; 1 = a dimension is missing completely.
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

/// A group and the failure that the plan reports for it.
struct Failure {
  const std::string& group;
  const model::AllocMetric& metric;
};

/// Replaces the reason for a used-up property by the text of the metrics, because a single node may have other counts.
std::string as_the_metrics_say(std::string reason, const model::AllocMetric& metric) {
  if (!reason.starts_with("distinct_property: ")) return reason;
  const std::string property = reason.substr(0, reason.rfind(" used by ") + 1);
  for (const auto& [constraint, count] : metric.constraint_filtered)
    if (constraint.starts_with(property)) return constraint;
  return reason;
}

/// At most `most` nodes with the least missing.
std::vector<Near> nearest_of(const std::vector<Candidates::Node>& nodes, const tables::Snapshot& tables,
                             const tables::CompiledGroup& group, std::size_t most) {
  std::int64_t cores_asked = 0;
  for (const tables::CompiledTask& task : group.tasks) cores_asked += task.cores;
  std::vector<Near> found;
  found.reserve(nodes.size());
  for (const Candidates::Node& node : nodes) found.push_back(near_of(tables, node, group, cores_asked));
  const std::size_t kept = std::min(found.size(), most);
  std::partial_sort(
      found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(),
      [](const Near& a, const Near& b) { return less_missing(a, b) || (!less_missing(b, a) && a.row < b.row); });
  found.resize(kept);
  return found;
}

/// Findings about a failed group: its obstacles on the candidates with the least missing and on some other nodes.
struct Survey {
  std::vector<Near> near;  ///< the candidates, parallel to the first findings.nodes
  Findings findings;
};

Survey survey(const Candidates& candidates, const tables::Snapshot& tables, Loaded& loaded,
              const model::Registration& registration, const Failure& failure, const tables::CompiledGroup& group) {
  const model::ClusterState& state = loaded.question().state;
  std::unordered_map<std::string_view, const model::Node*> by_id;
  for (const model::Node& node : state.nodes) by_id.emplace(node.id, &node);
  Survey out;
  std::vector<const model::Node*> nodes;
  const auto visit = [&](std::vector<Near> list, bool keep) {
    for (Near& near : list)
      if (const auto node = by_id.find(base::to_text(tables.nodes.id(near.row))); node != by_id.end()) {
        nodes.push_back(node->second);
        if (keep) out.near.push_back(std::move(near));
      }
  };
  visit(nearest_of(candidates.nodes, tables, group, kLookedAt), true);
  visit(nearest_of(candidates.others, tables, group, kOthersVisited), false);
  out.findings.nodes = find_obstacles(loaded, registration, failure.group, nodes);
  for (NodeObstacles& of : out.findings.nodes)
    for (Obstacle& obstacle : of.obstacles) {
      obstacle.reason = as_the_metrics_say(std::move(obstacle.reason), failure.metric);
      if (obstacle.constraint) out.findings.filters.insert(obstacle.reason);
    }
  return out;
}

/// The nodes with the least missing.
std::vector<Shortage> shortages(const tables::Snapshot& tables, Survey& survey) {
  for (std::size_t i = 0; i < survey.near.size(); ++i) {
    Near& near = survey.near[i];
    for (const Obstacle& obstacle : survey.findings.nodes[i].obstacles) {
      near.shortage.reasons.push_back(obstacle.reason);
      near.shortage.details.push_back(obstacle.detail);
      // An obstacle without an amount (port, device, constraint) counts as one dimension missing completely.
      if (obstacle.amount == Amount::none || near.missing <= 0) near.missing += 1;
    }
  }
  std::vector<Near> found = survey.near;
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

/// Notes that eviction cannot help: it frees cpu, memory, disk, ports and devices, never cores (R-PREEMPT-109).
std::string note_on(const model::ClusterState& state, const model::Job& job, const Findings& findings) {
  const bool cores = std::any_of(findings.nodes.begin(), findings.nodes.end(), [](const NodeObstacles& of) {
    return std::any_of(of.obstacles.begin(), of.obstacles.end(),
                       [](const Obstacle& obstacle) { return obstacle.amount == Amount::cores; });
  });
  if (!cores) return "";
  const model::PreemptionConfig on = state.scheduler_config.value_or(model::SchedulerConfiguration{}).preemption_config;
  const bool evicts = job.type == "batch"      ? on.batch_scheduler_enabled
                      : job.type == "system"   ? on.system_scheduler_enabled
                      : job.type == "sysbatch" ? on.sysbatch_scheduler_enabled
                                               : on.service_scheduler_enabled;
  return std::string("eviction cannot free cores: preemption, ") + (evicts ? "which is on" : "were it on") + " for " +
         job.type + " jobs, evicts for cpu, memory, disk, ports and devices only";
}

/// A constraint and the number of nodes that it filtered.
using Filter = std::pair<std::string, std::int64_t>;

/// Raises `most` to the constraint that filtered most nodes. Ignores class verdicts, which name no constraint.
void raise(Filter& most, const std::map<std::string, std::int64_t>& filtered) {
  for (const auto& [constraint, count] : filtered)
    if (count > most.second && constraint != kClassIneligible) most = {constraint, count};
}

/// Finds the constraint that filtered most if the metrics only report refused classes. Plans the job again with classes
/// of one node each and without preemption. An earlier group may still have left a verdict of the job's constraints on
/// a class: then plans without placing other groups, and then, as updates in place leave verdicts too, with this group
/// alone.
class Namer {
 public:
  Namer(const Question& question, const model::Registration& registration)
      : state_(question.state),
        order_(question.order),
        registration_(registration),
        dry_run_(named(state_), registration, question.now_ns, question.strategy) {}

  /// Raises `most`, the result of the plan's own metrics, and adds all named constraints to `filters`.
  void name(const std::string& group, Filter& most, std::set<std::string>& filters) {
    filters_ = &filters;
    if (!whole_) whole_ = dry_run_.decide(order_);
    if (!take(*whole_, group, most)) return;
    dry_run_.pass_over(all_groups_except(group, *registration_.job));
    bool unnamed = take(dry_run_.decide(order_), group, most);
    dry_run_.pass_over({});
    if (!unnamed) return;
    dry_run_.instead(only(registration_, group));
    take(dry_run_.decide(order_), group, most);
    dry_run_.instead(registration_);
  }

 private:
  /// True if some nodes are still reported only by class, or there are no metrics.
  bool take(const server::DryRunAnswer& answer, const std::string& group, Filter& most) {
    const auto failed = answer.failed.find(group);
    if (!answer.error.empty() || failed == answer.failed.end()) return true;
    raise(most, failed->second.constraint_filtered);
    for (const auto& [constraint, count] : failed->second.constraint_filtered) filters_->insert(constraint);
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
  std::set<std::string>* filters_ = nullptr;
};

/// True if a group that places nothing does not affect later groups, which could inherit its ports or its raised limit
/// of visited nodes.
bool leaves_nothing_behind(const model::TaskGroup& group) {
  return group.networks.empty() && group.affinities.empty() && group.spreads.empty() &&
         std::all_of(group.tasks.begin(), group.tasks.end(), [](const model::Task& task) {
           return task.affinities.empty() && !(task.resources && !task.resources->networks.empty());
         });
}

/// Failed groups of which the plan places nothing (Trial), in the order of their names.
class IdleGroups {
 public:
  IdleGroups(const model::Job& job, const server::DryRunAnswer& answer) {
    if (job.type == "system" || job.type == "sysbatch") return;
    for (const model::TaskGroup& group : job.task_groups)
      if (answer.failed.contains(group.name) && leaves_nothing_behind(group)) names_.insert(group.name);
    for (const auto& [node, allocs] : answer.plan.node_allocation)
      for (const model::Allocation& alloc : allocs) names_.erase(alloc.task_group);
  }
  [[nodiscard]] std::vector<std::string> beside(const std::string& group) const {
    std::vector<std::string> out;
    for (const std::string& name : names_)
      if (name != group) out.push_back(name);
    return out;
  }

 private:
  std::set<std::string> names_;
};

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

/// Why a node gets nothing of a group that did not fail: a system job skips nodes that it may not use. A service job
/// with only this group is refused there for the same reason and reports it.
std::string reason_alone(const Question& question, const model::Registration& registration, const model::Node& node,
                         const std::string& group) {
  model::Registration alone = only(registration, group);
  auto job = std::make_shared<model::Job>(*alone.job);
  job->id += "/alone", job->type = "service";
  job->task_groups[0].count = 1;
  alone.job = std::move(job);
  server::DryRun dry_run(question.state, alone, question.now_ns, question.strategy);
  dry_run.configure(without_preemption(question.state.scheduler_config));
  if (!dry_run.restrict_to(node.id)) return "";
  const server::DryRunAnswer answer = dry_run.answer(question.order);
  const auto failed = answer.failed.find(group);
  if (failed == answer.failed.end()) return "";
  if (failed->second.nodes_evaluated == 0) return no_candidate(node);
  std::string out;
  for (const auto& [constraint, n] : failed->second.constraint_filtered)
    out += fmt::format("    filtered: {}\n", constraint);
  return out;
}

bool has_affinities(const model::Job& job, const model::TaskGroup& group) {
  return !job.affinities.empty() || !group.affinities.empty() ||
         std::any_of(group.tasks.begin(), group.tasks.end(),
                     [](const model::Task& task) { return !task.affinities.empty(); });
}

/// The score and the components of which it is the mean. Nomad's metrics also list components that are 0 because the
/// job does not use them; these are not part of the mean (R-RANK-701, 901).
std::string score_text(const model::ScoreMeta& meta, bool affinities) {
  std::string out = "score " + json::double_text(meta.norm_score), others;
  bool any = false;
  for (const auto& [component, score] : meta.scores) {
    if (component == "normalized-score") continue;
    const bool counts = score != 0 || component == "binpack" || component == "devices" || component == "preemption" ||
                        (component == "node-affinity" && affinities);
    if (counts)
      out +=
          fmt::format("{}{} {}", std::exchange(any, true) ? ", " : " = mean of ", component, json::double_text(score));
    else
      others += fmt::format("{}{}", others.empty() ? "" : ", ", component);
  }
  if (!others.empty()) out += fmt::format("; not in the mean: {}", others);
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
                                const server::DryRun& dry_run, const server::DryRunAnswer& answer,
                                std::optional<std::size_t> most, const server::Rehearsal* rehearsal) {
  std::vector<GroupAdvice> out;
  std::map<std::string, std::int64_t> refused = refused_groups(answer);
  if ((answer.failed.empty() && refused.empty()) || most == 0U) return out;
  const model::Job& job = *registration.job;
  const Candidates candidates(question.state, dry_run, answer.plan);
  Loaded loaded(question);
  std::optional<Namer> namer;
  const auto enough = [&] {
    return out.size() == most.value_or(kAdvised) || (!most && !out.empty() && loaded.work() >= kWorkMost);
  };
  const IdleGroups idle(job, answer);
  for (const auto& [name, metric] : answer.failed) {
    if (enough()) break;
    GroupAdvice& advice = out.emplace_back();
    advice.group = name;
    advice.failed = metric.coalesced_failures + 1;
    if (const auto found = refused.find(name); found != refused.end()) advice.refused = found->second;
    Filter filter{"", 0};
    raise(filter, metric.constraint_filtered);
    if (const tables::CompiledGroup* compiled = compiled_group(dry_run, name)) {
      Survey of = survey(candidates, dry_run.tables(), loaded, registration, {name, metric}, *compiled);
      for (const auto& [constraint, count] : metric.constraint_filtered) of.findings.filters.insert(constraint);
      if (metric.constraint_filtered.contains(kClassIneligible)) {
        if (!namer) namer.emplace(question, registration);
        namer->name(name, filter, of.findings.filters);
        if (filter.second == 0) filter = {kClassIneligible, metric.constraint_filtered.at(kClassIneligible)};
      }
      advice.nearest = shortages(dry_run.tables(), of);
      advice.needs = needs_of(question.state, job, of.findings);
      advice.note = note_on(question.state, job, of.findings);
      std::string untried;
      advice.changes =
          changes_that_fit(loaded, registration, name, advice.failed, idle.beside(name), of.findings, &untried);
      if (!untried.empty()) advice.note += (advice.note.empty() ? "" : "; ") + untried;
    }
    std::tie(advice.filtered_most, advice.filtered_nodes) = std::move(filter);
  }
  const auto placed_in_the_end = [&](const std::string& name) {
    return rehearsal && rehearsal->end == server::Rehearsal::End::complete && !rehearsal->failed.contains(name);
  };
  for (const auto& [name, count] : refused) {
    if (answer.failed.contains(name) || placed_in_the_end(name)) continue;
    if (enough()) break;
    GroupAdvice& advice = out.emplace_back();
    advice.group = name, advice.refused = count;
    advice.changes =
        changes_that_fit(loaded, registration, name, count, idle.beside(name), Findings{{}, {}}, &advice.note);
  }
  return out;
}

std::vector<std::string> wrapped_sums(const model::ClusterState& state, const model::Plan& plan) {
  std::vector<std::string> out;
  std::unordered_map<std::string_view, std::vector<const model::Allocation*>> on_node;
  for (const auto& [node, allocs] : plan.node_allocation) on_node[node];
  for (const model::Allocation& alloc : state.allocs)
    if (const auto at = on_node.find(alloc.node_id); at != on_node.end() && !model::is_client_terminal(alloc))
      at->second.push_back(&alloc);
  std::unordered_map<std::string_view, std::string_view> names;
  for (const model::Node& node : state.nodes) names.emplace(node.id, node.name);
  for (const auto& [node, planned] : plan.node_allocation) {
    std::set<std::string_view> replaced;
    for (const model::Allocation& alloc : planned) replaced.insert(alloc.id);
    std::int64_t cpu = 0, memory = 0, disk = 0;
    bool cpu_wraps = false, memory_wraps = false, disk_wraps = false;
    const auto count = [&](const model::Allocation& alloc) {
      if (!alloc.allocated_resources) return;
      for (const auto& [name, task] : alloc.allocated_resources->tasks) {
        cpu_wraps |= __builtin_add_overflow(cpu, task.cpu.cpu_shares, &cpu);
        memory_wraps |= __builtin_add_overflow(memory, task.memory.memory_mb, &memory);
      }
      disk_wraps |= __builtin_add_overflow(disk, alloc.allocated_resources->shared.disk_mb, &disk);
    };
    for (const model::Allocation* alloc : on_node[node])
      if (!replaced.contains(alloc->id)) count(*alloc);
    for (const model::Allocation& alloc : planned) count(alloc);
    for (const auto& [wraps, what] :
         {std::pair{cpu_wraps, "cpu"}, std::pair{memory_wraps, "memory"}, std::pair{disk_wraps, "disk"}})
      if (wraps)
        out.push_back(
            fmt::format("node \"{}\": the requested {} exceeds 64 bits; Nomad's sum wraps and is below the "
                        "node's capacity, so that it plans what cannot run; request less {}",
                        names[node], what, what));
  }
  return out;
}

namespace {

/// Result of a dry run restricted to one node, as text per group.
tl::expected<std::string, std::string> explained(const Question& question, const model::Registration& registration,
                                                 server::DryRun& dry_run, const model::Node* found) {
  if (!dry_run.restrict_to(found->id)) return tl::unexpected("there is no node '" + found->id + "'");
  const server::DryRunAnswer answer = dry_run.answer(question.order);
  if (!answer.error.empty()) return tl::unexpected(answer.error);

  std::string out;
  const auto placed = answer.plan.node_allocation.find(found->id);
  std::set<std::string_view> there;  // updates in place are not placements; their scores are old
  for (const model::Allocation& alloc : question.state.allocs)
    if (alloc.node_id == found->id) there.insert(alloc.id);
  for (const model::TaskGroup& group : dry_run.job()->task_groups) {
    const auto updates = answer.annotations.desired_tg_updates.find(group.name);
    const auto failed = answer.failed.find(group.name);
    std::int64_t count = 0, in_place = 0;
    const model::Allocation* first = nullptr;
    if (placed != answer.plan.node_allocation.end())
      for (const model::Allocation& alloc : placed->second) {
        if (alloc.task_group != group.name) continue;
        if (there.contains(alloc.id)) {
          ++in_place;
        } else if (alloc.metrics && !alloc.metrics->score_meta_data.empty()) {
          if (!first) first = &alloc;
          ++count;
        }
      }
    if (first) {
      out += fmt::format("  group \"{}\": takes {}\n", group.name, count);
      for (const model::ScoreMeta& meta : first->metrics->score_meta_data)
        if (meta.node_id == found->id) out += "    " + score_text(meta, has_affinities(*dry_run.job(), group)) + "\n";
    }
    if (in_place > 0) out += fmt::format("  group \"{}\": {} updated in place\n", group.name, in_place);
    if (failed != answer.failed.end()) {
      const model::AllocMetric& m = failed->second;
      out += fmt::format("  group \"{}\": refused{}\n", group.name, first ? " afterwards" : "");
      if (m.nodes_evaluated == 0) out += no_candidate(*found);
      // With preemption, the second visit of the node only reports that its class was refused.
      if (m.constraint_filtered.contains(kClassIneligible))
        out += reason_alone(question, registration, *found, group.name);
      else
        for (const auto& [constraint, n] : m.constraint_filtered) out += fmt::format("    filtered: {}\n", constraint);
      for (const auto& [dimension, n] : m.dimension_exhausted) out += fmt::format("    exhausted: {}\n", dimension);
    }
    if (!first && in_place == 0 && failed == answer.failed.end()) {
      const bool asks = updates != answer.annotations.desired_tg_updates.end() &&
                        updates->second.place + updates->second.destructive_update + updates->second.canary > 0;
      out += fmt::format("  group \"{}\": {}\n", group.name,
                         asks ? "nothing is placed here" : "places nothing in this plan");
      if (asks) out += reason_alone(question, registration, *found, group.name);
    }
  }
  return out;
}

}  // namespace

tl::expected<std::string, std::string> explain(const Question& question, const model::Registration& registration,
                                               const std::string& node) {
  const model::Node* found = nullptr;
  for (const model::Node& n : question.state.nodes) {
    if (n.name != node && !n.id.starts_with(node)) continue;
    if (found) return tl::unexpected("several nodes go by '" + node + "'; give the whole ID");
    found = &n;
  }
  if (!found || node.empty()) return tl::unexpected("there is no node '" + node + "'");
  server::DryRun dry_run(question.state, registration, question.now_ns, question.strategy);
  auto out = explained(question, registration, dry_run, found);
  if (!out) return out;
  return fmt::format("Node \"{}\" ({}), as if it were the only one:\n{}", found->name, found->id, *out);
}

tl::expected<std::string, std::string> explain_all(const Question& question, const model::Registration& registration) {
  const model::ClusterState& state = question.state;
  if (state.nodes.size() > kExplainedMost)
    return tl::unexpected(fmt::format("the cluster has {} nodes, and all are explained of at most {}; name a node",
                                      state.nodes.size(), kExplainedMost));
  std::vector<const model::Node*> nodes;
  for (const model::Node& node : state.nodes) nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(), [](const model::Node* a, const model::Node* b) {
    return std::tie(a->name, a->id) < std::tie(b->name, b->id);
  });
  server::DryRun dry_run(question.state, registration, question.now_ns, question.strategy);
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // text -> names of its nodes
  std::map<std::string, std::size_t> places;
  for (const model::Node* node : nodes) {
    auto text = explained(question, registration, dry_run, node);
    if (!text) return text;
    const auto [at, fresh] = places.try_emplace(*text, groups.size());
    if (fresh) groups.emplace_back(std::move(*text), std::vector<std::string>());
    groups[at->second].second.push_back(node->name.empty() ? node->id : node->name);
  }
  std::string out = "Each node, as if it were the only one:\n";
  for (const auto& [text, names] : groups) {
    constexpr std::size_t kNamed = 20;
    out += names.size() == 1 ? "Node" : fmt::format("{} nodes", names.size());
    for (std::size_t i = 0; i < names.size() && i < kNamed; ++i)
      out += fmt::format("{} \"{}\"", i ? "," : "", names[i]);
    if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
    out += ":\n" + text;
  }
  return out;
}

}  // namespace berth::advice
