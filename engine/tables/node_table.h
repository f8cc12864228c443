// NodeTable: one row per client node. Rows are stable for ever; a removed node leaves a row marked gone.
//
//   column          unit        bytes  read by                    written by
//   capacity        see below      64  rank (sampled), plan       node upsert
//   use             see below      64  rank (sampled), plan       plan applier, client updates
//   ports, cores,
//   devices         headers   128, 64  fit, options, collisions   plan applier, client updates
//   eviction        see header    128  sched (preemption)         plan applier, client updates
//   id              UUID           16  reports, order by id       node upsert
//   name            symbol          4  reports, targets           node upsert
//   spec            pointer        16  cold checks, export        node upsert
//   port_profile    number          4  requests for ports         node upsert
//   state           bits            1  base set                   node status changes
//   keyed columns   code            4  constraints, spread, ...   node upsert
//
// `capacity` and `use` are rows of one cache line on purpose, not columns: Nomad's sampled mode visits a dozen nodes in
// random order and needs every amount of each. At 1,000,000 nodes, a column per amount costs eight misses per node, a
// row two. The scan for nodes with room reads nodes in order and has separate columns (FreeBlock).
//
// A keyed column is one attribute, meta key, or node field (datacenter, pool, class, computed class) as dictionary
// codes: 0 = missing, code c = the c-th distinct value seen. Constraints, affinities and spreads are evaluated per
// code. Threads: one writer (StateStore); readers hold a Snapshot's copy.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rows.h"
#include "base/uuid.h"
#include "base/wrap.h"
#include "model/node.h"
#include "network/node_ports.h"
#include "tables/cow.h"
#include "tables/eviction_levels.h"
#include "tables/held_cores.h"
#include "tables/held_devices.h"
#include "tables/held_ports.h"
#include "tables/row_log.h"
#include "tables/symbols.h"

namespace berth::tables {

using base::AllocRow;
using base::kNoRow;
using base::NodeRow;

enum class NodeStatus : std::uint8_t { initializing, ready, down, disconnected };

/// The resources that a node offers, after reservations (R-RANK-521 to 523). One cache line.
struct alignas(64) NodeCapacity {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;  ///< capacity - reserved; may be negative
  double cpu_score = 0, memory_score = 0;                ///< f64(capacity) - f64(reserved) (R-RANK-651)
  std::int32_t max_allocs = 0;                           ///< 0 = unlimited; a negative limit admits nothing
  std::uint32_t class_code = 0;                          ///< code in the node class column
  std::uint32_t computed_class_code = 0;
  Symbol check_profile = 0;          ///< equal for nodes that are equal for driver and network mode checks
  std::uint32_t kind = 0;            ///< equal for nodes that are equal for all checks (kinds.h)
  std::uint8_t network_invalid = 0;  ///< reserved port text does not parse (R-RANK-604)
  std::uint8_t has_cores = 0;        ///< some usable core remains after reservations (R-RANK-524)
};
static_assert(sizeof(NodeCapacity) == 64);

/// Resources in use on a node: sums over its allocations that are not client-terminal (R-RANK-533). One cache line.
/// Ended allocations have a separate chain, so that iterating over running ones is independent of the history's length.
struct alignas(64) NodeUse {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  AllocRow alloc_head = kNoRow;     ///< first of the allocations on the node that are not client-terminal
  AllocRow ended_head = kNoRow;     ///< first of the client-terminal ones
  std::uint32_t alloc_count = 0;    ///< not client-terminal
  std::uint32_t port_allocs = 0;    ///< of these, with networks or ports
  std::uint32_t device_allocs = 0;  ///< of these, with devices
  std::uint32_t core_allocs = 0;    ///< of these, with reserved cores
  /// Of these, whose group requests a volume for a single writer; 16 million of them would take 2 GiB of allocations.
  std::uint32_t sole_claims : 24 = 0;
  std::uint32_t irregular : 8 = 0;            ///< kPortsCollide, kCoresIrregular
  std::int32_t least_priority = kNoPriority;  ///< of these, of known jobs: bounds what could be evicted
  std::uint32_t least_count = 0;              ///< number of those with least_priority
  std::int32_t most_priority = -kNoPriority;  ///< upper bound; kNoPriority if the job of one is unknown
  friend bool operator==(const NodeUse&, const NodeUse&) = default;
};
static_assert(sizeof(NodeUse) == 64);

/// Bits of NodeUse::irregular: why the amounts in use do not decide alone whether a request without ports, devices and
/// cores fits (irregular.h).
inline constexpr std::uint32_t kPortsCollide = 1;    ///< two allocations hold one port (R-RANK-607), or R-RANK-618
inline constexpr std::uint32_t kCoresIrregular = 2;  ///< a core is held twice, or one that is not usable (R-RANK-524)

/// Node data that placement rarely reads. Shared by all nodes of one shape in generated clusters.
struct NodeSpec {
  model::Node node;     ///< canonical; for a shared spec, fields that differ per node are the first node's
  std::string profile;  ///< the part besides its class that checks read, as text (kinds.h)
  std::size_t check_profile_size = 0;  ///< its first part: drivers, driver attributes and network modes
  bool shared = false;                 ///< id, name and keyed columns of the row override `node`
  std::vector<std::uint16_t> cores;    ///< usable core ids minus reserved, ascending
  CoreTable core_table;                ///< table of these cores
  model::DeviceTable devices;          ///< of `node`
  network::NodePorts ports;            ///< of `node`
};

/// Columns of the scan for nodes with room: free amounts of a block of rows, capacity - use, in MHz and MiB. They are
/// exact up to the limits of 32 bits, where they stay. They are written together, so for snapshots they are one column
/// of blocks.
struct FreeBlock {
  static constexpr std::size_t kRows = 256;
  alignas(64) std::array<std::int32_t, kRows> cpu{}, memory{}, disk{};

