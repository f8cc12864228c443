// Volumes, jobs and allocations of a test behind a VolumeState, with short builder functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "feasible/volume_state.h"
#include "model/job.h"

namespace berth::feasible {

/// A small world behind a VolumeState: lists of volumes, jobs by ID, and the same allocations as snapshot and proposed.
struct VolumeWorld {
  std::vector<model::HostVolume> host_volumes;
  std::vector<std::shared_ptr<const model::HostVolumeClaim>> claims;
  std::vector<model::CsiVolume> csi_volumes;
  std::vector<model::CsiPlugin> csi_plugins;
  std::vector<model::Job> jobs;
  std::vector<AllocView> allocs;

  VolumeState state() const {
    VolumeState out;
    bind_volume_lists(out, host_volumes, csi_volumes, csi_plugins);
    out.claims = claims;
    out.job = [this](std::string_view job_namespace, std::string_view id) -> const model::Job* {
      for (const model::Job& job : jobs)
        if (job.namespace_ == job_namespace && job.id == id) return &job;
      return nullptr;
    };
    out.alloc = [this](std::string_view id) -> std::optional<AllocView> {
      for (const AllocView& alloc : allocs)
        if (alloc.id == id) return alloc;
      return std::nullopt;
    };
    out.proposed = [this](std::string_view node_id) {
      std::vector<AllocView> on_node;
      for (const AllocView& alloc : allocs)
        if (alloc.node_id == node_id) on_node.push_back(alloc);
      return on_node;
    };
    out.csi_allocs = [proposed = out.proposed, last = std::vector<AllocView>()](std::string_view node_id) mutable {
      last = proposed(node_id);
      return std::span<const AllocView>(last);
    };
    return out;
  }
};

inline model::Job job_of(std::string id) {
  model::Job job;
  job.namespace_ = std::string("default"), job.id = std::move(id);
  return job;
}

inline model::TaskGroup group_asking(model::VolumeRequest request, std::string name = "g") {
  model::TaskGroup group;
  group.name = std::move(name);
  group.volumes["data"] = std::move(request);
  return group;
}

inline model::VolumeRequest request_of(std::string type, bool read_only, bool sticky = false) {
  model::VolumeRequest request;
  request.type = std::move(type), request.source = std::string("data");
  request.read_only = read_only, request.sticky = sticky;
  return request;
}

inline model::Node node_with(std::string id, std::string volume_id, bool read_only = false) {
  model::Node node;
  node.id = std::move(id);
  node.host_volumes["data"] = model::HostVolumeInfo{"data", "/srv", read_only, std::move(volume_id)};
  return node;
}

inline model::HostVolume volume_of(std::string id, std::string node_id, std::string access = "single-node-writer") {
  model::HostVolume volume;
  volume.namespace_ = std::string("default"), volume.id = std::move(id), volume.name = std::string("data");
  volume.node_id = std::move(node_id), volume.state = std::string("ready");
  volume.requested_capabilities = {{"file-system", std::move(access)}};
  return volume;
}

}  // namespace berth::feasible
