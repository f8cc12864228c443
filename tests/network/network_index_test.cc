// Port offers, marking, and the iteration over address blocks, compared with examples and a simple set.
#include "network/network_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/growth.h"

namespace berth::network {
namespace {

model::Node node_with(std::vector<std::string> addresses, std::int64_t dynamic_min, std::int64_t dynamic_max) {
  model::Node node;
  auto& resources = node.node_resources.emplace();
  resources.min_dynamic_port = dynamic_min, resources.max_dynamic_port = dynamic_max;
  auto& network = resources.node_networks.emplace().emplace_back();
  network.mode = "host";
  for (std::string& address : addresses) {
    auto& entry = network.addresses.emplace_back();
    entry.alias = "two";
    entry.address = std::move(address);
  }
  return node;
}

model::Port port(const char* label, std::int64_t value, std::int64_t to = 0) {
  return {label, value, to, "two", false};
}

TEST(NetworkIndex, TakesTheNextAddressOfTheAlias) {  // W-14
  const NodePorts ports = read_node_ports(node_with({"10.0.0.1", "10.0.0.2"}, 0, 0));
  NetworkIndex index;
  index.start(ports);
  model::NetworkResource ask;
  ask.reserved_ports = {port("static", 7000)};
  std::vector<model::AllocatedPort> offer;
  index.add_ports(std::vector<model::AllocatedPort>{{"x", 7000, 0, "10.0.0.1", false}});
  ASSERT_TRUE(index.assign_ports(ask, offer));
  EXPECT_EQ(offer[0].host_ip, "10.0.0.2");
  index.add_ports(offer);
  const auto failed = index.assign_ports(ask, offer);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text(), "reserved port collision static=7000");
}

TEST(NetworkIndex, DynamicPortsAreTheSmallestFreeOnes) {  // W-14, R-MODEL-491
  model::NetworkResource ask;
  ask.dynamic_ports = {port("a", 0, -1), port("b", 0)};
  std::vector<model::AllocatedPort> offer;
  NetworkIndex index;
  const NodePorts one = read_node_ports(node_with({"10.0.0.1"}, 20000, 20000));
  index.start(one);
  const auto failed = index.assign_ports(ask, offer);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text(), "dynamic port selection failed");
  const NodePorts two = read_node_ports(node_with({"10.0.0.1"}, 20000, 20001));
  index.start(two);
  ASSERT_TRUE(index.assign_ports(ask, offer));
  EXPECT_EQ(offer[0].value, 20000);
  EXPECT_EQ(offer[0].to, 20000);
  EXPECT_EQ(offer[1].value, 20001);
  model::NetworkResource recorded = ask;
  ASSERT_TRUE(fill_group_network(two, offer, recorded));  // R-MODEL-488
  EXPECT_EQ(recorded.dynamic_ports[1].value, 20001);
  EXPECT_EQ(recorded.ip, "10.0.0.1");
}

TEST(NetworkIndex, StaticRequestsAvoidDynamicPorts) {  // R-MODEL-490: any free port is right
  model::NetworkResource ask;
  ask.reserved_ports = {port("static", 20003)};
  ask.dynamic_ports = {port("a", 0, -1), port("b", 0, 80), port("c", 0)};
  NetworkIndex index;
  const auto offered = [&](std::int64_t last, std::vector<std::uint16_t> spared) {
    const NodePorts ports = read_node_ports(node_with({"10.0.0.1", "10.0.0.2"}, 20000, last));
    index.start(ports);
    std::vector<model::AllocatedPort> offer;
    EXPECT_TRUE(index.assign_ports(ask, offer));
    index.spare_ports(ask, spared, offer);
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (const model::AllocatedPort& given : offer) out.emplace_back(given.value, given.to);
    return out;
  };
  using Ports = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(offered(20010, {}), (Ports{{20003, 0}, {20000, 20000}, {20001, 80}, {20002, 0}}));
  EXPECT_EQ(offered(20010, {20000, 20001}), (Ports{{20003, 0}, {20004, 20004}, {20005, 80}, {20002, 0}}));
  EXPECT_EQ(offered(20010, {20003, 20004}), (Ports{{20003, 0}, {20000, 20000}, {20001, 80}, {20002, 0}}));
  EXPECT_EQ(offered(20004, {20000, 20001}), (Ports{{20003, 0}, {20004, 20004}, {20001, 80}, {20002, 0}}))
      << "where none is left, the port stays";
}

