// Simulation: the simulated cluster behind the API. One thread owns the cluster, advances virtual time in small slices,
// and answers requests in between.
//
//   order of work     requests (post), in order; then due long polls; then slices of cluster work; then pieces of
//                     streams. A slice ends as soon as a request arrives.
//   virtual time      starts at the real time and advances at `speed`. If the processor cannot keep up, virtual time
//                     slows down. `step`: it advances only by advance(). `max`: it jumps to the next due work.
//   long polls        wait in a list here, one row each, without threads (R-API-50 to 56). After entries were written,
//                     the indexes of those that read a written table are checked again. The more there are, the longer
//                     the time to the next check.
//   long evaluations  deciding an evaluation only reads the cluster. If that takes longer than a few milliseconds, a
//                     second thread does the read-only tasks (post_read, post_slow) meanwhile. Both never write at the
//                     same time, and the first thread waits for the second before it continues.
// Threads: post() and stop() any; everything else the simulation's own, or the second thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/agent.h"
#include "http/monitor_log.h"
#include "http/stores/tables.h"
#include "http/telemetry.h"
#include "http/text_cache.h"
#include "living/living.h"

namespace berth::http {

class Stores;

/// Speed of virtual time.
struct Speed {
  enum class Mode : std::uint8_t { times, max, step };
  Mode mode = Mode::times;
  double times = 1;

  /// "1", "100", "0.5", "max", "step"; nullopt for anything else.
  [[nodiscard]] static std::optional<Speed> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
};

/// Passes all calls to several listeners, in the order of their addition.
class Listeners final : public living::Listener {
 public:
  void add(living::Listener* listener) { all_.push_back(listener); }
  void lane_made(server::Lane& lane) override {
    each([&](auto& to) { to.lane_made(lane); });
  }
  void attempt(server::Lane& lane) override {
    each([&](auto& to) { to.attempt(lane); });
  }
  void waiting(server::Lane& lane) override {
    each([&](auto& to) { to.waiting(lane); });
  }
  void decided(server::Lane& lane) override {
    each([&](auto& to) { to.decided(lane); });
  }
  void only_reads(bool on) override {
    each([&](auto& to) { to.only_reads(on); });
  }
  void applying(server::Lane& lane) override {
    each([&](auto& to) { to.applying(lane); });
  }
  void applied(server::Lane& lane) override {
    each([&](auto& to) { to.applied(lane); });
  }
  void settled(server::Lane& lane) override {
    each([&](auto& to) { to.settled(lane); });
  }
  void released(server::EvalRecord& record) override {
    each([&](auto& to) { to.released(record); });
  }
  void failed(const server::EvalRecord& record, std::string_view why) override {
    each([&](auto& to) { to.failed(record, why); });
  }
  void event_applied(const living::Event& what) override {
    each([&](auto& to) { to.event_applied(what); });
  }
  void entry_written(const living::WrittenEntry& what) override {
    each([&](auto& to) { to.entry_written(what); });
  }
  void evaluation_decided(const living::DecidedEval& what) override {
    each([&](auto& to) { to.evaluation_decided(what); });
  }
  void alloc_changed(const living::AllocChange& what) override {
    each([&](auto& to) { to.alloc_changed(what); });
  }
  void node_changed(const living::NodeChange& what) override {
    each([&](auto& to) { to.node_changed(what); });
  }
  void job_changed(tables::JobKeyRow job) override {
    each([&](auto& to) { to.job_changed(job); });
  }
  void deployment_ended(const model::Deployment& what) override {
    each([&](auto& to) { to.deployment_ended(what); });
  }
  void drain_ended(const living::DrainEnd& what) override {
    each([&](auto& to) { to.drain_ended(what); });
  }

