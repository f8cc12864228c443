// Services, their checks and Connect blocks (R-REG-540 to 542).
#include <algorithm>
#include <unordered_map>

#include "base/time.h"
#include "model/update/diff_objects.h"
#include "model/update/job_diff_blocks.h"

namespace berth::model::diff {
namespace {

Value named_pair(const char* name, const Value& a, const Value& b, Fields fields,
                 std::initializer_list<const char*> maps = {}, Value objects = {}) {
  return deep(name, a, b, fields_of(scalars(a, fields, maps), scalars(b, fields, maps), Equal::listed),
              std::move(objects));
}

/// A pair that shows only the members that differ.
Value changed_pair(const char* name, const Value& a, const Value& b, Fields fields,
                   std::initializer_list<const char*> maps, Value objects) {
  return deep(name, a, b, fields_of(scalars(a, fields, maps), scalars(b, fields, maps), Equal::left_out),
              std::move(objects));
}

std::string name_of(const Value& v) { return v["Name"].as_string(); }

Value check_pair(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(config_block("Header", a["Header"], b["Header"]), objects);
  append(named_pair("CheckRestart", a["CheckRestart"], b["CheckRestart"],
                    {{"Grace", "0"}, {"IgnoreWarnings", "false"}, {"Limit", "0"}}),
         objects);
  return named_pair("Check", a, b,
                    {{"AddressMode", ""},
                     {"Body", ""},
                     {"Command", ""},
                     {"Expose", "false"},
                     {"FailuresBeforeCritical", "0"},
                     {"FailuresBeforeWarning", "0"},
                     {"GRPCService", ""},
                     {"GRPCUseTLS", "false"},
                     {"InitialStatus", ""},
                     {"Interval", "0"},
                     {"Method", ""},
                     {"Name", ""},
                     {"Notes", ""},
                     {"OnUpdate", ""},
                     {"Path", ""},
                     {"PortLabel", ""},
                     {"Protocol", ""},
                     {"SuccessBeforePassing", "0"},
                     {"TLSServerName", ""},
                     {"TLSSkipVerify", "false"},
                     {"TaskName", ""},
                     {"Timeout", "0"},
                     {"Type", ""}},
                    {}, std::move(objects));
}

Value upstream_pair(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(by_fields("MeshGateway", scalars(a["MeshGateway"], {{"Mode", ""}}), scalars(b["MeshGateway"], {{"Mode", ""}})),
         objects);
  return named_pair("ConsulUpstreams", a, b,
                    {{"Datacenter", ""},
                     {"DestinationName", ""},
                     {"DestinationNamespace", ""},
                     {"DestinationPartition", ""},
                     {"DestinationPeer", ""},
                     {"DestinationType", ""},
                     {"LocalBindAddress", ""},
                     {"LocalBindPort", "0"},
                     {"LocalBindSocketMode", ""},
                     {"LocalBindSocketPath", ""}},
                    {}, std::move(objects));
}

Value expose(const Value& a, const Value& b) {
  static const Value kNone;
  const Value &x = a["Paths"].size() > 0 ? a : kNone, &y = b["Paths"].size() > 0 ? b : kNone;  // empty is absent
  Value objects = Value::array();
  keyed(
      x["Paths"], y["Paths"], [](const Value& v) { return json::to_text(v); },
      [](const Value& p, const Value& q) {
        const auto texts = [](const Value& path) {
          return scalars(path, {{"ListenerPort", ""}, {"LocalPathPort", "0"}, {"Path", ""}, {"Protocol", ""}});
        };
        return by_fields("Paths", texts(p), texts(q));
      },
      objects);
  return deep("Expose", x, y, {}, std::move(objects));
}

/// Listed even if nothing differs, as an object without members.
Value transparent_proxy(const Value& a, const Value& b) {
  Value objects = Value::array();
  for (const char* list : {"ExcludeInboundPorts", "ExcludeOutboundPorts", "ExcludeOutboundCIDRs", "ExcludeUIDs"})
    append(text_set(list, a[list], b[list], Equal::left_out), objects);
  Value out = named_pair("TransparentProxy", a, b, {{"NoDNS", "false"}, {"OutboundPort", "0"}, {"UID", ""}}, {},
                         std::move(objects));
  return out.is_null() ? object("TransparentProxy", "None", {}) : out;
}

Value proxy(const Value& a, const Value& b) {
  Value objects = Value::array();
  keyed(
      a["Upstreams"], b["Upstreams"],
      [](const Value& v) { return v["Datacenter"].as_string() + "/" + v["DestinationName"].as_string(); },
      upstream_pair, objects);
  append(expose(a["Expose"], b["Expose"]), objects);
  append(transparent_proxy(a["TransparentProxy"], b["TransparentProxy"]), objects);
  append(config_block("Config", a["Config"], b["Config"]), objects);
  return named_pair("ConsulProxy", a, b, {{"LocalServiceAddress", ""}, {"LocalServicePort", "0"}}, {},
                    std::move(objects));
}

Value sidecar_service(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(proxy(a["Proxy"], b["Proxy"]), objects);
  return named_pair("SidecarService", a, b, {{"DisableDefaultTCPCheck", "false"}, {"Port", ""}}, {"Meta"},
                    std::move(objects));
}

Value sidecar_task(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(config_block("Config", a["Config"], b["Config"]), objects);
  append(resources(a["Resources"], b["Resources"]), objects);
  keyed(a["Identities"], b["Identities"], name_of, identity, objects);
  append(logs(a["LogConfig"], b["LogConfig"]), objects);
  positional(a["VolumeMounts"], b["VolumeMounts"], mount, objects);
  return changed_pair("SidecarTask", a, b, {{"Driver", ""}, {"KillSignal", ""}, {"Name", ""}, {"User", ""}},
                      {"Env", "Meta"}, std::move(objects));
}

Value tls(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(text_set("CipherSuites", a["CipherSuites"], b["CipherSuites"], Equal::listed), objects);
  const auto sds = [](const Value& block) {
    return scalars(block["SDS"], {{"CertResource", ""}, {"ClusterName", ""}});
  };
  append(by_fields("SDS", sds(a), sds(b)), objects);
  return named_pair("TLS", a, b, {{"Enabled", "false"}, {"TLSMaxVersion", ""}, {"TLSMinVersion", ""}}, {},
                    std::move(objects));
}

Value headers(const char* name, const Value& a, const Value& b) {
  Value objects = Value::array();
  append(text_set("Remove", a["Remove"], b["Remove"], Equal::listed), objects);
  return named_pair(name, a, b, {}, {"Add", "Set"}, std::move(objects));
}

Value ingress_service_pair(const Value& a, const Value& b) {
  const auto texts = [](const Value& block) {
    Texts out = scalars(block, {{"Name", ""}});
    for (const char* key : {"MaxConcurrentRequests", "MaxConnections", "MaxPendingRequests"})
      if (!block[key].is_null()) flatten(key, block[key], out);
    return out;
  };
  Value objects = Value::array();
  append(text_set("Hosts", a["Hosts"], b["Hosts"], Equal::listed), objects);
  append(tls(a["TLS"], b["TLS"]), objects);
  for (const char* key : {"RequestHeaders", "ResponseHeaders"}) append(headers(key, a[key], b[key]), objects);
  return deep("ConsulIngressService", a, b, fields_of(texts(a), texts(b), Equal::listed), std::move(objects));
}

Value listener_pair(const Value& a, const Value& b) {
  Value objects = Value::array();
  keyed(a["Services"], b["Services"], name_of, ingress_service_pair, objects);
  return named_pair("Listener", a, b, {{"Port", "0"}, {"Protocol", ""}}, {}, std::move(objects));
}

Value ingress(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(tls(a["TLS"], b["TLS"]), objects);
  keyed(
      a["Listeners"], b["Listeners"],
      [](const Value& v) { return v["Protocol"].as_string() + "/" + std::to_string(v["Port"].as_int()); },
      listener_pair, objects);
  return deep("Ingress", a, b, {}, std::move(objects));
}

Value terminating(const Value& a, const Value& b) {
  Value objects = Value::array();
  keyed(
      a["Services"], b["Services"], name_of,
      [](const Value& x, const Value& y) {
        return named_pair("Service", x, y,
                          {{"CAFile", ""}, {"CertFile", ""}, {"KeyFile", ""}, {"Name", ""}, {"SNI", ""}});
      },
      objects);
  return deep("Terminating", a, b, {}, std::move(objects));
}

Value gateway_proxy(const Value& a, const Value& b) {
  const bool both = is_there(a) && is_there(b);
  const auto texts = [&](const Value& block) {
    Texts out = scalars(block, {{"EnvoyDNSDiscoveryType", ""},
                                {"EnvoyGatewayBindTaggedAddresses", "false"},
                                {"EnvoyGatewayNoDefaultBind", "false"}});
    if (both && block["ConnectTimeout"].is_int())
      out["ConnectTimeout"] = base::duration_text(block["ConnectTimeout"].as_int());
    return out;
  };
  const auto addresses = [](const Value& block) {
    Texts out;
    for (const json::Member& m : block["EnvoyGatewayBindAddresses"].members())
      out[m.key] = m.value["Address"].as_string() + ":" + std::to_string(m.value["Port"].as_int());
    return out;
  };
  Value objects = Value::array();
  const Texts from = addresses(a), to = addresses(b);
  if (from != to)
    objects.push(object("EnvoyGatewayBindAddresses",
                        from.empty() ? "Added"
                        : to.empty() ? "Deleted"
                                     : "Edited",
                        fields_of(from, to, Equal::listed)));
  append(config_block("Config", a["Config"], b["Config"]), objects);
  return deep("Proxy", a, b, fields_of(texts(a), texts(b), Equal::listed), std::move(objects));
}

Value gateway(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(gateway_proxy(a["Proxy"], b["Proxy"]), objects);
  append(ingress(a["Ingress"], b["Ingress"]), objects);
  append(terminating(a["Terminating"], b["Terminating"]), objects);
  append(deep("Mesh", a["Mesh"], b["Mesh"], {}), objects);
  return deep("Gateway", a, b, {}, std::move(objects));
}

Value connect(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(sidecar_service(a["SidecarService"], b["SidecarService"]), objects);
  append(sidecar_task(a["SidecarTask"], b["SidecarTask"]), objects);
  append(gateway(a["Gateway"], b["Gateway"]), objects);
  return named_pair("ConsulConnect", a, b, {{"Native", "false"}}, {}, std::move(objects));
}

Value weights(const Value& a, const Value& b) {
  const auto texts = [](const Value& block) {
    Texts out;
    for (const char* key : {"Passing", "Warning"})
      if (block[key].as_int() > 0) flatten(key, block[key], out);
    return out;
  };
  return deep("Weights", a, b, fields_of(texts(a), texts(b), Equal::listed));
}

Value service_pair(const Value& a, const Value& b) {
  Value objects = Value::array();
  for (const char* list : {"CanaryTags", "Tags"}) append(text_set(list, a[list], b[list], Equal::listed), objects);
  keyed(a["Checks"], b["Checks"], name_of, check_pair, objects);
  append(connect(a["Connect"], b["Connect"]), objects);
  append(identity(a["Identity"], b["Identity"]), objects);
  append(weights(a["Weights"], b["Weights"]), objects);
  return named_pair("Service", a, b,
                    {{"Address", ""},
                     {"AddressMode", ""},
                     {"Cluster", ""},
                     {"EnableTagOverride", "false"},
                     {"Kind", ""},
                     {"Name", ""},
                     {"Namespace", ""},
                     {"OnUpdate", ""},
                     {"PortLabel", ""},
                     {"Provider", ""},
                     {"TaskName", ""}},
                    {"CanaryMeta", "Meta", "TaggedAddresses"}, std::move(objects));
}

/// Unmatched services by key, in list order; a match removes the service under all its keys.
class Unmatched {
 public:
  explicit Unmatched(const Array& list) : list_(list), taken_(list.size(), false) {
    for (std::size_t i = list.size(); i-- > 0;) {  // so that the first is at the back
      both_[name_of(list[i]) + '\0' + port_of(list[i])].push_back(i);
      by_name_[name_of(list[i])].push_back(i);
    }
  }
  static std::string port_of(const Value& v) { return v["PortLabel"].as_string(); }

