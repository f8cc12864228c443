// Evaluations as rows of the state. Each is written as a log entry, without an API object; the entry's hooks then put
// it into the broker or the tracker. The book has the numbers that broker, tracker and scheduler read.
#include <algorithm>

#include "model/job.h"
#include "sched/planned.h"
#include "server/lane.h"
#include "server/server.h"

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

/// An EvalMore that is copied on the first write. The copy is stored when the MoreEdit is destroyed.
class MoreEdit {
 public:
  explicit MoreEdit(tables::EvalMoreRef& more) : more_(more) {}
  ~MoreEdit() {
    if (edited_) more_ = std::move(edited_);
  }
  MoreEdit(const MoreEdit&) = delete;
  MoreEdit& operator=(const MoreEdit&) = delete;

  tables::EvalMore& get() {
    if (!edited_) edited_ = more_ ? std::make_shared<tables::EvalMore>(*more_) : std::make_shared<tables::EvalMore>();
    return *edited_;
  }
  /// Writes a member unless it is empty and stays empty.
  template <class T>
  void set(T tables::EvalMore::*member, T value) {
    if (more_ || edited_ || value != T{}) get().*member = std::move(value);
  }
  /// The member's new value is in the columns: a text stored for the old value is removed.
  void forget_text(std::string model::Evaluation::*member) {
    if (more_ && !more_->texts.empty())
      std::erase_if(get().texts, [&](const auto& kept) { return kept.first == member; });
  }

 private:
  tables::EvalMoreRef& more_;
  std::shared_ptr<tables::EvalMore> edited_;
};

/// The delay that a nack caused becomes the evaluation's Wait (R-CTRL-339).
void store_wait(const EvalRecord& record, tables::EvalContents& contents) {
  if ((contents.more ? contents.more->wait_ns : 0) == record.wait_ns) return;
  MoreEdit more(contents.more);
  more.set(&tables::EvalMore::wait_ns, record.wait_ns);
}

constexpr std::size_t kCancelledPerEntry = 728;  // R-CTRL-336

constexpr const char* kTooMany = "the server knows as many evaluations as it can";

// Evaluation types and broker queues have the same numbers.
static_assert(tables::kEvalTypes[static_cast<std::size_t>(broker::Queue::core)] == std::string_view("_core"));

}  // namespace

std::uint64_t Server::job_modify_index(const tables::Snapshot& state, tables::JobKeyRow key) {
  const auto& job = state.jobs.objects[key];
  return job ? job->modify_index : 0;
}

/// Fills the record from the stored evaluation's row.
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

/// Makes the book's row refer to the stored evaluation.
EvalRecord& Server::know(tables::StoredEvalRow row, broker::EvalRow known) {
  if (row >= rows_.size()) rows_.resize(row + std::size_t{1}, kNoBookRow);
  rows_[row] = known;
  log_.hold(row, store_.current().evals.job_key[row], true);
  book_[known].due_ns = clock_.now_ns();
  return book_[known];
}

/// The book's record of a stored evaluation, filled from its row; a new record unless the evaluation is under way.
/// Null: the book is full. A record that a free worker holds is returned unchanged. `from`: the evaluation that created
/// this one; null: none did.
EvalRecord* Server::record_of(tables::StoredEvalRow row, const EvalRecord* from) {
  EvalRecord* record = known_record(row);
  if (!record) {
    const auto added = book_.add();
    if (!added) return nullptr;
    record = &know(row, *added);
    if (from) record->tag = from->tag, record->round = from->round;
  } else if (team_ && broker_.outstanding(record->row)) {
    return record;
  }
  fill(*record, row);
  return record;
}

/// Cancels a stored evaluation that the book or the broker has no room for (Config::broker).
void Server::refuse(tables::StoredEvalRow row) {
  if (!store_.current().evals.exists(row)) return;
  EvalRecord record;
  fill(record, row);
  tables::EvalWrite eval = ended(record, tables::kEvalCanceled, kTooMany);
  fsm::Hooks hooks;
  take(put({&eval, 1}, hooks));
}

void Server::disable_queues() {
  BERTH_ASSERT(!team_);
  foresee_nothing();
  broker_.disable();
  tracker_.disable();
  for (const broker::EvalRow row : rows_)
    if (row != kNoBookRow) forget(row);
  rows_.clear();
  errors_.clear();
  kept_.cancelled.clear(), kept_.cancelled_left = 0;
  release_resources();
  refused_blocked_ = timers_ = false;
}

