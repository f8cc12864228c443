// What a driver hands to the server: settings, a clock, and who looks on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/uuid.h"
#include "broker/broker.h"
#include "model/options.h"
#include "plan/rejection_tracker.h"
#include "rank/order.h"
#include "sched/source/sources.h"

namespace berth::server {

struct Lane;
struct EvalRecord;

/// Who decides evaluations, and when.
enum class Execution : std::uint8_t {
  inline_,  ///< the driver's thread, one after the other: step()
  ahead,    ///< the same decisions: other threads decide ahead, the driver's thread commits in turn
  free,     ///< workers that take evaluations as they come and submit plans: Nomad's optimistic concurrency
};

struct Config {
  model::Options options;
  rank::OrderProvider order = rank::OrderProvider::nomad;
  sched::EnabledSources sources;  ///< that may answer Selects; decisions do not depend on them
  bool exhaustive = false;        ///< the best of all nodes instead of the best of a sample
  bool keep_details = false;      ///< objects: placements keep their time and their metrics, for whoever shows them
  bool defer_metrics = false;     ///< nobody reads the metrics of placements (GenericScheduler::set_defer_metrics)
  std::uint64_t seed = 1;         ///< of the IDs of allocations and evaluations that are created
  std::function<base::Uuid()> draw_id;  ///< IDs of evaluations that no evaluation creates; none: from the seed
  Execution execution = Execution::inline_;
  std::uint32_t workers = 1;  ///< threads that decide, unless inline
  /// Finished evaluations stay in the state until garbage collection removes them, with what the API shows of them, and
  /// the log records jobs, deployments and the history of the tables. False, for measuring decisions: they are gone at
  /// once, and an evaluation takes one log index, its plan's or else that of its end.
  bool retain = false;
  broker::Config broker;  ///< its `evals` and `jobs` bound how many the server knows at a time; `order`, `quirks`: ours
  /// So many plans an evaluation may submit; it is given back then (R-SCHED-5), as Nomad's would time out that are
  /// refused in part for ever (R-SCHED-10).
  std::uint32_t plans_max = UINT32_MAX;
  std::int64_t client_batch_ns = 50'000'000;        ///< client reports are merged over so long (R-CTRL-749)
  bool evaluate_evicted = true;                     ///< the jobs of evicted allocations (R-CTRL-627)
  bool follow_up_failed = true;                     ///< evaluations that reached the delivery limit (R-SCHED-21)
  std::optional<plan::RejectionLimits> rejections;  ///< none: nodes are never marked (R-CTRL-629)
};

/// Time, in ns; any thread may ask. A simulation's stands still while berth works.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t now_ns() const = 0;
};

/// A clock that its owner sets.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override { return now_ns_.load(std::memory_order_relaxed); }
  void set(std::int64_t now_ns) { now_ns_.store(now_ns, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> now_ns_{0};
};

/// Who looks on: measures, counts, tells. A call is on the thread that does what it tells of. "In turn": one such call
/// at a time, and the tables do not change meanwhile.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void lane_made(Lane&) {}  ///< before it is used; the driver's thread
  virtual void attempt(Lane&) {}    ///< a state was taken to decide on
  virtual void waiting(Lane&) {}    ///< its turn has come; it may be decided elsewhere still
  virtual void decided(Lane&) {}    ///< an attempt ended: with a plan, or with nothing
  /// From now on, until it is called with false, the driver's thread only reads the tables: it decides an evaluation,
  /// or waits for one that is decided ahead.
  virtual void only_reads(bool) {}
  virtual void applying(Lane&) {}                              ///< its plan is checked now; in turn
  virtual void applied(Lane&) {}                               ///< and committed as far as it fits; in turn
  virtual void settled(Lane&) {}                               ///< the evaluation is over; in turn
  virtual void released(EvalRecord&) {}                        ///< a blocked one may run again; in turn
  virtual void failed(const EvalRecord&, std::string_view) {}  ///< at the delivery limit: why; in turn
};

}  // namespace berth::server
