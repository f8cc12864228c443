// The public interface as a user calls it: load, register, schedule, read the reasons, commit, repeat.
#include "berth/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

#include "berth/berth.h"
#include "berth/job_builder.h"
#include "berth/strategy.h"

namespace berth {
namespace {

std::string filled(const char* format, ...) {
  char text[2048];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

std::string node_json(int number) {
  return filled(R"({"ID": "%08x-0000-4000-8000-000000000000", "Name": "node-%d", "Datacenter": "dc1",
    "NodePool": "default", "Status": "ready", "SchedulingEligibility": "eligible",
    "Attributes": {"kernel.name": "linux", "driver.exec": "1"},
    "Drivers": {"exec": {"Detected": true, "Healthy": true}},
    "NodeResources": {"Memory": {"MemoryMB": 4096}, "Disk": {"DiskMB": 20000},
      "Networks": [{"Mode": "host", "Device": "eth0", "IP": "10.0.0.1", "CIDR": "10.0.0.1/32", "MBits": 1000}],
      "Processors": {"Topology": {"Cores": [{"ID": 0, "BaseSpeed": 4000}]}}}})",
                number, number);
}

std::string job_json(const char* id, int count, const char* type = "batch", const char* extra = "") {
  return filled(R"({"Job": {"ID": "%s", "Name": "%s", "Type": "%s", "Datacenters": ["dc1"], %s
    "TaskGroups": [{"Name": "work", "Count": %d, "EphemeralDisk": {"SizeMB": 300}, "Tasks": [{"Name": "main",
    "Driver": "exec", "Config": {"command": "/bin/true"}, "Resources": {"CPU": 1000, "MemoryMB": 512}}]}]}})",
                id, id, type, extra, count);
}

Job make_job(const std::string& text) {
  auto job = Job::from_json(text);
  if (!job) ADD_FAILURE() << job.error().line();
  return job.value();
}

Cluster cluster_of(int nodes, const Config& config = {}) {
  Cluster cluster(config);
  for (int i = 1; i <= nodes; ++i) {
    const auto done = cluster.add_node(node_json(i));
    if (!done) ADD_FAILURE() << done.error().line();
  }
  return cluster;
}

TEST(Cluster, SchedulesAndCommits) {
  Cluster cluster = cluster_of(3);
  const Job job = make_job(job_json("web", 2, "service"));
  EXPECT_EQ(job.id(), "web");
  EXPECT_EQ(job.job_namespace(), "default");
  EXPECT_EQ(job.priority(), 50);
  EXPECT_EQ(job.count(), 2);
  ASSERT_TRUE(cluster.register_job(job));
  const auto plan = cluster.schedule(job);
  ASSERT_TRUE(plan) << plan.error().text;
  ASSERT_EQ(plan->placements.size(), 2u) << plan->explain();
  EXPECT_TRUE(plan->complete()) << plan->explain();
  const Placement& first = plan->placements[0];
  EXPECT_EQ(first.name, "web.work[0]");
  ASSERT_FALSE(first.metrics.best.empty());
  // Equal nodes: the one visited first wins, whatever the order of the list.
  EXPECT_TRUE(std::any_of(first.metrics.best.begin(), first.metrics.best.end(),
                          [&](const ScoredNode& node) { return node.node_id == first.node_id; }));
  EXPECT_EQ(first.metrics.best[0].score, first.score);
  EXPECT_TRUE(first.metrics.best[0].components.contains("binpack"));
  EXPECT_EQ(first.metrics.nodes_in_pool, 3);
  EXPECT_EQ(first.metrics.nodes_available.at("dc1"), 3);
  EXPECT_NE(plan->explain().find("web.work[0] on node-"), std::string::npos);

  EXPECT_EQ(cluster.view().counts().allocs, 0u);  // a plan changes nothing
  const auto result = cluster.commit(*plan);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->committed, 2u);
  EXPECT_TRUE(result->full());
  EXPECT_EQ(result->index, cluster.view().index());
  const auto allocs = cluster.view().allocs_of("default", "web");
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_EQ(allocs[0].id, first.alloc_id);
  EXPECT_EQ(allocs[0].node_id, first.node_id);
  EXPECT_EQ(allocs[0].client_status, "pending");
  EXPECT_EQ(allocs[0].create_index, result->index);
}

