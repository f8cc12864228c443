// The generic stack: one Select finds a node for one allocation of a task group (R-FEAS-3xx, R-RANK-2xx).
//
// Everything that a Select needs of a node is kept by *position* in the visiting order, because the cursor walks
// positions one after the other: the row and classes of the node (Position), and per group what was decided about it
// (Cell). A cell stays valid for the whole attempt, as the snapshot does not change, until the plan touches its node:
// then its fit is decided again. So a node is checked and scored once per change, however many Selects look at it.
//
//   Position  16 B  row, class codes, job checks              filled when the cursor first reaches the position
//   Cell      48 B  group checks, fit or dimension, scores    filled when a Select of the group first reaches it
//
// Which verdict a node gets also depends on its computed class and on who was visited first (R-FEAS-409 to 415): the
// class verdicts are arrays by class code and are consulted at every visit.
// Threads: a stack belongs to one worker and one attempt at a time.
#pragma once

#include <array>
#include <deque>
#include <map>

#include "base/stages.h"
#include "feasible/class_cache.h"
#include "feasible/csi_volumes.h"
#include "feasible/devices.h"
#include "feasible/distinct.h"
#include "feasible/host_volumes.h"
#include "feasible/network_check.h"
#include "plan/plan_rows.h"
#include "preempt/victims.h"
#include "rank/best_index.h"
#include "rank/devices.h"
#include "rank/order.h"
#include "rank/score_fit.h"
#include "rank/spread.h"
#include "rank/top_scores.h"
#include "sched/scratch.h"

namespace berth::sched {

struct StackConfig {
  rank::FitAlgorithm algorithm = rank::FitAlgorithm::binpack;
  bool memory_oversubscription = false;
  std::int64_t node_limit = 100;  ///< F of R-RANK-403
  rank::OrderProvider provider = rank::OrderProvider::nomad;
  bool plain_path = true;      ///< false: every Select takes the general path, and looks at every victim; for tests
  bool exhaustive = false;     ///< no limit and nothing set aside: the best of all nodes
  bool defer_metrics = false;  ///< exhaustive: metrics may be SelectMetrics::deferred
};

/// What the scheduler configuration says for a job, its pool's settings laid over it (R-SCHED-36, R-RANK-216).
[[nodiscard]] StackConfig stack_config(const tables::Snapshot& snapshot, const tables::CompiledJob& job,
                                       rank::OrderProvider provider);

struct SelectOptions {
  std::uint32_t name_index = 0;                    ///< of the allocation, for per-allocation volumes
  std::string_view name;                           ///< its whole name where it is not made of the index
  std::span<const tables::NodeRow> penalty_nodes;  ///< R-RANK-1105
  bool evict = false;                              ///< the second pass of R-PREEMPT-105
  bool then_evict = false;                         ///< a first pass: what it counts is dropped if it finds nothing
};

/// The node a Select found.
struct Selected {
  tables::NodeRow node = tables::kNoRow;
  double score = 0;
  const tables::ResourceShape* held = nullptr;  ///< what the allocation will hold
  /// Owner of `held` where ports, devices or cores were assigned; null where it is the group's own shape.
  std::shared_ptr<const tables::ResourceShape> shape;
  /// Who must go for it, in order of choice (V of part 04); belongs to the attempt's arena.
  std::span<const tables::AllocRow> victims;
};

/// Candidates with a score of 0 or less that one Select may put aside (R-RANK-411).
inline constexpr std::uint32_t kSetAside = 3;

class GenericStack {
 public:
  explicit GenericStack(Scratch& scratch) : scratch_(scratch) {}

