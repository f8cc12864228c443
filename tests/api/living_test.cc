// A simulated cluster and the columns of a View, as users of the library call them.
#include "berth/living.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string node_id(int number) {
  std::string id = "00000000-0000-4000-8000-000000000000";
  id[7] = static_cast<char>('0' + number);
  return id;
}
std::string machine_json(int number) {
  return R"({"ID": ")" + node_id(number) + R"(", "Name": "node-)" + std::to_string(number) +
         R"(", "Datacenter": "dc1", "NodePool": "default", "NodeClass": "big",
    "Status": "ready", "SchedulingEligibility": "eligible",
    "Attributes": {"kernel.name": "linux", "driver.exec": "1"}, "Drivers": {"exec": {"Detected": true, "Healthy": true}},
    "NodeResources": {"Memory": {"MemoryMB": 4096}, "Disk": {"DiskMB": 20000},
      "Networks": [{"Mode": "host", "Device": "eth0", "IP": "10.0.0.1", "CIDR": "10.0.0.1/32", "MBits": 1000}],
      "Processors": {"Topology": {"Cores": [{"ID": 0, "BaseSpeed": 4000}]}}}})";
}
Job job_of(const char* type, int count) {
  const std::string text = std::string(R"({"Job": {"ID": "web", "Name": "web", "Type": ")") + type +
                           R"(", "Datacenters": ["dc1"], "TaskGroups": [{"Name": "work", "Count": )" +
                           std::to_string(count) +
                           R"(, "EphemeralDisk": {"SizeMB": 300}, "Tasks": [{"Name": "main", "Driver": "exec",
    "Config": {"command": "/bin/true"}, "Resources": {"CPU": 1000, "MemoryMB": 512}}]}]}})";
  return Job::from_json(text).value();
}
LivingCluster life_of(int nodes, std::uint64_t seed = 1) {
  LifeConfig config;
  config.seed = seed;
  LivingCluster cluster(config);
  for (int i = 1; i <= nodes; ++i) EXPECT_TRUE(cluster.add_node(machine_json(i)));
  return cluster;
}
std::size_t running(const View& view) {
  const AllocColumns a = view.alloc_columns();
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.id.size(); ++i) count += a.desired[i] == a.kRun && a.client[i] == a.kRunning;
  return count;
}

TEST(Living, RunsDrainsFailsAndRecovers) {
  LivingCluster cluster = life_of(3);
  const auto eval = cluster.register_job(job_of("service", 3));
  ASSERT_TRUE(eval) << eval.error().line();
  EXPECT_EQ(eval->size(), 36u);
  cluster.advance(10 * kSecond);
  EXPECT_EQ(running(cluster.view()), 3u);

  const AllocColumns before = cluster.view().alloc_columns();
  const std::string victim = cluster.view().nodes()[static_cast<std::size_t>(before.node[0])].id;
  ASSERT_TRUE(cluster.drain_node(victim));
  cluster.advance(120 * kSecond);
  const View after = cluster.view();
  EXPECT_EQ(running(after), 3u);
  for (const NodeInfo& node : after.nodes()) EXPECT_TRUE(node.id != victim || node.allocs == 0);
  ASSERT_TRUE(cluster.end_drain(victim));

  ASSERT_TRUE(cluster.set_reachable(node_id(2), false));
  cluster.advance(180 * kSecond);
  EXPECT_EQ(cluster.view().node_columns().status[1], NodeColumns::kDown);
  EXPECT_EQ(running(cluster.view()), 3u);
  ASSERT_TRUE(cluster.set_reachable(node_id(2), true));
  cluster.advance(60 * kSecond);
  EXPECT_EQ(cluster.view().node_columns().status[1], NodeColumns::kReady);

  ASSERT_TRUE(cluster.scale_job("default", "web", "work", 1));
  cluster.advance(60 * kSecond);
  EXPECT_EQ(running(cluster.view()), 1u);
  ASSERT_TRUE(cluster.stop_job("default", "web"));
  cluster.advance(60 * kSecond);
  EXPECT_EQ(running(cluster.view()), 0u);
  EXPECT_GT(cluster.counts().heartbeats, 0u);
}

