// The stage that decides whether the group fits on the passing nodes of a block, and their score components other than
// spread: by column where amounts and ports decide, one by one elsewhere.
#pragma once

#include "sched/source/passing_nodes.h"
#include "sched/stack/select_parts.h"

namespace berth::sched {

class BlockFit : Source {
 public:
  BlockFit(SelectParts& parts, PassingNodes& nodes) : Source(parts), nodes_(nodes) {}

  void begin(GroupView& view);
  /// Begins a block with the entries from `first` to the last one, and prefetches what decide_block() reads.
  /// `by_amounts`: amounts decide on most nodes.
  void begin_block(std::uint32_t first, GroupView& view, bool by_amounts);
  /// Decides the entries of the block.
  void decide_block(std::uint32_t first, GroupView& view, bool by_amounts);
  /// Decides one entry with the plan's changes to its node.
  void decide(std::uint32_t entry, GroupView& view);
  /// Prefetches what decide() reads.
  void prefetch(std::uint32_t entry) const;

 private:
  struct Amounts;
  struct AmountBits;

  void prefetch_core_tables(std::uint32_t first) const;
  bool use_by_amounts(std::uint32_t entry, GroupView& view, bool by_amounts, bool of_devices, FitUse& use);
  bool use_of_special(std::uint32_t entry, GroupView& view, bool by_amounts, bool ports_do, FitUse& use);
  AmountBits gather_amounts(std::uint32_t first, const tables::CompiledGroup& group, Amounts& out) const;
  void gather_capacity(std::uint32_t first, Amounts& out) const;
  void score_block(std::uint32_t first, GroupView& view, bool by_amounts);
  void score_by_strategy(std::uint32_t first, GroupView& view, bool by_amounts);
  void set_fit(std::uint32_t entry, const tables::CompiledGroup& group, double component);

  PassingNodes& nodes_;
  bool distinct_hosts_ = false;
  PortFit::ByProfile ports_;  // of the current block
};

}  // namespace berth::sched
