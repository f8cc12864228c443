// NodePorts: the networks of a node as fingerprinted: addresses, aliases, reserved ports, the dynamic range
// (R-MODEL-472 to 474, R-RANK-602 to 605). Parsed once per version of a node and not written afterwards, so every
// thread may read it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/node.h"
#include "model/port_ranges.h"
#include "network/cidr.h"

namespace berth::network {

/// Positions of names in a list. Up to kFewNames names, as on any real node, are compared one by one. Longer lists are
/// hashed, so that a lookup has constant cost however many addresses or devices an imported node has.
class NameIndex {
 public:
  static constexpr std::size_t kFewNames = 16;
  static constexpr std::size_t kNone = ~std::size_t{0};
  /// Position of `name` among the first `count` entries of `list`, all of which must have been noted; `text` reads an
  /// entry.
  template <class List, class Text>
  [[nodiscard]] std::size_t find(const List& list, std::size_t count, std::string_view name, Text text) const {
    if (count <= kFewNames) {
      for (std::size_t i = 0; i < count; ++i)
        if (text(list[i]) == name) return i;
      return kNone;
    }
    const auto found = positions_.find(name);
    return found == positions_.end() ? kNone : found->second;
  }
  /// Call after appending each entry; `count` is the number of entries including it.
  template <class List, class Text>
  void note(const List& list, std::size_t count, Text text) {
    if (count <= kFewNames) return;
    for (std::size_t i = positions_.empty() ? 0 : count - 1; i < count; ++i)
      positions_.try_emplace(std::string(text(list[i])), static_cast<std::uint32_t>(i));
  }
  void clear() {
    if (!positions_.empty()) positions_.clear();
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> positions_;
};

/// Ports and networks of a node as fingerprinted (R-MODEL-474, R-RANK-602 to 605).
struct NodePorts {
  struct Address {
    std::string ip;
    std::vector<model::PortRange> reserved;  ///< its own, in addition to the node-wide ones; ascending, disjoint, not
                                             ///< adjacent
    std::uint32_t dynamic_free = 0;          ///< lower bound of the number of unreserved dynamic ports
  };
  struct Alias {
    std::string name;
    std::vector<std::uint32_t> addresses;  ///< positions in `addresses`, in node order, repetitions kept
  };
  struct TaskNetwork {
    std::string mode, device, cidr_text, ip;
    std::optional<CidrBlock> cidr;  ///< absent when the text does not parse
  };
  struct Bandwidth {
    std::string device;
    std::int64_t mbits = 0;
  };

  std::vector<model::PortRange> reserved;  ///< node-wide, on every address below; ascending, disjoint, not adjacent
  std::vector<Address> addresses;          ///< distinct, in order of appearance
  std::vector<Alias> aliases;
  std::vector<TaskNetwork> task_networks;
  std::vector<Bandwidth> available;  ///< per device of a task network
  std::uint32_t dynamic_min = 20000, dynamic_max = 32000;
  std::optional<std::string> host_ip;                  ///< the IP of a group network (R-MODEL-488)
  bool host_without_address = false;                   ///< the case in which the reference crashes (R-RANK-618)
  std::string error;                                   ///< not empty: the node is invalid (R-RANK-604)
  NameIndex address_names, alias_names, device_names;  ///< of addresses, aliases, available

  [[nodiscard]] std::size_t address(std::string_view ip) const;  ///< position, or NameIndex::kNone
  [[nodiscard]] const Alias* alias(std::string_view name) const;
  /// True if the port is reserved on the address, either for it or node-wide (R-MODEL-475).
  [[nodiscard]] bool reserves(std::size_t address, std::uint32_t port) const;
  [[nodiscard]] std::int64_t available_mbits(std::string_view device) const;  ///< 0 for an unknown device
};

/// Parses a node. If a port text does not parse, sets `error` to the reference's text and keeps what was read before
/// it.
[[nodiscard]] NodePorts read_node_ports(const model::Node& node);

/// Everything that a request for ports reads of a node except its addresses, as text: nodes of equal text have the same
/// host networks in the same order, with the same ports reserved on each.
[[nodiscard]] std::string profile_text(const NodePorts& ports);

}  // namespace berth::network