  /// Returns the new service that matches the old one at `index` best, the first on a tie. Same index scores 1, port 2,
  /// name 3; below 3 is no match. So the order is: name, port and index; name and port; name and index; name; port and
  /// index.
  [[nodiscard]] std::size_t take(const Value& old, std::size_t index) {
    const std::size_t none = list_.size();
    const bool here = index < none && !taken_[index];
    const bool name = here && name_of(list_[index]) == name_of(old),
               port = here && port_of(list_[index]) == port_of(old);
    std::size_t best = none;
    if (name && port)
      best = index;
    else if (const std::size_t at = first(both_, name_of(old) + '\0' + port_of(old)); at < none)
      best = at;
    else if (name)
      best = index;
    else if (const std::size_t same_name = first(by_name_, name_of(old)); same_name < none)
      best = port ? std::min(index, same_name) : same_name;  // equally similar: the first one
    else if (port)
      best = index;
    if (best < none) taken_[best] = true;
    return best;
  }
  [[nodiscard]] bool is_taken(std::size_t at) const { return taken_[at]; }

 private:
  using Index = std::unordered_map<std::string, std::vector<std::size_t>>;
  std::size_t first(Index& index, const std::string& key) const {
    const auto found = index.find(key);
    if (found == index.end()) return list_.size();
    while (!found->second.empty() && taken_[found->second.back()]) found->second.pop_back();
    return found->second.empty() ? list_.size() : found->second.back();
  }
  const Array& list_;
  std::vector<bool> taken_;
  Index both_, by_name_;
};

}  // namespace

void add_services(const Value& before, const Value& after, Value& out) {
  const Array &olds = before.items(), &news = after.items();
  if (olds.size() == 1 && news.size() == 1) return append(service_pair(olds[0], news[0]), out);
  Unmatched unmatched(news);
  Array list;
  for (std::size_t i = 0; i < olds.size(); ++i) {
    const std::size_t at = unmatched.take(olds[i], i);
    list.push_back(service_pair(olds[i], at < news.size() ? news[at] : Value()));
  }
  for (std::size_t i = 0; i < news.size(); ++i)
    if (!unmatched.is_taken(i)) list.push_back(service_pair({}, news[i]));
  append(std::move(list), out);
}

}  // namespace berth::model::diff
