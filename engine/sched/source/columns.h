// Cache by attempt. The fast source for most Selects (kServes): no constraint escapes the computed class, no eviction,
// no volumes except host volumes of the nodes. It has the same decisions and metrics as Walk, which
// tests/sched/select_test.cc checks.
//
// Two observations carry it. (1) Once the class of each node was seen, it is known which nodes pass the checks. So the
// passing nodes form a list in visiting order, and a Select walks it without visiting the others; their number follows
// from the positions. (2) A node's components other than spread change only when the plan touches the node. So the list
// has their sum as a column, and spread is one lookup by the node's value.
//
//   by entry (a passing node, in visiting order):
//   position   4 B   in the visiting order, counted from where the columns were begun; ascending
//   row        4 B   node row
//   sum        8 B   of the appended components before spread (ScoreRow::sum)
//   appended   8 B   number of these components, as double; 0 while the node is exhausted
//   dimension  4 B   reason id of a node that is exhausted, or filtered until the plan changes there (distinct_hosts)
//   capacity   4 B   number of its capacity; there are few distinct ones
//   value      8 B   without spreads: the final score; NaN while the node is exhausted
//   score     64 B   the components of a node that has several
//   codes      4 B   per spread set and per distinct_property: value code
//
// Nodes are prepared in blocks ahead of the cursor. Preparing a node has no visible effect: only nodes that the cursor
// passed count as visited, which each Select records in the class ledger when it ends. The columns belong to one group
// and to consecutive Selects. After a Select of another group or by another source they start again at the cursor, with
// the class verdicts of the ledger. A node that the plan changes is decided again when a Select comes back to it.
//
// If an equal request was decided before, most of a block is read from its AskTable instead of being decided.
// The counts of a distinct_property change from Select to Select, so its failures are decided at each visit. In
// exhaustive mode without spreads, the final scores are in an index instead.
#pragma once

#include "rank/best_index.h"
#include "rank/window.h"
#include "sched/source/walk.h"

namespace berth::sched {

class Columns : Source {
 public:
  explicit Columns(SelectParts& parts) : Source(parts) {}

  /// Starts an attempt, another version of the job or another list of candidates.
  void start();
  static constexpr Needs kServes{Need::network,
                                 Need::dynamic_ports,
                                 Need::several_host_networks,
                                 Need::static_ports,
                                 Need::odd_ports,
                                 Need::task_network,
                                 Need::devices,
                                 Need::device_ids,
                                 Need::cores,
                                 Need::host_volumes,
                                 Need::distinct_hosts,
                                 Need::distinct_property,
                                 Need::affinity,
                                 Need::spread,
                                 Need::secrets,
                                 Need::several_groups,
                                 Need::wide_amounts,
                                 Need::no_ask_number,
                                 Need::evict_follows,
                                 Need::inherited_network,
                                 Need::host_networks,
                                 Need::plan_stops,
                                 Need::plan_updates,
                                 Need::exhaustive,
                                 Need::metrics,
                                 Need::shuffled_order,
                                 Need::strategy_score,
                                 Need::mixed_profiles,
                                 Need::mixed_kinds,
                                 Need::ports_or_cores_held,
                                 Need::invalid_nodes,
                                 Need::classes_by_node};
  /// The needs for which cached results of earlier evaluations apply (ask_table.h): checks by kind, fit by amounts
  /// alone.
  static constexpr Needs kScoresServe{
      Need::distinct_hosts, Need::distinct_property,   Need::spread,        Need::secrets,
      Need::several_groups, Need::wide_amounts,        Need::evict_follows, Need::plan_stops,
      Need::plan_updates,   Need::exhaustive,          Need::metrics,       Need::shuffled_order,
      Need::mixed_profiles, Need::ports_or_cores_held, Need::invalid_nodes};
  /// Fills the spread tables of the current Select; false: some score by value cannot be in a table.
  [[nodiscard]] bool fill_spread_tables();
  [[nodiscard]] std::optional<Found> select(GroupView& view);

  /// True if final scores and fit change only with a node itself, and no volumes are requested. Call after a Select.
  [[nodiscard]] bool settled() const { return asks_.is_settled && !asks_.volumes; }
  /// The node of the last Select, which was the attempt's last one too, received the allocation.
  void placed(tables::NodeRow node);
  /// The plan changed the node in another way.
  void touched(tables::NodeRow node);
  /// Writes the components of the best entries of the last Select: nodes to `out`, values consecutively to `values`.
  /// Returns the number of values.
  std::uint16_t log(std::span<const rank::ScoredNode> best, std::span<plan::ScoredNode> out, double* values) const;
  /// Calls visit(row, node class, why, filtered) for every node that passes the checks of its class and is not
  /// available: `why` is the exhausted dimension, or the reason why the node itself is filtered.
  template <class Visit>
  void each_that_fails(Visit visit) const {
    for (std::uint32_t entry = 0; entry < entries_.count; ++entry) {
      const tables::NodeRow row = entries_.row[entry];
      const std::uint32_t node_class = class_of_[entries_.position[entry]];
      if (entries_.appended[entry] == 0 && entries_.dimension[entry] == kReasonDistinctHosts)
        visit(row, node_class, kReasonDistinctHosts, true);
      else if (const feasible::PropertySet* const set = failing_property(entry))
        visit(row, node_class, checks_.distinct.reason_of(*set, row), true);
      else if (entries_.appended[entry] == 0)
        visit(row, node_class, entries_.dimension[entry], false);
    }
    if (!asks_.volumes) return;
    for (std::uint32_t position = 0; position < extent_.prepared; ++position)
      if (passes_[position] == kLacksVolumes) visit(row_at(position), class_of_[position], kReasonHostVolumes, true);
  }
  /// Appends the rows of the nodes that were prepared.
  void rows_read(std::vector<tables::NodeRow>& out) const {
    out.insert(out.end(), entries_.row.begin(), entries_.row.begin() + entries_.count);
  }

