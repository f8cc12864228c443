#include "rebalance/bound.h"

#include <algorithm>
#include <functional>

namespace berth::rebalance {
namespace {

using Weights = std::array<int, kResources>;

/// Weights of each resource alone, then mixtures in quarters.
std::vector<Weights> weightings() {
  constexpr int kSteps = 4;
  std::vector<Weights> out = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int cpu = 0; cpu <= kSteps; ++cpu)
    for (int memory = 0; cpu + memory <= kSteps; ++memory)
      if (cpu < kSteps && memory < kSteps && cpu + memory > 0) out.push_back({cpu, memory, kSteps - cpu - memory});
  return out;
}

/// Upper bound of the relative error of sums of doubles; bounds are relaxed by it.
constexpr double kRounding = 1e-9;

/// Number of nodes of a part that must stay occupied, by one weighting.
std::int64_t needed(const std::vector<const Machine*>& part, const Weights& weights, const Amounts& totals) {
  std::vector<double> others;
  double wanted = 0, there = 0;
  std::int64_t count = 0;
  bool loaded = false;
  for (const Machine* machine : part) {
    double room = 0, held = 0;
    for (std::size_t r = 0; r < kResources; ++r) {
      if (totals[r] <= 0) continue;
      const double weight = static_cast<double>(weights[r]) / static_cast<double>(totals[r]);
      // A node may hold and keep more than it has room for; one that accepts nothing keeps at most what it holds.
      const std::int64_t most = machine->accepts ? std::max(machine->room[r], machine->held[r]) : machine->held[r];
      room += weight * static_cast<double>(most), held += weight * static_cast<double>(machine->held[r]);
    }
    wanted += held;
    loaded = loaded || machine->occupied();
    if (machine->staying > 0)
      there += room, ++count;
    else
      others.push_back(room);
  }
  std::sort(others.begin(), others.end(), std::greater<>());
  for (const double room : others) {
    if (there * (1 + kRounding) >= wanted) break;
    there += room, ++count;
  }
  return std::max<std::int64_t>(count, loaded ? 1 : 0);
}

}  // namespace

Bound lower_bound(const Fleet& fleet, std::optional<std::int64_t> moves) {
  Bound out;
  std::vector<std::vector<const Machine*>> parts(fleet.parts);
  for (const Machine& machine : fleet.machines) parts[machine.part].push_back(&machine);
  static const std::vector<Weights> kWeightings = weightings();
  for (const auto& part : parts) {
    std::int64_t best = 0;
    for (std::size_t at = 0; at < kWeightings.size(); ++at) {
      const std::int64_t count = needed(part, kWeightings[at], fleet.total);
      if (at < kResources) out.by_resource[at] += count;
      best = std::max(best, count);
    }
    out.by_resources += best;
    out.pinned += std::count_if(part.begin(), part.end(), [](const Machine* one) { return one->staying > 0; });
  }
  out.nodes = out.by_resources;
  if (moves) {
    std::vector<std::int64_t> costs;
    for (const Machine& machine : fleet.machines)
      if (machine.occupied() && machine.staying == 0) costs.push_back(static_cast<std::int64_t>(machine.loads.size()));
    std::sort(costs.begin(), costs.end());
    std::int64_t left = *moves, emptied = 0;
    for (const std::int64_t cost : costs) {
      if (cost > left) break;
      left -= cost, ++emptied;
    }
    out.by_moves = fleet.occupied() - emptied;
    out.nodes = std::max(out.nodes, *out.by_moves);
  }
  return out;
}

}  // namespace berth::rebalance
