// The five best scored nodes of a Select, in the order of the reference's heap (R-RANK-1006 to 1008, R-MODEL-566, 567).
// All comparisons are strict "less": a NaN stays where it is, and equal scores do not come out in visiting order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace berth::rank {

struct ScoredNode {
  std::uint32_t id;  ///< chosen by the caller: a node row, or an index into its records
  double score;
};

class TopScores {
 public:
  static constexpr std::size_t kCapacity = 5;

  void clear() noexcept { size_ = 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Offers one scored node, in scoring order.
  void push(std::uint32_t id, double score) noexcept {
    if (size_ == kCapacity) {
      if (!(heap_[0].score < score)) return;
      heap_[0] = {id, score};
      sink(kCapacity);
      return;
    }
    std::size_t i = size_++;
    heap_[i] = {id, score};
    for (std::size_t parent; i > 0 && heap_[i].score < heap_[parent = (i - 1) / 2].score; i = parent)
      std::swap(heap_[i], heap_[parent]);
  }

  /// A score must be above this to be kept; -infinity while there is room.
  [[nodiscard]] double floor() const noexcept {
    return size_ < kCapacity ? -std::numeric_limits<double>::infinity() : heap_[0].score;
  }
  /// True if push() would keep this score now. Lets the caller skip building a record.
  [[nodiscard]] bool would_keep(double score) const noexcept { return size_ < kCapacity || heap_[0].score < score; }

  /// The list, best first; empties the heap. The span is valid until the next push.
  [[nodiscard]] std::span<const ScoredNode> take() noexcept {
    const std::size_t n = size_;
    for (; size_ > 1; --size_) {  // the k-th extracted node moves to position n-k, its place in the list
      std::swap(heap_[0], heap_[size_ - 1]);
      sink(size_ - 1);
    }
    size_ = 0;
    return {heap_.data(), n};
  }

 private:
  void sink(std::size_t size) noexcept {
    for (std::size_t i = 0, child; (child = 2 * i + 1) < size; i = child) {
      if (child + 1 < size && heap_[child + 1].score < heap_[child].score) ++child;
      if (!(heap_[child].score < heap_[i].score)) return;
      std::swap(heap_[i], heap_[child]);
    }
  }

  std::array<ScoredNode, kCapacity> heap_{};
  std::size_t size_ = 0;
};

}  // namespace berth::rank
