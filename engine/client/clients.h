// Clients: all simulated nodes of a cluster on one virtual clock (part 07 of the specification, section 15).
//
// A client is a row, not a thread: it costs memory for what it holds, and time for events. An idle client has no events
// but its heartbeat.
//   rows         bytes  one per                       place                 read and written by
//   ClientRow      128  node                          by node row           every event of the node
//   AllocRun       136  allocation that is not over   free list             its tasks' events, reports, pulls
//   TaskStatus      40  task of such an allocation    block of its alloc    reports; health
//   TaskRun         88  task of such an allocation    block of its alloc    timers of the task
//   HealthRow      104  allocation that is watched    free list             R-CTRL-1570 to 1576
//   GroupSpec        -  job version and group         free list             shared by its allocations
//   timers          32  future event                  timer wheel           -
// An event reads one row of a kind from end to end, so rows are stored whole instead of by column. An allocation is
// over when its tasks are dead and the server has acknowledged that; then its rows are free for reuse. All memory is
// reused: the steady state makes no heap allocation.
//
// The caller passes the clock: it calls advance() at next_deadline(), answers the requests in the outbox, and notifies
// clients of changes at the servers. Nothing here reads a server's state. Threads: one.
#pragma once

#include <tsl/robin_map.h>

#include <string>
#include <vector>

#include "base/bit_hash.h"
#include "base/random.h"
#include "client/messages.h"
#include "client/task_journal.h"
#include "client/timer_wheel.h"

namespace berth::client {

using tables::AllocRow;
using tables::NodeRow;

/// Intervals of clients; a collapsed run sets those of batching and polling to 0 (R-CTRL-1707).
struct Timing {
  std::int64_t report_tick_ns = 200'000'000;  ///< R-CTRL-1530; 0: reports are sent at once
  bool own_ticks = false;  ///< true: a client's ticks have a fixed phase; false: they count from its last report
  std::int64_t ticks_per_report = 5;                      ///< R-CTRL-1532
  std::int64_t report_retry_ns = 5 * base::kSecond;       ///< and as much jitter (R-CTRL-1533)
  std::int64_t register_retry_ns = 15 * base::kSecond;    ///< and as much jitter (R-CTRL-1540)
  std::int64_t first_heartbeat_ns = 10 * base::kSecond;   ///< uniform below this (R-CTRL-1540)
  std::int64_t pull_retry_ns = 30 * base::kSecond;        ///< and as much jitter (R-CTRL-1503)
  std::int64_t fingerprint_delay_ns = 5 * base::kSecond;  ///< and as much jitter (R-CTRL-1543)
  std::int64_t check_poll_ns = 500'000'000;               ///< R-CTRL-1575
};

struct ClientsConfig {
  Timing timing;
  GroupSpecOptions groups;
  TaskModel tasks;
  std::uint64_t seed = 0;
  bool journal = false;  ///< stores the events of tasks
};

/// Which tasks a restarted client finds again (R-CTRL-E4).
enum class Recovery : std::uint8_t { by_model, all, none };

/// The answer to a signal for tasks that do not run; "" if there are none.
[[nodiscard]] std::string not_running(std::span<const std::string> tasks);

class Clients {
 public:
  explicit Clients(ClientsConfig config);

  // --- the clock ---
  [[nodiscard]] std::int64_t next_deadline() { return timers_.next(); }  ///< kNever: nothing is due
  /// Processes everything due up to `now`, in order, and appends what clients send to `out`. Call it at every deadline,
  /// so that answers carry the time of their requests.
  void advance(std::int64_t now, Outbox& out);

  // --- events from outside (R-CTRL-E1 to E4) ---
  void start(NodeRow node, std::int64_t now);  ///< a client process that never ran before
  void remove(NodeRow node);                   ///< removes the machine with everything on it
  void set_reachable(NodeRow node, bool reachable, std::int64_t now);
  /// `down_ns` kNever: the process stays down until the next restart().
  void restart(NodeRow node, std::int64_t now, std::int64_t down_ns, Recovery recovery = Recovery::by_model);
  void change_fingerprint(NodeRow node, std::int64_t now);  ///< R-CTRL-1543
  void set_report_lag(NodeRow node, std::int64_t lag_ns);   ///< a slow client: delays its reports by this

