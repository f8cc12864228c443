#include "packing/replay.h"

#include <chrono>
#include <cmath>
#include <optional>

#include "base/go_rand.h"
#include "packing/episode.h"
#include "strategy/fragments.h"

namespace berth::packing {
namespace {

using strategy::kCpu;
using strategy::kDimensions;
using strategy::kGpu;
using Steady = std::chrono::steady_clock;

void add_to_mean(PackingQuality& mean, const PackingQuality& one, double weight) {
  for (std::size_t d = 0; d < kDimensions; ++d) {
    mean.used_percent[d] += weight * one.used_percent[d];
    mean.stranded_percent[d] += weight * one.stranded_percent[d];
  }
  mean.fragmentation_percent += weight * one.fragmentation_percent;
  mean.gpu_fragment_percent += weight * one.gpu_fragment_percent;
  mean.nodes_used_percent += weight * one.nodes_used_percent;
  mean.balance += weight * one.balance;
}

/// The measures of a fleet over time.
class OverTime {
 public:
  /// All must outlive the episode.
  OverTime(const strategy::Fleet& fleet, const sim::PackingProblem& problem, PackingEpisode& episode, bool departures)
      : means_(fleet, problem) {
    if (problem.rates) power_.emplace(fleet, *problem.rates, problem.carbon);
    episode.measure([this, &fleet, departures](std::int64_t now_ns) {
      if (departures) means_.advance(fleet, now_ns);
      if (power_) power_->advance(fleet, now_ns);
    });
  }
  OverTime(const OverTime&) = delete;
  OverTime& operator=(const OverTime&) = delete;

  [[nodiscard]] double power_kw(const strategy::Fleet& fleet) { return power_ ? power_->power_kw(fleet) : 0; }
  void finish(const strategy::Fleet& fleet, PackingRun& out) {
    out.over_time = means_.means(fleet);
    if (power_) out.power = power_->use(fleet);
  }

 private:
  FleetOverTime means_;
  std::optional<PowerMeter> power_;
};

}  // namespace

void Regret::record(std::span<const double> scores, strategy::Exclusion without, strategy::Row chosen) {
  double best = scores[chosen];
  for (strategy::Row row = 0; row < scores.size(); ++row)
    if (scores[row] > best && !strategy::excluded(without, row)) best = scores[row];
  const double lost = best - scores[chosen];
  ++decisions, not_best += lost > 0, sum += lost;
  billionths.record(static_cast<std::int64_t>(std::min(lost * 1e9, 9e18)));
}

PackingQuality measure_quality(const strategy::Fleet& fleet, const strategy::Context& context) {
  PackingQuality out;
  const std::size_t n = fleet.size();
  if (n == 0) return out;
  std::array<std::int64_t, kDimensions> reference{};
  for (std::size_t d = 0; d < kDimensions; ++d)
    reference[d] = static_cast<std::int64_t>(std::ceil(context.demand_mean[d]));
  const auto fits = [&](const auto& free) {
    std::int64_t count = INT64_MAX;
    for (std::size_t d = 0; d < kDimensions; ++d)
      if (reference[d] > 0) count = std::min<std::int64_t>(count, free[d] / reference[d]);
    return count == INT64_MAX ? 0 : count;
  };
  const auto capacity = fleet.capacity_total(), free = fleet.free_total();
  std::array<std::int64_t, kDimensions> stranded{};
  std::int64_t fitting = 0;
  double nodes_used = 0, fragments = 0, sum = 0, squares = 0;
  for (std::size_t row = 0; row < n; ++row) {
    const strategy::Node node = fleet.node(static_cast<strategy::Row>(row));
    const std::int64_t here = fits(node.state.free);
    fitting += here;
    double most = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      if (here == 0) stranded[d] += node.state.free[d];
      if (const double c = node.state.capacity[d]; c > 0) most = std::max(most, 100 * (c - node.state.free[d]) / c);
    }
    sum += most, squares += most * most;
    nodes_used += node.state.tasks > 0;
    if (context.fragments && !node.devices.empty())
      fragments += context.fragments->exact(node.state.model, node.free(kCpu), node.devices);
  }
  const auto percent = [](double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; };
  for (std::size_t d = 0; d < kDimensions; ++d) {
    const auto whole = static_cast<double>(capacity[d]);
    out.used_percent[d] = percent(static_cast<double>(capacity[d] - free[d]), whole);
    out.stranded_percent[d] = percent(static_cast<double>(stranded[d]), whole);
  }
  const std::int64_t pooled = fits(free);
  out.fragmentation_percent = pooled == 0 ? 0 : 100 * (1 - static_cast<double>(fitting) / static_cast<double>(pooled));
  out.gpu_fragment_percent = percent(fragments, static_cast<double>(capacity[kGpu]));
  const auto count = static_cast<double>(n);
  out.nodes_used_percent = percent(nodes_used, count);
  out.balance = std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
  return out;
}

strategy::Context with_draws(strategy::Context context, std::int64_t seed) {
  auto random = std::make_shared<base::GoRand>(seed);
  context.draw = [random](std::uint32_t bound) { return random->bounded(bound); };
  return context;
}

