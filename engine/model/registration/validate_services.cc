// Services and their checks, of groups and of tasks (R-REG-160 to 170).
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/time.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

using base::go_quote;
using base::kSecond;
using json::Value;

constexpr const char* kThresholds[][2] = {{"SuccessBeforePassing", "success_before_passing"},
                                          {"FailuresBeforeCritical", "failures_before_critical"},
                                          {"FailuresBeforeWarning", "failures_before_warning"}};

bool needs_port(const std::string& type) { return type == "http" || type == "tcp" || type == "grpc"; }
bool is_on_update(const std::string& how) {
  return how.empty() || how == "require_healthy" || how == "ignore_warnings" || how == "ignore";
}

bool is_service_name(const std::string& name) {
  static const RE2 variable(R"(\$\{[^}]*\})"), valid("(?i)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");
  std::string resolved = name;
  RE2::GlobalReplace(&resolved, variable, "ENV-VAR");
  return RE2::FullMatch(resolved, valid);
}

enum class UrlForm : std::uint8_t { relative, absolute, none };

/// Parses a reference as Go's net/url does.
UrlForm url_form(const std::string& text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  const std::size_t fragment = std::min(text.find('#'), text.size()), query = std::min(text.find('?'), fragment);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return UrlForm::none;
    const bool escaped = c == '%' && (i < query || i > fragment);
    if (escaped && !(i + 2 < text.size() && is_hex(text[i + 1]) && is_hex(text[i + 2]))) return UrlForm::none;
  }
  static const RE2 scheme("[a-zA-Z][a-zA-Z0-9+.-]*:.*");
  if (text.starts_with(':')) return UrlForm::none;
  if (RE2::FullMatch(text, scheme)) return UrlForm::absolute;
  const std::size_t colon = text.find(':'), slash = std::min(text.find('/'), query);
  return colon < slash ? UrlForm::none : UrlForm::relative;
}

/// Rows 13: a check's restart block.
ErrorList check_restart_errors(const Value& restart) {
  ErrorList errors;
  if (const std::int64_t limit = restart["Limit"].as_int(); limit < 0)
    errors.add("limit must be greater than or equal to 0 but found " + std::to_string(limit));
  if (const std::int64_t grace = restart["Grace"].as_int(); grace < 0)
    errors.add("grace period must be greater than or equal to 0 but found " + std::to_string(grace));
  return errors;
}

std::string type_problem(const Value& check, bool consul) {
  const std::string& given = text_at(check, "Type");
  const std::string type = lower_case(given);
  if (type == "http") {
    const std::string& path = text_at(check, "Path");
    if (path.empty()) return "http type must have http path";
    const UrlForm form = url_form(path);
    if (form == UrlForm::none) return "http type must have valid http path";
    if (form == UrlForm::absolute) return "http type must have relative http path";
  } else if (consul && type == "script") {
    if (text_at(check, "Command").empty()) return "script type must have a valid script path";
  } else if (type != "tcp" && !(consul && type == "grpc")) {
    return "invalid check type (" + go_quote(type) + "), must be one of " +
           (consul ? "grpc, tcp, http, script" : "tcp, http");
  }
  return "";
}

std::string times_problem(const Value& check) {
  const std::int64_t interval = check["Interval"].as_int(), timeout = check["Timeout"].as_int();
  if (interval == 0) return "missing required value interval. Interval cannot be less than 1s";
  if (interval < kSecond) return "interval (" + base::duration_text(interval) + ") cannot be lower than 1s";
  if (timeout == 0) return "missing required value timeout. Timeout cannot be less than 1s";
  if (timeout < kSecond)
    return "timeout (" + base::duration_text(timeout) + ") is lower than required minimum timeout 1s";
  return "";
}

/// Rows 8 to 13.
std::string modes_problem(const Value& check) {
  if (const std::string& status = text_at(check, "InitialStatus");
      !status.empty() && status != "passing" && status != "warning" && status != "critical")
    return "invalid initial check state (" + status + R"(), must be one of "passing", "warning", "critical" or empty)";
  const std::string& mode = text_at(check, "AddressMode");
  if (mode == "auto") return "invalid address_mode \"auto\" - auto only valid for services";
  if (!mode.empty() && mode != "host" && mode != "driver" && mode != "alloc" && mode != "alloc_ipv6")
    return "invalid address_mode " + go_quote(mode);
  const std::string& on_update = text_at(check, "OnUpdate");
  if (!is_on_update(on_update))
    return R"(on_update must be "require_healthy", "ignore_warnings", or "ignore"; got )" + go_quote(on_update);
  const Value& restart = check["CheckRestart"];
  if (!restart.is_object()) return "";
  if (on_update == "ignore") return "on_update value \"ignore\" is not compatible with check_restart";
  if (on_update == "ignore_warnings" && !restart["IgnoreWarnings"].as_bool())
    return R"(on_update value "ignore_warnings" not supported with check_restart ignore_warnings value "false")";
  return check_restart_errors(restart).text();
}

