#include "rank/devices.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace berth::rank {
namespace {

model::NodeDevice group(std::string name, std::initializer_list<const char*> healthy) {
  model::NodeDevice out;
  out.vendor = std::string("nvidia"), out.type = std::string("gpu"), out.name = std::move(name);
  for (const char* id : healthy) out.instances.push_back({id, true, "", std::nullopt});
  out.instances.push_back({std::string("broken"), false, "", std::nullopt});
  return out;
}

model::RequestedDevice request(std::string name, std::uint64_t count) { return {std::move(name), count, {}, {}}; }

TEST(DeviceAccounter, CountsHealthyInstancesOnly) {  // R-MODEL-520 to 524
  const std::vector<model::NodeDevice> devices = {group("b", {"2", "1"}), group("a", {"x"}), group("b", {"3", "4"})};
  DeviceAccounter accounter(devices);
  ASSERT_EQ(accounter.groups().size(), 2u);  // the second `b` replaced the first
  EXPECT_EQ(accounter.groups()[1].free_count(), 2u);
  EXPECT_FALSE(accounter.add(model::AllocatedDevice{"nvidia", "gpu", "b", {"3", "broken", "1"}}));
  EXPECT_EQ(accounter.groups()[1].free_count(), 1u);
  EXPECT_FALSE(accounter.add(model::AllocatedDevice{"nvidia", "gpu", "gone", {"3"}}));
  EXPECT_TRUE(accounter.add(model::AllocatedDevice{"nvidia", "gpu", "b", {"3"}}));
  EXPECT_EQ(accounter.groups()[1].instances[0].use_count, 2u);
}

TEST(DeviceAccounter, CountsUseInAnyOrder) {  // R-MODEL-522, 523, against one counter per ID
  std::mt19937 random(7);
  model::NodeDevice device = group("a", {});
  std::vector<std::string> ids = {"broken", "unknown"};
  for (int i = 0; i < 12; ++i) {
    ids.push_back("gpu-" + std::to_string(i));
    device.instances.push_back({ids.back(), true, "", std::nullopt});
  }
  const std::vector<model::NodeDevice> devices = {device};
  for (int round = 0; round < 300; ++round) {
    DeviceAccounter accounter(devices);
    std::map<std::string, std::uint32_t> used;
    for (int held = 0; held < 4; ++held) {
      model::AllocatedDevice reserved{"nvidia", "gpu", "a", {}};
      std::size_t at = random() % ids.size();
      for (std::size_t i = 0, count = random() % 6; i < count; ++i) {
        reserved.device_ids.push_back(ids[at]);
        at = random() % 2 ? (at + 1) % ids.size() : random() % ids.size();  // neighbours, holes, repeats
      }
      bool collides = false;
      for (const std::string& id : reserved.device_ids)
        if (id != "broken" && id != "unknown") collides |= used[id]++ > 0;
      EXPECT_EQ(accounter.add(reserved), collides);
    }
    for (const DeviceAccounter::Instance& instance : accounter.groups()[0].instances)
      EXPECT_EQ(instance.use_count, used[std::string(instance.id)]) << instance.id;
  }
}

TEST(DeviceAccounter, OffersInOrderOfIds) {  // R-RANK-633, 635; R-MODEL-526
  const std::vector<model::NodeDevice> devices = {group("a", {"a2", "a1"}), group("b", {"b3", "b1", "b2"})};
  DeviceAccounter accounter(devices);
  match::Patterns patterns;
  model::AllocatedDevice got;  // reused
  const auto offer = [&](const model::RequestedDevice& ask) {
    return accounter.offer(match::compile_device(ask), patterns, got);
  };
  const auto ids = [&](const model::RequestedDevice& ask) {
    EXPECT_TRUE(offer(ask));
    return got.device_ids;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids(request("gpu", 3)), (Ids{"b1", "b2", "b3"}));
  EXPECT_EQ(ids(request("gpu", 2)), (Ids{"b1", "b2"}));  // on ties the last group wins
  EXPECT_EQ(ids(request("nvidia/gpu/a", 2)), (Ids{"a1", "a2"}));
  EXPECT_EQ(offer(request("gpu", 4)).error().text, "no devices match request");  // not from two groups
  EXPECT_EQ(offer(request("gpu", 0)).error().text, "invalid request of zero devices");
  EXPECT_EQ(DeviceAccounter(std::span<const model::NodeDevice>())
                .offer(match::compile_device(request("gpu", 0)), patterns, got)
                .error()
                .text,
            "no devices available");

  model::RequestedDevice liked = request("gpu", 1);
  liked.affinities = {{"${device.model}", "a", "=", 50}, {"${device.model}", "b", "=", -50}};
  const auto chosen = offer(liked);
  EXPECT_EQ(got.name, "a");
  EXPECT_EQ(chosen, 50);
  EXPECT_EQ(total_affinity_weight(match::compile_device(liked)), 100);

  accounter.add(model::AllocatedDevice{"nvidia", "gpu", "b", {"b1", "b2"}});
  EXPECT_EQ(ids(request("gpu", 2)), (Ids{"a1", "a2"}));
}

TEST(DeviceAccounter, ChoosesInstancesById) {  // R-RANK-634
  const std::vector<model::NodeDevice> devices = {group("a", {"a1", "a2", "a3"})};
  const DeviceAccounter accounter(devices);
  match::Patterns patterns;
  const auto ids = [&](model::Constraint constraint) {
    model::RequestedDevice ask = request("gpu", 1);
    ask.constraints = {std::move(constraint)};
    model::AllocatedDevice got;
    const auto offer = accounter.offer(match::compile_device(ask), patterns, got);
    return offer ? got.device_ids.front() : std::string(offer.error().text);
  };
  // The group check compares the list with all IDs `a1,a2,a3,broken`, the instance check with each ID.
  EXPECT_EQ(ids({"${device.ids}", "a2", "set_contains"}), "a2");
  EXPECT_EQ(ids({"a3,b", "${device.ids}", "set_contains_any"}), "a3");
  EXPECT_EQ(ids({"${device.ids}", "a9", "set_contains"}), "no devices match request");
  EXPECT_EQ(ids({"${device.ids}", "${device.attr.gone}", "!="}), "no devices match request");
}

TEST(DeviceAccounter, ReportsNanInComparisons) {  // R-FEAS-933
  std::vector<model::NodeDevice> devices = {group("a", {"a1"})};
  devices[0].attributes["speed"] = match::parse_device_literal("1.5");
  match::Patterns patterns;
  model::RequestedDevice ask = request("gpu", 1);
  ask.constraints = {{"${device.attr.speed}", "nan", "<"}};
  model::AllocatedDevice got;
  const auto offer = DeviceAccounter(devices).offer(match::compile_device(ask), patterns, got);
  ASSERT_FALSE(offer);
  EXPECT_TRUE(offer.error().not_a_number);
  EXPECT_EQ(offer.error().text, kNotANumberText);

  ask.constraints.clear();
  ask.affinities = {{"${device.attr.speed}", "nan", "<", 50}};  // R-FEAS-936: the same evaluator
  const auto liked = DeviceAccounter(devices).offer(match::compile_device(ask), patterns, got);
  ASSERT_FALSE(liked);
  EXPECT_EQ(liked.error().text, kNotANumberText);
  ask.count = 2;  // too few instances: the affinities are not read
  EXPECT_EQ(DeviceAccounter(devices).offer(match::compile_device(ask), patterns, got).error().text,
            "no devices match request");
}

TEST(DeviceAccounter, CopiesAreIndependent) {
  const std::vector<model::NodeDevice> devices = {group("a", {"a1", "a2"})};
  DeviceAccounter accounter(devices);
  const DeviceAccounter before = accounter;
  accounter.add(model::AllocatedDevice{"nvidia", "gpu", "a", {"a1"}});
  EXPECT_EQ(before.groups()[0].free_count(), 2u);
  DeviceAccounter& same = accounter;
  accounter = same;
  EXPECT_EQ(accounter.groups()[0].free_count(), 1u);
  accounter = before;
  EXPECT_EQ(accounter.groups()[0].free_count(), 2u);
}

}  // namespace
}  // namespace berth::rank
