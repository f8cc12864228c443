// Nodes (R-MODEL-60 to 74) and node pools (R-MODEL-214).
#pragma once

#include "base/time.h"
#include "model/codec/out_of_line.h"
#include "model/resources.h"

namespace berth::model {

struct Core {
  std::uint8_t socket_id = 0, node_id = 0;
  std::uint16_t id = 0;
  bool grade = false;  ///< true = performance
  bool disable = false;
  std::uint64_t base_speed = 0, max_speed = 0, guess_speed = 0;  ///< MHz
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("SocketID", s.socket_id), v("NodeID", s.node_id), v("ID", s.id), v("Grade", s.grade), v("Disable", s.disable);
    v("BaseSpeed", s.base_speed), v("MaxSpeed", s.max_speed), v("GuessSpeed", s.guess_speed);
  }
  friend bool operator==(const Core&, const Core&) = default;
};

struct Topology {
  std::vector<std::uint8_t> nodes;
  std::vector<std::vector<std::uint8_t>> distances;
  std::vector<Core> cores;
  std::uint64_t override_total_compute = 0, override_withhold_compute = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Nodes", s.nodes), v("Distances", s.distances), v("Cores", s.cores);
    v("OverrideTotalCompute", s.override_total_compute), v("OverrideWitholdCompute", s.override_withhold_compute);
  }
  friend bool operator==(const Topology&, const Topology&) = default;
};

struct Processors {
  std::optional<Topology> topology;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Topology", s.topology);
  }
  friend bool operator==(const Processors&, const Processors&) = default;
};

struct NodeCpu {
  std::int64_t cpu_shares = 0;
  std::uint16_t total_cpu_cores = 0;
  std::vector<std::uint16_t> reservable_cpu_cores;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("CpuShares", s.cpu_shares), v("TotalCpuCores", s.total_cpu_cores);
    v("ReservableCpuCores", s.reservable_cpu_cores);
  }
  friend bool operator==(const NodeCpu&, const NodeCpu&) = default;
};

struct NodeMemory {
  std::int64_t memory_mb = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("MemoryMB", s.memory_mb);
  }
  friend bool operator==(const NodeMemory&, const NodeMemory&) = default;
};

struct NodeDisk {
  std::int64_t disk_mb = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("DiskMB", s.disk_mb);
  }
  friend bool operator==(const NodeDisk&, const NodeDisk&) = default;
};

struct NodeNetworkAddress {
  std::string family, alias, address, reserved_ports, gateway;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Family", s.family), v("Alias", s.alias), v("Address", s.address), v("ReservedPorts", s.reserved_ports);
    v("Gateway", s.gateway);
  }
  friend bool operator==(const NodeNetworkAddress&, const NodeNetworkAddress&) = default;
};

struct NodeNetworkResource {
  std::string mode, device, mac_address;
  std::int64_t speed = 0;  ///< Mbit/s
  std::vector<NodeNetworkAddress> addresses;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Mode", s.mode), v("Device", s.device), v("MacAddress", s.mac_address), v("Speed", s.speed);
    v("Addresses", s.addresses);
  }
  friend bool operator==(const NodeNetworkResource&, const NodeNetworkResource&) = default;
};

/// A device attribute: exactly one of the four values, and a unit on numbers (R-MODEL-66, R-FEAS-912).
struct Attribute {
  std::optional<double> float_value;
  std::optional<std::int64_t> int_value;
  std::optional<std::string> string_value;
  std::optional<bool> bool_value;
  std::string unit;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Float", s.float_value), v("Int", s.int_value), v("String", s.string_value), v("Bool", s.bool_value);
    v("Unit", s.unit);
  }
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

struct DeviceLocality {
  std::string pci_bus_id;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("PciBusID", s.pci_bus_id);
  }
  friend bool operator==(const DeviceLocality&, const DeviceLocality&) = default;
};

struct DeviceInstance {
  std::string id;
  bool healthy = false;
  std::string health_description;
  std::optional<DeviceLocality> locality;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("Healthy", s.healthy), v("HealthDescription", s.health_description), v("Locality", s.locality);
  }
  friend bool operator==(const DeviceInstance&, const DeviceInstance&) = default;
};

