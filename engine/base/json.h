// A JSON value as a plain C++ value. Used for what the model retains verbatim, for comparing test vectors and for
// output.
//
// Parsing is in io (simdjson); this header defines only the value and its text form. Objects keep the order of their
// members and are searched linearly: objects of the Nomad API have few keys, and no hot loop uses them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace berth::json {

struct Member;
class Value;
using Array = std::vector<Value>;
using Object = std::vector<Member>;

class Value {
 public:
  Value();
  Value(std::nullptr_t);      // NOLINT(google-explicit-constructor)
  Value(bool v);              // NOLINT
  Value(int v);               // NOLINT
  Value(std::int64_t v);      // NOLINT
  Value(std::uint64_t v);     // NOLINT  stored as int64 where it fits
  Value(double v);            // NOLINT
  Value(const char* v);       // NOLINT
  Value(std::string_view v);  // NOLINT
  Value(std::string v);       // NOLINT
  Value(Array v);             // NOLINT
  Value(Object v);            // NOLINT
  static Value array();
  static Value object();

  [[nodiscard]] bool is_null() const { return data_.index() == 0; }
  [[nodiscard]] bool is_bool() const { return data_.index() == 1; }
  [[nodiscard]] bool is_int() const { return data_.index() == 2 || data_.index() == 3; }
  [[nodiscard]] bool is_int64() const { return data_.index() == 2; }
  [[nodiscard]] bool is_uint64() const { return data_.index() == 3; }  ///< only values above the int64 range
  [[nodiscard]] bool is_double() const { return data_.index() == 4; }
  [[nodiscard]] bool is_number() const { return is_int() || is_double(); }
  [[nodiscard]] bool is_string() const { return data_.index() == 5; }
  [[nodiscard]] bool is_array() const { return data_.index() == 6; }
  [[nodiscard]] bool is_object() const { return data_.index() == 7; }
  [[nodiscard]] const char* kind() const;  ///< "null", "a boolean", "an integer", ... for messages

  // Lenient readers: the fallback when the value is of another kind.
  [[nodiscard]] bool as_bool(bool fallback = false) const;
  [[nodiscard]] std::int64_t as_int(std::int64_t fallback = 0) const;
  [[nodiscard]] std::uint64_t as_uint(std::uint64_t fallback = 0) const;
  [[nodiscard]] double as_double(double fallback = 0) const;
  [[nodiscard]] const std::string& as_string() const;  ///< "" when not a string
  [[nodiscard]] const Array& items() const&;           ///< empty when not an array
  [[nodiscard]] const Object& members() const&;        ///< empty when not an object

  [[nodiscard]] Array& items() &;     ///< turns a null into an array
  [[nodiscard]] Object& members() &;  ///< turns a null into an object
  // Deleted for temporaries: a range-for over them would read destroyed items. Name the value first.
  const Array& items() const&& = delete;
  const Object& members() const&& = delete;

  /// Member of an object, or null: exact key, the last one wins when a key is repeated (R-MODEL-608).
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] Value* find(std::string_view key);
  /// Like find(), but falls back to a match that ignores ASCII case (R-MODEL-608).
  [[nodiscard]] const Value* find_ignoring_case(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  const Value& operator[](std::string_view key) const;  ///< a null value when absent
  const Value& operator[](std::size_t index) const;     ///< a null value when out of range
  Value& set(std::string_view key, Value value);        ///< replaces or appends; returns the stored value
  bool erase(std::string_view key);
  void push(Value value);
  [[nodiscard]] std::size_t size() const;  ///< items or members; 0 for anything else

  friend bool operator==(const Value&, const Value&);

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> data_;
};

struct Member {
  std::string key;
  Value value;
  friend bool operator==(const Member&, const Member&) = default;
};

// Below Member: a constructor may have to destroy data_, and Clang then requires the whole type of its elements.
inline Value::Value() = default;
inline Value::Value(std::nullptr_t) {}
inline Value::Value(bool v) : data_(v) {}
inline Value::Value(int v) : data_(static_cast<std::int64_t>(v)) {}
inline Value::Value(std::int64_t v) : data_(v) {}
inline Value::Value(double v) : data_(v) {}
inline Value::Value(const char* v) : data_(std::string(v)) {}
inline Value::Value(std::string_view v) : data_(std::string(v)) {}
inline Value::Value(std::string v) : data_(std::move(v)) {}

/// True if both have the same members with equal values, in any order.
[[nodiscard]] bool equal_ignoring_member_order(const Value& a, const Value& b);

/// JSON text. `indent` 0 writes one line. Doubles are the shortest decimal that reads back to the same bits, with a
/// fraction digit or an exponent (R-MODEL-603); NaN and infinities, which JSON lacks, are written as null.
[[nodiscard]] std::string to_text(const Value& value, int indent = 0);
void append_text(std::string& out, const Value& value, int indent = 0, int depth = 0);
void append_quoted(std::string& out, std::string_view text);
[[nodiscard]] std::string double_text(double value);

}  // namespace berth::json
