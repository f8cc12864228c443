// All that keeps a group off a node, not only what the scheduler meets first. Each obstacle is taken out of the way in
// a copy of the job and the node is asked again, until it takes the group. The scheduler itself names every obstacle,
// so none is a guess. What it leaves open, such as the missing driver or the holder of a port, is looked up here.
//
// Cost: at most kObstaclesMost + 1 decisions per node, each about one node.
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
  std::string reason;  ///< the scheduler's words; of a node that is no candidate, why it is none
  std::string detail;  ///< what the words leave open: the driver, who holds the port; may be empty
  std::string change;  ///< the edit of the job file that removes it; "" where no edit does
  json::Value patch;   ///< of that edit, as JSON Patch; null for an amount, whose number is to be found
  Amount amount = Amount::none;
  bool readiness = false;                                 ///< the node is down, draining or ineligible
  bool constraint = false;                                ///< a constraint of the job, under its own text
  std::string needed;                                     ///< what a node must have: `driver "podman"`; may be empty
  std::function<bool(const model::Node&)> has = nullptr;  ///< whether a node has what is needed

  /// Reason and detail.
  [[nodiscard]] std::string text() const { return detail.empty() ? reason : reason + " (" + detail + ")"; }
};

inline constexpr std::size_t kObstaclesMost = 5;  ///< of one node

struct NodeObstacles {
  const model::Node* node = nullptr;
  std::vector<Obstacle> obstacles;
  bool all = false;  ///< without these the node takes the group
};

/// What is known of a failed group.
struct Findings {
  std::vector<NodeObstacles> nodes;
  std::set<std::string> filters;  ///< constraints that filtered nodes, as metrics name them
};

/// What metrics say of a node whose class was refused before, or that is visited once more with preemption.
inline constexpr const char* kClassIneligible = "computed class ineligible";

[[nodiscard]] model::SchedulerConfiguration without_preemption(std::optional<model::SchedulerConfiguration> config);
/// The job with one group only.
[[nodiscard]] model::Registration only(const model::Registration& registration, const std::string& group);
[[nodiscard]] std::vector<std::string> all_beside(const std::string& group, const model::Job& job);

/// "" for a node that is ready, else what it is not: "ineligible", "down", "draining".
[[nodiscard]] std::string unreadiness_of(const model::Node& node);

/// The obstacles on each of `nodes`, with nothing placed of the other groups and without preemption.
[[nodiscard]] std::vector<NodeObstacles> find_obstacles(Loaded& loaded, const model::Registration& registration,
                                                        const std::string& group,
                                                        const std::vector<const model::Node*>& nodes);

/// Patches as one, which does the same whatever their order: first all additions, then all removals from behind.
[[nodiscard]] json::Value combined(const std::vector<const json::Value*>& patches);

}  // namespace berth::advice
