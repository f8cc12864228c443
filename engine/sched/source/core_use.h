// Which cores of a node nobody holds, as the state has it, told by what a group that asks for so many of them gets
// there: counting them by the allocations is most of what a node costs that is looked at, and few nodes change between
// two looks.
//
//   held      1 B   per node: whether the fit has something against what is held there: a core held twice, or reserved
//   gets      4 B   per node and number of cores asked for: MHz of the first so many free ones (R-RANK-641, 642)
//   of_empty  4 B   likewise, of a node on which nobody holds any
// From one state to the next what is known of nodes whose use changed is dropped; what an empty one gives stays until
// nodes register. One worker's own, like all scratch.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sched/source/use_follower.h"
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
  /// What a node gives whose cores are held well.
  [[nodiscard]] CoreOffer offer(const tables::Snapshot& snapshot, tables::NodeRow row, std::uint64_t cores);
  /// The same where `more` are held besides; nothing of it is remembered.
  [[nodiscard]] CoreOffer offer_beside(const tables::Snapshot& snapshot, tables::NodeRow row, std::uint64_t cores,
                                       const std::vector<std::uint16_t>& more);

 private:
  struct Ask {
    std::uint64_t cores;
    std::vector<std::uint32_t> gets, of_empty;  // by node row
  };
  enum : std::uint8_t { kUnknown, kWell, kUnfit };
  // Of `gets`: MHz below kRefused, with or without it, or one of the others.
  static constexpr std::uint32_t kNotKnown = ~0u, kTooFew = ~0u - 1, kRefused = 1u << 31;
  static constexpr std::size_t kAsksMost = 16;  // numbers of cores remembered at a time

  void follow(const tables::Snapshot& snapshot);
  Ask& ask(const tables::Snapshot& snapshot, std::uint64_t cores);
  bool collect(const tables::Snapshot& snapshot, tables::NodeRow row);
  [[nodiscard]] std::uint32_t first_free(const tables::NodeSpec& spec, std::uint64_t cores);
  [[nodiscard]] static CoreOffer as_offer(std::uint32_t gets);

  std::vector<std::uint8_t> held_;  // by node row
  std::vector<Ask> asks_;
  std::vector<std::uint16_t> taken_;  // on the node under way, ascending
  std::vector<std::uint16_t> given_;  // of its free ones, likewise
  UseFollower follower_;
  std::uint64_t static_epoch_ = 0;  // of the nodes that of_empty knows
};

}  // namespace berth::sched
