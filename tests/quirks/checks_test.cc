// Quirks of registration and of single checks.
#include <string>
#include <utility>

#include "feasible/host_volumes.h"
#include "feasible/volume_world.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "model/registration/job_canonical.h"
#include "quirks/quirk_test.h"

namespace berth::feasible {
namespace {

QUIRK_TEST(secrets_constrain_all_groups, SecretProvidersBindTheirOwnGroup) {  // R-MODEL-245
  model::Job job;
  for (const char* provider : {"vault", "local"}) {
    model::Task& task = job.task_groups.emplace_back().tasks.emplace_back();
    task.secrets = io::parse_json("[{\"Provider\":\"" + std::string(provider) + "\"}]").value();
  }
  model::add_implied_constraints(job, quirks);
  for (const model::TaskGroup& group : job.task_groups) ASSERT_EQ(group.constraints.size(), off ? 1U : 2U);
  EXPECT_EQ(job.task_groups[0].constraints[0].ltarget, "${attr.plugins.secrets.vault.version}");
  EXPECT_EQ(job.task_groups[1].constraints.back().ltarget, "${attr.plugins.secrets.local.version}");
}

QUIRK_TEST(single_writer_too_strict, ReadersPassAndRemovedJobsDoNotBlock) {  // R-FEAS-1109
  VolumeWorld world;
  world.host_volumes = {volume_of("v", "n", "single-node-single-writer")};
  model::VolumeRequest writes = request_of("host", false);
  writes.access_mode = std::string("single-node-single-writer");
  model::VolumeRequest reads = writes;
  reads.read_only = true;
  const model::Node node = node_with("n", "v");
  AllocView other;
  other.id = "a", other.namespace_ = "default", other.job_id = "k", other.task_group = "g", other.node_id = "n";
  world.allocs = {other};
  const auto passes = [&](const model::VolumeRequest& request) {
    const model::Job job = job_of("j");
    const model::TaskGroup group = group_asking(request);
    const VolumeState state = world.state();
    return HostVolumeCheck(job, group, "", state, quirks).passes(node);
  };
  EXPECT_EQ(passes(writes), off);  // its job is gone
  world.jobs = {job_of("k")};
  EXPECT_EQ(passes(writes), off);  // its group is gone
  world.jobs[0].task_groups = {group_asking(request_of("host", false))};
  EXPECT_FALSE(passes(writes));  // two writers
  EXPECT_EQ(passes(reads), off);
}

QUIRK_TEST(looks_use_up_claims, CheckingANodeLeavesTheClaims) {  // R-FEAS-1112, E14
  VolumeWorld world;
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
  HostVolumeCheck check(job, group, "", state, quirks);
  std::string verdicts;
  for (const auto& [node, volume] : {std::pair("F1", "v1"), {"C", "vC"}, {"F2", "v2"}})
    verdicts += check.passes(node_with(node, volume)) ? 'T' : 'F';
  EXPECT_EQ(verdicts, off ? "FTF" : "FTT");
}

}  // namespace
}  // namespace berth::feasible
