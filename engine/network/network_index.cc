#include "network/network_index.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "base/wrap.h"

namespace berth::network {
namespace {

using base::wrap_add;
using model::PortRange;

bool is_port(std::int64_t value) { return value >= 0 && value < model::kPortCount; }  // R-MODEL-471

constexpr auto kDevice = [](const auto& of) -> const std::string& { return of.device; };
constexpr auto kText = [](const std::string& text) -> const std::string& { return text; };

std::string reasons_text(const std::vector<std::string>& reasons) {
  std::string out = "[";
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i > 0) out += ' ';
    out += reasons[i];
  }
  return out + "]";
}

std::string in_use_text(std::int64_t port) { return "port " + std::to_string(port) + " already in use"; }
std::string invalid_text(std::int64_t port) { return "invalid port " + std::to_string(port); }

}  // namespace

void PortSet::insert(PortRange range) {
  const std::uint32_t end = std::min(range.end, model::kPortCount - 1);
  for (std::uint32_t port = range.begin; port <= end;) {
    const std::uint32_t word_end = std::min(end, port | 63);
    const std::uint64_t ones = ~std::uint64_t{0} >> (63 - (word_end - port));
    words_[port / 64] |= ones << (port % 64);
    touched_[port / 4096] |= std::uint64_t{1} << (port / 64 % 64);
    port = word_end + 1;
  }
}

void PortSet::clear() {
  for (std::size_t block = 0; block < touched_.size(); ++block) {
    for (std::uint64_t bits = touched_[block]; bits != 0; bits &= bits - 1)
      words_[block * 64 + static_cast<std::size_t>(std::countr_zero(bits))] = 0;
    touched_[block] = 0;
  }
}

std::uint32_t PortSet::first_free(std::uint32_t from, std::uint32_t to) const {
  for (std::uint32_t port = from; port <= to && port < model::kPortCount;) {
    const std::uint64_t free = ~words_[port / 64] >> (port % 64);
    if (free != 0) {
      const std::uint32_t found = port + static_cast<std::uint32_t>(std::countr_zero(free));
      return found <= to ? found : kNoPort;
    }
    port = (port | 63) + 1;
  }
  return kNoPort;
}

std::uint32_t PortSet::first_free(const PortSet& other, std::uint32_t from, std::uint32_t to) const {
  for (std::uint32_t port = from; port <= to && port < model::kPortCount;) {
    const std::uint64_t free = ~(words_[port / 64] | other.words_[port / 64]) >> (port % 64);
    if (free != 0) {
      const std::uint32_t found = port + static_cast<std::uint32_t>(std::countr_zero(free));
      return found <= to ? found : kNoPort;
    }
    port = (port | 63) + 1;
  }
  return kNoPort;
}

std::string PortFailure::text() const {
  switch (kind) {
    case Kind::invalid_port:
      return "invalid port " + std::to_string(port) + " (out of range)";
    case Kind::reserved_port_collision:
      return "reserved port collision " + std::string(name) + "=" + std::to_string(port);
    case Kind::no_addresses:
      return "no addresses available for " + std::string(name) + " network";
    case Kind::dynamic_ports:
      return "dynamic port selection failed";
    case Kind::no_networks:
      return "no networks available";
    case Kind::bandwidth:
      return "bandwidth exceeded";
  }
  return {};
}

NetworkIndex::NetworkIndex() {
  static const NodePorts kNothing;
  node_ = like_ = &kNothing;
}

void NetworkIndex::start(const NodePorts& node, const NodePorts& like) {
  node_ = &node, like_ = &like;
  for (std::size_t i = 0; i < pool_used_; ++i) pool_[i]->clear();
  pool_used_ = foreign_count_ = use_count_ = 0;
  foreign_names_.clear(), use_names_.clear();
  listed_ = {}, listed_slot_ = kNoSlot;
  slot_ports_.assign(like.addresses.size(), nullptr);
}

std::size_t NetworkIndex::find_slot(std::string_view ip) const {
  if (const std::size_t own = node_->address(ip); own < like_->addresses.size()) return own;
  const std::size_t foreign = foreign_names_.find(foreign_, foreign_count_, ip, kText);
  return foreign == NameIndex::kNone ? kNoSlot : like_->addresses.size() + foreign;
}

