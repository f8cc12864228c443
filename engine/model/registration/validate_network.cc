// Networks and ports of a group (R-MODEL-254).
#include <re2/re2.h>

#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "model/job.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

constexpr std::int64_t kPortMax = 65'535;

/// Taken static ports per host network, and the label that took each.
class StaticPorts {
 public:
  void take(const Port& port, const std::string& owner, bool may_share, ErrorList& errors) {
    auto& taken = taken_[port.host_network];
    const auto [at, fresh] = taken.emplace(port.value, owner);
    if (!fresh && !may_share)
      errors.add("Static port " + std::to_string(port.value) + " already reserved by " + at->second);
  }

 private:
  std::map<std::string, std::map<std::int64_t, std::string>> taken_;
};

void check_label(const Port& port, const char* owner, std::map<std::string, std::string>& labels, ErrorList& errors) {
  const auto [at, fresh] = labels.emplace(port.label, owner);
  if (!fresh) errors.add("Port label " + port.label + " already in use by " + at->second);
}

void check_values(const NetworkResource& network, const Port& port, bool is_static, ErrorList& errors) {
  if (port.value > kPortMax)
    errors.add("Port " + port.label + " (" + std::to_string(port.value) + ") cannot be greater than 65535");
  if (port.to < -1)
    errors.add("Port " + base::go_quote(port.label) + " cannot be mapped to negative value " + std::to_string(port.to));
  else if (port.to > kPortMax)
    errors.add("Port " + base::go_quote(port.label) + " cannot be mapped to a port (" + std::to_string(port.to) +
               ") greater than 65535");
  if (is_static && port.ignore_collision && !network.mode.empty() && network.mode != "host")
    errors.add("Port " + base::go_quote(port.label) + " collision may not be ignored on non-host network mode " +
               base::go_quote(network.mode));
}

void check_cni(const NetworkResource& network, std::set<std::string>& seen, ErrorList& errors) {
  std::map<std::string_view, const std::string*> args;  // Nomad checks them in random order
  for (const json::Member& arg : network.cni["Args"].members()) args[arg.key] = &arg.value.as_string();
  for (const auto& [key, value] : args) {
    if (!seen.emplace(key).second) errors.add("duplicate CNI arg " + base::go_quote(key));
    if (key.find(';') != std::string_view::npos)
      errors.add("invalid ';' character in CNI arg key " + base::go_quote(key));
    if (value->find(';') != std::string::npos)
      errors.add("invalid ';' character in CNI arg value " + base::go_quote(*value));
  }
}

}  // namespace

ErrorList validate_networks(const TaskGroup& group) {
  static const RE2 host_name(R"(([a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}))"
                             R"((\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*\.?)");
  ErrorList errors;
  std::map<std::string, std::string> labels;
  StaticPorts ports;
  std::set<std::string> cni_args;
  for (const NetworkResource& network : group.networks) {
    for (const Port& port : network.reserved_ports) {
      check_label(port, "taskgroup network", labels, errors);
      if (port.value <= kPortMax) ports.take(port, "taskgroup network:" + port.label, port.ignore_collision, errors);
      check_values(network, port, true, errors);
    }
    for (const Port& port : network.dynamic_ports) {
      check_label(port, "taskgroup network", labels, errors);
      check_values(network, port, false, errors);
    }
    check_cni(network, cni_args, errors);
    if (!network.hostname.empty() && network.hostname.find("${") == std::string::npos &&
        (network.hostname.size() > 254 || !RE2::FullMatch(network.hostname, host_name)))
      errors.add("Hostname is not a valid DNS name");
  }
  for (const Task& task : group.tasks) {
    if (!task.resources) continue;
    for (const NetworkResource& network : task.resources->networks) {
      for (const Port& port : network.reserved_ports) {
        if (const auto at = labels.find(port.label); at != labels.end() && at->second == "taskgroup network")
          errors.add("Port label " + port.label + " already in use by " + at->second);
        if (port.value > kPortMax)
          errors.add("Port " + port.label + " (" + std::to_string(port.value) + ") cannot be greater than 65535");
        else
          ports.take(port, task.name + ":" + port.label, false, errors);
      }
      for (const Port& port : network.dynamic_ports)
        if (const auto at = labels.find(port.label); at != labels.end() && at->second == "taskgroup network")
          errors.add("Port label " + port.label + " already in use by " + at->second);
    }
  }
  return errors;
}

}  // namespace berth::model
