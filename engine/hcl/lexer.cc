#include "hcl/lexer.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

class Lexer {
 public:
  Lexer(const Source& source, TextMode mode) : text_(source.text()) {
    if (mode == TextMode::quoted_template) {
      modes_.push_back({Mode::bare, 0, {}});
    } else {
      modes_.push_back({Mode::code, 0, {}});
      if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    }
  }

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      switch (modes_.back().mode) {
        case Mode::code:
          code();
          break;
        case Mode::quoted:
        case Mode::bare:
          quoted();
          break;
        case Mode::heredoc:
          heredoc();
          break;
      }
    }
    put(TokenKind::end, at_);
    std::uint32_t significant = static_cast<std::uint32_t>(tokens_.size() - 1);
    for (std::size_t i = tokens_.size(); i-- > 0;) {
      if (tokens_[i].kind != TokenKind::newline) significant = static_cast<std::uint32_t>(i);
      tokens_[i].significant = significant;
    }
    return std::move(tokens_);
  }

 private:
  enum class Mode : std::uint8_t { code, quoted, bare, heredoc };
  struct Frame {
    Mode mode;
    std::uint32_t braces;     // open in this code
    std::string_view marker;  // of a heredoc
  };

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool sees(std::string_view word) const { return text_.substr(at_, word.size()) == word; }

  // Bytes of the newline at this offset; 0: there is none.
  [[nodiscard]] std::size_t newline_at(std::size_t offset) const {
    if (text_.substr(offset, 1) == "\n") return 1;
    return text_.substr(offset, 2) == "\r\n" ? 2 : 0;
  }

  void put(TokenKind kind, std::size_t begin) {
    tokens_.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_), 0});
  }
  void take(TokenKind kind, std::size_t bytes) {
    const std::size_t begin = at_;
    at_ += bytes;
    put(kind, begin);
  }

  // --- code ---

  void code() {
    const char c = peek();
    if (is_blank(c)) {
      ++at_;
    } else if (c == '\n') {
      take(TokenKind::newline, 1);
    } else if (c == '\r' && peek(1) == '\n') {
      take(TokenKind::newline, 2);
    } else if (c == '#' || (c == '/' && peek(1) == '/')) {
      line_comment();
    } else if (c == '/' && peek(1) == '*' && !unclosed_comment_) {
      const std::size_t close = text_.find("*/", at_ + 2);
      if (close == std::string_view::npos) {
        unclosed_comment_ = true;  // no later one closes either: search only once
      } else {
        at_ = close + 2;
      }
    } else if (is_digit(c)) {
      number();
    } else if (c == '"') {
      take(TokenKind::open_quote, 1);
      modes_.push_back({Mode::quoted, 0, {}});
    } else if (c == '<' && peek(1) == '<' && heredoc_opener()) {
    } else if (c == '{') {
      ++modes_.back().braces;
      take(TokenKind::open_brace, 1);
    } else if (c == '}') {
      close_brace();
    } else if (c == '~' && peek(1) == '}') {
      close_stripping();
    } else if (!operators()) {
      other();
    }
  }

  // A comment and the end of its line are one newline token (R-HCL-23).
  void line_comment() {
    const std::size_t newline = text_.find('\n', at_);
    if (newline == std::string_view::npos) {
      at_ = text_.size();
    } else {
      take(TokenKind::newline, newline + 1 - at_);
    }
  }

  [[nodiscard]] bool ends_sequence() const { return modes_.back().braces == 0 && modes_.size() > 1; }

  void close_brace() {
    if (ends_sequence()) {
      take_sequence_end(1);
      return;
    }
    if (modes_.back().braces > 0) --modes_.back().braces;
    take(TokenKind::close_brace, 1);
  }

  // `~}` is the end of a sequence everywhere: where none is open, the parser reports it.
  void close_stripping() {
    if (ends_sequence()) {
      take_sequence_end(2);
      return;
    }
    if (modes_.back().braces > 0) --modes_.back().braces;
    take(TokenKind::sequence_end, 2);
  }

  void take_sequence_end(std::size_t bytes) {
    take(TokenKind::sequence_end, bytes);
    modes_.pop_back();
    line_start_ = false;
  }

  // Digits, dots before digits, exponents, in any order (R-HCL-25).
  void number() {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      if (is_digit(text_[at_])) {
        ++at_;
        continue;
      }
      std::size_t ahead = at_;
      while (ahead < text_.size() && text_[ahead] == '.') ++ahead;
      if (ahead < text_.size() && (text_[ahead] == 'e' || text_[ahead] == 'E')) {
        ++ahead;
        if (ahead < text_.size() && (text_[ahead] == '+' || text_[ahead] == '-')) ++ahead;
      }
      if (ahead == at_ || ahead >= text_.size() || !is_digit(text_[ahead])) break;
      at_ = ahead;
    }
    put(TokenKind::number, begin);
  }

  [[nodiscard]] std::size_t identifier_end(std::size_t begin) const {
    std::size_t at = begin;
    while (at < text_.size()) {
      std::size_t next = at;
      const char32_t c = next_code_point(text_, next);
      if (at == begin ? !is_identifier_start(c) : !is_identifier_continue(c)) break;
      at = next;
    }
    return at;
  }

  // `<<X` or `<<-X`, directly followed by a newline (R-HCL-34).
  bool heredoc_opener() {
    const std::size_t begin = at_;
    const std::size_t name = at_ + (peek(2) == '-' ? 3 : 2);
    const std::size_t name_end = identifier_end(name);
    if (name_end == name) return false;
    std::size_t end = name_end;
    if (end < text_.size() && text_[end] == '\r') ++end;
    if (end >= text_.size() || text_[end] != '\n') return false;
    at_ = end + 1;
    put(TokenKind::open_heredoc, begin);
    modes_.push_back({Mode::heredoc, 0, text_.substr(name, name_end - name)});
    line_start_ = true;
    return true;
  }

  bool operators() {
    struct Operator {
      std::string_view text;
      TokenKind kind;
    };
    static constexpr Operator kOperators[] = {
        // Longer ones first.
        {"...", TokenKind::ellipsis},     {"&&", TokenKind::logical_and},  {"||", TokenKind::logical_or},
        {"==", TokenKind::equal},         {"!=", TokenKind::not_equal},    {"<=", TokenKind::less_equal},
        {">=", TokenKind::greater_equal}, {"=>", TokenKind::arrow},        {"::", TokenKind::double_colon},
        {"[", TokenKind::open_bracket},   {"]", TokenKind::close_bracket}, {"(", TokenKind::open_paren},
        {")", TokenKind::close_paren},    {".", TokenKind::dot},           {",", TokenKind::comma},
        {":", TokenKind::colon},          {"?", TokenKind::question},      {"=", TokenKind::assign},
        {"<", TokenKind::less},           {">", TokenKind::greater},       {"+", TokenKind::plus},
        {"-", TokenKind::minus},          {"*", TokenKind::star},          {"/", TokenKind::slash},
        {"%", TokenKind::percent},        {"!", TokenKind::bang},          {"&", TokenKind::bit_operator},
        {"|", TokenKind::bit_operator},   {"^", TokenKind::bit_operator},  {"~", TokenKind::bit_operator},
        {";", TokenKind::semicolon},      {"'", TokenKind::apostrophe},    {"`", TokenKind::backtick},
    };
    for (const Operator& known : kOperators) {
      if (sees(known.text)) {
        take(known.kind, known.text.size());
        return true;
      }
    }
    return false;
  }

  // An identifier, or one character that is no token.
  void other() {
    const std::size_t end = identifier_end(at_);
    if (end > at_) {
      take(TokenKind::identifier, end - at_);
      return;
    }
    take_character();
  }

  void take_character() {
    const std::size_t begin = at_;
    (void)next_code_point(text_, at_);
    put(is_utf8(text_.substr(begin, at_ - begin)) ? TokenKind::invalid : TokenKind::bad_utf8, begin);
  }

  // --- templates ---

  // At `$` or `%`: takes the opener of a sequence, or else literal characters.
  void sigil(TokenKind literal) {
    const char c = peek();
    std::size_t run = 1;
    while (peek(run) == c) ++run;
    if (peek(run) == '{') {
      if (run == 1) {
        const TokenKind kind = c == '$' ? TokenKind::interpolation : TokenKind::directive;
        take(kind, peek(2) == '~' ? 3 : 2);
        modes_.push_back({Mode::code, 0, {}});
        return;
      }
      take(literal, run + 1);  // an escape: decoded later (R-HCL-32)
      return;
    }
    take(literal, run);
  }

  // Takes literal bytes up to a character that ends a piece; invalid UTF-8 becomes a token of its own.
  void literal(TokenKind kind, std::string_view ends) {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (ends.find(c) != std::string_view::npos) break;
      if (c == '\\' && kind == TokenKind::quoted_text && modes_.back().mode == Mode::quoted) {
        if (at_ + 1 >= text_.size()) break;
        ++at_;
        if (text_[at_] == '\n' || text_[at_] == '\r') break;
        if (static_cast<unsigned char>(text_[at_]) < 0x80) {
          ++at_;
          continue;
        }
      }
      if (static_cast<unsigned char>(text_[at_]) < 0x80) {
        ++at_;
        continue;
      }
      std::size_t next = at_;
      (void)next_code_point(text_, next);
      if (!is_utf8(text_.substr(at_, next - at_))) {
        if (at_ > begin) put(kind, begin);
        take(TokenKind::bad_utf8, next - at_);
        return;
      }
      at_ = next;
    }
    if (at_ > begin) put(kind, begin);
  }

  void quoted() {
    const bool bare = modes_.back().mode == Mode::bare;
    const char c = peek();
    if (c == '"' && !bare) {
      take(TokenKind::close_quote, 1);
      modes_.pop_back();
      line_start_ = false;
    } else if (c == '$' || c == '%') {
      sigil(TokenKind::quoted_text);
    } else if (!bare && newline_at(at_) > 0) {
      std::size_t end = at_;
      while (newline_at(end) > 0) end += newline_at(end);
      take(TokenKind::quoted_newline, end - at_);
    } else if (!bare && c == '\\' && at_ + 1 >= text_.size()) {
      take(TokenKind::invalid, 1);
    } else if (!bare && c == '\r') {
      take(TokenKind::quoted_text, 1);
    } else {
      literal(TokenKind::quoted_text, bare ? "$%" : "\"$%\n\r");
    }
  }

  // True at the marker's line, which ends the heredoc (R-HCL-35).
  bool heredoc_end() {
    const std::string_view marker = modes_.back().marker;
    std::size_t at = at_;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    if (text_.substr(at, marker.size()) != marker) return false;
    std::size_t end = at + marker.size();
    while (end < text_.size() && is_blank(text_[end])) ++end;
    std::size_t newline = end;
    if (newline < text_.size() && text_[newline] == '\r') ++newline;
    if (newline >= text_.size() || text_[newline] != '\n') return false;
    take(TokenKind::close_heredoc, end - at_);
    modes_.pop_back();
    return true;
  }

  void heredoc() {
    if (line_start_ && heredoc_end()) return;
    line_start_ = false;
    const char c = peek();
    if (c == '$' || c == '%') {
      sigil(TokenKind::heredoc_text);
      return;
    }
    const std::size_t before = tokens_.size();
    literal(TokenKind::heredoc_text, "$%\n");
    if (peek() != '\n' || at_ >= text_.size()) return;
    // The newline belongs to the piece before it.
    ++at_;
    if (tokens_.size() > before && tokens_.back().kind == TokenKind::heredoc_text && tokens_.back().end == at_ - 1) {
      tokens_.back().end = static_cast<std::uint32_t>(at_);
    } else {
      put(TokenKind::heredoc_text, at_ - 1);
    }
    line_start_ = true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Frame> modes_;
  std::vector<Token> tokens_;
  bool line_start_ = false;  // in a heredoc: at the start of a literal line
  bool unclosed_comment_ = false;
};

