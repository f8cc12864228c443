// Advice of `berth plan` over random clusters and jobs: each offered change is made in the job file, and the file
// planned again.
#include "advice/advice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "advice/advice_text.h"
#include "advice/obstacles.h"
#include "advice/plan_text.h"
#include "advice/trial.h"
#include "base/text.h"
#include "dryrun/request.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "server/surroundings.h"
#include "support/sanitized.h"

namespace berth::dryrun {
namespace {

using namespace advice;

constexpr std::int64_t kNow = 1'795'309'000'000'000'000;

/// A small cluster and a job with large requests, drawn from a seed.
class Case {
 public:
  explicit Case(std::uint64_t seed) : random_(seed), modest_(chance(50)), ssh_taken_(chance(50)) {
    std::string nodes;
    for (std::uint64_t i = 0, n = 3 + below(6); i < n; ++i)
      nodes += fmt::format(R"({}"/v1/node/{:08x}-1111-4111-8111-111111111111":{})", i > 0 ? "," : "", i + 1, node(i));
    const json::Value cluster =
        parse(fmt::format(R"({{{},"/v1/operator/scheduler/configuration":{{"SchedulerConfig":{{}}}}}})", nodes));
    auto imported = io::import_cluster_json(cluster, "cluster");
    EXPECT_TRUE(imported) << imported.error().line();
    if (imported) state = std::move(imported->state);
    document = parse(job());
  }

  model::ClusterState state;
  json::Value document;

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  static json::Value parse(const std::string& text) {
    auto value = io::parse_json(text, "text");
    EXPECT_TRUE(value) << value.error().line() << "\n" << text;
    return value ? std::move(*value) : json::Value();
  }