  // --- operator requests for an allocation's tasks: "" or the reason for the refusal (R-API-705) ---
  /// Restarts the running tasks, or only the named one; with `all` also those that ended, each in its stage.
  [[nodiscard]] std::string restart_tasks(AllocRow alloc, std::string_view name, bool all, std::int64_t now);
  /// Simulated tasks ignore signals. Only for an allocation that has a runner.
  [[nodiscard]] std::string signal_tasks(AllocRow alloc, std::string_view name, std::string_view signal,
                                         std::int64_t now);

  // --- answers; those that are no longer awaited are ignored ---
  void registered(NodeRow node, Answer answer, std::int64_t now);
  void heartbeat_answered(NodeRow node, Answer answer, std::int64_t ttl_ns, std::int64_t now);
  void deliver(NodeRow node, const ServerAllocs& allocs, std::int64_t now);
  void pull_failed(NodeRow node, std::int64_t now);
  void report_answered(NodeRow node, bool ok, std::int64_t now);
  /// The client sends a heartbeat at this time instead of when its TTL is over.
  void heartbeat_at(NodeRow node, std::int64_t at);

  // --- notices: results of a server's long polls ---
  void allocs_changed(NodeRow node, std::int64_t now);  ///< the node's allocations: the client pulls (R-CTRL-1501)
  /// A client status changed at the server, or an allocation was deleted: allocations that wait for it may begin.
  void upstream_changed(const Upstream& upstream, std::int64_t now);
  /// The server deleted the allocation and may reuse its row. The client keeps the runner until its next pull reports
  /// the deletion. Returns that client's node; kNoRow: no client runs it.
  NodeRow row_freed(AllocRow alloc, std::int64_t now);

  // --- queries ---
  /// Prefetches the client that the next allocs_changed() will concern.
  void ask_for(NodeRow node) const {
    if (node < clients_.size()) base::prefetch_all(clients_[node]);
  }
  [[nodiscard]] bool has(NodeRow node) const { return node < clients_.size() && clients_[node].present; }
  [[nodiscard]] bool has_runner(AllocRow alloc) const { return run_of(alloc) != kNo; }
  [[nodiscard]] bool awaits_upstream(AllocRow alloc) const { return waits_.find(alloc) != waits_.end(); }
  struct Counts {
    std::size_t clients = 0, allocs = 0, tasks = 0, watched = 0, waits = 0, groups = 0, timers = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  [[nodiscard]] Counts counts() const;
  /// The task events in the node's reports that are in flight; none without a journal.
  void reported_logs(NodeRow node, std::vector<std::pair<AllocRow, tables::TaskLogRef>>& out) const;
  /// The first violated invariant of the rows, or "".
  [[nodiscard]] std::string check() const;

 private:
  static constexpr std::uint32_t kNo = ~0u;

  enum TimerKind : std::uint8_t {
    kRegister,
    kHeartbeat,
    kPull,
    kReport,
    kStopAfter,
    kProcessUp,
    kFingerprint,
    kMaxRun,
    kHealth,
    kTask,
  };

  struct ClientRow {
    std::int64_t process_start = 0, last_ok = 0, last_beat = kNoTime, ttl_ns = 0;
    std::int64_t report_base = 0, report_due = 0, report_lag_ns = 0;
    std::int64_t stop_after_ns = 0;  ///< smallest of its allocations; 0: none has one
    TimerId beat = kNoTimer, pull = kNoTimer, report = kNoTimer, stop_after = kNoTimer, process = kNoTimer;
    std::uint32_t allocs = kNo;                            ///< list by next_of_client
    std::uint32_t pending_head = kNo, pending_tail = kNo;  ///< reports to be made, by next_pending
    std::uint32_t flight_head = kNo;                       ///< reports that were sent, by next_flight
    std::uint32_t blocked = 0, uncontacted = 0;            ///< allocations that wait for upstream; tasks for contact
    std::uint32_t orphans = 0;                             ///< allocations deleted at the server, unknown here
    Recovery recovery = Recovery::by_model;
    bool present = false, up = false, reachable = true, registered = false, contacted = false;
    bool listening = false;     ///< its long poll is open
    bool pull_complete = true;  ///< the next answer to a pull must be complete
    bool awaits_registration = false, awaits_heartbeat = false, awaits_pull = false, awaits_report = false;
    bool retrying = false;  ///< the last report failed
  };
  static_assert(sizeof(ClientRow) == 128);

