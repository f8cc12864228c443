// The node table of a StateStore: registration, columns by attribute, classes, kinds, lists of nodes.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "base/wrap.h"
#include "model/computed_class.h"
#include "model/registration/node_canonical.h"
#include "tables/commit.h"
#include "tables/kinds.h"
#include "tables/state.h"

namespace berth::tables {
namespace {

constexpr std::size_t kUsualProfile = 128;  ///< bytes
/// A column takes at least 6 KiB. Registrations of nodes make columns only for the first keys, enough for real
/// clusters: their nodes have 100 to 200 attributes and meta keys, mostly the same ones. Any further key gets its
/// column when a job first names it. From this number of columns on, keys of nodes may lack one.
constexpr std::size_t kColumnsOfNodes = 512;
/// Read by system jobs even if no job names it (R-SCHED-145): always has a column.
constexpr std::string_view kVersionKey = "nomad.version";

const std::map<std::string, std::string>& values_of(const model::Node& node, KeyKind kind) {
  return kind == KeyKind::attribute ? node.attributes : node.meta;
}

/// True if two nodes agree on all keys that are part of a computed class (R-MODEL-541).
bool same_shared_values(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
  const auto unique = [](const auto& entry) { return entry.first.starts_with("unique."); };
  auto x = a.begin(), y = b.begin();
  for (;; ++x, ++y) {
    x = std::find_if_not(x, a.end(), unique), y = std::find_if_not(y, b.end(), unique);
    if (x == a.end() || y == b.end()) return x == a.end() && y == b.end();
    if (*x != *y) return false;
  }
}

/// The node's resources minus its reservations. The caller adds the values from columns (class, profile).
NodeCapacity capacity_of(const model::Node& node) {
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
    capacity.cpu_mhz = base::wrap_sub(cpu, reserved_cpu);
    capacity.memory_mb = base::wrap_sub(r.memory.memory_mb, reserved_memory);
    capacity.disk_mb = base::wrap_sub(r.disk.disk_mb, reserved_disk);
    capacity.cpu_score = static_cast<double>(cpu);
    capacity.memory_score = static_cast<double>(r.memory.memory_mb);
    if (node.reserved_resources) {
      capacity.cpu_score -= static_cast<double>(reserved_cpu);
      capacity.memory_score -= static_cast<double>(reserved_memory);
    }
  }
  using Limit = std::numeric_limits<std::int32_t>;
  capacity.max_allocs =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(node.node_max_allocs, Limit::min(), Limit::max()));
  return capacity;
}

/// True if two nodes agree on the keys that may lack a column: part of the check for classes_exact.
bool same_without_columns(const NodeTable& nodes, const NodeSpec& a, const NodeSpec& b) {
  return &a == &b || nodes.fixed->columns.size() < kColumnsOfNodes ||
         (same_shared_values(a.node.attributes, b.node.attributes) && same_shared_values(a.node.meta, b.node.meta));
}

}  // namespace

NodeStatic& StateStore::own_static() {
  Ref<NodeStatic>& fixed = current_.nodes.fixed;
  if (!fixed.unique()) fixed = Ref<NodeStatic>(new NodeStatic(*fixed));
  return *fixed;
}

ColumnId StateStore::column_for(KeyKind kind, std::string_view key) {
  const auto id_of = [kind](Symbol symbol) { return key_pair(static_cast<std::uint32_t>(kind), symbol); };
  if (const Symbol known = symbols_.find(key); known != SymbolTable::kUnknown)
    if (const auto found = column_ids_.find(id_of(known)); found != column_ids_.end()) return found->second;
  const Symbol symbol = symbols_.intern_use(key);  // until drop_column()
  NodeStatic& fixed = own_static();
  const bool complete = fixed.columns.size() < kColumnsOfNodes;  // all keys of nodes have a column
  auto column = static_cast<ColumnId>(fixed.columns.size());
  if (shared_.free_columns.empty()) {
    fixed.columns.push_back({kind, symbol, {}, {}});
    codes_.emplace_back();
  } else {
    column = shared_.free_columns.back();
    shared_.free_columns.pop_back();
    fixed.columns[column] = {kind, symbol, {}, {}};
  }
  column_ids_.emplace(id_of(symbol), column);
  if (complete || (kind != KeyKind::attribute && kind != KeyKind::meta)) return column;
  const std::string name(key);  // nodes registered before may have it
  for (NodeRow row = 0; row < current_.nodes.size(); ++row) {
    const NodeSpec* const spec = current_.nodes.fixed->spec[row].get();
    if (!spec || !current_.nodes.exists(row)) continue;
    const auto& values = values_of(spec->node, kind);
    if (const auto value = values.find(name); value != values.end())
      set_code(column, row, code_for(column, value->second));
  }
  return column;
}

