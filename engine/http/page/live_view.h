// Live data of the status page: observes the simulated cluster, and twice a second sends the changes of nodes, jobs,
// counts, rates, latency and decisions to all open pages. Does nothing while no page is open.
//
// Messages are JSON, one per event of a text/event-stream: `state` at the beginning, then `nodes` with all nodes, then
// `tick`s with changes.
//   node  [row, state bits, cpu, memory, disk in use in thousandths, allocations]; then, in `nodes` and after a change
//   of
//         its state, also ID, name, datacenter, class, pool
//   job   [namespace, id, type, status, wanted, running, starting, failed]
//   mark  a fault, or nodes that changed their state, for the timeline: {number, at, until (unix ms), kind, count, id,
//         node}. Marks of one kind within 10 s are one, with the first node. A mark that grew is sent again.
// Threads: the simulation's.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "http/simulation.h"
#include "http/transport/budget.h"
#include "living/listener.h"

namespace berth::http {

class LiveView final : public living::Listener {
 public:
  static constexpr std::size_t kNodes = 20'000;  ///< maximum number shown
  static constexpr std::size_t kJobs = 200;      ///< maximum number per message
  static constexpr std::size_t kDecisions = 100;
  static constexpr std::size_t kMarks = 400;  ///< the latest are kept, while no page is open too

  /// Returns false if the reader is gone.
  using Reader = std::function<bool(const transport::TextRef& text)>;

  void attach(Simulation& simulation);
  /// Sends everything at once, and then changes.
  void subscribe(Reader reader);

  void lane_made(server::Lane& lane) override;
  void attempt(server::Lane& lane) override;
  void evaluation_decided(const living::DecidedEval& what) override;
  void event_applied(const living::Event& what) override;
  void entry_written(const living::WrittenEntry& what) override;
  void alloc_changed(const living::AllocChange& what) override;
  void node_changed(const living::NodeChange& what) override;
  void job_changed(tables::JobKeyRow job) override { note_job(job); }

 private:
  void begin();
  void tick();
  void send(const std::string& message);
  [[nodiscard]] bool send_all(const Reader& reader);
  struct Mark {
    std::uint64_t number = 0;
    std::int64_t at = 0, until = 0;  // unix ns
    const char* kind = "";
    std::uint64_t count = 1;
    std::string node_id, node_name;  // of the first; empty for the whole cluster
  };
  void note_mark(const char* kind, tables::NodeRow node);
  [[nodiscard]] json::Value marks_json(std::uint64_t from) const;
  void note_node(tables::NodeRow node, bool in_full = false);
  void push_names(tables::NodeRow row, json::Value& node) const;
  void note_job(tables::JobKeyRow job);
  [[nodiscard]] json::Value node_json(tables::NodeRow row) const;
  [[nodiscard]] json::Value job_json(tables::JobKeyRow row) const;
  [[nodiscard]] json::Value counts_json() const;
  [[nodiscard]] json::Value latency_json();
  [[nodiscard]] std::string state_message();
  [[nodiscard]] std::string tick_message();
  [[nodiscard]] json::Value decision_json(const living::DecidedEval& what, std::int64_t took_ns) const;

  Simulation* simulation_ = nullptr;
  std::vector<Reader> readers_;
  bool ticking_ = false;
  std::int64_t last_tick_ns_ = 0;  // real, steady clock

  // Since the last tick.
  std::vector<bool> is_noted_node_, is_noted_in_full_, is_noted_job_;
  std::vector<tables::NodeRow> nodes_;
  std::vector<tables::JobKeyRow> jobs_;
  std::uint64_t placed_ = 0, ended_ = 0, evaluations_ = 0, entries_ = 0, decisions_missed_ = 0;
  std::vector<std::int64_t> latencies_ns_;
  std::deque<json::Value> decisions_;

  // Real start time of each lane's evaluation. The driver's lane exists before this listens.
  std::deque<std::int64_t> began_ns_ = std::deque<std::int64_t>(1);
  std::array<std::int64_t, 6> allocs_{};      // by client status
  std::deque<json::Value> newest_decisions_;  // for new readers
  std::deque<Mark> marks_;                    // ascending numbers
  std::uint64_t next_mark_ = 0;
  std::uint64_t first_changed_mark_ = 0;  // since the last tick, this one and later ones are new or grew
};

}  // namespace berth::http
