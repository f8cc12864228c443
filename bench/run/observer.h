// Who looks on while a workload is replayed: gets a record per evaluation, with the time of its stages. Without one a
// run marks nothing.
#pragma once

#include <array>
#include <cstdint>

#include "base/stages.h"
#include "run/result.h"

namespace berth::run {

/// One evaluation from its due time to its end. Times in ns on the run's clock, stages in ticks.
struct EvalRecord {
  std::uint64_t number =
      0;  ///< of its job in the order of arrival, from 1; of its cell for nomad-grid; its own in a life
  std::uint32_t round = 0;    ///< how often it was unblocked; the repetition for nomad-grid
  std::uint32_t lane = 0;     ///< which clock its stages were marked on
  std::uint32_t applier = 0;  ///< on which its plan was applied
  std::int64_t due_ns = 0, started_ns = 0, decided_ns = 0, applying_ns = 0, done_ns = 0;  ///< applying 0: no plan
  std::uint32_t attempts = 0, placed = 0, failed = 0, refused = 0, evicted = 0;
  std::uint32_t candidates = 0;  ///< nodes that its job may use
  bool detailed = false;
  bool first_of_lane = false;  ///< nothing was in the lane's memory yet
  Work work;
  base::StageClock::Counts ticks{}, marks{};
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// The clock of a new lane, which lives as long as the observer; null: nothing is marked. Lanes are numbered in the
  /// order of these calls, from 0, the run's own thread first.
  virtual base::StageClock* new_clock() = 0;
  /// Whether Selects of an evaluation are to be marked inside. Any thread.
  virtual bool detailed(std::uint64_t number, std::uint32_t round) = 0;
  /// Around what one event of a run with one worker costs; false: it is not to be marked.
  virtual bool begin() { return true; }
  virtual void end() {}
  /// The evaluation is over. One call at a time.
  virtual void evaluation(const EvalRecord& record) = 0;
  /// Nothing more is of interest: the run ends.
  virtual bool finished() { return false; }
};

}  // namespace berth::run