 private:
  template <class Call>
  void each(Call call) {
    for (living::Listener* to : all_) call(*to);
  }
  std::vector<living::Listener*> all_;
};

/// A request that waits until its index has passed (R-API-50).
struct Waiter {
  std::function<bool()> ready;  ///< checked after a table of its set was written
  std::function<void()> end;    ///< called when it is ready, or at its deadline
  std::function<bool()> gone;   ///< true if the client has disconnected
  std::uint32_t tables = 0;
  std::int64_t deadline_ns = 0;  ///< real, steady clock
};

/// Threads for work that reads only its own data: pieces of lists.
class Readers {
 public:
  virtual ~Readers() = default;
  virtual void post(std::function<void()> work) = 0;
  [[nodiscard]] static std::unique_ptr<Readers> make(std::size_t threads);
};

/// Scheduled events of a cluster: the [life] of a workload.
class Script {
 public:
  virtual ~Script() = default;
  /// Called before the cluster is loaded.
  virtual void bind(living::Cluster& cluster) = 0;
  /// Virtual time of the next event, unix ns; lifecycle::kNever: none.
  [[nodiscard]] virtual std::int64_t next() const = 0;
  /// Plays the events due at that time, which the cluster's clock has reached.
  virtual void play() = 0;
};

class Simulation final : private living::Listener {
 public:
  struct Options {
    Speed speed;
    std::size_t long_polls = 65'536;
    std::string snapshots;        ///< folder for snapshots; "": none are written
    std::size_t readers = 1;      ///< threads for pieces of lists; 0: the simulation's thread makes them
    bool keep_addresses = false;  ///< addresses of joining nodes and of snapshots are not replaced (addresses.h)
    bool acl = false;             ///< requests need tokens (stores/access.h)
    std::size_t store_bytes = std::size_t{1} << 30;  ///< limit for all stores
    std::string http_address;                        ///< the server's listening address
    std::string vault_audience;  ///< if set, Vault is enabled, and its tasks get an identity for this audience
    std::string agent_name = "server-1", datacenter = "dc1";
    std::string local_node;        ///< ID of the node whose client the agent is (Agent::local_node)
    std::uint32_t processors = 0;  ///< determines the number of workers; 0: of this machine
  };

  /// `script` may be null. It ends when the cluster is replaced.
  Simulation(living::Config config, const model::ClusterState& state, const Options& options,
             std::shared_ptr<Script> script = nullptr);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  void start();
  /// Finishes the present work and ends the thread.
  void stop();
  /// One turn of the simulation's thread: queued tasks, finished long polls, due work. False: it would sleep now. For
  /// callers that do not start() the thread.
  bool turn();

  using Task = std::function<void(Simulation&)>;
  /// Queues a task for the simulation's thread. Any thread.
  void post(Task task) { add({std::move(task), false}); }
  /// The same for a read-only task, which may run during a long evaluation.
  void post_read(Task task) { add({std::move(task), true}); }
  /// The same for a read-only task of low priority.
  void post_slow(Task task);

  /// The cluster's has_leader(), a moment ago. Any thread.
  [[nodiscard]] bool has_leader() const { return has_leader_.load(std::memory_order_relaxed); }
  /// Virtual time, a moment ago. Any thread.
  [[nodiscard]] std::int64_t recent_now() const { return recent_now_.load(std::memory_order_relaxed); }
  [[nodiscard]] Telemetry& telemetry() { return telemetry_; }   ///< any thread
  [[nodiscard]] MonitorLog& monitor_log() { return monitor_; }  ///< any thread

  /// Queues work for a reader thread. Any thread.
  void post_reader(std::function<void()> work) { post_to(readers_.get(), std::move(work)); }
  /// Queues long work for a separate thread.
  void post_question(std::function<void()> work) { post_to(questions_.get(), std::move(work)); }

  // --- on the simulation's thread ---
  [[nodiscard]] living::Cluster& cluster() { return *cluster_; }
  [[nodiscard]] server::Server& server() { return cluster_->server(); }
  [[nodiscard]] fsm::StateLog& log() { return cluster_->server().log(); }
  [[nodiscard]] tables::StateStore& store() { return cluster_->server().store(); }
  [[nodiscard]] const tables::Snapshot& state() const { return cluster_->state(); }
  [[nodiscard]] std::int64_t now() const { return cluster_->now(); }  ///< virtual, unix ns
  /// Data outside of the cluster's state.
  [[nodiscard]] Stores& stores() { return *stores_; }
  /// Draws the index of a log entry of the stores.
  [[nodiscard]] std::uint64_t take_index();
  /// Applies an event now.
  fsm::Answer apply(const living::Event& event) { return cluster_->apply(event); }
  /// Adds a listener, which must outlive the simulation.
  void listen(living::Listener* listener) { listeners_.add(listener); }
  /// Calls `what` now, and whenever the cluster was replaced.
  void attach(std::function<void(Simulation&)> what);