  /// A new attempt on `snapshot`: fresh class cache, limit, cursor. `plan` is the attempt's plan, empty at the start.
  void start(const tables::Snapshot& snapshot, PlanRows& plan);
  /// No-op when the version is the one given last (R-FEAS-310, R-RANK-215). Another one keeps the class verdicts and
  /// distinct_property sets of the attempt, by group name (R-FEAS-413, 1403, 1404); fixed: each version has its own.
  void set_job(const tables::CompiledJob& job, const StackConfig& config);
  /// The candidates in ascending ID; shuffled by the order provider (R-FEAS-202, R-RANK-304). Rewinds the cursor.
  [[nodiscard]] Result<void> set_nodes(const ReadyNodes& nodes, std::uint32_t base_set, std::string_view eval_id,
                                       std::size_t placements = 1);

  /// One Select for the group at position `group` of the job's list. Metrics of the Select are in metrics().
  [[nodiscard]] std::optional<Selected> select(std::uint32_t group, const SelectOptions& options);

  /// One Select among the node `row` alone, which need not be a candidate (R-FEAS-213, R-SCHED-112). The candidates'
  /// cursor is where it was; whoever prefers a node rewinds it.
  [[nodiscard]] std::optional<Selected> select_one(tables::NodeRow row, std::uint32_t group,
                                                   const SelectOptions& options);
  void rewind() { offset_ = 0; }  ///< R-FEAS-212

  // The system stack (stack_system.cc): no limit, no wishes, one named node a Select.
  /// A new attempt of a system or sysbatch job; set_job() follows as usual. `evict`: every Select may have victims.
  void start_system(const tables::Snapshot& snapshot, PlanRows& plan, bool evict);
  /// Whose counts go into the metrics; the lists stay with the caller.
  void set_candidates(const ReadyNodes& nodes, std::uint32_t base_set);
  /// One Select on `row` for the name `<job Name>.<group>[<name_index>]`. `probe`: for an update in place, whose
  /// victims nobody evicts (R-PREEMPT-807); fixed: it looks for none.
  [[nodiscard]] std::optional<Selected> select_node(tables::NodeRow row, std::uint32_t group, std::uint32_t name_index,
                                                    bool probe = false);
  /// Whether a blocked evaluation has escaped: the groups' flags are lost (R-FEAS-412); fixed: kept.
  [[nodiscard]] bool has_escaped_system() const { return fixed_ ? classes_.has_escaped() : job_->escapes; }
  [[nodiscard]] bool was_filtered() const { return filtered_ > 0; }  ///< the last Select's node failed a check
  /// What the last select_node() counted; the lists are valid until the next one.
  [[nodiscard]] SelectMetrics counted() const;
  /// Likewise, in the attempt's arena.
  [[nodiscard]] SelectMetrics take_node_metrics();
  /// R-FEAS-116: adds the candidates' counts, and the pool's name if `names_pool`.
  void add_candidates(SelectMetrics& metrics, bool names_pool) const;
  /// Adds the score record of the node just selected (R-RANK-902, 1006).
  void add_score(SelectMetrics& metrics, double final_score);

  /// State index that seeds the visiting order from the next set_nodes() on; 0: the snapshot's.
  void set_order_index(std::uint64_t index) { order_index_ = index; }
  /// Appends the rows of the nodes whose use this attempt looked at; false when that may be any node.
  [[nodiscard]] bool rows_read(std::vector<tables::NodeRow>& out) const;

  /// Metrics of the last Select, copied into the attempt's arena.
  [[nodiscard]] SelectMetrics take_metrics();

  /// Puts the victims of a Select into the plan, for the allocation that is appended next (R-PREEMPT-801).
  void preempt(const Selected& selected);
  /// Tells the stack that a planned allocation was appended to the plan on its node.
  void placed(const PlannedAlloc& alloc);
  /// Tells it that an allocation of the job, plan.stops[index] or plan.updates[index], was appended to the plan.
  void stopped(std::uint32_t index);
  void updated(std::uint32_t index);
  /// Whether the plan has a new allocation on the node.
  [[nodiscard]] bool places_on(tables::NodeRow node) const {
    const NodeOverlay* overlay = scratch_.overlay(node);
    return overlay && overlay->first_alloc != tables::kNoRow;
  }
  /// Takes back the stop of `alloc` if it is the last one on its node (R-SCHED-27); false if it is not.
  bool pop_stop(tables::AllocRow alloc);
  /// Takes the last stop out of the plan and of its node's chain; it was popped before.
  void forget_last_stop();
  /// The plan's entry for an existing allocation, or null.
  [[nodiscard]] plan::PlannedUpdate* update_of(tables::AllocRow alloc);

