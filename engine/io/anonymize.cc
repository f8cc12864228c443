// The map from names to numbered words: what stays, how words are numbered, and where in a document which words are
// Nomad's own.
#include "io/anonymize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "io/cluster_parts.h"
#include "model/periodic/cron.h"

namespace berth::io {
namespace {

constexpr int kMapVersion = 1;
constexpr char kPrefix = 'n';

constexpr bool is_decimal(char c) { return c >= '0' && c <= '9'; }

/// Operands that read more of a value than equality.
bool reads_meaning(std::string_view operand) {
  static constexpr std::array<std::string_view, 7> kOperands = {"<", "<=", ">", ">=", "version", "semver", "regexp"};
  return std::find(kOperands.begin(), kOperands.end(), operand) != kOperands.end();
}

/// True for every pattern except "*", which matches everything.
bool is_pattern(std::string_view datacenter) { return datacenter != "*" && datacenter.find('*') != datacenter.npos; }

/// Calls visit(object) for every object in `value` that has an operand, `job` being the ID of the job around it.
void each_constraint(const json::Value& value, const std::string& job,
                     const std::function<void(const json::Value&, const std::string&)>& visit) {
  if (value.is_array()) {
    for (const json::Value& item : value.items()) each_constraint(item, job, visit);
  } else if (value.is_object()) {
    const std::string& own = value.has("TaskGroups") && value["ID"].is_string() ? value["ID"].as_string() : job;
    if (value.has("LTarget") || value.has("RTarget") || value.has("Datacenters")) visit(value, own);
    for (const json::Member& member : value.members()) each_constraint(member.value, own, visit);
  }
}

/// Calls visit(target, value) for every value of a node that a constraint can read.
template <class Visit>
void each_value(const json::Value& cluster, Visit visit) {
  const auto texts = [&](const json::Value& object, const char* kind) {
    for (const json::Member& member : object.members())
      if (member.value.is_string()) visit("${" + (kind + member.key) + "}", member.key, member.value.as_string());
  };
  for (const json::Value& node : cluster["Nodes"].items()) {
    texts(node["Attributes"], "attr."), texts(node["Meta"], "meta.");
    for (const auto& [key, target] :
         {std::pair{"Datacenter", "${node.datacenter}"}, std::pair{"Name", "${node.unique.name}"},
          std::pair{"NodeClass", "${node.class}"}, std::pair{"NodePool", "${node.pool}"}})
      visit(std::string(target), std::string(), node[key].as_string());
    for (const json::Value& device : node["NodeResources"]["Devices"].items()) {
      for (const auto& [key, target] : {std::pair{"Name", "${device.model}"}, std::pair{"Vendor", "${device.vendor}"},
                                        std::pair{"Type", "${device.type}"}})
        visit(std::string(target), std::string(), device[key].as_string());
      for (const json::Member& attribute : device["Attributes"].members())
        visit("${device.attr." + attribute.key + "}", std::string(), attribute.value["String"].as_string());
    }
  }
}

/// Attributes that Nomad itself reads, or that describe the machine: amounts and versions, never names.
bool is_fact(std::string_view key) {
  for (const std::string_view prefix : {"cpu.", "memory.", "kernel.", "os.", "numa.", "nomad.", "driver.",
                                        "consul.grpc", "plugins.cni.version.", "unique.storage.bytes"})
    if (key.starts_with(prefix)) return true;
  return key.ends_with(".version");
}

template <class Visit>
void each_unit(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    const Unit unit = unit_at(text, at);
    if (unit.kind != UnitKind::none) visit(text.substr(at, unit.size), unit);
    at += unit.size;
  }
}

/// ID of a job that another one launched, such as "report/periodic-1795308522": position of the launch part.
std::size_t launch_at(std::string_view text) {
  for (const std::string_view infix : {"/periodic-", "/dispatch-"}) {
    const std::size_t at = text.rfind(infix);
    if (at == std::string_view::npos || at == 0 || at + infix.size() == text.size()) continue;
    const std::string_view rest = text.substr(at + infix.size());
    const bool launch = std::all_of(rest.begin(), rest.end(),
                                    [](char c) { return is_decimal(c) || (c >= 'a' && c <= 'f') || c == '-'; });
    if (launch) return at;
  }
  return std::string_view::npos;
}

/// True for a member of an API object, false for a key that a user chose.
bool is_api_key(std::string_view key) {
  return !key.empty() && key[0] >= 'A' && key[0] <= 'Z' && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_decimal(c);
  });
}

}  // namespace

