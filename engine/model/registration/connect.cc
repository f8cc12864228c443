// Additions that Connect makes to a group at registration: proxy tasks of sidecars and gateways, their ports and
// defaults (R-REG-20 to 83). The services themselves stay JSON blocks; validate_connect.cc has the refusals.
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/json_members.h"
#include "base/time.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/job_canonical.h"

namespace berth::model {
namespace {

using base::kSecond;
using json::Value;

/// Turns a text into a variable name: characters other than letters and digits become `_`.
std::string variable_name(std::string text) {
  for (char& c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  return text;
}

using Variables = std::map<std::string, std::string>;

/// Variables that a service's name may refer to (R-REG-22).
Variables name_variables(const Job& job, const TaskGroup& group) {
  Variables out;
  const auto add_meta = [&](const std::map<std::string, std::string>& meta) {
    for (const auto& [key, value] : meta) {
      out["NOMAD_META_" + variable_name(key)] = value;
      out["NOMAD_META_" + upper_case(variable_name(key))] = value;
    }
  };
  add_meta(job.meta), add_meta(group.meta);
  out["NOMAD_GROUP_NAME"] = group.name, out["NOMAD_JOB_ID"] = job.id, out["NOMAD_JOB_NAME"] = job.name;
  if (!job.parent_id->empty()) out["NOMAD_JOB_PARENT_ID"] = *job.parent_id;
  out["NOMAD_REGION"] = *job.region, out["NOMAD_ALLOC_INDEX"] = "0";
  for (const Value& service : group.services.items())
    for (const Value& upstream : service["Connect"]["SidecarService"]["Proxy"]["Upstreams"].items()) {
      const std::string &name = text_at(upstream, "DestinationName"), &address = text_at(upstream, "LocalBindAddress");
      const std::string port = std::to_string(upstream["LocalBindPort"].as_int());
      for (const std::string& spelling : {name, variable_name(name)}) {
        out["NOMAD_UPSTREAM_IP_" + spelling] = address, out["NOMAD_UPSTREAM_PORT_" + spelling] = port;
        out["NOMAD_UPSTREAM_ADDR_" + spelling] = join_host_port(address, port);
      }
    }
  return out;
}

bool is_variable_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/// Replaces every `${V}` for which `variables` has a value; others stay.
std::string interpolate(const std::string& text, const Variables& variables) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "${") == 0) {
      std::size_t end = at + 2;
      while (end < text.size() && is_variable_character(text[end])) ++end;
      const auto known =
          end < text.size() && text[end] == '}' ? variables.find(text.substr(at + 2, end - at - 2)) : variables.end();
      if (known != variables.end()) {
        out += known->second;
        at = end + 1;
        continue;
      }
    }
    out += text[at++];
  }
  return out;
}

/// The part of the proxy task that sidecars and gateways have in common (R-REG-24, 65).
Task envoy_task(std::string name, std::string kind, const char* driver, const char* image) {
  Task task;
  task.name = std::move(name), task.kind = std::move(kind), task.driver = driver;
  Value args = Value::array();
  for (const char* arg : {"-c", "${NOMAD_SECRETS_DIR}/envoy_bootstrap.json", "-l", "${meta.connect.log_level}",
                          "--concurrency", "${meta.connect.proxy_concurrency}", "--disable-hot-restart"})
    args.push(arg);
  task.config.set("image", image);
  task.config.set("args", std::move(args));
  task.resources.emplace();
  task.resources->cpu = 250, task.resources->memory_mb = 128;
  task.log_config = LogConfig{.max_files = 2, .max_file_size_mb = 2};
  task.kill_timeout = task.shutdown_delay = 5 * kSecond;
  task.constraints = {{"${attr.consul.version}", ">= 1.8.0", "semver"}, {"${attr.consul.grpc}", "0", ">"}};
  return task;
}

std::string merge_resources(const Value& block, Resources& into) {
  Resources over;
  if (auto done = from_json(block, over); !done) return done.error().problem;
  for (const auto member : {&Resources::cpu, &Resources::cores, &Resources::memory_mb, &Resources::memory_max_mb,
                            &Resources::disk_mb, &Resources::secrets_mb})
    if (over.*member != 0) into.*member = over.*member;
  if (!over.networks.empty()) into.networks = std::move(over.networks);
  if (!over.devices.empty()) into.devices = std::move(over.devices);
  return "";
}

