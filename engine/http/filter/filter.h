// Filter: an expression of the query parameter `filter` (R-API-75 to 79b), parsed once and applied to many objects.
//
//   filter.cc    applies the expression tree to an object
//   parser.h     parses text into the tree; errors have the reference's texts
//   field.h      finds the value of a selector in an object
// Threads: may be applied by several threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "http/filter/field.h"
#include "match/regexp.h"

namespace berth::http {

/// Path of a value: `Meta.rack`, `Meta["a-b"]`, `TaskGroups.0.Name`, or a JSON pointer.
struct Selector {
  std::vector<std::string> parts;
  [[nodiscard]] std::string pointer() const;  ///< for messages
};

enum class MatchKind : std::uint8_t { equal, contains, matches, is_empty, is_nil };

struct Expression {
  enum class Kind : std::uint8_t { any_of, all_of, negation, match, any_element, all_elements };
  Kind kind = Kind::match;
  std::vector<Expression> parts;  ///< of any_of, all_of; one part of a negation and of any, all
  // Of a match, or of the list or map whose elements are tested.
  Selector selector;
  MatchKind match = MatchKind::equal;
  bool negated = false;  ///< `!=`, `not in`, `is not empty`, ...
  std::string value;
  std::shared_ptr<const match::Regexp> pattern;
  std::string index_name, value_name;  ///< names of an element inside; empty: no name
};

class Filter {
 public:
  /// The error is only the parser's text.
  [[nodiscard]] static tl::expected<Filter, std::string> parse(std::string_view text);
  /// True if the object passes, or an error text.
  template <class Object>
  [[nodiscard]] tl::expected<bool, std::string> matches(const Object& object) const {
    return ask(field_of(object));
  }
  /// `x` if the filter is `member == x` or begins with `member == x and`: objects with another value do not pass, and
  /// give no error. Null: the filter begins with something else.
  [[nodiscard]] const std::string* first_equal(std::string_view member) const;
  /// True if the filter reads no other members of an object than these.
  [[nodiscard]] bool reads_only(std::span<const std::string_view> members) const;

 private:
  explicit Filter(Expression root) : root_(std::make_shared<const Expression>(std::move(root))) {}
  [[nodiscard]] tl::expected<bool, std::string> ask(const Field& object) const;

  std::shared_ptr<const Expression> root_;
};

}  // namespace berth::http
