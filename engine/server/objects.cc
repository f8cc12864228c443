// History::objects: every evaluation is an API object in the state, written through the log, and comes back as the
// hooks of its entry. What the book holds of it is what broker, tracker and scheduler need.
#include <algorithm>

#include "model/predicates.h"
#include "sched/to_model.h"
#include "server/server.h"

namespace berth::server {

using tables::kNoRow;

namespace {

broker::Queue queue_of(std::string_view type) {
  for (const auto queue : {broker::Queue::batch, broker::Queue::system, broker::Queue::sysbatch, broker::Queue::core})
    if (broker::queue_name(queue) == type) return queue;
  return broker::Queue::service;
}

EvalState state_of(std::string_view status) {
  if (status == "blocked") return EvalState::blocked;
  if (status == "complete") return EvalState::complete;
  if (status == "failed") return EvalState::failed;
  return status == "canceled" ? EvalState::canceled : EvalState::pending;
}

}  // namespace

std::uint64_t Server::job_modify_index(const tables::Snapshot& state, tables::JobKeyRow key) {
  const auto& job = state.jobs.objects[key];
  return job ? job->modify_index : 0;
}

void Server::fill(EvalRecord& record, const std::shared_ptr<const model::Evaluation>& eval) {
  record.id = base::parse_uuid(eval->id).value_or(base::Uuid{});
  record.object = eval;
  record.previous = base::parse_uuid(eval->previous_eval).value_or(base::Uuid{});
  record.create_index = eval->create_index, record.snapshot_index = eval->snapshot_index;
  record.wait_ns = eval->wait;
  record.wait_until_ns = eval->wait_until.is_zero() ? 0 : eval->wait_until.ns;
  record.job = store_.job_key(eval->namespace_, eval->job_id);
  record.trigger = store_.symbols().intern(eval->triggered_by);
  record.node = eval->node_id.empty() ? kNoRow : store_.find_node(eval->node_id);
  record.priority = static_cast<std::int32_t>(eval->priority);
  record.type = queue_of(eval->type);
  record.status = state_of(eval->status);
  record.was_blocked = record.status == EvalState::blocked;
  record.annotate = eval->annotate_plan;
}

/// The book's record of a stored evaluation; a new one unless it is under way already. One that was handed out to a
/// free worker belongs to it.
EvalRecord& Server::record_of(const std::shared_ptr<const model::Evaluation>& eval) {
  const base::Uuid id = base::parse_uuid(eval->id).value_or(base::Uuid{});
  auto at = rows_.find(id);
  const bool is_new = at == rows_.end();
  if (is_new) {
    const auto row = book_.add();
    BERTH_ASSERT(row.has_value());  // Config::broker.evals
    at = rows_.insert({id, *row}).first;
  }
  EvalRecord& record = book_[at->second];
  if (team_ && broker_.outstanding(record.row)) return record;
  fill(record, eval);
  if (is_new) log_.hold(record.job, true);
  return record;
}

void Server::disable_queues() {
  BERTH_ASSERT(keeps_objects() && !team_);
  foresee_nothing();
  broker_.disable();
  tracker_.disable();
  for (const auto& [id, row] : rows_) {
    log_.hold(book_[row].job, false);
    book_[row].object.reset();
    book_.release(row);
  }
  rows_.clear();
  errors_.clear();
  refused_blocked_ = timers_ = false;
}

void Server::enable_queues() {
  BERTH_ASSERT(keeps_objects() && !team_);
  broker_.enable();
  tracker_.enable(clock_.now_ns());
  std::vector<std::shared_ptr<const model::Evaluation>> evals;
  const tables::EvalTable& table = store_.current().evals;
  for (std::uint32_t row = 0; row < table.size(); ++row)
    if (table.object[row] && (table.object[row]->status == "pending" || table.object[row]->status == "blocked"))
      evals.push_back(table.object[row]);
  std::sort(evals.begin(), evals.end(), [](const auto& a, const auto& b) {
    return a->create_index != b->create_index ? a->create_index < b->create_index : a->id < b->id;
  });
  fsm::Hooks hooks;
  for (auto& eval : evals) {
    const bool blocked = eval->status == "blocked";
    hooks.push_back({blocked ? fsm::HookKind::block : fsm::HookKind::enqueue, std::move(eval), {}, {}, 0});
  }
  take(hooks);
}

void Server::take(const fsm::Hooks& hooks) {
  if (!broker_.enabled()) return;
  const auto symbol = [&](const std::string& text) { return store_.symbols().intern(text); };
  for (const fsm::Hook& hook : hooks) {
    switch (hook.kind) {
      case fsm::HookKind::enqueue: {
        EvalRecord& record = record_of(hook.eval);
        record.due_ns = clock_.now_ns();
        static_cast<void>(enqueue(record));
        break;
      }
      case fsm::HookKind::block: {
        const model::Evaluation& eval = *hook.eval;
        broker::BlockedEval blocked;
        blocked.escaped = eval.escaped_computed_class;
        if (eval.class_eligibility)
          for (const auto& [node_class, eligible] : *eval.class_eligibility)
            blocked.classes.push_back({symbol(node_class), eligible});
        for (const std::string& resource : eval.missing_non_node_resources)
          blocked.missing_resources.push_back(symbol(resource));
        ++stats_.blocked;
        block(record_of(hook.eval), std::move(blocked));
        break;
      }
      case fsm::HookKind::untrack:
        end_blocked_of(store_.job_key(hook.name_space, hook.id));
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
        broker_.drop_waiting(record_of(hook.eval).row);
        break;
      case fsm::HookKind::drop:
        broker_.drop(record_of(hook.eval).row);
        break;
    }
  }
}

void Server::write_evals(std::vector<model::Evaluation> evals) { static_cast<void>(write(std::move(evals))); }

/// R-SCHED-52, 54.
void Server::write_created(Lane& lane, const sched::CreatedEval& created) {
  std::vector<model::Evaluation> evals;
  model::Evaluation& eval = evals.emplace_back(sched::created_eval({*lane.result.state, lane.scratch}, lane.result,
                                                                   created, *lane.record->object, clock_.now_ns()));
  eval.snapshot_index = lane.record->snapshot_index;  // R-CTRL-235
  // Recorded follow-ups of a delayed reschedule carry the time at which they were written, though the reconciler gives
  // none.
  if (eval.create_time == 0) eval.create_time = eval.modify_time = clock_.now_ns();
  write_evals(std::move(evals));
}

/// The final update (R-SCHED-12 to 15).
void Server::write_status(Lane& lane) {
  std::vector<model::Evaluation> evals;
  model::Evaluation& done =
      evals.emplace_back(sched::updated_eval({*lane.result.state, lane.scratch}, lane.result, *lane.record->object));
  done.modify_time = std::max(clock_.now_ns(), done.create_time + 1);  // R-CTRL-205
  done.snapshot_index = lane.record->snapshot_index;
  write_evals(std::move(evals));
}

void Server::write_cancelled(const EvalRecord& record, const std::string& why) {
  const auto stored = log_.eval(base::to_text(record.id));
  if (!stored) return;
  std::vector<model::Evaluation> evals;
  model::Evaluation& cancelled = evals.emplace_back(*stored);
  cancelled.status = "canceled";
  cancelled.status_description = why;
  cancelled.modify_time = std::max(clock_.now_ns(), cancelled.create_time + 1);
  write_evals(std::move(evals));
}

/// R-SCHED-21: the failed one, and the one that follows it up.
void Server::write_failed(const EvalRecord& record, const std::optional<NewEval>& later) {
  const auto stored = log_.eval(base::to_text(record.id));
  if (!stored) return;
  std::vector<model::Evaluation> evals;
  model::Evaluation failed = *stored;
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
