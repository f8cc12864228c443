// Quoted templates, heredocs and their directives (R-HCL-30 to 37, 190 to 195).
#include <array>
#include <utility>

#include <fmt/format.h>

#include "hcl/parser_state.h"
#include "hcl/unicode.h"

namespace berth::hcl {

/// One piece of a template as written; directives are assembled later.
struct Parser::Part {
  enum class Kind : std::uint8_t { text, interpolation, if_, else_, endif, for_, endfor };
  Kind kind;
  Range range;
  std::string text;            // of a text, with decoded escapes
  const Expr* expr = nullptr;  // interpolated value, condition, or collection
  std::string key_name, value_name;
  bool strips_before = false, strips_after = false;
};

struct Parser::Parts {
  TokenKind ends_with;  // the kind of the closing token
  Range first;          // the first token
  std::vector<Part> items;
  Range close;         // the closing token
  std::size_t at = 0;  // while assembling
};

namespace {

constexpr std::array<std::string_view, 7> kDirectives = {"", "", "if", "else", "endif", "for", "endfor"};

std::size_t leading_spaces(std::string_view text, bool& only_spaces, std::size_t& bytes) {
  std::size_t clusters = 0, at = 0;
  only_spaces = true;
  while (at < text.size()) {
    std::size_t next = at;
    if (!is_space(next_code_point(text, next))) {
      only_spaces = false;
      break;
    }
    at = grapheme_end(text, at);
    ++clusters;
  }
  bytes = at;
  return clusters;
}

void strip_front(std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t next = at;
    if (!is_space(next_code_point(text, next))) break;
    at = next;
  }
  text.erase(0, at);
}

void strip_back(std::string& text) {
  std::size_t keep = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_space(next_code_point(text, at))) keep = at;
  }
  text.resize(keep);
}

}  // namespace

const Expr* Parser::quoted() {
  const Range open = range(next());
  Parts parts{TokenKind::close_quote, range(peek()), {}, {}};
  if (!template_parts(parts)) return nullptr;
  return assemble(parts, from(open));
}

const Expr* Parser::heredoc() {
  const Token& opener = next();
  Parts parts{TokenKind::close_heredoc, range(peek()), {}, {}};
  if (!template_parts(parts)) return nullptr;
  if (text(opener).starts_with("<<-")) unindent(parts);
  return assemble(parts, from(range(opener)));
}

const Expr* Parser::whole_template() {
  Parts parts{TokenKind::end, range(peek()), {}, {}};
  if (!template_parts(parts)) return nullptr;
  const Expr* expr = assemble(parts, {&source_, 0, static_cast<std::uint32_t>(source_.text().size())});
  return out_.empty() ? expr : nullptr;
}

// Removes the smallest indentation of all lines with text or a sequence (R-HCL-37).
void Parser::unindent(Parts& parts) {
  struct Line {
    std::size_t part;
    std::size_t bytes;
  };
  std::vector<Line> lines;
  std::size_t least = SIZE_MAX;
  bool at_line_start = true;
  for (std::size_t i = 0; i < parts.items.size(); ++i) {
    Part& part = parts.items[i];
    const bool starts = std::exchange(at_line_start, false);
    if (part.kind != Part::Kind::text) {
      if (starts) least = 0;
      continue;
    }
    at_line_start = part.text.ends_with('\n');
    if (!starts) continue;
    bool only_spaces = false;
    std::size_t bytes = 0;
    const std::size_t spaces = leading_spaces(part.text, only_spaces, bytes);
    if (only_spaces && at_line_start) continue;
    least = std::min(least, spaces);
    lines.push_back({i, bytes});
  }
  for (const Line& line : lines) {
    std::string& text = parts.items[line.part].text;
    std::size_t end = 0;
    for (std::size_t n = 0; n < least && end < line.bytes; ++n) end = grapheme_end(text, end);
    text.erase(0, end);
  }
}

