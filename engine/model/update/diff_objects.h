// Building blocks of job differences (R-REG-500 to 512): objects of named fields, and Nomad's ways of comparing them.
// Part of job_diff.h. Blocks are JSON as the API prints them; an absent member counts as zero.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace berth::model::diff {

using json::Array;
using json::Value;
using Texts = std::map<std::string, std::string>;
/// A member, and the text to use if the block lacks it.
using Fields = std::initializer_list<std::pair<const char*, const char*>>;
using Pair = std::function<Value(const Value& before, const Value& after)>;
using Key = std::function<std::string(const Value&)>;

/// "args[0]", "logging[driver]": the leaves of a value as named texts (R-REG-502). Nulls are `nil` if `nulls`.
void flatten(const std::string& name, const Value& value, Texts& out, bool nulls = false);
/// The members of an object, flattened: `a[b]`.
[[nodiscard]] Texts flattened(const Value& object, bool nulls = false);
/// The named members of a block, and its maps of texts as `Meta[k]`; nothing if the block is absent.
[[nodiscard]] Texts scalars(const Value& block, Fields fields, std::initializer_list<const char*> maps = {});

enum class Equal : std::uint8_t { listed, left_out };  ///< fields that do not differ
[[nodiscard]] Value fields_of(const Texts& before, const Texts& after, Equal equal);

[[nodiscard]] Value object(std::string_view name, std::string_view type, Value fields, Value objects = {});
/// Deep comparison: null if both blocks are equal; Edited even if no member shows (R-REG-508 D).
[[nodiscard]] Value deep(std::string_view name, const Value& before, const Value& after, Value fields,
                         Value objects = {});
/// Comparison by fields: they determine the type; null if none differs (R-REG-508 P).
[[nodiscard]] Value by_fields(std::string_view name, const Texts& before, const Texts& after);
/// A list of texts, one field each; null if both are empty, or if they are equal and not `listed` (R-REG-508 T).
[[nodiscard]] Value text_set(std::string_view name, const Value& before, const Value& after, Equal equal);

/// Lists whose items have a key: items with the same key form a pair. Sorted (R-REG-510, 512).
void keyed(const Value& before, const Value& after, const Key& key, const Pair& pair, Value& out);
/// Lists compared by position. Sorted.
void positional(const Value& before, const Value& after, const Pair& pair, Value& out);
/// Sorts as Nomad does. Its order is not total for some objects, so the sorting method matters (R-REG-510, 511).
void sort_objects(Array& list);
void append(Value object, Value& out);   ///< unless it is null
void append(Array objects, Value& out);  ///< those that are not null, sorted

/// True if the two are equal; absent members of blocks count as zero.
[[nodiscard]] bool same(const Value& a, const Value& b);
[[nodiscard]] bool is_there(const Value& block);  ///< an object
[[nodiscard]] Value null_if_empty(Value list);

}  // namespace berth::model::diff