  void set(std::size_t at, const NodeCapacity& capacity, const NodeUse& use) {
    cpu[at] = of(capacity.cpu_mhz, use.cpu_mhz);
    memory[at] = of(capacity.memory_mb, use.memory_mb);
    disk[at] = of(capacity.disk_mb, use.disk_mb);
  }
  [[nodiscard]] static std::int32_t of(std::int64_t capacity, std::int64_t used) {
    using Limits = std::numeric_limits<std::int32_t>;
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(base::wrap_sub(capacity, used), Limits::min(), Limits::max()));
  }
};

enum class KeyKind : std::uint8_t { datacenter, pool, node_class, computed_class, name, attribute, meta };

/// One keyed column: codes per row, and their distinct values.
struct KeyedColumn {
  KeyKind kind = KeyKind::attribute;
  Symbol key = kEmptySymbol;             ///< attribute or meta key
  CowVector<std::uint32_t, 1024> codes;  ///< 0 = missing, as are rows past size()
  CowVector<Symbol> values;              ///< values[code - 1]

  [[nodiscard]] std::uint32_t code(NodeRow row) const { return row < codes.size() ? codes[row] : 0; }
  [[nodiscard]] Symbol value(std::uint32_t code) const { return values[code - 1]; }
};

using ColumnId = std::uint32_t;
inline constexpr ColumnId kDatacenterColumn = 0, kPoolColumn = 1, kClassColumn = 2, kComputedClassColumn = 3,
                          kNameColumn = 4, kFirstKeyColumn = 5;
inline constexpr ColumnId kNoColumn = ~0u;

/// The part of the table that changes only when nodes are registered.
struct NodeStatic {
  std::atomic<std::uint32_t> references{1};
  CowVector<base::Uuid> id;
  CowVector<std::shared_ptr<const NodeSpec>> spec;
  CowVector<NodeCapacity> capacity;
  CowVector<std::uint32_t, 1024> port_profile;               ///< equal where network::profile_text() is
  CowVector<std::shared_ptr<const NodeSpec>> port_profiles;  ///< by profile: the first node with it
  std::vector<KeyedColumn> columns;
  std::shared_ptr<const std::vector<NodeRow>> by_id;  ///< existing rows, ascending ID (R-FEAS-103)
  std::shared_ptr<RowLog> use_log;                    ///< rows whose use changed; room for half of all nodes or more
  std::shared_ptr<RowLog> ended_log;  ///< rows whose chain of ended allocations changed, but not their use
  std::shared_ptr<RowLog> ready_log;  ///< rows whose state or registration changed; replaced when all may have

