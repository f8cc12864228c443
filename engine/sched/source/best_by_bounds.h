// Kept by Select, but for `place_` by state. A fast source of exhaustive mode that evicts and passes over most nodes.
//
// After a first pass that no candidate has room (FullCheck), each candidate's figures (NodeUse, EvictionLevels) say
// whether eviction can make room there, and which score the outcome does not exceed. That is one pass in the order of
// the rows. The visit in visiting order then looks closer only at nodes whose bound is above the five best so far: it
// finds the same best node and leaves the same metrics as a visit of all (R-RANK-1006 to 1008 keep no other).
//
//   bound   8 B per candidate, in the order of ReadyNodes
//           +inf   to be visited whatever the others score: the plan touched the node, or its figures do not tell
//           -inf   no option there; counted as filtered or exhausted by the pass
#pragma once

#include "sched/source/walk.h"

namespace berth::sched {

class BestByBounds : Source {
 public:
  BestByBounds(SelectParts& parts, Walk& walk) : Source(parts), walk_(walk) {}

  /// Bounds are known of all that goes into the score of a node that the plan did not touch.
  static constexpr Needs kServes{
      Need::evict,       Need::exhaustive,          Need::secrets,        Need::no_ask_number,
      Need::metrics,     Need::shuffled_order,      Need::plan_stops,     Need::plan_updates,
      Need::mixed_kinds, Need::ports_or_cores_held, Need::classes_by_node};
  /// Of a Select with such needs, of which the one that evicts.
  [[nodiscard]] bool is_ready() const {
    return parts_.needs.has(Need::evict) && parts_.needs.has(Need::exhaustive) && parts_.evicting.bounds_hold();
  }
  [[nodiscard]] std::optional<Found> select(GroupView& view);

 private:
  void bound_options(const GroupView& view);
  double bound_option(tables::NodeRow row, const ReadyNodes::Candidate& candidate, const tables::NodeUse& use,
                      const tables::EvictionLevels* levels, const GroupView& view);

  Walk& walk_;
  std::vector<double> of_candidate_;  // beside ReadyNodes::candidates
  std::vector<std::uint32_t> place_;  // node row -> position there, of candidates; right for
  std::uint64_t place_epoch_ = ~0ULL;
  std::uint32_t place_base_set_ = 0;
  std::vector<std::uint8_t> class_passes_;
  std::vector<std::pair<double, double>> inverses_;  // beside ReadyNodes::capacities: of cpu, of memory
};

}  // namespace berth::sched
