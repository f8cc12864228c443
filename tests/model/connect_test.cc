// Connect at registration, by hand: what is added and what is refused (R-REG sections 1 to 3, 14).
#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "model/job.h"
#include "model/registration/register_job.h"
#include "model/registration/validate_job.h"
#include "model/update/spec_changed.h"
#include "support/sanitized.h"

namespace berth::model {
namespace {

Registration registered(const std::string& group, const std::string& more = "") {
  const std::string text =
      R"({"ID":"j","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"docker"})" + more + "]," + group + "}]}";
  auto value = io::parse_json(text);
  EXPECT_TRUE(value) << text;
  auto done = register_job(*value);
  EXPECT_TRUE(done) << (done ? "" : done.error().line());
  return done ? *done : Registration{};
}

std::vector<std::string> texts(const std::vector<Constraint>& constraints) {
  std::vector<std::string> out;
  for (const Constraint& constraint : constraints) out.push_back(constraint.text());
  return out;
}

constexpr const char* kSidecar =
    R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"web","PortLabel":"9001","Connect":{"SidecarService":{}}}])";

TEST(Connect, ASidecarBringsATaskAPortAndConstraints) {  // R-REG-24, 31, 641
  const Registration done = registered(kSidecar);
  ASSERT_TRUE(done.job) << done.error;
  EXPECT_TRUE(done.warnings.empty()) << done.warnings[0];
  const TaskGroup& group = done.job->task_groups[0];
  ASSERT_EQ(group.tasks.size(), 2U);
  const Task& proxy = group.tasks[1];
  EXPECT_EQ(proxy.name, "connect-proxy-web");
  EXPECT_EQ(proxy.kind, "connect-proxy:web");
  EXPECT_EQ(proxy.driver, "docker");
  EXPECT_EQ(proxy.resources->cpu, 250);
  EXPECT_EQ(proxy.resources->memory_mb, 128);
  EXPECT_EQ(proxy.lifecycle->hook, "prestart");
  EXPECT_TRUE(proxy.lifecycle->sidecar);
  EXPECT_EQ(texts(proxy.constraints),
            (std::vector<std::string>{"${attr.consul.version} semver >= 1.8.0", "${attr.consul.grpc} > 0"}));
  ASSERT_EQ(group.networks[0].dynamic_ports.size(), 1U);
  EXPECT_EQ(group.networks[0].dynamic_ports[0].label, "connect-proxy-web");
  EXPECT_EQ(group.networks[0].dynamic_ports[0].to, -1);
  ASSERT_EQ(group.constraints.size(), 6U);
  EXPECT_EQ(group.constraints[0].text(), "${attr.consul.version} semver >= 1.8.0");
  EXPECT_EQ(group.constraints[1].text(), "${attr.plugins.cni.version.bridge} semver >= 0.4.0");
  const Registration again = registered(kSidecar);
  EXPECT_FALSE(spec_changed(*done.job, *again.job)) << "R-REG-40";
}

TEST(Connect, ABlockForTheProxyChangesItsResources) {  // R-REG-27 to 29
  const auto proxy = [](const std::string& block) {
    const Registration done = registered(
        R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"web","PortLabel":"1","Connect":{"SidecarService":{},)" +
        block + "}}]");
    return done.job ? done.job->task_groups[0].tasks.at(1) : Task{};
  };
  const Task empty = proxy(R"("SidecarTask":{})");
  EXPECT_EQ(empty.resources->cpu, 100);
  EXPECT_EQ(empty.resources->memory_mb, 300);
  EXPECT_EQ(empty.log_config->max_files, 10);
  EXPECT_EQ(empty.shutdown_delay, 0);
  const Task named = proxy(R"("SidecarTask":{"Name":"p","Resources":{"CPU":40},"Env":{"A":"b"},"Config":{"x":1}})");
  EXPECT_EQ(named.name, "p");
  EXPECT_EQ(named.resources->cpu, 40);
  EXPECT_EQ(named.env["A"].as_string(), "b");
  EXPECT_EQ(named.config["image"].as_string(), "${meta.connect.sidecar_image}");
  EXPECT_EQ(named.config["x"].as_int(), 1);
  const Task other = proxy(R"("SidecarTask":{"Driver":"exec","Config":{"command":"/e"}})");
  EXPECT_EQ(other.driver, "exec");
  EXPECT_EQ(other.config.size(), 1U) << "another driver has its own configuration only";
  EXPECT_NE(registered(
                R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"web","PortLabel":"1",
                   "Connect":{"SidecarService":{},"SidecarTask":{"Resources":{"Cores":1}}}}])")
                .error.find("Task can only ask for 'cpu' or 'cores' resource, not both."),
            std::string::npos);
}

