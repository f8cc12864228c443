// Expressions (R-HCL-50 to 59, 84 to 92).
#include <array>

#include <fmt/format.h>

#include "hcl/parser_state.h"

namespace berth::hcl {
namespace {

// Precedence level, from the loosest; 0: not a binary operator (R-HCL-51).
int level_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::logical_or:
      return 1;
    case TokenKind::logical_and:
      return 2;
    case TokenKind::equal:
    case TokenKind::not_equal:
      return 3;
    case TokenKind::less:
    case TokenKind::less_equal:
    case TokenKind::greater:
    case TokenKind::greater_equal:
      return 4;
    case TokenKind::plus:
    case TokenKind::minus:
      return 5;
    case TokenKind::star:
    case TokenKind::slash:
    case TokenKind::percent:
      return 6;
    default:
      return 0;
  }
}

constexpr std::string_view kInvalidFor = "Invalid 'for' expression";

}  // namespace

std::nullptr_t Parser::missing_expression() {
  if (kind() == TokenKind::end) {
    return fail(range(peek()), "Missing expression",
                "Expected the start of an expression, but found the end of the file.");
  }
  fail(range(peek()), "Invalid expression",
       "Expected the start of an expression, but found an invalid expression token.");
  if (kind() == TokenKind::newline) next();  // so that the next line is skipped, not reported
  return nullptr;
}

const Expr* Parser::expression() {
  const Nested nested(*this);
  if (too_deep()) return nullptr;
  const Expr* condition = operation();
  if (condition == nullptr || !accept(TokenKind::question)) return condition;
  const Expr* if_true = expression();
  if (if_true == nullptr) return nullptr;
  if (!accept(TokenKind::colon)) {
    return fail(range(peek()), "Missing false expression in conditional",
                "The conditional operator (...?...:...) requires a false expression, delimited by a colon.");
  }
  const Expr* if_false = expression();
  if (if_false == nullptr) return nullptr;
  return &tree_.make<ConditionalExpr>(from(condition->range), *condition, *if_true, *if_false);
}

// Parses operators by precedence, with stacks of operands and operators; a run of one level becomes one node.
const Expr* Parser::operation() {
  const Expr* first = operand();
  if (first == nullptr || level_of(kind()) == 0) return first;
  struct Operand {
    const Expr* expr;
    OperationExpr* chain;  // the same, if it is a run that may continue
  };
  std::vector<Operand> operands{{first, nullptr}};
  std::vector<TokenKind> operators;
  for (;;) {
    const int level = level_of(kind());
    while (!operators.empty() && level_of(operators.back()) >= level) {
      const Expr& right = *operands.back().expr;
      operands.pop_back();
      Operand& left = operands.back();
      if (left.chain == nullptr || level_of(left.chain->rest.front().first) != level_of(operators.back())) {
        left.chain = &tree_.make<OperationExpr>(left.expr->range, *left.expr);
        left.expr = left.chain;
      }
      left.chain->rest.emplace_back(operators.back(), &right);
      left.chain->range.end = right.range.end;
      operators.pop_back();
    }
    if (level == 0) return operands.front().expr;
    operators.push_back(next().kind);
    const Expr* right = operand();
    if (right == nullptr) return nullptr;
    operands.push_back({right, nullptr});
  }
}

const Expr* Parser::operand() {
  if (kind() == TokenKind::minus || kind() == TokenKind::bang) {
    const Nested nested(*this);
    if (too_deep()) return nullptr;
    const Token& op = next();
    const Expr* inner = operand();
    if (inner == nullptr) return nullptr;
    return &tree_.make<UnaryExpr>(from(range(op)), op.kind, range(op), *inner);
  }
  const Expr* source = term();
  return source == nullptr ? nullptr : steps(source);
}

const Expr* Parser::term() {
  switch (kind()) {
    case TokenKind::number:
      return number(next());
    case TokenKind::identifier:
      return name_or_call();
    case TokenKind::open_quote:
      return quoted();
    case TokenKind::open_heredoc:
      return heredoc();
    case TokenKind::open_paren:
      return parentheses();
    case TokenKind::open_bracket:
      return tuple();
    case TokenKind::open_brace:
      return object();
    default:
      return missing_expression();
  }
}

const Expr* Parser::number(const Token& token) {
  const auto parsed = Number::parse(text(token));
  if (!parsed) {
    return fail(range(token), "Invalid number literal", "Failed to recognize the value of this number literal.");
  }
  return &tree_.make<LiteralExpr>(range(token), Value::of(*parsed));
}