  /// Class verdicts merged over job and groups (R-FEAS-1701): code of the computed class column -> eligible.
  void class_map(std::vector<std::pair<std::uint32_t, bool>>& out);
  [[nodiscard]] bool has_escaped() const { return classes_.has_escaped(); }  ///< R-FEAS-408
  /// Why processing must end (R-FEAS-933, R-RANK-618); empty when nothing happened.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::vector<std::string>& missing_resources() const { return missing_resources_; }
  [[nodiscard]] std::uint32_t port_collision_events() const { return port_events_; }

 private:
  struct Position {
    tables::NodeRow row;
    std::uint32_t computed_class, node_class;
    std::uint8_t job_checks;  // kUnknown, kPass, kFail
  };
  struct Cell {
    double binpack, devices, anti_affinity, affinity;
    double prefix;            // sum of the appended components before spread, in stage order (R-RANK-901)
    std::uint32_t dimension;  // reason id when exhausted; kReasonNone: dropped without a metric (R-RANK-612)
    std::uint8_t group_checks, fit, appended;
    bool has_devices;
    bool collides;  // anti-affinity is appended
  };
  enum : std::uint8_t { kUnknown, kPass, kFail };

  struct GroupView {
    const tables::CompiledGroup* group = nullptr;
    std::uint32_t number = 0;                     // of its name in this attempt
    std::span<Cell> cells;                        // by position, valid below frontier_; then the one of select_one()
    std::vector<match::DeviceRequest> devices;    // of all tasks, compiled
    std::optional<feasible::NetworkAsk> network;  // absent: the group has no network
    bool distinct_built = false;
  };
  /// What a placement on one node would hold, built step by step where ports, devices or cores are involved.
  struct Option {
    model::AllocatedResources resources;
    FitUse use;                    ///< of the node with it
    std::int64_t ask_cpu_mhz = 0;  ///< its own part, cores included
    double device_weight = 0, device_matched = 0;
    std::uint32_t dimension = kReasonNone;
  };

  GroupView& view(std::uint32_t group);
  GroupView& begin_select(std::uint32_t group, const SelectOptions& options);
  [[nodiscard]] bool is_penalised(tables::NodeRow row) const;
  [[nodiscard]] bool checks_distinct(const GroupView& view) const;
  std::uint32_t number_of(tables::Symbol name);
  [[nodiscard]] std::uint32_t number_in_plan(const PlannedAlloc& alloc);
  void touch(tables::NodeRow row);
  void change_use(tables::NodeRow row, const tables::ResourceShape& shape, int sign);
  [[nodiscard]] bool is_own(tables::AllocRow alloc) const;
  void count_own(tables::AllocRow alloc, int sign);
  template <class Visit>
  void each_plan_entry(Visit visit);
  void take_position(std::uint32_t position);
  void reach(std::uint32_t position);
  bool feasible(std::uint32_t position, GroupView& view);
  [[nodiscard]] bool is_special(tables::NodeRow row, const tables::CompiledGroup& group) const;
  void count_existing(feasible::PropertySet& set);
  [[nodiscard]] tables::ColumnId column_of(const match::Target& target) const;
  bool job_checks(Position& position);
  bool group_checks(const Position& position, GroupView& view, Cell& cell);
  bool group_checks_by_node(const Position& position, GroupView& view, Cell& cell, feasible::ClassStatus status);
  void change_version(const tables::CompiledJob& from, const tables::CompiledJob& to);
  [[nodiscard]] bool is_existing(tables::AllocRow alloc) const;
  [[nodiscard]] bool takes_away(std::uint32_t stop) const;
  bool available(const Position& position);
  void prepare_volumes(const GroupView& view);
  std::string_view keep(std::string text);
  feasible::AllocView alloc_view(tables::AllocRow row);
  std::vector<feasible::AllocView> node_views(tables::NodeRow row, bool proposed_only);
  [[nodiscard]] tables::NodeRow row_of(std::string_view node_id) const;
  bool rank(std::uint32_t position, GroupView& view, double& final_score);
  double final_of(std::uint32_t position, const GroupView& view, const Cell& cell, const double* preemption);
  void decide_fit(const Position& position, const GroupView& view, Cell& cell);
  void decide_fit_special(const Position& position, const GroupView& view, Cell& cell);
  bool build_option(const Position& position, const GroupView& view, Option& option);
  void proposed(tables::NodeRow row, std::vector<const tables::ResourceShape*>& out);
  void proposed_special(tables::NodeRow row, std::vector<const tables::ResourceShape*>& out);
  void sum_others(tables::NodeRow row, bool count_each);
  bool serve_devices(std::span<const match::DeviceRequest> requests, tables::NodeRow row, bool evict, Option& option,
                     model::AllocatedTask& allocated);

