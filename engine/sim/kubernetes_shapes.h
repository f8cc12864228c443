// The fields of Kubernetes' objects and of scheduler_perf's operations, so that a misspelt one is found.
#pragma once

#include <string>

#include "sim/yaml_tree.h"

namespace berth::sim {

[[nodiscard]] const YamlNode& pod_shape();             ///< core/v1
[[nodiscard]] const YamlNode& node_shape();            ///< core/v1
[[nodiscard]] const YamlNode& pod_group_shape();       ///< scheduling.k8s.io
[[nodiscard]] const YamlNode& priority_class_shape();  ///< scheduling.k8s.io/v1
[[nodiscard]] const YamlNode& test_case_shape();       ///< without its operations and workloads
[[nodiscard]] const YamlNode& perf_workload_shape();
/// nullptr: no such operation, or one that has no equal.
[[nodiscard]] const YamlNode* operation_shape(const std::string& opcode);

}  // namespace berth::sim
