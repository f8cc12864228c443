// Connect: requirements for groups with sidecars, gateways or native services (R-REG-110 to 118).
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/job_canonical.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

using base::go_quote;
using json::Value;

std::string in_group(const TaskGroup& group) { return " in group " + go_quote(group.name); }

/// Detects two upstreams of a group's sidecars that listen on the same address (R-REG-112).
class UpstreamAddresses {
 public:
  std::string take(const TaskGroup& group, const Value& service) {
    for (const Value& upstream : service["Connect"]["SidecarService"]["Proxy"]["Upstreams"].items()) {
      const std::string& socket = text_at(upstream, "LocalBindSocketPath");
      const std::string key = socket.empty() ? join_host_port(text_at(upstream, "LocalBindAddress"),
                                                              std::to_string(upstream["LocalBindPort"].as_int()))
                                             : socket;
      const auto [at, fresh] = owners_.emplace(key, text_at(service, "Name"));
      if (!fresh)
        return "Consul Connect services " + go_quote(text_at(service, "Name")) + " and " + go_quote(at->second) +
               in_group(group) + " using same address for upstreams (" + key + ")";
    }
    return "";
  }

 private:
  std::unordered_map<std::string, std::string> owners_;
};

/// Checks what a transparent proxy refers to in its group (R-REG-113).
std::string transparent_proxy_problem(const TaskGroup& group, const std::set<std::string_view>& reserved,
                                      const Value& proxy) {
  if (!proxy["NoDNS"].as_bool() &&
      std::any_of(group.networks.begin(), group.networks.end(),
                  [](const NetworkResource& network) { return network.dns.is_object() && network.dns.size() > 0; }))
    return "Consul Connect transparent proxy cannot be used with network.dns unless no_dns=true";
  for (const Value& port : proxy["ExcludeInboundPorts"].items()) {
    const std::string& text = port.as_string();
    const auto number = base::parse_uint64(text);
    if ((!number || *number > 65'535) && !reserved.contains(text))
      return "Consul Connect transparent proxy port " + go_quote(text) +
             " must be numeric or one of network.port labels";
  }
  return "";
}

std::string group_connect_problem(const TaskGroup& group) {
  TasksByName tasks;
  for (std::size_t i = 0; i < group.tasks.size(); ++i) tasks.emplace(group.tasks[i].name, i);
  std::size_t blocks = 0, transparent = 0;
  for (const Value& service : group.services.items()) {
    const Value& connect = service["Connect"];
    if (!connect.is_object()) continue;
    ++blocks;
    const std::string& name = text_at(service, "Name");
    if (connect["SidecarService"].is_object()) {
      transparent += connect["SidecarService"]["Proxy"]["TransparentProxy"].is_object();
      if (std::string problem = connect_network_problem("connect sidecar", group, false); !problem.empty())
        return problem;
      if (has_upper_case(name))
        return "Consul Connect service name " + go_quote(name) + in_group(group) +
               " must not contain uppercase characters";
      if (has_upper_case(group.name))
        return "Consul Connect group " + go_quote(group.name) + " with service " + go_quote(name) +
               " must not contain uppercase characters";
    } else if (connect["Native"].as_bool()) {
      if (NativeTask backing = native_task(group, tasks, service); !backing.task) return std::move(backing.problem);
    } else if (connect["Gateway"].is_object()) {
      if (std::string problem = connect_network_problem("connect gateway", group, true); !problem.empty())
        return problem;
    }
  }
  UpstreamAddresses upstreams;
  std::set<std::string_view> reserved;
  for (const NetworkResource& network : group.networks)
    for (const Port& port : network.reserved_ports) reserved.insert(port.label);
  for (const Value& service : group.services.items()) {
    if (std::string problem = upstreams.take(group, service); !problem.empty()) return problem;
    const Value& proxy = service["Connect"]["SidecarService"]["Proxy"]["TransparentProxy"];
    if (!proxy.is_object()) continue;
    if (std::string problem = transparent_proxy_problem(group, reserved, proxy); !problem.empty()) return problem;
  }
  if (transparent > 0 && blocks > 1) return "Consul Connect transparent proxy requires there is only one connect block";
  return "";
}

bool exposes(const Value& service) {
  const json::Array& checks = service["Checks"].items();
  return std::any_of(checks.begin(), checks.end(), [](const Value& check) { return check["Expose"].as_bool(); });
}

std::string group_expose_problem(const TaskGroup& group) {
  const json::Array& services = group.services.items();
  if (std::any_of(services.begin(), services.end(), exposes))
    if (std::string problem = connect_network_problem("connect expose check", group, false); !problem.empty())
      return problem;
  const auto first_exposed = [](const Value& service) -> const Value* {
    for (const Value& check : service["Checks"].items())
      if (check["Expose"].as_bool()) return &check;
    return nullptr;
  };
  for (const Value& service : services)
    if (const Value* check = first_exposed(service); check && !service["Connect"]["SidecarService"].is_object())
      return "exposed service check " + group.name + "->" + text_at(service, "Name") + "->" + text_at(*check, "Name") +
             " requires use of sidecar_proxy";
  for (const Task& task : group.tasks)
    for (const Value& service : task.services.items())
      if (const Value* check = first_exposed(service))
        return "exposed service check " + group.name + "[" + task.name + "]->" + text_at(service, "Name") + "->" +
               text_at(*check, "Name") + " is not a task-group service";
  return "";
}

// The connect block itself (R-REG-117).

/// Go's error for a number in 0..65535, or "".
std::string user_id_problem(const std::string& text) {
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return "invalid user ID " + go_quote(text) + ": invalid syntax";
  const auto number = base::parse_uint64(text);
  return number && *number <= 65'535 ? "" : "invalid user ID " + go_quote(text) + ": value out of range";
}

ErrorList transparent_proxy_errors(const Value& proxy) {
  ErrorList errors;
  for (const Value& cidr : proxy["ExcludeOutboundCIDRs"].items())
    if (const std::string problem = prefix_problem(cidr.as_string()); !problem.empty())
      errors.add("could not parse transparent proxy excluded outbound CIDR as network prefix: " + problem);
  if (const std::string& uid = text_at(proxy, "UID"); !uid.empty())
    if (const std::string problem = user_id_problem(uid); !problem.empty())
      errors.add("transparent proxy block has invalid UID field: " + problem);
  for (const Value& uid : proxy["ExcludeUIDs"].items())
    if (const std::string problem = user_id_problem(uid.as_string()); !problem.empty())
      errors.add("transparent proxy block has invalid ExcludeUIDs field: " + problem);
  return errors;
}

std::string gateway_proxy_problem(const Value& proxy) {
  if (!proxy.is_object()) return "";
  if (proxy["ConnectTimeout"].is_null()) return "Consul Gateway Proxy connection_timeout must be set";
  if (const std::string& type = text_at(proxy, "EnvoyDNSDiscoveryType");
      !type.empty() && type != "STRICT_DNS" && type != "LOGICAL_DNS")
    return "Consul Gateway Proxy Envoy DNS Discovery type must be STRICT_DNS or LOGICAL_DNS";
  for (const json::Member& entry : proxy["EnvoyGatewayBindAddresses"].members()) {
    if (text_at(entry.value, "Address").empty()) return "Consul Gateway Bind Address must be set";
    if (const std::int64_t port = entry.value["Port"].as_int(); port <= 0 && port != -1)
      return "Consul Gateway Bind Address must set valid Port";
  }
  return "";
}

std::string ingress_service_problem(const std::string& protocol, const Value& service) {
  const std::string& name = text_at(service, "Name");
  const bool hosts = service["Hosts"].size() > 0;
  if (name.empty()) return "Consul Ingress Service requires a name";
  if (protocol == "tcp") {
    if (name == "*") return "Consul Ingress Service doesn't support wildcard name for \"tcp\" protocol";
    if (hosts) return "Consul Ingress Service doesn't support associating hosts to a service for the \"tcp\" protocol";
  } else if (name == "*" && hosts) {
    return "Consul Ingress Service with a wildcard \"*\" service name can not also specify hosts";
  }
  return "";
}

std::string ingress_problem(const Value& ingress) {
  if (!ingress.is_object()) return "";
  if (ingress["Listeners"].size() == 0) return "Consul Ingress Gateway requires at least one listener";
  for (const Value& listener : ingress["Listeners"].items()) {
    const std::string& protocol = text_at(listener, "Protocol");
    if (listener["Port"].as_int() <= 0) return "Consul Ingress Listener requires valid Port";
    if (protocol != "tcp" && protocol != "http" && protocol != "http2" && protocol != "grpc")
      return "Consul Ingress Listener requires protocol of tcp, http, http2, grpc, got " + go_quote(protocol);
    if (listener["Services"].size() == 0) return "Consul Ingress Listener requires one or more services";
    for (const Value& service : listener["Services"].items())
      if (std::string problem = ingress_service_problem(protocol, service); !problem.empty()) return problem;
  }
  return "";
}

std::string terminating_problem(const Value& terminating) {
  if (!terminating.is_object()) return "";
  if (terminating["Services"].size() == 0) return "Consul Terminating Gateway requires at least one service";
  for (const Value& service : terminating["Services"].items()) {
    const bool ca = !text_at(service, "CAFile").empty(), cert = !text_at(service, "CertFile").empty(),
               key = !text_at(service, "KeyFile").empty();
    if (text_at(service, "Name").empty()) return "Consul Linked Service requires Name";
    if ((cert || key) && !ca) return "Consul Linked Service TLS requires CAFile";
    if (cert != key) return "Consul Linked Service TLS Cert and Key must both be set";
    if (!text_at(service, "SNI").empty() && !ca) return "Consul Linked Service TLS SNI requires CAFile";
  }
  return "";
}

std::string gateway_problem(const Value& gateway) {
  for (std::string problem : {gateway_proxy_problem(gateway["Proxy"]), ingress_problem(gateway["Ingress"]),
                              terminating_problem(gateway["Terminating"])})
    if (!problem.empty()) return problem;
  const int kinds = gateway["Ingress"].is_object() + gateway["Terminating"].is_object() + gateway["Mesh"].is_object();
  return kinds == 1 ? "" : "One Consul Gateway Configuration must be set";
}

/// Go's error for an address; `at`: from where on it does not fit.
std::string address_error(const std::string& whole, const std::string& problem, std::string_view at = {}) {
  return "ParseAddr(" + go_quote(whole) + "): " + problem + (at.empty() ? "" : " (at " + go_quote(at) + ")");
}

/// Go's error for the IPv4 address at the end of `whole`, or "".
std::string ipv4_problem(const std::string& whole, std::string_view text) {
  int fields = 0, digits = 0, value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      if (digits == 1 && value == 0) return address_error(whole, "IPv4 field has octet with leading zero");
      value = value * 10 + (c - '0'), ++digits;
      if (value > 255) return address_error(whole, "IPv4 field has value >255");
    } else if (c == '.') {
      if (i == 0 || i + 1 == text.size() || text[i - 1] == '.')
        return address_error(whole, "IPv4 field must have at least one digit", text.substr(i));
      if (fields == 3) return address_error(whole, "IPv4 address too long");
      ++fields, value = digits = 0;
    } else {
      return address_error(whole, "unexpected character", text.substr(i));
    }
  }
  return fields < 3 ? address_error(whole, "IPv4 address too short") : "";
}