  /// What a group makes of the use of a node on which nobody holds ports or cores, and the first figure that is short
  /// (R-RANK-532, 533); kReasonNone: it fits.
  struct PlainFit {
    FitUse use;
    std::uint32_t dimension;
  };
  static constexpr NodeOverlay kUntouched{};
  static PlainFit plain_fit(const tables::NodeCapacity& capacity, const tables::NodeUse& use,
                            const NodeOverlay& overlay, const tables::CompiledGroup& group) {
    PlainFit out{{use.cpu_mhz + overlay.cpu_mhz + group.cpu_mhz, use.memory_mb + overlay.memory_mb + group.memory_mb,
                  use.disk_mb + overlay.disk_mb + group.disk_mb},
                 kReasonNone};
    if (capacity.max_allocs != 0 && capacity.max_allocs <= static_cast<std::int64_t>(use.alloc_count) + overlay.allocs)
      out.dimension = kDimensionMaxAllocs;
    else if (capacity.cpu_mhz < out.use.cpu_mhz)
      out.dimension = kDimensionCpu;
    else if (capacity.memory_mb < out.use.memory_mb)
      out.dimension = kDimensionMemory;
    else if (capacity.disk_mb < out.use.disk_mb)
      out.dimension = kDimensionDisk;
    return out;
  }