TEST(Cluster, ExplainsWhyNothingFits) {
  Cluster cluster = cluster_of(2);  // 4 allocations of 1,000 MHz each
  const Job job = make_job(job_json("big", 11));
  ASSERT_TRUE(cluster.register_job(job));
  const auto plan = cluster.schedule(job);
  ASSERT_TRUE(plan) << plan.error().text;
  EXPECT_EQ(plan->placements.size(), 8u);
  ASSERT_EQ(plan->failures.size(), 1u);
  const Failure& failure = plan->failures[0];
  EXPECT_EQ(failure.task_group, "work");
  EXPECT_EQ(failure.count, 3);
  EXPECT_EQ(failure.metrics.exhausted_by.at("cpu"), 2);
  EXPECT_EQ(failure.reasons, std::vector<std::string>{"exhausted: cpu on 2 nodes"});
  EXPECT_NE(plan->explain().find("3 without a node"), std::string::npos);
}

TEST(Cluster, NamesTheConstraintThatFilters) {
  Cluster cluster = cluster_of(2);
  const Job job = make_job(job_json(
      "odd", 1, "batch",
      "\"Constraints\": [{\"LTarget\": \"${attr.kernel.name}\", \"Operand\": \"=\", \"RTarget\": \"plan9\"}], "));
  ASSERT_TRUE(cluster.register_job(job));
  const auto plan = cluster.schedule(job);
  ASSERT_TRUE(plan) << plan.error().text;
  ASSERT_EQ(plan->failures.size(), 1u);
  ASSERT_FALSE(plan->failures[0].reasons.empty());
  EXPECT_NE(plan->failures[0].reasons[0].find("${attr.kernel.name} = plan9"), std::string::npos);
}

TEST(Cluster, EqualSeedsGiveEqualDecisions) {
  auto decide = [](std::uint64_t seed) {
    Cluster cluster = cluster_of(20, {.seed = seed});
    std::string out;
    for (const char* id : {"a", "b", "c"}) {
      const Job job = make_job(job_json(id, 4, "service"));
      EXPECT_TRUE(cluster.register_job(job));
      const auto plan = cluster.schedule(job);
      if (!plan || !cluster.commit(*plan)) return std::string("failed");
      for (const Placement& p : plan->placements) out += p.alloc_id + p.node_id + std::to_string(p.score);
    }
    return out;
  };
  EXPECT_EQ(decide(7), decide(7));
  EXPECT_NE(decide(7), decide(8));
}

TEST(Cluster, RefusesAPlanWhoseNodeFilledUpMeanwhile) {
  Cluster cluster = cluster_of(1);
  const Job a = make_job(job_json("a", 3)), b = make_job(job_json("b", 3));
  ASSERT_TRUE(cluster.register_job(a));
  ASSERT_TRUE(cluster.register_job(b));
  const auto plan_a = cluster.schedule(a), plan_b = cluster.schedule(b);
  ASSERT_TRUE(plan_a && plan_b);
  EXPECT_EQ(cluster.commit(*plan_a)->committed, 3u);
  const auto refused = cluster.commit(*plan_b);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->committed, 0u);
  EXPECT_EQ(refused->refused, 3u);
  EXPECT_EQ(refused->index, 0u);
  ASSERT_EQ(refused->rejected.size(), 1u);
  EXPECT_EQ(refused->rejected[0].reason, "cpu");
  EXPECT_EQ(refused->rejected[0].node_name, "node-1");
  EXPECT_EQ(cluster.stats().refused, 3u);
}

TEST(Cluster, TakesAPlanOnce) {
  Cluster cluster = cluster_of(2), other = cluster_of(2);
  const Job job = make_job(job_json("a", 1));
  ASSERT_TRUE(cluster.register_job(job));
  const auto plan = cluster.schedule(job);
  ASSERT_TRUE(plan);
  EXPECT_EQ(other.commit(*plan).error().code, Errc::already_used);
  EXPECT_TRUE(cluster.commit(*plan));
  EXPECT_EQ(cluster.commit(*plan).error().code, Errc::already_used);
  EXPECT_EQ(cluster.commit(Plan{}).error().code, Errc::already_used);
  EXPECT_EQ(cluster.view().counts().allocs, 1u);
}