/// Go's error for an IPv6 address without a zone, or "": eight groups of hex digits, some possibly elided once, with an
/// optional IPv4 address in place of the last two.
std::string ipv6_problem(const std::string& whole) {
  constexpr int kGroups = 8;
  std::string_view text = whole;
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) gap = true, text.remove_prefix(2);
  while (groups < kGroups && !text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789abcdefABCDEF"), text.size());
    if (digits > 4) return address_error(whole, "each group must have 4 or fewer digits", text);
    if (digits == 0) return address_error(whole, "each colon-separated field must have at least one digit", text);
    if (digits < text.size() && text[digits] == '.') {
      if (!gap && groups != kGroups - 2)
        return address_error(whole, "embedded IPv4 address must replace the final 2 fields of the address", text);
      if (groups + 2 > kGroups)
        return address_error(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", text);
      if (std::string problem = ipv4_problem(whole, text); !problem.empty()) return problem;
      groups += 2, text = {};
      break;
    }
    ++groups;
    text.remove_prefix(digits);
    if (text.empty()) break;
    if (text[0] != ':') return address_error(whole, "unexpected character, want colon", text);
    if (text.size() == 1) return address_error(whole, "colon must be followed by more characters", text);
    text.remove_prefix(1);
    if (text[0] == ':') {
      if (gap) return address_error(whole, "multiple :: in address", text);
      gap = true, text.remove_prefix(1);
    }
  }
  if (!text.empty()) return address_error(whole, "trailing garbage after address", text);
  if (groups < kGroups) return gap ? "" : address_error(whole, "address string too short");
  return gap ? address_error(whole, "the :: must expand to at least one field of zeros") : "";
}

}  // namespace

