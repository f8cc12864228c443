#include "serve/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace berth::serve {

namespace {

constexpr const char* kNoHost = "simulated.invalid";

std::string text_of(const in_addr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET, &address, text.data(), text.size());
}

std::string text_of(const in6_addr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, &address, text.data(), text.size());
}

/// Members of objects that the model keeps as JSON and that hold an address, wherever they are.
constexpr const char* kAddressKeys[] = {"IP",       "HostIP",   "Address",    "AddressIPv6", "AddressIPv4", "Gateway",
                                        "Hostname", "HTTPAddr", "ServerAddr", "HTTPAddress", "RPCAddress"};
constexpr const char* kListKeys[] = {"Servers"};  // of names

void replace_in(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.items()) replace_in(item);
  if (!value.is_object()) return;
  const auto is_one_of = [](const auto& keys, const std::string& key) {
    return std::any_of(std::begin(keys), std::end(keys), [&](const char* one) { return key == one; });
  };
  for (json::Member& member : value.members()) {
    if (member.value.is_string() && is_one_of(kAddressKeys, member.key))
      member.value = replaced_address(member.value.as_string());
    else if (member.value.is_string() && member.key == "CIDR")
      member.value = replaced_block(member.value.as_string());
    else if (member.value.is_array() && is_one_of(kListKeys, member.key))
      for (json::Value& item : member.value.items())
        item = item.is_string() ? json::Value(replaced_address(item.as_string())) : item;
    else
      replace_in(member.value);
  }
}

void replace_in(model::NetworkResource& network) {
  network.ip = replaced_address(network.ip), network.cidr = replaced_block(network.cidr);
  network.hostname = replaced_address(network.hostname);
  replace_in(network.dns), replace_in(network.cni);
}

void replace_in(model::NodeResources& resources) {
  for (model::NetworkResource& network : resources.networks) replace_in(network);
  if (!resources.node_networks) return;
  for (model::NodeNetworkResource& card : *resources.node_networks)
    for (model::NodeNetworkAddress& one : card.addresses)
      one.address = replaced_address(one.address), one.gateway = replaced_address(one.gateway);
}

}  // namespace

std::string replaced_address(const std::string& address) {
  if (address.empty()) return address;
  if (in_addr four{}; inet_pton(AF_INET, address.c_str(), &four) == 1) {
    const std::uint32_t bits = ntohl(four.s_addr);
    if (bits == 0 || bits >> 24 == 127) return address;
    four.s_addr = htonl(bits | 0xF0000000U);
    return text_of(four);
  }
  if (in6_addr six{}; inet_pton(AF_INET6, address.c_str(), &six) == 1) {
    if (IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_UNSPECIFIED(&six)) return address;
    constexpr std::array<std::uint8_t, 4> kDocumentation = {0x20, 0x01, 0x0d, 0xb8};
    std::memcpy(six.s6_addr, kDocumentation.data(), kDocumentation.size());
    return text_of(six);
  }
  return kNoHost;
}

std::string replaced_block(const std::string& cidr) {
  const std::size_t slash = cidr.find('/');
  if (slash == std::string::npos) return replaced_address(cidr);
  return replaced_address(cidr.substr(0, slash)) + cidr.substr(slash);
}

void remove_client_address(model::Node& node) { node.http_addr.clear(); }

void replace_addresses(model::Node& node) {
  remove_client_address(node);
  if (node.node_resources) replace_in(*node.node_resources);
  replace_in(node.host_networks);
  replace_in(node.extra);
}

void replace_addresses(model::Allocation& alloc) {
  if (alloc.allocated_resources) {
    for (model::NetworkResource& network : alloc.allocated_resources->shared.networks) replace_in(network);
    for (model::AllocatedPort& port : alloc.allocated_resources->shared.ports)
      port.host_ip = replaced_address(port.host_ip);
    for (auto& [name, task] : alloc.allocated_resources->tasks)
      for (model::NetworkResource& network : task.networks) replace_in(network);
  }
  replace_in(alloc.resources), replace_in(alloc.shared_resources), replace_in(alloc.task_resources);
  replace_in(alloc.network_status);
  replace_in(alloc.extra);
}

void replace_addresses(model::ClusterState& state, bool keep) {
  for (model::Node& node : state.nodes)
    if (keep)
      remove_client_address(node);
    else
      replace_addresses(node);
  if (keep) return;
  for (model::Allocation& alloc : state.allocs) replace_addresses(alloc);
}

}  // namespace berth::serve
