// Cache by content: what nodes of one port profile (NodeStatic::port_profile) have free of the ports that a group
// requests. Most nodes differ in their addresses alone, so a few answers serve all of them. Only those for the host
// network and for the static ports that were requested last are kept.
//
//   free      4 B   per profile: dynamic ports that are not reserved on the host network, plus 1; 0: not counted yet
//   statics   1 B   per profile: a CheckState: passes where none of the static ports is reserved
//
// Threads: one worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

class PortProfiles {
 public:
  /// The answers for the host network, by profile; valid until the next call.
  const std::vector<std::uint32_t>& free_on(const tables::NodeTable& nodes, const std::string& host_network);
  /// The answer for one profile, computed if it is not there.
  std::uint32_t free_on(const tables::NodeTable& nodes, const std::string& host_network, std::uint32_t profile);
  /// The answers for these static ports, of which `requested` is the text, by profile; valid until the next call.
  const std::vector<std::uint8_t>& reserved_of(const tables::NodeTable& nodes, const std::string& requested);
  /// The answer for one profile, to be set by the caller.
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
