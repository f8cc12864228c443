#include "tables/check.h"

#include <fmt/format.h>
#include <tsl/robin_set.h>

#include <algorithm>

#include "base/wrap.h"
#include "model/job.h"
#include "tables/irregular.h"

namespace berth::tables {
namespace {

using Problems = std::vector<std::string>;

template <class... Args>
void add(Problems& problems, fmt::format_string<Args...> format, Args&&... args) {
  problems.push_back(fmt::format(format, std::forward<Args>(args)...));
}

bool claims(const Snapshot& state, AllocRow row) {
  if (state.allocs.job[row] == kNoRow) return false;
  for (const CompiledGroup& group : state.jobs.versions[state.allocs.job[row]]->groups)
    if (group.name == state.allocs.group[row]) return group.claims_alone;
  return false;
}

/// Adds a chain of a node to `use`; false if it does not end within the table's size.
bool walk(const Snapshot& state, NodeRow node, AllocRow head, bool ended, NodeUse& use, Problems& problems) {
  const AllocTable& a = state.allocs;
  std::size_t steps = 0;
  for (AllocRow row = head; row != kNoRow; row = a.next_on_node[row]) {
    if (row >= a.size() || ++steps > a.size()) {
      add(problems, "node row {}: its {} chain does not end", node, ended ? "ended" : "live");
      return false;
    }
    if (a.node[row] != node) add(problems, "node row {}: its chain holds alloc row {} of another node", node, row);
    if (client_terminal(a.client[row]) != ended)
      add(problems, "alloc row {}: client status {} on the wrong chain", row, to_text(a.client[row]));
    if (ended) continue;
    const ResourceShape& shape = a.shape_of(row);
    use.cpu_mhz = base::wrap_add(use.cpu_mhz, shape.cpu_mhz);
    use.memory_mb = base::wrap_add(use.memory_mb, shape.memory_mb);
    use.disk_mb = base::wrap_add(use.disk_mb, shape.disk_mb);
    ++use.alloc_count;
    use.port_allocs += shape.ports;
    use.device_allocs += shape.devices;
    use.core_allocs += !shape.cores.empty();
    use.sole_claims += claims(state, row);
    if (a.job[row] == kNoRow) {
      use.most_priority = kNoPriority;
      continue;
    }
    const std::int64_t priority = state.jobs.versions[a.job[row]]->priority;
    use.most_priority = std::max(use.most_priority, static_cast<std::int32_t>(priority));
    if (priority < use.least_priority) use.least_priority = static_cast<std::int32_t>(priority), use.least_count = 0;
    use.least_count += priority == use.least_priority;
  }
  return true;
}

/// Compares the counts by priority with the node's running allocations.
void check_priorities(const StateStore& store, NodeRow node, Problems& problems) {
  const Snapshot& state = store.current();
  const PriorityCounts& noted = store.writer_columns().priorities[node];
  if (!noted.listed()) return;
  PriorityCounts sum;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow; row = state.allocs.next_on_node[row]) {
    const VersionRow job = state.allocs.job[row];
    sum.add(job == kNoRow ? kNoPriority : static_cast<std::int32_t>(state.jobs.versions[job]->priority));
  }
  if (!noted.same(sum)) add(problems, "node row {}: what runs there is counted wrong by priority", node);
}

/// Compares the eviction levels with the node's running allocations. The last level's priority is a bound.
void check_eviction(const Snapshot& state, NodeRow node, Problems& problems) {
  EvictionLevels sum;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow; row = state.allocs.next_on_node[row]) {
    if (state.allocs.job[row] == kNoRow) continue;
    const ResourceShape& shape = state.allocs.shape_of(row);
    sum.add(static_cast<std::int32_t>(state.jobs.versions[state.allocs.job[row]]->priority),
            {shape.cpu_mhz, shape.memory_mb, shape.disk_mb});
  }
  const EvictionLevels noted = state.nodes.eviction_levels(node);
  if (sum.unsure != 0 || noted.unsure != 0) return;
  for (std::size_t i = 0; i < EvictionLevels::kLevels; ++i) {
    const EvictionLevels::Level &is = noted.levels[i], &should = sum.levels[i];
    const bool last = i + 1 == EvictionLevels::kLevels;
    if (is.cpu_mhz == should.cpu_mhz && is.memory_mb == should.memory_mb && is.disk_mb == should.disk_mb &&
        (last ? is.priority <= should.priority : is.priority == should.priority))
      continue;
    add(problems, "node row {}: eviction level {} is of priority {}, {} MHz, {} MiB and should be {}, {}, {}", node, i,
        is.priority, is.cpu_mhz, is.memory_mb, should.priority, should.cpu_mhz, should.memory_mb);
  }
  if (noted.largest_cpu_mhz < sum.largest_cpu_mhz || noted.largest_memory_mb < sum.largest_memory_mb ||
      noted.largest_disk_mb < sum.largest_disk_mb)
    add(problems, "node row {}: an allocation holds {} MHz, {} MiB, {} MiB disk, at most {}, {}, {} is noted", node,
        sum.largest_cpu_mhz, sum.largest_memory_mb, sum.largest_disk_mb, noted.largest_cpu_mhz, noted.largest_memory_mb,
        noted.largest_disk_mb);
}

