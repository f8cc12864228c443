// The order of a queue policy (berth/queue.h) in a simulated cluster with [life] or in `berth serve`: everything that
// the policy is given of a job is read from the state.
//
//   number     the order in which versions of jobs are first ready: a new version comes after the jobs that wait
//   arrived    SubmitTime; the deadline, meta.berth_deadline, counts from it
//   run time   of a job of the workload with a run time, that drawn for its arrival. Of any other, the longest of its
//              tasks' by meta.berth_run_time (client/drivers.h). Without it, jobs never end
//
// Only policies that order by a key work here. Shares, quotas and reservations need the starts and ends of a replay.
// Threads: the server's own; not with free workers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "berth/queue.h"
#include "broker/broker.h"
#include "sim/job_stream.h"
#include "tables/state.h"

namespace berth::run {

class LifeOrder final : public broker::QueueOrder {
 public:
  /// `jobs`: of the workload; read only here.
  LifeOrder(std::unique_ptr<strategy::QueuePolicy> policy, const sim::JobStream& jobs);
  /// Why the policy cannot work here, and the remedy; none if it can.
  [[nodiscard]] static std::optional<std::pair<const char*, const char*>> refused(const strategy::QueuePolicy& policy);

  void attach(const tables::StateStore& store) override { store_ = &store; }
  [[nodiscard]] broker::Place place(const broker::Eval& eval) override;

 private:
  struct Version {
    std::uint64_t create_index, version, number;
  };
  const std::unique_ptr<strategy::QueuePolicy> policy_;
  std::unordered_map<std::string, std::int64_t> run_times_ns_;  // by job ID
  const tables::StateStore* store_ = nullptr;
  std::unordered_map<tables::JobKeyRow, Version> versions_;  // the last one seen
  std::uint64_t numbers_ = 0;
};

}  // namespace berth::run
