#include "advice/obstacles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "advice/edits.h"
#include "base/text.h"
#include "feasible/devices.h"
#include "feasible/drivers.h"
#include "feasible/network_check.h"
#include "match/operand.h"
#include "model/job.h"
#include "model/port_ranges.h"
#include "model/predicates.h"

namespace berth::advice {
namespace {

constexpr std::size_t kNamed = 3;  ///< holders shown by name

std::string name_of(const model::Allocation& alloc) {
  const bool stops = alloc.desired_status == "stop" || alloc.desired_status == "evict";
  return fmt::format("{} {}{}", alloc.id.substr(0, 8), alloc.name, stops ? ", which is stopping" : "");
}

/// "held by 11111111 web.g[0], 22222222 db.g[1] and 3 more"; "" if there are none.
std::string held_by(const std::vector<const model::Allocation*>& holders) {
  std::string out;
  for (std::size_t i = 0; i < std::min(holders.size(), kNamed); ++i)
    out += (i == 0 ? "held by " : ", ") + name_of(*holders[i]);
  if (holders.size() > kNamed) out += fmt::format(" and {} more", holders.size() - kNamed);
  return out;
}

bool holds_port(const model::NetworkResource& network, std::int64_t value) {
  const auto is = [&](const model::Port& port) { return port.value == value; };
  return std::any_of(network.reserved_ports.begin(), network.reserved_ports.end(), is) ||
         std::any_of(network.dynamic_ports.begin(), network.dynamic_ports.end(), is);
}

bool holds_port(const model::AllocatedResources& r, std::int64_t value) {
  const auto any = [&](const std::vector<model::NetworkResource>& networks) {
    return std::any_of(networks.begin(), networks.end(), [&](const auto& n) { return holds_port(n, value); });
  };
  return std::any_of(r.shared.ports.begin(), r.shared.ports.end(), [&](const auto& p) { return p.value == value; }) ||
         any(r.shared.networks) ||
         std::any_of(r.tasks.begin(), r.tasks.end(), [&](const auto& task) { return any(task.second.networks); });
}

bool reserves_port(const model::Node& node, std::int64_t value) {
  const auto in = [&](const std::string& text) {
    const auto ranges = model::parse_port_ranges(text);
    return ranges && std::any_of(ranges->begin(), ranges->end(),
                                 [&](model::PortRange r) { return r.begin <= value && value <= r.end; });
  };
  if (node.reserved_resources && in(node.reserved_resources->networks.reserved_host_ports)) return true;
  if (!node.node_resources || !node.node_resources->node_networks) return false;
  for (const model::NodeNetworkResource& network : *node.node_resources->node_networks)
    for (const model::NodeNetworkAddress& address : network.addresses)
      if (in(address.reserved_ports)) return true;
  return false;
}

/// Looks up which allocations hold ports, cores and devices on the nodes of a state.
class Holders {
 public:
  Holders(const model::ClusterState& state, const std::vector<const model::Node*>& nodes) {
    for (const model::Node* node : nodes) on_node_[node->id];
    for (const model::Allocation& alloc : state.allocs)
      if (const auto at = on_node_.find(alloc.node_id);
          at != on_node_.end() && alloc.allocated_resources && !model::is_client_terminal(alloc))
        at->second.push_back(&alloc);
  }
  [[nodiscard]] std::string of_port(const model::Node& node, std::int64_t value) const {
    const auto holders =
        where(node, [&](const model::AllocatedResources& resources) { return holds_port(resources, value); });
    return holders.empty() && reserves_port(node, value) ? "reserved by the node" : held_by(holders);
  }
  [[nodiscard]] std::string of_cores(const model::Node& node) const {
    return held_by(where(node, [](const model::AllocatedResources& resources) {
      return std::any_of(resources.tasks.begin(), resources.tasks.end(),
                         [](const auto& task) { return !task.second.cpu.reserved_cores.empty(); });
    }));
  }
  /// Holders of instances that match the request.
  [[nodiscard]] std::string of_device(const model::Node& node, const match::DeviceRequest& request,
                                      match::Patterns& patterns) const {
    return held_by(where(node, [&](const model::AllocatedResources& resources) {
      return std::any_of(resources.tasks.begin(), resources.tasks.end(), [&](const auto& task) {
        return std::any_of(task.second.devices.begin(), task.second.devices.end(),
                           [&](const auto& held) { return held_count(node, request, patterns, &held) > 0; });
      });
    }));
  }
  /// Instances of matching device groups that are healthy and held by no allocation.
  [[nodiscard]] std::size_t free_devices(const model::Node& node, const match::DeviceRequest& request,
                                         match::Patterns& patterns) const {
    std::size_t all = 0, held = 0;
    each_match(node, request, patterns, [&](const model::NodeDevice& group) {
      for (const model::DeviceInstance& instance : group.instances) all += instance.healthy;
    });
    for (const model::Allocation* alloc : on(node))
      for (const auto& [name, task] : alloc->allocated_resources->tasks)
        for (const model::AllocatedDevice& device : task.devices) held += held_count(node, request, patterns, &device);
    return all - std::min(all, held);
  }