/// Rows 14 to 16.
std::string consul_problem(const Value& check) {
  const std::string &given = text_at(check, "Type"), type = lower_case(given);
  if (check["Expose"].as_bool() && type != "http" && type != "grpc")
    return "expose may only be set on HTTP or gRPC checks";
  for (const auto& [key, word] : kThresholds)
    if (check[key].as_int() < 0) return std::string(word) + " must be non-negative";
  for (const auto& [key, word] : kThresholds)
    if (check[key].as_int() > 0 && !needs_port(given))
      return std::string(word) + " not supported for check of type " + go_quote(given);
  return text_at(check, "Notes").size() > 255 ? "notes must not be longer than 255 characters" : "";
}

/// Rows 17 to 22.
std::string nomad_problem(const Value& check) {
  if (check["Expose"].as_bool()) return "expose may only be set for Consul service checks";
  if (text_at(check, "OnUpdate") == "ignore_warnings")
    return "on_update may only be set to ignore_warnings for Consul service checks";
  if (check["CheckRestart"]["IgnoreWarnings"].as_bool())
    return "ignore_warnings on check_restart only supported for Consul service checks";
  if (text_at(check, "AddressMode") == "driver")
    return "address_mode = driver may only be set for Consul service checks";
  if (const std::string& method = text_at(check, "Method"); text_at(check, "Type") == "http" && !method.empty()) {
    const std::string upper = upper_case(method);
    static const std::set<std::string_view> known = {"GET",    "HEAD",    "POST",    "PUT",  "PATCH",
                                                     "DELETE", "CONNECT", "OPTIONS", "TRACE"};
    if (!known.contains(upper)) return "method type " + go_quote(method) + " not supported in Nomad http check";
  }
  for (const auto& [key, word] : kThresholds)
    if (check[key].as_int() != 0) return std::string(word) + " may only be set for Consul service checks";
  return text_at(check, "TLSServerName").empty() ? "" : "tls_server_name may only be set for Consul service checks";
}

/// The first failure of a check (R-REG-167).
std::string check_problem(const Value& service, const Value& check, bool consul) {
  const std::string prefix = "Check " + text_at(check, "Name") + " invalid: ";
  const std::string& type = text_at(check, "Type");
  if (needs_port(type) && text_at(check, "PortLabel").empty() && text_at(service, "PortLabel").empty())
    return prefix + "check requires a port but neither check nor service " + go_quote(text_at(service, "Name")) +
           " have a port";
  std::string problem;
  if (consul && type == "tcp" && service["Connect"]["SidecarService"].is_object())
    problem = "tcp checks are not valid for Connect enabled services";
  if (problem.empty()) problem = type_problem(check, consul);
  if (problem.empty()) problem = times_problem(check);
  if (problem.empty()) problem = modes_problem(check);
  if (problem.empty()) problem = consul ? consul_problem(check) : nomad_problem(check);
  if (problem.empty()) return "";
  return consul ? prefix + problem : problem;
}

void validate_consul_service(const Value& service, ErrorList& errors) {  // R-REG-165
  const std::string& name = text_at(service, "Name");
  const std::string& kind = text_at(service, "Kind");
  if (!kind.empty() && kind != "api-gateway" && kind != "ingress-gateway" && kind != "mesh-gateway" &&
      kind != "terminating-gateway")
    errors.add("Service " + name + " kind must be one of consul service kind or empty");
  if (std::string problem = connect_block_problem(service["Connect"]); !problem.empty()) errors.add(std::move(problem));
  if (!service["Connect"]["Native"].as_bool()) return;
  if (text_at(service, "TaskName").empty())
    errors.add("Service " + name + " is Connect Native and requires setting the task");
  if (text_at(service, "PortLabel").empty())
    errors.add("Service " + name + " is Connect Native and requires setting the port");
}