std::string prefix_problem(const std::string& text) {
  const std::string failed = "netip.ParsePrefix(" + go_quote(text) + "): ";
  const std::size_t slash = text.rfind('/');
  if (slash == std::string::npos) return failed + "no '/'";
  const std::string address = text.substr(0, slash), bits = text.substr(slash + 1);
  const std::size_t mark = address.find_first_of(".:%");
  const bool four = mark != std::string::npos && address[mark] == '.';
  if (mark == std::string::npos) return failed + address_error(address, "unable to parse IP");
  if (address[mark] == '%') return failed + address_error(address, "missing IPv6 address");
  if (const std::size_t zone = address.find('%'); !four && zone != std::string::npos)
    return failed + (zone + 1 == address.size() ? address_error(address, "zone must be a non-empty string")
                                                : "IPv6 zones cannot be present in a prefix");
  if (const std::string problem = four ? ipv4_problem(address, address) : ipv6_problem(address); !problem.empty())
    return failed + problem;
  const bool signed_or_padded = bits.size() > 1 && (bits[0] < '1' || bits[0] > '9');
  const auto length = base::parse_uint64(bits);
  if (signed_or_padded || !length) return failed + "bad bits after slash: " + go_quote(bits);
  return *length > (four ? 32U : 128U) ? failed + "prefix length out of range" : "";
}

