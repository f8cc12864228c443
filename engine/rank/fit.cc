#include "rank/fit.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/wrap.h"
#include "model/job.h"
#include "model/predicates.h"
#include "model/registration/node_canonical.h"
#include "rank/devices.h"

namespace berth::rank {
namespace {

using model::FlatResources;

/// True if a healthy instance is named more than once (R-MODEL-522).
bool devices_collide(const model::Node& node, std::span<const FitEntry> allocs) {
  if (!node.node_resources || node.node_resources->devices.empty()) return false;
  DeviceAccounter accounter(node.node_resources->devices);
  bool collided = false;
  for (const FitEntry& alloc : allocs) {
    if (!alloc.resources) continue;
    for (const auto& [name, task] : alloc.resources->tasks)
      for (const model::AllocatedDevice& device : task.devices) collided |= accounter.add(device);
  }
  return collided;
}

/// True if a source that some request claims for a single writer is claimed more than once (R-MODEL-403, 407).
bool volumes_collide(std::span<const FitEntry> allocs) {
  std::map<std::string_view, int> claims;
  std::set<std::string_view> exclusive;
  for (const FitEntry& alloc : allocs) {
    if (!alloc.group) continue;
    for (const auto& [name, request] : alloc.group->volumes) {
      if (!request) continue;
      ++claims[request->source];
      if (request->access_mode == "single-node-single-writer") exclusive.insert(request->source);
    }
  }
  return std::any_of(exclusive.begin(), exclusive.end(), [&](std::string_view source) { return claims[source] > 1; });
}

}  // namespace

std::string_view dimension_text(Dimension dimension) {
  static constexpr std::string_view kTexts[] = {"",
                                                "cpu",
                                                "cores",
                                                "memory",
                                                "disk",
                                                "max allocation exceeded",
                                                "reserved node port collision: ",
                                                "reserved alloc port collision: ",
                                                "device oversubscribed",
                                                "conflicting claims for host volume with single-writer"};
  return kTexts[static_cast<std::size_t>(dimension)];
}

NodeFit read_node_fit(const model::Node& node) { return {model::available(node), node.node_max_allocs}; }

Dimension uncovered(const FlatResources& available, const FlatResources& used) {
  if (available.cpu_mhz < used.cpu_mhz) return Dimension::cpu;
  if (!available.cores.empty() &&
      !std::includes(available.cores.begin(), available.cores.end(), used.cores.begin(), used.cores.end()))
    return Dimension::cores;
  if (available.memory_mb < used.memory_mb) return Dimension::memory;
  if (available.disk_mb < used.disk_mb) return Dimension::disk;
  return Dimension::none;
}

void FitSum::clear() {
  used_.clear();
  listed_ = 0;
  cores_overlap_ = false;
}

void FitSum::add(const FlatResources* use) {
  ++listed_;
  if (!use) return;
  if (!use->cores.empty() && model::cores_overlap(used_.cores, use->cores)) cores_overlap_ = true;
  used_.add(*use);
}

Dimension FitSum::judge(const NodeFit& node) {
  if (node.max_allocs != 0 && node.max_allocs < listed_) {
    used_.clear();
    return Dimension::max_allocs;
  }
  return cores_overlap_ ? Dimension::cores : uncovered(node.available, used_);
}

Fit allocs_fit(const model::Node& node, std::span<const model::Allocation* const> allocs, bool check_claims,
               network::NetworkIndex& index) {
  std::vector<FitEntry> entries;
  entries.reserve(allocs.size());
  for (const model::Allocation* alloc : allocs) {
    FitEntry& entry = entries.emplace_back();
    if (model::is_client_terminal(*alloc)) continue;
    if (alloc->allocated_resources) entry.resources = &*alloc->allocated_resources;
    entry.id = alloc->id;
    entry.group = model::group_of(*alloc);
  }
  return allocs_fit(node, network::read_node_ports(node), entries, check_claims, index);
}

Fit allocs_fit(const model::Node& node, const network::NodePorts& ports, std::span<const FitEntry> allocs,
               bool check_claims, network::NetworkIndex& index) {
  Fit out;
  FitSum sum;
  FlatResources use;
  for (const FitEntry& alloc : allocs) {
    if (alloc.resources) model::flatten(*alloc.resources, use);
    sum.add(alloc.resources ? &use : nullptr);
  }
  out.dimension = sum.judge(read_node_fit(node));
  out.used = sum.used();
  if (!out.fits()) return out;

  if (!ports.error.empty()) {
    out.dimension = Dimension::node_ports;
    out.detail = ports.error;
    return out;
  }
  index.start(ports);
  for (const FitEntry& alloc : allocs)
    if (alloc.resources && index.add(*alloc.resources, alloc.id, &out.detail))
      out.dimension = Dimension::alloc_ports;  // the text of the last collision stays
  if (!out.fits() || !check_claims) return out;

  if (devices_collide(node, allocs))
    out.dimension = Dimension::devices;
  else if (volumes_collide(allocs))
    out.dimension = Dimension::volumes;
  return out;
}

bool assign_cores(const model::Topology& topology, const std::vector<std::uint16_t>& consumed, std::int64_t count,
                  std::vector<std::uint16_t>& cores, std::int64_t& cpu_mhz) {
  cores.clear();
  cpu_mhz = 0;
  for (const model::Core& core : topology.cores) {  // ascending by id, as the import requires (R-MODEL-442)
    if (static_cast<std::int64_t>(cores.size()) == count) break;
    if (core.disable || std::binary_search(consumed.begin(), consumed.end(), core.id)) continue;
    cores.push_back(core.id);
    cpu_mhz = base::wrap_add(cpu_mhz, static_cast<std::int64_t>(model::core_speed_mhz(core)));
  }
  return static_cast<std::int64_t>(cores.size()) == count;
}

}  // namespace berth::rank
