#include "tables/state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "base/wrap.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "tables/commit.h"
#include "tables/irregular.h"
#include "tables/kinds.h"
#include "tables/whole_row.h"

namespace berth::tables {
namespace {

constexpr std::size_t kLeastUseLog = 1024;
constexpr std::size_t kLeastEndedLog = 1024;
constexpr std::size_t kLeastReadyLog = 64;  ///< a reader that is further behind visits all nodes

bool holds_any(const ResourceShape& shape, const HeldPorts&) { return shape.ports; }
bool holds_any(const ResourceShape& shape, const HeldCores&) { return !shape.cores.empty(); }
bool holds_any(const ResourceShape& shape, const HeldDevices&) { return shape.devices; }

/// What the other allocations on the node of `row` hold; `unlisted` if it cannot express that.
template <class Held, class... Of>
Held held_by_others(const Snapshot& state, AllocRow row, const Of&... of) {
  Held out;
  for (AllocRow other = state.nodes.use[state.allocs.node[row]].alloc_head; other != kNoRow && !out.unlisted;
       other = state.allocs.next_on_node[other])
    if (other != row && holds_any(state.allocs.shape_of(other), out)) out.add(state.allocs.shape_of(other), of...);
  return out;
}

}  // namespace

StateStore::StateStore()
    : alloc_rows_(current_.allocs.id), deployment_rows_(current_.deployments.id), eval_rows_(current_.evals.id) {
  current_.symbols = &symbols_;
  current_.nodes.fixed = Ref<NodeStatic>(new NodeStatic());
  current_.nodes.fixed->by_id = std::make_shared<std::vector<NodeRow>>();
  current_.nodes.fixed->use_log = std::make_shared<RowLog>(kLeastUseLog, 0);
  current_.nodes.fixed->ended_log = std::make_shared<RowLog>(kLeastEndedLog, 0);
  current_.nodes.fixed->ready_log = std::make_shared<RowLog>(kLeastReadyLog, 0);
  current_.cold = std::make_shared<ColdState>();
  for (const KeyKind kind :
       {KeyKind::datacenter, KeyKind::pool, KeyKind::node_class, KeyKind::computed_class, KeyKind::name})
    column_for(kind, "");
}

SnapshotRef StateStore::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!published_) published_ = std::make_shared<const Snapshot>(current_);
  return SnapshotRef(published_);
}

Commit StateStore::begin_commit(std::uint64_t index) { return Commit(*this, index); }

// ---------------------------------------------------------------- jobs

JobKeyRow StateStore::find_job_key(std::string_view job_namespace, std::string_view job_id) const {
  const Symbol ns = symbols_.find(job_namespace), id = symbols_.find(job_id);
  if (ns == SymbolTable::kUnknown || id == SymbolTable::kUnknown) return kNoRow;
  const auto found = job_keys_.find(key_pair(ns, id));
  return found == job_keys_.end() ? kNoRow : found->second;
}

JobKeyRow StateStore::key_row(std::string_view job_namespace, std::string_view job_id,
                              const std::shared_ptr<const model::Job>& object) {
  if (const JobKeyRow known = find_job_key(job_namespace, job_id); known != kNoRow) return known;
  const Symbol ns = symbols_.intern(job_namespace), id = symbols_.intern_use(job_id);
  JobKeyRow row = take_row(&RowLists::keys);
  if (row == kNoRow) {
    row = static_cast<JobKeyRow>(current_.jobs.keys.size());
    current_.jobs.keys.push_back({});
    note_key(row);
    current_.jobs.objects.push_back(object);
    current_.jobs.newest.push_back(kNoRow);
    if (history_) history_->jobs.emplace_back();
  }
  JobKey key{ns, id, kNoRow, kNoRow, kNoRow, row};
  key.changes = current_.jobs.keys[row].changes;  // also counts those of the row's former job
  if (const auto same = same_id_.find(id); same != same_id_.end()) {
    JobKey& other = edit_key(same->second);
    key.next_same_id = other.next_same_id;
    other.next_same_id = row;
  } else {
    same_id_.emplace(id, row);
  }
  edit_key(row) = key;
  const bool is_new = job_keys_.emplace(key_pair(ns, id), row).second;
  BERTH_ASSERT(is_new);
  return row;
}

