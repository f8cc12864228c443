// Parses the text of ACL policies to a tree: HCL version 1, or the same as JSON (R-STORE-92, 122). policy.h interprets
// the blocks. HCL 1 differs from the language of job files: several items may share a line, and an unquoted word is not
// a value.
//
// Cost: linear in the text. Nesting is limited, so that no text exhausts the stack.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace berth::http {

struct PolicyItem;

struct PolicyValue {
  enum class Kind : std::uint8_t { text, list, object, other };  ///< other: a number, a boolean, null
  Kind kind = Kind::other;
  std::string text;
  std::vector<PolicyValue> list;
  std::vector<PolicyItem> items;

  /// The first item of an object with this key as its only one, or null.
  [[nodiscard]] const PolicyValue* find(std::string_view key) const;
};

/// `a "b" { ... }` has the keys a and b. In JSON form each member has one.
struct PolicyItem {
  std::vector<std::string> keys;
  PolicyValue value;
};

struct PolicyTree {
  std::vector<PolicyItem> items;
  bool is_json = false;
};

/// The error is only the parser's text.
[[nodiscard]] tl::expected<PolicyTree, std::string> parse_policy_text(std::string_view text);

}  // namespace berth::http
