// Access control over real sockets: bootstrap, tokens, policies and their effect, roles, methods, keys (R-STORE-60 to
// 184).
#include <gtest/gtest.h>

#include <algorithm>

#include "base/base64.h"
#include "http/endpoints/endpoints.h"
#include "http/stores/policy.h"
#include "http/stores/rights.h"
#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/started.h"

namespace berth::http {
namespace {

class AccessTest : public ::testing::Test {
 protected:
  void SetUp() override { start(true); }
  void start(bool acl) {
    client_.reset(), service_.reset();
    serve::ServiceOptions options;
    options.start.nodes = 2;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = *Speed::parse("step");
    options.access.acl = acl;
    service_ = start_service(options);
    client_ = std::make_unique<Client>(service_->address());
  }
  Answer ask(const std::string& method, const std::string& target, const std::string& body = "",
             const std::string& secret = "") {
    client_->ask(method, target, body, secret.empty() ? "" : "X-Nomad-Token: " + secret + "\r\n");
    return client_->receive();
  }
  static json::Value read(const Answer& answer) {
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.status << ": " << answer.body;
    return value ? *value : json::Value();
  }
  /// Sends a request with the management token.
  Answer manage(const std::string& method, const std::string& target, const std::string& body = "") {
    if (root_.empty()) root_ = read(ask("POST", "/v1/acl/bootstrap"))["SecretID"].as_string();
    return ask(method, target, body, root_);
  }
  void put_policy(const std::string& name, const std::string& rules) {
    json::Value body = json::Value::object();
    body.set("Name", name), body.set("Rules", rules);
    const Answer answer = manage("PUT", "/v1/acl/policy/" + name, json::to_text(body));
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  /// The secret of a new client token.
  std::string token_with(const std::string& policy) {
    const Answer made =
        manage("PUT", "/v1/acl/token", R"({"Name": "t", "Type": "client", "Policies": [")" + policy + R"("]})");
    EXPECT_EQ(made.status, 200) << made.body;
    return read(made)["SecretID"].as_string();
  }
  std::string token_for(const std::string& rules) {
    const std::string name = "p" + std::to_string(++policies_);
    put_policy(name, rules);
    return token_with(name);
  }
  void advance(int seconds) {
    EXPECT_EQ(manage("POST", "/v1/berth/advance", R"({"Seconds": )" + std::to_string(seconds) + "}").status, 200);
  }

  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
  std::string root_;
  int policies_ = 0;
};

TEST(RouteRights, EveryRouteHasAnEntry) {  // a route without one is closed, which would surprise its author
  Router router = make_router();
  EXPECT_EQ(router.set_needs(need_of), std::vector<std::string>{}) << "name them in endpoints/needs.cc";
}

TEST_F(AccessTest, EverythingIsAllowedWithoutAccessControl) {  // R-API-469
  start(false);
  EXPECT_EQ(ask("GET", "/v1/jobs").status, 200);
  EXPECT_EQ(read(ask("GET", "/v1/acl/token/self"))["AccessorID"].as_string(), "acls-disabled");
  for (const char* path : {"/v1/acl/tokens", "/v1/acl/policies", "/v1/acl/roles", "/v1/acl/auth-methods"}) {
    EXPECT_EQ(ask("GET", path).status, 400);
    EXPECT_EQ(ask("GET", path).body, "ACL support disabled");
  }
  EXPECT_EQ(ask("PUT", "/v1/acl/bootstrap").body, "ACL support disabled");
}

TEST_F(AccessTest, BootstrapWorksOnce) {  // R-STORE-71, 72, 80
  EXPECT_EQ(ask("GET", "/v1/acl/bootstrap").status, 405);
  EXPECT_EQ(ask("PUT", "/v1/acl/bootstrap", R"({"BootstrapSecret": "x"})").body, "invalid acl token");
  EXPECT_EQ(ask("PUT", "/v1/acl/bootstrap", "{").status, 400);
  const std::string secret = "2b778dd9-f5f1-6f29-b4b4-9a5fa948757a";
  const Answer made = ask("POST", "/v1/acl/bootstrap", R"({"BootstrapSecret": ")" + secret + R"("})");
  EXPECT_EQ(made.status, 200) << made.body;
  const json::Value token = read(made);
  EXPECT_EQ(token["SecretID"].as_string(), secret);
  EXPECT_EQ(token["Name"].as_string(), "Bootstrap Token");
  EXPECT_EQ(token["Type"].as_string(), "management");
  EXPECT_TRUE(token["Global"].as_bool());
  EXPECT_TRUE(token["Policies"].is_null());
  EXPECT_EQ(token["Hash"].as_string(), "BUJ3BerTfrqFVm1P+vZr1gz9ubOkd+JAvYjNAJyaU9Y=");
  EXPECT_EQ(made.headers.at("x-nomad-index"), std::to_string(token["CreateIndex"].as_uint()));
  const Answer again = ask("PUT", "/v1/acl/bootstrap");
  EXPECT_EQ(again.status, 400);
  EXPECT_EQ(again.body, "ACL bootstrap already done (reset index: " + made.headers.at("x-nomad-index") + ")");
  EXPECT_EQ(ask("GET", "/v1/acl/token/self", "", secret).headers.at("x-nomad-index"), made.headers.at("x-nomad-index"));
}

TEST_F(AccessTest, RequestsWithoutATokenAreRefused) {  // R-STORE-63, 66, 67, 130, 170
  for (const char* path : {"/v1/jobs",
                           "/v1/jobs/statuses",
                           "/v1/allocations",
                           "/v1/evaluations",
                           "/v1/evaluations/count",
                           "/v1/deployments",
                           "/v1/scaling/policies",
                           "/v1/services",
                           "/v1/nodes",
                           "/v1/volumes?type=csi",
                           "/v1/volumes/claims",
                           "/v1/plugins?type=csi",
                           "/v1/acl/tokens",
                           "/v1/job/x",
                           "/v1/jobs?namespace=*",
                           "/v1/allocations?namespace=*",
                           "/v1/volumes?type=csi&namespace=*",
                           "/v1/agent/self",
                           "/v1/agent/members",
                           "/v1/operator/scheduler/configuration",
                           "/v1/event/stream",
                           "/v1/berth/run",
                           "/v1/namespace/default",
                           "/v1/node/pool/default",
                           "/v1/operator/keyring/keys",
                           "/v1/acl/policy/self",
                           "/v1/acl/auth-method/x",
                           "/v1/var/a",
                           "/v1/allocation/11111111-2222-4333-8444-555555555555"}) {
    const Answer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 403) << path;
    EXPECT_EQ(answer.body, "Permission denied") << path;
    EXPECT_EQ(answer.headers.count("x-nomad-index"), 0U) << path;
  }
  for (const char* path :
       {"/v1/namespaces", "/v1/node/pools", "/v1/vars", "/v1/volumes?type=host", "/v1/acl/policies", "/v1/acl/roles",
        "/v1/plugins", "/v1/volumes", "/v1/services?namespace=*", "/v1/scaling/policies?namespace=*",
        "/v1/vars?namespace=*", "/v1/volumes?type=host&namespace=*", "/v1/acl/auth-methods"}) {
    const Answer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.body, "[]") << path;
  }
  for (const char* path : {"/v1/status/leader", "/v1/regions", "/v1/agent/health", "/v1/metrics", "/ui/"})
    EXPECT_EQ(ask("GET", path).status, 200) << path;
  const Answer found = ask("PUT", "/v1/search", R"({"Context": "all", "Prefix": ""})");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(json::to_text(read(found)["Matches"]), "{}");
  EXPECT_EQ(read(found)["Index"].as_int(-1), 0);
  EXPECT_EQ(ask("PUT", "/v1/search", R"({"Context": "nodes", "Prefix": ""})").status, 403);
  EXPECT_EQ(read(ask("GET", "/v1/acl/token/self"))["AccessorID"].as_string(), "anonymous");
  const std::string unknown = "11111111-2222-4333-8444-555555555555";
  EXPECT_EQ(ask("GET", "/v1/vars", "", unknown).status, 403);
  EXPECT_EQ(ask("GET", "/v1/acl/token/self", "", unknown).status, 403);
  EXPECT_EQ(ask("GET", "/v1/vars", "", "not-a-uuid").status, 403);
  const Answer odd = ask("GET", "/v1/acl/token/self", "", "not-a-uuid");
  EXPECT_EQ(odd.status, 500);
  EXPECT_EQ(odd.body, "failed to parse signed token: go-jose/go-jose: compact JWS format must have three parts");
}

TEST_F(AccessTest, TokensAreCreatedChangedReadAndDeleted) {  // R-STORE-74 to 84
  put_policy("p", R"(namespace "default" { policy = "read" })");
  const Answer made = manage("PUT", "/v1/acl/token",
                             R"({"Name": "t", "Type": "client", "Policies": ["p", "absent"], "ExpirationTTL": "10m"})");
  ASSERT_EQ(made.status, 200) << made.body;
  const json::Value token = read(made);
  EXPECT_EQ(token["ExpirationTTL"].as_string(), "10m0s");
  EXPECT_EQ(token["CreateTime"].as_string(), "2027-01-15T08:00:00Z");
  EXPECT_EQ(token["ExpirationTime"].as_string(), "2027-01-15T08:10:00Z");
  const std::string accessor = token["AccessorID"].as_string(), secret = token["SecretID"].as_string();
  EXPECT_EQ(read(ask("GET", "/v1/acl/token/self", "", secret)), token);
  EXPECT_EQ(read(ask("GET", "/v1/acl/token/" + accessor, "", secret)), token);
  client_->ask("GET", "/v1/jobs", "", "Authorization: bearer " + secret + "\r\n");
  EXPECT_EQ(client_->receive().status, 200);
  EXPECT_EQ(
      ask("GET", "/v1/acl/token/" + read(manage("GET", "/v1/acl/token/self"))["AccessorID"].as_string(), "", secret)
          .status,
      403);
  const Answer changed = manage("PUT", "/v1/acl/token/" + accessor,
                                R"({"AccessorID": ")" + accessor + R"(", "Name": "new", "Type": "client",
                                    "Policies": ["p"], "SecretID": "11111111-2222-4333-8444-555555555555"})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(read(changed)["SecretID"].as_string(), secret);
  EXPECT_EQ(read(changed)["Name"].as_string(), "new");
  EXPECT_EQ(read(changed)["ExpirationTime"], token["ExpirationTime"]);
  const json::Value list = read(manage("GET", "/v1/acl/tokens"));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_FALSE(list[1].has("SecretID"));
  EXPECT_FALSE(list[1].has("ExpirationTTL"));
  EXPECT_EQ(read(manage("GET", "/v1/acl/tokens?prefix=" + accessor.substr(0, 8))).size(), 1U);
  const Answer page = manage("GET", "/v1/acl/tokens?per_page=1");
  EXPECT_EQ(page.headers.at("x-nomad-nexttoken"), std::to_string(token["CreateIndex"].as_uint()) + "." + accessor);
  EXPECT_EQ(read(manage("GET", "/v1/acl/tokens?per_page=1&next_token=" +
                                   page.headers.at("x-nomad-nexttoken")))[std::size_t{0}]["AccessorID"]
                .as_string(),
            accessor);
  advance(601);
  EXPECT_EQ(ask("GET", "/v1/jobs", "", secret).status, 403);
  const Answer expired = ask("GET", "/v1/acl/token/self", "", secret);
  EXPECT_EQ(expired.status, 500);
  EXPECT_EQ(expired.body, "ACL token expired");
  EXPECT_EQ(read(manage("GET", "/v1/acl/tokens")).size(), 2U);
  advance(4000);  // collected an hour after its end
  EXPECT_EQ(read(manage("GET", "/v1/acl/tokens")).size(), 1U);
  const std::string other = token_with("p");
  const std::string id = read(ask("GET", "/v1/acl/token/self", "", other))["AccessorID"].as_string();
  EXPECT_EQ(manage("DELETE", "/v1/acl/token/" + id).status, 200);
  EXPECT_EQ(ask("GET", "/v1/jobs", "", other).status, 403);
}

