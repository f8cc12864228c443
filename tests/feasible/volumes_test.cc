#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "feasible/csi_volumes.h"
#include "feasible/host_volumes.h"
#include "feasible/volume_world.h"
#include "model/job.h"

namespace berth::feasible {
namespace {

using World = VolumeWorld;

bool passes(const World& world, const model::VolumeRequest& request, const model::Node& node,
            std::string_view alloc_name = "") {
  const model::Job job = job_of("j");
  const model::TaskGroup group = group_asking(request);
  const VolumeState state = world.state();
  return HostVolumeCheck(job, group, alloc_name, state).passes(node);
}

TEST(HostVolumes, StaticVolumesCompareReadOnlyAndAreNeverSticky) {  // R-FEAS-1103, 1104
  const World world;
  EXPECT_FALSE(passes(world, request_of("host", false), model::Node{}));
  EXPECT_TRUE(passes(world, request_of("csi", false), model::Node{}));  // not a host volume
  model::Node null_entry;
  null_entry.host_volumes["data"] = std::nullopt;
  EXPECT_FALSE(passes(world, request_of("host", false), null_entry));
  EXPECT_TRUE(passes(world, request_of("host", false), node_with("n", "")));
  EXPECT_FALSE(passes(world, request_of("host", false), node_with("n", "", true)));
  EXPECT_TRUE(passes(world, request_of("host", true), node_with("n", "", true)));
  EXPECT_FALSE(passes(world, request_of("host", false, true), node_with("n", "")));
}

TEST(HostVolumes, AccessModesFitTheRequest) {  // R-FEAS-1108
  struct Case {
    const char* mode;
    bool reads, writes;  // passes a request that is read-only, or is not
  };
  for (const Case& c : {Case{"single-node-reader-only", true, false},
                        {"single-node-writer", false, true},
                        {"single-node-multi-writer", true, true}}) {
    World world;
    world.host_volumes = {volume_of("v", "n", c.mode)};
    for (const bool read_only : {true, false}) {
      model::VolumeRequest request = request_of("host", read_only);
      request.access_mode = c.mode;
      EXPECT_EQ(passes(world, request, node_with("n", "v")), read_only ? c.reads : c.writes) << c.mode << read_only;
    }
  }
}

TEST(HostVolumes, PerAllocSourcesTakeTheIndex) {  // R-FEAS-1101
  const World world;
  model::VolumeRequest request = request_of("host", false);
  request.per_alloc = true;
  model::Node node;
  node.host_volumes["data[3]"].emplace();
  EXPECT_TRUE(passes(world, request, node, "j.g[3]"));
  EXPECT_FALSE(passes(world, request, node, "j.g[2]"));
  EXPECT_FALSE(passes(world, request, node, "j.g"));
}

TEST(HostVolumes, DynamicVolumesMatchByCapabilities) {  // R-FEAS-1105 to 1108
  World world;
  world.host_volumes = {volume_of("v", "n")};
  const model::Node node = node_with("n", "v");
  EXPECT_TRUE(passes(world, request_of("host", false), node));
  EXPECT_FALSE(passes(world, request_of("host", true), node));  // would be single-node-reader-only
  model::VolumeRequest request = request_of("host", true);
  request.access_mode = std::string("single-node-writer");
  EXPECT_FALSE(passes(world, request, node));  // a writer mode, but a read-only request
  request.read_only = false, request.attachment_mode = std::string("block-device");
  EXPECT_FALSE(passes(world, request, node));
  EXPECT_FALSE(passes(world, request_of("host", false), node_with("n", "unknown")));
  world.host_volumes[0].state = std::string("pending");
  EXPECT_FALSE(passes(world, request_of("host", false), node));
  world.host_volumes[0] = volume_of("v", "n");
  world.host_volumes[0].namespace_ = std::string("other");
  EXPECT_FALSE(passes(world, request_of("host", false), node));
}

TEST(HostVolumes, ASingleWriterVolumeHasOneWriter) {  // R-FEAS-1109
  World world;
  world.host_volumes = {volume_of("v", "n", "single-node-single-writer")};
  model::VolumeRequest request = request_of("host", false);
  request.access_mode = std::string("single-node-single-writer");
  const model::Node node = node_with("n", "v");
  EXPECT_TRUE(passes(world, request, node));

  AllocView other;
  other.id = "a", other.namespace_ = "default", other.job_id = "k", other.task_group = "g", other.node_id = "n";
  world.allocs = {other};
  EXPECT_FALSE(passes(world, request, node));  // its job is gone
  world.jobs = {job_of("k")};
  EXPECT_FALSE(passes(world, request, node));  // its group is gone
  world.jobs[0].task_groups = {group_asking(request_of("host", true))};
  EXPECT_TRUE(passes(world, request, node));
  world.jobs[0].task_groups = {group_asking(request_of("host", false))};
  EXPECT_FALSE(passes(world, request, node));
  request.read_only = true;  // the requester's own flag does not matter
  EXPECT_FALSE(passes(world, request, node));
  world.allocs[0].node_id = "elsewhere";
  EXPECT_TRUE(passes(world, request, node));
}

TEST(HostVolumes, StickyClaimsAreUsedUpInVisitingOrder) {  // E14, R-FEAS-1110 to 1112
  World world;
  world.host_volumes = {volume_of("v1", "F1"), volume_of("vC", "C"), volume_of("v2", "F2")};
  model::HostVolumeClaim claim;
  claim.namespace_ = std::string("default"), claim.job_id = std::string("j"), claim.task_group_name = std::string("g");
  claim.alloc_id = std::string("old"), claim.volume_id = std::string("vC");
  world.claims = {std::make_shared<const model::HostVolumeClaim>(claim)};
  AllocView old;
  old.id = "old", old.namespace_ = "default", old.job_id = "j", old.task_group = "g", old.node_id = "C";
  old.is_terminal = true;
  world.allocs = {old};

  const model::Job job = job_of("j");
  const model::TaskGroup group = group_asking(request_of("host", false, true));
  const VolumeState state = world.state();
  const auto verdicts = [&](const model::Quirks& quirks = {}) {
    HostVolumeCheck check(job, group, "", state, quirks);
    std::string out;
    for (const auto& [node, volume] : {std::pair("F1", "v1"), {"C", "vC"}, {"F2", "v2"}})
      out += check.passes(node_with(node, volume)) ? 'T' : 'F';
    return out;
  };
  EXPECT_EQ(verdicts(), "FTT");
  EXPECT_EQ(verdicts(model::Quirks::none()), "FTF");  // examining C leaves its claim
  world.allocs[0].is_terminal = false;                // satisfied by the claimant itself
  EXPECT_EQ(verdicts(), "TTT");
  world.allocs[0].is_terminal = true;
  AllocView heir = old;
  heir.id = "new", heir.is_terminal = false;
  world.allocs.push_back(heir);  // satisfied by an allocation of the group on the claimant's node
  EXPECT_EQ(verdicts(), "TTT");
  world.allocs = {heir};  // the claimant is gone: the claim is ignored
  EXPECT_EQ(verdicts(), "TTT");
  world.allocs = {old};
  EXPECT_EQ(verdicts(), "FTT");
  claim.job_id = std::string("k");  // of another job
  world.claims = {std::make_shared<const model::HostVolumeClaim>(claim)};
  EXPECT_EQ(HostVolumeCheck(job, group, "", world.state()).passes(node_with("F1", "v1")), true);
  claim.job_id = std::string("j"), claim.namespace_ = std::string("other");
  world.claims = {std::make_shared<const model::HostVolumeClaim>(claim)};
  EXPECT_EQ(HostVolumeCheck(job, group, "", world.state()).passes(node_with("F1", "v1")), true);
}

TEST(VolumeLists, AreSearchedAndThenHashed) {  // the same answers
  std::vector<model::CsiVolume> volumes;
  for (const char* space : {"a", "b", "a"})
    for (int i = 0; i < 4; ++i) {
      model::CsiVolume& volume = volumes.emplace_back();
      volume.namespace_ = std::string(space), volume.id = "v" + std::to_string(i);
    }
  VolumeState state;
  bind_volume_lists(state, {}, volumes, {});
  for (int lookup = 0; lookup < 10; ++lookup)
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string id = "v" + std::to_string(i);
      EXPECT_EQ(state.csi_volume("a", id), &volumes[i]);  // the first of the two
      EXPECT_EQ(state.csi_volume("b", id), &volumes[4 + i]);
      EXPECT_EQ(state.csi_volume("c", id), nullptr);
      EXPECT_EQ(state.csi_volume("a", "none"), nullptr);
      EXPECT_EQ(state.csi_plugin(id), nullptr);
    }
}

TEST(VolumeLists, LeaveOutNullRequests) {
  model::TaskGroup group = group_asking(request_of("csi", true));
  group.volumes["null"] = std::nullopt;
  EXPECT_EQ(volume_requests(group, "csi", "").size(), 1u);
}

struct CsiWorld : World {
  model::Node node;

