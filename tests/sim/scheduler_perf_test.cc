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
            "${attr.disk} = ssd; ${attr.taint.gpu.NoSchedule} is_not_set ; "
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

/// The workload of one test case with the operations, one a line, and the files, by name.
Result<Workload> workload_with(const std::vector<std::string>& operations,
                               const std::map<std::string, std::string>& files, const std::string& more = "",
                               const std::string& label = "full") {
  const testing::ScratchFolder folder;
  std::string text = "- name: T\n  threshold: 10\n  workloadTemplate:\n";
  for (const std::string& operation : operations) text += "  - {opcode: " + operation + "}\n";
  text += "  workloads:\n  - {name: w, params: {n: 3, two: 2}}\n" + more;
  EXPECT_TRUE(io::write_output(folder.file("c.yaml"), text));
  for (const auto& [name, content] : files) EXPECT_TRUE(io::write_output(folder.file(name), content));
  return read_workload(folder.file("c.yaml"), label);
}

const std::string kPod = "kind: Pod\nspec: {containers: [{name: c}]}\n";
const std::string kPods = "createPods, count: 4, podTemplatePath: pod.yaml";

std::vector<std::string> attribute_of_nodes(const Workload& workload, const std::string& key) {
  const GeneratedCluster cluster = generate_cluster(workload.cluster, workload.seed);
  std::vector<std::string> out;
  for (const NodeRecord& node : cluster.nodes) out.push_back(cluster.shapes[node.shape].attributes.at(key));
  return out;
}

TEST(SchedulerPerf, LabelValuesReplaceThatOfTheTemplateAndBeginAnewInEachOperation) {
  const std::string strategy = ", labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b, c]}";
  const std::string status = "status: {capacity: {cpu: 4, memory: 8Gi}}\n";
  const auto templated =
      workload_with({"createNodes, count: 4, nodeTemplatePath: node.yaml" + strategy, kPods},
                    {{"node.yaml", "kind: Node\nmetadata: {name: 'n-{{.Index}}', labels: {zone: z}}\n" + status},
                     {"pod.yaml", kPod}});
  ASSERT_TRUE(templated) << templated.error().line();
  EXPECT_EQ(attribute_of_nodes(*templated, "zone"), (std::vector<std::string>{"a", "b", "c", "a"}));
  const std::string nodes = "createNodes, count: 2, nodeTemplatePath: node.yaml" + strategy;
  const auto constant =
      workload_with({nodes, nodes, kPods},
                    {{"node.yaml", "kind: Node\nmetadata: {labels: {zone: z}}\n" + status}, {"pod.yaml", kPod}});
  ASSERT_TRUE(constant) << constant.error().line();
  EXPECT_EQ(attribute_of_nodes(*constant, "zone"), (std::vector<std::string>{"a", "b", "a", "b"}));
}

TEST(SchedulerPerf, AParameterReplacesTheCountAndAMultiplierMultipliesIt) {
  const auto w =
      workload_with({"createNodes, count: 5, countParam: $n",
                     "createPods, count: 7, countParam: $n, countMultiplierParam: $two, podTemplatePath: pod.yaml"},
                    {{"pod.yaml", kPod}});
  ASSERT_TRUE(w) << w.error().line();
  EXPECT_EQ(w->cluster.nodes, 3);
  EXPECT_EQ(w->jobs.kinds.at(0).jobs, 6);
}

TEST(SchedulerPerf, ChurnKeepsToItsNumberAndInterval) {
  const auto churned = [](const std::string& churn, bool measured = true) {
    const auto w = workload_with(
        {"createNodes, count: 3", "churn, templatePaths: [pod.yaml], " + churn,
         "createPods, count: 100, podTemplatePath: pod.yaml" + std::string(measured ? ", collectMetrics: True" : "")},
        {{"pod.yaml", kPod}});
    EXPECT_TRUE(w) << w.error().line();
    EXPECT_NE(w && says(*w, "churn is left out: no createPods has collectMetrics"), measured);
    return !w || w->jobs.kinds.size() < 2 ? 0 : static_cast<int>(w->jobs.kinds[1].weight);
  };
  // 100 pods at 10/s last 10 s.
  EXPECT_EQ(churned("mode: create"), 20);  // every 500 ms
  EXPECT_EQ(churned("mode: create, intervalMilliseconds: 1000"), 10);
  EXPECT_EQ(churned("mode: create, number: 3"), 3);
  EXPECT_EQ(churned("mode: recreate, number: 1"), 10);
  EXPECT_EQ(churned("mode: recreate, number: 15"), 15);
  EXPECT_EQ(churned("mode: create", false), 0);
}

