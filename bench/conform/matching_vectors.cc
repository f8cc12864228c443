// Adapters from recorded vectors to berth: targets, operands, devices, computed class, class cache, distinct_*.
#include <cmath>
#include <optional>
#include <span>

#include "conform/compare.h"
#include "conform/vector.h"
#include "match/device_match.h"
#include "match/operand.h"
#include "match/target.h"
#include "model/codec.h"
#include "model/computed_class.h"

namespace berth::conform {
namespace {

Outcome compared(const Vector& v, const json::Value& got, std::string_view rule) {
  return Outcome::from(compare(v.out, got, {.rule = rule}));
}

json::Value object(json::Object members) { return json::Value(std::move(members)); }

match::Side side(const Vector& v, std::string_view text, std::string_view found) {
  return {v.in[text].as_string(), v.in[found].as_bool()};
}

Outcome replay_operand(const Vector& v) {
  match::Patterns patterns;
  const bool result = match::evaluate(match::parse_operand(v.in["operand"].as_string()), side(v, "left", "left_found"),
                                      side(v, "right", "right_found"), patterns);
  return compared(v, object({{"result", result}}), "R-FEAS-601");
}

Outcome replay_resolve_target(const Vector& v) {
  model::Node node;
  if (auto read = model::from_json(v.in["node"], node); !read) return Outcome::failed(read.error().problem);
  const match::Target target = match::parse_target(v.in["target"].as_string());
  const match::Side got = match::resolve(target, node);
  return compared(v, object({{"value", got.text}, {"found", got.found}}), "R-FEAS-501");
}

Outcome replay_constraint_escapes(const Vector& v) {
  model::Constraint constraint;
  if (auto read = model::from_json(v.in, constraint); !read) return Outcome::failed(read.error().problem);
  return compared(v, object({{"escapes", match::escapes_class(constraint)}}), "R-FEAS-405");
}

Outcome replay_computed_class(const Vector& v) {
  model::Node node;
  if (auto read = model::from_json(v.in["node"], node); !read) return Outcome::failed(read.error().problem);
  return compared(v, object({{"class", model::computed_class(node)}}), "R-MODEL-543");
}

/// An attribute of a vector: as in the API, with `FloatBits` for doubles that JSON cannot say.
std::optional<model::Attribute> read_attribute(const json::Value& value) {
  if (value.is_null()) return std::nullopt;
  model::Attribute out;
  if (const json::Value* v = value.find("Int")) out.int_value = v->as_int();
  if (const json::Value* v = value.find("Float")) out.float_value = v->as_double();
  if (const json::Value* v = value.find("FloatBits")) out.float_value = parse_bits(v->as_string());
  if (const json::Value* v = value.find("String")) out.string_value = v->as_string();
  if (const json::Value* v = value.find("Bool")) out.bool_value = v->as_bool();
  out.unit = value["Unit"].as_string();
  return out;
}

json::Value write_attribute(const model::Attribute& a) {
  json::Value out = json::Value::object();
  if (a.int_value) out.set("Int", *a.int_value);
  if (a.float_value) {
    if (std::isfinite(*a.float_value)) out.set("Float", *a.float_value);
    out.set("FloatBits", bits_text(*a.float_value));
  }
  if (a.string_value) out.set("String", *a.string_value);
  if (a.bool_value) out.set("Bool", *a.bool_value);
  if (!a.unit.empty()) out.set("Unit", a.unit);
  return out;
}

Outcome replay_device_attribute(const Vector& v) {
  const json::Value got = write_attribute(match::parse_device_literal(v.in["text"].as_string()));
  // An absent value differs from a zero one here: `0` is an int, `` a text.
  return Outcome::from(compare(v.out, object({{"attribute", got}}), {.absent_is_zero = false, .rule = "R-FEAS-921"}));
}

Outcome replay_device_compare(const Vector& v) {
  const auto left = read_attribute(v.in["left"]), right = read_attribute(v.in["right"]);
  const match::DeviceOrder order =
      match::compare(left.value_or(model::Attribute{}), right.value_or(model::Attribute{}));
  if (order == match::DeviceOrder::not_a_number) return Outcome::failed("a NaN was compared");
  json::Value got = object({{"comparable", order != match::DeviceOrder::incomparable}});
  if (order != match::DeviceOrder::incomparable)
    got.set("order", static_cast<int>(order) - static_cast<int>(match::DeviceOrder::equal));
  return compared(v, got, "R-FEAS-932");
}

Outcome replay_device_operand(const Vector& v) {
  const auto side = [&](std::string_view value, std::string_view found) {
    const auto attribute = read_attribute(v.in[value]);
    // Found without a value is what the instance filter meets (R-RANK-634): comparable with nothing.
    return v.in[found].as_bool() ? std::optional(attribute.value_or(model::Attribute{})) : std::nullopt;
  };
  const auto left = side("left", "left_found"), right = side("right", "right_found");
  match::Patterns patterns;
  const auto result = match::evaluate_device(match::parse_operand(v.in["operand"].as_string()), left ? &*left : nullptr,
                                             right ? &*right : nullptr, patterns);
  if (!result) return Outcome::failed("a NaN was compared");
  return compared(v, object({{"result", *result}}), "R-FEAS-934");
}

constexpr Component kComponents[] = {
    {"operand_equality", replay_operand},      {"operand_order", replay_operand},
    {"operand_version", replay_operand},       {"operand_semver", replay_operand},
    {"operand_regexp", replay_operand},        {"operand_set", replay_operand},
    {"resolve_target", replay_resolve_target}, {"constraint_escapes", replay_constraint_escapes},
    {"computed_class", replay_computed_class}, {"device_attribute", replay_device_attribute},
    {"device_compare", replay_device_compare}, {"device_operand", replay_device_operand},
};

}  // namespace

std::span<const Component> matching_components() { return kComponents; }

}  // namespace berth::conform