TEST_F(AccessTest, RefusalsReadAsNomads) {  // R-STORE-75 to 90, 106 to 118
  put_policy("p", "");
  const std::string unknown = "11111111-2222-4333-8444-555555555555";
  const std::string one = "1 error occurred:\n\t* ", end = "\n\n";
  struct Refused {
    const char *method, *target;
    std::string body;
    int status;
    std::string text;
  };
  const Refused cases[] = {
      {"PUT", "/v1/acl/token/", "{}", 400, "Missing Token Accessor"},
      {"PUT", "/v1/acl/token/abc", R"({"AccessorID": "x"})", 400, "ACL token accessor does not match request path"},
      {"PUT", "/v1/acl/token", R"({"AccessorID": ")" + unknown + R"(", "Type": "client", "Policies": ["p"]})", 400,
       "cannot find token " + unknown},
      {"PUT", "/v1/acl/token", R"({"Type": "client"})", 400,
       "token 0 invalid: " + one + "client token missing policies or roles" + end},
      {"PUT", "/v1/acl/token", R"({"Type": "management", "Policies": ["p"]})", 400,
       "token 0 invalid: " + one + "management token cannot be associated with policies or roles" + end},
      {"PUT", "/v1/acl/token", "{}", 400, "token 0 invalid: " + one + "token type must be client or management" + end},
      {"PUT", "/v1/acl/token", R"({"Type": "management", "ExpirationTTL": "5s"})", 400,
       "token 0 invalid: " + one + "expiration time cannot be less than 1m0s in the future (was 5s)" + end},
      {"PUT", "/v1/acl/token", R"({"Type": "client", "Roles": [{"Name": "r"}]})", 400, "cannot find role r"},
      {"PUT", "/v1/acl/token", R"({"Type": "client", "Roles": "r"})", 400,
       "json: cannot unmarshal string into Go struct field ACLToken.Roles of type []*structs.ACLTokenRoleLink"},
      {"GET", "/v1/acl/token/11111111-2222-4333-8444-555555555555", "", 404, "ACL token not found"},
      {"GET", "/v1/acl/token/abc", "", 500, "acl token lookup failed: index error: UUID must be 36 characters"},
      {"DELETE", "/v1/acl/token/11111111-2222-4333-8444-555555555555", "", 400,
       "Cannot delete nonexistent tokens: " + unknown},
      {"DELETE", "/v1/acl/token/abc", "", 400,
       "token lookup failed: acl token lookup failed: index error: UUID must be 36 characters"},
      {"PUT", "/v1/acl/policy/", "{}", 400, "Missing Policy Name"},
      {"PUT", "/v1/acl/policy/a", R"({"Name": "b"})", 400, "ACL policy name does not match request path"},
      {"PUT", "/v1/acl/policy/a_b", R"({"Name": "a_b", "Rules": "agent { policy = \"list\" }"})", 400,
       "policy 0 invalid: 2 errors occurred:\n\t* invalid name 'a_b'\n\t* failed to parse rules: Invalid agent policy: "
       "&acl.AgentPolicy{Policy:\"list\"}\n\n"},
      {"GET", "/v1/acl/policy/none", "", 404, "ACL policy not found"},
      {"PUT", "/v1/acl/role", R"({"Name": "r"})", 400,
       "role 0 invalid: " + one + "at least one policy should be specified" + end},
      {"PUT", "/v1/acl/role", R"({"Name": "r", "Policies": [{"Name": "q"}]})", 400, "cannot find policy q"},
      {"PUT", "/v1/acl/role", R"({"ID": "x", "Name": "r", "Policies": [{"Name": "p"}]})", 400, "cannot find role x"},
      {"GET", "/v1/acl/role/", "", 400, "missing ACL role ID"},
      {"GET", "/v1/acl/role/a/b", "", 400, "invalid URI"},
      {"GET", "/v1/acl/role/name/", "", 400, "missing ACL role name"},
      {"GET", "/v1/acl/role/x", "", 404, "ACL role not found"},
      {"DELETE", "/v1/acl/role/x", "", 500, "ACL role not found"},
      {"PUT", "/v1/acl/auth-method/a", R"({"Name": "b"})", 400, "ACL auth-method name does not match request path"},
      {"PUT", "/v1/acl/auth-method", R"({"Name": "m", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": "1h"})",
       400, "auth method 0 invalid: " + one + "invalid config: missing auth method Config" + end},
      {"GET", "/v1/acl/auth-method/m", "", 404, "ACL auth-method not found"},
      {"DELETE", "/v1/acl/auth-method/m", "", 500, "ACL auth method not found"},
      {"PUT", "/v1/acl/binding-rule", R"({"AuthMethod": "m", "BindType": "role"})", 400,
       "binding rule 0 invalid: " + one + "bind name is missing" + end},
      {"PUT", "/v1/acl/binding-rule", R"({"AuthMethod": "m", "BindType": "role", "BindName": "r"})", 400,
       "ACL auth method m not found"},
      {"GET", "/v1/acl/binding-rule/x", "", 404, "ACL binding rule not found"},
      {"DELETE", "/v1/acl/binding-rule/x", "", 500, "ACL binding rule not found"},
      {"PUT", "/v1/acl/login", R"({"AuthMethodName": "m", "LoginToken": "t"})", 400, "auth-method \"m\" not found"},
      {"PUT", "/v1/acl/login", "{}", 400,
       "invalid login request: 2 errors occurred:\n\t* missing auth method name\n\t* missing login token\n\n"},
      {"PUT", "/v1/acl/token/onetime/exchange", R"({"OneTimeSecretID": ""})", 500,
       "one-time token lookup failed: missing secret"},
      {"GET", "/v1/acl/token/onetime/exchange", "", 405, "Invalid method"},
      {"DELETE", "/v1/operator/keyring/key/x", "", 500, "root key not found"},
      {"DELETE", "/v1/operator/keyring/key/", "", 500, "root key ID is required"},
      {"DELETE", "/v1/operator/keyring/key/x?force=y", "", 422, "invalid force parameter"},
      {"PUT", "/v1/operator/keyring/rotate?publish_time=x", "", 500,
       "invalid publish_time: strconv.ParseInt: parsing \"x\": invalid syntax"},
      {"PUT", "/v1/operator/keyring/rotate?publish_time=9&full=1", "", 500,
       "keyring cannot be prepublished and full rotated at the same time"},
      {"GET", "/v1/operator/keyring/other", "", 405, "Invalid method"},
  };
  for (const Refused& refused : cases) {
    const Answer answer = manage(refused.method, refused.target, refused.body);
    EXPECT_EQ(answer.status, refused.status) << refused.method << " " << refused.target << " " << refused.body;
    EXPECT_EQ(answer.body, refused.text) << refused.method << " " << refused.target;
  }
  EXPECT_EQ(manage("DELETE", "/v1/acl/policy/never-there").status, 200);
  EXPECT_EQ(ask("PUT", "/v1/acl/token/onetime").body, "acl token lookup failed: missing secret id");
}

