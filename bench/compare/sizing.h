// `berth compare WORKLOAD --capacity`: how many more tasks fit after the workload; `--minimum-nodes`: the smallest
// number of nodes that hold it. Per strategy, with bounds for all strategies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/grid.h"
#include "compare/tables.h"
#include "packing/bounds.h"
#include "strategy/classic.h"

namespace berth::compare {

/// "cpu=1000,memory=512,disk=0,gpus=1,gpu-milli=500" (MHz, MiB, MiB, devices, thousandths of each, default 1000).
[[nodiscard]] Result<strategy::TaskClass> parse_task(const std::string& text);

struct SizingOptions {
  std::vector<NamedStrategy> strategies;
  std::vector<std::int64_t> seeds;
  std::size_t threads = 0;
  std::string resume;         ///< file of finished runs; "" = none
  std::string workload_text;  ///< the workload file's content, which must be the same for resumed runs
  bool quiet = false;
  std::optional<strategy::TaskClass> task;  ///< --capacity: repeated; unset: tasks are drawn from the workload
  std::string task_words = "the workload's tasks";
  strategy::OfflineOrder order = strategy::OfflineOrder::arrival;  ///< --minimum-nodes: packing order of the tasks
};

struct CapacityCell {
  bool done = false;
  std::uint64_t asked = 0, placed = 0;  ///< of the workload itself
  packing::CapacityRun more;
  std::uint64_t pooled = 0;  ///< would fit into one node with all free amounts: upper bound. Only with a task
};
struct CapacityResult {
  std::string workload, label, task;
  bool drawn = true;  ///< tasks are drawn from the workload
  std::size_t nodes = 0;
  std::vector<std::string> strategies;
  std::vector<std::int64_t> seeds;
  std::vector<CapacityCell> cells;  ///< strategies x seeds
  std::size_t resumed = 0;          ///< cells of an earlier command
  bool partial = false;

  [[nodiscard]] const CapacityCell& cell(std::size_t s, std::size_t seed) const {
    return cells[s * seeds.size() + seed];
  }
};
/// Replays the workload without departures, then adds tasks until they fit nowhere (drawn ones: until 100 did not fit).
[[nodiscard]] Result<CapacityResult> measure_capacities(const sim::Workload& workload, const SizingOptions& options);

/// The smallest number of nodes from the front of `nodes` (repeated from the start after the last) that hold the whole
/// problem. Search: doubling steps from the bound, bisection, then four smaller sizes. More nodes do not always help a
/// strategy, so an even smaller size may still hold the workload.
struct SmallestCluster {
  std::uint64_t nodes = 0;
  std::uint64_t bound = 0;  ///< NodeBound::nodes()
  std::uint64_t probes = 0;
  bool interrupted = false;  ///< by Ctrl-C, without a result
  std::string impossible;    ///< why no number of nodes suffices; "" otherwise
};
[[nodiscard]] Result<SmallestCluster> smallest_cluster(const sim::PackingProblem& problem,
                                                       const strategy::Context& context,
                                                       const std::vector<std::uint32_t>& nodes,
                                                       const packing::NodeBound& bound, bool departures,
                                                       std::int64_t seed, const strategy::Registry& strategies,
                                                       const strategy::StrategySpec& spec);

/// The problem with only the nodes of one class ("" = all). The load becomes tasks that arrive first and never end.
[[nodiscard]] sim::PackingProblem only_class(const sim::PackingProblem& problem, const std::string& node_class);

/// Sorts the arrivals by size, largest first.
void sort_offline(sim::PackingProblem& problem, strategy::OfflineOrder order);

struct MinimumCell {
  bool done = false;
  SmallestCluster found;
  std::string bound_by;
  std::vector<std::pair<std::string, std::uint64_t>> of_which;  ///< nodes per class
};
struct MinimumResult {
  std::string workload, label, order;
  std::vector<std::string> classes;  ///< "" = all classes, mixed as in the cluster
  std::vector<std::string> strategies;
  std::vector<std::int64_t> seeds;
  std::vector<MinimumCell> cells;  ///< classes x strategies x seeds
  std::size_t resumed = 0;         ///< cells of an earlier command
  bool partial = false;

  [[nodiscard]] const MinimumCell& cell(std::size_t c, std::size_t s, std::size_t seed) const {
    return cells[(c * strategies.size() + s) * seeds.size() + seed];
  }
};
[[nodiscard]] Result<MinimumResult> minimum_nodes(const sim::Workload& workload, const SizingOptions& options);

/// Rows of a table with a head. `interval`: see plus_minus().
[[nodiscard]] TableRows capacity_rows(const CapacityResult& result, bool interval);
[[nodiscard]] TableRows minimum_rows(const MinimumResult& result, bool interval);
[[nodiscard]] std::string headline(const CapacityResult& result);
[[nodiscard]] std::string headline(const MinimumResult& result);
[[nodiscard]] std::string capacity_csv(const CapacityResult& result);
[[nodiscard]] std::string minimum_csv(const MinimumResult& result);
[[nodiscard]] json::Value capacity_json(const CapacityResult& result);
[[nodiscard]] json::Value minimum_json(const MinimumResult& result);

}  // namespace berth::compare
