// The server of a simulation with its own clock, and its observer (LifeWatch: life.cc). Events are in life_events.h.
#pragma once

#include <array>
#include <string>

#include "fsm/node_requests.h"
#include "server/lane.h"
#include "server/server.h"

namespace berth::conform {

struct LifeOptions;

/// A plan and its result.
struct Committed {
  const tables::Snapshot &before, &after;
  const sched::EvalResult& result;
  const model::Evaluation& eval;
  std::uint64_t index;  ///< of its commit, or of the commit that was refused
  const plan::ApplyResult& applied;
};

/// Observes a server.
class LifeWatch {
 public:
  virtual ~LifeWatch() = default;
  virtual void tell(std::string event) = 0;
  virtual void problem(std::string text) = 0;
  [[nodiscard]] virtual bool has_problems() const = 0;
  /// An evaluation is about to be processed on `snapshot`, the newest state.
  virtual void evaluating(const tables::Snapshot& snapshot, const sched::EvalFacts& facts,
                          const model::Evaluation& eval) = 0;
  /// A plan was made and not yet committed: changes now make its snapshot outdated.
  virtual void planned(const sched::EvalResult& result) = 0;
  virtual void committed(const Committed& commit) = 0;
  /// An evaluation has ended.
  virtual void evaluated(const server::EvalRecord& eval) = 0;
};

class LifeServer final : private server::Listener {
 public:
  LifeServer(const model::ClusterState& state, const LifeOptions& options, LifeWatch& watch);

  [[nodiscard]] std::int64_t now() const { return clock_.now_ns(); }
  void wait(std::int64_t ns) { clock_.set(now() + ns); }

  [[nodiscard]] server::Server& server() { return server_; }
  [[nodiscard]] const tables::Snapshot& state() const { return server_.store().current(); }
  [[nodiscard]] tables::StateStore& store() { return server_.store(); }
  [[nodiscard]] fsm::StateLog& log() { return server_.log(); }
  [[nodiscard]] fsm::Requests& requests() { return server_.requests(); }
  [[nodiscard]] fsm::NodeRequests& nodes() { return nodes_; }
  void take(const fsm::Hooks& hooks) { server_.take(hooks); }

  // --- writing; each is one log entry, whose evaluations are queued ---
  template <class Entry>
  void write(const Entry& entry) {
    if (const std::string error = server_.write(entry); !error.empty()) watch_.tell("  refused: " + error);
  }
  void set_configuration(const model::SchedulerConfiguration& configuration);
  void ask(const model::Job& job, std::string_view trigger) { ask(job, trigger, server_.draw_id()); }
  void ask(const model::Job& job, std::string_view trigger, base::Uuid id);

  /// Processes all ready evaluations, and those that they create.
  void evaluate_all();

 private:
  void compare_views();
  void attempt(server::Lane& lane) override;
  void decided(server::Lane& lane) override;
  void applying(server::Lane& lane) override;
  void applied(server::Lane& lane) override;
  void settled(server::Lane& lane) override { watch_.evaluated(*lane.record); }
  void failed(const server::EvalRecord& eval, std::string_view why) override;

  LifeWatch& watch_;
  server::ManualClock clock_;
  server::Server server_;
  fsm::NodeRequests nodes_;
  tables::SnapshotRef before_;               // state before the present commit
  std::uint64_t index_ = 0;                  // of the present commit
  std::array<tables::WorkerView, 3> views_;  // of workers that take every, every 4th, every 16th state
  std::uint64_t attempts_ = 0;
};

}  // namespace berth::conform
