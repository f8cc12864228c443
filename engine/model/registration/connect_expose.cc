// Checks of a sidecar's service that are reached through the proxy: a port and a path each (R-REG-85 to 91).
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "base/time.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/job_canonical.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

using json::Value;

bool is_exposed(const Value& check) {
  const std::string type = lower_case(text_at(check, "Type"));
  return check["Expose"].as_bool() && (type == "http" || type == "grpc") && text_at(check, "Path").starts_with('/');
}

std::string joined(const Value& list) {
  std::string out;
  for (const Value& item : list.items()) out += item.as_string();
  return out;
}

/// Six digits that distinguish the check from other checks of its service (R-REG-91).
std::string check_digits(const Value& service, std::size_t position, const Value& check) {
  base::Sha256 sum;
  sum.add(text_at(service, "Name") + "_" + std::to_string(position));
  for (const char* key : {"Name", "Type", "Command"}) sum.add(text_at(check, key));
  sum.add(joined(check["Args"]));
  for (const char* key : {"Path", "Protocol", "PortLabel"}) sum.add(text_at(check, key));
  for (const char* key : {"Interval", "Timeout"}) sum.add(base::duration_text(check[key].as_int()));
  for (const char* key : {"Method", "Body", "OnUpdate", "Notes"}) sum.add(text_at(check, key));
  if (check["TLSSkipVerify"].as_bool()) sum.add("true");
  sum.add(text_at(check, "TLSServerName"));
  std::vector<std::string> headers;
  for (const json::Member& header : check["Header"].members()) headers.push_back(header.key + joined(header.value));
  std::sort(headers.begin(), headers.end());
  sum.add(base::join(headers, ""));
  sum.add(text_at(check, "AddressMode"));
  sum.add(text_at(check, "GRPCService"));
  if (check["GRPCUseTLS"].as_bool()) sum.add("true");
  for (const auto& [key, word] :
       {std::pair{"SuccessBeforePassing", "success:"}, std::pair{"FailuresBeforeCritical", "failures:"},
        std::pair{"FailuresBeforeWarning", "failures-before-warning:"}})
    if (const std::int64_t count = check[key].as_int(); count != 0) sum.add(word + std::to_string(count));
  return sum.hex().substr(0, 6);
}

/// The port that the service itself listens on; 0: it cannot be known before the allocation is placed (R-REG-88).
std::int64_t service_port(const TaskGroup& group, const std::string& label) {
  for (const NetworkResource& network : group.networks)
    for (const auto* ports : {&network.reserved_ports, &network.dynamic_ports})
      for (const Port& port : *ports)
        if (port.label == label && port.value > 0) return port.value;
  const auto number = base::parse_int64(label);
  return number && *number > 0 ? *number : 0;
}

std::string path_key(const Value& path) {
  return text_at(path, "Path") + '\0' + text_at(path, "Protocol") + '\0' + text_at(path, "ListenerPort") + '\0' +
         std::to_string(path["LocalPathPort"].as_int());
}

/// Exposes each check of a service that requests it; returns the text of the first failure.
std::string expose_checks(TaskGroup& group, Value& service) {
  Value* checks = service.find("Checks");
  if (!checks || !checks->is_array()) return "";
  std::unordered_set<std::string> known;
  bool indexed = false;
  for (std::size_t i = 0; i < checks->items().size(); ++i) {
    Value& check = checks->items()[i];
    if (!is_exposed(check)) continue;
    if (std::string problem = connect_network_problem("connect expose check", group, false); !problem.empty())
      return problem;
    if (text_at(check, "PortLabel").empty()) {
      const std::string label =
          "svc_" + text_at(service, "Name") + "_ck_" + check_digits(std::as_const(service), i, std::as_const(check));
      group.networks.front().dynamic_ports.push_back(Port{.label = label, .to = -1, .host_network = "default"});
      check.set("PortLabel", label);
    }
    const std::int64_t local = service_port(group, text_at(service, "PortLabel"));
    if (local == 0)
      return "unable to determine local service port for service check " + group.name + "->" +
             text_at(service, "Name") + "->" + text_at(check, "Name");
    Value path = Value::object();
    path.set("Path", text_at(check, "Path")), path.set("Protocol", text_at(check, "Protocol"));
    path.set("LocalPathPort", local), path.set("ListenerPort", text_at(check, "PortLabel"));
    Value& sidecar = object_at(object_at(service, "Connect"), "SidecarService");
    Value& expose = object_at(object_at(sidecar, "Proxy"), "Expose");
    Value* paths = expose.find("Paths");
    if (!paths || !paths->is_array()) paths = &expose.set("Paths", Value::array());
    if (!std::exchange(indexed, true))
      for (const Value& there : paths->items()) known.insert(path_key(there));
    if (known.insert(path_key(std::as_const(path))).second) paths->push(std::move(path));
  }
  return "";
}

}  // namespace

std::string expand_exposed_checks(Job& job) {
  for (TaskGroup& group : job.task_groups) {
    if (!group.services.is_array()) continue;
    for (Value& service : group.services.items())
      if (std::as_const(service)["Connect"]["SidecarService"].is_object())
        if (std::string problem = expose_checks(group, service); !problem.empty()) return problem;
  }
  return "";
}

}  // namespace berth::model
