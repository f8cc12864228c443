// Tracks used ports and bandwidth of one node, and makes offers for a request (R-MODEL-470 to 497, R-RANK-601 to 624).
//
// NodePorts (node_ports.h) is what the node has. NetworkIndex adds the use by allocations and the offers made during
// one visit of the node. One thread owns it and restarts it for each node. A port set is 8 KiB and exists only for
// addresses with a marked port. A restart costs as much as the previous visit marked, and allocates nothing beyond the
// largest visit so far.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"
#include "model/alloc.h"
#include "network/node_ports.h"

namespace berth::network {

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
  /// True if adding `added` to the ports `held` on the address, which do not collide, makes some collide: the result of
  /// add_ports(). Does not touch an index. Cost: held.size() * added.size().
  [[nodiscard]] static bool collide(const NodePorts& node, std::string_view ip, std::span<const std::uint16_t> held,
                                    std::span<const std::uint16_t> added);
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

}  // namespace berth::network