/// One device group of a node (R-MODEL-65).
struct NodeDevice {
  std::string vendor, type, name;
  std::vector<DeviceInstance> instances;
  std::map<std::string, std::optional<Attribute>> attributes;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Vendor", s.vendor), v("Type", s.type), v("Name", s.name), v("Instances", s.instances);
    v("Attributes", s.attributes);
  }
  friend bool operator==(const NodeDevice&, const NodeDevice&) = default;
};

struct NodeResources {
  BERTH_DECLARE_COPIES(NodeResources);
  NodeCpu cpu;
  std::optional<Processors> processors;
  NodeMemory memory;
  NodeDisk disk;
  std::vector<NetworkResource> networks;
  std::optional<std::vector<NodeNetworkResource>> node_networks;  ///< absent differs from empty (R-MODEL-71)
  std::vector<NodeDevice> devices;
  std::int64_t min_dynamic_port = 0, max_dynamic_port = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Cpu", s.cpu), v("Processors", s.processors), v("Memory", s.memory), v("Disk", s.disk);
    v("Networks", s.networks), v("NodeNetworks", s.node_networks), v("Devices", s.devices);
    v("MinDynamicPort", s.min_dynamic_port), v("MaxDynamicPort", s.max_dynamic_port);
  }
  friend bool operator==(const NodeResources&, const NodeResources&) = default;
};

struct ReservedCpu {
  std::int64_t cpu_shares = 0;
  std::vector<std::uint16_t> reserved_cpu_cores;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("CpuShares", s.cpu_shares), v("ReservedCpuCores", s.reserved_cpu_cores);
  }
  friend bool operator==(const ReservedCpu&, const ReservedCpu&) = default;
};

struct ReservedNetworks {
  std::string reserved_host_ports;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ReservedHostPorts", s.reserved_host_ports);
  }
  friend bool operator==(const ReservedNetworks&, const ReservedNetworks&) = default;
};

struct NodeReserved {
  ReservedCpu cpu;
  NodeMemory memory;
  NodeDisk disk;
  ReservedNetworks networks;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Cpu", s.cpu), v("Memory", s.memory), v("Disk", s.disk), v("Networks", s.networks);
  }
  friend bool operator==(const NodeReserved&, const NodeReserved&) = default;
};

struct DriverInfo {
  std::map<std::string, std::string> attributes;
  bool detected = false, healthy = false;
  std::string health_description;
  base::Time update_time;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Attributes", s.attributes), v("Detected", s.detected), v("Healthy", s.healthy);
    v("HealthDescription", s.health_description), v("UpdateTime", s.update_time);
  }
  friend bool operator==(const DriverInfo&, const DriverInfo&) = default;
};

struct HostVolumeInfo {
  std::string name, path;
  bool read_only = false;
  std::string id;  ///< non-empty for dynamic volumes
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Name", s.name), v("Path", s.path), v("ReadOnly", s.read_only), v("ID", s.id);
  }
  friend bool operator==(const HostVolumeInfo&, const HostVolumeInfo&) = default;
};

struct CsiTopology {
  std::map<std::string, std::string> segments;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Segments", s.segments);
  }
  friend bool operator==(const CsiTopology&, const CsiTopology&) = default;
};

struct CsiNodeInfo {
  std::string id;
  std::int64_t max_volumes = 0;
  std::optional<CsiTopology> accessible_topology;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("MaxVolumes", s.max_volumes), v("AccessibleTopology", s.accessible_topology);
    v.extra(s.extra);
  }
  friend bool operator==(const CsiNodeInfo&, const CsiNodeInfo&) = default;
};

struct CsiInfo {
  std::string plugin_id, alloc_id;
  bool healthy = false;
  std::string health_description;
  base::Time update_time;
  std::string provider, provider_version;
  bool requires_controller_plugin = false, requires_topologies = false;
  json::Retained controller_info;
  std::optional<CsiNodeInfo> node_info;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("PluginID", s.plugin_id), v("AllocID", s.alloc_id), v("Healthy", s.healthy);
    v("HealthDescription", s.health_description), v("UpdateTime", s.update_time);
    v("Provider", s.provider), v("ProviderVersion", s.provider_version);
    v("RequiresControllerPlugin", s.requires_controller_plugin), v("RequiresTopologies", s.requires_topologies);
    v("ControllerInfo", s.controller_info), v("NodeInfo", s.node_info);
  }
  friend bool operator==(const CsiInfo&, const CsiInfo&) = default;
};

