#include "model/device_table.h"

namespace berth::model {
namespace {

template <class Device>
auto key(const Device& device) {
  return std::tie(device.vendor, device.type, device.name);
}

}  // namespace

DeviceTable DeviceTable::of(std::span<const NodeDevice> devices) {
  DeviceTable out;
  for (const NodeDevice& device : devices) {
    const auto at = std::lower_bound(out.groups.begin(), out.groups.end(), device,
                                     [](const Group& g, const auto& d) { return key(*g.device) < key(d); });
    if (at != out.groups.end() && key(*at->device) == key(device))
      at->device = &device;
    else
      out.groups.insert(at, {&device, 0, 0});
  }
  for (Group& group : out.groups) {
    const auto first = static_cast<std::ptrdiff_t>(out.ids.size());
    for (const DeviceInstance& instance : group.device->instances)
      if (instance.healthy) out.ids.push_back(instance.id);
    std::sort(out.ids.begin() + first, out.ids.end());
    out.ids.erase(std::unique(out.ids.begin() + first, out.ids.end()), out.ids.end());
    group.first = static_cast<std::uint32_t>(first);
    group.count = static_cast<std::uint32_t>(out.ids.size()) - group.first;
  }
  return out;
}

const DeviceTable::Group* DeviceTable::find(const AllocatedDevice& reserved) const {
  const auto at = std::lower_bound(groups.begin(), groups.end(), reserved,
                                   [](const Group& g, const auto& r) { return key(*g.device) < key(r); });
  return at == groups.end() || key(*at->device) != key(reserved) ? nullptr : &*at;
}

}  // namespace berth::model
