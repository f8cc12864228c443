// Dynamic host volumes, their claims, and CSI volumes over real sockets (R-STORE-200 to 247).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/started.h"

namespace berth::http {
namespace {

class VolumesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("berth-volumes-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    service_ = started();
    ASSERT_TRUE(service_);
    client_ = std::make_unique<Client>(service_->address());
    advance(30);
  }
  std::unique_ptr<Service> started() {
    serve::ServiceOptions options;
    options.start.source = source();
    options.start.nodes = 2;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = *Speed::parse("step");
    options.simulation.snapshots = folder_.string();
    return start_service(options);
  }
  virtual std::string source() { return ""; }
  void TearDown() override {
    client_.reset(), service_.reset();
    std::filesystem::remove_all(folder_);
  }
  Answer ask(const std::string& method, const std::string& target, const std::string& body = "") {
    client_->ask(method, target, body);
    return client_->receive();
  }
  static json::Value read(const Answer& answer) {
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.status << ": " << answer.body;
    return value ? *value : json::Value();
  }
  json::Value get(const std::string& target) {
    const Answer answer = ask("GET", target);
    EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
    return read(answer);
  }
  static std::string csi_volume(const std::string& id) {
    return R"({"Volumes": [{"ID": ")" + id + R"(", "Name": "v", "ExternalID": "x", "PluginID": "p",
                 "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]}]})";
  }
  void advance(int seconds) {
    EXPECT_EQ(ask("POST", "/v1/berth/advance", R"({"Seconds": )" + std::to_string(seconds) + "}").status, 200);
  }
  json::Value create(const std::string& members) {
    const Answer answer = ask("PUT", "/v1/volume/host/create", R"({"Volume": {"PluginID": "mkdir", )" + members + "}}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    return read(answer)["Volume"];
  }
  void run_job(const std::string& volume) {
    const Answer answer =
        ask("PUT", "/v1/jobs",
            R"({"Job": {"ID": "j", "Name": "j", "Type": "service",
        "Datacenters": ["*"], "TaskGroups": [{"Name": "g", "Count": 1, "Volumes": {"data": {"Name": "data", "Type":
        "host", )" +
                volume + R"(}}, "Tasks": [{"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "10h"}}]}]}})");
    EXPECT_EQ(answer.status, 200) << answer.body;
    advance(20);
  }

  std::filesystem::path folder_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
};

TEST_F(VolumesTest, AVolumeIsReadyOnceItsNodeReportsIt) {  // R-STORE-200 to 215
  EXPECT_EQ(json::to_text(get("/v1/volumes?type=host")), "[]");
  const json::Value made =
      create(R"("Name": "data", "RequestedCapacityMinBytes": 10, "RequestedCapacityMaxBytes": 20)");
  const std::string id = made["ID"].as_string(), node = made["NodeID"].as_string();
  EXPECT_EQ(made["State"].as_string(), "pending");
  EXPECT_EQ(made["CreateIndex"].as_int(-1), 0);
  EXPECT_EQ(made["NodePool"].as_string(), "default");
  EXPECT_TRUE(made["HostPath"].as_string().ends_with("/host_volumes/" + id));
  EXPECT_EQ(made["RequestedCapabilities"][0]["AccessMode"].as_string(), "single-node-writer");
  EXPECT_EQ(get("/v1/volume/host/" + id)["State"].as_string(), "pending");
  advance(30);
  const Answer ready = ask("GET", "/v1/volume/host/" + id);
  EXPECT_EQ(read(ready)["State"].as_string(), "ready");
  EXPECT_GT(read(ready)["ModifyIndex"].as_uint(), read(ready)["CreateIndex"].as_uint());
  EXPECT_EQ(ready.headers.at("x-nomad-index"), std::to_string(read(ready)["ModifyIndex"].as_uint()));
  EXPECT_EQ(get("/v1/node/" + node)["HostVolumes"]["data"]["ID"].as_string(), id);
  const json::Value second = create(R"("Name": "data")");  // names are unique per node
  EXPECT_NE(second["NodeID"].as_string(), node);
  const Answer full = ask("PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "data", "PluginID": "mkdir"}})");
  EXPECT_EQ(full.status, 500);
  EXPECT_EQ(
      full.body,
      "could not place volume \"data\": no node meets constraints: 2 nodes had existing volume, 0 nodes filtered by "
      "node pool governance, 0 nodes were infeasible");
  EXPECT_EQ(get("/v1/volumes?type=host").size(), 2U);
  EXPECT_EQ(get("/v1/volumes?type=host&node_id=" + node).size(), 1U);
  EXPECT_EQ(get("/v1/volumes?type=host&prefix=" + id.substr(0, 8)).size(), 1U);
  EXPECT_EQ(get("/v1/volumes?type=host&prefix=dat").size(), 2U);
  EXPECT_FALSE(get("/v1/volumes?type=host")[0].has("HostPath"));
  const Answer gone = ask("DELETE", "/v1/volume/host/" + id);
  EXPECT_EQ(gone.status, 200) << gone.body;
  EXPECT_EQ(ask("GET", "/v1/volume/host/" + id).body, "volume not found");
  EXPECT_TRUE(get("/v1/node/" + node)["HostVolumes"].has("data"));  // until its next report (R-STORE-219)
  advance(30);
  EXPECT_FALSE(get("/v1/node/" + node)["HostVolumes"].has("data"));
  EXPECT_EQ(ask("DELETE", "/v1/volume/host/" + second["ID"].as_string() + "/delete").status, 200);
}

