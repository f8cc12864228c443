// PolicyQueue: ready evaluations in the order of a queue policy, in place of Nomad's order by priority (R-CTRL-310).
//
// Each evaluation waits in a line. The line with the least share is served first; within a line, the evaluation with
// the least key, then the one whose job arrived first, then the oldest. A policy with one line, of share 0, orders by
// key alone. Core evaluations come before all others, as in Nomad, whose priority for them is above that of any job.
//
//   lines    per line its share, and one heap per queue, by (key, number, create index)
//   firsts   per queue the first evaluation of every line that has one, by (share, key, number, create index)
//
// Cost: push, pop and set_share take O(log evaluations + log lines). Threads: one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/heap.h"
#include "broker/eval.h"

namespace berth::tables {
class StateStore;
}

namespace berth::broker {

/// Position of an evaluation in the order.
struct Place {
  std::uint32_t line = 0;    ///< lines are numbered from 0 without gaps
  double key = 0;            ///< the least is served first; not NaN
  std::uint64_t number = 0;  ///< of the job, in the order of arrival
};

/// A queue policy as the broker sees it.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  /// Called once, before place(), by the server that owns the state.
  virtual void attach(const tables::StateStore&) {}
  /// Called whenever an evaluation becomes ready.
  [[nodiscard]] virtual Place place(const Eval& eval) = 0;
};

class PolicyQueue {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }

  void push(const Eval& eval, Queue queue, const Place& place) {
    const auto q = static_cast<std::size_t>(queue);
    if (place.line >= lines_.size()) lines_.resize(place.line + std::size_t{1});
    std::vector<Waiting>& heap = lines_[place.line].heaps[q];
    const Waiting waiting{place.key, place.number, eval};
    const bool is_first = heap.empty() || before(waiting, heap.front());
    if (is_first && !heap.empty()) firsts_[q].erase(first_of(place.line, q));
    base::heap_push(heap, waiting, before);
    if (is_first) firsts_[q].insert(first_of(place.line, q));
    ++size_;
  }

  /// The next evaluation of these queues, and its queue. On a tie the first queue wins.
  std::optional<std::pair<Eval, Queue>> pop(QueueSet queues) {
    std::size_t best = kQueueCount;
    for (std::size_t q = 0; q < kQueueCount; ++q) {
      if (!(queues >> q & 1) || firsts_[q].empty()) continue;
      if (best == kQueueCount || q == static_cast<std::size_t>(Queue::core) ||
          *firsts_[q].begin() < *firsts_[best].begin())
        best = q;
      if (q == static_cast<std::size_t>(Queue::core)) break;
    }
    if (best == kQueueCount) return std::nullopt;
    const std::uint32_t line = firsts_[best].begin()->line;
    std::vector<Waiting>& heap = lines_[line].heaps[best];
    auto node = firsts_[best].extract(firsts_[best].begin());
    const Eval out = base::heap_pop(heap, before).eval;
    if (!heap.empty()) node.value() = first_of(line, best), firsts_[best].insert(std::move(node));
    --size_;
    return std::pair(out, static_cast<Queue>(best));
  }

  /// Not NaN.
  void set_share(std::uint32_t line, double share) {
    if (line >= lines_.size()) lines_.resize(line + std::size_t{1});
    if (lines_[line].share == share) return;
    for (std::size_t q = 0; q < kQueueCount; ++q)
      if (!lines_[line].heaps[q].empty()) firsts_[q].erase(first_of(line, q));
    lines_[line].share = share;
    for (std::size_t q = 0; q < kQueueCount; ++q)
      if (!lines_[line].heaps[q].empty()) firsts_[q].insert(first_of(line, q));
  }

  /// Removes all evaluations; shares stay.
  void clear() {
    for (auto& firsts : firsts_) firsts.clear();
    for (Line& line : lines_)
      for (auto& heap : line.heaps) heap.clear();
    size_ = 0;
  }

  /// Appends the evaluations of a queue, line by line in the order of the heaps' arrays.
  void list(Queue queue, std::vector<EvalRow>& out) const {
    for (const Line& line : lines_)
      for (const Waiting& waiting : line.heaps[static_cast<std::size_t>(queue)]) out.push_back(waiting.eval.row);
  }

 private:
  struct Waiting {
    double key;
    std::uint64_t number;
    Eval eval;
  };
  struct Line {
    double share = 0;
    std::array<std::vector<Waiting>, kQueueCount> heaps;
  };
  struct First {
    double share, key;
    std::uint64_t number, create_index;
    std::uint32_t line;
    bool operator<(const First& other) const {
      return std::tie(share, key, number, create_index, line) <
             std::tie(other.share, other.key, other.number, other.create_index, other.line);
    }
  };
  static bool before(const Waiting& a, const Waiting& b) {
    return std::tie(a.key, a.number, a.eval.create_index) < std::tie(b.key, b.number, b.eval.create_index);
  }
  [[nodiscard]] First first_of(std::uint32_t line, std::size_t queue) const {
    const Waiting& first = lines_[line].heaps[queue].front();
    return {lines_[line].share, first.key, first.number, first.eval.create_index, line};
  }

  std::vector<Line> lines_;
  std::array<std::set<First>, kQueueCount> firsts_;
  std::size_t size_ = 0;
};

}  // namespace berth::broker
