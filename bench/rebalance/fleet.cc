#include "rebalance/fleet.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "model/job.h"

namespace berth::rebalance {
namespace {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

bool is_unique(std::string_view text) {
  return text.find("${node.unique.") != std::string_view::npos ||
         text.find("${attr.unique.") != std::string_view::npos || text.find("${meta.unique.") != std::string_view::npos;
}

/// True if the constraints select single nodes; "is not that one" does not.
bool pins(const auto& constraints) {
  return std::any_of(constraints.begin(), constraints.end(), [](const model::Constraint& one) {
    const bool excludes = one.operand == "!=" || one.operand == "not" || one.operand == "is_set" ||
                          one.operand == "is_not_set" || one.operand == "distinct_property";
    return !excludes && (is_unique(one.ltarget) || is_unique(one.rtarget));
  });
}

bool is_pinned(const model::Job& job, const model::TaskGroup& group) {
  if (pins(job.constraints) || pins(group.constraints)) return true;
  return std::any_of(group.tasks.begin(), group.tasks.end(),
                     [](const model::Task& task) { return pins(task.constraints); });
}

bool keeps_data(const model::TaskGroup& group) {
  if (group.ephemeral_disk && group.ephemeral_disk->sticky) return true;
  return std::any_of(group.volumes.begin(), group.volumes.end(), [](const auto& volume) {
    return volume.second && (volume.second->type == "host" || volume.second->sticky);
  });
}

/// True if the version is the current one. An allocation's copy of the job may be another row of the same version.
bool is_current(const tables::Snapshot& state, tables::VersionRow version, tables::VersionRow current) {
  if (version == current) return true;
  if (version == kNoRow) return false;
  const tables::CompiledJob &own = *state.jobs.versions[version], &stored = *state.jobs.versions[current];
  return own.version == stored.version && own.create_index == stored.create_index;
}

/// Facts common to all allocations of one group of a job's current version.
struct GroupFacts {
  std::optional<Stays> stays;
  const tables::CompiledGroup* group = nullptr;
  std::uint32_t base_set = 0;
};

GroupFacts facts_of(const tables::Snapshot& state, tables::JobKeyRow key, tables::Symbol name, bool move_batch) {
  GroupFacts out;
  const tables::JobKey& job = state.jobs.keys[key];
  if (job.current == kNoRow || state.jobs.versions[job.current]->stopped) return {Stays::stopped};
  const tables::CompiledJob& compiled = *state.jobs.versions[job.current];
  out.base_set = compiled.base_set;
  for (const tables::CompiledGroup& group : compiled.groups)
    if (group.name == name) out.group = &group;
  if (!out.group) return {Stays::rolls_out};
  if (job.deployment_head != kNoRow && state.deployments.active[job.deployment_head] != 0)
    out.stays = Stays::rolls_out;
  else if (compiled.type == model::JobType::batch && !move_batch)
    out.stays = Stays::batch;
  else if (keeps_data(*out.group->spec))
    out.stays = Stays::volume;
  else if (is_pinned(*compiled.spec, *out.group->spec))
    out.stays = Stays::pinned;
  return out;
}

/// Disjoint sets of machines.
class Sets {
 public:
  explicit Sets(std::size_t count) : up_(count) { std::iota(up_.begin(), up_.end(), 0u); }
  std::uint32_t find(std::uint32_t at) {
    while (up_[at] != at) at = up_[at] = up_[up_[at]];
    return at;
  }
  void join(std::uint32_t a, std::uint32_t b) { up_[find(a)] = find(b); }

 private:
  std::vector<std::uint32_t> up_;
};

void divide(Fleet& fleet, std::size_t rows) {
  std::vector<std::uint32_t> machine_of(rows, kNoRow);
  for (std::uint32_t at = 0; at < fleet.machines.size(); ++at) machine_of[fleet.machines[at].row] = at;
  Sets sets(fleet.machines.size());
  std::map<std::uint32_t, std::uint32_t> first;  // machine of a base set
  for (const auto& [base_set, hosts] : fleet.hosts)
    for (const tables::ReadyNodes::Candidate& host : hosts.candidates)
      sets.join(first.try_emplace(base_set, machine_of[host.row]).first->second, machine_of[host.row]);
  for (std::uint32_t at = 0; at < fleet.machines.size(); ++at)
    for (const Load& load : fleet.machines[at].loads) sets.join(first.try_emplace(load.base_set, at).first->second, at);
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t at = 0; at < fleet.machines.size(); ++at)
    fleet.machines[at].part =
        numbers.try_emplace(sets.find(at), static_cast<std::uint32_t>(numbers.size())).first->second;
  fleet.parts = static_cast<std::uint32_t>(numbers.size());
}

}  // namespace

std::int64_t Fleet::occupied() const {
  return std::count_if(machines.begin(), machines.end(), [](const Machine& one) { return one.occupied(); });
}

