#include "model/update/tasks_updated.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <unordered_map>

#include "base/json_members.h"
#include "model/job.h"

namespace berth::model {
namespace {

using json::Value;
using Keys = std::initializer_list<std::string_view>;

bool is_zero_scalar(const Value& v) {
  return v.is_null() || (v.is_bool() && !v.as_bool()) || (v.is_number() && v.as_double() == 0) ||
         (v.is_string() && v.as_string().empty()) || (v.is_array() && v.size() == 0);
}

/// Deep equality in which an absent scalar or list equals a zero one, but an absent object differs from an empty one.
bool same(const Value& a, const Value& b) {
  if (is_zero_scalar(a) && is_zero_scalar(b)) return a.is_null() || b.is_null() || a.is_array() == b.is_array();
  if (a.is_array() && b.is_array())
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same);
  if (!a.is_object() || !b.is_object()) return a == b;
  static const Value kNull;
  const json::MemberIndex in_a(a), in_b(b);
  for (const json::Member& member : a.members()) {
    const Value* const other = in_b.find(member.key);
    if (!same(member.value, other ? *other : kNull)) return false;
  }
  for (const json::Member& member : b.members())
    if (!in_a.find(member.key) && !same(Value(), member.value)) return false;
  return true;
}

/// Maps by content, an absent one equal to an empty one.
bool same_map(const Value& a, const Value& b) {
  if (a.size() == 0 && b.size() == 0) return true;
  return json::equal_ignoring_member_order(a, b);
}

/// Both blocks there or both absent, and the same in the named fields; `maps` are compared by content.
bool same_block(const Value& a, const Value& b, Keys fields, Keys maps = {}) {
  if (a.is_object() != b.is_object()) return false;
  for (const std::string_view key : fields)
    if (!same(a[key], b[key])) return false;
  for (const std::string_view key : maps)
    if (!same_map(a[key], b[key])) return false;
  return true;
}

template <class Same>
bool same_list(const Value& a, const Value& b, Same same_item) {
  return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same_item);
}

/// Optional numbers: absent differs from zero.
bool same_exactly(const Value& a, const Value& b, Keys fields) {
  return std::all_of(fields.begin(), fields.end(), [&](std::string_view key) { return a[key] == b[key]; });
}

bool same_template(const Value& a, const Value& b) {
  return same_block(a, b,
                    {"SourcePath", "DestPath", "EmbeddedTmpl", "ChangeMode", "ChangeSignal", "Once", "Splay", "Perms",
                     "LeftDelim", "RightDelim", "Envvars", "VaultGrace", "ErrMissingKey"}) &&
         same_exactly(a, b, {"Uid", "Gid"}) &&
         same_block(a["ChangeScript"], b["ChangeScript"],
                    {"Command", "Args", "Timeout", "FailOnError", "RunOnFirstRender"}) &&
         a["Wait"].is_object() == b["Wait"].is_object() && same_exactly(a["Wait"], b["Wait"], {"Min", "Max"});
}

bool same_identity(const Value& a, const Value& b) {
  return same_block(a, b,
                    {"Name", "Audience", "ChangeMode", "ChangeSignal", "Env", "File", "Filepath", "ServiceName", "TTL",
                     "ExtraClaims"});
}

bool same_artifact(const Value& a, const Value& b) {
  return same_block(a, b, {"GetterSource", "GetterMode", "GetterInsecure", "RelativeDest", "Chown"},
                    {"GetterOptions", "GetterHeaders"});
}

bool same_secret(const Value& a, const Value& b) {
  return same_block(a, b, {"Name", "Provider", "Path"}, {"Config", "Env"});
}

bool same_mount(const Value& a, const Value& b) {
  return same_block(a, b, {"Volume", "Destination", "ReadOnly", "PropagationMode", "SELinuxLabel"});
}

/// R-SCHED-105: adding or removing the block is no difference.
bool same_consul(const Value& a, const Value& b) {
  if (!a.is_object() || !b.is_object()) return true;
  return same(a["Cluster"], b["Cluster"]) && same(a["Partition"], b["Partition"]);
}

