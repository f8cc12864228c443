#include "sim/workload.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "io/files.h"
#include "sim/fit_strategy.h"
#include "sim/job_generator.h"
#include "sim/life_reader.h"
#include "sim/toml_changes.h"
#include "sim/toml_section.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMaxWorkloadBytes = 4 << 20;
constexpr std::int64_t kMaxNodes = 10'000'000, kMaxJobs = 100'000'000;

constexpr std::pair<const char*, Mode> kModes[] = {{"sampled", Mode::sampled}, {"exhaustive", Mode::exhaustive}};
constexpr std::pair<const char*, Algorithm> kAlgorithms[] = {{"binpack", Algorithm::binpack},
                                                             {"spread", Algorithm::spread}};
constexpr std::pair<const char*, Order> kOrders[] = {
    {"nomad", Order::nomad}, {"mix", Order::mix}, {"lazy", Order::lazy}, {"identity", Order::identity}};
constexpr std::pair<const char*, Source> kSources[] = {{"mix", Source::mix},
                                                       {"nomad-grid", Source::nomad_grid},
                                                       {"openb", Source::openb},
                                                       {"openb-like", Source::openb_like},
                                                       {"files", Source::files}};
constexpr std::pair<const char*, Process> kProcesses[] = {
    {"backlog", Process::backlog}, {"fixed", Process::fixed}, {"poisson", Process::poisson}, {"trace", Process::trace}};
constexpr std::pair<const char*, CommitOrder> kCommits[] = {{"deterministic", CommitOrder::deterministic},
                                                            {"free", CommitOrder::free}};
constexpr std::pair<const char*, Clock> kClocks[] = {{"skip", Clock::skip}, {"wait", Clock::wait}};

template <class E, std::size_t N>
const char* word_of(const std::pair<const char*, E> (&words)[N], E value) {
  for (const auto& [word, candidate] : words)
    if (candidate == value) return word;
  return "?";
}
template <class E, std::size_t N>
std::vector<std::pair<const char*, E>> list_of(const std::pair<const char*, E> (&words)[N]) {
  return {std::begin(words), std::end(words)};
}

/// Names end up in job and node IDs: letters, digits and -_. only (R-MODEL-250 refuses spaces and NUL in job IDs).
void check_name(TomlSection& in, std::string_view key, const std::string& name) {
  const bool fine = !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  if (!fine) in.fail(key, fmt::format("'{}' is not a name", key), "use 1 to 100 of a-z A-Z 0-9 - _ .");
}

/// Nomad's operands (R-FEAS-601 to 607); others would filter every node without a word.
void check_operand(TomlSection& in, const std::string& operand, bool affinity) {
  // R-FEAS-662: an affinity cannot ask whether something is set, nor for distinct values.
  if (!affinity && operand == "distinct_property") return;
  if (affinity && operand.starts_with("is_"))
    return in.fail("operator", "an affinity cannot use '" + operand.substr(0, 40) + "'", "use another operator");
  static const char* const kOperands[] = {"=",
                                          "==",
                                          "is",
                                          "!=",
                                          "not",
                                          "<",
                                          "<=",
                                          ">",
                                          ">=",
                                          "regexp",
                                          "version",
                                          "semver",
                                          "set_contains",
                                          "set_contains_all",
                                          "set_contains_any",
                                          "is_set",
                                          "is_not_set"};
  if (std::find(std::begin(kOperands), std::end(kOperands), operand) == std::end(kOperands))
    in.fail("operator", "the operator '" + operand.substr(0, 40) + "' does not exist",
            "use =, !=, <, <=, >, >=, regexp, version, semver, set_contains, set_contains_any, is_set or is_not_set");
}

