// The blocks of a job file (R-HCL-420 to 490), one row each, in a notation that is parsed once:
//   attributes  `name type` or `name:Key type`; the field of the API is Key, by default the name in CamelCase
//               s string, i integer, b bool, d duration, [s] and [u16] lists, m map of strings; i8 u8 u16 u32 u64:
//               width ? unset is null (otherwise "", 0, false), ! required
//   blocks      `type shape` or `type:Key shape`; `=table` where the row has another name than the block type
//               one, list, labels (an object by label), map, lists (a map of lists), free (R-HCL-363), apart (by hand)
//   label       `name:Key`: the name in error texts, which may be empty, and the field that takes it
//   unset       fields of the API without a form in HCL: null, or "" 0 false where a type is given (R-HCL-415)
#include "hcl/job_tables.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/assert.h"
#include "base/text.h"

namespace berth::hcl {
namespace {

struct Row {
  const char *name, *label, *attributes, *blocks, *unset;
};

constexpr Row kRows[] = {
    {"job", "",
     "region s?, namespace s?, id:ID s?, name s?, type s?, priority i?, all_at_once b?, datacenters [s], node_pool s?",
     "constraint:Constraints list, affinity:Affinities list, group:TaskGroups list, update one, multiregion one, "
     "spread:Spreads list, periodic one, parameterized:ParameterizedJob one, reschedule one, migrate one, meta map, "
     "ui:UI one",
     "Stop, ParentID, DispatchIdempotencyToken, Payload, ConsulNamespace, VaultNamespace, NomadTokenID, Status, "
     "StatusDescription, Stable, Version, SubmitTime, CreateIndex, ModifyIndex, JobModifyIndex, VersionTag, Dispatched "
     "b"},  // R-HCL-420
    {"group", "name:Name",
     "count i?, shutdown_delay d?, max_run_duration d?, stop_after_client_disconnect d?, max_client_disconnect d?, "
     "prevent_reschedule_on_lost b?",
     "constraint:Constraints list, affinity:Affinities list, task:Tasks list, spread:Spreads list, volume:Volumes "
     "labels, restart:RestartPolicy one, disconnect one, reschedule:ReschedulePolicy one, ephemeral_disk one, update "
     "one, migrate one, network:Networks list, meta map, service:Services list, scaling one, consul one",
     ""},  // R-HCL-421
    {"task", "name:Name", "driver s, user s, kill_timeout d?, leader b, shutdown_delay d, kill_signal s, kind s",
     "lifecycle one, config free, constraint:Constraints list, affinity:Affinities list, env map, service:Services "
     "list, resources one, restart:RestartPolicy one, meta map, logs:LogConfig one, artifact:Artifacts list, vault "
     "one, consul one, template:Templates list, dispatch_payload one, volume_mount:VolumeMounts list, "
     "csi_plugin:CSIPluginConfig one, scaling:ScalingPolicies apart, secret:Secrets list, identity:Identities list, "
     "action:Actions list, schedule one",
     "Identity"},                                                                                      // R-HCL-422
    {"constraint", "", "attribute:LTarget s, value:RTarget s, operator:Operand s", "", ""},            // R-HCL-423
    {"affinity", "", "attribute:LTarget s, value:RTarget s, operator:Operand s, weight i8?", "", ""},  // R-HCL-424
    {"spread", "", "attribute s, weight i8?", "target:SpreadTarget list", ""},                         // R-HCL-425
    {"target", ":Value", "percent u8", "", ""},                                                        // R-HCL-426
    {"update", "",
     "stagger d?, max_parallel i?, health_check s?, min_healthy_time d?, healthy_deadline d?, progress_deadline d?, "
     "canary i?, auto_revert b?, auto_promote b?",
     "", ""},                                                                                               // R-HCL-427
    {"migrate", "", "max_parallel i?, health_check s?, min_healthy_time d?, healthy_deadline d?", "", ""},  // R-HCL-428
    {"reschedule", "", "attempts i?, interval d?, delay d?, delay_function s?, max_delay d?, unlimited b?", "",
     ""},                                                                                            // R-HCL-429
    {"restart", "", "interval d?, attempts i?, delay d?, mode s?, render_templates b?", "", ""},     // R-HCL-430
    {"disconnect", "", "lost_after d?, stop_on_client_after d?, replace b?, reconcile s?", "", ""},  // R-HCL-431
    {"ephemeral_disk", "", "sticky b?, migrate b?, size:SizeMB i?", "", ""},                         // R-HCL-432
    {"periodic", "", "enabled b?, cron:Spec s?, crons:Specs [s], prohibit_overlap b?, time_zone s?", "",
     ""},                                                                              // R-HCL-433
    {"parameterized", "", "payload s, meta_required [s], meta_optional [s]", "", ""},  // R-HCL-434
    {"multiregion", "", "", "strategy one, region:Regions list", ""},                  // R-HCL-435
    {"strategy", "", "max_parallel i?, on_failure s?", "", ""},                        // R-HCL-436
    {"region", ":Name", "count i?, datacenters [s], node_pool s", "meta map", ""},     // R-HCL-437
    {"ui", "", "description s", "link:Links list", ""},                                // R-HCL-438
    {"link", "", "label s, url:URL s", "", ""},                                        // R-HCL-439
    {"network", "", "mode s, device s, cidr:CIDR s, ip:IP s, hostname s, mbits:MBits i?",
     "dns:DNS one, reserved_ports list=port, port:DynamicPorts list, cni:CNI one", ""},      // R-HCL-440
    {"port", ":Label", "static:Value i, to i, host_network s, ignore_collision b", "", ""},  // R-HCL-441
    {"dns", "", "servers [s], searches [s], options [s]", "", ""},                           // R-HCL-442
    {"cni", "", "args m", "", ""},                                                           // R-HCL-443
    {"resources", "",
     "cpu:CPU i?, cores i?, memory:MemoryMB i?, memory_max:MemoryMaxMB i?, disk:DiskMB i?, secrets:SecretsMB i?, "
     "iops:IOPS i?",
     "network:Networks list, device:Devices list, numa:NUMA one", ""},                               // R-HCL-444
    {"device", ":Name", "count u64?", "constraint:Constraints list, affinity:Affinities list", ""},  // R-HCL-445
    {"numa", "", "affinity s, devices [s]", "", ""},                                                 // R-HCL-446
    {"volume", "name:Name", "type s, source s, read_only b, sticky b, access_mode s, attachment_mode s, per_alloc b",
     "mount_options one", ""},                                           // R-HCL-447
    {"mount_options", "", "fs_type:FSType s, mount_flags [s]", "", ""},  // R-HCL-448
    {"volume_mount", "", "volume s?, destination s?, read_only b?, propagation_mode s?, selinux_label:SELinuxLabel s?",
     "", ""},  // R-HCL-449
    {"scaling", "", "min i?, max i?, enabled b?, type s", "policy free",
     "ID s, Namespace s, Target, CreateIndex i, ModifyIndex i"},                                    // R-HCL-450
    {"lifecycle", "", "hook s!, sidecar b", "", ""},                                                // R-HCL-451
    {"logs", "", "max_files i?, max_file_size:MaxFileSizeMB i?, enabled b?, disabled b?", "", ""},  // R-HCL-452
    {"artifact", "",
     "source:GetterSource s?, mode:GetterMode s?, insecure:GetterInsecure b?, destination:RelativeDest s?, chown b",
     "options:GetterOptions map, headers:GetterHeaders map", ""},  // R-HCL-453
    {"template", "",
     "source:SourcePath s?, destination:DestPath s?, data:EmbeddedTmpl s?, change_mode s?, change_signal s?, once b?, "
     "splay d?, perms s?, uid i?, gid i?, left_delimiter:LeftDelim s?, right_delimiter:RightDelim s?, env:Envvars b?, "
     "vault_grace d?, error_on_missing_key:ErrMissingKey b?",
     "change_script one, wait one", ""},  // R-HCL-454
    {"change_script", "", "command s?, args [s], timeout d?, fail_on_error b?, run_on_first_render b?", "",
     ""},                                        // R-HCL-455
    {"wait", "", "min d?, max d?", "", ""},      // R-HCL-456
    {"dispatch_payload", "", "file s", "", ""},  // R-HCL-457
    {"csi_plugin", "", "id:ID s, type s, mount_dir s, stage_publish_base_dir s, health_timeout d", "",
     ""},  // R-HCL-458
    {"vault", "",
     "policies [s], role s, namespace s?, cluster s, env b?, disable_file b?, change_mode s?, change_signal s?, "
     "allow_token_expiration b?",
     "", ""},                                                                   // R-HCL-459
    {"consul", "", "namespace s, cluster s, partition s", "", ""},              // R-HCL-460
    {"secret", "name:Name", "provider s, path s", "config free, env map", ""},  // R-HCL-461
    {"identity", "",
     "name s, aud:Audience [s], change_mode s, change_signal s, env b, file b, filepath s, service_name s, ttl:TTL d, "
     "extra_claims [s]",
     "", ""},                                                 // R-HCL-462
    {"action", "name:Name", "command s!, args [s]", "", ""},  // R-HCL-463
    {"schedule", "", "", "cron one", ""},                     // R-HCL-464
    {"cron", "", "start s, end s, timezone s", "", ""},       // R-HCL-465
    {"service", "",
     "name s, tags [s], canary_tags [s], enable_tag_override b, port:PortLabel s, address_mode s, address s, "
     "task:TaskName s, on_update s, provider s, cluster s, kind s",
     "check:Checks list, check_restart one, connect one, meta map, canary_meta map, tagged_addresses map, identity "
     "one, weights one",
     ""},  // R-HCL-466
    {"check", "",
     "name s, type s, command s, args [s], path s, protocol s, port:PortLabel s, expose b, address_mode s, advertise "
     "s, interval d, timeout d, initial_status s, notes s, tls_server_name:TLSServerName s, "
     "tls_skip_verify:TLSSkipVerify b, method s, grpc_service:GRPCService s, grpc_use_tls:GRPCUseTLS b, task:TaskName "
     "s, success_before_passing i, failures_before_critical i, failures_before_warning i, body s, on_update s",
     "header lists, check_restart one", ""},                                                // R-HCL-467
    {"check_restart", "", "limit i, grace d?, ignore_warnings b", "", ""},                  // R-HCL-468
    {"weights", "", "passing i, warning i", "", ""},                                        // R-HCL-469
    {"connect", "", "native b", "gateway one, sidecar_service one, sidecar_task one", ""},  // R-HCL-470
    {"sidecar_service", "", "tags [s], port s, disable_default_tcp_check:DisableDefaultTCPCheck b",
     "proxy one, meta map", ""},  // R-HCL-471
    {"proxy", "", "local_service_address s, local_service_port i",
     "expose one, upstreams list, transparent_proxy one, config free", "ExposeConfig"},  // R-HCL-472
    {"expose", "", "", "path:Paths list", "Path"},                                       // R-HCL-473
    {"path", "", "path s, protocol s, local_path_port i, listener_port s", "", ""},      // R-HCL-474
    {"upstreams", "",
     "destination_name s, destination_namespace s, destination_peer s, destination_partition s, destination_type s, "
     "local_bind_port i, datacenter s, local_bind_address s, local_bind_socket_path s, local_bind_socket_mode s",
     "mesh_gateway one, config free", ""},   // R-HCL-475
    {"mesh_gateway", "", "mode s", "", ""},  // R-HCL-476
    {"transparent_proxy", "",
     "uid:UID s, outbound_port u16, exclude_inbound_ports [s], exclude_outbound_ports [u16], "
     "exclude_outbound_cidrs:ExcludeOutboundCIDRs [s], exclude_uids:ExcludeUIDs [s], no_dns:NoDNS b",
     "", ""},  // R-HCL-477
    {"sidecar_task", "", "name s, driver s, user s, kill_timeout d?, shutdown_delay d?, kill_signal s",
     "config free, env map, resources one, meta map, logs:LogConfig one, volume_mount:VolumeMounts list, "
     "identity:Identities list",
     ""},                                                                                        // R-HCL-478
    {"gateway", "", "", "proxy one=gateway_proxy, ingress one, terminating one, mesh one", ""},  // R-HCL-479
    {"gateway_proxy", "",
     "connect_timeout d?, envoy_gateway_bind_tagged_addresses b, envoy_gateway_no_default_bind b, "
     "envoy_dns_discovery_type:EnvoyDNSDiscoveryType s",
     "envoy_gateway_bind_addresses labels=bind_address, config free", ""},                // R-HCL-480
    {"bind_address", ":Name", "address s, port i", "", ""},                               // R-HCL-481
    {"ingress", "", "", "tls:TLS one, listener:Listeners list", ""},                      // R-HCL-482
    {"listener", "", "port i, protocol s", "service:Services list=ingress_service", ""},  // R-HCL-483
    {"ingress_service", "",
     "name s, hosts [s], max_connections u32?, max_pending_requests u32?, max_concurrent_requests u32?",
     "tls:TLS one, request_headers one=headers, response_headers one=headers", ""},  // R-HCL-484
    {"tls", "", "enabled b, tls_min_version:TLSMinVersion s, tls_max_version:TLSMaxVersion s, cipher_suites [s]",
     "sds:SDS one", ""},                                                                                  // R-HCL-485
    {"sds", "", "cluster_name s, cert_resource s", "", ""},                                               // R-HCL-486
    {"headers", "", "remove [s]", "add map, set map", ""},                                                // R-HCL-487
    {"terminating", "", "", "service:Services list=terminating_service", ""},                             // R-HCL-488
    {"terminating_service", "", "name s, ca_file:CAFile s, cert_file s, key_file s, sni:SNI s", "", ""},  // R-HCL-489
    {"mesh", "", "", "", ""},                                                                             // R-HCL-490

};

std::string camel_case(std::string_view name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    text += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return text;
}

/// "a:Key type" in its three parts.
struct Entry {
  std::string name, key, type;
};

std::vector<Entry> entries(std::string_view text) {
  std::vector<Entry> all;
  if (text.empty()) return all;
  for (std::string_view part : base::split(text, ',')) {
    part = base::trim_space(part);
    const auto blank = std::min(part.find(' '), part.size());
    const std::string_view name = part.substr(0, blank);
    const auto colon = name.find(':');
    Entry entry;
    entry.name = name.substr(0, colon);
    entry.key = colon == std::string_view::npos ? camel_case(entry.name) : std::string(name.substr(colon + 1));
    entry.type = base::trim_space(part.substr(blank));
    all.push_back(std::move(entry));
  }
  return all;
}

json::Value unset_value(FieldKind kind, bool nullable) {
  if (nullable) return nullptr;
  switch (kind) {
    case FieldKind::string:
      return "";
    case FieldKind::integer:
    case FieldKind::duration:
      return 0;
    case FieldKind::boolean:
      return false;
    default:
      return nullptr;
  }
}

Field field_of(const Entry& entry, std::size_t place) {
  Field field{entry.name, place};
  std::string type = entry.type;
  if (type.ends_with('!')) {
    field.required = true;
    type.pop_back();
  }
  if (type.ends_with('?')) {
    field.nullable = true;
    type.pop_back();
  }
  if (type == "s") {
    field.kind = FieldKind::string;
  } else if (type == "b") {
    field.kind = FieldKind::boolean;
  } else if (type == "d") {
    field.kind = FieldKind::duration;
  } else if (type == "m") {
    field.kind = FieldKind::string_map;
  } else if (type == "[s]") {
    field.kind = FieldKind::string_list;
  } else if (type == "[u16]") {
    field.kind = FieldKind::port_list;
  } else {
    field.kind = FieldKind::integer;
    field.is_signed = type.starts_with('i');
    field.bits = type.size() > 1 ? std::stoi(type.substr(1)) : 64;
  }
  return field;
}

Shape shape_of(const std::string& text) {
  static const std::map<std::string, Shape> kShapes = {
      {"one", Shape::one},        {"list", Shape::list},      {"labels", Shape::by_label}, {"map", Shape::map},
      {"lists", Shape::list_map}, {"free", Shape::free_form}, {"apart", Shape::apart}};
  return kShapes.at(text);
}

using Tables = std::map<std::string, std::unique_ptr<Table>, std::less<>>;

void fill(Table& table, const Row& row, const Tables& tables) {
  if (*row.label != '\0') {
    const Entry label = entries(row.label)[0];
    table.label_names = {label.name};
    table.label_place = table.unset.size();
    table.unset.push_back({label.key, ""});
  }
  for (const Entry& entry : entries(row.attributes)) {
    Field field = field_of(entry, table.unset.size());
    table.unset.push_back({entry.key, unset_value(field.kind, field.nullable)});
    table.schema.attributes.push_back({field.name, field.required});
    table.fields.push_back(std::move(field));
  }
  for (Entry entry : entries(row.blocks)) {
    const auto equals = entry.type.find('=');
    const std::string other = equals == std::string::npos ? entry.name : entry.type.substr(equals + 1);
    BlockField block{entry.name, table.unset.size(), shape_of(entry.type.substr(0, equals)), nullptr};
    table.unset.push_back({entry.key, nullptr});
    if (block.shape == Shape::one || block.shape == Shape::list || block.shape == Shape::by_label) {
      const auto found = tables.find(other);
      BERTH_ASSERT(found != tables.end());
      block.table = found->second.get();
    }
    if (block.shape != Shape::apart) table.blocks.push_back(std::move(block));
  }
  for (const Entry& entry : entries(row.unset)) {
    const bool typed = !entry.type.empty();
    table.unset.push_back({entry.key, unset_value(typed ? field_of(entry, 0).kind : FieldKind::string, !typed)});
  }
}

Tables make_tables() {
  Tables tables;
  for (const Row& row : kRows) tables[row.name] = std::make_unique<Table>();
  for (const Row& row : kRows) {
    Table& table = *tables[row.name];
    table.name = row.name;
    fill(table, row, tables);
  }
  for (const auto& [name, table] : tables) {  // only now all labels are known
    for (const BlockField& block : table->blocks) {
      table->schema.blocks.push_back(
          {block.type, block.table != nullptr ? block.table->label_names : std::vector<std::string>{}});
    }
  }
  return tables;
}

}  // namespace

std::size_t Table::place_of(std::string_view key) const {
  const auto found = std::find_if(unset.begin(), unset.end(), [&](const auto& member) { return member.key == key; });
  BERTH_ASSERT(found != unset.end());
  return static_cast<std::size_t>(found - unset.begin());
}

const Table& job_table(std::string_view name) {
  static const Tables kTables = make_tables();
  const auto found = kTables.find(name);
  BERTH_ASSERT(found != kTables.end());
  return *found->second;
}

}  // namespace berth::hcl