TEST_F(AccessTest, PoliciesAreStoredUnchanged) {  // R-STORE-85 to 91, 99
  const std::string rules = "namespace \"default\" { policy = \"read\" }\n";
  json::Value body = json::Value::object();
  body.set("Name", "p1"), body.set("Description", "d"), body.set("Rules", rules);
  const Answer put = manage("PUT", "/v1/acl/policy/p1", json::to_text(body));
  EXPECT_EQ(put.status, 200);
  EXPECT_EQ(put.body, "");
  const json::Value policy = read(manage("GET", "/v1/acl/policy/p1"));
  EXPECT_EQ(policy["Rules"].as_string(), rules);
  EXPECT_EQ(policy["Hash"].as_string(), "jgC/JzxW98mpkbEcVXOBCbV+UvVb4vDC7oaToY8pATc=");
  EXPECT_TRUE(policy["JobACL"].is_null());
  EXPECT_EQ(policy["RulesJSON"]["Namespaces"][0]["Capabilities"][8].as_string(), "host-volume-read");
  EXPECT_EQ(json::to_text(policy["RulesJSON"]["Agent"]), "null");
  const std::string secret = token_with("p1");
  EXPECT_EQ(ask("GET", "/v1/acl/policy/p1", "", secret).status, 200);
  EXPECT_EQ(ask("GET", "/v1/acl/policy/other", "", secret).status, 403);
  put_policy("p2", "");
  EXPECT_EQ(read(ask("GET", "/v1/acl/policies", "", secret)).size(), 1U);
  EXPECT_EQ(read(ask("GET", "/v1/acl/policy/self", "", secret)).size(), 1U);
  EXPECT_EQ(read(manage("GET", "/v1/acl/policies")).size(), 2U);
  EXPECT_FALSE(read(manage("GET", "/v1/acl/policies"))[0].has("Rules"));
  EXPECT_EQ(manage("DELETE", "/v1/acl/policy/p1").status, 200);
  EXPECT_EQ(ask("GET", "/v1/acl/policy/self", "", secret).body, "null");
}