bool same_networks(const std::vector<NetworkResource>& a, const std::vector<NetworkResource>& b) {  // R-SCHED-104
  const auto same_ports = [](const std::vector<Port>& x, const std::vector<Port>& y, bool with_value) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](const Port& p, const Port& q) {
      return p.label == q.label && p.to == q.to && p.host_network == q.host_network &&
             (!with_value || p.value == q.value);
    });
  };
  // The concatenation counts: a port that only moves between the two lists keeps its place but not its value.
  const auto ports = [](const NetworkResource& network) {
    std::vector<Port> out = network.reserved_ports;
    for (Port port : network.dynamic_ports) {
      port.value = 0;
      out.push_back(std::move(port));
    }
    return out;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const NetworkResource& x, const NetworkResource& y) {
    return x.mode == y.mode && x.mbits == y.mbits && x.hostname == y.hostname &&
           same_block(x.dns, y.dns, {"Servers", "Searches", "Options"}) && x.cni.is_object() == y.cni.is_object() &&
           same_map(x.cni["Args"], y.cni["Args"]) && same_ports(ports(x), ports(y), true);
  });
}

auto key_of(const Constraint& c) { return std::tie(c.ltarget, c.rtarget, c.operand); }
auto key_of(const Affinity& a) { return std::tie(a.ltarget, a.rtarget, a.operand, a.weight); }

/// True if both have the same entries equally often, in any order.
template <class T>
bool same_set(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  const auto sorted = [](const std::vector<T>& list) {
    std::vector<const T*> out;
    for (const T& entry : list) out.push_back(&entry);
    std::sort(out.begin(), out.end(), [](const T* x, const T* y) { return key_of(*x) < key_of(*y); });
    return out;
  };
  const std::vector<const T*> x = sorted(a), y = sorted(b);
  return std::equal(x.begin(), x.end(), y.begin(), [](const T* p, const T* q) { return *p == *q; });
}

bool same_device(const RequestedDevice& a, const RequestedDevice& b) {
  return a.count == b.count && same_set(a.constraints, b.constraints) && same_set(a.affinities, b.affinities);
}

bool same_devices(const std::vector<RequestedDevice>& a, const std::vector<RequestedDevice>& b, const Quirks& quirks) {
  if (a.size() != b.size()) return false;
  if (!quirks.devices_compared_with_last)
    return std::is_permutation(a.begin(), a.end(), b.begin(), [](const RequestedDevice& x, const RequestedDevice& y) {
      return x.name == y.name && same_device(x, y);
    });
  std::unordered_map<std::string_view, const RequestedDevice*> last;
  for (const RequestedDevice& device : b) last[device.name] = &device;
  return std::all_of(a.begin(), a.end(), [&](const RequestedDevice& device) {
    const auto found = last.find(device.name);
    return found != last.end() && same_device(device, *found->second);
  });
}

bool same_resources(const Resources& a, const Resources& b, const Quirks& quirks) {
  return a.cpu == b.cpu && a.cores == b.cores && a.memory_mb == b.memory_mb && a.memory_max_mb == b.memory_max_mb &&
         a.secrets_mb == b.secrets_mb && same_devices(a.devices, b.devices, quirks) && a.numa == b.numa;
}

std::map<std::string, std::string> merged_meta(const Job& job, const TaskGroup& group, const Task& task) {
  std::map<std::string, std::string> out = task.meta;
  out.insert(group.meta.begin(), group.meta.end());  // insert keeps what is there: the task wins over the group
  out.insert(job.meta.begin(), job.meta.end());
  return out;
}

bool renders_templates(const std::optional<RestartPolicy>& policy) { return policy && policy->render_templates; }