/// Where in a document a value is.
struct Anonymizer::Place {
  Vocabulary value = Vocabulary::name;
  Vocabulary key = Vocabulary::name;
  bool user_keys = false;  ///< the keys of this object are names
  bool deep = false;       ///< and so are those of all objects within
  bool meta_keys = false, time_zone = false;
  bool alloc_states = false;  ///< the values are statuses
  bool devices = false;       ///< the types are parts of a request's name
};

Anonymizer::Place Anonymizer::place_of(const std::string& key, const json::Value& value) {
  using Keys = std::unordered_set<std::string_view>;
  static const Keys secret = {"Config",        "Env",          "Policy",  "Details", "ExtraClaims", "GetterOptions",
                              "GetterHeaders", "EmbeddedTmpl", "Payload", "Context", "Parameters",  "TaskHandle"};
  static const Keys enumerated = {"Type",
                                  "JobType",
                                  "Status",
                                  "DesiredStatus",
                                  "ClientStatus",
                                  "TriggeredBy",
                                  "SchedulingEligibility",
                                  "Mode",
                                  "Driver",
                                  "Operand",
                                  "AccessMode",
                                  "AttachmentMode",
                                  "Hook",
                                  "SchedulerAlgorithm",
                                  "HealthCheck",
                                  "DelayFunction",
                                  "Reconcile",
                                  "Provider",
                                  "AddressMode",
                                  "Protocol",
                                  "Method",
                                  "OnUpdate",
                                  "InitialStatus",
                                  "ChangeMode",
                                  "GetterMode",
                                  "PropagationMode",
                                  "Family",
                                  "State",
                                  "Affinity",
                                  "OnFailure",
                                  "SpecType",
                                  "Unit",
                                  "Subsystem",
                                  "LastReschedule",
                                  "Paused",
                                  "EnvoyDNSDiscoveryType",
                                  "Audience",
                                  "RelativeDest",
                                  "DestPath",
                                  "Destination",
                                  "MountDir",
                                  "StagePublishBaseDir",
                                  "TLSMinVersion",
                                  "TLSMaxVersion",
                                  "DestinationType"};
  static const Keys message = {"StatusDescription",
                               "DesiredDescription",
                               "ClientDescription",
                               "HealthDescription",
                               "DisplayMessage",
                               "Message",
                               "RestartReason",
                               "Description",
                               "DriverError",
                               "DriverMessage",
                               "MissingNonNodeResources"};
  static const Keys message_keys = {"ConstraintFiltered", "DimensionExhausted", "Scores"};
  static const Keys enumerated_keys = {"Drivers", "EnvoyGatewayBindAddresses"};
  static const Keys user_keys = {"Links",
                                 "HostVolumes",
                                 "HostNetworks",
                                 "CSIControllerPlugins",
                                 "CSINodePlugins",
                                 "Segments",
                                 "Tasks",
                                 "TaskLifecycles",
                                 "TaskStates",
                                 "TaskGroups",
                                 "Volumes",
                                 "NodesAvailable",
                                 "ClassFiltered",
                                 "ClassExhausted",
                                 "ResourcesExhausted",
                                 "FailedTGAllocs",
                                 "DesiredTGUpdates",
                                 "QueuedAllocations",
                                 "ClassEligibility",
                                 "Header",
                                 "Add",
                                 "Set",
                                 "TaggedAddresses",
                                 "Args",
                                 "ReadAllocs",
                                 "WriteAllocs",
                                 "ReadClaims",
                                 "WriteClaims",
                                 "PastClaims"};
  Place place;
  if (secret.contains(key)) {
    place.value = place.key = Vocabulary::secret;
    place.user_keys = place.deep = true;
  } else if (enumerated.contains(key)) {
    place.value = Vocabulary::enumerated;
  } else if (message.contains(key)) {
    place.value = Vocabulary::message;
  } else if (message_keys.contains(key)) {
    place.user_keys = true, place.key = Vocabulary::message;
  } else if (enumerated_keys.contains(key)) {
    place.user_keys = true, place.key = Vocabulary::enumerated;
  } else if (key == "Attributes") {
    place.user_keys = true, place.key = Vocabulary::attribute;
  } else if (key == "Meta" || key == "CanaryMeta") {
    place.user_keys = place.meta_keys = true;
  } else if (user_keys.contains(key)) {
    place.user_keys = value.is_object();
  } else if (key == "Spec" || key == "Specs") {
    place.value = Vocabulary::schedule;
  } else if (key == "TimeZone") {
    place.time_zone = true;
  } else if (key == "AllocStates") {
    place.alloc_states = true;
  } else if (key == "Devices") {
    place.devices = true;
  }
  return place;
}

