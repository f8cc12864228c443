// Claims on sticky host volumes: made when a plan is committed, removed with their job (R-FEAS-1114, R-STORE-222, 223).
#include <gtest/gtest.h>

#include "model/job.h"
#include "plan/apply.h"
#include "support/cluster_objects.h"
#include "tables/export.h"

namespace berth::plan {
namespace {

using tables::AllocRow;

constexpr const char* kVolume = "aaaaaaaa-0000-4000-8000-000000000001";

/// One node that offers the volume `data` as a dynamic one, and `plain` as a static one.
model::Node node_with_volume() {
  model::Node node = testing::make_node({.mhz = 10'000, .memory_mb = 10'000});
  node.host_volumes["data"] = model::HostVolumeInfo{.name = "data", .path = "/x", .id = kVolume};
  node.host_volumes["plain"] = model::HostVolumeInfo{.name = "plain", .path = "/y"};
  return node;
}

std::shared_ptr<model::Job> sticky_job() {
  auto job = testing::make_job({.id = "a", .groups = {{.memory_mb = 100}}});
  model::TaskGroup& group = job->task_groups[0];
  group.volumes["v"] = model::VolumeRequest{.name = "v", .type = "host", .source = "data", .sticky = true};
  group.volumes["loose"] = model::VolumeRequest{.name = "loose", .type = "host", .source = "data"};
  group.volumes["static"] = model::VolumeRequest{.name = "static", .type = "host", .source = "plain", .sticky = true};
  group.volumes["none"] = model::VolumeRequest{.name = "none", .type = "host", .source = "none", .sticky = true};
  return job;
}

class StickyClaims : public ::testing::Test {
 protected:
  StickyClaims() {
    node_ = store_.begin_commit().upsert_node(node_with_volume());
    job_ = store_.upsert_job(sticky_job(), true);
    store_.set_index(10);
  }
  /// Plans one allocation, which may stop another one first.
  AllocRow place(std::uint64_t number, AllocRow stops = tables::kNoRow) {
    PlanRows plan;
    plan.job = job_;
    PlannedAlloc& alloc = plan.allocs.emplace_back();
    alloc.id = {number, 7};
    alloc.node = node_;
    alloc.shape = store_.current().jobs.versions[job_]->groups[0].shape;
    alloc.held = alloc.shape.get();
    alloc.first_on_node = true;
    if (stops != tables::kNoRow) plan.stops.emplace_back().alloc = stops;
    ApplyResult result;
    applier_.apply(plan, store_.index() + 1, false, result);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.committed, 1U);
    return store_.find_alloc(base::Uuid{number, 7});
  }
  std::vector<model::HostVolumeClaim> claims() const { return tables::to_cluster(store_.current()).host_volume_claims; }

  tables::StateStore store_;
  tables::NodeRow node_ = tables::kNoRow;
  tables::VersionRow job_ = tables::kNoRow;
  Applier applier_{store_};
};

TEST_F(StickyClaims, AreMadeForStickyRequestsOfDynamicVolumes) {
  place(1);
  ASSERT_EQ(claims().size(), 1U);  // not for the request that is not sticky, the static volume and the unknown one
  const model::HostVolumeClaim claim = claims()[0];
  EXPECT_EQ(claim.namespace_ + "/" + claim.job_id + "/" + claim.task_group_name, "default/a/g");
  EXPECT_EQ(claim.volume_id, kVolume);
  EXPECT_EQ(claim.volume_name, "data");
  EXPECT_EQ(claim.alloc_id, base::to_text(base::Uuid{1, 7}));
  EXPECT_EQ(claim.create_index, 11U);
  EXPECT_EQ(claim.modify_index, 11U);
  EXPECT_TRUE(base::parse_uuid(claim.id));
}

TEST_F(StickyClaims, KeepTheirIdIfTheClaimantHasEnded) {
  const AllocRow first = place(1);
  const std::string id = claims()[0].id;
  store_.set_client_status(first, tables::Client::failed, 12);
  place(2);
  ASSERT_EQ(claims().size(), 1U);
  EXPECT_EQ(claims()[0].id, id);
  EXPECT_EQ(claims()[0].alloc_id, base::to_text(base::Uuid{2, 7}));
  EXPECT_EQ(claims()[0].create_index, 11U);
  EXPECT_EQ(claims()[0].modify_index, 13U);
}

TEST_F(StickyClaims, AreNewIfThePlanStopsTheClaimant) {  // the claimant has not ended yet
  const AllocRow first = place(1);
  const std::string id = claims()[0].id;
  place(2, first);
  ASSERT_EQ(claims().size(), 1U);
  EXPECT_NE(claims()[0].id, id);
  EXPECT_EQ(claims()[0].create_index, 11U);
  EXPECT_EQ(claims()[0].modify_index, 12U);
}

TEST_F(StickyClaims, AreNewIfTheClaimantIsGone) {
  const AllocRow first = place(1);
  const std::string id = claims()[0].id;
  store_.begin_commit(12).remove_alloc(first);
  ASSERT_EQ(claims().size(), 1U);  // the claim outlives its allocation
  place(2);
  EXPECT_NE(claims()[0].id, id);
  EXPECT_EQ(claims()[0].create_index, 11U);
}

TEST_F(StickyClaims, AreRemovedWithTheirJob) {  // R-STORE-223
  place(1);
  const tables::SnapshotRef before = store_.snapshot();
  store_.begin_commit(12).purge_job(store_.find_job_key("default", "a"));
  EXPECT_TRUE(claims().empty());
  EXPECT_EQ(tables::to_cluster(*before).host_volume_claims.size(), 1U);  // an earlier snapshot still shows them
}

TEST_F(StickyClaims, AreRemovedById) {  // R-STORE-221
  place(1);
  const tables::SnapshotRef before = store_.snapshot();
  store_.begin_commit(12).remove_claim(claims()[0].id);
  EXPECT_TRUE(claims().empty());
  EXPECT_EQ(tables::to_cluster(*before).host_volume_claims.size(), 1U);
}

/// R-MODEL-403 counts requests of allocations with a job attached; a plan's new ones have none. Recorded in streams.
TEST_F(StickyClaims, OnASingleWriterVolumeDoNotPreventASecondPlacement) {
  auto job = std::make_shared<model::Job>(*sticky_job());
  job->version = 1;
  job->task_groups[0].volumes["v"]->access_mode = "single-node-single-writer";
  job->task_groups[0].volumes.erase("loose");  // otherwise a single allocation claims it twice
  job_ = store_.upsert_job(job, true);
  place(1);
  place(2);
}

TEST_F(StickyClaims, RoundTripThroughAnExport) {
  place(1);
  tables::StateStore other;
  other.load(tables::to_cluster(store_.current()));
  EXPECT_EQ(tables::to_cluster(other.current()).host_volume_claims, claims());
}

}  // namespace
}  // namespace berth::plan
