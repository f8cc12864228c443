#include "model/codec/api_keys.h"

#include <algorithm>
#include <span>

#include "base/edit_distance.h"
#include "base/json_members.h"
#include "base/text.h"
#include "model/registration/blocks.h"

namespace berth::model {
namespace {

enum class How : std::uint8_t {
  value,    // a scalar that the codec checks, or anything whose keys are the user's
  text,     // of blocks that the model retains as JSON, which the codec does not see
  number,   // a whole one
  boolean,  //
  texts,    // a list of texts
  numbers,  // a list of whole numbers
  dict,     // an object of texts
  object,   // an object of the shape
  list,     // a list of objects of the shape
  map,      // an object whose values have the shape
};

struct Shape;
struct Key {
  std::string_view name;
  How how = How::value;
  const Shape* shape = nullptr;
};
struct Shape {
  std::span<const Key> keys;
};

#define BERTH_SHAPE(name, ...)                \
  constexpr Key name##Keys[] = {__VA_ARGS__}; \
  constexpr Shape name { name##Keys }

BERTH_SHAPE(kConstraint, {"LTarget"}, {"RTarget"}, {"Operand"});
BERTH_SHAPE(kAffinity, {"LTarget"}, {"RTarget"}, {"Operand"}, {"Weight"});
BERTH_SHAPE(kSpreadTarget, {"Value"}, {"Percent"});
BERTH_SHAPE(kSpread, {"Attribute"}, {"Weight"}, {"SpreadTarget", How::list, &kSpreadTarget});
BERTH_SHAPE(kPort, {"Label"}, {"Value"}, {"To"}, {"HostNetwork"}, {"IgnoreCollision"});
BERTH_SHAPE(kDns, {"Servers"}, {"Searches"}, {"Options"});
BERTH_SHAPE(kCni, {"Args"});
BERTH_SHAPE(kNetwork, {"Mode"}, {"Device"}, {"CIDR"}, {"IP"}, {"Hostname"}, {"MBits"}, {"DNS", How::object, &kDns},
            {"CNI", How::object, &kCni}, {"ReservedPorts", How::list, &kPort}, {"DynamicPorts", How::list, &kPort});
BERTH_SHAPE(kDevice, {"Name"}, {"Count"}, {"Constraints", How::list, &kConstraint},
            {"Affinities", How::list, &kAffinity});
BERTH_SHAPE(kNuma, {"Affinity"}, {"Devices"});
BERTH_SHAPE(kResources, {"CPU"}, {"Cores"}, {"MemoryMB"}, {"MemoryMaxMB"}, {"SecretsMB"}, {"DiskMB"}, {"IOPS"},
            {"Networks", How::list, &kNetwork}, {"Devices", How::list, &kDevice}, {"NUMA", How::object, &kNuma});
BERTH_SHAPE(kRestart, {"Attempts"}, {"Interval"}, {"Delay"}, {"Mode"}, {"RenderTemplates"});
BERTH_SHAPE(kReschedule, {"Attempts"}, {"Interval"}, {"Delay"}, {"DelayFunction"}, {"MaxDelay"}, {"Unlimited"});
BERTH_SHAPE(kUpdate, {"Stagger"}, {"MaxParallel"}, {"HealthCheck"}, {"MinHealthyTime"}, {"HealthyDeadline"},
            {"ProgressDeadline"}, {"AutoRevert"}, {"AutoPromote"}, {"Canary"});
BERTH_SHAPE(kMigrate, {"MaxParallel"}, {"HealthCheck"}, {"MinHealthyTime"}, {"HealthyDeadline"});
BERTH_SHAPE(kDisconnect, {"LostAfter"}, {"StopOnClientAfter"}, {"Replace"}, {"Reconcile"});
BERTH_SHAPE(kDisk, {"Sticky"}, {"Migrate"}, {"SizeMB"});
BERTH_SHAPE(kMountOptions, {"FSType"}, {"MountFlags"});
BERTH_SHAPE(kVolume, {"Name"}, {"Type"}, {"Source"}, {"ReadOnly"}, {"Sticky"}, {"AccessMode"}, {"AttachmentMode"},
            {"MountOptions", How::object, &kMountOptions}, {"PerAlloc"});
BERTH_SHAPE(kMount, {"Volume", How::text}, {"Destination", How::text}, {"ReadOnly", How::boolean},
            {"PropagationMode", How::text}, {"SELinuxLabel", How::text});
BERTH_SHAPE(kLog, {"MaxFiles"}, {"MaxFileSizeMB"}, {"Disabled"});
BERTH_SHAPE(kLifecycle, {"Hook"}, {"Sidecar"});
BERTH_SHAPE(kScaling, {"ID"}, {"Namespace"}, {"Type"}, {"Target"}, {"Policy"}, {"Min"}, {"Max"}, {"Enabled"},
            {"CreateIndex"}, {"ModifyIndex"});
BERTH_SHAPE(kIdentity, {"Name", How::text}, {"Audience", How::texts}, {"ChangeMode", How::text},
            {"ChangeSignal", How::text}, {"Env", How::boolean}, {"File", How::boolean}, {"Filepath", How::text},
            {"ServiceName", How::text}, {"TTL", How::number}, {"ExtraClaims", How::texts});
BERTH_SHAPE(kCheckRestart, {"Limit", How::number}, {"Grace", How::number}, {"IgnoreWarnings", How::boolean});
BERTH_SHAPE(kCheck, {"Name", How::text}, {"Type", How::text}, {"Command", How::text}, {"Args", How::texts},
            {"Path", How::text}, {"Protocol", How::text}, {"PortLabel", How::text}, {"Expose", How::boolean},
            {"AddressMode", How::text}, {"Advertise", How::text}, {"Interval", How::number}, {"Timeout", How::number},
            {"InitialStatus", How::text}, {"Notes", How::text}, {"TLSServerName", How::text},
            {"TLSSkipVerify", How::boolean}, {"Header"}, {"Method", How::text},
            {"CheckRestart", How::object, &kCheckRestart}, {"GRPCService", How::text}, {"GRPCUseTLS", How::boolean},
            {"TaskName", How::text}, {"SuccessBeforePassing", How::number}, {"FailuresBeforeCritical", How::number},
            {"FailuresBeforeWarning", How::number}, {"Body", How::text}, {"OnUpdate", How::text});

// Connect: sidecars and gateways (R-REG sections 1 and 2).
BERTH_SHAPE(kExposePath, {"Path", How::text}, {"Protocol", How::text}, {"LocalPathPort", How::number},
            {"ListenerPort", How::text});
BERTH_SHAPE(kExpose, {"Paths", How::list, &kExposePath}, {"Path", How::list, &kExposePath});
BERTH_SHAPE(kMeshGateway, {"Mode", How::text});
BERTH_SHAPE(kUpstream, {"DestinationName", How::text}, {"DestinationNamespace", How::text},
            {"DestinationPeer", How::text}, {"DestinationPartition", How::text}, {"DestinationType", How::text},
            {"LocalBindPort", How::number}, {"Datacenter", How::text}, {"LocalBindAddress", How::text},
            {"LocalBindSocketPath", How::text}, {"LocalBindSocketMode", How::text},
            {"MeshGateway", How::object, &kMeshGateway}, {"Config"});
BERTH_SHAPE(kTransparentProxy, {"UID", How::text}, {"OutboundPort", How::number}, {"ExcludeInboundPorts", How::texts},
            {"ExcludeOutboundPorts", How::numbers}, {"ExcludeOutboundCIDRs", How::texts}, {"ExcludeUIDs", How::texts},
            {"NoDNS", How::boolean});
BERTH_SHAPE(kProxy, {"LocalServiceAddress", How::text}, {"LocalServicePort", How::number},
            {"Expose", How::object, &kExpose}, {"ExposeConfig", How::object, &kExpose},
            {"Upstreams", How::list, &kUpstream}, {"TransparentProxy", How::object, &kTransparentProxy}, {"Config"});
BERTH_SHAPE(kSidecarService, {"Tags", How::texts}, {"Port", How::text}, {"Proxy", How::object, &kProxy},
            {"DisableDefaultTCPCheck", How::boolean}, {"Meta", How::dict});
BERTH_SHAPE(kSidecarTask, {"Name", How::text}, {"Driver", How::text}, {"User", How::text}, {"Config"},
            {"Env", How::dict}, {"Resources", How::object, &kResources}, {"Meta", How::dict},
            {"KillTimeout", How::number}, {"LogConfig", How::object, &kLog}, {"ShutdownDelay", How::number},
            {"KillSignal", How::text}, {"VolumeMounts", How::list, &kMount}, {"Identities", How::list, &kIdentity});
BERTH_SHAPE(kBindAddress, {"Name", How::text}, {"Address", How::text}, {"Port", How::number});
BERTH_SHAPE(kGatewayProxy, {"ConnectTimeout", How::number}, {"EnvoyGatewayBindTaggedAddresses", How::boolean},
            {"EnvoyGatewayBindAddresses", How::map, &kBindAddress}, {"EnvoyGatewayNoDefaultBind", How::boolean},
            {"EnvoyDNSDiscoveryType", How::text}, {"Config"});
BERTH_SHAPE(kSds, {"ClusterName", How::text}, {"CertResource", How::text});
BERTH_SHAPE(kGatewayTls, {"Enabled", How::boolean}, {"TLSMinVersion", How::text}, {"TLSMaxVersion", How::text},
            {"CipherSuites", How::texts}, {"SDS", How::object, &kSds});
BERTH_SHAPE(kHeaders, {"Add", How::dict}, {"Set", How::dict}, {"Remove", How::texts});
BERTH_SHAPE(kIngressService, {"Name", How::text}, {"Hosts", How::texts}, {"TLS", How::object, &kGatewayTls},
            {"RequestHeaders", How::object, &kHeaders}, {"ResponseHeaders", How::object, &kHeaders},
            {"MaxConnections", How::number}, {"MaxPendingRequests", How::number},
            {"MaxConcurrentRequests", How::number});
BERTH_SHAPE(kListener, {"Port", How::number}, {"Protocol", How::text}, {"Services", How::list, &kIngressService});
BERTH_SHAPE(kIngress, {"TLS", How::object, &kGatewayTls}, {"Listeners", How::list, &kListener});
BERTH_SHAPE(kLinkedService, {"Name", How::text}, {"CAFile", How::text}, {"CertFile", How::text}, {"KeyFile", How::text},
            {"SNI", How::text});
BERTH_SHAPE(kTerminating, {"Services", How::list, &kLinkedService});
constexpr Shape kMesh{};
BERTH_SHAPE(kGateway, {"Proxy", How::object, &kGatewayProxy}, {"Ingress", How::object, &kIngress},
            {"Terminating", How::object, &kTerminating}, {"Mesh", How::object, &kMesh});
BERTH_SHAPE(kConnect, {"Native", How::boolean}, {"Gateway", How::object, &kGateway},
            {"SidecarService", How::object, &kSidecarService}, {"SidecarTask", How::object, &kSidecarTask});

BERTH_SHAPE(kWeights, {"Passing", How::number}, {"Warning", How::number});
BERTH_SHAPE(kService, {"Name", How::text}, {"Tags", How::texts}, {"CanaryTags", How::texts},
            {"EnableTagOverride", How::boolean}, {"PortLabel", How::text}, {"AddressMode", How::text},
            {"Address", How::text}, {"Checks", How::list, &kCheck}, {"CheckRestart", How::object, &kCheckRestart},
            {"Connect", How::object, &kConnect}, {"Meta", How::dict}, {"CanaryMeta", How::dict},
            {"TaggedAddresses", How::dict}, {"TaskName", How::text}, {"OnUpdate", How::text},
            {"Identity", How::object, &kIdentity}, {"Weights", How::object, &kWeights}, {"Provider", How::text},
            {"Cluster", How::text}, {"Kind", How::text}, {"Namespace", How::text});
BERTH_SHAPE(kVault, {"Role", How::text}, {"Namespace", How::text}, {"Cluster", How::text}, {"Env", How::boolean},
            {"DisableFile", How::boolean}, {"ChangeMode", How::text}, {"ChangeSignal", How::text},
            {"AllowTokenExpiration", How::boolean}, {"Policies", How::texts});
BERTH_SHAPE(kConsul, {"Cluster", How::text}, {"Namespace", How::text}, {"Partition", How::text});
BERTH_SHAPE(kChangeScript, {"Command", How::text}, {"Args", How::texts}, {"Timeout", How::number},
            {"FailOnError", How::boolean}, {"RunOnFirstRender", How::boolean});
BERTH_SHAPE(kWait, {"Min", How::number}, {"Max", How::number});
BERTH_SHAPE(kTemplate, {"SourcePath", How::text}, {"DestPath", How::text}, {"EmbeddedTmpl", How::text},
            {"ChangeMode", How::text}, {"ChangeScript", How::object, &kChangeScript}, {"ChangeSignal", How::text},
            {"Once", How::boolean}, {"Splay", How::number}, {"Perms", How::text}, {"Uid", How::number},
            {"Gid", How::number}, {"LeftDelim", How::text}, {"RightDelim", How::text}, {"Envvars", How::boolean},
            {"VaultGrace", How::number}, {"Wait", How::object, &kWait}, {"ErrMissingKey", How::boolean});
BERTH_SHAPE(kArtifact, {"GetterSource", How::text}, {"GetterOptions", How::dict}, {"GetterHeaders", How::dict},
            {"GetterMode", How::text}, {"GetterInsecure", How::boolean}, {"RelativeDest", How::text},
            {"Chown", How::boolean});
BERTH_SHAPE(kSecret, {"Name", How::text}, {"Provider", How::text}, {"Path", How::text}, {"Config"}, {"Env", How::dict});
BERTH_SHAPE(kCsiPlugin, {"ID", How::text}, {"Type", How::text}, {"MountDir", How::text},
            {"StagePublishBaseDir", How::text}, {"HealthTimeout", How::number});
BERTH_SHAPE(kDispatchPayload, {"File", How::text});
BERTH_SHAPE(kAction, {"Name", How::text}, {"Command", How::text}, {"Args", How::texts});
BERTH_SHAPE(kTask, {"Name"}, {"Driver"}, {"User"}, {"Config"}, {"Env"}, {"Services", How::list, &kService},
            {"Vault", How::object, &kVault}, {"Consul", How::object, &kConsul}, {"Templates", How::list, &kTemplate},
            {"Secrets", How::list, &kSecret}, {"Constraints", How::list, &kConstraint},
            {"Affinities", How::list, &kAffinity}, {"Resources", How::object, &kResources},
            {"RestartPolicy", How::object, &kRestart}, {"DispatchPayload", How::object, &kDispatchPayload},
            {"Lifecycle", How::object, &kLifecycle}, {"Meta"}, {"KillTimeout"}, {"LogConfig", How::object, &kLog},
            {"Artifacts", How::list, &kArtifact}, {"Leader"}, {"ShutdownDelay"}, {"VolumeMounts", How::list, &kMount},
            {"ScalingPolicies", How::list, &kScaling}, {"CSIPluginConfig", How::object, &kCsiPlugin}, {"KillSignal"},
            {"Kind"}, {"Identity", How::object, &kIdentity}, {"Identities", How::list, &kIdentity},
            {"Actions", How::list, &kAction}, {"Schedule"});
BERTH_SHAPE(kGroup, {"Name"}, {"Count"}, {"Constraints", How::list, &kConstraint},
            {"Affinities", How::list, &kAffinity}, {"Spreads", How::list, &kSpread}, {"Tasks", How::list, &kTask},
            {"RestartPolicy", How::object, &kRestart}, {"ReschedulePolicy", How::object, &kReschedule},
            {"EphemeralDisk", How::object, &kDisk}, {"Update", How::object, &kUpdate},
            {"Migrate", How::object, &kMigrate}, {"Disconnect", How::object, &kDisconnect},
            {"Networks", How::list, &kNetwork}, {"Meta"}, {"Services", How::list, &kService},
            {"Consul", How::object, &kConsul}, {"Volumes", How::map, &kVolume}, {"ShutdownDelay"}, {"MaxRunDuration"},
            {"Scaling", How::object, &kScaling}, {"StopAfterClientDisconnect"}, {"MaxClientDisconnect"},
            {"PreventRescheduleOnLost"});
BERTH_SHAPE(kPeriodic, {"Enabled"}, {"Spec"}, {"Specs"}, {"SpecType"}, {"ProhibitOverlap"}, {"TimeZone"});
BERTH_SHAPE(kParameterized, {"Payload"}, {"MetaRequired"}, {"MetaOptional"});
BERTH_SHAPE(kLink, {"Label"}, {"Url"});
BERTH_SHAPE(kUi, {"Description"}, {"Links", How::list, &kLink});
BERTH_SHAPE(kRegionStrategy, {"MaxParallel", How::number}, {"OnFailure", How::text});
BERTH_SHAPE(kRegion, {"Name", How::text}, {"Count", How::number}, {"Datacenters", How::texts}, {"NodePool", How::text},
            {"Meta", How::dict});
BERTH_SHAPE(kMultiregion, {"Strategy", How::object, &kRegionStrategy}, {"Regions", How::list, &kRegion});
BERTH_SHAPE(kVersionTag, {"Name"}, {"Description"}, {"TaggedTime"});
BERTH_SHAPE(kJob, {"ID"}, {"Name"}, {"Namespace"}, {"Region"}, {"ParentID"}, {"Type"}, {"Priority"}, {"AllAtOnce"},
            {"Datacenters"}, {"NodePool"}, {"Constraints", How::list, &kConstraint},
            {"Affinities", How::list, &kAffinity}, {"Spreads", How::list, &kSpread}, {"TaskGroups", How::list, &kGroup},
            {"Update", How::object, &kUpdate}, {"Reschedule", How::object, &kReschedule},
            {"Migrate", How::object, &kMigrate}, {"Periodic", How::object, &kPeriodic},
            {"ParameterizedJob", How::object, &kParameterized}, {"Multiregion", How::object, &kMultiregion},
            {"Dispatched"}, {"DispatchIdempotencyToken"}, {"Payload"}, {"Meta"}, {"Stop"}, {"ConsulNamespace"},
            {"VaultNamespace"}, {"NomadTokenID"}, {"Status"}, {"StatusDescription"}, {"Stable"}, {"Version"},
            {"SubmitTime"}, {"CreateIndex"}, {"ModifyIndex"}, {"JobModifyIndex"}, {"UI", How::object, &kUi},
            {"VersionTag", How::object, &kVersionTag});

#undef BERTH_SHAPE

struct Normaliser {
  const std::string& path;

  Result<json::Value> object(const json::Value& value, const Shape& shape, const std::string& place) const {
    if (!value.is_object()) return mistyped(value, "an object", place);
    json::Value out = json::Value::object();
    for (const Key& key : shape.keys) {
      const json::Value* found = value.find_ignoring_case(key.name);
      if (!found || found->is_null()) continue;
      auto inner = member(*found, key, place + "/" + std::string(key.name));
      if (!inner) return inner;
      out.members().push_back({std::string(key.name), std::move(*inner)});
    }
    return out;
  }

  Result<json::Value> member(const json::Value& value, const Key& key, const std::string& place) const {
    if (key.shape == nullptr) return leaf(value, key.how, place);
    if (key.how == How::object) return object(value, *key.shape, place);
    if (key.how == How::map) {
      if (!value.is_object()) return mistyped(value, "an object", place);
      json::Value out = json::Value::object();
      json::MemberWriter writer(out);
      for (const json::Member& entry : value.members()) {
        if (entry.value.is_null()) continue;
        auto inner = object(entry.value, *key.shape, place + "/" + entry.key);
        if (!inner) return inner;
        writer.set(entry.key, std::move(*inner));
      }
      return out;
    }
    if (!value.is_array()) return mistyped(value, "a list", place);
    json::Value out = json::Value::array();
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      if (value.items()[i].is_null()) continue;
      auto inner = object(value.items()[i], *key.shape, place + "/" + std::to_string(i));
      if (!inner) return inner;
      out.push(std::move(*inner));
    }
    return out;
  }

  static bool all_of(const json::Array& items, bool (json::Value::*kind)() const) {
    return std::all_of(items.begin(), items.end(),
                       [&](const json::Value& item) { return item.is_null() || (item.*kind)(); });
  }
  Result<json::Value> leaf(const json::Value& value, How how, const std::string& place) const {
    const auto unless = [&](bool good, const char* wanted) -> Result<json::Value> {
      return good ? Result<json::Value>(value) : mistyped(value, wanted, place);
    };
    switch (how) {
      case How::text:
        return unless(value.is_string(), "a string");
      case How::number:
        return unless(value.is_int64(), "an integer");
      case How::boolean:
        return unless(value.is_bool(), "true or false");
      case How::texts:
        return unless(value.is_array() && all_of(value.items(), &json::Value::is_string), "a list of strings");
      case How::numbers:
        return unless(value.is_array() && all_of(value.items(), &json::Value::is_int64), "a list of integers");
      case How::dict:
        return unless(value.is_object() &&
                          std::all_of(value.members().begin(), value.members().end(),
                                      [](const json::Member& m) { return m.value.is_null() || m.value.is_string(); }),
                      "an object of strings");
      default:
        return value;
    }
  }

  Result<json::Value> mistyped(const json::Value& value, const char* wanted, const std::string& place) const {
    return tl::unexpected(
        InputError{path, place, std::string("expected ") + wanted + ", got " + value.kind(), "correct the value"});
  }
};

/// Visits the same keys as Normaliser and remarks on those that it drops.
struct KeyChecker {
  static constexpr std::size_t kSuggested = 32;  ///< unknown keys that are compared with all known ones
  std::vector<std::string>& out;

