// Applies a queue policy (berth/queue.h) to the jobs of a run: the broker asks it where an evaluation stands, the run
// reports arrivals and the starts and ends of allocations.
//
//   facts   24 bytes per job: arrival, run time
//   lines   one per namespace if the policy shares between namespaces: its weight and its use; else one for all
//
// Cost: nothing per evaluation but the policy's key; with shares, one sum per allocation that starts or ends.
// Threads: the run's.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "berth/queue.h"
#include "broker/broker.h"
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
  /// A job, or a new version of one, was registered. `arrival`: its position in the list of arrivals. A job that waits
  /// keeps its place in the order of arrival when it gets a new version.
  void arrived(const tables::Snapshot& state, tables::JobKeyRow job, std::size_t arrival);
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
    bool waits = false;  // from its arrival until it is placed whole
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
};

}  // namespace berth::run
