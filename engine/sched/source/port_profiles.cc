#include "sched/source/port_profiles.h"

#include <algorithm>

namespace berth::sched {
namespace {

void write(const std::vector<model::PortRange>& ranges, std::string& out) {
  for (const model::PortRange range : ranges)
    out += std::to_string(range.begin) + '-' + std::to_string(range.end) + ',';
  out += ';';
}

/// All that asks for ports find on a node but its addresses.
std::string text_of(const rank::NodePorts& ports) {
  std::string out = std::to_string(ports.dynamic_min) + '-' + std::to_string(ports.dynamic_max) + ';';
  write(ports.reserved, out);
  for (const rank::NodePorts::Address& address : ports.addresses) write(address.reserved, out);
  for (const rank::NodePorts::Alias& alias : ports.aliases) {
    out += std::to_string(alias.name.size()) + ':' + alias.name;
    for (const std::uint32_t address : alias.addresses) out += ' ' + std::to_string(address);
    out += ';';
  }
  return out;
}

}  // namespace

const PortProfiles::OfNode* PortProfiles::by_row(const tables::NodeTable& nodes) {
  if (epoch_ != nodes.static_epoch) {
    epoch_ = nodes.static_epoch;
    of_row_.assign(nodes.size(), {});
  }
  return of_row_.data();
}

const PortProfiles::OfNode& PortProfiles::set(tables::NodeRow row, const rank::NodePorts& ports) {
  std::uint32_t& known = by_ports_[&ports];
  if (known == kUnknown) {
    known = ids_.try_emplace(text_of(ports), static_cast<std::uint32_t>(ports_.size())).first->second;
    if (known == ports_.size()) ports_.push_back(&ports);
    free_.resize(ports_.size());
    statics_.resize(ports_.size());
  }
  return of_row_[row] = {known, &ports};
}

const std::vector<std::uint32_t>& PortProfiles::free_on(const std::string& host_network) {
  if (host_network != host_network_ || free_.size() != ports_.size()) {
    host_network_ = host_network;
    free_.assign(ports_.size(), 0);
  }
  return free_;
}

std::uint32_t PortProfiles::free_on(const std::string& host_network, std::uint32_t profile) {
  static_cast<void>(free_on(host_network));
  std::uint32_t& free = free_[profile];
  if (free != 0) return free;
  free = 1;
  if (const rank::NodePorts::Alias* const alias = ports_[profile]->alias(host_network_))
    for (const std::uint32_t address : alias->addresses)
      free = std::max(free, ports_[profile]->addresses[address].dynamic_free + 1);
  return free;
}

const std::vector<std::uint8_t>& PortProfiles::reserved_of(const std::string& asked) {
  if (asked != asked_ || statics_.size() != ports_.size()) {
    asked_ = asked;
    statics_.assign(ports_.size(), 0);
  }
  return statics_;
}

}  // namespace berth::sched