/// A service with three allocations and one canary per update, which has to be promoted.
Job with_canary(const char* command, bool manual = false) {
  const std::string text = R"({"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["dc1"],
    "Update": {"MaxParallel": 1, "Canary": 1, "MinHealthyTime": 1000000000, "HealthyDeadline": 60000000000,
      "ProgressDeadline": 120000000000, "HealthCheck": ")" +
                           std::string(manual ? "manual" : "task_states") + R"("},
    "TaskGroups": [{"Name": "work", "Count": 3, "EphemeralDisk": {"SizeMB": 300}, "Tasks": [{"Name": "main",
      "Driver": "exec", "Config": {"command": ")" +
                           command + R"("}, "Resources": {"CPU": 1000, "MemoryMB": 512}}]}]}})";
  return Job::from_json(text).value();
}
DeploymentInfo last_deployment(const View& view) {
  DeploymentInfo out;
  for (DeploymentInfo& each : view.deployments())
    if (out.id.empty() || each.job_version >= out.job_version) out = std::move(each);
  return out;
}

TEST(Living, DeploymentsArePromotedPausedAndFailed) {
  LivingCluster cluster = life_of(3);
  ASSERT_TRUE(cluster.register_job(with_canary("/bin/one")));
  cluster.advance(60 * kSecond);
  EXPECT_EQ(last_deployment(cluster.view()).status, "successful");
  ASSERT_TRUE(cluster.register_job(with_canary("/bin/two")));
  cluster.advance(30 * kSecond);
  DeploymentInfo second = last_deployment(cluster.view());
  ASSERT_EQ(second.status, "running");
  EXPECT_EQ(second.groups[0].desired_canaries, 1);
  EXPECT_FALSE(second.groups[0].promoted);
  ASSERT_TRUE(cluster.pause_deployment(second.id));
  EXPECT_EQ(last_deployment(cluster.view()).status, "paused");
  ASSERT_TRUE(cluster.pause_deployment(second.id, false));
  ASSERT_TRUE(cluster.promote(second.id, {"work"}));
  cluster.advance(120 * kSecond);
  second = last_deployment(cluster.view());
  EXPECT_EQ(second.status, "successful");
  EXPECT_TRUE(second.groups[0].promoted);
  EXPECT_EQ(second.groups[0].healthy, 3);

  ASSERT_TRUE(cluster.register_job(with_canary("/bin/three")));
  cluster.advance(kSecond);
  ASSERT_TRUE(cluster.fail_deployment(last_deployment(cluster.view()).id));
  EXPECT_EQ(last_deployment(cluster.view()).status, "failed");
  const auto over = cluster.promote(last_deployment(cluster.view()).id);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Errc::processing_failed);
  EXPECT_EQ(cluster.promote("nope").error().code, Errc::unknown_object);
  EXPECT_EQ(cluster.fail_deployment("00000000-0000-4000-8000-00000000000f").error().code, Errc::unknown_object);
}

TEST(Living, HealthCanBeSetByTheCaller) {
  LivingCluster cluster = life_of(3);
  ASSERT_TRUE(cluster.register_job(with_canary("/bin/one", true)));
  cluster.advance(30 * kSecond);
  const DeploymentInfo first = last_deployment(cluster.view());
  ASSERT_EQ(first.status, "running");
  EXPECT_EQ(first.groups[0].healthy, 0);
  std::vector<std::string> ids;
  for (const AllocInfo& alloc : cluster.view().allocs_of("default", "web")) ids.push_back(alloc.id);
  ASSERT_EQ(ids.size(), 3u);
  ASSERT_TRUE(cluster.set_health(first.id, ids));
  cluster.advance(10 * kSecond);
  EXPECT_EQ(last_deployment(cluster.view()).status, "successful");
  EXPECT_EQ(last_deployment(cluster.view()).groups[0].healthy, 3);
}

