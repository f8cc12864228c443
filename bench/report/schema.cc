#include "report/schema.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "io/json_parse.h"
#include "run/measures.h"
#include "schema_sources.h"

namespace berth::report {
namespace {

struct Problem {
  std::string place, what;
};
using Found = std::optional<Problem>;

const char* type_words(std::string_view type) {
  for (const auto& [name, words] :
       {std::pair("object", "an object"), std::pair("array", "a list"), std::pair("string", "a text"),
        std::pair("number", "a number"), std::pair("integer", "a whole number"), std::pair("boolean", "true or false"),
        std::pair("null", "null")})
    if (type == name) return words;
  return "of a type that JSON does not have";
}

bool is_of_type(const json::Value& value, std::string_view type) {
  if (type == "integer")
    return value.is_int() || (value.is_double() && value.as_double() == std::floor(value.as_double()));
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "number"  ? value.is_number()
         : type == "boolean" ? value.is_bool()
                             : type == "null" && value.is_null();
}

/// Checks a document against the schema of its format. Supports the parts of JSON Schema used in bench/schema, except
/// `required` and the refusal of unknown members.
class Checker {
 public:
  explicit Checker(const json::Value& schema) : root_(schema) {}

  [[nodiscard]] Found check(const json::Value& value) const { return check(root_, value, ""); }

 private:
  [[nodiscard]] Found check(const json::Value& schema, const json::Value& value, const std::string& at) const {
    if (const std::string& name = schema["$ref"].as_string(); !name.empty())
      if (auto found = check(root_["$defs"][name.substr(name.rfind('/') + 1)], value, at)) return found;
    if (auto found = type(schema["type"], value, at)) return found;
    for (const char* which : {"anyOf", "oneOf"})
      if (auto found = any_of(schema[which], value, at)) return found;
    if (auto found = scalar(schema, value, at)) return found;
    for (const json::Member& member : value.members()) {
      const json::Value* of = schema["properties"].find(member.key);
      if (!of) of = schema.find("additionalProperties");
      if (of && of->is_object())
        if (auto found = check(*of, member.value, at + "/" + member.key)) return found;
    }
    const json::Value &items = schema["items"], &first = schema["prefixItems"];
    for (std::size_t i = 0; i < value.items().size(); ++i)
      if (const json::Value& of = i < first.size() ? first[i] : items; of.is_object())
        if (auto found = check(of, value[i], at + "/" + std::to_string(i))) return found;
    return std::nullopt;
  }

  static Found type(const json::Value& types, const json::Value& value, const std::string& at) {
    if (types.is_null()) return std::nullopt;
    const auto is = [&](const json::Value& one) { return is_of_type(value, one.as_string()); };
    if (types.is_string() ? is(types) : std::any_of(types.items().begin(), types.items().end(), is))
      return std::nullopt;
    const json::Value& wanted = types.is_string() ? types : types[0];
    return Problem{at, fmt::format("is {}, not {}", value.kind(), type_words(wanted.as_string()))};
  }

  /// If no alternative matches: the problem of the one that got furthest.
  Found any_of(const json::Value& alternatives, const json::Value& value, const std::string& at) const {
    Found furthest;
    for (const json::Value& one : alternatives.items()) {
      auto found = check(one, value, at);
      if (!found) return std::nullopt;
      if (!furthest || found->place.size() > furthest->place.size()) furthest = std::move(found);
    }
    return furthest;
  }

  static Found scalar(const json::Value& schema, const json::Value& value, const std::string& at) {
    const auto problem = [&](std::string what) { return Problem{at, std::move(what)}; };
    if (const json::Value* const only = schema.find("const"); only && !(*only == value))
      return problem(fmt::format("is not {}", json::to_text(*only)));
    if (const json::Array& allowed = schema["enum"].items();
        !allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      return problem(
          fmt::format("is {}, which is none of {}", base::shown(json::to_text(value)), json::to_text(schema["enum"])));
    if (value.is_number()) {
      const double number = value.as_double();
      if (const json::Value& least = schema["minimum"]; least.is_number() && number < least.as_double())
        return problem(fmt::format("is {:g}, below {:g}", number, least.as_double()));
      if (const json::Value& most = schema["maximum"]; most.is_number() && number > most.as_double())
        return problem(fmt::format("is {:g}, above {:g}", number, most.as_double()));
    }
    if (value.is_array()) {
      if (value.size() < schema["minItems"].as_uint(0))
        return problem(value.size() == 0 ? "is empty" : fmt::format("has only {} items", value.size()));
      if (value.size() > schema["maxItems"].as_uint(UINT64_MAX))
        return problem(fmt::format("has {} items", value.size()));
    }
    if (value.is_string()) {
      if (value.as_string().size() < schema["minLength"].as_uint(0)) return problem("is an empty text");
      if (const std::string& pattern = schema["pattern"].as_string();
          !pattern.empty() && !re2::RE2::PartialMatch(value.as_string(), re2::RE2(pattern)))
        return problem(fmt::format("is '{}', not of the form {}", base::shown(value.as_string()), pattern));
    }
    return std::nullopt;
  }

  const json::Value& root_;
};

/// The first measure of a run's report that is no number from 0 on. A measure needs no entry in the schema file.
Found bad_measure(const json::Value& report) {
  for (const run::Measure& measure : run::measures()) {
    const json::Value* const value = run::member_at(report, measure.path);
    const std::string at = fmt::format("/{}", measure.path);
    if (!value || value->is_null()) continue;  // the schema says where null may be
    if (!value->is_number()) return Problem{at, fmt::format("is {}, not a number", value->kind())};
    if (value->as_double() < 0) return Problem{at, fmt::format("is {:g}, below 0", value->as_double())};
  }
  return std::nullopt;
}

}  // namespace

Result<void> check_schema(const json::Value& value, const std::string& format, const std::string& path) {
  // The formats of `berth compare` share one schema.
  const std::string_view name = format.starts_with("berth-compare") ? std::string_view("berth-compare") : format;
  for (const auto& [own, text] : kSchemas) {
    if (own != name) continue;
    const auto schema = io::parse_json(text, std::string(own));
    if (!schema) return tl::unexpected(schema.error());
    auto found = Checker(*schema).check(value);
    if (!found && format == "berth-run") found = bad_measure(value);
    if (found)
      return tl::unexpected(
          InputError{path, found->place, found->what, "write the file again with this version of berth"});
  }
  return {};
}

}  // namespace berth::report
