// Kubernetes' Node and Pod objects (v1), as kinds of nodes and jobs in the words of a workload file. Requirements that
// Nomad cannot express are errors. Preferences that it cannot express are dropped, with a note.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/yaml_tree.h"

namespace berth::sim {

/// A document with the file that it is from.
struct YamlFile {
  std::string path;
  YamlNode root;
};

/// The first error, and how the result differs from what was read.
class Findings {
 public:
  void fail(const std::string& path, std::size_t line, std::string problem, std::string remedy);
  void note(const std::string& text);  ///< the same text counts once
  void check_shape(const YamlFile& file, const YamlNode& shape);

  std::optional<InputError> error;
  std::vector<std::string> notes;
};

/// What the nodes of a cluster have that pods refer to.
struct NodeFacts {
  std::map<std::string, std::string> names;              ///< metadata.name -> the name in the workload, node-ROW
  std::map<std::string, std::string> hostnames;          ///< label kubernetes.io/hostname -> the same
  std::set<std::pair<std::string, std::string>> taints;  ///< (key, effect) of taints that keep pods away; at most 100
};

struct NodeTemplate {
  std::string name, hostname;  ///< metadata.name and its hostname label, if they are given
  std::string body;            ///< lines of [[cluster.shapes]], without name, nodes and attributes
  std::map<std::string, std::vector<std::string>> attributes;
};

struct PodTemplate {
  std::string body;  ///< lines of [[jobs.mix]], without name, number, time, namespace and priority
  std::int64_t priority = 0;
  std::string space;      ///< the namespace, if it is given
  std::string group;      ///< name of its pod group, or ""
  bool together = false;  ///< its pods refer to each other: they are one job
};

/// A text as TOML's basic string, with ? for control characters.
[[nodiscard]] std::string toml_text(const std::string& text);
/// A quantity such as 100m, 4, 500Mi or 1e3, in units of one.
[[nodiscard]] std::optional<double> kubernetes_quantity(const std::string& text);

[[nodiscard]] NodeTemplate node_template(const YamlFile& file, NodeFacts& facts, Findings& findings);
/// `priority_classes`: values by name.
[[nodiscard]] PodTemplate pod_template(const YamlFile& file, const NodeFacts& facts,
                                       const std::map<std::string, std::int64_t>& priority_classes, Findings& findings);

}  // namespace berth::sim
