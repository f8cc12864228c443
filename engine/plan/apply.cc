#include "plan/apply.h"

#include <algorithm>

#include "tables/check.h"

namespace berth::plan {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::NodeStatus;
using tables::Snapshot;

bool Applier::fail(NodeRow node, std::string reason, bool is_error) {
  failures_.push_back({node, std::move(reason), is_error});
  return false;
}

const rank::NodePorts& Applier::node_ports(const std::shared_ptr<const tables::NodeSpec>& spec) {
  SpecPorts& entry = ports_[spec.get()];
  if (!entry.spec) {
    entry.spec = spec;
    entry.ports = std::make_unique<rank::NodePorts>(rank::read_node_ports(spec->node));
  }
  return *entry.ports;
}

bool Applier::check(const Snapshot& state, const PlanRows& plan, std::uint32_t first) {
  const NodeRow row = plan.allocs[first].node;
  if (!state.nodes.exists(row)) return fail(row, "node does not exist");
  switch (state.nodes.status(row)) {  // new allocations are `pending`, which rows 2 and 3 do not let pass
    case NodeStatus::disconnected:
      return fail(row, "node is disconnected and contains invalid updates");
    case NodeStatus::down:
      return fail(row, "node is down and contains invalid updates");
    case NodeStatus::initializing:
      return fail(row, "node is not ready for placements");
    case NodeStatus::ready:
      break;
  }
  if (!(state.nodes.state[row] & tables::kEligible)) return fail(row, "node is not eligible");

  const tables::NodeUse& use = state.nodes.use[row];
  const tables::NodeCapacity& capacity = state.nodes.capacity(row);
  const tables::CompiledJob& job = *state.jobs.versions[plan.job];
  std::int64_t cpu = use.cpu_mhz, memory = use.memory_mb, disk = use.disk_mb, allocs = use.alloc_count;
  bool special = capacity.network_invalid || (use.port_allocs | use.device_allocs | use.core_allocs | use.claim_allocs);
  for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node) {
    const tables::ResourceShape& shape = *plan.allocs[i].held;
    const tables::CompiledGroup& group = job.groups[plan.allocs[i].group];
    cpu += shape.cpu_mhz;
    memory += shape.memory_mb;
    disk += shape.disk_mb;
    ++allocs;
    special |= shape.ports | shape.devices | !shape.cores.empty() | group.has_host_volumes | group.has_csi_volumes;
  }
  const bool room = cpu <= capacity.cpu_mhz && memory <= capacity.memory_mb && disk <= capacity.disk_mb &&
                    (capacity.max_allocs == 0 || allocs <= capacity.max_allocs);
  return (room && !special) || check_exactly(state, plan, first);
}

bool Applier::check_exactly(const Snapshot& state, const PlanRows& plan, std::uint32_t first) {
  const NodeRow row = plan.allocs[first].node;
  const tables::AllocTable& allocs = state.allocs;
  rows_.clear();
  for (AllocRow a = state.nodes.use[row].alloc_head; a != kNoRow; a = allocs.next_on_node[a]) {
    if (allocs.terminal(a)) continue;
    const bool leaves =
        std::any_of(plan.stops.begin(), plan.stops.end(), [&](const PlannedStop& stop) { return stop.alloc == a; });
    if (!leaves) rows_.push_back(a);
  }
  std::sort(rows_.begin(), rows_.end(), [&](AllocRow a, AllocRow b) { return allocs.id[a] < allocs.id[b]; });

  entries_.clear();
  ids_.clear();
  auto enter = [&](const tables::ResourceShape& shape, base::Uuid id, const model::TaskGroup* group) {
    ids_.push_back(base::to_text(id));
    entries_.push_back({shape.resources.get(), {}, group});
  };
  for (const AllocRow a : rows_) {
    const tables::JobRow version = allocs.job[a];
    enter(allocs.shape_of(a), allocs.id[a],
          version == kNoRow ? nullptr : state.jobs.versions[version]->spec->group(state.text(allocs.group[a])));
  }
  const tables::CompiledJob& job = *state.jobs.versions[plan.job];
  for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node)
    enter(*plan.allocs[i].held, plan.allocs[i].id, job.groups[plan.allocs[i].group].spec);
  for (std::size_t i = 0; i < ids_.size(); ++i) entries_[i].id = ids_[i];

  const auto& spec = state.nodes.fixed->spec[row];
  const rank::Fit fit = rank::allocs_fit(spec->node, node_ports(spec), entries_, true, network_index_);
  if (fit.fits()) return true;
  if (fit.dimension == rank::Dimension::max_allocs)
    return fail(row, "1 error occurred:\n\t* plan exceeds max allocation\n\n", true);
  return fail(row, fit.text());
}

