// Tracks used ports and bandwidth of one node, and makes offers for a request (R-MODEL-470 to 497, R-RANK-601 to 624).
//
// Two objects. NodePorts holds the node's fingerprint: addresses, aliases, reserved ports, the dynamic range. It is
// parsed once per version of the node and never written afterwards, so every thread may read it. NetworkIndex adds the
// use by allocations and the offers made during one visit of the node. One thread owns it and restarts it for each
// node. A port set is 8 KiB and exists only for addresses with a marked port. A restart costs as much as the previous
// visit marked, and allocates nothing beyond the largest visit so far.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/result.h"
#include "model/alloc.h"
#include "model/node.h"
#include "model/port_ranges.h"
#include "rank/cidr.h"

namespace berth::rank {

inline constexpr std::uint32_t kNoPort = model::kPortCount;

/// A set of ports 0..65535: one bit each, and one bit per touched word so that clearing costs what was touched.
class PortSet {
 public:
  [[nodiscard]] bool contains(std::uint32_t port) const { return words_[port / 64] >> (port % 64) & 1; }
  void insert(std::uint32_t port) {
    words_[port / 64] |= std::uint64_t{1} << (port % 64);
    touched_[port / 4096] |= std::uint64_t{1} << (port / 64 % 64);
  }
  void insert(model::PortRange range);  ///< ignores ports above 65535
  void clear();
  /// Smallest port of [from, to] that is not in the set, or kNoPort.
  [[nodiscard]] std::uint32_t first_free(std::uint32_t from, std::uint32_t to) const;
  /// The same for a port that is in neither set.
  [[nodiscard]] std::uint32_t first_free(const PortSet& other, std::uint32_t from, std::uint32_t to) const;

 private:
  std::array<std::uint64_t, 1024> words_{};
  std::array<std::uint64_t, 16> touched_{};
};

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

/// Why a request cannot be met; `name` refers into the request. Its text follows `network: ` (R-RANK-661).
struct PortFailure {
  enum class Kind : std::uint8_t {
    invalid_port,
    reserved_port_collision,
    no_addresses,
    dynamic_ports,
    no_networks,
    bandwidth,
  };
  Kind kind = Kind::no_networks;
  std::string_view name;  ///< label of a port, or name of a host network
  std::int64_t port = 0;
  [[nodiscard]] std::string text() const;
};

class NetworkIndex {
 public:
  NetworkIndex();  ///< for a node without addresses and networks
  /// Clears everything and switches to `node`, which must outlive the visit. `like` is a node that differs from it at
  /// most in the IPs of its addresses and in task networks. Aliases and reserved ports are read from `like`, which many
  /// visits share, so it stays in the cache.
  void start(const NodePorts& node, const NodePorts& like);
  void start(const NodePorts& node) { start(node, node); }
  [[nodiscard]] const NodePorts& node() const { return *node_; }

  /// Marks the ports and bandwidth of an allocation, whatever its status: the caller must skip client-terminal ones
  /// (R-MODEL-480). Returns true if a port collided; then `reason`, if given, becomes the text of the last collision.
  bool add(const model::AllocatedResources& resources, std::string_view alloc_id, std::string* reason = nullptr);
  /// R-MODEL-481. Returns true if a port collided; `reasons`, if given, gets one text per collision.
  bool add_network(const model::NetworkResource& network, std::vector<std::string>* reasons = nullptr);
  /// R-MODEL-482; otherwise as add_network().
  bool add_ports(std::span<const model::AllocatedPort> ports, std::vector<std::string>* reasons = nullptr);

  /// Like add_ports(), for ports on one address that do not ignore collisions.
  bool add_ports(std::string_view ip, std::span<const std::uint16_t> ports);
  /// The result that add_ports() would have on a node without allocations. Does not touch an index.
  [[nodiscard]] static bool collide(const NodePorts& node, const NodePorts& like, std::string_view ip,
                                    std::span<const std::uint16_t> ports);
  /// The same for ports that cannot collide; at most once per visit. The ports are not copied: `ports` must stay valid
  /// until the next start().
  void list_ports(std::string_view ip, std::span<const std::uint16_t> ports);

