// A worker's own memory, reused from evaluation to evaluation: nothing here is allocated in the steady state.
//
// The first line of each cache's header says how long an entry is valid. By content: for ever, because the key is never
// reused. By state: for one state; the cache then follows the change log to the next state, or is filled again. By
// attempt: until the attempt ends.
//
//   Arena         bump memory of one evaluation's results; reset when the next evaluation starts
//   Reasons          texts of filter reasons and exhausted dimensions, as ids
//   Verdicts         per constraint and column code: does it hold? evaluated at most once per distinct value
//   KindVerdicts     per group request and kind of node: the check that fails first
//   NodeFeed         node rows that changed since a state, which by-state caches refresh
//   AskTables        per group request: score of each node that no plan touches, or the reason why it has no room
//   RetryMemos       per job: the result of an attempt that planned nothing
//   VisitsPerOption  per group request: number of nodes that Selects had to visit
//   ReadyNodes       per (datacenters, pool): the snapshot's list of ready nodes, or a private one once nodes changed
//   NodeIndex        per base set, built on demand in exhaustive mode: candidates ordered by free amounts
//   StrategyFit      nodes as a ranking strategy sees them, if a strategy scores the fit
//   NodeMarks        per node row: overlay and position in this attempt, valid if its epoch is the attempt's
// Threads: one worker.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/bit_hash.h"
#include "model/options.h"
#include "network/network_index.h"
#include "plan/plan_rows.h"
#include "rank/devices.h"
#include "rank/fit.h"
#include "sched/node/resource_kind.h"
#include "sched/node/score_component.h"
#include "sched/node/strategy_fit.h"
#include "sched/source/node_index.h"
#include "sched/source/port_profiles.h"
#include "sched/source/retry_memo.h"
#include "sched/source/sources.h"
#include "sched/source/visits_per_option.h"
#include "tables/shape_pool.h"
#include "tables/state.h"

namespace berth::sched {

using plan::Component;
using plan::Count;
using plan::PlannedAlloc;
using plan::PlanRows;
using plan::ScoredNode;
using plan::SelectMetrics;
using tables::ReadyNodes;

class Arena {
 public:
  /// Uninitialised memory for `count` objects of a trivially destructible type; valid until reset().
  template <class T>
  std::span<T> take(std::size_t count) {
    if (count == 0) return {};
    next_ += static_cast<std::size_t>(end_ - next_) % 64;  // start at a cache line
    return pack<T>(count);
  }
  /// Like take(), for short lists: directly behind the previous ones, because the lists of a placement are read
  /// together.
  template <class T>
  std::span<T> pack(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
    const std::size_t bytes = (count * sizeof(T) + 7) & ~std::size_t{7};
    if (bytes > static_cast<std::size_t>(end_ - next_)) [[unlikely]]
      find_room(bytes);
    auto* const at = reinterpret_cast<T*>(next_);
    next_ += bytes;
    return {at, count};
  }
  template <class T>
  std::span<const T> copy(std::span<const T> from) {
    const std::span<T> to = take<T>(from.size());
    std::copy(from.begin(), from.end(), to.begin());
    return to;
  }
  void reset() {
    if (!blocks_.empty()) use_block(0);
  }
  /// Reserves `bytes` and touches their pages, since page faults are most of the cost of a first evaluation. Call
  /// before the first take().
  void prepare(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    add_block(bytes);
    for (std::size_t at = 0; at < blocks_.back().size; at += kPage) blocks_.back().memory[at] = std::byte{1};
    use_block(0);
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Block {
    std::unique_ptr<std::byte[], void (*)(std::byte*)> memory;
    std::size_t size;
  };
  void use_block(std::size_t block) {
    block_ = block;
    next_ = blocks_[block].memory.get(), end_ = next_ + blocks_[block].size;
  }
  void find_room(std::size_t bytes) {
    const auto lacks = [&] { return bytes > static_cast<std::size_t>(end_ - next_); };
    while (lacks() && block_ + 1 < blocks_.size()) use_block(block_ + 1);
    if (lacks()) add_block(bytes);
  }
  void add_block(std::size_t at_least) {
    const std::size_t size = std::max<std::size_t>((at_least + 63) & ~std::size_t{63}, std::size_t{1} << 20);
    auto* memory = static_cast<std::byte*>(::operator new[](size, std::align_val_t{64}));
    blocks_.push_back({{memory, [](std::byte* p) { ::operator delete[](p, std::align_val_t{64}); }}, size});
    use_block(blocks_.size() - 1);
  }
  std::vector<Block> blocks_;
  std::size_t block_ = 0;  // current block
  std::byte *next_ = nullptr, *end_ = nullptr;
};

/// Texts of reasons and dimensions. Ids below kFixed are constants.
enum FixedReason : std::uint32_t {
  kReasonNone,  ///< counted, but without a text
  kReasonClassIneligible,
  kReasonDrivers,
  kReasonDevices,
  kReasonNetwork,
  kReasonSecrets,
  kReasonHostVolumes,
  kReasonDistinctHosts,
  kDimensionCpu,
  kDimensionCores,
  kDimensionMemory,
  kDimensionDisk,
  kDimensionMaxAllocs,
  kDimensionInvalidNode,
  kDimensionPortCollision,
  kDimensionNoDevices,
  kFixedReasons,
};

class Reasons {
 public:
  Reasons();
  std::uint32_t id(std::string_view text);
  [[nodiscard]] const std::string& text(std::uint32_t id) const { return texts_[id]; }

