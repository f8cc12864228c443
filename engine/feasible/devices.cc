#include "feasible/devices.h"

#include <algorithm>
#include <tuple>

#include "model/job.h"

namespace berth::feasible {

std::vector<match::DeviceRequest> compile_devices(const model::TaskGroup& group) {
  std::vector<match::DeviceRequest> out;
  for (const model::Task& task : group.tasks)
    if (task.resources)
      for (const model::RequestedDevice& request : task.resources->devices)
        out.push_back(match::compile_device(request));
  return out;
}

Result<bool, match::NotANumber> has_devices(std::span<const model::NodeDevice> groups,
                                            std::span<const match::DeviceRequest> requests, match::Patterns& patterns) {
  if (requests.empty()) return true;

  struct Available {
    const model::NodeDevice* group;
    std::uint64_t count;
  };
  std::vector<Available> available;
  for (const model::NodeDevice& group : groups) {
    const auto healthy = std::count_if(group.instances.begin(), group.instances.end(),
                                       [](const model::DeviceInstance& instance) { return instance.healthy; });
    if (healthy > 0) available.push_back({&group, static_cast<std::uint64_t>(healthy)});
  }
  std::stable_sort(available.begin(), available.end(), [](const Available& a, const Available& b) {
    return std::tie(a.group->vendor, a.group->type, a.group->name) <
           std::tie(b.group->vendor, b.group->type, b.group->name);
  });

  for (const match::DeviceRequest& request : requests) {
    std::uint64_t need = request.count;
    bool is_served = false;
    for (Available& a : available) {
      if (a.count == 0) continue;
      const auto fits = match::matches(request, *a.group, patterns);
      if (!fits) return fits;
      if (!*fits) continue;
      const std::uint64_t taken = std::min(a.count, need);
      a.count -= taken;
      need -= taken;
      if (need == 0) {  // only here: a count of 0 needs a matching group too (R-FEAS-904)
        is_served = true;
        break;
      }
    }
    if (!is_served) return false;
  }
  return true;
}

}  // namespace berth::feasible