ErrorList service_errors(const Value& service) {  // R-REG-164
  ErrorList errors;
  const std::string &name = text_at(service, "Name"), &mode = text_at(service, "AddressMode"),
                    &on_update = text_at(service, "OnUpdate"), &provider = text_at(service, "Provider");
  if (!is_service_name(name))
    errors.add(
        "Service name must be valid per RFC 1123 and can contain only alphanumeric characters or dashes and "
        "must be no longer than 63 characters: " +
        go_quote(name));
  if (mode == "host" || mode == "driver" || mode == "alloc" || mode == "alloc_ipv6") {
    if (!text_at(service, "Address").empty()) errors.add("Service address_mode must be \"auto\" if address is set");
  } else if (!mode.empty() && mode != "auto") {
    errors.add(R"(Service address_mode must be "auto", "host", or "driver"; not )" + go_quote(mode));
  }
  if (!is_on_update(on_update))
    errors.add(R"(Service on_update must be "require_healthy", "ignore_warnings", or "ignore"; not )" +
               go_quote(on_update));
  const bool consul = provider == "consul";
  if (consul || provider == "nomad") {
    for (const Value& check : service["Checks"].items())
      if (std::string problem = check_problem(service, check, consul); !problem.empty()) errors.add(std::move(problem));
    if (consul)
      validate_consul_service(service, errors);
    else if (service["Connect"].is_object())
      errors.add("Service with provider nomad cannot include Connect blocks");
  } else {
    errors.add(R"(Service provider must be "consul", or "nomad"; not )" + go_quote(provider));
  }
  if (service["Identity"].is_object() && service["Identity"]["Audience"].size() == 0)
    errors.add("Service identity must provide at least one target aud value");
  return errors;
}

/// Checks what the group's own services refer to (R-REG-161).
void validate_group_service(const std::set<std::string_view>& tasks, const Value& service, ErrorList& errors) {
  const std::string& name = text_at(service, "Name");
  if (text_at(service, "AddressMode") == "driver")
    errors.add("service " + go_quote(name) +
               " cannot use address_mode=\"driver\", only services defined in a \"task\" block can use this mode");
  for (const Value& check : service["Checks"].items()) {
    const std::string& task = text_at(check, "TaskName");
    if (task.empty()) continue;
    if (text_at(check, "AddressMode") == "driver")
      errors.add("Check " + go_quote(name) + " invalid: cannot use address_mode=\"driver\", only checks defined in a " +
                 "\"task\" service block can use this mode");
    if (!tasks.contains(task))
      errors.add("Check " + text_at(check, "Name") + " invalid: refers to non-existent task " + task);
  }
}

/// Services seen so far in a group (R-REG-162).
class KnownServices {
 public:
  void take(const std::string& task, const Value& service) {
    const std::string &name = text_at(service, "Name"), &port = text_at(service, "PortLabel");
    std::string id = task + "->" + name;
    if (!port.empty()) id += ":" + port;
    if (!seen_.insert(task + '\0' + name + '\0' + port).second) twice_.insert(std::move(id));
    providers_.insert(text_at(service, "Provider"));
  }
  void report(ErrorList& errors) const {
    if (!twice_.empty())
      errors.add("Services are not unique: [" + base::join({twice_.begin(), twice_.end()}, " ") + "]");
    if (providers_.size() > 1)
      errors.add("Multiple service providers used: task group services must use the same provider");
  }

 private:
  std::set<std::string> seen_, twice_, providers_;
};

void add_labels(const NetworkResource& network, std::set<std::string>& labels) {
  for (const auto* ports : {&network.reserved_ports, &network.dynamic_ports})
    for (const Port& port : *ports) labels.insert(port.label);
}

/// Port labels that services of a task refer to, and the services that do (R-REG-168 to 170).
class PortUses {
 public:
  PortUses(const std::set<std::string>& of_group, const Task& task) : of_group_(of_group) {
    if (task.resources)
      for (const NetworkResource& network : task.resources->networks) add_labels(network, own_);
  }
  void use(const std::string& label, const std::string& service) {
    if (!of_group_.contains(label) && !own_.contains(label)) missing_[label].insert(service);
  }
  void report(ErrorList& errors) const {
    for (const auto& [label, services] : missing_)
      errors.add("port label " + go_quote(label) + " referenced by services " +
                 base::join({services.begin(), services.end()}, ", ") + " does not exist");
  }

 private:
  const std::set<std::string>& of_group_;
  std::set<std::string> own_;
  std::map<std::string, std::set<std::string>> missing_;
};

