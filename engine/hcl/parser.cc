#include "hcl/parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "hcl/parser_state.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

constexpr const char* kInvalidSingle = "Invalid single-argument block definition";
constexpr const char* kOneArgument =
    "Single-line block syntax can include only one argument definition. To define multiple arguments, use the "
    "multi-line block syntax with one argument definition per line.";
constexpr const char* kOneLine =
    "An argument definition on the same line as its containing block creates a single-line block definition, which "
    "must also be closed on the same line. Place the block's closing brace immediately after the argument definition.";
constexpr const char* kUnclosedBlock = "Unclosed configuration block";
constexpr const char* kNoClosingBrace =
    "There is no closing brace for this block before the end of the file. This may be caused by incorrect brace "
    "nesting elsewhere in this file.";

}  // namespace

Parser::Parser(const Source& source, Tree& tree, Diagnostics& out, TextMode mode)
    : source_(source),
      tree_(tree),
      out_(out),
      tokens_(tokens_of(source, mode)),
      bare_(mode == TextMode::quoted_template) {
  report_invalid_tokens(source_, tokens_, out_);
}

const Token& Parser::next() {
  last_ = newlines_count_ ? at_ : tokens_[at_].significant;
  const Token& token = tokens_[last_];
  switch (token.kind) {
    case TokenKind::open_brace:
    case TokenKind::open_bracket:
    case TokenKind::open_paren:
    case TokenKind::open_quote:
    case TokenKind::open_heredoc:
    case TokenKind::interpolation:
    case TokenKind::directive:
      ++open_;
      break;
    case TokenKind::close_brace:
    case TokenKind::close_bracket:
    case TokenKind::close_paren:
    case TokenKind::close_quote:
    case TokenKind::close_heredoc:
    case TokenKind::sequence_end:
      if (open_ > 0) --open_;
      break;
    default:
      break;
  }
  at_ = token.kind == TokenKind::end ? last_ : last_ + 1;
  return token;
}

bool Parser::accept(TokenKind wanted) {
  if (kind() != wanted) return false;
  next();
  return true;
}

std::nullptr_t Parser::fail(Range subject, std::string_view summary, std::string detail) {
  if (!stopped_) out_.add(subject, summary, std::move(detail));
  return nullptr;
}

bool Parser::too_deep() {
  if (stopped_) return true;
  if (depth_ <= kMaxNesting) return false;
  fail(range(peek()), "Nesting too deep",
       fmt::format("Expressions and blocks may be nested {} levels deep. Make this part flatter.", kMaxNesting));
  stopped_ = true;
  at_ = tokens_.size() - 1;
  return true;
}

// Resumes after an error: skips to the next line end outside of all brackets of the attribute, or to the brace that
// closes the block (R-HCL-93).
void Parser::skip_to_line_end(std::size_t open) {
  const NewlinesCount count(*this, true);
  open_ = open;
  while (kind() != TokenKind::end) {
    if (open_ == 0 && (kind() == TokenKind::newline || kind() == TokenKind::close_brace)) return;
    next();
  }
}

NativeBody Parser::file() {
  NativeBody body;
  body.open = {&source_, 0, 0};
  body_items(body, false);
  return body;
}

// Parses items up to the end, or up to the brace that closes the body, which it does not take.
void Parser::body_items(NativeBody& body, bool nested) {
  const NewlinesCount count(*this, true);
  std::unordered_map<std::string, Range> names;
  std::swap(names, names_);
  while (kind() != TokenKind::end) {
    if (accept(TokenKind::newline)) continue;
    if (kind() == TokenKind::close_brace) {
      if (nested) break;
      fail(range(next()), "Argument or block definition required", "An argument or block definition is required here.");
      continue;
    }
    open_ = 0;
    if (!item(body)) {
      skip_to_line_end(open_);
      // The faulty text may end in its own brace, which is then taken for the block's: an unavoidable guess.
    }
  }
  std::swap(names, names_);
}

