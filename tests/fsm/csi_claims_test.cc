// Claims on CSI volumes follow what clients report (R-STORE-246).
#include "fsm/csi_claims.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "fsm/entries.h"
#include "fsm/state_log.h"
#include "model/job.h"
#include "support/cluster_objects.h"
#include "tables/export.h"

namespace berth::fsm {
namespace {

constexpr const char* kNode = "00000000-0000-0001-0000-000000000001";
constexpr const char* kFirst = "00000000-0000-0002-0000-000000000001";
constexpr const char* kSecond = "00000000-0000-0002-0000-000000000002";

class CsiClaims : public ::testing::Test {
 protected:
  CsiClaims() {
    model::ClusterState state;
    state.index = 10;
    state.nodes.push_back(testing::make_node({.id = kNode}));
    auto job = testing::make_job({.id = "a"});
    job->status = "running";
    model::TaskGroup& group = job->task_groups[0];
    group.volumes["w"] = model::VolumeRequest{.name = "w",
                                              .type = "csi",
                                              .source = "disk",
                                              .access_mode = "single-node-writer",
                                              .attachment_mode = "file-system"};
    state.jobs = state.job_versions = {job};
    for (const char* id : {kFirst, kSecond})
      state.allocs.push_back(testing::make_alloc(
          {.id = id, .job = job, .node_id = kNode, .index = state.allocs.size(), .client = "pending"}));
    model::CsiVolume& volume = state.csi_volumes.emplace_back();
    volume.id = "disk", volume.namespace_ = "default", volume.plugin_id = "ebs";
    model::CsiVolume& other = state.csi_volumes.emplace_back();
    other.id = "disk", other.namespace_ = "other", other.plugin_id = "ebs";
    store_.load(state);
    log_.load(state);
  }
  void report(const char* id, const char* status) {
    ClientUpdateEntry entry;
    model::Allocation alloc = *log_.alloc(id);
    alloc.client_status = status;
    entry.add(std::move(alloc));
    Hooks hooks;
    EXPECT_EQ(log_.apply(log_.next_index(), entry, hooks), "");
  }
  [[nodiscard]] const model::CsiVolume& volume() const { return store_.current().cold->csi_volumes[0]; }

  tables::StateStore store_;
  StateLog log_{store_};
};

TEST_F(CsiClaims, AreMadeWhenTheAllocationRuns) {
  EXPECT_TRUE(volume().write_allocs.empty());
  report(kFirst, "running");
  EXPECT_EQ(volume().write_allocs.size(), 1U);
  EXPECT_EQ(volume().write_claims.at(kFirst)["NodeID"].as_string(), kNode);
  EXPECT_EQ(volume().write_claims.at(kFirst)["Mode"].as_int(), 1);
  EXPECT_EQ(volume().access_mode, "single-node-writer");
  EXPECT_EQ(volume().attachment_mode, "file-system");
  EXPECT_EQ(volume().modify_index, 11U);
  EXPECT_TRUE(store_.current().cold->csi_volumes[1].write_allocs.empty());  // of another namespace
  report(kFirst, "running");
  EXPECT_EQ(volume().modify_index, 11U);  // nothing new
}

TEST_F(CsiClaims, AreReleasedWhenItHasEnded) {
  report(kFirst, "running");
  report(kSecond, "running");
  const tables::SnapshotRef before = store_.snapshot();
  report(kFirst, "complete");
  EXPECT_FALSE(volume().write_allocs.contains(kFirst));
  EXPECT_TRUE(volume().write_allocs.contains(kSecond));
  EXPECT_EQ(volume().access_mode, "single-node-writer");
  report(kSecond, "failed");
  EXPECT_TRUE(volume().write_allocs.empty() && volume().write_claims.empty());
  EXPECT_EQ(volume().access_mode, "");  // the last one clears the modes
  EXPECT_EQ(volume().attachment_mode, "");
  EXPECT_EQ(before->cold->csi_volumes[0].write_allocs.size(), 2U);
}

TEST_F(CsiClaims, AreReleasedWhenItIsRemoved) {
  report(kFirst, "running");
  EvalDeleteEntry entry;
  entry.allocs = {store_.find_alloc(kFirst)};
  Hooks hooks;
  EXPECT_EQ(log_.apply(log_.next_index(), entry, hooks), "");
  EXPECT_TRUE(volume().write_allocs.empty());
}

}  // namespace
}  // namespace berth::fsm