std::uint32_t StateStore::base_set_id(const model::Job& job) {
  std::string content;
  for (const std::string& pattern : job.datacenters) base::append_sized(content, pattern);
  content += job.node_pool;
  const auto [id, added] = shared_.base_sets.find_or_add(std::move(content));
  if (!added) return id;
  std::shared_ptr<const BaseSet> set = list_ready({job.datacenters, job.node_pool}, ++numbers_);
  auto& sets = current_.base_sets;
  if (id == sets.size())
    sets.push_back(std::move(set));
  else
    sets.edit(id) = std::move(set);
  return id;
}

std::shared_ptr<const BaseSet> StateStore::list_ready(const BaseSetKey& key, std::uint64_t number) const {
  auto out = std::make_shared<BaseSet>();
  out->number = number;
  out->key = key;
  if (current_.nodes.size() == 0) return out;
  auto ready = std::make_shared<ReadyNodes>();
  ready->follow(current_.nodes, symbols_, key);
  out->ready = std::move(ready);
  return out;
}

VersionRow StateStore::job_row(const std::shared_ptr<const model::Job>& job, bool current, bool stored) {
  VersionRow row;
  if (const auto found = job_rows_.find(job.get()); found != job_rows_.end()) {
    row = found->second;
  } else {
    const std::shared_ptr<const CompiledJob> compiled = compile(job, current);
    row = take_row(&RowLists::versions);
    if (row == kNoRow) {
      row = static_cast<VersionRow>(current_.jobs.versions.size());
      // Append it with its value: editing it while a view exists would copy its chunk, up to 256 reference counts.
      current_.jobs.versions.push_back(compiled);
      current_.jobs.stored.push_back(stored);
      current_.jobs.older.push_back(kNoRow);
      if (history_) history_->version_refs.push_back(0);
    } else {
      BERTH_ASSERT(!current_.jobs.versions[row]);  // a row is reused once its version is destroyed
      current_.jobs.versions.edit(row) = compiled;
    }
    VersionRow& newest = current_.jobs.newest.edit(compiled->key);
    current_.jobs.older.edit(row) = std::exchange(newest, row);
    if (history_) ++history_->jobs[compiled->key].versions, count_parts(*compiled, true);
    job_rows_.emplace(job.get(), row);
    if (!job->task_groups.empty()) group_lists_[job->task_groups.list().data()] = row;
  }
  if (stored && !current_.jobs.stored[row]) current_.jobs.stored.edit(row) = 1;
  if (current) {
    const JobKeyRow key = current_.jobs.versions[row]->key;
    const VersionRow before = std::exchange(edit_key(key).current, row);
    set_object(key, job);
    if (before != kNoRow && before != row) give_up_version(before);
  }
  return row;
}

void StateStore::set_object(JobKeyRow key, std::shared_ptr<const model::Job> job) {
  if (current_.jobs.objects[key] == job) return;
  std::shared_ptr<const model::Job> before = std::exchange(current_.jobs.objects.edit(key), std::move(job));
  if (!before) return;
  const auto row = job_rows_.find(before.get());
  if (row != job_rows_.end() && current_.jobs.versions[row->second]->spec != before)
    keep_alias(row->second, std::move(before));
}

/// Adds a further object of the version, so that its address stays unique. Drops objects without other owners.
void StateStore::keep_alias(VersionRow row, std::shared_ptr<const model::Job> job) {
  if (job.use_count() == 1 && !job_aliases_.contains(row)) {  // the usual case
    job_rows_.erase(job.get());
    return;
  }
  BERTH_ASSERT(current_.jobs.versions[row]);
  auto& aliases = job_aliases_[row];
  aliases.push_back(std::move(job));
  std::erase_if(aliases, [&](const std::shared_ptr<const model::Job>& alias) {
    if (alias.use_count() != 1) return false;  // other owners may still use it to name the version
    job_rows_.erase(alias.get());
    return true;
  });
  if (aliases.empty()) job_aliases_.erase(row);
}

// ---------------------------------------------------------------- allocations

ShapeId StateStore::shape_id(const std::shared_ptr<const ResourceShape>& shape) {
  if (const auto found = shape_ids_.find(shape.get()); found != shape_ids_.end()) return found->second;
  ShapeId id;
  if (history_ && !history_->free_shapes.empty()) {
    id = history_->free_shapes.back();
    history_->free_shapes.pop_back();
    BERTH_ASSERT(!current_.allocs.shapes[id] && history_->shape_refs[id] == 0);
    current_.allocs.shapes.edit(id) = shape;
  } else {
    id = static_cast<ShapeId>(current_.allocs.shapes.size());
    current_.allocs.shapes.push_back(shape);
    if (history_) history_->shape_refs.push_back(0);
  }
  current_.allocs.port_count_max = std::max(current_.allocs.port_count_max, shape->port_count);
  shape_ids_.emplace(shape.get(), id);
  return id;
}

