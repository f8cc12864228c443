// Operands of constraints and affinities on node texts (R-FEAS-601 to 652), and compiled constraints.
//
// Three interfaces, from fast to general:
//   Matcher        right side fixed; parsed once, then applied to each distinct left value of a column
//   Constraint     a whole constraint, compiled: two targets, operand, and the Matcher where the right side is fixed
//   evaluate()     both sides vary; compiled right sides are cached in a Patterns
// Threads: a Matcher and a Constraint are read-only after construction and may be shared. A Patterns belongs to one
// thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "match/regexp.h"
#include "match/target.h"
#include "match/version.h"

namespace berth::match {

enum class Operand : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  is_set,
  is_not_set,
  version,
  semver,
  regexp,
  set_contains_all,  ///< also spelled set_contains (R-FEAS-608)
  set_contains_any,
  distinct_hosts,     ///< true here; enforced by its own stage (R-FEAS-602)
  distinct_property,  ///< true here; enforced by its own stage
  unknown,            ///< false (R-FEAS-601)
};

/// Spellings are exact; anything else is `unknown`.
[[nodiscard]] Operand parse_operand(std::string_view text);

/// Cache of compiled right sides of `version`, `semver` and `regexp`, each text once. Null = malformed, which counts as
/// false. When a list has doubled, those that no constraint holds any more are erased.
class Patterns {
 public:
  [[nodiscard]] std::shared_ptr<const Regexp> regexp(std::string_view expression);
  [[nodiscard]] std::shared_ptr<const VersionConstraints> version(std::string_view list);
  [[nodiscard]] std::shared_ptr<const VersionConstraints> semver(std::string_view list);

 private:
  template <class T>
  struct List {
    using Pattern = T;
    std::unordered_map<std::string, std::shared_ptr<const T>> by_text;
    std::size_t left = 0;  ///< number of entries after the last erasure
  };
  List<Regexp> regexps_;
  List<VersionConstraints> versions_, semvers_;
};

/// An operand with its compiled right side, to be applied to many left sides. Owns all its data.
class Matcher {
 public:
  Matcher(Operand operand, Side right, Patterns& patterns);
  [[nodiscard]] bool operator()(Side left) const;

 private:
  Operand operand_;
  bool right_found_;
  std::string right_;
  std::optional<std::int64_t> right_int_;           // ordered comparison, R-FEAS-611
  std::optional<double> right_double_;              // as right_int_
  std::shared_ptr<const Regexp> regexp_;            // regexp
  std::shared_ptr<const VersionConstraints> list_;  // version, semver
  std::vector<std::string> set_;                    // set_contains_*: trimmed elements of the right side, sorted
};

/// One evaluation with both sides varying. Prefer Matcher if the right side is fixed.
[[nodiscard]] bool evaluate(Operand operand, Side left, Side right, Patterns& patterns);

/// The elements of a set text: split on commas, Unicode white space trimmed, empty ones kept (R-FEAS-651).
[[nodiscard]] std::vector<std::string_view> set_elements(std::string_view text);

/// set_contains_all and set_contains_any on set texts (R-FEAS-652).
[[nodiscard]] bool set_contains(Operand operand, std::string_view left, std::string_view right);

/// A constraint or an affinity, compiled.
struct Constraint {
  Target left, right;
  Operand operand = Operand::unknown;
  std::optional<Matcher> fixed;  ///< present iff right.is_fixed()
};

[[nodiscard]] Constraint compile(std::string_view ltarget, std::string_view operand, std::string_view rtarget,
                                 Patterns& patterns);

/// True if the constraint holds for sides already resolved. `right` is ignored if the right side is fixed.
[[nodiscard]] bool holds(const Constraint& constraint, Side left, Side right, Patterns& patterns);
/// True if the constraint holds on `node`.
[[nodiscard]] bool holds(const Constraint& constraint, const model::Node& node, Patterns& patterns);

}  // namespace berth::match