const Expr* Parser::name_or_call() {
  const Token& name = next();
  if (kind() == TokenKind::open_paren || kind() == TokenKind::double_colon) return call(name);
  const std::string_view word = text(name);
  if (word == "true" || word == "false" || word == "null") {
    auto& literal = tree_.make<LiteralExpr>(range(name), word == "null" ? Value::null() : Value::of(word == "true"));
    literal.keyword = true;
    return &literal;
  }
  return &tree_.make<ReferenceExpr>(range(name), std::string(word));
}

const Expr* Parser::call(const Token& first) {
  auto& made = tree_.make<CallExpr>(range(first));
  made.name = text(first);
  while (accept(TokenKind::double_colon)) {
    if (kind() != TokenKind::identifier) {
      return fail(range(peek()), "Missing function name",
                  "Function scope resolution symbol :: must be followed by a function name in this scope.");
    }
    made.name += "::";
    made.name += text(next());
  }
  made.name_range = from(range(first));
  if (kind() != TokenKind::open_paren) {
    return fail(range(peek()), "Missing open parenthesis",
                "Function selector must be followed by an open parenthesis to begin the function call.");
  }
  made.open = range(next());
  const NewlinesCount count(*this, false);
  if (!call_arguments(made)) return nullptr;
  made.close = range(next());
  made.range = from(range(first));
  return &made;
}

// Parses up to the closing parenthesis, but does not take it.
bool Parser::call_arguments(CallExpr& call) {
  while (kind() != TokenKind::close_paren) {
    const Expr* argument = expression();
    if (argument == nullptr) return false;
    call.arguments.push_back(argument);
    if (kind() == TokenKind::close_paren || accept(TokenKind::comma)) continue;
    const Range here = range(peek());
    if (kind() == TokenKind::ellipsis) {
      next();
      call.expands_last = true;
      if (kind() == TokenKind::close_paren) continue;
      fail(here, "Missing closing parenthesis",
           "An expanded function argument (with ...) must be immediately followed by closing parentheses.");
    } else if (kind() == TokenKind::end) {
      fail({&source_, call.name_range.begin, call.open.end}, "Unterminated function call",
           "There is no closing parenthesis for this function call before the end of the file. This may be caused by "
           "incorrect parenthesis nesting elsewhere in this file.");
    } else {
      fail(here, "Missing argument separator", "A comma is required to separate each function argument from the next.");
    }
    return false;
  }
  return true;
}

const Expr* Parser::parentheses() {
  const Range open = range(next());
  const NewlinesCount count(*this, false);
  const Expr* inner = expression();
  if (inner == nullptr) return nullptr;
  if (kind() != TokenKind::close_paren) {
    return fail(range(peek()), "Unbalanced parentheses", "Expected a closing parenthesis to terminate the expression.");
  }
  next();
  return &tree_.make<ParenthesesExpr>(from(open), *inner);
}

const Expr* Parser::tuple() {
  const Token& open = next();
  const NewlinesCount count(*this, false);
  if (sees_word("for")) return for_loop(open, false);
  auto& made = tree_.make<TupleExpr>(range(open));
  made.open = range(open);
  while (kind() != TokenKind::close_bracket) {
    const Expr* item = expression();
    if (item == nullptr) return nullptr;
    made.items.push_back(item);
    if (kind() == TokenKind::close_bracket || accept(TokenKind::comma)) continue;
    if (kind() == TokenKind::end) {
      return fail(made.open, "Unterminated tuple constructor expression",
                  "There is no corresponding closing bracket before the end of the file. This may be caused by "
                  "incorrect bracket nesting elsewhere in this file.");
    }
    return fail(range(peek()), "Missing item separator", "Expected a comma to mark the beginning of the next item.");
  }
  next();
  made.range = from(made.open);
  return &made;
}

const Expr* Parser::object() {
  const Token& open = next();
  {
    const NewlinesCount skip(*this, false);
    if (sees_word("for")) return for_loop(open, true);
  }
  const NewlinesCount count(*this, true);
  auto& made = tree_.make<ObjectExpr>(range(open));
  made.open = range(open);
  for (;;) {
    while (accept(TokenKind::newline)) {
    }
    if (kind() == TokenKind::close_brace) break;
    if (!object_item(made)) return nullptr;
    if (kind() == TokenKind::close_brace) break;
    if (kind() == TokenKind::newline || accept(TokenKind::comma)) continue;
    if (kind() == TokenKind::end) {
      return fail(made.open, "Unterminated object constructor expression",
                  "There is no corresponding closing brace before the end of the file. This may be caused by incorrect "
                  "brace nesting elsewhere in this file.");
    }
    return fail(range(peek()), "Missing attribute separator",
                "Expected a newline or comma to mark the beginning of the next attribute.");
  }
  next();
  made.range = from(made.open);
  return &made;
}

