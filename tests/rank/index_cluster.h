// Clusters as the fit index reads them, with a slow reference implementation.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "rank/fit_index.h"

namespace berth::rank {

/// Nodes and a request, with a simple way to find the best node.
struct IndexCluster {
  std::vector<std::int32_t> cpu_free, memory_free, disk_free;
  std::vector<std::int64_t> cpu_used, memory_used;
  std::vector<double> cpu, memory;
  std::vector<std::uint64_t> feasible;
  std::vector<std::uint32_t> visit_rank;
  AskedAmounts ask;

  void add(std::int64_t cpu_capacity, std::int64_t memory_capacity, std::int64_t cpu_use, std::int64_t memory_use,
           std::int32_t disk) {
    cpu.push_back(static_cast<double>(cpu_capacity)), memory.push_back(static_cast<double>(memory_capacity));
    cpu_used.push_back(cpu_use), memory_used.push_back(memory_use);
    cpu_free.push_back(static_cast<std::int32_t>(cpu_capacity - cpu_use));
    memory_free.push_back(static_cast<std::int32_t>(memory_capacity - memory_use));
    disk_free.push_back(disk);
  }
  void set_use(std::size_t i, std::int64_t cpu_use, std::int64_t memory_use) {
    cpu_used[i] = cpu_use, memory_used[i] = memory_use;
    cpu_free[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(cpu[i]) - cpu_use);
    memory_free[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(memory[i]) - memory_use);
  }
  void all_feasible() {
    feasible.assign((cpu.size() + 63) / 64, 0);
    for (std::size_t i = 0; i < cpu.size(); ++i) feasible[i / 64] |= std::uint64_t{1} << i % 64;
  }
  [[nodiscard]] IndexColumns columns() const {
    return {cpu_free, memory_free, disk_free, {cpu_used, memory_used, cpu, memory}};
  }
  [[nodiscard]] bool fits(std::size_t i) const {
    return (feasible[i / 64] >> i % 64 & 1) && cpu[i] > 0 && memory[i] > 0 && cpu_free[i] >= ask.cpu_mhz &&
           memory_free[i] >= ask.memory_mb && disk_free[i] >= ask.disk_mb;
  }
  /// Simple loop: scores every node exactly in visiting order; the first of the highest wins.
  [[nodiscard]] std::optional<FitIndex::Best> oracle(FitAlgorithm algorithm) const {
    std::vector<std::uint32_t> order(cpu.size());
    std::iota(order.begin(), order.end(), 0u);
    if (!visit_rank.empty())
      for (std::size_t i = 0; i < order.size(); ++i) order[visit_rank[i]] = static_cast<std::uint32_t>(i);
    std::optional<FitIndex::Best> best;
    for (const std::uint32_t i : order) {
      if (!fits(i)) continue;
      const double score =
          fit_component(algorithm, cpu_used[i] + ask.cpu_mhz, cpu[i], memory_used[i] + ask.memory_mb, memory[i]);
      if (!best || score > best->component) best = FitIndex::Best{i, score};
    }
    return best;
  }
};

/// `kind` 0: all different; 1: few shapes and coarse use, so many ties; 2: all equal and empty; 3: intended near ties.
inline IndexCluster random_cluster(std::uint64_t seed, std::size_t n, std::uint64_t kind) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t k) { return static_cast<std::int64_t>(random() % k); };
  IndexCluster c;
  for (std::size_t i = 0; i < n; ++i) {
    if (kind == 0) {
      const std::int64_t cpu = below(200'000), memory = below(2'000'000);
      c.add(cpu, memory, below(static_cast<std::uint64_t>(cpu + 1 + cpu / 20)),
            below(static_cast<std::uint64_t>(memory + 1 + memory / 20)), static_cast<std::int32_t>(below(10'000) - 10));
    } else if (kind == 1) {
      const std::int64_t scale = 1 + below(3);  // equal fractions of different sizes have equal scores
      c.add(4000 * scale, 8192 * scale, 500 * scale * below(9), 1024 * scale * below(9),
            static_cast<std::int32_t>(below(3) * 300));
    } else if (kind == 2) {
      c.add(16'000, 65'536, 0, 0, 1000);
    } else {
      c.add(1'000'003, 30'000'001, 500'000 + below(40), 15'000'000 + below(40), 1000);
    }
  }
  c.all_feasible();
  if (below(2))
    for (std::uint64_t& word : c.feasible) word &= below(4) == 0 ? 0 : random() | random();
  if (below(2)) {
    c.visit_rank.resize(n);
    std::iota(c.visit_rank.begin(), c.visit_rank.end(), 0u);
    std::shuffle(c.visit_rank.begin(), c.visit_rank.end(), random);
  }
  c.ask = {static_cast<std::int32_t>(below(1000)), static_cast<std::int32_t>(below(2000)),
           static_cast<std::int32_t>(below(400))};
  if (kind == 2 && below(2)) c.ask.cpu_mhz = 16'001;  // fits nowhere
  return c;
}

}  // namespace berth::rank
