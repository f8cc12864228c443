// The parser's state, shared by its three parts: bodies (parser.cc), expressions (parse_expression.cc) and templates
// (parse_template.cc). A part that fails reports once and returns null or false to the caller that can continue.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hcl/ast.h"
#include "hcl/lexer.h"
#include "hcl/source.h"

namespace berth::hcl {

class Parser {
 public:
  Parser(const Source& source, Tree& tree, Diagnostics& out, TextMode mode);

  NativeBody file();
  const Expr* whole_expression();
  const Expr* whole_template();

 private:
  // Sets whether newlines are significant, until the end of the scope: that depends on the enclosing construct
  // (R-HCL-52).
  class NewlinesCount {
   public:
    NewlinesCount(Parser& parser, bool count) : parser_(parser), before_(parser.newlines_count_) {
      parser.newlines_count_ = count;
    }
    ~NewlinesCount() { parser_.newlines_count_ = before_; }
    NewlinesCount(const NewlinesCount&) = delete;
    NewlinesCount& operator=(const NewlinesCount&) = delete;

   private:
    Parser& parser_;
    bool before_;
  };
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) { ++parser.depth_; }
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  // Tokens.
  [[nodiscard]] const Token& peek() const { return tokens_[newlines_count_ ? at_ : tokens_[at_].significant]; }
  [[nodiscard]] TokenKind kind() const { return peek().kind; }
  const Token& next();  // never moves past the end
  bool accept(TokenKind wanted);
  [[nodiscard]] Range range(const Token& token) const { return {&source_, token.begin, token.end}; }
  [[nodiscard]] Range from(Range begin) const { return {&source_, begin.begin, tokens_[last_].end}; }
  [[nodiscard]] std::string_view text(const Token& token) const { return range(token).content(); }
  [[nodiscard]] bool sees_word(std::string_view word) const {
    return kind() == TokenKind::identifier && text(peek()) == word;
  }

  // Reports a failure. Returns null, for `return fail(...)`.
  std::nullptr_t fail(Range subject, std::string_view summary, std::string detail);
  bool too_deep();
  void skip_to_line_end(std::size_t open);
  Range skip_past(TokenKind open, TokenKind close);

  // Bodies.
  void body_items(NativeBody& body, bool nested);
  bool item(NativeBody& body);
  bool attribute(NativeBody& body, const Token& name);
  bool block(NativeBody& body, const Token& name);
  bool block_content(NativeBlock& block);
  bool single_attribute(NativeBlock& block);
  void skip_single_attribute(std::size_t first_report);
  bool label(NativeBlock& block);
  bool add_attribute(NativeBody& body, const Token& name, const Expr& expr);

  // Expressions.
  const Expr* expression();
  const Expr* operation();
  const Expr* operand();
  const Expr* term();
  const Expr* number(const Token& token);
  const Expr* name_or_call();
  const Expr* call(const Token& first);
  bool call_arguments(CallExpr& call);
  const Expr* parentheses();
  const Expr* tuple();
  const Expr* object();
  bool object_item(ObjectExpr& object);
  const Expr* for_loop(const Token& open, bool object);
  bool for_names(std::string& key, std::string& value, Range& where);
  const Expr* steps(const Expr* source);
  bool step(std::vector<Step>& steps, bool& constant);
  bool dot_step(std::vector<Step>& steps, bool& constant);
  bool bracket_step(std::vector<Step>& steps, bool& constant);
  std::nullptr_t missing_expression();

  // Templates.
  struct Part;
  struct Parts;
  const Expr* quoted();
  const Expr* heredoc();
  bool template_parts(Parts& parts);
  bool template_text(const Token& token, std::string& out);
  bool interpolation(Parts& parts);
  bool directive(Parts& parts);
  bool sequence_end(Part& part);
  void unclosed_interpolation(const Parts& parts);
  void unindent(Parts& parts);
  const Expr* assemble(Parts& parts, Range where);
  void collect(Parts& parts, StringExpr& out);
  const Expr* if_directive(Parts& parts, const Part& opened);
  const Expr* for_directive(Parts& parts, const Part& opened);
  static std::string_view directive_name(const Part& part);
  static const Value* plain_string(const Expr& expr);
  bool unescape(const Token& token, std::string& out);
  bool quoted_label(std::string& out, Range& where);

  const Source& source_;
  Tree& tree_;
  Diagnostics& out_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t last_ = 0;  // the last token taken
  std::size_t open_ = 0;  // open brackets around the current token within the current attribute
  bool bare_;             // a template without quotes: no escapes
  bool newlines_count_ = true;
  int depth_ = 0;
  std::unordered_map<std::string, Range> names_;  // attributes of the body being read
  bool stopped_ = false;                          // nesting too deep: stop reading
};

}  // namespace berth::hcl