/// kNoPriority if the job is unknown.
std::int32_t StateStore::priority_of(VersionRow job) const {
  if (job == kNoRow) return kNoPriority;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(current_.jobs.versions[job]->priority, -kNoPriority, kNoPriority - 1));
}

void StateStore::add_priority(NodeUse& use, std::int32_t priority) {
  use.most_priority = std::max(use.most_priority, priority);
  if (priority == kNoPriority) return;
  if (priority < use.least_priority) use.least_priority = priority, use.least_count = 0;
  if (priority == use.least_priority) ++use.least_count;
}

/// Adds or removes the allocation in `holders`, their number on its node, and in `column`, the set of what they hold. A
/// set that could not express all of them (`unlisted`, for example while an evicted allocation and its successor hold
/// the same) is built again when one leaves: O(allocations of the node).
template <class Held, class... Of>
void StateStore::count_held(CowVector<Held, kWideChunk>& column, std::uint32_t& holders, AllocRow row, int sign,
                            const Of&... of) {
  BERTH_ASSERT(sign > 0 || holders > 0);
  holders += static_cast<std::uint32_t>(sign);
  if (column.empty()) column.resize(current_.nodes.size());
  Held& held = column.edit(current_.allocs.node[row]);
  const ResourceShape& shape = current_.allocs.shape_of(row);
  if (sign > 0)
    held.add(shape, of...);
  else if (holders == 0)
    held = {};
  else if (!held.unlisted)
    held.remove(shape, of...);
  else
    held = held_by_others<Held>(current_, row, of...);
}

void StateStore::set_irregular(NodeUse& use, std::uint32_t bit, bool on) {
  if (((use.irregular & bit) != 0) == on) return;
  use.irregular ^= bit;
  BERTH_ASSERT(bit != kPortsCollide || on || current_.nodes.nodes_with_port_conflict > 0);
  if (bit == kPortsCollide) current_.nodes.nodes_with_port_conflict += on ? 1 : -1U;
}

/// An allocation that starts cannot end a collision, one that ends cannot begin one. So usually nothing is compared, or
/// only the ports of the one that starts with those that were held.
void StateStore::count_ports(NodeUse& use, AllocRow row, int sign) {
  count_held(current_.nodes.ports, use.port_allocs, row, sign);
  if (const bool collide = (use.irregular & kPortsCollide) != 0; collide == (sign > 0)) return;
  const std::size_t added = current_.allocs.shape_of(row).plain().size();  // its ports are the last ones in the list
  set_irregular(use, kPortsCollide,
                sign > 0 ? have_ports_collided(current_.allocs.node[row], kNoRow, added)
                         : have_ports_collided(current_.allocs.node[row], row));
}

/// ports_collide(), by the list of held ports if that is usable; of these only the last `unchecked` may collide.
bool StateStore::have_ports_collided(NodeRow node, AllocRow without, std::size_t unchecked) {
  const HeldPorts* const held = current_.nodes.held_ports(node);
  if (!held) return ports_collide(current_, node, without, network_index_);
  const network::NodePorts& ports = current_.nodes.spec(node).ports;
  const std::size_t last = std::min(unchecked, held->ports().size());
  return ports.host_without_address ||
         network::NetworkIndex::collide(ports, held->address(), held->ports().first(held->ports().size() - last),
                                        held->ports().last(last));
}

/// cores_irregular(), by the set of held cores if that is usable.
bool StateStore::has_irregular_cores(NodeRow node, AllocRow without) const {
  const HeldCores* const held = current_.nodes.held_cores(node);
  const CoreTable& table = current_.nodes.spec(node).core_table;
  return held && table.is_exact ? table.exceeded_by(held->word) : cores_irregular(current_, node, without);
}