TEST_F(VolumesTest, RefusalsReadAsNomads) {  // R-STORE-203 to 209, 213 to 215, 221, 232 to 242
  const std::string node = get("/v1/nodes")[0]["ID"].as_string();
  const std::string unknown = "11111111-2222-4333-8444-555555555555";
  struct Refused {
    const char *method, *target;
    std::string body;
    int status;
    std::string text;
  };
  const Refused cases[] = {
      {"PUT", "/v1/volume/host/create", "", 400, "Request body is empty"},
      {"PUT", "/v1/volume/host/create", "{}", 500, "missing volume definition"},
      {"PUT", "/v1/volume/host/register", R"({"Volume": {"Name": "a"}})", 500,
       "cannot register volume: node ID is required"},
      {"PUT", "/v1/volume/host/register", R"({"Volume": {"Name": "a", "NodeID": ")" + node + R"("}})", 500,
       "cannot register volume: host path is required"},
      {"PUT", "/v1/volume/host/create", R"({"Volume": {"PluginID": "mkdir"}})", 500,
       "volume validation failed: missing name"},
      {"PUT", "/v1/volume/host/create",
       R"({"Volume": {"RequestedCapacityMinBytes": 2, "RequestedCapacityMaxBytes": 1}})", 500,
       "volume validation failed: 2 errors occurred:\n\t* missing name\n\t* capacity_max (1) must be larger than "
       "capacity_min (2)\n\n"},
      {"PUT", "/v1/volume/host/create",
       R"({"Volume": {"Name": "a", "RequestedCapabilities": [{"AttachmentMode": "x", "AccessMode": "y"}]}})", 500,
       "volume validation failed: invalid attachment mode: \"x\""},
      {"PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "a", "Constraints": [{"Operand": "distinct_hosts"}]}})",
       500,
       "volume validation failed: invalid constraint distinct_hosts: host volumes of the same name are always on "
       "distinct hosts"},
      {"PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "a", "Namespace": "none"}})", 500,
       "volume validation failed: no such namespace \"none\""},
      {"PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "a", "ID": ")" + unknown + R"("}})", 500,
       "cannot update volume \"" + unknown + "\": volume does not exist"},
      {"PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "a", "NodeID": ")" + unknown + R"("}})", 500,
       "validating volume \"a\" against state failed: node \"" + unknown + "\" does not exist"},
      {"PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "a", "NodePool": "none"}})", 500,
       "validating volume \"a\" against state failed: node pool \"none\" does not exist"},
      {"PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "a", "NodeID": ")" + node + R"("}})", 500,
       "could not place volume \"a\": node " + node + " is not feasible for volume"},
      {"PUT", "/v1/volume/host/create",
       R"({"Volume": {"Name": "a", "PluginID": "mkdir", "Constraints": [{"LTarget": "${attr.kernel.name}",
          "RTarget": "plan9", "Operand": "="}]}})",
       500,
       "could not place volume \"a\": no node meets constraints: 0 nodes had existing volume, 0 nodes filtered by node "
       "pool governance, 2 nodes were infeasible"},
      {"PUT", "/v1/volume/host/other", "{}", 404, "resource not found"},
      {"GET", "/v1/volume/host/", "", 404, "resource not found"},
      {"GET", "/v1/volume/host/x", "", 404, "volume not found"},
      {"DELETE", "/v1/volume/host/x", "", 500, "no such volume: x"},
      {"DELETE", "/v1/volume/host/x?force=y", "", 400, "invalid force value"},
      {"GET", "/v1/volumes?type=x", "", 404, "resource not found"},
      {"DELETE", "/v1/volumes/claim/x", "", 500, "task group volume claim does not exist"},
      {"GET", "/v1/volumes/claim/x", "", 405, "Invalid method"},
      {"DELETE", "/v1/volumes/claim/", "", 404, "resource not found"},
      {"GET", "/v1/plugin/csi/p", "", 404, "plugin not found"},
      {"PUT", "/v1/plugin/csi/p", "", 405, "Invalid method"},
      {"GET", "/v1/volume/csi/x", "", 404, "volume not found"},
      {"GET", "/v1/volume/csi/", "", 500, "missing volume ID"},
      {"POST", "/v1/volume/csi/x", "{}", 405, "Invalid method"},
      {"PUT", "/v1/volume/csi/x", "{}", 500, "missing volume definition"},
      {"POST", "/v1/volumes?type=csi", R"({"Volumes": [{}]})", 500, "validation: missing volume id, missing plugin id"},
      {"PUT", "/v1/volume/csi/x/create",
       R"({"Volumes": [{"ID": "x", "PluginID": "p", "RequestedCapabilities": [{"AccessMode": "a"}]}]})", 500,
       "no CSI plugin named: p could be found"},
      {"DELETE", "/v1/volume/csi/x", "", 500, "volume not found: x"},
      {"DELETE", "/v1/volume/csi/x/delete", "", 500, "volume not found: x"},
      {"DELETE", "/v1/volume/csi/x/detach", "", 400, "detach requires node ID"},
      {"DELETE", "/v1/volume/csi/x/detach?node=n", "", 500, "no such volume"},
      {"GET", "/v1/volumes/external?plugin_id=p", "", 500, "no such plugin"},
      {"GET", "/v1/volumes/snapshot?plugin_id=p", "", 500, "no such plugin"},
      {"PUT", "/v1/volumes/snapshot", R"({"Snapshots": [{"SourceVolumeID": "x"}]})", 500,
       "1 error occurred:\n\t* no such volume \"x\"\n\n"},
      {"DELETE", "/v1/volumes/snapshot?plugin_id=p&snapshot_id=s", "", 500, "no such plugin"},
      {"PUT", "/v1/volume/csi/x/other", "{}", 404, "resource not found"},
      {"GET", "/v1/volume/csi/x/other", "", 405, "Invalid method"},
  };
  for (const Refused& refused : cases) {
    const Answer answer = ask(refused.method, refused.target, refused.body);
    EXPECT_EQ(answer.status, refused.status) << refused.method << " " << refused.target << " " << refused.body;
    EXPECT_EQ(answer.body, refused.text) << refused.method << " " << refused.target;
  }
  const Answer none = ask("GET", "/v1/volumes");
  EXPECT_EQ(none.body, "[]");
  EXPECT_EQ(none.headers.count("x-nomad-index"), 0U);
  EXPECT_EQ(ask("GET", "/v1/plugins?type=x").body, "");
  EXPECT_EQ(ask("GET", "/v1/volumes?type=csi").headers.at("x-nomad-index"), "0");
}

