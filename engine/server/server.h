// The control plane: state, log, broker, blocked evaluations, plan queue, applier and schedulers. Clock and executor
// are passed in. A simulation, a benchmark, the public Cluster and a dry run drive this same server.
//
// How a driver uses it
//   ManualClock clock;                               its own time: the server reads no other clock
//   Server server({.options = ..., .execution = Execution::inline_}, clock, &listener or nullptr);
//   server.load(state);                              or fill server.store() before anything runs
//
//   events as rows, without API objects:
//     JobKeyRow job = server.register_job(object);   takes one log index
//     server.evaluate({.id = ..., .job = job});      puts a pending evaluation into the broker
//     server.end_allocs(first, count, status);       client reports: the state at once, the tracker with the batch
//     server.node_ready(node);                       a node joins or returns: unblocks its class and the node
//   events as requests and log entries, with API objects; needs Config::retain:
//     fsm::Answer answer = server.requests().register_job(...);  or server.write(entry)
//     server.take(answer.hooks);                     applies the entry's effects to broker and tracker
//
//   server.start();                                  starts the threads of `ahead` and `free`
//   while (server.step()) {}                         inline and ahead: one evaluation, from dequeue to ack
//   server.wait_idle(timeout_ns); server.tick();     free: workers serve; change the state only under a Turn
//   server.next_deadline(); server.advance();        timers: set the clock to the deadline, then advance
//
//   server.decide(spec, lane, planner)               a decision that is not written: a dry run, a grid cell
//
// In both cases an evaluation has a row in the state and, while it is under way, a row in the book. Its result reaches
// the listener (config.h), the log and stats(). evaluation_way.cc shows its path from top to bottom; unblocking is in
// unblocking.cc, storing evaluations in stored_evals.cc, threads in workers.cc.
//
// Threads. Inline: the driver's. Ahead: the driver's, and threads that only read snapshots. Free: the driver's and the
// workers; a thread that changes the state or the tracker must hold the Turn.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "broker/blocked.h"
#include "fsm/requests.h"
#include "plan/apply.h"
#include "plan/plan_queue.h"
#include "sched/evaluation.h"
#include "server/ahead.h"
#include "server/config.h"

