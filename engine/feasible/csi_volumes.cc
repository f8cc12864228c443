#include "feasible/csi_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "model/job.h"

namespace berth::feasible {
namespace {

bool is_writer_mode(std::string_view access_mode) {
  return access_mode == "single-node-writer" || access_mode == "multi-node-single-writer" ||
         access_mode == "multi-node-multi-writer";
}

/// Allocations with a write claim, ascending by ID. The two maps have the same keys where both are known.
std::set<std::string_view> writers(const model::CsiVolume& volume) {
  std::set<std::string_view> out;
  for (const auto& [alloc_id, ignored] : volume.write_allocs) out.insert(alloc_id);
  for (const auto& [alloc_id, ignored] : volume.write_claims) out.insert(alloc_id);
  return out;
}

bool has_free_write_claim(const model::CsiVolume& volume) {  // R-FEAS-1220
  const std::string_view mode = volume.access_mode;
  if (mode == "single-node-writer" || mode == "multi-node-single-writer") return writers(volume).empty();
  return true;  // it may have many writers, or is not in use; is_write_schedulable() has refused other modes
}

/// Every segment of `wanted` is one of `offered` (R-FEAS-1216).
bool contains(const model::CsiTopology& offered, const model::CsiTopology& wanted) {
  return std::all_of(wanted.segments.begin(), wanted.segments.end(), [&](const auto& segment) {
    const auto it = offered.segments.find(segment.first);
    return it != offered.segments.end() && it->second == segment.second;
  });
}

bool is_reachable(const model::CsiVolume& volume, const model::CsiInfo& plugin) {  // R-FEAS-1210
  if (volume.topologies.empty()) return true;
  if (!plugin.node_info->accessible_topology) return false;  // without node_info the node can hold no volume
  const model::CsiTopology& offered = *plugin.node_info->accessible_topology;
  return std::any_of(volume.topologies.begin(), volume.topologies.end(),
                     [&](const auto& wanted) { return wanted && contains(offered, *wanted); });
}

}  // namespace

std::string csi_resource(std::string_view name_space, std::string_view volume) {
  return fmt::format("csi-volume:{}:{}", name_space, volume);
}

CsiVolumeCheck::CsiVolumeCheck(const model::Job& job, const model::TaskGroup& group, std::string_view alloc_name,
                               const VolumeState& state)
    : job_(job), state_(state) {
  for (NamedVolumeRequest& wanted : volume_requests(group, "csi", alloc_name)) {
    const model::CsiVolume* volume = state.csi_volume(job.namespace_, wanted.source);
    if (!volume) {
      missing_reason_ += missing_reason_.empty() ? "missing CSI volume(s) " : ", ";
      missing_reason_ += wanted.source;
      missing_resources_.push_back(csi_resource(job.namespace_, wanted.source));
    }
    requests_.push_back({std::move(wanted.source), wanted.request, volume, false, std::nullopt});
  }
}

std::optional<std::string> CsiVolumeCheck::failure(const model::Node& node) const {
  if (!missing_reason_.empty()) return missing_reason_;
  for (const Request& wanted : requests_) {
    const std::string plugin_text = "CSI plugin " + wanted.volume->plugin_id;
    switch (problem(wanted, node)) {
      case Problem::none:
        break;
      case Problem::no_plugin:
        return plugin_text + " is missing from client " + node.id;
      case Problem::unhealthy:
        return plugin_text + " is unhealthy on client " + node.id;
      case Problem::too_many:
        return plugin_text + " has the maximum number of volumes on client " + node.id;
      case Problem::unreachable:
        return "did not meet topology requirement";
      case Problem::of_volume:
        return claim_problem(wanted);
    }
  }
  return std::nullopt;
}

bool CsiVolumeCheck::passes(const model::Node& node) const {
  return missing_reason_.empty() && std::all_of(requests_.begin(), requests_.end(), [&](const Request& wanted) {
           return problem(wanted, node) == Problem::none;
         });
}

CsiVolumeCheck::Problem CsiVolumeCheck::problem(const Request& wanted, const model::Node& node) const {
  const model::CsiVolume& volume = *wanted.volume;
  const auto it = node.csi_node_plugins.find(volume.plugin_id);
  if (it == node.csi_node_plugins.end() || !it->second) return Problem::no_plugin;
  const model::CsiInfo& plugin = *it->second;
  if (!plugin.healthy) return Problem::unhealthy;
  const std::int64_t max_volumes = plugin.node_info ? plugin.node_info->max_volumes : 0;
  if (count_on_node(volume.plugin_id, node.id) >= max_volumes) return Problem::too_many;  // R-FEAS-1209, 1215
  if (!is_reachable(volume, plugin)) return Problem::unreachable;
  return claim_problem(wanted) ? Problem::of_volume : Problem::none;
}

const std::optional<std::string>& CsiVolumeCheck::claim_problem(const Request& wanted) const {
  if (!std::exchange(wanted.is_known, true)) wanted.claim_problem = find_claim_problem(wanted);
  return wanted.claim_problem;
}

std::optional<std::string> CsiVolumeCheck::find_claim_problem(const Request& wanted) const {
  const model::CsiVolume& volume = *wanted.volume;
  const std::string volume_text = "CSI volume " + wanted.volume_id;
  if (wanted.request->read_only) {  // R-FEAS-1211, 1218
    if (is_schedulable(volume)) return std::nullopt;
    return volume_text + " is unschedulable or has exhausted its available reader claims";
  }
  if (!is_write_schedulable(volume)) return volume_text + " is unschedulable or is read-only";
  if (has_free_write_claim(volume)) return std::nullopt;
  const auto problem = foreign_writer(volume);
  return problem ? std::optional(volume_text + *problem) : std::nullopt;
}

/// True if the volume is read-schedulable (R-FEAS-1217) and has no exhausted resources.
bool CsiVolumeCheck::is_schedulable(const model::CsiVolume& volume) const {
  const model::CsiPlugin* plugin = state_.csi_plugin(volume.plugin_id);
  if (!plugin || plugin->nodes_healthy <= 0) return false;
  if (plugin->controller_required && plugin->controllers_healthy <= 0) return false;
  return volume.resource_exhausted.is_zero();
}

bool CsiVolumeCheck::is_write_schedulable(const model::CsiVolume& volume) const {  // R-FEAS-1219
  if (!is_schedulable(volume)) return false;
  if (!volume.access_mode.empty()) return is_writer_mode(volume.access_mode);
  return std::any_of(volume.requested_capabilities.begin(), volume.requested_capabilities.end(),
                     [](const auto& capability) { return is_writer_mode(capability.access_mode); });
}

/// The end of the reason when a writer is not of this job; a job is never blocked by its own writers
/// (R-FEAS-1213, 1214, 1221).
std::optional<std::string> CsiVolumeCheck::foreign_writer(const model::CsiVolume& volume) const {
  for (const std::string_view id : writers(volume)) {
    const auto alloc = state_.alloc(id);
    if (!alloc)
      return " has exhausted its available writer claims and is claimed by a garbage collected allocation " +
             std::string(id) + "; waiting for claim to be released";
    if (alloc->namespace_ != job_.namespace_ || alloc->job_id != job_.id)
      return " has exhausted its available writer claims";
  }
  return std::nullopt;
}

/// Volumes of a plugin that allocations of the snapshot use on a node (R-FEAS-1205, 1906).
std::int64_t CsiVolumeCheck::count_on_node(std::string_view plugin_id, std::string_view node_id) const {
  if (counted_node_ != node_id) {
    counted_node_ = node_id;
    used_.clear(), plugins_.clear();
    for (const AllocView& alloc : state_.csi_allocs(node_id)) {
      if (!alloc.group || !(alloc.desired_run || alloc.client_running)) continue;
      for (const auto& [alias, request] : alloc.group->volumes)
        if (request && request->type == "csi") used_.push_back({request->source, alloc.namespace_, used_.size()});
    }
    std::sort(used_.begin(), used_.end(), [](const Used& a, const Used& b) {  // stable_sort would allocate
      return std::tie(a.source, a.position) < std::tie(b.source, b.position);
    });
    for (std::size_t i = 0; i < used_.size(); ++i) {  // the last request of a source sets its namespace
      if (i + 1 < used_.size() && used_[i + 1].source == used_[i].source) continue;
      if (const model::CsiVolume* volume = state_.csi_volume(used_[i].namespace_, used_[i].source))
        plugins_.push_back(volume->plugin_id);
    }
    std::sort(plugins_.begin(), plugins_.end());
  }
  const auto [begin, end] = std::equal_range(plugins_.begin(), plugins_.end(), plugin_id);
  return end - begin;
}

}  // namespace berth::feasible