  // Evict mode (stack_preempt.cc).
  /// A node visited by the Select under way: an option, with or without victims, or none.
  struct EvictOption {
    std::uint32_t position = 0;
    Cell cell;
    std::span<const tables::AllocRow> victims;
    double preemption = 0;  // score component; 0 without victims
  };
  const EvictOption& decide_evicting(std::uint32_t position, const GroupView& view, const tables::EvictionBound& room);
  bool is_outdone(std::uint32_t position, const GroupView& view, const tables::EvictionBound& room, double& bound);
  [[nodiscard]] std::int64_t highest_evicted() const;
  double best_preemption(const tables::EvictionBound& room, std::int32_t least);
  [[nodiscard]] static tables::Amounts free_of(const tables::NodeCapacity& capacity, const tables::NodeUse& use) {
    return tables::Amounts{capacity.cpu_mhz, capacity.memory_mb, capacity.disk_mb}.without(
        {use.cpu_mhz, use.memory_mb, use.disk_mb});
  }
  [[nodiscard]] tables::EvictionBound room_by_eviction(tables::NodeRow row, const tables::NodeCapacity& capacity,
                                                       const tables::CompiledGroup& group) const;
  [[nodiscard]] const EvictOption& evict_option(std::uint32_t position) const;
  void evict_plain(const Position& position, const GroupView& view, Cell& cell);
  [[nodiscard]] bool has_preemptible(tables::NodeRow row) const;
  bool full(GroupView& view);
  [[nodiscard]] std::int64_t evicting_priority() const;
  void prefetch_alloc(tables::AllocRow alloc) const;
  void prefetch_evicting(std::uint32_t position);
  void collect_candidates();
  bool take_victims();
  bool evict_for_network(const model::NetworkResource& ask, const rank::NodePorts& ports, const Option& option);
  bool evict_for_device(const match::DeviceRequest& request, tables::NodeRow row, const Option& option,
                        const model::AllocatedTask& task);
  bool evict_for_resources(tables::NodeRow row, const model::FlatResources& ask, const model::FlatResources& room);
  void sum_staying(FitUse& use) const;
  void count_preempted(tables::AllocRow alloc, preempt::Candidate& candidate) const;
  [[nodiscard]] bool leaves(tables::NodeRow row, tables::AllocRow alloc) const;  // stopped or preempted by the plan
  [[nodiscard]] bool stays(const NodeOverlay* overlay, tables::AllocRow alloc) const;  // proposed: there after the plan
  [[nodiscard]] const plan::PlannedUpdate* update_on(const NodeOverlay* overlay, tables::AllocRow alloc) const;
  template <class Visit>
  void each_relisted(tables::NodeRow row, Visit visit) const;
  [[nodiscard]] const tables::ResourceShape& shape_after(const NodeOverlay* overlay, tables::AllocRow alloc) const;
  void start_accounter(tables::NodeRow row);

  bool distinct(const Position& position, const GroupView& view);
  void prepare_distinct(GroupView& view);
  [[nodiscard]] std::uint32_t property_code(const match::Target& target, tables::NodeRow row) const;
  void prepare_spread(GroupView& view);
  /// `proposed_known`: proposed_ holds at least those of the node's proposed allocations that hold devices.
  void score(const Position& position, const GroupView& view, Cell& cell, const FitUse& use,
             bool proposed_known = false);
  double strategy_component(tables::NodeRow row, const tables::CompiledGroup& group, const FitUse& use,
                            bool proposed_known);
  void filter(const Position& position, std::uint32_t reason);
  void exhaust(const Position& position, std::uint32_t dimension);
  void load_own_allocs();

  // All of them by bounds (stack_bounds.cc).
  struct Bounds {
    std::vector<double> of_candidate;  // beside ReadyNodes::candidates
    std::vector<std::uint8_t> class_passes;
    std::vector<std::pair<double, double>> inverses;  // beside ReadyNodes::capacities: of cpu, of memory
  };
  [[nodiscard]] bool bounds_serve(const GroupView& view) const;
  void bound_options(GroupView& view);
  [[nodiscard]] std::optional<Selected> select_by_bounds(GroupView& view);