TEST(NetworkIndex, ResetForgetsEverything) {
  model::Node node = node_with({"10.0.0.1"}, 0, 0);
  node.reserved_resources.emplace().networks.reserved_host_ports = "20000-20063,20065";
  const NodePorts ports = read_node_ports(node);
  NetworkIndex index;
  for (int round = 0; round < 3; ++round) {
    index.start(ports);
    EXPECT_TRUE(index.is_used("10.0.0.1", 20063));
    EXPECT_FALSE(index.is_used("10.0.0.1", 20064));
    EXPECT_EQ(index.used_mbits("eth0"), 0);
    model::NetworkResource network;
    network.ip = "10.0.0.1", network.device = "eth0", network.mbits = 7;
    network.reserved_ports = {port("a", 20064), port("b", 65535)};
    EXPECT_FALSE(index.add_network(network));
    EXPECT_TRUE(index.add_network(network));
    EXPECT_EQ(index.used_mbits("eth0"), 14);
    network.ip = "192.0.2.9";  // an address the node does not have
    EXPECT_FALSE(index.add_network(network));
    model::NetworkResource ask;
    ask.dynamic_ports = {port("d", 0)};
    std::vector<model::AllocatedPort> offer;
    ASSERT_TRUE(index.assign_ports(ask, offer));
    EXPECT_EQ(offer[0].value, 20066);
  }
}

TEST(NetworkIndex, AHugeAddressBlockTakesBoundedTime) {  // R-MODEL-495: a /8 has 16 million addresses
  model::Node node;
  auto& networks = node.node_resources.emplace().networks;
  networks.resize(2);
  networks[0].device = "eth0", networks[0].cidr = "10.0.0.0/8", networks[0].ip = "10.0.0.0", networks[0].mbits = 10;
  networks[1].device = "eth1", networks[1].cidr = "2001:db8::/32",
  networks[1].ip = "2001:db8::", networks[1].mbits = 10;
  const NodePorts ports = read_node_ports(node);
  NetworkIndex index;
  index.start(ports);
  model::NetworkResource ask, offer;
  ask.mbits = 11;
  EXPECT_EQ(index.assign_task_network(ask, offer).error().text(), "bandwidth exceeded");
  ask.mbits = 1;
  ask.reserved_ports = {{"s", 80, 0, "", false}};
  model::NetworkResource taken;
  taken.reserved_ports = ask.reserved_ports;
  for (const char* ip : {"10.0.0.0", "10.0.0.1"}) {
    taken.ip = ip;
    index.add_network(taken);
  }
  ASSERT_TRUE(index.assign_task_network(ask, offer));
  EXPECT_EQ(offer.ip, "10.0.0.2");
  EXPECT_EQ(offer.device, "eth0");
  ask.dynamic_ports.resize(12002);  // more than the range holds: no address at all can give them
  EXPECT_EQ(index.assign_task_network(ask, offer).error().text(), "dynamic port selection failed");
}