/// Compares the list of held ports, if usable, with the ports of the node's allocations.
void check_ports(const Snapshot& state, NodeRow node, Problems& problems) {
  const HeldPorts* const held = state.nodes.held_ports(node);
  if (!held) return;
  std::vector<std::uint16_t> noted(held->ports().begin(), held->ports().end()), should;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow; row = state.allocs.next_on_node[row]) {
    const ResourceShape& shape = state.allocs.shape_of(row);
    if (shape.ports && (shape.plain().empty() || shape.resources->shared.ports.front().host_ip != held->address()))
      add(problems, "node row {}: alloc row {} holds ports that the list of {} cannot hold", node, row,
          held->address());
    should.insert(should.end(), shape.plain().begin(), shape.plain().end());
  }
  std::sort(noted.begin(), noted.end());
  std::sort(should.begin(), should.end());
  if (noted != should)
    add(problems, "node row {}: {} ports are listed, {} are held, or they differ", node, noted.size(), should.size());
}

/// Compares the set of held cores, if usable, with the cores of the node's allocations.
void check_cores(const Snapshot& state, NodeRow node, Problems& problems) {
  const HeldCores* const held = state.nodes.held_cores(node);
  if (!held) return;
  HeldCores should;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow; row = state.allocs.next_on_node[row])
    should.add(state.allocs.shape_of(row).cores);
  if (should.unlisted || held->word != should.word)
    add(problems, "node row {}: the set of held cores is not what its allocations hold", node);
}

/// Compares the set of held device instances, if usable, with those of the node's allocations.
void check_devices(const Snapshot& state, NodeRow node, Problems& problems) {
  const HeldDevices* const held = state.nodes.held_devices(node);
  if (!held) return;
  HeldDevices should;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow; row = state.allocs.next_on_node[row])
    if (state.allocs.shape_of(row).devices) should.add(state.allocs.shape_of(row), state.nodes.spec(node).devices);
  if (should.unlisted || held->word != should.word)
    add(problems, "node row {}: the set of held devices is not what its allocations hold", node);
}

template <class Column>
void check_length(const char* table, const char* column, const Column& values, std::size_t size, Problems& problems) {
  if (values.size() != size) add(problems, "{}: column {} has {} rows, not {}", table, column, values.size(), size);
}

}  // namespace