// Parses pieces up to and including the closing token; applies strip markers.
bool Parser::template_parts(Parts& parts) {
  const NewlinesCount count(*this, true);
  bool right = true;
  for (;;) {
    const Token& token = peek();
    if (token.kind == parts.ends_with) {
      next();
      break;
    }
    switch (token.kind) {
      case TokenKind::quoted_text:
      case TokenKind::heredoc_text: {
        Part part{Part::Kind::text, range(token), {}, nullptr, {}, {}};
        next();
        right = template_text(token, part.text) && right;
        parts.items.push_back(std::move(part));
        break;
      }
      case TokenKind::interpolation:
        if (!interpolation(parts)) return false;
        break;
      case TokenKind::directive:
        if (!directive(parts)) return false;
        break;
      case TokenKind::quoted_newline:
      case TokenKind::bad_utf8:
        next();  // reported by report_invalid_tokens()
        right = false;
        break;
      default:
        fail(range(token), "Unterminated template string", "No closing marker was found for the string.");
        return false;
    }
  }
  parts.close = range(tokens_[last_]);
  for (std::size_t i = 0; i < parts.items.size(); ++i) {
    if (parts.items[i].strips_before && i > 0) strip_back(parts.items[i - 1].text);
    if (parts.items[i].strips_after && i + 1 < parts.items.size()) strip_front(parts.items[i + 1].text);
  }
  return right;
}

bool Parser::template_text(const Token& token, std::string& out) {
  const std::string_view piece = text(token);
  if ((piece.front() == '$' || piece.front() == '%') && piece.back() == '{') {
    out = piece.substr(1);  // a doubled sigil escapes the sequence (R-HCL-32)
    return true;
  }
  if (token.kind == TokenKind::heredoc_text || bare_) {
    out = piece;
    return true;
  }
  return unescape(token, out);
}

bool Parser::unescape(const Token& token, std::string& out) {
  constexpr std::string_view kInvalid = "Invalid escape sequence";
  const std::string_view piece = text(token);
  bool right = true;
  for (std::size_t at = 0; at < piece.size();) {
    if (piece[at] != '\\') {
      const std::size_t end = std::min(piece.find('\\', at), piece.size());
      out += piece.substr(at, end - at);
      at = end;
      continue;
    }
    const std::size_t begin = at++;
    std::size_t end = at;
    if (end < piece.size()) (void)next_code_point(piece, end);
    const std::string_view selector = piece.substr(at, end - at);
    at = end;
    const auto where = [&] {
      return Range{&source_, static_cast<std::uint32_t>(token.begin + begin),
                   static_cast<std::uint32_t>(token.begin + at)};
    };
    if (selector == "n" || selector == "r" || selector == "t") {
      out += selector == "n" ? '\n' : selector == "r" ? '\r' : '\t';
    } else if (selector == "\"" || selector == "\\") {
      out += selector;
    } else if (selector == "u" || selector == "U") {
      const std::size_t wanted = selector == "u" ? 4 : 8;
      std::uint64_t code = 0;
      std::size_t digits = 0;
      for (; digits < wanted && at < piece.size(); ++digits, ++at) {
        const char c = piece[at];
        const bool decimal = c >= '0' && c <= '9';
        const char lower = static_cast<char>(c | 0x20);
        if (!decimal && (lower < 'a' || lower > 'f')) break;
        code = code * 16 + static_cast<std::uint64_t>(decimal ? c - '0' : lower - 'a' + 10);
      }
      if (digits < wanted) {
        fail(where(), kInvalid,
             fmt::format("The \\{} escape sequence must be followed by {} hexadecimal digits.", selector,
                         wanted == 4 ? "four" : "eight"));
        right = false;
      } else if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        fail(where(), kInvalid, fmt::format("Cannot encode character U+{:04x} in UTF-8.", code));
        right = false;
      } else {
        append_utf8(out, static_cast<char32_t>(code));
      }
    } else {
      fail(where(), kInvalid, fmt::format("The symbol \"{}\" is not a valid escape sequence selector.", selector));
      right = false;
    }
  }
  return right;
}

// Parses the `}` of a sequence, if it is there.
bool Parser::sequence_end(Part& part) {
  if (kind() != TokenKind::sequence_end) return false;
  const Token& end = next();
  part.strips_after = text(end).starts_with('~');
  part.range = from(part.range);
  return true;
}

