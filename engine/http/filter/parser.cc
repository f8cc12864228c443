#include "http/filter/parser.h"

#include "base/text.h"

namespace berth::http {
namespace {

constexpr const char* kSpace = "[ \\t\\r\\n]";
constexpr std::string_view kSingleEscapes = "abfnrtv\\\"", kEscaped = "\a\b\f\n\r\t\v\\\"";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_identifier(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '/'; }

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// The value of `digits` hexadecimal digits from `from`; nullopt if there are not so many.
std::optional<std::uint32_t> hexadecimal(std::string_view text, std::size_t from, std::size_t digits) {
  if (from + digits > text.size()) return {};
  std::uint32_t out = 0;
  for (const char c : text.substr(from, digits)) {
    const std::size_t value = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
    if (value == std::string_view::npos || (c < '0')) return {};
    out = out * 16 + static_cast<std::uint32_t>(value);
  }
  return out;
}

/// Resolves the escapes of Go's string literals; nullopt for an invalid escape.
std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') return {};
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char kind = ++i < text.size() ? text[i] : '\0';
    if (const std::size_t single = kSingleEscapes.find(kind); kind && single != std::string_view::npos) {
      out += kEscaped[single];
    } else if (kind == 'x' || kind == 'u' || kind == 'U') {
      const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
      const auto code = hexadecimal(text, i + 1, digits);
      if (!code || *code > 0x10FFFF || (kind != 'x' && *code >= 0xD800 && *code < 0xE000)) return {};
      if (kind == 'x')
        out += static_cast<char>(*code);
      else
        append_utf8(out, *code);
      i += digits;
    } else {
      return {};
    }
  }
  return out;
}

}  // namespace

tl::expected<Expression, std::string> FilterParser::parse() {
  Expression out;
  optional_space();
  const bool whole = any_of(out) && optional_space() && (position_ == text_.size() || expected("EOF"));
  if (!broken_.empty()) return tl::unexpected(broken_);
  if (!whole) return tl::unexpected(no_match());
  return out;
}

bool FilterParser::any_of(Expression& out) {
  if (!all_of(out)) return false;
  for (std::size_t before = position_; spaced("or", "\"or\""); before = position_) {
    Expression next;
    if (!all_of(next)) {
      position_ = before;
      break;
    }
    if (out.kind != Expression::Kind::any_of) {
      Expression first = std::exchange(out, {});
      out.kind = Expression::Kind::any_of, out.parts.push_back(std::move(first));
    }
    out.parts.push_back(std::move(next));
  }
  return true;
}

bool FilterParser::all_of(Expression& out) {
  std::vector<Expression> parts(1);
  if (!operand(parts.front())) return false;
  for (std::size_t before = position_; spaced("and", "\"and\""); before = position_) {
    Expression next;
    if (!operand(next)) {
      position_ = before;
      break;
    }
    parts.push_back(std::move(next));
  }
  if (parts.size() == 1) {
    out = std::move(parts.front());
  } else {
    out.kind = Expression::Kind::all_of;
    out.parts = std::move(parts);
  }
  return true;
}

bool FilterParser::operand(Expression& out) {
  if (depth_ == kMaxDepth) return broken("expression", "nests too deeply");
  ++depth_;
  const bool taken = broken_.empty() && (negation(out) || group(out) || over_elements(out) || match(out));
  --depth_;
  return taken;
}

bool FilterParser::negation(Expression& out) {
  const std::size_t before = position_;
  Expression inner;
  if (literal("not", "\"not\"") && space() && operand(inner)) {
    out.kind = Expression::Kind::negation;
    out.parts.push_back(std::move(inner));
    return true;
  }
  position_ = before;
  return false;
}

bool FilterParser::group(Expression& out) {
  const std::size_t before = position_;
  Expression inner;
  if (literal("(", "\"(\"") && optional_space() && any_of(inner) && optional_space() && literal(")", "\")\"")) {
    out = Expression{};
    out.kind = Expression::Kind::all_of;  // of one part, so that later parts are not added to the group
    out.parts.push_back(std::move(inner));
    return true;
  }
  position_ = before;
  return false;
}

bool FilterParser::over_elements(Expression& out) {
  const std::size_t before = position_;
  Expression found, inner;
  const bool any = literal("any", "\"any\"");
  if ((any || literal("all", "\"all\"")) && space() && selector(found.selector) && space() && literal("as", "\"as\"") &&
      space() && element_names(found) && optional_space() && literal("{", "\"{\"") && optional_space() &&
      any_of(inner) && optional_space() && literal("}", "\"}\"")) {
    found.kind = any ? Expression::Kind::any_element : Expression::Kind::all_elements;
    found.parts.push_back(std::move(inner));
    out = std::move(found);
    return true;
  }
  position_ = before;
  return false;
}

