// Records of a job other than its versions, and requests on single versions and evaluations.
#include <gtest/gtest.h>

#include "base/json.h"
#include "fsm/request_world.h"
#include "model/job.h"

namespace berth::fsm {
namespace {

std::shared_ptr<model::Job> with_priority(const RequestWorld& world, std::int64_t priority) {
  auto job = std::make_shared<model::Job>(*world.log().job("default", "j"));
  job->priority = priority;
  return job;
}

Answer submit(RequestWorld& world, std::int64_t priority, const std::string& source) {
  RegisterJob request;
  request.job = with_priority(world, priority);
  request.submission.emplace().source = source;
  return world.requests().register_job(request, kRequestNow);
}

TEST(VersionRequests, SubmissionsOfTheNewestSixVersionsAreKept) {  // R-API-218
  RequestWorld world(kAsItIs);
  for (int i = 1; i <= 8; ++i) ASSERT_EQ(submit(world, i, "text " + std::to_string(i)).error, "");
  ASSERT_EQ(submit(world, 8, "no change, no version").error, "");
  const auto& kept = world.log().record("default", "j")->submissions;
  ASSERT_EQ(kept.size(), 6u);
  EXPECT_EQ(kept.front()->source, "text 8");
  EXPECT_EQ(kept.front()->version, 8u);
  EXPECT_EQ(kept.front()->job_modify_index, world.log().job("default", "j")->job_modify_index);
  EXPECT_EQ(kept.back()->source, "text 3");
  ASSERT_EQ(world.requests().deregister_job({"default", "j", true}, kRequestNow).error, "");
  EXPECT_TRUE(world.log().record("default", "j")->submissions.empty()) << "a purge removes them";
}

TEST(VersionRequests, ScalingLeavesEventsNewestFirst) {  // R-API-248, 263
  RequestWorld world(kAsItIs);
  ScaleJob request{"default", "j", "web", 5, "more", false, {}, 0};
  request.meta.set("who", "me");
  const Answer answer = world.requests().scale_job(request, kRequestNow);
  ASSERT_EQ(answer.error, "");
  ASSERT_EQ(answer.entries.size(), 3u);
  EXPECT_EQ(answer.index, answer.entries[2].index);
  EXPECT_EQ(answer.job_modify_index, answer.entries[0].index);
  EXPECT_EQ(answer.eval_create_index, answer.entries[1].index);
  const Answer said = world.requests().scale_job({"default", "j", "web", {}, "cannot", true, {}, 0}, kRequestNow + 1);
  ASSERT_EQ(said.error, "");
  EXPECT_EQ(said.entries.size(), 1u);
  EXPECT_EQ(said.eval_id, "");
  EXPECT_EQ(said.job_modify_index, world.log().job("default", "j")->modify_index);
  const auto& events = world.log().record("default", "j")->scaling.at("web");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].message, "cannot");
  EXPECT_TRUE(events[0].error);
  EXPECT_FALSE(events[0].count);
  EXPECT_EQ(events[0].previous_count, 5);
  EXPECT_EQ(events[1].count, 5);
  EXPECT_EQ(events[1].previous_count, 2);
  EXPECT_EQ(events[1].eval_id, answer.eval_id);
  EXPECT_EQ(events[1].create_index, answer.index);
  EXPECT_EQ(events[1].meta["who"].as_string(), "me");
  for (int i = 0; i < 30; ++i)
    ASSERT_EQ(world.requests().scale_job({"default", "j", "web", {}}, kRequestNow).error, "");
  EXPECT_EQ(world.log().record("default", "j")->scaling.at("web").size(), 20u);
}