/// Ends the column of a key that no job names and no node ever had; its id may be used for another key.
void StateStore::drop_column(ColumnId id) {
  if (id < kFirstKeyColumn || !current_.nodes.column(id).codes.empty()) return;
  KeyedColumn& column = own_static().columns[id];
  column_ids_.erase(key_pair(static_cast<std::uint32_t>(column.kind), column.key));
  symbols_.release(std::exchange(column.key, kEmptySymbol));
  shared_.free_columns.push_back(id);
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
  BERTH_ASSERT(code <= c.values.size());  // 0: no value
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
  fixed.port_profile.push_back(0);
  if (fixed.capacity.size() > 2 * fixed.use_log->size())
    fixed.use_log = std::make_shared<RowLog>(2 * fixed.use_log->size(), current_.nodes.use_changes);
  if (fixed.capacity.size() > 16 * fixed.ready_log->size())
    fixed.ready_log = std::make_shared<RowLog>(2 * fixed.ready_log->size(), current_.nodes.ready_changes);
  current_.nodes.state.push_back(kGone);
  current_.nodes.use.push_back({});
  if (!current_.nodes.eviction.empty()) current_.nodes.eviction.push_back({}), writer_.priorities.push_back({});
  if (!current_.nodes.ports.empty()) current_.nodes.ports.push_back({});
  if (!current_.nodes.cores.empty()) current_.nodes.cores.push_back({});
  if (!current_.nodes.devices.empty()) current_.nodes.devices.push_back({});
  if (row % FreeBlock::kRows == 0) current_.nodes.free.push_back({});
  BERTH_ASSERT(current_.nodes.size() == row + std::size_t{1});  // every column has the row
  node_rows_[id] = row;
  return row;
}

std::shared_ptr<const NodeSpec> StateStore::make_spec(const model::Node& node, bool shared) {
  auto spec = std::make_shared<NodeSpec>();
  spec->node = node;
  spec->shared = shared;
  spec->profile.reserve(kUsualProfile);
  append_check_profile(node, spec->profile);
  spec->check_profile_size = spec->profile.size();
  spec->profile += '\0';
  append_other_profile(node, spec->profile);
  if (const model::Topology* topology = model::topology_of(node)) {
    const auto reserved =
        node.reserved_resources ? node.reserved_resources->cpu.reserved_cpu_cores : std::vector<std::uint16_t>{};
    for (const model::Core& core : topology->cores)
      if (!core.disable && std::find(reserved.begin(), reserved.end(), core.id) == reserved.end())
        spec->cores.push_back(core.id);
    std::sort(spec->cores.begin(), spec->cores.end());
  }
  spec->core_table = CoreTable::of(model::topology_of(spec->node), spec->cores);
  if (spec->node.node_resources) spec->devices = model::DeviceTable::of(spec->node.node_resources->devices);
  spec->ports = network::read_node_ports(spec->node);
  return spec;
}

/// Sets the codes of the row in all keyed columns.
void StateStore::fill_keyed_columns(NodeRow row, const std::shared_ptr<const NodeSpec>& spec,
                                    const NodeVariant* variant) {
  const model::Node& node = spec->node;
  set_code(
      kDatacenterColumn, row,
      code_for(kDatacenterColumn, variant && !variant->datacenter.empty() ? variant->datacenter : node.datacenter));
  set_code(kPoolColumn, row, code_for(kPoolColumn, node.node_pool));
  set_code(kClassColumn, row, code_for(kClassColumn, node.node_class));
  set_code(kComputedClassColumn, row,
           code_for(kComputedClassColumn, variant ? variant_class(spec, *variant) : node.computed_class));
  set_code(kNameColumn, row, code_for(kNameColumn, variant ? variant->name : std::string_view(node.name)));
  for (ColumnId column = kFirstKeyColumn; column < current_.nodes.fixed->columns.size(); ++column)
    set_code(column, row, 0);
  // kNoColumn: a key without a column so far. A shared spec lacks the values of its nodes, so columns have all of them.
  const auto column_of = [&](KeyKind kind, std::string_view key) {
    if (spec->shared || current_.nodes.fixed->columns.size() < kColumnsOfNodes || key == kVersionKey)
      return column_for(kind, key);
    const Symbol symbol = symbols_.find(key);
    if (symbol == SymbolTable::kUnknown) return kNoColumn;
    const auto found = column_ids_.find(key_pair(static_cast<std::uint32_t>(kind), symbol));
    return found == column_ids_.end() ? kNoColumn : found->second;
  };
  const auto set_all = [&](KeyKind kind, const auto& values) {
    for (const auto& [key, value] : values) {
      const ColumnId column = column_of(kind, key);
      if (column != kNoColumn) set_code(column, row, code_for(column, value));
    }
  };
  set_all(KeyKind::attribute, node.attributes);
  set_all(KeyKind::meta, node.meta);
  if (variant) {
    set_all(KeyKind::attribute, variant->attributes);
    set_all(KeyKind::meta, variant->meta);
  }
}