  void object(const json::Value& value, const Shape& shape, const std::string& place) {
    twice(value, place);
    for (const json::Member& member : value.members()) {
      const Key* key = find(shape, member.key);
      const std::string at = place + "/" + base::shown(member.key);
      if (key)
        inside(member.value, *key, at);
      else if (!is_empty(member.value))
        out.push_back(at + ": no job has this key, so it is ignored" +
                      (out.size() < kSuggested ? nearest(shape, member.key) : ""));
    }
  }

 private:
  void inside(const json::Value& value, const Key& key, const std::string& place) {
    if (key.shape == nullptr) return within_value(value, place);
    if (key.how == How::object) return object(value, *key.shape, place);
    if (key.how == How::map) twice(value, place);
    for (const json::Member& entry : value.members())
      object(entry.value, *key.shape, place + "/" + base::shown(entry.key));
    for (std::size_t i = 0; i < value.items().size(); ++i)
      object(value.items()[i], *key.shape, place + "/" + std::to_string(i));
  }
  /// A value with arbitrary user keys: none may occur twice.
  void within_value(const json::Value& value, const std::string& place) {
    twice(value, place);
    for (const json::Member& member : value.members())
      within_value(member.value, place + "/" + base::shown(member.key));
    for (std::size_t i = 0; i < value.items().size(); ++i)
      within_value(value.items()[i], place + "/" + std::to_string(i));
  }

