// Members of JSON objects that may have many: Value::find() compares one by one, which is right for the few keys of an
// object of the API, and a square for a map of the user's own.
#pragma once

#include <string>
#include <string_view>
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

/// A text that is the same for two values exactly if they are equal_ignoring_member_order().
void append_canonical(std::string& out, const Value& value);

}  // namespace berth::json
