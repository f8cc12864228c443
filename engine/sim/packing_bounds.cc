#include "sim/packing_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

namespace berth::sim {
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

/// Walks over the arrivals in their order: `arrives(index)`, before it `ends(index)` for what has ended by then.
template <class Arrives, class Ends>
void walk(const PackingProblem& problem, Arrives arrives, Ends ends) {
  using End = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  for (std::size_t i = 0; i < problem.arrivals.size(); ++i) {
    const PackingArrival& arrival = problem.arrivals[i];
    for (; !running.empty() && running.top().first <= arrival.due_ns; running.pop()) ends(running.top().second);
    if (arrival.run_time_ns != kNeverEnds) running.emplace(arrival.due_ns + arrival.run_time_ns, i);
    arrives(i);
  }
}

/// Tasks per class that are there at the moments at which one of the dimensions is asked most.
std::vector<ClassCounts> busiest(const PackingProblem& problem, bool departures) {
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

}  // namespace

std::uint64_t dual_feasible_bound(std::vector<SizeCount> items, std::int64_t capacity) {
  if (capacity <= 0) return 0;
  std::sort(items.begin(), items.end(), [](const SizeCount& a, const SizeCount& b) { return a.size < b.size; });
  // Sums over the smallest items: count[i], volume[i] of items [0, i).
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
  const std::size_t half = first_over(capacity / 2);  // items over C/2: whole numbers over floor(C/2) are over C/2
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

NodeBound bound_nodes(const PackingProblem& problem, std::span<const std::uint32_t> nodes, bool departures) {
  NodeBound out;
  if (nodes.empty()) return out;
  std::array<std::int64_t, kDimensions> most{};
  std::array<std::uint64_t, kDimensions> cycle{};
  const auto capacity_of = [&](std::uint32_t node, std::size_t d) -> std::int64_t {
    const auto& spec = problem.nodes[node];
    return d == kGpu ? std::int64_t{kWholeDevice} * spec.devices : spec.capacity[d];
  };
  for (const std::uint32_t node : nodes)
    for (std::size_t d = 0; d < kDimensions; ++d) {
      most[d] = std::max(most[d], capacity_of(node, d));
      cycle[d] += static_cast<std::uint64_t>(capacity_of(node, d));
    }
  /// Nodes from the front until the capacities of those that `may` hold it reach `demand`; 0 when they never do.
  const auto reach_where = [&](std::size_t d, std::uint64_t demand, std::uint64_t of_cycle, auto may) -> std::uint64_t {
    if (demand == 0 || of_cycle == 0) return 0;
    const std::uint64_t rounds = (demand - 1) / of_cycle;
    std::uint64_t sum = rounds * of_cycle, n = rounds * nodes.size();
    for (std::size_t i = 0; sum < demand; ++i, ++n)
      if (may(nodes[i])) sum += static_cast<std::uint64_t>(capacity_of(nodes[i], d));
    return n;
  };
  const auto reach = [&](std::size_t d, std::uint64_t demand) {
    return reach_where(d, demand, cycle[d], [](std::uint32_t) { return true; });
  };
  for (const ClassCounts& counts : busiest(problem, departures)) {
    std::array<std::map<std::int64_t, std::uint64_t>, kDimensions> sizes;
    std::map<std::int64_t, std::uint64_t> parts;
    std::array<std::uint64_t, kDimensions> demand{};
    // Of tasks with the same eligible nodes; the class stands for the set.
    std::map<std::vector<std::uint64_t>, std::pair<std::size_t, std::array<std::uint64_t, kDimensions>>> of_set;
    for (std::size_t id = 0; id < counts.size(); ++id) {
      if (counts[id] == 0) continue;
      const strategy::TaskClass& task = problem.classes[id];
      const auto amounts = amounts_of(task);
      for (std::size_t d = 0; d < kDimensions; ++d) {
        demand[d] += static_cast<std::uint64_t>(amounts[d]) * counts[id];
        if (amounts[d] > 0 && amounts[d] <= most[d]) sizes[d][amounts[d]] += counts[id];
      }
      if (!task.eligible.empty()) {
        auto& [any, sum] = of_set[task.eligible];
        any = id;
        for (std::size_t d = 0; d < kDimensions; ++d) sum[d] += static_cast<std::uint64_t>(amounts[d]) * counts[id];
      }
      if (task.gpus > 0) parts[task.gpu_milli] += counts[id] * static_cast<std::uint64_t>(task.gpus);
    }
    const auto list = [](const std::map<std::int64_t, std::uint64_t>& from) {
      std::vector<SizeCount> items;
      for (const auto& [size, count] : from) items.push_back({size, count});
      return items;
    };
    for (std::size_t d = 0; d < kDimensions; ++d) {
      out.by_volume[d] = std::max(out.by_volume[d], reach(d, demand[d]));
      out.by_dual_feasible[d] = std::max(out.by_dual_feasible[d], dual_feasible_bound(list(sizes[d]), most[d]));
    }
    for (const auto& [set, entry] : of_set) {
      const auto& [any, sum] = entry;
      const auto may = [&](std::uint32_t node) { return problem.classes[any].may_run_on(node); };
      for (std::size_t d = 0; d < kDimensions; ++d) {
        std::uint64_t of_cycle = 0;
        for (const std::uint32_t node : nodes)
          if (sum[d] > 0 && may(node)) of_cycle += static_cast<std::uint64_t>(capacity_of(node, d));
        out.by_eligible = std::max(out.by_eligible, reach_where(d, sum[d], of_cycle, may));
      }
    }
    const std::uint64_t devices = dual_feasible_bound(list(parts), kWholeDevice);
    out.by_devices = std::max(out.by_devices, reach(kGpu, devices * kWholeDevice));
  }
  // Whenever it comes: a task needs the first node that could hold it empty.
  std::vector<bool> seen(problem.classes.size(), false);
  for (const PackingArrival& arrival : problem.arrivals) {
    if (arrival.count == 0 || seen[arrival.task]) continue;
    seen[arrival.task] = true;
    const strategy::TaskClass& task = problem.classes[arrival.task];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      bool holds = task.may_run_on(nodes[i]) && task.gpus <= problem.nodes[nodes[i]].devices;
      for (std::size_t d = 0; d < kGpu; ++d) holds &= task.ask[d] <= problem.nodes[nodes[i]].capacity[d];
      if (!holds) continue;
      out.by_eligible = std::max<std::uint64_t>(out.by_eligible, i + 1);
      break;
    }
  }
  std::map<std::uint32_t, std::uint64_t> hosts;
  for (const PackingArrival& arrival : problem.arrivals)
    if (arrival.distinct_hosts && arrival.count > 0) {
      out.by_distinct_hosts = std::max(out.by_distinct_hosts, hosts[arrival.job] += arrival.count);
    }
  return out;
}

}  // namespace berth::sim
