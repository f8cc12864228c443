#include "tables/packed_eval.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace berth::tables {
namespace {

constexpr const char* kPackedTypes[] = {"service", "batch", "system", "sysbatch"};
constexpr std::uint64_t kMost = std::numeric_limits<std::uint16_t>::max();

constexpr std::uint64_t model::DesiredUpdates::*kUpdates[] = {
    &model::DesiredUpdates::ignore,          &model::DesiredUpdates::place,
    &model::DesiredUpdates::migrate,         &model::DesiredUpdates::stop,
    &model::DesiredUpdates::in_place_update, &model::DesiredUpdates::destructive_update,
    &model::DesiredUpdates::canary,          &model::DesiredUpdates::preemptions,
    &model::DesiredUpdates::disconnect,      &model::DesiredUpdates::reconnect,
    &model::DesiredUpdates::reschedule_now,  &model::DesiredUpdates::reschedule_later};
static_assert(std::size(kUpdates) * sizeof(std::uint64_t) == sizeof(model::DesiredUpdates));

/// True if all members without a place in the packed form are empty.
bool says_no_more(const model::Evaluation& eval) {
  return eval.node_id.empty() && eval.node_modify_index == 0 && eval.status_description.empty() && eval.wait == 0 &&
         eval.wait_until == base::Time() && eval.next_eval.empty() && eval.previous_eval.empty() &&
         eval.blocked_eval.empty() && eval.related_evals.is_null() && eval.failed_tg_allocs.empty() &&
         !eval.class_eligibility && eval.quota_limit_reached.empty() && !eval.escaped_computed_class &&
         !eval.annotate_plan && eval.missing_non_node_resources.empty() && eval.leader_acl.empty() &&
         eval.extra.is_null();
}

/// True if the text is the canonical form of the UUID; else it has to be stored as it is.
bool is_text_of(const std::string& text, base::Uuid id) { return base::to_text(id) == text; }

bool pack_queued(const model::Evaluation& eval, SymbolTable& symbols, PackedEval& out) {
  if (!eval.queued_allocations) return true;
  out.has_queued = true;
  if (eval.queued_allocations->empty()) return true;
  const auto& [group, count] = *eval.queued_allocations->begin();
  if (eval.queued_allocations->size() != 1 || count < 0 || count > static_cast<std::int64_t>(kMost)) return false;
  out.queued_entry = true;
  out.queued_group = symbols.intern(group), out.queued = static_cast<std::uint16_t>(count);
  return true;
}

bool pack_updates(const model::Evaluation& eval, SymbolTable& symbols, PackedEval& out) {
  if (!eval.plan_annotations) return true;
  out.has_updates = true;
  if (!eval.plan_annotations->preempted_allocs.is_null()) return false;
  const auto& groups = eval.plan_annotations->desired_tg_updates;
  if (groups.empty()) return true;
  if (groups.size() != 1) return false;
  const auto& [group, updates] = *groups.begin();
  for (std::size_t i = 0; i < std::size(kUpdates); ++i) {
    if (updates.*kUpdates[i] > kMost) return false;
    out.updates[i] = static_cast<std::uint16_t>(updates.*kUpdates[i]);
  }
  out.update_entry = true;
  out.update_group = symbols.intern(group);
  return true;
}

}  // namespace

bool pack(const model::Evaluation& eval, const EvalColumns& columns, SymbolTable& symbols, PackedEval& out) {
  out = {};
  const auto* type = std::find(std::begin(kPackedTypes), std::end(kPackedTypes), eval.type);
  if (type == std::end(kPackedTypes) || !says_no_more(eval) || !is_text_of(eval.id, columns.id) ||
      eval.namespace_ != columns.job_namespace || eval.job_id != columns.job_id || eval.priority != columns.priority ||
      eval.status != columns.status || eval.create_index != columns.create_index ||
      eval.modify_index != columns.modify_index)
    return false;
  if (!eval.deployment_id.empty()) {
    out.deployment_id = base::parse_uuid(eval.deployment_id).value_or(base::Uuid{});
    if (out.deployment_id.is_nil() || !is_text_of(eval.deployment_id, out.deployment_id)) return false;
  }
  if (!pack_queued(eval, symbols, out) || !pack_updates(eval, symbols, out)) return false;
  out.job_modify_index = eval.job_modify_index, out.snapshot_index = eval.snapshot_index;
  out.create_time = eval.create_time, out.modify_time = eval.modify_time;
  out.trigger = symbols.intern(eval.triggered_by);
  out.type = static_cast<std::uint8_t>(type - std::begin(kPackedTypes));
  out.present = true;
  return true;
}

model::Evaluation unpack(const PackedEval& packed, const EvalColumns& columns, const SymbolTable& symbols) {
  model::Evaluation eval;
  eval.id = base::to_text(columns.id);
  eval.namespace_ = columns.job_namespace, eval.job_id = columns.job_id;
  eval.priority = columns.priority;
  eval.type = kPackedTypes[packed.type];
  eval.triggered_by = symbols.text(packed.trigger);
  eval.status = columns.status;
  if (!packed.deployment_id.is_nil()) eval.deployment_id = base::to_text(packed.deployment_id);
  if (packed.has_queued) {
    auto& queued = eval.queued_allocations.emplace();
    if (packed.queued_entry) queued.emplace(symbols.text(packed.queued_group), packed.queued);
  }
  if (packed.has_updates) {
    auto& groups = eval.plan_annotations.emplace().desired_tg_updates;
    if (packed.update_entry) {
      model::DesiredUpdates& updates = groups[symbols.text(packed.update_group)];
      for (std::size_t i = 0; i < std::size(kUpdates); ++i) updates.*kUpdates[i] = packed.updates[i];
    }
  }
  eval.job_modify_index = packed.job_modify_index, eval.snapshot_index = packed.snapshot_index;
  eval.create_index = columns.create_index, eval.modify_index = columns.modify_index;
  eval.create_time = packed.create_time, eval.modify_time = packed.modify_time;
  return eval;
}

}  // namespace berth::tables