void StateStore::count_use(NodeUse& use, AllocRow row, int sign) {
  const AllocTable& a = current_.allocs;
  const ResourceShape& shape = a.shape_of(row);
  const VersionRow job = a.job[row];
  use.cpu_mhz = base::wrap_add(use.cpu_mhz, base::wrap_mul(sign, shape.cpu_mhz));
  use.memory_mb = base::wrap_add(use.memory_mb, base::wrap_mul(sign, shape.memory_mb));
  use.disk_mb = base::wrap_add(use.disk_mb, base::wrap_mul(sign, shape.disk_mb));
  const auto step = static_cast<std::uint32_t>(sign);
  BERTH_ASSERT(sign > 0 || use.alloc_count > 0);
  use.alloc_count += step;
  if (shape.ports) count_ports(use, row, sign);
  if (shape.devices)
    count_held(current_.nodes.devices, use.device_allocs, row, sign, current_.nodes.spec(a.node[row]).devices);
  if (!shape.cores.empty()) {
    count_held(current_.nodes.cores, use.core_allocs, row, sign);
    set_irregular(use, kCoresIrregular, has_irregular_cores(a.node[row], sign < 0 ? row : kNoRow));
  }
  if ((sign > 0 || use.sole_claims > 0) && claims_alone(job, a.group[row])) use.sole_claims += step;
  // Only holders of ports, devices and cores are counted apart, each among the node's allocations.
  BERTH_ASSERT(std::max({use.port_allocs, use.device_allocs, use.core_allocs}) <= use.alloc_count);
  if (shape.ports || !shape.cores.empty()) current_.nodes.port_or_core_allocs += step;

  const std::int32_t priority = priority_of(job);
  PriorityCounts* counts = nullptr;
  if (writer_.priorities.size() != 0) {
    counts = &writer_.priorities[a.node[row]];
    sign > 0 ? counts->add(priority) : counts->remove(priority);
  }
  if (sign > 0)
    add_priority(use, priority);
  else if (job != kNoRow && priority == use.least_priority && --use.least_count == 0)
    find_priorities(use, row, counts);
  if (!current_.nodes.eviction.empty() || use.least_priority < use.most_priority || may_rank_victims())
    count_eviction(use, row, sign);
}

/// Called when the last allocation of the lowest priority leaves the node. The highest priority is only a bound: it is
/// searched again only together with the lowest one.
void StateStore::find_priorities(NodeUse& use, AllocRow leaving, PriorityCounts* counts) {
  if (counts && counts->listed()) {
    const PriorityCounts::Count least = counts->least();
    use.least_priority = least.priority, use.least_count = least.allocs, use.most_priority = counts->most();
    return;
  }
  const AllocTable& a = current_.allocs;
  use.least_priority = kNoPriority, use.most_priority = -kNoPriority;
  if (counts) *counts = {};
  for (AllocRow other = use.alloc_head; other != kNoRow; other = a.next_on_node[other]) {
    if (other == leaving) continue;
    const std::int32_t priority = priority_of(a.job[other]);
    add_priority(use, priority);
    if (counts) counts->add(priority);
  }
}

bool StateStore::may_rank_victims() const {
  const auto& config = current_.cold->scheduler_config;
  return config &&
         (config->preemption_config.service_scheduler_enabled || config->preemption_config.batch_scheduler_enabled);
}

EvictionLevels StateStore::eviction_levels(const NodeUse& use, AllocRow without) const {
  const AllocTable& a = current_.allocs;
  EvictionLevels out;
  for (AllocRow row = use.alloc_head; row != kNoRow; row = a.next_on_node[row]) {
    if (row == without || a.job[row] == kNoRow) continue;
    const ResourceShape& shape = a.shape_of(row);
    out.add(priority_of(a.job[row]), {shape.cpu_mhz, shape.memory_mb, shape.disk_mb});
  }
  return out;
}

void StateStore::keep_eviction(AllocRow without) {
  const AllocTable& a = current_.allocs;
  for (NodeRow node = 0; node < current_.nodes.size(); ++node) {
    const NodeUse& use = current_.nodes.use[node];
    current_.nodes.eviction.push_back(eviction_levels(use, without));
    PriorityCounts counts;
    for (AllocRow row = use.alloc_head; row != kNoRow; row = a.next_on_node[row])
      if (row != without) counts.add(priority_of(a.job[row]));
    writer_.priorities.push_back(counts);
  }
}