  std::string node(std::uint64_t i) {
    std::string cores;
    const std::uint64_t count = 1 + below(4);
    for (std::uint64_t c = 0; c < count; ++c)
      cores +=
          fmt::format(R"({}{{"SocketID":0,"NodeID":0,"ID":{},"Grade":true,"BaseSpeed":1000}})", c > 0 ? "," : "", c);
    const std::string devices =
        chance(40)
            ? fmt::format(R"([{{"Vendor":"nvidia","Type":"gpu","Name":"a{}","Instances":[{{"ID":"g{}a","Healthy":true}},
                     {{"ID":"g{}b","Healthy":true}}]}}])",
                          1 + below(2), i, i)
            : "[]";
    return fmt::format(
        R"({{"ID":"{:08x}-1111-4111-8111-111111111111","Name":"n{}","Datacenter":"dc{}","NodePool":"{}","Status":"ready",
        "SchedulingEligibility":"eligible","Attributes":{{"kernel.name":"linux","nomad.version":"1.11.0"}},
        "Meta":{{"rack":"r{}"}},"Drivers":{{"exec":{{"Detected":true,"Healthy":true}}}},"NodeMaxAllocs":{},
        "HostVolumes":{},"NodeResources":{{"Cpu":{{"CpuShares":{},"TotalCpuCores":{}}},
        "Processors":{{"Topology":{{"Nodes":[0],"Distances":[[10]],"Cores":[{}]}}}},"Memory":{{"MemoryMB":{}}},
        "Disk":{{"DiskMB":{}}},"Devices":{},"MinDynamicPort":20000,"MaxDynamicPort":20{}10,
        "Networks":[{{"Mode":"host","Device":"eth0","IP":"10.0.0.{}"}}],"NodeNetworks":[{{"Mode":"host","Device":"eth0",
        "Addresses":[{{"Family":"ipv4","Alias":"{}","Address":"10.0.0.{}"}}]}}]}},
        "ReservedResources":{{"Networks":{{"ReservedHostPorts":"{}"}}}},"CreateIndex":5,"ModifyIndex":6}})",
        i + 1, i, below(3), chance(20) ? "edge" : "default", below(3), chance(30) ? 1 + below(3) : 0,
        chance(50) ? R"({"data":{"Name":"data","Path":"/d","ReadOnly":true}})" : "{}", 1000 * count, count, cores,
        500 + below(4000), 500 + below(9000), devices, below(2), i + 1, chance(20) ? "public" : "default", i + 1,
        ssh_taken_ ? "22" : "");
  }

  std::string constraint() {
    switch (below(4)) {
      case 0:
        return R"({"Operand":"distinct_hosts","RTarget":"true"})";
      case 1:
        return R"({"LTarget":"${meta.rack}","Operand":"distinct_property","RTarget":"1"})";
      default:
        return fmt::format(R"({{"LTarget":"${{meta.rack}}","Operand":"=","RTarget":"r{}"}})", below(4));
    }
  }

  std::string job() {
    static const char* const kTypes[] = {"service", "batch", "system", "sysbatch"};
    const std::uint64_t type = below(6) % 4;
    std::string groups;
    for (std::uint64_t g = 0, n = 1 + below(2); g < n; ++g) {
      const std::string resources = chance(30) ? fmt::format(R"("Cores":{},)", 1 + below(5))
                                               : fmt::format(R"("CPU":{},)", 100 + below(modest_ ? 200 : 5000));
      const std::string device =
          chance(30) ? fmt::format(R"(,"Devices":[{{"Name":"nvidia/gpu/a1","Count":{}}}])", 1 + below(3)) : "";
      const std::string ports = chance(40) ? fmt::format(
                                                 R"(,"Networks":[{{"ReservedPorts":[{{"Label":"ssh","Value":{}}}],
                                                 "DynamicPorts":[{{"Label":"p","HostNetwork":"{}"}}]}}])",
                                                 chance(50) ? 22 : 8080, chance(30) ? "public" : "default")
                                           : "";
      const std::string volume = chance(30)
                                     ? fmt::format(R"(,"Volumes":{{"v":{{"Name":"v","Type":"host","Source":"{}"}}}})",
                                                   chance(70) ? "data" : "none")
                                     : "";
      const std::string mount = volume.empty() ? "" : R"(,"VolumeMounts":[{"Volume":"v","Destination":"/v"}])";
      groups += fmt::format(
          R"({}{{"Name":"g{}","Count":{},"EphemeralDisk":{{"SizeMB":{}}}{}{},"Constraints":[{}],"Tasks":[{{"Name":"t",
          "Driver":"exec","Config":{{"command":"x"}},"LogConfig":{{"MaxFiles":2,"MaxFileSizeMB":10}},
          "Resources":{{{}"MemoryMB":{}{}}}{}}}]}})",
          g > 0 ? "," : "", g, type < 2 ? 1 + below(6) : 1, 30 + below(modest_ ? 100 : 6000), ports, volume,
          chance(40) ? constraint() : "", resources, 20 + below(modest_ ? 50 : 3000), device, mount);
    }
    return fmt::format(R"({{"Job":{{"ID":"j","Name":"j","Type":"{}","Priority":60,"Datacenters":["dc0"{}],
                       "Constraints":[{}],"TaskGroups":[{}]}}}})",
                       kTypes[type], chance(70) ? R"(,"dc1")" : "", chance(20) ? constraint() : "", groups);
  }

  std::mt19937_64 random_;
  bool modest_;     // small requests that fit nearly everywhere, so that ports, volumes and the like decide
  bool ssh_taken_;  // port 22, on all nodes
};

/// True if a plan of the file places the whole group.
bool fits(const Case& c, const json::Value& document, const std::string& group) {
  const auto registration = read_job(c.state, document, "job", "");
  if (!registration || !registration->job) return false;
  const server::DryRunAnswer answer = server::DryRun(c.state, *registration, kNow).answer(0);
  return answer.error.empty() && !answer.failed.contains(group) && answer.refusals.empty();
}

/// The patch with its number moved by one towards the file's present value; null if it has no number.
json::Value one_nearer(const json::Value& patch) {
  json::Value out = patch;
  json::Value& value = *out.items()[0].find("value");
  json::Value& number = value.is_object() ? value.members()[0].value : value;
  number = json::Value(number.as_int() + 1);
  return out;
}

