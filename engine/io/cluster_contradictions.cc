// Impossible values in a state on which every decision is still defined: reported, and left unchanged.
#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "io/cluster_parts.h"
#include "model/flatten.h"
#include "model/job.h"
#include "model/port_ranges.h"
#include "model/predicates.h"
#include "model/registration/node_canonical.h"

namespace berth::io {
namespace {

using model::Allocation;
using model::Job;

std::string text_of(const Allocation& alloc) { return "allocation " + shortened(alloc.id); }
std::string text_of(const model::Node& node) { return "node " + shortened(node.id); }
std::string text_of(const model::Deployment& deployment) { return "deployment " + shortened(deployment.id); }
std::string text_of(const Job& job) { return "job " + shortened(job.id) + " version " + std::to_string(job.version); }
std::string text_of(const Job& job, const model::TaskGroup& group) {
  return text_of(job) + ", group " + shortened(group.name);
}

std::string text_of(const model::Evaluation& eval) { return "evaluation " + shortened(eval.id); }

/// Calls `each` once per stored version; the current version is in both lists.
template <class Each>
void each_job(const model::ClusterState& state, Each each) {
  std::set<JobKey> seen;
  for (const auto* jobs : {&state.jobs, &state.job_versions})
    for (const auto& job : *jobs)
      if (seen.insert(key_of(*job)).second) each(*job);
}

/// A sum with a flag for overflow of 64 bits; resource sums wrap there (R-MODEL-3).
struct CheckedSum {
  std::int64_t sum = 0;
  bool beyond = false;
  void add(std::int64_t value) { beyond = __builtin_add_overflow(sum, value, &sum) || beyond; }
  void subtract(std::int64_t value) { beyond = __builtin_sub_overflow(sum, value, &sum) || beyond; }
};

// ---------------------------------------------------------------- allocations

/// Reports each circle of allocations once, by the first member that a walk reaches. Each allocation has at most one
/// successor under `link`, so every walk ends or enters a circle. O(allocations).
void remark_on_circles(const std::vector<Allocation>& allocs, const char* key, std::string Allocation::*link,
                       Warnings& warnings) {
  if (std::all_of(allocs.begin(), allocs.end(), [&](const Allocation& one) { return (one.*link).empty(); })) return;
  std::unordered_map<std::string_view, std::size_t> at;
  at.reserve(allocs.size());
  for (std::size_t i = 0; i < allocs.size(); ++i) at.emplace(allocs[i].id, i);
  std::vector<std::size_t> walk(allocs.size(), 0);  // number of the walk that visited it; 0: none
  for (std::size_t begin = 0; begin < allocs.size(); ++begin) {
    std::size_t i = begin;
    while (walk[i] == 0) {
      walk[i] = begin + 1;
      const auto next = at.find(allocs[i].*link);
      if (next == at.end()) break;
      i = next->second;
      if (walk[i] == begin + 1) warnings.push_back(text_of(allocs[i]) + ": its " + key + " leads back to itself");
    }
  }
}

/// The job and name that only one live allocation may have.
struct NameKey {
  std::string_view name_space, job_id, name;
  std::uint64_t create_index = 0, version = 0;
  friend bool operator==(const NameKey&, const NameKey&) = default;
};
struct NameHash {
  std::size_t operator()(const NameKey& key) const {
    const std::hash<std::string_view> hash;
    return (hash(key.name) * 31 + hash(key.job_id)) * 31 + key.version;
  }
};

/// Reports names that two live allocations share (R-MODEL-591). While an allocation is replaced or its client is
/// disconnected, a shared name is correct.
void remark_on_repeated_names(const std::vector<Allocation>& allocs, Warnings& warnings) {
  std::unordered_map<NameKey, const Allocation*, NameHash> first;
  first.reserve(allocs.size());
  for (const Allocation& alloc : allocs) {
    if (!alloc.job || (alloc.job->type != "service" && alloc.job->type != "batch")) continue;
    if (model::is_terminal(alloc) || alloc.client_status == "unknown" || !alloc.next_allocation.empty()) continue;
    const auto [at, fresh] = first.try_emplace(
        {alloc.namespace_, alloc.job_id, alloc.name, alloc.job->create_index, alloc.job->version}, &alloc);
    if (!fresh)
      warnings.push_back(text_of(alloc) + ": has the name '" + shortened(alloc.name) + "' of allocation " +
                         shortened(at->second->id));
  }
}

/// Reports allocations whose deployment is missing: a deployment is removed only after its last live allocation.
void remark_on_lost_deployments(const model::ClusterState& state, Warnings& warnings) {
  std::set<std::string_view> known;
  for (const model::Deployment& deployment : state.deployments) known.insert(deployment.id);
  for (const Allocation& alloc : state.allocs)
    if (!alloc.deployment_id.empty() && !model::is_terminal(alloc) && !known.contains(alloc.deployment_id))
      warnings.push_back(text_of(alloc) + ": its deployment " + shortened(alloc.deployment_id) + " is not there");
}

// ---------------------------------------------------------------- times

/// Tolerated difference between the clocks of clients, servers and this machine.
constexpr std::int64_t kClocksDiffer = 5 * 60 * base::kSecond;

class Clock {
 public:
  Clock(std::int64_t now_ns, Warnings& warnings) : limit_(now_ns + kClocksDiffer), warnings_(warnings) {}
  /// At most one warning per object.
  template <class T>
  void start(const T& object) {
    told_ = false;
    name_ = [&object] { return text_of(object); };
  }
  void check(const char* key, std::int64_t ns) {
    if (ns <= limit_ || told_) return;
    told_ = true;
    warnings_.push_back(name_() + ": its " + key + " " + base::to_rfc3339(base::Time{ns}) + " is yet to come");
  }
  void check(const char* key, base::Time time) {
    if (!time.is_zero()) check(key, time.ns);
  }

