// Lists with filters, pages and prefixes, pools and namespaces, search, events and metrics over real sockets; texts are
// those of recorded answers.
#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/started.h"

namespace berth::http {
namespace {

class ReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    serve::ServiceOptions options;
    options.start.nodes = 12;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = *Speed::parse("step");  // what two requests read is the same
    service_ = start_service(options);
    client_ = std::make_unique<Client>(service_->address());
  }
  static json::Value parse(const Answer& answer) {
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.body;
    return value ? *value : json::Value();
  }
  json::Value get(const std::string& target) { return parse(client_->get(target)); }
  void register_job(const std::string& id, int count = 1, const std::string& query = "") {
    const Answer answer = client_->put("/v1/jobs" + query, R"({"Job": {"ID": ")" + id + R"(", "Type": "service",
      "Datacenters": ["*"], "Meta": {"owner": ")" + id.substr(0, 1) +
                                                               R"("}, "TaskGroups": [{"Name": "g", "Count": )" +
                                                               std::to_string(count) +
                                                               R"(, "Tasks": [{"Name": "t", "Driver": "mock_driver",
      "Config": {"run_for": "1h"}, "Resources": {"CPU": 100, "MemoryMB": 64}}]}]}})");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  Answer remove(const std::string& target) {
    client_->ask("DELETE", target);
    return client_->receive();
  }
  static std::string ids(const json::Value& list) {
    std::string out;
    for (const json::Value& item : list.items()) out += (out.empty() ? "" : " ") + item["ID"].as_string();
    return out;
  }

  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
};

TEST_F(ReadsTest, FiltersListsAndReportsErrorsOfFilters) {  // R-API-75 to 79
  for (const char* id : {"apple", "banana", "cherry", "avocado"}) register_job(id);
  EXPECT_EQ(ids(get("/v1/jobs?filter=Meta.owner%20%3D%3D%20a")), "apple avocado");
  EXPECT_EQ(ids(get("/v1/jobs?filter=ParentID%20%3D%3D%20%22%22%20and%20ParameterizedJob%20is%20not%20nil")), "");
  EXPECT_EQ(get("/v1/nodes?filter=Status%20%3D%3D%20ready").size(), 12U);
  EXPECT_EQ(get("/v1/allocations?filter=Job.ID%20%3D%3D%20banana").size(), 1U);
  const std::string node = get("/v1/allocations?filter=JobID%20%3D%3D%20cherry")[0]["NodeID"].as_string();
  for (const std::string& filter : {std::string("JobID%20%3D%3D%20cherry"), "NodeID%20%3D%3D%20%22" + node + "%22",
                                    "NodeID%20%3D%3D%20%22" + node + "%22%20and%20JobID%20%3D%3D%20cherry",
                                    std::string("NodeID%20%3D%3D%20none"), std::string("JobID%20%3D%3D%20none")})
    EXPECT_EQ(ids(get("/v1/allocations?filter=" + filter)),
              ids(get("/v1/allocations?filter=not%20(not%20(" + filter + "))")))
        << filter;  // found by their columns, and by their objects
  const json::Value alloc = get("/v1/allocations")[1];
  for (const char* member :
       {"ID", "Name", "Namespace", "EvalID", "NodeID", "NodeName", "JobID", "TaskGroup", "CreateIndex", "ModifyIndex",
        "DesiredStatus", "ClientStatus", "CreateTime", "ModifyTime"}) {
    const json::Value& value = alloc[member];
    const std::string test = std::string(member) + "%20%3D%3D%20%22" +
                             (value.is_string() ? value.as_string() : json::to_text(value)) + "%22";
    const std::string of_columns = ids(get("/v1/allocations?filter=" + test));
    EXPECT_NE(of_columns.find(alloc["ID"].as_string()), std::string::npos) << test;
    EXPECT_EQ(of_columns, ids(get("/v1/allocations?filter=" + test + "%20and%20Job.ID%20is%20not%20empty"))) << test;
  }
  EXPECT_EQ(get("/v1/evaluations?filter=TriggeredBy%20%3D%3D%20%22job-register%22").size(), 4U);
  EXPECT_EQ(get("/v1/evaluations/count?filter=JobID%20%3D%3D%20cherry")["Count"].as_int(), 1);
  Answer answer = client_->get("/v1/jobs?filter=bad%20%3D%20");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body,
            "failed to create result paginator: failed to read filter expression: 1:5 (4): no match found, expected: "
            "\"!=\", \"==\", \"contains\", \"in\", \"is\", \"matches\", \"not\" or [ \\t\\r\\n]");
  answer = client_->get("/v1/jobs?filter=Nope%20%3D%3D%20%22a%22");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(
      answer.body,
      "failed to read result page: error finding value in datum: /Nope at part 0: couldn't find key: struct field "
      "with name \"Nope\"");
  EXPECT_EQ(client_->get("/v1/deployments?filter=Nope%20%3D%3D%20a&namespace=empty").body, "[]");
  EXPECT_EQ(client_->get("/v1/evaluations?status=blocked&filter=Priority%20%3D%3D%2050").status, 400);
}