TEST(Advice, ProposedAmountsFitAndOneLessDoesNot) {
  std::map<std::string, int> kinds;
  std::set<std::string> reasons;
  int groups = 0, sets = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(220); ++seed) {
    const Case c(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, json::to_text(c.document)));
    const auto registration = read_job(c.state, c.document, "job", "");
    ASSERT_TRUE(registration) << registration.error().line();
    ASSERT_TRUE(registration->job) << registration->error;
    server::DryRun dry_run(c.state, *registration, kNow);
    const server::DryRunAnswer answer = dry_run.answer(0);
    ASSERT_EQ(answer.error, "");
    const std::string path = "job";
    for (const GroupAdvice& advice :
         advise({c.state, c.document, path, "", {}, kNow, 0}, *registration, dry_run, answer)) {
      ++groups;
      for (const Shortage& s : advice.nearest) {
        for (const std::string& reason : s.reasons) reasons.insert(reason.substr(0, reason.find(' ')));
        EXPECT_TRUE(s.cpu_mhz + s.memory_mb + s.disk_mb + s.cores > 0 || !s.reasons.empty()) << s.node_name;
      }
      for (const Change& change : advice.changes) {
        SCOPED_TRACE(advice.group + ": " + change.text);
        ++kinds[change.text.substr(0, change.text.find(' '))];
        if (change.patch.is_null()) continue;  // preemption, which evicts nothing here, is not an edit of the job
        const json::Value edited = patched(c.document, change.patch);
        ASSERT_FALSE(edited.is_null());
        EXPECT_TRUE(fits(c, edited, advice.group));
        if (change.text.find(" and ") != std::string::npos) {
          ++sets;
          continue;  // SetsOfChangesAreTheSmallest
        }
        if (const std::size_t of = change.text.find(" instead of ");
            of != std::string::npos && change.text.find(": ") != std::string::npos) {
          const auto present = base::parse_int64(change.text.substr(of + 12, change.text.find(' ', of + 12) - of - 12));
          ASSERT_TRUE(present);
          const json::Value nearer = one_nearer(change.patch);
          EXPECT_FALSE(fits(c, patched(c.document, nearer), advice.group)) << "one less of a change would do";
        }
      }
    }
  }
  // The cases must cover each kind of change and of reason.
  EXPECT_GT(groups, testing::kSanitized ? 5 : 50);
  if (!testing::kSanitized) {
    EXPECT_GT(sets, 3);
    for (const char* kind : {"count:", "cpu", "cores", "memory", "disk", "port", "volume", "datacenter", "node"})
      EXPECT_GT(kinds[kind], 0) << kind;
    EXPECT_GT(kinds["no"] + kinds["count"], 0);
    for (const char* reason : {"cpu", "memory", "disk", "cores", "network:", "missing", "distinct_hosts"})
      EXPECT_TRUE(reasons.contains(reason)) << reason;
  }
}

// Without one of its operations a set of changes does not help.
TEST(Advice, SetsOfChangesAreTheSmallest) {
  int sets = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(220); ++seed) {
    const Case c(seed);
    const auto registration = read_job(c.state, c.document, "job", "");
    ASSERT_TRUE(registration && registration->job);
    server::DryRun dry_run(c.state, *registration, kNow);
    const server::DryRunAnswer answer = dry_run.answer(0);
    for (const GroupAdvice& advice :
         advise({c.state, c.document, "job", "", {}, kNow, 0}, *registration, dry_run, answer))
      for (const Change& change : advice.changes) {
        if (change.text.find(" and ") == std::string::npos || change.patch.is_null() || !change.node.empty()) continue;
        SCOPED_TRACE(fmt::format("seed {}: {}: {}", seed, advice.group, change.text));
        ++sets;
        for (std::size_t i = 0; i < change.patch.size(); ++i) {
          const json::Value& operation = change.patch.items()[i];
          json::Value others = json::Value::array();
          const std::string path = operation["path"].as_string();
          if (path.find("Ports") != std::string::npos || path.find("Mounts") != std::string::npos ||
              path.find("/Volumes/") != std::string::npos)
            continue;  // several operations are one change here
          for (std::size_t k = 0; k < change.patch.size(); ++k)
            if (k != i) others.push(change.patch.items()[k]);
          const json::Value edited = patched(c.document, others);
          EXPECT_FALSE(!edited.is_null() && fits(c, edited, advice.group)) << "without " << path;
        }
      }
  }
  EXPECT_GT(sets, testing::kSanitized ? -1 : 3);
}

