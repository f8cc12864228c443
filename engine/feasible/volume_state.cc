#include "feasible/volume_state.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "model/job.h"
#include "model/names.h"

namespace berth::feasible {
namespace {

/// Finds objects of a list by ID. The first lookups scan the list; after that all IDs are hashed, so that many lookups
/// cost their number plus the length of the list.
template <class T>
class ById {
 public:
  explicit ById(std::span<const T> list) : list_(list) {}
  /// The first object with the ID for which `matches` returns true.
  template <class Matches>
  const T* find(std::string_view id, Matches matches) {
    const T* found = nullptr;
    if (lookups_ < kOneByOne && ++lookups_ < kOneByOne) {
      for (const T& object : list_)
        if (object.id == id && matches(object)) return &object;
      return nullptr;
    }
    if (by_id_.empty())
      for (const T& object : list_) by_id_.emplace(object.id, &object);
    const auto [begin, end] = by_id_.equal_range(id);
    for (auto at = begin; at != end; ++at)
      if (matches(*at->second) && (!found || at->second < found)) found = at->second;
    return found;
  }

 private:
  static constexpr int kOneByOne = 16;
  std::span<const T> list_;
  std::unordered_multimap<std::string_view, const T*> by_id_;
  int lookups_ = 0;
};

/// A lookup by namespace and ID.
template <class T>
auto in_namespace(std::span<const T> list) {
  return [by_id = std::make_shared<ById<T>>(list)](std::string_view job_namespace, std::string_view id) {
    return by_id->find(id, [&](const T& object) { return object.namespace_ == job_namespace; });
  };
}

}  // namespace

void bind_volume_lists(VolumeState& state, std::span<const model::HostVolume> host_volumes,
                       std::span<const model::CsiVolume> csi_volumes, std::span<const model::CsiPlugin> csi_plugins) {
  state.host_volume = in_namespace(host_volumes);
  state.csi_volume = in_namespace(csi_volumes);
  state.csi_plugin = [by_id = std::make_shared<ById<model::CsiPlugin>>(csi_plugins)](std::string_view id) {
    return by_id->find(id, [](const model::CsiPlugin&) { return true; });
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
