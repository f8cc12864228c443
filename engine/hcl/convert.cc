// Conversions between types (R-HCL-106 to 109). A first check, with its own error texts, is whether two types convert
// at all. Failures that depend on the value then have the text of the innermost part.
#include <algorithm>

#include "base/text.h"
#include "hcl/value.h"

namespace berth::hcl {
namespace {

using Reason = std::optional<std::string>;

std::string required(const Type& wanted, const Type& got) {
  return wanted.name() + " required, but have " + got.name();
}

std::string quoted(std::string_view text) { return base::go_quote(text); }

std::string missing_attributes(const std::vector<std::string>& names) {
  if (names.size() == 1) return "attribute " + names[0] + " is required";
  if (names.size() == 2) return "attributes " + names[0] + " and " + names[1] + " are required";
  std::string text = "attributes ";
  for (std::size_t i = 0; i + 1 < names.size(); ++i) text += names[i] + ", ";
  return text + "and " + names.back() + " are required";
}

std::string not_uniform(Kind collection) {
  return "all " +
         std::string(collection == Kind::list  ? "list"
                     : collection == Kind::set ? "set"
                                               : "map") +
         " elements must have the same type";
}

Reason object_mismatch(const Type& from, const Type& to) {
  std::vector<std::string> missing;
  for (const auto& attribute : to.attributes()) {
    if (from.attribute(attribute.name) == nullptr) missing.push_back(quoted(attribute.name));
  }
  if (!missing.empty()) return missing_attributes(missing);
  for (const auto& attribute : to.attributes()) {
    if (auto why = never_converts(*from.attribute(attribute.name), attribute.type)) {
      return "attribute " + quoted(attribute.name) + ": " + *why;
    }
  }
  return std::nullopt;
}

/// Checks the conversion of the parts of a tuple or an object to a collection.
Reason parts_mismatch(const Type& from, const Type& to) {
  if (to.element().is_dynamic()) {
    std::vector<Type> types(from.items().begin(), from.items().end());
    for (const auto& attribute : from.attributes()) types.push_back(attribute.type);
    std::erase_if(types, [](const Type& type) { return type.is_dynamic(); });
    if (!unify(types)) return not_uniform(to.kind());
    return std::nullopt;
  }
  for (std::size_t i = 0; i < from.items().size(); ++i) {
    if (auto why = never_converts(from.items()[i], to.element())) return "element " + std::to_string(i) + ": " + *why;
  }
  for (const auto& attribute : from.attributes()) {
    if (auto why = never_converts(attribute.type, to.element())) {
      return "element " + quoted(attribute.name) + ": " + *why;
    }
  }
  return std::nullopt;
}

/// The common type of all parts of a collection: its element type or, if that is dynamic, their unified type.
tl::expected<Type, std::string> common_element(const Type& wanted, std::vector<Type> parts) {
  if (!wanted.element().is_dynamic()) return wanted.element();
  std::erase_if(parts, [](const Type& type) { return type.is_dynamic(); });  // nulls take the others' type
  auto element = unify(parts);
  if (!element) return tl::unexpected(not_uniform(wanted.kind()));
  return *std::move(element);
}

Outcome to_sequence(const Value& value, const Type& wanted) {
  std::vector<Type> types;
  if (wanted.element().is_dynamic()) {
    if (value.kind() == Kind::tuple) {
      for (const Value& item : value.items()) types.push_back(item.type());
    } else {
      types.push_back(value.type().element());
    }
  }
  const auto element = common_element(wanted, std::move(types));
  if (!element) return tl::unexpected(element.error());
  std::vector<Value> items;
  items.reserve(value.size());
  for (const Value& item : value.items()) {
    auto converted = convert(item, *element);
    if (!converted) return converted;
    items.push_back(*std::move(converted));
  }
  // If the element type has a dynamic part, the values determine it.
  Type type = *element;
  if (type.has_dynamic() && !items.empty()) type = items.front().type();
  return wanted.kind() == Kind::list ? Value::list(type, std::move(items)) : Value::set(type, std::move(items));
}

Outcome to_map(const Value& value, const Type& wanted) {
  std::vector<Type> types;
  if (wanted.element().is_dynamic()) {
    for (const auto& member : value.members()) types.push_back(member.value.type());
  }
  const auto element = common_element(wanted, std::move(types));
  if (!element) return tl::unexpected(element.error());
  std::vector<Value::Member> members;
  members.reserve(value.size());
  for (const auto& member : value.members()) {
    auto converted = convert(member.value, *element);
    if (!converted) return converted;
    members.push_back({member.key, *std::move(converted)});
  }
  Type type = *element;
  if (type.has_dynamic() && !members.empty()) type = members.front().value.type();
  return Value::map(type, std::move(members));
}

Outcome to_object(const Value& value, const Type& wanted) {
  std::vector<Value::Member> members;
  members.reserve(wanted.attributes().size());
  for (const auto& attribute : wanted.attributes()) {
    const Value* part = value.member(attribute.name);
    if (part == nullptr) {
      return tl::unexpected("map has no element for required attribute " + quoted(attribute.name));
    }
    auto converted = convert(*part, attribute.type);
    if (!converted) return converted;
    members.push_back({attribute.name, *std::move(converted)});
  }
  return Value::object(std::move(members));
}

Outcome to_tuple(const Value& value, const Type& wanted) {
  std::vector<Value> items;
  items.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto converted = convert(value.items()[i], wanted.items()[i]);
    if (!converted) return converted;
    items.push_back(*std::move(converted));
  }
  return Value::tuple(std::move(items));
}

Outcome string_to_bool(const std::string& text) {
  if (text == "true" || text == "1") return Value::of(true);
  if (text == "false" || text == "0") return Value::of(false);
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (lower == "true" || lower == "false") {
    return tl::unexpected("a bool is required; to convert from string, use lowercase \"" + lower + "\"");
  }
  return tl::unexpected<std::string>("a bool is required");
}

Outcome convert_primitive(const Value& value, const Type& wanted) {
  switch (wanted.kind()) {
    case Kind::string:
      if (value.kind() == Kind::boolean) return Value::of(value.boolean() ? "true" : "false");
      return Value::of(value.number().text());
    case Kind::number: {
      auto number = Number::parse(value.string(), true);
      if (!number) return tl::unexpected<std::string>("a number is required");
      return Value::of(*std::move(number));
    }
    default:
      return string_to_bool(value.string());
  }
}

// The text for a tuple or an object of the wrong kind (R-HCL-109).
std::string collection_required(const Type& to) {
  if (!to.element().is_dynamic()) return to.name() + " required";
  const char* kind = to.kind() == Kind::list ? "list" : to.kind() == Kind::set ? "set" : "map";
  return std::string(kind) + " of any single type required";
}

}  // namespace