TEST(SchedulerPerf, ATolerationHoldsForItsEffect) {
  const auto kept_away = [](const std::string& toleration) {
    const auto w = workload_with(
        {"createNodes, count: 3, nodeTemplatePath: node.yaml", kPods},
        {{"node.yaml",
          "kind: Node\nspec: {taints: [{key: k, effect: NoExecute}]}\nstatus: {capacity: {cpu: 4, memory: 8Gi}}\n"},
         {"pod.yaml",
          "kind: Pod\nspec: {tolerations: [{operator: Exists, " + toleration + "}], containers: [{name: c}]}\n"}});
    EXPECT_TRUE(w) << w.error().line();
    return w ? w->jobs.kinds.at(0).constraints.size() : 9;
  };
  EXPECT_EQ(kept_away("key: k, effect: NoSchedule"), 1U);
  EXPECT_EQ(kept_away("key: k, effect: NoExecute"), 0U);
  EXPECT_EQ(kept_away("key: k"), 0U);
  EXPECT_EQ(kept_away("effect: NoExecute"), 0U);
  EXPECT_EQ(kept_away("effect: NoSchedule"), 1U);
}

TEST(SchedulerPerf, FindsNodesByNameAndByHostname) {
  const auto w = workload_with(
      {"createNodes, count: 3, nodeTemplatePath: node.yaml", "createPods, count: 1, podTemplatePath: name.yaml",
       "createPods, count: 1, podTemplatePath: pod.yaml"},
      {{"node.yaml",
        "kind: Node\nmetadata: {name: 'n-{{.Index}}', labels: {kubernetes.io/hostname: 'h-{{.Index}}'}}\n"
        "status: {capacity: {cpu: 4, memory: 8Gi}}\n"},
       {"name.yaml",
        "kind: Pod\nspec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n-1]}]}]}}}}\n"},
       {"pod.yaml", "kind: Pod\nspec: {nodeSelector: {kubernetes.io/hostname: h-2}}\n"}});
  ASSERT_TRUE(w) << w.error().line();
  EXPECT_EQ(w->jobs.kinds.at(0).constraints.at(0).values.at(0), "node-1");
  EXPECT_EQ(w->jobs.kinds.at(1).constraints.at(0).values.at(0), "node-2");
}

TEST(SchedulerPerf, TermsOnSeveralNamespacesAreApproximate) {
  const std::string term = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}, ";
  const auto w = workload_with({"createNodes, count: 3", kPods},
                               {{"pod.yaml",
                                 "kind: Pod\nmetadata: {labels: {a: b}}\nspec: {affinity: {podAntiAffinity: "
                                 "{requiredDuringSchedulingIgnoredDuringExecution: [" +
                                     term + "namespaces: [x]}, " + term + "namespaceSelector: {}}]}}}\n"}});
  ASSERT_TRUE(w) << w.error().line();
  EXPECT_TRUE(w->jobs.kinds.at(0).distinct_hosts);
  EXPECT_TRUE(says(*w, "'namespaces' of terms is left out"));
  EXPECT_TRUE(says(*w, "'namespaceSelector' of terms is left out"));
}