TEST(Cluster, EndedAllocationsFreeTheirNode) {
  Cluster cluster = cluster_of(1);
  const Job job = make_job(job_json("a", 4));
  ASSERT_TRUE(cluster.register_job(job));
  const auto plan = cluster.schedule(job);
  ASSERT_TRUE(plan);
  ASSERT_TRUE(cluster.commit(*plan));
  EXPECT_EQ(cluster.view().nodes()[0].cpu_used_mhz, 4000);
  ASSERT_TRUE(cluster.set_alloc_status(plan->placements[0].alloc_id, "complete"));
  EXPECT_EQ(cluster.view().nodes()[0].cpu_used_mhz, 3000);
  EXPECT_EQ(cluster.set_alloc_status(plan->placements[0].alloc_id, "sleeping").error().code, Errc::unknown_object);
  EXPECT_EQ(cluster.set_alloc_status("nothing", "complete").error().code, Errc::unknown_object);
  EXPECT_EQ(cluster.remove_job("default", "a").value_or(0), 3u);
  const Counts counts = cluster.view().counts();
  EXPECT_EQ(counts.cpu_used_mhz, 0);
  EXPECT_EQ(counts.live_allocs, 0u);
  EXPECT_EQ(counts.jobs, 0u);
  EXPECT_EQ(cluster.remove_job("default", "a").error().code, Errc::unknown_object);
}

TEST(Cluster, ViewsDoNotChangeAfterTheyAreTaken) {
  std::optional<View> before;
  std::string text;
  {
    Cluster cluster = cluster_of(3);
    before = cluster.view();
    const Job job = make_job(job_json("a", 4));
    ASSERT_TRUE(cluster.register_job(job));
    const auto plan = cluster.schedule(job);
    ASSERT_TRUE(plan);
    std::thread reader([view = *before] {
      for (int i = 0; i < 100; ++i) EXPECT_EQ(view.counts().cpu_used_mhz, 0);
    });
    ASSERT_TRUE(cluster.commit(*plan));
    reader.join();
    EXPECT_EQ(cluster.view().counts().cpu_used_mhz, 4000);
    text = cluster.view().to_json();
  }
  EXPECT_EQ(before->counts().nodes, 3u);  // outlives its cluster
  EXPECT_EQ(before->counts().allocs, 0u);

  const auto again = Cluster::from_json(text);
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(again->view().counts().cpu_used_mhz, 4000);
  EXPECT_EQ(again->view().allocs_of("default", "a").size(), 4u);
  const std::string sorted = again->view().to_json();  // reading puts lists into order; then nothing changes any more
  EXPECT_EQ(sorted.size(), text.size());
  const auto third = Cluster::from_json(sorted);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->view().to_json(), sorted);
}

TEST(Cluster, NodesThatAreNotReadyGetNothing) {
  Cluster cluster = cluster_of(2);
  ASSERT_TRUE(cluster.set_node("00000001-0000-4000-8000-000000000000", "down"));
  ASSERT_TRUE(cluster.set_node("00000002-0000-4000-8000-000000000000", "ready", false));
  EXPECT_FALSE(cluster.set_node("00000002-0000-4000-8000-000000000000", "asleep"));
  EXPECT_FALSE(cluster.set_node("00000003-0000-4000-8000-000000000000", "down"));
  const Job job = make_job(job_json("a", 1));
  ASSERT_TRUE(cluster.register_job(job));
  const auto plan = cluster.schedule(job);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->failures.size(), 1u);
  EXPECT_EQ(plan->failures[0].reasons[0], "no ready node in the job's datacenters and node pool");
}

TEST(Cluster, TheAlgorithmDecidesBetweenFullAndEmptyNodes) {
  for (const Algorithm algorithm : {Algorithm::binpack, Algorithm::spread}) {
    Cluster cluster = cluster_of(2, {.algorithm = algorithm});
    std::string first;
    for (const char* id : {"a", "b"}) {
      const Job job = make_job(job_json(id, 1));
      ASSERT_TRUE(cluster.register_job(job));
      const auto plan = cluster.schedule(job);
      ASSERT_TRUE(plan && cluster.commit(*plan));
      if (first.empty())
        first = plan->placements[0].node_id;
      else
        EXPECT_EQ(plan->placements[0].node_id == first, algorithm == Algorithm::binpack);
    }
  }
}

