// Selects of random clusters and jobs: the fast path compared with the general one, exhaustive mode with a simple
// reference, and no heap allocation per placement.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "model/job.h"
#include "plan/apply.h"
#include "sched/check_memory.h"
#include "sched/memory_access.h"
#include "select_world.h"
#include "support/heap_count.h"
#include "support/sanitized.h"

namespace berth::sched {
namespace {

TEST(Select, PlainAndGeneralPathDecideAlike) {  // R-FEAS-4xx, R-RANK-4xx, 8xx, 10xx, R-PREEMPT-105
  std::size_t evicted = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(100, 20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    // With preemption on, jobs of rising priority fill small clusters: first passes that find nothing are skipped.
    const bool preempts = seed % 2 == 0;
    World world(random, static_cast<std::uint32_t>(pick(random, 1, preempts ? 40 : 300)), 7, preempts);
    Scratch plain_scratch, general_scratch;
    GenericScheduler plain(plain_scratch), general(general_scratch);
    general.set_sources(EnabledSources::none());
    // With all quirks, with a random subset, or without any.
    model::Quirks& quirks = plain_scratch.options.quirks;
    if (seed % 4 >= 2) quirks = model::Quirks::none();
    if (seed % 3 == 2)
      for (const model::QuirkInfo& quirk : model::kQuirks) quirks.*quirk.member = pick(random, 0, 1) != 0;
    general_scratch.options.quirks = quirks;
    const bool exhaustive = seed % 5 == 0;
    // R-STRAT-007: a strategy scores whole blocks of nodes on one path and single nodes on the other.
    const auto ranker = strategy::make_ranker(BinPack{});
    if (seed % 3 == 1) plain_scratch.strategy_fit.use(ranker->fit());
    if (seed % 7 == 1) general_scratch.strategy_fit.use(ranker->fit());
    plain.set_exhaustive(exhaustive);
    general.set_exhaustive(exhaustive);
    for (int round = 0; round < (preempts ? 5 : 3); ++round) {
      world.ask(random, random_job(random, "job" + std::to_string(round), pick(random, 0, 1) != 0, pick(random, 1, 200),
                                   preempts ? 10 + 20 * round : 50));
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      world.decide(plain, snapshot, seed, a);
      world.decide(general, snapshot, seed, b);
      ASSERT_EQ(decisions({snapshot, plain_scratch}, a, world.eval),
                decisions({snapshot, general_scratch}, b, world.eval));
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
      // R-PREEMPT-403, 406: a job may evict too little; never without these quirks.
      EXPECT_TRUE(applied.full() || (preempts && (quirks.own_use_ignored || quirks.needless_victim)));
      evicted += applied.stopped;
    }
  }
  EXPECT_GT(evicted, 0U);
}

TEST(Select, AmountsAloneDecideIfTheRequestedPortsAreFree) {  // R-RANK-602 to 618, R-FEAS-305, 1103, 1104
  std::size_t with_ports = 0, by_number = 0, with_volumes = 0, by_columns = 0, failed = 0, ended = 0, collisions = 0,
              again = 0, again_for_devices = 0, again_for_cores = 0, again_for_volumes = 0, again_for_hosts = 0,
              again_for_groups = 0, again_for_properties = 0, whole = 0, few = 0, with_devices = 0, by_cores = 0,
              short_of_cores = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(120, 4); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Random of_cores(seed + 1000), of_groups(seed + 2000);
    // Few dynamic ports, so that they run out on some nodes; some are reserved.
    std::vector<model::Node> nodes;
    const bool alike = seed % 4 >= 2;  // nodes of a class are equal
    const auto with_networks = [&](model::Node& node) {
      model::NodeResources& resources = *node.node_resources;
      resources.min_dynamic_port = 20000, resources.max_dynamic_port = 20000 + pick(random, 3, 60);
      model::NodeNetworkResource& network = resources.node_networks.emplace().emplace_back();
      network.mode = "host", network.device = "eth0";
      for (const char* alias : {"default", "public"}) {
        if (*alias == 'p' && (alike || pick(random, 0, 2) != 0)) continue;
        model::NodeNetworkAddress& address = network.addresses.emplace_back();
        address.alias = alias, address.address = *alias == 'p' ? "10.0.0.2" : "10.0.0.1", address.family = "ipv4";
        if (pick(random, 0, 4) == 0) address.reserved_ports = "20001-20002,8080";
      }
      resources.devices.clear();
      for (const char* name : {"a100", "t4"}) {
        if (alike ? node.meta.at("rack") < "r3" : pick(random, 0, 1) != 0) continue;
        model::NodeDevice& device = resources.devices.emplace_back();
        device.vendor = std::string("nvidia"), device.type = std::string("gpu"), device.name = std::string(name);
        device.attributes["memory"] = model::Attribute{.int_value = *name == 'a' ? 40 : 16};
        for (std::int64_t i = alike ? 4 : pick(random, 1, 5); i > 0; --i)
          device.instances.push_back({name + std::to_string(i), alike || pick(random, 0, 5) != 0, "", {}});
      }
      node.host_volumes.clear();
      if (pick(random, 0, 2) != 0)
        node.host_volumes["data"] = model::HostVolumeInfo{.name = "data",
                                                          .path = "/srv",
                                                          .read_only = pick(random, 0, 3) == 0,
                                                          .id = pick(random, 0, 9) == 0 ? "of the state" : ""};
      if (pick(random, 0, 30) == 0) node.reserved_resources.emplace().networks.reserved_host_ports = "no port";
      if (seed % 2 == 0) return;
      std::vector<model::Core>& cores = resources.processors->topology->cores;
      cores.clear();
      for (std::int64_t id = pick(of_cores, 0, 6); id > 0; --id)
        cores.push_back({.id = static_cast<std::uint16_t>(cores.size() * 2),
                         .disable = pick(of_cores, 0, 5) == 0,
                         .base_speed = static_cast<std::uint64_t>(pick(of_cores, 1, 3) * 500)});
      if (!cores.empty() && pick(of_cores, 0, 5) == 0) {
        if (!node.reserved_resources) node.reserved_resources.emplace();
        node.reserved_resources->cpu.reserved_cpu_cores = {cores.back().id};
      }
    };
    const auto count = static_cast<std::uint32_t>(pick(random, 2, 40));
    for (std::uint32_t i = 0; i < count; ++i) with_networks(nodes.emplace_back(random_node(random, i, 5, alike)));
    World world(random, 0, 1);
    model::ClusterState state;
    state.nodes = nodes;
    state.index = 1000;
    const bool preempts = seed % 3 == 1;
    state.scheduler_config.emplace().preemption_config = {false, false, preempts, preempts};
    world.store.load(state);
    Scratch scratch, general_scratch;
    if (seed % 3 == 0) scratch.options.quirks = general_scratch.options.quirks = model::Quirks::none();
    GenericScheduler scheduler(scratch), general(general_scratch);
    general.set_sources(EnabledSources::none());
    for (GenericScheduler* each : {&scheduler, &general}) each->set_exhaustive(seed % 5 == 0);
    const auto ranker = strategy::make_ranker(BinPack{});  // R-STRAT-007: whole blocks of nodes by one call
    if (seed % 4 == 1) scratch.strategy_fit.use(ranker->fit());
    std::vector<std::pair<model::Evaluation, EvalFacts>> waiting;  // R-CTRL-801: waiting for room
    const auto decide = [&](int round) {
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      IdStream ids_a(seed), ids_b(seed);
      const std::uint64_t options = scratch.source_counts.options;
      const auto remembered = [&] {
        return scratch.source_counts.selects[static_cast<std::size_t>(SourceKind::none_fits)] +
               scratch.source_counts.selects[static_cast<std::size_t>(SourceKind::few_fit)];
      };
      const std::uint64_t before = remembered();
      scheduler.process(snapshot, world.facts, rank::OrderProvider::nomad, ids_a, a);
      general.process(snapshot, world.facts, rank::OrderProvider::nomad, ids_b, b);
      ASSERT_EQ(decisions({snapshot, scratch}, a, world.eval), decisions({snapshot, general_scratch}, b, world.eval))
          << "round " << round;
      ASSERT_EQ(a.port_collision_events, b.port_collision_events) << "round " << round;
      ASSERT_EQ(a.reblocked, b.reblocked) << "round " << round;
      ASSERT_EQ(a.plan.deployment_ids, b.plan.deployment_ids) << "round " << round;
      ASSERT_EQ(waits_for(a), waits_for(b)) << "round " << round;
      ASSERT_EQ(a.eligibility.escaped, b.eligibility.escaped) << "round " << round;
      ASSERT_EQ(a.eligibility.missing_resources, b.eligibility.missing_resources) << "round " << round;
      failed += a.any_failed(), collisions += a.port_collision_events;
      const auto& asked_by = snapshot.jobs.versions[snapshot.jobs.keys[world.facts.job].current];
      const tables::CompiledGroup& asked = asked_by->groups.front();
      if (asked.has_host_volumes) again_for_volumes += remembered() - before;
      if (asked.distinct_hosts || asked_by->distinct_hosts) again_for_hosts += remembered() - before;
      if (!asked_by->distinct_properties.empty() || !asked.distinct_properties.empty())
        again_for_properties += remembered() - before;
      if (asked_by->groups.size() > 1) again_for_groups += remembered() - before;
      if (asked.has_devices) again_for_devices += remembered() - before;
      if (asked.has_cores) again_for_cores += remembered() - before;
      if (asked.has_cores) {
        by_cores += !a.plan.allocs.empty() && scratch.source_counts.options == options;
        short_of_cores += a.any_failed() && scratch.source_counts.options == options;
      }
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
      if (a.any_failed()) waiting.emplace_back(world.eval, world.facts);
    };
    for (int round = 0; round < 24; ++round) {
      if (!waiting.empty() && pick(random, 0, 2) != 0) {  // retry one of them, more often than allocations end
        std::tie(world.eval, world.facts) = waiting[random() % waiting.size()];
        world.facts.id_text = world.eval.id;
        world.facts.blocked = pick(random, 0, 3) != 0;
        if (pick(random, 0, 3) == 0)
          world.store.set_node_state(tables::NodeRow(random() % count),
                                     pick(random, 0, 1) ? tables::NodeStatus::ready : tables::NodeStatus::down,
                                     pick(random, 0, 3) != 0, false, world.store.index() + 1);
        if (const std::size_t allocs = world.store.current().allocs.size(); allocs > 0 && pick(random, 0, 2) == 0)
          world.store.set_client_status(tables::AllocRow(random() % allocs), tables::Client::complete,
                                        world.store.index() + 1);
        decide(round);
        world.facts.blocked = true;  // and once more, on a state with few changes or none
        if (const std::size_t allocs = world.store.current().allocs.size(); allocs > 0 && pick(random, 0, 1) == 0)
          world.store.set_client_status(tables::AllocRow(random() % allocs), tables::Client::complete,
                                        world.store.index() + 1);
        decide(round);
        continue;
      }
      auto asked = std::make_shared<model::Job>(
          *random_job(random, "job" + std::to_string(round % 12), pick(random, 0, 2) == 0, pick(random, 1, 30)));
      model::TaskGroup& group = asked->task_groups.front();
      if (pick(random, 0, 3) == 0)  // R-FEAS-1313
        (pick(random, 0, 1) == 0 ? asked->constraints.emplace_back() : group.constraints.emplace_back()).operand =
            "distinct_hosts";
      if (const std::int64_t ports = pick(random, 0, 3); ports > 0) {
        model::NetworkResource& network = group.networks.emplace_back();
        network.mode = "host";
        for (std::int64_t i = 0; i < ports; ++i)
          network.dynamic_ports.emplace_back() = {.label = "p" + std::to_string(i), .host_network = "default"};
        if (pick(random, 0, 5) == 0) network.dynamic_ports.front().host_network = "public";
        if (pick(random, 0, 2) == 0) {
          constexpr std::int64_t kValues[] = {8080, 8081, 9000, 20'001, 20'005};
          for (std::int64_t i = pick(random, 1, 2); i > 0; --i)
            network.reserved_ports.push_back({.label = "static" + std::to_string(i),
                                              .value = kValues[random() % std::size(kValues)],
                                              .host_network = pick(random, 0, 9) == 0 ? "public" : "default",
                                              .ignore_collision = pick(random, 0, 9) == 0});
          if (pick(random, 0, 1) == 0) network.dynamic_ports.clear();
          ++by_number;
        }
        ++with_ports;
      }
      if (pick(random, 0, 3) == 0) {
        std::vector<model::RequestedDevice>& requests = group.tasks.front().resources->devices;
        for (std::int64_t i = pick(random, 0, 4) == 0 ? 2 : 1; i > 0; --i) {
          model::RequestedDevice& request = requests.emplace_back();
          request.name = pick(random, 0, 1) == 0 ? "gpu" : "nvidia/gpu/t4";
          request.count = static_cast<std::uint64_t>(pick(random, 1, 3));
          if (pick(random, 0, 3) == 0) {
            model::Constraint& constraint = request.constraints.emplace_back();
            constraint.ltarget = "${device.attr.memory}", constraint.operand = ">", constraint.rtarget = "20";
          }
          if (pick(random, 0, 5) == 0) {
            model::Constraint& constraint = request.constraints.emplace_back();
            constraint.ltarget = "${device.ids}", constraint.operand = "set_contains_any",
            constraint.rtarget = "t41,a1001";
          }
          if (pick(random, 0, 5) == 0) {
            model::Affinity& affinity = request.affinities.emplace_back();
            affinity.ltarget = "${device.attr.memory}", affinity.operand = "<", affinity.rtarget = "20";
            affinity.weight = 60;
          }
        }
        ++with_devices;
      }
      if (seed % 2 != 0 && pick(of_cores, 0, 2) == 0) {
        model::Task& task = group.tasks.front();
        task.resources->cores = pick(of_cores, 1, 3);
        if (pick(of_cores, 0, 3) == 0) {  // another group that shares the remaining cpu, or has cores as well
          model::Task beside = task;
          beside.name = "beside";
          beside.resources->devices.clear();
          beside.resources->cores = pick(of_cores, 0, 1);
          if (pick(of_cores, 0, 1) == 0) beside.lifecycle.emplace().hook = "prestart";
          group.tasks.push_back(beside);
        }
      }
      if (pick(random, 0, 3) == 0) {
        model::VolumeRequest& volume = group.volumes["v"].emplace();
        volume.name = "v", volume.type = "host", volume.source = "data", volume.read_only = pick(random, 0, 1) == 0;
        volume.sticky = pick(random, 0, 9) == 0, volume.per_alloc = pick(random, 0, 9) == 0;
        ++with_volumes;
      }
      if (pick(of_groups, 0, 3) == 0) {  // R-FEAS-1401
        auto& constraint = pick(of_groups, 0, 1) == 0 ? asked->constraints.emplace_back()
                                                      : asked->task_groups.front().constraints.emplace_back();
        constraint.operand = "distinct_property", constraint.ltarget = "${meta.rack}";
        constraint.rtarget = std::to_string(pick(of_groups, 1, 3));
      }
      // R-FEAS-309, 410: verdicts on classes and networks pass from one group to the next
      if (pick(of_groups, 0, 3) == 0) {
        model::TaskGroup second = asked->task_groups.front();
        second.name = "second";
        second.count = pick(of_groups, 1, 12);
        second.tasks.front().resources->cpu = 100 * pick(of_groups, 1, 30);
        if (pick(of_groups, 0, 1) == 0) second.networks.clear();
        if (pick(of_groups, 0, 1) == 0) second.tasks.front().resources->devices.clear();
        if (pick(of_groups, 0, 2) == 0) {
          model::Constraint& constraint = second.constraints.emplace_back();
          constraint.ltarget = "${meta.rack}", constraint.operand = "!=", constraint.rtarget = "r1";
        }
        asked->task_groups.push_back(std::move(second));
      }
      world.ask(random, asked);
      decide(round);
      const std::size_t allocs = world.store.current().allocs.size();
      for (std::int64_t i = pick(random, 0, 6); allocs > 0 && i > 0; --i, ++ended)
        world.store.set_client_status(tables::AllocRow(random() % allocs), tables::Client::complete,
                                      world.store.index() + 1);
      if (pick(random, 0, 7) != 0) continue;
      // A node registers again with other addresses and reserved ports, which may conflict with its allocations.
      model::Node& changed = nodes[random() % nodes.size()];
      with_networks(changed);
      if (!alike && pick(random, 0, 1) != 0) {  // not part of the class
        auto& driver = changed.drivers["exec"].emplace();
        driver.detected = true, driver.healthy = pick(random, 0, 1) != 0;
      }
      if (seed % 7 == 3) changed.meta["rack"] = "r" + std::to_string(pick(random, 0, 4));  // the class becomes stale
      world.store.begin_commit(world.store.index() + 1).upsert_node(changed);
    }
    again += scratch.source_counts.selects[static_cast<std::size_t>(SourceKind::none_fits)];
    whole += scratch.source_counts.selects[static_cast<std::size_t>(SourceKind::failed_attempt)];
    few += scratch.source_counts.selects[static_cast<std::size_t>(SourceKind::few_fit)];
    by_columns += scratch.source_counts.selects[static_cast<std::size_t>(SourceKind::columns)];
  }
  EXPECT_GE(again, testing::rounds(10, 100));
  EXPECT_GE(again_for_devices, testing::rounds(10, 10));
  EXPECT_GE(again_for_cores, testing::rounds(10, 10));
  EXPECT_GE(again_for_volumes, testing::rounds(10, 10));
  EXPECT_GE(again_for_hosts, testing::rounds(10, 10));
  EXPECT_GE(again_for_groups, testing::rounds(10, 10));
  EXPECT_GE(again_for_properties, testing::rounds(10, 10));
  EXPECT_GE(few, testing::rounds(10, 100));
  EXPECT_GE(whole, testing::rounds(5, 100));
  EXPECT_GT(with_ports, 0U);
  EXPECT_GT(with_devices, 0U);
  EXPECT_GE(by_cores, testing::rounds(10, 5));
  EXPECT_GE(short_of_cores, testing::rounds(5, 5));
  EXPECT_GT(by_number, 0U);
  EXPECT_GT(with_volumes, 0U);
  EXPECT_GT(by_columns, 100U);
  EXPECT_GT(failed, 0U);
  EXPECT_GT(ended, 0U);
  EXPECT_GT(collisions, 0U);
}

TEST(Select, SkippingNodesThatEvictionCannotFreeChangesNothing) {  // R-PREEMPT-201 to 204, 403 to 407, 701 to 703
  std::size_t evicted = 0, several = 0, failed = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(80, 20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    model::ClusterState state;
    model::SchedulerConfiguration& config = state.scheduler_config.emplace();
    config.preemption_config = {false, false, true, true};
    config.scheduler_algorithm = seed % 3 == 0 ? "spread" : "binpack";
    const auto nodes = static_cast<std::uint32_t>(pick(random, 5, 90));
    for (std::uint32_t i = 0; i < nodes; ++i) {
      state.nodes.push_back(random_node(random, i, 7, true));
      if (seed % 4 == 0 && i % 9 == 2) state.nodes.back().node_max_allocs = pick(random, 1, 4);
    }
    state.index = random() % 100000;
    World world(random, 0, 1);
    world.store.load(state);
    Scratch scratch, general_scratch;
    GenericScheduler scheduler(scratch), general(general_scratch);
    general.set_sources(EnabledSources::none());
    const bool exhaustive = seed % 2 == 0;
    scheduler.set_exhaustive(exhaustive);
    general.set_exhaustive(exhaustive);
    // Sizes that differ lead to many ties or few. The last jobs need several victims, or find no node large enough.
    const std::int64_t sizes = pick(random, 1, 4), priorities = pick(random, 1, 10);
    // In every third round, about half of the allocations hold ports.
    const auto maybe_port = [&](model::TaskGroup& group) {
      if (seed % 3 != 1 || pick(random, 0, 1) == 0) return;
      model::NetworkResource network;
      network.mode = "host";
      network.dynamic_ports.emplace_back().label = "http";
      if (pick(random, 0, 5) == 0) network.reserved_ports.emplace_back() = {.label = "admin", .value = 8080};
      group.networks.push_back(network);
    };
    for (int round = 0; round < 22; ++round) {
      const bool fills = round < 14;
      const std::int64_t priority = fills ? pick(random, 1, priorities) * 5 : 60 + pick(random, 0, 40);
      auto asked = std::make_shared<model::Job>(
          *random_job(random, "job" + std::to_string(round), false, fills ? nodes : pick(random, 1, 4), priority));
      asked->type = "service";
      model::TaskGroup& group = asked->task_groups.front();
      if (pick(random, 0, 3) != 0) group.affinities.clear();
      maybe_port(group);
      group.tasks.front().resources->cpu = fills ? 400 * pick(random, 1, sizes) : 500 * pick(random, 1, 13);
      group.tasks.front().resources->memory_mb = fills ? 256 : 64 * pick(random, 1, 100);
      world.ask(random, asked);
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      world.decide(scheduler, snapshot, seed, a);
      world.decide(general, snapshot, seed, b);
      ASSERT_EQ(decisions({snapshot, scratch}, a, world.eval), decisions({snapshot, general_scratch}, b, world.eval))
          << "round " << round;
      ASSERT_EQ(a.port_collision_events, b.port_collision_events) << "round " << round;
      failed += !fills && a.any_failed();
      several += a.plan.stops.size() > a.plan.allocs.size();
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
      evicted += applied.stopped;
    }
  }
  EXPECT_GT(evicted, testing::rounds(100, 5));
  EXPECT_GT(several, testing::rounds(10, 20));
  EXPECT_GT(failed, testing::rounds(10, 20));
}

/// Waiting jobs are retried after small changes, on nodes where eviction may make room: of devices, ports, cores, and
/// amounts. Some have equal requests, at the same priority or another.
TEST(Select, RetriesThatMayEvictDecideAlike) {  // R-PREEMPT-101 to 109, R-FEAS-1605
  std::size_t again = 0, evicted = 0, placed_again = 0, attempts_again = 0, shared = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(60, 15); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    model::ClusterState state;
    state.scheduler_config.emplace().preemption_config = {false, false, true, true};
    const auto nodes = static_cast<std::uint32_t>(pick(random, 8, 60));
    const bool alike = seed % 3 != 0;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      model::NodeResources& resources = *state.nodes.emplace_back(random_node(random, i, 6, alike)).node_resources;
      resources.min_dynamic_port = 20000, resources.max_dynamic_port = 20003;
      model::NodeNetworkAddress& address =
          resources.node_networks.emplace().emplace_back(model::NodeNetworkResource{}).addresses.emplace_back();
      resources.node_networks->front().mode = "host", resources.node_networks->front().device = "eth0";
      address.alias = "default", address.address = "10.0.0.1", address.family = "ipv4";
      if (alike ? state.nodes.back().meta.at("rack") > "r3" : i % 4 == 3) continue;
      model::NodeDevice& device = resources.devices.emplace_back();
      device.vendor = std::string("nvidia"), device.type = std::string("gpu"), device.name = std::string("a100");
      for (std::size_t g = 0; g < 4; ++g) device.instances.push_back({"g" + std::to_string(g), true, "", {}});
    }
    state.index = 1000;
    World world(random, 0, 1);
    world.store.load(state);
    OtherWay fast(model::Quirks{}), general(model::Quirks{});
    if (seed % 7 == 0) fast.scratch.options.quirks = general.scratch.options.quirks = model::Quirks::none();
    general.scheduler.set_sources(EnabledSources::none());
    const auto& by_source = fast.scratch.source_counts.selects;
    std::vector<std::pair<model::Evaluation, EvalFacts>> waiting;
    std::vector<std::shared_ptr<const model::Job>> asked_before;
    const auto decide = [&](bool retry) {
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      const std::uint64_t general_before = by_source[static_cast<std::size_t>(SourceKind::general)];
      world.decide(fast.scheduler, snapshot, seed, a);
      world.decide(general.scheduler, snapshot, seed, b);
      ASSERT_EQ(decisions({snapshot, fast.scratch}, a, world.eval),
                decisions({snapshot, general.scratch}, b, world.eval));
      ASSERT_EQ(a.port_collision_events, b.port_collision_events);
      ASSERT_EQ(waits_for(a), waits_for(b));
      ASSERT_EQ(a.reblocked, b.reblocked);
      for (const std::string& problem : check_worker_memory(snapshot, fast.scratch)) FAIL() << problem;
      // The evicting pass failed, and another source than the general one answered it.
      again += a.any_failed() && by_source[static_cast<std::size_t>(SourceKind::general)] == general_before;
      evicted += a.plan.stops.size(), placed_again += retry && !a.plan.allocs.empty();
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
      if (a.any_failed() && !retry) waiting.emplace_back(world.eval, world.facts);
    };
    for (int round = 0; round < 40; ++round) {
      const bool fills = round < 14;
      if (!fills && !waiting.empty() && pick(random, 0, 3) != 0) {
        std::tie(world.eval, world.facts) = waiting[random() % waiting.size()];
        for (int times = 0; times < 3; ++times) {
          if (times == 2) std::tie(world.eval, world.facts) = waiting[random() % waiting.size()];
          world.facts.id_text = world.eval.id;
          world.facts.blocked = true;
          const std::size_t allocs = world.store.current().allocs.size();
          for (std::int64_t i = pick(random, 0, 2); allocs > 0 && i > 0; --i)
            world.store.set_client_status(tables::AllocRow(random() % allocs), tables::Client::complete,
                                          world.store.index() + 1);
          if (pick(random, 0, 5) == 0)
            world.store.set_node_state(tables::NodeRow(random() % nodes),
                                       pick(random, 0, 2) ? tables::NodeStatus::ready : tables::NodeStatus::down, true,
                                       false, world.store.index() + 1);
          decide(true);
        }
        continue;
      }
      auto asked = std::make_shared<model::Job>(*random_job(random, "job" + std::to_string(round),
                                                            pick(random, 0, 5) == 0, fills ? nodes : pick(random, 1, 3),
                                                            pick(random, fills ? 2 : 1, fills ? 6 : 8) * 10));
      model::TaskGroup& group = asked->task_groups.front();
      model::Resources& resources = *group.tasks.front().resources;
      resources.cpu = fills ? 600 : 100 * pick(random, 5, 60);
      if (pick(random, 0, 1) == 0) {
        model::RequestedDevice& request = resources.devices.emplace_back();
        request.name = "gpu", request.count = static_cast<std::uint64_t>(pick(random, 1, fills ? 2 : 4));
      }
      if (pick(random, 0, 2) == 0) {
        model::NetworkResource& network = group.networks.emplace_back();
        network.mode = "host";
        network.dynamic_ports.emplace_back().label = "http";
        if (pick(random, 0, 1) == 0) network.reserved_ports.emplace_back() = {.label = "admin", .value = 8080};
      }
      if (pick(random, 0, 4) == 0) {  // R-FEAS-410: the second group uses the verdicts of the first
        model::TaskGroup second = group;
        second.name = "second";
        second.tasks.front().resources->cpu = 100 * pick(random, 1, 60);
        asked->task_groups.push_back(std::move(second));
      }
      if (!fills && !asked_before.empty() && pick(random, 0, 1) == 0) {
        asked = std::make_shared<model::Job>(*asked_before[random() % asked_before.size()]);
        asked->id = asked->name = "job" + std::to_string(round);
        if (pick(random, 0, 2) == 0) asked->priority = pick(random, 1, 8) * 10;
        if (pick(random, 0, 1) == 0) asked->task_groups.front().count = pick(random, 1, 3);  // a separate list
      }
      if (!fills) asked_before.push_back(asked);
      world.ask(random, asked);
      decide(false);
    }
    attempts_again += by_source[static_cast<std::size_t>(SourceKind::failed_attempt)];
    for (const AskTable& table : MemoryAccess::tables(fast.scratch.by_state.ask_tables)) {
      const auto jobs = std::ranges::count_if(
          MemoryAccess::retries(fast.scratch.by_state.retries),
          [&](const auto& retry) { return retry.second.table == table.key && table.key.evicts(); });
      shared += jobs > 1;
    }
  }
  EXPECT_GT(attempts_again, testing::rounds(100, 20));
  EXPECT_GT(shared, testing::rounds(10));
  EXPECT_GT(again, testing::rounds(100, 20));
  EXPECT_GT(evicted, testing::rounds(100, 20));
  EXPECT_GT(placed_again, testing::rounds(10, 1));
}

