#include "sched/source/candidates.h"

#include <algorithm>
#include <bit>

#include "base/prefetch.h"
#include "feasible/devices.h"
#include "model/job.h"
#include "tables/state.h"

namespace berth::sched {

using tables::NodeRow;

void Candidates::start(Scratch& scratch) {
  nodes = nullptr;
  size = offset = frontier = asked = 0;
  positions = scratch.arena.take<Position>(1);
  for (GroupView& v : views) v.group = nullptr;
}

Result<void> Candidates::set(const Attempt& attempt, const ReadyNodes& ready, std::uint32_t base,
                             std::string_view eval_id, std::size_t placements) {
  BERTH_ASSERT(attempt.job && !attempt.system);
  nodes = &ready;
  base_set = base;
  base_set_number = attempt.snapshot->base_sets[base]->number;
  size = static_cast<std::uint32_t>(ready.size());
  offset = frontier = asked = 0;
  // R-FEAS-216: ceil(log2 n) is the bit length of n - 1.
  limit = 2;
  if (attempt.job->type != model::JobType::batch && size > 0)
    limit = std::max<std::int64_t>(2, std::bit_width(size - 1));
  list_limit = limit;
  std::int64_t most = limit;
  double visits_per_option = 0;
  for (const tables::CompiledGroup& group : attempt.job->groups) {  // R-RANK-403
    if (!group.affinities.empty() || !group.spreads.empty() || attempt.spread_job)
      most = std::max({most, attempt.config.node_limit, group.count});
    visits_per_option = std::max(visits_per_option, attempt.scratch.by_content.visits_per_option.of(group));
  }
  const std::size_t visits = attempt.config.exhaustive ? size : placements * static_cast<std::size_t>(most);
  expected = static_cast<std::uint32_t>(std::min<std::size_t>(size, visits));
  // Margin for filtered nodes and for blocks that are prepared ahead. While the order is traced, further entries cost
  // the same when computed later.
  const double far = visits_per_option * static_cast<double>(visits);
  const bool near = far <= static_cast<double>(rank::VisitingOrder::most_traced(size));
  const std::size_t ordered = near ? visits : static_cast<std::size_t>(1.25 * far) + 64;
  const std::uint64_t index = order_index != 0 ? order_index : attempt.snapshot->index;
  if (auto done = order.set(attempt.config.provider, eval_id, index, size, ordered); !done) return done;
  positions = attempt.scratch.arena.take<Position>(size + 1);
  for (GroupView& v : views) v.group = nullptr;
  return {};
}

void Candidates::forget_job() {
  for (std::uint32_t i = 0; i < frontier; ++i) positions[i].job_checks = kUnknown;
  for (GroupView& v : views) v.group = nullptr;
}

GroupView& Candidates::view(const Attempt& attempt, std::uint32_t group) {
  BERTH_ASSERT(attempt.job && group < attempt.job->groups.size());
  if (views.size() < attempt.job->groups.size()) views.resize(attempt.job->groups.size());  // at once: stable addresses
  GroupView& v = views[group];
  if (v.group != &attempt.job->groups[group]) {
    v.group = &attempt.job->groups[group];
    v.number = attempt.numbers[group];
    v.needs = attempt.job->needs | v.group->needs;
    v.needs.add(Need::registered_volumes, v.group->has_host_volumes && !attempt.snapshot->cold->host_volumes.empty());
    v.cells = attempt.scratch.arena.take<Cell>(size + 1);
    for (std::uint32_t i = 0; i < frontier; ++i) v.cells[i].group_checks = v.cells[i].fit = kUnknown;
    v.distinct_built = false;
    v.devices = v.group->has_devices ? feasible::compile_devices(*v.group->spec) : std::vector<match::DeviceRequest>();
    v.network = feasible::compile_network(*v.group->spec);
    v.network_number = v.checked_network = 0;
  }
  return v;
}

void Candidates::take(Attempt& attempt, std::uint32_t position) {
  const NodeRow row = nodes->candidates[order.at(position)].row;
  const tables::NodeCapacity& capacity = attempt.snapshot->nodes.capacity(row);
  positions[position] = {row, capacity.computed_class_code, capacity.class_code, kUnknown};
  attempt.scratch.mark(row).position = position;
  for (GroupView& v : views)
    if (v.group) v.cells[position].group_checks = v.cells[position].fit = kUnknown;
}

void Candidates::prefetch_next(Attempt& attempt, std::uint32_t position) {
  constexpr std::uint32_t kAhead = 4;
  // Only as far as the order is computed: further entries of a shuffle are expensive and may never be visited.
  const auto known = static_cast<std::uint32_t>(std::min<std::size_t>(size, order.fixed()));
  const tables::NodeTable& table = attempt.snapshot->nodes;
  for (const std::uint32_t end = std::min(known, position + kAhead); asked < end; ++asked) {
    if (asked + kAhead < known) base::prefetch(&nodes->candidates[order.at(asked + kAhead)]);
    const NodeRow row = nodes->candidates[order.at(asked)].row;
    table.fixed->capacity.prefetch(row);
    table.use.prefetch(row);
    base::prefetch_to_write(&attempt.scratch.by_attempt.marks[row]);
  }
}

void Candidates::forget_fit(Scratch& scratch, NodeRow row) {
  const std::uint32_t position = scratch.mark(row).position;
  if (position >= frontier) return;
  for (GroupView& v : views)
    if (v.group) v.cells[position].fit = kUnknown;
}

}  // namespace berth::sched
