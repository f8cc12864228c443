// The path of an evaluation, from top to bottom: dequeued, decided on a state, its plan checked and committed, decided
// again after a refusal, and acked, blocked, failed or nacked.
//
//   evaluate(), take(), release()      events.cc, stored_evals.cc, unblocking.cc: into the broker (R-CTRL-202, 316)
//   step() / a worker                  dequeue (R-CTRL-402)
//     serve()
//       begin(), put_facts()           the only place where the facts of an evaluation are put together
//       take_state(), decide()         the scheduler: R-SCHED-4 to 45; it counts its own attempts (R-SCHED-6, 7)
//         create()                     blocked and follow-up evaluations (R-SCHED-17, 51 to 56)
//         submit()                     plan queue, check_and_commit(), newer state after a refusal (R-CTRL-407, 501)
//       settle()                       status (R-SCHED-12 to 20), blocked again (R-CTRL-408), or nack (R-SCHED-5)
//       end()                          ack; the row is free
//     give_up()                        the delivery limit (R-SCHED-21, R-CTRL-341)
#include "base/stages.h"
#include "model/job.h"
#include "sched/to_model.h"
#include "server/lane.h"
#include "server/server.h"

namespace berth::server {

using tables::kNoRow;

namespace {

/// splitmix64's finaliser.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

broker::Queue queue_of(std::string_view type) {
  for (const auto queue : {broker::Queue::batch, broker::Queue::system, broker::Queue::sysbatch, broker::Queue::core})
    if (broker::queue_name(queue) == type) return queue;
  return broker::Queue::service;
}

/// During its lifetime the evaluation only reads the tables, apart from short writes. Reports both ends to the
/// listener.
class Reads {
 public:
  Reads(Listener* listener, bool only_reads) : listener_(listener), only_reads_(only_reads) {
    if (listener_) listener_->only_reads(only_reads_);
  }
  ~Reads() {
    if (listener_) listener_->only_reads(!only_reads_);
  }
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

 private:
  Listener* const listener_;
  const bool only_reads_;
};

}  // namespace

/// Writes the scheduler's output at once.
class Server::Planner final : public sched::Planner {
 public:
  Planner(Server& server, Lane& lane) : server_(server), lane_(lane) {}
  sched::Submission submit(const sched::EvalResult&) override {
    const Reads writes(server_.driver_listener(), false);
    return server_.submit(lane_);
  }
  std::string create(const sched::EvalResult&, const sched::CreatedEval& created) override {
    const Reads writes(server_.driver_listener(), false);
    return server_.create(lane_, created);
  }

 private:
  Server& server_;
  Lane& lane_;
};

/// Stores the output of a decision made ahead; it is written in its turn.
class Server::Later final : public sched::Planner {
 public:
  explicit Later(Lane& lane) : lane_(lane) {}
  sched::Submission submit(const sched::EvalResult&) override {
    lane_.created_first = !lane_.created.empty();
    return ++lane_.plans, sched::Submission{};
  }
  std::string create(const sched::EvalResult&, const sched::CreatedEval& created) override {
    return lane_.created.push_back(created), "";
  }

