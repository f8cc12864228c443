// Types of HCL values (R-HCL-100). A Type is a handle to an immutable tree: copies share it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::hcl {

/// `dynamic` is the type "any": the type of a bare null and of failed results, and a wildcard in conversions.
enum class Kind : std::uint8_t { dynamic, boolean, number, string, list, set, map, tuple, object };

class Type {
 public:
  struct Attribute;

  Type() = default;                 ///< dynamic
  Type(Kind kind) : kind_(kind) {}  // NOLINT(google-explicit-constructor): dynamic and primitives
  static Type list(Type element);
  static Type set(Type element);
  static Type map(Type element);
  static Type collection(Kind kind, Type element);  ///< list, set or map
  static Type tuple(std::vector<Type> items);
  static Type object(std::vector<Attribute> attributes);  ///< sorted by name; the last of equal names wins

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_dynamic() const { return kind_ == Kind::dynamic; }
  [[nodiscard]] bool is_primitive() const { return kind_ >= Kind::boolean && kind_ <= Kind::string; }
  [[nodiscard]] bool is_collection() const { return kind_ >= Kind::list && kind_ <= Kind::map; }
  [[nodiscard]] const Type& element() const;                    ///< of a collection; dynamic for others
  [[nodiscard]] std::span<const Type> items() const;            ///< of a tuple
  [[nodiscard]] std::span<const Attribute> attributes() const;  ///< of an object, ascending by name
  [[nodiscard]] const Type* attribute(std::string_view name) const;
  [[nodiscard]] bool has_dynamic() const;  ///< itself or anywhere in it

  /// The name in error texts: "string", "list of number", "tuple", "object", "dynamic" (R-HCL-109).
  [[nodiscard]] std::string name() const;
  /// The type expression: "list(string)", "object({a=number})", "any".
  [[nodiscard]] std::string expression() const;

  friend bool operator==(const Type& a, const Type& b);

 private:
  struct Node;
  Kind kind_ = Kind::dynamic;
  std::shared_ptr<const Node> node_;  // of structural types; null for an empty tuple or object
};

struct Type::Attribute {
  std::string name;
  Type type;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// The one type that values of all these types convert to; nullopt if there is none (R-HCL-110). Dynamic types are
/// ignored.
[[nodiscard]] std::optional<Type> unify(std::span<const Type> types);

}  // namespace berth::hcl
