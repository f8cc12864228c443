#include <cmath>
#include <set>

#include "model/port_ranges.h"
#include "sim/workload_parts.h"
#include "sim/workload_words.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMaxNodes = 10'000'000;

DeviceSpec read_device(TomlReader& reader, const toml::table* table, const std::string& name) {
  TomlSection in(reader, table, name, 0);
  DeviceSpec out;
  const std::string id = in.text("name", "");
  const std::size_t first = id.find('/'), last = id.rfind('/');
  if (first == std::string::npos || first == last || first == 0 || last + 1 == id.size() || last == first + 1)
    in.fail("name", "'name' of a device is '" + id.substr(0, 40) + "'", "write vendor/type/name");
  else
    out.vendor = id.substr(0, first), out.type = id.substr(first + 1, last - first - 1), out.name = id.substr(last + 1);
  out.count = in.integer("count", 1, 1, 10'000);
  for (const auto& [key, values] : in.text_map("attributes")) out.attributes[key] = values.empty() ? "" : values[0];
  in.finish();
  return out;
}

std::int32_t milliwatts(TomlSection& in, std::string_view key) {
  return static_cast<std::int32_t>(std::lround(in.number(key, 0, 0, 1e6) * 1000));
}

void read_power(TomlReader& reader, const toml::table* table, ShapeSpec& out) {
  TomlSection in(reader, table, "[[cluster.shapes]] power", 0);
  const std::int64_t cores = in.integer("package_cores", out.cores, 1, 4096);
  out.rates.package_cpu = static_cast<std::int32_t>(cores * out.mhz_per_core);
  out.rates.reserved_cpu = static_cast<std::int32_t>(out.reserved_cpu_mhz);
  out.rates.package_idle_mw = milliwatts(in, "package_idle_w");
  out.rates.package_max_mw = milliwatts(in, "package_max_w");
  out.rates.device_idle_mw = milliwatts(in, "device_idle_w");
  out.rates.device_max_mw = milliwatts(in, "device_max_w");
  if (!in.has("package_max_w"))
    in.fail("", "'power' has no 'package_max_w'", "write e.g. power = { package_idle_w = 20, package_max_w = 165 }");
  else if (out.rates.package_idle_mw > out.rates.package_max_mw)
    in.fail("package_idle_w", "an idle package draws more than a busy one", "lower it");
  if (out.rates.device_idle_mw > out.rates.device_max_mw)
    in.fail("device_idle_w", "an idle device draws more than a busy one", "lower it");
  in.finish();
}

/// Power and price: of all shapes or of none, because sums over some of the nodes would mislead.
void check_rates(TomlSection& in, const std::vector<ShapeSpec>& shapes) {
  for (const auto& [key, has] : {std::pair{"power", &ShapeSpec::has_power}, {"price_per_hour", &ShapeSpec::has_price}})
    for (const ShapeSpec& shape : shapes)
      if (shape.*has != shapes.front().*has)
        in.fail("shapes", fmt::format("'{}' is given for some shapes only", key),
                fmt::format("write it in '{}' too, or in none", (shape.*has ? shapes.front() : shape).name));
}

ShapeSpec read_shape(TomlReader& reader, const toml::table* table) {
  const std::string name = "[[cluster.shapes]]";
  TomlSection in(reader, table, name, 0);
  ShapeSpec out;
  out.name = in.text("name", "");
  check_name(in, "name", out.name);
  out.weight = in.number("weight", 1, 0, 1e9);
  out.nodes = in.integer("nodes", 0, 1, kMaxNodes);
  if (out.nodes > 0 && in.has("weight")) in.fail("weight", "has both 'weight' and 'nodes'", "keep one");
  if (out.nodes > 0) out.weight = 0;
  out.variants = in.integer("variants", 1, 1, 100'000);
  out.cores = in.integer("cores", 8, 1, 4096);
  out.mhz_per_core = in.integer("mhz_per_core", 2500, 1, 100'000);
  out.memory_mb = amount(in, "memory_mb", 32'768, 1);
  out.disk_mb = amount(in, "disk_mb", 102'400);
  out.network_mbits = amount(in, "network_mbits", 1'000);
  out.reserved_cpu_mhz = amount(in, "reserved_cpu_mhz", 0);
  out.reserved_memory_mb = amount(in, "reserved_memory_mb", 0);
  out.reserved_disk_mb = amount(in, "reserved_disk_mb", 0);
  if (out.reserved_cpu_mhz > out.cores * out.mhz_per_core)
    in.fail("reserved_cpu_mhz", "more cpu is reserved than there is", "lower it");
  if (out.reserved_memory_mb > out.memory_mb)
    in.fail("reserved_memory_mb", "more memory is reserved than there is", "lower it");
  if (out.reserved_disk_mb > out.disk_mb)
    in.fail("reserved_disk_mb", "more disk is reserved than there is", "lower it");
  out.reserved_ports = in.text("reserved_ports", "22");
  if (const auto ports = model::parse_port_ranges(out.reserved_ports); !ports)
    in.fail("reserved_ports", ports.error(), "write ports and ranges such as 22,8000-8010");
  out.node_class = in.text("node_class", out.name);
  out.pool = in.text("pool", "default");
  check_name(in, "pool", out.pool);
  if (out.pool == "all") in.fail("pool", "a node cannot be in the pool 'all'", "name another pool");
  out.attributes = in.text_map("attributes");
  out.meta = in.text_map("meta");
  if (out.meta.count("rack")) in.fail("meta", "'rack' is set by the generator", "use [cluster] racks");
  out.drivers = in.texts("drivers");
  if (out.drivers.empty()) out.drivers = {"exec"};
  for (const std::string& driver : out.drivers) check_name(in, "drivers", driver);
  out.host_volumes = in.texts("host_volumes");
  for (const std::string& volume : out.host_volumes) check_name(in, "host_volumes", volume);
  for (const toml::table* device : in.tables("devices"))
    out.devices.push_back(read_device(reader, device, name + " devices"));
  out.has_power = in.has("power"), out.has_price = in.has("price_per_hour");
  if (const toml::table* power = in.table("power")) read_power(reader, power, out);
  out.rates.price_micro = std::llround(in.number("price_per_hour", 0, 0, 1e9) * 1e6);
  in.finish();
  return out;
}

LoadSpec read_load(TomlReader& reader, const toml::table* table) {
  TomlSection in(reader, table, "[cluster.load]", 0);
  LoadSpec out;
  out.percent = in.quantity("percent", 0, 0, 100);
  if (!in.has("percent")) in.fail("", "[cluster.load] has no 'percent'", "write e.g. percent = 50");
  out.cpu_mhz = in.quantity("cpu_mhz", out.cpu_mhz, 1, kMaxAmount);
  out.memory_mb = in.quantity("memory_mb", out.memory_mb, 1, kMaxAmount);
  out.disk_mb = in.quantity("disk_mb", out.disk_mb, 0, kMaxAmount);
  out.priority = in.quantity("priority", out.priority, 1, 100);
  out.jobs = in.integer("jobs", out.jobs, 1, 100'000);
  in.finish();
  return out;
}

JoinSpec read_joins(TomlReader& reader, const toml::table* table, std::int64_t nodes) {
  TomlSection in(reader, table, "[cluster.joins]", 0);
  JoinSpec out;
  out.nodes = in.integer("nodes", 0, 1, kMaxNodes);
  out.start_s = in.number("start_s", 0, 0, 1e9);
  out.rate_per_s = in.number("rate_per_s", 1, 1e-6, 1e9);
  if (out.nodes == 0) in.fail("", "[cluster.joins] has no 'nodes'", "write e.g. nodes = 10");
  if (out.nodes > 0 && static_cast<double>(out.due_ns(static_cast<std::size_t>(out.nodes - 1))) >= kLatestNs)
    in.fail("rate_per_s", "the last node joins after more than 120 years", "raise it");
  if (out.nodes >= nodes) in.fail("nodes", "all nodes of the cluster would join later", "keep some at the start");
  in.finish();
  return out;
}

}  // namespace

ClusterSpec read_cluster(TomlReader& reader, const toml::table* table, std::size_t line) {
  TomlSection in(reader, table, "[cluster]", line);
  ClusterSpec out;
  out.source = in.choice("generator", Source::mix, list_of(kSources));
  const std::string why = fmt::format("generator = \"{}\"", to_text(out.source));
  out.nodes = in.integer("nodes", 0, 1, kMaxNodes);
  out.racks = in.integer("racks", 0, 0, 1'000'000);
  out.datacenters = in.texts("datacenters");
  for (const toml::table* shape : in.tables("shapes")) out.shapes.push_back(read_shape(reader, shape));
  std::int64_t exact = 0;
  for (const ShapeSpec& shape : out.shapes) exact += shape.nodes;
  if (!in.has("nodes")) out.nodes = exact;
  if (const toml::table* load = in.table("load")) out.load = read_load(reader, load);
  if (const toml::table* joins = in.table("joins")) out.joins = read_joins(reader, joins, out.nodes);
  out.nodes_file = in.text("file", "");
  out.list = in.choice<std::string>("list", "gpu_node", {{"gpu_node", "gpu_node"}, {"all_node", "all_node"}});
  out.gpu_shares = in.choice<std::int64_t>("gpu_sharing", 1, {{"whole", 1}, {"tenths", 10}, {"hundredths", 100}});
  if (out.source != Source::mix) refuse(in, {"shapes", "load", "joins", "datacenters"}, why);
  if (out.source != Source::mix && out.source != Source::openb_like) refuse(in, {"nodes", "racks"}, why);
  if (out.source != Source::files && out.source != Source::imported && out.source != Source::trace)
    refuse(in, {"file"}, why);
  if (out.source != Source::openb) refuse(in, {"list"}, why);
  if (out.source != Source::openb && out.source != Source::openb_like) refuse(in, {"gpu_sharing"}, why);
  if ((out.source == Source::mix || out.source == Source::openb_like) && out.nodes == 0)
    in.fail("", "[cluster] has no 'nodes'", "write e.g. nodes = 1000");
  if (out.source == Source::mix) {
    if (out.shapes.empty()) in.fail("", "[cluster] has no shapes", "write [[cluster.shapes]] tables");
    double sum = 0;
    for (const ShapeSpec& shape : out.shapes) sum += shape.weight;
    if (exact > out.nodes)
      in.fail("nodes", fmt::format("the shapes have {} nodes", exact), "raise 'nodes', or lower that of a shape");
    if (sum == 0 && exact < out.nodes && !out.shapes.empty())
      in.fail("shapes", "the weights of the shapes add up to 0", "raise one, or the 'nodes' of one");
    std::set<std::string_view> names;
    for (const ShapeSpec& shape : out.shapes)
      if (!names.insert(shape.name).second)
        in.fail("shapes", "two shapes are called '" + shape.name + "'", "rename one");
    check_rates(in, out.shapes);
    for (const std::string& datacenter : out.datacenters) check_name(in, "datacenters", datacenter);
    if (out.datacenters.empty()) out.datacenters = {"dc1"};
  }
  if (out.source == Source::files && out.nodes_file.empty())
    in.fail("", "[cluster] has no 'file'", "name a JSON file with a list of nodes");
  if (out.source == Source::trace && out.nodes_file.empty())
    in.fail("", "[cluster] has no 'file'", "name a CSV file with a list of nodes (bench/macro/README.md, Own traces)");
  if (out.source == Source::imported && out.nodes_file.empty())
    in.fail("", "[cluster] has no 'file'", "name a cluster, as `berth import` reads it");
  in.finish();
  return out;
}

}  // namespace berth::sim