 private:
  struct FirstReason {
    std::uint32_t position, reason;
  };
  struct NodeReason {
    std::uint32_t position, reason, computed_class;
  };
  enum class Indexed : std::uint8_t { not_yet, yes, never };
  enum ClassState : std::uint8_t { kClassUnknown, kClassPasses, kClassFails };
  enum Passes : std::uint8_t { kFails, kPasses, kLacksVolumes };  // checks of job and group; then host volumes

  /// True if only placements by the columns happened since their last Select.
  [[nodiscard]] bool continues(const GroupView& view) const {
    return active_ && view_ == &view && extent_.selects == checks_.ledger().selects() &&
           extent_.offset == candidates_.offset;
  }
  void begin(GroupView& view);
  void take_columns();
  /// Place in the visiting order.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t position) const {
    const std::uint32_t place = extent_.base + position;
    return place < candidates_.size ? place : place - candidates_.size;
  }
  [[nodiscard]] tables::NodeRow row_at(std::uint32_t position) const {
    return candidates_.nodes->candidates[candidates_.order.at(place_of(position))].row;
  }
  /// The place after `place`.
  [[nodiscard]] std::uint32_t next(std::uint32_t place) const { return ++place == candidates_.size ? 0 : place; }
  // Preparing (columns.cc).
  [[nodiscard]] std::uint32_t cheap_block() const;
  void prepare_block(GroupView& view);
  [[nodiscard]] ClassState known_state(std::uint32_t class_id, std::uint32_t group) const;
  template <bool kPerClass>
  void find_entries(std::uint32_t end, GroupView& view);
  void drop_without_volumes(std::uint32_t first_entry);
  // With what earlier evaluations found.
  [[nodiscard]] AskTable* find_table(const GroupView& view);
  bool enter_known(std::uint32_t end, GroupView& view);
  std::uint64_t look_up(std::uint32_t first, std::uint32_t size, const ReadyNodes::Candidate** of,
                        std::uint64_t* known);
  void append_passing(std::uint32_t first, std::uint32_t size, std::uint64_t failing,
                      const ReadyNodes::Candidate* const* of, const std::uint64_t* known);
  void compute_result(const ReadyNodes::Candidate& candidate, GroupView& view);
  void store_results(std::uint32_t first, std::uint32_t end, std::uint32_t first_entry);
  void prefetch_core_tables(std::uint32_t first_entry) const;
  void read_codes(std::uint32_t first_entry);
  bool passes_by_node(std::uint32_t position, tables::NodeRow row, std::uint32_t computed_class, GroupView& view);
  bool use_by_amounts(std::uint32_t entry, GroupView& view, bool by_amounts, bool of_devices, FitUse& use);
  bool use_of_special(std::uint32_t entry, GroupView& view, bool by_amounts, bool ports_do, FitUse& use);
  struct Amounts;
  struct AmountBits;
  AmountBits gather_amounts(std::uint32_t first_entry, const tables::CompiledGroup& group, Amounts& out) const;
  void gather_capacity(std::uint32_t first_entry, Amounts& out) const;
  void score_block(std::uint32_t first_entry, GroupView& view, bool by_amounts);
  void score_by_strategy(std::uint32_t first_entry, GroupView& view, bool by_amounts);
  void set_score(std::uint32_t entry, const rank::ScoreRow& score);
  void set_fit(std::uint32_t entry, const tables::CompiledGroup& group, double component);
  void set_binpack(std::uint32_t entry, double component);
  void exhaust_entry(std::uint32_t entry, std::uint32_t dimension);
  void decide_entry(std::uint32_t entry, GroupView& view);
  void mark_stale(std::uint32_t entry);
  /// Decides again those entries of [first, last) whose node has changed since they were decided. When a Select takes
  /// many entries, about one in a thousand is stale.
  void freshen(std::uint32_t first, std::uint32_t last) {
    if (first > stale_.last) return;
    std::uint64_t stale = 0;
    const std::uint32_t end = std::min(last + kStaleAhead - 1, stale_.last) / 64;
    for (std::uint32_t word = first / 64; word <= end; ++word) stale |= stale_.entries[word];
    if (stale != 0) decide_stale(first, last);
  }
  void decide_stale(std::uint32_t first, std::uint32_t last);
  static constexpr std::uint32_t kStaleAhead = 16;  // entries prefetched
  // Iterating over entries (columns_select.cc).
  /// The first property set that the node fails (R-FEAS-1410), with the current plan; null: it passes all.
  [[nodiscard]] const feasible::PropertySet* failing_property(std::uint32_t entry) const {
    for (std::size_t p = 0; p < asks_.properties.size(); ++p)
      if (!asks_.properties[p]->passes(entries_.property_codes[p][entry])) return asks_.properties[p];
    return nullptr;
  }
  [[nodiscard]] std::optional<Found> select_window(GroupView& view);
  rank::WindowScores score_one_by_one(std::uint32_t first, std::uint32_t last);
  std::uint32_t visit_range(std::uint32_t first, std::uint32_t last, Best& best);
  int note_exhausted(std::uint32_t first, std::uint64_t entries);
  std::uint32_t visit_settled(std::uint32_t first, std::uint32_t last, Best& best);
  void components(std::uint32_t entry, rank::ScoreRow& score) const;
  void note_boosts(std::uint32_t entry);
  void move_cursor(std::uint32_t start, std::uint32_t end, std::uint32_t entry);
  [[nodiscard]] std::uint32_t entry_at(std::uint32_t position) const;
  [[nodiscard]] bool build_index(GroupView& view);
  void reindex(std::uint32_t entry);
  [[nodiscard]] std::optional<Found> select_indexed();
  [[nodiscard]] std::optional<Found> found(std::uint32_t entry, double score);
  void count_window(std::uint32_t start, std::uint32_t end);
  std::int32_t count_node_reasons(std::uint32_t start, std::uint32_t end);
  std::int32_t count_without_volumes(std::uint32_t start, std::uint32_t end);
  void count_exhausted();
  void count_exhausted(std::uint32_t entry);