TEST(VersionRequests, ScalingRequestsAreCheckedInNomadsOrder) {  // R-API-262
  struct Case {
    const char* why;
    ScaleJob request;
    std::string error;
  };
  const std::vector<Case> cases{
      {"no group", {"default", "nope", "", 1}, "RPC Error:: 400,missing task group name for scaling action"},
      {"negative", {"default", "nope", "web", -1}, "RPC Error:: 400,scaling action count can't be negative"},
      {"an error counts nothing",
       {"default", "nope", "web", 1, "", true, {}, 0},
       "RPC Error:: 400,scaling action should not contain count if error is true"},
      {"no job", {"default", "nope", "web", 1}, "RPC Error:: 404,job \"nope\" not found"},
      {"no such group",
       {"default", "j", "zzz", 1},
       "RPC Error:: 400,task group \"zzz\" specified for scaling does not exist in job"},
      {"below", {"default", "j", "web", 0}, "RPC Error:: 400,group count was less than scaling policy minimum: 0 < 1"},
      {"above",
       {"default", "j", "web", 11},
       "RPC Error:: 400,group count was greater than scaling policy maximum: 11 > 10"},
      {"another index",
       {"default", "j", "web", 4, "", false, {}, 7},
       "Enforcing job modify index 7: job exists with conflicting job modify index: 90"},
  };
  for (const Case& one : cases) {
    RequestWorld world([](model::Job& job, model::ClusterState&) {
      job.task_groups[0].scaling.emplace();
      job.task_groups[0].scaling->min = 1, job.task_groups[0].scaling->max = 10;
    });
    EXPECT_EQ(world.requests().scale_job(one.request, kRequestNow).error, one.error) << one.why;
    EXPECT_EQ(world.log().job("default", "j")->version, 0u) << one.why;
  }
}

TEST(VersionRequests, RevertMayInsistOnTheCurrentVersion) {  // R-API-264
  RequestWorld world(kAsItIs);
  ASSERT_EQ(submit(world, 60, "x").error, "");
  EXPECT_EQ(world.requests().revert_job({"default", "j", 0, 5}, kRequestNow).error,
            "Current job has version 1; enforcing version 5");
  EXPECT_EQ(world.requests().revert_job({"default", "j", 0, 1}, kRequestNow).error, "");
}

TEST(VersionRequests, StabilityMakesAVersionTheCurrentOne) {  // R-API-265, R-REG-438
  RequestWorld world(kAsItIs);
  ASSERT_EQ(submit(world, 60, "x").error, "");
  EXPECT_EQ(world.requests().set_stable("default", "j", 9, true).error,
            "job \"j\" in namespace \"default\" at version 9 not found");
  const Answer old = world.requests().set_stable("default", "j", 0, false);
  ASSERT_EQ(old.error, "");
  const auto& versions = world.log().record("default", "j")->versions;
  ASSERT_EQ(versions.size(), 2u);
  const auto current = [&] { return world.log().job("default", "j"); };
  EXPECT_EQ(current()->version, 0u);
  const auto scheduled = [&] {  // the version that schedulers place
    const tables::Snapshot& state = world.store().current();
    return state.jobs.versions[state.jobs.keys[world.store().find_job_key("default", "j")].current]->spec->version;
  };
  EXPECT_EQ(scheduled(), 0u);
  EXPECT_EQ(current()->job_modify_index, 90u);
  EXPECT_FALSE(versions[1]->stable);
  EXPECT_EQ(versions[1]->modify_index, old.index);
  ASSERT_EQ(world.requests().set_stable("default", "j", 0, false).error, "");
  EXPECT_EQ(current()->modify_index, old.index) << "it is so already";
  ASSERT_EQ(world.requests().set_stable("default", "j", 1, false).error, "");
  EXPECT_EQ(current()->version, 1u);
  EXPECT_EQ(scheduled(), 1u);
  EXPECT_FALSE(current()->stable);
  // A registration compares with the current row and gets the next number, even if higher ones exist (R-REG-438).
  ASSERT_EQ(world.requests().set_stable("default", "j", 0, true).error, "");
  ASSERT_EQ(submit(world, 61, "y").error, "");
  EXPECT_EQ(current()->version, 1u);
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0]->priority, 61);
  EXPECT_EQ(submission_of(*world.log().record("default", "j"), 1)->source, "x") << "that of the number stays";
}

// ---------------------------------------------------------------- scaling policies

/// A block without ID and indexes, as submitted through the API.
std::shared_ptr<model::Job> with_scaling(const RequestWorld& world, std::int64_t max) {
  auto job = std::make_shared<model::Job>(*world.log().job("default", "j"));
  job->stop = false;
  model::Scaling& scaling = job->task_groups[0].scaling.emplace();
  scaling.min = 0, scaling.max = max, scaling.enabled = true;
  scaling.extra.set("Type", "horizontal");
  scaling.extra.set("Target", json::Object{{"Namespace", "default"}, {"Job", "j"}, {"Group", "web"}});
  return job;
}

