// Resource requests of tasks and resources held by allocations: cpu, memory, disk, networks, ports, devices
// (R-MODEL-103 to 109, 151, 152).
//
// Every model struct lists its fields once, in `fields(self, visit)`; reading, writing and comparing are derived from
// it. Units: cpu MHz, memory and disk MiB, bandwidth Mbit/s (R-MODEL-1). Plain values without synchronisation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/retained_json.h"
#include "model/codec/out_of_line.h"

namespace berth::model {

// Of job.h, for headers that only refer to them.
struct Job;
struct TaskGroup;
struct Task;
struct VolumeRequest;
struct PeriodicConfig;
struct RestartPolicy;
struct ReschedulePolicy;
struct UpdateStrategy;
struct MigrateStrategy;

using Duration = std::int64_t;  ///< nanoseconds

struct Constraint {
  std::string ltarget, rtarget, operand;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("LTarget", s.ltarget), v("RTarget", s.rtarget), v("Operand", s.operand);
  }
  /// Key in ConstraintFiltered: the three raw texts joined by single spaces (R-MODEL-107, R-FEAS-701).
  [[nodiscard]] std::string text() const { return ltarget + " " + operand + " " + rtarget; }
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

struct Affinity {
  std::string ltarget, rtarget, operand;
  std::int8_t weight = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("LTarget", s.ltarget), v("RTarget", s.rtarget), v("Operand", s.operand), v("Weight", s.weight);
  }
  friend bool operator==(const Affinity&, const Affinity&) = default;
};

struct SpreadTarget {
  std::string value;
  std::uint8_t percent = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Value", s.value), v("Percent", s.percent);
  }
  friend bool operator==(const SpreadTarget&, const SpreadTarget&) = default;
};

struct Spread {
  std::string attribute;
  std::int8_t weight = 0;
  std::vector<SpreadTarget> targets;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Attribute", s.attribute), v("Weight", s.weight), v("SpreadTarget", s.targets);
  }
  friend bool operator==(const Spread&, const Spread&) = default;
};

struct Port {
  static constexpr bool kOmitZero = true;
  std::string label;
  std::int64_t value = 0;  ///< static host port; 0 for a dynamic one
  std::int64_t to = 0;     ///< 0 unset, -1 same as the host port
  std::string host_network;
  bool ignore_collision = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Label", s.label), v("Value", s.value), v("To", s.to), v("HostNetwork", s.host_network);
    v("IgnoreCollision", s.ignore_collision);
  }
  friend bool operator==(const Port&, const Port&) = default;
};

struct NetworkResource {
  static constexpr bool kOmitZero = true;
  std::string mode, device, cidr, ip, hostname;
  std::int64_t mbits = 0;
  json::Retained dns, cni;  ///< {Servers, Searches, Options} and {Args}, retained
  std::vector<Port> reserved_ports, dynamic_ports;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Mode", s.mode), v("Device", s.device), v("CIDR", s.cidr), v("IP", s.ip), v("Hostname", s.hostname);
    v("MBits", s.mbits), v("DNS", s.dns), v("CNI", s.cni);
    v("ReservedPorts", s.reserved_ports), v("DynamicPorts", s.dynamic_ports);
  }
  friend bool operator==(const NetworkResource&, const NetworkResource&) = default;
};

struct RequestedDevice {
  std::string name;  ///< type, vendor/type or vendor/type/name
  std::uint64_t count = 0;
  std::vector<Constraint> constraints;
  std::vector<Affinity> affinities;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Name", s.name), v("Count", s.count), v("Constraints", s.constraints), v("Affinities", s.affinities);
  }
  friend bool operator==(const RequestedDevice&, const RequestedDevice&) = default;
};

struct Numa {
  std::string affinity;
  std::vector<std::string> devices;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Affinity", s.affinity), v("Devices", s.devices);
  }
  friend bool operator==(const Numa&, const Numa&) = default;
};

