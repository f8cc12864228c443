// Numbers the healthy device instances of a node, so that allocations can refer to them by number instead of by ID.
//
//   groups  ascending by (vendor, type, name); one with the name of an earlier one replaces it (R-MODEL-520)
//   ids     of the healthy instances, group by group, ascending; an ID given twice is one instance
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/node.h"
#include "model/resources.h"

namespace berth::model {

struct DeviceTable {
  struct Group {
    const NodeDevice* device;
    std::uint32_t first, count;  ///< of `ids`
  };
  std::vector<Group> groups;
  std::vector<std::string_view> ids;

  /// The devices must outlive the table.
  [[nodiscard]] static DeviceTable of(std::span<const NodeDevice> devices);

  /// Returns the group of that name, or null.
  [[nodiscard]] const Group* find(const AllocatedDevice& reserved) const;
  /// Calls visit(number) for every instance of the reservation; unknown ones are ignored (R-MODEL-523).
  template <class Visit>
  void each(const AllocatedDevice& reserved, Visit visit) const {
    const Group* const group = find(reserved);
    if (!group) return;
    const std::span<const std::string_view> all = std::span(ids).subspan(group->first, group->count);
    auto at = all.begin();
    for (const std::string_view id : reserved.device_ids) {
      // Offers list instances ascending and often consecutive: try the one after the last first.
      if (at == all.end() || *at != id) at = std::lower_bound(all.begin(), all.end(), id);
      if (at == all.end() || *at != id) continue;
      visit(group->first + static_cast<std::uint32_t>(at - all.begin()));
      ++at;
    }
  }
};

}  // namespace berth::model
