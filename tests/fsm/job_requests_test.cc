// Job requests that the recorded scripts (tests/golden/control/jobs) do not cover: repeated tokens, compressible
// payloads, bounds of counts, and which allocations are forced.
#include "base/base64.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include "fsm/request_world.h"
#include "model/job.h"

namespace berth::fsm {
namespace {

constexpr auto kParameterized = [](model::Job& job, model::ClusterState&) {
  job.type = "batch";
  job.meta = {{"of", "the parent"}, {"size", "small"}};
  job.parameterized_job.emplace();
  job.parameterized_job->payload = "optional";
  job.parameterized_job->meta_required = {"size"};
  job.parameterized_job->meta_optional = {"colour"};
};

TEST(Base64, DecodesAndEncodesKnownTexts) {  // RFC 4648, section 10
  EXPECT_EQ(base::to_base64(""), "");
  EXPECT_EQ(base::to_base64("f"), "Zg==");
  EXPECT_EQ(base::to_base64("fo"), "Zm8=");
  EXPECT_EQ(base::to_base64("foobar"), "Zm9vYmFy");
  for (const char* bytes : {"", "f", "fo", "foo", "foob", "fooba", "foobar"})
    EXPECT_EQ(base::from_base64(base::to_base64(bytes)), bytes);
  for (const char* bad : {"Z", "Zg=", "%%%", "%%%%", "Zg==Zg==", "Z===", " Zg=", "Zg= "})
    EXPECT_EQ(base::from_base64(bad), std::nullopt) << bad;
}

TEST(JobRequests, RepeatedDispatchTokensGiveTheSameChild) {  // R-CTRL-1110
  RequestWorld world(kParameterized);
  DispatchJob request;
  request.name_space = "default", request.job_id = "j", request.meta = {{"size", "big"}};
  request.idempotency_token = "once";
  const Answer first = world.requests().dispatch_job(request, kRequestNow);
  ASSERT_EQ(first.error, "");
  EXPECT_EQ(first.entries.size(), 1u);
  const Answer again = world.requests().dispatch_job(request, kRequestNow + 5 * base::kSecond);
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.dispatched_job_id, first.dispatched_job_id);
  EXPECT_EQ(again.job_modify_index, first.job_modify_index);
  EXPECT_EQ(again.index, world.log().job("default", first.dispatched_job_id)->modify_index);
  EXPECT_TRUE(again.entries.empty());
  EXPECT_EQ(again.eval_id, "");
  request.idempotency_token = "twice";
  const Answer other = world.requests().dispatch_job(request, kRequestNow);
  EXPECT_NE(other.dispatched_job_id, first.dispatched_job_id);
  EXPECT_EQ(other.entries.size(), 1u);
}

TEST(JobRequests, ChildHasTheParentsMetaItsOwnAndTheCompressedPayload) {  // R-CTRL-214, 1110
  RequestWorld world(kParameterized);
  DispatchJob request;
  request.name_space = "default", request.job_id = "j", request.meta = {{"size", "big"}, {"colour", "red"}};
  request.payload = std::string(1000, 'a') + "b";
  request.priority = 70, request.id_prefix = "night";
  const Answer answer = world.requests().dispatch_job(request, kRequestNow);
  ASSERT_EQ(answer.error, "");
  EXPECT_TRUE(answer.dispatched_job_id.starts_with("j/dispatch-night-1700000000-")) << answer.dispatched_job_id;
  const auto child = world.log().job("default", answer.dispatched_job_id);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->meta,
            (std::map<std::string, std::string>{{"of", "the parent"}, {"size", "big"}, {"colour", "red"}}));
  EXPECT_EQ(child->priority, 70);
  EXPECT_EQ(child->parent_id, "j");
  EXPECT_TRUE(child->dispatched);
  std::string compressed;
  snappy::Compress(request.payload.data(), request.payload.size(), &compressed);
  EXPECT_LT(compressed.size(), 200u);
  EXPECT_EQ(child->payload, base::to_base64(compressed));
  ASSERT_TRUE(world.log().eval(answer.eval_id));
  EXPECT_EQ(world.log().eval(answer.eval_id)->priority, 70);
  EXPECT_EQ(world.log().record("default", "j")->summary->children_pending, 1);
}

TEST(JobRequests, DispatchesAgainstTheParentsRulesAreRefused) {  // R-CTRL-1110
  struct Case {
    std::map<std::string, std::string> meta;
    std::int64_t priority;
    const char* error;
  };
  RequestWorld world(kParameterized);
  for (const Case& c :
       {Case{{}, 0, "Dispatch did not provide required meta keys: [size]"},
        Case{{{"size", "1"}, {"y", ""}, {"x", ""}}, 0, "Dispatch request included unpermitted metadata keys: [x y]"},
        Case{{{"size", "1"}}, 101, "dispatch job priority must be between [1, 100]"},
        Case{{{"size", "1"}}, -1, "dispatch job priority must be between [1, 100]"}}) {
    DispatchJob request;
    request.name_space = "default", request.job_id = "j", request.meta = c.meta, request.priority = c.priority;
    const Answer answer = world.requests().dispatch_job(request, kRequestNow);
    EXPECT_EQ(answer.error, c.error);
    EXPECT_TRUE(answer.entries.empty());
  }
}