void validate_task_checks(const Value& service, PortUses& ports, ErrorList& errors) {  // R-REG-169
  const std::string& name = text_at(service, "Name");
  std::set<std::string_view> seen;
  for (const Value& check : service["Checks"].items()) {
    const std::string &label = text_at(check, "Name"), &mode = text_at(check, "AddressMode");
    if (!seen.insert(label).second) errors.add("check " + go_quote(label) + " is duplicate");
    if (mode == "alloc" || mode == "alloc_ipv6")
      errors.add("check " + go_quote(name) + " cannot use address_mode=" + go_quote(mode) +
                 ", only checks defined in a \"group\" service block can use this mode");
    if (!needs_port(text_at(check, "Type"))) continue;
    const std::string& own = text_at(check, "PortLabel");
    const std::string& port = own.empty() ? text_at(service, "PortLabel") : own;
    if (port.empty()) {
      errors.add("check " + go_quote(label) + " is missing a port");
      continue;
    }
    if (const auto number = base::parse_int64(port)) {
      if (mode != "driver")
        errors.add("check " + go_quote(label) + " cannot use a numeric port " + std::to_string(*number) +
                   " without setting address_mode=\"driver\"");
      else if (*number <= 0)
        errors.add("check " + go_quote(label) + " has invalid numeric port " + std::to_string(*number));
      continue;
    }
    ports.use(port, name);
  }
}

}  // namespace

ErrorList validate_group_services(const TaskGroup& group) {
  ErrorList errors;
  KnownServices known;
  std::set<std::string_view> tasks;
  for (const Task& task : group.tasks) {
    tasks.insert(task.name);
    for (const Value& service : task.services.items()) {
      if (const std::string& owner = text_at(service, "TaskName"); !owner.empty() && owner != task.name)
        errors.add("Service " + text_at(service, "Name") +
                   " is invalid: may only specify task the service belongs to, got " + go_quote(owner));
      for (const Value& check : service["Checks"].items())
        if (const std::string& owner = text_at(check, "TaskName"); !owner.empty() && owner != task.name)
          errors.add("Check " + text_at(check, "Name") +
                     " is invalid: may only specify task the check belongs to, got " + go_quote(owner));
      known.take(task.name, service);
    }
  }
  for (std::size_t i = 0; i < group.services.items().size(); ++i) {
    const Value& service = group.services.items()[i];
    known.take("group", service);
    if (const ErrorList own = service_errors(service); !own.empty())
      errors.add_nested("Service[" + std::to_string(i) + "] " + text_at(service, "Name") + " validation failed: ", own);
    else
      validate_group_service(tasks, service, errors);
  }
  known.report(errors);
  return errors;
}

ErrorList validate_script_checks(const TaskGroup& group) {
  ErrorList errors;
  for (const Value& service : group.services.items())
    if (text_at(service, "TaskName").empty())
      for (const Value& check : service["Checks"].items())
        if (text_at(check, "Type") == "script" && text_at(check, "TaskName").empty())
          errors.add("Service [" + group.name + "]->" + text_at(service, "Name") + " or Check " +
                     text_at(check, "Name") + " must specify task parameter");
  return errors;
}

std::set<std::string> port_labels(const TaskGroup& group) {
  std::set<std::string> out;
  if (!group.networks.empty()) add_labels(group.networks.front(), out);
  return out;
}

ErrorList validate_task_services(const std::set<std::string>& group_labels, const Task& task) {
  ErrorList errors;
  PortUses ports(group_labels, task);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < task.services.items().size(); ++i) {
    const Value& service = task.services.items()[i];
    const std::string &name = text_at(service, "Name"), &mode = text_at(service, "AddressMode"),
                      &port = text_at(service, "PortLabel");
    errors.add_nested("service[" + std::to_string(i) + "] " + go_quote(name) + " validation failed: ",
                      service_errors(service));
    if (mode == "alloc" || mode == "alloc_ipv6")
      errors.add("service " + go_quote(name) + " cannot use address_mode=" + go_quote(mode) +
                 ", only services defined in a \"group\" block can use this mode");
    if (!seen.insert(name + port).second) errors.add("service " + go_quote(name) + " is duplicate");
    if (service["Connect"].is_object())
      errors.add("service " + go_quote(name) +
                 " cannot have \"connect\" block, only services defined in a \"group\" block can");
    if (!port.empty() && !(mode == "driver" && base::parse_int64(port))) ports.use(port, name);
    validate_task_checks(service, ports, errors);
  }
  ports.report(errors);
  return errors;
}

}  // namespace berth::model