  enum class Phase : std::uint8_t { free, blocked, running, done };
  enum class KillScope : std::uint8_t { none, tasks, all };  ///< all: poststop tasks included

  struct AllocRun {
    AllocRow alloc = 0;
    tables::VersionRow job = 0;
    std::uint32_t group = 0, name_index = 0;
    NodeRow client = 0;
    std::uint32_t spec = kNo, tasks = kNo;  ///< GroupSpec; first row of the tasks' block
    std::uint32_t next_of_client = kNo, prev_of_client = kNo, next_pending = kNo, next_flight = kNo;
    tables::DeploymentRow deployment = tables::kNoRow;
    std::uint32_t health_row = kNo;
    std::uint32_t waits = kNo, waits_left = 0;  ///< list of its waits; upstream allocations still awaited
    TimerId max_run = kNoTimer;
    std::uint32_t sequence = 0, sent = 0, acknowledged = 0;  ///< numbers of changes to report
    std::uint64_t alloc_modify_index = 0;
    std::int64_t create_time = 0, terminal_at = kNoTime, health_at = kNoTime;
    AllocStatus status, forced;
    tables::Client sent_status = tables::Client::pending, acknowledged_status = tables::Client::pending;
    Phase phase = Phase::free;
    KillScope kill = KillScope::none;
    Health health = Health::unknown;
    CheckOutcome checks = CheckOutcome::automatic;
    bool is_pending = false, in_flight = false, was_acknowledged = false;
    bool server_terminal = false, server_lost = false, migrate = false, no_shutdown_delay = false;
    bool has_forced = false;         ///< `forced` overrides the tasks' status from then on (R-CTRL-1513, R-REG-482)
    bool counts_stop_after = false;  ///< registered for R-CTRL-1550
    bool gone = false;               ///< the server no longer has it: nothing is reported
    bool row_is_free = false;        ///< the same, but the client does not know it yet
    bool health_known = false;       ///< decided here or at the server: no longer watched (R-CTRL-1570)
    bool seen = false;               ///< listed in the complete answer being read
    bool added = false;              ///< false: the runner could not be built
  };

  enum class TaskPhase : std::uint8_t {
    idle,           ///< waits for its stage
    starting,       ///< until timer: runs, or fails to start
    running,        ///< until timer or for ever: exits
    waiting,        ///< until timer: is started again
    uncontacted,    ///< until servers were contacted: is started again (R-CTRL-1565)
    shutting_down,  ///< until timer: gets the kill signal, or exits by itself
    killing,        ///< until timer: ends
    dead,
  };

  struct TaskRun {
    RestartCount restarts;
    std::int64_t run_ns = kEndless, exit_at = kNever, kill_at = kNever, kill_ns = 0;
    std::uint64_t work = 0;  ///< of a running remote task, or of the server's handle
    std::uint32_t alloc = kNo, run = 0;
    TimerId timer = kNoTimer;
    std::int32_t exit_code = 0;
    TaskPhase phase = TaskPhase::dead;
    StartError start_error = StartError::none;
    bool recovered = true, detached = false;
    bool exit_fails = false;     ///< an exit code, a signal or an error
    bool restart_asked = false;  ///< is being stopped to start again
    bool killed_twice = false;   ///< by its allocation's end and by the end of the main tasks
    bool reattached = false;     ///< found again by a restarted process, which does not log its kill
    bool has_handle = false;     ///< the server has a handle: recover it before a first start (R-SEED-19)
  };

  struct HealthRow {
    HealthTracker tracker;
    TimerId timer = kNoTimer;
  };
#ifdef __GLIBCXX__  // other standard libraries have members of other sizes
  static_assert(sizeof(AllocRun) == 136 && sizeof(TaskStatus) == 40);
  static_assert(sizeof(TaskRun) == 88 && sizeof(HealthRow) == 104);
#endif

