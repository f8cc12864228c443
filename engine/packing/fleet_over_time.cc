#include "packing/fleet_over_time.h"

#include <algorithm>

namespace berth::packing {
namespace {

using strategy::kCpu;
using strategy::kMemory;

/// At most `most` of the distinct values, evenly spaced and the greatest included.
std::vector<std::int32_t> sizes_of(std::vector<std::int32_t> values, std::size_t most) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() <= most) return values;
  std::vector<std::int32_t> out;
  for (std::size_t i = 1; i <= most; ++i) out.push_back(values[i * values.size() / most - 1]);
  return out;
}
/// Number of the sizes that are at most `amount`.
std::size_t fitting(const std::vector<std::int32_t>& sizes, std::int32_t amount) {
  return static_cast<std::size_t>(std::upper_bound(sizes.begin(), sizes.end(), amount) - sizes.begin());
}
/// 1 + index of the first size that is at least `amount`.
std::size_t rounded_up(const std::vector<std::int32_t>& sizes, std::int32_t amount) {
  return 1 + static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), amount) - sizes.begin());
}

}  // namespace

FleetOverTime::FleetOverTime(const strategy::Fleet& fleet, const sim::PackingProblem& problem) {
  std::vector<std::uint64_t> asked(problem.classes.size(), 0);
  for (const sim::PackingArrival& a : problem.arrivals) asked[a.task] += a.count;
  std::vector<std::int32_t> cpus, memories;
  for (std::size_t task = 0; task < asked.size(); ++task)
    if (asked[task] > 0) {
      cpus.push_back(problem.classes[task].ask[kCpu]);
      memories.push_back(problem.classes[task].ask[kMemory]);
    }
  cpus_ = sizes_of(std::move(cpus), kSizesMax), memories_ = sizes_of(std::move(memories), kSizesMax);
  const std::size_t width = memories_.size() + 1;
  table_.assign((cpus_.size() + 1) * width, 0);
  const auto all = static_cast<double>(problem.asked());
  for (std::size_t task = 0; task < asked.size(); ++task)
    if (const strategy::Amounts& ask = problem.classes[task].ask; asked[task] > 0)
      table_[rounded_up(cpus_, ask[kCpu]) * width + rounded_up(memories_, ask[kMemory])] +=
          static_cast<double>(asked[task]) / all;
  for (std::size_t i = 1; i <= cpus_.size(); ++i)
    for (std::size_t j = 1; j < width; ++j)
      table_[i * width + j] += at_most(i - 1, j) + at_most(i, j - 1) - at_most(i - 1, j - 1);
  nodes_.resize(fleet.size());
  for (strategy::Row row = 0; row < fleet.size(); ++row) update(fleet, row);
  seen_ = fleet.changes().size();
}

FleetOverTime::Missing FleetOverTime::missing(std::int32_t cpu, std::int32_t memory) const {
  const std::size_t i = fitting(cpus_, cpu), j = fitting(memories_, memory);
  const double both = at_most(i, j);
  return {.memory = at_most(i, memories_.size()) - both, .cpu = at_most(cpus_.size(), j) - both};
}

FleetOverTime::Sums& FleetOverTime::Sums::add(const Sums& other, double weight) {
  empty += weight * other.empty, cpu += weight * other.cpu, memory += weight * other.memory;
  return *this;
}

void FleetOverTime::update(const strategy::Fleet& fleet, strategy::Row row) {
  const strategy::NodeState& node = fleet.node(row).state;
  const Missing share = missing(node.free[kCpu], node.free[kMemory]);
  const Sums is = {.empty = node.tasks == 0 ? 1.0 : 0.0,
                   .cpu = node.free[kCpu] * share.memory,
                   .memory = node.free[kMemory] * share.cpu};
  now_.add(nodes_[row], -1).add(is, 1);
  nodes_[row] = is;
}

void FleetOverTime::follow(const strategy::Fleet& fleet) {
  for (; seen_ < fleet.changes().size(); ++seen_) update(fleet, fleet.changes()[seen_]);
}

void FleetOverTime::advance(const strategy::Fleet& fleet, std::int64_t now_ns) {
  follow(fleet);
  if (since_ns_ >= 0) {
    const double passed_s = static_cast<double>(now_ns - since_ns_) / 1e9;
    past_.add(now_, passed_s), duration_s_ += passed_s;
  }
  since_ns_ = now_ns;
}

FleetMeans FleetOverTime::means(const strategy::Fleet& fleet) {
  follow(fleet);
  Sums mean = now_;
  if (duration_s_ > 0) mean = Sums{}.add(past_, 1 / duration_s_);
  const auto capacity = fleet.capacity_total();
  // Rounding of the sums may leave a little less than 0.
  const auto percent = [](double part, double whole) { return whole > 0 ? std::max(0.0, 100 * part / whole) : 0; };
  return {.empty_nodes = percent(mean.empty, static_cast<double>(fleet.size())),
          .cpu_without_memory = percent(mean.cpu, static_cast<double>(capacity[kCpu])),
          .memory_without_cpu = percent(mean.memory, static_cast<double>(capacity[kMemory]))};
}

}  // namespace berth::packing
