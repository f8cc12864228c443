// The text of ACL policies as a tree: HCL version 1, or the same as JSON (R-STORE-92, 122). What the blocks mean is
// policy.h's. HCL 1 is not the language of job files: several items may share a line, and an unquoted word is no value.
//
// Cost: linear in the text. Nesting is bounded, so that no text uses up the stack.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace berth::serve {

struct PolicyItem;

struct PolicyValue {
  enum class Kind : std::uint8_t { text, list, object, other };  ///< other: a number, a boolean, null
  Kind kind = Kind::other;
  std::string text;
  std::vector<PolicyValue> list;
  std::vector<PolicyItem> items;

  /// The first item of an object with this only key, or null.
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

/// The error is the parser's text alone.
[[nodiscard]] tl::expected<PolicyTree, std::string> parse_policy_text(std::string_view text);

}  // namespace berth::serve
