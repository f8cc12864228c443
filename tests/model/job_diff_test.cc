// The difference of two job versions, by hand; whole recorded answers are compared by `berth conform` (tests/dryrun).
#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "model/job.h"
#include "model/registration/register_job.h"
#include "model/update/job_diff.h"
#include "model/update/spec_changed.h"

namespace berth::model {
namespace {

constexpr const char* kBase = R"({"ID":"j","TaskGroups":[{"Name":"g","Count":2,
  "Tasks":[{"Name":"t","Driver":"exec","Config":{"command":"a","tries":1}}]}]})";

std::shared_ptr<Job> job_from(const std::string& text) {
  auto done = register_job(io::parse_json(text).value());
  EXPECT_TRUE(done && done->job) << text;
  return done && done->job ? done->job : std::make_shared<Job>();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
  return text;
}

/// "Edited Job; Edited g; Edited t Config[command: a => b]": types and names of what differs.
std::string summary(const json::Value& diff) {
  std::string out = diff["Type"].as_string();
  const auto objects = [&](const json::Value& of) {
    for (const json::Value& f : of["Fields"].items())
      out += " " + f["Name"].as_string() + ":" + f["Old"].as_string() + ">" + f["New"].as_string();
    for (const json::Value& o : of["Objects"].items()) {
      out += " [" + o["Type"].as_string() + " " + o["Name"].as_string();
      for (const json::Value& f : o["Fields"].items())
        if (f["Type"].as_string() != "None")
          out += " " + f["Name"].as_string() + ":" + f["Old"].as_string() + ">" + f["New"].as_string();
      out += "]";
    }
  };
  objects(diff);
  for (const json::Value& g : diff["TaskGroups"].items()) {
    out += "; " + g["Type"].as_string() + " " + g["Name"].as_string();
    objects(g);
    for (const json::Value& t : g["Tasks"].items()) {
      out += "; " + t["Type"].as_string() + " " + t["Name"].as_string();
      objects(t);
    }
  }
  return out;
}

struct JobDiffCase {
  const char *name, *what, *with, *expected;
};
class JobDiff : public ::testing::TestWithParam<JobDiffCase> {};

TEST_P(JobDiff, ListsDifferences) {
  const auto before = job_from(kBase), after = job_from(replaced(kBase, GetParam().what, GetParam().with));
  const auto diff = job_diff(before.get(), after.get());
  ASSERT_TRUE(diff) << diff.error();
  EXPECT_EQ(summary(*diff), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Changes, JobDiff,
    ::testing::Values(
        JobDiffCase{"Nothing", "\"a\"", "\"a\"", "None; None g; None t"},
        JobDiffCase{"WholeNumbers", "\"tries\":1", "\"tries\":1.0", "None; None g; None t"},
        JobDiffCase{"Count", "\"Count\":2", "\"Count\":3", "Edited; Edited g Count:2>3; None t"},
        JobDiffCase{"Config", "\"a\"", "\"b\"", "Edited; Edited g; Edited t [Edited Config command:a>b]"},
        JobDiffCase{"ConfigAdded", "\"a\"", "\"a\",\"args\":[\"x\"]",
                    "Edited; Edited g; Edited t [Edited Config args[0]:>x]"},
        JobDiffCase{"Env", "\"Driver\"", "\"Env\":{\"K\":\"v\"},\"Driver\"", "Edited; Edited g; Edited t Env[K]:>v"},
        JobDiffCase{"Resources", "\"Driver\"", "\"Resources\":{\"CPU\":200},\"Driver\"",
                    "Edited; Edited g; Edited t [Edited Resources CPU:100>200]"},
        JobDiffCase{"Datacenters", "\"ID\":\"j\"", "\"ID\":\"j\",\"Datacenters\":[\"dc1\"]",
                    "Edited [Edited Datacenters Datacenters:>dc1 Datacenters:*>]; None g; None t"},
        JobDiffCase{"Constraint", "\"ID\":\"j\"",
                    "\"ID\":\"j\",\"Constraints\":[{\"LTarget\":\"${attr.a}\",\"RTarget\":\"1\",\"Operand\":\"=\"}]",
                    "Edited [Added Constraint LTarget:>${attr.a} Operand:>= RTarget:>1]; None g; None t"},
        JobDiffCase{"RestartPolicyOfTask", "\"Driver\"",
                    "\"RestartPolicy\":{\"Attempts\":7,\"Mode\":\"delay\"},\"Driver\"", "Edited; Edited g; Edited t"},
        JobDiffCase{"SpreadOfGroup", "\"Count\":2",
                    "\"Count\":2,\"Spreads\":[{\"Attribute\":\"${node.datacenter}\",\"Weight\":50}]",
                    "Edited; Edited g; None t"},
        JobDiffCase{"Renamed", "\"Name\":\"t\"", "\"Name\":\"u\"",
                    "Edited; Edited g; Deleted t Driver:exec> KillTimeout:5000000000> Leader:false> "
                    "ShutdownDelay:0> [Deleted Config command:a> tries:1>] [Deleted Resources CPU:100> Cores:0> "
                    "DiskMB:0> IOPS:0> MemoryMB:300> MemoryMaxMB:0> SecretsMB:0>] [Deleted LogConfig Disabled:false> "
                    "MaxFileSizeMB:10> MaxFiles:10>] [Deleted Identity Env:false> File:false> Name:default> TTL:0>]; "
                    "Added u Driver:>exec KillTimeout:>5000000000 Leader:>false ShutdownDelay:>0 [Added Config "
                    "command:>a tries:>1] [Added Resources CPU:>100 Cores:>0 DiskMB:>0 IOPS:>0 MemoryMB:>300 "
                    "MemoryMaxMB:>0 SecretsMB:>0] [Added LogConfig Disabled:>false MaxFileSizeMB:>10 MaxFiles:>10] "
                    "[Added Identity Env:>false File:>false Name:>default TTL:>0]"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(JobDiff, RefusesJobsOfDifferentIds) {
  const auto a = job_from(kBase), b = job_from(replaced(kBase, "\"ID\":\"j\"", "\"ID\":\"k\""));
  EXPECT_FALSE(job_diff(a.get(), b.get()));
}

TEST(JobDiff, AnnotationsDescribeTheSchedulersActions) {  // R-SCHED-197 to 199
  const auto before = job_from(kBase), after = job_from(replaced(kBase, "\"Count\":2", "\"Count\":3"));
  auto diff = job_diff(before.get(), after.get());
  ASSERT_TRUE(diff);
  DesiredUpdates updates;
  updates.ignore = 2, updates.place = 1;
  ASSERT_TRUE(write_annotations(*diff, {{"g", updates}}));
  const json::Value& group = (*diff)["TaskGroups"][0];
  EXPECT_EQ(group["Updates"]["create"].as_int(), 1);
  EXPECT_EQ(group["Updates"]["ignore"].as_int(), 2);
  EXPECT_EQ(group["Fields"][0]["Annotations"][0].as_string(), "forces create");
}

TEST(SpecChanged, ZeroMembersOfBlocksAreAbsentOnes) {  // as the API of a stored job prints them
  const auto a = job_from(kBase);
  Job b = *a;
  b.task_groups[0].tasks[0].identity.set("ChangeMode", ""), b.task_groups[0].tasks[0].identity.set("ExtraClaims", {});
  EXPECT_FALSE(spec_changed(*a, b));
  b.task_groups[0].tasks[0].identity.set("ChangeMode", "restart");
  EXPECT_TRUE(spec_changed(*a, b));
}

}  // namespace
}  // namespace berth::model