void check_node(const Snapshot& state, NodeRow row, Problems& problems) {
  const NodeTable& n = state.nodes;
  const NodeUse& use = n.use[row];
  const NodeCapacity& capacity = n.capacity(row);
  NodeUse sum;
  if (!walk(state, row, use.alloc_head, false, sum, problems)) return;
  if (!walk(state, row, use.ended_head, true, sum, problems)) return;
  auto same = [&](const char* what, auto table, auto counted) {
    if (table != counted) add(problems, "node row {}: {} is {} and should be {}", row, what, table, counted);
  };
  same("cpu_mhz", use.cpu_mhz, sum.cpu_mhz);
  same("memory_mb", use.memory_mb, sum.memory_mb);
  same("disk_mb", use.disk_mb, sum.disk_mb);
  same("alloc_count", use.alloc_count, sum.alloc_count);
  same("port_allocs", use.port_allocs, sum.port_allocs);
  same("device_allocs", use.device_allocs, sum.device_allocs);
  same("core_allocs", use.core_allocs, sum.core_allocs);
  same("sole_claims", use.sole_claims, sum.sole_claims);
  network::NetworkIndex index;
  same("irregular", use.irregular,
       (ports_collide(state, row, kNoRow, index) ? kPortsCollide : 0) |
           (cores_irregular(state, row, kNoRow) ? kCoresIrregular : 0));
  const network::NodePorts& ports = n.spec(row).ports;
  if (n.exists(row) &&
      network::profile_text(ports) != network::profile_text(n.ports_of_profile(n.fixed->port_profile[row])))
    add(problems, "node row {}: its port profile is another node's", row);
  same("network_invalid", capacity.network_invalid != 0, !ports.error.empty());
  same("least_priority", use.least_priority, sum.least_priority);
  if (sum.least_priority != kNoPriority) same("least_count", use.least_count, sum.least_count);
  if (use.most_priority < sum.most_priority)
    add(problems, "node row {}: an allocation has priority {}, at most {} is noted", row, sum.most_priority,
        use.most_priority);
  check_eviction(state, row, problems);
  check_ports(state, row, problems);
  check_cores(state, row, problems);
  check_devices(state, row, problems);
  const FreeBlock& free = n.free[row / FreeBlock::kRows];
  const std::size_t at = row % FreeBlock::kRows;
  same("free.cpu", free.cpu[at], FreeBlock::of(capacity.cpu_mhz, use.cpu_mhz));
  same("free.memory", free.memory[at], FreeBlock::of(capacity.memory_mb, use.memory_mb));
  same("free.disk", free.disk[at], FreeBlock::of(capacity.disk_mb, use.disk_mb));
  same("class_code", capacity.class_code, n.code(kClassColumn, row));
  same("computed_class_code", capacity.computed_class_code, n.code(kComputedClassColumn, row));
}

Problems check_node_table(const Snapshot& state) {
  Problems problems;
  const NodeTable& n = state.nodes;
  const std::size_t size = n.size();
  check_length("nodes", "id", n.fixed->id, size, problems);
  check_length("nodes", "spec", n.fixed->spec, size, problems);
  check_length("nodes", "capacity", n.fixed->capacity, size, problems);
  check_length("nodes", "port_profile", n.fixed->port_profile, size, problems);
  check_length("nodes", "use", n.use, size, problems);
  if (!n.ports.empty()) check_length("nodes", "ports", n.ports, size, problems);
  if (!n.eviction.empty()) check_length("nodes", "eviction", n.eviction, size, problems);
  check_length("nodes", "free", n.free, (size + FreeBlock::kRows - 1) / FreeBlock::kRows, problems);
  if (!problems.empty()) return problems;

  std::size_t existing = 0, on_chains = 0, with_node = 0, port_or_core = 0, port_conflicts = 0;
  for (NodeRow row = 0; row < size; ++row) {
    existing += n.exists(row);
    port_conflicts += (n.use[row].irregular & kPortsCollide) != 0;
    check_node(state, row, problems);
    if (!problems.empty()) return problems;  // a chain without end would be followed again below
    for (AllocRow a = n.use[row].alloc_head; a != kNoRow; a = state.allocs.next_on_node[a]) {
      ++on_chains;
      port_or_core += state.allocs.shape_of(a).ports || !state.allocs.shape_of(a).cores.empty();
    }
    for (AllocRow a = n.use[row].ended_head; a != kNoRow; a = state.allocs.next_on_node[a]) ++on_chains;
  }
  for (AllocRow row = 0; row < state.allocs.size(); ++row) with_node += state.allocs.node[row] != kNoRow;
  // Chains are acyclic and contain only their node's rows, so equal counts mean that each row is on one.
  if (on_chains != with_node) add(problems, "nodes: {} allocations on chains, {} have a node", on_chains, with_node);

  if (port_or_core != n.port_or_core_allocs)
    add(problems, "nodes: port_or_core_allocs is {} and should be {}", n.port_or_core_allocs, port_or_core);
  if (port_conflicts != n.nodes_with_port_conflict)
    add(problems, "nodes: nodes_with_port_conflict is {} and should be {}", n.nodes_with_port_conflict, port_conflicts);

  const std::vector<NodeRow>& by_id = *n.fixed->by_id;
  if (by_id.size() != existing) add(problems, "nodes: by_id lists {} of {} nodes", by_id.size(), existing);
  for (std::size_t i = 0; i < by_id.size(); ++i) {
    if (!n.exists(by_id[i])) add(problems, "nodes: by_id lists row {}, which is gone", by_id[i]);
    if (i > 0 && !(n.id(by_id[i - 1]) < n.id(by_id[i]))) add(problems, "nodes: by_id is not ascending at {}", i);
  }

  for (ColumnId id = 0; id < n.fixed->columns.size(); ++id) {
    const KeyedColumn& column = n.column(id);
    if (column.codes.size() > size) add(problems, "column {}: more rows than nodes", id);
    for (NodeRow row = 0; row < column.codes.size(); ++row)
      if (column.codes[row] > column.values.size())
        add(problems, "column {}: node row {} has code {} of {}", id, row, column.codes[row], column.values.size());
    tsl::robin_set<Symbol> distinct;
    for (std::size_t i = 0; i < column.values.size(); ++i)
      if (!distinct.insert(column.values[i]).second) add(problems, "column {}: a value has two codes", id);
  }
  return problems;
}