TEST(Advice, ChangesThatRegistrationRefusesOrUndoesAreNotOffered) {
  Case c(1);
  c.document = *io::parse_json(R"({"Job":{"ID":"j","Type":"batch","Datacenters":["*"],"NodePool":"all","TaskGroups":[{
    "Name":"g","Count":1,"EphemeralDisk":{"SizeMB":10000000},"Tasks":[{"Name":"t","Driver":"exec",
    "Config":{"command":"x"},"LogConfig":{"MaxFiles":1,"MaxFileSizeMB":9000000},
    "Resources":{"CPU":10,"MemoryMB":10}}]}]}})",
                               "job");
  for (const bool implied : {false, true}) {
    if (implied) {  // Vault requires ${attr.vault.version}, even if the file does not name it (R-MODEL-241)
      json::Value& group = c.document.find("Job")->find("TaskGroups")->items()[0];
      group.find("EphemeralDisk")->set("SizeMB", 10000001);
      json::Value& task = group.find("Tasks")->items()[0];
      json::Value vault = json::Value::object();
      vault.set("Role", "r");
      task.find("LogConfig")->set("MaxFileSizeMB", 10), task.set("Vault", std::move(vault));
      group.find("EphemeralDisk")->set("SizeMB", 300);
    }
    const auto registration = read_job(c.state, c.document, "job", "");
    ASSERT_TRUE(registration && registration->job) << registration->error;
    server::DryRun dry_run(c.state, *registration, kNow);
    const auto advice =
        advise({c.state, c.document, "job", "", {}, kNow, 0}, *registration, dry_run, dry_run.answer(0));
    ASSERT_EQ(advice.size(), 1U);
    EXPECT_TRUE(advice[0].changes.empty()) << advice[0].changes[0].text;
    EXPECT_EQ(implied, advice[0].filtered_most.find("vault") != std::string::npos) << advice[0].filtered_most;
  }
}

/// Other failed groups for which the plan places nothing.
std::vector<std::string> idle_of(const server::DryRunAnswer& answer, const model::Job& job, const std::string& group) {
  std::vector<std::string> out;
  if (job.type == "system" || job.type == "sysbatch") return out;
  for (const auto& [name, metric] : answer.failed)
    if (name != group && job.group(name)->networks.empty()) out.push_back(name);
  for (const auto& [node, allocs] : answer.plan.node_allocation)
    for (const model::Allocation& alloc : allocs) std::erase(out, alloc.task_group);
  return out;
}

TEST(Advice, LeavingOutGroupsThatPlaceNothingChangesNoOffer) {
  int offers = 0, left_out = 0;
  for (std::uint64_t seed = 1000; seed <= 1000 + testing::rounds(120, 30); ++seed) {
    Case c(seed);
    // Twice the groups, so that some place nothing while others fail too.
    json::Value& groups = *c.document.find("Job")->find("TaskGroups");
    for (std::size_t g = 0, n = groups.size(); g < n; ++g) {
      json::Value again = groups.items()[g];
      again.set("Name", again["Name"].as_string() + "-again");
      groups.push(std::move(again));
    }
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, json::to_text(c.document)));
    const auto registration = read_job(c.state, c.document, "job", "");
    ASSERT_TRUE(registration && registration->job);
    server::DryRun dry_run(c.state, *registration, kNow);
    const server::DryRunAnswer answer = dry_run.answer(0);
    const Question question{c.state, c.document, "job", "", {}, kNow, 0};
    Loaded loaded(question);
    for (const GroupAdvice& advice : advise(question, *registration, dry_run, answer)) {
      left_out += answer.failed.size() > 1;
      std::vector<const model::Node*> nodes;
      for (const model::Node& node : c.state.nodes) nodes.push_back(&node);
      Findings findings{find_obstacles(loaded, *registration, advice.group, nodes), {}};
      const auto metric = answer.failed.find(advice.group);
      if (metric != answer.failed.end())
        for (const auto& [constraint, count] : metric->second.constraint_filtered) findings.filters.insert(constraint);
      for (const NodeObstacles& of : findings.nodes)
        for (const Obstacle& obstacle : of.obstacles)
          if (obstacle.constraint) findings.filters.insert(obstacle.reason);
      const std::vector<std::string> idle = idle_of(answer, *registration->job, advice.group);
      const auto left = changes_that_fit(loaded, *registration, advice.group, advice.failed, idle, findings);
      const auto whole = changes_that_fit(loaded, *registration, advice.group, advice.failed, {}, findings);
      ASSERT_EQ(left.size(), whole.size()) << advice.group;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(left[i].text, whole[i].text);
        ++offers;
      }
    }
  }
  EXPECT_GT(offers, testing::kSanitized ? 0 : 50);
  EXPECT_GT(left_out, testing::kSanitized ? 0 : 20);
}