 private:
  [[nodiscard]] const std::vector<const model::Allocation*>& on(const model::Node& node) const {
    static const std::vector<const model::Allocation*> kNone;
    const auto at = on_node_.find(node.id);
    return at == on_node_.end() ? kNone : at->second;
  }
  template <class Holds>
  [[nodiscard]] std::vector<const model::Allocation*> where(const model::Node& node, Holds holds) const {
    std::vector<const model::Allocation*> out;
    for (const model::Allocation* alloc : on(node))
      if (holds(*alloc->allocated_resources)) out.push_back(alloc);
    return out;
  }
  template <class Each>
  static void each_match(const model::Node& node, const match::DeviceRequest& request, match::Patterns& patterns,
                         Each each) {
    if (!node.node_resources) return;
    for (const model::NodeDevice& group : node.node_resources->devices)
      if (const auto fine = match::matches(request, group, patterns); fine && *fine) each(group);
  }
  static std::size_t held_count(const model::Node& node, const match::DeviceRequest& request, match::Patterns& patterns,
                                const model::AllocatedDevice* held) {
    std::size_t out = 0;
    each_match(node, request, patterns, [&](const model::NodeDevice& group) {
      if (held->vendor == group.vendor && held->type == group.type && held->name == group.name)
        out += held->device_ids.size();
    });
    return out;
  }

  std::unordered_map<std::string_view, std::vector<const model::Allocation*>> on_node_;
};

model::TaskGroup& group_in(model::Job& job, const std::string& name) {
  return *std::find_if(job.task_groups.begin(), job.task_groups.end(),
                       [&](const model::TaskGroup& group) { return group.name == name; });
}

/// Names obstacles and removes them from copies of the job.
class Mender {
 public:
  Mender(const Question& question, const model::Registration& registration, const std::string& group,
         const std::vector<const model::Node*>& nodes)
      : name_(group), file_(question.document, *registration.job, group), holders_(question.state, nodes) {
    const auto note = [&](const auto& constraints) {
      for (const model::Constraint& constraint : constraints) texts_.insert(constraint.text());
    };
    note(registration.job->constraints);
    if (const model::TaskGroup* of = registration.job->group(group)) {
      note(of->constraints);
      for (const model::Task& task : of->tasks) note(task.constraints);
    }
  }

  /// Returns the obstacle behind a reason and removes it from `job`. Sets `done` to false if that is impossible.
  Obstacle take_away(const std::string& reason, const model::Node& node, model::Job& job, bool& done) {
    Obstacle out;
    out.reason = reason;
    model::TaskGroup& group = group_in(job, name_);
    done = true;
    if (texts_.contains(reason)) {
      constraint(reason, job, group, out);
    } else if (reason == "distinct_hosts" || reason.starts_with("distinct_property: ") ||
               reason.starts_with("missing property ")) {
      distinct(reason, job, group, out);
    } else if (reason == "missing drivers") {
      done = drivers(node, group, out);
    } else if (reason == "missing network") {
      network_mode(group, out);
    } else if (reason.starts_with("missing host network ") || reason.starts_with("invalid host network ")) {
      done = host_network(reason, group, out);
    } else if (reason == "missing devices") {
      done = devices(node, group, out, false);
    } else if (reason.starts_with("devices: ")) {
      done = devices(node, group, out, true);
    } else if (reason == "missing compatible host volumes") {
      done = volumes("host", &node, group, out);
    } else if (reason.find("CSI") != std::string::npos) {
      done = volumes("csi", nullptr, group, out);
    } else if (reason == "missing secrets provider") {
      for (model::Task& task : group.tasks) task.secrets = {};
    } else if (reason.starts_with("network: reserved port collision ")) {
      done = port(reason, node, group, out);
    } else {
      done = amount(reason, node, group, out);
    }
    return out;
  }

