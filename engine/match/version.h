// Versions and lists of version constraints, the operands `version` and `semver` (R-FEAS-621 to 633).
//
// Parsing a list is done once per constraint; parsing a version once per distinct attribute value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::match {

enum class VersionGrammar : std::uint8_t {
  lenient,  ///< R-FEAS-622: `1.7rc1` is 1.7 with the prerelease `rc1`
  strict,   ///< R-FEAS-631: every prerelease follows a `-`
};

struct Version {
  std::vector<std::int64_t> segments;  ///< at least three, padded with zeros
  std::size_t written = 0;             ///< how many of them the text contained
  std::string prerelease;              ///< without the joining `-`; metadata is dropped, it never matters (R-FEAS-626)
};

/// The whole text must be a version; surrounding white space is not allowed.
[[nodiscard]] std::optional<Version> parse_version(std::string_view text,
                                                   VersionGrammar grammar = VersionGrammar::lenient);

/// -1, 0 or 1 (R-FEAS-625, 627). Not antisymmetric: prereleases `01` and `1` are each smaller than the other.
[[nodiscard]] int compare(const Version& a, const Version& b);

/// A comma-separated list of constraints; all elements must hold.
class VersionConstraints {
 public:
  enum class Rules : std::uint8_t {
    version,  ///< with `~>` and the prerelease guard (R-FEAS-628, 629)
    semver,   ///< strict grammar, plain order relations (R-FEAS-631, 633)
  };
  /// Returns nullopt if any element of the list is malformed (R-FEAS-624, 631).
  [[nodiscard]] static std::optional<VersionConstraints> parse(std::string_view text, Rules rules);

  /// `left` is parsed with the lenient grammar under both rules (R-FEAS-632); an unparsable one satisfies nothing.
  [[nodiscard]] bool satisfied_by(std::string_view left) const;
  [[nodiscard]] bool satisfied_by(const Version& version) const;

 private:
  enum class Relation : std::uint8_t { equal, not_equal, greater, less, greater_equal, less_equal, pessimistic };
  struct Element {
    Relation relation;
    Version version;
  };
  [[nodiscard]] static std::optional<Element> parse_element(std::string_view text, Rules rules);
  [[nodiscard]] bool holds(const Element& element, const Version& version) const;

  Rules rules_ = Rules::version;
  std::vector<Element> elements_;
};

}  // namespace berth::match