struct FullerCpu {  // the fuller node, by a formula of one's own
  double score(const strategy::Node& node, const strategy::TaskClass&) const {
    return 1 - static_cast<double>(node.free(strategy::kCpu)) / node.capacity(strategy::kCpu);
  }
};
TEST(Cluster, AStrategyScoresTheFit) {  // R-STRAT-007
  strategy::registry().add("fuller-cpu", "used share of cpu", FullerCpu{});
  for (const auto& [name, same_node] : std::initializer_list<std::pair<const char*, bool>>{{"nomad", true},
                                                                                           {"worst-fit", false},
                                                                                           {"best-fit:norm=max", true},
                                                                                           {"fuller-cpu", true},
                                                                                           {"sum:fuller-cpu=-1", false},
                                                                                           {"l2", true},
                                                                                           {"fgd", true}}) {
    SCOPED_TRACE(name);
    Cluster cluster = cluster_of(2);
    const Job first = make_job(job_json("a", 1));
    ASSERT_TRUE(cluster.register_job(first));
    ASSERT_TRUE(cluster.score_by("worst-fit") && cluster.score_by(name));
    const auto plan = cluster.schedule(first);
    ASSERT_TRUE(plan && cluster.commit(*plan));
    const Job second = make_job(job_json("b", 1));
    ASSERT_TRUE(cluster.register_job(second));
    const auto next = cluster.schedule(second);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->placements[0].node_id == plan->placements[0].node_id, same_node);
  }
  Cluster cluster = cluster_of(2);
  const auto unknown = cluster.score_by("worstfit");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().remedy.find("did you mean 'worst-fit'?"), std::string::npos);
  EXPECT_NE(unknown.error().remedy.find("fuller-cpu"), std::string::npos);
  for (const char* name : {"random", "next-fit", "sum:cosine=1:rescale=yes", "worst-fit:norm=nod"})
    EXPECT_FALSE(cluster.score_by(name)) << name;
}

TEST(Cluster, ErrorsNameThePlace) {
  Cluster cluster;
  EXPECT_FALSE(cluster.add_node("{"));
  EXPECT_NE(cluster.add_node(R"({"ID": "x"})").error().line().find("/ID"), std::string::npos);
  EXPECT_EQ(cluster.add_node(R"({"ID": "x\ny"})").error().line().find('\n'), std::string::npos);
  for (const char* text : {R"({"Nodes": [{"ID": "n1"}]})", R"({"Nodes": [], "Allocs": [{"ID": "a1"}]})",
                           R"({"Nodes": [], "Evals": [{"ID": "e1"}]})"}) {  // R-MODEL-590
    const auto loaded = Cluster::from_json(text);
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().line().find("its ID is no UUID"), std::string::npos) << loaded.error().line();
  }
  EXPECT_FALSE(Cluster::from_json("[1, 2]"));
  EXPECT_FALSE(Cluster::from_file("no/such/file.json"));
  EXPECT_FALSE(Job::from_file("no/such/file.json"));
  EXPECT_NE(Job::from_json(job_json("a b", 1)).error().problem.find("space"), std::string::npos);
  EXPECT_EQ(cluster.schedule("default", "none").error().code, Errc::unknown_object);
  const Job elsewhere = make_job(job_json("a", 1, "batch", "\"Namespace\": \"nowhere\", "));
  EXPECT_FALSE(cluster.register_job(elsewhere));
}

TEST(Cluster, SystemJobsGetOneAllocationPerNode) {
  for (const char* type : {"system", "sysbatch"}) {
    Cluster cluster = cluster_of(3);
    const Job job = make_job(job_json("agent", 1, type));
    ASSERT_TRUE(cluster.register_job(job));
    const auto plan = cluster.schedule(job);
    ASSERT_TRUE(plan) << plan.error().text;
    std::set<std::string> nodes;
    for (const Placement& p : plan->placements) nodes.insert(p.node_id);
    EXPECT_EQ(plan->placements.size(), 3U) << type;
    EXPECT_EQ(nodes.size(), 3U) << type;
    ASSERT_TRUE(cluster.commit(*plan));
    const auto again = cluster.schedule(job);
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->placements.empty() && again->stops.empty()) << again->explain();
  }
}