 private:
  template <class Is>
  static void erase(model::Job& job, model::TaskGroup& group, Is is) {
    job.constraints.erase_if(is);
    std::erase_if(group.constraints, is);
    for (model::Task& task : group.tasks) std::erase_if(task.constraints, is);
  }

  void constraint(const std::string& text, model::Job& job, model::TaskGroup& group, Obstacle& out) {
    model::Constraint of;
    const auto is = [&](const model::Constraint& c) { return c.text() == text ? (of = c, true) : false; };
    erase(job, group, is);
    out.constraint = true;
    out.patch = file_.without_constraint(text);
    if (!out.patch.is_null()) out.change = fmt::format("no constraint \"{}\"", base::trim_space(text));
    out.needed = std::string(base::trim_space(text));
    const auto test =
        std::make_shared<match::Constraint>(match::compile(of.ltarget, of.operand, of.rtarget, *patterns_));
    out.has = [test, patterns = patterns_](const model::Node& node) { return match::holds(*test, node, *patterns); };
  }

  void distinct(const std::string& reason, model::Job& job, model::TaskGroup& group, Obstacle& out) {
    const bool hosts = reason == "distinct_hosts";
    std::set<std::string> texts;
    erase(job, group, [&](const model::Constraint& c) {
      if (hosts ? c.operand != "distinct_hosts"
                : c.operand != "distinct_property" || reason.find(c.ltarget) == std::string::npos)
        return false;
      texts.insert(c.text());
      return true;
    });
    std::vector<json::Value> patches;
    for (const std::string& text : texts) {
      patches.push_back(file_.without_constraint(text));
      out.change += fmt::format("{}no constraint \"{}\"", out.change.empty() ? "" : " and ", base::trim_space(text));
    }
    join(patches, out);
  }

  bool drivers(const model::Node& node, model::TaskGroup& group, Obstacle& out) {
    std::set<std::string> missing;
    for (const std::string& driver : feasible::required_drivers(group))
      if (!feasible::has_driver(node, driver)) missing.insert(driver);
    for (const std::string& driver : missing) out.detail += (out.detail.empty() ? "" : ", ") + driver;
    out.needed = fmt::format("driver{} {}", missing.size() == 1 ? "" : "s", out.detail);
    out.has = [missing](const model::Node& other) { return feasible::has_drivers(other, missing); };
    const auto other = std::find_if(node.drivers.begin(), node.drivers.end(),
                                    [&](const auto& entry) { return feasible::has_driver(node, entry.first); });
    if (other == node.drivers.end()) return false;
    for (model::Task& task : group.tasks)
      if (missing.contains(task.driver)) task.driver = other->first;
    return true;
  }

  void network_mode(model::TaskGroup& group, Obstacle& out) {
    std::string mode = group.networks.empty() ? "" : group.networks.front().mode;
    if (mode.empty()) mode = "host";
    feasible::NetworkAsk ask;
    ask.mode = mode;
    out.detail = mode;
    out.needed = fmt::format("network mode \"{}\"", mode);
    out.has = [ask](const model::Node& node) { return !feasible::network_failure(ask, node); };
    if (mode == "host") {
      group.networks.clear();
    } else {
      group.networks.front().mode = "host";
      out.patch = file_.with_host_network();
      if (!out.patch.is_null()) out.change = fmt::format("network mode \"host\" instead of \"{}\"", mode);
    }
  }

  bool host_network(const std::string& reason, model::TaskGroup& group, Obstacle& out) {
    if (group.networks.empty()) return false;
    for (auto* ports : {&group.networks.front().dynamic_ports, &group.networks.front().reserved_ports})
      for (auto port = ports->begin(); port != ports->end(); ++port) {
        if (!reason.ends_with(" for port " + base::go_quote(port->label))) continue;
        const std::string alias = port->host_network;
        feasible::NetworkAsk ask;
        ask.mode = group.networks.front().mode.empty() ? "host" : group.networks.front().mode;
        ask.ports.push_back({port->label, alias, match::parse_target(alias)});
        out.needed = fmt::format("host network \"{}\"", alias);
        out.has = [ask](const model::Node& node) { return !feasible::network_failure(ask, node); };
        if (alias == "default") {
          ports->erase(port);
        } else {
          out.patch = file_.with_default_host_network(port->label);
          if (!out.patch.is_null())
            out.change = fmt::format("port \"{}\" in host network \"default\" instead of \"{}\"", port->label, alias);
          port->host_network = "default";
        }
        return true;
      }
    return false;
  }