void StateStore::count_eviction(const NodeUse& use, AllocRow row, int sign) {
  const AllocTable& a = current_.allocs;
  CowVector<EvictionLevels, kWideChunk>& eviction = current_.nodes.eviction;
  const AllocRow leaving = sign < 0 ? row : kNoRow;
  if (eviction.empty()) return keep_eviction(leaving);
  if (a.job[row] == kNoRow) return;
  const ResourceShape& shape = a.shape_of(row);
  const Amounts held{shape.cpu_mhz, shape.memory_mb, shape.disk_mb};
  EvictionLevels& levels = eviction.edit(a.node[row]);
  if (sign > 0)
    levels.add(priority_of(a.job[row]), held);
  else if (!levels.remove(priority_of(a.job[row]), held))
    levels = eviction_levels(use, leaving);
}

/// Puts the row at the head of the node's chain of live or of ended allocations.
void StateStore::link_on_node(NodeUse& use, AllocRow row, bool ended) {
  AllocTable& a = current_.allocs;
  AllocRow& head = ended ? use.ended_head : use.alloc_head;
  BERTH_ASSERT(head != row);  // a list that led back to itself would never end
  BERTH_ASSERT(head == kNoRow || writer_.prev_on_node[head] == kNoRow);
  a.next_on_node.edit(row) = head;
  writer_.prev_on_node[row] = kNoRow;
  if (head != kNoRow) writer_.prev_on_node[head] = row;
  head = row;
}

void StateStore::unlink_on_node(NodeUse& use, AllocRow row) {
  AllocTable& a = current_.allocs;
  const AllocRow next = a.next_on_node[row], prev = writer_.prev_on_node[row];
  // Both neighbours point back to it: it is in one list, once.
  BERTH_ASSERT(next == kNoRow || writer_.prev_on_node[next] == row);
  BERTH_ASSERT(prev == kNoRow || a.next_on_node[prev] == row);
  if (next != kNoRow) writer_.prev_on_node[next] = prev;
  if (prev != kNoRow)
    a.next_on_node.edit(prev) = next;
  else if (use.alloc_head == row)
    use.alloc_head = next;
  else {
    BERTH_ASSERT(use.ended_head == row);  // the first of one of the node's two lists
    use.ended_head = next;
  }
}

bool StateStore::claims_alone(VersionRow job, Symbol group) const {
  if (job == kNoRow) return false;
  for (const CompiledGroup& g : current_.jobs.versions[job]->groups)
    if (g.name == group) return g.claims_alone;
  return false;
}

AllocRow StateStore::append_alloc(const NewAlloc& alloc, const AllocLinks& links,
                                  std::shared_ptr<const model::Allocation> cold) {
  AllocTable& a = current_.allocs;
  const AllocRow again = take_row(&RowLists::allocs);
  const AllocRow row = again == kNoRow ? static_cast<AllocRow>(a.size()) : again;
  BERTH_ASSERT(again == kNoRow || !a.exists(again));  // a row is reused once it is free
  BERTH_ASSERT(alloc.key < current_.jobs.keys.size() && alloc.shape_id < a.shapes.size());
  const auto put = [&](auto& column, auto value) {
    if (again == kNoRow)
      column.push_back(std::move(value));
    else
      column.edit(row) = std::move(value);
  };
  std::shared_ptr<const model::Allocation> object = std::move(cold);
  DeploymentRow deployment = links.deployment;
  if (history_) {
    if (again == kNoRow) history_->allocs.emplace_back();
    history_->allocs[row] = {};
    put(a.stamp, object ? AllocStamp{object->modify_time, object->create_time, kNoRow}
                        : AllocStamp{alloc.modify_time, alloc.modify_time, kNoRow});
    if (object) deployment = find_deployment(object->deployment_id);
  }
  put(a.id, alloc.id);
  put(a.node, alloc.node);
  put(a.job, alloc.job);
  put(a.job_key, alloc.key);
  put(a.group, alloc.group);
  put(a.name_index, alloc.name_index);
  put(a.desired, alloc.desired);
  put(a.client, alloc.client);
  put(a.shape, alloc.shape_id);
  put(a.create_index, alloc.create_index);
  put(a.modify_index, alloc.modify_index);
  put(a.links, AllocLink(links));
  const bool has_relations = links.previous != kNoRow || links.next != kNoRow || links.preempted_by != kNoRow;
  if (again != kNoRow || has_relations) a.relations.set(row, links);
  if (a.has_report(row)) a.clear_report(row);
  if (a.metrics_of(row)) a.details.edit(row) = nullptr;
  if (a.rest[row]) a.rest.set(row, nullptr);
  if (again != kNoRow || object) a.cold.set(row, std::move(object));
  if (again == kNoRow) writer_.prev_on_node.resize(row + std::size_t{1});
  writer_.prev_on_node[row] = kNoRow;
  if (alloc.node != kNoRow) {
    NodeUse& use = current_.nodes.use.edit(alloc.node);
    const bool ended = client_terminal(alloc.client);
    AllocRow& head = ended ? use.ended_head : use.alloc_head;
    put(a.next_on_node, head);
    if (head != kNoRow) writer_.prev_on_node[head] = row;
    head = row;
    if (!ended) {
      count_use(use, row, 1);
      refresh_free(alloc.node, use);
    } else {
      note_ended(alloc.node);
    }
  } else {
    put(a.next_on_node, kNoRow);
  }
  JobKey& job_key = edit_key(alloc.key);
  const AllocRow older = std::exchange(job_key.alloc_head, row);
  put(a.next_of_job, older);
  if (again != kNoRow) alloc_rows_.reused(row);
  if (history_) {
    if (older != kNoRow) history_->allocs[older].prev_of_job = row;
    move_refs(row, {}, alloc.eval, deployment);
  }
  return row;
}

