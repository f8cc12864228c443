// Gangs: decisions in whole replays against an examination of all sets of racks, equality with jobs that have the
// constraint in their own text, time limits, and several workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/gang.h"
#include "model/job.h"
#include "run/measured_run.h"
#include "run/runner.h"
#include "run/waits.h"
#include "server/lane.h"
#include "server/server.h"
#include "sim/cluster_generator.h"
#include "sim/inputs.h"
#include "sim/job_generator.h"
#include "sim/load_store.h"

namespace berth::run::gangs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

sim::Workload parsed(const std::string& text) {
  auto workload = sim::parse_workload(text, "gangs.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  return *workload;
}

// 12 nodes in 4 racks. Every allocation needs more than half of a node's cpu, so a node runs one.
std::string text_of(const std::string& queue, const std::string& more = "", int jobs = 160) {
  std::string out = "name = \"gangs\"\nseed = 3\ndepartures = true\nqueue = \"" + queue + "\"\n" + more +
                    "[cluster]\nnodes = 12\nracks = 4\n[[cluster.shapes]]\nname = \"std\"\ncores = 1\n"
                    "mhz_per_core = 1000\nmemory_mb = 10000\ndisk_mb = 100000\n[jobs]\ncount = " +
                    std::to_string(jobs) + "\n[arrivals]\nprocess = \"poisson\"\nrate_per_s = 0.1\n";
  const auto kind = [&](const char* name, const char* count, const char* gang) {
    out += std::string("[[jobs.mix]]\nname = \"") + name + "\"\ntype = \"batch\"\ncpu_mhz = 600\nmemory_mb = 10\n" +
           "run_time_s = [10, 90]\ncount = " + count + "\n" + gang;
  };
  kind("same", "[1, 3]", "gang = true\ngang_topology = \"same:meta.rack\"\n");
  kind("apart", "[1, 3]", "gang = true\ngang_topology = \"same:meta.rack:spread\"\ngang_timeout = \"45s\"\n");
  kind("two", "[2, 6]", "gang = true\ngang_topology = \"at-most:2:meta.rack\"\ngang_timeout = \"60s\"\n");
  kind("any", "[2, 7]", "gang = true\ngang_timeout = \"30s\"\n");
  kind("plain", "[1, 4]", "");
  return out;
}

/// Compares each decision with the free nodes of the state on which it was made.
struct Oracle final : server::Listener {
  std::map<std::string, std::vector<std::uint64_t>> outcomes;  // by kind: placed whole, nothing placed, given up
  std::set<tables::JobKeyRow> started, given_up;

  static std::map<std::string, std::vector<tables::NodeRow>> free_nodes(const tables::Snapshot& state) {
    std::set<tables::NodeRow> taken;
    for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
      if (state.allocs.exists(row) && !state.allocs.terminal(row)) taken.insert(state.allocs.node[row]);
    std::map<std::string, std::vector<tables::NodeRow>> out;
    for (tables::NodeRow row = 0; row < state.nodes.size(); ++row) {
      auto& rack = out[state.nodes.spec(row).node.meta.at("rack")];
      if (!taken.contains(row)) rack.push_back(row);
    }
    return out;
  }

  void decided(server::Lane& lane) override {
    const tables::Snapshot& state = *lane.result.state;
    const tables::JobKey& key = state.jobs.keys[lane.record->job];
    const tables::CompiledJob& job = *state.jobs.versions[key.current];
    const std::string kind = job.spec->id.substr(0, job.spec->id.find("-t"));
    auto& outcome = outcomes.try_emplace(kind, 3, 0).first->second;
    if (key.alloc_head != tables::kNoRow || !job.gang) return;
    if (lane.facts.now_ns >= job.gang->limit_ns) {
      EXPECT_TRUE(lane.result.gang_over && lane.result.plan.allocs.empty());
      ++outcome[2], given_up.insert(lane.record->job);
      return;
    }
    EXPECT_FALSE(lane.result.gang_over);
    const auto free = free_nodes(state);
    const auto count = static_cast<std::size_t>(job.groups[0].count);
    const std::size_t racks_most = job.gang->rules.target.empty() ? 4 : job.gang->rules.values;
    bool fits = false;
    for (unsigned set = 1; set < 16; ++set) {  // of racks
      if (static_cast<std::size_t>(std::popcount(set)) > racks_most) continue;
      std::size_t nodes = 0, bit = 0;
      for (const auto& [rack, rows] : free)
        if (set >> bit++ & 1) nodes += rows.size();
      fits = fits || nodes >= count;
    }
    const auto& placed = lane.result.plan.allocs;
    EXPECT_EQ(placed.size(), fits ? count : 0) << job.spec->id;
    ++outcome[fits ? 0 : 1];
    if (!fits) return;
    started.insert(lane.record->job);
    std::set<std::string> racks;
    std::set<tables::NodeRow> nodes;
    for (const auto& alloc : placed) {
      const std::string& rack = state.nodes.spec(alloc.node).node.meta.at("rack");
      EXPECT_TRUE(std::count(free.at(rack).begin(), free.at(rack).end(), alloc.node)) << "the node is taken";
      racks.insert(rack), nodes.insert(alloc.node);
    }
    EXPECT_EQ(nodes.size(), count);
    EXPECT_LE(racks.size(), racks_most);
    if (kind == "same" || kind == "apart") {
      EXPECT_EQ(*racks.begin(), rack_of(free, count, kind == "apart"));
    }
    const bool alone = std::any_of(free.begin(), free.end(), [&](const auto& r) { return r.second.size() >= count; });
    if (kind == "two") {
      EXPECT_EQ(racks.size(), alone ? 1U : 2U) << "as few racks as fit";
    }
  }

  /// The fullest rack with room, or the emptiest; the first by name.
  static std::string rack_of(const std::map<std::string, std::vector<tables::NodeRow>>& free, std::size_t count,
                             bool emptiest) {
    std::string best;
    for (const auto& [rack, rows] : free)
      if (rows.size() >= count &&
          (best.empty() || (emptiest ? rows.size() > free.at(best).size() : rows.size() < free.at(best).size())))
        best = rack;
    return best;
  }
};

TEST(Gangs, StartWholeIffASetOfRacksHasRoom) {
  for (const char* queue : {"priority", "fifo", "shortest"}) {
    const sim::Workload workload = parsed(text_of(queue));
    Oracle oracle;
    const auto result = run_workload(workload, {.quiet = true, .extra_listener = &oracle});
    ASSERT_TRUE(result) << result.error().line();
    EXPECT_EQ(result->ended, "complete");
    for (const char* kind : {"same", "apart", "two", "any"}) {
      const auto& outcome = oracle.outcomes.at(kind);
      EXPECT_GT(outcome[0], 5U) << kind;
      EXPECT_GT(outcome[1], 5U) << kind;
      EXPECT_EQ(outcome[2] > 0, std::string(kind) != "same") << kind;
    }
    EXPECT_EQ(result->waits->gangs_started, oracle.started.size());
    EXPECT_EQ(result->waits->gangs_given_up, oracle.given_up.size());
    EXPECT_EQ(result->waits->gangs, oracle.started.size() + oracle.given_up.size());
    EXPECT_GT(result->waits->gang_wait_s.mean, 0);
    EXPECT_LT(result->waits->gang_wait_s.max, 600) << "a gang starts once there is room";
  }
}

TEST(Gangs, DecisionsAreThoseOfOneWorker) {
  std::set<std::string> digests;
  for (const char* workers : {"", "workers = 4\n"}) {
    const auto result = run_workload(parsed(text_of("priority", workers)), {.quiet = true});
    ASSERT_TRUE(result) << result.error().line();
    digests.insert(result->decisions_digest);
  }
  EXPECT_EQ(digests.size(), 1U);
}

/// Of each job with allocations, after every commit: a gang has all of them, on as few racks as its topology allows.
struct WholeAfterCommits final : Observer {
  std::size_t commits = 0;
  std::set<tables::JobKeyRow> whole, others;

  base::StageClock* new_clock() override { return nullptr; }
  bool detailed(std::uint64_t, std::uint32_t) override { return false; }
  void evaluation(const EvalRecord&) override {}
  void committed(const tables::StateStore& store) override {
    ++commits;
    const tables::Snapshot& state = store.current();
    std::map<tables::JobKeyRow, std::pair<std::int64_t, std::set<std::string>>> held;
    for (tables::AllocRow row = 0; row < state.allocs.size(); ++row) {
      if (!state.allocs.exists(row) || state.allocs.terminal(row)) continue;
      auto& [count, racks] = held[state.allocs.job_key[row]];
      ++count, racks.insert(state.nodes.spec(state.allocs.node[row]).node.meta.at("rack"));
    }
    for (const auto& [key, part] : held) {
      const tables::CompiledJob& job = *state.jobs.versions[state.jobs.keys[key].current];
      if (!job.gang) {
        others.insert(key);
        continue;
      }
      EXPECT_EQ(part.first, job.groups[0].count) << job.spec->id;
      if (!job.gang->rules.target.empty()) {
        EXPECT_LE(part.second.size(), job.gang->rules.values) << job.spec->id;
      }
      whole.insert(key);
    }
  }
};

TEST(Gangs, AreWholeAfterEveryCommitOfFreeWorkers) {
  std::string text = text_of("priority", "workers = 4\ncommits = \"free\"\n", 300);
  for (const auto& [was, is] :
       {std::pair("departures = true\n", ""), std::pair("nodes = 12\nracks = 4", "nodes = 240\nracks = 40"),
        std::pair("process = \"poisson\"\nrate_per_s = 0.1", "process = \"backlog\"")})
    text.replace(text.find(was), std::string(was).size(), is);
  WholeAfterCommits watch;
  const auto result = run_workload(parsed(text), {.quiet = true, .observer = &watch});
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_GT(watch.commits, 40U);
  EXPECT_GT(watch.whole.size(), 20U);
  EXPECT_GT(watch.others.size(), 5U);
  EXPECT_GT(result->failed, 0U) << "the cluster was never full";
}

/// With backfill and quotas a gang is held back until it fits, and given up there when its time is over.
TEST(Gangs, AreDelayedByPoliciesOnlyUntilTheirTimeLimit) {
  for (const char* queue : {"backfill", "backfill:reservations=0", "quota:default=0.5"}) {
    Oracle oracle;
    const auto result = run_workload(parsed(text_of(queue)), {.quiet = true, .extra_listener = &oracle});
    ASSERT_TRUE(result) << result.error().line();
    EXPECT_EQ(result->ended, "complete");
    EXPECT_EQ(result->retries, 0U);
    EXPECT_GT(result->waits->gangs_given_up, 5U) << queue;
    EXPECT_EQ(oracle.given_up.size(), 0U) << "no evaluation was made";
    EXPECT_EQ(result->waits->gangs, result->waits->gangs_started + result->waits->gangs_given_up);
  }
}

/// Jobs that run for long, and gangs that need all nodes and run for a second.
std::string needing_all(const std::string& queue, const std::string& timeout) {
  const auto kind = [](const std::string& name, const std::string& more) {
    return "[[jobs.mix]]\nname = \"" + name + "\"\ntype = \"batch\"\ncpu_mhz = 600\nmemory_mb = 10\n" + more;
  };
  return "name = \"all\"\nseed = 4\ndepartures = true\nqueue = \"" + queue +
         "\"\n[cluster]\nnodes = 12\n[[cluster.shapes]]\nname = \"std\"\ncores = 1\nmhz_per_core = 1000\n"
         "memory_mb = 10000\ndisk_mb = 100000\n[jobs]\ncount = 20\n[arrivals]\nprocess = \"poisson\"\n"
         "rate_per_s = 0.1\nclock = \"skip\"\n" +
         kind("long", "run_time_s = 3000\n") +
         kind("all", "count = 12\nrun_time_s = 1\ngang = true\ngang_timeout = \"" + timeout + "\"\n");
}

/// A reservation after a gang's own limit would delay others for nothing.
TEST(Gangs, ReserveNothingAfterTheirLimit) {
  std::set<double> waits;
  for (const char* queue : {"backfill", "backfill:reservations=0"}) {
    const auto result = run_workload(parsed(needing_all(queue, "20s")), {.quiet = true});
    ASSERT_TRUE(result) << result.error().line();
    EXPECT_GT(result->waits->gangs_given_up, 3U);
    waits.insert(result->waits->wait_s.mean);
  }
  EXPECT_EQ(waits.size(), 1U);
}

/// A run does not last longer for the limits of gangs that have started.
TEST(Gangs, DoNotProlongARunOnceTheyHaveStarted) {
  const auto result = run_workload(parsed(needing_all("backfill", "24h")), {.quiet = true});
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(result->waits->gangs_started, result->waits->gangs);
  EXPECT_GT(result->waits->gang_wait_s.max, 1000);
  EXPECT_LT(result->virtual_s, 20'000);
}

/// Errors are at the line of the key that is wrong.
TEST(Gangs, KeysOfAWorkloadFile) {
  const std::string before =
      "name = \"x\"\n[cluster]\nnodes = 1\n[[cluster.shapes]]\nname = \"s\"\n[jobs]\ncount = 1\n[[jobs.mix]]\n"
      "name = \"j\"\ngang = true\n";
  const std::pair<const char*, const char*> cases[] = {
      {"gang_topology = \"same:rack\"\n", "x.toml:11: 'same:rack' cannot be berth_gang_topology"},
      {"gang_timeout = \"soon\"\n", "x.toml:11: 'soon' cannot be berth_gang_timeout"},
      {"type = \"system\"\n", "x.toml:10: berth_gang in the meta of a system job"}};
  for (const auto& [line, problem] : cases) {
    const auto workload = sim::parse_workload(before + line, "x.toml");
    ASSERT_FALSE(workload);
    EXPECT_TRUE(workload.error().line().starts_with(problem)) << workload.error().line();
  }
}

// ---------------------------------------------------------------- one server

/// A server with racks of nodes, of which jobs of our own take a part.
struct Cell {
  explicit Cell(server::Config config = {}, int racks = 3, int nodes = 9)
      : server(
            [&] {
              config.broker.evals = config.broker.jobs = 4096;
              return config;
            }(),
            clock, &listener) {
    const std::string text = "name = \"cell\"\n[cluster]\nnodes = " + std::to_string(nodes) +
                             "\nracks = " + std::to_string(racks) +
                             "\n[[cluster.shapes]]\nname = \"std\"\ncores = 1\nmhz_per_core = 1000\nmemory_mb = "
                             "10000\ndisk_mb = 100000\n[jobs]\ncount = 1\n[[jobs.mix]]\nname = \"x\"\n";
    sim::load_store(server.store(), sim::generate_inputs(parsed(text)).cluster);
  }
  struct Seen final : server::Listener {
    std::vector<std::string> failed;
    void settled(server::Lane& lane) override {
      if (lane.result.status == sched::EvalStatus::failed) failed.push_back(lane.result.description);
    }
  };
  /// Registers the job and decides its evaluation; returns the nodes of its allocations, in their order.
  std::vector<tables::NodeRow> place(model::Job job, std::uint64_t number) {
    const tables::JobKeyRow key = server.register_job(std::make_shared<const model::Job>(std::move(job)));
    EXPECT_TRUE(server.evaluate({.id = {7, number}, .job = key, .tag = number}));
    while (server.step()) {
    }
    return nodes_of(key);
  }
  void run_until(std::int64_t ns) {
    for (std::int64_t at = 0; (at = server.next_deadline().value_or(INT64_MAX)) <= ns;) {
      clock.set(at);
      server.advance();
      while (server.step()) {
      }
    }
    clock.set(ns);
  }
  std::vector<tables::NodeRow> nodes_of(tables::JobKeyRow key) const {
    const tables::Snapshot& state = server.store().current();
    std::vector<tables::NodeRow> out;
    for (tables::AllocRow row = state.jobs.keys[key].alloc_head; row != tables::kNoRow;
         row = state.allocs.next_of_job[row])
      if (!state.allocs.terminal(row)) out.push_back(state.allocs.node[row]);
    return out;
  }
  std::string rack(tables::NodeRow node) const {
    return server.store().current().nodes.spec(node).node.meta.at("rack");
  }

  server::ManualClock clock;
  Seen listener;
  server::Server server;
};

model::Job job_of(const std::string& id, std::vector<std::pair<std::int64_t, std::int64_t>> groups) {
  model::Job job = sim::registered_job(id, "batch", 50);
  for (std::size_t g = 0; g < groups.size(); ++g)  // count, cpu
    job.task_groups.push_back(
        sim::registered_group("batch", "g" + std::to_string(g), groups[g].first, "exec", groups[g].second, 10, 10));
  return job;
}

/// On clusters of all fillings: a gang within a rack is placed on the very nodes of the same job with a constraint, in
/// the first rack in which that job is placed whole, and not at all if there is none.
TEST(Gangs, WithinARackArePlacedLikeAJobWithTheConstraint) {
  std::uint64_t whole = 0, none = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    base::Random draws(seed, "gang");
    std::vector<std::pair<std::int64_t, std::int64_t>> groups;
    for (std::uint64_t g = 0; g < 1 + seed % 3; ++g)
      groups.emplace_back(1 + static_cast<std::int64_t>(draws.below(3)),
                          200 + 100 * static_cast<std::int64_t>(draws.below(5)));
    const auto filled = [&] {
      auto cell = std::make_unique<Cell>();
      base::Random own(seed, "filling");
      for (std::uint64_t i = 0; i < 5 + seed % 6; ++i)
        cell->place(job_of("fill" + std::to_string(i), {{1, 300 + 100 * static_cast<std::int64_t>(own.below(6))}}),
                    i + 1);
      return cell;
    };
    std::map<std::string, std::vector<tables::NodeRow>> by_rack;
    for (const char* rack : {"r0", "r1", "r2"}) {
      const auto cell = filled();
      model::Job job = job_of("gang", groups);
      job.constraints.push_back({"${meta.rack}", rack, "="});
      std::size_t wanted = 0;
      for (const auto& [count, cpu] : groups) wanted += static_cast<std::size_t>(count);
      const auto nodes = cell->place(std::move(job), 1000);
      if (nodes.size() == wanted) by_rack[rack] = nodes;
    }
    const auto cell = filled();
    model::Job job = job_of("gang", groups);
    job.meta = {{"berth_gang", "all"}, {"berth_gang_topology", "same:meta.rack"}};
    const auto nodes = cell->place(std::move(job), 1000);
    ASSERT_EQ(nodes.empty(), by_rack.empty()) << "seed " << seed;
    nodes.empty() ? ++none : ++whole;
    if (!nodes.empty()) {
      ASSERT_EQ(nodes, by_rack.at(cell->rack(nodes[0]))) << "seed " << seed;
    }
    EXPECT_EQ(cell->server.blocked_count(), nodes.empty() ? 1U : 0U);
  }
  EXPECT_GT(whole, 20U);
  EXPECT_GT(none, 20U);
}

TEST(Gangs, StartWhenRoomComesAndFailAtTheirTimeLimit) {
  for (const bool room_comes : {true, false}) {
    Cell cell({}, 3, 3);
    const tables::JobKeyRow filler =
        cell.server.register_job(std::make_shared<const model::Job>(job_of("f", {{1, 900}})));
    ASSERT_TRUE(cell.server.evaluate({.id = {1, 1}, .job = filler}));
    while (cell.server.step()) {
    }
    model::Job job = job_of("gang", {{2, 600}, {1, 600}});
    job.meta = {{"berth_gang", "all"}, {"berth_gang_timeout", "10m"}};
    ASSERT_TRUE(cell.place(job, 5).empty()) << "two of three would fit";
    EXPECT_EQ(cell.server.blocked_count(), 1U);
    cell.run_until(599 * kSecond);
    EXPECT_EQ(cell.server.blocked_count(), 1U);
    const tables::JobKeyRow gang = cell.server.store().job_key("default", "gang");
    if (room_comes) {
      cell.server.end_allocs(cell.server.store().current().jobs.keys[filler].alloc_head, 1, tables::Client::complete);
      cell.run_until(600 * kSecond - 1);
      EXPECT_EQ(cell.nodes_of(gang).size(), 3U);
    }
    cell.run_until(600 * kSecond);
    EXPECT_EQ(cell.server.blocked_count(), 0U);
    EXPECT_EQ(cell.nodes_of(gang).size(), room_comes ? 3U : 0U);
    const std::vector<std::string> why = {"gang: not all allocations found a node within 10m0s of the registration"};
    EXPECT_EQ(cell.listener.failed, room_comes ? std::vector<std::string>{} : why);
    EXPECT_EQ(cell.server.next_deadline(false).value_or(INT64_MAX) < 1200 * kSecond, false) << "nothing waits";
  }
}

// ---------------------------------------------------------------- gangs that run

model::Job service_of(const std::string& id, std::int64_t count, const std::string& topology = "same:meta.rack") {
  model::Job job = sim::registered_job(id, "service", 50);
  job.task_groups.push_back(sim::registered_group("service", "g0", count, "exec", 600, 10, 10));
  job.meta = {{"berth_gang", "all"}, {"berth_gang_topology", topology}};
  return job;
}

model::Job next_version(model::Job job) {
  ++job.version;
  job.job_modify_index = job.modify_index = job.version;
  return job;
}

std::set<std::string> racks_of(const Cell& cell, const std::vector<tables::NodeRow>& nodes) {
  std::set<std::string> out;
  for (const tables::NodeRow node : nodes) out.insert(cell.rack(node));
  return out;
}

const std::set<std::string> kFirstRack = {"r0"};

TEST(Gangs, KeepTheirRackWhenTheirCountGrows) {
  Cell cell({}, 3, 9);
  model::Job job = service_of("gang", 2);
  const auto before = cell.place(job, 1);
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(racks_of(cell, before), kFirstRack);
  job = next_version(job);
  job.task_groups[0].count = 3;
  const auto after = cell.place(job, 2);
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(racks_of(cell, after), kFirstRack);
  job = next_version(job);
  job.task_groups[0].count = 4;  // a rack has three nodes
  EXPECT_EQ(cell.place(job, 3).size(), 3U);
  EXPECT_EQ(cell.server.blocked_count(), 1U);
}

/// A member that ends as failed is replaced, in the rack of the others and nowhere else.
TEST(Gangs, KeepTheirRackWhenAMemberIsReplaced) {
  for (const bool has_room : {true, false}) {
    Cell cell({}, 3, 9);
    const auto before = cell.place(service_of("gang", 2), 1);
    ASSERT_EQ(before.size(), 2U);
    if (!has_room) {
      model::Job other = job_of("other", {{1, 900}});
      other.constraints.push_back({"${meta.rack}", "r0", "="});
      ASSERT_EQ(cell.place(other, 2).size(), 1U);
    }
    const tables::JobKeyRow gang = cell.server.store().job_key("default", "gang");
    const tables::AllocRow failed = cell.server.store().current().jobs.keys[gang].alloc_head;
    const tables::NodeRow node = cell.server.store().current().allocs.node[failed];
    cell.server.end_allocs(failed, 1, tables::Client::failed);
    ASSERT_TRUE(cell.server.evaluate({.id = {7, 9}, .job = gang, .tag = 9}));
    cell.run_until(120 * kSecond);
    const auto after = cell.nodes_of(gang);
    ASSERT_EQ(after.size(), 2U);
    EXPECT_EQ(racks_of(cell, after), kFirstRack);
    EXPECT_EQ(std::count(after.begin(), after.end(), node), has_room ? 0 : 1) << "better a node where none failed";
  }
}

void fill(Cell& cell, const std::string& rack, std::int64_t count, std::int64_t priority = 50) {
  model::Job job = job_of("in-" + rack, {{count, 900}});
  job.priority = priority;
  job.constraints.push_back({"${meta.rack}", rack, "="});
  ASSERT_EQ(cell.place(job, 100 + static_cast<std::uint64_t>(rack[1])).size(), static_cast<std::size_t>(count));
}

/// All of a rack drains: its gang moves to another, or ends there as Nomad's jobs do if there is no room.
TEST(Gangs, LeaveARackThatDrains) {
  for (const bool has_room : {true, false}) {
    Cell cell({}, 2, 6);
    const model::Job job = service_of("gang", 2);
    ASSERT_EQ(racks_of(cell, cell.place(job, 1)), kFirstRack);
    if (!has_room) fill(cell, "r1", 2);
    const tables::Snapshot& state = cell.server.store().current();
    const tables::JobKeyRow gang = cell.server.store().job_key("default", "gang");
    fsm::TransitionEntry migrations;
    for (tables::AllocRow row = state.jobs.keys[gang].alloc_head; row != tables::kNoRow;
         row = state.allocs.next_of_job[row])
      migrations.allocs.emplace_back(base::to_text(state.allocs.id[row]), model::DesiredTransition{.migrate = true});
    for (tables::NodeRow node = 0; node < 6; ++node)
      if (cell.rack(node) == "r0") cell.server.store().set_node_state(node, tables::NodeStatus::ready, false, true);
    ASSERT_EQ(cell.server.write(std::move(migrations)), "");
    ASSERT_TRUE(cell.server.evaluate({.id = {7, 9}, .job = gang, .tag = 9}));
    while (cell.server.step()) {
    }
    const auto after = cell.nodes_of(gang);
    EXPECT_EQ(after.size(), has_room ? 2U : 0U);
    if (has_room) {
      EXPECT_EQ(racks_of(cell, after), std::set<std::string>{"r1"});
    }
    EXPECT_EQ(cell.server.blocked_count(), has_room ? 0U : 1U);
  }
}

/// A member on a node that is down is lost at once, also while its replacement finds no node.
TEST(Gangs, StopMembersBeforeReplacementsThatDoNotFitBeside) {
  Cell cell({}, 3, 9);
  ASSERT_EQ(racks_of(cell, cell.place(service_of("gang", 2), 1)), kFirstRack);
  fill(cell, "r0", 1);
  const tables::Snapshot& state = cell.server.store().current();
  const tables::JobKeyRow gang = cell.server.store().job_key("default", "gang");
  const tables::AllocRow lost = state.jobs.keys[gang].alloc_head;
  const tables::NodeRow node = state.allocs.node[lost];
  cell.server.store().set_node_state(node, tables::NodeStatus::down, true, false);
  ASSERT_TRUE(cell.server.evaluate({.id = {7, 9}, .job = gang, .tag = 9}));
  while (cell.server.step()) {
  }
  EXPECT_EQ(cell.server.store().current().allocs.client[lost], tables::Client::lost);
  EXPECT_EQ(cell.nodes_of(gang).size(), 1U);
  EXPECT_EQ(cell.server.blocked_count(), 1U);
  cell.server.node_ready(node);
  while (cell.server.step()) {
  }
  EXPECT_EQ(racks_of(cell, cell.nodes_of(gang)), kFirstRack);
  EXPECT_EQ(cell.nodes_of(gang).size(), 2U);
}

/// A group that shrinks does not wait for another that grows.
TEST(Gangs, StopExcessMembersBeforeTheRestFits) {
  Cell cell({}, 3, 9);
  model::Job job = service_of("gang", 2);
  job.task_groups.push_back(sim::registered_group("service", "g1", 1, "exec", 600, 10, 10));
  ASSERT_EQ(racks_of(cell, cell.place(job, 1)), kFirstRack);
  job = next_version(job);
  job.task_groups[0].count = 1;
  job.task_groups[1].count = 5;
  EXPECT_EQ(cell.place(job, 2).size(), 2U);
  EXPECT_EQ(cell.server.blocked_count(), 1U);
}

/// A new version that replaces all members keeps its topology, whatever the nodes of the earlier one.
TEST(Gangs, MoveIntoOneRackWithAVersionThatReplacesAll) {
  for (const char* topology : {"same:meta.rack", "at-most:2:meta.rack"}) {
    Cell cell({}, 4, 12);
    model::Job job = service_of("gang", 4);
    job.meta.clear();
    job.constraints.push_back({"${meta.rack}", "1", "distinct_property"});
    ASSERT_EQ(racks_of(cell, cell.place(job, 1)).size(), 4U);
    model::Job next = next_version(service_of("gang", std::string(topology) == "same:meta.rack" ? 3 : 4, topology));
    next.task_groups[0] = sim::registered_group("service", "g0", next.task_groups[0].count, "exec", 700, 10, 10);
    const auto after = cell.place(next, 2);
    ASSERT_EQ(after.size(), static_cast<std::size_t>(next.task_groups[0].count));
    EXPECT_EQ(racks_of(cell, after).size(), std::string(topology) == "same:meta.rack" ? 1U : 2U);
  }
}

/// Nothing is evicted in the fullest rack while another has room.
TEST(Gangs, EvictOnlyIfNoRackHasRoom) {
  for (const bool has_room : {true, false}) {
    Cell cell({}, 2, 6);
    fill(cell, "r0", 3, 10);
    if (!has_room) fill(cell, "r1", 3, 80);
    model::Job job = service_of("gang", 2);
    job.priority = 80;
    const auto nodes = cell.place(job, 1);
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(racks_of(cell, nodes), std::set<std::string>{has_room ? "r1" : "r0"});
    EXPECT_EQ(cell.nodes_of(cell.server.store().job_key("default", "in-r0")).size(), has_room ? 3U : 1U);
  }
}

/// An evaluation tries the first 1000 values; the only free node is in the last one of `pack`, the first of `spread`.
TEST(Gangs, TryALimitedNumberOfValues) {
  for (const bool spread : {false, true}) {
    Cell cell({}, 1001, 1001);
    ASSERT_EQ(cell.place(job_of("all", {{1000, 900}}), 1).size(), 1000U);
    const auto nodes = cell.place(service_of("gang", 1, spread ? "same:meta.rack:spread" : "same:meta.rack"), 2);
    EXPECT_EQ(nodes.size(), spread ? 1U : 0U);
  }
}

}  // namespace
}  // namespace berth::run::gangs

