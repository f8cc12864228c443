// Field: a value inside a stored object, of any C++ type, for filter expressions. Selectors go from field to field by
// the names in the model's `fields`, without conversion to JSON and without allocation.
//
// A field refers into the object and is valid as long as the object.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/cluster.h"

namespace berth::http {

enum class FieldKind : std::uint8_t { nil, boolean, integer, unsigned_integer, floating, text, list, map, structure };
/// Go's name in messages.
[[nodiscard]] const char* kind_name(FieldKind kind);

class Field {
 public:
  /// Operations on a value that contains others; one per C++ type.
  struct Shape {
    /// Member of a structure, or value under a key of a map; nullopt: no such member.
    std::optional<Field> (*member)(const void* object, std::string_view name) = nullptr;
    /// Calls `visit(index, key, value)` for each element until it returns false; only maps have keys.
    using Visit = std::function<bool(std::size_t, std::string_view, const Field&)>;
    void (*each)(const void* object, const Visit& visit) = nullptr;
    std::size_t (*size)(const void* object) = nullptr;
  };

  Field() = default;
  Field(FieldKind kind, const void* object, const Shape* shape) : kind_(kind), object_(object), shape_(shape) {}
  static Field of(bool value);
  static Field of(std::int64_t value);
  static Field of(std::uint64_t value);
  static Field of(double value);
  static Field of(std::string_view value);

  [[nodiscard]] FieldKind kind() const { return kind_; }
  [[nodiscard]] bool boolean() const { return number_.b; }
  [[nodiscard]] std::int64_t integer() const { return number_.i; }
  [[nodiscard]] std::uint64_t unsigned_integer() const { return number_.u; }
  [[nodiscard]] double floating() const { return number_.d; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool has_elements() const { return kind_ == FieldKind::list || kind_ == FieldKind::map; }
  /// Size of a text, a list or a map.
  [[nodiscard]] std::size_t size() const;
  /// Member of a structure or a map.
  [[nodiscard]] std::optional<Field> member(std::string_view name) const { return shape_->member(object_, name); }
  /// Visits the elements of a list or a map.
  void each(const Shape::Visit& visit) const { shape_->each(object_, visit); }

 private:
  FieldKind kind_ = FieldKind::nil;
  union {
    bool b;
    std::int64_t i;
    std::uint64_t u;
    double d;
  } number_{.u = 0};
  std::string_view text_;
  const void* object_ = nullptr;
  const Shape* shape_ = nullptr;
};

// The objects to which filters of lists apply.
[[nodiscard]] Field field_of(const model::Job& job);
[[nodiscard]] Field field_of(const model::Allocation& alloc);
[[nodiscard]] Field field_of(const model::Evaluation& eval);
[[nodiscard]] Field field_of(const model::Deployment& deployment);
[[nodiscard]] Field field_of(const model::Node& node);
[[nodiscard]] Field field_of(const model::NodePool& pool);
/// A stored object without C++ type: its JSON, whose objects are structures.
struct Record {
  json::Value value;
};
[[nodiscard]] Field field_of(const Record& record);

}  // namespace berth::http
