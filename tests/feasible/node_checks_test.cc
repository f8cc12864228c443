// Constraints, drivers, secrets, devices and network of one node.
#include <gtest/gtest.h>

#include "feasible/constraints.h"
#include "feasible/devices.h"
#include "feasible/drivers.h"
#include "feasible/network_check.h"
#include "model/job.h"

namespace berth::feasible {
namespace {

TEST(Constraints, NameTheFirstFailingConstraint) {  // R-FEAS-308, 701
  model::TaskGroup group;
  group.constraints = {{"${attr.kernel.name}", "linux", "="}};
  group.tasks.emplace_back().constraints = {{"${attr.foo}", "", "is_set"}, {"${attr.bar}", "", "is_set"}};
  match::Patterns patterns;
  const ConstraintList list = compile_group(group, patterns);
  model::Node node;
  node.attributes = {{"kernel.name", "linux"}};
  EXPECT_EQ(first_failing(list, node, patterns), 1u);
  EXPECT_EQ(list.reasons[1], "${attr.foo} is_set ");
  node.attributes.insert({{"foo", ""}, {"bar", "x"}});
  EXPECT_EQ(first_failing(list, node, patterns), std::nullopt);
}

TEST(Constraints, HoldWithoutAnyAndAreNamedInTheirOrder) {  // R-FEAS-303, 701
  match::Patterns patterns;
  const std::vector<model::Constraint> of_job = {{"${attr.kernel.name}", "linux", "="}, {"${meta.a}", "", "is_set"}};
  const ConstraintList list = compile(of_job, patterns);
  EXPECT_EQ(list.reasons, (std::vector<std::string>{"${attr.kernel.name} = linux", "${meta.a} is_set "}));
  model::Node node;
  EXPECT_EQ(first_failing(list, node, patterns), 0u);
  EXPECT_EQ(first_failing(compile({}, patterns), node, patterns), std::nullopt);
}

TEST(DriverCheck, NamesEachDriverOnce) {  // R-FEAS-308
  model::TaskGroup group;
  EXPECT_TRUE(required_drivers(group).empty());
  group.tasks.resize(3);
  group.tasks[0].driver = "exec", group.tasks[1].driver = "docker", group.tasks[2].driver = "exec";
  EXPECT_EQ(required_drivers(group), (std::set<std::string>{"docker", "exec"}));
}

TEST(DeviceCheck, ReadsTheRequestsOfAllTasks) {  // R-FEAS-308; a task may have no resources
  model::TaskGroup group;
  group.tasks.resize(3);
  for (const std::size_t task : {0, 2})
    group.tasks[task].resources.emplace().devices = {{"gpu" + std::to_string(task), 1, {}, {}}};
  const auto requests = compile_devices(group);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].name.type, "gpu2");
}

TEST(DriverCheck, PrefersTheDriverMapToTheAttribute) {  // R-FEAS-801, 802
  model::Node node;
  node.attributes = {{"driver.exec", "1"}, {"driver.docker", "true"}, {"driver.java", "yes"}};
  EXPECT_TRUE(has_drivers(node, {"exec", "docker"}));
  EXPECT_FALSE(has_driver(node, "java"));
  EXPECT_FALSE(has_driver(node, "qemu"));
  node.drivers["exec"] = std::nullopt;
  EXPECT_FALSE(has_driver(node, "exec"));
  node.drivers["exec"].emplace().detected = true;
  EXPECT_FALSE(has_driver(node, "exec"));
  node.drivers["exec"]->healthy = true;
  EXPECT_TRUE(has_driver(node, "exec"));
}

model::NodeDevice gpu(std::string name, std::size_t healthy) {
  model::NodeDevice out;
  out.vendor = std::string("nvidia"), out.type = std::string("gpu"), out.name = std::move(name);
  for (std::size_t i = 0; i < healthy; ++i) out.instances.push_back({std::to_string(i), true, "", std::nullopt});
  out.instances.push_back({std::string("broken"), false, "", std::nullopt});
  return out;
}
std::vector<match::DeviceRequest> asks(std::initializer_list<std::pair<const char*, std::uint64_t>> requests) {
  std::vector<match::DeviceRequest> out;
  for (const auto& [name, count] : requests) out.push_back(match::compile_device({name, count, {}, {}}));
  return out;
}

