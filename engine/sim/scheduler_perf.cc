#include "sim/scheduler_perf.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/edit_distance.h"
#include "base/text.h"
#include "io/files.h"
#include "sim/kubernetes_objects.h"
#include "sim/kubernetes_shapes.h"
#include "sim/yaml_shape.h"

namespace berth::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxFileBytes = 4 << 20, kMaxExpandedBytes = 256 << 20, kMaxCount = 10'000'000;
constexpr std::size_t kMaxKinds = 10'000;
constexpr const char* kTooLarge = "the templates expand to more than 256 MiB";

/// Whether names in workload files may have the character, apart from dots.
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

using Parameters = std::map<std::string, std::string>;

Result<std::string> read_text(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && (!S_ISREG(info.st_mode) || info.st_size > kMaxFileBytes))
    return tl::unexpected(InputError{path, "", "is no file below 4 MiB", "name a YAML file"});
  return io::read_file(path);
}

/// Go's template actions in a text: {{.NAME}} and {{DivideInt A B}}, where A and B are .NAME or numbers.
class Expander {
 public:
  Expander(const std::string& path, const std::string& text, Findings& findings)
      : path_(path), text_(text), findings_(findings) {}
  [[nodiscard]] bool is_constant() const { return text_.find("{{") == std::string::npos; }