TEST_F(ReadsTest, CutsListsIntoPages) {  // R-API-70 to 73
  for (int i = 0; i < 13; ++i) register_job("job-" + std::to_string(10 + i));
  for (const std::string list : {"/v1/jobs", "/v1/evaluations", "/v1/allocations", "/v1/nodes", "/v1/deployments",
                                 "/v1/node/pools", "/v1/jobs/statuses"})
    for (const std::string order : {"", "&reverse=true"}) {
      if (list == "/v1/nodes" && !order.empty()) continue;
      const json::Value whole = get(list + "?x=" + order);
      json::Value pages = json::Value::array();
      std::string token;
      for (int page = 0; page < 20; ++page) {
        Answer answer = client_->get(list + "?per_page=3" + order + (token.empty() ? "" : "&next_token=" + token));
        ASSERT_EQ(answer.status, 200) << answer.body;
        const json::Value list_part = parse(answer);
        for (const json::Value& item : list_part.items()) pages.push(item);
        token = answer.headers["x-nomad-nexttoken"];
        if (token.empty()) break;
      }
      EXPECT_EQ(json::to_text(pages), json::to_text(whole)) << list << order;
    }
  Answer exact = client_->get("/v1/jobs?per_page=13");
  EXPECT_FALSE(exact.headers.contains("x-nomad-nexttoken"));
  Answer negative = client_->get("/v1/jobs?per_page=-1");
  EXPECT_EQ(negative.body, "[]");
  EXPECT_EQ(negative.headers["x-nomad-nexttoken"], "default.job-10");
}

TEST_F(ReadsTest, FindsByBeginningsOfIds) {  // R-API-80
  const std::string id = get("/v1/nodes")[0]["ID"].as_string();
  EXPECT_EQ(ids(get("/v1/nodes?prefix=" + id.substr(0, 8))), id);
  EXPECT_EQ(client_->get("/v1/nodes?prefix=abc").body,
            "node lookup failed: index error: Input (without hyphens) must be even length");
  EXPECT_EQ(client_->get("/v1/allocations?prefix=zz").body,
            "alloc lookup failed: index error: Invalid UUID: encoding/hex: invalid byte: U+007A 'z'");
  EXPECT_EQ(client_->get("/v1/evaluations?prefix=zz").status, 500);
  EXPECT_TRUE(client_->get("/v1/deployments?prefix=zz").body.starts_with("index error: "));
}

TEST_F(ReadsTest, KeepsPools) {  // R-API-460 to 463
  EXPECT_EQ(client_->put("/v1/node/pools", R"({"Name": "gpu", "Description": "GPU machines", "Meta": {"owner": "ml"}})")
                .status,
            200);
  const json::Value pool = get("/v1/node/pool/gpu");
  EXPECT_EQ(pool["Hash"].as_string(), "ZWM0uk3+uzHLZwv++iuubCGjOZJSjrn6yE5GhGd7584=");
  EXPECT_EQ(pool["NodeIdentityTTL"].as_int(), 86'400'000'000'000);
  EXPECT_EQ(get("/v1/node/pools?filter=Meta.owner%20%3D%3D%20ml").size(), 1U);
  EXPECT_EQ(get("/v1/node/pool/all/nodes").size(), 12U);
  EXPECT_EQ(client_->get("/v1/node/pool/nope/nodes").body, "[]");
  EXPECT_EQ(client_->get("/v1/node/pool/nope").body, "node pool not found");
  EXPECT_EQ(client_->put("/v1/node/pool/a", R"({"Name": "b"})").body, "Node pool name does not match request path");
  EXPECT_EQ(client_->put("/v1/node/pools", R"({"Name": "all"})").body, "modifying node pool \"all\" is not allowed");
  EXPECT_EQ(client_->put("/v1/node/pools", R"({"Name": "bad name"})").body,
            "invalid node pool \"bad name\": 1 error occurred:\n\t* invalid name \"bad name\", must match regex "
            "^[a-zA-Z0-9-_]{1,128}$\n\n");
  EXPECT_EQ(remove("/v1/node/pool/nope").body, "node pool nope not found");
  EXPECT_EQ(remove("/v1/node/pool/default").body,
            "1 error occurred:\n\t* node pool \"default\" has nodes in regions: [global]\n\n");
  EXPECT_EQ(remove("/v1/node/pool/gpu").status, 200);
  EXPECT_EQ(client_->get("/v1/node/pool/gpu").status, 404);
}

