// Blocked evaluations and what unblocks them: the server's calls of the tracker (R-CTRL-801 to 831).
#include <algorithm>
#include <utility>

#include "server/server.h"

namespace berth::server {

using tables::kNoRow;

namespace {

/// The tracker's key of a node; 0 means no node.
tables::Symbol node_key(tables::NodeRow node) { return node + 1; }

}  // namespace

tables::Symbol Server::class_of(tables::NodeRow node) const {
  const tables::NodeTable& nodes = store_.current().nodes;
  return nodes.computed_class(nodes.capacity(node).computed_class_code);
}

/// What the tracker needs about the feasibility checks of an evaluation that is blocked again (R-SCHED-18).
broker::BlockedEval Server::blocked_by(const sched::Eligibility& eligibility) {
  broker::BlockedEval out;
  out.escaped = eligibility.escaped;
  out.classes = eligibility.classes;
  for (const std::string& resource : eligibility.missing_resources)
    out.missing_resources.push_back(store_.symbols().intern(resource));
  return out;
}

/// Hands an evaluation to the tracker; the token in `blocked` is that of its delivery if it is still outstanding
/// (R-CTRL-408, 803 ff.).
void Server::block(EvalRecord& record, broker::BlockedEval blocked) {
  const broker::Token token = blocked.eval.token;
  blocked.eval = queued(record);
  blocked.eval.wait_ns = blocked.eval.wait_until_ns = 0;
  blocked.eval.token = token;
  blocked.snapshot_index = record.snapshot_index;
  blocked.max_plan_attempts = store_.symbols().text(record.trigger) == "max-plan-attempts";
  if (record.node != kNoRow) blocked.node = node_key(record.node);
  if (blocked.max_plan_attempts) refused_blocked_ = true;
  if (const auto replaced = tracker_.block(std::move(blocked), clock_.now_ns(), released_))
    replaced_.push_back(*replaced);
  release(Cause::missed);
}

void Server::unblock_class(tables::Symbol node_class, std::uint64_t index) {
  if (node_class == tables::kEmptySymbol) return;  // R-CTRL-814
  tracker_.unblock_class(node_class, index, clock_.now_ns(), released_);
  release(Cause::node_class);
}

void Server::unblock_node(tables::NodeRow node) {
  tracker_.unblock_node(node_key(node), clock_.now_ns(), released_);
  release(Cause::node);
}

void Server::unblock_resource(std::string_view resource, std::uint64_t index) {
  if (!tracker_.enabled()) return;
  const tables::Symbol symbol = store_.symbols().intern_use(resource);  // as long as the tracker notes the unblock
  if (tracker_.is_noted(symbol))
    store_.symbols().release(symbol);
  else
    kept_.resources.push_back(symbol);
  tracker_.unblock_resources({&symbol, 1}, index, clock_.now_ns(), released_);
  release(Cause::volume);
}

/// Ends the use of the names of resources whose unblock the tracker no longer notes.
void Server::release_resources() {
  std::erase_if(kept_.resources, [&](tables::Symbol symbol) {
    if (tracker_.is_noted(symbol)) return false;
    store_.symbols().release(symbol);
    return true;
  });
}

/// Puts the evaluations that the tracker released into the broker, ascending (create index, ID) (R-CTRL-320, 818).
void Server::release(Cause cause) {
  std::erase_if(released_, [&](const broker::Eval& eval) {  // R-CTRL-335: enqueuing it would have no effect
    EvalRecord& record = book_[eval.row];
    const bool lingers = kept_.cancelled.contains(record.id);
    if (lingers) release_if_unused(record);
    return lingers;
  });
  if (released_.empty()) return;
  std::sort(released_.begin(), released_.end(), [&](const broker::Eval& a, const broker::Eval& b) {
    return a.create_index != b.create_index ? a.create_index < b.create_index : book_[a.row].id < book_[b.row].id;
  });
  for (const broker::Eval& eval : released_) {
    EvalRecord& record = book_[eval.row];
    // Including one that was cancelled as a duplicate (R-CTRL-808).
    std::atomic_ref(record.status).store(EvalState::blocked, std::memory_order_release);
    // R-CTRL-816 keeps a released evaluation tracked: the broker has it already, or a worker that reads the record.
    if (record.queued) continue;
    record.was_blocked = true;
    record.cause = cause;
    record.queued = true;
    record.due_ns = clock_.now_ns();
    ++record.round;
    ++stats_.unblocked[static_cast<std::size_t>(cause)];
    if (listener_) listener_->released(record);
  }
  static_cast<void>(broker_.enqueue(released_, clock_.now_ns()));
  wake(released_.size());
  released_.clear();
}

/// An evaluation of the job placed everything: ends the job's blocked evaluations (R-CTRL-733, 820).
void Server::end_blocked_of(tables::JobKeyRow job) {
  std::vector<broker::EvalRow> rows;
  tracker_.untrack(broker::JobKeyRow{job}, clock_.now_ns(), rows);
  for (const broker::EvalRow row : rows) drop(book_[row]);
}

/// Cancels the blocked evaluation of a gang whose time is over. `why`: the reason why the gang failed.
void Server::cancel_blocked_of(tables::JobKeyRow job, const std::string& why) {
  std::vector<broker::EvalRow> rows;
  tracker_.untrack(broker::JobKeyRow{job}, clock_.now_ns(), rows);
  write_cancelled(rows, [&](const EvalRecord&) { return why; });
  for (const broker::EvalRow row : rows) drop(book_[row]);
}

/// Call after evaluations were blocked: cancels those that they replaced (R-CTRL-807).
void Server::cancel_duplicates() {
  std::vector<broker::EvalRow> rows;
  tracker_.take_duplicates(rows);
  if (rows.empty() && replaced_.empty()) return;
  const std::vector<broker::EvalRow> replaced = std::exchange(replaced_, {});
  stats_.duplicates += rows.size();
  const tables::Snapshot& state = store_.current();
  write_cancelled(rows, [&](const EvalRecord& record) {
    return "existing blocked evaluation exists for job \"" + state.text(state.jobs.keys[record.job].job_id) + "\"";
  });
  for (const broker::EvalRow row : rows) drop(book_[row]);
  for (const broker::EvalRow row : replaced) release_if_unused(book_[row]);
}

/// Cancels a blocked evaluation that the tracker has taken out.
void Server::drop(EvalRecord& record) {
  // Pairs with status_now() of a worker that received it just now; one that read the status before decides it anyway.
  if (record.status == EvalState::blocked)
    std::atomic_ref(record.status).store(EvalState::canceled, std::memory_order_release);
  release_if_unused(record);
}

/// Frees the row of an evaluation that is over, once neither broker nor tracker refers to it.
void Server::release_if_unused(EvalRecord& record) {
  if (record.stored == kNoRow || !is_terminal(record.status) || record.queued) return;
  if (!broker_.outstanding(record.row) && !tracks(record)) forget(record.row);
}

/// Frees the rows of evaluations that the broker dropped.
void Server::free_dropped() {
  std::vector<broker::EvalRow> rows;
  broker_.take_dropped(rows);
  for (const broker::EvalRow row : rows) {
    book_[row].queued = false;
    release_if_unused(book_[row]);
  }
}

bool Server::tracks(const EvalRecord& record) const {
  if (tracker_.captured().contains(record.row) || tracker_.escaped().contains(record.row)) return true;
  if (record.node != kNoRow) {
    const auto at = tracker_.system_by_node().find(node_key(record.node));
    return at != tracker_.system_by_node().end() && at->second.contains(record.row);
  }
  // Its node may have been unknown when it was blocked.
  const auto at = tracker_.system_by_job().find(broker::JobKeyRow{record.job});
  return at != tracker_.system_by_job().end() &&
         std::any_of(at->second.begin(), at->second.end(),
                     [&](const auto& of_node) { return of_node.second == record.row; });
}

}  // namespace berth::server