bool Parser::object_item(ObjectExpr& object) {
  ObjectExpr::Item item{};
  item.key = expression();
  if (item.key == nullptr) return false;
  if (item.key->kind == Expr::Kind::reference) {
    item.ambiguous = !static_cast<const ReferenceExpr*>(item.key)->steps.empty();
    item.bare = !item.ambiguous;
  } else if (item.key->kind == Expr::Kind::literal) {
    item.bare = static_cast<const LiteralExpr*>(item.key)->keyword;
  }
  const Range here = range(peek());
  switch (kind()) {
    case TokenKind::assign:
    case TokenKind::colon:
      next();
      break;
    case TokenKind::newline:
    case TokenKind::comma:
      fail(here, "Missing attribute value", "Expected an attribute value, introduced by an equals sign (\"=\").");
      return false;
    case TokenKind::end:
      fail(object.open, "Unterminated object constructor expression",
           "There is no corresponding closing brace before the end of the file. This may be caused by incorrect brace "
           "nesting elsewhere in this file.");
      return false;
    default:
      fail(here, "Missing key/value separator",
           fmt::format("Expected an equals sign (\"=\") to mark the beginning of the attribute value.{}",
                       kind() == TokenKind::identifier
                           ? " If you intended to given an attribute name containing periods or spaces, write the name "
                             "in quotes to create a string literal."
                           : ""));
      return false;
  }
  item.value = expression();
  if (item.value == nullptr) return false;
  object.items.push_back(item);
  return true;
}

bool Parser::for_names(std::string& key, std::string& value, Range& where) {
  if (kind() != TokenKind::identifier) {
    where = range(peek());
    return false;
  }
  value = text(next());
  if (!accept(TokenKind::comma)) return true;
  key = std::exchange(value, {});
  if (kind() != TokenKind::identifier) {
    where = range(peek());
    return false;
  }
  value = text(next());
  return true;
}

// After `[` or `{`, at the word `for`.
const Expr* Parser::for_loop(const Token& open, bool object) {
  const NewlinesCount count(*this, false);
  auto& made = tree_.make<ForExpr>(range(open));
  made.open = range(open);
  made.object = object;
  next();  // for
  Range where;
  if (!for_names(made.key_name, made.value_name, where)) {
    return fail(where, kInvalidFor,
                made.key_name.empty() ? "For expression requires variable name after 'for'."
                                      : "For expression requires value variable name after comma.");
  }
  if (!sees_word("in")) {
    return fail(range(peek()), kInvalidFor, "For expression requires the 'in' keyword after its name declarations.");
  }
  next();
  made.collection = expression();
  if (made.collection == nullptr) return nullptr;
  if (!accept(TokenKind::colon)) {
    return fail(range(peek()), kInvalidFor, "For expression requires a colon after the collection expression.");
  }
  made.value = expression();
  if (made.value == nullptr) return nullptr;
  if (accept(TokenKind::arrow)) {
    made.key = made.value;
    made.value = expression();
    if (made.value == nullptr) return nullptr;
  }
  const Range ellipsis = range(peek());
  made.groups = accept(TokenKind::ellipsis);
  if (sees_word("if")) {
    next();
    made.condition = expression();
    if (made.condition == nullptr) return nullptr;
  }
  if (!accept(object ? TokenKind::close_brace : TokenKind::close_bracket)) {
    return fail(range(peek()), kInvalidFor, "Extra characters after the end of the 'for' expression.");
  }
  if (object && made.key == nullptr) {
    return fail(made.value->range, kInvalidFor, "Key expression is required when building an object.");
  }
  if (!object && made.key != nullptr) {
    return fail(made.key->range, kInvalidFor, "Key expression is not valid when building a tuple.");
  }
  if (!object && made.groups) {
    return fail(ellipsis, kInvalidFor, "Grouping ellipsis (...) cannot be used when building a tuple.");
  }
  made.range = from(made.open);
  return &made;
}

