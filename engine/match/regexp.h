// Go regular expressions on RE2 (R-FEAS-641, 642).
//
// Go's syntax is RE2's with few differences: `(?<name>...)` is a named group, `\C` does not exist, and a subject with
// broken UTF-8 reads as if each bad byte were U+FFFD. Expressions are translated before they are compiled.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace berth::match {

/// A compiled expression. Matching is safe from several threads.
class Regexp {
 public:
  /// Null when Go would refuse the expression.
  [[nodiscard]] static std::shared_ptr<const Regexp> compile(std::string_view expression);
  ~Regexp();
  Regexp(const Regexp&) = delete;
  Regexp& operator=(const Regexp&) = delete;

  /// True iff some substring of `text` matches.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit Regexp(std::unique_ptr<re2::RE2> compiled);
  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace berth::match
