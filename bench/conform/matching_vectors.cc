// Adapters from recorded vectors to berth: targets, operands, devices, computed class, class cache, distinct_*.
#include <span>

#include "conform/compare.h"
#include "conform/vector.h"
#include "match/operand.h"
#include "match/target.h"
#include "model/codec.h"

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

constexpr Component kComponents[] = {
    {"operand_equality", replay_operand},      {"operand_order", replay_operand},
    {"operand_version", replay_operand},       {"operand_semver", replay_operand},
    {"operand_regexp", replay_operand},        {"operand_set", replay_operand},
    {"resolve_target", replay_resolve_target}, {"constraint_escapes", replay_constraint_escapes},
};

}  // namespace

std::span<const Component> matching_components() { return kComponents; }

}  // namespace berth::conform
