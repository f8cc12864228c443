// Filter: an expression of the query parameter `filter` (R-API-75 to 79b), parsed once and asked of many objects.
//
//   filter.cc    the expression as a tree, and what it says of an object
//   parser.h     text into the tree; errors read as the reference's
//   field.h      how a selector finds its way through an object
// Threads: asking is safe from several threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "match/regexp.h"
#include "serve/filter/field.h"

namespace berth::serve {

/// A way to a value: `Meta.rack`, `Meta["a-b"]`, `TaskGroups.0.Name`, or a JSON pointer.
struct Selector {
  std::vector<std::string> parts;
  [[nodiscard]] std::string pointer() const;  ///< for messages
};

enum class MatchKind : std::uint8_t { equal, contains, matches, is_empty, is_nil };

struct Expression {
  enum class Kind : std::uint8_t { any_of, all_of, negation, match, any_element, all_elements };
  Kind kind = Kind::match;
  std::vector<Expression> parts;  ///< of any_of, all_of; one of a negation and of the two over elements
  // A match, or the list or map whose elements are looked at.
  Selector selector;
  MatchKind match = MatchKind::equal;
  bool negated = false;  ///< `!=`, `not in`, `is not empty`, ...
  std::string value;
  std::shared_ptr<const match::Regexp> pattern;
  std::string index_name, value_name;  ///< what an element is called inside; empty: it has no name
};

class Filter {
 public:
  /// The error is the parser's text alone.
  [[nodiscard]] static tl::expected<Filter, std::string> parse(std::string_view text);
  /// Whether the object passes, or why that cannot be said.
  template <class Object>
  [[nodiscard]] tl::expected<bool, std::string> matches(const Object& object) const {
    return ask(field_of(object));
  }

 private:
  explicit Filter(Expression root) : root_(std::make_shared<const Expression>(std::move(root))) {}
  [[nodiscard]] tl::expected<bool, std::string> ask(const Field& object) const;

  std::shared_ptr<const Expression> root_;
};

}  // namespace berth::serve