std::size_t NetworkIndex::slot(std::string_view ip) {
  if (const std::size_t found = find_slot(ip); found != kNoSlot) return found;
  if (foreign_count_ == foreign_.size()) foreign_.emplace_back();
  foreign_[foreign_count_++] = ip;
  foreign_names_.note(foreign_, foreign_count_, kText);
  slot_ports_.push_back(nullptr);
  return slot_ports_.size() - 1;
}

PortSet& NetworkIndex::ports_of(std::size_t slot) {
  if (slot_ports_[slot]) return *slot_ports_[slot];
  if (pool_used_ == pool_.size()) pool_.push_back(std::make_unique<PortSet>());
  PortSet& ports = *pool_[pool_used_++];
  if (slot < like_->addresses.size()) {
    for (const PortRange range : like_->reserved) ports.insert(range);
    for (const PortRange range : like_->addresses[slot].reserved) ports.insert(range);
  }
  if (slot == listed_slot_)
    for (const std::uint16_t port : listed_) ports.insert(port);
  slot_ports_[slot] = &ports;
  return ports;
}

bool NetworkIndex::is_used(std::size_t slot, std::uint32_t port) const {
  if (slot == kNoSlot) return false;
  if (slot_ports_[slot]) return slot_ports_[slot]->contains(port);
  if (slot == listed_slot_ && std::ranges::find(listed_, port) != listed_.end()) return true;
  if (slot >= like_->addresses.size()) return false;
  return like_->reserves(slot, port);
}

bool NetworkIndex::is_used(std::string_view ip, std::uint32_t port) const { return is_used(find_slot(ip), port); }

/// Smallest port of the dynamic range from `from` on that is free on the address (R-MODEL-491).
std::uint32_t NetworkIndex::first_free(std::size_t slot, std::uint32_t from) {
  const std::uint32_t last = std::max(like_->dynamic_min, like_->dynamic_max);
  if (slot < like_->addresses.size() && !slot_ports_[slot] &&
      like_->reserved.size() + like_->addresses[slot].reserved.size() > kFewPorts)
    static_cast<void>(ports_of(slot));
  if (slot != kNoSlot && slot_ports_[slot]) return slot_ports_[slot]->first_free(from, last);
  for (std::uint32_t base = from; base <= last; base += 64) {
    std::uint64_t used = 0;  // bit i: base + i is
    if (slot == listed_slot_)
      for (const std::uint16_t port : listed_)
        if (const std::uint32_t i = port - base; i < 64) used |= std::uint64_t{1} << i;
    if (slot < like_->addresses.size())
      for (const auto* ranges : {&like_->reserved, &like_->addresses[slot].reserved})
        for (const PortRange range : *ranges) {
          const std::uint32_t begin = std::max(range.begin, base), end = std::min(range.end, base + 63);
          if (begin <= end) used |= ~std::uint64_t{0} >> (63 - (end - begin)) << (begin - base);
        }
    if (used == ~std::uint64_t{0}) continue;
    const std::uint32_t port = base + static_cast<std::uint32_t>(std::countr_one(used));
    return port <= last ? port : kNoPort;
  }
  return kNoPort;
}

std::int64_t NetworkIndex::used_mbits(std::string_view device) const {
  const std::size_t found = use_names_.find(use_, use_count_, device, kDevice);
  return found == NameIndex::kNone ? 0 : use_[found].mbits;
}

bool NetworkIndex::add_network(const model::NetworkResource& network, std::vector<std::string>* reasons) {
  bool collided = false;
  PortSet* ports = nullptr;
  for (const auto* list : {&network.reserved_ports, &network.dynamic_ports})
    for (const model::Port& port : *list) {
      if (!is_port(port.value)) {  // the reasons found so far are dropped, and the bandwidth is not added
        if (reasons) reasons->assign(1, invalid_text(port.value));
        return true;
      }
      if (!ports) ports = &ports_of(slot(network.ip));
      const auto value = static_cast<std::uint32_t>(port.value);
      if (ports->contains(value)) {
        collided = true;
        if (reasons) reasons->push_back(in_use_text(port.value));
      } else {
        ports->insert(value);
      }
    }
  if (const std::size_t known = use_names_.find(use_, use_count_, network.device, kDevice); known != NameIndex::kNone) {
    use_[known].mbits = wrap_add(use_[known].mbits, network.mbits);
    return collided;
  }
  if (use_count_ == use_.size()) use_.emplace_back();
  use_[use_count_].device = network.device;
  use_[use_count_++].mbits = network.mbits;
  use_names_.note(use_, use_count_, kDevice);
  return collided;
}

