// Finds features that no candidate of a group has, and the nodes of the cluster that have them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "advice/advice.h"
#include "advice/obstacles.h"
#include "base/text.h"
#include "match/target.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::advice {
namespace {

constexpr std::size_t kNodesNamed = 5, kValuesNamed = 5;

std::string why_no_candidate(const model::Node& node, const model::Job& job) {
  std::vector<std::string> out;
  if (!model::is_in_datacenters(node, job.datacenters.list())) out.push_back("datacenter " + node.datacenter);
  if (!model::is_in_pool(node, *job.node_pool)) out.push_back("node pool " + node.node_pool);
  if (std::string state = unreadiness_of(node); !state.empty()) out.push_back(std::move(state));
  return base::join(out, ", ");
}

/// Values of the left side of an equality constraint: `"ops" on 1 node, unset on 8`.
std::string values_of(const model::ClusterState& state, const model::Job& job, const std::string& text) {
  const auto end = text.find("} = ");
  if (!text.starts_with("${") || end == std::string::npos) return "";
  const match::Target target = match::parse_target(std::string_view(text).substr(0, end + 1));
  std::map<std::string, std::int64_t> counts;
  std::int64_t unset = 0;
  for (const model::Node& node : state.nodes) {
    if (!why_no_candidate(node, job).empty()) continue;
    const match::Side side = match::resolve(target, node);
    side.found ? ++counts[std::string(side.text)] : ++unset;
  }
  std::vector<std::pair<std::int64_t, std::string>> by_count;
  for (const auto& [value, count] : counts) by_count.emplace_back(-count, value);
  std::sort(by_count.begin(), by_count.end());
  std::string out;
  for (std::size_t i = 0; i < std::min(by_count.size(), kValuesNamed); ++i)
    out += fmt::format("{}\"{}\" on {}", out.empty() ? "" : ", ", by_count[i].second, -by_count[i].first);
  if (by_count.size() > kValuesNamed) out += fmt::format(", {} other values", by_count.size() - kValuesNamed);
  if (unset > 0) out += fmt::format("{}unset on {}", out.empty() ? "" : ", ", unset);
  return out;
}

}  // namespace

std::vector<Need> needs_of(const model::ClusterState& state, const model::Job& job, const Findings& findings) {
  std::vector<Need> out;
  std::set<std::string> done;
  for (const NodeObstacles& of : findings.nodes)
    for (const Obstacle& obstacle : of.obstacles) {
      if (obstacle.needed.empty() || !obstacle.has || !done.insert(obstacle.needed).second) continue;
      Need need{obstacle.needed, {}, 0, {}};
      bool candidate = false;
      for (const model::Node& node : state.nodes) {
        if (!obstacle.has(node)) continue;
        const std::string why = why_no_candidate(node, job);
        candidate = candidate || why.empty();
        if (candidate) break;
        ++need.node_count;
        if (need.nodes.size() < kNodesNamed) need.nodes.push_back(fmt::format("{} ({})", node.name, why));
      }
      if (candidate) continue;
      if (obstacle.constraint) need.values = values_of(state, job, obstacle.reason);
      out.push_back(std::move(need));
    }
  return out;
}

}  // namespace berth::advice
