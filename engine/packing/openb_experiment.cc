#include "packing/openb_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "base/sha256.h"
#include "packing/power.h"

namespace berth::packing {
namespace {

using strategy::kCpu;
using strategy::kGpu;
using strategy::kMemory;

constexpr std::size_t kArrivalsMax = 20'000'000;
constexpr std::int64_t kPercentMax = 130;

std::uint64_t u63(base::GoRand& stream) { return stream.next() & ~(std::uint64_t{1} << 63); }

/// R-STRAT-404: uniform in [0, m) by multiplication, rejecting the products that would favour some results.
std::uint32_t mulshift(base::GoRand& stream, std::uint32_t m) {
  const auto draw = [&] { return static_cast<std::uint32_t>(u63(stream) >> 31); };
  std::uint64_t product = static_cast<std::uint64_t>(draw()) * m;
  auto low = static_cast<std::uint32_t>(product);
  if (low < m) {
    const std::uint32_t limit = static_cast<std::uint32_t>(-m) % m;
    while (low < limit) {
      product = static_cast<std::uint64_t>(draw()) * m;
      low = static_cast<std::uint32_t>(product);
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

std::int64_t demand_of(const sim::OpenbTask& task) { return task.gpus * task.gpu_milli; }

std::string kind_of(const sim::OpenbTask& task) {
  return task.gpus == 0 ? "cpu" : task.gpu_milli < 1000 ? "part" : std::to_string(task.gpus);
}

/// Values in rows and per block of 64 rows, so that a sum after one change costs 64 + n/64 additions and its value
/// depends on the rows only, not on the order of changes.
class BlockedSum {
 public:
  explicit BlockedSum(std::size_t n) : values_(n), sums_((n + kBlock - 1) / kBlock) {}
  void set(std::size_t row, double value) {
    values_[row] = value;
    const std::size_t block = row / kBlock, end = std::min(values_.size(), (block + 1) * kBlock);
    double sum = 0;
    for (std::size_t i = block * kBlock; i < end; ++i) sum += values_[i];
    sums_[block] = sum;
  }
  [[nodiscard]] double total() const { return std::accumulate(sums_.begin(), sums_.end(), 0.0); }

 private:
  static constexpr std::size_t kBlock = 64;
  std::vector<double> values_, sums_;
};

/// One row per arrival, rounded as the reference printed them; `percent` never decreases.
struct Rows {
  std::vector<std::int32_t> percent;
  std::vector<double> allocation, fragment, ratio, power_kw;
};

double mean_of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return pairwise_sum(std::span(values).subspan(begin, end - begin)) / static_cast<double>(end - begin);
}

/// Gives each node its kind by power; none if the power of a model is unknown.
void add_rates(OpenbInput& out) {
  auto rates = std::make_shared<strategy::RateTable>();
  rates->power = true;
  for (const sim::OpenbNode& node : out.nodes) {
    const auto of_node = sim::openb_rates(node);
    if (!of_node) {
      out.node_kind.clear();
      return;
    }
    auto kind = std::find(rates->kinds.begin(), rates->kinds.end(), *of_node);
    if (kind == rates->kinds.end()) kind = rates->kinds.insert(kind, *of_node);
    out.node_kind.push_back(static_cast<std::uint16_t>(kind - rates->kinds.begin()));
  }
  out.context.rates = std::move(rates);
}

double half_even_cents(double value) { return std::nearbyint(value * 100) / 100; }

OpenbSeries series_of(const Rows& rows, std::int64_t percent_max, double gpus) {
  OpenbSeries out;
  const auto from = [&](std::int64_t percent) {
    return static_cast<std::size_t>(std::lower_bound(rows.percent.begin(), rows.percent.end(), percent) -
                                    rows.percent.begin());
  };
  for (std::int64_t percent = 0; percent <= percent_max; ++percent) {
    std::size_t begin = from(percent), end = from(percent + 1);
    if (begin == end) begin = from(percent - 1), end = from(percent + 2);
    if (begin == end) {
      const double none = std::numeric_limits<double>::quiet_NaN();
      out.allocation.push_back(none), out.fragment_amount.push_back(none), out.fragment_ratio.push_back(none);
      out.power_kw.push_back(none);
      continue;
    }
    out.allocation.push_back(half_even_cents(mean_of(rows.allocation, begin, end)));
    out.fragment_amount.push_back(half_even_cents(100 * mean_of(rows.fragment, begin, end) / 1000 / gpus));
    out.fragment_ratio.push_back(mean_of(rows.ratio, begin, end));
    out.power_kw.push_back(mean_of(rows.power_kw, begin, end));
  }
  return out;
}

}  // namespace

double rounded_to_cents(double value) {
  const double product = value * 100, floor = std::floor(product), part = product - floor;
  if (std::abs(part - 0.5) > 1e-3) return std::nearbyint(product) / 100;
  const double doubt = (part - 0.5) + std::fma(value, 100, -product);  // exact distance to the middle
  const bool up = doubt > 0 || (doubt == 0 && std::fmod(floor, 2) != 0);
  return (floor + up) / 100;
}

double pairwise_sum(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 8) return std::accumulate(values.begin(), values.end(), 0.0);
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
  }
  std::array<double, 8> sums{};
  std::copy_n(values.begin(), 8, sums.begin());
  std::size_t i = 8;
  for (; i < n - n % 8; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += values[i + lane];
  double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; i < n; ++i) sum += values[i];
  return sum;
}

Result<OpenbInput> openb_input(std::vector<sim::OpenbNode> nodes, const std::string& nodes_path,
                               std::vector<sim::OpenbTask> tasks) {
  OpenbInput out;
  out.nodes = std::move(nodes), out.tasks = std::move(tasks);
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(out.nodes.begin(), out.nodes.end(), by_name);
  std::sort(out.tasks.begin(), out.tasks.end(), by_name);
  for (const sim::OpenbNode& node : out.nodes) {
    if (node.gpus > static_cast<std::int64_t>(strategy::kDevicesMax))
      return tl::unexpected(InputError{nodes_path, "", fmt::format("node '{}' has {} GPUs", node.name, node.gpus),
                                       fmt::format("at most {} per node are supported", strategy::kDevicesMax)});
    out.gpus += node.gpus;
    auto model = std::find(out.models.begin(), out.models.end(), node.model);
    if (model == out.models.end()) {
      if (out.models.size() > UINT16_MAX)
        return tl::unexpected(InputError{nodes_path, "", "names more than 65,535 GPU models", "use fewer"});
      model = out.models.insert(out.models.end(), node.model);
    }
    out.node_model.push_back(static_cast<std::uint16_t>(model - out.models.begin()));
    strategy::Amounts& most = out.context.capacity_max;
    most[kCpu] = std::max(most[kCpu], static_cast<std::int32_t>(node.cpu_milli));
    most[kMemory] = std::max(most[kMemory], static_cast<std::int32_t>(node.memory_mib));
    most[kGpu] = std::max(most[kGpu], static_cast<std::int32_t>(node.gpus * 1000));
  }
  add_rates(out);
  if (out.gpus == 0)
    return tl::unexpected(InputError{nodes_path, "", "has no GPU", "the experiment measures GPUs: name another list"});

  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string_view>;
  std::map<Key, std::uint32_t> ids;
  std::vector<strategy::ShapeCount> shapes;
  for (std::uint32_t task = 0; task < out.tasks.size(); ++task) {
    const sim::OpenbTask& t = out.tasks[task];
    const auto [at, fresh] = ids.try_emplace(Key{t.cpu_milli, t.memory_mib, t.gpus, t.gpu_milli, t.gpu_spec},
                                             static_cast<std::uint32_t>(out.classes.size()));
    if (fresh) {
      out.classes.push_back(task);
      shapes.push_back({static_cast<std::int32_t>(t.cpu_milli), static_cast<std::int32_t>(t.gpus),
                        static_cast<std::int32_t>(t.gpu_milli), t.gpu_spec, 0});
    }
    ++shapes[at->second].count;
    out.task_class.push_back(at->second);
    const double count = static_cast<double>(out.tasks.size());
    out.context.demand_mean[kCpu] += static_cast<double>(t.cpu_milli) / count;
    out.context.demand_mean[kMemory] += static_cast<double>(t.memory_mib) / count;
    out.context.demand_mean[kGpu] += static_cast<double>(demand_of(t)) / count;
  }
  out.fragments = std::make_shared<strategy::FragmentTables>(strategy::typical_workload(std::move(shapes)), out.models);
  out.context.fragments = out.fragments;
  return out;
}

Result<OpenbOrder> openb_order(const OpenbInput& input, std::int64_t seed, std::int64_t tune_milli) {
  OpenbOrder out;
  out.stream.reseed(seed);
  static_cast<void>(u63(out.stream));
  const auto n = static_cast<std::uint32_t>(input.tasks.size());
  out.arrivals.resize(n);
  std::iota(out.arrivals.begin(), out.arrivals.end(), 0);
  for (std::uint32_t i = n; i-- > 1;) std::swap(out.arrivals[i], out.arrivals[mulshift(out.stream, i + 1)]);

  std::int64_t demand = 0;
  for (const sim::OpenbTask& task : input.tasks) demand += demand_of(task);
  const std::int64_t target = tune_milli * input.gpus;
  if (tune_milli > 0 && demand > 0 && demand < target) {
    // Clones tasks from the list in name order. As in the reference, the test counts one device of the drawn task, the
    // sum all of them.
    for (;;) {
      const std::uint32_t task = out.stream.bounded(n);
      if (demand + input.tasks[task].gpu_milli > target) break;
      out.arrivals.push_back(task);
      demand += demand_of(input.tasks[task]);
      if (out.arrivals.size() > kArrivalsMax)
        return tl::unexpected(InputError{"", "", fmt::format("more than {} arrivals would be needed", kArrivalsMax),
                                         "the tasks ask for too little GPU: name another list"});
    }
  } else if (tune_milli > 0 && demand > target) {
    while (demand > target) {
      const std::uint32_t at = out.stream.bounded(static_cast<std::uint32_t>(out.arrivals.size()));
      demand -= demand_of(input.tasks[out.arrivals[at]]);
      out.arrivals.erase(out.arrivals.begin() + at);
    }
  }
  out.demand_milli = demand;
  // The reference's background watchers consume these draws before the nodes are ordered.
  for (int i = 0; i < 10; ++i) static_cast<void>(u63(out.stream));
  out.rank.resize(input.nodes.size());
  for (std::uint32_t i = 0; i < out.rank.size(); ++i) {
    const std::uint32_t j = out.stream.bounded(i + 1);
    out.rank[i] = out.rank[j];
    out.rank[j] = i;
  }
  return out;
}

Result<OpenbRun> openb_run(const OpenbInput& input, const OpenbOrder& order, std::int64_t seed,
                           const strategy::Registry& strategies, const strategy::StrategySpec& spec,
                           bool keep_latency) {
  constexpr std::int32_t kTasksMax = 1001;  // R-STRAT-106
  const std::size_t n = input.nodes.size();
  std::vector<std::uint32_t> node_at(n);  // row -> node
  for (std::uint32_t node = 0; node < n; ++node) node_at[order.rank[node]] = node;
  std::vector<strategy::Fleet::NodeSpec> specs(n);
  for (std::size_t row = 0; row < n; ++row) {
    const sim::OpenbNode& node = input.nodes[node_at[row]];
    specs[row].capacity = {static_cast<std::int32_t>(node.cpu_milli), static_cast<std::int32_t>(node.memory_mib), 0, 0};
    specs[row].model = input.node_model[node_at[row]];
    specs[row].devices = static_cast<std::uint16_t>(node.gpus);
    if (!input.node_kind.empty()) specs[row].kind = input.node_kind[node_at[row]];
  }
  strategy::Fleet fleet(specs, kTasksMax);
  for (const std::uint32_t example : input.classes) {
    const sim::OpenbTask& task = input.tasks[example];
    strategy::TaskClass added;
    added.ask = {static_cast<std::int32_t>(task.cpu_milli), static_cast<std::int32_t>(task.memory_mib), 0, 0};
    added.gpus = static_cast<std::int32_t>(task.gpus), added.gpu_milli = static_cast<std::int32_t>(task.gpu_milli);
    if (task.gpu_spec.find_first_not_of('|') != std::string::npos) {
      std::vector<bool> accepted;
      for (const std::string& model : input.models) accepted.push_back(strategy::spec_accepts(task.gpu_spec, model));
      added.eligible.assign((n + 63) / 64, 0);
      for (std::size_t row = 0; row < n; ++row)
        if (accepted[specs[row].model]) added.eligible[row / 64] |= std::uint64_t{1} << (row % 64);
    }
    fleet.add_class(std::move(added));
  }
  OpenbRun out;
  out.strategy = spec.name, out.seed = seed, out.arrivals = order.arrivals.size();
  strategy::Context context = input.context;
  auto stream = std::make_shared<base::GoRand>(order.stream);
  context.draw = [stream](std::uint32_t bound) { return stream->bounded(bound); };
  auto made = strategies.make(spec, context);
  if (!made) return tl::unexpected(made.error());
  strategy::Ranker& ranker = **made;

  BlockedSum fragments(n);
  const auto measure = [&](std::size_t row) {
    const strategy::Node node = fleet.node(static_cast<strategy::Row>(row));
    fragments.set(row, input.fragments->exact(node.state.model, node.free(kCpu), node.devices));
  };
  for (std::size_t row = 0; row < n; ++row) measure(row);
  std::optional<PowerMeter> meter;
  if (context.rates) meter.emplace(fleet, *context.rates, std::vector<double>{});
  const auto gpus = static_cast<double>(input.gpus);
  Rows rows;
  for (auto* column : {&rows.allocation, &rows.fragment, &rows.ratio, &rows.power_kw})
    column->reserve(order.arrivals.size());
  rows.percent.reserve(order.arrivals.size());
  base::Sha256 digest;
  std::string line;
  const auto append = [&line](std::size_t number) {
    char digits[20];
    line.append(digits, std::to_chars(digits, std::end(digits), number).ptr);
  };
  double fragment = fragments.total();
  for (std::size_t k = 0; k < order.arrivals.size(); ++k) {
    const sim::OpenbTask& task = input.tasks[order.arrivals[k]];
    const strategy::ClassId id = input.task_class[order.arrivals[k]];
    const auto begin = std::chrono::steady_clock::now();
    const auto choice = ranker.choose(fleet, id);
    if (choice) fleet.place(choice->row, id, choice->devices);
    const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin);
    out.decide_s += static_cast<double>(taken.count()) * 1e-9;
    if (keep_latency) out.latency.record(taken.count());
    out.arrived_milli += demand_of(task);
    line.clear();
    append(k);
    line.append(1, ',').append(task.name).append(1, ',');
    if (choice) {
      ++out.placed;
      out.allocated_milli += demand_of(task);
      measure(choice->row);
      fragment = fragments.total();
      line.append(input.nodes[node_at[choice->row]].name).append(1, ',');
      for (strategy::DeviceMask rest = choice->devices; rest != 0; rest &= rest - 1) {
        if (rest != choice->devices) line += '-';
        append(static_cast<std::size_t>(std::countr_zero(rest)));
      }
      line += '\n';
    } else {
      ++out.failed[kind_of(task)];
      line += "-,\n";
    }
    digest.add(line);
    const std::int64_t idle = input.capacity_milli() - out.allocated_milli;
    rows.percent.push_back(
        static_cast<std::int32_t>(std::nearbyint(static_cast<double>(out.arrived_milli) / gpus / 10)));
    rows.allocation.push_back(rounded_to_cents(static_cast<double>(out.allocated_milli) / gpus / 10));
    rows.fragment.push_back(rounded_to_cents(fragment));
    rows.power_kw.push_back(meter ? meter->power_kw(fleet) : std::numeric_limits<double>::quiet_NaN());
    rows.ratio.push_back(idle == 0 ? 0 : rounded_to_cents(100 * fragment / static_cast<double>(idle)));
  }
  out.idle_milli = input.capacity_milli() - out.allocated_milli;
  out.fragment = fragment;
  out.digest = digest.hex().substr(0, 16);
  out.series = series_of(rows, kPercentMax, gpus);
  const auto capacity = fleet.capacity_total(), free = fleet.free_total();
  out.cpu_capacity = capacity[kCpu], out.cpu_used = capacity[kCpu] - free[kCpu];
  out.memory_capacity = capacity[kMemory], out.memory_used = capacity[kMemory] - free[kMemory];
  for (std::size_t row = 0; row < n; ++row) {
    const strategy::Node node = fleet.node(static_cast<strategy::Row>(row));
    const auto cases = input.fragments->cases(node.state.model, node.free(kCpu), node.devices);
    for (std::size_t c = 0; c < cases.size(); ++c) out.cases[c] += cases[c];
    std::uint64_t used = 0;
    for (const std::int16_t g : node.devices) used += g < strategy::kWholeDevice;
    out.devices_used += used;
    out.nodes_used += used > 0 || node.used(kCpu) > 0;
  }
  return out;
}

}  // namespace berth::packing