AllocRow StateStore::find_alloc(base::Uuid id) {
  const AllocRow row = alloc_rows_.find(id);
  return row == kNoRow || !current_.allocs.exists(row) ? kNoRow : row;
}

AllocRow StateStore::find_alloc(std::string_view id) {
  const auto uuid = base::parse_uuid(id);
  return uuid ? find_alloc(*uuid) : kNoRow;
}

StoredEvalRow StateStore::find_eval(base::Uuid id) {
  if (id.is_nil()) return kNoRow;
  const StoredEvalRow row = eval_rows_.find(id);
  return row == kNoRow || !current_.evals.exists(row) ? kNoRow : row;
}

StoredEvalRow StateStore::find_eval(std::string_view id) {
  return find_eval(base::parse_uuid(id).value_or(base::Uuid{}));
}

DeploymentRow StateStore::find_deployment(base::Uuid id) {
  if (id.is_nil()) return kNoRow;
  const DeploymentRow row = deployment_rows_.find(id);
  return row == kNoRow || !current_.deployments.object[row] ? kNoRow : row;
}

DeploymentRow StateStore::find_deployment(std::string_view id) {
  return find_deployment(base::parse_uuid(id).value_or(base::Uuid{}));
}

// ---------------------------------------------------------------- loading and commits of one change

namespace {

std::shared_ptr<const ColdState> cold_state_of(const model::ClusterState& state) {
  auto cold = std::make_shared<ColdState>();
  cold->scheduler_config = state.scheduler_config;
  cold->node_pools = state.node_pools;
  cold->namespaces = state.namespaces;
  cold->host_volumes = state.host_volumes;
  cold->csi_volumes = state.csi_volumes;
  cold->csi_plugins = state.csi_plugins;
  return cold;
}

/// Rows of allocations that replace others or are replaced, with their API objects.
using Related = std::vector<std::pair<AllocRow, const model::Allocation*>>;

/// Sets their relations. One that is related to an allocation that is not stored keeps its API object instead.
void set_relations(StateStore& store, Commit& commit, const Related& related) {
  for (const auto& [row, alloc] : related) {
    AllocLinks links = store.current().allocs.links_of(row);
    const bool is_whole = relate(store, *alloc, links);
    commit.set_links(row, is_whole ? links : AllocLinks());
    if (!is_whole) commit.replace_alloc(row, std::make_shared<const model::Allocation>(*alloc));
  }
}

}  // namespace

