#include "lifecycle/job_drain.h"

#include <algorithm>

#include "lifecycle/alloc_facts.h"

namespace berth::lifecycle {

using tables::AllocRow;

namespace {

struct GroupDrain {
  std::int64_t healthy = 0;
  bool work_remains = false;
  std::vector<AllocRow> drainable;
};

}  // namespace

void look_at_job(const tables::Snapshot& state, const model::Job& job, tables::JobKeyRow key,
                 std::uint64_t last_handled, const model::Quirks& quirks, JobDrain& out) {
  out.drain.clear(), out.migrated.clear(), out.done = true;
  const tables::AllocTable& allocs = state.allocs;
  const bool batch = job.type == "batch";
  const std::vector<AllocRow> rows = allocs_by_id(state, key);
  for (const model::TaskGroup& group : job.task_groups) {
    if (!group.migrate && !batch) continue;  // R-CTRL-1022
    GroupDrain found;
    for (const AllocRow row : rows) {  // R-CTRL-1023
      if (group_name(state, row) != group.name) continue;
      const bool ended = tables::client_terminal(allocs.client[row]), draining = is_on_draining_node(state, row);
      if (ended && draining && allocs.modify_index[row] > last_handled) {
        out.migrated.push_back(row);
        continue;
      }
      const bool marked = is_marked_to_migrate(state, row);
      const Health health = health_of(state, row);
      const bool counts = quirks.bad_health_moves_drains ? health != Health::unknown : health == Health::healthy;
      if (!batch && !allocs.terminal(row) && counts && !marked) ++found.healthy;
      if (ended || !draining) continue;
      found.work_remains = true;
      if (!batch && !marked) found.drainable.push_back(row);
    }
    if (found.work_remains) out.done = false;
    const std::int64_t max_parallel = group.migrate ? group.migrate->max_parallel : 0;
    const std::int64_t drained = std::min<std::int64_t>(static_cast<std::int64_t>(found.drainable.size()),
                                                        found.healthy - (group.count - max_parallel));  // R-CTRL-1024
    for (std::int64_t i = 0; i < drained; ++i) out.drain.push_back(found.drainable[static_cast<std::size_t>(i)]);
  }
}

}  // namespace berth::lifecycle