TEST_F(AccessTest, RightsAreThoseOfThePolicies) {  // R-STORE-131 to 168
  manage("PUT", "/v1/namespace", R"({"Name": "dev"})");
  const std::string job = R"({"Job": {"ID": "j", "Name": "j", "Type": "batch", "Datacenters": ["*"], "Namespace": ")";
  const std::string groups = R"(", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "mock_driver"}]}]}})";
  EXPECT_EQ(manage("PUT", "/v1/jobs", job + "default" + groups).status, 200);
  EXPECT_EQ(manage("PUT", "/v1/jobs", job + "dev" + groups).status, 200);
  advance(1);
  const std::string reader = token_for(R"(namespace "default" { policy = "read" })");
  const std::string developer = token_for(R"(namespace "dev" { policy = "write" } node { policy = "read" })");
  EXPECT_EQ(ask("GET", "/v1/job/j", "", reader).status, 200);
  EXPECT_EQ(ask("GET", "/v1/job/j?namespace=dev", "", reader).status, 403);
  EXPECT_EQ(ask("GET", "/v1/job/none", "", reader).status, 404);
  EXPECT_EQ(ask("GET", "/v1/job/none?namespace=dev", "", reader).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/jobs", job + "default" + groups, reader).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/jobs", job + "dev" + groups, reader).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/jobs", job + "dev" + groups, developer).status, 200);
  EXPECT_EQ(ask("PUT", "/v1/jobs", job + "default" + groups, developer).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/job/j?namespace=dev", job + "default" + groups, developer).status, 200);
  EXPECT_EQ(ask("PUT", "/v1/job/j?namespace=default", job + "dev" + groups, developer).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/job/j/evaluate", R"({"JobID": "j", "Namespace": "dev"})", developer).status, 200);
  EXPECT_EQ(ask("PUT", "/v1/job/j/evaluate", R"({"JobID": "j", "Namespace": "default"})", developer).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/jobs", "{", reader).status, 400);  // invalid JSON is reported first
  for (const char* path : {"/v1/jobs?namespace=*", "/v1/allocations?namespace=*", "/v1/evaluations?namespace=*",
                           "/v1/jobs/statuses?namespace=*"}) {
    const json::Value rows = read(ask("GET", path, "", reader));
    EXPECT_GE(rows.size(), 1U) << path;
    for (const json::Value& row : rows.items()) EXPECT_EQ(row["Namespace"].as_string(), "default") << path;
    EXPECT_GT(read(manage("GET", path)).size(), rows.size()) << path;
  }
  const json::Value of_dev = read(manage("GET", "/v1/allocations?namespace=dev"))[0];
  const std::string alloc = of_dev["ID"].as_string(), eval = of_dev["EvalID"].as_string();
  const Answer hidden = ask("GET", "/v1/allocation/" + alloc, "", reader);
  EXPECT_EQ(hidden.status, 500);
  EXPECT_EQ(hidden.body, "Unknown allocation \"" + alloc + "\"");
  EXPECT_EQ(ask("GET", "/v1/evaluation/" + eval, "", reader).status, 403);
  EXPECT_EQ(ask("GET", "/v1/allocation/" + alloc, "", developer).status, 200);
  EXPECT_EQ(ask("GET", "/v1/allocation/11111111-2222-4333-8444-555555555555", "", reader).status, 404);
  EXPECT_EQ(ask("PUT", "/v1/allocation/" + alloc + "/stop", "{}", reader).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/allocation/" + alloc + "/stop", "{}", developer).status, 200);
  EXPECT_EQ(ask("GET", "/v1/nodes", "", reader).status, 403);
  const json::Value nodes = read(ask("GET", "/v1/nodes", "", developer));
  ASSERT_EQ(nodes.size(), 2U);
  const std::string node = nodes[0]["ID"].as_string();
  for (const json::Value all = read(ask("GET", "/v1/node/" + node + "/allocations", "", developer));
       const json::Value& row : all.items())
    EXPECT_EQ(row["Namespace"].as_string(), "dev");
  EXPECT_EQ(ask("PUT", "/v1/node/" + node + "/eligibility", R"({"Eligibility": "ineligible"})", developer).status, 403);
  EXPECT_EQ(read(ask("GET", "/v1/namespaces", "", developer)).size(), 1U);
  EXPECT_EQ(ask("GET", "/v1/namespace/default", "", developer).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/namespace", R"({"Name": "x"})", developer).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/system/gc", "", developer).status, 403);
  const json::Value found = read(ask("PUT", "/v1/search?namespace=*", R"({"Context": "all", "Prefix": "j"})", reader));
  EXPECT_FALSE(found["Matches"].has("nodes"));
  EXPECT_EQ(found["Matches"]["jobs"].size(), 1U);
  EXPECT_EQ(ask("DELETE", "/v1/job/j", "", reader).status, 403);
  EXPECT_EQ(ask("DELETE", "/v1/job/j?namespace=dev", "", developer).status, 200);
  const std::string words =
      token_for(R"(agent { policy = "read" } operator { policy = "read" } node_pool "d*" { policy = "read" } )"
                R"(plugin { policy = "write" })");
  EXPECT_EQ(ask("GET", "/v1/agent/self", "", words).status, 200);
  EXPECT_EQ(ask("GET", "/v1/operator/scheduler/configuration", "", words).status, 200);
  EXPECT_EQ(ask("PUT", "/v1/operator/scheduler/configuration", "{}", words).status, 403);
  EXPECT_EQ(ask("GET", "/v1/operator/keyring/keys", "", words).status, 200);
  EXPECT_EQ(ask("PUT", "/v1/operator/keyring/rotate", "", words).status, 403);
  EXPECT_EQ(read(ask("GET", "/v1/node/pools", "", words)).size(), 1U);
  EXPECT_EQ(ask("GET", "/v1/node/pool/all", "", words).status, 403);
  EXPECT_EQ(ask("GET", "/v1/plugins?type=csi", "", words).status, 403);  // `write` grants nothing (R-STORE-100)
}

TEST_F(AccessTest, VariableRightsFollowPaths) {  // R-STORE-32, 47, 103, 161
  const std::string items = R"({"Items": {"x": "1"}})";
  manage("PUT", "/v1/var/a/1", items), manage("PUT", "/v1/var/b/1", items);
  const std::string reader =
      token_for(R"(namespace "default" { variables { path "a/*" { capabilities = ["read"] } } })");
  const std::string writer =
      token_for(R"(namespace "*" { variables { path "a/*" { capabilities = ["write"] } path "a/no" { } } })");
  EXPECT_EQ(ask("GET", "/v1/var/a/1", "", reader).status, 200);
  EXPECT_EQ(ask("GET", "/v1/var/b/1", "", reader).status, 403);
  EXPECT_EQ(read(ask("GET", "/v1/vars", "", reader)).size(), 1U);
  EXPECT_EQ(ask("PUT", "/v1/var/a/1", items, reader).status, 403);
  EXPECT_EQ(ask("DELETE", "/v1/var/a/1", "", writer).status, 403);
  EXPECT_EQ(ask("GET", "/v1/var/a/1", "", writer).status, 403);
  EXPECT_EQ(ask("PUT", "/v1/var/a/2", items, writer).status, 200);
  const Answer conflict = ask("PUT", "/v1/var/a/1?cas=0", items, writer);
  EXPECT_EQ(conflict.status, 409);
  EXPECT_FALSE(read(conflict).has("Items"));  // the token may write, not read
  const Answer held = ask("PUT", "/v1/var/a/l?lock-acquire", items, writer);
  EXPECT_TRUE(read(held).has("Lock"));
  EXPECT_FALSE(read(ask("GET", "/v1/var/a/l", "", reader)).has("Lock"));
  EXPECT_TRUE(read(manage("GET", "/v1/var/a/l")).has("Lock"));
}

TEST_F(AccessTest, RolesGrantTheirPolicies) {  // R-STORE-79, 106 to 110
  put_policy("p", R"(namespace "default" { policy = "read" })");
  const Answer made = manage("PUT", "/v1/acl/role", R"({"Name": "r", "Policies": [{"Name": "p"}, {"Name": "p"}]})");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string id = read(made)["ID"].as_string();
  EXPECT_EQ(read(made)["Policies"].size(), 1U);
  EXPECT_EQ(manage("PUT", "/v1/acl/role", R"({"Name": "r", "Policies": [{"Name": "p"}]})").body,
            "role with name r already exists");
  const json::Value token = read(manage("PUT", "/v1/acl/token", R"({"Type": "client", "Roles": [{"Name": "r"}]})"));
  const std::string secret = token["SecretID"].as_string();
  EXPECT_EQ(token["Roles"][0]["ID"].as_string(), id);
  EXPECT_EQ(ask("GET", "/v1/jobs", "", secret).status, 200);
  EXPECT_EQ(read(ask("GET", "/v1/acl/roles", "", secret)).size(), 1U);
  EXPECT_EQ(ask("GET", "/v1/acl/role/" + id, "", secret).status, 200);
  EXPECT_EQ(ask("GET", "/v1/acl/role/name/r", "", secret).status, 200);
  const Answer renamed =
      manage("PUT", "/v1/acl/role/" + id, R"({"ID": ")" + id + R"(", "Name": "s", "Policies": [{"Name": "p"}]})");
  EXPECT_EQ(renamed.status, 200) << renamed.body;
  EXPECT_EQ(read(ask("GET", "/v1/acl/token/self", "", secret))["Roles"][0]["Name"].as_string(), "s");
  EXPECT_EQ(manage("DELETE", "/v1/acl/role/" + id).status, 200);
  EXPECT_EQ(json::to_text(read(ask("GET", "/v1/acl/token/self", "", secret))["Roles"]), "[]");
  EXPECT_EQ(ask("GET", "/v1/jobs", "", secret).status, 403);
}

TEST_F(AccessTest, MethodsRulesAndOneTimeTokens) {  // R-STORE-111 to 118
  const Answer made = manage("PUT", "/v1/acl/auth-method/m",
                             R"({"Name": "m", "Type": "OIDC", "TokenLocality": "local", "MaxTokenTTL": "1h",
                                 "Config": {"OIDCDiscoveryURL": "https://x", "OIDCClientID": "i",
                                            "OIDCClientSecret": "s"}})");
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(read(made)["MaxTokenTTL"].as_string(), "1h0m0s");
  EXPECT_EQ(read(made)["TokenNameFormat"].as_string(), "${auth_method_type}-${auth_method_name}");
  EXPECT_EQ(read(made)["Config"]["OIDCClientSecret"].as_string(), "redacted");
  EXPECT_TRUE(read(made)["Config"].has("ListClaimMappings"));
  EXPECT_EQ(read(ask("GET", "/v1/acl/auth-methods")).size(), 1U);  // no token needed
  EXPECT_EQ(manage("PUT", "/v1/acl/login", R"({"AuthMethodName": "m", "LoginToken": "t"})").body,
            "unsupported auth-method type: OIDC");
  const Answer rule = manage("PUT", "/v1/acl/binding-rule", R"({"AuthMethod": "m", "BindType": "role",
      "BindName": "r", "Selector": "engineer in list.roles"})");
  ASSERT_EQ(rule.status, 200) << rule.body;
  const std::string id = read(rule)["ID"].as_string();
  const Answer changed = manage("PUT", "/v1/acl/binding-rule/" + id, R"({"ID": ")" + id + R"(", "Description": "d"})");
  EXPECT_EQ(read(changed)["BindName"].as_string(), "r");
  EXPECT_EQ(read(changed)["Selector"].as_string(), "");
  EXPECT_EQ(read(manage("GET", "/v1/acl/binding-rules")).size(), 1U);
  EXPECT_EQ(manage("DELETE", "/v1/acl/binding-rule/" + id).status, 200);

  const std::string secret = token_for("");
  const json::Value once = read(ask("PUT", "/v1/acl/token/onetime", "", secret))["OneTimeToken"];
  EXPECT_EQ(once["ExpiresAt"].as_string(), "2027-01-15T08:10:00Z");
  const std::string exchange = R"({"OneTimeSecretID": ")" + once["OneTimeSecretID"].as_string() + R"("})";
  EXPECT_EQ(read(ask("PUT", "/v1/acl/token/onetime/exchange", exchange))["Token"]["SecretID"].as_string(), secret);
  EXPECT_EQ(ask("PUT", "/v1/acl/token/onetime/exchange", exchange).status, 403);  // only once
}

TEST_F(AccessTest, ProfilesAreEmpty) {  // R-STORE-317
  EXPECT_EQ(ask("GET", "/v1/agent/pprof/heap").status, 403);
  for (const char* name : {"profile?seconds=1", "trace", "heap"}) {
    const Answer answer = manage("GET", std::string("/v1/agent/pprof/") + name);
    EXPECT_EQ(answer.status, 200) << name;
    EXPECT_TRUE(answer.body.starts_with("\x1f\x8b")) << name;
    EXPECT_EQ(answer.headers.at("content-type"), "application/octet-stream");
  }
  EXPECT_EQ(manage("GET", "/v1/agent/pprof/cmdline").body, "berth serve");
  EXPECT_EQ(manage("GET", "/v1/agent/pprof/nope").status, 404);
  const Answer other = manage("GET", "/v1/agent/pprof/heap?server_id=unknown.global");
  EXPECT_EQ(other.status, 500);
  EXPECT_EQ(other.body, "unknown Nomad server unknown.global");
}

TEST_F(AccessTest, KeysAreRotatedAndServed) {  // R-STORE-180 to 184, 189
  const auto keys = [&] { return read(manage("GET", "/v1/operator/keyring/keys")); };
  const json::Value first = keys();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0]["State"].as_string(), "active");
  const auto jwks = [&] { return read(ask("GET", "/.well-known/jwks.json"))["keys"]; };
  const json::Value shown = jwks();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0]["kid"], first[0]["KeyID"]);
  EXPECT_EQ(shown[0]["kty"].as_string(), "RSA");
  EXPECT_EQ(shown[0]["e"].as_string(), "AQAB");
  EXPECT_EQ(shown[0]["n"].as_string().size(), 342U);  // 256 bytes
  EXPECT_EQ(shown[0]["n"].as_string(), jwks()[0]["n"].as_string());
  manage("PUT", "/v1/var/a", R"({"Items": {"x": "1"}})");
  const Answer rotated = manage("PUT", "/v1/operator/keyring/rotate");
  EXPECT_EQ(read(rotated)["Key"]["CreateIndex"].as_int(-1), 0);
  EXPECT_EQ(read(rotated)["Key"]["State"].as_string(), "active");
  EXPECT_EQ(keys().size(), 2U);
  const std::string old = first[0]["KeyID"].as_string(), path = "/v1/operator/keyring/key/";
  EXPECT_EQ(manage("DELETE", path + read(rotated)["Key"]["KeyID"].as_string()).body,
            "active root key cannot be deleted - call rotate first");
  EXPECT_EQ(manage("DELETE", path + old).body, "root key in use, cannot delete");
  EXPECT_EQ(manage("PUT", "/v1/operator/keyring/rotate?full").status, 200);
  EXPECT_EQ(manage("DELETE", path + old).status, 200);
  EXPECT_EQ(keys().size(), 2U);
  EXPECT_EQ(manage("PUT", "/v1/operator/keyring/rotate?publish_time=1800000100000000000").status, 200);
  const auto states = [&] {
    std::vector<std::string> out;
    for (const json::Value all = keys(); const json::Value& key : all.items()) out.push_back(key["State"].as_string());
    std::sort(out.begin(), out.end());
    return out;
  };
  EXPECT_EQ(states(), (std::vector<std::string>{"active", "inactive", "prepublished"}));
  advance(101);
  EXPECT_EQ(states(), (std::vector<std::string>{"active", "inactive", "inactive"}));
  EXPECT_EQ(jwks().size(), 3U);
  EXPECT_EQ(ask("GET", "/.well-known/openid-configuration").body, "OIDC Discovery endpoint disabled");
  const Answer made = manage("PUT", "/v1/acl/identity/client-introduction-token", R"({"NodeName": "n", "TTL": "2h"})");
  const std::string token = read(made)["JWT"].as_string();
  EXPECT_EQ(std::count(token.begin(), token.end(), '.'), 2);
  EXPECT_EQ(ask("GET", "/v1/acl/token/self", "", token).status, 404);  // signed by this server
  EXPECT_EQ(ask("GET", "/v1/jobs", "", token).status, 403);
  std::string forged = token;
  forged[forged.size() - 5] = forged[forged.size() - 5] == 'A' ? 'B' : 'A';
  EXPECT_EQ(ask("GET", "/v1/acl/token/self", "", forged).status, 500);
}

// ---------------------------------------------------------------- grammar and merging

TEST(AclRules, ErrorsReadAsNomads) {  // R-STORE-92 to 98, 122 to 124
  struct Case {
    const char *rules, *error;  // "": none; a last `*`: only the beginning is compared
  };
  const Case cases[] = {
      {"", ""},
      {"  \n", "Invalid policy:   \n"},
      {"namespace \"a\" { policy = \"read\" bogus = 3 }", ""},
      {"namespace \"a\" { }", ""},
      {"namespace default { policy = \"read\" }", ""},
      {"namespace \"a\" { capabilities = [\"read-job\", \"list-jobs\",] } # c\n// d\n/* e */", ""},
      {"operator { }", ""},
      {"namespace \"a\" { policy = \"read\" } namespace \"a\" { policy = \"write\" }", ""},
      {R"({"namespace": {"default": {"policy": "read", "variables": {"path": {"a/*": {"capabilities": ["read"]}}}}},
          "agent": {"policy": "read"}})",
       ""},
      {"namespace { policy = \"read\" }", "Invalid namespace name: *"},
      {"namespace \"a b\" { policy = \"read\" }", "Invalid namespace name: *"},
      {"namespace \"a\" { policy = \"list\" }", "Invalid namespace policy: *"},
      {"namespace \"a\" { policy = <<EOF\nread\nEOF\n}", "Invalid namespace policy: *"},
      {"namespace \"a\" { capabilities = [\"x\"] }", "Invalid namespace capability 'x': *"},
      {"node_pool \"a b\" { }", "Invalid node pool name 'a b'*"},
      {"node_pool \"a\" { policy = \"x\" }", "Invalid node pool policy 'x' for 'a'"},
      {"agent { }", "Invalid agent policy: *"},
      {"plugin { policy = \"scale\" }", "Invalid plugin policy: *"},
      {"operator { capabilities = [\"x\"] }", "Invalid operator capability 'x'"},
      {"foo \"bar\" {}", "Invalid or duplicate policy keys: bar, foo"},
      {"agent { policy = \"read\" } agent { policy = \"read\" }", "Invalid or duplicate policy keys: agent"},
      {"namespace \"a\" \"b\" { }", "Invalid or duplicate policy keys: b"},
      {"namespace \"a\" { variables { } }", "Invalid variable policy: no variable paths in namespace a"},
      {"namespace \"a\" { variables { path \"\" { } } }", "Invalid missing variable path in namespace a"},
      {"namespace \"a\" { variables { path \"/x\" { } } }",
       "Invalid variable path \"/x\" in namespace a: cannot start with a leading '/'`"},
      {"namespace \"a\" { variables { path \"x\" { capabilities = [\"submit\"] } } }",
       "Invalid variable capability 'submit' in namespace a"},
      {"namespace \"a\" { policy = read }", "Failed to parse ACL Policy: *"},
      {"namespace \"a\" {", "Failed to parse ACL Policy: *"},
      {"{", "Failed to parse ACL Policy: *"},
  };
  for (const Case& one : cases) {
    const auto rules = AclRules::parse(one.rules);
    const std::string error = rules ? "" : rules.error();
    std::string wanted = one.error;
    if (wanted.ends_with('*')) {
      wanted.pop_back();
      EXPECT_TRUE(error.starts_with(wanted)) << one.rules << ": " << error;
    } else {
      EXPECT_EQ(error, wanted) << one.rules;
    }
  }
  EXPECT_FALSE(AclRules::parse(std::string(100'000, '[')));
  EXPECT_FALSE(AclRules::parse("a = " + std::string(100'000, '[')));
  EXPECT_FALSE(AclRules::parse(std::string(100'000, '{')));
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "a {";
  EXPECT_FALSE(AclRules::parse(nested));
}

Rights rights_of(const std::vector<std::string>& rules) {
  std::vector<AclRules> parsed;
  for (const std::string& one : rules) parsed.push_back(AclRules::parse(one).value());
  std::vector<const AclRules*> all;
  for (const AclRules& one : parsed) all.push_back(&one);
  return Rights::of(all);
}

TEST(AccessRights, OnlyTheClosestGlobDecides) {  // R-STORE-100 to 104
  const Capabilities reads = namespace_capability("read-job"), submits = namespace_capability("submit-job");
  const Rights tie = rights_of({R"(namespace "*b" { policy = "write" } namespace "a*" { policy = "read" })"});
  EXPECT_TRUE(tie.in_namespace("a1b", reads));
  EXPECT_FALSE(tie.in_namespace("a1b", submits));  // the bytewise last of equal patterns
  const Rights exact = rights_of({R"(namespace "*" { policy = "write" } namespace "prod" { policy = "deny" })"});
  EXPECT_TRUE(exact.in_namespace("dev", submits));
  EXPECT_FALSE(exact.in_namespace("prod", reads));
  EXPECT_TRUE(exact.in_namespace("*", submits));
  EXPECT_FALSE(exact.sees_namespace("prod"));
  const Rights denied = rights_of({R"(namespace "a" { policy = "write" })", R"(namespace "a" { policy = "deny" })"});
  EXPECT_FALSE(denied.in_namespace("a", reads));
  const Rights united =
      rights_of({R"(namespace "a" { policy = "read" })", R"(namespace "a" { capabilities = ["submit-job"] })"});
  EXPECT_TRUE(united.in_namespace("a", reads) && united.in_namespace("a", submits));
  const Rights words = rights_of({
      R"(node { policy = "write" })",
      R"(node { policy = "deny" })",
  });
  EXPECT_FALSE(words.node(Rights::Level::read));
  const Rights paths = rights_of(
      {R"(namespace "*" { variables { path "*" { capabilities = ["read"] } path "a/*" { capabilities = ["deny"] } } })",
       R"(namespace "n" { variables { path "a/b" { capabilities = ["write"] } } })"});
  EXPECT_TRUE(paths.variable("n", "x", variable_capability("list")));
  EXPECT_FALSE(paths.variable("n", "a/x", variable_capability("read")));
  EXPECT_TRUE(paths.variable("n", "a/b", variable_capability("write")));
  EXPECT_FALSE(paths.variable("n", "a/b", variable_capability("read")));
  EXPECT_TRUE(rights_of({R"(operator { policy = "write" })"}).on_operator(operator_capability("snapshot-save")));
}

}  // namespace
}  // namespace berth::http