// Reports what is in place of the `}` of an interpolation (R-HCL-195).
void Parser::unclosed_interpolation(const Parts& parts) {
  // In a heredoc, a quote belongs to the text of another language.
  const bool at_quote = kind() == TokenKind::open_quote && parts.ends_with == TokenKind::close_quote;
  if (at_quote || kind() == TokenKind::end) {
    fail(
        parts.first, "Unclosed template interpolation sequence",
        fmt::format("There is no closing brace for this interpolation sequence before the end of the {}. This might be "
                    "caused by incorrect nesting inside the given expression.",
                    at_quote ? "quoted template" : "file"));
  } else if (kind() == TokenKind::colon) {
    fail(range(peek()), "Extra characters after interpolation expression",
         "Template interpolation doesn't expect a colon at this location. Did you intend this to be a literal sequence "
         "to be processed as part of another language? If so, you can escape it by starting with \"$${\" instead of "
         "just \"${\".");
  } else {
    fail(range(peek()), "Extra characters after interpolation expression",
         "Expected a closing brace to end the interpolation expression, but found extra characters.\n\nThis can happen "
         "when you include interpolation syntax for another language, such as shell scripting, but forget to escape "
         "the interpolation start token. If this is an embedded sequence for another language, escape it by starting "
         "with \"$${\" instead of just \"${\".");
  }
}

bool Parser::interpolation(Parts& parts) {
  const Token& open = next();
  const NewlinesCount count(*this, false);
  Part part{Part::Kind::interpolation, range(open), {}, nullptr, {}, {}};
  part.strips_before = text(open).ends_with('~');
  part.expr = expression();
  if (part.expr == nullptr) return false;
  if (!sequence_end(part)) {
    unclosed_interpolation(parts);
    return false;
  }
  parts.items.push_back(std::move(part));
  return true;
}

bool Parser::directive(Parts& parts) {
  const Token& open = next();
  const NewlinesCount count(*this, false);
  Part part{Part::Kind::if_, range(open), {}, nullptr, {}, {}};
  part.strips_before = text(open).ends_with('~');
  if (kind() != TokenKind::identifier) {
    fail(range(peek()), "Invalid template directive",
         "A template directive keyword (\"if\", \"for\", etc) is expected at the beginning of a %{ sequence.");
    return false;
  }
  const Token& word = next();
  const auto known = std::find(kDirectives.begin(), kDirectives.end(), text(word));
  if (known == kDirectives.end()) {
    static const std::vector<std::string> kCandidates = {"if", "for", "else", "endif", "endfor"};
    const std::string_view meant = suggestion(text(word), kCandidates);
    fail(range(word), "Invalid template control keyword",
         fmt::format("\"{}\" is not a valid template control keyword.{}", text(word),
                     meant.empty() ? "" : fmt::format(" Did you mean \"{}\"?", meant)));
    return false;
  }
  part.kind = static_cast<Part::Kind>(known - kDirectives.begin());
  if (part.kind == Part::Kind::if_) {
    part.expr = expression();
    if (part.expr == nullptr) return false;
  } else if (part.kind == Part::Kind::for_) {
    constexpr std::string_view kInvalid = "Invalid 'for' directive";
    Range where;
    if (!for_names(part.key_name, part.value_name, where)) {
      fail(where, kInvalid,
           part.key_name.empty() ? "For directive requires variable name after 'for'."
                                 : "For directive requires value variable name after comma.");
      return false;
    }
    if (!sees_word("in")) {
      fail(range(peek()), kInvalid, "For directive requires 'in' keyword after names.");
      return false;
    }
    next();
    part.expr = expression();
    if (part.expr == nullptr) return false;
  }
  if (!sequence_end(part)) {
    fail(range(peek()), fmt::format("Extra characters in {} marker", text(word)),
         "Expected a closing brace to end the sequence, but found extra characters.");
    return false;
  }
  parts.items.push_back(std::move(part));
  return true;
}

const Expr* Parser::assemble(Parts& parts, Range where) {
  const bool wraps = parts.items.size() == 1 && parts.items.front().kind == Part::Kind::interpolation;
  auto& made = tree_.make<StringExpr>(where);
  made.wraps = wraps;
  const std::size_t before = out_.count();
  while (parts.at < parts.items.size()) {
    collect(parts, made);
    if (parts.at == parts.items.size()) break;
    const Part& stray = parts.items[parts.at++];
    fail(stray.range, fmt::format("Unexpected {} directive", directive_name(stray)),
         "The control directives within this template are unbalanced.");
  }
  return out_.count() == before && !stopped_ ? &made : nullptr;
}

std::string_view Parser::directive_name(const Part& part) { return kDirectives[static_cast<std::size_t>(part.kind)]; }

