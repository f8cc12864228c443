#include "packing/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

namespace berth::packing {
namespace {

using strategy::kDimensions;
using strategy::kGpu;
using strategy::kWholeDevice;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

/// Amounts of a class with its GPU shares filled in.
std::array<std::int64_t, kDimensions> amounts_of(const strategy::TaskClass& task) {
  std::array<std::int64_t, kDimensions> out{};
  for (std::size_t d = 0; d < kDimensions; ++d) out[d] = task.ask[d];
  out[kGpu] = std::int64_t{task.gpus} * task.gpu_milli;
  return out;
}

using ClassCounts = std::vector<std::uint64_t>;

/// Iterates over the arrivals in order: first `ends(index)` for tasks that ended by then, then `arrives(index)`.
template <class Arrives, class Ends>
void walk(const sim::PackingProblem& problem, Arrives arrives, Ends ends) {
  using End = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  for (std::size_t i = 0; i < problem.arrivals.size(); ++i) {
    const sim::PackingArrival& arrival = problem.arrivals[i];
    for (; !running.empty() && running.top().first <= arrival.due_ns; running.pop()) ends(running.top().second);
    if (arrival.run_time_ns != sim::kNeverEnds) running.emplace(arrival.due_ns + arrival.run_time_ns, i);
    arrives(i);
  }
}

/// Running tasks per class at the moments of greatest demand in each dimension.
std::vector<ClassCounts> busiest(const sim::PackingProblem& problem, bool departures) {
  if (problem.arrivals.empty()) return {};
  ClassCounts alive(problem.classes.size(), 0);
  const auto add = [&](std::size_t i) { alive[problem.arrivals[i].task] += problem.arrivals[i].count; };
  const auto subtract = [&](std::size_t i) { alive[problem.arrivals[i].task] -= problem.arrivals[i].count; };
  if (!departures) {
    for (std::size_t i = 0; i < problem.arrivals.size(); ++i) add(i);
    return {alive};
  }
  std::array<std::int64_t, kDimensions> total{}, most{};
  std::array<std::size_t, kDimensions> when{};
  const auto change = [&](std::size_t i, std::int64_t sign) {
    const auto amounts = amounts_of(problem.classes[problem.arrivals[i].task]);
    for (std::size_t d = 0; d < kDimensions; ++d) total[d] += sign * amounts[d] * problem.arrivals[i].count;
  };
  walk(
      problem,
      [&](std::size_t i) {
        change(i, 1);
        for (std::size_t d = 0; d < kDimensions; ++d)
          if (total[d] > most[d]) most[d] = total[d], when[d] = i;
      },
      [&](std::size_t i) { change(i, -1); });
  std::vector<ClassCounts> out;
  walk(
      problem,
      [&](std::size_t i) {
        add(i);
        if (std::find(when.begin(), when.end(), i) != when.end()) out.push_back(alive);
      },
      subtract);
  return out;
}

/// Total amounts of the tasks running at one moment.
using Demand = std::array<std::uint64_t, kDimensions>;
using Sizes = std::map<std::int64_t, std::uint64_t>;  ///< size -> number of tasks

std::vector<SizeCount> list(const Sizes& from) {
  std::vector<SizeCount> items;
  for (const auto& [size, count] : from) items.push_back({size, count});
  return items;
}

/// Nodes in the order in which they are taken. After the last one the order repeats.
class NodesInOrder {
 public:
  NodesInOrder(const sim::PackingProblem& problem, std::span<const std::uint32_t> nodes)
      : problem_(problem), nodes_(nodes) {
    for (const std::uint32_t node : nodes)
      for (std::size_t d = 0; d < kDimensions; ++d) {
        greatest_[d] = std::max(greatest_[d], capacity(node, d));
        all_[d] += static_cast<std::uint64_t>(capacity(node, d));
      }
  }
  [[nodiscard]] std::int64_t greatest(std::size_t d) const { return greatest_[d]; }

