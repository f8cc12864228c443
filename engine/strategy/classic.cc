#include "strategy/classic.h"

#include <numeric>

#include "base/text.h"

namespace berth::strategy {

std::int32_t BalancedAllocation::score(const Node& node, const TaskClass& task) const {
  std::array<double, kDimensions> fractions{};
  std::size_t count = 0;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    const double c = node.state.capacity[d], r = c - node.state.free[d] + task.ask[d];
    if (resources.weight[d] == 0 || (c == 0 && !resources.old)) continue;
    fractions[count++] = c == 0 ? 1 : resources.old ? r / c : std::min(r / c, 1.0);
  }
  if (resources.old) {
    if (count < 2 || fractions[0] >= 1 || fractions[1] >= 1) return 0;
    return static_cast<std::int32_t>(100 * (1 - std::abs(fractions[0] - fractions[1])));
  }
  double deviation = 0;
  if (count == 2) deviation = std::abs(fractions[0] - fractions[1]) / 2;
  if (count > 2) {
    const auto n = static_cast<double>(count);
    const double mean =
        std::accumulate(fractions.begin(), fractions.begin() + static_cast<std::ptrdiff_t>(count), 0.0) / n;
    for (std::size_t i = 0; i < count; ++i) deviation += (fractions[i] - mean) * (fractions[i] - mean);
    deviation = std::sqrt(deviation / n);
  }
  return static_cast<std::int32_t>(100 * (1 - deviation));
}

std::optional<UtilisationPoints> parse_points(std::string_view text) {
  UtilisationPoints out;
  for (const std::string_view part : base::split(text, '/')) {
    const auto pair = base::split(part, '-');
    if (pair.size() != 2) return std::nullopt;
    const auto utilisation = base::parse_uint64(pair[0]), score = base::parse_uint64(pair[1]);
    if (!utilisation || !score || *utilisation > 100 || *score > 10) return std::nullopt;
    if (!out.empty() && out.back().first >= static_cast<std::int32_t>(*utilisation)) return std::nullopt;
    out.emplace_back(static_cast<std::int32_t>(*utilisation), static_cast<std::int32_t>(*score));
  }
  return out;
}

std::int32_t RequestedToCapacityRatio::score(const Node& node, const TaskClass& task) const {
  const auto line = [this](std::int64_t u) -> std::int64_t {
    if (u <= points.front().first) return std::int64_t{10} * points.front().second;
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (u > points[i].first) continue;
      const std::int64_t from = 10 * points[i - 1].second, to = 10 * points[i].second;
      return from + (to - from) * (u - points[i - 1].first) / (points[i].first - points[i - 1].first);
    }
    return std::int64_t{10} * points.back().second;
  };
  std::int64_t sum = 0, weights = 0;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    const std::int64_t c = node.state.capacity[d], r = c - node.state.free[d] + KubernetesResources::request(task, d);
    const std::int64_t weight = resources.weight[d];
    if (weight == 0) continue;
    const std::int64_t s = line(c == 0 || r > c ? 100 : 100 - (c - r) * 100 / c);
    if (s > 0) sum += weight * s, weights += weight;
  }
  return weights == 0 ? 0
                      : static_cast<std::int32_t>(std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

std::vector<double> packing_sizes(const Fleet& fleet, OfflineOrder order, std::span<const ClassId> tasks) {
  std::vector<double> size(fleet.class_count(), 0);
  if (order == OfflineOrder::arrival) return size;
  const auto capacity = fleet.capacity_total();
  std::array<double, kDimensions> demand{}, weight{}, most{};
  for (const ClassId id : tasks)
    for (std::size_t d = 0; d < kDimensions; ++d) demand[d] += fleet.task_class(id).ask[d];
  for (std::size_t d = 0; d < kDimensions; ++d)
    weight[d] = capacity[d] == 0 ? 0 : demand[d] / static_cast<double>(capacity[d]);
  for (std::size_t row = 0; row < fleet.size(); ++row)
    for (std::size_t d = 0; d < kDimensions; ++d)
      most[d] = std::max<double>(most[d], fleet.node(static_cast<Row>(row)).state.capacity[d]);
  for (ClassId id = 0; id < size.size(); ++id) {
    const Amounts& ask = fleet.task_class(id).ask;
    double sum = 0, product = 1, greatest = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      sum += weight[d] * ask[d];
      if (demand[d] > 0) product *= ask[d];
      if (most[d] > 0) greatest = std::max(greatest, ask[d] / most[d]);
    }
    size[id] = order == OfflineOrder::sum ? sum : order == OfflineOrder::product ? product : greatest;
  }
  return size;
}

}  // namespace berth::strategy