  NodeStatic() = default;
  NodeStatic(const NodeStatic& o)
      : id(o.id),
        spec(o.spec),
        capacity(o.capacity),
        port_profile(o.port_profile),
        port_profiles(o.port_profiles),
        columns(o.columns),
        by_id(o.by_id),
        use_log(o.use_log),
        ended_log(o.ended_log),
        ready_log(o.ready_log) {}
};

/// Bits of the state column.
inline constexpr std::uint8_t kStatusMask = 3, kEligible = 4, kDraining = 8, kGone = 16;

[[nodiscard]] constexpr std::uint8_t state_bits(NodeStatus status, bool eligible, bool draining) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(status) | (eligible ? kEligible : 0u) |
                                   (draining ? kDraining : 0u));
}

/// Rows per chunk in columns of whole cache lines to which placements write in random order. A commit copies the chunks
/// it writes while a snapshot exists, as another worker's nearly always does: so 2 to 4 KiB a node, not 16 to 32.
inline constexpr std::size_t kWideChunk = 32;

/// Columns written by every placement and every end of an allocation. A worker has its own copy of them, which follows
/// `use_log` and `ended_log` (worker_view.h): every write to one of them must append the node's row to a log.
struct NodeUseColumns {
  CowVector<NodeUse, kWideChunk> use;
  CowVector<FreeBlock, 1> free;                ///< by row / FreeBlock::kRows
  CowVector<HeldPorts, kWideChunk> ports;      ///< empty until an allocation holds ports
  CowVector<HeldCores, kWideChunk> cores;      ///< empty until an allocation holds cores
  CowVector<HeldDevices, kWideChunk> devices;  ///< empty until an allocation holds devices
  CowVector<EvictionLevels, kWideChunk>
      eviction;  ///< empty until it has more than `use` or the configuration requires it

  /// Calls visit(column of `a`, the same column of `b`) for each of them except `free`.
  template <class A, class B, class Visit>
  static void each_pair(A& a, B& b, Visit visit) {
    visit(a.use, b.use), visit(a.ports, b.ports), visit(a.cores, b.cores), visit(a.devices, b.devices);
    visit(a.eviction, b.eviction);
  }
};
static_assert(sizeof(NodeUseColumns) == 6 * sizeof(CowVector<FreeBlock, 1>), "each_pair() lists all columns");

/// The other columns and values, which change rarely or are single numbers. Copies share them.
struct NodeSharedColumns {
  Ref<NodeStatic> fixed;
  CowVector<std::uint8_t, 1024> state;
  std::uint64_t use_changes = 0;       ///< length of `use_log` at this state
  std::uint64_t ended_changes = 0;     ///< length of `ended_log` at this state
  std::uint64_t ready_changes = 0;     ///< length of `ready_log` at this state
  std::uint64_t epoch = 0;             ///< changes whenever the set of ready nodes or a static column changes
  std::uint64_t static_epoch = 0;      ///< changes whenever a static column changes or a node is removed
  std::uint32_t empty_class_code = 0;  ///< code of the node class ""; 0 if no node has it
  /// True if nodes of equal computed class agree on every non-unique keyed column, as classes computed at registration
  /// do (R-FEAS-402). Imported states may carry stale classes; then no verdict may be transferred from a class to a
  /// node.
  bool classes_exact = true;
  /// True if nodes of equal computed class agree on `check_profile` as well: checks that are decided once per class
  /// (R-FEAS-414) then give the same answer whichever node is visited first.
  bool class_profiles_exact = true;
  bool class_kinds_exact = true;    ///< they agree on `kind` now: all checks give the same answer
  std::uint64_t kinds_left = 0;     ///< times a kind lost its last node; unchanged: exact classes kept their kinds
  std::uint32_t invalid_nodes = 0;  ///< rows that have or had reserved ports that do not parse
  std::uint32_t port_or_core_allocs = 0;       ///< live allocations on nodes that hold ports or cores
  std::uint32_t nodes_with_port_conflict = 0;  ///< rows whose NodeUse::irregular has kPortsCollide
  std::uint64_t index = 0;                     ///< of the last commit that changed a node (R-CTRL-617)
};