  [[nodiscard]] Agent& agent() { return agent_; }
  /// Number of the transport's connections; 0 if not counted.
  [[nodiscard]] std::size_t connections() const { return connections_ ? connections_() : 0; }
  void count_connections(std::function<std::size_t()> count) { connections_ = std::move(count); }
  /// Changes the agent's workers and the queues that they serve.
  void set_workers(std::uint32_t count, std::vector<std::string> schedulers);
  [[nodiscard]] const Speed& speed() const { return speed_; }
  void set_speed(const Speed& speed);
  /// Advances virtual time by `ns` as fast as possible, at any speed setting; then calls `done`.
  void advance(std::int64_t ns, std::function<void()> done);
  /// Replaces the cluster completely; answers all long polls.
  void replace(living::Config config, const model::ClusterState& state);
  [[nodiscard]] const living::Config& config() const { return config_; }
  [[nodiscard]] const Options& options() const { return options_; }
  /// Cached stubs of nodes for lists.
  [[nodiscard]] const std::shared_ptr<TextCache>& node_stubs() const { return node_stubs_; }

  /// Adds a waiting request; false: the limit is reached.
  [[nodiscard]] bool wait(Waiter waiter);
  [[nodiscard]] std::size_t waiting() const { return waiters_.size(); }

 private:
  struct Queued {
    Task task;
    bool reads = false;  // read-only
  };

  void load(const model::ClusterState& state);
  void add(Queued queued);
  void post_to(Readers* readers, std::function<void()> work);
  void only_reads(bool on) override;
  void stand_in();
  [[nodiscard]] Task take_reading_task();
  void run();
  void run_tasks();
  void run_time();
  bool run_slice(std::int64_t until, std::int64_t real_end_ns);
  bool run_until(std::int64_t until, const std::function<bool()>& enough);
  bool run_stores_until(std::int64_t until, const std::function<bool()>& enough);
  [[nodiscard]] std::int64_t next_deadline();
  [[nodiscard]] std::int64_t target(std::int64_t real_ns) const;
  void rebase();
  void note_written();
  void collect(std::int64_t real_ns);
  void wake();
  void answer_due();
  [[nodiscard]] std::int64_t wake_time();
  void sleep();
  [[nodiscard]] bool has_tasks() const { return asked_.load(std::memory_order_acquire); }

  living::Config config_;
  const Options options_;
  Agent agent_;
  Telemetry telemetry_;
  MonitorLog monitor_;
  std::function<std::size_t()> connections_;
  Listeners listeners_;
  std::vector<std::function<void(Simulation&)>> attached_;
  std::shared_ptr<Script> script_;  // must outlive the cluster, whose tasks it may decide
  std::unique_ptr<living::Cluster> cluster_;
  std::unique_ptr<Stores> stores_;
  std::shared_ptr<TextCache> node_stubs_ = std::make_shared<TextCache>();  // of this cluster

  Speed speed_;
  std::int64_t base_real_ns_ = 0, base_virtual_ns_ = 0;
  struct Advance {
    std::int64_t until = 0;
    std::function<void()> done;
  };
  std::deque<Advance> advances_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> tasks_;  // guarded by the mutex, like the next ones
  std::deque<Task> slow_;
  std::atomic<bool> asked_{false}, stopping_{false}, has_leader_{true};
  std::atomic<std::int64_t> recent_now_{0};
  std::thread thread_, stand_in_thread_;
  bool is_lent_ = false, stand_in_works_ = false;
  std::int64_t lent_ns_ = 0;
  std::condition_variable stand_in_changed_;
  std::unique_ptr<Readers> readers_, questions_;  // null: the simulation's thread does their work

  std::vector<Waiter> waiters_;
  std::deque<std::function<void()>> due_;                          // ends of finished waiters
  std::array<std::uint64_t, fsm::kTables + kStoreTables> seen_{};  // table indexes at the last check of waiters
  std::uint32_t written_ = 0;                                      // tables written since
  std::uint64_t seen_index_ = 0;
  std::int64_t next_wake_ns_ = 0, next_sweep_ns_ = 0, next_slow_ns_ = 0, next_collection_ns_ = 0;
};

}  // namespace berth::http
