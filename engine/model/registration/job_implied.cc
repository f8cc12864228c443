// Constraints and identities that follow from what a group uses (R-MODEL-244, 245, R-FEAS-1801, R-REG sections 5, 6).
#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/job_canonical.h"

namespace berth::model {
namespace {

enum class Match : std::uint8_t { full, left };

/// A group's or a task's constraints while implied ones are added. Existing targets are indexed, so that adding is not
/// quadratic.
class Constraints {
 public:
  explicit Constraints(std::vector<Constraint>& list) : list_(list) {}
  void add(Constraint wanted, Match match) {
    if (match == Match::full) {
      if (std::find(list_.begin(), list_.end(), wanted) != list_.end()) return;
      targets_.insert(wanted.ltarget);
    } else {
      for (; known_ < list_.size(); ++known_) targets_.insert(list_[known_].ltarget);
      if (!targets_.insert(wanted.ltarget).second) return;
    }
    list_.push_back(std::move(wanted));
  }

 private:
  std::vector<Constraint>& list_;
  std::unordered_set<std::string> targets_;
  std::size_t known_ = 0;  // number of constraints of the list that are in targets_
};

Constraint semver(std::string ltarget, std::string version) {
  return {std::move(ltarget), ">= " + std::move(version), "semver"};
}

/// `${attr.X.version}` of the default cluster, `${attr.X.C.version}` of cluster C.
std::string cluster_attribute(std::string_view system, const std::string& cluster) {
  std::string out = "${attr." + std::string(system);
  if (!is_default_cluster(cluster)) out += "." + cluster;
  return out + ".version}";
}

void add_vault(const TaskGroup& group, Constraints& constraints) {
  std::vector<const Task*> tasks;
  for (const Task& task : group.tasks)
    if (task.vault.is_object()) tasks.push_back(&task);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) { return a->name < b->name; });
  for (const Task* task : tasks) {
    const std::string& cluster = task->vault["Cluster"].as_string();
    constraints.add(semver(cluster_attribute("vault", cluster), is_default_cluster(cluster) ? "0.6.1" : "1.11.0"),
                    Match::left);
  }
}

void add_signals(const TaskGroup& group, Constraints& constraints) {
  std::set<std::string> signals;
  for (const Task& task : group.tasks) {
    if (task.vault["ChangeMode"].as_string() == "signal") signals.insert(task.vault["ChangeSignal"].as_string());
    if (!task.kill_signal.empty()) signals.insert(task.kill_signal);
    for (const json::Value& entry : task.templates.items())
      if (entry["ChangeMode"].as_string() == "signal") signals.insert(entry["ChangeSignal"].as_string());
  }
  if (signals.empty()) return;
  constraints.add({"${attr.os.signals}", base::join({signals.begin(), signals.end()}, ","), "set_contains"},
                  Match::full);
}

void add_services(TaskGroup& group, Constraints& constraints) {
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
  if (nomad) constraints.add({"${attr.nomad.service_discovery}", "true", "="}, Match::full);
  if (nomad_checks) constraints.add(semver("${attr.nomad.version}", "1.4.0"), Match::full);

  const auto consul = [](const json::Value& services, auto&& into) {
    for (const json::Value& service : services.items())
      if (is_provider(service, "consul"))
        into.add(semver(cluster_attribute("consul", service["Cluster"].as_string()), "1.8.0"), Match::left);
  };
  consul(group.services, constraints);
  for (Task& task : group.tasks) consul(task.services, Constraints(task.constraints));
}

void add_networks(const TaskGroup& group, Constraints& constraints) {
  const bool bridge = std::any_of(group.networks.begin(), group.networks.end(),
                                  [](const NetworkResource& network) { return network.mode == "bridge"; });
  if (bridge)
    for (const char* plugin : {"bridge", "firewall", "host-local", "loopback", "portmap"})
      constraints.add(semver("${attr.plugins.cni.version." + std::string(plugin) + "}", "0.4.0"), Match::left);
  for (const json::Value& service : group.services.items())
    if (service["Connect"]["SidecarService"]["Proxy"]["TransparentProxy"].is_object()) {
      constraints.add(semver("${attr.plugins.cni.version.consul-cni}", "1.4.2"), Match::left);
      constraints.add(semver("${attr.nomad.version}", "1.8.0-dev"), Match::left);
    }
}

