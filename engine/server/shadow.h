// Decides evaluations a second time, in ways that must not change the result, and reports each difference: by the
// general source alone, and on tables loaded again from the state of the decision. So a stale cache of a worker or of
// the tables shows up as a difference. For `--shadow` of run and serve, and for the tests with random simulations.
//
// It compares the first attempt's plan and failures with all metrics, as text; deferred metrics are left out. Decisions
// made ahead are compared with those on the state of their turn. Threads: lane_made() on the driver's thread; decided()
// on the lane's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sched/evaluation.h"
#include "server/config.h"
#include "tables/state.h"

namespace berth::sched {
struct Scratch;
}

namespace berth::server {

class Shadow final : public Listener {
 public:
  /// Receives each difference, one call at a time.
  using Problem = std::function<void(std::string)>;

  /// Every evaluation whose number is a multiple of `every` is decided again. `config`: the server's.
  Shadow(const Config& config, std::uint64_t every, Problem problem);
  ~Shadow() override;

  void lane_made(Lane& lane) override;
  void decided(Lane& lane) override;

  /// Number of evaluations decided again, and of differences found.
  [[nodiscard]] std::uint64_t checked() const { return checked_.load(); }
  [[nodiscard]] std::uint64_t different() const { return different_.load(); }

 private:
  struct Second;
  void report(std::string text);

  const rank::OrderProvider order_;
  const bool exhaustive_;
  const std::uint64_t every_;
  const Problem problem_;
  std::vector<std::unique_ptr<Second>> seconds_;  // by lane number
  std::atomic<std::uint64_t> turn_{0}, checked_{0}, different_{0};
  std::mutex reporting_;
};

/// Everything a scheduler outputs, as text, so that two of them can be compared.
class Words final : public sched::Planner {
 public:
  /// `refuses`: refuse the first plan as a whole. `with_metrics`: include those of placements.
  Words(const sched::Scratch& scratch, const model::Evaluation& eval, std::int64_t now_ns, bool refuses = false,
        bool with_metrics = true)
      : scratch_(scratch), eval_(eval), now_ns_(now_ns), refuses_(refuses), with_metrics_(with_metrics) {}

  sched::Submission submit(const sched::EvalResult& result) override;
  std::string create(const sched::EvalResult& result, const sched::CreatedEval& created) override;
  /// Adds the final status, and the plan if none was submitted.
  [[nodiscard]] std::string finish(const sched::EvalResult& result);
  /// Adds the plan so far.
  void write(const sched::EvalResult& result);
  /// Adds the groups that failed so far and the classes that are worth a retry (R-FEAS-1701).
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