/// Overlays a service's `SidecarTask` on its proxy task (R-REG-27). Returns what is wrong with the block.
std::string merge_sidecar_task(const Value& block, Task& task) {
  if (!block.is_object()) return "";
  if (const std::string& name = text_at(block, "Name"); !name.empty()) task.name = name;
  if (const std::string& driver = text_at(block, "Driver"); !driver.empty() && driver != task.driver)
    task.driver = driver, task.config = block["Config"];
  else
    json::merge_members(block["Config"].members(), task.config.own());
  if (const std::string& user = text_at(block, "User"); !user.empty()) task.user = user;
  if (const std::string& kill = text_at(block, "KillSignal"); !kill.empty()) task.kill_signal = kill;
  json::merge_members(block["Env"].members(), task.env.own());
  for (const json::Member& entry : block["Meta"].members()) task.meta[entry.key] = entry.value.as_string();
  if (block["Resources"].is_object()) {
    if (!task.resources) task.resources.emplace();
    if (std::string problem = merge_resources(block["Resources"], *task.resources); !problem.empty()) return problem;
  }
  if (block.has("KillTimeout")) task.kill_timeout = block["KillTimeout"].as_int();
  if (block.has("ShutdownDelay")) task.shutdown_delay = block["ShutdownDelay"].as_int();
  if (const Value& logs = block["LogConfig"]; logs.is_object()) {
    if (!task.log_config) task.log_config.emplace();
    if (const std::int64_t files = logs["MaxFiles"].as_int(); files > 0) task.log_config->max_files = files;
    if (const std::int64_t size = logs["MaxFileSizeMB"].as_int(); size > 0) task.log_config->max_file_size_mb = size;
  }
  if (block["VolumeMounts"].is_array()) task.volume_mounts = block["VolumeMounts"];
  if (block["Identities"].is_array()) task.identities = block["Identities"];
  return "";
}

/// A group while Connect is being added. The indexes keep the cost linear in its tasks, ports and services.
class Expansion {
 public:
  Expansion(Job& job, TaskGroup& group, const std::function<std::string()>& new_id)
      : job_(job), group_(group), new_id_(new_id), variables_(name_variables(job, group)) {
    for (std::size_t i = 0; i < group.tasks.size(); ++i) index(i);
    for (const Port& port : group.networks.front().dynamic_ports) labels_.insert(port.label);
  }

  std::string sidecar(Value& service) {
    const std::string name = interpolate(text_at(service, "Name"), variables_);
    service.set("Name", name);
    const Value& connect = std::as_const(service)["Connect"];
    const std::string kind = "connect-proxy:" + name;
    auto known = kinds_.find(kind);
    if (known == kinds_.end()) {
      Task task = envoy_task(free_name("connect-proxy-" + name), kind, driver(), "${meta.connect.sidecar_image}");
      task.lifecycle = Lifecycle{.hook = "prestart", .sidecar = true};
      known = add(std::move(task));
    }
    Task& task = group_.tasks[known->second];
    --names_[task.name], --drivers_[task.driver];
    if (std::string problem = merge_sidecar_task(connect["SidecarTask"], task); !problem.empty()) return problem;
    ++names_[task.name], ++drivers_[task.driver];
    canonicalize_task(job_, group_, task);
    const std::string& label = text_at(connect["SidecarService"], "Port");
    add_dynamic_port(label.empty() ? "connect-proxy-" + name : label);
    return "";
  }

  std::string native(Value& service) {
    NativeTask backing = native_task(group_, tasks_, service);
    if (!backing.task) return std::move(backing.problem);
    Task& task = group_.tasks[static_cast<std::size_t>(backing.task - group_.tasks.data())];
    task.kind = "connect-native:" + text_at(service, "Name");
    service.set("TaskName", task.name);
    return "";
  }

  std::string gateway(Value& service) {
    const std::string name = interpolate(text_at(service, "Name"), variables_);
    service.set("Name", name);
    Value& connect = *service.find("Connect");
    Value& block = *connect.find("Gateway");
    const bool mesh = block["Mesh"].is_object(), ingress = !mesh && block["Ingress"].is_object();
    const std::string prefix = mesh ? "connect-mesh" : ingress ? "connect-ingress" : "connect-terminating";
    const std::string& mode = group_.networks.front().mode;
    if (mesh && text_at(service, "PortLabel").empty()) return "service.port must be set for mesh gateway service";
    fill_gateway_proxy(is_netns(mode), block);
    if (mesh) {  // R-REG-64
      add_dynamic_port("connect-mesh-" + name + "-lan");
    } else if (!ingress && text_at(service, "PortLabel").empty()) {
      service.set("PortLabel", "connect-terminating-" + name);
      add_dynamic_port("connect-terminating-" + name);
    }
    for (const char* kind : {"connect-ingress:", "connect-terminating:", "connect-mesh:"})
      if (kinds_.contains(kind + name)) return "";
    Task task = envoy_task(prefix + "-" + name, prefix + ":" + name, driver(), "${meta.connect.gateway_image}");
    if (mode == "host") task.config.set("network_mode", "host");
    const Value& gateway = std::as_const(service)["Connect"]["Gateway"];
    const Value& tls = gateway["Ingress"]["TLS"];
    if (ingress && (!text_at(tls, "TLSMinVersion").empty() || !text_at(tls, "TLSMaxVersion").empty() ||
                    tls["CipherSuites"].size() > 0))
      task.constraints.push_back({"${attr.consul.version}", ">= 1.11.2", "semver"});
    const Value& over = std::as_const(service)["Connect"]["SidecarTask"];
    if (std::string problem = merge_sidecar_task(over, task); !problem.empty()) return problem;
    canonicalize_task(job_, group_, task);
    add(std::move(task));
    return "";
  }

