// Cache by Select; `place_` by state. A fast source of exhaustive mode with eviction, which skips most nodes.
//
// It runs after FullCheck has shown that no candidate has room without eviction. The amounts of each candidate
// (NodeUse, EvictionLevels) then decide whether eviction can make room there, and give an upper bound of the resulting
// score. That is one pass in the order of the rows. The visit in visiting order then examines only nodes whose bound is
// above the five best scores so far. It finds the same best node and the same metrics as a visit of all nodes
// (R-RANK-1006 to 1008 require no others).
//
//   bound   8 B per candidate, in the order of ReadyNodes
//           +inf   visit in any case: the plan touched the node, or its amounts give no bound
//           -inf   eviction cannot make room; the pass has counted the node as filtered or exhausted
#pragma once

#include "sched/source/walk.h"

namespace berth::sched {

class BestByBounds : Source {
 public:
  BestByBounds(SelectParts& parts, Walk& walk) : Source(parts), walk_(walk) {}

  /// With these needs, every score component of a node that the plan did not touch has a bound.
  static constexpr Needs kServes{
      Need::evict,       Need::exhaustive,          Need::secrets,        Need::no_ask_number,
      Need::metrics,     Need::shuffled_order,      Need::plan_stops,     Need::plan_updates,
      Need::mixed_kinds, Need::ports_or_cores_held, Need::classes_by_node};
  /// True for the evicting pass of a Select with needs in kServes.
  [[nodiscard]] bool is_ready() const {
    return parts_.needs.has(Need::evict) && parts_.needs.has(Need::exhaustive) && parts_.evicting.bounds_hold();
  }
  [[nodiscard]] std::optional<Found> select(GroupView& view);

 private:
  void bound_options(const GroupView& view);
  double bound_option(tables::NodeRow row, const ReadyNodes::Candidate& candidate, const tables::NodeUse& use,
                      const tables::EvictionLevels* levels, const GroupView& view);

  Walk& walk_;
  std::vector<double> of_candidate_;  // bound, parallel to ReadyNodes::candidates
  std::vector<std::uint32_t> place_;  // node row -> index in ReadyNodes::candidates; valid for the two below
  std::uint64_t place_epoch_ = ~0ULL;
  std::uint64_t place_base_set_ = 0;  // BaseSet::number
  std::vector<std::uint8_t> class_passes_;
  std::vector<std::pair<double, double>> inverses_;  // parallel to ReadyNodes::capacities: 1 / cpu, 1 / memory
};

}  // namespace berth::sched