void StateStore::load(const model::ClusterState& state) {
  Commit commit = begin_commit();
  commit.touch();
  const bool keeps = history_ != nullptr;
  history_.reset();  // it is rebuilt from the tables afterwards, because input is not in dependency order
  current_.cold = cold_state_of(state);
  for (const model::Node& node : state.nodes) {
    const auto id = base::parse_uuid(node.id);
    if (!id) continue;  // cannot be stored (R-MODEL-590)
    const NodeRow known = find_node(*id);
    fill_node(known == kNoRow ? new_node_row(*id) : known, make_spec(node, false), nullptr);
    current_.nodes.index = std::max(current_.nodes.index, node.modify_index);
  }
  sort_rows();
  for (const auto& job : state.job_versions) job_row(job, false, true);
  for (const auto& job : state.jobs) job_row(job, true, false);
  for (const model::Deployment& deployment : state.deployments) commit.upsert_deployment(deployment);
  for (const model::Evaluation& eval : state.evals) commit.upsert_eval(eval);
  AllocTable& a = current_.allocs;
  Related related;
  for (const model::Allocation& alloc : state.allocs) {
    a.index = std::max(a.index, alloc.modify_index);
    const VersionRow job = alloc.job && keeps ? job_row(alloc.job, false, false) : kNoRow;
    const auto whole = keeps ? whole_row(*this, alloc, job) : std::nullopt;
    if (!whole) {
      commit.insert_alloc(alloc);
      continue;
    }
    const AllocRow row = commit.note_alloc(
        append_alloc({whole->id, whole->node, job, whole->key, whole->group, whole->name_index, whole->desired,
                      whole->client, shape_id(whole->shape), alloc.create_index, alloc.modify_index},
                     whole->links, nullptr));
    a.stamp.resize(row + std::size_t{1});
    a.stamp.edit(row) = whole->stamp;
    if (whole->report) a.set_report(row, *whole->report);
    if (whole->metrics) commit.set_metrics(row, whole->metrics);
    if (whole->rest) a.rest.set(row, whole->rest);
    if (!alloc.previous_allocation.empty() || !alloc.next_allocation.empty()) related.emplace_back(row, &alloc);
  }
  set_relations(*this, commit, related);  // now that all are stored
  for (const model::HostVolumeClaim& claim : state.host_volume_claims)
    commit.edit_claims(key_row(claim.namespace_, claim.job_id))
        .push_back(std::make_shared<const model::HostVolumeClaim>(claim));
  commit.set_index(state.index);
  if (keeps) rebuild_history();
}

void StateStore::set_scheduler_config(std::optional<model::SchedulerConfiguration> config) {
  begin_commit().set_scheduler_config(std::move(config));
}
VersionRow StateStore::upsert_job(const std::shared_ptr<const model::Job>& job, bool current) {
  return begin_commit().upsert_job(job, current);
}
AllocRow StateStore::insert_plain(const PlainAlloc& alloc, std::uint64_t index) {
  return begin_commit(index).insert_plain(alloc);
}
void StateStore::set_index(std::uint64_t index) { begin_commit().set_index(index); }
void StateStore::set_node_state(NodeRow row, NodeStatus status, bool eligible, bool draining, std::uint64_t index) {
  begin_commit(index).set_node_state(row, status, eligible, draining);
}
void StateStore::set_client_status(AllocRow row, Client status, std::uint64_t index) {
  begin_commit(index).set_client_status(row, status);
}
JobKeyRow StateStore::job_key(std::string_view job_namespace, std::string_view job_id) {
  return begin_commit().job_key(job_namespace, job_id);
}

std::size_t StateStore::bytes() const {
  const NodeTable& n = current_.nodes;
  const AllocTable& a = current_.allocs;
  std::size_t out = n.state.bytes() + n.use.bytes() + n.ports.bytes() + n.cores.bytes() + n.devices.bytes() +
                    n.eviction.bytes() + writer_.priorities.bytes() + n.fixed->id.bytes() + n.fixed->spec.bytes() +
                    n.fixed->capacity.bytes() + n.fixed->port_profile.bytes() + n.free.bytes() +
                    n.fixed->by_id->capacity() * sizeof(NodeRow);
  for (const KeyedColumn& column : n.fixed->columns) out += column.codes.bytes() + column.values.bytes();
  out += a.id.bytes() + a.node.bytes() + a.job.bytes() + a.job_key.bytes() + a.group.bytes() + a.name_index.bytes() +
         a.desired.bytes() + a.client.bytes() + a.shape.bytes() + a.next_on_node.bytes() +
         writer_.prev_on_node.bytes() + a.next_of_job.bytes() + a.create_index.bytes() + a.modify_index.bytes() +
         a.cold.bytes() + a.links.bytes() + a.relations.bytes() + a.stamp.bytes() + a.reported.bytes() +
         a.reported_more.bytes() + a.rest.bytes() + a.details.bytes() + a.shapes.bytes();
  out += node_rows_.bucket_count() * 32 + alloc_rows_.bytes() + symbols_.bytes();
  for (const auto& codes : codes_) out += codes.bucket_count() * 12;
  if (history_) out += history_->allocs.bytes();
  return out;
}

}  // namespace berth::tables
