#include "tables/held_ports.h"

namespace berth::tables {

void HeldPorts::add(const ResourceShape& shape) {
  const std::span<const std::uint16_t> added = shape.plain();
  if (unlisted || added.empty() || count + added.size() > port.size() ||
      (count > 0 && shape.resources->shared.ports.front().host_ip != address())) {
    unlisted = true;
    return;
  }
  if (count == 0) {
    ip = {};
    std::ranges::copy(shape.resources->shared.ports.front().host_ip, ip.begin());
  }
  std::ranges::copy(added, port.begin() + count);
  count = static_cast<std::uint16_t>(count + added.size());
}

void HeldPorts::remove(const ResourceShape& shape) {
  if (unlisted) return;
  for (const std::uint16_t value : shape.plain()) {
    const auto at = std::find(port.begin(), port.begin() + count, value);
    BERTH_ASSERT(at != port.begin() + count);
    *at = port[--count];
  }
}

}  // namespace berth::tables