void Applier::apply(const PlanRows& plan, std::uint64_t index, bool all_at_once, ApplyResult& result) {
  result.index = result.refresh_index = 0;
  result.committed = result.refused = result.stopped = 0;
  result.rejected_nodes.clear();
  result.reasons.clear();
  result.error.clear();
  failures_.clear();

  tables::Commit commit = store_.begin_commit(index);
  const Snapshot& state = commit.current();
  // Only the first planned allocation of a node has no predecessor in its chain; it stands for the node.
  for (std::uint32_t i = 0; i < plan.allocs.size(); ++i)
    if (plan.allocs[i].first_on_node) check(state, plan, i);

  if (!failures_.empty()) {
    auto id_of = [&](NodeRow row) { return row < state.nodes.size() ? state.nodes.id(row) : base::Uuid{}; };
    std::sort(failures_.begin(), failures_.end(),
              [&](const Failure& a, const Failure& b) { return id_of(a.node) < id_of(b.node); });
    for (Failure& failure : failures_) {
      if (failure.is_error) {  // R-CTRL-614, 620
        result.error = std::move(failure.reason);
        result.rejected_nodes.clear();
        result.reasons.clear();
        result.refused = static_cast<std::uint32_t>(plan.allocs.size());
        return;
      }
      result.rejected_nodes.push_back(failure.node);
      result.reasons.push_back(std::move(failure.reason));
      if (all_at_once) break;  // R-CTRL-618
    }
    result.refresh_index = std::max(state.nodes.index, state.allocs.index);
    if (result.refresh_index == 0) result.refresh_index = state.index;  // tables filled without an index
    if (result.refresh_index == 0) {
      result.error = "partialCommit with RefreshIndex of 0";
      result.refused = static_cast<std::uint32_t>(plan.allocs.size());
      return;
    }
    if (all_at_once) {
      result.refused = static_cast<std::uint32_t>(plan.allocs.size());
      return;
    }
  }
  auto rejected = [&](NodeRow row) {
    return !result.rejected_nodes.empty() &&
           std::find(result.rejected_nodes.begin(), result.rejected_nodes.end(), row) != result.rejected_nodes.end();
  };

  for (const PlannedStop& stop : plan.stops) {
    if (rejected(state.allocs.node[stop.alloc])) continue;
    if (stop.evict && state.allocs.terminal(stop.alloc)) continue;  // R-CTRL-616
    commit.set_desired_status(stop.alloc, stop.evict ? tables::Desired::evict : tables::Desired::stop);
    if (stop.client) commit.set_client_status(stop.alloc, *stop.client);
    ++result.stopped;
  }
  tables::PlainAlloc alloc;
  alloc.job = plan.job;
  for (const PlannedAlloc& planned : plan.allocs) {
    if (rejected(planned.node)) {
      ++result.refused;
      continue;
    }
    alloc.id = planned.id;
    alloc.node = planned.node;
    alloc.group = planned.group;
    alloc.name_index = planned.name_index;
    commit.insert_plain(alloc, planned.shape);
    ++result.committed;
  }
  if (plan.deployment) commit.upsert_deployment(*plan.deployment);
  if (result.committed > 0 || result.stopped > 0 || plan.has_deployment || plan.deployment) {
    commit.raise_index();
    result.index = index;
    if (result.refresh_index != 0) result.refresh_index = std::max(result.refresh_index, index);
  }
#ifndef NDEBUG
  std::vector<std::string> problems;
  if (state.nodes.size() + state.allocs.size() < 4096)
    problems = tables::check_tables(state);
  else
    for (const PlannedAlloc& planned : plan.allocs)
      if (planned.node < state.nodes.size()) tables::check_node(state, planned.node, problems);
  for (const std::string& problem : problems) std::fprintf(stderr, "%s\n", problem.c_str());
  BERTH_ASSERT(problems.empty());
#endif
}

void apply(tables::StateStore& store, const PlanRows& plan, std::uint64_t index, bool all_at_once,
           ApplyResult& result) {
  Applier(store).apply(plan, index, all_at_once, result);
}

}  // namespace berth::plan