/// The resource request of one task (R-MODEL-103).
struct Resources {
  BERTH_DECLARE_COPIES(Resources);
  std::int64_t cpu = 0, cores = 0, memory_mb = 0, memory_max_mb = 0, secrets_mb = 0, disk_mb = 0, iops = 0;
  std::vector<NetworkResource> networks;
  std::vector<RequestedDevice> devices;
  std::optional<Numa> numa;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("CPU", s.cpu), v("Cores", s.cores), v("MemoryMB", s.memory_mb), v("MemoryMaxMB", s.memory_max_mb);
    v("SecretsMB", s.secrets_mb), v("DiskMB", s.disk_mb), v("IOPS", s.iops);
    v("Networks", s.networks), v("Devices", s.devices), v("NUMA", s.numa);
  }
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct AllocatedCpu {
  std::int64_t cpu_shares = 0;
  std::vector<std::uint16_t> reserved_cores;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("CpuShares", s.cpu_shares), v("ReservedCores", s.reserved_cores);
  }
  friend bool operator==(const AllocatedCpu&, const AllocatedCpu&) = default;
};

struct AllocatedMemory {
  std::int64_t memory_mb = 0, memory_max_mb = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("MemoryMB", s.memory_mb), v("MemoryMaxMB", s.memory_max_mb);
  }
  friend bool operator==(const AllocatedMemory&, const AllocatedMemory&) = default;
};

struct AllocatedDevice {
  std::string vendor, type, name;
  std::vector<std::string> device_ids;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Vendor", s.vendor), v("Type", s.type), v("Name", s.name), v("DeviceIDs", s.device_ids);
  }
  friend bool operator==(const AllocatedDevice&, const AllocatedDevice&) = default;
};

struct AllocatedTask {
  BERTH_DECLARE_COPIES(AllocatedTask);
  AllocatedCpu cpu;
  AllocatedMemory memory;
  std::vector<NetworkResource> networks;
  std::vector<AllocatedDevice> devices;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Cpu", s.cpu), v("Memory", s.memory), v("Networks", s.networks), v("Devices", s.devices);
  }
  friend bool operator==(const AllocatedTask&, const AllocatedTask&) = default;
};

struct Lifecycle {
  std::string hook;  ///< prestart, poststart, poststop
  bool sidecar = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Hook", s.hook), v("Sidecar", s.sidecar);
  }
  friend bool operator==(const Lifecycle&, const Lifecycle&) = default;
};

struct AllocatedPort {
  static constexpr bool kOmitZero = true;
  std::string label;
  std::int64_t value = 0, to = 0;
  std::string host_ip;
  bool ignore_collision = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Label", s.label), v("Value", s.value), v("To", s.to), v("HostIP", s.host_ip);
    v("IgnoreCollision", s.ignore_collision);
  }
  friend bool operator==(const AllocatedPort&, const AllocatedPort&) = default;
};

struct AllocatedShared {
  std::vector<NetworkResource> networks;
  std::int64_t disk_mb = 0;
  std::vector<AllocatedPort> ports;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Networks", s.networks), v("DiskMB", s.disk_mb), v("Ports", s.ports);
  }
  friend bool operator==(const AllocatedShared&, const AllocatedShared&) = default;
};

/// Resources held by one allocation (R-MODEL-151). A task without an entry in task_lifecycles, or with none, is a main
/// task.
struct AllocatedResources {
  BERTH_DECLARE_COPIES(AllocatedResources);
  std::map<std::string, AllocatedTask> tasks;
  std::map<std::string, std::optional<Lifecycle>> task_lifecycles;
  AllocatedShared shared;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Tasks", s.tasks), v("TaskLifecycles", s.task_lifecycles), v("Shared", s.shared);
  }
  friend bool operator==(const AllocatedResources&, const AllocatedResources&) = default;
};

}  // namespace berth::model