 private:
  std::vector<std::string> texts_;
  tsl::robin_map<std::string, std::uint32_t> ids_;
};

/// The plan's changes to one node in this attempt.
struct NodeOverlay {
  tables::NodeRow row = tables::kNoRow;
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;  ///< added to the table's use
  std::int32_t allocs = 0;                               ///< proposed allocations, as a difference to the table's
  std::int32_t complex_allocs = 0;                       ///< planned ones that hold ports, devices or cores
  std::uint32_t first_alloc = tables::kNoRow;            ///< planned allocations on the node, in plan order
  std::uint32_t last_alloc = tables::kNoRow;
  std::uint32_t first_stop = tables::kNoRow;    ///< planned stops and preemptions on the node, newest first
  std::uint32_t first_update = tables::kNoRow;  ///< planned updates on the node, newest first
  std::int32_t relisted = 0;                    ///< client-terminal allocations that the plan lists again
  std::uint32_t first_own = tables::kNoRow;     ///< counts of the job's own proposed allocations by group
};

struct NodeMark {
  std::uint32_t epoch = 0;
  std::uint32_t overlay = tables::kNoRow;   ///< index into overlays
  std::uint32_t position = tables::kNoRow;  ///< in the visiting order
};

/// Cache by content.
class Verdicts {
 public:
  /// True if constraint `id` holds on node `row`; the answer is cached per value of the left column.
  bool holds(const tables::Snapshot& snapshot, tables::ConstraintId id, tables::NodeRow row) {
    if (id < entries_.size() && entries_[id].column != tables::kNoColumn) {
      const Entry& entry = entries_[id];
      const std::uint32_t code = snapshot.nodes.code(entry.column, row);
      if (code < entry.known.size() && entry.known[code] != kUnknown) return entry.known[code] == kYes;
    }
    return ask(snapshot, id, row);
  }
  /// The column whose value alone decides the constraint, or kNoColumn.
  [[nodiscard]] static tables::ColumnId column_of(const tables::Snapshot& snapshot, tables::ConstraintId id);
  /// Number of evaluated constraints, without cached answers: a measure of the work.
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }
  /// The id is another constraint's from now on.
  void forget(tables::ConstraintId id) {
    if (id < entries_.size()) entries_[id].column = tables::kNoColumn, entries_[id].known.clear();
  }