TEST_F(ReadsTest, KeepsNamespaces) {  // R-API-464, 465
  EXPECT_EQ(get("/v1/namespace/default")["Hash"].as_string(), "C7UbjDwBK0dK8wQq7Izg7SJIzaV+lIo2X7wRtzY3pSw=");
  EXPECT_EQ(client_
                ->put("/v1/namespace/team-c", R"({"Name": "team-c", "Description": "c", "Meta": {"k": "v"},
    "Capabilities": {"DisabledTaskDrivers": ["docker"]}})")
                .status,
            200);
  EXPECT_EQ(get("/v1/namespace/team-c")["Hash"].as_string(), "YNeBJSzW991Mu4fINicyazLfEpxgd2XwhzaPs/AtPo8=");
  register_job("web", 1, "?namespace=team-c");
  EXPECT_EQ(get("/v1/jobs").size(), 0U);
  EXPECT_EQ(get("/v1/jobs?namespace=*").size(), 1U);
  EXPECT_TRUE(remove("/v1/namespace/team-c")
                  .body.starts_with("2 errors occurred:\n\t* namespace \"team-c\" has non-terminal jobs"));
  EXPECT_EQ(remove("/v1/namespace/default").body, "can not delete default namespace");
  EXPECT_EQ(remove("/v1/namespace/nope").body, "namespace not found");
  EXPECT_EQ(client_->get("/v1/namespace/nope").body, "Namespace not found");
  EXPECT_EQ(client_->put("/v1/namespace", R"({"Name": "bad*name"})").body,
            "Invalid namespace \"bad*name\": 1 error occurred:\n\t* invalid name \"bad*name\". Must match regex "
            "^[a-zA-Z0-9-]{1,128}$\n\n");
}

TEST_F(ReadsTest, SearchesByPrefix) {  // R-API-560 to 564
  register_job("web");
  json::Value found = parse(client_->put("/v1/search", R"({"Prefix": "web", "Context": "all"})"));
  EXPECT_EQ(json::to_text(found["Matches"]["jobs"]), "[\"web\"]");
  EXPECT_FALSE(found["Matches"].has("nodes"));  // not the beginning of a UUID
  EXPECT_TRUE(found["Matches"].has("vars"));
  const std::string node = get("/v1/nodes")[3]["ID"].as_string();
  found = parse(client_->put("/v1/search", R"({"Prefix": ")" + node.substr(0, 7) + R"(", "Context": "all"})"));
  EXPECT_EQ(found["Matches"]["nodes"][0].as_string(), node);  // odd length works here
  EXPECT_TRUE(found["Matches"].has("evals"));
  EXPECT_TRUE(client_->put("/v1/search", R"({"Prefix": "w", "Context": "nope"})").body.ends_with("got \"nope\""));
  EXPECT_EQ(client_->put("/v1/search/fuzzy", R"({"Text": "w"})").body,
            "fuzzy search query must be at least 2 characters, got 1");
  found = parse(client_->put("/v1/search/fuzzy", R"({"Text": "EB", "Context": "all"})"));
  EXPECT_EQ(json::to_text(found["Matches"]["jobs"]), R"([{"ID":"web","Scope":["default","web"]}])");
}

