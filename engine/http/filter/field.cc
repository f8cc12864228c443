#include "http/filter/field.h"

#include <concepts>
#include <type_traits>

#include "base/json.h"
#include "base/type_kinds.h"
#include "model/job.h"

namespace berth::http {
namespace {

using base::is_map;
using base::is_optional;
using base::is_vector;

template <class T>
Field field(const T& value);
Field json_field(const json::Value& value);

/// Finds the member of a structure by name.
struct Picker {
  std::string_view name;
  std::optional<Field> found;

  template <class T>
  void operator()(std::string_view key, const T& value) {
    if (key == name) found = field(value);
  }
  void job(std::string_view key, const std::shared_ptr<const model::Job>& job) {
    if (key == name) found = job ? field(*job) : Field();
  }
  /// Members that the model stores only as JSON. `Drain` is printed, but is no field of a stored node.
  void extra(const json::Value& extra) {
    if (found || name == "Drain") return;
    if (const json::Value* value = extra.find(name)) found = json_field(*value);
  }
};

template <class T>
constexpr Field::Shape kStructure{.member = [](const void* object, std::string_view name) -> std::optional<Field> {
  Picker picker{name, {}};
  T::fields(*static_cast<const T*>(object), picker);
  return picker.found;
}};

template <class T>
constexpr Field::Shape kList{.each =
                                 [](const void* object, const Field::Shape::Visit& visit) {
                                   std::size_t index = 0;
                                   for (const auto& item : *static_cast<const T*>(object))
                                     if (!visit(index++, {}, field(item))) return;
                                 },
                             .size = [](const void* object) { return static_cast<const T*>(object)->size(); }};

template <class T>
constexpr Field::Shape kMap{.member = [](const void* object, std::string_view name) -> std::optional<Field> {
                              const T& map = *static_cast<const T*>(object);
                              const auto found = map.find(std::string(name));
                              if (found == map.end()) return {};
                              return field(found->second);
                            },
                            .each =
                                [](const void* object, const Field::Shape::Visit& visit) {
                                  std::size_t index = 0;
                                  for (const auto& [key, value] : *static_cast<const T*>(object))
                                    if (!visit(index++, key, field(value))) return;
                                },
                            .size = [](const void* object) { return static_cast<const T*>(object)->size(); }};

// Blocks that the model stores as JSON: an object may be a map or a structure, and is treated as a map.
constexpr Field::Shape kJsonObject{
    .member = [](const void* object, std::string_view name) -> std::optional<Field> {
      const json::Value* found = static_cast<const json::Value*>(object)->find(name);
      if (!found) return {};
      return json_field(*found);
    },
    .each =
        [](const void* object, const Field::Shape::Visit& visit) {
          std::size_t index = 0;
          for (const json::Member& member : static_cast<const json::Value*>(object)->members())
            if (!visit(index++, member.key, json_field(member.value))) return;
        },
    .size = [](const void* object) { return static_cast<const json::Value*>(object)->size(); }};
constexpr Field::Shape kJsonArray{
    .each =
        [](const void* object, const Field::Shape::Visit& visit) {
          std::size_t index = 0;
          for (const json::Value& item : static_cast<const json::Value*>(object)->items())
            if (!visit(index++, {}, json_field(item))) return;
        },
    .size = [](const void* object) { return static_cast<const json::Value*>(object)->size(); }};
// A record's objects: their members are fields.
Field record_field(const json::Value& value);
constexpr Field::Shape kRecord{.member = [](const void* object, std::string_view name) -> std::optional<Field> {
  const json::Value* found = static_cast<const json::Value*>(object)->find(name);
  if (!found) return {};
  return record_field(*found);
}};
constexpr Field::Shape kTime{.member = [](const void*, std::string_view) -> std::optional<Field> { return {}; }};

Field json_field(const json::Value& value) {
  if (value.is_bool()) return Field::of(value.as_bool());
  if (value.is_int64()) return Field::of(value.as_int());
  if (value.is_uint64()) return Field::of(value.as_uint());
  if (value.is_double()) return Field::of(value.as_double());
  if (value.is_string()) return Field::of(std::string_view(value.as_string()));
  if (value.is_array()) return {FieldKind::list, &value, &kJsonArray};
  if (value.is_object()) return {FieldKind::map, &value, &kJsonObject};
  return {};
}

Field record_field(const json::Value& value) {
  if (value.is_object()) return {FieldKind::structure, &value, &kRecord};
  return json_field(value);
}

template <class T>
Field field(const T& value) {
  if constexpr (std::same_as<T, json::Value>) {
    return json_field(value);
  } else if constexpr (base::is_shared<T>::value) {
    return field(*value);
  } else if constexpr (is_optional<T>::value) {
    return value ? field(*value) : Field();
  } else if constexpr (std::same_as<T, base::Time>) {
    return {FieldKind::structure, &value, &kTime};
  } else if constexpr (std::same_as<T, std::string>) {
    return Field::of(std::string_view(value));
  } else if constexpr (std::same_as<T, bool>) {
    return Field::of(value);
  } else if constexpr (std::signed_integral<T>) {
    return Field::of(static_cast<std::int64_t>(value));
  } else if constexpr (std::unsigned_integral<T>) {
    return Field::of(static_cast<std::uint64_t>(value));
  } else if constexpr (std::floating_point<T>) {
    return Field::of(static_cast<double>(value));
  } else if constexpr (is_vector<T>::value) {
    return {FieldKind::list, &value, &kList<T>};
  } else if constexpr (is_map<T>::value) {
    return {FieldKind::map, &value, &kMap<T>};
  } else {
    return {FieldKind::structure, &value, &kStructure<T>};
  }
}

}  // namespace

const char* kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::nil:
      return "invalid";
    case FieldKind::boolean:
      return "bool";
    case FieldKind::integer:
      return "int";
    case FieldKind::unsigned_integer:
      return "uint64";
    case FieldKind::floating:
      return "float64";
    case FieldKind::text:
      return "string";
    case FieldKind::list:
      return "slice";
    case FieldKind::map:
      return "map";
    case FieldKind::structure:
      return "struct";
  }
  return "";
}

Field Field::of(bool value) {
  Field out(FieldKind::boolean, nullptr, nullptr);
  out.number_.b = value;
  return out;
}
Field Field::of(std::int64_t value) {
  Field out(FieldKind::integer, nullptr, nullptr);
  out.number_.i = value;
  return out;
}
Field Field::of(std::uint64_t value) {
  Field out(FieldKind::unsigned_integer, nullptr, nullptr);
  out.number_.u = value;
  return out;
}
Field Field::of(double value) {
  Field out(FieldKind::floating, nullptr, nullptr);
  out.number_.d = value;
  return out;
}
Field Field::of(std::string_view value) {
  Field out(FieldKind::text, nullptr, nullptr);
  out.text_ = value;
  return out;
}

std::size_t Field::size() const { return kind_ == FieldKind::text ? text_.size() : shape_->size(object_); }

Field field_of(const model::Job& job) { return field(job); }
Field field_of(const model::Allocation& alloc) { return field(alloc); }
Field field_of(const model::Evaluation& eval) { return field(eval); }
Field field_of(const model::Deployment& deployment) { return field(deployment); }
Field field_of(const model::Node& node) { return field(node); }
Field field_of(const model::NodePool& pool) { return field(pool); }
Field field_of(const Record& record) { return record_field(record.value); }

}  // namespace berth::http