  CsiWorld() {
    model::CsiPlugin& plugin = csi_plugins.emplace_back();
    plugin.id = std::string("ebs"), plugin.nodes_healthy = 1;
    model::CsiVolume& volume = csi_volumes.emplace_back();
    volume.namespace_ = std::string("default"), volume.id = std::string("data"), volume.plugin_id = std::string("ebs");
    volume.requested_capabilities = {{"file-system", "single-node-writer"}};
    node.id = std::string("n1");
    model::CsiInfo& info = node.csi_node_plugins["ebs"].emplace();
    info.healthy = true;
    info.node_info.emplace().max_volumes = 2;
  }
  std::string reason(const model::VolumeRequest& request) const {
    const model::Job job = job_of("j");
    const model::TaskGroup group = group_asking(request);
    const VolumeState volume_state = state();
    return CsiVolumeCheck(job, group, "j.g[0]", volume_state).failure(node).value_or("passes");
  }
  std::string write_reason() const { return reason(request_of("csi", false)); }
  std::string read_reason() const { return reason(request_of("csi", true)); }
};

TEST(CsiVolumes, NameEachStepThatFails) {  // R-FEAS-1202, 1207 to 1212
  CsiWorld world;
  EXPECT_EQ(world.write_reason(), "passes");
  EXPECT_EQ(world.read_reason(), "passes");

  CsiWorld w = world;
  w.csi_plugins[0].nodes_healthy = 0;
  EXPECT_EQ(w.read_reason(), "CSI volume data is unschedulable or has exhausted its available reader claims");
  EXPECT_EQ(w.write_reason(), "CSI volume data is unschedulable or is read-only");
  w = world;
  w.csi_plugins[0].controller_required = true;
  EXPECT_EQ(w.write_reason(), "CSI volume data is unschedulable or is read-only");
  w.csi_plugins[0].controllers_healthy = 1;
  EXPECT_EQ(w.write_reason(), "passes");
  w.csi_volumes[0].resource_exhausted.ns = 1;
  EXPECT_EQ(w.read_reason(), "CSI volume data is unschedulable or has exhausted its available reader claims");

  w = world;
  w.csi_volumes[0].access_mode = std::string("multi-node-reader-only");
  EXPECT_EQ(w.write_reason(), "CSI volume data is unschedulable or is read-only");
  EXPECT_EQ(w.read_reason(), "passes");

  w = world;
  w.csi_volumes[0].topologies = {model::CsiTopology{{{"zone", "a"}}}, model::CsiTopology{{{"zone", "b"}, {"r", "1"}}}};
  EXPECT_EQ(w.read_reason(), "did not meet topology requirement");
  w.node.csi_node_plugins["ebs"]->node_info->accessible_topology = model::CsiTopology{{{"zone", "b"}}};
  EXPECT_EQ(w.read_reason(), "did not meet topology requirement");
  w.node.csi_node_plugins["ebs"]->node_info->accessible_topology->segments["r"] = std::string("1");
  EXPECT_EQ(w.read_reason(), "passes");

  w.csi_volumes[0].topologies = {std::nullopt};  // which nothing satisfies
  EXPECT_EQ(w.read_reason(), "did not meet topology requirement");
  w = world;
  w.csi_plugins.clear();
  EXPECT_EQ(w.read_reason(), "CSI volume data is unschedulable or has exhausted its available reader claims");
  w = world;
  w.node.csi_node_plugins["ebs"]->node_info.reset();
  EXPECT_EQ(w.read_reason(), "CSI plugin ebs has the maximum number of volumes on client n1");
  w.node.csi_node_plugins["ebs"] = std::nullopt;
  EXPECT_EQ(w.read_reason(), "CSI plugin ebs is missing from client n1");

  w = world;
  w.node.csi_node_plugins["ebs"]->healthy = false;
  EXPECT_EQ(w.read_reason(), "CSI plugin ebs is unhealthy on client n1");
  w.node.csi_node_plugins.clear();
  EXPECT_EQ(w.read_reason(), "CSI plugin ebs is missing from client n1");
  w.csi_volumes.clear();
  EXPECT_EQ(w.read_reason(), "missing CSI volume(s) data");
}

TEST(CsiVolumes, ListEveryMissingVolume) {  // R-FEAS-1202, 1203
  const CsiWorld world;
  const model::Job job = job_of("j");
  model::TaskGroup group = group_asking(request_of("csi", true));
  for (const char* alias : {"z", "a"}) {
    group.volumes[alias] = request_of("csi", true);
    group.volumes[alias]->source = std::string("gone-") + alias;
    group.volumes[alias]->per_alloc = true;
  }
  const VolumeState state = world.state();
  const CsiVolumeCheck check(job, group, "j.g[7]", state);
  EXPECT_EQ(check.failure(world.node), "missing CSI volume(s) gone-a[7], gone-z[7]");
  EXPECT_EQ(check.missing_resources(),
            (std::vector<std::string>{"csi-volume:default:gone-a[7]", "csi-volume:default:gone-z[7]"}));
}

TEST(CsiVolumes, CountWhatTheNodeAlreadyUses) {  // R-FEAS-1205, 1209, 1215
  CsiWorld world;
  for (const char* id : {"x", "y"}) {
    world.csi_volumes.push_back(world.csi_volumes[0]);
    world.csi_volumes.back().id = std::string(id);
  }
  model::TaskGroup x = group_asking(request_of("csi", true)), y = x;
  x.volumes["data"]->source = std::string("x"), y.volumes["data"]->source = std::string("y");
  AllocView first;
  first.id = "a", first.namespace_ = "default", first.node_id = "n1", first.group = &x, first.desired_run = true;
  AllocView second = first;
  second.id = "b", second.group = &y, second.desired_run = false, second.client_running = true;
  world.allocs = {first};
  EXPECT_EQ(world.read_reason(), "passes");
  world.allocs = {first, first};  // the same volume counts once
  EXPECT_EQ(world.read_reason(), "passes");
  world.allocs = {first, second};
  EXPECT_EQ(world.read_reason(), "CSI plugin ebs has the maximum number of volumes on client n1");
  world.allocs[1].client_running = false;
  EXPECT_EQ(world.read_reason(), "passes");
  world.allocs = {first, second};
  world.allocs[1].group = nullptr;  // its job version lacks the group
  EXPECT_EQ(world.read_reason(), "passes");
  world.allocs[1].group = &y;
  y.volumes["data"]->type = std::string("host");
  EXPECT_EQ(world.read_reason(), "passes");
  y.volumes["data"] = std::nullopt;
  EXPECT_EQ(world.read_reason(), "passes");
  y.volumes["data"] = request_of("csi", true);
  y.volumes["data"]->source = std::string("unknown");
  EXPECT_EQ(world.read_reason(), "passes");
}

TEST(CsiVolumes, WritersOfOtherJobsBlock) {  // R-FEAS-1213, 1214, 1220, 1221
  CsiWorld world;
  world.csi_volumes[0].access_mode = std::string("single-node-writer");
  EXPECT_EQ(world.write_reason(), "passes");
  world.csi_volumes[0].write_allocs["b"] = json::Value();
  EXPECT_EQ(world.write_reason(),
            "CSI volume data has exhausted its available writer claims and is claimed by a garbage collected "
            "allocation b; waiting for claim to be released");
  AllocView writer;
  writer.id = "b", writer.namespace_ = "default", writer.job_id = "j", writer.node_id = "n2";
  world.allocs = {writer};
  EXPECT_EQ(world.write_reason(), "passes");  // its own
  EXPECT_EQ(world.read_reason(), "passes");
  world.allocs[0].job_id = "k";
  EXPECT_EQ(world.write_reason(), "CSI volume data has exhausted its available writer claims");
  world.allocs[0].job_id = "j", world.allocs[0].namespace_ = "other";
  EXPECT_EQ(world.write_reason(), "CSI volume data has exhausted its available writer claims");
  world.csi_volumes[0].access_mode = std::string("multi-node-multi-writer");
  EXPECT_EQ(world.write_reason(), "passes");
}

}  // namespace
}  // namespace berth::feasible