 private:
  Lane& lane_;
};

// ---------------------------------------------------------------- dequeue

bool Server::step() {
  if (!broker_.may_have_ready()) return false;
  const std::int64_t now = clock_.now_ns();
  auto delivery = broker_.dequeue(served_queues_, now);
  if (!delivery || !*delivery) {
    delivery = broker_.dequeue(broker::only(broker::Queue::failed), now);
    if (!delivery || !*delivery) return false;
    give_up(**delivery);
    return true;
  }
  const std::int64_t began_ns = ahead_ ? measured_ns() : 0;
  const std::uint64_t index = store_.index();
  if (ahead_ && config_.retain && !announces_) foresee((*delivery)->row);
  const bool is_foreseen = !expected_.empty() && expected_.front() == (*delivery)->row;
  Lane& lane = is_foreseen ? ahead_->next() : *lane_;
  if (is_foreseen && take_decision(**delivery))
    settle(lane);
  else
    serve(**delivery, lane);
  if (is_foreseen) ahead_->release();
  if (ahead_) ahead_->count(measured_ns() - began_ns);
  cancel_superfluous();
  inside_ += store_.index() - index;
  return true;
}

void Server::begin(const broker::Delivery& delivery, Lane& lane) {
  lane.record = &book_[delivery.row];
  if (lane.record->wait_ns != delivery.wait_ns) lane.record->wait_ns = delivery.wait_ns;  // R-CTRL-339
  lane.token = delivery.token;
  lane.attempts = lane.plans = lane.placed = lane.refused = 0;
  lane.commit_index = 0;
  lane.created.clear();
}

void Server::put_facts(const EvalRecord& record, Lane& lane) const {
  base::write_text(record.id, lane.id_text);
  sched::EvalFacts& facts = lane.facts;
  facts.id = record.id;
  facts.id_text = record.id_text != tables::kEmptySymbol
                      ? std::string_view(store_.current().symbols->text(record.id_text))
                      : lane.id_text;
  facts.job = record.job;
  facts.priority = record.priority;
  facts.triggered_by = store_.current().symbols->text(record.trigger);
  facts.type = static_cast<model::JobType>(record.type);
  facts.blocked = record.was_blocked;
  facts.annotate = record.annotate;
  facts.wait_until = record.wait_until_ns == 0 ? base::Time{} : base::Time{record.wait_until_ns};
  facts.now_ns = clock_.now_ns();
  facts.node_order = 0;
}

/// R-CTRL-402, 407. On the only writing thread this is the current state itself, which only this evaluation changes.
/// Evaluations that it creates before its plan raise the state's index, and may change the job's status (see
/// commit()).
const tables::Snapshot& Server::take_state(Lane& lane) {
  const tables::Snapshot& state = team_ ? look(lane) : store_.current();
  lane.state_index = state.index;
  if (++lane.attempts == 1) lane.record->snapshot_index = state.index;  // R-CTRL-235: the first one's
  lane.job_modify_index = job_modify_index(state, lane.record->job);
  if (listener_) listener_->attempt(lane);
  return state;
}

/// The newest state for one of several workers: its view, brought up to date. Job versions and resource shapes of the
/// previous attempt are still read.
const tables::Snapshot& Server::look(Lane& lane) {
  if (lane.attempts > 0) lane.view.keep();
  if (store_.bring_up(lane.view, kViewBytes / config_.workers)) return lane.view.state();
  lane.held[1] = std::move(lane.held[0]);
  lane.held[0] = store_.snapshot();
  return *lane.held[0];
}

void Server::decide(Lane& lane, const tables::Snapshot& state, std::uint64_t order_index, sched::Planner& planner) {
  sched::Scheduler& scheduler = lane.scheduler;
  scheduler.generic.set_exhaustive(config_.exhaustive);
  scheduler.generic.set_sources(config_.sources);
  scheduler.generic.set_defer_metrics(config_.defer_metrics);
  scheduler.generic.set_order_index(order_index);
  // One random stream per evaluation and state, so that draws do not depend on the evaluations before. Evaluations
  // decided in turn each see a different state index; those of free workers may share one.
  const std::uint64_t at = order_index != 0 ? order_index : state.index;
  const std::uint64_t own = team_ ? mix(lane.record->id.hi ^ mix(lane.record->id.lo)) : 0;
  lane.order_index = order_index;
  lane.ids_seed = mix(config_.seed ^ mix(lane.record->tag ^ own ^ mix(at)));
  sched::IdStream ids(lane.ids_seed);
  scheduler.process(state, lane.facts, config_.order, ids, planner, lane.result);
}

void Server::decide(const NewEval& eval, const tables::Snapshot& state, Lane& lane, sched::Planner& planner) {
  EvalRecord record;
  record.id = eval.id, record.job = eval.job, record.tag = eval.tag;
  fill(record, eval, state);
  lane.record = &record;
  put_facts(record, lane);
  lane.facts.triggered_by = eval.trigger;
  lane.facts.node_order = eval.node_order;
  decide(lane, state, 0, planner);
  lane.record = nullptr;
}

void Server::decide(const model::Evaluation& eval, Lane& lane, sched::Planner& planner) {
  EvalRecord record;
  record.id = base::parse_uuid(eval.id).value_or(base::Uuid{});
  record.job = store_.job_key(eval.namespace_, eval.job_id);
  record.trigger = store_.symbols().intern(eval.triggered_by);
  record.priority = static_cast<std::int32_t>(eval.priority);
  record.type = queue_of(eval.type);
  record.wait_until_ns = eval.wait_until.is_zero() ? 0 : eval.wait_until.ns;
  record.was_blocked = eval.status == "blocked", record.annotate = eval.annotate_plan;
  lane.record = &record;
  put_facts(record, lane);
  lane.facts.id_text = eval.id;
  lane.held[0] = store_.snapshot();
  decide(lane, *lane.held[0], 0, planner);
  lane.record = nullptr;
}

// ---------------------------------------------------------------- one evaluation

void Server::serve(const broker::Delivery& delivery, Lane& lane) {
  begin(delivery, lane);
  if (is_terminal(lane.record->status_now())) {  // cancelled while it waited for its turn
    const Turn turn(*this);
    if (taken_away(lane).empty()) lane.record->queued = false;
    return end(lane);
  }
  {
    const base::StageScope looking(lane.stages, base::Stage::snapshot);
    put_facts(*lane.record, lane);
    Planner planner(*this, lane);
    try {
      const tables::Snapshot& state = take_state(lane);  // a listener may throw here
      const Reads reads(driver_listener(), true);
      decide(lane, state, 0, planner);
    } catch (const std::exception& problem) {  // R-SCHED-5
      lane.result.status = sched::EvalStatus::error;
      lane.result.description = std::string("failed to process eval: ") + problem.what();
    }
  }
  if (lane.plans == 0 && listener_) {
    try {
      listener_->decided(lane);
    } catch (const std::exception& problem) {  // out of memory: nacked, as above
      lane.result.status = sched::EvalStatus::error;
      lane.result.description = std::string("failed to process eval: ") + problem.what();
    }
  }
  settle(lane);
  lane.view.release();
  lane.held[0].reset(), lane.held[1].reset();
}

// ---------------------------------------------------------------- decided ahead of its turn

/// For drivers that do not announce evaluations: `next` has its turn, and threads may decide the evaluations predicted
/// after it. The prediction assumes two log entries per evaluation, plan and status. If another evaluation comes, the
/// predicted ones before it are dropped.
void Server::foresee(broker::EvalRow next) {
  while (!expected_.empty() && expected_.front() != next) expected_.pop_front(), ahead_->skip();
  if (!ahead_->wants_more()) return;
  broker_.peek(served_queues_, ahead_->size(), peeked_);
  std::size_t known = expected_.empty() ? 0 : 1;  // `next` itself
  for (std::size_t i = 0; i < peeked_.size() && ahead_->wants_more(); ++i, ++known) {
    if (known < expected_.size()) {
      if (expected_[known] != peeked_[i]) return;
      continue;
    }
    ahead_->post(book_[peeked_[i]], store_.index() + 2 * (i + 1), circumstances());
    expected_.push_back(peeked_[i]);
  }
}

void Server::foresee_nothing() {
  if (ahead_)
    while (!expected_.empty()) expected_.pop_front(), ahead_->skip();
}

Circumstances Server::circumstances() const { return {store_.index() - inside_, clock_.now_ns()}; }

/// On a thread that only reads: decides the evaluation on `state`, as if its turn came at `order_index`.
void Server::decide_ahead(const tables::Snapshot& state, std::uint64_t order_index, Lane& lane, Ahead::Reads& reads) {
  lane.attempts = 1, lane.plans = 0;
  lane.created.clear(), lane.created_first = false;
  lane.state_index = state.index;
  if (listener_) listener_->attempt(lane);
  put_facts(*lane.record, lane);
  Later later(lane);
  decide(lane, state, order_index, later);
  reads.all = !lane.scheduler.rows_read(reads.rows);
}

/// Uses the decision made ahead, in ahead_->next(). True if it is still valid and its plan was committed as a whole.
/// False: the caller decides the evaluation again, in the same lane.
bool Server::take_decision(const broker::Delivery& delivery) {
  expected_.pop_front();
  Lane& lane = ahead_->next();
  if (listener_) listener_->waiting(lane);
  bool valid = false;
  {
    const base::StageScope waiting(base::Stage::wait);
    const Reads reads(driver_listener(), true);
    valid = ahead_->take(delivery.row, store_.index(), circumstances()) &&
            lane.result.status != sched::EvalStatus::error && !is_terminal(book_[delivery.row].status);
  }
  // An evaluation created before the plan must be written before it, but whether the plan fits is only known later.
  if (lane.created_first) valid = false;
  // Eligibility from another place would be overwritten by the next decision.
  for (const sched::CreatedEval& eval : lane.created) valid = valid && eval.eligibility == &lane.result.eligibility;
  if (valid) {
    const std::vector<sched::CreatedEval> created = std::move(lane.created);
    const std::uint32_t plans = lane.plans;
    begin(delivery, lane);
    lane.plans = plans, lane.attempts = 1;
    lane.record->snapshot_index = lane.state_index = store_.index();
    lane.result.state = &store_.current();  // the names are those of the state it was decided on
    lane.job_modify_index = job_modify_index(store_.current(), lane.record->job);
    if (listener_) listener_->decided(lane);
    if (plans == 0 || check_and_commit(lane, true)) {
      for (const sched::CreatedEval& eval : created) {
        const std::string error = create(lane, eval);
        if (error.empty()) continue;
        lane.result.status = sched::EvalStatus::error;  // R-SCHED-5, as if it had been decided in its turn
        lane.result.description = error;
        break;
      }
      return true;
    }
  }
  return false;
}

// ---------------------------------------------------------------- plans

sched::Submission Server::submit(Lane& lane) {
  sched::Submission out;
  if (++lane.plans > config_.plans_max) {
    out.error = std::to_string(config_.plans_max) + std::string(kPlansMaxReached);
    return out;
  }
  if (listener_) listener_->decided(lane);
  if (team_)
    queue_plan(lane);
  else
    check_and_commit(lane, false);
  const plan::ApplyResult& applied = lane.applied;
  out.error = applied.error;
  out.nothing_committed = lane.all_at_once && !applied.rejected_nodes.empty();
  out.refused_nodes = applied.rejected_nodes;
  out.placements_refused = applied.placements_refused;
  if (applied.error.empty() && applied.refresh_index != 0) out.refreshed = &take_state(lane);
  return out;
}

/// Checks the lane's plan against the newest state and commits what fits (R-CTRL-601 ff.). Needs the Turn.
/// `only_whole`: commits nothing unless everything fits, and then returns false without notifying the listener.
bool Server::check_and_commit(Lane& lane, bool only_whole) {
  plan::ApplyResult& applied = lane.applied;
  const tables::Snapshot& state = store_.current();
  const tables::JobKey& key = state.jobs.keys[lane.record->job];
  if (listener_) listener_->applying(lane);
  lane.first_alloc = static_cast<tables::AllocRow>(state.allocs.size());
  lane.alloc_count = 0;
  const std::string why = key.current != kNoRow ? taken_away(lane)  // R-CTRL-504
                                                : "job \"" + state.text(key.job_id) + "\" in namespace \"" +
                                                      state.text(key.job_namespace) + "\" not found";  // R-CTRL-503
  if (!why.empty()) {
    applied = {};
    applied.error = why;
    return false;
  }
  plan::CommitFacts facts;
  const tables::CompiledJob& job = *state.jobs.versions[key.current];
  lane.all_at_once = job.spec->all_at_once || job.gang;
  facts.all_at_once = lane.all_at_once || only_whole;
  facts.only_whole = only_whole;
  commit(lane, facts);
  if (only_whole && (!applied.error.empty() || applied.partial())) return false;
  ++stats_.plans;
  stats_.conflicts += applied.partial();
  stats_.partial += applied.partial() && applied.index != 0;
  stats_.retries += applied.partial();
  if (applied.index != 0) lane.commit_index = applied.index;
  lane.alloc_count = static_cast<std::uint32_t>(state.allocs.size()) - lane.first_alloc;
  if (ahead_) {
    for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs) ahead_->changed(alloc.node);
    for (const plan::PlannedStop& stop : lane.result.plan.stops) ahead_->changed(state.allocs.node[stop.alloc]);
    for (const plan::PlannedUpdate& update : lane.result.plan.updates) ahead_->changed(state.allocs.node[update.alloc]);
  }
  lane.placed += applied.committed, lane.refused += applied.refused;
  if (listener_) listener_->applied(lane);
  take(applied.hooks, lane.record);
  return true;
}