TEST_F(VolumesTest, JobsUseThemAndKeepThemFromDeletion) {  // R-STORE-208, 214, 215, 220 to 223
  const std::string id = create(R"("Name": "data")")["ID"].as_string();
  advance(30);
  run_job(R"("Source": "data", "Sticky": true, "AccessMode": "single-node-writer", "AttachmentMode": "file-system")");
  const json::Value allocs = get("/v1/job/j/allocations");
  ASSERT_EQ(allocs.size(), 1U);
  const std::string alloc = allocs[0]["ID"].as_string();
  EXPECT_EQ(allocs[0]["ClientStatus"].as_string(), "running");
  EXPECT_EQ(get("/v1/volume/host/" + id)["Allocations"][0]["ID"].as_string(), alloc);
  const Answer used = ask("DELETE", "/v1/volume/host/" + id);
  EXPECT_EQ(used.status, 500);
  EXPECT_EQ(used.body, "volume " + id + " in use by allocations: [" + alloc + "]");
  EXPECT_EQ(ask("PUT", "/v1/volume/host/create", R"({"Volume": {"Name": "data", "ID": ")" + id + R"("}})").body,
            "validating volume \"" + id +
                "\" update failed: 1 error occurred:\n\t* cannot update a volume in use: claimed "
                "by allocs (" +
                alloc + ")\n\n");
  const json::Value claims = get("/v1/volumes/claims?job_id=j");
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0]["VolumeID"].as_string(), id);
  EXPECT_EQ(claims[0]["AllocID"].as_string(), alloc);
  EXPECT_EQ(get("/v1/volumes/claims?task_group=other").size(), 0U);
  const std::string claim = claims[0]["ID"].as_string();
  EXPECT_EQ(ask("DELETE", "/v1/volumes/claim/" + claim + "?namespace=other").status, 500);
  EXPECT_EQ(ask("DELETE", "/v1/volumes/claim/" + claim).status, 200);
  EXPECT_EQ(get("/v1/volumes/claims").size(), 0U);
  ask("DELETE", "/v1/job/j?purge=true");
  advance(30);
  EXPECT_EQ(ask("DELETE", "/v1/volume/host/" + id).status, 200);
}

