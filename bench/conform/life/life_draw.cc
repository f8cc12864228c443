#include "conform/life/life_draw.h"

#include "base/json.h"
#include "base/time.h"
#include "model/computed_class.h"
#include "model/gang.h"
#include "model/job.h"

namespace berth::conform {

using base::kSecond;

model::SchedulerConfiguration draw_configuration(Draw& draw) {
  model::SchedulerConfiguration out;
  model::PreemptionConfig& preemption = out.preemption_config;
  preemption.system_scheduler_enabled = draw.chance(70);
  preemption.service_scheduler_enabled = draw.chance(60);
  preemption.batch_scheduler_enabled = draw.chance(40);
  preemption.sysbatch_scheduler_enabled = draw.chance(40);
  out.scheduler_algorithm = draw.chance(30) ? "spread" : "binpack";
  return out;
}

namespace {

model::NodeDevice draw_device(Draw& draw) {
  model::NodeDevice device;
  device.vendor = "nvidia", device.type = "gpu", device.name = draw.chance(70) ? "t4" : "a100";
  for (const char* id : {"gpu-0", "gpu-1"}) device.instances.emplace_back().id = id;
  for (model::DeviceInstance& instance : device.instances) instance.healthy = draw.chance(90);
  model::Attribute& memory = device.attributes["memory"].emplace();
  memory.int_value = draw.one_of<std::int64_t>({8, 16, 32}), memory.unit = "GiB";
  return device;
}

}  // namespace

model::Node draw_node(Draw& draw, std::uint64_t number) {
  model::Node node;
  node.id = draw.next_id();
  node.name = "n" + std::to_string(number);
  node.datacenter = draw.chance(80) ? "dc1" : "dc2";
  node.node_pool = "default";
  node.node_class = draw.chance(50) ? "a" : "b";
  node.attributes = {{"driver.exec", "1"}, {"nomad.version", "2.0.5"}, {"kernel.name", "linux"}};
  node.meta["rack"] = "r" + std::to_string(draw.below(3));
  node.status = "ready";
  node.scheduling_eligibility = "eligible";
  model::NodeResources& r = node.node_resources.emplace();
  model::Topology& topology = r.processors.emplace().topology.emplace();
  for (std::uint16_t core = 0; core < 2; ++core) topology.cores.push_back({.id = core, .base_speed = 1000});
  r.memory.memory_mb = draw.one_of<std::int64_t>({1024, 2048, 4096});
  r.disk.disk_mb = 10'000;
  const std::string ip = "10.0." + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1);
  model::NetworkResource& network = r.networks.emplace_back();
  network.mode = "host", network.device = "eth0", network.cidr = ip + "/32", network.ip = ip, network.mbits = 1000;
  if (draw.chance(40)) r.devices.push_back(draw_device(draw));
  if (draw.chance(60)) node.host_volumes["data"] = model::HostVolumeInfo{"data", "/srv/data", draw.chance(30), ""};
  model::NodeNetworkResource& host = r.node_networks.emplace().emplace_back();
  host.mode = "host", host.device = "eth0", host.speed = 1000;
  host.addresses.push_back({"ipv4", "default", ip, "", ""});
  node.computed_class = model::computed_class(node);
  node.create_index = node.modify_index = 5;
  return node;
}

void change_node(Draw& draw, model::Node& node) {
  model::NodeResources& r = *node.node_resources;
  switch (draw.below(4)) {
    case 0:
      node.meta["rack"] = "r" + std::to_string(draw.below(4));
      break;
    case 1:
      node.node_class = draw.one_of<const char*>({"a", "b", ""});
      break;
    case 2:
      r.memory.memory_mb += 512;  // never less, or running allocations would not fit
      break;
    default:
      if (r.devices.empty())
        r.devices.push_back(draw_device(draw));
      else
        r.devices[0].instances[draw.below(2)].healthy = draw.chance(50);
  }
  node.computed_class = model::computed_class(node);
}

model::ClusterState draw_cluster(Draw& draw) {
  model::ClusterState state;
  state.index = 10;
  state.scheduler_config = draw_configuration(draw);
  for (const char* name : {"default", "team"}) state.namespaces.emplace_back().name = name;
  const std::uint64_t count = draw.chance(10) ? 20 + draw.below(60) : 2 + draw.below(7);
  for (std::uint64_t i = 0; i < count; ++i) state.nodes.push_back(draw_node(draw, i));
  return state;
}