TEST(Select, TheIndexAgreesWithAPassOverAllNodes) {
  std::size_t deferred = 0, failed = 0, evicted = 0, replaced = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const bool preempts = seed % 3 == 0;
    World world(random, static_cast<std::uint32_t>(pick(random, 60, preempts ? 200 : 600)), 7, preempts, true);
    Scratch scratch, plain_scratch;
    GenericScheduler scheduler(scratch), plain(plain_scratch);
    scheduler.set_exhaustive(true);
    scheduler.set_defer_metrics(true);
    plain.set_exhaustive(true);
    const auto ranker = strategy::make_ranker(BinPack{});
    // R-STRAT-007: not by the index, with the same decisions
    if (seed % 5 == 1) plain_scratch.strategy_fit.use(ranker->fit());
    for (int round = 0; round < 12; ++round) {
      // Sometimes a job is submitted again, larger or changed: its allocations exist, and some are replaced.
      const std::string id = "job" + std::to_string(pick(random, 0, 8));
      auto asked = std::make_shared<model::Job>(
          *random_job(random, id, false, pick(random, 1, 9), 10 + 10 * pick(random, 0, 8)));
      if (pick(random, 0, 2) != 0) asked->task_groups.front().affinities.clear();
      if (round % 2 == 0) {  // few or no nodes are large enough
        asked->task_groups.front().tasks.front().resources->cpu = 7500;
        asked->task_groups.front().tasks.front().resources->memory_mb = 1024 * pick(random, 6, 8);
      }
      asked->type = "service";
      world.ask(random, asked);
      if (pick(random, 0, 5) == 0)
        world.store.set_node_state(static_cast<tables::NodeRow>(pick(random, 0, 59)), tables::NodeStatus::ready,
                                   pick(random, 0, 1) != 0, false, world.store.index() + 1);
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      world.decide(scheduler, snapshot, seed, a, rank::OrderProvider::identity);
      world.decide(plain, snapshot, seed, b, rank::OrderProvider::identity);
      for (const PlannedAlloc& alloc : a.plan.allocs) deferred += alloc.metrics.deferred;
      failed += a.any_failed();
      replaced += a.plan.stops.size();
      scheduler.complete_metrics(world.facts, rank::OrderProvider::identity, a);
      ASSERT_EQ(decisions({snapshot, scratch}, a, world.eval), decisions({snapshot, plain_scratch}, b, world.eval))
          << "round " << round;
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
      evicted += applied.stopped;
    }
  }
  EXPECT_GT(deferred, 100U);
  EXPECT_GT(failed, 0U);
  EXPECT_GT(evicted, 0U);
  EXPECT_GT(replaced, 0U);
}

