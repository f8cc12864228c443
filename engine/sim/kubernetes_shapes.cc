#include "sim/kubernetes_shapes.h"

#include "sim/yaml_shape.h"

namespace berth::sim {
namespace {

const char* const kRequirements = "[{key: text, operator: text, values: [text]}]";

std::string selector() { return std::string("{matchLabels: {'*': text}, matchExpressions: ") + kRequirements + "}"; }

std::string node_term() {
  return std::string("{matchExpressions: ") + kRequirements + ", matchFields: " + kRequirements + "}";
}

/// podAffinity or podAntiAffinity.
std::string near_pods() {
  const std::string term = "{labelSelector: " + selector() +
                           ", topologyKey: text, namespaces: [text], namespaceSelector: any, "
                           "matchLabelKeys: any, mismatchLabelKeys: any}";
  return "{requiredDuringSchedulingIgnoredDuringExecution: [" + term +
         "], preferredDuringSchedulingIgnoredDuringExecution: [{weight: int, podAffinityTerm: " + term + "}]}";
}

const char* const kContainers = R"(
  containers:
  - {name: text, image: any, command: any, args: any, workingDir: any, envFrom: any, env: any, resizePolicy: any,
     restartPolicy: any, restartPolicyRules: any, volumeMounts: any, volumeDevices: any, livenessProbe: any,
     readinessProbe: any, startupProbe: any, lifecycle: any, terminationMessagePath: any, terminationMessagePolicy: any,
     imagePullPolicy: any, securityContext: any, stdin: any, stdinOnce: any, tty: any,
     ports: [{hostPort: text, containerPort: any, hostIP: any, name: any, protocol: any}],
     resources: {limits: {'*': any}, requests: {'*': any}, claims: any}}
)";

const char* const kOtherFieldsOfPod = R"(
  nodeSelector: {'*': text}
  priority: text
  priorityClassName: text
  schedulingGroup: {podGroupName: text}
  tolerations: [{key: text, operator: text, value: text, effect: text, tolerationSeconds: any}]
  volumes: [{persistentVolumeClaim: any, ephemeral: any, '*': any}]
  activeDeadlineSeconds: any
  automountServiceAccountToken: any
  dnsConfig: any
  dnsPolicy: any
  enableServiceLinks: any
  ephemeralContainers: any
  hostAliases: any
  hostIPC: any
  hostNetwork: any
  hostPID: any
  hostUsers: any
  hostname: any
  hostnameOverride: any
  imagePullSecrets: any
  initContainers: any
  nodeName: any
  os: any
  overhead: any
  preemptionPolicy: any
  readinessGates: any
  resourceClaims: any
  resources: any
  restartPolicy: any
  runtimeClassName: any
  schedulerName: any
  schedulingGates: any
  securityContext: any
  serviceAccount: any
  serviceAccountName: any
  setHostnameAsFQDN: any
  shareProcessNamespace: any
  subdomain: any
  terminationGracePeriodSeconds: any
  workloadRef: any
)";

const char* const kOperations = R"(
createNodes: {opcode: text, count: text, countParam: text, nodeTemplatePath: text, templateParams: {'*': text},
  labelNodePrepareStrategy: {labelKey: text, labelValues: [text]}, nodeAllocatableStrategy: any,
  uniqueNodeLabelStrategy: any}
createNamespaces: {opcode: text, prefix: any, count: any, countParam: any, namespaceTemplatePath: any}
createPods: {opcode: text, count: text, countParam: text, countMultiplierParam: text, steadyState: any,
  steadyStateParam: any, duration: any, durationParam: any, collectMetrics: bool, namespace: text,
  podTemplatePath: text, skipWaitToCompletion: bool, persistentVolumeTemplatePath: text,
  persistentVolumeClaimTemplatePath: text, templateParams: {'*': text}, signatureBatchSize: any,
  signatureBatchSizeParam: any}
createPodSets: {opcode: text, count: text, countParam: text, namespacePrefix: text, createPodsOp: {'*': any}}
createPodGroups: {opcode: text, count: text, countParam: text, namespace: text, templatePath: text,
  templateParams: {'*': text}}
createAny: {opcode: text, count: text, countParam: text, namespace: text, templatePath: text,
  templateParams: {'*': text}}
churn: {opcode: text, mode: text, number: int, intervalMilliseconds: int, namespace: text, templatePaths: [text]}
barrier: {opcode: text, namespaces: any, labelSelector: any, stageRequirement: any}
sleep: {opcode: text, duration: any, durationParam: any}
startCollectingMetrics: {opcode: text, name: any, namespaces: any, labelSelector: any}
stopCollectingMetrics: {opcode: text}
)";

}  // namespace

const YamlNode& pod_shape() {
  static const YamlNode kShape = shape_of(
      "apiVersion: any\nkind: text\nstatus: any\nmetadata: {namespace: text, labels: {'*': text}, '*': any}\nspec:" +
      std::string(kContainers) + kOtherFieldsOfPod +
      "  affinity:\n"
      "    nodeAffinity:\n"
      "      requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" +
      node_term() + "]}\n      preferredDuringSchedulingIgnoredDuringExecution: [{weight: int, preference: " +
      node_term() + "}]\n    podAffinity: " + near_pods() + "\n    podAntiAffinity: " + near_pods() +
      "\n  topologySpreadConstraints: [{maxSkew: any, topologyKey: text, whenUnsatisfiable: text, minDomains: any, "
      "matchLabelKeys: any, nodeAffinityPolicy: any, nodeTaintsPolicy: any, labelSelector: " +
      selector() + "}]\n");
  return kShape;
}

const YamlNode& node_shape() {
  static const YamlNode kShape = shape_of(R"(
metadata: {name: text, labels: {'*': text}, '*': any}
spec: {unschedulable: bool, taints: [{key: text, value: text, effect: text, timeAdded: any}], '*': any}
status: {allocatable: {'*': any}, capacity: {'*': any}, '*': any}
'*': any
)");
  return kShape;
}

const YamlNode& pod_group_shape() {
  static const YamlNode kShape = shape_of(R"(
metadata: {name: text, '*': any}
spec: {schedulingPolicy: {gang: {minCount: text, '*': any}, '*': any},
  schedulingConstraints: {topology: [{key: text, '*': any}], '*': any}, '*': any}
'*': any
)");
  return kShape;
}

const YamlNode& priority_class_shape() {
  static const YamlNode kShape = shape_of("{metadata: {name: text, '*': any}, value: int, '*': any}");
  return kShape;
}

const YamlNode& test_case_shape() {
  static const YamlNode kShape = shape_of(
      "{name: text, defaultPodTemplatePath: text, workloadTemplate: [{opcode: text, '*': any}], workloads: any, "
      "threshold: text, '*': any}");
  return kShape;
}

const YamlNode& perf_workload_shape() {
  static const YamlNode kShape = shape_of("{name: text, params: {'*': any}, threshold: text, '*': any}");
  return kShape;
}

const YamlNode* operation_shape(const std::string& opcode) {
  static const YamlNode kShapes = shape_of(kOperations);
  const YamlNode& shape = kShapes[opcode];
  return shape.kind == YamlNode::Kind::none ? nullptr : &shape;
}

}  // namespace berth::sim
