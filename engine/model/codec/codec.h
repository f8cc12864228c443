// Model values from and to API JSON (R-MODEL-600 to 608).
//
// Every struct is described once by its `fields`; the templates are instantiated in codec.cc only, for every type
// below, so that including this header costs nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/retained_json.h"
#include "berth/result.h"
#include "model/cluster.h"

namespace berth::model {

using JobTable = std::vector<std::shared_ptr<const Job>>;

struct ReadOptions {
  std::string path = "-";          ///< file named in errors
  std::string place;               ///< JSON pointer of the value handed in, prefix of places in errors
  bool ignore_case = false;        ///< job input matches keys without case as a fallback (R-MODEL-608)
  bool integral_reals = false;     ///< an integer may be a floating-point number without a fraction (R-SNAP-31)
  const JobTable* jobs = nullptr;  ///< when set, an allocation's `Job` may be an index into it (vector files)
};

enum class WriteMode : std::uint8_t {
  api,     ///< as Nomad's HTTP API prints: all fields, null for absent; some types leave out zeros (R-MODEL-604)
  sparse,  ///< zero, empty and absent fields are left out everywhere; entries of maps stay
};

/// Overwrites `out` with `value`; absent keys give zero values. Errors name the JSON pointer of the place.
template <class T>
[[nodiscard]] Result<void> from_json(const json::Value& value, T& out, const ReadOptions& options = {});

/// With `jobs`, an allocation's job is printed as an index into that table, otherwise in full.
template <class T>
[[nodiscard]] json::Value to_json(const T& value, WriteMode mode = WriteMode::api, const JobTable* jobs = nullptr);

// clang-format off
#define BERTH_MODEL_TYPES(X) \
  X(Constraint) X(Affinity) X(Spread) X(SpreadTarget) X(Port) X(RequestedDevice) X(Resources) \
  X(Lifecycle) X(AllocatedTask) X(AllocatedPort) X(AllocatedDevice) X(AllocatedResources) X(Topology) \
  X(NodeNetworkResource) X(Attribute) X(DeviceInstance) X(NodeDevice) X(NodeResources) X(NodeReserved) X(DriverInfo) \
  X(DrainStrategy) X(Node) X(NodePool) X(UpdateStrategy) X(ReschedulePolicy) X(RestartPolicy) X(MigrateStrategy) \
  X(DisconnectStrategy) X(EphemeralDisk) X(VolumeRequest) X(Task) X(TaskGroup) X(Job) X(ScoreMeta) X(AllocMetric) \
  X(DesiredTransition) X(TaskState) X(AllocState) X(DeploymentStatus) X(RescheduleEvent) X(RescheduleTracker) \
  X(Allocation) X(DesiredUpdates) X(PlanAnnotations) X(Evaluation) X(DeploymentState) X(Deployment) \
  X(DeploymentStatusUpdate) X(SchedulerConfiguration) X(HostVolume) X(HostVolumeClaim) X(CsiVolume) X(CsiPlugin) \
  X(Namespace) X(PeriodicConfig) X(ParameterizedJob) X(LogConfig) X(Scaling)
// clang-format on

#define BERTH_X(T)                                                                                      \
  struct T;                                                                                             \
  extern template Result<void> from_json<T>(const json::Value& value, T& out, const ReadOptions& opts); \
  extern template json::Value to_json<T>(const T& value, WriteMode mode, const JobTable* jobs);
BERTH_MODEL_TYPES(BERTH_X)
BERTH_X(NetworkResource)
#undef BERTH_X

/// The form of an allocation in a list of victims: without its resources (R-SCHED-191).
[[nodiscard]] json::Value alloc_stub(const Allocation& alloc);

}  // namespace berth::model
