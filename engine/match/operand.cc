#include "match/operand.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"

namespace berth::match {
namespace {

template <class T>
bool relation_holds(Operand operand, const T& left, const T& right) {
  switch (operand) {
    case Operand::less:
      return left < right;
    case Operand::less_equal:
      return left <= right;
    case Operand::greater:
      return left > right;
    default:
      return left >= right;
  }
}

/// Below this number of entries none is erased: constraints with two varying sides hold none, but compare every node.
constexpr std::size_t kPatternsKept = 4096;

template <class List, class Make>
std::shared_ptr<const typename List::Pattern> find_or_make(List& list, std::string_view text, Make make) {
  const auto [it, is_new] = list.by_text.try_emplace(std::string(text));
  if (!is_new) return it->second;
  const auto made = it->second = make(text);
  if (list.by_text.size() > 2 * list.left + kPatternsKept) {
    std::erase_if(list.by_text, [](const auto& entry) { return entry.second.use_count() <= 1; });
    list.left = list.by_text.size();
  }
  return made;
}

std::shared_ptr<const VersionConstraints> compile_list(std::string_view text, VersionConstraints::Rules rules) {
  auto list = VersionConstraints::parse(text, rules);
  return list ? std::make_shared<const VersionConstraints>(std::move(*list)) : nullptr;
}

bool is_order(Operand operand) {
  return operand == Operand::less || operand == Operand::less_equal || operand == Operand::greater ||
         operand == Operand::greater_equal;
}

template <class RightElements>
bool contains(Operand operand, std::string_view left, const RightElements& right) {
  const auto left_elements = set_elements(left);
  const auto is_in_left = [&](const auto& element) {
    return std::find(left_elements.begin(), left_elements.end(), element) != left_elements.end();
  };
  return operand == Operand::set_contains_any ? std::any_of(right.begin(), right.end(), is_in_left)
                                              : std::all_of(right.begin(), right.end(), is_in_left);
}

}  // namespace

Operand parse_operand(std::string_view text) {
  static constexpr std::pair<std::string_view, Operand> kSpellings[] = {
      {"=", Operand::equal},
      {"==", Operand::equal},
      {"is", Operand::equal},
      {"!=", Operand::not_equal},
      {"not", Operand::not_equal},
      {"<", Operand::less},
      {"<=", Operand::less_equal},
      {">", Operand::greater},
      {">=", Operand::greater_equal},
      {"is_set", Operand::is_set},
      {"is_not_set", Operand::is_not_set},
      {"version", Operand::version},
      {"semver", Operand::semver},
      {"regexp", Operand::regexp},
      {"set_contains", Operand::set_contains_all},
      {"set_contains_all", Operand::set_contains_all},
      {"set_contains_any", Operand::set_contains_any},
      {"distinct_hosts", Operand::distinct_hosts},
      {"distinct_property", Operand::distinct_property},
  };
  for (const auto& [spelling, operand] : kSpellings)
    if (text == spelling) return operand;
  return Operand::unknown;
}

std::shared_ptr<const Regexp> Patterns::regexp(std::string_view expression) {
  return find_or_make(regexps_, expression, Regexp::compile);
}
std::shared_ptr<const VersionConstraints> Patterns::version(std::string_view list) {
  return find_or_make(versions_, list,
                      [](std::string_view text) { return compile_list(text, VersionConstraints::Rules::version); });
}
std::shared_ptr<const VersionConstraints> Patterns::semver(std::string_view list) {
  return find_or_make(semvers_, list,
                      [](std::string_view text) { return compile_list(text, VersionConstraints::Rules::semver); });
}

Matcher::Matcher(Operand operand, Side right, Patterns& patterns)
    : operand_(operand), right_found_(right.found), right_(right.text) {
  if (is_order(operand)) {
    right_int_ = base::parse_int64(right_);
    right_double_ = base::parse_double(right_);
  } else if (operand == Operand::version && right_found_) {
    list_ = patterns.version(right_);
  } else if (operand == Operand::semver && right_found_) {
    list_ = patterns.semver(right_);
  } else if (operand == Operand::regexp && right_found_) {
    regexp_ = patterns.regexp(right_);
  } else if (operand == Operand::set_contains_all || operand == Operand::set_contains_any) {
    for (const std::string_view element : set_elements(right_)) set_.emplace_back(element);
    std::sort(set_.begin(), set_.end());
  }
}

bool Matcher::operator()(Side left) const {
  switch (operand_) {
    case Operand::equal:
      return left.found && right_found_ && left.text == right_;
    case Operand::not_equal:
      return left.text != right_;  // an unresolved side counts as the empty text (R-FEAS-604)
    case Operand::less:
    case Operand::less_equal:
    case Operand::greater:
    case Operand::greater_equal: {
      if (!left.found || !right_found_) return false;
      if (right_int_)
        if (const auto left_int = base::parse_int64(left.text)) return relation_holds(operand_, *left_int, *right_int_);
      if (right_double_)
        if (const auto left_double = base::parse_double(left.text))
          return relation_holds(operand_, *left_double, *right_double_);
      return relation_holds(operand_, left.text, std::string_view(right_));
    }
    case Operand::is_set:
      return left.found;
    case Operand::is_not_set:
      return !left.found;
    case Operand::version:
    case Operand::semver:
      return left.found && list_ && list_->satisfied_by(left.text);
    case Operand::regexp:
      return left.found && regexp_ && regexp_->matches(left.text);
    case Operand::set_contains_all:
      return left.found && right_found_ && contains(operand_, left.text, set_);
    case Operand::set_contains_any: {  // a node has one element or few, a constraint may list many
      if (!left.found || !right_found_) return false;
      const auto elements = set_elements(left.text);
      return std::any_of(elements.begin(), elements.end(), [&](std::string_view element) {
        return std::binary_search(set_.begin(), set_.end(), element, std::less<std::string_view>());
      });
    }
    case Operand::distinct_hosts:
    case Operand::distinct_property:
      return true;
    case Operand::unknown:
      break;
  }
  return false;
}

bool evaluate(Operand operand, Side left, Side right, Patterns& patterns) {
  return Matcher(operand, right, patterns)(left);
}

std::vector<std::string_view> set_elements(std::string_view text) {
  auto elements = base::split(text, ',');
  for (std::string_view& element : elements) element = base::trim_space(element);
  return elements;
}

bool set_contains(Operand operand, std::string_view left, std::string_view right) {
  return contains(operand, left, set_elements(right));
}

Constraint compile(std::string_view ltarget, std::string_view operand, std::string_view rtarget, Patterns& patterns) {
  Constraint out{parse_target(ltarget), parse_target(rtarget), parse_operand(operand), std::nullopt};
  if (out.right.is_fixed()) out.fixed.emplace(out.operand, fixed_side(out.right), patterns);
  return out;
}

bool holds(const Constraint& constraint, Side left, Side right, Patterns& patterns) {
  return constraint.fixed ? (*constraint.fixed)(left) : evaluate(constraint.operand, left, right, patterns);
}

bool holds(const Constraint& constraint, const model::Node& node, Patterns& patterns) {
  const Side left = resolve(constraint.left, node);
  if (constraint.fixed) return (*constraint.fixed)(left);
  return evaluate(constraint.operand, left, resolve(constraint.right, node), patterns);
}

}  // namespace berth::match
