// Mixed sources of an import: debug archives, folders, snapshots together with answers; and what they may lack.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/small_export.h"
#include "io/snapshot/small_snapshot.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;
using berth::testing::gzip;
using berth::testing::tar_member;

constexpr const char *kFirstPath = "/v1/node/10000000-0000-4000-8000-000000000001",
                     *kSecondPath = "/v1/node/10000000-0000-4000-8000-000000000002",
                     *kFirstAllocsPath = "/v1/node/10000000-0000-4000-8000-000000000001/allocations";

class ImportSources : public ::testing::Test {
 protected:
  fs::path folder = fs::path(BERTH_BINARY_DIR) / "sources_test";
  json::Value all = parse_json(berth::testing::kSmallExport).value();
  const std::string end = std::string(1024, '\0');

  ImportSources() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~ImportSources() override {
    fs::remove_all(folder);
    set_read_limit(std::uint64_t{1} << 30);
  }
  std::string file(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream((folder / name).string(), std::ios::binary) << bytes;
    return (folder / name).string();
  }
  [[nodiscard]] std::string text(const char* path) const { return json::to_text(all[path]); }
  static std::string refusal(const Result<ClusterImport>& done) {
    EXPECT_FALSE(done);
    if (done) return "";
    EXPECT_EQ(done.error().line().find('\n'), std::string::npos);
    return done.error().line();
  }
};

TEST_F(ImportSources, TheLastCaptureOfADebugArchiveIsUsed) {
  json::Value later = all[kFirstPath];
  later.set("Name", "later");
  const std::string archive =
      tar_member("nomad-debug/", "", '5') + tar_member("nomad-debug/index.html", "<html>") +
      tar_member("nomad-debug/cluster/members.json", R"({"ServerName":"s"})") +
      tar_member("nomad-debug/nomad/0001/nodes.json", "[" + json::to_text(later) + "]") +
      tar_member("nomad-debug/nomad/0000/nodes.json", "[" + text(kFirstPath) + "," + text(kSecondPath) + "]") +
      tar_member("nomad-debug/nomad/0001/allocations.json", text(kFirstAllocsPath)) + end;
  for (const char* name : {"debug.tar.gz", "debug"}) {
    const auto done = import_cluster(file(name, gzip(archive)));
    ASSERT_TRUE(done) << done.error().line();
    ASSERT_EQ(done->state.nodes.size(), 1u);
    EXPECT_EQ(done->state.nodes[0].name, "later");
    EXPECT_EQ(done->state.allocs.size(), 1u);
    EXPECT_TRUE(done->warnings.empty()) << done->warnings[0];
    EXPECT_EQ(done->notes.size(), 1u);  // the page
  }
  // Unpacked, as a folder, and as a plain tar.
  EXPECT_TRUE(import_cluster(file("plain.tar", archive)));
  file("unpacked/nomad/0000/nodes.json", "[" + text(kFirstPath) + "]");
  file("unpacked/nomad/0001/nodes.json", "[" + json::to_text(later) + "]");
  file("unpacked/nomad/0001/allocations.json", text(kFirstAllocsPath));
  const auto unpacked = import_cluster((folder / "unpacked").string());
  ASSERT_TRUE(unpacked) << unpacked.error().line();
  EXPECT_EQ(unpacked->state.nodes[0].name, "later");
}

TEST_F(ImportSources, OtherFilesOfADebugArchiveAreCounted) {
  const std::vector<std::pair<std::string, std::string>> members = {
      {"d/cluster/eventstream.json", "{\"Index\":5,\"Events\":[]}\n{}\n"},
      {"d/cluster/license.json", ""},
      {"d/cluster/namespaces.json", R"([{"Name":"default","Description":"","Capabilities":null}])"},
      {"d/cluster/regions.json", R"(["global"])"},
      {"d/cluster/vault-sys-health.json", "Permission denied"},
      {"d/interval/0000/allocations.json", text(kFirstAllocsPath)},
      {"d/interval/0000/nodes.json", "[" + text(kFirstPath) + "]"}};
  std::string archive;
  for (const auto& [name, content] : members) archive += tar_member(name, content), file("folder/" + name, content);
  for (const std::string& path : {file("d.tar.gz", gzip(archive + end)), (folder / "folder").string()}) {
    SCOPED_TRACE(path);
    const auto done = import_cluster(path);
    ASSERT_TRUE(done) << done.error().line();
    EXPECT_EQ(done->state.nodes.size(), 1u);
    EXPECT_EQ(done->state.allocs.size(), 1u);
    ASSERT_EQ(done->notes.size(), 1u);
    EXPECT_NE(done->notes[0].find("4 files hold nothing of a cluster"), std::string::npos) << done->notes[0];
  }
  // A list that is not JSON is a fault, in a capture and in a folder without captures.
  const std::string cut = archive + tar_member("d/interval/0000/jobs.json", "");
  EXPECT_NE(refusal(import_cluster(file("cut.tar.gz", gzip(cut + end)))).find("jobs.json:1:1: not JSON"),
            std::string::npos);
  file("answers/node.json", text(kFirstPath)), file("answers/second.json", "Permission denied");
  EXPECT_NE(refusal(import_cluster((folder / "answers").string())).find("second.json:1:1: not JSON"),
            std::string::npos);
}

