#include "match/version.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace berth::match {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_identifier(char c) {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '~';
}
bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

/// Length of an identifier and further non-empty groups after dots; 0 if there is no identifier.
std::size_t dotted_identifier_length(std::string_view text) {
  std::size_t taken = 0;
  for (std::size_t i = 0;;) {
    const std::size_t group_begin = i;
    while (i < text.size() && is_identifier(text[i])) ++i;
    if (i == group_begin) return taken;
    taken = i;
    if (i == text.size() || text[i] != '.') return taken;
    ++i;
  }
}

/// One part of two prereleases, R-FEAS-627. The left one belongs to the node.
int compare_part(std::string_view p, std::string_view q) {
  if (p == q) return 0;
  const auto p_number = base::parse_int64(p), q_number = base::parse_int64(q);
  if (p.empty()) return q_number ? -1 : 1;
  if (q.empty()) return p_number ? 1 : -1;
  if (p_number && q_number) return *p_number > *q_number ? 1 : -1;  // equal numbers in different texts: smaller
  if (p_number) return -1;
  if (q_number) return 1;
  if (all_digits(p) && !all_digits(q)) return 1;  // p exceeds int64; only the left side then counts as greater
  return p < q ? -1 : 1;
}

int compare_prerelease(std::string_view a, std::string_view b) {
  const auto a_parts = base::split(a, '.'), b_parts = base::split(b, '.');
  for (std::size_t i = 0; i < std::max(a_parts.size(), b_parts.size()); ++i) {
    const auto p = i < a_parts.size() ? a_parts[i] : std::string_view();
    const auto q = i < b_parts.size() ? b_parts[i] : std::string_view();
    if (const int order = compare_part(p, q)) return order;
  }
  return 0;
}

/// A prerelease never satisfies a constraint without one, nor one on other segments (R-FEAS-628).
bool passes_prerelease_guard(const Version& v, const Version& c) {
  if (v.prerelease.empty()) return true;
  return !c.prerelease.empty() && v.segments == c.segments;
}

bool pessimistically_greater(const Version& v, const Version& c) {  // ~>, R-FEAS-629
  if (!passes_prerelease_guard(v, c)) return false;
  if (!c.prerelease.empty() && v.prerelease.empty()) return false;
  if (compare(v, c) < 0) return false;
  if (c.segments.size() > v.segments.size()) return false;
  for (std::size_t i = 0; i + 1 < c.written; ++i)
    if (v.segments[i] != c.segments[i]) return false;
  return v.segments[c.segments.size() - 1] >= c.segments.back();
}

std::string_view trim_ascii_space(std::string_view text) {  // R-FEAS-624: no vertical tab
  constexpr std::string_view kSpace = "\t\n\f\r ";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

std::optional<Version> parse_version(std::string_view text, VersionGrammar grammar) {
  Version out;
  if (text.starts_with('v')) text.remove_prefix(1);
  for (;;) {
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    const auto segment = base::parse_int64(text.substr(0, digits));
    if (!segment) return std::nullopt;
    out.segments.push_back(*segment);
    text.remove_prefix(digits);
    if (text.size() < 2 || text[0] != '.' || !is_digit(text[1])) break;
    text.remove_prefix(1);
  }
  out.written = out.segments.size();
  if (out.segments.size() < 3) out.segments.resize(3);

  if (!text.empty() && text[0] != '+') {
    // The joining `-` belongs to the prerelease only where nothing else could start it: `1.0-` gives `-`.
    const bool joined = text[0] == '-';
    std::string_view identifier = joined ? text.substr(1) : text;
    std::size_t length = dotted_identifier_length(identifier);
    if (grammar == VersionGrammar::strict && !joined) return std::nullopt;
    if (length == 0 && joined && grammar == VersionGrammar::lenient) {
      identifier = text;
      length = dotted_identifier_length(identifier);
    }
    if (length == 0) return std::nullopt;
    out.prerelease = identifier.substr(0, length);
    text = identifier.substr(length);
  }
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    const std::size_t length = dotted_identifier_length(text);
    if (length == 0) return std::nullopt;
    text.remove_prefix(length);
  }
  if (!text.empty()) return std::nullopt;
  return out;
}

int compare(const Version& a, const Version& b) {
  if (a.segments == b.segments) {
    if (a.prerelease.empty() != b.prerelease.empty()) return a.prerelease.empty() ? 1 : -1;
    return compare_prerelease(a.prerelease, b.prerelease);
  }
  const std::size_t common = std::min(a.segments.size(), b.segments.size());
  for (std::size_t i = 0; i < common; ++i)
    if (a.segments[i] != b.segments[i]) return a.segments[i] < b.segments[i] ? -1 : 1;
  const bool a_is_longer = a.segments.size() > common;
  const auto& longer = a_is_longer ? a.segments : b.segments;
  const bool rest_is_zero = std::all_of(longer.begin() + static_cast<std::ptrdiff_t>(common), longer.end(),
                                        [](std::int64_t segment) { return segment == 0; });
  if (rest_is_zero) return 0;  // prereleases are ignored here (R-FEAS-625)
  return a_is_longer ? 1 : -1;
}

std::optional<VersionConstraints::Element> VersionConstraints::parse_element(std::string_view text, Rules rules) {
  static constexpr std::pair<std::string_view, Relation> kRelations[] = {
      {">=", Relation::greater_equal}, {"<=", Relation::less_equal}, {"!=", Relation::not_equal},
      {"~>", Relation::pessimistic},   {"=", Relation::equal},       {">", Relation::greater},
      {"<", Relation::less},
  };
  text = trim_ascii_space(text);
  Relation relation = Relation::equal;
  for (const auto& [spelling, meaning] : kRelations) {
    if (!text.starts_with(spelling)) continue;
    relation = meaning;
    text.remove_prefix(spelling.size());
    break;
  }
  if (relation == Relation::pessimistic && rules == Rules::semver) return std::nullopt;
  const auto grammar = rules == Rules::semver ? VersionGrammar::strict : VersionGrammar::lenient;
  auto version = parse_version(trim_ascii_space(text), grammar);
  if (!version) return std::nullopt;
  return Element{relation, std::move(*version)};
}

std::optional<VersionConstraints> VersionConstraints::parse(std::string_view text, Rules rules) {
  VersionConstraints out;
  out.rules_ = rules;
  for (const std::string_view piece : base::split(text, ',')) {
    auto element = parse_element(piece, rules);
    if (!element) return std::nullopt;
    out.elements_.push_back(std::move(*element));
  }
  return out;
}

bool VersionConstraints::satisfied_by(std::string_view left) const {
  const auto version = parse_version(left);
  return version && satisfied_by(*version);
}

bool VersionConstraints::satisfied_by(const Version& version) const {
  return std::all_of(elements_.begin(), elements_.end(), [&](const Element& e) { return holds(e, version); });
}

bool VersionConstraints::holds(const Element& element, const Version& version) const {
  const Version& c = element.version;
  const bool guarded = rules_ == Rules::semver || passes_prerelease_guard(version, c);
  switch (element.relation) {
    case Relation::equal:
      return compare(version, c) == 0;
    case Relation::not_equal:
      return compare(version, c) != 0;
    case Relation::greater:
      return guarded && compare(version, c) > 0;
    case Relation::less:
      return guarded && compare(version, c) < 0;
    case Relation::greater_equal:
      return guarded && compare(version, c) >= 0;
    case Relation::less_equal:
      return guarded && compare(version, c) <= 0;
    case Relation::pessimistic:
      return pessimistically_greater(version, c);
  }
  return false;
}

}  // namespace berth::match