/// `x`, `i, v`, `i, _` or `_, v`. A single name is the element of a list or the key of a map.
bool FilterParser::element_names(Expression& out) {
  std::string names[2];
  const auto name = [&](std::string& taken) { return literal("_", "\"_\"") || identifier(taken); };
  if (!name(names[0])) return false;
  const std::size_t before = position_;
  if (optional_space() && literal(",", "\",\"") && optional_space() && name(names[1])) {
    out.index_name = names[0], out.value_name = names[1];
  } else {
    position_ = before;
    out.index_name.clear(), out.value_name = names[0];
    out.value = "one name";
  }
  return true;
}

bool FilterParser::match(Expression& out) { return match_selector(out) || match_in(out); }

bool FilterParser::match_selector(Expression& out) {
  const std::size_t before = position_;
  Expression found;
  if (selector(found.selector) && (comparison(found) || word_match(found))) {
    if (found.match == MatchKind::matches) {
      found.pattern = match::Regexp::compile(found.value);
      if (!found.pattern) return broken("match", "failed to compile regular expression " + base::go_quote(found.value));
    }
    out = std::move(found);
    return true;
  }
  position_ = before;
  return false;
}

bool FilterParser::match_in(Expression& out) {
  const std::size_t before = position_;
  Expression found;
  found.match = MatchKind::contains;
  if (value(found.value) && space()) {
    found.negated = literal("not", "\"not\"") && space();
    if (literal("in", "\"in\"") && space()) {
      if (!selector(found.selector)) return broken("match", "Invalid selector");
      out = std::move(found);
      return true;
    }
  }
  position_ = before;
  return false;
}

bool FilterParser::comparison(Expression& out) {
  const std::size_t before = position_;
  optional_space();
  const bool equal = literal("==", "\"==\"");
  if ((equal || literal("!=", "\"!=\"")) && optional_space() && value(out.value)) {
    out.match = MatchKind::equal, out.negated = !equal;
    return true;
  }
  position_ = before;
  return false;
}

bool FilterParser::word_match(Expression& out) {
  const std::size_t before = position_;
  const auto is = [&] {
    out.negated = false;
    if (const std::size_t here = position_; literal("not", "\"not\"") && space())
      out.negated = true;
    else
      position_ = here;
    out.match = MatchKind::is_empty;
    if (literal("empty", "\"empty\"")) return true;
    out.match = MatchKind::is_nil;
    return literal("nil", "\"nil\"");
  };
  const auto word = [&] {
    out.match = MatchKind::contains;
    if (literal("contains", "\"contains\"")) return space() && value(out.value);
    out.match = MatchKind::matches;
    return literal("matches", "\"matches\"") && space() && value(out.value);
  };
  if (space()) {
    if (literal("is", "\"is\"")) {
      if (space() && is()) return true;
    } else {
      out.negated = literal("not", "\"not\"");
      if ((!out.negated || space()) && word()) return true;
    }
  }
  position_ = before;
  return false;
}

bool FilterParser::selector(Selector& out) {
  if (pointer(out)) return true;
  out.parts.assign(1, {});
  if (!identifier(out.parts.front())) return false;
  while (selector_part(out)) {
  }
  return true;
}

bool FilterParser::selector_part(Selector& out) {
  const std::size_t before = position_;
  std::string part;
  if (literal(".", "\".\"")) {
    if (identifier(part) || (character(is_digit, "[0-9]", &part) && [&] {
          while (character(is_digit, "[0-9]", &part)) {
          }
          return true;
        }())) {
      out.parts.push_back(std::move(part));
      return true;
    }
  } else if (literal("[", "\"[\"") && optional_space() && text(part) && optional_space() && literal("]", "\"]\"")) {
    out.parts.push_back(std::move(part));
    return true;
  }
  position_ = before;
  return false;
}