TEST(Advice, FirstGroupsGetAdviceAndALineCountsTheOthers) {
  Case c(1);
  json::Value& groups = *c.document.find("Job")->find("TaskGroups");
  json::Value one = groups.items()[0];
  groups = json::Value::array();
  one.find("Tasks")->items()[0].find("Resources")->set("MemoryMB", 1'000'000);
  for (int g = 0; g < 20; ++g) {
    one.set("Name", fmt::format("g{:02}", g));
    groups.push(one);
  }
  const auto registration = read_job(c.state, c.document, "job", "");
  ASSERT_TRUE(registration && registration->job);
  server::DryRun dry_run(c.state, *registration, kNow);
  const server::DryRunAnswer answer = dry_run.answer(0);
  ASSERT_EQ(answer.failed.size(), 20U);
  const Question question{c.state, c.document, "job", "", {}, kNow, 0};
  EXPECT_EQ(advise(question, *registration, dry_run, answer).size(), kAdvised);
  const auto first = advise(question, *registration, dry_run, answer, 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].group + first[1].group, "g00g01");
  EXPECT_TRUE(
      advice::to_text(first, 18).ends_with("No advice for 18 more failed groups; --advice 20 gives it for all.\n"));
  EXPECT_TRUE(advise(question, *registration, dry_run, answer, 0).empty());
  EXPECT_EQ(advice::to_text({}, 1), "No advice for 1 failed group; --advice 1 gives it for all.\n");
  EXPECT_EQ(advice::to_text(first, 0).find("No advice"), std::string::npos);
}

/// A node n1 with rack r1, and the job `j` there: group a, which wants two racks and has one allocation, and group b.
class TwoRacksWanted {
 public:
  model::ClusterState state;
  json::Value document;

  TwoRacksWanted() {
    const std::string node = "00000001-1111-4111-8111-111111111111";
    auto cluster = io::import_cluster_json(
        *io::parse_json(
            fmt::format(R"({{"/v1/node/{0}":{{"ID":"{0}","Name":"n1","Datacenter":"dc1","NodePool":"default",
          "Status":"ready","SchedulingEligibility":"eligible","Attributes":{{"kernel.name":"linux"}},"Meta":{{"rack":"r1"}},
          "Drivers":{{"exec":{{"Detected":true,"Healthy":true}}}},"NodeResources":{{"Cpu":{{"CpuShares":4000}},
          "Memory":{{"MemoryMB":4000}},"Disk":{{"DiskMB":9000}},"Networks":[{{"Mode":"host","Device":"eth0"}}]}},"StatusUpdatedAt":100,"CreateIndex":5,
          "ModifyIndex":6}},"/v1/operator/scheduler/configuration":{{"SchedulerConfig":{{}}}}}})",
                        node),
            "text"),
        "cluster");
    EXPECT_TRUE(cluster) << cluster.error().line();
    state = std::move(cluster->state);
    const auto group = [](const char* name, int count, const char* constraints) {
      return fmt::format(R"({{"Name":"{}","Count":{},"Constraints":[{}],"EphemeralDisk":{{"SizeMB":10}},
        "Tasks":[{{"Name":"t","Driver":"exec","Config":{{"command":"x"}},"LogConfig":{{"MaxFiles":1,"MaxFileSizeMB":5}},
        "Resources":{{"CPU":100,"MemoryMB":64}}}}]}})",
                         name, count, constraints);
    };
    document =
        *io::parse_json(R"({"Job":{"ID":"j","Type":"service","Datacenters":["dc1"],"TaskGroups":[)" +
                            group("a", 2, R"({"LTarget":"${meta.rack}","Operand":"distinct_property","RTarget":"1"})") +
                            "," + group("b", 0, "") + "]}}",
                        "job");
    const auto registration = read_job(state, document, "job", "");
    EXPECT_TRUE(registration && registration->job);
    const auto job = std::make_shared<model::Job>(*registration->job);
    job->create_index = job->modify_index = job->job_modify_index = 10;
    state.jobs.push_back(job), state.job_versions.push_back(job);
    model::Allocation& alloc = state.allocs.emplace_back();
    alloc.id = "aaaaaaaa-1111-4111-8111-111111111111";
    alloc.namespace_ = "default", alloc.job_id = "j", alloc.job = job;
    alloc.task_group = "a", alloc.name = "j.a[0]";
    alloc.node_id = node, alloc.node_name = "n1";
    alloc.desired_status = "run", alloc.client_status = "running";
    alloc.allocated_resources.emplace().tasks["t"].cpu.cpu_shares = 100;
    alloc.create_index = 20, alloc.modify_index = 30;
    alloc.modify_time = 2'000 * base::kSecond;
  }
};