RuleSpec read_rule(TomlReader& reader, const toml::table* table, const std::string& name, bool affinity) {
  TomlSection in(reader, table, name, 0);
  RuleSpec out;
  out.attribute = in.text("attribute", "");
  if (out.attribute.empty()) in.fail("attribute", "'attribute' is missing in " + name, "e.g. \"${attr.kernel.name}\"");
  out.operand = in.text("operator", "=");
  check_operand(in, out.operand, affinity);
  out.values = in.texts("value");
  if (out.values.empty()) out.values = {""};
  for (const std::string& value : out.values)
    if (const std::string problem = rule_problem({out.attribute, value, out.operand}); !problem.empty())
      in.fail("value", problem, "Nomad refuses such a job");
  if (affinity) {
    out.weight = in.integer("weight", 50, -100, 100);
    if (out.weight == 0) in.fail("weight", "'weight' is 0", "use -100 to 100 except 0");
  }
  out.percent = in.integer("percent", 100, 0, 100);
  in.finish();
  return out;
}

std::vector<RuleSpec> read_rules(TomlReader& reader, TomlSection& in, const char* key, const std::string& name,
                                 bool affinity) {
  std::vector<RuleSpec> out;
  for (const toml::table* table : in.tables(key)) out.push_back(read_rule(reader, table, name + "." + key, affinity));
  return out;
}

std::int64_t amount(TomlSection& in, const char* key, std::int64_t fallback, std::int64_t min = 0) {
  return in.integer(key, fallback, min, kMaxAmount);
}

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

ShapeSpec read_shape(TomlReader& reader, const toml::table* table) {
  const std::string name = "[[cluster.shapes]]";
  TomlSection in(reader, table, name, 0);
  ShapeSpec out;
  out.name = in.text("name", "");
  check_name(in, "name", out.name);
  out.weight = in.number("weight", 1, 0, 1e9);
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
  out.node_class = in.text("node_class", out.name);
  out.pool = in.text("pool", "default");
  check_name(in, "pool", out.pool);
  if (out.pool == "all") in.fail("pool", "a node cannot be in the pool 'all'", "name another pool");
  out.attributes = in.text_map("attributes");
  out.meta = in.text_map("meta");
  if (out.meta.count("rack")) in.fail("meta", "'rack' is set by the generator", "use [cluster] racks");
  out.drivers = in.texts("drivers");
  if (out.drivers.empty()) out.drivers = {"exec"};
  out.host_volumes = in.texts("host_volumes");
  for (const toml::table* device : in.tables("devices"))
    out.devices.push_back(read_device(reader, device, name + " devices"));
  in.finish();
  return out;
}

LoadSpec read_load(TomlReader& reader, const toml::table* table) {
  TomlSection in(reader, table, "[cluster.load]", 0);
  LoadSpec out;
  out.percent = in.quantity("percent", 0, 0, 100);
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
  if (out.nodes >= nodes) in.fail("nodes", "all nodes of the cluster would join later", "keep some at the start");
  in.finish();
  return out;
}

/// "all of these keys belong to another source": reports the first one that is set.
void refuse(TomlSection& in, std::initializer_list<const char*> keys, const std::string& why) {
  for (const char* key : keys)
    if (in.has(key)) return in.fail(key, fmt::format("'{}' does not go with {}", key, why), "remove one of the two");
}

