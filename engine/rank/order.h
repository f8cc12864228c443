// The visiting order of the candidates of a generic-stack evaluation (R-RANK-301 to 307).
//
// A VisitingOrder is set to one permutation per node list and then read by cursor: at(k) is the position, in the
// candidate list (ascending node ID), of the k-th node to visit. `order_` holds the entries that are fixed so far:
//   explicit         all n when the order is set
//   nomad, mix       none when it is set, and no draws are made. Later as many as are expected or requested, whichever
//                    is more. A small part of n is traced (trace.h), one entry after the other; for a larger part all n
//                    are shuffled
//   lazy, identity   as far as at() has requested; setting one costs nothing per node
//
// Most Selects visit few nodes, and the first entries of a shuffle cost less than all of it. The draws are kept, so
// further entries need no new ones.
// Setting the same (provider, seed, n) again keeps the permutation. Within an attempt equal lists get equal orders
// (R-RANK-304), and Nomad's seed often stays the same for the next attempt (R-RANK-303). Memory grows to the largest n
// and is not released.
// An object belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/go_rand.h"
#include "berth/result.h"
#include "rank/trace.h"

namespace berth::rank {

/// The algorithm that makes the order. A result records its provider (R-RANK-305).
enum class OrderProvider : std::uint8_t {
  nomad,     ///< the reference's shuffle, so that a recorded run is repeated exactly (R-RANK-302, 306)
  mix,       ///< full shuffle by a cheap generator (R-RANK-307)
  lazy,      ///< the same, forwards and on demand: costs what is visited, not n (R-RANK-307)
  identity,  ///< ascending ID, for debugging
};

class VisitingOrder {
 public:
  /// Sets the order of n candidates. `index` is the snapshot's latest index. `expected` is the estimated number of
  /// entries that will be read; it affects speed only. Error: provider nomad and an evaluation ID of fewer than 8
  /// bytes.
  [[nodiscard]] Result<void> set(OrderProvider provider, std::string_view eval_id, std::uint64_t index, std::size_t n,
                                 std::size_t expected = 0);

  /// Largest number of entries that are found without the whole shuffle, unless more are expected.
  [[nodiscard]] static constexpr std::size_t most_traced(std::size_t n) noexcept { return ShuffleTrace::most(n); }

  [[nodiscard]] OrderProvider provider() const noexcept { return provider_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Candidate position of visiting index k < size().
  [[nodiscard]] std::uint32_t at(std::size_t k) noexcept {
    if (k >= fixed_) extend(k + 1);
    return order_[k];
  }

  /// The first `count` <= size() positions. Valid until the next call.
  [[nodiscard]] std::span<const std::uint32_t> first(std::size_t count) noexcept {
    if (count > fixed_) extend(count);
    return {order_.data(), count};
  }

  /// Number of fixed entries, which at() returns without work.
  [[nodiscard]] std::size_t fixed() const noexcept { return fixed_; }
  /// Fixes the expected entries, if they are not yet fixed. Returns fixed().
  std::size_t fix_expected() noexcept {
    if (fixed_ < expected_) extend(expected_);
    return fixed_;
  }

  /// The whole order; makes a lazy one complete. Valid until the next set.
  [[nodiscard]] std::span<const std::uint32_t> all() noexcept { return first(size_); }

 private:
  // Entry i of a lazy permutation that a swap moved; a stamp of an earlier order means "still i".
  struct Moved {
    std::uint32_t stamp, position;
  };

  void extend(std::size_t count) noexcept;
  void draw_picks() noexcept;
  void shuffle() noexcept;
  void shuffle_front(std::size_t count) noexcept;
  void fill_ascending();
  void grow(std::size_t n);

  OrderProvider provider_ = OrderProvider::identity;
  std::size_t size_ = 0, fixed_ = 0, expected_ = 0;
  bool drawn_ = false;       // nomad, mix: picks_ are of this order
  std::uint64_t seed_ = 0;   // seed of the current order: Nomad's shuffle seed, or z of R-RANK-307 before any draw
  std::uint64_t state_ = 0;  // lazy: z after the draws so far
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> picks_;  // nomad, mix: entry n-1-k is swapped with entry picks_[k], k ascending
  ShuffleTrace trace_;                // nomad, mix: trace of picks_, while fixed_ is at most most_traced()
  std::vector<Moved> moved_;          // lazy only
  std::uint32_t stamp_ = 0;
  base::GoRand rand_;
};

}  // namespace berth::rank
