#include "sim/kubernetes_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "sim/kubernetes_shapes.h"
#include "sim/yaml_shape.h"

namespace berth::sim {
namespace {

constexpr double kMiB = 1 << 20;
constexpr std::int64_t kUnlimitedMb = 1'000'000'000, kMinMb = 10;
constexpr double kMaxAmountOfNode = 1e9;
constexpr std::size_t kMaxTaints = 100;

using Amounts = std::map<std::string, double>;

/// The amounts of a map of resources, added to `out`.
void add_amounts(const YamlFile& file, const YamlNode& resources, Amounts& out, Findings& findings) {
  for (const auto& [name, value] : resources.members) {
    const auto amount = kubernetes_quantity(value.text);
    if (value.kind != YamlNode::Kind::text || !amount || *amount < 0 || *amount > 1e18)
      findings.fail(file.path, value.line, "the amount of '" + base::shown(name) + "' is no quantity",
                    "write e.g. 100m, 4 or 500Mi");
    else
      out[name] += *amount;
  }
}

std::int64_t whole(double amount) { return static_cast<std::int64_t>(std::ceil(amount - 1e-6)); }

/// Whether `name` is an extended resource such as nvidia.com/gpu, which becomes a device.
bool is_extended(const std::string& name) {
  return std::count(name.begin(), name.end(), '/') == 1 && name.front() != '/' && name.back() != '/';
}

std::string attribute_of(const std::string& key) {
  if (key == "kubernetes.io/hostname" || key == "metadata.name") return "${node.unique.name}";
  return "${attr." + key + "}";
}

bool is_label_key(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

std::string rule(const std::string& attribute, const std::string& operand, const std::string& value) {
  return fmt::format("attribute = {}, operator = \"{}\", value = {}", toml_text(attribute), operand, toml_text(value));
}

/// Reads one pod. Each function adds to the lists of rules that become lines of the kind of jobs.
class PodReader {
 public:
  PodReader(const YamlFile& file, const NodeFacts& facts, Findings& findings)
      : file_(file), facts_(facts), findings_(findings), spec_(file.root["spec"]) {}

  PodTemplate read(const std::map<std::string, std::int64_t>& classes) {
    if (file_.root["kind"].text != "Pod") fail(file_.root, "is not a Pod", "name a file with kind: Pod");
    findings_.check_shape(file_, pod_shape());
    for (const auto& [key, value] : file_.root["metadata"]["labels"].members) labels_[key] = value.text;
    refuse_unknown_effects();
    out_.space = file_.root["metadata"]["namespace"].text;
    read_priority(classes);
    read_resources();
    for (const auto& [key, value] : spec_["nodeSelector"].members) {
      if (value.text.empty()) fail(value, "the label's value is empty", "write a value, or use Exists in nodeAffinity");
      require(key, "In", {value.text}, value);
    }
    read_tolerations();
    const YamlNode& affinity = spec_["affinity"];
    read_node_affinity(affinity["nodeAffinity"]);
    read_pod_affinity(affinity["podAffinity"]);
    read_pod_anti_affinity(affinity["podAntiAffinity"]);
    for (const YamlNode& spread : spec_["topologySpreadConstraints"].items) read_spread(spread);
    out_.group = spec_["schedulingGroup"]["podGroupName"].text;
    if (distinct_hosts_) out_.body += "distinct_hosts = true\n";
    if (!gang_topology_.empty() && !out_.group.empty())
      fail(spec_["schedulingGroup"], "a member of a pod group that requires pods near it cannot be expressed",
           "remove the podAffinity; the pod group may have a topology");
    for (const auto& [key, rules] : {std::pair("constraints", &constraints_), std::pair("affinities", &affinities_),
                                     std::pair("spreads", &spreads_), std::pair("devices", &devices_)})
      if (!rules->empty()) out_.body += fmt::format("{} = [{{ {} }}]\n", key, base::join(*rules, " }, { "));
    return std::move(out_);
  }

 private:
  void fail(const YamlNode& at, std::string problem, std::string remedy) {
    findings_.fail(file_.path, at.line, std::move(problem), std::move(remedy));
  }

  /// Fields that decide where or whether a pod runs, and that have no equal.
  void refuse_unknown_effects() {
    for (const char* field :
         {"nodeName", "schedulingGates", "overhead", "initContainers", "resourceClaims", "resources", "workloadRef"})
      if (spec_.has(field))
        fail(spec_[field], fmt::format("'{}' of a pod cannot be expressed", field),
             "remove it, or choose another workload");
    for (const YamlNode& volume : spec_["volumes"].items)
      if (volume.has("persistentVolumeClaim") || volume.has("ephemeral"))
        findings_.note("volumes of pods are left out");
    if (spec_.has("preemptionPolicy")) findings_.note("preemptionPolicy is left out: every pod may evict others");
  }

  void read_priority(const std::map<std::string, std::int64_t>& classes) {
    const YamlNode& name = spec_["priorityClassName"];
    if (const auto found = classes.find(name.text); found != classes.end())
      out_.priority = found->second;
    else if (name.kind != YamlNode::Kind::none && !spec_.has("priority"))
      fail(name, "no PriorityClass '" + base::shown(name.text) + "' was created before",
           "create it with createAny, or write 'priority'");
    const YamlNode& given = spec_["priority"];
    if (given.kind == YamlNode::Kind::none) return;
    const auto priority = base::parse_int64(given.text);
    if (!priority) fail(given, "'priority' is no whole number", "write e.g. 10");
    out_.priority = priority.value_or(0);
  }

  void read_resources() {
    Amounts amounts;
    std::vector<std::int64_t> ports;
    for (const YamlNode& container : spec_["containers"].items) {
      const YamlNode& resources = container["resources"];
      Amounts own;
      add_amounts(file_, resources["limits"], own, findings_);
      Amounts requests;
      add_amounts(file_, resources["requests"], requests, findings_);
      for (const auto& [name, amount] : requests) own[name] = amount;  // a limit is the request where there is none
      for (const auto& [name, amount] : own) amounts[name] += amount;
      for (const YamlNode& port : container["ports"].items)
        if (const YamlNode& host = port["hostPort"]; host.kind != YamlNode::Kind::none) {
          const auto number = base::parse_int64(host.text);
          if (!number || *number < 1 || *number > 65'535) fail(host, "'hostPort' is no port", "write 1 to 65535");
          if (!ports.empty()) fail(host, "a pod has several host ports", "keep one");
          ports.push_back(number.value_or(1));
        }
    }
    const double cpu = amounts["cpu"] * 1000, memory = amounts["memory"] / kMiB;
    if (cpu < 1 || memory < kMinMb) findings_.note("requests below 1m of cpu and 10Mi of memory are raised to that");
    out_.body +=
        fmt::format("cpu_mhz = {}\nmemory_mb = {}\ndisk_mb = {}\n", std::max<std::int64_t>(whole(cpu), 1),
                    std::max(whole(memory), kMinMb), std::max(whole(amounts["ephemeral-storage"] / kMiB), kMinMb));
    if (cpu > kMaxAmountOfNode || memory > kMaxAmountOfNode) fail(spec_, "the pod requests too much", "request less");
    if (!ports.empty()) out_.body += fmt::format("static_port = {}\n", ports.front());
    for (const auto& [name, amount] : amounts) {
      if (name == "cpu" || name == "memory" || name == "ephemeral-storage" || amount == 0) continue;
      if (!is_extended(name) || amount > 10'000)
        fail(spec_, "the resource '" + base::shown(name) + "' cannot be requested", "remove it");
      devices_.push_back(fmt::format("name = {}, count = {}", toml_text(name), whole(amount)));
    }
  }

  void read_tolerations() {
    std::set<std::pair<std::string, std::string>> tolerated;  // key and effect, "" stands for all
    for (const YamlNode& toleration : spec_["tolerations"].items) {
      const std::string key = toleration["key"].text, op = toleration["operator"].text;
      if (!op.empty() && op != "Equal" && op != "Exists")
        fail(toleration, "the toleration's operator cannot be expressed", "use Exists or Equal");
      if (op != "Exists") findings_.note("tolerations hold for every value of a taint's key");
      tolerated.emplace(key, toleration["effect"].text);
    }
    for (const auto& [key, effect] : facts_.taints) {
      const bool may = tolerated.contains({key, effect}) || tolerated.contains({key, ""}) ||
                       tolerated.contains({"", effect}) || tolerated.contains({"", ""});
      if (!may) constraints_.push_back(rule(fmt::format("${{attr.taint.{}.{}}}", key, effect), "is_not_set", ""));
    }
  }

  /// The name that the workload gives the node `name`.
  std::string own_name(const std::string& key, const std::string& name) const {
    if (attribute_of(key) != "${node.unique.name}") return name;
    const auto& names = key == "metadata.name" ? facts_.names : facts_.hostnames;
    const auto known = names.find(name);
    return known == names.end() ? name : known->second;
  }

  /// A node selector's requirement as rules; nullopt: it has no equal among constraints.
  std::optional<std::vector<std::string>> rules_of(const std::string& key, const std::string& op,
                                                   std::vector<std::string> values) const {
    if (!is_label_key(key)) return std::nullopt;
    const std::string attribute = attribute_of(key);
    for (std::string& value : values) value = own_name(key, value);
    if (op == "Exists") return std::vector{rule(attribute, "is_set", "")};
    if (op == "DoesNotExist") return std::vector{rule(attribute, "is_not_set", "")};
    if (values.empty()) return std::nullopt;
    if (op == "Gt") return std::vector{rule(attribute, ">", values.front())};
    if (op == "Lt") return std::vector{rule(attribute, "<", values.front())};
    if (op == "In" && values.size() == 1) return std::vector{rule(attribute, "=", values.front())};
    if (op == "In") return std::vector{rule(attribute, "set_contains_any", base::join(values, ","))};
    if (op != "NotIn") return std::nullopt;
    std::vector<std::string> out;
    for (const std::string& value : values) out.push_back(rule(attribute, "!=", value));
    return out;
  }

  static std::vector<std::string> values_of(const YamlNode& requirement) {
    std::vector<std::string> out;
    for (const YamlNode& value : requirement["values"].items) out.push_back(value.text);
    return out;
  }

  void require(const std::string& key, const std::string& op, const std::vector<std::string>& values,
               const YamlNode& at) {
    const auto rules = rules_of(key, op, values);
    if (!rules)
      fail(at, fmt::format("the requirement '{} {}' cannot be expressed", base::shown(key), base::shown(op)),
           "use In, NotIn, Exists, DoesNotExist, Gt or Lt, and values");
    else
      constraints_.insert(constraints_.end(), rules->begin(), rules->end());
  }

  void read_node_affinity(const YamlNode& affinity) {
    const YamlNode& terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    if (terms.items.size() > 1)
      fail(terms, "one of several nodeSelectorTerms has to hold, and all constraints of a job do",
           "keep one term; one requirement may have several values");
    for (const YamlNode& term : terms.items)
      for (const char* list : {"matchExpressions", "matchFields"})
        for (const YamlNode& requirement : term[list].items)
          require(requirement["key"].text, requirement["operator"].text, values_of(requirement), requirement);
    for (const YamlNode& preferred : affinity["preferredDuringSchedulingIgnoredDuringExecution"].items)
      for (const YamlNode& requirement : preferred["preference"]["matchExpressions"].items) {
        const std::string op = requirement["operator"].text;
        const auto rules = rules_of(requirement["key"].text, op, values_of(requirement));
        if (!rules || op == "Exists" || op == "DoesNotExist") {
          findings_.note("preferences for nodes that have, or lack, a label are left out");
          continue;
        }
        const std::int64_t weight = base::parse_int64(preferred["weight"].text).value_or(1);
        for (const std::string& each : *rules)
          affinities_.push_back(fmt::format("{}, weight = {}", each, std::clamp<std::int64_t>(weight, 1, 100)));
      }
  }

  /// Whether the selector selects pods with this pod's own labels.
  bool selects_itself(const YamlNode& selector) const {
    for (const auto& [key, value] : selector["matchLabels"].members) {
      const auto own = labels_.find(key);
      if (own == labels_.end() || own->second != value.text) return false;
    }
    for (const YamlNode& requirement : selector["matchExpressions"].items) {
      const auto own = labels_.find(requirement["key"].text);
      const auto values = values_of(requirement);
      const std::string op = requirement["operator"].text;
      const bool present = own != labels_.end();
      const bool named = present && std::find(values.begin(), values.end(), own->second) != values.end();
      const bool holds = op == "In" ? named : op == "NotIn" ? !named : op == "Exists" ? present : !present;
      if (!holds) return false;
    }
    return selector.kind != YamlNode::Kind::none;
  }

  /// Fields that widen or narrow the pods that a term means.
  void note_reach(const YamlNode& term) {
    for (const char* field : {"namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys"})
      if (term.has(field))
        findings_.note(
            fmt::format("the field '{}' of terms is left out: a term means the pods of one createPods", field));
  }

  void read_pod_affinity(const YamlNode& affinity) {
    for (const YamlNode& term : affinity["requiredDuringSchedulingIgnoredDuringExecution"].items) {
      note_reach(term);
      const std::string key = term["topologyKey"].text;
      if (!selects_itself(term["labelSelector"]) || attribute_of(key) == "${node.unique.name}" || !is_label_key(key) ||
          !gang_topology_.empty()) {
        fail(term, "the required affinity to other pods cannot be expressed",
             "use preferredDuringScheduling..., or choose another workload");
        continue;
      }
      gang_topology_ = "same:attr." + key;
      out_.together = true;
      out_.body += fmt::format("gang = true\ngang_topology = {}\n", toml_text(gang_topology_));
      findings_.note("pods that require each other's zone start together or not at all (a gang)");
    }
    if (!affinity["preferredDuringSchedulingIgnoredDuringExecution"].items.empty())
      findings_.note("preferences for nodes near other pods are left out");
  }

  void read_pod_anti_affinity(const YamlNode& affinity) {
    for (const YamlNode& term : affinity["requiredDuringSchedulingIgnoredDuringExecution"].items) {
      note_reach(term);
      const std::string key = term["topologyKey"].text;
      if (!selects_itself(term["labelSelector"]) || !is_label_key(key)) {
        fail(term, "the required anti-affinity to other pods cannot be expressed",
             "use preferredDuringScheduling..., or choose another workload");
        continue;
      }
      out_.together = true;
      if (attribute_of(key) == "${node.unique.name}")
        distinct_hosts_ = true;
      else
        constraints_.push_back(rule(attribute_of(key), "distinct_property", "1"));
      findings_.note("pods of one createPods exclude each other, but not those of another one");
    }
    for (const YamlNode& preferred : affinity["preferredDuringSchedulingIgnoredDuringExecution"].items) {
      const YamlNode& term = preferred["podAffinityTerm"];
      note_reach(term);
      const std::string key = term["topologyKey"].text;
      if (!selects_itself(term["labelSelector"]) || !is_label_key(key)) {
        findings_.note("preferences for nodes away from other pods are left out");
        continue;
      }
      out_.together = true;  // on other nodes: Nomad's anti-affinity within a job
      if (attribute_of(key) != "${node.unique.name}") add_spread(key, 50);
      findings_.note("pods of one createPods avoid each other as allocations of one job do, at Nomad's weights");
    }
  }

  void add_spread(const std::string& key, int weight) {
    spreads_.push_back(fmt::format("attribute = {}, weight = {}", toml_text(attribute_of(key)), weight));
  }

  void read_spread(const YamlNode& spread) {
    const std::string key = spread["topologyKey"].text;
    const bool required = spread["whenUnsatisfiable"].text != "ScheduleAnyway";
    if (!selects_itself(spread["labelSelector"]) || !is_label_key(key)) {
      if (required)
        fail(spread, "a spread over pods other than its own cannot be expressed",
             "use whenUnsatisfiable: ScheduleAnyway");
      findings_.note("spreads over pods other than their own are left out");
      return;
    }
    out_.together = true;
    for (const char* field : {"matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"})
      if (spread.has(field)) findings_.note(fmt::format("the field '{}' of spreads is left out", field));
    add_spread(key, required ? 100 : 50);
    if (required) findings_.note("DoNotSchedule is a preference (a spread of weight 100): maxSkew may be exceeded");
  }

  const YamlFile& file_;
  const NodeFacts& facts_;
  Findings& findings_;
  const YamlNode& spec_;
  PodTemplate out_;
  std::map<std::string, std::string> labels_;
  std::string gang_topology_;
  bool distinct_hosts_ = false;
  std::vector<std::string> constraints_, affinities_, spreads_, devices_;
};

void read_taints(const YamlFile& file, NodeTemplate& out, NodeFacts& facts, Findings& findings) {
  for (const YamlNode& taint : file.root["spec"]["taints"].items) {
    const std::string key = taint["key"].text, effect = taint["effect"].text;
    if (effect == "PreferNoSchedule") {
      findings.note("taints with PreferNoSchedule are left out");
      continue;
    }
    if (!is_label_key(key)) findings.fail(file.path, taint.line, "the taint has no 'key'", "write e.g. key: dedicated");
    if (effect != "NoSchedule" && effect != "NoExecute")
      findings.fail(file.path, taint.line, "the taint has no such 'effect'",
                    "write NoSchedule, NoExecute or PreferNoSchedule");
    out.attributes[fmt::format("taint.{}.{}", key, effect)] = {taint["value"].text};
    facts.taints.emplace(key, effect);
    if (facts.taints.size() > kMaxTaints)
      return findings.fail(file.path, taint.line, fmt::format("the nodes have more than {} taints", kMaxTaints),
                           "use fewer keys");
  }
}

}  // namespace

void Findings::fail(const std::string& path, std::size_t line, std::string problem, std::string remedy) {
  if (!error) error = InputError{path, line == 0 ? "" : std::to_string(line), std::move(problem), std::move(remedy)};
}

void Findings::check_shape(const YamlFile& file, const YamlNode& shape) {
  if (!error) error = shape_error(file.root, shape, file.path);
}

void Findings::note(const std::string& text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

std::string toml_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + '"';
}

std::optional<double> kubernetes_quantity(const std::string& text) {
  static const std::map<std::string, double, std::less<>> kUnits = {
      {"", 1},        {"n", 1e-9},   {"u", 1e-6}, {"m", 1e-3},  {"k", 1e3},        {"M", 1e6},           {"G", 1e9},
      {"T", 1e12},    {"P", 1e15},   {"E", 1e18}, {"Ki", 1024}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 0x1p40},
      {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  std::size_t end = text.find_first_not_of("0123456789.+-");
  if (end != std::string::npos && (text[end] == 'e' || text[end] == 'E') && end + 1 < text.size())
    end = text.find_first_not_of("0123456789+-", end + 1);
  if (end == std::string::npos) end = text.size();
  const auto unit = kUnits.find(text.substr(end));
  const auto number = base::parse_double(text.substr(0, end));
  if (unit == kUnits.end() || !number || !std::isfinite(*number)) return std::nullopt;
  return *number * unit->second;
}

NodeTemplate node_template(const YamlFile& file, NodeFacts& facts, Findings& findings) {
  NodeTemplate out;
  const YamlNode &meta = file.root["metadata"], &spec = file.root["spec"], &status = file.root["status"];
  if (file.root["kind"].text != "Node")
    findings.fail(file.path, file.root.line, "is not a Node", "name a file with kind: Node");
  findings.check_shape(file, node_shape());
  if (is_true(spec["unschedulable"]))
    findings.fail(file.path, spec["unschedulable"].line, "the node is unschedulable", "leave such nodes out");
  out.name = meta["name"].text;
  for (const auto& [key, value] : meta["labels"].members) {
    if (!is_label_key(key))
      findings.fail(file.path, value.line, "a label's key has other characters", "use a-z A-Z 0-9 - _ . /");
    if (key == "kubernetes.io/hostname")
      out.hostname = value.text;
    else
      out.attributes[key] = {value.text};
  }
  read_taints(file, out, facts, findings);
  Amounts amounts;
  add_amounts(file, status[status.has("allocatable") ? "allocatable" : "capacity"], amounts, findings);
  const double cpu = amounts["cpu"] * 1000, memory = std::floor(amounts["memory"] / kMiB);
  if (cpu < 1 || memory < 1 || cpu > 4'096'000 || memory > kMaxAmountOfNode)
    findings.fail(file.path, file.root.line, "the node has no cpu and memory, or too much", "set status.allocatable");
  const std::int64_t cores = std::max<std::int64_t>(1, whole(cpu / 1000));
  out.body =
      fmt::format("cores = {}\nmhz_per_core = 1000\nreserved_cpu_mhz = {}\nmemory_mb = {}\nreserved_ports = \"\"\n",
                  cores, cores * 1000 - static_cast<std::int64_t>(cpu + 1e-6), static_cast<std::int64_t>(memory));
  const double disk = amounts["ephemeral-storage"] / kMiB;
  out.body += fmt::format("disk_mb = {}\n", disk == 0 ? kUnlimitedMb : static_cast<std::int64_t>(std::min(disk, 1e9)));
  if (amounts.contains("pods")) findings.note("the number of pods per node is not limited");
  std::vector<std::string> devices;
  for (const auto& [name, amount] : amounts) {
    if (!is_extended(name) || amount < 1) continue;
    if (amount > 10'000)
      findings.fail(file.path, status.line, "the node has more than 10,000 of '" + base::shown(name) + "'",
                    "write at most 10000, and divide what pods request by the same");
    else
      devices.push_back(fmt::format("name = {}, count = {}", toml_text(name + "/any"), static_cast<int>(amount)));
  }
  if (!devices.empty()) out.body += fmt::format("devices = [{{ {} }}]\n", base::join(devices, " }, { "));
  return out;
}

PodTemplate pod_template(const YamlFile& file, const NodeFacts& facts,
                         const std::map<std::string, std::int64_t>& priority_classes, Findings& findings) {
  return PodReader(file, facts, findings).read(priority_classes);
}

}  // namespace berth::sim