void Anonymizer::walk(json::Value& value, const Place& place) {
  if (value.is_string()) {
    if (place.time_zone && model::is_time_zone(value.as_string())) return;
    std::string out = text(value.as_string(), place.value);
    if (!collecting_) value = std::move(out);
  } else if (value.is_array()) {
    Place inside = place;
    if (!place.deep) inside.user_keys = inside.meta_keys = false;
    for (json::Value& item : value.items()) walk(item, inside);
  } else if (value.is_object()) {
    walk_members(value, place);
  }
}

void Anonymizer::walk_members(json::Value& value, const Place& place) {
  for (json::Member& member : value.members()) {
    Place inside;
    if (place.user_keys) {
      inside = place;
      if (!place.deep) inside.user_keys = inside.meta_keys = false;
    } else {
      inside = place_of(member.key, member.value);
      if (place.alloc_states && member.key == "Value") inside.value = Vocabulary::enumerated;
      if (place.devices && member.key == "Type") inside.value = Vocabulary::name;
    }
    walk(member.value, inside);
    if (!place.user_keys && is_api_key(member.key)) continue;
    std::string key = place.meta_keys ? meta_key(member.key) : text(member.key, place.key);
    if (!collecting_) member.key = std::move(key);
  }
}

std::string Anonymizer::text(const std::string& text, Vocabulary vocabulary) {
  if (text.empty()) return text;
  std::string key(1, static_cast<char>(vocabulary));
  key += text;
  if (const auto done = texts_.find(key); done != texts_.end()) return done->second;
  const bool is_utf8 =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  std::string out = base::parse_rfc3339(text) ? text : composed(is_utf8 ? text : as_utf8(text), vocabulary);
  texts_.emplace(std::move(key), out);
  return out;
}

