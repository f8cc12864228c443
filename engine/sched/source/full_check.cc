#include "sched/source/full_check.h"

#include <algorithm>

#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::NodeRow;

bool FullCheck::may_take(NodeRow row, GroupView& v) {
  if (!candidates_.nodes->has(row)) return false;
  if (fit_.plain(row, *v.group).dimension != kReasonNone) return false;
  return checks_.first_failing_known(row, v) == kReasonNone;
}

bool FullCheck::holds(GroupView& v) {
  const CompiledGroup& group = *v.group;
  BERTH_DEBUG_ASSERT(tables::serves(kServes, parts_.needs));
  for (const NodeOverlay& overlay : scratch_.by_attempt.overlays)
    if (may_take(overlay.row, v)) return false;
  const auto cpu = static_cast<std::int32_t>(group.cpu_mhz), memory = static_cast<std::int32_t>(group.memory_mb),
             disk = static_cast<std::int32_t>(group.disk_mb);  // kServes excludes wider amounts
  // The loop vectorizes. In most blocks of a full cluster, one column already rules out every node.
  const auto some_hold = [](std::span<const std::int32_t> free, std::int32_t least) {
    std::uint32_t some = 0;
    for (const std::int32_t amount : free) some |= static_cast<std::uint32_t>(amount >= least);
    return some != 0;
  };
  const auto& blocks = attempt_.snapshot->nodes.free;
  const std::size_t nodes = attempt_.snapshot->nodes.size();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const tables::FreeBlock& block = blocks[b];
    const std::size_t first = b * tables::FreeBlock::kRows, rows = std::min(tables::FreeBlock::kRows, nodes - first);
    const auto cpus = std::span(block.cpu).first(rows), memories = std::span(block.memory).first(rows),
               disks = std::span(block.disk).first(rows);
    if (!some_hold(cpus, cpu) || !some_hold(memories, memory) || !some_hold(disks, disk)) continue;
    for (std::size_t i = 0; i < rows; ++i)
      if (cpus[i] >= cpu && memories[i] >= memory && disks[i] >= disk && may_take(static_cast<NodeRow>(first + i), v))
        return false;
  }
  // A skipped pass must not have filtered a class: its reasons may be reported (R-FEAS-1605), or without the quirk the
  // result is not a class verdict (R-FEAS-414).
  const auto fails = [&](const ReadyNodes::Candidate& c) {
    return checks_.first_failing_of_class(c.row, c.computed_class, v) != kReasonNone;
  };
  const std::vector<ReadyNodes::Candidate>& of_class = candidates_.nodes->of_class;
  const bool decides = !attempt_.quirks.reasons_of_evicting_pass || !attempt_.quirks.verdicts_per_class;
  if (decides && std::any_of(of_class.begin(), of_class.end(), fails)) return false;
  return fit_.ports.are_silent(v);
}

}  // namespace berth::sched
