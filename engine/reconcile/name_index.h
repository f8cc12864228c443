// Used indexes of a group's allocation names (R-RECON-157 to 164).
//
// A bitmap in 64-bit words. Its nominal size, a multiple of 8, is part of the recorded behaviour. Indexes are numbers
// here and become names (`job.group[3]`) only for output.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/quirks.h"

namespace berth::reconcile {

class NameIndex {
 public:
  /// Larger indexes, from malformed names, share the last bit: no input text can make the bitmap use gigabytes.
  static constexpr std::uint32_t kMaxIndex = (1U << 26) - 1;

  NameIndex() = default;
  /// Built from the indexes in use, repetitions included, and the group's count (R-RECON-157 to 159).
  NameIndex(std::span<const std::uint32_t> used, std::uint32_t count);

  /// An index with 0 to n - 1 used once each and a count of n; n must not be 0.
  [[nodiscard]] static NameIndex first(std::uint32_t n);

  [[nodiscard]] std::uint32_t size_bits() const { return size_bits_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] bool is_used(std::uint32_t index) const;
  [[nodiscard]] std::vector<std::uint32_t> used() const;  ///< ascending
  [[nodiscard]] const std::map<std::uint32_t, std::uint32_t>& duplicates() const { return duplicates_; }
  [[nodiscard]] bool is_duplicate(std::uint32_t index) const { return duplicates_.contains(index); }

  /// Removes and returns the n highest used indexes, highest first (R-RECON-160).
  std::vector<std::uint32_t> highest(std::size_t n);
  /// Takes n free indexes below the count; if they run out, 0, 1, ... even if used (R-RECON-161).
  std::vector<std::uint32_t> next(std::size_t n);
  /// R-RECON-162. A shared index stays used. Its number of duplicates decreases only without the quirk
  /// duplicate_count_kept, or if it was 1.
  void unset(std::uint32_t index, const model::Quirks& quirks = {});
  /// n indexes for canaries, skipping `existing` (ascending): first those of allocations to be replaced, then free
  /// ones, then indexes from the count on (R-RECON-164).
  std::vector<std::uint32_t> next_canaries(std::size_t n, std::span<const std::uint32_t> existing,
                                           std::span<const std::uint32_t> destructive);

 private:
  void set(std::uint32_t index);
  void clear(std::uint32_t index);

  std::vector<std::uint64_t> words_;
  std::map<std::uint32_t, std::uint32_t> duplicates_;
  std::uint32_t size_bits_ = 0, count_ = 0;
};

}  // namespace berth::reconcile
