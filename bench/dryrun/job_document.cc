#include "dryrun/job_document.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "hcl/job_file.h"
#include "hcl/unicode.h"
#include "io/files.h"
#include "io/json_parse.h"

namespace berth::dryrun {
namespace {

constexpr std::size_t kWidth = 120;  // columns of a marked line

/// The line of the text without its end; empty if there is none.
std::string_view line_of(std::string_view text, std::size_t number) {
  for (std::size_t line = 1; line < number; ++line) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

/// True if errors are to be those of JSON. Any other file that is no job, such as an empty one, gets those of HCL.
bool is_json(const std::filesystem::path& path, std::string_view text) {
  if (hcl::is_job_file(text)) return false;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return path.extension() == ".json" || (first != std::string_view::npos && text[first] == '{');
}

/// The other language that the line of a syntax error is written in, as of a template; empty if it looks like HCL.
std::string_view template_language(std::string_view line, std::size_t column) {
  // `[[ .name ]]`, `[[ template "x" . ]]`: a template, not HCL's list of lists.
  static const re2::RE2 kDoubleBrackets(R"(\[\[-?\s*([.$/]|(else|end)\b|[a-z]\w*\s+[."$(\w]))");
  static const re2::RE2 kBraces(R"(\{%|\{\{)");
  if (re2::RE2::PartialMatch(line, kDoubleBrackets)) return "[[ ]] is a template of Levant or Nomad Pack";
  if (re2::RE2::PartialMatch(line, kBraces)) return "{{ }} or {% %} outside strings is a template, such as Ansible's";
  std::size_t at = 0;
  for (std::size_t before = 1; before < column && at < line.size(); ++before) at = hcl::grapheme_end(line, at);
  const std::string_view rest = line.substr(at);
  if (rest.starts_with("${") || rest.starts_with("%{"))
    return "${ } or %{ } outside strings is a template of Terraform";
  return {};
}

/// A variable file's text, or Nomad's error.
tl::expected<std::string, std::string> variable_text(const std::string& path) {
  std::error_code error;
  if (path != "-" && !std::filesystem::exists(path, error)) {
    return tl::unexpected("open " + path + ": no such file or directory");
  }
  auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error().problem);
  return *std::move(text);
}

}  // namespace

std::string job_file_hint(std::string_view errors, std::string_view text) {
  if (errors.find("filesystem function disabled") != std::string_view::npos)
    return "note: --allow-file-functions lets the job file read files in and below its folder";
  if (errors.find("Unset variable \"") != std::string_view::npos)
    return "note: --var NAME=VALUE and --var-file FILE give values to variables";
  static const re2::RE2 kSyntaxError(
      R"(^[^\n]*?:(\d{1,9}),(\d{1,9})-[\d,]+: (?:Argument or block|Invalid (?:expression|character|block)|Missing |Unsupported operator))");
  std::size_t row = 0, column = 0;
  if (!re2::RE2::PartialMatch(errors, kSyntaxError, &row, &column)) return {};
  const std::string_view language = template_language(line_of(text, row), column);
  return language.empty() ? "" : fmt::format("note: {}: render the file first, and plan what comes out", language);
}

std::string with_marks(std::string_view errors, std::string_view name, std::string_view text) {
  static const re2::RE2 kPlace(R"(:(\d{1,9}),(\d{1,9})-(?:(\d{1,9}),)?(\d{1,9}): )");
  std::string out;
  for (const std::string_view line : base::split(errors, '\n')) {
    out.append(line).append("\n");
    if (!line.starts_with(name)) continue;
    re2::StringPiece rest(line.data() + name.size(), line.size() - name.size());
    std::size_t row = 0, begin = 0, end = 0;
    std::string last_row;
    if (!re2::RE2::Consume(&rest, kPlace, &row, &begin, &last_row, &end)) continue;
    const std::string_view source = line_of(text, row);
    std::size_t at = 0;
    std::string shown, mark;
    for (std::size_t column = 1; at < source.size() && column < kWidth; ++column) {
      const std::size_t next = hcl::grapheme_end(source, at);
      const bool marked = column >= begin && (column < std::max(end, begin + 1) || !last_row.empty());
      shown += source[at] == '\t' ? " " : std::string(source.substr(at, next - at));
      mark += marked ? '^' : ' ';
      at = next;
    }
    if (begin > mark.size() && begin < kWidth) mark.append(begin - mark.size() - 1, ' ').append("^");
    mark.resize(mark.find_last_not_of(' ') + 1);
    if (mark.empty()) continue;
    out += fmt::format("  {}\n  {}\n", shown, mark);
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

tl::expected<JobDocument, JobDocumentError> job_document(const std::string& text, const std::string& path,
                                                         const JobFileOptions& options, bool marks) {
  if (is_json(path, text)) {
    if (!options.variables.empty() || !options.variable_files.empty()) {
      return tl::unexpected(path + ": variables are for HCL files, and this is JSON; leave them out");
    }
    auto document = io::parse_json(text, path);
    if (!document) return tl::unexpected(document.error().line());
    return JobDocument{*std::move(document), false};
  }
  hcl::ModuleInput input;
  const std::filesystem::path file(path);
  input.name = path == "-" ? "stdin" : path;  // the whole path; Nomad shows only its last part
  input.text = text;
  input.files.allowed = options.file_functions;
  input.files.folder = path == "-" || !file.has_parent_path() ? "." : file.parent_path().string();
  input.arguments = options.variables;
  input.environment = options.environment;
  input.strict = options.strict;
  for (const std::string& variables : options.variable_files) {
    input.variable_files.push_back({variables, variable_text(variables)});
  }
  const std::string name = input.name;
  auto job = hcl::read_job(std::move(input));
  if (!job) {
    std::string errors = job.error();
    constexpr std::string_view kNowhere = "<nil>: ";  // Nomad's text for an unknown place
    for (std::size_t at = errors.find(kNowhere); at != std::string::npos; at = errors.find(kNowhere, at + 1))
      if (at == 0 || errors[at - 1] == '\n') errors.replace(at, kNowhere.size(), name + ": ");
    return tl::unexpected(marks ? with_marks(errors, name, text) : errors);
  }
  json::Value document = json::Value::object();
  document.set("Job", *std::move(job));
  return JobDocument{std::move(document), true};
}

}  // namespace berth::dryrun