TEST(VersionRequests, ScalingBlocksMakeVersionsByIndex) {  // R-REG-432, 436, 460 to 465, R-REG-642
  RequestWorld world(kAsItIs);
  const auto record = [&]() -> const JobRecord& { return *world.log().record("default", "j"); };
  const auto submit_scaling = [&](std::int64_t max) {
    RegisterJob request;
    request.job = with_scaling(world, max);
    const Answer answer = world.requests().register_job(request, kRequestNow);
    EXPECT_EQ(answer.error, "");
    return answer.job_modify_index;
  };
  const auto block = [&](const char* key) { return record().current->task_groups[0].scaling->extra[key].as_uint(); };
  const auto id = [&] { return record().current->task_groups[0].scaling->extra["ID"].as_string(); };

  const std::uint64_t first = submit_scaling(5);
  EXPECT_EQ(record().current->version, 1u);
  EXPECT_EQ(block("CreateIndex"), first);
  EXPECT_EQ(block("ModifyIndex"), first);
  const std::string own = id();
  EXPECT_EQ(own.size(), 36u);
  ASSERT_EQ(record().policies.size(), 1u);
  EXPECT_EQ(record().policies[0].id, own);

  submit_scaling(5);  // unchanged: the stored block has indexes, the submitted one has none
  EXPECT_EQ(record().current->version, 2u);
  EXPECT_EQ(block("CreateIndex"), 0u);
  EXPECT_EQ(block("ModifyIndex"), 0u);
  EXPECT_EQ(id(), own);
  EXPECT_EQ(record().policies[0].modify_index, first);

  submit_scaling(5);  // now neither block has indexes
  EXPECT_EQ(record().current->version, 2u);

  const std::uint64_t changed = submit_scaling(6);
  EXPECT_EQ(record().current->version, 3u);
  EXPECT_EQ(block("CreateIndex"), first);
  EXPECT_EQ(block("ModifyIndex"), changed);

  const Answer stopped = world.requests().deregister_job({"default", "j", false}, kRequestNow);
  ASSERT_EQ(stopped.error, "");
  EXPECT_EQ(record().current->version, 4u);
  EXPECT_FALSE(record().policies[0].enabled);
  EXPECT_EQ(block("ModifyIndex"), stopped.index);

  const std::uint64_t again = submit_scaling(6);
  EXPECT_EQ(record().current->version, 5u);
  EXPECT_TRUE(record().policies[0].enabled);
  EXPECT_EQ(block("CreateIndex"), first);
  EXPECT_EQ(block("ModifyIndex"), again);

  // Scaled: the block is copied with its indexes, and the policy stays unchanged (R-REG-464).
  ASSERT_EQ(world.requests().scale_job({"default", "j", "web", 4}, kRequestNow).error, "");
  EXPECT_EQ(record().current->version, 6u);
  EXPECT_EQ(block("ModifyIndex"), again);
  EXPECT_EQ(record().policies[0].modify_index, again);

  RegisterJob plain;
  auto job = with_scaling(world, 6);
  job->task_groups[0].scaling.reset();
  plain.job = job;
  ASSERT_EQ(world.requests().register_job(plain, kRequestNow).error, "");
  EXPECT_TRUE(record().policies.empty());
  submit_scaling(6);
  EXPECT_NE(id(), own) << "a block that comes back gets a new ID";
  ASSERT_EQ(world.requests().deregister_job({"default", "j", true}, kRequestNow).error, "");
  EXPECT_TRUE(world.log().record("default", "j")->policies.empty());
}

