// Observer of a replay: gets a record per evaluation, with the time of its stages. Without one a run marks no stages.
#pragma once

#include <array>
#include <cstdint>

#include "base/stages.h"
#include "run/result.h"
#include "tables/job_table.h"

namespace berth::run {

/// One evaluation from its due time to its end. Times in ns on the run's clock, stages in ticks.
struct EvalRecord {
  std::uint64_t number = 0;   ///< of its job in order of arrival, from 1; nomad-grid: of its cell; simulation: its own
  std::uint32_t round = 0;    ///< number of unblocks; nomad-grid: the repetition
  std::uint32_t lane = 0;     ///< clock of its stages
  std::uint32_t applier = 0;  ///< clock on which its plan was applied
  std::int64_t due_ns = 0, started_ns = 0, decided_ns = 0, applying_ns = 0, done_ns = 0;  ///< applying 0: no plan
  std::uint32_t attempts = 0, placed = 0, failed = 0, refused = 0, evicted = 0;
  std::uint32_t candidates = 0;  ///< nodes that its job may use
  bool detailed = false;
  bool first_of_lane = false;  ///< the lane's memory was still new
  Work work;
  base::StageClock::Counts ticks{}, marks{};
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// The clock of a new lane, valid as long as the observer; null: stages are not marked. Lanes are numbered in the
  /// order of these calls, from 0, the run's own thread first.
  virtual base::StageClock* new_clock() = 0;
  /// True if the stages within Selects of an evaluation are to be marked. Called by any thread.
  virtual bool detailed(std::uint64_t number, std::uint32_t round) = 0;
  /// Called around one event of a run with one worker. False: do not mark it.
  virtual bool begin() { return true; }
  virtual void end() {}
  /// Called around the check and commit of each plan, one call at a time.
  virtual void committing(const tables::StateStore&) {}
  virtual void committed(const tables::StateStore&) {}
  /// An evaluation has ended. One call at a time.
  virtual void evaluation(const EvalRecord& record) = 0;
  /// True to end the run, because the observer needs no more.
  virtual bool finished() { return false; }
};

}  // namespace berth::run