double largest_share(const Amounts& amounts, const Amounts& totals) {
  double out = 0;
  for (std::size_t r = 0; r < kResources; ++r)
    if (totals[r] > 0) out = std::max(out, static_cast<double>(amounts[r]) / static_cast<double>(totals[r]));
  return out;
}

Fleet read_fleet(const tables::Snapshot& state, bool move_batch, AllocRow known) {
  Fleet fleet;
  std::map<std::pair<tables::JobKeyRow, tables::Symbol>, GroupFacts> groups;
  const tables::AllocTable& allocs = state.allocs;
  for (NodeRow node = 0; node < state.nodes.size(); ++node) {
    if (!state.nodes.exists(node) || state.nodes.status(node) != tables::NodeStatus::ready) continue;
    Machine machine;
    machine.row = node, machine.accepts = state.nodes.ready(node);
    const tables::NodeCapacity& capacity = state.nodes.capacity(node);
    const tables::NodeUse& use = state.nodes.use[node];
    machine.room = {capacity.cpu_mhz, capacity.memory_mb, capacity.disk_mb};
    machine.free = {capacity.cpu_mhz - use.cpu_mhz, capacity.memory_mb - use.memory_mb, capacity.disk_mb - use.disk_mb};
    for (std::size_t r = 0; r < kResources; ++r) fleet.total[r] += std::max<std::int64_t>(0, machine.room[r]);
    for (AllocRow row = use.alloc_head; row != kNoRow; row = allocs.next_on_node[row]) {
      if (allocs.desired[row] != tables::Desired::run) continue;  // it is ending already
      const tables::VersionRow version = allocs.job[row];
      const tables::ResourceShape& shape = allocs.shape_of(row);
      const Amounts held = {shape.cpu_mhz, shape.memory_mb, shape.disk_mb};
      if (version != kNoRow && model::is_of_system(state.jobs.versions[version]->type)) {
        for (std::size_t r = 0; r < kResources; ++r) machine.room[r] -= held[r];
        continue;
      }
      const auto [found, is_new] = groups.try_emplace({allocs.job_key[row], allocs.group[row]});
      GroupFacts& facts = found->second;
      if (is_new) facts = facts_of(state, allocs.job_key[row], allocs.group[row], move_batch);
      std::optional<Stays> stays = facts.stays;
      if (!stays && row >= known) stays = Stays::is_new;
      if (!stays && !is_current(state, version, state.jobs.keys[allocs.job_key[row]].current)) stays = Stays::rolls_out;
      if (stays) {
        ++machine.staying, ++fleet.stays[static_cast<std::size_t>(*stays)];
        for (std::size_t r = 0; r < kResources; ++r) machine.held[r] += held[r];
        continue;
      }
      const tables::CompiledGroup& group = *facts.group;
      Load load;
      load.row = row, load.base_set = facts.base_set;
      load.asked = {group.has_cores ? shape.cpu_mhz : group.cpu_mhz, group.memory_mb, group.disk_mb};
      load.least = {group.has_cores ? group.cpu_without_cores_mhz : group.cpu_mhz, group.memory_mb, group.disk_mb};
      for (std::size_t r = 0; r < kResources; ++r) {
        load.least[r] = std::min(load.least[r], held[r]);
        machine.held[r] += load.least[r];
      }
      machine.loads.push_back(load);
    }
    fleet.machines.push_back(std::move(machine));
  }
  for (Machine& machine : fleet.machines) {
    for (const Load& load : machine.loads)
      if (fleet.hosts.count(load.base_set) == 0)
        fleet.hosts[load.base_set].follow(state.nodes, *state.symbols, state.base_sets[load.base_set]->key);
    std::stable_sort(machine.loads.begin(), machine.loads.end(), [&](const Load& a, const Load& b) {
      return largest_share(a.asked, fleet.total) > largest_share(b.asked, fleet.total);
    });
  }
  divide(fleet, state.nodes.size());
  return fleet;
}

sim::Amounts Fleet::mean_request() const {
  Amounts sum{};
  std::int64_t loads = 0;
  for (const Machine& machine : machines)
    for (const Load& load : machine.loads) {
      for (std::size_t r = 0; r < kResources; ++r) sum[r] += load.asked[r];
      ++loads;
    }
  for (std::int64_t& amount : sum) amount = loads == 0 ? 0 : (amount + loads - 1) / loads;
  return {sum[0], sum[1], sum[2], 0};
}

sim::NodePacking packing_of(const Machine& machine, const Amounts& free) {
  const Amounts& room = machine.room;
  return {.usable = {room[0], room[1], room[2], 0},
          .used = {room[0] - free[0], room[1] - free[1], room[2] - free[2], 0},
          .alloc_count = 0};
}

}  // namespace berth::rebalance