std::string connect_network_problem(const std::string& what, const TaskGroup& group, bool host_allowed) {
  if (group.networks.size() != 1)
    return what + ": must have exactly one network for Consul Connect: group " + go_quote(group.name) + " has " +
           std::to_string(group.networks.size()) + " networks";
  const std::string& mode = group.networks.front().mode;
  if (is_netns(mode) || (host_allowed && mode == "host")) return "";
  return what + ": invalid network mode for Consul Connect: group " + go_quote(group.name) + " uses network mode " +
         go_quote(mode) + "; must be " + (host_allowed ? R"("bridge", "host", or "cni/*")" : R"("bridge" or "cni/*")");
}

std::string validate_connect(const Job& job) {
  for (const TaskGroup& group : job.task_groups)
    if (std::string problem = group_connect_problem(group); !problem.empty()) return problem;
  return "";
}

std::string validate_exposed_checks(const Job& job) {
  for (const TaskGroup& group : job.task_groups)
    if (std::string problem = group_expose_problem(group); !problem.empty()) return problem;
  return "";
}

std::string connect_block_problem(const Value& connect) {
  if (!connect.is_object()) return "";
  if (const ErrorList errors = transparent_proxy_errors(connect["SidecarService"]["Proxy"]["TransparentProxy"]);
      !errors.empty())
    return errors.items().size() == 1 ? errors.items().front() : errors.text();
  const int kinds =
      connect["SidecarService"].is_object() + connect["Native"].as_bool() + connect["Gateway"].is_object();
  if (kinds != 1) return "Consul Connect must be exclusively native, make use of a sidecar, or represent a Gateway";
  return connect["Gateway"].is_object() ? gateway_problem(connect["Gateway"]) : "";
}

void validate_connect_proxy(const ConnectServices& services, const Task& task, ErrorList& errors) {
  constexpr std::string_view kKind = "connect-proxy:";
  if (!task.kind.starts_with(kKind)) return;
  const std::string name = task.kind.substr(kKind.size());
  if (task.services.size() > 0) errors.add("Connect proxy task must not have a service block");
  if (task.leader) errors.add("Connect proxy task must not have leader set");
  if (services.names.empty())
    errors.add("No Connect services in task group with Connect proxy (" + go_quote(name) + ")");
  else if (!services.known.contains(name))
    errors.add("Connect proxy service name (" + go_quote(name) + ") not found in Connect services from task group: [" +
               base::join(services.names, " ") + "]");
}

ConnectServices connect_services(const TaskGroup& group) {
  ConnectServices out;
  for (const Value& service : group.services.items())
    if (service["Connect"]["SidecarService"].is_object()) {
      out.names.push_back(text_at(service, "Name"));
      out.known.insert(out.names.back());
    }
  return out;
}

}  // namespace berth::model