  // The plain path (stack_plain.cc).
  struct PlainParts {
    double binpack, devices, anti_affinity, affinity;
    bool has_devices;
  };
  struct FirstReason {
    std::uint32_t position, reason;
  };
  struct NodeReason {
    std::uint32_t position, reason, computed_class;
  };
  /// The last fit score of a capacity: most nodes of one capacity are used alike, empty ones above all.
  struct CapacityMemo {
    std::int64_t cpu = -1, memory = -1;  // with the ask; -1: none yet
    double component = 0;
  };
  struct Plain {
    bool active = false;
    bool left = false;  // this attempt went over to the general path
    std::uint32_t prepared = 0, count = 0, cursor = 0, visited = 0;
    std::span<std::uint32_t> position;
    std::span<tables::NodeRow> row;
    std::span<double> prefix, appended, spread;
    std::span<std::uint32_t> dimension, class_of;
    std::span<PlainParts> parts;
    std::span<std::uint32_t> capacity;  // position in ReadyNodes::capacities
    std::span<std::uint8_t> passes;     // by position
    std::vector<std::uint8_t> class_state;
    std::vector<CapacityMemo> memo;  // by position in ReadyNodes::capacities
    std::vector<FirstReason> first_reasons;
    std::size_t next_reason = 0;
    std::vector<NodeReason> node_reasons;  // fixed: of nodes that fail a check of their own, ascending
    bool no_own_allocs = true;
    std::uint32_t chosen = 0;  // entry of the last Select's node
    bool one_class = true, exhausted_any = false, one_dimension = true;
    std::uint32_t exhausted_dimension = kReasonNone;
    // Exhaustive, without spreads: the final scores of all entries by an index (select_indexed).
    enum class Indexed : std::uint8_t { not_yet, yes, never } indexed = Indexed::not_yet;
    std::uint32_t exhausted_count = 0;
    rank::BestIndex index;
    std::vector<double> scores;  // scratch of its making
    std::size_t spread_sets = 0;
    std::vector<std::span<std::uint32_t>> codes;
    std::vector<std::vector<double>> tables;
  };
  [[nodiscard]] bool plain_group(const GroupView& view, const SelectOptions& options) const;
  template <bool kDetailed>
  [[nodiscard]] std::optional<Selected> select_general(GroupView& view);
  void start_plain();
  void prepare_block(GroupView& view);
  void score_by_strategy(std::uint32_t first_entry, GroupView& view, bool simple);
  template <bool kFixed>
  void find_entries(std::uint32_t end, GroupView& view);
  bool passes_by_node(std::uint32_t position, tables::NodeRow row, std::uint32_t computed_class, GroupView& view);
  std::int32_t count_node_reasons(std::uint32_t start, std::uint32_t end);
  void exhaust_entry(std::uint32_t entry, std::uint32_t dimension);
  void decide_entry(std::uint32_t entry, GroupView& view);
  bool fill_spread_tables();
  [[nodiscard]] std::optional<Selected> select_plain(GroupView& view);
  [[nodiscard]] bool build_index(GroupView& view);
  void reindex(std::uint32_t entry);
  [[nodiscard]] std::optional<Selected> select_indexed(GroupView& view);
  // The best of all by an index that outlives evaluations (stack_indexed.cc).
  struct Touched {
    double score;
    std::uint32_t position, overlay, stamp;
  };
  struct Indexed {
    const tables::CompiledGroup* group = nullptr;  // what it was started for; null: not started
    NodeIndex* nodes = nullptr;                    // null: does not serve them
    rank::IndexAsk ask;
    std::vector<std::uint8_t> class_passes;  // by place in ReadyNodes::of_class
    std::vector<tables::NodeRow> changed;    // that the plan touched since the last Select
    std::vector<std::uint32_t> stamp;        // by overlay: how often it was decided
    std::vector<Touched> touched;  // heap of the nodes that the plan touched, best first; stale ones among them
    std::vector<std::uint32_t> asked_of_classes;
    GroupView* view = nullptr;
    bool answered = false;                // a Select of `view`, and leave_index() was not called since
    bool asked = false;                   // `rest` is known
    std::optional<NodeIndex::Best> rest;  // the best of the other nodes
  };
  [[nodiscard]] bool index_serves(GroupView& view);
  [[nodiscard]] std::optional<Selected> select_by_index(GroupView& view);
  void decide_touched(tables::NodeRow row, GroupView& view);
  void give_class_verdicts(GroupView& view);
  void leave_index();
  void forget_index();
  [[nodiscard]] bool fails_by_figures(const GroupView& view) const;
  [[nodiscard]] bool ports_are_silent(const GroupView& view);
  [[nodiscard]] bool ports_collide(const rank::NodePorts& ports);
  [[nodiscard]] bool is_plain_ask(const GroupView& view) const;
  void count_window(std::uint32_t start, std::uint32_t end);
  void count_exhausted(std::uint32_t start, std::uint32_t end, std::uint32_t exhausted);
  void plain_top(std::uint32_t entry, ScoredNode& node, double* values, std::uint16_t& count) const;
  void leave_plain(GroupView& view);
  /// Reason id of the first check of job and group that the node fails, or kReasonNone.
  /// `of_node`: whether it is one of those that a class does not decide (drivers, devices, network).
  std::uint32_t first_failing(tables::NodeRow row, GroupView& view, bool* of_node = nullptr);
  /// `class_passes`: what the class decides (constraints, secrets) was found to hold before.
  std::uint32_t first_failing_group_check(tables::NodeRow row, GroupView& view, bool class_passes = false,
                                          bool* of_node = nullptr);
  double fit_component(std::int64_t cpu, double cpu_capacity, std::int64_t memory, double memory_capacity);
  Selected chosen(tables::NodeRow node, double score, const GroupView& view, const Position& position,
                  std::span<const tables::AllocRow> victims = {});
  static void count(std::vector<Count>& counts, std::uint32_t what, std::int32_t times);
  [[nodiscard]] std::int32_t collisions(tables::NodeRow row, tables::Symbol group) const;

