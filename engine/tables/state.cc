#include "tables/state.h"

#include <algorithm>

#include "base/text.h"
#include "model/node_canonical.h"

namespace berth::tables {
namespace {

constexpr std::uint64_t pair(std::uint32_t high, std::uint32_t low) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

std::uint8_t state_bits(NodeStatus status, bool eligible, bool draining) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(status) | (eligible ? kEligible : 0u) |
                                   (draining ? kDraining : 0u));
}

}  // namespace

StateStore::StateStore() {
  current_.symbols = &symbols_;
  current_.nodes.fixed = Ref<NodeStatic>(new NodeStatic());
  current_.nodes.fixed->by_id = std::make_shared<std::vector<NodeRow>>();
  current_.cold = std::make_shared<ColdState>();
  for (const KeyKind kind :
       {KeyKind::datacenter, KeyKind::pool, KeyKind::node_class, KeyKind::computed_class, KeyKind::name})
    column_for(kind, "");
}

Snapshot StateStore::snapshot() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

// ---------------------------------------------------------------- nodes

NodeStatic& StateStore::own_static() {
  Ref<NodeStatic>& fixed = current_.nodes.fixed;
  if (!fixed.unique()) fixed = Ref<NodeStatic>(new NodeStatic(*fixed));
  return *fixed;
}

ColumnId StateStore::column_for(KeyKind kind, std::string_view key) {
  const Symbol symbol = symbols_.intern(key);
  const std::uint64_t id = pair(static_cast<std::uint32_t>(kind), symbol);
  if (const auto found = column_ids_.find(id); found != column_ids_.end()) return found->second;
  NodeStatic& fixed = own_static();
  const auto column = static_cast<ColumnId>(fixed.columns.size());
  fixed.columns.push_back({kind, symbol, {}, {}});
  codes_.emplace_back();
  column_ids_.emplace(id, column);
  return column;
}

std::uint32_t StateStore::code_for(ColumnId column, std::string_view value) {
  const Symbol symbol = symbols_.intern(value);
  auto& codes = codes_[column];
  if (const auto found = codes.find(symbol); found != codes.end()) return found->second;
  KeyedColumn& c = own_static().columns[column];
  c.values.push_back(symbol);
  const auto code = static_cast<std::uint32_t>(c.values.size());
  codes.emplace(symbol, code);
  return code;
}

void StateStore::set_code(ColumnId column, NodeRow row, std::uint32_t code) {
  KeyedColumn& c = own_static().columns[column];
  if (row >= c.codes.size()) {
    if (code == 0) return;
    c.codes.resize(row + 1);
  }
  if (c.codes[row] != code) c.codes.edit(row) = code;
}

NodeRow StateStore::new_node_row(base::Uuid id) {
  const auto row = static_cast<NodeRow>(current_.nodes.size());
  NodeStatic& fixed = own_static();
  fixed.id.push_back(id);
  fixed.spec.push_back(nullptr);
  fixed.capacity.push_back({});
  current_.nodes.state.push_back(kGone);
  current_.nodes.use.push_back({});
  current_.nodes.fit.cpu_free.push_back(0);
  current_.nodes.fit.memory_free.push_back(0);
  current_.nodes.fit.disk_free.push_back(0);
  current_.nodes.fit.cpu_scale.push_back(0);
  current_.nodes.fit.memory_scale.push_back(0);
  node_rows_[id] = row;
  sorted_ = false;
  return row;
}

std::shared_ptr<const NodeSpec> StateStore::make_spec(const model::Node& node, bool shared) {
  auto spec = std::make_shared<NodeSpec>();
  spec->node = node;
  spec->shared = shared;
  if (const model::Topology* topology = model::topology_of(node)) {
    std::vector<std::pair<std::uint16_t, std::uint32_t>> cores;
    for (const model::Core& core : topology->cores)
      if (!core.disable) cores.emplace_back(core.id, static_cast<std::uint32_t>(model::core_speed_mhz(core)));
    std::sort(cores.begin(), cores.end());
    for (const auto& [id, speed] : cores) {
      spec->usable_core_ids.push_back(id);
      spec->core_speeds.push_back(speed);
      const auto reserved =
          node.reserved_resources ? node.reserved_resources->cpu.reserved_cpu_cores : std::vector<std::uint16_t>{};
      if (std::find(reserved.begin(), reserved.end(), id) == reserved.end()) spec->cores.push_back(id);
    }
  }
  return spec;
}

