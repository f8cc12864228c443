#include "profile/recorder.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/random.h"

namespace berth::profile {

using base::kStages;
using base::Stage;

namespace {

constexpr std::size_t kChunk = 4096;

bool slower(const Sample& a, const Sample& b) {
  if (a.service_ns() != b.service_ns()) return a.service_ns() > b.service_ns();
  return std::pair(a.number, a.round) < std::pair(b.number, b.round);
}

}  // namespace

Calibration calibrate() {
  using Steady = std::chrono::steady_clock;
  Calibration out;
  // Cost of a mark: the least of several runs, because other programs may use the processor.
  constexpr int kMarks = 4096;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  const auto began = Steady::now();
  const std::uint64_t first = base::read_ticks();
  for (int run = 0; run < 16; ++run) {
    base::StageClock clock;
    const std::uint64_t start = base::read_ticks();
    for (int i = 0; i < kMarks / 2; ++i) {
      clock.enter(Stage::filter);
      clock.enter(Stage::rank);
    }
    least = std::min(least, base::read_ticks() - start);
  }
  while (Steady::now() - began < std::chrono::milliseconds(20)) {
  }
  const std::uint64_t ticks = base::read_ticks() - first;
  const double ns = std::chrono::duration<double, std::nano>(Steady::now() - began).count();
  out.ns_per_tick = ticks == 0 ? 1 : ns / static_cast<double>(ticks);
  out.mark_ns = static_cast<double>(least) / kMarks * out.ns_per_tick;
  return out;
}

Recorder::Recorder(const Calibration& calibration, const RecorderOptions& options)
    : calibration_(calibration), options_(options), latency_(kStages) {}

base::StageClock* Recorder::new_clock() {
  const std::scoped_lock lock(mutex_);
  return &clocks_.emplace_back().clock;
}

bool Recorder::detailed(std::uint64_t number, std::uint32_t round) {
  if (options_.only) return std::pair(number, round) == *options_.only;
  if (!options_.among.empty()) return options_.among.contains({number, round});
  // By number, not by a count, so that the same evaluations are detailed in every run.
  return options_.detail_every <= 1 || base::mix64(number * 0x9e3779b97f4a7c15ULL + round) % options_.detail_every == 0;
}

void Recorder::evaluation(const run::EvalRecord& r) {
  if (options_.only) {
    if (done_ || std::pair(r.number, r.round) != *options_.only) return;
    done_ = true;
  }
  if (!options_.among.empty()) {
    if (done_ || !options_.among.contains({r.number, r.round})) return;
    done_ = ++seen_ == options_.among.size();
  }
  Sample s;
  s.number = static_cast<std::uint32_t>(r.number), s.round = r.round;
  s.lane = static_cast<std::uint16_t>(r.lane), s.applier = static_cast<std::uint16_t>(r.applier);
  s.detailed = r.detailed, s.first_of_lane = r.first_of_lane;
  s.due_ns = r.due_ns, s.started_ns = r.started_ns, s.decided_ns = r.decided_ns;
  s.applying_ns = r.applying_ns, s.done_ns = r.done_ns;
  s.attempts = r.attempts, s.placed = r.placed, s.failed = r.failed, s.refused = r.refused, s.evicted = r.evicted;
  s.candidates = r.candidates;
  s.evaluated = static_cast<std::uint32_t>(r.work.nodes_evaluated);
  s.filtered = static_cast<std::uint32_t>(r.work.nodes_filtered);
  s.exhausted = static_cast<std::uint32_t>(r.work.nodes_exhausted);
  s.constraint_evaluations = static_cast<std::uint32_t>(r.work.constraint_evaluations);
  for (std::size_t i = 0; i < kStages; ++i) {
    const double ns = static_cast<double>(r.ticks[i]) * calibration_.ns_per_tick -
                      static_cast<double>(r.marks[i]) * calibration_.mark_ns;
    s.stage_ns[i] = static_cast<float>(std::max(0.0, ns));
  }
  add(s);
}

void Recorder::add(const Sample& sample) {
  if (chunks_.empty() || chunks_.back().size() == kChunk) {
    if (chunks_.size() == kSamplesMax / kChunk) {
      fold(chunks_.front());
      chunks_.pop_front();
    }
    chunks_.emplace_back().reserve(kChunk);
  }
  chunks_.back().push_back(sample);
}

void Recorder::finish() {
  for (const std::vector<Sample>& chunk : chunks_) fold(chunk);
  chunks_.clear();
  std::sort(slowest_.begin(), slowest_.end(), slower);
}

void Recorder::fold(const std::vector<Sample>& samples) {
  for (const Sample& s : samples) {
    ++sums_.evaluations;
    sums_.detailed += s.detailed;
    sums_.attempts += s.attempts, sums_.placed += s.placed, sums_.failed += s.failed, sums_.refused += s.refused;
    sums_.evicted += s.evicted, sums_.candidates += s.candidates, sums_.evaluated += s.evaluated;
    const std::uint32_t reached = std::min(s.evaluated, s.candidates);
    sums_.reached += reached;
    if (s.evaluated > 0)
      sums_.reached_passed += static_cast<std::uint64_t>(reached) * (s.evaluated - s.filtered) / s.evaluated;
    sums_.filtered += s.filtered;
    if (s.detailed) sums_.detailed_evaluated += s.evaluated;
    service_.record(s.service_ns());
    for (std::size_t i = 0; i < kStages; ++i) {
      const float ns = s.stage_ns[i];
      sums_.stage_ns[i] += static_cast<double>(ns);
      if (s.detailed) sums_.detailed_ns[i] += static_cast<double>(ns);
      if (ns <= 0) continue;
      if (!inside_place(static_cast<Stage>(i)) || s.detailed) latency_[i].record(static_cast<std::int64_t>(ns + 0.5F));
    }
    if (options_.keep_samples && kept_.size() < kSamplesMax) kept_.push_back(s);
    if (options_.slowest == 0) continue;
    if (slowest_.size() < options_.slowest) {
      slowest_.push_back(s);
      std::push_heap(slowest_.begin(), slowest_.end(), slower);
    } else if (slower(s, slowest_.front())) {
      std::pop_heap(slowest_.begin(), slowest_.end(), slower);
      slowest_.back() = s;
      std::push_heap(slowest_.begin(), slowest_.end(), slower);
    }
  }
}

std::array<double, kStages> Recorder::totals() const {
  std::array<double, kStages> out{};
  for (const Clock& c : clocks_)
    for (std::size_t i = 0; i < kStages; ++i)
      out[i] += std::max(0.0, static_cast<double>(c.clock.ticks()[i]) * calibration_.ns_per_tick -
                                  static_cast<double>(c.clock.marks()[i]) * calibration_.mark_ns);
  return out;
}

std::array<std::array<double, kStages>, base::kLocks> Recorder::by_locks(std::size_t clock) const {
  const base::StageClock& of = clocks_[clock].clock;
  base::StageClock::Counts free_ticks = of.ticks(), free_marks = of.marks();
  std::array<std::array<double, kStages>, base::kLocks> out{};
  const auto ns_of = [&](std::uint64_t ticks, std::uint64_t marks) {
    return std::max(
        0.0, static_cast<double>(ticks) * calibration_.ns_per_tick - static_cast<double>(marks) * calibration_.mark_ns);
  };
  for (std::size_t l = 1; l < base::kLocks; ++l)
    for (std::size_t s = 0; s < kStages; ++s) {
      const std::uint64_t ticks = of.locked_ticks(static_cast<base::Locks>(l))[s];
      const std::uint64_t marks = of.locked_marks(static_cast<base::Locks>(l))[s];
      out[l][s] = ns_of(ticks, marks);
      free_ticks[s] -= ticks, free_marks[s] -= marks;
    }
  for (std::size_t s = 0; s < kStages; ++s)
    out[static_cast<std::size_t>(base::Locks::none)][s] = ns_of(free_ticks[s], free_marks[s]);
  return out;
}

std::vector<std::pair<base::Stage, double>> Recorder::mean_stages() const {
  std::vector<std::pair<Stage, double>> out;
  const auto ns = totals();
  for (std::size_t i = 0; i < kStages; ++i)
    if (const auto stage = static_cast<Stage>(i); of_evaluation(stage) && stage != Stage::wait && ns[i] > 0)
      out.emplace_back(stage, ns[i] / static_cast<double>(std::max<std::uint64_t>(1, sums_.evaluations)));
  return out;
}

}  // namespace berth::profile