TEST(Living, EqualSeedsGiveEqualSimulations) {
  std::uint64_t digests[3];
  for (int i = 0; i < 3; ++i) {
    LivingCluster cluster = life_of(5, i == 2 ? 2 : 1);
    ASSERT_TRUE(cluster.register_job(job_of("batch", 4)));
    cluster.advance(300 * kSecond);
    digests[i] = cluster.digest();
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], digests[2]);
}

TEST(Living, RefusesUnknownObjects) {
  LivingCluster cluster = life_of(1);
  EXPECT_EQ(cluster.drain_node("00000000-0000-4000-8000-00000000000f").error().code, Errc::unknown_object);
  EXPECT_EQ(cluster.stop_job("default", "nope").error().code, Errc::unknown_object);
  EXPECT_EQ(cluster.stop_alloc("nope").error().code, Errc::unknown_object);
  ASSERT_TRUE(cluster.register_job(job_of("service", 1)));
  const auto scaled = cluster.scale_job("default", "web", "no-such-group", 1);
  ASSERT_FALSE(scaled);
  EXPECT_EQ(scaled.error().code, Errc::processing_failed);
  EXPECT_FALSE(cluster.add_node("{}"));
}

TEST(Living, StartsFromAWorkload) {
  auto cluster = LivingCluster::from_workload("recover-lost");
  ASSERT_TRUE(cluster) << cluster.error().line();
  cluster->advance(60 * kSecond);
  EXPECT_EQ(cluster->view().counts().ready_nodes, 4u);
  ASSERT_TRUE(cluster->register_job(job_of("service", 2))) << "the default namespace and pool are there";
  cluster->advance(10 * kSecond);
  EXPECT_EQ(running(cluster->view()), 2u);

  const auto loaded = Cluster::from_workload("quickstart", "smoke");
  ASSERT_TRUE(loaded) << loaded.error().line();
  const Counts counts = loaded->view().counts();
  EXPECT_EQ(counts.nodes, 500u);
  EXPECT_GT(counts.live_allocs, 0u);
  EXPECT_FALSE(Cluster::from_workload("no-such-workload"));
  EXPECT_FALSE(Cluster::from_workload("nomad-grid"));
  EXPECT_FALSE(Cluster::from_workload("quickstart", "no-such-label"));
}

TEST(AllocColumns, AgreeWithTheListOfAllocations) {
  LivingCluster cluster = life_of(4);
  ASSERT_TRUE(cluster.register_job(job_of("service", 5)));
  cluster.advance(10 * kSecond);
  const View view = cluster.view();
  const std::vector<NodeInfo> nodes = view.nodes();
  const NodeColumns n = view.node_columns();
  ASSERT_EQ(n.id.size(), nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(n.name[i], nodes[i].name);
    EXPECT_EQ(n.words[n.datacenter[i]], nodes[i].datacenter);
    EXPECT_EQ(n.words[n.pool[i]], nodes[i].pool);
    EXPECT_EQ(n.words[n.node_class[i]], nodes[i].node_class);
    EXPECT_EQ(n.allocs[i], nodes[i].allocs);
    EXPECT_EQ(n.cpu_used_mhz[i], nodes[i].cpu_used_mhz);
    EXPECT_EQ(n.memory_usable_mb[i], nodes[i].memory_usable_mb);
    EXPECT_EQ(n.id[i][3], nodes[i].id[7] - '0');
  }
  const AllocColumns a = view.alloc_columns();
  const std::vector<AllocInfo> allocs = view.allocs_of("default", "web");
  ASSERT_EQ(a.id.size(), allocs.size());
  for (std::size_t i = 0; i < allocs.size(); ++i) {
    EXPECT_EQ(nodes[static_cast<std::size_t>(a.node[i])].id, allocs[i].node_id);
    EXPECT_EQ(a.jobs[static_cast<std::size_t>(a.job[i])].second, "web");
    EXPECT_EQ(a.words[a.group[i]], "work");
    EXPECT_EQ("web.work[" + std::to_string(a.index[i]) + "]", allocs[i].name);
    EXPECT_EQ(a.cpu_mhz[i], 1000);
    EXPECT_EQ(a.create_index[i], allocs[i].create_index);
  }
}

}  // namespace
}  // namespace berth