/// Replaces a name that the server composes. Its fixed parts stay, so that the server still recognises the name.
std::string Anonymizer::composed(std::string_view text, Vocabulary vocabulary) {
  if (vocabulary != Vocabulary::name && vocabulary != Vocabulary::message) return pieces(text, vocabulary);
  if (vocabulary == Vocabulary::name) {
    if (text == "vault_default") return std::string(text);
    for (const std::string_view prefix : {"connect-proxy", "connect-native", "connect-ingress", "connect-terminating",
                                          "connect-mesh", "consul-service", "svc_"}) {
      if (!text.starts_with(prefix) || text.size() <= prefix.size() + 1) continue;
      const char next = text[prefix.size()];
      if (prefix != "svc_" && next != '-' && next != ':' && next != '_') continue;
      std::string_view rest = text.substr(prefix.size());
      std::string_view suffix;
      if (prefix == "connect-mesh" && rest.ends_with("-lan")) suffix = "-lan";
      rest.remove_suffix(suffix.size());
      const std::size_t check = prefix == "svc_" ? rest.rfind("_ck_") : std::string_view::npos;
      if (check != std::string_view::npos)
        return fmt::format("{}{}_ck_{}", prefix, pieces(rest.substr(0, check), vocabulary),
                           pieces(rest.substr(check + 4), vocabulary));
      return fmt::format("{}{}{}", prefix, pieces(rest, vocabulary), suffix);
    }
    static constexpr std::string_view kBegin = "service: \"", kEnd = "\" check";
    if (text.starts_with(kBegin) && text.ends_with(kEnd) && text.size() > kBegin.size() + kEnd.size())
      return fmt::format("{}{}{}", kBegin,
                         pieces(text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size()), vocabulary),
                         kEnd);
    if (const std::size_t at = launch_at(text); at != std::string_view::npos)
      return pieces(text.substr(0, at), vocabulary) + std::string(text.substr(at));
    return pieces(text, vocabulary);
  }
  // "distinct_property: ${meta.rack}=r1 used by 2 allocs": the part between the two texts is a node's value.
  static constexpr std::string_view kProperty = "distinct_property: ", kUsed = " used by ";
  if (text.starts_with(kProperty))
    if (const std::size_t used = text.rfind(kUsed); used != std::string_view::npos && used > kProperty.size())
      return fmt::format("{}{}{}", kProperty,
                         pieces(text.substr(kProperty.size(), used - kProperty.size()), Vocabulary::name),
                         pieces(text.substr(used), vocabulary));
  // "${meta.rack} set_contains a": both sides are replaced as in the constraint.
  const std::size_t end = text.starts_with("${") ? text.find("} ") : std::string_view::npos;
  if (end == std::string_view::npos) return pieces(text, vocabulary);
  const std::size_t operand_end = std::min(text.find(' ', end + 2), text.size());
  return pieces(text.substr(0, end + 1), Vocabulary::name) + " " +
         pieces(text.substr(end + 2, operand_end - end - 2), Vocabulary::enumerated) +
         pieces(text.substr(operand_end), Vocabulary::name);
}

std::string Anonymizer::pieces(std::string_view text, Vocabulary vocabulary) {
  std::string out;
  bool braces = true, quotes = true;  // false once a search found no closing one, so that it is not repeated
  for (std::size_t at = 0; at < text.size();) {
    if (braces && text.substr(at).starts_with("${")) {
      if (const std::size_t end = text.find('}', at); end != std::string_view::npos) {
        out += "${" + variable(text.substr(at + 2, end - at - 2)) + "}";
        at = end + 1;
        continue;
      }
      braces = false;
    }
    if (quotes && vocabulary == Vocabulary::message && text[at] == '"') {  // Nomad quotes names
      if (const std::size_t end = text.find('"', at + 1); end != std::string_view::npos) {
        out += '"' + pieces(text.substr(at + 1, end - at - 1), Vocabulary::name) + '"';
        at = end + 1;
        continue;
      }
      quotes = false;
    }
    const Unit unit = unit_at(text, at);
    put(out, text.substr(at, unit.size), unit, vocabulary);
    at += unit.size;
  }
  return out;
}