TEST_F(VolumesTest, ANodeIsKeptWhileItsVolumeIsInUse) {  // R-STORE-216
  const json::Value made = create(R"("Name": "data")");
  const std::string id = made["ID"].as_string(), node = made["NodeID"].as_string();
  advance(30);
  run_job(R"("Source": "data")");
  const std::string alloc = get("/v1/job/j/allocations")[0]["ID"].as_string();
  const Answer used = ask("PUT", "/v1/node/" + node + "/purge");
  EXPECT_EQ(used.status, 500);
  EXPECT_EQ(used.body, "volume " + id + " in use by allocations: [" + alloc + "]");
  EXPECT_EQ(get("/v1/volumes?type=host").size(), 1U);
  ask("DELETE", "/v1/job/j");
  advance(30);
  EXPECT_EQ(ask("PUT", "/v1/node/" + node + "/purge").status, 200);
  EXPECT_EQ(get("/v1/volumes?type=host").size(), 0U);
}

TEST_F(VolumesTest, ANodeThatIsDownGetsNone) {  // R-STORE-209
  const std::string node = get("/v1/nodes")[0]["ID"].as_string();
  ASSERT_EQ(ask("PUT", "/v1/berth/fault", R"({"Kind": "partition", "NodeID": ")" + node + R"("})").status, 200);
  advance(120);
  const Answer answer = ask("PUT", "/v1/volume/host/create",
                            R"({"Volume": {"Name": "data", "PluginID": "mkdir", "NodeID": ")" + node + R"("}})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "No path to node");
  EXPECT_EQ(get("/v1/volumes?type=host").size(), 0U);
}

TEST_F(VolumesTest, WhatAClientHasNotReportedYetIsKept) {  // R-STORE-202, 211
  const std::string id = get("/v1/nodes")[0]["ID"].as_string(), on_node = R"("NodeID": ")" + id + R"(", )";
  json::Value machine = get("/v1/node/" + id), fixed = json::Value::object(), volume = json::Value::object();
  fixed.set("Name", "fixed"), fixed.set("Path", "/srv/fixed");
  volume.set("fixed", fixed), machine.set("HostVolumes", volume);
  const auto join = R"({"Kind": "join", "Node": )" + json::to_text(machine) + "}";
  ASSERT_EQ(ask("PUT", "/v1/berth/fault", join).status, 200);
  create(on_node + R"("Name": "data")");
  const std::string same = create(on_node + R"("Name": "fixed")")["ID"].as_string();
  const Answer meta = ask("POST", "/v1/client/metadata", R"({"NodeID": ")" + id + R"(", "Meta": {"color": "red"}})");
  ASSERT_EQ(meta.status, 200) << meta.body;
  advance(60);
  const auto volumes = [&] { return get("/v1/node/" + id)["HostVolumes"]; };
  EXPECT_EQ(get("/v1/node/" + id)["Meta"]["color"].as_string(), "red");
  EXPECT_TRUE(volumes().has("data"));
  EXPECT_EQ(volumes()["fixed"]["Path"].as_string(), "/srv/fixed") << "a node carries a name once";
  ASSERT_EQ(ask("DELETE", "/v1/volume/host/" + same).status, 200);
  advance(60);
  EXPECT_EQ(volumes()["fixed"]["Path"].as_string(), "/srv/fixed");
}

TEST_F(VolumesTest, EqualRunsCreateEqualOnes) {  // R-CTRL-1704
  const std::string first = create(R"("Name": "data")")["ID"].as_string();
  EXPECT_NE(create(R"("Name": "data")")["ID"].as_string(), first);
  client_.reset(), service_.reset();
  service_ = started();
  ASSERT_TRUE(service_);
  client_ = std::make_unique<Client>(service_->address());
  advance(30);
  EXPECT_EQ(create(R"("Name": "data")")["ID"].as_string(), first);
}

TEST_F(VolumesTest, SnapshotsAndEventsContainThem) {  // R-STORE-211, 217
  const json::Value made = create(R"("Name": "data")");
  const std::string id = made["ID"].as_string();
  advance(30);
  ASSERT_EQ(ask("PUT", "/v1/berth/snapshot", R"({"Name": "s"})").status, 200);
  const json::Value before = get("/v1/volume/host/" + id);
  ASSERT_EQ(ask("DELETE", "/v1/volume/host/" + id).status, 200);
  Client stream(service_->address());
  stream.ask("GET", "/v1/event/stream?topic=HostVolume&index=0");
  EXPECT_EQ(stream.head().status, 200);
  std::string text;
  while (text.find("HostVolumeDeleted") == std::string::npos && stream.chunk(text)) {
  }
  EXPECT_NE(text.find("HostVolumeRegistered"), std::string::npos);
  EXPECT_NE(text.find(R"("Type":"NodeRegistration")"), std::string::npos) << text;  // it is ready
  ASSERT_EQ(ask("PUT", "/v1/berth/restore", R"({"Name": "s"})").status, 200);
  EXPECT_EQ(get("/v1/volume/host/" + id), before);
}

/// A cluster with the plugin `p`, which none of its nodes has.
class CsiVolumesTest : public VolumesTest {
  std::string source() override {
    std::ofstream(folder_ / "csi.json") << R"({"Nodes": [], "CSIPlugins": [{"ID": "p", "NodesHealthy": 1}]})";
    return (folder_ / "csi.json").string();
  }
};

TEST_F(CsiVolumesTest, RegisteringACsiVolumeUnblocksTheJobsThatMissIt) {  // R-CTRL-817, 827
  const Answer job = ask("PUT", "/v1/jobs",
                         R"({"Job": {"ID": "j", "Name": "j", "Type": "service", "Datacenters": ["dc1"], "TaskGroups":
                             [{"Name": "g", "Volumes": {"v": {"Name": "v", "Type": "csi", "Source": "data",
                               "AccessMode": "single-node-writer", "AttachmentMode": "file-system"}},
                               "Tasks": [{"Name": "t", "Driver": "exec", "Config": {"command": "x"}}]}]}})");
  ASSERT_EQ(job.status, 200) << job.body;
  advance(5);
  const auto decided_again = [&] { return get("/v1/berth/run")["Evaluations"]["Retried"].as_int(); };
  const Answer other = ask("PUT", "/v1/volume/csi/other", csi_volume("other"));
  ASSERT_EQ(other.status, 200) << other.body;
  advance(5);
  EXPECT_EQ(decided_again(), 0);
  ASSERT_EQ(ask("PUT", "/v1/volume/csi/data", csi_volume("data")).status, 200);
  advance(5);
  EXPECT_EQ(decided_again(), 1);  // and blocked again: no node has the plugin
}

}  // namespace
}  // namespace berth::http
