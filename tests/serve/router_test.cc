// Routes, parameters and texts that need no server.
#include <gtest/gtest.h>

#include "base/duration.h"
#include "base/random.h"
#include "http/endpoint.h"
#include "http/go_shape.h"
#include "http/pretty.h"
#include "io/json_parse.h"

namespace berth::http {
namespace {

Handler none() {
  return [](Simulation&, const Request&, Reply&) {};
}

std::string shown(const Router& router, std::string_view method, std::string_view path) {
  const Router::Match match = router.find(method, path);
  if (!match.route) return match.known_path ? "405" : "404";
  std::string out = match.route->pattern;
  for (const std::string& capture : match.captures) out += " [" + capture + "]";
  return out;
}

TEST(Router, FindsTheMostLiteralPattern) {  // R-API-2 to 4
  Router router;
  router.read("/v1/jobs", none());
  router.write("/v1/jobs", none());
  router.read("/v1/job/*", none());
  router.remove("/v1/job/*", none());
  router.read("/v1/job/*/summary", none());
  router.write("/v1/job/*/dispatch", none());
  router.write("/v1/job/*/dispatch/payload", none());
  router.write("/v1/job/*/versions/*/tag", none());
  router.read("/v1/node/*", none());
  router.read("/v1/node/pools", none());
  router.read("/v1/node/pool/*", none());
  router.add({"/v1/client/stats", kAnyMethod, RouteKind::plain, none(), {}});
  const struct {
    const char *method, *path, *expected;
  } cases[] = {
      {"GET", "/v1/jobs", "/v1/jobs"},
      {"PUT", "/v1/jobs", "/v1/jobs"},
      {"POST", "/v1/jobs", "/v1/jobs"},
      {"DELETE", "/v1/jobs", "405"},
      {"HEAD", "/v1/jobs", "405"},
      {"OPTIONS", "/v1/jobs", "405"},
      {"GET", "/v1/jobs/", "404"},
      {"GET", "/v1/nope", "404"},
      {"GET", "/v1/job/ex", "/v1/job/* [ex]"},
      {"GET", "/v1/job/par/dispatch-1-ab", "/v1/job/* [par/dispatch-1-ab]"},
      {"GET", "/v1/job/par/dispatch-1-ab/summary", "/v1/job/*/summary [par/dispatch-1-ab]"},
      {"PUT", "/v1/job/a/dispatch/payload", "/v1/job/*/dispatch/payload [a]"},
      {"PUT", "/v1/job/a/dispatch", "/v1/job/*/dispatch [a]"},
      {"PUT", "/v1/job/a/summary", "405"},
      {"PUT", "/v1/job/a/versions/gold/tag", "/v1/job/*/versions/*/tag [a] [gold]"},
      {"GET", "/v1/job/", "/v1/job/* []"},
      {"GET", "/v1/node/pools", "/v1/node/pools"},
      {"GET", "/v1/node/pool/edge", "/v1/node/pool/* [edge]"},
      {"GET", "/v1/node/ab", "/v1/node/* [ab]"},
      {"PATCH", "/v1/client/stats", "/v1/client/stats"},
  };
  for (const auto& test : cases) EXPECT_EQ(shown(router, test.method, test.path), test.expected) << test.path;
}

TEST(Durations, ParseLikeGos) {  // R-API-51
  const struct {
    const char* text;
    std::int64_t ns;  // -1: none
  } cases[] = {{"10s", 10'000'000'000},
               {"1500ms", 1'500'000'000},
               {"5m", 300'000'000'000},
               {"300000ms", 300'000'000'000},
               {"1h2m3s", 3'723'000'000'000},
               {"1.5s", 1'500'000'000},
               {"0", 0},
               {"", -1},
               {"10", -1},
               {"s", -1},
               {"1x", -1},
               {".s", -1}};
  for (const auto& test : cases) EXPECT_EQ(base::parse_duration(test.text).value_or(-1), test.ns) << test.text;
  EXPECT_EQ(base::parse_duration("-2s"), -2'000'000'000);
}

/// R-API-10: like json::to_text with four spaces, for any division of the text into pieces.
TEST(Pretty, IndentsPieces) {
  json::Value value = json::Value::object(), list = json::Value::array(), inner = json::Value::object();
  inner.set("a \"quoted\" [text]", json::Array{1, 2.5, nullptr});
  list.push(inner), list.push(json::Value::array()), list.push(json::Value::object()), list.push("x\\");
  value.set("list", list), value.set("none", json::Value::object()), value.set("yes", true);
  const std::string text = json::to_text(value), expected = json::to_text(value, 4) + "\n";
  base::Random random(1, "pretty");
  for (int round = 0; round < 100; ++round) {
    Pretty pretty;
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = 1 + random.below(7);
      pretty.append(std::string_view(text).substr(at, length), out);
      at += length;
    }
    pretty.end(out);
    ASSERT_EQ(out, expected);
  }
}

std::string problem_in(const char* body, const char* request) {
  return go_shape_problem(io::parse_json(body).value(), request).value_or("none");
}

TEST(GoShape, NamesTheFieldAndItsType) {  // R-API-15; the first five are recorded
  struct Shape {
    const char *job, *text;
  };
  const std::string unmarshal = "json: cannot unmarshal ";
  for (const Shape& one : std::initializer_list<Shape>{
           {R"([])", "array into Go struct field JobRegisterRequest.Job of type api.Job"},
           {R"({"ID": 5})", "number into Go struct field Job.Job.ID of type string"},
           {R"({"Priority": "high"})", "string into Go struct field Job.Job.Priority of type int"},
           {R"({"TaskGroups": {}})", "object into Go struct field Job.Job.TaskGroups of type []*api.TaskGroup"},
           {R"({"Affinities": [{}, {"Weight": 500}]})",
            "number 500 into Go struct field Affinity.Job.Affinities.Weight of type int8"},
           {R"({"AllAtOnce": 1.5})", "number into Go struct field Job.Job.AllAtOnce of type bool"},
           {R"({"Priority": 1.5})", "number 1.5 into Go struct field Job.Job.Priority of type int"},
           {R"({"Datacenters": "dc1"})", "string into Go struct field Job.Job.Datacenters of type []string"},
           {R"({"Datacenters": ["dc1", 2]})", "number into Go struct field Job.Job.Datacenters of type string"},
           {R"({"Update": {"Stagger": "30s"}})",
            "string into Go struct field UpdateStrategy.Job.Update.Stagger of type time.Duration"},
           {R"({"Spreads": [{"SpreadTarget": [{"Percent": -1}]}]})",
            "number -1 into Go struct field SpreadTarget.Job.Spreads.SpreadTarget.Percent of type uint8"},
           {R"({"TaskGroups": [{"Volumes": {"v": {"ReadOnly": "yes"}}}]})",
            "string into Go struct field VolumeRequest.Job.TaskGroups.Volumes.ReadOnly of type bool"},
           {R"({"TaskGroups": [{"Tasks": [{"Config": [], "Env": {"A": 1}}]}]})",
            "array into Go struct field Task.Job.TaskGroups.Tasks.Config of type map[string]interface {}"},
           {R"({"TaskGroups": [{"Tasks": [{"Config": {"a": [1, {}]}, "Env": {"A": 1}}]}]})",
            "number into Go struct field Task.Job.TaskGroups.Tasks.Env of type string"},
           {R"({"update": {"stagger": true}})",  // names ignore case
            "bool into Go struct field UpdateStrategy.Job.Update.Stagger of type time.Duration"},
           {R"({"Update": {"MaxParallel": 1}, "Type": 1})",  // back in the outer object
            "number into Go struct field Job.Job.Type of type string"}})
    EXPECT_EQ(problem_in((std::string("{\"Job\": ") + one.job + "}").c_str(), "JobRegisterRequest"),
              unmarshal + one.text);
}

TEST(GoShape, ChecksNamespacesPoolsAccessControlAndVolumes) {  // R-API-15
  struct Shape {
    const char *type, *body, *text;
  };
  for (const Shape& one : std::initializer_list<Shape>{
           {"Namespace", R"({"Capabilities": {"EnabledTaskDrivers": "docker"}})",
            "string into Go struct field NamespaceCapabilities.Capabilities.EnabledTaskDrivers of type []string"},
           {"NodePool", R"({"Meta": {"a": 5}})", "number into Go struct field NodePool.Meta of type string"},
           {"Variable", R"({"Items": {"a": 5}})", "number into Go struct field Variable.Items of type string"},
           {"ACLToken", R"({"Type": "client", "Roles": [{"ID": 5}]})",
            "number into Go struct field ACLTokenRoleLink.Roles.ID of type string"},
           {"ACLRole", R"({"Policies": [5]})",
            "number into Go struct field ACLRole.Policies of type structs.ACLRolePolicyLink"},
           {"ACLAuthMethod", R"({"Config": {"ClaimMappings": {"a": []}}})",
            "array into Go struct field ACLAuthMethodConfig.Config.ClaimMappings of type string"},
           {"HostVolumeCreateRequest", R"({"Volume": {"Parameters": {"a": 5}}})",
            "number into Go struct field HostVolume.Volume.Parameters of type string"},
           {"HostVolumeCreateRequest", R"({"Volume": {"Constraints": [5]}})",
            "number into Go struct field HostVolume.Volume.Constraints of type structs.Constraint"},
           {"CSIVolumeRegisterRequest", R"({"Volumes": 5})",
            "number into Go struct field CSIVolumeRegisterRequest.Volumes of type []*structs.CSIVolume"},
           {"CSIVolumeRegisterRequest", R"({"Volumes": [{"ID": "v", "Secrets": {"a": 5}}]})",
            "number into Go struct field CSIVolume.Volumes.Secrets of type string"}})
    EXPECT_EQ(problem_in(one.body, one.type), std::string("json: cannot unmarshal ") + one.text);
  EXPECT_EQ(problem_in(R"({"NodeIdentityTTL": "1h", "Meta": null})", "NodePool"), "none");
  EXPECT_EQ(problem_in(R"({"ExpirationTTL": 3600000000000, "CreateTime": "2026-11-22T01:00:00Z"})", "ACLToken"),
            "none");
}

TEST(GoShape, AcceptsWhatFits) {
  EXPECT_EQ(problem_in(R"({"Job": {"Unknown": 1, "Meta": null, "Version": 18446744073709551615,
                                   "Affinities": [null, {"Weight": -128}], "Payload": "aGk="}})",
                       "JobPlanRequest"),
            "none");
  EXPECT_EQ(problem_in(R"({"Job": 1})", "AnotherRequest"), "none");
  EXPECT_EQ(problem_in(R"({"DrainSpec": {"Deadline": "1h"}})", "NodeUpdateDrainRequest"),
            "json: cannot unmarshal string into Go struct field DrainSpec.DrainSpec.Deadline of type time.Duration");
}

}  // namespace
}  // namespace berth::http