std::string Anonymizer::variable(std::string_view inside) {
  const auto behind = [&](std::string_view prefix) { return inside.substr(prefix.size()); };
  if (inside.starts_with("attr.")) return "attr." + pieces(behind("attr."), Vocabulary::attribute);
  if (inside.starts_with("meta.")) return "meta." + meta_key(behind("meta."));
  if (inside.starts_with("device.attr.")) return "device.attr." + pieces(behind("device.attr."), Vocabulary::attribute);
  static constexpr std::array<std::string_view, 9> kTargets = {"node.unique.id", "node.unique.name", "node.datacenter",
                                                               "node.class",     "node.pool",        "device.ids",
                                                               "device.model",   "device.vendor",    "device.type"};
  if (std::find(kTargets.begin(), kTargets.end(), inside) != kTargets.end()) return std::string(inside);
  if (inside.starts_with("NOMAD_META_")) return "NOMAD_META_" + pieces(behind("NOMAD_META_"), Vocabulary::name);
  if (inside.starts_with("env.")) return "env." + pieces(behind("env."), Vocabulary::name);
  return pieces(inside, Vocabulary::variable);
}

/// Connect's own keys stay, because they name the proxy tasks that registration adds (R-REG-24).
std::string Anonymizer::meta_key(std::string_view key) {
  static constexpr std::string_view kUnique = "unique.", kConnect = "connect.";
  if (key.starts_with(kUnique)) return std::string(kUnique) + meta_key(key.substr(kUnique.size()));
  static constexpr std::array<std::string_view, 6> kKeys = {"sidecar_image",
                                                            "gateway_image",
                                                            "log_level",
                                                            "proxy_concurrency",
                                                            "transparent_proxy.default_outbound_port",
                                                            "transparent_proxy.default_uid"};
  if (key.starts_with(kConnect) && std::find(kKeys.begin(), kKeys.end(), key.substr(kConnect.size())) != kKeys.end())
    return std::string(key);
  return pieces(key, Vocabulary::name);
}

void Anonymizer::put(std::string& out, std::string_view text, const Unit& unit, Vocabulary vocabulary) {
  const bool plain_number = unit.kind == UnitKind::number && vocabulary != Vocabulary::secret;
  if (unit.kind == UnitKind::none || unit.kind == UnitKind::fixed || plain_number || kept_.contains(text) ||
      is_nomads_word(text, vocabulary)) {
    out += text;
    return;
  }
  if (unit.kind == UnitKind::address4 || unit.kind == UnitKind::address6) {
    auto known = addresses_.find(text);
    if (known == addresses_.end() && !collecting_)
      known = addresses_.emplace(std::string(text), new_address(unit.kind == UnitKind::address6)).first;
    if (!collecting_) out += known->second;
    return;
  }
  const auto known = words_.find(text);
  if (known != words_.end())
    out += known->second;
  else if (collecting_)
    found_.emplace(text);
  else
    out += kPrefix;  // not collected by prepare(): the original name must not appear
}

/// 10.0.0.1, 10.0.0.2, ... and fd00::1, ...: valid addresses, since replaced ones are parsed like the originals.
std::string Anonymizer::new_address(bool is_v6) {
  std::string out;
  do {
    const std::uint64_t n = ++address_count_;
    out = is_v6 ? fmt::format("fd00::{:x}:{:x}", (n >> 16) & 0xffff, n & 0xffff)
                : fmt::format("{}.{}.{}.{}", 10 + ((n >> 24) & 0x3f), (n >> 16) & 0xff, (n >> 8) & 0xff, n & 0xff);
  } while (kept_.contains(out));
  numbered_.insert(out);
  return out;
}

void Anonymizer::keep(std::string_view text) {
  each_unit(text, [&](std::string_view unit, const Unit& kind) {
    if (kind.kind == UnitKind::fixed || kind.kind == UnitKind::number || kept_.contains(unit)) return;
    if (conflict_.empty() &&
        (words_.contains(unit) || addresses_.contains(unit) || numbered_.contains(std::string(unit))))
      conflict_ = unit;
    kept_.emplace(unit);
  });
}

/// Collects from one document the values that constraints read more of than equality, and the datacenters that patterns
/// of jobs match.
class Anonymizer::Constraints {
 public:
  explicit Constraints(Anonymizer& out) : out_(out) {}