struct DrainStrategy {
  std::int64_t deadline = 0;  ///< ns; negative = force, 0 = no deadline
  bool ignore_system_jobs = false;
  base::Time force_deadline, started_at;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Deadline", s.deadline), v("IgnoreSystemJobs", s.ignore_system_jobs);
    v("ForceDeadline", s.force_deadline), v("StartedAt", s.started_at);
  }
  friend bool operator==(const DrainStrategy&, const DrainStrategy&) = default;
};

struct Node {
  BERTH_DECLARE_COPIES(Node);
  std::string id, secret_id, name, datacenter, node_pool, node_class, computed_class;
  std::map<std::string, std::string> attributes, meta, links;
  std::string http_addr;
  bool tls_enabled = false;
  std::string cgroup_parent, status, status_description;
  std::int64_t status_updated_at = 0;  ///< Unix seconds
  std::string scheduling_eligibility;
  std::optional<NodeResources> node_resources;
  std::optional<NodeReserved> reserved_resources;
  std::map<std::string, std::optional<DriverInfo>> drivers;
  std::map<std::string, std::optional<HostVolumeInfo>> host_volumes;
  json::Retained host_networks;
  std::map<std::string, std::optional<CsiInfo>> csi_controller_plugins, csi_node_plugins;
  std::optional<DrainStrategy> drain_strategy;
  json::Retained last_drain;
  std::int64_t node_max_allocs = 0;  ///< 0 = unlimited
  json::Retained events;
  std::uint64_t last_missed_heartbeat_index = 0, last_alloc_update_index = 0, create_index = 0, modify_index = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("SecretID", s.secret_id), v("Name", s.name), v("Datacenter", s.datacenter);
    v("NodePool", s.node_pool), v("NodeClass", s.node_class), v("ComputedClass", s.computed_class);
    v("Attributes", s.attributes), v("Meta", s.meta), v("Links", s.links), v("HTTPAddr", s.http_addr);
    v("TLSEnabled", s.tls_enabled), v("CgroupParent", s.cgroup_parent);
    v("Status", s.status), v("StatusDescription", s.status_description), v("StatusUpdatedAt", s.status_updated_at);
    v("SchedulingEligibility", s.scheduling_eligibility);
    v("NodeResources", s.node_resources), v("ReservedResources", s.reserved_resources);
    v("Drivers", s.drivers), v("HostVolumes", s.host_volumes), v("HostNetworks", s.host_networks);
    v("CSIControllerPlugins", s.csi_controller_plugins), v("CSINodePlugins", s.csi_node_plugins);
    v("DrainStrategy", s.drain_strategy), v("LastDrain", s.last_drain), v("NodeMaxAllocs", s.node_max_allocs);
    v("Events", s.events), v("LastMissedHeartbeatIndex", s.last_missed_heartbeat_index);
    v("LastAllocUpdateIndex", s.last_alloc_update_index);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v.extra(s.extra);
  }
  friend bool operator==(const Node&, const Node&) = default;
};

struct NodePoolSchedulerConfiguration {
  std::string scheduler_algorithm;
  std::optional<bool> memory_oversubscription_enabled;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("SchedulerAlgorithm", s.scheduler_algorithm);
    v("MemoryOversubscriptionEnabled", s.memory_oversubscription_enabled);
  }
  friend bool operator==(const NodePoolSchedulerConfiguration&, const NodePoolSchedulerConfiguration&) = default;
};

struct NodePool {
  std::string name, description;
  std::map<std::string, std::string> meta;
  std::optional<NodePoolSchedulerConfiguration> scheduler_configuration;
  std::uint64_t create_index = 0, modify_index = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Name", s.name), v("Description", s.description), v("Meta", s.meta);
    v("SchedulerConfiguration", s.scheduler_configuration);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v.extra(s.extra);
  }
  friend bool operator==(const NodePool&, const NodePool&) = default;
};

}  // namespace berth::model