  void twice(const json::Value& value, const std::string& place) {
    std::vector<std::string_view> keys;
    for (const json::Member& member : value.members()) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    for (auto at = std::adjacent_find(keys.begin(), keys.end()); at != keys.end();
         at = std::adjacent_find(std::upper_bound(at, keys.end(), *at), keys.end()))
      out.push_back(place + "/" + base::shown(*at) + ": stands more than once; the last one counts");
  }

  static const Key* find(const Shape& shape, std::string_view name) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    const auto found = std::find_if(shape.keys.begin(), shape.keys.end(), [&](const Key& key) {
      return std::equal(key.name.begin(), key.name.end(), name.begin(), name.end(),
                        [&](char a, char b) { return lower(a) == lower(b); });
    });
    return found == shape.keys.end() ? nullptr : &*found;
  }
  static bool is_empty(const json::Value& value) {
    return value.is_null() || ((value.is_array() || value.is_object()) && value.size() == 0);
  }
  static std::string nearest(const Shape& shape, std::string_view name) {
    std::vector<std::string> names;
    for (const Key& key : shape.keys) names.emplace_back(key.name);
    const std::string* nearest = base::nearest_name(name, names);
    return nearest ? "; did you mean " + *nearest + "?" : "";
  }
};

}  // namespace

Result<json::Value> normalise_job_keys(const json::Value& job, const std::string& path, const std::string& place) {
  return Normaliser{path}.object(job, kJob, place);
}

std::vector<std::string> job_key_warnings(const json::Value& job, const std::string& place) {
  std::vector<std::string> out;
  KeyChecker{out}.object(job, kJob, place);
  return out;
}

}  // namespace berth::model
