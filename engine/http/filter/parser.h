// The grammar of filter expressions (R-API-76, 77) by recursive descent, one method per rule.
//
// The message of a syntax error names the farthest position reached and all tokens expected there, sorted, like those
// of generated parsers. Tools show that text to users, and tests compare it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "http/filter/filter.h"

namespace berth::http {

class FilterParser {
 public:
  /// Deeper nesting is refused, because a request must not exhaust the stack.
  static constexpr int kMaxDepth = 100;

  explicit FilterParser(std::string_view text) : text_(text) {}
  [[nodiscard]] tl::expected<Expression, std::string> parse();

 private:
  // Each rule advances and returns true, or returns false without advancing.
  bool any_of(Expression& out);
  bool all_of(Expression& out);
  bool operand(Expression& out);
  bool negation(Expression& out);
  bool group(Expression& out);
  bool over_elements(Expression& out);
  bool element_names(Expression& out);
  bool match(Expression& out);
  bool match_selector(Expression& out);
  bool match_in(Expression& out);
  bool comparison(Expression& out);
  bool word_match(Expression& out);
  bool selector(Selector& out);
  bool selector_part(Selector& out);
  bool pointer(Selector& out);
  bool value(std::string& out);
  bool number(std::string& out);
  bool text(std::string& out);
  bool identifier(std::string& out);

  bool literal(std::string_view word, const char* shown);
  bool space();           ///< one or more
  bool optional_space();  ///< always true
  bool spaced(std::string_view word, const char* shown);
  template <class Test>
  bool character(Test test, const char* shown, std::string* out = nullptr);
  /// Records a token expected at the current position.
  bool expected(const char* what);
  /// Records an error that no other rule can resolve.
  bool broken(std::string_view rule, std::string_view message);
  [[nodiscard]] std::string at(std::size_t position) const;
  [[nodiscard]] std::string no_match() const;

  const std::string_view text_;
  std::size_t position_ = 0, farthest_ = 0;
  int depth_ = 0;
  std::set<std::string> expected_;  // at `farthest_`
  std::string broken_;              // the first of these errors
};

}  // namespace berth::http
