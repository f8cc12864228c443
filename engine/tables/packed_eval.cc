#include "tables/packed_eval.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace berth::tables {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint16_t>::max();

constexpr std::uint64_t model::DesiredUpdates::*kUpdates[] = {
    &model::DesiredUpdates::ignore,          &model::DesiredUpdates::place,
    &model::DesiredUpdates::migrate,         &model::DesiredUpdates::stop,
    &model::DesiredUpdates::in_place_update, &model::DesiredUpdates::destructive_update,
    &model::DesiredUpdates::canary,          &model::DesiredUpdates::preemptions,
    &model::DesiredUpdates::disconnect,      &model::DesiredUpdates::reconnect,
    &model::DesiredUpdates::reschedule_now,  &model::DesiredUpdates::reschedule_later};
static_assert(std::size(kUpdates) * sizeof(std::uint64_t) == sizeof(model::DesiredUpdates));

/// Makes the evaluation's EvalMore when it is first needed.
class MoreMaker {
 public:
  EvalMore& get() {
    if (!more_) more_ = std::make_shared<EvalMore>();
    return *more_;
  }
  /// Keeps a member unless it is empty.
  template <class T>
  void keep(T EvalMore::*to, T& from) {
    if (from != T{}) get().*to = std::move(from);
  }
  /// Stores the text if it differs from `known`.
  void keep_text(std::string model::Evaluation::*member, std::string& text, std::string_view known) {
    if (text != known) get().texts.emplace_back(member, std::move(text));
  }
  [[nodiscard]] EvalMoreRef take() { return std::move(more_); }

 private:
  std::shared_ptr<EvalMore> more_;
};

/// The ID as a number; nil: the text is none's. A text that the number cannot reproduce is kept as well.
base::Uuid id_of(model::Evaluation& eval, std::string model::Evaluation::*member, MoreMaker& more) {
  std::string& text = eval.*member;
  if (text.empty()) return {};
  const base::Uuid id = base::parse_uuid(text).value_or(base::Uuid{});
  if (id.is_nil() || base::to_text(id) != text) more.keep_text(member, text, {});
  return id;
}

/// Keeps the ID of another object.
void keep_id(model::Evaluation& eval, std::string model::Evaluation::*member, base::Uuid EvalMore::*to,
             MoreMaker& more) {
  if (const base::Uuid id = id_of(eval, member, more); !id.is_nil()) more.get().*to = id;
}

/// False: the numbers cannot hold the map.
bool pack_queued(const model::Evaluation& eval, SymbolTable& symbols, PackedEval& out) {
  if (!eval.queued_allocations) return true;
  out.has_queued = true;
  if (eval.queued_allocations->empty()) return true;
  const auto& [group, count] = *eval.queued_allocations->begin();
  return eval.queued_allocations->size() == 1 && set_queued(out, symbols.intern(group), count);
}

/// False: the numbers cannot hold the annotations.
bool pack_updates(const model::Evaluation& eval, SymbolTable& symbols, PackedEval& out) {
  if (!eval.plan_annotations) return true;
  out.has_updates = true;
  if (!eval.plan_annotations->preempted_allocs.is_null()) return false;
  const auto& groups = eval.plan_annotations->desired_tg_updates;
  if (groups.empty()) return true;
  return groups.size() == 1 && set_updates(out, symbols.intern(groups.begin()->first), groups.begin()->second);
}

std::string text_of(base::Uuid id) { return id.is_nil() ? std::string() : base::to_text(id); }

}  // namespace

bool set_queued(PackedEval& eval, Symbol group, std::int64_t count) {
  if (count < 0 || count > static_cast<std::int64_t>(kMost)) return false;
  eval.has_queued = eval.queued_entry = true;
  eval.queued_group = group, eval.queued = static_cast<std::uint16_t>(count);
  return true;
}

bool set_updates(PackedEval& eval, Symbol group, const model::DesiredUpdates& updates) {
  for (const auto member : kUpdates)
    if (updates.*member > kMost) return false;
  for (std::size_t i = 0; i < std::size(kUpdates); ++i)
    eval.updates[i] = static_cast<std::uint16_t>(updates.*kUpdates[i]);
  eval.has_updates = eval.update_entry = true;
  eval.update_group = group;
  return true;
}

std::uint8_t eval_status(std::string_view text) {
  const auto* at = std::find(std::begin(kEvalStatuses), std::end(kEvalStatuses) - 1, text);
  return static_cast<std::uint8_t>(at - std::begin(kEvalStatuses));
}