TEST(Cluster, APlanListsStopsAndUpdates) {
  Cluster cluster = cluster_of(2);
  ASSERT_TRUE(cluster.register_job(make_job(job_json("web", 3, "service"))));
  const auto first = cluster.schedule("default", "web");
  ASSERT_TRUE(first);
  ASSERT_TRUE(cluster.commit(*first));
  ASSERT_TRUE(cluster.register_job(
      make_job(job_json("web", 1, "service"))));  // a new count: one is updated, two are not needed
  const auto fewer = cluster.schedule("default", "web");
  ASSERT_TRUE(fewer);
  EXPECT_TRUE(fewer->placements.empty());
  EXPECT_EQ(fewer->updated_in_place, 1U);
  ASSERT_EQ(fewer->stops.size(), 2U);
  for (const Stop& stop : fewer->stops) {
    EXPECT_EQ(stop.job_id, "web");
    EXPECT_FALSE(stop.preempted);
    EXPECT_EQ(stop.reason, "alloc not needed due to job update");
    EXPECT_NE(fewer->explain().find(stop.alloc_name + " on " + stop.node_id + " stops: alloc not needed"),
              std::string::npos);
  }
  ASSERT_TRUE(cluster.commit(*fewer));
  EXPECT_TRUE(cluster.schedule("default", "web")->stops.empty());
}

// ---------------------------------------------------------------- nodes that go, lists, dry runs, settings

/// Calls the cluster that it ranks for.
struct Reentrant {
  static inline Cluster* cluster = nullptr;
  static inline std::set<std::string> said;
  double score(const strategy::Node&, const strategy::TaskClass&) const {
    const Job job = make_job(job_json("other", 1));
    if (const auto plan = cluster->schedule("default", "web"); !plan) said.insert(line(plan.error()));
    if (const auto plan = cluster->dry_run(job); !plan) said.insert(plan.error().line());
    if (const auto done = cluster->register_job(job); !done) said.insert(done.error().line());
    if (const auto done = cluster->remove_job("default", "web"); !done) said.insert(line(done.error()));
    for (const auto& plan : cluster->schedule_all({job}))
      if (!plan) said.insert(line(plan.error()));
    return 0;
  }
};

TEST(Cluster, AStrategyMayNotCallTheClusterThatDecides) {
  Cluster cluster = cluster_of(3);
  const Job job = make_job(job_json("web", 2, "service"));
  ASSERT_TRUE(cluster.register_job(job));
  strategy::registry().add("reentrant", "calls the cluster", Reentrant{});
  ASSERT_TRUE(cluster.score_by("reentrant"));
  Reentrant::cluster = &cluster;
  const auto plan = cluster.schedule(job);
  ASSERT_TRUE(plan) << line(plan.error());
  EXPECT_EQ(plan->placements.size(), 2u) << "the decision itself goes on";
  const std::string text =
      "a strategy or preemption rule called the cluster that is deciding; it may use what it is "
      "handed only";
  EXPECT_EQ(Reentrant::said, (std::set<std::string>{"cluster: " + text, "processing_failed: " + text}));
  EXPECT_FALSE(cluster.in_use());
}

/// Calls the cluster that it ranks for, through the C interface.
struct ReentrantInC {
  static inline berth_cluster* cluster = nullptr;
  static inline std::set<berth_code> said;
  double score(const strategy::Node&, const strategy::TaskClass&) const {
    said.insert(berth_cluster_remove_job(cluster, "default", "web", nullptr));
    said.insert(berth_cluster_add_node(cluster, node_json(9).c_str(), nullptr));
    return 0;
  }
};

TEST(Cluster, TheCInterfaceHasACodeForAClusterThatDecides) {
  berth_cluster* cluster = nullptr;
  ASSERT_EQ(berth_cluster_new(nullptr, &cluster, nullptr), BERTH_OK);
  ASSERT_EQ(berth_cluster_add_node(cluster, node_json(1).c_str(), nullptr), BERTH_OK);
  char* job_id = nullptr;
  ASSERT_EQ(berth_cluster_register_job(cluster, job_json("web", 1, "service").c_str(), &job_id, nullptr), BERTH_OK);
  strategy::registry().add("reentrant-c", "calls the cluster", ReentrantInC{});
  ASSERT_EQ(berth_cluster_score_by(cluster, "reentrant-c", nullptr), BERTH_OK);
  ReentrantInC::cluster = cluster;
  berth_plan* plan = nullptr;
  EXPECT_EQ(berth_cluster_schedule(cluster, "default", job_id, 0, &plan, nullptr), BERTH_OK);
  EXPECT_EQ(ReentrantInC::said, std::set<berth_code>{BERTH_IN_USE});
  berth_plan_free(plan);
  berth_string_free(job_id);
  berth_cluster_free(cluster);
}