/// Compares the offers of two indexes of the same state for random requests; each offer is taken. Counts both outcomes.
void expect_same_offers(NetworkIndex& a, NetworkIndex& b, int asks, std::mt19937& random, int& offered, int& failed) {
  const auto any = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  for (int step = 0; step < asks; ++step) {
    model::NetworkResource ask;
    for (std::uint32_t i = any(0, 2); i > 0; --i) ask.reserved_ports.push_back(port("s", any(20000, 20060)));
    for (std::uint32_t i = any(0, 3); i > 0; --i) ask.dynamic_ports.push_back(port("d", 0, -1));
    std::vector<model::AllocatedPort> one, other;
    const auto first = a.assign_ports(ask, one), second = b.assign_ports(ask, other);
    ASSERT_EQ(first.has_value(), second.has_value());
    ++(first ? offered : failed);
    if (!first) {
      EXPECT_EQ(first.error().text(), second.error().text());
      continue;
    }
    ASSERT_EQ(one, other);
    EXPECT_EQ(a.add_ports(one), b.add_ports(other));
  }
}

TEST(NetworkIndex, ListedPortsCountAsEnteredOnes) {  // R-MODEL-490, 491
  std::mt19937 random(5);
  const auto any = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  NetworkIndex listed, entered;
  int offered = 0, failed = 0;
  for (int round = 0; round < 3'000; ++round) {
    model::Node node = node_with({"10.0.0.1", "10.0.0.2"}, 20000, 20000 + any(0, 150));
    std::string& reserved = node.node_resources->node_networks->front().addresses[0].reserved_ports;
    for (std::uint32_t i = any(0, 3); i > 0; --i) {
      const std::uint32_t begin = any(19990, 20140);
      reserved += (reserved.empty() ? "" : ",") + std::to_string(begin) + "-" + std::to_string(begin + any(0, 60));
    }
    const NodePorts ports = read_node_ports(node);
    ASSERT_EQ(ports.error, "");
    std::vector<std::uint16_t> used;
    for (std::uint32_t i = any(0, 54); i > 0; --i) {
      const auto value = static_cast<std::uint16_t>(any(0, 1) == 0 ? any(20000, 20060) : any(1, 65'535));
      if (!ports.reserves(0, value) && std::find(used.begin(), used.end(), value) == used.end()) used.push_back(value);
    }
    const char* const address = any(0, 9) == 0 ? "192.168.0.9" : "10.0.0.1";  // or one that the node does not have
    listed.start(ports), entered.start(ports);
    listed.list_ports(address, used);
    EXPECT_FALSE(entered.add_ports(address, used));
    SCOPED_TRACE("round " + std::to_string(round));
    expect_same_offers(listed, entered, 3, random, offered, failed);  // from the first one on both have a set there
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(offered, 1'000);
  EXPECT_GT(failed, 50);
}

/// R-MODEL-485, 490 and 491, port by port.
std::vector<model::AllocatedPort> offer_by_definition(const NetworkIndex& index, const model::NetworkResource& ask,
                                                      std::string& error) {
  std::vector<model::AllocatedPort> out;
  const NodePorts& node = index.node();
  for (const auto* list : {&ask.reserved_ports, &ask.dynamic_ports})
    for (const model::Port& port : *list) {
      const NodePorts::Alias* alias = node.alias(port.host_network);
      error = "no addresses available for " + port.host_network + " network";
      bool found = false;
      for (std::size_t i = 0; alias && i < alias->addresses.size() && !found; ++i) {
        const std::string& ip = node.addresses[alias->addresses[i]].ip;
        std::int64_t value = list == &ask.reserved_ports ? port.value : node.dynamic_min;
        if (list == &ask.reserved_ports) {
          error = "reserved port collision " + port.label + "=" + std::to_string(value);
          found = !index.is_used(ip, static_cast<std::uint32_t>(value));
        } else {
          error = "dynamic port selection failed";
          const auto taken = [&] {
            return index.is_used(ip, static_cast<std::uint32_t>(value)) ||
                   std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.value == value; });
          };
          while (value <= node.dynamic_max && taken()) ++value;
          found = value <= node.dynamic_max;
        }
        if (found) out.push_back({port.label, value, port.to == -1 && port.value == 0 ? value : port.to, ip, false});
      }
      if (!found) return {};
    }
  error.clear();
  return out;
}

TEST(NetworkIndex, ALongRequestFollowsTheDefinition) {  // R-MODEL-485, 490, 491
  std::mt19937 random(9);
  const auto any = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  int offered = 0, failed = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    model::Node node = node_with({"10.0.0.1", "10.0.0.2", "10.0.0.3"}, 20000, 20000 + any(20, 260));
    auto& addresses = node.node_resources->node_networks->front().addresses;
    addresses[2].alias = "other";
    for (auto& address : addresses)
      for (std::uint32_t i = any(0, 2) == 0 ? any(0, 90) : 0; i > 0; --i)  // more than 64 ranges are a set
        address.reserved_ports += (address.reserved_ports.empty() ? "" : ",") + std::to_string(20000 + 3 * any(0, 90));
    const NodePorts ports = read_node_ports(node);
    ASSERT_EQ(ports.error, "");
    NetworkIndex index;
    index.start(ports);
    std::vector<std::uint16_t> used;
    for (std::uint32_t i = any(0, 100); i > 0; --i) used.push_back(static_cast<std::uint16_t>(any(20000, 20200)));
    index.add_ports("10.0.0.1", used);
    model::NetworkResource ask;
    for (std::uint32_t i = any(0, 1) * any(0, 4); i > 0; --i)
      ask.reserved_ports.push_back(port("s", any(20000, 20400)));
    for (std::uint32_t i = any(1, 200); i > 0; --i) {
      ask.dynamic_ports.push_back(port("d", 0, any(0, 1) == 0 ? -1 : 80));
      if (any(0, 2) == 0) ask.dynamic_ports.back().host_network = "other";
    }
    std::string error;
    const auto expected = offer_by_definition(index, ask, error);
    std::vector<model::AllocatedPort> offer;
    const auto done = index.assign_ports(ask, offer);
    EXPECT_EQ(done ? "" : done.error().text(), error);
    if (done) {
      EXPECT_EQ(offer, expected);
    }
    ++(done ? offered : failed);
  }
  EXPECT_GT(offered, 50);
  EXPECT_GT(failed, 50);
}

TEST(NetworkIndex, CostsGrowWithPortsAddressesAndRanges) {  // not with their squares or products
  using testing::growth_of, testing::kLinearAtMost;
  model::Node node = node_with({"10.0.0.1", "10.0.0.2"}, 20000, 60000);
  node.node_resources->node_networks->front().addresses[1].alias = "other";
  const NodePorts ports = read_node_ports(node);
  NetworkIndex index;
  std::vector<model::AllocatedPort> offer;
  const auto dynamic = [&](std::size_t count) {
    model::NetworkResource ask;
    for (std::size_t i = 0; i < count; ++i) {
      ask.dynamic_ports.push_back(port(("d" + std::to_string(i)).c_str(), 0, -1));
      if (i % 2 == 1) ask.dynamic_ports.back().host_network = "other";
    }
    index.start(ports);
    ASSERT_TRUE(index.assign_ports(ask, offer));
    ASSERT_TRUE(fill_group_network(ports, offer, ask));
    ASSERT_EQ(ask.dynamic_ports.back().value, 20000 + static_cast<std::int64_t>(count) - 1);
  };
  EXPECT_LT(growth_of(dynamic, 1'500), kLinearAtMost) << "dynamic ports of one network";
  const auto mixed = [&](std::size_t count) {
    model::NetworkResource ask;
    for (std::size_t i = 0; i < count; ++i) {
      ask.reserved_ports.push_back(port("s", 20000 + static_cast<std::int64_t>(2 * i)));
      ask.dynamic_ports.push_back(port("d", 0));
    }
    index.start(ports);
    ASSERT_TRUE(index.assign_ports(ask, offer));
  };
  EXPECT_LT(growth_of(mixed, 1'500), kLinearAtMost) << "static and dynamic ports of one network";
  const auto ranges = [&](std::size_t count) {
    model::Node other = node_with({"10.0.0.1"}, 20000, 60000);
    std::string& reserved = other.node_resources->node_networks->front().addresses[0].reserved_ports;
    for (std::size_t i = 0; i < count; ++i)
      reserved += (i > 0 ? "," : "") + std::to_string(20000 + 2 * (i * 7919 % 20000));
    const NodePorts of = read_node_ports(other);
    model::NetworkResource ask;
    for (int i = 0; i < 20; ++i) ask.dynamic_ports.push_back(port("d", 0));
    index.start(of);
    ASSERT_TRUE(index.assign_ports(ask, offer));
  };
  EXPECT_LT(growth_of(ranges, 2'000), kLinearAtMost) << "ranges of reserved ports";
  const auto many_addresses = [&](std::size_t count) {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < count; ++i)
      list.push_back("10." + std::to_string(i >> 16) + "." + std::to_string(i >> 8 & 255) + "." +
                     std::to_string(i & 255));
    model::Node other = node_with(list, 20000, 60000);
    for (std::size_t i = 0; i < count; ++i)
      other.node_resources->node_networks->front().addresses[i].alias = "a" + std::to_string(i);
    const NodePorts of = read_node_ports(other);
    index.start(of);
    for (const std::string& ip : list) EXPECT_FALSE(index.is_used(ip, 80));
    for (const std::string& ip : list) ASSERT_FALSE(index.add_network({.device = ip, .ip = "x", .mbits = 1}));
  };
  EXPECT_LT(growth_of(many_addresses, 1'500), kLinearAtMost) << "addresses, aliases and devices";
  const auto held = [&](std::size_t count) {
    std::vector<std::uint16_t> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(static_cast<std::uint16_t>(1 + i));
    index.start(ports);
    index.list_ports("10.0.0.1", list);
    for (const std::uint16_t number : list) EXPECT_TRUE(index.is_used("10.0.0.1", number));
  };
  EXPECT_LT(growth_of(held, 2'000), kLinearAtMost) << "ports that one allocation holds";
}

TEST(NetworkIndex, ANodeOfOtherAddressesTellsTheRest) {  // NetworkIndex::start()
  std::mt19937 random(6);
  const auto any = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  NetworkIndex alone, beside;
  int offered = 0, failed = 0, collisions = 0, clear = 0;
  for (int round = 0; round < 2'000; ++round) {
    const std::uint32_t last = 20000 + any(0, 60);
    model::Node node = node_with({"10.0.0.1", "10.0.0.2"}, 20000, last);
    for (auto& address : node.node_resources->node_networks->front().addresses)
      if (any(0, 1) == 0) address.reserved_ports = std::to_string(any(20000, 20040)) + ",20050-20055";
    model::Node other = node;
    auto& addresses = other.node_resources->node_networks->front().addresses;
    for (auto& address : addresses) address.address = "172.16.0." + std::to_string(&address - addresses.data());
    const NodePorts ports = read_node_ports(node), like = read_node_ports(other);
    alone.start(ports), beside.start(ports, like);
    std::vector<std::uint16_t> used;
    for (std::uint32_t i = any(0, 40); i > 0; --i) used.push_back(static_cast<std::uint16_t>(any(20000, 20060)));
    if (any(0, 1) == 0) used.resize(std::min<std::size_t>(used.size(), 3));
    const char* const address = any(0, 1) == 0 ? "10.0.0.1" : any(0, 4) == 0 ? "172.16.0.1" : "10.0.0.2";
    const bool collided = alone.add_ports(address, used);
    EXPECT_EQ(collided, beside.add_ports(address, used));
    const auto all = std::span<const std::uint16_t>(used);  // one after the other
    std::size_t first = 0;
    while (first < all.size() && !NetworkIndex::collide(ports, address, all.first(first), all.subspan(first, 1)))
      ++first;
    EXPECT_EQ(collided, first < all.size());
    EXPECT_EQ(collided, NetworkIndex::collide(ports, address, {}, all));
    ++(collided ? collisions : clear);
    SCOPED_TRACE("round " + std::to_string(round));
    expect_same_offers(alone, beside, 2, random, offered, failed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(offered, 1'000);
  EXPECT_GT(failed, 50);
  EXPECT_GT(collisions, 200);
  EXPECT_GT(clear, 200);
}

TEST(PortSet, AgreesWithASetOfNumbers) {
  constexpr std::uint32_t kSeed = 470;
  std::mt19937 engine(kSeed);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  PortSet ports;
  for (int round = 0; round < 200; ++round) {
    ports.clear();
    std::set<std::uint32_t> oracle;
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t begin = random() % 300 + (random() % 2 ? 65250 : 0);
      const std::uint32_t end = std::min(65536U, begin + random() % 130);
      ports.insert(model::PortRange{begin, end});
      for (std::uint32_t p = begin; p <= end && p < 65536; ++p) oracle.insert(p);
    }
    for (int i = 0; i < 50; ++i) {
      const std::uint32_t from = random() % 2 ? random() % 500 : 65200 + random() % 336;
      const std::uint32_t to = std::min(65535U, from + random() % 200);
      std::uint32_t expected = from;
      while (expected <= to && oracle.contains(expected)) ++expected;
      EXPECT_EQ(ports.first_free(from, to), expected <= to ? expected : kNoPort) << "seed " << kSeed;
      EXPECT_EQ(ports.contains(from), oracle.contains(from)) << "seed " << kSeed;
    }
  }
}

TEST(Cidr, NamesAddressesAsGoDoes) {
  EXPECT_EQ(to_text(parse_cidr("10.1.2.3/24")->first), "10.1.2.0");
  EXPECT_EQ(to_text(parse_cidr("10.1.2.3/24")->last), "10.1.2.255");
  EXPECT_EQ(to_text(parse_cidr("10.1.2.3/32")->last), "10.1.2.3");
  EXPECT_EQ(to_text(parse_cidr("2001:db8:0:0:1::1/128")->first), "2001:db8::1:0:0:1");
  EXPECT_EQ(to_text(parse_cidr("::/0")->first), "::");
  EXPECT_EQ(to_text(parse_cidr("1::/16")->first), "1::");
  EXPECT_EQ(to_text(parse_cidr("::ffff:10.0.0.1/128")->first), "10.0.0.1");
  EXPECT_EQ(to_text(parse_cidr("::1.2.3.4/128")->first), "::102:304");
  EXPECT_EQ(to_text(next(parse_cidr("10.0.255.255/32")->first)), "10.1.0.0");
  for (const char* text : {"", "10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0/8", "10.0.0.01/8", "a/8", "10.0.0.1/-1",
                           "fe80::1%eth0/64", "10.0.0.1/8 ", "10.0.0.1/99999999999999999999", "::1/129"})
    EXPECT_FALSE(parse_cidr(text)) << text;
}

TEST(Cidr, AnyTextIsABlockOrRefused) {
  constexpr std::uint32_t kSeed = 495;
  std::mt19937 random(kSeed);
  constexpr std::string_view kAlphabet = "0012589.:/abf";
  int parsed = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text = random() % 2 ? "10.0." : "fe80:";
    for (std::uint32_t length = random() % 12; length > 0; --length) text += kAlphabet[random() % kAlphabet.size()];
    const auto block = parse_cidr(text);
    if (!block) continue;
    ++parsed;
    // Both ends, printed and read again as single addresses, are the same addresses.
    for (const IpAddress& end : {block->first, block->last})
      EXPECT_EQ(parse_cidr(to_text(end) + (end.v4 ? "/32" : "/128"))->first, end) << "seed " << kSeed << " " << text;
  }
  EXPECT_GT(parsed, 0);
}

}  // namespace
}  // namespace berth::network