void Server::enable_queues() {
  BERTH_ASSERT(!team_);
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

void Server::take(const fsm::Hooks& hooks, const EvalRecord* from) {
  if (!broker_.enabled()) return;
  const auto symbol = [&](const std::string& text) { return store_.symbols().intern(text); };
  for (const fsm::Hook& hook : hooks) {
    if (hook.kind != fsm::HookKind::block) cancel_duplicates();
    if (hook.eval != kNoRow && !store_.current().evals.exists(hook.eval)) continue;  // removed since
    switch (hook.kind) {
      case fsm::HookKind::enqueue: {
        if (kept_.cancelled.contains(store_.current().evals.id[hook.eval])) break;  // R-CTRL-335
        EvalRecord* record = record_of(hook.eval, from);
        if (record) record->status = EvalState::pending;
        if (!record || !enqueue(*record)) refuse(hook.eval);
        break;
      }
      case fsm::HookKind::block: {
        const tables::EvalTable& evals = store_.current().evals;
        broker::BlockedEval blocked;
        blocked.escaped = evals.packed[hook.eval].escaped;
        if (const tables::EvalMoreRef more = evals.more[hook.eval]) {
          if (more->class_eligibility) blocked.classes = *more->class_eligibility;
          for (const std::string& resource : more->missing_non_node_resources)
            blocked.missing_resources.push_back(symbol(resource));
        }
        EvalRecord* record = record_of(hook.eval, from);
        if (!record) {
          refuse(hook.eval);
          break;
        }
        ++stats_.blocked;
        record->status = EvalState::blocked;
        record->was_blocked = true;
        block(*record, std::move(blocked));
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
        if (known_record(hook.eval)) broker_.drop_waiting(record_of(hook.eval)->row);
        break;
      case fsm::HookKind::drop:
        if (known_record(hook.eval)) broker_.drop(record_of(hook.eval)->row);
        break;
      case fsm::HookKind::forget_job:
        tracker_.forget_job(hook.job);
        break;
    }
  }
  cancel_duplicates();
  free_dropped();
}

/// Writes evaluations as one log entry. `hooks` receives the entry's hooks.
fsm::Hooks& Server::put(std::span<tables::EvalWrite> evals, fsm::Hooks& hooks) {
  hooks.clear();
  const std::string error = log_.apply(config_.retain ? next_index() : store_.index(), evals, hooks);
  BERTH_ASSERT(error.empty());
  return hooks;
}

/// The stored evaluation of a record, for changing it. One that was removed meanwhile is written to a new row.
tables::EvalWrite Server::stored(const EvalRecord& record) const {
  const tables::EvalTable& evals = store_.current().evals;
  const tables::StoredEvalRow row = record.stored;
  return {evals.exists(row) ? row : kNoRow,    record.id, record.job, evals.priority[row], evals.status[row], 0, 0,
          {evals.packed[row], evals.more[row]}};
}

/// The row of a new evaluation.
tables::EvalWrite Server::pending(const NewEval& eval) {
  EvalRecord facts;
  facts.id = eval.id, facts.job = eval.job;
  fill(facts, eval, store_.current());
  tables::EvalWrite out;
  out.id = eval.id, out.job = eval.job, out.priority = facts.priority;
  tables::PackedEval& packed = out.contents.packed;
  packed.type = static_cast<std::uint8_t>(facts.type);
  packed.trigger = store_.symbols().intern(eval.trigger);
  packed.annotate = eval.annotate;
  packed.create_time = packed.modify_time = clock_.now_ns();
  {
    MoreEdit more(out.contents.more);
    more.set(&tables::EvalMore::wait_ns, eval.wait_ns);
    if (eval.wait_until_ns != 0) more.get().wait_until = base::Time{eval.wait_until_ns};
  }
  return out;
}

/// Writes a blocked or delayed evaluation (R-SCHED-17, 52, 54). Returns the error, or "".
std::string Server::create(Lane& lane, const sched::CreatedEval& created) {
  const Turn turn(*this);
  if (std::string why = taken_away(lane); !why.empty()) return why;  // R-CTRL-233
  if (book_.full()) return kTooMany;
  const EvalRecord& from = *lane.record;
  const tables::PackedEval& theirs = store_.current().evals.packed[from.stored];
  tables::EvalWrite eval;
  tables::PackedEval& packed = eval.contents.packed;
  if (created.followup) {
    const tables::JobKey& key = store_.current().jobs.keys[from.job];
    const tables::EvalColumns columns{created.id,
                                      store_.current().text(key.job_namespace),
                                      store_.current().text(key.job_id),
                                      static_cast<std::int32_t>(created.followup->priority),
                                      tables::eval_status(created.followup->status),
                                      0,
                                      0};
    eval.contents = tables::pack(model::Evaluation(*created.followup), columns, store_.symbols());
    eval.priority = columns.priority, eval.status = columns.status;
    if (created.followup->triggered_by == "rolling-update")
      packed.job_modify_index = theirs.job_modify_index;  // R-SEED-34
  } else {                                                // R-SCHED-52
    const sched::Eligibility& eligibility = *created.eligibility;
    eval.priority = from.priority, eval.status = tables::kEvalBlocked;
    packed.type = static_cast<std::uint8_t>(from.type);
    packed.job_modify_index = theirs.job_modify_index;
    packed.trigger = store_.symbols().intern(created.triggered_by);
    packed.escaped = eligibility.escaped;
  }
  eval.id = created.id, eval.job = from.job;
  packed.snapshot_index = from.snapshot_index;  // R-CTRL-235
  // In recordings, follow-ups of a delayed reschedule carry the time at which they were written, though the reconciler
  // sets none.
  if (packed.create_time == 0) packed.create_time = packed.modify_time = clock_.now_ns();
  {
    MoreEdit edit(eval.contents.more);
    tables::EvalMore& more = edit.get();
    more.previous = from.id;
    if (from.id_text != tables::kEmptySymbol)
      more.texts.emplace_back(&model::Evaluation::previous_eval, store_.symbols().text(from.id_text));
    if (!created.followup) {
      more.status_description = created.description;
      if (created.node != kNoRow) more.node = lane.result.state->nodes.id(created.node);
      if (!created.eligibility->escaped) more.class_eligibility = created.eligibility->classes;
      more.missing_non_node_resources = created.eligibility->missing_resources;
      if (config_.retain) write_failures(lane, eval.contents.packed, more);
    }
  }
  fsm::Hooks hooks;
  take(put({&eval, 1}, hooks), &from);
  return "";
}

void Server::write_failures(const Lane& lane, tables::PackedEval& packed, tables::EvalMore& more) {
  more.failed_tg_allocs = sched::failures({*lane.result.state, lane.scratch}, lane.result);
  packed.failed_groups = !more.failed_tg_allocs.empty();
}

/// Writes the final update (R-SCHED-12 to 15).
void Server::write_status(Lane& lane) {
  const sched::EvalResult& result = lane.result;
  tables::EvalWrite eval = stored(*lane.record);
  tables::PackedEval& packed = eval.contents.packed;
  eval.status = result.status == sched::EvalStatus::complete ? tables::kEvalComplete : tables::kEvalFailed;
  packed.modify_time = std::max(clock_.now_ns(), packed.create_time + 1);  // R-CTRL-205
  packed.snapshot_index = lane.record->snapshot_index;
  packed.failed_groups = result.any_failed();
  store_wait(*lane.record, eval.contents);
  if (config_.retain) write_contents(lane, eval.contents);
  take(put({&eval, 1}, hooks_), lane.record);
}

/// Fills in the fields that only the API shows.
void Server::write_contents(const Lane& lane, tables::EvalContents& contents) {
  using model::Evaluation;
  using tables::EvalMore;
  const sched::EvalResult& result = lane.result;
  const sched::Naming naming{*result.state, lane.scratch};
  tables::PackedEval& packed = contents.packed;
  MoreEdit more(contents.more);
  more.forget_text(&Evaluation::status);
  more.set(&EvalMore::status_description, result.description);
  more.forget_text(&Evaluation::deployment_id);
  packed.deployment_id = result.deployment_id;
  if (packed.failed_groups || contents.more) write_failures(lane, packed, more.get());
  packed.has_updates = packed.update_entry = false;
  more.set(&EvalMore::plan_annotations, {});
  if (result.has_queued) {
    packed.has_queued = packed.has_updates = true, packed.queued_entry = false;
    more.set(&EvalMore::queued_allocations, {});
    const bool evicts = std::any_of(result.plan.stops.begin(), result.plan.stops.end(),
                                    [](const plan::PlannedStop& stop) { return stop.evict; });
    bool fits_queued = result.groups.size() <= 1, fits_updates = result.groups.size() <= 1 && !evicts;
    for (const sched::GroupResult& group : result.groups) {
      if (fits_queued && group.has_queued) fits_queued = tables::set_queued(packed, group.name, group.queued);
      if (fits_updates && group.has_updates) fits_updates = tables::set_updates(packed, group.name, group.updates);
    }
    if (!fits_updates) more.get().plan_annotations = sched::annotations(naming, result, packed.annotate);
    if (!fits_queued) {
      auto& queued = more.get().queued_allocations.emplace();
      for (const sched::GroupResult& group : result.groups)
        if (group.has_queued) queued[naming.snapshot.text(group.name)] = group.queued;
    }
  }
  if (result.has_blocked) more.forget_text(&Evaluation::blocked_eval), more.get().blocked = result.blocked_id;
  if (!result.next_eval.is_nil()) more.forget_text(&Evaluation::next_eval), more.get().next = result.next_eval;
}

/// Ends a stored evaluation that has no scheduler result.
tables::EvalWrite Server::ended(const EvalRecord& record, std::uint8_t status, std::string why) const {
  tables::EvalWrite eval = stored(record);
  eval.status = status;
  eval.contents.packed.modify_time = std::max(clock_.now_ns(), eval.contents.packed.create_time + 1);
  store_wait(record, eval.contents);
  {
    MoreEdit more(eval.contents.more);
    more.forget_text(&model::Evaluation::status);
    more.set(&tables::EvalMore::status_description, std::move(why));
  }
  return eval;
}

/// Writes evaluations of the book `canceled`, up to 728 in one entry (R-CTRL-336).
void Server::write_cancelled(std::span<const broker::EvalRow> rows,
                             const std::function<std::string(const EvalRecord&)>& why) {
  std::vector<tables::EvalWrite> evals;
  fsm::Hooks hooks;
  while (!rows.empty()) {
    const auto entry = rows.first(std::min(rows.size(), kCancelledPerEntry));
    rows = rows.subspan(entry.size());
    evals.clear();
    for (const broker::EvalRow row : entry)
      if (store_.current().evals.exists(book_[row].stored))
        evals.push_back(ended(book_[row], tables::kEvalCanceled, why(book_[row])));
    if (!evals.empty()) take(put(evals, hooks));
  }
}

/// R-SCHED-21: writes the failed evaluation and its follow-up.
void Server::write_failed(const EvalRecord& record, const std::optional<NewEval>& later) {
  if (!store_.current().evals.exists(record.stored)) return;
  std::vector<tables::EvalWrite> evals;
  tables::EvalWrite failed =
      ended(record, tables::kEvalFailed,
            "evaluation reached delivery limit (" + std::to_string(config_.broker.delivery_limit) + ")");
  if (later) {
    tables::EvalWrite& next = evals.emplace_back(pending(*later));
    next.contents.packed.job_modify_index = failed.contents.packed.job_modify_index;
    MoreEdit(next.contents.more).get().previous = record.id;
    MoreEdit more(failed.contents.more);
    more.forget_text(&model::Evaluation::next_eval), more.get().next = later->id;
  }
  evals.push_back(std::move(failed));
  fsm::Hooks hooks;
  take(put(evals, hooks), &record);
}

/// Commits the lane's plan as a log entry, together with its evaluation, times and deployment, and the evaluations of
/// jobs from which it evicts (R-CTRL-625, 627, 704).
void Server::commit(Lane& lane, plan::CommitFacts& facts) {
  std::optional<model::Deployment> deployment;
  if (config_.retain) {
    const base::StageScope committing(lane.stages, base::Stage::commit);
    deployment = sched::planned_deployment({*lane.result.state, lane.scratch}, lane.result, lane.record->priority,
                                           clock_.now_ns());
    // Evaluations created by this one meanwhile may have changed the job's status (R-CTRL-720).
    if (deployment) deployment->job_modify_index = lane.job_modify_index;
  }
  const std::function<base::Uuid()> draw = [this] { return draw_id(); };
  if (config_.evaluate_evicted) facts.draw_id = &draw;
  facts.index = next_index();
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
  if (team_) {
    lane.early.renew(store_.current().nodes, lane.result.plan);
    facts.early = &lane.early;
  }
  applier_.apply(lane.result.plan, facts, lane.applied);
}

}  // namespace berth::server