TEST(Cluster, RefusesCallsWhileAnotherThreadUsesIt) {
  Cluster cluster = cluster_of(20);
  std::vector<Job> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(make_job(job_json(("job-" + std::to_string(i)).c_str(), 3, "service")));
    ASSERT_TRUE(cluster.register_job(jobs.back()));
  }
  std::atomic<int> placed{0}, refused{0}, other{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto plan = cluster.schedule(jobs[static_cast<std::size_t>(t)]);
        if (plan)
          ++placed;
        else if (plan.error().text.find("another thread is using this cluster") != std::string::npos)
          ++refused;
        else
          ++other;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(placed + refused, 800);
  EXPECT_TRUE(cluster.schedule(jobs[0]));
}

TEST(Cluster, JobsOfRemovedNodesMove) {
  Cluster cluster = cluster_of(3);
  const Job job = make_job(job_json("web", 2, "service"));
  ASSERT_TRUE(cluster.register_job(job));
  ASSERT_TRUE(cluster.commit(*cluster.schedule(job)));
  const std::string node = cluster.view().allocs_of("default", "web")[0].node_id;
  const std::size_t there = cluster.view().allocs_on(node).size();
  ASSERT_GT(there, 0u);
  ASSERT_TRUE(cluster.remove_node(node));
  EXPECT_EQ(cluster.view().counts().nodes, 2u);
  EXPECT_TRUE(cluster.view().allocs_on(node).empty());
  const auto moved = cluster.schedule(job);
  ASSERT_TRUE(moved) << line(moved.error());
  EXPECT_EQ(moved->placements.size(), there) << moved->explain();
  for (const Placement& placement : moved->placements) EXPECT_NE(placement.node_id, node);
  const auto twice = cluster.remove_node(node);
  ASSERT_FALSE(twice);
  EXPECT_EQ(line(twice.error()), "unknown_object: no node " + node);
  EXPECT_FALSE(cluster.remove_node("no UUID"));
  EXPECT_STREQ(to_text(Errc::processing_failed), "processing_failed");
  EXPECT_EQ(line({Errc::queue_full, 7, ""}), "queue_full: subject 7");
}

TEST(View, ListsJobsAllocationsOfNodesAndDeployments) {
  Cluster cluster = cluster_of(2);
  const Job web = make_job(job_json("web", 3, "service")), batch = make_job(job_json("a-batch", 1));
  for (const Job* job : {&web, &batch}) {
    ASSERT_TRUE(cluster.register_job(*job));
    ASSERT_TRUE(cluster.commit(*cluster.schedule(*job)));
  }
  const View view = cluster.view();
  const auto jobs = view.jobs();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].id, "a-batch");
  EXPECT_EQ(jobs[1].type, "service");
  EXPECT_EQ(jobs[1].count, 3);
  EXPECT_EQ(jobs[1].allocs, 3u);
  std::multiset<std::string> by_job, by_node;
  for (const char* id : {"web", "a-batch"})
    for (const AllocInfo& alloc : view.allocs_of("default", id)) by_job.insert(alloc.id + alloc.job_id + alloc.node_id);
  for (const NodeInfo& node : view.nodes()) {
    EXPECT_EQ(view.allocs_on(node.id).size(), node.allocs);
    for (const AllocInfo& alloc : view.allocs_on(node.id)) by_node.insert(alloc.id + alloc.job_id + node.id);
  }
  EXPECT_EQ(by_job, by_node);
  EXPECT_EQ(by_node.size(), 4u);
  const auto deployments = view.deployments();
  ASSERT_EQ(deployments.size(), 1u);
  EXPECT_EQ(deployments[0].job_id, "web");
  EXPECT_EQ(deployments[0].status, "running");
  ASSERT_EQ(deployments[0].groups.size(), 1u);
  EXPECT_EQ(deployments[0].groups[0].group, "work");
  EXPECT_EQ(deployments[0].groups[0].desired_total, 3);
  EXPECT_EQ(deployments[0].groups[0].placed, 3);
  ASSERT_TRUE(cluster.set_alloc_status(view.allocs_of("default", "a-batch")[0].id, "complete"));
  EXPECT_EQ(cluster.view().jobs()[0].allocs, 0u);
  EXPECT_EQ(cluster.view().allocs_on(view.allocs_of("default", "a-batch")[0].node_id).back().client_status, "complete");
}