  struct OwnCount {
    tables::Symbol group = 0;
    std::int32_t any_namespace = 0, own_namespace = 0;
    std::uint32_t next = tables::kNoRow;
  };
  OwnCount& own_count(tables::NodeRow row, tables::Symbol group);

  Scratch& scratch_;
  const tables::Snapshot* snapshot_ = nullptr;
  PlanRows* plan_ = nullptr;
  bool fixed_ = false;  // compat = fixed: without the quirks of Nomad that the rules tell
  const tables::CompiledJob* job_ = nullptr;
  const tables::CompiledJob* spread_job_ = nullptr;  // whose job-level spreads are in force (R-RANK-215)
  std::vector<const tables::CompiledJob*> given_;    // versions given in this attempt
  std::vector<tables::Symbol> names_;                // group names of them, by number
  std::vector<std::uint32_t> numbers_;               // of the groups of job_
  bool all_read_ = false;                            // what was decided depends on every node's use
  bool probed_ = false;  // verdicts were stored by select_one(): the plain path does not know them
  StackConfig config_;

  const ReadyNodes* nodes_ = nullptr;
  std::uint32_t base_set_ = 0;
  rank::VisitingOrder order_;
  std::uint64_t order_index_ = 0;
  std::span<Position> positions_;
  std::uint32_t size_ = 0, offset_ = 0, frontier_ = 0;
  std::int64_t limit_ = 2, list_limit_ = 2;  // now, and as the list of candidates sets it

  feasible::ClassCache classes_;
  feasible::PropertySets properties_;
  /// fixed: what the attempt knows of a version that was given before and is not now (R-FEAS-413, 1403, 1404).
  struct OtherVersion {
    const tables::CompiledJob* job = nullptr;
    feasible::ClassCache classes;
    feasible::PropertySets properties;
  };
  std::vector<OtherVersion> other_versions_;
  feasible::NetworkAsk network_ask_;  // of the last group that had a network (R-FEAS-309)
  rank::SpreadState spread_;
  rank::SpreadGroup* spread_group_ = nullptr;  // of the Select under way; null without spreads
  std::vector<GroupView> views_;
  std::vector<OwnCount> own_counts_;
  std::vector<std::string> missing_resources_;
  std::uint32_t port_events_ = 0;

