// Measures where the time of an evaluation goes: one clock per worker adds up the time between marks.
//
// A thread that is measured has a StageClock in `stage_clock`; without one a mark is one predictable branch on a null
// pointer. Time belongs to exactly one stage at any moment: a StageScope enters its stage and goes back to the one
// before, so nested stages exclude each other and the sums add up. A mark is one read of the time-stamp counter.
//
// The steps per candidate node are too short to be timed each time. So most evaluations count all their Selects as
// one stage, `place`. One evaluation in N is *detailed*: each Select marks where checking nodes ends and scoring
// begins. Reports divide `place` by the shares found in the detailed ones. The number of marks is counted, so that
// the cost of the marks can be subtracted.
//
// A clock also records which locks its thread holds or waits for (Locks), so that each stage's time divides into work
// that several workers do at once and work that they do one after the other.
//
// Threads: a clock belongs to one thread at a time. A thread that reads it must first synchronise with that thread.
#pragma once

#include <array>
#include <cstdint>
#if !defined(__x86_64__)
#include <chrono>
#endif

namespace berth::base {

enum class Stage : std::uint8_t {
  idle,       ///< nothing to do
  wait,       ///< for the applier, or for a decision made ahead
  harness,    ///< outside the engine: the run's own bookkeeping
  dequeue,    ///< the broker: take, ack
  snapshot,   ///< taking and releasing one
  compile,    ///< a job at registration: constraints, targets and requests to ids and columns
  reconcile,  ///< compare the wanted with the present allocations
  order,      ///< candidate nodes and their visiting order
  place,      ///< all Selects and writing their plan, if the evaluation is not detailed
  filter,     ///< detailed: checks of nodes
  rank,       ///< detailed: fit and scores of the nodes that passed
  preempt,    ///< second passes: choose allocations to evict
  plan,       ///< detailed: write allocations, metrics and node use into the plan
  check,      ///< the applier: checks that every node still has room
  commit,     ///< the applier: writes the tables
};
inline constexpr std::size_t kStages = 15;

[[nodiscard]] constexpr const char* to_text(Stage stage) {
  constexpr const char* kNames[kStages] = {"idle",    "wait",      "harness", "dequeue", "snapshot",
                                           "compile", "reconcile", "order",   "place",   "filter",
                                           "rank",    "preempt",   "plan",    "check",   "commit"};
  return kNames[static_cast<std::size_t>(stage)];
}

/// What a thread holds of that which only one worker may have at a time, or waits for: the server's Turn (the right to
/// change the state) and the mutex of the tables. A commit holds both, which counts as `turn`.
enum class Locks : std::uint8_t {
  none,
  turn_wait,        ///< waits for the Turn
  turn,             ///< holds the Turn
  turn_table_wait,  ///< holds the Turn, and waits for the tables
  table_wait,       ///< waits for the tables
  tables,           ///< holds the tables alone, to bring a worker's view up to date
};
inline constexpr std::size_t kLocks = 6;

/// Ticks of the time-stamp counter if there is one, else nanoseconds; the caller must calibrate the length of a tick.
/// Not serialising: neighbouring instructions may overlap by a few nanoseconds.
[[nodiscard]] inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // the intrinsic __rdtsc() would pull the header of all vector instructions into every
                                  // file
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

class StageClock {
 public:
  /// Ends the current stage and begins `stage`; returns the one that ended.
  Stage enter(Stage stage) noexcept {
    const std::uint64_t now = read_ticks();
    const auto ended = static_cast<std::size_t>(current_);
    ticks_[ended] += now - last_;
    ++marks_[ended];
    if (locks_ != Locks::none) {
      const auto locks = static_cast<std::size_t>(locks_);
      locked_ticks_[locks][ended] += now - last_;
      ++locked_marks_[locks][ended];
    }
    last_ = now;
    const Stage before = current_;
    current_ = stage;
    return before;
  }
  /// Starts the clock in `stage`, discarding marks since the end of the last evaluation.
  void start(Stage stage) noexcept {
    last_ = read_ticks();
    current_ = stage;
  }
  /// Adds the time of the current stage up to now.
  void flush() noexcept { enter(current_); }

  /// From now on time counts as spent with `locks`, in the same stage; returns the value before.
  Locks set_locks(Locks locks) noexcept {
    flush();
    const Locks before = locks_;
    locks_ = locks;
    return before;
  }

  /// If true, each Select marks its stages too. Call between evaluations.
  void set_detailed(bool detailed) noexcept { detailed_ = detailed; }
  [[nodiscard]] bool detailed() const noexcept { return detailed_; }
  [[nodiscard]] Locks locks() const noexcept { return locks_; }

  using Counts = std::array<std::uint64_t, kStages>;
  [[nodiscard]] const Counts& ticks() const noexcept { return ticks_; }
  [[nodiscard]] const Counts& marks() const noexcept { return marks_; }  ///< how often each stage ended
  /// The part of ticks() and marks() that was spent with these locks; zeros for `none`.
  [[nodiscard]] const Counts& locked_ticks(Locks locks) const noexcept {
    return locked_ticks_[static_cast<std::size_t>(locks)];
  }
  [[nodiscard]] const Counts& locked_marks(Locks locks) const noexcept {
    return locked_marks_[static_cast<std::size_t>(locks)];
  }

 private:
  Counts ticks_{}, marks_{};
  std::array<Counts, kLocks> locked_ticks_{}, locked_marks_{};
  std::uint64_t last_ = read_ticks();
  Stage current_ = Stage::idle;
  Locks locks_ = Locks::none;
  bool detailed_ = false;
};

/// The clock of this thread's worker; null: not measured.
inline constinit thread_local StageClock* stage_clock = nullptr;

/// Sends this thread's marks to `clock` while the object lives; null: discards them.
class UseStageClock {
 public:
  explicit UseStageClock(StageClock* clock) noexcept : before_(stage_clock) { stage_clock = clock; }
  ~UseStageClock() { stage_clock = before_; }
  UseStageClock(const UseStageClock&) = delete;
  UseStageClock& operator=(const UseStageClock&) = delete;

 private:
  StageClock* before_;
};

/// Enters a stage for as long as the object lives.
class StageScope {
 public:
  explicit StageScope(Stage stage) noexcept : StageScope(stage_clock, stage) {}
  /// With a clock that the caller has looked up, or null.
  StageScope(StageClock* clock, Stage stage) noexcept : clock_(clock) {
    if (clock_) before_ = clock_->enter(stage);
  }
  ~StageScope() {
    if (clock_) clock_->enter(before_);
  }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  StageClock* clock_;
  Stage before_ = Stage::idle;
};

/// Counts time with `locks` for as long as the object lives.
class LocksScope {
 public:
  explicit LocksScope(Locks locks) noexcept : clock_(stage_clock) {
    if (clock_) before_ = clock_->set_locks(locks);
  }
  ~LocksScope() {
    if (clock_) clock_->set_locks(before_);
  }
  LocksScope(const LocksScope&) = delete;
  LocksScope& operator=(const LocksScope&) = delete;

 private:
  StageClock* clock_;
  Locks before_ = Locks::none;
};

/// Returns the clock if Selects must mark their stages, else null.
[[nodiscard]] inline StageClock* detailed_clock() noexcept {
  return stage_clock && stage_clock->detailed() ? stage_clock : nullptr;
}

/// The stage of an evaluation's placing: `plan`, interrupted by the stages of its Selects, or `place` for everything.
[[nodiscard]] inline Stage placing_stage() noexcept { return detailed_clock() ? Stage::plan : Stage::place; }

}  // namespace berth::base
