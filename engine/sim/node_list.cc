#include "sim/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/edit_distance.h"
#include "sim/cluster_generator.h"
#include "sim/csv_rows.h"
#include "sim/quantity.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kListedNodesMost = 10'000'000, kListedGpusMost = 1'024, kListedDiskMb = 1 << 20;

struct ListedShape {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = kListedDiskMb, gpus = 0;
  std::string node_class, gpu_model;
  auto operator<=>(const ListedShape&) const = default;
};

model::Node listed_node(const ListedShape& from) {
  model::Node node =
      ready_node(std::max<std::int64_t>(1, from.cpu_mhz / 1000), 1000, from.memory_mb, from.disk_mb, 10'000);
  node.node_resources->cpu.cpu_shares = from.cpu_mhz;
  if (from.cpu_mhz % 1000 != 0)  // the listed total, if it is not a multiple of a core
    node.node_resources->processors->topology->override_total_compute = static_cast<std::uint64_t>(from.cpu_mhz);
  node.node_class = from.node_class;
  node.attributes = {{"kernel.name", "linux"}, {"arch", "amd64"}, {"driver.exec", "1"}};
  node.drivers["exec"] = model::DriverInfo{
      .attributes = {}, .detected = true, .healthy = true, .health_description = "", .update_time = {}};
  if (from.gpus == 0) return node;
  model::NodeDevice device;
  device.vendor = "trace", device.type = "gpu", device.name = from.gpu_model;
  for (std::int64_t gpu = 0; gpu < from.gpus; ++gpu)
    device.instances.push_back(
        {.id = fmt::format("gpu{:03}", gpu), .healthy = true, .health_description = "", .locality = {}});
  node.node_resources->devices.push_back(std::move(device));
  return node;
}

}  // namespace

Result<GeneratedCluster> parse_node_list(std::string_view text, const std::string& path, std::uint64_t seed) {
  CsvRows rows(text, path, "write the list again");
  const std::size_t cpu = rows.column("cpu_mhz"), memory = rows.column("memory_mb"),
                    count = rows.column("count", false), disk = rows.column("disk_mb", false),
                    node_class = rows.column("class", false), gpus = rows.column("gpus", false),
                    model = rows.column("gpu_model", false);
  const std::vector<std::string> known = {"cpu_mhz", "memory_mb", "count", "disk_mb", "class", "gpus", "gpu_model"};
  for (const std::string& name : rows.header())
    if (std::find(known.begin(), known.end(), name) == known.end())
      rows.fail(name, "is no column of a list of nodes",
                base::did_you_mean(name, known) + "bench/macro/README.md lists the columns of nodes");
  const auto given = [&](std::size_t column) { return rows.has(column) && !rows.empty(column); };
  GeneratedCluster out;
  out.datacenters = {"dc1"};
  std::map<ListedShape, std::uint32_t> shapes;
  const std::uint64_t salt = base::mix64(seed ^ 0x6e6f6465ULL);
  while (rows.next()) {
    ListedShape shape;
    shape.cpu_mhz = rows.integer(cpu, 1, kMaxAmount), shape.memory_mb = rows.integer(memory, 1, kMaxAmount);
    if (given(disk)) shape.disk_mb = rows.integer(disk, 0, kMaxAmount);
    if (given(node_class)) shape.node_class = rows.text(node_class);
    if (given(gpus)) shape.gpus = rows.integer(gpus, 0, kListedGpusMost);
    if (given(model)) shape.gpu_model = rows.text(model);
    if (shape.gpus == 0) shape.gpu_model.clear();
    if (shape.gpus > 0 && shape.gpu_model.empty())
      rows.fail("gpu_model", "is empty in a row with GPUs", "name their model");
    const std::int64_t nodes = given(count) ? rows.integer(count, 1, kListedNodesMost) : 1;
    if (static_cast<std::int64_t>(out.nodes.size()) + nodes > kListedNodesMost)
      rows.fail("count", fmt::format("makes more than {} nodes in all", kListedNodesMost), "use a part of the list");
    if (rows.error()) break;
    const auto [at, fresh] = shapes.emplace(shape, static_cast<std::uint32_t>(out.shapes.size()));
    if (fresh) out.shapes.push_back(listed_node(shape));
    for (std::int64_t i = 0; i < nodes; ++i)
      out.nodes.push_back({.id = base::generated_id(kNodeKind, static_cast<std::uint32_t>(out.nodes.size()), salt),
                           .shape = at->second});
  }
  if (!rows.error() && out.nodes.empty()) rows.fail("", "holds no nodes", "write one row per kind below the header");
  if (rows.error()) return tl::unexpected(*rows.error());
  return out;
}

}  // namespace berth::sim
