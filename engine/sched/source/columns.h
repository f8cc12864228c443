// Cache by attempt. The fast source for most Selects (kServes): no constraint escapes the computed class, no eviction,
// no volumes except host volumes of the nodes. It has the same decisions and metrics as Walk, which
// tests/sched/select_test.cc checks.
//
// Two observations carry it. (1) Once the class of each node was seen, it is known which nodes pass the checks. So the
// passing nodes form a list in visiting order (passing_nodes.h), and a Select walks it without visiting the others;
// their number follows from the positions. (2) A node's components other than spread change only when the plan touches
// the node. So the list has their sum as a column, and spread is one lookup by the node's value.
//
// Nodes are prepared in blocks ahead of the cursor:
//
//   known_results.h   reads the block from the table of an equal request, if it was decided before; else
//   block_checks.h    which candidates pass the checks
//   block_fit.h       whether the group fits on those, and their scores
//   read_codes()      values of spreads and properties
//
// Preparing a node has no visible effect: only nodes that the cursor passed count as visited, which each Select records
// in the class ledger when it ends. The columns belong to one group and to consecutive Selects. After a Select of
// another group or by another source they start again at the cursor, with the class verdicts of the ledger. A node that
// the plan changes is decided again when a Select comes back to it.
//
// The counts of a distinct_property change from Select to Select, so its failures are decided at each visit. In
// exhaustive mode without spreads, the final scores are in an index instead.
#pragma once

#include "rank/best_index.h"
#include "rank/window.h"
#include "sched/source/exhausted_counts.h"
#include "sched/source/known_results.h"
#include "sched/source/walk.h"

namespace berth::sched {

class Columns : Source {
 public:
  explicit Columns(SelectParts& parts) : Source(parts) {}

  /// Starts an attempt, another version of the job or another list of candidates.
  void start() {
    active_ = false;
    nodes_.start();
  }
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
                                 Need::classes_by_node,
                                 Need::domain};
  /// Fills the spread tables of the current Select; false: some score by value cannot be in a table.
  [[nodiscard]] bool fill_spread_tables();
  [[nodiscard]] std::optional<Found> select(GroupView& view);

  /// True if final scores and fit change only with a node itself, and no volumes are requested. Call after a Select.
  [[nodiscard]] bool settled() const { return is_settled_ && !block_checks_.has_volumes(); }
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
    for (std::uint32_t entry = 0; entry < nodes_.count; ++entry) {
      const tables::NodeRow row = nodes_.row[entry];
      const std::uint32_t node_class = nodes_.class_of(entry);
      if (nodes_.appended[entry] == 0 && nodes_.dimension[entry] == kReasonDistinctHosts)
        visit(row, node_class, kReasonDistinctHosts, true);
      else if (const feasible::PropertySet* const set = nodes_.failing_property(entry))
        visit(row, node_class, checks_.distinct.reason_of(*set, row), true);
      else if (nodes_.appended[entry] == 0)
        visit(row, node_class, nodes_.dimension[entry], false);
    }
    if (!block_checks_.has_volumes()) return;
    for (std::uint32_t position = 0; position < nodes_.order.prepared; ++position)
      if (nodes_.order.passes[position] == PassingNodes::kLacksVolumes)
        visit(nodes_.at_place(nodes_.place_of(position)).row, nodes_.order.class_of[position], kReasonHostVolumes,
              true);
  }
  /// Appends the rows of the nodes that were prepared.
  void rows_read(std::vector<tables::NodeRow>& out) const {
    out.insert(out.end(), nodes_.row.begin(), nodes_.row.begin() + nodes_.count);
  }

 private:
  /// True if only placements by the columns happened since their last Select.
  [[nodiscard]] bool continues(const GroupView& view) const {
    return active_ && view_ == &view && cursor_.selects == checks_.ledger().selects() &&
           cursor_.offset == candidates_.offset;
  }
  void begin(GroupView& view);
  // Preparing (columns.cc).
  [[nodiscard]] std::uint32_t cheap_block() const;
  void prepare_block(GroupView& view);
  void read_codes(std::uint32_t first_entry);
  void has_changed(std::uint32_t entry);
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
  [[nodiscard]] std::optional<Found> select_window(GroupView& view);
  rank::WindowScores score_one_by_one(std::uint32_t first, std::uint32_t last);
  std::uint32_t visit_range(std::uint32_t first, std::uint32_t last, Best& best);
  std::uint32_t visit_settled(std::uint32_t first, std::uint32_t last, Best& best);
  void components(std::uint32_t entry, rank::ScoreRow& score) const;
  void note_boosts(std::uint32_t entry);
  void move_cursor(std::uint32_t start, std::uint32_t end, std::uint32_t entry);
  [[nodiscard]] bool build_index(GroupView& view);
  void reindex(std::uint32_t entry);
  [[nodiscard]] std::optional<Found> select_indexed();
  [[nodiscard]] std::optional<Found> found(std::uint32_t entry, double score);

  /// The Selects of the group so far.
  struct Cursor {
    std::uint32_t selects = 0, offset = 0;    // number of Selects in the ledger, and offset of the candidates
    std::uint32_t entry = 0;                  // the first one to visit
    std::uint32_t visited = 0;                // positions below it were visited
    std::uint64_t positions = 0, wanted = 0;  // visited, and number of options, for VisitsPerOption::note()
    std::uint32_t chosen = 0;                 // entry of the last Select's node
  };
  struct Spread {
    std::size_t sets = 0;
    std::vector<std::vector<double>> tables;  // by set, by code
    bool notes_boosts = false;                // a later group may need the lowest boost (R-RANK-832)
  };
  /// Exhaustive, without spreads: the final scores of all entries by an index.
  struct BestOfAll {
    enum State : std::uint8_t { not_yet, yes, never } indexed = not_yet;
    std::uint32_t exhausted_count = 0;
    rank::BestIndex index;
    std::vector<double> scores;  // memory for building it
  };
  struct Stale {
    std::vector<std::uint64_t> entries;  // bits of entries that changed since they were decided
    std::uint32_t last = 0;              // no bit is set above it
  };

  PassingNodes nodes_{candidates_};
  BlockChecks block_checks_{parts_, nodes_};
  BlockFit block_fit_{parts_, nodes_};
  KnownResults known_{parts_, nodes_, block_checks_, block_fit_};
  ExhaustedCounts exhausted_{parts_, nodes_};
  GroupView* view_ = nullptr;  // the group for which the columns were begun
  bool active_ = false;
  bool is_settled_ = false;  // no spread and no property
  Cursor cursor_;
  Spread spread_;
  Stale stale_;
  BestOfAll best_of_all_;
};

}  // namespace berth::sched