// With group b taken out the job is a new version, whose update in place counts twice (R-FEAS-1405).
TEST(Advice, AnAllocationOfAnUnchangedJobCountsOnce) {
  const TwoRacksWanted c;
  const auto registration = read_job(c.state, c.document, "job", "");
  server::DryRun dry_run(c.state, *registration, kNow);
  ASSERT_FALSE(dry_run.changed());
  const server::DryRunAnswer answer = dry_run.answer(0);
  ASSERT_TRUE(answer.failed.contains("a"));
  const std::string used = "distinct_property: ${meta.rack}=r1 used by 1 allocs";
  ASSERT_TRUE(answer.failed.at("a").constraint_filtered.contains(used));
  const std::string path = "job";
  const auto advice = advise({c.state, c.document, path, "", {}, kNow, 0}, *registration, dry_run, answer);
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].filtered_most, used);
  EXPECT_EQ(advice[0].filtered_nodes, 1);
  ASSERT_EQ(advice[0].nearest.size(), 1U);
  EXPECT_EQ(advice[0].nearest[0].reason(), used);
}

TEST(DryRun, OneLoadedClusterAnswersAsFreshOnesDo) {
  for (std::uint64_t seed = 1; seed <= testing::rounds(40); ++seed) {
    Case c(seed);
    c.state.nodes[1].scheduling_eligibility = "ineligible";
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, json::to_text(c.document)));
    const auto registration = read_job(c.state, c.document, "job", "");
    ASSERT_TRUE(registration && registration->job);
    model::SchedulerConfiguration config;
    config.preemption_config = {true, true, true, true};
    server::DryRun shared(c.state, *registration, kNow);
    const auto text = [](const server::DryRunAnswer& answer) {
      return json::to_text(advice::to_json(answer)["FailedTGAllocs"]) +
             json::to_text(advice::to_json(answer)["Annotations"]);
    };
    for (const std::size_t node : {2, 1, 0, 2, 2, 9}) {
      const bool one = node < c.state.nodes.size();
      const std::string id = one ? c.state.nodes[node].id : "";
      server::DryRun fresh(c.state, *registration, kNow);
      if (one) {
        ASSERT_TRUE(fresh.restrict_to(id) && shared.restrict_to(id));
      } else {
        shared.unrestrict();
      }
      EXPECT_EQ(text(shared.decide(0)), text(fresh.decide(0))) << node;
      shared.configure(config), fresh.configure(config);
      EXPECT_EQ(text(shared.decide(0)), text(fresh.decide(0))) << node;
      shared.configure({});
      shared.pass_over({"g0"});
      const server::DryRunAnswer others = shared.decide(0);
      EXPECT_FALSE(others.failed.contains("g0"));
      for (const auto& [id_of, allocs] : others.plan.node_allocation)
        for (const model::Allocation& alloc : allocs) EXPECT_NE(alloc.task_group, "g0");
      shared.pass_over({});
    }
  }
}