std::string_view bit_operator_hint(char c) {
  switch (c) {
    case '&':
      return " Did you mean boolean AND (\"&&\")?";
    case '|':
      return " Did you mean boolean OR (\"||\")?";
    case '~':
      return " Did you mean boolean NOT (\"!\")?";
    default:
      return "";
  }
}

bool is_curly_quote(std::string_view text) {
  return text == "\u2018" || text == "\u2019" || text == "\u201C" || text == "\u201D";
}

}  // namespace

std::vector<Token> tokens_of(const Source& source, TextMode mode) { return Lexer(source, mode).run(); }

void report_invalid_tokens(const Source& source, const std::vector<Token>& tokens, Diagnostics& out) {
  constexpr std::size_t kMostBitOperators = 4;
  std::size_t bit_operators = 0, semicolons = 0, apostrophes = 0, backticks = 0, bad_utf8 = 0;
  // Quotes come in pairs: the first and the third one are openings (R-HCL-27).
  const auto opens = [](std::size_t seen) { return seen == 1 || seen == 3; };
  for (const Token& token : tokens) {
    const Range range{&source, token.begin, token.end};
    switch (token.kind) {
      case TokenKind::bit_operator:
        if (++bit_operators <= kMostBitOperators) {
          out.add(range, "Unsupported operator",
                  fmt::format("Bitwise operators are not supported.{}", bit_operator_hint(range.content().front())));
        }
        break;
      case TokenKind::semicolon:
        if (++semicolons == 1) {
          out.add(range, "Invalid character",
                  "The \";\" character is not valid. Use newlines to separate arguments and blocks, and commas to "
                  "separate items in collection values.");
        }
        break;
      case TokenKind::apostrophe:
        if (opens(++apostrophes)) {
          out.add(range, "Invalid character",
                  "Single quotes are not valid. Use double quotes (\") to enclose strings.");
        }
        break;
      case TokenKind::backtick:
        if (opens(++backticks)) {
          out.add(range, "Invalid character",
                  "The \"`\" character is not valid. To create a multi-line string, use the \"heredoc\" syntax, like "
                  "\"<<EOT\".");
        }
        break;
      case TokenKind::bad_utf8:
        if (++bad_utf8 == 1) {
          out.add(range, "Invalid character encoding",
                  "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.");
        }
        break;
      case TokenKind::quoted_newline:
        out.add(range, "Invalid multi-line string",
                "Quoted strings may not be split over multiple lines. To produce a multi-line string, either use the "
                "\\n escape to represent a newline character or use the \"heredoc\" multi-line template syntax.");
        break;
      case TokenKind::invalid:
        out.add(range, "Invalid character",
                is_curly_quote(range.content())
                    ? "\"Curly quotes\" are not valid here. These can sometimes be inadvertently introduced when "
                      "sharing code via documents or discussion forums. It might help to replace the character with a "
                      "\"straight quote\"."
                    : "This character is not used within the language.");
        break;
      default:
        break;
    }
  }
}

}  // namespace berth::hcl