void fill_cluster(json::Retained& block, std::vector<Constraint>& constraints) {
  if (!block.is_object()) return;
  default_text(block.own(), "Cluster", "default");
  const std::string &partition = text_at(block, "Partition"), cluster = text_at(block, "Cluster");
  if (partition.empty()) return;
  const std::string of = is_default_cluster(cluster) ? "" : cluster + ".";
  constraints.push_back({"${attr.consul." + of + "partition}", partition, "="});
}

void fill_service_clusters(json::Retained& services) {
  if (!services.is_array()) return;
  for (json::Value& service : services.items())
    if (is_provider(service, "consul")) default_text(service, "Cluster", "default");
}

/// Names the identity of a Consul service after the service (R-REG-223).
void name_service_identities(json::Retained& services) {
  if (!services.is_array()) return;
  for (json::Value& service : services.items()) {
    json::Value* identity = service.find("Identity");
    if (!identity || !identity->is_object() || !is_provider(service, "consul")) continue;
    const std::string &name = text_at(service, "Name"), task = text_at(service, "TaskName");
    identity->set("Name",
                  "consul-service_" + (task.empty() ? "" : task + "-") + name + "-" + text_at(service, "PortLabel"));
    identity->set("ServiceName", name);
  }
}

bool has_identity(const json::Value& services) {
  return std::any_of(services.items().begin(), services.items().end(),
                     [](const json::Value& service) { return service["Identity"].is_object(); });
}

void add_vault_identity(Task& task, const json::Value& vault_identity) {
  if (!task.vault.is_object() || !vault_identity.is_object()) return;
  const std::string& cluster = text_at(task.vault, "Cluster");
  if (!is_default_cluster(cluster)) return;  // other clusters have no settings here
  const std::string name = "vault_default";
  for (const json::Value& identity : std::as_const(task.identities).items())
    if (text_at(identity, "Name") == name) return;
  json::Value added = vault_identity;
  added.set("Name", name);
  task.identities.push(std::move(added));
}

}  // namespace

void fill_clusters(Job& job) {
  for (TaskGroup& group : job.task_groups) {
    fill_cluster(group.consul, group.constraints);
    fill_service_clusters(group.services);
    for (Task& task : group.tasks) {
      if (task.vault.is_object()) default_text(task.vault.own(), "Cluster", "default");
      fill_cluster(task.consul, task.constraints);
      fill_service_clusters(task.services);
    }
  }
}

void add_identities(Job& job, const json::Value& vault_identity) {
  for (TaskGroup& group : job.task_groups) {
    name_service_identities(group.services);
    bool any = has_identity(group.services);
    for (Task& task : group.tasks) {
      name_service_identities(task.services);
      add_vault_identity(task, vault_identity);
      any = any || has_identity(task.services) || task.identities.size() > 0;
    }
    if (any) group.constraints.push_back(semver("${attr.nomad.version}", "1.7.0-a"));
  }
}

void add_implied_constraints(Job& job, const Quirks& quirks) {
  std::vector<std::string> providers;
  std::unordered_set<std::string> known;
  const auto collect = [&](const TaskGroup& group) {
    for (const Task& task : group.tasks)
      for (const json::Value& secret : task.secrets.items()) {
        const std::string& provider = secret["Provider"].as_string();
        if (known.insert(provider).second) providers.push_back(provider);
      }
  };
  // The providers of every group apply to every group; the group list gives the order (R-MODEL-245).
  if (quirks.secrets_constrain_all_groups)
    for (const TaskGroup& group : job.task_groups) collect(group);
  for (TaskGroup& group : job.task_groups) {
    Constraints constraints(group.constraints);
    add_vault(group, constraints);
    if (!quirks.secrets_constrain_all_groups) providers.clear(), known.clear(), collect(group);
    for (const std::string& provider : providers)
      constraints.add({"${attr.plugins.secrets." + provider + ".version}", "", "is_set"}, Match::left);
    const bool numa = std::any_of(group.tasks.begin(), group.tasks.end(), [](const Task& task) {
      return task.resources && task.resources->numa && task.resources->numa->affinity != "none" &&
             !task.resources->numa->affinity.empty();
    });
    if (numa) {
      constraints.add(semver("${attr.nomad.version}", "1.6.3-dev"), Match::full);
      constraints.add({"${attr.kernel.name}", "linux", "="}, Match::full);
    }
    add_signals(group, constraints);
    add_services(group, constraints);
    add_networks(group, constraints);
    const bool schedule =
        std::any_of(group.tasks.begin(), group.tasks.end(), [](const Task& task) { return task.schedule.is_object(); });
    if (schedule) constraints.add(semver("${attr.nomad.version}", "1.8.0-dev"), Match::left);
  }
}

}  // namespace berth::model
