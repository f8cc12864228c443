// History::objects: every evaluation is a row of the state, written through the log, and comes back as the hooks of its
// entry. What the book holds of it is what broker, tracker and scheduler need.
#include <algorithm>

#include "sched/to_model.h"
#include "server/server.h"
#include "server/stored_eval.h"

namespace berth::server {

using tables::kNoRow;

namespace {

EvalState state_of(std::uint8_t status) {
  switch (status) {
    case tables::kEvalBlocked:
      return EvalState::blocked;
    case tables::kEvalComplete:
      return EvalState::complete;
    case tables::kEvalFailed:
      return EvalState::failed;
    case tables::kEvalCanceled:
      return EvalState::canceled;
    default:
      return EvalState::pending;
  }
}

// The types of evaluations and the queues of the broker have the same numbers.
static_assert(tables::kEvalTypes[static_cast<std::size_t>(broker::Queue::core)] == std::string_view("_core"));

}  // namespace

std::uint64_t Server::job_modify_index(const tables::Snapshot& state, tables::JobKeyRow key) {
  const auto& job = state.jobs.objects[key];
  return job ? job->modify_index : 0;
}

/// Reads the row of an evaluation.
void Server::fill(EvalRecord& record, tables::StoredEvalRow row) {
  const tables::EvalTable& evals = store_.current().evals;
  const tables::PackedEval& packed = evals.packed[row];
  record.stored = row;
  record.id = evals.id[row];
  record.job = evals.job_key[row];
  record.create_index = evals.create_index[row], record.snapshot_index = packed.snapshot_index;
  record.trigger = packed.trigger;
  record.priority = evals.priority[row];
  record.type = static_cast<broker::Queue>(packed.type);
  record.status = state_of(evals.status[row]);
  record.was_blocked = record.status == EvalState::blocked;
  record.annotate = packed.annotate;
  record.previous = {}, record.node = kNoRow;
  record.wait_ns = record.wait_until_ns = 0;
  record.id_text = tables::kEmptySymbol;
  const tables::EvalMore* more = evals.more[row].get();
  if (!more) return;
  record.previous = more->previous;
  if (!more->node.is_nil()) record.node = store_.find_node(more->node);
  record.wait_ns = more->wait_ns;
  record.wait_until_ns = more->wait_until.is_zero() ? 0 : more->wait_until.ns;
  for (const auto& [member, text] : more->texts)
    if (member == &model::Evaluation::id) record.id_text = store_.symbols().intern(text);
}

EvalRecord* Server::known_record(tables::StoredEvalRow row) {
  return row < rows_.size() && rows_[row] != kNoBookRow ? &book_[rows_[row]] : nullptr;
}

/// The book's record of a stored evaluation; a new one unless it is under way already. One that was handed out to a
/// free worker belongs to it.
EvalRecord& Server::record_of(tables::StoredEvalRow row) {
  EvalRecord* record = known_record(row);
  if (!record) {
    const auto added = book_.add();
    BERTH_ASSERT(added.has_value());  // Config::broker.evals
    if (row >= rows_.size()) rows_.resize(row + std::size_t{1}, kNoBookRow);
    rows_[row] = *added;
    record = &book_[*added];
    log_.hold(row, store_.current().evals.job_key[row], true);
  } else if (team_ && broker_.outstanding(record->row)) {
    return *record;
  }
  fill(*record, row);
  return *record;
}

model::Evaluation stored_eval(const tables::Snapshot& state, const EvalRecord& record) {
  const tables::EvalTable& evals = state.evals;
  const tables::JobKey& key = state.jobs.keys[record.job];
  const tables::StoredEvalRow row = record.stored;
  return tables::unpack(evals.packed[row], evals.more[row].get(),
                        {evals.id[row], state.text(key.job_namespace), state.text(key.job_id), evals.priority[row],
                         evals.status[row], evals.create_index[row], evals.modify_index[row]},
                        *state.symbols);
}

void Server::disable_queues() {
  BERTH_ASSERT(keeps_objects() && !team_);
  foresee_nothing();
  broker_.disable();
  tracker_.disable();
  for (const broker::EvalRow row : rows_)
    if (row != kNoBookRow) forget(row);
  rows_.clear();
  errors_.clear();
  refused_blocked_ = timers_ = false;
}

void Server::enable_queues() {
  BERTH_ASSERT(keeps_objects() && !team_);
  broker_.enable();
  tracker_.enable(clock_.now_ns());
  std::vector<tables::StoredEvalRow> rows;
  const tables::EvalTable& table = store_.current().evals;
  for (tables::StoredEvalRow row = 0; row < table.size(); ++row)
    if (table.exists(row) && (table.status[row] == tables::kEvalPending || table.status[row] == tables::kEvalBlocked))
      rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](tables::StoredEvalRow a, tables::StoredEvalRow b) {
    const std::uint64_t first = table.create_index[a], second = table.create_index[b];
    return first != second ? first < second : table.id[a] < table.id[b];
  });
  fsm::Hooks hooks;
  for (const tables::StoredEvalRow row : rows) {
    const bool blocked = table.status[row] == tables::kEvalBlocked;
    hooks.push_back({.kind = blocked ? fsm::HookKind::block : fsm::HookKind::enqueue, .eval = row});
  }
  take(hooks);
}

