// The waiting jobs of a queue policy with quotas (berth/queue.h), which of them may start, and at whose expense.
//
// A namespace's quota is a share of the cluster's cpu, memory, disk and devices, of each. Whenever a job arrives,
// allocations end or a node joins, the waiting jobs are examined, always the first in the order of a namespace, and of
// the namespace with the least dominant share of its quota:
//
//   1. Jobs with which their namespace stays within its quota. One starts if all its allocations fit. If they do not
//      fit, jobs of namespaces that are above their quota are evicted, if that makes room: of the namespace that is
//      above it most (dominant share / quota), the job that started last, and so on while one is above its quota.
//   2. Then the others, if no job of 1 waits. One starts if its namespace stays within quota + borrow and all its
//      allocations fit.
//
// What fits is decided by the engine's scheduler on a Forecast. Nothing is evicted unless the job fits afterwards.
//
// Cost per pass: a decision per waiting job, and per job of 1 that does not fit one per job that could be evicted.
// Threads: the run's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/queue.h"
#include "run/forecast.h"
#include "sim/packing.h"

namespace berth::run {

class Quotas {
 public:
  struct Job {
    server::NewEval eval;
    sim::Amounts demand;  ///< of all its allocations
  };
  struct Start {
    server::NewEval eval;
    std::vector<tables::JobKeyRow> evicted;  ///< before it starts
  };

  Quotas(const strategy::Quotas& rule, const sim::Amounts& capacity, std::unique_ptr<Forecast> forecast)
      : rule_(rule), capacity_(capacity), forecast_(std::move(forecast)) {}

  [[nodiscard]] bool empty() const { return place_of_.empty(); }
  [[nodiscard]] Forecast& forecast() { return *forecast_; }
  /// Namespaces are numbered from 0 without gaps. `share`: its quota, 0 to 1.
  void add_namespace(double share) { spaces_.push_back({.quota = share}); }
  /// Lets a job wait, or replaces it by its new version. The least (key, number) is first in its namespace.
  void wait(std::uint32_t space, double key, std::uint64_t number, const Job& job);
  /// The job waits no longer. False: it did not wait.
  bool forget(tables::JobKeyRow job);
  /// An allocation of a namespace's job starts or ends.
  void started(std::uint32_t space, tables::JobKeyRow job, tables::AllocRow alloc, const sim::Amounts& held);
  void ended(std::uint32_t space, tables::JobKeyRow job, tables::AllocRow alloc, const sim::Amounts& held);
  /// Its allocations.
  [[nodiscard]] const std::vector<tables::AllocRow>& running(tables::JobKeyRow job) const {
    return jobs_.at(job).allocs;
  }
  /// Capacity became free: the next call of next_to_start() begins another pass.
  void changed() { passing_ = false; }
  /// A job that may start now once others are evicted; it waits no longer. Call until there is none.
  [[nodiscard]] std::optional<Start> next_to_start(std::int64_t now_ns, std::uint64_t index);

 private:
  using Place = std::pair<double, std::uint64_t>;  // key, number
  struct Space {
    double quota = 0;
    sim::Amounts used;
    std::map<Place, Job> waiting;
    std::optional<Place> examined;                                    // in this part of the pass, the last one
    std::map<std::uint64_t, tables::JobKeyRow, std::greater<>> runs;  // by start, the last one first
  };
  struct Running {
    std::uint64_t start = 0;
    std::vector<tables::AllocRow> allocs;
    sim::Amounts held;
  };
  [[nodiscard]] std::optional<std::size_t> next_space() const;
  [[nodiscard]] bool within(const Space& space, const sim::Amounts& used, double more) const;
  [[nodiscard]] double dominant(const sim::Amounts& used) const;
  [[nodiscard]] double rank(const Space& space, const sim::Amounts& used) const;
  [[nodiscard]] bool fits(const Job& job) { return forecast_->place(job.eval, INT64_MAX); }
  [[nodiscard]] std::optional<std::vector<tables::JobKeyRow>> reclaim(const Job& job, std::size_t of);

  const strategy::Quotas& rule_;
  const sim::Amounts capacity_;
  const std::unique_ptr<Forecast> forecast_;
  std::vector<Space> spaces_;
  std::map<tables::JobKeyRow, Running> jobs_;
  std::uint64_t starts_ = 0;
  std::unordered_map<tables::JobKeyRow, std::pair<std::uint32_t, Place>> place_of_;  // of the jobs that wait

  // The pass.
  bool passing_ = false, borrowing_ = false;
  bool lender_waits_ = false;  // a job within its quota found no room
};

}  // namespace berth::run
