#include "rebalance/choice.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

namespace berth::rebalance {
namespace {

/// Nodes examined for a load before the search continues with those that fit in any case.
constexpr int kTries = 64;

/// A trial of one order: empties nodes one after the other, each completely or not at all.
class Trial {
 public:
  Trial(const Fleet& fleet, const Limits& limits)
      : fleet_(fleet), limits_(limits), sums_(fleet.mean_request()), targets_(fleet.parts) {
    free_.reserve(fleet.machines.size());
    for (std::uint32_t at = 0; at < fleet.machines.size(); ++at) {
      const Machine& machine = fleet.machines[at];
      free_.push_back(machine.free);
      sums_.add(packing_of(machine, machine.free));
      if (machine.accepts && machine.occupied()) targets_[machine.part].emplace(key(at), at);
    }
    received_.resize(fleet.machines.size());
  }

  void run(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t at : order) {
      const auto count = static_cast<std::int64_t>(fleet_.machines[at].loads.size());
      if (limits_.nodes && static_cast<std::int64_t>(emptied.size()) >= *limits_.nodes) return;
      if (received_[at] || (limits_.moves && moves + count > *limits_.moves)) continue;
      if (!empty(at)) continue;
      emptied.push_back(at);
      moves += count;
    }
  }

  std::vector<std::uint32_t> emptied;
  std::int64_t moves = 0;

  [[nodiscard]] double fragmentation() const { return sums_.packing().fragmentation; }

 private:
  /// Smallest free share of any resource: a load fits only if none of its shares is larger.
  [[nodiscard]] double key(std::uint32_t at) const {
    double out = std::numeric_limits<double>::max();
    for (std::size_t r = 0; r < kResources; ++r)
      if (fleet_.total[r] > 0)
        out = std::min(out, static_cast<double>(free_[at][r]) / static_cast<double>(fleet_.total[r]));
    return out;
  }
  [[nodiscard]] double smallest_share(const Amounts& asked) const {
    double out = std::numeric_limits<double>::max();
    for (std::size_t r = 0; r < kResources; ++r)
      if (fleet_.total[r] > 0)
        out = std::min(out, static_cast<double>(asked[r]) / static_cast<double>(fleet_.total[r]));
    return out;
  }

  /// The fullest node on which the load fits; the number of machines if there is none.
  [[nodiscard]] std::uint32_t find(const Load& load, std::uint32_t part) const {
    const auto& targets = targets_[part];
    const tables::ReadyNodes& hosts = fleet_.hosts.at(load.base_set);
    const auto fits = [&](std::uint32_t at) {
      for (std::size_t r = 0; r < kResources; ++r)
        if (load.asked[r] > free_[at][r]) return false;
      return hosts.has(fleet_.machines[at].row);
    };
    int tries = kTries;
    auto at = targets.lower_bound({smallest_share(load.asked), 0});
    for (; at != targets.end() && tries > 0; ++at, --tries)
      if (fits(at->second)) return at->second;
    at = targets.lower_bound({largest_share(load.asked, fleet_.total), 0});
    for (tries = kTries; at != targets.end() && tries > 0; ++at, --tries)
      if (fits(at->second)) return at->second;
    return static_cast<std::uint32_t>(fleet_.machines.size());
  }

  void take(std::uint32_t at, std::uint32_t part, const Amounts& asked, int sign) {
    targets_[part].erase({key(at), at});
    hold(at, asked, sign);
    targets_[part].emplace(key(at), at);
  }
  void hold(std::uint32_t at, const Amounts& asked, int sign) {
    sums_.remove(packing_of(fleet_.machines[at], free_[at]));
    for (std::size_t r = 0; r < kResources; ++r) free_[at][r] -= sign * asked[r];
    sums_.add(packing_of(fleet_.machines[at], free_[at]));
  }

  bool empty(std::uint32_t source) {
    const Machine& machine = fleet_.machines[source];
    const bool was_target = targets_[machine.part].erase({key(source), source}) > 0;
    std::vector<std::uint32_t> taken;
    for (const Load& load : machine.loads) {
      const std::uint32_t to = find(load, machine.part);
      if (to == fleet_.machines.size()) {
        for (std::size_t i = 0; i < taken.size(); ++i) take(taken[i], machine.part, machine.loads[i].asked, -1);
        if (was_target) targets_[machine.part].emplace(key(source), source);
        return false;
      }
      take(to, machine.part, load.asked, 1);
      taken.push_back(to);
    }
    for (const std::uint32_t to : taken) received_[to] = true;
    for (const Load& load : machine.loads) hold(source, load.least, -1);
    return true;
  }

  const Fleet& fleet_;
  const Limits& limits_;
  sim::PackingSums sums_;                                            // of all machines, by free_
  std::vector<Amounts> free_;                                        // by machine
  std::vector<std::set<std::pair<double, std::uint32_t>>> targets_;  // by part: machines that accept loads, by key()
  std::vector<bool> received_;
};

}  // namespace

std::vector<std::uint32_t> choose(const Fleet& fleet, const Limits& limits) {
  std::vector<std::uint32_t> able;
  for (std::uint32_t at = 0; at < fleet.machines.size(); ++at)
    if (fleet.machines[at].staying == 0 && !fleet.machines[at].loads.empty()) able.push_back(at);
  // Least held: little to place. Fewest allocations: most nodes within a limit of moves. Smallest nodes: the remaining
  // ones have most room.
  const std::array<std::function<double(const Machine&)>, 3> orders = {
      [&](const Machine& one) { return largest_share(one.held, fleet.total); },
      [](const Machine& one) { return static_cast<double>(one.loads.size()); },
      [&](const Machine& one) { return largest_share(one.room, fleet.total); }};
  std::vector<std::uint32_t> best;
  std::int64_t best_moves = 0;
  for (const auto& cost : orders) {
    std::vector<std::pair<double, double>> costs(fleet.machines.size());
    for (const std::uint32_t at : able)
      costs[at] = {cost(fleet.machines[at]), largest_share(fleet.machines[at].held, fleet.total)};
    std::vector<std::uint32_t> order = able;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return costs[a] < costs[b]; });
    Trial trial(fleet, limits);
    trial.run(order);
    if (trial.emptied.size() > best.size() || (trial.emptied.size() == best.size() && trial.moves < best_moves))
      best = std::move(trial.emptied), best_moves = trial.moves;
  }
  return best;
}

std::size_t enough(const Fleet& fleet, const std::vector<std::uint32_t>& sources, double fragmentation) {
  const Limits none;
  Trial trial(fleet, none);
  for (std::size_t count = 0; count < sources.size(); ++count) {
    if (trial.fragmentation() <= fragmentation) return count;
    trial.run({sources[count]});
  }
  return sources.size();
}

}  // namespace berth::rebalance