/// The capacity of the row, whose keyed columns are set. Counts its kind.
NodeCapacity StateStore::capacity_with_kind(NodeRow row, const std::shared_ptr<const NodeSpec>& spec) {
  NodeCapacity capacity = capacity_of(spec->node);
  capacity.class_code = current_.nodes.code(kClassColumn, row);
  capacity.computed_class_code = current_.nodes.code(kComputedClassColumn, row);
  if (profiles_.spec != spec)  // generated clusters have few specs
    profiles_ = {spec, symbols_.intern(std::string_view(spec->profile).substr(0, spec->check_profile_size)),
                 symbols_.intern(spec->profile), port_profile_of(spec)};
  capacity.check_profile = profiles_.check;
  capacity.kind = kind_of(profiles_.both, capacity.computed_class_code);
  capacity.has_cores = !spec->cores.empty();
  capacity.network_invalid = !spec->ports.error.empty();
  const NodeCapacity& earlier = current_.nodes.fixed->capacity[row];
  if (!current_.nodes.exists(row)) {
    count_kind(capacity, 1);
  } else if (earlier.kind != capacity.kind) {
    count_kind(capacity, 1);
    count_kind(earlier, -1);
  }
  return capacity;
}

void StateStore::fill_node(NodeRow row, const std::shared_ptr<const NodeSpec>& spec, const NodeVariant* variant) {
  const model::Node& node = spec->node;
  std::vector<std::uint32_t> before;  // if it registers again
  std::shared_ptr<const NodeSpec> spec_before = current_.nodes.fixed->spec[row];
  if (spec_before == gone_spec_) spec_before = nullptr;
  if (spec_before)
    for (const KeyedColumn& column : current_.nodes.fixed->columns) before.push_back(column.code(row));
  fill_keyed_columns(row, spec, variant);
  NodeStatic& fixed = own_static();
  fixed.spec.edit(row) = spec;
  const NodeCapacity earlier = fixed.capacity[row], capacity = capacity_with_kind(row, spec);
  if (!before.empty() && earlier.computed_class_code == capacity.computed_class_code &&
      earlier.check_profile != capacity.check_profile)
    current_.nodes.class_profiles_exact = false;
  fixed.capacity.edit(row) = capacity;
  if (fixed.port_profile[row] != profiles_.ports) fixed.port_profile.edit(row) = profiles_.ports;
  current_.nodes.invalid_nodes += capacity.network_invalid;
  current_.nodes.state.edit(row) =
      state_bits(parse_node_status(node.status).value_or(NodeStatus::initializing),
                 node.scheduling_eligibility == "eligible", node.drain_strategy.has_value());
  recount_held(row);
  refresh_free(row, current_.nodes.use[row]);
  if (node.node_class.empty()) current_.nodes.empty_class_code = capacity.class_code;
  if (spec_before && before[kComputedClassColumn] == capacity.computed_class_code &&
      !same_without_columns(current_.nodes, *spec_before, *spec))
    current_.nodes.classes_exact = false;
  check_class(row, capacity.computed_class_code, before);
  ++current_.nodes.epoch;
  ++current_.nodes.static_epoch;
}

std::uint32_t StateStore::port_profile_of(const std::shared_ptr<const NodeSpec>& spec) {
  CowVector<std::shared_ptr<const NodeSpec>>& profiles = own_static().port_profiles;
  const auto [known, added] =
      port_profile_ids_.try_emplace(network::profile_text(spec->ports), static_cast<std::uint32_t>(profiles.size()));
  if (added) profiles.push_back(spec);
  return known->second;
}

void StateStore::recount_held(NodeRow row) {
  NodeUse use = current_.nodes.use[row];
  set_irregular(use, kPortsCollide, have_ports_collided(row, kNoRow));
  set_irregular(use, kCoresIrregular, has_irregular_cores(row, kNoRow));
  if (use.irregular != current_.nodes.use[row].irregular) current_.nodes.use.edit(row).irregular = use.irregular;
  if (use.device_allocs == 0) return;
  HeldDevices& held = current_.nodes.devices.edit(row);
  held = {};
  for (AllocRow alloc = use.alloc_head; alloc != kNoRow; alloc = current_.allocs.next_on_node[alloc])
    if (const ResourceShape& shape = current_.allocs.shape_of(alloc); shape.devices)
      held.add(shape, current_.nodes.spec(row).devices);
}