  /// `taken`: the node has the devices, but allocations hold them.
  bool devices(const model::Node& node, model::TaskGroup& group, Obstacle& out, bool taken) {
    static const std::vector<model::NodeDevice> kNone;
    const auto& groups = node.node_resources ? node.node_resources->devices : kNone;
    const auto lacks = [&](const match::DeviceRequest& request) {
      if (taken) return holders_.free_devices(node, request, *patterns_) < request.count;
      const auto has = feasible::has_devices(groups, std::span(&request, 1), *patterns_);
      return !has || !*has;
    };
    bool any = false;
    for (const model::Task& task : group.tasks)
      if (task.resources)
        for (const model::RequestedDevice& device : task.resources->devices)
          any = any || lacks(match::compile_device(device));
    std::vector<json::Value> patches;
    for (model::Task& task : group.tasks)
      if (task.resources)
        std::erase_if(task.resources->devices, [&](const model::RequestedDevice& device) {
          const match::DeviceRequest request = match::compile_device(device);
          if (any && !lacks(request)) return false;
          const std::string what = fmt::format("device \"{}\" of task \"{}\"", device.name, task.name);
          out.change += (out.change.empty() ? "no " : " and no ") + what;
          patches.push_back(file_.without_device(task.name, device));
          const std::string holder = taken ? holders_.of_device(node, request, *patterns_) : "";
          out.detail += fmt::format("{}{} {}{}{}", out.detail.empty() ? "" : "; ", device.count, device.name,
                                    holder.empty() ? "" : " ", holder);
          if (!taken && out.needed.empty()) {
            out.needed = fmt::format("{} of device \"{}\"{}", device.count, device.name,
                                     device.constraints.empty() ? "" : " that meets its constraints");
            out.has = [request, patterns = patterns_](const model::Node& other) {
              if (!other.node_resources) return false;
              const auto has = feasible::has_devices(other.node_resources->devices, std::span(&request, 1), *patterns);
              return has && *has;
            };
          }
          return true;
        });
    join(patches, out);
    return !patches.empty();
  }

  bool volumes(const std::string& type, const model::Node* node, model::TaskGroup& group, Obstacle& out) {
    const auto lacks = [&](const model::VolumeRequest& volume) {
      return !node || !node->host_volumes.contains(volume.source);
    };
    bool any = false;
    for (const auto& [name, volume] : group.volumes) any = any || (volume && volume->type == type && lacks(*volume));
    std::vector<json::Value> patches;
    std::erase_if(group.volumes, [&](const auto& entry) {
      const auto& [name, volume] = entry;
      if (!volume || volume->type != type || (any && !lacks(*volume))) return false;
      out.change += fmt::format("{}no volume \"{}\"", out.change.empty() ? "" : " and ", name);
      patches.push_back(file_.without_volume(name));
      out.detail += (out.detail.empty() ? "" : ", ") + volume->source;
      if (node && any && out.needed.empty()) {
        out.needed = fmt::format("host volume \"{}\"", volume->source);
        out.has = [source = volume->source](const model::Node& other) { return other.host_volumes.contains(source); };
      }
      return true;
    });
    join(patches, out);
    return !patches.empty();
  }

  bool port(const std::string& reason, const model::Node& node, model::TaskGroup& group, Obstacle& out) {
    const auto move = [&](model::NetworkResource& network) {
      for (auto port = network.reserved_ports.begin(); port != network.reserved_ports.end(); ++port) {
        if (!reason.ends_with(fmt::format(" {}={}", port->label, port->value))) continue;
        out.detail = holders_.of_port(node, port->value);
        out.patch = file_.with_dynamic_port(port->label, port->value);
        if (!out.patch.is_null())
          out.change = fmt::format("port \"{}\" dynamic instead of {}", port->label, port->value);
        model::Port moved = *port;
        moved.value = 0;
        network.reserved_ports.erase(port);
        network.dynamic_ports.push_back(std::move(moved));
        return true;
      }
      return false;
    };
    for (model::NetworkResource& network : group.networks)
      if (move(network)) return true;
    for (model::Task& task : group.tasks)
      if (task.resources)
        for (model::NetworkResource& network : task.resources->networks)
          if (move(network)) return true;
    return false;
  }