 private:
  bool evaluate(const tables::Snapshot& snapshot, const tables::CompiledConstraint& constraint, tables::NodeRow row);
  bool ask(const tables::Snapshot& snapshot, tables::ConstraintId id, tables::NodeRow row);
  enum : std::uint8_t { kUnknown, kNo, kYes };
  /// The part that lookups read, separate from the compiled constraint.
  struct Entry {
    tables::ColumnId column = tables::kNoColumn;  ///< kNoColumn: ask() decides
    std::vector<std::uint8_t> known;              ///< indexed by code of the column
  };
  std::vector<Entry> entries_;  // by constraint id
  match::Patterns patterns_;
  std::uint64_t evaluations_ = 0;
};

/// Cache by content: the check of job and group that a node fails first, by request and kind of node (tables/kinds.h).
/// Also by computed class; that part is by state, and ends when a kind loses its last node.
class KindVerdicts {
 public:
  static constexpr std::uint32_t kUnknown = ~0u;
  /// The checks at position `ask` are those with this number, which is never used again. Forgets those of others.
  /// True: there were others.
  bool enter(std::uint32_t ask, std::uint64_t number);
  /// The entry of `ask` and `kind`: a reason id, or kUnknown, which the caller replaces. Valid until the next call.
  [[nodiscard]] std::uint32_t& of(std::uint32_t ask, std::uint32_t kind) { return at(kinds_, ask, kind); }
  /// Entry by computed class, where all nodes of a class are of one kind.
  [[nodiscard]] std::uint32_t& of_class(const tables::NodeTable& nodes, std::uint32_t ask,
                                        std::uint32_t computed_class) {
    if (kinds_left_ != nodes.kinds_left) classes_ = {}, kinds_left_ = nodes.kinds_left;
    return at(classes_, ask, computed_class);
  }
  /// Cached entries by computed class. Valid until the next call.
  [[nodiscard]] std::span<const std::uint32_t> of_classes(const tables::NodeTable& nodes, std::uint32_t ask) const {
    if (kinds_left_ != nodes.kinds_left || ask >= classes_.asks.size()) return {};
    return classes_.asks[ask];
  }

 private:
  friend struct MemoryAccess;
  struct Table {
    std::vector<std::vector<std::uint32_t>> asks;
    std::size_t size = 0;  // entries in all rows
  };
  static std::uint32_t& at(Table& table, std::uint32_t ask, std::uint32_t code) {
    if (ask < table.asks.size() && code < table.asks[ask].size()) return table.asks[ask][code];
    return grow(table, ask, code);
  }
  static std::uint32_t& grow(Table& table, std::uint32_t ask, std::uint32_t code);
  Table kinds_, classes_;
  std::vector<std::uint64_t> numbers_;  // by request
  std::uint64_t kinds_left_ = 0;        // NodeTable::kinds_left for which classes_ is valid
};

/// Row of the node with this ID, or kNoRow.
[[nodiscard]] tables::NodeRow find_node(const tables::Snapshot& snapshot, std::string_view id);

/// The side of a target on a node row, read from the columns. Its text belongs to the snapshot, to `target`, or to
/// `id_text`.
[[nodiscard]] match::Side resolve(const tables::Snapshot& snapshot, const match::Target& target,
                                  tables::ColumnId column, tables::NodeRow row, std::string& id_text);

/// Cache by state: a keyed column as dense arrays by node row, for spread scoring; rebuilt when a node registers.
struct ColumnMirror {
  std::uint64_t epoch = ~0ULL;
  std::deque<std::string> own_texts;       ///< texts that are in no table: IDs of nodes, literals
  std::vector<std::uint32_t> code_of_row;  ///< code - 1, or rank::kNoValue
  std::vector<std::string_view> text;      ///< by code - 1
  std::vector<std::uint32_t> ascending;    ///< codes - 1 in byte order of their texts
};

struct Scratch {
  model::Options options;    ///< of every evaluation processed with this scratch
  StrategyFit strategy_fit;  ///< replaces the fit component if a strategy is used
  /// Groups that are not placed, ascending: a dry run examines only the others. Their allocations stay unchanged.
  std::vector<tables::Symbol> passed_over;
  /// Score components of service and batch jobs that replace kScoreComponents; empty: kScoreComponents.
  std::span<const ScoreComponent> components;
  /// Resource kinds that replace kResourceKinds; empty: kResourceKinds.
  std::span<const ResourceKind> resources;
  Arena arena;
  tables::ShapePool shapes;  ///< resources of chosen nodes
  Reasons reasons;
  SourceCounts source_counts;  ///< sum of all evaluations

