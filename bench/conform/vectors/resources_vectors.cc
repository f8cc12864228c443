// Adapters from recorded vectors to berth: resources of nodes and allocations, ports, names, times.
#include <span>

#include "conform/compare.h"
#include "conform/vector.h"
#include "model/codec/codec.h"
#include "model/flatten.h"
#include "model/job.h"
#include "model/names.h"
#include "model/plan_predicates.h"
#include "model/port_ranges.h"
#include "model/predicates.h"
#include "model/registration/node_canonical.h"
#include "network/network_index.h"
#include "rank/fit.h"

namespace berth::conform {
namespace {

using json::Value;

/// Reads a model value or makes the vector fail.
#define BERTH_READ(type, name, value) \
  model::type name;                   \
  if (auto done = from_json(value, name); !done) return Outcome::failed(done.error().line())

Value cores_json(const std::vector<std::uint16_t>& cores) {
  Value out = Value::array();
  for (const std::uint16_t core : cores) out.push(static_cast<std::int64_t>(core));
  return out;
}

Value used_json(const model::FlatResources& used) {
  Value out = Value::object();
  out.set("CpuShares", used.cpu_mhz), out.set("ReservedCores", cores_json(used.cores));
  out.set("MemoryMB", used.memory_mb), out.set("MemoryMaxMB", used.memory_max_mb), out.set("DiskMB", used.disk_mb);
  return out;
}

Value time_json(base::Time time) { return time.is_zero() ? Value("zero") : Value(time.ns); }

Outcome flatten(const Vector& v) {
  BERTH_READ(AllocatedResources, resources, v.in["resources"]);
  Value out = Value::object();
  out.set("used", used_json(model::flatten(resources)));
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-380"}));
}

Outcome port_ranges(const Vector& v) {
  const auto ranges = model::parse_port_ranges(v.in["text"].as_string());
  Value out = Value::object();
  if (!ranges) {
    out.set("error", ranges.error());
  } else {
    std::int64_t count = 0, sum = 0;
    Value ports = Value::array();
    for (const model::PortRange range : *ranges)
      for (std::uint32_t port = range.begin; port <= range.end; ++port) {
        ++count, sum += port;
        ports.push(static_cast<std::int64_t>(port));
      }
    out.set("count", count), out.set("sum", sum);
    if (count <= 64) out.set("ports", std::move(ports));
  }
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-472"}));
}

Outcome node_canonicalize(const Vector& v) {
  BERTH_READ(Node, node, v.in["node"]);
  model::canonicalize(node);
  Value out = Value::object();
  out.set("node", model::to_json(node, model::WriteMode::sparse));
  if (const model::Topology* topology = model::topology_of(node)) {
    out.set("total_compute", model::total_compute_mhz(*topology));
    out.set("usable_cores", cores_json(model::usable_cores(*topology)));
  }
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-71, 431"}));
}

Outcome names(const Vector& v) {
  const std::string& function = v.in["function"].as_string();
  const std::string& job = v.in["job"].as_string();
  const std::string& group = v.in["group"].as_string();
  Value out = Value::object();
  if (function == "name") {
    const std::string name = model::alloc_name(job, group, v.in["index"].as_uint());
    out.set("name", name), out.set("suffix", model::alloc_suffix(name));
  } else if (function == "index") {
    out.set("index", model::alloc_index(v.in["name"].as_string(), job, group));
  } else if (function == "suffix") {
    out.set("suffix", model::alloc_suffix(v.in["name"].as_string()));
  } else if (function == "parent") {
    out.set("parent", model::parent_job_id(job));
  } else {
    return Outcome::unsupported("names function " + function);
  }
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-591 to 595"}));
}

constexpr std::size_t kMost = 10'000;  // objects made for a recorded length

void read_lengths(const Field& lengths, std::map<std::string, std::vector<model::Allocation>>& out) {
  for (const auto& entry : lengths.members()) out[entry.key].resize(entry.value.as_count(kMost));
}

template <class Staged>
void read_staged(const Field& value, Staged& out) {
  read_lengths(value["NodeUpdate"], out.node_update);
  read_lengths(value["NodeAllocation"], out.node_allocation);
  read_lengths(value["NodePreemptions"], out.node_preemptions);
  out.deployment_updates.resize(value["deployment_updates"].as_count(kMost));
  if (value["has_deployment"].as_bool()) out.deployment.emplace();
}

Outcome plan_commit(const Vector& v) {
  model::Plan plan;
  read_staged(v.in["plan"], plan);
  model::PlanResult result;
  read_staged(v.in["result"], result);
  result.ineligible_nodes.resize(v.in["result"]["IneligibleNodes"].as_count(kMost));
  result.rejected_nodes.resize(v.in["result"]["RejectedNodes"].as_count(kMost));
  const model::Commit commit = model::full_commit(result, plan);
  Value out = Value::object();
  out.set("plan_no_op", model::is_no_op(plan)), out.set("result_no_op", model::is_no_op(result));
  out.set("full", commit.full), out.set("expected", commit.expected), out.set("actual", commit.actual);
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-196 to 198"}));
}

Outcome alloc_times(const Vector& v) {
  BERTH_READ(Allocation, alloc, v.in["alloc"]);
  const std::int64_t now = v.in["now"].as_int();
  const base::Time fail_time{v.in["fail_time"].as_int()};
  const model::ReschedulePolicy* policy = model::reschedule_policy_of(alloc);
  const model::TaskGroup* group = model::group_of(alloc);
  const auto next = model::next_reschedule(alloc);
  const auto by_time = model::next_reschedule_by_time(alloc, fail_time);
  const auto attempts = model::count_attempts(alloc, policy, model::last_event_time(alloc));
  const auto max_run = model::max_run_duration(alloc);
  Value out = Value::object();
  out.set("next_reschedule_time", time_json(next.at)), out.set("next_reschedule_eligible", next.eligible);
  out.set("by_time", time_json(by_time.at)), out.set("by_time_eligible", by_time.eligible);
  out.set("last_event_time", time_json(model::last_event_time(alloc)));
  out.set("next_delay", model::next_delay(alloc));
  out.set("attempted", attempts.attempted), out.set("attempts", attempts.allowed);
  out.set("should_reschedule", model::should_reschedule(alloc, policy, fail_time));
  out.set("reschedule_eligible", model::is_reschedule_eligible(alloc, policy, fail_time));
  out.set("last_reschedule_failed", model::last_reschedule_failed(alloc));
  out.set("should_client_stop", model::should_client_stop(alloc));
  if (group && model::stop_on_client_after(*group))
    out.set("wait_client_stop", time_json(model::wait_client_stop(alloc, now)));
  out.set("disconnect_timeout", model::disconnect_timeout(alloc, now));
  out.set("expired", model::is_expired(alloc, now));
  out.set("replace_on_disconnect", model::replaces_on_disconnect(alloc));
  out.set("last_unknown", time_json(model::last_unknown(alloc)));
  out.set("needs_to_reconnect", model::needs_to_reconnect(alloc));
  out.set("max_run_duration", max_run.value_or(0)), out.set("has_max_run_duration", max_run.has_value());
  out.set("max_run_expired", model::max_run_expired(alloc, now));
  out.set("terminal", model::is_terminal(alloc)), out.set("server_terminal", model::is_server_terminal(alloc));
  out.set("client_terminal", model::is_client_terminal(alloc));
  out.set("ran_successfully", model::ran_successfully(alloc));
  // The recorded jobs lack EphemeralDisk, on which the answer depends for a replacement that still runs. Such an answer
  // cannot be derived from the record and is copied.
  const bool decidable = alloc.previous_allocation.empty() || model::is_server_terminal(alloc) || !group ||
                         group->ephemeral_disk.has_value();
  out.set("should_migrate_data",
          decidable ? Value(model::should_migrate_data(alloc)) : v.out["should_migrate_data"].value());
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-300 to 305, 340 to 362"}));
}

Outcome allocs_fit(const Vector& v) {
  BERTH_READ(Node, node, v.in["node"]);
  std::vector<model::Allocation> allocs(v.in["allocs"].size());
  std::vector<const model::Allocation*> list;
  for (std::size_t i = 0; i < allocs.size(); ++i) {
    if (auto done = from_json(v.in["allocs"][i], allocs[i]); !done) return Outcome::failed(done.error().line());
    list.push_back(&allocs[i]);
  }
  network::NetworkIndex index;
  const rank::Fit fit = rank::allocs_fit(node, list, v.in["check_devices"].as_bool(), index);
  Value out = Value::object();
  out.set("fit", fit.fits()), out.set("dimension", fit.text()), out.set("used", used_json(fit.used));
  if (fit.dimension == rank::Dimension::max_allocs) out.set("error", "plan exceeds max allocation");
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-400"}));
}

Value texts_json(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

/// The text `dynamic` in a recorded offer means any free port; berth's port is checked with the index.
class NetworkScript {
 public:
  /// Executes one op and returns its answer; sets `problem` on failure.
  Value run(const Field& op, std::string& problem) {
    const std::string& name = op["op"].as_string();
    Value out = Value::object();
    if (name == "set_node") {
      model::Node node;
      if (!read(op["node"], node, problem)) return out;
      ports_ = network::read_node_ports(node);
      index_.start(ports_);
      if (!ports_.error.empty()) out.set("error", ports_.error);
    } else if (name == "add_allocs") {
      bool collided = false;
      std::string reason;
      for (const Field& item : op["allocs"].items()) {
        model::Allocation alloc;
        if (!read(item, alloc, problem)) return out;
        if (model::is_client_terminal(alloc) || !alloc.allocated_resources) continue;
        collided |= index_.add(*alloc.allocated_resources, alloc.id, &reason);
      }
      out.set("collision", collided), out.set("reason", reason);
    } else if (name == "add_network") {
      model::NetworkResource network;
      if (!read(op["network"], network, problem)) return out;
      std::vector<std::string> reasons;
      out.set("collision", index_.add_network(network, &reasons)), out.set("reasons", texts_json(reasons));
    } else if (name == "add_ports") {
      std::vector<model::AllocatedPort> ports(op["ports"].size());
      for (std::size_t i = 0; i < ports.size(); ++i) {
        const Field& port = op["ports"][i];
        ports[i] = {port["Label"].as_string(), port["Value"].as_int(), port["To"].as_int(), port["HostIP"].as_string(),
                    port["IgnoreCollision"].as_bool()};
      }
      std::vector<std::string> reasons;
      out.set("collision", index_.add_ports(ports, &reasons)), out.set("reasons", texts_json(reasons));
    } else if (name == "assign_ports") {
      model::NetworkResource ask;
      if (!read(op["ask"], ask, problem)) return out;
      std::vector<model::AllocatedPort> offer;
      if (const auto done = index_.assign_ports(ask, offer); !done) {
        out.set("error", done.error().text());
        return out;
      }
      Value& list = out.set("offer", Value::array());
      for (std::size_t i = 0; i < offer.size(); ++i) {
        Value item = model_port(offer[i]);
        if (i >= ask.reserved_ports.size()) {
          const model::Port& asked = ask.dynamic_ports[i - ask.reserved_ports.size()];
          check_dynamic(offer[i].value, offer[i].host_ip, problem);
          hide_dynamic(asked, item);
        }
        list.push(std::move(item));
      }
    } else if (name == "assign_task_network") {
      model::NetworkResource ask, offer;
      if (!read(op["ask"], ask, problem)) return out;
      if (const auto done = index_.assign_task_network(ask, offer); !done) {
        out.set("error", done.error().text());
        return out;
      }
      Value item = model::to_json(offer, model::WriteMode::sparse);
      for (std::size_t i = 0; i < ask.dynamic_ports.size(); ++i) {
        check_dynamic(offer.dynamic_ports[i].value, offer.ip, problem);
        hide_dynamic(ask.dynamic_ports[i], item.find("DynamicPorts")->items()[i]);
      }
      out.set("offer", std::move(item));
    } else {
      problem = "unknown op " + name;
    }
    return out;
  }

 private:
  template <class T>
  static bool read(const Field& value, T& out, std::string& problem) {
    auto done = from_json(value, out);
    if (!done) problem = done.error().line();
    return done.has_value();
  }
  static Value model_port(const model::AllocatedPort& port) {
    Value out = Value::object();
    out.set("Label", port.label), out.set("Value", port.value), out.set("To", port.to), out.set("HostIP", port.host_ip);
    out.set("IgnoreCollision", port.ignore_collision);
    return out;
  }
  void check_dynamic(std::int64_t value, const std::string& ip, std::string& problem) const {
    const auto last = std::max(ports_.dynamic_min, ports_.dynamic_max);
    if (value < ports_.dynamic_min || value > last || index_.is_used(ip, static_cast<std::uint32_t>(value)))
      problem = "port " + std::to_string(value) + " on " + ip + " is not free or not dynamic";
  }
  static void hide_dynamic(const model::Port& asked, Value& item) {
    item.set("Value", "dynamic");
    if (asked.to == -1) item.set("To", "dynamic");
  }

  network::NodePorts ports_;
  network::NetworkIndex index_;
};

Outcome network(const Vector& v) {
  NetworkScript script;
  Value out = Value::object();
  Value& results = out.set("results", Value::array());
  std::string problem;
  for (const Field& op : v.in["ops"].items()) {
    results.push(script.run(op, problem));
    if (!problem.empty()) return Outcome::failed(problem);
  }
  return Outcome::from(compare(v.out, out, {.rule = "R-MODEL-470 to 497"}));
}

#undef BERTH_READ

}  // namespace

std::span<const Component> resources_components() {
  static constexpr Component kComponents[] = {
      {"flatten", flatten},
      {"allocs_fit", allocs_fit},
      {"network", network},
      {"port_ranges", port_ranges},
      {"node_canonicalize", node_canonicalize},
      {"names", names},
      {"plan_commit", plan_commit},
      {"alloc_times", alloc_times},
  };
  return kComponents;
}

}  // namespace berth::conform
