#include "model/codec/api_blocks.h"

#include "base/time.h"
#include "model/codec/fill.h"
#include "model/registration/blocks.h"

namespace berth::model {
namespace {

using base::kSecond;
using json::Value;

void fill_mounts(Value& task) {
  Value* mounts = task.find("VolumeMounts");
  if (!mounts) return;
  std::erase_if(mounts->items(), [](const Value& mount) { return !mount.has("Volume"); });
  for (Value& mount : mounts->items()) {
    fill(mount, "ReadOnly", false);
    fill(mount, "PropagationMode", "private");
    fill(mount, "SELinuxLabel", "");
  }
}

/// Overlays the check's own members on the service's block (R-REG-143).
void fill_check_restart(const Value& of_service, Value& check) {
  Value* own = check.find("CheckRestart");
  if (!own && !of_service.is_object()) return;
  if (!own) {
    check.set("CheckRestart", of_service);
  } else if (of_service.is_object()) {
    Value merged = of_service;
    if ((*own)["Limit"].as_int() > 0) merged.set("Limit", (*own)["Limit"]);
    if (own->has("Grace")) merged.set("Grace", (*own)["Grace"]);
    if ((*own)["IgnoreWarnings"].as_bool()) merged.set("IgnoreWarnings", true);
    *own = std::move(merged);
  }
  fill(*check.find("CheckRestart"), "Grace", kSecond);
}

void fill_proxy(Value& proxy) {
  drop_empty(proxy, "Upstreams"), drop_empty(proxy, "Config");
  if (const Value* expose = proxy.find("ExposeConfig")) {
    proxy.set("Expose", Value(*expose));
    proxy.erase("ExposeConfig");
  }
  if (Value* expose = proxy.find("Expose"))
    if (const Value* paths = expose->find("Path")) {
      expose->set("Paths", Value(*paths));
      expose->erase("Path");
    }
  if (Value* upstreams = proxy.find("Upstreams"))
    for (Value& upstream : upstreams->items()) {
      drop_empty(upstream, "Config");
      fill(object_at(upstream, "MeshGateway"), "Mode", "");
    }
  if (Value* transparent = proxy.find("TransparentProxy"))
    for (const char* list : {"ExcludeInboundPorts", "ExcludeOutboundPorts", "ExcludeOutboundCIDRs", "ExcludeUIDs"})
      drop_empty(*transparent, list);
}

void fill_headers(Value& service) {
  for (const char* key : {"RequestHeaders", "ResponseHeaders"})
    if (Value* headers = service.find(key))
      for (const char* part : {"Add", "Set", "Remove"}) drop_empty(*headers, part);
}

void fill_gateway(Value& gateway) {
  if (Value* proxy = gateway.find("Proxy")) {
    fill(*proxy, "ConnectTimeout", 5 * kSecond);
    drop_empty(*proxy, "Config");
    if (Value* addresses = proxy->find("EnvoyGatewayBindAddresses"))
      for (json::Member& address : addresses->members()) address.value.erase("Name");
  }
  if (Value* ingress = gateway.find("Ingress")) {
    drop_empty(*ingress, "Listeners");
    if (Value* listeners = ingress->find("Listeners"))
      for (Value& listener : listeners->items()) {
        default_text(listener, "Protocol", "tcp");
        drop_empty(listener, "Services");
        if (Value* services = listener.find("Services"))
          for (Value& service : services->items()) drop_empty(service, "Hosts"), fill_headers(service);
      }
  }
  if (Value* terminating = gateway.find("Terminating")) drop_empty(*terminating, "Services");
}

void fill_connect(Value& connect) {  // R-REG-28, 34, 68
  if (Value* sidecar = connect.find("SidecarService")) {
    drop_empty(*sidecar, "Tags"), drop_empty(*sidecar, "Meta");
    if (Value* proxy = sidecar->find("Proxy")) fill_proxy(*proxy);
  }
  if (Value* task = connect.find("SidecarTask")) {
    fill_api_resources(*task);
    fill_api_logs(*task);
    fill(*task, "KillTimeout", 5 * kSecond);
    fill(*task, "ShutdownDelay", 0);
    fill_mounts(*task);
    for (const char* key : {"Config", "Env", "Meta", "VolumeMounts"}) drop_empty(*task, key);
  }
  if (Value* gateway = connect.find("Gateway")) fill_gateway(*gateway);
}

void fill_service(const std::string& default_name, bool of_task, Value& service) {
  default_text(service, "Name", default_name);
  default_text(service, "AddressMode", "auto");
  default_text(service, "OnUpdate", "require_healthy");
  default_text(service, "Provider", "consul");
  default_text(service, "Cluster", "default");
  for (const char* key : {"Meta", "CanaryMeta", "TaggedAddresses"}) drop_empty(service, key);
  service.erase("Namespace");
  if (Value* weights = service.find("Weights"))
    for (const char* key : {"Passing", "Warning"})
      if ((*weights)[key].as_int() <= 0) weights->set(key, 1);
  const Value restart = service["CheckRestart"];
  service.erase("CheckRestart");
  if (Value* checks = service.find("Checks"))
    for (Value& check : checks->items()) {
      default_text(check, "OnUpdate", text_at(service, "OnUpdate"));
      for (const char* key : {"SuccessBeforePassing", "FailuresBeforeCritical", "FailuresBeforeWarning"})
        if (check[key].as_int() < 0) check.set(key, 0);
      if (of_task) check.erase("TaskName");  // the server layer sets the task
      check.erase("Advertise");
      fill_check_restart(restart, check);
    }
  if (Value* connect = service.find("Connect")) fill_connect(*connect);
}

/// Destination of an artifact that names none (R-REG-250).
std::string default_destination(const Value& artifact) {
  if (text_at(artifact, "GetterMode") != "file") return "local/";
  std::string source = text_at(artifact, "GetterSource");
  while (source.ends_with('/')) source.pop_back();
  return clean_path("local/" + source.substr(source.rfind('/') + 1));
}

void fill_artifact(Value& artifact) {
  fill(artifact, "GetterMode", "any");
  fill(artifact, "GetterInsecure", false);
  fill(artifact, "GetterSource", "");
  drop_empty(artifact, "GetterOptions"), drop_empty(artifact, "GetterHeaders");
  if (!artifact.has("RelativeDest")) artifact.set("RelativeDest", default_destination(artifact));
  fill(artifact, "Chown", false);
}

void fill_template(Value& entry) {
  fill(entry, "ChangeMode", "restart");
  fill(entry, "ChangeSignal", text_at(entry, "ChangeMode") == "signal" ? "SIGHUP" : "");
  for (const char* key : {"SourcePath", "DestPath", "EmbeddedTmpl"}) fill(entry, key, "");
  for (const char* key : {"Once", "Envvars", "ErrMissingKey"}) fill(entry, key, false);
  fill(entry, "Splay", 5 * kSecond);
  fill(entry, "Perms", "0644");
  fill(entry, "LeftDelim", "{{"), fill(entry, "RightDelim", "}}");
  fill(entry, "VaultGrace", 0);
  if (Value* script = entry.find("ChangeScript")) {
    fill(*script, "Command", "");
    fill(*script, "Args", Value::array());
    fill(*script, "Timeout", 5 * kSecond);
    fill(*script, "FailOnError", false), fill(*script, "RunOnFirstRender", false);
  }
}

void fill_vault(const std::string& name_space, Value& vault) {
  fill(vault, "Env", true);
  fill(vault, "DisableFile", false);
  fill(vault, "AllowTokenExpiration", false);
  fill(vault, "ChangeMode", "restart");
  fill(vault, "ChangeSignal", "SIGHUP");
  default_text(vault, "Cluster", "default");
  default_text(vault, "Namespace", name_space);
  vault.erase("Policies");
}

void fill_csi_plugin(Value& plugin) {
  default_text(plugin, "MountDir", "/csi");
  default_text(plugin, "StagePublishBaseDir", "/local/csi");
  if (plugin["HealthTimeout"].as_int() == 0) plugin.set("HealthTimeout", 30 * kSecond);
}

template <class Fill>
void each(Value& owner, std::string_view key, Fill fill_one) {
  if (Value* list = owner.find(key))
    for (Value& entry : list->items()) fill_one(entry);
}

}  // namespace

void fill_api_resources(Value& task) {
  fill(task, "Resources", Value::object());
  Value& resources = *task.find("Resources");
  if (!resources.has("Cores")) {
    fill(resources, "CPU", 100);
    resources.set("Cores", 0);
  } else {
    fill(resources, "CPU", 0);
  }
  fill(resources, "MemoryMB", 300);
  resources.erase("DiskMB");
  each(resources, "Devices", [](Value& device) {
    fill(device, "Count", 1);
    fill_weights(device, "Affinities");
  });
  if (Value* numa = resources.find("NUMA")) default_text(*numa, "Affinity", "none");
}

void fill_api_logs(Value& task) {
  fill(task, "LogConfig", Value::object());
  Value& logs = *task.find("LogConfig");
  fill(logs, "MaxFiles", 10), fill(logs, "MaxFileSizeMB", 10), fill(logs, "Disabled", false);
}

void fill_api_services(const std::string& job, const std::string& group, const std::string& task, Value& owner) {
  const std::string name = job + "-" + group + (task.empty() ? "" : "-" + task);
  each(owner, "Services", [&](Value& service) { fill_service(name, !task.empty(), service); });
}

void fill_api_task_blocks(const std::string& vault_namespace, Value& task) {
  fill_mounts(task);
  each(task, "Artifacts", fill_artifact);
  each(task, "Templates", fill_template);
  each(task, "Secrets", [](Value& secret) { drop_empty(secret, "Config"), drop_empty(secret, "Env"); });
  drop_empty(task, "Identities");
  if (Value* vault = task.find("Vault")) fill_vault(vault_namespace, *vault);
  if (Value* plugin = task.find("CSIPluginConfig")) fill_csi_plugin(*plugin);
  fill_api_consul("", task);
}

void fill_api_consul(const std::string& consul_namespace, Value& owner) {
  Value* consul = owner.find("Consul");
  if (!consul) return;
  default_text(*consul, "Cluster", "default");
  default_text(*consul, "Namespace", consul_namespace);
}

void fill_api_job_blocks(Value& job) {
  if (Value* ui = job.find("UI")) drop_empty(*ui, "Links");
  if (Value* regions = job.find("Multiregion")) {
    Value& strategy = object_at(*regions, "Strategy");
    fill(strategy, "MaxParallel", 0), fill(strategy, "OnFailure", "");
    each(*regions, "Regions", [](Value& region) { fill(region, "Count", 1); });
  }
}

std::string mount_problem(const Value& job) {
  for (const Value& group : job["TaskGroups"].items())
    for (const Value& task : group["Tasks"].items())
      for (const Value& mount : task["VolumeMounts"].items())
        if (mount.has("Volume") && !mount.has("Destination"))
          return "volume mount of \"" + text_at(mount, "Volume") + "\" in task \"" + text_at(task, "Name") +
                 "\" has no destination";
  return "";
}

}  // namespace berth::model