 private:
  const std::int64_t limit_;
  Warnings& warnings_;
  std::function<std::string()> name_;
  bool told_ = false;
};

void remark_on_times(const model::ClusterState& state, std::int64_t now_ns, Warnings& warnings) {
  Clock clock(now_ns, warnings);
  for (const Allocation& alloc : state.allocs) {
    clock.start(alloc);
    clock.check("CreateTime", alloc.create_time);
    clock.check("ModifyTime", alloc.modify_time);
    for (const auto& [name, task] : alloc.task_states)
      if (task) clock.check("StartedAt", task->started_at), clock.check("FinishedAt", task->finished_at);
    for (const model::AllocState& entry : alloc.alloc_states) clock.check("AllocStates time", entry.time);
    if (alloc.deployment_status) clock.check("DeploymentStatus timestamp", alloc.deployment_status->timestamp);
    if (alloc.reschedule_tracker && alloc.reschedule_tracker->events)
      for (const model::RescheduleEvent& event : *alloc.reschedule_tracker->events)
        clock.check("RescheduleTime", event.reschedule_time);
  }
  for (const model::Evaluation& eval : state.evals) {  // WaitUntil may lie in the future
    clock.start(eval);
    clock.check("CreateTime", eval.create_time);
    clock.check("ModifyTime", eval.modify_time);
  }
  for (const model::Deployment& deployment : state.deployments) {
    clock.start(deployment);
    clock.check("CreateTime", deployment.create_time);
    clock.check("ModifyTime", deployment.modify_time);
  }
  each_job(state, [&](const Job& job) {
    clock.start(job);
    clock.check("SubmitTime", job.submit_time);
  });
}

// ---------------------------------------------------------------- jobs and deployments

void remark_on_update(const std::string& of, const model::UpdateStrategy& update, Warnings& warnings) {
  for (const auto& [key, count] : {std::pair{"MaxParallel", update.max_parallel}, std::pair{"Canary", update.canary}})
    if (count < 0) warnings.push_back(of + ": Update/" + key + " is " + std::to_string(count));
}

void remark_on_job(const Job& job, Warnings& warnings) {
  static const std::set<std::string_view> types = {"service", "batch", "system", "sysbatch", "_core"};
  if (!types.contains(job.type))
    warnings.push_back(text_of(job) + ": its type '" + shortened(job.type) + "' is none of Nomad's");
  remark_on_update(text_of(job), job.update, warnings);
  std::set<std::string_view> names;
  for (const model::TaskGroup& group : job.task_groups) {
    if (!names.insert(group.name).second) warnings.push_back(text_of(job, group) + ": there are two of that name");
    if (group.update) remark_on_update(text_of(job, group), *group.update, warnings);
    CheckedSum cpu_mhz, memory_mb;
    for (const model::Task& task : group.tasks)
      if (task.resources) cpu_mhz.add(task.resources->cpu), memory_mb.add(task.resources->memory_mb);
    if (cpu_mhz.beyond || memory_mb.beyond)
      warnings.push_back(text_of(job, group) + ": the sum of its tasks is beyond 64 bits");
  }
}

void remark_on_deployment(const model::Deployment& deployment, Warnings& warnings) {
  for (const auto& [name, group] : deployment.task_groups) {
    if (!group) continue;
    for (const auto& [key, count] :
         {std::pair{"DesiredCanaries", group->desired_canaries}, std::pair{"DesiredTotal", group->desired_total},
          std::pair{"PlacedAllocs", group->placed_allocs}, std::pair{"HealthyAllocs", group->healthy_allocs},
          std::pair{"UnhealthyAllocs", group->unhealthy_allocs}})
      if (count < 0)
        warnings.push_back(text_of(deployment) + ", group " + shortened(name) + ": " + key + " is " +
                           std::to_string(count));
  }
}

// ---------------------------------------------------------------- nodes

void remark_on_ports(const model::Node& node, Warnings& warnings) {
  const model::NodeResources& resources = *node.node_resources;
  // A bound of 0 or less means Nomad's default (R-MODEL-473).
  const std::int64_t least = resources.min_dynamic_port > 0 ? resources.min_dynamic_port : 20000;
  const std::int64_t most = resources.max_dynamic_port > 0 ? resources.max_dynamic_port : 32000;
  if (least > most)
    warnings.push_back(text_of(node) + ": its dynamic ports begin at " + std::to_string(least) + " and end at " +
                       std::to_string(most));
  const auto check = [&](const char* key, const std::string& text) {
    if (!model::parse_port_ranges(text))
      warnings.push_back(text_of(node) + ": " + key + " '" + shortened(text) + "' is no list of ports");
  };
  if (node.reserved_resources) check("ReservedHostPorts", node.reserved_resources->networks.reserved_host_ports);
  if (resources.node_networks)
    for (const model::NodeNetworkResource& network : *resources.node_networks)
      for (const model::NodeNetworkAddress& address : network.addresses) check("ReservedPorts", address.reserved_ports);
}

struct CheckedAmounts {
  CheckedSum cpu_mhz, memory_mb, memory_max_mb, disk_mb;
  void add(const model::AllocatedResources& held) {
    for (const auto& [name, task] : held.tasks) {
      cpu_mhz.add(task.cpu.cpu_shares);
      memory_mb.add(task.memory.memory_mb);
      memory_max_mb.add(task.memory.memory_max_mb != 0 ? task.memory.memory_max_mb : task.memory.memory_mb);
    }
    disk_mb.add(held.shared.disk_mb);
  }
  [[nodiscard]] bool beyond() const {
    return cpu_mhz.beyond || memory_mb.beyond || memory_max_mb.beyond || disk_mb.beyond;
  }
};

/// True if capacity or capacity minus reservation overflows 64 bits.
bool capacity_beyond(const model::Node& node) {
  CheckedAmounts left;
  if (const model::Topology* topology = model::topology_of(node)) {
    for (const model::Core& core : topology->cores)
      left.cpu_mhz.add(static_cast<std::int64_t>(model::core_speed_mhz(core)));
    if (left.cpu_mhz.beyond && topology->override_total_compute == 0) return true;
  }
  const model::FlatResources all = model::capacity(node), kept = model::reservation(node);
  left = {};
  left.cpu_mhz.add(all.cpu_mhz), left.cpu_mhz.subtract(kept.cpu_mhz);
  left.memory_mb.add(all.memory_mb), left.memory_mb.subtract(kept.memory_mb);
  left.disk_mb.add(all.disk_mb), left.disk_mb.subtract(kept.disk_mb);
  return left.beyond();
}

void remark_on_sums(const model::ClusterState& state, Warnings& warnings) {
  std::unordered_map<std::string_view, CheckedAmounts> used;
  for (const Allocation& alloc : state.allocs) {
    if (!alloc.allocated_resources || model::is_client_terminal(alloc)) continue;
    CheckedAmounts own;
    own.add(*alloc.allocated_resources);
    if (own.beyond()) warnings.push_back(text_of(alloc) + ": the sum of its tasks is beyond 64 bits");
    used[alloc.node_id].add(*alloc.allocated_resources);
  }
  for (const model::Node& node : state.nodes) {
    if (capacity_beyond(node)) warnings.push_back(text_of(node) + ": what it has left is beyond 64 bits");
    const auto found = used.find(node.id);
    if (found != used.end() && found->second.beyond())
      warnings.push_back(text_of(node) + ": the sum of its allocations is beyond 64 bits");
  }
}

// ---------------------------------------------------------------- amounts

/// Limits above any real machine: 100,000 cores of 1 GHz, 1 PiB of memory, 1 EiB of disk.
constexpr std::int64_t kMhzMost = 100'000'000, kMemoryMost = std::int64_t{1} << 30, kDiskMost = std::int64_t{1} << 40;

struct Amount {
  const char* what;
  std::int64_t value, most;
};
void remark_on_amounts(const std::string& of, std::initializer_list<Amount> amounts, Warnings& warnings) {
  for (const Amount& amount : amounts)
    if (amount.value < 0 || amount.value > amount.most)
      warnings.push_back(of + ": " + amount.what + " is " + std::to_string(amount.value) +
                         (amount.value < 0 ? "" : ", more than any machine has"));
}

void remark_on_amounts(const Job& job, Warnings& warnings) {
  for (const model::TaskGroup& group : job.task_groups) {
    if (group.ephemeral_disk)
      remark_on_amounts(text_of(job, group), {{"EphemeralDisk/SizeMB", group.ephemeral_disk->size_mb, kDiskMost}},
                        warnings);
    for (const model::Task& task : group.tasks)
      if (task.resources)
        remark_on_amounts(
            text_of(job, group) + ", task " + shortened(task.name),
            {{"CPU", task.resources->cpu, kMhzMost},
             {"Cores", task.resources->cores, kMhzMost},
             {"MemoryMB", task.resources->memory_mb, kMemoryMost},
             // -1 means "no limit" in Nomad.
             {"MemoryMaxMB", task.resources->memory_max_mb == -1 ? 0 : task.resources->memory_max_mb, kMemoryMost}},
            warnings);
  }
}

void remark_on_amounts(const model::Node& node, Warnings& warnings) {
  const model::FlatResources all = model::capacity(node), kept = model::reservation(node);
  const auto positive = [](std::int64_t amount) {
    return std::max<std::int64_t>(amount, 0);
  };  // check_sums reports negative ones
  remark_on_amounts(text_of(node),
                    {{"its cpu", positive(all.cpu_mhz), kMhzMost},
                     {"its memory", positive(all.memory_mb), kMemoryMost},
                     {"its disk", positive(all.disk_mb), kDiskMost},
                     {"its reserved cpu", kept.cpu_mhz, kMhzMost},
                     {"its reserved memory", kept.memory_mb, kMemoryMost},
                     {"its reserved disk", kept.disk_mb, kDiskMost}},
                    warnings);
}

void remark_on_amounts(const Allocation& alloc, Warnings& warnings) {
  if (!alloc.allocated_resources) return;
  for (const auto& [name, task] : alloc.allocated_resources->tasks)
    remark_on_amounts(text_of(alloc) + ", task " + shortened(name),
                      {{"its cpu", std::max<std::int64_t>(task.cpu.cpu_shares, 0), kMhzMost},
                       {"its memory", std::max<std::int64_t>(task.memory.memory_mb, 0), kMemoryMost}},
                      warnings);
}

}  // namespace

void remark_on_contradictions(const model::ClusterState& state, std::int64_t now_ns, Warnings& warnings) {
  remark_on_circles(state.allocs, "NextAllocation", &Allocation::next_allocation, warnings);
  remark_on_circles(state.allocs, "PreviousAllocation", &Allocation::previous_allocation, warnings);
  remark_on_repeated_names(state.allocs, warnings);
  remark_on_lost_deployments(state, warnings);
  if (now_ns != 0) remark_on_times(state, now_ns, warnings);
  each_job(state, [&](const Job& job) { remark_on_job(job, warnings); });
  for (const model::Deployment& deployment : state.deployments) remark_on_deployment(deployment, warnings);
  for (const model::Node& node : state.nodes) remark_on_ports(node, warnings);
  remark_on_sums(state, warnings);
  each_job(state, [&](const Job& job) { remark_on_amounts(job, warnings); });
  for (const model::Node& node : state.nodes) remark_on_amounts(node, warnings);
  for (const Allocation& alloc : state.allocs) remark_on_amounts(alloc, warnings);
}

}  // namespace berth::io