// ---------------------------------------------------------------- end

/// Why the lane no longer holds the evaluation; "" while it does. If a free worker is slower than the nack timer, the
/// evaluation is delivered again, or its row of the book is given to another one. Restarts the timer (R-CTRL-234, 331).
/// Needs the Turn.
std::string Server::taken_away(const Lane& lane) {
  if (!team_) return "";  // timers fire between two evaluations
  const auto held = broker_.reset(lane.record->row, lane.token, clock_.now_ns());
  return held ? "" : std::string(broker::fault_text(held.error()));
}

void Server::settle(Lane& lane) {
  if (lane.result.status == sched::EvalStatus::error) return nack(lane);
  const Turn turn(*this);
  if (!taken_away(lane).empty()) {
    ++stats_.errors;
    return;
  }
  EvalRecord& record = *lane.record;
  const sched::EvalResult& result = lane.result;
  record.queued = false;
  ++stats_.served;
  stats_.retried += record.round > 0;
  stats_.gave_up += lane.exhausted();
  if (!config_.retain && lane.commit_index == 0) store_.set_index(next_index());
  if (result.reblocked) {  // R-SCHED-18, R-CTRL-408: the stored evaluation stays unchanged
    ++stats_.reblocked;
    record.status = EvalState::blocked;
    if (listener_) listener_->settled(lane);
    broker::BlockedEval blocked = blocked_by(result.eligibility);
    blocked.eval.token = lane.token;
    block(record, std::move(blocked));
    cancel_duplicates();
  } else {
    record.status = result.status == sched::EvalStatus::complete ? EvalState::complete : EvalState::failed;
    if (listener_) listener_->settled(lane);
    write_status(lane);
    if (result.gang_over) cancel_blocked_of(record.job, result.description);
  }
  end(lane);
}