TEST_F(ReadsTest, StreamsEvents) {  // R-API-580 to 584
  Client reader(service_->address());
  reader.ask("GET", "/v1/event/stream?topic=Job:web&topic=Evaluation");
  register_job("web", 2);
  std::string body;  // as received, chunk heads included
  while (body.find("EvaluationUpdated") == std::string::npos) ASSERT_TRUE(reader.any(body));
  EXPECT_LT(body.find("{}\n"), body.find("{\"Index\":"));  // first a heartbeat
  EXPECT_NE(body.find("\"JobRegistered\""), std::string::npos);
  EXPECT_EQ(body.find("\"Topic\":\"Allocation\""), std::string::npos);
  EXPECT_EQ(client_->get("/v1/event/stream?index=abc").body,
            "Unable to parse index: strconv.Atoi: parsing \"abc\": invalid syntax");
  EXPECT_EQ(client_->get("/v1/event/stream?topic=a:b:c").status, 400);
}

TEST_F(ReadsTest, ReportsMetrics) {  // R-API-518, 519
  register_job("web", 2);
  const json::Value metrics = get("/v1/metrics");
  EXPECT_EQ(metrics["Timestamp"].as_string(), "2027-01-15 08:00:00 +0000 UTC");
  std::string last;
  std::int64_t cpu = 0, jobs = 0;
  for (const json::Value& gauge : metrics["Gauges"].items()) {
    EXPECT_LE(last, gauge["Name"].as_string());
    last = gauge["Name"].as_string();
    if (last == "nomad.client.allocated.cpu") cpu += gauge["Value"].as_int();
    if (last == "nomad.nomad.job_status.running") jobs = gauge["Value"].as_int();
  }
  EXPECT_EQ(cpu, 200);
  EXPECT_EQ(jobs, 1);
  const Answer text = client_->get("/v1/metrics?format=prometheus");
  const std::size_t at =
      text.body.find("# TYPE nomad_nomad_job_status_running gauge\nnomad_nomad_job_status_running{host=\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(text.body.find("\"} 1\n", at), std::string::npos);
}

TEST_F(ReadsTest, AnswersUnsupportedFeatures) {  // R-API-467 to 469, 503 to 516
  EXPECT_EQ(client_->get("/v1/volumes").body, "[]");
  EXPECT_EQ(client_->get("/v1/vars").headers["x-nomad-index"], "1");
  EXPECT_EQ(client_->get("/v1/var/x").body, "variable not found");
  EXPECT_EQ(client_->get("/v1/quotas").body, "Nomad Enterprise only endpoint");
  EXPECT_EQ(client_->get("/v1/operator/license").status, 204);
  EXPECT_EQ(get("/v1/acl/token/self")["AccessorID"].as_string(), "acls-disabled");
  EXPECT_EQ(client_->get("/v1/acl/policies").body, "ACL support disabled");
  EXPECT_EQ(client_->get("/v1/agent/pprof/goroutine").status, 403);
  EXPECT_EQ(client_->get("/v1/agent/servers").status, 501);
  const json::Value member = get("/v1/agent/members")["Members"][0];
  EXPECT_EQ("\"" + member["Addr"].as_string() + ":" + member["Tags"]["port"].as_string() + "\"",
            client_->get("/v1/status/leader").body);  // R-API-512
  EXPECT_EQ(get("/v1/agent/self")["stats"]["nomad"]["server"].as_string(), "true");
  EXPECT_EQ(client_->get("/").headers["location"], "/ui/");
  EXPECT_EQ(client_->get("/v1/job").headers["location"], "/v1/job/");
  EXPECT_EQ(client_->put("/v1/search", "{\"Prefix\": \"w\"").body, "unexpected EOF");  // R-API-15
  EXPECT_EQ(client_->put("/v1/search", R"({"Prefix": "w", "Context": "jobs"} and more)").status, 200);
  EXPECT_NE(client_->get("/ui/clients").body.find("<title>berth"), std::string::npos);
  EXPECT_EQ(client_->get("/ui/jobs/team%2Fshop@default").body, client_->get("/ui/").body);
  EXPECT_EQ(client_->get("/ui/files/main.js").headers["content-type"], "text/javascript; charset=utf-8");
  EXPECT_EQ(client_->get("/ui/files/missing.js").status, 404);
}

}  // namespace
}  // namespace berth::http
