// Constraints that follow from what a group uses (R-MODEL-244, 245, R-FEAS-1801).
#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "model/registration/job_canonical.h"

namespace berth::model {
namespace {

enum class Match : std::uint8_t { full, left };

void add(std::vector<Constraint>& constraints, Constraint wanted, Match match) {
  for (const Constraint& have : constraints)
    if (match == Match::full ? have == wanted : have.ltarget == wanted.ltarget) return;
  constraints.push_back(std::move(wanted));
}

Constraint semver(std::string ltarget, std::string version) {
  return {std::move(ltarget), ">= " + std::move(version), "semver"};
}

bool is_provider(const json::Value& service, std::string_view provider) {
  const std::string& given = service["Provider"].as_string();
  return given == provider || (given.empty() && provider == "consul");
}

/// `${attr.X.version}` of the default cluster, `${attr.X.C.version}` of cluster C.
std::string cluster_attribute(std::string_view system, const std::string& cluster) {
  std::string out = "${attr." + std::string(system);
  if (!cluster.empty() && cluster != "default") out += "." + cluster;
  return out + ".version}";
}

void add_vault(TaskGroup& group) {
  std::vector<const Task*> tasks;
  for (const Task& task : group.tasks)
    if (task.vault.is_object()) tasks.push_back(&task);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) { return a->name < b->name; });
  for (const Task* task : tasks) {
    const std::string& cluster = task->vault["Cluster"].as_string();
    const bool usual = cluster.empty() || cluster == "default";
    add(group.constraints, semver(cluster_attribute("vault", cluster), usual ? "0.6.1" : "1.11.0"), Match::left);
  }
}

void add_signals(TaskGroup& group) {
  std::set<std::string> signals;
  for (const Task& task : group.tasks) {
    if (task.vault["ChangeMode"].as_string() == "signal") signals.insert(task.vault["ChangeSignal"].as_string());
    if (!task.kill_signal.empty()) signals.insert(task.kill_signal);
    for (const json::Value& entry : task.templates.items())
      if (entry["ChangeMode"].as_string() == "signal") signals.insert(entry["ChangeSignal"].as_string());
  }
  if (signals.empty()) return;
  add(group.constraints, {"${attr.os.signals}", base::join({signals.begin(), signals.end()}, ","), "set_contains"},
      Match::full);
}

void add_services(TaskGroup& group) {
  bool nomad = false, nomad_checks = false;
  const auto look = [&](const json::Value& services) {
    for (const json::Value& service : services.items()) {
      if (!is_provider(service, "nomad")) continue;
      nomad = true;
      nomad_checks = nomad_checks || service["Checks"].size() > 0;
    }
  };
  look(group.services);
  for (const Task& task : group.tasks) look(task.services);
  if (nomad) add(group.constraints, {"${attr.nomad.service_discovery}", "true", "="}, Match::full);
  if (nomad_checks) add(group.constraints, semver("${attr.nomad.version}", "1.4.0"), Match::full);

  const auto consul = [](const json::Value& services, std::vector<Constraint>& constraints) {
    for (const json::Value& service : services.items())
      if (is_provider(service, "consul"))
        add(constraints, semver(cluster_attribute("consul", service["Cluster"].as_string()), "1.8.0"), Match::left);
  };
  consul(group.services, group.constraints);
  for (Task& task : group.tasks) consul(task.services, task.constraints);
}

void add_networks(TaskGroup& group) {
  const bool bridge = std::any_of(group.networks.begin(), group.networks.end(),
                                  [](const NetworkResource& network) { return network.mode == "bridge"; });
  if (bridge)
    for (const char* plugin : {"bridge", "firewall", "host-local", "loopback", "portmap"})
      add(group.constraints, semver("${attr.plugins.cni.version." + std::string(plugin) + "}", "0.4.0"), Match::left);
  for (const json::Value& service : std::as_const(group.services).items())
    if (service["Connect"]["SidecarService"]["Proxy"]["TransparentProxy"].is_object()) {
      add(group.constraints, semver("${attr.plugins.cni.version.consul-cni}", "1.4.2"), Match::left);
      add(group.constraints, semver("${attr.nomad.version}", "1.8.0-dev"), Match::left);
    }
}

}  // namespace

void add_implied_constraints(Job& job, const Quirks& quirks) {
  std::vector<std::string> providers;
  const auto collect = [&](const TaskGroup& group) {
    for (const Task& task : group.tasks)
      for (const json::Value& secret : task.secrets.items()) {
        const std::string& provider = secret["Provider"].as_string();
        if (std::find(providers.begin(), providers.end(), provider) == providers.end()) providers.push_back(provider);
      }
  };
  // The providers of every group apply to every group; the group list gives the order (R-MODEL-245).
  if (quirks.secrets_constrain_all_groups)
    for (const TaskGroup& group : job.task_groups) collect(group);
  for (TaskGroup& group : job.task_groups) {
    add_vault(group);
    if (!quirks.secrets_constrain_all_groups) providers.clear(), collect(group);
    for (const std::string& provider : providers)
      add(group.constraints, {"${attr.plugins.secrets." + provider + ".version}", "", "is_set"}, Match::left);
    const bool numa = std::any_of(group.tasks.begin(), group.tasks.end(), [](const Task& task) {
      return task.resources && task.resources->numa && task.resources->numa->affinity != "none" &&
             !task.resources->numa->affinity.empty();
    });
    if (numa) {
      add(group.constraints, semver("${attr.nomad.version}", "1.6.3-dev"), Match::full);
      add(group.constraints, {"${attr.kernel.name}", "linux", "="}, Match::full);
    }
    add_signals(group);
    add_services(group);
    add_networks(group);
    const bool schedule =
        std::any_of(group.tasks.begin(), group.tasks.end(), [](const Task& task) { return task.schedule.is_object(); });
    if (schedule) add(group.constraints, semver("${attr.nomad.version}", "1.8.0-dev"), Match::left);
  }
}

}  // namespace berth::model