TEST(SchedulerPerf, WhatKubernetesWouldReadOtherwiseIsRefused) {
  const std::string nodes = "createNodes, count: 2", any = "createAny, templatePath: any.yaml";
  const std::string node = "createNodes, count: 2, nodeTemplatePath: any.yaml";
  const std::string group = "createPodGroups, count: 1, templatePath: any.yaml";
  const std::string gang = "kind: PodGroup\nmetadata: {name: g}\nspec: {schedulingPolicy: {gang: {minCount: 2}}}\n";
  const std::string near =
      "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {matchLabels: {a: b}}}]}";
  const auto pod = [](const std::string& field) {
    return "kind: Pod\nmetadata: {labels: {a: b}}\nspec:\n  " + field + "\n";
  };
  const auto capacity = [](const std::string& head, const std::string& more) {
    return "kind: Node\n" + head + "status: {capacity: {cpu: 4, memory: 8Gi" + more + "}}\n";
  };
  struct Case {
    std::vector<std::string> operations;
    std::string pod, any, message;
  };
  const Case kCases[] = {
      {{nodes + ", labelNodePrepareStrategy: {labelKey: z, labelValues: []}", kPods},
       kPod,
       "",
       "c.yaml:4: the strategy"},
      {{nodes, kPods + ", skipWaitToCompletion: 1"}, kPod, "", "c.yaml:5: 'skipWaitToCompletion' is not true or false"},
      {{nodes, kPods + ", nameSpace: x"}, kPod, "", "c.yaml:5: there is no field 'nameSpace' here"},
      {{nodes, kPods + ", templateParams: [a]"}, kPod, "", "c.yaml:5: 'templateParams' is not a map"},
      {{nodes, "createPodSets, count: 1, createPodsOp: {opcode: createPods, cout: 1}"},
       kPod,
       "",
       "no field 'cout' here"},
      {{nodes, "churn, mode: creat, templatePaths: [pod.yaml]", kPods}, kPod, "", "c.yaml:5: churn has no such 'mode'"},
      {{nodes, "churn, mode: recreate, templatePaths: [pod.yaml]", kPods}, kPod, "", "c.yaml:5: churn's 'number'"},
      {{nodes, "churn, mode: create, intervalMilliseconds: -1, templatePaths: [pod.yaml]", kPods},
       kPod,
       "",
       "is negative"},
      {{nodes, kPods}, pod("nodeSelector: [a]"), "", "pod.yaml:4: 'nodeSelector' is not a map"},
      {{nodes, kPods}, pod("nodeselector: {a: b}"), "", "pod.yaml:4: there is no field 'nodeselector' here"},
      {{nodes, kPods}, pod("nodeSelector: {z: ''}"), "", "pod.yaml:4: the label's value is empty"},
      {{nodes, kPods}, pod("nodeSelector: {z: ~}"), "", "pod.yaml:4: 'z' is not a text or number"},
      {{nodes, kPods}, pod("tolerations: {}"), "", "pod.yaml:4: 'tolerations' is not a list"},
      {{nodes, kPods}, pod("tolerations: [~]"), "", "pod.yaml:4: 'tolerations' is not a list without empty items"},
      {{nodes, kPods}, pod("tolerations: [{key: a, operator: Lt}]"), "", "pod.yaml:4: the toleration's operator"},
      {{nodes, kPods}, pod("containers: [{resources: 5}]"), "", "pod.yaml:4: 'resources' is not a map"},
      {{nodes, kPods},
       pod("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {topologyKey: z}}}"),
       "",
       "pod.yaml:4: 'requiredDuringSchedulingIgnoredDuringExe...' is not a list"},
      {{nodes, group, "createPods, count: 2, podTemplatePath: pod.yaml"},
       pod("{schedulingGroup: {podGroupName: g}, priority: {{.Index}}}"),
       gang,
       "c.yaml:6: members of the pod group 'g' differ"},
      {{nodes, group, kPods},
       pod("{schedulingGroup: {podGroupName: g}, affinity: {podAffinity: " + near + "}}"),
       gang,
       "pod.yaml:4: a member of a pod group that requires pods near it"},
      {{nodes, group, kPods},
       kPod,
       "kind: PodGroup\nmetadata: {name: g}\nspec: {schedulingPolicy: {gang: {minCount: -1}}}\n",
       "any.yaml:3: 'minCount'"},
      {{nodes, any, kPods},
       kPod,
       "kind: PriorityClass\nmetadata: {name: p}\nvalue: high\n",
       "any.yaml:3: 'value' is not a whole number"},
      {{nodes, any, kPods},
       kPod,
       "kind: PriorityClass\nmetadata: {name: p}\n",
       "any.yaml:1: the PriorityClass has no 'value'"},
      {{node, kPods}, kPod, capacity("", ", example.com/x: 10001"), "any.yaml:2: the node has more than 10,000"},
      {{node, kPods}, kPod, capacity("metadata: {name: n}\n", ""), "any.yaml:2: several nodes have the name"},
      {{node, kPods},
       kPod,
       capacity("spec: {taints: [{key: k, effect: No}]}\n", ""),
       "any.yaml:2: the taint has no such 'effect'"},
      {{"createNodes, count: 101, nodeTemplatePath: any.yaml", kPods},
       kPod,
       capacity("spec: {taints: [{key: 'k{{.Index}}', effect: NoSchedule}]}\n", ""),
       "the nodes have more than 100 taints"},
      {{nodes,
        "createPods, count: 1, podTemplatePath: pod.yaml, templateParams: {a: " + std::string(50'000, 'x') + "}"},
       [] {
         std::string out = kPod + "# ";
         for (int i = 0; i < 90; ++i) out += "{{.a}}";
         return out;
       }(),
       "",
       "pod.yaml: expands to more than 4 MiB"},
  };
  for (const Case& c : kCases) {
    const auto workload = workload_with(c.operations, {{"pod.yaml", c.pod}, {"any.yaml", c.any}});
    ASSERT_FALSE(workload) << c.message;
    EXPECT_NE(workload.error().line().find(c.message), std::string::npos) << workload.error().line();
    EXPECT_FALSE(workload.error().remedy.empty()) << workload.error().line();
  }
  const auto twice = workload_with({nodes, kPods}, {{"pod.yaml", kPod}}, "  - {name: w}\n", "T/w");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().line().find("c.yaml:8: there are two workloads 'T/w'"), std::string::npos)
      << twice.error().line();
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
