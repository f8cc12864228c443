#include "hcl/type_expression.h"

#include <fmt/format.h>

namespace berth::hcl {
namespace {

constexpr std::string_view kInvalid = "Invalid type specification";

class TypeReader {
 public:
  TypeReader(bool any_allowed, Diagnostics& out) : any_allowed_(any_allowed), out_(out) {}

  std::optional<Type> read(const Expr& expr) {
    if (const std::string* word = keyword(expr)) return named(expr, *word);
    if (expr.kind != Expr::Kind::call) {
      return fail(expr.range,
                  "A type specification is either a primitive type keyword (bool, number, string) or a complex type "
                  "constructor call, like list(string).");
    }
    return constructed(static_cast<const CallExpr&>(expr));
  }

 private:
  static const std::string* keyword(const Expr& expr) {
    if (expr.kind != Expr::Kind::reference) return nullptr;
    const auto& reference = static_cast<const ReferenceExpr&>(expr);
    return reference.steps.empty() ? &reference.name : nullptr;
  }

  std::nullopt_t fail(Range subject, std::string detail) {
    out_.add(subject, kInvalid, std::move(detail));
    return std::nullopt;
  }

  std::optional<Type> named(const Expr& expr, const std::string& word) {
    if (word == "bool") return Type(Kind::boolean);
    if (word == "string") return Type(Kind::string);
    if (word == "number") return Type(Kind::number);
    if (word == "any") {
      if (any_allowed_) return Type();
      return fail(expr.range,
                  "The keyword \"any\" cannot be used in this type specification: an exact type is required.");
    }
    if (word == "list" || word == "set" || word == "map") {
      return fail(expr.range,
                  fmt::format("The {} type constructor requires one argument specifying the element type.", word));
    }
    if (word == "object") return fail(expr.range, std::string(kObjectArgument));
    if (word == "tuple") return fail(expr.range, std::string(kTupleArgument));
    return fail(expr.range, fmt::format("The keyword \"{}\" is not a valid type specification.", word));
  }

  std::optional<Type> constructed(const CallExpr& call) {
    const std::string& name = call.name;
    if (name == "bool" || name == "string" || name == "number") {
      return fail(arguments(call), fmt::format("Primitive type keyword \"{}\" does not expect arguments.", name));
    }
    if (name == "any") {
      return fail(arguments(call), "Type constraint keyword \"any\" does not expect arguments.");
    }
    if (name == "optional") {
      return fail(call.name_range, any_allowed_
                                       ? "Keyword \"optional\" is valid only as a modifier for object type attributes."
                                       : "Optional attribute modifier is only for type constraints, not for exact "
                                         "types.");
    }
    const bool collection = name == "list" || name == "set" || name == "map";
    if (!collection && name != "object" && name != "tuple") {
      return fail(call.name_range, fmt::format("Keyword \"{}\" is not a valid type constructor.", name));
    }
    if (call.arguments.size() != 1 || call.expands_last) {
      if (collection) {
        return fail(arguments(call),
                    fmt::format("The {} type constructor requires one argument specifying the element type.", name));
      }
      return fail(arguments(call), std::string(name == "object" ? kObjectArgument : kTupleArgument));
    }
    const Expr& argument = *call.arguments.front();
    if (collection) {
      auto element = read(argument);
      if (!element) return std::nullopt;
      return Type::collection(name == "list" ? Kind::list : name == "set" ? Kind::set : Kind::map, *element);
    }
    return name == "object" ? object(argument) : tuple(argument);
  }

  static Range arguments(const CallExpr& call) { return {call.range.source, call.open.begin, call.close.end}; }

  std::optional<Type> object(const Expr& argument) {
    if (argument.kind != Expr::Kind::object) return fail(argument.range, std::string(kObjectArgument));
    std::vector<Type::Attribute> attributes;
    bool right = true;
    for (const ObjectExpr::Item& item : static_cast<const ObjectExpr&>(argument).items) {
      if (!item.bare) {
        fail(item.key->range, "Object constructor map keys must be attribute names.");
        right = false;
        continue;
      }
      auto type = attribute_type(*item.value);
      right = right && type;
      if (type) attributes.push_back({std::string(item.key->range.content()), *type});
    }
    if (!right) return std::nullopt;
    return Type::object(std::move(attributes));
  }

  std::optional<Type> attribute_type(const Expr& value) {
    if (any_allowed_ && value.kind == Expr::Kind::call) {
      const auto& call = static_cast<const CallExpr&>(value);
      if (call.name == "optional") {
        if (call.arguments.size() == 1 || call.arguments.size() == 2) return read(*call.arguments.front());
        return fail(arguments(call), "Optional attribute modifier requires the attribute type as its argument.");
      }
    }
    return read(value);
  }

  std::optional<Type> tuple(const Expr& argument) {
    if (argument.kind != Expr::Kind::tuple) return fail(argument.range, std::string(kTupleArgument));
    std::vector<Type> items;
    bool right = true;
    for (const Expr* item : static_cast<const TupleExpr&>(argument).items) {
      auto type = read(*item);
      right = right && type;
      if (type) items.push_back(*type);
    }
    if (!right) return std::nullopt;
    return Type::tuple(std::move(items));
  }

  static constexpr std::string_view kObjectArgument =
      "The object type constructor requires one argument specifying the attribute types and values as a map.";
  static constexpr std::string_view kTupleArgument =
      "The tuple type constructor requires one argument specifying the element types as a list.";

  bool any_allowed_;
  Diagnostics& out_;
};

}  // namespace

std::optional<Type> type_of_expression(const Expr& expr, bool any_allowed, Diagnostics& out) {
  return TypeReader(any_allowed, out).read(expr);
}

}  // namespace berth::hcl