bool NetworkIndex::add_ports(std::span<const model::AllocatedPort> ports, std::vector<std::string>* reasons) {
  bool collided = false;
  for (const model::AllocatedPort& port : ports) {
    if (!is_port(port.value)) {
      if (reasons) reasons->assign(1, invalid_text(port.value));
      return true;
    }
    PortSet& used = ports_of(slot(port.host_ip));
    const auto value = static_cast<std::uint32_t>(port.value);
    if (!used.contains(value)) {
      used.insert(value);
    } else if (!port.ignore_collision) {
      collided = true;
      if (reasons) reasons->push_back(in_use_text(port.value));
    }
  }
  return collided;
}

bool NetworkIndex::add_ports(std::string_view ip, std::span<const std::uint16_t> ports) {
  if (ports.empty()) return false;
  PortSet& used = ports_of(slot(ip));
  bool collided = false;
  for (const std::uint16_t port : ports) {
    collided = collided || used.contains(port);
    used.insert(port);
  }
  return collided;
}

bool NetworkIndex::collide(const NodePorts& node, std::string_view ip, std::span<const std::uint16_t> held,
                           std::span<const std::uint16_t> added) {
  const std::size_t slot = node.address(ip);
  for (std::size_t i = 0; i < added.size(); ++i) {
    const auto is_it = [&](std::uint16_t other) { return other == added[i]; };
    if (slot < node.addresses.size() && node.reserves(slot, added[i])) return true;
    if (std::ranges::any_of(held, is_it) || std::ranges::any_of(added.first(i), is_it)) return true;
  }
  return false;
}

void NetworkIndex::list_ports(std::string_view ip, std::span<const std::uint16_t> ports) {
  if (ports.empty()) return;
  const std::size_t at = slot(ip);
  BERTH_ASSERT(listed_slot_ == kNoSlot && !slot_ports_[at]);
  if (ports.size() > kFewPorts) {
    PortSet& used = ports_of(at);
    for (const std::uint16_t port : ports) used.insert(port);
    return;
  }
  listed_slot_ = at;
  listed_ = ports;
}

bool NetworkIndex::add(const model::AllocatedResources& resources, std::string_view alloc_id, std::string* reason) {
  std::vector<std::string> reasons;
  std::vector<std::string>* wanted = reason ? &reasons : nullptr;
  const auto note = [&](std::string where) {
    if (reason) *reason = std::move(where.append(alloc_id).append(": ").append(reasons_text(reasons)));
    reasons.clear();
  };
  if (!resources.shared.ports.empty()) {  // hides every other network use of the allocation
    if (!add_ports(resources.shared.ports, wanted)) return false;
    note("collision when reserving port for alloc ");
    return true;
  }
  bool collided = false;
  for (const model::NetworkResource& network : resources.shared.networks) {
    if (!add_network(network, wanted)) continue;
    collided = true;
    note("collision when reserving port for network " + network.ip + " in alloc ");
  }
  for (const auto& [name, task] : resources.tasks) {
    if (task.networks.empty() || !add_network(task.networks.front(), wanted)) continue;
    collided = true;
    note("collision when reserving port for network " + task.networks.front().ip + " in task " + name + " of alloc ");
  }
  return collided;
}

PortSet& NetworkIndex::offered_ports() {
  if (!offered_) offered_ = std::make_unique<PortSet>();
  offered_->clear();
  return *offered_;
}

