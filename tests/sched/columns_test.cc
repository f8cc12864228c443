// Jobs of all kinds, scheduled repeatedly with their running allocations: the columns compared with the general path.
#include <gtest/gtest.h>

#include <array>

#include "base/stages.h"
#include "model/job.h"
#include "plan/apply.h"
#include "select_world.h"
#include "support/sanitized.h"

namespace berth::sched {
namespace {

/// Features of a job that the columns did not serve in the past.
struct Kind {
  bool groups = false, properties = false, csi = false, stops = false, preferred = false, lowest_boost = false;
};

model::CsiVolume csi_volume(Random& random, std::uint32_t number) {
  model::CsiVolume out;
  out.id = out.name = "vol" + std::to_string(number);
  out.namespace_ = "default";
  out.plugin_id = number % 2 == 0 ? "ebs" : "efs";
  constexpr const char* kModes[] = {"multi-node-multi-writer", "single-node-writer", "multi-node-reader-only", ""};
  out.access_mode = kModes[random() % std::size(kModes)];
  out.schedulable = true;
  if (pick(random, 0, 2) == 0) out.topologies.emplace_back().emplace().segments["zone"] = "a";
  if (pick(random, 0, 4) == 0) out.write_claims[base::to_text(base::Uuid{random(), random()})] = {};
  if (pick(random, 0, 9) == 0) out.resource_exhausted = base::Time{5};
  return out;
}

void give_plugins(Random& random, model::Node& node) {
  for (const char* id : {"ebs", "efs"}) {
    if (pick(random, 0, 4) == 0) continue;
    model::CsiInfo& plugin = node.csi_node_plugins[id].emplace();
    plugin.plugin_id = id;
    plugin.healthy = pick(random, 0, 5) != 0;
    plugin.node_info.emplace().max_volumes = pick(random, 1, 4);
    if (pick(random, 0, 1) == 0)
      plugin.node_info->accessible_topology.emplace().segments["zone"] = pick(random, 0, 1) ? "a" : "b";
  }
}

model::Constraint property(Random& random) {
  constexpr const char* kTargets[] = {"${meta.rack}", "${node.datacenter}", "${node.unique.id}", "${meta.none}", ""};
  constexpr const char* kAllowed[] = {"", "1", "3", "9", "many"};
  model::Constraint out;
  out.ltarget = kTargets[pick(random, 0, 7) == 0 ? random() % std::size(kTargets) : random() % 3];
  out.operand = "distinct_property";
  out.rtarget = kAllowed[pick(random, 0, 9) == 0 ? random() % std::size(kAllowed) : 1 + random() % 3];
  return out;
}

/// Makes one of a job's groups from its first one.
void ask(Random& random, model::TaskGroup& group, Kind& kind) {
  group.count = pick(random, 0, 14);
  group.tasks.front().resources->cpu = pick(random, 1, 8) * 100;
  if (pick(random, 0, 3) == 0) {
    group.constraints.push_back(property(random));
    kind.properties = true;
  }
  if (pick(random, 0, 5) == 0) group.constraints.emplace_back().operand = "distinct_hosts";
  if (pick(random, 0, 3) == 0) {
    model::Constraint& rack = group.constraints.emplace_back();
    rack.ltarget = "${meta.rack}", rack.operand = "!=", rack.rtarget = "r" + std::to_string(pick(random, 0, 4));
  }
  if (pick(random, 0, 3) == 0) {
    model::Spread& spread = group.spreads.emplace_back();
    spread.attribute = "${node.datacenter}", spread.weight = 70;
    const auto part = static_cast<std::uint8_t>(pick(random, 0, 2) * 40);
    if (pick(random, 0, 1) == 0)
      spread.targets = {{"dc1", part}, {"dc2", static_cast<std::uint8_t>(pick(random, 0, 1) * 60)}};
    kind.lowest_boost = kind.lowest_boost || !spread.targets.empty();
  }
  if (pick(random, 0, 3) == 0) {
    model::NetworkResource& network = group.networks.emplace_back();
    network.mode = "host";
    network.dynamic_ports.emplace_back() = {.label = "http", .host_network = "default"};
  }
  if (pick(random, 0, 3) == 0) {
    model::VolumeRequest& volume = group.volumes["data"].emplace();
    volume.name = "data", volume.type = "csi", volume.read_only = pick(random, 0, 1) == 0;
    volume.source = "vol" + std::to_string(pick(random, 0, 6));  // the last one is missing (R-FEAS-1202)
    volume.per_alloc = pick(random, 0, 9) == 0;
    kind.csi = true;
  }
  if (pick(random, 0, 3) == 0) {  // R-SCHED-74: on its previous node
    group.ephemeral_disk->sticky = true;
    kind.preferred = true;
  }
}

std::shared_ptr<model::Job> job_of_any_kind(Random& random, const std::string& id, Kind& kind) {
  auto out = std::make_shared<model::Job>(*random_job(random, id, pick(random, 0, 3) == 0, 1, 10 * pick(random, 1, 9)));
  if (pick(random, 0, 5) == 0) {
    out->constraints.push_back(property(random));
    kind.properties = true;
  }
  const model::TaskGroup first = out->task_groups.front();
  const std::int64_t groups = pick(random, 1, 4);
  for (std::int64_t g = 1; g < groups; ++g) {
    model::TaskGroup& group = out->task_groups.emplace_back();
    group = first;
    group.name = "g" + std::to_string(g);
  }
  for (model::TaskGroup& group : out->task_groups) {
    ask(random, group, kind);
    if (pick(random, 0, 2) == 0 && out->type == "service") {
      model::UpdateStrategy& update = group.update.emplace();
      update.max_parallel = pick(random, 1, 9);
      update.canary = pick(random, 0, 2) == 0 ? 1 : 0;
    }
  }
  kind.groups = groups > 1;
  return out;
}

TEST(ColumnSource,
     DecidesEveryKindOfJobLikeTheGeneralSource) {  // R-FEAS-3xx, 4xx, 12xx, 14xx, R-RANK-8xx, R-SCHED-6x to 9x
  std::array<std::size_t, 6> reached{};
  std::size_t placed = 0, failed = 0, evicted = 0, left = 0;
  base::StageClock clock;
  clock.set_detailed(true);
  for (std::uint64_t seed = 1; seed <= testing::rounds(150, 12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const bool preempts = seed % 4 == 1;
    model::ClusterState state;
    state.index = 1000;
    state.scheduler_config.emplace().preemption_config = {false, false, preempts, preempts};
    const auto nodes = static_cast<std::uint32_t>(pick(random, 3, seed % 3 == 0 ? 160 : 50));
    for (std::uint32_t i = 0; i < nodes; ++i) {
      model::Node& each = state.nodes.emplace_back(random_node(random, i, 6, seed % 3 != 2));
      give_plugins(random, each);
      model::NodeNetworkResource& network = each.node_resources->node_networks.emplace().emplace_back();
      network.mode = "host", network.device = "eth0";
      network.addresses.push_back({.family = "ipv4", .alias = "default", .address = "10.0.0.1"});
    }
    for (std::uint32_t i = 0; i < 6; ++i) state.csi_volumes.push_back(csi_volume(random, i));
    state.csi_plugins = {{.id = "ebs", .nodes_healthy = 9},
                         {.id = "efs", .controller_required = pick(random, 0, 1) != 0, .nodes_healthy = 9}};
    World world(random, 0, 1);
    world.store.load(state);
    Scratch scratch, general_scratch;
    model::Quirks& quirks = scratch.options.quirks;
    if (seed % 8 == 7) quirks = model::Quirks::none();
    if (seed % 5 == 2)
      for (const model::QuirkInfo& quirk : model::kQuirks) quirks.*quirk.member = pick(random, 0, 3) != 0;
    general_scratch.options.quirks = quirks;
    GenericScheduler scheduler(scratch), general(general_scratch);
    general.set_sources(EnabledSources::none());
    // The same with sources drawn for each Select, and with one source disabled.
    OtherWay mixed(quirks), without(quirks);
    EnabledSources some;
    some.mix(static_cast<std::uint32_t>(seed));
    mixed.scheduler.set_sources(some);
    EnabledSources most;
    most.set(static_cast<Switch>(seed % kSwitchNames.size()), false);
    without.scheduler.set_sources(most);
    for (GenericScheduler* each : {&scheduler, &general, &mixed.scheduler, &without.scheduler})
      each->set_exhaustive(seed % 9 == 0);
    for (int round = 0; round < 20; ++round) {
      Kind kind;
      world.ask(random, job_of_any_kind(random, "job" + std::to_string(random() % 6), kind));
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      const SourceCounts before = scratch.source_counts;
      {
        const base::UseStageClock measured(seed % 2 == 0 ? &clock : nullptr);  // measuring changes no decision
        world.decide(scheduler, snapshot, seed, a);
      }
      {
        const base::UseStageClock measured(seed % 2 == 1 ? &clock : nullptr);
        world.decide(general, snapshot, seed, b);
      }
      ASSERT_EQ(decisions({snapshot, scratch}, a, world.eval), decisions({snapshot, general_scratch}, b, world.eval))
          << "round " << round;
      ASSERT_EQ(a.port_collision_events, b.port_collision_events) << "round " << round;
      ASSERT_EQ(waits_for(a), waits_for(b)) << "round " << round;
      ASSERT_EQ(a.eligibility.escaped, b.eligibility.escaped) << "round " << round;
      ASSERT_EQ(a.eligibility.missing_resources, b.eligibility.missing_resources) << "round " << round;
      for (OtherWay* const other : {&mixed, &without}) {
        SCOPED_TRACE("round " + std::to_string(round) + ", sources " + (other == &mixed ? some : most).text());
        EvalResult c;
        world.decide(other->scheduler, snapshot, seed, c);
        ASSERT_EQ(decisions({snapshot, scratch}, a, world.eval), decisions({snapshot, other->scratch}, c, world.eval));
        ASSERT_EQ(a.port_collision_events, c.port_collision_events);
        ASSERT_EQ(waits_for(a), waits_for(c));
        ASSERT_EQ(a.eligibility.missing_resources, c.eligibility.missing_resources);
      }
      kind.stops = !a.plan.stops.empty();
      const auto selects = [&](SourceKind source) {
        const auto of = static_cast<std::size_t>(source);
        return scratch.source_counts.selects[of] - before.selects[of];
      };
      if (selects(SourceKind::columns) > 1 && selects(SourceKind::general) == 0) {
        const bool kinds[] = {kind.groups, kind.properties, kind.csi, kind.stops, kind.preferred, kind.lowest_boost};
        for (std::size_t i = 0; i < reached.size(); ++i) reached[i] += kinds[i] && !a.plan.allocs.empty();
      }
      placed += a.plan.allocs.size(), failed += a.any_failed();
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
      for (const plan::PlannedStop& stop : a.plan.stops) evicted += stop.evict;
      const std::size_t allocs = world.store.current().allocs.size();
      for (std::int64_t i = pick(random, 0, 6); allocs > 0 && i > 0; --i, ++left)
        world.store.set_client_status(tables::AllocRow(random() % allocs),
                                      pick(random, 0, 1) ? tables::Client::complete : tables::Client::failed,
                                      world.store.index() + 1);
      if (pick(random, 0, 4) == 0)
        world.store.set_node_state(tables::NodeRow(random() % nodes),
                                   pick(random, 0, 2) ? tables::NodeStatus::ready : tables::NodeStatus::down,
                                   pick(random, 0, 3) != 0, false, world.store.index() + 1);
    }
  }
  for (std::size_t i = 0; i < reached.size(); ++i) EXPECT_GE(reached[i], testing::rounds(60, 15)) << "kind " << i;
  EXPECT_GT(placed, testing::rounds(1000, 4));
  EXPECT_GT(failed, 0U);
  EXPECT_GT(evicted, 0U);
  EXPECT_GT(left, 0U);
}

/// A few requests repeatedly, on nodes that change meanwhile: cached scores (ask_table.h) compared with the general
/// source, which has no cache.
TEST(ColumnSource, DecidesRepeatedRequestsLikeTheGeneralSource) {  // R-FEAS-4xx, R-RANK-5xx, 6xx, 10xx
  std::uint64_t known = 0;
  std::size_t placed = 0, failed = 0, left = 0, registered = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(60, 10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto nodes = static_cast<std::uint32_t>(pick(random, 5, 200));
    World world(random, nodes, 6, false, true);
    std::vector<std::shared_ptr<const model::Job>> asks;
    for (int i = 0; i < 4; ++i) asks.push_back(random_job(random, "", i == 3, pick(random, 1, 30)));
    Scratch scratch, general_scratch;
    GenericScheduler scheduler(scratch), general(general_scratch);
    general.set_sources(EnabledSources::none());
    for (GenericScheduler* each : {&scheduler, &general}) each->set_exhaustive(seed % 9 == 0);
    for (int round = 0; round < 40; ++round) {
      auto job = std::make_shared<model::Job>(*asks[random() % asks.size()]);
      job->id = job->name = "job" + std::to_string(random() % 20);
      job->task_groups.front().count = pick(random, 1, 30);
      if (pick(random, 0, 9) == 0) {  // nodes that hold cores or ports need the exact check
        job->task_groups.front().tasks.front().resources->cores = pick(random, 0, 1);
        model::NetworkResource& network = job->task_groups.front().networks.emplace_back();
        network.mode = "host";
        network.dynamic_ports.emplace_back() = {.label = "http", .host_network = "default"};
      }
      if (pick(random, 0, 5) == 0) job->task_groups.front().constraints.emplace_back().operand = "distinct_hosts";
      world.ask(random, job);
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      world.decide(scheduler, snapshot, seed, a);
      world.decide(general, snapshot, seed, b);
      ASSERT_EQ(decisions({snapshot, scratch}, a, world.eval), decisions({snapshot, general_scratch}, b, world.eval))
          << "round " << round;
      ASSERT_EQ(waits_for(a), waits_for(b)) << "round " << round;
      placed += a.plan.allocs.size(), failed += a.any_failed();
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
      const std::size_t allocs = world.store.current().allocs.size();
      for (std::int64_t i = pick(random, 0, 40); allocs > 0 && i > 0; --i, ++left)
        world.store.set_client_status(tables::AllocRow(random() % allocs), tables::Client::complete,
                                      world.store.index() + 1);
      if (pick(random, 0, 4) == 0)
        world.store.set_node_state(tables::NodeRow(random() % nodes),
                                   pick(random, 0, 2) ? tables::NodeStatus::ready : tables::NodeStatus::down,
                                   pick(random, 0, 3) != 0, false, world.store.index() + 1);
      if (pick(random, 0, 4) == 0) {  // another class and capacity
        const tables::NodeRow row(random() % nodes);
        model::Node node = random_node(random, static_cast<std::uint32_t>(random() % nodes), 6, true);
        node.id = base::to_text(world.store.current().nodes.id(row));
        world.store.begin_commit(world.store.index() + 1).upsert_node(node);
        ++registered;
      }
    }
    known += scratch.source_counts.known;
    EXPECT_EQ(general_scratch.source_counts.known, 0U);
  }
  EXPECT_GE(known, testing::rounds(10'000, 100));
  EXPECT_GE(placed, testing::rounds(5'000, 100));
  EXPECT_GT(failed, 0U);
  EXPECT_GT(left, 0U);
  EXPECT_GT(registered, 0U);
}

}  // namespace
}  // namespace berth::sched
