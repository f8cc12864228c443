// Classifies the field types of model objects, for code that iterates over the fields of any object.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/retained_json.h"
#include "base/shared.h"
#include "base/shared_vector.h"

namespace berth::base {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_optional<SharedOptional<T>> : std::true_type {};
template <class T>
struct is_shared : std::false_type {};  ///< its value is behind `*`
template <class T>
struct is_shared<Shared<T>> : std::true_type {};
template <>
struct is_shared<json::Retained> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_vector<SharedVector<T>> : std::true_type {};
template <class T>
struct is_map : std::false_type {};
template <class T>
struct is_map<std::map<std::string, T>> : std::true_type {};

}  // namespace berth::base
