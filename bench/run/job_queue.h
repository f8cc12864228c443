// Applies a queue policy (berth/queue.h) to the jobs of a run: the broker asks it for the place of an evaluation, the
// run reports arrivals and the starts and ends of allocations.
//
//   facts   24 bytes per job: arrival, run time
//   waiting the jobs that a policy with reservations or quotas holds back (reservations.h, quotas.h)
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
#include "run/quotas.h"
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
  /// The policy decides when a job may start: call use_forecast() after start().
  [[nodiscard]] bool needs_forecast() const { return policy_->reservations() || policy_->quotas(); }
  /// `forecast`: of the loaded cluster.
  void use_forecast(std::unique_ptr<Forecast> forecast, const tables::Snapshot& state);
  /// A job, or a new version of one, was registered. `arrival`: its position in the list of arrivals. A job that waits
  /// keeps its place in the order of arrival when it gets a new version.
  void arrived(const tables::Snapshot& state, tables::JobKeyRow job, std::size_t arrival);
  /// Call after arrived(): true if the job's evaluation has to wait for next_to_start().
  [[nodiscard]] bool holds_back(const tables::Snapshot& state, const server::NewEval& eval);
  /// A job that was held back and may start now, once the jobs in `evicted` are. Call until there is none, and serve
  /// its evaluation before the next call. `index`: of the state when it is decided.
  [[nodiscard]] std::optional<Quotas::Start> next_to_start(std::int64_t now_ns, std::uint64_t index);
  /// The allocations of a job that is to be evicted.
  [[nodiscard]] std::vector<tables::AllocRow> running(tables::JobKeyRow job) const { return quotas_->running(job); }
  /// The allocations of the job have ended because it was evicted: it waits again, in its old place.
  void evicted(tables::JobKeyRow job);
  /// The job, a gang whose time is over, was given up. True if it was held back.
  bool gave_up(tables::JobKeyRow job);
  [[nodiscard]] bool holds_any() const { return (waiting_ && !waiting_->empty()) || (quotas_ && !quotas_->empty()); }
  /// A node joins (or, at the start of a run, has not joined yet).
  void set_ready(tables::NodeRow node, bool ready);
  /// Expected end of an allocation that ran before.
  void expect_end(tables::AllocRow alloc, std::int64_t end_ns) { forecast()->expect_end(alloc, end_ns); }
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
    tables::Symbol space = 0;
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
  std::optional<Reservations> waiting_;  // at most one of these
  std::optional<Quotas> quotas_;
  [[nodiscard]] Forecast* forecast() {
    return waiting_ ? &waiting_->forecast() : quotas_ ? &quotas_->forecast() : nullptr;
  }
  void changed() {
    if (waiting_) waiting_->changed();
    if (quotas_) quotas_->changed();
  }
  [[nodiscard]] sim::Amounts held_by(const tables::Snapshot& state, tables::AllocRow alloc) const;
  [[nodiscard]] double share_of(const tables::Snapshot& state, tables::Symbol space) const;
};

}  // namespace berth::run
