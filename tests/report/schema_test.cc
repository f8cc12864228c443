// A report only reads values of the types in bench/schema: every member of a run's result is broken in every way, and
// the features of schemas are tested one by one.
#include "report/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "io/json_parse.h"
#include "report/input.h"
#include "run/report.h"
#include "run/runner.h"

namespace berth::report {
namespace {

constexpr const char* kSmall = R"(
name = "small"
seed = 7
[cluster]
nodes = 30
[[cluster.shapes]]
name = "std"
[jobs]
count = 20
[[jobs.mix]]
name = "web"
count = 5
)";

json::Value small_run() {
  const auto workload = sim::parse_workload(kSmall, "small.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  const auto result = run::run_workload(*workload, {.quiet = true});
  EXPECT_TRUE(result) << result.error().line();
  return run::to_json(*result);
}

TEST(Schema, ALongTextIsComparedWithItsPattern) {  // in stack space that does not depend on its length
  json::Value run = small_run();
  run.set("decisions_digest", std::string(1'000'000, '0'));
  const auto refused = check_schema(run, "berth-run", "r");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().problem.find("not of the form"), std::string::npos) << refused.error().line();
}

/// Calls `visit` with every member of objects and the first items of lists of a value.
void for_each_member(json::Value& value, const std::string& path,
                     const std::function<void(json::Value& member, const std::string& path)>& visit) {
  if (value.is_object())
    for (json::Member& member : value.members()) {
      visit(member.value, path + "/" + member.key);
      for_each_member(member.value, path + "/" + member.key, visit);
    }
  if (value.is_array())
    for (std::size_t i = 0; i < std::min<std::size_t>(2, value.items().size()); ++i) {
      visit(value.items()[i], path + "/" + std::to_string(i));
      for_each_member(value.items()[i], path + "/" + std::to_string(i), visit);
    }
}

TEST(ReportSchema, NoBrokenMemberOfARunIsShown) {
  json::Value report = small_run();
  ASSERT_TRUE(as_input(report, "report"));
  std::size_t members = 0;
  for_each_member(report, "", [&](json::Value& member, const std::string& path) {
    ++members;
    const json::Value before = member;
    for (const json::Value& broken : {json::Value(), json::Value("x"), json::Value(true), json::Value(-1.5),
                                      json::Value(json::Value::array()), json::Value(json::Value::object())}) {
      // Another text, list or object may well be another result. A number below 0 is none.
      if (!before.is_number() && std::string_view(broken.kind()) == before.kind()) continue;
      member = broken;
      const auto read = as_input(report, "report");
      EXPECT_FALSE(read) << path << " may be " << json::to_text(broken) << " instead of " << json::to_text(before);
      EXPECT_EQ(read ? "report" : read.error().path, "report");
    }
    member = before;
  });
  EXPECT_GT(members, 150U);
}

TEST(ReportSchema, ErrorsNameThePlace) {
  const auto study = [](const char* more) {
    return *io::parse_json(std::string(R"({"format": "berth-study", "version": 1, "workload": "w")") + more + "}", "s");
  };
  EXPECT_TRUE(check_schema(study(R"(, "elapsed_seconds": 1.5)"), "berth-study", "s"));
  EXPECT_TRUE(check_schema(study(R"(, "of_a_newer_berth": [1])"), "berth-study", "s"));
  EXPECT_TRUE(check_schema(study(R"(, "settings": 7)"), "of no schema", "s"));
  for (const auto& [value, words] :
       {std::pair(study(R"(, "settings": 7)"), "s:/settings: is an integer, not a list"),
        std::pair(study(R"(, "elapsed_seconds": "x")"), "s:/elapsed_seconds: is a string, not a number"),
        std::pair(study(R"(, "repetitions": -3)"), "s:/repetitions: is -3, below "),
        std::pair(study(R"(, "repetitions": 1.5)"), "s:/repetitions: is a number, not a whole number"),
        std::pair(study(R"(, "version": 2)"), "s:/version: is not 1")}) {
    const auto refused = check_schema(value, "berth-study", "s");
    ASSERT_FALSE(refused) << words;
    EXPECT_TRUE(refused.error().line().starts_with(words)) << refused.error().line();
  }
}

}  // namespace
}  // namespace berth::report