  std::string expand(const Parameters& parameters) {
    std::string out;
    std::size_t at = 0;
    for (;;) {
      const std::size_t begin = text_.find("{{", at);
      out += text_.substr(at, begin - at);
      if (begin == std::string::npos) return out;
      const std::size_t end = text_.find("}}", begin);
      const std::string action = text_.substr(begin + 2, end == std::string::npos ? 0 : end - begin - 2);
      const auto value = end == std::string::npos ? std::nullopt : value_of(action, parameters);
      if (!value) {
        const auto line = static_cast<std::size_t>(
            std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n') + 1);
        findings_.fail(path_, line, "the template action '" + base::shown(action) + "' has no value",
                       "use {{.NAME}} of templateParams, {{.Index}} or {{DivideInt .NAME .NAME}}");
        return out;
      }
      out += *value;
      at = end + 2;
      if (out.size() > static_cast<std::size_t>(kMaxFileBytes)) {
        findings_.fail(path_, 0, "expands to more than 4 MiB", "use shorter values of templateParams");
        return out;
      }
    }
  }

 private:
  static std::optional<std::string> operand(std::string_view word, const Parameters& parameters) {
    if (!word.starts_with(".")) return std::string(word);
    const auto found = parameters.find(std::string(word.substr(1)));
    return found == parameters.end() ? std::nullopt : std::optional(found->second);
  }

  static std::optional<std::string> value_of(const std::string& action, const Parameters& parameters) {
    std::vector<std::string_view> words;
    for (const std::string_view word : base::split(base::trim_space(action), ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() == 1 && words[0].starts_with(".")) return operand(words[0], parameters);
    if (words.size() != 3 || words[0] != "DivideInt") return std::nullopt;
    const auto a = operand(words[1], parameters), b = operand(words[2], parameters);
    const auto x = base::parse_int64(a.value_or("")), y = base::parse_int64(b.value_or(""));
    if (!x || !y || *y <= 0) return std::nullopt;
    return std::to_string(*x / *y);
  }

  const std::string& path_;
  const std::string& text_;
  Findings& findings_;
};

/// Jobs of one kind, as they appear in the workload.
struct Jobs {
  std::string name;
  PodTemplate pod;
  std::int64_t jobs = 0, count = 1;
  int phase = 0;
  bool mixed = false;  ///< arrives mixed with others of its phase, as a share of their number
};

struct PodGroup {
  std::int64_t members_min = 0;  ///< 0: its pods are independent
  std::string topology;
};

/// Plays the operations of one workload.
class Player {
 public:
  Player(const std::string& path, const YamlNode& test, const YamlNode& workload)
      : path_(path), test_(test), workload_(workload) {}

  Result<PerfWorkload> play(const std::string& label) {
    findings_.note("a pod is a batch job with one task, and all pods of one operation are registered at one instant");
    check_shape(test_, test_case_shape());
    check_shape(workload_, perf_workload_shape());
    for (const YamlNode& op : test_["workloadTemplate"].items)
      if (op["opcode"].text == "createNodes" && is_operation(op)) create_nodes(op);
    for (const YamlNode& op : test_["workloadTemplate"].items) {
      perform(op);
      if (findings_.error) return tl::unexpected(*findings_.error);
    }
    add_churn();
    if (shapes_.empty()) findings_.fail(path_, test_.line, "the test case creates no nodes", "add createNodes");
    if (jobs_.empty()) findings_.fail(path_, test_.line, "the test case creates no pods", "add createPods");
    const std::string text = to_toml(label);
    if (findings_.error) return tl::unexpected(*findings_.error);
    return PerfWorkload{text, dotted(label), label, {templates_.begin(), templates_.end()}};
  }

  static std::string dotted(std::string text) {
    for (char& c : text)
      if (!is_word(c)) c = '.';
    return text.substr(0, 100);
  }

 private:
  void fail(const YamlNode& at, std::string problem, std::string remedy) {
    findings_.fail(path_, at.line, std::move(problem), std::move(remedy));
  }

  /// The value of a text that may be a parameter, such as $initPods.
  std::string value_of(const YamlNode& node) {
    if (!node.text.starts_with("$")) return node.text;
    const YamlNode& value = workload_["params"][node.text.substr(1)];
    if (value.kind != YamlNode::Kind::text)
      fail(node, "the workload has no parameter '" + base::shown(node.text.substr(1)) + "'", "add it to its params");
    return value.text;
  }

  std::int64_t count_of(const YamlNode& op) {
    const bool given = op.has("countParam");  // then it replaces the count
    std::int64_t out = 1;
    for (const char* key : {given ? "countParam" : "count", "countMultiplierParam"}) {
      const YamlNode& node = op[key];
      if (node.kind == YamlNode::Kind::none) continue;
      const auto number = base::parse_int64(value_of(node));
      if (!number || *number < 0 || *number > kMaxCount || out * *number > kMaxCount) {
        fail(node, fmt::format("'{}' is no number up to 10,000,000", key), "correct it");
        return 0;
      }
      out *= *number;
    }
    if (!op.has("count") && !given) fail(op, "the operation has no 'count'", "add count or countParam");
    return out;
  }

  std::string resolved(const std::string& name) const {
    return (fs::path(path_).parent_path() / name).lexically_normal();
  }

  /// Calls `use(file)` with the template for each index below `count`, or once with all if it does not depend on it.
  template <class Use>
  void for_each_object(const YamlNode& path, const YamlNode& op, std::int64_t count, const Use& use) {
    const std::string file = resolved(path.text);
    const auto text = read_text(file);
    if (!text)
      return fail(path, fmt::format("{}: {}", base::shown(path.text), text.error().problem), text.error().remedy);
    templates_.insert(file);
    Expander expander(file, *text, findings_);
    Parameters parameters;
    for (const auto& [name, value] : op["templateParams"].members) parameters[name] = value_of(value);
    const bool constant = expander.is_constant();
    const std::int64_t times = constant ? 1 : count;
    charge(path, text->size());
    if (expanded_bytes_ + times * static_cast<std::int64_t>(text->size()) > kMaxExpandedBytes)
      return fail(path, kTooLarge, "lower the count");
    for (std::int64_t i = 0; i < times && !findings_.error; ++i) {
      parameters["Index"] = std::to_string(i);
      const std::string expanded = expander.expand(parameters);
      charge(path, expanded.size());
      if (findings_.error) return;
      auto root = parse_yaml(expanded, file);
      if (!root) return findings_.fail(file, 0, root.error().place + ": " + root.error().problem, root.error().remedy);
      use(YamlFile{file, std::move(*root)}, constant ? count : 1);
    }
  }

  /// Counts what is read and made of templates, so that time and memory are bounded.
  void charge(const YamlNode& at, std::size_t bytes) {
    expanded_bytes_ += static_cast<std::int64_t>(bytes);
    if (expanded_bytes_ > kMaxExpandedBytes) fail(at, kTooLarge, "lower the count");
  }

  void create_nodes(const YamlNode& op) {
    const std::int64_t count = count_of(op);
    if (op.has("uniqueNodeLabelStrategy"))
      fail(op["uniqueNodeLabelStrategy"], "'uniqueNodeLabelStrategy' cannot be expressed", "remove it");
    const YamlNode& strategy = op["labelNodePrepareStrategy"];
    const YamlNode& values = strategy["labelValues"];
    const std::string key = strategy["labelKey"].text;
    if (strategy.kind != YamlNode::Kind::none && (key.empty() || values.items.empty()))
      return fail(strategy, "the strategy has no labelKey or no labelValues", "add them");
    const std::size_t before = shapes_.size();
    std::size_t index = 0;  // of the node in this operation
    const auto add = [&](const YamlFile& file, std::int64_t nodes) {
      NodeTemplate kind = node_template(file, facts_, findings_);
      if (!values.items.empty()) {
        std::vector<std::string>& own = kind.attributes[key];
        own.clear();
        if (nodes == 1)
          own.push_back(values.items[index % values.items.size()].text);
        else
          for (const YamlNode& value : values.items) own.push_back(value.text);
      }
      index += static_cast<std::size_t>(nodes);
      name_node(file, kind, nodes);
      add_shape(kind, nodes, before);
    };
    if (op.has("nodeAllocatableStrategy")) findings_.note("limits of volumes per node are left out");
    if (op.has("nodeTemplatePath")) return for_each_object(op["nodeTemplatePath"], op, count, add);
    static const char* const kDefault =
        "kind: Node\nstatus: {capacity: {cpu: '4', memory: 32Gi, pods: '110'}}";  // scheduler_perf's own
    if (const auto root = parse_yaml(kDefault, path_)) add({path_, *root}, count);
  }

  void name_node(const YamlFile& file, const NodeTemplate& kind, std::int64_t nodes) {
    if (nodes == 0) return;
    const std::string own = fmt::format("node-{}", nodes_);
    const std::string& host = kind.hostname.empty() ? kind.name : kind.hostname;
    for (const auto& [name, names] : {std::pair(&kind.name, &facts_.names), std::pair(&host, &facts_.hostnames)})
      if (!name->empty() && (nodes > 1 || !names->emplace(*name, own).second))
        findings_.fail(file.path, file.root["metadata"].line,
                       "several nodes have the name or hostname '" + base::shown(*name) + "'",
                       "use generateName, or {{.Index}} in the name");
  }

  /// `first`: the first kind of nodes of the operation. The values of labels begin again in each.
  void add_shape(const NodeTemplate& kind, std::int64_t nodes, std::size_t first) {
    std::string text = kind.body;
    std::size_t variants = 1;
    for (const auto& [key, values] : kind.attributes) {
      std::vector<std::string> quoted;
      for (const std::string& value : values) quoted.push_back(toml_text(value));
      variants = std::max(variants, values.size());
      text += fmt::format("attributes.{} = [{}]\n", toml_text(key), base::join(quoted, ", "));
    }
    text += fmt::format("variants = {}\n", variants);
    nodes_ += nodes;
    if (nodes == 0) return;
    if (!shapes_.empty() && shapes_.back().first == text && (variants == 1 || shapes_.size() > first))
      shapes_.back().second += nodes;
    else
      shapes_.emplace_back(text, nodes);
    if (shapes_.size() > kMaxKinds)
      findings_.fail(path_, test_.line, "the nodes differ in more than 10,000 ways", "use fewer label values");
  }

  void perform(const YamlNode& op) {
    const std::string code = op["opcode"].text;
    if (!is_operation(op)) return;
    if (code == "createPods") return create_pods(op, "", op);
    if (code == "createPodSets") return create_pod_sets(op);
    if (code == "createPodGroups") return create_pod_groups(op);
    if (code == "createAny") return create_any(op);
    if (code == "churn") return churns_.push_back(&op);
  }

  /// Whether the operation has an equal and only fields that it can have.
  bool is_operation(const YamlNode& op) {
    const std::string code = op["opcode"].text;
    const YamlNode* shape = operation_shape(code);
    if (!shape)
      fail(op, "the operation '" + base::shown(code) + "' cannot be expressed",
           "remove it, or choose another workload");
    else
      check_shape(op, *shape);
    return !findings_.error;
  }

  void check_shape(const YamlNode& node, const YamlNode& shape) {
    if (!findings_.error) findings_.error = shape_error(node, shape, path_);
  }

  void create_pod_sets(const YamlNode& op) {
    const std::int64_t spaces = count_of(op);
    const YamlNode& inner = op["createPodsOp"];
    if (inner["opcode"].text != "createPods")
      return fail(op, "the operation has no createPodsOp with the opcode createPods", "add it");
    if (!is_operation(inner)) return;
    if (spaces > 1000) return fail(op, "more than 1,000 sets of pods", "lower the count");
    for (std::int64_t i = 0; i < spaces && !findings_.error; ++i)
      create_pods(inner, fmt::format("{}-{}", op["namespacePrefix"].text, i), op);
  }

  void create_pods(const YamlNode& op, const std::string& space, const YamlNode& at) {
    for (const char* key : {"steadyState", "steadyStateParam", "duration", "durationParam"})
      if (op.has(key)) fail(op[key], fmt::format("'{}' cannot be expressed", key), "remove it");
    if (op.has("persistentVolumeTemplatePath") || op.has("persistentVolumeClaimTemplatePath"))
      findings_.note("volumes of pods are left out");
    const std::int64_t count = count_of(op);
    for (const std::string& name : {space, op["namespace"].text})
      if (!name.empty() && dotted(name) != name)
        fail(at, "'" + base::shown(name) + "' is no namespace", "use 1 to 100 of a-z A-Z 0-9 - _ .");
    const bool measured = is_true(op["collectMetrics"]);
    (measured ? measured_ : unmeasured_) += count;
    if (measured) measured_phase_ = phase_;
    const YamlNode& own = op["podTemplatePath"];
    const YamlNode& path = own.kind != YamlNode::Kind::none ? own : test_["defaultPodTemplatePath"];
    if (path.kind == YamlNode::Kind::none)
      return fail(at, "the operation has no template of a pod", "add podTemplatePath or defaultPodTemplatePath");
    std::map<std::string, Jobs> single;                                  // by what they are
    std::map<std::string, std::pair<PodTemplate, std::int64_t>> groups;  // by pod group
    for_each_object(path, op, count, [&](const YamlFile& file, std::int64_t pods) {
      PodTemplate pod = pod_template(file, facts_, classes_, findings_);
      pod.space = !space.empty() ? space : op.has("namespace") ? op["namespace"].text : pod.space;
      charge(path, pod.body.size());
      if (!pod.group.empty()) {
        auto& [first, members] = groups.try_emplace(pod.group, pod, 0).first->second;
        members += pods;
        if (what(first) != what(pod))
          fail(at, "members of the pod group '" + base::shown(pod.group) + "' differ",
               "give them the same requests, rules, namespace and priority");
        return;
      }
      auto& jobs = single[what(pod)];
      jobs.pod = std::move(pod);
      jobs.jobs += pods;
    });
    for (auto& [key, jobs] : single) {
      if (jobs.pod.together) jobs.count = std::exchange(jobs.jobs, 1);
      add_jobs(std::move(jobs), measured);
    }
    add_groups(at, groups, measured);
    if (!is_true(op["skipWaitToCompletion"])) ++phase_;
  }

  /// What jobs of one kind have in common.
  static std::string what(const PodTemplate& pod) {
    return fmt::format("{}{} {} {}", pod.body, pod.space, pod.priority, pod.together);
  }

  void add_groups(const YamlNode& at, const std::map<std::string, std::pair<PodTemplate, std::int64_t>>& groups,
                  bool measured) {
    std::map<std::string, Jobs> alike;
    for (const auto& [name, members] : groups) {
      const auto group = groups_.find(name);
      if (group == groups_.end())
        return fail(at, "no pod group '" + base::shown(name) + "' was created before", "add createPodGroups");
      Jobs jobs{"", members.first, 1, members.second};
      if (group->second.members_min != 0)
        jobs.pod.body += "gang = true\n";
      else if (!jobs.pod.together)
        std::swap(jobs.jobs, jobs.count);
      if (group->second.members_min != 0 && group->second.members_min != members.second)
        findings_.note("a gang starts whole, with all its pods, not with minCount of them");
      if (!group->second.topology.empty())
        jobs.pod.body += fmt::format("gang_topology = {}\n", toml_text("same:attr." + group->second.topology));
      jobs.pod.group.clear();
      Jobs& same = alike[fmt::format("{}{}{} {}", jobs.pod.body, jobs.pod.space, jobs.pod.priority, jobs.count)];
      const std::int64_t before = same.jobs;
      same = std::move(jobs);
      same.jobs += before;
    }
    for (auto& [key, jobs] : alike) add_jobs(std::move(jobs), measured);
  }

  void add_jobs(Jobs jobs, bool measured) {
    if (jobs.jobs == 0 || jobs.count == 0) return;
    jobs.name = fmt::format("{}-{}", measured ? "measured" : "pods", jobs_.size());
    jobs.phase = phase_;
    jobs_.push_back(std::move(jobs));
    if (jobs_.size() > kMaxKinds)
      findings_.fail(path_, test_.line, "more than 10,000 kinds of pods", "lower the counts");
  }

  void create_pod_groups(const YamlNode& op) {
    for_each_object(op["templatePath"], op, count_of(op), [&](const YamlFile& file, std::int64_t) {
      const YamlNode& spec = file.root["spec"];
      PodGroup group;
      findings_.check_shape(file, pod_group_shape());
      if (const YamlNode& gang = spec["schedulingPolicy"]["gang"]; gang.kind != YamlNode::Kind::none) {
        group.members_min = base::parse_int64(gang["minCount"].text).value_or(0);
        if (group.members_min < 1 || group.members_min > kMaxCount)
          findings_.fail(file.path, gang.line, "'minCount' is no number from 1 to 10,000,000", "correct it");
      }
      const YamlNode& topology = spec["schedulingConstraints"]["topology"];
      if (topology.items.size() > 1 || (!topology.items.empty() && group.members_min == 0) ||
          spec.has("parentCompositePodGroupName"))
        findings_.fail(file.path, spec.line, "the pod group's constraints cannot be expressed",
                       "keep one topology of a gang");
      if (!topology.items.empty()) group.topology = topology.items[0]["key"].text;
      groups_[file.root["metadata"]["name"].text] = group;
    });
  }

  void create_any(const YamlNode& op) {
    const std::int64_t count = op.has("count") || op.has("countParam") ? count_of(op) : 1;
    for_each_object(op["templatePath"], op, count, [&](const YamlFile& file, std::int64_t) {
      const std::string kind = file.root["kind"].text;
      if (kind == "PriorityClass") {
        findings_.check_shape(file, priority_class_shape());
        const auto value = base::parse_int64(file.root["value"].text);
        if (!value) findings_.fail(file.path, file.root.line, "the PriorityClass has no 'value'", "write e.g. 1000");
        classes_[file.root["metadata"]["name"].text] = value.value_or(0);
      } else if (kind == "Namespace" || kind == "Service" || kind == "Secret" || kind == "ConfigMap")
        findings_.note("objects without influence on placement are left out: " + kind);
      else
        fail(op, "objects of the kind '" + base::shown(kind) + "' cannot be expressed", "remove the operation");
    });
  }

  /// Pods that come at intervals while the measured ones are scheduled: as many as in the time that the threshold
  /// allows.
  void add_churn() {
    const double rate = threshold();
    for (const YamlNode* op : churns_) {
      const std::int64_t times = churn_times(*op, rate);
      if (findings_.error) return;
      if (times == 0)
        findings_.note(
            rate <= 0
                ? "churn is left out: how often it happens depends on the scheduler's time, and there is no threshold"
            : measured_ == 0 ? "churn is left out: no createPods has collectMetrics"
                             : "churn is left out: the measured pods are scheduled before its first interval ends");
      for (const YamlNode& path : (*op)["templatePaths"].items)
        if (times > 0)
          for_each_object(path, *op, 1, [&](const YamlFile& file, std::int64_t) { add_churn_of(file, *op, times); });
    }
  }

  /// How often each template of the operation is made into an object.
  std::int64_t churn_times(const YamlNode& op, double rate) {
    const std::string mode = op["mode"].text;
    const std::int64_t number = base::parse_int64(op["number"].text).value_or(0);  // 0: no limit
    std::int64_t interval_ms = base::parse_int64(op["intervalMilliseconds"].text).value_or(0);
    if (interval_ms == 0) interval_ms = 500;  // scheduler_perf's own
    if (mode != "create" && mode != "recreate") fail(op, "churn has no such 'mode'", "write create or recreate");
    if (number < 0 || number > kMaxCount || (number == 0 && mode == "recreate"))
      fail(op, "churn's 'number' is no number up to 10,000,000, or is 0 with recreate", "correct it");
    if (interval_ms < 0) fail(op, "'intervalMilliseconds' is negative", "write e.g. 500");
    if (findings_.error || rate <= 0) return 0;
    const double ticks = static_cast<double>(measured_) / rate / (static_cast<double>(interval_ms) / 1000);
    if (ticks > static_cast<double>(kMaxCount)) {
      fail(op, "churn happens more than 10,000,000 times in the time that the threshold allows", "raise the interval");
      return 0;
    }
    const auto times = static_cast<std::int64_t>(ticks);
    if (number == 0) return times;
    if (mode == "create") return std::min(times, number);
    return times / (2 * number) * number + std::min(times % (2 * number), number);  // N are made, then N deleted
  }

  void add_churn_of(const YamlFile& file, const YamlNode& op, std::int64_t times) {
    if (file.root["kind"].text != "Pod") return findings_.note("churn of objects other than pods is left out");
    Jobs jobs{fmt::format("churn-{}", jobs_.size()),
              pod_template(file, facts_, classes_, findings_),
              times,
              1,
              measured_phase_,
              true};
    if (!jobs.pod.group.empty()) return fail(op, "churn of pods in pod groups cannot be expressed", "remove it");
    jobs_.push_back(std::move(jobs));
    if (jobs_.size() > kMaxKinds) return fail(op, "more than 10,000 kinds of pods", "use fewer templatePaths");
    findings_.note(fmt::format(
        "churn: about {} pods among the measured ones, as in the time that the threshold allows; none is deleted",
        times));
    for (Jobs& other : jobs_) other.mixed |= other.phase == measured_phase_ && other.count == 1;
  }

  /// Pods per second that Kubernetes' CI accepts at least; 0: none.
  double threshold() {
    const YamlNode& own = workload_.has("threshold") ? workload_["threshold"] : test_["threshold"];
    if (workload_.has("thresholdMetricSelector") || test_.has("thresholdMetricSelector")) return 0;
    const double rate = base::parse_double(own.text).value_or(0);
    if (own.kind != YamlNode::Kind::none && !base::parse_double(own.text))
      fail(own, "'threshold' is no number", "write pods per second");
    return std::isfinite(rate) && rate > 0 && rate <= 1e12 ? rate : 0;
  }

  /// Nomad's priorities for those of the pods: 50 if there is one only; else 10 to 90, at least 10 apart.
  std::map<std::int64_t, int> own_priorities() {
    std::map<std::int64_t, int> out;
    for (const Jobs& jobs : jobs_) out[jobs.pod.priority] = 50;
    if (out.size() > 9)
      findings_.fail(path_, test_.line, fmt::format("the pods have {} priorities", out.size()),
                     "use at most 9: Nomad evicts jobs whose priority is 10 lower, of 100");
    if (out.size() < 2 || out.size() > 9) return out;
    std::string note;
    int level = 0;
    for (auto& [theirs, own] : out) {
      own = 10 + 80 * level++ / static_cast<int>(out.size() - 1);
      note += fmt::format("{}{} is {}", note.empty() ? "" : ", ", theirs, own);
    }
    findings_.note("priorities: " + note);
    return out;
  }

  std::string to_toml(const std::string& label) {
    const auto priorities = own_priorities();
    if (measured_ > 0 && unmeasured_ > 0)
      findings_.note(
          fmt::format("rates are of all pods; those of scheduler_perf are of the {} measured ones", measured_));
    if (test_.has("schedulerConfigPath")) findings_.note("the scheduler's configuration file is not read");
    std::int64_t counted = 0;
    for (const Jobs& jobs : jobs_) counted += jobs.mixed ? jobs.jobs : 0;
    std::string name = Player::dotted(fs::path(path_).stem().string());
    std::string out =
        fmt::format("name = {}\ndescription = {}\nlabels = [{}]\n", toml_text(name.empty() ? "scheduler-perf" : name),
                    toml_text(label + " of Kubernetes' scheduler_perf"), toml_text(dotted(label)));
    std::vector<std::string> notes;
    for (const std::string& note : findings_.notes) notes.push_back(toml_text(note));
    out += fmt::format("approximate = [{}]\n", base::join(notes, ", "));
    if (priorities.size() > 1) out += "preemption.batch = true\n";
    if (counted > 0) out += "arrivals = { process = \"fixed\", rate_per_s = 1e6 }\n";
    if (const double rate = threshold(); rate > 0)
      out += fmt::format("peer = {{ system = \"kube-scheduler\", value = {}, unit = \"placements/s\", source = {} }}\n",
                         rate, toml_text("threshold of " + label + " in " + path_));
    out += "[cluster]\n";
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      out += fmt::format("[[cluster.shapes]]\nname = \"nodes-{}\"\nnodes = {}\n{}", i, shapes_[i].second,
                         shapes_[i].first);
    out += "[jobs]\n";
    if (counted > 0) out += fmt::format("count = {}\n", counted);
    for (const Jobs& jobs : jobs_)
      out += fmt::format(
          "[[jobs.mix]]\nname = \"{}\"\ntype = \"batch\"\ntemplates = 1\n{} = {}\ncount = {}\nfrom_s = {}\npriority = "
          "{}\nnamespace = {}\n{}",
          jobs.name, jobs.mixed ? "weight" : "jobs", jobs.jobs, jobs.count, jobs.phase,
          priorities.at(jobs.pod.priority), toml_text(jobs.pod.space.empty() ? "default" : jobs.pod.space),
          jobs.pod.body);
    return out;
  }

  const std::string& path_;
  const YamlNode &test_, &workload_;
  Findings findings_;
  NodeFacts facts_;
  std::set<std::string> templates_;  ///< files
  std::map<std::string, std::int64_t> classes_{{"system-node-critical", 2'000'001'000},
                                               {"system-cluster-critical", 2'000'000'000}};
  std::map<std::string, PodGroup> groups_;
  std::vector<std::pair<std::string, std::int64_t>> shapes_;  ///< text and number of nodes, in the order of rows
  std::vector<Jobs> jobs_;
  std::vector<const YamlNode*> churns_;
  std::int64_t nodes_ = 0, measured_ = 0, unmeasured_ = 0, expanded_bytes_ = 0;
  int phase_ = 0, measured_phase_ = 0;
};

}  // namespace

bool is_scheduler_perf(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

Result<PerfWorkload> workload_of_scheduler_perf(const std::string& path, const std::string& label) {
  const auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  const auto root = parse_yaml(*text, path);
  if (!root) return tl::unexpected(root.error());
  if (root->items.empty())
    return tl::unexpected(
        InputError{path, "", "is no list of test cases", "name a performance-config.yaml of scheduler_perf"});
  std::vector<std::string> names;
  const YamlNode *test = nullptr, *workload = nullptr;
  std::size_t found = 0;
  for (const YamlNode& each : root->items)
    for (const YamlNode& own : each["workloads"].items) {
      if (each["name"].text.size() + own["name"].text.size() > 1000)
        return tl::unexpected(
            InputError{path, std::to_string(own.line), "a name has more than 1,000 letters", "shorten it"});
      names.push_back(each["name"].text + "/" + own["name"].text);
      if (names.back() != label && (label != "full" || names.size() > 1)) continue;
      test = &each, workload = &own;
      if (++found > 1)
        return tl::unexpected(InputError{path, std::to_string(own.line),
                                         "there are two workloads '" + base::shown(names.back()) + "'", "rename one"});
    }
  if (!test || (label == "full" && names.size() > 1)) {
    const std::string near = base::did_you_mean(label, names);
    const std::size_t all = names.size();
    names.resize(std::min<std::size_t>(all, 8));
    for (std::string& name : names) name = base::shown(name);
    return tl::unexpected(InputError{
        path, "",
        label == "full" ? fmt::format("has {} workloads", all) : "there is no workload '" + base::shown(label) + "'",
        near + "use --label with one of: " + base::join(names, ", ") + (all > names.size() ? ", ..." : "")});
  }
  return Player(path, *test, *workload).play((*test)["name"].text + "/" + (*workload)["name"].text);
}

}  // namespace berth::sim
