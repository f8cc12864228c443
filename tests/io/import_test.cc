#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/cluster_json.h"
#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/small_export.h"
#include "model/codec/codec.h"
#include "model/job.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;
using berth::testing::kAlloc1;
using berth::testing::kAlloc2;
using berth::testing::kAlloc3;
using berth::testing::kNode1;

constexpr const char *kNodePath = "/v1/node/10000000-0000-4000-8000-000000000001",
                     *kAllocsPath = "/v1/node/10000000-0000-4000-8000-000000000001/allocations",
                     *kAllocPath = "/v1/allocation/a0000000-0000-4000-8000-000000000002";

json::Value small_export() { return parse_json(berth::testing::kSmallExport).value(); }

ClusterImport imported(const json::Value& document, bool strict = false) {
  auto done = import_cluster_json(document, "test", {strict});
  EXPECT_TRUE(done) << (done ? "" : done.error().line());
  return done ? std::move(*done) : ClusterImport{};
}

const model::Allocation* alloc_of(const model::ClusterState& state, const char* id) {
  for (const auto& alloc : state.allocs)
    if (alloc.id == id) return &alloc;
  return nullptr;
}

struct Scratch {
  fs::path path = fs::path(BERTH_BINARY_DIR) / "import_test";
  Scratch() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Scratch() { fs::remove_all(path); }
  std::string file(const char* name, std::string_view text) const {
    std::ofstream((path / name).string()) << text;
    return (path / name).string();
  }
};

TEST(Import, GathersAnExport) {  // R-MODEL-610 to 613
  const ClusterImport done = imported(small_export(), true);
  const model::ClusterState& state = done.state;
  EXPECT_TRUE(done.warnings.empty()) << done.warnings[0];
  ASSERT_EQ(state.nodes.size(), 2u);
  EXPECT_EQ(state.nodes[0].id, kNode1);
  EXPECT_FALSE(state.nodes[1].computed_class.empty());
  EXPECT_TRUE(state.nodes[1].node_resources->processors);  // from the legacy mirror (R-MODEL-615, 431)
  EXPECT_EQ(state.node_pools.size(), 3u);                  // all, batch, default
  ASSERT_EQ(state.jobs.size(), 1u);
  EXPECT_EQ(state.jobs[0]->version, 1u);
  EXPECT_EQ(state.job_versions.size(), 2u);
  ASSERT_EQ(state.allocs.size(), 3u);
  EXPECT_EQ(state.evals.size(), 1u);
  EXPECT_EQ(state.deployments.size(), 1u);
  EXPECT_EQ(state.host_volume_claims.size(), 1u);
  EXPECT_EQ(state.scheduler_config->scheduler_algorithm, "binpack");
  EXPECT_EQ(state.index, 32u);
}

TEST(Import, SharesJobVersions) {
  const model::ClusterState state = imported(small_export()).state;
  EXPECT_EQ(alloc_of(state, kAlloc1)->job, state.job_versions[0]);
  EXPECT_EQ(alloc_of(state, kAlloc2)->job, state.jobs[0]);
  EXPECT_EQ(alloc_of(state, kAlloc3)->job, state.job_versions[0]);  // a list entry: found by its JobVersion
}

TEST(Import,
     AllocationsWithTheirJobNeedNoSeparateVersion) {  // it would be in the CLUSTER.json, and not in the next one
  json::Value document = small_export();
  document.find(kAllocPath)->set("JobVersion", 7);
  const model::Allocation* alloc = nullptr;
  const model::ClusterState state = imported(document).state;
  ASSERT_TRUE((alloc = alloc_of(state, kAlloc2)) && alloc->job);
  EXPECT_TRUE(alloc->extra.is_null()) << json::to_text(alloc->extra);
}

TEST(Import, DropsPortMappingsThatOnlyTheSingleEndpointShows) {  // R-MODEL-612
  const model::ClusterState state = imported(small_export()).state;
  EXPECT_TRUE(alloc_of(state, kAlloc2)->allocated_resources->shared.ports.empty());
  EXPECT_EQ(alloc_of(state, kAlloc2)->allocated_resources->tasks.at("main").networks.size(), 1u);
}