TEST(Select, ExhaustiveNeverScoresWorseThanSampled) {
  for (std::uint64_t seed = 1; seed <= testing::rounds(40, 4); ++seed) {
    Random random(seed);
    World world(random, 200, 6);
    world.ask(random, random_job(random, "one", false, 1));
    const tables::Snapshot snapshot = world.store.snapshot();
    Scratch scratch;
    GenericScheduler scheduler(scratch);
    EvalResult sampled, best;
    IdStream ids(1);
    scheduler.process(snapshot, world.facts, rank::OrderProvider::nomad, ids, sampled);
    scheduler.set_exhaustive(true);
    scheduler.process(snapshot, world.facts, rank::OrderProvider::nomad, ids, best);
    ASSERT_EQ(sampled.plan.allocs.size(), best.plan.allocs.size()) << "seed " << seed;
    for (std::size_t i = 0; i < best.plan.allocs.size(); ++i)
      EXPECT_GE(best.plan.allocs[i].score, sampled.plan.allocs[i].score) << "seed " << seed;
  }
}

TEST(Select, PlacesWithoutHeapAllocationPerPlacement) {
  Random random(7);
  World world(random, 2000, 12);
  Scratch scratch;
  GenericScheduler scheduler(scratch);
  EvalResult result;
  IdStream ids(1);
  const auto few = random_job(random, "few", true, 20), many = random_job(random, "many", true, 400);
  auto allocations = [&](const std::shared_ptr<const model::Job>& asked) {
    world.ask(random, asked);
    const tables::Snapshot snapshot = world.store.snapshot();
    const std::uint64_t before = berth::testing::heap_allocations.load();
    scheduler.process(snapshot, world.facts, rank::OrderProvider::nomad, ids, result);
    return berth::testing::heap_allocations.load() - before;
  };
  for (int warm = 0; warm < 3; ++warm) allocations(many), allocations(few);
  const std::uint64_t for_few = allocations(few);
  EXPECT_EQ(allocations(few), for_few);
  const std::uint64_t for_many = allocations(many);
  ASSERT_GE(result.plan.allocs.size(), 300u);
  // 20 times the placements, the same few allocations per evaluation (spread sets are made per attempt).
  EXPECT_LE(for_many, for_few + 8) << "few " << for_few << ", many " << for_many;
}

