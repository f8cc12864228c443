#include "tables/held_ports.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace berth::tables {
namespace {

std::shared_ptr<const ResourceShape> holding(const std::vector<model::AllocatedPort>& ports) {
  auto resources = std::make_shared<model::AllocatedResources>();
  resources->shared.ports = ports;
  return make_shape(resources);
}

model::AllocatedPort port(std::int64_t value, const std::string& ip = "10.0.0.1") {
  model::AllocatedPort out;
  out.label = "p" + std::to_string(value);
  out.value = value;
  out.host_ip = ip;
  return out;
}

std::vector<std::uint16_t> sorted(std::span<const std::uint16_t> ports) {
  std::vector<std::uint16_t> out(ports.begin(), ports.end());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(HeldPorts, AreUnknownBeyondTheSize) {
  model::AllocatedPort shared = port(80);
  shared.ignore_collision = true;
  std::vector<model::AllocatedPort> nine;
  for (int i = 0; i < 9; ++i) nine.push_back(port(100 + i));
  auto task_network = std::make_shared<model::AllocatedResources>();
  task_network->tasks["web"].networks.emplace_back();
  const struct {
    const char* what;
    std::shared_ptr<const ResourceShape> shape;
    bool listed;
  } rows[] = {
      {"one port", holding({port(80)}), true},
      {"a port twice", holding({port(80), port(80)}), true},
      {"the ends of the range", holding({port(0), port(65'535)}), true},
      {"a value that is no port", holding({port(65'536)}), false},
      {"a negative value", holding({port(-1)}), false},
      {"two addresses", holding({port(80), port(81, "10.0.0.2")}), false},
      {"another address than the one there", holding({port(80, "10.0.0.2")}), false},
      {"a long address", holding({port(80, "fd00:1234:5678::1")}), false},
      {"a mapping that ignores collisions", holding({shared}), false},
      {"more ports than a shape notes", holding(nine), false},
      {"the network of a task", make_shape(task_network), false},
  };
  for (const auto& row : rows) {
    HeldPorts held;
    held.add(*holding({port(22)}));
    held.add(*row.shape);
    EXPECT_EQ(!held.unlisted, row.listed) << row.what;
  }
}

TEST(HeldPorts, AFullListIsUnknown) {
  HeldPorts held;
  for (std::uint16_t i = 0; i < held.port.size(); ++i) held.add(*holding({port(1000 + i)}));
  EXPECT_FALSE(held.unlisted);
  held.add(*holding({port(7)}));
  EXPECT_TRUE(held.unlisted);
  held.remove(*holding({port(7)}));
  EXPECT_TRUE(held.unlisted) << "what else is held is not known any more";
}

/// Compared with a plain list of values; an address is free again when none of its ports is held.
TEST(HeldPorts, AgreesWithAListOfValues) {
  std::mt19937 random(7);
  HeldPorts held;
  std::vector<std::shared_ptr<const ResourceShape>> shapes;
  std::string ip = "10.0.0.1";
  int emptied = 0;
  for (int step = 0; step < 5'000; ++step) {
    std::vector<std::uint16_t> values;
    for (const auto& shape : shapes) values.insert(values.end(), shape->plain().begin(), shape->plain().end());
    ASSERT_EQ(sorted(held.ports()), sorted(values));
    if (!shapes.empty() && (random() % 2 == 0 || values.size() > 40)) {
      std::swap(shapes[random() % shapes.size()], shapes.back());
      held.remove(*shapes.back());
      shapes.pop_back();
      continue;
    }
    if (shapes.empty()) ip = "10.0.0." + std::to_string(++emptied % 250);
    std::vector<model::AllocatedPort> ports(1 + random() % 8);
    for (model::AllocatedPort& one : ports) one = port(random() % 30, ip);
    shapes.push_back(holding(ports));
    held.add(*shapes.back());
    ASSERT_FALSE(held.unlisted);
    ASSERT_EQ(held.address(), ip);
    ASSERT_TRUE(held.holds(ports.front().value));
  }
  EXPECT_GT(emptied, 10);
}

}  // namespace
}  // namespace berth::tables