bool Parser::item(NativeBody& body) {
  if (kind() == TokenKind::open_quote) {
    fail(range(peek()), "Invalid argument name", "Argument names must not be quoted.");
    return false;
  }
  if (kind() != TokenKind::identifier) {
    fail(range(peek()), "Argument or block definition required", "An argument or block definition is required here.");
    return false;
  }
  const Token& name = next();
  switch (kind()) {
    case TokenKind::assign:
      return attribute(body, name);
    case TokenKind::identifier:
    case TokenKind::open_quote:
    case TokenKind::open_brace:
      return block(body, name);
    default:
      fail(range(name), "Argument or block definition required",
           "An argument or block definition is required here. To set an argument, use the equals sign \"=\" to "
           "introduce the argument value.");
      return false;
  }
}

bool Parser::add_attribute(NativeBody& body, const Token& name, const Expr& expr) {
  const Range name_range = range(name);
  const auto [known, added] = names_.try_emplace(std::string(text(name)), name_range);
  if (!added) {
    fail(name_range, "Attribute redefined",
         fmt::format("The argument \"{}\" was already set at {}. Each argument may be set only once.", text(name),
                     known->second.text()));
    return true;  // the syntax is valid: continue reading
  }
  body.attributes.push_back({std::string(text(name)), name_range, {&source_, name.begin, expr.range.end}, &expr});
  return true;
}

bool Parser::attribute(NativeBody& body, const Token& name) {
  next();  // =
  const Expr* expr = expression();
  if (expr == nullptr) return false;
  if (kind() == TokenKind::comma) {
    fail(range(peek()), "Unexpected comma after argument",
         "Argument definitions must be separated by newlines, not commas. An argument definition must end with a "
         "newline.");
    return false;
  }
  if (kind() != TokenKind::newline && kind() != TokenKind::end) {
    fail(range(peek()), "Missing newline after argument", "An argument definition must end with a newline.");
    return false;
  }
  return add_attribute(body, name, *expr);
}

bool Parser::block(NativeBody& body, const Token& name) {
  const Nested nested(*this);
  if (too_deep()) return false;
  constexpr std::string_view kInvalid = "Invalid block definition";
  NativeBlock block;
  block.type = text(name);
  block.type_range = range(name);
  while (kind() != TokenKind::open_brace) {
    const Range here = range(peek());
    switch (kind()) {
      case TokenKind::identifier:
        block.label_ranges.push_back(here);
        block.labels.emplace_back(text(next()));
        break;
      case TokenKind::open_quote:
        if (!label(block)) return false;
        break;
      case TokenKind::assign:
        fail(here, kInvalid,
             "The equals sign \"=\" indicates an argument definition, and must not be used when defining a block.");
        return false;
      case TokenKind::newline:
        fail(here, kInvalid,
             "A block definition must have block content delimited by \"{\" and \"}\", starting on the same line as "
             "the block header.");
        return false;
      default:
        fail(here, kInvalid, "Either a quoted string block label or an opening brace (\"{\") is expected here.");
        return false;
    }
  }
  block.body.open = range(next());
  open_ = 0;
  if (!block_content(block)) return false;
  if (kind() != TokenKind::newline && kind() != TokenKind::end) {
    fail(range(peek()), "Missing newline after block definition", "A block definition must end with a newline.");
    return false;
  }
  body.blocks.push_back(std::move(block));
  return true;
}

bool Parser::block_content(NativeBlock& block) {
  if (kind() != TokenKind::newline && kind() != TokenKind::end) {
    if (kind() == TokenKind::close_brace) {
      next();
      return true;
    }
    const std::size_t before = out_.items().size();
    if (!single_attribute(block)) skip_single_attribute(before);
    return true;  // the block is known; continue after its line
  }
  body_items(block.body, true);
  if (accept(TokenKind::close_brace)) return true;
  if (out_.empty()) {  // otherwise the missing brace may have been skipped
    fail(block.body.open, kUnclosedBlock, kNoClosingBrace);
  }
  return true;
}

