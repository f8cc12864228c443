#include "conform/hcl_expressions.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "hcl/evaluate.h"
#include "hcl/functions.h"
#include "hcl/parser.h"
#include "io/files.h"

namespace berth::conform {
namespace {

using HclKind = hcl::Kind;
using HclValue = hcl::Value;

std::string type_json(const hcl::Type& type) {
  switch (type.kind()) {
    case HclKind::dynamic:
      return "\"dynamic\"";
    case HclKind::boolean:
      return "\"bool\"";
    case HclKind::number:
      return "\"number\"";
    case HclKind::string:
      return "\"string\"";
    case HclKind::list:
      return "[\"list\"," + type_json(type.element()) + "]";
    case HclKind::set:
      return "[\"set\"," + type_json(type.element()) + "]";
    case HclKind::map:
      return "[\"map\"," + type_json(type.element()) + "]";
    case HclKind::tuple: {
      std::string items;
      for (const hcl::Type& item : type.items()) items += (items.empty() ? "" : ",") + type_json(item);
      return "[\"tuple\",[" + items + "]]";
    }
    case HclKind::object: {
      std::string members;
      for (const auto& attribute : type.attributes()) {
        if (!members.empty()) members += ',';
        members += hcl::json_text(HclValue::of(std::string_view(attribute.name))).value();
        members += ':' + type_json(attribute.type);
      }
      return "[\"object\",{" + members + "}]";
    }
  }
  return {};
}

struct Answer {
  std::string stage;  // "value", "parse_errors" or "eval_errors"
  std::set<std::string> errors;
  HclValue value;
};

std::set<std::string> lines_of(const hcl::Diagnostics& diagnostics) {
  std::set<std::string> lines;
  for (const hcl::Diagnostic& item : diagnostics.items()) lines.insert(item.text());
  return lines;
}

Answer answer(const std::string& expression) {
  hcl::Workspace workspace;
  workspace.sources.emplace_back("x", expression);
  hcl::Diagnostics out;
  const hcl::Expr* expr = hcl::parse_expression(workspace.sources.back(), workspace.tree, out);
  if (expr == nullptr) return {"parse_errors", lines_of(out), {}};
  const hcl::Root variables, locals;
  hcl::Context context;
  context.others = hcl::Context::Others::unknown;
  context.variables = &variables;
  context.locals = &locals;
  context.files = {.allowed = true, .folder = "."};
  context.workspace = &workspace;
  HclValue value = hcl::evaluate(*expr, context, nullptr, out);
  if (!out.empty()) return {"eval_errors", lines_of(out), {}};
  return {"value", {}, std::move(value)};
}

std::string joined(const std::set<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

// Go's text of values that JSON cannot express; other texts of Go are compared only by type.
std::string go_text(const HclValue& value, const std::string& wanted) {
  if (!value.is_known()) return "cty.DynamicVal";
  if (value.kind() == HclKind::number && value.is_value() && value.number().is_infinite()) {
    return fmt::format("cty.NumberFloatVal({})", value.number().text());
  }
  return wanted.starts_with("cty.ObjectVal") && value.kind() == HclKind::object ? wanted : "another value";
}

std::vector<Difference> differences(const HclValue& vector, const Answer& got) {
  std::vector<Difference> out;
  const auto expect = [&](const char* place, const std::string& expected, const std::string& actual) {
    if (expected != actual) out.push_back({place, expected, actual, "R-HCL-5"});
  };
  const auto text = [](const HclValue& value) { return hcl::json_text(value).value_or("(no JSON)"); };
  for (const char* stage : {"parse_errors", "eval_errors"}) {
    std::set<std::string> expected;
    if (const HclValue* lines = vector.member(stage)) {
      for (const HclValue& line : lines->items()) expected.insert(line.string());
    }
    expect(stage, joined(expected), got.stage == stage ? joined(got.errors) : "");
  }
  if (const HclValue* type = vector.member("type"); type != nullptr && got.stage == "value") {
    expect("/type", text(*type), type_json(got.value.type()));
    if (const HclValue* value = vector.member("value")) expect("/value", text(*value), text(got.value));
    if (const HclValue* go = vector.member("go")) expect("/go", go->string(), go_text(got.value, go->string()));
  }
  return out;
}

// The error of a line, or "".
std::string problem_of(const HclValue& vector) {
  if (vector.kind() != HclKind::object) return "is no object";
  const auto is_text = [&](const char* member) {
    const HclValue* value = vector.member(member);
    return value == nullptr || (value->kind() == HclKind::string && value->is_value());
  };
  if (vector.member("expr") == nullptr || !is_text("expr")) return "has no text \"expr\"";
  if (!is_text("go")) return "has a \"go\" that is no text";
  bool answered = vector.member("type") != nullptr;
  for (const char* stage : {"parse_errors", "eval_errors"}) {
    const HclValue* lines = vector.member(stage);
    if (lines == nullptr) continue;
    answered = true;
    const auto is_line = [](const HclValue& line) { return line.kind() == HclKind::string && line.is_value(); };
    if (!lines->is_value() || !lines->has_items() ||
        !std::all_of(lines->items().begin(), lines->items().end(), is_line)) {
      return fmt::format("has \"{}\" that are no list of texts", stage);
    }
  }
  return answered ? "" : "has neither a type nor errors";
}

}  // namespace

bool has_hcl_expressions(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name == "expr.jsonl" || name == "expr.jsonl.gz";
}

Result<FileReport> replay_hcl_expressions(const std::string& path, const RunOptions& options,
                                          std::vector<KeptDifference>& kept) {
  FileReport file{path, 0, 0, {}};
  std::optional<InputError> error;
  const hcl::Function& decode = *hcl::find_function("jsondecode");
  auto done = io::read_lines(path, [&](std::string_view line, std::size_t number) {
    if ((number - 1) % options.every != 0) return true;
    const HclValue text = HclValue::of(line);
    const auto vector = hcl::call(decode, {&text, 1}, {});
    if (const std::string problem = vector ? problem_of(*vector) : vector.error().text; !problem.empty()) {
      error = InputError{path, std::to_string(number), problem, "take the vector as it was recorded"};
      return false;
    }
    const std::string& name = vector->member("expr")->string();
    if (!options.name.empty() && name.find(options.name) == std::string::npos) return true;
    auto found = differences(*vector, answer(name));
    ++(found.empty() ? file.equal : file.differ);
    if (!found.empty() && kept.size() < options.diff_count) kept.push_back({path, name, std::move(found)});
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  if (error) return tl::unexpected(*error);
  return file;
}

}  // namespace berth::conform
