#include "sim/job_generator.h"

#include <fmt/format.h>

#include <set>

#include "berth/queue.h"
#include "model/gang.h"
#include "model/job.h"
#include "model/registration/validate_job.h"

namespace berth::sim {
namespace {

constexpr model::Duration kMinute = 60 * base::kSecond, kHour = 60 * kMinute;

bool hit(base::Random& random, std::int64_t percent) {
  // Always one draw, so that changing a percentage does not change other draws.
  return static_cast<std::int64_t>(random.below(100)) < percent;
}

const std::string& draw_value(base::Random& random, const RuleSpec& rule) {
  return rule.values[static_cast<std::size_t>(random.below(rule.values.size()))];
}

std::vector<model::Constraint> draw_constraints(base::Random& random, const std::vector<RuleSpec>& rules) {
  std::vector<model::Constraint> out;
  for (const RuleSpec& rule : rules) {
    const std::string& value = draw_value(random, rule);
    if (hit(random, rule.percent)) out.push_back({rule.attribute, value, rule.operand});
  }
  return out;
}

std::vector<model::Affinity> draw_affinities(base::Random& random, const std::vector<RuleSpec>& rules) {
  std::vector<model::Affinity> out;
  for (const RuleSpec& rule : rules) {
    const std::string& value = draw_value(random, rule);
    if (hit(random, rule.percent))
      out.push_back({rule.attribute, value, rule.operand, static_cast<std::int8_t>(rule.weight)});
  }
  return out;
}

/// Adds the blocks that a kind has only in a simulation. Its tasks come first in the group.
void add_life(const JobLife& life, model::TaskGroup& group) {
  if (life.update) group.update = life.update;
  if (life.restart) group.restart_policy = life.restart;
  if (life.reschedule) group.reschedule_policy = life.reschedule;
  if (life.migrate) group.migrate = life.migrate;
  if (life.disconnect) group.disconnect = life.disconnect;
  if (life.max_run_ns > 0) group.max_run_duration = life.max_run_ns;
  for (model::Task& task : group.tasks) {
    if (life.restart) task.restart_policy = life.restart;
    if (life.kill_timeout_ns >= 0) task.kill_timeout = life.kill_timeout_ns;
    if (life.shutdown_delay_ns > 0) task.shutdown_delay = life.shutdown_delay_ns;
  }
}

void ask_ports(base::Random& random, const JobKindSpec& kind, model::TaskGroup& group) {
  const std::int64_t ports = kind.ports.draw(random), by_number = kind.static_port.draw(random);
  if (ports + by_number == 0) return;
  model::NetworkResource network;
  network.mode = "host";
  for (std::int64_t p = 0; p < ports; ++p)
    network.dynamic_ports.push_back({.label = "p" + std::to_string(p), .host_network = "default"});
  if (by_number > 0)
    network.reserved_ports.push_back({.label = "static", .value = by_number, .host_network = "default"});
  group.networks.push_back(std::move(network));
}

/// Adds reserved cores, which run at the node's speed, and host volumes.
void ask_beyond_amounts(base::Random& random, const JobKindSpec& kind, model::TaskGroup& group) {
  if (const std::int64_t cores = kind.cores.draw(random); cores > 0) {
    group.tasks.front().resources->cores = cores;
    group.tasks.front().resources->cpu = 0;
  }
  for (const std::string& volume : kind.host_volumes)
    group.volumes[volume] = model::VolumeRequest{.name = volume, .type = "host", .source = volume};
}

model::Job draw_template(base::Random& random, const JobKindSpec& kind, std::int64_t index) {
  model::Job job = registered_job(kind.life.named ? kind.name : fmt::format("{}-t{}", kind.name, index), kind.type,
                                  kind.priority.draw(random));
  job.datacenters = kind.datacenters;
  job.namespace_ = kind.space;
  job.node_pool = kind.pool;
  job.constraints = draw_constraints(random, kind.constraints);
  if (kind.distinct_hosts) job.constraints.push_back({"", "true", "distinct_hosts"});
  job.affinities = draw_affinities(random, kind.affinities);
  for (const SpreadSpec& spec : kind.spreads) {
    if (!hit(random, spec.percent)) continue;
    model::Spread spread{.attribute = spec.attribute, .weight = static_cast<std::int8_t>(spec.weight), .targets = {}};
    for (const auto& [value, percent] : spec.targets)
      spread.targets.push_back({value, static_cast<std::uint8_t>(percent)});
    job.spreads.push_back(std::move(spread));
  }
  const std::int64_t groups = kind.groups.draw(random);
  for (std::int64_t g = 0; g < groups; ++g) {
    const bool per_node = kind.type == "system" || kind.type == "sysbatch";
    model::TaskGroup group =
        registered_group(kind.type, "g" + std::to_string(g), per_node ? 1 : kind.count.draw(random), kind.driver,
                         kind.cpu_mhz.draw(random), kind.memory_mb.draw(random), kind.disk_mb.draw(random));
    ask_ports(random, kind, group);
    ask_beyond_amounts(random, kind, group);
    for (const DeviceAskSpec& spec : kind.devices) {
      model::RequestedDevice ask{.name = spec.name,
                                 .count = static_cast<std::uint64_t>(spec.count.draw(random)),
                                 .constraints = draw_constraints(random, spec.constraints),
                                 .affinities = draw_affinities(random, spec.affinities)};
      if (hit(random, spec.percent)) group.tasks.front().resources->devices.push_back(std::move(ask));
    }
    const std::int64_t tasks = kind.tasks.draw(random);
    for (std::int64_t t = 1; t < tasks; ++t) {
      model::Task task = group.tasks.front();
      task.name += "-" + std::to_string(t);
      task.resources->devices.clear();
      task.resources->cores = 0;
      task.resources->cpu = kind.cpu_mhz.draw(random);
      task.resources->memory_mb = kind.memory_mb.draw(random);
      group.tasks.push_back(std::move(task));
    }
    add_life(kind.life, group);
    job.task_groups.push_back(std::move(group));
  }
  job.periodic = kind.life.periodic;
  job.parameterized_job = kind.life.parameterized;
  if (kind.life.update) job.update = *kind.life.update;
  if (kind.deadline_s) job.meta[strategy::kDeadlineKey] = fmt::format("{}s", kind.deadline_s->draw(random));
  if (kind.gang) {
    job.meta[model::kGangKey] = "all";
    if (!kind.gang->timeout.empty()) job.meta[model::kGangTimeoutKey] = kind.gang->timeout;
    if (!kind.gang->topology.empty()) job.meta[model::kGangTopologyKey] = kind.gang->topology;
  }
  return job;
}

/// Turns some arrivals into new versions of recently arrived jobs of their kind.
void draw_updates(const JobsSpec& spec, JobStream& stream, std::uint64_t seed) {
  constexpr std::size_t kLast = 32;
  base::Random random(seed, "updates");
  std::vector<std::vector<std::uint32_t>> last(spec.kinds.size());  // arrivals of new jobs, by kind
  std::vector<std::uint32_t> versions(stream.arrivals.size(), 0);
  for (std::uint32_t number = 0; number < stream.arrivals.size(); ++number) {
    JobArrival& arrival = stream.arrivals[number];
    const std::uint32_t kind = stream.kind_of[arrival.template_index];
    std::vector<std::uint32_t>& jobs = last[kind];
    if (spec.kinds[kind].update_percent > 0 && hit(random, spec.kinds[kind].update_percent) && !jobs.empty()) {
      arrival.renews = jobs[jobs.size() - 1 - random.below(std::min(kLast, jobs.size()))];
      arrival.version = ++versions[arrival.renews];
      arrival.template_index = stream.arrivals[arrival.renews].template_index;
    } else {
      jobs.push_back(number);
    }
  }
}

}  // namespace

model::Job registered_job(const std::string& id, const std::string& type, std::int64_t priority) {
  model::Job job;
  job.region = "global", job.namespace_ = "default", job.node_pool = "default";
  job.id = job.name = id;
  job.type = type;
  job.priority = priority;
  job.datacenters = {"*"};
  job.status = "pending";
  // Update blocks have max_parallel 0: no deployment, as in Nomad's own benchmark. With a deployment, every later
  // evaluation of the job would wait for health reports, which a replay does not send.
  return job;
}

model::TaskGroup registered_group(const std::string& type, const std::string& name, std::int64_t count,
                                  const std::string& driver, std::int64_t cpu_mhz, std::int64_t memory_mb,
                                  std::int64_t disk_mb) {
  const bool long_lived = type == "service" || type == "system";
  model::TaskGroup group;
  group.name = name;
  group.count = count;
  group.restart_policy =
      long_lived
          ? model::RestartPolicy{.attempts = 2, .interval = 30 * kMinute, .delay = 15 * base::kSecond, .mode = "fail"}
          : model::RestartPolicy{.attempts = 3, .interval = 24 * kHour, .delay = 15 * base::kSecond, .mode = "fail"};
  if (type == "service") {
    group.reschedule_policy = model::ReschedulePolicy{
        .delay = 30 * base::kSecond, .delay_function = "exponential", .max_delay = kHour, .unlimited = true};
    group.migrate = model::MigrateStrategy{.max_parallel = 1,
                                           .health_check = "checks",
                                           .min_healthy_time = 10 * base::kSecond,
                                           .healthy_deadline = 5 * kMinute};
  } else if (type == "batch") {
    group.reschedule_policy = model::ReschedulePolicy{
        .attempts = 1, .interval = 24 * kHour, .delay = 5 * base::kSecond, .delay_function = "constant"};
  }
  group.ephemeral_disk = model::EphemeralDisk{.size_mb = disk_mb};
  model::Task task;
  task.name = name;
  task.driver = driver;
  task.resources.emplace();
  task.resources->cpu = cpu_mhz, task.resources->memory_mb = memory_mb;
  task.restart_policy = group.restart_policy;
  task.kill_timeout = 5 * base::kSecond;
  task.log_config = model::LogConfig{.max_files = 10, .max_file_size_mb = 10};
  group.tasks.push_back(std::move(task));
  return group;
}

JobStream generate_jobs(const JobsSpec& spec, std::uint64_t seed) {
  JobStream out;
  base::Random templates(seed, "templates"), arrivals(seed, "jobs");
  std::vector<std::int64_t> index, first;
  std::vector<double> weights;
  for (const JobKindSpec& kind : spec.kinds) {
    index.push_back(static_cast<std::int64_t>(index.size()));
    first.push_back(static_cast<std::int64_t>(out.templates.size()));
    weights.push_back(kind.weight);
    for (std::int64_t i = 0; i < kind.templates; ++i)
      out.templates.push_back(std::make_shared<model::Job>(draw_template(templates, kind, i)));
    out.kind_of.insert(out.kind_of.end(), static_cast<std::size_t>(kind.templates),
                       static_cast<std::uint32_t>(out.kinds.size()));
    out.kinds.push_back(kind.name);
    if (kind.from_s > 0) {
      out.from_ns.resize(spec.kinds.size());
      out.from_ns[out.kinds.size() - 1] = static_cast<std::int64_t>(kind.from_s * 1e9);
    }
  }
  for (const JobKindSpec& kind : spec.kinds)
    out.single.insert(out.single.end(), static_cast<std::size_t>(kind.templates), kind.life.named);
  std::int64_t total = spec.count;
  for (const JobKindSpec& kind : spec.kinds) total += kind.jobs;
  out.arrivals.reserve(static_cast<std::size_t>(total));
  const auto add_arrival = [&](std::size_t k) {
    const JobKindSpec& kind = spec.kinds[k];
    JobArrival& arrival = out.arrivals.emplace_back();
    arrival.number = static_cast<std::uint32_t>(out.arrivals.size() - 1);
    arrival.template_index = static_cast<std::uint32_t>(
        first[k] + static_cast<std::int64_t>(arrivals.below(static_cast<std::uint64_t>(kind.templates))));
    if (kind.ends()) arrival.run_time_ns = kind.draw_run_ns(arrivals);
    arrival.fails = hit(arrivals, kind.fail_percent);
  };
  if (spec.count > 0) {
    const Quantity pick = Quantity::choices(index, weights);
    for (std::int64_t i = 0; i < spec.count; ++i) add_arrival(static_cast<std::size_t>(pick.draw(arrivals)));
  }
  for (std::size_t k = 0; k < spec.kinds.size(); ++k)
    for (std::int64_t i = 0; i < spec.kinds[k].jobs; ++i) add_arrival(k);
  draw_updates(spec, out, seed);
  return out;
}

std::shared_ptr<const model::Job> grid_job(int cell, std::uint32_t racks, std::int64_t allocs, bool spread) {
  auto job = std::make_shared<model::Job>(registered_job("grid-" + std::to_string(cell), "service", 50));
  job->datacenters = {"dc-1", "dc-2"};
  std::string half;
  for (std::uint32_t rack = 0; rack < racks / 2; ++rack) half += fmt::format("{}r{}", rack == 0 ? "" : ",", rack);
  job->constraints.push_back({"${meta.rack}", half, "set_contains_any"});
  if (spread) job->spreads.push_back({.attribute = "${meta.rack}", .weight = 0, .targets = {}});
  model::TaskGroup group = registered_group("service", "web", allocs, "exec", 6'000, 6'000, 150);
  group.reschedule_policy = model::ReschedulePolicy{
      .attempts = 2, .interval = 10 * kMinute, .delay = 5 * base::kSecond, .delay_function = "constant"};
  const model::Constraint consul{"${attr.consul.version}", ">= 1.8.0", "semver"};
  group.constraints.push_back(consul);
  group.tasks.front().constraints.push_back(consul);
  group.update = model::UpdateStrategy{};
  job->task_groups.push_back(std::move(group));
  return job;
}

std::string rule_problem(const model::Constraint& rule) {
  if (rule.operand != "regexp" && rule.operand != "version" && rule.operand != "semver") return "";
  const model::ErrorList errors = model::validate_constraint(rule);
  return errors.empty() ? "" : errors.items().front();
}

}  // namespace berth::sim