bool same_task(const Job& old_job, const TaskGroup& old_group, const Task& a, const Job& new_job,
               const TaskGroup& new_group, const Task& b, const Quirks& quirks) {
  return a.driver == b.driver && a.user == b.user && same_map(a.config, b.config) && same_map(a.env, b.env) &&
         same_list(a.artifacts, b.artifacts, same_artifact) &&
         same_block(a.vault, b.vault,
                    {"Role", "Namespace", "Cluster", "Env", "DisableFile", "ChangeMode", "ChangeSignal",
                     "AllowTokenExpiration"}) &&
         same_list(a.secrets, b.secrets, same_secret) && same_consul(a.consul, b.consul) &&
         same_list(a.templates, b.templates, same_template) &&
         same_block(a.csi_plugin_config, b.csi_plugin_config,
                    {"ID", "Type", "MountDir", "StagePublishBaseDir", "HealthTimeout"}) &&
         same_list(a.volume_mounts, b.volume_mounts, same_mount) &&
         merged_meta(old_job, old_group, a) == merged_meta(new_job, new_group, b) &&
         same_networks(a.resources.value_or(Resources{}).networks, b.resources.value_or(Resources{}).networks) &&
         same_identity(a.identity, b.identity) && same_list(a.identities, b.identities, same_identity) &&
         a.log_config.value_or(LogConfig{}).disabled == b.log_config.value_or(LogConfig{}).disabled &&
         renders_templates(a.restart_policy) == renders_templates(b.restart_policy) &&
         same_resources(a.resources.value_or(Resources{}), b.resources.value_or(Resources{}), quirks);
}

bool same_sidecar_task(const Value& a, const Value& b) {
  return same_block(a, b,
                    {"Name", "Driver", "User", "Resources", "KillTimeout", "LogConfig", "ShutdownDelay", "KillSignal",
                     "VolumeMounts", "Identities"},
                    {"Config", "Env", "Meta"});
}

bool same_connect(const Value& old_services, const Value& new_services) {  // R-SCHED-106
  std::unordered_map<std::string_view, const Value*> first;
  for (const Value& service : old_services.items()) first.try_emplace(service["Name"].as_string(), &service);
  return std::all_of(new_services.items().begin(), new_services.items().end(), [&](const Value& service) {
    const Value& connect = service["Connect"];
    if (!connect.is_object()) return true;
    const auto named = first.find(service["Name"].as_string());
    if (named == first.end()) return true;
    const Value* const found = named->second;
    const Value& before = (*found)["Connect"];
    const Value &sidecar = connect["SidecarService"], &sidecar_before = before["SidecarService"];
    return before.is_object() && same(connect["Native"], before["Native"]) &&
           same(connect["Gateway"], before["Gateway"]) &&
           same_sidecar_task(before["SidecarTask"], connect["SidecarTask"]) &&
           same_block(sidecar, sidecar_before, {"Port"}) && same((*found)["PortLabel"], service["PortLabel"]) &&
           same((*found)["Cluster"], service["Cluster"]);
  });
}

bool same_volumes(const TaskGroup& a, const TaskGroup& b) {
  return std::equal(
      a.volumes.begin(), a.volumes.end(), b.volumes.begin(), b.volumes.end(), [](const auto& x, const auto& y) {
        if (x.first != y.first || x.second.has_value() != y.second.has_value()) return false;
        if (!x.second) return true;
        VolumeRequest v = *x.second, w = *y.second;
        const Value options_v = std::exchange(v.mount_options, Value());
        const Value options_w = std::exchange(w.mount_options, Value());
        if (v != w || !same_block(options_v, options_w, {"FSType"})) return false;
        const json::Array &flags_v = options_v["MountFlags"].items(), &flags_w = options_w["MountFlags"].items();
        return std::is_permutation(flags_v.begin(), flags_v.end(), flags_w.begin(), flags_w.end());
      });
}

}  // namespace

bool tasks_updated(const Job& old_job, const Job& new_job, const std::string& group, const Quirks& quirks) {
  const TaskGroup *a = old_job.group(group), *b = new_job.group(group);
  if (!a || !b) return true;
  if (a->tasks.size() != b->tasks.size() ||
      a->ephemeral_disk.value_or(EphemeralDisk{}) != b->ephemeral_disk.value_or(EphemeralDisk{}) ||
      a->ephemeral_disk.has_value() != b->ephemeral_disk.has_value() || !same_networks(a->networks, b->networks) ||
      !same_consul(a->consul, b->consul) || !same_connect(a->services, b->services) || !same_volumes(*a, *b) ||
      renders_templates(a->restart_policy) != renders_templates(b->restart_policy))
    return true;
  std::unordered_map<std::string_view, const Task*> first;
  for (const Task& task : b->tasks) first.try_emplace(task.name, &task);
  return std::any_of(a->tasks.begin(), a->tasks.end(), [&](const Task& task) {
    const auto found = first.find(task.name);
    return found == first.end() || !same_task(old_job, *a, task, new_job, *b, *found->second, quirks);
  });
}

}  // namespace berth::model
