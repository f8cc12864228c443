// Decides evaluations again, in ways that must not matter, and reports each difference: by the general source alone,
// and on tables loaded again from the state that was decided on. What a worker or the tables cache from evaluation to
// evaluation, and is stale, shows as a difference. For `--shadow` of run and serve, and for random lives.
//
// Compared are the first attempt's plan and failures with all metrics, as text; metrics that were deferred are left
// out. Decisions made ahead are compared with those on the state of their turn.
// Threads: lane_made() the driver's; decided() the lane's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "server/config.h"
#include "server/lane.h"
#include "tables/state.h"

namespace berth::server {

class Shadow final : public Listener {
 public:
  /// Called with each difference, one call at a time.
  using Problem = std::function<void(std::string)>;

  /// Every evaluation whose turn is a multiple of `every` is decided again. `config`: the server's.
  Shadow(const Config& config, std::uint64_t every, Problem problem);
  ~Shadow() override;

  void lane_made(Lane& lane) override;
  void decided(Lane& lane) override;

  /// Evaluations decided again so far, and differences found.
  [[nodiscard]] std::uint64_t checked() const { return checked_.load(); }
  [[nodiscard]] std::uint64_t different() const { return different_.load(); }

 private:
  struct Second;
  void report(std::string text);

  const rank::OrderProvider order_;
  const bool exhaustive_;
  const std::uint64_t every_;
  const Problem problem_;
  std::vector<std::unique_ptr<Second>> seconds_;  // by number of the lane
  std::atomic<std::uint64_t> turn_{0}, checked_{0}, different_{0};
  std::mutex reporting_;
};

/// All that a scheduler hands out in words, for comparing two of them.
class Words final : public sched::Planner {
 public:
  /// `refuses`: the first plan is refused as a whole. `with_metrics`: also those of placements.
  Words(const sched::Scratch& scratch, const model::Evaluation& eval, std::int64_t now_ns, bool refuses = false,
        bool with_metrics = true)
      : scratch_(scratch), eval_(eval), now_ns_(now_ns), refuses_(refuses), with_metrics_(with_metrics) {}

  sched::Submission submit(const sched::EvalResult& result) override;
  std::string create(const sched::EvalResult& result, const sched::CreatedEval& created) override;
  /// The final status; also the plan, where none was submitted.
  [[nodiscard]] std::string finish(const sched::EvalResult& result);
  /// The plan so far.
  void write(const sched::EvalResult& result);
  /// Groups that failed so far, and which classes it is worth to try again (R-FEAS-1701).
  void write_failures(const sched::EvalResult& result);
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  template <class Object>
  void line(std::string_view what, const Object& object);

  const sched::Scratch& scratch_;
  const model::Evaluation& eval_;
  std::int64_t now_ns_;
  bool refuses_, with_metrics_;
  std::string text_;
};

/// Where two texts of Words differ, in one line.
[[nodiscard]] std::string difference(const model::Evaluation& eval, std::string_view one_way, const std::string& one,
                                     std::string_view other_way, const std::string& other);

}  // namespace berth::server