// Collects parts up to the end, or up to an else, endif or endfor, which it does not take.
void Parser::collect(Parts& parts, StringExpr& out) {
  while (parts.at < parts.items.size()) {
    Part& part = parts.items[parts.at];
    const Expr* made = nullptr;
    switch (part.kind) {
      case Part::Kind::text:
        ++parts.at;
        made = &tree_.make<LiteralExpr>(part.range, Value::of(part.text));
        break;
      case Part::Kind::interpolation:
        ++parts.at;
        made = part.expr;
        break;
      case Part::Kind::if_:
        ++parts.at;
        made = if_directive(parts, part);
        break;
      case Part::Kind::for_:
        ++parts.at;
        made = for_directive(parts, part);
        break;
      default:
        return;
    }
    if (made != nullptr) out.parts.push_back(made);
  }
}

const Expr* Parser::if_directive(Parts& parts, const Part& opened) {
  const Nested nested(*this);
  if (too_deep()) return nullptr;
  auto& made = tree_.make<TemplateIfExpr>(opened.range);
  made.condition = opened.expr;
  auto* branch = &tree_.make<StringExpr>(opened.range);
  made.if_true = branch;
  made.if_false = &tree_.make<StringExpr>(opened.range);
  for (bool in_else = false;;) {
    collect(parts, *branch);
    if (stopped_) return nullptr;
    if (parts.at == parts.items.size()) {
      return fail(
          parts.close, "Unexpected end of template",
          fmt::format("The if directive at {} is missing its corresponding endif directive.", opened.range.text()));
    }
    const Part& part = parts.items[parts.at++];
    if (part.kind == Part::Kind::endif) break;
    if (part.kind == Part::Kind::endfor) {
      return fail(part.range, "Unexpected endfor directive",
                  fmt::format("Expecting an endif directive for the if started at {}.", opened.range.text()));
    }
    if (in_else) {
      return fail(part.range, "Unexpected else directive",
                  fmt::format("Already in the else clause for the if started at {}.", opened.range.text()));
    }
    in_else = true;
    branch = &tree_.make<StringExpr>(part.range);
    made.if_false = branch;
  }
  made.range.end = parts.items[parts.at - 1].range.end;
  return &made;
}

const Expr* Parser::for_directive(Parts& parts, const Part& opened) {
  const Nested nested(*this);
  if (too_deep()) return nullptr;
  auto& made = tree_.make<TemplateForExpr>(opened.range);
  made.key_name = opened.key_name;
  made.value_name = opened.value_name;
  made.collection = opened.expr;
  auto& body = tree_.make<StringExpr>(opened.range);
  made.body = &body;
  collect(parts, body);
  if (stopped_) return nullptr;
  if (parts.at == parts.items.size()) {
    return fail(
        parts.close, "Unexpected end of template",
        fmt::format("The for directive at {} is missing its corresponding endfor directive.", opened.range.text()));
  }
  const Part& part = parts.items[parts.at++];
  if (part.kind != Part::Kind::endfor) {
    return fail(
        part.range, fmt::format("Unexpected {} directive", directive_name(part)),
        fmt::format("Expecting an endfor directive corresponding to the for directive at {}.", opened.range.text()));
  }
  made.range.end = part.range.end;
  return &made;
}

bool Parser::quoted_label(std::string& out, Range& where) {
  const NewlinesCount count(*this, true);
  const Range open = range(next());
  bool right = true;
  for (;;) {
    const Token& token = next();
    switch (token.kind) {
      case TokenKind::close_quote:
        where = from(open);
        return right;
      case TokenKind::quoted_text: {
        std::string piece;
        right = template_text(token, piece) && right;
        out += piece;
        break;
      }
      case TokenKind::interpolation:
      case TokenKind::directive: {
        const std::string_view sigil = text(token).substr(0, 1);
        fail(range(token), "Invalid string literal",
             fmt::format("Template sequences are not allowed in this string. To include a literal \"{0}\", double it "
                         "(as \"{0}{0}\") to escape it.",
                         sigil));
        return false;
      }
      case TokenKind::quoted_newline:
      case TokenKind::bad_utf8:
        right = false;
        break;
      default:
        fail(range(token), "Unterminated string literal",
             "Unable to find the closing quote mark before the end of the file.");
        return false;
    }
  }
}

const Value* Parser::plain_string(const Expr& expr) {
  if (expr.kind != Expr::Kind::string) return nullptr;
  const auto& string = static_cast<const StringExpr&>(expr);
  if (string.parts.size() != 1 || string.parts.front()->kind != Expr::Kind::literal || string.wraps) return nullptr;
  return &static_cast<const LiteralExpr*>(string.parts.front())->value;
}

}  // namespace berth::hcl