/// Requests of a group for numbered resources of a node.
struct Asked {
  const char* name;
  void (*ask)(model::TaskGroup&);
};
model::NetworkResource& with_network(model::TaskGroup& group) {
  model::NetworkResource& out = group.networks.emplace_back();
  out.mode = "host";
  return out;
}
const Asked kAsked[] = {
    {"plain", [](model::TaskGroup&) {}},
    {"dynamic ports",
     [](model::TaskGroup& group) {
       with_network(group).dynamic_ports.push_back({.label = "http", .host_network = "default"});
       group.networks.front().dynamic_ports.push_back(
           {.label = "a label of more than fifteen characters", .host_network = "default"});
     }},
    {"static port",
     [](model::TaskGroup& group) {
       with_network(group).reserved_ports.push_back({.label = "http", .value = 8080, .host_network = "default"});
     }},
    {"host volume",
     [](model::TaskGroup& group) {
       group.volumes["v"] = model::VolumeRequest{.name = "v", .type = "host", .source = "data"};
     }},
    {"a CSI volume",
     [](model::TaskGroup& group) {
       group.volumes["shared by all who read"] = model::VolumeRequest{
           .name = "shared by all who read", .type = "csi", .source = "a source of some length", .read_only = true};
     }},
    {"devices",
     [](model::TaskGroup& group) { group.tasks.front().resources->devices.push_back({.name = "gpu", .count = 1}); }},
    {"several devices, some rather than others",
     [](model::TaskGroup& group) {
       std::vector<model::RequestedDevice>& requests = group.tasks.front().resources->devices;
       requests.push_back({.name = "nvidia/gpu", .count = 1});
       requests.push_back({.name = "gpu", .count = 1});
       requests.back().affinities.push_back({"${device.model}", "t4", "=", 50});
     }},
    {"cores", [](model::TaskGroup& group) { group.tasks.front().resources->cores = 1; }},
    {"devices and a dynamic port",
     [](model::TaskGroup& group) {
       with_network(group).dynamic_ports.push_back({.label = "http", .host_network = "default"});
       group.tasks.front().resources->devices.push_back({.name = "nvidia/gpu", .count = 1});
     }},
    {"two tasks, one with cores, and a port",
     [](model::TaskGroup& group) {
       model::Task beside = group.tasks.front();
       beside.name = "beside";
       group.tasks.push_back(beside);
       group.tasks.front().resources->cores = 1;
       with_network(group).dynamic_ports.push_back({.label = "http", .host_network = "default"});
     }},
};