Problems check_alloc_table(const Snapshot& state) {
  Problems problems;
  const AllocTable& a = state.allocs;
  const std::size_t size = a.size();
  check_length("allocs", "node", a.node, size, problems);
  check_length("allocs", "job", a.job, size, problems);
  check_length("allocs", "job_key", a.job_key, size, problems);
  check_length("allocs", "group", a.group, size, problems);
  check_length("allocs", "name_index", a.name_index, size, problems);
  check_length("allocs", "desired", a.desired, size, problems);
  check_length("allocs", "client", a.client, size, problems);
  check_length("allocs", "shape", a.shape, size, problems);
  check_length("allocs", "next_on_node", a.next_on_node, size, problems);
  check_length("allocs", "next_of_job", a.next_of_job, size, problems);
  check_length("allocs", "create_index", a.create_index, size, problems);
  check_length("allocs", "modify_index", a.modify_index, size, problems);
  if (!problems.empty()) return problems;
  check_length("allocs", "links", a.links, size, problems);
  if (!a.stamp.empty()) check_length("allocs", "stamp", a.stamp, size, problems);
  if (a.logs.size() > size) add(problems, "allocs: column {} has {} rows, not {} at most", "logs", a.logs.size(), size);
  if (a.reported.size() > size)
    add(problems, "allocs: column {} has {} rows, not {} at most", "reported", a.reported.size(), size);
  for (AllocRow row = 0; row < size && problems.empty(); ++row) {
    if (!a.exists(row)) continue;
    const AllocLinks links = a.links_of(row);
    for (const AllocRow other : {links.previous, links.next, links.preempted_by})
      if (other != kNoRow && other >= size) add(problems, "alloc row {}: a link leads to row {}", row, other);
    if (links.deployment != kNoRow && links.deployment >= state.deployments.size())
      add(problems, "alloc row {}: its deployment does not exist", row);
    if (a.node[row] != kNoRow && a.node[row] >= state.nodes.size())
      add(problems, "alloc row {}: node row {} does not exist", row, a.node[row]);
    if (a.shape[row] >= a.shapes.size()) add(problems, "alloc row {}: its shape does not exist", row);
    if (a.job_key[row] >= state.jobs.keys.size()) add(problems, "alloc row {}: its job key does not exist", row);
    if (a.next_on_node[row] != kNoRow && a.next_on_node[row] >= size)
      add(problems, "alloc row {}: its successor on the node does not exist", row);
    if (a.cold[row] && a.has_report(row)) add(problems, "alloc row {}: has both an object and a report", row);
    if (a.cold[row] && a.rest[row]) add(problems, "alloc row {}: has both an object and a rest", row);
    if (a.job[row] == kNoRow) {
      if (!a.cold[row]) add(problems, "alloc row {}: neither a job nor an object", row);
      continue;
    }
    if (a.job[row] >= state.jobs.versions.size()) {
      add(problems, "alloc row {}: its job version does not exist", row);
      continue;
    }
    const CompiledJob& job = *state.jobs.versions[a.job[row]];
    const bool known = std::any_of(job.groups.begin(), job.groups.end(),
                                   [&](const CompiledGroup& group) { return group.name == a.group[row]; });
    if (!a.cold[row] && (!known || job.key != a.job_key[row]))
      add(problems, "alloc row {}: not an allocation of its job", row);
  }
  return problems;
}