void Server::take(const fsm::Hooks& hooks) {
  if (!broker_.enabled()) return;
  const auto symbol = [&](const std::string& text) { return store_.symbols().intern(text); };
  for (const fsm::Hook& hook : hooks) {
    if (hook.eval != kNoRow && !store_.current().evals.exists(hook.eval)) continue;  // removed meanwhile
    switch (hook.kind) {
      case fsm::HookKind::enqueue: {
        EvalRecord& record = record_of(hook.eval);
        record.status = EvalState::pending;
        record.due_ns = clock_.now_ns();
        static_cast<void>(enqueue(record));
        break;
      }
      case fsm::HookKind::block: {
        const tables::EvalTable& evals = store_.current().evals;
        broker::BlockedEval blocked;
        blocked.escaped = evals.packed[hook.eval].escaped;
        if (const tables::EvalMoreRef more = evals.more[hook.eval]) {
          if (more->class_eligibility)
            for (const auto& [node_class, eligible] : *more->class_eligibility)
              blocked.classes.push_back({symbol(node_class), eligible});
          for (const std::string& resource : more->missing_non_node_resources)
            blocked.missing_resources.push_back(symbol(resource));
        }
        ++stats_.blocked;
        EvalRecord& record = record_of(hook.eval);
        record.status = EvalState::blocked;
        record.was_blocked = true;
        block(record, std::move(blocked));
        break;
      }
      case fsm::HookKind::untrack:
        end_blocked_of(hook.job);
        break;
      case fsm::HookKind::unblock:
        unblock_class(symbol(hook.id), hook.index);
        break;
      case fsm::HookKind::unblock_class_and_quota:
        unblock_class(class_of(hook.node), hook.index);
        break;
      case fsm::HookKind::unblock_node:
        if (hook.node != kNoRow) unblock_node(hook.node);
        break;
      case fsm::HookKind::drop_waiting:
        if (known_record(hook.eval)) broker_.drop_waiting(record_of(hook.eval).row);
        break;
      case fsm::HookKind::drop:
        if (known_record(hook.eval)) broker_.drop(record_of(hook.eval).row);
        break;
    }
  }
}

void Server::write_evals(std::vector<model::Evaluation> evals) { static_cast<void>(write(std::move(evals))); }

/// R-SCHED-52, 54.
void Server::write_created(Lane& lane, const sched::CreatedEval& created) {
  std::vector<model::Evaluation> evals;
  model::Evaluation& eval =
      evals.emplace_back(sched::created_eval({*lane.result.state, lane.scratch}, lane.result, created,
                                             stored_eval(store_.current(), *lane.record), clock_.now_ns()));
  eval.snapshot_index = lane.record->snapshot_index;  // R-CTRL-235
  // Recorded follow-ups of a delayed reschedule carry the time at which they were written, though the reconciler gives
  // none.
  if (eval.create_time == 0) eval.create_time = eval.modify_time = clock_.now_ns();
  write_evals(std::move(evals));
}

