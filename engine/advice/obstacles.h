// Finds all obstacles for a group on a node, not only the first one that the scheduler meets. Each obstacle is removed
// from a copy of the job and the node tried again, until it takes the group. The scheduler itself names every obstacle,
// so none is a guess. Details such as the missing driver or the holder of a port are looked up here.
//
// Cost: at most kObstaclesMost + 1 decisions per node, each on one node.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "advice/trial.h"

namespace berth::advice {

/// An amount that a group requests.
enum class Amount : std::uint8_t { none, cpu, cores, memory, disk };

struct Obstacle {
  std::string reason;  ///< the scheduler's text; or why the node is not a candidate
  std::string detail;  ///< e.g. the missing driver or the holder of the port; may be empty
  std::string change;  ///< the edit of the job file that removes it; "" if no edit does
  json::Value patch;   ///< JSON Patch of that edit; null for an amount, whose number must still be found
  Amount amount = Amount::none;
  bool readiness = false;                                 ///< the node is down, draining or ineligible
  bool constraint = false;                                ///< `reason` is the text of one of the job's constraints
  std::string needed;                                     ///< what the node lacks: `driver "podman"`; may be empty
  std::function<bool(const model::Node&)> has = nullptr;  ///< true if a node has `needed`

  /// Reason with detail.
  [[nodiscard]] std::string text() const { return detail.empty() ? reason : reason + " (" + detail + ")"; }
};

inline constexpr std::size_t kObstaclesMost = 5;  ///< per node

struct NodeObstacles {
  const model::Node* node = nullptr;
  std::vector<Obstacle> obstacles;
  bool all = false;  ///< complete: without these the node takes the group
};

/// Findings about a failed group.
struct Findings {
  std::vector<NodeObstacles> nodes;
  std::set<std::string> filters;  ///< constraints that filtered nodes, as in metrics
};

/// Reason in metrics for a node whose class was refused before, or that is visited again with preemption.
inline constexpr const char* kClassIneligible = "computed class ineligible";

[[nodiscard]] model::SchedulerConfiguration without_preemption(std::optional<model::SchedulerConfiguration> config);
/// The job with only one group.
[[nodiscard]] model::Registration only(const model::Registration& registration, const std::string& group);
[[nodiscard]] std::vector<std::string> all_groups_except(const std::string& group, const model::Job& job);

/// "" for a ready node, else why it is not ready: "ineligible", "down", "draining".
[[nodiscard]] std::string unreadiness_of(const model::Node& node);

/// The obstacles on each of `nodes`, without placing other groups and without preemption.
[[nodiscard]] std::vector<NodeObstacles> find_obstacles(Loaded& loaded, const model::Registration& registration,
                                                        const std::string& group,
                                                        const std::vector<const model::Node*>& nodes);

/// Joins patches so that their order does not matter: first all additions, then all removals, last place first.
[[nodiscard]] json::Value combined(const std::vector<const json::Value*>& patches);

}  // namespace berth::advice
