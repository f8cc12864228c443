// Field: a checked view of a JSON value, through which adapters read a vector's members. A member of the wrong type
// ends the replay with an error that names file, line and member. An absent or null member is the zero value of its
// type, because recordings omit such members. Required members are listed per kind (required.cc).
#pragma once

#include <concepts>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "model/codec/codec.h"

namespace berth::conform {

/// Thrown if a vector violates its kind; conform::run() turns it into a one-line error.
struct Malformed {
  const json::Value* at;  ///< located by its address in the line; null: `below` begins at the line
  std::string below;      ///< JSON pointer from there
  std::string problem;
};

class Field {
 public:
  Field(const json::Value& value) : value_(&value) {}  // NOLINT: a view of the value

  /// The value itself, for comparing or printing it.
  operator const json::Value&() const { return *value_; }  // NOLINT: a view of the value
  [[nodiscard]] const json::Value& value() const { return *value_; }

  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool is_bool() const { return value_->is_bool(); }
  [[nodiscard]] bool is_int() const { return value_->is_int(); }
  [[nodiscard]] bool is_string() const { return value_->is_string(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }
  [[nodiscard]] bool is_object() const { return value_->is_object(); }

  [[nodiscard]] Field operator[](std::string_view key) const { return Field(object()[key]); }
  [[nodiscard]] Field operator[](std::size_t index) const { return Field(array()[index]); }
  [[nodiscard]] bool has(std::string_view key) const { return object().has(key); }
  [[nodiscard]] std::optional<Field> find(std::string_view key) const {
    const json::Value* const found = object().find(key);
    return found ? std::optional<Field>(*found) : std::nullopt;
  }
  /// A required member of any type.
  [[nodiscard]] Field at(std::string_view key) const {
    if (const json::Value* const found = object().find(key)) return Field(*found);
    fail("is missing", "/" + std::string(key));
  }
  /// Checks for all of these members, as listed by required_members().
  void require(std::string_view members) const;
  [[nodiscard]] std::size_t size() const {
    if (!is_object() && !is_array() && !is_null()) mistyped("a list or an object");
    return value_->size();
  }

  [[nodiscard]] bool as_bool(bool fallback = false) const {
    if (!value_->is_bool() && !is_null()) mistyped("a boolean");
    return value_->as_bool(fallback);
  }
  [[nodiscard]] std::int64_t as_int(std::int64_t fallback = 0) const {
    if (!value_->is_int64() && !is_null()) mistyped("an integer of 64 bits");
    return value_->as_int(fallback);
  }
  [[nodiscard]] std::uint64_t as_uint(std::uint64_t fallback = 0) const {
    if (!is_null() && (!is_int() || (value_->is_int64() && value_->as_int() < 0)))
      mistyped("an integer that is not negative");
    return value_->as_uint(fallback);
  }
  /// A count of things that each take memory or time.
  [[nodiscard]] std::size_t as_count(std::size_t most = 1'000'000) const {
    if (const std::uint64_t count = as_uint(); count <= most) return count;
    fail("is more than " + std::to_string(most));
  }
  /// A position in a list of `size` entries.
  [[nodiscard]] std::size_t as_index(std::size_t size) const {
    if (is_int() && value_->as_uint(size) < size) return value_->as_uint();
    fail("is no index into " + std::to_string(size) + " entries");
  }
  /// A time or duration on a script's clock. Limited, because all of it is simulated.
  [[nodiscard]] std::int64_t as_script_ns() const {
    constexpr std::int64_t kMost = std::int64_t{2} * 24 * 3600 * 1'000'000'000;
    if (const std::int64_t ns = as_int(); ns >= -kMost && ns <= kMost) return ns;
    fail("is more than two days");
  }
  [[nodiscard]] double as_double(double fallback = 0) const {
    if (!value_->is_number() && !is_null()) mistyped("a number");
    return value_->as_double(fallback);
  }
  [[nodiscard]] const std::string& as_string() const {
    if (!is_string() && !is_null()) mistyped("a text");
    return value_->as_string();
  }
  /// The items of a list, each a Field.
  [[nodiscard]] auto items() const {
    return std::views::transform(array().items(), [](const json::Value& item) { return Field(item); });
  }
  /// The members of an object: `key`, and `value` as a Field.
  [[nodiscard]] auto members() const;

  [[noreturn]] void fail(std::string problem, std::string below = {}) const {
    throw Malformed{value_, std::move(below), std::move(problem)};
  }

 private:
  [[nodiscard]] const json::Value& object() const {
    if (!is_object() && !is_null()) mistyped("an object");
    return *value_;
  }
  [[nodiscard]] const json::Value& array() const {
    if (!is_array() && !is_null()) mistyped("a list");
    return *value_;
  }
  [[noreturn]] void mistyped(std::string_view wanted) const {
    fail(std::string("is ") + value_->kind() + " and should be " + std::string(wanted));
  }

  const json::Value* value_;
};

struct FieldMember {
  const std::string& key;
  Field value;
};

inline auto Field::members() const {
  return std::views::transform(object().members(), [](const json::Member& member) {
    return FieldMember{member.key, member.value};
  });
}

/// model::from_json of a member; failure is an error of the vector.
template <class T>
Result<void> from_json(const Field& field, T& out, const model::ReadOptions& options = {}) {
  model::ReadOptions here = options;
  here.place.clear();
  if (auto done = model::from_json(field.value(), out, here); !done)
    field.fail(done.error().problem, done.error().place);
  return {};
}

/// JSON pointer of the value at that address in `root`; "" if it is not in there.
[[nodiscard]] std::string pointer_to(const json::Value& root, const json::Value* value);

/// The value of an engine reader's result; its error becomes an error of the line at the same place.
template <class T>
[[nodiscard]] T or_malformed(Result<T> result) {
  if (!result) throw Malformed{nullptr, result.error().place, result.error().problem};
  return std::move(*result);
}

/// Runs `work` on a copy of a line; places in the copy are reported as places of the line.
template <class Work>
auto in_copy(const json::Value& copy, const Work& work) {
  try {
    return work();
  } catch (Malformed& malformed) {
    if (malformed.at) malformed.below.insert(0, pointer_to(copy, malformed.at)), malformed.at = nullptr;
    throw;
  }
}

}  // namespace berth::conform
