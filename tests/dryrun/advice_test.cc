// What `berth plan` says of a group that does not fit, over random clusters and jobs: every change that it offers is
// made in the job file, and the file planned again.
#include "dryrun/advice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/text.h"
#include "dryrun/request.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "support/sanitized.h"

namespace berth::dryrun {
namespace {

constexpr std::int64_t kNow = 1'795'309'000'000'000'000;

/// A small cluster and a job that asks for much, of one seed.
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
  bool modest_;     // asks that fit nearly everywhere, so that ports, volumes and the like decide
  bool ssh_taken_;  // port 22, on all nodes
};

/// Whether the group is placed whole when the file is planned.
bool fits(const Case& c, const json::Value& document, const std::string& group) {
  const auto registration = read_job(c.state, document, "job", "");
  if (!registration || !registration->job) return false;
  const sched::DryRunAnswer answer = sched::DryRun(c.state, *registration, kNow).answer(0);
  return answer.error.empty() && !answer.failed.contains(group) && answer.refusals.empty();
}

/// The patch with its number one nearer to what the file has now; null when it has none.
json::Value one_nearer(const json::Value& patch) {
  json::Value out = patch;
  json::Value& value = *out.items()[0].find("value");
  json::Value& number = value.is_object() ? value.members()[0].value : value;
  number = json::Value(number.as_int() + 1);
  return out;
}

TEST(Advice, WhatItSaysWouldFitFitsAndOneLessDoesNot) {
  std::map<std::string, int> kinds;
  std::set<std::string> reasons;
  int groups = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(220); ++seed) {
    const Case c(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, json::to_text(c.document)));
    const auto registration = read_job(c.state, c.document, "job", "");
    ASSERT_TRUE(registration) << registration.error().line();
    ASSERT_TRUE(registration->job) << registration->error;
    sched::DryRun dry_run(c.state, *registration, kNow);
    const sched::DryRunAnswer answer = dry_run.answer(0);
    ASSERT_EQ(answer.error, "");
    const std::string path = "job";
    for (const GroupAdvice& advice :
         advise({c.state, c.document, path, "", {}, kNow, 0}, *registration, dry_run, answer)) {
      ++groups;
      for (const Shortage& s : advice.nearest) {
        if (!s.reason.empty()) reasons.insert(s.reason.substr(0, s.reason.find(' ')));
        EXPECT_TRUE(s.cpu_mhz + s.memory_mb + s.disk_mb + s.cores > 0 || !s.reason.empty()) << s.node_name;
      }
      for (const Change& change : advice.changes) {
        SCOPED_TRACE(advice.group + ": " + change.text);
        ++kinds[change.text.substr(0, change.text.find(' '))];
        if (change.patch.is_null()) continue;  // preemption, which evicts nobody here, is no edit of the job
        const json::Value edited = patched(c.document, change.patch);
        ASSERT_FALSE(edited.is_null());
        EXPECT_TRUE(fits(c, edited, advice.group));
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
  // The cases must be about something: each kind of change and of reason occurs.
  EXPECT_GT(groups, testing::kSanitized ? 5 : 50);
  if (!testing::kSanitized) {
    for (const char* kind : {"count:", "cpu", "cores", "memory", "disk", "port", "volume", "datacenter", "node"})
      EXPECT_GT(kinds[kind], 0) << kind;
    EXPECT_GT(kinds["no"] + kinds["count"], 0);
    for (const char* reason : {"cpu", "memory", "disk", "cores", "network:", "missing", "distinct_hosts"})
      EXPECT_TRUE(reasons.contains(reason)) << reason;
  }
}

TEST(Advice, WhatRegistrationWouldRefuseOrPutBackIsNotOffered) {
  Case c(1);
  c.document = *io::parse_json(R"({"Job":{"ID":"j","Type":"batch","Datacenters":["*"],"NodePool":"all","TaskGroups":[{
    "Name":"g","Count":1,"EphemeralDisk":{"SizeMB":10000000},"Tasks":[{"Name":"t","Driver":"exec",
    "Config":{"command":"x"},"LogConfig":{"MaxFiles":1,"MaxFileSizeMB":9000000},
    "Resources":{"CPU":10,"MemoryMB":10}}]}]}})",
                               "job");
  for (const bool implied : {false, true}) {
    if (implied) {  // Vault asks for ${attr.vault.version}, whether the file says so or not (R-MODEL-241)
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
    sched::DryRun dry_run(c.state, *registration, kNow);
    const auto advice =
        advise({c.state, c.document, "job", "", {}, kNow, 0}, *registration, dry_run, dry_run.answer(0));
    ASSERT_EQ(advice.size(), 1U);
    EXPECT_TRUE(advice[0].changes.empty()) << advice[0].changes[0].text;
    EXPECT_EQ(implied, advice[0].filtered_most.find("vault") != std::string::npos) << advice[0].filtered_most;
  }
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
