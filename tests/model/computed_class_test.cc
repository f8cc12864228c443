#include "model/computed_class.h"

#include <gtest/gtest.h>

#include <utility>

namespace berth::model {
namespace {

Attribute int_of(std::int64_t value, std::string unit) {
  Attribute a;
  a.int_value = value, a.unit = std::move(unit);
  return a;
}
Node node_of(std::string datacenter, std::string node_class, std::string pool) {
  Node node;
  node.datacenter = std::move(datacenter), node.node_class = std::move(node_class), node.node_pool = std::move(pool);
  return node;
}
NodeDevice device_of(std::string vendor, std::string type, std::string name) {
  NodeDevice device;
  device.vendor = std::move(vendor), device.type = std::move(type), device.name = std::move(name);
  return device;
}
Attribute bool_of(bool value) {
  Attribute a;
  a.bool_value = value;
  return a;
}

TEST(ComputedClass, FollowsTheWorkedExampleOfTheModel) {  // W-12
  Node node = node_of("dc1", "", "default");
  EXPECT_EQ(computed_class(node), "v1:5342097426237664137");
  node.attributes = {{"kernel.name", "linux"}, {"unique.hostname", "a"}};
  EXPECT_EQ(computed_class(node), "v1:16477731290449948952");
  node = node_of("dc1", "large", "default");
  node.attributes = {{"kernel.name", "linux"}, {"unique.hostname", "a"}};
  node.meta = {{"rack", "r1"}};
  EXPECT_EQ(computed_class(node), "v1:10894561592146400702");
  node.node_resources.emplace();
  EXPECT_EQ(computed_class(node), "v1:3116027551392197370");
  NodeDevice& device = node.node_resources->devices.emplace_back(device_of("nvidia", "gpu", "1080ti"));
  device.attributes = {{"memory", int_of(11, "GiB")}, {"ecc", bool_of(true)}, {"unique.id", bool_of(true)}};
  EXPECT_EQ(computed_class(node), "v1:8601792127345168946");
}

TEST(ComputedClass, FollowsTheWorkedExampleOfFeasibility) {  // E13
  EXPECT_EQ(computed_class(Node{}), "v1:7979846458074261306");
  Node node = node_of("dc1", "c1", "default");
  node.attributes = {{"kernel.name", "linux"}, {"unique.hostname", "h1"}};
  node.meta = {{"rack", "r1"}};
  EXPECT_EQ(computed_class(node), "v1:16680374063484992242");
  node.node_resources.emplace();
  EXPECT_EQ(computed_class(node), "v1:6589768262830425526");
  NodeDevice& device = node.node_resources->devices.emplace_back(device_of("nvidia", "gpu", "1080ti"));
  Attribute number;
  number.float_value = 1.5;
  device.attributes = {
      {"memory", int_of(11, "GiB")}, {"ecc", bool_of(false)}, {"f", number}, {"unique.x", int_of(1, "")}};
  EXPECT_EQ(computed_class(node), "v1:2664894261115864242");
}

TEST(ComputedClass, IgnoresWhatNodesOfAClassMayDifferIn) {  // R-MODEL-541, 542; R-FEAS-403
  Node node;
  node.node_resources.emplace().devices = {device_of("", "", "a"), device_of("", "", "b")};
  const std::string before = computed_class(node);
  node.id = std::string("x"), node.status = std::string("down");
  node.drivers["exec"] = DriverInfo{};
  node.node_resources->cpu.cpu_shares = 100;
  node.node_resources->devices[0].instances.push_back({"i", true, "", std::nullopt});
  EXPECT_EQ(computed_class(node), before);
  std::swap(node.node_resources->devices[0], node.node_resources->devices[1]);
  EXPECT_NE(computed_class(node), before);
}

}  // namespace
}  // namespace berth::model
