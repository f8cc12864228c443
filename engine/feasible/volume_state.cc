#include "feasible/volume_state.h"

#include <algorithm>

#include "model/names.h"

namespace berth::feasible {
namespace {

template <class T, class Matches>
const T* find(std::span<const T> list, Matches matches) {
  const auto it = std::find_if(list.begin(), list.end(), matches);
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

void bind_volume_lists(VolumeState& state, std::span<const model::HostVolume> host_volumes,
                       std::span<const model::CsiVolume> csi_volumes, std::span<const model::CsiPlugin> csi_plugins) {
  state.host_volume = [host_volumes](std::string_view job_namespace, std::string_view id) {
    return find(host_volumes, [&](const auto& v) { return v.id == id && v.namespace_ == job_namespace; });
  };
  state.csi_volume = [csi_volumes](std::string_view job_namespace, std::string_view id) {
    return find(csi_volumes, [&](const auto& v) { return v.id == id && v.namespace_ == job_namespace; });
  };
  state.csi_plugin = [csi_plugins](std::string_view id) {
    return find(csi_plugins, [&](const auto& p) { return p.id == id; });
  };
}

std::vector<NamedVolumeRequest> volume_requests(const model::TaskGroup& group, std::string_view type,
                                                std::string_view alloc_name) {
  std::vector<NamedVolumeRequest> out;
  for (const auto& [alias, request] : group.volumes) {
    if (!request || request->type != type) continue;
    std::string source = request->source;
    if (request->per_alloc) source += model::alloc_suffix(alloc_name);
    out.push_back({std::move(source), &*request});
  }
  return out;
}

}  // namespace berth::feasible