  /// The columns by entry; see the head of the file.
  struct Entries {
    std::span<std::uint32_t> position;
    std::span<tables::NodeRow> row;
    std::span<double> sum, appended, spread, value;
    std::span<std::uint32_t> dimension, capacity;
    std::span<rank::ScoreRow> score;
    std::vector<std::span<std::uint32_t>> codes;           // by spread set
    std::vector<std::span<std::uint32_t>> property_codes;  // by property
    std::uint32_t count = 0;
  };
  /// Positions of Selects and of preparing in the visiting order.
  struct Extent {
    std::uint32_t base = 0;                 // where the cursor was when the columns were begun
    std::uint32_t selects = 0, offset = 0;  // of the ledger and the cursor, after the last Select
    std::uint32_t prepared = 0, cursor = 0, visited = 0;
    std::uint64_t looked = 0, wanted = 0;  // of the group, for LooksPerNode::note()
    std::uint32_t chosen = 0;              // entry of the last Select's node
  };
  /// What the group requests besides amounts, and cached data for it.
  struct Asks {
    bool distinct_hosts = false, volumes = false;
    bool is_settled = false;    // no spread and no property
    AskTable* table = nullptr;  // null: no help from earlier evaluations
    PortFit::ByProfile ports;   // of the current block
    std::vector<const feasible::PropertySet*> properties;
    std::vector<std::vector<double>> spread_tables;
    std::size_t spread_sets = 0;
    bool notes_boosts = false;  // a later group may need the lowest boost (R-RANK-832)
  };
  /// Entries first + i of a window that are exhausted or fail a property, as bits.
  struct Exhausted {
    std::uint32_t first;
    std::uint64_t entries;
  };
  /// Nodes that failed a check or are exhausted.
  struct Failing {
    std::vector<FirstReason> first_reasons;
    std::size_t next_reason = 0;
    std::vector<NodeReason> node_reasons;  // of nodes that fail a check that their class does not decide; ascending
    bool one_class = true, any_exhausted = false, one_dimension = true;
    std::uint32_t dimension = kReasonNone;
    SelectCounts::Tally classes, dimensions;
    std::vector<Exhausted> exhausted;  // of the last Select, in the order of its visits
  };
  /// Exhaustive, without spreads: the final scores of all entries by an index.
  struct BestOfAll {
    Indexed indexed = Indexed::not_yet;
    std::uint32_t exhausted_count = 0;
    rank::BestIndex index;
    std::vector<double> scores;  // memory for building it
  };
  struct Stale {
    std::vector<std::uint64_t> entries;  // bits of entries that changed since they were decided
    std::uint32_t last = 0;              // no bit is set above it
  };

  GroupView* view_ = nullptr;  // the group for which the columns were begun
  bool active_ = false;
  bool taken_ = false;     // this attempt has memory for the columns
  bool resumed_ = false;   // the ledger had class verdicts when the columns were begun
  bool untouched_ = true;  // only nodes of entries have an overlay (changes of the plan, the job's allocations)
  Extent extent_;
  Asks asks_;
  Entries entries_;
  Stale stale_;
  std::span<std::uint32_t> class_of_;    // node class, by position
  std::span<std::uint8_t> passes_;       // Passes, by position
  std::vector<ClassState> class_state_;  // by computed class
  Failing failing_;
  BestOfAll best_of_all_;
};

}  // namespace berth::sched