TEST(Import, RoundTrips) {
  const model::ClusterState state = imported(small_export()).state;
  const json::Value written = cluster_to_json(state);
  const ClusterImport again = imported(written, true);
  EXPECT_EQ(again.state.index, state.index);
  EXPECT_EQ(again.state.nodes, state.nodes);
  EXPECT_EQ(again.state.evals, state.evals);
  EXPECT_EQ(again.state.deployments, state.deployments);
  EXPECT_EQ(again.state.scheduler_config, state.scheduler_config);
  ASSERT_EQ(again.state.allocs.size(), state.allocs.size());
  for (std::size_t i = 0; i < state.allocs.size(); ++i) {
    EXPECT_EQ(model::to_json(again.state.allocs[i]), model::to_json(state.allocs[i]));
    EXPECT_EQ(*again.state.allocs[i].job, *state.allocs[i].job);
  }
  EXPECT_TRUE(alloc_of(again.state, kAlloc1)->reschedule_tracker->events);  // present and empty (R-MODEL-347)
  EXPECT_EQ(json::to_text(cluster_to_json(again.state)), json::to_text(written));
}

TEST(Import, KeepsJobsThatDifferFromTheirStoredVersion) {
  model::ClusterState state = imported(small_export()).state;
  auto purged = std::make_shared<model::Job>(*state.jobs[0]);
  purged->create_index = 3;  // an earlier registration of the same name
  auto odd = std::make_shared<model::Job>(*state.jobs[0]);
  odd->priority = 77;
  state.allocs[0].job = purged;
  state.allocs[1].job = odd;
  const ClusterImport again = imported(cluster_to_json(state));
  EXPECT_EQ(*again.state.allocs[0].job, *purged);
  EXPECT_EQ(*again.state.allocs[1].job, *odd);
  EXPECT_EQ(again.state.job_versions.size(), 2u);
}

TEST(Import, StoresJobsOfAllocationsInTheirRegisteredForm) {  // R-MODEL-621
  json::Value cluster = cluster_to_json(imported(small_export()).state);
  cluster.find("Allocs")->items()[0].set("Job", parse_json(R"({"ID": "web", "VaultToken": "hidden",
      "TaskGroups": [{"Name": "web", "Tasks": [{"Name": "main", "Driver": "exec"}]}]})")
                                                    .value());
  const ClusterImport done = imported(cluster);
  ASSERT_TRUE(done.state.allocs[0].job);
  EXPECT_EQ(done.state.allocs[0].job->priority, 50);
  const std::string written = json::to_text(cluster_to_json(done.state));
  EXPECT_EQ(written.find("hidden"), written.npos);
  EXPECT_EQ(json::to_text(cluster_to_json(imported(parse_json(written).value()).state)), written);
}

TEST(Import, ReadsFoldersAndSingleAnswers) {  // R-MODEL-611, 615
  const Scratch scratch;
  const json::Value all = small_export();
  const auto text = [&](const char* path) { return json::to_text(all[path]); };
  scratch.file("n1.json", text(kNodePath));
  scratch.file("n2.json", text("/v1/node/10000000-0000-4000-8000-000000000002"));
  scratch.file("allocs.json", text(kAllocsPath));
  scratch.file("job.json", text("/v1/job/web"));
  scratch.file("versions.json", text("/v1/job/web/versions"));
  scratch.file("config.json", text("/v1/operator/scheduler/configuration"));
  scratch.file("other.json", R"({"Nothing":1})");
  scratch.file("notes.txt", "not read");
  const auto done = import_cluster(scratch.path.string());
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->state.nodes.size(), 2u);
  EXPECT_EQ(done->state.allocs.size(), 1u);
  EXPECT_EQ(done->state.job_versions.size(), 2u);
  EXPECT_EQ(done->warnings.size(), 1u);  // pool batch that only a node names
  EXPECT_EQ(done->notes.size(), 1u);     // other.json
  const auto single = import_cluster((scratch.path / "n1.json").string());
  ASSERT_TRUE(single) << single.error().line();
  EXPECT_EQ(single->state.nodes.size(), 1u);
}

TEST(Import, RegistersAJobFile) {  // R-MODEL-620
  const ClusterImport done = imported(
      parse_json(R"({"Job":{"ID":"j","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"exec"}]}]}})").value());
  ASSERT_EQ(done.state.jobs.size(), 1u);
  EXPECT_EQ(done.state.jobs[0]->priority, 50);
}

