#include "sched/source/ask_scores.h"

#include <algorithm>

namespace berth::sched {
namespace {

constexpr std::size_t kTablesMost = 16;
/// Of all tables, but for the first.
constexpr std::size_t kBytesMost = std::size_t{4} << 20;
/// A look at a node that is known saves as much as it costs to forget so many others, one by one or in a row.
constexpr std::size_t kForgetPerLook = 4, kClearPerLook = 32;

}  // namespace

std::uint64_t* AskScores::find(NodeFeed& feed, const tables::NodeTable& nodes, const tables::Ask& ask,
                               rank::FitAlgorithm algorithm, std::size_t looks) {
  ++finds_;
  auto table = std::find_if(tables_.begin(), tables_.end(), [&](const Table& known) {
    return known.ask == ask.number && known.algorithm == algorithm;
  });
  if (table == tables_.end()) {
    const std::size_t most =
        std::clamp<std::size_t>(kBytesMost / (sizeof(std::uint64_t) * (nodes.size() + 1)), 1, kTablesMost);
    if (tables_.size() < most)
      table = tables_.emplace(tables_.end());
    else
      table = std::min_element(tables_.begin(), tables_.end(),
                               [](const Table& a, const Table& b) { return a.used < b.used; });
    table->ask = ask.number, table->algorithm = algorithm;
    table->used = finds_;
    table->place = NodePlace();
    table->of_row.clear();
    return nullptr;
  }
  table->used = finds_;
  return follow(*table, feed, nodes, looks) ? table->of_row.data() : nullptr;
}

bool AskScores::follow(Table& table, NodeFeed& feed, const tables::NodeTable& nodes, std::size_t looks) {
  const std::optional<NodeFeed::Rows> changed = feed.since(table.place, nodes, kForgetPerLook * looks);
  if (!changed) {
    if (nodes.size() > kClearPerLook * looks) return false;
    table.of_row.assign(nodes.size(), rank::Known::kUnknown);
  } else {
    table.of_row.resize(nodes.size(), rank::Known::kUnknown);
    for (const tables::NodeRow row : *changed) table.of_row[row] = rank::Known::kUnknown;
  }
  table.place.move_to(nodes);
  return true;
}

}  // namespace berth::sched