  /// Offers the ports of a group network whose host networks are resolved (R-MODEL-485, R-RANK-613 to 616) into
  /// `offer`, reserved ports first. Marks nothing. Dynamic ports are the smallest free ones (R-MODEL-491).
  /// Linear in the ports of the request, the aliases of the node and their addresses.
  [[nodiscard]] Result<void, PortFailure> assign_ports(const model::NetworkResource& ask,
                                                       std::vector<model::AllocatedPort>& offer);

  /// Moves the dynamic ports of an offer away from `spared` (port values, ascending) if others are free. The spared
  /// ones stay marked on the node until clients have ended the allocations that hold them, and a port held twice is a
  /// collision at every further visit (R-RANK-503, 607). Any free port is correct (R-MODEL-490). Cost: one pass over
  /// the dynamic range.
  void spare_ports(const model::NetworkResource& ask, std::span<const std::uint16_t> spared,
                   std::vector<model::AllocatedPort>& offer);
  /// The same for the offer of a task network.
  void spare_ports(std::span<const std::uint16_t> spared, model::NetworkResource& offer);

  /// Offers a deprecated task network (R-MODEL-495, R-RANK-623) into `offer`. Marks nothing. The search of a block ends
  /// at the first address without any recorded use, so its size does not matter.
  [[nodiscard]] Result<void, PortFailure> assign_task_network(const model::NetworkResource& ask,
                                                              model::NetworkResource& offer);

  [[nodiscard]] bool is_used(std::string_view ip, std::uint32_t port) const;
  [[nodiscard]] std::int64_t used_mbits(std::string_view device) const;

 private:
  static constexpr std::size_t kNoSlot = NameIndex::kNone;
  /// Requests, lists and ranges of at most this many ports are compared port by port; longer ones become a PortSet,
  /// which costs 8 KiB to set up and one step per port.
  static constexpr std::size_t kFewPorts = 64;
  [[nodiscard]] std::size_t find_slot(std::string_view ip) const;
  [[nodiscard]] std::size_t slot(std::string_view ip);
  [[nodiscard]] bool is_used(std::size_t slot, std::uint32_t port) const;
  [[nodiscard]] std::uint32_t first_free(std::size_t slot, std::uint32_t from);
  [[nodiscard]] std::uint32_t first_spare(std::size_t slot, std::uint32_t from, std::span<const std::uint32_t> taken);
  [[nodiscard]] PortSet& ports_of(std::size_t slot);
  [[nodiscard]] bool try_address(const IpAddress& address, const model::NetworkResource& ask, std::size_t slot,
                                 PortFailure& failure, model::NetworkResource& offer);
  [[nodiscard]] bool is_long(const model::NetworkResource& ask) const {
    return ask.reserved_ports.size() + ask.dynamic_ports.size() > kFewPorts;
  }
  /// An empty set for the ports of one long request.
  [[nodiscard]] PortSet& offered_ports();

  struct DeviceUse {
    std::string device;
    std::int64_t mbits = 0;
  };
  const NodePorts *node_, *like_;
  // A slot is an address: the node's own first, then foreign ones that allocations name.
  std::vector<PortSet*> slot_ports_;       // null until a port is marked there
  std::span<const std::uint16_t> listed_;  // ports used on an address that has no set
  std::size_t listed_slot_ = kNoSlot;
  std::vector<std::string> foreign_;  // the first foreign_count_ are in use
  std::size_t foreign_count_ = 0;
  NameIndex foreign_names_;
  std::vector<std::unique_ptr<PortSet>> pool_;  // the first pool_used_ are in use, the others are empty
  std::size_t pool_used_ = 0;
  std::vector<DeviceUse> use_;  // the first use_count_ are in use
  std::size_t use_count_ = 0;
  NameIndex use_names_;
  // State of a long request: its ports so far, and per alias the first address and port that may still be free. Both
  // only grow during one request, so that no search restarts.
  std::unique_ptr<PortSet> offered_;
  struct Cursor {
    std::uint32_t address = 0, port = 0;
  };
  std::vector<Cursor> cursors_;
  std::vector<std::uint32_t> taken_;  // scratch of spare_ports()
};

/// Turns `network`, a copy of the request, into the network recorded with the allocation: dynamic values from `offer`
/// by label, and the node's address (R-MODEL-488, R-RANK-618). Returns an error in the case in which the reference
/// crashes.
[[nodiscard]] Result<void, Error> fill_group_network(const NodePorts& node, std::span<const model::AllocatedPort> offer,
                                                     model::NetworkResource& network);

}  // namespace berth::rank
