// Adapters from recorded vectors to berth: HCL job files with the results of Nomad's parser (R-HCL-220 to 508).
// Lines of `job_files`, and folders of NAME.hcl with NAME.json, NAME.canonical.json, NAME.err, NAME.err.any and
// NAME.err.api.
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>

#include "conform/compare.h"
#include "conform/job_file_cases.h"
#include "hcl/job_file.h"
#include "io/files.h"
#include "io/json_parse.h"

namespace berth::conform {
namespace {

namespace fs = std::filesystem;

/// An error's lines in any order, without the number of further errors, which R-HCL-93 does not define.
std::vector<std::string> lines_of(std::string text) {
  static const re2::RE2 kMore(R"(, and \d+ other diagnostic\(s\)$)");
  while (text.ends_with('\n')) text.pop_back();
  re2::RE2::Replace(&text, kMore, "");
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  lines.push_back(text.substr(begin));
  std::erase(lines, "");
  std::sort(lines.begin(), lines.end());
  return lines;
}

Outcome compare_error(const std::vector<std::string>& expected, const std::string& got) {
  for (const std::string& text : expected) {
    if (lines_of(text) == lines_of(got)) return {};
  }
  return Outcome::from({{"/error", expected.empty() ? "no error" : expected[0], got, "R-HCL-700"}});
}

Outcome compare_job(const json::Value& expected, const json::Value& got, std::string_view rule) {
  return Outcome::from(compare(expected, got, {.absent_is_zero = false, .rule = rule}));
}

/// A line of job_files.
Outcome job_file(const Vector& v) {
  hcl::ModuleInput input;
  input.name = "job.hcl";
  input.text = v.whole["source"].as_string();
  for (const auto& variable : v.whole["vars"].items()) input.arguments.push_back(variable.as_string());
  for (const auto& file : v.whole["files"].members()) {
    input.variable_files.push_back({file.key, file.value.as_string()});
  }
  for (const auto& entry : v.whole["env"].members()) {
    input.environment.push_back(entry.key + "=" + entry.value.as_string());
  }
  input.strict = v.whole["strict"].as_bool(true);
  input.files.allowed = true;
  input.files.folder = ".";
  const auto job = hcl::read_job(std::move(input));
  if (!job) {
    if (!v.whole.has("error")) return compare_error({}, job.error());
    return compare_error({v.whole["error"].as_string()}, job.error());
  }
  if (v.whole.has("error")) return compare_error({v.whole["error"].as_string()}, "no error");
  return compare_job(v.whole["job"], *job, "R-HCL-400");
}

std::string text_of(const fs::path& path) {
  auto text = io::read_file(path.string());
  if (!text) throw Malformed{nullptr, "", "cannot be read: " + text.error().line()};
  return *std::move(text);
}

json::Value json_of(const fs::path& path) {
  auto value = io::parse_json(text_of(path), path.string());
  if (!value) throw Malformed{nullptr, "", value.error().line()};
  return *std::move(value);
}

const json::Value& unwrapped(const json::Value& document) {
  const json::Value* job = document.find("Job");
  return job != nullptr ? *job : document;
}

/// The inputs of a file, from NAME.args.
hcl::ModuleInput input_of(const fs::path& path) {
  hcl::ModuleInput input;
  input.name = path.filename().string();
  input.text = text_of(path);
  input.files.allowed = true;
  input.files.folder = path.parent_path().string();
  const fs::path args_path = fs::path(path).replace_extension(".args");
  if (!fs::exists(args_path)) return input;
  const json::Value args = json_of(args_path);
  for (const json::Value& variable : args["vars"].items()) input.arguments.push_back(variable.as_string());
  for (const json::Value& entry : args["env"].items()) input.environment.push_back(entry.as_string());
  for (const json::Value& file : args["var_files"].items()) {
    const fs::path file_path = path.parent_path() / file.as_string();
    if (fs::exists(file_path)) {
      input.variable_files.push_back({file.as_string(), text_of(file_path)});
    } else {
      input.variable_files.push_back(
          {file.as_string(), tl::unexpected("open " + file.as_string() + ": no such file or directory")});
    }
  }
  if (args.has("var_content")) input.variable_content = args["var_content"].as_string();
  input.strict = args["strict"].as_bool(true);
  input.files.allowed = args["allow_fs"].as_bool(true);
  return input;
}

/// Compares the answer of /v1/jobs/parse: "400 Failed to parse job: ...". If Nomad's error varies from run to run, e.g.
/// for cycles of locals, the errors recorded for the file itself are accepted too.
Outcome compare_answer(const fs::path& path, const std::string& recorded, std::vector<std::string> of_file) {
  hcl::ModuleInput input;
  input.name = "input.hcl";
  input.text = text_of(path);
  input.strict = false;
  const auto job = hcl::read_job(std::move(input));
  constexpr std::string_view kPrefix = "400 Failed to parse job: ";
  if (!recorded.starts_with(kPrefix)) return job ? Outcome() : compare_error({recorded}, job.error());
  std::vector<std::string> expected{recorded.substr(kPrefix.size())};
  for (std::string& text : of_file) {
    re2::RE2::GlobalReplace(&text, re2::RE2::QuoteMeta(path.filename().string()), "input.hcl");
    expected.push_back(std::move(text));
  }
  return compare_error(expected, job ? "no error" : job.error());
}

}  // namespace

bool is_job_file_case(const std::string& path) {
  const fs::path file(path);
  if (file.extension() != ".hcl") return false;
  const auto beside = [&](const char* ending) { return fs::exists(fs::path(file).replace_extension(ending)); };
  return beside(".json") || beside(".err") || beside(".err.any");
}

Outcome replay_job_file(const std::string& path) {
  const fs::path file(path);
  const auto beside = [&](const char* ending) { return fs::path(file).replace_extension(ending); };
  auto job = hcl::read_job(input_of(file));
  if (fs::exists(beside(".json"))) {
    if (!job) return compare_error({}, job.error());
    Outcome outcome = compare_job(unwrapped(json_of(beside(".json"))), *job, "R-HCL-400");
    if (outcome.kind == Outcome::Kind::equal && fs::exists(beside(".canonical.json"))) {
      hcl::canonicalize(*job);
      outcome = compare_job(unwrapped(json_of(beside(".canonical.json"))), *job, "R-HCL-732");
    }
    return outcome;
  }
  std::vector<std::string> expected;
  if (fs::exists(beside(".err"))) expected.push_back(text_of(beside(".err")));
  if (fs::exists(beside(".err.any"))) {
    const json::Value texts = json_of(beside(".err.any"));
    for (const json::Value& text : texts.items()) expected.push_back(text.as_string());
  }
  Outcome outcome = compare_error(expected, job ? "no error" : job.error());
  if (outcome.kind == Outcome::Kind::equal && fs::exists(beside(".err.api"))) {
    outcome = compare_answer(file, text_of(beside(".err.api")), expected);
  }
  return outcome;
}

std::span<const Component> job_file_components() {
  static constexpr Component kAll[] = {{"job_files", job_file}};
  return kAll;
}

}  // namespace berth::conform