  /// Number of nodes from the front whose capacities reach `demand`; 0 if that is impossible.
  [[nodiscard]] std::uint64_t reach(std::size_t d, std::uint64_t demand) const {
    return reach_where(d, demand, all_[d], [](std::uint32_t) { return true; });
  }
  /// The same, with only the capacity of nodes for which `may` is true.
  template <class May>
  [[nodiscard]] std::uint64_t reach_of(std::size_t d, std::uint64_t demand, May may) const {
    std::uint64_t all = 0;
    for (const std::uint32_t node : nodes_)
      if (demand > 0 && may(node)) all += static_cast<std::uint64_t>(capacity(node, d));
    return reach_where(d, demand, all, may);
  }
  /// Number of nodes up to the first that, if empty, could hold the task; 0: none could.
  [[nodiscard]] std::uint64_t up_to_holder(const strategy::TaskClass& task) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      bool holds = task.may_run_on(nodes_[i]) && task.gpus <= problem_.nodes[nodes_[i]].devices;
      for (std::size_t d = 0; d < kGpu; ++d) holds &= task.ask[d] <= problem_.nodes[nodes_[i]].capacity[d];
      if (holds) return i + 1;
    }
    return 0;
  }

 private:
  [[nodiscard]] std::int64_t capacity(std::uint32_t node, std::size_t d) const {
    const auto& spec = problem_.nodes[node];
    return d == kGpu ? std::int64_t{kWholeDevice} * spec.devices : spec.capacity[d];
  }
  template <class May>
  [[nodiscard]] std::uint64_t reach_where(std::size_t d, std::uint64_t demand, std::uint64_t of_cycle, May may) const {
    if (demand == 0 || of_cycle == 0) return 0;
    const std::uint64_t rounds = (demand - 1) / of_cycle;
    std::uint64_t sum = rounds * of_cycle, n = rounds * nodes_.size();
    for (std::size_t i = 0; sum < demand; ++i, ++n)
      if (may(nodes_[i])) sum += static_cast<std::uint64_t>(capacity(nodes_[i], d));
    return n;
  }

  const sim::PackingProblem& problem_;
  const std::span<const std::uint32_t> nodes_;
  std::array<std::int64_t, kDimensions> greatest_{};
  Demand all_{};
};

/// Raises the bounds to the needs of the tasks running at one moment.
void raise(NodeBound& bound, const sim::PackingProblem& problem, const NodesInOrder& nodes, const ClassCounts& counts) {
  std::array<Sizes, kDimensions> sizes;
  Sizes parts;
  Demand demand{};
  // Demand by set of eligible nodes, with one class that has this set.
  std::map<std::vector<std::uint64_t>, std::pair<std::size_t, Demand>> of_set;
  for (std::size_t id = 0; id < counts.size(); ++id) {
    if (counts[id] == 0) continue;
    const strategy::TaskClass& task = problem.classes[id];
    const auto amounts = amounts_of(task);
    for (std::size_t d = 0; d < kDimensions; ++d) {
      demand[d] += static_cast<std::uint64_t>(amounts[d]) * counts[id];
      if (amounts[d] > 0 && amounts[d] <= nodes.greatest(d)) sizes[d][amounts[d]] += counts[id];
    }
    if (!task.eligible.empty()) {
      auto& [any, sum] = of_set[task.eligible];
      any = id;
      for (std::size_t d = 0; d < kDimensions; ++d) sum[d] += static_cast<std::uint64_t>(amounts[d]) * counts[id];
    }
    if (task.gpus > 0) parts[task.gpu_milli] += counts[id] * static_cast<std::uint64_t>(task.gpus);
  }
  for (std::size_t d = 0; d < kDimensions; ++d) {
    bound.by_volume[d] = std::max(bound.by_volume[d], nodes.reach(d, demand[d]));
    bound.by_dual_feasible[d] =
        std::max(bound.by_dual_feasible[d], dual_feasible_bound(list(sizes[d]), nodes.greatest(d)));
  }
  for (const auto& [set, entry] : of_set) {
    const auto& [any, sum] = entry;
    const auto may = [&, any = any](std::uint32_t node) { return problem.classes[any].may_run_on(node); };
    for (std::size_t d = 0; d < kDimensions; ++d)
      bound.by_eligible = std::max(bound.by_eligible, nodes.reach_of(d, sum[d], may));
  }
  const std::uint64_t devices = dual_feasible_bound(list(parts), kWholeDevice);
  bound.by_devices = std::max(bound.by_devices, nodes.reach(kGpu, devices * kWholeDevice));
}

}  // namespace

