#include "preempt/victims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>

#include "rank/components.h"

namespace berth::preempt {
namespace {

constexpr model::Quirks kWithoutQuirks = model::Quirks::none();

/// Candidates by name, and the names of those chosen.
class Node {
 public:
  Node& use(const std::string& name, std::int64_t q, std::int64_t cpu, std::int64_t memory, std::int64_t disk) {
    Candidate& c = add(name, q);
    c.cpu_mhz = cpu, c.memory_mb = memory, c.disk_mb = disk;
    return *this;
  }
  Node& network(const std::string& name, std::int64_t q, std::int64_t mbits, std::vector<std::int64_t> ports = {},
                const std::string& device = "eth0") {
    model::NetworkResource network;
    network.device = device;
    network.mbits = mbits;
    for (const std::int64_t value : ports) network.reserved_ports.emplace_back().value = value;
    add(name, q);
    held_.back().tasks["t"].networks.push_back(std::move(network));
    return *this;
  }
  Node& devices(const std::string& name, std::int64_t q, const std::string& type, std::vector<std::string> ids) {
    add(name, q);
    held_.back().tasks["t"].devices.push_back({"nvidia", type, "a", std::move(ids)});
    return *this;
  }

  /// Another entry of the last one's device group.
  Node& second_entry(std::vector<std::string> ids) {
    auto& entries = held_.back().tasks["t"].devices;
    entries.push_back({entries[0].vendor, entries[0].type, entries[0].name, std::move(ids)});
    return *this;
  }

  std::vector<std::string> for_resources(std::int64_t p, const model::FlatResources& room,
                                         const model::FlatResources& ask, std::int64_t fewest = 1) {
    Victims victims;
    choose_for_resources(p, room, ask, list_, scratch_, victims, fewest);
    return names(victims);
  }
  /// Everything any candidate uses on eth0 and `others` Mbit/s besides are in use.
  std::vector<std::string> for_network(std::int64_t p, std::int64_t total, std::int64_t mbits,
                                       const std::vector<std::int64_t>& ports, const model::Quirks& quirks = {}) {
    network::NodePorts node;
    node.available.push_back({"eth0", total});
    network::NetworkIndex index;
    index.start(node);
    for (const model::AllocatedResources& held : held_) index.add(held, "");
    model::NetworkResource ask;
    ask.mbits = mbits;
    for (const std::int64_t value : ports) ask.reserved_ports.emplace_back().value = value;
    Victims victims;
    choose_for_network(p, ask, index, list_, scratch_, victims, quirks);
    return names(victims);
  }
  /// Requests `count` devices of any type; every group of `groups` has instances type + "1", type + "2", ...
  std::vector<std::string> for_devices(std::int64_t p, std::uint64_t count,
                                       const std::vector<std::pair<std::string, int>>& groups,
                                       const model::Quirks& quirks = {}) {
    std::vector<model::NodeDevice> devices;
    for (const auto& [type, instances] : groups) {
      model::NodeDevice& device = devices.emplace_back();
      device.vendor = "nvidia", device.type = type, device.name = "a";
      for (int i = 1; i <= instances; ++i) {
        model::DeviceInstance& instance = device.instances.emplace_back();
        instance.id = type + std::to_string(i);
        instance.healthy = true;
      }
    }
    rank::DeviceAccounter accounter(devices);
    for (const model::AllocatedResources& held : held_)
      for (const model::AllocatedDevice& device : held.tasks.at("t").devices) accounter.add(device);
    match::DeviceRequest request;
    request.name.vendor = "nvidia";
    request.count = count;
    match::Patterns patterns;
    Victims victims;
    EXPECT_TRUE(choose_for_device(p, request, accounter, list_, patterns, scratch_, victims, quirks));
    return names(victims);
  }
  [[nodiscard]] Candidate& last() { return list_.back(); }
  /// Another network of the last one.
  Node& second_network(const std::string& device, std::int64_t mbits) {
    model::NetworkResource& network = held_.back().tasks["t"].networks.emplace_back();
    network.device = device, network.mbits = mbits;
    return *this;
  }