Result<void, PortFailure> NetworkIndex::assign_ports(const model::NetworkResource& ask,
                                                     std::vector<model::AllocatedPort>& offer) {
  using Kind = PortFailure::Kind;
  PortSet* const offered = is_long(ask) ? &offered_ports() : nullptr;
  if (offered) cursors_.assign(like_->aliases.size(), {0, like_->dynamic_min});
  std::size_t count = 0;  // of those offered; what was there before is written over
  const auto put = [&](const std::string& label, std::int64_t value, std::int64_t to, const std::string& ip,
                       bool ignore_collision) {
    if (count == offer.size()) offer.emplace_back();
    model::AllocatedPort& out = offer[count++];
    out.label = label, out.value = value, out.to = to, out.host_ip = ip, out.ignore_collision = ignore_collision;
    if (offered) offered->insert(static_cast<std::uint32_t>(value));
  };
  for (const model::Port& port : ask.reserved_ports) {
    const NodePorts::Alias* alias = like_->alias(port.host_network);
    PortFailure failure{Kind::no_addresses, port.host_network, 0};
    bool found = false;
    for (std::size_t i = 0; alias && i < alias->addresses.size() && !found; ++i) {
      const std::size_t slot = alias->addresses[i];
      if (!is_port(port.value)) return tl::unexpected(PortFailure{Kind::invalid_port, {}, port.value});
      if (!port.ignore_collision && is_used(slot, static_cast<std::uint32_t>(port.value))) {
        failure = {Kind::reserved_port_collision, port.label, port.value};
        continue;
      }
      put(port.label, port.value, port.to, node_->addresses[slot].ip, port.ignore_collision);
      found = true;
    }
    if (!found) return tl::unexpected(failure);
  }
  // Ports of the offer are excluded on every address; the reserved ones of this request are among them (R-MODEL-490).
  const auto excluded = [&](std::uint32_t value) {
    return std::any_of(offer.begin(), offer.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const auto& taken) { return taken.value == value; });
  };
  const std::uint32_t last = std::max(like_->dynamic_min, like_->dynamic_max);
  for (const model::Port& port : ask.dynamic_ports) {
    const NodePorts::Alias* alias = like_->alias(port.host_network);
    PortFailure failure{Kind::no_addresses, port.host_network, 0};
    Cursor start{0, like_->dynamic_min};
    Cursor& cursor = offered && alias ? cursors_[static_cast<std::size_t>(alias - like_->aliases.data())] : start;
    bool found = false;
    for (; alias && cursor.address < alias->addresses.size(); cursor = {cursor.address + 1, like_->dynamic_min}) {
      const std::size_t slot = alias->addresses[cursor.address];
      std::uint32_t value;
      if (offered) {
        value = ports_of(slot).first_free(*offered, cursor.port, last);
      } else {
        value = first_free(slot, like_->dynamic_min);
        while (value != kNoPort && excluded(value)) value = first_free(slot, value + 1);
      }
      if (value == kNoPort) continue;
      put(port.label, value, port.to == -1 ? value : port.to, node_->addresses[slot].ip, false);
      cursor.port = value + 1;
      found = true;
      break;
    }
    if (alias && !alias->addresses.empty()) failure = {Kind::dynamic_ports, {}, 0};
    if (!found) return tl::unexpected(failure);
  }
  offer.resize(count);
  return {};
}

/// Smallest port of the dynamic range from `from` on that is free on the address and not in `taken` (ascending).
std::uint32_t NetworkIndex::first_spare(std::size_t slot, std::uint32_t from, std::span<const std::uint32_t> taken) {
  std::uint32_t value = first_free(slot, from);
  for (auto at = std::ranges::lower_bound(taken, value); value != kNoPort && at != taken.end() && *at == value;
       at = std::ranges::lower_bound(at, taken.end(), value))
    value = first_free(slot, value + 1);
  return value;
}

void NetworkIndex::spare_ports(const model::NetworkResource& ask, std::span<const std::uint16_t> spared,
                               std::vector<model::AllocatedPort>& offer) {
  const auto is_spared = [&](std::int64_t value) { return std::ranges::binary_search(spared, value); };
  const std::size_t statics = ask.reserved_ports.size();
  if (std::none_of(offer.begin() + static_cast<std::ptrdiff_t>(statics), offer.end(),
                   [&](const auto& port) { return is_spared(port.value); }))
    return;
  // As in assign_ports(), with reserved ports of every host network: a few ports less to choose from.
  taken_.assign(spared.begin(), spared.end());
  for (const model::AllocatedPort& port : offer) taken_.push_back(static_cast<std::uint32_t>(port.value));
  for (const model::Port& port : ask.reserved_ports) taken_.push_back(static_cast<std::uint32_t>(port.value));
  std::ranges::sort(taken_);
  std::uint32_t from = like_->dynamic_min;  // on every address, so that no value is given twice
  for (std::size_t i = statics; i < offer.size(); ++i) {
    model::AllocatedPort& port = offer[i];
    if (!is_spared(port.value)) continue;
    const std::uint32_t value = first_spare(find_slot(port.host_ip), from, taken_);
    if (value == kNoPort) continue;
    if (ask.dynamic_ports[i - statics].to == -1) port.to = value;
    port.value = value, from = value + 1;
  }
}

