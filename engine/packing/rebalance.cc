#include "packing/rebalance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <queue>

namespace berth::packing {
namespace {

using strategy::Fleet;
using strategy::kCpu;
using strategy::kGpu;
using strategy::Row;

constexpr std::int32_t kLittleCpu = 2000, kMuchOfADevice = 500;  // R-STRAT-832

constexpr std::array<RebalanceInfo, 3> kRebalanceRules = {{
    {"cosine", RebalanceRule::cosine,
     "nodes with less than 2000 of cpu and more than half a device free: the task least like what it would leave free",
     "R-STRAT-832; descheduler of Weng et al., USENIX ATC 2023", "O(m + n log n)"},
    {"fragments-one", RebalanceRule::fragments_one,
     "nodes by F, greatest first: the task with the greatest F - F after it left, one per node",
     "R-STRAT-833; descheduler of Weng et al., USENIX ATC 2023", "O(n log n), and the fragment measure per task"},
    {"fragments-many", RebalanceRule::fragments_many,
     "the node with the greatest F again and again: its task with the greatest F - F after it left",
     "R-STRAT-834; descheduler of Weng et al., USENIX ATC 2023",
     "O(e log n), and the fragment measure per task and per task of a node after each eviction"},
}};

/// Tasks of every row, as positions in `placed`, ascending.
std::vector<std::vector<std::uint32_t>> tasks_by_row(std::size_t rows, std::span<const PlacedTask> placed) {
  std::vector<std::vector<std::uint32_t>> out(rows);
  for (std::uint32_t i = 0; i < placed.size(); ++i) out[placed[i].row].push_back(i);
  return out;
}

class Chooser {
 public:
  Chooser(Fleet fleet, std::span<const PlacedTask> placed, const strategy::FragmentTables* fragments,
          std::span<const std::uint32_t> name_rank)
      : fleet_(std::move(fleet)),
        placed_(placed),
        fragments_(fragments),
        name_rank_(name_rank),
        tasks_(tasks_by_row(fleet_.size(), placed)) {}

  std::vector<std::uint32_t> by_cosine(std::size_t budget) const {
    std::vector<Row> rows;
    for (Row row = 0; row < fleet_.size(); ++row) {
      const strategy::Node node = fleet_.node(row);
      if (node.free(kCpu) < kLittleCpu && std::any_of(node.devices.begin(), node.devices.end(),
                                                      [](std::int16_t free) { return free > kMuchOfADevice; }))
        rows.push_back(row);
    }
    sort(rows, [&](Row row) { return static_cast<double>(fleet_.node(row).free(kGpu)); });
    std::vector<std::uint32_t> out;
    for (const Row row : rows) {
      if (out.size() == budget) break;
      std::optional<std::uint32_t> least;
      double least_cosine = 1;
      for (const std::uint32_t i : tasks_[row])
        if (const double cosine = cosine_after(row, i); cosine < least_cosine) least = i, least_cosine = cosine;
      if (least) out.push_back(*least);
    }
    return out;
  }

  std::vector<std::uint32_t> one_per_node(std::size_t budget) const {
    std::vector<Row> rows;
    for (Row row = 0; row < fleet_.size(); ++row)
      if (!fleet_.node(row).devices.empty()) rows.push_back(row);
    sort(rows, [&](Row row) { return fragment(row); });
    std::vector<std::uint32_t> out;
    for (const Row row : rows) {
      if (out.size() == budget) break;
      if (const auto best = best_of(row)) out.push_back(*best);
    }
    return out;
  }

  std::vector<std::uint32_t> many_per_node(std::size_t budget) {
    struct Entry {
      double amount;
      std::uint32_t name_rank;
      Row row;
      bool operator<(const Entry& other) const {
        return amount != other.amount ? amount < other.amount : name_rank > other.name_rank;
      }
    };
    std::priority_queue<Entry> queue;
    for (Row row = 0; row < fleet_.size(); ++row)
      if (!fleet_.node(row).devices.empty()) queue.push({fragment(row), name_rank_[row], row});
    std::vector<std::uint32_t> out;
    while (!queue.empty() && out.size() < budget) {
      const Row row = queue.top().row;
      queue.pop();
      const auto best = best_of(row);
      if (!best) continue;
      out.push_back(*best);
      std::erase(tasks_[row], *best);
      fleet_.remove(row, placed_[*best].task, placed_[*best].devices);
      queue.push({fragment(row), name_rank_[row], row});
    }
    return out;
  }

