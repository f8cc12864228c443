#include "hcl/attribute_value.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hcl/go_duration.h"

namespace berth::hcl {
namespace {

constexpr std::string_view kUnsuitable = "Unsuitable value type";

/// A type as Go prints its structure, which error texts about durations show (R-HCL-245).
std::string go_structure(const Type& type) {
  switch (type.kind()) {
    case Kind::dynamic:
      return "{{{}}}";
    case Kind::boolean:
    case Kind::number:
    case Kind::string: {
      const int letter = type.kind() == Kind::boolean ? 'B' : type.kind() == Kind::number ? 'N' : 'S';
      return "{{{} %!s(cty.primitiveTypeKind=" + std::to_string(letter) + ")}}";
    }
    case Kind::list:
    case Kind::set:
    case Kind::map:
      return "{{{} " + go_structure(type.element()) + "}}";
    case Kind::tuple: {
      std::string items;
      for (const Type& item : type.items()) items += (items.empty() ? "" : " ") + go_structure(item);
      return "{{{} [" + items + "]}}";
    }
    case Kind::object: {
      std::string attributes;
      for (const auto& attribute : type.attributes()) {
        attributes += (attributes.empty() ? "" : " ") + attribute.name + ":" + go_structure(attribute.type);
      }
      return "{{{} map[" + attributes + "] map[]}}";
    }
  }
  return "";
}

/// Converts one attribute to a field, and reports failures at the start of the expression.
class Conversion {
 public:
  Conversion(const Expression& expression, Diagnostics& out) : expression_(expression), out_(out) {}

  json::Value run(const Field& field) {
    const Value value = expression_.value(out_);
    switch (field.kind) {
      case FieldKind::duration:
        return duration(value);
      case FieldKind::string_list:
        return list(value, Kind::string, [](const Value& item) -> Part { return json::Value(item.string()); });
      case FieldKind::port_list:
        return list(value, Kind::number, [](const Value& item) -> Part {
          const auto number = to_unsigned(item.number(), 0xFFFF);
          if (!number) return tl::unexpected(number.error());
          return json::Value(*number);
        });
      case FieldKind::string_map:
        return string_map(value);
      default:
        return scalar(field, value);
    }
  }

  json::Value string_map() { return string_map(expression_.value(out_)); }

  /// One entry of a map block: a string, or with `lists` a list of strings.
  json::Value map_part(bool lists) {
    Value value = expression_.value(out_);
    if (expression_.is_object_constructor()) value = Value::tuple({value});  // R-HCL-369
    if (lists) {
      return list(value, Kind::string, [](const Value& item) -> Part { return json::Value(item.string()); });
    }
    return scalar(Field{}, value);
  }

 private:
  using Part = tl::expected<json::Value, std::string>;

  json::Value refuse(const std::string& text) {
    out_.add(expression_.start(), kUnsuitable, "Unsuitable value: " + text);
    return nullptr;
  }

  static Part number(const Field& field, const Number& value) {
    if (!field.is_signed) {
      const auto most = field.bits == 64 ? std::numeric_limits<std::uint64_t>::max() : (1ULL << field.bits) - 1;
      const auto integer = to_unsigned(value, most);
      if (!integer) return tl::unexpected(integer.error());
      return json::Value(*integer);
    }
    const auto most = field.bits == 64 ? std::numeric_limits<std::int64_t>::max() : (1LL << (field.bits - 1)) - 1;
    const auto integer = to_integer(value, -most - 1, most);
    if (!integer) return tl::unexpected(integer.error());
    return json::Value(*integer);
  }

  json::Value scalar(const Field& field, const Value& value) {
    const Kind kind = field.kind == FieldKind::string    ? Kind::string
                      : field.kind == FieldKind::boolean ? Kind::boolean
                                                         : Kind::number;
    const auto converted = convert(value, kind);
    if (!converted) return refuse(converted.error());
    if (!converted->is_known()) return refuse("value must be known");
    if (converted->is_null()) return field.nullable ? json::Value() : refuse("null value is not allowed");
    if (kind == Kind::string) return converted->string();
    if (kind == Kind::boolean) return converted->boolean();
    auto integer = number(field, converted->number());
    return integer ? *std::move(integer) : refuse(integer.error());
  }

  template <class Make>
  json::Value list(const Value& value, Kind element, Make make) {
    const auto converted = convert(value, Type::list(element));
    if (!converted) return refuse(converted.error());
    if (!converted->is_wholly_known()) return refuse("value must be known");
    if (converted->is_null()) return nullptr;
    json::Value result = json::Value::array();
    for (const Value& item : converted->items()) {
      if (item.is_null()) return refuse("null value is not allowed");
      auto part = make(item);
      if (!part) return refuse(part.error());
      result.push(*std::move(part));
    }
    return result;
  }

  json::Value string_map(const Value& value) {
    const auto converted = convert(value, Type::map(Kind::string));
    if (!converted) return refuse(converted.error());
    if (!converted->is_wholly_known()) return refuse("value must be known");
    if (converted->is_null()) return nullptr;
    json::Object members;
    for (const auto& member : converted->members()) {
      if (member.value.is_null()) return refuse("null value is not allowed");
      members.push_back({member.key, member.value.string()});
    }
    return members;
  }

