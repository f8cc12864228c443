#include "tables/held_devices.h"

#include "base/assert.h"

namespace berth::tables {
namespace {

/// Calls visit(number) for every instance that the shape holds.
template <class Visit>
void each_instance(const ResourceShape& shape, const model::DeviceTable& node, Visit visit) {
  for (const auto& [name, task] : shape.resources->tasks)
    for (const model::AllocatedDevice& device : task.devices) node.each(device, visit);
}

}  // namespace

void HeldDevices::add(const ResourceShape& shape, const model::DeviceTable& node) {
  unlisted = unlisted || node.ids.size() > 64 * word.size();
  if (unlisted) return;
  each_instance(shape, node, [&](std::uint32_t number) {
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    unlisted = unlisted || (word[number / 64] & bit) != 0;
    word[number / 64] |= bit;
  });
}

void HeldDevices::remove(const ResourceShape& shape, const model::DeviceTable& node) {
  if (unlisted) return;
  each_instance(shape, node, [&](std::uint32_t number) {
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    BERTH_ASSERT((word[number / 64] & bit) != 0);
    word[number / 64] &= ~bit;
  });
}

}  // namespace berth::tables