  /// Sets the group's request to the least allowed; the caller searches for the largest number that fits.
  bool amount(const std::string& reason, const model::Node& node, model::TaskGroup& group, Obstacle& out) {
    bool changed = false;
    const auto lower = [&](std::int64_t& value, std::int64_t least) {
      if (value > least) value = least, changed = true;
    };
    out.amount = reason == "cpu"      ? Amount::cpu
                 : reason == "cores"  ? Amount::cores
                 : reason == "memory" ? Amount::memory
                 : reason == "disk"   ? Amount::disk
                                      : Amount::none;
    if (out.amount == Amount::cores) out.detail = holders_.of_cores(node);
    if (out.amount == Amount::disk && group.ephemeral_disk) lower(group.ephemeral_disk->size_mb, 10);
    for (model::Task& task : group.tasks) {
      if (!task.resources) continue;
      model::Resources& r = *task.resources;
      if (out.amount == Amount::memory) lower(r.memory_mb, 10), lower(r.secrets_mb, 0);
      if (out.amount == Amount::cpu && r.cores == 0) lower(r.cpu, 1);
      if (out.amount == Amount::cpu || out.amount == Amount::cores) lower(r.cores, 1);
    }
    if (changed) out.change = reason;
    return changed;
  }

  /// Joins several edits of the file; no edit if one of them is impossible.
  static void join(const std::vector<json::Value>& patches, Obstacle& out) {
    std::vector<const json::Value*> all;
    for (const json::Value& patch : patches) all.push_back(&patch);
    if (patches.empty() || std::any_of(patches.begin(), patches.end(), [](const auto& p) { return p.is_null(); }))
      out.change.clear();
    else
      out.patch = combined(all);
  }