// Parses the steps after a term. Constant ones directly after a name belong to its reference (R-HCL-310).
const Expr* Parser::steps(const Expr* source) {
  std::vector<Step> found;
  std::size_t constant_count = 0;
  int splats = 0;
  while (kind() == TokenKind::dot || kind() == TokenKind::open_bracket) {
    bool constant = true;
    const std::size_t before = found.size();
    if (!step(found, constant)) return nullptr;
    if (constant && constant_count == before) constant_count = found.size();
    if (found.back().kind == Step::Kind::splat) {
      ++splats;
      depth_ += splats;
      const bool deep = too_deep();
      depth_ -= splats;
      if (deep) return nullptr;
    }
  }
  if (found.empty()) return source;
  for (Step& step : found) {
    if (step.kind == Step::Kind::splat) step.splat_end = found.size();
  }
  const Range whole = from(source->range);
  if (source->kind == Expr::Kind::reference && constant_count > 0) {
    // The reference was just made without steps.
    auto& made = tree_.make<ReferenceExpr>(source->range, static_cast<const ReferenceExpr*>(source)->name);
    made.steps.assign(std::make_move_iterator(found.begin()),
                      std::make_move_iterator(found.begin() + static_cast<std::ptrdiff_t>(constant_count)));
    made.range.end = made.steps.back().range.end;
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(constant_count));
    for (Step& step : found) {
      if (step.splat_end > 0) step.splat_end -= constant_count;
    }
    if (found.empty()) return &made;
    source = &made;
  }
  auto& made = tree_.make<StepsExpr>(whole, *source);
  made.steps = std::move(found);
  return &made;
}

bool Parser::step(std::vector<Step>& steps, bool& constant) {
  return kind() == TokenKind::dot ? dot_step(steps, constant) : bracket_step(steps, constant);
}

// Parses `.name`, `.0`, or `.*` with the steps that belong to it (R-HCL-57, 58).
bool Parser::dot_step(std::vector<Step>& steps, bool& constant) {
  std::size_t splat = steps.size();
  bool in_splat = false;
  do {
    const Range dot = range(next());
    Step step{};
    switch (kind()) {
      case TokenKind::identifier:
        step.kind = Step::Kind::attribute;
        step.name = text(next());
        break;
      case TokenKind::number: {
        const Token& token = next();
        const std::string_view digits = text(token);
        if (const std::size_t point = digits.find('.'); point != std::string_view::npos) {
          fail(range(token), "Invalid legacy index syntax",
               fmt::format("When using the legacy index syntax, chaining two indexes together is not permitted. Use "
                           "the proper index syntax instead, like [{}][{}].",
                           digits.substr(0, point), digits.substr(point + 1)));
          return false;
        }
        const auto index = Number::parse(digits);
        if (!index) {
          fail(range(token), "Invalid number literal", "Failed to recognize the value of this number literal.");
          return false;
        }
        step.kind = Step::Kind::constant_index;
        step.key = Value::of(*index);
        break;
      }
      case TokenKind::star:
        if (in_splat) {
          fail(range(peek()), "Nested splat expression not allowed",
               "A splat expression (*) cannot be used inside another attribute-only splat expression.");
          return false;
        }
        next();
        in_splat = true;
        constant = false;
        step.kind = Step::Kind::attribute_splat;
        break;
      default:
        fail(range(peek()), "Invalid attribute name", "An attribute name is required after a dot.");
        return false;
    }
    step.range = from(dot);
    step.open = dot;
    steps.push_back(std::move(step));
  } while (in_splat && kind() == TokenKind::dot);
  if (in_splat) steps[splat].splat_end = steps.size();
  return true;
}

bool Parser::bracket_step(std::vector<Step>& steps, bool& constant) {
  Step step{};
  step.open = range(next());
  if (accept(TokenKind::star)) {
    if (kind() != TokenKind::close_bracket) {
      fail(skip_past(TokenKind::open_bracket, TokenKind::close_bracket), "Missing close bracket on splat index",
           "The star for a full splat operator must be immediately followed by a closing bracket (\"]\").");
      return false;
    }
    step.kind = Step::Kind::splat;
    constant = false;
  } else {
    const NewlinesCount count(*this, false);
    const Expr* index = expression();
    if (index == nullptr) return false;
    if (kind() != TokenKind::close_bracket) {
      fail(skip_past(TokenKind::open_bracket, TokenKind::close_bracket), "Missing close bracket on index",
           "The index operator must end with a closing bracket (\"]\").");
      return false;
    }
    step.kind = Step::Kind::constant_index;
    if (index->kind == Expr::Kind::literal && !static_cast<const LiteralExpr*>(index)->keyword) {
      step.key = static_cast<const LiteralExpr*>(index)->value;
    } else if (const Value* plain = plain_string(*index)) {
      step.key = *plain;
    } else {
      step.kind = Step::Kind::index;
      step.index = index;
      constant = false;
    }
  }
  next();
  step.range = from(step.open);
  steps.push_back(std::move(step));
  return true;
}

}  // namespace berth::hcl