/// Nodes that have all requested resources.
void load_equipped(Random& random, World& world, std::uint32_t nodes, bool volume_everywhere) {
  model::ClusterState state;
  state.index = 1000;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    model::Node& each = state.nodes.emplace_back(random_node(random, i, 5, true));
    model::NodeNetworkResource& host = each.node_resources->node_networks.emplace().emplace_back();
    host.mode = "host", host.device = "eth0";
    host.addresses.push_back({.family = "ipv4", .alias = "default", .address = "10.0.0.1"});
    model::NodeDevice& device = each.node_resources->devices.emplace_back();
    device.vendor = std::string("nvidia"), device.type = std::string("gpu"), device.name = std::string("t4");
    for (const char* id : {"gpu-0", "gpu-1", "gpu-2", "GPU-4f7a1a9a-1f4c-4a5a-b7c5-7a3b4e5d6c7f"})
      device.instances.push_back({id, true, "", {}});
    for (std::uint16_t id = 0; id < 4; ++id)
      each.node_resources->processors->topology->cores.push_back({.id = id, .base_speed = 500});
    if (volume_everywhere || i % 2 == 0)
      each.host_volumes["data"] = model::HostVolumeInfo{.name = "data", .path = "/srv"};
    model::CsiInfo& plugin = each.csi_node_plugins["ebs"].emplace();
    plugin.plugin_id = "ebs", plugin.healthy = true;
    plugin.node_info.emplace().max_volumes = 8;
  }
  model::CsiVolume& volume = state.csi_volumes.emplace_back();
  volume.namespace_ = std::string("default"), volume.id = "a source of some length", volume.plugin_id = "ebs";
  volume.access_mode = "multi-node-reader-only";
  state.csi_plugins = {{.id = "ebs", .nodes_healthy = static_cast<std::int64_t>(nodes)}};
  world.store.load(state);
}

