// Private parts of a worker's caches, for check_memory.cc and for tests that put a wrong entry into each cache.
#pragma once

#include "sched/scratch.h"
#include "sched/stack/stack.h"

namespace berth::sched {

struct MemoryAccess {
  static auto& ready(Scratch& scratch) { return scratch.ready_; }
  static auto& mirrors(Scratch& scratch) { return scratch.mirrors_; }
  static auto& tables(AskTables& tables) { return tables.tables_; }
  static auto& by_class(KindVerdicts& verdicts) { return verdicts.classes_.asks; }
  static auto& by_kind(KindVerdicts& verdicts) { return verdicts.kinds_.asks; }
  static std::uint64_t kinds_left(const KindVerdicts& verdicts) { return verdicts.kinds_left_; }
  static auto& retries(RetryMemos& retries) { return retries.of_job_; }
  static auto& gathered(NodeFeed& feed) { return feed.known_; }
  static bool is_served(const NodeIndex& index, const tables::NodeTable& nodes) {
    return index.served_ && index.epoch_ == nodes.epoch;
  }
  static const NodePlace& place(const NodeIndex& index) { return index.place_; }
  static std::uint64_t base_set(const NodeIndex& index) { return index.base_set_; }
  static auto& left_out(NodeIndex& index) { return index.left_out_; }
  static auto& cpu_used(NodeIndex& index) { return index.amounts_.cpu_used; }
  /// Free cpu, memory and disk, then used cpu and memory, at a position.
  static std::array<std::int64_t, 5> amounts(NodeIndex& index, std::uint32_t position) {
    return {index.amounts_.cpu_free[position], index.amounts_.memory_free[position], index.amounts_.disk_free[position],
            cpu_used(index)[position], index.amounts_.memory_used[position]};
  }
  static SelectParts& parts(GenericStack& stack) { return stack.parts_; }
  static GroupView& begin_select(GenericStack& stack, std::uint32_t group, const SelectOptions& options) {
    return stack.begin_select(group, options);
  }
  static void list_filtered(GenericStack& stack, AskTable& table, GroupView& view) {
    stack.table_.list_filtered(table, view);
  }
  static ByTable::Decided decide(GenericStack& stack, tables::NodeRow row, GroupView& view, bool evicts) {
    MemoryAccess::parts(stack).checks.distinct.properties(view, stack.table_.properties_);
    ByTable::Decided out{row, {}};
    stack.table_.decide(row, view, evicts, out);
    return out;
  }
  static AskKey key_of(const GenericStack& stack, const GroupView& view, bool evicts) {
    return stack.table_.key_of(view, evicts);
  }
};

}  // namespace berth::sched