std::uint64_t dual_feasible_bound(std::vector<SizeCount> items, std::int64_t capacity) {
  if (capacity <= 0) return 0;
  std::sort(items.begin(), items.end(), [](const SizeCount& a, const SizeCount& b) { return a.size < b.size; });
  // Prefix sums over the items by size: count[i], volume[i] of items [0, i).
  const std::size_t m = items.size();
  std::vector<std::uint64_t> count(m + 1, 0), volume(m + 1, 0);
  for (std::size_t i = 0; i < m; ++i) {
    count[i + 1] = count[i] + items[i].count;
    volume[i + 1] = volume[i] + static_cast<std::uint64_t>(items[i].size) * items[i].count;
  }
  const auto c = static_cast<std::uint64_t>(capacity);
  const auto first_over = [&](std::int64_t size) {
    return static_cast<std::size_t>(
        std::upper_bound(items.begin(), items.end(), size,
                         [](std::int64_t value, const SizeCount& item) { return value < item.size; }) -
        items.begin());
  };
  const std::size_t half = first_over(capacity / 2);  // items > C/2, which for integers means > floor(C/2)
  std::uint64_t best = divide_up(volume[m], c);
  for (std::size_t i = 0; i <= half; ++i) {
    const std::int64_t a = i == half ? 0 : items[i].size;
    const std::size_t from = a == 0 ? 0 : first_over(a - 1), large = std::max(half, first_over(capacity - a));
    const std::uint64_t bins = count[m] - count[half], medium = count[large] - count[half];
    const std::uint64_t room = medium * c - (volume[large] - volume[half]), small = volume[half] - volume[from];
    best = std::max(best, bins + (small > room ? divide_up(small - room, c) : 0));
  }
  constexpr std::uint64_t kStepsMax = 64;
  for (std::uint64_t k = 1; k <= kStepsMax; ++k) {
    std::uint64_t whole = 0, steps = 0;  // in units of 1 / (k + 1) and 1 / k
    for (const SizeCount& item : items) {
      const std::uint64_t scaled = (k + 1) * static_cast<std::uint64_t>(item.size);
      (scaled % c == 0 ? whole : steps) += item.count * (scaled / c);
    }
    best = std::max(best, divide_up(whole * k + steps * (k + 1), k * (k + 1)));
  }
  return best;
}

std::uint64_t NodeBound::nodes() const {
  std::uint64_t most = std::max({by_devices, by_eligible, by_distinct_hosts});
  for (std::size_t d = 0; d < kDimensions; ++d) most = std::max({most, by_volume[d], by_dual_feasible[d]});
  return most;
}

std::string NodeBound::by() const {
  static const char* const kNames[] = {"cpu", "memory", "disk", "gpu"};
  const std::uint64_t most = nodes();
  if (most == 0) return "nothing asked";
  for (std::size_t d = 0; d < kDimensions; ++d)
    if (by_volume[d] == most) return kNames[d];
  for (std::size_t d = 0; d < kDimensions; ++d)
    if (by_dual_feasible[d] == most) return fmt::format("{}, dual feasible", kNames[d]);
  return by_devices == most ? "gpu devices" : by_eligible == most ? "eligible nodes" : "distinct hosts";
}

NodeBound bound_nodes(const sim::PackingProblem& problem, std::span<const std::uint32_t> nodes, bool departures) {
  NodeBound out;
  if (nodes.empty()) return out;
  const NodesInOrder in_order(problem, nodes);
  for (const ClassCounts& counts : busiest(problem, departures)) raise(out, problem, in_order, counts);
  // At any time, a task needs the first node that could hold it when empty.
  std::vector<bool> seen(problem.classes.size(), false);
  std::map<std::uint32_t, std::uint64_t> hosts;
  for (const sim::PackingArrival& arrival : problem.arrivals) {
    if (arrival.count == 0) continue;
    if (!seen[arrival.task])
      out.by_eligible = std::max(out.by_eligible, in_order.up_to_holder(problem.classes[arrival.task]));
    seen[arrival.task] = true;
    if (arrival.distinct_hosts)
      out.by_distinct_hosts = std::max(out.by_distinct_hosts, hosts[arrival.job] += arrival.count);
  }
  return out;
}

}  // namespace berth::packing
