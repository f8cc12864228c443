// Dynamic host volumes, their claims, CSI volumes and plugins (R-MODEL-216, R-FEAS-1101 to 1223), and namespaces.
#pragma once

#include "model/codec/out_of_line.h"
#include "model/node.h"

namespace berth::model {

struct HostVolumeCapability {
  std::string attachment_mode, access_mode;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("AttachmentMode", s.attachment_mode), v("AccessMode", s.access_mode);
  }
  friend bool operator==(const HostVolumeCapability&, const HostVolumeCapability&) = default;
};

struct HostVolume {
  std::string namespace_, id, name, plugin_id, node_pool, node_id, state;
  std::vector<HostVolumeCapability> requested_capabilities;
  std::uint64_t create_index = 0, modify_index = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Namespace", s.namespace_), v("ID", s.id), v("Name", s.name), v("PluginID", s.plugin_id);
    v("NodePool", s.node_pool), v("NodeID", s.node_id), v("State", s.state);
    v("RequestedCapabilities", s.requested_capabilities);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v.extra(s.extra);
  }
  friend bool operator==(const HostVolume&, const HostVolume&) = default;
};

struct HostVolumeClaim {
  std::string id, namespace_, job_id, task_group_name, alloc_id, volume_id, volume_name;
  std::uint64_t create_index = 0, modify_index = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("Namespace", s.namespace_), v("JobID", s.job_id), v("TaskGroupName", s.task_group_name);
    v("AllocID", s.alloc_id), v("VolumeID", s.volume_id), v("VolumeName", s.volume_name);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v.extra(s.extra);
  }
  friend bool operator==(const HostVolumeClaim&, const HostVolumeClaim&) = default;
};

struct CsiVolume {
  BERTH_DECLARE_COPIES(CsiVolume);
  std::string id, name, namespace_, access_mode, attachment_mode, plugin_id;
  std::vector<std::optional<CsiTopology>> topologies;
  std::vector<HostVolumeCapability> requested_capabilities;
  std::map<std::string, json::Retained> read_allocs, write_allocs;  ///< keys count, also of null entries (R-FEAS-1221)
  std::map<std::string, json::Retained> read_claims, write_claims, past_claims;
  base::Time resource_exhausted;
  bool schedulable = false;
  std::uint64_t create_index = 0, modify_index = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("Name", s.name), v("Namespace", s.namespace_), v("AccessMode", s.access_mode);
    v("AttachmentMode", s.attachment_mode), v("PluginID", s.plugin_id), v("Topologies", s.topologies);
    v("RequestedCapabilities", s.requested_capabilities), v("ReadAllocs", s.read_allocs);
    v("WriteAllocs", s.write_allocs), v("ReadClaims", s.read_claims), v("WriteClaims", s.write_claims);
    v("PastClaims", s.past_claims), v("ResourceExhausted", s.resource_exhausted), v("Schedulable", s.schedulable);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v.extra(s.extra);
  }
  friend bool operator==(const CsiVolume&, const CsiVolume&) = default;
};

struct CsiPlugin {
  std::string id;
  bool controller_required = false;
  std::int64_t controllers_healthy = 0, nodes_healthy = 0;
  std::uint64_t create_index = 0, modify_index = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("ControllerRequired", s.controller_required), v("ControllersHealthy", s.controllers_healthy);
    v("NodesHealthy", s.nodes_healthy), v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v.extra(s.extra);
  }
  friend bool operator==(const CsiPlugin&, const CsiPlugin&) = default;
};

struct Namespace {
  std::string name;
  json::Retained capabilities;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Name", s.name), v("Capabilities", s.capabilities);
    v.extra(s.extra);
  }
  friend bool operator==(const Namespace&, const Namespace&) = default;
};

}  // namespace berth::model