namespace {

/// Each version is once in the chain of its job.
void check_version_chains(const JobTable& jobs, Problems& problems) {
  check_length("jobs", "older", jobs.older, jobs.versions.size(), problems);
  check_length("jobs", "newest", jobs.newest, jobs.keys.size(), problems);
  if (!problems.empty()) return;
  std::size_t on_chains = 0, versions = 0;
  for (VersionRow row = 0; row < jobs.versions.size(); ++row) versions += jobs.versions[row] != nullptr;
  for (JobKeyRow key = 0; key < jobs.keys.size(); ++key)
    for (VersionRow row = jobs.newest[key]; row != kNoRow && on_chains <= versions; row = jobs.older[row]) {
      ++on_chains;
      if (!jobs.versions[row] || jobs.versions[row]->key != key)
        add(problems, "job key {}: its chain has version {}", key, row);
    }
  if (on_chains != versions) add(problems, "jobs: {} versions on chains of {}", on_chains, versions);
}

}  // namespace

Problems check_job_table(const Snapshot& state) {
  Problems problems;
  const JobTable& jobs = state.jobs;
  check_length("jobs", "stored", jobs.stored, jobs.versions.size(), problems);
  for (VersionRow row = 0; row < jobs.versions.size(); ++row) {
    if (!jobs.versions[row]) continue;  // removed
    const CompiledJob& job = *jobs.versions[row];
    if (job.key >= jobs.keys.size() || jobs.keys[job.key].job_id != job.job_id ||
        jobs.keys[job.key].job_namespace != job.job_namespace)
      add(problems, "job row {}: not of its key", row);
    if (job.groups.size() != job.spec->task_groups.size()) {
      add(problems, "job row {}: {} groups compiled of {}", row, job.groups.size(), job.spec->task_groups.size());
      continue;
    }
    for (std::size_t g = 0; g < job.groups.size(); ++g) {
      const CompiledGroup& group = job.groups[g];
      if (group.spec != &job.spec->task_groups[g]) add(problems, "job row {}: group {} is another's", row, g);
      if (state.text(group.name) != group.spec->name) add(problems, "job row {}: group {} is misnamed", row, g);
      if (group.shape_id >= state.allocs.shapes.size() || state.allocs.shapes[group.shape_id] != group.shape)
        add(problems, "job row {}: the shape of group {} is not interned", row, g);
      for (const ConstraintId id : group.constraints)
        if (id >= state.constraints.size() || !state.constraints[id])
          add(problems, "job row {}: constraint {} does not exist", row, id);
    }
    if (job.base_set >= state.base_sets.size() || !state.base_sets[job.base_set])
      add(problems, "job row {}: its base set does not exist", row);
  }
  check_version_chains(jobs, problems);
  if (!problems.empty()) return problems;
  std::size_t on_chains = 0;
  for (JobKeyRow row = 0; row < jobs.keys.size(); ++row) {
    const JobKey& key = jobs.keys[row];
    if (key.current != kNoRow && (key.current >= jobs.versions.size() || jobs.versions[key.current]->key != row))
      add(problems, "job key {}: its current version is another job's", row);
    for (AllocRow a = key.alloc_head; a != kNoRow; a = state.allocs.next_of_job[a]) {
      if (a >= state.allocs.size() || ++on_chains > state.allocs.size()) {
        add(problems, "job key {}: its chain does not end", row);
        return problems;
      }
      if (state.allocs.job_key[a] != row) add(problems, "job key {}: its chain holds another job's allocation", row);
    }
    // Following the ring from each key is quadratic in the number of namespaces that share an ID, which is small.
    std::size_t steps = 0;
    JobKeyRow other = key.next_same_id;
    for (; other != row && other < jobs.keys.size() && steps <= jobs.keys.size(); ++steps) {
      if (jobs.keys[other].job_id != key.job_id) add(problems, "job key {}: its ring has another ID", row);
      other = jobs.keys[other].next_same_id;
    }
    if (other != row) add(problems, "job key {}: its ring does not close", row);
  }
  std::size_t existing = 0;
  for (AllocRow a = 0; a < state.allocs.size(); ++a) existing += state.allocs.exists(a);
  if (on_chains != existing) add(problems, "jobs: {} allocations on chains of {}", on_chains, existing);
  return problems;
}