TEST(VersionRequests, VersionsWithoutASourceInheritThatOfTheirOrigin) {  // R-REG-445, 447, R-REG-643
  RequestWorld world(kAsItIs);
  ASSERT_EQ(submit(world, 60, "one").error, "");  // version 1
  const auto source = [&](std::uint64_t version) {
    const Submission* found = submission_of(*world.log().record("default", "j"), version);
    return found ? found->source : "none";
  };
  ASSERT_EQ(world.requests().scale_job({"default", "j", "web", 4}, kRequestNow).error, "");
  EXPECT_EQ(source(2), "one");
  ASSERT_EQ(world.requests().deregister_job({"default", "j", false}, kRequestNow).error, "");
  EXPECT_EQ(source(3), "one");
  RegisterJob request;  // as over HTTP: version 0, which has no source
  auto job = with_priority(world, 70);
  job->stop = false, job->version = 0;
  request.job = job;
  ASSERT_EQ(world.requests().register_job(request, kRequestNow).error, "");
  EXPECT_EQ(source(4), "none");
  auto other = with_priority(world, 71);
  other->version = 1;
  request.job = other;
  ASSERT_EQ(world.requests().register_job(request, kRequestNow).error, "");
  EXPECT_EQ(source(5), "one");
}

TEST(VersionRequests, ATagNamesOneVersion) {  // R-API-266
  RequestWorld world(kAsItIs);
  ASSERT_EQ(submit(world, 60, "x").error, "");
  const auto tag = [&](const char* name, std::optional<std::uint64_t> version, bool remove = false) {
    return world.requests().tag_version({"default", "j", name, remove, version, "text"}, kRequestNow).error;
  };
  EXPECT_EQ(tag("gold", 7), "job \"j\" version 7 not found");
  EXPECT_EQ(tag("gold", {}, true), "tag \"gold\" not found on job \"j\"");
  EXPECT_EQ(tag("gold", 0), "");
  EXPECT_EQ(tag("gold", {}), "tag \"gold\" already exists on a different version of job \"j\"");
  EXPECT_EQ(tag("newest", {}), "");
  const auto& versions = world.log().record("default", "j")->versions;
  EXPECT_EQ(versions[0]->version_tag["Name"].as_string(), "newest");
  EXPECT_EQ(versions[1]->version_tag["Name"].as_string(), "gold");
  EXPECT_EQ(versions[1]->version_tag["TaggedTime"].as_int(), kRequestNow);
  for (int i = 0; i < 9; ++i) ASSERT_EQ(submit(world, 70 + i, "x").error, "");
  EXPECT_EQ(world.log().record("default", "j")->versions.back()->version, 0u)
      << "a tagged version is kept (R-CTRL-739)";
  EXPECT_EQ(tag("gold", {}, true), "");
  EXPECT_TRUE(world.log().record("default", "j")->versions.back()->version_tag.is_null());
}

TEST(VersionRequests, EvaluationsInUseAreNotDeleted) {  // R-API-404
  const std::string eval = request_id(4, 1);
  const auto world_with = [&](const char* client, bool stopped) {
    return std::make_unique<RequestWorld>([&](model::Job& job, model::ClusterState& state) {
      job.stop = stopped, job.status = "running";
      model::Evaluation& stored = state.evals.emplace_back();
      stored.id = eval, stored.namespace_ = "default", stored.job_id = "j", stored.status = "complete";
      stored.create_index = stored.modify_index = 95;
      model::Allocation& alloc = state.allocs.emplace_back();
      alloc.id = request_id(2, 1), alloc.namespace_ = "default", alloc.job_id = "j", alloc.task_group = "web";
      alloc.name = "j.web[0]", alloc.node_id = request_id(1, 1), alloc.eval_id = eval;
      alloc.desired_status = "run", alloc.client_status = client;
      alloc.create_index = alloc.modify_index = alloc.alloc_modify_index = 95;
    });
  };
  for (const char* client : {"running", "unknown", "failed"}) {  // group "web" reschedules without limit
    const auto world = world_with(client, false);
    EXPECT_EQ(world->requests().delete_evals({eval}).error, "eval " + eval + " is not safe to delete") << client;
    EXPECT_TRUE(world->log().eval(eval));
  }
  for (const bool stopped : {false, true}) {
    const auto world = world_with(stopped ? "running" : "complete", stopped);
    EXPECT_EQ(world->requests().delete_evals({eval, request_id(4, 2)}).error, "eval not found") << "all or none";
    EXPECT_TRUE(world->log().eval(eval));
    EXPECT_EQ(world->requests().delete_evals({eval}).error, "");
    EXPECT_FALSE(world->log().eval(eval));
  }
}

}  // namespace
}  // namespace berth::fsm
