// Tokens of a text in HCL's native syntax (R-HCL-20 to 37). The whole text is tokenised at once. A stack of modes
// represents nested quoted templates, heredocs and interpolations, so depth needs no recursion.
#pragma once

#include <cstdint>
#include <vector>

#include "hcl/source.h"

namespace berth::hcl {

enum class TokenKind : std::uint8_t {
  end,      // of the text
  newline,  // with the line comment before it
  identifier,
  number,
  open_quote,
  close_quote,
  quoted_text,     // literal piece of a quoted template, escapes not yet decoded
  quoted_newline,  // raw newlines in it, always an error
  open_heredoc,    // `<<X` or `<<-X` with its newline
  close_heredoc,   // the marker's line without its newline
  heredoc_text,    // literal piece of a heredoc; ends after a newline at the latest
  interpolation,   // `${` or `${~`
  directive,       // `%{` or `%{~`
  sequence_end,    // `}` or `~}` of the two above
  open_brace,
  close_brace,
  open_bracket,
  close_bracket,
  open_paren,
  close_paren,
  dot,
  comma,
  ellipsis,
  colon,
  double_colon,
  question,
  arrow,
  assign,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  plus,
  minus,
  star,
  slash,
  percent,
  logical_and,
  logical_or,
  bang,
  bit_operator,  // & | ^ ~
  semicolon,
  apostrophe,
  backtick,
  bad_utf8,
  invalid,
};

struct Token {
  TokenKind kind;
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t significant;  ///< index of this or the next token that is not a newline
};

enum class TextMode : std::uint8_t { code, quoted_template };

/// Tokens of source.text(); the last one is `end`. In the mode quoted_template the text is a bare template as in a JSON
/// string: no quotes, no escapes (R-HCL-771). Cost: linear.
[[nodiscard]] std::vector<Token> tokens_of(const Source& source, TextMode mode = TextMode::code);

/// Reports tokens that are always an error, each kind at most a fixed number of times (R-HCL-20, 26, 27, 30).
void report_invalid_tokens(const Source& source, const std::vector<Token>& tokens, Diagnostics& out);

}  // namespace berth::hcl