std::optional<std::string> never_converts(const Type& from, const Type& to) {
  if (from.is_dynamic() || to.is_dynamic()) return std::nullopt;
  if (from.is_primitive() && to.is_primitive()) {
    if (from == to || from.kind() == Kind::string || to.kind() == Kind::string) return std::nullopt;
    return required(to, from);
  }
  const bool structural = from.kind() == Kind::tuple || from.kind() == Kind::object;
  switch (to.kind()) {
    case Kind::list:
    case Kind::set:
      if (from.kind() == Kind::tuple) return parts_mismatch(from, to);
      if (from.kind() == Kind::list || from.kind() == Kind::set) {
        return never_converts(from.element(), to.element()) ? Reason(required(to, from)) : std::nullopt;
      }
      return structural ? collection_required(to) : required(to, from);
    case Kind::map:
      if (from.kind() == Kind::object) return parts_mismatch(from, to);
      if (from.kind() == Kind::map) {
        return never_converts(from.element(), to.element()) ? Reason(required(to, from)) : std::nullopt;
      }
      return structural ? collection_required(to) : required(to, from);
    case Kind::object:
      if (from.kind() == Kind::object) return object_mismatch(from, to);
      if (from.kind() == Kind::map) {
        for (const auto& attribute : to.attributes()) {
          if (never_converts(from.element(), attribute.type)) return required(to, from);
        }
        return std::nullopt;
      }
      return required(to, from);
    case Kind::tuple:
      if (from.kind() != Kind::tuple) return required(to, from);
      if (from.items().size() != to.items().size()) return "tuple required";
      for (std::size_t i = 0; i < to.items().size(); ++i) {
        if (auto why = never_converts(from.items()[i], to.items()[i])) {
          return "element " + std::to_string(i) + ": " + *why;
        }
      }
      return std::nullopt;
    default:
      return required(to, from);
  }
}

Outcome convert(const Value& value, const Type& wanted) {
  if (wanted.is_dynamic()) return value;
  if (value.is_value() && wanted.is_primitive() && value.kind() == wanted.kind()) return value;
  const Type type = value.type();
  if (type == wanted && !wanted.has_dynamic()) return value;
  if (auto why = never_converts(type, wanted)) return tl::unexpected(*std::move(why));
  if (value.is_null()) return Value::null(wanted);
  if (!value.is_known()) return Value::unknown(wanted);
  switch (wanted.kind()) {
    case Kind::list:
    case Kind::set:
      return to_sequence(value, wanted);
    case Kind::map:
      return to_map(value, wanted);
    case Kind::object:
      return to_object(value, wanted);
    case Kind::tuple:
      return to_tuple(value, wanted);
    default:
      return convert_primitive(value, wanted);
  }
}

}  // namespace berth::hcl
