// Members of JSON objects that may have many: Value::find() compares one by one, which is right for the few keys of an
// object of the API, and a square for a map of the user's own.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace berth::json {

/// Finds members at a cost that grows with the logarithm of their number. The object must outlive it, unchanged.
class MemberIndex {
 public:
  explicit MemberIndex(const Value& object);
  [[nodiscard]] const Value* find(std::string_view key) const;  ///< as Value::find()

 private:
  const Value& object_;
  std::vector<const Member*> sorted_;
};

/// Members of an object by key, so that an object of many members is written in linear time.
class MemberWriter {
 public:
  explicit MemberWriter(Value& object) : members_(object.members()) {
    for (std::size_t i = 0; i < members_.size(); ++i) at_.insert_or_assign(members_[i].key, i);
  }
  void set(const std::string& key, Value value) {  ///< as Value::set()
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

/// The members of `over` replace or join those of `into`.
void merge_members(const Object& over, Value& into);

/// A text that is the same for two values exactly if they are equal_ignoring_member_order().
void append_canonical(std::string& out, const Value& value);

}  // namespace berth::json