  json::Value duration(const Value& value) {
    if (value.is_null()) {
      out_.add(expression_.start(), "Unsuitable value", "Unsuitable duration value: nil");
      return nullptr;
    }
    if (value.is_value() && value.kind() == Kind::string) {
      const auto nanoseconds = parse_go_duration(value.string());
      if (nanoseconds) return *nanoseconds;
      out_.add(expression_.start(), kUnsuitable, "Unsuitable duration value: " + nanoseconds.error());
      return nullptr;
    }
    if (value.is_value() && value.kind() == Kind::number) {
      const auto nanoseconds = to_integer(value.number());
      return nanoseconds ? json::Value(*nanoseconds) : refuse(nanoseconds.error());
    }
    return refuse("expected a string but found " + go_structure(value.type()));
  }

  const Expression& expression_;
  Diagnostics& out_;
};

/// A body's values as JSON (R-HCL-363 to 365).
class FreeForm {
 public:
  explicit FreeForm(Diagnostics& late) : late_(late) {}

  json::Value body(const Body& body) {
    const Content content = body.everything(late_);
    json::Object members;
    std::unordered_map<std::string_view, std::size_t> places;  // of the lists of blocks in `members`
    for (const Block& block : content.blocks) places.emplace(block.type, kNone);
    for (const Attribute& attribute : content.attributes) {
      if (places.contains(attribute.name)) continue;
      json::Value value = attribute_of(attribute.expression);
      if (!value.is_null()) members.push_back({attribute.name, std::move(value)});  // null counts as absent
    }
    for (const Block& block : content.blocks) {
      std::size_t& place = places[block.type];
      if (place == kNone) {
        place = members.size();
        members.push_back({block.type, json::Value::array()});
      }
      members[place].value.push(labelled(block));
    }
    return members;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// Each label adds one object around the body's, in a list of its own.
  json::Value labelled(const Block& block) {
    json::Value value = body(block.body);
    for (auto label = block.labels.rbegin(); label != block.labels.rend(); ++label) {
      json::Value list = json::Value::array();
      list.push(std::move(value));
      json::Object object;
      object.push_back({*label, std::move(list)});
      value = std::move(object);
    }
    return value;
  }

  json::Value attribute_of(const Expression& expression) {
    const Value value = expression.value(late_);
    if (!value.is_wholly_known()) {
      late_.add(expression.start(), "unsuitable value type", "Unsuitable value: value is not known");
      return nullptr;
    }
    json::Value json = json_of(value, expression);
    if (!expression.is_object_constructor()) return json;
    json::Value list = json::Value::array();
    list.push(std::move(json));
    return list;
  }

  json::Value json_of(const Value& value, const Expression& expression) {
    if (value.is_null()) return nullptr;
    switch (value.kind()) {
      case Kind::dynamic:
        return nullptr;
      case Kind::boolean:
        return value.boolean();
      case Kind::string:
        return value.string();
      case Kind::number: {
        const Number& number = value.number();
        if (const auto integer = number.to_int64()) return *integer;
        const double real = number.to_double();  // infinite beyond 1.8e308, too
        if (!std::isinf(real)) return real;
        late_.add(Diagnostic{expression.start(), "Unsuitable value",
                             std::string("json: unsupported value: ") + (real < 0 ? "-Inf" : "+Inf")});
        return nullptr;
      }
      case Kind::list:
      case Kind::set:
      case Kind::tuple: {
        json::Value list = json::Value::array();
        for (const Value& item : value.items()) list.push(json_of(item, expression));
        return list;
      }
      case Kind::map:
      case Kind::object: {
        json::Object members;
        members.reserve(value.size());
        for (const auto& member : value.members()) members.push_back({member.key, json_of(member.value, expression)});
        return members;
      }
    }
    return nullptr;
  }

  Diagnostics& late_;
};

}  // namespace

json::Value attribute_value(const Field& field, const Expression& expression, Diagnostics& out) {
  return Conversion(expression, out).run(field);
}

json::Value string_map_value(const Expression& expression, Diagnostics& out) {
  return Conversion(expression, out).string_map();
}

json::Value map_block(const Body& body, bool lists, Diagnostics& out) {
  const Content content = body.everything(out);
  json::Object members;
  members.reserve(content.attributes.size());
  for (const Attribute& attribute : content.attributes) {
    members.push_back({attribute.name, Conversion(attribute.expression, out).map_part(lists)});
  }
  for (const Block& block : content.blocks) {
    const char* wanted = lists ? "element 0: string required, but have object" : "string required, but have tuple";
    out.add(block.open, kUnsuitable, std::string("Unsuitable value: ") + wanted);
  }
  return members;
}

json::Value free_form_block(const Body& body, Diagnostics& late) { return FreeForm(late).body(body); }

}  // namespace berth::hcl
