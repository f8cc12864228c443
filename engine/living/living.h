// Cluster: a simulated cluster. A server, its leader's timers and the clients of all nodes, on one virtual clock.
//
// Use
//   Cluster cluster(config, &listener or nullptr);
//   cluster.load(state);                    clients start on the nodes that are ready
//   cluster.run_before(t);                  everything due before t; now() is t
//   fsm::Answer answer = cluster.apply(JobRegister{...});     an event from outside, now
//   cluster.run_until(t);                   everything due up to t, t included
//
// Events of one instant are ordered by the classes of R-CTRL-1701: from outside, clients, the leader's timers, the
// broker's timers, evaluations. If a lower class becomes due while a higher one is at work, it comes next. Evaluations
// are decided one after the other and take no virtual time. So all decisions, and the log, depend only on
// configuration, seed and events; digest() is their fingerprint. Threads may decide evaluations ahead of their turn
// (server::Execution::ahead), with the same decisions.
//
// With free workers (server::Execution::free) the order of decisions differs from run to run. The clock still waits for
// the workers. The driver holds the Turn except while it waits, so that the state does not change between two calls of
// a Cluster.
//
//   engine/living  cluster.cc   the clock and its order
//                  events.cc    R-CTRL-E1 to E19
//                  exchange.cc  messages between clients and server
//                  recorder.h   digest, and the calls of the listener
// Threads: the driver's, always the same one from the first step to stop_workers().
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "lifecycle/watchers.h"
#include "living/events.h"
#include "living/invariants.h"
#include "living/listener.h"
#include "living/outcomes.h"
#include "living/recorder.h"
#include "server/server.h"

namespace berth::living {

struct Config {
  server::Config server;              ///< its `retain` is always set
  lifecycle::WatcherConfig watchers;  ///< its seed is derived from `seed`
  client::Timing clients;
  /// Behaviour of tasks without a TaskOutcome. Null: R-CTRL-1710, batch tasks run for `batch_run_ns`.
  client::TaskModel tasks;
  std::int64_t batch_run_ns = 60 * base::kSecond;
  /// If set, tasks without an outcome follow their drivers' configurations.
  std::optional<client::DriverDefaults> drivers;
  std::uint64_t seed = 1;
  std::int64_t start_ns = 1'700'000'000 * base::kSecond;  ///< unix ns; initial clock
  bool journal = false;                                   ///< reports include task events (R-API-355)
  bool resume = false;          ///< load(): tasks running in the state keep running; else they start again
  bool object_reports = false;  ///< clients report API objects, not rows: the same results, slower
  /// Check R-CTRL-1720 to 1735 after every step, less often if the state is large, and when the clock stops. Slow.
  bool check = false;
};

/// Sets every interval of batching and polling to 0; policies keep their durations (R-CTRL-1707).
void collapse(Config& config);

class Cluster {
 public:
  explicit Cluster(Config config, Listener* listener = nullptr);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Fills the empty cluster and makes the server its leader.
  void load(const model::ClusterState& state);

  [[nodiscard]] std::int64_t now() const { return clock_.now_ns(); }
  /// Time of the next due work, unix ns; kNever: none.
  [[nodiscard]] std::int64_t next_deadline();
  /// Does everything due up to `t`, then sets the clock to `t`.
  void run_until(std::int64_t t);
  /// Like run_until(t), but stops after a step for which `enough` returns true. Returns true if it reached `t`.
  bool run_until(std::int64_t t, const std::function<bool()>& enough);
  /// Does everything due before `t`, then sets the clock to `t`, so that outside events at `t` come first.
  void run_before(std::int64_t t);
  /// Stops the server's threads, if any; the next step starts them again. The driver calls it before it ends.
  void stop_workers();
  /// Applies an event now. Returns Nomad's answer; `error` is "" on success.
  fsm::Answer apply(const Event& event);

  [[nodiscard]] server::Server& server() { return *server_; }
  [[nodiscard]] lifecycle::Watchers& watchers() { return *watchers_; }
  [[nodiscard]] client::Clients& clients() { return *clients_; }
  [[nodiscard]] bool has_leader() const { return has_leader_; }
  [[nodiscard]] const tables::Snapshot& state() const { return server_->store().current(); }
  /// The node as its client registers it next; null: no client runs there.
  [[nodiscard]] std::shared_ptr<const model::Node> machine(const std::string& node_id) const;
  /// Fingerprint of all decisions and log entries so far.
  [[nodiscard]] std::uint64_t digest() const { return recorder_->digest.value(); }

