// Which cores of a node nobody holds, told by what a group that asks for so many of them gets there. What is held is a
// column of the state (tables/held_cores.h).
//
//   of_empty  4 B   per node and number of cores asked for: what one gives on which nobody holds any: MHz of its first
//                   so many (R-RANK-641, 642)
// It stays until nodes register. One worker's own, like all scratch.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

/// What a node gives: the speed of the first free cores, or why it gives none.
struct CoreOffer {
  std::uint32_t mhz = 0;
  bool too_few = false;  ///< R-RANK-641
  bool refused = false;  ///< one of them is reserved, which the fit notices (R-RANK-524)
  bool unknown = false;  ///< has to be found out in the general way
};

class CoreUse {
 public:
  /// Whether the cores held on the node leave the fit of others to figures.
  [[nodiscard]] bool held_well(const tables::Snapshot& snapshot, tables::NodeRow row);
  /// What a node gives; unknown where its cores are not held well.
  [[nodiscard]] CoreOffer offer(const tables::Snapshot& snapshot, tables::NodeRow row, std::uint64_t cores);
  /// The same where `more` are held besides.
  [[nodiscard]] CoreOffer offer_beside(const tables::Snapshot& snapshot, tables::NodeRow row, std::uint64_t cores,
                                       const std::vector<std::uint16_t>& more);

 private:
  struct Ask {
    std::uint64_t cores;
    std::vector<std::uint32_t> of_empty;  // by node row
  };
  // Of `of_empty`: MHz below kRefused, with or without it, or one of the others.
  static constexpr std::uint32_t kNotKnown = ~0u, kTooFew = ~0u - 1, kRefused = 1u << 31;
  static constexpr std::size_t kAsksMost = 16;  // numbers of cores remembered at a time

  std::vector<std::uint32_t>& of_empty(const tables::Snapshot& snapshot, std::uint64_t cores);
  bool collect(const tables::Snapshot& snapshot, tables::NodeRow row);
  [[nodiscard]] std::uint32_t first_free(const tables::NodeSpec& spec, std::uint64_t cores);
  [[nodiscard]] static CoreOffer as_offer(std::uint32_t gets);

  std::vector<Ask> asks_;
  std::vector<std::uint16_t> taken_;  // on the node under way, ascending
  std::vector<std::uint16_t> given_;  // of its free ones, likewise
  std::uint64_t static_epoch_ = 0;    // of the nodes that of_empty knows
};

}  // namespace berth::sched
