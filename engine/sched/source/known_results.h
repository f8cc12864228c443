// The stage that reads a block from the AskTable of its request instead of deciding it, and writes there what
// block_checks.h and block_fit.h decided. It applies to nodes that no plan touches, where amounts and kind decide.
#pragma once

#include "sched/source/block_checks.h"
#include "sched/source/block_fit.h"

namespace berth::sched {

class KnownResults : Source {
 public:
  KnownResults(SelectParts& parts, PassingNodes& nodes, BlockChecks& checks, BlockFit& fit)
      : Source(parts), nodes_(nodes), block_checks_(checks), block_fit_(fit) {}

  /// The needs for which cached results of earlier evaluations apply (ask_table.h): checks by kind, fit by amounts
  /// alone.
  static constexpr Needs kServes{
      Need::distinct_hosts, Need::distinct_property,   Need::spread,        Need::secrets,
      Need::several_groups, Need::wide_amounts,        Need::evict_follows, Need::plan_stops,
      Need::plan_updates,   Need::exhaustive,          Need::metrics,       Need::shuffled_order,
      Need::mixed_profiles, Need::ports_or_cores_held, Need::invalid_nodes};

  /// Finds the table of the group's request.
  void begin(const GroupView& view);
  /// True if the current block is read from the table or stored there.
  [[nodiscard]] bool apply(const GroupView& view) const;
  /// Appends the candidates from `order.prepared` to `end` that pass, from the table. False, and none is appended: too
  /// many have no result.
  [[nodiscard]] bool append(std::uint32_t end, GroupView& view);
  /// Stores the results of the candidates from position `first` to `end`; the entries from `first_entry` pass.
  void store(std::uint32_t first, std::uint32_t end, std::uint32_t first_entry);

 private:
  [[nodiscard]] AskKey key_of(const GroupView& view) const {
    return {view.group->ask->number, candidates_.base_set_number, attempt_.config.algorithm};
  }
  [[nodiscard]] AskTable* find_table(const GroupView& view);
  std::uint64_t look_up(std::uint32_t first, std::uint32_t size, const ReadyNodes::Candidate** of,
                        std::uint64_t* known);
  void append_passing(std::uint32_t first, std::uint32_t size, std::uint64_t failing,
                      const ReadyNodes::Candidate* const* of, const std::uint64_t* known);
  void compute(const ReadyNodes::Candidate& candidate, GroupView& view);

  PassingNodes& nodes_;
  BlockChecks& block_checks_;
  BlockFit& block_fit_;
  AskTable* table_ = nullptr;  // null: no help from earlier evaluations
};

}  // namespace berth::sched
