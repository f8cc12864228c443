#include "conform/life/life_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "conform/control/control_broker.h"
#include "model/predicates.h"

namespace berth::conform {
namespace {

using broker::EvalRow;
using broker::Token;

broker::Config queue_config(const model::Quirks& quirks) {
  broker::Config out;
  out.order = broker::ReadyOrder::exact;
  out.quirks = quirks;
  out.evals = 1U << 15;
  out.jobs = 64;
  return out;
}

}  // namespace

LifeQueue::LifeQueue(tables::StateStore& store, const model::Quirks& quirks)
    : store_(store), broker_(queue_config(quirks)), tracker_(store.symbols(), quirks) {
  broker_.enable();
  tracker_.enable(0);
}

broker::Eval LifeQueue::read(const model::Evaluation& eval) {
  broker::Eval out;
  out.row = EvalRow(std::uint32_t{store_.find_eval(eval.id)});
  out.job = broker::JobKeyRow{store_.job_key(eval.namespace_, eval.job_id)};
  out.job_id = store_.symbols().intern(eval.job_id);
  out.priority = static_cast<std::int32_t>(eval.priority);
  out.type = queue_of(eval.type);
  out.create_index = eval.create_index, out.modify_index = eval.modify_index;
  out.wait_ns = eval.wait;
  out.wait_until_ns = eval.wait_until.is_zero() ? 0 : eval.wait_until.ns;
  return out;
}

std::string LifeQueue::id_of(EvalRow row) const {
  return base::to_text(store_.current().evals.id[static_cast<std::uint32_t>(row)]);
}

void LifeQueue::enqueue(std::vector<broker::Eval> evals, std::int64_t now) {
  std::sort(evals.begin(), evals.end(), [&](const broker::Eval& a, const broker::Eval& b) {  // R-CTRL-320
    return a.create_index != b.create_index ? a.create_index < b.create_index : id_of(a.row) < id_of(b.row);
  });
  static_cast<void>(broker_.enqueue(evals, now));
}

void LifeQueue::take(const fsm::Hooks& hooks, std::int64_t now) {
  const auto symbol = [&](const std::string& text) { return store_.symbols().intern(text); };
  for (const fsm::Hook& hook : hooks) {
    std::vector<broker::Eval> released;
    switch (hook.kind) {
      case fsm::HookKind::enqueue:
        released.push_back(read(*hook.eval));
        break;
      case fsm::HookKind::block: {
        broker::BlockedEval blocked;
        blocked.eval = read(*hook.eval);
        if (blocked.eval.row == outstanding_.first) blocked.eval.token = outstanding_.second;
        blocked.snapshot_index = hook.eval->snapshot_index;
        blocked.escaped = hook.eval->escaped_computed_class;
        blocked.max_plan_attempts = hook.eval->triggered_by == "max-plan-attempts";
        blocked.quota = symbol(""), blocked.node = symbol(hook.eval->node_id);
        if (hook.eval->class_eligibility)
          for (const auto& [node_class, eligible] : *hook.eval->class_eligibility)
            blocked.classes.push_back({symbol(node_class), eligible});
        tracker_.block(blocked, now, released);
        break;
      }
      case fsm::HookKind::untrack:
        tracker_.untrack(broker::JobKeyRow{store_.job_key(hook.name_space, hook.id)}, now);
        break;
      case fsm::HookKind::unblock:
      case fsm::HookKind::unblock_class_and_quota:
        tracker_.unblock_class(symbol(hook.id), hook.index, now, released);
        break;
      case fsm::HookKind::unblock_node:
        tracker_.unblock_node(symbol(hook.id), now, released);
        break;
      case fsm::HookKind::drop_waiting:
        broker_.drop_waiting(read(*hook.eval).row);
        break;
      case fsm::HookKind::drop:
        broker_.drop(read(*hook.eval).row);
        break;
    }
    if (!released.empty()) enqueue(std::move(released), now);
  }
}

std::optional<LifeQueue::Delivery> LifeQueue::next(std::int64_t now) {
  for (const bool failed : {false, true}) {
    const auto got = broker_.dequeue(failed ? only(broker::Queue::failed) : broker::kSchedulers, now);
    if (got && *got) return Delivery{id_of((*got)->row), (*got)->row, (*got)->token, failed};
  }
  return std::nullopt;
}

void LifeQueue::ack(const Delivery& delivery, std::int64_t now) {
  static_cast<void>(broker_.ack(delivery.row, delivery.token, now));
  outstanding_ = {};
}

void LifeQueue::nack(const Delivery& delivery, std::int64_t now) {
  static_cast<void>(broker_.nack(delivery.row, delivery.token, now));
  outstanding_ = {};
}

std::vector<std::string> LifeQueue::take_cancelled() {
  std::vector<EvalRow> rows;
  broker_.take_cancelable(~0U, rows);
  tracker_.take_duplicates(rows);
  std::vector<std::string> out;
  for (const EvalRow row : rows) out.push_back(id_of(row));
  return out;
}

std::set<tables::JobKeyRow> LifeQueue::given_back() {
  const broker::Contents held = broker_.contents();
  std::set<EvalRow> delivered;
  for (const auto& known : held.known)
    if (known.deliveries > 0) delivered.insert(known.row);
  std::set<tables::JobKeyRow> out;
  for (const EvalRow row : held.time_wait)
    if (delivered.contains(row)) out.insert(store_.current().evals.job_key[static_cast<std::uint32_t>(row)]);
  return out;
}

bool LifeQueue::waits(tables::JobKeyRow job) {
  const auto of_job = [&](EvalRow row) {
    return store_.current().evals.job_key[static_cast<std::uint32_t>(row)] == job;
  };
  for (const auto* tracked : {&tracker_.captured(), &tracker_.escaped()})
    for (const auto& [row, blocked] : *tracked)
      if (of_job(row)) return true;
  const broker::Contents held = broker_.contents();
  return std::any_of(held.known.begin(), held.known.end(), [&](const auto& known) { return of_job(known.row); });
}

void LifeQueue::check(const tables::Snapshot& state, Problems& problems) {
  const broker::Contents held = broker_.contents();
  std::map<EvalRow, int> places;  // of the broker, in which an evaluation stands
  std::map<tables::JobKeyRow, int> active;
  std::set<EvalRow> delivered;
  for (const auto& known : held.known)
    if (known.deliveries > 0) delivered.insert(known.row);
  const auto job_of = [&](EvalRow row) { return state.evals.job_key[static_cast<std::uint32_t>(row)]; };
  const auto stands = [&](EvalRow row, bool is_active) {
    ++places[row];
    if (is_active && ++active[job_of(row)] == 2)
      problems.push_back(fmt::format("R-CTRL-1724: two evaluations of a job are active, one is {}", id_of(row)));
  };
  for (const auto& queue : held.ready)
    for (const EvalRow row : queue) stands(row, true);
  for (const auto& outstanding : held.outstanding) stands(outstanding.row, true);
  for (const auto& [job, rows] : held.pending)
    for (const EvalRow row : rows) stands(row, false);
  for (const EvalRow row : held.cancelable) stands(row, false);
  for (const EvalRow row : held.time_wait) stands(row, delivered.contains(row));
  for (const EvalRow row : held.delayed) stands(row, false);

  std::map<tables::JobKeyRow, EvalRow> tracked;
  std::set<EvalRow> blocked;
  for (const auto* rows : {&tracker_.captured(), &tracker_.escaped()})
    for (const auto& [row, eval] : *rows) {
      blocked.insert(row);
      if (const std::string& type = state.evals.object[static_cast<std::uint32_t>(row)]->type;
          type == "system" || type == "sysbatch")
        continue;  // one per node
      if (!tracked.emplace(job_of(row), row).second)
        problems.push_back(fmt::format("R-CTRL-1727: two evaluations of a job are tracked, one is {}", id_of(row)));
      const auto named = tracker_.jobs().find(broker::JobKeyRow{job_of(row)});
      if (named == tracker_.jobs().end() || named->second != row)
        problems.push_back(fmt::format("R-CTRL-1727: the tracked evaluation {} is not its job's", id_of(row)));
    }
  for (const auto& [node, rows] : tracker_.system_by_node())
    for (const auto& [row, eval] : rows) blocked.insert(row);
  for (std::uint32_t row = 0; row < state.evals.size(); ++row) {
    const auto& eval = state.evals.object[row];
    if (!eval) continue;
    const auto at = places.find(EvalRow{row});
    const int count = at == places.end() ? 0 : at->second;
    if (eval->status == "pending" && count != 1)
      problems.push_back(fmt::format("R-CTRL-1725: the pending evaluation {} ({}) stands in {} places of the broker",
                                     eval->id, eval->triggered_by, count));
    if (eval->status == "blocked" && count == 0 && !blocked.contains(EvalRow{row}))
      problems.push_back(fmt::format("R-CTRL-1726: the blocked evaluation {} waits nowhere", eval->id));
  }
}

}  // namespace berth::conform