namespace {

void draw_rescheduling(Draw& draw, bool service, model::TaskGroup& group) {
  model::ReschedulePolicy& policy = group.reschedule_policy.emplace();
  policy.unlimited = service && draw.chance(70);
  policy.attempts = policy.unlimited ? 0 : static_cast<std::int64_t>(draw.below(3));
  policy.interval = 3600 * kSecond;
  policy.delay = static_cast<std::int64_t>(5 + draw.below(30)) * kSecond;
  policy.max_delay = 300 * kSecond;
  policy.delay_function = draw.one_of<const char*>({"constant", "exponential", "fibonacci"});
  if (draw.chance(40)) {
    model::DisconnectStrategy& disconnect = group.disconnect.emplace();
    disconnect.lost_after = 300 * kSecond;
    disconnect.replace = draw.chance(70);
    disconnect.reconcile =
        draw.one_of<const char*>({"best_score", "keep_original", "keep_replacement", "longest_running"});
  }
}

void draw_task(Draw& draw, model::TaskGroup& group) {
  model::Task& task = group.tasks.emplace_back();
  task.name = "t";
  task.driver = "exec";
  task.restart_policy = group.restart_policy;
  model::Resources& ask = task.resources.emplace();
  ask.memory_mb = draw.one_of<std::int64_t>({64, 256, 512});
  if (draw.chance(10))
    ask.cores = 1;
  else
    ask.cpu = draw.one_of<std::int64_t>({100, 300, 600});
  if (draw.chance(15)) {
    model::RequestedDevice& device = ask.devices.emplace_back();
    device.name = draw.one_of<const char*>({"gpu", "nvidia/gpu", "nvidia/gpu/t4"});
    device.count = 1 + draw.below(2);
    if (draw.chance(30)) device.constraints.push_back({"${device.attr.memory}", "10 GiB", ">="});
    if (draw.chance(30)) device.affinities.push_back({"${device.attr.memory}", "16 GiB", ">=", 60});
  }
  if (draw.chance(8)) {  // the old form, before group networks: bandwidth and ports per task
    model::NetworkResource& network = ask.networks.emplace_back();
    network.mbits = draw.one_of<std::int64_t>({100, 400, 700});
    if (draw.chance(60)) network.reserved_ports.push_back({.label = "admin", .value = 9090});
    if (draw.chance(40)) network.dynamic_ports.push_back({.label = "extra"});
  }
}

void draw_gang(Draw& draw, model::Job& job) {
  job.meta[model::kGangKey] = "all";
  if (draw.chance(50)) job.meta[model::kGangTimeoutKey] = "2m";
  if (draw.chance(50))
    job.meta[model::kGangTopologyKey] = draw.one_of<const char*>(
        {"same:meta.rack", "same:meta.rack:spread", "at-most:2:meta.rack", "at-most:2:node.class:spread"});
}

}  // namespace

std::shared_ptr<model::Job> draw_job(Draw& draw, const std::string& name_space, const std::string& id, bool large) {
  auto job = std::make_shared<model::Job>();
  job->region = "global";
  job->namespace_ = name_space;
  job->id = job->name = id;
  job->type = draw.one_of<const char*>({"service", "service", "service", "batch", "system", "sysbatch"});
  job->priority = draw.one_of<std::int64_t>({20, 50, 80});
  job->all_at_once = draw.chance(8);
  job->datacenters = {draw.chance(80) ? "*" : "dc1"};
  job->node_pool = "default";
  const bool service = job->type == "service", batch = job->type == "batch";
  const std::uint64_t groups = 1 + draw.below(2), count_below = large ? 60 : 6;
  for (std::uint64_t g = 0; g < groups; ++g) {
    model::TaskGroup& group = job->task_groups.emplace_back();
    group.name = g == 0 ? "web" : "db";
    group.count = service || batch ? static_cast<std::int64_t>(draw.below(count_below)) : 1;
    group.restart_policy.emplace().mode = "fail";
    group.ephemeral_disk.emplace().size_mb = 100;
    group.ephemeral_disk->sticky = draw.chance(20);
    if (service || batch) draw_rescheduling(draw, service, group);
    if (service) {
      group.migrate.emplace().max_parallel = 1;
      if (draw.chance(30)) group.spreads.push_back({"${meta.rack}", 50, {}});
    }
    if (draw.chance(15)) group.affinities.push_back({"${meta.rack}", "r0", "=", draw.one_of<std::int8_t>({50, -50})});
    if (draw.chance(8)) group.constraints.push_back({"", "", "distinct_hosts"});
    if (draw.chance(8))
      group.constraints.push_back({"${meta.rack}", draw.one_of<const char*>({"1", "3"}), "distinct_property"});
    if (draw.chance(10)) {
      model::VolumeRequest volume;
      volume.name = volume.source = "data", volume.type = "host", volume.read_only = draw.chance(50);
      group.volumes["data"] = volume;
    }
    if ((service || job->type == "system") && draw.chance(65)) {
      model::UpdateStrategy& update = group.update.emplace();
      update.max_parallel = static_cast<std::int64_t>(1 + draw.below(3));
      update.health_check = "task_states";
      update.progress_deadline = draw.chance(80) ? 600 * kSecond : 0;
      update.canary = draw.chance(40) ? static_cast<std::int64_t>(1 + draw.below(service ? 2 : 60)) : 0;
      update.auto_promote = update.canary > 0 && draw.chance(30);
    }
    if (draw.chance(30)) {
      model::NetworkResource& network = group.networks.emplace_back();
      network.mode = "host";
      if (draw.chance(50))
        network.dynamic_ports.push_back({.label = "http", .host_network = "default"});
      else
        network.reserved_ports.push_back(
            {.label = "http", .value = static_cast<std::int64_t>(8080 + draw.below(2)), .host_network = "default"});
    }
    draw_task(draw, group);
  }
  if (draw.has_gangs() && (service || batch) && draw.chance(30)) draw_gang(draw, *job);
  return job;
}

void change_job(Draw& draw, model::Job& job) {
  model::TaskGroup& group = job.task_groups[draw.below(job.task_groups.size())];
  switch (draw.below(7)) {
    case 0:
    case 1:
      if (job.type == "service" || job.type == "batch") group.count = static_cast<std::int64_t>(draw.below(8));
      break;
    case 2:
      group.tasks[0].env = json::Value::object();
      group.tasks[0].env.set("V", static_cast<std::uint64_t>(draw.below(1000)));
      break;
    case 3:
      group.tasks[0].resources->memory_mb = draw.one_of<std::int64_t>({64, 128, 256, 512});
      break;
    case 4:
      job.priority = draw.one_of<std::int64_t>({20, 50, 80});
      break;
    case 5:
      group.constraints.clear(), group.affinities.clear();
      if (draw.chance(50)) group.constraints.push_back({"${node.class}", "a", "="});
      break;
    default:
      group.restart_policy->attempts = static_cast<std::int64_t>(draw.below(5));
      group.tasks[0].kill_timeout = static_cast<std::int64_t>(1 + draw.below(9)) * kSecond;
  }
}

}  // namespace berth::conform
