#include "http/go_shape.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace berth::http {

namespace {

/// `fields`: groups of a type and its fields, such as "string Name Type; int Count"; types as Go prints them, without
/// blanks and without the pointer of a field.
struct GoType {
  std::string_view name, fields;
};
constexpr GoType kGoTypes[] = {
#include "http/go_types.inc"
};

struct GoField {
  std::string_view name, type;
};
using GoFields = std::vector<GoField>;
using FieldsByType = std::map<std::string_view, GoFields>;

std::string_view next_word(std::string_view& text, char separator) {
  const std::string_view word = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return word;
}

/// Fields of each type, by its name; made once.
const FieldsByType& fields_by_type() {
  static const auto kFields = [] {
    FieldsByType out;
    for (const GoType& one : kGoTypes) {
      GoFields& fields = out[one.name];
      for (std::string_view groups = one.fields; !groups.empty();) {
        std::string_view group = next_word(groups, ';');
        const std::string_view type = next_word(group, ' ');
        while (!group.empty()) fields.push_back({next_word(group, ' '), type});
      }
    }
    return out;
  }();
  return kFields;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

const GoField* field_named(const GoFields& fields, std::string_view key) {
  for (const GoField& field : fields)
    if (field.name == key) return &field;
  for (const GoField& field : fields)
    if (same_ignoring_case(field.name, key)) return &field;
  return nullptr;
}

struct IntegerType {
  std::string_view name;
  std::int64_t least;
  std::uint64_t most;
};
constexpr auto kMostInt64 = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr auto kLeastInt64 = std::numeric_limits<std::int64_t>::min();
constexpr IntegerType kIntegerTypes[] = {
    {"int", kLeastInt64, kMostInt64},
    {"int64", kLeastInt64, kMostInt64},
    {"time.Duration", kLeastInt64, kMostInt64},
    {"int8", -128, 127},
    {"uint8", 0, 255},
    {"uint16", 0, 65535},
    {"uint32", 0, std::numeric_limits<std::uint32_t>::max()},
    {"uint", 0, std::numeric_limits<std::uint64_t>::max()},
    {"uint64", 0, std::numeric_limits<std::uint64_t>::max()},
};

bool fits_integer(const IntegerType& type, const json::Value& number) {
  if (number.is_uint64()) return number.as_uint() <= type.most;
  return number.is_int64() && number.as_int() >= type.least &&
         (number.as_int() < 0 || static_cast<std::uint64_t>(number.as_int()) <= type.most);
}

/// Walks a body along the types of its fields. Its depth is that of the types, which do not contain themselves.
class ShapeWalk {
 public:
  explicit ShapeWalk(std::string_view request) : holder_(request) {}

  /// False: problem() describes the first value that does not fit.
  bool fits_struct(const json::Value& value, const GoFields& fields) {
    for (const json::Member& member : value.members()) {
      const GoField* field = field_named(fields, member.key);
      if (!field) continue;
      const std::size_t length = path_.size();
      path_ += "." + std::string(field->name);
      if (!fits(member.value, field->type)) return false;
      path_.resize(length);
    }
    return true;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  bool fits(const json::Value& value, std::string_view type) {
    constexpr std::string_view kMap = "map[string]";
    if (value.is_null() || type == "interface{}") return true;
    if (type == "[]uint8") return value.is_string() || value.is_array() || wrong(value, type);  // base64
    if (type.starts_with("[]")) return value.is_array() ? fit_all(value, type.substr(2)) : wrong(value, type);
    if (type.starts_with(kMap))
      return value.is_object() ? fit_all(value, type.substr(kMap.size())) : wrong(value, type);
    if (type.starts_with("*")) type.remove_prefix(1);
    if (const auto named = fields_by_type().find(type.substr(type.find('.') + 1)); named != fields_by_type().end())
      return value.is_object() ? fits_object(value, *named) : wrong(value, type);
    if (type == "bool") return value.is_bool() || wrong(value, type);
    for (const IntegerType& integer : kIntegerTypes)
      if (integer.name == type) return fits_integer(integer, value) || wrong(value, type, value.is_number());
    return value.is_string() || wrong(value, type);
  }

  bool fits_object(const json::Value& value, const FieldsByType::value_type& type) {
    const std::string_view outer = holder_;
    holder_ = type.first;
    if (!fits_struct(value, type.second)) return false;
    holder_ = outer;
    return true;
  }

  bool fit_all(const json::Value& value, std::string_view type) {
    if (value.is_array()) {
      for (const json::Value& item : value.items())
        if (!fits(item, type)) return false;
      return true;
    }
    for (const json::Member& member : value.members())
      if (!fits(member.value, type)) return false;
    return true;
  }

  bool wrong(const json::Value& value, std::string_view type, bool shows_number = false) {
    std::string printed(type);
    if (const std::size_t at = printed.find("interface{}"); at != std::string::npos) printed.insert(at + 9, " ");
    problem_ = "json: cannot unmarshal " + std::string(go_kind(value)) +
               (shows_number ? " " + json::to_text(value) : "") + " into Go struct field " + std::string(holder_) +
               path_ + " of type " + printed;
    return false;
  }

  std::string_view holder_;  ///< innermost object's type
  std::string path_;         ///< names of the fields from the body's on, without positions and keys of maps
  std::string problem_;
};

}  // namespace

const char* go_kind(const json::Value& value) {
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  if (value.is_string()) return "string";
  return value.is_bool() ? "bool" : "number";
}

std::optional<std::string> go_shape_problem(const json::Value& body, std::string_view request) {
  const auto found = fields_by_type().find(request);
  if (found == fields_by_type().end()) return std::nullopt;
  ShapeWalk walk(request);
  if (walk.fits_struct(body, found->second)) return std::nullopt;
  return walk.problem();
}

}  // namespace berth::http
