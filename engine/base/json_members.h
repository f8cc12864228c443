// Member lookup for JSON objects with many members. Value::find() compares keys one by one, which is fine for the few
// keys of an API object but quadratic for a user's own map.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace berth::json {

/// Finds a member in logarithmic time. The object must outlive the index, unchanged.
class MemberIndex {
 public:
  explicit MemberIndex(const Value& object);
  [[nodiscard]] const Value* find(std::string_view key) const;  ///< like Value::find()

 private:
  const Value& object_;
  std::vector<const Member*> sorted_;
};

/// Builds an object by key in linear time, also if it has many members.
class MemberWriter {
 public:
  explicit MemberWriter(Value& object) : members_(object.members()) {
    for (std::size_t i = 0; i < members_.size(); ++i) at_.insert_or_assign(members_[i].key, i);
  }
  void set(const std::string& key, Value value) {  ///< like Value::set()
    const auto [at, fresh] = at_.emplace(key, members_.size());
    if (fresh)
      members_.push_back({key, std::move(value)});
    else
      members_[at->second].value = std::move(value);
  }

 private:
  Object& members_;
  std::unordered_map<std::string, std::size_t> at_;
};

/// Copies the members of `over` into `into`, replacing those with the same key.
void merge_members(const Object& over, Value& into);

/// Appends a text that is equal for two values exactly if they are equal_ignoring_member_order().
void append_canonical(std::string& out, const Value& value);

}  // namespace berth::json