TEST(DryRun, ASupposedNodeCountsAsReadyUntilItIsForgotten) {
  for (std::uint64_t seed = 1; seed <= testing::rounds(30); ++seed) {
    Case c(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto registration = read_job(c.state, c.document, "job", "");
    ASSERT_TRUE(registration && registration->job);
    const auto text = [](const server::DryRunAnswer& answer) {
      return json::to_text(advice::to_json(answer)["FailedTGAllocs"]) +
             json::to_text(advice::to_json(answer)["Annotations"]);
    };
    const std::string ready = text(server::DryRun(c.state, *registration, kNow).decide(0));
    model::Node& node = c.state.nodes[seed % c.state.nodes.size()];
    switch (seed % 3) {
      case 0:
        node.scheduling_eligibility = "ineligible";
        break;
      case 1:
        node.status = "down";
        break;
      default:
        node.drain_strategy.emplace(), node.scheduling_eligibility = "ineligible";
    }
    server::DryRun dry_run(c.state, *registration, kNow);
    const std::string as_it_is = text(dry_run.decide(0));
    ASSERT_TRUE(dry_run.suppose_ready(node.id));
    EXPECT_EQ(text(dry_run.decide(0)), ready);
    dry_run.unrestrict();
    EXPECT_EQ(text(dry_run.decide(0)), as_it_is);
    ASSERT_TRUE(dry_run.restrict_to(node.id) && dry_run.suppose_ready(node.id));
    ASSERT_TRUE(dry_run.restrict_to(c.state.nodes[0].id));
    dry_run.unrestrict();
    EXPECT_EQ(text(dry_run.decide(0)), as_it_is);
    EXPECT_FALSE(dry_run.suppose_ready("no node"));
  }
}

TEST(NewestTime, NamesItsObjectAndField) {
  TwoRacksWanted c;
  Newest newest = newest_time(c.state);
  EXPECT_EQ(newest.ns, 2'000 * base::kSecond);
  EXPECT_EQ(newest.kind + " " + newest.id + " " + newest.field,
            "allocation aaaaaaaa-1111-4111-8111-111111111111 ModifyTime");
  c.state.nodes[0].status_updated_at = 3'000;
  EXPECT_EQ(newest_time(c.state).field, "StatusUpdatedAt");
  c.state.nodes[0].status_updated_at = std::numeric_limits<std::int64_t>::max();  // beyond the latest time
  EXPECT_EQ(newest_time(c.state).field, "ModifyTime");
  c.state.allocs[0].modify_time = std::numeric_limits<std::int64_t>::max();  // no clock could continue from it
  EXPECT_LT(newest_time(c.state).ns, 3'000 * base::kSecond);
  EXPECT_EQ(newest_time({}).ns, 0);
}

TEST(PlanText, NamesTheNextStepOfARollingUpdate) {  // R-SEED-38
  server::DryRunAnswer answer;
  answer.created.resize(2);
  answer.created[0].triggered_by = "queued-allocs";
  answer.created[1].triggered_by = "rolling-update";
  answer.next_launch = base::Time{90 * base::kSecond};
  for (const auto& [wait, text] : {std::pair{30, "30s"}, {90, "1m30s"}, {7200, "2h0m0s"}}) {
    answer.created[1].wait = wait * base::kSecond;
    EXPECT_NE(
        advice::to_text(answer, "system", {})
            .find(fmt::format("- All tasks successfully allocated.\n- Rolling update, next evaluation will be in {}.\n"
                              "- If submitted now, next periodic launch",
                              text)),
        std::string::npos)
        << advice::to_text(answer, "system", {});
  }
  answer.created.pop_back();
  EXPECT_EQ(advice::to_text(answer, "system", {}).find("Rolling"), std::string::npos);
}

// Under worst-fit, group `a` takes the emptier node of two and leaves too little there for `b`; Nomad's fit takes the
// smaller one. MHz: n1 600, n2 1000; `a` requests 300, `b` 800.
TEST(Advice, PlanRehearsalAndAdviceAgreeUnderAStrategy) {
  const auto node = [](int number, int cpu_mhz) {
    return fmt::format(
        R"("/v1/node/0000000{0}-1111-4111-8111-111111111111":{{"ID":"0000000{0}-1111-4111-8111-111111111111",
      "Name":"n{0}","Datacenter":"dc1","NodePool":"default","Status":"ready","SchedulingEligibility":"eligible",
      "Attributes":{{"kernel.name":"linux"}},"Drivers":{{"exec":{{"Detected":true,"Healthy":true}}}},
      "NodeResources":{{"Cpu":{{"CpuShares":{1},"TotalCpuCores":1,"ReservableCpuCores":[0]}},
      "Processors":{{"Topology":{{"Nodes":[0],"Distances":[[10]],"Cores":[{{"SocketID":0,"NodeID":0,"ID":0,"Grade":true,
      "BaseSpeed":{1}}}]}}}},"Memory":{{"MemoryMB":4000}},"Disk":{{"DiskMB":9000}},
      "Networks":[{{"Mode":"host","Device":"eth0"}}]}},"CreateIndex":5,"ModifyIndex":6}})",
        number, cpu_mhz);
  };
  const auto group = [](const char* name, int cpu_mhz) {
    return fmt::format(R"({{"Name":"{}","Count":1,"EphemeralDisk":{{"SizeMB":10}},"Tasks":[{{"Name":"t","Driver":"exec",
      "Config":{{"command":"x"}},"LogConfig":{{"MaxFiles":1,"MaxFileSizeMB":5}},
      "Resources":{{"CPU":{},"MemoryMB":64}}}}]}})",
                       name, cpu_mhz);
  };
  auto cluster =
      io::import_cluster_json(*io::parse_json("{" + node(1, 600) + "," + node(2, 1000) +
                                                  R"(,"/v1/operator/scheduler/configuration":{"SchedulerConfig":{}}})",
                                              "text"),
                              "cluster");
  ASSERT_TRUE(cluster) << cluster.error().line();
  const model::ClusterState& state = cluster->state;
  const json::Value document =
      *io::parse_json(R"({"Job":{"ID":"j","Type":"service","Datacenters":["dc1"],"TaskGroups":[)" + group("a", 300) +
                          "," + group("b", 800) + "]}}",
                      "job");
  const auto registration = read_job(state, document, "job", "");
  ASSERT_TRUE(registration && registration->job) << registration->error;
  const auto nodes_after = [](const server::DryRun& dry_run, std::uint64_t order) {
    model::ClusterState after;
    EXPECT_EQ(dry_run.rehearse(order, &after).end, server::Rehearsal::End::complete);
    std::string out;
    for (const model::Allocation& alloc : after.allocs) out += alloc.name + " on " + alloc.node_name + ", ";
    return out;
  };
  server::DryRun dry_run(state, *registration, kNow);
  for (std::uint64_t order = 0; order < 4; ++order) {  // both nodes are visited in any order
    EXPECT_TRUE(dry_run.decide(order).failed.empty());
    EXPECT_NE(nodes_after(dry_run, order).find("j.b[0] on n2"), std::string::npos);
  }
  const auto strategy = server::scoring_strategy("worst-fit", dry_run.tables());
  ASSERT_TRUE(strategy) << strategy.error().line();
  dry_run.score_by(*strategy);
  for (std::uint64_t order = 0; order < 4; ++order) {
    EXPECT_TRUE(dry_run.decide(order).failed.contains("b"));
    EXPECT_EQ(nodes_after(dry_run, order), "j.a[0] on n2, ");
  }
  const Question question{state, document, "job", "", {}, kNow, 0, &*strategy};
  const auto advice = advise(question, *registration, dry_run, dry_run.answer());
  ASSERT_EQ(advice.size(), 1U);
  ASSERT_FALSE(advice[0].changes.empty());
  EXPECT_EQ(advice[0].changes[0].text, "cpu of task \"t\": 700 instead of 800 MHz");
  for (const Change& change : advice[0].changes) {
    const auto edited = read_job(state, patched(document, change.patch), "job", "");
    ASSERT_TRUE(edited && edited->job);
    EXPECT_TRUE(server::DryRun(state, *edited, kNow, &*strategy).decide().failed.empty()) << change.text;
  }
  const auto score_on_n2 = [&](const server::ScoringStrategy* by) {
    const auto text = explain({state, document, "job", "", {}, kNow, 0, by}, *registration, "n2");
    EXPECT_TRUE(text) << text.error();
    return text ? *text : "";
  };
  EXPECT_NE(score_on_n2(&*strategy), score_on_n2(nullptr));
}

TEST(Advice, PatchesFollowRfc6902) {
  const json::Value document = *io::parse_json(R"({"a/b":{"m~n":[1,2,3]},"c":1})", "text");
  const auto with = [&](const char* patch) { return json::to_text(patched(document, *io::parse_json(patch, "text"))); };
  EXPECT_EQ(with(R"([{"op":"remove","path":"/a~1b/m~0n/1"},{"op":"add","path":"/c","value":2}])"),
            R"({"a/b":{"m~n":[1,3]},"c":2})");
  EXPECT_EQ(with(R"([{"op":"add","path":"/a~1b/m~0n/-","value":4}])"), R"({"a/b":{"m~n":[1,2,3,4]},"c":1})");
  EXPECT_EQ(with(R"([{"op":"remove","path":"/d"}])"), "null");
  EXPECT_EQ(with(R"([{"op":"remove","path":"/a~1b/m~0n/3"}])"), "null");
  EXPECT_EQ(with(R"([{"op":"add","path":"/c/x","value":1}])"), "null");
}

}  // namespace
}  // namespace berth::dryrun