EvalContents pack(model::Evaluation&& eval, const EvalColumns& columns, SymbolTable& symbols) {
  PackedEval out;
  MoreMaker more;
  const auto* type = std::find(std::begin(kEvalTypes), std::end(kEvalTypes), eval.type);
  out.type = type == std::end(kEvalTypes) ? std::uint8_t{0} : static_cast<std::uint8_t>(type - std::begin(kEvalTypes));
  out.deployment_id = id_of(eval, &model::Evaluation::deployment_id, more);
  out.trigger = symbols.intern(eval.triggered_by);
  if (!pack_queued(eval, symbols, out)) more.keep(&EvalMore::queued_allocations, eval.queued_allocations);
  if (!pack_updates(eval, symbols, out)) more.keep(&EvalMore::plan_annotations, eval.plan_annotations);
  out.job_modify_index = eval.job_modify_index, out.snapshot_index = eval.snapshot_index;
  out.create_time = eval.create_time, out.modify_time = eval.modify_time;
  out.annotate = eval.annotate_plan, out.escaped = eval.escaped_computed_class;
  out.failed_groups = !eval.failed_tg_allocs.empty();

  more.keep(&EvalMore::wait_ns, eval.wait), more.keep(&EvalMore::wait_until, eval.wait_until);
  keep_id(eval, &model::Evaluation::previous_eval, &EvalMore::previous, more);
  keep_id(eval, &model::Evaluation::next_eval, &EvalMore::next, more);
  keep_id(eval, &model::Evaluation::blocked_eval, &EvalMore::blocked, more);
  keep_id(eval, &model::Evaluation::node_id, &EvalMore::node, more);
  more.keep(&EvalMore::node_modify_index, eval.node_modify_index);
  more.keep(&EvalMore::status_description, eval.status_description);
  more.keep(&EvalMore::quota_limit_reached, eval.quota_limit_reached);
  more.keep(&EvalMore::leader_acl, eval.leader_acl);
  more.keep(&EvalMore::failed_tg_allocs, eval.failed_tg_allocs);
  if (eval.class_eligibility) {
    auto& classes = more.get().class_eligibility.emplace();
    for (const auto& [node_class, eligible] : *eval.class_eligibility)
      classes.push_back({symbols.intern(node_class), eligible});
  }
  more.keep(&EvalMore::missing_non_node_resources, eval.missing_non_node_resources);
  if (!eval.related_evals.is_null()) more.get().related_evals = std::move(eval.related_evals);
  if (!eval.extra.is_null()) more.get().extra = std::move(eval.extra);
  if (eval.priority != columns.priority) more.get().priority = eval.priority;
  more.keep_text(&model::Evaluation::id, eval.id, base::to_text(columns.id));
  more.keep_text(&model::Evaluation::namespace_, eval.namespace_, columns.job_namespace);
  more.keep_text(&model::Evaluation::job_id, eval.job_id, columns.job_id);
  more.keep_text(&model::Evaluation::type, eval.type, kEvalTypes[out.type]);
  more.keep_text(&model::Evaluation::status, eval.status, kEvalStatuses[columns.status]);
  return {out, more.take()};
}

model::Evaluation unpack(const PackedEval& packed, const EvalMore* more, const EvalColumns& columns,
                         const SymbolTable& symbols) {
  model::Evaluation eval;
  eval.id = base::to_text(columns.id);
  eval.namespace_ = columns.job_namespace, eval.job_id = columns.job_id;
  eval.priority = columns.priority;
  eval.type = kEvalTypes[packed.type];
  eval.triggered_by = symbols.text(packed.trigger);
  eval.status = kEvalStatuses[columns.status];
  eval.deployment_id = text_of(packed.deployment_id);
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
  eval.annotate_plan = packed.annotate, eval.escaped_computed_class = packed.escaped;
  if (!more) return eval;
  eval.wait = more->wait_ns, eval.wait_until = more->wait_until;
  eval.previous_eval = text_of(more->previous), eval.next_eval = text_of(more->next);
  eval.blocked_eval = text_of(more->blocked), eval.node_id = text_of(more->node);
  eval.node_modify_index = more->node_modify_index;
  eval.status_description = more->status_description;
  eval.quota_limit_reached = more->quota_limit_reached, eval.leader_acl = more->leader_acl;
  eval.failed_tg_allocs = more->failed_tg_allocs;
  if (more->class_eligibility) {
    auto& classes = eval.class_eligibility.emplace();
    for (const auto& [node_class, eligible] : *more->class_eligibility) classes[symbols.text(node_class)] = eligible;
  }
  eval.missing_non_node_resources = more->missing_non_node_resources;
  eval.related_evals = more->related_evals, eval.extra = more->extra;
  if (more->queued_allocations) eval.queued_allocations = more->queued_allocations;
  if (more->plan_annotations) eval.plan_annotations = more->plan_annotations;
  if (more->priority) eval.priority = *more->priority;
  for (const auto& [member, text] : more->texts) eval.*member = text;
  return eval;
}

}  // namespace berth::tables
