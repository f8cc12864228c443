// Typed values of HCL: null, unknown, bool, number, string in NFC, list, set, map, tuple, object (R-HCL-100 to 110).
//
// A Value is immutable and its copies share strings, items and members, so passing one by value is cheap. Through
// sharing, a few lines can describe a huge value ([l, l] repeated), so each value has a weight(), the cost of
// writing it out. Code that builds values checks too_large() on each result and stops with kTooLarge; traversals are
// then bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "hcl/number.h"
#include "hcl/type.h"

namespace berth::hcl {

/// Maximum weight of a value in bytes: its strings, and 16 for every value in it.
inline constexpr std::size_t kMaxWeight = 16U << 20U;
inline constexpr const char* kTooLarge = "the value would be larger than 16 MiB; make it smaller";
/// Maximum nesting of a value; conversions and comparisons recurse this deep.
inline constexpr int kMaxDepth = 1000;
inline constexpr const char* kTooDeep = "the value would be nested deeper than 1000 levels; make it flatter";

class Value {
 public:
  struct Member;

  Value() = default;  ///< null of dynamic type
  static Value null(Type type = {});
  static Value unknown(Type type = {});
  static Value of(bool value);
  static Value of(Number value);
  static Value of(std::int64_t count);     ///< a number of 64 bits (R-HCL-103)
  static Value of(std::string_view text);  ///< normalised to NFC (R-HCL-102)
  static Value of(const char* text) { return of(std::string_view(text)); }
  static Value list(Type element, std::vector<Value> items);
  static Value set(Type element, std::vector<Value> items);  ///< sorted, without duplicates (R-HCL-107)
  static Value map(Type element, std::vector<Member> members);
  static Value tuple(std::vector<Value> items);
  static Value object(std::vector<Member> members);  ///< sorted by key; the last of equal keys wins (R-HCL-148)
  static Value empty_tuple() { return tuple({}); }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Type type() const;  ///< O(1) except for tuples and objects, whose type is assembled
  [[nodiscard]] bool is_null() const { return state_ == State::null; }
  [[nodiscard]] bool is_known() const { return state_ != State::unknown; }  ///< itself; parts may be unknown
  [[nodiscard]] bool is_wholly_known() const;                               ///< O(1)
  [[nodiscard]] bool is_value() const { return state_ == State::known; }    ///< neither null nor unknown

  // Only for known values of the kind (asserted).
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const Number& number() const;
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] std::span<const Value> items() const;     ///< list, set, tuple
  [[nodiscard]] std::span<const Member> members() const;  ///< map, object; ascending by key, bytewise

  [[nodiscard]] bool has_items() const { return kind_ == Kind::list || kind_ == Kind::set || kind_ == Kind::tuple; }
  [[nodiscard]] bool has_members() const { return kind_ == Kind::map || kind_ == Kind::object; }
  [[nodiscard]] bool is_iterable() const { return has_items() || has_members(); }  ///< by kind; may be null
  [[nodiscard]] const Value* member(std::string_view key) const;                   ///< nullptr: no such key
  [[nodiscard]] std::size_t size() const;                                          ///< items or members

  [[nodiscard]] std::size_t weight() const;  ///< bytes to write it out, saturating
  [[nodiscard]] int depth() const;           ///< 0 for primitives
  [[nodiscard]] bool too_large() const { return weight() > kMaxWeight; }
  [[nodiscard]] bool too_deep() const { return depth() > kMaxDepth; }

 private:
  struct Items;
  struct Members;
  enum class State : std::uint8_t { null, unknown, known };
  Value(Kind kind, State state) : kind_(kind), state_(state) {}
  static Value sequence(Kind kind, Type element, std::vector<Value> values);
  static Value mapping(Kind kind, Type element, std::vector<Member> members);

  Kind kind_ = Kind::dynamic;
  State state_ = State::null;
  // Type: for a null or unknown value.
  std::variant<std::monostate, bool, Number, std::shared_ptr<const std::string>, std::shared_ptr<const Items>,
               std::shared_ptr<const Members>, Type>
      data_;
};

struct Value::Member {
  std::string key;
  Value value;
};

/// Either a value or an error text.
using Outcome = tl::expected<Value, std::string>;

/// Converts as attributes, parameters and operands do; errors in the words of R-HCL-106 to 109. Dynamic accepts all;
/// inside a collection, dynamic means that the elements are unified (R-HCL-108). Unknown converts to unknown.
[[nodiscard]] Outcome convert(const Value& value, const Type& wanted);
/// Converts to string, number or bool, as templates, operands and keys require.
[[nodiscard]] inline Outcome to_string(const Value& value) { return convert(value, Kind::string); }
[[nodiscard]] inline Outcome to_number(const Value& value) { return convert(value, Kind::number); }
[[nodiscard]] inline Outcome to_bool(const Value& value) { return convert(value, Kind::boolean); }

/// Checks whether values of type `from` can convert to `to` at all: the error text if none can, else nullopt
/// (R-HCL-109).
[[nodiscard]] std::optional<std::string> never_converts(const Type& from, const Type& to);

/// `==` of HCL on known values: deep, without conversion, and types must match; null equals null (R-HCL-142).
[[nodiscard]] bool equal(const Value& a, const Value& b);
/// Total order of the elements of sets: strings bytewise, numbers by value, false before true (R-HCL-107).
[[nodiscard]] int compare(const Value& a, const Value& b);

/// A whole number within a range, for parameters and attributes. The error is the text of R-HCL-242.
[[nodiscard]] tl::expected<std::int64_t, std::string> to_integer(const Number& number, std::int64_t least = INT64_MIN,
                                                                 std::int64_t most = INT64_MAX);
[[nodiscard]] tl::expected<std::uint64_t, std::string> to_unsigned(const Number& number, std::uint64_t most);

/// Compact JSON as jsonencode writes it (R-HCL-620). Error: an infinity, or an unknown value.
[[nodiscard]] tl::expected<std::string, std::string> json_text(const Value& value);

}  // namespace berth::hcl