std::uint32_t StateStore::kind_of(Symbol profiles, std::uint32_t computed_class) {
  return kind_ids_.try_emplace(key_pair(computed_class, profiles), static_cast<std::uint32_t>(kind_ids_.size()))
      .first->second;
}

void StateStore::count_kind(const NodeCapacity& of, std::int32_t sign) {
  if (nodes_of_kind_.size() <= of.kind) nodes_of_kind_.resize(of.kind + 1, 0);
  if (kinds_of_class_.size() <= of.computed_class_code) kinds_of_class_.resize(of.computed_class_code + 1, 0);
  std::uint32_t& nodes = nodes_of_kind_[of.kind];
  std::uint32_t& kinds = kinds_of_class_[of.computed_class_code];
  BERTH_ASSERT(sign > 0 || (nodes > 0 && kinds > 0));
  if (sign > 0) {
    if (nodes++ == 0 && ++kinds == 2) ++mixed_classes_;
  } else if (--nodes == 0) {
    if (--kinds == 1) --mixed_classes_;
    ++current_.nodes.kinds_left;
  }
  current_.nodes.class_kinds_exact = mixed_classes_ == 0;
}

void StateStore::check_class(NodeRow row, std::uint32_t computed_class, const std::vector<std::uint32_t>& before) {
  if (class_sample_.size() <= computed_class) class_sample_.resize(computed_class + 1, kNoRow);
  NodeRow& sample = class_sample_[computed_class];
  const std::vector<KeyedColumn>& columns = current_.nodes.fixed->columns;
  const auto compare = [&](auto code_of_other) {
    for (ColumnId id = 0; id < columns.size() && current_.nodes.classes_exact; ++id) {
      if (id == kNameColumn || symbols_.text(columns[id].key).starts_with("unique.")) continue;
      if (columns[id].code(row) != code_of_other(id)) current_.nodes.classes_exact = false;
    }
  };
  if (!before.empty() && before[kComputedClassColumn] == computed_class)  // still in its previous class
    compare([&](ColumnId id) {
      if (id < before.size()) return before[id];
      return id < kColumnsOfNodes ? 0 : columns[id].code(row);  // the key may not have had a column then
    });
  if (sample == kNoRow) {
    sample = row;
    return;
  }
  if (current_.nodes.capacity(row).check_profile != current_.nodes.capacity(sample).check_profile)
    current_.nodes.class_profiles_exact = false;
  compare([&](ColumnId id) { return columns[id].code(sample); });
  if (!same_without_columns(current_.nodes, current_.nodes.spec(row), current_.nodes.spec(sample)))
    current_.nodes.classes_exact = false;
}

void StateStore::refresh_free(NodeRow row, const NodeUse& use) {
  current_.nodes.fixed->use_log->append(row);
  ++current_.nodes.use_changes;
  BERTH_ASSERT((use.alloc_head == kNoRow) == (use.alloc_count == 0));  // the list and the count agree
  FreeBlock& block = current_.nodes.free.edit(row / FreeBlock::kRows);
  block.set(row % FreeBlock::kRows, current_.nodes.capacity(row), use);
}

void StateStore::note_ended(NodeRow row) {
  BERTH_ASSERT(row < current_.nodes.size());
  current_.nodes.fixed->ended_log->append(row);
  ++current_.nodes.ended_changes;
}

std::string StateStore::variant_class(const std::shared_ptr<const NodeSpec>& spec, const NodeVariant& variant) {
  if (!variant.computed_class.empty()) return std::string(variant.computed_class);
  // Attributes and meta keys named `unique.` are not part of the class (R-MODEL-541): most variants share theirs.
  const auto unique = [](const auto& entry) { return entry.first.starts_with("unique."); };
  if (variant.datacenter.empty() && !spec->node.computed_class.empty() &&
      std::all_of(variant.attributes.begin(), variant.attributes.end(), unique) &&
      std::all_of(variant.meta.begin(), variant.meta.end(), unique))
    return spec->node.computed_class;
  std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(spec.get()));
  key += ' ';
  base::append_sized(key, variant.datacenter);
  for (const auto* list : {&variant.attributes, &variant.meta}) {
    key += ';';
    for (const auto& [name, value] : *list) {
      if (name.starts_with("unique.")) continue;
      base::append_sized(key, name);
      base::append_sized(key, value);
    }
  }
  if (const auto found = variant_classes_.find(key); found != variant_classes_.end()) return found->second;
  model::Node node = spec->node;
  if (!variant.datacenter.empty()) node.datacenter = variant.datacenter;
  for (const auto& [name, value] : variant.attributes) node.attributes[std::string(name)] = value;
  for (const auto& [name, value] : variant.meta) node.meta[std::string(name)] = value;
  std::string computed = model::computed_class(node);
  variant_classes_.emplace(std::move(key), computed);
  return computed;
}