namespace berth::model {
namespace {

struct KeysCase {
  std::map<std::string, std::string> meta;
  std::optional<Gang> wanted;
  const char* problem;  // "": none
  const char* type = "batch";
};

TEST(Gangs, KeysOfAJobsMeta) {
  const auto with = [](std::map<std::string, std::string> more) {
    more["berth_gang"] = "all";
    return more;
  };
  const KeysCase cases[] = {
      {{}, std::nullopt, ""},
      {{{"berth_deadline", "1m"}}, std::nullopt, ""},
      {with({}), Gang{}, ""},
      {with({{"berth_gang_timeout", "1m30s"}}), Gang{.timeout_ns = 90'000'000'000}, ""},
      {with({{"berth_gang_topology", "same:meta.rack"}}), Gang{.target = "${meta.rack}"}, ""},
      {with({{"berth_gang_topology", "same:${attr.platform.zone}:spread"}}),
       Gang{.target = "${attr.platform.zone}", .spread = true}, ""},
      {with({{"berth_gang_topology", "at-most:3:node.datacenter:pack"}}),
       Gang{.target = "${node.datacenter}", .values = 3}, ""},
      {with({{"berth_gang", "some"}}), Gang{}, ""},  // "all" replaces it
      {{{"berth_gang", "some"}}, std::nullopt, "'some' cannot be berth_gang in a job's meta"},
      {{{"berth_gang_timeout", "1m"}}, std::nullopt, "berth_gang_timeout in the meta of a job that is no gang"},
      {{{"berth_gang_topology", "same:meta.rack"}},
       std::nullopt,
       "berth_gang_topology in the meta of a job that is no gang"},
      {with({}), std::nullopt, "berth_gang in the meta of a system job", "system"},
      {with({{"berth_gang_timeout", "0s"}}), std::nullopt, "'0s' cannot be berth_gang_timeout in a job's meta"},
      {with({{"berth_gang_timeout", "soon"}}), std::nullopt, "'soon' cannot be berth_gang_timeout in a job's meta"},
      {with({{"berth_gang_topology", "near:meta.rack"}}), std::nullopt,
       "'near:meta.rack' cannot be berth_gang_topology in a job's meta"},
      {with({{"berth_gang_topology", "same:rack"}}), std::nullopt,
       "'same:rack' cannot be berth_gang_topology in a job's meta"},
      {with({{"berth_gang_topology", "same:node.unique.id"}}), std::nullopt,
       "'same:node.unique.id' cannot be berth_gang_topology in a job's meta"},
      {with({{"berth_gang_topology", "same:${attr.unique.hostname}:spread"}}), std::nullopt,
       "'same:${attr.unique.hostname}:spread' cannot be berth_gang_topology in a job's meta"},
      {with({{"berth_gang_topology", "at-most:0:meta.rack"}}), std::nullopt,
       "'at-most:0:meta.rack' cannot be berth_gang_topology in a job's meta"},
      {with({{"berth_gang_topology", "at-most:meta.rack"}}), std::nullopt,
       "'at-most:meta.rack' cannot be berth_gang_topology in a job's meta"}};
  for (const KeysCase& one : cases) {
    const auto gang = parse_gang(one.meta, one.type);
    EXPECT_EQ(gang ? "" : gang.error().problem, one.problem);
    if (gang) {
      EXPECT_EQ(*gang, one.wanted);
    }
  }
}

}  // namespace
}  // namespace berth::model