void StateStore::fill_node(NodeRow row, const std::shared_ptr<const NodeSpec>& spec, const NodeVariant* variant) {
  const model::Node& node = spec->node;
  set_code(
      kDatacenterColumn, row,
      code_for(kDatacenterColumn, variant && !variant->datacenter.empty() ? variant->datacenter : node.datacenter));
  set_code(kPoolColumn, row, code_for(kPoolColumn, node.node_pool));
  set_code(kClassColumn, row, code_for(kClassColumn, node.node_class));
  set_code(kComputedClassColumn, row, code_for(kComputedClassColumn, node.computed_class));
  set_code(kNameColumn, row, code_for(kNameColumn, variant ? variant->name : std::string_view(node.name)));
  for (ColumnId column = kFirstKeyColumn; column < current_.nodes.fixed->columns.size(); ++column)
    set_code(column, row, 0);
  for (const auto& [key, value] : node.attributes) {
    const ColumnId column = column_for(KeyKind::attribute, key);
    set_code(column, row, code_for(column, value));
  }
  for (const auto& [key, value] : node.meta) {
    const ColumnId column = column_for(KeyKind::meta, key);
    set_code(column, row, code_for(column, value));
  }
  if (variant) {
    for (const auto& [key, value] : variant->attributes) {
      const ColumnId column = column_for(KeyKind::attribute, key);
      set_code(column, row, code_for(column, value));
    }
    for (const auto& [key, value] : variant->meta) {
      const ColumnId column = column_for(KeyKind::meta, key);
      set_code(column, row, code_for(column, value));
    }
  }
  NodeStatic& fixed = own_static();
  fixed.spec.edit(row) = spec;
  NodeCapacity capacity;
  if (node.node_resources) {
    const model::NodeResources& r = *node.node_resources;
    const model::Topology* topology = model::topology_of(node);
    const auto cpu = static_cast<std::int64_t>(topology ? model::total_compute_mhz(*topology) : 0);
    std::int64_t reserved_cpu = 0, reserved_memory = 0, reserved_disk = 0;
    if (node.reserved_resources) {
      reserved_cpu = node.reserved_resources->cpu.cpu_shares;
      reserved_memory = node.reserved_resources->memory.memory_mb;
      reserved_disk = node.reserved_resources->disk.disk_mb;
    }
    capacity.cpu_mhz = cpu - reserved_cpu;
    capacity.memory_mb = r.memory.memory_mb - reserved_memory;
    capacity.disk_mb = r.disk.disk_mb - reserved_disk;
    capacity.cpu_score = static_cast<double>(cpu);
    capacity.memory_score = static_cast<double>(r.memory.memory_mb);
    if (node.reserved_resources) {
      capacity.cpu_score -= static_cast<double>(reserved_cpu);
      capacity.memory_score -= static_cast<double>(reserved_memory);
    }
  }
  capacity.max_allocs = static_cast<std::uint32_t>(node.node_max_allocs);
  capacity.class_code = current_.nodes.code(kClassColumn, row);
  capacity.computed_class_code = current_.nodes.code(kComputedClassColumn, row);
  capacity.has_cores = !spec->cores.empty();
  capacity.network_invalid = network_invalid(node);
  fixed.capacity.edit(row) = capacity;
  current_.nodes.state.edit(row) =
      state_bits(parse_node_status(node.status).value_or(NodeStatus::initializing),
                 node.scheduling_eligibility == "eligible", node.drain_strategy.has_value());
  refresh_fit(row);
  ++current_.nodes.epoch;
  ++current_.nodes.static_epoch;
}