TEST(JobRequests, CountsOutsideTheirBoundsAreRefused) {  // R-CTRL-1108
  RequestWorld world([](model::Job& job, model::ClusterState&) {
    job.task_groups[0].scaling.emplace();
    job.task_groups[0].scaling->min = 1, job.task_groups[0].scaling->max = 10;
  });
  const auto scale = [&](const char* group, std::int64_t count) {
    return world.requests().scale_job({"default", "j", group, count}, kRequestNow);
  };
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{11}}) {
    EXPECT_TRUE(scale("web", count).error.starts_with("RPC Error:: 400,group count was ")) << count;
    EXPECT_TRUE(scale("web", count).entries.empty());
  }
  EXPECT_EQ(scale("db", -1).error, "RPC Error:: 400,scaling action count can't be negative");
  EXPECT_EQ(scale("db", 49'999).error, "total count was greater than configured job_max_count: 50001 > 50000");
  const Answer answer = scale("db", 49'998);  // exactly the maximum together with web's two
  EXPECT_EQ(answer.error, "");
  ASSERT_EQ(answer.entries.size(), 3u);
  EXPECT_STREQ(answer.entries[2].kind, "scaling_event");
  EXPECT_EQ(world.log().next_index(), answer.entries[2].index + 1);
  const auto job = world.log().job("default", "j");
  EXPECT_EQ(job->task_groups[1].count, 49'998);
  EXPECT_EQ(job->task_groups[0].count, 2);
  EXPECT_TRUE(job->stable) << "the flag of the scaled version stays";
  EXPECT_EQ(job->version, 1u);
}

TEST(JobRequests, ScalingWaitsForTheLatestDeploymentOnly) {  // R-CTRL-1108
  for (const bool latest_is_active : {true, false}) {
    RequestWorld world([&](model::Job&, model::ClusterState& state) {
      for (const std::uint64_t index : {91, 92}) {
        model::Deployment& deployment = state.deployments.emplace_back();
        deployment.id = request_id(3, index), deployment.namespace_ = "default", deployment.job_id = "j";
        deployment.create_index = deployment.modify_index = index;
        deployment.status = (index == 92) == latest_is_active ? "running" : "failed";
      }
    });
    const Answer answer = world.requests().scale_job({"default", "j", "web", 4}, kRequestNow);
    EXPECT_EQ(answer.error, latest_is_active ? "RPC Error:: 400,job scaling blocked due to active deployment" : "");
  }
}

TEST(JobRequests, ForcedReschedulingCoversFailedAllocationsWithoutAReplacement) {  // R-CTRL-1107
  RequestWorld world([](model::Job&, model::ClusterState& state) {
    const auto add = [&](std::uint64_t number, const char* group, const char* client) -> model::Allocation& {
      model::Allocation& alloc = state.allocs.emplace_back();
      alloc.id = request_id(2, number), alloc.namespace_ = "default", alloc.job_id = "j", alloc.task_group = group;
      alloc.name = std::string("j.") + group + "[0]", alloc.node_id = request_id(1, 1);
      alloc.desired_status = "run", alloc.client_status = client;
      alloc.create_index = alloc.modify_index = alloc.alloc_modify_index = 95;
      return alloc;
    };
    add(1, "web", "failed");
    add(2, "web", "running");
    add(3, "web", "failed").next_allocation = request_id(2, 2);
    add(4, "web", "failed").desired_transition.force_reschedule = true;
    add(5, "db", "failed");  // its policy is disabled
  });
  const Answer answer = world.requests().evaluate_job("default", "j", true, kRequestNow);
  ASSERT_EQ(answer.error, "");
  for (std::uint64_t number = 1; number <= 5; ++number) {
    const auto alloc = world.log().alloc(request_id(2, number));
    ASSERT_TRUE(alloc);
    EXPECT_EQ(alloc->modify_index, number == 1 ? answer.index : 95u) << number;
    EXPECT_EQ(alloc->desired_transition.force_reschedule.value_or(false), number == 1 || number == 4) << number;
  }
}

TEST(JobRequests, RevertIsANewVersionThatIsNotStableAndHasNoTag) {  // R-CTRL-1109
  RequestWorld world(kAsItIs);
  const Answer scaled = world.requests().scale_job({"default", "j", "web", 4}, kRequestNow);
  ASSERT_EQ(scaled.error, "");
  EXPECT_EQ(world.requests().revert_job({"default", "j", 1, {}}, kRequestNow).error, "can't revert to current version");
  const Answer answer = world.requests().revert_job({"default", "j", 0, {}}, kRequestNow);
  ASSERT_EQ(answer.error, "");
  const auto job = world.log().job("default", "j");
  EXPECT_EQ(job->version, 2u);
  EXPECT_EQ(job->task_groups[0].count, 2);
  EXPECT_FALSE(job->stable);
  EXPECT_EQ(world.requests().revert_job({"default", "j", 7, {}}, kRequestNow).error,
            "job \"j\" in namespace \"default\" at version 7 not found");
}

TEST(JobRequests, RequestsThatAJobsKindDoesNotAllowAreRefused) {  // R-CTRL-1107, 1110
  RequestWorld plain(kAsItIs), parent(kParameterized);
  RequestWorld periodic([](model::Job& job, model::ClusterState&) {
    job.type = "batch";
    job.periodic.emplace().enabled = true;
  });
  EXPECT_EQ(parent.requests().evaluate_job("default", "j", false, kRequestNow).error,
            "can't evaluate parameterized job");
  EXPECT_EQ(periodic.requests().evaluate_job("default", "j", false, kRequestNow).error, "can't evaluate periodic job");
  EXPECT_EQ(plain.requests().evaluate_job("other", "j", false, kRequestNow).error, "job not found");
  EXPECT_EQ(plain.requests().force_periodic("default", "j").error, "can't force launch non-periodic job");
  EXPECT_EQ(periodic.requests().force_periodic("default", "j").error,
            "force launch for job \"j\" failed: periodic dispatch disabled");
  EXPECT_EQ(plain.requests().dispatch_job({"default", "j", {}, {}, 0, {}, {}}, kRequestNow).error,
            "Specified job \"j\" is not a parameterized job");
}

}  // namespace
}  // namespace berth::fsm