void StateStore::list_node(NodeRow row) {
  // One node at a time keeps the order by a sorted insert; bulk loading sorts once in sort_nodes().
  auto by_id = std::make_shared<std::vector<NodeRow>>(*current_.nodes.fixed->by_id);
  const auto at = std::lower_bound(by_id->begin(), by_id->end(), current_.nodes.id(row),
                                   [&](NodeRow r, base::Uuid wanted) { return current_.nodes.id(r) < wanted; });
  BERTH_ASSERT(at == by_id->end() || *at != row);  // listed once
  by_id->insert(at, row);
  own_static().by_id = std::move(by_id);
}

void StateStore::unlist_node(NodeRow row) {
  auto by_id = std::make_shared<std::vector<NodeRow>>(*current_.nodes.fixed->by_id);
  const auto listed = std::erase(*by_id, row);
  BERTH_ASSERT(listed == 1);
  own_static().by_id = std::move(by_id);
}

NodeRow StateStore::add_variant(const std::shared_ptr<const NodeSpec>& spec, const NodeVariant& variant) {
  Commit commit = begin_commit();
  commit.touch();
  const NodeRow row = new_node_row(variant.id);
  fill_node(row, spec, &variant);
  return row;
}

void StateStore::sort_nodes() {
  Commit commit = begin_commit();
  commit.touch();
  sort_rows();
}

void StateStore::sort_rows() {
  auto by_id = std::make_shared<std::vector<NodeRow>>();
  by_id->reserve(current_.nodes.size());
  for (NodeRow row = 0; row < current_.nodes.size(); ++row)
    if (current_.nodes.exists(row)) by_id->push_back(row);
  std::sort(by_id->begin(), by_id->end(),
            [&](NodeRow a, NodeRow b) { return current_.nodes.id(a) < current_.nodes.id(b); });
  BERTH_ASSERT(std::adjacent_find(by_id->begin(), by_id->end(), [&](NodeRow a, NodeRow b) {
                 return current_.nodes.id(a) == current_.nodes.id(b);
               }) == by_id->end());  // an ID names one row
  NodeStatic& fixed = own_static();
  fixed.by_id = std::move(by_id);
  fixed.ready_log = std::make_shared<RowLog>(fixed.ready_log->size(), current_.nodes.ready_changes);
  ++current_.nodes.epoch;
  auto& sets = current_.base_sets;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i]) sets.edit(i) = list_ready(sets[i]->key, sets[i]->number);
}

void StateStore::give_up_node(NodeRow row) {
  const NodeUse& use = current_.nodes.use[row];
  if (history_ && !current_.nodes.exists(row) && use.alloc_head == kNoRow && use.ended_head == kNoRow)
    removed_rows().nodes.push_back(row);
}

/// Replaces the description of a node, 10 to 20 KiB, unless the node came back or stands for its computed class.
void StateStore::drop_node(NodeRow row) {
  const NodeTable& nodes = current_.nodes;
  const NodeUse& use = nodes.use[row];
  const std::uint32_t computed_class = nodes.capacity(row).computed_class_code;
  if (nodes.exists(row) || use.alloc_head != kNoRow || use.ended_head != kNoRow || nodes.spec(row).shared) return;
  if (computed_class < class_sample_.size() && class_sample_[computed_class] == row) return;
  if (!gone_spec_) gone_spec_ = make_spec({}, true);  // shared: the row has the ID
  own_static().spec.edit(row) = gone_spec_;
}

void StateStore::note_ready(NodeRow row) {
  current_.nodes.fixed->ready_log->append(row);
  ++current_.nodes.ready_changes;
  ++current_.nodes.epoch;
}

NodeRow StateStore::find_node(base::Uuid id) const {
  const auto found = node_rows_.find(id);
  return found == node_rows_.end() ? kNoRow : found->second;
}

NodeRow StateStore::find_node(std::string_view id) const {
  const auto uuid = base::parse_uuid(id);
  return uuid ? find_node(*uuid) : kNoRow;
}

}  // namespace berth::tables
