// IDs that cannot be stored, and contradictory states: each is named, and refused with `strict`.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/time.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "io/small_export.h"
#include "model/job.h"
#include "model/registration/register_job.h"
#include "tables/check.h"
#include "tables/state.h"

namespace berth::io {
namespace {

constexpr const char *kIdNode = berth::testing::kNode1, *kIdAlloc1 = berth::testing::kAlloc1,
                     *kIdAlloc2 = berth::testing::kAlloc2, *kIdAlloc3 = berth::testing::kAlloc3,
                     *kIdNil = "00000000-0000-0000-0000-000000000000";
constexpr std::int64_t kIn2027 = 1'800'000'000'000'000'000;

json::Value api_answers() { return parse_json(berth::testing::kSmallExport).value(); }

/// The small export as CLUSTER.json.
json::Value small_cluster() { return cluster_to_json(import_cluster_json(api_answers(), "small").value().state); }

std::string error_of(const json::Value& document) {
  const auto done = import_cluster_json(document, "file");
  return done ? "" : done.error().line();
}

json::Value& first(json::Value& cluster, const char* list) { return cluster.find(list)->items()[0]; }
json::Value& group_of(json::Value& job) { return job.find("TaskGroups")->items()[0]; }
json::Value& task_of(json::Value& alloc) { return *alloc.find("AllocatedResources")->find("Tasks")->find("main"); }

/// CLUSTER.json with `key` of the first entry of `list` replaced.
json::Value with(const char* list, const char* key, const json::Value& value) {
  json::Value all = small_cluster();
  first(all, list).set(key, value);
  return all;
}

const std::string kNoUuid = ": its ID is no UUID; write a UUID: 32 hexadecimal digits as 8-4-4-4-12";

TEST(ImportedIds, NonUuidsAreRefusedByNameAndPlace) {  // R-MODEL-590
  EXPECT_EQ(error_of(with("Nodes", "ID", "n1")), "file:/Nodes/0: node n1" + kNoUuid);
  EXPECT_EQ(error_of(with("Allocs", "ID", "a\n1")), "file:/Allocs/0: allocation a?1" + kNoUuid);
  EXPECT_EQ(error_of(with("Evals", "ID", "e1")), "file:/Evals/0: evaluation e1" + kNoUuid);
  EXPECT_EQ(error_of(with("Deployments", "ID", "d1")), "file:/Deployments/0: deployment d1" + kNoUuid);
  EXPECT_EQ(error_of(with("Nodes", "ID", "")), "file:/Nodes/0: a node without an ID; give it one");
  EXPECT_EQ(error_of(with("Allocs", "ID", "")), "file:/Allocs/0: an allocation without an ID; give it one");
  EXPECT_EQ(error_of(with("Jobs", "ID", "")), "file:/Jobs/0: a job without an ID; give it one");
  EXPECT_EQ(error_of(with("JobVersions", "ID", "")), "file:/JobVersions/0: a job without an ID; give it one");
  json::Value carried = json::Value::object();
  carried.set("Priority", 50);
  EXPECT_EQ(error_of(with("Allocs", "Job", carried)), "file:/Allocs/0/Job: a job without an ID; give it one");
  for (const char* list : {"Nodes", "Evals", "Deployments"})  // the nil UUID, which tables and clients use for "none"
    EXPECT_NE(error_of(with(list, "ID", kIdNil)).find("the nil UUID stands for none"), std::string::npos);
}

TEST(ImportedIds, AnswersOfTheApiFollowTheSameRules) {
  const json::Value all = api_answers();
  for (const json::Member& member : all.members()) {
    const bool is_list = member.value.is_array();
    json::Value answers = api_answers();
    json::Value& answer = *answers.find(member.key);
    if (is_list ? !answer.items()[0].has("ID") : !answer.has("ID")) continue;
    if (member.key == "/v1/volumes/claims") continue;  // its keys are texts
    (is_list ? answer.items()[0] : answer).set("ID", "");
    EXPECT_EQ(error_of(answers).substr(0, 7 + member.key.size()), "file:[" + member.key + "]") << error_of(answers);
    EXPECT_NE(error_of(answers).find("without an ID; give it one"), std::string::npos) << error_of(answers);
    if (member.key == "/v1/job/web") continue;
    (is_list ? answer.items()[0] : answer).set("ID", "bogus");
    EXPECT_NE(error_of(answers).find(" bogus" + kNoUuid), std::string::npos) << error_of(answers);
  }
}

TEST(ImportedIds, OneUuidInOtherLettersIsOneObject) {
  json::Value all = small_cluster();
  json::Value copy = all["Allocs"][0];
  copy.set("ID", "A0000000-0000-4000-8000-000000000001");
  all.find("Allocs")->push(copy);
  const auto done = import_cluster_json(all, "file");
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->state.allocs.size(), 3U);
  ASSERT_EQ(done->warnings.size(), 1U);
  EXPECT_EQ(done->warnings[0], std::string("allocation ") + kIdAlloc1 + " is listed twice; the first one is kept");