TEST(Cluster, ADryRunChangesNothing) {
  Cluster cluster = cluster_of(2);
  const Job job = make_job(job_json("big", 11));
  const std::string before = cluster.view().to_json();
  const auto plan = cluster.dry_run(job);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->placements.size(), 8u);
  ASSERT_EQ(plan->failures.size(), 1u);
  EXPECT_EQ(plan->failures[0].reasons, std::vector<std::string>{"exhausted: cpu on 2 nodes"});
  EXPECT_EQ(cluster.view().to_json(), before);
  EXPECT_FALSE(cluster.commit(*plan)) << "the cluster that it was decided on is gone";
  ASSERT_TRUE(cluster.register_job(job));
  EXPECT_EQ(cluster.schedule(job)->placements.size(), 8u);
  const auto refused = cluster.dry_run(make_job(job_json("big", 1, "service")));
  ASSERT_FALSE(refused) << "Nomad lets no job change its type";
}

TEST(Cluster, AdviceMakesAJobFit) {
  Cluster cluster = cluster_of(2);
  const Job job = make_job(job_json("big", 11));
  const std::string before = cluster.view().to_json();
  const auto advice = cluster.advise(job);
  ASSERT_TRUE(advice) << advice.error().line();
  ASSERT_EQ(advice->size(), 1u);
  EXPECT_EQ((*advice)[0].task_group, "work");
  EXPECT_EQ((*advice)[0].failed, 3);
  ASSERT_FALSE((*advice)[0].nearest.empty());
  EXPECT_EQ((*advice)[0].nearest[0].reason, "cpu");
  EXPECT_GT((*advice)[0].nearest[0].cpu_mhz, 0);
  EXPECT_EQ(cluster.view().to_json(), before);
  bool fewer = false;
  for (const JobEdit& edit : (*advice)[0].edits)
    fewer |= edit.text.starts_with("count: 8 instead of 11") && edit.patch.find("/Count") != std::string::npos;
  EXPECT_TRUE(fewer);
  EXPECT_TRUE(cluster.advise(make_job(job_json("big", 8)))->empty());
  ASSERT_TRUE(cluster.register_job(job));
  EXPECT_FALSE(cluster.advise(make_job(job_json("big", 1, "service")))) << "Nomad lets no job change its type";
}

TEST(Cluster, SeveralWorkersDecideLikeOne) {
  std::vector<std::string> expected;
  for (const std::uint32_t workers : {1u, 2u, 8u}) {
    Config config;
    config.workers = workers;
    Cluster cluster = cluster_of(3, config);
    std::vector<Job> jobs;
    for (int i = 0; i < 6; ++i) {
      jobs.push_back(make_job(job_json(filled("job-%d", i).c_str(), 4)));
      ASSERT_TRUE(cluster.register_job(jobs.back()));
    }
    jobs.push_back(make_job(job_json("unknown", 1)));
    const auto plans = cluster.schedule_all(jobs);
    ASSERT_EQ(plans.size(), 7u);
    EXPECT_FALSE(plans.back());
    std::vector<std::string> said;
    std::uint32_t committed = 0, refused = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      ASSERT_TRUE(plans[i]);
      said.push_back(plans[i]->explain());
      EXPECT_EQ(plans[i]->placements.size(), 4u) << "each on the whole cluster";
      const auto result = cluster.commit(*plans[i]);
      ASSERT_TRUE(result);
      committed += result->committed, refused += result->refused;
    }
    EXPECT_LE(committed, 12u) << "three nodes of four";
    EXPECT_EQ(committed + refused, 24u);
    EXPECT_EQ(cluster.stats().evaluations, 6u);
    if (expected.empty()) expected = said;
    EXPECT_EQ(said, expected) << workers << " workers";
  }
}

