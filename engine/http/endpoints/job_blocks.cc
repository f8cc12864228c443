#include "http/endpoints/job_blocks.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::http {

// A named namespace, so that the short names below do not collide with others.
namespace job_blocks {
namespace {

struct Block;
enum class Zero : std::uint8_t { text, number, boolean, null };
struct Member {
  std::string_view name;
  Zero zero = Zero::null;
  const Block* inside = nullptr;  ///< members of a block, of each list item or, if `map`, of each value
  bool map = false;
};
struct Block {
  std::span<const Member> members;
};

#define BERTH_BLOCK(name, ...)                      \
  constexpr Member name##Members[] = {__VA_ARGS__}; \
  constexpr Block name { name##Members }

constexpr Zero kText = Zero::text, kNumber = Zero::number, kBoolean = Zero::boolean, kNull = Zero::null;

BERTH_BLOCK(kIdentity, {"Name", kText}, {"Audience"}, {"ChangeMode", kText}, {"ChangeSignal", kText}, {"Env", kBoolean},
            {"File", kBoolean}, {"Filepath", kText}, {"ServiceName", kText}, {"TTL", kNumber}, {"ExtraClaims"});
BERTH_BLOCK(kCheckRestart, {"Limit", kNumber}, {"Grace", kNumber}, {"IgnoreWarnings", kBoolean});
BERTH_BLOCK(kCheck, {"Name", kText}, {"Type", kText}, {"Command", kText}, {"Args"}, {"Path", kText},
            {"Protocol", kText}, {"PortLabel", kText}, {"Expose", kBoolean}, {"AddressMode", kText},
            {"Interval", kNumber}, {"Timeout", kNumber}, {"InitialStatus", kText}, {"Notes", kText},
            {"TLSServerName", kText}, {"TLSSkipVerify", kBoolean}, {"Header"}, {"Method", kText},
            {"CheckRestart", kNull, &kCheckRestart}, {"GRPCService", kText}, {"GRPCUseTLS", kBoolean},
            {"TaskName", kText}, {"SuccessBeforePassing", kNumber}, {"FailuresBeforeCritical", kNumber},
            {"FailuresBeforeWarning", kNumber}, {"Body", kText}, {"OnUpdate", kText});
BERTH_BLOCK(kPath, {"Path", kText}, {"Protocol", kText}, {"LocalPathPort", kNumber}, {"ListenerPort", kText});
BERTH_BLOCK(kExpose, {"Paths", kNull, &kPath});
BERTH_BLOCK(kMeshGateway, {"Mode", kText});
BERTH_BLOCK(kUpstream, {"DestinationName", kText}, {"DestinationNamespace", kText}, {"DestinationPeer", kText},
            {"DestinationPartition", kText}, {"DestinationType", kText}, {"LocalBindPort", kNumber},
            {"Datacenter", kText}, {"LocalBindAddress", kText}, {"LocalBindSocketPath", kText},
            {"LocalBindSocketMode", kText}, {"MeshGateway", kNull, &kMeshGateway}, {"Config"});
BERTH_BLOCK(kTransparentProxy, {"UID", kText}, {"OutboundPort", kNumber}, {"ExcludeInboundPorts"},
            {"ExcludeOutboundPorts"}, {"ExcludeOutboundCIDRs"}, {"ExcludeUIDs"}, {"NoDNS", kBoolean});
BERTH_BLOCK(kProxy, {"LocalServiceAddress", kText}, {"LocalServicePort", kNumber}, {"Expose", kNull, &kExpose},
            {"Upstreams", kNull, &kUpstream}, {"TransparentProxy", kNull, &kTransparentProxy}, {"Config"});
BERTH_BLOCK(kSidecarService, {"Tags"}, {"Port", kText}, {"Proxy", kNull, &kProxy}, {"DisableDefaultTCPCheck", kBoolean},
            {"Meta"});
BERTH_BLOCK(kMount, {"Volume", kText}, {"Destination", kText}, {"ReadOnly", kBoolean}, {"PropagationMode", kText},
            {"SELinuxLabel", kText});
BERTH_BLOCK(kResources, {"CPU", kNumber}, {"Cores", kNumber}, {"MemoryMB", kNumber}, {"MemoryMaxMB", kNumber},
            {"DiskMB", kNumber}, {"IOPS", kNumber}, {"Networks"}, {"Devices"}, {"NUMA"}, {"SecretsMB", kNumber});
BERTH_BLOCK(kLogs, {"MaxFiles", kNumber}, {"MaxFileSizeMB", kNumber}, {"Disabled", kBoolean});
BERTH_BLOCK(kSidecarTask, {"Name", kText}, {"Driver", kText}, {"User", kText}, {"Config"}, {"Env"},
            {"Resources", kNull, &kResources}, {"Meta"}, {"KillTimeout"}, {"LogConfig", kNull, &kLogs},
            {"ShutdownDelay"}, {"KillSignal", kText}, {"VolumeMounts", kNull, &kMount},
            {"Identities", kNull, &kIdentity});
BERTH_BLOCK(kBindAddress, {"Address", kText}, {"Port", kNumber});
BERTH_BLOCK(kGatewayProxy, {"ConnectTimeout"}, {"EnvoyGatewayBindTaggedAddresses", kBoolean},
            {"EnvoyGatewayBindAddresses", kNull, &kBindAddress, true}, {"EnvoyGatewayNoDefaultBind", kBoolean},
            {"EnvoyDNSDiscoveryType", kText}, {"Config"});
BERTH_BLOCK(kSds, {"ClusterName", kText}, {"CertResource", kText});
BERTH_BLOCK(kTls, {"Enabled", kBoolean}, {"TLSMinVersion", kText}, {"TLSMaxVersion", kText}, {"CipherSuites"},
            {"SDS", kNull, &kSds});
BERTH_BLOCK(kHeaders, {"Add"}, {"Set"}, {"Remove"});
BERTH_BLOCK(kIngressService, {"Name", kText}, {"Hosts"}, {"TLS", kNull, &kTls}, {"RequestHeaders", kNull, &kHeaders},
            {"ResponseHeaders", kNull, &kHeaders}, {"MaxConnections"}, {"MaxPendingRequests"},
            {"MaxConcurrentRequests"});
BERTH_BLOCK(kListener, {"Port", kNumber}, {"Protocol", kText}, {"Services", kNull, &kIngressService});
BERTH_BLOCK(kIngress, {"TLS", kNull, &kTls}, {"Listeners", kNull, &kListener});
BERTH_BLOCK(kLinkedService, {"Name", kText}, {"CAFile", kText}, {"CertFile", kText}, {"KeyFile", kText},
            {"SNI", kText});
BERTH_BLOCK(kTerminating, {"Services", kNull, &kLinkedService});
BERTH_BLOCK(kGateway, {"Proxy", kNull, &kGatewayProxy}, {"Ingress", kNull, &kIngress},
            {"Terminating", kNull, &kTerminating}, {"Mesh"});
BERTH_BLOCK(kConnect, {"Native", kBoolean}, {"Gateway", kNull, &kGateway}, {"SidecarService", kNull, &kSidecarService},
            {"SidecarTask", kNull, &kSidecarTask});
BERTH_BLOCK(kWeights, {"Passing", kNumber}, {"Warning", kNumber});
BERTH_BLOCK(kService, {"Name", kText}, {"Tags"}, {"CanaryTags"}, {"EnableTagOverride", kBoolean}, {"PortLabel", kText},
            {"AddressMode", kText}, {"Address", kText}, {"Checks", kNull, &kCheck}, {"Connect", kNull, &kConnect},
            {"Meta"}, {"CanaryMeta"}, {"TaggedAddresses"}, {"TaskName", kText}, {"OnUpdate", kText},
            {"Identity", kNull, &kIdentity}, {"Weights", kNull, &kWeights}, {"Provider", kText}, {"Cluster", kText},
            {"Kind", kText}, {"Namespace", kText});
BERTH_BLOCK(kVault, {"Role", kText}, {"Namespace", kText}, {"Cluster", kText}, {"Env", kBoolean},
            {"DisableFile", kBoolean}, {"ChangeMode", kText}, {"ChangeSignal", kText},
            {"AllowTokenExpiration", kBoolean});
BERTH_BLOCK(kConsul, {"Cluster", kText}, {"Namespace", kText}, {"Partition", kText});
BERTH_BLOCK(kWait, {"Min"}, {"Max"});
BERTH_BLOCK(kScript, {"Command", kText}, {"Args"}, {"Timeout", kNumber}, {"FailOnError", kBoolean},
            {"RunOnFirstRender", kBoolean});
BERTH_BLOCK(kTemplate, {"SourcePath", kText}, {"DestPath", kText}, {"EmbeddedTmpl", kText}, {"ChangeMode", kText},
            {"ChangeScript", kNull, &kScript}, {"ChangeSignal", kText}, {"Once", kBoolean}, {"Splay", kNumber},
            {"Perms", kText}, {"Uid"}, {"Gid"}, {"LeftDelim", kText}, {"RightDelim", kText}, {"Envvars", kBoolean},
            {"VaultGrace", kNumber}, {"Wait", kNull, &kWait}, {"ErrMissingKey", kBoolean});
BERTH_BLOCK(kArtifact, {"GetterSource", kText}, {"GetterOptions"}, {"GetterHeaders"}, {"GetterMode", kText},
            {"GetterInsecure", kBoolean}, {"RelativeDest", kText}, {"Chown", kBoolean});
BERTH_BLOCK(kSecret, {"Name", kText}, {"Provider", kText}, {"Path", kText}, {"Config"}, {"Env"});
BERTH_BLOCK(kAction, {"Name", kText}, {"Command", kText}, {"Args"});
BERTH_BLOCK(kCsiPlugin, {"ID", kText}, {"Type", kText}, {"MountDir", kText}, {"StagePublishBaseDir", kText},
            {"HealthTimeout", kNumber});
BERTH_BLOCK(kTask, {"Services", kNull, &kService}, {"Vault", kNull, &kVault}, {"Consul", kNull, &kConsul},
            {"Templates", kNull, &kTemplate}, {"Secrets", kNull, &kSecret}, {"Artifacts", kNull, &kArtifact},
            {"VolumeMounts", kNull, &kMount}, {"CSIPluginConfig", kNull, &kCsiPlugin}, {"Identity", kNull, &kIdentity},
            {"Identities", kNull, &kIdentity}, {"Actions", kNull, &kAction});
BERTH_BLOCK(kGroup, {"Services", kNull, &kService}, {"Consul", kNull, &kConsul}, {"Tasks", kNull, &kTask});

#undef BERTH_BLOCK

json::Value zero(Zero kind) {
  return kind == Zero::text      ? json::Value("")
         : kind == Zero::number  ? json::Value(0)
         : kind == Zero::boolean ? json::Value(false)
                                 : json::Value();
}

void fill(const Block& block, json::Value& value) {
  if (!value.is_object()) return;
  for (const Member& member : block.members) {
    json::Value* found = value.find(member.name);
    if (!found) {
      value.members().push_back({std::string(member.name), zero(member.zero)});
    } else if (found->is_null()) {
      *found = zero(member.zero);
    } else if (member.inside) {
      if (found->is_array())
        for (json::Value& item : found->items()) fill(*member.inside, item);
      else if (member.map)
        for (json::Member& item : found->members()) fill(*member.inside, item.value);
      else
        fill(*member.inside, *found);
    }
  }
}

}  // namespace
}  // namespace job_blocks

void fill_job_blocks(json::Value& job) {
  if (json::Value* groups = job.find("TaskGroups"); groups && groups->is_array())
    for (json::Value& group : groups->items()) job_blocks::fill(job_blocks::kGroup, group);
}

}  // namespace berth::http