void NetworkIndex::spare_ports(std::span<const std::uint16_t> spared, model::NetworkResource& offer) {
  taken_.assign(spared.begin(), spared.end());
  for (const auto* ports : {&offer.reserved_ports, &offer.dynamic_ports})
    for (const model::Port& port : *ports) taken_.push_back(static_cast<std::uint32_t>(port.value));
  std::ranges::sort(taken_);
  const std::size_t slot = find_slot(offer.ip);
  std::uint32_t from = like_->dynamic_min;
  for (model::Port& port : offer.dynamic_ports) {
    if (!std::ranges::binary_search(spared, port.value)) continue;
    const std::uint32_t value = first_spare(slot, from, taken_);
    if (value == kNoPort) return;
    if (port.to == port.value) port.to = value;
    port.value = value, from = value + 1;
  }
}

/// Tries one address of R-MODEL-495; on success writes the ports and the address to `offer`.
bool NetworkIndex::try_address(const IpAddress& address, const model::NetworkResource& ask, std::size_t slot,
                               PortFailure& failure, model::NetworkResource& offer) {
  using Kind = PortFailure::Kind;
  for (const model::Port& port : ask.reserved_ports) {
    if (!is_port(port.value)) {
      failure = {Kind::invalid_port, {}, port.value};
      return false;
    }
    if (is_used(slot, static_cast<std::uint32_t>(port.value))) {
      failure = {Kind::reserved_port_collision, port.label, port.value};
      return false;
    }
  }
  offer.dynamic_ports = ask.dynamic_ports;
  std::uint32_t value = like_->dynamic_min;
  const bool in_a_set = is_long(ask);  // assign_task_network() put the reserved ports there
  const auto excluded = [&](std::uint32_t candidate) {
    if (in_a_set) return offered_->contains(candidate);
    return std::any_of(ask.reserved_ports.begin(), ask.reserved_ports.end(),
                       [&](const model::Port& reserved) { return reserved.value == candidate; });
  };
  for (model::Port& port : offer.dynamic_ports) {
    value = first_free(slot, value);
    while (value != kNoPort && excluded(value)) value = first_free(slot, value + 1);
    if (value == kNoPort) {
      failure = {Kind::dynamic_ports, {}, 0};
      return false;
    }
    port.value = value;
    if (port.to == -1) port.to = value;
    ++value;  // ports are drawn in ascending order, so those drawn before lie below
  }
  offer.ip = to_text(address);
  return true;
}

Result<void, PortFailure> NetworkIndex::assign_task_network(const model::NetworkResource& ask,
                                                            model::NetworkResource& offer) {
  PortFailure failure;
  offer = {};
  if (is_long(ask)) {
    PortSet& reserved = offered_ports();
    for (const model::Port& port : ask.reserved_ports)
      if (is_port(port.value)) reserved.insert(static_cast<std::uint32_t>(port.value));
  }
  for (const NodePorts::TaskNetwork& network : node_->task_networks) {
    if (!network.cidr) continue;
    if (wrap_add(used_mbits(network.device), ask.mbits) > node_->available_mbits(network.device)) {
      failure = {PortFailure::Kind::bandwidth, {}, 0};  // the same for every address of the block
      continue;
    }
    for (IpAddress address = network.cidr->first;; address = next(address)) {
      const std::size_t slot = find_slot(to_text(address));
      if (try_address(address, ask, slot, failure, offer)) {
        offer.mode = ask.mode;
        offer.device = network.device;
        offer.mbits = ask.mbits;
        offer.dns = ask.dns;
        offer.reserved_ports = ask.reserved_ports;
        return {};
      }
      if (address == network.cidr->last) break;
      if (slot == kNoSlot) {
        // If the request fails on an address without any recorded use, it fails on every address; the last one gives
        // the reason.
        const std::size_t last = find_slot(to_text(network.cidr->last));
        static_cast<void>(try_address(network.cidr->last, ask, last, failure, offer));
        break;
      }
    }
  }
  return tl::unexpected(failure);
}

Result<void, Error> fill_group_network(const NodePorts& node, std::span<const model::AllocatedPort> offer,
                                       model::NetworkResource& network) {
  const auto label = [](const model::AllocatedPort& port) -> const std::string& { return port.label; };
  NameIndex labels;
  labels.note(offer, offer.size(), label);
  for (model::Port& port : network.dynamic_ports)
    if (const std::size_t at = labels.find(offer, offer.size(), port.label, label); at != NameIndex::kNone) {
      port.value = offer[at].value;
      port.to = offer[at].to;
    }
  if (node.host_without_address)
    return tl::unexpected(Error{Errc::processing_failed, 0, "the node's host network has no address"});
  if (node.host_ip) network.ip = *node.host_ip;
  return {};
}

}  // namespace berth::network
