// HCL job files as jobs of the API (R-HCL-220 to 508), and the cost of hostile ones. The recorded files are in
// tests/golden/hcl.
#include "hcl/job_file.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth::hcl {
namespace {

tl::expected<json::Value, std::string> read(const std::string& text, const std::vector<std::string>& variables = {}) {
  ModuleInput input;
  input.name = "j.hcl";
  input.text = text;
  input.arguments = variables;
  return read_job(std::move(input));
}

std::string error_of(const std::string& text) {
  const auto job = read(text);
  return job ? "no error" : job.error();
}

/// The body of a task's only block, in a job.
std::string in_task(const std::string& body) {
  return "job \"j\" {\n group \"g\" {\n  task \"t\" {\n" + body + "\n  }\n }\n}\n";
}

TEST(HclJobFile, GivesTheJobOfTheApi) {
  const auto job = read(R"(
variable "image" {
  type = string
}
job "web" {
  datacenters = ["dc1", "dc2"]
  group "app" {
    count = 3
    network {
      port "http" { to = 80 }
      port "admin" { static = 8080 }
    }
    task "server" {
      driver = "docker"
      config {
        image  = "${var.image}:1"
        ports  = ["http"]
        labels = { a = 1 }
      }
      resources {
        cpu    = 200
        memory = "256"
      }
    }
  }
}
)",
                        {"image=nginx"});
  ASSERT_TRUE(job) << job.error();
  EXPECT_EQ((*job)["ID"].as_string(), "web");
  EXPECT_TRUE((*job)["Priority"].is_null());
  const json::Value& group = (*job)["TaskGroups"][0];
  EXPECT_EQ(group["Count"].as_int(), 3);
  EXPECT_EQ(group["Networks"][0]["ReservedPorts"][0]["Label"].as_string(), "admin");
  EXPECT_EQ(group["Networks"][0]["DynamicPorts"][0]["To"].as_int(), 80);
  EXPECT_EQ(json::to_text(group["Tasks"][0]["Config"]), R"({"image":"nginx:1","ports":["http"],"labels":[{"a":1}]})");
  EXPECT_EQ(group["Tasks"][0]["Resources"]["MemoryMB"].as_int(), 256);
}

TEST(HclJobFile, NamesThePlaceOfEachError) {  // R-HCL-702, 827
  EXPECT_EQ(error_of("job \"x\" {\n  group \"g\" {\n    foo = 1\n    count = \"a\"\n  }\n}\n"),
            "j.hcl:3,5-8: Unsupported argument; An argument named \"foo\" is not expected here.\n"
            "j.hcl:4,14-15: Unsuitable value type; Unsuitable value: a number is required");
  EXPECT_EQ(error_of(in_task("driver = null")).substr(0, 52), "j.hcl:4,10-14: Unsuitable value type; Unsuitable val");
}

TEST(HclJobFile, ReportsFreeFormBlocksLast) {  // R-HCL-366
  EXPECT_EQ(error_of(in_task("config {\n a = nofn()\n}")),
            "j.hcl:5,6-10: Call to unknown function; There is no function named \"nofn\". Did you mean \"join\"?, and "
            "1 other diagnostic(s)");
  EXPECT_EQ(error_of(in_task("leader = 5\nconfig {\n a = nofn()\n}")),
            "j.hcl:4,10-11: Unsuitable value type; Unsuitable value: bool required, but have number");
}

TEST(HclJobFile, IntegersOutOfRangeAreRefused) {  // R-HCL-242
  const auto in_spread = [](const std::string& weight) {
    return error_of("job \"j\" {\n spread {\n  weight = " + weight + "\n }\n}\n");
  };
  EXPECT_EQ(in_spread("127"), "no error");
  EXPECT_EQ(
      in_spread("128"),
      "j.hcl:3,12-15: Unsuitable value type; Unsuitable value: value must be a whole number, between -128 and 127");
  EXPECT_EQ(error_of("job \"j\" {\n spread {\n  target \"a\" { percent = -1 }\n }\n}\n"),
            "j.hcl:3,26-27: Unsuitable value type; Unsuitable value: value must be a whole number, between 0 and 255 "
            "inclusive");
}

TEST(HclJobFile, DurationsAreParsedLikeGos) {  // R-HCL-245, 246
  const auto in_update = [](const std::string& value) {
    return error_of("job \"j\" {\n update {\n  stagger = " + value + "\n }\n}\n");
  };
  EXPECT_EQ(in_update("\"1h30m5.5s\""), "no error");
  EXPECT_EQ(in_update("[1]"),
            "j.hcl:3,13-14: Unsuitable value type; Unsuitable value: expected a string but found {{{} [{{{} "
            "%!s(cty.primitiveTypeKind=78)}}]}}");
  EXPECT_EQ(in_update("1.5"),
            "j.hcl:3,13-16: Unsuitable value type; Unsuitable value: value must be a whole number, between "
            "-9223372036854775808 and 9223372036854775807");
}