namespace berth::server {

/// A new evaluation.
struct NewEval {
  base::Uuid id;
  tables::JobKeyRow job = tables::kNoRow;
  std::string_view trigger = "job-register";
  std::int32_t priority = 0;  ///< <= 0: the job's
  std::uint64_t tag = 0;
  std::int64_t due_ns = -1;  ///< when it first could have run; < 0: now
  std::int64_t wait_ns = 0, wait_until_ns = 0;
  std::uint64_t node_order = 0;            ///< EvalFacts::node_order; decide() only
  bool blocked = false, annotate = false;  ///< decide() only
};

/// Counted since the server was created.
struct Stats {
  std::uint64_t served = 0;     ///< evaluations processed to their end
  std::uint64_t retried = 0;    ///< of these, after having been blocked
  std::uint64_t blocked = 0;    ///< blocked evaluations that were created
  std::uint64_t reblocked = 0;  ///< evaluations that were blocked again after a run (R-SCHED-18)
  /// blocked evaluations replaced by another of their job (R-CTRL-807)
  std::uint64_t duplicates = 0;
  std::uint64_t batches = 0;                       ///< of client reports
  std::array<std::uint64_t, kCauses> unblocked{};  ///< by Cause
  std::uint64_t plans = 0;                         ///< submitted
  std::uint64_t conflicts = 0;                     ///< plans refused on at least one node
  std::uint64_t partial = 0;                       ///< of these, plans committed in part
  std::uint64_t retries = 0;                       ///< attempts after a refusal
  std::uint64_t gave_up = 0;                       ///< evaluations whose attempts ran out
  std::uint64_t exceptions = 0;                    ///< evaluations whose scheduler threw; nacked
  std::uint64_t errors = 0;                        ///< other processing errors; nacked
  std::uint64_t failed = 0;                        ///< evaluations that reached the delivery limit
  std::uint64_t cancelled = 0;  ///< evaluations that a newer one of their job made superfluous (R-CTRL-336)
  std::uint64_t ahead_used = 0, ahead_redone = 0, ahead_inline = 0;  ///< decisions made ahead of their turn
  std::int64_t apply_ns = 0;                                         ///< free: in the applier, all threads
  /// free: wake-ups of the driver because nothing was ready
  std::uint64_t driver_woken = 0;
  std::uint64_t turns = 0, turn_waits = 0;        ///< free: Turns taken; of these, after sleeping
  std::int64_t turn_ns = 0;                       ///< free: time the Turn was held, all threads
  std::uint64_t view_rows = 0, view_columns = 0;  ///< free: copied by workers to update their views
  std::vector<std::int64_t> busy_ns;              ///< per worker
};

class Server {
 public:
  Server(const Config& config, const Clock& clock, Listener* listener = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Fills the empty server. Does not enqueue the evaluations of the state.
  void load(const model::ClusterState& state);

  [[nodiscard]] tables::StateStore& store() { return store_; }
  [[nodiscard]] const tables::StateStore& store() const { return store_; }
  [[nodiscard]] fsm::StateLog& log() { return log_; }
  [[nodiscard]] fsm::Requests& requests() { return requests_; }
  [[nodiscard]] broker::Broker& broker() { return broker_; }
  [[nodiscard]] broker::BlockedTracker& tracker() { return tracker_; }
  [[nodiscard]] plan::Applier& applier() { return applier_; }  ///< for plans submitted outside an evaluation
  [[nodiscard]] EvalBook& book() { return book_; }
  /// Returns an ID for a new evaluation.
  [[nodiscard]] base::Uuid draw_id();
  /// The first ID from `draw` that no stored evaluation has. A loaded state may come from a server with the same seed,
  /// which then drew the same IDs.
  template <class Draw>
  [[nodiscard]] base::Uuid unused_id(Draw draw) {
    base::Uuid id = draw();
    while (store_.find_eval(id) != tables::kNoRow) id = draw();
    return id;
  }
  /// The lane of the driver's own thread.
  [[nodiscard]] Lane& lane() { return *lane_; }
  [[nodiscard]] const Lane& lane() const { return *lane_; }
  [[nodiscard]] std::unique_ptr<Lane> make_lane();
  [[nodiscard]] const Config& config() const { return config_; }

  // --- events, as rows (events.cc) ---
  tables::JobKeyRow register_job(const std::shared_ptr<const model::Job>& job);
  /// Puts a pending evaluation into the broker. False if the server is full (Config::broker).
  [[nodiscard]] bool evaluate(const NewEval& eval);
  /// ahead: announces an evaluation that is certain to come, so that threads may decide it. Its job must be registered.
  /// The evaluations must be passed to evaluate() in the order of these calls. Call only while wants_more().
  void expect(const NewEval& eval);
  [[nodiscard]] bool wants_more() const { return ahead_ && ahead_->wants_more(); }
  /// Client reports: the tasks of `count` allocations from row `first` ended. Returns how many had not ended before;
  /// only those count.
  std::uint32_t end_allocs(tables::AllocRow first, std::uint32_t count, tables::Client status);
  void node_ready(tables::NodeRow node);
  /// What evaluations missed besides nodes is there since log entry `index`, such as a volume (R-CTRL-817).
  void unblock_resource(std::string_view resource, std::uint64_t index);

  // --- events, as API objects (stored_evals.cc) ---
  /// Writes an entry to the log and applies its hooks. Returns the error, or "".
  template <class Entry>
  std::string write(Entry&& entry) {
    fsm::Hooks hooks;
    std::string error = log_.apply(log_.next_index(), std::forward<Entry>(entry), hooks);
    take(hooks);
    return error;
  }
  /// `from`: the evaluation that created those in `hooks`; null: none.
  void take(const fsm::Hooks& hooks, const EvalRecord* from = nullptr);
  /// Empties broker and tracker, which then ignore new evaluations (R-CTRL-344, 346, 1602). The state stays unchanged.
  void disable_queues();
  /// Fills broker and tracker again with the pending and blocked evaluations of the state (R-CTRL-345).
  void enable_queues();
  [[nodiscard]] bool queues_enabled() const { return broker_.enabled(); }
  /// Restricts the server to evaluations of these queues.
  void serve_queues(broker::QueueSet queues) { served_queues_.store(queues, std::memory_order_relaxed); }

  // --- evaluations (evaluation_way.cc) ---
  /// Serves the next ready evaluation; false if none is ready. Not with free workers.
  bool step();
  /// Decides an evaluation on `state`. Plans and created evaluations go to `planner`; nothing is written.
  void decide(const NewEval& eval, const tables::Snapshot& state, Lane& lane, sched::Planner& planner);
  /// Decides an API object, which need not be stored, on the newest state. The lane holds that state until its next
  /// decision.
  void decide(const model::Evaluation& eval, Lane& lane, sched::Planner& planner);

  // --- time (events.cc) ---
  /// When advance() has something to do; none: no timer is set. `periodic`: includes the timer of R-CTRL-819.
  [[nodiscard]] std::optional<std::int64_t> next_deadline(bool periodic = true);
  /// True if an evaluation waits for a point in time: for its delay, or for redelivery.
  [[nodiscard]] bool delays() const { return timers_; }
  /// Fires every timer that is due: delayed evaluations, batches of client reports, R-CTRL-819.
  void advance();
  /// Number of evaluations that wait for capacity.
  [[nodiscard]] std::size_t blocked_count() const { return tracker_.captured().size() + tracker_.escaped().size(); }

  // --- free workers (workers.cc) ---
  /// The right to change the state. While it is held, plans wait. Inline it costs nothing.
  class Turn;
  /// True if another thread waits for the Turn. A thread that holds it across several events should release it then.
  [[nodiscard]] bool turn_wanted() const { return waiting_.load(std::memory_order_relaxed) > 0; }
  /// Starts the threads, if the execution has any.
  void start();
  /// Lets every worker finish its evaluation, then ends the threads. Evaluations not yet taken stay in the broker.
  void stop();
  /// Handles timers, evaluations that failed too often, and cancelled ones. Call without a Turn.
  void tick();
  /// True only if nothing is ready or under way. May be false while a worker polls the empty queue.
  [[nodiscard]] bool idle() { return left_of(true) == 0; }
  /// Waits until nothing is ready or under way, at most `timeout_ns`. True if nothing is.
  bool wait_idle(std::int64_t timeout_ns) { return wait_until_left(true, timeout_ns); }
  /// Like idle(), but ignores evaluations that wait for a point in time, and counts work left for tick(): true if
  /// nothing happens until the clock advances.
  [[nodiscard]] bool at_rest() { return left_of(false) == 0; }
  bool wait_at_rest(std::int64_t timeout_ns) { return wait_until_left(false, timeout_ns); }
  /// Accepted evaluations that are neither acked, cancelled, dropped, flushed nor held; anything but 0 is a bug.
  [[nodiscard]] std::int64_t lost();

  [[nodiscard]] Stats stats() const;

 private:
  class Planner;
  class Later;
  struct Worker;
  struct Workers;

  // evaluation_way.cc
  void begin(const broker::Delivery& delivery, Lane& lane);
  void put_facts(const EvalRecord& record, Lane& lane) const;
  void decide(Lane& lane, const tables::Snapshot& state, std::uint64_t order_index, sched::Planner& planner);
  const tables::Snapshot& take_state(Lane& lane);
  const tables::Snapshot& look(Lane& lane);
  void serve(const broker::Delivery& delivery, Lane& lane);
  void decide_ahead(const tables::Snapshot& state, std::uint64_t order_index, Lane& lane, Ahead::Reads& reads);
  [[nodiscard]] bool take_decision(const broker::Delivery& delivery);
  sched::Submission submit(Lane& lane);
  bool check_and_commit(Lane& lane, bool only_whole);
  [[nodiscard]] std::string taken_away(const Lane& lane);
  void settle(Lane& lane);
  void end(Lane& lane);
  void nack(Lane& lane);
  void give_up(const broker::Delivery& delivery);
  void foresee(broker::EvalRow next);
  void foresee_nothing();
  [[nodiscard]] Circumstances circumstances() const;
  void cancel_superfluous();
  void forget(broker::EvalRow row);
  // events.cc
  static void fill(EvalRecord& record, const NewEval& eval, const tables::Snapshot& state);
  [[nodiscard]] broker::Eval queued(const EvalRecord& record) const;
  [[nodiscard]] bool enqueue(EvalRecord& record);
  void flush_reports();
  [[nodiscard]] std::uint64_t next_index() const { return std::max(log_.next_index(), store_.index() + 1); }
  /// The listener for what the driver's thread does. Null with free workers, which read states of their own.
  [[nodiscard]] Listener* driver_listener() const { return team_ ? nullptr : listener_; }
  // unblocking.cc
  [[nodiscard]] tables::Symbol class_of(tables::NodeRow node) const;
  [[nodiscard]] broker::BlockedEval blocked_by(const sched::Eligibility& eligibility);
  void block(EvalRecord& record, broker::BlockedEval blocked);
  void unblock_node(tables::NodeRow node);
  void unblock_class(tables::Symbol node_class, std::uint64_t index);
  void release(Cause cause);
  void end_blocked_of(tables::JobKeyRow job);
  void cancel_blocked_of(tables::JobKeyRow job, const std::string& why);
  void cancel_duplicates();
  void drop(EvalRecord& record);
  void release_if_unused(EvalRecord& record);
  void free_dropped();
  void release_resources();
  void forget_removed();
  [[nodiscard]] bool tracks(const EvalRecord& record) const;
  // stored_evals.cc
  void fill(EvalRecord& record, tables::StoredEvalRow row);
  [[nodiscard]] EvalRecord* known_record(tables::StoredEvalRow row);
  EvalRecord& know(tables::StoredEvalRow row, broker::EvalRow known);
  [[nodiscard]] EvalRecord* record_of(tables::StoredEvalRow row, const EvalRecord* from = nullptr);
  void refuse(tables::StoredEvalRow row);
  fsm::Hooks& put(std::span<tables::EvalWrite> evals, fsm::Hooks& hooks);
  [[nodiscard]] tables::EvalWrite stored(const EvalRecord& record) const;
  [[nodiscard]] tables::EvalWrite pending(const NewEval& eval);
  [[nodiscard]] tables::EvalWrite ended(const EvalRecord& record, std::uint8_t status, std::string why) const;
  std::string create(Lane& lane, const sched::CreatedEval& created);
  [[nodiscard]] static std::uint64_t job_modify_index(const tables::Snapshot& state, tables::JobKeyRow key);
  static void write_failures(const Lane& lane, tables::PackedEval& packed, tables::EvalMore& more);
  static void write_contents(const Lane& lane, tables::EvalContents& contents);
  void write_status(Lane& lane);
  void write_cancelled(std::span<const broker::EvalRow> rows, const std::function<std::string(const EvalRecord&)>& why);
  void write_failed(const EvalRecord& record, const std::optional<NewEval>& later);
  void commit(Lane& lane, plan::CommitFacts& facts);
  // workers.cc
  void work(Worker& worker);
  bool serve_next(Worker& worker);
  void queue_plan(Lane& lane);
  void serve_plans();
  [[nodiscard]] std::int64_t left_of(bool waits);
  bool wait_until_left(bool waits, std::int64_t timeout_ns);
  void lock_turn();
  void unlock_turn();
  void turn_begins();
  /// Counts `evals` more ready evaluations. Needs the Turn. Workers are woken when the Turn ends, because they need it
  /// at once.
  void wake(std::size_t evals) { woken_ += evals; }
  void wake_workers(std::size_t evals);

  const Config config_;
  const Clock& clock_;
  Listener* const listener_;
  tables::StateStore store_;
  fsm::StateLog log_;
  sched::IdStream ids_;  // for draw_id()
  fsm::Requests requests_;
  broker::Broker broker_;
  broker::BlockedTracker tracker_;
  plan::PlanQueue plans_;
  plan::Applier applier_;
  EvalBook book_;
  std::atomic<broker::QueueSet> served_queues_{broker::kSchedulers};
  std::unique_ptr<Lane> lane_;
  std::uint32_t lanes_ = 0;
  static constexpr broker::EvalRow kNoBookRow{UINT32_MAX};
  std::vector<broker::EvalRow> rows_;  // by StoredEvalRow: row in the book

  // Client reports that wait for their batch: the nodes on which they free room, in the order of the reports.
  std::vector<tables::NodeRow> reported_;
  std::int64_t batch_due_ns_ = 0;
  std::int64_t next_failed_ns_;               // R-CTRL-819
  std::atomic<bool> refused_blocked_{false};  // an evaluation whose plans were refused may be tracked
  std::atomic<bool> timers_{false};           // the broker may hold delayed evaluations
  std::vector<broker::Eval> released_;
  fsm::Hooks hooks_;  // of evaluate() and write_status(), which take() does not call
  std::vector<tables::Symbol> classes_scratch_;

  Stats stats_;  // written in turn
  std::unique_ptr<Ahead> ahead_;
  std::deque<broker::EvalRow> expected_;           // announced and not served yet, oldest first
  std::deque<broker::EvalRow> announced_;          // of these, those not passed to evaluate() yet
  bool announces_ = false;                         // the driver announces evaluations by expect()
  std::vector<broker::EvalRow> peeked_;            // scratch of foresee()
  std::uint64_t inside_ = 0;                       // log entries that evaluations wrote in step()
  std::map<broker::EvalRow, std::string> errors_;  // why evaluations to be redelivered were nacked
  std::vector<broker::EvalRow> replaced_;          // system jobs' evaluations that the tracker replaced
  /// What outlives evaluations. It ends with the queues.
  struct Kept {
    /// Superfluous evaluations (R-CTRL-335). Those that were removed from the state are erased when the set has
    /// doubled.
    std::unordered_set<base::Uuid, base::UuidHash> cancelled;
    std::size_t cancelled_left = 0;         // number after the last erasure
    std::vector<tables::Symbol> resources;  // whose unblock the tracker notes
  } kept_;

  // Free workers.
  std::unique_ptr<Workers> team_;
  std::mutex turn_;
  std::size_t woken_ = 0;                           // evaluations that became ready under the Turn
  std::int64_t turn_since_ns_ = 0;                  // measured time at which the current Turn began
  std::atomic<std::int32_t> waiting_{0};            // threads that wait for the Turn or for their plan
  alignas(64) std::atomic<std::uint32_t> work_{0};  // incremented when something may be ready; workers wait on it
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::uint64_t> deliveries_{0};  // deliveries begun by workers
  std::atomic<std::int64_t> busy_{0};                     // workers that poll for evaluations or serve one
  std::atomic<bool> awaited_{false};                      // the driver waits until no worker is busy
  std::atomic<std::uint64_t> driver_woken_{0};
  std::mutex idle_mutex_;
  std::condition_variable idle_changed_;
};

class Server::Turn {
 public:
  explicit Turn(Server& server) : server_(server.team_ ? &server : nullptr) {
    if (server_) server_->lock_turn();
  }
  ~Turn() {
    if (!server_) return;
    server_->unlock_turn();
    server_->serve_plans();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Server* const server_;
};

}  // namespace berth::server