  std::string text = berth::testing::kSmallExport;  // every other reference in the other case
  bool shout = true;
  for (std::size_t at = 0; (at = text.find("\"a0000000-", at)) != std::string::npos; ++at, shout = !shout)
    if (shout) text[at + 1] = 'A';
  const auto shouted = import_cluster_json(parse_json(text).value(), "file", {.strict = true});
  ASSERT_TRUE(shouted) << shouted.error().line();
  EXPECT_EQ(json::to_text(cluster_to_json(shouted->state)), json::to_text(small_cluster()));
}

TEST(ImportedIds, NonUuidReferencesMatchNoObject) {
  json::Value all = with("Allocs", "NodeID", "bogus");
  const auto done = import_cluster_json(all, "file");
  ASSERT_TRUE(done) << done.error().line();
  ASSERT_EQ(done->warnings.size(), 1U);
  EXPECT_EQ(done->warnings[0], std::string("allocation ") + kIdAlloc1 + ": its node bogus is not there");
  tables::StateStore store;
  store.load(done->state);
  EXPECT_TRUE(tables::check_tables(store.current()).empty());
  EXPECT_EQ(store.current().allocs.node[store.find_alloc(kIdAlloc1)], tables::kNoRow);
  EXPECT_NE(store.current().allocs.node[store.find_alloc(kIdAlloc2)], tables::kNoRow);
  for (const char* key :
       {"EvalID", "PreviousAllocation", "NextAllocation", "DeploymentID", "FollowupEvalID", "PreemptedByAllocation"}) {
    SCOPED_TRACE(key);
    const json::Value changed = with("Allocs", key, "bogus");
    const auto warned = import_cluster_json(changed, "file");
    ASSERT_TRUE(warned);
    ASSERT_FALSE(warned->warnings.empty());
    EXPECT_EQ(warned->warnings[0],
              std::string("allocation ") + kIdAlloc1 + ": its " + key + " bogus is no UUID, so it is not there");
    EXPECT_FALSE(import_cluster_json(changed, "file", {.strict = true}));
  }
}

struct Remark {
  const char* text;  // of the warning
  std::function<void(json::Value& cluster)> change;
};

std::function<void(json::Value&)> deployed(const char* key) {
  return [key](json::Value& all) { first(all, "Deployments").find("TaskGroups")->find("app")->set(key, -1); };
}

std::function<void(json::Value&)> updated(const char* key) {
  return [key](json::Value& all) {
    json::Value update = json::Value::object();
    update.set(key, -1);
    group_of(first(all, "Jobs")).set("Update", update);
  };
}

const std::vector<Remark>& remarks() {
  static const std::vector<Remark> kRemarks = {
      {"000000000001: its NextAllocation leads back to itself",
       [](json::Value& all) { first(all, "Allocs").set("NextAllocation", kIdAlloc1); }},
      {"000000000001: its PreviousAllocation leads back to itself",
       [](json::Value& all) {
         first(all, "Allocs").set("PreviousAllocation", kIdAlloc3);
         all.find("Allocs")->items()[2].set("PreviousAllocation", kIdAlloc1);
       }},
      {"000000000002: has the name 'web.app[0]' of allocation a0000000-0000-4000-8000-000000000001",
       [](json::Value& all) {
         first(all, "Allocs").set("JobVersion", 1);
         all.find("Allocs")->items()[1].set("Name", "web.app[0]");
       }},
      {"000000000001: its deployment d0000000-0000-4000-8000-000000000009 is not there",
       [](json::Value& all) { first(all, "Allocs").set("DeploymentID", "d0000000-0000-4000-8000-000000000009"); }},
      {"000000000001: its ModifyTime 2027-01-15T08:05:00.000000001Z is yet to come",
       [](json::Value& all) { first(all, "Allocs").set("ModifyTime", kIn2027 + 300 * base::kSecond + 1); }},
      {"evaluation e0000000-0000-4000-8000-000000000001: its CreateTime 2262-",
       [](json::Value& all) { first(all, "Evals").set("CreateTime", INT64_MAX); }},
      {"000000000001: its FinishedAt 2200-01-01T00:00:00Z is yet to come",
       [](json::Value& all) {
         first(all, "Allocs").find("TaskStates")->find("main")->set("FinishedAt", "2200-01-01T00:00:00Z");
       }},
      {"job web version 1: its SubmitTime 2084-",
       [](json::Value& all) { first(all, "Jobs").set("SubmitTime", 2 * kIn2027); }},
      {"000000000001, group app: DesiredTotal is -1", deployed("DesiredTotal")},
      {"000000000001, group app: HealthyAllocs is -1", deployed("HealthyAllocs")},
      {"job web version 1, group app: Update/MaxParallel is -1", updated("MaxParallel")},
      {"job web version 1, group app: Update/Canary is -1", updated("Canary")},
      {"job web version 1, group app: there are two of that name",
       [](json::Value& all) {
         json::Value& job = first(all, "Jobs");
         job.find("TaskGroups")->push(json::Value(group_of(job)));
       }},
      {"job web version 1: its type 'magic' is none of Nomad's",
       [](json::Value& all) { first(all, "Jobs").set("Type", "magic"); }},
      {"node 10000000-0000-4000-8000-000000000001: its dynamic ports begin at 32001 and end at 32000",
       [](json::Value& all) { first(all, "Nodes").find("NodeResources")->set("MinDynamicPort", 32001); }},
      {"node 10000000-0000-4000-8000-000000000001: ReservedHostPorts 'ssh' is no list of ports",
       [](json::Value& all) {
         first(all, "Nodes").find("ReservedResources")->find("Networks")->set("ReservedHostPorts", "ssh");
       }},
      {"node 10000000-0000-4000-8000-000000000001: the sum of its allocations is beyond 64 bits",
       [](json::Value& all) {
         for (const std::size_t i : {0U, 1U})
           task_of(all.find("Allocs")->items()[i]).find("Memory")->set("MemoryMB", INT64_MAX / 2 + 1);
       }},
      {"000000000001: the sum of its tasks is beyond 64 bits",
       [](json::Value& all) {
         json::Value& alloc = first(all, "Allocs");
         task_of(alloc).find("Cpu")->set("CpuShares", INT64_MAX);
         const json::Value other = task_of(alloc);
         alloc.find("AllocatedResources")->find("Tasks")->set("other", other);
       }},
      {"job web version 1, group app: the sum of its tasks is beyond 64 bits",
       [](json::Value& all) {
         json::Value& tasks = *group_of(first(all, "Jobs")).find("Tasks");
         tasks.items()[0].find("Resources")->set("CPU", INT64_MAX);
         json::Value other = tasks[0];
         other.set("Name", "other");
         tasks.push(other);
       }},
  };
  return kRemarks;
}

TEST(ImportContradictions, EachIsReportedAndRefusedWhenStrict) {
  const auto sound = import_cluster_json(small_cluster(), "file", {.strict = true, .now_ns = kIn2027});
  ASSERT_TRUE(sound) << sound.error().line();
  for (const Remark& remark : remarks()) {
    SCOPED_TRACE(remark.text);
    json::Value all = small_cluster();
    remark.change(all);
    const auto done = import_cluster_json(all, "file", {.now_ns = kIn2027});
    ASSERT_TRUE(done) << done.error().line();
    EXPECT_TRUE(std::any_of(done->warnings.begin(), done->warnings.end(), [&](const std::string& warning) {
      return warning.find(remark.text) != std::string::npos;
    })) << (done->warnings.empty() ? "no warning" : done->warnings[0]);
    EXPECT_FALSE(import_cluster_json(all, "file", {.strict = true, .now_ns = kIn2027}));
  }
}

TEST(ImportContradictions, ConsistentClustersHaveNone) {
  json::Value all = small_cluster();
  auto& allocs = all.find("Allocs")->items();
  allocs[0].set("JobVersion", 1);  // being replaced by the next one, which has the same name
  allocs[0].set("NextAllocation", kIdAlloc2);
  allocs[1].set("PreviousAllocation", kIdAlloc1);
  allocs[1].set("Name", "web.app[0]");
  allocs[2].set("Name", "web.app[0]");  // ended, and so has its deployment
  allocs[2].set("DeploymentID", "d0000000-0000-4000-8000-000000000009");
  const auto done = import_cluster_json(all, "file", {.strict = true, .now_ns = kIn2027});
  EXPECT_TRUE(done) << done.error().line();
}

TEST(ImportNumbers, IndexesAndVersionsAreWholeNumbersOf64Bits) {
  const auto indexed = [](const json::Value& value) {
    json::Value all = small_cluster();
    all.set("Index", value);
    return error_of(all);
  };
  const std::string range = " is outside 0..18446744073709551615; use a value in that range";
  EXPECT_EQ(indexed(-1), "file:/Index: -1" + range);
  EXPECT_EQ(indexed(1e300), "file:/Index: expected an integer, got a number; correct the value");
  EXPECT_NE(indexed("7").find("file:/Index: expected an integer"), std::string::npos);
  EXPECT_EQ(indexed(UINT64_MAX), "");
  EXPECT_EQ(error_of(with("Allocs", "JobVersion", -1)), "file:/Allocs/0/JobVersion: -1" + range);
  json::Value answers = api_answers();
  answers.find("/v1/allocations?resources=true&namespace=*")->items()[0].set("JobVersion", -1);
  EXPECT_EQ(error_of(answers), "file:[/v1/allocations?resources=true&namespace=*]/0/JobVersion: -1" + range);
}

TEST(ImportNumbers, ImpossiblePrioritiesAreRefused) {
  EXPECT_EQ(error_of(with("Jobs", "Priority", 32768)),
            "file:job web: a priority of 32768; a priority is at most 32767");
  EXPECT_NE(error_of(with("Evals", "Priority", INT64_MAX)).find("a priority of 9223372036854775807"),
            std::string::npos);
  EXPECT_EQ(error_of(with("Evals", "Priority", 32767)), "");
}

TEST(WrittenCluster, JobsCutOutOfItAreInTheRegisteredForm) {  // R-MODEL-621
  const auto done = import_cluster(BERTH_SOURCE_DIR "/tests/conform/endless-stage-09.json.gz");
  ASSERT_TRUE(done) << done.error().line();
  const json::Value written = cluster_to_json(done->state);
  std::size_t first_versions = 0;
  ASSERT_EQ(written["Jobs"].size(), done->state.jobs.size());
  for (std::size_t i = 0; i < done->state.jobs.size(); ++i) {
    const auto cut = model::register_job(written["Jobs"][i]);
    ASSERT_TRUE(cut) << cut.error().line();
    ASSERT_TRUE(cut->job) << cut->error;
    EXPECT_TRUE(cut->registered_form) << cut->job->id;
    EXPECT_EQ(*cut->job, *done->state.jobs[i]) << cut->job->id;
    first_versions += done->state.jobs[i]->version == 0;
  }
  EXPECT_GT(first_versions, 5U);  // version 0, which would be left out as a zero
}

}  // namespace
}  // namespace berth::io