TEST(DeviceCheck, ServeRequestsGreedilyOverGroups) {  // R-FEAS-901 to 908
  match::Patterns patterns;
  const std::vector<model::NodeDevice> groups = {gpu("b", 1), gpu("a", 2), gpu("c", 0)};
  const auto serves = [&](const auto& requests) { return *has_devices(groups, requests, patterns); };
  EXPECT_TRUE(serves(asks({})));
  EXPECT_FALSE(*has_devices({}, asks({{"gpu", 1}}), patterns));
  EXPECT_TRUE(serves(asks({{"gpu", 3}})));  // two models together
  EXPECT_FALSE(serves(asks({{"gpu", 4}})));
  EXPECT_FALSE(serves(asks({{"nvidia/gpu/c", 1}})));  // unhealthy only
  EXPECT_FALSE(serves(asks({{"nvidia/gpu/c", 0}})));
  EXPECT_TRUE(serves(asks({{"gpu", 0}})));
  EXPECT_FALSE(serves(asks({{"gpu", 3}, {"gpu", 0}})));           // nothing remains to be visited
  EXPECT_FALSE(serves(asks({{"gpu", 2}, {"nvidia/gpu/a", 1}})));  // `a` is visited first and used up
  EXPECT_TRUE(serves(asks({{"nvidia/gpu/a", 1}, {"gpu", 2}})));
}

TEST(DeviceCheck, ReportsNanInComparisons) {  // R-FEAS-933
  match::Patterns patterns;
  std::vector<model::NodeDevice> groups = {gpu("a", 1)};
  groups[0].attributes["speed"] = match::parse_device_literal("1.5");
  std::vector<match::DeviceRequest> requests = asks({{"gpu", 1}});
  const auto with = [](const char* value) {
    return match::compile_device({"gpu", 1, {{"${device.attr.speed}", value, "<"}}, {}});
  };
  EXPECT_TRUE(*has_devices(groups, std::vector{with("2.5")}, patterns));
  EXPECT_FALSE(*has_devices(groups, std::vector{with("text")}, patterns));
  EXPECT_FALSE(has_devices(groups, std::vector{with("nan")}, patterns).has_value());
}

model::TaskGroup group_with(model::NetworkResource network) {
  model::TaskGroup group;
  group.networks = {std::move(network)};
  return group;
}

TEST(NetworkCheck, NamesTheMissingNetworkOrTemplate) {  // R-FEAS-1001 to 1009
  model::Node node;
  EXPECT_EQ(network_failure(NetworkAsk{}, node), "missing network");
  node.node_resources.emplace().networks.emplace_back();
  EXPECT_EQ(network_failure(NetworkAsk{}, node), std::nullopt);
  model::NetworkResource network;
  network.mode = std::string("none");
  EXPECT_EQ(network_failure(*compile_network(group_with(network)), model::Node{}), std::nullopt);

  network.mode = std::string("host");
  network.reserved_ports = {{"r", 80, 0, "${meta.net}", false}};
  network.dynamic_ports = {{"plain", 0, 0, "", false}, {"d\"q", 0, 0, "public", false}};
  const NetworkAsk ask = *compile_network(group_with(network));
  EXPECT_EQ(network_failure(ask, node), "missing host network \"public\" for port \"d\\\"q\"");
  auto& aliases = node.node_resources->node_networks.emplace();
  aliases.emplace_back().addresses.emplace_back().alias = std::string("public");
  EXPECT_EQ(network_failure(ask, node), "invalid host network \"${meta.net}\" template for port \"r\"");
  node.meta["net"] = std::string("private");
  EXPECT_EQ(network_failure(ask, node), "missing host network \"private\" for port \"r\"");
  node.meta["net"] = std::string("public");
  EXPECT_EQ(network_failure(ask, node), std::nullopt);
}

TEST(NetworkCheck, PassesOldClientsWithoutBridge) {  // R-FEAS-1005
  model::NetworkResource network;
  network.mode = std::string("bridge");
  network.dynamic_ports = {{"p", 0, 0, "nowhere", false}};  // not tested then
  const NetworkAsk ask = *compile_network(group_with(network));
  const auto failure = [&](const char* version) {
    model::Node node;
    if (*version) node.attributes["nomad.version"] = std::string(version);
    return network_failure(ask, node);
  };
  EXPECT_EQ(failure("0.11.8"), std::nullopt);
  EXPECT_EQ(failure("0.12.0"), "missing network");
  EXPECT_EQ(failure("0.11.0-dev"), "missing network");
  EXPECT_EQ(failure("0.11rc1"), "missing network");
  EXPECT_EQ(failure(""), "missing network");
}

}  // namespace
}  // namespace berth::feasible