 private:
  using Index = std::unordered_map<std::string, std::size_t>;

  void index(std::size_t at) {
    const Task& task = group_.tasks[at];
    kinds_.emplace(task.kind, at), tasks_.emplace(task.name, at);
    ++names_[task.name], ++drivers_[task.driver];
  }
  Index::iterator add(Task task) {
    group_.tasks.push_back(std::move(task));
    index(group_.tasks.size() - 1);
    return kinds_.find(group_.tasks.back().kind);
  }
  /// Podman only where the group uses it and not Docker (R-REG-25).
  const char* driver() { return drivers_["podman"] > 0 && drivers_["docker"] == 0 ? "podman" : "docker"; }
  [[nodiscard]] std::string free_name(std::string name) {  // R-REG-26
    return names_[name] > 0 ? name + "-" + new_id_().substr(0, 6) : name;
  }
  void add_dynamic_port(const std::string& label) {  // R-REG-31
    if (labels_.insert(label).second)
      group_.networks.front().dynamic_ports.push_back(Port{.label = label, .to = -1, .host_network = "default"});
  }

  static Value bind_address(const Value& port) {
    Value out = Value::object();
    out.set("Address", "0.0.0.0");
    out.set("Port", port);
    return out;
  }

  /// R-REG-62, 63.
  static void fill_gateway_proxy(bool netns, Value& block) {
    const Value given = block["Proxy"];
    if (given["EnvoyGatewayNoDefaultBind"].as_bool() || given["EnvoyGatewayBindTaggedAddresses"].as_bool() ||
        given["EnvoyGatewayBindAddresses"].size() > 0)
      return;
    Value proxy = Value::object();
    proxy.set("ConnectTimeout", given["ConnectTimeout"].is_null() ? Value(5 * kSecond) : given["ConnectTimeout"]);
    for (const char* key : {"EnvoyDNSDiscoveryType", "Config"})
      if (given.has(key)) proxy.set(key, given[key]);
    if (netns) {
      proxy.set("EnvoyGatewayNoDefaultBind", true);
      proxy.set("EnvoyGatewayBindTaggedAddresses", false);
      proxy.set("EnvoyGatewayBindAddresses", bind_addresses(block));
    }
    block.set("Proxy", std::move(proxy));
  }

  static Value bind_addresses(const Value& block) {
    Value out = Value::object();
    json::MemberWriter writer(out);
    if (block["Mesh"].is_object()) {
      for (const char* key : {"wan", "lan"}) writer.set(key, bind_address(-1));
    } else if (block["Ingress"].is_object()) {
      for (const Value& listener : block["Ingress"]["Listeners"].items())
        for (const Value& service : listener["Services"].items())
          writer.set(text_at(service, "Name"), bind_address(listener["Port"]));
    } else {
      writer.set("default", bind_address(-1));
    }
    return out;
  }

  Job& job_;
  TaskGroup& group_;
  const std::function<std::string()>& new_id_;
  const Variables variables_;
  Index kinds_, tasks_;  // first task of a kind, of a name
  std::unordered_map<std::string, int> names_, drivers_;
  std::unordered_set<std::string> labels_;
};

}  // namespace

std::string join_host_port(const std::string& host, const std::string& port) {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

NativeTask native_task(const TaskGroup& group, const TasksByName& tasks, const Value& service) {
  const std::string& wanted = text_at(service, "TaskName");
  const std::string where = group.name + "->" + text_at(service, "Name");
  if (wanted.empty()) {
    if (group.tasks.size() == 1) return {&group.tasks.front(), ""};
    return {nullptr, "task for Consul Connect Native service " + where + " is ambiguous and must be set"};
  }
  if (const auto at = tasks.find(wanted); at != tasks.end()) return {&group.tasks[at->second], ""};
  return {nullptr, "task " + wanted + " named by Consul Connect Native service " + where + " does not exist"};
}

std::string expand_connect(Job& job, const std::function<std::string()>& new_id) {
  for (TaskGroup& group : job.task_groups) {
    if (group.networks.empty() || !group.services.is_array()) continue;
    std::optional<Expansion> expansion;
    for (Value& service : group.services.items()) {
      const Value& connect = std::as_const(service)["Connect"];
      if (!connect.is_object()) continue;
      if (!expansion) expansion.emplace(job, group, new_id);
      std::string problem;
      if (connect["SidecarService"].is_object())
        problem = expansion->sidecar(service);
      else if (connect["Native"].as_bool())
        problem = expansion->native(service);
      else if (connect["Gateway"].is_object())
        problem = expansion->gateway(service);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

}  // namespace berth::model