  const std::string name_;
  const JobFile file_;
  const Holders holders_;
  std::set<std::string> texts_;
  std::shared_ptr<match::Patterns> patterns_ = std::make_shared<match::Patterns>();
};

/// State of the search on one node: the job without the obstacles found so far.
struct Peeled {
  NodeObstacles found;
  std::shared_ptr<model::Job> job;
  std::string form;  ///< equal for equal jobs
  std::string reason;
  bool ended = false;
};

void leave_candidacy(const model::Job& job, const JobFile& file, Peeled& peeled) {
  const model::Node& node = *peeled.found.node;
  const bool elsewhere = !model::is_in_datacenters(node, job.datacenters.list());
  const bool other_pool = !model::is_in_pool(node, *job.node_pool);
  if (elsewhere || other_pool) {
    auto edited = std::make_shared<model::Job>(job);
    if (elsewhere) {
      Obstacle& o = peeled.found.obstacles.emplace_back();
      o.reason = fmt::format("datacenter {}", node.datacenter);
      o.patch = file.with_datacenter(node.datacenter);
      o.change = fmt::format("datacenter \"{}\" as well", node.datacenter);
      edited->datacenters.push_back(node.datacenter);
      peeled.form += "dc " + node.datacenter + '\n';
    }
    if (other_pool) {
      Obstacle& o = peeled.found.obstacles.emplace_back();
      o.reason = fmt::format("node pool {}", node.node_pool);
      o.patch = file.with_pool(node.node_pool);
      o.change = fmt::format("node pool \"{}\" instead of \"{}\"", node.node_pool, *job.node_pool);
      edited->node_pool = node.node_pool;
      peeled.form += "pool " + node.node_pool + '\n';
    }
    peeled.job = std::move(edited);
  }
  if (std::string state = unreadiness_of(node); !state.empty()) {
    Obstacle& o = peeled.found.obstacles.emplace_back();
    o.reason = std::move(state);
    o.readiness = true;
  }
}

/// Why the scheduler refuses a node if it is the only one; nullopt if it takes it.
std::optional<std::string> refusal_of(const server::DryRunAnswer& answer, const std::string& group) {
  if (!answer.error.empty()) return answer.error;
  const auto failed = answer.failed.find(group);
  if (failed == answer.failed.end()) return std::nullopt;
  for (const auto& [constraint, count] : failed->second.constraint_filtered) return constraint;
  for (const auto& [dimension, count] : failed->second.dimension_exhausted) return dimension;
  return "";
}

/// Tries one form of the job on each of the nodes `of`.
void ask(server::DryRun& dry_run, const std::vector<Peeled*>& of, const std::string& group, std::uint64_t order) {
  for (Peeled* peeled : of) {
    if (!dry_run.restrict_to(peeled->found.node->id)) {
      peeled->ended = true;
      continue;
    }
    static_cast<void>(dry_run.suppose_ready(peeled->found.node->id));
    const auto refusal = refusal_of(dry_run.decide(order), group);
    if (!refusal) peeled->found.all = peeled->ended = true;
    peeled->reason = refusal.value_or("");
  }
}

}  // namespace

model::SchedulerConfiguration without_preemption(std::optional<model::SchedulerConfiguration> config) {
  if (!config) config.emplace();
  config->preemption_config = {false, false, false, false};
  return *config;
}

model::Registration only(const model::Registration& registration, const std::string& group) {
  model::Registration out = registration;
  auto job = std::make_shared<model::Job>(*registration.job);
  job->task_groups.erase_if([&](const model::TaskGroup& other) { return other.name != group; });
  out.job = std::move(job);
  return out;
}

std::vector<std::string> all_groups_except(const std::string& group, const model::Job& job) {
  std::vector<std::string> out;
  for (const model::TaskGroup& other : job.task_groups)
    if (other.name != group) out.push_back(other.name);
  return out;
}

std::string unreadiness_of(const model::Node& node) {
  if (node.status != "ready") return node.status.empty() ? "not ready" : node.status;
  if (node.drain_strategy) return "draining";
  return node.scheduling_eligibility == "eligible" ? "" : "ineligible";
}

std::vector<NodeObstacles> find_obstacles(Loaded& loaded, const model::Registration& registration,
                                          const std::string& group, const std::vector<const model::Node*>& nodes) {
  const Question& question = loaded.question();
  const auto plain = without_preemption(question.state.scheduler_config);
  Mender mender(question, registration, group, nodes);
  const JobFile file(question.document, *registration.job, group);
  std::vector<Peeled> all(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    all[i].found.node = nodes[i];
    all[i].job = registration.job;
    leave_candidacy(*registration.job, file, all[i]);
  }
  for (std::size_t level = 0; level <= kObstaclesMost; ++level) {
    std::map<std::string_view, std::vector<Peeled*>> forms;
    for (Peeled& peeled : all)
      if (!peeled.ended) forms[peeled.form].push_back(&peeled);
    for (auto& [form, of] : forms) {
      model::Registration edited = registration;
      edited.job = of.front()->job;
      ask(loaded.about(edited, all_groups_except(group, *edited.job), plain), of, group, question.order);
      // Another group's update in place may have left the verdict on the class: then retries without these groups.
      std::erase_if(of, [](const Peeled* peeled) { return peeled->reason != kClassIneligible; });
      if (!of.empty()) ask(loaded.about(only(edited, group), {}, plain), of, group, question.order);
    }
    for (Peeled& peeled : all) {
      if (peeled.ended) continue;
      if (peeled.reason.empty() || level == kObstaclesMost) {
        peeled.ended = true;
        if (!peeled.reason.empty()) peeled.found.obstacles.emplace_back().reason = peeled.reason;
        continue;
      }
      auto job = std::make_shared<model::Job>(*peeled.job);
      bool done = false;
      Obstacle obstacle = mender.take_away(peeled.reason, *peeled.found.node, *job, done);
      peeled.ended = !done;
      peeled.form += obstacle.reason + '\n' + obstacle.change + '\n' +
                     (obstacle.change.empty() ? peeled.found.node->id : "") + '\n';
      peeled.job = std::move(job);
      const auto& known = peeled.found.obstacles;
      const bool again = std::any_of(known.begin(), known.end(), [&](const Obstacle& earlier) {  // not removable
        return earlier.reason == obstacle.reason;
      });
      if (!again || done) peeled.found.obstacles.push_back(std::move(obstacle));
    }
  }
  std::vector<NodeObstacles> out;
  for (Peeled& peeled : all) out.push_back(std::move(peeled.found));
  return out;
}

json::Value combined(const std::vector<const json::Value*>& patches) {
  json::Value out = json::Value::array();
  std::vector<const json::Value*> removals;
  std::set<std::string> made;  // empty lists added so far
  for (const json::Value* patch : patches)
    for (const json::Value& operation : patch->items()) {
      if (operation["op"].as_string() == "remove") {
        removals.push_back(&operation);
        continue;
      }
      const json::Value& value = operation["value"];
      if (value.is_array() && value.size() == 0 && !made.insert(operation["path"].as_string()).second) continue;
      out.push(operation);
    }
  std::sort(removals.begin(), removals.end(), [](const json::Value* a, const json::Value* b) {
    return later_place((*a)["path"].as_string(), (*b)["path"].as_string());
  });
  removals.erase(std::unique(removals.begin(), removals.end(),
                             [](const json::Value* a, const json::Value* b) { return *a == *b; }),
                 removals.end());
  for (const json::Value* removal : removals) out.push(*removal);
  return out;
}

}  // namespace berth::advice
