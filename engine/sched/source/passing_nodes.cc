#include "sched/source/passing_nodes.h"

#include <utility>

namespace berth::sched {

void PassingNodes::take(Arena& arena, std::size_t spread_sets) {
  const std::uint32_t size = candidates.size;
  if (!std::exchange(taken, true)) {
    for (auto* column : {&position, &dimension, &capacity, &order.class_of}) *column = arena.take<std::uint32_t>(size);
    row = arena.take<tables::NodeRow>(size);
    for (auto* column : {&sum, &appended, &value}) *column = arena.take<double>(size);
    score = arena.take<rank::ScoreRow>(size);
    order.passes = arena.take<std::uint8_t>(size);
    spread = {};
    codes.clear(), property_codes.clear();
  }
  while (property_codes.size() < properties.size()) property_codes.push_back(arena.take<std::uint32_t>(size));
  while (codes.size() < spread_sets) codes.push_back(arena.take<std::uint32_t>(size));
  if (spread_sets > 0 && spread.empty()) spread = arena.take<double>(size);
}

}  // namespace berth::sched