TEST(HclJobFile, InfinityIsRefusedInConfigurations) {  // R-HCL-104
  for (const char* number : {"1/0", "1e309", "[1e9999]"}) {
    const std::string error = error_of(in_task(std::string("config {\n a = ") + number + "\n}"));
    EXPECT_NE(error.find("json: unsupported value: +Inf"), std::string::npos) << number << ": " << error;
  }
  EXPECT_NE(error_of(in_task("config {\n a = -1e9999\n}")).find("json: unsupported value: -Inf"), std::string::npos);
}

TEST(HclJobFile, CanonicalFormHasTheDefaultsOfTheApi) {  // R-HCL-732
  auto job = read(in_task("driver = \"raw_exec\""));
  ASSERT_TRUE(job) << job.error();
  canonicalize(*job);
  EXPECT_EQ((*job)["Priority"].as_int(), 50);
  EXPECT_EQ((*job)["TaskGroups"][0]["Count"].as_int(), 1);
  EXPECT_EQ((*job)["TaskGroups"][0]["Tasks"][0]["Resources"]["MemoryMB"].as_int(), 300);
  EXPECT_TRUE((*job)["TaskGroups"][0]["Tasks"][0]["Resources"].has("SecretsMB"));
}

TEST(HclJobFile, IsDistinguishedFromJsonOfTheApi) {
  EXPECT_TRUE(is_job_file("job \"a\" {}"));
  EXPECT_TRUE(is_job_file("{\"job\": {\"a\": {}}}"));
  EXPECT_TRUE(is_job_file("\xEF\xBB\xBFjob \"a\" {}"));
  EXPECT_FALSE(is_job_file("{\"Job\": {}}"));
  EXPECT_FALSE(is_job_file("  {\"ID\": \"a\"}"));
  for (const char* text : {"", " \n", "{}", "[1, 2]"}) EXPECT_FALSE(is_job_file(text)) << text;
}

/// Hostile files end with an error, or in a job, within bounded time and memory.
TEST(HclJobFile, HostileFilesEndInBoundedTime) {
  const auto repeated = [](const std::string& text, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  std::string doubling = "locals {\n a0 = [1, 2]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "local.a" + std::to_string(i - 1);
    doubling += " a" + std::to_string(i) + " = [" + before + ", " + before + "]\n";
  }
  std::string texts = "locals {\n a0 = \"0123456789\"\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "${local.a" + std::to_string(i - 1) + "}";
    texts += " a" + std::to_string(i) + " = \"" + before + before + "\"\n";
  }
  const std::string end = "}\njob \"j\" {\n meta {\n  v = jsonencode(local.a59)\n }\n}\n";
  std::string unknown = "job \"j\" {\n";
  for (int i = 0; i < 100'000; ++i) unknown += " a" + std::to_string(i) + " = 1\n";
  unknown += "}\n";
  const std::string files[] = {
      doubling + end,
      texts + end,
      "job \"j\" {\n meta {\n  v = " + repeated("[", 100'000) + "\n }\n}\n",
      "job \"j\" {\n meta {\n  v = " + repeated("(", 100'000) + "1\n }\n}\n",
      "job \"j\" {\n" + repeated("group \"g\" {\n", 100'000),
      "job \"j\" {\n meta {\n  v = \"" + repeated("${\"", 50'000) + "\n }\n}\n",
      "job \"j\" {\n meta {\n  v = length([for a in range(1024) : [for b in range(1024) : [for c in range(1024) : "
      "c]]])\n"
      " }\n}\n",
      "job \"j\" {\n" +
          repeated(" dynamic \"group\" {\n  for_each = range(1024)\n  labels = [\"g\"]\n  content {\n", 300),
      repeated("x", 100'000),
      std::string(100'000, '\0'),
      "{\"job\":" + repeated("[", 100'000),
      "job \"j\" {\n" + repeated(" meta {\n a = 1\n }\n", 10'000) + "}\n",
      unknown,
  };
  for (const std::string& file : files) {
    const auto job = read(file);
    EXPECT_FALSE(job) << file.substr(0, 80);
    EXPECT_TRUE(job || job.error().size() < 10'000'000U) << file.substr(0, 80);
  }
}

/// Any prefix of a file and any changed byte gives an error or a job.
TEST(HclJobFile, DamagedFilesEndInBoundedTime) {
  const std::string file = in_task(
      "config {\n a = \"${upper(attr.x)} $${y}\"\n b = [for k, v in {c = 1} : v...]\n c = <<-EOT\n  x %{ if true }y%{ "
      "endif "
      "}\n  EOT\n}\nenv = { A = 1 }\nresources { cpu = 1 }");
  for (std::size_t i = 0; i < file.size(); ++i) {
    (void)read(file.substr(0, i));
    for (const char c : {'\0', '"', '{', '}', '$', '\n', '\xFF', '<'}) {
      std::string changed = file;
      changed[i] = c;
      (void)read(changed);
    }
  }
}

}  // namespace
}  // namespace berth::hcl