  struct Wait {
    AllocRow upstream = 0;
    std::uint32_t run = kNo;  ///< kNo: free
    std::uint32_t next_of_upstream = kNo, next_of_run = kNo;
  };

  // clients.cc: the node's side
  void open(NodeRow node, std::int64_t now);
  void close(NodeRow node);
  void on_register(NodeRow node, std::int64_t now, Outbox& out);
  void on_heartbeat(NodeRow node, std::int64_t now, Outbox& out);
  void on_pull(NodeRow node, std::int64_t now, Outbox& out);
  void on_report(NodeRow node, std::int64_t now, Outbox& out);
  void on_stop_after(NodeRow node, std::int64_t now);
  void on_process_up(NodeRow node, std::int64_t now);
  void registration_failed(ClientRow& c, NodeRow node, std::int64_t now);
  void heartbeat_failed(ClientRow& c, NodeRow node, bool no_leader, std::int64_t now);
  void report_failed(ClientRow& c, NodeRow node, std::int64_t now);
  void prefetch(TimerKind kind, std::uint32_t subject) const;
  void arm(TimerId& timer, std::int64_t at, TimerKind kind, std::uint32_t subject);
  void arm_stop_after(ClientRow& c, NodeRow node, std::int64_t now);
  void count_stop_after(ClientRow& c);
  void touch(std::uint32_t run, std::int64_t now);
  void schedule_report(ClientRow& c, NodeRow node, const AllocRun& a, std::int64_t now);
  void schedule_reports(ClientRow& c, NodeRow node, std::int64_t now);
  [[nodiscard]] bool is_news(const AllocRun& a) const;
  [[nodiscard]] static bool is_urgent(const AllocRun& a);
  [[nodiscard]] bool has_urgent(const ClientRow& c) const;
  bool put_off_report(ClientRow& c, NodeRow node, std::int64_t now);
  void push_pending(ClientRow& c, std::uint32_t run);
  void write_report(std::uint32_t run, Outbox& out);
  [[nodiscard]] std::int64_t uniform(base::Random& stream, std::int64_t bound) const;

  // allocs.cc: runners
  void add(NodeRow node, const ServerAlloc& s, const ServerAllocs& all, std::int64_t now);
  void resume(std::uint32_t run, const TaskStatus* statuses, std::int64_t now);
  void update(std::uint32_t run, const ServerAlloc& s, std::int64_t now);
  void take(AllocRun& a, const ServerAlloc& s);
  void begin(std::uint32_t run, std::int64_t now);
  void restore(std::uint32_t run, Recovery recovery, std::int64_t now);
  void restore_tasks(std::uint32_t run, Recovery recovery, std::int64_t now);
  void drop(std::uint32_t run, std::int64_t now);
  void kill(std::uint32_t run, KillScope scope, TaskEvent why, std::int64_t now);
  void order_kill(std::uint32_t run, KillScope scope, TaskEvent why, std::int64_t now);
  bool find_reason_to_kill(std::uint32_t run, std::int64_t now);
  void fail_all(std::uint32_t run, TaskEvent why, std::int64_t now);
  void settle(std::uint32_t run, std::int64_t now);
  void finish(std::uint32_t run);
  void release_if_over(std::uint32_t run);
  void release(std::uint32_t run);
  void forget_timers(std::uint32_t run);
  void limit_run(std::uint32_t run, std::int64_t now);
  void on_max_run(std::uint32_t run, std::int64_t now);
  void wait_for(std::uint32_t run, AllocRow upstream);
  void resolve(AllocRow upstream, NodeRow holder, bool local, std::int64_t now);
  void end_wait(std::uint32_t row);
  void unwait(std::uint32_t run);
  void watch(std::uint32_t run, std::int64_t now);
  void observe(std::uint32_t run, std::int64_t now);
  void on_health(std::uint32_t run, std::int64_t now);
  void end_watch(std::uint32_t run);
  void conclude_health(std::uint32_t run, Health health);
  std::uint32_t spec_of(const ServerAlloc& s);
  void release_spec(const AllocRun& a);
  std::uint32_t take_tasks(std::size_t count);