/// The final update (R-SCHED-12 to 15).
void Server::write_status(Lane& lane) {
  std::vector<model::Evaluation> evals;
  model::Evaluation& done = evals.emplace_back(sched::updated_eval({*lane.result.state, lane.scratch}, lane.result,
                                                                   stored_eval(store_.current(), *lane.record)));
  done.modify_time = std::max(clock_.now_ns(), done.create_time + 1);  // R-CTRL-205
  done.snapshot_index = lane.record->snapshot_index;
  write_evals(std::move(evals));
}

void Server::write_cancelled(const EvalRecord& record, const std::string& why) {
  if (!store_.current().evals.exists(record.stored)) return;
  std::vector<model::Evaluation> evals;
  model::Evaluation& cancelled = evals.emplace_back(stored_eval(store_.current(), record));
  cancelled.status = "canceled";
  cancelled.status_description = why;
  cancelled.modify_time = std::max(clock_.now_ns(), cancelled.create_time + 1);
  write_evals(std::move(evals));
}

/// R-SCHED-21: the failed one, and the one that follows it up.
void Server::write_failed(const EvalRecord& record, const std::optional<NewEval>& later) {
  if (!store_.current().evals.exists(record.stored)) return;
  std::vector<model::Evaluation> evals;
  model::Evaluation failed = stored_eval(store_.current(), record);
  failed.status = "failed";
  failed.status_description =
      "evaluation reached delivery limit (" + std::to_string(config_.broker.delivery_limit) + ")";
  failed.modify_time = std::max(clock_.now_ns(), failed.create_time + 1);
  if (later) {
    model::Evaluation& next = evals.emplace_back();
    next.id = failed.next_eval = base::to_text(later->id);
    next.namespace_ = failed.namespace_, next.job_id = failed.job_id, next.type = failed.type;
    next.priority = failed.priority, next.job_modify_index = failed.job_modify_index;
    next.triggered_by = later->trigger;
    next.previous_eval = failed.id;
    next.status = "pending";
    next.wait = later->wait_ns;
    next.create_time = next.modify_time = clock_.now_ns();
  }
  evals.push_back(std::move(failed));
  write_evals(std::move(evals));
}

/// The plan as a log entry: its evaluation, times and deployment go with it, and the evaluations of the jobs that it
/// evicts from (R-CTRL-625, 627, 704).
void Server::commit_objects(Lane& lane, plan::CommitFacts& facts) {
  auto deployment = sched::planned_deployment({*lane.result.state, lane.scratch}, lane.result, lane.record->priority,
                                              clock_.now_ns());
  // Evaluations that it created meanwhile may have changed the job's status (R-CTRL-720).
  if (deployment) deployment->job_modify_index = lane.job_modify_index;
  const std::function<base::Uuid()> draw = [this] { return draw_id(); };
  if (config_.evaluate_evicted) facts.draw_id = &draw;
  facts.now_ns = clock_.now_ns();
  facts.eval = lane.record->id;
  facts.deployment = deployment ? &*deployment : nullptr;
  const std::function<std::shared_ptr<const model::AllocMetric>(const plan::SelectMetrics&)> in_words =
      [&lane](const plan::SelectMetrics& metrics) {
        const tables::Snapshot& state = *lane.result.state;
        const tables::VersionRow job = lane.result.plan.job;
        const std::string pool = job == tables::kNoRow ? std::string() : *state.jobs.versions[job]->spec->node_pool;
        return std::make_shared<const model::AllocMetric>(sched::to_model({state, lane.scratch}, metrics, pool));
      };
  if (config_.keep_details) facts.metrics = &in_words;
  applier_.apply(lane.result.plan, facts, lane.applied);
}

}  // namespace berth::server