TEST_F(ImportSources, AFileMayHoldSeveralAnswers) {
  const std::string two = text(kFirstPath) + "\n" + text(kSecondPath);
  const auto done = import_cluster(file("two.json", two + text(kFirstAllocsPath) + "\n\n"));
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->state.nodes.size(), 2u);
  EXPECT_EQ(done->state.allocs.size(), 1u);
  // Errors name the line of the file, not that of the answer.
  EXPECT_NE(refusal(import_cluster(file("cut.json", two + "\n[{"))).find("cut.json:3:3: not JSON"), std::string::npos);
  const std::string wrong = R"({"ID":"10000000-0000-4000-8000-000000000003","NodeResources":5})";
  EXPECT_NE(refusal(import_cluster(file("wrong.json", two + "\n" + wrong))).find("wrong.json:3:62"), std::string::npos)
      << refusal(import_cluster((folder / "wrong.json").string()));
}

TEST_F(ImportSources, DamagedAndEndlessArchivesAreRefused) {
  const std::string archive =
                        tar_member("a/nodes.json", "[" + text(kFirstPath) + "]") + tar_member("a/b.json", "{}") + end,
                    packed = gzip(archive);
  EXPECT_NE(refusal(import_cluster(file("cut.tgz", packed.substr(0, packed.size() - 3)))).find("truncated file"),
            std::string::npos);
  EXPECT_NE(refusal(import_cluster(file("short.tgz", gzip(archive.substr(0, 600))))).find("damaged tar archive"),
            std::string::npos);
  EXPECT_NE(refusal(import_cluster(file("json.tgz", gzip(tar_member("a/nodes.json", "[{") + end))))
                .find("json.tgz:a/nodes.json"),
            std::string::npos);
  EXPECT_NE(refusal(import_cluster(file("none.tgz", gzip(tar_member("a/notes.txt", "x") + end))))
                .find("neither nodes nor jobs"),
            std::string::npos);
  // A member that claims more than is allowed, and one whose size lies beyond the end.
  set_read_limit(1 << 20);
  const std::string bomb = gzip(tar_member("a/bomb.json", std::string(8 << 20, ' ')) + end);
  EXPECT_LT(bomb.size(), 20'000u);
  EXPECT_NE(refusal(import_cluster(file("bomb.tgz", bomb))).find("unpacks to more than 1 MiB"), std::string::npos);
  // Names and links have no effect, because nothing is written to disk.
  const std::string odd = tar_member("../../escaped.json", "[" + text(kFirstPath) + "]") +
                          tar_member("a/link.json", "", '2') +
                          tar_member("a/allocations.json", text(kFirstAllocsPath)) + end;
  const auto done = import_cluster(file("odd/odd.tgz", gzip(odd)));
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_FALSE(fs::exists(folder / "escaped.json"));
}

TEST_F(ImportSources, SeparateAnswersAreCombined) {
  const std::string node = file("node.json", text(kFirstPath)), node2 = file("node2.json", text(kSecondPath)),
                    allocs = file("allocs.json", text(kFirstAllocsPath)),
                    cluster = file("cluster.json", cluster_text({}));
  const auto done = import_clusters({node, allocs, node2, file("job.json", text("/v1/job/web"))});
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->state.nodes.size(), 2u);
  EXPECT_EQ(done->state.allocs.size(), 1u);
  EXPECT_EQ(done->state.jobs.size(), 1u);

  berth::testing::SnapshotParts parts;
  parts.state += berth::testing::record(0, all[kSecondPath]);
  const std::string snapshot = file("a.snap", parts.file());
  json::Value older = all[kSecondPath];
  older.set("Name", "older");
  const auto mixed = import_clusters({snapshot, file("older.json", json::to_text(older)), node});
  ASSERT_TRUE(mixed) << mixed.error().line();
  ASSERT_EQ(mixed->state.nodes.size(), 2u);
  EXPECT_EQ(mixed->state.nodes[1].name, "two");  // the state's value replaces that of an answer
  EXPECT_NE(refusal(import_clusters({snapshot, file("b.snap", parts.file())})).find("more than one whole cluster"),
            std::string::npos);
  EXPECT_NE(refusal(import_clusters({node, cluster})).find("is a CLUSTER.json among other sources"), std::string::npos);
}

