// Cache by content: the ports of a group's request that are free on the nodes of a port profile
// (NodeStatic::port_profile). Most nodes differ only in their addresses, so a few results serve all of them. The cache
// holds the results for the latest host network and for the latest set of static ports.
//
//   free      4 B   per profile: dynamic ports that are not reserved on the host network, plus 1; 0: not counted yet
//   statics   1 B   per profile: a CheckState; passes if none of the static ports is reserved
//
// Threads: one worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tables/job_table.h"

namespace berth::sched {

class PortProfiles {
 public:
  /// Returns the results for the host network, by profile; valid until the next call.
  const std::vector<std::uint32_t>& free_on(const tables::NodeTable& nodes, const std::string& host_network);
  /// Returns the result for one profile, computed on first use.
  std::uint32_t free_on(const tables::NodeTable& nodes, const std::string& host_network, std::uint32_t profile);
  /// Returns the results for the static ports of `requested` (a text key), by profile; valid until the next call.
  const std::vector<std::uint8_t>& reserved_of(const tables::NodeTable& nodes, const std::string& requested);
  /// Returns the result for one profile; the caller sets it if it is unknown.
  std::uint8_t& reserved_of(const tables::NodeTable& nodes, const std::string& requested, std::uint32_t profile) {
    static_cast<void>(reserved_of(nodes, requested));
    return statics_[profile];
  }

 private:
  std::string host_network_, requested_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint8_t> statics_;
};

}  // namespace berth::sched