TEST(Connect, ATaskOfTheProxysNameGivesItASuffix) {  // R-REG-26
  const Registration done = registered(kSidecar, R"(,{"Name":"connect-proxy-web","Driver":"exec"})");
  ASSERT_TRUE(done.job) << done.error;
  const std::string& name = done.job->task_groups[0].tasks.at(2).name;
  EXPECT_TRUE(name.starts_with("connect-proxy-web-")) << name;
  EXPECT_EQ(name.size(), std::string("connect-proxy-web-").size() + 6);
}

TEST(Connect, GatewaysBringTasks) {  // R-REG-62 to 66
  const Registration done = registered(R"("Networks":[{"Mode":"bridge"}],"Services":[
      {"Name":"in","PortLabel":"1","Connect":{"Gateway":{"Ingress":{"TLS":{"TLSMinVersion":"TLSv1_2"},
        "Listeners":[{"Port":8080,"Services":[{"Name":"raw"}]}]}}}},
      {"Name":"out","Connect":{"Gateway":{"Terminating":{"Services":[{"Name":"db"}]}}}},
      {"Name":"mesh","PortLabel":"2","Connect":{"Gateway":{"Mesh":{}}}}])");
  ASSERT_TRUE(done.job) << done.error;
  const TaskGroup& group = done.job->task_groups[0];
  ASSERT_EQ(group.tasks.size(), 4U);
  EXPECT_EQ(group.tasks[1].name, "connect-ingress-in");
  EXPECT_EQ(group.tasks[1].constraints.size(), 3U);
  EXPECT_EQ(group.tasks[2].kind, "connect-terminating:out");
  EXPECT_FALSE(group.tasks[2].lifecycle);
  EXPECT_EQ(group.tasks[3].kind, "connect-mesh:mesh");
  const json::Value& services = group.services;
  const json::Value& ingress = services[0]["Connect"]["Gateway"];
  EXPECT_EQ(ingress["Proxy"]["EnvoyGatewayBindAddresses"]["raw"]["Port"].as_int(), 8080);
  EXPECT_EQ(ingress["Ingress"]["Listeners"][0]["Protocol"].as_string(), "tcp");
  EXPECT_EQ(services[1]["PortLabel"].as_string(), "connect-terminating-out");
  std::vector<std::string> labels;
  for (const Port& port : group.networks[0].dynamic_ports) labels.push_back(port.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"connect-terminating-out", "connect-mesh-mesh-lan"}));
}

TEST(Connect, ExposedChecksGetPortsAndPaths) {  // R-REG-87 to 91, 640
  const Registration done = registered(R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"web","PortLabel":"9001",
      "Connect":{"SidecarService":{}},"Checks":[
        {"Type":"http","Path":"/h","Interval":10000000000,"Timeout":1000000000,"Expose":true},
        {"Type":"http","Path":"/h","Interval":10000000000,"Timeout":1000000000,"Expose":true}]}])");
  ASSERT_TRUE(done.job) << done.error;
  const TaskGroup& group = done.job->task_groups[0];
  const json::Value& service = std::as_const(group.services)[0];
  EXPECT_EQ(service["Checks"][0]["PortLabel"].as_string(), "svc_web_ck_2bc639");
  EXPECT_EQ(service["Checks"][1]["PortLabel"].as_string(), "svc_web_ck_6066b7");
  const json::Value& paths = service["Connect"]["SidecarService"]["Proxy"]["Expose"]["Paths"];
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0]["LocalPathPort"].as_int(), 9001);
  EXPECT_EQ(paths[0]["ListenerPort"].as_string(), "svc_web_ck_2bc639");
  ASSERT_EQ(group.networks[0].dynamic_ports.size(), 3U) << "the proxy's port comes first";
}

