// What a driver passes to the server: settings, a clock and a listener.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/uuid.h"
#include "broker/broker.h"
#include "model/options.h"
#include "plan/rejection_tracker.h"
#include "rank/order.h"
#include "sched/source/sources.h"

namespace berth::server {

struct Lane;
struct EvalRecord;

/// Which threads decide evaluations, and in which order.
enum class Execution : std::uint8_t {
  inline_,  ///< the driver's thread, one evaluation after another: step()
  ahead,    ///< the same decisions: other threads decide ahead, the driver's thread commits in turn
  free,     ///< workers take evaluations as they come and submit plans: Nomad's optimistic concurrency
};

/// End of the reason why an evaluation is nacked that has submitted Config::plans_max plans; their number precedes it.
inline constexpr std::string_view kPlansMaxReached = " plans of this evaluation were refused in part";

struct Config {
  model::Options options;
  rank::OrderProvider order = rank::OrderProvider::nomad;
  sched::EnabledSources sources;  ///< sources that may answer Selects; decisions do not depend on it
  bool exhaustive = false;        ///< the best of all nodes instead of the best of a sample
  bool keep_details = false;      ///< placements record their time and their metrics, for drivers that show them
  bool defer_metrics = false;     ///< the driver does not read placement metrics (GenericScheduler::set_defer_metrics)
  std::uint64_t seed = 1;         ///< of the IDs of new allocations and evaluations
  std::function<base::Uuid()> draw_id;  ///< IDs of evaluations that no other evaluation creates; none: from the seed
  Execution execution = Execution::inline_;
  std::uint32_t workers = 1;  ///< threads that decide, unless inline
  /// True: finished evaluations stay in the state until garbage collection removes them, with everything the API shows
  /// of them, and the log records jobs, deployments and the history of the tables. False, for measuring decisions: a
  /// finished evaluation is removed at once and takes one log index, that of its plan or, without a plan, of its end.
  bool retain = false;
  /// `evals`, `jobs`: most that the server holds at a time; it sets `order` and `quirks` itself
  broker::Config broker;
  /// Not with free workers: the order of ready evaluations; null: broker.queue, which is Nomad's order if it is null.
  std::shared_ptr<broker::QueueOrder> queue;
  /// Plans that one evaluation may submit; then it is nacked (R-SCHED-5) with kPlansMaxReached. Nomad has no limit:
  /// plans that are refused in part for ever (R-SCHED-10) keep it busy until something else changes the cluster. On a
  /// virtual clock nothing would.
  std::uint32_t plans_max = 1'000;
  std::int64_t client_batch_ns = 50'000'000;  ///< client reports within this time are merged (R-CTRL-749)
  /// create evaluations for the jobs of evicted allocations (R-CTRL-627)
  bool evaluate_evicted = true;
  /// Follow up evaluations that reached the delivery limit (R-SCHED-21).
  bool follow_up_failed = true;
  std::optional<plan::RejectionLimits> rejections;  ///< none: nodes are never marked ineligible (R-CTRL-629)
};

/// Time in ns. Any thread may call it. The clock of a simulation stands still while berth computes.
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

/// Observer of the server: for measuring, counting and reporting. Each function is called on the thread that does the
/// work. "In turn": calls do not overlap, and the tables do not change during the call.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void lane_made(Lane&) {}  ///< before the lane is used; on the driver's thread
  virtual void attempt(Lane&) {}    ///< an attempt starts: its state has been taken
  virtual void waiting(Lane&) {}    ///< its turn has come; a thread may still be deciding it ahead
  virtual void decided(Lane&) {}    ///< an attempt ended, with or without a plan
  /// true: from now on the driver's thread only reads the tables, because it decides an evaluation or waits for one
  /// that is decided ahead. false: no longer.
  virtual void only_reads(bool) {}
  virtual void applying(Lane&) {}                              ///< its plan is about to be checked; in turn
  virtual void applied(Lane&) {}                               ///< its plan is committed as far as it fits; in turn
  virtual void settled(Lane&) {}                               ///< the evaluation is over; in turn
  virtual void released(EvalRecord&) {}                        ///< a blocked evaluation may run again; in turn
  virtual void failed(const EvalRecord&, std::string_view) {}  ///< delivery limit reached, with the reason; in turn
};

}  // namespace berth::server