  /// With Config::check: the broken invariants of the first step that broke any.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  struct Counts {
    std::uint64_t heartbeats = 0, registrations = 0, pulls = 0, requests = 0, reports = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  // cluster.cc
  void start_workers();
  bool let_work();
  void step_until_idle();
  bool checked_step();
  bool step();
  [[nodiscard]] bool is_free() const { return config_.server.execution == server::Execution::free; }
  [[nodiscard]] bool check_is_due();
  void check_state_now();
  void check_unchecked();
  void keep_logs(const model::ClusterState& state);
  void check_plan(const server::Lane& lane);
  void take(lifecycle::Outbox& out);
  void take(const fsm::Answer& answer);
  // events.cc
  [[nodiscard]] tables::NodeRow client_of(const std::string& node_id) const;
  void set_queues(bool enabled);
  void begin_leading();
  fsm::Answer happen(const NodeRegister& event);
  fsm::Answer happen(const NodeUnreachable& event);
  fsm::Answer happen(const NodeReachable& event);
  fsm::Answer happen(const ClientRestart& event);
  fsm::Answer happen(const NodeDeregister& event);
  fsm::Answer happen(const NodeEligibility& event);
  fsm::Answer happen(const NodeDrain& event);
  fsm::Answer happen(const JobRegister& event);
  fsm::Answer happen(const JobDeregister& event);
  fsm::Answer happen(const JobScale& event);
  fsm::Answer happen(const JobEvaluate& event);
  fsm::Answer happen(const JobDispatch& event);
  fsm::Answer happen(const PeriodicForce& event);
  fsm::Answer happen(const AllocStop& event);
  fsm::Answer happen(const DeploymentOp& event);
  fsm::Answer happen(const SetSchedulerConfig& event);
  fsm::Answer happen(const CollectGarbage& event);
  fsm::Answer happen(const TaskOutcome& event);
  fsm::Answer happen(const LeaderChange& event);
  fsm::Answer happen(const ReportLag& event);
  fsm::Answer happen(const JobRevert& event);
  fsm::Answer happen(const JobStability& event);
  fsm::Answer happen(const VersionTag& event);
  fsm::Answer happen(const EvalDelete& event);
  fsm::Answer happen(const NodeEvaluate& event);
  fsm::Answer happen(const AllocRestart& event);
  fsm::Answer happen(const AllocSignal& event);
  // exchange.cc
  void start_client(tables::NodeRow node, std::shared_ptr<const model::Node> machine);
  void exchange();
  void answer_registration(tables::NodeRow node);
  void answer_heartbeat(tables::NodeRow node);
  void answer_pull(const client::Outbox::Pull& pull);
  void take_reports(const client::Outbox::Request& request);
  void flush_reports();
  void write_logs();
  void answer_senders(bool ok);
  [[nodiscard]] std::int64_t next_request() const;
  void greet_returning();
  void notify_clients(const tables::Changes& changes);

  Config config_;
  server::ManualClock clock_;
  Outcomes outcomes_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<server::Server> server_;
  std::optional<server::Server::Turn> turn_;  // held by the driver while it runs
  bool works_ = false;                        // the threads were started
  std::unique_ptr<lifecycle::Watchers> watchers_;
  std::unique_ptr<client::Clients> clients_;
  base::Random ids_;

  std::vector<std::shared_ptr<const model::Node>> machines_;  // by NodeRow: node object that its client registers
  std::vector<bool> is_registered_;                           // by NodeRow: its next registration changes nothing
  std::vector<bool> is_restarted_;                   // by NodeRow: its client restarted and has not registered yet
  std::vector<std::vector<tables::AllocRow>> news_;  // by NodeRow: allocations to return with the next pull
  std::vector<bool> resumes_;                        // by NodeRow: its client's first pull resumes running tasks
  client::Outbox sent_;
  client::ServerAllocs pulled_;
  lifecycle::Outbox written_;
  fsm::ClientUpdateEntry batch_;  // reports waiting to be written, sent by senders_ (R-CTRL-749)
  fsm::Answer flushed_;           // answer to the previous batch
  std::vector<tables::NodeRow> senders_;
  std::vector<tables::NodeRow> returning_;                             // nodes that reported and are not ready yet
  std::vector<std::pair<tables::AllocRow, tables::TaskLogRef>> logs_;  // task events of the batch
  std::int64_t batch_due_ = lifecycle::kNever;
  bool by_clients_ = false;  // the change in progress is a client report, which clients need not hear of
  bool has_leader_ = true;
  std::int64_t leader_due_ = lifecycle::kNever;  // when the next leader begins
  std::int64_t next_due_ = lifecycle::kNever;    // after a step without work: time of the next work
  Counts counts_;
  // Config::check.
  std::vector<std::string> problems_;
  tables::SnapshotRef checked_;  // the state checked last
  std::uint64_t unchecked_steps_ = 0;
  Exceptions exceptions_;
};

}  // namespace berth::living
