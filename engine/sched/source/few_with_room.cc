#include "sched/source/few_with_room.h"

#include <algorithm>

namespace berth::sched {

std::optional<Found> FewWithRoom::select(std::span<FailedBefore::Few> few) {
  BERTH_ASSERT(candidates_.offset == 0);
  few_ = few;
  if (few_.size() > 1) put_in_order();
  Best best(attempt_.config.exhaustive);
  for (std::uint32_t i = 0; i < few_.size(); ++i) {
    const double value = fit_.scorer.final_score(few_[i].row, few_[i].cell.score);
    top_.push(i, value);
    best.offer(i, value);
  }
  best.take_aside(candidates_.limit);
  return Found{few_[best.id].row, best.score, {}};
}

void FewWithRoom::put_in_order() {
  std::size_t placed = 0;
  for (std::uint32_t at = 0; placed + 1 < few_.size() && at < candidates_.size; ++at) {
    const tables::NodeRow row = candidates_.nodes->candidates[candidates_.order.at(at)].row;
    for (std::size_t i = placed; i < few_.size(); ++i)
      if (few_[i].row == row) {
        std::swap(few_[placed++], few_[i]);
        break;
      }
  }
}

}  // namespace berth::sched
