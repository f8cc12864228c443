#include "sched/node/distinct_check.h"

#include <utility>

#include "model/job.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::NodeRow;

void DistinctCheck::set_job(bool first, bool counts) {
  const CompiledJob& job = *attempt_.job;
  const auto names = static_cast<std::uint32_t>(attempt_.names.size());
  if (first)
    properties_.begin_attempt(names);
  else
    properties_.add_groups(names);
  counted_ = 0;
  if (!counts || job.distinct_properties.empty()) return;
  count_existing(properties_.add_job(job.spec->constraints), job.distinct_properties);
}

void DistinctCheck::begin_select(GroupView& v) {
  if (!v.distinct_built && !v.group->distinct_properties.empty()) {
    v.distinct_built = true;
    counted_ = 0;
    count_existing(properties_.add_group(v.number, v.group->spec->constraints), v.group->distinct_properties);
  }
  if (properties_.empty()) return;
  const PlanRows& plan = *attempt_.plan;
  const std::size_t before = std::exchange(counted_, plan.allocs.size());
  if (!plan.stops.empty() || !plan.updates.empty())
    counted_ = 0;  // stops and updates change earlier counts: count again
  properties_.for_each([&](feasible::PropertySet& set) {
    const auto count = [&](std::uint32_t group, NodeRow node, int change) {
      if (!set.counts_group(group)) return;
      const std::uint32_t code = code_of(set, node);
      if (code == feasible::PropertySet::kNoValue) return;
      if (change > 0)
        set.add_proposed(code);
      else
        set.add_cleared(code);
    };
    if (before != 0 && counted_ != 0) {
      for (std::size_t i = before; i < plan.allocs.size(); ++i)
        count(attempt_.number_in_plan(plan.allocs[i]), plan.allocs[i].node, 1);
      return;
    }
    set.begin_plan();
    effects_.each_entry(count);
    set.end_plan(attempt_.quirks);
  });
}

bool DistinctCheck::shares_host(NodeRow row, const GroupView& v) const {  // R-FEAS-1313
  std::uint32_t of_job = 0, of_group = 0;
  effects_.each_own(row, [&](const PlanEffects::OwnCount& own) {
    of_job += static_cast<std::uint32_t>(own.own_namespace);
    if (own.group == v.group->name) of_group += static_cast<std::uint32_t>(own.own_namespace);
  });
  return feasible::DistinctHosts{attempt_.job->distinct_hosts, v.group->distinct_hosts}.filters(of_job, of_group);
}

bool DistinctCheck::passes(const Position& position, const GroupView& v) {  // R-FEAS-1313, 1410
  if (asks_hosts(v) && shares_host(position.row, v)) {
    counts_.filter(position.node_class, kReasonDistinctHosts);
    return false;
  }
  if (!has_properties()) return true;
  const feasible::PropertySet* failing =
      domain_ && !domain_->passes(code_of(*domain_, position.row)) ? &*domain_ : nullptr;
  if (!failing)
    failing = properties_.first_failing(v.number,
                                        [&](const feasible::PropertySet& set) { return code_of(set, position.row); });
  if (!failing) return true;
  counts_.filter(position.node_class, reason_of(*failing, position.row));
  return false;
}

std::uint32_t DistinctCheck::reason_of(const feasible::PropertySet& failing, NodeRow row) const {
  std::string id;
  const match::Side side = resolve(*attempt_.snapshot, failing.target(), failing.column(), row, id);
  return attempt_.scratch.reasons.id(failing.reason(code_of(failing, row), side.text));
}

void DistinctCheck::properties(const GroupView& v, std::vector<const feasible::PropertySet*>& out) const {
  out.clear();
  if (domain_) out.push_back(&*domain_);
  properties_.each_of(v.number, [&](const feasible::PropertySet& set) { out.push_back(&set); });
}

void DistinctCheck::count_existing(std::span<feasible::PropertySet> sets,
                                   const std::vector<tables::CompiledDistinctProperty>& compiled) {
  BERTH_ASSERT(sets.empty() || sets.size() == compiled.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    sets[i].set_column(compiled[i].target.column);
    count_existing(sets[i]);
  }
}

void DistinctCheck::count_existing(feasible::PropertySet& set) {  // R-FEAS-1405, 1406
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  for (tables::AllocRow row = attempt_.snapshot->jobs.keys[attempt_.job->key].alloc_head; row != kNoRow;
       row = allocs.next_of_job[row]) {
    if (!attempt_.is_existing(row) || !set.counts_group(attempt_.number_of(allocs.group[row]))) continue;
    const std::uint32_t code = code_of(set, allocs.node[row]);
    if (code != feasible::PropertySet::kNoValue) set.add_existing(code);
  }
}

std::uint32_t DistinctCheck::code_of(const feasible::PropertySet& set, NodeRow row) const {
  return value_code(attempt_.snapshot->nodes, set.target(), set.column(), row);
}

std::uint32_t value_code(const tables::NodeTable& nodes, const match::Target& target, tables::ColumnId column,
                         NodeRow row) {
  if (!nodes.exists(row)) return feasible::PropertySet::kNoValue;  // R-FEAS-1406: a node that is gone
  switch (target.kind) {
    case match::TargetKind::literal:
      return 0;
    case match::TargetKind::unresolved:
      return feasible::PropertySet::kNoValue;
    case match::TargetKind::node_id:
      return row;
    default:
      break;
  }
  const std::uint32_t code = nodes.code(column, row);
  return code == 0 ? feasible::PropertySet::kNoValue : code;
}

}  // namespace berth::sched
