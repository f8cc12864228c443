// Time and memory of a dry run, from the files to the advice, are linear in the length of every list of a job and of a
// node.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "advice/advice.h"
#include "advice/plan_text.h"
#include "dryrun/request.h"
#include "io/export_import.h"
#include "support/growth.h"
#include "support/heap_bytes.h"
#include "support/long_lists.h"
#include "support/sanitized.h"

namespace berth::dryrun {
namespace {

constexpr std::int64_t kNow = 1'795'309'000'000'000'000;

model::ClusterState cluster_of(json::Value node) {
  json::Value document = json::Value::object();
  const std::string place = "/v1/node/" + node["ID"].as_string();
  document.set(place, std::move(node));
  document.set("/v1/operator/scheduler/configuration", json::Object{{"SchedulerConfig", json::Value::object()}});
  auto done = io::import_cluster_json(document, "cluster");
  if (!done) ADD_FAILURE() << done.error().line();
  return done ? std::move(done->state) : model::ClusterState();
}

/// All work of `berth plan` for one job.
void plan(const model::ClusterState& state, const json::Value& document) {
  const advice::Question question{state, document, "job", "", {}, kNow, 0};
  static_cast<void>(key_warnings(document, "job"));
  const auto registration = advice::read_job(state, document, "job", "");
  ASSERT_TRUE(registration) << registration.error().line();
  ASSERT_TRUE(registration->job) << registration->error.substr(0, 500);
  server::DryRun dry_run(state, *registration, kNow);
  const server::DryRunAnswer answer = dry_run.answer(0);
  ASSERT_EQ(answer.error, "");
  const auto advice = advice::advise(question, *registration, dry_run, answer);
  EXPECT_FALSE(advice::to_text(answer, "service", {}).empty());
  EXPECT_FALSE(json::to_text(advice::to_json(answer)).empty());
}

template <class Work>
void expect_linear(const std::string& name, Work work) {
  const std::size_t size = testing::kSanitized ? 10 : 300, larger = testing::kGrowth * size;
  // The timed runs measure the memory as well.
  double small_ns = 0, growth = 0;
  const auto bytes =
      static_cast<double>(testing::heap_used_by([&] { small_ns = testing::least_cpu_ns([&] { work(size); }); }));
  const auto more = static_cast<double>(
      testing::heap_used_by([&] { growth = testing::growth_from(small_ns, [&] { work(larger); }); }));
  const double floor = 1e6;  // constant part
  EXPECT_LT(more, std::max(bytes, floor) * testing::kGrowth * 1.6) << name << ": memory";
  EXPECT_LT(growth, testing::kLinearAtMost) << name << ": time";
}

std::string test_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

class JobGrowth : public ::testing::TestWithParam<std::size_t> {};

TEST_P(JobGrowth, CostsByTheLengthOfItsLists) {
  const auto& [name, make] = testing::job_lists()[GetParam()];
  const model::ClusterState state = cluster_of(testing::node_lists().front().second(0));
  expect_linear(name, [&](std::size_t count) { plan(state, make(count)); });
}

INSTANTIATE_TEST_SUITE_P(Lists, JobGrowth, ::testing::Range(std::size_t{0}, testing::job_lists().size()),
                         [](const auto& test) { return test_name(testing::job_lists()[test.param].first); });

class NodeGrowth : public ::testing::TestWithParam<std::size_t> {};

TEST_P(NodeGrowth, CostsByTheLengthOfItsLists) {
  const auto& [name, make] = testing::node_lists()[GetParam()];
  json::Value job = testing::long_lists::job();
  expect_linear(name, [&](std::size_t count) { plan(cluster_of(make(count)), job); });
}

INSTANTIATE_TEST_SUITE_P(Lists, NodeGrowth, ::testing::Range(std::size_t{0}, testing::node_lists().size()),
                         [](const auto& test) { return test_name(testing::node_lists()[test.param].first); });

std::string uuid_of(std::size_t kind, std::size_t number) {
  return fmt::format("{:08x}-1111-4111-8111-{:012x}", kind, number);
}

/// A job with a sticky volume; many of its allocations ended and left claims on volumes of the node.
TEST(StateGrowth, ClaimsOnStickyVolumesCostByTheirNumber) {
  json::Value document = testing::long_lists::job();
  testing::long_lists::group(document).set(
      "Volumes",
      json::Object{{"data", json::Object{{"Name", "data"}, {"Type", "host"}, {"Source", "data"}, {"Sticky", true}}}});
  const auto state_with = [&](std::size_t count) {
    model::ClusterState state = cluster_of(testing::node_lists().front().second(0));
    model::Node& node = state.nodes.front();
    node.host_volumes["data"] = model::HostVolumeInfo{"data", "/", false, uuid_of(5, 0)};
    const auto registration = advice::read_job(state, document, "job", "");
    if (!registration || !registration->job) {
      ADD_FAILURE() << "the job is refused";
      return state;
    }
    state.jobs.push_back(registration->job);
    state.job_versions.push_back(registration->job);
    for (std::size_t i = 0; i < count; ++i) {
      model::HostVolume& volume = state.host_volumes.emplace_back();
      volume.namespace_ = "default", volume.id = uuid_of(5, i), volume.name = "data", volume.node_id = node.id;
      volume.state = "ready", volume.requested_capabilities = {{"file-system", "single-node-writer"}};
      model::Allocation& alloc = state.allocs.emplace_back();
      alloc.id = uuid_of(6, i), alloc.namespace_ = "default", alloc.name = "j.g[0]", alloc.job_id = "j";
      alloc.job = registration->job, alloc.task_group = "g", alloc.node_id = node.id;
      alloc.desired_status = "stop", alloc.client_status = "complete";
      model::HostVolumeClaim& claim = state.host_volume_claims.emplace_back();
      claim.id = uuid_of(7, i), claim.namespace_ = "default", claim.job_id = "j", claim.task_group_name = "g";
      claim.alloc_id = alloc.id, claim.volume_id = volume.id, claim.volume_name = "data";
    }
    return state;
  };
  const std::size_t size = testing::kSanitized ? 10 : 300;
  const model::ClusterState few = state_with(size), many = state_with(testing::kGrowth * size);
  const double small_ns = testing::least_cpu_ns([&] { plan(few, document); });
  EXPECT_LT(testing::growth_from(small_ns, [&] { plan(many, document); }), testing::kLinearAtMost);
}

/// Each trial of advice may plan the whole job. Fewer groups get advice then, and 5,000 failed groups still end.
TEST(StateGrowth, AdviceOfThousandsOfGroupsIsBounded) {
  const model::ClusterState state = cluster_of(testing::node_lists().front().second(0));
  const auto advised = [&](std::size_t groups, std::optional<std::size_t> most) {
    const json::Value document = testing::long_lists::with_groups(groups, [](json::Value& group) {
      group.set("Constraints", json::Array{testing::long_lists::unmet(0)});
      group.set("Networks", json::Array{json::Object{{"Mode", "bridge"}}});
    });
    const advice::Question question{state, document, "job", "", {}, kNow, 0};
    const auto registration = advice::read_job(state, document, "job", "");
    if (!registration || !registration->job) {
      ADD_FAILURE() << "the job is refused";
      return std::size_t{0};
    }
    server::DryRun dry_run(state, *registration, kNow);
    const server::DryRunAnswer answer = dry_run.answer(0);
    EXPECT_EQ(answer.failed.size(), groups);
    return advice::advise(question, *registration, dry_run, answer, most).size();
  };
  EXPECT_EQ(advised(100, {}), advice::kAdvised);
  const std::size_t many = advised(5'000, {});
  EXPECT_GT(many, 0U);
  EXPECT_LT(many, advice::kAdvised / 2);
  EXPECT_EQ(advised(1'000, 12), 12U) << "as many as the user says";
}

TEST(NodeGrowth, AnAttributeTakesLittleMemory) {  // 21 KB each before; the model's own map entry takes 112 bytes
  const auto& make = testing::node_lists()[1].second;
  const json::Value job = testing::long_lists::job();
  const auto used = [&](std::size_t count) {
    const model::ClusterState state = cluster_of(make(count));
    return testing::heap_used_by([&] { plan(state, job); });
  };
  const std::int64_t few = used(1'000), many = used(20'000);
  EXPECT_LT(static_cast<double>(many - few) / 19'000, 600);
}

}  // namespace
}  // namespace berth::dryrun
