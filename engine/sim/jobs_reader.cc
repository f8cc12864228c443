#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "model/gang.h"
#include "sim/job_generator.h"
#include "sim/workload_parts.h"
#include "sim/workload_words.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMaxJobs = 100'000'000;

/// `gang`, `gang_timeout`, `gang_topology`: the keys of a job's meta.
void read_gang(TomlSection& in, JobKindSpec& out) {
  const JobKindSpec::GangSpec spec{in.text("gang_timeout", ""), in.text("gang_topology", "")};
  const bool is_gang = in.boolean("gang", false);
  if (is_gang) out.gang = spec;
  if (!is_gang && !(spec.timeout + spec.topology).empty())
    return in.fail(spec.timeout.empty() ? "gang_topology" : "gang_timeout", "the job is no gang", "add gang = true");
  if (!is_gang) return;
  std::map<std::string, std::string> meta;
  const std::tuple<const char*, const char*, std::string> keys[] = {
      {"gang", model::kGangKey, "all"},
      {"gang_timeout", model::kGangTimeoutKey, spec.timeout},
      {"gang_topology", model::kGangTopologyKey, spec.topology}};
  for (const auto& [own, key, text] : keys) {
    if (text.empty()) continue;
    meta[key] = text;
    if (const auto gang = model::parse_gang(meta, out.type); !gang)
      return in.fail(own, gang.error().problem, gang.error().remedy);
  }
}