 private:
  Candidate& add(const std::string& name, std::int64_t q) {
    names_.push_back(name);
    held_.emplace_back();
    Candidate& c = list_.emplace_back();
    c.priority = q;
    c.resources = &held_.back();
    return c;
  }
  [[nodiscard]] std::vector<std::string> names(const Victims& victims) const {
    std::vector<std::string> out;
    for (const std::uint32_t v : victims) out.push_back(names_[v]);
    return out;
  }
  std::vector<std::string> names_;
  std::vector<Candidate> list_;
  std::deque<model::AllocatedResources> held_;
  Scratch scratch_;
};

model::FlatResources flat(std::int64_t cpu, std::int64_t memory, std::int64_t disk) {
  model::FlatResources out;
  out.cpu_mhz = cpu, out.memory_mb = memory, out.disk_mb = disk;
  return out;
}

double distance_of(const model::FlatResources& need, std::int64_t cpu, std::int64_t memory, std::int64_t disk) {
  Candidate c;
  c.cpu_mhz = cpu, c.memory_mb = memory, c.disk_mb = disk;
  return distance(need, c);
}

using Names = std::vector<std::string>;

/// The example of the preemption documentation (section 12).
Node documented() {
  Node node;
  node.use("a1", 20, 0, 512, 800).use("a2", 20, 0, 512, 200).use("a4", 50, 500, 1024, 500);
  node.use("a5", 50, 500, 1024, 500).use("a6", 70, 1000, 2048, 500);
  return node;
}
const model::FlatResources kRoom = flat(2000, 5120, 2500);

TEST(DocumentedExample, EvictsA2A1A4) {  // R-PREEMPT-1202 to 1206
  EXPECT_EQ(documented().for_resources(75, kRoom, flat(0, 2048, 1000)), (Names{"a2", "a1", "a4"}));
}

TEST(DocumentedExample, HasTheDocumentedDistances) {  // R-PREEMPT-1203 to 1206
  EXPECT_EQ(distance_of(flat(0, 2048, 1000), 0, 512, 800), 0.77620873481300123);
  EXPECT_EQ(distance_of(flat(0, 2048, 1000), 0, 512, 200), 1.0965856099730655);
  EXPECT_EQ(distance_of(flat(0, 1536, 200), 0, 512, 200), 0.66666666666666663);
  EXPECT_EQ(distance_of(flat(0, 1024, 0), 500, 1024, 500), 0);
  EXPECT_EQ(distance_of(flat(0, 2048, 1000), 500, 1024, 500), 0.70710678118654757);
}

TEST(DocumentedExample, ScoresTheChoice) {  // R-PREEMPT-1207
  const double net = rank::net_priority(std::vector<std::int64_t>{20, 20, 50});
  EXPECT_EQ(net, 51.799999999999997);
  EXPECT_EQ(rank::preemption_score(net), 0.99993102931323097);
  rank::ScoreRow row;
  row.append(rank::Component::binpack, 1);
  row.append(rank::Component::preemption, rank::preemption_score(net));
  EXPECT_EQ(row.mean(), 0.99996551465661554);
}

TEST(DocumentedExample, VariesWithAskAndPriority) {  // R-PREEMPT-1209
  EXPECT_EQ(documented().for_resources(75, kRoom, flat(500, 2048, 1000)), (Names{"a2", "a1", "a4"}));
  EXPECT_EQ(documented().for_resources(75, kRoom, flat(1000, 2048, 1000)), (Names{"a2", "a1", "a4", "a5"}));
  EXPECT_EQ(documented().for_resources(80, kRoom, flat(0, 2048, 1000)), (Names{"a2", "a1", "a4"}));
  EXPECT_EQ(documented().for_resources(80, kRoom, flat(0, 4096, 1000)), (Names{"a2", "a4", "a5", "a1", "a6"}));
  EXPECT_EQ(documented().for_resources(79, kRoom, flat(0, 4096, 1000)), Names{});
}

TEST(Distance, GivesExampleE1) {  // R-PREEMPT-411
  const model::FlatResources ask = flat(2048, 512, 4096);
  EXPECT_EQ(distance_of(ask, 1024, 400, 1024), 0.92755137997848935);
  EXPECT_EQ(distance_of(ask, 8192, 200, 1024), 3.15179915137767);
  EXPECT_EQ(distance_of(ask, 2048, 500, 4096), 0.0234375);
  EXPECT_EQ(distance_of(ask, 2048, 512, 4096), 0);
}

TEST(Candidate, IsPreemptibleTenPrioritiesBelow) {  // example E2, R-PREEMPT-203, 204
  Candidate c;
  c.priority = 30;
  EXPECT_TRUE(c.preemptible_by(40));
  c.has_job = false;
  EXPECT_FALSE(c.preemptible_by(40));
  c.has_job = true;
  c.priority = 31;
  EXPECT_FALSE(c.preemptible_by(40));
  c.priority = 1;
  EXPECT_FALSE(c.preemptible_by(10));
}

TEST(ResourcePreemption, EliminationKeepsAVictimThatSufficesAlone) {  // example E3
  Node node;
  node.use("h", 100, 1800, 2256, 4096).use("b", 30, 1500, 256, 5120).use("c", 30, 600, 256, 5120);
  EXPECT_EQ(node.for_resources(100, flat(3900, 7936, 98304), flat(1000, 256, 5120)), Names{"b"});
}

TEST(ResourcePreemption, OwnAllocationsAreNotSubtracted) {  // example E4: own use of 6000 is no candidate
  Node node;
  node.use("x", 30, 0, 2000, 0).use("y", 30, 0, 2000, 0);
  EXPECT_EQ(node.for_resources(100, flat(0, 10000, 0), flat(0, 4000, 0)), Names{"x"});
}

TEST(ResourcePreemption, FixedRuleTakesNoVictimIfNoneIsNeeded) {  // R-PREEMPT-406
  Node node;
  node.use("x", 30, 100, 100, 0);
  EXPECT_EQ(node.for_resources(90, flat(1000, 1000, 0), flat(100, 100, 0)), Names{"x"});
  EXPECT_EQ(node.for_resources(90, flat(1000, 1000, 0), flat(100, 100, 0), 0), Names{});
  EXPECT_EQ(node.for_resources(90, flat(150, 1000, 0), flat(100, 100, 0), 0), Names{"x"});  // 50 MHz are left
}

TEST(ResourcePreemption, FixedRuleTakesEnoughForTheAllocationLimit) {  // R-PREEMPT-406: two over the limit
  Node node;
  node.use("a", 30, 100, 0, 0).use("b", 30, 100, 0, 0).use("c", 40, 100, 0, 0);
  EXPECT_EQ(node.for_resources(90, flat(1000, 0, 0), flat(100, 0, 0)), Names{"a"});
  EXPECT_EQ(node.for_resources(90, flat(1000, 0, 0), flat(100, 0, 0), 2), (Names{"a", "b"}));
  EXPECT_EQ(node.for_resources(90, flat(1000, 0, 0), flat(100, 0, 0), 3), (Names{"a", "b", "c"}));
  EXPECT_EQ(node.for_resources(90, flat(1000, 0, 0), flat(100, 0, 0), 4), Names{});  // never under it
}

TEST(ResourcePreemption, OpensTheNextPriorityOnlyWhenTheLowerIsUsedUp) {  // R-PREEMPT-407
  Node node;
  node.use("exact", 40, 0, 1000, 0).use("small", 10, 0, 300, 0).use("tiny", 10, 0, 100, 0);
  EXPECT_EQ(node.for_resources(90, flat(0, 1400, 0), flat(0, 400, 0)), (Names{"tiny", "small"}));
}

TEST(ResourcePreemption, FillsTheGapWithTheLastElement) {  // R-PREEMPT-405: then d is met before b
  Node node;
  for (const char* name : {"a", "b", "c", "d"}) node.use(name, 20, 0, 100, 0);
  EXPECT_EQ(node.for_resources(90, flat(0, 400, 0), flat(0, 200, 0)), (Names{"a", "d"}));
}

TEST(NetPriority, GivesExampleE5) {  // R-PREEMPT-701, 702
  const auto score = [](const std::vector<std::int64_t>& q) { return rank::preemption_score(rank::net_priority(q)); };
  EXPECT_EQ(score({20}), 0.99994050745184315);
  EXPECT_EQ(score({30}), 0.99993758234685293);
  EXPECT_EQ(score({30, 30}), 0.9999372820407505);
  EXPECT_EQ(score({50, 50, 50, 50}), 0.9999302971746572);
  EXPECT_EQ(score({1, 1, 1}), 0.99994516900010844);
  EXPECT_EQ(score({20, 20, 20}), 0.99993993360764133);
}

TEST(NetworkPreemption, TakesTheNearestBandwidth) {  // example E6
  Node node;
  node.network("high", 100, 150).network("l1", 30, 500).network("l2", 30, 320);
  EXPECT_EQ(node.for_network(100, 1000, 320, {}), Names{"l2"});
}

TEST(NetworkPreemption, TakesThePortHolderFirst) {  // example E7
  Node node;
  node.network("high", 100, 150).network("a1", 30, 500, {88}).network("a2", 30, 200);
  EXPECT_EQ(node.for_network(100, 1000, 800, {88}), (Names{"a2", "a1"}));
}

TEST(NetworkPreemption, EliminationCanDropThePortHolder) {  // example E8, R-PREEMPT-514
  Node node;
  node.network("a1", 30, 10, {80}).network("a2", 30, 500);
  EXPECT_EQ(node.for_network(100, 510, 100, {80}), Names{"a2"});
  EXPECT_EQ(node.for_network(100, 510, 100, {80}, kWithoutQuirks), (Names{"a1", "a2"}));
}

TEST(NetworkPreemption, KeepsHoldersAndOnlyNeededOthersWithoutQuirks) {  // R-PREEMPT-511, 514; free 0
  Node node;
  node.network("holder", 30, 60, {80}).network("small", 30, 20).network("large", 40, 90);
  EXPECT_EQ(node.for_network(100, 170, 100, {80}), (Names{"small", "holder", "large"}));
  EXPECT_EQ(node.for_network(100, 170, 100, {80}, kWithoutQuirks), (Names{"holder", "small", "large"}));
  Node enough;
  enough.network("holder", 30, 100, {80}).network("other", 30, 20);
  EXPECT_EQ(enough.for_network(100, 120, 100, {80}, kWithoutQuirks), Names{"holder"});
}

TEST(NetworkPreemption, ListsTheHolderOfTwoPortsTwice) {  // example E9, R-PREEMPT-516
  Node node;
  node.network("A", 30, 0, {80, 443});
  EXPECT_EQ(node.for_network(100, 0, 0, {80, 443}), (Names{"A", "A"}));
  EXPECT_EQ(node.for_network(100, 0, 0, {80, 443}, kWithoutQuirks), Names{"A"});
  EXPECT_EQ(rank::net_priority(std::vector<std::int64_t>{30, 30}), 32);
}

TEST(NetworkPreemption, FailsIfAnEqualPriorityHoldsThePort) {  // R-PREEMPT-503, 506
  Node node;
  node.network("equal", 95, 0, {80}).network("low", 30, 0, {443});
  EXPECT_EQ(node.for_network(100, 1000, 0, {80}), Names{});
  EXPECT_EQ(node.for_network(100, 1000, 0, {443}), Names{"low"});
}

TEST(NetworkPreemption, FailsWithoutAVictim) {  // R-PREEMPT-512
  Node node;
  node.network("low", 30, 10);
  EXPECT_EQ(node.for_network(100, 1000, 0, {}), Names{});
}

TEST(NetworkPreemption, CountsOnlyTheNetworksOfTheDevice) {  // R-PREEMPT-511
  Node node;
  node.network("a", 10, 300).second_network("eth1", 900);
  node.network("b", 20, 400);
  // 1000 Mbit/s, 300 free: both are needed for 900, since eth1 does not help.
  EXPECT_EQ(node.for_network(100, 1000, 900, {}), (Names{"a", "b"}));
}

TEST(Preemption, AllocationsWithoutResourcesOrJobAreNoVictims) {  // R-PREEMPT-203
  Node node;
  node.network("a", 10, 300).network("b", 20, 300);
  node.last().resources = nullptr;
  EXPECT_EQ(node.for_network(100, 600, 300, {}), Names{"a"});
  Node orphan;
  orphan.network("a", 10, 300);
  orphan.last().has_job = false;
  EXPECT_EQ(orphan.for_network(100, 300, 300, {}), Names{});
  Node devices;
  devices.devices("a", 10, "gpu", {"gpu1"}).devices("b", 5, "gone", {"gone1"}).devices("c", 20, "gpu", {"gpu2"});
  devices.last().resources = nullptr;
  // Not `b`, whose group the node no longer has.
  EXPECT_EQ(devices.for_devices(100, 1, {{"gpu", 2}}), Names{"a"});
}

TEST(DevicePreemption, ReportsNanInComparisons) {  // R-FEAS-933
  model::NodeDevice device;
  device.vendor = "nvidia", device.type = "gpu", device.name = "a";
  device.instances.emplace_back().id = "gpu1", device.instances[0].healthy = true;
  device.attributes["speed"] = match::parse_device_literal("1.5");
  const std::vector<model::NodeDevice> list = {device};
  const rank::DeviceAccounter accounter(list);
  model::AllocatedResources held;
  held.tasks["t"].devices = {{"nvidia", "gpu", "a", {"gpu1"}}};
  Candidate candidate;
  candidate.resources = &held;
  match::Patterns patterns;
  Scratch scratch;
  Victims victims;
  const auto choose = [&](const char* value) {
    const auto request = match::compile_device({"gpu", 1, {{"${device.attr.speed}", value, "<"}}, {}});
    return choose_for_device(100, request, accounter, {&candidate, 1}, patterns, scratch, victims).has_value();
  };
  EXPECT_TRUE(choose("2.5"));
  EXPECT_FALSE(choose("nan"));
}

TEST(DevicePreemption, PrefersMoreInstancesOverLowerPriority) {  // example E10, first part
  Node node;
  node.devices("X", 10, "g", {"g1", "g2", "g3"}).devices("Y", 20, "g", {"g4", "g5", "g6", "g7"});
  EXPECT_EQ(node.for_devices(90, 4, {{"g", 7}}), Names{"Y"});
}

TEST(DevicePreemption, TakesTheGroupOfSmallerNetPriority) {  // example E10, second part
  Node node;
  node.devices("A", 30, "g", {"g1", "g2"}).devices("B", 40, "g", {"g3", "g4"});
  node.devices("C", 30, "h", {"h1", "h2"}).devices("D", 30, "h", {"h3", "h4"}).devices("E", 30, "h", {"h5"});
  EXPECT_EQ(node.for_devices(90, 4, {{"g", 4}, {"h", 5}}), (Names{"C", "D"}));
}

TEST(DevicePreemption, FreeInstancesAreNotCreditedInTheElimination) {  // example E11
  Node one;
  one.devices("A", 30, "g", {"g1"});
  EXPECT_EQ(one.for_devices(90, 4, {{"g", 4}}), Names{"A"});
  Node three;
  three.devices("A", 30, "g", {"g1"}).devices("B", 30, "g", {"g2"}).devices("C", 30, "g", {"g3"});
  EXPECT_EQ(three.for_devices(90, 4, {{"g", 5}}), (Names{"A", "B"}));
}

TEST(DevicePreemption, CreditsFreeInstancesWithoutQuirks) {  // R-PREEMPT-605: one is free, four are wanted
  Node node;
  node.devices("A", 10, "g", {"g1"}).devices("B", 20, "g", {"g2", "g3", "g4"});
  EXPECT_EQ(node.for_devices(90, 4, {{"g", 5}}), (Names{"B", "A"}));
  EXPECT_EQ(node.for_devices(90, 4, {{"g", 5}}, kWithoutQuirks), Names{"B"});
}

TEST(DevicePreemption, ListsTheHolderOfTwoEntriesOnceWithoutQuirks) {  // R-PREEMPT-603, 605
  Node node;
  node.devices("A", 30, "g", {"g1"}).second_entry({"g2"}).devices("B", 40, "g", {"g3"});
  EXPECT_EQ(node.for_devices(90, 3, {{"g", 3}}), (Names{"A", "A"}));  // its two count twice, and B stays
  EXPECT_EQ(node.for_devices(90, 3, {{"g", 3}}, kWithoutQuirks), (Names{"A", "B"}));
}

TEST(Penalty, GrowsWithEveryEvictionBeyondMaxParallel) {  // example E12, R-PREEMPT-413
  EXPECT_EQ(penalty(1, 1), 50);
  EXPECT_EQ(penalty(1, 3), 150);
  EXPECT_EQ(penalty(2, 1), 0);
  EXPECT_EQ(penalty(0, 7), 0);
  Node node;  // the nearer one was evicted too often
  node.use("far", 20, 0, 900, 0).use("near", 20, 0, 100, 0);
  node.last().max_parallel = 1;
  node.last().preempted = 1;
  EXPECT_EQ(node.for_resources(90, flat(0, 1000, 0), flat(0, 100, 0)), Names{"far"});
}

}  // namespace
}  // namespace berth::preempt
