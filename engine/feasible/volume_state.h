// Lookups into one snapshot and one plan that the volume checks need besides the current node.
//
// Volumes are rare, so these are plain functions that the caller binds to its tables, and allocations are passed as
// small views made on demand. Groups without volume requests never call them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/resources.h"
#include "model/volume.h"

namespace berth::feasible {

/// An allocation as the volume checks see it. The texts belong to the tables or the plan.
struct AllocView {
  std::string_view id, namespace_, job_id, task_group, name, node_id;
  bool desired_run = false;                 ///< desired status `run`
  bool client_running = false;              ///< client status `running`
  bool is_terminal = false;                 ///< R-FEAS-1305
  const model::TaskGroup* group = nullptr;  ///< in the allocation's own job version; null when it has none
};

struct VolumeState {
  std::span<const std::shared_ptr<const model::HostVolumeClaim>> claims;  ///< of the job at least

  // Each returns null, nullopt or an empty list for objects that the snapshot lacks.
  std::function<const model::HostVolume*(std::string_view job_namespace, std::string_view id)> host_volume;
  std::function<const model::CsiVolume*(std::string_view job_namespace, std::string_view id)> csi_volume;
  std::function<const model::CsiPlugin*(std::string_view id)> csi_plugin;
  /// The current version of the job of an allocation that the last call of `proposed` returned.
  std::function<const model::Job*(std::string_view job_namespace, std::string_view id)> job;
  /// An allocation of the snapshot.
  std::function<std::optional<AllocView>(std::string_view id)> alloc;
  /// The snapshot's allocations on a node whose groups request CSI volumes, ascending by ID; further allocations do no
  /// harm. Valid until the next call. The IDs and names of the allocations and that of the node may be empty.
  std::function<std::span<const AllocView>(std::string_view node_id)> csi_allocs;
  /// The proposed allocations of a node (R-FEAS-1301) in the order of R-RANK-504.
  std::function<std::vector<AllocView>(std::string_view node_id)> proposed;
};

/// Binds the three lookups of volumes and plugins to lists, which must outlive `state`. Many lookups cost their number
/// plus the length of the lists.
void bind_volume_lists(VolumeState& state, std::span<const model::HostVolume> host_volumes,
                       std::span<const model::CsiVolume> csi_volumes, std::span<const model::CsiPlugin> csi_plugins);

/// A volume request with its source resolved: a per-allocation source gets the index of the allocation's name as suffix
/// (R-FEAS-1101).
struct NamedVolumeRequest {
  std::string source;
  const model::VolumeRequest* request;
};

/// The group's requests of one type, `host` or `csi`, ascending by alias (R-FEAS-1113, 1206).
[[nodiscard]] std::vector<NamedVolumeRequest> volume_requests(const model::TaskGroup& group, std::string_view type,
                                                              std::string_view alloc_name);

}  // namespace berth::feasible