/// The small export with one value replaced; null removes the member.
json::Value edited(const char* path, std::initializer_list<const char*> keys, const json::Value& value) {
  json::Value all = small_export();
  json::Value* at = all.find(path);
  for (auto key = keys.begin(); key + 1 != keys.end(); ++key)
    at = at->is_array() ? &at->items()[static_cast<std::size_t>(std::stoul(*key))] : at->find(*key);
  const char* last = *(keys.end() - 1);
  if (value.is_null())
    at->erase(last);
  else
    at->set(last, value);
  return all;
}

struct BadCase {
  const char* name;
  json::Value document;
  bool is_error;     // otherwise a warning
  const char* text;  // part of the message
};

TEST(Import, NamesEveryContradiction) {  // R-MODEL-9, 211, 614
  const char *node = kNodePath, *alloc = kAllocPath, *allocs = kAllocsPath;
  const char *lost = "20000000-0000-4000-8000-000000000009", *only_listed = "20000000-0000-4000-8000-000000000007";
  json::Value twice = cluster_to_json(imported(small_export()).state);
  json::Value copy = twice["Nodes"][0];
  copy.set("NodeClass", "other");
  twice.find("Nodes")->push(copy);
  json::Value lost_version = edited("/v1/deployments", {"0", "JobVersion"}, 9);
  lost_version.find("/v1/deployments")->items()[0].set("Status", "running");
  json::Value array = json::Value::array();
  array.push(1);
  const std::vector<BadCase> cases = {
      {"no resources", edited(node, {"NodeResources"}, {}), true, kNode1},
      {"mistyped", edited(node, {"NodeResources", "Memory", "MemoryMB"}, "8 GiB"), true,
       "/NodeResources/Memory/MemoryMB"},
      {"fraction", edited(node, {"NodeResources", "Memory", "MemoryMB"}, 0.5), true, "expected an integer"},
      {"line feed in a key", edited(node, {"Attributes", "a\nb"}, 5), true, "/Attributes/a\\x0ab: expected a string"},
      {"node is a list", edited(node, {"Attributes"}, array), true, "/Attributes"},
      {"algorithm", edited("/v1/operator/scheduler/configuration", {"SchedulerConfig", "SchedulerAlgorithm"}, "best"),
       true, "invalid scheduler algorithm: best"},
      {"long id", edited(node, {"ID"}, std::string(10'000'000, 'x')), true, "bytes"},
      {"no id", edited(node, {"ID"}, {}), true, "a node without an ID"},
      {"index", edited(node, {"ModifyIndex"}, -1), true, "outside"},
      {"time", edited(allocs, {"0", "TaskStates", "main", "StartedAt"}, "yesterday"), true, "RFC 3339"},
      {"late time", edited(allocs, {"0", "TaskStates", "main", "StartedAt"}, "9999-12-31T23:59:59Z"), true,
       "'9999-12-31T23:59:59Z' lies after 2262-04-11T23:47:16Z"},
      {"port range", edited(node, {"NodeResources", "MaxDynamicPort"}, 70000), true, "port"},
      {"negative node", edited(node, {"NodeResources", "Memory", "MemoryMB"}, -5), false, "negative"},
      {"negative alloc", edited(alloc, {"AllocatedResources", "Tasks", "main", "Memory", "MemoryMB"}, -5), false,
       "negative"},
      {"over-committed", edited(alloc, {"AllocatedResources", "Tasks", "main", "Cpu", "CpuShares"}, 9000), false,
       "000000000001: its allocations use 9500 MHz of 3900"},
      {"no job", edited(alloc, {"Job"}, {}), false, "000000000002: its job is not there; left out"},
      {"no group", edited(alloc, {"TaskGroup"}, "gone"), false, "no group gone"},
      {"unknown node", edited(alloc, {"NodeID"}, lost), false,
       "its node 20000000-0000-4000-8000-000000000009 is not there"},
      {"stub only", edited("/v1/nodes", {"0", "ID"}, only_listed), true, "has 1 of 3 nodes only as list entries"},
      {"pending eval", edited("/v1/evaluations?namespace=*", {"0", "JobID"}, "gone"), false, ""},
      {"unknown status", edited(node, {"Status"}, "asleep"), false, "unknown status 'asleep'"},
      {"node twice", twice, false, "000000000001 is listed twice"},
      {"negative count", edited("/v1/job/web", {"TaskGroups", "0", "Count"}, -1), true, "a count of -1"},
      {"absurd count", edited("/v1/job/web", {"TaskGroups", "0", "Count"}, std::int64_t{1} << 40), true,
       "job web, group"},
      {"canaries", edited("/v1/job/web", {"TaskGroups", "0", "Update"}, parse_json(R"({"Canary":2000000000})").value()),
       true, "2000000000 canaries"},
      {"missing version", lost_version, false, "000000000001: is active, but version 9 of its job web is not there"},
      {"empty", parse_json("{}").value(), true, "neither nodes nor jobs"},
      {"number", parse_json("5").value(), true, "expected an object"},
  };
  for (const BadCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto done = import_cluster_json(c.document, "test", {});
    if (c.is_error) {
      ASSERT_FALSE(done);
      EXPECT_NE(done.error().line().find(c.text), std::string::npos) << done.error().line();
      EXPECT_EQ(done.error().line().find('\n'), std::string::npos);
      EXPECT_LT(done.error().line().size(), 1000u);
      continue;
    }
    ASSERT_TRUE(done) << done.error().line();
    if (!*c.text) {
      EXPECT_TRUE(done->warnings.empty());
      continue;
    }
    bool found = false;
    for (const std::string& warning : done->warnings) found = found || warning.find(c.text) != std::string::npos;
    EXPECT_TRUE(found) << (done->warnings.empty() ? "no warning" : done->warnings[0]);
    EXPECT_FALSE(import_cluster_json(c.document, "test", {.strict = true}));
  }
}