/// Needs the Turn (config.h).
void Server::end(Lane& lane) {
  EvalRecord& record = *lane.record;
  // An error means that its nack timer fired first: it is being redelivered.
  if (broker_.ack(record.row, lane.token, clock_.now_ns())) release_if_unused(record);
}

/// A processing error: the evaluation is redelivered, in the end through the failed queue (R-SCHED-5, R-CTRL-337).
void Server::nack(Lane& lane) {
  {
    const Turn turn(*this);
    ++stats_.errors;
    if (!taken_away(lane).empty()) return;
    timers_ = true;
    errors_[lane.record->row] = lane.result.description;
  }
  static_cast<void>(broker_.nack(lane.record->row, lane.token, clock_.now_ns()));
}

/// Handles an evaluation at the delivery limit (R-CTRL-341): it fails, and one follows for its job (R-SCHED-21).
void Server::give_up(const broker::Delivery& delivery) {
  {
    const Turn turn(*this);
    EvalRecord& record = book_[delivery.row];
    record.wait_ns = delivery.wait_ns;
    record.status = EvalState::failed;
    record.queued = false;
    ++stats_.failed;
    const auto error = errors_.find(delivery.row);
    const std::string why = error == errors_.end() ? std::string() : error->second;
    if (listener_) listener_->failed(record, why);
    const tables::Snapshot& state = store_.current();
    std::optional<NewEval> later;
    if (config_.follow_up_failed && state.jobs.keys[record.job].current != kNoRow) {
      constexpr std::int64_t kSecond = 1'000'000'000;
      const base::Uuid id = draw_id();
      later = NewEval{.id = id, .job = record.job, .trigger = "failed-follow-up", .priority = record.priority};
      later->tag = record.tag;
      later->wait_ns = 60 * kSecond + static_cast<std::int64_t>(mix(id.lo) % (300 * kSecond));
    }
    write_failed(record, later);
  }
  if (!broker_.ack(delivery.row, delivery.token, clock_.now_ns())) return;
  const Turn turn(*this);
  release_if_unused(book_[delivery.row]);  // one of a system job may still be tracked by node
}

