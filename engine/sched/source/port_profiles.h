// Kept by content, and by row of the registered nodes: what nodes have in common of their ports, which are the host
// networks and what is reserved on the addresses of each. Most nodes differ in the addresses alone, so what a group
// finds there is known by profile after a visit of a few of them.
//
//   of_row   16 B   per node row: its profile, from 1 on, and its own ports; 0: not looked at
//   free      4 B   per profile: how many dynamic ports are not reserved on the host network asked for last, and one
//                   more; 0: not counted
//   statics   1 B   per profile: a CheckState: whether the ports asked for by number last are reserved nowhere
//
// One worker's own, like all scratch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/prefetch.h"
#include "rank/network_index.h"
#include "tables/state.h"

namespace berth::sched {

class PortProfiles {
 public:
  static constexpr std::uint32_t kUnknown = 0;
  struct OfNode {
    std::uint32_t profile = kUnknown;
    const rank::NodePorts* own = nullptr;
  };

  /// The nodes are those of the table from now on; by row, what is known of them.
  const OfNode* by_row(const tables::NodeTable& nodes);
  /// A node's profile becomes known. `ports` are its own and stay where they are.
  const OfNode& set(tables::NodeRow row, const rank::NodePorts& ports);
  /// The ports of some node of the profile, whose addresses may be others.
  [[nodiscard]] const rank::NodePorts& of(std::uint32_t profile) const { return *ports_[profile]; }

  /// Asks for the node's own ports as far as they are known; then for its addresses.
  void ask_ahead(tables::NodeRow row) const {
    if (row < of_row_.size() && of_row_[row].own) base::prefetch_all(*of_row_[row].own);
  }
  void ask_further(tables::NodeRow row) const {
    if (row < of_row_.size() && of_row_[row].own) base::prefetch(of_row_[row].own->addresses.data());
  }

  /// How many dynamic ports are free on the host network, by profile. Until the next call.
  const std::vector<std::uint32_t>& free_on(const std::string& host_network);
  /// Of one profile; counted if it was not.
  std::uint32_t free_on(const std::string& host_network, std::uint32_t profile);
  /// Whether ports are reserved, of which `asked` is the text: by profile. Until the next call.
  const std::vector<std::uint8_t>& reserved_of(const std::string& asked);
  /// Of one profile, to be set.
  std::uint8_t& reserved_of(const std::string& asked, std::uint32_t profile) {
    static_cast<void>(reserved_of(asked));
    return statics_[profile];
  }

 private:
  friend struct MemoryAccess;
  std::uint64_t epoch_ = 0;  // of the nodes that of_row_ knows
  std::vector<OfNode> of_row_;
  std::map<std::string, std::uint32_t> ids_;                  // by what all nodes of it have in common, as text
  std::vector<const rank::NodePorts*> ports_{nullptr};        // by profile, of one of its nodes
  std::map<const rank::NodePorts*, std::uint32_t> by_ports_;  // nodes may share theirs
  std::string host_network_, asked_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint8_t> statics_;
};

}  // namespace berth::sched