TEST(Cluster, SettingsControlPreemptionAndTheNumberOfVisitedNodes) {
  for (const Preemption preemption : {Preemption::off, Preemption::on}) {
    Config config;
    config.service_preemption = preemption;
    Cluster cluster = cluster_of(1, config);
    const Job low = make_job(job_json("low", 4, "service", "\"Priority\": 10,"));
    ASSERT_TRUE(cluster.register_job(low));
    ASSERT_TRUE(cluster.commit(*cluster.schedule(low)));
    const Job high = make_job(job_json("high", 1, "service", "\"Priority\": 90,"));
    ASSERT_TRUE(cluster.register_job(high));
    const auto plan = cluster.schedule(high);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->placements.size(), preemption == Preemption::on ? 1u : 0u);
    EXPECT_EQ(std::count_if(plan->stops.begin(), plan->stops.end(), [](const Stop& stop) { return stop.preempted; }),
              preemption == Preemption::on ? 1 : 0);
  }
  for (const Mode mode : {Mode::sampled, Mode::exhaustive}) {
    Config config;
    config.mode = mode;
    Cluster cluster = cluster_of(40, config);
    const Job job = make_job(job_json("one", 1));
    ASSERT_TRUE(cluster.register_job(job));
    const auto plan = cluster.schedule(job);
    ASSERT_TRUE(plan);
    const std::int64_t seen = plan->placements.at(0).metrics.nodes_evaluated;
    if (mode == Mode::exhaustive)
      EXPECT_EQ(seen, 40);
    else
      EXPECT_LT(seen, 10);
  }
}

TEST(Job, RemarksOnUnknownKeys) {
  const Job job =
      make_job(job_json("web", 1, "service", "\"Datacentres\": [\"dc1\"], \"Meta\": {\"a\": \"1\", \"a\": \"2\"},"));
  EXPECT_EQ(job.warnings(), (std::vector<std::string>{
                                "/Job/Datacentres: no job has this key, so it is ignored; did you mean Datacenters?",
                                "/Job/Meta/a: stands more than once; the last one counts"}));
}

TEST(JobBuilder, BuildsTheSameJobAsJson) {
  const auto job = build_job({.id = "web",
                              .type = "batch",
                              .priority = 70,
                              .datacenters = {"dc1"},
                              .groups = {{.name = "app",
                                          .count = 3,
                                          .tasks = {{.name = "server", .cpu_mhz = 500, .memory_mb = 256}},
                                          .ports = {{.label = "http"}, {.label = "admin", .value = 8080}},
                                          .distinct_hosts = true,
                                          .constraints = {{"${attr.kernel.name}", "=", "linux"}},
                                          .affinities = {{"${node.unique.name}", "=", "node-2", 100}},
                                          .spreads = {{"${node.datacenter}", 50, {{"dc1", 100}}}}}}});
  ASSERT_TRUE(job) << job.error().line();
  EXPECT_EQ(job->id(), "web");
  EXPECT_EQ(job->priority(), 70);
  EXPECT_EQ(job->count(), 3);
  Cluster cluster = cluster_of(3);
  ASSERT_TRUE(cluster.register_job(*job));
  const auto plan = cluster.schedule(*job);
  ASSERT_TRUE(plan) << line(plan.error());
  std::set<std::string> nodes;
  for (const Placement& placement : plan->placements) nodes.insert(placement.node_id);
  EXPECT_EQ(nodes.size(), 3u) << plan->explain();
  EXPECT_TRUE(plan->placements[0].metrics.best.at(0).components.contains("node-affinity"));

  const auto defaults = build_job({.id = "plain"});
  ASSERT_TRUE(defaults) << defaults.error().line();
  EXPECT_EQ(defaults->type(), "service");
  for (const JobSpec& bad :
       {JobSpec{}, JobSpec{.id = "x", .type = "daemon"}, JobSpec{.id = "x", .priority = 101},
        JobSpec{.id = "x", .groups = {}}, JobSpec{.id = "x", .constraints = {{"${attr.x}", "regexp", "("}}}}) {
    const auto refused = build_job(bad);
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().problem.empty());
  }
}

}  // namespace
}  // namespace berth