TEST(Import, RefusesDamagedFiles) {
  const Scratch scratch;
  std::string deep(5000, '[');
  for (const auto& [name, text] :
       {std::pair<const char*, std::string>{"cut.json", std::string(berth::testing::kSmallExport).substr(0, 900)},
        {"nan.json", R"({"/v1/node/n1":{"ID":"10000000-0000-4000-8000-000000000001","NodeMaxAllocs":NaN}})"},
        {"deep.json", deep},
        {"empty.json", ""},
        {"large.json",
         R"({"/v1/node/n1":{"ID":"10000000-0000-4000-8000-000000000001","NodeMaxAllocs":99999999999999999999}})"},
        {"gzip.json.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c", 12)}}) {
    const auto done = import_cluster(scratch.file(name, text));
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().line().find('\n'), std::string::npos);
  }
  EXPECT_FALSE(import_cluster((scratch.path / "missing.json").string()));
}

TEST(Import, ReadsARealExport) {
  const auto done = import_cluster(BERTH_SOURCE_DIR "/tests/conform/endless-stage-09.json.gz");
  ASSERT_TRUE(done) << done.error().line();
  for (const std::string& warning : done->warnings)  // changes made while the endpoints were read one after the other
    EXPECT_NE(warning.find("evaluation e1eb28b4-5dd7-3eed-8996-4dd0d99b0de3 comes twice"), std::string::npos)
        << warning;
  EXPECT_EQ(done->warnings.size(), 3u);
  EXPECT_EQ(done->state.nodes.size(), 8u);
  EXPECT_EQ(done->state.jobs.size(), 28u);
  EXPECT_EQ(done->state.allocs.size(), 224u);
  EXPECT_EQ(done->state.evals.size(), 251u);
  EXPECT_EQ(done->state.deployments.size(), 25u);
  EXPECT_EQ(done->state.index, 21131u);
  const json::Value written = cluster_to_json(done->state);
  EXPECT_EQ(json::to_text(cluster_to_json(imported(written, true).state)), json::to_text(written));
}

TEST(JobTable, AbsurdCountsAreRefused) {
  const auto read = [](const char* group) {
    return read_job_table(parse_json(std::string(R"([{"ID":"j","TaskGroups":[)") + group + "]}]").value(), "file",
                          "jobs");
  };
  EXPECT_TRUE(read(R"({"Name":"g","Count":10000000})"));
  const auto count = read(R"({"Name":"g","Count":10000001})");
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().line(), "file:jobs/0/TaskGroups/0: a count of 10000001; a count is at most 10000000");
}

}  // namespace
}  // namespace berth::io