struct RefusalCase {
  const char *name, *group, *error;
};
class ConnectJobs : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(ConnectJobs, AreRefusedInNomadsWords) {
  const Registration done = registered(GetParam().group);
  EXPECT_FALSE(done.job);
  EXPECT_NE(done.error.find(GetParam().error), std::string::npos) << done.error;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Groups, ConnectJobs, ::testing::Values(
    RefusalCase{"HostNetwork", R"("Networks":[{"Mode":"host"}],"Services":[{"Name":"a","Connect":{"SidecarService":{}}}])",
                R"(connect sidecar: invalid network mode for Consul Connect: group "g" uses network mode "host"; must be "bridge" or "cni/*")"},
    RefusalCase{"UpperCase", R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"Web","Connect":{"SidecarService":{}}}])",
                R"(Consul Connect service name "Web" in group "g" must not contain uppercase characters)"},
    RefusalCase{"SameUpstream", R"("Networks":[{"Mode":"bridge"}],"Services":[
        {"Name":"a","PortLabel":"1","Connect":{"SidecarService":{"Proxy":{"Upstreams":[{"DestinationName":"x","LocalBindPort":80}]}}}},
        {"Name":"b","PortLabel":"2","Connect":{"SidecarService":{"Proxy":{"Upstreams":[{"DestinationName":"y","LocalBindPort":80}]}}}}])",
                R"(Consul Connect services "b" and "a" in group "g" using same address for upstreams (:80))"},
    RefusalCase{"DnsWithTransparentProxy", R"("Networks":[{"Mode":"bridge","DNS":{"Servers":["1.1.1.1"]}}],"Services":[
        {"Name":"a","PortLabel":"1","Connect":{"SidecarService":{"Proxy":{"TransparentProxy":{}}}}}])",
                "Consul Connect transparent proxy cannot be used with network.dns unless no_dns=true"},
    RefusalCase{"UserIds", R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"a","PortLabel":"1",
        "Connect":{"SidecarService":{"Proxy":{"TransparentProxy":{"UID":"x","ExcludeUIDs":["70000"]}}}}}])",
                "2 errors occurred:\n\t* transparent proxy block has invalid UID field: invalid user ID \"x\": invalid syntax\n\t* "
                "transparent proxy block has invalid ExcludeUIDs field: invalid user ID \"70000\": value out of range"},
    RefusalCase{"MeshWithoutPort", R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"a","Connect":{"Gateway":{"Mesh":{}}}}])",
                "error in job mutator connect: service.port must be set for mesh gateway service"},
    RefusalCase{"ExposeOnADynamicPort", R"("Networks":[{"Mode":"bridge","DynamicPorts":[{"Label":"http"}]}],"Services":[
        {"Name":"a","PortLabel":"http","Connect":{"SidecarService":{}},"Checks":[{"Name":"c","Type":"http","Path":"/","Expose":true,
        "Interval":10000000000,"Timeout":1000000000}]}])",
                "error in job mutator expose-check: unable to determine local service port for service check g->a->c"},
    RefusalCase{"Wildcard", R"("Networks":[{"Mode":"bridge"}],"Services":[{"Name":"a","PortLabel":"1","Connect":{"Gateway":{"Ingress":
        {"Listeners":[{"Port":1,"Protocol":"tcp","Services":[{"Name":"*"}]}]}}}}])",
                "Consul Ingress Service doesn't support wildcard name for \"tcp\" protocol"}),
    [](const auto& test) { return std::string(test.param.name); });

struct BlockCase {
  const char *name, *task, *error;
};
class ConnectBlocks : public ::testing::TestWithParam<BlockCase> {};

TEST_P(ConnectBlocks, AreRefusedInNomadsWords) {  // R-REG-164 to 169, 331 to 336
  const std::string task = R"({"Name":"u","Driver":"exec",)" + std::string(GetParam().task) + "}";
  const Registration done = registered(R"("Count":1)", "," + task);
  EXPECT_FALSE(done.job);
  EXPECT_NE(done.error.find(GetParam().error), std::string::npos) << done.error;
}

INSTANTIATE_TEST_SUITE_P(Tasks, ConnectBlocks, ::testing::Values(
    BlockCase{"ServiceProvider", R"("Services":[{"Name":"a","Provider":"etcd"}])", R"(Service provider must be "consul", or "nomad"; not "etcd")"},
    BlockCase{"ServiceName", R"("Services":[{"Name":"a_b"}])", "Service name must be valid per RFC 1123"},
    BlockCase{"CheckInterval", R"("Services":[{"Name":"a","Checks":[{"Type":"script","Command":"x","Interval":5,"Timeout":1000000000}]}])",
              "interval (5ns) cannot be lower than 1s"},
    BlockCase{"CheckType", R"("Services":[{"Name":"a","Provider":"nomad","Checks":[{"Type":"grpc","PortLabel":"p"}]}])",
              R"(invalid check type ("grpc"), must be one of tcp, http)"},
    BlockCase{"CheckPath", R"("Services":[{"Name":"a","PortLabel":"p","Checks":[{"Type":"http","Path":"http://x/"}]}])",
              "http type must have relative http path"},
    BlockCase{"UnknownPort", R"("Services":[{"Name":"a","PortLabel":"p"}])", R"(port label "p" referenced by services a does not exist)"},
    BlockCase{"Artifact", R"("Artifacts":[{"GetterSource":"x","RelativeDest":"../../y"}])", "destination escapes allocation directory"},
    BlockCase{"Checksum", R"("Artifacts":[{"GetterSource":"x","GetterOptions":{"checksum":"md5:00"}}])", "invalid md5 checksum: 00"},
    BlockCase{"Template", R"("Templates":[{"DestPath":"a","EmbeddedTmpl":"x","Perms":"9"}])",
              R"(Failed to parse "9" as octal: strconv.ParseUint: parsing "9": invalid syntax)"},
    BlockCase{"Action", R"("Actions":[{"Name":"a b","Command":"x"}])", "invalid name 'a b'"},
    BlockCase{"Identity", R"("Identities":[{"Name":"a","Audience":[""],"ChangeMode":"signal"}])",
              "change_signal must be specified when using change_mode=\"signal\""},
    BlockCase{"Secret", R"("Secrets":[{"Name":"a-b","Provider":"vault","Path":"p"}])", R"(Secret "a-b" has provider "vault" but no vault block)"},
    BlockCase{"CsiPlugin", R"("CSIPluginConfig":{"ID":"x","Type":"node","MountDir":"/csi","StagePublishBaseDir":"/csi/s"})",
              "CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir"}),
    [](const auto& test) { return std::string(test.param.name); });
// clang-format on

TEST(Registration, ReadsTheTypesOfBlocks) {  // R-MODEL-608
  const auto done = register_job(io::parse_json(R"({"ID":"j","TaskGroups":[{"Name":"g","Services":[{"Name":"a",
      "Checks":[{"Interval":"10s"}]}]}]})")
                                     .value());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().place, "/TaskGroups/0/Services/0/Checks/0/Interval");
  EXPECT_EQ(done.error().problem, "expected an integer, got a string");
}

TEST(Registration, FillsTheStoredForm) {  // R-REG-140 to 143, 250
  const Registration done = registered(
      R"("Services":[{"CheckRestart":{"Limit":3},"Checks":[
      {"Type":"tcp","PortLabel":"1","Interval":1000000000,"Timeout":1000000000}]}])",
      R"(,{"Name":"u","Driver":"exec","Artifacts":[{"GetterSource":"http://x/a/b.tgz?x=1","GetterMode":"file"}],
      "CSIPluginConfig":{"ID":"p","Type":"node"},"Services":[{}]})");
  ASSERT_TRUE(done.job) << done.error;
  const TaskGroup& group = done.job->task_groups[0];
  const json::Value& service = std::as_const(group.services)[0];
  EXPECT_EQ(service["Name"].as_string(), "j-g");
  EXPECT_EQ(service["Checks"][0]["CheckRestart"]["Limit"].as_int(), 3);
  EXPECT_EQ(service["Checks"][0]["CheckRestart"]["Grace"].as_int(), 1'000'000'000);
  EXPECT_FALSE(service.has("CheckRestart"));
  const Task& task = group.tasks[1];
  EXPECT_EQ(std::as_const(task.services)[0]["Name"].as_string(), "j-g-u");
  EXPECT_EQ(std::as_const(task.artifacts)[0]["RelativeDest"].as_string(), "local/b.tgz?x=1");
  EXPECT_EQ(task.csi_plugin_config["StagePublishBaseDir"].as_string(), "/local/csi");
  EXPECT_EQ(task.csi_plugin_config["HealthTimeout"].as_int(), 30'000'000'000);
}

TEST(Registration, ExplainsABadPrefix) {  // R-REG-117, row 1
  const std::pair<const char*, const char*> cases[] = {
      {"10.0.0.0/8", ""},
      {"::/0", ""},
      {"1:2:3:4:5:6:7::/8", ""},
      {"64:ff9b::1.2.3.4/96", ""},
      {"x", "no '/'"},
      {"x/8", R"(ParseAddr("x"): unable to parse IP)"},
      {"%e/8", R"(ParseAddr("%e"): missing IPv6 address)"},
      {"10.0.0/8", R"(ParseAddr("10.0.0"): IPv4 address too short)"},
      {"10..0.1/8", R"(ParseAddr("10..0.1"): IPv4 field must have at least one digit (at ".0.1"))"},
      {"fd00:::/8", R"(ParseAddr("fd00:::"): each colon-separated field must have at least one digit (at ":"))"},
      {"1::2::3/8", R"(ParseAddr("1::2::3"): multiple :: in address (at ":3"))"},
      {"12345::/8", R"(ParseAddr("12345::"): each group must have 4 or fewer digits (at "12345::"))"},
      {"1:g::/8", R"(ParseAddr("1:g::"): each colon-separated field must have at least one digit (at "g::"))"},
      {"1g::/8", R"(ParseAddr("1g::"): unexpected character, want colon (at "g::"))"},
      {"1:2:/8", R"(ParseAddr("1:2:"): colon must be followed by more characters (at ":"))"},
      {"1:2/8", R"(ParseAddr("1:2"): address string too short)"},
      {"1:2:3:4:5:6:7:8:9/8", R"(ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9"))"},
      {"1:2:3:4:5:6:7:8::/8", R"(ParseAddr("1:2:3:4:5:6:7:8::"): the :: must expand to at least one field of zeros)"},
      {"::1.2.3/96", R"(ParseAddr("::1.2.3"): IPv4 address too short)"},
      {"fd00::%1/64", "IPv6 zones cannot be present in a prefix"},
      {"10.0.0.0/", R"(bad bits after slash: "")"},
      {"10.0.0.0/08", R"(bad bits after slash: "08")"},
      {"10.0.0.0/33", "prefix length out of range"},
      {"fd00::/1000", "prefix length out of range"}};
  for (const auto& [text, problem] : cases)
    EXPECT_EQ(prefix_problem(text),
              *problem ? "netip.ParsePrefix(\"" + std::string(text) + "\"): " + problem : std::string());
}

TEST(Registration, AHugeJobIsLinear) {
  // 20,000 sidecars, tasks and ports: quadratic code would take minutes.
  const int count = testing::kSanitized ? 1'000 : 20'000;
  std::string services;
  for (int i = 0; i < count; ++i) {
    services +=
        (i ? "," : "") + std::string(R"({"Name":"s)") + std::to_string(i) +
        R"(","PortLabel":"1","Connect":{"SidecarService":{"Proxy":{"Upstreams":[{"DestinationName":"x","LocalBindPort":)" +
        std::to_string(i + 1) + "}]}}}}";
  }
  const Registration done = registered(R"("Networks":[{"Mode":"bridge"}],"Services":[)" + services + "]");
  ASSERT_TRUE(done.job) << done.error.substr(0, 400);
  EXPECT_EQ(done.job->task_groups[0].tasks.size(), static_cast<std::size_t>(count) + 1);
}

}  // namespace
}  // namespace berth::model