  // The Select under way.
  base::StageClock* detail_ = nullptr;  // where its stages are marked; null: not inside
  SelectOptions options_;
  std::int32_t evaluated_ = 0, filtered_ = 0, exhausted_ = 0;
  std::vector<Count> reasons_, classes_filtered_, dimensions_, classes_exhausted_;
  std::vector<Count> first_pass_reasons_;  // fixed: of the pass before the evicting ones (R-FEAS-1605)
  rank::TopScores top_;
  std::vector<ScoredNode> top_list_;
  std::vector<rank::SpreadProperty> spread_properties_;
  std::vector<double> spread_total_;  // by position, of the nodes scored in this Select
  GroupView* current_ = nullptr;
  Option option_;
  std::vector<const tables::ResourceShape*> proposed_;
  std::vector<tables::AllocRow> by_id_;
  std::vector<std::pair<base::Uuid, tables::AllocRow>> ordered_;
  feasible::VolumeState volume_state_;
  std::optional<feasible::HostVolumeCheck> host_volumes_;
  std::optional<feasible::CsiVolumeCheck> csi_volumes_;
  std::deque<std::string> kept_texts_;  // what the views of this Select point to
  std::string error_;
  Plain plain_;
  Indexed indexed_;
  bool by_index_ = false;          // this Select was answered by it
  std::uint32_t empty_class_ = 0;  // code of the node class "", 0 if no node has it

  /// Fit scores of node shapes met lately: clusters have few, and 10^y twice costs more than a look.
  struct FitMemo {
    std::int64_t cpu, memory;
    double cpu_capacity, memory_capacity, component;
  };
  std::array<FitMemo, 64> fit_memo_{};
  bool fit_memo_valid_ = false;

  std::optional<rank::DeviceAccounter> accounter_;  // of the option being built, for groups with devices

  /// first_failing() of nodes of one kind.
  struct KindVerdict {
    const tables::CompiledGroup* group = nullptr;
    std::uint32_t computed_class = 0;
    tables::Symbol check_profile = 0;
    std::uint32_t reason = kReasonNone;
    [[nodiscard]] bool is_for(const KindVerdict& other) const {
      return group == other.group && computed_class == other.computed_class && check_profile == other.check_profile;
    }
  };
  std::uint32_t first_failing_known(const Position& position, GroupView& view);
  std::vector<KindVerdict> kind_verdicts_;
  KindVerdict last_verdict_;

  // The system stack.
  bool system_ = false, system_evict_ = false;
  const tables::CompiledGroup* network_group_ = nullptr;  // whose network network_ask_ holds
  const Cell* node_cell_ = nullptr;                       // of the last select_node()
  struct NodeScore {
    ScoredNode node;
    double values[2];
  };
  std::span<NodeScore> node_scores_;  // room for score records

  const tables::CompiledGroup* full_group_ = nullptr;  // for whom the last Select found no room by full()
  bool no_port_conflicts_ = false;  // of stored allocations, anywhere: who holds ports matters to port asks only
  Bounds bounds_;
  bool evicting_ = false;                   // the option being built may have victims
  std::vector<EvictOption> evict_options_;  // of this Select, in visiting order
  std::vector<tables::AllocRow> victims_;   // of the option being built (V)
  std::vector<tables::AllocRow> candidate_rows_;
  std::vector<preempt::Candidate> candidates_;
  preempt::Victims chosen_;
  std::map<std::pair<tables::JobKeyRow, tables::Symbol>, std::int64_t> preempted_;  // fixed: by the plan, per group
  preempt::Scratch preempt_scratch_;
  /// Preemption scores met lately, by the highest priority and the sum of those that would go.
  struct PreemptionMemo {
    std::int64_t highest = 0, sum = 0;
    double score = 0;
  };
  std::array<PreemptionMemo, 256> preemption_memo_{};
};

/// The finished allocations of a node that the plan lists again: they hold cores and volumes, nothing else
/// (R-RANK-641, R-FEAS-1109).
template <class Visit>
void GenericStack::each_relisted(tables::NodeRow row, Visit visit) const {
  const NodeOverlay* overlay = scratch_.overlay(row);
  if (!overlay || overlay->relisted == 0) return;
  for (std::uint32_t i = overlay->first_update; i != tables::kNoRow; i = plan_->updates[i].next_on_node)
    if (!plan_->updates[i].dropped && tables::client_terminal(snapshot_->allocs.client[plan_->updates[i].alloc]))
      visit(plan_->updates[i].alloc);
}

}  // namespace berth::sched