Problems check_eval_table(const Snapshot& state) {
  Problems problems;
  const EvalTable& e = state.evals;
  const std::size_t size = e.size();
  check_length("evals", "job_key", e.job_key, size, problems);
  check_length("evals", "priority", e.priority, size, problems);
  check_length("evals", "status", e.status, size, problems);
  check_length("evals", "create_index", e.create_index, size, problems);
  check_length("evals", "modify_index", e.modify_index, size, problems);
  check_length("evals", "packed", e.packed, size, problems);
  if (!problems.empty()) return problems;
  for (std::size_t row = 0; row < size; ++row) {
    const StoredEvalRow eval(static_cast<std::uint32_t>(row));
    if (!e.exists(eval)) continue;  // removed
    if (e.job_key[row] >= state.jobs.keys.size()) add(problems, "eval row {}: its job key does not exist", row);
    if (e.status[row] >= std::size(kEvalStatuses)) add(problems, "eval row {}: unknown status", row);
    if (e.packed[row].type >= std::size(kEvalTypes)) add(problems, "eval row {}: unknown type", row);
  }
  return problems;
}

Problems check_deployment_table(const Snapshot& state) {
  Problems problems;
  const DeploymentTable& d = state.deployments;
  const std::size_t size = d.size();
  check_length("deployments", "job_key", d.job_key, size, problems);
  check_length("deployments", "job_version", d.job_version, size, problems);
  check_length("deployments", "create_index", d.create_index, size, problems);
  check_length("deployments", "active", d.active, size, problems);
  check_length("deployments", "object", d.object, size, problems);
  if (!problems.empty()) return problems;
  for (std::size_t row = 0; row < size; ++row) {
    if (!d.object[row] && d.job_key[row] == kNoRow) continue;  // removed
    if (d.job_key[row] >= state.jobs.keys.size()) add(problems, "deployment row {}: its job key does not exist", row);
    if (!d.object[row])
      add(problems, "deployment row {}: no object", row);
    else if (d.object[row]->job_version != d.job_version[row])
      add(problems, "deployment row {}: columns and object differ", row);
  }
  return problems;
}

Problems check_tables(const Snapshot& state) {
  Problems all;
  for (auto* check : {check_alloc_table, check_node_table, check_job_table, check_eval_table, check_deployment_table}) {
    Problems some = check(state);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    if (!all.empty()) return all;  // later checks follow links that earlier ones verified
  }
  return all;
}

Problems check_writer_columns(const StateStore& store) {
  Problems problems;
  const Snapshot& state = store.current();
  const WriterColumns& writer = store.writer_columns();
  check_length("writer", "prev_on_node", writer.prev_on_node, state.allocs.size(), problems);
  check_length("writer", "priorities", writer.priorities, state.nodes.eviction.size(), problems);
  if (!problems.empty()) return problems;
  for (NodeRow node = 0; node < state.nodes.size(); ++node) {
    const NodeUse& use = state.nodes.use[node];
    for (const AllocRow head : {use.alloc_head, use.ended_head}) {
      AllocRow previous = kNoRow;
      for (AllocRow row = head; row != kNoRow; previous = row, row = state.allocs.next_on_node[row])
        if (writer.prev_on_node[row] != previous)
          add(problems, "alloc row {}: its predecessor on the node is wrong", row);
    }
    if (writer.priorities.size() != 0) check_priorities(store, node, problems);
  }
  return problems;
}

Problems check_tables(const StateStore& store) {
  Problems problems = check_tables(store.current());
  return problems.empty() ? check_writer_columns(store) : problems;
}

}  // namespace berth::tables
