// Where the time of an evaluation goes: a clock per worker that adds up the time between marks.
//
// A thread that is measured has a StageClock in `stage_clock`; without one a mark is one predictable branch on a null
// pointer. Time belongs to exactly one stage at any moment: a StageScope enters its stage and goes back to the one
// before, so nested stages exclude each other and the sums add up. A mark is one read of the time-stamp counter.
//
// What goes on per candidate node is too short to be timed each time. So most evaluations mark their Selects as one,
// `place`; one evaluation in so many is *detailed*: there each Select marks where checking nodes ends and scoring them
// begins. The shares within the detailed ones are what the reports divide `place` by; counts of marks are kept, so that
// what the marks themselves cost can be taken off.
//
// Threads: a clock belongs to one thread at a time. Whoever reads it has synchronised with that thread.
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
  harness,    ///< what surrounds the engine: the run's own books
  dequeue,    ///< the broker: take, ack
  snapshot,   ///< taking and letting go of one
  compile,    ///< a job at registration: constraints, targets and asks to ids and columns
  reconcile,  ///< wanted against present
  order,      ///< candidate nodes and their visiting order
  place,      ///< all Selects and the writing of their plan, where the evaluation is not detailed
  filter,     ///< detailed: checks of nodes
  rank,       ///< detailed: fit and scores of the nodes that passed
  preempt,    ///< second passes: whom to evict
  plan,       ///< detailed: allocations, metrics and use of the nodes into the plan
  check,      ///< the applier: does every node still hold it
  commit,     ///< the applier: into the tables
};
inline constexpr std::size_t kStages = 15;

[[nodiscard]] constexpr const char* to_text(Stage stage) {
  constexpr const char* kNames[kStages] = {"idle",    "wait",      "harness", "dequeue", "snapshot",
                                           "compile", "reconcile", "order",   "place",   "filter",
                                           "rank",    "preempt",   "plan",    "check",   "commit"};
  return kNames[static_cast<std::size_t>(stage)];
}

/// Ticks of the time-stamp counter where there is one, else nanoseconds; how long a tick is, is for the caller to find
/// out. Not serialising: instructions around it may overlap by a few nanoseconds.
[[nodiscard]] inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // __rdtsc() by its name costs every file the header of all vector instructions
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
    last_ = now;
    const Stage before = current_;
    current_ = stage;
    return before;
  }
  /// From now on, as if nothing had been marked before the last evaluation's end.
  void start(Stage stage) noexcept {
    last_ = read_ticks();
    current_ = stage;
  }
  /// Counts the stage under way up to now.
  void flush() noexcept { enter(current_); }

  /// Whether Selects are marked inside, from the next evaluation on.
  void set_detailed(bool detailed) noexcept { detailed_ = detailed; }
  [[nodiscard]] bool detailed() const noexcept { return detailed_; }

  using Counts = std::array<std::uint64_t, kStages>;
  [[nodiscard]] const Counts& ticks() const noexcept { return ticks_; }
  [[nodiscard]] const Counts& marks() const noexcept { return marks_; }  ///< how often each stage ended

 private:
  Counts ticks_{}, marks_{};
  std::uint64_t last_ = read_ticks();
  Stage current_ = Stage::idle;
  bool detailed_ = false;
};

/// The clock of this thread's worker; null: nobody measures.
inline constinit thread_local StageClock* stage_clock = nullptr;

/// Marks go to `clock` while this lives; null: nowhere.
class UseStageClock {
 public:
  explicit UseStageClock(StageClock* clock) noexcept : before_(stage_clock) { stage_clock = clock; }
  ~UseStageClock() { stage_clock = before_; }
  UseStageClock(const UseStageClock&) = delete;
  UseStageClock& operator=(const UseStageClock&) = delete;

 private:
  StageClock* before_;
};

/// A stage as long as this lives.
class StageScope {
 public:
  explicit StageScope(Stage stage) noexcept : StageScope(stage_clock, stage) {}
  /// With a clock that was looked up before, or null.
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

/// The clock if Selects are to be marked inside, else null.
[[nodiscard]] inline StageClock* detailed_clock() noexcept {
  return stage_clock && stage_clock->detailed() ? stage_clock : nullptr;
}

/// What the placing of an evaluation is marked as: `plan`, interrupted by the stages of its Selects, or all as one.
[[nodiscard]] inline Stage placing_stage() noexcept { return detailed_clock() ? Stage::plan : Stage::place; }

}  // namespace berth::base