  void add(const json::Value& object, const std::string& job) {
    for (const json::Value& datacenter : object["Datacenters"].items())
      if (is_pattern(datacenter.as_string())) {
        read("${node.datacenter}", "a pattern", job);
        out_.keep(datacenter.as_string());
      }
    const std::string& operand = object["Operand"].as_string();
    const std::string &left = object["LTarget"].as_string(), &right = object["RTarget"].as_string();
    if (reads_meaning(operand)) {
      for (const std::string* side : {&left, &right})
        if (side->starts_with("${"))
          read(*side, operand, job);
        else
          out_.keep(*side);
    } else if (operand == "distinct_hosts" || operand == "distinct_property" || is_amount(left, right)) {
      out_.keep(right);  // a boolean, a count, or a number with its unit
    }
  }

 private:
  static bool is_amount(const std::string& left, const std::string& right) {
    return left.starts_with("${device.attr.") && !right.empty() &&
           (is_decimal(right[0]) || right[0] == '-' || right[0] == '+');
  }
  void read(const std::string& target, const std::string& operand, const std::string& job) {
    out_.targets_.emplace(target, fmt::format("{} of job {} reads them", operand, base::shown(job)));
  }

  Anonymizer& out_;
};

void Anonymizer::keep_values(const json::Value& cluster) {
  each_value(cluster, [&](const std::string& target, const std::string& key, const std::string& value) {
    if (value.empty()) return;
    if (targets_.contains(target)) return keep(value);
    if (!target.starts_with("${attr.") || !is_fact(key)) return;
    if (key.find("version") != key.npos && looks_like_version(value)) return keep(value);
    each_unit(value, [&](std::string_view unit, const Unit&) {
      if (is_decimal(unit[0])) keep(unit);
    });
  });
}

Result<void, std::string> Anonymizer::prepare(std::span<json::Value* const> documents) {
  const std::map<std::string, std::string> before = targets_;
  Constraints constraints(*this);
  for (const json::Value* document : documents)
    each_constraint(*document, "",
                    [&](const json::Value& object, const std::string& job) { constraints.add(object, job); });
  for (const auto& [target, reader] : targets_)
    if (!before.contains(target) && replaced_.contains(target))
      return tl::unexpected("has replaced values of " + base::shown(target) + " already, and " + reader);
  for (const json::Value* document : documents) keep_values(*document);
  if (!conflict_.empty())
    return tl::unexpected("has replaced '" + base::shown(conflict_) +
                          "' already, which a constraint or version needs now");

  collecting_ = true;
  for (json::Value* document : documents) walk(*document, Place());
  collecting_ = false;
  texts_.clear();
  number_words();
  for (const json::Value* document : documents) note_replaced(*document);
  return {};
}

void Anonymizer::rewrite(json::Value& document) { walk(document, Place()); }

/// Numbers the collected words. Each number sorts between those of its neighbours: `n0042x1` after `n0042` and before
/// `n0043`; between `n0042` and `n0042x1` come `n0042x0x1` and so on, as no number is 0.
void Anonymizer::number_words() {
  static constexpr std::size_t kDigitsLeast = 4;
  const bool first = words_.empty();
  for (auto at = found_.begin(); at != found_.end();) {
    const auto next = words_.lower_bound(*at);  // none of found_ is in words_
    const auto end = next == words_.end() ? found_.end() : found_.lower_bound(next->first);
    const auto count = static_cast<std::size_t>(std::distance(at, end));
    std::string base(1, kPrefix);
    if (!first) {
      const std::string before = next == words_.begin() ? "" : std::prev(next)->second + 'x';
      base = before;
      if (before.empty() || (next != words_.end() && next->second.starts_with(before))) {
        base = next->second;
        for (std::size_t digit = base.size(); digit > 0 && is_decimal(base[digit - 1]); --digit) base[digit - 1] = '0';
        base += 'x';
      }
    }
    // Numbers that the documents contain as kept words are skipped.
    const std::size_t digits = std::to_string(count + kept_.size()).size();
    const std::size_t width = first ? std::max(kDigitsLeast, digits) : digits;
    std::size_t number = 0;
    for (; at != end; ++at) {
      std::string word;
      do word = fmt::format("{}{:0{}}", base, ++number, width);
      while (kept_.contains(word));
      numbered_.insert(word);
      words_.emplace_hint(next, *at, std::move(word));
    }
  }
  found_.clear();
}