  /// Caches by content: valid for ever, because keys are never reused. Those by position in shared_slots.h store the
  /// numbers of the contents: enter() empties the entries of other numbers.
  struct {
    Verdicts verdicts;
    KindVerdicts kind_verdicts;
    VisitsPerOption visits_per_option;
    PortProfiles port_profiles;
    std::vector<std::uint64_t> constraint_numbers;  ///< CompiledConstraint::number by constraint id
    std::vector<std::uint32_t> constraint_reason;   ///< reason id by constraint id; 0 = none yet
  } by_content;

  /// Caches by state, which `feed` keeps current. The lists of ready nodes and the mirrors below are by state as well.
  struct {
    NodeFeed feed;
    std::deque<NodeIndex> indexes;  ///< by base set id, as far as requested
    AskTables ask_tables;
    RetryMemos retries;
    /// CheckState by node row: does the node have the host volumes `asked`? Only for the latest request.
    struct {
      std::uint64_t epoch = 0;
      std::string asked;
      std::vector<std::uint8_t> of_row;
    } volume_answers;
  } by_state;

  /// Caches by attempt.
  struct {
    std::vector<NodeMark> marks;  ///< by node row
    std::vector<NodeOverlay> overlays;
    std::uint32_t epoch = 0;
  } by_attempt;

  /// Memory that is reused. Its contents do not outlive a call, except `patterns`, which is a cache by content.
  struct {
    network::NetworkIndex network_index;
    rank::FitSum fit;
    match::Patterns patterns;
  } work;

  [[nodiscard]] bool passes_over(tables::Symbol group) const {
    return !passed_over.empty() && std::binary_search(passed_over.begin(), passed_over.end(), group);
  }
  /// The first evaluation reserves memory for at most this many placements.
  static constexpr std::size_t kPreparedAllocs = 1024;
  /// Allocates and touches the memory that evaluations on `nodes` nodes need.
  void prepare(std::size_t nodes);
  /// Starts an attempt: clears marks and overlays in O(1) (O(nodes) once every 2^32 attempts).
  void start_attempt(const tables::Snapshot& snapshot);
  [[nodiscard]] NodeMark& mark(tables::NodeRow row) {
    NodeMark& m = by_attempt.marks[row];
    if (m.epoch != by_attempt.epoch) m = {by_attempt.epoch, tables::kNoRow, tables::kNoRow};
    return m;
  }
  [[nodiscard]] const NodeOverlay* overlay(tables::NodeRow row) const {
    const NodeMark& m = by_attempt.marks[row];
    return m.epoch == by_attempt.epoch && m.overlay != tables::kNoRow ? &by_attempt.overlays[m.overlay] : nullptr;
  }
  [[nodiscard]] NodeOverlay& own_overlay(tables::NodeRow row);
  /// Prepares the caches by content for a version of a job. Call before they are read for it.
  void enter(const tables::Snapshot& snapshot, const tables::CompiledJob& job);
  /// Ready nodes of a base set in the snapshot.
  const ReadyNodes& ready_nodes(const tables::Snapshot& snapshot, std::uint32_t base_set);
  /// The list that the last call of the function above returned.
  [[nodiscard]] const ReadyNodes& ready_nodes(std::uint32_t base_set) const { return *ready_[base_set].last; }
  std::uint32_t reason_of(const tables::Snapshot& snapshot, tables::ConstraintId id);
  const ColumnMirror& mirror(const tables::Snapshot& snapshot, const tables::ColumnTarget& target);

 private:
  friend struct MemoryAccess;
  struct OfBaseSet {
    std::uint64_t number = 0;                       ///< BaseSet::number
    std::shared_ptr<const tables::BaseSet> shared;  ///< held, because `last` may point into it
    std::unique_ptr<ReadyNodes> own;                ///< follows the state
    const ReadyNodes* last = nullptr;
  };
  std::vector<OfBaseSet> ready_;  ///< by base set id
  /// A column, or the target itself if it has no column.
  using MirrorKey = std::tuple<tables::ColumnId, match::TargetKind, std::string>;
  std::map<MirrorKey, ColumnMirror> mirrors_;  // map, because its entries never move
};

}  // namespace berth::sched