/// Ends evaluations that a newer one of their job made superfluous (R-CTRL-336). Nomad's broker keeps their IDs
/// (R-CTRL-335).
void Server::cancel_superfluous() {
  free_dropped();
  std::vector<broker::EvalRow> all, written;
  broker_.take_cancelable(1U << 16, all);
  stats_.cancelled += all.size();
  for (const broker::EvalRow row : all) {
    EvalRecord& record = book_[row];
    record.queued = false;
    if (config_.options.quirks.cancelled_evals_linger) kept_.cancelled.insert(record.id);
    if (is_terminal(record.status)) continue;
    record.status = EvalState::canceled;
    written.push_back(row);
  }
  forget_removed();
  write_cancelled(written, [](const EvalRecord&) { return "canceled after more recent eval was processed"; });
  for (const broker::EvalRow row : all) release_if_unused(book_[row]);
}

/// Erases the IDs of superfluous evaluations that garbage collection removed: they cannot come again.
void Server::forget_removed() {
  constexpr std::size_t kLeast = 1024;
  if (kept_.cancelled.size() < 2 * kept_.cancelled_left + kLeast) return;
  std::erase_if(kept_.cancelled, [&](base::Uuid id) { return store_.find_eval(id) == kNoRow; });
  kept_.cancelled_left = kept_.cancelled.size();
}

/// Releases the evaluation's row in book_. Needs the Turn.
void Server::forget(broker::EvalRow row) {
  EvalRecord& record = book_[row];
  errors_.erase(row);
  if (record.stored != kNoRow) {
    log_.hold(record.stored, record.job, false);
    rows_[record.stored] = kNoBookRow;
    if (!config_.retain && is_terminal(record.status)) store_.begin_commit().remove_eval(record.stored);
    record.stored = kNoRow;
  }
  book_.release(row);
}

}  // namespace berth::server