Result<PackingRun> replay_packing(const sim::PackingProblem& problem, const strategy::Context& context,
                                  const std::vector<std::uint32_t>& order, const ReplayOptions& options,
                                  const strategy::Registry& strategies, const strategy::StrategySpec& spec) {
  const bool departures = options.departures, measures = (departures || options.moments) && !options.stop_at_miss;
  strategy::Context own = with_draws(context, options.seed);
  own.run_times = options.run_times;
  auto made = strategies.make(spec, own);
  if (!made) return tl::unexpected(made.error());
  strategy::Ranker& ranker = **made;
  strategy::Fleet fleet = sim::fleet_of(problem, order, options.with_load);
  PackingEpisode episode(problem, order, departures);
  if (const auto error = ranker.prediction_error())
    episode.predict(fleet, {.error = *error, .seed = static_cast<std::uint64_t>(options.seed)});
  std::optional<OverTime> over_time;
  if (measures) over_time.emplace(fleet, problem, episode, departures);
  PackingRun out;
  std::uint64_t moments = 0;
  std::int64_t decide_ns = 0;
  while (episode.next_arrival(fleet)) {
    const sim::PackingArrival& arrival = episode.arrival();
    for (std::uint32_t k = 0; k < arrival.count; ++k) {
      ++out.asked;
      const auto begin = Steady::now();
      const auto choice = ranker.choose(fleet, arrival.task, episode.exclusion());
      if (choice) fleet.place(choice->row, arrival.task, choice->devices);
      const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - begin).count();
      decide_ns += taken;
      out.latency.record(taken);
      if (!choice) {
        if (options.stop_at_miss) return out;
        episode.missed();
        continue;
      }
      if (const auto scores = ranker.scores_of_all(); measures && !scores.empty())
        out.regret.record(scores, episode.exclusion(), choice->row);
      ++out.placed;
      episode.placed(*choice, fleet);
      if (options.placed)
        options.placed->push_back({choice->row, arrival.task, choice->devices, arrival.job, arrival.distinct_hosts});
    }
    // Evenly spaced over the arrivals, the last one included.
    if (const std::uint64_t now = episode.arrived() * kMoments / problem.arrivals.size(); now > moments && measures) {
      const PackingQuality quality = measure_quality(fleet, context);
      if (departures) add_to_mean(out.quality, quality, static_cast<double>(now - moments) / kMoments);
      if (options.moments)
        out.moments.push_back(
            {100.0 * static_cast<double>(now) / kMoments, out.placed_percent(), quality, over_time->power_kw(fleet)});
      moments = now;
    }
  }
  if (options.stop_at_miss) return out;
  if (over_time) over_time->finish(fleet, out);
  if (!departures || problem.arrivals.empty()) out.quality = measure_quality(fleet, context);
  out.priority_placed_percent = episode.priority_placed_percent();
  out.decide_s = static_cast<double>(decide_ns) * 1e-9;
  out.digest = episode.digest();
  if (options.after) *options.after = std::move(fleet);
  return out;
}

Result<CapacityRun> measure_capacity(const sim::PackingProblem& problem, strategy::Context context,
                                     strategy::Fleet fleet, const strategy::TaskClass* task, std::int64_t seed,
                                     const strategy::Registry& strategies, const strategy::StrategySpec& spec,
                                     std::size_t misses_max) {
  constexpr std::uint64_t kFittedMax = 100'000'000;
  auto made = strategies.make(spec, with_draws(std::move(context), seed));
  if (!made) return tl::unexpected(made.error());
  strategy::Ranker& ranker = **made;
  CapacityRun out;
  const auto place = [&](strategy::ClassId id) {
    const auto choice = ranker.choose(fleet, id);
    if (choice) fleet.place(choice->row, id, choice->devices), ++out.fitted;
    return choice.has_value();
  };
  const auto asks_nothing = [](const strategy::TaskClass& t) { return t.ask == strategy::Amounts{} && t.gpus == 0; };
  if (task) {
    // A task that requests nothing fits without limit.
    if (asks_nothing(*task))
      return tl::unexpected(InputError{"--task", "", "asks nothing", "name an amount, e.g. cpu=1000"});
    const strategy::ClassId id = fleet.add_class(*task);
    while (place(id) && out.fitted < kFittedMax) {
    }
    out.until_first_miss = out.fitted;
    return out;
  }
  std::vector<std::pair<std::uint64_t, strategy::ClassId>> cumulated;
  std::uint64_t total = 0;
  for (const sim::PackingArrival& a : problem.arrivals)
    if (a.count > 0 && !asks_nothing(problem.classes[a.task])) cumulated.emplace_back(total += a.count, a.task);
  if (total == 0) return out;
  base::Random random(static_cast<std::uint64_t>(seed), "capacity");
  bool missed = false;
  for (std::size_t misses = 0; misses < misses_max && out.fitted < kFittedMax;) {
    const std::uint64_t at = random.below(total);
    const auto drawn = std::upper_bound(cumulated.begin(), cumulated.end(), at,
                                        [](std::uint64_t value, const auto& entry) { return value < entry.first; });
    if (place(drawn->second)) {
      out.until_first_miss += !missed;
    } else {
      missed = true, ++misses;
    }
  }
  return out;
}

}  // namespace berth::packing