ClusterSpec read_cluster(TomlReader& reader, const toml::table* table, std::size_t line) {
  TomlSection in(reader, table, "[cluster]", line);
  ClusterSpec out;
  out.source = in.choice("generator", Source::mix, list_of(kSources));
  const std::string why = fmt::format("generator = \"{}\"", to_text(out.source));
  out.nodes = in.integer("nodes", 0, 1, kMaxNodes);
  out.racks = in.integer("racks", 0, 0, 1'000'000);
  out.datacenters = in.texts("datacenters");
  for (const toml::table* shape : in.tables("shapes")) out.shapes.push_back(read_shape(reader, shape));
  if (const toml::table* load = in.table("load")) out.load = read_load(reader, load);
  if (const toml::table* joins = in.table("joins")) out.joins = read_joins(reader, joins, out.nodes);
  out.nodes_file = in.text("file", "");
  out.list = in.choice<std::string>("list", "gpu_node", {{"gpu_node", "gpu_node"}, {"all_node", "all_node"}});
  out.gpu_shares = in.choice<std::int64_t>("gpu_sharing", 1, {{"whole", 1}, {"tenths", 10}, {"hundredths", 100}});
  if (out.source != Source::mix) refuse(in, {"shapes", "load", "joins", "datacenters"}, why);
  if (out.source != Source::mix && out.source != Source::openb_like) refuse(in, {"nodes", "racks"}, why);
  if (out.source != Source::files) refuse(in, {"file"}, why);
  if (out.source != Source::openb) refuse(in, {"list"}, why);
  if (out.source != Source::openb && out.source != Source::openb_like) refuse(in, {"gpu_sharing"}, why);
  if ((out.source == Source::mix || out.source == Source::openb_like) && out.nodes == 0)
    in.fail("", "[cluster] has no 'nodes'", "write e.g. nodes = 1000");
  if (out.source == Source::mix) {
    if (out.shapes.empty()) in.fail("", "[cluster] has no shapes", "write [[cluster.shapes]] tables");
    double sum = 0;
    for (const ShapeSpec& shape : out.shapes) sum += shape.weight;
    if (sum == 0 && !out.shapes.empty()) in.fail("shapes", "the weights of the shapes add up to 0", "raise one");
    for (std::size_t i = 0; i < out.shapes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (out.shapes[i].name == out.shapes[j].name)
          in.fail("shapes", "two shapes are called '" + out.shapes[i].name + "'", "rename one");
    if (out.datacenters.empty()) out.datacenters = {"dc1"};
  }
  if (out.source == Source::files && out.nodes_file.empty())
    in.fail("", "[cluster] has no 'file'", "name a JSON file with a list of nodes");
  in.finish();
  return out;
}

SpreadSpec read_spread(TomlReader& reader, const toml::table* table, const std::string& name) {
  TomlSection in(reader, table, name, 0);
  SpreadSpec out;
  out.attribute = in.text("attribute", "");
  if (out.attribute.empty()) in.fail("attribute", "'attribute' is missing in " + name, "e.g. \"${node.datacenter}\"");
  out.weight = in.integer("weight", 50, 0, 100);
  out.percent = in.integer("percent", 100, 0, 100);
  std::int64_t sum = 0;
  if (const toml::table* targets = in.table("targets")) {
    TomlSection inner(reader, targets, name + ".targets", 0);
    for (const auto& [value, percent] : *targets) {
      out.targets.emplace_back(value.str(), inner.integer(value.str(), 0, 0, 100));
      sum += out.targets.back().second;
    }
    if (sum > 100) in.fail("targets", fmt::format("the targets add up to {} percent", sum), "keep them within 100");
  }
  in.finish();
  return out;
}

JobKindSpec read_kind(TomlReader& reader, const toml::table* table, bool lives) {
  const std::string name = "[[jobs.mix]]";
  TomlSection in(reader, table, name, 0);
  JobKindSpec out;
  out.name = in.text("name", "");
  check_name(in, "name", out.name);
  out.type = in.choice<std::string>(
      "type", "service", {{"service", "service"}, {"batch", "batch"}, {"system", "system"}, {"sysbatch", "sysbatch"}});
  out.pool = in.text("pool", "default");
  check_name(in, "pool", out.pool);
  out.driver = in.text("driver", "exec");
  check_name(in, "driver", out.driver);
  out.weight = in.number("weight", 1, 0, 1e9);
  out.templates = in.integer("templates", out.templates, 1, 1'000'000);
  out.priority = in.quantity("priority", out.priority, 1, 100);
  out.count = in.quantity("count", out.count, 0, 1'000'000);
  out.groups = in.quantity("groups", out.groups, 1, 100);
  out.tasks = in.quantity("tasks", out.tasks, 1, 100);
  out.cpu_mhz = in.quantity("cpu_mhz", out.cpu_mhz, 1, kMaxAmount);
  out.memory_mb = in.quantity("memory_mb", out.memory_mb, 10, kMaxAmount);
  out.disk_mb = in.quantity("disk_mb", out.disk_mb, 10, kMaxAmount);
  out.ports = in.quantity("ports", out.ports, 0, 100);
  out.static_port = in.quantity("static_port", out.static_port, 0, 65'535);
  out.cores = in.quantity("cores", out.cores, 0, 4096);
  out.host_volumes = in.texts("host_volumes");
  if (in.has("run_time_s")) out.run_time_s = in.quantity("run_time_s", 0, 0, kMaxAmount);
  if (in.has("run_time_ms")) out.run_time_ms = in.quantity("run_time_ms", 0, 0, kMaxAmount);
  if (out.run_time_s && out.run_time_ms) in.fail("run_time_ms", "'run_time_ms' beside 'run_time_s'", "keep one");
  out.fail_percent = in.integer("fail_percent", 0, 0, 100);
  if (out.fail_percent > 0 && !out.ends()) in.fail("fail_percent", "'fail_percent' needs 'run_time_s'", "add it");
  out.update_percent = in.integer("update_percent", 0, 0, 100);
  out.distinct_hosts = in.boolean("distinct_hosts", false);
  out.datacenters = in.texts("datacenters");
  if (out.datacenters.empty()) out.datacenters = {"*"};
  out.constraints = read_rules(reader, in, "constraints", name, false);
  out.affinities = read_rules(reader, in, "affinities", name, true);
  for (const toml::table* spread : in.tables("spreads"))
    out.spreads.push_back(read_spread(reader, spread, name + ".spreads"));
  for (const toml::table* ask : in.tables("devices")) {
    TomlSection device(reader, ask, name + ".devices", 0);
    DeviceAskSpec spec;
    spec.name = device.text("name", "");
    if (spec.name.empty()) device.fail("name", "'name' of a device is missing", "e.g. \"nvidia/gpu\"");
    spec.count = device.quantity("count", 1, 1, 10'000);
    spec.percent = device.integer("percent", 100, 0, 100);
    spec.constraints = read_rules(reader, device, "constraints", name + ".devices", false);
    spec.affinities = read_rules(reader, device, "affinities", name + ".devices", true);
    device.finish();
    out.devices.push_back(std::move(spec));
  }
  if (lives && out.update_percent > 0)
    in.fail("update_percent", "'update_percent' beside a [life]", "use [[events]] with do = \"update\"");
  if (lives) out.life = read_job_life(reader, in, out.type);
  if (out.life.named) out.templates = 1;
  if (out.life.named || !out.life.rate.empty()) out.weight = 0;
  const bool system = out.type == "system" || out.type == "sysbatch";
  // R-MODEL-250 ff.: what registration refuses is refused here, where the line is known.
  if (system && !out.affinities.empty()) in.fail("affinities", "system jobs cannot have affinities", "remove them");
  if (system && !out.spreads.empty()) in.fail("spreads", "system jobs cannot have spreads", "remove them");
  if (system && in.has("count")) in.fail("count", "system jobs run once on every node", "remove 'count'");
  if (out.type == "system" && out.ends())
    in.fail(out.run_time_s ? "run_time_s" : "run_time_ms", "system jobs do not end", "use type = \"sysbatch\"");
  in.finish();
  return out;
}

JobsSpec read_jobs(TomlReader& reader, const toml::table* table, std::size_t line, bool lives) {
  TomlSection in(reader, table, "[jobs]", line);
  JobsSpec out;
  out.source = in.choice("generator", Source::mix, list_of(kSources));
  const std::string why = fmt::format("generator = \"{}\"", to_text(out.source));
  out.count = in.integer("count", 0, 1, kMaxJobs);
  for (const toml::table* kind : in.tables("mix")) out.kinds.push_back(read_kind(reader, kind, lives));
  if (lives) out.rate_scale = in.number("rate_scale", 1, 1e-6, 1e6);
  out.file = in.text("file", "");
  out.list = in.choice<std::string>("list", "default",
                                    {{"default", "default"},
                                     {"cpu050", "cpu050"},
                                     {"gpushare40", "gpushare40"},
                                     {"gpuspec33", "gpuspec33"},
                                     {"multigpu20", "multigpu20"}});
  if (out.source != Source::mix) refuse(in, {"mix"}, why);
  if (out.source == Source::nomad_grid) refuse(in, {"count"}, why);
  if (out.source != Source::files) refuse(in, {"file"}, why);
  if (out.source != Source::openb) refuse(in, {"list"}, why);
  // Named jobs and those that arrive by a curve are not counted.
  const bool counted = std::any_of(out.kinds.begin(), out.kinds.end(),
                                   [](const JobKindSpec& kind) { return !kind.life.named && kind.life.rate.empty(); });
  if (((out.source == Source::mix && (counted || out.kinds.empty())) || out.source == Source::openb_like) &&
      out.count == 0)
    in.fail("", "[jobs] has no 'count'", "write e.g. count = 1000");
  if (out.source == Source::mix) {
    if (out.kinds.empty()) in.fail("", "[jobs] has no kinds of jobs", "write [[jobs.mix]] tables");
    if (!counted && out.count > 0) in.fail("count", "no kind of job is counted by 'count'", "remove it");
    double sum = 0;
    for (const JobKindSpec& kind : out.kinds) sum += kind.weight;
    if (sum == 0 && counted) in.fail("mix", "the weights of the kinds add up to 0", "raise one");
    for (std::size_t i = 0; i < out.kinds.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (out.kinds[i].name == out.kinds[j].name)
          in.fail("mix", "two kinds are called '" + out.kinds[i].name + "'", "rename one");
  }
  if (out.source == Source::files && out.file.empty())
    in.fail("", "[jobs] has no 'file'", "name a JSON file with a list of jobs");
  in.finish();
  return out;
}

ArrivalSpec read_arrivals(TomlReader& reader, const toml::table* table, std::size_t line, Source jobs) {
  TomlSection in(reader, table, "[arrivals]", line);
  ArrivalSpec out;
  out.process = in.choice("process", Process::backlog, list_of(kProcesses));
  out.clock = in.choice("clock", Clock::skip, list_of(kClocks));
  out.rate_per_s = in.number("rate_per_s", 0, 1e-6, 1e9);
  out.speed = in.number("speed", 1, 1e-6, 1e12);
  const std::string why = fmt::format("process = \"{}\"", to_text(out.process));
  const bool rated = out.process == Process::fixed || out.process == Process::poisson;
  if (rated && out.rate_per_s == 0) in.fail("process", why + " has no rate", "write e.g. rate_per_s = 100");
  if (!rated) refuse(in, {"rate_per_s"}, why);
  if (out.process == Process::trace && jobs != Source::openb && jobs != Source::openb_like)
    in.fail("process", why + " needs jobs with recorded times", "use jobs of openb or openb-like, or another process");
  if (out.process == Process::backlog) refuse(in, {"clock"}, why);
  in.finish();
  return out;
}

/// Which labels there are, and that `label` is one of them.
void read_labels(TomlReader& reader, const toml::table& root, Workload& out) {
  TomlSection in(reader, &root, "the workload", 1);
  out.labels = in.texts("labels");
  if (out.labels.empty()) out.labels = {"full"};
  for (const std::string& name : out.labels) check_name(in, "labels", name);
  if (std::find(out.labels.begin(), out.labels.end(), out.label) == out.labels.end())
    in.fail(
        "labels", "there is no label '" + out.label.substr(0, 40) + "'", "use one of: " + [&] {
          std::string all;
          for (const std::string& name : out.labels) all += (all.empty() ? "" : ", ") + name.substr(0, 40);
          return all;
        }());
  if (const toml::table* changes = in.table("label"))
    for (const auto& [name, change] : *changes) {
      if (std::find(out.labels.begin(), out.labels.end(), name.str()) == out.labels.end())
        reader.fail(name.source().begin.line, fmt::format("[label.{}] is not in 'labels'", name.str().substr(0, 40)),
                    "add it there");
      if (!change.is_table())
        reader.fail(change.source().begin.line, fmt::format("'label.{}' is not a table", name.str().substr(0, 40)),
                    "write [label.NAME]");
      else if (change.as_table()->contains("label") || change.as_table()->contains("labels"))
        reader.fail(change.source().begin.line, "a label cannot change the labels", "remove that");
    }
}

/// What the label changes takes the place of what stands there.
void apply_label(toml::table& root, const std::string& label) {
  toml::table* changes = root.get_as<toml::table>("label");
  if (!changes) return;
  toml::table* change = changes->get_as<toml::table>(label);
  toml::table own = change ? std::move(*change) : toml::table{};
  root.erase("label");
  merge_toml(root, std::move(own));
}

/// [strategies], and that the one that is named exists.
void read_strategies(TomlReader& reader, TomlSection& in, Workload& out) {
  if (const toml::table* sums = in.table("strategies"))
    for (const auto& [name, parts] : *sums) {
      const auto line = static_cast<std::size_t>(name.source().begin.line);
      const std::string shown(name.str().substr(0, 40));
      std::string sum = "sum";
      if (const toml::table* weights = parts.as_table(); weights && !weights->empty()) {
        for (const auto& [component, weight] : *weights) {
          if (const auto number = weight.value<double>())
            sum += fmt::format(":{}={}", component.str().substr(0, 60), *number);
          else if (const auto word = weight.value<std::string>())
            sum += fmt::format(":{}={}", component.str().substr(0, 60), *word);
          else
            reader.fail(line, fmt::format("a weight of strategy '{}' is no number", shown), "write e.g. cosine = 0.5");
        }
      } else {
        reader.fail(line, fmt::format("'strategies.{}' is not a table of weights", shown),
                    "write e.g. mine = { cosine = 1.0, best-fit = 0.5 }");
      }
      check_name(in, "strategies", std::string(name.str()));
      out.strategies.emplace(name.str(), sum);
    }
  if (out.strategy != "nomad")
    if (const auto spec = named_strategy(out, out.strategy); !spec)
      in.fail("strategy", spec.error().path + ": " + spec.error().problem,
              spec.error().remedy + "; or nomad, its own fit");
}

void read_options(TomlReader& reader, const toml::table* options, model::Options& out) {
  if (!options) return;
  const auto set = [&](const toml::key& key, const std::string& name, const toml::node& value) {
    std::string word = value.value_exact<std::string>().value_or("");
    if (const auto number = value.value_exact<std::int64_t>()) word = std::to_string(*number);
    if (const auto truth = value.value_exact<bool>()) word = *truth ? "true" : "false";
    if (auto done = model::set_option(out, name + "=" + word); !done)
      reader.fail(static_cast<std::size_t>(key.source().begin.line), done.error(),
                  "see [options] in bench/macro/README.md");
  };
  // As read, keys are sorted: `compat` comes before the single quirks, which are read as a table of their own.
  for (const auto& [name, value] : *options) {
    const std::string key(name.str());
    const toml::table* quirks = value.as_table();
    if (!quirks) set(name, key, value);
    if (quirks && quirks->empty()) set(name, key, value);
    if (quirks)
      for (const auto& [quirk, setting] : *quirks) set(quirk, key + "." + std::string(quirk.str()), setting);
  }
}

/// Settings that contradict each other.
void check_together(TomlSection& in, const Workload& out) {
  const bool grid_cluster = out.cluster.source == Source::nomad_grid, grid_jobs = out.jobs.source == Source::nomad_grid;
  if (grid_cluster != grid_jobs)
    in.fail(grid_cluster ? "cluster" : "jobs", "nomad-grid is a cluster together with its jobs",
            "use generator = \"nomad-grid\" in [cluster] and in [jobs]");
  if (!grid_jobs && in.has("grid")) in.fail("grid", "[grid] is only for nomad-grid", "remove it");
  if (grid_jobs && (in.has("arrivals") || out.departures))
    in.fail(in.has("arrivals") ? "arrivals" : "departures", "every cell of nomad-grid is one evaluation of its own",
            "remove arrivals and departures");
  if (out.cluster.gpu_shares != 1 && out.jobs.source != Source::openb && out.jobs.source != Source::openb_like)
    in.fail("cluster", "'gpu_sharing' needs jobs that share GPUs", "use jobs of openb or openb-like");
  if (out.departures && out.jobs.source == Source::mix &&
      std::none_of(out.jobs.kinds.begin(), out.jobs.kinds.end(), [](const auto& k) { return k.ends(); }))
    in.fail("departures", "no kind of job has a run time", "add run_time_s or remove departures");
  if (out.departures && out.jobs.source == Source::files)
    in.fail("departures", "jobs from a file have no run time", "remove departures");
  if (out.departures && out.jobs.source == Source::openb && out.jobs.list == "multigpu20")
    in.fail("departures", "the list multigpu20 has no times", "remove departures or use another list");
  if (out.arrivals.process == Process::trace && out.jobs.source == Source::openb && out.jobs.list == "multigpu20")
    in.fail("arrivals", "the list multigpu20 has no times", "use another process or another list");
  if (out.life && (grid_jobs || grid_cluster)) in.fail("life", "nomad-grid has no life", "remove [life]");
  if (!out.life && !out.options.remote_task_drivers.empty())
    in.fail("options", "remote_task_drivers is for clients, and only a life has some", "add [life], or leave it out");
  if (out.life && in.has("departures"))
    in.fail("departures", "in a life allocations end by themselves", "remove 'departures'");
  if (out.life && (out.workers > 1 || out.commits != CommitOrder::deterministic))
    in.fail(in.has("workers") ? "workers" : "commits", "a life has one worker, whose plans are committed in turn",
            "remove it");
  if (out.life && out.arrivals.clock == Clock::wait)
    in.fail("arrivals", "a life has a virtual clock, which nobody waits for", "remove clock = \"wait\"");
}

}  // namespace

const char* to_text(Mode v) { return word_of(kModes, v); }
const char* to_text(Algorithm v) { return word_of(kAlgorithms, v); }
const char* to_text(Order v) { return word_of(kOrders, v); }
const char* to_text(Source v) { return word_of(kSources, v); }
const char* to_text(Process v) { return word_of(kProcesses, v); }
const char* to_text(Clock v) { return word_of(kClocks, v); }
const char* to_text(CommitOrder v) { return word_of(kCommits, v); }

Result<Workload> parse_workload(std::string_view text, const std::string& path, const std::string& label,
                                const std::vector<Change>& changes) {
  TomlReader reader{path, {}};
  toml::table root;
  try {
    root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    std::string problem(error.description());
    for (char& c : problem)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return tl::unexpected(InputError{path, std::to_string(error.source().begin.line), "not TOML: " + problem,
                                     "correct the line; see bench/macro/README.md"});
  }

  Workload out;
  out.path = path;
  out.label = label;
  read_labels(reader, root, out);
  if (reader.error) return tl::unexpected(*reader.error);
  apply_label(root, label);
  if (auto error = apply_changes(root, changes))
    return tl::unexpected(InputError{path, "", error->problem, error->remedy});

  TomlSection in(reader, &root, "the workload", 1);
  static_cast<void>(in.texts("labels"));
  out.name = in.text("name", "");
  if (out.name.empty())
    in.fail("", "the workload has no 'name'", "write name = \"...\" in the first lines");
  else
    check_name(in, "name", out.name);
  out.description = in.text("description", "");
  out.seed = static_cast<std::uint64_t>(in.integer("seed", 1, 0, INT64_MAX));
  out.mode = in.choice("mode", out.mode, list_of(kModes));
  out.algorithm = in.choice("algorithm", out.algorithm, list_of(kAlgorithms));
  out.strategy = in.text("strategy", "nomad");
  out.order = in.choice("order", out.order, list_of(kOrders));
  read_strategies(reader, in, out);
  out.workers = in.integer("workers", 1, 1, 1024);
  out.commits = in.choice("commits", out.commits, list_of(kCommits));
  out.departures = in.boolean("departures", false);
  {
    TomlSection part(reader, in.table("preemption"), "[preemption]", 0);
    out.preemption.system = part.boolean("system", out.preemption.system);
    out.preemption.sysbatch = part.boolean("sysbatch", out.preemption.sysbatch);
    out.preemption.batch = part.boolean("batch", out.preemption.batch);
    out.preemption.service = part.boolean("service", out.preemption.service);
    part.finish();
  }
  read_options(reader, in.table("options"), out.options);
  {
    TomlSection part(reader, in.table("limits"), "[limits]", 0);
    out.limits.placements = part.integer("placements", 0, 1, INT64_MAX);
    out.limits.seconds = part.number("seconds", 0, 1e-3, 1e9);
    part.finish();
  }
  if (!in.has("cluster")) in.fail("", "the workload has no [cluster]", "add the table");
  out.cluster = read_cluster(reader, in.table("cluster"), in.line("cluster"));
  if (!in.has("jobs")) in.fail("", "the workload has no [jobs]", "add the table");
  const bool lives = in.has("life");
  out.jobs = read_jobs(reader, in.table("jobs"), in.line("jobs"), lives);
  out.arrivals = read_arrivals(reader, in.table("arrivals"), in.line("arrivals"), out.jobs.source);
  {
    TomlSection part(reader, in.table("grid"), "[grid]", 0);
    const auto cells = part.quantity("cells", Quantity::uniform(1, 120), 1, 120);
    out.grid.first_cell = cells.min(), out.grid.last_cell = cells.max();
    out.grid.repetitions = part.integer("repetitions", out.grid.repetitions, 1, 1000);
    part.finish();
  }
  if (lives) out.life = read_life(reader, in);
  for (const char* key : {"events", "faults", "tasks"})
    if (!lives && in.has(key)) in.fail(key, fmt::format("[[{}]] need a [life]", key), "write [life] duration_s = ...");
  in.finish();

  check_together(in, out);
  if (!reader.error) return out;
  // The file alone may be fine: then the changes are what is wrong, and lines of the file would mislead.
  if (!changes.empty() && parse_workload(text, path, label)) reader.error->place = "with " + to_text(changes);
  return tl::unexpected(*reader.error);
}

Result<Workload> read_workload(const std::string& path, const std::string& label, const std::vector<Change>& changes) {
  const tl::unexpected<InputError> refused(
      InputError{path, "", "is not a workload file", "name a TOML file below 4 MiB"});
  struct stat info {};
  // Refused before reading: a device has no end, and no workload is this long.
  if (path != "-" && stat(path.c_str(), &info) == 0 &&
      (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) || (S_ISREG(info.st_mode) && info.st_size > kMaxWorkloadBytes)))
    return refused;
  auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  if (text->size() > kMaxWorkloadBytes) return refused;
  return parse_workload(*text, path, label, changes);
}

}  // namespace berth::sim