/// Accepts only Nomad's operands (R-FEAS-601 to 607); others would silently filter every node.
void check_operand(TomlSection& in, const std::string& operand, bool affinity) {
  // R-FEAS-662: an affinity cannot test whether something is set, nor for distinct values.
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

/// Templates are made before the run, with all their tasks.
void check_size(TomlSection& in, const JobKindSpec& kind) {
  const double tasks = static_cast<double>(kind.templates) * static_cast<double>(kind.groups.max()) *
                       static_cast<double>(kind.tasks.max() + kind.ports.max());
  if (tasks > 1e8)
    in.fail("templates", fmt::format("{:g} tasks and ports in the templates of this kind", tasks), "keep to 1e8");
}

JobKindSpec read_kind(TomlReader& reader, const toml::table* table, bool lives) {
  const std::string name = "[[jobs.mix]]";
  TomlSection in(reader, table, name, 0);
  JobKindSpec out;
  out.line = static_cast<std::uint32_t>(in.line());
  out.name = in.text("name", "");
  check_name(in, "name", out.name);
  out.type = in.choice<std::string>(
      "type", "service", {{"service", "service"}, {"batch", "batch"}, {"system", "system"}, {"sysbatch", "sysbatch"}});
  out.space = in.text("namespace", "default");
  check_name(in, "namespace", out.space);
  out.pool = in.text("pool", "default");
  check_name(in, "pool", out.pool);
  out.driver = in.text("driver", "exec");
  check_name(in, "driver", out.driver);
  out.weight = in.number("weight", 1, 0, 1e9);
  out.jobs = in.integer("jobs", 0, 1, kMaxJobs);
  if (out.jobs > 0 && in.has("weight")) in.fail("weight", "has both 'weight' and 'jobs'", "keep one");
  if (out.jobs > 0) out.weight = 0;
  out.from_s = in.number("from_s", 0, 0, 1e9);
  for (const char* key : {"jobs", "from_s"})
    if (lives && in.has(key)) in.fail(key, fmt::format("'{}' with a [life]", key), "use 'rate', or 'named' and 'at_s'");
  out.templates = in.integer("templates", out.templates, 1, 1'000'000);
  out.priority = in.quantity("priority", out.priority, 1, 100);
  out.count = in.quantity("count", out.count, 0, 1'000'000);
  out.groups = in.quantity("groups", out.groups, 1, 100);
  out.tasks = in.quantity("tasks", out.tasks, 1, 100);
  out.cpu_mhz = in.quantity("cpu_mhz", out.cpu_mhz, 1, kMaxAmount);
  out.memory_mb = in.quantity("memory_mb", out.memory_mb, 10, kMaxAmount);
  out.disk_mb = in.quantity("disk_mb", out.disk_mb, 10, kMaxAmount);
  out.ports = in.quantity("ports", out.ports, 0, 100);
  check_size(in, out);
  out.static_port = in.quantity("static_port", out.static_port, 0, 65'535);
  out.cores = in.quantity("cores", out.cores, 0, 4096);
  out.host_volumes = in.texts("host_volumes");
  for (const std::string& volume : out.host_volumes) check_name(in, "host_volumes", volume);
  if (in.has("run_time_s")) out.run_time_s = in.quantity("run_time_s", 0, 0, kMaxAmount);
  if (in.has("run_time_ms")) out.run_time_ms = in.quantity("run_time_ms", 0, 0, kMaxAmount);
  if (out.run_time_s && out.run_time_ms) in.fail("run_time_ms", "'run_time_ms' and 'run_time_s'", "keep one");
  if (in.has("deadline_s")) out.deadline_s = in.quantity("deadline_s", 0, 1, kMaxAmount);
  read_gang(in, out);
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
  if (lives && out.space != "default")
    in.fail("namespace", "'namespace' in a workload with [life]", "remove it: the jobs of a life are in 'default'");
  if (lives && out.update_percent > 0)
    in.fail("update_percent", "'update_percent' in a workload with [life]", "use [[events]] with do = \"update\"");
  if (lives) out.life = read_job_life(reader, in, out.type);
  if (out.life.named) out.templates = 1;
  if (out.life.named || !out.life.rate.empty()) out.weight = 0;
  const bool system = out.type == "system" || out.type == "sysbatch";
  // R-MODEL-250 ff.: registration would refuse these; here the line is known.
  if (system && !out.affinities.empty()) in.fail("affinities", "system jobs cannot have affinities", "remove them");
  if (system && !out.spreads.empty()) in.fail("spreads", "system jobs cannot have spreads", "remove them");
  if (system && in.has("count")) in.fail("count", "system jobs run once on every node", "remove 'count'");
  if (out.type == "system" && out.ends())
    in.fail(out.run_time_s ? "run_time_s" : "run_time_ms", "system jobs do not end", "use type = \"sysbatch\"");
  in.finish();
  return out;
}

}  // namespace

JobsSpec read_jobs(TomlReader& reader, const toml::table* table, std::size_t line, bool lives) {
  TomlSection in(reader, table, "[jobs]", line);
  JobsSpec out;
  out.source = in.choice("generator", Source::mix, list_of(kSources));
  const std::string why = fmt::format("generator = \"{}\"", to_text(out.source));
  out.count = in.integer("count", 0, 1, kMaxJobs);
  for (const toml::table* kind : in.tables("mix")) out.kinds.push_back(read_kind(reader, kind, lives));
  if (lives) out.rate_scale = in.number("rate_scale", 1, 1e-6, 1e6);
  if (in.has("rate_scale") && std::ranges::all_of(out.kinds, [](const auto& kind) { return kind.life.rate.empty(); }))
    in.fail("rate_scale", "no kind of job has a 'rate'", "remove 'rate_scale'");
  out.file = in.text("file", "");
  out.list = in.choice<std::string>("list", "default",
                                    {{"default", "default"},
                                     {"cpu050", "cpu050"},
                                     {"gpushare40", "gpushare40"},
                                     {"gpuspec33", "gpuspec33"},
                                     {"multigpu20", "multigpu20"}});
  if (out.source != Source::mix) refuse(in, {"mix"}, why);
  if (out.source == Source::nomad_grid) refuse(in, {"count"}, why);
  if (out.source != Source::files && out.source != Source::trace) refuse(in, {"file"}, why);
  if (out.source != Source::openb) refuse(in, {"list"}, why);
  // `count` does not cover named jobs, those that arrive by a curve, and kinds with a number of their own.
  const bool counted = std::any_of(out.kinds.begin(), out.kinds.end(), [](const JobKindSpec& kind) {
    return !kind.life.named && kind.life.rate.empty() && kind.jobs == 0;
  });
  if (((out.source == Source::mix && (counted || out.kinds.empty())) || out.source == Source::openb_like) &&
      out.count == 0)
    in.fail("", "[jobs] has no 'count'", "write e.g. count = 1000");
  if (out.source == Source::mix) {
    if (out.kinds.empty()) in.fail("", "[jobs] has no kinds of jobs", "write [[jobs.mix]] tables");
    if (!counted && out.count > 0) in.fail("count", "no kind of job is counted by 'count'", "remove it");
    double sum = 0;
    std::int64_t jobs = out.count;
    for (const JobKindSpec& kind : out.kinds) sum += kind.weight, jobs += kind.jobs;
    if (jobs > kMaxJobs) in.fail("mix", fmt::format("{} jobs in all", jobs), fmt::format("keep to {}", kMaxJobs));
    if (sum == 0 && counted) in.fail("mix", "the weights of the kinds add up to 0", "raise one");
    std::set<std::string_view> names;
    for (const JobKindSpec& kind : out.kinds)
      if (!names.insert(kind.name).second) in.fail("mix", "two kinds are called '" + kind.name + "'", "rename one");
  }
  if (out.source == Source::files && out.file.empty())
    in.fail("", "[jobs] has no 'file'", "name a JSON file with a list of jobs");
  if (out.source == Source::trace && out.file.empty())
    in.fail("", "[jobs] has no 'file'", "name a CSV file; `berth trace check` says what it may have");
  in.finish();
  return out;
}

}  // namespace berth::sim