  // tasks.cc: one task
  [[nodiscard]] bool stage_is_open(const AllocRun& a, std::size_t task) const;
  [[nodiscard]] AllocFailure failure_of(const AllocRun& a) const;
  bool kill_step(std::uint32_t run, std::int64_t now);
  void outlive_main_tasks(std::uint32_t task, std::int64_t now);
  void start_task(std::uint32_t task, std::int64_t now);
  void run_task(std::uint32_t task, std::int64_t now);
  void end_task(std::uint32_t task, TaskEnd end, std::int64_t now);
  void die(std::uint32_t task, bool failed, TaskEvent event, std::int64_t now);
  void signal(std::uint32_t task, std::int64_t now);
  void send_kill(std::uint32_t task, std::int64_t now);
  void on_task(std::uint32_t task, std::int64_t now);
  void mark(std::uint32_t task, TaskEvent event, std::int64_t now);
  void arm_task(std::uint32_t task, std::int64_t at);
  // operator.cc
  [[nodiscard]] std::uint32_t task_named(const AllocRun& a, std::string_view name) const;
  void stop_to_restart(std::uint32_t task, std::int64_t now);
  void stopped_to_restart(std::uint32_t task, std::int64_t now);
  void start_again(std::uint32_t task, std::int64_t now);
  // events for the journal
  void log(std::uint32_t run, std::size_t place, TaskLogEvent event) {
    if (config_.journal && !runs_[run].row_is_free && !runs_[run].gone)
      journal_.add(runs_[run].alloc, place, std::move(event));
  }
  void log_no_start(std::uint32_t task, std::int64_t now);
  void log_end(std::uint32_t task, std::int32_t exit_code, std::int64_t now);
  void log_decision(std::uint32_t task, const RestartDecision& decision, std::int64_t now);
  void log_reason(std::uint32_t run, std::size_t place, TaskEvent why, std::int64_t now);
  void log_unhealthy(std::uint32_t run, std::int64_t now);
  [[nodiscard]] TaskStart start_of(const TaskRun& t, std::uint32_t task) const;
  [[nodiscard]] bool detaches(const AllocRun& a, std::uint32_t task) const;

  [[nodiscard]] std::span<TaskStatus> statuses(const AllocRun& a) {
    return {statuses_.data() + a.tasks, specs_[a.spec].tasks.size()};
  }
  /// The runner of an allocation; kNo: none that belongs to an allocation of the server.
  [[nodiscard]] std::uint32_t run_of(AllocRow alloc) const { return alloc < by_alloc_.size() ? by_alloc_[alloc] : kNo; }
  [[nodiscard]] std::size_t task_count(const AllocRun& a) const { return specs_[a.spec].tasks.size(); }
  [[nodiscard]] std::uint32_t place(const AllocRun& a, std::uint32_t task) const { return task - a.tasks; }

  ClientsConfig config_;
  TimerWheel timers_;
  std::vector<ClientRow> clients_;  // by NodeRow
  std::vector<AllocRun> runs_;
  std::vector<TaskStatus> statuses_;  // indexed like task_runs_
  std::vector<TaskRun> task_runs_;
  std::vector<HealthRow> health_;
  std::vector<GroupSpec> specs_;
  std::vector<Wait> wait_rows_;
  std::vector<std::uint32_t> free_runs_, free_specs_, free_waits_, free_health_;
  std::vector<std::vector<std::uint32_t>> free_tasks_;                    // by length of the block
  std::vector<std::uint32_t> by_alloc_;                                   // AllocRun, by AllocRow
  tsl::robin_map<std::uint64_t, std::uint32_t, base::BitHash> by_group_;  // (job row, group) -> GroupSpec
  tsl::robin_map<AllocRow, std::uint32_t> waits_;                         // upstream -> first Wait
  std::size_t present_ = 0, live_tasks_ = 0, known_allocs_ = 0;
  std::vector<Expected> expected_;  // allocations with news since the last advance()
  TaskJournal journal_;
  base::Random retries_, first_beats_, restarts_;  // streams of R-CTRL-1704
};

}  // namespace berth::client