void StateStore::refresh_fit(NodeRow row) {
  const NodeCapacity& capacity = current_.nodes.capacity(row);
  const NodeUse& use = current_.nodes.use[row];
  FitColumns& fit = current_.nodes.fit;
  fit.cpu_free.edit(row) = static_cast<float>(capacity.cpu_mhz - use.cpu_mhz);
  fit.memory_free.edit(row) = static_cast<float>(capacity.memory_mb - use.memory_mb);
  fit.disk_free.edit(row) = static_cast<float>(capacity.disk_mb - use.disk_mb);
  const float cpu_scale = capacity.cpu_score > 0 ? static_cast<float>(1.0 / capacity.cpu_score) : 0.0f;
  const float memory_scale = capacity.memory_score > 0 ? static_cast<float>(1.0 / capacity.memory_score) : 0.0f;
  if (fit.cpu_scale[row] != cpu_scale) fit.cpu_scale.edit(row) = cpu_scale;
  if (fit.memory_scale[row] != memory_scale) fit.memory_scale.edit(row) = memory_scale;
}

NodeRow StateStore::upsert_node(const model::Node& node) {
  const std::lock_guard lock(mutex_);
  const base::Uuid id = base::parse_uuid(node.id).value_or(base::Uuid{});
  const auto found = node_rows_.find(id);
  const NodeRow row = found == node_rows_.end() ? new_node_row(id) : found->second;
  fill_node(row, make_spec(node, false), nullptr);
  if (found == node_rows_.end()) {
    // One node at a time keeps the order by a sorted insert; bulk loading sorts once in sort_nodes().
    auto by_id = std::make_shared<std::vector<NodeRow>>(*current_.nodes.fixed->by_id);
    const auto at = std::lower_bound(by_id->begin(), by_id->end(), id,
                                     [&](NodeRow r, base::Uuid wanted) { return current_.nodes.id(r) < wanted; });
    by_id->insert(at, row);
    own_static().by_id = std::move(by_id);
  }
  return row;
}

NodeRow StateStore::add_variant(const std::shared_ptr<const NodeSpec>& spec, const NodeVariant& variant) {
  const NodeRow row = new_node_row(variant.id);
  fill_node(row, spec, &variant);
  return row;
}

void StateStore::sort_nodes() {
  const std::lock_guard lock(mutex_);
  auto by_id = std::make_shared<std::vector<NodeRow>>();
  by_id->reserve(current_.nodes.size());
  for (NodeRow row = 0; row < current_.nodes.size(); ++row)
    if (current_.nodes.exists(row)) by_id->push_back(row);
  std::sort(by_id->begin(), by_id->end(),
            [&](NodeRow a, NodeRow b) { return current_.nodes.id(a) < current_.nodes.id(b); });
  own_static().by_id = std::move(by_id);
  ++current_.nodes.epoch;
}

void StateStore::set_node_state(NodeRow row, NodeStatus status, bool eligible, bool draining) {
  const std::lock_guard lock(mutex_);
  current_.nodes.state.edit(row) = state_bits(status, eligible, draining);
  ++current_.nodes.epoch;
}

NodeRow StateStore::find_node(base::Uuid id) const {
  const auto found = node_rows_.find(id);
  return found == node_rows_.end() ? kNoRow : found->second;
}

// ---------------------------------------------------------------- jobs

JobKeyRow StateStore::find_job_key(std::string_view job_namespace, std::string_view job_id) const {
  const Symbol ns = symbols_.find(job_namespace), id = symbols_.find(job_id);
  if (ns == SymbolTable::kUnknown || id == SymbolTable::kUnknown) return kNoRow;
  const auto found = job_keys_.find(pair(ns, id));
  return found == job_keys_.end() ? kNoRow : found->second;
}

