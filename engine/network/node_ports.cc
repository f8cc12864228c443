#include "network/node_ports.h"

#include <algorithm>

namespace berth::network {
namespace {

using model::PortRange;

/// `ranges` must be ascending, disjoint and not adjacent.
bool contains(const std::vector<PortRange>& ranges, std::uint32_t port) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), port,
                                      [](std::uint32_t wanted, PortRange range) { return wanted < range.begin; });
  return after != ranges.begin() && port <= std::prev(after)->end;
}

/// Sorts the ranges and joins adjacent ones, so that their number does not grow with repetitions in the text.
void join_ranges(std::vector<PortRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](PortRange a, PortRange b) { return a.begin < b.begin; });
  std::size_t count = 0;
  for (const PortRange range : ranges) {
    if (count > 0 && range.begin <= ranges[count - 1].end + 1)
      ranges[count - 1].end = std::max(ranges[count - 1].end, range.end);
    else
      ranges[count++] = range;
  }
  ranges.resize(count);
}

constexpr auto kIp = [](const NodePorts::Address& address) -> const std::string& { return address.ip; };
constexpr auto kName = [](const NodePorts::Alias& alias) -> const std::string& { return alias.name; };
constexpr auto kNodeDevice = [](const auto& of) -> const std::string& { return of.device; };

std::uint32_t add_address(NodePorts& out, const std::string& ip) {
  if (const std::size_t known = out.address(ip); known != NameIndex::kNone) return static_cast<std::uint32_t>(known);
  out.addresses.push_back({ip, {}});
  out.address_names.note(out.addresses, out.addresses.size(), kIp);
  return static_cast<std::uint32_t>(out.addresses.size() - 1);
}

NodePorts::Alias& add_alias(NodePorts& out, const std::string& name) {
  const std::size_t known = out.alias_names.find(out.aliases, out.aliases.size(), name, kName);
  if (known != NameIndex::kNone) return out.aliases[known];
  out.aliases.push_back({name, {}});
  out.alias_names.note(out.aliases, out.aliases.size(), kName);
  return out.aliases.back();
}

void set_available(NodePorts& out, const std::string& device, std::int64_t mbits) {
  const std::size_t known = out.device_names.find(out.available, out.available.size(), device, kNodeDevice);
  if (known != NameIndex::kNone) {
    out.available[known].mbits = mbits;
    return;
  }
  out.available.push_back({device, mbits});
  out.device_names.note(out.available, out.available.size(), kNodeDevice);
}

void find_host_ip(const model::NodeResources& resources, NodePorts& out) {  // R-MODEL-488
  if (resources.node_networks && !resources.node_networks->empty()) {
    for (const model::NodeNetworkResource& network : *resources.node_networks) {
      if (network.mode != "host") continue;
      if (network.addresses.empty())
        out.host_without_address = true;
      else
        out.host_ip = network.addresses.front().address;
      return;
    }
    return;
  }
  for (const model::NetworkResource& network : resources.networks)
    if (network.mode == "host") out.host_ip = network.ip;
}

void append(const std::vector<PortRange>& ranges, std::string& out) {
  for (const PortRange range : ranges) out += std::to_string(range.begin) + '-' + std::to_string(range.end) + ',';
  out += ';';
}

}  // namespace

std::size_t NodePorts::address(std::string_view ip) const {
  return address_names.find(addresses, addresses.size(), ip, kIp);
}

const NodePorts::Alias* NodePorts::alias(std::string_view name) const {
  const std::size_t found = alias_names.find(aliases, aliases.size(), name, kName);
  return found == NameIndex::kNone ? nullptr : &aliases[found];
}

std::int64_t NodePorts::available_mbits(std::string_view device) const {
  const std::size_t found = device_names.find(available, available.size(), device, kNodeDevice);
  return found == NameIndex::kNone ? 0 : available[found].mbits;
}

NodePorts read_node_ports(const model::Node& node) {
  NodePorts out;
  if (node.reserved_resources) {
    auto ranges = model::parse_port_ranges(node.reserved_resources->networks.reserved_host_ports);
    if (!ranges) {
      out.error = "error parsing reserved_ports: " + ranges.error();
      return out;
    }
    out.reserved = std::move(*ranges);
    join_ranges(out.reserved);
  }
  if (!node.node_resources) return out;
  const model::NodeResources& resources = *node.node_resources;
  for (const model::NetworkResource& network : resources.networks) {
    if (network.device.empty()) continue;
    out.task_networks.push_back({network.mode, network.device, network.cidr, network.ip, parse_cidr(network.cidr)});
    set_available(out, network.device, network.mbits);
    add_address(out, network.ip);
  }
  if (resources.node_networks)
    for (const model::NodeNetworkResource& network : *resources.node_networks)
      for (const model::NodeNetworkAddress& address : network.addresses) {
        const std::uint32_t position = add_address(out, address.address);
        add_alias(out, address.alias).addresses.push_back(position);
        auto ranges = model::parse_port_ranges(address.reserved_ports);
        if (!ranges) {
          out.error = "error parsing reserved_ports for network \"" + address.alias + "\": " + ranges.error();
          return out;
        }
        auto& own = out.addresses[position].reserved;
        own.insert(own.end(), ranges->begin(), ranges->end());
      }
  // Bounds above 65535 are refused at import (R-MODEL-473); the index only has to stay within its bitmaps.
  const auto bound = [](std::int64_t value, std::uint32_t fallback) {
    return value > 0 ? static_cast<std::uint32_t>(std::min<std::int64_t>(value, model::kPortCount - 1)) : fallback;
  };
  out.dynamic_min = bound(resources.min_dynamic_port, out.dynamic_min);
  out.dynamic_max = bound(resources.max_dynamic_port, out.dynamic_max);
  find_host_ip(resources, out);
  for (NodePorts::Address& address : out.addresses) join_ranges(address.reserved);
  const std::uint32_t first = out.dynamic_min, last = std::max(out.dynamic_min, out.dynamic_max);
  for (NodePorts::Address& address : out.addresses) {
    std::int64_t free = std::int64_t{last} - first + 1;
    for (const auto* ranges : {&out.reserved, &address.reserved})
      for (const PortRange range : *ranges)
        free -= std::max<std::int64_t>(0, std::int64_t{std::min(range.end, last)} - std::max(range.begin, first) + 1);
    address.dynamic_free = static_cast<std::uint32_t>(std::max<std::int64_t>(0, free));
  }
  return out;
}

bool NodePorts::reserves(std::size_t address, std::uint32_t port) const {
  return contains(reserved, port) || contains(addresses[address].reserved, port);
}

std::string profile_text(const NodePorts& ports) {
  std::string out = std::to_string(ports.dynamic_min) + '-' + std::to_string(ports.dynamic_max) + ';';
  append(ports.reserved, out);
  for (const NodePorts::Address& address : ports.addresses) append(address.reserved, out);
  for (const NodePorts::Alias& alias : ports.aliases) {
    out += std::to_string(alias.name.size()) + ':' + alias.name;
    for (const std::uint32_t address : alias.addresses) out += ' ' + std::to_string(address);
    out += ';';
  }
  return out;
}

}  // namespace berth::network