struct NodeTable : NodeUseColumns, NodeSharedColumns {
  [[nodiscard]] std::size_t size() const { return state.size(); }
  [[nodiscard]] NodeStatus status(NodeRow row) const { return static_cast<NodeStatus>(state[row] & kStatusMask); }
  [[nodiscard]] bool exists(NodeRow row) const { return row < size() && !(state[row] & kGone); }
  /// Status ready, no drain, eligible (R-FEAS-104).
  [[nodiscard]] bool ready(NodeRow row) const {
    return (state[row] & (kStatusMask | kEligible | kDraining | kGone)) ==
           (static_cast<std::uint8_t>(NodeStatus::ready) | kEligible);
  }
  [[nodiscard]] const NodeCapacity& capacity(NodeRow row) const { return fixed->capacity[row]; }
  /// What evicting would free there. Without the column all allocations on a node have one priority, or no known job.
  [[nodiscard]] EvictionLevels eviction_levels(NodeRow row) const {
    if (!eviction.empty()) return eviction[row];
    EvictionLevels out;
    const NodeUse& u = use[row];
    if (u.least_priority != kNoPriority) out.add(u.least_priority, {u.cpu_mhz, u.memory_mb, u.disk_mb});
    return out;
  }
  /// The ports held there; null if the list is unusable and the allocations have to be read.
  [[nodiscard]] const HeldPorts* held_ports(NodeRow row) const {
    static constexpr HeldPorts kNone;
    if (ports.empty()) return &kNone;
    return ports[row].unlisted ? nullptr : &ports[row];
  }
  /// The cores held there; null if the set is unusable and the allocations have to be read.
  [[nodiscard]] const HeldCores* held_cores(NodeRow row) const {
    static constexpr HeldCores kNone;
    if (cores.empty()) return &kNone;
    return cores[row].unlisted ? nullptr : &cores[row];
  }
  /// The device instances held there; null if the set is unusable and the allocations have to be read.
  [[nodiscard]] const HeldDevices* held_devices(NodeRow row) const {
    static constexpr HeldDevices kNone;
    if (devices.empty()) return &kNone;
    return devices[row].unlisted ? nullptr : &devices[row];
  }
  [[nodiscard]] const NodeSpec& spec(NodeRow row) const { return *fixed->spec[row]; }
  /// Shared with the spec, which it keeps alive.
  [[nodiscard]] std::shared_ptr<const model::DeviceTable> device_table(NodeRow row) const {
    return {fixed->spec[row], &fixed->spec[row]->devices};
  }
  /// Ports of the first node with that profile: equal to those of the others except for addresses and task networks.
  [[nodiscard]] const network::NodePorts& ports_of_profile(std::uint32_t profile) const {
    return fixed->port_profiles[profile]->ports;
  }
  [[nodiscard]] base::Uuid id(NodeRow row) const { return fixed->id[row]; }
  [[nodiscard]] const KeyedColumn& column(ColumnId id) const { return fixed->columns[id]; }
  /// The computed class of a code of its column; empty for 0, a node without one.
  [[nodiscard]] Symbol computed_class(std::uint32_t code) const {
    return code == 0 ? kEmptySymbol : column(kComputedClassColumn).value(code);
  }
  [[nodiscard]] std::uint32_t code(ColumnId id, NodeRow row) const { return fixed->columns[id].code(row); }
};

/// Lower case name of a status, and back.
[[nodiscard]] const char* to_text(NodeStatus status);
[[nodiscard]] std::optional<NodeStatus> parse_node_status(std::string_view text);

}  // namespace berth::tables