// Parses `{ name = value }` on one line (R-HCL-80 to 83).
bool Parser::single_attribute(NativeBlock& block) {
  if (kind() != TokenKind::identifier) {
    fail(range(next()), "Argument or block definition required", "An argument or block definition is required here.");
    return false;
  }
  const Token& name = next();
  if (kind() != TokenKind::assign) {
    if (kind() == TokenKind::identifier || kind() == TokenKind::open_quote || kind() == TokenKind::open_brace) {
      fail({&source_, name.begin, peek().end}, "Argument definition required",
           fmt::format("A single-line block definition can contain only a single argument. If you meant to define "
                       "argument \"{}\", use an equals sign to assign it a value. To define a nested block, place it "
                       "on a line of its own within its parent block.",
                       text(name)));
    } else {
      fail(range(name), "Argument or block definition required",
           "An argument or block definition is required here. To set an argument, use the equals sign \"=\" to "
           "introduce the argument value.");
    }
    return false;
  }
  next();
  const Expr* expr = expression();
  if (expr == nullptr) return false;
  const Range here = range(peek());
  switch (kind()) {
    case TokenKind::close_brace: {
      next();
      std::unordered_map<std::string, Range> names;
      std::swap(names, names_);
      add_attribute(block.body, name, *expr);
      std::swap(names, names_);
      return true;
    }
    case TokenKind::comma:
      fail(here, kInvalidSingle, kOneArgument);
      break;
    case TokenKind::newline:
      fail(here, kInvalidSingle, kOneLine);
      break;
    case TokenKind::end:
      fail(block.body.open, kUnclosedBlock, kNoClosingBrace);
      break;
    default:
      fail(here, kInvalidSingle,
           "A single-line block definition must end with a closing brace immediately after its single argument "
           "definition.");
      break;
  }
  skip_past(TokenKind::open_brace, TokenKind::close_brace);
  return true;
}

// Skips the rest of a one-line block that failed. Nomad continues as if the next line belonged to the block, and
// reports a newline or a comma there ahead of the failure itself (index `first_report`).
void Parser::skip_single_attribute(std::size_t first_report) {
  open_ = 0;
  while (kind() != TokenKind::end && (open_ > 0 || kind() != TokenKind::newline)) next();
  next();
  const bool comma = kind() == TokenKind::comma;
  if (!stopped_ && (comma || kind() == TokenKind::newline)) {
    out_.insert(first_report, {range(peek()), kInvalidSingle, comma ? kOneArgument : kOneLine});
  }
  skip_past(TokenKind::open_brace, TokenKind::close_brace);
}

// Skips to the bracket that closes what is open here, or to the end; returns where that is.
Range Parser::skip_past(TokenKind open, TokenKind close) {
  for (std::size_t inner = 0;;) {
    const Token& token = next();
    if (token.kind == open) ++inner;
    const bool closes = token.kind == close && inner-- == 0;
    if (closes || token.kind == TokenKind::end) return range(token);
  }
}

bool Parser::label(NativeBlock& block) {
  std::string label;
  Range where;
  if (!quoted_label(label, where)) return false;
  block.labels.push_back(std::move(label));
  block.label_ranges.push_back(where);
  return true;
}

const Expr* Parser::whole_expression() {
  const NewlinesCount count(*this, false);
  const Expr* expr = expression();
  if (expr != nullptr && kind() != TokenKind::end) {
    fail(range(peek()), "Extra characters after expression",
         "An expression was successfully parsed, but extra characters were found after it.");
  }
  return out_.empty() ? expr : nullptr;
}

NativeBody parse_file(const Source& source, Tree& tree, Diagnostics& out) {
  return Parser(source, tree, out, TextMode::code).file();
}

const Expr* parse_expression(const Source& source, Tree& tree, Diagnostics& out) {
  Diagnostics own;
  const Expr* expr = Parser(source, tree, own, TextMode::code).whole_expression();
  out.add(own);
  return expr;
}

const Expr* parse_template(const Source& source, Tree& tree, Diagnostics& out) {
  Diagnostics own;
  const Expr* expr = Parser(source, tree, own, TextMode::quoted_template).whole_template();
  out.add(own);
  return expr;
}

bool is_identifier(std::string_view text) {
  if (text.empty()) return false;
  for (std::size_t at = 0; at < text.size();) {
    const bool first = at == 0;
    const char32_t c = next_code_point(text, at);
    if (first ? !is_identifier_start(c) : !is_identifier_continue(c)) return false;
  }
  return true;
}

}  // namespace berth::hcl
