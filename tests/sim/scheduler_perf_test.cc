// Kubernetes' scheduler_perf as workloads. The files in kubernetes/ were written for these tests.
#include "sim/scheduler_perf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "io/output.h"
#include "sim/cluster_generator.h"
#include "sim/kubernetes_objects.h"
#include "sim/packing_problem.h"
#include "sim/workload.h"
#include "sim/yaml_tree.h"
#include "support/scratch_folder.h"

namespace berth::sim {
namespace {

const std::string kFile = std::string(BERTH_SOURCE_DIR) + "/tests/sim/kubernetes/performance-config.yaml";

Workload workload_of(const std::string& label) {
  auto out = read_workload(kFile, label);
  EXPECT_TRUE(out) << out.error().line();
  return out ? *out : Workload();
}

bool says(const Workload& workload, const std::string& text) {
  return std::ranges::any_of(workload.approximate,
                             [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST(SchedulerPerf, TakesCountsFromTheParametersOfTheWorkload) {
  const Workload w = workload_of("Basic/20Nodes");
  EXPECT_EQ(w.label, "Basic/20Nodes");
  EXPECT_EQ(w.cluster.nodes, 20);
  ASSERT_EQ(w.jobs.kinds.size(), 2U);
  EXPECT_EQ(w.jobs.kinds[0].jobs, 30);
  EXPECT_EQ(w.jobs.kinds[0].cpu_mhz.min(), 100);  // 100m of a core of 1,000 MHz
  EXPECT_EQ(w.jobs.kinds[0].memory_mb.min(), 500);
  EXPECT_EQ(w.jobs.kinds[1].name, "measured-1");
  EXPECT_EQ(w.jobs.kinds[1].jobs, 50);
  EXPECT_EQ(w.jobs.kinds[1].from_s, 1);  // after the pods before
  ASSERT_TRUE(w.peer);
  EXPECT_EQ(w.peer->value, 500);
  EXPECT_TRUE(says(w, "50 measured ones"));
  const Workload other = workload_of("Basic/40Nodes");
  EXPECT_EQ(other.cluster.nodes, 40);
  EXPECT_FALSE(other.peer);
}

TEST(SchedulerPerf, FindsNodesByTheirNames) {
  const Workload w = workload_of("Named/small");
  const GeneratedCluster cluster = generate_cluster(w.cluster, w.seed);
  ASSERT_EQ(cluster.nodes.size(), 10U);
  EXPECT_EQ(cluster.shapes[cluster.nodes[9].shape].node_resources->cpu.cpu_shares, 32'000);
  EXPECT_EQ(cluster.shapes[cluster.nodes[8].shape].node_resources->cpu.cpu_shares, 4'000);
  const RuleSpec& rule = w.jobs.kinds.at(0).constraints.at(0);
  EXPECT_EQ(rule.attribute + rule.operand + rule.values.at(0), "${node.unique.name}=node-9");
  EXPECT_TRUE(says(w, "raised"));
}

TEST(SchedulerPerf, ConvertsSelectorsTaintsAndSpreads) {
  const Workload w = workload_of("Rules/small");
  const GeneratedCluster cluster = generate_cluster(w.cluster, w.seed);
  std::map<std::string, int> zones;
  for (const NodeRecord& node : cluster.nodes) {
    const auto& attributes = cluster.shapes[node.shape].attributes;
    if (attributes.contains("topology.kubernetes.io/zone")) ++zones[attributes.at("topology.kubernetes.io/zone")];
  }
  EXPECT_EQ(zones, (std::map<std::string, int>{{"a", 4}, {"b", 4}, {"c", 4}}));  // in turn, as Kubernetes labels them
  EXPECT_EQ(w.cluster.shapes.at(0).cores * 1000 - w.cluster.shapes.at(0).reserved_cpu_mhz, 3900);
  EXPECT_EQ(w.cluster.shapes.at(0).disk_mb, 50 * 1024);

  ASSERT_EQ(w.jobs.kinds.size(), 5U);
  std::string rules;
  for (const RuleSpec& rule : w.jobs.kinds[0].constraints)
    rules += rule.attribute + " " + rule.operand + " " + rule.values.at(0) + "; ";
  EXPECT_EQ(rules,
            "${attr.disk} = ssd; ${attr.taint.gpu} is_not_set ; "
            "${attr.topology.kubernetes.io/zone} set_contains_any a,c; ${attr.legacy} is_not_set ; ");
  EXPECT_EQ(w.jobs.kinds[0].affinities.at(0).weight, 7);
  EXPECT_EQ(w.jobs.kinds[0].space, "team-0");
  EXPECT_EQ(w.jobs.kinds[1].space, "team-1");

  // Pods that refer to each other are one job.
  EXPECT_EQ(w.jobs.kinds[2].jobs, 1);
  EXPECT_EQ(w.jobs.kinds[2].count.min(), 6);
  EXPECT_EQ(w.jobs.kinds[2].spreads.at(0).attribute, "${attr.topology.kubernetes.io/zone}");
  EXPECT_EQ(w.jobs.kinds[2].spreads.at(0).weight, 100);
  EXPECT_TRUE(w.jobs.kinds[3].distinct_hosts);
  EXPECT_EQ(w.jobs.kinds[3].static_port.min(), 8080);
  EXPECT_EQ(w.jobs.kinds[4].devices.at(0).name, "nvidia.com/gpu");
  EXPECT_TRUE(says(w, "DoNotSchedule is a preference"));

  // The engine's own feasibility: a pod in zones a and c fits 8 of the 12 nodes there, a GPU pod the 3 with GPUs.
  const auto problem = packing_problem(cluster, generate_jobs(w.jobs, w.seed), 1, w.path);
  ASSERT_TRUE(problem);
  std::multiset<std::size_t> eligible;
  for (const auto& task : problem->classes) {
    std::size_t nodes = 0;
    for (std::size_t node = 0; node < cluster.nodes.size(); ++node)
      nodes += task.may_run_on(static_cast<strategy::Row>(node));
    eligible.insert(nodes);
  }
  EXPECT_TRUE(eligible.contains(8));
  EXPECT_TRUE(eligible.contains(3));
}

TEST(SchedulerPerf, ChurnArrivesAmongTheMeasuredPods) {
  const Workload w = workload_of("Churn/small");
  ASSERT_EQ(w.jobs.kinds.size(), 3U);
  EXPECT_EQ(w.jobs.kinds[0].jobs, 20);
  EXPECT_EQ(w.jobs.kinds[2].name, "churn-2");
  EXPECT_EQ(w.jobs.kinds[2].weight, 5);  // 100 pods at 200/s last 0.5 s, one of these every 0.1 s
  EXPECT_EQ(w.jobs.kinds[1].weight, 100);
  EXPECT_EQ(w.jobs.count, 105);
  EXPECT_EQ(w.jobs.kinds[0].priority.min(), 10);
  EXPECT_EQ(w.jobs.kinds[2].priority.min(), 90);
  EXPECT_TRUE(w.preemption.batch);
}

TEST(SchedulerPerf, ExpandsTemplatesAndMakesGangs) {
  const Workload w = workload_of("Gangs/5of3");
  const GeneratedCluster cluster = generate_cluster(w.cluster, w.seed);
  EXPECT_EQ(cluster.shapes[cluster.nodes[3].shape].attributes.at("rack"), "rack-0");
  EXPECT_EQ(cluster.shapes[cluster.nodes[4].shape].attributes.at("rack"), "rack-1");
  ASSERT_EQ(w.jobs.kinds.size(), 1U);
  EXPECT_EQ(w.jobs.kinds[0].jobs, 5);
  EXPECT_EQ(w.jobs.kinds[0].count.min(), 3);
  ASSERT_TRUE(w.jobs.kinds[0].gang);
  EXPECT_EQ(w.jobs.kinds[0].gang->topology, "same:attr.rack");
}

TEST(SchedulerPerf, ReadsQuantities) {
  const std::pair<const char*, double> kCases[] = {{"4", 4},       {"100m", 0.1}, {"500Mi", 500.0 * 1048576},
                                                   {"1.5k", 1500}, {"1e3", 1000}, {"2E", 2e18},
                                                   {"1E2", 100},   {"2Ki", 2048}};
  for (const auto& [text, value] : kCases) EXPECT_EQ(kubernetes_quantity(text), value) << text;
  for (const char* text : {"", "m", "4 m", "4x", "0x10", "inf", "1e", "--1"})
    EXPECT_FALSE(kubernetes_quantity(text)) << text;
}

TEST(SchedulerPerf, WhatHasNoEqualIsRefusedWithItsLine) {
  const testing::ScratchFolder folder;
  const auto config = [&](const std::string& op) {
    return "- name: T\n  workloadTemplate:\n  - {opcode: createNodes, count: 2}\n  - " + op +
           "\n  workloads:\n  - {name: w, params: {n: 3}}\n";
  };
  const auto pod = [](const std::string& spec) {
    return "kind: Pod\nmetadata: {labels: {a: b}}\nspec:\n  containers: [{name: c}]\n  " + spec + "\n";
  };
  const std::string create = "{opcode: createPods, count: 1, podTemplatePath: pod.yaml}";
  struct Case {
    std::string config, pod, message;
  };
  const Case kCases[] = {
      {config("{opcode: updateAny}"), pod(""), "c.yaml:4: the operation 'updateAny' cannot be expressed"},
      {config("{opcode: createPods, count: x, podTemplatePath: pod.yaml}"), pod(""), "c.yaml:4: 'count' is no number"},
      {config("{opcode: createPods, countParam: $m, podTemplatePath: pod.yaml}"), pod(""),
       "c.yaml:4: the workload has no parameter 'm'"},
      {config("{opcode: createPods, count: 1}"), pod(""), "c.yaml:4: the operation has no template"},
      {config("{opcode: createPods, count: 1, podTemplatePath: absent.yaml}"), pod(""), "c.yaml:4: absent.yaml:"},
      {config("{opcode: createPods, count: 1, podTemplatePath: pod.yaml, namespace: 'a b'}"), pod(""),
       "is no namespace"},
      {config("{opcode: createPods, count: 1, podTemplatePath: pod.yaml, steadyState: true}"), pod(""),
       "'steadyState'"},
      {config(create), "kind: Node\n", "pod.yaml:1: is not a Pod"},
      {config(create), pod("nodeName: x"), "pod.yaml:5: 'nodeName' of a pod cannot be expressed"},
      {config(create), pod("priorityClassName: gold"), "pod.yaml:5: no PriorityClass 'gold'"},
      {config(create), pod("priority: high"), "pod.yaml:5: 'priority' is no whole number"},
      {config(create), pod("nodeSelector: {'a b': c}"), "pod.yaml:5: the requirement"},
      {config(create), pod("schedulingGroup: {podGroupName: g}"), "c.yaml:4: no pod group 'g'"},
      {config(create),
       pod("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "[{topologyKey: zone, labelSelector: {matchLabels: {a: c}}}]}}"),
       "pod.yaml:5: the required affinity to other pods"},
      {config(create), pod("topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"),
       "pod.yaml:5: a spread over pods other"},
      {config(create), "kind: Pod\nspec:\n  containers: [{resources: {requests: {cpu: much}}}]\n",
       "pod.yaml:3: the amount of 'cpu' is no quantity"},
      {config(create), "kind: Pod\nmetadata: {name: 'p-{{.Nothing}}'}\n", "pod.yaml:2: the template action '.Nothing'"},
      {config(create), "kind: Pod\nkind: Pod\n", "2: 'kind' is there twice"},
      {config(create), "kind: &a Pod\n", "1: an anchor"},
      {"- *a\n", pod(""), "c.yaml:1: an alias"},
      {"a: b\n", pod(""), "is no list of test cases"},
      {"- [\n", pod(""), "c.yaml:2: not YAML"},
  };
  for (const Case& c : kCases) {
    const std::string path = folder.file("c.yaml");
    ASSERT_TRUE(io::write_output(path, c.config));
    ASSERT_TRUE(io::write_output(folder.file("pod.yaml"), c.pod));
    const auto workload = read_workload(path);
    ASSERT_FALSE(workload) << c.message;
    EXPECT_NE(workload.error().line().find(c.message), std::string::npos) << workload.error().line();
    EXPECT_FALSE(workload.error().remedy.empty()) << workload.error().line();
  }
}

TEST(YamlTree, KeepsLinesAndRefusesDeepNesting) {
  const auto tree = parse_yaml("a:\n  b: [1, 'null', ~]\n", "f");
  ASSERT_TRUE(tree);
  const YamlNode& list = (*tree)["a"]["b"];
  EXPECT_EQ(list.line, 2U);
  EXPECT_EQ(list.items.at(1).kind, YamlNode::Kind::text);
  EXPECT_EQ(list.items.at(2).kind, YamlNode::Kind::none);
  EXPECT_EQ((*tree)["x"]["y"].kind, YamlNode::Kind::none);
  EXPECT_FALSE(parse_yaml(std::string(100, '['), "f"));
  EXPECT_FALSE(parse_yaml("a\n---\nb\n", "f"));
}

}  // namespace
}  // namespace berth::sim
