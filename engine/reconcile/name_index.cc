#include "reconcile/name_index.h"

#include <algorithm>
#include <bit>

namespace berth::reconcile {

NameIndex::NameIndex(std::span<const std::uint32_t> used, std::uint32_t count) : count_(count) {
  std::uint32_t max = 0;
  for (const std::uint32_t index : used) max = std::max(max, std::min(index, kMaxIndex));
  const std::uint32_t least = std::min(std::max(count, static_cast<std::uint32_t>(used.size())), kMaxIndex);
  if (max < least)
    max = least;
  else if (max % 8 == 0)
    ++max;
  size_bits_ = (max + 7) / 8 * 8;
  words_.resize((size_bits_ + 63) / 64);
  for (std::uint32_t index : used) {
    index = std::min(index, kMaxIndex);
    std::uint64_t& word = words_[index / 64];
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    if ((word & bit) != 0) ++duplicates_[index];
    word |= bit;
  }
}

NameIndex NameIndex::first(std::uint32_t n) {
  NameIndex out;
  out.count_ = n;
  out.size_bits_ = (n + 7) / 8 * 8;
  out.words_.assign((n + 63) / 64, ~std::uint64_t{0});
  if (n % 64 != 0) out.words_.back() = (std::uint64_t{1} << n % 64) - 1;
  return out;
}

bool NameIndex::is_used(std::uint32_t index) const {
  return index < size_bits_ && (words_[index / 64] >> (index % 64) & 1) != 0;
}
void NameIndex::set(std::uint32_t index) {
  if (index < size_bits_) words_[index / 64] |= std::uint64_t{1} << (index % 64);
}
void NameIndex::clear(std::uint32_t index) {
  if (index < size_bits_) words_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
}

std::vector<std::uint32_t> NameIndex::used() const {
  std::vector<std::uint32_t> out;
  for (std::size_t word = 0; word < words_.size(); ++word)
    for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
      out.push_back(static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits)));
  return out;
}

std::vector<std::uint32_t> NameIndex::highest(std::size_t n) {
  std::vector<std::uint32_t> out;
  for (std::size_t word = words_.size(); word > 0 && out.size() < n; --word)
    while (words_[word - 1] != 0 && out.size() < n) {
      const auto bit = static_cast<std::uint32_t>(63 - std::countl_zero(words_[word - 1]));
      words_[word - 1] &= ~(std::uint64_t{1} << bit);
      out.push_back(static_cast<std::uint32_t>((word - 1) * 64) + bit);
    }
  return out;
}

std::vector<std::uint32_t> NameIndex::next(std::size_t n) {
  std::vector<std::uint32_t> out;
  out.reserve(n);
  for (std::uint32_t base = 0; base < count_ && out.size() < n; base += 64) {
    std::uint64_t free = ~words_[base / 64];
    if (count_ - base < 64) free &= (std::uint64_t{1} << (count_ - base)) - 1;
    for (; free != 0 && out.size() < n; free &= free - 1) {
      const std::uint32_t index = base + static_cast<std::uint32_t>(std::countr_zero(free));
      out.push_back(index);
      set(index);
    }
  }
  const std::size_t missing = n - out.size();
  for (std::uint32_t index = 0; index < missing; ++index) {
    out.push_back(index);
    set(index);
  }
  return out;
}

void NameIndex::unset(std::uint32_t index, const model::Quirks& quirks) {
  index = std::min(index, kMaxIndex);
  const auto entry = duplicates_.find(index);
  if (entry == duplicates_.end())
    clear(index);
  else if (entry->second == 1)
    duplicates_.erase(entry);
  else if (!quirks.duplicate_count_kept)  // Nomad does not store a count that stays above 0
    --entry->second;
}

std::vector<std::uint32_t> NameIndex::next_canaries(std::size_t n, std::span<const std::uint32_t> existing,
                                                    std::span<const std::uint32_t> destructive) {
  std::vector<std::uint32_t> out;
  // The number is checked only after taking an index, so n = 0 takes all below the count.
  const auto take = [&](std::uint32_t index) {
    if (std::binary_search(existing.begin(), existing.end(), index)) return false;
    out.push_back(index);
    set(index);
    return out.size() == n;
  };
  const NameIndex replaced(destructive, count_);
  for (std::uint32_t index = 0; index < count_; ++index)
    if (replaced.is_used(index) && take(index)) return out;
  for (std::uint32_t index = 0; index < count_; ++index)
    if (!is_used(index) && take(index)) return out;
  for (std::uint32_t index = count_; out.size() < n; ++index) out.push_back(index);
  return out;
}

}  // namespace berth::reconcile
