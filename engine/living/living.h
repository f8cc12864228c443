// A living cluster: a server, what its leader does by itself, and the clients of all nodes, on one virtual clock.
//
// How it is driven
//   Cluster cluster(config, &listener or nullptr);
//   cluster.load(state);                    clients start on the nodes that are ready
//   cluster.run_before(t);                  everything due before t; now() is t
//   fsm::Answer answer = cluster.apply(JobRegister{...});     what happens from outside, now
//   cluster.run_until(t);                   everything due up to t, t included
//
// Events of one instant go by the classes of R-CTRL-1701: what comes from outside, clients, the leader's timers, the
// broker's, evaluations. A lower class that becomes due while a higher one is at work comes next. Evaluations are
// decided one after the other and take no time, so that every decision, and the log, depend on configuration, seed and
// events alone; digest() is their fingerprint. Threads may decide them ahead of their turn (server::Execution::ahead):
// the same decisions.
//
// With free workers (server::Execution::free) the order of decisions is the workers', and differs from run to run. The
// clock waits for them all the same. The driver has the Turn but while it waits, so that what it reads and writes
// between two calls of a Cluster stands still.
//
//   engine/living  cluster.cc   the clock and its order
//                  events.cc    R-CTRL-E1 to E19
//                  exchange.cc  what clients and server say to each other
//                  recorder.h   digest, and what a listener is told
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
  server::Config server;              ///< its history is objects, whatever it says
  lifecycle::WatcherConfig watchers;  ///< its seed is `seed`'s
  client::Timing clients;
  /// What tasks do that no TaskOutcome tells of; null: R-CTRL-1710, batch tasks run for `batch_run_ns`.
  client::TaskModel tasks;
  std::int64_t batch_run_ns = 60 * base::kSecond;
  /// Instead of that: tasks do what their drivers' configurations say.
  std::optional<client::DriverDefaults> drivers;
  std::uint64_t seed = 1;
  std::int64_t start_ns = 1'700'000'000 * base::kSecond;  ///< unix; the clock at the beginning
  bool journal = false;                                   ///< reports tell of the events of tasks (R-API-355)
  bool resume = false;          ///< load(): what runs by the state goes on running; else its tasks start anew
  bool object_reports = false;  ///< clients report API objects, as over a network, not rows: the same, only slower
  /// R-CTRL-1720 to 1735 after every step, less often where the state is large, and when the clock stops; slow.
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

  /// Fills the empty cluster; a leader begins.
  void load(const model::ClusterState& state);

  [[nodiscard]] std::int64_t now() const { return clock_.now_ns(); }
  /// When something is due; kNever: nothing ever will be.
  [[nodiscard]] std::int64_t next_deadline();
  /// Everything due up to `t`, then the clock is at `t`.
  void run_until(std::int64_t t);
  /// As run_until(t), but leaves off after a step for which `enough` says so; whether it got to `t`.
  bool run_until(std::int64_t t, const std::function<bool()>& enough);
  /// Everything due before `t`, then the clock is at `t`: what happens from outside at `t` comes first there.
  void run_before(std::int64_t t);
  /// Ends the server's threads, if it has any; the next step starts them again. By the driver, before it ends.
  void stop_workers();
  /// Something happens now. Its answer is Nomad's; `error` is "" where it succeeded.
  fsm::Answer apply(const Event& event);

  [[nodiscard]] server::Server& server() { return *server_; }
  [[nodiscard]] lifecycle::Watchers& watchers() { return *watchers_; }
  [[nodiscard]] client::Clients& clients() { return *clients_; }
  [[nodiscard]] bool has_leader() const { return has_leader_; }
  [[nodiscard]] const tables::Snapshot& state() const { return server_->store().current(); }
  /// Of all decisions and log entries so far.
  [[nodiscard]] std::uint64_t digest() const { return recorder_->digest.value(); }

  /// With Config::check: what was found broken, at most at one step.
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
  void tell_clients(const tables::Changes& changes);

  Config config_;
  server::ManualClock clock_;
  Outcomes outcomes_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<server::Server> server_;
  std::optional<server::Server::Turn> turn_;  // of free workers: the driver has it
  bool works_ = false;                        // the threads were started
  std::unique_ptr<lifecycle::Watchers> watchers_;
  std::unique_ptr<client::Clients> clients_;
  base::Random ids_;

  std::vector<std::shared_ptr<const model::Node>> machines_;  // by NodeRow: what its client registers
  std::vector<bool> is_registered_;  // by NodeRow: the answer to its next registration is known
  std::vector<bool> is_restarted_;   // by NodeRow: its client process started anew and has not registered
  std::vector<std::vector<tables::AllocRow>> news_;  // by NodeRow: what the next pull has to name
  std::vector<bool> resumes_;                        // by NodeRow: its client's first pull goes on with what runs
  client::Outbox sent_;
  client::ServerAllocs pulled_;
  lifecycle::Outbox written_;
  fsm::ClientUpdateEntry batch_;  // reports that wait to be written, from these clients (R-CTRL-749)
  fsm::Answer flushed_;           // to the batch before
  std::vector<tables::NodeRow> senders_;
  std::vector<std::pair<tables::AllocRow, tables::TaskLogRef>> logs_;  // that the batch tells of
  std::int64_t batch_due_ = lifecycle::kNever;
  bool by_clients_ = false;  // the rows that changed are what clients reported: no news to them
  bool has_leader_ = true;
  std::int64_t leader_due_ = lifecycle::kNever;  // when the next one begins
  std::int64_t next_due_ = lifecycle::kNever;    // after a step that found nothing to do: when there is something
  Counts counts_;
  // Config::check.
  std::vector<std::string> problems_;
  tables::SnapshotRef checked_;  // the state that was looked at last
  std::uint64_t unchecked_steps_ = 0;
  Exceptions exceptions_;
};

}  // namespace berth::living