JobKeyRow StateStore::job_key(std::string_view job_namespace, std::string_view job_id) {
  const Symbol ns = symbols_.intern(job_namespace), id = symbols_.intern(job_id);
  if (const auto found = job_keys_.find(pair(ns, id)); found != job_keys_.end()) return found->second;
  const auto row = static_cast<JobKeyRow>(current_.jobs.keys.size());
  JobKey key{ns, id, kNoRow, kNoRow, row};
  if (const auto same = same_id_.find(id); same != same_id_.end()) {
    JobKey& other = current_.jobs.keys.edit(same->second);
    key.next_same_id = other.next_same_id;
    other.next_same_id = row;
  } else {
    same_id_.emplace(id, row);
  }
  current_.jobs.keys.push_back(key);
  job_keys_.emplace(pair(ns, id), row);
  return row;
}

std::uint32_t StateStore::base_set_id(const model::Job& job) {
  BaseSetKey key{job.datacenters, job.node_pool};
  for (std::uint32_t i = 0; i < base_sets_.size(); ++i)
    if (*base_sets_[i] == key) return i;
  base_sets_.push_back(std::make_shared<const BaseSetKey>(std::move(key)));
  current_.base_sets.push_back(base_sets_.back());
  return static_cast<std::uint32_t>(base_sets_.size() - 1);
}

JobRow StateStore::upsert_job(const std::shared_ptr<const model::Job>& job, bool current) {
  const std::lock_guard lock(mutex_);
  JobRow row;
  if (const auto found = job_rows_.find(job.get()); found != job_rows_.end()) {
    row = found->second;
  } else {
    auto compiled = compile(job);
    row = static_cast<JobRow>(current_.jobs.versions.size());
    current_.jobs.versions.push_back(std::move(compiled));
    job_rows_.emplace(job.get(), row);
  }
  if (current) current_.jobs.keys.edit(current_.jobs.versions[row]->key).current = row;
  return row;
}

// ---------------------------------------------------------------- allocations

ShapeId StateStore::shape_id(const std::shared_ptr<const ResourceShape>& shape) {
  if (const auto found = shape_ids_.find(shape.get()); found != shape_ids_.end()) return found->second;
  const auto id = static_cast<ShapeId>(current_.allocs.shapes.size());
  current_.allocs.shapes.push_back(shape);
  shape_ids_.emplace(shape.get(), id);
  return id;
}

void StateStore::add_use(NodeRow row, const ResourceShape& shape, int sign) {
  NodeUse& use = current_.nodes.use.edit(row);
  use.cpu_mhz += sign * shape.cpu_mhz;
  use.memory_mb += sign * shape.memory_mb;
  use.disk_mb += sign * shape.disk_mb;
  const auto step = static_cast<std::uint32_t>(sign);
  use.alloc_count += step;
  if (shape.ports) use.port_allocs += step;
  if (shape.devices) use.device_allocs += step;
  if (!shape.cores.empty()) use.core_allocs += step;
  refresh_fit(row);
}

AllocRow StateStore::append_alloc(base::Uuid id, NodeRow node, JobRow job, JobKeyRow key, Symbol group,
                                  std::uint32_t name_index, Desired desired, Client client, ShapeId shape,
                                  std::uint64_t create_index, std::uint64_t modify_index,
                                  std::shared_ptr<const model::Allocation> cold) {
  AllocTable& a = current_.allocs;
  const auto row = static_cast<AllocRow>(a.size());
  a.id.push_back(id);
  a.node.push_back(node);
  a.job.push_back(job);
  a.job_key.push_back(key);
  a.group.push_back(group);
  a.name_index.push_back(name_index);
  a.desired.push_back(desired);
  a.client.push_back(client);
  a.shape.push_back(shape);
  a.create_index.push_back(create_index);
  a.modify_index.push_back(modify_index);
  a.cold.push_back(std::move(cold));
  a.prev_on_node.push_back(kNoRow);
  if (node != kNoRow) {
    NodeUse& use = current_.nodes.use.edit(node);
    a.next_on_node.push_back(use.alloc_head);
    if (use.alloc_head != kNoRow) a.prev_on_node.edit(use.alloc_head) = row;
    use.alloc_head = row;
    if (!client_terminal(client)) add_use(node, *a.shapes[shape], 1);
  } else {
    a.next_on_node.push_back(kNoRow);
  }
  JobKey& job_key = current_.jobs.keys.edit(key);
  a.next_of_job.push_back(job_key.alloc_head);
  job_key.alloc_head = row;
  if (index_allocs_) alloc_rows_[id] = row;
  return row;
}