std::shared_ptr<model::Job> asking(const Asked& one, const std::string& id, std::int64_t count) {
  Random of_job(3);
  auto out = std::make_shared<model::Job>(*random_job(of_job, id, false, count));
  out->constraints.clear();
  one.ask(out->task_groups.front());
  return out;
}

/// Visiting a node makes no heap allocation, whatever the request.
TEST(Select, VisitsNodesWithoutHeapAllocation) {
  for (const Asked& one : kAsked) {
    SCOPED_TRACE(one.name);
    std::uint64_t taken[2];
    for (const std::uint32_t nodes : {200U, 1600U}) {
      Random random(11);
      World world(random, 0, 1);
      load_equipped(random, world, nodes, false);
      Scratch scratch;
      GenericScheduler scheduler(scratch);
      scheduler.set_exhaustive(true);  // visits every node
      EvalResult result;
      IdStream ids(1);
      const auto allocations = [&](int number) {
        world.ask(random, asking(one, "job" + std::to_string(number), 5));
        const tables::Snapshot snapshot = world.store.snapshot();
        const std::uint64_t before = berth::testing::heap_allocations.load();
        scheduler.process(snapshot, world.facts, rank::OrderProvider::nomad, ids, result);
        const std::uint64_t out = berth::testing::heap_allocations.load() - before;
        EXPECT_EQ(result.plan.allocs.size(), 5U);
        plan::ApplyResult applied;  // some nodes hold ports from then on
        plan::apply(world.store, result.plan, snapshot.index + 4, false, applied);
        return out;
      };
      for (int warm = 0; warm < 10; ++warm) allocations(warm);
      taken[nodes == 200U ? 0 : 1] = allocations(10);
    }
    EXPECT_LE(taken[1], taken[0] + 24) << "for eight times the nodes; " << taken[0] << " for a few";
  }
}

