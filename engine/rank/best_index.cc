#include "rank/best_index.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::rank {

namespace {

/// The largest of a block; no score is NaN, so the order of comparisons does not matter.
double largest(const double* block) noexcept {
  double a[4];
  for (int i = 0; i < 4; ++i) a[i] = block[i] > block[i + 4] ? block[i] : block[i + 4];
  const double b = a[0] > a[2] ? a[0] : a[2], c = a[1] > a[3] ? a[1] : a[3];
  return b > c ? b : c;
}

}  // namespace

void BestIndex::build(std::span<const double> scores) {
  size_ = static_cast<std::uint32_t>(scores.size());
  pushed_.clear();
  level_count_ = 0;
  std::size_t count = std::max<std::size_t>(1, scores.size());
  for (;;) {
    const std::size_t padded = (count + kFan - 1) / kFan * kFan;
    if (levels_.size() == level_count_) levels_.emplace_back();
    std::vector<double>& level = levels_[level_count_];
    level.assign(padded, kAbsent);
    if (level_count_ == 0)
      std::copy(scores.begin(), scores.end(), level.begin());
    else
      for (std::size_t i = 0; i < count; ++i) level[i] = largest(&levels_[level_count_ - 1][i * kFan]);
    ++level_count_;
    if (padded == kFan) return;
    count = padded / kFan;
  }
}

void BestIndex::set(std::uint32_t i, double score) noexcept {
  BERTH_DEBUG_ASSERT(i < size_ && !(score != score));
  while (!pushed_.empty() && pushed_.back().i >= i) pushed_.pop_back();
  levels_[0][i] = score;
  for (std::size_t level = 1; level < level_count_; ++level) {
    const double most = largest(&levels_[level - 1][i / kFan * kFan]);
    i /= kFan;
    if (levels_[level][i] == most) return;
    levels_[level][i] = most;
  }
}

BestIndex::Best BestIndex::best() const noexcept {
  const double most = largest(levels_[level_count_ - 1].data());
  if (most == kAbsent) return {size_, kAbsent};
  std::uint32_t i = 0;
  for (std::size_t level = level_count_; level-- > 0;) {
    i *= kFan;
    while (levels_[level][i] != most) ++i;
  }
  return {i, most};
}

std::uint32_t BestIndex::next_above(std::uint32_t from, double floor) const noexcept {
  std::size_t level = 0;
  for (std::uint32_t i = from;;) {
    const std::vector<double>& scores = levels_[level];
    if (i >= scores.size()) return size_;
    const std::uint32_t end = (i / kFan + 1) * kFan;
    while (i < end && !(scores[i] > floor)) ++i;
    if (i < end) {  // down, to the first such score
      for (; level > 0; --level) {
        i *= kFan;
        while (!(levels_[level - 1][i] > floor)) ++i;
      }
      return i;
    }
    i = end / kFan;  // up, behind this block
    if (++level == level_count_) return size_;
  }
}

const TopScores& BestIndex::top() noexcept {
  TopScores now = pushed_.empty() ? none_ : pushed_.back().after;
  std::uint32_t from = pushed_.empty() ? 0 : pushed_.back().i + 1;
  // Before the list is full the floor is -infinity, which absent scores do not exceed.
  while ((from = next_above(from, now.floor())) < size_) {
    now.push(from, levels_[0][from]);
    pushed_.push_back({from, now});
    ++from;
  }
  return pushed_.empty() ? none_ : pushed_.back().after;
}

}  // namespace berth::rank
