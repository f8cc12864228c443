#include "lifecycle/job_drain.h"

#include <algorithm>
#include <span>

#include "lifecycle/alloc_facts.h"
#include "model/job.h"

namespace berth::lifecycle {

using tables::AllocRow;

namespace {

struct GroupDrain {
  std::int64_t healthy = 0;
  bool work_remains = false;
  std::vector<AllocRow> drainable;  // by ID, like all lists of a check (R-CTRL-104)
};

void sort_by_id(const tables::Snapshot& state, std::span<AllocRow> rows) {
  std::sort(rows.begin(), rows.end(), [&](AllocRow a, AllocRow b) { return state.allocs.id[a] < state.allocs.id[b]; });
}

/// Checks one group of a job with the allocations `rows`; appends its migrated allocations to `migrated`.
GroupDrain look_at_group(const tables::Snapshot& state, const model::TaskGroup& group, std::span<const AllocRow> rows,
                         bool batch, std::uint64_t last_handled, const model::Quirks& quirks,
                         std::vector<AllocRow>& migrated) {
  GroupDrain out;
  const tables::AllocTable& allocs = state.allocs;
  const std::size_t before = migrated.size();
  constexpr std::size_t kAhead = 8;  // the rows of a large job are spread over all columns
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (at + kAhead < rows.size()) {
      const AllocRow later = rows[at + kAhead];
      allocs.node.prefetch(later), allocs.client.prefetch(later), allocs.group.prefetch(later);
      allocs.desired.prefetch(later), allocs.links.prefetch(later);
    }
    const AllocRow row = rows[at];
    // Ended allocations on other nodes do not count; of batch jobs, no allocation on other nodes does.
    const bool ended = tables::client_terminal(allocs.client[row]), draining = is_on_draining_node(state, row);
    if ((!draining && (ended || batch)) || group_name(state, row) != group.name) continue;
    if (ended && allocs.modify_index[row] > last_handled) migrated.push_back(row);
    if (ended) continue;
    const bool marked = is_marked_to_migrate(state, row);
    if (!batch && !marked && !allocs.terminal(row)) {
      const Health health = health_of(state, row);
      out.healthy += quirks.bad_health_moves_drains ? health != Health::unknown : health == Health::healthy;
    }
    if (!draining) continue;
    out.work_remains = true;
    if (!batch && !marked) out.drainable.push_back(row);
  }
  sort_by_id(state, out.drainable);
  sort_by_id(state, std::span(migrated).subspan(before));
  return out;
}

}  // namespace

void look_at_job(const tables::Snapshot& state, const model::Job& job, tables::JobKeyRow key,
                 std::uint64_t last_handled, const model::Quirks& quirks, JobDrain& out) {
  out.drain.clear(), out.migrated.clear(), out.done = true;
  const bool batch = job.type == "batch";
  std::vector<AllocRow> rows;
  for (AllocRow row = state.jobs.keys[key].alloc_head; row != tables::kNoRow; row = state.allocs.next_of_job[row])
    rows.push_back(row);
  for (const model::TaskGroup& group : job.task_groups) {
    if (!group.migrate && !batch) continue;  // R-CTRL-1022
    const GroupDrain found =                 // R-CTRL-1023
        look_at_group(state, group, rows, batch, last_handled, quirks, out.migrated);
    if (found.work_remains) out.done = false;
    const std::int64_t max_parallel = group.migrate ? group.migrate->max_parallel : 0;
    const std::int64_t drained = std::min<std::int64_t>(static_cast<std::int64_t>(found.drainable.size()),
                                                        found.healthy - (group.count - max_parallel));  // R-CTRL-1024
    for (std::int64_t i = 0; i < drained; ++i) out.drain.push_back(found.drainable[static_cast<std::size_t>(i)]);
  }
}

}  // namespace berth::lifecycle
