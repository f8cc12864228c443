#include "model/codec/api_keys.h"

#include <algorithm>
#include <span>

#include "base/edit_distance.h"
#include "base/text.h"

namespace berth::model {
namespace {

enum class How : std::uint8_t {
  value,   // a scalar, a map of texts, or anything whose keys are the user's
  object,  // an object of the shape
  list,    // a list of objects of the shape
  map,     // an object whose values have the shape
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
BERTH_SHAPE(kMount, {"Volume"}, {"Destination"}, {"ReadOnly"}, {"PropagationMode"}, {"SELinuxLabel"});
BERTH_SHAPE(kLog, {"MaxFiles"}, {"MaxFileSizeMB"}, {"Disabled"});
BERTH_SHAPE(kLifecycle, {"Hook"}, {"Sidecar"});
BERTH_SHAPE(kScaling, {"ID"}, {"Namespace"}, {"Type"}, {"Target"}, {"Policy"}, {"Min"}, {"Max"}, {"Enabled"},
            {"CreateIndex"}, {"ModifyIndex"});
BERTH_SHAPE(kIdentity, {"Name"}, {"Audience"}, {"ChangeMode"}, {"ChangeSignal"}, {"Env"}, {"File"}, {"Filepath"},
            {"ServiceName"}, {"TTL"}, {"ExtraClaims"});
BERTH_SHAPE(kCheckRestart, {"Limit"}, {"Grace"}, {"IgnoreWarnings"});
BERTH_SHAPE(kCheck, {"Name"}, {"Type"}, {"Command"}, {"Args"}, {"Path"}, {"Protocol"}, {"PortLabel"}, {"Expose"},
            {"AddressMode"}, {"Advertise"}, {"Interval"}, {"Timeout"}, {"InitialStatus"}, {"Notes"}, {"TLSServerName"},
            {"TLSSkipVerify"}, {"Header"}, {"Method"}, {"CheckRestart", How::object, &kCheckRestart}, {"GRPCService"},
            {"GRPCUseTLS"}, {"TaskName"}, {"SuccessBeforePassing"}, {"FailuresBeforeCritical"},
            {"FailuresBeforeWarning"}, {"Body"}, {"OnUpdate"});
// Connect blocks are not expanded (R-MODEL-246) and keep whatever stands in them.
BERTH_SHAPE(kService, {"Name"}, {"Tags"}, {"CanaryTags"}, {"EnableTagOverride"}, {"PortLabel"}, {"AddressMode"},
            {"Address"}, {"Checks", How::list, &kCheck}, {"CheckRestart", How::object, &kCheckRestart}, {"Connect"},
            {"Meta"}, {"CanaryMeta"}, {"TaggedAddresses"}, {"TaskName"}, {"OnUpdate"}, {"Identity"}, {"Weights"},
            {"Provider"}, {"Cluster"}, {"Kind"}, {"Namespace"});
BERTH_SHAPE(kVault, {"Role"}, {"Namespace"}, {"Cluster"}, {"Env"}, {"DisableFile"}, {"ChangeMode"}, {"ChangeSignal"},
            {"AllowTokenExpiration"}, {"Policies"});
BERTH_SHAPE(kConsul, {"Cluster"}, {"Namespace"}, {"Partition"});
BERTH_SHAPE(kChangeScript, {"Command"}, {"Args"}, {"Timeout"}, {"FailOnError"}, {"RunOnFirstRender"});
BERTH_SHAPE(kWait, {"Min"}, {"Max"});
BERTH_SHAPE(kTemplate, {"SourcePath"}, {"DestPath"}, {"EmbeddedTmpl"}, {"ChangeMode"},
            {"ChangeScript", How::object, &kChangeScript}, {"ChangeSignal"}, {"Once"}, {"Splay"}, {"Perms"}, {"Uid"},
            {"Gid"}, {"LeftDelim"}, {"RightDelim"}, {"Envvars"}, {"VaultGrace"}, {"Wait", How::object, &kWait},
            {"ErrMissingKey"});
BERTH_SHAPE(kArtifact, {"GetterSource"}, {"GetterOptions"}, {"GetterHeaders"}, {"GetterMode"}, {"GetterInsecure"},
            {"RelativeDest"}, {"Chown"});
BERTH_SHAPE(kSecret, {"Name"}, {"Provider"}, {"Path"}, {"Config"}, {"Env"});
BERTH_SHAPE(kCsiPlugin, {"ID"}, {"Type"}, {"MountDir"}, {"StagePublishBaseDir"}, {"HealthTimeout"});
BERTH_SHAPE(kDispatchPayload, {"File"});
BERTH_SHAPE(kTask, {"Name"}, {"Driver"}, {"User"}, {"Config"}, {"Env"}, {"Services", How::list, &kService},
            {"Vault", How::object, &kVault}, {"Consul", How::object, &kConsul}, {"Templates", How::list, &kTemplate},
            {"Secrets", How::list, &kSecret}, {"Constraints", How::list, &kConstraint},
            {"Affinities", How::list, &kAffinity}, {"Resources", How::object, &kResources},
            {"RestartPolicy", How::object, &kRestart}, {"DispatchPayload", How::object, &kDispatchPayload},
            {"Lifecycle", How::object, &kLifecycle}, {"Meta"}, {"KillTimeout"}, {"LogConfig", How::object, &kLog},
            {"Artifacts", How::list, &kArtifact}, {"Leader"}, {"ShutdownDelay"}, {"VolumeMounts", How::list, &kMount},
            {"ScalingPolicies", How::list, &kScaling}, {"CSIPluginConfig", How::object, &kCsiPlugin}, {"KillSignal"},
            {"Kind"}, {"Identity", How::object, &kIdentity}, {"Identities", How::list, &kIdentity}, {"Actions"},
            {"Schedule"});
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
BERTH_SHAPE(kVersionTag, {"Name"}, {"Description"}, {"TaggedTime"});
BERTH_SHAPE(kJob, {"ID"}, {"Name"}, {"Namespace"}, {"Region"}, {"ParentID"}, {"Type"}, {"Priority"}, {"AllAtOnce"},
            {"Datacenters"}, {"NodePool"}, {"Constraints", How::list, &kConstraint},
            {"Affinities", How::list, &kAffinity}, {"Spreads", How::list, &kSpread}, {"TaskGroups", How::list, &kGroup},
            {"Update", How::object, &kUpdate}, {"Reschedule", How::object, &kReschedule},
            {"Migrate", How::object, &kMigrate}, {"Periodic", How::object, &kPeriodic},
            {"ParameterizedJob", How::object, &kParameterized}, {"Multiregion"}, {"Dispatched"},
            {"DispatchIdempotencyToken"}, {"Payload"}, {"Meta"}, {"Stop"}, {"ConsulNamespace"}, {"VaultNamespace"},
            {"NomadTokenID"}, {"Status"}, {"StatusDescription"}, {"Stable"}, {"Version"}, {"SubmitTime"},
            {"CreateIndex"}, {"ModifyIndex"}, {"JobModifyIndex"}, {"UI", How::object, &kUi},
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
    if (key.how == How::value) return value;
    if (key.how == How::object) return object(value, *key.shape, place);
    if (key.how == How::map) {
      if (!value.is_object()) return mistyped(value, "an object", place);
      json::Value out = json::Value::object();
      for (const json::Member& entry : value.members()) {
        if (entry.value.is_null()) continue;
        auto inner = object(entry.value, *key.shape, place + "/" + entry.key);
        if (!inner) return inner;
        out.set(entry.key, std::move(*inner));
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

  Result<json::Value> mistyped(const json::Value& value, const char* wanted, const std::string& place) const {
    return tl::unexpected(
        InputError{path, place, std::string("expected ") + wanted + ", got " + value.kind(), "correct the value"});
  }
};

/// Walks as Normaliser does, and remarks on what that leaves out.
struct KeyChecker {
  std::vector<std::string>& out;

  void object(const json::Value& value, const Shape& shape, const std::string& place) {
    twice(value, place);
    for (const json::Member& member : value.members()) {
      const Key* key = find(shape, member.key);
      const std::string at = place + "/" + base::shown(member.key);
      if (key)
        inside(member.value, *key, at);
      else if (!is_empty(member.value))
        out.push_back(at + ": no job has this key, so it is ignored" + nearest(shape, member.key));
    }
  }

 private:
  void inside(const json::Value& value, const Key& key, const std::string& place) {
    if (key.how == How::value) return within_value(value, place);
    if (key.how == How::object) return object(value, *key.shape, place);
    if (key.how == How::map) twice(value, place);
    for (const json::Member& entry : value.members())
      object(entry.value, *key.shape, place + "/" + base::shown(entry.key));
    for (std::size_t i = 0; i < value.items().size(); ++i)
      object(value.items()[i], *key.shape, place + "/" + std::to_string(i));
  }
  /// Whatever keys the user gave it: none twice.
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
    const std::string said(name.substr(0, 64));
    const auto distance = [&](const Key& key) { return base::edit_distance(said, std::string(key.name)); };
    const auto best = std::min_element(shape.keys.begin(), shape.keys.end(),
                                       [&](const Key& a, const Key& b) { return distance(a) < distance(b); });
    return distance(*best) <= 3 ? "; did you mean " + std::string(best->name) + "?" : "";
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