 private:
  template <class Key>
  void sort(std::vector<Row>& rows, Key key) const {  // greatest key first
    std::vector<std::pair<double, Row>> keyed;
    for (const Row row : rows) keyed.emplace_back(key(row), row);
    std::sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : name_rank_[a.second] < name_rank_[b.second];
    });
    std::transform(keyed.begin(), keyed.end(), rows.begin(), [](const auto& one) { return one.second; });
  }
  /// Cosine of the angle between (cpu, gpu) of the task and of the free amounts without it; 1 if either is zero.
  [[nodiscard]] double cosine_after(Row row, std::uint32_t i) const {
    const strategy::TaskClass& task = fleet_.task_class(placed_[i].task);
    const strategy::Node node = fleet_.node(row);
    const double cpu = task.ask[kCpu], gpu = task.ask[kGpu], free_cpu = node.free(kCpu) + cpu,
                 free_gpu = node.free(kGpu) + gpu;
    const double lengths = std::sqrt(cpu * cpu + gpu * gpu) * std::sqrt(free_cpu * free_cpu + free_gpu * free_gpu);
    return lengths == 0 ? 1 : (cpu * free_cpu + gpu * free_gpu) / lengths;
  }
  [[nodiscard]] double fragment(Row row) const {
    const strategy::Node node = fleet_.node(row);
    return fragments_->exact(node.state.model, node.free(kCpu), node.devices);
  }
  /// The task whose removal reduces F most, in whole thousandths; nullopt if none reduces it.
  [[nodiscard]] std::optional<std::uint32_t> best_of(Row row) const {
    const strategy::Node node = fleet_.node(row);
    const double now = fragment(row);
    std::optional<std::uint32_t> best;
    double best_gain = 0;
    std::vector<std::int16_t> devices;
    for (const std::uint32_t i : tasks_[row]) {
      const strategy::TaskClass& task = fleet_.task_class(placed_[i].task);
      devices.assign(node.devices.begin(), node.devices.end());
      for (std::size_t d = 0; d < devices.size(); ++d)
        if ((placed_[i].devices >> d & 1) != 0) devices[d] = static_cast<std::int16_t>(devices[d] + task.gpu_milli);
      const double gain =
          std::trunc(now - fragments_->exact(node.state.model, node.free(kCpu) + task.ask[kCpu], devices));
      if (gain > best_gain) best = i, best_gain = gain;
    }
    return best;
  }

  Fleet fleet_;
  std::span<const PlacedTask> placed_;
  const strategy::FragmentTables* fragments_;
  std::span<const std::uint32_t> name_rank_;
  std::vector<std::vector<std::uint32_t>> tasks_;
};

}  // namespace

std::span<const RebalanceInfo> rebalance_rules() { return kRebalanceRules; }

std::vector<std::uint32_t> choose_evictions(RebalanceRule rule, Fleet fleet, std::span<const PlacedTask> placed,
                                            const strategy::FragmentTables* fragments,
                                            std::span<const std::uint32_t> name_rank, std::size_t budget) {
  Chooser chooser(std::move(fleet), placed, fragments, name_rank);
  if (rule == RebalanceRule::cosine) return chooser.by_cosine(budget);
  if (!fragments) return {};  // no task requests devices
  return rule == RebalanceRule::fragments_one ? chooser.one_per_node(budget) : chooser.many_per_node(budget);
}

Result<RebalanceRun> replay_rebalance(const sim::PackingProblem& problem, const strategy::Context& context,
                                      const std::vector<std::uint32_t>& order, const RebalanceOptions& options,
                                      const strategy::Registry& strategies, const strategy::StrategySpec& spec,
                                      RebalanceRule rule) {
  Fleet fleet{std::span<const Fleet::NodeSpec>{}};
  std::vector<PlacedTask> placed;
  const auto packed = replay_packing(problem, context, order,
                                     {.seed = options.seed, .after = &fleet, .placed = &placed}, strategies, spec);
  if (!packed) return tl::unexpected(packed.error());
  auto made = strategies.make(spec, with_draws(context, options.seed));
  if (!made) return tl::unexpected(made.error());
  strategy::Ranker& ranker = **made;

  RebalanceRun out;
  out.asked = packed->asked, out.placed = packed->placed, out.before = packed->quality;
  const auto budget = static_cast<std::size_t>(std::ceil(options.ratio * static_cast<double>(placed.size())));
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::uint32_t> victims =
      choose_evictions(rule, fleet, placed, context.fragments.get(), order, budget);
  const auto taken = std::chrono::steady_clock::now() - begin;
  out.evicted = victims.size();
  if (!victims.empty())
    out.choose_us_each = std::chrono::duration<double, std::micro>(taken).count() / static_cast<double>(victims.size());
  std::vector<bool> away(placed.size());
  for (const std::uint32_t v : victims) {
    fleet.remove(placed[v].row, placed[v].task, placed[v].devices);
    away[v] = true;
  }
  std::vector<std::uint64_t> hosts((fleet.size() + 63) / 64);
  std::uint64_t digest = base::mix64(std::stoull(packed->digest, nullptr, 16));
  for (const std::uint32_t v : victims) {
    PlacedTask& task = placed[v];
    strategy::Exclusion without;
    if (task.distinct_hosts) {
      std::fill(hosts.begin(), hosts.end(), 0);
      for (std::size_t i = 0; i < placed.size(); ++i)
        if (!away[i] && placed[i].job == task.job) hosts[placed[i].row / 64] |= std::uint64_t{1} << placed[i].row % 64;
      without = strategy::Exclusion(hosts);
    }
    const auto choice = ranker.choose(fleet, task.task, without);
    digest = base::mix64(digest ^ (choice ? order[choice->row] : ~std::uint64_t{0}));
    if (!choice) continue;
    fleet.place(choice->row, task.task, choice->devices);
    away[v] = false;
    ++out.again;
    out.moved += choice->row != task.row;
    task.row = choice->row, task.devices = choice->devices;
  }
  out.after = measure_quality(fleet, context);
  out.digest = fmt::format("{:016x}", digest);
  return out;
}

}  // namespace berth::packing