TEST_F(ImportSources, ClustersWithoutTheirAllocationsAreRefused) {
  struct Case {
    const char* name;
    std::string document;
    const char* problem;
  };
  const std::string node = text(kFirstPath);
  json::Value ran = all[kFirstPath];
  ran.set("LastAllocUpdateIndex", 31);
  const std::string
      busy = json::to_text(ran),
      stub = R"({"ID":"a0000000-0000-4000-8000-000000000001","Namespace":"default","JobID":"web","JobVersion":0,
      "TaskGroup":"app","NodeID":"10000000-0000-4000-8000-000000000001","DesiredStatus":"run","ClientStatus":"running"})",
      job = R"({"ID":"web","Namespace":"default","JobSummary":{"Summary":{"app":{"Running":2,"Starting":1}}}})";
  for (const Case& c :
       {Case{"list entries of nodes", R"([{"ID":"10000000-0000-4000-8000-000000000001","Address":"10.0.0.1",
           "SchedulingEligibility":"eligible","NodeResources":{"Cpu":{"CpuShares":100}}}])",
             "has nodes only as list entries"},
        Case{"list entries of allocations", "[" + node + "," + stub + "]",
             "1 allocations that run come only as list entries"},
        Case{"summaries of jobs", "[" + node + "," + job + "]",
             "has no allocations, although its jobs have 3 that run"},
        Case{"nodes that ran some", "[" + busy + "]", "has no allocations, although its nodes have run some"}}) {
    SCOPED_TRACE(c.name);
    const std::string path = file("partial.json", c.document), line = refusal(import_cluster(path));
    EXPECT_NE(line.find(c.problem), line.npos) << line;
    EXPECT_NE(line.find("--allow-partial"), line.npos) << line;
    EXPECT_NE(line.find("nomad operator snapshot save"), line.npos) << line;
    const auto allowed = import_cluster(path, {.allow_partial = true});
    ASSERT_TRUE(allowed) << allowed.error().line();
    EXPECT_EQ(allowed->state.nodes.size(), 1u);
  }
  // A part of the nodes, or of the allocations.
  json::Value jobless = all[kFirstAllocsPath];
  for (json::Value& alloc : jobless.items()) alloc.set("JobID", "other"), alloc.find("Job")->set("ID", "other");
  for (const auto& [document, problem] :
       {std::pair{"[" + node + R"(,{"ID":"10000000-0000-4000-8000-000000000002","Address":"10.0.0.2",
           "SchedulingEligibility":"eligible","NodeResources":{"Cpu":{"CpuShares":100}}}])",
                  "has 1 of 2 nodes only as list entries"},
        std::pair{text(kFirstAllocsPath), "has no nodes; fetch each: curl $NOMAD_ADDR/v1/node/ID"},
        std::pair{"[" + text("/v1/job/web") + "]", "has no nodes"},
        std::pair{"[" + node + "," + job + "]" + json::to_text(jobless),
                  "lacks 3 allocations that run by the summaries of their jobs"},
        std::pair{"{\"" + std::string(kFirstPath) + "\":" + node + ",\"/v1/allocations\":[]}" + job,
                  "the summaries are wrong: nomad system reconcile summaries"}}) {
    const std::string path = file("part.json", document), line = refusal(import_cluster(path));
    EXPECT_NE(line.find(problem), line.npos) << line;
    EXPECT_TRUE(import_cluster(path, {.allow_partial = true}));
  }
  json::Value idle = all["/v1/job/web"];
  idle.set("Status", "running");
  const auto warned = import_cluster(file("idle.json", node + json::to_text(idle) + json::to_text(jobless)));
  ASSERT_TRUE(warned) << warned.error().line();
  ASSERT_FALSE(warned->warnings.empty());
  EXPECT_NE(warned->warnings[0].find("1 job is running, but without allocations"), std::string::npos);
  // The answer about a job's scaling is no deployment, although it has its keys.
  EXPECT_TRUE(
      import_cluster(file("scale.json", node + R"({"JobID":"web","JobStopped":false,"TaskGroups":{"app":{}}})")));
  // An empty list means that no allocation runs.
  EXPECT_TRUE(
      import_cluster(file("whole.json", "{\"" + std::string(kFirstPath) + "\":" + busy + ",\"/v1/allocations\":[]}")));
  EXPECT_TRUE(import_cluster(file("fresh.json", "[" + node + "]")));
}

TEST_F(ImportSources, SecretsOfAnswersAreDropped) {  // R-SNAP-110
  const std::string secret = "s3cr3t";
  json::Value node = all[kFirstPath], allocs = all[kFirstAllocsPath];
  node.set("SecretID", secret);
  json::Value identities = json::Value::object();
  identities.set("main", secret);
  allocs.items()[0].set("SignedIdentities", identities);
  allocs.items()[0].find("Job")->set("VaultToken", secret);
  json::Value job = all["/v1/job/web"];
  job.set("ConsulToken", secret);
  const auto done = import_clusters({file("n.json", json::to_text(node)), file("a.json", json::to_text(allocs)),
                                     file("j.json", json::to_text(job)),
                                     file("variable.json", R"({"Path":"p","Items":{"k":"s3cr3t"}})")});
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(cluster_text(done->state).find(secret), std::string::npos);
  for (const std::string& warning : done->warnings) EXPECT_EQ(warning.find(secret), std::string::npos);
}

}  // namespace
}  // namespace berth::io