/// A cluster in which as many allocations end as start; measures the heap memory taken for serving a job.
struct Steady {
  struct Taken {
    std::uint64_t by_scheduling = 0, by_applying = 0;
  };
  Random random{11};
  World world{random, 0, 1};
  Scratch scratch;
  GenericScheduler scheduler{scratch};
  EvalResult result;
  IdStream ids{1};
  plan::Applier applier{world.store};
  plan::ApplyResult applied;

  Steady() {
    world.store.keep_history();
    load_equipped(random, world, 100, true);
  }
  Taken serve(const std::shared_ptr<const model::Job>& job) {
    Taken taken;
    world.ask(random, job);
    {
      const tables::Snapshot snapshot = world.store.snapshot();
      const std::uint64_t before = berth::testing::heap_allocations.load();
      scheduler.process(snapshot, world.facts, rank::OrderProvider::nomad, ids, result);
      taken.by_scheduling = berth::testing::heap_allocations.load() - before;
    }
    const std::uint64_t before = berth::testing::heap_allocations.load();
    applier.apply(result.plan, world.store.index() + 1, false, applied);
    taken.by_applying = berth::testing::heap_allocations.load() - before;
    return taken;
  }
  void empty() {
    result.plan.clear();
    tables::Commit commit = world.store.begin_commit(world.store.index() + 1);
    const tables::AllocTable& allocs = world.store.current().allocs;
    for (tables::AllocRow row = 0; row < allocs.size(); ++row)
      if (allocs.exists(row)) commit.remove_alloc(row);
  }
};