void Anonymizer::note_replaced(const json::Value& cluster) {
  each_value(cluster, [&](const std::string& target, const std::string&, const std::string& value) {
    if (replaced_.contains(target)) return;
    bool any = false;
    each_unit(value, [&](std::string_view text, const Unit& unit) {  // numbers are words in secrets only
      any = any || (unit.kind != UnitKind::number && !kept_.contains(text) && !is_nomads_word(text, Vocabulary::name) &&
                    (words_.contains(text) || addresses_.contains(text) || unit.kind >= UnitKind::address4));
    });
    if (any) replaced_.insert(target);
  });
}

std::vector<std::string> Anonymizer::notes() const {
  std::vector<std::string> out;
  for (const auto& [target, reader] : targets_)
    out.push_back("anonymize: values of " + base::shown(target) + " stay as they are: " + reader);
  return out;
}

json::Value Anonymizer::to_json() const {
  const auto object = [](const auto& from) {
    json::Object members;
    members.reserve(from.size());
    for (const auto& [key, value] : from) members.push_back({key, value});
    return json::Value(std::move(members));
  };
  const auto list = [](const auto& from) {
    json::Array items(from.begin(), from.end());
    return json::Value(std::move(items));
  };
  json::Value out = json::Value::object();
  out.set("format", "berth-names"), out.set("version", kMapVersion);
  out.set("words", object(words_)), out.set("addresses", object(addresses_));
  out.set("address_count", address_count_);
  out.set("kept", list(kept_)), out.set("targets", object(targets_)), out.set("replaced", list(replaced_));
  return out;
}

Result<Anonymizer> Anonymizer::from_json(const json::Value& map, const std::string& path) {
  const auto refuse = [&](std::string place, std::string problem) {
    return tl::unexpected(
        InputError{path, std::move(place), std::move(problem), "name the file that --map wrote, or a new one"});
  };
  if (map["format"].as_string() != "berth-names") return refuse("", "is no map of names");
  if (map["version"].as_int() != kMapVersion) return refuse("/version", "is a version that this berth does not know");
  Anonymizer out;
  for (const auto& [key, into] : {std::pair{"words", &out.words_}, std::pair{"addresses", &out.addresses_}})
    for (const json::Member& member : map[key].members())
      if (!member.value.is_string() || !into->emplace(member.key, member.value.as_string()).second)
        return refuse(fmt::format("/{}/{}", key, base::shown(member.key)), "is no text, or is there twice");
  for (const auto& [address, value] : out.addresses_)
    if (!out.numbered_.insert(value).second)
      return refuse("/addresses/" + base::shown(address), "'" + base::shown(value) + "' is there twice");
  const std::string* last = nullptr;
  for (const auto& [word, value] : out.words_) {
    if (!value.starts_with(kPrefix) || (last && !(*last < value)) || !out.numbered_.insert(value).second)
      return refuse("/words/" + base::shown(word), "'" + base::shown(value) + "' is out of order");
    last = &value;
  }
  for (const json::Member& member : map["targets"].members())
    out.targets_.emplace(member.key, member.value.as_string());
  for (const json::Value& item : map["kept"].items()) out.kept_.insert(item.as_string());
  for (const json::Value& item : map["replaced"].items()) out.replaced_.insert(item.as_string());
  out.address_count_ = map["address_count"].as_uint();
  return out;
}

}  // namespace berth::io
