// Applies a queue policy (berth/queue.h) to the jobs of a run: the broker asks it where an evaluation stands, the run
// reports arrivals and the starts and ends of allocations.
//
//   facts   24 bytes per job: arrival, run time
//   waiting the jobs that a policy with reservations holds back (reservations.h)
//   lines   one per namespace if the policy shares between namespaces: its weight and its use; else one for all
//
// Cost: nothing per evaluation but the policy's key; with shares, one sum per allocation that starts or ends.
// Threads: the run's.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "berth/queue.h"
#include "broker/broker.h"
#include "run/reservations.h"
#include "server/lane.h"
#include "sim/job_stream.h"
#include "sim/packing.h"
#include "tables/state.h"

namespace berth::run {

class JobQueue final : public broker::QueueOrder {
 public:
  JobQueue(std::unique_ptr<strategy::QueuePolicy> policy, const sim::JobStream& jobs);

  /// Call when the cluster is loaded. Its usable amounts are the capacity, and its running allocations are in use.
  void start(broker::Broker& broker, const tables::Snapshot& state);
  /// The policy has reservations: call use_forecast() after start().
  [[nodiscard]] bool reserves() const { return policy_->reservations().has_value(); }
  /// `forecast`: of the loaded cluster.
  void use_forecast(std::unique_ptr<Forecast> forecast) {
    waiting_.emplace(*policy_->reservations(), std::move(forecast));
  }
  /// A job, or a new version of one, was registered. `arrival`: its position in the list of arrivals. A job that waits
  /// keeps its place in the order of arrival when it gets a new version.
  void arrived(const tables::Snapshot& state, tables::JobKeyRow job, std::size_t arrival);
  /// Call after arrived(): true if the job's evaluation has to wait for next_to_start().
  [[nodiscard]] bool holds_back(const tables::Snapshot& state, const server::NewEval& eval, std::size_t arrival);
  /// The arrival of a job that was held back and may start now. Call until there is none, and serve its evaluation
  /// before the next call. `index`: of the state when it is decided.
  [[nodiscard]] std::optional<std::size_t> next_to_start(std::int64_t now_ns, std::uint64_t index) {
    return waiting_ ? waiting_->next_to_start(now_ns, index) : std::nullopt;
  }
  [[nodiscard]] bool holds_any() const { return waiting_ && !waiting_->empty(); }
  /// A node joins (or, at the start of a run, has not joined yet).
  void set_ready(tables::NodeRow node, bool ready);
  /// Expected end of an allocation that ran before.
  void expect_end(tables::AllocRow alloc, std::int64_t end_ns) {
    if (waiting_) waiting_->forecast().expect_end(alloc, end_ns);
  }
  /// A plan was committed. `whole`: nothing of its job is left to be placed.
  void committed(const tables::Snapshot& state, const server::Lane& lane, bool whole);
  /// Allocations of one job are about to end. Those that have ended before do not count.
  void ends(const tables::Snapshot& state, tables::AllocRow first, std::uint32_t count);

  /// Call before evaluations are served at this time.
  void advance(std::int64_t now_ns);

  [[nodiscard]] broker::Place place(const broker::Eval& eval) override;

 private:
  struct Facts {
    std::uint64_t number = 0;
    std::int64_t arrived_ns = 0, run_time_ns = sim::kNeverEnds, deadline_ns = INT64_MAX;
    bool waits = false;    // from its arrival until it is placed whole
    bool started = false;  // an allocation of it was placed
  };
  struct Line {
    double weight = 1;
    sim::Amounts used;
    std::array<double, 4> mean{};  // with a half-life: the decayed mean of `used`, in its order, up to `at_ns`
    std::int64_t at_ns = 0;
  };
  [[nodiscard]] std::uint32_t line_of(const tables::Snapshot& state, tables::JobKeyRow job);
  void count(const tables::Snapshot& state, tables::AllocRow alloc, std::int64_t sign);
  void publish(std::uint32_t line);
  void decay(Line& line) const;
  [[nodiscard]] strategy::WaitingJob waiting_job(const Facts& facts, std::int32_t priority) const;
  [[nodiscard]] double key_of(const strategy::WaitingJob& job) const;

  const std::unique_ptr<strategy::QueuePolicy> policy_;
  const sim::JobStream& jobs_;         // its arrivals at one time are by priority
  std::vector<std::uint32_t> number_;  // by arrival: its place in the order of time, then of creation
  broker::Broker* broker_ = nullptr;
  std::vector<Facts> facts_;             // by JobKeyRow
  std::vector<std::uint32_t> lines_of_;  // by JobKeyRow
  std::unordered_map<tables::Symbol, std::uint32_t> line_by_name_;
  std::vector<Line> lines_;
  sim::Amounts capacity_;
  std::int64_t now_ns_ = 0;
  std::optional<Reservations> waiting_;
};

}  // namespace berth::run
