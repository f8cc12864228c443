// Variables, locals, dynamic blocks and JSON (R-HCL-220 to 335, 770 to 774), and the parts of recorded job files that
// the language alone decides.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "io/files.h"
#include "io/json_parse.h"
#include "support/shared_data.h"
#include "tests/hcl/evaluated.h"

namespace berth::hcl {
namespace {

std::set<std::string> lines(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.insert(line);
  return out;
}

// A recorded file that the language refuses is refused in the recorded words; one that Nomad takes is not refused.
TEST(HclModule, RefusesRecordedFilesInTheRecordedWords) {
  std::size_t refused = 0;
  const auto path = testing::golden_dir() / "hcl" / "job_files.jsonl.gz";
  auto done = io::read_lines(path.string(), [&](std::string_view line, std::size_t) {
    const auto vector = io::parse_json(line);
    EXPECT_TRUE(vector);
    ModuleInput input;
    input.name = "job.hcl";
    input.text = (*vector)["source"].as_string();
    input.files = {.allowed = true, .folder = "."};
    input.strict = (*vector)["strict"].as_bool(true);
    for (const json::Value& argument : (*vector)["vars"].items()) input.arguments.push_back(argument.as_string());
    for (const json::Member& file : (*vector)["files"].members()) {
      input.variable_files.push_back({file.key, file.value.as_string()});
    }
    for (const json::Member& entry : (*vector)["env"].members()) {
      input.environment.push_back(entry.key + "=" + entry.value.as_string());
    }
    auto module = read_module(std::move(input));
    if (module) return true;
    ++refused;
    EXPECT_EQ(lines(module.error()), lines((*vector)["error"].as_string())) << (*vector)["name"].as_string();
    return true;
  });
  EXPECT_TRUE(done);
  EXPECT_GT(refused, 30U);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The same for whole job files.
TEST(HclModule, RefusesRecordedJobFilesInTheRecordedWords) {
  const std::filesystem::path folder = testing::golden_dir() / "hcl" / "files";
  std::size_t refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".hcl") continue;
    const auto beside = [&](const char* ending) {
      return std::filesystem::path(entry.path()).replace_extension(ending);
    };
    ModuleInput input;
    input.name = entry.path().filename().string();
    input.text = text_of(entry.path());
    input.files = {.allowed = true, .folder = folder.string()};
    if (const auto arguments = io::parse_json(text_of(beside(".args")))) {
      for (const json::Value& argument : (*arguments)["vars"].items()) input.arguments.push_back(argument.as_string());
      for (const json::Value& line : (*arguments)["env"].items()) input.environment.push_back(line.as_string());
      for (const json::Value& file : (*arguments)["var_files"].items()) {
        const auto path = folder / file.as_string();
        VariableFile given{file.as_string(), text_of(path)};
        if (!std::filesystem::exists(path)) {
          given.text = tl::unexpected("open " + given.path + ": no such file or directory");
        }
        input.variable_files.push_back(std::move(given));
      }
      if (arguments->has("var_content")) input.variable_content = (*arguments)["var_content"].as_string();
      input.strict = (*arguments)["strict"].as_bool(true);
      input.files.allowed = (*arguments)["allow_fs"].as_bool(true);
    }
    auto module = read_module(std::move(input));
    if (module) continue;
    ++refused;
    EXPECT_EQ(lines(module.error()), lines(text_of(beside(".err")))) << entry.path();
  }
  EXPECT_GT(refused, 10U);
}

ModuleInput input(const std::string& text) {
  ModuleInput input;
  input.name = "f.hcl";
  input.text = text;
  return input;
}

// JSON of an attribute of the job, or the error text.
std::string job_attribute(ModuleInput given, const std::string& name) {
  auto module = read_module(std::move(given));
  if (!module) return module.error();
  Diagnostics out;
  const Content content = module->job->body.content({{{name}}, {}}, out);
  if (const Attribute* attribute = content.attribute(name)) {
    const Value value = attribute->expression.value(out);
    if (out.empty()) return json_text(value).value_or("unknown");
  }
  return out.all_text();
}

TEST(HclVariables, TakeTheLastSource) {
  ModuleInput given = input("variable \"x\" { default = \"a\" }\njob \"j\" { region = var.x }\n");
  EXPECT_EQ(job_attribute(given, "region"), "\"a\"");
  given.environment = {"NOMAD_VAR_x=e", "NOMAD_VAR_other=1", "x=2"};
  EXPECT_EQ(job_attribute(given, "region"), "\"e\"");
  given.variable_files = {{"v1", "x = \"f\"\n"}, {"v2", "x = \"g\"\n"}};
  EXPECT_EQ(job_attribute(given, "region"), "\"g\"");
  given.variable_content = "{\"x\": \"c${1 + 1}\"}";
  EXPECT_EQ(job_attribute(given, "region"), "\"c2\"");
  given.arguments = {"x=1", "ignored", "x=c=d"};
  EXPECT_EQ(job_attribute(given, "region"), "\"c=d\"");
}

TEST(HclVariables, ConvertToTheirType) {
  ModuleInput given = input(
      "variable \"l\" { type = list(object({ a = number, b = set(string) })) }\n"
      "job \"j\" { region = var.l }\n");
  given.arguments = {"l=[{a = \"1\", b = [2, 2], c = 3}]"};
  EXPECT_EQ(job_attribute(given, "region"), R"([{"a":1,"b":["2"]}])");
  given.arguments = {"l=[{a = \"x\", b = []}]"};
  EXPECT_EQ(
      job_attribute(given, "region"),
      "<value for var.l from arguments>:1,1-20: Invalid argument value for -var variable; The received arg value for "
      "l is not compatible with the variable's type constraint: a number is required.");
}

TEST(HclVariables, UndeclaredOnesAreErrorsOnlyWhereStrict) {
  ModuleInput given = input("job \"j\" { region = \"r\" }\n");
  given.variable_files = {{"v", "q = 1\n"}};
  EXPECT_EQ(
      job_attribute(given, "region"),
      "<nil>: Undefined variable; A \"q\" variable was set but was not found in known variables. To declare variable "
      "\"q\", place this block in your job files");
  given.strict = false;
  EXPECT_EQ(job_attribute(given, "region"), "\"r\"");
}

TEST(HclVariables, UnreadableFilesHideTheJobsErrors) {
  ModuleInput given = input("job = = 1\n");
  given.variable_files = {{"nofile", tl::unexpected(std::string("open nofile: no such file or directory"))}};
  EXPECT_EQ(
      job_attribute(given, "region"),
      "unable to parse var file: <nil>: Failed to read file; failed to read \"nofile\": open nofile: no such file or "
      "directory");
}

TEST(HclLocals, AreEvaluatedLazily) {
  EXPECT_EQ(job_attribute(input("locals {\n a = \"${local.b}!\"\n b = local.c\n}\nlocals { c = upper(attr.x) }\n"
                                "job \"j\" { region = local.a }\n"),
                          "region"),
            "\"${ATTR.X}!\"");
  EXPECT_EQ(job_attribute(input("locals {\n a = local.b\n b = local.a\n}\njob \"j\" {}\n"), "region"),
            "f.hcl:2,11-13: Unsupported attribute; This object does not have an attribute named \"b\".");
  // An element that a reference lacks is reported without a reason.
  EXPECT_EQ(job_attribute(input("locals { l = [\"a\"] }\njob \"j\" { region = local.l[3] }\n"), "region"),
            "f.hcl:2,27-30: Invalid index; The given key does not identify an element in this collection value.");
}

// Many locals, each depending on the next one. Evaluation ends after 100 failures in a row, so the work is bounded.
TEST(HclLocals, StopAfterAHundredFailures) {
  std::string text = "locals {\n";
  for (int i = 0; i < 5000; ++i) text += " a" + std::to_string(i) + " = local.a" + std::to_string(i + 1) + "\n";
  text += " a5000 = 1\n}\njob \"j\" {}\n";
  EXPECT_EQ(module_error(text),
            "f.hcl:2,12-15: Unsupported attribute; This object does not have an attribute named \"a1\".");
}

// Labels and attributes `a` of the blocks `b` of the job.
std::string blocks(const std::string& text) {
  auto module = read_module(input(text));
  if (!module) return module.error();
  Diagnostics out;
  const Content content = module->job->body.content({{}, {{"b", {"name"}}}}, out);
  std::string result;
  for (const Block& block : content.blocks) {
    const Content inner = block.body.content({{{"a"}}, {{"c", {}}}}, out);
    result += block.labels.front();
    if (const Attribute* a = inner.attribute("a"))
      result += "=" + json_text(a->expression.value(out)).value_or("unknown");
    result += inner.blocks.empty() ? ";" : "+" + std::to_string(inner.blocks.size()) + ";";
  }
  return out.empty() ? result : out.all_text();
}

TEST(HclDynamic, MakesBlocksInPlace) {
  EXPECT_EQ(
      blocks(
          "job \"j\" {\n b \"x\" {}\n dynamic \"b\" {\n  for_each = {k = 1, i = 2}\n  labels = [\"n-${b.key}\"]\n"
          "  content {\n   a = b.value\n   dynamic \"c\" {\n    for_each = range(b.value)\n    content {}\n   }\n  }\n"
          " }\n b \"y\" {}\n}\n"),
      "x;n-i=2+2;n-k=1+1;y;");
  EXPECT_EQ(blocks("job \"j\" {\n dynamic \"b\" {\n  for_each = [1]\n  iterator = it\n  labels = [it.value]\n"
                   "  content { a = b.value }\n }\n}\n"),
            "1=\"${b.value}\";");
  EXPECT_EQ(
      blocks("job \"j\" {\n dynamic \"b\" {\n  for_each = 5\n  labels = [1]\n  content {}\n }\n}\n"),
      "f.hcl:3,14-15: Invalid dynamic for_each value; Cannot use a number value in for_each. An iterable collection "
      "is required.");
  EXPECT_EQ(
      blocks("job \"j\" {\n dynamic \"b\" {\n  for_each = []\n  labels = [1]\n }\n}\n"),
      "f.hcl:2,14-14: Missing dynamic content block; A dynamic block must have a nested block of type \"content\" to "
      "describe the body of each generated block.");
}

TEST(HclDynamic, IsBounded) {
  const std::string level = "dynamic \"b\" {\n for_each = range(1024)\n labels = [\"x\"]\n content {\n";
  std::string text = "job \"j\" {\n" + level;
  text += "}\n}\n}\n";
  EXPECT_EQ(blocks(text).size(), 2048U);
}

TEST(HclJson, IsReadAsBodies) {
  EXPECT_EQ(blocks(R"({"job": {"j": {"b": [{"x": {"a": "v${1+1}"}}, {"y": [{"a": [1]}, {}]}], "//": "c",
                    "dynamic": {"b": {"for_each": [7], "iterator": "it", "labels": ["${it.value}"],
                                      "content": {"a": "${it.value}"}}}}}})"),
            "x=\"v2\";y=[1];y;7=7;");
  EXPECT_EQ(job_attribute(input(R"json({"variable": {"x": {"type": "list(string)", "default": [1]}},
                                       "job": {"j": {"region": "${var.x}"}}})json"),
                          "region"),
            "[\"1\"]");
  EXPECT_EQ(
      module_error("{\"job\": {\"j\": {\"a\": 1,}}}"),
      "f.hcl:1,22-23: Trailing comma in object; JSON does not permit a trailing comma after the final property in an "
      "object.");
  EXPECT_EQ(module_error("{\"Job\": {}}"),
            "f.hcl:1,2-7: Extraneous JSON object property; No argument or block type is named \"Job\". Did you mean "
            "\"job\"?");
  EXPECT_EQ(
      module_error("{\"job\": 5}"),
      "f.hcl:1,9-10: Incorrect JSON value type; Either a JSON object or JSON array of objects is required here, to "
      "specify name labels for this block.");
  for (const char* text :
       {"{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"\\u12\"}", "{\"a\":tru}", "{\"a\":1 2}", "{} x", "{\"a\":-}"}) {
    EXPECT_NE(module_error(text), "") << text;
  }
}

TEST(HclBody, PassesWhatAFirstSchemaLeavesToTheNext) {
  auto module = read_module(input("job \"j\" {\n meta = 1\n vault {}\n vualt {}\n type = 2\n}\n"));
  ASSERT_TRUE(module);
  Diagnostics out;
  Body rest = module->job->body;
  const Content first = module->job->body.partial({{{"meta"}}, {{"vault", {}}}}, out, rest);
  EXPECT_EQ(first.attributes.size(), 1U);
  EXPECT_EQ(first.blocks.size(), 1U);
  EXPECT_TRUE(out.empty());
  const Content second = rest.content({{{"type"}}, {{"group", {"name"}}}}, out);
  EXPECT_EQ(second.attributes.size(), 1U);
  EXPECT_EQ(
      out.all_text(),
      "f.hcl:4,2-7: Unsupported block type; Blocks of type \"vualt\" are not expected here. Did you mean \"vault\"?");
}

}  // namespace
}  // namespace berth::hcl
