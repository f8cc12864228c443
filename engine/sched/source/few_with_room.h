// A fast source for a Select on a nearly full cluster: it is known who has room (failed_before.h), and these are fewer
// than it may return. It would look at every node, so the best of the few is the best, and the cursor comes round to
// where it was. O(nodes with room), and a look along the visiting order where they are several.
#pragma once

#include "sched/source/failed_before.h"

namespace berth::sched {

class FewWithRoom : Source {
 public:
  explicit FewWithRoom(SelectParts& parts) : Source(parts) {}

  [[nodiscard]] std::optional<Found> select(std::span<FailedBefore::Few> few);
  /// A node that the last Select ranked.
  [[nodiscard]] const FailedBefore::Few& ranked(std::uint32_t id) const { return few_[id]; }

 private:
  void put_in_order();

  std::span<FailedBefore::Few> few_;  // in visiting order
};

}  // namespace berth::sched
