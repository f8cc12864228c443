// Contradictions within a cluster state: which are completed, dropped, refused, or only reported (R-MODEL-9, 614).
#include <algorithm>
#include <set>

#include "io/cluster_parts.h"
#include "model/computed_class.h"
#include "model/flatten.h"
#include "model/job.h"
#include "model/predicates.h"
#include "model/registration/node_canonical.h"

namespace berth::io {
namespace {

using model::Allocation;

template <class T, class Key>
void sort_and_drop_repeats(std::vector<T>& list, Key key, const char* what, Warnings& warnings) {
  const auto less = [&](const T& a, const T& b) { return key(a) < key(b); };
  // Usually sorted already; sorting would move each of many large objects several times.
  if (!std::is_sorted(list.begin(), list.end(), less)) std::stable_sort(list.begin(), list.end(), less);
  const auto end = std::unique(list.begin(), list.end(), [&](const T& a, const T& b) {
    if (key(a) != key(b)) return false;
    warnings.push_back(std::string(what) + " " + shortened(std::get<0>(key(a))) +
                       " is listed twice; the first one is kept");
    return true;
  });
  list.erase(end, list.end());
}

std::string place_of(const Allocation& alloc) { return "allocation " + shortened(alloc.id); }

/// Why the allocation cannot be used (R-MODEL-614); empty if it can.
std::string unusable(const Allocation& alloc) {
  if (!alloc.job) return "its job is not there";
  if (!alloc.job->group(alloc.task_group)) return "its job has no group " + shortened(alloc.task_group);
  if (!alloc.allocated_resources) return "it has no AllocatedResources";
  return "";
}

void check_allocs(model::ClusterState& state, Warnings& warnings) {
  std::set<std::string> nodes;
  for (const model::Node& node : state.nodes) nodes.insert(node.id);
  std::erase_if(state.allocs, [&](const Allocation& alloc) {
    const std::string why = unusable(alloc);
    if (why.empty()) return false;
    const bool kept = model::is_terminal(alloc) && alloc.job;
    warnings.push_back(place_of(alloc) + ": " + why + (kept ? "; kept for its name and history" : "; left out"));
    return !kept;
  });
  for (const Allocation& alloc : state.allocs) {
    if (!model::is_client_terminal(alloc) && !nodes.contains(alloc.node_id))
      warnings.push_back(
          place_of(alloc) + ": " +
          (alloc.node_id.empty() ? "names no node" : "its node " + shortened(alloc.node_id) + " is not there"));
    if (alloc.job->id != alloc.job_id || alloc.job->namespace_ != alloc.namespace_)
      warnings.push_back(place_of(alloc) + ": says job " + shortened(alloc.job_id) + ", carries job " +
                         shortened(alloc.job->id));
    if (!alloc.allocated_resources) continue;
    bool negative = alloc.allocated_resources->shared.disk_mb < 0;
    for (const auto& [name, task] : alloc.allocated_resources->tasks)
      negative = negative || task.cpu.cpu_shares < 0 || task.memory.memory_mb < 0;
    if (negative) warnings.push_back(place_of(alloc) + ": holds a negative amount");
  }
}

void check_sums(const model::ClusterState& state, Warnings& warnings) {
  std::map<std::string, model::FlatResources> used;
  for (const Allocation& alloc : state.allocs)
    if (alloc.allocated_resources && !model::is_client_terminal(alloc))
      used[alloc.node_id].add(model::flatten(*alloc.allocated_resources));
  for (const model::Node& node : state.nodes) {
    const model::FlatResources total = model::capacity(node);
    if (total.cpu_mhz < 0 || total.memory_mb < 0 || total.disk_mb < 0)
      warnings.push_back("node " + shortened(node.id) + ": has a negative capacity, nothing fits");
    const auto found = used.find(node.id);
    if (found == used.end()) continue;
    const model::FlatResources free = model::available(node);
    const auto check = [&](const char* what, std::int64_t have, std::int64_t need) {
      if (need > have && need > 0)
        warnings.push_back("node " + shortened(node.id) + ": its allocations use " + std::to_string(need) + " " + what +
                           " of " + std::to_string(have));
    };
    check("MHz", free.cpu_mhz, found->second.cpu_mhz);
    check("MiB of memory", free.memory_mb, found->second.memory_mb);
    check("MiB of disk", free.disk_mb, found->second.disk_mb);
  }
}

void check_names(const model::ClusterState& state, Warnings& warnings) {
  std::set<std::pair<std::string, std::string>> jobs;
  for (const auto& job : state.jobs) jobs.emplace(job->namespace_, job->id);
  for (const model::Evaluation& eval : state.evals)
    if (!model::is_terminal_evaluation(eval.status) && !eval.job_id.empty() && eval.type != "_core" &&
        !jobs.contains({eval.namespace_, eval.job_id}))
      warnings.push_back("evaluation " + shortened(eval.id) + ": is " + shortened(eval.status) + ", but its job " +
                         shortened(eval.job_id) + " is not there");
  for (const model::Deployment& deployment : state.deployments)
    if (model::is_active_deployment(deployment.status) && !jobs.contains({deployment.namespace_, deployment.job_id}))
      warnings.push_back("deployment " + shortened(deployment.id) + ": is active, but its job " +
                         shortened(deployment.job_id) + " is not there");
  std::set<std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>> versions;
  for (const auto& job : state.job_versions) versions.insert(key_of(*job));
  for (const model::Deployment& d : state.deployments)
    if (model::is_active_deployment(d.status) && jobs.contains({d.namespace_, d.job_id}) &&
        !versions.contains({d.namespace_, d.job_id, d.job_create_index, d.job_version}))
      warnings.push_back("deployment " + shortened(d.id) + ": is active, but version " + std::to_string(d.job_version) +
                         " of its job " + shortened(d.job_id) + " is not there");
  static const std::set<std::string_view> node_status = {"initializing", "ready", "down", "disconnected"};
  for (const model::Node& node : state.nodes)
    if (!node_status.contains(node.status))
      warnings.push_back("node " + shortened(node.id) + ": unknown status '" + shortened(node.status) +
                         "', takes no work");
}

/// Refuses counts that no registration accepts; a huge one would create that many names.
Result<void> check_counts(const model::ClusterState& state, const std::string& path) {
  for (const auto* jobs : {&state.jobs, &state.job_versions})
    for (const auto& job : *jobs)
      for (const model::TaskGroup& group : job->task_groups)
        if (const std::string problem =
                group.count < 0 ? "a count of " + std::to_string(group.count) : model::count_problem(group);
            !problem.empty())
          return tl::unexpected(InputError{path, "job " + shortened(job->id) + ", group " + shortened(group.name),
                                           problem, "a count is from 0 to " + std::to_string(model::kCountMax)});
  return {};
}

/// Priority of core evaluations, above the highest that a server can allow for jobs (R-MODEL-50).
constexpr std::int64_t kPriorityMax = 32767;

Result<void> check_priorities(const model::ClusterState& state, const std::string& path) {
  const auto check = [&](const char* what, const std::string& id, std::int64_t priority) -> Result<void> {
    if (priority >= -kPriorityMax && priority <= kPriorityMax) return {};
    return tl::unexpected(InputError{path, what + (" " + shortened(id)), "a priority of " + std::to_string(priority),
                                     "a priority is at most " + std::to_string(kPriorityMax)});
  };
  for (const auto* jobs : {&state.jobs, &state.job_versions})
    for (const auto& job : *jobs)
      if (auto done = check("job", job->id, job->priority); !done) return done;
  for (const Allocation& alloc : state.allocs)
    if (alloc.job)
      if (auto done = check("job", alloc.job->id, alloc.job->priority); !done) return done;
  for (const model::Evaluation& eval : state.evals)
    if (auto done = check("evaluation", eval.id, eval.priority); !done) return done;
  return {};
}

/// Adds the built-in pools, and pools that only nodes name.
void complete_pools(model::ClusterState& state, Warnings& warnings) {
  std::set<std::string> have;
  for (const model::NodePool& pool : state.node_pools) have.insert(pool.name);
  const auto add = [&](const std::string& name) {
    if (!have.insert(name).second) return false;
    model::NodePool pool;
    pool.name = name;
    state.node_pools.push_back(std::move(pool));
    return true;
  };
  add("all"), add("default");
  for (const model::Node& node : state.nodes)
    if (add(node.node_pool))
      warnings.push_back("node pool " + shortened(node.node_pool) + ": named by nodes only, added");
}

void complete_namespaces(model::ClusterState& state, Warnings& warnings) {
  std::set<std::string> have;
  for (const model::Namespace& name_space : state.namespaces) have.insert(name_space.name);
  const auto add = [&](const std::string& name) {
    if (!have.insert(name).second) return false;
    model::Namespace entry;
    entry.name = name;
    state.namespaces.push_back(std::move(entry));
    return true;
  };
  add("default");
  for (const auto& job : state.jobs)
    if (add(job->namespace_))
      warnings.push_back("namespace " + shortened(job->namespace_) + ": named by jobs only, added");
}

}  // namespace

std::string shortened(const std::string& text, std::size_t limit) {
  std::string out = text.substr(0, limit);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  if (text.size() > limit) out += "... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

Result<void> complete_state(model::ClusterState& state, const std::string& path, Warnings& warnings) {
  for (model::Node& node : state.nodes) {
    const std::string place = "node " + shortened(node.id);
    // Twice: the first pass derives cores from the legacy mirror; the second completes the mirror from them, as a
    // second registration would. So what is written equals what is read.
    model::canonicalize(node);
    model::canonicalize(node);
    if (auto done = model::check_node(node, path, place); !done) return done;
    if (node.computed_class.empty()) node.computed_class = model::computed_class(node);
  }
  take_references(state, warnings);
  complete_pools(state, warnings);
  complete_namespaces(state, warnings);
  const auto by_id = [](const auto& item) { return std::tie(item.id); };
  const auto by_name = [](const auto& item) { return std::tie(item.name); };
  const auto by_space = [](const auto& item) { return std::tie(item.id, item.namespace_); };
  sort_and_drop_repeats(state.nodes, by_id, "node", warnings);
  sort_and_drop_repeats(state.node_pools, by_name, "node pool", warnings);
  sort_and_drop_repeats(state.namespaces, by_name, "namespace", warnings);
  sort_and_drop_repeats(state.allocs, by_id, "allocation", warnings);
  sort_and_drop_repeats(state.evals, by_id, "evaluation", warnings);
  sort_and_drop_repeats(state.deployments, by_id, "deployment", warnings);
  sort_and_drop_repeats(state.host_volumes, by_space, "host volume", warnings);
  sort_and_drop_repeats(state.host_volume_claims, by_id, "volume claim", warnings);
  sort_and_drop_repeats(state.csi_volumes, by_space, "CSI volume", warnings);
  sort_and_drop_repeats(state.csi_plugins, by_id, "CSI plugin", warnings);
  sort_and_drop_repeats(
      state.jobs, [](const auto& job) { return std::tie(job->id, job->namespace_); }, "job", warnings);
  sort_and_drop_repeats(
      state.job_versions,
      [](const auto& job) { return std::tie(job->id, job->namespace_, job->create_index, job->version); },
      "job version", warnings);
  return {};
}

Result<void> check_state(model::ClusterState& state, const std::string& path, std::int64_t now_ns, Warnings& warnings) {
  if (state.scheduler_config) {
    const std::string& algorithm = state.scheduler_config->scheduler_algorithm;
    if (!algorithm.empty() && algorithm != "binpack" && algorithm != "spread")
      return tl::unexpected(InputError{path, "SchedulerAlgorithm",
                                       "invalid scheduler algorithm: " + shortened(algorithm),
                                       "use binpack or spread"});  // R-MODEL-211
  }
  if (auto done = check_counts(state, path); !done) return done;
  if (auto done = check_priorities(state, path); !done) return done;
  check_allocs(state, warnings);
  check_sums(state, warnings);
  check_names(state, warnings);
  remark_on_contradictions(state, now_ns, warnings);
  return {};
}

}  // namespace berth::io
