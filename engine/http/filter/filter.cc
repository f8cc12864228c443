#include "http/filter/filter.h"

#include <algorithm>

#include "base/text.h"
#include "http/filter/parser.h"

namespace berth::http {
namespace {

using Answer = tl::expected<bool, std::string>;

/// Names of elements inside `any` and `all`, innermost last.
struct Names {
  const Names* outer = nullptr;
  std::string_view name;
  Field field;
};

tl::unexpected<std::string> not_found(const Selector& selector, std::string_view rest) {
  return tl::unexpected("error finding value in datum: " + selector.pointer() + std::string(rest));
}

/// Finds the field of a selector; nullopt: the last part is a key that its map does not have.
tl::expected<std::optional<Field>, std::string> find(const Selector& selector, const Field& object,
                                                     const Names* names) {
  Field current = object;
  std::size_t part = 0;
  for (; names; names = names->outer) {
    if (names->name.empty() || names->name != selector.parts.front()) continue;
    current = names->field, part = 1;
    break;
  }
  for (; part < selector.parts.size(); ++part) {
    const std::string& name = selector.parts[part];
    const std::string place = " at part " + std::to_string(part) + ": ";
    std::optional<Field> next;
    switch (current.kind()) {
      case FieldKind::structure:
        next = current.member(name);
        if (!next)
          return not_found(selector, place + "couldn't find key: struct field with name " + base::go_quote(name));
        break;
      case FieldKind::map:
        next = current.member(name);
        if (next) break;
        if (part + 1 == selector.parts.size()) return std::optional<Field>();
        return not_found(selector, place + "couldn't find key " + base::go_quote(name));
      case FieldKind::list: {
        const auto index = base::parse_uint64(name);
        if (!index)
          return not_found(selector, place + "couldn't convert " + base::go_quote(name) + " to an index of a list");
        if (*index >= current.size())
          return not_found(
              selector, place + "index " + name + " is out of range (length = " + std::to_string(current.size()) + ")");
        current.each([&](std::size_t at, std::string_view, const Field& item) {
          if (at == *index) next = item;
          return at < *index;
        });
        break;
      }
      default:
        return not_found(selector,
                         ": at part " + std::to_string(part) + ", invalid value kind: " + kind_name(current.kind()));
    }
    current = *next;
  }
  return std::optional(current);
}

tl::unexpected<std::string> bad_value(const char* function, const std::string& value) {
  const std::size_t sign = value.starts_with('-') || value.starts_with('+') ? 1 : 0;
  const bool digits = value.size() > sign && value.find_first_not_of("0123456789", sign) == std::string::npos;
  const bool range = digits && !(sign && std::string_view(function) == "ParseUint");
  return tl::unexpected(std::string("error getting match value in expression: strconv.") + function + ": parsing " +
                        base::go_quote(value) + (range ? ": value out of range" : ": invalid syntax"));
}

Answer equals(const Field& field, const std::string& value) {
  switch (field.kind()) {
    case FieldKind::text:
      return field.text() == value;
    case FieldKind::boolean:
      if (const auto wanted = base::parse_bool(value)) return field.boolean() == *wanted;
      return bad_value("ParseBool", value);
    case FieldKind::integer:
      if (const auto wanted = base::parse_int64(value)) return field.integer() == *wanted;
      return bad_value("ParseInt", value);
    case FieldKind::unsigned_integer:
      if (const auto wanted = base::parse_uint64(value)) return field.unsigned_integer() == *wanted;
      return bad_value("ParseUint", value);
    case FieldKind::floating:
      if (const auto wanted = base::parse_double(value)) return field.floating() == *wanted;
      return bad_value("ParseFloat", value);
    default:
      return tl::unexpected(std::string("unable to find suitable primitive comparison function for matching"));
  }
}

Answer contains(const Field& field, const std::string& value, const Selector& selector) {
  switch (field.kind()) {
    case FieldKind::nil:
      return false;
    case FieldKind::text:
      return field.text().find(value) != std::string_view::npos;
    case FieldKind::map:
      return field.member(value).has_value();
    case FieldKind::list: {
      Answer found = false;
      field.each([&](std::size_t, std::string_view, const Field& item) {
        found = equals(item, value);
        return found.has_value() && !*found;
      });
      return found;
    }
    default:
      return tl::unexpected(std::string("cannot perform in/contains operations on type ") + kind_name(field.kind()) +
                            " for selector: \"" + base::join(selector.parts, ".") + "\"");
  }
}

Answer holds(const Expression& match, const Field& field) {
  switch (match.match) {
    case MatchKind::equal:
      return equals(field, match.value);
    case MatchKind::contains:
      return contains(field, match.value, match.selector);
    case MatchKind::matches:
      if (field.kind() == FieldKind::text) return match.pattern->matches(field.text());
      return tl::unexpected(std::string("value of type ") + kind_name(field.kind()) +
                            " cannot be matched by a regular expression");
    case MatchKind::is_empty:
      if (field.kind() == FieldKind::nil) return true;
      if (field.kind() == FieldKind::text || field.has_elements()) return field.size() == 0;
      return tl::unexpected(std::string("cannot perform is empty operation on type ") + kind_name(field.kind()) +
                            " for selector: \"" + base::join(match.selector.parts, ".") + "\"");
    case MatchKind::is_nil:
      // The model does not distinguish empty lists and maps from absent ones.
      return field.kind() == FieldKind::nil || (field.has_elements() && field.size() == 0);
  }
  return false;
}

Answer ask_match(const Expression& match, const Field& object, const Names* names) {
  const auto field = find(match.selector, object, names);
  if (!field) return tl::unexpected(field.error());
  // A missing key equals, contains and matches nothing, and is empty.
  Answer answer = match.match == MatchKind::is_empty || match.match == MatchKind::is_nil;
  if (*field) answer = holds(match, **field);
  if (answer) *answer = *answer != match.negated;
  return answer;
}

Answer ask_expression(const Expression& expression, const Field& object, const Names* names);

Answer ask_elements(const Expression& expression, const Field& object, const Names* names) {
  const bool any = expression.kind == Expression::Kind::any_element;
  const auto field = find(expression.selector, object, names);
  if (!field) return tl::unexpected(field.error());
  if (!*field || (*field)->kind() == FieldKind::nil) return !any;
  if (!(*field)->has_elements())
    return tl::unexpected(std::string(any ? "any" : "all") + " cannot be asked of the type " +
                          kind_name((*field)->kind()) + " of selector \"" + base::join(expression.selector.parts, ".") +
                          "\"");
  const bool map = (*field)->kind() == FieldKind::map;
  const bool one_name = !expression.value.empty();
  Answer answer = !any;
  (*field)->each([&](std::size_t index, std::string_view key, const Field& value) {
    const Field position = map ? Field::of(key) : Field::of(static_cast<std::int64_t>(index));
    const Names by_index{names, expression.index_name, position};
    const Names by_value{&by_index, expression.value_name, one_name && map ? position : value};
    answer = ask_expression(expression.parts.front(), object, &by_value);
    return answer.has_value() && *answer != any;
  });
  return answer;
}

Answer ask_expression(const Expression& expression, const Field& object, const Names* names) {
  switch (expression.kind) {
    case Expression::Kind::match:
      return ask_match(expression, object, names);
    case Expression::Kind::any_element:
    case Expression::Kind::all_elements:
      return ask_elements(expression, object, names);
    case Expression::Kind::negation: {
      Answer answer = ask_expression(expression.parts.front(), object, names);
      if (answer) *answer = !*answer;
      return answer;
    }
    case Expression::Kind::any_of:
    case Expression::Kind::all_of: {
      const bool decisive = expression.kind == Expression::Kind::any_of;
      for (const Expression& part : expression.parts)
        if (const Answer answer = ask_expression(part, object, names); !answer || *answer == decisive) return answer;
      return !decisive;
    }
  }
  return false;
}

}  // namespace

std::string Selector::pointer() const { return "/" + base::join(parts, "/"); }

tl::expected<Filter, std::string> Filter::parse(std::string_view text) {
  auto expression = FilterParser(text).parse();
  if (!expression) return tl::unexpected(std::move(expression.error()));
  return Filter(std::move(*expression));
}

const std::string* Filter::first_equal(std::string_view member) const {
  const Expression* first = root_.get();
  while (first->kind == Expression::Kind::all_of) first = &first->parts.front();
  const bool is_equality =
      first->kind == Expression::Kind::match && first->match == MatchKind::equal && !first->negated;
  const std::vector<std::string>& selected = first->selector.parts;
  return is_equality && selected.size() == 1 && selected.front() == member ? &first->value : nullptr;
}

bool Filter::reads_only(std::span<const std::string_view> members) const {
  const auto only = [&](const auto& self, const Expression& part) -> bool {
    const std::vector<std::string>& selected = part.selector.parts;
    if (!selected.empty() && std::find(members.begin(), members.end(), selected.front()) == members.end()) return false;
    return std::all_of(part.parts.begin(), part.parts.end(), [&](const Expression& one) { return self(self, one); });
  };
  return only(only, *root_);
}

tl::expected<bool, std::string> Filter::ask(const Field& object) const {
  return ask_expression(*root_, object, nullptr);
}

}  // namespace berth::http
