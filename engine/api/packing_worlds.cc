// Implements PackingWorlds of include/berth/packing.h. One fleet has the rows of all worlds, world by world, so that
// their states are one array; an episode per world has its tasks.
#include <limits>

#include "api/packing_trial.h"
#include "base/assert.h"
#include "model/job.h"
#include "packing/episode.h"
#include "strategy/mask_columns.h"

namespace berth {
namespace {

using strategy::Row;

/// A fleet of `count` copies of the trial's nodes, each with the load that ran before the start.
strategy::Fleet fleet_of_copies(const sim::PackingProblem& problem, const std::vector<std::uint32_t>& order,
                                std::size_t count) {
  std::vector<std::uint32_t> rows;
  rows.reserve(count * order.size());
  for (std::size_t copy = 0; copy < count; ++copy) rows.insert(rows.end(), order.begin(), order.end());
  strategy::Fleet fleet = sim::fleet_of(problem, rows, false);
  std::vector<Row> row_of(problem.nodes.size());
  for (Row row = 0; row < order.size(); ++row) row_of[order[row]] = row;
  for (std::size_t copy = 0; copy < count; ++copy)
    for (const auto& load : problem.load) {
      const auto row = static_cast<Row>(copy * order.size() + row_of[load.node]);
      const strategy::TaskClass& task = fleet.task_class(load.task);
      if (fleet.holds(row, task))
        fleet.place(row, load.task, strategy::choose_devices(fleet.node(row), task, strategy::DeviceRule::best));
    }
  return fleet;
}

}  // namespace

struct PackingWorlds::Impl {
  Impl(const PackingTrial& of, std::size_t worlds)
      : trial(of.prepared_),
        nodes(trial->order.size()),
        fleet(fleet_of_copies(trial->problem, trial->order, worlds)),
        columns(fleet, worlds),
        masks(worlds * nodes),
        tasks(worlds),
        left_of_arrival(worlds),
        ended(worlds) {
    for (const auto& node : trial->problem.nodes) device_stride = std::max<std::size_t>(device_stride, node.devices);
    for (std::size_t world = 0; world < worlds; ++world) {
      episodes.emplace_back(trial->problem, trial->order, trial->workload.departures, first_row(world));
      static_cast<void>(advance(world));
    }
  }

  [[nodiscard]] Row first_row(std::size_t world) const { return static_cast<Row>(world * nodes); }
  [[nodiscard]] std::span<std::uint8_t> mask(std::size_t world) {
    return std::span(masks).subspan(world * nodes, nodes);
  }

  /// No strategy scans this fleet, so its changes are needed only once.
  void follow_changes() {
    for (const Row row : fleet.changes()) columns.refresh(row);
    fleet.forget_changes();
  }

  /// Goes to the next task that fits, and returns how many did not.
  std::int32_t advance(std::size_t world) {
    packing::PackingEpisode& episode = episodes[world];
    std::int32_t missed = 0;
    for (;;) {
      while (left_of_arrival[world] == 0) {
        if (!episode.next_arrival(fleet)) {
          ended[world] = 1;
          std::ranges::fill(mask(world), std::uint8_t{0});
          tasks[world] = {};
          return missed;
        }
        left_of_arrival[world] = episode.arrival().count;
      }
      follow_changes();
      if (columns.fill(world, episode.arrival().task, episode.exclusion(), mask(world))) break;
      for (; left_of_arrival[world] > 0; --left_of_arrival[world]) episode.missed(), ++missed;
    }
    const strategy::TaskClass& task = fleet.task_class(episode.arrival().task);
    tasks[world] = {task.ask, task.gpus, task.gpu_milli, task.priority};
    return missed;
  }

  std::int32_t step(std::size_t world, std::int64_t row) {
    if (ended[world] != 0) return 0;
    packing::PackingEpisode& episode = episodes[world];
    std::int32_t missed = 0;
    if (row >= 0 && static_cast<std::size_t>(row) < nodes && mask(world)[static_cast<std::size_t>(row)] != 0) {
      const strategy::ClassId id = episode.arrival().task;
      const Row at = first_row(world) + static_cast<Row>(row);
      const strategy::DeviceMask devices =
          strategy::choose_devices(fleet.node(at), fleet.task_class(id), strategy::DeviceRule::best);
      fleet.place(at, id, devices);
      episode.placed({static_cast<Row>(row), devices, 0}, fleet);
    } else {
      episode.missed(), missed = 1;
    }
    --left_of_arrival[world];
    return missed + advance(world);
  }

  std::shared_ptr<const PackingTrial::Prepared> trial;
  std::size_t nodes, device_stride = 0;
  strategy::Fleet fleet;
  strategy::MaskColumns columns;  ///< of the fleet, as of its last change that was followed
  std::vector<packing::PackingEpisode> episodes;
  std::vector<std::uint8_t> masks;
  std::vector<Task> tasks;
  std::vector<std::uint32_t> left_of_arrival;  ///< tasks, the current one included
  std::vector<std::uint8_t> ended;
};

PackingWorlds::PackingWorlds(const PackingTrial& trial, std::size_t count)
    : impl_((BERTH_ASSERT(count <= count_max(trial)), std::make_unique<Impl>(trial, std::max<std::size_t>(1, count)))) {
}
std::size_t PackingWorlds::count_max(const PackingTrial& trial) {
  return std::numeric_limits<Row>::max() / std::max<std::size_t>(1, trial.prepared_->order.size());
}
PackingWorlds::PackingWorlds(PackingWorlds&&) noexcept = default;
PackingWorlds& PackingWorlds::operator=(PackingWorlds&&) noexcept = default;
PackingWorlds::~PackingWorlds() = default;

std::size_t PackingWorlds::count() const { return impl_->tasks.size(); }
std::size_t PackingWorlds::nodes() const { return impl_->nodes; }
std::size_t PackingWorlds::device_stride() const { return impl_->device_stride; }
// The fleet stores the states of all nodes in one array and their devices in another; node(0) refers to the first.
std::span<const strategy::NodeState> PackingWorlds::states() const {
  return impl_->fleet.size() == 0 ? std::span<const strategy::NodeState>{}
                                  : std::span(&impl_->fleet.node(0).state, impl_->fleet.size());
}
std::span<const std::int16_t> PackingWorlds::devices() const {
  return impl_->fleet.size() == 0
             ? std::span<const std::int16_t>{}
             : std::span(impl_->fleet.node(0).devices.data(), impl_->fleet.size() * impl_->device_stride);
}
std::span<const std::uint8_t> PackingWorlds::masks() const { return impl_->masks; }
std::span<const PackingWorlds::Task> PackingWorlds::tasks() const { return impl_->tasks; }
bool PackingWorlds::ended(std::size_t world) const { return impl_->ended[world] != 0; }
PackingWorlds::Outcome PackingWorlds::outcome(std::size_t world) const {
  const packing::PackingEpisode& episode = impl_->episodes[world];
  return {episode.asked_count(), episode.placed_count(), episode.digest()};
}

void PackingWorlds::step(std::span<const std::int64_t> rows, std::span<std::int32_t> missed) {
  BERTH_ASSERT(rows.size() == count() && missed.size() == count());
  for (std::size_t world = 0; world < rows.size(); ++world) missed[world] = impl_->step(world, rows[world]);
}

void PackingWorlds::restart(std::size_t world) {
  impl_->episodes[world].restart(impl_->fleet);
  impl_->left_of_arrival[world] = 0, impl_->ended[world] = 0;
  static_cast<void>(impl_->advance(world));
}

}  // namespace berth
