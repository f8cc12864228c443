// Adapters from recorded vectors to berth: choosing victims.
#include <span>

#include "conform/compare.h"
#include "conform/vector.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "preempt/victims.h"
#include "rank/components.h"

namespace berth::conform {
namespace {

using json::Value;

/// Allocations and the candidates made from them.
struct Candidates {
  std::vector<model::Allocation> allocs;
  std::vector<model::FlatResources> use;
  std::vector<preempt::Candidate> list;
};

Result<Candidates, InputError> read_candidates(const Field& in) {
  Candidates out;
  const auto items = in["candidates"].items();
  out.allocs.resize(items.size());
  out.use.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    model::Allocation& alloc = out.allocs[i];
    if (auto read = from_json(items[i], alloc); !read) return tl::unexpected(read.error());
    preempt::Candidate& c = out.list.emplace_back();
    if (alloc.allocated_resources) {
      model::FlatResources& use = out.use[i] = model::flatten(*alloc.allocated_resources);
      c.cpu_mhz = use.cpu_mhz, c.memory_mb = use.memory_mb, c.disk_mb = use.disk_mb;
      c.cores = &use.cores;
      c.resources = &*alloc.allocated_resources;
    }
    c.has_job = alloc.job != nullptr;
    if (!alloc.job) continue;
    c.priority = alloc.job->priority;
    const model::TaskGroup* group = alloc.job->group(alloc.task_group);
    if (group && group->migrate) c.max_parallel = group->migrate->max_parallel;
    for (const Field& k : in["preempted_counts"].items())
      if (k["Namespace"].as_string() == alloc.namespace_ && k["JobID"].as_string() == alloc.job_id &&
          k["TaskGroup"].as_string() == alloc.task_group)
        c.preempted = k["count"].as_int();
  }
  return out;
}

model::FlatResources read_flat(const Field& v) {
  model::FlatResources out;
  out.cpu_mhz = v["CpuShares"].as_int(), out.memory_mb = v["MemoryMB"].as_int(), out.disk_mb = v["DiskMB"].as_int();
  for (const Field& core : v["ReservedCores"].items()) out.cores.push_back(static_cast<std::uint16_t>(core.as_int()));
  return out;
}

Outcome replay_preempt(const Vector& v) {
  auto candidates = read_candidates(v.in);
  if (!candidates) return Outcome::failed(candidates.error().line());
  const std::int64_t priority = v.in["job_priority"].as_int();
  const std::string& kind = v.in["kind"].as_string();
  preempt::Scratch scratch;
  preempt::Victims victims;
  if (kind == "task_group") {
    model::AllocatedResources ask;
    if (auto read = from_json(v.in["ask"], ask); !read) return Outcome::failed(read.error().line());
    preempt::choose_for_resources(priority, read_flat(v.in["remaining"]), model::flatten(ask), candidates->list,
                                  scratch, victims);
  } else if (kind == "network") {
    model::NetworkResource ask;
    if (auto read = from_json(v.in["ask"], ask); !read) return Outcome::failed(read.error().line());
    network::NodePorts ports;
    for (const auto& device : v.in["available_bandwidth"].members())
      ports.available.push_back({device.key, device.value.as_int()});
    network::NetworkIndex index;
    index.start(ports);
    for (const auto& device : v.in["used_bandwidth"].members()) {
      model::NetworkResource used;
      used.device = device.key;
      used.mbits = device.value.as_int();
      index.add_network(used);
    }
    preempt::choose_for_network(priority, ask, index, candidates->list, scratch, victims);
  } else {
    std::vector<model::NodeDevice> devices(v.in["devices"].size());
    for (std::size_t i = 0; i < devices.size(); ++i)
      if (auto read = from_json(v.in["devices"][i]["group"], devices[i]); !read)
        return Outcome::failed(read.error().line());
    rank::DeviceAccounter accounter(devices);
    for (std::size_t i = 0; i < devices.size(); ++i)
      for (const auto& use : v.in["devices"][i]["use_counts"].members())
        for (std::size_t n = 0; n < use.value.as_count(10'000); ++n)
          accounter.add(model::AllocatedDevice{devices[i].vendor, devices[i].type, devices[i].name, {use.key}});
    model::RequestedDevice ask;
    if (auto read = from_json(v.in["ask"], ask); !read) return Outcome::failed(read.error().line());
    match::Patterns patterns;
    if (!preempt::choose_for_device(priority, match::compile_device(ask), accounter, candidates->list, patterns,
                                    scratch, victims))
      return Outcome::failed("a NaN was compared");
  }
  Value got = Value::object();
  Value& ids = got.set("victims", Value::array());
  for (const std::uint32_t victim : victims) ids.push(candidates->allocs[victim].id);
  // A property of the recording: true if another candidate order gives the same.
  if (const auto any_order = v.out.find("same_in_any_order")) got.set("same_in_any_order", *any_order);
  return Outcome::from(compare(v.out, got, {.rule = "R-PREEMPT-401, 501, 601"}));
}

Outcome replay_distance(const Vector& v) {
  double distance;
  if (v.in.find("need_mbits") || v.in.find("use_mbits")) {
    distance = preempt::network_distance(v.in["need_mbits"].as_int(), v.in["use_mbits"].as_int());
  } else {
    const model::FlatResources use = read_flat(v.in["use"]);
    preempt::Candidate candidate;
    candidate.cpu_mhz = use.cpu_mhz, candidate.memory_mb = use.memory_mb, candidate.disk_mb = use.disk_mb;
    distance = preempt::distance(read_flat(v.in["need"]), candidate);
  }
  Value got = Value::object();
  got.set("distance", bits_text(distance));
  got.set("score", bits_text(distance + preempt::penalty(v.in["max_parallel"].as_int(), v.in["preempted"].as_int())));
  return Outcome::from(compare(v.out, got, {.rule = "R-PREEMPT-411"}));
}

Outcome replay_score(const Vector& v) {
  std::vector<std::int64_t> priorities;
  for (const Field& priority : v.in["priorities"].items()) priorities.push_back(priority.as_int());
  if (priorities.empty()) v.in["priorities"].fail("names no victims");
  const double net = rank::net_priority(priorities);
  Value got = Value::object();
  got.set("net_priority", bits_text(net));
  got.set("score", bits_text(rank::preemption_score(net)));
  Value expected = Value::object();
  for (const auto& member : v.out.members()) expected.set(member.key, same_nan(member.value));
  return Outcome::from(compare(expected, got, {.rule = "R-PREEMPT-701"}));
}

}  // namespace

std::span<const Component> preempt_components() {
  static constexpr Component kComponents[] = {
      {"preempt", replay_preempt}, {"preempt_distance", replay_distance}, {"preempt_score", replay_score}};
  return kComponents;
}

}  // namespace berth::conform