/// If as many allocations end as start, placing and checking a plan take no heap memory, for any resources held.
TEST(Select, SteadyPlacementsAndChecksAllocateNoMemory) {
  constexpr std::uint32_t kFew = 4, kMany = 40;
  for (const Asked& one : kAsked) {
    SCOPED_TRACE(one.name);
    Steady steady;
    const auto allocations = [&](std::uint32_t count) {
      const Steady::Taken taken = steady.serve(asking(one, "job" + std::to_string(count), count));
      EXPECT_EQ(steady.applied.committed, count);
      steady.empty();
      return taken;
    };
    for (int warm = 0; warm < 20; ++warm) allocations(kMany), allocations(kFew);
#ifdef NDEBUG  // debug builds check caches and tables after each evaluation and plan, which allocates
    const Steady::Taken few = allocations(kFew), many = allocations(kMany);
    EXPECT_EQ(many.by_scheduling, few.by_scheduling);
    EXPECT_EQ(many.by_applying, few.by_applying);
#endif
  }
}

/// The same for allocations that a new job version updates in place: no heap allocation per update, but lists of the
/// evaluation grow.
TEST(Select, SteadyUpdatesInPlaceAllocateNoMemory) {
  constexpr std::uint32_t kFew = 4, kMany = 40;
  for (const Asked& one : kAsked) {
    SCOPED_TRACE(one.name);
    Steady steady;
    std::uint64_t version = 0;
    const auto serve = [&](std::uint32_t count, std::int64_t priority) {
      auto job = asking(one, "job" + std::to_string(count), count);
      job->version = ++version;
      job->job_modify_index = job->modify_index = version;
      job->priority = priority;
      return steady.serve(job);
    };
    const auto allocations = [&](std::uint32_t count) {
      serve(count, 50);
      EXPECT_EQ(steady.applied.committed, count);
      const Steady::Taken taken = serve(count, 60);
      EXPECT_EQ(steady.result.plan.updates.size(), count);
      EXPECT_EQ(steady.result.plan.allocs.size(), 0U);
      steady.empty();
      return taken;
    };
    for (int warm = 0; warm < 20; ++warm) allocations(kMany), allocations(kFew);
#ifdef NDEBUG  // debug builds check caches and tables after each evaluation and plan, which allocates
    const Steady::Taken few = allocations(kFew), many = allocations(kMany);
    EXPECT_LT(many.by_scheduling, few.by_scheduling + (kMany - kFew) / 2) << "lists of the evaluation grow by doubling";
    EXPECT_EQ(many.by_applying, few.by_applying);
#endif
  }
}

}  // namespace
}  // namespace berth::sched