AllocRow StateStore::insert_plain(const PlainAlloc& alloc, std::uint64_t index) {
  const CompiledJob& job = *current_.jobs.versions[alloc.job];
  const CompiledGroup& group = job.groups[alloc.group];
  return append_alloc(alloc.id, alloc.node, alloc.job, job.key, group.name, alloc.name_index, Desired::run,
                      alloc.client, shape_id(alloc.shape ? alloc.shape : group.shape), index, index, alloc.cold);
}

AllocRow StateStore::insert_alloc(const model::Allocation& alloc) {
  JobRow job = kNoRow;
  if (alloc.job) job = upsert_job(alloc.job, false);
  const std::lock_guard lock(mutex_);
  const JobKeyRow key = job_key(alloc.namespace_, alloc.job_id);
  std::shared_ptr<const ResourceShape> shape;
  if (alloc.allocated_resources) {
    shape = make_shape(std::make_shared<const model::AllocatedResources>(*alloc.allocated_resources));
  } else {
    static const auto kNothing = std::make_shared<const ResourceShape>();
    shape = kNothing;
  }
  std::uint32_t name_index = kOddName;
  const std::string prefix = alloc.job_id + "." + alloc.task_group + "[";
  if (alloc.name.starts_with(prefix) && alloc.name.ends_with("]")) {
    const std::string_view digits =
        std::string_view(alloc.name).substr(prefix.size(), alloc.name.size() - prefix.size() - 1);
    const auto value = base::parse_uint64(digits);
    if (value && *value < kOddName && std::to_string(*value) == digits) name_index = static_cast<std::uint32_t>(*value);
  }
  const NodeRow node = find_node(base::parse_uuid(alloc.node_id).value_or(base::Uuid{}));
  return append_alloc(base::parse_uuid(alloc.id).value_or(base::Uuid{}), node, job, key,
                      symbols_.intern(alloc.task_group), name_index,
                      parse_desired(alloc.desired_status).value_or(Desired::run),
                      parse_client(alloc.client_status).value_or(Client::pending), shape_id(shape), alloc.create_index,
                      alloc.modify_index, std::make_shared<const model::Allocation>(alloc));
}

void StateStore::set_client_status(AllocRow row, Client status, std::uint64_t index) {
  const std::lock_guard lock(mutex_);
  AllocTable& a = current_.allocs;
  const bool before = client_terminal(a.client[row]), after = client_terminal(status);
  a.client.edit(row) = status;
  a.modify_index.edit(row) = index;
  if (before != after && a.node[row] != kNoRow) add_use(a.node[row], a.shape_of(row), after ? -1 : 1);
  current_.index = std::max(current_.index, index);
}

void StateStore::set_desired_status(AllocRow row, Desired status, std::uint64_t index) {
  const std::lock_guard lock(mutex_);
  current_.allocs.desired.edit(row) = status;
  current_.allocs.modify_index.edit(row) = index;
  current_.index = std::max(current_.index, index);
}

AllocRow StateStore::find_alloc(base::Uuid id) const {
  const auto found = alloc_rows_.find(id);
  return found == alloc_rows_.end() ? kNoRow : found->second;
}

// ---------------------------------------------------------------- the rest