/// A JSON pointer in double quotes.
bool FilterParser::pointer(Selector& out) {
  const std::size_t before = position_;
  std::string taken;
  if (!text(taken)) return false;
  if (taken.empty() || taken.front() != '/') {
    position_ = before;
    return false;
  }
  out.parts.clear();
  for (const std::string_view piece : base::split(std::string_view(taken).substr(1), '/')) {
    std::string& part = out.parts.emplace_back();
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const bool escaped = piece[i] == '~' && i + 1 < piece.size() && (piece[i + 1] == '0' || piece[i + 1] == '1');
      part += escaped ? (piece[++i] == '0' ? '~' : '/') : piece[i];
    }
  }
  return true;
}

bool FilterParser::value(std::string& out) {
  const std::size_t before = position_;
  Selector word;
  out.clear();
  if (identifier(out)) {
    while (selector_part(word)) {
    }
    out = text_.substr(before, position_ - before);  // an unquoted word
    return true;
  }
  return number(out) || text(out);
}

bool FilterParser::number(std::string& out) {
  const std::size_t before = position_;
  literal("-", "\"-\"");
  if (!literal("0", "\"0\"")) {
    if (!character([](char c) { return c >= '1' && c <= '9'; }, "[1-9]")) {
      position_ = before;
      return false;
    }
    while (character(is_digit, "[0-9]")) {
    }
  }
  if (literal(".", "\".\"")) {
    if (!character(is_digit, "[0-9]")) return broken("number", "Invalid number literal");
    while (character(is_digit, "[0-9]")) {
    }
  }
  const char next = position_ < text_.size() ? text_[position_] : ')';
  if (!is_space(next) && next != ')') return broken("number", "Invalid number literal");
  out = text_.substr(before, position_ - before);
  return true;
}

bool FilterParser::text(std::string& out) {
  const std::size_t before = position_;
  const bool raw = literal("`", "\"`\"");
  if (!raw && !literal("\"", "\"\\\"\"")) return false;
  const char end = raw ? '`' : '"';
  const std::size_t begin = position_;
  while (position_ < text_.size() && text_[position_] != end) position_ += !raw && text_[position_] == '\\' ? 2 : 1;
  if (position_ >= text_.size()) {
    position_ = text_.size();
    return broken("string", "Unterminated string literal");
  }
  const std::string_view inside = text_.substr(begin, position_ - begin);
  const auto plain = raw ? std::optional<std::string>(inside) : unescape(inside);
  if (!plain) {
    position_ = before;
    return broken("string", "Invalid string literal");
  }
  ++position_;
  out = *plain;
  return true;
}

bool FilterParser::identifier(std::string& out) {
  out.clear();
  if (!character(is_letter, "[a-zA-Z]", &out)) return false;
  while (character(in_identifier, "[a-zA-Z0-9_/]", &out)) {
  }
  return true;
}

bool FilterParser::literal(std::string_view word, const char* shown) {
  if (!text_.substr(position_).starts_with(word)) return expected(shown);
  position_ += word.size();
  return true;
}

bool FilterParser::space() { return character(is_space, kSpace) && optional_space(); }

bool FilterParser::optional_space() {
  while (character(is_space, kSpace)) {
  }
  return true;
}

bool FilterParser::spaced(std::string_view word, const char* shown) {
  const std::size_t before = position_;
  if (space() && literal(word, shown) && space()) return true;
  position_ = before;
  return false;
}

template <class Test>
bool FilterParser::character(Test test, const char* shown, std::string* out) {
  if (position_ == text_.size() || !test(text_[position_])) return expected(shown);
  if (out) *out += text_[position_];
  ++position_;
  return true;
}

bool FilterParser::expected(const char* what) {
  if (position_ > farthest_) farthest_ = position_, expected_.clear();
  if (position_ == farthest_) expected_.insert(what);
  return false;
}

bool FilterParser::broken(std::string_view rule, std::string_view message) {
  if (broken_.empty()) broken_ = at(position_) + ": rule \"" + std::string(rule) + "\": " + std::string(message);
  return false;
}

/// A position as line, column in characters, and byte.
std::string FilterParser::at(std::size_t position) const {
  std::size_t line = 1, column = 1;
  for (const char c : text_.substr(0, position)) {
    if (c == '\n')
      ++line, column = 1;
    else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
      ++column;
  }
  return std::to_string(line) + ":" + std::to_string(column) + " (" + std::to_string(position) + ")";
}

std::string FilterParser::no_match() const {
  std::vector<std::string> names(expected_.begin(), expected_.end());
  if (expected_.contains("EOF")) {  // always last
    std::erase(names, "EOF");
    names.emplace_back("EOF");
  }
  std::string out = at(farthest_) + ": no match found, expected: ";
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return out;
}

}  // namespace berth::http
