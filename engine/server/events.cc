// External events as rows, and the server's timers.
#include <algorithm>

#include "base/stages.h"
#include "model/job.h"
#include "server/lane.h"
#include "server/workers.h"

namespace berth::server {

using tables::kNoRow;

namespace {

constexpr std::int64_t kMinute = 60'000'000'000;  // R-CTRL-819

broker::Config broker_config(const Config& config) {
  broker::Config out = config.broker;
  out.order = config.execution == Execution::free ? broker::ReadyOrder::concurrent : broker::ReadyOrder::exact;
  out.quirks = config.options.quirks;
  out.quirks.cancelled_evals_linger = false;  // the server keeps their IDs instead, so that their rows are reused
  if (config.queue) out.queue = config.queue.get();
  return out;
}

broker::Queue queue_of(const tables::CompiledJob& job) { return static_cast<broker::Queue>(job.type); }
static_assert(static_cast<int>(broker::Queue::sysbatch) == static_cast<int>(model::JobType::sysbatch));

}  // namespace

Server::Server(const Config& config, const Clock& clock, Listener* listener)
    : config_(config),
      clock_(clock),
      listener_(listener),
      log_(store_, config.options.quirks, config.retain),
      ids_(config.seed),
      requests_(
          log_, [this] { return base::to_text(draw_id()); }, config.options.strict_ready_updates),
      broker_(broker_config(config)),
      tracker_(store_.symbols(), config.options.quirks),
      applier_(store_, config.options.quirks),
      book_(config.broker.evals),
      next_failed_ns_(clock.now_ns() + kMinute) {
  if (config_.queue) config_.queue->attach(store_);
  applier_.keep_records(log_);
  log_.keep_planned_jobs(config.keep_details);
  if (config.rejections) applier_.track_rejections(*config.rejections);
  broker_.enable();
  tracker_.enable(clock.now_ns());
  lane_ = make_lane();
}

Server::~Server() { stop(); }

std::unique_ptr<Lane> Server::make_lane() {
  auto lane = std::make_unique<Lane>(config_.options);
  lane->number = lanes_++;
  lane->submission.lane = lane.get();
  const std::size_t nodes = store_.current().nodes.size();
  lane->scratch.prepare(nodes);
  lane->result.plan.allocs.resize(std::min(nodes, sched::Scratch::kPreparedAllocs));
  lane->result.plan.allocs.clear();
  if (listener_) listener_->lane_made(*lane);
  return lane;
}

void Server::load(const model::ClusterState& state) {
  store_.load(state);
  log_.load(state);
}

// ---------------------------------------------------------------- jobs and evaluations

base::Uuid Server::draw_id() {
  return config_.draw_id ? config_.draw_id() : unused_id([this] { return ids_.next(); });
}

tables::JobKeyRow Server::register_job(const std::shared_ptr<const model::Job>& job) {
  const base::StageScope compiling(base::Stage::compile);
  return store_.current().jobs.versions[store_.upsert_job(job, true)]->key;
}

void Server::fill(EvalRecord& record, const NewEval& eval, const tables::Snapshot& state) {
  const tables::VersionRow version = state.jobs.keys[eval.job].current;
  const tables::CompiledJob* const job =
      version == kNoRow ? nullptr : state.jobs.versions[version].get();  // null: the version was removed
  record.id = eval.id;
  record.job = eval.job;
  record.tag = eval.tag;
  record.priority = eval.priority > 0 || !job ? eval.priority : static_cast<std::int32_t>(job->priority);
  record.type = job ? queue_of(*job) : broker::Queue::service;
  record.wait_ns = eval.wait_ns, record.wait_until_ns = eval.wait_until_ns;
  record.was_blocked = eval.blocked, record.annotate = eval.annotate;
}

broker::Eval Server::queued(const EvalRecord& record) const {
  broker::Eval out;
  out.row = record.row;
  out.job = broker::JobKeyRow{record.job};
  out.job_id = store_.current().jobs.keys[record.job].job_id;
  out.priority = record.priority;
  out.type = record.type;
  out.create_index = out.modify_index = record.create_index;
  out.wait_ns = record.wait_ns, out.wait_until_ns = record.wait_until_ns;
  return out;
}

bool Server::enqueue(EvalRecord& record) {
  const broker::Eval eval = queued(record);
  record.queued = true;
  if (record.wait_ns > 0 || record.wait_until_ns > 0) timers_ = true;
  if (!broker_.enqueue({&eval, 1}, clock_.now_ns())) {
    record.status = EvalState::canceled;
    forget(record.row);
    return false;
  }
  wake(1);
  return true;
}

bool Server::evaluate(const NewEval& eval) {
  if (announced_.empty() && book_.full()) return false;
  tables::EvalWrite write = pending(eval);
  const tables::StoredEvalRow row = put({&write, 1}, hooks_).at(0).eval;
  if (!announced_.empty()) {
    BERTH_ASSERT(book_[announced_.front()].id == eval.id);
    know(row, announced_.front());
    announced_.pop_front();
  }
  EvalRecord& record = *record_of(row);  // the book had room
  record.tag = eval.tag;
  if (eval.due_ns >= 0) record.due_ns = eval.due_ns;
  if (enqueue(record)) return true;
  refuse(row);
  return false;
}

void Server::expect(const NewEval& eval) {
  const auto row = book_.add();
  BERTH_ASSERT(row && ahead_);
  EvalRecord& record = book_[*row];
  fill(record, eval, store_.current());
  record.trigger = store_.symbols().intern(eval.trigger);
  // The state index that it will see unless an allocation ends before: each job and each evaluation takes one.
  const std::uint64_t order_index = store_.index() + 2 * ahead_->posted() + 1;
  expected_.push_back(*row);
  announced_.push_back(*row);
  announces_ = true;
  ahead_->post(record, order_index, std::nullopt);
}

// ---------------------------------------------------------------- allocations and nodes

/// The state records an end at once, so that an evaluation can use the room. The tracker is notified when the batch
/// ends (R-CTRL-749, 826).
std::uint32_t Server::end_allocs(tables::AllocRow first, std::uint32_t count, tables::Client status) {
  const std::uint64_t index = next_index();
  const tables::Snapshot& state = store_.current();
  std::uint32_t ended = 0;
  for (tables::AllocRow row = first; row < first + count; ++row) {
    if (tables::client_terminal(state.allocs.client[row])) continue;
    const tables::NodeRow node = state.allocs.node[row];
    // Whatever the exit code of its tasks (R-CTRL-1517).
    const bool killed = tables::server_terminal(state.allocs.desired[row]);
    store_.set_client_status(row, killed ? tables::Client::complete : status, index);
    if (ahead_) ahead_->changed(node);
    if (reported_.empty()) batch_due_ns_ = clock_.now_ns() + config_.client_batch_ns;
    reported_.push_back(node);
    ++ended;
  }
  return ended;
}

void Server::flush_reports() {
  ++stats_.batches;
  const std::uint64_t index = store_.index();
  const tables::Snapshot& state = store_.current();
  classes_scratch_.clear();
  for (const tables::NodeRow node : reported_) {
    if (!state.nodes.exists(node)) break;  // R-CTRL-770
    // Nothing blocks within a batch, so unblocking the same class again would find nothing.
    const tables::Symbol node_class = class_of(node);
    if (std::find(classes_scratch_.begin(), classes_scratch_.end(), node_class) == classes_scratch_.end()) {
      classes_scratch_.push_back(node_class);
      unblock_class(node_class, index);
    }
    unblock_node(node);
  }
  reported_.clear();
}

void Server::node_ready(tables::NodeRow node) {  // R-CTRL-823
  const std::uint64_t index = next_index();
  store_.set_node_state(node, tables::NodeStatus::ready, true, false, index);
  unblock_class(class_of(node), index);
  unblock_node(node);
}

// ---------------------------------------------------------------- timers

std::optional<std::int64_t> Server::next_deadline(bool periodic) {
  std::int64_t at = INT64_MAX;
  if (!reported_.empty()) at = batch_due_ns_;
  if (timers_) {  // the broker's is a lower bound: it may belong to a delivery that was acked since
    const broker::Stats stats = broker_.stats();
    std::int64_t waiting = stats.waiting;
    for (const auto& queue : stats.queues) waiting += queue.unacked;
    timers_ = waiting > 0;
    if (waiting > 0) at = std::min(at, broker_.next_deadline().value_or(INT64_MAX));
  }
  if (periodic && refused_blocked_) at = std::min(at, next_failed_ns_);
  return at == INT64_MAX ? std::nullopt : std::optional(at);
}

void Server::advance() {
  const std::int64_t now = clock_.now_ns();
  const Turn turn(*this);
  if (!reported_.empty() && batch_due_ns_ <= now) flush_reports();
  broker_.advance(now);
  tracker_.advance(now);
  if (!kept_.resources.empty()) release_resources();
  if (next_failed_ns_ <= now) {
    next_failed_ns_ += (now - next_failed_ns_) / kMinute * kMinute + kMinute;
    if (refused_blocked_) {
      refused_blocked_ = false;
      tracker_.unblock_failed(now, released_);
      release(Cause::plan_attempts);
    }
  }
  if (broker_.may_have_ready()) wake(config_.workers);
}

}  // namespace berth::server