void StateStore::insert_deployment(const model::Deployment& deployment) {
  const std::lock_guard lock(mutex_);
  DeploymentTable& d = current_.deployments;
  d.id.push_back(base::parse_uuid(deployment.id).value_or(base::Uuid{}));
  d.job_key.push_back(job_key(deployment.namespace_, deployment.job_id));
  d.job_version.push_back(deployment.job_version);
  d.create_index.push_back(deployment.create_index);
  const std::string& s = deployment.status;
  d.active.push_back(s == "running" || s == "paused" || s == "blocked" || s == "unblocking" || s == "initializing" ||
                     s == "pending");
  d.object.push_back(std::make_shared<const model::Deployment>(deployment));
}

void StateStore::insert_eval(const model::Evaluation& eval) {
  const std::lock_guard lock(mutex_);
  EvalTable& e = current_.evals;
  e.id.push_back(base::parse_uuid(eval.id).value_or(base::Uuid{}));
  e.job_key.push_back(job_key(eval.namespace_, eval.job_id));
  e.priority.push_back(static_cast<std::int32_t>(eval.priority));
  std::uint8_t status = 1;
  for (std::uint8_t i = 0; i < std::size(kEvalStatuses); ++i)
    if (eval.status == kEvalStatuses[i]) status = i;
  e.status.push_back(status);
  e.create_index.push_back(eval.create_index);
  e.modify_index.push_back(eval.modify_index);
  e.object.push_back(std::make_shared<const model::Evaluation>(eval));
}

void StateStore::set_scheduler_config(std::optional<model::SchedulerConfiguration> config) {
  const std::lock_guard lock(mutex_);
  auto cold = std::make_shared<ColdState>(*current_.cold);
  cold->scheduler_config = std::move(config);
  current_.cold = std::move(cold);
}

void StateStore::set_index(std::uint64_t index) {
  const std::lock_guard lock(mutex_);
  current_.index = index;
}

void StateStore::load(const model::ClusterState& state) {
  {
    const std::lock_guard lock(mutex_);
    auto cold = std::make_shared<ColdState>();
    cold->scheduler_config = state.scheduler_config;
    cold->node_pools = state.node_pools;
    cold->namespaces = state.namespaces;
    cold->host_volumes = state.host_volumes;
    cold->host_volume_claims = state.host_volume_claims;
    cold->csi_volumes = state.csi_volumes;
    cold->csi_plugins = state.csi_plugins;
    current_.cold = std::move(cold);
    for (const model::Node& node : state.nodes) {
      const base::Uuid id = base::parse_uuid(node.id).value_or(base::Uuid{});
      const auto found = node_rows_.find(id);
      fill_node(found == node_rows_.end() ? new_node_row(id) : found->second, make_spec(node, false), nullptr);
    }
  }
  sort_nodes();
  for (const auto& job : state.job_versions) upsert_job(job, false);
  for (const auto& job : state.jobs) upsert_job(job, true);
  for (const model::Allocation& alloc : state.allocs) insert_alloc(alloc);
  for (const model::Deployment& deployment : state.deployments) insert_deployment(deployment);
  for (const model::Evaluation& eval : state.evals) insert_eval(eval);
  set_index(state.index);
}

std::size_t StateStore::bytes() const {
  const NodeTable& n = current_.nodes;
  const AllocTable& a = current_.allocs;
  std::size_t out = n.state.bytes() + n.use.bytes() + n.fixed->id.bytes() + n.fixed->spec.bytes() +
                    n.fixed->capacity.bytes() + n.fit.cpu_free.bytes() * 5;
  for (const KeyedColumn& column : n.fixed->columns) out += column.codes.bytes() + column.values.bytes();
  out += a.id.bytes() + a.node.bytes() + a.job.bytes() + a.job_key.bytes() + a.group.bytes() + a.name_index.bytes() +
         a.desired.bytes() + a.client.bytes() + a.shape.bytes() + a.next_on_node.bytes() + a.prev_on_node.bytes() +
         a.next_of_job.bytes() + a.create_index.bytes() + a.modify_index.bytes() + a.cold.bytes();
  return out;
}

}  // namespace berth::tables
