#include "http/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"

namespace berth::http {

namespace {

constexpr const char* kNoHost = "simulated.invalid";
constexpr std::uint32_t kReserved = 0xF0000000U;  // 240.0.0.0/4

/// State of replacing the addresses of a whole cluster: all present addresses, and the replacements of those that would
/// otherwise collide.
struct ClusterAddresses {
  bool collects = true;
  std::set<std::uint32_t> all;
  std::map<std::uint32_t, std::uint32_t> moved;

  /// Keeps addresses distinct that differ only in their first four bits, because ports are assigned per address.
  void move_collisions() {
    collects = false;
    std::set<std::uint32_t> taken;
    for (const std::uint32_t bits : all)
      if ((bits & kReserved) == kReserved) taken.insert(bits);
    for (const std::uint32_t bits : all) {
      if ((bits & kReserved) == kReserved) continue;
      std::uint32_t to = bits | kReserved;
      constexpr std::uint32_t kStep = 0x0100'0001U;  // odd: reaches every address of the block
      while (!taken.insert(to).second) to = kReserved | ((to + kStep) & ~kReserved);
      if (to != (bits | kReserved)) moved.emplace(bits, to);
    }
  }
};
thread_local ClusterAddresses* cluster_addresses = nullptr;

std::string text_of(const in_addr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET, &address, text.data(), text.size());
}

std::string text_of(const in6_addr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, &address, text.data(), text.size());
}

/// Members with an address, at any place in objects that the model stores as JSON.
constexpr const char* kAddressKeys[] = {"IP",       "HostIP",   "Address",    "AddressIPv6", "AddressIPv4", "Gateway",
                                        "Hostname", "HTTPAddr", "ServerAddr", "HTTPAddress", "RPCAddress"};
constexpr const char* kListKeys[] = {"Servers"};  // lists of names
/// Members that are left unchanged. Topologies of nodes and volumes are compared with each other.
constexpr const char* kDocumentation[] = {"Attributes", "Meta", "Links", "Segments", "Job"};

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_of_address(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == ':'; }

bool is_address(const std::string& text) {
  in_addr four{};
  in6_addr six{};
  return inet_pton(AF_INET, text.c_str(), &four) == 1 || inet_pton(AF_INET6, text.c_str(), &six) == 1;
}

/// Replaces the address in a run of address characters; keeps a port or punctuation after it.
std::string replaced_run(const std::string& run) {
  // "10.0.0.7.", "10.0.0.7:4646", "fd00::1:": the longest prefix that is an address and ends at a separator.
  for (std::size_t end = run.size(); end > 0; end = run.find_last_of(".:", end - 1)) {
    if (end == std::string::npos) break;
    if (const std::string address = run.substr(0, end); is_address(address))
      return replaced_address(address) + run.substr(end);
  }
  return run;
}

void replace_in(json::Value& value) {
  if (value.is_string()) value = replaced_in_text(value.as_string());
  if (value.is_array())
    for (json::Value& item : value.items()) replace_in(item);
  if (!value.is_object()) return;
  const auto is_one_of = [](const auto& keys, const std::string& key) {
    return std::any_of(std::begin(keys), std::end(keys), [&](const char* one) { return key == one; });
  };
  for (json::Member& member : value.members()) {
    if (is_one_of(kDocumentation, member.key)) continue;
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

void replace_in(json::Retained& value) {
  if (!value.is_null()) replace_in(value.own());
}

void replace_in(model::NetworkResource& network) {
  network.ip = replaced_address(network.ip), network.cidr = replaced_block(network.cidr);
  network.hostname = replaced_address(network.hostname);
  replace_in(network.dns), replace_in(network.cni);
}

void replace_in(std::string& text) { text = replaced_in_text(text); }

void replace_in(std::map<std::string, std::optional<model::CsiInfo>>& plugins) {
  for (auto& [id, plugin] : plugins) {
    if (!plugin) continue;
    replace_in(plugin->health_description), replace_in(plugin->controller_info);
    if (plugin->node_info) replace_in(plugin->node_info->id), replace_in(plugin->node_info->extra);
  }
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
    if (cluster_addresses && cluster_addresses->collects) {
      cluster_addresses->all.insert(bits);
      return address;
    }
    std::uint32_t to = bits | kReserved;
    if (cluster_addresses)
      if (const auto moved = cluster_addresses->moved.find(bits); moved != cluster_addresses->moved.end())
        to = moved->second;
    four.s_addr = htonl(to);
    return text_of(four);
  }
  if (cluster_addresses && cluster_addresses->collects) return address;
  if (in6_addr six{}; inet_pton(AF_INET6, address.c_str(), &six) == 1) {
    if (IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_UNSPECIFIED(&six)) return address;
    constexpr std::array<std::uint8_t, 4> kDocumentation = {0x20, 0x01, 0x0d, 0xb8};
    std::memcpy(six.s6_addr, kDocumentation.data(), kDocumentation.size());
    return text_of(six);
  }
  return kNoHost;
}

std::string replaced_in_text(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_of_address(text[at]) || (at > 0 && is_of_word(text[at - 1]))) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_of_address(text[end])) ++end;
    const std::string run = text.substr(at, end - at);
    out += end < text.size() && is_of_word(text[end]) ? run : replaced_run(run);
    at = end;
  }
  return out;
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
  replace_in(node.status_description), replace_in(node.events), replace_in(node.last_drain);
  for (auto& [name, driver] : node.drivers)
    if (driver) replace_in(driver->health_description);
  for (auto& [name, volume] : node.host_volumes)
    if (volume) replace_in(volume->path);
  replace_in(node.csi_controller_plugins), replace_in(node.csi_node_plugins);
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
  replace_in(alloc.client_description);
  for (model::AllocState& state : alloc.alloc_states) replace_in(state.value);
  for (auto& [name, task] : alloc.task_states)
    if (task) replace_in(task->events), replace_in(task->task_handle);
  replace_in(alloc.extra);
}

void replace_addresses(model::ClusterState& state, bool keep) {
  if (keep) {
    for (model::Node& node : state.nodes) remove_client_address(node);
    return;
  }
  ClusterAddresses all;
  cluster_addresses = &all;
  for (const bool collects : {true, false}) {
    if (!collects) all.move_collisions();
    for (model::Node& node : state.nodes) replace_addresses(node);
    for (model::Allocation& alloc : state.allocs) replace_addresses(alloc);
    for (model::HostVolume& volume : state.host_volumes) replace_in(volume.extra);
    for (model::CsiVolume& volume : state.csi_volumes) replace_in(volume.extra);
    for (model::CsiPlugin& plugin : state.csi_plugins) replace_in(plugin.extra);
  }
  cluster_addresses = nullptr;
}

}  // namespace berth::http
